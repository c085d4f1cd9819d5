"""`scipy.special`: loaded late, refused where no closed form is known, compiled through SciPy's kernels."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special as special
from scipy.special import digamma as slope_of_lg
from scipy.special import gammaln as lg
from scipy.special import xlogy

import s2sad
from s2sad.errors import MissingRuleError, NotDifferentiableError

X = np.array([0.3, 0.7, 1.4, 2.2])


def shares(x, y):
    return np.sum(xlogy(x, y)) + special.gammaln(x[0])


def curved(x):
    return np.sum(special.gammaln(x)) + special.logsumexp(x)


def by_order(v):
    return special.jv(v, 1.0)


def without_rule(x):
    return special.lpmv(0, 1, x)


def entropy(p):
    return np.sum(special.entr(p))


def cross_entropy(p, q):
    return np.sum(xlogy(p, q))


def test_compiled_equals_interpreted_in_double_and_single_precision() -> None:
    compiled = s2sad.differentiate(argnums=(0, 1))(shares)
    plain = s2sad.differentiate(target="python", argnums=(0, 1))(shares)
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-5)):
        x, y = X.astype(dtype), X[::-1].astype(dtype)
        for got, want in zip(compiled.grad(x, y), plain.grad(x, y), strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=rtol)


def test_second_order_compiled() -> None:
    got = s2sad.hessian(curved)(X)
    step = 1e-5
    gradient = s2sad.differentiate(target="python")(curved).grad
    for k in range(X.size):
        e = step * np.eye(X.size)[k]
        np.testing.assert_allclose(got[k], (gradient(X + e) - gradient(X - e)) / (2 * step), rtol=1e-7, atol=1e-8)


def test_machine_code_on_disk_finds_the_kernels_again(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, scipy.special as special, s2sad\n"
        "def f(x): return special.expit(x) * special.gammaln(x)\n"
        "print(float(s2sad.grad(f)(0.7)))\n"
        "print(len(list(__import__('pathlib').Path(__import__('os').environ['S2SAD_CACHE_DIR']).glob('**/*'))))\n"
    )
    (tmp_path / "cache").mkdir(mode=0o700)
    environment = {**os.environ, "S2SAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [
        subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (run.stdout.split() for run in runs)
    slope = special.expit(0.7)
    expected = slope * (1 - slope) * special.gammaln(0.7) + slope * special.psi(0.7)
    assert float(first[0]) == pytest.approx(expected, rel=1e-13)
    assert first == second  # the second process compiled nothing anew


def test_importing_s2sad_does_not_import_scipy() -> None:
    code = "import s2sad, sys, numpy as np\n"
    code += "from s2sad.rules import find; find(np.sin); print('scipy' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_order_of_a_bessel_function_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match="`jv` has no derivative in closed form by argument 1"):
        s2sad.differentiate(target="python")(by_order).grad(1.5)


def test_a_missing_rule_names_the_full_path_and_the_lines_that_add_one() -> None:
    with pytest.raises(MissingRuleError, match=r"s2sad\.defvjp\(scipy\.special\.lpmv, fwd, bwd\)") as caught:
        s2sad.differentiate(target="python")(without_rule).grad(0.5)
    assert "special.lpmv(0, 1, x)" in str(caught.value)
    assert "# bwd(residuals, result_bar) -> one cotangent for each argument" in str(caught.value)


def test_logarithms_at_zero() -> None:
    with np.errstate(all="ignore"):
        p_bar = s2sad.differentiate(target="python")(entropy).grad(np.array([0.0, 1.0]))
        a_bar, b_bar = s2sad.differentiate(target="python", argnums=(0, 1))(cross_entropy).grad(
            np.array([0.0, 0.0, 1.0]), np.array([0.0, 2.0, 4.0])
        )
    np.testing.assert_array_equal(p_bar, [np.inf, -1.0])
    np.testing.assert_allclose(a_bar, [-np.inf, np.log(2.0), np.log(4.0)])
    np.testing.assert_array_equal(b_bar, [0.0, 0.0, 0.25])


def _log_gamma(x):
    return lg(x)


@s2sad.custom_vjp
def by_rule(x):
    return np.sum(lg(x))


by_rule.defvjp(lambda x: (np.sum(_log_gamma(x)), x), lambda x, bar: (bar * slope_of_lg(x),))


def ruled(x):
    return by_rule(x) * 2.0


def test_functions_known_by_other_names_compile_in_a_new_process(tmp_path: Path) -> None:
    """Numba learns a function when a program uses it, by whatever name; of others it learns nothing."""
    (tmp_path / "plain.py").write_text("""
import numpy as np, scipy.special, s2sad
from s2sad.backends import scipy_special
print(s2sad.grad(lambda x: np.sum(x * x))(np.ones(2)), sorted(scipy_special._done))
from tests.unit.test_scipy_special import X, ruled
print(np.round(s2sad.value_and_grad(ruled)(X)[1], 6), "gammaln" in scipy_special._done, len(scipy_special._done) < 5)
""")
    env = os.environ | {"PYTHONPATH": os.getcwd(), "S2SAD_CACHE_DIR": str(tmp_path / "cache")}
    want = f"[2. 2.] []\n{np.round(2 * special.digamma(X), 6)} True True\n"
    for _ in range(2):  # the second finds machine code on disk
        run = subprocess.run([sys.executable, "plain.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert run.stdout == want, run.stderr


def polynomials(x):
    total = np.sum(special.eval_legendre(4, x)) + np.sum(special.eval_chebyt(3, x) * special.eval_chebyu(2, x))
    return total + np.sum(special.eval_hermite(3, x) * special.eval_hermitenorm(2, x)) + special.eval_laguerre(3, x[1])


def test_polynomials_of_a_whole_order_by_what_is_known_of_them() -> None:
    x = X - 0.5
    slopes = 4 * (x * special.eval_legendre(4, x) - special.eval_legendre(3, x)) / (x * x - 1)
    slopes += 3 * special.eval_chebyu(2, x) ** 2 + special.eval_chebyt(3, x) * 8 * x
    slopes += 6 * special.eval_hermite(2, x) * special.eval_hermitenorm(2, x) + special.eval_hermite(3, x) * 2 * x
    slopes[1] -= special.eval_genlaguerre(2, 1, x[1])
    for target in ("cpu", "python"):
        value, bar = s2sad.value_and_grad(polynomials, target=target)(x)
        np.testing.assert_allclose(value, polynomials(x), rtol=1e-12)
        np.testing.assert_allclose(bar, slopes, rtol=1e-10)
    step = 1e-6 * np.cos(x)
    gradient = s2sad.grad(polynomials, target="python")
    curvature = s2sad.hessian(polynomials, target="python")(x) @ step
    np.testing.assert_allclose(curvature, (gradient(x + step) - gradient(x - step)) / 2, rtol=1e-6)


def test_the_order_of_a_polynomial_is_a_whole_number() -> None:
    with pytest.raises(s2sad.S2SADError, match="counts by whole numbers"):
        s2sad.grad(lambda n: special.eval_legendre(n, 0.3), target="python")(2.0)
    with pytest.raises(ValueError, match="not below zero"):
        s2sad.grad(lambda x: special.eval_legendre(-1, x), target="python")(0.3)
