"""How Numba compiles what s2sad writes: its own pipeline, with what we know and it does not."""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.typed_passes import NopythonRewrites

from s2sad.backends.indices import UnsignedIndices


class Derivatives(CompilerBase):
    """Numba's nopython pipeline with unsigned indices."""

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(UnsignedIndices, NopythonRewrites)
        passes.finalize()
        return [passes]


class ApartDerivatives(Derivatives):
    """The same for functions whose array arguments share no memory with what is written."""

    def define_pipelines(self) -> list[Any]:
        """Set the flag that Numba has but `njit` does not offer."""
        self.state.flags.noalias = True
        return super().define_pipelines()
