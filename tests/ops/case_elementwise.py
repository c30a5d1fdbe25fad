"""Cases of elementwise."""

from tests.ops.kit import arr, case

_ = arr, case
