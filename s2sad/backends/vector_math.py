"""Loops that call `exp`, `sin`, … on several elements at once, where glibc's vector library is installed.

Numba writes a scalar call; LLVM's loop vectoriser may take a vector function in its place if the call
names one. So every call of a module that has a kin in libmvec is told of it. The functions of libmvec
are exact to 4 units in the last place, as NumPy's own loops are, and treat infinities, NaN and
subnormal numbers as the scalar functions do
(https://sourceware.org/glibc/wiki/libmvec; https://llvm.org/docs/LangRef.html on
`vector-function-abi-variant`).
"""

from __future__ import annotations

import ctypes
import importlib
import re
from functools import cache
from typing import Any

_ir: Any = importlib.import_module("llvmlite.ir")
_binding: Any = importlib.import_module("llvmlite.binding")
_registry: Any = importlib.import_module("numba.core.registry")
_config: Any = importlib.import_module("numba.core.config")

LIBRARY = "libmvec.so.1"

UNARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1",
    "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
BINARY = ("atan2", "hypot", "pow")

_ISAS = (("b", 2, "sse2"), ("d", 4, "avx2"), ("e", 8, "avx512f"))
"""The letter of the x86-64 vector ABI for an instruction set, its doubles in a register, LLVM's name of it."""

_USED = "llvm.compiler.used"
_CALLED = re.compile(r"(?:llvm\.)?(\w+?)(?:\.f(?:32|64))?")
_PURE = ("nounwind", "willreturn", "memory(none)")


@cache
def available() -> tuple[str, ...]:
    """Load the library and return the names of its functions that this processor can run; none without it."""
    if _config.USING_SVML:  # Numba brings a vector library of its own
        return ()
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return ()
    _binding.load_library_permanently(LIBRARY)
    features = _features()
    return tuple(
        symbol
        for names, arity in ((UNARY, 1), (BINARY, 2))
        for name in names
        for single in (False, True)
        for letter, lanes, feature in _ISAS
        if feature in features
        and hasattr(library, symbol := _symbol(letter, lanes * (2 if single else 1), arity, name, single))
    )


def _features() -> frozenset[str]:
    """Return the instruction sets that Numba compiles for: this processor's, unless `NUMBA_CPU_NAME` names another."""
    _, _, features = _registry.cpu_target.target_context.codegen().magic_tuple()
    return frozenset(part[1:] for part in features.split(",") if part.startswith("+"))


def _symbol(letter: str, lanes: int, arity: int, name: str, single: bool) -> str:
    return f"_ZGV{letter}N{lanes}{'v' * arity}_{name}{'f' if single else ''}"


@cache
def _variants() -> dict[tuple[str, bool], tuple[str, ...]]:
    """Return the vector forms of each scalar function, by its name and whether it is of single precision."""
    found: dict[tuple[str, bool], tuple[str, ...]] = {}
    for symbol in available():
        name = symbol.split("_", 2)[2]
        base, single = (name[:-1], True) if name not in (*UNARY, *BINARY) else (name, False)
        found[base, single] = (*found.get((base, single), ()), symbol)
    return found


def tell(module: Any) -> None:
    """Name the vector forms at every scalar call of an LLVM module that has some."""
    if not available():
        return
    declared: dict[str, Any] = {}
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if isinstance(instruction, _ir.CallInstr):
                    _tell_call(module, instruction, declared)
    if declared and _USED not in module.globals:
        _keep(module, list(declared.values()))


def _tell_call(module: Any, call: Any, declared: dict[str, Any]) -> None:
    name = getattr(call.callee, "name", "")
    if isinstance(call.type, _ir.DoubleType):
        single = False
    elif isinstance(call.type, _ir.FloatType):
        single = True
    else:
        return
    found = _CALLED.fullmatch(name)
    if found is None:
        return
    base = found[1]
    if single and not name.startswith("llvm."):
        base = base[:-1] if base.endswith("f") else ""
    variants = _variants().get((base, single), ())
    arity = 2 if base in BINARY else 1
    if not variants or len(call.args) != arity or any(value.type != call.type for value in call.args):
        return
    table: list[str] = []
    for symbol in variants:
        lanes = int(re.findall(r"\d+", symbol)[0])
        table.append(f"_ZGV_LLVM_N{lanes}{'v' * arity}_{name}({symbol})")
        if symbol not in declared:
            vector = _ir.VectorType(call.type, lanes)
            kind = _ir.FunctionType(vector, [vector] * arity)
            declared[symbol] = module.globals.get(symbol) or _ir.Function(module, kind, symbol)
    for text in (*_PURE, f'"vector-function-abi-variant"="{",".join(table)}"'):
        set.add(call.attributes, text)  # the class knows only a few attributes; LLVM knows these


def _keep(module: Any, functions: list[Any]) -> None:
    """Have LLVM keep declarations that no code calls yet."""
    pointer = _ir.IntType(8).as_pointer()
    entries = [function.bitcast(pointer) for function in functions]
    array = _ir.ArrayType(pointer, len(entries))
    used = _ir.GlobalVariable(module, array, _USED)
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = _ir.Constant(array, entries)
