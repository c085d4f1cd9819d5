"""The oracle against CPython and finite differences, and the ladder against derivatives with planted faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.corpus.programs import REGISTER, Program, programs
from tests.ladder import assert_close, climb, directions, is_single
from tests.oracle import oracle_jvp
from tests.trees import fresh, is_active, leaves, tree_map

PROGRAMS = programs()


def widen(tree: Any) -> Any:
    """Bring single precision leaves to double precision."""
    wide = {"f": np.float64, "c": np.complex128}

    def raise_leaf(x: Any) -> Any:
        if not is_active(x) or not isinstance(x, (np.ndarray, np.generic)):
            return x
        return x.astype(wide[x.dtype.kind]) if x.dtype.itemsize < 8 or x.dtype.kind == "c" else x
    return tree_map(raise_leaf, tree)


def shifted(args: tuple[Any, ...], tangents: tuple[Any, ...], step: float) -> tuple[Any, ...]:
    """Move every differentiated argument by `step` along its tangent."""
    def move(x: Any, x_dot: Any) -> Any:
        if not is_active(x):
            return x
        if not isinstance(x, np.ndarray):
            return type(x)(x + step * x_dot)
        twin = fresh(x)
        twin[...] = x + step * x_dot
        return twin
    return tuple(arg if arg_dot is None else tree_map(move, arg, arg_dot)
                 for arg, arg_dot in zip(fresh(args), tangents, strict=True))


def finite_difference(program: Program, tangents: tuple[Any, ...], step: float) -> Any:
    """Differentiate by the central difference of fourth order."""
    def at(k: int) -> list[Any]:
        return leaves(program.fun(*shifted(widen(program.args), tangents, k * step)))
    return [(8 * (np.asarray(b) - np.asarray(c)) - (np.asarray(a) - np.asarray(d))) / (12 * step)
            if is_active(b) else None
            for a, b, c, d in zip(at(2), at(1), at(-1), at(-2), strict=True)]


@pytest.mark.parametrize("name", list(REGISTER))
def test_oracle_agrees_with_cpython_and_finite_differences(name: str) -> None:
    """Show that the program is sound and that the oracle differentiates it."""
    program = REGISTER[name]
    single = is_single(program)
    with np.errstate(all="ignore"):
        want = program.fun(*fresh(program.args))
        tangents = directions(program)
        out, out_dot = oracle_jvp(program.fun, fresh(program.args), tangents)
        assert_close(out, want, 1e-4 if single else 1e-12, "value")
        if "kink" not in program.marks:
            slope = finite_difference(program, tangents, 1e-3 if single else 2e-4)
            pairs = [(d, s) for d, s in zip(leaves(out_dot), slope, strict=True) if s is not None]
            assert_close([d for d, _ in pairs], [s for _, s in pairs], 1e-3 if single else 1e-8, "derivative")
        assert any(np.any(np.asarray(d) != 0) for d in leaves(out_dot) if is_active(d)) or program.true is not None


@pytest.mark.parametrize("name", [name for name, p in REGISTER.items() if p.true is not None])
def test_gradient_by_hand_is_the_oracles(name: str) -> None:
    """Compare the gradient written by hand with the oracle's."""
    program = REGISTER[name]
    with np.errstate(all="ignore"):
        _, grads = reference(program).value_and_grad(*fresh(program.args))
    assert_close(grads if len(program.wrt) == 1 else grads[0], program.true, 1e-12, name)


class reference:
    """A derivative made of the oracle alone, slow and right; `fault` spoils one part of it."""

    def __init__(self, program: Program, fault: Callable[[Any], Any] | None = None, part: str = "") -> None:
        """Differentiate `program`, passing the result of `part` through `fault`."""
        self.program, self.fault, self.part = program, fault, part

    def spoil(self, part: str, result: Any) -> Any:
        """Apply the fault where it was planted."""
        return self.fault(result) if part == self.part and self.fault else result

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Ask the oracle."""
        out, out_dot = oracle_jvp(self.program.fun, fresh(primals), tangents)
        return self.spoil("value", out), self.spoil("jvp", out_dot)

    def vjp(self, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Collect the Jacobian column by column."""
        out = self.program.fun(*fresh(primals))

        def column(i: int, leaf: int, index: Any, y_bar: Any, step: complex = 1.0) -> Any:
            def unit(tree: Any) -> Any:
                count = iter(range(10**6))
                def fill(x: Any) -> Any:
                    here = next(count) == leaf
                    basis = np.zeros_like(np.asarray(x))
                    basis[index if here else ()] = step if here else 0.0
                    return (basis if isinstance(x, np.ndarray) else basis[()]) if is_active(x) else None
                return tree_map(fill, tree)
            tangents = tuple(unit(a) if j == i else None for j, a in enumerate(primals))
            _, y_dot = oracle_jvp(self.program.fun, fresh(primals), tangents)
            pairs = zip(leaves(y_bar), leaves(y_dot), strict=True)
            return sum(np.sum(np.asarray(a) * b) for a, b in pairs if a is not None)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bars = []
            for i, arg in enumerate(primals):
                count = iter(range(10**6))
                def fill(x: Any, i: int = i, count: Any = count) -> Any:
                    leaf = next(count)
                    if not is_active(x):
                        return None
                    bar = np.zeros_like(np.asarray(x), order="C")
                    for index in np.ndindex(bar.shape):
                        bar[index] = np.real(column(i, leaf, index, y_bar))
                        if np.iscomplexobj(bar):
                            bar[index] -= 1j * np.real(column(i, leaf, index, y_bar, 1j))
                    return bar if isinstance(x, np.ndarray) else bar[()]
                bars.append(tree_map(fill, arg) if i in self.program.wrt else None)
            return self.spoil("vjp", tuple(bars))
        return out, pullback

    def value_and_grad(self, *args: Any) -> tuple[Any, Any]:
        """Pull one back."""
        out, pullback = self.vjp(*args)
        bars = pullback(tree_map(np.ones_like, out))
        grads = tuple(bars[i] for i in self.program.wrt)
        return out, self.spoil("grad", grads if len(grads) > 1 else grads[0])


EXAMPLES = ("loops.sum_of_squares", "elementwise.complex_result",
            "containers.dict_argument", "mutation.array_out", "control.returns_pair")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_ladder_accepts_a_right_derivative(name: str) -> None:
    """Climb with the reference derivative."""
    climb(REGISTER[name], reference(REGISTER[name]))


FAULTS = {
    "sign": lambda tree: tree_map(lambda x: None if x is None else -x, tree),
    "dtype": lambda tree: tree_map(lambda x: None if x is None else np.asarray(x).astype(np.float32), tree),
    "shape": lambda tree: tree_map(lambda x: None if x is None else np.asarray(x)[None], tree),
    "last bit but twenty": lambda tree: tree_map(lambda x: None if x is None else x * (1 + 1e-10), tree),
}


@pytest.mark.parametrize("part", ["jvp", "vjp", "grad"])
@pytest.mark.parametrize("fault", list(FAULTS))
def test_the_ladder_rejects_a_planted_fault(part: str, fault: str) -> None:
    """Climb with a spoiled derivative and fall."""
    program = REGISTER["loops.sum_of_squares"]
    with pytest.raises(AssertionError):
        climb(program, reference(program, FAULTS[fault], part))
