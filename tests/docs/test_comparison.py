"""The table of the comparison says what the libraries that are installed do; s2sad always is."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PACKAGES = {
    "s2sad": "s2sad", "JAX": "jax", "JAX, jit": "jax", "autograd": "autograd", "Tangent": "tangent", "Warp": "warp",
}  # fmt: skip


@pytest.fixture
def comparison(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")
    sys.modules.pop("comparison", None)
    return importlib.import_module("comparison")


def table():
    lines = (DOCS / "comparison.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    heads = [re.fullmatch(r"(.*?) ([\d.]+)", head).groups() for head in rows[0][1:]]
    return heads, {row[0]: row[1:] for row in rows[2:]}


def test_the_table_has_every_program_and_library(comparison):
    heads, rows = table()
    assert [name for name, _ in heads] == list(comparison.LIBRARIES) == list(PACKAGES)
    assert list(rows) == [program.__doc__.removesuffix(".").lower() for program in comparison.PROGRAMS]


@pytest.mark.parametrize("library", PACKAGES)
def test_the_table_says_the_truth(comparison, library):
    if importlib.util.find_spec(PACKAGES[library]) is None:
        pytest.skip(f"{library} is not installed")
    heads, rows = table()
    column, version = next((i, version) for i, (name, version) in enumerate(heads) if name == library)
    own = comparison.version({"Tangent": "tangent-ad", "Warp": "warp-lang"}.get(library, PACKAGES[library]))
    if library != "s2sad" and own != version:
        pytest.skip(f"{library} is here in version {own}, and the table is of {version}")
    if library.startswith("JAX"):
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    with np.errstate(all="ignore"):
        found = [comparison.verdict(program, library) for program in comparison.PROGRAMS]
    assert found == [row[column] for row in rows.values()]


def test_a_wrong_answer_is_called_wrong(comparison, monkeypatch):
    monkeypatch.setitem(comparison.LIBRARIES, "s2sad", (lambda f: np.ones(3), "numpy"))
    assert comparison.verdict(comparison.duplicate_index, "s2sad") == "wrong"
