"""Which ordinary programs each library differentiates as they are: the table of comparison.md.

    pip install s2sad jax autograd tangent-ad warp-lang && python docs/comparison.py

Each program is written once, over a module `np`: NumPy, jax.numpy or autograd.numpy; for Warp, which
has a language of its own, once more in comparison_warp.py. An answer counts as right if it agrees
with central differences of the program over NumPy. A library that is not installed has no column.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy

import s2sad

np: Any = numpy


def written_in_place(x):
    """Write an array in a loop."""
    y = x.copy()
    for i in range(1, y.size):
        y[i] = y[i] * y[i - 1]
    return np.sum(y)


def branch_on_value(x):
    """Choose by a value."""
    total = 0.0
    for v in x:
        if v > 0.5:
            total += v * v
        else:
            total -= v
    return total


def loop_until(x):
    """Go on until it has converged: Newton's square root."""
    y = x[0]
    while abs(y * y - x[0]) > 1e-12:
        y = 0.5 * (y + x[0] / y)
    return y * x[1]


def through_a_view(x):
    """Write through a row."""
    a = np.zeros((2, 3))
    row = a[1]
    row[:] = x
    return np.sum(a * a)


def augmented_alias(x):
    """Write to one of two names of one array."""
    y = x * 1.0
    z = y
    z *= 2.0
    return np.sum(y * y)


def duplicate_index(x):
    """Gather with an index that occurs twice."""
    return np.sum(x[np.array([0, 0, 2])] ** 2)


def untaken_side(x):
    """Choose elementwise, where the other side is not finite."""
    y = x - 0.6
    return np.sum(np.where(y > 0, np.sqrt(y), 0.0))


def early_return(x):
    """Return from inside a loop."""
    total = 0.0
    for v in x:
        total += v * v
        if total > 0.5:
            return total * v
    return total


def with_a_list(x):
    """Append to a list, and stack it."""
    parts = []
    for v in x:
        parts.append(np.sin(v))
    return np.sum(np.array(parts) ** 2)


PROGRAMS = [
    written_in_place, branch_on_value, loop_until, through_a_view, augmented_alias, duplicate_index,
    untaken_side, early_return, with_a_list,
]  # fmt: skip
X = numpy.array([0.7, 0.3, 0.9])


def differences(f: Callable[..., Any]) -> Any:
    """Return the gradient by central differences."""
    steps = numpy.eye(X.size) * 1e-6
    return numpy.array([(f(X + h) - f(X - h)) / 2e-6 for h in steps])


def ours(f: Callable[..., Any]) -> Any:
    """Return the gradient by s2sad."""
    return s2sad.grad(f)(X)


def jax_plain(f: Callable[..., Any]) -> Any:
    """Return the gradient by JAX."""
    jax = importlib.import_module("jax")
    return jax.grad(f)(X)


def jax_compiled(f: Callable[..., Any]) -> Any:
    """Return the gradient by JAX, compiled as it is meant to be."""
    jax = importlib.import_module("jax")
    return jax.jit(jax.grad(f))(X)


def autograd(f: Callable[..., Any]) -> Any:
    """Return the gradient by autograd."""
    return importlib.import_module("autograd").grad(f)(X)


def by_tangent(f: Callable[..., Any]) -> Any:
    """Return the gradient by Tangent."""
    return importlib.import_module("tangent").grad(f)(X)


def by_warp(f: Callable[..., Any]) -> Any:
    """Return the gradient by Warp, of its form of the program."""
    with contextlib.redirect_stdout(io.StringIO()):  # what it says when it starts
        return importlib.import_module("comparison_warp").gradient(f.__name__, X)


LIBRARIES = {
    "s2sad": (ours, "numpy"),
    "JAX": (jax_plain, "jax.numpy"),
    "JAX, jit": (jax_compiled, "jax.numpy"),
    "autograd": (autograd, "autograd.numpy"),
    "Tangent": (by_tangent, "numpy"),
    "Warp": (by_warp, "numpy"),
}


def verdict(program: Callable[..., Any], library: str) -> str:
    """Return "right", "wrong", or the name of the error; "—" where the library's language has no such program."""
    global np
    np = numpy
    expected = differences(program)
    compute, module = LIBRARIES[library]
    try:
        np = importlib.import_module(module)
        answer = compute(program)
    except Exception as error:  # whatever a library refuses with is its answer
        return type(error).__name__
    finally:
        np = numpy
    if answer is None:
        return "—"
    return "right" if numpy.allclose(numpy.asarray(answer), expected, atol=1e-5) else "wrong"


def version(package: str) -> str:
    """Return the version of a package; empty where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> None:
    """Print the table."""
    if importlib.util.find_spec("jax"):
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    packages = {"s2sad": "s2sad", "JAX": "jax", "JAX, jit": "jax", "autograd": "autograd", "Tangent": "tangent-ad",
                "Warp": "warp-lang"}  # fmt: skip
    versions = {name: version(package) for name, package in packages.items()}
    present = [name for name in LIBRARIES if versions[name] or name == "s2sad"]
    print(f"| program | {' | '.join(f'{name} {versions[name]}'.strip() for name in present)} |")
    print(f"|---|{'---|' * len(present)}")
    for program in PROGRAMS:
        what = inspect.getdoc(program) or ""
        with numpy.errstate(all="ignore"):
            row = [verdict(program, library) for library in present]
        print(f"| {what.removesuffix('.').lower()} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
