"""Names that start as `None` and get a value later: a flag says whether there is one yet.

`best = None` becomes `best_given = False` beside any value at all, `best = v` becomes `best_given = True` beside
`best = v`, and `best is None` asks the flag.
"""

from __future__ import annotations

import operator
from typing import Any

import gast
import numpy as np

from s2sad.frontend.containers import identified
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, V, Value, literal, pack, type_of
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, If, Raise
from s2sad.ir.types import Array, Scalar, Static, Struct, Type

KIND = "optional"
_FLAG = Scalar("bool", weak=True)


Form = tuple[Any, ...]
"""What a value is made of: the dtype and rank of a number or array, or the forms of a container's items."""


class KindFound(Exception):
    """The value that a name gets later is of another type than was supposed: the function is lowered again."""


def optional_names(node: Any) -> frozenset[str]:
    """Return the names that a function sets to None, sets to something else, and asks about."""
    none: set[str] = set()
    other: set[str] = set()
    asked: set[str] = set()
    either: set[str] = set()
    for part in gast.walk(node):
        match part:
            case gast.Assign(targets=[gast.Tuple(elts=targets)], value=gast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, values, strict=True):
                    if isinstance(target, gast.Name):
                        (none if isinstance(value, gast.Constant) and value.value is None else other).add(target.id)
            case gast.Assign(targets=[gast.Name(id=name)], value=value) if may_be_none(value):
                either.add(name)
            case gast.Assign(targets=targets, value=value):
                names = {t.id for t in targets if isinstance(t, gast.Name)}
                parts = [e for t in targets if isinstance(t, gast.Tuple) for e in t.elts]
                names |= {e.id for e in parts if isinstance(e, gast.Name)}
                (none if isinstance(value, gast.Constant) and value.value is None else other).update(names)
            case gast.Compare(left=gast.Name(id=name), comparators=[gast.Constant(value=None)]):
                asked.add(name)
            case _:
                pass
    return frozenset(either | (none & other & (asked | _set_on_a_path(node))))


def may_be_none(value: Any) -> bool:
    """Say whether an expression is None on one side of a condition, and something else on the other."""
    sides = (value.body, value.orelse) if isinstance(value, gast.IfExp) else ()
    none = [isinstance(side, gast.Constant) and side.value is None for side in sides]
    return none.count(True) == 1 or any(may_be_none(side) for side in sides)


def _set_on_a_path(node: Any) -> set[str]:
    """Return the names that are bound inside a branch or a loop."""
    paths = [part for part in gast.walk(node) if isinstance(part, gast.If | gast.For | gast.While)]
    inner = [statement for path in paths for statement in gast.walk(path)]
    targets = [t for s in inner if isinstance(s, gast.Assign) for t in s.targets]
    targets += [e for t in targets if isinstance(t, gast.Tuple) for e in t.elts]
    return {n.id for n in targets if isinstance(n, gast.Name)}


def is_optional(value: Value | None) -> bool:
    """Say whether a value is one that may be None, with its flag."""
    return isinstance(value, StructV) and value.kind == KIND


def bind(lw: Lowerer, name: str, value: Value, node: Any) -> bool:
    """Set a name that may be None; False if the value is of a kind that this cannot express."""
    given: Value
    if isinstance(value, StructV) and value.kind == KIND:
        given, held = value.items
        _note(lw, name)
        lw.proven -= {name}
    elif isinstance(value, StaticV) and value.value is None:
        given, held = V(literal(False)), placeholder(lw.ctx.optional_kinds.get(_key(lw, name)))
        lw.proven -= {name}
    else:
        given, held = V(literal(True)), value
    if not (isinstance(value, StaticV) and value.value is None):
        form = form_of(type_of(held))
        if form is None:
            return False
        _settle(lw, name, form)
    span = lw.span(node)
    word = lw.ir_name(name)
    in_parts = isinstance(held, StructV)
    stored = lw.store_value(lw.part_name(word, "value") if in_parts else word, held, span)  # it may ask for the flag
    flag = lw.store_value(lw.part_name(word, "given"), given, span)
    lw.env[name] = StructV(KIND, ("given", "value"), (flag, identified(stored)))
    return True


def _key(lw: Lowerer, name: str) -> tuple[int, str]:
    return id(lw.source.node), name


def is_noted(lw: Lowerer, name: str) -> bool:
    """Say whether a name was found to get the result of a call that may be None."""
    return _key(lw, name) in lw.ctx.optional_names


def _note(lw: Lowerer, name: str) -> None:
    """Begin again if a name gets what may be None, and something else too, of which it was not known."""
    if name in lw.optional or is_noted(lw, name):
        return
    lw.ctx.optional_names.add(_key(lw, name))
    stores = [n for n in gast.walk(lw.source.node) if isinstance(n, gast.Name) and n.id == name]
    if sum(isinstance(n.ctx, gast.Store) for n in stores) > 1:
        raise KindFound


def form_of(kind: Type) -> Form | None:
    """Return what a value is made of; None for one that cannot stand beside None."""
    match kind:
        case Scalar(dtype):
            return dtype, 0
        case Array(dtype, dims):
            return dtype, len(dims)
        case Static(value):
            return "known", value
        case Struct(container, keys, items) if container in ("tuple", "list", "dict") or _has_fields(container):
            forms = tuple(form_of(item) for item in items)
            return None if None in forms else (container, keys, forms)
        case _:
            return None


def _has_fields(kind: Any) -> bool:
    return hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__")


def joined_form(a: Form, b: Form) -> Form | None:
    """Return the form that holds two; None if there is none."""
    if len(a) != len(b) or (len(a) == 3 and a[:2] != b[:2]):
        return None
    if len(a) == 3:
        forms = tuple(joined_form(x, y) for x, y in zip(a[2], b[2], strict=True))
        return None if None in forms else (*a[:2], forms)
    if "known" in (a[0], b[0]):
        return a if a == b else None
    return (np.result_type(a[0], b[0]).name, a[1]) if a[1] == b[1] else None


def _settle(lw: Lowerer, name: str, form: Form) -> None:
    """Begin again if a value before was made up of another form."""
    known = lw.ctx.optional_kinds.get(_key(lw, name))
    wanted = form if known is None else joined_form(known, form)
    if wanted is None or wanted == known or (known is None and wanted == ("float64", 0)):
        return  # of different rank on two paths: that is told where the paths meet
    lw.ctx.optional_kinds[_key(lw, name)] = wanted
    raise KindFound


def placeholder(form: Form | None) -> Value:
    """Return a value of a form, to stand where there is none."""
    match form or ("float64", 0):
        case ("known", value):
            return StaticV(value)
        case (container, keys, forms):
            return StructV(container, keys, tuple(placeholder(item) for item in forms))
        case (dtype, int(rank)) if rank:
            shape = pack("tuple", [literal(0)] * rank) if rank > 1 else literal(0)
            static = () if dtype == "float64" else (("dtype", np.dtype(dtype).type),)
            return V(Apply(np.zeros, (shape,), Array(dtype, (0,) * rank, "C"), static))
        case (dtype, _):
            zero: Any = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0j}[np.dtype(dtype).kind]
            return V(literal(zero))
        case _:
            raise AssertionError(form)


def value_of(lw: Lowerer, name: str, held: StructV, node: Any) -> Value:
    """Return what a name holds; where it is not known that it holds anything, that is checked."""
    return held.items[1] if name in lw.proven else checked(lw, held, f"`{name}` is still None here", node)


def checked(lw: Lowerer, held: StructV, text: str, node: Any) -> Value:
    """Return a value that may be None where one is needed: the emitted code raises what Python would."""
    flag, value = held.items
    assert isinstance(flag, V)
    known = getattr(flag.expr.type, "value", None)
    if known is False:
        return StaticV(None)
    if known is not True:
        lw.emit(If(_negated(flag.expr), (Raise(TypeError, (Const(text, Static(text)),), lw.span(node)),), (),
                   lw.span(node)))  # fmt: skip
    return value


def _negated(flag: Expr) -> Expr:
    return Apply(operator.not_, (flag,), _FLAG)


def surely_given(env: dict[Any, Value]) -> frozenset[str]:
    """Return the names, of the lowering at hand, that may be None elsewhere and have a value here."""
    own = {name: value for name, value in env.items() if isinstance(name, str)}
    held = [(name, value.items[0]) for name, value in own.items() if isinstance(value, StructV) and value.kind == KIND]
    return frozenset(n for n, flag in held if isinstance(flag, V) and getattr(flag.expr.type, "value", None) is True)


def is_none(lw: Lowerer, node: Any) -> Expr | bool | None:
    """Return the test `name is None`, or its negation, of a name that may be None; None for any other comparison."""
    match node:
        case gast.Compare(left=gast.Name(id=name), ops=[op], comparators=[gast.Constant(value=None)]):
            held = lw.env.get(name)
        case gast.Compare(left=gast.Attribute() | gast.Subscript() as place, ops=[op],
                          comparators=[gast.Constant(value=None)]):  # fmt: skip
            held = optional_field(lw, place)
        case _:
            return None
    if not (isinstance(held, StructV) and held.kind == KIND):
        return None
    return asked(held, isinstance(op, gast.Is | gast.Eq))


def optional_field(lw: Lowerer, node: Any) -> StructV | None:
    """Return what stands in an attribute or an item, if that may be None; else nothing is lowered."""
    if not (lw.ctx.optional_fields and isinstance(node, gast.Attribute | gast.Subscript)):
        return None
    mark = lw.mark()
    held = raw_field(lw, node)
    lw.back_to(mark)
    if not is_optional(held):
        return None
    found = raw_field(lw, node)
    return found if isinstance(found, StructV) else None


def raw_field(lw: Lowerer, node: Any) -> Value:
    """Return what stands in an attribute or an item, which may be None."""
    from s2sad.frontend.expressions import lower_expr
    from s2sad.frontend.indexing import lower_subscript
    from s2sad.frontend.methods import attribute

    if isinstance(node, gast.Subscript):
        return lower_subscript(lw, node, raw=True)
    return attribute(lw, lower_expr(lw, node.value), node.attr, node)


def asked(held: StructV, wants_none: bool) -> Expr | bool:
    """Return the test whether a value that may be None is None, or whether it is not."""
    flag = held.items[0]
    assert isinstance(flag, V)
    known = getattr(flag.expr.type, "value", None)
    if isinstance(known, bool):
        return known is not wants_none
    return _negated(flag.expr) if wants_none else flag.expr


def truth(held: StructV) -> Expr | bool:
    """Return the truth of a name that may be None: it has a value, which is not zero."""
    flag, value = held.items
    assert isinstance(flag, V)
    known = getattr(flag.expr.type, "value", None)
    if not isinstance(value, V):
        filled = not (isinstance(value, StructV) and value.kind == "tuple") or bool(value.keys)
        return filled and (known if isinstance(known, bool) else flag.expr)
    nonzero = Apply(operator.ne, (value.expr, literal(0)), _FLAG)
    if isinstance(known, bool):
        return nonzero if known else False
    return Apply(ops.both, (flag.expr, nonzero), _FLAG)


def fact_of(node: Any) -> str | None:
    """Return the fact that `s.best` or `d["best"]` of a name has a value; None of any other place."""
    match node:
        case gast.Attribute(value=gast.Name(id=owner), attr=name):
            return f"{owner}.{name!r}"
        case gast.Subscript(value=gast.Name(id=owner), slice=gast.Constant(value=key)):
            return f"{owner}.{key!r}"
        case _:
            return None


def proven_by(test: Any, holds: bool) -> frozenset[str]:
    """Return the names that surely have a value where a condition holds, or where it does not."""
    match test:
        case gast.Compare(left=gast.Name(id=name) | gast.NamedExpr(target=gast.Name(id=name)), ops=[op],
                          comparators=[gast.Constant(value=None)]):  # fmt: skip
            is_given = isinstance(op, gast.IsNot | gast.NotEq)
            return frozenset({name}) if is_given == holds else frozenset()
        case gast.Compare(left=gast.Attribute() | gast.Subscript() as place, ops=[op],
                          comparators=[gast.Constant(value=None)]):  # fmt: skip
            fact = fact_of(place)
            is_given = isinstance(op, gast.IsNot | gast.NotEq)
            return frozenset({fact}) if is_given == holds and fact is not None else frozenset()
        case gast.UnaryOp(op=gast.Not(), operand=operand):
            return proven_by(operand, not holds)
        case gast.BoolOp(op=op, values=values) if isinstance(op, gast.And) == holds:
            return frozenset[str]().union(*(proven_by(value, holds) for value in values))
        case gast.Name(id=name) | gast.NamedExpr(target=gast.Name(id=name)) if holds:
            return frozenset({name})
        case _:
            return frozenset()
