"""Calls written into their caller: what is left has one body, which can be cut in two.

    y = g(x)                  x_2 = x
                   becomes    t = np.sin(x_2)
                              y = t * t

Recursive calls stay. Names and symbolic lengths of a callee are its own, and get names of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from s2sad.frontend.infer import fresh_dim
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    For,
    Function,
    Index,
    Pack,
    Return,
    Slice,
    Stmt,
    Swap,
    Var,
)
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Struct, Sym, Type, renamed_length
from s2sad.ir.walk import bound, map_blocks, map_exprs, names_in, statements
from s2sad.transform.naming import Namer
from s2sad.transform.structure import structured

_NONE: Mapping[str, int] = {}
_MADE = re.compile(r"_(value|part)(_\d+)?$")
"""How names end that results get where nobody names them."""


def inlined(fn: Function, callee: Callable[[str], Function], namer: Namer) -> Function:
    """Return `fn` with the bodies of all that it calls in place of the calls, but for recursive ones."""
    return replace(fn, body=_block(fn.body, callee, namer))


def _block(body: tuple[Stmt, ...], callee: Callable[[str], Function], namer: Namer) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, CallStmt) and stmt.fn is None and not recursive(stmt.callee, callee):
            result.extend(_call(stmt, callee, namer))
        else:
            result.append(map_blocks(stmt, lambda b: _block(b, callee, namer)))
    return tuple(result)


def recursive(name: str, callee: Callable[[str], Function]) -> bool:
    """Say whether a function calls itself, perhaps through others."""
    waiting, seen = [name], set[str]()
    while waiting:
        for stmt in statements(callee(waiting.pop()).body):
            if isinstance(stmt, CallStmt) and stmt.fn is None and stmt.callee not in seen:
                seen.add(stmt.callee)
                waiting.append(stmt.callee)
    return name in seen


def _call(stmt: CallStmt, callee: Callable[[str], Function], namer: Namer) -> list[Stmt]:
    fn = callee(stmt.callee)
    fn = structured(fn, Namer(names_in(fn.body) | {p.name for p in fn.params}))
    return list(_block(tuple(Renaming(fn, stmt, namer).written_out()), callee, namer))


class Names:
    """Gives names other names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take the new names; others stay."""
        self.names = dict(names)

    def name(self, var: Var) -> Var:
        """Return the variable under its new name."""
        return Var(self.names.get(var.name, var.name), self.kind(var.type))

    def kind(self, kind: Type) -> Type:
        """Return a type as it stands under the new names."""
        return kind

    def expr(self, expr: Any) -> Any:
        """Return the expression under the new names."""
        match expr:
            case Var():
                return self.name(expr)
            case Const(value, kind):
                return Const(value, self.kind(kind))
            case Apply(fn, args, kind, static):
                return Apply(fn, tuple(self.expr(a) for a in args), self.kind(kind), static)
            case Index(base, index, kind):
                return Index(self.expr(base), tuple(self.expr(i) for i in index), self.kind(kind))
            case Pack(container, items, kind):
                return Pack(container, tuple(self.expr(i) for i in items), self.kind(kind))
            case Slice(lower, upper, step):
                return Slice(*(None if part is None else self.expr(part) for part in (lower, upper, step)))
            case _:
                return expr

    def stmt(self, stmt: Stmt) -> Stmt:
        """Return the statement under the new names."""
        made: Stmt = map_exprs(stmt, self.expr)
        match made:
            case Assign(target):
                made = replace(made, target=self.name(target))
            case For(var):
                made = replace(made, var=self.name(var))
            case CallStmt(targets):
                made = replace(made, targets=tuple(self.name(t) for t in targets))
            case Append(items):
                made = replace(made, list=self.name(items))
            case Swap(first, second):
                made = replace(made, first=self.name(first), second=self.name(second))
            case _:
                pass
        return map_blocks(made, lambda body: tuple(self.stmt(s) for s in body))

    def function(self, fn: Function) -> Function:
        """Return a function with other names inside."""
        params = tuple(replace(p, name=self.names.get(p.name, p.name)) for p in fn.params)
        return replace(fn, params=params, body=tuple(self.stmt(s) for s in fn.body))


class Renaming(Names):
    """Gives the names and symbolic lengths of a callee new ones, lengths of parameters the caller's."""

    def __init__(self, fn: Function, stmt: CallStmt, namer: Namer, bound_by_caller: Mapping[str, int] = _NONE) -> None:
        """Choose the names; a return stands last in `fn`, if anywhere.

        `bound_by_caller`: how often the caller binds its names. Where both keep one meaning, a
        parameter goes by the name of what is passed, and a result by that of what it is bound to.
        """
        self.fn, self.call = fn, stmt
        self.changed = Counter(name for s in statements(fn.body) for name in bound(s))
        self.once = {name for name, count in bound_by_caller.items() if count == 1}
        self.dims: dict[str, tuple[Sym, Dim]] = {}
        self.place = fresh_dim("n").name
        self.results = self._last().values
        for own, given in (*zip(fn.params, stmt.args, strict=True), *zip(self.results, stmt.targets, strict=False)):
            self._learn(own.type, given.type)
        self.names = {**self._passed(), **self._returned()}
        self.made: set[str] = set()
        for name in sorted(names_in(fn.body) | {p.name for p in fn.params}):
            if name not in self.names:
                self.names[name] = namer.fresh(name)
                self.made.add(self.names[name])

    def _last(self) -> Return:
        last = self.fn.body[-1] if self.fn.body else None
        return last if isinstance(last, Return) else Return(())

    def _learn(self, own: Type, given: Type) -> None:
        """Take the caller's lengths for the callee's."""
        if isinstance(own, Array) and isinstance(given, Array):
            for mine, other in zip(own.dims, given.dims, strict=True):
                if isinstance(mine, Sym):
                    self.dims.setdefault(mine.name, (mine, other))

    def _passed(self) -> dict[str, str]:
        """Return the parameters that never mean anything but a name that is passed.

        An array goes by the caller's name also where that means other arrays before and after the call.
        """
        return {
            p.name: arg.name
            for p, arg in zip(self.fn.params, self.call.args, strict=True)
            if isinstance(arg, Var) and not self.changed[p.name]
            and (arg.name in self.once or isinstance(arg.type, Array))
        }

    def _returned(self) -> dict[str, str]:
        """Return the locals that are the value of one name of the caller's."""
        params = {p.name for p in self.fn.params}
        found = [v.name for v in self.results if isinstance(v, Var)]
        return {
            value.name: target.name
            for value, target in zip(self.results, self.call.targets, strict=bool(self.results))
            if isinstance(value, Var) and value.name not in params and found.count(value.name) == 1
            and target.name in self.once and self.kind(value.type) == target.type
        }  # fmt: skip

    def written_out(self, own_lines: bool = False) -> list[Stmt]:
        """Return what stands in the place of the call; `own_lines`: results are of the line that returns them."""
        span = self.call.span
        line = self._last().span
        returned_at = line if own_lines and line.line else span
        passed, returned = self._passed(), self._returned()
        start: list[Stmt] = [
            Assign(self.name(Var(p.name, p.type)), arg, span)
            for p, arg in zip(self.fn.params, self.call.args, strict=True)
            if p.name not in passed
        ]
        body = [self.stmt(s) for s in self.fn.body]
        if body and isinstance(body[-1], Return):
            body.pop()
        end = [
            Assign(target, self.expr(value), returned_at)
            for target, value in zip(self.call.targets, self.results, strict=False)
            if not (isinstance(value, Var) and value.name in returned)
        ]
        return [*start, *body, *end]

    @property
    def wanted(self) -> dict[str, str]:
        """The names that were taken, and names of results that say little, with what they would better be."""
        made = {name: new for name, new in self.names.items() if name != new and name not in self._passed()}
        returned = self._returned()
        return {new: name for name, new in made.items() if name not in returned or _MADE.search(new)}

    def kind(self, kind: Type) -> Type:
        """Return the type with the caller's lengths."""
        match kind:
            case Array(dtype, dims, layout):
                return Array(dtype, tuple(self._dim(d) for d in dims), layout)
            case Scalar(dtype, weak, Sym() as value):
                dim = self._dim(value)
                return Scalar(dtype, weak, dim if isinstance(dim, Sym) else None)
            case ListOf(item):
                return ListOf(None if item is None else self.kind(item))
            case Struct(container, keys, items):
                return Struct(container, keys, tuple(self.kind(item) for item in items))
            case _:
                return kind

    def _dim(self, dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        if dim.name not in self.dims:
            self.dims[dim.name] = Sym(dim.name), fresh_dim(renamed_length("n", dim))
        own, given = self.dims[dim.name]
        less = dim.minus - own.minus
        if isinstance(given, int):
            return max(given - less, 0)
        cut = f"{dim.cut} in {self.place}" if dim.cut else ""  # the names in it are the callee's
        return Sym(given.name, given.minus + less, given.nonone and less <= 0, cut, dim.within)


def is_made_up(name: str) -> bool:
    """Say whether a name is one that a result gets where nobody names it."""
    return bool(_MADE.search(name))


def free(wanted: Mapping[str, str], fn: Function) -> dict[str, str]:
    """Return the better names that nothing in the function has."""
    taken = {p.name for p in fn.params} | names_in(fn.body)
    found: dict[str, str] = {}
    for name, better in wanted.items():
        while better in wanted and better not in taken:
            better = wanted[better]
        if name in taken and better not in taken:
            found[name] = better
            taken.add(better)
    return found
