"""Cases of shaping."""

from tests.ops.kit import arr, case

_ = arr, case
