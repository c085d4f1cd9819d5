"""The examples, run as a user runs them: in another directory, with an empty cache."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name, folder):
    paths = [str(EXAMPLES.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "S2SAD_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quickstart_prints_the_derivative_a_check_and_a_timing(tmp_path):
    out = run("quickstart.py", tmp_path)
    assert "def limit_slope(u0, k):" in out
    assert "def limit_slope_vjp(u0, k, result_bar):" in out
    assert "# u[i] -= 0.1 * jump**2" in out
    assert "finite difference" in out
    assert "ratio" in out


def test_logistic_regression_learns(tmp_path):
    out = run("logistic_regression.py", tmp_path)
    assert "gradient agrees with finite differences" in out
    losses = [float(line.split()[-1]) for line in out.splitlines() if line.startswith("step")]
    assert losses[-1] < 0.05
    assert losses == sorted(losses, reverse=True)


def test_lynx_and_hare_are_fitted(tmp_path):
    out = run("lynx_hare.py", tmp_path)
    assert "hare' = 0.54" in out
    assert "lynx' = -0.79" in out or "lynx' = -0.80" in out


def test_conductivity_is_recovered(tmp_path):
    out = run("heat_conductivity.py", tmp_path)
    assert float(out.split()[-1]) > 0.8
