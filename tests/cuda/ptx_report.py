"""Compile adjoint kernels to PTX, with no GPU and no driver, and print what they cost as JSON.

Run as a program of its own: the simulator, which the other tests use, cannot be left within a process.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ARCHITECTURES = ((7, 5), (8, 0), (9, 0))
SINGLE, GRID = "float32[::1], float32[::1]", "float32[:, ::1], float32[:, ::1]"
KERNELS = {
    "scale": f"{SINGLE}, float32", "diffuse": SINGLE, "flux": f"{GRID}, float32", "bodies": SINGLE,
    "newton": SINGLE, "strided": f"{SINGLE}, {SINGLE}", "helper_call": SINGLE, "kicked": SINGLE,
    "block_sum": SINGLE,
}  # fmt: skip


def instructions(ptx: str) -> list[str]:
    lines = [line.strip() for line in ptx.splitlines()]
    return [line for line in lines if line.endswith(";") and not line.startswith((".", "//"))]


def resources(ptx: str, cc: tuple[int, int]) -> dict[str, int] | None:
    """Return registers, stack and spills by `ptxas -v`, or None where there is no ptxas."""
    ptxas = shutil.which("ptxas") or next(
        (str(p) for base in sys.path for p in Path(base).glob("nvidia/*/bin/ptxas")), None)
    if ptxas is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.ptx"
        file.write_text(ptx)
        done = subprocess.run([ptxas, "-v", f"-arch=sm_{cc[0]}{cc[1]}", str(file), "-o", f"{folder}/kernel.cubin"],
                              capture_output=True, text=True, check=True)
    said = done.stderr
    return {
        "registers": max(map(int, re.findall(r"Used (\d+) registers", said)), default=0),
        "stack": max(map(int, re.findall(r"(\d+) bytes stack frame", said)), default=0),
        "spills": sum(map(int, re.findall(r"(\d+) bytes spill", said))),
    }


def report() -> dict[str, Any]:
    from tests.cuda import warp
    from tests.cuda.kernels import CASES

    assert warp.NAMES
    found: dict[str, Any] = {}
    for name, types in KERNELS.items():
        for cc in ARCHITECTURES if name in ("scale", "diffuse") else ((8, 0),):
            kernel = CASES[name].kernel
            texts = [kernel.ptx("adjoint", types, cc, each) for each in kernel.kernels("adjoint", types)]
            lines = [line for text in texts for line in instructions(text)]
            found[f"{name} sm_{cc[0]}{cc[1]}"] = {
                "instructions": len(lines),
                "atomics": sum(line.startswith(("atom.", "red.")) or " atom." in line for line in lines),
                "double": sum(".f64" in line for line in lines),
                "resources": [resources(text, cc) for text in texts],
            }
    from tests.cuda.test_device import energy

    found["device function"] = {"instructions": len(instructions(energy.device.ptx())), "atomics": 0, "double": 1}
    return found


if __name__ == "__main__":
    print(json.dumps(report()))
