"""Cases of reductions."""

from tests.ops.kit import arr, case

_ = arr, case
