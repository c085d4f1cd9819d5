"""A derivative as the compiler hands it over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from s2sad.backends.base import Module
from s2sad.ir.types import Type

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Captured
    from s2sad.transform.pipeline import Derived


def unknown() -> None:
    """Return no program."""


@dataclass(frozen=True)
class Derivative:
    """A derivative as text, and what its entry needs beside its arguments.

    Attributes:
        module: what the backend loads.
        text: the readable source.
        result: the type of the function's output, structure included.
        residual_count: for the forward sweep, how many residuals follow the outputs.
        captured: the arrays read from outer scopes at each call, passed after all other arguments.
        program: returns the program that was printed; for a derivative from disk, it is derived anew.
        written: the array arguments that the function writes into; no other may overlap them.
        fresh: which flat values surely own their memory.
        given_back: which flat values are arguments as they were given.
        consumed: the positions of the arguments that a call may write into.
        takes: the types of the entry's parameters.
        gives: the types of its flat results.
        lengths: the small lengths that arrays of the program are known to have.
        names: the names of the function's own parameters, leaves of containers each for itself.
    """

    module: Module
    text: str
    result: Type
    residual_count: int = 0
    captured: tuple[Captured, ...] = ()
    program: Callable[[], Derived | None] = unknown
    written: tuple[str, ...] = ()
    fresh: frozenset[int] = frozenset()
    given_back: frozenset[int] = frozenset()
    consumed: frozenset[int] = frozenset()
    takes: tuple[Type, ...] = ()
    gives: tuple[Type, ...] = ()
    lengths: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()

    @property
    def derived(self) -> Derived | None:
        """Return the program that was printed."""
        return self.program()
