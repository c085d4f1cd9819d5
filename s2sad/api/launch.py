"""Arguments of a launch: values and shadows told apart, their types, and what must hold of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from s2sad.analysis.telling import Alike
from s2sad.errors import AliasError, ArgumentError
from s2sad.ir.typeof import layout_of
from s2sad.ir.types import Array, Scalar, Sym, Type, is_inexact


class Launch:
    """A configured launch: call it with the arguments."""

    def __init__(self, run: Callable[[tuple[Any, ...]], None]) -> None:
        """Run `run` on the arguments."""
        self._run = run

    def __call__(self, *args: Any) -> None:
        """Launch; the call returns as a kernel's does, before the device is done."""
        self._run(args)


def interface(value: Any) -> dict[str, Any] | None:
    """Return the CUDA array interface of an array that lives on a device, or None."""
    found = getattr(value, "__cuda_array_interface__", None)
    if found is None and getattr(type(value), "__cuda_ndarray__", False):
        found = value.__array_interface__  # the simulator's device arrays lie on the host
    return found if isinstance(found, dict) else None  # type: ignore[return-value]


def type_of_argument(value: Any, name: str) -> Type:
    """Return the type of a kernel's argument; one text serves every length, 1 included.

    Raises:
        ArgumentError: neither an array nor a number.
    """
    if isinstance(value, bool | np.bool_):
        return Scalar("bool", weak=True)
    if isinstance(value, int | float):
        return Scalar("int64" if isinstance(value, int) else "float64", weak=True)
    if isinstance(value, np.generic):
        return Scalar(value.dtype.name)
    if isinstance(value, np.ndarray):
        return _array(value.dtype, value.ndim, layout_of(value), name)
    found = interface(value)
    if found is None:
        raise ArgumentError(
            f"`{name}` is a {type(value).__name__}; a kernel takes numbers and arrays",
            why="Pass a NumPy array, or one with `__cuda_array_interface__` (Numba, CuPy, torch).",
        )
    dtype, shape = np.dtype(found["typestr"]), tuple(found["shape"])
    return _array(dtype, len(shape), _layout(found, dtype), name)


def _array(dtype: np.dtype[Any], rank: int, layout: str, name: str) -> Array:
    return Array(dtype.name, tuple(Sym(f"{name}.{axis}", nonone=True) for axis in range(rank)), layout)


def _layout(found: dict[str, Any], dtype: np.dtype[Any]) -> str:
    strides, shape = found.get("strides"), tuple(found["shape"])
    if strides is None:
        return "C"
    for layout, order in (("C", range(len(shape) - 1, -1, -1)), ("F", range(len(shape)))):
        step, fits = dtype.itemsize, True
        for axis in order:
            fits = fits and (shape[axis] == 1 or strides[axis] == step)
            step *= shape[axis]
        if fits:
            return layout
    return "A"


def arguments_of(
    args: tuple[Any, ...], names: Sequence[str], real: Callable[[Sequence[Type]], tuple[int, ...]], label: str,
    mode: str,
) -> tuple[list[Any], dict[int, Any]]:  # fmt: skip
    """Split the arguments of a derivative's launch into the kernel's own and the shadows.

    Raises:
        ArgumentError: more or fewer than the kernel has, each real one followed by its shadow.
    """
    suffix = "bar" if mode == "adjoint" else "dot"
    values: list[Any] = []
    shadows: dict[int, Any] = {}
    rest = list(args)
    for position, name in enumerate(names):
        if not rest:
            raise _miscounted(args, names, label, mode, suffix)
        values.append(rest.pop(0))
        kinds: list[Type] = [Scalar("int64")] * position + [type_of_argument(values[-1], name)]
        if position in real(kinds):
            if not rest:
                raise _miscounted(args, names, label, mode, suffix)
            shadows[position] = rest.pop(0)
    if rest:
        raise _miscounted(args, names, label, mode, suffix)
    return values, shadows


def _miscounted(args: tuple[Any, ...], names: Sequence[str], label: str, mode: str, suffix: str) -> ArgumentError:
    listed = ", ".join(f"{name}, [{name}_{suffix}]" for name in names)
    return ArgumentError(
        f"`{label}.{mode}` was given {len(args)} arguments",
        why=f"It takes {listed}: a shadow after each real argument, None to leave it out.",
    )


def differentiated(shadows: dict[int, Any]) -> tuple[int, ...]:
    """Return the positions whose shadow was given."""
    return tuple(i for i, shadow in shadows.items() if shadow is not None)


def require_axes(configuration: Any, axes: int, asked: frozenset[str], label: str) -> None:
    """Check that threads of one launch differ in what the kernel looks at.

    `asked`: what it reads of a thread's place, `threadIdx.x` … `blockIdx.z`.

    Raises:
        ArgumentError: several threads along an axis, or several blocks, that the kernel never asks for.
    """
    for word, dims in zip(("grid", "block"), configuration, strict=False):
        shape = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
        if any(int(n) != 1 for n in shape[axes:]):
            raise ArgumentError(
                f"`{label}` tells threads apart along {axes or 'no'} ax{'is' if axes == 1 else 'es'}, but its {word} "
                f"is {shape}",
                why="Threads that do the same work twice would add twice. Launch one thread along the other axes.",
            )
        for axis, count in zip("xyz", shape, strict=False):
            part = f"{'blockIdx' if word == 'grid' else 'threadIdx'}.{axis}"
            if part not in asked and int(count) != 1:
                what = "blocks" if word == "grid" else "threads of a block"
                raise ArgumentError(
                    f"`{label}` never asks for `cuda.{part}`, but its {word} is {shape}",
                    why=f"The {what} would all do the same work, and add it more than once. Launch one.",
                )


def require_apart(configuration: Any, alike: Sequence[Alike]) -> None:
    """Check that no two threads of a launch write one element.

    Raises:
        AliasError: threads, or blocks, along an axis that the write does not look at.
    """
    for write in alike:
        word, _, axis = write.part.partition(".")
        dims = configuration[word == "threadIdx"]
        shape = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
        if int((*shape, 1, 1)["xyz".index(axis)]) != 1:
            raise AliasError(
                f"threads that differ only in `cuda.{write.part}` all write this element of `{write.root}`", write.span,
                f"Put it under a test such as `if cuda.{write.part} == 0`, or give each an element of its own.",
            )  # fmt: skip


def require_shadows(
    values: list[Any], shadows: dict[int, Any], names: Sequence[str], written: Sequence[str], mode: str
) -> None:
    """Check each shadow's shape and dtype, and that nothing overlaps what is written.

    Raises:
        ArgumentError: a shadow that does not fit its argument.
        AliasError: memory that is written under two names.
    """
    suffix = "bar" if mode == "adjoint" else "dot"
    for i, shadow in shadows.items():
        if shadow is None:
            continue
        name = f"{names[i]}_{suffix}"
        number = not _is_array(values[i])
        if number and mode == "tangent":
            continue
        kind, own = type_of_argument(shadow, name), type_of_argument(values[i], names[i])
        shape = (1,) if number else _shape(values[i])
        fits = isinstance(kind, Array) and isinstance(own, Array | Scalar) and kind.dtype == own.dtype
        if not fits or _shape(shadow) != shape:
            dtype = own.dtype if isinstance(own, Array | Scalar) else "float64"
            raise ArgumentError(f"`{name}` must be an array of {dtype} of shape {shape}, as `{names[i]}` is"
                                + ("" if not number else " a number"))  # fmt: skip
    changed = [(names[i], v) for i, v in enumerate(values) if names[i] in written and _is_array(v)]
    changed += [(f"{names[i]}_{suffix}", s) for i, s in shadows.items() if s is not None and _is_array(s)]
    everything = [(n, v) for n, v in zip(names, values, strict=True) if _is_array(v)]
    everything += [(f"{names[i]}_{suffix}", s) for i, s in shadows.items() if s is not None and _is_array(s)]
    for name, value in changed:
        for other, second in everything:
            if name != other and _overlap(value, second):
                raise AliasError(f"arguments `{name}` and `{other}` overlap, and `{name}` is written",
                                 why="Pass a copy of one of them.")  # fmt: skip


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or interface(value) is not None


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape)


def _overlap(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b))
    first, second = _extent(a), _extent(b)
    return first is not None and second is not None and first[0] < second[1] and second[0] < first[1]


def _extent(value: Any) -> tuple[int, int] | None:
    """Return the first and the last byte of a device array, or None for one of the host."""
    found = interface(value)
    if found is None:
        return None
    start, itemsize = found["data"][0], np.dtype(found["typestr"]).itemsize
    shape, strides = tuple(found["shape"]), found.get("strides")
    if strides is None:
        return start, start + itemsize * int(np.prod(shape, dtype=np.int64))
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True) if n > 0]
    return start + sum(r for r in reach if r < 0), start + sum(r for r in reach if r > 0) + itemsize


__all__ = [
    "Launch", "arguments_of", "differentiated", "interface", "is_inexact", "require_apart", "require_axes",
    "require_shadows",
    "type_of_argument",
]  # fmt: skip
