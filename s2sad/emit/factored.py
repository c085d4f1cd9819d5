"""Target "cpu": systems of one matrix share its factors, as that of an adjoint does with that of its primal.

    u = np.linalg.solve(K, f)                K_lu, K_order = lu_factor(K)
    ...                                      u = lu_solve(K_lu, K_order, f, False)
    f_bar = np.linalg.solve(K.T, u_bar)      ...
                                             f_bar = lu_solve(K_lu, K_order, u_bar, True)

To factorise a matrix takes most of the time that a system of many equations takes. Needs: the systems stand in no loop
or branch, nothing writes into the matrix between them, and it is not known to be small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.ir import ops
from s2sad.ir.draws import draws
from s2sad.ir.nodes import Apply, Assign, CallStmt, Const, Expr, Function, Return, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar, rank
from s2sad.ir.walk import bound, exprs_of, map_children, map_exprs, names_in, reads, statements, subexpressions
from s2sad.runtime import decompositions
from s2sad.transform.naming import Namer

_FEW = 12
"""Rows of a matrix that is eliminated where it stands, quicker than its factors are made and used."""
_KINDS = ("float64", "float32", "complex128", "complex64")


@dataclass(slots=True)
class _Shared:
    """Systems of one matrix that one factorisation serves, and the statement that it comes before."""

    matrix: Expr
    first: Stmt
    systems: list[tuple[Stmt, Apply]] = field(default_factory=list[tuple[Stmt, Apply]])


def factored(fn: Function, facts: Facts) -> Function:
    """Return `fn` with each matrix of several systems factorised once."""
    if sum(_is_system(part) for s in fn.body for e in exprs_of(s) for part in subexpressions(e)) < 2:
        return fn
    fn = replace(fn, body=tuple(replace(s) if _is_plain(s) else s for s in fn.body))  # none stands there twice
    shared = [one for one in _shared(fn, facts) if len(one.systems) > 1]
    namer = Namer({p.name for p in fn.params} | names_in(fn.body))
    calls: dict[int, list[Stmt]] = {}
    solved: dict[tuple[int, int], Apply] = {}  # by statement: an expression may stand in several
    for one in shared:
        kind = one.matrix.type
        assert isinstance(kind, Array)
        before = calls.setdefault(id(one.first), [])
        matrix = one.matrix
        if not isinstance(matrix, Var):
            matrix = Var(namer.fresh("matrix"), kind)
            before.append(Assign(matrix, one.matrix, one.first.span))
        lu = Var(namer.fresh(f"{matrix.name}_lu"), Array(kind.dtype, kind.dims))
        order = Var(namer.fresh(f"{matrix.name}_order"), Array("int64", kind.dims[:1]))
        before.append(CallStmt((lu, order), "", (matrix,), one.first.span, decompositions.lu_factor))
        for stmt, system in one.systems:
            trans = Const(_is_transposed(system), Scalar("bool", weak=True, value=_is_transposed(system)))
            args = (lu, order, system.args[1], trans)
            solved[id(stmt), id(system)] = Apply(decompositions.lu_solve, args, system.type)

    def rewritten(stmt: Stmt) -> Stmt:
        def each(expr: Any) -> Any:
            made = map_children(expr, each)
            new = solved.get((id(stmt), id(expr)))
            return made if new is None else replace(new, args=(*new.args[:2], made.args[1], new.args[3]))

        return map_exprs(stmt, each) if _is_plain(stmt) else stmt

    return replace(fn, body=tuple(part for s in fn.body for part in (*calls.get(id(s), ()), rewritten(s))))


def _shared(fn: Function, facts: Facts) -> list[_Shared]:
    groups = Groups(fn, facts)
    found: list[_Shared] = []
    known: dict[Expr, _Shared] = {}
    for stmt in fn.body:
        if _is_plain(stmt):
            for part in (part for e in exprs_of(stmt) for part in subexpressions(e)):
                if isinstance(part, Apply) and _is_system(part):
                    matrix = _matrix(part)
                    if matrix not in known:
                        known[matrix] = _Shared(matrix, stmt)
                        found.append(known[matrix])
                    known[matrix].systems.append((stmt, part))
        changed = {n for s in statements((stmt,)) for n in (*bound(s), *written_by(s, facts))}
        met = {groups.find(name) for name in changed}
        known = {
            matrix: one for matrix, one in known.items()
            if not any(name in changed or groups.find(name) in met for name in reads(matrix))
        }  # fmt: skip
    return found


def _is_plain(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign | Store | Return)


def _is_system(expr: Any) -> bool:
    if not isinstance(expr, Apply) or expr.fn is not np.linalg.solve or len(expr.args) != 2 or expr.static:
        return False
    matrix, kind = _matrix(expr), expr.args[1].type
    if _does_more(matrix) or not isinstance(matrix.type, Array) or not isinstance(kind, Array):
        return False
    if all(isinstance(dim, int) and dim <= _FEW for dim in matrix.type.dims):
        return False
    return rank(matrix.type) == 2 and rank(kind) in (1, 2) and matrix.type.dtype == kind.dtype and kind.dtype in _KINDS


def _does_more(matrix: Expr) -> bool:
    """Say whether to make a matrix does something beside, or makes another each time."""
    return draws(matrix) or any(isinstance(p, Apply) and p.fn is ops.pop for p in subexpressions(matrix))


def _is_transposed(system: Apply) -> bool:
    matrix = system.args[0]
    return isinstance(matrix, Apply) and matrix.fn is ops.transpose and len(matrix.args) == 1


def _matrix(system: Apply) -> Expr:
    matrix = system.args[0]
    return matrix.args[0] if _is_transposed(system) and isinstance(matrix, Apply) else matrix
