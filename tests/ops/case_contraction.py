"""Cases of contraction."""

from tests.ops.kit import arr, case

_ = arr, case
