"""Derivatives kept on disk: a process that asks for one that was made before does not load the compiler.

What is kept is the module that the backend loads and what its entry needs, under a key of all that they were made
from (`reads`): the function with its file, all that its names mean, the types, the options, this package's own files
and the versions of what it runs on. A derivative that reads arrays from outside, or hands objects of the user's to
its text, is made anew in each process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import s2sad
from s2sad.api.custom import rules_key
from s2sad.api.derivative import Derivative, unknown
from s2sad.api.options import Options, nans_are_checked
from s2sad.api.reads import Unsure, by_name, described
from s2sad.backends import collection, store
from s2sad.backends.base import effective
from s2sad.errors import CacheError, Span
from s2sad.ir.types import Type

_NUMBERED = "#"
"""In the names of lengths that are numbered as they are met: in another process the name may mean another length."""

_Asked = tuple[Callable[..., Any], str, tuple[Type, ...], tuple[int, ...], str, Options]


def derive(*asked: Any) -> Derivative:
    """Return what `s2sad.api.derive.derive` does for these arguments, from disk where it was made before.

    Raises:
        S2SADError: the function, or something it calls, cannot be differentiated.
    """
    key = _key(asked)
    path = None if key is None else _path(asked[0], key)
    if key is not None and path is not None:
        found = _read(path, key, asked)
        if found is not None:
            return found
    made = _derived(asked)
    if key is not None and path is not None and _key(asked) == key:
        _write(path, key, made)
    return made


def _derived(asked: Any) -> Derivative:
    from s2sad.api import derive as pipeline

    with collection.put_off():
        return pipeline.derive(*asked)


def _key(asked: _Asked) -> str | None:
    """Return what tells this derivative from all others, or None where that cannot be said."""
    fun, mode, types, wrt, target, options = asked
    if rules_key() or not options.cache or options.debug or nans_are_checked(options):
        return None
    if os.environ.get("S2SAD_VERIFY", "0") not in ("", "0"):
        return None
    try:
        return described(fun, mode, types, wrt, target, effective(target), options, store.versions(), _package())
    except Unsure:
        return None


@functools.cache
def _package() -> str:
    """Describe the files of this package, as Python itself tells old modules from new ones."""
    root = Path(s2sad.__file__).parent
    found = [(str(path.relative_to(root)), path.stat()) for path in sorted(root.glob("**/*.py"))]
    return hashlib.sha256(repr([(name, one.st_size, one.st_mtime_ns) for name, one in found]).encode()).hexdigest()


def _path(fun: Any, key: str) -> Path | None:
    name = re.sub(r"\W", "_", getattr(fun, "__name__", "derivative"))
    try:
        return store.directory() / f"{name}.{key[:16]}{store.DERIVED_SUFFIX}"
    except CacheError:
        return None  # said where the derivative is loaded


def _read(path: Path, key: str, asked: Any) -> Derivative | None:
    try:
        body = store.payload(path.read_bytes())
    except OSError:
        return None
    if body is not None:
        try:
            found, made, helpers = pickle.loads(body)
            if found == key:
                again = functools.cache(lambda: _derived(asked))
                places = made.module.source_map or _Places(again)
                given = {name: _helper(*place) for name, place in helpers.items()}
                module = replace(made.module, runtime=given, source_map=places)
                return replace(made, module=module, program=lambda: again().derived)
        except Exception:
            pass
    path.unlink(missing_ok=True)
    return None


class _Places(Mapping[int, Span]):
    """The places of emitted lines in texts that the compiler itself wrote: to be found, these are written anew."""

    def __init__(self, again: Callable[[], Derivative]) -> None:
        self._again = again

    def __getitem__(self, line: int) -> Span:
        return self._again().module.source_map[line]

    def __iter__(self) -> Iterator[int]:
        return iter(self._again().module.source_map)

    def __len__(self) -> int:
        return len(self._again().module.source_map)


def _helper(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _write(path: Path, key: str, made: Derivative) -> None:
    """Keep a derivative, if all that it needs is in this package and the libraries."""
    helpers = {name: by_name(helper) for name, helper in made.module.runtime.items()}
    if made.captured or made.module.externals or None in helpers.values() or _NUMBERED in repr(made.result):
        return
    own = any(span.file.startswith("<") for span in made.module.source_map.values())
    places = {} if own else made.module.source_map
    bare = replace(made, module=replace(made.module, runtime={}, source_map=places), program=unknown)
    try:
        described(made.result)
        body = pickle.dumps((key, bare, helpers))
        store.replace(path, store.with_checksum(body))
    except (Unsure, CacheError, pickle.PicklingError, TypeError, AttributeError):
        return
