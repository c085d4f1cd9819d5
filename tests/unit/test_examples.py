"""The examples, run as a user runs them: in another directory, with an empty cache."""

import os
import re
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


def test_a_double_pendulum_is_chaotic(tmp_path):
    out = run("double_pendulum.py", tmp_path)
    assert "after    3 s  angle    1.052 rad  moved by a push:         86.2 times" in out  # 86.2 by differences
    assert 1.2 < float(out.split()[-3]) < 2.5


def test_greeks_agree_with_bumping(tmp_path):
    rows = [line.split() for line in run("heston_greeks.py", tmp_path).splitlines() if "bumped" in line]
    assert len(rows) == 7
    for row in rows:
        assert abs(float(row[-3]) - float(row[-1])) < 2e-3, row


def test_cameras_are_found(tmp_path):
    out = run("bundle_adjustment.py", tmp_path)
    assert float(out.split("before, ")[1].split()[0]) < 0.1


def test_schools_are_sampled(tmp_path):
    out = run("hmc.py", tmp_path)
    mean = float(out.split("mean effect ")[1].split()[0])
    assert abs(mean - 4.4) < 0.6  # 4.4 by others' long runs of this model
    assert "school A  measured  28.0" in out


def test_the_mean_of_curves_keeps_their_form(tmp_path):
    out = run("soft_dtw.py", tmp_path)
    in_curves, in_average, found = map(float, re.findall(r"\d\.\d\d", out.splitlines()[-1]))
    assert in_average < 0.7 * in_curves < found


def test_every_example_is_listed():
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"`python examples/{file.name}`" in listed for file in EXAMPLES.glob("*.py"))
