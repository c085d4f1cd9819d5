"""Target "cpu": calls of linear algebra that Numba 0.68 cannot compile, in a form that it can."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, CallStmt, Const, Expr
from s2sad.ir.types import Array, Scalar, Type, is_complex, rank
from s2sad.rules.legal_products import of_one_dtype
from s2sad.runtime import decompositions as helpers

Rewrite = Callable[[Apply], Expr | None]

_INT = Scalar("int64", weak=True)


def legal_scipy(call: Apply) -> Expr | None:
    """Return a call of SciPy in the form of a helper, or None."""
    name = getattr(call.fn, "__name__", "")
    static = dict(call.static)
    if name == "expm" and rank(call.type) == 2:
        return Apply(helpers.expm, call.args, call.type)
    if name == "solve_triangular":
        settings = (_flag(bool(static.get(s, False))) for s in ("trans", "lower", "unit_diagonal"))
        return Apply(helpers.solve_triangular, (*call.args, *settings), call.type)
    return None


def legal_call(call: CallStmt) -> CallStmt:
    """Return a call with several results in a form that Numba compiles, where one is known."""
    static = dict(call.static)
    batch = any(rank(arg.type) > 2 for arg in call.args[:1])
    if call.fn is np.linalg.eigh:
        if static.get("UPLO") == "U":  # of the mirrored matrix the vectors could have other signs
            return call
        return replace(call, fn=helpers.eigh_batch if batch else np.linalg.eigh, static=())
    if call.fn is np.linalg.svd:
        full = bool(static.get("full_matrices", True))
        fn = helpers.svd_batch if batch else np.linalg.svd
        return replace(call, fn=fn, args=(*call.args, _flag(full)), static=())
    if call.fn is np.linalg.qr:
        return replace(call, fn=helpers.qr_batch if batch else np.linalg.qr, static=())
    if call.fn is np.linalg.slogdet:
        return replace(call, fn=helpers.slogdet_batch) if batch else call
    if call.fn is np.linalg.lstsq:
        given = len(call.args) > 2 and not (isinstance(call.args[2], Const) and call.args[2].value is None)
        return call if given else replace(call, fn=helpers.lstsq_default, args=call.args[:2])
    if getattr(call.fn, "__name__", "") == "lu_factor" and call.fn is not helpers.lu_factor:
        return replace(call, fn=helpers.lu_pivots)
    if call.fn is np.frexp:
        return replace(call, fn=runtime.frexp_array if rank(call.args[0].type) else math.frexp)
    return call


def _flag(value: bool) -> Const:
    return Const(value, Scalar("bool", weak=True, value=value))


def _mirrored(a: Expr) -> Expr:
    """The matrix whose lower triangle is the conjugate of the upper one."""
    kind = a.type
    assert isinstance(kind, Array)
    if rank(kind) == 2:
        turned = Apply(ops.transpose, (a,), Array(kind.dtype, kind.dims[::-1]))
    else:
        turned = Apply(np.swapaxes, (a, _number(-2), _number(-1)), Array(kind.dtype, kind.dims))
    return Apply(np.conj, (turned,), turned.type) if is_complex(kind) else turned


def _number(value: int) -> Const:
    return Const(value, Scalar("int64", weak=True, value=value))


def _batched(helper: Any, *settings: tuple[str, Any]) -> Rewrite:
    """A helper for three-dimensional arrays, which takes these settings by position."""

    def rewrite(call: Apply) -> Expr | None:
        if rank(call.args[0].type) != 3 or len(call.args) > 1:
            return None
        static = dict(call.static)
        values = tuple(_number(static.get(name, default)) for name, default in settings)
        return Apply(helper, (*call.args, *values), call.type)

    return rewrite


def _solve_lower(call: Apply) -> Expr | None:
    transposed = _flag(bool(dict(call.static).get("trans", 0)))
    if rank(call.type) == 2:
        return Apply(helpers.solve_triangular, (*call.args, transposed, _flag(True), _flag(False)), call.type)
    return Apply(helpers.solve_lower_batch, (*call.args, transposed), call.type) if rank(call.type) == 3 else None


def _power(call: Apply) -> Expr:
    helper = helpers.power if rank(call.args[0].type) == 2 else helpers.power_batch
    return Apply(helper, (*call.args, _number(dict(call.static)["n"])), call.type)


def _eigvalsh(call: Apply) -> Expr | None:
    a = call.args[0]
    upper = dict(call.static).get("UPLO") == "U"
    if rank(a.type) > 3 or (rank(a.type) == 2 and not call.static):
        return None
    fn = helpers.eigvalsh_batch if rank(a.type) == 3 else np.linalg.eigvalsh
    return Apply(fn, (_mirrored(a) if upper else a,), call.type)


def _svdvals(call: Apply) -> Expr | None:
    fn = {2: helpers.svdvals_one, 3: helpers.svdvals_batch}.get(rank(call.args[0].type))
    return None if fn is None else Apply(fn, call.args, call.type)


def _trace(call: Apply) -> Expr | None:
    static = dict(call.static)
    a = call.args[0]
    if rank(a.type) == 2:
        return Apply(np.trace, (a, _number(static.get("offset", 0))), call.type) if static else None
    if rank(a.type) != 3 or not isinstance(a.type, Array):
        return None
    if (static.get("axis1", 0), static.get("axis2", 1)) == (0, 1):
        dims = (a.type.dims[2], *a.type.dims[:2])
        a = Apply(np.transpose, (a,), Array(a.type.dtype, dims), (("axes", (2, 0, 1)),))
    return Apply(helpers.trace_batch, (a, _number(static.get("offset", 0))), call.type)


def _norm(call: Apply) -> Expr | None:
    static = dict(call.static)
    order: Any = static.get("ord")
    axis, keepdims = static.get("axis"), static.get("keepdims", False)
    x = call.args[0]
    if not isinstance(x.type, Array):
        return None
    euclidean: bool = order in (None, "fro") or (order == 2 and (rank(x.type) == 1 or axis is not None))
    if axis is None and not keepdims:
        flat = euclidean and (rank(x.type) > 2 or order == "fro")
        return Apply(runtime.norm_all, (x,), call.type) if flat else None
    size = Apply(np.absolute, (x,), _real(x.type))
    if euclidean:
        total: Expr = Apply(np.sum, (Apply(runtime.squared_size, (x,), _real(x.type)),), call.type, _axes(static))
        return Apply(np.sqrt, (_rewritten(total),), call.type)
    if not isinstance(axis, int) or not isinstance(order, int | float):
        return None
    if order == 1:
        return _rewritten(Apply(np.sum, (size,), call.type, _axes(static)))
    if abs(order) == math.inf:
        return _rewritten(Apply(np.max if order > 0 else np.min, (size,), call.type, _axes(static)))
    power = Apply(np.power, (size, Const(order, Scalar("float64", weak=True))), size.type)
    total = _rewritten(Apply(np.sum, (power,), call.type, _axes(static)))
    return Apply(np.power, (total, Const(1.0 / order, Scalar("float64", weak=True))), call.type)


def _axes(static: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    keepdims = (("keepdims", True),) if static.get("keepdims") else ()
    return keepdims if static.get("axis") is None else (("axis", static["axis"]), *keepdims)


def _rewritten(call: Expr) -> Expr:
    from s2sad.rules.legal import legal

    return legal(call) if isinstance(call, Apply) else call


def _real(kind: Type) -> Array:
    assert isinstance(kind, Array)
    names = {"complex64": "float32", "complex128": "float64"}
    return Array(names.get(kind.dtype, kind.dtype), kind.dims, "C")


def _vdot(call: Apply) -> Expr | None:
    a, b = of_one_dtype(*call.args)
    if rank(a.type) == rank(b.type) == 1:
        return None if (a, b) == call.args else Apply(np.vdot, (a, b), call.type)
    return Apply(runtime.vdot_flat, (a, b), call.type)


REWRITES: dict[Any, Rewrite] = {
    np.linalg.eigvalsh: _eigvalsh,
    np.linalg.svdvals: _svdvals,
    np.linalg.cholesky: _batched(helpers.cholesky_batch),
    np.linalg.pinv: _batched(helpers.pinv_batch),
    np.linalg.matrix_power: _power,
    runtime.solve_lower: _solve_lower,
    np.linalg.norm: _norm,
    np.tril: _batched(helpers.tril_batch, ("k", 0)),
    np.triu: _batched(helpers.triu_batch, ("k", 0)),
    np.trace: _trace,
    np.vdot: _vdot,
}
