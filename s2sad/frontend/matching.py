"""`match` statements, written as the chain of `if`, `elif` and `else` that they stand for.

A pattern becomes a test and the names it binds. What the structure of the subject decides, as the
length of a tuple or the class of an object, is decided here; values are compared where they run.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, Value

_WAY_OUT = "Write it as `if`/`elif`."
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern matches the subject itself."""


class _Never(Exception):
    """The structure of the subject rules a pattern out."""


def lower_match(lw: Lowerer, node: Any) -> bool:
    """Lower a `match` statement; return True if it always jumps away."""
    from s2sad.frontend.assignments import assign_target
    from s2sad.frontend.expressions import lower_expr
    from s2sad.frontend.statements import lower_block

    subject = node.subject
    if not isinstance(subject, gast.Name):
        name = gast.copy_location(_name(lw.fresh("subject")), subject)
        value = lower_expr(lw, subject)
        if isinstance(value, StaticV | StructV):
            lw.env[name.id] = value
        else:
            assign_target(lw, name, value, node)
        subject = name
    chain: list[Any] = []
    for case in reversed(node.cases):
        try:
            tests, bound = _pattern(lw, case.pattern, subject)
        except _Never:
            continue
        if case.guard is not None:
            tests.append(_Replaced(bound).visit(copy.deepcopy(case.guard)))
        body = [*(_binding(name, part, case.pattern) for name, part in bound.items()), *case.body]
        chain = [gast.If(test=_all(tests), body=body, orelse=chain)] if tests else body
    for part in chain:
        for inner in gast.walk(part):
            if not hasattr(inner, "lineno"):
                gast.copy_location(inner, node)
    return lower_block(lw, chain)


class _Replaced(gast.NodeTransformer):
    """A guard reads what the pattern binds before it is bound."""

    def __init__(self, bound: dict[str, Any]) -> None:
        self.bound = bound

    def visit_Name(self, node: Any) -> Any:
        """Put the part of the subject for the name."""
        return copy.deepcopy(self.bound[node.id]) if node.id in self.bound else node


def _pattern(lw: Lowerer, pattern: Any, subject: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the tests of a pattern, and what each of its names is bound to."""
    match pattern:
        case gast.MatchValue(value=value):
            if _is_known(lw, subject) and not _decided(lw, _compare(subject, gast.Eq(), value)):
                raise _Never
            return [_compare(subject, gast.Eq(), value)], {}
        case gast.MatchSingleton(value=value):
            return [_compare(subject, gast.Is(), gast.Constant(value=value, kind=None))], {}
        case gast.MatchAs(pattern=None, name=name):
            return [], {} if name is None else {name: subject}
        case gast.MatchAs(pattern=inner, name=name):
            tests, bound = _pattern(lw, inner, subject)
            return tests, {**bound, name: subject}
        case gast.MatchOr(patterns=patterns):
            return _either(lw, patterns, subject)
        case gast.MatchSequence(patterns=patterns):
            return _sequence(lw, patterns, subject)
        case gast.MatchMapping(keys=keys, patterns=patterns, rest=None):
            return _mapping(lw, keys, patterns, subject)
        case gast.MatchClass():
            return _class(lw, pattern, subject)
        case _:
            return lw.fail(pattern, "this pattern is not supported in a differentiated function", _WAY_OUT)


def _either(lw: Lowerer, patterns: list[Any], subject: Any) -> tuple[list[Any], dict[str, Any]]:
    found: list[Any] = []
    for pattern in patterns:
        try:
            tests, bound = _pattern(lw, pattern, subject)
        except _Never:
            continue
        if bound:
            lw.fail(pattern, "names bound in an alternative of a pattern are not supported", _WAY_OUT)
        if not tests:
            return [], {}
        found.append(_all(tests))
    if not found:
        raise _Never
    return [found[0] if len(found) == 1 else gast.BoolOp(op=gast.Or(), values=found)], {}


def _sequence(lw: Lowerer, patterns: list[Any], subject: Any) -> tuple[list[Any], dict[str, Any]]:
    value = _value(lw, subject)
    if isinstance(value, StaticV) and isinstance(value.value, tuple | list):
        count = len(value.value)
    elif isinstance(value, StructV) and (value.kind in ("tuple", "list") or hasattr(value.kind, "_fields")):
        count = len(value.items)
    else:
        raise _Never  # numbers and arrays are no sequences to `match`
    stars = [i for i, p in enumerate(patterns) if isinstance(p, gast.MatchStar)]
    if count != len(patterns) and not (stars and count >= len(patterns) - 1):
        raise _Never
    tests: list[Any] = []
    bound: dict[str, Any] = {}
    for at, pattern in enumerate(patterns):
        after = at - len(patterns)
        if stars and at == stars[0]:
            if pattern.name is not None:
                stop = _number(count + after + 1)
                bound[pattern.name] = _part(subject, gast.Slice(lower=_number(at), upper=stop, step=None))
            continue
        place = at if not stars or at < stars[0] else count + after
        more, names = _pattern(lw, pattern, _part(subject, _number(place)))
        tests += more
        bound |= names
    return tests, bound


def _mapping(lw: Lowerer, keys: list[Any], patterns: list[Any], subject: Any) -> tuple[list[Any], dict[str, Any]]:
    value = _value(lw, subject)
    known = value.keys if isinstance(value, StructV) and value.kind == "dict" else None
    if known is None and isinstance(value, StaticV) and isinstance(value.value, dict):
        known = tuple(value.value)
    tests: list[Any] = []
    bound: dict[str, Any] = {}
    for key, pattern in zip(keys, patterns, strict=True):
        if known is None or not isinstance(key, gast.Constant) or key.value not in known:
            raise _Never
        more, names = _pattern(lw, pattern, _part(subject, key))
        tests += more
        bound |= names
    return tests, bound


def _class(lw: Lowerer, pattern: Any, subject: Any) -> tuple[list[Any], dict[str, Any]]:
    from s2sad.frontend.specials import class_of

    given = _value(lw, pattern.cls)
    if not (isinstance(given, StaticV) and isinstance(given.value, type)):
        return lw.fail(pattern, "a class pattern needs a class", _WAY_OUT)
    if not issubclass(class_of(_value(lw, subject)), given.value):
        raise _Never
    positional = list(getattr(pattern, "patterns", None) or ())
    if positional and given.value in _WHOLE:
        return _pattern(lw, positional[0], subject)
    names = [*getattr(given.value, "__match_args__", ())[: len(positional)], *pattern.kwd_attrs]
    tests: list[Any] = []
    bound: dict[str, Any] = {}
    for name, inner in zip(names, [*positional, *pattern.kwd_patterns], strict=True):
        more, others = _pattern(lw, inner, gast.Attribute(value=subject, attr=name, ctx=gast.Load()))
        tests += more
        bound |= others
    return tests, bound


def _value(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.expressions import lower_expr

    return lower_expr(lw, node)


def _is_known(lw: Lowerer, subject: Any) -> bool:
    return isinstance(_value(lw, subject), StaticV)


def _decided(lw: Lowerer, test: Any) -> bool:
    from s2sad.frontend.expressions import lower_test

    return lower_test(lw, test) is not False


def _all(tests: list[Any]) -> Any:
    return tests[0] if len(tests) == 1 else gast.BoolOp(op=gast.And(), values=tests)


def _compare(left: Any, op: Any, right: Any) -> Any:
    return gast.Compare(left=left, ops=[op], comparators=[right])


def _part(subject: Any, index: Any) -> Any:
    return gast.Subscript(value=subject, slice=index, ctx=gast.Load())


def _number(value: int) -> Any:
    return gast.Constant(value=value, kind=None)


def _name(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def _binding(name: str, value: Any, node: Any) -> Any:
    target = gast.copy_location(gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None), node)
    return gast.copy_location(gast.Assign(targets=[target], value=value, type_comment=None), node)
