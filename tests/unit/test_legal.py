"""What Numba refuses is rewritten into what it compiles, with the value and type unchanged."""

from __future__ import annotations

import math
import operator
from typing import Any

import numba
import numpy as np
import pytest

from s2sad.backends.numba_cpu import jitted
from s2sad.emit.names import Names
from s2sad.emit.printer import print_expr
from s2sad.frontend.infer import infer
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Pack, Var
from s2sad.ir.typeof import typeof
from s2sad.ir.types import Static, Struct
from s2sad.rules.legal import legal
from s2sad.rules.sample import complex_values, definite, values

V, M, S, C = values(4), values(3, 4), definite(3, 3), values(2, 3, 4)
ONE = values(1, 3, 1)

CASES: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (np.mean, (M,), {"axis": 0}),
    (np.mean, (C,), {"axis": (0, 2)}),
    (np.mean, (M,), {"axis": -1, "keepdims": True}),
    (np.mean, (M,), {"keepdims": True}),
    (np.mean, (V,), {"axis": 0}),
    (np.average, (M,), {"axis": 0}),
    (np.sum, (M,), {"axis": 0, "keepdims": True}),
    (np.sum, (C,), {"axis": (0, 1), "keepdims": True}),
    (np.var, (M,), {"axis": 1}),
    (np.var, (V,), {"ddof": 1}),
    (np.var, (C,), {"axis": (0, 2), "keepdims": True}),
    (np.std, (C,), {"axis": (0, 1), "ddof": 1}),
    (np.std, (values(2, 3, 2, 4),), {"axis": (0, 2, 3)}),
    (np.nanmean, (C,), {"axis": (1, 2)}),
    (np.std, (M,), {"axis": 0, "ddof": 1, "keepdims": True}),
    (np.max, (C,), {"axis": 1}),
    (np.max, (C,), {"axis": (0, 2), "keepdims": True}),
    (np.amin, (M,), {"axis": 0}),
    (np.prod, (M,), {"axis": 0}),
    (np.ptp, (M,), {"axis": 0}),
    (np.any, (M > 1.0,), {"axis": 0}),
    (np.all, (M > -1.0,), {"axis": -1}),
    (np.cumprod, (M,), {"axis": 0}),
    (np.diff, (M,), {"axis": 0}),
    (np.diff, (np.asfortranarray(M),), {}),
    (np.sort, (M,), {"axis": 0}),
    (np.argsort, (V,), {"axis": 0}),
    (np.argsort, (M,), {}),
    (np.argsort, (M,), {"axis": 0}),
    (np.matmul, (M, V), {}),
    (operator.matmul, (C, values(2, 4, 3)), {}),
    (operator.matmul, (C, values(4, 2)), {}),
    (operator.matmul, (C, V), {}),
    (operator.matmul, (values(3), C), {}),
    (np.dot, (V, 2.0), {}),
    (np.inner, (V, V), {}),
    (np.inner, (M, M), {}),
    (np.vdot, (M, M), {}),
    (np.linalg.solve, (definite(2, 3, 3), values(2, 3, 2)), {}),
    (np.linalg.inv, (definite(2, 3, 3),), {}),
    (np.linalg.det, (definite(2, 3, 3),), {}),
    (np.linalg.norm, (M,), {"axis": 1}),
    (np.linalg.norm, (M,), {"ord": 1, "axis": 0, "keepdims": True}),
    (np.linalg.norm, (M,), {"ord": np.inf, "axis": 0}),
    (np.linalg.norm, (M,), {"ord": "fro"}),
    (np.linalg.norm, (C,), {}),
    (np.expand_dims, (M,), {"axis": (0, -1)}),
    (np.squeeze, (ONE,), {}),
    (np.squeeze, (ONE,), {"axis": 0}),
    (np.swapaxes, (C,), {"axis1": 0, "axis2": -1}),
    (np.take, (C, np.array([[0, 1], [1, 1], [0, 0]])), {"axis": 1}),
    (np.take, (C[0], np.array([[0, 1], [1, 1], [0, 0]])), {"axis": -1}),
    (np.take, (C[0, 0], np.array([[0, 1], [1, 1], [0, 0]])), {"axis": 0}),
    (np.moveaxis, (C,), {"source": 0, "destination": 2}),
    (np.moveaxis, (C,), {"source": (0, 2), "destination": (0, 1)}),
    (np.tile, (V, 2), {}),
    (np.tile, (V, (2, 1)), {}),
    (np.tile, (M, 2), {}),
    (np.tile, (M, (2, 3)), {}),
    (np.tile, (C, (1, 2, 1)), {}),
    (np.pad, (C,), {"pad_width": ((0, 1), (1, 0), (2, 1))}),
    (np.rot90, (C,), {"k": 3, "axes": (1, 2)}),
    (np.full, ((2, 4), V), {}),
    (np.full, ([2, 4], 1.5), {}),
    (np.tri, (3,), {"k": -1, "dtype": np.float64}),
    (np.tri, (2, 4), {"dtype": np.int64}),
    (np.zeros, ([2, 4],), {}),
    (np.reshape, (M, [4, 3]), {}),
    (np.broadcast_to, (V, [3, 4]), {}),
    (np.transpose, (M,), {"axes": (1, 0)}),
    (np.transpose, (C,), {"axes": (1, 0, 2)}),
    (abs, (complex_values(3),), {}),
    (abs, (M,), {}),
    (np.vstack, ([M, V],), {}),
    (np.linspace, (V, 2.0, 5), {}),
    (np.linspace, (0.5, 2.0, 5), {"endpoint": False}),
    (np.roll, (M, (1, -2)), {"axis": (0, 1)}),
    (np.repeat, (M, 2), {"axis": 0}),
    (np.roll, (M, 1), {"axis": 0}),
    (np.flip, (M,), {"axis": 0}),
    (np.flip, (C,), {"axis": (0, 2)}),
    (np.pad, (V,), {"pad_width": (1, 2)}),
    (np.pad, (M,), {"pad_width": ((0, 1), (2, 0)), "constant_values": 0.5}),
    (np.concatenate, ([V, V],), {}),
    (np.concatenate, ((M, M),), {"axis": None}),
    (np.stack, ([V, V],), {"axis": 1}),
    (np.hstack, ([V, V],), {}),
    (np.vstack, ([V, V],), {}),
    (np.column_stack, ([V, V],), {}),
    (np.array, ([V, V],), {}),
    (np.array, (V,), {}),
    (np.diagonal, (M,), {"offset": 1}),
    (np.clip, (0.5, 0.0, 0.25), {}),
    (np.clip, (V, 0.0, 0.25), {}),
    (np.fix, (V,), {}),
    (ops.unbroadcast, (C, V), {}),
    (ops.unbroadcast, (C, values(3, 1)), {}),
    (ops.unbroadcast, (C, 1.0), {}),
    (math.cbrt, (2.0,), {}),
    (math.fmod, (5.0, 3.0), {}),
    (math.hypot, (1.0, 2.0, 3.0), {}),
    (math.prod, ([1.0, 2.0, 3.0],), {}),
    (math.fsum, ([1.0, 2.0, 3.0],), {}),
    (math.dist, ([1.0, 2.0], [3.0, 5.0]), {}),
    (np.cumsum, (M,), {"axis": -1}),
    (np.einsum, ("i,i->", V, values(4, seed=1)), {}),
    (np.einsum, ("ij,jk->ik", M, values(4, 2)), {}),
    (np.einsum, ("ij,jk->ki", M, values(4, 2)), {}),
    (np.einsum, ("ji,jk", M, values(3, 2)), {}),
    (np.einsum, ("ij,ji->", M, values(4, 3)), {}),
    (np.einsum, ("ij,ij->", M, values(3, 4, seed=1)), {}),
    (np.einsum, ("ij,ij->i", M, values(3, 4, seed=1)), {}),
    (np.einsum, ("ij,ij->ij", M, values(3, 4, seed=1)), {}),
    (np.einsum, ("i,j->ij", V, values(3)), {}),
    (np.einsum, ("ij,k->k", M, values(2)), {}),
    (np.einsum, ("ij->ji", M), {}),
    (np.einsum, ("ij->j", M), {}),
    (np.einsum, ("ij->", M), {}),
    (np.einsum, ("kij->jki", C), {}),
    (np.einsum, ("ii->", S), {}),
    (np.einsum, ("ii->i", S), {}),
    (np.einsum, ("bij,bjk->bik", C, values(2, 4, 2)), {}),
    (np.einsum, ("bij,bkj->ikb", C, values(2, 5, 4)), {}),
    (np.einsum, ("ijk,kj->i", C, values(4, 3)), {}),
    (np.einsum, ("i,ij,j->", values(3), M, V), {}),
    (np.einsum, ("i,ij,j->i", values(3), M, V), {}),
    (np.einsum, ("ij,jk,kl->il", M, values(4, 2), values(2, 3)), {}),
    (np.einsum, (",ij->ij", 2.5, M), {}),
    (np.tensordot, (M, values(4, 2)), {"axes": 1}),
    (np.tensordot, (C, values(3, 4, 2)), {}),
    (np.tensordot, (C, values(4, 3, 5)), {"axes": ((1, 2), (1, 0))}),
    (np.tensordot, (V, values(3)), {"axes": 0}),
    (np.tensordot, (M, values(3, 4, seed=1)), {}),
    (np.linalg.matrix_power, (S,), {"n": 3}),
    (np.linalg.pinv, (M,), {}),
    (np.linalg.eigvalsh, (S,), {"UPLO": "U"}),
    (np.linalg.svdvals, (M,), {}),
    (np.linalg.norm, (complex_values(3, 4),), {"axis": 1}),
    (np.linalg.norm, (M,), {"ord": 3, "axis": 1}),
    (np.linalg.norm, (C,), {"axis": (0, 2)}),
    (np.vdot, (complex_values(3), complex_values(3, seed=1)), {}),
    (np.vdot, (complex_values(2, 3), complex_values(2, 3, seed=1)), {}),
    (np.tril, (C,), {"k": -1}),
    (np.trace, (definite(2, 3, 3),), {"axis1": -2, "axis2": -1}),
    (np.convolve, (V, values(3)), {"mode": "same"}),
    (np.correlate, (V, values(3)), {"mode": "valid"}),
    (np.correlate, (values(3), V), {"mode": "full"}),
    (np.interp, (V, np.arange(4.0), V), {}),
    (np.interp, (0.3, np.arange(4.0), V), {}),
    (np.polyval, (V, 0.7), {}),
    (np.polyval, (V, M), {}),
    (np.vander, (V, 3), {}),
    (np.nansum, (np.where(M > 1.5, np.nan, M),), {"axis": 0}),
    (np.nanmean, (np.where(M > 1.5, np.nan, M),), {"axis": 1, "keepdims": True}),
    (np.nanmean, (np.where(M > 1.5, np.nan, M),), {}),
    (np.median, (M,), {}),
    (np.quantile, (M, 0.3), {}),
    (np.percentile, (M, 30.0), {}),
    (np.sort, (M,), {"axis": None}),
    (np.expand_dims, (2.5,), {"axis": (0, 1)}),
    (np.trapezoid, (M,), {"dx": 0.5}),
    (np.nan_to_num, (V,), {}),
    (np.ldexp, (V, 2), {}),
    (ops.astype, (V,), {"dtype": np.float32}),
    (ops.astype, (V,), {"dtype": np.complex128}),
    (np.take_along_axis, (M, np.argsort(M, axis=1)), {"axis": 1}),
]


def expression(value: Any, name: str, variables: dict[str, Any]) -> Expr:
    if isinstance(value, list | tuple):
        items = tuple(expression(item, f"{name}{k}", variables) for k, item in enumerate(value))
        kind = "list" if isinstance(value, list) else "tuple"
        keys = tuple(range(len(items)))
        return Pack(kind, items, Struct(kind, keys, tuple(i.type for i in items)))
    if isinstance(value, str | None):
        return Const(value, Static(value))
    if isinstance(value, int):
        return Const(value, typeof(value))
    variables[name] = value
    return Var(name, typeof(value, name))


def compiled(call: Expr, variables: dict[str, Any]) -> Any:
    names = Names({})
    text = print_expr(call, names)
    scope: dict[str, Any] = {"np": np, "math": math}
    scope.update({name: jitted(fn, cache=False) for name, fn in names.runtime.items()})
    scope.update(names.externals)
    exec(f"def f({', '.join(variables)}):\n    return {text}", scope)
    return numba.njit(scope["f"])(*variables.values())


@pytest.mark.compiled
@pytest.mark.parametrize(("fn", "args", "static"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_legal_call_compiles_to_the_same_value(fn: Any, args: Any, static: Any) -> None:
    variables: dict[str, Any] = {}
    operands = tuple(expression(arg, "abcd"[k], variables) for k, arg in enumerate(args))
    kind = infer(fn, operands, static)
    got = compiled(legal(Apply(fn, operands, kind, tuple(static.items()))), variables)
    expected = fn(*args, **static)
    assert np.shape(got) == np.shape(expected)
    assert np.result_type(got) == np.result_type(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_a_call_that_numba_takes_is_left_alone() -> None:
    call = Apply(np.tanh, (Var("x", typeof(V)),), typeof(V))
    assert legal(call) is call


def test_what_is_computed_is_repeated_along_an_axis() -> None:
    x = Var("x", typeof(M))
    operands = (Apply(operator.add, (x, x), typeof(M)), Const(2, typeof(2)))
    call = Apply(np.repeat, operands, infer(np.repeat, operands, {"axis": 1}), (("axis", 1),))
    np.testing.assert_allclose(compiled(legal(call), {"x": M}), np.repeat(M + M, 2, axis=1))
