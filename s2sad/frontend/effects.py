"""Functions that are called for what they do: they write files, end the program, change settings.

A library function without a rule is tried out on made-up numbers, to see what it returns. These never are.
"""

from __future__ import annotations

import builtins
from typing import Any

_PLACES = frozenset({
    "os", "posix", "nt", "shutil", "subprocess", "_posixsubprocess", "signal", "_signal", "socket", "_socket", "ctypes",
    "_ctypes", "multiprocessing", "threading", "_thread", "asyncio", "http", "urllib", "ftplib", "smtplib", "tempfile",
    "pathlib", "io", "_io", "_sitebuiltins", "atexit", "webbrowser", "pickle", "_pickle", "shelve", "dbm", "sqlite3",
    "_sqlite3", "zipfile", "tarfile", "runpy", "importlib", "code", "pty", "fcntl", "mmap", "msvcrt", "winreg",
})  # fmt: skip
_HARMLESS = frozenset({"getenv", "cpu_count", "getcwd", "getpid", "fspath"})
_NUMERIC = frozenset({
    "save", "savez", "savez_compressed", "savetxt", "savemat", "mmwrite", "seterr", "seterrcall", "setbufsize",
    "set_printoptions", "set_string_function", "show_config", "show_runtime", "info", "test",
})  # fmt: skip
_SYSTEM = frozenset({"exit", "setrecursionlimit", "settrace", "setprofile", "setswitchinterval", "addaudithook"})
_BUILTIN = frozenset({builtins.input, builtins.breakpoint})


def has_effects(fn: Any) -> bool:
    """Say whether a function of a library must not be tried out."""
    place = (getattr(fn, "__module__", None) or "").split(".")[0]
    name = getattr(fn, "__name__", "")
    if place in ("numpy", "scipy"):
        return name in _NUMERIC
    if place == "sys":
        return name in _SYSTEM
    return (place in _PLACES and name not in _HARMLESS) or (place == "builtins" and fn in _BUILTIN)
