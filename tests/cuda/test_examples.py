"""The examples for CUDA, run in the simulator: each checks its own derivatives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "shown"), [
    ("cuda_diffusion.py", "def diffuse_adjoint_u("), ("cuda_nbody.py", "roles exchanged"),
    ("cuda_ode.py", "tape["), ("cuda_soft_dtw.py", "by gamma:"), ("cuda_black_scholes.py", "Euler's identity"),
])  # fmt: skip
def test_an_example_runs_and_shows_its_adjoint(name: str, shown: str, tmp_path: Path) -> None:
    paths = [str(EXAMPLES.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "S2SAD_CACHE_DIR": str(tmp_path / "cache"),
           "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], env=env, cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert shown in done.stdout
