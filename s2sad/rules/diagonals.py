"""Diagonals, triangles, copies and fills."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, complex_values, values

_VECTOR = values(4)
_MATRIX = values(3, 4)


def real_to_complex(source: Any, target: Any) -> bool:
    """Say whether a cast from dtype `source` to `target` adds an imaginary part."""
    return np.dtype(source).kind != "c" and np.dtype(target).kind == "c"


constant(real_to_complex)


@rule(np.diag)
class diag:
    """A vector to a diagonal, or a diagonal to a vector: each the other's transpose."""

    samples = (case(_VECTOR), case(_VECTOR, k=-1), case(_MATRIX), case(_MATRIX, k=1))
    complex = True

    def tangent(v: Any, y: Any, v_dot: Any, *, k: int = 0) -> Any:
        return np.diag(v_dot, k=k)

    def adjoint(v: Any, y: Any, y_bar: Any, v_bar: Any, *, k: int = 0) -> None:
        if v.ndim == 1:
            v_bar += np.diag(y_bar, k=k)
        else:
            v_bar += runtime.put_diagonal(y_bar, v, k)


@rule(np.diagonal)
class diagonal:
    """A diagonal of a matrix; of more axes it is read as their places (`rules/rearranging.py`)."""

    samples = (case(_MATRIX), case(_MATRIX, offset=-1))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, offset: int = 0) -> Any:
        return np.diagonal(a_dot, offset=offset)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, offset: int = 0) -> None:
        a_bar += runtime.put_diagonal(y_bar, a, offset)


@rule(np.tril)
class tril:
    """A projection, hence its own transpose."""

    samples = (case(_MATRIX), case(_MATRIX, k=-1), case(values(2, 3, 3)), case(_VECTOR))
    complex = True

    def tangent(m: Any, y: Any, m_dot: Any, *, k: int = 0) -> Any:
        return np.tril(m_dot, k=k)

    def adjoint(m: Any, y: Any, y_bar: Any, m_bar: Any, *, k: int = 0) -> None:
        m_bar += unbroadcast(np.tril(y_bar, k=k), m)


@rule(np.triu)
class triu:
    """A projection, hence its own transpose."""

    samples = (case(_MATRIX), case(_MATRIX, k=1), case(values(2, 3, 3)), case(_VECTOR, k=1))
    complex = True

    def tangent(m: Any, y: Any, m_dot: Any, *, k: int = 0) -> Any:
        return np.triu(m_dot, k=k)

    def adjoint(m: Any, y: Any, y_bar: Any, m_bar: Any, *, k: int = 0) -> None:
        m_bar += unbroadcast(np.triu(y_bar, k=k), m)


@rule(np.copy, np.ascontiguousarray, np.asfortranarray)
class copy:
    """The identity."""

    samples = (case(_VECTOR), case(_MATRIX))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        return np.copy(a_dot)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        a_bar += y_bar


@rule(ops.astype)
class astype:
    """The same numbers in another dtype; cotangents are cast back."""

    samples = (
        case(_MATRIX, dtype=np.float64),
        case(complex_values(3), dtype=np.complex128),
    )
    complex = True

    def tangent(x: Any, y: Any, x_dot: Any, *, dtype: Any) -> Any:
        return x_dot.astype(dtype)

    def adjoint(x: Any, y: Any, y_bar: Any, x_bar: Any, *, dtype: Any) -> None:
        if real_to_complex(x.dtype, dtype):
            x_bar += np.real(y_bar)
        else:
            x_bar += y_bar.astype(x.dtype)


@rule(np.full)
class full:
    """A value to every element; the transpose sums them."""

    samples = (case((2, 3), values()), case((2, 3), values(3)), case(4, values()))
    complex = True

    def tangent(shape: Any, fill_value: Any, y: Any, fill_value_dot: Any) -> Any:
        return np.full(shape, fill_value_dot)

    def adjoint(shape: Any, fill_value: Any, y: Any, y_bar: Any, fill_value_bar: Any) -> None:
        fill_value_bar += unbroadcast(y_bar, fill_value)


@rule(np.full_like)
class full_like:
    """A value to every element; the array gives only its shape."""

    samples = (case(_MATRIX, values()), case(_MATRIX, values(4)))
    complex = True

    def tangent(a: Any, fill_value: Any, y: Any, fill_value_dot: Any) -> Any:
        return np.full_like(a, fill_value_dot)

    def adjoint(a: Any, fill_value: Any, y: Any, y_bar: Any, fill_value_bar: Any) -> None:
        fill_value_bar += unbroadcast(y_bar, fill_value)


@rule(np.where)
class where:
    """A choice; NaN on the side that was not taken does not leak."""

    samples = (
        case(_VECTOR > 0, values(4, seed=1), values(4, seed=2)),
        case(_MATRIX > 0, values(4), values(3, 1, seed=2)),
        case(_MATRIX > 0, values(), values(3, 4)),
    )
    complex = True

    def tangent(condition: Any, a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.where(condition, a_dot, 0.0) + np.where(condition, 0.0, b_dot)

    def adjoint(condition: Any, a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        a_bar += unbroadcast(np.where(condition, y_bar, 0.0), a)
        b_bar += unbroadcast(np.where(condition, 0.0, y_bar), b)


@rule(np.conj, np.conjugate)
class conj:
    """Linear over the reals: the cotangent is conjugated (as JAX)."""

    samples = (case(_VECTOR), case(complex_values(3)))
    complex = True

    def tangent(x: Any, y: Any, x_dot: Any) -> Any:
        return np.conj(x_dot)

    def adjoint(x: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        x_bar += np.conj(y_bar)
