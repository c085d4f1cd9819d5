"""What `scipy.optimize` asks for in a form of its own; most of it takes derivatives as they are.

`minimize(f.value_and_grad, x0, jac=True)`, `least_squares(f, x0, jac=f.jacobian)` and
`root(f, x0, jac=f.jacobian)` need nothing from here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import s2sad


def curve_jac(model: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Jacobian of a model `model(x, *parameters)` as `scipy.optimize.curve_fit` takes it.

    Args:
        model: the model; its parameters after the first are the fitted numbers.

    Returns:
        A function of the same arguments; its result has shape (points, parameters).

    Example:
        >>> import numpy as np
        >>> from s2sad.interop.scipy import curve_jac
        >>> def line(x, slope, start):
        ...     return slope * x + start
        >>> curve_jac(line)(np.array([1.0, 2.0]), 3.0, 4.0)
        array([[1., 1.],
               [2., 1.]])
    """
    count = len(inspect.signature(model).parameters) - 1
    jacobian = s2sad.jacfwd(model, argnums=tuple(range(1, count + 1)))

    def columns(x: Any, *parameters: Any) -> Any:
        return np.stack(jacobian(x, *(float(value) for value in parameters)), axis=-1)

    return columns


def hessp(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product with the Hessian as `scipy.optimize.minimize` takes it: `hessp(x, p, *args)`.

    Example:
        >>> import numpy as np
        >>> from s2sad.interop.scipy import hessp
        >>> def energy(x):
        ...     return np.sum(x**4)
        >>> hessp(energy)(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([12.,  0.])
    """

    def product(x: Any, p: Any, *args: Any) -> Any:
        return s2sad.hvp(fun, (x, *args), (p,))

    return product
