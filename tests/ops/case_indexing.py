"""Cases of indexing."""

from typing import Any

import numpy as np

from funcgrad.ops import indexing as ops
from tests.ops.kit import NUMPY, arr, case

TAKEN: dict[str, Any] = {
    "int": 1,
    "negative-int": -1,
    "numpy-int": np.int8(1),
    "0-d-int": np.array(1),
    "element": (1, -2),
    "slice": slice(1, 3),
    "steps": (slice(None, None, -2), slice(3, None, -1)),
    "empty-slice": (slice(2, 2), slice(None)),
    "ellipsis": (..., 1),
    "whole": (),
    "newaxis": (None, slice(None), None, 2),
    "ellipsis-newaxis": (..., None, 1),
    "true": True,
    "false": False,
    "numpy-true": (np.True_, 1),
    "list": [0, 0, 2],
    "empty-list": [],
    "nested-list": [[0, 1], [3, 0]],
    "array": np.array([[0, 3], [1, 1]]),
    "negative-array": (slice(None), np.array([-1, 0, -1])),
    "adjacent": ([0, 0, 2], [1, 1, 3]),
    "broadcast": (np.array([[0], [2], [0]]), np.array([1, 1, 4])),
    "array-and-int": ([0, 3, 3], 2),
    "array-and-newaxis": (None, [0, 3, 3], None, slice(1, 3)),
    "mask": np.arange(20).reshape(4, 5) % 3 == 0,
    "row-mask": np.array([True, False, True, True]),
    "column-mask": (slice(None), [True, False, True, True, False]),
    "mask-and-array": (np.array([True, False, True, False]), [1, 4]),
    "empty-mask": np.zeros((4, 5), bool),
}

for _name, _index in TAKEN.items():
    case(ops.getitem, lambda x, index=_index: x[index], arr(4, 5), name=f"getitem-{_name}")

case(ops.getitem, lambda x: x[[0, 1, 1], :, [1, 1, 0]], arr(2, 4, 3), name="getitem-split-by-slice")
case(ops.getitem, lambda x: x[:, [[2], [2]], [0, 1, 1]], arr(2, 3, 2), name="getitem-adjacent-after-slice")
case(ops.getitem, lambda x: x[0, :, [1, 1, 0]], arr(2, 4, 3), name="getitem-int-counts-as-array")
case(ops.getitem, lambda x: x[np.eye(3, dtype=bool), 1:], arr(3, 3, 2), name="getitem-2-d-mask-and-slice")
case(ops.getitem, lambda x: x[x > 0] ** 2, arr(4, 5), name="getitem-own-mask")
case(ops.getitem, lambda x: x[...], arr(), name="getitem-0-d")
case(ops.getitem, lambda x: x[...][None], arr(), name="getitem-0-d-newaxis")
case(ops.getitem, lambda x: x[[1, 1]] * x[::2], arr(4), complex=True, name="getitem-complex")
case(ops.getitem, lambda x: [x[::-1][1:], x[1]], arr(4), name="getitem-chained")

# ---- changed copies


def changed(how: str, index: Any) -> Any:
    """`x.at[index]`, which plain NumPy writes in place."""
    in_place = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}

    def f(x: Any, v: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return getattr(x.at[index], how)(v)
        out = np.array(x)
        if how == "set":
            out[index] = v
        else:
            in_place[how].at(out, index, v)
        return out

    return f


for _how, _covers in (
    ("set", (ops.put, ops.winners)),
    ("add", ops.add_at),
    ("multiply", ops.occurrences),
    ("min", (ops.min_at, ops.shares_at)),
    ("max", ops.max_at),
):
    case(_covers, changed(_how, slice(1, 3)), arr(4, 2), np.float64(0.5), name=f"at-slice-{_how}")
    case(_covers, changed(_how, [2, 0, 2]), arr(4, 2), arr(3, 1, seed=2), name=f"at-repeated-{_how}")

# ---- by positions and masks

case(np.take, lambda x: np.take(x, [0, 5, 5, -1]), arr(3, 4))
case(np.take, lambda x: np.take(x, 4), arr(3, 4))
case(np.take, lambda x: np.take(x, [[0, 3], [3, 1]], axis=1), arr(3, 4))
case(np.take, lambda x: np.take(x, 1, axis=-2), arr(3, 4))
case(np.take, lambda x: np.take(x, [4, -5, 9], axis=0, mode="wrap"), arr(3, 4), complex=True)
case(np.take, lambda x: np.take(x, [4, -5, 1], axis=0, mode="clip"), arr(3, 4))
case(np.take, lambda x: np.take(x, np.zeros((0, 2), int), axis=1), arr(3, 4))
case(np.take, lambda x: np.take(x, [], axis=0), arr(3, 4))
case(np.take, lambda x: np.take(x, [True, False]), arr(3))
case(np.take, lambda x: (np.take(x, 0, axis=0), np.take(x, [0, 0], axis=-1)), np.float64(0.3), name="take-0-d")
case(np.take_along_axis, lambda x: np.take_along_axis(x, np.array([[2, 0], [2, 1]]), axis=0), arr(3, 2), complex=True)
case(np.take_along_axis, lambda x: np.take_along_axis(x, np.array([[2, 0, 0]]), axis=-1), arr(3, 4))
case(np.take_along_axis, lambda x: np.take_along_axis(x, np.array([5, 5, 0]), axis=None), arr(3, 4))
case(np.take_along_axis, lambda x: np.take_along_axis(x, np.array([[0, 1], [1, 1]]), axis=1), arr(1, 2))
case(np.compress, lambda x: np.compress([True, False, True], x, axis=1), arr(3, 4))
case(np.compress, lambda x: np.compress(np.arange(10) % 2, x), arr(3, 4))
case(np.extract, lambda x: np.extract(x > 0, x), arr(3, 4))
case(np.nonzero, lambda x: x[np.nonzero(x > 0)] ** 2, arr(3, 4))
case(np.nonzero, lambda x: np.nonzero(x - x[0]), arr(3, 4), name="nonzero-values", float32=False)
case(np.flatnonzero, lambda x: np.flatnonzero(x > 0), arr(3, 4))
case(np.flatnonzero, lambda x: np.flatnonzero(x), arr(3, 4), name="flatnonzero-values")
case(np.argwhere, lambda x: np.argwhere(x), arr(3, 4))

# ---- choosing

case(np.where, lambda x, y: np.where(np.arange(4) % 2, x, y), arr(3, 4), arr(3, 1), complex=True)
case(np.where, lambda x: np.where(x > 0, x, 1), arr(3, 4))
case(np.where, lambda x: np.where(x > 0, np.arange(4), x), arr(3, 4))
case(np.where, lambda x: np.where(x, x * x, 2.5), arr(3, 4))
case(np.where, lambda x: np.where([[True], [False]], [x, 2.0], 0.5), np.float64(0.3))
case(np.where, lambda x: x[np.where(x > 0)], arr(3, 4))
case(np.clip, lambda x: np.clip(x, -0.5, 0.75), arr(3, 4))
case(np.clip, lambda x, low, high: np.clip(x, low, high), arr(3, 4), arr(4, low=-2, high=-1), np.float64(0.5))
case(np.clip, lambda x: np.clip(x, None, 0.5), arr(3, 4))
case(np.clip, lambda x: np.clip(x, a_min=-0.5, a_max=None), arr(3, 4))
if NUMPY >= (2, 1):  # before, there were no `min` and `max`, and one bound at least had to be given
    case(np.clip, lambda x: np.clip(x, min=-0.5), arr(3, 4))
    case(np.clip, lambda x: np.clip(x, min=-0.5, max=0.2), np.float64(0.1))
    case(np.clip, lambda x: np.clip(x, None, None), arr(3, 4))
    case(np.clip, lambda x: np.clip(x), arr(3, 4))
case(np.clip, lambda x: np.clip(x, -0.5, 0.75, dtype=np.float32), arr(3, 4), rtol=1e-3, order=1)
case(np.clip, lambda low: np.clip(np.arange(3), low, 1.5), arr(2, 1))
case(np.select, lambda x: np.select([x < 0, x > 1], [-x, x**2], default=5 * x), arr(3, 4))
case(np.select, lambda x, y: np.select([[True, False, False], np.array([[True], [False]])], [x, y]), arr(3), arr(2, 1), complex=True)
case(np.select, lambda x: np.select([np.True_], [x], 1), np.float64(0.5))
case(np.choose, lambda x, y: np.choose([[0], [1], [1]], [x, y]), arr(3, 4), arr(4))
case(np.choose, lambda x: np.choose([0, 5, -1, 2], x, mode="clip"), arr(3, 4))
case(np.choose, lambda x: np.choose([0, 5, -1, 2], x, mode="wrap"), arr(3, 4))
case(np.choose, lambda x: np.choose([0, 1, 1], [x, 1.5]), arr(3), name="choose-number")
case(np.choose, lambda x: (np.choose(0, [x, 1.5]), np.nan_to_num(x)), np.float64(0.3), name="choose-0-d")
case(np.nan_to_num, lambda x: np.nan_to_num(x * np.array([1.0, np.nan, np.inf, -np.inf])), arr(4, low=0.5))
case(np.nan_to_num, lambda x: np.nan_to_num(np.where([True, False, True], x, np.nan), nan=2), arr(3))
case(np.nan_to_num, lambda x: np.nan_to_num(x + np.array([0, np.inf, -np.inf]), posinf=7.0, neginf=-8.0), arr(3), complex=True)
