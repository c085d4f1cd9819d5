"""Compile adjoint kernels to PTX, with no GPU and no driver, and print what they cost as JSON.

Run as a program of its own: the simulator, which the other tests use, cannot be left within a process.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import s2sad
from tools.bench.cuda.static import compared, cost

ARCHITECTURES = ((7, 5), (8, 0), (9, 0))
SINGLE, GRID = "float32[::1], float32[::1]", "float32[:, ::1], float32[:, ::1]"
KERNELS = {
    "scale": f"{SINGLE}, float32", "diffuse": SINGLE, "flux": f"{GRID}, float32", "bodies": SINGLE,
    "newton": SINGLE, "strided": f"{SINGLE}, {SINGLE}", "helper_call": SINGLE, "kicked": SINGLE,
    "block_sum": SINGLE, "tiled_product": f"{GRID}, {GRID[:15]}", "leader": SINGLE,
    "planets": f"{GRID[:15]}, float32[::1], {GRID[:15]}", "every_second": SINGLE, "box_filter": SINGLE,
    "image_convolution": f"{GRID}, {GRID[:15]}", "inner_points": SINGLE,
}  # fmt: skip


def report() -> dict[str, Any]:
    from tests.cuda import blocks, warp
    from tests.cuda.kernels import CASES
    from tests.cuda.test_device import energy
    from tests.cuda.test_device_calls import compared_with_integers, of_python

    assert warp.NAMES
    assert blocks.NAMES
    found: dict[str, Any] = {}
    for name, types in KERNELS.items():
        for cc in ARCHITECTURES:
            kernel = CASES[name].kernel
            texts = [kernel.ptx("adjoint", types, cc, each) for each in kernel.kernels("adjoint", types)]
            found[f"{name} sm_{cc[0]}{cc[1]}"] = asdict(cost(texts, cc))
    again = s2sad.cuda.kernel(recompute=16)(CASES["newton"].kernel.py_func)
    found["newton, no tape"] = asdict(cost([again.ptx("adjoint", SINGLE, (8, 0))], (8, 0)))
    found["device function"] = asdict(cost([energy.device.ptx()], (8, 0)))
    functions = s2sad.cuda.kernel(of_python)
    for mode in ("adjoint", "tangent"):
        found[f"functions, {mode}"] = asdict(cost([functions.ptx(mode, f"{SINGLE}, int64", (8, 0))], (8, 0)))
    beside = s2sad.cuda.kernel(compared_with_integers)
    for mode in ("adjoint", "tangent"):
        found[f"beside integers, {mode}"] = asdict(cost([beside.ptx(mode, f"{SINGLE}, int64", (8, 0))], (8, 0)))
    for name, costs in compared((8, 0)).items():
        found[name] = costs if isinstance(costs, str) else [asdict(each) for each in costs]
    return found


if __name__ == "__main__":
    print(json.dumps(report()))
