"""Compile a hand-written adjoint with what C compilers take for granted.

Three levers, each on top of Numba's own `njit`: indices that are known not to be negative need no
wrap-around; arrays that are arguments do not overlap; and `exp`, `log`, `sin`, `cos`, `tanh`, `pow`
in loops are calls of glibc's vector library (libmvec, at most 4 ulp), where it is installed.
The adjoints of this bench index from zero up and are given arrays of their own, so all three hold.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numba.np import arrayobj

from tools.bench.kernel import remade

FUNCTIONS = {"exp": 1, "log": 1, "sin": 1, "cos": 1, "tan": 1, "tanh": 1, "sinh": 1, "cosh": 1, "atan": 1, "erf": 1,
             "pow": 2, "atan2": 2}


class NoAlias(CompilerBase):
    """Numba's default pipeline, with arguments declared not to overlap."""

    def define_pipelines(self):
        """Set the flag that Numba knows but `njit` does not offer."""
        self.state.flags.noalias = True
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def tuned(dispatcher: Dispatcher) -> Dispatcher:
    """Return `dispatcher` and all that it calls, to be compiled anew with the three levers.

    The result compiles inside `levers()` only as it should: call it there once for each type.
    """
    return remade(dispatcher, njit(error_model="numpy", pipeline_class=NoAlias), {math: _vector_math()})


@contextmanager
def levers() -> Iterator[None]:
    """Compile what is compiled meanwhile without the test for negative indices."""
    kept = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = lambda context, builder, idxty, idx, size: context.cast(
        builder, idx, idxty, types.intp)
    try:
        yield
    finally:
        arrayobj.fix_integer_index = kept


@cache
def _vector_math() -> ModuleType:
    """Return `math` with the functions of libmvec in the place of their scalar kin."""
    module = ModuleType("vector_math")
    vars(module).update({name: value for name, value in vars(math).items() if not name.startswith("_")})
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return module
    llvmlite.binding.load_library_permanently("libmvec.so.1")
    features = llvmlite.binding.get_host_cpu_features()
    for name in FUNCTIONS:
        variants = [(f"_ZGV{isa}N{lanes}{'v' * FUNCTIONS[name]}_{name}", lanes)
                    for isa, lanes, feature in (("b", 2, "sse2"), ("d", 4, "avx2"), ("e", 8, "avx512f"))
                    if features.get(feature) and hasattr(library, f"_ZGV{isa}N{lanes}{'v' * FUNCTIONS[name]}_{name}")]
        if variants:
            setattr(module, name, _vectorisable(name, FUNCTIONS[name], tuple(variants)))
    return module


def _vectorisable(name: str, arity: int, variants: tuple[tuple[str, int], ...]) -> Any:
    """Return a scalar function that LLVM's loop vectoriser may replace by one of `variants`."""

    def call(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        module = builder.module
        scalar = cgutils.get_or_insert_function(module, ir.FunctionType(double, [double] * arity), name)
        kept = []
        for symbol, lanes in variants:
            vector = ir.VectorType(double, lanes)
            kept.append(cgutils.get_or_insert_function(module, ir.FunctionType(vector, [vector] * arity), symbol))
        _keep(module, kept)
        made = builder.call(scalar, args)
        table = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * arity}_{name}({symbol})" for symbol, lanes in variants)
        for text in ("nounwind", "willreturn", "memory(none)", f'"vector-function-abi-variant"="{table}"'):
            set.add(made.attributes, text)
        return made

    if arity == 1:
        def typed(typing_context: Any, x: Any) -> Any:
            return types.float64(types.float64), call
    else:
        def typed(typing_context: Any, x: Any, y: Any) -> Any:
            return types.float64(types.float64, types.float64), call
    return intrinsic(typed)


def _keep(module: ir.Module, functions: list[ir.Function]) -> None:
    """Have LLVM keep declarations that no code calls yet."""
    pointer = ir.IntType(8).as_pointer()
    known = module.globals.get("llvm.compiler.used")
    entries = list(known.initializer.constant) if known is not None else []
    names = {entry.get_reference() for entry in entries}
    entries += [e for e in (f.bitcast(pointer) for f in functions) if e.get_reference() not in names]
    if known is not None:
        del module.globals["llvm.compiler.used"]
    array = ir.ArrayType(pointer, len(entries))
    used = ir.GlobalVariable(module, array, "llvm.compiler.used") if known is None else known
    if known is not None:
        known.type, known.value_type = array.as_pointer(), array
        module.globals["llvm.compiler.used"] = known
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ir.Constant(array, entries)
