"""Products of matrices and vectors, which Numba compiles as several functions of its own for each pair of layouts.

`a @ b` takes it 0.3 to 0.6 s: a function that makes the result, calls `np.dot` with it, and functions that check
lengths. Here the checks, the array and the call of BLAS are written where the product stands. Products of batches
of matrices, which Numba lacks, are one call for each of the batch, of arrays of any strides: BLAS takes a matrix
whose rows or columns lie in one piece, for others there is a loop.
Source: the interface of the reference BLAS (Lawson et al. 1979), as Numba's helper library exports it.
"""

from __future__ import annotations

import functools
import importlib
import operator
from typing import Any

_arrays: Any = importlib.import_module("numba.np.arrayobj")
_linalg: Any = importlib.import_module("numba.np.linalg")
_utils: Any = importlib.import_module("numba.core.cgutils")
_base: Any = importlib.import_module("numba.core.imputils")
_types: Any = importlib.import_module("numba.core.types")
_typing: Any = importlib.import_module("numba.core.typing")

_ir: Any = importlib.import_module("llvmlite.ir")

_WHOLE = _ir.IntType(64)
_LETTER = _ir.IntType(8)
_PLACE = _LETTER.as_pointer()
_FEW = 256
"""Multiplications of a product that are left to a loop, as a call takes its time too; the number was not measured."""
_CALLED = 80
"""The same of products of two arrays: calls of BLAS take 70 to 90 ns where loops over 3x3 to 8x8 numbers take 20 to 40;
from 100 multiplications on the calls are faster."""
_LONGEST = 2**31 - 1
"""Lengths are handed to BLAS as C integers."""


def product(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Write the product of two arrays, a matrix or both among them; raises ValueError when it runs."""
    left, right = sig.args
    x, y = (_arrays.make_array(kind)(context, builder, value) for kind, value in zip(sig.args, args, strict=True))
    x_shape, y_shape = _utils.unpack_tuple(builder, x.shape), _utils.unpack_tuple(builder, y.shape)
    _check(context, builder, x_shape, y_shape)
    one = context.get_constant(_types.intp, 1)
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, [*x_shape[:-1], *y_shape[1:]])
    sizes = [x_shape[0] if left.ndim == 2 else one, x_shape[-1], y_shape[1] if right.ndim == 2 else one]
    with builder.if_else(_are_few(context, builder, sizes)) as (small, large):
        with small:
            _added_up(context, builder, sig, (x.data, y.data, out.data), sizes)
        with large:
            builder.call(_by_library(context, builder, sig), (x.data, y.data, out.data, *sizes))
    return _base.impl_ret_new_ref(context, builder, sig.return_type, out._getvalue())


def inner(context: Any, builder: Any, sig: Any, args: Any, conjugate: bool = False) -> Any:
    """Write the product of two vectors, a number; raises ValueError when it runs."""
    x, y = (_arrays.make_array(kind)(context, builder, value) for kind, value in zip(sig.args, args, strict=True))
    x_shape, y_shape = _utils.unpack_tuple(builder, x.shape), _utils.unpack_tuple(builder, y.shape)
    _check(context, builder, x_shape, y_shape)
    out = _utils.alloca_once(builder, context.get_value_type(sig.return_type))
    one = context.get_constant(_types.intp, 1)
    sizes = [one, x_shape[0], one]
    few = _utils.false_bit if conjugate else _are_few(context, builder, sizes)
    with builder.if_else(few) as (small, large):
        with small:
            _added_up(context, builder, sig, (x.data, y.data, out), sizes)
        with large:
            _linalg.call_xxdot(context, builder, conjugate, sig.return_type, x_shape[0], x.data, y.data, out)
    return builder.load(out)


def _check(context: Any, builder: Any, x_shape: Any, y_shape: Any) -> None:
    """Raise ValueError where the lengths do not agree, OverflowError where BLAS cannot count so far."""
    with builder.if_then(builder.icmp_signed("!=", x_shape[-1], y_shape[0]), likely=False):
        text = "incompatible array sizes: the factors of a product are not equally long where they meet"
        context.call_conv.return_user_exc(builder, ValueError, (text,))
    most = context.get_constant(_types.intp, _LONGEST)
    large = [builder.icmp_signed(">", length, most) for length in (*x_shape, *y_shape[1:])]
    with builder.if_then(functools.reduce(builder.or_, large), likely=False):
        text = "array size too large to fit in C int"
        context.call_conv.return_user_exc(builder, OverflowError, (text,))


def _are_few(context: Any, builder: Any, sizes: Any) -> Any:
    """Say whether a product of two matrices of `m, k` and `k, n` numbers is left to loops."""
    most = context.get_constant(_types.intp, _CALLED)
    few = builder.icmp_signed("<=", builder.mul(builder.mul(sizes[0], sizes[1]), sizes[2]), most)
    for size in sizes:  # as the product of three lengths may be more than any whole number
        few = builder.and_(few, builder.icmp_signed("<=", size, most))
    return few


def _added_up(context: Any, builder: Any, sig: Any, data: Any, sizes: Any) -> None:
    """Write the call of such loops, vectors being matrices of one row or one column."""
    m, k, n = sizes
    (left, right), kind = sig.args, getattr(sig.return_type, "dtype", sig.return_type)
    one = context.get_constant(_types.intp, 1)
    x_steps = (one, m) if left.ndim == 2 and left.layout == "F" else (k, one)
    y_steps = (one, k) if right.ndim == 2 and right.layout == "F" else (n, one)
    builder.call(_loops(context, builder, kind), (*data, m, k, n, *x_steps, *y_steps))


def _loops(context: Any, builder: Any, kind: Any) -> Any:
    """Return the function that adds up products of few numbers: one for all products of a module.

    Its arguments are the numbers of the factors and of the result, `m`, `k`, `n`, and how far rows and columns of the
    factors are apart. Written at every product it took more time to compile than the calls of BLAS.
    """
    name = f"s2sad.few.{kind}"
    if name in builder.module.globals:
        return builder.module.globals[name]
    item = context.get_data_type(kind).as_pointer()
    function = _ir.Function(builder.module, _ir.FunctionType(_ir.VoidType(), [item] * 3 + [_WHOLE] * 7), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    x, y, out, m, k, n, x_row, x_column, y_row, y_column = function.args
    inside = _ir.IRBuilder(function.append_basic_block("entry"))

    def number(start: Any, row: Any, rows: Any, column: Any, columns: Any) -> Any:
        place = inside.add(inside.mul(row, rows), inside.mul(column, columns))
        return context.unpack_value(inside, kind, inside.gep(start, [place]))

    total = _utils.alloca_once(inside, context.get_value_type(kind))
    with _utils.for_range(inside, m) as i, _utils.for_range(inside, n) as j:
        inside.store(context.get_constant_generic(inside, kind, 0), total)
        with _utils.for_range(inside, k) as p:
            first, second = number(x, i.index, x_row, p.index, x_column), number(y, p.index, y_row, j.index, y_column)
            inside.store(_with_product(context, inside, kind, inside.load(total), first, second), total)
        place = inside.add(inside.mul(i.index, n), j.index)
        context.pack_value(inside, kind, inside.load(total), inside.gep(out, [place]))
    inside.ret_void()
    return function


def _with_product(context: Any, builder: Any, kind: Any, total: Any, first: Any, second: Any) -> Any:
    """Return `total + first * second`."""
    if not isinstance(kind, _types.Complex):
        return builder.fadd(total, builder.fmul(first, second))
    a, b, found = (context.make_complex(builder, kind, value) for value in (first, second, total))
    real = builder.fsub(builder.fmul(a.real, b.real), builder.fmul(a.imag, b.imag))
    imag = builder.fadd(builder.fmul(a.real, b.imag), builder.fmul(a.imag, b.real))
    found.real, found.imag = builder.fadd(found.real, real), builder.fadd(found.imag, imag)
    return found._getvalue()


def _by_library(context: Any, builder: Any, sig: Any) -> Any:
    """Return the function that calls BLAS for a product: one for all products of such arrays of a module.

    Its arguments are the numbers of the factors and of the result, and `m`, `k`, `n`. Written at every product, the
    calls that are possible were most of what there was to compile.
    """
    (left, right), kind = sig.args, sig.return_type
    name = f"s2sad.blas.{kind.dtype}.{left.ndim}{left.layout}.{right.ndim}{right.layout}"
    if name in builder.module.globals:
        return builder.module.globals[name]
    item = context.get_data_type(kind.dtype).as_pointer()
    function = _ir.Function(builder.module, _ir.FunctionType(_ir.VoidType(), [item] * 3 + [_WHOLE] * 3), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    x, y, out, m, k, n = function.args
    inside = _ir.IRBuilder(function.append_basic_block("entry"))
    x_shape, y_shape = (m, k) if left.ndim == 2 else (k,), (k, n) if right.ndim == 2 else (k,)
    if left.ndim == 2 and right.ndim == 2:
        _of_matrices(context, inside, sig, (x, x_shape), (y, y_shape), out)
    elif left.ndim == 2:
        _linalg.call_xxgemv(context, inside, left.layout == "C", left, x_shape, x, y, out)
    else:
        _linalg.call_xxgemv(context, inside, right.layout == "F", right, y_shape, y, x, out)
    inside.ret_void()
    return function


def _of_matrices(context: Any, builder: Any, sig: Any, left: Any, right: Any, out: Any) -> None:
    """Two matrices: a row or a column is a vector, for which BLAS has faster functions."""
    (x_type, y_type), kind = sig.args, sig.return_type
    (x, x_shape), (y, y_shape) = left, right
    is_row, is_column = (_any_is(context, builder, 1, (length,)) for length in (x_shape[0], y_shape[1]))
    with builder.if_else(is_column) as (column, wide):
        with column:
            with builder.if_else(is_row) as (number, tall):
                with number:
                    _linalg.call_xxdot(context, builder, False, kind.dtype, x_shape[1], x, y, out)
                with tall:
                    _linalg.call_xxgemv(context, builder, x_type.layout == "C", x_type, x_shape, x, y, out)
        with wide:
            with builder.if_else(is_row) as (row, both):
                with row:
                    _linalg.call_xxgemv(context, builder, y_type.layout != "C", y_type, y_shape, y, x, out)
                with both:
                    shape = (x_shape[0], y_shape[1])
                    _linalg.call_xxgemm(context, builder, x_type, x_shape, x, y_type, y_shape, y, kind, shape, out)


def batched(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Write the products of two batches of matrices, of which one alone serves all; raises ValueError when it runs."""
    x, y = (_Batch(context, builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
    _check(context, builder, x.lengths[1:], y.lengths[1:])
    one = context.get_constant(_types.intp, 1)
    count = builder.select(builder.icmp_signed("==", x.lengths[0], one), y.lengths[0], x.lengths[0])
    for batch in (x, y):
        fits = builder.or_(*(builder.icmp_signed("==", batch.lengths[0], number) for number in (one, count)))
        with builder.if_then(builder.not_(fits), likely=False):
            text = "batches of matrices could not be broadcast together"
            context.call_conv.return_user_exc(builder, ValueError, (text,))
    m, k, n = x.lengths[1], x.lengths[2], y.lengths[2]
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, [count, m, n])
    few = builder.icmp_signed("<", builder.mul(builder.mul(m, k), n), context.get_constant(_types.intp, _FEW))
    x_way, y_way = x.way(), y.way()
    by_loop = builder.or_(few, builder.not_(builder.and_(x_way.exists, y_way.exists)))
    size = builder.mul(builder.mul(m, n), out.itemsize)
    with _utils.for_range(builder, count) as turn:
        x_at, y_at = x.at(turn.index, count), y.at(turn.index, count)
        out_at = builder.gep(builder.bitcast(out.data, _PLACE), [builder.mul(turn.index, size)])
        with builder.if_else(by_loop) as (small, large):
            with small:
                _by_loop(context, builder, sig.return_type, (x, x_at), (y, y_at), (m, k, n), out_at)
            with large:
                _by_blas(context, builder, sig.return_type.dtype, (x_way, x_at), (y_way, y_at), (m, k, n), out_at)
    return _base.impl_ret_new_ref(context, builder, sig.return_type, out._getvalue())


class _Way:
    """How BLAS is told of a matrix: whether it is one that BLAS can take, by rows, and how far these are apart."""

    def __init__(self, exists: Any, letter: Any, apart: Any) -> None:
        self.exists, self.letter, self.apart = exists, letter, apart


class _Batch:
    """An array of three axes, the last two of which are matrices."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.context, self.builder, self.kind = context, builder, kind
        given = _arrays.make_array(kind)(context, builder, value)
        self.data = builder.bitcast(given.data, _PLACE)
        self.size = given.itemsize
        self.lengths = _utils.unpack_tuple(builder, given.shape)
        self.strides = _utils.unpack_tuple(builder, given.strides)

    def at(self, index: Any, count: Any) -> Any:
        """Return where a matrix begins: the only one there is, or that of the index."""
        only = self.builder.icmp_signed("!=", self.lengths[0], count)
        none = self.context.get_constant(_types.intp, 0)
        return self.builder.gep(self.data, [self.builder.select(only, none, self.builder.mul(index, self.strides[0]))])

    def way(self) -> _Way:
        """Return how BLAS can take the matrices: rows in one piece, or columns."""
        rows = self._lie(1, 2)
        columns = self._lie(2, 1)
        builder = self.builder
        apart = builder.sdiv(builder.select(rows, self.strides[1], self.strides[2]), self.size)
        letter = builder.select(rows, _LETTER(ord("n")), _LETTER(ord("t")))
        return _Way(builder.or_(rows, columns), letter, apart)

    def _lie(self, outer: int, inner: int) -> Any:
        """Say whether what the inner axis counts lies in one piece, and the next begins behind it."""
        builder = self.builder
        close = builder.icmp_signed("==", self.strides[inner], self.size)
        length = builder.mul(self.lengths[inner], self.size)
        behind = builder.icmp_signed(">=", self.strides[outer], length)
        whole = builder.icmp_signed("==", builder.srem(self.strides[outer], self.size), self.size.type(0))
        return builder.and_(close, builder.and_(behind, whole))


def _by_loop(context: Any, builder: Any, kind: Any, left: Any, right: Any, sizes: Any, out: Any) -> None:
    """Add up a product of two matrices, one row of the result after the other."""
    (x, x_at), (y, y_at) = left, right
    m, k, n = sizes
    item = context.get_data_type(kind.dtype).as_pointer()
    sig = _typing.signature(kind.dtype, kind.dtype, kind.dtype)
    times, plus = (context.get_function(op, sig) for op in (operator.mul, operator.add))

    def there(start: Any, first: Any, strides: Any, second: Any) -> Any:
        away = builder.add(builder.mul(first, strides[0]), builder.mul(second, strides[1]))
        return builder.bitcast(builder.gep(start, [away]), item)

    size = x.size
    row = builder.mul(n, size)
    _utils.memset(builder, out, builder.mul(m, row), 0)
    with _utils.for_range(builder, m) as i, _utils.for_range(builder, k) as p:
        factor = context.unpack_value(builder, kind.dtype, there(x_at, i.index, x.strides[1:], p.index))
        with _utils.for_range(builder, n) as j:
            place = there(out, i.index, (row, size), j.index)
            other = context.unpack_value(builder, kind.dtype, there(y_at, p.index, y.strides[1:], j.index))
            total = plus(builder, (context.unpack_value(builder, kind.dtype, place), times(builder, (factor, other))))
            context.pack_value(builder, kind.dtype, total, place)


def _by_blas(context: Any, builder: Any, dtype: Any, left: Any, right: Any, sizes: Any, out: Any) -> None:
    """Call BLAS, which counts by columns: the transposed result is the product of the transposed, exchanged."""
    (x_way, x_at), (y_way, y_at) = left, right
    m, k, n = sizes
    arguments = [_LETTER] * 3 + [_WHOLE] * 3 + [_PLACE, _PLACE, _WHOLE, _PLACE, _WHOLE, _PLACE, _PLACE, _WHOLE]
    function = _utils.get_or_insert_function(
        builder.module, _ir.FunctionType(_ir.IntType(32), arguments), "numba_xxgemm"
    )
    one, zero = (
        builder.bitcast(_linalg.make_constant_slot(context, builder, dtype, value), _PLACE) for value in (1.0, 0.0)
    )
    kind = _LETTER(ord(_linalg.get_blas_kind(dtype)))
    failed = builder.call(
        function,
        (kind, y_way.letter, x_way.letter, n, m, k, one, y_at, y_way.apart, x_at, x_way.apart, zero, out, n),
    )
    _linalg.check_blas_return(context, builder, failed)


def _any_is(context: Any, builder: Any, value: int, lengths: Any) -> Any:
    constant = context.get_constant(_types.intp, value)
    found = builder.icmp_signed("==", lengths[0], constant)
    for length in lengths[1:]:
        found = builder.or_(found, builder.icmp_signed("==", length, constant))
    return found


REPLACED = [
    (_linalg, "dot_2_mm", product),
    (_linalg, "dot_2_mv", product),
    (_linalg, "dot_2_vm", product),
    (_linalg, "dot_2_vv", inner),
]
"""What Numba writes products by, and ours."""
