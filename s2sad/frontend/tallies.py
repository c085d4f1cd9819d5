"""Counters that an object outside keeps: `self.nfev += 1` in an objective, for whoever looks at it afterwards.

A derivative writes into nothing outside, and counts nothing. The statement is left out where nothing that is
differentiated reads the counter; where something does, that is an error.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV


def is_tally(lw: Lowerer, node: Any) -> bool:
    """Say whether a statement counts, in an object outside, what nothing reads."""
    match node:
        case gast.AugAssign(
            target=gast.Attribute(value=gast.Name(id=owner), attr=name), op=gast.Add(), value=gast.Constant(value=step)
        ) if type(step) is int and owner in lw.env:
            held = lw.env[owner]
        case _:
            return False
    if not isinstance(held, StaticV) or not isinstance(getattr(held.value, name, None), int):
        return False
    place = id(held.value), name
    if place in lw.ctx.read_outside:
        return False
    lw.ctx.tallied.add(place)
    return True


def check_read(lw: Lowerer, owner: Any, name: str, node: Any) -> None:
    """Note that an attribute of an object outside is read; an error if it is counted as well."""
    lw.ctx.read_outside.add((id(owner), name))
    if (id(owner), name) in lw.ctx.tallied:
        lw.fail(node, f"`{name}` is read here, and counted by what is differentiated, which counts nothing",
                "Count where the function is called, or pass the number in.")  # fmt: skip
