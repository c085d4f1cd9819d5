"""SciPy's functions that take functions and have no meaning here: refused, with what does the same."""

from __future__ import annotations

import types
from typing import Any

from s2sad.errors import MissingRuleError
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import unwrap
from s2sad.frontend.values import FuncV, StaticV, Value

_SOLVED = "Differential equations are solved by `s2sad.implicit.odeint`, or by a loop of steps."
_LEAST = "What minimises a function is a root of its gradient: `s2sad.implicit.root` finds and differentiates it."
_SUMMED = "Put one `quad` into another, or sum over points."
_INSTEAD = {
    **dict.fromkeys(("odeint", "solve_ivp", "ode", "solve_bvp", "RK45", "RK23", "LSODA", "Radau", "BDF"), _SOLVED),
    **dict.fromkeys(("minimize", "minimize_scalar", "fmin", "fminbound", "least_squares", "curve_fit"), _LEAST),
    **dict.fromkeys(("dblquad", "tplquad", "nquad", "quad_vec"), _SUMMED),
    "toms748": "Use `scipy.optimize.brentq`.",
}


def refuse_solver(lw: Lowerer, fn: Any, args: list[Value], node: Any) -> None:
    """Refuse a function of SciPy's that is given a function."""
    home = (getattr(fn, "__module__", None) or "").split(".")[0]
    if home == "scipy" and any(_is_function(arg) for arg in args):
        name = getattr(fn, "__name__", str(fn))
        lw.fail(node, f"`{name}` takes a function, and has no derivative rule",
                _INSTEAD.get(name, "Write what it does as a loop, or give it a rule."), MissingRuleError)  # fmt: skip


def _is_function(value: Value) -> bool:
    plain = isinstance(value, StaticV) and isinstance(unwrap(value.value), types.FunctionType)
    return isinstance(value, FuncV) or plain
