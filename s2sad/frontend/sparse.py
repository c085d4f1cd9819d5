"""SciPy's sparse matrices: constants of the program, or made of what only a run knows.

Products of constant ones with arrays are loops over what they store: `S @ x` reads the arrays of `S` at each call, and
a matrix that is made of others, `S.T` or `0.5 * S`, is made anew then. What is made of arrays that a run knows, or
meets such a matrix, is an object of `rules/sparse_matrices`, whose operators are Python that is read as the user's is.
SciPy is not imported for it: only who uses these objects has done so.
"""

from __future__ import annotations

import dataclasses
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.frontend import records
from s2sad.frontend.captures import capture
from s2sad.frontend.containers import identified
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import as_users_write, build
from s2sad.frontend.values import SliceV, StaticV, StructV, V, Value, const, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Const, If, Raise
from s2sad.ir.types import Array, Static
from s2sad.rules.sparse import sparse_dot, sparse_matmul
from s2sad.rules.sparse_matrices import Sparse

_STORED = {
    "csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"), "dia": ("data", "offsets"),
}  # fmt: skip
"""The arrays of a matrix by its format, which has a length for each."""
WAY_OUT = "Products, sums and multiples are followed, and `spsolve`. Of anything else, use `S.toarray()`."


def is_sparse(held: Any) -> bool:
    """Say whether an object is one of SciPy's sparse matrices or arrays."""
    return hasattr(held, "tocsr") and type(held).__module__.startswith("scipy.sparse")


def operated(lw: Lowerer, fn: Any, left: Value, right: Value | None, node: Any) -> Value | None:
    """Return what an operator gives with a constant sparse operand; None if there is none."""
    sides = [side for side in (left, right) if side is not None]
    if not any(is_constant(side) for side in sides):
        return None
    from s2sad.frontend.arguments import UNKNOWN, known_value

    known = [known_value(side) for side in sides]
    if not any(value is UNKNOWN for value in known):
        return made(lw, fn, known, {}, node)
    first, second = left, right
    if fn is operator.matmul or (fn is operator.mul and _multiplies_as_matrix(first, second)):
        if isinstance(first, StaticV) and isinstance(second, V) and _is_array(second):
            return _product(lw, first.value, second, getattr(node, "left", node), node)
        if isinstance(first, V) and _is_array(first) and isinstance(second, StaticV):
            turned = attribute(lw, second.value, "T", node)
            assert turned is not None
            other = _turned(first)
            return _turned(_product(lw, turned.value, other, getattr(node, "right", node), node))
    first, second = (stored(lw, side) for side in (left, right))
    found = records.operated(lw, fn, first, second, node)
    if found is None:
        lw.fail(node, f"`{as_users_write(fn)}` of a sparse matrix and an array is not supported", WAY_OUT)
    return found


def called(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Return what a method of a sparse matrix gives, or a function that makes one; None if `fn` is neither."""
    from s2sad.frontend import sparse_made, sparse_systems
    from s2sad.frontend.arguments import UNKNOWN, known_value

    owner = getattr(fn, "__self__", None)
    method = owner is not None and is_sparse(owner)
    if (solved := sparse_systems.called(lw, fn, args, kwargs, node)) is not None:
        return solved
    if not method and not (isinstance(fn, types.FunctionType | type) and _is_of_scipy(fn)):
        return None
    if method and fn.__name__ == "dot" and len(args) == 1:
        return operated(lw, operator.matmul, StaticV(owner), args[0], node)
    given = [known_value(arg) for arg in args]
    named = {name: known_value(value) for name, value in kwargs.items()}
    if not any(value is UNKNOWN for value in (*given, *named.values())):
        if not method:
            return None if _is_linear_algebra(fn) else made(lw, fn, given, named, node)
        name = fn.__name__
        of_matrix = lambda matrix, *rest, **more: getattr(matrix, name)(*rest, **more)  # noqa: E731
        return made(lw, of_matrix, [owner, *given], named, node)
    if method:
        return None
    return sparse_made.called(lw, fn, [stored(lw, arg) for arg in args], kwargs, node)


def attribute(lw: Lowerer, owner: Any, name: str, node: Any) -> StaticV | None:
    """Return the matrix that an attribute is, `S.T`; None of any other attribute."""
    if name not in ("T", "mT", "H"):
        return None
    turned = made(lw, lambda matrix: getattr(matrix, name), [owner], {}, node)
    return turned if isinstance(turned, StaticV) else None


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
                return lw.fail(node, "which item of a sparse matrix is read is not known here", WAY_OUT)

    known = key(place)
    return made(lw, lambda matrix: matrix[known], [owner], {}, node)


def made(lw: Lowerer, fn: Any, given: list[Any], named: dict[str, Any], node: Any) -> Value:
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


def stored(lw: Lowerer, value: Any) -> Any:
    """Return a constant sparse matrix as what it stores, any other value as it is."""
    if not is_constant(value):
        return value
    matrix = value.value
    again = remembered(lw, "places", matrix, lambda now: now.tocoo())
    held = [
        capture(lw, getattr(again(), part), f"matrix_{part}", lambda part=part: getattr(again(), part))
        for part in ("data", "row", "col")
    ]
    shape = StructV("tuple", (0, 1), tuple(V(literal(length)) for length in matrix.shape))
    fields = tuple(field.name for field in dataclasses.fields(Sparse))
    return identified(StructV(Sparse, fields, (*held, shape, const(_is_of_the_older(matrix)))))


def is_constant(value: Any) -> bool:
    """Say whether a value is a sparse matrix that is there when the derivative is made."""
    return isinstance(value, StaticV) and is_sparse(value.value)


def _is_of_scipy(fn: Any) -> bool:
    return (getattr(fn, "__module__", None) or "").startswith("scipy.sparse.")


def _is_linear_algebra(fn: Any) -> bool:
    return fn.__module__.startswith("scipy.sparse.linalg")


def _is_of_the_older(matrix: Any) -> bool:
    """Say whether a matrix is of SciPy's older classes, of which `*` is the product."""
    return any(cls.__name__ == "spmatrix" for cls in type(matrix).__mro__)


def _is_array(value: Value) -> bool:
    return isinstance(value, V) and isinstance(value.expr.type, Array) and len(value.expr.type.dims) > 0


def _multiplies_as_matrix(*sides: Value | None) -> bool:
    """Say whether `*` of these is the product of matrices, as of SciPy's older classes."""
    return any(isinstance(s, StaticV) and _is_of_the_older(s.value) for s in sides)


def _turned(value: V) -> V:
    if isinstance(value.expr.type, Array) and len(value.expr.type.dims) == 2:
        return V(build(ops.transpose, value.expr))
    return value


def _product(lw: Lowerer, matrix: Any, x: V, place: Any, node: Any) -> V:
    from s2sad.frontend.calls import call_user

    dims = x.expr.type.dims if isinstance(x.expr.type, Array) else ()
    if len(dims) not in (1, 2):
        return lw.fail(node, "a sparse matrix is multiplied by an array of one or two axes here", WAY_OUT)
    check_length(lw, matrix.shape[-1], x, node)
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


def check_length(lw: Lowerer, columns: int, x: V, node: Any) -> None:
    """What meets a matrix is as long as a row of it; that is tested where it is not known."""
    length = x.expr.type.dims[0] if isinstance(x.expr.type, Array) else columns
    if isinstance(length, int):
        if length != columns:
            lw.fail(node, f"a sparse matrix of {columns} columns meets an array of length {length} here")
        return
    span = lw.span(node)
    differs = build(operator.ne, build(ops.dim, lw.atom(x.expr, "factor", span), literal(0)), literal(columns))
    text = f"a sparse matrix of {columns} columns meets an array of another length"
    lw.emit(If(differs, (Raise(ValueError, (Const(text, Static(text)),), span),), (), span))


def _part(lw: Lowerer, matrix: Any, part: str, name: str) -> Value:
    """Return one of the arrays of a matrix that is stored by rows, read anew at each call."""
    by_rows = remembered(lw, "by rows", matrix, lambda now: now.tocsr())  # itself, if that is how it is stored
    return capture(lw, getattr(by_rows(), part), name, lambda: getattr(by_rows(), part))


class _Remembered:
    """What is made of a matrix, made anew only where the matrix has changed: its arrays are told apart by identity."""

    def __init__(self, matrix: Callable[[], Any], make: Callable[[Any], Any]) -> None:
        self.matrix, self.make = matrix, make
        self.last: tuple[list[Any], Any] | None = None

    def __call__(self) -> Any:
        now = self.matrix()
        stored = [getattr(now, name) for name in _STORED[now.format]] if now.format in _STORED else [now.toarray()]
        last = self.last
        if last is None or not all(np.array_equal(a, b) for a, b in zip(stored, last[0], strict=True)):
            last = self.last = [part.copy() for part in stored], self.make(now)
        return last[1]


def remembered(lw: Lowerer, what: str, matrix: Any, make: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return what gives what is made of a matrix at each call; the same one however often a loop is read."""
    key = what, id(matrix)
    if key not in lw.ctx.computed:
        again = lw.ctx.remade.get(id(matrix), lambda: matrix)
        lw.ctx.computed[key] = matrix, _Remembered(again, make)
    return lw.ctx.computed[key][1]
