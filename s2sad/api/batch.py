"""`vmap(f, target="cuda")`: a function or its gradient over a batch, one thread per element.

No kernel is written by the user: the element's program stands inside a grid-stride loop. Arrays may
live on the host (they are copied there and back) or on the device, as anything that has
`__cuda_array_interface__`; results come back where, and as what, the arguments are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.api.cuda import positions
from s2sad.api.deriving import DERIVING
from s2sad.api.launch import interface, type_of_argument
from s2sad.api.nested import context
from s2sad.api.notation import write
from s2sad.api.printed import printed
from s2sad.api.signature import Binder, label
from s2sad.api.tape import Tape, own_copies
from s2sad.backends import cuda as backend
from s2sad.errors import ArgumentError, NotDifferentiableError
from s2sad.ir.types import Array, Scalar, Type, is_inexact
from s2sad.transform.device_function import DeviceProgram, batched

_KINDS = ("primal", "grad", "value_and_grad")
_BLOCK = 128
_MOST_BLOCKS = 2048


class DeviceBatched:
    """A function mapped over batches on a device.

    Attributes:
        fun: the function of one element, or its `grad` or `value_and_grad`.
        in_axes: which axis of each argument holds the batch; None for an argument given whole.
    """

    def __init__(self, fun: Any, in_axes: Any, out_axes: Any, stream: Any = 0) -> None:
        """Hold the function; it is compiled at the first call."""
        self.fun, self.in_axes, self.out_axes, self.stream = fun, in_axes, out_axes, stream
        self.kind = getattr(fun, "kind", "primal")
        options = getattr(fun, "options", None)
        if self.kind not in _KINDS or getattr(options, "aux", False):
            raise ArgumentError(f"`{self.kind}` cannot be mapped on a device", why=f"Map one of {', '.join(_KINDS)}.")
        if out_axes != 0:
            raise ArgumentError("on a device results are stacked along axis 0", why="Leave out_axes away.")
        self.plain: Callable[..., Any] = _plain(fun)
        self.argnums = getattr(fun, "argnums", 0)
        self.fastmath = bool(getattr(options, "fastmath", False))
        self._binder = Binder(self.plain)
        self.names = self._binder.names
        if self._binder.variadic >= 0:
            raise ArgumentError(f"`{label(self.plain)}` takes any number of arguments",
                                why="On a device each has a name: write them out.")  # fmt: skip
        self._made: dict[Any, tuple[DeviceProgram, backend.LoadedCuda]] = {}
        functools.update_wrapper(self, self.plain, updated=())

    def on(self, stream: Any) -> DeviceBatched:
        """Return the map on another stream: a front end's stream, or a number that the driver knows."""
        other = DeviceBatched(self.fun, self.in_axes, self.out_axes, stream)
        other._made = self._made
        return other

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the stacked results of one call per element; keyword arguments are mapped along axis 0.

        Raises:
            ArgumentError: arguments that do not fit, or batches of different lengths.
        """
        values, axes = self._bound(args, kwargs)
        length = self._length(values, axes)
        kinds = self._kinds(values, axes)
        wrt = self._wrt(kinds)
        program, loaded = self._derive(kinds, wrt, tuple(axis is not None for axis in axes))
        like = next(v for v, axis in zip(values, axes, strict=True) if axis is not None)
        outputs = self._outputs(program, values, wrt, length, like)
        block = min(_BLOCK, length)
        configuration = (min(math.ceil(length / block), _MOST_BLOCKS), block, self.stream)
        with backend.launching(self.plain):
            flat = [*own_copies(values, self.names, program.written, loaded.front_end), *outputs]
            self._launch(program, loaded, configuration, flat, outputs)
        return self._shaped(program, wrt, [_as(like, out) for out in outputs], kinds)

    def _launch(
        self, program: DeviceProgram, loaded: backend.LoadedCuda, configuration: Any, flat: list[Any],
        outputs: list[Any],
    ) -> None:  # fmt: skip
        if program.tape is None:
            loaded.functions[program.entry][configuration](*flat)
            return
        tape = Tape(program.tape, loaded, configuration)
        steps = tape.counted(own_copies(flat[: len(self.names)], self.names, program.written, tape.cuda))
        span = program.functions[program.entry].span
        tape.run((program.entry,), flat, steps, outputs, label(self.plain), span)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the text of the kernel for arguments like these."""
        return self._known(args, kwargs)[1].text

    def ptx(self, *args: Any, cc: tuple[int, int] = (8, 0), **kwargs: Any) -> str:
        """Return the kernel for arguments like these as PTX; needs neither GPU nor driver.

        Raises:
            CompileError: NVVM is not installed, or the simulator is on.
        """
        program, loaded = self._known(args, kwargs)
        signature = ", ".join(write(p.type) for p in program.functions[program.entry].params)
        return backend.ptx(loaded.plain[program.entry], signature, cc)

    def _known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[DeviceProgram, backend.LoadedCuda]:
        values, axes = self._bound(args, kwargs)
        kinds = self._kinds(values, axes)
        return self._derive(kinds, self._wrt(kinds), tuple(axis is not None for axis in axes))

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], tuple[int | None, ...]]:
        """Return one value per parameter, with the batch in front, and its axis: that of a default is None."""
        given = self._axes(len(args))
        bound = self._binder.bind(args, kwargs)
        rest = (0 if name in kwargs else None for name in self.names[len(args) :])
        axes = (*given, *rest)
        if all(a is None for a in axes):
            raise ArgumentError(f"vmap of `{label(self.plain)}` maps over nothing: every in_axes is None")
        return [_batch_first(v, a, n) for v, a, n in zip(bound, axes, self.names, strict=True)], axes

    def _kinds(self, values: list[Any], axes: tuple[int | None, ...]) -> tuple[Type, ...]:
        return tuple(
            _element(type_of_argument(v, n)) if axis is not None else type_of_argument(v, n)
            for v, axis, n in zip(values, axes, self.names, strict=True)
        )

    def _axes(self, count: int) -> tuple[int | None, ...]:
        axes = self.in_axes if isinstance(self.in_axes, tuple | list) else (self.in_axes,) * count
        if len(axes) != count or not all(a is None or isinstance(a, int) for a in axes):
            raise ArgumentError(f"in_axes={self.in_axes!r} does not fit the {count} arguments of `{label(self.plain)}`",
                                why="Give an int or None for each positional argument.")  # fmt: skip
        return tuple(axes)

    def _length(self, values: list[Any], axes: tuple[int | None, ...]) -> int:
        lengths = {n: v.shape[0] for v, axis, n in zip(values, axes, self.names, strict=True) if axis is not None}
        if len(set(lengths.values())) != 1:
            raise ArgumentError(f"vmap of `{label(self.plain)}` needs batches of one length, not {lengths}")
        length = int(next(iter(lengths.values())))
        if not length:
            raise ArgumentError(f"vmap of `{label(self.plain)}` was given a batch of length 0")
        return length

    def _wrt(self, kinds: tuple[Type, ...]) -> tuple[int, ...]:
        if self.kind == "primal":
            return ()
        wanted = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        chosen = [next(iter(positions((item,), self.names, label(self.plain)))) for item in wanted]
        for i in chosen:
            if not is_inexact(kinds[i]):
                raise NotDifferentiableError(f"`{self.names[i]}` of `{label(self.plain)}` is not a real number")
        return tuple(sorted(chosen))

    def _derive(
        self, kinds: tuple[Type, ...], wrt: tuple[int, ...], mapped: tuple[bool, ...]
    ) -> tuple[DeviceProgram, backend.LoadedCuda]:
        key = (kinds, wrt, mapped)
        with DERIVING:
            if key not in self._made:
                ctx = context()
                ctx.device = True
                program = batched(self.plain, self.kind, kinds, wrt, mapped, ctx)
                module = printed(program.functions, program.entry, self.plain, fastmath=self.fastmath)
                launched = (program.entry, *((program.tape.counter,) if program.tape else ()))
                self._made[key] = program, backend.load(module, launched, self.plain)
            return self._made[key]

    def _outputs(
        self, program: DeviceProgram, values: list[Any], wrt: tuple[int, ...], length: int, like: Any
    ) -> list[Any]:
        arrays = iter([values[i] for i in wrt if self._is_array(program, i)])
        made: list[Any] = []
        for out in program.outputs:
            kind = out.type
            assert isinstance(kind, Array)
            shape: tuple[int, ...] = (length,)
            if len(kind.dims) > 1:
                value = next(arrays)
                shape = (length, *value.shape[len(value.shape) - len(kind.dims) + 1 :])
            made.append(_zeros(shape, np.dtype(kind.dtype), like))
        return made

    def _is_array(self, program: DeviceProgram, position: int) -> bool:
        return any(o.name.startswith(f"{self.names[position]}_bar") and len(o.type.dims) > 1  # type: ignore[union-attr]
                   for o in program.outputs)  # fmt: skip

    def _shaped(self, program: DeviceProgram, wrt: tuple[int, ...], outputs: list[Any], kinds: tuple[Type, ...]) -> Any:
        """Put values and adjoints into the structure of `grad` or `value_and_grad`."""
        values = len(outputs) - len(wrt)
        numbers = [i for i in wrt if not isinstance(kinds[i], Array)]
        arrays = [i for i in wrt if isinstance(kinds[i], Array)]
        bars = dict(zip((*numbers, *arrays), outputs[values:], strict=True))
        wanted = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        order = [next(iter(positions((item,), self.names, ""))) for item in wanted]
        grads: Any = tuple(bars[i] for i in order) if wrt else ()
        if not isinstance(self.argnums, tuple) and wrt:
            grads = grads[0]
        value: Any = outputs[0] if values == 1 else tuple(outputs[:values])
        return {"primal": value, "grad": grads, "value_and_grad": (value, grads)}[self.kind]

    def __repr__(self) -> str:
        """Name the function."""
        return f'<s2sad.vmap of {label(self.plain)}, in_axes={self.in_axes!r}, target="cuda">'


def _plain(fun: Any) -> Callable[..., Any]:
    from s2sad.api.transformed import plain
    from s2sad.frontend.source import unwrap

    inner = getattr(fun, "fun", fun)
    return unwrap(plain(inner, getattr(fun, "options", None)))


def _batch_first(value: Any, axis: int | None, name: str) -> Any:
    """Return the array with the batch in front; a view, where that can be brought to a device as it is."""
    if axis is None:
        return _portable(value) if isinstance(value, np.ndarray) else value
    if isinstance(value, list | tuple):
        raise ArgumentError(f"`{name}` is a {type(value).__name__}; on a device a batch is an array")
    if not (isinstance(value, np.ndarray) or interface(value) is not None) or not value.shape:
        raise ArgumentError(f"`{name}` has no axis to be mapped over", why="Use None in in_axes for it.")
    rank = len(value.shape)
    if not -rank <= axis < rank:
        raise ArgumentError(f"`{name}` has no axis {axis} to be mapped over: its rank is {rank}")
    if isinstance(value, np.ndarray):
        return _portable(np.moveaxis(value, axis, 0))
    if axis % rank == 0:
        return value
    order = [axis % rank, *(a for a in range(rank) if a != axis % rank)]
    return backend.as_device_array(value).transpose(order)


def _portable(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array that Numba can bring to the device and back: in one piece, and not read-only."""
    whole = value.flags.c_contiguous or value.flags.f_contiguous
    return value if whole and value.flags.writeable else np.array(value, order="C")


def _element(kind: Type) -> Type:
    assert isinstance(kind, Array)
    return Array(kind.dtype, kind.dims[1:], "A") if len(kind.dims) > 1 else Scalar(kind.dtype)


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return np.zeros(shape, dtype)
    cuda = backend.front_end()
    if len(shape) == 1:
        return cuda.device_array(shape, dtype)  # numbers: each element is written, none is added to
    return cuda.to_device(np.zeros(shape, dtype))


def _as(like: Any, out: Any) -> Any:
    """Return a device array as what the caller computes with, sharing its memory."""
    module = type(like).__module__.split(".")[0]
    if module == "cupy":
        import importlib

        return importlib.import_module("cupy").asarray(out)
    if module == "torch":
        import importlib

        return importlib.import_module("torch").as_tensor(out, device=like.device)
    return out
