"""Which results of an emitted function surely own their memory, so that no call has to look."""

from __future__ import annotations

import operator
from collections import Counter

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.frontend.infer import OPERATORS
from s2sad.ir.nodes import Append, Apply, Assign, CallStmt, Expr, Function, Return, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import bound, statements

_CREATIONS = frozenset({
    np.zeros, np.zeros_like, np.ones, np.ones_like, np.empty, np.empty_like, np.full, np.full_like, np.copy,
    np.outer, np.eye, np.dot, operator.matmul, np.sum, np.mean, np.concatenate, np.stack, np.where, np.cumsum,
})  # fmt: skip


def unshared(fn: Function, functions: dict[str, Function]) -> frozenset[int]:
    """Return the positions of the results that share memory with no argument and no other result.

    Only what arithmetic or a creation has made counts; where in doubt a result is left out.
    """
    returns = [stmt for stmt in statements(fn.body) if isinstance(stmt, Return)]
    if len(returns) != 1:
        return frozenset()
    groups = Groups(fn, Facts(functions))
    doubtful = {groups.find(p.name) for p in fn.params}
    for stmt in statements(fn.body):
        match stmt:
            case Assign(target, value) if isinstance(target.type, Array):
                if not _is_new(value) and not isinstance(value, Var):
                    doubtful.add(groups.find(target.name))
            case Assign():
                pass
            case CallStmt() | Append():
                doubtful.update(groups.find(name) for name in bound(stmt))
            case _:
                pass
    values = returns[0].values
    names = Counter(groups.find(value.name) for value in values if isinstance(value, Var))
    return frozenset(
        i for i, value in enumerate(values)
        if _is_new(value)
        or (isinstance(value, Var) and groups.find(value.name) not in doubtful and names[groups.find(value.name)] == 1)
    )  # fmt: skip


def given_back(fn: Function) -> frozenset[int]:
    """Return the positions of the results that are arguments as they were given."""
    returns = [stmt for stmt in statements(fn.body) if isinstance(stmt, Return)]
    if len(returns) != 1:
        return frozenset()
    own = {param.name for param in fn.params} - {name for stmt in statements(fn.body) for name in bound(stmt)}
    return frozenset(i for i, value in enumerate(returns[0].values) if isinstance(value, Var) and value.name in own)


def _is_new(value: Expr) -> bool:
    made = isinstance(value, Apply)
    return made and (value.fn in OPERATORS or isinstance(value.fn, np.ufunc) or value.fn in _CREATIONS)
