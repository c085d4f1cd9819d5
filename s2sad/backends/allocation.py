"""New arrays: what is the same for all of a kind is one function of the module, called where an array is made.

Numba writes the sizes, the test that they do not overflow, the call of the allocator and its errors at each
`np.empty`, some hundred instructions; half of what a program of many matrices is made of. The lengths are written
where the array is made, for LLVM to see which arrays are equally long.
"""

from __future__ import annotations

import importlib
from typing import Any

from s2sad.backends import memory

_ir: Any = importlib.import_module("llvmlite.ir")
_arrays: Any = importlib.import_module("numba.np.arrayobj")
_cgutils: Any = importlib.import_module("numba.core.cgutils")
_types: Any = importlib.import_module("numba.core.types")

_WORD = _ir.IntType(64)
_BYTE = _ir.IntType(8).as_pointer()
_TOO_LARGE = 1
"""Returned in place of an address; 0 is for no memory."""


def empty(context: Any, builder: Any, kind: Any, lengths: Any) -> Any:
    """Write the making of an array: what Numba's function of this name does."""
    if kind.layout not in ("C", "F"):
        raise NotImplementedError(f"an array of layout {kind.layout} is not made")
    lengths = list(lengths)
    size = context.get_constant(_types.intp, _arrays.get_itemsize(context, kind))
    made = builder.call(_function(context, builder, kind), lengths)
    refused = builder.icmp_unsigned("<=", builder.ptrtoint(made, _WORD), _WORD(_TOO_LARGE))
    with builder.if_then(refused, likely=False):
        with builder.if_then(builder.icmp_unsigned("==", builder.ptrtoint(made, _WORD), _WORD(0))):
            context.call_conv.return_user_exc(builder, MemoryError, ("unable to allocate the memory of an array",))
        text = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
        context.call_conv.return_user_exc(builder, ValueError, (text,))
    strides = [size]
    for length in lengths[:0:-1] if kind.layout == "C" else lengths[:-1]:
        strides.append(builder.mul(strides[-1], length))
    strides = strides[: kind.ndim]
    array = _arrays.make_array(kind)(context, builder)
    _arrays.populate_array(
        array,
        data=builder.bitcast(context.nrt.meminfo_data(builder, made), context.get_data_type(kind.dtype).as_pointer()),
        shape=lengths,
        strides=strides[::-1] if kind.layout == "C" else strides,
        itemsize=size,
        meminfo=made,
    )
    return array


def _function(context: Any, builder: Any, kind: Any) -> Any:
    """Return the function that allocates arrays of a type: from lengths to what keeps the memory."""
    size, align = _arrays.get_itemsize(context, kind), context.get_preferred_array_alignment(kind.dtype)
    name = f"s2sad.empty.{kind.ndim}.{size}.{align}"
    if name in builder.module.globals:
        return builder.module.globals[name]
    function = _ir.Function(builder.module, _ir.FunctionType(_BYTE, [_WORD] * kind.ndim), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    inside = _ir.IRBuilder(function.append_basic_block("entry"))
    amount: Any = _WORD(size)
    overflows: Any = _ir.IntType(1)(0)
    for length in function.args:
        both = inside.smul_with_overflow(amount, length)
        amount, flag = inside.extract_value(both, 0), inside.extract_value(both, 1)
        overflows = inside.or_(overflows, flag)
    with inside.if_then(overflows, likely=False):
        inside.ret(inside.inttoptr(_WORD(_TOO_LARGE), _BYTE))
    made = context.nrt.meminfo_alloc_aligned_unchecked(inside, amount, context.get_constant(_types.uint32, align))
    if memory.is_glibc():
        with inside.if_then(inside.icmp_unsigned("!=", inside.ptrtoint(made, _WORD), _WORD(0))):
            memory.advise(context, inside, made, amount)
    inside.ret(made)
    return function


REPLACED = [(_arrays, "_empty_nd_impl", empty)]
"""What Numba makes arrays by, and ours."""
