"""Python's search for cycles of garbage, put off while a derivative is written and compiled.

Both make many small objects that live until they are done: to go through all of them again and again took a sixth of
the time. What is garbage by its count of references is freed at once, as ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting = 0
_was_on = False


@contextmanager
def put_off() -> Generator[None]:
    """Let no cycles be collected within the block; where several threads are in one, until the last has left it."""
    global _waiting, _was_on
    with _lock:
        if not _waiting:
            _was_on = gc.isenabled()
            gc.disable()
        _waiting += 1
    try:
        yield
    finally:
        with _lock:
            _waiting -= 1
            if not _waiting and _was_on:
                gc.enable()
