"""`deque`, `defaultdict` and `set` under a local name, written as the lists and the dict that they are.

h = deque(maxlen=3)                     h = deque()
h.append(v)             becomes         h.append(v)
if len(h) > 3:
h.popleft()

d = defaultdict(float)                  d = {}
d[k] += v               becomes         d[k] = d.setdefault(k, 0.0) + v

seen = set()                            seen = []
seen.add(k)             becomes         if k not in seen:
                                            seen.append(k)
"""

from __future__ import annotations

import collections
import copy
from dataclasses import replace
from typing import Any

import gast

from s2sad.frontend.respelled import unused
from s2sad.frontend.source import Source

_ADDING = {"append": "popleft", "appendleft": "pop"}
_STEPS = (*_ADDING, "add")
_ASKED = ("len", "sorted", "max", "min")
_OF_DEQUES = (*_ADDING, "popleft", "pop", "clear")
_OF_DICTS = ("items", "values", "keys", "get")
_READING = (
    "len", "sum", "list", "tuple", "max", "min", "sorted", "enumerate", "zip", "reversed", "array", "asarray", "mean",
    "std", "var", "median", "prod", "any", "all", "fsum",
)  # fmt: skip
_EMPTY: dict[Any, Any] = {
    float: lambda: gast.Constant(value=0.0, kind=None), int: lambda: gast.Constant(value=0, kind=None),
    list: lambda: gast.List(elts=[], ctx=gast.Load()), dict: lambda: gast.Dict(keys=[], values=[]),
}  # fmt: skip


def written_as_plain(source: Source) -> Source:
    """Return a function in which local deques of a most length, and dicts with a default, are lists and dicts."""
    if isinstance(source.node, gast.Lambda):
        return source
    made = {kind: _made(source, kind) for kind in (collections.deque, collections.defaultdict)}
    if not any(made.values()) and not any(_is_added_to(part) for part in gast.walk(source.node)):
        return source
    key = id(source.node)
    if key not in _WRITTEN:
        tree = copy.deepcopy(source.node)
        for name, call in _made(replace(source, node=tree), collections.deque).items():
            if _most(tree, call) is not None and _is_only_used(tree, name, _OF_DEQUES):
                most = _most(tree, call)
                tree = _Bounded(name, most, call, tree).visit(tree)
                call.bounded = True
        for name, call in _made(replace(source, node=tree), collections.defaultdict).items():
            default = _default(replace(source, node=tree), call)
            if default is not None and _is_only_used(tree, name, _OF_DICTS) and not _is_read_perhaps(tree, name):
                tree = _Filled(name, default, call).visit(tree)
        for name, call in _sets(replace(source, node=tree)).items():
            if _is_only_used(tree, name, ("add",), _ASKED):
                tree = _Distinct(name, call, tree).visit(tree)
        _WRITTEN[key] = (source.node, tree)
    return source.rewritten(_WRITTEN[key][1], source.lines, {})


_WRITTEN: dict[int, tuple[Any, Any]] = {}
"""What was written, with what it was written from: a text read twice has the same nodes."""


def _made(source: Source, kind: Any) -> dict[str, Any]:
    """Return the local names that are bound once, to a call of this class."""
    stores = [n.id for n in gast.walk(source.node) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)]
    found: dict[str, Any] = {}
    for part in gast.walk(source.node):
        match part:
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.Call(func=func) as call) | gast.AnnAssign(
                target=gast.Name(id=name), value=gast.Call(func=func) as call
            ) if stores.count(name) == 1 and meant(source, func) is kind:
                found[name] = call
            case _:
                pass
    return found


def _is_added_to(part: Any) -> bool:
    return isinstance(part, gast.Call) and isinstance(part.func, gast.Attribute) and part.func.attr == "add"


def _sets(source: Source) -> dict[str, Any]:
    """Return the local names that are bound once, to a set that is seen to hold nothing twice, and added to."""
    added = {part.func.value.id for part in gast.walk(source.node)
             if _is_added_to(part) and isinstance(part.func.value, gast.Name)}  # fmt: skip
    stores = [n.id for n in gast.walk(source.node) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)]
    found: dict[str, Any] = {}
    for part in gast.walk(source.node):
        match part:
            case gast.Assign(targets=[gast.Name(id=name)], value=value) | gast.AnnAssign(
                target=gast.Name(id=name), value=value
            ) if name in added and stores.count(name) == 1 and _distinct(source, value) is not None:
                found[name] = value
            case _:
                pass
    return found


def _distinct(source: Source, made: Any) -> list[Any] | None:
    """Return what a set is made of, where nothing is there twice."""
    match made:
        case gast.Set(elts=items):
            pass
        case gast.Call(func=gast.Name(id="set"), args=[], keywords=[]) if meant(source, made.func) is set:
            return []
        case gast.Call(
            func=gast.Name(id="set"), args=[gast.List(elts=items) | gast.Tuple(elts=items) | gast.Set(elts=items)],
            keywords=[],
        ) if meant(source, made.func) is set:
            pass
        case _:
            return None
    known = [item.value for item in items if isinstance(item, gast.Constant)]
    return list(items) if len(items) == 1 or len(set(known)) == len(items) else None


def meant(source: Source, func: Any) -> Any:
    """Return the object that the function of a call is, if it is one of a module."""
    match func:
        case gast.Name(id=name) if source.knows(name) and name not in source.local_names:
            return source.resolve(name)
        case gast.Name(id=name):
            return _imported(source, name)
        case gast.Attribute(value=gast.Name(id=name), attr=attr) if source.knows(name):
            return getattr(source.resolve(name), attr, None)
        case _:
            return None


def _imported(source: Source, name: str) -> Any:
    """Return what `from collections import …` inside the function gives a name that it binds only so."""
    imports = [n for n in gast.walk(source.node) if isinstance(n, gast.ImportFrom) and n.module == "collections"]
    found = [alias.name for n in imports for alias in n.names if (alias.asname or alias.name) == name]
    stores = {n.id for n in gast.walk(source.node) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    return getattr(collections, found[0], None) if len(found) == 1 and name not in stores else None


def _most(tree: Any, call: Any) -> Any:
    """Return the greatest length of a deque: a number, a name that is bound once at most, or what is to be named."""
    named: list[Any] = [keyword.value for keyword in call.keywords if keyword.arg == "maxlen"]
    given = call.args[1] if len(call.args) > 1 else (named or [None])[0]
    if isinstance(given, gast.Constant):
        return given if given.value else None
    return given


def _is_settled(tree: Any, most: Any) -> bool:
    """Say whether the greatest length may be written again wherever it is needed."""
    return isinstance(most, gast.Constant) or (isinstance(most, gast.Name) and not _is_stored_twice(tree, most.id))


def _is_stored_twice(tree: Any, name: str) -> bool:
    """Say whether a name gets more than one value: as a parameter, in a statement, in a loop."""
    names = [n for n in gast.walk(tree) if isinstance(n, gast.Name) and n.id == name]
    stores = [n for n in names if not isinstance(n.ctx, gast.Load)]
    loops = [n for n in gast.walk(tree) if isinstance(n, gast.For | gast.While)]
    return len(stores) > 1 or any(part in stores for loop in loops for part in gast.walk(loop))


def _is_short(items: Any, most: Any) -> bool:
    """Say whether a text shows that a deque begins with no more than it may hold: `[0.0] * n`, `[a, b]`."""
    match items:
        case gast.BinOp(left=gast.List(elts=[_]), op=gast.Mult(), right=right):
            return gast.dump(right) == gast.dump(most)
        case gast.List(elts=elts) | gast.Tuple(elts=elts):
            return isinstance(most, gast.Constant) and len(elts) <= most.value
        case _:
            return False


def _default(source: Source, call: Any) -> Any:
    """Return the expression that a missing key stands for."""
    match call:
        case gast.Call(args=[gast.Name(id=name)], keywords=[]) if source.knows(name):
            made = _EMPTY.get(source.resolve(name))
            return None if made is None else made()
        case gast.Call(args=[gast.Lambda(body=body) as made], keywords=[]) if _is_settled_text(source, made):
            return body
        case _:
            return None


def _is_settled_text(source: Source, made: Any) -> bool:
    """Say whether what a function of no parameters returns may be written where it is called."""
    own = [part for part in gast.walk(made.body) if isinstance(part, gast.Lambda | gast.comprehension | gast.NamedExpr)]
    names = {part.id for part in gast.walk(made.body) if isinstance(part, gast.Name)}
    return not own and not _parameters(made) and not any(_is_stored_twice(source.node, name) for name in names)


def _parameters(made: Any) -> list[Any]:
    """Return the parameters of a function."""
    given = made.args
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def _is_only_used(tree: Any, name: str, methods: tuple[str, ...], reading: tuple[str, ...] = _READING) -> bool:
    """Say whether a name is only used in ways that are followed here: it has no second name, and nobody gets it."""
    allowed: set[int] = set()
    steps = {id(part.value) for part in gast.walk(tree) if isinstance(part, gast.Expr)}
    for part in gast.walk(tree):
        match part:
            case gast.Call(func=gast.Attribute(value=gast.Name() as place, attr=attr)) if attr in methods:
                allowed.update([id(place)] if attr not in _STEPS or id(part) in steps else [])
            case gast.Call(func=func) if getattr(func, "id", getattr(func, "attr", "")) in reading:
                allowed.update(id(arg) for arg in part.args)
            case gast.Subscript(value=place) | gast.For(iter=place) | gast.comprehension(iter=place) if (
                reading is _READING  # a set has no order
            ):
                allowed.add(id(place))
            case gast.While(test=place) | gast.If(test=place) | gast.UnaryOp(operand=place):
                allowed.add(id(place))
            case gast.Compare(ops=[gast.In() | gast.NotIn()], comparators=[place]):
                allowed.add(id(place))
            case _:
                pass
    loads = [n for n in gast.walk(tree) if isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Load)]
    return all(id(n) in allowed for n in loads)


def _is_read_perhaps(tree: Any, name: str) -> bool:
    """Say whether a part of an expression that is not always computed reads a key, which makes the key."""
    perhaps = [part for part in gast.walk(tree) if isinstance(part, gast.IfExp | gast.BoolOp | gast.Lambda)]
    parts = [part for whole in perhaps for part in gast.walk(whole)]
    return any(isinstance(part, gast.Subscript) and getattr(part.value, "id", "") == name for part in parts)


def _new_name(tree: Any, name: str) -> str:
    """Return the name, with a line behind it for each time that something has it already."""
    return unused(name, {part.id for part in gast.walk(tree) if isinstance(part, gast.Name)})


class _Bounded(gast.NodeTransformer):
    """Takes out of a deque what is too much, behind each statement that puts something in."""

    def __init__(self, name: str, most: Any, call: Any, tree: Any) -> None:
        self.name, self.given, self.call, self.settled = name, most, call, _is_settled(tree, most)
        self.whole = _new_name(tree, f"first_{name}")
        own = gast.Name(id=_new_name(tree, f"most_{name}"), ctx=gast.Load(), annotation=None, type_comment=None)
        self.most = most if self.settled else own

    def visit_Expr(self, node: Any) -> Any:
        """Follow `h.append(v)`."""
        match node.value:
            case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr=("append" | "appendleft") as attr)) if (
                name == self.name
            ):
                return [node, self._cut("if", _ADDING[attr], node)]
            case _:
                return node

    def visit_Assign(self, node: Any) -> Any:
        """Follow what the deque begins with."""
        if node.value is not self.call:
            return node
        named = [] if self.settled else [self._named(node)]
        if not self.call.args or _is_short(self.call.args[0], self.given):
            return [*named, node]
        return [*named, *self._last(node)]

    visit_AnnAssign = visit_Assign

    def _named(self, place: Any) -> Any:
        """Return the statement that keeps the greatest length, which may be another number later."""
        made = gast.parse(f"{self.most.id} = 0").body[0]
        made.value = copy.deepcopy(self.given)
        for part in gast.walk(made):
            gast.copy_location(part, place)
        return made

    def _last(self, node: Any) -> list[Any]:
        """Return the statements that begin with the last items of what is given: `deque(x, maxlen=3)`."""
        whole = self.whole
        first, last = gast.parse(f"{whole} = list(0)\n{self.name} = list({whole}[max(len({whole}) - 0, 0):])").body
        first.value.args = [self.call.args[0]]
        last.value.args[0].slice.lower.args[0].right = copy.deepcopy(self.most)
        for stmt in (first, last):
            for part in gast.walk(stmt):
                if not hasattr(part, "lineno"):
                    gast.copy_location(part, node)
                part.lineno, part.col_offset = node.lineno, node.col_offset
                part.end_lineno, part.end_col_offset = node.end_lineno, node.end_col_offset
        return [first, last]

    def _cut(self, word: str, method: str, place: Any) -> Any:
        """Return the statement that takes out what is too much."""
        cut = gast.parse(f"{word} len({self.name}) > 0:\n    {self.name}.{method}()").body[0]
        cut.test.comparators = [copy.deepcopy(self.most)]
        for part in gast.walk(cut):
            gast.copy_location(part, place)
        return cut


class _Filled(gast.NodeTransformer):
    """Gives a dict its default where it is read by a key."""

    def __init__(self, name: str, default: Any, call: Any) -> None:
        self.name, self.default, self.call = name, default, call

    def visit_Call(self, node: Any) -> Any:
        """Begin with an empty dict."""
        if node is self.call:
            return gast.copy_location(gast.Dict(keys=[], values=[]), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: Any) -> Any:
        """`d[k]` where it is read."""
        node = self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load) or getattr(node.value, "id", "") != self.name:
            return node
        func = gast.Attribute(value=node.value, attr="setdefault", ctx=gast.Load())
        made = gast.Call(func=func, args=[node.slice, copy.deepcopy(self.default)], keywords=[])
        for part in gast.walk(made):
            if not hasattr(part, "lineno"):
                gast.copy_location(part, node)
        return gast.copy_location(made, node)

    def visit_AugAssign(self, node: Any) -> Any:
        """`d[k] += v`."""
        node = self.generic_visit(node)
        target = node.target
        if not isinstance(target, gast.Subscript) or getattr(target.value, "id", "") != self.name:
            return node
        now = copy.deepcopy(target)
        now.value.ctx = now.ctx = gast.Load()
        if not isinstance(self.default, gast.Constant):  # it is changed in place, under every name that it has
            made = gast.copy_location(gast.Expr(value=self.visit_Subscript(now)), node)
            return [made, node]
        value = gast.copy_location(gast.BinOp(left=self.visit_Subscript(now), op=node.op, right=node.value), node)
        return gast.copy_location(gast.Assign(targets=[target], value=value, type_comment=None), node)


class _Distinct(gast.NodeTransformer):
    """Puts into a list what it does not hold yet."""

    def __init__(self, name: str, made: Any, tree: Any) -> None:
        self.name, self.made = name, made
        self.item = _new_name(tree, f"{name}_item")

    def visit_Assign(self, node: Any) -> Any:
        """Begin with a list."""
        if node.value is not self.made:
            return node
        items = getattr(self.made, "elts", None)
        if items is None:
            items = self.made.args[0].elts if self.made.args else []
        node.value = gast.copy_location(gast.List(elts=list(items), ctx=gast.Load()), self.made)
        return node

    visit_AnnAssign = visit_Assign

    def visit_Expr(self, node: Any) -> Any:
        """Follow `seen.add(v)`."""
        match node.value:
            case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr="add"), args=[item], keywords=[]) if (
                name == self.name
            ):
                pass
            case _:
                return node
        own = isinstance(item, gast.Name | gast.Constant)
        text = f"{self.item} = 0\nif {self.item} not in {name}:\n    {name}.append({self.item})"
        first, keep = gast.parse(text).body
        first.value = item
        if own:
            keep.test.left, keep.body[0].value.args = item, [copy.deepcopy(item)]
        for stmt in (first, keep):
            for part in gast.walk(stmt):
                gast.copy_location(part, node)
        return [keep] if own else [first, keep]
