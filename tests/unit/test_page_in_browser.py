"""The explanation's page in a real browser: hover, click, keys, both themes, no errors, no network.

S2SAD_CHROMIUM names a Chromium that is not on the PATH.
"""

from __future__ import annotations

import os
import shutil

import pytest

from s2sad.api.comparison import Compared
from s2sad.api.requested import explain_file
from s2sad.report.page import page
from tests.unit.test_explanation import MODEL

driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = os.environ.get("S2SAD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with driver.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(params=["light", "dark"])
def tab(browser, tmp_path, request):
    (tmp_path / "model.py").write_text(MODEL)
    explained = explain_file(str(tmp_path / "model.py"), "loss", "vjp", ("y0", "k"))
    (tmp_path / "page.html").write_text(page(explained, [Compared("k", 1.0, 1.0, 1.0)]))
    opened = browser.new_page(color_scheme=request.param, viewport={"width": 1300, "height": 900})
    complaints, asked = [], []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda sent: asked.append(sent.url))
    opened.goto(f"file://{tmp_path}/page.html")
    opened.theme = request.param
    yield opened
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    opened.close()


def marked(tab, kind):
    return set(tab.evaluate(f"[...document.querySelectorAll('.line.{kind}')].map(line => line.id)"))


def linked(tab, key):
    return set(tab.evaluate(f"document.getElementById('{key}').dataset.links").split()) | {key}


STEP = "p0-18"


def test_hovering_lights_the_counterparts(tab):
    tab.hover(f"#{STEP}")
    assert marked(tab, "lit") == linked(tab, STEP)
    assert "y is saved in y_tape, 8 bytes per iteration" in tab.inner_text("#note")
    assert tab.evaluate("document.querySelectorAll('.flow.lit').length") > 0
    tab.hover("h1")
    assert marked(tab, "lit") == set()


def test_nothing_moves_as_a_note_comes(tab):
    places = "[...document.querySelectorAll('.line')].map(line => line.getBoundingClientRect().top)"
    before = tab.evaluate(places)
    tab.evaluate("document.querySelectorAll('.line').forEach(line => line.dataset.note = 'a long note, '.repeat(40))")
    tab.hover(f"#{STEP}")
    assert "a long note" in tab.inner_text("#note")
    assert tab.evaluate(places) == before


def test_a_click_holds_and_a_second_lets_go(tab):
    tab.click(f"#{STEP}")
    tab.hover("h1")
    assert marked(tab, "held") == linked(tab, STEP)
    tab.click(f"#{STEP}")
    tab.hover("h1")
    assert marked(tab, "held") == set()


def test_hovering_the_derivative_lights_the_users_line(tab):
    other = sorted(linked(tab, STEP) - {STEP})[0]
    tab.hover(f"#{other}")
    assert STEP in marked(tab, "lit")


def test_keys_alone_suffice(tab):
    tab.focus("#primal")
    for _ in range(8):
        tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.id") == STEP
    assert marked(tab, "lit") == linked(tab, STEP)
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.closest('.pane').id") == "derivative"
    tab.keyboard.press("Enter")
    assert marked(tab, "held")
    tab.keyboard.press("Escape")
    assert not marked(tab, "held")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("document.activeElement.closest('.pane').id") == "primal"


def test_both_themes_can_be_read(tab, tmp_path):
    dark = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(dark)
    assert tab.evaluate("document.documentElement.dataset.theme") == tab.theme
    tab.screenshot(path=str(tmp_path / "page.png"))
    assert (tmp_path / "page.png").stat().st_size > 10_000
    tab.click("#theme")
    assert tab.evaluate(dark) != before
