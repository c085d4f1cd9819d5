"""Loops over a range that counts by one, up or down, with no more than it takes.

Numba tests the step of each range for zero and divides by it to know how often the loop turns: some hundred
instructions a loop, which LLVM takes out again where the step is known. Where it is 1 or -1, the number of turns is
the difference of the ends.
"""

from __future__ import annotations

import importlib
from typing import Any

_cgutils: Any = importlib.import_module("numba.core.cgutils")
_ir: Any = importlib.import_module("numba.core.ir")
_llvm: Any = importlib.import_module("llvmlite.ir")
_types: Any = importlib.import_module("numba.core.types")
_utils: Any = importlib.import_module("numba.core.ir_utils")

_FIRST, _STOP, _STEP, _COUNT = range(4)
"""The fields of Numba's iterator of a range: the next number's place, the end, the step and the place of the count."""


def lowered(lower: Any, expr: Any, result: Any) -> Any:
    """Return the iterator of a range, or its next number and whether there is one; None of anything else."""
    kind = lower.typeof(expr.value.name)
    if expr.op == "getiter":
        step = _step(lower, expr.value) if kind == _types.range_state64_type else None
        return None if step is None or result != _types.range_iter64_type else _begun(lower, expr.value, step, result)
    if kind != _types.range_iter64_type or result != _types.Pair(_types.int64, _types.boolean):
        return None
    return _next(lower, expr.value, result)


def _step(lower: Any, value: Any) -> int | None:
    """Return the step of the range that a variable is, if it is written down as 1 or -1."""
    call = _utils.guard(_utils.get_definition, lower.func_ir, value)
    if not isinstance(call, _ir.Expr) or call.op != "call" or call.kws or call.vararg is not None:
        return None
    if _utils.guard(_utils.find_callname, lower.func_ir, call) != ("range", "builtins"):
        return None
    if len(call.args) < 3:
        return 1
    made = _utils.guard(_utils.find_const, lower.func_ir, call.args[2])
    return made if isinstance(made, int) and made in (1, -1) else None


def _begun(lower: Any, value: Any, step: int, result: Any) -> Any:
    builder, state = lower.builder, lower.loadvar(value.name)
    start, stop = builder.extract_value(state, 0), builder.extract_value(state, 1)
    count = builder.sub(stop, start) if step == 1 else builder.sub(start, stop)
    parts = {
        _FIRST: _cgutils.alloca_once_value(builder, start),
        _STOP: stop,
        _STEP: start.type(step),
        _COUNT: _cgutils.alloca_once_value(builder, count),
    }
    made = _llvm.Constant(lower.context.get_value_type(result), _llvm.Undefined)
    for field, part in parts.items():
        made = builder.insert_value(made, part, field)
    return made


def _next(lower: Any, value: Any, result: Any) -> Any:
    builder, iterator = lower.builder, lower.loadvar(value.name)
    places = builder.extract_value(iterator, _FIRST), builder.extract_value(iterator, _COUNT)
    number, count = (builder.load(place) for place in places)
    is_valid = builder.icmp_signed(">", count, count.type(0))
    with builder.if_then(is_valid):
        builder.store(builder.sub(count, count.type(1), flags=["nsw"]), places[1])
        builder.store(builder.add(number, builder.extract_value(iterator, _STEP)), places[0])
    made = _llvm.Constant(lower.context.get_value_type(result), _llvm.Undefined)
    return builder.insert_value(builder.insert_value(made, number, 0), is_valid, 1)
