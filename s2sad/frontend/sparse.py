"""SciPy's sparse matrices: constants of the program, whose products with arrays are loops over what they store.

`S @ x` reads the arrays of `S` at each call; a matrix that is made of others, `S.T` or `0.5 * S`, is made anew then.
SciPy is not imported for it: only who uses these objects has done so.
"""

from __future__ import annotations

import operator
import types
from typing import Any

import numpy as np

from s2sad.frontend.captures import capture
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import as_users_write, build
from s2sad.frontend.values import SliceV, StaticV, StructV, V, Value, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Const, If, Raise
from s2sad.ir.types import Array, Static
from s2sad.rules.sparse import sparse_dot, sparse_matmul

_WAY_OUT = "Products with arrays are followed, `S @ x`. Of anything else, use `S.toarray()`."


def is_sparse(held: Any) -> bool:
    """Say whether an object is one of SciPy's sparse matrices or arrays."""
    return hasattr(held, "tocsr") and type(held).__module__.startswith("scipy.sparse")


def operated(lw: Lowerer, fn: Any, left: Value, right: Value | None, node: Any) -> Value | None:
    """Return what an operator gives with a sparse operand; None if there is none."""
    sides = [side for side in (left, right) if side is not None]
    if not any(isinstance(side, StaticV) and is_sparse(side.value) for side in sides):
        return None
    from s2sad.frontend.arguments import UNKNOWN, known_value

    known = [known_value(side) for side in sides]
    if not any(value is UNKNOWN for value in known):
        return _made(lw, fn, known, {}, node)
    first, second = left, right
    by_matrix = fn is operator.matmul or (fn is operator.mul and _multiplies_as_matrix(first, second))
    if by_matrix and isinstance(first, StaticV) and isinstance(second, V):
        return _product(lw, first.value, second, getattr(node, "left", node), node)
    if by_matrix and isinstance(first, V) and isinstance(second, StaticV):
        turned = attribute(lw, second.value, "T", node)
        assert turned is not None
        other = _turned(first)
        return _turned(_product(lw, turned.value, other, getattr(node, "right", node), node))
    return lw.fail(node, f"`{as_users_write(fn)}` of a sparse matrix and an array is not supported", _WAY_OUT)


def called(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Return what a method of a sparse matrix gives, or a function that makes one; None if `fn` is neither."""
    owner = getattr(fn, "__self__", None)
    method = owner is not None and is_sparse(owner)
    if not method and not (isinstance(fn, types.FunctionType | type) and _makes_sparse(fn)):
        return None
    if method and fn.__name__ == "dot" and len(args) == 1 and isinstance(args[0], V):
        return _product(lw, owner, args[0], getattr(node.func, "value", node), node)
    from s2sad.frontend.arguments import UNKNOWN, known_value

    given = [known_value(arg) for arg in args]
    named = {name: known_value(value) for name, value in kwargs.items()}
    if any(value is UNKNOWN for value in (*given, *named.values())):
        return None if method else lw.fail(
            node, f"a sparse matrix is made by `{fn.__name__}` of what is known only when the function runs",
            "Make it outside of the function, or write its product with the array as a loop.")  # fmt: skip
    if not method:
        return _made(lw, fn, given, named, node)
    name = fn.__name__
    return _made(lw, lambda matrix, *rest, **more: getattr(matrix, name)(*rest, **more), [owner, *given], named, node)


def attribute(lw: Lowerer, owner: Any, name: str, node: Any) -> StaticV | None:
    """Return the matrix that an attribute is, `S.T`; None of any other attribute."""
    if name not in ("T", "mT", "H"):
        return None
    made = _made(lw, lambda matrix: getattr(matrix, name), [owner], {}, node)
    return made if isinstance(made, StaticV) else None


def item(lw: Lowerer, owner: Any, place: Value, node: Any) -> Value:
    """Return `S[1:3]`, `S[0, 1]`, or another item at a place that is known."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    def key(part: Value | None) -> Any:
        match part:
            case SliceV(lower, upper, step):
                return slice(key(lower), key(upper), key(step))
            case StructV("tuple", _, items):
                return tuple(key(one) for one in items)
            case None:
                return None
            case _ if known_value(part) is not UNKNOWN:
                return known_value(part)
            case _:
                return lw.fail(node, "which item of a sparse matrix is read is not known here", _WAY_OUT)

    known = key(place)
    return _made(lw, lambda matrix: matrix[known], [owner], {}, node)


def _made(lw: Lowerer, fn: Any, given: list[Any], named: dict[str, Any], node: Any) -> Value:
    """Return what is made of constants, and note how it is made anew: a matrix among them may hold others then."""
    from s2sad.frontend.indexing import lower_index

    remade = lw.ctx.remade

    def again() -> Any:
        return fn(*(remade[id(part)]() if id(part) in remade else part for part in given), **named)

    result = again()
    lw.ctx.keep.append(result)
    if is_sparse(result):
        remade[id(result)] = again
        return StaticV(result)
    if isinstance(result, np.matrix):
        lw.fail(node, "this is a `numpy.matrix`, of which `*` is the product",
                "Use `S.toarray()`, or SciPy's newer classes (`csr_array`), whose results are arrays.")  # fmt: skip
    if isinstance(result, np.number):
        number = np.atleast_1d(result)
        lw.ctx.keep.append(number)
        whole = capture(lw, number, "number", lambda: np.atleast_1d(again()))
        return lower_index(lw, whole, [literal(0)], None) if isinstance(whole, V) else whole
    held = capture(lw, result, "dense", again)
    return V(build(np.copy, held.expr)) if isinstance(held, V) and isinstance(held.expr.type, Array) else held


def _makes_sparse(fn: Any) -> bool:
    return (getattr(fn, "__module__", None) or "").startswith("scipy.sparse._") and "linalg" not in fn.__module__


def _multiplies_as_matrix(*sides: Value | None) -> bool:
    """Say whether `*` of these is the product of matrices, as of SciPy's older classes."""
    return any(isinstance(s, StaticV) and any(c.__name__ == "spmatrix" for c in type(s.value).__mro__) for s in sides)


def _turned(value: V) -> V:
    if isinstance(value.expr.type, Array) and len(value.expr.type.dims) == 2:
        return V(build(ops.transpose, value.expr))
    return value


def _product(lw: Lowerer, matrix: Any, x: V, place: Any, node: Any) -> V:
    from s2sad.frontend.calls import call_user

    dims = x.expr.type.dims if isinstance(x.expr.type, Array) else ()
    if len(dims) not in (1, 2):
        return lw.fail(node, "a sparse matrix is multiplied by an array of one or two axes here", _WAY_OUT)
    _check_columns(lw, matrix.shape[-1], x, node)
    name = getattr(place, "id", getattr(place, "attr", "matrix"))
    parts: list[Value] = []
    for part in ("data", "indices", "indptr"):
        parts.append(_part(lw, matrix, part, f"{name}_{part}"))
    dtype = StaticV(np.result_type(matrix.dtype, x.expr.type.dtype).type)  # type: ignore[union-attr]
    x = V(lw.atom(x.expr, "factor", lw.span(node)))
    square = matrix.shape[0] == matrix.shape[-1]  # the product is as long as what is multiplied then
    rows = V(build(ops.dim, x.expr, literal(0)) if square else literal(matrix.shape[0]))
    result = call_user(lw, sparse_dot if len(dims) == 1 else sparse_matmul, [*parts, rows, x, dtype], {}, node)
    assert isinstance(result, V)
    return result


def _check_columns(lw: Lowerer, columns: int, x: V, node: Any) -> None:
    """What is multiplied is as long as a row of the matrix; that is tested where it is not known."""
    length = x.expr.type.dims[0] if isinstance(x.expr.type, Array) else columns
    if isinstance(length, int):
        if length != columns:
            lw.fail(node, f"a sparse matrix of {columns} columns is multiplied by an array of length {length} here")
        return
    span = lw.span(node)
    differs = build(operator.ne, build(ops.dim, lw.atom(x.expr, "factor", span), literal(0)), literal(columns))
    text = f"a sparse matrix of {columns} columns is multiplied by an array of another length"
    lw.emit(If(differs, (Raise(ValueError, (Const(text, Static(text)),), span),), (), span))


def _part(lw: Lowerer, matrix: Any, part: str, name: str) -> Value:
    """Return one of the arrays of a matrix that is stored by rows, read anew at each call."""
    key = "by rows", id(matrix)
    if key not in lw.ctx.computed:
        lw.ctx.computed[key] = matrix, matrix.tocsr()  # the matrix itself, if that is how it is stored
    by_rows = lw.ctx.computed[key][1]
    again = lw.ctx.remade.get(id(matrix), lambda: matrix)
    return capture(lw, getattr(by_rows, part), name, lambda: getattr(again().tocsr(), part))
