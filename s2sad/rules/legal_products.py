"""Target "cpu": products of matrices, `einsum` and `tensordot` as calls that Numba compiles."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr
from s2sad.ir.types import Array, Dim, Scalar, Static, Type, is_inexact, rank
from s2sad.rules import subscripts
from s2sad.rules.legal_parts import applied, expanded, without_axes


def _of_one_dtype(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Numba multiplies matrices of one floating dtype only."""
    if not (isinstance(a.type, Array) and isinstance(b.type, Array)) or a.type.dtype == b.type.dtype:
        return a, b
    common = np.result_type(a.type.dtype, b.type.dtype)
    return _as_dtype(a, common), _as_dtype(b, common)


def _as_dtype(x: Expr, dtype: Any) -> Expr:
    assert isinstance(x.type, Array)
    if x.type.dtype == dtype.name:
        return x
    kind = Array(dtype.name, x.type.dims, x.type.layout if x.type.layout != "A" else "C")
    return Apply(np.ndarray.astype, (x, Const(dtype.type, Static(dtype.type))), kind)


def _matmul(call: Apply) -> Expr | None:
    a, b = _of_one_dtype(*call.args)
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
    a, b = _of_one_dtype(*call.args)
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
    parts: list[_Part] = []
    for x, each in zip(call.args[1:], letters, strict=True):
        part = _distinct(_Part(x, each))
        if part is None:
            return None
        parts.append(part)
    while len(parts) > 1:
        first, second, *others = parts
        later = result + "".join(part.letters for part in others)
        wanted = "".join(c for c in dict.fromkeys(later) if c in first.letters + second.letters)
        parts = [_contract(first, second, wanted), *others]
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


def _contract(a: _Part, b: _Part, wanted: str) -> _Part:
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
    order = wanted + summed
    left, right = _spread(a, order), _spread(b, order)
    dims = tuple((a if c in a.letters else b).dim(c) for c in order)
    kind = Array(a.expr.type.dtype, dims, "C")  # type: ignore[union-attr]
    return _as_letters(_Part(applied(operator.mul, (left, right), kind), order), wanted)


def _product(fn: Any, a: _Part, b: _Part, left: str, right: str, result: str) -> _Part:
    first, second = _as_letters(a, left), _as_letters(b, right)
    dims = tuple((a if c in a.letters else b).dim(c) for c in result)
    dtype = a.expr.type.dtype  # type: ignore[union-attr]
    kind = Array(dtype, dims, "C") if dims else Scalar(dtype)
    return _Part(applied(fn, (first.expr, second.expr), kind), result)


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
