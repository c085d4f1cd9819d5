"""A notebook, run by a kernel of its own: magics, representations, functions defined in cells."""

from __future__ import annotations

import re

import numpy as np
import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

CELLS = [
    "import numpy as np\nimport s2sad\n%load_ext s2sad",
    '%%s2sad --wrt x,k --types "float64[:], float64"\n'
    "def loss(x, k):\n    return np.sum(np.tanh(k * x)) ** 2\n\nprint('ran')",
    "x_bar, k_bar = s2sad.grad(loss, ('x', 'k'))(np.array([0.5]), 2.0)\nprint(float(x_bar[0]), float(k_bar))",
    "@s2sad.differentiate\ndef cube(x):\n    return x**3\n\ncube",
    "cube.source()",
    "%%s2sad --explain\ndef steps(x, n):\n    for _ in range(n):\n        x = x * x\n    return x",
    "%%s2sad --sideways\nq = 1",
    "def cube(x):\n    return x**4\n\nprint(s2sad.grad(cube)(1.0))",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("S2SAD_CACHE_DIR", str(folder / "cache"))
        patch.setenv("S2SAD_DISABLE_JIT", "1")
        client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=True, kernel_name="python3")
        client.execute(cwd=str(folder))
    return [cell.outputs for cell in notebook.cells]


def html(found):
    return "".join(out["data"]["text/html"] for out in found if "text/html" in out.get("data", {}))


def plain(text):
    return re.sub(r"<[^>]+>", "", text)


def test_the_magic_runs_the_cell_and_shows_the_derivative(outputs):
    assert outputs[1][0]["text"] == "ran\n"
    assert "def loss_grad(x, k):" in plain(html(outputs[1]))
    assert "return" in plain(html(outputs[1]))


def test_functions_defined_in_cells_are_differentiated(outputs):
    slope = 2 * np.tanh(1.0) * (1 - np.tanh(1.0) ** 2)
    found = [float(word) for word in outputs[2][0]["text"].split()]
    np.testing.assert_allclose(found, [2 * slope, 0.5 * slope], rtol=1e-12)
    assert outputs[7][0]["text"] == "4.0\n"


def test_functions_and_sources_are_shown_in_colours(outputs):
    assert "def cube(x):" in plain(html(outputs[3]))
    assert "def cube_grad(x):" in plain(html(outputs[4]))
    assert "<span" in html(outputs[4])


def test_the_magic_explains(outputs):
    assert html(outputs[5]).startswith("<iframe srcdoc=")
    assert "x_tape" in html(outputs[5])


def test_a_wrong_word_is_one_sentence(outputs):
    assert outputs[6][0]["ename"] == "S2SADError"
    assert "No such option" in outputs[6][0]["evalue"]
