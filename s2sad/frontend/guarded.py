"""Text that stands for objects, and for what calls may do: laid into a `try` by `raising.py`, lowered here."""

from __future__ import annotations

import builtins
from typing import Any, TypeGuard

import gast
from numpy.linalg import LinAlgError

from s2sad.frontend.callees import Classes, is_of_the_user, may_raise, text_of
from s2sad.frontend.jumps import blocks, own
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import may_be_none, optional_names
from s2sad.frontend.raisers import (
    OF_ATTRIBUTES,
    OF_FUNCTIONS,
    OF_KEYS,
    OF_KINDS,
    OF_PLACES,
    OF_READING,
    Raiser,
)
from s2sad.frontend.source import Source, unwrap
from s2sad.frontend.values import FuncV, StaticV, StructV, V, Value
from s2sad.ir.types import Array, ListOf, Scalar, is_inexact


class Held(gast.AST):
    """A piece of text that stands for an object: an exception class, a function."""

    _fields = ()

    def __init__(self, value: Any = None) -> None:
        """Hold one."""
        super().__init__()
        self.value = value


class Guarded(gast.AST):
    """Stands for a function in a `try`: called, it returns None where it raises what is caught there."""

    _fields = ("func",)

    def __init__(self, func: Any = None, handler: Any = None, classes: Classes = ()) -> None:
        """Say which function, and what is caught by which handler."""
        super().__init__(func=func)
        self.handler, self.classes = handler, classes


class Raises(gast.AST):
    """Asks whether an operation on these operands raises."""

    _fields = ("operands",)

    def __init__(self, raiser: Raiser | None = None, operands: list[Any] | None = None) -> None:
        """Say of which, and what."""
        super().__init__(operands=operands or [])
        self.raiser = raiser


def lower_held(lw: Lowerer, node: Held) -> Value:
    """Lower a held object: itself."""
    del lw
    return node.value if isinstance(node.value, FuncV) else StaticV(node.value)


def lower_guarded(lw: Lowerer, node: Guarded) -> Value:
    """Lower a function that is called in a `try`: itself, if it does not raise what is caught."""
    from s2sad.frontend.expressions import lower_expr

    value = lower_expr(lw, node.func)
    fn = value if isinstance(value, FuncV) else getattr(value, "value", None)
    if fn is not None and not may_raise(lw, fn, node.classes, ()):
        return value
    if isinstance(fn, FuncV) or (is_of_the_user(fn) and not hasattr(fn, "s2sad_kind")):
        source, text = text_of(fn)
        if _returns_none(text):
            lw.fail(node.func, f"`{source.name}` returns None on some paths, and may raise what is caught here",
                    "Return something else there: here, None says that it has raised.")  # fmt: skip
        return _returning_none(lw, fn, node.classes)
    named = getattr(fn, "__name__", None)
    return lw.fail(node.handler, "what this handler catches cannot be told from the text of its `try`",
                   f"Whether {f'`{named}`' if named else 'a call in it'} raises is known only once it is called.\n"
                   "Test for the condition with `if` instead.")  # fmt: skip


def lower_raises(lw: Lowerer, node: Raises) -> Value:
    """Lower the question whether an operation raises: False where its operands are of kinds that never do."""
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.calls import call_value
    from s2sad.frontend.comparisons import lacks_key
    from s2sad.frontend.expressions import lower_expr
    from s2sad.frontend.inline import inline_expression

    raiser = node.raiser
    assert raiser is not None
    values = [lower_expr(lw, operand) for operand in node.operands]
    if raiser in OF_KEYS:
        items, key = values
        return lacks_key(lw, items, key, node) if _is_dict(items) else StaticV(False)
    if raiser in OF_ATTRIBUTES:
        owner, name = values
        assert isinstance(name, StaticV)
        return StaticV(_has_none(raiser, owner, name))
    if raiser in OF_KINDS:
        return StaticV(isinstance(values[0], V) and isinstance(values[0].expr.type, Scalar))
    if not _may_raise_of(raiser, values):
        return StaticV(False)
    if raiser in OF_PLACES and isinstance(values[0], StructV) and isinstance(place := known_value(values[1]), int):
        length = len(values[0].items)
        return StaticV(not -length <= place < length)
    given = [values[at] for at in raiser.operands]
    written = inline_expression(lw, raiser.fails, given, {}, node)
    return written if written is not None else call_value(lw, StaticV(raiser.fails), given, {}, node)


def _has_none(raiser: Raiser, owner: Value, name: StaticV) -> bool:
    """Say whether a value has no attribute of a name, or takes none."""
    from s2sad.frontend.specials import class_of

    if isinstance(owner, StaticV):
        return raiser in OF_READING and raiser.fails(owner.value, name.value)
    if not isinstance(owner, V | StructV):
        return False
    kind = class_of(owner)
    if raiser in OF_READING:
        held = owner.keys if isinstance(owner, StructV) and isinstance(owner.kind, type) else ()
        return name.value not in held and not any(name.value in vars(base) for base in kind.__mro__)
    return not (isinstance(owner, StructV) and isinstance(owner.kind, type)) and raiser.fails(kind, name.value)


def _is_dict(value: Value) -> TypeGuard[StructV]:
    return isinstance(value, StructV) and value.kind == "dict"


def _may_raise_of(raiser: Raiser, values: list[Value]) -> bool:
    kinds = [value.expr.type if isinstance(value, V) else None for value in values]
    if raiser in OF_PLACES:
        items = isinstance(kinds[0], Array | ListOf) or (isinstance(values[0], StructV) and not _is_dict(values[0]))
        return items and isinstance(kinds[1], Scalar)
    if raiser.error is LinAlgError:
        return True
    if not all(isinstance(kind, Scalar) for kind in kinds):
        return False
    if raiser.error is OverflowError or raiser.operands == (0,):
        if not any(isinstance(kind, Scalar) and is_inexact(kind) for kind in kinds):
            return raiser.error is not OverflowError and raiser not in OF_FUNCTIONS[builtins.int]
    return not raiser.only_python or all(isinstance(kind, Scalar) and kind.weak for kind in kinds)


def _returning_none(lw: Lowerer, fn: Any, classes: Classes) -> FuncV:
    """Return a function whose body stands in a `try`, and that returns None where something is caught there."""
    key = ("returning None", id(fn.node) if isinstance(fn, FuncV) else id(unwrap(fn)), classes)
    if key not in lw.ctx.computed:
        source, node = text_of(fn)
        lw.ctx.computed[key] = source, _in_try(node, classes)
        lw.ctx.keep.append(fn)
    source, node = lw.ctx.computed[key]
    if isinstance(fn, FuncV):
        return FuncV(node, source, fn.env, fn.name, fn.defaults, fn.apart, fn.owner)
    return FuncV(node, source, {}, source.name, defaults_of(lw, source))


def defaults_of(lw: Lowerer, source: Source) -> dict[str, Value]:
    """Return what the parameters of a function are if they are not given."""
    from s2sad.frontend.functions import default_of

    named = [a.id for a in [*source.node.args.posonlyargs, *source.node.args.args]]
    given = [*named[len(named) - len(source.defaults) :], *source.kw_defaults]
    return {name: default_of(lw, source, name, named, lw.statement) for name in given}


def _in_try(node: Any, classes: Classes) -> Any:
    """Return a function with its body in a `try`."""
    if isinstance(node, gast.Lambda):
        name, body = "lambda_", [gast.copy_location(gast.Return(value=node.body), node.body)]
    else:
        name, body = node.name, node.body
    first = body[0]
    none = gast.copy_location(gast.Return(value=gast.copy_location(gast.Constant(value=None, kind=None), first)), first)
    held = gast.copy_location(Held(classes), first)
    handler = gast.copy_location(gast.ExceptHandler(type=held, name=None, body=[none]), first)
    whole = gast.copy_location(gast.Try(body=_with_a_result(body), handlers=[handler], orelse=[], finalbody=[]), first)
    made = gast.FunctionDef(name=name, args=node.args, body=[whole], decorator_list=[], returns=None,
                            type_comment=None, type_params=[])  # fmt: skip
    return gast.copy_location(made, node)


def _returns_none(node: Any) -> bool:
    """Say whether a function may return None on some paths and something else on others."""
    if isinstance(node, gast.Lambda):
        return may_be_none(node.body)
    given = [n.value for n in own(node.body) if isinstance(n, gast.Return)]
    is_none = [v is None or (isinstance(v, gast.Constant) and v.value is None) for v in given]
    if all(is_none):
        return False  # it returns nothing
    unset = optional_names(node)
    asked = any(may_be_none(v) or (isinstance(v, gast.Name) and v.id in unset) for v in given if v is not None)
    return any(is_none) or asked or not _leaves(node.body)


def _leaves(nodes: list[Any]) -> bool:
    """Say whether statements surely end by a `return` or a `raise`."""
    match nodes[-1] if nodes else None:
        case gast.Return() | gast.Raise():
            return True
        case gast.If(body=body, orelse=orelse):
            return _leaves(body) and _leaves(orelse)
        case gast.With(body=body):
            return _leaves(body)
        case gast.While(test=gast.Constant(value=True), body=body):
            return not any(isinstance(n, gast.Break) for n in own(body))
        case gast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
            return _leaves(last) or (_leaves(orelse or body) and all(_leaves(h.body) for h in handlers))
        case _:
            return False


def _with_a_result(body: list[Any]) -> list[Any]:
    """Return the statements of a function; one that returns nothing returns True."""
    if any(isinstance(n, gast.Return) and n.value is not None for n in own(body)):
        return body
    last = body[-1]
    done = gast.copy_location(gast.Constant(value=True, kind=None), last)

    def returned(nodes: list[Any]) -> list[Any]:
        return [
            gast.copy_location(gast.Return(value=done), n) if isinstance(n, gast.Return) else blocks(n, returned)
            for n in nodes
        ]

    return [*returned(body), gast.copy_location(gast.Return(value=done), last)]


__all__ = ["Guarded", "Held", "Raises", "defaults_of", "lower_guarded", "lower_held", "lower_raises"]
