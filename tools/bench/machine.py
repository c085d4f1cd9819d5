"""What the figures were measured on, as far as it explains them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from tools.bench.peers.peer import Peer

VECTORS = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"), ("sse2", "SSE2"))


def machine(threads: int) -> str:
    """Return the kind of processor and system, in words that do not name the machine."""
    flags = ""
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().lower().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "features"))), "")
    vectors = next((name for flag, name in VECTORS if flag in flags.split()), "")
    kind = " with ".join(filter(None, (platform.machine(), vectors)))
    return f"{kind}, {platform.system()}, {os.cpu_count()} processors, of which {threads} used"


def versions(peers: Iterable[Peer]) -> dict[str, str]:
    """Return the versions of Python, the compiler's dependencies and the peers."""
    found = {"Python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "numba", "llvmlite")}
    found |= {peer.name: peer.version() for peer in peers if peer.package != "numpy"}
    return found
