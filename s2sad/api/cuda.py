"""`s2sad.cuda`: derivatives of whole CUDA kernels.

    @s2sad.cuda.kernel
    def step(u, out):
        i = cuda.grid(1)
        if 0 < i < u.size - 1:
            out[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])

    step[blocks, threads](u, out)
    step.adjoint[blocks, threads](u, u_bar, out, out_bar)

The adjoint takes the arrays as they were *before* the launch and leaves them so; it *adds* to the
shadows of what the kernel reads, and takes from (sets to zero) those of what it overwrites.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from s2sad.api.launch import (
    Launch,
    arguments_of,
    differentiated,
    require_apart,
    require_axes,
    require_shadows,
    type_of_argument,
)
from s2sad.api.nested import context
from s2sad.api.notation import annotated, parse, write
from s2sad.api.plan import DERIVING
from s2sad.api.printed import printed
from s2sad.api.tape import Tape, own_copies, run_again
from s2sad.backends import cuda as backend
from s2sad.errors import ArgumentError
from s2sad.frontend.lowerer import Context
from s2sad.frontend.source import unwrap
from s2sad.ir.types import Array, Scalar, Type, is_inexact
from s2sad.transform.kernel import KernelProgram, adjoint_kernel, tangent_kernel

_MODES = ("adjoint", "tangent")


@dataclass(frozen=True)
class Derived:
    """One derivative of a kernel for one tuple of types: its program, its text, and what runs."""

    program: KernelProgram
    loaded: backend.LoadedCuda
    wrt: tuple[int, ...]


class Kernel:
    """A CUDA kernel with its derivatives: launch it as a kernel, or one of them.

    Attributes:
        py_func: the kernel as it was written.
        argnums: the arguments that have shadows; None for every real one.
    """

    def __init__(
        self, py_func: Callable[..., Any], argnums: Any, fastmath: bool, max_steps: int | None,
        recompute: int | None = None,
    ) -> None:  # fmt: skip
        """Hold the kernel; nothing is compiled before the first launch."""
        self.py_func, self.recompute = py_func, recompute
        self.argnums, self.fastmath, self.max_steps = argnums, fastmath, max_steps
        functools.update_wrapper(cast(Any, self), py_func, updated=())
        self.names = tuple(inspect.signature(py_func).parameters)
        self._derived: dict[Any, Derived] = {}
        self._last: tuple[Type, ...] | None = None
        self._chosen = positions(argnums, self.names, py_func.__name__)

    @functools.cached_property
    def primal(self) -> Any:
        """The kernel itself, compiled for the device."""
        return backend.compiled(self.py_func, device=False, fastmath=self.fastmath)

    def __getitem__(self, configuration: Any) -> Any:
        """Return the kernel ready to be launched: `step[grid, block, stream](...)`."""

        def run(args: tuple[Any, ...]) -> None:
            with backend.launching(self.py_func):
                self.primal[configuration](*args)

        return Launch(run)

    @property
    def adjoint(self) -> Launcher:
        """The adjoint kernel: `step.adjoint[grid, block, stream](u, u_bar, out, out_bar)`.

        Every differentiated argument is followed by its shadow, of its shape and dtype; that of a
        number is an array of one element. None as a shadow leaves that argument out.
        """
        return Launcher(self, "adjoint")

    @property
    def tangent(self) -> Launcher:
        """The tangent kernel: `step.tangent[grid, block, stream](u, u_dot, out, out_dot)`.

        It does what the kernel does, and the same to the tangents; that of a number is a number.
        """
        return Launcher(self, "tangent")

    def derive(self, mode: str, types: tuple[Type, ...], wrt: tuple[int, ...]) -> Derived:
        """Return a derivative for these types, made at most once."""
        key = (mode, types, wrt)
        with DERIVING:
            if key not in self._derived:
                if mode == "adjoint":
                    program = adjoint_kernel(self.py_func, types, wrt, _on_device, self.recompute)
                else:
                    program = tangent_kernel(self.py_func, types, wrt, _on_device())
                module = printed(program.functions, program.kernels[0], self.py_func, fastmath=self.fastmath)
                launched = (*program.kernels, *((program.tape.counter,) if program.tape else ()))
                self._derived[key] = Derived(program, backend.load(module, launched, self.py_func), wrt)
            self._last = types
            return self._derived[key]

    def source(self, mode: str = "adjoint", types: str | None = None) -> str:
        """Return the text of a derivative.

        Args:
            mode: "adjoint" or "tangent".
            types: a signature such as "float32[::1], float32[::1], int64"; else the annotations
                decide, else the last launch.

        Raises:
            ArgumentError: an unknown mode, or types that are neither given nor known.
        """
        return self._known(mode, types).loaded.text

    @property
    def plan(self) -> str:
        """How each addition of the adjoint is done, and why; of the types last launched, or annotated."""
        lines = self._known("adjoint", None).program.plan
        return "\n".join(map(str, lines)) if lines else "No thread adds to anything."

    def kernels(self, mode: str = "adjoint", types: str | None = None) -> tuple[str, ...]:
        """Return the names of the kernels that a derivative launches, in their order."""
        return self._known(mode, types).program.kernels

    def ptx(
        self, mode: str = "adjoint", types: str | None = None, cc: tuple[int, int] = (8, 0), name: str = ""
    ) -> str:
        """Return a derivative's kernel as PTX for a compute capability; needs neither GPU nor driver.

        Args:
            mode: "adjoint" or "tangent".
            types: a signature, as for `source`.
            cc: the compute capability.
            name: which of `kernels(mode, types)`; the last one by default.

        Raises:
            CompileError: NVVM is not installed, or the simulator is on.
        """
        made = self._known(mode, types)
        name = name or made.program.kernels[-1]
        signature = ", ".join(write(p.type) for p in made.program.functions[name].params)
        return backend.ptx(made.loaded.plain[name], signature, cc)

    def _known(self, mode: str, types: str | None) -> Derived:
        if mode not in _MODES:
            raise ArgumentError(f"`{mode}` is no derivative of a kernel", why="Use adjoint or tangent.")
        kinds = parse(types, self.names) if types is not None else annotated(self.py_func, self.names) or self._last
        if kinds is None:
            raise ArgumentError(
                f"the types of the arguments of `{self.py_func.__name__}` are not known",
                why='Launch it once, annotate it, or pass types="float32[::1], int64".',
            )
        return self.derive(mode, tuple(map(_plain, kinds)), self.real(kinds))

    def real(self, kinds: Sequence[Type]) -> tuple[int, ...]:
        """Return the positions of the arguments that have shadows."""
        return tuple(i for i, kind in enumerate(kinds) if is_inexact(kind) and i in self._chosen)

    def __repr__(self) -> str:
        """Name the kernel."""
        return f"<s2sad.cuda.kernel {self.py_func.__qualname__}{inspect.signature(self.py_func)}>"


def _on_device() -> Context:
    ctx = context()
    ctx.device = True
    return ctx


def _plain(kind: Type) -> Type:
    return Scalar(kind.dtype, kind.weak) if isinstance(kind, Scalar) else kind


class Launcher:
    """A derivative of a kernel, waiting for its launch configuration."""

    def __init__(self, kernel: Kernel, mode: str) -> None:
        """Launch `mode` of `kernel`."""
        self.kernel, self.mode = kernel, mode

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """Return the derivative ready to be launched."""
        if not (isinstance(configuration, tuple) and 2 <= len(configuration) <= 4):
            raise ArgumentError(f"`{self.kernel.py_func.__name__}.{self.mode}[{configuration!r}]` is no launch",
                                why="Give grid and block: [blocks, threads], and a stream if any.")  # fmt: skip
        return Launch(functools.partial(self._launch, configuration))

    def _launch(self, configuration: Any, args: tuple[Any, ...]) -> None:
        with backend.launching(self.kernel.py_func):
            self._run(configuration, args)

    def _run(self, configuration: Any, args: tuple[Any, ...]) -> None:
        kernel = self.kernel
        name = kernel.py_func.__name__
        values, shadows = arguments_of(args, kernel.names, kernel.real, name, self.mode)
        types = tuple(type_of_argument(v, n) for v, n in zip(values, kernel.names, strict=True))
        wrt = differentiated(shadows)
        made = kernel.derive(self.mode, types, wrt)
        program = made.program
        main = program.functions[program.kernels[0]]
        require_axes(configuration, program.axes, program.asked, name)
        require_apart(configuration, program.alike)
        require_shadows(values, shadows, kernel.names, program.written, self.mode)
        flat: list[Any] = []
        for i, value in enumerate(values):
            flat.append(value)
            if i in wrt:
                flat.append(shadows[i])
        bars = [s for s in shadows.values() if s is not None]
        if program.recomputes:
            run_again(made.loaded.functions, program.kernels, configuration, flat, bars, name, main.span)
            return
        if program.tape is None:
            for each in program.kernels:
                made.loaded.functions[each][configuration](*flat)
            return
        tape = Tape(program.tape, made.loaded, configuration)
        steps = kernel.max_steps or tape.counted(own_copies(values, kernel.names, program.written, tape.cuda))
        assert len(flat) + 3 == len(main.params)
        tape.run(program.kernels, flat, steps, bars, name, main.span)


def kernel(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    argnums: Any = None,
    fastmath: bool = False,
    max_steps: int | None = None,
    recompute: int | None = None,
) -> Any:
    """Make a CUDA kernel that has an adjoint and a tangent.

    Args:
        fun: the kernel: a plain function, or one under `@cuda.jit`.
        argnums: which arguments have shadows, by position or name; every real one by default.
        fastmath: Numba's option of that name, for the kernel and its derivatives; that of a kernel under
            `@cuda.jit(fastmath=True)` is kept.
        max_steps: how many iterations of a loop of unknown length one thread may save; counted
            before the launch when it is not given.
        recompute: keep no tape; what a loop of unknown length overwrote is computed again, this many steps at a
            time, which a thread holds in its own memory. A loop of n steps runs n / recompute times more.

    Returns:
        A `Kernel`: `step[grid, block](…)`, `.adjoint`, `.tangent`, `.plan`, `.source(mode)`, `.ptx(mode)`.

    Raises:
        ArgumentError: `argnums` names no argument; `recompute` is no positive number, or given beside `max_steps`.
        CompileError: no CUDA front end is installed.

    Example:
        >>> import s2sad
        >>> from numba import cuda
        >>> @s2sad.cuda.kernel
        ... def scale(x, y):
        ...     i = cuda.grid(1)
        ...     if i < x.size:
        ...         y[i] = 2.0 * x[i]
        >>> "x_bar[i] += 2.0 * y_bar[i]" in scale.source("adjoint", "float64[::1], float64[::1]")
        True
    """
    if recompute is not None and (recompute < 1 or max_steps is not None):
        raise ArgumentError(f"recompute={recompute} and max_steps={max_steps} do not fit together",
                            why="Give one of them, as a positive number: `recompute` keeps no tape.")  # fmt: skip

    def decorate(function: Any) -> Kernel:
        return Kernel(unwrap(function), argnums, fastmath or backend.fastmath_of(function), max_steps, recompute)

    return decorate if fun is None else decorate(fun)


def positions(argnums: Any, names: tuple[str, ...], label: str) -> frozenset[int]:
    if argnums is None:
        return frozenset(range(len(names)))
    chosen: set[int] = set()
    for item in argnums if isinstance(argnums, tuple | list) else (argnums,):
        position = names.index(item) if item in names else item
        if not isinstance(position, int) or not -len(names) <= position < len(names):
            raise ArgumentError(f"`{label}` has no argument {item!r}")
        chosen.add(position % len(names))
    return frozenset(chosen)


__all__ = ["Array", "Derived", "Kernel", "Launcher", "kernel"]
