"""What an error says, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest


def said(error: type[Exception], f: Callable[..., Any], *args: Any) -> str:
    """The message of the error that `f(*args)` raises, with `LINE` for the number of a line."""
    with pytest.raises(error) as caught:
        f(*args)
    return re.sub(r"(test_\w+\.py):\d+", r"\1:LINE", str(caught.value))
