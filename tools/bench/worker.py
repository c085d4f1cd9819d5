"""One measurement in a process of its own, asked for and answered in JSON.

A process each, because what ran before changes what comes after: malloc keeps large arrays or
returns them, caches are warm or not, libraries start threads.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any


def main() -> None:
    """Answer the request that is the first argument; the answer is the last line printed."""
    request = json.loads(sys.argv[1])
    if request["pin"]:
        pin(request["threads"])
    answer = TASKS[request["task"]](request)
    print("\n" + json.dumps(answer))


def pin(threads: int) -> None:
    """Run on the last `threads` of the processors that this process may use, where that can be said."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, set(allowed[-threads:]))


def first(request: dict[str, Any]) -> dict[str, float]:
    """Return the processor's seconds from the start of the process to a first derivative, imports included."""
    family = importlib.import_module(request["family"])
    kernel = next(k for k in family.KERNELS if k.name == request["kernel"])
    made = time.process_time()
    args = kernel.arguments(*kernel.sizes["tiny"])
    spent = time.process_time() - made
    if request["by"] == "s2sad":
        importlib.import_module("tools.bench.derivatives").derivative(kernel)(*args)
    elif request["by"] == "hand":
        kernel.hand(*args)
    else:
        peer = importlib.import_module("tools.bench.peers.peer").find(request["by"])
        runs = peer.derivatives(kernel, args)
        if not runs:
            return {}
        next(iter(runs.values()))()
    return {"seconds": time.process_time() - spent}


def times(request: dict[str, Any]) -> dict[str, Any]:
    """Return the times of all contestants, interleaved, and how far their results are from the hand's."""
    from tools.bench.contest import contest

    return contest(request)


def memory(request: dict[str, Any]) -> dict[str, int | None]:
    """Return the bytes that the primal, the hand-written derivative and s2sad's need at their peak."""
    from tools.bench.contest import own
    from tools.bench.measure import peak

    return {name: peak(run) for name, run in own(request).items()}


def scaling(request: dict[str, Any]) -> dict[str, Any]:
    """Return time and memory of one number of Runge-Kutta steps."""
    from tools.bench.scaling import measured

    return measured(request["steps"], request["rounds"], request["budget"])


TASKS = {"first": first, "times": times, "memory": memory, "scaling": scaling}

if __name__ == "__main__":
    main()
