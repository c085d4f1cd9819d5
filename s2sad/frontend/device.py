"""Calls of `numba.cuda` inside a kernel or a device function, to operations of the IR."""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, V, Value, literal
from s2sad.ir import device
from s2sad.ir.nodes import Apply, Effect, Store
from s2sad.ir.types import Array, Scalar, Static

INDEX = Scalar("int64", weak=True)

_MODULES = ("numba.cuda", "numba_cuda_mlir.cuda")


@dataclass(frozen=True)
class DeviceName:
    """A path under `numba.cuda` that is not yet a value: `threadIdx`, `atomic`, `shared.array`."""

    path: str

    @property
    def __name__(self) -> str:
        """Return the path as it is written."""
        return f"cuda.{self.path}"


def is_cuda_module(obj: Any) -> bool:
    """Say whether `obj` is the module that kernels call `cuda`, of whichever front end."""
    return inspect.ismodule(obj) and obj.__name__ in _MODULES


def device_attribute(lw: Lowerer, path: str, node: Any) -> Value:
    """Return what `cuda.<path>` means inside a kernel."""
    if not lw.ctx.device:
        return lw.fail(node, f"`cuda.{path}` is for kernels and device functions only",
                       'Decorate the function with `@s2sad.cuda.kernel`, or pass target="cuda".')  # fmt: skip
    if path in device.VALUES:
        return V(Apply(device.VALUES[path], (), INDEX))
    return StaticV(DeviceName(path))


def call_device(lw: Lowerer, name: DeviceName, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Lower a call of `cuda.<name>`."""
    method = _CALLS.get(name.path)
    if method is None:
        return lw.fail(node, f"`cuda.{name.path}` has no derivative here",
                       "Thread indices, `syncthreads`, `shared.array`, `local.array` and `atomic.add` have one. "
                       "Do the rest in a kernel of its own.")  # fmt: skip
    return method(lw, name.path, args, kwargs, node)


def _grid(lw: Lowerer, path: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.arguments import known_value

    table = device.GRID if path == "grid" else device.STRIDE
    count = known_value(args[0]) if args else 0
    if count not in (1, 2, 3):
        return lw.fail(node, f"`cuda.{path}` takes 1, 2 or 3, known beforehand")
    items = tuple(V(Apply(table[count, axis], (), INDEX)) for axis in range(count))
    return items[0] if count == 1 else StructV("tuple", tuple(range(count)), items)


def _barrier(lw: Lowerer, path: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    fn = device.BARRIER if path == "syncthreads" else device.FENCE
    lw.emit(Effect(Apply(fn, (), Static(None)), lw.span(node)))
    return StaticV(None)


def _memory(lw: Lowerer, path: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`cuda.shared.array(shape, dtype)` and `cuda.local.array`: the shape is known when compiling."""
    from s2sad.frontend.arguments import known_value

    given = dict(zip(("shape", "dtype"), args, strict=False)) | kwargs
    shape = known_value(given["shape"]) if "shape" in given else None
    dims = (shape,) if isinstance(shape, int) else shape
    if not (isinstance(dims, tuple) and dims and all(isinstance(d, int) and d > 0 for d in dims)):
        return lw.fail(node, f"the shape of `cuda.{path}` must be constant",
                       "Give it as a number: memory sized at launch (shape 0) has no derivative.")  # fmt: skip
    dtype = numpy_dtype(known_value(given["dtype"])) if "dtype" in given else None
    if dtype is None:
        return lw.fail(node, f"the dtype of `cuda.{path}` is not known here", "Write `numba.float32` or `np.float32`.")
    fn = device.SHARED if path == "shared.array" else device.LOCAL
    kind = Array(dtype.name, dims, "C")
    return V(Apply(fn, (), kind, (("shape", dims[0] if len(dims) == 1 else dims), ("dtype", dtype.type))))


def numpy_dtype(given: Any) -> np.dtype[Any] | None:
    """Return the dtype that a NumPy class, a dtype or a Numba type names."""
    try:
        return np.dtype(given if isinstance(given, np.dtype | type) else str(given))
    except TypeError:
        return None


def numba_number(obj: Any) -> Any:
    """Return NumPy's class for a type of Numba's that is called as a cast, `numba.float32(x)`, or None."""
    if not type(obj).__module__.startswith(("numba.", "numba_cuda_mlir.")) or not hasattr(obj, "bitwidth"):
        return None
    dtype = numpy_dtype(obj)
    return None if dtype is None else dtype.type


def _atomic_add(lw: Lowerer, path: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`cuda.atomic.add(out, i, v)` is a `+=` that threads may do together; its adjoint is a read."""
    from s2sad.frontend.expressions import as_expr
    from s2sad.frontend.indexing import index_item, lower_index

    if len(args) != 3:
        return lw.fail(node, "`cuda.atomic.add` takes an array, an index and a value")
    target = as_expr(lw, args[0], node)
    index = args[1]
    items = list(index.items) if isinstance(index, StructV) else [index]
    place = lower_index(lw, V(target), [index_item(lw, i, node) for i in items], node)
    assert isinstance(place, V)
    lw.emit(Store(place.expr, "+", as_expr(lw, args[2], node), lw.span(node), accumulate=True))
    return V(Apply(device.FORMER, (), place.expr.type))


def _atomic_sub(lw: Lowerer, path: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.expressions import as_expr
    from s2sad.frontend.operators import build

    if len(args) == 3:
        args = [*args[:2], V(build(operator.neg, as_expr(lw, args[2], node)))]
    return _atomic_add(lw, path, args, kwargs, node)


_CALLS: dict[str, Any] = {
    "grid": _grid, "gridsize": _grid, "syncthreads": _barrier, "threadfence": _barrier,
    "shared.array": _memory, "local.array": _memory, "atomic.add": _atomic_add, "atomic.sub": _atomic_sub,
}  # fmt: skip

__all__ = ["DeviceName", "call_device", "device_attribute", "is_cuda_module", "literal", "numba_number",
           "numpy_dtype"]  # fmt: skip
