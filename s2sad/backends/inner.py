"""Functions that only compiled functions call: no machine code of their own.

Numba compiles a function that another one calls twice: by itself, with what Python would call it through, and
again with its caller, into whose module it is linked. Here only what is linked is made, and in the process stands
no more than the place where Numba keeps the function's constants. What is too large to be written into its callers is
optimised with them alone. An LSTM's first gradient takes 16 s of the processor for 25.
"""

from __future__ import annotations

import importlib
from typing import Any

_binding: Any = importlib.import_module("llvmlite.binding")
_codegen: Any = importlib.import_module("numba.core.codegen")

_CONSTANTS = "_ZN08NumbaEnv"
"""How the names of the places begin where Numba keeps the constants of functions."""
_WRAPPER = "_ZN7cpython"
"""How the names of the functions begin that Python calls."""
_LARGE = 600
"""Blocks of a function that LLVM writes into none of its callers."""


_NOTHING = """
define {linkage} i8* @"{name}"(i8*, i8*, i8*) {{
  ret i8* null
}}
"""
"""What Python would call in the place of such a function: an error without a reason, as nobody does."""


class InnerLibrary(_codegen.JITCodeLibrary):
    """The code of one function that is linked into those that call it."""

    _wrapper = ""

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function; of the one that Python would call, which fails."""
        self._wrapper = name if name.startswith(_WRAPPER) else self._wrapper
        return int(super().get_pointer_to_function(name))

    def _optimize_final_module(self) -> None:
        blocks = sum(1 for one in self._final_module.functions if not one.is_declaration for _ in one.blocks)
        if blocks <= _LARGE:
            super()._optimize_final_module()
            return
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=self._codegen._loopvect, slp_vectorize=False, opt=self._codegen._opt_level, cost="cheap"
        )
        passes.run(self._final_module, builder)  # of references to arrays, that fewer of them are counted

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        whole = self._final_module
        shared = whole.clone()
        for function in whole.functions:
            if not function.is_declaration and function.linkage == _binding.Linkage.external:
                shared.get_function(function.name).linkage = "linkonce_odr"
        if self._wrapper:
            shared.link_in(_binding.parse_assembly(_NOTHING.format(name=self._wrapper, linkage="linkonce_odr")))
        self._shared_module = shared
        places = [one.name for one in whole.global_variables if one.name.startswith(_CONSTANTS)]
        text = "\n".join(f'@"{name}" = common global i8* null' for name in places)
        text += _NOTHING.format(name=self._wrapper, linkage="") if self._wrapper else ""
        self._final_module = _binding.parse_assembly(f'target triple = "{whole.triple}"\n{text}\n')
        self._final_module.name = whole.name
        self._final_module.data_layout = whole.data_layout
        super()._finalize_final_module()


def library(codegen: Any, name: str) -> InnerLibrary:
    """Return an empty library for a function that only compiled functions call."""
    made = InnerLibrary(codegen, name)
    made.enable_object_caching()
    return made
