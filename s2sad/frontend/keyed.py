"""Dicts whose keys a run tells, written as two lists: what has a key stands at the place of the key.

    d = {}                        d_keys, d_values = [], []
    d[k] = v           becomes    if k in d_keys:
                                      d_values[d_keys.index(k)] = v
                                  else:
                                      d_keys.append(k)
                                      d_values.append(v)
    d[k]                          d_values[d_keys.index(k)]

So are the results that an inner function remembers, under `functools.cache` too. A dict whose keys are known before
the function runs has a variable for each item instead; this is what is left where one is not known. The dict must be
bound once, to `{}`, `dict()` or a display, and have no second name. To look for a key takes time in proportion to
their number.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.errors import S2SADError
from s2sad.frontend import chains
from s2sad.frontend.collected import meant
from s2sad.frontend.lowerer import Context, Lowerer
from s2sad.frontend.respelled import NotFollowed, is_safe, named_so, statement, unused
from s2sad.frontend.source import Source
from s2sad.ir.types import Scalar, Struct, Type

_READERS = frozenset({"sorted", "list", "tuple", "len", "sum", "min", "max", "enumerate", "zip", "set", "reversed"})
_ORDERS = ("sorted", "list", "tuple", "reversed", "set")
_VIEWS = ("items", "keys", "values")
_KEY, _ITEM = Scalar("int64", weak=True), Scalar("float64", weak=True)


class KeyedFound(Exception):
    """A dict of a function has keys that only a run tells: the function is lowered again, without the dict."""

    def __init__(self, owner: int) -> None:
        """Remember which function binds it: the `id` of its text."""
        super().__init__("keyed")
        self.owner = owner


def given_to(lw: Lowerer, value: Any) -> str:
    """Return the name that the statement being lowered gives to a value; none where it does something else with it."""
    match lw.statement:
        case gast.Assign(targets=[gast.Name(id=name)], value=made) | gast.AnnAssign(
            target=gast.Name(id=name), value=made
        ) if made is value:
            return name
        case _:
            return ""


def remembered(name: str) -> str:
    """Return what the results of an inner function are called that remembers them."""
    return f"{name}()"


def begin_again_with_rows(lw: Lowerer) -> None:
    """Lower the function again with the list of lists of this statement as one list, where that can be."""
    match lw.statement:
        case gast.Assign(targets=[gast.Name(id=name)], value=gast.ListComp()):
            pass
        case gast.Expr(value=gast.Call(func=gast.Attribute(value=gast.Name(id=name)))):
            pass
        case gast.Expr(value=gast.Call(func=gast.Attribute(value=gast.Subscript(value=gast.Name(id=name))))):
            pass
        case gast.AugAssign(target=gast.Subscript(value=gast.Name(id=name))):
            pass
        case _:
            return
    begin_again(lw, f"{name}[]")


def begin_again(lw: Lowerer, meant: Any) -> None:
    """Lower the function again with a dict as two lists; return where that cannot be.

    `meant` is the name of the dict, or an item or a call of it.
    """
    name = meant if isinstance(meant, str) else _named(meant)
    if name is None:
        return
    for source in reversed(lw.ctx.being_lowered):
        owner = id(source.node)
        if (owner, name) in lw.ctx.keyed or (owner, name) in lw.ctx.not_keyed:
            return
        if not _is_bound(source.node, name):
            continue
        if _written(source, [*(n for o, n in lw.ctx.keyed if o == owner), name]) is None:
            return
        lw.ctx.keyed.append((owner, name))
        raise KeyedFound(owner)


def _named(node: Any) -> str | None:
    """Return the name of the dict of which an item is meant, or a method is called."""
    match node:
        case gast.Subscript(value=gast.Name(id=name)):
            return name
        case gast.Call(func=gast.Attribute(value=gast.Name(id=name))):
            return name
        case _:
            return None


def _is_bound(node: Any, name: str) -> bool:
    """Say whether a function binds the name of a dict, or of an inner function that remembers its results."""
    if not isinstance(node, gast.FunctionDef):
        return False
    if name.endswith("()"):
        return any(isinstance(n, gast.FunctionDef) and n is not node and remembered(n.name) == name
                   for n in gast.walk(node))  # fmt: skip
    name = name.removesuffix("[]")
    return any(not isinstance(n.ctx, gast.Load) for n in named_so(gast.walk(node), name))


def give_up(ctx: Context, source: Source, error: S2SADError) -> bool:
    """Lower a function with its dicts again, where an error says of the lists that the dict was used wrongly."""
    names = [name for owner, name in ctx.keyed if owner == id(source.node)]
    plain = {name.removesuffix("[]") for name in names}
    parts = [n for n in gast.walk(source.node) if isinstance(n, gast.Name) and n.id in plain]
    parts += [n for f in gast.walk(source.node) if isinstance(f, gast.FunctionDef) and remembered(f.name) in names
              for n in gast.walk(f) if hasattr(n, "lineno")]  # fmt: skip
    lines = {source.span(n).line for n in parts}
    if error.span is None or error.span.line not in lines:
        return False
    ctx.not_keyed.update((id(source.node), name) for name in names)
    ctx.keyed[:] = [(owner, name) for owner, name in ctx.keyed if owner != id(source.node)]
    return True


def without_dicts(source: Source, ctx: Context, owner: Any) -> Source:
    """Return a function without the dicts whose keys only a run tells."""
    names = [name for of, name in ctx.keyed if of == id(source.node)]
    if not names:
        return source
    made = _written(source, names)
    assert made is not None
    tree, lists = made
    for name, kind in lists.items():
        if isinstance(kind, Struct):
            ctx.row_kinds.setdefault((id(tree), name), kind)
        elif (id(owner), name) not in ctx.list_items:
            ctx.list_items[id(owner), name] = kind
            ctx.guessed.update([(id(owner), name)] if kind is _ITEM else [])
    return source.rewritten(tree, source.lines, {})


_WRITTEN: dict[tuple[int, tuple[str, ...]], tuple[Any, tuple[Any, dict[str, Type]] | None]] = {}
"""What was written, with what it was written from: a text read twice has the same nodes."""


def _written(source: Source, names: list[str]) -> tuple[Any, dict[str, Type]] | None:
    """Return a function without these dicts, and what its lists hold; None where that cannot be."""
    key = id(source.node), tuple(names)
    if key not in _WRITTEN:
        tree, lists = _OneByOne().visit(copy.deepcopy(source.node)), dict[str, Type]()
        try:
            for name in names:
                if name.endswith("()"):
                    name = _remember(tree, name[:-2])
                if name.endswith("[]"):
                    tree, kinds = chains.without_rows(tree, name[:-2])
                    lists |= kinds
                    continue
                dictionary = _Dict(source, tree, name)
                tree = dictionary.visit(tree)
                lists |= dictionary.lists()
                if dictionary.holds_lists:
                    tree, kinds = chains.without_rows(tree, dictionary.values)
                    lists |= kinds
            _WRITTEN[key] = source.node, (tree, lists)
        except NotFollowed:
            _WRITTEN[key] = source.node, None
    return _WRITTEN[key][1]


class _OneByOne(gast.NodeTransformer):
    """Writes `a, b = {}, {}` as two statements."""

    def visit_Assign(self, node: Any) -> Any:
        """Take apart what binds several names to what does not read them."""
        match node:
            case gast.Assign(targets=[gast.Tuple(elts=names)], value=gast.Tuple(elts=values)):
                pass
            case _:
                return node
        read = {n.id for value in values for n in gast.walk(value) if isinstance(n, gast.Name)}
        own = [name.id for name in names if isinstance(name, gast.Name)]
        if len(own) != len(values) or not read.isdisjoint(own) or not all(map(is_safe, values)):
            return node
        if not any(isinstance(value, gast.Dict | gast.Call | gast.DictComp) for value in values):
            return node
        pairs = zip(names, values, strict=True)
        return [gast.copy_location(gast.Assign(targets=[a], value=b, type_comment=None), node) for a, b in pairs]


def _remember(tree: Any, name: str) -> str:
    """Let an inner function put its results into a dict, in the place of its decorator; return the name of the dict."""
    found = [n for n in gast.walk(tree) if isinstance(n, gast.FunctionDef) and n.name == name]
    stored = {n.id for n in gast.walk(tree) if isinstance(n, gast.Name)}
    if len(found) != 1 or {f"{name}_results", f"{name}_result"} & stored:
        raise NotFollowed
    (inner,), given = found, found[0].args
    if not given.args or given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
        raise NotFollowed
    params = [arg.id for arg in given.args]
    own = [n for stmt in inner.body for n in gast.walk(stmt)]
    if any(isinstance(n, gast.Name) and n.id in params and not isinstance(n.ctx, gast.Load) for n in own):
        raise NotFollowed
    if any(isinstance(n, gast.FunctionDef | gast.Lambda | gast.Try) for n in own):
        raise NotFollowed
    key = params[0] if len(params) == 1 else f"({', '.join(params)})"
    inner.decorator_list = [d for d in inner.decorator_list if not _remembers(d)]
    _Keeping(name, key).visit(inner)
    first = inner.body[0]
    inner.body.insert(0, statement(f"if {key} in {name}_results:\n    return {name}_results[{key}]", first))
    for around in gast.walk(tree):
        for _, block in gast.iter_fields(around):
            if isinstance(block, list) and any(stmt is inner for stmt in block):
                block.insert(block.index(inner), statement(f"{name}_results = {{}}", inner))
                return f"{name}_results"
    raise NotFollowed


def _remembers(decorator: Any) -> bool:
    meant = decorator.func if isinstance(decorator, gast.Call) else decorator
    return (meant.attr if isinstance(meant, gast.Attribute) else getattr(meant, "id", "")) in ("cache", "lru_cache")


class _Keeping(gast.NodeTransformer):
    """Keeps what a function returns."""

    def __init__(self, name: str, key: str) -> None:
        self.name, self.key = name, key

    def visit_Return(self, node: Any) -> Any:
        """Put the result where it is found the next time."""
        if node.value is None:
            raise NotFollowed
        kept = statement(f"{self.name}_result = 0", node)
        kept.value = node.value
        put = statement(f"{self.name}_results[{self.key}] = {self.name}_result", node)
        return [kept, put, statement(f"return {self.name}_result", node)]


class _Dict(gast.NodeTransformer):
    """Writes one dict as two lists."""

    def __init__(self, source: Source, tree: Any, name: str) -> None:
        """Look at every use of the dict; raises `NotFollowed` for one that is not followed."""
        self.name, self.tree = name, tree
        parts = list(gast.walk(tree))
        self.taken = {n.id for n in parts if isinstance(n, gast.Name)}
        self.begun = self._begun(source, parts)
        self.loads = {id(n) for n in named_so(parts, name) if isinstance(n.ctx, gast.Load)}
        self.width = self._width(parts)
        self.keys, self.values = self._new("keys"), self._new("values")
        self.holds_lists = any(map(self._adds_to_an_item, parts))
        self.there: set[int] = set()
        """The calls of `setdefault` by a key that is there: one of those that a comprehension goes through."""
        self.turns: list[str] = []
        """The keys of the loops over the dict that are being written."""
        self.before: list[Any] = []
        """The statements that stand before the one that is being written."""
        self._check(parts)

    def lists(self) -> dict[str, Type]:
        """Return what the lists hold."""
        pair = Struct("tuple", tuple(range(self.width)), (_KEY,) * self.width)
        keys: dict[str, Type] = {self.keys: _KEY if self.width == 1 else pair}
        return keys if self.holds_lists else keys | {self.values: _ITEM}

    def _adds_to_an_item(self, part: Any) -> bool:
        """Say whether something goes into a list that the dict holds: `d[k].append(v)`."""
        match part:
            case gast.Call(func=gast.Attribute(value=item, attr="append")) | gast.AugAssign(
                target=gast.Subscript() as item, value=gast.List()
            ):
                return _named(item) == self.name
            case _:
                return False

    def _new(self, what: str) -> str:
        return unused(f"{self.name}_{what}", self.taken)

    def _begun(self, source: Source, parts: list[Any]) -> Any:
        """Return the only statement that binds the name."""
        stores = [n for n in named_so(parts, self.name) if not isinstance(n.ctx, gast.Load)]
        found: list[Any] = []
        for part in parts:
            match part:
                case gast.Assign(targets=[gast.Name(id=name)], value=value) | gast.AnnAssign(
                    target=gast.Name(id=name), value=value
                ) if name == self.name and self._is_empty(source, value):
                    found.append(part)
                case _:
                    pass
        if len(stores) != 1 or len(found) != 1:
            raise NotFollowed
        return found[0]

    def _is_empty(self, source: Source, value: Any) -> bool:
        match value:
            case gast.Dict(keys=keys):
                if len(keys) < 2:
                    return all(key is not None and is_safe(key) for key in keys)
                known = [_constant(key) for key in keys]
                return None not in known and len(set(known)) == len(keys)  # no key is there twice
            case gast.Call(func=gast.Name(id="dict"), args=[], keywords=[]):
                return meant(source, value.func) is dict
            case gast.DictComp(key=key, generators=[_]):
                return is_safe(key)
            case gast.Call(func=gast.Attribute(value=gast.Name(id="dict"), attr="fromkeys"), args=[
                gast.Call(func=gast.Name(id="range")), gast.Constant()
            ]):  # fmt: skip
                return True
            case _:
                return False

    def _width(self, parts: list[Any]) -> int:
        """Return of how many numbers a key is made."""
        keys = self._all_keys(parts)
        names = {key.id for key in keys if isinstance(key, gast.Name)}
        keys += [part.value for part in parts if isinstance(part, gast.Assign)
                 and any(getattr(target, "id", "") in names for target in part.targets)]  # fmt: skip
        widths = {len(key.elts) for key in keys if isinstance(key, gast.Tuple)}
        if len(widths) > 1:
            raise NotFollowed
        return widths.pop() if widths else 1

    def _all_keys(self, parts: list[Any]) -> list[Any]:
        found: list[Any] = list(getattr(self.begun.value, "keys", ()))
        for part in parts:
            match part:
                case (
                    gast.Subscript(value=place, slice=key)
                    | gast.Compare(left=key, ops=[gast.In() | gast.NotIn()], comparators=[place])
                    | gast.Call(func=gast.Attribute(value=place, attr="get" | "setdefault"), args=[key, _])
                ) if getattr(place, "id", None) == self.name:
                    found.append(key)
                case _:
                    pass
        return found

    def _check(self, parts: list[Any]) -> None:
        """Find every use among those that are followed."""
        followed: set[int] = set()
        for part in parts:
            match part:
                case gast.Subscript(value=place, slice=key) if is_safe(key):
                    followed.add(id(place) if not isinstance(part.ctx, gast.Del) else 0)
                case gast.Compare(left=key, ops=[gast.In() | gast.NotIn()], comparators=[place]) if is_safe(key):
                    followed.add(id(place))
                case gast.Call(func=gast.Attribute(value=place, attr="get"), args=[key, default], keywords=[]) if (
                    is_safe(key) and is_safe(default)
                ):
                    followed.add(id(place))
                case gast.Call(func=gast.Attribute(value=place, attr=attr), args=[], keywords=[]) if attr in _VIEWS:
                    followed.add(id(place))
                case gast.Call(func=gast.Name(id=name)) if name in _READERS:
                    followed.update(id(arg) for arg in part.args)
                case gast.For(iter=place) | gast.comprehension(iter=place):
                    followed.add(id(place))
                case gast.While(test=place) | gast.If(test=place) | gast.UnaryOp(op=gast.Not(), operand=place):
                    followed.add(id(place))
                case gast.Try() | gast.ClassDef() | gast.AsyncFunctionDef():
                    if any(id(n) in self.loads for n in gast.walk(part)):
                        raise NotFollowed  # a missing key is another error here
                case _:
                    pass
        self.there = self._keys_gone_through(parts)
        followed |= {id(n) for n in self._set_by_default(parts)}
        followed |= {id(n.func.value) for n in parts if id(n) in self.there}
        functions = [n for n in parts if isinstance(n, gast.FunctionDef | gast.Lambda)]
        bound = {a.id for f in functions for a in gast.walk(f.args) if isinstance(a, gast.Name)}
        if not self.loads <= followed or self.name in bound:
            raise NotFollowed

    def _set_by_default(self, parts: list[Any]) -> list[Any]:
        """Return the names of the dict in `d.setdefault(k, v)` where it is computed once, first, in a statement."""
        found: list[Any] = []
        for part in parts:
            match part:
                case gast.Expr(value=call) | gast.Assign(value=call) | gast.Return(value=call) | gast.For(iter=call):
                    pass
                case gast.AugAssign(target=gast.Name(), value=call):
                    pass
                case _:
                    continue
            for one in self._computed_first(call):
                match one:
                    case gast.Call(func=gast.Attribute(value=place, attr="setdefault"), args=[key, value], keywords=[]):
                        steady = not named_so(gast.walk(key), self.name)  # it is computed again behind it
                        found += [place] if steady and is_safe(key) and is_safe(value) else []
                    case _:
                        pass
        return found

    def _computed_first(self, node: Any) -> list[Any]:
        """Return an expression, and its operands before which nothing is computed that the dict may matter to."""
        match node:
            case gast.Call(func=gast.Attribute(value=first)) | gast.Subscript(value=first):
                return [node, *self._computed_first(first)]
            case gast.Call(func=gast.Name(), args=[first, *_]):
                return [node, *self._computed_first(first)]
            case gast.BinOp():
                pass
            case _:
                return [node]
        first = is_safe(node.left) and not named_so(gast.walk(node.left), self.name)
        return [*self._computed_first(node.left), *(self._computed_first(node.right) if first else [])]

    def _keys_gone_through(self, parts: list[Any]) -> set[int]:
        found: set[int] = set()
        for part in parts:
            for generator in getattr(part, "generators", ()):
                over = generator.iter
                while isinstance(over, gast.Call) and getattr(over.func, "id", "") in _ORDERS and over.args:
                    over = over.args[0]
                if getattr(over, "id", None) != self.name or not isinstance(generator.target, gast.Name):
                    continue
                for call in gast.walk(part):
                    match call:
                        case gast.Call(
                            func=gast.Attribute(value=place, attr="setdefault"), args=[gast.Name(id=key), _]
                        ) if getattr(place, "id", "") == self.name and key == generator.target.id:
                            found.add(id(call))
                        case _:
                            pass
        return found

    # ---- writing

    def visit_FunctionDef(self, node: Any) -> Any:
        """Write the statements of a function."""
        node.body = self._block(node.body)
        return node

    def _block(self, body: list[Any]) -> list[Any]:
        made: list[Any] = []
        for stmt in body:
            around, self.before = self.before, []
            new = self.visit(stmt)
            made += [*self.before, *(new if isinstance(new, list) else [new])]
            self.before = around
        return made

    def generic_visit(self, node: Any) -> Any:
        """Write the blocks of a statement statement by statement, and all else part by part."""
        for field, value in gast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], gast.stmt):
                setattr(node, field, self._block(value))
            elif isinstance(value, list):
                setattr(node, field, [self.visit(v) if isinstance(v, gast.AST) else v for v in value])
            elif isinstance(value, gast.AST):
                setattr(node, field, self.visit(value))
        return node

    def visit_Assign(self, node: Any) -> Any:
        """`d = {}`, `d[k] = v`."""
        if node is self.begun:
            return self._beginning(node)
        match node.targets:
            case [gast.Subscript(value=gast.Name(id=name), slice=key)] if name == self.name:
                return self._store(node, key)
            case _:
                return self.generic_visit(node)

    def visit_AnnAssign(self, node: Any) -> Any:
        """`d: dict[int, float] = {}`."""
        return self._beginning(node) if node is self.begun else self.generic_visit(node)

    def visit_AugAssign(self, node: Any) -> Any:
        """`d[k] += v`."""
        match node.target:
            case gast.Subscript(value=gast.Name(id=name), slice=key) if name == self.name:
                node.value, key = self.visit(node.value), self.visit(key)
                node.target = _set(self._parsed(f"{self.values}[{self.keys}.index(0)]", node, key))
                return node
            case _:
                return self.generic_visit(node)

    def _beginning(self, node: Any) -> list[Any]:
        given = node.value
        if not isinstance(given, gast.Dict) and not (isinstance(given, gast.Call) and not given.args):
            return self._filled(node, given)
        keys, values = getattr(given, "keys", []), getattr(given, "values", [])
        first, second = (self._statement(f"{name} = []", node) for name in (self.keys, self.values))
        first.value.elts, second.value.elts = list(keys), [self.visit(value) for value in values]
        return [first, second]

    def _filled(self, node: Any, given: Any) -> list[Any]:
        """`{k: v for k in range(n)}`, `dict.fromkeys(range(n), v)`: the keys are the numbers of a range."""
        if isinstance(given, gast.Call):
            name = self._new("key")
            over, item = given.args[0], given.args[1]
        elif self._is_a_range(given):
            over, name, item = given.generators[0].iter, given.generators[0].target.id, self.visit(given.value)
        else:
            return self._one_by_one(node, given)
        first = self._statement(f"{self.keys} = [{name} for {name} in range(0)]", node)
        second = self._statement(f"{self.values} = [0 for {name} in range(0)]", node)
        second.value.elt = item
        for stmt in (first, second):
            stmt.value.generators[0].iter = copy.deepcopy(over)
        return [first, second]

    def _is_a_range(self, given: Any) -> bool:
        """Say whether no key is there twice, as the keys are the numbers of a range."""
        match given.key, given.generators:
            case gast.Name(id=key), [gast.comprehension(
                target=gast.Name(id=name), iter=gast.Call(func=gast.Name(id="range")), ifs=[],
            )]:  # fmt: skip
                return key == name
            case _:
                return False

    def _one_by_one(self, node: Any, given: Any) -> list[Any]:
        """`{k: f(v) for k, v in pairs}`: a loop that puts one item in after another."""
        generator = given.generators[0]
        names = {n.id: self._new(n.id) for n in gast.walk(generator.target) if isinstance(n, gast.Name)}
        for part in (generator.target, *generator.ifs, given.key, given.value):
            for name in gast.walk(part):
                if isinstance(name, gast.Name):
                    name.id = names.get(name.id, name.id)
        begin = [self._statement(f"{name} = []", node) for name in (self.keys, self.values)]
        put = self._statement(f"{self.name}[0] = 1", node, given.key, given.value)
        body = [put]
        for test in reversed(generator.ifs):
            body = [gast.copy_location(gast.If(test=test, body=body, orelse=[]), node)]
        loop = gast.For(target=generator.target, iter=generator.iter, body=body, orelse=[], type_comment=None)
        return [*begin, *self._block([gast.copy_location(loop, node)])]

    def visit_For(self, node: Any) -> Any:
        """A loop over the dict, which may set the item of the key whose turn it is."""
        key = self._key_of_turns(node)
        inside = [n for stmt in node.body for n in gast.walk(stmt)]
        stores = [n for n in inside if not isinstance(getattr(n, "ctx", None), gast.Load)]
        own = [n for n in stores if isinstance(n, gast.Subscript) and getattr(n.value, "id", "") == self.name]
        anew = any(named_so(stores, name) for name in key.split(","))
        if not key or anew or not all(_names_of(n.slice) == key for n in own):
            return self.generic_visit(node)
        self.turns.append(key)
        made = self.generic_visit(node)
        self.turns.pop()
        if own and isinstance(node.iter, gast.Call):  # the items are set while they are gone through
            made.iter = self._parsed(f"zip({self.keys}, list({self.values}))", node.iter)
        return made

    def _key_of_turns(self, node: Any) -> str:
        match node.iter:
            case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr="items")) if name == self.name:
                parts = getattr(node.target, "elts", [])
                return _names_of(parts[0]) if len(parts) == 2 else ""
            case gast.Name(id=name) | gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr="keys")) if (
                name == self.name
            ):
                return _names_of(node.target)
            case _:
                return ""

    def _store(self, node: Any, key: Any) -> list[Any]:
        value, key = self.visit(node.value), self.visit(key)
        before: list[Any] = []
        if _names_of(key) in self.turns:
            return [self._statement(f"{self.values}[{self.keys}.index(0)] = 1", node, key, value)]
        if not isinstance(value, gast.Name | gast.Constant) and not (self.holds_lists and is_safe(value)):
            item = self._new("item")
            before.append(self._statement(f"{item} = 0", node, value))
            value = self._parsed(item, node)
        text = (
            f"if 0 in {self.keys}:\n    {self.values}[{self.keys}.index(0)] = 1\n"
            f"else:\n    {self.keys}.append(0)\n    {self.values}.append(1)"
        )
        return [*before, self._statement(text, node, key, value)]

    def visit_Subscript(self, node: Any) -> Any:
        """`d[k]`."""
        if getattr(node.value, "id", None) != self.name:
            return self.generic_visit(node)
        return self._parsed(f"{self.values}[{self.keys}.index(0)]", node, self.visit(node.slice))

    def visit_Name(self, node: Any) -> Any:
        """The dict itself is gone through, or asked: its keys are."""
        if node.id == self.name:
            node.id = self.keys
        return node

    def visit_Call(self, node: Any) -> Any:
        """`d.get(k, v)`, `d.setdefault(k, v)`, `d.items()`."""
        func = node.func
        if not isinstance(func, gast.Attribute) or getattr(func.value, "id", None) != self.name:
            return self.generic_visit(node)
        args = [self.visit(arg) for arg in node.args]
        match func.attr:
            case "keys":
                return self._parsed(self.keys, node)
            case "values":
                return self._parsed(self.values, node)
            case "items":
                return self._parsed(f"zip({self.keys}, {self.values})", node)
            case "get":
                text = f"{self.values}[{self.keys}.index(0)] if 0 in {self.keys} else 1"
                return self._parsed(text, node, args[0], args[1])
            case _ if id(node) in self.there:
                return self._parsed(f"{self.values}[{self.keys}.index(0)]", node, args[0])
            case _:
                text = f"if 0 not in {self.keys}:\n    {self.keys}.append(0)\n    {self.values}.append(1)"
                self.before.append(self._statement(text, node, args[0], args[1]))
                return self._parsed(f"{self.values}[{self.keys}.index(0)]", node, args[0])

    def _parsed(self, text: str, place: Any, key: Any = None, value: Any = None) -> Any:
        return statement(text, place, key, value).value

    def _statement(self, text: str, place: Any, key: Any = None, value: Any = None) -> Any:
        return statement(text, place, key, value)


def _names_of(key: Any) -> str:
    """Return the names that a key is made of, with commas between them; nothing where it is made of anything else."""
    parts = key.elts if isinstance(key, gast.Tuple) else [key]
    names = [getattr(part, "id", "") for part in parts]
    return ",".join(names) if all(names) else ""


def _constant(key: Any) -> Any:
    """Return the number, or the tuple of numbers, that a key of a display is; None of any other."""
    match key:
        case gast.Constant(value=int() | float() as value):
            return value
        case gast.UnaryOp(op=gast.USub(), operand=gast.Constant(value=int() | float() as value)):
            return -value
        case gast.Tuple(elts=parts):
            found = tuple(_constant(part) for part in parts)
            return None if None in found else found
        case _:
            return None


def _set(node: Any) -> Any:
    node.ctx = gast.Store()
    return node
