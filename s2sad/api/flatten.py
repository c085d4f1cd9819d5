"""Code generated once per structure: checks and flattens a call, and puts its results together.

Walking a container by hand-written generic code costs microseconds; straight-line code with the
structure spelled out costs a tenth of that.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.structure import NAMESPACE, Custom, Tree, class_data, hideable, rebuild, static_key
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Sym

Match = Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
Finish = Callable[[Any, tuple[Any, ...]], Any]

may_share = getattr(np.may_share_memory, "_implementation", np.may_share_memory)
"""Compares addresses; without NumPy's question to the arguments' classes, which takes longer than the answer."""
_FEW = 32  # pairs whose addresses are compared one by one
PAIRS = 300  # beyond as many pairs, addresses are sorted instead


Form = Callable[[list[str]], str]
"""From the texts of the results to the text of what is returned."""


class Writer:
    """Collects lines of one generated function, and the objects that they name."""

    def __init__(self, header: str, missed: str = "None", **names: Any) -> None:
        """Begin a function; `missed` is what it returns for a call of another structure."""
        self.lines = [header]
        self.missed = f"return {missed}"
        self.names: dict[str, Any] = names
        self.lengths: dict[str, tuple[str, int]] = {}
        """By the name of a length: where it is read, and by how much it is shorter there."""
        self._count = 0

    def constant(self, value: Any) -> str:
        """Return a name that stands for `value`."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def local(self) -> str:
        """Return a new local name."""
        self._count += 1
        return f"v{self._count}"

    def line(self, text: str) -> None:
        """Add a line of the body."""
        self.lines.append("    " + text)

    def build(self, name: str) -> Any:
        """Execute the text and return the function `name`."""
        exec(_code("\n".join(self.lines) + "\n", name), self.names)
        return self.names[name]


@functools.lru_cache(maxsize=1024)
def _code(text: str, name: str) -> types.CodeType:
    """Compile a text; functions made anew at every call have the same one each time."""
    return compile(text, f"<s2sad {name}>", "exec")


def matcher(trees: Sequence[Tree]) -> Match:
    """Generate `match(values)`: the leaves when the values have this structure, else None.

    Classes, layout, dtype, rank and the lengths that are known are compared, static values by value.
    """
    writer = Writer("def match(values):")
    writer.line(f"return {in_tuple(write_match(writer, trees))}")
    return writer.build("match")


def write_match(writer: Writer, trees: Sequence[Tree | None], values: str = "values") -> list[str]:
    """Write the checks of a tuple of values, and return the expressions of their leaves; None matches None."""
    leaves: list[str] = []
    writer.line(f"if len({values}) != {len(trees)}: {writer.missed}")
    locals_ = [writer.local() for _ in trees]
    if locals_:
        writer.line(f"{', '.join(locals_)}, = {values}")
    for tree, local in zip(trees, locals_, strict=True):
        if tree is None:
            writer.line(f"if {local} is not None: {writer.missed}")
            continue
        writer.line(f"if type({local}) is not {writer.constant(tree.cls)}: {writer.missed}")
        _match(writer, tree, local, leaves)
    return leaves


def in_tuple(texts: Sequence[str]) -> str:
    """Write a tuple of expressions."""
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _match(writer: Writer, tree: Tree, local: str, leaves: list[str]) -> None:
    """Check what stands below a value whose class is known to be right."""
    if isinstance(tree.type, Static):
        _match_static(writer, tree, local)
    elif isinstance(tree.type, Struct):
        _match_container(writer, tree, tree.type, local, leaves)
    elif issubclass(tree.cls, np.ndarray):
        _match_array(writer, tree, local)
        leaves.append(_entry_form(writer, tree, local))
    else:
        if isinstance(tree.type, Scalar) and isinstance(tree.type.value, Sym):
            _match_tests(writer, [_is_other(writer, tree.type.value, local)])
        leaves.append(local)


def _match_static(writer: Writer, tree: Tree, local: str) -> None:
    value = writer.constant(tree.value)
    if tree.value is None:
        return
    if isinstance(tree.value, bool | type) or type(tree.value) is type(matcher):
        writer.line(f"if {local} is not {value}: {writer.missed}")
    elif isinstance(tree.value, str):
        writer.line(f"if {local} != {value}: {writer.missed}")
    else:
        key, now = writer.constant(static_key(tree.value)), writer.constant(static_key)
        writer.line(f"if {now}({local}) != {key}: {writer.missed}")


def _match_array(writer: Writer, tree: Tree, local: str) -> None:
    dtype = writer.constant(tree.value)
    writer.line(f"if {local}.dtype is not {dtype} and {local}.dtype != {dtype}: {writer.missed}")
    if not isinstance(tree.type, Array):
        writer.line(f"if {local}.ndim: {writer.missed}")
        return
    dims = tree.type.dims
    shape, flags = writer.local(), writer.local()
    writer.line(f"{shape} = {local}.shape")
    tests = [f"len({shape}) != {len(dims)}"]
    tests += [f"{shape}[{axis}] != {dim}" if isinstance(dim, int) else f"{shape}[{axis}] == 1"
              for axis, dim in enumerate(dims)]  # fmt: skip
    tests += [_is_other(writer, dim, f"{shape}[{axis}]") for axis, dim in enumerate(dims) if isinstance(dim, Sym)]
    _match_tests(writer, tests)
    writer.line(f"{flags} = {local}.flags")
    wrong = {
        "C": f"not {flags}.c_contiguous",
        "F": f"{flags}.c_contiguous or not {flags}.f_contiguous",
        "A": f"{flags}.c_contiguous or {flags}.f_contiguous",
    }[tree.type.layout]
    writer.line(f"if {wrong}: {writer.missed}")


def _is_other(writer: Writer, dim: Sym, here: str) -> str:
    """Write the test that a length is not what another of its name says, which is met first; empty for the first."""
    place, less = writer.lengths.setdefault(dim.name, (here, dim.minus))
    offset = f" + {less - dim.minus}" if less != dim.minus else ""
    return f"{here} != {place}{offset}" if place != here else ""


def _match_tests(writer: Writer, tests: list[str]) -> None:
    if any(tests):
        writer.line(f"if {' or '.join(filter(None, tests))}: {writer.missed}")


def _entry_form(writer: Writer, tree: Tree, local: str) -> str:
    """The expression by which an array is passed on: native byte order, 0-d arrays as scalars."""
    text = local
    if tree.cls is not np.ndarray:
        text = f"{writer.constant(np.asarray)}({text})"
    if not tree.value.isnative:
        text = f"{text}.astype({writer.constant(tree.value.newbyteorder('='))})"
    return text if isinstance(tree.type, Array) else f"{text}[()]"


def _match_container(
    writer: Writer, tree: Tree, kind: Struct, local: str, leaves: list[str]
) -> None:
    parts = local
    if isinstance(tree.value, Custom):
        parts = writer.local()
        split, key = writer.constant(_custom_children), writer.constant(static_key(tree.value))
        writer.line(f"{parts} = {split}({local}, {key}, {len(kind.keys)})")
        writer.line(f"if {parts} is None: {writer.missed}")
    elif kind.kind in ("tuple", "list"):
        writer.line(f"if len({local}) != {len(kind.keys)}: {writer.missed}")
    elif kind.kind == "dict":
        writer.line(f"if tuple({local}) != {writer.constant(kind.keys)}: {writer.missed}")
    if not isinstance(kind.kind, str) and not isinstance(tree.value, Custom):
        _match_class(writer, tree.cls, local)
    for position, (key, child) in enumerate(zip(kind.keys, tree.children, strict=True)):
        item = writer.local()
        writer.line(f"{item} = {_access(writer, tree, kind, parts, position, key)}")
        writer.line(f"if type({item}) is not {writer.constant(child.cls)}: {writer.missed}")
        _match(writer, child, item, leaves)


def _match_class(writer: Writer, cls: type, local: str) -> None:
    """Check that a class holds what it held for all its objects, and that this one has nothing in its place."""
    hidden = hideable(cls) if dataclasses.is_dataclass(cls) else ()
    if hidden:
        writer.line(f"if not {writer.constant(hidden)}.isdisjoint({local}.__dict__): {writer.missed}")
    for name, value in class_data(cls):
        kind, now = writer.constant(cls), writer.constant(value)
        writer.line(f"if {kind}.{name} is not {now}: {writer.missed}")


def _access(writer: Writer, tree: Tree, kind: Struct, parts: str, position: int, key: Any) -> str:
    if kind.kind == "dict":
        literal = repr(key) if isinstance(key, str) else writer.constant(key)
        return f"{parts}[{literal}]"
    positional = isinstance(kind.kind, str) or isinstance(tree.value, Custom)
    return f"{parts}[{position}]" if positional or issubclass(tree.cls, tuple) else f"{parts}.{key}"


def _custom_children(value: Any, key: Any, count: int) -> Sequence[Any] | None:
    parts: Any = sys.modules["optree"].tree_flatten_one_level(
        value, none_is_leaf=True, namespace=NAMESPACE
    )
    children: Sequence[Any] = parts[0]
    return children if len(children) == count and static_key(parts[1]) == key else None


@dataclass(frozen=True, slots=True)
class Result:
    """One result: its structure, and which of the entry's flat values each leaf is.

    A leaf that is not listed becomes None; static values are put back if `static`, else None too.
    """

    tree: Tree
    where: Mapping[Tree, int]
    static: bool = False


def only(texts: list[str]) -> str:
    """Write the only result as it is, instead of a tuple of results."""
    return texts[0]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is returned for the flat values of one call of an emitted entry.

    Attributes:
        results: the results, in order.
        count: how many flat values the entry returns; 1 is returned bare, without a tuple.
        form: puts the texts of the results together; a tuple unless it is given.
        fresh: which flat values surely own their memory.
    """

    results: Sequence[Result]
    count: int
    form: Form = in_tuple
    fresh: frozenset[int] = frozenset()

    @property
    def flat(self) -> list[str]:
        """The names of the flat values."""
        return ["flat"] if self.count == 1 else [f"r{i}" for i in range(self.count)]

    def write(self, writer: Writer, arrays: Sequence[str]) -> list[str]:
        """Write how `flat` becomes the results, and return their texts.

        No result may share memory with the arguments in `arrays`.
        """
        if self.count > 1:
            writer.line(f"{', '.join(self.flat)}, = flat")
        used = {index: leaf for result in self.results for leaf, index in result.where.items()}
        _convert(writer, self.flat, used, arrays, self.fresh)
        return [_build(writer, result.tree, self.flat, result) for result in self.results]


def finisher(outcome: Outcome, arrays: Sequence[int]) -> Finish:
    """Generate `finish(flat, leaves)`: the structured results of one call of an emitted entry.

    `arrays` says which of the entry's arguments are arrays, with which no result may share memory.
    """
    writer = Writer("def finish(flat, leaves):")
    results = outcome.write(writer, [f"leaves[{i}]" for i in arrays])
    writer.line(f"return {outcome.form(results)}")
    return writer.build("finish")


def _convert(
    writer: Writer, flat: list[str], used: dict[int, Tree], arrays: Sequence[str], fresh: frozenset[int]
) -> None:
    """Give every leaf its class and dtype, then memory of its own."""
    own = [index for index in sorted(used) if issubclass(used[index].cls, np.ndarray)]
    for index in sorted(used):
        tree, name = used[index], flat[index]
        if isinstance(tree.type, ListOf):
            writer.line(f"{name} = {writer.constant(_copy_items)}({name})")
        elif index not in own:
            kind = writer.constant(tree.cls)
            writer.line(f"if type({name}) is not {kind}: {name} = {kind}({name})")
        elif isinstance(tree.type, Array):
            dtype, array = writer.constant(tree.value), writer.constant(np.ndarray)
            convert = f"{writer.constant(np.asarray)}({name}, {dtype})"
            writer.line(
                f"if type({name}) is not {array} or {name}.dtype is not {dtype}: {name} = {convert}"
            )
        else:
            writer.line(
                f"{name} = {writer.constant(np.array)}({name}, {writer.constant(tree.value)})"
            )
    shaped = [index for index in own if isinstance(used[index].type, Array) and index not in fresh]
    if len(shaped) * (len(shaped) + len(arrays)) > PAIRS:
        _detach_many(writer, [flat[i] for i in shaped], arrays)
        return
    share = writer.constant(may_share)
    for position, index in enumerate(shaped):
        others = [*arrays, *(flat[i] for i in shaped[:position])]
        tests = " or ".join(f"{share}({flat[index]}, {other})" for other in others)
        if tests:
            writer.line(f"if {tests}: {flat[index]} = {flat[index]}.copy()")


def _detach_many(writer: Writer, names: list[str], arrays: Sequence[str]) -> None:
    writer.line(f"{', '.join(names)}, = {writer.constant(detach)}([{', '.join(names)}], [{', '.join(arrays)}])")


def detach(
    results: list[np.ndarray[Any, Any]], inputs: Sequence[np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """Copy those results that may share memory with an input or with an earlier result."""
    if len(results) * (len(results) + len(inputs)) <= _FEW:
        return [result.copy() if _meets(result, inputs, results[:at]) else result for at, result in enumerate(results)]
    spans = [(*np.lib.array_utils.byte_bounds(a), -1) for a in inputs if a.size]
    spans += [(*np.lib.array_utils.byte_bounds(a), i) for i, a in enumerate(results) if a.size]
    spans.sort()
    copied = list(results)
    end, holder = -1, -1
    for low, high, index in spans:
        if low < end:
            for shared in {index, holder} - {-1}:
                copied[shared] = results[shared].copy()
        if high > end:
            end, holder = high, index
    return copied


def _meets(result: Any, inputs: Sequence[Any], earlier: list[Any]) -> bool:
    for other in inputs:
        if may_share(result, other):
            return True
    for other in earlier:  # loops, not any(): this is asked at every call of a pullback
        if may_share(result, other):
            return True
    return False


def _copy_items(items: Any) -> list[Any]:
    return [item.copy() if isinstance(item, np.ndarray) else item for item in items]


def _build(writer: Writer, tree: Tree, flat: list[str], result: Result) -> str:
    """The expression that puts a structure together from the flat values."""
    if not isinstance(tree.type, Struct):
        if tree in result.where:
            return flat[result.where[tree]]
        return writer.constant(tree.value) if result.static and not tree.is_leaf else "None"
    parts = [_build(writer, child, flat, result) for child in tree.children]
    if tree.cls is tuple:
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if tree.cls is list:
        return f"[{', '.join(parts)}]"
    if tree.cls is dict:
        named = dict(zip(tree.type.keys, parts, strict=True))
        return "{" + ", ".join(f"{writer.constant(key)}: {named[key]}" for key in tree.type.keys) + "}"
    items = f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    return f"{writer.constant(rebuild)}({writer.constant(tree)}, {items})"
