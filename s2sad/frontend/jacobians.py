"""`jacfwd`, `jacrev` and `hessian` inside a function, written out as Python over `jvp` and `vjp`.

    def f_jacrev(x):
        out, pullback = vjp(lambda x: function(x), x)
        block = []
        for i in range(out.size):
            unit = np.zeros(out.size, out.dtype)
            unit[i] = 1.0
            bars = pullback(unit.reshape(out.shape))
            block.append(bars[0])
        return np.stack(block).reshape(out.shape + x.shape)

Containers nest, the output's outside and the argument's inside.
"""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from s2sad.errors import ArgumentError, NotDifferentiableError
from s2sad.frontend.expanded import access, display
from s2sad.frontend.lowerer import BottomReached, Lowerer
from s2sad.frontend.transforms import Derivation, chosen_parameters, close
from s2sad.frontend.values import StaticV, Value
from s2sad.ir.types import Array, ListOf, Static, Struct, Type, is_complex, is_inexact, rank

_OWN = frozenset({"np", "function", "out", "pullback", "aux", "unit", "bars", "dots", "i", "jvp", "vjp"})


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A number or an array inside an argument or the result.

    Attributes:
        root: what the whole is called.
        inside: how it is read from the whole: `["w"][0]`.
        kind: its type.
        place: which argument it belongs to; 0 for the result.
        path: its position in each container around it, from outside.
    """

    root: str
    inside: str
    kind: Type
    place: int
    path: tuple[int, ...]

    @property
    def text(self) -> str:
        """How it is read."""
        return self.root + self.inside


def write_jacobian(
    lw: Lowerer, derivation: Derivation, fun: Value, args: list[Value], kwargs: dict[str, Value], node: Any
) -> tuple[str, str, dict[str, Value]]:
    """Return the name of the mode, the text after the function's name, and what the text sees."""
    mode = {"jacobian": "jacrev"}.get(derivation.kind, derivation.kind)
    return _Writer(lw, mode, derivation, fun, args, kwargs, node).written()


class _Writer:
    def __init__(
        self, lw: Lowerer, mode: str, derivation: Derivation, fun: Value, args: list[Value],
        kwargs: dict[str, Value], node: Any,
    ) -> None:  # fmt: skip
        self.lw, self.mode, self.derivation, self.node = lw, mode, derivation, node
        self.aux, self.holomorphic = bool(derivation.option("has_aux")), bool(derivation.option("holomorphic"))
        self.closed = close(lw, fun, args, kwargs, node)
        parameters = self.closed.parameters
        self.names = [_identifier(name) for name, _, _ in parameters[: len(args)]]
        self.call = f"function({', '.join([*self.names, *(f'{name}={name}' for name in kwargs)])})"
        self.head = f"({', '.join([*self.names, *kwargs])}):"
        argnums = derivation.option("argnums")
        self.several = isinstance(argnums, tuple | list)
        chosen = chosen_parameters(lw, argnums, self.closed, node)
        self.chosen = [parameters.index(one) for one in chosen]
        if any(at >= len(args) for at in self.chosen):
            lw.fail(node, f"`{mode}` differentiates arguments that are given by position", "", ArgumentError)
        self.kinds = [parameters[at][1] for at in self.chosen]
        self.scope: dict[str, Value] = {}

    def written(self) -> tuple[str, str, dict[str, Value]]:
        """Return the name of the mode, the text after the function's name, and what the text sees."""
        self._tools()
        if self.mode == "hessian":
            options = f"has_aux={self.aux}, holomorphic={self.holomorphic}"
            given = f"{self._argnums()}, {options}"
            call = f"jacfwd(jacrev(function, {given}), {given})({self.call[len('function('):]}"
            return self.mode, f"{self.head}\n    return {call}\n", self.scope
        result = self.closed.instance.result
        if result is None:
            raise BottomReached
        if self.aux:
            if not (isinstance(result, Struct) and len(result.items) == 2):
                self.lw.fail(self.node, "with has_aux=True the function returns (output, aux)", "", ArgumentError)
            assert isinstance(result, Struct)
            result = result.items[0]
        outputs = list(_leaves(result, "out", 0))
        inputs = [leaf for k, kind in enumerate(self.kinds) for leaf in _leaves(kind, self.names[self.chosen[k]], k)]
        self._check(outputs, inputs)
        lines = (_rows if self.mode == "jacrev" else _columns)(self, result, outputs, inputs)
        shown = self._nested(result, outputs, inputs)
        lines.append(f"return {shown}, aux" if self.aux else f"return {shown}")
        return self.mode, f"{self.head}\n" + textwrap.indent("\n".join(lines), "    ") + "\n", self.scope

    def _argnums(self) -> str:
        return repr(tuple(self.chosen)) if self.several else repr(self.chosen[0])

    def _tools(self) -> None:
        """The transforms that the text calls, found where the user's `s2sad` has them."""
        public = importlib.import_module("s2sad")
        self.scope |= {name: StaticV(getattr(public, name)) for name in ("jvp", "vjp", "jacfwd", "jacrev")}

    def _check(self, outputs: list[_Leaf], inputs: list[_Leaf]) -> None:
        for leaf in (*outputs, *inputs):
            if isinstance(leaf.kind, ListOf) or not is_inexact(leaf.kind):
                self.lw.fail(self.node, f"`{self.mode}` needs numbers and arrays of floats, which `{leaf.text}` is not",
                             "Choose other arguments with `argnums`, or use `jvp` or `vjp`.",
                             NotDifferentiableError)  # fmt: skip
        wanted = outputs if self.mode == "jacrev" else inputs
        for leaf in (*outputs, *inputs) if self.holomorphic else wanted:
            if is_complex(leaf.kind) != self.holomorphic:
                word = "complex" if self.holomorphic else "real"
                self.lw.fail(self.node, f"`{self.mode}` with holomorphic={self.holomorphic} needs {word} numbers, "
                             f"which `{leaf.text}` is not", "", NotDifferentiableError)  # fmt: skip

    def lambda_text(self) -> str:
        """Write the function of the differentiated arguments alone."""
        return f"lambda {', '.join(self.varied())}: {self.call}"

    def varied(self) -> list[str]:
        """Return the names of the differentiated arguments."""
        return [self.names[at] for at in self.chosen]

    def filled(self, kind: Type, leaf: _Leaf, unit: str, zero: Callable[[str, Type], str], text: str) -> str:
        """Write a value of a structure that is `unit` at one leaf and zero at the others."""
        return self._filled(kind, leaf.path, unit, zero, text)

    def _filled(
        self, kind: Type, path: tuple[int, ...] | None, unit: str, zero: Callable[[str, Type], str], text: str
    ) -> str:
        if isinstance(kind, Static):
            return "None"
        if not isinstance(kind, Struct):
            return unit if path == () else zero(text, kind)
        parts = [
            self._filled(item, path[1:] if path and path[0] == at else None, unit, zero, access(text, kind.kind, key))
            for at, (key, item) in enumerate(zip(kind.keys, kind.items, strict=True))
        ]
        return display(self.scope, kind.kind, kind.keys, parts)

    def one(self) -> str:
        """Write the number one."""
        return "(1.0 + 0.0j)" if self.holomorphic else "1.0"

    def _nested(self, result: Type, outputs: list[_Leaf], inputs: list[_Leaf]) -> str:
        rest = {leaf.path: at for at, leaf in enumerate(outputs)}

        def outer(kind: Type, path: tuple[int, ...]) -> str:
            if isinstance(kind, Struct):
                parts = [outer(item, (*path, at)) for at, item in enumerate(kind.items)]
                return display(self.scope, kind.kind, kind.keys, parts)
            if isinstance(kind, Static):
                return "None"
            found = [inner(kind, k, (), rest[path]) for k, kind in enumerate(self.kinds)]
            return f"({', '.join(found)},)" if self.several else found[0]

        def inner(kind: Type, place: int, path: tuple[int, ...], row: int) -> str:
            if isinstance(kind, Struct):
                parts = [inner(item, place, (*path, at), row) for at, item in enumerate(kind.items)]
                return display(self.scope, kind.kind, kind.keys, parts)
            if isinstance(kind, Static):
                return "None"
            column = next(at for at, leaf in enumerate(inputs) if (leaf.place, leaf.path) == (place, path))
            return block(row, column)

        return outer(result, ())


def _identifier(name: str) -> str:
    plain = re.sub(r"\W+", "_", name).strip("_")
    return f"{plain}_" if plain in _OWN or plain.startswith("block_") else plain


def _leaves(kind: Type, root: str, place: int, inside: str = "", path: tuple[int, ...] = ()) -> Iterator[_Leaf]:
    if isinstance(kind, Struct):
        for at, (key, item) in enumerate(zip(kind.keys, kind.items, strict=True)):
            yield from _leaves(item, root, place, access(inside, kind.kind, key), (*path, at))
    elif not isinstance(kind, Static):
        yield _Leaf(root, inside, kind, place, path)


def block(row: int, column: int) -> str:
    """Name one block of the Jacobian."""
    return f"block_{row}_{column}"


def _unit(leaf: _Leaf) -> list[str]:
    return [f"unit = np.zeros({leaf.text}.size, {leaf.text}.dtype)", "unit[i] = 1.0"]


def _shaped(leaf: _Leaf) -> str:
    """Return the text of a direction that lies in memory as what it is a direction of, so that its views are views."""
    whole = f"unit.reshape({leaf.text}.shape)"
    by_columns = isinstance(leaf.kind, Array) and leaf.kind.layout == "F" and len(leaf.kind.dims) > 1
    return f"np.asfortranarray({whole})" if by_columns else whole


def _rows(w: _Writer, result: Type, outputs: list[_Leaf], inputs: list[_Leaf]) -> list[str]:
    """Reverse mode: one pullback per element of the result."""
    targets = "out, pullback, aux" if w.aux else "out, pullback"
    lines = [f"{targets} = vjp({w.lambda_text()}, {', '.join(w.varied())}{', has_aux=True' * w.aux})"]

    def zero(text: str, kind: Type) -> str:
        return f"np.zeros_like({text})" if isinstance(kind, Array) else "0.0"

    for row, output in enumerate(outputs):
        read = [f"bars[{leaf.place}]{leaf.inside}" for leaf in inputs]
        if not rank(output.kind):
            lines.append(f"bars = pullback({w.filled(result, output, w.one(), zero, 'out')})")
            lines += [f"{block(row, column)} = {text}" for column, text in enumerate(read)]
            continue
        seed = w.filled(result, output, _shaped(output), zero, "out")
        lines += [f"{block(row, column)} = []" for column in range(len(inputs))]
        lines.append(f"for i in range({output.text}.size):")
        steps = [*_unit(output), f"bars = pullback({seed})"]
        steps += [f"{block(row, column)}.append({text})" for column, text in enumerate(read)]
        lines += [f"    {step}" for step in steps]
        for column, leaf in enumerate(inputs):
            name = block(row, column)
            gathered = f"np.stack({name})" if rank(leaf.kind) else f"np.array({name})"
            shape = f"{output.text}.shape + {leaf.text}.shape" if rank(leaf.kind) else f"{output.text}.shape"
            lines.append(f"{name} = {gathered}.reshape({shape})")
    return lines


def _columns(w: _Writer, result: Type, outputs: list[_Leaf], inputs: list[_Leaf]) -> list[str]:
    """Forward mode: one tangent per element of the argument."""
    lines: list[str] = []
    if w.aux:
        lines.append(f"out, aux = {w.call}")
    elif any(rank(leaf.kind) for leaf in outputs) and any(rank(leaf.kind) for leaf in inputs):
        lines.append(f"out = {w.call}")
    varied = w.varied()

    def push(leaf: _Leaf, unit: str) -> str:
        dots = ["None"] * len(varied)
        dots[leaf.place] = w.filled(w.kinds[leaf.place], leaf, unit, _none, varied[leaf.place])
        has_aux = ", has_aux=True" * w.aux
        return f"dots = jvp({w.lambda_text()}, ({', '.join(varied)},), ({', '.join(dots)},){has_aux})[1]"

    for column, leaf in enumerate(inputs):
        read = [f"dots{output.inside}" for output in outputs]
        if not rank(leaf.kind):
            lines.append(push(leaf, w.one()))
            lines += [f"{block(row, column)} = {text}" for row, text in enumerate(read)]
            continue
        lines += [f"{block(row, column)} = []" for row in range(len(outputs))]
        lines.append(f"for i in range({leaf.text}.size):")
        steps = [*_unit(leaf), push(leaf, _shaped(leaf))]
        steps += [f"{block(row, column)}.append({text})" for row, text in enumerate(read)]
        lines += [f"    {step}" for step in steps]
        for row, output in enumerate(outputs):
            name = block(row, column)
            if rank(output.kind):
                whole = f"np.moveaxis(np.stack({name}), 0, -1).reshape({output.text}.shape + {leaf.text}.shape)"
            else:
                whole = f"np.array({name}).reshape({leaf.text}.shape)"
            lines.append(f"{name} = {whole}")
    return lines


def _none(text: str, kind: Type) -> str:
    del text, kind
    return "None"
