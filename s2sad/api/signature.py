"""From a call to one value per parameter, and from `argnums` to the parameters it names."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.errors import AliasError, ArgumentError

Argnums = int | str | tuple[int | str, ...]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def label(fun: Callable[..., Any]) -> str:
    """Return the name by which messages call `fun`."""
    return getattr(fun, "__name__", None) or type(fun).__name__


@dataclass(frozen=True, slots=True)
class Place:
    """A differentiated argument: its parameter, and the item where that is `*args`."""

    parameter: int
    item: int | None = None


class Binder:
    """Arranges the arguments of a call as one value per parameter, in the signature's order.

    A callable without a usable signature (a ufunc, a builtin) takes positional arguments only; its
    parameters are called `x0`, `x1`, ….
    """

    __slots__ = ("_defaults", "_placed", "_shared", "_signature", "arity", "fun", "names", "variadic")

    def __init__(self, fun: Callable[..., Any]) -> None:
        """Read the signature of `fun`."""
        if not callable(fun):
            raise ArgumentError(f"a function is needed, not `{fun!r}`")
        self.fun = fun
        self._signature = _signature(fun)
        parameters = list(self._signature.parameters.values()) if self._signature else []
        self.names = tuple(parameter.name for parameter in parameters)
        self.variadic = next(
            (i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.VAR_POSITIONAL), -1
        )
        plain = self._signature is not None and all(p.kind in _POSITIONAL for p in parameters)
        self.arity = len(parameters) if plain else -1
        self._defaults = tuple(p.default for p in parameters) if plain else ()
        self._shared = frozenset(p.name for p in parameters if isinstance(p.default, list | dict | set))
        self._placed: tuple[Argnums, tuple[Place, ...]] | None = None  # the last answer of `places`

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return one value per parameter: defaults filled in, `*args` a tuple.

        Raises:
            ArgumentError: the arguments do not fit the signature.
            AliasError: the function writes into a default, which all its calls share.
        """
        if self._signature is None:
            if kwargs:
                raise ArgumentError(
                    f"`{label(self.fun)}` has no signature: pass its arguments by position"
                )
            return args
        if not kwargs:
            if len(args) == self.arity:
                return args
            rest = self._defaults[len(args) :]
            if len(args) < self.arity and not any(value is inspect.Parameter.empty for value in rest):
                if self._shared:
                    self._refuse_written(self._shared.intersection(self.names[len(args) :]))
                return args + rest
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{label(self.fun)}{self._signature}: {error}") from None
        if self._shared:
            self._refuse_written(self._shared.difference(bound.arguments))
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _refuse_written(self, defaults: frozenset[str]) -> None:
        from s2sad.frontend.containers import written_place
        from s2sad.frontend.source import has_source, source_of

        source = source_of(self.fun) if defaults and has_source(self.fun) else None
        place = None if source is None else written_place(source.node, defaults)
        if source is not None and place is not None:
            raise AliasError(
                "a default that is a container is written here, which the next call would see",
                source.span(place),
                "Make it in the function: `if items is None: items = []`.",
            )

    def names_for(self, values: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the parameters' names for a bound call."""
        if self._signature is None:
            return tuple(f"x{i}" for i in range(len(values)))
        return self.names

    def places(self, argnums: Argnums, values: tuple[Any, ...] | None = None) -> tuple[Place, ...]:
        """Resolve `argnums` (positions, negative ones too, or names) for a bound call.

        Raises:
            ArgumentError: for an argument that does not exist, or is named twice.
        """
        if self._placed is not None and argnums is self._placed[0]:
            return self._placed[1]
        wanted = argnums if isinstance(argnums, tuple) else (argnums,)
        found = tuple(self._place(item, values) for item in wanted)
        if len(set(found)) != len(found):
            raise ArgumentError(
                f"argnums={argnums!r} names an argument of `{label(self.fun)}` twice"
            )
        if self._signature is not None and self.variadic < 0:
            self._placed = argnums, found
        return found

    def _place(self, wanted: Any, values: tuple[Any, ...] | None) -> Place:
        if isinstance(wanted, str):
            if wanted not in self.names:
                raise self._no_such(
                    wanted, f"its parameters are {', '.join(self.names) or 'unnamed'}"
                )
            return Place(self.names.index(wanted))
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
            raise ArgumentError(f"argnums takes positions and names of arguments, not `{wanted!r}`")
        index, count = int(wanted), self._positional_count(values)
        index += count if index < 0 else 0
        if not 0 <= index < count:
            raise self._no_such(wanted, f"it takes {count} positional argument{'s' * (count != 1)}")
        if 0 <= self.variadic <= index:
            return Place(self.variadic, index - self.variadic)
        return Place(index)

    def _positional_count(self, values: tuple[Any, ...] | None) -> int:
        if self._signature is None:
            return len(values) if values is not None else 1 << 30
        kinds = [p.kind for p in self._signature.parameters.values()]
        count = sum(kind in _POSITIONAL for kind in kinds)
        if self.variadic < 0:
            return count
        return count + (len(values[self.variadic]) if values is not None else 1 << 30)

    def _no_such(self, wanted: Any, why: str) -> ArgumentError:
        return ArgumentError(f"`{label(self.fun)}` has no argument {wanted!r}: {why}")

    def check(self, argnums: Argnums) -> None:
        """Check `argnums` before any call, as far as the signature alone can tell."""
        open_ended = self._signature is None or self.variadic >= 0
        wanted = argnums if isinstance(argnums, tuple) else (argnums,)
        if open_ended and any(isinstance(item, int) and item < 0 for item in wanted):
            return
        self.places(argnums)


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    if isinstance(fun, np.ufunc):
        return None
    try:
        return own_signature(fun)
    except (TypeError, ValueError):
        return None


def own_signature(fun: Callable[..., Any]) -> inspect.Signature:
    """Return the parameters that a function has itself, not those of one that it wraps."""
    return inspect.signature(fun, follow_wrapped=not isinstance(fun, types.FunctionType))
