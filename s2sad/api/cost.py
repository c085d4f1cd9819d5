"""What a derivative costs: seconds for each of its sweeps, and the bytes that it keeps in between."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.options import Options
from s2sad.api.plan import Request, differentiated, entry, select
from s2sad.api.signature import Argnums, Binder
from s2sad.api.structure import Tree, describe, inexact_leaves
from s2sad.api.transformed import Transformed, plain
from s2sad.api.transforms import copied, jvp, vjp

_ROUNDS = 15
_ROUND = 2e-3  # seconds that one measurement of one function takes at least


@dataclass(frozen=True, slots=True)
class Cost:
    """What a function and its derivatives cost at one set of arguments.

    Attributes:
        primal: seconds for a call of the function, compiled.
        tangent: seconds for the value and one directional derivative.
        gradient: seconds for the value and the gradient, or a product with the Jacobian's transpose.
        ratio: gradient over primal: the median of interleaved measurements.
        first: by name, the seconds of the first call: deriving, compiling, or loading from disk.
        kept: bytes of what the forward sweep leaves for the reverse one, the arguments not counted.
    """

    primal: float
    tangent: float
    gradient: float
    ratio: float
    first: dict[str, float]
    kept: int


def cost(fun: Callable[..., Any], args: Sequence[Any], argnums: Argnums, target: str = "cpu") -> Cost:
    """Measure `fun` and its derivatives for `argnums` at `args`.

    Raises:
        S2SADError: the function cannot be differentiated, or not at these arguments.
    """
    plain_fun = plain(fun)
    binder = Binder(plain_fun)
    values = binder.bind(tuple(args), {})
    trees = tuple(describe(v, name) for v, name in zip(values, binder.names_for(values), strict=True))
    places = binder.places(argnums, values)
    wrt = differentiated(select(trees, places), Options())
    chosen = {place.parameter for place in places}
    tangents = tuple(_ones(v) if i in chosen else None for i, v in enumerate(args))
    calls: dict[str, Callable[[], Any]] = {}
    calls["primal"] = lambda: primal(*args)
    calls["tangent"] = lambda: jvp(fun, tuple(args), tangents, target=target)
    primal = Transformed(fun, "primal", (), None, target)
    out = primal(*copied(tuple(args)))
    if isinstance(out, float | np.floating):
        both = Transformed(fun, "value_and_grad", argnums, None, target)
        calls["gradient"] = lambda: both(*args)
    else:
        seed = _ones(out)
        calls["gradient"] = lambda: vjp(fun, *args, target=target)[1](seed)
    first = {name: _seconds(call) for name, call in calls.items() if name != "primal"}
    rounds = _interleaved(list(calls.values()))
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    ratio = statistics.median(row[2] / row[0] for row in rounds)
    return Cost(medians[0], medians[1], medians[2], ratio, first, kept_bytes(plain_fun, trees, values, wrt))


def kept_bytes(fun: Callable[..., Any], trees: tuple[Tree, ...], values: Sequence[Any], wrt: tuple[Tree, ...]) -> int:
    """Run the forward sweep in CPython, and count what it leaves for the reverse one."""
    from s2sad.api.flatten import matcher

    made = entry(Request(fun, "python", Options()), "fwd", trees, wrt)
    leaves = matcher(trees)(copied(tuple(values)))
    assert leaves is not None
    given = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    found = made.call(*leaves, *made.captured.read())
    flat = found if isinstance(found, tuple) else (found,)
    start = len(flat) - made.derivative.residual_count
    program = made.derivative.derived.functions[made.derivative.module.entry]
    params = {param.name for param in program.params}
    names = [getattr(value, "name", "") for value in program.body[-1].values]
    own = [value for name, value in zip(names[start:], flat[start:], strict=True) if name not in params]
    return sum(_bytes(value, given) for value in own)


def _bytes(value: Any, given: list[np.ndarray[Any, Any]]) -> int:
    if isinstance(value, list):
        return sum(_bytes(item, given) for item in value)
    if isinstance(value, np.ndarray):
        return 0 if any(np.shares_memory(value, array) for array in given) else value.nbytes
    return np.asarray(value).nbytes if isinstance(value, float | complex | np.inexact) else 0


def _ones(value: Any) -> Any:
    """Return ones in the structure of a value; None where nothing can be differentiated."""
    tree = describe(value, "value")
    if tree.is_leaf:
        return np.ones_like(value) if inexact_leaves(tree) else None
    from s2sad.api.structure import unflatten

    return unflatten(tree, {leaf: np.ones_like(leaf_value) for leaf, leaf_value in _leaves(tree, value)}, static=False)


def _leaves(tree: Tree, value: Any) -> list[tuple[Tree, Any]]:
    from s2sad.api.jacobian import leaf_values

    found = leaf_values(tree, value)
    return [(leaf, found[leaf]) for leaf in inexact_leaves(tree)]


def _seconds(call: Callable[[], Any], times: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def _interleaved(calls: list[Callable[[], Any]]) -> list[list[float]]:
    """Return rows of seconds, a column for each call, measured in turns."""
    times = [max(1, int(_ROUND / max(_seconds(call), 1e-9))) for call in calls]
    return [[_seconds(call, n) for call, n in zip(calls, times, strict=True)] for _ in range(_ROUNDS)]
