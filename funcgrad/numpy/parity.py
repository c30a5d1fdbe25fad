"""What becomes of each callable of `numpy` and `numpy.fft` when it meets a traced value, as data: a test and a page are made of it.

*differentiable*: both modes, with NumPy's values; the note says in what, where it is not in everything.
*constant*: zero derivative, so that what comes out is a plain NumPy value.
*refused*: it raises, with the note as the reason, where NumPy asks us at all.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs


@attrs.frozen
class State:
    """The state of one callable. The note is a sentence or two, or nothing."""

    kind: str
    note: str = ""


_DIFFERENTIABLE = """
abs absolute acos acosh add angle append apply_over_axes arccos arccosh arcsin arcsinh arctan arctan2 arctanh array_split asin asinh atan
atan2 atanh atleast_1d atleast_2d atleast_3d average block broadcast_arrays broadcast_to cbrt column_stack compress concat concatenate conj
conjugate convolve copy corrcoef correlate cos cosh cov cross cumprod cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag
diagflat diagonal diff divide dot dsplit dstack ediff1d einsum exp exp2 expand_dims expm1 extract fabs flip fliplr flipud float_power
geomspace gradient hsplit hstack hypot i0 imag inner insert interp kron linspace log log10 log1p log2 logaddexp logaddexp2
logspace matmul matrix_transpose matvec mean meshgrid moveaxis multiply nancumprod nancumsum nanmean nanprod nanstd nansum nanvar
negative outer pad permute_dims polyadd polyder polyint polysub polyval positive pow power prod rad2deg radians ravel real
real_if_close reciprocal repeat reshape resize roll rollaxis rot90 select sin sinc sinh split sqrt square squeeze stack std subtract sum
swapaxes take take_along_axis tan tanh tensordot tile trace transpose trapezoid trapz tril triu true_divide unstack vander var vdot
vecdot vecmat vsplit vstack where
"""

_FFT = """
fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn
"""

_TIES = "Ties share equally."
_STABLE = "The permutation is that of a stable sort."
_LOOP = "NumPy does not ask: it makes an object array of traced numbers, element by element, which our functions take."

_IN_PART = {
    "apply_along_axis": "The function is called once per row, in Python.",
    "astype": "To floats and complex numbers; to others it is constant.",
    "bincount": "In the weights.",
    "choose": "In the choices.",
    "clip": "At a bound the slope is ½.",
    "copysign": "In the first argument.",
    "divmod": "The remainder; the quotient is constant.",
    "fmod": "Between the jumps, in both arguments.",
    "frexp": "The mantissa; the exponent is constant.",
    "heaviside": "In the second argument, where the first is 0.",
    "histogram": "In the weights, and in the edges, which may move with the data; which bin an element falls into is constant.",
    "histogram2d": "As `np.histogram`.",
    "histogram_bin_edges": "As the data's minimum and maximum move; the number of bins is constant.",
    "histogramdd": "As `np.histogram`.",
    "ldexp": "In the first argument.",
    "modf": "The fraction; the whole part is constant.",
    "nan_to_num": "What is replaced has slope 0.",
    "nextafter": "In the first argument.",
    "piecewise": "Each function sees its piece alone.",
    "poly": "In the roots. Of a matrix it raises: use `np.linalg.det(x * np.eye(n) - a)`.",
    "polydiv": "Quotient and remainder.",
    "polyfit": "In the points and the weights. `full=True` raises: use `np.polyval` for the residuals.",
    "polymul": "Leading zeros are cut off, and so have slope 0.",
    "ptp": _TIES,
    "remainder": "Between the jumps, in both arguments.",
    "mod": "Between the jumps, in both arguments.",
    "roots": "At a double root the slope is infinite.",
    "sign": "Of complex numbers, `x / |x|`; of real ones the slope is 0.",
    "sort_complex": _STABLE,
    "trim_zeros": "What is cut off has slope 0.",
    "unwrap": "In the data; the whole periods added are constant.",
    "intersect1d": "Each value is that of the first array.",
    "setdiff1d": "Which elements stay is constant.",
    "setxor1d": "Which elements stay is constant.",
    "union1d": "Of equal elements, the first.",
    **dict.fromkeys(("max", "min", "maximum", "minimum", "fmax", "fmin", "nanmax", "nanmin"), _TIES),
    **dict.fromkeys(("amax", "amin"), _TIES),
    **dict.fromkeys(("sort", "partition", "median", "nanmedian"), _STABLE),
    **dict.fromkeys(("percentile", "quantile", "nanpercentile", "nanquantile"), _STABLE + " The levels are fixed."),
    **dict.fromkeys(("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"), "The values: of equal ones, the first."),
    **dict.fromkeys(("array", "asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "require"), _LOOP),
    "full_like": "In the value, where the array is traced as well.",
    "full": "In the value. `np.broadcast_to(v, shape)` does the same at once. " + _LOOP,
    "fromfunction": "In what the function closes over.",
    "frompyfunc": "The function is called once per element, in Python, and the result is one traced array.",
    "kaiser": "In `beta`.",
    "row_stack": "An old name of `np.vstack`.",
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), "In the spacing `d`."),
}

_CONSTANT = {
    "Where, how many, whether: the answer has no derivative.": (
        "all allclose any argmax argmin argpartition argsort argwhere array_equal array_equiv count_nonzero digitize equal flatnonzero "
        "greater greater_equal in1d isclose iscomplex isfinite isin isinf isnan isnat isneginf isposinf isreal less less_equal lexsort "
        "logical_and logical_not logical_or logical_xor nanargmax nanargmin nonzero not_equal searchsorted signbit"
    ),
    "A step function: the slope is 0.": "around ceil fix floor floor_divide rint round spacing trunc",
    "Of whole numbers.": (
        "bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd invert lcm "
        "left_shift right_shift"
    ),
    "It takes integers or bools, and a traced value is neither. Use it on what `np.argmax`, `x > 0` and the like give.": (
        "ix_ packbits ravel_multi_index unpackbits unravel_index"
    ),
    "What is known of shapes and dtypes.": (
        "broadcast_shapes can_cast common_type datetime_data einsum_path iscomplexobj isdtype isfortran isrealobj isscalar issubdtype "
        "iterable may_share_memory min_scalar_type mintypecode ndim promote_types result_type shape shares_memory size typename"
    ),
    "A text.": "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific",
    "A new array of constants. Its arguments are plain numbers: a traced one raises, where it would matter.": (
        "arange bartlett blackman diag_indices diag_indices_from empty empty_like eye hamming hanning identity indices mask_indices ones "
        "ones_like tri tril_indices tril_indices_from triu_indices triu_indices_from zeros zeros_like"
    ),
    "It reads a file, a text or memory; no traced value goes in.": (
        "from_dlpack frombuffer fromfile fromregex fromstring genfromtxt load loadtxt"
    ),
    "It says or sets how NumPy works; no array goes in.": (
        "get_include get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions setbufsize seterr seterrcall "
        "show_config show_runtime test"
    ),
}  # fmt: skip

_FILES = "A file holds plain numbers. Write what the transformation returns, or apply it to `fg.stop_gradient(x)`."
_DATES = "Dates have no derivative. Apply it to plain arrays."
_MATRICES = "A matrix has operations of its own. Use arrays, `@` and `np.block`."

_REFUSED = {
    "copyto": "Use `x = np.where(mask, values, x)`, or `x = fg.tensor(x).at[mask].set(values)`.",
    "put": "Use `x = np.ravel(fg.tensor(x)).at[i].set(v)`, or `np.where`.",
    "place": "Use `x = np.where(mask, values, x)`, or `x = fg.tensor(x).at[mask].set(values)`.",
    "putmask": "Use `x = np.where(mask, values, x)`, or `x = fg.tensor(x).at[mask].set(values[mask])`.",
    "put_along_axis": "Use `x = fg.tensor(x).at[rows, i].set(v)`, with an index array for each axis.",
    "fill_diagonal": "Use `i = np.arange(n)` and `x = fg.tensor(x).at[i, i].set(v)`.",
    "fromiter": "It makes plain numbers of what the iterator gives. Use `np.stack(list(it))`.",
    "nested_iters": "It walks through memory. Read by an index: `x[i]`.",
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed"), _FILES),
    **dict.fromkeys(("busday_count", "busday_offset", "datetime_as_string", "is_busday"), _DATES),
    **dict.fromkeys(("asmatrix", "bmat"), _MATRICES),
}


def _rows() -> Iterator[tuple[str, State]]:
    yield from [(name, State("differentiable")) for name in _DIFFERENTIABLE.split()]
    yield from [(f"fft.{name}", State("differentiable")) for name in _FFT.split()]
    yield from [(name, State("differentiable", note)) for name, note in _IN_PART.items()]
    for note, names in _CONSTANT.items():
        yield from [(name, State("constant", note)) for name in names.split()]
    yield from [(name, State("refused", note)) for name, note in _REFUSED.items()]


PARITY: dict[str, State] = dict(sorted(_rows(), key=lambda row: row[0]))
"""By name, as in `np.<name>`: `fft.rfft` is `np.fft.rfft`."""


def reason(name: str) -> str:
    """Why `name`, as in `np.save`, has no rule; empty where nothing is known."""
    state = PARITY.get(name.removeprefix("np."))
    return state.note if state is not None and state.kind != "differentiable" else ""
