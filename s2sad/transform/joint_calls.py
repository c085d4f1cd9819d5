"""A call, and the call of its adjoint further down, are one call where the cotangent is known before the first.

y = f(x)                                     y = f_fwd_bwd(x, w * total_bar, x_bar)
total += w * y                     becomes   total += w * y
f_bwd(x, w * total_bar, x_bar)

"""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.facts import Facts
from s2sad.analysis.ordering import Ordering, may_leave
from s2sad.ir.nodes import CallStmt, Comment, Function, Stmt
from s2sad.ir.walk import blocks_of, map_blocks


def has_joint_calls(fn: Function, callee: str, adjoint: str) -> bool:
    """Say whether both are called with the same arguments, in one block."""

    def block(body: tuple[Stmt, ...]) -> bool:
        calls = [s for s in body if isinstance(s, CallStmt) and s.fn is None]
        given = [s.args for s in calls if s.callee == callee]
        backs = (s.args for s in calls if s.callee == adjoint)
        return any(args == back[: len(args)] for back in backs for args in given) or any(
            block(part) for s in body for part in blocks_of(s)
        )

    return block(fn.body)


def with_joint_calls(fn: Function, callee: str, adjoint: str, joint: str, facts: Facts) -> Function:
    """Return `fn` with every such pair as a call of `joint`, which gives the results of `callee`, then `adjoint`'s."""
    while (made := _once(fn, callee, adjoint, joint, facts)) is not None:
        fn = made
    return fn


def _once(fn: Function, callee: str, adjoint: str, joint: str, facts: Facts) -> Function | None:
    ordering = Ordering(fn, facts)
    done = False

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        nonlocal done
        made = None if done else _one_pair(body, callee, adjoint, joint, ordering)
        if made is not None:
            done = True
            return made
        return body if done else tuple(map_blocks(s, each) for s in body)

    made = replace(fn, body=each(fn.body))
    return made if done else None


def _one_pair(
    body: tuple[Stmt, ...], callee: str, adjoint: str, joint: str, ordering: Ordering
) -> tuple[Stmt, ...] | None:  # fmt: skip
    """Return a block with the first pair, inner ones first, as one call; None if there is none."""
    for second, back in enumerate(body):
        if not isinstance(back, CallStmt) or back.fn is not None or back.callee != adjoint:
            continue
        for first in range(second - 1, -1, -1):
            call = body[first]
            if isinstance(call, CallStmt) and call.callee == callee and call.args == back.args[: len(call.args)]:
                made = _as_one(body, first, second, joint, ordering)
                if made is not None:
                    return made
    return None


def _as_one(
    body: tuple[Stmt, ...], first: int, second: int, joint: str, ordering: Ordering
) -> tuple[Stmt, ...] | None:  # fmt: skip
    call, back = body[first], body[second]
    assert isinstance(call, CallStmt) and isinstance(back, CallStmt)
    between = body[first + 1 : second]
    if any(may_leave(s) for s in between):
        return None
    heads = second - 1 if isinstance(body[second - 1], Comment) else second
    early, late = ordering.parted(body[first + 1 : heads], call)
    if any(ordering.conflict(stmt, back) for stmt in (call, *late)):
        return None
    one = CallStmt((*call.targets, *back.targets), joint, back.args, call.span)
    return (*body[:first], *early, one, *late, *body[second + 1 :])


__all__ = ["has_joint_calls", "with_joint_calls"]
