"""Attributes and methods of arrays and containers, as the functions that they are."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from s2sad.errors import AliasError
from s2sad.frontend import anew, exchanged_rows, formatted, growing, inherited, keyed, objects, rows, sparse, texts
from s2sad.frontend.arguments import UNKNOWN, known_value
from s2sad.frontend.containers import current, rewrite, write_item
from s2sad.frontend.expressions import append_all, as_expr, list_of, outside_value
from s2sad.frontend.infer import own_lengths
from s2sad.frontend.knownlists import known_list_method
from s2sad.frontend.lazily import check_extended_by_itself
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.matrices import grows_behind
from s2sad.frontend.nested_lists import lists_of
from s2sad.frontend.operators import apply, build
from s2sad.frontend.ragged import row_of
from s2sad.frontend.records import compiled_method
from s2sad.frontend.searched import SEARCHES, search
from s2sad.frontend.tallies import check_read
from s2sad.frontend.values import (
    MethodV,
    Poison,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    keys_of,
    literal,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Index, Slice, Store, Var
from s2sad.ir.types import Array, ListOf, Scalar, is_complex, is_inexact
from s2sad.runtime import integers

_AS_FUNCTIONS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "sum", "prod", "mean", "std", "var", "max", "min", "argmax", "argmin", "dot", "copy",
        "cumsum", "cumprod", "clip", "conj", "conjugate", "diagonal", "trace", "take", "repeat",
        "squeeze", "swapaxes", "all", "any", "argsort", "nonzero", "round", "ptp", "searchsorted",
    )
}  # fmt: skip


def attribute(lw: Lowerer, owner: Value, name: str, node: Any) -> Value:
    """Return `owner.name`."""
    match owner:
        case ZeroV():
            return MethodV(owner, name) if name not in ("T", "real", "imag") else owner
        case StaticV(obj):
            check_read(lw, obj, name, node)
            return _static_attribute(lw, obj, name, node)
        case StructV(inherited.Behind()):
            read = inherited.property_behind(lw, owner, name, node)
            return MethodV(owner, name) if read is None else read
        case StructV() if formatted.is_unknown(owner) or texts.is_choice(owner):
            formatted.refuse_parts(lw, owner, node)
            return owner
        case StructV("dict", keys, items) if name in keys and not hasattr(dict, name):
            return _settled(lw, items[keys.index(name)], name, node)  # of a class of dicts whose keys are attributes
        case StructV(kind, keys, items):
            if name == "__class__" and isinstance(kind, type):
                return StaticV(kind)
            if not isinstance(kind, str) and name in keys:
                return _settled(lw, items[keys.index(name)], name, node)
            if not isinstance(kind, str):
                found = inspect.getattr_static(kind, name, None)
                if isinstance(found, property) and found.fget is not None:
                    from s2sad.frontend.calls import call_function

                    return call_function(lw, found.fget, [owner], {}, node)
                if isinstance(found, functools.cached_property):
                    lw.fail(node, f"`{name}` is a `cached_property`, which keeps its value when what it reads changes",
                            "Make it a `property`, or an attribute that `__init__` sets.")  # fmt: skip
                if found is not None and not _is_method(found):
                    return outside_value(lw, getattr(kind, name), name, node, lambda: getattr(kind, name))
                if found is None and hasattr(kind, "__dataclass_fields__"):
                    lw.fail(node, f"`{getattr(kind, '__name__', kind)}` has no field `{name}`",
                            f"Only fields are followed; `{name}: float = field(init=False)` makes it one.")  # fmt: skip
            return MethodV(owner, name)
        case V(expr) if isinstance(expr.type, Array | Scalar):
            return _array_attribute(lw, owner, expr.type, name, node)
        case V(expr) if isinstance(expr.type, ListOf):
            return MethodV(owner, name)
        case RowsV():
            return MethodV(owner, name)
        case _:
            keyed.begin_again_with_rows(lw)
            return lw.fail(node, f"the attribute `{name}` is not supported here")


def _settled(lw: Lowerer, held: Value, name: str, node: Any) -> Value:
    """Return what an attribute holds; a located error if paths differ in what that is."""
    if isinstance(held, Poison):
        lw.fail(node, f"the attribute `{name}` has no single meaning here", held.reason + ".")
    return held


def _is_method(found: Any) -> bool:
    """Say whether what a class holds is called with the object first: a function, or what wraps one, as a rule does."""
    bare = isinstance(found, type) or not hasattr(type(found), "__get__")
    return isinstance(found, types.FunctionType | staticmethod | classmethod) or (callable(found) and not bare)


def _static_attribute(lw: Lowerer, obj: Any, name: str, node: Any) -> Value:
    from s2sad.frontend.device import DeviceName, device_attribute, is_cuda_module
    from s2sad.frontend.expressions import outside_value

    if is_cuda_module(obj) or isinstance(obj, DeviceName):
        return device_attribute(lw, f"{obj.path}.{name}" if isinstance(obj, DeviceName) else name, node)
    try:
        found = getattr(obj, name)
        found = compiled_method(obj, name) or found
    except AttributeError:
        if isinstance(obj, frozenset) and hasattr(set, name):
            return lw.fail(node, "a set that changes is not supported",
                           "Keep a flag for each that may be in it: `seen = np.zeros(n, dtype=bool)`.")  # fmt: skip
        return lw.fail(node, f"`{getattr(obj, '__name__', obj)}` has no attribute `{name}`")
    if sparse.is_sparse(obj) and (turned := sparse.attribute(lw, obj, name, node)) is not None:
        return turned
    owner = getattr(getattr(node, "value", None), "id", "")
    return outside_value(lw, found, f"{owner}_{name}" if owner else name, node, lambda: getattr(obj, name))


def _array_attribute(lw: Lowerer, owner: V, kind: Array | Scalar, name: str, node: Any) -> Value:
    expr = owner.expr
    dims = kind.dims if isinstance(kind, Array) else ()
    match name:
        case "shape":
            base = expr
            items = tuple(V(build(ops.dim, base, literal(i))) for i in range(len(dims)))
            return StructV("tuple", tuple(range(len(dims))), items)
        case "size":
            return V(build(ops.size, expr)) if dims else V(literal(1))
        case "ndim":
            return V(literal(len(dims)))
        case "itemsize" | "nbytes":
            each = literal(np.dtype(kind.dtype).itemsize)
            return V(build(operator.mul, build(ops.size, expr), each)) if dims and name == "nbytes" else V(each)
        case "dtype":
            return StaticV(np.dtype(kind.dtype))
        case "mT" if isinstance(kind, Array) and len(kind.dims) > 2:
            from s2sad.frontend.calls import call_function

            return call_function(lw, np.swapaxes, [owner, V(literal(-1)), V(literal(-2))], {}, node)
        case "T" | "mT":
            return owner if len(dims) < 2 else apply(lw, ops.transpose, (expr,), {}, node)
        case "mT":
            return apply(lw, np.swapaxes, (expr,), {"axis1": -1, "axis2": -2}, node)
        case "real" | "imag":
            return apply(lw, getattr(np, name), (expr,), {}, node)
        case "flat":
            if len(dims) == 1:
                return owner
            if kind.__class__ is Scalar or getattr(kind, "layout", "A") != "C":
                lw.fail(node, "`.flat` of an array that is not in C order is not supported",
                        "Use `x.ravel()` to read it.")  # fmt: skip
            return apply(lw, np.reshape, (expr, literal(-1)), {}, node)
        case _ if hasattr(np.ndarray, name) or hasattr(float, name):
            return MethodV(owner, name)
        case "bit_length" if isinstance(kind, Scalar) and np.dtype(kind.dtype).kind == "i":
            return MethodV(owner, name)
        case _:
            return lw.fail(node, f"{'numbers' if isinstance(kind, Scalar) else 'arrays'} have no attribute `{name}`")


def call_method(lw: Lowerer, method: MethodV, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Return `owner.method(*args, **kwargs)`."""
    owner, name = method.owner, method.name
    if isinstance(owner, StructV) and owner.cell is not None and not owner.cell.refusal:
        owner = current(lw, owner)  # `grow = shape.grow` is a method of the object as it will be
    if isinstance(owner, ZeroV):
        return owner
    if isinstance(owner, StructV) and isinstance(owner.kind, inherited.Behind):
        return inherited.method_behind(lw, owner, name, args, kwargs, node)
    searched = isinstance(owner, RowsV) or (isinstance(owner, StructV) and owner.kind in ("list", "tuple"))
    if name in SEARCHES and (searched or (isinstance(owner, V) and isinstance(owner.expr.type, ListOf))):
        return search(lw, name, current(lw, owner) if isinstance(owner, StructV) else owner, args, node)
    if isinstance(owner, StructV):
        return _struct_method(lw, owner, name, args, kwargs, node)
    if isinstance(owner, RowsV):
        _check_extended(lw, name, node)
        return rows.method(lw, owner, name, args, node, kwargs)
    assert isinstance(owner, V)
    if isinstance(owner.expr.type, ListOf):
        _check_extended(lw, name, node)
        return list_method(lw, owner, name, args, kwargs, node)
    return _array_method(lw, owner, name, args, kwargs, node)


def _check_extended(lw: Lowerer, name: str, node: Any) -> None:
    if name == "extend" and isinstance(getattr(node, "func", None), gast.Attribute) and node.args:
        check_extended_by_itself(lw, node.func.value, node.args[0], node)


def _struct_method(
    lw: Lowerer, owner: StructV, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    match name:
        case "items" if owner.kind == "dict":
            keys = keys_of(owner).items
            pairs = [StructV("tuple", (0, 1), pair) for pair in zip(keys, owner.items, strict=True)]
            return StructV("list", tuple(range(len(pairs))), tuple(pairs))
        case "keys" if owner.kind == "dict":
            return keys_of(owner)
        case "values" if owner.kind == "dict":
            return StructV("list", tuple(range(len(owner.items))), owner.items)
        case "get" if owner.kind == "dict" and (key := known_value(args[0])) is not UNKNOWN:
            if key in owner.keys:
                return owner.items[owner.keys.index(key)]
            return args[1] if len(args) > 1 else StaticV(None)
        case "copy" if owner.kind in ("dict", "list"):
            return replace(owner, cell=None)
        case "_replace" if hasattr(owner.kind, "_fields"):
            return objects.changed(lw, owner, kwargs, node)
        case "_asdict" if hasattr(owner.kind, "_fields"):
            return StructV("dict", owner.keys, owner.items)
        case _ if owner.kind == "list":
            _check_extended(lw, name, node)
            return known_list_method(lw, owner, name, args, kwargs, node)
        case _ if owner.kind == "dict":
            return dict_method(lw, owner, name, args, kwargs, node)
        case _:
            return _own_method(lw, owner, name, args, kwargs, node)


def dict_method(
    lw: Lowerer, owner: StructV, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """Methods of a dict whose keys are known."""
    now = current(lw, owner)
    key = _key(args[0]) if args else None
    match name:
        case "update" if not args or (isinstance(args[0], StructV) and args[0].kind == "dict"):
            given = args[0] if args else StructV("dict", (), ())
            assert isinstance(given, StructV)
            for word, value in {**dict(zip(given.keys, given.items, strict=True)), **kwargs}.items():
                write_item(lw, owner, word, value, node)
            return StaticV(None)
        case "setdefault" if key is not None and len(args) == 2:
            if key not in now.keys:
                write_item(lw, owner, key, args[1], node)
            now = current(lw, owner)
            return now.items[now.keys.index(key)]
        case "setdefault":
            keyed.begin_again(lw, node)
            return lw.fail(node, "the key of this dict is not known before the function runs",
                           "Count keys in an array, `total[k] += v`, or loop over known keys.")  # fmt: skip
        case "pop" if key is not None:
            if key not in now.keys:
                return args[1] if len(args) == 2 else lw.fail(node, f"the key {key!r} is not in this dict")
            left = [(k, v) for k, v in zip(now.keys, now.items, strict=True) if k != key]
            rewrite(lw, owner, tuple(k for k, _ in left), tuple(v for _, v in left), node)
            return now.items[now.keys.index(key)]
        case _:
            keyed.begin_again(lw, node)
            return lw.fail(node, f"`{name}` of a dict is not supported here", "Its keys must be known constants.")


def _key(value: Value) -> Any:
    known = known_value(value)
    return None if known is UNKNOWN else known


def _own_method(
    lw: Lowerer, owner: StructV, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """A method that the class of a namedtuple or dataclass defines."""
    from s2sad.frontend.calls import call_function

    found = None if isinstance(owner.kind, str) else inspect.getattr_static(owner.kind, name, None)
    match found:
        case staticmethod():
            return call_function(lw, found.__func__, args, kwargs, node)
        case classmethod():
            return call_function(lw, found.__func__, [StaticV(owner.kind), *args], kwargs, node)
        case _ if _is_method(found):
            return call_function(lw, found, [owner, *args], kwargs, node)
        case _:
            kind = owner.kind if isinstance(owner.kind, str) else owner.kind.__name__
            return lw.fail(node, f"`{name}` of a {kind} is not supported")


def _refuse_growing(lw: Lowerer, item: Value, node: Any) -> None:
    """Refuse a list in a list that changes behind that: what it holds would have two names."""
    kind = item.expr.type if isinstance(item, V) else None
    if isinstance(kind, ListOf) and (kind.item is None or is_inexact(kind.item)) and grows_behind(lw.source.node, node):
        lw.fail(node, "a list is appended to another here, and changes behind that",
                "Append it when it is done, or as an array: `rows.append(np.array(row))`.", AliasError)  # fmt: skip


FROM_THE_LEFT = {"popleft": "pop", "appendleft": "insert"}
"""What a deque, which is a list here, does at its beginning."""


def list_method(
    lw: Lowerer, owner: V, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """A method of a list that the function builds."""
    if name in FROM_THE_LEFT:
        name, args = FROM_THE_LEFT[name], [V(literal(0)), *args]
    if name == "append" and isinstance(owner.expr, Var):
        args = [row_of(lw, args[0], node, node) if hasattr(node, "as_row") else texts.coded(lw, args[0])]
        _refuse_growing(lw, args[0], node)
        rows.look_for_records(lw, owner.expr, args[0])
        value = as_expr(lw, args[0], node)
        kind = owner.expr.type
        assert isinstance(kind, ListOf)
        value = growing.fitted(lw, owner.expr, value, node)
        item = value.type if kind.item is None else _joined(kind.item, value.type)
        target = Var(owner.expr.name, ListOf(item))
        lw.emit(Append(target, value, lw.span(node)))
        anew.hold(lw, target)
        return StaticV(None)
    if name == "extend" and len(args) == 1 and isinstance(args[0], StructV):
        for item in growing.read_before(lw, args[0].items, node):
            list_method(lw, owner, "append", [item], {}, node)
        return StaticV(None)
    if name == "extend" and len(args) == 1 and isinstance(args[0], V) and isinstance(owner.expr, Var):
        kind, given = owner.expr.type, args[0].expr.type
        same = isinstance(kind, ListOf) and kind.item is not None and isinstance(given, Array | ListOf)
        if same and args[0].expr != owner.expr:
            append_all(lw, owner.expr, args[0], node)
            return StaticV(None)
    if name == "extend" and len(args) == 1 and isinstance(owner.expr, Var) and args[0] != owner:
        return append_each(lw, owner, args[0], node)
    if name == "insert" and len(args) == 2 and isinstance(owner.expr, Var):
        rows.look_for_records(lw, owner.expr, args[1])
        return anew.inserted(lw, owner.expr, args[0], args[1], node)
    if name == "copy" and not args:
        return list_of(lw, owner, node)
    first = len(args) == 1 and isinstance(args[0], V) and getattr(args[0].expr.type, "value", None) == 0
    if name == "pop" and first and isinstance(owner.expr, Var):
        return anew.popped_first(lw, owner.expr, node)
    if name == "pop" and not args and isinstance(owner.expr, Var):
        kind = owner.expr.type
        assert isinstance(kind, ListOf)
        if kind.item is None:
            growing.item_of_empty(lw, owner.expr, node)
        assert kind.item is not None
        popped = Apply(ops.pop, (owner.expr,), own_lengths(kind.item))
        return V(lw.atom(popped, "item", lw.span(node)))
    if name == "sort" and not args and isinstance(owner.expr, Var):
        if anew.sort(lw, owner.expr, kwargs, node):
            return StaticV(None)
    if name == "pop" and len(args) == 1 and isinstance(owner.expr, Var):
        return anew.popped(lw, owner.expr, args[0], node)
    if name == "remove" and len(args) == 1 and isinstance(owner.expr, Var):
        anew.popped(lw, owner.expr, search(lw, "index", owner, args, node), node)
        return StaticV(None)
    if name in ("reverse", "clear") and not args and isinstance(owner.expr, Var):
        return (anew.reverse if name == "reverse" else anew.clear)(lw, owner.expr, node)
    why = (
        "Only `append`, `extend`, `insert`, `pop`, `remove`, `reverse`, `clear`, `sort`.\n"
        "Keep the index of an item, or use an array."
    )
    return lw.fail(node, f"`{name}` of a growing list is not supported here", why)


def append_each(lw: Lowerer, owner: V | RowsV, items: Value, node: Any) -> Value:
    """`items.extend(f(x) for x in y)`: each is appended before the next is asked for, as Python does."""
    from s2sad.frontend.functional import bind_each, placed
    from s2sad.frontend.statements import lower_block

    (target, given), item = bind_each(lw, [owner, items]), lw.fresh("item")
    loop = f"for {item} in {given}:\n    {target}.append({item})\n"
    lower_block(lw, placed(gast.parse(loop).body, node))
    return StaticV(None)


def _joined(a: Any, b: Any) -> Any:
    from s2sad.frontend.values import join_types

    return join_types(a, b, "") or a


def _array_method(lw: Lowerer, owner: V, name: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.indexing import lower_index

    expr = owner.expr
    if name in ("conj", "conjugate") and not is_complex(expr.type):
        return owner  # NumPy returns the very array
    if name == "copy" and isinstance(expr.type, Array):
        return copied(lw, owner, args[0] if args else kwargs.get("order", StaticV("C")), node)
    if name in _AS_FUNCTIONS:
        return call_function(lw, _AS_FUNCTIONS[name], [owner, *args], kwargs, node)
    match name:
        case "__getitem__":
            return lower_index(lw, owner, [as_expr(lw, args[0], node)], node)
        case "reshape":
            shape = args[0] if len(args) == 1 else StructV("tuple", tuple(range(len(args))), tuple(args))
            return call_function(lw, np.reshape, [owner, shape], kwargs, node)
        case "transpose":
            if not args:
                return _array_attribute(lw, owner, expr.type, "T", node)  # type: ignore[arg-type]
            given = args[0] if len(args) == 1 and isinstance(args[0], StructV) else None
            axes = given or StructV("tuple", tuple(range(len(args))), tuple(args))
            return call_function(lw, np.transpose, [owner, axes], kwargs, node)
        case "flatten":
            named = dict(zip(("order",), args, strict=False)) | kwargs
            flat = call_function(lw, np.ravel, [owner], named, node)
            return call_function(lw, np.copy, [flat], {}, node)
        case "ravel":
            return call_function(lw, np.ravel, [owner], dict(zip(("order",), args, strict=False)) | kwargs, node)
        case "compress":
            return call_function(lw, np.compress, [args[0], owner, *args[1:]], kwargs, node)
        case "sort" | "partition":
            whole = Index(expr, (Slice(None, None, None),), expr.type)
            ordered = call_function(lw, getattr(np, name), [owner, *args], kwargs, node)
            lw.emit(Store(whole, "", as_expr(lw, ordered, node), lw.span(node)))
            return StaticV(None)
        case "put":
            return call_function(lw, np.put, [owner, *args], kwargs, node)
        case "astype":
            named = dict(zip(("dtype", "order", "casting", "subok", "copy"), args, strict=False)) | kwargs
            return converted(lw, owner, named, True, node)
        case "bit_length":
            return call_function(lw, integers.bit_length, [owner], kwargs, node)
        case "item" | "__float__":
            return _item(lw, owner, args, node)
        case "tolist" if isinstance(expr.type, Array) and len(expr.type.dims) == 1:
            return list_of(lw, owner, node)
        case "tolist" if isinstance(expr.type, Scalar):
            return owner
        case "tolist":
            exchanged_rows.begin_again(lw)
            return lists_of(lw, owner, node)
        case "fill":
            whole = Index(expr, (Slice(None, None, None),), expr.type)
            lw.emit(Store(whole, "", as_expr(lw, args[0], node), lw.span(node)))
            return StaticV(None)
        case "view" if not args and not kwargs:
            return owner
        case "choose":
            return call_function(lw, np.choose, [owner, *args], kwargs, node)
        case "is_integer" | "view" | "byteswap" | "setflags" | "resize":
            return lw.fail(node, f"the array method `{name}` is not supported", "Use a NumPy function instead.")
        case _:
            return lw.fail(node, f"the array method `{name}` is not supported")


def copied(lw: Lowerer, owner: V, order: Value, node: Any) -> Value:
    """A copy in C order, or in the order that the array has."""
    word = order.value if isinstance(order, StaticV) else None
    kind = owner.expr.type
    assert isinstance(kind, Array)
    if word not in ("C", "K", "A"):
        return lw.fail(node, "a copy in Fortran order is not supported", "Work on the transposed array.")
    if word != "C" or kind.layout == "C" or len(kind.dims) < 2:
        return apply(lw, np.copy, (owner.expr,), {}, node)
    ordered = Array(kind.dtype, kind.dims, "C")
    return V(Apply(np.copy, (Apply(np.ascontiguousarray, (owner.expr,), ordered),), ordered))


def converted(lw: Lowerer, owner: V, named: dict[str, Value], copies: bool, node: Any) -> Value:
    """An array as another dtype, or copied, or the very array where NumPy returns that.

    `copies` is what leaving `copy=` out means: True for `astype` and `np.array`, False for `np.asarray`.
    """
    from s2sad.frontend.calls import call_function

    for word in named:
        if word not in ("dtype", "copy", "order", "casting", "subok"):
            return lw.fail(node, f"`{word}=` of a conversion is not supported", "Reshape the array instead.")
    settings = {word: known_value(value) for word, value in named.items() if word != "dtype"}
    if any(known is UNKNOWN for known in settings.values()) or settings.get("order") not in (None, "K", "C", "A"):
        return lw.fail(node, "the settings of a conversion must be known constants, and the order C")
    copies = bool(settings.get("copy", copies))
    dtype = named.get("dtype")
    kind = owner.expr.type
    assert isinstance(kind, Array | Scalar)
    if dtype is not None and not (isinstance(dtype, StaticV) and dtype.value is None):
        changed = _astype(lw, owner, dtype, node)
        same = isinstance(changed, V) and getattr(changed.expr.type, "dtype", "") == kind.dtype
        if copies or not same:
            return changed
    if copies and isinstance(kind, Array):
        return copied(lw, owner, StaticV(settings.get("order") or "K"), node)
    if copies:
        return call_function(lw, np.copy, [owner], {}, node)
    if settings.get("order") == "C" and isinstance(kind, Array) and kind.layout != "C":
        return V(Apply(np.ascontiguousarray, (owner.expr,), Array(kind.dtype, kind.dims, "C")))
    return owner


def _astype(lw: Lowerer, owner: V, dtype: Value, node: Any) -> Value:
    if not isinstance(dtype, StaticV):
        return lw.fail(node, "the dtype must be known")
    if dtype.value is object or dtype.value in ("object", "O"):
        return lw.fail(node, "an array of objects holds no numbers that could be followed", "Use a numeric dtype.")
    target = {float: np.float64, int: np.int64, complex: np.complex128, bool: np.bool_}.get(dtype.value, dtype.value)
    scalar_type = np.dtype(target).type
    if np.dtype(target).kind not in "biufc":
        what = "an array of texts or dates holds no numbers that could be followed"
        return lw.fail(node, what, "Use a numeric dtype.")
    kind = owner.expr.type
    if isinstance(kind, Scalar):
        return apply(lw, scalar_type, (owner.expr,), {}, node)
    assert isinstance(kind, Array)
    cast_type = Array(np.dtype(target).name, kind.dims, kind.layout)
    return V(Apply(ops.astype, (owner.expr,), cast_type, (("dtype", scalar_type),)))


def _item(lw: Lowerer, owner: V, args: list[Value], node: Any) -> Value:
    from s2sad.frontend.indexing import lower_index

    if isinstance(owner.expr.type, Scalar):
        return owner
    kind = owner.expr.type
    assert isinstance(kind, Array)
    if len(args) == 1 and len(kind.dims) > 1 and isinstance(args[0], V):
        flat = apply(lw, np.ravel, (owner.expr,), {}, node)
        return lower_index(lw, flat, [as_expr(lw, args[0], node)], node)
    if args:
        places = list(args[0].items) if isinstance(args[0], StructV) else args
        return lower_index(lw, owner, [as_expr(lw, a, node) for a in places], node)
    return lower_index(lw, owner, [literal(0)] * len(kind.dims), node)
