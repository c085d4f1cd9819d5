"""Target "cpu": products of matrices, `einsum` and `tensordot` as calls that Numba compiles."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Pack, Var
from s2sad.ir.types import Array, Dim, Scalar, Static, Struct, Sym, Type, is_inexact, rank
from s2sad.rules import subscripts
from s2sad.rules.legal_parts import applied, expanded, number, without_axes


def of_one_dtype(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Numba multiplies matrices of one floating dtype only."""
    if not (isinstance(a.type, Array) and isinstance(b.type, Array)) or a.type.dtype == b.type.dtype:
        return a, b
    common = np.result_type(a.type.dtype, b.type.dtype)
    return as_dtype(a, common), as_dtype(b, common)


def as_dtype(x: Expr, dtype: Any) -> Expr:
    """Return an array of another dtype, itself where it has that."""
    assert isinstance(x.type, Array)
    if x.type.dtype == dtype.name:
        return x
    kind = Array(dtype.name, x.type.dims, x.type.layout if x.type.layout != "A" else "C")
    return Apply(np.ndarray.astype, (x, Const(dtype.type, Static(dtype.type))), kind)


def _matmul(call: Apply) -> Expr | None:
    a, b = of_one_dtype(*call.args)
    m, n = rank(a.type), rank(b.type)
    if m == 0 or n == 0:
        return applied(operator.mul, (a, b), call.type)
    if m <= 2 and n <= 2:
        return applied(operator.matmul, (a, b), call.type)
    if (call.fn is np.dot and n > 2) or not isinstance(call.type, Array):
        return None
    if n == 2 and is_inexact(call.type):
        return applied(runtime.matmul_rows, (a, b), call.type)
    if m > 3 or n > 3:
        return _matmul_batches(a, b, call.type)
    left = a if m == 3 else expanded(a, 0) if m == 2 else expanded(expanded(a, 0), 0)
    right = b if n == 3 else expanded(b, 0) if n == 2 else expanded(expanded(b, 1), 0)
    dims = list(call.type.dims)
    if m == 1:
        dims.insert(1, 1)
    if n == 1:
        dims.append(1)
    full = applied(runtime.matmul_batch, (left, right), Array(call.type.dtype, tuple(dims), "C"))
    return without_axes(full, {1} if m == 1 else {2} if n == 1 else set(), call.type)


def _matmul_batches(a: Expr, b: Expr, kind: Array) -> Expr:
    """Batches of several axes: all operands get as many axes as the one that has most."""
    m, n = rank(a.type), rank(b.type)
    dims = list(kind.dims)
    if m == 1:
        a = expanded(a, 0)
        dims.insert(len(dims) - 1, 1)
    if n == 1:
        b = expanded(b, 1)
        dims.append(1)
    while rank(a.type) != rank(b.type):
        a, b = (expanded(a, 0), b) if rank(a.type) < rank(b.type) else (a, expanded(b, 0))
    full = applied(runtime.matmul_batches, (a, b), Array(kind.dtype, tuple(dims), "C"))
    return without_axes(full, {len(dims) - 2} if m == 1 else {len(dims) - 1} if n == 1 else set(), kind)


def _inner(call: Apply) -> Expr | None:
    a, b = of_one_dtype(*call.args)
    match rank(a.type), rank(b.type):
        case 1, 1:
            return applied(operator.matmul, (a, b), call.type)
        case 2, 1:
            return applied(operator.matmul, (a, b), call.type)
        case 1, 2:
            return applied(operator.matmul, (b, a), call.type)
        case 2, 2:
            assert isinstance(b.type, Array)
            turned = Array(b.type.dtype, b.type.dims[::-1])
            return applied(operator.matmul, (a, applied(ops.transpose, (b,), turned)), call.type)
        case _:
            return None


def _einsum(call: Apply) -> Expr | None:
    spec = call.args[0]
    if not isinstance(spec, Const) or "." in spec.value:
        return None
    letters, result = subscripts.split(spec.value)
    sizes = _Sizes(call.args[1:], letters)
    parts: list[_Part] = []
    for x, each in zip(call.args[1:], letters, strict=True):
        part = _distinct(_Part(x, each))
        if part is None:
            return None
        parts.append(part)
    while len(parts) > 1:
        first, *others = parts
        second = next((part for part in others if set(part.letters) & set(first.letters)), others[0])
        others.remove(second)
        later = result + "".join(part.letters for part in others)
        wanted = "".join(c for c in dict.fromkeys(later) if c in first.letters + second.letters)
        parts = [_contract(first, second, wanted, sizes), *others]
    return _as_letters(parts[0], result).expr


@dataclass(frozen=True)
class _Part:
    """An operand of `einsum` and the letters of its axes."""

    expr: Expr
    letters: str

    def dim(self, letter: str) -> Dim:
        assert isinstance(self.expr.type, Array)
        return self.expr.type.dims[self.letters.index(letter)]

    def typed(self, letters: str, layout: str = "C") -> Type:
        dtype = self.expr.type.dtype  # type: ignore[union-attr]
        dims = tuple(self.dim(c) for c in letters)
        return Array(dtype, dims, layout) if letters else Scalar(dtype)


def _distinct(part: _Part) -> _Part | None:
    """Take the diagonal of a matrix whose axes share a letter."""
    if len(set(part.letters)) == len(part.letters):
        return part
    if len(part.letters) != 2:
        return None
    kind = part.typed(part.letters[0])
    return _Part(applied(np.diag, (part.expr,), kind), part.letters[0])


def _as_letters(part: _Part, result: str) -> _Part:
    """Sum over the axes that the result lacks, and put the others in its order."""
    for letter in part.letters:
        if letter not in result:
            left = part.letters.replace(letter, "")
            static = {"axis": part.letters.index(letter)} if left else {}
            fn = runtime.sum_axis if left and not is_inexact(part.expr.type) else np.sum
            part = _Part(applied(fn, (part.expr,), part.typed(left), **static), left)
    if part.letters == result:
        return part
    kind = part.typed(result, "A")
    if len(result) == 2:
        return _Part(applied(ops.transpose, (part.expr,), kind), result)
    axes = tuple(part.letters.index(c) for c in result)
    return _Part(applied(np.transpose, (part.expr,), kind, axes=axes), result)


class _Sizes:
    """How long the axis of each letter is, as far as numbers and names tell."""

    def __init__(self, operands: Sequence[Expr], letters: Sequence[str]) -> None:
        self.found: dict[str, list[tuple[Dim, Expr | None]]] = {}
        for x, each in zip(operands, letters, strict=True):
            dims = x.type.dims if isinstance(x.type, Array) else ()
            for axis, (letter, dim) in enumerate(zip(each, dims, strict=True)):
                self.found.setdefault(letter, []).append((dim, _length_of(x, axis, dim)))

    def known(self, group: str, common: bool = False) -> list[Expr] | None:
        """Return the lengths of a group of axes; if both operands have them, several are compared one by one."""
        if any({1} < {dim for dim, _ in self.found[c]} for c in group):
            return None  # one is spread over the other
        lengths = [self._agreed(c) if common and len(group) > 1 else self._any(c) for c in group]
        return None if None in lengths else lengths  # type: ignore[return-value]

    def _any(self, letter: str) -> Expr | None:
        lengths = [length for _, length in self.found[letter] if length is not None]
        return next((one for one in lengths if isinstance(one, Const)), lengths[0] if lengths else None)

    def _agreed(self, letter: str) -> Expr | None:
        (dim, length), *others = self.found[letter]
        for other, another in others:
            if other == dim:
                length = length or another
            elif length is None or another is None:
                return None
            else:
                length = applied(runtime.same_length, (length, another), Scalar("int64", weak=True))
        return length


def _length_of(x: Expr, axis: int, dim: Dim) -> Expr | None:
    if isinstance(dim, int):
        return number(dim)
    while isinstance(x, Apply) and x.fn is ops.transpose:
        x, axis = x.args[0], rank(x.type) - 1 - axis
    return Apply(ops.dim, (x, number(axis)), Scalar("int64", weak=True)) if isinstance(x, Var) else None


def _contract(a: _Part, b: _Part, wanted: str, sizes: _Sizes) -> _Part:
    """Multiply two operands and sum over the letters that are not wanted any more."""
    a = _as_letters(a, "".join(c for c in a.letters if c in b.letters + wanted))
    b = _as_letters(b, "".join(c for c in b.letters if c in a.letters + wanted))
    if not a.letters or not b.letters:
        whole = a if a.letters else b
        kind = whole.typed(whole.letters)
        return _Part(applied(operator.mul, (a.expr, b.expr), kind), whole.letters)
    both = "".join(c for c in a.letters if c in b.letters)
    batch = "".join(c for c in both if c in wanted)
    summed = "".join(c for c in both if c not in wanted)
    rows = "".join(c for c in a.letters if c not in both)
    columns = "".join(c for c in b.letters if c not in both)
    if len(batch) <= 1 and len(summed) == 1 and len(rows) <= 1 and len(columns) <= 1:
        if not batch:
            return _product(operator.matmul, a, b, rows + summed, summed + columns, rows + columns)
        if rows and columns:
            return _product(
                runtime.matmul_batch, a, b, batch + rows + summed, batch + summed + columns,
                batch + rows + columns,
            )  # fmt: skip
    if summed and ((rows and columns) or (not batch and (rows or columns))) and is_inexact(_common(a, b)):
        lengths = [sizes.known(batch, True), sizes.known(rows), sizes.known(summed, True), sizes.known(columns)]
        known = {c: n for group, some in zip((batch, rows, summed, columns), lengths, strict=True)
                 for c, n in zip(group, some or (), strict=False)}  # fmt: skip
        if None not in lengths:
            return _by_matrices(a, b, (batch, rows, summed, columns), known)
    order = wanted + summed
    left, right = _spread(a, order), _spread(b, order)
    dims = tuple((a if c in a.letters else b).dim(c) for c in order)
    kind = Array(_common(a, b).dtype, dims, "C")
    return _as_letters(_Part(applied(operator.mul, (left, right), kind), order), wanted)


def _product(fn: Any, a: _Part, b: _Part, left: str, right: str, result: str) -> _Part:
    first, second = of_one_dtype(_as_letters(a, left).expr, _as_letters(b, right).expr)
    dims = tuple((a if c in a.letters else b).dim(c) for c in result)
    dtype = first.type.dtype  # type: ignore[union-attr]
    kind = Array(dtype, dims, "C") if dims else Scalar(dtype)
    return _Part(applied(fn, (first, second), kind), result)


def _common(a: _Part, b: _Part) -> Scalar:
    return Scalar(np.result_type(a.expr.type.dtype, b.expr.type.dtype).name)  # type: ignore[union-attr]


def _by_matrices(a: _Part, b: _Part, groups: tuple[str, str, str, str], sizes: dict[str, Expr]) -> _Part:
    """Multiply as matrices, in batches if need be: axes that go together are laid out as one."""
    batch, rows, summed, columns = groups
    x, y = of_one_dtype(a.expr, b.expr)
    left = _joined(_Part(x, a.letters), [g for g in (batch, rows, summed) if g], sizes)
    right = _joined(_Part(y, b.letters), [g for g in (batch, summed, columns) if g], sizes)
    result = batch + rows + columns
    dims = tuple((a if c in a.letters else b).dim(c) for c in result)
    kind = Array(x.type.dtype, dims, "C")  # type: ignore[union-attr]
    flat = [g for g in (batch, rows, columns) if g]
    fn = runtime.matmul_batch if batch else operator.matmul
    if len(flat) == len(result):
        return _Part(applied(fn, (left, right), kind), result)
    whole = Array(kind.dtype, tuple(dims[result.index(g)] if len(g) == 1 else Sym(f"axes_{g}") for g in flat), "C")
    made = applied(np.reshape, (applied(fn, (left, right), whole), _tuple([sizes[c] for c in result])), kind)
    return _Part(made, result)


def _joined(part: _Part, groups: list[str], sizes: dict[str, Expr]) -> Expr:
    """Return an operand with one axis for each group of letters, the elements side by side."""
    turned = _as_letters(part, "".join(groups)).expr
    if all(len(group) == 1 for group in groups):
        return turned
    if turned is not part.expr or part.expr.type.layout != "C":  # type: ignore[union-attr]
        turned = applied(np.ascontiguousarray, (turned,), part.typed("".join(groups)))
    lengths: list[Expr] = []
    for first, *others in groups:
        length = sizes[first]
        for letter in others:
            length = Apply(operator.mul, (length, sizes[letter]), Scalar("int64", weak=True))
        lengths.append(length)
    dims = tuple(part.dim(g) if len(g) == 1 else Sym(f"axes_{g}") for g in groups)
    return applied(np.reshape, (turned, _tuple(lengths)), Array(part.expr.type.dtype, dims, "C"))  # type: ignore[union-attr]


def _tuple(items: list[Expr]) -> Pack:
    kinds = tuple(item.type for item in items)
    return Pack("tuple", tuple(items), Struct("tuple", tuple(range(len(items))), kinds))


def _spread(part: _Part, order: str) -> Expr:
    """Return the operand with an axis for every letter, of length one where it has none."""
    own = "".join(c for c in order if c in part.letters)
    result = _as_letters(part, own).expr
    for k, letter in enumerate(order):
        if letter not in own:
            result = expanded(result, k)
    return result


def _tensordot(call: Apply) -> Expr | None:
    a, b = call.args
    axes = dict(call.static).get("axes", 2)
    text = subscripts.letters(axes, rank(a.type), rank(b.type))
    return _einsum(Apply(np.einsum, (Const(text, Static(text)), a, b), call.type))


REWRITES: dict[Any, Callable[[Apply], Expr | None]] = {
    **dict.fromkeys((np.matmul, operator.matmul, np.dot), _matmul),
    np.inner: _inner,
    np.einsum: _einsum,
    np.tensordot: _tensordot,
}
