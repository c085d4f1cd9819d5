"""`check_grads`: derivatives against finite differences, both modes, along random directions."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from s2sad.api.jacobian import jacfwd, jacrev, leaf_values
from s2sad.api.options import Options
from s2sad.api.structure import Tree, describe, inexact_leaves, unflatten
from s2sad.api.transformed import Transformed, target_of
from s2sad.api.transforms import copied, jvp, vjp
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, is_complex

_DIRECTIONS = 3
_TOLERANCE = {"float16": 1e-2, "float32": 1e-2, "complex64": 1e-2}
_STEP = {"float16": 1e-2, "float32": 1e-2, "complex64": 1e-2}


def check_grads(
    fun: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    target: str | None = None,
) -> None:
    """Compare derivatives with central differences of `fun` run in CPython.

    Args:
        fun: the function.
        args: its arguments, as a tuple or a list; integer and static ones stay as they are.
        order: up to which order; each further order checks the derivative of the derivative.
        modes: "fwd" (`jvp`), "rev" (`vjp`), or both.
        atol: absolute tolerance; 1e-6, or 1e-2 in single precision.
        rtol: relative tolerance; as `atol`.
        eps: step of the differences, in units of the arguments; 1e-6, or 1e-2 in single precision.
        target: "cpu" or "python".

    Raises:
        AssertionError: names the argument, the direction and both numbers.
        ArgumentError: an unknown mode, an order below 1, a tolerance or a step that is none, or nothing to
            differentiate.

    Example:
        >>> import s2sad
        >>> def cube(x):
        ...     return x * x * x
        >>> s2sad.check_grads(cube, (2.0,))
    """
    chosen = (modes,) if isinstance(modes, str) else tuple(modes or ())
    _require_fitting(fun, args, order, chosen, {"atol": atol, "rtol": rtol, "eps": eps})
    values = tuple(args)
    names = _names(fun, values)
    trees = tuple(describe(value, f"args_{i}", names[i]) for i, value in enumerate(values))
    leaves = [leaf for tree in trees for leaf in inexact_leaves(tree)]
    if not leaves:
        raise ArgumentError("check_grads was given no argument that can be differentiated")
    checker = _Checker(values, trees, leaves, atol, rtol, eps, target)
    checker.run(fun, chosen, order, "")


def _names(fun: Callable[..., Any], values: tuple[Any, ...]) -> tuple[str, ...]:
    """Return what messages call the arguments: the parameters, else their places."""
    try:
        every = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        every = ()
    named = itertools.takewhile(lambda p: p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD), every)
    known = tuple(p.name for p in named)
    return (*known[: len(values)], *(f"args[{i}]" for i in range(len(known), len(values))))


def _require_fitting(
    fun: Any, args: Any, order: Any, modes: tuple[str, ...], numbers: dict[str, float | None]
) -> None:
    if not callable(fun):
        raise ArgumentError(f"check_grads checks a function, not `{fun!r}`")
    if not isinstance(args, tuple | list):
        raise ArgumentError(f"check_grads takes the arguments in a tuple, not a {type(args).__name__}",
                            why="Write `check_grads(f, (x,))`.")  # fmt: skip
    if not modes or not set(modes) <= {"fwd", "rev"}:
        raise ArgumentError(f"check_grads takes the modes fwd and rev, not {modes!r}")
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise ArgumentError(f"check_grads takes an order of 1 or more, not {order!r}")
    for name, number in numbers.items():
        least = 0.0 if name != "eps" else np.finfo(float).tiny
        if number is not None and not least <= number < np.inf:
            raise ArgumentError(f"{name}={number!r} is no {'step' if name == 'eps' else 'tolerance'}")


class _Checker:
    """The arguments, the tolerances and the seeded random directions of one check."""

    def __init__(
        self,
        values: tuple[Any, ...],
        trees: tuple[Tree, ...],
        leaves: list[Tree],
        atol: float | None,
        rtol: float | None,
        eps: float | None,
        target: str | None,
    ) -> None:
        dtypes = [_dtype(leaf).name for leaf in leaves]
        default = max(_TOLERANCE.get(dtype, 1e-6) for dtype in dtypes)
        self.values, self.trees, self.leaves, self.target = values, trees, leaves, target
        self.atol = default if atol is None else atol
        self.rtol = default if rtol is None else rtol
        self.eps = max(_STEP.get(dtype, 1e-6) for dtype in dtypes) if eps is None else eps
        self.random = np.random.default_rng(0)

    def run(self, fun: Callable[..., Any], modes: tuple[str, ...], order: int, which: str) -> None:
        """Check `fun` along each argument's leaves alone, then along all of them together."""
        groups = [[leaf] for leaf in self.leaves]
        groups += [self.leaves] if len(self.leaves) > 1 else []
        for group in groups:
            for _ in range(_DIRECTIONS):
                self._one(fun, modes, group, which)
        if order > 1:
            for mode in modes:
                self.run(self._derivative(fun, mode), modes, order - 1, f"{which}{mode} of ")

    def _one(
        self, fun: Callable[..., Any], modes: tuple[str, ...], group: list[Tree], which: str
    ) -> None:
        direction = {leaf: self._normal(_dtype(leaf), _shape(leaf, self)) for leaf in group}
        expected = self._difference(fun, direction)
        name = ", ".join(f"`{leaf.path}`" for leaf in group)
        if "fwd" in modes:
            tangents = tuple(unflatten(tree, direction, static=False) for tree in self.trees)
            _, got = jvp(fun, self._copies(), tangents, target=self.target)
            for path, a, b in _pairs(got, expected):
                self._compare(a, b, f"{which}jvp, {path}", name, direction)
        if "rev" in modes:
            self._reverse(fun, direction, expected, name, which)

    def _reverse(
        self,
        fun: Callable[..., Any],
        direction: dict[Tree, Any],
        expected: Any,
        name: str,
        which: str,
    ) -> None:
        """Compare <pullback(out_bar), direction> with <out_bar, J direction>."""
        out, pullback = vjp(fun, *self._copies(), target=self.target)
        tree = describe(out, "output")
        bars = {
            leaf: self._normal(_dtype(leaf), np.shape(v))
            for leaf, v in leaf_values(tree, out).items()
        }
        inexact = set(inexact_leaves(tree))
        bars = {leaf: bar for leaf, bar in bars.items() if leaf in inexact}
        got = pullback(unflatten(tree, bars, static=False))
        cotangents: dict[Tree, Any] = {}
        for argument, bar in zip(self.trees, got, strict=True):
            cotangents |= leaf_values(argument, bar)
        left = sum(_inner(cotangents[leaf], dot) for leaf, dot in direction.items())
        differences = {leaf.path: value for leaf, value in leaf_values(tree, expected).items()}
        right = sum(_inner(bar, differences[leaf.path]) for leaf, bar in bars.items())
        self._compare(left, right, f"{which}vjp, <cotangent, direction>", name, direction)

    def _derivative(self, fun: Callable[..., Any], mode: str) -> Callable[..., Any]:
        """Return what the next order differentiates: a gradient where there is one."""
        argnums = tuple(i for i, tree in enumerate(self.trees) if inexact_leaves(tree))
        output = describe(fun(*self._copies()), "output")
        target = target_of(fun, self.target)
        if output.is_leaf and not isinstance(output.type, Array):
            holomorphic = Options(holomorphic=is_complex(output.type))
            return Transformed(fun, "grad", argnums, holomorphic, target)
        return (jacfwd if mode == "fwd" else jacrev)(fun, argnums, target=target)

    def _difference(self, fun: Callable[..., Any], direction: dict[Tree, Any]) -> Any:
        """Return the central difference of `fun`, run as it is, in the structure of its output."""
        above, below = (
            fun(*self._moved(direction, self.eps)),
            fun(*self._moved(direction, -self.eps)),
        )
        tree = describe(above, "output")
        high, low = leaf_values(tree, above), leaf_values(tree, below)
        slopes = {
            leaf: (np.asarray(high[leaf]) - low[leaf]) / (2 * self.eps)
            for leaf in inexact_leaves(tree)
        }
        return unflatten(tree, slopes, static=False)

    def _moved(self, direction: dict[Tree, Any], step: float) -> tuple[Any, ...]:
        moved: list[Any] = []
        for tree, value in zip(self.trees, self._copies(), strict=True):
            parts = leaf_values(tree, value)
            for leaf, dot in direction.items():
                if leaf in parts:
                    parts[leaf] = _like(parts[leaf], parts[leaf] + step * dot)
            moved.append(unflatten(tree, parts))
        return tuple(moved)

    def _copies(self) -> tuple[Any, ...]:
        return tuple(copied(value) for value in self.values)

    def _normal(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
        drawn: Any = self.random.normal(size=shape)
        if dtype.kind == "c":
            drawn = drawn + 1j * self.random.normal(size=shape)
        return np.asarray(drawn, dtype) if shape else np.asarray(drawn, dtype)[()]

    def _compare(
        self, got: Any, expected: Any, what: str, name: str, direction: dict[Tree, Any]
    ) -> None:
        if np.shape(got) == np.shape(expected) and np.allclose(got, expected, self.rtol, self.atol):
            return
        along = ", ".join(
            f"{leaf.path}: {np.array2string(np.asarray(d))}" for leaf, d in direction.items()
        )
        raise AssertionError(
            f"{what} is wrong for argument {name} along {along}:\n"
            f"  derivative         {got!r}\n  finite difference  {expected!r}"
        )


def _dtype(leaf: Tree) -> np.dtype[Any]:
    return np.dtype(getattr(leaf.type, "dtype", "float64"))


def _shape(leaf: Tree, checker: _Checker) -> tuple[int, ...]:
    if not isinstance(leaf.type, Array):
        return ()
    for tree, value in zip(checker.trees, checker.values, strict=True):
        parts = leaf_values(tree, value)
        if leaf in parts:
            return np.shape(parts[leaf])
    return ()


def _like(original: Any, moved: Any) -> Any:
    if isinstance(original, np.ndarray):
        return np.asarray(moved, original.dtype)
    return type(original)(moved)


def _inner(a: Any, b: Any) -> Any:
    """The real inner product; JAX's cotangents pair without conjugation."""
    return np.real(np.sum(np.asarray(a) * np.asarray(b))) if a is not None else 0.0


def _pairs(got: Any, expected: Any) -> list[tuple[str, Any, Any]]:
    left, right = describe(got, "output"), describe(expected, "output")
    a, b = leaf_values(left, got), leaf_values(right, expected)
    return [
        (x.path, a[x], b[y])
        for x, y in zip(inexact_leaves(left), inexact_leaves(right), strict=True)
    ]
