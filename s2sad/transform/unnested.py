"""Lists of lists that go from one sweep to the other go as one list, and how long each was.

    return result, rows                  return result, flat_list(rows), list_lengths(rows)

    def f_bwd(rows, result_bar):   and   def f_bwd(rows_items, rows_lengths, result_bar):
                                             rows = nested_list(rows_items, rows_lengths)

Between the sweeps they are Python's, and Numba takes no list of lists from there.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.frontend.infer import fresh_dim
from s2sad.ir.nodes import Apply, Assign, Expr, Function, Param, Return, Stmt, Var
from s2sad.ir.types import Array, ListOf, Type
from s2sad.ir.walk import names_in
from s2sad.runtime.lists import flat_arrays, flat_list, list_lengths, nested_arrays, nested_list
from s2sad.transform.naming import Namer


def with_flat_results(fn: Function, count: int) -> tuple[Function, int]:
    """Return `fn` with the last `count` of its results flat, and how many they are then."""
    last = fn.body[-1] if fn.body else None
    if not count or not any(map(is_nested, fn.results[-count:])):
        return fn, count
    assert isinstance(last, Return)
    values = [*last.values[:-count], *(part for value in last.values[-count:] for part in _flat(value))]
    more = len(values) - len(last.values)
    body = (*fn.body[:-1], replace(last, values=tuple(values)))
    return replace(fn, body=body, results=tuple(value.type for value in values)), count + more


def with_flat_params(fn: Function, count: int) -> tuple[Function, int]:
    """Return `fn` that takes its first `count` parameters flat, and how many they are then."""
    if not any(is_nested(param.type) for param in fn.params[:count]):
        return fn, count
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    params: list[Param] = []
    made: list[Stmt] = []
    for param in fn.params[:count]:
        params += _taken(Var(param.name, param.type), namer, made, fn)
    more = len(params) - count
    return replace(fn, params=(*params, *fn.params[count:]), body=(*made, *fn.body)), count + more


def is_nested(kind: Type) -> bool:
    """Say whether a type is a list of lists."""
    return isinstance(kind, ListOf) and isinstance(kind.item, ListOf)


def _flat(value: Expr) -> list[Expr]:
    if not is_nested(value.type):
        return [value]
    assert isinstance(value.type, ListOf)
    kind = value.type.item
    assert isinstance(kind, ListOf)
    whole = Apply(flat_arrays if isinstance(kind.item, Array) else flat_list, (value,), kind)
    return [*_flat(whole), Apply(list_lengths, (value,), Array("int64", (fresh_dim(),), "C"))]


def _taken(var: Var, namer: Namer, made: list[Stmt], fn: Function) -> list[Param]:
    """Return the parameters that a list comes in; what puts it together again goes to `made`."""
    if not is_nested(var.type):
        return [Param(var.name, var.type)]
    assert isinstance(var.type, ListOf)
    kind = var.type.item
    assert isinstance(kind, ListOf)
    items = Var(namer.fresh(f"{var.name}_items"), kind)
    lengths = Var(namer.fresh(f"{var.name}_lengths"), Array("int64", (fresh_dim(),), "C"))
    params = [*_taken(items, namer, made, fn), Param(lengths.name, lengths.type)]
    nested = nested_arrays if isinstance(kind.item, Array) else nested_list
    made.append(Assign(var, Apply(nested, (items, lengths), var.type), fn.span))
    return params
