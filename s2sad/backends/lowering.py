"""Numba's pipeline, with what Numba cannot know told to LLVM.

A function that carries `hints` is lowered by them: an index known not to be negative is not tested
for it, and a sum that has no order of its own may be added in any. Vector functions are named at the
calls of their scalar kin (`vector_math`).
"""

from __future__ import annotations

import importlib
import operator
import re
from contextlib import nullcontext
from typing import Any

from s2sad.backends import (
    collection,
    extremes,
    inner,
    items,
    lean,
    natives,
    ranges,
    remainders,
    slots,
    vector_math,
    vectors,
)
from s2sad.backends.aliasing import Scopes
from s2sad.backends.base import Hints
from s2sad.backends.turns import Turns

_llvm: Any = importlib.import_module("llvmlite.ir")
_numba: Any = importlib.import_module("numba")
_cgutils: Any = importlib.import_module("numba.core.cgutils")
_compiler: Any = importlib.import_module("numba.core.compiler")
_machinery: Any = importlib.import_module("numba.core.compiler_machinery")
_passes: Any = importlib.import_module("numba.core.typed_passes")
_untyped: Any = importlib.import_module("numba.core.untyped_passes")
_lowering: Any = importlib.import_module("numba.core.lowering")
_threads: Any = importlib.import_module("numba.parfors.parfor_lowering")

_numba_ir: Any = importlib.import_module("numba.core.ir")
_utils: Any = importlib.import_module("numba.core.ir_utils")
_typing: Any = importlib.import_module("numba.core.typing")
_types: Any = importlib.import_module("numba.core.types")

_CONSTANTS = (_numba_ir.Const, _numba_ir.Global, _numba_ir.FreeVar)
_INSIDE = re.compile(r"(\w+?)_v\d+_(\w+)")
"""How Numba calls a name of a function that it writes into another."""
_ADDITIONS = (operator.add, operator.sub, operator.iadd, operator.isub)


class _Lower(slots.Slots, _lowering.Lower):
    def lower_normal_function(self, fndesc: Any) -> None:
        self.hints = getattr(self.func_ir.func_id.func, "hints", None) or Hints()
        self.unordered = _additions(self.blocks.values(), self.hints.sums)
        self.scopes = Scopes(self)
        self.turns = Turns(self)
        super().lower_normal_function(fndesc)
        self.turns.tell()
        vector_math.tell(self.module)

    def lower_block(self, block: Any) -> None:
        before = len(self.function.basic_blocks)
        super().lower_block(block)
        self.turns.written(block, before)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        made, written = self._written(super().lower_assign, ty, inst)
        for instruction in written if inst.target.name in self.unordered else ():
            if instruction.opname in ("fadd", "fsub") and "reassoc" not in instruction.flags:
                instruction.flags.append("reassoc")
        return made

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        asked = self._unsigned(value, index, signature)
        kind = self.typeof(value.name)
        if items.are_plain(self, kind, asked.args[1], index) and resty == asked.return_type == kind.dtype:
            made, written = items.read(self, value, kind, index, asked.args[1])
            self.scopes.tell(value, written)
            return made
        made, written = self._written(super().lower_getitem, resty, expr, value, index, asked)
        if _is_one_item(self.typeof(value.name), asked.args[1]):
            self.scopes.tell(value, written)
        return made

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        asked = self._unsigned(target_var, index_var, signature)
        kind, given = self.typeof(target_var.name), self.typeof(value_var.name)
        number = isinstance(given, _types.Number | _types.Boolean)
        if number and items.are_plain(self, kind, asked.args[1], index_var):
            value = self.context.cast(self.builder, self.loadvar(value_var.name), given, asked.args[2])
            value = self.context.cast(self.builder, value, asked.args[2], kind.dtype)
            self.scopes.tell(target_var, items.write(self, target_var, kind, index_var, asked.args[1], value))
            return None
        made, written = self._written(super().lower_setitem, target_var, index_var, value_var, asked)
        if _is_one_item(self.typeof(target_var.name), asked.args[1]):
            self.scopes.tell(target_var, written)
        return made

    def lower_call(self, resty: Any, expr: Any) -> Any:
        if getattr(self.typeof(expr.func.name), "typing_key", None) is _numba.get_num_threads:
            return self._thread_count(resty)
        kinds = tuple(self.typeof(arg.name) for arg in expr.args)
        extreme = None if expr.kws or expr.vararg else extremes.of_array(self.typeof(expr.func.name), kinds)
        if extreme is None:
            return super().lower_call(resty, expr)
        given = [self.loadvar(arg.name) for arg in expr.args]
        return self.context.compile_internal(self.builder, extreme, _typing.signature(resty, *kinds), given)

    def _thread_count(self, resty: Any) -> Any:
        """Write the call by its name: Numba's own is by an address, and such machine code cannot be kept."""
        kind = self.context.get_value_type(_types.intp)
        counted = _cgutils.get_or_insert_function(self.module, _llvm.FunctionType(kind, []), "get_num_threads")
        return self.context.cast(self.builder, self.builder.call(counted, []), _types.intp, resty)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op in ("getiter", "iternext"):
            made = ranges.lowered(self, expr, resty)
            if made is not None:
                return made
        if expr.op == "getattr" and expr.attr == "T" and items.is_matrix(self.typeof(expr.value.name)):
            return items.transposed(self, expr.value, resty)
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        def usual() -> Any:
            return super(_Lower, self).lower_binop(resty, expr, op)

        signed = all(self.typeof(name) == _types.intp for name in (expr.lhs.name, expr.rhs.name))
        if op is not operator.mod or not signed or resty != _types.intp:
            return usual()
        return remainders.lowered(self.builder, self.loadvar(expr.lhs.name), self.loadvar(expr.rhs.name), usual)

    def _written(self, lower: Any, *args: Any) -> tuple[Any, list[Any]]:
        """Return what `lower` returns, and the instructions that it wrote into the block where it began."""
        block = self.builder.block
        before = len(block.instructions)
        made = lower(*args)
        return made, block.instructions[before:]

    def _unsigned(self, base: Any, index: Any, signature: Any) -> Any:
        """Return the signature of an array's item with the indices unsigned that are not negative."""
        if not isinstance(self.typeof(base.name), _types.Array):
            return signature
        kind = signature.args[1]
        if isinstance(kind, _types.BaseTuple):
            made = _utils.guard(_utils.get_definition, self.func_ir, index)
            if not isinstance(made, _numba_ir.Expr) or made.op != "build_tuple":
                return signature
            parts = tuple(self._index_type(one, part) for one, part in zip(made.items, kind.types, strict=True))
            asked = _types.BaseTuple.from_types(parts)
        else:
            asked = self._index_type(index, kind)
        if asked == kind:
            return signature
        return _typing.signature(signature.return_type, signature.args[0], asked, *signature.args[2:])

    def _index_type(self, index: Any, kind: Any) -> Any:
        if not isinstance(kind, _types.Integer) or not kind.signed or kind.bitwidth != _types.intp.bitwidth:
            return kind
        least = self._least(index)
        return _types.uintp if least is not None and least >= 0 else kind

    def _least(self, var: Any, depth: int = 6) -> int | None:
        """Return the least value of a whole number, from the hints and the expression that makes it."""
        known = self._known(var.unversioned_name)
        if known is not None:
            return known
        made = _utils.guard(_utils.get_definition, self.func_ir, var)
        if isinstance(made, _CONSTANTS):
            return _whole(made)
        if not depth or not isinstance(made, _numba_ir.Expr) or made.op not in ("binop", "inplace_binop"):
            return None
        left, right = self._least(made.lhs, depth - 1), self._least(made.rhs, depth - 1)
        if made.fn in (operator.add, operator.iadd) and left is not None and right is not None:
            return left + right
        if made.fn in (operator.sub, operator.isub) and left is not None:
            constant = _utils.guard(_utils.get_definition, self.func_ir, made.rhs)
            taken = _whole(constant)
            return None if taken is None else left - taken
        if made.fn is operator.mod:  # it has the sign of what divides
            return 0 if right is not None and right >= 0 else None
        both = left is not None and right is not None and min(left, right) >= 0
        return 0 if both and made.fn in (operator.mul, operator.floordiv) else None

    def _known(self, name: str) -> int | None:
        """Return what the hints say of a name, or those of the function that it came from into this one."""
        inside = None if name in self.hints.least else _INSIDE.fullmatch(name)
        if inside is None:
            return self.hints.least.get(name)
        function = getattr(self.func_ir.func_id.func.__globals__.get(inside[1]), "py_func", None)
        hints = getattr(function, "hints", None)
        return hints.least.get(inside[2]) if isinstance(hints, Hints) and hints.into_callers else None


def _is_one_item(base: Any, index: Any) -> bool:
    """Say whether an index of this type picks one item of an array of that type."""
    if not isinstance(base, _types.Array):
        return False
    parts = index.types if isinstance(index, _types.BaseTuple) else (index,)
    return len(parts) == base.ndim and all(isinstance(part, _types.Integer) for part in parts)


def _whole(made: Any) -> int | None:
    """Return the whole number that a definition is, if it is one."""
    return made.value if isinstance(made, _CONSTANTS) and isinstance(made.value, int) else None


def _additions(blocks: Any, names: frozenset[str]) -> frozenset[str]:
    """Return the temporaries that hold `v + e` or `v - e` on their way into a `v` of these names."""
    found: set[str] = set()
    for block in blocks:
        added: dict[str, str] = {}
        for inst in block.body:
            if not isinstance(inst, _numba_ir.Assign):
                continue
            value = inst.value
            if isinstance(value, _numba_ir.Expr) and value.op in ("binop", "inplace_binop"):
                if value.fn in _ADDITIONS:
                    added[inst.target.name] = value.lhs.unversioned_name
            elif isinstance(value, _numba_ir.Var) and value.name in added:
                name = inst.target.unversioned_name
                if name in names and added[value.name] == name:
                    found.add(value.name)
    return frozenset(found)


@_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _NativeLowering(_passes.BaseNativeLowering):
    _name = "s2sad_native_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function; one that only compiled functions call gets no machine code of its own."""
        hints = getattr(state.func_id.func, "hints", None)
        if isinstance(hints, Hints) and hints.internal and state.library is None:
            state.flags.no_cpython_wrapper = True
            state.library = inner.library(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))

    @property
    def lowering_class(self) -> Any:
        return _Lower


class _LowerWithThreads(_Lower, _threads.ParforLower):
    pass


@_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _ThreadsLowering(_passes.BaseNativeLowering):
    _name = "s2sad_threads_lowering"

    @property
    def lowering_class(self) -> Any:
        return _LowerWithThreads


_OURS = {_passes.NativeLowering: _NativeLowering, _passes.NativeParforLowering: _ThreadsLowering}


class Pipeline(_compiler.CompilerBase):
    """The passes of `numba.njit`, with our lowering in the place of Numba's."""

    def _compile_core(self) -> Any:
        at_once = self.state.flags.auto_parallel.enabled
        kernels = nullcontext() if at_once else natives.known()
        with collection.put_off(), lean.compilation(), vectors.vectorised(), kernels:
            return super()._compile_core()

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline that a function goes through.

        The derivatives keep branches that a constant decides (`s = 0.3`, `if s > 0.5`): Numba takes such
        a branch out of the primal sweep, and leaves the one of the adjoint sweep that needs its tape.
        """
        made = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        emitted = hasattr(self.state.func_id.func, "hints")
        made.passes = [
            (_OURS.get(one, one), text)
            for one, text in made.passes
            if not (emitted and one is _untyped.DeadBranchPrune)
        ]
        made.finalize()
        return [made]
