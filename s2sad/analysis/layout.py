"""Where each statement of a function stands: its block, the loops around it, and where each name lives."""

from __future__ import annotations

from functools import cached_property

from s2sad.analysis.liveness import Liveness
from s2sad.ir.nodes import Append, Assign, Break, CallStmt, For, Function, Stmt, Swap, While
from s2sad.ir.shapes import standing, stands_in
from s2sad.ir.types import Array, Sym, Type
from s2sad.ir.walk import blocks_of, bound, exprs_of, reads, targets

Block = tuple[int, int]


TOP: Block = (0, 0)


def steady_lengths(fn: Function) -> frozenset[tuple[str, str]]:
    """Return the symbols that stand for one number throughout a function: an argument's, or one met before all loops.

    A symbol that is first met inside a loop may be another number in each turn: `v = x[i:]`.
    """
    found = {(d.name, d.cut) for p in fn.params if isinstance(p.type, Array) for d in p.type.dims if isinstance(d, Sym)}
    unsteady: set[tuple[str, str]] = set()
    names = standing(fn.body)

    def look(body: tuple[Stmt, ...], inside: bool) -> None:
        for stmt in body:
            if not (isinstance(stmt, Assign) and stands_in(stmt.value, names)):
                kinds = [v.type for v in targets(stmt) if isinstance(v.type, Array)]
                met = {(d.name, d.cut) for kind in kinds for d in kind.dims if isinstance(d, Sym)}
                (unsteady if inside else found).update(met - found - unsteady)
            for block in blocks_of(stmt):
                look(block, inside or isinstance(stmt, For | While))

    look(fn.body, False)
    return frozenset(found)


def are_steady(kind: Type, steady: frozenset[tuple[str, str]]) -> bool:
    """Say whether an array has the same lengths in all turns of loops: `steady` is what `steady_lengths` returns."""
    dims = kind.dims if isinstance(kind, Array) else ()
    return all((d.name, d.cut) in steady for d in dims if isinstance(d, Sym))


class Layout:
    """Where everything stands: blocks, their loops, the block that each name lives in."""

    def __init__(self, fn: Function) -> None:
        """Walk the function once."""
        self.fn = fn
        self.again: set[int] = set()
        """Loops of which each turn is run again before its reverse: for what is inside, a turn is all there is."""
        self.block_of: dict[int, Block] = {}
        self.parent: dict[Block, Block] = {}
        self.owner: dict[Block, Stmt] = {}
        self.defs: dict[str, list[Stmt]] = {}
        self.stores: dict[str, list[Stmt]] = {}
        self.uses: dict[str, list[Block]] = {}
        self.live = Liveness(fn.body)
        self._visit(fn.body, TOP)
        self.home: dict[str, Block] = {name: self._home(name) for name in self.uses}
        for param in fn.params:
            self.home[param.name] = TOP

    def _visit(self, body: tuple[Stmt, ...], block: Block) -> None:
        for stmt in body:
            self.block_of[id(stmt)] = block
            for expr in exprs_of(stmt):
                for name in reads(expr):
                    self.uses.setdefault(name, []).append(block)
            for name in bound(stmt):
                self.defs.setdefault(name, []).append(stmt)
                inner = (id(stmt), 0) if isinstance(stmt, For) else block
                self.uses.setdefault(name, []).append(inner)
            if isinstance(stmt, Append):
                self.uses.setdefault(stmt.list.name, []).append(block)
            for number, nested in enumerate(blocks_of(stmt)):
                inner = (id(stmt), number)
                self.parent[inner] = block
                self.owner[inner] = stmt
                self._visit(nested, inner)

    def is_steady(self, name: str) -> bool:
        """Say whether a name, or the shape of an array of this name, is the same from its definition to the end."""
        given = any(p.name == name for p in self.fn.params)
        made = self.defs.get(name, [])
        if self.may_change_length(name) or len(made) + given != 1:
            return False
        return given or (isinstance(made[0], Assign) and self.block_of[id(made[0])] == TOP)

    def chain(self, block: Block) -> list[Block]:
        """Return the blocks from the outermost to `block`."""
        found = [block]
        while found[-1] != TOP:
            found.append(self.parent[found[-1]])
        return found[::-1]

    def loops(self, block: Block) -> list[For | While]:
        """Return the loops around a block, outermost first: of those in a turn that is run again, the ones in it."""
        found = self.all_loops(block)
        again = [at for at, loop in enumerate(found) if id(loop) in self.again]
        return found[again[-1] + 1 :] if again else found

    def repeating(self, block: Block) -> list[For | While]:
        """Return the loops around a block in which it may run more than once: not those that it leaves."""
        left: list[Stmt] = []
        for one in reversed(self.chain(block)[1:]):
            owner = self.owner[one]
            body = blocks_of(owner)[one[1]]
            if body and isinstance(body[-1], Break):
                left += self.all_loops(one)[-1:]
        return [loop for loop in self.loops(block) if not any(loop is one for one in left)]

    def all_loops(self, block: Block) -> list[For | While]:
        """Return all the loops around a block, outermost first."""
        owners = [self.owner[b] for b in self.chain(block)[1:]]
        return [s for s in owners if isinstance(s, For | While)]

    def _home(self, name: str) -> Block:
        """The innermost block that holds every occurrence, and into which no older value flows."""
        chains = [self.chain(b) for b in self.uses[name]]
        home = TOP
        for level in zip(*chains, strict=False):
            if len(set(level)) > 1:
                break
            home = level[0]
        found = home
        while home != TOP:
            owner = self.owner[home]
            home = self.parent[home]
            if isinstance(owner, For | While) and self._carried(owner, name):
                found = home
        return found

    def _carried(self, loop: For | While, name: str) -> bool:
        """Say whether an iteration may read what an earlier one left in `name`."""
        if isinstance(loop, For) and loop.var.name == name:
            return False
        first = loop.body[0] if loop.body else None
        if first is None:
            return False
        return name in self.live.before_loop_body(loop)

    def within(self, block: Block, other: Block) -> bool:
        """Say whether `block` is `other` or lies inside it."""
        return other in self.chain(block)

    def may_change_length(self, name: str) -> bool:
        """Say whether an array that outlives a turn of a loop may have another length in each."""
        given = {d.name for p in self.fn.params if isinstance(p.type, Array) for d in p.type.dims if isinstance(d, Sym)}
        around = len(self.loops(self.home.get(name, TOP)))
        lengths = {p.type.dims for p in self.fn.params if p.name == name and isinstance(p.type, Array)}
        inside = False
        for stmt in self.defs.get(name, ()):
            made = [v for v in targets(stmt) if v.name == name or isinstance(stmt, Swap)]
            kinds = [v.type for v in made if isinstance(v.type, Array)]
            lengths |= {kind.dims for kind in kinds}
            if kinds and len(self.loops(self.block_of[id(stmt)])) > around:
                inside = True
                if isinstance(stmt, Assign) and any(
                    isinstance(d, Sym) and d.name not in given for kind in kinds for d in kind.dims
                ):
                    return True
                if isinstance(stmt, CallStmt) and not all(are_steady(kind, self._steady) for kind in kinds):
                    return True
        return inside and len(lengths) > 1

    @cached_property
    def _steady(self) -> frozenset[tuple[str, str]]:
        return steady_lengths(self.fn)
