"""`@differentiate(target="cuda")`: a function and its derivatives as device functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from s2sad.api.decorator import Differentiable
from s2sad.api.deriving import DERIVING
from s2sad.api.guess import guessed
from s2sad.api.nested import context
from s2sad.api.notation import annotated, parse, write
from s2sad.api.options import Options
from s2sad.api.printed import printed
from s2sad.api.signature import Argnums, label
from s2sad.backends import cuda as backend
from s2sad.errors import ArgumentError
from s2sad.frontend.source import unwrap
from s2sad.ir.types import Array, Scalar, Type, is_inexact
from s2sad.transform.device_function import MODES, DeviceProgram, device_function


class DeviceDifferentiable(Differentiable[Any, Any]):
    """A function under `@differentiate(target="cuda")`: on the host as on "cpu", and `.device`."""

    def __init__(self, py_func: Callable[..., Any], argnums: Argnums, options: Options) -> None:
        """Hold the function; nothing is compiled before it is asked for."""
        fastmath = options.fastmath or backend.fastmath_of(py_func)
        super().__init__(unwrap(py_func), argnums, "cpu", replace(options, fastmath=fastmath))
        self._device: DeviceFunctions | None = None

    @property
    def device(self) -> DeviceFunctions:
        """The function and its derivatives, to be called in kernels: `f.device.value_and_grad(x)`."""
        if self._device is None:
            self._device = DeviceFunctions(self.py_func, self.argnums, self.options, None)
        return self._device

    def __copy__(self) -> DeviceDifferentiable:
        """Return an equal object."""
        return DeviceDifferentiable(self.py_func, self.argnums, self.options)


class DeviceFunctions:
    """Device functions of flat arguments, for one tuple of argument types.

    The arguments are those of the function; of "vjp" the result's cotangent follows, of "jvp" the
    tangents of the differentiated arguments, then one array per differentiated array that its adjoint
    is *added* to. What is returned: the value (not by `grad`), then the adjoints of the numbers. A
    loop of unknown length takes four arguments more: `tape[step, value, slot]`, `marks` of the same
    shape, `needed` of one element (the length that was needed, if the tape was too short: what is
    returned is then to be thrown away), and `slot`, the thread's column.

    The types come from annotations, else from how the parameters are used (numbers are float64);
    `f.device("float32, float32[::1]")` gives the functions for other types.
    """

    def __init__(self, fun: Callable[..., Any], argnums: Argnums, options: Options, types: str | None) -> None:
        """Hold the function and the types."""
        self.fun, self.argnums, self.options, self.types = fun, argnums, options, types
        self._made: dict[str, tuple[DeviceProgram, backend.LoadedCuda]] = {}

    def __call__(self, types: str) -> DeviceFunctions:
        """Return the device functions for these argument types."""
        return DeviceFunctions(self.fun, self.argnums, self.options, types)

    @property
    def primal(self) -> Any:
        """The function itself."""
        return self._entry("primal")

    @property
    def grad(self) -> Any:
        """The gradient."""
        return self._entry("grad")

    @property
    def value_and_grad(self) -> Any:
        """Value and gradient."""
        return self._entry("value_and_grad")

    @property
    def vjp(self) -> Any:
        """Value and adjoint, given the result's cotangent."""
        return self._entry("vjp")

    @property
    def jvp(self) -> Any:
        """Value and tangent, given the tangents of the differentiated arguments."""
        return self._entry("jvp")

    def source(self, mode: str = "value_and_grad") -> str:
        """Return the text of a device function; raises ArgumentError for an unknown mode."""
        return self._derive(mode)[1].text

    def ptx(self, mode: str = "value_and_grad", cc: tuple[int, int] = (8, 0)) -> str:
        """Return a device function as PTX; raises CompileError where NVVM is missing."""
        program, loaded = self._derive(mode)
        signature = ", ".join(write(p.type) for p in program.functions[program.entry].params)
        return backend.ptx(loaded.plain[program.entry], signature, cc, device=True)

    def _entry(self, mode: str) -> Any:
        program, loaded = self._derive(mode)
        return loaded.functions[program.entry]

    def _derive(self, mode: str) -> tuple[DeviceProgram, backend.LoadedCuda]:
        if mode not in MODES:
            raise ArgumentError(f"`{mode}` is no mode of a device function", why=f"Use one of {', '.join(MODES)}.")
        with DERIVING:
            if mode not in self._made:
                kinds = self._kinds()
                wrt = self._wrt(kinds) if mode != "primal" else ()
                ctx = context()
                ctx.device = True
                program = device_function(self.fun, mode, kinds, wrt, ctx)
                module = printed(program.functions, program.entry, self.fun, fastmath=bool(self.options.fastmath))
                self._made[mode] = program, backend.load(module, (), self.fun)
            return self._made[mode]

    def _names(self) -> list[str]:
        import inspect

        return list(inspect.signature(self.fun).parameters)

    def _kinds(self) -> tuple[Type, ...]:
        names = self._names()
        kinds = parse(self.types, names) if self.types is not None else annotated(self.fun, names) or guessed(self.fun)
        if kinds is None or len(kinds) != len(names):
            raise ArgumentError(
                f"the types of the arguments of `{label(self.fun)}` are not known",
                why='Annotate them, or write f.device("float64, float64[::1]").',
            )
        for name, kind in zip(names, kinds, strict=True):
            if not isinstance(kind, Array | Scalar):
                raise ArgumentError(f"`{name}` is a container; a device function takes numbers and arrays",
                                    why="Pass its items one by one.")  # fmt: skip
        return tuple(Scalar(k.dtype, k.weak) if isinstance(k, Scalar) else k for k in kinds)

    def _wrt(self, kinds: tuple[Type, ...]) -> tuple[int, ...]:
        from s2sad.api.cuda import positions

        chosen = positions(self.argnums, tuple(self._names()), label(self.fun))
        wrong = [i for i in chosen if not is_inexact(kinds[i])]
        if wrong:
            raise ArgumentError(f"`{self._names()[wrong[0]]}` of `{label(self.fun)}` is not a real number")
        return tuple(sorted(chosen))

    def __repr__(self) -> str:
        """Name the function and the types."""
        return f"<s2sad device functions of {label(self.fun)}, types={self.types!r}>"
