"""Equations of matrices, linear ones and those of Riccati, and the square root: SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

_NOT_REAL = "a real matrix has no real square root here: pass it as a complex array"


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return the solution of `a @ x + x @ b = q`.

    Raises:
        numpy.linalg.LinAlgError: it is not unique (only where it is compiled).
    """
    from scipy.linalg import solve_sylvester as solve

    return solve(a, b, q)


def solve_discrete_lyapunov(a: Any, q: Any) -> Any:
    """Return the solution of `x = a @ x @ a.conj().T + q`.

    Raises:
        numpy.linalg.LinAlgError: it is not unique.
    """
    from scipy.linalg import solve_discrete_lyapunov as solve

    return solve(a, q)


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any) -> Any:
    """Return the `x` that stabilises `a - b @ k`, where `r @ k = b.T @ x` and `a.T @ x + x @ a + q = k.T @ r @ k`.

    Raises:
        numpy.linalg.LinAlgError: there is none.
        ValueError: `q` or `r` is not symmetric.
    """
    from scipy.linalg import solve_continuous_are as solve

    return solve(a, b, q, r)


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any) -> Any:
    """Return the `x` that stabilises `c = a - b @ k`, where `r @ k = b.T @ x @ c` and `x = a.T @ x @ c + q`.

    Raises:
        numpy.linalg.LinAlgError: there is none.
        ValueError: `q` or `r` is not symmetric.
    """
    from scipy.linalg import solve_discrete_are as solve

    return solve(a, b, q, r)


def sqrtm(a: Any) -> Any:
    """Return the square root of a matrix whose eigenvalues have none on the negative axis, real of a real one.

    Raises:
        ValueError: the root of a real matrix is not real.
    """
    from scipy.linalg import sqrtm as root

    found = root(a)
    if not np.iscomplexobj(found) or np.iscomplexobj(a):
        return found
    if np.max(np.abs(np.imag(found))) > 1e-6 * np.max(np.abs(found)):
        raise ValueError(_NOT_REAL)
    return np.real(found)
