"""s2sad: derivatives of Python functions, as Python functions that a person can read."""

from __future__ import annotations

import importlib
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2sad.api.check import check_grads
    from s2sad.api.checkpoint import checkpoint
    from s2sad.api.custom import custom_jvp, custom_vjp, defjvp, defvjp, rule, rules
    from s2sad.api.decorator import Differentiable, differentiate
    from s2sad.api.jacobian import hessian, jacfwd, jacobian, jacrev
    from s2sad.api.linearize import linear_transpose, linearize
    from s2sad.api.transformed import Transformed
    from s2sad.api.transforms import grad, hvp, jvp, stop_gradient, value_and_grad, vjp
    from s2sad.api.vmap import vmap
    from s2sad.errors import (
        AliasError,
        ArgumentError,
        CacheError,
        CompileError,
        MissingRuleError,
        NotDifferentiableError,
        RuleError,
        S2SADError,
        SourceNotFoundError,
        TapeLimitError,
        UnsupportedSyntaxError,
    )

_IMPORTED = time.time()  # texts that are younger may not be those of functions in memory

_HOMES: dict[str, str] = {
    **dict.fromkeys(["check_grads"], "s2sad.api.check"),
    **dict.fromkeys(["checkpoint"], "s2sad.api.checkpoint"),
    **dict.fromkeys(["vmap"], "s2sad.api.vmap"),
    **dict.fromkeys(
        ["custom_jvp", "custom_vjp", "defjvp", "defvjp", "rule", "rules"], "s2sad.api.custom"
    ),
    **dict.fromkeys(["Differentiable", "differentiate"], "s2sad.api.decorator"),
    **dict.fromkeys(["hessian", "jacfwd", "jacobian", "jacrev"], "s2sad.api.jacobian"),
    **dict.fromkeys(["linear_transpose", "linearize"], "s2sad.api.linearize"),
    **dict.fromkeys(["Transformed"], "s2sad.api.transformed"),
    **dict.fromkeys(["load_ipython_extension", "unload_ipython_extension"], "s2sad.report.notebook"),
    **dict.fromkeys(
        ["grad", "hvp", "jvp", "stop_gradient", "value_and_grad", "vjp"],
        "s2sad.api.transforms",
    ),
    **dict.fromkeys(
        [
            "AliasError", "ArgumentError", "CacheError", "CompileError", "MissingRuleError",
            "NotDifferentiableError", "RuleError", "S2SADError", "SourceNotFoundError",
            "TapeLimitError", "UnsupportedSyntaxError",
        ],
        "s2sad.errors",
    ),
}  # fmt: skip

__all__ = [
    "AliasError",
    "ArgumentError",
    "CacheError",
    "CompileError",
    "Differentiable",
    "MissingRuleError",
    "NotDifferentiableError",
    "RuleError",
    "S2SADError",
    "SourceNotFoundError",
    "TapeLimitError",
    "Transformed",
    "UnsupportedSyntaxError",
    "check_grads",
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "defjvp",
    "defvjp",
    "differentiate",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "rule",
    "rules",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]


if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> Any:
        """Load a public name from its module at its first use."""
        if name == "cuda":
            return importlib.import_module("s2sad.api.cuda")
        if name == "__version__":
            metadata = importlib.import_module("importlib.metadata")
            try:
                return metadata.version("s2sad")
            except metadata.PackageNotFoundError:  # read from where it lies, not installed
                return "0+unknown"
        if name not in _HOMES:
            raise AttributeError(f"module 's2sad' has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})


class _Rules(ModuleType):
    """The package `s2sad.rules`, which is also the context manager of that name."""

    def __call__(self, *given: Any) -> Any:
        """Let rules hold inside a block only; see `s2sad.api.custom.rules`."""
        from s2sad.api.custom import rules as scope

        return scope(*given)


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "rules" and isinstance(value, ModuleType):
            value.__class__ = _Rules  # the import system sets a subpackage here, hiding the function
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


class _Emitted:
    """Finds modules of emitted sources by name: what Numba keeps on the disk of the user's functions asks for them."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Return where a module of the cache is, if this may be its name and it is there."""
        del path, target
        if name[-17:-16] != "_" or not set(name[-16:]) <= set("0123456789abcdef"):
            return None
        from s2sad.backends.store import spec_of

        return spec_of(name)


sys.meta_path.append(_Emitted)
