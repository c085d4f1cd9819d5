"""The bench: adjoints by hand against differences and s2sad, the tuned compile, the command, the page."""

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from numba import njit

from tools.bench.__main__ import bench
from tools.bench.charts import write_charts
from tools.bench.derivatives import against_differences, derivative, difference
from tools.bench.kernel import interpreted
from tools.bench.kernels import KERNELS, find
from tools.bench.peers.peer import PEERS
from tools.bench.report import page
from tools.bench.tuning import levers, tuned

SMALLEST = {(kernel.primal, kernel.derivative): kernel for kernel in KERNELS}  # one of several sizes
NAMES = [kernel.name for kernel in SMALLEST.values() if kernel.name != "example: heat"]


@pytest.mark.parametrize("name", NAMES)
def test_adjoint_by_hand(name):
    kernel = find(name)
    args = kernel.arguments(*kernel.sizes["tiny"])
    by_hand = interpreted(kernel.hand)(*args)
    if kernel.derivative == "grad":
        assert against_differences(kernel, interpreted(kernel.primal), args, by_hand) < 1e-6
    assert difference(derivative(kernel, "python")(*args), by_hand) < 1e-10


@pytest.mark.parametrize("name", ["example: heat", "RK4, helpers that write", "arc distance"])
def test_compiled(name):
    kernel = find(name)
    args = kernel.arguments(*kernel.sizes["tiny"])
    by_hand = kernel.hand(*args)
    assert against_differences(kernel, kernel.primal, args, by_hand) < 1e-6
    assert difference(derivative(kernel)(*args), by_hand) < 1e-10
    fast = tuned(kernel.hand)
    with levers():
        assert difference(fast(*args), by_hand) < 1e-13


@njit
def last(x):
    return x[-1]


@njit
def exponentials(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = math.exp(x[i])
    return out


def test_levers_are_put_back():
    with levers():
        pass
    assert last(np.array([1.0, 2.0])) == 2.0


def test_vector_exponential_is_within_four_ulp():
    x = np.concatenate((np.linspace(-700.0, 700.0, 4001), [0.0, -0.0, np.inf, -np.inf, np.nan]))
    fast = tuned(exponentials)
    with levers():
        found = fast(x)
    expected = np.exp(x)
    finite = np.isfinite(expected)
    assert np.all(np.abs(found[finite] - expected[finite]) <= 4 * np.spacing(expected[finite]))
    np.testing.assert_array_equal(found[~finite], expected[~finite])


@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.package != "numpy"], ids=lambda peer: peer.name)
def test_peers_agree(peer):
    if not peer.installed():
        pytest.skip(f"{peer.name} is not installed")
    module = __import__(peer.module, fromlist=["to_numpy"])
    for name in ("log-sum-exp", "Jacobi-2D", "k-means"):
        kernel = find(name)
        args = kernel.arguments(*kernel.sizes["tiny"])
        try:
            runs = peer.derivatives(kernel, args)
        except Exception:
            if peer.name != "tangent-ad":  # which refuses much; a refusal is no disagreement
                raise
            continue
        for run in runs.values():
            assert difference(module.to_numpy(run()), interpreted(kernel.hand)(*args)) < 1e-8


def test_command(tmp_path):
    figures = tmp_path / "figures.json"
    done = CliRunner().invoke(bench, [
        "--kernels", "trace of", "--peers", "tangent-ad,differences", "--size", "tiny", "--quick",
        "--json", str(figures), "--docs", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    results = json.loads(figures.read_text())
    (kernel,) = results["kernels"]
    assert kernel["errors"]["s2sad"] < 1e-12
    assert kernel["seconds"]["s2sad"][0] > 0.0
    assert kernel["ratios"]["differences / gradient"][0] > 0.0
    assert kernel["lines"][0] == 2  # def, return
    assert kernel["lines"][1] >= 2
    if not PEERS[3].installed():
        assert "tangent-ad is not installed" in done.output
    assert "| trace of a product |" in (tmp_path / "performance.md").read_text()

    kernel["name"] = "another"  # figures that are there already are kept, and shown without measuring
    figures.write_text(json.dumps(results))
    done = CliRunner().invoke(bench, ["--from", str(figures), "--docs", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "| another |" in (tmp_path / "performance.md").read_text()


def test_command_names_what_it_does_not_know():
    done = CliRunner().invoke(bench, ["--kernels", "no such kernel"])
    assert done.exit_code == 2
    assert "--list" in done.output
    done = CliRunner().invoke(bench, ["--peers", "Fortran"])
    assert done.exit_code == 2
    assert "JAX" in done.output


FIGURES = {
    "machine": "a machine", "versions": {"Python": "3"}, "rounds": 3, "size": "full",
    "kernels": [
        {"name": "slow", "seconds": {n: [1e-3, 9e-4, 2e-3] for n in ("primal", "hand", "tuned", "s2sad")},
         "ratios": {"gradient / primal": [4.0, 3.0, 5.0], "gradient / hand": [8.0, 7.0, 9.0],
                    "JAX (scan) / gradient": [3.0, 2.0, 4.0], "JAX (library) / gradient": [0.5, 0.4, 0.6]},
         "first": {"s2sad, cold": 1.5, "s2sad, warm": 0.3, "hand": 1.0}, "memory": {"primal": 0, "hand": 8_000_000,
                                                                                    "s2sad": None}},
        {"name": "fast", "seconds": {n: [1e-6, 9e-7, 2e-6] for n in ("primal", "hand", "tuned", "s2sad")},
         "ratios": {"gradient / primal": [1.0, 1.0, 1.0], "gradient / hand": [2.0, 1.0, 3.0]}, "lines": [10, 30]},
        {"name": "lost", "error": "given up after 300 s"},
    ],
    "scaling": [{"steps": n, "seconds": {"primal": [n * 1e-7] * 3, "s2sad": [n * 3e-7] * 3},
                 "bytes": {"primal": 0, "s2sad": 80 * n}} for n in (10, 1000)],
}


def test_page():
    text = page(FIGURES)
    assert text.index("| slow |") < text.index("| fast |")  # the furthest behind first
    assert "| slow | 1 000 | 1 000 | 1 000 | 1 000 | 4.00 | 8.00 (7.00–9.00) | 0.50 |" in text
    assert "Gradient ÷ adjoint by hand: geometric mean 4.00, worst 8.00." in text
    assert "JAX ÷ s2sad: geometric mean 0.50 over 1 kernels, ahead of us on 1." in text
    assert "| slow | 1.50 | 0.30 | 1.00 | – | 0.0 | 8.0 | – |" in text
    assert "Lines of code written for each line read: geometric mean 3.0." in text
    assert "- lost: given up after 300 s" in text
    assert "- not tried this time: call with two numbers; trace of a product;" in text
    assert "| 1 000 | 100 | 3.0, 0.1 MB |" in text


def test_charts_are_drawn_to_scale(tmp_path):
    paths = {path.name: path for path in write_charts(FIGURES, tmp_path)}
    assert set(paths) == {"performance_hand.svg", "performance_peers.svg", "performance_steps.svg"}
    for path in paths.values():
        ElementTree.parse(path)
        assert path.stat().st_size < 20_000
    circles = ElementTree.parse(paths["performance_hand.svg"]).iter("{http://www.w3.org/2000/svg}circle")
    legend, slow, fast = [float(circle.get("cx")) for circle in circles]
    left, right = 230.0, 740.0  # 1 and 10
    assert slow == pytest.approx(left + (right - left) * math.log10(8.0), abs=0.1)
    assert fast == pytest.approx(left + (right - left) * math.log10(2.0), abs=0.1)
    assert legend < left
