"""The gallery shows a figure of each example that draws one."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tools.gallery import DRAWN

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DRAWN)
def test_an_example_has_its_figure(name):
    assert f"`examples/{name}.py`" in PAGE
    assert re.search(rf"!\[[^\]]{{20,}}\]\(gallery/{name}\.svg\)", PAGE)  # with words for those who cannot see it
    root = ElementTree.parse(ROOT / "docs" / "gallery" / f"{name}.svg").getroot()
    assert root.tag.endswith("svg")


def test_what_draws_is_in_the_gallery():
    drawing = {file.stem for file in (ROOT / "examples").glob("*.py") if "savefig" in file.read_text()}
    assert drawing == set(DRAWN)
