"""The cache on disk: one private directory of real source files, with their machine code beside.

A file's name holds the hash of its content and of everything that decides what it computes, so a
file is never rewritten and never stale. Source: DESIGN.md, section 6.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from s2sad.backends.base import Module
from s2sad.backends.fingerprint import fingerprint
from s2sad.errors import CacheError, CompileError

LOCK = threading.RLock()
SOURCE_NAME = re.compile(r"\w+_[0-9a-f]{16}\.py")
SEAL = re.compile(r"# s2sad: sha256 ([0-9a-f]{64})\n\Z")
MACHINE_SUFFIX = ".machine"
DERIVED_SUFFIX = ".derived"
MACHINE_MAGIC = b"s2sad machine code 1\n"
_fallback: dict[Path, Path] = {}


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What the cache directory holds.

    Attributes:
        path: the directory.
        sources: how many derivatives.
        compiled: how many files of machine code.
        size: bytes in all.
    """

    path: Path
    sources: int
    compiled: int
    size: int


def directory() -> Path:
    """Return the cache directory, made if need be; only its owner can read or write it.

    Raises:
        CacheError: others can write to the directory, or it belongs to somebody else.
    """
    override = os.environ.get("S2SAD_CACHE_DIR")
    if override:
        path = Path(override).expanduser().absolute()
    else:
        import platformdirs

        path = Path(platformdirs.user_cache_dir("s2sad", appauthor=False))
    with LOCK:
        if path in _fallback:
            return _fallback[path]
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            return _temporary(path, error.strerror or str(error))
        _require_private(path)
        if not os.access(path, os.W_OK | os.X_OK):
            return _temporary(path, "it cannot be written")
    return path


def _temporary(path: Path, reason: str) -> Path:
    made = Path(tempfile.mkdtemp(prefix="s2sad-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    _fallback[path] = made
    warnings.warn(
        f"s2sad uses a temporary cache, {made}, because {path} is no use: {reason}",
        RuntimeWarning,
        stacklevel=4,
    )
    return made


def _require_private(path: Path) -> None:
    if os.name == "nt":
        return
    status = path.stat()
    mode = status.st_mode & 0o777
    advice = "Machine code is loaded from it, so it must be yours alone. "
    if status.st_uid != os.getuid():
        raise CacheError(
            f"the cache directory {path} belongs to another user (uid {status.st_uid})",
            why=advice + "Set S2SAD_CACHE_DIR to a directory of your own.",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            f"the cache directory {path} can be written by others (mode {mode:o})",
            why=advice + f"Run `chmod 700 {path}`, or set S2SAD_CACHE_DIR.",
        )


@functools.cache
def versions() -> str:
    """Describe what runs the code: s2sad, Python, NumPy, Numba and the processor."""
    found = [f"python {platform.python_version()} {sys.implementation.cache_tag}"]
    for package in ("s2sad", "numpy", "numba", "llvmlite"):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} uninstalled")
    return "; ".join((*found, processor()))


def processor() -> str:
    """Name the processor, without loading LLVM to ask it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return f"{platform.machine()} {model[1] if model else platform.processor()}"


def stem(module: Module) -> str:
    """Return the name of the module's file without its suffix: the name and the hash."""
    options = (module.fastmath, sorted(module.parallel), module.nogil, module.error_model, module.cache, module.debug)
    given = {**module.externals, **module.runtime}
    parts = (
        module.text,
        module.key,
        module.entry,
        fingerprint((module.functions, options)),
        fingerprint({name: given[name] for name in sorted(given)}),
        repr([
            (name, sorted(one.least.items()), sorted(one.sums), one.into_callers, one.internal, sorted(one.alone),
             sorted(one.apart))
            for name, one in sorted(module.hints.items())
        ]),
        versions(),
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    name = re.sub(r"\W", "_", module.name)
    return f"{name}_{digest[:16]}"


def sealed(text: str) -> bytes:
    """Return the bytes of a source file: the text, then a last line with the text's hash."""
    body = text if text.endswith("\n") else text + "\n"
    return f"{body}# s2sad: sha256 {hashlib.sha256(body.encode()).hexdigest()}\n".encode()


def write(name: str, text: str) -> Path:
    """Put `text` into the cache as `name`.py, unless it is there and whole, and return the path.

    A damaged file is removed, with its machine code, and written again.
    """
    path = directory() / f"{name}.py"
    content = sealed(text)
    try:
        if path.read_bytes() == content:
            return path
    except FileNotFoundError:
        pass
    else:
        path.unlink(missing_ok=True)
        for compiled in path.parent.glob(f"{name}.*{MACHINE_SUFFIX}"):
            compiled.unlink(missing_ok=True)
    replace(path, content)
    return path


def replace(path: Path, content: bytes) -> None:
    """Write `content` to `path` at one stroke: other processes see all of it or nothing.

    Raises:
        CacheError: the directory takes no more: full, or no longer writable.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise CacheError(
            f"{path} cannot be written: {error.strerror}",
            why="Free some space, or set S2SAD_CACHE_DIR to another directory.",
        ) from error


def execute(name: str, path: Path, text: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run `text` as the module `name`, with `given` among its globals, and return its globals.

    The module is in `sys.modules` before it runs, because Numba imports it by name when it loads
    machine code; it is taken out again if it fails.
    """
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__dict__.update(given)
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as error:  # the text is right; Python has limits
        del sys.modules[name]
        raise CompileError(
            f"Python cannot compile the derivative: {error.msg} (line {error.lineno} of {path})",
            why="Python takes 100 levels of blocks inside one another, 20 of them loops.\n"
            "Put the inner part of the loop or branch into a function of its own.",
        ) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module.__dict__


def spec_of(name: str) -> ModuleSpec | None:
    """Return the specification of a module of the cache that another process has executed; None if there is none.

    The user's own functions that Numba keeps on the disk have its machine code inside them: they ask for the module by
    name, and for nothing in it.
    """
    return ModuleSpec(name, _Empty()) if (directory() / f"{name}.py").exists() else None


class _Empty(Loader):
    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of the module to Python."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it empty."""


def info() -> CacheInfo:
    """Count what the cache holds."""
    path = directory()
    files = _files(path)
    return CacheInfo(
        path,
        sum(file.suffix == ".py" for file in files),
        sum(file.suffix == MACHINE_SUFFIX for file in files),
        sum(file.stat().st_size for file in files),
    )


def clear() -> int:
    """Remove every file that s2sad put into the cache, and return how many there were."""
    path = directory()
    files = _files(path)
    unfinished = [one for suffix in (".py", MACHINE_SUFFIX, DERIVED_SUFFIX) for one in path.glob(f".*{suffix}.*")]
    for file in (*files, *unfinished):
        file.unlink(missing_ok=True)
    return len(files)


def verify() -> tuple[Path, ...]:
    """Return the damaged files of the cache, sorted; each would be rebuilt when next needed."""
    return tuple(file for file in _files(directory()) if not _is_whole(file))


def _files(path: Path) -> list[Path]:
    return sorted(
        file
        for file in path.iterdir()
        if SOURCE_NAME.fullmatch(file.name) or file.suffix in (MACHINE_SUFFIX, DERIVED_SUFFIX)
    )


def _is_whole(file: Path) -> bool:
    content = file.read_bytes()
    if file.suffix != ".py":
        return payload(content) is not None
    seal = SEAL.search(content.decode("utf-8", errors="replace"))
    return seal is not None and sealed(content[: seal.start()].decode()) == content


def payload(content: bytes) -> bytes | None:
    """Return what a file of machine code holds, or None if it is damaged."""
    start = len(MACHINE_MAGIC) + 32
    body = content[start:]
    checksum = content[len(MACHINE_MAGIC) : start]
    if not content.startswith(MACHINE_MAGIC) or hashlib.sha256(body).digest() != checksum:
        return None
    return body


def with_checksum(body: bytes) -> bytes:
    """Return the bytes of a file of machine code that holds `body`."""
    return MACHINE_MAGIC + hashlib.sha256(body).digest() + body
