"""Objects of `scipy.interpolate` that are called: `CubicSpline(x, y)`, made outside of the function, at a place.

SciPy is not imported for it: only who has such an object has done so.
"""

from __future__ import annotations

from typing import Any

from s2sad.frontend.arguments import known_value
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, Value

_INSTEAD = "Use its arrays: `np.interp(x, xs, ys)`, or a loop over the pieces of a spline."


def call_interpolant(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Call an object that interpolates; None if `fn` is none."""
    if not type(fn).__module__.startswith("scipy.interpolate"):
        return None
    from scipy import interpolate

    from s2sad.rules import scipy_interpolate as bodies

    order = args[1] if len(args) > 1 else kwargs.pop("nu", StaticV(0))
    if kwargs or len(args) not in (1, 2) or not isinstance(known_value(order), int):
        return lw.fail(node, f"`{type(fn).__name__}` is called with options here", "Give it places, and an order.")
    known: Any = known_value(order)
    if isinstance(fn, interpolate.PPoly) and fn.c.ndim == 2 and fn.extrapolate in (True, False):
        piece = fn.derivative(known) if known else fn
        body = bodies.of_pieces if fn.extrapolate else bodies.of_pieces_inside
        return _called(lw, body, args[0], [piece.c, piece.x], node)
    if isinstance(fn, interpolate.UnivariateSpline) and not known and getattr(fn, "ext", 0) == 0:
        return _called(lw, bodies.of_basis_at, args[0], list(fn._eval_args), node)
    if isinstance(fn, interpolate.BSpline) and not known and fn.c.ndim == 1 and fn.extrapolate is True:
        return _called(lw, bodies.of_basis_at, args[0], [fn.t, fn.c, fn.k], node)
    if isinstance(fn, interpolate.interp1d) and len(args) == 1 and fn._kind == "linear" and fn.y.ndim == 1:
        return _on_lines(lw, fn, bodies, args[0], node)
    return lw.fail(node, f"this `{type(fn).__name__}` is not supported in a differentiated function", _INSTEAD)


def _on_lines(lw: Lowerer, fn: Any, bodies: Any, at: Value, node: Any) -> Value:
    if fn._extrapolate:
        return _called(lw, bodies.of_lines, at, [fn.x, fn.y], node)
    if fn.bounds_error:
        return _called(lw, bodies.of_lines_inside, at, [fn.x, fn.y], node)
    fill = fn.fill_value if isinstance(fn.fill_value, tuple) else (fn.fill_value, fn.fill_value)
    return _called(lw, bodies.of_lines_or, at, [fn.x, fn.y, *(float(value) for value in fill)], node)


def _called(lw: Lowerer, body: Any, at: Value, parts: list[Any], node: Any) -> Value:
    from s2sad.frontend.calls import call_function, outside

    held = [outside(lw, part, node, name) for part, name in zip(parts, ("c", "x", "below", "above"), strict=False)]
    lw.ctx.keep.extend(parts)
    return call_function(lw, body, [at, *held], {}, node)
