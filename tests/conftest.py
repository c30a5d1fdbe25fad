"""Hypothesis profiles, chosen by HYPOTHESIS_PROFILE: `dev` by default, `ci` where CI is set."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.laws.paths import PATHS
from tests.program.every import every_recording

settings.register_profile("dev", max_examples=25)
settings.register_profile("ci", max_examples=200, derandomize=True, deadline=None)
settings.register_profile("deep", max_examples=5_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(autouse=True)
def collector_comes_back() -> Iterator[None]:
    """Doors hold the cyclic collector back; after every test it runs again."""
    yield
    assert gc.isenabled()


@pytest.fixture(autouse=True, scope="session")
def programs_keep_the_rules() -> Iterator[None]:
    """Whatever is recorded by any test."""
    with every_recording():
        yield


@pytest.fixture(params=PATHS)
def both_paths(request: Any) -> Iterator[None]:
    """The same tests, on both paths of the machine."""
    with PATHS[request.param]():
        yield
