"""The user's functions called as they are: what target "python" does with code that is not lowered.

A rule may hold any Python: a breakpoint, a `try`, a list outside that remembers. Where the compiler
cannot read it, the emitted text calls one of these objects, which puts the containers together,
calls the user's own functions, and checks what they return, leaf by leaf.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.errors import RuleError, Span
from s2sad.frontend.records import is_plain_class
from s2sad.frontend.userrule import UserRule
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_complex, is_inexact, leaf_types

_count = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a ruled function takes and gives.

    Attributes:
        name: the function's name, for messages.
        types: one type per argument.
        result: the type of its result.
        names: the names of the arguments' leaves, for messages.
        on: which leaves of the arguments are differentiated.
        results: which leaves of the result carry a cotangent.
        span: where the function is defined.
    """

    name: str
    types: tuple[Type, ...]
    result: Type
    names: tuple[str, ...]
    on: tuple[bool, ...]
    results: tuple[bool, ...]
    span: Span


class AsIs:
    """A callable that the emitted text names; each one has a text of its own in the process."""

    def __init__(self, name: str, call: Callable[..., Any], reason: str) -> None:
        """Name the callable, and say why it was not lowered."""
        self.__name__, self.reason = name, reason
        self._call, self._number = call, next(_count)

    def __call__(self, *leaves: Any) -> Any:
        """Call with flat leaves."""
        return self._call(*leaves)

    def __repr__(self) -> str:
        """Differ from every other one of this process: what it calls may hold state."""
        return f"<{self.__name__} as it is, {self._number}>"


def _copies(leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a rule is given: it may write into it."""
    return tuple(leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves)


def structured(kind: Type, leaves: Iterator[Any], constant: Callable[[Any], Any] = lambda held: held) -> Any:
    """Put a value of type `kind` together from its leaves; `constant` gives what stands for a part that is fixed."""
    match kind:
        case Struct(container, keys, items):
            parts = [structured(item, leaves, constant) for item in items]
            return _container(container, keys, parts)
        case Static(value):
            return constant(value)
        case _:
            return next(leaves)


def still(held: Any) -> Any:
    """Return the tangent of a constant: zeros in place of the numbers that it holds, at any depth."""
    match held:
        case bool():
            return held
        case int() | float() | complex() | np.number():
            return type(held)(0)
        case np.ndarray() if held.dtype.kind in "iufc":
            return np.zeros_like(held)
        case tuple() if hasattr(held, "_fields"):
            return type(held)(*map(still, held))
        case tuple() | list():
            return type(held)(map(still, held))
        case dict():
            return {key: still(value) for key, value in held.items()}
        case _ if dataclasses.is_dataclass(type(held)) or is_plain_class(type(held)):
            return _container(type(held), tuple(vars(held)), [still(value) for value in vars(held).values()])
        case _:
            return held


def _container(kind: Any, keys: tuple[Any, ...], parts: list[Any]) -> Any:
    if kind == "tuple":
        return tuple(parts)
    if kind == "list":
        return parts
    if kind == "dict":
        return dict(zip(keys, parts, strict=True))
    if not isinstance(kind, type):
        raise RuleError("a rule that runs as it is was given a function that is made inside the differentiated one",
                        None, "Pass a function of a module, or write the rule so that it can be read.")  # fmt: skip
    if issubclass(kind, tuple):
        return kind(*parts)
    made = object.__new__(kind)
    for key, part in zip(keys, parts, strict=True):
        object.__setattr__(made, str(key), part)
    return made


def flattened(kind: Type, value: Any, what: str, span: Span) -> list[Any]:
    """Take a value apart into leaves, None for those of a part that is None.

    Raises:
        RuleError: the value has another structure than `kind`.
    """
    if value is None:
        return [None] * len(leaf_types(kind))
    match kind:
        case Struct(_, keys, items):
            parts = _parts(kind, value)
            if parts is None:
                raise mismatch(f"{what} has another structure", structure_text(kind), value_text(value), span)
            pairs = zip(keys, items, parts, strict=True)
            return [leaf for _, item, part in pairs for leaf in flattened(item, part, what, span)]
        case Static():
            return []
        case _:
            return [value]


def _parts(kind: Struct, value: Any) -> list[Any] | None:
    if kind.kind == "dict":
        fits = isinstance(value, dict) and set(value) == set(kind.keys)
        return [value[key] for key in kind.keys] if fits else None
    if isinstance(kind.kind, str) or issubclass(kind.kind, tuple):
        wanted = (tuple, list) if isinstance(kind.kind, str) else kind.kind
        return list(value) if isinstance(value, wanted) and len(value) == len(kind.keys) else None
    fits = isinstance(value, kind.kind)
    return [getattr(value, str(key)) for key in kind.keys] if fits else None


def fitted(kind: Type, value: Any, like: Any, what: str, span: Span) -> Any:
    """Return one leaf in the dtype of `kind`, checked against the shape of `like`; None is zero.

    Raises:
        RuleError: another shape, or a dtype that `kind` cannot hold.
    """
    if isinstance(kind, ListOf):
        return value
    assert isinstance(kind, Scalar | Array)
    if value is None:
        return np.zeros(np.shape(like), kind.dtype) if isinstance(kind, Array) else np.dtype(kind.dtype).type(0)
    array = np.asarray(value)
    expected = f"{kind.dtype}, shape {np.shape(like)}"
    received = f"{array.dtype}, shape {array.shape}"
    if array.shape != np.shape(like):
        raise mismatch(f"{what} has another shape", expected, received, span)
    if is_inexact(kind) and (array.dtype.kind not in "fc" or (array.dtype.kind == "c" and not is_complex(kind))):
        raise mismatch(f"{what} has another dtype", expected, received, span)
    if isinstance(kind, Array):
        return np.array(array, kind.dtype)
    return value if kind.weak and not isinstance(value, np.ndarray) else array.astype(kind.dtype)[()]


def mismatch(what: str, expected: str, received: str, span: Span) -> RuleError:
    """Return the error of a rule that gives what does not fit."""
    return RuleError(what, span, f"Expected: {expected}.\nReceived: {received}.")


def type_text(kind: Type) -> str:
    """Say what a type is, as a message does: `float64, shape (3,)`."""
    match kind:
        case Array(dtype, dims):
            return f"{dtype}, rank {len(dims)}" if any(not isinstance(d, int) for d in dims) else f"{dtype}, {dims}"
        case Scalar(dtype):
            return f"{dtype}, a scalar"
        case ListOf():
            return "a list that grows"
        case Struct():
            return structure_text(kind)
        case Static(value):
            return f"`{value!r}`"


def structure_text(kind: Type) -> str:
    """Say what container a type is: `a dict with keys 'W', 'b'`."""
    match kind:
        case Struct("dict", keys):
            return f"a dict with keys {', '.join(map(repr, keys))}"
        case Struct("tuple" | "list", keys):
            return f"a {kind.kind} of {len(keys)}"
        case Struct(cls):
            return f"a {cls.__name__}"
        case _:
            return type_text(kind)


def value_text(value: Any) -> str:
    """Say what a value is, in the words of `structure_text`."""
    if isinstance(value, dict):
        return f"a dict with keys {', '.join(map(repr, value))}"
    if type(value) in (tuple, list):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}, shape {value.shape}"
    return f"a {type(value).__name__}"


def reverse_call(rule: UserRule, sig: Signature, reason: str) -> AsIs:
    """Return `(*leaves, *seeds) -> cotangents of the differentiated leaves` by a rule as it is."""

    def call(*values: Any) -> list[Any]:
        leaves = iter(_copies(values))
        args = rule.spread([structured(kind, leaves) for kind in sig.types], tuple)
        flat = list(values[: len(sig.on)])
        seeds = iter(values[len(sig.on) :])
        if rule.makers is not None:
            out = rule.fun(*args, **dict(rule.keywords))
            bars = _two_stage(rule, args, out, _out_bar(sig, out, seeds))
        else:
            assert rule.fwd is not None and rule.bwd is not None
            pair = rule.fwd(*args, **dict(rule.keywords))
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise mismatch(
                    f"the fwd of `{sig.name}` gives no pair", "(out, residuals)", value_text(pair), sig.span
                )
            out_bar = _out_bar(sig, pair[0], seeds)
            bars = rule.bwd(*(args[i] for i in rule.nondiff), pair[1], out_bar)
        return _checked_bars(rule, sig, flat, bars)

    return AsIs(f"{sig.name}_rule", call, reason)


def _two_stage(rule: UserRule, args: list[Any], out: Any, out_bar: Any) -> tuple[Any, ...]:
    given = rule.makers or ()
    makers = (*given, *(None for _ in args[len(given) :]))
    keywords = dict(rule.keywords)
    return tuple(None if make in (None, ...) else make(out, *args, **keywords)(out_bar) for make in makers)


def _out_bar(sig: Signature, out: Any, seeds: Iterator[Any]) -> Any:
    """Return the cotangent of the result; the leaves that carry none get zeros."""
    outs = flattened(sig.result, out, f"the result that the fwd of `{sig.name}` gives", sig.span)
    kinds = leaf_types(sig.result)
    bars = [
        next(seeds) if on else fitted(kind, None, value, "", sig.span)
        for kind, value, on in zip(kinds, outs, sig.results, strict=True)
    ]
    return structured(sig.result, iter(bars))


def _checked_bars(rule: UserRule, sig: Signature, flat: list[Any], bars: Any) -> list[Any]:
    what = f"the rule of `{sig.name}`" if rule.makers is not None else f"the bwd of `{sig.name}`"
    count = len(rule.spread(list(sig.types), lambda kind: kind.items))
    wanted = [i for i in range(count) if i not in rule.nondiff]
    if not isinstance(bars, tuple | list) or len(bars) != len(wanted):
        expected = f"a tuple of {len(wanted)}, one for each differentiated argument"
        raise mismatch(f"{what} gives another number of cotangents", expected, value_text(bars), sig.span)
    by_argument = dict(zip(wanted, bars, strict=True))
    by_parameter = rule.gathered([by_argument.get(i) for i in range(count)], len(sig.types), tuple)
    given = [
        leaf
        for kind, bar in zip(sig.types, by_parameter, strict=True)
        for leaf in flattened(kind, bar, f"the cotangent that {what} gives", sig.span)
    ]
    kinds = [leaf for kind in sig.types for leaf in leaf_types(kind)]
    rows = zip(kinds, given, flat, sig.names, sig.on, strict=True)
    return [
        fitted(kind, bar, value, f"the cotangent that {what} gives for `{name}`", sig.span)
        for kind, bar, value, name, on in rows
        if on
    ]


def forward_call(rule: UserRule, sig: Signature, only_dots: bool, reason: str) -> AsIs:
    """Return `(*leaves, *dots) -> [*results, *result dots]` by a tangent rule as it is."""
    return AsIs(f"{sig.name}_rule", lambda *values: _pushed(rule, sig, only_dots, values), reason)


def _pushed(rule: UserRule, sig: Signature, only_dots: bool, values: tuple[Any, ...]) -> list[Any]:
    flat, given = values[: len(sig.on)], iter(values[len(sig.on) :])
    kinds = [leaf for kind in sig.types for leaf in leaf_types(kind)]
    rows = zip(kinds, flat, sig.on, strict=True)
    dots = iter([next(given) if on else fitted(kind, None, value, "", sig.span) for kind, value, on in rows])
    leaves = iter(_copies(flat))
    args = [structured(kind, leaves) for kind in sig.types]
    tangents = [structured(kind, dots, still) for kind in sig.types]
    pair = rule.call_jvp(args, tangents)
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise mismatch(f"the rule of `{sig.name}` gives no pair", "(out, out_dot)", value_text(pair), sig.span)
    what = f"that the rule of `{sig.name}` gives"
    outs = flattened(sig.result, pair[0], f"the result {what}", sig.span)
    out_dots = flattened(sig.result, pair[1], f"the tangent {what}", sig.span)
    results = leaf_types(sig.result)
    shaped = [_result(k, v, f"the result {what}", sig.span) for k, v in zip(results, outs, strict=True)]
    moved = [
        fitted(kind, dot, out, f"the tangent {what}", sig.span)
        for kind, dot, out in zip(results, out_dots, shaped, strict=True)
        if is_inexact(kind)
    ]
    return moved if only_dots else [*shaped, *moved]


def _result(kind: Type, value: Any, what: str, span: Span) -> Any:
    expected = len(kind.dims) if isinstance(kind, Array) else 0
    if np.ndim(value) != expected:
        raise mismatch(f"{what} has another rank", type_text(kind), value_text(value), span)
    return fitted(kind, value, value, what, span)


def transposed_call(rule: UserRule, sig: Signature, reason: str) -> AsIs:
    """Return the transpose of a tangent rule as it is: the rule is run once per element of the arguments."""

    def call(*values: Any) -> list[Any]:
        flat, seeds = values[: len(sig.on)], values[len(sig.on) :]
        kinds = [leaf for kind in sig.types for leaf in leaf_types(kind)]
        chosen = [i for i, on in enumerate(sig.on) if on]
        zeros = {i: fitted(kinds[i], None, flat[i], "", sig.span) for i in chosen}
        inexact = [on for kind, on in zip(leaf_types(sig.result), sig.results, strict=True) if is_inexact(kind)]

        def pushed(position: int, unit: Any) -> Any:
            dots = [unit if i == position else zeros[i] for i in chosen]
            moved = _pushed(rule, sig, True, (*flat, *dots))
            kept = [dot for dot, on in zip(moved, inexact, strict=True) if on]
            return sum(np.sum(np.asarray(bar) * np.asarray(dot)) for bar, dot in zip(seeds, kept, strict=True))

        return [_pulled(kinds[i], flat[i], lambda unit, i=i: pushed(i, unit)) for i in chosen]

    return AsIs(f"{sig.name}_rule", call, reason)


def _pulled(kind: Type, value: Any, product: Callable[[Any], Any]) -> Any:
    """Return the cotangent c of one leaf from `t -> seed · L(t)`: Re(c t) = Re(seed · L(t)) for all t."""
    assert isinstance(kind, Scalar | Array)
    bar = np.zeros(np.shape(value), kind.dtype)
    for index in np.ndindex(bar.shape):
        unit = np.zeros_like(bar)
        unit[index] = 1
        bar[index] = np.real(product(unit if isinstance(kind, Array) else unit[()]))
        if is_complex(kind):
            turned = 1j * unit
            bar[index] -= 1j * np.real(product(turned if isinstance(kind, Array) else turned[()]))
    return bar if isinstance(kind, Array) else bar[()]
