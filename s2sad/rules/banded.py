"""Rules of matrices by their diagonals: a system, and the products that its derivatives are made of."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, values

_BAND = values(3, 4) + np.array([[0.0], [5.0], [0.0]])
_WIDE = values(4, 5) + np.array([[0.0], [0.0], [6.0], [0.0]])


@rule(runtime.solve_banded)
class solve_banded:
    """Giles 2008, section 2.3.1, within the band."""

    samples = (
        case(_BAND, values(4), 1, trans=False),
        case(_BAND, values(4, 2), 1, trans=True),
        case(_WIDE, values(5), 2, trans=True),
        case(_WIDE + 0.3j, complex_values(5, 2), 2, trans=False),
    )
    complex = True

    def tangent(ab: Any, b: Any, above: Any, y: Any, ab_dot: Any, b_dot: Any, *, trans: bool) -> Any:
        right = b_dot - runtime.banded_product(ab_dot, y, above, trans=trans)
        return runtime.solve_banded(ab, right, above, trans=trans)

    def adjoint(
        ab: Any, b: Any, above: Any, y: Any, y_bar: Any, ab_bar: Any, b_bar: Any, *, trans: bool
    ) -> None:
        right_bar = runtime.solve_banded(ab, y_bar, above, trans=not trans)
        b_bar += right_bar
        if trans:
            ab_bar += -runtime.banded_outer(y, right_bar, ab, above)
        else:
            ab_bar += -runtime.banded_outer(right_bar, y, ab, above)


@rule(runtime.banded_product)
class banded_product:
    """The product of a matrix and a vector or a matrix."""

    samples = (
        case(_BAND, values(4), 1, trans=False),
        case(_BAND, values(4, 2), 1, trans=True),
        case(_WIDE + 0.3j, complex_values(5), 2, trans=True),
    )
    complex = True

    def tangent(ab: Any, x: Any, above: Any, y: Any, ab_dot: Any, x_dot: Any, *, trans: bool) -> Any:
        moved = runtime.banded_product(ab, x_dot, above, trans=trans)
        return moved + runtime.banded_product(ab_dot, x, above, trans=trans)

    def adjoint(
        ab: Any, x: Any, above: Any, y: Any, y_bar: Any, ab_bar: Any, x_bar: Any, *, trans: bool
    ) -> None:
        x_bar += runtime.banded_product(ab, y_bar, above, trans=not trans)
        if trans:
            ab_bar += runtime.banded_outer(x, y_bar, ab, above)
        else:
            ab_bar += runtime.banded_outer(y_bar, x, ab, above)


@rule(runtime.banded_outer)
class banded_outer:
    """The outer product of two vectors, or the sum of those of columns, within a band."""

    samples = (
        case(values(4), values(4, seed=1), _BAND, 1),
        case(complex_values(5, 2), complex_values(5, 2, seed=1), _WIDE, 2),
    )
    complex = True

    def tangent(left: Any, right: Any, ab: Any, above: Any, y: Any, left_dot: Any, right_dot: Any) -> Any:
        return runtime.banded_outer(left_dot, right, ab, above) + runtime.banded_outer(left, right_dot, ab, above)

    def adjoint(
        left: Any, right: Any, ab: Any, above: Any, y: Any, y_bar: Any, left_bar: Any, right_bar: Any
    ) -> None:
        left_bar += runtime.banded_product(y_bar, right, above, trans=False)
        right_bar += runtime.banded_product(y_bar, left, above, trans=True)
