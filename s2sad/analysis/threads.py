"""Which elements a thread touches: indices as sums over the thread's place, loop variables and constants.

`cuda.grid(1)`, `cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x` and the variable of a
grid-stride loop are all *coordinates*: no two threads have the same one.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from s2sad.ir import device, ops
from s2sad.ir.device import Intrinsic
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Function, If, Index, Param, Return, Slice, Stmt, Var, While
from s2sad.ir.types import Array
from s2sad.ir.walk import blocks_of, bound, exprs_of, reads, statements, subexpressions

Atom = Any
"""An `Intrinsic`, the name of a variable, or `("grid", axis)` for a coordinate."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`sum(factor * product of atoms) + constant`."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...]
    constant: int = 0

    def atoms(self) -> set[Atom]:
        """Return every atom that occurs."""
        return {atom for product, _ in self.terms for atom in product}


@dataclass(frozen=True, slots=True)
class Step:
    """An index that tells threads apart: `factor * coordinate + constant`; `which` is the coordinate.

    A loop of a constant range may move it on: `constant` is the least that is added, and `most` the most.
    """

    which: Atom
    factor: int
    constant: int
    most: int


class Threads:
    """Reads the indices of one function of a thread."""

    def __init__(self, fn: Function, coordinates: dict[str, int]) -> None:
        """Index the definitions of `fn`; `coordinates`: variables of grid-stride loops, with their axes."""
        self.fn, self.coordinates = fn, coordinates
        self.starts: dict[str, int] = {}
        """Where the loops of `coordinates` begin beyond the thread's place: `range(cuda.grid(1) + 1, …)` at 1."""
        self.values: dict[str, Expr | None] = {}
        self.loops: dict[str, list[For]] = {}
        self.views: dict[str, Index] = {}
        for stmt in statements(fn.body):
            if isinstance(stmt, For):
                self.loops.setdefault(stmt.var.name, []).append(stmt)
            for name in bound(stmt):
                value = stmt.value if isinstance(stmt, Assign) else None
                known = self.values.get(name, value)
                self.values[name] = value if value is not None and known == value else None
        for name, value in self.values.items():
            if isinstance(value, Index) and isinstance(value.type, Array):
                self.views[name] = value
        used = {p.fn for s in statements(fn.body) for e in exprs_of(s) for p in subexpressions(e)
                if isinstance(p, Apply) and isinstance(p.fn, Intrinsic)}  # fmt: skip
        self.asked = frozenset(part for fn in used for part in device.parts_of(fn))
        """The parts of a thread's place that the kernel asks for; along the others a launch has one thread or block."""
        self.axes = {device.axis_of(part) for part in self.asked} | set(coordinates.values())
        self.axes = set(range(max(self.axes) + 1)) if self.axes else set()
        begin = {name: {self.linear(loop.start) for loop in self.loops.get(name, ())} for name in coordinates}
        self.starts = {name: form.constant for name, (form, *more) in begin.items() if form is not None and not more}

    def launched_as(self, primal: Threads) -> Threads:
        """Look at the launch of the kernel whose derivative this is, which may ask for less."""
        self.axes, self.asked, self.starts = primal.axes, primal.asked, primal.starts
        return self

    # ---- linear forms ----

    def linear(self, expr: Any, depth: int = 0) -> Linear | None:
        """Return the linear form of an index, or None."""
        raw = self._terms(expr, 0)
        return None if raw is None else _normal(*raw)

    def _terms(self, expr: Any, depth: int) -> tuple[dict[tuple[Atom, ...], int], int] | None:
        if depth > 12:
            return None
        match expr:
            case Const(int() as value) if not isinstance(value, bool):
                return {}, value
            case Var(name) if name in self.coordinates:
                return {(("grid", self.coordinates[name]),): 1}, self.starts.get(name, 0)
            case Var(name):
                value = self.values.get(name)
                if isinstance(value, Apply | Var | Const) and self._steady(value):
                    inner = self._terms(value, depth + 1)
                    if inner is not None:
                        return inner
                return {(name,): 1}, 0
            case Apply(Intrinsic() as fn) if fn.path == "grid":
                return {(("grid", device.axis_of(fn)),): 1}, 0
            case Apply(Intrinsic() as fn):
                return {(fn,): 1}, 0
            case Apply(fn, (a, b)) if fn in (operator.add, operator.sub, operator.mul):
                x, y = self._terms(a, depth + 1), self._terms(b, depth + 1)
                if x is None or y is None:
                    return None
                return _product(x, y) if fn is operator.mul else _sum(x, y, 1 if fn is operator.add else -1)
            case Apply(fn, (a,)) if fn is operator.neg:
                x = self._terms(a, depth + 1)
                return None if x is None else _sum(({}, 0), x, -1)
            case _:
                return None

    def _steady(self, value: Expr) -> bool:
        """Say whether a definition means the same wherever the name is read."""
        return all(self.values.get(n, value) is not None or n in self.loops for n in reads(value))

    # ---- places ----

    def resolved(self, place: Index) -> tuple[str, tuple[Any, ...]] | None:
        """Return the root of a place and all its indices, those of the views on the way included."""
        items: tuple[Any, ...] = place.index
        base: Expr = place.base
        while True:
            match base:
                case Index(inner, index) if not any(isinstance(i, Slice) for i in index):
                    items, base = (*index, *items), inner
                case Var(name) if name in self.views:
                    base = self.views[name]
                case Var(name):
                    return name, items
                case _:
                    return None

    def step(self, item: Any) -> Step | None:
        """Return how an index tells threads apart, if it is one coordinate, scaled and shifted."""
        form = None if isinstance(item, Slice) else self.linear(item)
        if form is None:
            return None
        places = [(p, f) for p, f in form.terms if len(p) == 1 and _is_place(p[0])]
        if len(places) != 1:
            return None
        (product, factor), = places
        moved = self._range_of(Linear(tuple(t for t in form.terms if t[0] != product), form.constant))
        return Step(product[0], factor, *moved) if factor >= 1 and moved is not None else None

    def _range_of(self, rest: Linear) -> tuple[int, int] | None:
        """Return the least and the most of a sum of variables of loops of constant range, None of any other."""
        least = most = rest.constant
        for product, factor in rest.terms:
            ends = self.ends(product[0]) if len(product) == 1 else None
            if ends is None:
                return None
            least += min(factor * ends[0], factor * ends[1])
            most += max(factor * ends[0], factor * ends[1])
        return least, most

    def few(self, index: tuple[Any, ...]) -> tuple[tuple[int, int], ...] | None:
        """Return the ranges of an index that only loops over constant ranges vary, where it names few elements."""
        found: list[tuple[int, int]] = []
        count = 1
        for item in index:
            form = None if isinstance(item, Slice) else self.linear(item)
            ends = self._range_of(form) if form is not None else None
            if ends is None or ends[0] < 0:
                return None
            found.append(ends)
            count *= ends[1] + 1
        return tuple(found) if 1 < count <= _FEW and any(low < high for low, high in found) else None

    def ends(self, name: Atom) -> tuple[int, int] | None:
        """Return the least and the most value of a variable that only loops over constant ranges bind, if there is."""
        found: list[int] = []
        loops = self.loops.get(name, []) if isinstance(name, str) and self.values.get(name) is None else []
        bindings = sum(name in bound(s) for s in statements(self.fn.body)) if loops else 0
        for loop in loops:
            turns = constant_range(loop)
            if turns is None or bindings != len(loops):
                return None
            found += turns
        return (min(found), max(found)) if found else None

    # ---- bounds ----

    def least(self, which: Atom, tests: Iterable[Expr]) -> int:
        """Return the least value of a coordinate for which all the tests can hold."""
        return max((self._bound(which, part) for test in tests for part in _conjuncts(test)), default=0)

    def _bound(self, which: Atom, test: Any) -> int:
        if not (isinstance(test, Apply) and test.fn in _ORDER and len(test.args) == 2):
            return 0
        low, high = test.args if test.fn in (operator.lt, operator.le) else test.args[::-1]
        value, step = self.linear(low), self.step(high)
        if value is None or value.terms or step is None or step.which != which or step.factor != 1:
            return 0
        return value.constant - step.most + (1 if test.fn in (operator.lt, operator.gt) else 0)

    def may_wrap(self, index: tuple[Any, ...], tests: Iterable[Expr]) -> bool:
        """Say whether an index may be negative under these tests: `u[i - 1]` at 0 means the last element."""
        held = tuple(tests)
        steps = [(item, self.step(item)) for item in index]
        return any(s is not None and s.constant < 0 and (self.lowest(item, held) or 0) < 0 for item, s in steps)

    def lowest(self, item: Expr, tests: Iterable[Expr]) -> int | None:
        """Return what an index is at least where all the tests hold, or None where nothing is known."""
        form = self.linear(item)
        if form is None:
            return None
        held = tuple(tests)
        least: int | None = form.constant
        for product, factor in form.terms:
            atom = product[0]
            ends = self.ends(atom) if len(product) == 1 else None
            if ends is not None:
                low = min(factor * ends[0], factor * ends[1])
            elif len(product) == 1 and _is_place(atom) and factor > 0:
                low = factor * self.least(atom, held)
            else:
                least = None
                break
            least = least + low if least is not None else None
        told = [self._told_least(form, part) for test in held for part in _conjuncts(test)]
        return max((n for n in (least, *told) if n is not None), default=None)

    def _told_least(self, form: Linear, test: Any) -> int | None:
        """Return what a comparison says of a sum: `i + q - 2 >= 0`."""
        if not (isinstance(test, Apply) and test.fn in _ORDER and len(test.args) == 2):
            return None
        low, high = test.args if test.fn in (operator.lt, operator.le) else test.args[::-1]
        less, more = self.linear(low), self.linear(high)
        if less is None or more is None or less.terms or more.terms != form.terms:
            return None
        return less.constant - more.constant + form.constant + (1 if test.fn in (operator.lt, operator.gt) else 0)

    def is_uniform(self, item: Any) -> bool:
        """Say whether an index is a constant or a number that every thread was given alike."""
        if isinstance(item, Slice):
            return False
        form = self.linear(item)
        if form is None:
            return False
        params = {p.name for p in self.fn.params}
        return all(isinstance(a, str) and a in params and a not in self.values for a in form.atoms())

    def same_everywhere(self, expr: Expr) -> bool:
        """Say whether every thread of a block finds the same value: nothing of its own comes in."""
        return not self._private(expr, set())

    def _private(self, expr: Any, seen: set[str]) -> bool:
        for part in subexpressions(expr):
            if isinstance(part, Apply) and isinstance(part.fn, Intrinsic):
                if part.fn.path.split(".")[0] in ("threadIdx", "grid", "laneid"):
                    return True
            if isinstance(part, Index):
                return True  # memory may hold anything
            if isinstance(part, Var) and part.name not in seen:
                seen.add(part.name)
                if part.name in self.coordinates:
                    return True
                if part.name in self.values and self._bound_privately(part.name, seen):
                    return True
        return False

    def _bound_privately(self, name: str, seen: set[str]) -> bool:
        for stmt in statements(self.fn.body):
            if isinstance(stmt, Assign) and stmt.target.name == name and self._private(stmt.value, seen):
                return True
            if isinstance(stmt, For) and stmt.var.name == name:
                if any(self._private(e, seen) for e in (stmt.start, stmt.stop, stmt.step)):
                    return True
        return any(self._private(test, seen) for test in _tests_around(self.fn.body, name))

    def are_own(self, places: Iterable[tuple[Any, ...]], block: bool = False) -> bool:
        """Say whether no two threads meet in any of these index tuples of one array.

        `block`: the array is shared memory, so that only the threads of one block can meet.
        """
        tuples = list(places)
        if not tuples or not self.axes:
            return not tuples
        told = self._told(tuples)
        return all(self._told_apart(axis, told, block) for axis in self.axes)

    def stay_in_block(self, places: Iterable[tuple[Any, ...]]) -> bool:
        """Say whether threads of different blocks never meet: each block has a part of the array to itself."""
        tuples = list(places)
        told = self._told(tuples) if tuples else set[Any]()
        return bool(self.axes) and all(self._is_told(device.BLOCK[axis], axis, told) for axis in self.axes)

    def _told_apart(self, axis: int, told: set[Any], block: bool) -> bool:
        threads = self._is_told(device.THREAD[axis], axis, told)
        return threads and (block or self._is_told(device.BLOCK[axis], axis, told))

    def _is_told(self, part: Intrinsic, axis: int, told: set[Any]) -> bool:
        return part in told or ("grid", axis) in told or part not in self.asked

    def _told(self, tuples: list[tuple[Any, ...]]) -> set[Any]:
        """Return the coordinates that all these index tuples have at one position, alike."""
        rank = min(len(t) for t in tuples)
        told: set[Any] = set()
        for position in range(rank):
            steps = [self.step(t[position]) for t in tuples]
            first = steps[0]
            if first is None or any(s is None or not _same_cell(s, first) for s in steps):
                continue
            told.add(first.which)
        return told


_FEW = 32
"""How many elements each thread sums on its own, at most."""
_ORDER = (operator.lt, operator.le, operator.gt, operator.ge)


def _is_place(atom: Atom) -> bool:
    return isinstance(atom, tuple) or (isinstance(atom, Intrinsic) and atom in (*device.THREAD, *device.BLOCK))


def constant_range(loop: For) -> tuple[int, ...] | None:
    """Return the least and the most that a loop's variable is, nothing for no turns; None if only the data know."""
    ends = (loop.start, loop.stop, loop.step)
    if not all(isinstance(e, Const) and isinstance(e.value, int) for e in ends):
        return None
    turns = range(*(e.value for e in ends))  # type: ignore[union-attr]
    return (min(turns[0], turns[-1]), max(turns[0], turns[-1])) if turns else ()


def _conjuncts(test: Expr) -> list[Expr]:
    """Return the conditions that all hold where `test` does."""
    if isinstance(test, Apply) and test.fn is ops.both:
        return [part for arg in test.args for part in _conjuncts(arg)]
    if isinstance(test, Apply) and test.fn is operator.not_:
        return list(_opposites(test.args[0]))
    return [test]


def held(body: tuple[Stmt, ...], tests: tuple[Expr, ...] = ()) -> dict[int, tuple[Expr, ...]]:
    """Return for each statement, by its identity, what holds where it runs."""
    found: dict[int, tuple[Expr, ...]] = {}
    for stmt in body:
        found[id(stmt)] = tests
        for number, block in enumerate(blocks_of(stmt)):
            own = () if not isinstance(stmt, If) else (stmt.test,) if number == 0 else _opposites(stmt.test)
            found |= held(block, (*tests, *own))
        if isinstance(stmt, If) and stmt.body and isinstance(stmt.body[-1], Return) and not stmt.orelse:
            tests = (*tests, *_opposites(stmt.test))
    return found


def _opposites(test: Expr) -> tuple[Expr, ...]:
    """Return what holds where a test does not: for a comparison of integers, the opposite one."""
    if isinstance(test, Apply) and test.fn is ops.either:
        return tuple(part for arg in test.args for part in _opposites(arg))
    if isinstance(test, Apply) and test.fn in _ORDER:
        return (replace(test, fn=_ORDER[3 - _ORDER.index(test.fn)]),)
    return ()


def _same_cell(a: Step, b: Step) -> bool:
    """Say whether two indices stay within one stretch of `factor` elements per thread."""
    places = {offset // a.factor for offset in (a.constant, a.most, b.constant, b.most)}
    return a.which == b.which and a.factor == b.factor and len(places) == 1


def _normal(terms: dict[tuple[Atom, ...], int], constant: int) -> Linear:
    """Write `blockIdx * blockDim + threadIdx` as the coordinate that it is."""
    terms = {k: v for k, v in terms.items() if v}
    for axis in range(3):
        block = tuple(sorted((device.BLOCK[axis], device.BLOCK_SIZE[axis]), key=_order))
        own = (device.THREAD[axis],)
        if block in terms and terms.get(own) == terms[block]:
            factor = terms.pop(block)
            del terms[own]
            key = (("grid", axis),)
            terms[key] = terms.get(key, 0) + factor
    return Linear(tuple(sorted(terms.items(), key=lambda t: [_order(a) for a in t[0]])), constant)


def _order(atom: Atom) -> str:
    return atom.path if isinstance(atom, Intrinsic) else str(atom)


Terms = tuple[dict[tuple[Atom, ...], int], int]


def _sum(a: Terms, b: Terms, sign: int) -> Terms:
    terms = dict(a[0])
    for key, factor in b[0].items():
        terms[key] = terms.get(key, 0) + sign * factor
    return terms, a[1] + sign * b[1]


def _product(a: Terms, b: Terms) -> Terms:
    terms: dict[tuple[Atom, ...], int] = {}
    left: list[tuple[tuple[Atom, ...], int]] = [*a[0].items(), ((), a[1])]
    right: list[tuple[tuple[Atom, ...], int]] = [*b[0].items(), ((), b[1])]
    for x, m in left:
        for y, n in right:
            key = tuple(sorted((*x, *y), key=_order))
            terms[key] = terms.get(key, 0) + m * n
    constant = terms.pop((), 0)
    return terms, constant


def _tests_around(body: tuple[Stmt, ...], name: str) -> list[Expr]:
    """Return the conditions under which `name` is bound."""
    found: list[Expr] = []
    for stmt in body:
        if isinstance(stmt, If | While) and any(name in bound(s) for s in statements((stmt,))):
            found.append(stmt.test)
        for block in blocks_of(stmt):
            found += _tests_around(block, name)
    return found


__all__ = ["Linear", "Param", "Step", "Threads", "constant_range", "held"]
