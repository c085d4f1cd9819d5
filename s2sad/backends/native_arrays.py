"""Functions of NumPy that make, copy, turn and multiply arrays, as instructions.

Each takes the types of its arguments and returns the type of its result with what writes it, or None where Numba's
own function is to be taken.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

from s2sad.backends import products, sorting, systems, triangles

_arrays: Any = importlib.import_module("numba.np.arrayobj")
_linalg: Any = importlib.import_module("numba.np.linalg")
_utils: Any = importlib.import_module("numba.core.cgutils")
_base: Any = importlib.import_module("numba.core.imputils")
_types: Any = importlib.import_module("numba.core.types")
_typing: Any = importlib.import_module("numba.core.typing")
_declared: Any = importlib.import_module("numba.core.typing.npydecl")

Written = Callable[[Any, Any, Any, Any], Any]
"""`(context, builder, signature, args)`: writes the instructions, returns the value."""
Typed = tuple[Any, Written] | None
"""The type of a result and what writes it; None where Numba's own function is to be taken."""


# ---- arrays made ----


def empty(shape: Any, dtype: Any = None) -> Typed:
    """Make an array whose elements are not set."""
    kind = _made(shape, dtype)
    return None if kind is None else (kind, _written_empty)


def zeros(shape: Any, dtype: Any = None) -> Typed:
    """Make an array of zeros."""
    kind = _made(shape, dtype)
    return None if kind is None else (kind, _written_zeros)


def ones(shape: Any, dtype: Any = None) -> Typed:
    """Make an array of ones."""
    kind = _made(shape, dtype)
    if kind is None or not isinstance(kind.dtype, _types.Number | _types.Boolean):
        return None

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = context.cast(builder, context.get_constant(_types.intp, 1), _types.intp, kind.dtype)
        return _filled(context, builder, sig, _lengths(context, builder, sig, args), one)

    return kind, written


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Typed:
    """Make an array of one number."""
    if not isinstance(fill_value, _types.Number | _types.Boolean):
        return None
    kind = _made(shape, dtype)
    if kind is None or not isinstance(kind.dtype, _types.Number | _types.Boolean):
        return None
    if _is_none(dtype):
        kind = kind.copy(dtype=_types.unliteral(fill_value))
    if isinstance(fill_value, _types.Complex) and not isinstance(kind.dtype, _types.Complex):
        return None

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = context.cast(builder, args[1], sig.args[1], kind.dtype)
        return _filled(context, builder, sig, _lengths(context, builder, sig, args), value)

    return kind, written


def eye(N: Any) -> Typed:
    """Make a matrix that is 1 on the diagonal and 0 elsewhere."""
    if not isinstance(N, _types.Integer):
        return None
    kind = _types.Array(_types.float64, 2, "C")

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        (length,) = _lengths(context, builder, sig, args)
        out = _arrays._empty_nd_impl(context, builder, kind, [length, length])
        _utils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
        one = context.get_constant(_types.float64, 1.0)
        with _utils.for_range(builder, length) as loop:
            place = builder.add(builder.mul(loop.index, length), loop.index)
            _arrays.store_item(context, builder, kind, one, builder.gep(out.data, [place]))
        return _new(context, builder, sig, out)

    return kind, written


def empty_like(prototype: Any, dtype: Any = None) -> Typed:
    """Make an array as long as another, elements not set."""
    kind = _made_like(prototype, dtype)
    return None if kind is None else (kind, _written_empty_like)


def zeros_like(a: Any, dtype: Any = None) -> Typed:
    """Make an array of zeros as long as another."""
    kind = _made_like(a, dtype)
    return None if kind is None else (kind, _written_zeros_like)


def _made(shape: Any, dtype: Any) -> Any:
    """Return the type of an array of this shape, or None."""
    rank = _declared.parse_shape(shape)
    element = _types.float64 if _is_none(dtype) else _declared.parse_dtype(dtype)
    if rank is None or element is None:
        return None
    return _types.Array(dtype=element, ndim=rank, layout="C")


def _made_like(prototype: Any, dtype: Any) -> Any:
    if not isinstance(prototype, _types.Array):
        return None
    element = prototype.dtype if _is_none(dtype) else _declared.parse_dtype(dtype)
    if element is None:
        return None
    layout = "C" if prototype.layout == "A" or prototype.ndim == 1 else prototype.layout
    return prototype.copy(dtype=element, layout=layout, readonly=False)


def _is_none(dtype: Any) -> bool:
    return dtype is None or isinstance(dtype, _types.NoneType)


def _lengths(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _arrays._parse_shape(context, builder, sig.args[0], args[0])


def _lengths_of(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    given = _arrays.make_array(sig.args[0])(context, builder, args[0])
    return _utils.unpack_tuple(builder, given.shape)


def _written_empty(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, _lengths(context, builder, sig, args))
    return _new(context, builder, sig, out)


def _written_zeros(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _zeroed(context, builder, sig, _lengths(context, builder, sig, args))


def _written_empty_like(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, _lengths_of(context, builder, sig, args))
    return _new(context, builder, sig, out)


def _written_zeros_like(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _zeroed(context, builder, sig, _lengths_of(context, builder, sig, args))


def _zeroed(context: Any, builder: Any, sig: Any, lengths: Any) -> Any:
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, lengths)
    _utils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
    return _new(context, builder, sig, out)


def _filled(context: Any, builder: Any, sig: Any, lengths: Any, value: Any) -> Any:
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, lengths)
    with _utils.for_range(builder, out.nitems) as loop:
        _arrays.store_item(context, builder, sig.return_type, value, builder.gep(out.data, [loop.index]))
    return _new(context, builder, sig, out)


def _new(context: Any, builder: Any, sig: Any, out: Any) -> Any:
    return _base.impl_ret_new_ref(context, builder, sig.return_type, out._getvalue())


# ---- copies ----


def copy(a: Any) -> Typed:
    """Copy an array."""
    if not isinstance(a, _types.Array):
        return None
    return a.copy(layout="F" if a.layout == "F" else "C", readonly=False), _arrays._array_copy


def ascontiguousarray(a: Any) -> Typed:
    """Return an array by rows in one piece: itself if it is one, else a copy."""
    if not isinstance(a, _types.Array) or a.ndim == 0:
        return None
    kind = a.copy(layout="C", readonly=False)
    if a.layout == "C" or (a.ndim == 1 and a.layout == "F"):

        def same(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _base.impl_ret_borrowed(context, builder, sig.return_type, args[0])

        return kind, same
    return kind, _written_contiguous if a.layout == "A" else _arrays._array_copy


def _written_contiguous(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Return the array where it lies in one piece, which the run tells, else a copy."""
    given = _arrays.make_array(sig.args[0])(context, builder, args[0])
    lengths, strides = (_utils.unpack_tuple(builder, part) for part in (given.shape, given.strides))
    one, expected, whole = context.get_constant(_types.intp, 1), given.itemsize, _utils.true_bit
    for length, stride in reversed(list(zip(lengths, strides, strict=True))):
        alone = builder.icmp_signed("==", length, one)
        whole = builder.and_(whole, builder.or_(alone, builder.icmp_signed("==", stride, expected)))
        expected = builder.mul(expected, length)
    whole = builder.or_(whole, builder.icmp_signed("==", expected, context.get_constant(_types.intp, 0)))
    with builder.if_else(whole) as (lies, scattered):
        with lies:
            same = _base.impl_ret_borrowed(context, builder, sig.return_type, args[0])
            here = builder.block
        with scattered:
            copied = _arrays._array_copy(context, builder, sig, args)
            there = builder.block
    found = builder.phi(same.type)
    found.add_incoming(same, here)
    found.add_incoming(copied, there)
    return found


# ---- the same memory in another shape ----


def transpose(a: Any, axes: Any = None) -> Typed:
    """Return a view whose axes come in an order that is given."""
    if not isinstance(a, _types.Array) or _is_none(axes):
        return None
    if not isinstance(axes, _types.UniTuple) or not isinstance(axes.dtype, _types.Integer) or len(axes) != a.ndim:
        return None

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        order = [context.cast(builder, axis, axes.dtype, _types.intp) for axis in _utils.unpack_tuple(builder, args[1])]
        order = [_from_start(context, builder, axis, a.ndim) for axis in order]
        for k, axis in enumerate(order):
            for other in order[:k]:
                with builder.if_then(builder.icmp_signed("==", axis, other), likely=False):
                    context.call_conv.return_user_exc(builder, ValueError, ("repeated axis in transpose",))
        return _turned(context, builder, sig, args[0], order)

    return a.copy(layout="A" if a.ndim > 1 else a.layout), written


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Typed:
    """Return a view with two axes exchanged."""
    if not isinstance(a, _types.Array) or not all(isinstance(axis, _types.Integer) for axis in (axis1, axis2)):
        return None

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pair = (
            context.cast(builder, value, kind, _types.intp) for value, kind in zip(args[1:], sig.args[1:], strict=True)
        )
        first, second = (_from_start(context, builder, axis, a.ndim) for axis in pair)
        order = []
        for k in range(a.ndim):
            place = context.get_constant(_types.intp, k)
            other = builder.select(builder.icmp_signed("==", place, second), first, place)
            order.append(builder.select(builder.icmp_signed("==", place, first), second, other))
        return _turned(context, builder, sig, args[0], order)

    return a.copy(layout="A" if a.ndim > 1 else a.layout), written


def reshape(a: Any, shape: Any) -> Typed:
    """Return a view in another shape, of an array that lies by rows in one piece."""
    if not isinstance(a, _types.Array) or a.layout != "C":
        return None
    rank = _declared.parse_shape(shape)
    if rank is None or (isinstance(shape, _types.BaseTuple) and not isinstance(shape, _types.UniTuple)):
        return None

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = _arrays.make_array(sig.args[0])(context, builder, args[0])
        asked = [args[1]] if isinstance(shape, _types.Integer) else _utils.unpack_tuple(builder, args[1])
        element = shape if isinstance(shape, _types.Integer) else shape.dtype
        asked = [context.cast(builder, length, element, _types.intp) for length in asked]
        lengths = _without_gap(context, builder, asked, given.nitems)
        strides, stride = [], given.itemsize
        for length in reversed(lengths):
            strides.insert(0, stride)
            stride = builder.mul(stride, length)
        out = _arrays.make_array(sig.return_type)(context, builder)
        _arrays.populate_array(
            out, data=given.data, shape=lengths, strides=strides, itemsize=given.itemsize, meminfo=given.meminfo,
            parent=given.parent,
        )  # fmt: skip
        return _base.impl_ret_borrowed(context, builder, sig.return_type, out._getvalue())

    return a.copy(ndim=rank), written


def _without_gap(context: Any, builder: Any, asked: list[Any], count: Any) -> list[Any]:
    """Return lengths of a shape with -1 filled in; raises ValueError when it runs if they are not for `count`."""
    none, one = (context.get_constant(_types.intp, k) for k in (0, 1))
    known, gaps = one, none
    missing = [builder.icmp_signed("<", length, none) for length in asked]
    for length, is_missing in zip(asked, missing, strict=True):
        known = builder.mul(known, builder.select(is_missing, one, length))
        gaps = builder.add(gaps, builder.zext(is_missing, gaps.type))
    nothing = builder.icmp_signed("==", known, none)
    rest = builder.sdiv(count, builder.select(nothing, one, known))
    rest = builder.select(builder.icmp_signed("==", gaps, one), rest, one)
    fits = builder.icmp_signed("==", builder.mul(known, rest), count)
    fits = builder.and_(fits, builder.icmp_signed("<=", gaps, one))
    vague = builder.and_(nothing, builder.icmp_signed("!=", gaps, none))
    with builder.if_then(builder.or_(builder.not_(fits), vague), likely=False):
        text = "cannot reshape array: its size is not that of the new shape"
        context.call_conv.return_user_exc(builder, ValueError, (text,))
    return [builder.select(gap, rest, length) for gap, length in zip(missing, asked, strict=True)]


def _from_start(context: Any, builder: Any, axis: Any, rank: int) -> Any:
    """Return an axis counted from the first; raises ValueError when it runs where there is none."""
    none, most = (context.get_constant(_types.intp, k) for k in (0, rank))
    axis = builder.select(builder.icmp_signed("<", axis, none), builder.add(axis, most), axis)
    outside = builder.or_(builder.icmp_signed("<", axis, none), builder.icmp_signed(">=", axis, most))
    with builder.if_then(outside, likely=False):
        context.call_conv.return_user_exc(builder, ValueError, ("axis is out of bounds for the array",))
    return axis


def _turned(context: Any, builder: Any, sig: Any, value: Any, order: list[Any]) -> Any:
    """Return a view whose axes come in another order, which LLVM knows where it is constant."""
    given = _arrays.make_array(sig.args[0])(context, builder, value)
    whole = context.get_value_type(_types.intp)
    parts = []
    for tuple_ in (given.shape, given.strides):
        place = _utils.alloca_once_value(builder, tuple_)
        start = builder.bitcast(place, whole.as_pointer())
        parts.append([builder.load(builder.gep(start, [axis])) for axis in order])
    out = _arrays.make_array(sig.return_type)(context, builder)
    _arrays.populate_array(
        out, data=given.data, shape=parts[0], strides=parts[1], itemsize=given.itemsize, meminfo=given.meminfo,
        parent=given.parent,
    )  # fmt: skip
    return _base.impl_ret_borrowed(context, builder, sig.return_type, out._getvalue())


# ---- products, and whole numbers in a row ----


def matmul(a: Any, b: Any) -> Typed:
    """Multiply matrices and vectors."""
    if not _are_multiplied(a, b) or not {a.ndim, b.ndim} <= {1, 2}:
        return None
    rank = a.ndim + b.ndim - 2
    kind = _types.Array(a.dtype, rank, "C") if rank else a.dtype

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _linalg.ensure_blas()
        with _linalg.make_contiguous(context, builder, sig, args) as (sig, args):
            return (products.product if rank else products.inner)(context, builder, sig, args)

    return kind, written


def solve(a: Any, b: Any) -> Typed:
    """Solve a system of linear equations, for one right side or several."""
    if not _are_multiplied(a, b) or a.ndim != 2 or b.ndim not in (1, 2):
        return None
    return systems.solved(a.dtype, b.ndim)


def solve_triangular(a: Any, b: Any, trans: Any, lower: Any, unit: Any) -> Typed:
    """Solve a triangular system of linear equations, for one right side or several."""
    if not _are_multiplied(a, b) or a.ndim != 2 or b.ndim not in (1, 2):
        return None
    return triangles.solved(a.dtype, b.ndim)


def lu_factor(a: Any) -> Typed:
    """Factorise a matrix."""
    return systems.factors(a.dtype) if _are_multiplied(a, a) and a.ndim == 2 else None


def lu_solve(lu: Any, order: Any, b: Any, trans: Any) -> Typed:
    """Solve a system by the factors of its matrix, for one right side or several."""
    if not _are_multiplied(lu, b) or lu.ndim != 2 or b.ndim not in (1, 2):
        return None
    return systems.solved_by_factors(lu, order, b)


def sort(a: Any) -> Typed:
    """Sort a vector."""
    return sorting.sorts(a, by_index=False) if _is_sorted(a) else None


def argsort(a: Any) -> Typed:
    """Find the order of a vector's numbers."""
    return sorting.sorts(a, by_index=True) if _is_sorted(a) else None


def _is_sorted(a: Any) -> bool:
    return isinstance(a, _types.Array) and a.ndim == 1 and isinstance(a.dtype, _types.Float | _types.Integer)


def outer(a: Any, b: Any) -> Typed:
    """Multiply each number of a vector by each of another."""
    if not (isinstance(a, _types.Array) and isinstance(b, _types.Array) and a.ndim == b.ndim == 1):
        return None
    if a.dtype != b.dtype or not isinstance(a.dtype, _types.Float | _types.Complex):
        return None
    kind = _types.Array(a.dtype, 2, "C")

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y = (_arrays.make_array(one)(context, builder, value) for one, value in zip(sig.args, args, strict=True))
        (m,), (n,) = _utils.unpack_tuple(builder, x.shape), _utils.unpack_tuple(builder, y.shape)
        times = context.get_function(operator.mul, _typing.signature(kind.dtype, kind.dtype, kind.dtype))
        out = _arrays._empty_nd_impl(context, builder, kind, [m, n])
        with _utils.for_range(builder, m) as i:
            first = _arrays.load_item(context, builder, sig.args[0], _item(context, builder, sig.args[0], x, i.index))
            row = builder.mul(i.index, n)
            with _utils.for_range(builder, n) as j:
                other = _item(context, builder, sig.args[1], y, j.index)
                value = times(builder, (first, _arrays.load_item(context, builder, sig.args[1], other)))
                place = builder.gep(out.data, [builder.add(row, j.index)])
                _arrays.store_item(context, builder, kind, value, place)
        return _new(context, builder, sig, out)

    return kind, written


def tril(m: Any, k: Any = 0) -> Typed:
    """Copy a matrix with zeros above a diagonal."""
    return _triangle("<=", m, k)


def triu(m: Any, k: Any = 0) -> Typed:
    """Copy a matrix with zeros below a diagonal."""
    return _triangle(">=", m, k)


def _triangle(kept: str, m: Any, k: Any) -> Typed:
    given = k == 0 or isinstance(k, _types.Integer)
    if not isinstance(m, _types.Array) or m.ndim != 2 or not isinstance(m.dtype, _types.Number) or not given:
        return None
    kind = _types.Array(m.dtype, 2, "C")

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x = _arrays.make_array(sig.args[0])(context, builder, args[0])
        rows, columns = lengths = _utils.unpack_tuple(builder, x.shape)
        moved = context.get_constant(_types.intp, 0)
        if len(args) > 1:
            moved = context.cast(builder, args[1], sig.args[1], _types.intp)
        out = _arrays._empty_nd_impl(context, builder, kind, list(lengths))
        _utils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
        with _utils.for_range(builder, rows) as i, _utils.for_range(builder, columns) as j:
            there = builder.icmp_signed(kept, j.index, builder.add(i.index, moved))
            with builder.if_then(there):
                place = _item(context, builder, sig.args[0], x, i.index, j.index)
                value = _arrays.load_item(context, builder, sig.args[0], place)
                place = builder.gep(out.data, [builder.add(builder.mul(i.index, columns), j.index)])
                _arrays.store_item(context, builder, kind, value, place)
        return _new(context, builder, sig, out)

    return kind, written


def _item(context: Any, builder: Any, kind: Any, array: Any, *index: Any) -> Any:
    """Return where an item of an array is, by indices that are not negative."""
    return _utils.get_item_pointer(context, builder, kind, array, list(index), wraparound=False)


def matmul_batch(a: Any, b: Any) -> Typed:
    """Multiply batches of matrices."""
    if not _are_multiplied(a, b) or {a.ndim, b.ndim} != {3}:
        return None

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _linalg.ensure_blas()
        return products.batched(context, builder, sig, args)

    return _types.Array(a.dtype, 3, "C"), written


def _are_multiplied(a: Any, b: Any) -> bool:
    """Say whether BLAS knows the numbers of both arrays."""
    both = isinstance(a, _types.Array) and isinstance(b, _types.Array)
    return both and a.dtype == b.dtype and a.dtype in _linalg._blas_kinds


def arange(stop: Any) -> Typed:
    """Make an array of the whole numbers below another."""
    if not isinstance(stop, _types.Integer):
        return None
    kind = _types.Array(_types.intp, 1, "C")

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        none = context.get_constant(_types.intp, 0)
        length = context.cast(builder, args[0], sig.args[0], _types.intp)
        length = builder.select(builder.icmp_signed("<", length, none), none, length)
        out = _arrays._empty_nd_impl(context, builder, kind, [length])
        with _utils.for_range(builder, length) as loop:
            _arrays.store_item(context, builder, kind, loop.index, builder.gep(out.data, [loop.index]))
        return _new(context, builder, sig, out)

    return kind, written
