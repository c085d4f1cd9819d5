"""The types of a function's parameters where nobody gave them: annotations, defaults, use."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.notation import parse, write
from s2sad.api.reading import Read
from s2sad.api.structure import describe
from s2sad.api.summed import summed
from s2sad.errors import ArgumentError
from s2sad.frontend.source import dedented
from s2sad.ir.typeof import typeof
from s2sad.ir.types import Array, Scalar, Static, Struct, Sym, Type

_PYTHON = {"float": "float64", "int": "int64", "complex": "complex128"}
_ARRAYS = frozenset({"ndarray", "NDArray", "ArrayLike"})
_NUMBERS = frozenset({"float64", "float32", "complex128", "complex64", "int64", "int32"})
_WHOLE = frozenset(
    "sum mean prod max min argmax argmin std var cumsum cumprod dot vdot inner outer diff sort "
    "argsort median norm roll flip concatenate stack trapezoid average linspace ravel reshape "
    "zeros_like ones_like empty_like full_like ascontiguousarray any all count_nonzero".split()
)
_ATTRIBUTES = frozenset(
    "shape size ndim T copy sum mean prod max min argmax argmin std var dot ravel reshape flatten "
    "cumsum cumprod dtype astype fill".split()
)
_MATRIX = frozenset(
    "solve inv det slogdet cholesky eig eigh eigvals eigvalsh svd qr pinv lstsq cond matrix_power trace".split()
)
_ITERATES = frozenset({"len", "enumerate", "zip", "reversed", "sum", "max", "min", "sorted"})


@dataclass(frozen=True, slots=True)
class Guess:
    """The type of one parameter, and where it comes from.

    Attributes:
        name: the parameter.
        type: its type; no length is taken to differ from 1.
        origin: "given", "called" (with an argument), "annotated", "dtype" (annotated, its rank guessed),
            "default" or "use".
    """

    name: str
    type: Type
    origin: str

    def text(self) -> str:
        """Write the type as on the command line."""
        return write(self.type)


def guesses(read: Read, types: str | None, values: Sequence[Any] | None = None) -> tuple[Guess, ...]:
    """Return a type for each parameter: as given, else as far as the text tells.

    `values` are arguments, one for each parameter; where what the text tells does not fit, theirs is the type.

    Raises:
        ArgumentError: `types` is malformed, or not one per parameter; an argument cannot be followed.
    """
    names = _parameters(read.node)
    if types is not None:
        given = parse(types, names)
        return tuple(Guess(n, _general(k), "given") for n, k in zip(names, given, strict=True))
    uses = _Uses(read)
    uses.sum_over([*names, *(a.arg for a in read.node.args.kwonlyargs)])
    found = [_guess(read, name, uses) for name in names]
    if read.node.args.vararg is not None:
        found.append(Guess(read.node.args.vararg.arg, Struct("tuple", (), ()), "use"))
    keywords = [_guess(read, a.arg, uses) for a in read.node.args.kwonlyargs]
    found += keywords
    if read.node.args.kwarg is not None:
        found.append(Guess(read.node.args.kwarg.arg, Struct("dict", (), ()), "use"))
    if values is not None:
        found = [_corrected(guess, value) for guess, value in zip(found, values, strict=True)]
    return tuple(found)


def _corrected(guess: Guess, value: Any) -> Guess:
    """Return the guess, or the argument's own type where the guess does not fit."""
    kind = _general(describe(value, guess.name).type)
    return guess if _fits(guess.type, kind) else Guess(guess.name, kind, "called")


def _fits(guess: Type, kind: Type) -> bool:
    match guess, kind:
        case Scalar(dtype), Scalar(given):
            return given == dtype or (np.dtype(given).kind in "biu" and np.dtype(dtype).kind == "f")
        case Array(dtype, dims), Array(given, others):
            return dtype == given and len(dims) == len(others)
        case Struct(form, keys, items), Struct(other, names, parts):
            return (form, keys) == (other, names) and all(map(_fits, items, parts))
        case Static(value), Static(other):
            return value is other or (type(value) is type(other) and value == other)
        case _:
            return False


def guessed(fun: Any) -> tuple[Type, ...] | None:
    """Return the types that the text of a function suggests; None where it has no text."""
    fun = getattr(fun, "py_func", fun)
    node = _parsed(fun)
    if node is None or node.args.kwarg is not None:
        return None
    functions = {node.name: node}
    _add_helpers(fun, node, functions)
    return tuple(guess.type for guess in guesses(Read(fun, node, functions), None))


def _parsed(fun: Any) -> ast.FunctionDef | None:
    try:
        node = ast.parse(dedented(inspect.getsource(fun))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def _add_helpers(fun: Any, node: ast.FunctionDef, found: dict[str, ast.FunctionDef]) -> None:
    """Add the functions that one calls by a name of its own module, with those that they call."""
    for part in ast.walk(node):
        name = part.func.id if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) else None
        helper: Any = fun.__globals__.get(name) if name is not None and name not in found else None
        helper = getattr(helper, "py_func", helper)
        read = _parsed(helper) if inspect.isfunction(helper) else None
        if name is not None and read is not None:
            found[name] = read
            _add_helpers(helper, read, found)


def _parameters(node: ast.FunctionDef) -> list[str]:
    return [a.arg for a in (*node.args.posonlyargs, *node.args.args)]


def _guess(read: Read, name: str, uses: _Uses) -> Guess:
    rank, integer = uses.of(read.node.name, name)
    spec = read.node.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    note = next(a.annotation for a in every if a.arg == name)
    kind = _annotated(note, name, rank) if note is not None else None
    if kind is not None:
        return Guess(name, kind, "dtype" if _leaves_rank_open(note) else "annotated")
    if note is not None and (record := _record(read, note, name, uses)) is not None:
        return Guess(name, record, "annotated")
    default = _default(read, name)
    if default is not None and not rank:
        return Guess(name, default, "default")
    if rank:
        return Guess(name, _array("float64", rank, name), "use")
    return Guess(name, Scalar("int64" if integer else "float64", weak=True), "use")


def _array(dtype: str, rank: int, name: str) -> Array:
    return Array(dtype, tuple(Sym(f"{name}.{axis}") for axis in range(rank)), "A")


def _general(kind: Type) -> Type:
    """Return the type with lengths that may be 1: the text has to hold for every shape."""
    if isinstance(kind, Struct):
        return Struct(kind.kind, kind.keys, tuple(map(_general, kind.items)))
    if not isinstance(kind, Array):
        return kind
    dims = tuple(Sym(d.name) if isinstance(d, Sym) else d for d in kind.dims)
    return Array(kind.dtype, dims, kind.layout)


def _annotated(note: ast.expr, name: str, rank: int) -> Type | None:
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        try:
            return _general(parse(note.value, (name,))[0])
        except ArgumentError:
            try:
                return _annotated(ast.parse(note.value, mode="eval").body, name, rank)
            except SyntaxError:
                return None
    words = [node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
             for node in ast.walk(note)]  # fmt: skip
    dtype = next((word for word in words if word in _NUMBERS), None)
    if any(word in _ARRAYS for word in words):
        return _array(dtype or "float64", max(rank, 1), name)
    first = words[0]
    if first in _PYTHON:
        return Scalar(_PYTHON[first], weak=True)
    if isinstance(note, ast.Subscript) and dtype is not None:
        try:
            return _general(parse(ast.unparse(note).rpartition(".")[2], (name,))[0])
        except ArgumentError:
            return None
    return Scalar(first) if first in _NUMBERS else None


def _leaves_rank_open(note: ast.expr | None) -> bool:
    """Say whether an annotation is of an array, and not of its rank: `NDArray[np.float64]`."""
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        return any(word in note.value for word in _ARRAYS)
    return note is not None and any(
        getattr(node, "attr", getattr(node, "id", "")) in _ARRAYS for node in ast.walk(note)
    )


def _record(read: Read, note: ast.expr, name: str, uses: _Uses) -> Struct | None:
    """Return the type of an instance of a named tuple or dataclass of the file; None for other annotations."""
    text = note.value if isinstance(note, ast.Constant) else getattr(note, "id", None)
    fun: Any = read.fun
    cls = fun.__globals__.get(text) if isinstance(text, str) else None
    if not isinstance(cls, type) or not (hasattr(cls, "_fields") or dataclasses.is_dataclass(cls)):
        return None
    given: Any = getattr(cls, "_fields", None) or tuple(field.name for field in dataclasses.fields(cls))
    notes = inspect.get_annotations(cls)
    ranks = {key: uses.of(read.node.name, f"{name}.{key}")[0] for key in given}
    items = tuple(_field(notes.get(key), f"{name}_{key}", ranks[key]) for key in given)
    return Struct(cls, tuple(given), items)


def _field(note: Any, name: str, rank: int) -> Type:
    text = note if isinstance(note, str) else getattr(note, "__forward_arg__", getattr(note, "__name__", ""))
    try:
        kind = _annotated(ast.parse(text, mode="eval").body, name, rank) if text else None
    except SyntaxError:
        kind = None
    return kind or (_array("float64", rank, name) if rank else Scalar("float64", weak=True))


def _default(read: Read, name: str) -> Type | None:
    """Return the type of a default that is a number; the value itself for any other."""
    positional = _parameters(read.node)
    fun: Any = read.fun
    defaults: tuple[Any, ...] = fun.__defaults__ or ()
    values = dict(zip(reversed(positional), reversed(defaults), strict=False)) | (fun.__kwdefaults__ or {})
    if name not in values:
        return None
    kind = typeof(values[name], name)
    return kind if isinstance(kind, Scalar | Static) else None


class _Uses:
    """How the functions of one file use their parameters."""

    def __init__(self, read: Read) -> None:
        self._functions = read.functions
        self._known: dict[tuple[str, str], tuple[int, bool]] = {}
        self._main = read.node

    def sum_over(self, names: Sequence[str]) -> None:
        """Take for arrays those of the main function's parameters that something is summed over."""
        node = self._main
        notes = {a.arg: a.annotation for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        arrays = {name for name in names if self.of(node.name, name)[0] or _leaves_rank_open(notes[name])}
        arrays |= {name for name in names if "[" in ast.unparse(notes[name] or ast.Constant(0))}
        defaulted = len(node.args.defaults)
        plain = [name for name in names if notes[name] is None or name in arrays]
        plain = [name for name in plain if name not in _parameters(node)[len(_parameters(node)) - defaulted :]]
        for name in summed(node, plain, arrays):
            self._known[node.name, name] = 1, False

    def of(self, function: str, name: str) -> tuple[int, bool]:
        """Return the rank that a parameter seems to have, and whether it seems to be an integer."""
        key = function, name
        if key not in self._known:
            self._known[key] = 0, False  # a function that calls itself adds nothing
            self._known[key] = self._look(self._functions[function], name)
        return self._known[key]

    def _look(
        self, node: ast.FunctionDef, name: str, within: frozenset[str] = frozenset()
    ) -> tuple[int, bool]:
        """Look at all uses of a name; `within` are those of which it holds the items."""
        rank, integer = 0, False
        for part in ast.walk(node):
            found, whole = self._use(part, name)
            if isinstance(part, ast.For | ast.comprehension):
                for item in _items_of(part, name):
                    if item not in within | {name}:
                        found = max(found, 1 + self._look(node, item, within | {name})[0])
            rank, integer = max(rank, found), integer or whole
        return rank, integer

    def _use(self, node: ast.AST, name: str) -> tuple[int, bool]:
        match node:
            case ast.Subscript(value, index):
                if _is(value, name):
                    return _axes(index), False
                if isinstance(value, ast.Subscript) and _is(value.value, name):
                    return _axes(value.slice) + _axes(index), False
                if isinstance(value, ast.Attribute) and _is(value.value, name):
                    constant = getattr(index, "value", 0) if value.attr == "shape" else 0
                    return 1 + max(constant, 0) if isinstance(constant, int) else 1, False
                return 0, _is(index, name)
            case ast.Attribute(value, "dot") if _is(value, name):
                return _matrix(name), False
            case ast.Attribute(value, attribute) if _is(value, name):
                return (2 if attribute == "T" else int(attribute in _ATTRIBUTES)), False
            case ast.Assign([ast.Tuple(targets)], ast.Attribute(value, "shape")):
                return (len(targets) if _is(value, name) else 0), False
            case ast.For(_, iterated) if _is(iterated, name):
                return 1, False
            case ast.BinOp(left, ast.MatMult(), right):
                return _matrix(name) * (_is(left, name) or _is(right, name)), False
            case ast.Call(function, args):
                return self._passed(function, args, name)
            case _:
                return 0, False

    def _passed(self, function: ast.expr, args: list[ast.expr], name: str) -> tuple[int, bool]:
        positions = [i for i, arg in enumerate(args) if _is(arg, name)]
        if not positions:
            return 0, False
        if isinstance(function, ast.Attribute):
            if function.attr in ("dot", "matmul"):
                return _matrix(name), False
            if function.attr in _MATRIX:
                return (2 if 0 in positions else 1), False
            return int(function.attr in _WHOLE and 0 in positions[:1]), False
        called = getattr(function, "id", "")
        if called == "range":
            return 0, True
        if called in self._functions:
            names = _parameters(self._functions[called])
            uses = [self.of(called, names[i]) for i in positions if i < len(names)]
            return max((r for r, _ in uses), default=0), any(whole for _, whole in uses)
        return int(called in _ITERATES - {"max", "min"} or (called in _ITERATES and len(args) == 1)), False


def _items_of(loop: ast.For | ast.comprehension, name: str) -> list[str]:
    """Return the names that the items of an array have in a loop over it, over `enumerate` of it or `zip` with it."""
    if _is(loop.iter, name):
        return [loop.target.id] if isinstance(loop.target, ast.Name) else []
    if not (isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)):
        return []
    first = {"zip": 0, "enumerate": 1}.get(loop.iter.func.id)
    if first is None or not isinstance(loop.target, ast.Tuple):
        return []
    pairs = zip(loop.iter.args, loop.target.elts[first:], strict=False)
    return [target.id for source, target in pairs if _is(source, name) and isinstance(target, ast.Name)]


def _is(node: ast.AST, name: str) -> bool:
    """Say whether a node is the name, or the field of a record: `p.mass`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}" == name
    return isinstance(node, ast.Name) and node.id == name


def _matrix(name: str) -> int:
    """Return the rank of a factor of a product: matrices are written with capitals, vectors are not."""
    return 2 if name.rpartition(".")[2][:1].isupper() else 1


def _axes(index: ast.expr) -> int:
    """Count the axes that an index takes; `None` adds one and takes none."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return sum(not (isinstance(item, ast.Constant) and item.value is None) for item in items)
