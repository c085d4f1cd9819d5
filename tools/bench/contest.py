"""Who runs against whom: primal, adjoints by hand, s2sad, and the peers that are installed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import s2sad
from tools.bench.derivatives import derivative, difference, primal_arguments
from tools.bench.kernel import Kernel, remade
from tools.bench.kernels import find
from tools.bench.measure import interleaved
from tools.bench.peers.peer import find as find_peer
from tools.bench.tuning import levers, tuned

Run = Callable[[], Any]


def own(request: dict[str, Any]) -> dict[str, Run]:
    """Return the primal, the derivative by hand and s2sad's, ready to run at the wanted size."""
    kernel = find(request["kernel"])
    args = kernel.arguments(*kernel.sizes[request["size"]])
    primal, hand, ours = kernel.value or kernel.primal, kernel.hand, derivative(kernel)
    of_primal = primal_arguments(kernel, args)
    return {"primal": lambda: primal(*of_primal), "hand": lambda: hand(*args), "s2sad": lambda: ours(*args)}


def contest(request: dict[str, Any]) -> dict[str, Any]:
    """Return seconds by contestant and round, and each derivative's distance from the one by hand."""
    kernel = find(request["kernel"])
    args = kernel.arguments(*kernel.sizes[request["size"]])
    of_primal = primal_arguments(kernel, args)
    primal, ours = kernel.value or kernel.primal, derivative(kernel)
    fast = tuned(kernel.tuned or kernel.hand)
    with levers():
        fast(*args)
    entries: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "primal": (primal, of_primal), "hand": (kernel.hand, args), "tuned": (fast, args), "s2sad": (ours, args),
    }
    expected = kernel.hand(*args)
    errors = {"s2sad": difference(ours(*args), expected), "tuned": difference(fast(*args), expected)}
    failed: dict[str, str] = {}
    for name in request["peers"]:
        peer = find_peer(name)
        try:
            for form, run in peer.derivatives(kernel, args).items():
                label = f"{name} ({form})" if form else name
                errors[label] = difference(importlib.import_module(peer.module).to_numpy(run()), expected)
                if errors[label] < (1e-3 if name == "differences" else 1e-6):
                    entries[label] = (run, ())
                else:  # a wrong gradient's time says nothing
                    failed[label] = f"its gradient is {errors[label]:.1e} off the one by hand"
        except Exception as error:  # a peer's failure is a result, whatever it raises
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())[:120]
    functions, arguments = zip(*entries.values(), strict=True)
    seconds = interleaved(functions, arguments, request["rounds"], request["budget"], request["threads"])
    return {"seconds": {name: list(np.round(column, 10)) for name, column in zip(entries, seconds.T, strict=True)},
            "errors": errors, "failed": failed, "lines": lines(kernel, args)}


def lines(kernel: Kernel, args: tuple[Any, ...]) -> list[int]:
    """Return the lines of code in the program and what it calls, and in the gradient that s2sad writes of it."""
    if kernel.derivative != "grad":
        return []
    function = s2sad.differentiate(argnums=kernel.wrt)(kernel.primal)
    function.grad(*args)
    own: list[int] = []
    remade(kernel.primal, lambda plain: own.append(_count(inspect.getsource(plain))))
    return [sum(own), _count(function.source("grad"))]


def _count(text: str) -> int:
    """Count what is neither empty, nor a comment, nor a docstring of one line, nor a decorator."""
    code = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith(("#", '"""', "@", "import")) for line in code)
