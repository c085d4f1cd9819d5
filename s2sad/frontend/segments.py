"""`with s2sad.checkpoint():` around a loop: the loop in segments, each a function of the program.

    with s2sad.checkpoint():                turns = len(range(n))
        for i in range(n):                  size = int(np.sqrt(turns)) + 1
            u = step(u)           becomes   for turn in range(0, turns, size):
                                                u = segment(turn, min(turn + size, turns), u)

The adjoint of a call keeps its arguments and runs the callee again, so that what is kept at any time
is the state before each segment and the tapes of one segment: about the square root of all.
Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition, chapter 12.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

import gast
import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import FuncV, Poison, StaticV, leaves_of

_PREFIX = "segment"
_KNOWN = {"range": builtins.range, "int": builtins.int, "min": builtins.min, "max": builtins.max, "sqrt": np.sqrt}


def is_checkpoint(lw: Lowerer, item: Any) -> bool:
    """Say whether a `with` item is `s2sad.checkpoint()`."""
    from s2sad.frontend.expressions import lower_expr

    call = item.context_expr
    if not isinstance(call, gast.Call) or call.args or call.keywords or item.optional_vars is not None:
        return False
    value = lower_expr(lw, call.func)
    return isinstance(value, StaticV) and bool(getattr(value.value, "s2sad_checkpoint", False))


def lower_checkpointed(lw: Lowerer, node: Any) -> bool:
    """Lower the one loop that stands in a `with s2sad.checkpoint():`."""
    from s2sad.frontend.statements import lower_block

    loop = _loop(lw, node)
    assigned = _assigned(loop.body)
    used = {n.id for s in loop.body for n in gast.walk(s) if isinstance(n, gast.Name)}
    seen = sorted(name for name in used | assigned if name in lw.env and name != loop.target.id)
    passed = [name for name in seen if leaves_of(lw.env[name])]
    state = [name for name in passed if name in assigned]
    words = {word: f"{_PREFIX}_{word}" for word in ("turns", "size", "turn", "start", "first", "last", *_KNOWN)}
    segment = _function(loop, passed, state, words)
    outer = dict(lw.env)
    lw.env[_PREFIX] = FuncV(segment, lw.source, outer, _PREFIX, apart=True)
    for name, value in _KNOWN.items():
        lw.env[words[name]] = StaticV(value)
    lower_block(lw, _segments(loop, passed, state, words))
    for name in [_PREFIX, *words.values()]:
        lw.env.pop(name, None)
    for name in (assigned - set(state)) | {loop.target.id}:
        lw.env[name] = Poison(f"`{name}` is bound inside a checkpointed loop; bind it before the loop to use it after")
    return False


def _loop(lw: Lowerer, node: Any) -> Any:
    """Return the loop, if it is one that can be cut into segments."""
    loop = node.body[0]
    simple = len(node.body) == 1 and isinstance(loop, gast.For) and isinstance(loop.target, gast.Name)
    ranged = simple and isinstance(loop.iter, gast.Call) and isinstance(loop.iter.func, gast.Name)
    if not ranged or loop.iter.func.id != "range" or loop.iter.keywords or loop.orelse:
        lw.fail(loop, "only one loop over `range(…)` can stand in `with s2sad.checkpoint()`",
                "Write `for i in range(n):` there, or put the body in a function under `s2sad.checkpoint`.",
                )  # fmt: skip
    for jump in _jumps(loop.body, False):
        lw.fail(jump, "a checkpointed loop cannot be left early", "Use a condition around the rest of the body.")
    if len(loop.iter.args) == 3 and not _constant(loop.iter.args[2]):
        lw.fail(loop.iter, "the step of a checkpointed loop must be a number", "Write it as a constant.")
    return loop


def _constant(node: Any) -> bool:
    inner = node.operand if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.USub) else node
    return isinstance(inner, gast.Constant)


def _jumps(body: list[Any], inner: bool) -> list[Any]:
    """List the statements that leave the loop."""
    found: list[Any] = []
    for stmt in body:
        if isinstance(stmt, gast.Return) or (isinstance(stmt, gast.Break) and not inner):
            found.append(stmt)
        elif not isinstance(stmt, gast.FunctionDef):
            loop = inner or isinstance(stmt, gast.For | gast.While)
            found += _jumps([*getattr(stmt, "body", []), *getattr(stmt, "orelse", [])], loop)
    return found


def _assigned(body: list[Any]) -> set[str]:
    return {
        n.id for s in body for n in gast.walk(s) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)
    }


def _function(loop: Any, passed: list[str], state: list[str], words: dict[str, str]) -> Any:
    """Write the function of one segment: a part of the loop, and the state after it."""
    parameters = ", ".join([words["first"], words["last"], *passed])
    made = _parsed(f"def {_PREFIX}({parameters}):\n    return {_tuple(state)}\n", loop)[0]
    bounds = _parsed(f"range({words['first']}, {words['last']})", loop)[0].value
    bounds.args += loop.iter.args[2:]
    part = gast.For(target=loop.target, iter=bounds, body=loop.body, orelse=[], type_comment=None)
    made.body.insert(0, gast.copy_location(part, loop))
    return made


def _segments(loop: Any, passed: list[str], state: list[str], words: dict[str, str]) -> list[Any]:
    """Write the loop over the segments."""
    w = words
    given = [ast.unparse(gast.gast_to_ast(argument)) for argument in loop.iter.args]
    scale = f" * {given[2]}" if len(given) == 3 else ""
    shift = f"{w['start']} + " if len(given) > 1 else ""
    last = f"{w['min']}({w['turn']} + {w['size']}, {w['turns']})"
    call = f"{_PREFIX}({', '.join([w['first'], w['last'], *passed])})"
    lines = [
        f"{w['turns']} = {w['max']}({_count(loop, given)}, 0)",
        f"{w['size']} = {w['int']}({w['sqrt']}({w['turns']})) + 1",
        *([f"{w['start']} = {given[0]}"] if shift else []),
        f"for {w['turn']} in {w['range']}(0, {w['turns']}, {w['size']}):",
        f"    {w['first']} = {shift}{w['turn']}{scale}",
        f"    {w['last']} = {shift}{last}{scale}",
        f"    {_tuple(state)} = {call}" if state else f"    {call}",
    ]
    return _parsed("\n".join(lines), loop)


def _count(loop: Any, given: list[str]) -> str:
    """Write how many turns a range has, but for a negative number where it has none."""
    if len(given) == 1:
        return given[0]
    start, stop = f"({given[0]})", f"({given[1]})"
    step = int(ast.literal_eval(gast.gast_to_ast(loop.iter.args[2]))) if len(given) == 3 else 1
    if step < 0:
        start, stop, step = stop, start, -step
    return f"({stop} - {start} + {step - 1}) // {step}"


def _tuple(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names) if names else "None"


def _parsed(text: str, at: Any) -> list[Any]:
    """Parse statements, all of which stand where the loop stands."""
    body = gast.parse(text).body
    for stmt in body:
        for part in gast.walk(stmt):
            gast.copy_location(part, at)
    return body
