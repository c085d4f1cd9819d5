"""The functions of SciPy that have rules, which are loaded where a program uses them, and where they are sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special as special
import scipy.stats

from s2sad.rules.registry import EXPANSIONS, REGISTRY, Constant, find
from s2sad.rules.sample import case, definite, values
from tests.rulebook import EXPANDED, is_scipys

M, S, D, B = values(3, 4), values(3, 3) + 2.0 * np.eye(3), definite(3, 3), values(3, 2)
BAND = values(3, 4) + np.array([[0.0], [5.0], [0.0]])

EXPANDED.update({
    special.softmax: (case(M), case(M, axis=1), case(values(4))),
    special.log_softmax: (case(M), case(M, axis=0), case(values(4))),
    special.polygamma: (case(1, abs(M) + 0.5), case(2, 1.3)),
    special.multigammaln: (case(3.7, 2), case(4.2, 3)),
    special.comb: (case(7.3, 2.4), case(abs(M) + 5.0, 2.0)),
    special.perm: (case(7.3, 2.4), case(abs(M) + 5.0, 2.0)),
    special.factorial: (case(3.4), case(abs(M) + 0.5)),
    special.eval_legendre: (case(3, M), case(0, 0.3)),
    special.eval_chebyt: (case(4, M), case(1, 0.3)),
    special.eval_chebyu: (case(3, M),),
    special.eval_hermite: (case(3, M), case(2, 0.7)),
    special.eval_hermitenorm: (case(4, M),),
    special.eval_laguerre: (case(3, M),),
    scipy.stats.zscore: (case(M), case(M, axis=1, ddof=1), case(M, axis=None)),
    scipy.stats.entropy: (case(abs(M)), case(abs(M), abs(M[::-1]), base=2, axis=1)),
    scipy.linalg.solve: (case(S, B), case(S, values(3))),
    scipy.linalg.inv: (case(S),),
    scipy.linalg.det: (case(S),),
    scipy.linalg.pinv: (case(S),),
    scipy.linalg.lstsq: (case(M.T, values(4, 2)),),
    scipy.linalg.cholesky: (case(D), case(D, lower=True)),
    scipy.linalg.norm: (case(S), case(values(4), 1)),
    scipy.linalg.eigh: (case(D, eigvals_only=True),),
    scipy.linalg.eigvalsh: (case(D),),
    scipy.linalg.svd: (case(S),),
    scipy.linalg.svdvals: (case(M),),
    scipy.linalg.lu: (case(S), case(S, permute_l=True), case(S, p_indices=True)),
    scipy.linalg.solve_sylvester: (case(D, S + 2.0 * np.eye(3), values(3, 3)),),
    scipy.linalg.solve_continuous_lyapunov: (case(D, values(3, 3)),),
    scipy.linalg.solve_discrete_lyapunov: (case(0.3 * S, values(3, 3)),),
    scipy.linalg.sqrtm: (case(D),),
    scipy.linalg.solve_banded: (case((1, 1), BAND, values(4)), case((2, 0), BAND[[1, 0, 2]], values(4, 2))),
    scipy.linalg.solveh_banded: (case(BAND[:2], values(4)), case(BAND[1:], values(4, 2), lower=True)),
    scipy.linalg.block_diag: (case(S, B),),
    scipy.linalg.toeplitz: (case(values(4)), case(values(3), values(3, seed=1))),
    scipy.linalg.circulant: (case(values(4)),),
    scipy.optimize.rosen: (case(values(4)), case(values(3, 2))),
    scipy.optimize.rosen_der: (case(values(4)), case(values(3))),
    scipy.integrate.trapezoid: (case(M), case(M, dx=0.5, axis=0)),
    scipy.integrate.cumulative_trapezoid: (case(M), case(M, dx=0.5, axis=0), case(values(4), initial=0)),
    scipy.integrate.simpson: (case(M), case(values(5, 3), axis=0), case(values(5), dx=0.5)),
})  # fmt: skip


ELSEWHERE = frozenset({
    scipy.linalg.cho_factor, scipy.linalg.cho_solve, scipy.linalg.lu_solve,
    scipy.linalg.solve_continuous_are, scipy.linalg.solve_discrete_are,
    scipy.integrate.quad, scipy.integrate.fixed_quad, scipy.interpolate.splev, special.lambertw,
    scipy.optimize.brentq, scipy.optimize.brenth, scipy.optimize.bisect, scipy.optimize.ridder, scipy.optimize.newton,
    scipy.optimize.root_scalar, scipy.optimize.fsolve, scipy.optimize.root,
})  # fmt: skip
"""A matrix of which SciPy fills one half, and what takes it with a flag, or factors with pivots, or symmetric weights:
`tests/unit/test_linalg.py`, `test_lu.py` and `test_equations.py` have them.
What takes functions, or is defined by an equation: those are in `tests/unit/test_scipy_solvers.py`."""
_OTHER_CODE = ("scipy.fft", "scipy.ndimage", "scipy.signal", "scipy.spatial")
"""Modules whose functions are all read as other code: `tests/unit/test_scipy_arrays.py` has them."""


def registered() -> list[Any]:
    """List every function of SciPy that has a derivative rule."""
    for fn in (special.erf, scipy.linalg.expm, scipy.integrate.trapezoid, scipy.stats.zscore, scipy.optimize.rosen):
        find(fn)
    known = [fn for fn, rule in REGISTRY.items() if not isinstance(rule, Constant)]
    found = [fn for fn in dict.fromkeys([*known, *EXPANSIONS]) if is_scipys(fn) and fn not in ELSEWHERE]
    return [fn for fn in found if not getattr(fn, "__module__", "").startswith(_OTHER_CODE)]
