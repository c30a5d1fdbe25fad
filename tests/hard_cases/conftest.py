"""Every hard case runs on both paths of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.laws.paths import PATHS


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    with PATHS[request.param]():
        yield
