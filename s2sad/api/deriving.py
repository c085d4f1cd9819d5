"""One derivation at a time, with room for deep expressions: a sum of a thousand terms nests a thousand levels deep."""

from __future__ import annotations

import sys
import threading

from s2sad.frontend.source import READ

_LEVELS = 10_000  # of Python's calls; a level of an expression takes about six


class _Deriving:
    """A lock that its thread may enter again; Python's limit of recursion, and what was read, while it is held."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._limit = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(self._limit, _LEVELS))
            READ.begin()

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            READ.end()
            sys.setrecursionlimit(self._limit)
        self._lock.release()


DERIVING = _Deriving()
"""Around deriving and loading only, never around a call."""
