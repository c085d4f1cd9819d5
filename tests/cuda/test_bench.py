"""The bench of GPUs: derivatives by hand against those generated, the timing code on a small scale, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from tests.cuda.emulator import emulate
from tests.cuda.harness import adjoint
from tools.bench.cuda import by_hand, timed
from tools.bench.cuda.subjects import SUBJECTS, example

ROOT = Path(__file__).parents[2]


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def shadows(file: str, name: str, grid: Any, block: Any, args: list[Any], bars: list[Any]) -> list[Any]:
    adjoint(getattr(example(file), name), grid, block, [a.copy() for a in args], bars)
    return bars


def test_diffusion_by_hand() -> None:
    u, k, out, out_bar = (draw(5, 6, seed=s) for s in range(4))
    zero = np.zeros((5, 6))
    want = shadows("cuda_diffusion.py", "diffuse", (2, 2), (3, 3), [u, k, out],
                   [zero.copy(), zero.copy(), out_bar.copy()])  # fmt: skip
    u_bar, k_bar = zero.copy(), zero.copy()
    emulate(by_hand.diffusion, (2, 2), (3, 3), u, u_bar, k, k_bar, out_bar)
    np.testing.assert_allclose(u_bar, want[0], rtol=1e-13)
    np.testing.assert_allclose(k_bar, want[1], rtol=1e-13)


def test_bodies_by_hand() -> None:
    x, y, mass, energy, energy_bar = (draw(5, seed=s) for s in range(5))
    zero = np.zeros(5)
    want = shadows("cuda_nbody.py", "potential", 2, 3, [x, y, mass, energy],
                   [zero.copy(), zero.copy(), zero.copy(), energy_bar.copy()])  # fmt: skip
    x_bar, y_bar = zero.copy(), zero.copy()
    emulate(by_hand.bodies, 2, 3, x, x_bar, y, y_bar, mass, energy_bar)
    np.testing.assert_allclose(x_bar, want[0], rtol=1e-7)  # the softening is a constant of single precision
    np.testing.assert_allclose(y_bar, want[1], rtol=1e-7)


def test_a_pendulum_by_hand() -> None:
    angle, damping, final_bar, zero = draw(3), draw(3, seed=1), draw(3, seed=2), np.zeros(3)
    want = shadows("cuda_ode.py", "pendulum", 1, 3, [angle, damping, zero],
                   [zero.copy(), zero.copy(), final_bar.copy()])  # fmt: skip
    angle_bar, damping_bar = zero.copy(), zero.copy()
    emulate(by_hand.pendulum, 1, 3, angle, angle_bar, damping, damping_bar, final_bar, np.full((200, 3, 3), np.nan))
    np.testing.assert_allclose(angle_bar, want[0], rtol=1e-11)
    np.testing.assert_allclose(damping_bar, want[1], rtol=1e-11)


def test_soft_dtw_by_hand() -> None:
    module, distance = example("cuda_soft_dtw.py"), draw(2, 3, 4)
    want, _ = module.gradient(distance, 0.7)
    cost, distance_bar = module.border(2, 3, 4), np.zeros_like(distance)
    module.soft_dtw[2, 3](distance, 0.7, cost)
    emulate(by_hand.soft_dtw, 2, 3, distance, 0.7, cost, distance_bar)
    np.testing.assert_allclose(distance_bar, want, rtol=1e-10)


def test_black_scholes_by_hand() -> None:
    rng = np.random.default_rng(0)
    args = [rng.uniform(low, high, 5) for low, high in ((80, 120), (80, 120), (0.01, 0.05), (0.1, 0.4), (0.2, 2))]
    value, greeks = example("cuda_black_scholes.py").greeks(*args)
    made = [np.zeros(5) for _ in range(6)]
    emulate(by_hand.black_scholes, 1, 2, *args, *made)
    for got, want in zip(made, (value, *greeks), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)  # its constants are of single precision


def test_every_example_is_a_subject() -> None:
    assert {s.file for s in SUBJECTS} == {p.name for p in (ROOT / "examples").glob("cuda_*.py")}


def test_the_timing_code_runs_in_the_simulator() -> None:
    figures = timed.measured("tiny", 1)
    assert len(figures) == 4
    assert all(figure.value > 0 and figure.seconds > 0 for figure in figures)
    cuda.synchronize()


def test_the_command_says_why_it_skips(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-m", "tools.bench", "cuda", "--json", str(tmp_path / "figures.json")],
                          cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Times: skipped, as the simulator is on" in done.stdout
    assert "PTX cannot be made while the simulator is on" in done.stdout
    found = json.loads((tmp_path / "figures.json").read_text())
    assert found["times"] == []
    assert found["skipped"]
