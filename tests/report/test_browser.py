"""The page in a real browser: it asks for nothing, complains of nothing, cuts nothing off, and prints.

Chromium is driven over a pair of pipes (its own debugging protocol, JSON with a NUL after each message), without a network.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaffinch.report.compare import compare
from chaffinch.report.page import POLICY
from chaffinch.report.release import render
from chaffinch.report.result import report_of

from ..browser import Browser, needs_chromium

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


def written(folder: Path, html: str) -> Path:
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    return path


# Texts that reach beyond their picture, and tables and pictures beyond what they scroll in.
CUT = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const at = text.getBoundingClientRect();
    return at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1;
  }).map(text => svg.id + ': ' + text.textContent);
})"""
BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Upright labels of an axis or a table of names that lie over each other.
OVER = """[...document.querySelectorAll('svg[id]')].flatMap(svg => {
  const upright = [...svg.querySelectorAll('text')].filter(t => !t.getAttribute('transform') && t.parentNode === svg);
  const boxes = upright.map(t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b, q]) =>
    Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 5
  ).map(([b, q]) => svg.id + ': ' + a + ' / ' + b));
})"""


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("columns", [2, 15, 60])
def test_the_page_asks_for_nothing_and_complains_of_nothing(
    browser, tmp_path, study_of, columns, width
):
    study = study_of(columns)
    study["run"]["command"] = (
        "chaffinch utility original.csv synthetic.csv " + "--option value " * 20
    )
    path = written(tmp_path, render(report_of(study, title="Synthetic Adult")))
    browser.look(path, width=width)
    assert browser.requests == [path.as_uri()]
    assert browser.complaints == []
    assert browser.ask(BEYOND) <= 0
    assert browser.ask(CUT) == []
    assert browser.ask(OVER) == []
    assert browser.ask("document.querySelectorAll('svg').length") >= 10


def test_names_of_strangers_run_nothing(browser, tmp_path, study_of):
    names = [
        "<script>console.error(1)</script>",
        "<img src=http://example.org/x>",
        "x" * 400,
        "名前" * 30,
        "عمر المريض",
        "' onclick='x",
    ]
    path = written(tmp_path, render(report_of(study_of(names), title=names[0])))
    for width in (1280, 400):
        browser.look(path, width=width)
        assert browser.requests == [path.as_uri()]
        assert browser.complaints == []
        assert browser.ask(BEYOND) <= 0
        assert browser.ask(CUT) == []


def test_a_comparison_asks_for_nothing(browser, tmp_path, study_of):
    path = written(tmp_path, compare(study_of(15), study_of(15, noise=2.0)).to_html())
    for width in (1280, 400):
        browser.look(path, width=width)
        assert (browser.requests, browser.complaints) == ([path.as_uri()], [])
        assert browser.ask(BEYOND) <= 0


# Attacks.


@pytest.mark.parametrize(
    "about",
    [
        {},
        {"holdout": False, "extras": False},
        {"sizes": (2, 5)},
        {
            "keys": [f"key_{i}" for i in range(10)],
            "sensitive": ["<script>x</script>"],
            "sizes": (5, 5),
        },
        {"keys": ["名前" * 30, "x" * 400, "عمر المريض"], "sensitive": ["y" * 300], "sizes": (1, 3)},
        {"keys": [f"a_long_name_of_a_key_{i}" for i in range(20)], "sizes": (1, 1)},
    ],
)
def test_attacks_ask_for_nothing_cut_nothing_off_and_print(browser, tmp_path, risk_of, about):
    path = written(tmp_path, render(report_of(title="What it gives away", risk=risk_of(**about))))
    for width in (1280, 400):
        browser.look(path, width=width)
        assert (browser.requests, browser.complaints) == ([path.as_uri()], [])
        assert browser.ask(BEYOND) <= 0
        assert browser.ask(CUT) == []
        assert browser.ask(OVER) == []
    assert beyond_the_sheet(browser) == []


def test_utility_and_attacks_on_one_page(browser, tmp_path, study_of, risk_of):
    path = written(
        tmp_path,
        render(report_of(study_of(15), title="Synthetic Adult", risk=risk_of(sizes=(4, 5)))),
    )
    for width in (1280, 400):
        browser.look(path, width=width)
        assert (browser.requests, browser.complaints) == ([path.as_uri()], [])
        assert browser.ask(BEYOND) <= 0
        assert browser.ask(CUT) == []


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"holdout": False},
        {"keys": ["a_long_name_of_a_key_" + str(i) for i in range(9)], "sizes": (9, 9)},
    ],
)
def test_what_one_decides_by_fits_a_screen(browser, tmp_path, study_of, risk_of, given):
    study = study_of(15, holdout=given.get("holdout", True))
    path = written(
        tmp_path, render(report_of(study, title="Synthetic Adult", risk=risk_of(**given)))
    )
    browser.look(path, unfold=False)
    assert browser.ask("document.querySelector('.box').getBoundingClientRect().bottom") <= 700
    assert browser.ask("document.querySelectorAll('.box .answer').length") == 3


def beyond_the_sheet(browser: Browser) -> list[str]:
    """Return tables and pictures wider than a sheet: what is cut off on paper cannot be scrolled to. 186 mm are 703 pixels."""
    browser("Emulation.setEmulatedMedia", media="print")
    browser(
        "Emulation.setDeviceMetricsOverride",
        width=703,
        height=1000,
        deviceScaleFactor=1,
        mobile=False,
    )
    wide = browser.ask(
        "[...document.querySelectorAll('table, svg')].filter(e => e.getBoundingClientRect().right > 704).map(e => e.outerHTML.slice(0, 80))"
    )
    browser("Emulation.setEmulatedMedia", media="")
    return wide


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_the_page_prints(browser, tmp_path, study_of):
    path = written(tmp_path, render(report_of(study_of(15), title="Synthetic Adult")))
    browser.look(path, unfold=False)
    printed = browser("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF")
    assert 1 <= pages_of(pdf) <= 4
    assert beyond_the_sheet(browser) == []


# The test can fail.


def test_a_planted_request_is_seen(browser, tmp_path):
    path = written(tmp_path, "<!doctype html><title>x</title><img src='http://example.org/x.png'>")
    browser.look(path)
    assert "http://example.org/x.png" in browser.requests
    assert browser.complaints


@pytest.mark.parametrize(
    "body",
    [
        "<script>console.error('x')</script>",
        "<script>console.warn('x')</script>",
        "<script>throw new Error('x')</script>",
    ],
)
def test_a_planted_complaint_is_seen(browser, tmp_path, body):
    browser.look(written(tmp_path, f"<!doctype html><title>x</title>{body}"))
    assert browser.complaints


@pytest.mark.parametrize(
    "body",
    [
        "<script>1</script>",
        "<img src='http://example.org/x.png'>",
        "<link rel=stylesheet href='x.css'>",
    ],
)
def test_the_policy_forbids_and_the_browser_says_so(browser, tmp_path, body):
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    browser.look(written(tmp_path, f"<!doctype html><title>x</title>{policy}{body}"))
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_planted_faults_of_layout_are_seen(browser, tmp_path):
    svg = "<svg id=s width=50 height=50><text x=40 y=20>a long text</text><text x=1 y=40>over</text><text x=2 y=40>over</text></svg>"
    browser.look(
        written(tmp_path, f"<!doctype html><title>x</title>{svg}<div style='width:3000px'>x</div>")
    )
    assert browser.ask(BEYOND) > 0
    assert browser.ask(CUT) == ["s: a long text"]
    assert browser.ask(OVER) == ["s: over / over"]
