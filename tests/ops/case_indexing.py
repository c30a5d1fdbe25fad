"""Cases of indexing."""

from tests.ops.kit import arr, case

_ = arr, case
