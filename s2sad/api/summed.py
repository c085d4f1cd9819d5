"""Which parameters are taken to be arrays because something is summed over an expression of them.

`np.sum(x**2) * k` does not index `x`, and says all the same that it is an array: of the names under
a reduction, one has to be. Where none is known to be, it is the first parameter among them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

_REDUCES = frozenset(
    "sum mean prod max min argmax argmin std var cumsum cumprod median norm average trapezoid any all "
    "count_nonzero nansum nanmean logsumexp diff sort ptp quantile percentile".split()
)
_MAKES = frozenset(
    "zeros ones empty full arange linspace array asarray eye identity zeros_like ones_like empty_like "
    "full_like concatenate stack vstack hstack outer diag meshgrid roll".split()
)
_MODULES = frozenset({"np", "numpy", "linalg", "special"})


def summed(node: ast.FunctionDef, parameters: Sequence[str], arrays: Iterable[str]) -> frozenset[str]:
    """Return the parameters that are arrays beside those that are known to be.

    Args:
        node: the function.
        parameters: the names that may be numbers or arrays, in order.
        arrays: names that are known to be arrays.
    """
    search = _Search(node, parameters, set(arrays))
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and (inner := _reduced(call)) is not None:
            search.settle(inner)
    return frozenset(search.found)


class _Search:
    """Settles one reduction after another; what the first has shown holds for the next."""

    def __init__(self, node: ast.FunctionDef, parameters: Sequence[str], arrays: set[str]) -> None:
        self.parameters, self.arrays = parameters, arrays
        self.found: set[str] = set()
        self.assigned = _assigned(node)

    def settle(self, expression: ast.expr, seen: frozenset[str] = frozenset()) -> None:
        """Find an array under `expression`: one that is known, else the first parameter, else behind a local."""
        names = _names(expression)
        if names is None or self.arrays & set(names):
            return
        if chosen := [name for name in self.parameters if name in names]:
            self.found.add(chosen[0])
            self.arrays.add(chosen[0])
            return
        for name in names:
            for value in self.assigned.get(name, ()) if name not in seen else ():
                self.settle(value, seen | {name})


def _reduced(call: ast.Call) -> ast.expr | None:
    """Return what a call reduces; None where it reduces nothing."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _REDUCES:
        return None
    base = call.func.value
    if getattr(base, "attr", getattr(base, "id", "")) in _MODULES:
        return call.args[0] if call.args else None
    return base


def _assigned(node: ast.FunctionDef) -> Mapping[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign([ast.Name(name)], value) | ast.AugAssign(ast.Name(name), _, value):
                found.setdefault(name, []).append(value)
            case _:
                pass
    return found


def _names(expression: ast.expr) -> list[str] | None:
    """Return the names that are combined elementwise; None where an array is among what they are combined with."""
    found: list[str] = []
    todo: list[ast.AST] = [expression]
    while todo:
        match todo.pop(0):
            case ast.Name(name):
                found.append(name)
            case ast.Subscript() | ast.List() | ast.ListComp() | ast.BinOp(op=ast.MatMult()):
                return None
            case ast.Call(ast.Attribute(attr=called)) if called in _MAKES or called in _REDUCES:
                if called in _MAKES:
                    return None
            case ast.Call(_, args):
                todo += args
            case ast.BinOp(left, _, right):
                todo += [left, right]
            case ast.UnaryOp(_, operand):
                todo.append(operand)
            case ast.Compare(left, _, others):
                todo += [left, *others]
            case _:
                pass
    return found
