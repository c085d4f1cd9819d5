"""Systems with constant sparse matrices: SciPy factorises the matrix, and what is compiled solves by its factors.

A matrix is factorised anew where it has changed since the last call. Source of the factors: SciPy's `SuperLU`, whose
documentation says that `Pr * A * Pc = L * U`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.errors import ArgumentError
from s2sad.frontend import sparse
from s2sad.frontend.captures import capture
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.values import StaticV, V, Value, const
from s2sad.ir.types import Array
from s2sad.rules.sparse_matrices import solve_by_factors

_PARTS = ("data", "indices", "indptr", "row_order", "column_order")


def called(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Return what `spsolve`, `splu`, `factorized`, or a solver that these made, gives; None of anything else."""
    owner = getattr(fn, "__self__", None)
    name = getattr(fn, "__name__", "")
    if _is_factored(owner) and name == "solve":
        return _solved(lw, lw.ctx.remade.get(id(owner), lambda: owner), args, kwargs, node)
    if name not in ("spsolve", "splu", "factorized") or not fn.__module__.startswith("scipy.sparse.linalg"):
        return None
    matrix = args[0] if args else None
    if not isinstance(matrix, StaticV) or not sparse.is_sparse(matrix.value):
        return None
    factors = sparse.remembered(lw, "factors", matrix.value, _factorised)
    try:
        made = factors()
    except (RuntimeError, ValueError) as error:
        return lw.fail(node, "this sparse matrix has no factors", f"SciPy says: {error}.", ArgumentError)
    if name == "spsolve":
        right = args[1] if len(args) > 1 else kwargs.get("b")
        if not isinstance(right, V):
            return None
        dims = right.expr.type.dims if isinstance(right.expr.type, Array) else ()
        if len(dims) == 2 and dims[1] == 1:
            lw.fail(node, "`spsolve` makes a vector of a right side of one column", "Give it the vector, `b[:, 0]`.")
        return _solved(lw, factors, [right], {}, node)
    lw.ctx.keep.append(made)
    lw.ctx.remade[id(made)] = factors
    return StaticV(made if name == "splu" else made.solve)


def _is_factored(held: Any) -> bool:
    return type(held).__name__ == "SuperLU"


def _solved(
    lw: Lowerer, factors: Callable[[], Any], args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:  # fmt: skip
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.calls import call_function

    given = dict(zip(("rhs", "trans"), args, strict=False)) | kwargs
    how = known_value(given.get("trans", StaticV("N")))
    right = given.get("rhs")
    if not isinstance(right, V) or how not in ("N", "T", "H"):
        return lw.fail(node, "a system is solved for an array here, by `trans` that is N, T or H", "", ArgumentError)
    made = factors()
    parts = lw.ctx.computed.setdefault(("parts", id(made)), (made, _Parts(factors)))[1]
    held = [capture(lw, parts(k), f"lu_{name}", lambda k=k: parts(k)) for k, name in enumerate(_PARTS)]
    sparse.check_length(lw, made.shape[0], right, node)
    flag = const(how != "N")
    if how == "H":
        right = V(build(np.conj, right.expr))
    if isinstance(right.expr.type, Array) and len(right.expr.type.dims) == 2:
        solved = call_function(lw, solve_by_factors, [*held, right, flag], {}, node)
    else:
        solved = call_function(lw, runtime.sparse_lu_solve, [*held, right], {"trans": flag}, node)
    return V(build(np.conj, solved.expr)) if how == "H" and isinstance(solved, V) else solved


def _factorised(matrix: Any) -> Any:
    return importlib.import_module("scipy.sparse.linalg").splu(matrix.tocsc())


class _Parts:
    """The arrays of factors: both triangles by columns, without the lower one's diagonal, and the orders."""

    def __init__(self, factors: Callable[[], Any]) -> None:
        self.factors = factors
        self.last: tuple[Any, tuple[Any, ...]] | None = None

    def __call__(self, k: int) -> Any:
        made = self.factors()
        last = self.last
        if last is None or last[0] is not made:
            tril = importlib.import_module("scipy.sparse").tril
            both = (tril(made.L, -1) + made.U).tocsc()
            both.sort_indices()
            last = self.last = made, (both.data, both.indices, both.indptr, made.perm_r, made.perm_c)
        return last[1][k]
