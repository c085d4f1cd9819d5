"""Comparisons: of numbers, of containers item by item, membership; sets, which serve it."""

from __future__ import annotations

import enum
import operator
import types
from typing import Any, TypeGuard

import gast
import numpy as np

from s2sad.frontend import formatted, optional, protocols, references, rows, texts
from s2sad.frontend.arguments import UNKNOWN, known_value
from s2sad.frontend.containers import AN_ITEM
from s2sad.frontend.displays import array_of, operands
from s2sad.frontend.expressions import as_expr, plain_value
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import BOOL, COMPARE, apply, build, negate
from s2sad.frontend.order import in_order
from s2sad.frontend.searched import place_in
from s2sad.frontend.values import FuncV, RangeV, RowsV, StaticV, StructV, V, Value, leaves_of, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Var
from s2sad.ir.types import Array, ListOf, Scalar, is_inexact
from s2sad.ir.walk import subexpressions


def set_of(lw: Lowerer, items: list[Value], node: Any) -> Value:
    """A set of constants is one more constant."""
    known = [known_value(item) for item in items]
    if any(value is UNKNOWN for value in known):
        lw.fail(node, "a set of values that are not known here is not supported",
                "Sets have no order; use a list or an array.")  # fmt: skip
    return StaticV(frozenset(known))


def lower_compare(lw: Lowerer, node: Any) -> Value:
    """Lower a comparison, chained or not; what is known now is decided now."""
    asked = optional.is_none(lw, node)
    if asked is not None:
        return StaticV(asked) if isinstance(asked, bool) else V(asked)
    compared = [_in_a_row(op, part) for op, part in zip(node.ops, node.comparators, strict=True)]
    left, *others = in_order(lw, [node.left, *compared])
    if optional.is_optional(left) and isinstance(left, StructV):  # `f(x) is None`
        test = optional.asked(left, type(node.ops[0]).__name__ == "Is")
        return StaticV(test) if isinstance(test, bool) else V(test)
    parts: list[Expr] = []
    for op, right in zip(node.ops, others, strict=True):
        result = _compare_two(lw, type(op).__name__, left, right, node)
        if isinstance(result, bool):
            if not result:
                return StaticV(False)
        else:
            parts.append(result)
        left = right
    if not parts:
        return StaticV(True)
    return V(parts[0] if len(parts) == 1 else Apply(ops.both, tuple(parts), BOOL))


def _in_a_row(op: Any, node: Any) -> Any:
    """Return a set that is asked what is in it as a tuple: the answer does not depend on an order."""
    if isinstance(node, gast.Set) and isinstance(op, gast.In | gast.NotIn):
        return gast.copy_location(gast.Tuple(elts=node.elts, ctx=gast.Load()), node)
    return node


def _denied_if(one: Expr | bool, denied: bool) -> Expr | bool:
    return one if not denied else not one if isinstance(one, bool) else negate(one)


def _compare_two(lw: Lowerer, op: str, left: Value, right: Value, node: Any) -> Expr | bool:
    if op in ("In", "NotIn"):
        return _membership(lw, op, left, right, node)
    fn = COMPARE[op]
    if op in ("Is", "IsNot"):
        same_truth = _is_truth(lw, left, right, node)
        if same_truth is not None:
            negated = not same_truth if isinstance(same_truth, bool) else negate(same_truth)
            return same_truth if op == "Is" else negated
    elif formatted.is_unknown(left) or formatted.is_unknown(right):
        return formatted.refuse(lw, node)
    if op in ("Is", "IsNot") and all(_is_one_object(value) for value in (left, right)):
        return (_number_of(left) == _number_of(right)) == (op == "Is")  # a setting: `self.system is self.METRIC`
    if op in ("Is", "IsNot") and not (texts.is_choice(left) or texts.is_choice(right)):
        same = isinstance(left, StaticV) and isinstance(right, StaticV) and left.value is right.value
        if not (isinstance(left, StaticV) and isinstance(right, StaticV)):
            _refuse_none(lw, right, node)
        if isinstance(left, StaticV | FuncV) or isinstance(right, StaticV | FuncV):
            _refuse_member(lw, left, right, node)
            return same if op == "Is" else not same
        one = protocols.one_object(left, right)
        if one is not None:
            return _denied_if(one, op == "IsNot")
        if isinstance(left, StructV) and isinstance(right, StructV):
            for value in (left, right):
                if value.cell is AN_ITEM:
                    references.begin_again(lw, value)
            lw.fail(node, references.NOT_TOLD_APART,
                    "Compare places, `for i, a in enumerate(bodies)`, `i == j`,\n"
                    "or a number that each object has: `other.k != self.k`.")  # fmt: skip
        lw.fail(node, "`is` between numbers or arrays is not supported",
                "Compare numbers with `==`, and places rather than arrays:\n"
                "`for k, w in enumerate(ws)`, `k == len(ws) - 1`.")  # fmt: skip
    if op in ("Eq", "NotEq", "Is", "IsNot") and (texts.is_choice(left) or texts.is_choice(right)):
        same = texts.equal(left, right)
        if same is None:
            return lw.fail(node, "which member this is, is not known here",
                           "Compare it with a member of its enumeration.")  # fmt: skip
        if op in ("Eq", "Is"):
            return same
        return not same if isinstance(same, bool) else Apply(operator.not_, (same,), BOOL)
    if isinstance(left, StaticV) and isinstance(right, StaticV):
        return bool(fn(left.value, right.value))
    if (texts.is_choice(left) or texts.is_choice(right)) and (ranks := texts.in_order(left, right)) is not None:
        return apply(lw, fn, ranks, {}, node).expr
    if isinstance(left, StaticV) ^ isinstance(right, StaticV) and op in ("Eq", "NotEq"):
        static = left if isinstance(left, StaticV) else right
        assert isinstance(static, StaticV)
        _refuse_none(lw, static, node)
        if static.value is None or isinstance(static.value, str | types.FunctionType | types.BuiltinFunctionType):
            return op == "NotEq"
    if isinstance(left, FuncV) ^ isinstance(right, FuncV) and op in ("Eq", "NotEq"):
        return op == "NotEq"
    own = protocols.compared(lw, op, left, right, node)
    if own is not None:
        return bool(own.value) if isinstance(own, StaticV) else as_expr(lw, own, node)
    if isinstance(left, StructV) and isinstance(right, StructV) and op in ("Eq", "NotEq"):
        return _compare_structs(lw, op, left, right, node)
    if _is_sequence(left) and _is_sequence(right) and left.kind == right.kind:
        return _in_dictionary_order(lw, op, _compared_parts(left), _compared_parts(right), node)
    numbers = [_number_of(value) for value in (left, right)]
    if None not in numbers:
        return bool(fn(*numbers))
    left, right = operands(lw, left, right, node)
    if isinstance(left, V) and left == right and isinstance(left.expr.type, Scalar) and "int" in left.expr.type.dtype:
        return op in ("Eq", "LtE", "GtE")
    result = apply(lw, fn, (as_expr(lw, left, node), as_expr(lw, right, node)), {}, node).expr
    known = getattr(result.type, "value", None)
    return known if isinstance(known, bool) else result


def _is_truth(lw: Lowerer, left: Value, right: Value, node: Any) -> Expr | bool | None:
    """Compare with True or False by identity; None where neither side is that."""
    for value, other in ((left, right), (right, left)):
        wanted, known = known_value(other), known_value(value)
        if not isinstance(wanted, bool):
            continue
        if known is not UNKNOWN:
            return known is wanted
        if not isinstance(value, V) or not isinstance(value.expr.type, Scalar) or value.expr.type.dtype != "bool":
            return False
        of_numpy = any(isinstance(p, Var | Index | Apply) and not _is_of_python(p) for p in subexpressions(value.expr))
        if of_numpy:  # `x[0] > 1` is a truth value of NumPy's
            lw.fail(node, f"`is {wanted}` of what NumPy may have made is not supported",
                    "Write the condition itself, or `not` before it.")  # fmt: skip
        return value.expr if wanted else negate(value.expr)
    return None


def _is_of_python(expr: Any) -> bool:
    return isinstance(expr.type, Scalar) and expr.type.weak


def _refuse_none(lw: Lowerer, asked: Value, node: Any) -> None:
    """A located error where a number might come from a list that begins with None."""
    if lw.ctx.holds_none and isinstance(asked, StaticV) and asked.value is None:
        lw.fail(node, "whether an item of a list is still None is not known here",
                "Keep a list of flags beside it, or test the length of a list that grows.")  # fmt: skip


def _refuse_member(lw: Lowerer, left: Value, right: Value, node: Any) -> None:
    """A located error where a number is asked whether it is a member of an enumeration of whole numbers."""
    numbers, members = (left, right) if isinstance(left, V) else (right, left)
    if isinstance(numbers, V) and isinstance(members, StaticV) and isinstance(members.value, enum.IntEnum):
        lw.fail(node, f"which member of `{type(members.value).__name__}` this number is, is not known here",
                "Compare with `==`, or pass the member itself.")  # fmt: skip


def _number_of(value: Value) -> Any:
    """Return the number that a value is at transform time, or None."""
    if isinstance(value, StaticV):
        return value.value if isinstance(value.value, int | float) else None
    return value.expr.value if isinstance(value, V) and isinstance(value.expr, Const) else None


def _is_one_object(value: Value) -> bool:
    """Say whether a value is a whole number of which there is one object: CPython keeps the small ones."""
    number = _number_of(value)
    return type(number) is int and -5 <= number <= 256


def _compare_structs(lw: Lowerer, op: str, left: StructV, right: StructV, node: Any) -> Expr | bool:
    is_record = any(hasattr(value.kind, "__dataclass_fields__") for value in (left, right))
    if left.keys != right.keys if not is_record else left.kind is not right.kind:
        return op == "NotEq"
    own, other = _compared_parts(left), _compared_parts(right)
    parts = [_compare_two(lw, "Eq", a, b, node) for a, b in zip(own, other, strict=True)]
    if any(part is False for part in parts):
        return op == "NotEq"
    open_parts = [part for part in parts if not isinstance(part, bool)]
    if not open_parts:
        return op == "Eq"
    equal = open_parts[0] if len(open_parts) == 1 else Apply(ops.both, tuple(open_parts), BOOL)
    return equal if op == "Eq" else Apply(operator.not_, (equal,), BOOL)


def _compared_parts(value: StructV) -> tuple[Value, ...]:
    """Return what decides which of two is less, and whether they are equal: of a dataclass the fields, but for some."""
    fields: dict[str, Any] | None = getattr(value.kind, "__dataclass_fields__", None)
    if fields is None:
        return value.items
    return tuple(item for name, item in zip(value.keys, value.items, strict=True)
                 if name in fields and fields[name].compare)  # fmt: skip


def _is_sequence(value: Value) -> TypeGuard[StructV]:
    if not isinstance(value, StructV):
        return False
    ordered = getattr(getattr(value.kind, "__dataclass_params__", None), "order", False)
    return value.kind in ("tuple", "list") or hasattr(value.kind, "_fields") or ordered


def _in_dictionary_order(
    lw: Lowerer, op: str, left: tuple[Value, ...], right: tuple[Value, ...], node: Any
) -> Expr | bool:
    """Compare two tuples: the first items that differ decide, and where there is none the lengths."""
    if not left or not right:
        return bool(COMPARE[op](len(left), len(right)))
    if len(left) == len(right) == 1:
        return _compare_two(lw, op, left[0], right[0], node)
    first = _compare_two(lw, op.removesuffix("E"), left[0], right[0], node)
    same = _compare_two(lw, "Eq", left[0], right[0], node)
    if isinstance(first, bool) and isinstance(same, bool):
        return _in_dictionary_order(lw, op, left[1:], right[1:], node) if same else first
    rest = _in_dictionary_order(lw, op, left[1:], right[1:], node)
    within = Apply(ops.both, (_as_test(same), _as_test(rest)), BOOL)
    return Apply(ops.either, (_as_test(first), within), BOOL)


def _as_test(found: Expr | bool) -> Expr:
    return literal(found) if isinstance(found, bool) else found


def _membership(lw: Lowerer, op: str, left: Value, right: Value, node: Any) -> Expr | bool:
    held = protocols.asked(lw, right, "contains", [left], node)
    if held is not None:
        known = known_value(held)
        return _or_not(as_expr(lw, held, node), op) if known is UNKNOWN else bool(known) == (op == "In")
    if isinstance(right, StructV):
        protocols.refuse_own_items(lw, right, node)
    if isinstance(right, StructV) and right.kind == "dict":
        if formatted.is_unknown(left):
            return formatted.unrolled(lw, node)
        right = StructV("tuple", (), tuple(plain_value(lw, key, "key", node) for key in right.keys))
    if formatted.is_unknown(left) or formatted.is_unknown(right):
        return formatted.refuse(lw, node)
    in_a_text = isinstance(right, StaticV) and isinstance(right.value, str)
    if texts.is_choice(right) or (texts.is_choice(left) and in_a_text):
        return texts.refuse(lw, node)
    if isinstance(right, StaticV) and isinstance(left, StaticV):
        return (left.value in right.value) == (op == "In")
    if isinstance(right, RangeV):
        return _or_not(_in_range(lw, right, as_expr(lw, left, node), node), op)
    if isinstance(right, V) and isinstance(right.expr.type, Array | ListOf):
        from s2sad.frontend.calls import call_function

        if isinstance(left, StructV) and isinstance(right.expr, Var):
            rows.look_for_records(lw, right.expr, left)
            return lw.fail(node, "`in` is only supported here for what a list of numbers may hold")
        place = place_in(lw, right, left, node)
        if place is not None:
            return build(operator.ge if op == "In" else operator.lt, place, literal(0))
        items = as_expr(lw, array_of(lw, right, node), node)
        equal = apply(lw, operator.eq, (items, as_expr(lw, left, node)), {}, node)
        return _or_not(as_expr(lw, call_function(lw, np.any, [equal], {}, node), node), op)
    if isinstance(right, RowsV) and isinstance(left, StructV) and left.kind == "tuple":
        return _among_rows(lw, op, left, right, node)
    if isinstance(right, StaticV) and isinstance(right.value, frozenset | set | range):
        right = StructV("tuple", (), tuple(plain_value(lw, item, "item", node) for item in right.value))
    if isinstance(right, StructV):
        parts = [_compare_two(lw, "Eq", left, item, node) for item in right.items]
        if any(part is True for part in parts):
            return op == "In"
        exprs = [part for part in parts if not isinstance(part, bool)]
        if not exprs:
            return op != "In"
        found = exprs[0] if len(exprs) == 1 else Apply(ops.either, tuple(exprs), BOOL)
        return _or_not(found, op)
    return lw.fail(node, "`in` is only supported for containers of known structure")


def lacks_key(lw: Lowerer, items: StructV, key: Value, node: Any) -> Value:
    """Return whether a dict has no such key."""
    found = _membership(lw, "NotIn", key, items, node)
    return StaticV(found) if isinstance(found, bool) else V(found)


def _in_range(lw: Lowerer, right: RangeV, left: Expr, node: Any) -> Expr:
    """`n in range(a, b, s)`: between the ends, and on one of the steps."""
    step = right.step.value if isinstance(right.step, Const) else getattr(right.step.type, "value", None)
    if not isinstance(step, int):
        return lw.fail(
            node, "the step of this range is not known here", "Write a number for it, or compare with its ends."
        )
    number = lw.atom(left, "number", lw.span(node))
    forth = step > 0
    ends = (right.start, right.stop) if forth else (right.stop, right.start)
    least = build(operator.le if forth else operator.lt, ends[0], number)
    most = build(operator.lt if forth else operator.le, number, ends[1])
    within = Apply(ops.both, (least, most), BOOL)
    if abs(step) == 1 and not is_inexact(number.type):
        return within
    rest = build(operator.mod, build(operator.sub, number, right.start), literal(abs(step)))
    return Apply(ops.both, (within, build(operator.eq, rest, literal(0))), BOOL)


def _among_rows(lw: Lowerer, op: str, left: StructV, right: RowsV, node: Any) -> Expr | bool:
    """`(i, j) in pairs`: a turn in which every field is equal."""
    from s2sad.frontend.calls import call_function

    place = place_in(lw, right, left, node)
    if place is not None:
        return build(operator.ge if op == "In" else operator.lt, place, literal(0))
    fields, items = leaves_of(right), left.items
    numbers = all(isinstance(item, V) and isinstance(item.expr.type, Scalar) for item in items)
    if len(fields) != len(items) or not numbers or not all(_holds_numbers(field) for field in fields):
        return lw.fail(node, "`in` is only supported here for pairs of numbers, and longer tuples of them")
    equal = [
        apply(lw, operator.eq, (as_expr(lw, array_of(lw, V(field), node), node), as_expr(lw, item, node)), {}, node)
        for field, item in zip(fields, items, strict=True)
    ]
    whole = equal[0]
    for part in equal[1:]:
        whole = apply(lw, operator.and_, (as_expr(lw, whole, node), as_expr(lw, part, node)), {}, node)
    return _or_not(as_expr(lw, call_function(lw, np.any, [whole], {}, node), node), op)


def _holds_numbers(field: Expr) -> bool:
    return isinstance(field.type, ListOf) and isinstance(field.type.item, Scalar)


def _or_not(found: Expr, op: str) -> Expr:
    return found if op == "In" else Apply(operator.not_, (found,), BOOL)
