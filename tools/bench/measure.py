"""Time functions beside each other: interleaved, so that a busy machine treats them alike."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def interleaved(functions: Sequence[Callable[..., Any]], arguments: Sequence[tuple[Any, ...]],
                rounds: int, budget: float, threads: int = 1) -> np.ndarray:
    """Return seconds a call, of shape (rounds, number of functions): the least of each round's samples.

    On one thread the seconds are the processor's, so that waiting for others on a busy machine does not count.

    Args:
        functions: what to time; each is warmed up by one call.
        arguments: the arguments of each.
        rounds: how often all of them take their turn.
        budget: seconds that one function may take in all, about.
        threads: how many the process may use.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    calls, samples = [], []
    for function, args in zip(functions, arguments, strict=True):
        function(*args)
        start = clock()
        function(*args)
        once = clock() - start
        calls.append(max(1, int(2e-4 / once)))
        samples.append(int(np.clip(budget / rounds / (once * calls[-1]), 1, 50)))
    seconds = np.empty((rounds, len(functions)))
    for turn in range(rounds):
        for which, (function, args) in enumerate(zip(functions, arguments, strict=True)):
            best = np.inf
            for _ in range(samples[which]):
                start = clock()
                for _ in range(calls[which]):
                    function(*args)
                best = min(best, clock() - start)
            seconds[turn, which] = best / calls[which]
    return seconds


def peak(run: Callable[[], Any]) -> int | None:
    """Return the bytes by which a second call of `run` raises the process's peak, or None where unknown.

    Linux keeps the peak, and resets it when asked; results are counted, the arguments are not.
    """
    run()
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        run()
        return max(0, _status("VmHWM") - before)
    except (OSError, AttributeError):
        return None


def _status(field: str) -> int:
    """Return a number of `/proc/self/status`, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"no {field}")
