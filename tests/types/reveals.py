"""What type checkers see; checked, never run. `assert_type` fails the check where the type is another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import s2sad
from s2sad.api.custom import CustomJVP, CustomVJP
from s2sad.api.jacobian import Jacobian
from s2sad.api.transformed import Transformed
from s2sad.api.vmap import Batched

Vector = npt.NDArray[np.float64]


@s2sad.differentiate
def bare(x: Vector, k: float = 1.0) -> float:
    return float(np.sum(x**2) * k)


@s2sad.differentiate(argnums=("x", "k"), target="python")
def chosen(x: Vector, k: float) -> float:
    return float(np.sum(x**2) * k)


def plain(x: float, n: int) -> float:
    return x**n


vector = np.ones(3)

assert_type(bare(vector), float)
assert_type(bare(vector, k=2.0), float)
assert_type(chosen(vector, 2.0), float)
both: tuple[Any, Any] = bare.value_and_grad(vector)
assert_type(bare.py_func(vector, 1.0), float)
assert_type(bare.jvp((vector,), (vector,)), tuple[Any, ...])
source: str = bare.source("grad")

slope = s2sad.grad(plain)
assert_type(slope(2.0, 3), Any)
value: Callable[[float, int], tuple[Any, Any]] = s2sad.value_and_grad(plain)
jacobian: Callable[[float, int], Any] = s2sad.jacfwd(plain)
assert_type(s2sad.hessian(plain)(2.0, 3), Any)


@s2sad.custom_vjp
def ruled(x: float) -> float:
    return x * x


@s2sad.custom_jvp
def also_ruled(x: float) -> float:
    return x * x


assert_type(ruled(3.0), float)
assert_type(also_ruled(3.0), float)

__all__ = ["Batched", "CustomJVP", "CustomVJP", "Jacobian", "Transformed"]
