"""What names mean at one point of a program, in every lowering that sees what is written there.

A method that is written into its caller changes objects that the caller's names mean, too: where paths meet, both
environments do. A name of another lowering than the one at hand is an `Outside`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from s2sad.frontend.containers import scopes
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import Value

Environment = dict[Any, Value]
"""By names of the lowering at hand, which are texts, and of others."""


@dataclass(frozen=True, slots=True)
class Outside:
    """A name of a lowering around the one at hand."""

    scope: int
    name: str
    home: Lowerer = field(compare=False, repr=False)

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def label(self) -> str:
        """Return what tells the name from the same one elsewhere."""
        return f"{self.name}@{self.home.depth}{self.home.source.name}"


def seen(lw: Lowerer) -> Environment:
    """Return what every name means now."""
    found: Environment = dict(lw.env)
    for scope in scopes(lw):
        if scope is not lw:
            found.update({Outside(id(scope), name, scope): value for name, value in scope.env.items()})
    return found


def see(lw: Lowerer, env: Environment) -> None:
    """Let every name mean what it means in an environment."""
    own: dict[str, Value] = {}
    others: dict[int, tuple[Lowerer, dict[str, Value]]] = {}
    for name, value in env.items():
        if isinstance(name, Outside):
            others.setdefault(name.scope, (name.home, {}))[1][name.name] = value
        else:
            own[name] = value
    lw.env = own
    for scope, values in others.values():
        scope.env = values


def label_of(name: Any) -> str:
    """Return what tells a name from all others."""
    return name.label() if isinstance(name, Outside) else name


def home_of(lw: Lowerer, name: Any) -> Lowerer:
    """Return the lowering that a name is of."""
    return name.home if isinstance(name, Outside) else lw
