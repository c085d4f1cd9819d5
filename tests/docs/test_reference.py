"""The reference says what the docstrings say, and the docstrings' examples are run."""

from __future__ import annotations

import doctest
import importlib
import os
from pathlib import Path

import pytest

import s2sad
from tests.docs.reference import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


def test_the_reference_is_up_to_date():
    if os.environ.get("S2SAD_UPDATE_DOCS"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "S2SAD_UPDATE_DOCS=1 pytest tests/docs writes it again"


@pytest.mark.parametrize("name", s2sad.__all__)
def test_every_public_name_is_there(name):
    assert f"### {name}\n" in PAGE.read_text(encoding="utf-8")


MODULES = sorted({home for home in s2sad._HOMES.values() if home.startswith("s2sad.api")} | {"s2sad.interop.scipy"})


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module, monkeypatch):
    monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
