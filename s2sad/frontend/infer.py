"""Types of expressions, found by running NumPy itself on small samples.

NumPy's own promotion is the specification, so it is asked: every operation is run once per type
signature on a tiny array. Dimensions are given distinct prime lengths, twice with different
primes, and a length that comes out as the same symbol both times is that symbol. No table of
signatures has to be kept, and `float32 * 2.0` is what NumPy says it is.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MethodType
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.errors import S2SADError
from s2sad.frontend.reduced import reduced_dims, small_sample
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Pack
from s2sad.ir.typeof import layout_of
from s2sad.ir.types import (
    BROADCAST,
    Array,
    Dim,
    ListOf,
    Scalar,
    Static,
    Struct,
    Sym,
    Type,
    is_complex,
    is_given,
    is_uneven,
    not_one,
    same_dim,
)
from s2sad.rules.registry import BROADCASTING
from s2sad.runtime import lists

# Far apart, so that adding or taking a small constant never lands on another one.
# The second time in falling order: the smaller of two lengths is then not the same one both times.
_LENGTHS = ((11, 29, 47, 67, 83, 101, 127, 149), (43, 31, 19, 13, 59, 71, 79, 97))
# Many lengths at once are closer together, as an array may have them all.
_CLOSE = ((11, 13, 17, 19, 23, 29, 31, 37), (31, 29, 23, 19, 17, 13, 11, 37))
# So are those of arrays of many axes, which would be large; closest where a function does not reckon with lengths.
_MANY_AXES = ((11, 13, 17, *_CLOSE[0][3:]), (23, 19, 13, *_CLOSE[1][3:]))
_SMALLEST = ((2, 3, 5, 7, 11, 13, 17, 19), (3, 5, 7, 11, 13, 17, 19, 23))
_NO_RECKONING: frozenset[Any] = frozenset({
    np.copy, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.transpose, np.swapaxes, np.moveaxis,
    np.rollaxis, np.flip, np.roll, np.expand_dims, np.cumsum, np.cumprod, np.ascontiguousarray, np.einsum,
    np.tensordot, np.matmul, np.sum, np.mean, np.max, np.min, np.zeros, np.ones, np.empty, np.full, np.sort,
})  # fmt: skip
"""Functions whose results are as long as their operands, or as they are told: no lengths are added or multiplied."""
_MADE_BY_SIZE: frozenset[Any] = frozenset({np.empty, np.zeros, np.ones, np.full})
_FEW = 3  # symbols of lengths
_VERY_MANY = 6  # axes of unknown lengths, of which an array of primes from 11 up takes gigabytes
_WHOLES = ((2, 7), (2, 3))
"""What a whole number that is not known is in the two runs: far apart, as a length may be a half of it, else small."""
_WHOLE = Sym("whole number")  # stands in the sizes of a run for the value of a whole number
_TURNED = Sym("turned")  # stands there where arrays of any layout lie with their axes in another order

OPERATORS: frozenset[Any] = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.neg, operator.pos, operator.invert, operator.abs, operator.lt,
    operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.or_,
    operator.xor, operator.lshift, operator.rshift, builtins.abs,
})  # fmt: skip
_NUMPY_ELEMENTWISE: frozenset[Any] = frozenset({
    np.where, np.clip, np.real, np.imag, np.angle, np.sinc, np.round, np.around, np.nan_to_num,
    np.isclose, np.fix, np.real_if_close, ops.ifexp,
})  # fmt: skip


class InferenceError(Exception):
    """NumPy refuses the operation on these types."""


def is_elementwise(fn: Any) -> bool:
    """Say whether the result's shape is the broadcast of the operands' shapes."""
    if fn in OPERATORS or fn in _NUMPY_ELEMENTWISE:
        return True
    return fn in BROADCASTING or (isinstance(fn, np.ufunc) and fn.signature is None)


_fresh = iter(range(1, 1 << 62))


def fresh_dim(hint: str = "n") -> Sym:
    """Return a new unknown length, equal to nothing but itself."""
    return Sym(f"{hint}#{next(_fresh)}")


def count_of_dims() -> int:
    """Return a number that lengths which are made from now on have behind the `#` in their names, or a larger one."""
    return next(_fresh)


def own_lengths(kind: Type) -> Type:
    """Return the type of one array of a list whose arrays are of several lengths."""
    if not isinstance(kind, Array) or not any(is_uneven(dim) for dim in kind.dims):
        return kind
    return replace(kind, dims=tuple(fresh_dim() if is_uneven(dim) else dim for dim in kind.dims))


def infer(fn: Callable[..., Any], args: tuple[Expr, ...], static: dict[str, Any]) -> Type:
    """Return the type of `fn(*args, **static)`; raises InferenceError where NumPy refuses."""
    return own_lengths(_inferred(fn, args, static))


def _inferred(fn: Callable[..., Any], args: tuple[Expr, ...], static: dict[str, Any]) -> Type:
    types = tuple(_type_tree(arg) for arg in args)
    special = _special(fn, args, static)
    if special is not None:
        return special
    if is_elementwise(fn):
        return _elementwise(fn, args, types, static)
    small = small_sample(fn, [arg.type for arg in args], static)
    if small is not None:
        return _reduced(fn, types[0], small, static)
    found = _sampled(fn, args, _of_three(types) if fn is np.cross else types, static)
    return _of_any_length(found) if _counts_data(fn, args) else found


def _of_three(types: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types of vectors, of which those of unknown length have three elements like the others."""
    if not all(isinstance(kind, Array) and kind.dims for kind in types):
        return types
    if 3 not in {kind.dims[-1] for kind in types}:
        return types
    return tuple(replace(k, dims=(*k.dims[:-1], 3 if isinstance(k.dims[-1], Sym) else k.dims[-1])) for k in types)


_PLACED: frozenset[Any] = frozenset({runtime.put_diagonal, runtime.sum_windows})
"""Functions that put their first argument into zeros like the second, where a sample need not have room for another."""

_SYSTEMS: dict[Any, int] = {
    runtime.sparse_solve: 3, runtime.sparse_lu_solve: 5, runtime.solve_banded: 1, runtime.banded_product: 1,
}
"""Solvers of systems that a sample seldom has a solution of, and products: which argument is as long as the result."""

_EQUATIONS: dict[Any, tuple[int, Any]] = {
    runtime.solve_sylvester: (2, np.float32), runtime.sqrtm: (0, np.float32),
    runtime.solve_discrete_lyapunov: (1, np.float64), runtime.solve_continuous_are: (2, np.float64),
    runtime.solve_discrete_are: (2, np.float64),
}
"""Equations of matrices: which argument is as large as the solution, and the least precision of that."""

_COUNTING: frozenset[Any] = frozenset({
    np.flatnonzero, np.argwhere, np.unique, np.compress, np.extract, np.trim_zeros, np.union1d, np.intersect1d,
    np.setdiff1d, np.setxor1d, np.delete, runtime.places_besides,
})  # fmt: skip
"""Functions whose result is as long as their data say, not as its shape does."""


def _counts_data(fn: Any, args: tuple[Expr, ...]) -> bool:
    """Say whether the lengths that sample data gave are those of the sample only."""
    if fn is np.lib.stride_tricks.sliding_window_view:
        return True
    return fn in _COUNTING


def _windows(kind: Type, size: Expr) -> Type:
    """Return the type of windows of one length along the last axis."""
    size = size.items[0] if isinstance(size, Pack) and len(size.items) == 1 else size
    if not isinstance(kind, Array) or not kind.dims or not isinstance(size.type, Scalar):
        raise InferenceError("windows are of one length, along the last axis of an array")
    last = kind.dims[-1]
    width = size.value if isinstance(size, Const) else size.type.value
    count: int | Sym = fresh_dim()
    if isinstance(last, int) and isinstance(width, int):
        if not 0 <= width <= last:
            raise InferenceError("the window is longer than the axis")
        count = last - width + 1
    return Array(kind.dtype, (*kind.dims[:-1], count, fresh_dim() if width is None else width), "A")


def _of_any_length(kind: Type) -> Type:
    return Array(kind.dtype, tuple(fresh_dim() for _ in kind.dims), kind.layout) if isinstance(kind, Array) else kind


def _type_tree(arg: Expr) -> Any:
    if isinstance(arg, Pack):
        return (arg.kind, tuple(_type_tree(item) for item in arg.items))
    return arg.type


def _special(fn: Any, args: tuple[Expr, ...], static: dict[str, Any]) -> Type | None:
    kinds = [arg.type for arg in args]
    if fn is ops.dim:
        axis = args[1]
        assert isinstance(axis, Const)
        assert isinstance(kinds[0], Array)
        return Scalar("int64", weak=True, value=kinds[0].dims[axis.value])
    if fn in (ops.size, ops.length, builtins.len, np.size):
        kind = kinds[0]
        if isinstance(kind, Array) and (len(kind.dims) == 1 or fn in (ops.length, len)):
            return Scalar("int64", weak=True, value=kind.dims[0])
        return Scalar("int64", weak=True)
    if fn is ops.transpose:
        kind = kinds[0]
        assert isinstance(kind, Array)
        flip = {"C": "F", "F": "C", "A": "A"}[kind.layout]
        return Array(kind.dtype, tuple(reversed(kind.dims)), kind.layout if len(kind.dims) < 2 else flip)
    if fn in (ops.both, ops.either, operator.not_, operator.is_, operator.is_not):
        return Scalar("bool", weak=True)
    if fn is np.squeeze and "axis" not in static and isinstance(kinds[0], Array):
        if any(isinstance(d, Sym) and not not_one(d) for d in kinds[0].dims):
            raise InferenceError("which axes have length one is not known here; name the axis")
    if fn is runtime.scatter and isinstance(kinds[2], Array):  # a loop over elements: long to try
        return Array(kinds[2].dtype, kinds[2].dims, "C")
    if fn in (ops.unbroadcast, runtime.unbroadcast) and isinstance(kinds[0], Array) and isinstance(kinds[1], Array):
        given, like = kinds[0], kinds[1]  # a length of the second may be 1, whatever that of the first is
        layout = given.layout if given.dims == like.dims or given.layout == "C" else "A"
        return Array(given.dtype, like.dims, layout) if like.dims else None
    if fn in _PLACED and isinstance(kinds[0], Array) and isinstance(kinds[1], Array):
        return Array(kinds[0].dtype, kinds[1].dims)
    if fn is np.lib.stride_tricks.sliding_window_view and static.get("axis") == -1:
        return _windows(kinds[0], args[1])
    if fn in (runtime.scan, runtime.scan_back) and isinstance(kinds[0], Array) and isinstance(kinds[1], Array):
        return Array(np.result_type(kinds[0].dtype, kinds[1].dtype).name, kinds[0].dims, "C")
    if fn in _SYSTEMS and isinstance(kinds[0], Array) and isinstance(kinds[_SYSTEMS[fn]], Array):
        right = kinds[_SYSTEMS[fn]]
        assert isinstance(right, Array)
        return Array(np.result_type(kinds[0].dtype, right.dtype, np.float32).name, right.dims, "C")
    if fn in _EQUATIONS and all(isinstance(kind, Array) for kind in kinds):
        place, least = _EQUATIONS[fn]
        like = kinds[place]
        assert isinstance(like, Array)
        found = np.result_type(least, *(kind.dtype for kind in kinds if isinstance(kind, Array)))
        return Array(found.name, like.dims, "A")
    if fn is runtime.banded_outer:
        match kinds:
            case [Array(first), Array(second), Array() as like, _]:
                return Array(np.result_type(first, second).name, like.dims, "C")
            case _:
                return None
    if fn in (lists.place_of, lists.place_of_pair, lists.place_of_three):
        return Scalar("int64", weak=True)
    if fn is runtime.sure_bound:
        return Scalar("float64")
    if fn is runtime.sparse_pairs:
        return Array("int64", (2, fresh_dim()), "C")
    if fn in (np.reshape,):
        return _reshape(args)
    if fn is np.arange and any(_unknown_number(arg) for arg in args):  # a negative one makes an empty array
        return Array(_call(fn, [_sample(kind, {}, 0) for kind in kinds], static).dtype.name, (fresh_dim(),), "C")
    if fn is np.repeat and isinstance(kinds[0], Array) and not isinstance(args[1], Const):
        return _repeated(kinds[0], kinds[1], static.get("axis"))
    if fn is np.bincount:
        return Array("float64" if len(args) > 1 else "int64", (fresh_dim(),), "C")
    if fn is ops.ifexp and len({str(getattr(k, "dtype", k)) for k in kinds[1:]}) > 1:
        joined = _elementwise(operator.add, args[1:], tuple(kinds[1:]), {})  # `1 if test else x` likewise
        return Scalar(joined.dtype, joined.weak) if isinstance(joined, Scalar) else joined
    if fn in (builtins.max, builtins.min) and len({str(getattr(k, "dtype", k)) for k in kinds}) > 1:
        joined = _elementwise(operator.add, args, tuple(kinds), {})  # `max(x, 1)` carries a derivative
        return Scalar(joined.dtype, joined.weak) if isinstance(joined, Scalar) else joined
    if fn in (builtins.max, builtins.min) and all(k == Scalar("int64", weak=True, value=_whole(k)) for k in kinds):
        return Scalar("int64", weak=True, value=_fold(fn, tuple(kinds)))
    if getattr(fn, "__module__", None) == "math" and any(isinstance(k, Array) and k.dims for k in kinds):
        raise InferenceError("`math` functions take scalars; use the NumPy function of the same name")
    if isinstance(fn, np.ufunc) and fn.nout != 1:
        raise InferenceError("functions with several results are unpacked, not nested")
    return None


def _repeated(kind: Array, repeats: Type, axis: int | None) -> Array:
    """Return the type of an array that is repeated along one axis, or flat."""
    if axis is None and len(kind.dims) != 1:
        return Array(kind.dtype, (fresh_dim(),), "C")
    axis = axis or 0
    if not -len(kind.dims) <= axis < len(kind.dims):
        raise InferenceError(f"an array of rank {len(kind.dims)} has no axis {axis}")
    size, times = kind.dims[axis], repeats.value if isinstance(repeats, Scalar) else None
    made: Dim = fresh_dim()
    if size == 1 and times is not None:
        made = times
    elif isinstance(size, int) and isinstance(times, int):
        made = size * times
    return Array(kind.dtype, tuple(made if i == axis % len(kind.dims) else d for i, d in enumerate(kind.dims)), "C")


def _whole(kind: Type) -> int | None:
    value = kind.value if isinstance(kind, Scalar) else None
    return value if isinstance(value, int) else None


def _unknown_number(arg: Expr) -> bool:
    """Say whether an argument is a number of which not even a sign is known."""
    kind = arg.type
    return isinstance(kind, Scalar) and not isinstance(arg, Const) and (kind.value is None or is_given(kind.value))


def _reshape(args: tuple[Expr, ...]) -> Type:
    source, shape = args[0].type, args[1]
    items = shape.items if isinstance(shape, Pack) else (shape,)
    dims = tuple(_dim_of(item) for item in items)
    layout = "C" if not isinstance(source, Array) or source.layout == "C" else "A"
    dtype = source.dtype if isinstance(source, Scalar | Array) else "float64"
    if isinstance(source, Array) and sum(isinstance(d, Sym) and "#" in d.name for d in dims) == 1:
        dims = _solve_minus_one(source, items, dims)
    return Array(dtype, dims, layout)


def _solve_minus_one(source: Array, items: tuple[Expr, ...], dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """`reshape(-1)` of a vector, `reshape(-1, 1)`, `reshape(n, -1)`: the -1 is the dim left over."""
    left = list(source.dims)
    hole = -1
    for position, (item, dim) in enumerate(zip(items, dims, strict=True)):
        known = getattr(item.type, "value", None)
        if known == -1:
            hole = position
        elif dim in left:
            left.remove(dim)
        elif dim != 1:
            return dims
    left = [dim for dim in left if dim != 1]
    if hole < 0 or len(left) != 1:
        return dims
    return (*dims[:hole], left[0], *dims[hole + 1 :])


def _dim_of(item: Expr) -> Dim:
    value = getattr(item.type, "value", None)
    if is_given(value):  # it may be the -1 that leaves the length to NumPy
        return fresh_dim()
    if isinstance(value, Sym) or (isinstance(value, int) and value >= 0):
        return value
    return fresh_dim()


def lengths_made(value: Expr) -> dict[str, Expr]:
    """Return the sizes that an array is made by, by the names of its lengths, where these say nothing of them."""
    if not (isinstance(value, Apply) and value.fn in _MADE_BY_SIZE and isinstance(value.type, Array)):
        return {}
    sizes = value.args[0].items if isinstance(value.args[0], Pack) else value.args[:1]
    pairs = zip(value.type.dims, sizes, strict=False)
    return {dim.name: size for dim, size in pairs if isinstance(dim, Sym) and "#" in dim.name and not dim.minus}


def broadcast_dims(shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """Return the dims of the broadcast; an undecided pair gives a fresh symbol."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[Dim] = []
    for axis in range(rank):
        met: Dim = 1
        for shape in shapes:
            at = axis - (rank - len(shape))
            if at < 0:
                continue
            met = _meet(met, shape[at])
        result.append(met)
    return tuple(result)


def _meet(a: Dim, b: Dim) -> Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) or (not isinstance(b, int) and not_one(a)):
        return a
    if isinstance(b, int) or not_one(b):
        return b
    return a if same_dim(a, b) else _met(a, b)


_PARTS: dict[Sym, frozenset[Sym]] = {}
"""Of a length that stands for a broadcast, the lengths that meet in it."""


def _met(a: Sym, b: Sym) -> Sym:
    """Return the length that two unknown ones broadcast to: the same one whenever the same lengths meet."""
    parts = _PARTS.get(a, frozenset((a,))) | _PARTS.get(b, frozenset((b,)))
    result = Sym("#" + BROADCAST + BROADCAST.join(sorted(f"{part.name}-{part.minus}" for part in parts)))
    _PARTS[result] = parts
    return result


def _elementwise(fn: Any, args: tuple[Expr, ...], types: tuple[Any, ...], static: dict[str, Any]) -> Type:
    """The dtype from a run on single elements, the dims by the broadcasting rule."""
    shapes: list[tuple[Dim, ...]] = []
    flat: list[Any] = []
    for kind in types:
        if isinstance(kind, tuple):
            raise InferenceError("a list or tuple takes no part in arithmetic; make it an array")
        if isinstance(kind, Array):
            shapes.append(kind.dims)
            flat.append(Array(kind.dtype, ()) if not kind.dims else Array(kind.dtype, (1,) * len(kind.dims)))
        else:
            flat.append(kind)
    small = [k.value if isinstance(k, Scalar) and isinstance(k.value, int) else None for k in types]
    dtype, rank, weak = _run_small(fn, tuple(_plain(k) for k in flat), _freeze(static), _tiny_powers(fn, small))
    dims = broadcast_dims(shapes)
    if rank == 0 and not dims:
        return Scalar(dtype, weak, _fold(fn, types) if dtype in ("int64", "bool") else None)
    if any(isinstance(k, ListOf) for k in types):
        raise InferenceError("a list takes no part in arithmetic; make it an array")
    layouts = _layouts([k for k in types if isinstance(k, Array) and len(k.dims) == len(dims)], dims)
    if fn in (np.real, np.imag) and is_complex(types[0]):
        layouts = {"A"}  # every other number in memory
    return Array(dtype, dims, "F" if layouts == {"F"} else "A" if "A" in layouts and len(dims) > 1 else "C")


def _layouts(kinds: list[Array], dims: tuple[Dim, ...]) -> set[str]:
    """Return the layouts that decide how a result lies; "A" where those that do may be spread along an axis."""
    found = {kind.layout for kind in kinds}
    if "F" not in found or len(dims) < 2:
        return found
    whole = [k for k in kinds if k.dims == dims or all(not_one(dim) for dim in k.dims)]
    sure = any(k.layout == "C" for k in whole) or (found == {"F"} and len(whole) == len(kinds))
    return found if sure else {"A"}


def _tiny_powers(fn: Any, values: list[Any]) -> Any:
    """A negative integer exponent changes the dtype (`2 ** -1` is a float)."""
    if fn is operator.pow and len(values) == 2 and isinstance(values[1], int):
        return max(min(values[1], 2), -1)
    return None


def _plain(kind: Type) -> Type:
    """Drop what does not matter for the dtype, so that the memo is hit."""
    if isinstance(kind, Scalar):
        return Scalar(kind.dtype, kind.weak)
    return kind


@functools.lru_cache(maxsize=4096)
def _run_small(
    fn: Any, types: tuple[Type, ...], static: tuple[tuple[str, Any], ...], exponent: Any
) -> tuple[str, int, bool]:
    samples = [_sample(kind, {}, 0) for kind in types]
    if exponent is not None:
        samples[1] = exponent
    result = _call(fn, samples, dict(static))
    if isinstance(result, np.ndarray) and not any(isinstance(k, Array) for k in types):
        result = result[()]
    if isinstance(result, np.ndarray):
        return result.dtype.name, result.ndim, False
    return _scalar_name(result), 0, not isinstance(result, np.generic)


def _scalar_name(result: Any) -> str:
    if isinstance(result, np.generic):
        return result.dtype.name
    for kind, name in ((bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")):
        if isinstance(result, kind):
            return name
    raise InferenceError(f"the result is a {type(result).__name__}, not a number or an array")


def _freeze(static: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in static.items()))


def _fold(fn: Any, types: tuple[Any, ...]) -> Any:
    """Follow known integers and symbolic lengths through `+`, `-`, `*`, `//` and comparisons."""
    values = [k.value if isinstance(k, Scalar) else None for k in types]
    if any(v is None for v in values):
        return None
    if all(isinstance(v, int) for v in values):
        try:
            result = fn(*values)
        except (ArithmeticError, ValueError, TypeError):
            return None
        return result if isinstance(result, int) and abs(int(result)) < 1 << 31 else None
    if len(values) == 2 and isinstance(values[0], Sym) and isinstance(values[1], int):
        shift = {operator.sub: values[1], operator.add: -values[1]}.get(fn)
        if shift is not None and values[0].minus + shift >= 0:
            minus = values[0].minus + shift
            return Sym(values[0].name, minus, values[0].nonone and minus == 0)
    return None


def _sampled(
    fn: Any, args: tuple[Expr, ...], types: tuple[Any, ...], static: dict[str, Any],
    merge: Callable[[list[tuple[Any, dict[int, Dim]]], Sure], Type] | None = None,
) -> Type:  # fmt: skip
    """Run twice with different primes; fall back to equal lengths when the shapes must agree."""
    names = _symbols(types)
    merge = merge or _merge
    known = _known_lengths(types)
    guesses = ((guess, wholes) for guess in _guesses(names, known) for wholes in _WHOLES[: 1 + _has_whole(types)])
    for (merged, told), wholes in guesses:
        results: list[tuple[Any, dict[int, Dim]]] = []
        for turned, (whole, lengths) in enumerate(zip(wholes, _lengths_for(fn, names, types), strict=True)):
            sizes = _assign(names, lengths, merged) | told | {_WHOLE: whole, _TURNED: turned}
            samples = [_sample_tree(arg, kind, sizes, lengths[-1]) for arg, kind in zip(args, types, strict=True)]
            try:
                result = _call(fn, samples, static)
            except InferenceError:
                results = []
                break
            others = (name for name in reversed(names) if name not in told)
            back: dict[int, Dim] = {} if merged is None else {sizes[name]: name for name in others}
            results.append((result, back))
        if results:
            for pair in merged or ():
                both = [names[at] for at in pair]
                spread = _spread(fn, args, types, static, names, merged, both)
                if spread is not None:
                    results = [
                        (result, {length: spread if name in both else name for length, name in back.items()})
                        for result, back in results
                    ]
            asked = bool(names and known)
            unsure = _smaller(fn, args, types, static, names, known, told, results) if asked else set[int]()
            return merge(results, _constant(names, known, results, unsure))
    error: InferenceError | None = None
    for length in (*known, 3, 2, 1):
        try:
            return merge([
                (_call(fn, [_sample_tree(arg, kind, dict.fromkeys(names, length) | {_TURNED: turned}, length)
                            for arg, kind in zip(args, types, strict=True)], static), {})
                for turned in range(2)
            ], _nothing)  # fmt: skip
        except InferenceError as failed:
            error = error or failed
    raise error or InferenceError("NumPy refuses it")


def _has_whole(types: tuple[Any, ...]) -> bool:
    """Say whether there is a whole number of which nothing is known."""
    parts = [part for kind in types for part in (kind[1] if isinstance(kind, tuple) else (kind,))]
    return any(isinstance(part, Scalar) and "int" in part.dtype and part.value is None for part in parts)


def _spread(
    fn: Any, args: tuple[Expr, ...], types: tuple[Any, ...], static: dict[str, Any], names: list[Sym],
    merged: Any, pair: list[Sym],
) -> Sym | None:  # fmt: skip
    """Return the length of a result in which two meet that need not agree, as one of them may be 1; else None."""
    lengths = _lengths_for(fn, names, types)[0]
    may_be_one: list[Sym] = []
    for name in pair:
        sizes = _assign(names, lengths, merged) | {name: 1, _WHOLE: 2}
        samples = [_sample_tree(arg, kind, sizes, lengths[-1]) for arg, kind in zip(args, types, strict=True)]
        if not not_one(name) and _accepts(fn, samples, static):
            may_be_one.append(name)
    if not may_be_one:
        return None
    return _met(*pair) if len(may_be_one) == 2 else next(name for name in pair if name not in may_be_one)


def _accepts(fn: Any, samples: list[Any], static: dict[str, Any]) -> bool:
    try:
        _call(fn, samples, static)
    except InferenceError:
        return False
    return True


Sure = Callable[[int], bool]
"""Says of a length that came out alike in two runs whether it is always that."""


def _nothing(_length: int) -> bool:
    return False


def _constant(
    names: list[Sym], known: list[int], results: list[tuple[Any, dict[int, Dim]]], unsure: set[int]
) -> Sure:
    """Return what says which lengths do not depend on those that runs were given.

    Sums of many given lengths may come out alike by chance, so that of others than the smallest only those are taken
    that an operand is known to have.
    """
    if not names:
        return lambda _length: True
    met = set(known) - {length for _, back in results for length in back} if len(names) <= _FEW else set[int]()
    return lambda length: (length < _LENGTHS[0][0] or length in met) and length not in unsure


def _smaller(
    fn: Any, args: tuple[Expr, ...], types: tuple[Any, ...], static: dict[str, Any], names: list[Sym],
    known: list[int], told: dict[Dim, int], results: list[tuple[Any, dict[int, Dim]]],
) -> set[int]:  # fmt: skip
    """Return the known lengths in a result that are others where unknown ones are shorter: the diagonal of (5, n)."""
    one, other = (_shapes(result) for result, _ in results)
    if not set(known).intersection(length for shape in one for length in shape):
        return set()
    sizes: dict[Dim, int] = {name: 2 if name.nonone else 1 for name in names} | told | {_WHOLE: _WHOLES[0][0]}
    samples = [_sample_tree(arg, kind, sizes, 1) for arg, kind in zip(args, types, strict=True)]
    try:
        shorter = _shapes(_call(fn, samples, static))
    except InferenceError:
        return set()
    found: set[int] = set()
    for shapes in zip(one, other, shorter, strict=False):
        if len({len(shape) for shape in shapes}) == 1:
            found |= {a for a, b, c in zip(*shapes, strict=True) if a == b and a > c}
    return found


def _shapes(result: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays in a result."""
    if isinstance(result, tuple | list):
        return [shape for part in result for shape in _shapes(part)]
    return [result.shape] if isinstance(result, np.ndarray) else []


def _guesses(
    names: list[Sym], known: list[int]
) -> Iterator[tuple[tuple[tuple[int, int], ...] | None, dict[Dim, int]]]:
    """Yield ways in which lengths may have to agree, with one another or one of them with a length that is known."""
    for merged in _mergings(names):
        yield merged, {}
    if len(names) <= _FEW:
        for name in names:
            for length in known:
                yield (), {name: length}
    yield None, {}


def _lengths_for(fn: Any, names: list[Sym], types: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lengths of two runs, such that samples stay small."""
    many = any(isinstance(kind, Array) and len(kind.dims) > 3 for kind in types)
    unknown = max((sum(isinstance(d, Sym) for d in k.dims) for k in types if isinstance(k, Array)), default=0)
    if (many and fn in _NO_RECKONING) or unknown >= _VERY_MANY or (fn in _MADE_BY_SIZE and len(names) >= 4):
        return _SMALLEST
    if len(names) >= 4:
        return _CLOSE
    return _MANY_AXES if many else _LENGTHS


def _reduced(fn: Any, kind: Array, small: tuple[int, ...], static: dict[str, Any]) -> Type:
    """The dtype and the layout from a run on a few elements, the lengths by the axes."""
    result = _call(fn, [_sample_array(kind.dtype, small, kind.layout)], static)
    if not isinstance(result, np.ndarray):
        return Scalar(_scalar_name(result), not isinstance(result, np.generic))
    dims = reduced_dims(kind.dims, static)
    if not dims:
        return Scalar(result.dtype.name)
    turned = _call(fn, [_sample_array(kind.dtype, small, kind.layout, True)], static) if kind.layout == "A" else result
    return Array(result.dtype.name, dims, _layout_of_both(result, turned))


def _layout_of_both(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> str:
    """Return the layout of a result that two runs gave, the second for arguments with their axes in another order."""
    return layout_of(first) if layout_of(first) == layout_of(second) else "A"


def _known_lengths(types: Any) -> list[int]:
    """Constant lengths among the operands: an unknown one may have to equal one of them."""
    found: dict[int, None] = {}

    def walk(kind: Any) -> None:
        if isinstance(kind, tuple):
            for item in kind[1]:
                walk(item)
        elif isinstance(kind, Array):
            for dim in kind.dims:
                if isinstance(dim, int) and dim > 1:
                    found[dim] = None

    for kind in types:
        walk(kind)
    return list(found)


def infer_several(fn: Callable[..., Any], args: tuple[Expr, ...], static: dict[str, Any]) -> Struct:
    """Return the type of `fn(*args, **static)` for a library function with several results.

    Raises:
        InferenceError: NumPy refuses.
    """
    found = _sampled(fn, args, tuple(_type_tree(arg) for arg in args), static, _merge_several)
    assert isinstance(found, Struct)
    return found


def infer_several_of_any_length(fn: Callable[..., Any], args: tuple[Expr, ...], static: dict[str, Any]) -> Struct:
    """Return the type likewise, of a function of which nothing is known: its results may be as long as the data say."""
    found = infer_several(fn, args, static)
    return Struct(found.kind, found.keys, tuple(_of_any_length(item) for item in found.items))


def _merge_several(results: list[tuple[Any, dict[int, Dim]]], known: Sure) -> Type:
    """Type each result; unknown lengths that come out alike both times are one length."""
    (first, back), (second, other) = results
    if not isinstance(first, tuple | list):
        raise InferenceError(f"the result is a {type(first).__name__}, not several numbers or arrays")
    alike: dict[tuple[int, int], Dim] = {}
    items: list[Type] = []
    for a, b in zip(first, second, strict=True):
        kind = _merge([(a, back), (b, other)], known)
        if isinstance(kind, Array):
            pairs = zip(a.shape, b.shape, kind.dims, strict=True)
            dims = tuple(
                d if (isinstance(d, int) and d > 0) or d in back.values() else alike.setdefault((m, n), fresh_dim())
                for m, n, d in pairs
            )
            kind = Array(kind.dtype, dims, kind.layout)
        items.append(kind)
    container = type(first) if hasattr(first, "_fields") else "tuple"
    return Struct(container, getattr(first, "_fields", tuple(range(len(items)))), tuple(items))


def _merge(results: list[tuple[Any, dict[int, Dim]]], known: Sure) -> Type:
    (first, back), (second, other) = results
    if isinstance(first, list | tuple):
        raise InferenceError("functions with several results are unpacked, not nested")
    if not isinstance(first, np.ndarray):
        return Scalar(_scalar_name(first), not isinstance(first, np.generic))
    if first.dtype.kind not in "biufc":
        raise InferenceError(f"an array of {first.dtype} holds no numbers; keep texts in a tuple or a list")
    if first.ndim == 0:
        return Scalar(first.dtype.name)
    dims: list[Dim] = []
    for a, b in zip(first.shape, second.shape, strict=True):
        if a in back and back[a] == other.get(b):
            dims.append(back[a])
        elif a == b and known(a):
            dims.append(a)
        else:
            dims.append(fresh_dim())
    return Array(first.dtype.name, tuple(dims), _layout_of_both(first, second))


def _symbols(types: Any) -> list[Sym]:
    found: dict[Sym, None] = {}

    def walk(kind: Any) -> None:
        if isinstance(kind, tuple):
            for item in kind[1]:
                walk(item)
        elif isinstance(kind, Array):
            for dim in kind.dims:
                if isinstance(dim, Sym):
                    found[dim] = None
        elif isinstance(kind, Scalar) and isinstance(kind.value, Sym):
            found[kind.value] = None

    for kind in types:
        walk(kind)
    return list(found)


def _mergings(names: list[Sym]) -> list[tuple[tuple[int, int], ...]]:
    """Ways in which lengths may have to agree: none, one pair, two pairs. A product needs one."""
    pairs = list(itertools.combinations(range(len(names)), 2))
    if len(names) > 6:
        return [(), *((pair,) for pair in pairs)]
    return [(), *((pair,) for pair in pairs), *itertools.combinations(pairs, 2)]


def _assign(names: list[Sym], lengths: tuple[int, ...], merged: tuple[tuple[int, int], ...] | None) -> dict[Dim, int]:
    """Give each length a prime; those that are merged get one between them."""
    if merged is None:
        return {name: lengths[0] for name in names}
    chosen = list(range(len(names)))
    for a, b in merged:
        low, high = sorted((chosen[a], chosen[b]))
        chosen = [low if c == high else c for c in chosen]
    return {name: lengths[c % len(lengths)] for name, c in zip(names, chosen, strict=True)}


def _sample_tree(arg: Expr, kind: Any, sizes: dict[Any, int], unknown: int) -> Any:
    if isinstance(kind, tuple):
        assert isinstance(arg, Pack)
        items = [_sample_tree(a, k, sizes, unknown) for a, k in zip(arg.items, kind[1], strict=True)]
        return tuple(items) if kind[0] == "tuple" else items
    if isinstance(arg, Const) and not isinstance(kind, Array):
        return arg.value
    return _sample(kind, sizes, unknown)


def _sample(kind: Type, sizes: dict[Any, int], unknown: int) -> Any:
    match kind:
        case Array(dtype, dims, layout):
            shape = tuple(d if isinstance(d, int) else sizes.get(d, unknown or 1) for d in dims)
            return _sample_array(dtype, shape, layout, bool(sizes.get(_TURNED)))
        case Scalar(dtype, weak, value):
            if isinstance(value, Sym):
                value = sizes.get(value, unknown or 1)
            return _sample_scalar(dtype, weak, value, sizes.get(_WHOLE, 2))
        case ListOf(item):
            length = max(unknown // 10, 3)  # another one in each run, so that no length is taken to be known
            return [_sample(item, sizes, unknown)] * length if item is not None else []
        case Static(value):
            return value
        case _:
            raise InferenceError("a container takes no part in this operation")


def _sample_scalar(dtype: str, weak: bool, value: Any, whole: int) -> Any:
    """A number to try; a whole one that is not known is `whole`, another in each run: it may be a length."""
    if weak:
        plain = {"bool": True, "int64": whole, "float64": 0.5, "complex128": 0.5 + 0.25j}[dtype]
        return plain if value is None else value
    return np.dtype(dtype).type(1 if dtype == "bool" else whole if "int" in dtype else 0.5)


def _sample_array(
    dtype: str, shape: tuple[int, ...], layout: str, turned: bool = False
) -> np.ndarray[Any, Any]:
    """Positive entries, dominant diagonal: every factorisation accepts it.

    One of any layout has gaps between its elements, or its axes in another order (`turned`).
    """
    plain = "int" in dtype or dtype == "bool"
    sample = np.ones(shape, dtype) if plain else np.full(shape, 0.5, dtype)
    if turned and layout == "A" and len(shape) >= 2:
        layout = "F"
    if plain:
        return np.asfortranarray(sample) if layout == "F" else sample
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        sample += (0.5 * shape[-1] * np.eye(shape[-1])).astype(dtype)
    if layout == "F":
        return np.asfortranarray(sample)
    if layout == "A" and len(shape) >= 1:
        wide = np.empty((*shape[:-1], shape[-1] * 2), dtype)[..., ::2]
        wide[...] = sample
        return wide
    return sample


REACHING: set[Any] = set()
"""Functions without a rule that were seen to give memory of an argument, or to write into one."""


def _call(fn: Any, samples: list[Any], static: dict[str, Any]) -> Any:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            before = [sample.copy() for sample in samples if isinstance(sample, np.ndarray)]
            result = fn(*samples, **static)
        if before and not isinstance(fn, np.ufunc | MethodType) and _reaches(samples, before, result):
            REACHING.add(fn)
        return result
    except (ValueError, OverflowError) as error:
        if getattr(fn, "__module__", None) == "math":
            return math.nan
        raise InferenceError(str(error)) from error
    except S2SADError:
        raise
    except IndexError as error:
        first = [_first_places(sample) for sample in samples]
        if all(a is b for a, b in zip(first, samples, strict=True)):
            raise InferenceError(str(error)) from error
        return _call(fn, first, static)
    except Exception as error:  # a library raises what it likes
        raise InferenceError(str(error)) from error


def _reaches(samples: list[Any], before: list[Any], result: Any) -> bool:
    """Say whether a call gave memory of its arguments, or changed what is in it."""
    arrays = [sample for sample in samples if isinstance(sample, np.ndarray)]
    given = result if isinstance(result, tuple | list) else [result]
    shared = any(np.may_share_memory(a, part) for a in arrays for part in given if isinstance(part, np.ndarray))
    return shared or any(a.tobytes() != was.tobytes() for a, was in zip(arrays, before, strict=True))


def _first_places(sample: Any) -> Any:
    """Return a sample of index arrays that an axis of one element has too."""
    whole = isinstance(sample, np.ndarray) and sample.dtype.kind in "iu" and sample.any()
    return np.zeros_like(sample) if whole else sample
