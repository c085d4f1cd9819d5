"""The ladder: what every derivative must satisfy, rung by rung, before it is believed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tests.corpus.programs import Program
from tests.oracle import oracle_jvp
from tests.trees import fresh, is_active, leaves, tree_map


class Derivative(Protocol):
    """What `s2sad.differentiate(...)(fun)` must offer to be climbed."""

    def __call__(self, *args: Any) -> Any:
        """Compute the primal."""

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Push tangents forward."""

    def vjp(self, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Give the value and the pullback."""

    def value_and_grad(self, *args: Any) -> tuple[Any, Any]:
        """Give the value and the gradient."""


def is_single(program: Program) -> bool:
    """Tell whether the program computes in single precision anywhere."""
    return any(np.asarray(x).dtype in (np.float32, np.complex64) for x in leaves(program.args) if is_active(x))


def noise(tree: Any, seed: str) -> Any:
    """Draw a random direction with the structure of `tree`: no entry zero, None where nothing is differentiable."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))

    def draw(leaf: Any) -> Any:
        if not is_active(leaf):
            return None
        shape, dtype = np.shape(leaf), np.asarray(leaf).dtype
        size = rng.uniform(0.3, 1.3, shape) * rng.choice([-1.0, 1.0], shape)
        if dtype.kind == "c":
            size = size + 1j * rng.uniform(-1, 1, shape)
        return size.astype(dtype) if isinstance(leaf, np.ndarray) else type(leaf)(size)
    return tree_map(draw, tree)


def directions(program: Program, seed: str = "") -> tuple[Any, ...]:
    """Draw one direction per argument, None for those that are not differentiated."""
    return tuple(noise(arg, f"{program.name}{seed}{i}") if i in program.wrt else None
                 for i, arg in enumerate(program.args))


def inner(a: Any, b: Any) -> complex:
    """Pair a cotangent with a tangent, by JAX's convention: no conjugate, real part under complex."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return sum(complex(np.sum(np.asarray(x) * np.asarray(y))) for x, y in pairs if is_active(x) and is_active(y))


def assert_close(got: Any, want: Any, rtol: float, what: str) -> None:
    """Compare two trees leaf by leaf, relative to the largest entry, NaN as NaN."""
    found, expected = leaves(got), leaves(want)
    assert len(found) == len(expected), f"{what}: {len(found)} leaves, expected {len(expected)}: {got!r}"
    for x, y in zip(found, expected, strict=True):
        if y is None or isinstance(y, str):
            assert x == y, f"{what}: {x!r}, expected {y!r}"
            continue
        assert np.shape(x) == np.shape(y), f"{what}: shape {np.shape(x)}, expected {np.shape(y)}"
        finite = np.abs(np.asarray(y))[np.isfinite(y)]
        scale = max(1.0, float(np.max(finite, initial=0.0)))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale, err_msg=what)


def assert_same(got: Any, want: Any, what: str) -> None:
    """Compare two trees to the last bit."""
    for x, y in zip(leaves(got), leaves(want), strict=True):
        if x is None or isinstance(x, str) or callable(x):
            continue
        np.testing.assert_array_equal(x, y, err_msg=what)


def assert_fits(gradient: Any, argument: Any, what: str) -> None:
    """Demand that a gradient has exactly the structure, shapes and dtypes of its argument."""
    def check(part: Any, grad: Any) -> None:
        if not is_active(part):
            return
        assert np.shape(grad) == np.shape(part), f"{what}: shape {np.shape(grad)} for {np.shape(part)}"
        found, expected = np.asarray(grad).dtype, np.asarray(part).dtype
        assert found == expected, f"{what}: dtype {found} for an argument of {expected}"
    assert type(gradient) is type(argument) or is_active(argument), f"{what}: {type(gradient)} for {type(argument)}"
    tree_map(check, argument, gradient)


def chosen(cotangents: tuple[Any, ...], program: Program) -> tuple[Any, ...]:
    """Pick the cotangents of the differentiated arguments from one entry per argument (or per `wrt`)."""
    assert isinstance(cotangents, tuple), f"a pullback must return a tuple, not {type(cotangents).__name__}"
    if len(cotangents) == len(program.args):
        return tuple(cotangents[i] for i in program.wrt)
    assert len(cotangents) == len(program.wrt), f"{len(cotangents)} cotangents for {len(program.args)} arguments"
    return cotangents


def climb(program: Program, derivative: Derivative) -> None:
    """Check value, tangent, cotangent, gradient, structure and purity of one derivative of one program."""
    single = is_single(program)
    exact, close, paired = (2e-5, 2e-4, 5e-4) if single else (1e-13, program.rtol, max(1e-12, program.rtol))
    with np.errstate(all="ignore"):
        want = program.fun(*fresh(program.args))
        xs_dot = directions(program)
        _, y_dot = oracle_jvp(program.fun, fresh(program.args), xs_dot)
        args = fresh(program.args)

        out, out_dot = derivative.jvp(args, xs_dot)
        assert_close(out, want, exact, "value under jvp")
        assert_close(out_dot, y_dot, close, "jvp against the oracle")
        assert_same(args, program.args, "jvp changed the caller's arguments")
        assert_same(derivative.jvp(args, xs_dot)[1], out_dot, "jvp called twice")

        check_pullback(program, derivative, (want, exact, paired))
        if has_gradient(want):
            check_gradient(program, derivative, (want, exact, paired))


def check_pullback(program: Program, derivative: Derivative, expected: tuple[Any, float, float]) -> None:
    """Check the dot-product test, structure, repeatability and purity of the pullback."""
    want, exact, paired = expected
    args = fresh(program.args)
    out, pullback = derivative.vjp(*args)
    assert_close(out, want, exact, "value under vjp")
    for trial in ("first", "second"):
        y_bar = noise(out, f"{program.name}{trial}")
        kept = fresh(y_bar)
        xs_bar = chosen(pullback(y_bar), program)
        assert_same(y_bar, kept, "the pullback changed its cotangent")
        xs_dot = directions(program, trial)
        _, y_dot = oracle_jvp(program.fun, fresh(program.args), xs_dot)
        left, right = inner(y_bar, y_dot), inner(xs_bar, tuple(xs_dot[i] for i in program.wrt))
        assert_close(right.real, left.real, paired, f"dot-product test, {trial} direction")
        for i, x_bar in zip(program.wrt, xs_bar, strict=True):
            assert_fits(x_bar, program.args[i], f"cotangent of argument {i}")
        assert_same(chosen(pullback(y_bar), program), xs_bar, "the pullback called twice")
    assert_same(args, program.args, "vjp changed the caller's arguments")


def check_gradient(program: Program, derivative: Derivative, expected: tuple[Any, float, float]) -> None:
    """Check `value_and_grad`: the directional derivative, structure, purity, and the value known by hand."""
    want, exact, paired = expected
    args = fresh(program.args)
    out, grads = derivative.value_and_grad(*args)
    assert_close(out, want, exact, "value under value_and_grad")
    grads = grads if len(program.wrt) > 1 else (grads,)
    for i, grad in zip(program.wrt, grads, strict=True):
        assert_fits(grad, program.args[i], f"gradient of argument {i}")
    xs_dot = directions(program, "gradient")
    _, y_dot = oracle_jvp(program.fun, fresh(program.args), xs_dot)
    slope = inner(grads, tuple(xs_dot[i] for i in program.wrt))
    assert_close(slope.real, float(np.real(leaves(y_dot)[0])), paired, "gradient against the oracle")
    if program.true is not None:
        assert_close(grads[0], program.true, paired, "gradient known by hand")
    assert_same(derivative.value_and_grad(*args)[1], grads if len(program.wrt) > 1 else grads[0], "called twice")
    assert_same(args, program.args, "value_and_grad changed the caller's arguments")


def has_gradient(want: Any) -> bool:
    """Tell whether a value is one real number."""
    return len(leaves(want)) == 1 and np.shape(leaves(want)[0]) == () and not np.iscomplexobj(leaves(want)[0])


def compare(program: Program, derivative: Derivative, known: Derivative) -> None:
    """Compare value and cotangents of a derivative with those of one that climbed the ladder."""
    exact, close = (2e-5, 5e-4) if is_single(program) else (1e-13, max(1e-12, program.rtol))
    with np.errstate(all="ignore"):
        want = program.fun(*fresh(program.args))
        args = fresh(program.args)
        if has_gradient(want):
            out, found = derivative.value_and_grad(*args)
            _, expected = known.value_and_grad(*fresh(program.args))
        else:
            y_bar = noise(want, program.name)
            out, pullback = derivative.vjp(*args)
            found, expected = pullback(y_bar), known.vjp(*fresh(program.args))[1](y_bar)
        assert_close(out, want, exact, "value")
        assert_close(found, expected, close, "cotangents against CPython's")
        assert_same(args, program.args, "the derivative changed the caller's arguments")
