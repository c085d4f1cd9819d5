"""Sums of products over named axes, powers of matrices, convolutions."""

# pyright: reportSelfClsParameterName=false, reportPossiblyUnboundVariable=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules import subscripts as named
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, complex_values, definite, values

constant(named.transposed, named.nothing_to_do, named.gaps, named.twins, named.besides)
constant(named.left_axes, named.right_axes, named.left_order, named.right_order, named.in_order)
constant(named.smaller_powers)

_SQUARE = values(3, 3)
_MATRIX = values(3, 4)
_CUBE = values(2, 3, 4)


@rule(np.einsum)
class einsum:
    """Linear in each operand; the transpose exchanges that operand's letters with the result's.

    An axis that only one operand has is spread again; a repeated letter is a diagonal.
    """

    samples = (
        case("i,i->", values(3), values(3, seed=1)),
        case("ij,jk->ik", _MATRIX, values(4, 2, seed=1)),
        case("ij,jk", _MATRIX, values(4, 2, seed=1)),
        case("ij,ji->", _MATRIX, values(4, 3, seed=1)),
        case("ij,ij->", _MATRIX, values(3, 4, seed=1)),
        case("ij->ji", _MATRIX),
        case("ij->j", _MATRIX),
        case("ij->", _MATRIX),
        case("ii->", _SQUARE),
        case("ii->i", _SQUARE),
        case("ii,i->i", _SQUARE, values(3)),
        case("iji->j", values(2, 3, 2)),
        case("bij,bjk->bik", _CUBE, values(2, 4, 2, seed=1)),
        case("ij,k->k", _MATRIX, values(2)),
        case("i,ij,j->", values(3), _MATRIX, values(4)),
        case("ij,jk,kl->il", _MATRIX, values(4, 2), values(2, 3, seed=2)),
        case(",ij->ij", values(), _MATRIX),
        case("ij,jk->ik", complex_values(2, 3), complex_values(3, 2, seed=1)),
    )
    complex = True

    def tangent(
        subscripts: Any, a: Any, b: Any, c: Any, y: Any, a_dot: Any, b_dot: Any, c_dot: Any
    ) -> Any:
        if b is None:
            return np.einsum(subscripts, a_dot)
        elif c is None:
            return np.einsum(subscripts, a_dot, b) + np.einsum(subscripts, a, b_dot)
        else:
            first = np.einsum(subscripts, a_dot, b, c) + np.einsum(subscripts, a, b_dot, c)
            return first + np.einsum(subscripts, a, b, c_dot)

    def adjoint(
        subscripts: Any,
        a: Any,
        b: Any,
        c: Any,
        y: Any,
        y_bar: Any,
        a_bar: Any,
        b_bar: Any,
        c_bar: Any,
    ) -> None:
        if b is None and named.nothing_to_do(subscripts, 0):
            a_part = y_bar
        elif b is None:
            a_part = np.einsum(named.transposed(subscripts, 0), y_bar)
        elif c is None:
            a_part = np.einsum(named.transposed(subscripts, 0), y_bar, b)
            b_part = np.einsum(named.transposed(subscripts, 1), y_bar, a)
        else:
            a_part = np.einsum(named.transposed(subscripts, 0), y_bar, b, c)
            b_part = np.einsum(named.transposed(subscripts, 1), y_bar, a, c)
            c_part = np.einsum(named.transposed(subscripts, 2), y_bar, a, b)

        if named.gaps(subscripts, 0) == ():
            a_bar += a_part
        elif named.twins(subscripts, 0) == ():
            a_bar += np.expand_dims(a_part, named.gaps(subscripts, 0))
        else:
            a_eye = np.eye(a.shape[named.twins(subscripts, 0)[0]], dtype=a.dtype)
            a_diagonal = np.expand_dims(a_eye, named.besides(subscripts, 0))
            a_bar += np.expand_dims(a_part, named.gaps(subscripts, 0)) * a_diagonal

        if b is None:
            pass
        elif named.gaps(subscripts, 1) == ():
            b_bar += b_part
        elif named.twins(subscripts, 1) == ():
            b_bar += np.expand_dims(b_part, named.gaps(subscripts, 1))
        else:
            b_eye = np.eye(b.shape[named.twins(subscripts, 1)[0]], dtype=b.dtype)
            b_diagonal = np.expand_dims(b_eye, named.besides(subscripts, 1))
            b_bar += np.expand_dims(b_part, named.gaps(subscripts, 1)) * b_diagonal

        if c is None:
            pass
        elif named.gaps(subscripts, 2) == ():
            c_bar += c_part
        elif named.twins(subscripts, 2) == ():
            c_bar += np.expand_dims(c_part, named.gaps(subscripts, 2))
        else:
            c_eye = np.eye(c.shape[named.twins(subscripts, 2)[0]], dtype=c.dtype)
            c_diagonal = np.expand_dims(c_eye, named.besides(subscripts, 2))
            c_bar += np.expand_dims(c_part, named.gaps(subscripts, 2)) * c_diagonal


@rule(np.tensordot)
class tensordot:
    """Linear in each operand; the transpose sums over the other's free axes."""

    samples = (
        case(_MATRIX, values(4, 2, seed=1), axes=1),
        case(_CUBE, values(3, 4, 2, seed=1)),
        case(_CUBE, values(4, 3, 5, seed=1), axes=((1, 2), (1, 0))),
        case(_CUBE, values(2, 5, seed=1), axes=(0, 0)),
        case(values(3), values(2, seed=1), axes=0),
        case(_MATRIX, values(3, 4, seed=1), axes=((0, 1), (0, 1))),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any, *, axes: Any = 2) -> Any:
        return np.tensordot(a_dot, b, axes=axes) + np.tensordot(a, b_dot, axes=axes)

    def adjoint(
        a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any, *, axes: Any = 2
    ) -> None:
        if np.ndim(y) == 0:
            a_part = y_bar * b
            b_part = y_bar * a
        else:
            a_part = np.tensordot(y_bar, b, axes=named.left_axes(axes, a.ndim, b.ndim))
            b_part = np.tensordot(a, y_bar, axes=named.right_axes(axes, a.ndim, b.ndim))

        if named.in_order(named.left_order(axes, a.ndim, b.ndim)):
            a_bar += a_part
        else:
            a_bar += np.transpose(a_part, axes=named.left_order(axes, a.ndim, b.ndim))

        if named.in_order(named.right_order(axes, a.ndim, b.ndim)):
            b_bar += b_part
        else:
            b_bar += np.transpose(b_part, axes=named.right_order(axes, a.ndim, b.ndim))


@rule(np.linalg.matrix_power)
class matrix_power:
    """The product rule: one factor of the power at a time."""

    samples = (
        case(values(2, 3, 3), n=3),
        case(_SQUARE, n=1),
        case(_SQUARE, n=2),
        case(_SQUARE, n=3),
        case(_SQUARE, n=5),
        case(definite(3, 3), n=-1),
    )
    only = (("n", (-1, 1, 2, 3, 4, 5, 6, 7, 8)),)
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, n: int) -> Any:
        if n == -1:
            return -(y @ a_dot @ y)
        elif n == 1:
            return a_dot
        else:
            total = a_dot @ np.linalg.matrix_power(a, n=n - 1)
            for p, q in named.smaller_powers(n):
                left = np.linalg.matrix_power(a, n=p)
                total = total + left @ a_dot @ np.linalg.matrix_power(a, n=q)
            return total + np.linalg.matrix_power(a, n=n - 1) @ a_dot

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, n: int) -> None:
        if n == -1:
            a_bar += -(np.matrix_transpose(y) @ y_bar @ np.matrix_transpose(y))
        elif n == 1:
            a_bar += y_bar
        else:
            turned = np.matrix_transpose(a)
            last = np.linalg.matrix_power(turned, n=n - 1)
            a_bar += y_bar @ last
            for p, q in named.smaller_powers(n):
                left = np.linalg.matrix_power(turned, n=p)
                a_bar += left @ y_bar @ np.linalg.matrix_power(turned, n=q)
            a_bar += last @ y_bar


@rule(np.convolve)
class convolve:
    """The transpose of convolving correlates."""

    samples = (
        case(values(5), values(3, seed=1)),
        case(values(3), values(5, seed=1)),
        case(values(5), values(3, seed=1), mode="same"),
        case(values(5), values(4, seed=1), mode="same"),
        case(values(2), values(5, seed=1), mode="same"),
        case(values(5), values(3, seed=1), mode="valid"),
        case(values(2), values(5, seed=1), mode="valid"),
        case(complex_values(5), complex_values(3, seed=1), mode="same"),
    )
    only = (("mode", ("full", "same", "valid")),)
    complex = True

    def tangent(a: Any, v: Any, y: Any, a_dot: Any, v_dot: Any, *, mode: Any = "full") -> Any:
        return np.convolve(a_dot, v, mode=mode) + np.convolve(a, v_dot, mode=mode)

    def adjoint(
        a: Any, v: Any, y: Any, y_bar: Any, a_bar: Any, v_bar: Any, *, mode: Any = "full"
    ) -> None:
        if mode == "full":
            whole = y_bar
        elif mode == "same":
            start = (min(a.size, v.size) - 1) // 2
            whole = runtime.embed(y_bar, start, a.size + v.size - 1)
        else:
            start = min(a.size, v.size) - 1
            whole = runtime.embed(y_bar, start, a.size + v.size - 1)
        a_bar += np.correlate(whole, np.conj(v), mode="valid")
        v_bar += np.correlate(whole, np.conj(a), mode="valid")


@rule(np.correlate)
class correlate:
    """As convolving with the second operand reversed."""

    samples = (
        case(values(5), values(3, seed=1)),
        case(values(3), values(5, seed=1)),
        case(values(5), values(3, seed=1), mode="same"),
        case(values(5), values(4, seed=1), mode="same"),
        case(values(2), values(5, seed=1), mode="same"),
        case(values(3), values(4, seed=1), mode="same"),
        case(values(5), values(3, seed=1), mode="full"),
        case(values(2), values(5, seed=1), mode="full"),
    )
    only = (("mode", ("full", "same", "valid")),)

    def tangent(a: Any, v: Any, y: Any, a_dot: Any, v_dot: Any, *, mode: Any = "valid") -> Any:
        return np.correlate(a_dot, v, mode=mode) + np.correlate(a, v_dot, mode=mode)

    def adjoint(
        a: Any, v: Any, y: Any, y_bar: Any, a_bar: Any, v_bar: Any, *, mode: Any = "valid"
    ) -> None:
        if mode == "full":
            whole = y_bar
        elif mode == "same":
            shorter = min(a.size, v.size)
            # NumPy correlates the longer with the shorter and turns the result around
            start = (shorter - 1) // 2 if a.size >= v.size else shorter // 2
            whole = runtime.embed(y_bar, start, a.size + v.size - 1)
        else:
            start = min(a.size, v.size) - 1
            whole = runtime.embed(y_bar, start, a.size + v.size - 1)
        a_bar += np.convolve(whole, v, mode="valid")
        v_bar += np.correlate(whole, a, mode="valid")[::-1]
