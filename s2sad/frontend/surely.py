"""What Python surely raises if it gets there: None in a calculation, an index behind the end of a list.

Where it is not sure that it gets there, in a branch or a later turn of a loop that may have been left, the emitted code
raises it; anywhere else it is an error of the function.
"""

from __future__ import annotations

from typing import Any, ClassVar

from s2sad.errors import UnsupportedSyntaxError
from s2sad.frontend.lowerer import Lowerer
from s2sad.ir.nodes import Const, Raise, Stmt
from s2sad.ir.types import Static


class SurelyRaises(UnsupportedSyntaxError):
    """Python raises here."""

    raised: ClassVar[type[Exception]] = TypeError


class NoneOperand(SurelyRaises):
    """An operation takes None, as a parameter that was left out."""


class NoName(SurelyRaises):
    """A name has no value on this path."""

    raised = UnboundLocalError


class NoItem(SurelyRaises):
    """A container has no such item."""

    raised = IndexError


def refuse_none(lw: Lowerer, fn: Any, node: Any) -> Any:
    """Raise what tells that an operand is None."""
    from s2sad.frontend.operators import as_users_write

    return lw.fail(node, f"`{as_users_write(fn)}` is applied to None here", "Give the name in it a value before.",
                   NoneOperand)  # fmt: skip


def raise_there(lw: Lowerer, error: SurelyRaises, block: list[Stmt], loops: int, node: Any) -> bool:
    """Emit the `raise` at the end of a block that was being lowered, inside of so many loops."""
    lw.block = block
    del lw.loops[loops:]
    lw.emit(Raise(error.raised, (Const(error.what, Static(error.what)),), error.span or lw.span(node)))
    return True


__all__ = ["NoItem", "NoName", "NoneOperand", "SurelyRaises", "raise_there", "refuse_none"]
