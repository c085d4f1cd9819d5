"""Functions of `scipy.sparse` whose arguments only a run knows: which of `rules/sparse_matrices` stands for each."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from s2sad.errors import ArgumentError, MissingRuleError
from s2sad.frontend import objects
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.sparse import WAY_OUT
from s2sad.frontend.values import StaticV, StructV, V, Value, const
from s2sad.ir.types import Array
from s2sad.rules import sparse_matrices
from s2sad.rules.sparse_matrices import Sparse

_FORMATS = ("coo", "csr", "csc", "dia")
_SOLVE = (
    "`spsolve`, `splu` and `factorized` are known. Else put the call in a function of your own, and give it a rule: "
    "`@s2sad.custom_vjp`."
)


def called(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Return what a function of `scipy.sparse` gives; its sparse arguments are of `rules/sparse_matrices`."""
    name: str = fn.__name__
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except TypeError as error:
        return lw.fail(node, f"`{name}`: {error}", "", ArgumentError)
    defaults = {key: p.default for key, p in inspect.signature(fn).parameters.items() if p.default is not p.empty}
    given: dict[str, Value] = {key: const(v) if isinstance(v, int) else StaticV(v) for key, v in defaults.items()}
    given.update(bound.arguments)
    dtype = bound.arguments.get("dtype", StaticV(None))
    if not isinstance(dtype, StaticV) or dtype.value not in (None, float, np.float64, "float64"):
        lw.fail(node, "the `dtype` of a sparse matrix that only a run knows is not supported", "Convert its numbers.")
    found = _solved(lw, name, given, node) or _made(lw, name, given, node)
    if found is None and fn.__module__.startswith("scipy.sparse.linalg"):
        return lw.fail(node, f"`{name}` has no derivative rule", _SOLVE, MissingRuleError)
    if found is None:
        return lw.fail(node, f"`{name}` of a sparse matrix that only a run knows is not supported", WAY_OUT)
    return found


def _made(lw: Lowerer, name: str, given: dict[str, Value], node: Any) -> Value | None:
    from s2sad.frontend.calls import call_function

    made = sparse_matrices
    kind = const(not name.endswith("_array"))

    def by(maker: Any, *values: Value) -> Value:
        return call_function(lw, maker, [*values, kind], {}, node)

    form, _, suffix = name.rpartition("_")
    if form in _FORMATS and suffix in ("matrix", "array"):
        shape = given["shape"]
        match form, given["arg1"]:
            case _, StructV(kind=cls) as matrix if cls is Sparse:
                return objects.changed(lw, matrix, {"is_matrix": kind}, node)
            case "dia", StructV(items=(data, offsets)):
                return by(made.of_aligned_diagonals, *_placed(lw, data, offsets, node), shape)
            case _, StructV(items=(data, StructV(items=(rows, columns)))):
                return by(made.of_triples, data, rows, columns, shape)
            case ("csr" | "csc"), StructV(items=(data, indices, indptr)):
                return by(made.by_rows if form == "csr" else made.by_columns, data, indices, indptr, shape)
            case _, V() as dense if isinstance(dense.expr.type, Array) and len(dense.expr.type.dims) == 2:
                return by(made.from_dense, dense)
            case _:
                return None
    if name in ("diags", "diags_array"):
        return by(made.of_diagonals, *_placed(lw, given["diagonals"], given["offsets"], node), given["shape"])
    if name == "spdiags":
        rows = given["m"]
        shape = rows if isinstance(rows, StructV) else StructV("tuple", (0, 1), (rows, given["n"]))
        return by(made.of_aligned_diagonals, *_placed(lw, given["data"], given["diags"], node), shape)
    if name in ("eye", "eye_array", "identity"):
        rows = given["n" if name == "identity" else "m"]
        _, (above,), (left,) = _places(lw, given.get("k", const(0)), node)
        return by(made.unit, rows, rows if name == "identity" else given["n"], above, left)
    if name == "kron" and all(_is_made(given[key]) for key in "AB"):
        return call_function(lw, made.kron, [given["A"], given["B"]], {}, node)
    if name == "issparse":
        return const(_is_made(given["x"]))
    return None


def _solved(lw: Lowerer, name: str, given: dict[str, Value], node: Any) -> Value | None:
    from s2sad.frontend.calls import call_function

    matrix = given.get("A")
    if not isinstance(matrix, StructV) or matrix.kind is not Sparse:
        return None
    if name == "spsolve":
        return call_function(lw, sparse_matrices.solve, [matrix, given["b"]], {}, node)
    if name in ("splu", "factorized"):
        return objects.of_fields(lw, sparse_matrices.Factored, [matrix], {}, node)
    return None


def _is_made(value: Value) -> bool:
    return isinstance(value, StructV) and value.kind is Sparse


def _placed(lw: Lowerer, diagonals: Value, offsets: Value, node: Any) -> tuple[Value, Value, Value]:
    """Return diagonals, and in which rows and columns they begin."""
    alone, above, left = _places(lw, offsets, node)
    if alone:
        held = diagonals.items[0] if isinstance(diagonals, StructV) and len(diagonals.items) == 1 else None
        kind = diagonals.expr.type if isinstance(diagonals, V) else None
        rows = isinstance(kind, Array) and len(kind.dims) > 1
        if not (isinstance(held, V) and isinstance(held.expr.type, Array)) and not rows:
            diagonals = StructV("tuple", (0,), (diagonals,))  # `diags(k)` is of one diagonal
    return diagonals, _tuple(above), _tuple(left)


def _places(lw: Lowerer, offsets: Value, node: Any) -> tuple[bool, list[Value], list[Value]]:
    """Return whether one diagonal is meant, and the rows and the columns in which they begin."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    known = known_value(offsets)
    if known is UNKNOWN:
        lw.fail(node, "which diagonals of a sparse matrix are meant is not known here", "Write the offsets as numbers.")
    each = [int(offset) for offset in np.atleast_1d(known)]
    above: list[Value] = [const(max(0, -offset)) for offset in each]
    return np.ndim(known) == 0, above, [const(max(0, offset)) for offset in each]


def _tuple(items: list[Value]) -> StructV:
    return StructV("tuple", tuple(range(len(items))), tuple(items))
