"""Names by meaning: a temporary is called after what it holds, never after a counter."""

from __future__ import annotations

import builtins
import keyword
import operator
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Slice, Var

_NOUNS: dict[Any, str] = {
    operator.add: "total", operator.sub: "difference", operator.mul: "product",
    operator.truediv: "ratio", operator.pow: "power", operator.matmul: "product",
    operator.neg: "negated", operator.mod: "remainder", np.add: "total", np.subtract: "difference",
    np.multiply: "product", np.divide: "ratio", np.power: "power", ops.transpose: "transposed",
    ops.ifexp: "chosen", np.dot: "product", np.matmul: "product", operator.and_: "both",
    operator.or_: "either", operator.not_: "unless", operator.invert: "unless",
}  # fmt: skip


def noun(expr: Expr) -> str:
    """Return a name for the value of `expr`: `tanh_jump`, `ratio`, `u_i`."""
    match expr:
        case Var(name):
            return name
        case Const():
            return "constant"
        case Index(base, index):
            parts = [noun(base)]
            for item in index:
                if isinstance(item, Var):
                    parts.append(item.name)
                elif isinstance(item, Const) and isinstance(item.value, int) and item.value >= 0:
                    parts.append(str(item.value))
                elif isinstance(item, Slice):
                    parts.append("part")
                else:
                    parts.append("at")
            return _short("_".join(parts))
        case Apply(fn, args):
            if fn in _NOUNS:
                return _NOUNS[fn]
            name = getattr(fn, "__name__", "value").strip("_")
            first = next((noun(a) for a in args if isinstance(a, Var | Index)), "")
            if not first and hasattr(builtins, name):  # the text may need the builtin by its name
                return f"{name}_value"
            return _short(f"{name}_{first}" if first else name)
        case _:
            return "items"


def _short(name: str) -> str:
    return name if len(name) <= 24 and name.isidentifier() else name.split("_")[0] or "value"


class Namer:
    """Hands out names that the function does not use yet; a clash takes `_2`."""

    def __init__(self, taken: set[str]) -> None:
        """Start from the names in use."""
        self.taken = set(taken)

    def fresh(self, hint: str) -> str:
        """Return an unused name built on `hint`."""
        base = hint if hint.isidentifier() else "value"
        base = f"{base}_value" if keyword.iskeyword(base) else base
        candidate, count = base, 1
        while candidate in self.taken:
            count += 1
            candidate = f"{base}_{count}"
        self.taken.add(candidate)
        return candidate

    def give_back(self, name: str) -> None:
        """Let a name be handed out again that nothing was given after all."""
        self.taken.discard(name)
