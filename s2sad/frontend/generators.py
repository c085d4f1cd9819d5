"""Generators, written into the loops that use them up.

    def steps(n, dt):                       for i, t in steps(5, dt):
        t = 0.0                                 s += x[i] * t
        for i in range(n):
            yield i, t              becomes     t_2 = 0.0
            t += dt                             for i_2 in range(5):
                                                    i, t = i_2, t_2
                                                    s += x[i] * t
                                                    t_2 += dt

That is what Python does, too: the body of the loop runs where the generator yields. `list(steps(5, dt))`, `sum(…)`
and comprehensions over a generator become such a loop, which fills a list. Nothing after this reads a `yield`.
Each node keeps its place in the text that it comes from.
"""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gast

from s2sad.frontend.jumps import own
from s2sad.frontend.leaving import Exits, Stays, has_own, named, placed, with_parts
from s2sad.frontend.source import Source, source_of, unwrap
from s2sad.frontend.sourcelines import renumbered

USING_UP = ("list", "tuple", "sum", "max", "min", "sorted", "any", "all", "set", "prod", "fsum", "fromiter")
"""What is called with a generator and asks it for all that it gives, once."""
WRITING = ("append", "extend", "insert", "pop", "clear", "reverse", "sort", "update", "setdefault", "fill", "remove")
_PLAIN = (int, float, complex, bool, str, types.NoneType, types.ModuleType, types.FunctionType, type)


def _is_known(meant: Any) -> bool:
    """Say whether an object is known when the derivative is made; values of arrays are read at each call."""
    if isinstance(meant, tuple | list):
        return all(_is_known(item) for item in meant)
    return isinstance(meant, _PLAIN) or callable(meant)


@dataclass(frozen=True, slots=True)
class _Generator:
    """A generator function: of this very function, or of a module."""

    node: Any
    source: Source
    inner: bool


def written_out(source: Source) -> Source:
    """Return a function in which the generators that it calls are written out."""
    if isinstance(source.node, gast.Lambda):
        return source
    found = _called(source)
    if not found:
        return source
    key = (id(source.node), *((name, id(g.node)) for name, g in found.items()))
    if key not in _WRITTEN or not _WRITTEN[key].holds(source, found):
        writer = _Writer(source, found)
        tree = copy.deepcopy(source.node)
        tree.body = writer.block(_in_place(tree.body, writer))
        node, lines = renumbered(tree, source)
        nodes = (source.node, *(g.node for g in found.values()))
        _WRITTEN[key] = _Written(nodes, node, lines, writer.origins, frozenset(writer.same))
    made = _WRITTEN[key]
    outer = {name: found[called].source.resolve(own) for name, (called, own) in made.origins.items()}
    return source.rewritten(made.node, made.lines, outer)


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written out of one text: other closures of the same text mean other objects by their names."""

    nodes: tuple[Any, ...]
    """What it was written from, whose identity is the key."""
    node: Any
    lines: dict[int, tuple[Source, int]]
    origins: dict[str, tuple[str, str]]
    """By new name, the generator that knows the object, and the name that it has there."""
    same: frozenset[tuple[str, str]]
    """Names that mean one object in a generator and in the function that calls it."""

    def holds(self, source: Source, found: dict[str, _Generator]) -> bool:
        """Say whether the text stands for these closures too."""
        read = {(called, name): found[called].source for called, name in (*self.origins.values(), *self.same)}
        if not all(scope.knows(name) for (_, name), scope in read.items()):
            return False
        known = all(_is_known(read[place].resolve(place[1])) for place in self.origins.values())
        alike = (source.knows(n) and source.resolve(n) is read[called, n].resolve(n) for called, n in self.same)
        return known and all(alike)


_WRITTEN: dict[Any, _Written] = {}
"""A text read twice has the same nodes."""


def taken_names(node: Any) -> set[str]:
    """Return the names that a function gives to anything, or reads."""
    parts = list(gast.walk(node))
    functions = {n.name for n in parts if isinstance(n, gast.FunctionDef)}
    return functions | {n.id for n in parts if isinstance(n, gast.Name)}


def is_generator(node: Any) -> bool:
    """Say whether a function gives its values one by one."""
    yields = gast.Yield | gast.YieldFrom
    return isinstance(node, gast.FunctionDef) and any(isinstance(n, yields) for n in own(node.body))


def _called(source: Source) -> dict[str, _Generator]:
    """Return the generator functions that a function calls by name."""
    parts = list(gast.walk(source.node))
    inner = {n.name: n for n in parts if isinstance(n, gast.FunctionDef) and n is not source.node}
    calls = [n.func.id for n in parts if isinstance(n, gast.Call) and isinstance(n.func, gast.Name)]
    found: dict[str, _Generator] = {}
    for name in dict.fromkeys(calls):
        if name in inner:
            if is_generator(inner[name]):
                found[name] = _Generator(inner[name], source, inner=True)
        elif source.knows(name) and inspect.isgeneratorfunction(unwrap(source.resolve(name))):
            fun = unwrap(source.resolve(name))
            if isinstance(fun, types.FunctionType) and not _is_being_read(fun):
                read = source_of(fun)
                found[name] = _Generator(read.node, read, inner=False)
    bound = {n.id for n in parts if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)} if found else set()
    return {name: generator for name, generator in found.items() if name not in bound}


def _is_being_read(fun: Any) -> bool:
    """Say whether a generator calls itself, by way of others perhaps."""
    return fun.__code__ in READING


READING: list[Any] = []
"""The code of the functions that are being read, one for the other."""


def _in_place(body: list[Any], writer: _Writer) -> list[Any]:
    """`g = steps(n)`, `for v in g:` in one block: the call is put where it is used up, its arguments stay."""
    whole = [n for s in body for n in gast.walk(s) if isinstance(n, gast.Name)]
    stored = [n.id for n in whole if not isinstance(n.ctx, gast.Load)]
    loaded = [n.id for n in whole if isinstance(n.ctx, gast.Load)]
    result: list[Any] = []
    for at, stmt in enumerate(body):
        match stmt:
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.Call(func=gast.Name(id=called)) as call) if (
                called in writer.found and stored.count(name) == 1 and loaded.count(name) == 1
                and not any(isinstance(arg, gast.Starred) for arg in call.args)
            ):  # fmt: skip
                later = [k for k, s in enumerate(body) if isinstance(s, gast.For) and getattr(s.iter, "id", "") == name]
                if later and later[0] > at:
                    result += _arguments_kept(call, _bound_in(body[at + 1 : later[0]]), stmt, writer)
                    body[later[0]].iter = call
                    continue
            case _:
                pass
        result.append(stmt)
    return result


def _arguments_kept(call: Any, changed: set[str], stmt: Any, writer: _Writer) -> list[Any]:
    """Give names to the arguments of a call that are not the same later, and return what does."""
    before: list[Any] = []

    def kept(value: Any) -> Any:
        if isinstance(value, gast.Constant) or (isinstance(value, gast.Name) and value.id not in changed):
            return value
        if writer.is_over(value):
            before.extend(_arguments_kept(value, changed, stmt, writer))
            return value
        name = writer.name("given")
        before.append(placed(_assign(named(name, gast.Store()), value), stmt))
        return placed(named(name), stmt)

    call.args = [kept(value) for value in call.args]
    for keyword in call.keywords:
        keyword.value = kept(keyword.value)
    return before


def _is_gone_through_once(node: Any, name: str) -> bool:
    """Say whether a parameter of a generator is only what one loop, which runs once, goes over."""
    if sum(isinstance(n, gast.Name) and n.id == name for s in node.body for n in gast.walk(s)) != 1:
        return False
    blocks = [node.body]
    for block in blocks:
        for stmt in block:
            if isinstance(stmt, gast.For) and getattr(stmt.iter, "id", "") == name:
                return True
            if isinstance(stmt, gast.If | gast.With):
                blocks += [stmt.body, getattr(stmt, "orelse", [])]
    return False


def _bound_in(body: list[Any]) -> set[str]:
    """Return the names that statements give a meaning, inner functions included."""
    parts = [n for s in body for n in gast.walk(s)]
    stored = {n.id for n in parts if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    return stored | {n.name for n in parts if isinstance(n, gast.FunctionDef)}


class _Writer:
    """Writes the generators of one function out."""

    def __init__(self, source: Source, found: dict[str, _Generator]) -> None:
        self.source, self.found = source, found
        self.taken = taken_names(source.node)
        self.origins: dict[str, tuple[str, str]] = {}
        """By the name that an object of a generator's outer scope has here: which generator's, and its name there."""
        self.same: set[tuple[str, str]] = set()
        """The names of such objects that mean the same here."""
        self.active: list[str] = []
        """The generators that are being written out, one in the other."""

    def name(self, hint: str) -> str:
        """Return a name that nothing else has."""
        name, count = hint, 1
        while name in self.taken:
            count += 1
            name = f"{hint}_{count}"
        self.taken.add(name)
        return name

    def block(self, statements: list[Any]) -> list[Any]:
        """Return statements in which no generator is called, as far as that can be done."""
        return [made for stmt in statements for made in self._statement(stmt)]

    def _statement(self, stmt: Any) -> list[Any]:
        if isinstance(stmt, gast.For):
            taken, origins = set(self.taken), dict(self.origins)
            try:
                made = self._loop(stmt)
            except Stays:
                self.taken, self.origins, made = taken, origins, None
            if made is not None:
                return made
        before = self._hoisted(stmt)
        for part in ("body", "orelse", "finalbody"):
            if isinstance(getattr(stmt, part, None), list) and not is_generator(stmt):
                setattr(stmt, part, self.block(getattr(stmt, part)))
        for handler in getattr(stmt, "handlers", ()):
            handler.body = self.block(handler.body)
        return [*before, stmt]

    # ---- loops

    def _loop(self, loop: Any) -> list[Any] | None:
        """Return what a loop over a generator is; None of any other loop."""
        match loop.iter:
            case gast.Call(func=gast.Name(id=name)) as call if name in self.found:
                return self._fused(loop, call, lambda value: [_assign(loop.target, value)])
            case gast.Call(func=gast.Name(id="enumerate"), args=[gast.Call() as call, *start], keywords=[]) if (
                getattr(call.func, "id", "") in self.found
            ):
                return self._numbered(loop, call, start)
            case gast.Call(func=gast.Name(id="zip"), args=parts, keywords=[]):
                return self._beside(loop, parts)
            case _:
                return None

    def _numbered(self, loop: Any, call: Any, start: list[Any]) -> list[Any]:
        number = self.name("number")
        first = _assign(named(number, gast.Store()), start[0] if start else gast.Constant(value=0, kind=None))
        more = gast.Assign(
            targets=[named(number, gast.Store())], type_comment=None,
            value=gast.BinOp(left=named(number), op=gast.Add(), right=gast.Constant(value=1, kind=None)),
        )  # fmt: skip

        def bind(value: Any) -> list[Any]:
            return [*_assign_parts(loop.target, [named(number), value]), copy.deepcopy(more)]

        return [placed(first, loop), *self._fused(loop, call, bind)]

    def _beside(self, loop: Any, parts: list[Any]) -> list[Any] | None:
        """`for a, b in zip(steps(5), x):` counts through the other parts."""
        calls = [p for p in parts if isinstance(p, gast.Call) and getattr(p.func, "id", "") in self.found]
        if not calls:
            return None
        if len(calls) > 1 or any(isinstance(p, gast.Call | gast.Starred) for p in parts if p is not calls[0]):
            raise Stays
        self._check_pure(calls[0])
        number, first = self.name("number"), gast.Constant(value=0, kind=None)
        before = [placed(_assign(named(number, gast.Store()), first), loop)]
        others: dict[int, Any] = {}
        for place, part in enumerate(parts):
            if part is not calls[0]:
                others[place] = self._held(part, loop, before)

        def bind(value: Any) -> list[Any]:
            ends = [
                gast.Compare(left=named(number), ops=[gast.GtE()], comparators=[
                    gast.Call(func=named("len"), args=[copy.deepcopy(other)], keywords=[])])
                for other in others.values()
            ]  # fmt: skip
            test = ends[0] if len(ends) == 1 else gast.BoolOp(op=gast.Or(), values=ends)
            items = [
                gast.Subscript(value=copy.deepcopy(others[k]), slice=named(number), ctx=gast.Load())
                if k in others else value for k in range(len(parts))
            ]  # fmt: skip
            more = gast.BinOp(left=named(number), op=gast.Add(), right=gast.Constant(value=1, kind=None))
            return [
                gast.If(test=test, body=[gast.Return(value=None)], orelse=[]),
                *_assign_parts(loop.target, items), _assign(named(number, gast.Store()), more),
            ]  # fmt: skip

        return [*before, *self._fused(loop, calls[0], bind)]

    def _held(self, part: Any, loop: Any, before: list[Any]) -> Any:
        """Return a name for what stands beside a generator."""
        stored = {n.id for n in gast.walk(loop) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
        if isinstance(part, gast.Name) and part.id not in stored:
            return part
        held = self.name("items")
        before.append(placed(_assign(named(held, gast.Store()), part), loop))
        return named(held)

    def _fused(self, loop: Any, call: Any, bind: Callable[[Any], list[Any]]) -> list[Any]:
        """Return the body of a generator, with the body of the loop where it yields."""
        generator = self.found[call.func.id]
        _check_yields(generator.node)
        if call.func.id in self.active:
            raise Stays
        loop.body, loop.orelse = self.block(loop.body), self.block(loop.orelse)
        names = {name: self.name(name) for name in _own_names(generator.node)}
        before = self._arguments(generator, call, names, loop)
        names.update(self._free_names(call.func.id, names))
        body = [Renamed(names).visit(_from(copy.deepcopy(s), generator.source)) for s in _without_text(generator.node)]
        made = Exits(self.name, loop, bind).fused(body)
        self.active.append(call.func.id)
        made = self.block(made)
        self.active.pop()
        return [*before, *made]

    def _arguments(self, generator: _Generator, call: Any, names: dict[str, Any], loop: Any) -> list[Any]:
        """Bind the parameters of a generator; one that is never bound anew may be a name of its caller."""
        spec = generator.node.args
        if spec.vararg or spec.kwarg or any(isinstance(a, gast.Starred) for a in call.args):
            raise Stays
        positional = [a.id for a in (*spec.posonlyargs, *spec.args)]
        given = dict(zip(positional, call.args, strict=False))
        given.update((k.arg, k.value) for k in call.keywords)
        known = {*positional, *(a.id for a in spec.kwonlyargs)}
        defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
        defaults.update({a.id: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None})
        if len(call.args) > len(positional) or not set(given) <= known:
            raise Stays
        stored = _stored(generator.node)
        changed = {n.id for n in gast.walk(loop) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
        before: list[Any] = []
        for name in (*positional, *(a.id for a in spec.kwonlyargs)):
            value = given.get(name, defaults.get(name))
            if value is None or (name not in given and not isinstance(value, gast.Constant)):
                raise Stays
            if self.is_over(value) and _is_gone_through_once(generator.node, name):
                before += _arguments_kept(value, changed, loop, self)
                self.taken.discard(names[name])
                names[name] = value  # a generator given to a generator
                continue
            plain = isinstance(value, gast.Constant) or (isinstance(value, gast.Name) and value.id not in changed)
            if plain and name not in stored:
                self.taken.discard(names[name])
                names[name] = value
            else:
                before.append(placed(_assign(named(names[name], gast.Store()), value), loop))
        return before

    def _free_names(self, called: str, names: dict[str, Any]) -> dict[str, str]:
        """Return what the generator's outer names are called here."""
        generator = self.found[called]
        if generator.inner:
            return {}
        loads = {n.id for n in gast.walk(generator.node) if isinstance(n, gast.Name)} - set(names)
        renamed: dict[str, str] = {}
        bound = _stored(self.source.node) | {n.id for n in gast.walk(self.source.node.args) if isinstance(n, gast.Name)}
        for name in sorted(loads):
            if not generator.source.knows(name):
                raise Stays
            meant = generator.source.resolve(name)
            if name not in bound and self.source.knows(name) and self.source.resolve(name) is meant:
                self.same.add((called, name))
                continue
            if not _is_known(meant):
                raise Stays
            renamed[name] = self.name(name)
            self.origins[renamed[name]] = called, name
        return renamed

    # ---- what uses a generator up at once

    def _hoisted(self, stmt: Any) -> list[Any]:
        """Return the loops that fill lists with what the generators in a statement give."""
        before: list[Any] = []
        match stmt:
            case gast.Assign(targets=[gast.Tuple()], value=gast.Call() as call) if self.is_over(call):
                whole = gast.Call(func=placed(named("list"), call), args=[call], keywords=[])
                stmt.value = gast.copy_location(whole, call)
            case _:
                pass
        for holder, field in computed_once(stmt):
            taken, origins, size = set(self.taken), dict(self.origins), len(before)
            try:
                setattr(holder, field, self._replaced(getattr(holder, field), stmt, before))
            except Stays:
                self.taken, self.origins = taken, origins
                del before[size:]
        return before

    def _replaced(self, node: Any, stmt: Any, before: list[Any]) -> Any:
        """Return an expression with lists in the place of generators, as far as each is computed once in any case."""
        match node:
            case gast.Call(func=gast.Name(id="list"), args=[gast.Call(func=gast.Name(id=name)) as call]) if (
                name in self.found and not node.keywords
            ):
                return self._list(stmt, call, None, before)
            case gast.Call(func=func, args=[gast.Call(func=gast.Name(id=name)) as call, *rest]) if (
                name in self.found and getattr(func, "id", getattr(func, "attr", "")) in USING_UP
            ):
                node.args = [self._list(stmt, call, None, before), *rest]
                return node
            case gast.Call(func=gast.Name(id="next"), args=[gast.Call(func=gast.Name(id=name)) as call]) if (
                name in self.found and not node.keywords
            ):
                return self._first(stmt, call, before)
            case gast.ListComp() | gast.GeneratorExp() if self.is_over(node.generators[0].iter):
                return self._list(stmt, node.generators[0].iter, node, before)
            case gast.Starred(value=gast.Call(func=gast.Name(id=name)) as call) if name in self.found:
                node.value = self._list(stmt, call, None, before)
                return node
            case gast.Lambda() | gast.ListComp() | gast.GeneratorExp() | gast.DictComp() | gast.SetComp():
                return node
            case _:
                return with_parts(node, lambda part: self._replaced(part, stmt, before))

    def is_over(self, node: Any) -> bool:
        """Say whether an expression calls a generator, or counts or joins what one gives."""
        if not isinstance(node, gast.Call) or not isinstance(node.func, gast.Name):
            return False
        return node.func.id in self.found or (
            node.func.id in ("enumerate", "zip") and any(map(self.is_over, node.args))
        )

    def _list(self, stmt: Any, items: Any, node: Any, before: list[Any]) -> Any:
        """Write the loop that fills a list; the variables of a comprehension are its own."""
        for call in gast.walk(items):
            if isinstance(call, gast.Call) and getattr(call.func, "id", "") in self.found:
                self._check_pure(call)
                _check_ends(self.found[call.func.id].node)
        made = self.name("items")
        target, value, tests, loops = self._comprehended(node)
        append = gast.Attribute(value=named(made), attr="append", ctx=gast.Load())
        body: list[Any] = [gast.Expr(value=gast.Call(func=append, args=[value], keywords=[]))]
        for inner in reversed(loops):
            body = _under(inner.ifs, body)
            body = [gast.For(target=inner.target, iter=inner.iter, body=body, orelse=[], type_comment=None)]
        body = _under(tests, body)
        loop = gast.For(target=target, iter=items, body=body, orelse=[], type_comment=None)
        first = _assign(named(made, gast.Store()), gast.List(elts=[], ctx=gast.Load()))
        written = self._loop(placed(loop, stmt))
        if written is None:
            raise Stays
        before += [placed(first, stmt), *written]
        return gast.copy_location(named(made), stmt)

    def _first(self, stmt: Any, call: Any, before: list[Any]) -> Any:
        """Write the loop that ends with the first value: `next(steps(5))`."""
        first, item = self.name("first"), self.name("item")
        body = [_assign(named(first, gast.Store()), named(item)), gast.Break()]
        over = [gast.Raise(exc=named("StopIteration"), cause=None)]
        loop = gast.For(target=named(item, gast.Store()), iter=call, body=body, orelse=over, type_comment=None)
        written = self._loop(placed(loop, stmt))
        if written is None:
            raise Stays
        before += written
        return gast.copy_location(named(first), stmt)

    def _comprehended(self, node: Any) -> tuple[Any, Any, list[Any], list[Any]]:
        """Return the target, the item, the tests and the inner loops of a comprehension, under names of their own."""
        if node is None:
            each = self.name("item")
            return named(each, gast.Store()), named(each), [], []
        if any(isinstance(part, gast.NamedExpr | gast.Lambda) for part in gast.walk(node)):
            raise Stays
        bound = [n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)]
        names: dict[str, Any] = {name: self.name(name) for name in dict.fromkeys(bound)}
        first = node.generators[0].iter
        node.generators[0].iter = gast.Constant(value=0, kind=None)
        renamed = Renamed(names).visit(copy.deepcopy(node))
        node.generators[0].iter = first
        return renamed.generators[0].target, renamed.elt, renamed.generators[0].ifs, renamed.generators[1:]

    def _check_pure(self, call: Any) -> None:
        """What a generator does besides giving values would be done at another time."""
        for part in gast.walk(self.found[call.func.id].node):
            if isinstance(part, gast.Subscript | gast.Attribute) and not isinstance(part.ctx, gast.Load):
                raise Stays
            if isinstance(part, gast.Call) and getattr(part.func, "attr", "") in WRITING:
                raise Stays


def _check_yields(node: Any) -> None:
    """A generator that is written out yields in statements of their own, outside of any `try`."""
    statements = {id(s.value) for s in own(node.body) if isinstance(s, gast.Expr)}
    yields = [n for n in own(node.body) if isinstance(n, gast.Yield | gast.YieldFrom)]
    guarded = [n for s in own(node.body) if isinstance(s, gast.Try) for n in gast.walk(s)]
    scoped = any(isinstance(n, gast.Nonlocal | gast.Global) for n in gast.walk(node))
    if scoped or len(yields) > 6 or any(id(y) not in statements or y.value is None for y in yields):
        raise Stays
    if any(y is part for y in yields for part in guarded):
        raise Stays


def _check_ends(node: Any) -> None:
    """A list of all that a generator gives is made of one that comes to an end."""
    for part in own(node.body):
        if isinstance(part, gast.While) and getattr(part.test, "value", None) in (True, 1):
            if not has_own(part.body, gast.Break) and not any(isinstance(n, gast.Return) for n in own(part.body)):
                raise Stays


def computed_once(stmt: Any) -> Iterator[tuple[Any, str]]:
    """Go through the expressions of a statement that are computed once, before anything else is done."""
    match stmt:
        case gast.Assign() | gast.AnnAssign() | gast.AugAssign() | gast.Return() | gast.Expr():
            if stmt.value is not None:
                yield stmt, "value"
        case gast.If():
            yield stmt, "test"
        case gast.For():
            yield stmt, "iter"
        case _:
            return


def _under(tests: list[Any], body: list[Any]) -> list[Any]:
    for test in reversed(tests):
        body = [gast.If(test=test, body=body, orelse=[])]
    return body


def _without_text(node: Any) -> list[Any]:
    body = list(node.body)
    is_text = bool(body) and isinstance(body[0], gast.Expr) and isinstance(body[0].value, gast.Constant)
    return body[1:] if is_text else body


def _own_names(node: Any) -> list[str]:
    """Return the parameters and the locals of a generator, in the order of the text."""
    spec = node.args
    names = [a.id for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    for part in own(node.body):
        if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load):
            names.append(part.id)
        elif isinstance(part, gast.FunctionDef):
            names.append(part.name)
    return list(dict.fromkeys(names))


def _stored(node: Any) -> set[str]:
    """Return the names that a function binds, without its parameters."""
    parts = [part for stmt in node.body for part in gast.walk(stmt)]
    found = {n.id for n in parts if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    return found | {n.name for n in parts if isinstance(n, gast.FunctionDef)}


class Renamed(gast.NodeTransformer):
    """Gives names others, or what stands for them."""

    def __init__(self, names: dict[str, Any]) -> None:
        """`names`: by the names that there are, their new ones, or expressions."""
        self.names = names

    def visit_Name(self, node: Any) -> Any:
        """Rename a name."""
        new = self.names.get(node.id, node.id)
        made = named(new, node.ctx) if isinstance(new, str) else copy.deepcopy(new)
        if hasattr(node, "home"):
            made.home = node.home
        return gast.copy_location(made, node)

    def visit_FunctionDef(self, node: Any) -> Any:
        """Rename an inner function; what its own parameters are called stays."""
        node.name = self.names.get(node.name, node.name)
        own_names = set(_own_names(node))
        inner = Renamed({k: v for k, v in self.names.items() if k not in own_names})
        node.body = [inner.visit(s) for s in node.body]
        return node

    def visit_Lambda(self, node: Any) -> Any:
        """Leave the parameters of a lambda alone."""
        own_names = {a.id for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        node.body = Renamed({k: v for k, v in self.names.items() if k not in own_names}).visit(node.body)
        return node


def _from(stmt: Any, source: Source) -> Any:
    """Let each statement know of which text it is."""
    for part in gast.walk(stmt):
        if not hasattr(part, "home"):
            part.home = source
    return stmt


def _assign(target: Any, value: Any) -> Any:
    return gast.Assign(targets=[copy.deepcopy(target)], value=value, type_comment=None)


def _assign_parts(target: Any, values: list[Any]) -> list[Any]:
    """Bind the parts of a tuple one by one where that is what the target says."""
    if isinstance(target, gast.Tuple) and len(target.elts) == len(values):
        pairs = zip(target.elts, values, strict=True)
        return [_assign(part, value) for part, value in pairs]
    return [_assign(target, gast.Tuple(elts=values, ctx=gast.Load()))]
