"""Triangular systems: of a few rows by loops, of more by BLAS, on the matrix as it lies.

BLAS is faster than the loops from some 20 rows on (1.8 times for one right side of 48, measured). As in SciPy a
zero on the diagonal is an error.
Source: the interface of the reference BLAS (Dongarra et al. 1990).
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from s2sad.backends import any_layout, solvers

_extending: Any = importlib.import_module("numba.extending")
_ir: Any = importlib.import_module("llvmlite.ir")
_linalg: Any = importlib.import_module("numba.np.linalg")
_support: Any = importlib.import_module("numba.np.numpy_support")
_types: Any = importlib.import_module("numba.core.types")
_utils: Any = importlib.import_module("numba.core.cgutils")

_FEW = 16
"""Rows of a matrix that loops serve: up to here they are as fast as BLAS."""
_NOT_SQUARE = "the matrix of a triangular system is not square"
_UNEQUAL = "the matrix and the right side of a system are not equally long"
_SINGULAR = "Singular matrix"
_WHOLE = _ir.IntType(32)
_LETTER = _ir.IntType(8)
_PLACE = _LETTER.as_pointer()


def _by_blas(dtype: Any) -> Any:
    """Return what calls BLAS for numbers of one type."""
    letter = _linalg.get_blas_kind(dtype)

    @_extending.intrinsic
    def solve(typing: Any, a: Any, apart: Any, x: Any, count: Any, upper: Any, transposed: Any, unit: Any) -> Any:
        """Solve in place, `x` being the right sides by rows and `a` a matrix by columns, these `apart`.

        One right side solves `op(a) x = b`; several, which BLAS takes for the transposed array, `x op(a) = b`.
        """

        def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            matrix, right = (context.make_array(sig.args[at])(context, builder, args[at]) for at in (0, 2))

            def there(value: Any) -> Any:
                slot = _utils.alloca_once_value(builder, value)
                return builder.bitcast(slot, _PLACE)

            def count_of(value: Any) -> Any:
                return there(builder.trunc(value, _WHOLE))

            def letter_of(flag: Any, yes: str, no: str) -> Any:
                return there(builder.select(builder.trunc(flag, _ir.IntType(1)), _LETTER(ord(yes)), _LETTER(ord(no))))

            data, found = (builder.bitcast(one.data, _PLACE) for one in (matrix, right))
            triangle = letter_of(args[4], "U", "L")
            turned = letter_of(args[5], "T", "N")
            diagonal = letter_of(args[6], "U", "N")
            rows = count_of(_utils.unpack_tuple(builder, right.shape)[0])
            several = builder.icmp_signed("!=", args[3], args[3].type(1))

            def call(name: str, *given: Any) -> None:
                kind = _ir.FunctionType(_ir.VoidType(), [_PLACE] * len(given))
                function = _utils.get_or_insert_function(builder.module, kind, solvers.symbol(letter + name))
                builder.call(function, given)

            with builder.if_else(several) as (many, one):
                with many:
                    factor = builder.bitcast(_linalg.make_constant_slot(context, builder, dtype, 1.0), _PLACE)
                    side, wide = there(_LETTER(ord("R"))), count_of(args[3])
                    call("trsm", side, triangle, turned, diagonal, wide, rows, factor, data, count_of(args[1]), found,
                         wide)  # fmt: skip
                with one:
                    call("trsv", triangle, turned, diagonal, rows, data, count_of(args[1]), found, there(_WHOLE(1)))
            return context.get_dummy_value()

        return _types.void(a, _types.intp, x, _types.intp, *(_types.boolean,) * 3), written

    return solve


@functools.cache
def _solver(dtype: Any, several: bool) -> Any:
    """Return the compiled function that solves triangular systems of one type, for several right sides or one."""
    solvers.name_all()
    number, by_blas = _support.as_dtype(dtype), _by_blas(dtype)

    def solve_triangular(a: Any, b: Any, trans: bool, lower: bool, unit: bool) -> Any:
        n = a.shape[0]
        if a.shape[1] != n:
            raise ValueError(_NOT_SQUARE)
        if b.shape[0] != n:
            raise ValueError(_UNEQUAL)
        if not unit:
            for i in range(n):
                if a[i, i] == 0:
                    raise np.linalg.LinAlgError(_SINGULAR)
        x = np.empty(b.shape, dtype=number)
        x[:] = b
        count = b.shape[1] if several else 1
        if n <= _FEW:
            for step in range(n):
                i = step if lower != trans else n - 1 - step
                for k in range(step):
                    j = k if lower != trans else n - 1 - k
                    factor = a[j, i] if trans else a[i, j]
                    if several:
                        for r in range(count):
                            x[i, r] -= factor * x[j, r]
                    else:
                        x[i] -= factor * x[j]
                if several and not unit:
                    for r in range(count):
                        x[i, r] /= a[i, i]
                elif not unit:
                    x[i] /= a[i, i]
        elif count > 0:
            one = a.itemsize
            if a.strides[0] == one and a.strides[1] >= n * one and a.strides[1] % one == 0:
                by_blas(a, a.strides[1] // one, x, count, not lower, trans == (count == 1), unit)
            elif a.strides[1] == one and a.strides[0] >= n * one and a.strides[0] % one == 0:
                by_blas(a, a.strides[0] // one, x, count, lower, trans != (count == 1), unit)
            else:
                by_blas(a.copy(), n, x, count, lower, trans != (count == 1), unit)
        return x

    return any_layout.compiled(solve_triangular, f"solve_triangular {number} {several}")


def solved(dtype: Any, rank: int) -> tuple[Any, Any]:
    """Return the type of a solution, one (`rank` 1) or several, and what writes it."""
    kinds = (any_layout.given(dtype, 2), any_layout.given(dtype, rank), *(_types.boolean,) * 3)
    return _types.Array(dtype, rank, "C"), any_layout.called(_solver(dtype, rank == 2), kinds)
