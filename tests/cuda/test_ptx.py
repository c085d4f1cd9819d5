"""Adjoint kernels as PTX, without GPU or driver: they compile, for three architectures, within budgets.

The budgets are what was measured with NVVM 13.0, plus a quarter: another compiler may differ a
little, a lost optimisation differs by more. Beside them stand counts for kernels written by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

# instructions, atomics, registers of the largest kernel; None: not looked at
BUDGETS: dict[str, tuple[int, int, int]] = {
    "scale sm_75": (58, 2, 16), "scale sm_80": (58, 2, 16), "scale sm_90": (58, 2, 16),
    "diffuse sm_75": (307, 0, 24), "diffuse sm_80": (307, 0, 24), "diffuse sm_90": (307, 0, 30),
    "flux sm_80": (443, 2, 55), "bodies sm_80": (669, 0, 35), "newton sm_80": (222, 1, 32),
    "strided sm_80": (284, 2, 30), "helper_call sm_80": (1180, 0, 32), "kicked sm_80": (107, 0, 16),
    "block_sum sm_80": (242, 4, 32),
}  # fmt: skip
SLACK = 1.25


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("ptx")
    home.chmod(0o700)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "S2SAD_CACHE_DIR": str(home), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-m", "tests.cuda.ptx_report"], cwd=ROOT, env=env, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        missing = any(word in done.stderr for word in ("libNVVM", "libnvvm", "NvvmSupportError", "libdevice"))
        if missing:
            pytest.skip("NVVM is not installed: pip install 's2sad[cuda12]'")
        pytest.fail(done.stderr[-3000:])
    return json.loads(done.stdout.splitlines()[-1])


def test_every_kernel_compiles_within_its_budget(report: dict[str, Any]) -> None:
    assert set(BUDGETS) <= set(report)
    for name, (instructions, atomics, _) in BUDGETS.items():
        assert 0 < report[name]["instructions"] <= SLACK * instructions, (name, report[name])
        assert report[name]["atomics"] == atomics, (name, report[name])


def test_kernels_of_single_precision_never_compute_in_double(report: dict[str, Any]) -> None:
    for name, found in report.items():
        if name.startswith(("block_sum", "device")):  # its shared array is of doubles
            continue
        assert found["double"] == 0, name


def test_registers_and_spills(report: dict[str, Any]) -> None:
    if report["scale sm_80"]["resources"][0] is None:
        pytest.skip("ptxas is not installed: pip install nvidia-cuda-nvcc")
    for name, (_, _, registers) in BUDGETS.items():
        for used in report[name]["resources"]:
            assert used["registers"] <= max(SLACK * registers, 24), (name, used)
            assert used["spills"] == 0, (name, used)


def test_device_functions_compile(report: dict[str, Any]) -> None:
    assert report["device function"]["instructions"] > 0
