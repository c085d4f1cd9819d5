"""Rules that the user writes: `custom_jvp`, `custom_vjp`, and rules of functions not their own.

What is not differentiated (`nondiff_argnums`) comes first in a rule: `(*nondiff, primals, tangents)`
and `(*nondiff, residuals, out_bar)`. A tangent rule whose first parameter is called `primals` gets it
last: `(primals, tangents, *nondiff)`.

A second derivative differentiates the rule. Where the rule calls the function itself, its rule is
used again; where the rule repeats the function's formula, that formula is differentiated.

The compiler reads `CustomJVP.rule`, `CustomVJP.fwd` and `.bwd`, `.fun` and `.nondiff_argnums` of
the objects that it meets in user code, and asks `rule_of(callable)` for everything else before its
built-in rules.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec, TypeVar

from s2sad.api.signature import label, own_signature
from s2sad.errors import ArgumentError, RuleError

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class _Custom(Generic[P, R]):
    """A function with a rule; called outside a transform it is the function itself."""

    def __init__(self, fun: Callable[P, R], nondiff_argnums: tuple[int | str, ...] | int | str = ()) -> None:
        """Hold the function, and which of its arguments the rule takes first, undifferentiated."""
        if not callable(fun):
            raise ArgumentError(f"a function is needed, not `{fun!r}`")
        self.fun = fun
        self.nondiff_argnums = _positions(fun, nondiff_argnums)
        functools.update_wrapper(self, fun, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns."""
        return self.fun(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function when a class holds it."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        """Name the kind, the function, and whether its rule is there yet."""
        missing = "" if any(rule is not None for rule in self.parts()) else ", no rule yet"
        return f"<s2sad.{_KINDS[type(self)]} {getattr(self.fun, '__qualname__', self.fun)}{missing}>"

    def parts(self) -> tuple[Callable[..., Any] | None, ...]:
        """Return the functions that make up the rule."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        """Return another carrier of the same function and rule."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return another carrier of the same function and rule: functions are not copied."""
        return self.__copy__()

    def __reduce__(self) -> Any:
        """Pickle by name where the name leads here, else by the source of the function and its rule."""
        from s2sad.api import pickling

        name = pickling.global_name(self)
        if name is not None and self.__module__ != "__main__":
            return name
        return _empty, (type(self),), {key: pickling.carried(value) for key, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take back what `__reduce__` gave; a rule may refer to the function that carries it."""
        from s2sad.api import pickling

        self.__dict__.update({key: pickling.restored(value) for key, value in state.items()})


def _empty(cls: type[Any]) -> Any:
    return object.__new__(cls)


def _positions(fun: Callable[..., Any], argnums: tuple[int | str, ...] | int | str) -> tuple[int, ...]:
    parameters = own_signature(fun).parameters.values()
    names = [p.name for p in parameters]
    given: list[int] = []
    for one in (argnums,) if isinstance(argnums, int | str) else tuple(argnums):
        if isinstance(one, str) and one in names:
            given.append(names.index(one))
        elif isinstance(one, int) and not isinstance(one, bool):
            given.append(one)
        else:
            raise ArgumentError(
                f"nondiff_argnums takes positions and names of the arguments of `{label(fun)}`, not {one!r}",
                why=f"Its parameters are {', '.join(names) or 'none'}.",
            )
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) and all(index >= 0 for index in given):
        return tuple(sorted(given))
    count = len(parameters)
    if any(not -count <= index < count for index in given):
        raise ArgumentError(
            f"nondiff_argnums={argnums!r} is out of range: `{label(fun)}` has {count} parameters"
        )
    return tuple(sorted(index % count for index in given))


class CustomJVP(_Custom[P, R]):
    """A function whose tangent is given by a rule.

    Attributes:
        fun: the primal.
        nondiff_argnums: positions of the arguments that the rule takes first, undifferentiated.
        rule: `(*nondiff, primals, tangents) -> (out, out_dot)`, or None while there is none.
        per_argument: for each argument `(tangent, out, *args) -> out_dot`, or None for a zero;
            None when `rule` was given as a whole.
    """

    def parts(self) -> tuple[Callable[..., Any] | None, ...]:
        """Return the functions that make up the rule."""
        return self.rule, *(self.per_argument or ())

    rule: Callable[..., Any] | None = None
    per_argument: tuple[Callable[..., Any] | None, ...] | None = None

    def defjvp(self, rule: F) -> F:
        """Give the rule `(*nondiff, primals, tangents) -> (out, out_dot)`; also a decorator."""
        _require_callable(rule, self.fun)
        self.rule, self.per_argument = rule, None
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Give one rule `(tangent, out, *args) -> out_dot` per argument, None where it is zero.

        Raises:
            RuleError: another number of rules than of arguments.
        """
        count = len(own_signature(self.fun).parameters)
        if self.nondiff_argnums:
            raise RuleError(
                f"`defjvps` of `{label(self.fun)}` takes no nondiff_argnums; use `defjvp`"
            )
        if len(rules) != count:
            raise RuleError(
                f"`{label(self.fun)}` has {count} arguments but was given {len(rules)} rules"
            )
        for one in rules:
            if one is not None:
                _require_callable(one, self.fun)
        self.per_argument, self.rule = rules, _Summed(self, rules)


class _Summed:
    """The tangent rule that adds what one rule per argument gives."""

    def __init__(self, owner: CustomJVP[..., Any], rules: tuple[Callable[..., Any] | None, ...]) -> None:
        self.owner, self.rules = owner, rules

    def __call__(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the value and the sum of the tangents; None where every rule is None."""
        out = self.owner(*primals)
        pairs = zip(self.rules, tangents, strict=True)
        terms = [one(dot, out, *primals) for one, dot in pairs if one is not None and dot is not None]
        return out, functools.reduce(lambda a, b: a + b, terms) if terms else None


class CustomVJP(_Custom[P, R]):
    """A function whose cotangents are given by a rule.

    Attributes:
        fun: the primal.
        nondiff_argnums: positions of the arguments that `bwd` takes first, undifferentiated.
        fwd: `(*args) -> (out, residuals)`, or None while there is none.
        bwd: `(*nondiff, residuals, out_bar) -> tuple of cotangents`; None in the tuple is zero.
        jvp: `(*nondiff, primals, tangents) -> (out, out_dot)` for forward mode, or None.
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None

    def parts(self) -> tuple[Callable[..., Any] | None, ...]:
        """Return the functions that make up the rule."""
        return self.fwd, self.bwd, self.jvp

    def defjvp(self, rule: F) -> F:
        """Give a tangent rule for forward mode beside the one for reverse mode; also a decorator.

        Forward mode then uses it, and so do Hessians, which are forward over reverse; reverse mode keeps to
        `fwd` and `bwd`. The rule is that of `CustomJVP.defjvp`.

        Example:
            >>> import s2sad
            >>> square = s2sad.custom_vjp(lambda x: x * x)
            >>> square.defvjp(lambda x: (square(x), x), lambda x, y_bar: (2.0 * x * y_bar,))
            >>> @square.defjvp
            ... def square_jvp(primals, tangents):
            ...     (x,), (x_dot,) = primals, tangents
            ...     return square(x), 2.0 * x * x_dot
            >>> s2sad.jvp(square, (3.0,), (1.0,))
            (9.0, 6.0)
        """
        _require_callable(rule, self.fun)
        self.jvp = rule
        return rule

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Give the two halves of the rule."""
        _require_callable(fwd, self.fun)
        _require_callable(bwd, self.fun)
        self.fwd, self.bwd = fwd, bwd


_KINDS: dict[type, str] = {CustomJVP: "custom_jvp", CustomVJP: "custom_vjp"}


def custom_jvp(
    fun: Callable[P, R], nondiff_argnums: tuple[int | str, ...] | int | str = ()
) -> CustomJVP[P, R]:
    """Let the tangent of a function be given by a rule.

    Args:
        fun: the function.
        nondiff_argnums: positions or names of the arguments that the rule takes undifferentiated.

    Example:
        >>> import s2sad
        >>> @s2sad.custom_jvp
        ... def square(x):
        ...     return x * x
        >>> @square.defjvp
        ... def square_jvp(primals, tangents):
        ...     (x,), (x_dot,) = primals, tangents
        ...     return x * x, 2.0 * x * x_dot
        >>> square(3.0)
        9.0
    """
    return CustomJVP(fun, nondiff_argnums)


def custom_vjp(
    fun: Callable[P, R], nondiff_argnums: tuple[int | str, ...] | int | str = ()
) -> CustomVJP[P, R]:
    """Let the cotangents of a function be given by a rule.

    Args:
        fun: the function.
        nondiff_argnums: positions or names of the arguments that the rule takes undifferentiated.

    Example:
        >>> import s2sad
        >>> @s2sad.custom_vjp
        ... def square(x):
        ...     return x * x
        >>> square.defvjp(lambda x: (x * x, x), lambda x, y_bar: (2.0 * x * y_bar,))
        >>> square(3.0)
        9.0
    """
    return CustomVJP(fun, nondiff_argnums)


for _defines in (custom_jvp, custom_vjp):
    _defines.s2sad_defines_rule = True  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of a callable that the user does not own.

    Attributes:
        callable: whose rule it is; compared by identity, never by name.
        jvp: `(primals, tangents) -> (out, out_dot)`, or None.
        fwd: `(*args) -> (out, residuals)`, or None.
        bwd: `(residuals, out_bar) -> tuple of cotangents`, or None.
        makers: for each argument `(out, *args) -> (out_bar -> cotangent)`, None for a zero, `...` where none was given.
    """

    callable: Callable[..., Any]
    jvp: Callable[..., Any] | None = None
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    makers: tuple[Any, ...] | None = None


Key = int | tuple[int, int]

_everywhere: dict[Key, Rule] = {}


class _Local(threading.local):
    """The scopes of rules of one thread, the innermost last."""

    def __init__(self) -> None:
        self.scopes: list[dict[Key, Rule]] = []
        self.key: tuple[Rule, ...] = ()
        self.changes = -1  # as many changes as `key` knows of


_local = _Local()
CHANGES = [0]
"""How often a rule was given, or a scope of rules entered or left; 0: there never was a rule."""


def _scopes() -> list[dict[Key, Rule]]:
    return _local.scopes


def rule_of(fun: Any) -> Rule | None:
    """Return the user's rule for a callable: of the innermost scope, else the global one."""
    key = _key(fun)
    for scope in (*reversed(_scopes()), _everywhere):
        if key in scope:
            return scope[key]
    return None


def _key(fun: Any) -> Key:
    """Return what a callable is known by: a bound method is made anew at every access, its two parts are not."""
    return (id(fun.__self__), id(fun.__func__)) if isinstance(fun, types.MethodType) else id(fun)


def rules_key() -> tuple[Rule, ...]:
    """Return every rule in force, so that derivatives made under other rules are not used."""
    if not _everywhere and not _local.scopes:
        return ()
    if _local.changes != CHANGES[0]:
        changes, merged = CHANGES[0], dict(_everywhere)
        for scope in _scopes():
            merged |= scope
        _local.key, _local.changes = tuple(merged.values()), changes
    return _local.key


def _give(fun: Callable[..., Any], **parts: Any) -> None:
    if not callable(fun):
        raise RuleError(f"a rule belongs to a function, not to `{fun!r}`")
    scope = _scopes()[-1] if _scopes() else _everywhere
    known = rule_of(fun) or Rule(fun)
    scope[_key(fun)] = replace(known, **parts)
    CHANGES[0] += 1


def functions_of(rule: Rule) -> list[Callable[..., Any]]:
    """Return the functions that make up a rule."""
    parts = (rule.jvp, rule.fwd, rule.bwd, *(rule.makers or ()))
    return [part for part in parts if part is not None and part is not ...]


def defjvp(fun: Callable[..., Any], rule: Callable[..., Any]) -> None:
    """Give the tangent rule `(primals, tangents) -> (out, out_dot)` of a function not one's own.

    Inside `with s2sad.rules():` it holds in that block and thread only, else everywhere.
    """
    _require_callable(rule, fun)
    _give(fun, jvp=rule)


def defvjp(
    fun: Callable[..., Any], *parts: Callable[..., Any] | None, argnums: tuple[int, ...] | None = None
) -> None:
    """Give the adjoint rule of a function not one's own, in halves or per argument.

    Inside `with s2sad.rules():` it holds in that block and thread only, else everywhere. It holds for
    calls of exactly this object: a rule of `np.subtract` is not one of the operator `-`.

    Args:
        fun: the function.
        *parts: `fwd, bwd` as for `CustomVJP.defvjp`; or, on target "python", one function per
            argument in two stages, `lambda ans, x, y: lambda g: ...`, the first parameter called
            `ans` (the result), settings such as `axis` passed by name; None where it is zero.
        argnums: which arguments the two-stage parts belong to; by default the first ones.

    Raises:
        RuleError: the parts are neither two halves nor one function per argument.

    Example:
        >>> import numpy as np, s2sad
        >>> with s2sad.rules():
        ...     s2sad.defvjp(np.subtract, lambda ans, x, y: lambda g: g, lambda ans, x, y: lambda g: -g)
        ...     s2sad.grad(lambda x: np.subtract(1.0, x), target="python")(2.0)
        -1.0
    """
    for part in parts:
        if part is not None:
            _require_callable(part, fun)
    if argnums is None and len(parts) == 2 and None not in parts and not _is_two_stage(parts[0]):
        _give(fun, fwd=parts[0], bwd=parts[1], makers=None)
        return
    if not parts or not all(part is None or _is_two_stage(part) for part in parts):
        raise RuleError(
            f"the rule of `{label(fun)}` is neither `fwd, bwd` nor two-stage functions of `(ans, *args)`"
        )
    places = argnums if argnums is not None else tuple(range(len(parts)))
    if len(places) != len(parts):
        raise RuleError(f"`{label(fun)}` was given {len(parts)} rules for {len(places)} argnums")
    by_place = dict(zip(places, parts, strict=True))
    makers = tuple(by_place.get(i, ...) for i in range(max(places) + 1))
    _give(fun, makers=makers, fwd=None, bwd=None)


def _is_two_stage(part: Any) -> bool:
    """Say whether a rule takes the result first, by the name that everybody gives it."""
    try:
        return next(iter(inspect.signature(part).parameters), "") == "ans"
    except (TypeError, ValueError):
        return False


def rule(fun: Callable[..., Any]) -> Callable[[F], F]:
    """Decorate the tangent rule of a function not one's own; see `defjvp`.

    Example:
        >>> import numpy as np, s2sad
        >>> with s2sad.rules():
        ...     @s2sad.rule(np.sinc)
        ...     def sinc_jvp(primals, tangents):
        ...         (x,), (x_dot,) = primals, tangents
        ...         return np.sinc(x), (np.cos(np.pi * x) - np.sinc(x)) / x * x_dot
    """

    def decorate(tangent: F) -> F:
        defjvp(fun, tangent)
        return tangent

    return decorate


@contextmanager
def rules(*given: Rule) -> Generator[None, None, None]:
    """Let the rules given here, and those defined inside the block, hold inside the block only."""
    items: tuple[Any, ...] = given
    for item in items:
        if not isinstance(item, Rule):
            raise RuleError(f"`rules` takes rules, or is a block around them; `{item!r}` is none")
    _scopes().append({id(item.callable): item for item in given})
    CHANGES[0] += 1
    try:
        yield
    finally:
        _scopes().pop()
        CHANGES[0] += 1


def _require_callable(value: Any, fun: Any) -> None:
    if not callable(value):
        raise RuleError(f"the rule of `{label(fun)}` must be a function, not `{value!r}`")
