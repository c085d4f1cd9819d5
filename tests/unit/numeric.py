"""A stand-in for the compiler: derivatives by complex steps, behind the interface of `derive`.

It lets the public surface be tested by itself: what is bound, checked, flattened and shaped.
"""

from __future__ import annotations

import inspect
import types as pytypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.jacobian import leaf_values
from s2sad.api.structure import tree_of, unflatten
from s2sad.backends import Module
from s2sad.ir.typeof import typeof
from s2sad.ir.types import Array, Sym, is_complex, is_inexact


@dataclass(frozen=True)
class Derivative:
    module: Module
    text: str
    result: Any
    residual_count: int = 0
    derived: Any = None
    written: tuple[str, ...] = ()


class Numeric:
    """One derivation; `calls` counts how often the primal ran."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.requests: list[Any] = []

    def derive(self, fun, mode, types, wrt, target, options):
        self.requests.append((fun, mode, types, wrt, target, options))
        work = _Work(fun, types, wrt, options, self.calls)
        sample = work.call(*work.arguments([_sample(leaf.type) for leaf in work.leaves]))
        result = typeof(sample, "out")
        work.output = tree_of(result, "output")
        count = len(work.leaves) if mode == "fwd" else 0
        name = f"derivative_{mode}"
        text = f"def {name}(*leaves):\n    return run(*leaves)\n"
        run = getattr(work, mode)
        return Derivative(
            Module(name, text, (name,), name, {"run": run}, {}, name), text, result, count
        )


def install(monkeypatch) -> Numeric:
    from s2sad import backends
    from s2sad.api import kept

    numeric = Numeric()
    monkeypatch.setattr(kept, "derive", numeric.derive)
    monkeypatch.setattr(backends, "load", load)
    return numeric


def load(module, target="cpu"):
    namespace = dict(module.externals)
    exec(module.text, namespace)
    entry = namespace[module.entry]
    return pytypes.SimpleNamespace(
        entry=entry,
        py_func=entry,
        path="derivative.py",
        text=module.text,
        module=module,
        target=target,
    )


def _sample(kind):
    if isinstance(kind, Array):
        shape = [3 if isinstance(dim, Sym) else dim for dim in kind.dims]
        return np.full(shape, 0.5).astype(kind.dtype)
    return np.dtype(kind.dtype).type(1)


class _Work:
    def __init__(self, fun, types, wrt, options, calls):
        self.fun, self.wrt, self.options, self.calls = fun, wrt, options, calls
        self.trees = [tree_of(kind, f"x{i}") for i, kind in enumerate(types)]
        self.leaves = [leaf for tree in self.trees for leaf in tree.leaves()]
        self.output: Any = None

    def arguments(self, values):
        values = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        given = dict(zip(self.leaves, values, strict=True))
        return [unflatten(tree, given) for tree in self.trees]

    def call(self, *arguments):
        if isinstance(self.fun, np.ufunc):
            return self.fun(*arguments)
        bound = inspect.signature(self.fun).bind_partial()
        bound.arguments.update(zip(inspect.signature(self.fun).parameters, arguments, strict=True))
        return self.fun(*bound.args, **bound.kwargs)

    def outputs(self, values):
        found = leaf_values(self.output, self.call(*self.arguments(values)))
        return [found[leaf] for leaf in self.output.leaves()]

    def moving(self):
        main = self.output.children[0] if self.options.aux else self.output
        inexact = [leaf for leaf in main.leaves() if is_inexact(leaf.type)]
        return [i for i, leaf in enumerate(self.output.leaves()) if leaf in inexact]

    def push(self, values, dots):
        direction = dict(zip(self.wrt, dots, strict=True))
        rough = hasattr(self.fun, "kind") or any(is_complex(leaf.type) for leaf in self.leaves)
        step = 1e-5 if rough else 1e-30j

        def moved(sign):
            return [
                v + sign * step * direction[i] if i in direction else v
                for i, v in enumerate(values)
            ]

        if rough:
            pairs = zip(self.outputs(moved(1)), self.outputs(moved(-1)), strict=True)
            slopes = [(np.asarray(a) - b) / (2 * step) for a, b in pairs]
        else:
            slopes = [np.imag(out) / 1e-30 for out in self.outputs(moved(1))]
        return [slopes[i] for i in self.moving()]

    def pull(self, values, bars):
        result = []
        for index in self.wrt:
            shape = np.shape(values[index])
            bar = np.zeros(shape, np.asarray(values[index]).dtype)
            for place in np.ndindex(shape):
                unit = np.zeros(shape)
                unit[place] = 1.0
                others = [np.zeros(np.shape(values[i])) if i != index else unit for i in self.wrt]
                pairs = zip(bars, self.push(values, others), strict=True)
                bar[place] = sum(np.sum(b * s) for b, s in pairs)
            result.append(bar if shape else bar[()])
        return result

    def flat(self, values):
        return values[0] if len(values) == 1 else tuple(values)

    def primal(self, *values):
        self.calls.append("primal")
        return self.flat(self.outputs(values))

    def jvp(self, *given):
        values, dots = given[: len(self.leaves)], given[len(self.leaves) :]
        return self.flat([*self.outputs(values), *self.push(values, dots)])

    def tangent(self, *given):
        return self.flat(self.push(given[: len(self.leaves)], given[len(self.leaves) :]))

    def vjp(self, *given):
        values, bars = given[: len(self.leaves)], given[len(self.leaves) :]
        return self.flat([*self.outputs(values), *self.pull(values, bars)])

    def value_and_grad(self, *values):
        return self.flat([*self.outputs(values), *self.pull(values, [1.0])])

    def grad(self, *values):
        aux = self.outputs(values) if self.options.aux else []
        return self.flat([*aux, *self.pull(values, [1.0])])

    def fwd(self, *values):
        self.calls.append("fwd")
        return self.flat([*self.outputs(values), *values])

    def bwd(self, *given):
        self.calls.append("bwd")
        values, bars = given[: len(self.leaves)], given[len(self.leaves) :]
        result = self.flat(self.pull(values, bars))
        for value in values:
            if isinstance(value, np.ndarray):
                value[...] = 0  # an adjoint may use its residuals up
        return result
