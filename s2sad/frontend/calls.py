"""Calls: which kind of callable it is, and what a call of that kind becomes."""

from __future__ import annotations

import builtins
import enum
import functools
import inspect
import logging
import operator
import sys
import types
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from s2sad.errors import AliasError, ArgumentError, MissingRuleError, UnsupportedSyntaxError
from s2sad.frontend import choices, formatted, growing, objects, protocols, records, references, rows, sparse
from s2sad.frontend.arguments import (
    STATIC_NAMES,
    UNKNOWN,
    in_order,
    known_value,
    missing_rule_help,
    parameters_of,
    split_arguments,
)
from s2sad.frontend.computed import computed, member, repeatable
from s2sad.frontend.containers import AN_ITEM, UNDECIDED, identified, is_lost_write, may_be_returned, writes_given
from s2sad.frontend.dispatch import chosen
from s2sad.frontend.displays import (
    array_of,
    displayed,
    gathered,
    is_built,
    joined,
    makes_array,
    of_lists,
    rows_as_arrays,
    shape_as_tuple,
)
from s2sad.frontend.distributions import call_distribution, is_written_in_place
from s2sad.frontend.effects import has_effects
from s2sad.frontend.expansion import write_expansion
from s2sad.frontend.expressions import as_expr, lower_expr, lower_test
from s2sad.frontend.functional import Partial, call_partial
from s2sad.frontend.indexing import lower_index
from s2sad.frontend.infer import REACHING, InferenceError, infer, infer_several, infer_several_of_any_length
from s2sad.frontend.interpolants import call_interpolant
from s2sad.frontend.lowerer import BottomReached, Instance, Lowerer
from s2sad.frontend.noneresults import called
from s2sad.frontend.numba_objects import call_numba_object, refuse_overloaded
from s2sad.frontend.operators import apply, build
from s2sad.frontend.order import Order
from s2sad.frontend.shape_arguments import SHAPED, with_known_shape
from s2sad.frontend.solvers import refuse_solver
from s2sad.frontend.source import has_source, source_of, unwrap
from s2sad.frontend.starred import starred_arguments
from s2sad.frontend.surely import refuse_none
from s2sad.frontend.transforms import Derivation, Linear, as_derivation, call_transformed, needs_writing_out
from s2sad.frontend.values import (
    FuncV,
    MethodV,
    RangeV,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    const,
    leaves_of,
    literal,
    rebuild,
    type_of,
)
from s2sad.frontend.whole_matrices import as_real
from s2sad.frontend.written_loops import stops_early, summed
from s2sad.ir import ops
from s2sad.ir.draws import UNSUPPORTED, is_draw, rehearsed
from s2sad.ir.nodes import Apply, Assign, CallStmt, Expr, Index, Pack, Slice, Store, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, is_complex, is_inexact, leaf_types, rank
from s2sad.ir.views import VIEWS, is_advanced
from s2sad.ir.walk import root_of
from s2sad.rules.rearranging import PARTS, vectorized
from s2sad.rules.writing import AT, OPERATORS


def lower_call(lw: Lowerer, node: Any) -> Value:
    """Lower a call of anything."""
    target = _without_equality(lower_expr(lw, node.func))
    if (stopped := stops_early(lw, target, node)) is not None:
        return stopped
    if (total := summed(lw, target, node)) is not None:
        return total
    order = Order(lw)
    for part in node.args:
        whole = makes_array(target) and not order.values and not isinstance(part, gast.Starred)
        known = target.value if isinstance(target, StaticV) and _hashable(target.value) else None
        method = isinstance(target, MethodV) and target.name == "reshape"
        sized = isinstance(part, gast.BinOp) and (method or SHAPED.get(known) == len(order.values))
        order.lower((shape_as_tuple(part) if sized else None) or rows_as_arrays(part, node.func) if whole or sized
                    else getattr(part, "value", part) if isinstance(part, gast.Starred) else part)  # fmt: skip
    for keyword in node.keywords:
        order.lower(keyword.value)
    stars = [inner for part, inner in zip(node.args, order.values, strict=False) if isinstance(part, gast.Starred)]
    if target == StaticV(builtins.zip) and stars and isinstance(stars[0], RowsV):
        return rows.columns(lw, stars[0], node)
    args = starred_arguments(lw, target, node, order.values) if stars else order.values[: len(node.args)]
    kwargs: dict[str, Value] = {}
    for keyword, value in zip(node.keywords, order.values[len(node.args) :], strict=True):
        if keyword.arg is None:
            if not (isinstance(value, StructV) and value.kind == "dict"):
                return lw.fail(node, "only a dict of known keys can be passed with `**`")
            kwargs.update(zip(value.keys, value.items, strict=True))
        else:
            kwargs[keyword.arg] = value
    return call_value(lw, target, args, kwargs, node)


def call_value(lw: Lowerer, target: Value, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a value of any kind."""
    from s2sad.frontend.device import DeviceName, call_device, numba_number
    from s2sad.frontend.methods import call_method

    if isinstance(target, StaticV) and (cast := numba_number(target.value)) is not None:
        target = StaticV(cast)
    match target:
        case StaticV(DeviceName() as name):
            return call_device(lw, name, args, kwargs, node)
        case FuncV():
            from s2sad.frontend.inline import call_local

            return call_local(lw, target, args, kwargs, node)
        case MethodV():
            return call_method(lw, target, args, kwargs, node)
        case StaticV(fn) if callable(fn):
            return call_function(lw, fn, args, kwargs, node)
        case StructV(kind=choices.OneOf()):
            return choices.call(lw, target, args, kwargs, node)
        case StructV(kind=Partial()):
            return call_partial(lw, target, args, kwargs, node)
        case StructV(kind=Derivation() | Linear()):
            return call_transformed(lw, target, args, kwargs, node)
        case StructV() if (result := records.called(lw, target, args, kwargs, node)) is not None:
            return result
        case _:
            return lw.fail(node, "this value cannot be called")


def call_function(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a function that is known now."""
    if any(isinstance(a, ZeroV) for a in args):
        return ZeroV()
    if getattr(fn, "s2sad_stop_gradient", False):
        return _stopped(lw, args[0], node)
    fn = chosen(lw, fn, args, node)
    if getattr(fn, "s2sad_defines_rule", False):
        from s2sad.frontend.statements import RULE_OUTSIDE

        lw.fail(node, "a rule cannot be defined inside a differentiated function", RULE_OUTSIDE)
    rule = lw.ctx.rule_of(fn) if lw.ctx.rule_of is not None else None
    if rule is not None:
        from s2sad.frontend.rulecalls import call_ruled

        return call_ruled(lw, rule.fun if isinstance(fn, types.MethodType) else fn, rule, args, kwargs, node)
    if fn is np.einsum and not _given(kwargs.get("out")):
        from s2sad.frontend.einsum import call_einsum

        return call_einsum(lw, args, {name: v for name, v in kwargs.items() if name != "out"}, node)
    from s2sad.frontend.specials import SPECIAL

    if _hashable(fn) and fn in _JOINS and len(args) > 1 and isinstance(args[1], V) and rank(args[1].expr.type):
        lw.fail(node, f"`{fn.__name__}` takes its arrays in one tuple or list",
                f"Write `np.{fn.__name__}((a, b))`.", ArgumentError)  # fmt: skip
    args, kwargs = _named(fn, args, kwargs)
    if _hashable(fn) and fn in PARTS and len(args) and _is_array_of_parts(args[0]):
        fn = PARTS[fn]
    if getattr(fn, "__name__", "") == "prange" and (getattr(fn, "__module__", "") or "").startswith("numba"):
        fn = builtins.range  # Numba itself is imported by who compiles only
        span = lw.source.span(node)
        lw.ctx.at_once[span.file, span.line] = lw.source.parallel
    if len(args) == 1 and not kwargs and _is_cast_to_itself(fn, args[0]):
        fn = np.asarray
    if fn is np.ravel and args and _is_scalar(args[0]):
        fn, args, kwargs = np.atleast_1d, args[:1], {}
    if fn in (np.reshape, np.expand_dims) and len(args) == 2 and _is_scalar(args[0]):
        places = args[1].items if isinstance(args[1], StructV) else (args[1],)
        if fn is np.reshape and not places:
            return args[0]
        if fn is np.expand_dims or all(known_value(size) in (1, -1) for size in places):
            ones = StructV("tuple", tuple(range(len(places))), (V(literal(1)),) * len(places))
            fn, args, kwargs = np.full, [ones, args[0]], {}
    if fn is np.bincount and len(args) == 3:
        args, kwargs = args[:2], {**kwargs, "minlength": args[2]}
    if _hashable(fn) and fn in SHAPED:
        args, kwargs = with_known_shape(lw, fn, args, kwargs, node)
    if _hashable(fn) and fn in (np.vstack, np.column_stack) and args and isinstance(args[0], StructV):
        args = [_of_vectors(lw, args[0], node), *args[1:]]
    special = SPECIAL.get(fn) if _hashable(fn) else None
    if _hashable(fn) and fn in protocols.TAKES_ITEMS:
        args = protocols.with_items(lw, fn, args, node)
    if _hashable(fn) and (said := protocols.called_with(lw, fn, args, node)) is not None:
        return said
    if len(args) == 2 and (own := records.operated(lw, fn, args[0], args[1], node) if _hashable(fn) else None):
        return own
    if fn in (int, float) and len(args) == 1 and formatted.is_unknown(args[0]):
        formatted.refuse(lw, node)
    if fn in (int, float) and len(args) == 1 and isinstance(args[0], StaticV) and isinstance(args[0].value, str):
        try:
            return const(fn(args[0].value))
        except ValueError as error:
            return lw.fail(node, f"`{fn.__name__}` cannot read this text", f"Python says: {error}.", ArgumentError)
    if special is not None:
        try:
            return special(lw, args, kwargs, node)
        except IndexError:
            if len(args) > 1:
                raise
            return lw.fail(node, f"`{fn.__name__}` is called with too few arguments", "", ArgumentError)
    if isinstance(getattr(fn, "__self__", None), logging.Logger):
        return StaticV(None)
    if isinstance(getattr(fn, "__self__", None), str):
        return formatted.method(lw, fn, args, kwargs, node)
    if isinstance(fn, np.vectorize):
        return _vectorized(lw, fn, args, kwargs, node)
    if isinstance(fn, functools.partial):
        fixed: list[Value] = [outside(lw, a, node) for a in fn.args]
        named = {name: outside(lw, value, node, name) for name, value in fn.keywords.items()}
        return call_function(lw, fn.func, [*fixed, *args], {**named, **kwargs}, node)
    if isinstance(fn, type) and (hasattr(fn, "_fields") or hasattr(fn, "__dataclass_fields__")):
        return objects.of_fields(lw, fn, args, kwargs, node)
    if fn is types.SimpleNamespace and not args:
        return identified(StructV(fn, tuple(kwargs), tuple(kwargs.values())))
    if isinstance(fn, enum.EnumType) and (found := member(lw, fn, args, node)) is not None:
        return found
    if records.is_plain_class(fn):
        return records.construct(lw, fn, args, kwargs, node)
    if getattr(fn, "__self__", None) is not None and isinstance(getattr(fn, "__self__", None), np.ufunc):
        return _ufunc_method(lw, fn, args, kwargs, node)
    if needs_writing_out(fn):
        return call_transformed(lw, as_derivation(fn), args, kwargs, node)
    if is_written_in_place(fn) and (written := write_expansion(lw, fn, args, kwargs, node)) is not None:
        return written
    if _is_user_function(fn):
        return call_user(lw, fn, args, kwargs, node)
    if (getattr(fn, "__module__", "") or "").startswith("s2sad."):
        made = _own_function(lw, fn, args, kwargs, node)
        if made is not None:
            return made
        if fn.__module__ == "s2sad.rules.subscripts":
            return StaticV(None)
    if (result := sparse.called(lw, fn, args, kwargs, node)) is not None:
        return result
    if (result := call_numba_object(lw, fn, args, kwargs, node)) is not None:
        return result
    if (result := call_interpolant(lw, fn, args, kwargs, node)) is not None:
        return result
    if (result := call_distribution(lw, fn, args, kwargs, node)) is not None:
        return result
    own = getattr(type(fn), "__call__", None)
    if isinstance(own, types.FunctionType) and not has_source(fn) and python_callee(own):
        return call_user(lw, types.MethodType(own, fn), args, kwargs, node)
    if python_callee(fn):
        refuse_overloaded(lw, fn, node)
        return call_user(lw, fn, args, kwargs, node)
    if fn is np.copy and args and isinstance(args[0], V) and isinstance(args[0].expr.type, Scalar):
        return args[0]
    if fn is np.copy and ("order" in kwargs or len(args) > 1) and isinstance(args[0], V):
        from s2sad.frontend.methods import copied

        return copied(lw, args[0], args[1] if len(args) > 1 else kwargs["order"], node)
    out = kwargs.pop("out", None)
    if isinstance(fn, np.ufunc) and len(args) > fn.nin:
        places = tuple(args[fn.nin :])
        out = places[0] if len(places) == 1 else StructV("tuple", tuple(range(len(places))), places)
        args = args[: fn.nin]
    if out is not None and _given(out):
        return _into(lw, fn, args, kwargs, out, node)
    if isinstance(fn, np.ufunc) and known_value(kwargs.get("where", const(True))) is not True:
        why = "Without `out=`, the elements that are left out have no value. Give `out=`, or use np.where."
        return lw.fail(node, "`where=` without `out=` is not supported", why)
    if isinstance(fn, np.ufunc):
        kwargs.pop("where", None)
    body = _expansion(fn, args, kwargs)
    if body is not None and _is_of_arrays(fn) and any(map(_is_list_of_numbers, args)):
        args = [call_function(lw, np.array, [a], {}, node) if _is_list_of_numbers(a) else a for a in args]
        body = _expansion(fn, args, kwargs)
    if body is not None:
        names = parameters_of(fn) or ()
        args = [_settled(names[i] if i < len(names) else "", a) for i, a in enumerate(args)]
        kwargs = {name: _settled(name, v) for name, v in kwargs.items()}
        written = write_expansion(lw, body, args, kwargs, node)
        return _call_expansion(lw, body, args, kwargs, node) if written is None else written
    return library_call(lw, fn, args, kwargs, node)


def _is_of_arrays(fn: Any) -> bool:
    """Say whether a function is NumPy's, to which a list of numbers is an array."""
    return (getattr(fn, "__module__", None) or "").partition(".")[0] == "numpy"


def _is_list_of_numbers(value: Value) -> bool:
    kind = value.expr.type if isinstance(value, V) else None
    return isinstance(kind, ListOf) and isinstance(kind.item, Scalar)


def _of_vectors(lw: Lowerer, parts: StructV, node: Any) -> StructV:
    """Return what is stacked, numbers as arrays of one element."""
    items = (call_function(lw, np.atleast_1d, [item], {}, node) if _is_scalar(item) else item for item in parts.items)
    return replace(parts, items=tuple(items))


def _is_cast_to_itself(fn: Any, value: Value) -> bool:
    """Say whether a call is `np.float64(a)` of an array that is of this kind: it gives the memory of the array."""
    kind = value.expr.type if isinstance(value, V) else None
    return isinstance(kind, Array) and isinstance(fn, type) and issubclass(fn, np.generic) and kind.dtype == fn.__name__


def _call_expansion(lw: Lowerer, body: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call the code that stands for a library function; what cannot be read in it is said of the user's call."""
    try:
        return call_user(lw, body, args, kwargs, node)
    except (UnsupportedSyntaxError, MissingRuleError, ArgumentError) as error:
        if error.span is None or error.span.file != source_of(body).file:
            raise
        raise type(error)(f"`{body.__name__}`: {error.what}", lw.span(node), error.why) from error


def _own_function(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Call a transform, or another of s2sad's functions if all its arguments are known now."""
    from s2sad.frontend.decorators import refuse_checkpoint
    from s2sad.frontend.transforms import IMMEDIATE, REFUSED, call_transform, known_structure, transform_name

    name = transform_name(fn)
    is_checkpoint = getattr(fn, "__name__", "") == "checkpoint" and str(fn.__module__).startswith("s2sad.")
    if is_checkpoint and any(isinstance(arg, FuncV) for arg in args):
        refuse_checkpoint(lw, node)
    known = [known_structure(a) for a in args]
    named = {key: known_structure(value) for key, value in kwargs.items()}
    if name not in IMMEDIATE | REFUSED and known and not any(k is UNKNOWN for k in [*known, *named.values()]):
        try:
            return outside(lw, fn(*known, **named), node)
        except ops.Refused as refused:
            lw.fail(node, *refused.args)
    return call_transform(lw, fn, args, kwargs, node) if name else None


def _given(value: Value | None) -> bool:
    """Say whether an argument is there and is not None."""
    return value is not None and not (isinstance(value, StaticV) and value.value is None)


def _is_array_of_parts(value: Value) -> bool:
    return isinstance(value, V) and isinstance(value.expr.type, Array)


def _named(fn: Any, args: list[Value], kwargs: dict[str, Value]) -> tuple[list[Value], dict[str, Value]]:
    """Return the arguments of a call, of a function of NumPy's those by name that are `dtype`, `out` or behind it."""
    if isinstance(fn, np.ufunc) or not (getattr(fn, "__module__", None) or "").startswith("numpy"):
        return args, kwargs
    names = parameters_of(fn) or ()
    first = next((k for k, name in enumerate(names) if name in ("dtype", "out")), len(args))
    if "out" not in names or len(args) <= first or len(args) > len(names):
        return args, kwargs
    named = {name: value for name, value in zip(names[first:], args[first:], strict=False) if _given(value)}
    return args[:first], {**named, **kwargs}


def _into_several(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], out: StructV, node: Any) -> Value:
    """`np.modf(x, out=(a, b))`: each result is written into its array."""
    results = call_function(lw, fn, args, kwargs, node)
    assert isinstance(results, StructV)
    given = zip(results.items, out.items, strict=True)
    return StructV("tuple", results.keys, tuple(
        _filled(lw, item, place, fn, node) if _given(place) else item for item, place in given
    ))  # fmt: skip


def _into(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], out: Value, node: Any) -> Value:
    """`np.f(x, out=y, where=mask)`: the result is written into `y`, where the mask says so."""
    if isinstance(fn, np.ufunc) and fn.nout > 1 and isinstance(out, StructV) and len(out.items) == fn.nout:
        return _into_several(lw, fn, args, kwargs, out, node)
    place = out.items[0] if isinstance(out, StructV) and len(out.items) == 1 else out
    target = as_expr(lw, place, node)
    if not isinstance(target, Var | Index):  # `out=np.zeros_like(b)`: a new array, which the call gives back
        name = Var(lw.fresh("filled"), target.type)
        lw.emit(Assign(name, target, lw.span(node)))
        target, place = name, V(name)
    mask = kwargs.pop("where", const(True)) if isinstance(fn, np.ufunc) else const(True)
    result = call_function(lw, fn, args, kwargs, node)
    if known_value(mask) is not True:
        result = call_function(lw, np.where, [mask, result, V(target)], {}, node)
    return _filled(lw, result, place, fn, node)


def _filled(lw: Lowerer, result: Value, place: Value, fn: Any, node: Any) -> Value:
    """Write a result into the array that was given for it."""
    value, target = as_expr(lw, result, node), as_expr(lw, place, node)
    held, given = value.type, target.type
    said = f"`{getattr(fn, '__name__', 'function')}` has a result of"
    if not isinstance(given, Array):
        return lw.fail(node, f"{said} numbers in an array, and `out` is a number", "Give it an array.", ArgumentError)
    if isinstance(held, Scalar | Array) and is_inexact(held) and not is_inexact(given):
        return lw.fail(node, f"{said} dtype {held.dtype}, which `out` of dtype {given.dtype} cannot hold",
                       "Give it an array of real numbers.", ArgumentError)  # fmt: skip
    rank = len(held.dims) if isinstance(held, Array) else 0
    if rank != len(given.dims) and not isinstance(fn, np.ufunc):
        return lw.fail(node, f"{said} rank {rank}, which does not fill `out` of rank {len(given.dims)}",
                       "Give it an array of the shape of the result.", ArgumentError)  # fmt: skip
    lw.emit(Store(Index(target, (Slice(None, None, None),), given), "", value, lw.span(node)))
    return place


def _stopped(lw: Lowerer, value: Value, node: Any) -> Value:
    """`stop_gradient(x)`: the value, through which no derivative flows."""
    if isinstance(value, StructV):
        return StructV(value.kind, value.keys, tuple(_stopped(lw, item, node) for item in value.items))
    if not isinstance(value, V):
        return value
    expr = build(np.copy, value.expr) if isinstance(value.expr.type, Array) else value.expr
    return V(Apply(ops.stop_gradient, (expr,), expr.type))


def _expansion(fn: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """Return the Python function that says in simpler calls what this form of `fn` does, or None."""
    from s2sad.rules.registry import expansion

    if not _hashable(fn):
        return None
    missing = any(isinstance(a, StaticV) and a.value is None for a in [*args, *kwargs.values()])
    named = {**dict(zip(parameters_of(fn) or (), args, strict=False)), **kwargs}
    known = {name: number for name, v in named.items() if (number := known_value(v)) is not UNKNOWN}
    ranks = [_rank(a) for a in args]
    complexes = [isinstance(a, V) and is_complex(a.expr.type) for a in args]
    arrays = any(isinstance(a, V) and isinstance(a.expr.type, Array | ListOf) for a in args)
    widths = [_width(a) for a in args]
    seen = {**known, "given": frozenset(named), "ndim": ranks, "width": widths, "complex": complexes, "arrays": arrays}
    return expansion(fn, len(args), set(kwargs), missing, seen)


def _settled(name: str, value: Value) -> Value:
    """A setting that is known decides the path of an expansion, also a number that is no integer."""
    known = known_value(value)
    return StaticV(known) if (name in STATIC_NAMES or name == "p") and isinstance(known, float) else value


def _rank(value: Value) -> int:
    return len(value.expr.type.dims) if isinstance(value, V) and isinstance(value.expr.type, Array) else 0


def _width(value: Value) -> int | None:
    """Return the length of the last axis of an array, if it is known."""
    dims = value.expr.type.dims if isinstance(value, V) and isinstance(value.expr.type, Array) else ()
    return dims[-1] if dims and isinstance(dims[-1], int) else None


def outside(lw: Lowerer, value: Any, node: Any, name: str = "bound") -> Value:
    """Return an object that no name of the program means, but another object holds."""
    from s2sad.frontend.expressions import outside_value

    return outside_value(lw, value, name, node, lambda: value)


def _without_equality(target: Value) -> Value:
    """Return the method that an object is called by, where the object says itself what is equal to it."""
    if not isinstance(target, StaticV) or isinstance(target.value, type) or not callable(target.value):
        return target
    of_values = type(target.value).__hash__ is None  # as Python sets it where a class has `__eq__` alone
    return StaticV(types.MethodType(type(target.value).__call__, target.value)) if of_values else target


def _hashable(fn: Any) -> bool:
    try:
        hash(fn)
    except TypeError:
        return False
    return True


def _is_user_function(fn: Any) -> bool:
    """Say whether `fn` is a derivative (`grad(f)`) or carries a rule of the user's."""
    return hasattr(fn, "s2sad_kind")


def python_callee(fn: Any) -> bool:
    """Say whether to differentiate `fn` from its source: Python outside NumPy and SciPy."""
    from s2sad.rules import find

    if _hashable(fn) and find(fn) is not None:
        return False
    if not has_source(fn):
        return False
    module = getattr(unwrap(fn), "__module__", "") or ""
    top = module.split(".")[0]
    # `implicit` is written with the public surface, and read as the user's code is; the rules are what a reading calls
    if module.startswith(("s2sad.implicit", "s2sad.rules.")):
        return True
    return top not in ("numpy", "scipy", "s2sad") and (top == "__main__" or top not in sys.stdlib_module_names)


def _may_change_its_owner(method: MethodV) -> bool:
    from s2sad.frontend.functions import parameter_names

    owner = method.owner
    if not isinstance(owner, StructV) or owner.cell is None:
        return False
    body = inspect.getattr_static(owner.kind, method.name, None) if isinstance(owner.kind, type) else None
    if not isinstance(body, types.FunctionType):
        return owner.kind in ("list", "dict", "set")
    node = source_of(body).node
    names = parameter_names(node)
    return bool(names) and writes_given(node, {names[0]: owner})


def call_user(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a Python function: one more function of the program, specialised on the arguments."""
    from s2sad.frontend.captures import pass_captured
    from s2sad.frontend.functions import bind_arguments, instantiate, is_ours, parameter_names
    from s2sad.frontend.generic import canonical, known_results, learn, restored, shares_memory
    from s2sad.frontend.inline import inline_call, inline_expression, returns_a_function
    from s2sad.frontend.yielded import check_handed_on, gives_values, listed

    if not hasattr(fn, "s2sad_kind"):
        if gives_values(fn):
            return listed(lw, fn, args, kwargs, node)
        check_handed_on(lw, source_of(fn).node, node)
    inlined = inline_expression(lw, fn, args, kwargs, node)
    if inlined is not None:
        return inlined
    bound = bind_arguments(lw, fn, args, kwargs, node)
    if not hasattr(fn, "s2sad_kind"):
        source = source_of(fn)
        if is_ours(source):
            lw.ctx.called_from.setdefault((source.span(source.node).file, source.name), lw.span(node))
        given = dict(zip(parameter_names(source.node)[-len(bound) :], bound, strict=False)) if bound else {}
        if writes_given(source.node, given) or returns_a_function(source.node):
            inlined = inline_call(lw, fn, args, kwargs, node)
            if inlined is not None:
                return inlined
    if any(isinstance(value, MethodV) and _may_change_its_owner(value) for value in bound):
        inlined = inline_call(lw, fn, args, kwargs, node)
        return inlined or lw.fail(node, "a function is given a method that changes its object",
                                  "Call the method here, or give the function one `return`, at its end.")  # fmt: skip
    actual = tuple(type_of(value) for value in bound)
    kinds, back = canonical(actual, any(i.fun is fn and i.open for i in lw.ctx.instances.values()))
    mark = lw.mark()
    try:
        instance = instantiate(lw.ctx, fn, kinds, lw.span(node))
    except AliasError as error:  # a function that it calls writes into what it was given
        lw.back_to(mark)
        may_be_followed = is_lost_write(error) or AN_ITEM.refusal in error.what
        inlined = inline_call(lw, fn, args, kwargs, node) if may_be_followed else None
        if inlined is None:
            raise
        return inlined
    except UnsupportedSyntaxError as error:
        growing.supposed(lw, [leaf for value in bound for leaf in leaves_of(value)], error, node)
        if error.what != references.NOT_TOLD_APART:
            raise
        lw.back_to(mark)
        inlined = inline_call(lw, fn, args, kwargs, node)  # here it is known which object each is
        if inlined is None:
            raise
        return inlined
    if instance.result is None:
        raise BottomReached
    if references.may_give_item(instance) and any(references.is_referred(value) for value in bound):
        lw.back_to(mark)
        inlined = inline_call(lw, fn, args, kwargs, node)
        return inlined or lw.fail(node, f"`{instance.name}` returns an object that it was given, of a list",
                                  "Give it one `return`, at its end.", AliasError)  # fmt: skip
    if references.returns_list(lw, instance):
        lw.back_to(mark)
        inlined = inline_call(lw, fn, args, kwargs, node)
        if inlined is not None:
            return inlined
    if shares_memory(lw.ctx, instance, bound) or (lw.ctx.device and _needs_inlining(bound)):
        inlined = inline_call(lw, fn, args, kwargs, node)
        if inlined is not None:
            return inlined
        if lw.ctx.device and _needs_inlining(bound):
            return lw.fail(node, f"`{instance.name}` takes an array, and returns from several places or calls itself",
                           "On a device it is written into its caller: give it one `return`, at its end.")  # fmt: skip
    span = lw.span(node)
    _require_apart(lw, instance, [leaf for value in bound for leaf in leaves_of(value)], node)
    leaves = [argument(lw, leaf, span) for value in bound for leaf in leaves_of(value)]
    passed = pass_captured(lw, instance.captured)
    leaves += passed
    for own, given in zip(instance.captured, passed, strict=True):
        learn(own.var.type, given.type, back)
    results: list[Expr] = []
    result = restored(instance.result, back)
    for kind in leaf_types(result):
        results.append(Var(lw.fresh(_result_name(fn, len(leaf_types(result)))), kind))
    targets = tuple(r for r in results if isinstance(r, Var))
    lw.emit(CallStmt(targets, instance.name, tuple(leaves), span))
    for position, leaf in enumerate(leaves):
        growing.passed(lw, leaf, instance.function, position, node)
    given = rebuild(result, known_results(instance, results))
    if instance.returns_given:
        may_be_returned(lw, bound)
    given = identified(given, UNDECIDED if instance.returns_given or instance.returns_item else None)
    return called(lw, given, node, instance.name, instance.optional_result is not None)


def _require_apart(lw: Lowerer, instance: Instance, leaves: list[Expr], node: Any) -> None:
    """Check that a derivative gets no array twice that its function writes into; raises AliasError."""
    for at in lw.ctx.copied.get(instance.name, ()):
        root = root_of(leaves[at]) if at < len(leaves) else None
        others = [root_of(leaf) for i, leaf in enumerate(leaves) if i != at and isinstance(leaf.type, Array)]
        if root is not None and any(other is not None and other.name == root.name for other in others):
            lw.fail(node, f"what is called writes into an argument, and `{root.name}` is given twice",
                    f"Pass a copy: `{root.name}.copy()`.", AliasError)  # fmt: skip


def _needs_inlining(bound: list[Value]) -> bool:
    """On a device, what threads add to an array together is decided in the kernel's own text."""
    return any(isinstance(leaf.type, Array) for value in bound for leaf in leaves_of(value))


def argument(lw: Lowerer, leaf: Expr, span: Any) -> Expr:
    """Arrays are passed by name or as views of what has a name; anything computed gets a name first."""
    if isinstance(leaf.type, Array) and isinstance(leaf, Apply | Pack | Index) and not _is_named_view(leaf):
        return lw.atom(leaf, "argument", span)
    return leaf


def _is_named_view(leaf: Expr) -> bool:
    """Say whether an argument is a slice or a transpose of a name: its adjoint is then the same view of the name's."""
    match leaf:
        case Var():
            return True
        case Index(base, index):
            return not is_advanced(index) and _is_named_view(base)
        case Apply(fn, (base,)) if fn is ops.transpose:
            return _is_named_view(base)
        case _:
            return False


def _result_name(fn: Any, count: int) -> str:
    name = getattr(unwrap(fn), "__name__", "result")
    name = name.strip("_") if name.startswith("__") else name  # `a @ b` of objects has a `matmul_value`
    return f"{name}_value" if count == 1 else f"{name}_part"


def library_call(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """NumPy, `math`, SciPy, builtins: typed by asking them."""
    from s2sad.rules import find

    if has_effects(fn):
        name = getattr(fn, "__name__", None) or getattr(fn, "name", "this")
        lw.fail(node, f"`{name}` is called for what it does, which a differentiated function cannot do",
                "Call it outside, with what the function returns.")  # fmt: skip
    if (result := computed(lw, fn, args, kwargs, node)) is not None:
        return result
    refuse_solver(lw, fn, [*args, *kwargs.values()], node)
    if fn is np.where and len(args) == 3 and not kwargs and all(_is_scalar(a) for a in args):
        return apply(lw, ops.ifexp, tuple(as_expr(lw, a, node) for a in args), {}, node)
    args = [array_of(lw, arg, node) if isinstance(arg, RangeV) else arg for arg in args]
    if fn not in _TAKES_LISTS:
        names = parameters_of(fn) or ()
        args = [
            displayed(lw, fn, gathered(lw, a, node), node, names[k] if k < len(names) else "")
            for k, a in enumerate(args)
        ]
        kwargs = {name: displayed(lw, fn, v, node, name) if name in names else v for name, v in kwargs.items()}
    elif args and isinstance(args[0], V) and isinstance(args[0].expr.type, ListOf) and fn is not np.array:
        return joined(lw, fn, args[0], {**dict(zip(("axis",), args[1:], strict=False)), **kwargs}, node)
    elif fn not in (np.array, np.block) and args and isinstance(args[0], StructV):
        made = [isinstance(item, StructV) or is_built(item) for item in args[0].items]
        parts = tuple(array_of(lw, item, node) if on else item for item, on in zip(args[0].items, made, strict=True))
        args = [StructV(args[0].kind, args[0].keys, parts), *args[1:]]
    elif fn is np.array and args and isinstance(args[0], StructV):
        whole = of_lists(lw, args[0], node)
        if not isinstance(whole, StructV):
            return call_function(lw, fn, [whole, *args[1:]], kwargs, node)
    if is_draw(fn):
        return _draw(lw, fn, args, kwargs, node)
    dynamic, static = split_arguments(lw, fn, args, kwargs, node)
    dynamic = as_real(fn, dynamic)
    nouns = several_results(fn)
    if nouns:
        return _several(lw, fn, nouns, dynamic, static, node)
    try:
        kind = infer(fn, tuple(dynamic), static)
    except InferenceError as error:
        several = _several_without_rule(lw, fn, dynamic, static, node)
        return _untypable(lw, fn, dynamic, str(error), node) if several is None else several
    if _hashable(fn) and fn in REACHING and fn not in VIEWS and find(fn) is None:
        return lw.fail(node, f"`{fn.__name__}` gives memory of its argument, or writes into it, and has no rule",
                       "Writes would be lost. Take the array, an item of it, or a copy.", AliasError)  # fmt: skip
    if getattr(kind, "dtype", "") == "object":
        return lw.fail(node, "an array of objects holds no numbers that could be followed", "Use a numeric dtype.")
    return V(Apply(fn, tuple(dynamic), kind, tuple(static.items())))


def _draw(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A random number has a name of its own from the start, so that nothing evaluates it again."""
    if fn.__name__ in UNSUPPORTED:
        return lw.fail(node, f"`{fn.__name__}` of a random generator is not supported", "Call it outside.")
    if lw.instance is not next(iter(lw.ctx.instances.values()), None):
        why = "A called function may run again in the reverse sweep. Draw in the function that is differentiated."
        return lw.fail(node, "a random number cannot be drawn in a function that is called", why)
    dynamic, static = split_arguments(lw, fn, [*args, *in_order(fn, len(args), kwargs)], kwargs, node)
    try:
        kind = infer(rehearsed(fn), tuple(dynamic), static)
    except InferenceError as error:
        return _untypable(lw, fn, dynamic, str(error), node)
    return V(lw.atom(Apply(fn, tuple(dynamic), kind, tuple(static.items())), fn.__name__, lw.span(node)))


def several_results(fn: Any) -> tuple[str, ...]:
    """Return nouns for the results of a library function that has several, else nothing."""
    from s2sad.rules import Structured, find

    rule = find(fn) if _hashable(fn) else None
    return rule.results if isinstance(rule, Structured) else ()


def _several(
    lw: Lowerer, fn: Any, nouns: tuple[str, ...], args: list[Expr], static: dict[str, Any], node: Any
) -> Value:
    """A library function with several results is a statement: its results have names."""
    try:
        kind = infer_several(fn, tuple(args), static)
    except InferenceError as error:
        return _untypable(lw, fn, args, str(error), node)
    return _named_results(lw, fn, nouns, args, static, kind, node)


def _several_without_rule(lw: Lowerer, fn: Any, args: list[Expr], static: dict[str, Any], node: Any) -> Value | None:
    """Several results without a rule are values, as long as nothing that they are made of is differentiated."""
    from s2sad.rules import find

    if not repeatable(fn) or find(fn) is not None:
        return None
    try:
        kind = infer_several_of_any_length(fn, tuple(args), static)
    except InferenceError:
        return None
    if len(kind.items) < 2:
        return None
    return _named_results(lw, fn, (f"{fn.__name__}_part",) * len(kind.items), args, static, kind, node)


def _named_results(
    lw: Lowerer, fn: Any, nouns: tuple[str, ...], args: list[Expr], static: dict[str, Any], kind: Struct, node: Any
) -> Value:
    span = lw.span(node)
    atoms = tuple(lw.atom(arg, "argument", span) if isinstance(arg.type, Array) else arg for arg in args)
    targets = tuple(Var(lw.fresh(noun), item) for noun, item in zip(nouns, kind.items, strict=True))
    lw.emit(CallStmt(targets, "", atoms, span, fn, tuple(static.items())))
    return rebuild(kind, list(targets))


def _is_scalar(value: Value) -> bool:
    return isinstance(value, V) and isinstance(value.expr.type, Scalar)


_JOINS: frozenset[Any] = frozenset({np.stack, np.concatenate, np.vstack, np.hstack, np.column_stack, np.dstack})
_TAKES_LISTS: frozenset[Any] = frozenset({
    np.array, np.stack, np.concatenate, np.vstack, np.hstack, np.column_stack, np.dstack, np.block,
})  # fmt: skip


def _untypable(lw: Lowerer, fn: Any, args: list[Expr], reason: str, node: Any) -> Value:
    from s2sad.rules import find

    name = getattr(fn, "__name__", str(fn))
    if any(arg.type == Static(None) for arg in args):
        return refuse_none(lw, fn, node)
    if fn in (np.random.default_rng, np.random.seed) or name in ("RandomState", "Random"):
        what = "seeded" if name == "seed" else "made"
        why = (
            f"A generator {what} anew draws outside the derivative's order. Do it before the call, and pass the\n"
            'numbers that it gave (`f(x, noise)`), or with target="python" the generator (`f(x, rng)`), as an argument.'
        )
        return lw.fail(node, f"a random generator cannot be {what} inside the function", why)
    if not _hashable(fn) or find(fn) is None:
        return lw.fail(node, f"`{name}` has no derivative rule", missing_rule_help(fn), MissingRuleError)
    return lw.fail(node, f"`{name}` cannot be applied here", f"NumPy says: {reason.strip()}.", ArgumentError)


def _ufunc_method(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`np.add.at`, `np.add.reduce` and their like."""
    owner, name = fn.__self__, fn.__name__
    if name == "at":  # a list of values is an array
        args = [*args[:2], *(array_of(lw, a, node) if isinstance(a, StructV) else a for a in args[2:])]
    if name == "at" and owner in (np.add, np.subtract):
        target = as_expr(lw, args[0], node)
        index = args[1]
        items = list(index.items) if isinstance(index, StructV) and index.kind == "tuple" else [index]
        from s2sad.frontend.indexing import index_item

        place = lower_index(lw, V(target), [index_item(lw, i, node) for i in items], node)
        value = as_expr(lw, args[2], node)
        if owner is np.subtract:
            value = build(operator.neg, value)
        assert isinstance(place, V)
        lw.emit(Store(place.expr, "+", value, lw.span(node), accumulate=True))
        return StaticV(None)
    if name == "at" and owner.nin in AT and owner.nout == 1 and len(args) == owner.nin + 1:
        return _at_places(lw, owner, args, node)
    from s2sad.rules import folding

    if name == "reduceat" and len(args) == 2 and not kwargs and _rank(args[0]) == 1 and owner in folding.FOLDED:
        given = [array_of(lw, arg, node) for arg in args]
        return call_user(lw, folding.reduceat, [StaticV(owner), *given], kwargs, node)
    if name in ("reduce", "accumulate") and owner in folding.FOLDED and len(args) < 3:
        if len(args) > 1:
            kwargs["axis"], args = args[1], args[:1]
        args = [array_of(lw, arg, node) for arg in args]
        known = folding.KNOWN[name].get(owner)
        if known is not None:
            kwargs.setdefault("axis", const(0))
            return call_function(lw, known, args, kwargs, node)
        return call_user(lw, folding.GENERIC[name], [StaticV(owner), *args], kwargs, node)
    if name == "outer" and owner is np.multiply and all(_rank(a) == 1 for a in args):
        return call_function(lw, np.outer, args, kwargs, node)
    if name == "outer" and len(args) == 2:
        return call_user(lw, folding.outer, [StaticV(owner), *args], kwargs, node)
    if name == "reduceat" and owner in folding.FOLDED:
        return lw.fail(node, f"`{owner.__name__}.reduceat` of an array of several axes is not supported",
                       f"Call it for one row after the other, or `{owner.__name__}.reduce` for each part.")  # fmt: skip
    return lw.fail(node, f"`{owner.__name__}.{name}` is not supported")


def _at_places(lw: Lowerer, owner: Any, args: list[Value], node: Any) -> Value:
    """`np.multiply.at(a, indices, b)` by one array of places in the first axis, or by a mask of it."""
    if isinstance(args[1], StructV) and args[1].kind == "tuple":
        return lw.fail(node, f"`{owner.__name__}.at` by several indices is not supported", "Write the loop.")
    places = args[1] if isinstance(args[1], V) and _rank(args[1]) == 0 else array_of(lw, args[1], node)
    if isinstance(places, V) and getattr(places.expr.type, "dtype", "") == "bool":
        places = call_function(lw, np.flatnonzero, [places], {}, node)
    fn = StaticV(OPERATORS.get(owner, owner))
    return call_function(lw, AT[owner.nin], [fn, args[0], places, *args[2:]], {}, node)


def _vectorized(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call what `np.vectorize` made outside: its function, for every element."""
    if fn.signature is not None or fn.excluded or kwargs:
        return lw.fail(node, "`vectorize` is read for a function alone, without `excluded` or `signature`",
                       "Write the loop, or use s2sad.vmap.")  # fmt: skip
    return call_function(lw, vectorized, [StaticV(fn.pyfunc), *args], {}, node)


# ---- builtins and functions that are syntax rather than arithmetic ----


__all__ = ["call_function", "call_value", "lower_call", "lower_test"]
