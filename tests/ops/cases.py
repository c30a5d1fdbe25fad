"""One line per primitive and per NumPy function: inputs that exercise it. Gathered from one table per topic."""

from tests.ops import (
    case_combining,
    case_contraction,
    case_elementwise,
    case_fft,
    case_indexing,
    case_linalg,
    case_models,
    case_more,
    case_ordering,
    case_program,
    case_reductions,
    case_shaping,
    case_special,
    case_spectra,
)
from tests.ops.kit import CASES

__all__ = ["CASES"]

_ = (
    case_combining,
    case_contraction,
    case_elementwise,
    case_fft,
    case_indexing,
    case_linalg,
    case_models,
    case_more,
    case_ordering,
    case_program,
    case_reductions,
    case_shaping,
    case_special,
    case_spectra,
)
