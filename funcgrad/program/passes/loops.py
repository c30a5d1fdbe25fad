"""Programs within equations: each is simplified, and what nobody reads does not leave it, nor enter.

Of a `scan`: columns that nobody reads, or that are there twice; a carry that only serves itself, or that never changes; constants and
rows that the body does not read. Of a `cond`: results that nobody reads, and operands that no branch does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.ops.shaping import astype
from funcgrad.program.parts import ALONE, Atom, Equation, Var, sorted_params, variables
from funcgrad.program.passes.dead import without_dead_code
from funcgrad.program.program import Program, renumbered

Simplify = Callable[[Program], Program]


def with_inner(program: Program, simplify: Simplify) -> Program:
    """The program with simpler programs inside."""
    if not any(holds_program(value) for e in program.equations for _, value in e.params):
        return program
    read = {v.number for e in program.equations for v in variables(e.inputs)} | {v.number for v in variables(program.outputs)}
    stands: dict[int, Atom] = {}

    def atom(x: Atom) -> Atom:
        return stands.get(x.number, x) if type(x) is Var else x

    equations = []
    for e in program.equations:
        e = Equation(e.primitive, tuple(map(atom, e.inputs)), e.outputs, e.params, e.line)
        if any(holds_program(value) for _, value in e.params):
            params = tuple([(name, simpler(value, simplify)) for name, value in e.params])
            e = Equation(e.primitive, e.inputs, e.outputs, params, e.line)
            rule = SMALLER.get(e.primitive.name) if ALONE.get(e.primitive.name) is e.primitive else None
            if rule is not None and any(v.number in read for v in e.outputs):
                e, copies, found = rule(e, read)
                equations.extend(copies)
                stands.update(found)
        equations.append(e)
    return renumbered(program.inputs, equations, list(map(atom, program.outputs)))


def holds_program(value: Any) -> bool:
    return type(value) is Program or (type(value) is tuple and any(type(x) is Program for x in value))


def simpler(value: Any, simplify: Simplify) -> Any:
    if type(value) is Program:
        return simplify(value)
    return tuple([simpler(x, simplify) for x in value]) if holds_program(value) else value


# ---- scan: (consts…, carry…, xs…) -> (carry…, ys…)

Smaller = tuple[Equation, list[Equation], dict[int, Atom]]
"""The equation, copies of what used to go through it unchanged, and what stands for other results that it does not give any more."""


def smaller_scan(e: Equation, read: set[int]) -> Smaller:
    """The loop without what is idle."""
    body, c, n = e["body"], e["consts"], e["carry"]
    stands: dict[int, Atom] = {}
    fixed = [k for k in range(n) if body.outputs[k] == body.inputs[c + k]]
    copies = [copy(e.inputs[c + k], e.outputs[k]) for k in fixed if e.outputs[k].number in read]
    needed = needed_carry(body, c, n, [k for k in range(len(e.outputs)) if e.outputs[k].number in read and k not in fixed])
    carry = [k for k in range(n) if k in needed and k not in fixed]
    rows: dict[Atom, int] = {}
    for k in range(n, len(e.outputs)):
        if e.outputs[k].number in read:
            first = rows.setdefault(body.outputs[k], k)
            if first != k:
                stands[e.outputs[k].number] = e.outputs[first]
    kept = [*carry, *rows.values()]
    inner = without_dead_code(Program(body.inputs, body.equations, tuple([body.outputs[k] for k in kept])))
    wanted = inputs_read(inner)
    consts = [i for i in range(c) if i in wanted] + [c + k for k in fixed if c + k in wanted]
    places = [*consts, *[c + k for k in carry], *[i for i in range(c + n, len(body.inputs)) if i in wanted]]
    if len(places) == len(e.inputs) and len(kept) == len(e.outputs) and not fixed:
        return e, [], {}
    params = dict(e.params) | {"body": with_inputs(inner, places), "consts": len(consts), "carry": len(carry)}
    outputs = tuple([e.outputs[k] for k in kept])
    return Equation(e.primitive, tuple([e.inputs[i] for i in places]), outputs, sorted_params(params), e.line), copies, stands


def copy(x: Atom, out: Var) -> Equation:
    return Equation(astype, (x,), (out,), (("dtype", out.dtype),))


def needed_carry(body: Program, consts: int, carry: int, outputs: Sequence[int]) -> set[int]:
    """The places among the outputs that those outputs need, from step to step."""
    needed = set(outputs)
    while True:
        inner = without_dead_code(Program(body.inputs, body.equations, tuple([body.outputs[k] for k in sorted(needed)])))
        found = needed | {i - consts for i in inputs_read(inner) if consts <= i < consts + carry}
        if found == needed:
            return needed
        needed = found


def inputs_read(program: Program) -> set[int]:
    """The places of the inputs that the program reads."""
    read = {v.number for e in program.equations for v in variables(e.inputs)} | {v.number for v in variables(program.outputs)}
    return {k for k, v in enumerate(program.inputs) if v.number in read}


def with_inputs(program: Program, places: Sequence[int]) -> Program:
    return renumbered([program.inputs[k] for k in places], program.equations, program.outputs)


# ---- cond: (which, operands…) -> results…


def smaller_cond(e: Equation, read: set[int]) -> Smaller:
    """The choice of what is read alone."""
    kept = [k for k, v in enumerate(e.outputs) if v.number in read]
    inner = [without_dead_code(Program(p.inputs, p.equations, tuple([p.outputs[k] for k in kept]))) for p in e["branches"]]
    wanted = set().union(*map(inputs_read, inner))
    places = [k for k in range(len(e.inputs) - 1) if k in wanted]
    if len(kept) == len(e.outputs) and len(places) == len(e.inputs) - 1:
        return e, [], {}
    params = sorted_params({"branches": tuple([with_inputs(p, places) for p in inner])})
    inputs = (e.inputs[0], *[e.inputs[1 + k] for k in places])
    return Equation(e.primitive, inputs, tuple([e.outputs[k] for k in kept]), params, e.line), [], {}


SMALLER: dict[str, Callable[[Equation, set[int]], Smaller]] = {"scan": smaller_scan, "cond": smaller_cond}
