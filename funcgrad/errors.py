"""Every exception of funcgrad and how its sentence is made.

A message is at most three sentences: what happened, with the values; the rule; what to write instead.
Each class also derives from the builtin that a user would catch.
"""

from __future__ import annotations


class FuncgradError(Exception):
    """The base of every exception that funcgrad raises on purpose."""


# ---- tracers


class LeakedTracerError(FuncgradError, RuntimeError):
    """A tracer met a transformation it does not belong to, or outlived its own."""

    def __init__(self, transformation: str, function: str, place: str, how: str) -> None:
        self.transformation, self.function, self.place = transformation, function, place
        if how == "ended":
            text = f"A tracer of {transformation} ({place}) was used after it ended. Return it from `{function}` instead of storing it."
        else:
            text = (
                f"A tracer of {transformation} ({place}) came out of an older transformation. "
                "A value may leave a transformation only through the function's return value, "
                "and not through generators, coroutines or threads that interleave two."
            )
        super().__init__(text)


class ConversionError(FuncgradError, TypeError):
    """A traced value was asked to become a number or an ndarray, which would drop its gradient."""

    def __init__(self, what: str, function: str, place: str, instead: str) -> None:
        self.what, self.function, self.place = what, function, place
        super().__init__(f"{what} of a traced value in {function} ({place}) would drop its gradient. {instead}")


class TooLargeToStackError(FuncgradError, TypeError):
    """`np.asarray` of a large traced array would go element by element."""

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        super().__init__(
            f"np.asarray, np.array or a.dot(x) of a traced array of {size} elements would go element by element (limit: {limit}). "
            "NumPy functions take the traced array as it is, and `a @ x` takes the place of `a.dot(x)`."
        )


class MissingRuleError(FuncgradError, NotImplementedError):
    """A function has no derivative rule here."""

    def __init__(self, name: str, reason: str = "") -> None:
        self.name, self.reason = name, reason
        instead = "Write it in terms of functions that have one, or apply it to `fg.stop_gradient(x)` if its derivative does not matter."
        super().__init__(f"{name} of a traced value has no derivative rule in funcgrad. {reason or instead}")


class ObjectOperandError(FuncgradError, TypeError):
    """A traced value met Python objects in an array, through which no derivative passes."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name}: a traced value met an array of Python objects, which would drop its gradient. Convert it: `np.asarray(y, float)`."
        )


class EqualValuesError(FuncgradError, ValueError):
    """A loss of vectors that belong to equal eigenvalues or singular values has no derivative that follows from theirs."""

    def __init__(self, name: str, together: bool) -> None:
        self.name, self.together = name, together
        values = "singular values" if name.startswith("svd") else "eigenvalues"
        which = f"vectors of equal {values} (or which phases of complex ones)" if name != "qr" else "columns of Q beyond those of A"
        if together:
            text = (
                f"the loss uses {values} that are equal together with their vectors, and its derivative does not follow from theirs. "
                f"Use one of them alone, or make the {values} differ: `A + np.diag(1e-6 * np.arange(n))`."
            )
        else:
            text = (
                f"the loss depends on which {which} were chosen, so it has no derivative here. "
                "Use what does not depend on the choice, such as the projection `V @ V.conj().T`."
            )
        super().__init__(f"np.linalg.{name}: {text}")


class ForeignArrayError(FuncgradError, TypeError):
    """An array class whose operations mean something else than those of ndarrays."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        super().__init__(
            f"a traced value or Tensor met a {cls.__name__}, whose operations are its own. Pass `np.asarray(y)`, if that is meant."
        )


class OutArgumentError(FuncgradError, TypeError):
    """`out=` would write a traced value into an array."""

    def __init__(self, name: str, augmented: str = "") -> None:
        self.name = name
        also = f" (or `a {augmented}= x`)" if augmented else ""
        instead = f", as in `a = a {augmented} x`" if augmented else ""
        super().__init__(
            f"{name}: out={also} would write a traced value into an array, which cannot hold it. Use the returned value{instead}."
        )


class WhereArgumentError(FuncgradError, TypeError):
    """A ufunc's `where=` without `out=` leaves elements undefined."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name}: where= leaves elements undefined unless out= is given, which traced values cannot have. Use np.where(mask, …, …)."
        )


class FrozenError(FuncgradError, TypeError):
    """Something immutable was written to."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}: tensors and traced values are immutable. {instead}")


class NoStridesError(FuncgradError, AttributeError):
    """`x.strides`, on which the result would depend."""

    def __init__(self, instead: str) -> None:
        super().__init__(f"x.strides: a traced value or Tensor does not say how it lies in memory. {instead}")


class EndedBufferError(FuncgradError, ValueError):
    """A buffer was used after it was frozen."""

    def __init__(self) -> None:
        super().__init__("buf[…]: the buffer was frozen, which ends it. Use what `buf.freeze()` returned, or make a new `fg.buffer`.")


class UnhashableError(FuncgradError, TypeError):
    """Tensors compare element by element, so they have no hash."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind} has no hash: == compares element by element, as with arrays. Use a name, or `id(x)`, as the key.")


# ---- doors


class InputError(FuncgradError, TypeError):
    """An argument cannot be differentiated."""

    def __init__(self, transformation: str, path: str, what: str, instead: str) -> None:
        self.path = path
        super().__init__(f"{transformation}: {path} is {what}. {instead}")


class OutputError(FuncgradError, TypeError):
    """The function's output cannot be differentiated."""

    def __init__(self, transformation: str, rule: str, got: str, instead: str) -> None:
        super().__init__(f"{transformation}: {rule}, got {got}. {instead}")


class ArgumentError(FuncgradError, ValueError):
    """Arguments of a transformation that name nothing, or do not fit each other."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")


class ArgumentTypeError(FuncgradError, TypeError):
    """Arguments of a transformation of the wrong type."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")


# ---- lanes


class LanesDifferError(FuncgradError, ValueError):
    """A value that differs between the lanes of `vmap` was asked to be one number."""

    def __init__(self, transformation: str, kind: str, place: tuple[str, str]) -> None:
        self.kind = kind
        instead = "Use `np.where` instead of `if`." if kind == "bool" else "Use NumPy functions of the mapped value."
        if kind in ("index", "array"):
            instead = "To read an array at a mapped index, write `fg.tensor(x)[i]`."
        super().__init__(f"{transformation}: {kind}() in {place[0]} ({place[1]}), but the answers of the lanes differ. {instead}")


class EmptyBatchError(FuncgradError, ValueError):
    """A value of an empty batch was asked to be one number."""

    def __init__(self, transformation: str, kind: str, place: tuple[str, str]) -> None:
        self.kind = kind
        super().__init__(f"{transformation}: {kind}() in {place[0]} ({place[1]}), but the batch is empty, so no lane can answer.")


class LaneShapesError(FuncgradError, ValueError):
    """An operation whose result has another shape in each lane."""

    def __init__(self, transformation: str, name: str, first: tuple[int, ...], other: tuple[int, ...]) -> None:
        self.shapes = first, other
        shapes = f"{list(first)} in the first lane, {list(other)} in another"
        super().__init__(f"{transformation}: {name} gives shape {shapes}. All lanes must have one shape: use a mask and `np.where`.")


class LaneResultsError(FuncgradError, ValueError):
    """Lanes that took different paths gave results that do not fit together."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")


class LaneLayoutError(FuncgradError, ValueError):
    """`order="A"` or `"K"` of a mapped value."""

    def __init__(self) -> None:
        super().__init__(
            'order="A" and order="K" ask how an array lies in memory, which a value that vmap maps has lost. Write "C" or "F".'
        )


class BatchAxisError(FuncgradError, ValueError):
    """`in_axes`, `out_axes` or `axis_size` do not fit what they speak of."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")


# ---- programs


class InvalidProgramError(FuncgradError, ValueError):
    """A program breaks a rule that all programs keep."""

    def __init__(self, equation: str, wrong: str) -> None:
        self.equation, self.wrong = equation, wrong
        super().__init__(f"check: {equation}: {wrong}.")


class ProgramArgumentError(FuncgradError, TypeError):
    """A program was called with other arguments than it was recorded for."""

    def __init__(self, function: str, now: str, was: str) -> None:
        self.function = function
        super().__init__(
            f"program {function}: {now}, but {was} when the program was recorded. A program has one structure, one shape and one dtype "
            f"for each argument: record another with `fg.trace({function})(…)`."
        )


class GuardError(FuncgradError, ValueError):
    """A program met a value for which its function would take another path."""

    def __init__(self, function: str, place: tuple[str, str], kind: str, recorded: object, now: object) -> None:
        self.function, self.place, self.kind, self.recorded, self.now = function, place, kind, recorded, now
        where = f" in {place[0]} ({place[1]})" if place[1] else ""
        found = f"is {now!r}, but was {recorded!r}" if now is not None else f"is no longer {recorded!r}, as it was"
        look = "the integer" if kind == "index" else f"{kind}()"
        instead = "or use `np.where` instead of `if`" if kind == "bool" else "or use NumPy functions of the value"
        super().__init__(
            f"program {function}: {look} of a traced value{where} {found} when the program was recorded. A program is one path "
            f"through its function. Record another for these arguments with `fg.trace({function})(…)`, {instead}."
        )


class NotDataError(FuncgradError, TypeError):
    """A program that cannot be written as data."""

    def __init__(self, function: str, what: str) -> None:
        self.function, self.what = function, what
        super().__init__(
            f"program {function}: {what}, so it cannot be saved or pickled. Save what makes it, and record it again with `fg.trace`."
        )


class InvalidDataError(FuncgradError, ValueError):
    """Bytes that are no program."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"load: {what}. Bytes that `Program.to_bytes` wrote are a program, and no others.")


# ---- the tape


class CarryError(FuncgradError, TypeError):
    """What a loop carries from step to step changed its shape or dtype."""

    def __init__(self, transformation: str, path: str, before: str, after: str) -> None:
        self.path, self.before, self.after = path, before, after
        super().__init__(
            f"{transformation}: {path} is {before} before the step and {after} after it. It must keep its shape and dtype. "
            "Begin with what the step gives, or cast with `.astype`."
        )


class BranchError(FuncgradError, TypeError):
    """Branches gave different structures, shapes or dtypes."""

    def __init__(self, transformation: str, path: str, one: str, other: str) -> None:
        self.path, self.one, self.other = path, one, other
        super().__init__(
            f"{transformation}: the output{path} is {one} in the first branch and {other} in another. "
            "All branches must give one structure, shape and dtype. Cast with `.astype`, or broadcast."
        )


class NotRecordedError(FuncgradError, TypeError):
    """`backward` of something that is no value of the tape."""

    def __init__(self, what: str, transformation: str = "") -> None:
        instead = "Compute the loss from a `fg.Var`."
        if transformation:
            instead = f"Use {transformation} alone, or make the Var inside the function."
        super().__init__(f"backward: got {what}, which the tape has not recorded. {instead}")


class NoGradientError(FuncgradError, KeyError):
    """The loss does not depend on this Var."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"backward: the loss does not depend on {what}. {why}")

    def __str__(self) -> str:  # that of KeyError is a repr
        return str(self.args[0])


class NoGradAttributeError(FuncgradError, AttributeError):
    """PyTorch's habit of looking for the gradient in the tensor."""

    def __init__(self) -> None:
        super().__init__("a Var has no `.grad`: nothing is ever written to it. Use `grads = fg.backward(loss)`, then `grads[x]`.")


# ---- custom rules


class NoRuleError(FuncgradError, NotImplementedError):
    """A function with custom rules has none for this mode."""

    def __init__(self, function: str, transformation: str, instead: str) -> None:
        self.function = function
        super().__init__(f"{transformation}: {function} has no custom rule for it. {instead}")


class RuleResultError(FuncgradError, TypeError):
    """A custom rule gave something that does not fit."""

    def __init__(self, function: str, rule: str, what: str) -> None:
        self.function, self.rule = function, rule
        super().__init__(f"the {rule} of {function}: {what}")


class ClosedOverTracerError(LeakedTracerError):
    """A function with custom rules uses a traced value that is neither an argument nor found in what it closes over."""

    def __init__(self, function: str, transformation: str, place: str) -> None:
        self.transformation, self.function, self.place = transformation, function, place
        Exception.__init__(
            self,
            f"{function} uses a traced value of {transformation} ({place}) that is neither one of its arguments nor found in what it "
            f"closes over, so it would be lost. Pass it to {function} as an argument.",
        )


# ---- solvers


class HiddenTracerError(FuncgradError, RuntimeError):
    """A solver reaches a traced value in a place where it cannot be found, and needs it after its transformation has ended."""

    def __init__(self, function: str, transformation: str, place: str) -> None:
        self.transformation, self.function, self.place = transformation, function, place
        super().__init__(
            f"a solver of {function} reaches a traced value of {transformation} ({place}), which has ended, in a class or a "
            "module. What it uses must come through the function that it is given, or stand in a closure, a global variable or an object."
        )


class ConvergenceError(FuncgradError, RuntimeError):
    """An iteration that did not come to rest."""

    def __init__(self, transformation: str, steps: int, change: float, tolerance: float) -> None:
        self.steps, self.change, self.tolerance = steps, change, tolerance
        last = f"changed x by {change:.2g} times its size, more than {tolerance:.2g}" if change < float("inf") else "gave inf or nan"
        text = f"{transformation}: no fixed point after {steps} {'step' if steps == 1 else 'steps'}: the last one {last}. "
        text += "Raise `maxiter` or `xtol`, or begin nearer to it. "
        super().__init__(f"{text}Where the slope of the function is 1 or more, use `custom_root` with Newton's method.")


# ---- pytrees


class UnregisteredContainerError(FuncgradError, TypeError):
    """A subclass of a container: taking it apart could lose what it adds, taking it as a leaf would hide what it holds."""

    def __init__(self, cls: type, base: type, path: str) -> None:
        self.cls, self.base, self.path = cls, base, path
        super().__init__(
            f"flatten: {cls.__name__} at {path or 'the root'} is a subclass of {base.__name__} that is not registered. "
            f"Use `fg.tree.register({cls.__name__}, flatten, unflatten)`, or pass a plain container."
        )


class CyclicTreeError(FuncgradError, ValueError):
    """A container that contains itself."""

    def __init__(self, path: str, ancestor: str) -> None:
        self.path, self.ancestor = path, ancestor
        super().__init__(f"flatten: {path} is the container at {ancestor or 'the root'}, which so contains itself. A tree has no cycles.")


class DeepTreeError(FuncgradError, ValueError):
    """A tree that nests too deep."""

    def __init__(self, path: str, limit: int) -> None:
        self.path, self.limit = path, limit
        super().__init__(f"flatten: more than {limit} levels at {path[:40]}…. Use a flat list of what is nested.")


class UnsetFieldError(FuncgradError, ValueError):
    """A field of a dataclass or attrs object has no value."""

    def __init__(self, cls: type, field: str, path: str) -> None:
        self.cls, self.field, self.path = cls, field, path
        super().__init__(f"flatten: {path}.{field} of {cls.__name__} has no value. Every field needs one, if only None.")


class TreeMismatchError(FuncgradError, ValueError):
    """Trees that should have the same structure differ."""

    def __init__(self, verb: str, position: int, path: str, left: str, right: str) -> None:
        self.path, self.left, self.right = path, left, right
        super().__init__(
            f"{verb}: trees 1 and {position} differ at {path or 'the root'}: {left} ≠ {right}. All trees must have the same structure."
        )


class LeafCountError(FuncgradError, ValueError):
    """Too few or too many leaves for a treedef."""

    def __init__(self, given: int, paths: tuple[str, ...]) -> None:
        self.given, self.expected = given, len(paths)
        self.path = paths[min(given, len(paths) - 1)] if paths else ""
        place = self.path or "the root"
        where = "it has none" if not paths else f"none is left for {place}" if given < len(paths) else f"the last place is {place}"
        super().__init__(f"unflatten: got {given} leaves for a tree of {len(paths)}: {where}. Pass one leaf for each place.")


class TreeRegistrationError(FuncgradError, ValueError):
    """A class that is a container already."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        super().__init__(f"register: {cls.__name__} is a container already. A class is registered once.")


# ---- check_grads


class GradientError(FuncgradError, AssertionError):
    """`check_grads` found a derivative that is wrong, or code that means one thing under NumPy and another when traced."""


class WrongDerivativeError(GradientError):
    """One entry of a derivative is not what differences say."""

    def __init__(
        self, function: str, path: str, out: str, mode: str, order: int, values: tuple[object, object], by: str, verdict: str
    ) -> None:
        self.path, self.out, self.mode, self.order = path, out, mode, order
        self.found, self.expected = values
        power = "" if order == 1 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[order] if order < 10 else f"^{order} "
        entry = f"∂{power}{out}/∂{path}"
        super().__init__(f"check_grads({function}): {entry} is {values[0]} by {mode}, {values[1]} by {by} (order {order}). {verdict}")


class ChangedArgumentError(GradientError):
    """The function writes to its arguments under plain NumPy."""

    def __init__(self, function: str, path: str, values: tuple[object, object]) -> None:
        self.path, self.before, self.after = path, *values
        super().__init__(
            f"check_grads({function}): it changes {path} from {values[0]} to {values[1]} under plain NumPy, as `y = x; y += 1` does. "
            "On traced values augmented assignment makes a new value and leaves `x` alone. Write `y = y + 1`."
        )


class ValueMismatchError(GradientError):
    """The function gives one value under plain NumPy and another when traced."""

    def __init__(self, function: str, out: str, mode: str, values: tuple[object, object]) -> None:
        self.out, self.traced, self.plain = out, *values
        super().__init__(
            f"check_grads({function}): {out} is {values[0]} traced by {mode}, {values[1]} under plain NumPy. "
            "An augmented assignment does that (`z = y; z += 1` changes `y` too under NumPy alone): write `z = z + 1`. "
            "If there is none, an operation's value is wrong."
        )


class NondeterministicError(GradientError):
    """Two calls with equal arguments differ."""

    def __init__(self, function: str, out: str, values: tuple[object, object]) -> None:
        self.out, self.values = out, values
        super().__init__(
            f"check_grads({function}): {out} is {values[0]} in one call and {values[1]} in the next, with equal arguments. "
            "Only a function of its arguments has a derivative. Draw random numbers outside and pass them in."
        )


class RuleError(GradientError):
    """`check_rule` found custom rules that are not linear, or not those of the function."""

    def __init__(self, function: str, what: str, values: tuple[object, object]) -> None:
        self.found, self.expected = values
        super().__init__(f"check_rule({function}): {what.format(*values)}.")


# ---- differential equations


class IntegrationError(FuncgradError, RuntimeError):
    """The solver did not reach the end of the time range."""

    def __init__(self, label: str, t: float, steps: int, why: str) -> None:
        self.t, self.steps = t, steps
        super().__init__(f"{label}: stuck at t = {t!r} after {steps} steps. {why}")
