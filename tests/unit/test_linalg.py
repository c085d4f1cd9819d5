"""Linear algebra through whole programs: every form of a call, complex matrices, batches, second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.errors import MissingRuleError, S2SADError, UnsupportedSyntaxError
from s2sad.rules.sample import complex_values, definite, values
from tests.differences import differences

V, M, S = values(4), values(4, 3), definite(3, 3)
C, CV = complex_values(3, 3) + 4.0 * np.eye(3), complex_values(4, 3)
SPD = S @ S.T + np.diag([0.0, 1.0, 3.0])
HPD = SPD + 1j * (values(3, 3) - values(3, 3).T)
BATCH = np.stack([SPD, SPD @ SPD / 20.0])


def eigh_by_attribute(a):
    found = np.linalg.eigh(a)
    return np.sum(np.sin(found.eigenvalues)) + np.sum(found.eigenvectors**4)


def eigh_upper(a):
    w, v = np.linalg.eigh(a, UPLO="U")
    return np.sum(np.sin(w)) + np.sum(v**4)


def eigh_complex(a):
    w, v = np.linalg.eigh(a)
    return np.sum(np.sin(w)) + np.sum(np.abs(v) ** 4)


def eigenvalues_complex(a):
    return np.sum(np.sin(np.linalg.eigvalsh(a)))


def eigenvalues_upper(a):
    return np.sum(np.sin(np.linalg.eigvalsh(a, "U")))


def eig_of_complex(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.real(w) ** 2) + np.sum(np.imag(v) ** 2) + np.sum(np.sin(np.real(v)))


def eig_of_real(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.sin(w)) + np.sum(v**4) + np.max(np.linalg.eigvals(a))


def svd_of_square(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(np.sin(s)) + np.sum(u**4) + np.sum(vt**3)


def svd_thin(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.sin(s)) + np.sum(np.abs(u) ** 4) + np.sum(np.abs(vt) ** 4)


def singular_values(a):
    return np.sum(np.sin(np.linalg.svd(a, compute_uv=False))) + np.linalg.svd(a)[1][0] ** 2


def qr_both(a):
    q, r = np.linalg.qr(a)
    return np.sum(np.sin(np.real(q))) + np.sum(np.real(r) ** 2) + np.sum(np.imag(r) ** 3)


def qr_triangle(a):
    return np.sum(np.sin(np.linalg.qr(a, mode="r")))


def slogdet_complex(a):
    sign, size_of = np.linalg.slogdet(a)
    return 2.0 * np.real(sign) + np.imag(sign) + size_of


def slogdet_batch(a):
    return np.sum(np.sin(np.linalg.slogdet(a).logabsdet))


def cholesky_upper(a):
    return np.sum(np.sin(np.linalg.cholesky(a, upper=True)))


def cholesky_complex(a):
    factor = np.linalg.cholesky(a)
    return np.sum(np.real(factor) ** 3) + np.sum(np.sin(np.imag(factor)))


def least_squares(a, b):
    x, residuals, _, s = np.linalg.lstsq(a, b, rcond=None)
    return np.sum(np.sin(x)) + np.sum(residuals) + np.sum(s**2)


def condition(a):
    return np.linalg.cond(a) + np.linalg.cond(a, 1) + np.linalg.cond(a, p="fro")


def powers(a):
    b = a / 4.0
    return np.sum(np.linalg.matrix_power(b, 11)) + np.sum(np.sin(np.linalg.matrix_power(b, -3)))


def matrix_norms(a):
    total = np.linalg.norm(a, "nuc") + np.linalg.norm(a, 2) + np.linalg.norm(a, -2)
    total += np.linalg.norm(a, 1) + np.linalg.norm(a, -1) + np.linalg.norm(a, -np.inf)
    return total + np.linalg.matrix_norm(a, ord=1) + np.linalg.vector_norm(a)


def norms_over_axes(a):
    total = np.sum(np.linalg.norm(a, axis=(0, 1))) + np.sum(np.linalg.norm(a, ord=2, axis=(0, 2)))
    total += np.sum(np.linalg.norm(a, ord=np.inf, axis=(1, 0), keepdims=True))
    return total + np.sum(np.linalg.norm(a, ord=3.5, axis=1)) + np.sum(np.linalg.norm(a, 0, 1))


def products(a, b):
    total = np.sum(np.sin(np.kron(a[0], b))) + np.sum(np.sin(np.kron(b[None], a)))
    total += np.sum(np.sin(np.linalg.multi_dot([a, b, b, a[0]])))
    return total + np.sum(np.sin(np.cross(a, b, axis=0))) + np.sum(np.vecdot(a, b) ** 2)


def traces(a):
    total = np.sum(np.sin(np.trace(a, axis1=0, axis2=2))) + np.sum(np.sin(np.linalg.trace(a)))
    return total + np.sum(np.sin(np.linalg.diagonal(a)))


def einsum_forms(a, b):
    total = np.sum(np.sin(np.einsum("...ij,...jk", a[None], b))) + np.sum(np.einsum("i...->...", a) ** 2)
    total += np.sum(np.sin(np.einsum("ij,jk,kl,lm->im", a, b, b, a)))
    total += np.sum(np.sin(np.einsum(a, [0, 1], b, [1, 2], [2, 0])))
    return total + np.sum(np.einsum("ij,ij->i", a[0][None], b))


def einsum_diagonals(a, v):
    total = np.sum(np.sin(np.einsum("iijj->ij", a))) + np.sum(np.sin(np.einsum("ijij,j->i", a, v)))
    pairs = np.ones((3, 3))
    np.einsum("ijjk->ik", a, out=pairs)
    total += np.sum(np.sin(pairs) * v)
    return total + np.sin(np.einsum("iiii->", a)) + np.sum(np.sin(np.einsum("iij->j", a[0])))


def diagonals(a, v):
    inner = np.diagonal(a, 1, 0, 2)
    return np.sum(np.sin(inner) * v) + np.sum(np.diagonal(a[0], -1) ** 2)


def complex_products(a, b):
    total = np.vdot(a, b) * (1.0 + 2.0j) + np.sum(np.inner(a, b) ** 2) + np.trace(a @ b)
    return np.real(total) + np.real(np.sum(np.einsum("ij,kj->ik", a, np.conj(b)) ** 2))


def solves_of_scipy(a, b):
    import scipy.linalg

    factor = scipy.linalg.cho_factor(a @ a.T + np.eye(3), lower=True)
    total = np.sum(np.sin(scipy.linalg.cho_solve(factor, b))) + scipy.linalg.det(a)
    return total + np.sum(np.sin(scipy.linalg.solve(a, b))) + np.sum(np.sin(scipy.linalg.expm(a / 8.0)))


def triangular(a, b):
    import scipy.linalg

    upper = scipy.linalg.solve_triangular(a, b)
    return np.sum(np.sin(upper)) + np.sum(np.sin(scipy.linalg.solve_triangular(a, b, trans=1, lower=True)))


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (eigh_by_attribute, (SPD,)),
    (eigh_by_attribute, (BATCH,)),
    (eigh_upper, (SPD,)),
    (eigh_complex, (HPD,)),
    (eigenvalues_complex, (HPD,)),
    (eigenvalues_upper, (BATCH,)),
    (eig_of_complex, (C,)),
    (eig_of_real, (SPD + 0.1 * values(3, 3),)),
    (svd_of_square, (S,)),
    (svd_thin, (M,)),
    (svd_thin, (M.T,)),
    (svd_thin, (CV,)),
    (singular_values, (M,)),
    (singular_values, (CV.T,)),
    (qr_both, (M,)),
    (qr_both, (values(3, 4),)),
    (qr_both, (CV,)),
    (qr_triangle, (M,)),
    (slogdet_complex, (C,)),
    (slogdet_batch, (BATCH,)),
    (cholesky_upper, (SPD,)),
    (cholesky_complex, (HPD,)),
    (least_squares, (M, V)),
    (least_squares, (M, values(4, 2, seed=2))),
    (condition, (S,)),
    (powers, (S,)),
    (matrix_norms, (S,)),
    (norms_over_axes, (values(3, 4, 2),)),
    (products, (S, values(3, 3, seed=1))),
    (traces, (values(3, 3, 3),)),
    (einsum_forms, (S, values(3, 3, seed=1))),
    (einsum_diagonals, (values(3, 3, 3, 3), values(3, seed=1))),
    (diagonals, (values(3, 3, 3, 2), values(2, seed=1))),
    (complex_products, (C, complex_values(3, 3, seed=2))),
    (solves_of_scipy, (S, values(3))),
    (triangular, (S, values(3, 2))),
]


def direction(x: Any) -> Any:
    """Draw a direction; within the Hermitian matrices where those are what a function takes."""
    rng = np.random.default_rng(x.size)
    made = rng.normal(size=x.shape)
    if np.iscomplexobj(x):
        made = made + 1j * rng.normal(size=x.shape)
    return made + np.conj(made.T) if x is HPD else made


def slope(fun: Any, args: Any, k: int, dot: Any, step: float = 2e-5) -> float:
    def at(t: float) -> Any:
        return fun(*[x + t * dot if i == k else x for i, x in enumerate(args)])

    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


def check(fun: Any, args: Any, target: str) -> None:
    value, bars = s2sad.value_and_grad(fun, argnums=tuple(range(len(args))), target=target)(*args)
    np.testing.assert_allclose(value, fun(*args), rtol=1e-12)
    for k, x in enumerate(args):
        assert bars[k].shape == x.shape
        assert bars[k].dtype == x.dtype
        dot = direction(x)
        expected = slope(fun, args, k, dot)
        np.testing.assert_allclose(np.real(np.sum(bars[k] * dot)), expected, rtol=1e-7, atol=1e-7)
        dots = tuple(dot if i == k else np.zeros_like(z) for i, z in enumerate(args))
        np.testing.assert_allclose(s2sad.jvp(fun, args, dots, target=target)[1], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_program(fun: Any, args: Any) -> None:
    check(fun, args, "python")


def several_at_once(a):
    w, v = np.linalg.eigh(a)
    sign, log = np.linalg.slogdet(a)
    return sign * log + np.sum(np.linalg.lstsq(a, v[0] ** 2 * w)[0] ** 2)


@pytest.mark.compiled
@pytest.mark.parametrize(("fun", "args"), [
    (several_at_once, (SPD,)), (eigh_by_attribute, (BATCH,)), (svd_thin, (CV,)),
    (einsum_diagonals, (values(3, 3, 3, 3), values(3, seed=1))), (diagonals, (values(3, 3, 3, 2), values(2, seed=1))),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_program_compiled(fun: Any, args: Any) -> None:
    value, bars = s2sad.value_and_grad(fun, argnums=tuple(range(len(args))), target="cpu")(*args)
    np.testing.assert_allclose(value, fun(*args), rtol=1e-11)
    expected = s2sad.grad(fun, argnums=tuple(range(len(args))), target="python")(*args)
    for got, want in zip(bars, expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("fun", "args"), [
    (eigh_by_attribute, (SPD,)), (eigenvalues_upper, (SPD,)), (svd_thin, (M,)), (singular_values, (M,)),
    (qr_both, (M,)), (least_squares, (M, V)), (slogdet_batch, (BATCH,)), (cholesky_upper, (SPD,)),
    (condition, (S,)), (eig_of_real, (SPD + 0.1 * values(3, 3),)), (solves_of_scipy, (S, values(3))),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_second_order(fun: Any, args: Any) -> None:
    """Forward over reverse and reverse over reverse give the change of the gradient."""
    gradient = s2sad.grad(fun, target="python")
    x, rest = args[0], args[1:]
    dot, bar = direction(x), direction(x)
    expected = slope(lambda z: np.sum(gradient(z, *rest) * bar), (x,), 0, dot)
    zeros = tuple(np.zeros_like(z) for z in rest)
    forward = s2sad.jvp(gradient, args, (dot, *zeros), target="python")[1]
    np.testing.assert_allclose(np.sum(forward * bar), expected, rtol=1e-6, atol=1e-6)

    def paired(z, *others):
        return np.sum(gradient(z, *others) * bar)

    np.testing.assert_allclose(np.sum(s2sad.grad(paired, target="python")(*args) * dot), expected, rtol=1e-6, atol=1e-6)


def test_hessian_of_a_log_determinant() -> None:
    """The Hessian of `log det` is `-A^-T (x) A^-1`, rearranged."""
    def log_det(a):
        return np.linalg.slogdet(a)[1]

    inverse = np.linalg.inv(S)
    expected = -np.einsum("li,jk->ijkl", inverse, inverse)
    np.testing.assert_allclose(s2sad.hessian(log_det, target="python")(S), expected, rtol=1e-10)


def test_jax_cookbook_gradient_of_a_complex_cholesky_factor() -> None:
    """The last example of JAX's autodiff cookbook, to the digits printed there."""
    def f(x):
        factor = np.linalg.cholesky(x)
        return np.sum((factor - np.sin(factor)) ** 2)

    a = np.array([[5.0, 2.0 + 3j, 5j], [2.0 - 3j, 7.0, 1.0 + 7j], [-5j, 1.0 - 7j, 12.0]])
    known = np.array([
        [-0.7534186, -3.0509028 - 10.940544j, 5.9896846 + 3.5423026j],
        [-3.0509028 + 10.940544j, -8.904491, -5.1351523 - 6.559373j],
        [5.9896846 - 3.5423026j, -5.1351523 + 6.559373j, 0.01320427],
    ])  # fmt: skip
    np.testing.assert_allclose(s2sad.grad(f, holomorphic=True, target="python")(a), known, rtol=1e-5, atol=1e-6)


def test_single_precision_is_kept() -> None:
    single = SPD.astype(np.float32)
    for fun in (eigh_by_attribute, svd_thin, qr_both, cholesky_upper, condition):
        value, bar = s2sad.value_and_grad(fun, target="python")(single)
        assert np.asarray(value).dtype == np.float32
        assert bar.dtype == np.float32
        np.testing.assert_allclose(bar, s2sad.grad(fun, target="python")(SPD), rtol=2e-2, atol=2e-3)


def test_a_real_matrix_is_read_in_one_triangle_and_a_complex_one_as_a_whole() -> None:
    lower = s2sad.grad(eigh_by_attribute, target="python")(SPD)
    assert np.all(np.triu(lower, 1) == 0.0)
    assert lower[1, 0] != 0.0
    assert np.all(np.tril(s2sad.grad(eigh_upper, target="python")(SPD), -1) == 0.0)
    whole = s2sad.grad(eigh_complex, target="python")(HPD)
    np.testing.assert_allclose(whole, np.conj(whole.T), rtol=1e-12)


def test_the_adjoint_reads_the_results_and_decomposes_nothing_again() -> None:
    derivative = s2sad.differentiate(svd_thin, target="python")
    derivative.grad(M)
    text = derivative.source("grad")
    calls = [line.strip() for line in text.splitlines() if "np.linalg" in line and "#" not in line]
    assert calls == ["u, s, vt = np.linalg.svd(a, full_matrices=False)"]


def test_equal_eigenvalues() -> None:
    """Their sum is smooth; the vectors have no derivative, and none is made up."""
    def total(a):
        return np.sum(np.linalg.eigvalsh(a) ** 2)

    def vectors(a):
        return np.sum(np.linalg.eigh(a)[1] ** 4)

    np.testing.assert_allclose(s2sad.grad(total, target="python")(2.0 * np.eye(3)), 4.0 * np.eye(3))
    with np.errstate(all="ignore"):
        assert not np.all(np.isfinite(s2sad.grad(vectors, target="python")(2.0 * np.eye(3))))


def test_least_squares_without_full_rank() -> None:
    """Noise that counts as zero in the solution does so in its derivative."""
    a = values(30, 2) @ values(2, 4)
    b = values(30, seed=3)

    def solution(b):
        return np.sum(np.linalg.lstsq(a, b)[0] ** 3)

    def by_hand(b):
        return 3.0 * np.linalg.pinv(a, 1e-10).T @ (np.linalg.pinv(a, 1e-10) @ b) ** 2

    np.testing.assert_allclose(s2sad.grad(solution, target="python")(b), by_hand(b), rtol=1e-8, atol=1e-10)


def test_columns_that_are_any_basis_have_no_derivative() -> None:
    def left_over(a):
        return np.sum(np.linalg.svd(a)[0] ** 3)

    def thin(a):
        return np.sum(np.linalg.svd(a)[0][:, :3] ** 3)

    assert np.all(np.isnan(s2sad.grad(left_over, target="python")(M)))
    assert np.isnan(s2sad.jvp(left_over, (M,), (M,), target="python")[1])
    check(thin, (M,), "python")


def test_complex_eigenvalues_of_a_real_matrix_are_refused() -> None:
    turning = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match="pass it as a complex array"):
        s2sad.grad(eig_of_real, target="python")(turning)


def norm_of(order: Any) -> Any:
    def norm(x):
        return np.linalg.norm(x, order)

    return norm


def test_norms_at_zero_have_the_derivative_zero() -> None:
    for order in (None, 1, 2, 3, np.inf):
        assert np.all(s2sad.grad(norm_of(order), target="python")(np.zeros(3)) == 0.0)


def complete(a):
    return np.sum(np.linalg.qr(a, mode="complete")[0])


@pytest.mark.parametrize(("fun", "x", "says"), [
    (complete, M, "`qr` with `mode='complete'` has no derivative rule"),
], ids=["qr"])  # fmt: skip
def test_what_has_no_rule_is_refused_where_it_stands(fun: Any, x: Any, says: str) -> None:
    with pytest.raises((MissingRuleError, UnsupportedSyntaxError)) as raised:
        s2sad.grad(fun, target="python")(x)
    assert isinstance(raised.value, S2SADError)
    assert says in str(raised.value)
    assert f"in `{fun.__name__}`" in str(raised.value)


def in_rows(a):
    return np.sum(np.linalg.inv(a).reshape(2, 8) * np.arange(16.0).reshape(2, 8))


def in_rows_by_name(a):
    solved = np.linalg.solve(a, np.eye(4) + a * a)
    return np.sum(np.reshape(solved, 16) * np.arange(16.0)) + solved.reshape((2, 2, 4))[0, 1, 2]


def several_in_rows(a):
    q, _ = np.linalg.qr(a)
    low = np.linalg.cholesky(a @ a.T + np.eye(4))
    return np.sum(q.reshape(8, 2) ** 2 * np.arange(16.0).reshape(8, 2)) + np.sum(low.reshape(-1) * np.arange(16.0))


def helped(a):
    return np.sum(turned_round(a).reshape(2, 8)[1])


def turned_round(a):
    return np.linalg.inv(a)


@pytest.mark.parametrize("fun", [in_rows, in_rows_by_name, several_in_rows, helped])
def test_numba_lays_matrices_out_by_columns_and_reshapes_by_rows(fun):
    a = np.random.default_rng(0).normal(size=(4, 4)) + 3.0 * np.eye(4)
    value, gradient = s2sad.value_and_grad(fun, target="cpu")(a)
    np.testing.assert_allclose(value, fun(a), rtol=1e-12)
    np.testing.assert_allclose(gradient, s2sad.grad(fun, target="python")(a), rtol=1e-10, atol=1e-12)


def nearest_rotation(a, w):
    """Orthogonal factor of the polar decomposition: it does not depend on which singular vectors are chosen."""
    u, _, vt = np.linalg.svd(a)
    return np.sum(w * (u @ vt))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("near", [0.0, 1e-15, 1e-12, 1e-3])
def test_rotations_of_equal_singular_values(near, target):
    """By hand: with G = u^T w v, the adjoint is u (G - G^T) / (s_i + s_j) v^T."""
    rng = np.random.default_rng(4)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    a, w = turn @ np.diag([2.0, 2.0, 1.0]) @ turn + near * rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    u, s, vt = np.linalg.svd(a)
    inner = u.T @ w @ vt.T
    expected = u @ ((inner - inner.T) / (s[:, None] + s[None, :])) @ vt
    np.testing.assert_allclose(s2sad.grad(nearest_rotation, target=target)(a, w), expected, rtol=1e-10, atol=1e-11)
    _, dot = s2sad.jvp(lambda x: nearest_rotation(x, w), (a,), (w,), target=target)
    assert np.isnan(dot) if near < 1e-14 else abs(dot - np.sum(expected * w)) < 1e-14 / near


def square_root(a, w):
    values, vectors = np.linalg.eigh(a)
    return np.sum(w * (vectors * np.sqrt(values) @ vectors.T))


def along_the_last(a, w):
    return np.sum(w[0] * np.linalg.eigh(a)[1][:, 2]) ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_eigenvalues_that_are_equal_but_for_rounding(target):
    """What needs the turn of their vectors is NaN and not the quotient of two roundings; all else is as it was."""
    rng = np.random.default_rng(4)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    a, w = turn @ np.diag([1.0, 1.0, 3.0]) @ turn.T, rng.normal(size=(3, 3))
    a, w = (a + a.T) / 2.0, w + w.T
    for found in (
        s2sad.grad(square_root, target=target)(a, w),
        s2sad.jvp(lambda x: square_root(x, w), (a,), (w,), target=target)[1],
    ):
        assert np.isnan(found).any()
    slope = np.sum(s2sad.grad(along_the_last, target=target)(a, w) * w)
    expected = (along_the_last(a + 1e-6 * w, w) - along_the_last(a - 1e-6 * w, w)) / 2e-6
    np.testing.assert_allclose(slope, expected, rtol=1e-7)
    _, dot = s2sad.jvp(lambda x: along_the_last(x, w), (a,), (w,), target=target)
    np.testing.assert_allclose(dot, expected, rtol=1e-7)


def kronecker_of_views(a):
    total = np.sum(np.sin(np.kron(a[:2, :2], a[1:, 1:]))) + np.sum(np.kron(a.T[:2], a) ** 2)
    return total + np.sum(np.kron(a.T, a[:, ::2]) ** 2) + np.sum(np.sin(np.kron(a[0], a[:, 1])))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_kronecker_products_of_views(target):
    a = np.arange(9.0).reshape(3, 3) / 7.0
    bar = differences(kronecker_of_views, a)
    np.testing.assert_allclose(s2sad.grad(kronecker_of_views, target=target)(a), bar, rtol=1e-6, atol=1e-6)
    _, out_dot = s2sad.jvp(kronecker_of_views, (a,), (a,), target=target)
    np.testing.assert_allclose(out_dot, np.sum(bar * a), rtol=1e-6)
