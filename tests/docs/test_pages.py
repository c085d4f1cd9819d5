"""Every block of code in the documentation is run.

S2SAD_UPDATE_DOCS=1 writes what is printed into the pages; the difference is then read as prose.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks, run, same

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_the_truth(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(tmp_path / "cache"))
    if "<!-- compiled -->" not in page.read_text(encoding="utf-8"):
        monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")
    needed = re.search(r"<!-- needs: (\w+) -->", page.read_text(encoding="utf-8"))
    if needed:
        pytest.importorskip(needed[1], reason=f"{page.name} needs {needed[1]}")
    run(page, bool(os.environ.get("S2SAD_UPDATE_DOCS")))


def test_a_page_that_lies_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n")
    run(page)
    page.write_text("```python\nx = 2\nprint(x)\n```\n\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:7: the page says"):
        run(page)
    page.write_text("```python\nx = y\n```\n")
    with pytest.raises(NameError):
        run(page)
    page.write_text("```console\n$ s2sad emit none.py:f\n```\n")
    with pytest.raises(AssertionError, match=r"none\.py cannot be read"):
        run(page)


def test_a_page_is_rewritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(2)\n```\n\n```text\n3\n```\n")
    run(page, update=True)
    assert page.read_text() == "```python\nprint(2)\n```\n\n```text\n2\n```\n"


def test_dots_stand_for_lines():
    same("a\nb\nc\n", "a\n...\nc\n", "here")
    with pytest.raises(AssertionError):
        same("a\nb\n", "a\n...\nc\n", "here")


def test_links_between_pages_lead_somewhere():
    for page in (ROOT / "docs").glob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "tools/mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"{page.name}\n" in navigation, f"{page.name} is not in tools/mkdocs.yml"


def test_the_site_is_built_without_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")  # the theme's advertisement of its successor
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(ROOT / "tools/mkdocs.yml"), "-d"]
    done = subprocess.run([*words, str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial" / "index.html").exists()
