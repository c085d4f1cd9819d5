"""`s2sad doctor`: what is installed, and whether it works."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

import click

from s2sad.cli.failing import WRONG, Command
from s2sad.cli.output import json_option, tell, working
from s2sad.errors import S2SADError

_PACKAGES = ("s2sad", "numpy", "numba", "llvmlite", "gast", "astunparse", "optree")
_OPTIONAL = ("scipy", "numba-cuda", "jax", "torch", "pytensor", "ipython")
_EXAMPLES = """\b
Examples:
  s2sad doctor
  s2sad doctor --json

\b
Exit status: 0 everything works, 1 something does not.
"""


@click.command(cls=Command, short_help="Describe this installation.", epilog=_EXAMPLES)
@json_option
def doctor(as_json: bool) -> None:
    """Describe this installation: versions, compiler, threads, GPU, cache."""
    facts: dict[str, Any] = {"python": f"{platform.python_version()} on {platform.platform()}"}
    for package in _PACKAGES:
        facts[package] = version_of(package) or "not installed"
    facts |= {package: version for package in _OPTIONAL if (version := version_of(package))}
    sound = True
    with working("compiling a function to try the compiler"):
        for name, probe in _PROBES.items():
            try:
                facts[name] = probe()
            except Exception as error:  # whatever is broken is what the doctor is asked about
                sound = False
                facts[name] = f"{type(error).__name__}: {error}"
    tell(as_json, {"ok": sound, **facts}, "\n".join(f"{name:11} {value}" for name, value in facts.items()))
    if not sound:
        sys.exit(WRONG)


def version_of(package: str) -> str:
    """Return the version of an installed package; empty where it is not installed."""
    from importlib import metadata  # costs as much as the rest of the command line

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _compiler() -> str:
    from s2sad.backends.base import Module, effective, load

    text = "def probe(x):\n    return x * x\n"
    loaded = load(Module("probe", text, ("probe",), "probe"), "cpu")
    if loaded.entry(3.0) != 9.0:
        raise S2SADError("3.0 * 3.0 is not 9.0 here")
    off = "off: S2SAD_DISABLE_JIT or NUMBA_DISABLE_JIT is set"
    return "works" if effective("cpu") == "cpu" else off


def _threading() -> str:
    pools = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}
    found: list[str] = []
    for layer, pool in pools.items():
        try:
            importlib.import_module(f"numba.np.ufunc.{pool}")
        except ImportError:
            continue
        found.append(layer)
    return f"{', '.join(found) or 'none'}; {os.cpu_count()} processors"


def _cuda() -> str:
    if importlib.util.find_spec("numba_cuda") is None:
        return f"{_front_end_of_numba()}; s2sad[cuda12] or s2sad[cuda13] install all it needs"
    cuda: Any = importlib.import_module("numba.cuda")
    return "a GPU is available" if cuda.is_available() else "installed, but no GPU is available"


def _front_end_of_numba() -> str:
    """Say what of CUDA comes with Numba itself: a compiler to PTX where NVVM is there, a simulator."""
    if importlib.util.find_spec("numba.cuda") is None:
        return "not installed"
    return "Numba's own numba.cuda (PTX where NVVM is found, the simulator)"


def _cache() -> str:
    from s2sad.backends import store

    found = store.info()
    return f"{found.path}: {found.sources} derivatives, {found.size:,} bytes"


_PROBES: dict[str, Callable[[], str]] = {
    "compiler": _compiler,
    "threading": _threading,
    "CUDA": _cuda,
    "cache": _cache,
}
