"""Memory for large arrays: kept when they are freed, and taken from the system in large pages.

Numba asks `malloc` for each array. glibc gives a large one back to the system as soon as it is freed, and the
system hands out the next one page by page, each filled with zeros at its first use: for a derivative with
temporaries of megabytes that takes longer than the arithmetic. Measured, gradient by gradient: a stencil in
slices 23.6 -> 4.0 ms, k-means over arrays 17.6 -> 8.4 ms, a softmax of 34 MB 107 -> 48 ms.

- `keep` tells glibc to hold on to what was freed, up to 256 MB. That holds for the whole process.
  `S2SAD_KEEP_MEMORY=64` says how many megabytes, 0 leaves glibc as it is, and so do `MALLOC_…_` variables.
- `call_allocator` asks for large pages for arrays that are too large to be kept, as NumPy does for its own.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
from typing import Any

_ir: Any = importlib.import_module("llvmlite.ir")
_types: Any = importlib.import_module("numba.core.types")
_extending: Any = importlib.import_module("numba.core.extending")
_signature: Any = importlib.import_module("numba.core.typing").signature

_MEGABYTE = 1 << 20
_LARGEST_KEPT = 32 * _MEGABYTE
"""What glibc takes from the system by itself, whatever it is told, and gives back at once."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_PAGE, _HUGE_PAGES = 4096, 14  # mman.h


@functools.cache
def keep() -> bool:
    """Let glibc keep freed memory for the next arrays; say whether it does."""
    told = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES")
    if not is_glibc() or any(name in os.environ for name in told):
        return False
    try:
        megabytes = int(os.environ.get("S2SAD_KEEP_MEMORY", "256"))
    except ValueError:
        return False
    if megabytes <= 0:
        return False
    mallopt = ctypes.CDLL(None).mallopt
    most = min(megabytes, 2047) * _MEGABYTE
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)) and bool(mallopt(_TRIM_THRESHOLD, most))


def is_glibc() -> bool:
    """Say whether this process runs on glibc, under Linux."""
    try:
        return sys.platform == "linux" and (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except ValueError:
        return False


@_extending.intrinsic
def _in_large_pages(context: Any, size: Any, align: Any) -> Any:
    """Allocate an array's memory, and advise the system to map it in large pages if it is a new piece of its own."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        amount, align = args
        memory = context.nrt.meminfo_alloc_aligned(builder, amount, align)
        advise(context, builder, memory, amount)
        return memory

    return _signature(_types.MemInfoPointer(_types.voidptr), size, align), codegen


def advise(context: Any, builder: Any, memory: Any, amount: Any) -> None:
    """Write the advice to map memory of so many bytes in large pages, if it is a new piece of its own."""
    word, byte = amount.type, _ir.IntType(8).as_pointer()
    with builder.if_then(builder.icmp_unsigned(">=", amount, word(_LARGEST_KEPT)), likely=False):
        start = builder.ptrtoint(context.nrt.meminfo_data(builder, memory), word)
        first = builder.and_(builder.add(start, word(_PAGE - 1)), word(-_PAGE))
        inside = builder.and_(builder.sub(amount, builder.sub(first, start)), word(-_PAGE))
        kind = _ir.FunctionType(_ir.IntType(32), [byte, word, _ir.IntType(32)])
        called = builder.module.globals.get("madvise") or _ir.Function(builder.module, kind, "madvise")
        builder.call(called, [builder.inttoptr(first, byte), inside, _ir.IntType(32)(_HUGE_PAGES)])


def call_allocator(kind: Any, size: Any, align: Any) -> Any:
    """Allocate the memory of an array: what Numba's function of this name does."""
    return _in_large_pages(size, align)


__all__ = ["advise", "call_allocator", "is_glibc", "keep"]
