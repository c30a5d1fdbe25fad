"""Between the tree that users integrate and the one array that the solver does."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array, bare
from funcgrad.ops.piling import pile, unpile
from funcgrad.ops.shaping import cast, reshape, split
from funcgrad.pytree.compare import difference
from funcgrad.tensor import of_fresh
from funcgrad.transforms.arguments import describe, kind_of
from funcgrad.transforms.doors import is_tensor

Shape = tuple[int, ...]

_ndarray = np.ndarray


@attrs.frozen
class Form:
    """What a state is, as a tree: the state itself is the array of a single leaf as it is, or one vector of all leaves."""

    treedef: pytree.TreeDef
    shapes: tuple[Shape, ...]
    dtypes: tuple[np.dtype[Any], ...]
    dtype: np.dtype[Any]
    tensors: bool

    @property
    def real(self) -> np.dtype[Any]:
        """The dtype of numbers that scale a state."""
        return np.zeros(0, self.dtype).real.dtype

    def tree(self, y: Value) -> Any:
        """A state as users see it; nobody writes to it."""
        if self.treedef is pytree.LEAF:
            return self.face(y)
        if len(self.shapes) == 1:
            return self.treedef.unflatten([self.face(y)])
        parts = unpile(y, shapes=self.shapes) if self.shapes else ()
        return self.treedef.unflatten([self.face(cast(p, dtype)) for p, dtype in zip(parts, self.dtypes, strict=True)])

    def face(self, x: Value) -> Any:
        if type(x) is _ndarray:
            x.flags.writeable = False
            return of_fresh(x) if self.tensors else x
        return of_fresh(np.asarray(x)) if self.tensors and not isinstance(x, Traced) else x

    def joined(self, values: list[Value]) -> Value:
        if len(values) == 1:
            return cast(values[0], self.dtype)
        return pile(*[cast(v, self.dtype) for v in values]) if values else np.zeros(0)

    def series(self, ys: Value) -> Any:
        """Many states, stacked along their first axis, as a tree whose leaves are."""
        if len(self.shapes) == 1:
            return self.treedef.unflatten([self.face(ys)])
        lead = shape_of(ys)[:-1]
        parts = split(ys, axis=-1, sizes=tuple([int(np.prod(shape)) for shape in self.shapes])) if self.shapes else ()
        leaves = [
            self.face(cast(reshape(p, shape=(*lead, *shape)), dtype))
            for p, shape, dtype in zip(parts, self.shapes, self.dtypes, strict=True)
        ]
        return self.treedef.unflatten(leaves)

    def slope_of(self, label: str, out: Any) -> Value:
        """What the user's function gave, as a slope of the state; for one array a list of numbers will do."""
        if self.treedef is pytree.LEAF:
            if isinstance(out, Traced) and out._shape == self.shapes[0] and out._dtype is self.dtype:
                return out
            return self._fitting(label, [array(out)])
        leaves, treedef = pytree.flatten(out)
        if treedef != self.treedef:
            path, got, want = difference(treedef, self.treedef)
            what = f"at {path or 'the root'} the derivative is {got}, but y0 is {want}. It must have the structure of y0."
            raise errors.ArgumentTypeError(label, what)
        return self._fitting(label, [bare(x) for x in leaves])

    def _fitting(self, label: str, values: list[Value]) -> Value:
        for x, shape, dtype, path in zip(values, self.shapes, self.dtypes, self.treedef.paths, strict=True):
            if type(x) is _ndarray and x.shape == shape and x.dtype is dtype:
                continue
            if shape_of(x) != shape or kind_of(x) not in ("f", "i", "b", "u", dtype.kind):
                like = f"{dtype}{list(shape) if shape else ''}"
                rule = "It must be a change of y0: of its shape, and real where it is."
                raise errors.ArgumentTypeError(label, f"the derivative{path} is {describe(x)}, but y0{path} is {like}. {rule}")
        return self.joined([x.copy() if type(x) is _ndarray else x for x in values])  # whose array it is may use it again


def formed(label: str, y0: Any, others: Any) -> tuple[Form, Value]:
    """The form and the state of `y0`. Ints become floats, as in SciPy."""
    leaves, treedef = pytree.flatten(y0)
    values = [bare(leaf) for leaf in leaves]
    for path, value in zip(treedef.paths, values, strict=True):
        if kind_of(value) not in ("f", "c", "i", "u", "b"):
            what = f"y0{path} is {describe(value)}, not a number or an array of numbers. Pass what does not change as another argument."
            raise errors.ArgumentTypeError(label, what)
    dtypes = tuple([dtype if dtype.kind in "fc" else np.dtype(float) for dtype in map(dtype_of, values)])
    tensors = any(map(is_tensor, leaves)) or any(map(is_tensor, pytree.leaves(others)))
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(float)
    form = Form(treedef, tuple(map(shape_of, values)), dtypes, dtype, tensors)
    y = form.joined([v.copy() if type(v) is _ndarray else v for v in values])
    return form, dtype.type(y) if type(y) in (float, complex) else y
