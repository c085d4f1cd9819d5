"""Branches and loops: types meet where paths meet, and a loop is lowered until they settle."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend import choices, fields, widening
from s2sad.frontend.environments import Environment, see, seen
from s2sad.frontend.expressions import lower_expr, lower_test
from s2sad.frontend.joins import joined_env, same_env, widen_new
from s2sad.frontend.lowerer import BottomReached, Lowerer
from s2sad.frontend.optional import proven_by, surely_given
from s2sad.frontend.protocols import iterated
from s2sad.frontend.surely import SurelyRaises, raise_there
from s2sad.frontend.values import Scope, const, literal
from s2sad.ir.nodes import Assign, Break, Const, Continue, Expr, For, If, Var, While
from s2sad.ir.types import Scalar


def lower_if(lw: Lowerer, node: Any) -> bool:
    """Lower a branch; return True if both sides jump away."""
    from s2sad.frontend.statements import lower_block

    test = lower_test(lw, node.test)
    if isinstance(test, bool):
        return lower_block(lw, node.body if test else node.orelse)
    span = lw.span(node)
    before = seen(lw)
    proven = lw.proven
    lw.proven = proven | proven_by(node.test, True)
    then, then_jumps, then_env = _branch(lw, node.body, before)
    ends = [] if then_jumps else [lw.proven | surely_given(then_env)]
    lw.proven = proven | proven_by(node.test, False)
    other, other_jumps, other_env = _branch(lw, node.orelse, before)
    ends += [] if other_jumps else [lw.proven | surely_given(other_env)]
    lw.proven = frozenset.intersection(*ends) if ends else proven
    if not then_jumps and not other_jumps:
        choices.meet(lw, ((then, then_env), (other, other_env)), span)
        fields.meet(lw, ((then, then_env), (other, other_env)), span)
        widening.at_the_end(lw, node, then, then_env)
        widening.at_the_end(lw, node, other, other_env)
    see(lw, joined_env(lw, [e for e, j in ((then_env, then_jumps), (other_env, other_jumps)) if not j], before))
    lw.emit(If(test, tuple(then), tuple(other), span))
    return then_jumps and other_jumps


def _branch(lw: Lowerer, body: list[Any], env: Environment) -> tuple[list[Any], bool, Environment]:
    from s2sad.frontend.statements import lower_block

    block: list[Any] = []
    outer, lw.block = lw.block, block
    see(lw, env)
    around = len(lw.loops)
    try:
        jumps = lower_block(lw, body)
    except BottomReached:
        jumps = lw.bottomed = True
    except SurelyRaises as error:  # only where this branch is taken
        jumps = raise_there(lw, error, block, around, body[0])
    block, lw.block = lw.block, outer
    return block, jumps, seen(lw)


def _run_loop(lw: Lowerer, node: Any, key: str, body: Any) -> tuple[list[Any], Scope, Environment]:
    """Lower a loop body until the types at its head no longer change; keep the last lowering."""
    widening.before_loop(lw, node)
    key = lw.ctx.told_apart_from_others(key)
    head = seen(lw)
    names = set(lw.names)
    lw.proven = frozenset(fact for fact in lw.proven if "." not in fact)  # an attribute may be written in it
    lw.proven -= {n.id for n in gast.walk(node) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)}
    before = lw.proven
    for _ in range(12):
        lw.proven = before
        see(lw, head)
        lw.names = set(names)
        scope = Scope(node, made=len(lw.made))
        lw.loops.append(scope)
        outer, lw.block = lw.block, []
        try:
            with lw.ctx.loop():
                jumps = body(scope)
        except BottomReached:
            jumps = lw.bottomed = True
        finally:
            block, lw.block = lw.block, outer
            lw.loops.pop()
        ends = list(scope.continues) if jumps else [seen(lw), *scope.continues]
        begun = fields.at_the_head(lw, node, head, ends)
        names |= lw.names & {leaf for leaf in fields.variables(begun)}
        merged = joined_env(lw, [begun, *ends], begun, key)
        merged = widen_new(merged, head, key)
        if same_env(merged, head):
            lw.proven = before
            return block, scope, head
        head = merged
    return lw.fail(node, "the types in this loop do not settle",
                   "A name changes its kind or rank from one iteration to the next.")  # fmt: skip


def lower_while(lw: Lowerer, node: Any) -> bool:
    """Lower a `while` loop; return True if nothing falls out of it."""
    from s2sad.frontend.iteration import UnrollNeeded, unrollable
    from s2sad.frontend.statements import lower_block

    flag = _completion_flag(lw, node)
    tests: list[Any] = []

    def body(scope: Scope) -> bool:
        scope.flag = flag
        tests.clear()
        outer, lw.block = lw.block, []
        test = lower_test(lw, node.test)
        hoisted, lw.block = lw.block, outer
        if isinstance(test, bool) and not test:
            return True
        if hoisted and not isinstance(test, bool):
            from s2sad.frontend.operators import negate

            scope.breaks.append(seen(lw))
            lw.block.extend(hoisted)
            lw.emit(If(negate(test), (Break(lw.span(node)),), (), lw.span(node)))
            test = True
        tests.append(const(True).expr if test is True else test)
        lw.proven |= proven_by(node.test, True)
        return lower_block(lw, node.body)

    try:
        block, scope, head = _run_loop(lw, node, _loop_key(lw, node), body)
    except UnrollNeeded as refusal:
        return unrollable(lw, refusal)
    if not tests:
        see(lw, head)
        return lower_block(lw, node.orelse)
    endless = isinstance(tests[0], Const) and tests[0].value is True
    exits = scope.breaks if endless else [head, *scope.breaks]
    see(lw, joined_env(lw, exits, head))
    lw.emit(While(tests[0], tuple(block), lw.span(node)))
    if endless and not scope.breaks:
        return True
    return _loop_else(lw, node, flag)


def _completion_flag(lw: Lowerer, node: Any) -> str | None:
    """A loop with `else` and `break` remembers whether it ran to its end."""
    if not node.orelse or not any(isinstance(n, gast.Break) for s in node.body for n in gast.walk(s)):
        return None
    flag = lw.fresh("completed")
    lw.emit(Assign(Var(flag, Scalar("bool", True)), literal(True), lw.span(node)))
    return flag


def _loop_else(lw: Lowerer, node: Any, flag: str | None) -> bool:
    from s2sad.frontend.statements import lower_block

    if not node.orelse:
        return False
    if flag is None:
        return lower_block(lw, node.orelse)
    before = seen(lw)
    block, jumps, env = _branch(lw, node.orelse, before)
    see(lw, before if jumps else joined_env(lw, [env, before], before))
    lw.emit(If(Var(flag, Scalar("bool", True)), tuple(block), (), lw.span(node)))
    return False


def _loop_key(lw: Lowerer, node: Any) -> str:
    turns = "".join(f".{turn}" for turn in lw.turns)
    nest = f":{node.nest}" if getattr(node, "nest", 0) else ""  # loops that are written as one
    return f"{lw.source.name}:{node.lineno}:{node.col_offset}:{lw.depth}{turns}{nest}"


def lower_for(lw: Lowerer, node: Any) -> bool:
    """Lower a `for` loop over anything."""
    from s2sad.frontend.iteration import loop_over
    from s2sad.frontend.lazily import check_written_meanwhile
    from s2sad.frontend.yielded import check_loop

    check_written_meanwhile(lw, node)
    before = len(lw.ctx.listed)
    items = iterated(lw, lower_expr(lw, node.iter), node.iter)
    check_loop(lw, node, before)
    return loop_over(lw, node, items)


def run_counted(lw: Lowerer, node: Any, var: Var, bounds: tuple[Expr, Expr, Expr], enter: Any) -> bool:
    """Emit `for var in range(*bounds)`; `enter` binds the targets at the head of the body."""
    from s2sad.frontend.statements import lower_block

    flag = _completion_flag(lw, node)
    span = lw.span(node)
    lw.counters[var.name] = bounds

    def body(scope: Scope) -> bool:
        scope.flag = flag
        enter()
        return lower_block(lw, node.body)

    block, scope, head = _run_loop(lw, node, _loop_key(lw, node), body)
    see(lw, joined_env(lw, [head, *scope.breaks], head))
    start, stop, step = bounds
    lw.emit(For(var, start, stop, step, tuple(block), span))
    return _loop_else(lw, node, flag)


def lower_break(lw: Lowerer, node: Any) -> bool:
    """Lower `break`: the names as they are here leave the loop."""
    scope = _scope(lw, node, "break")
    if scope.flag is not None:
        lw.emit(Assign(Var(scope.flag, Scalar("bool", True)), literal(False), lw.span(node)))
    scope.breaks.append(_left(lw, scope))
    lw.emit(Break(lw.span(node)))
    return True


def lower_continue(lw: Lowerer, node: Any) -> bool:
    """Lower `continue`: the names as they are here meet those at the loop's end."""
    scope = _scope(lw, node, "continue")
    scope.continues.append(_left(lw, scope))
    lw.emit(Continue(lw.span(node)))
    return True


def _left(lw: Lowerer, scope: Scope) -> Environment:
    """Return what names mean where a turn is left."""
    own = set(lw.made[scope.made :])
    return {name: value for name, value in seen(lw).items() if name not in own}


def _scope(lw: Lowerer, node: Any, word: str) -> Scope:
    scope = lw.loops[-1]
    if scope.unrolled and not (scope.once and word == "break"):
        lw.fail(node, f"`{word}` in a `with` inside a loop that is written out item by item is not supported",
                "Put what follows it in the `else` of an `if`.")  # fmt: skip
    return scope
