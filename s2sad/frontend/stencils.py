"""Kernels of `numba.stencil`: loops over the elements, with indices that are relative to one.

    @numba.stencil                          for i in range(1, a.shape[0] - 1):
    def second(a):                              out[i] = a[i - 1] - 2.0 * a[i] + a[i + 1]
        return a[-1] - 2.0 * a[0] + a[1]

Where an index would leave the array, the result is `cval`, which is zero unless said otherwise.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.calls import call_value
from s2sad.frontend.expanded import written_function
from s2sad.frontend.generators import taken_names
from s2sad.frontend.leaving import named, placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import source_of
from s2sad.frontend.values import FuncV, V, Value, const
from s2sad.ir.types import Array

_HOW = "Give each array one constant index for each axis, as in `a[-1, 0]`, or say how far it reaches: `neighborhood=`."


def call_stencil(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`kernel(a, b)`: the array of what the kernel gives at each element of the first array."""
    source = source_of(fn.kernel_ir.func_id.func)
    parameters = [p.id for p in source.node.args.args]
    if kwargs or len(args) != len(parameters):
        return lw.fail(node, f"`{source.name}`, a stencil kernel, takes {len(parameters)} arrays or numbers here",
                       "Call it without keywords, and assign the result.")  # fmt: skip
    kind = args[0].expr.type if isinstance(args[0], V) else None
    if not isinstance(kind, Array) or kind.dtype != "float64" or not kind.dims:
        return lw.fail(node, f"the first argument of `{source.name}`, a stencil kernel, is no array of float64",
                       "Convert it first: `a.astype(np.float64)`.")  # fmt: skip
    as_they_are = set(fn.options.get("standard_indexing", ()))
    relative = {p for p, a in zip(parameters, args, strict=True) if _is_array(a) and p not in as_they_are}
    taken = taken_names(source.node) | set(parameters)
    counters = [_fresh(name, taken) for name in "ijklmn"[: len(kind.dims)]]
    shifted = _Shifted(lw, source, relative, counters, node)
    tree = copy.deepcopy(source.node)
    tree.decorator_list = []
    tree.body = [shifted.visit(stmt) for stmt in tree.body]
    tree.args.args += [placed(gast.Name(id=c, ctx=gast.Param(), annotation=None, type_comment=None), source.node)
                       for c in counters]  # fmt: skip
    at = FuncV(tree, source.rewritten(tree, {}, {}), {}, source.name)
    reach = fn.neighborhood if fn.neighborhood is not None else shifted.reach
    if fn.neighborhood is None and shifted.computed is not None:
        return shifted.refuse(shifted.computed)
    ends = [(int(low), int(high)) for low, high in reach]
    unlike = [p for p, a in zip(parameters, args, strict=True) if p in relative and _dims(a) != kind.dims]
    text = _loops(source.name, parameters, counters, ends, unlike)
    scope: dict[str, Value] = {"at": at, "cval": const(float(fn.options.get("cval", 0.0)))}
    return call_value(lw, written_function(lw, text, scope, node), args, {}, node)


def _is_array(value: Value) -> bool:
    return isinstance(value, V) and isinstance(value.expr.type, Array)


def _dims(value: Value) -> object:
    return value.expr.type.dims if isinstance(value, V) and isinstance(value.expr.type, Array) else None


def _fresh(hint: str, taken: set[str]) -> str:
    while hint in taken:
        hint += "_"
    taken.add(hint)
    return hint


def _loops(
    name: str, parameters: list[str], counters: list[str], reach: list[tuple[int, int]], unlike: list[str]
) -> str:  # fmt: skip
    """Return the text of a function that calls `at` for each element that is far enough from all ends.

    Arrays that are not known to be as long as the first, `unlike`, are compared with it: they may be longer.
    """
    first, given, places = parameters[0], ", ".join(parameters), ", ".join(counters)
    lines = [f"def {name}_everywhere({given}):"]
    for array in unlike:
        test = " or ".join(f"{array}.shape[{axis}] < {first}.shape[{axis}]" for axis in range(len(counters)))
        lines += [f"    if {test}:", f"        raise ValueError('`{array}` is shorter than `{first}` in `{name}`')"]
    lines.append(f"    out = np.full({first}.shape, cval)")
    indent = "    "
    for axis, (counter, (low, high)) in enumerate(zip(counters, reach, strict=True)):
        stop = f"{first}.shape[{axis}]" + (f" - {high}" if high > 0 else "")
        lines.append(f"{indent}for {counter} in range({max(-low, 0)}, {stop}):")
        indent += "    "
    return "\n".join([*lines, f"{indent}out[{places}] = at({given}, {places})", "    return out"]) + "\n"


class _Shifted(gast.NodeTransformer):
    """Adds the place of the element to the indices of arrays, and notes how far they reach."""

    def __init__(self, lw: Lowerer, source: Any, relative: set[str], counters: list[str], node: Any) -> None:
        self.lw, self.source, self.relative, self.counters, self.node = lw, source, relative, counters, node
        self.reach = [(0, 0)] * len(counters)
        self.computed: Any = None
        """An index that is no constant."""

    def refuse(self, part: Any) -> Any:
        """Raise the error of an index that cannot be followed."""
        where = self.source.span(part)
        return self.lw.fail(self.node, f"the stencil kernel `{self.source.name}` has indices that are not followed "
                            f"here, in line {where.line}", _HOW)  # fmt: skip

    def visit_Subscript(self, node: Any) -> Any:
        """Shift `a[-1, 0]`."""
        self.generic_visit(node)
        if not (isinstance(node.value, gast.Name) and node.value.id in self.relative):
            return node
        parts = node.slice.elts if isinstance(node.slice, gast.Tuple) else [node.slice]
        if len(parts) != len(self.counters) or any(isinstance(part, gast.Slice) for part in parts):
            return self.refuse(node)
        moved = [self._moved(axis, part) for axis, part in enumerate(parts)]
        node.slice = moved[0] if len(moved) == 1 else placed(gast.Tuple(elts=moved, ctx=gast.Load()), node)
        return node

    def _moved(self, axis: int, part: Any) -> Any:
        place, offset = named(self.counters[axis]), _whole(part)
        if offset is None:
            self.computed = part
            return placed(gast.BinOp(left=place, op=gast.Add(), right=part), part)
        low, high = self.reach[axis]
        self.reach[axis] = (min(low, offset), max(high, offset))
        if offset == 0:
            return placed(place, part)
        by = gast.Constant(value=abs(offset), kind=None)
        return placed(gast.BinOp(left=place, op=gast.Add() if offset > 0 else gast.Sub(), right=by), part)


def _whole(part: Any) -> int | None:
    match part:
        case gast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case gast.UnaryOp(op=gast.USub(), operand=gast.Constant(value=int() as value)):
            return -value
        case _:
            return None
