"""Solvers whose derivatives come from the equation they solve, not from the steps they take.

Written with the public `custom_vjp` only, as a user could, with a rule for either mode: what is kept does not
grow with the number of steps. They are differentiated in both modes, any number of times.

The modules `scipy_…` say what SciPy's own solvers mean in a differentiated function; they are loaded where one is met.
"""

from __future__ import annotations

from s2sad.implicit.fixed import fixed_point, root
from s2sad.implicit.linear import custom_linear_solve
from s2sad.implicit.ode import odeint

__all__ = ["custom_linear_solve", "fixed_point", "odeint", "root"]
