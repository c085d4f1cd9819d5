"""What the user gave as the rule of a function, and in which order its parts take their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class UserRule:
    """What the user gave for a function, whichever way.

    Attributes:
        fun: the function itself, for its value.
        jvp: `(*nondiff, primals, tangents) -> (out, out_dot)`, or None.
        fwd: `(*args) -> (out, residuals)`, or None.
        bwd: `(*nondiff, residuals, out_bar) -> cotangents`, or None.
        nondiff: positions of the arguments that the rule takes undifferentiated.
        owner: what carries the rule, and is called where the rule must survive.
        per_argument: for each argument `(tangent, out, *args) -> out_dot`, or None for a zero.
        makers: for each argument `(out, *args) -> (out_bar -> cotangent)`, or None for a zero.
        keywords: settings of this call that have no position, `axis=0`.
        variadic: which parameter of the function is its `*args`, whose items the rule takes one by one; -1: none.
    """

    fun: Callable[..., Any]
    jvp: Callable[..., Any] | None = None
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    nondiff: tuple[int, ...] = ()
    owner: Any = None
    per_argument: tuple[Callable[..., Any] | None, ...] | None = None
    makers: tuple[Callable[..., Any] | None, ...] | None = None
    keywords: tuple[tuple[str, Any], ...] = ()
    variadic: int = -1

    def spread(self, parameters: list[Any], items: Callable[[Any], Any]) -> list[Any]:
        """Return one entry per argument from one per parameter."""
        at = self.variadic
        return parameters if at < 0 else [*parameters[:at], *items(parameters[at]), *parameters[at + 1 :]]

    def gathered(self, args: list[Any], count: int, pack: Callable[[list[Any]], Any]) -> list[Any]:
        """Return one entry per parameter, of which there are `count`, from one per argument."""
        at, more = self.variadic, len(args) - count + 1
        return args if at < 0 else [*args[:at], pack(args[at : at + more]), *args[at + more :]]

    def arranged(self, args: list[Any], primals: Any, tangents: Any) -> list[Any]:
        """Return the arguments of `jvp`: what is not differentiated first, or last after `primals`."""
        assert self.jvp is not None
        fixed = [args[i] for i in self.nondiff]
        first = next(iter(inspect.signature(self.jvp).parameters), "")
        return [primals, tangents, *fixed] if first == "primals" else [*fixed, primals, tangents]

    def call_jvp(self, args: list[Any], tangents: list[Any]) -> Any:
        """Run the tangent rule as it is, given one value and one tangent per parameter."""
        assert self.jvp is not None
        args, tangents = self.spread(args, tuple), self.spread(tangents, tuple)
        wanted = [i for i in range(len(args)) if i not in self.nondiff]
        primals, dots = tuple(args[i] for i in wanted), tuple(tangents[i] for i in wanted)
        return self.jvp(*self.arranged(args, primals, dots), **dict(self.keywords))
