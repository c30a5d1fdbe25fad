"""Cases of ordering."""

from tests.ops.kit import arr, case

_ = arr, case
