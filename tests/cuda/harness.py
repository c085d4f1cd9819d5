"""The adjoint and the tangent of a kernel against finite differences of the kernel, all in the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2sad
from tests.cuda.emulator import emulate


def real(value: Any) -> bool:
    return isinstance(value, float | np.floating) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def primal(kernel: Any, grid: Any, block: Any, args: Any) -> list[Any]:
    """Return the arguments after a launch on copies of them."""
    fresh = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    emulate(kernel.py_func, grid, block, *fresh)
    return fresh


def adjoint(kernel: Any, grid: Any, block: Any, args: list[Any], bars: list[Any], seed: int = 0) -> Any:
    """Launch the adjoint in the emulator; the shadows are changed in place."""
    from s2sad.api import launch as launching

    types = tuple(launching.type_of_argument(a, n) for a, n in zip(args, kernel.names, strict=True))
    made = kernel.derive("adjoint", types, kernel.real(types))
    wrt = set(made.wrt)
    flat = [v for i, a in enumerate(args) for v in ((a, bars[i]) if i in wrt else (a,))]
    launching.require_axes((grid, block), made.program.axes, made.program.asked, "kernel")
    launching.require_apart((grid, block), made.program.alike)
    extra: list[Any] = []
    if made.program.tape is not None:
        needed, threads = np.zeros(1, np.int64), int(np.prod(grid) * np.prod(block))
        own = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        emulate(made.loaded.plain[made.program.tape.counter], grid, block, *own, needed, text=made.loaded.text)
        size = int(needed[0])
        extra = [np.full((size, max(1, made.program.tape.values), threads), np.nan),
                 np.zeros((size, max(1, made.program.tape.marks), threads), np.int64), np.zeros(1, np.int64)]
    if made.program.recomputes:
        extra = [np.zeros(1, np.int64)]
    for name in made.program.kernels:
        emulate(made.loaded.plain[name], grid, block, *flat, *extra, seed=seed, text=made.loaded.text)
    if extra:
        assert extra[-1][0] == 0, "the tape was too short, or a loop came out differently the second time"
    return made


def tangent(kernel: Any, grid: Any, block: Any, args: list[Any], dots: list[Any], seed: int = 0) -> None:
    """Launch the tangent in the emulator; arguments and tangents of arrays are changed in place."""
    from s2sad.api import launch as launching

    types = tuple(launching.type_of_argument(a, n) for a, n in zip(args, kernel.names, strict=True))
    made = kernel.derive("tangent", types, kernel.real(types))
    wrt = set(made.wrt)
    flat = [v for i, a in enumerate(args) for v in ((a, dots[i]) if i in wrt else (a,))]
    name, = made.program.kernels
    emulate(made.loaded.plain[name], grid, block, *flat, seed=seed, text=made.loaded.text)


def check(kernel: Any, grid: Any, block: Any, *args: Any, rtol: float = 1e-6, step: float = 1e-6) -> Any:
    """Compare `cotangent · J d`, by differences of the kernel, with `(Jᵀ cotangent) · d`, by its adjoint."""
    rng = np.random.default_rng(len(args))
    args = tuple(args)
    wrt = [i for i, a in enumerate(args) if real(a)]
    noise = lambda a: np.asarray(rng.uniform(-1, 1, np.shape(a) or (1,)), getattr(a, "dtype", np.float64))
    after = {i: noise(args[i]) if isinstance(args[i], np.ndarray) else np.zeros(1) for i in wrt}
    bars: list[Any] = [after[i].copy() if i in after else None for i in range(len(args))]
    given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    made = adjoint(kernel, grid, block, given, bars)
    for before, now in zip(args, given, strict=True):
        np.testing.assert_array_equal(now, before, err_msg="the adjoint changed the kernel's own arguments")
    for again in (1, 2):
        others = [after[i].copy() if i in after else None for i in range(len(args))]
        adjoint(kernel, grid, block, [np.array(a) if isinstance(a, np.ndarray) else a for a in args], others, again)
        for x, y in zip(bars, others, strict=True):
            if x is not None:
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12, err_msg="the order of threads matters")
    for _ in range(2):
        d = {i: noise(args[i]) for i in wrt}
        moved = [primal(kernel, grid, block, [_moved(a, d.get(i), sign * step) for i, a in enumerate(args)])
                 for sign in (1, -1)]
        arrays = [i for i in after if isinstance(args[i], np.ndarray)]
        want = sum(float(np.sum((moved[0][i] - moved[1][i]) / (2 * step) * after[i])) for i in arrays)
        got = sum(float(np.sum(bars[i] * d[i])) for i in wrt)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
        given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        dots: dict[int, Any] = {i: d[i].copy() if i in arrays else float(d[i][0]) for i in wrt}
        tangent(kernel, grid, block, given, [dots.get(i) for i in range(len(args))])
        launched = primal(kernel, grid, block, args)
        for i in arrays:
            np.testing.assert_allclose(given[i], launched[i], rtol=1e-12, err_msg="the tangent is another kernel")
            slope = (moved[0][i] - moved[1][i]) / (2 * step)
            np.testing.assert_allclose(dots[i], slope, rtol=rtol, atol=rtol, err_msg="the tangent")
    return made


def _moved(value: Any, direction: Any, step: float) -> Any:
    if direction is None:
        return value
    return value + step * direction if isinstance(value, np.ndarray) else float(value + step * direction[0])


__all__ = ["adjoint", "check", "primal", "s2sad"]
