"""Cases of linalg."""

from tests.ops.kit import arr, case

_ = arr, case
