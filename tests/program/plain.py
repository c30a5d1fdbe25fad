"""A second evaluator, as plain as can be: equations and NumPy, one small function per primitive, nothing recorded and nothing traced.

Every operand and every result is held against its variable's shape and dtype. What is in `KERNELS` has no shorter description than its
own NumPy computation, which is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.kinds import Structured
from funcgrad.ops.special import LINES
from funcgrad.program.program import Equation, Literal, Program
from tests.program.plain_loops import within

LOOKS = {"bool": bool, "int": int, "index": int, "float": float, "complex": complex}


def run(program: Program, values: Sequence[Any]) -> list[Any]:
    """The outputs; an AssertionError where a value is not what its variable says, or a guard does not hold."""
    env: dict[int, Any] = {}

    def note(v: Any, value: Any) -> None:
        value = np.asarray(value)[()]
        assert (value.shape, value.dtype) == (v.shape, v.dtype), f"{v} is {value.dtype}{value.shape}"
        env[v.number] = value

    def read(x: Any) -> Any:
        return x.value if isinstance(x, Literal) else env[x.number]

    for v, value in zip(program.inputs, values, strict=True):
        note(v, value)
    for e in program.equations:
        args = [read(x) for x in e.inputs]
        if e.primitive.name == "guard":
            assert LOOKS[e["kind"]](args[0]) == e["answer"]
            continue
        made = computed(e, args)
        for v, value in zip(e.outputs, made if type(made) is tuple else (made,), strict=True):
            note(v, value)
    return [read(x) for x in program.outputs]


def computed(e: Equation, args: Sequence[Any]) -> Any:
    name = e.primitive.name
    if type(e.primitive) is Structured:
        return within(e, args, run)
    if name in PLAIN:
        return PLAIN[name](*args, **dict(e.params))
    if name in LINES:
        return e.primitive.impl(*args)  # SciPy's own
    if isinstance(e.primitive.impl, np.ufunc):
        return getattr(np, name)(*args)
    assert name in KERNELS, f"no plain meaning of {name}"
    return e.primitive.impl(*args, **from_the_end(args, dict(e.params)))


def from_the_end(args: Sequence[Any], params: dict[str, Any]) -> dict[str, Any]:
    """Kernels count their axes from the end."""
    n = max([np.ndim(x) for x in args], default=0)
    shift: Callable[[Any], Any] = lambda axis: tuple([i - n for i in axis]) if type(axis) is tuple else axis - n
    return {k: shift(v) if k == "axis" and v is not None else v for k, v in params.items()}


# ---- moving elements


def _box(starts: Any, stops: Any, steps: Any) -> Any:
    return tuple([slice(*b) for b in zip(starts, stops, steps, strict=True)])


def _pad(x: Any, starts: Any, stops: Any, steps: Any, shape: Any) -> Any:
    out = np.zeros(shape, x.dtype)
    out[_box(starts, stops, steps)] = x
    return out


def _update(x: Any, v: Any, starts: Any, stops: Any, steps: Any) -> Any:
    out = np.array(x)
    out[_box(starts, stops, steps)] = v
    return out


def _scatter_add(i: Any, x: Any, axis: int, size: int) -> Any:
    out = np.zeros((*x.shape[:axis], size, *x.shape[axis + np.ndim(i) :]), x.dtype)
    lead = (slice(None),) * axis
    for k in np.ndindex(np.shape(i)):
        out[(*lead, np.asarray(i)[k])] += x[(*lead, *k)]
    return out


def _written(write: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, v: Any, i: Any) -> Any:
        out = x.copy()
        for k, place in enumerate(i):
            out[place] = write(out[place], v[k])
        return out

    return apply


def _gather_add(x: Any, i: Any, axis: int, shape: Any, once: bool) -> Any:
    out = np.zeros(shape, x.dtype)
    for k in np.ndindex(x.shape):
        place = [0 if size == 1 else j for j, size in zip(k, shape, strict=True)]
        place[axis] = i[tuple([0 if n == 1 else j for j, n in zip(k, i.shape, strict=True)])]
        out[tuple(place)] += x[k]
    return out


def _embed_diagonal(x: Any, offset: int, shape: Any) -> Any:
    out = np.zeros(x.shape[:-1] + shape, x.dtype)
    for k in range(x.shape[-1]):
        out[..., k + max(-offset, 0), k + max(offset, 0)] = x[..., k]
    return out


def _winners(i: Any, size: int) -> Any:
    last = {place % size: k for k, place in enumerate(i)}
    return np.array([last[place % size] == k for k, place in enumerate(i)], bool)


def _occurrences(i: Any, size: int) -> tuple[Any, Any]:
    places = i % size
    return places, np.array([np.count_nonzero(places[:k] == place) for k, place in enumerate(places)], np.intp)


def _shares_at(x: Any, v: Any, out: Any, i: Any) -> tuple[Any, Any]:
    mine, theirs = (x == out) | np.isnan(x), (v == out[i]) | np.isnan(v)
    count = mine.astype(float)
    for place, yes in zip(i, theirs, strict=True):
        count[place] += yes
    count = np.maximum(count, 1)
    return mine / count, theirs / count[i]


# ---- products: the NumPy call that the equation names


def _dot(x: Any, y: Any, contract: Any, batch: Any, call: str) -> Any:
    if call == "vecdot":
        return np.vecdot(np.conjugate(x) if x.dtype.kind == "c" else x, y)
    if call != "einsum":
        return getattr(np, call)(x, y)
    free_x, free_y = ([i for i in range(v.ndim) if i not in (*contract[k], *batch[k])] for k, v in enumerate((x, y)))
    if not batch[0] and len(contract[0]) == 1 and max(len(free_x), len(free_y)) < 2:
        return np.dot(x.transpose([*free_x, *contract[0]]), y.transpose([*contract[1], *free_y]))
    u, v = x.transpose([*batch[0], *free_x, *contract[0]]), y.transpose([*batch[1], *contract[1], *free_y])
    n, k = len(batch[0]), len(contract[0])
    lead, mine, theirs = u.shape[:n], u.shape[n : n + len(free_x)], v.shape[n + k :]
    size = int(np.prod(u.shape[n + len(free_x) :]))
    u, v = u.reshape((*lead, int(np.prod(mine)), size)), v.reshape((*lead, size, int(np.prod(theirs))))
    u, v = (a if a.itemsize in a.strides[-2:] else np.ascontiguousarray(a) for a in (u, v))
    return np.matmul(u, v).reshape(lead + mine + theirs)


# ---- the table

PLAIN: dict[str, Callable[..., Any]] = {
    "astype": lambda x, dtype: x.astype(dtype),
    "reshape": lambda x, shape, ones: np.reshape(x, shape),
    "transpose": lambda x, axes: np.transpose(x, axes),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
    "concatenate": lambda *xs, axis: np.concatenate(xs, axis),
    "stack": lambda *xs, axis: np.stack(xs, axis),
    "split": lambda x, axis, sizes: tuple(np.split(x, np.cumsum(sizes)[:-1], axis)),
    "unstack": lambda x, axis: tuple(np.moveaxis(x, axis, 0)),
    "reverse": lambda x, axis: np.flip(x, axis),
    "roll": lambda x, axis, shift: np.roll(x, shift, axis),
    "slice": lambda x, starts, stops, steps: x[_box(starts, stops, steps)],
    "pad": _pad,
    "update": _update,
    "take": lambda x, i, axis: x[(slice(None),) * axis + (i,)],
    "scatter_add": _scatter_add,
    "gather": lambda x, i, axis, once: np.take_along_axis(x, i, axis),
    "gather_add": _gather_add,
    "put": _written(lambda x, v: v),
    "add_at": _written(np.add),
    "max_at": _written(np.maximum),
    "min_at": _written(np.minimum),
    "winners": _winners,
    "shares_at": _shares_at,
    "occurrences": _occurrences,
    "diagonal": lambda x, offset: np.diagonal(x, offset, -2, -1),
    "embed_diagonal": _embed_diagonal,
    "iota": lambda size: np.arange(size),
    "fill": lambda x, shape: np.full(shape, x),
    "nonzero": np.nonzero,
    "wrapped": lambda i, size: np.arange(size)[i],
    "has_form": lambda x, shape, dtype: (x.shape, x.dtype) == (shape, dtype),
    "dot": _dot,
    "cross": np.cross,
    "convolve": lambda x, y, mode: np.convolve(x, y, mode),
    "sum": lambda x, axis: np.sum(x, axis),
    "mean": lambda x, axis: np.mean(x, axis),
    "var": lambda x, axis, ddof: np.var(x, axis, ddof=ddof),
    "prod": lambda x, axis: np.prod(x, axis),
    "max": lambda x, axis: np.max(x, axis),
    "min": lambda x, axis: np.min(x, axis),
    "nanmax": lambda x, axis: np.nanmax(x, axis),
    "nanmin": lambda x, axis: np.nanmin(x, axis),
    "any": lambda x, axis: np.any(x, axis),
    "all": lambda x, axis: np.all(x, axis),
    "count_nonzero": lambda x, axis: np.count_nonzero(x, axis),
    "argmax": lambda x, axis: np.argmax(x, axis),
    "argmin": lambda x, axis: np.argmin(x, axis),
    "nanargmax": lambda x, axis: np.nanargmax(x, axis),
    "nanargmin": lambda x, axis: np.nanargmin(x, axis),
    "logsumexp": lambda x, axis: np.logaddexp.reduce(x, axis),
    "cumsum": lambda x, axis: np.cumsum(x, axis),
    "cumprod": lambda x, axis: np.cumprod(x, axis),
    "cummax": lambda x, axis: np.maximum.accumulate(x, axis),
    "cummin": lambda x, axis: np.minimum.accumulate(x, axis),
    "where": np.where,
    "real": np.real,
    "imag": np.imag,
    "no_imag": np.imag,
    "sign": np.sign,
    "phase": np.sign,
    "root": np.sqrt,
    "flat_power": np.power,
    "exp_minus_one": np.expm1,
    "within_one": lambda x: np.clip(x, -1, 1),
    "fraction": lambda x: np.modf(x)[0],
    "exponent": lambda x: np.frexp(x)[1],
    "scalar_multiply": lambda x, y: x * y,
    "scalar_power": lambda x, y: x**y,
    "scalar_absolute": abs,
    "stop_gradient": lambda x: x,
    "round": lambda x, decimals: np.round(x, decimals),
    "argsort": lambda x, axis, kind, stable: np.argsort(x, axis, kind=kind, stable=stable),
    "argpartition": lambda x, axis, kth, kind: np.argpartition(x, kth, axis, kind),
    "lexsort": lambda *keys, axis: np.lexsort(keys, axis),
    "digitize": lambda x, bins, right: np.digitize(x, bins, right),
    "searchsorted": lambda a, v, *sorter, side: np.searchsorted(a, v, side, *sorter),
    "is_in": lambda x, y, invert, kind: np.isin(x, y, invert=invert, kind=kind),
    "in_order": lambda x: np.argsort(x, stable=True),
    "unique_places": lambda x, axis, equal_nan: tuple(np.unique(x, True, True, True, axis=axis, equal_nan=equal_nan)[1:]),
    "counted": lambda x, minlength: np.bincount(x, None, minlength),
    "solve": np.linalg.solve,
    "inv": np.linalg.inv,
    "cholesky": np.linalg.cholesky,
    "det": np.linalg.det,
    "slogdet": lambda x: tuple(np.linalg.slogdet(x)),
    "pinv": lambda x, tol, hermitian: np.linalg.pinv(x, tol, hermitian),
    "lstsq": lambda a, b, rcond: np.linalg.lstsq(a, b, rcond)[0],
    "roots": np.roots,
    "residuals": lambda a, b, rcond: np.linalg.lstsq(a, b, rcond)[1],
    "qr": lambda x, mode: tuple(np.linalg.qr(x, mode)),
    "svd": lambda x, full: tuple(np.linalg.svd(x, full)),
    "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "eig": lambda x: tuple(np.linalg.eig(x)),
    "eigh": lambda x, uplo: tuple(np.linalg.eigh(x, uplo)),
    "eigvals": np.linalg.eigvals,
    "eigvalsh": lambda x, uplo: np.linalg.eigvalsh(x, uplo),
    "fft": lambda x, axis, norm: np.fft.fft(x, None, axis, norm),
    "ifft": lambda x, axis, norm: np.fft.ifft(x, None, axis, norm),
    "rfft": lambda x, axis, norm: np.fft.rfft(x, None, axis, norm),
    "irfft": lambda x, n, axis, norm: np.fft.irfft(x, n, axis, norm),
}

KERNELS = frozenset(
    "scale meet ratio quotient share fshare log_or_zero log_share log2_share float_power sigmoid softplus silu normal_cdf gelu gelu_tanh "
    "softmax log_softmax log_total sinc bessel_i norm recurrence cofactors second_cofactors statistic neighbours shares log_shares "
    "resolve cholesky_pull holders lasts partition_order bins_of edges_of rank matrix_rank closed_under_conjugation trimmed segments "
    "is_infinite unwrap_correction positions choices pairs alone argwhere has_nan "
    "combination misfit singular real_component rebuilt one_order apart positive_values "
    "one_positive unless_zero refuse_free unknown_rate refused_rate regained recomposed".split()
)
"""What several NumPy calls make together; their values are tested where they are defined."""
