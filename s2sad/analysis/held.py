"""What kind of number a name holds at each place: `w = 0.5`, and in a loop later `w = 2`.

A name may be bound to an integer here and to a real number there. What is saved before it gives way to another is of
the kind that it holds there, not of the kind of what comes. Forward through the text, to a fixed point in loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from s2sad.frontend.values import join_types
from s2sad.ir.nodes import Break, Continue, For, Function, If, Raise, Return, Stmt, While
from s2sad.ir.types import Scalar
from s2sad.ir.walk import blocks_of, statements, targets

Kinds = dict[str, Scalar]
Block = tuple[int, int]


@dataclass(slots=True)
class _Loop:
    """What holds where a loop is left, or begins its next turn, from inside."""

    left: list[Kinds] = field(default_factory=list[Kinds])
    turned: list[Kinds] = field(default_factory=list[Kinds])


class Held:
    """The kinds of the names that hold numbers of more than one kind."""

    def __init__(self, fn: Function) -> None:
        """Walk the function."""
        kinds: dict[str, set[str]] = {}
        for var in (*fn.params, *(v for s in statements(fn.body) for v in targets(s))):
            if isinstance(var.type, Scalar):
                kinds.setdefault(var.name, set()).add(var.type.dtype)
        self._many = {name for name, found in kinds.items() if len(found) > 1}
        self._before: dict[int, Kinds] = {}
        self._end: dict[Block, Kinds] = {}
        self._turn: dict[int, Kinds] = {}
        self._loops: list[_Loop] = []
        if self._many:
            start = {p.name: p.type for p in fn.params if p.name in self._many and isinstance(p.type, Scalar)}
            self._body(fn.body, start)

    def before(self, stmt: Stmt, name: str) -> Scalar | None:
        """Return the kind before a statement of a name that holds several; None of one that holds one only."""
        return self._before.get(id(stmt), {}).get(name)

    def at_end(self, block: Block, name: str) -> Scalar | None:
        """Return the kind at the end of a block."""
        return self._end.get(block, {}).get(name)

    def at_turn(self, loop: Stmt, name: str) -> Scalar | None:
        """Return the kind where a turn of a loop begins."""
        return self._turn.get(id(loop), {}).get(name)

    def _body(self, body: tuple[Stmt, ...], kinds: Kinds | None) -> Kinds | None:
        """Go through a block; None: its end, or its beginning, is not reached."""
        for stmt in body:
            if kinds is None:
                return None
            self._before[id(stmt)] = kinds
            kinds = self._after(stmt, kinds)
        return kinds

    def _after(self, stmt: Stmt, kinds: Kinds) -> Kinds | None:
        match stmt:
            case If():
                sides = [self._block(stmt, number, kinds) for number in range(2)]
                return _joined([side for side in sides if side is not None])
            case For() | While():
                return self._loop(stmt, kinds)
            case Break():
                self._loops[-1].left.append(kinds)
                return None
            case Continue():
                self._loops[-1].turned.append(kinds)
                return None
            case Return() | Raise():
                return None
            case _:
                return self._bound(stmt, kinds)

    def _block(self, stmt: Stmt, number: int, kinds: Kinds) -> Kinds | None:
        end = self._body(blocks_of(stmt)[number], kinds)
        if end is not None:
            self._end[id(stmt), number] = end
        return end

    def _loop(self, loop: For | While, kinds: Kinds) -> Kinds | None:
        while True:
            around = _Loop()
            self._loops.append(around)
            end = self._block(loop, 0, self._bound(loop, kinds))
            self._loops.pop()
            again = _joined([kinds, *([] if end is None else [end]), *around.turned])
            if again is None or again == kinds:
                break
            kinds = again
        self._turn[id(loop)] = kinds
        return _joined([kinds, *around.left])

    def _bound(self, stmt: Stmt, kinds: Kinds) -> Kinds:
        new = {v.name: v.type for v in targets(stmt) if v.name in self._many and isinstance(v.type, Scalar)}
        return kinds | new if new else kinds


def _joined(paths: list[Kinds]) -> Kinds | None:
    """Return the kinds where paths meet: of a name that only some have bound, the kind that it has on those."""
    if not paths:
        return None
    met: Kinds = {}
    for path in paths:
        for name, kind in path.items():
            both = join_types(met[name], kind, "") if name in met else kind
            met[name] = Scalar(both.dtype, both.weak) if isinstance(both, Scalar) else kind
    return met
