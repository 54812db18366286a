"""The eight screens in a real browser, by mouse and by keyboard alone: nothing is asked of elsewhere, and a program that looks for barriers finds none."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..browser import Browser, needs_chromium
from .conftest import Visitor

pytestmark = [needs_chromium, pytest.mark.slow]

AXE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js"
PLACE = """(() => {{ const one = document.querySelector({0}); one.scrollIntoView({{block: 'center'}}); const at = one.getBoundingClientRect();
  return [at.left + at.width / 2, at.top + at.height / 2]; }})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser with one tab."""
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


def click(browser: Browser, selector: str) -> None:
    """Press the mouse where an element is, and wait for what comes of it."""
    x, y = browser.ask(PLACE.format(json.dumps(selector)))
    browser.loaded = False
    for kind in ("mousePressed", "mouseReleased"):
        browser("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def press(browser: Browser, key: str, code: int, text: str = "") -> None:
    """Press a key and let it go."""
    for kind in ("keyDown", "keyUp"):
        extra = {"text": text} if text and kind == "keyDown" else {}
        browser("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)


def tab_to(browser: Browser, selector: str, most: int = 150) -> None:
    """Go from field to field with the tabulator until an element has the focus."""
    for _ in range(most):
        press(browser, "Tab", 9)
        if browser.ask(f"document.activeElement === document.querySelector({json.dumps(selector)})"):
            return
    raise AssertionError(f"{selector} cannot be reached by keyboard")


def write(browser: Browser, words: str) -> None:
    """Type words into what has the focus."""
    for letter in words:
        press(browser, letter, 190 if letter == "." else ord(letter.upper()), letter)  # 46 would be the key that deletes


def enter(browser: Browser) -> None:
    """Press Enter, and wait for the screen that comes."""
    browser.loaded = False
    press(browser, "Enter", 13, "\r")
    browser.settled()


def path_of(browser: Browser) -> str:
    """Return where the browser is."""
    return str(browser.ask("location.pathname"))


def barriers(browser: Browser) -> list[str]:
    """Return what a program that looks for barriers finds: rules of WCAG 2.1, levels A and AA."""
    browser.ask(AXE.read_text("utf-8"))
    found = browser.ask("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.length + ' ' + v.nodes[0].html.slice(0, 120)))", wait=True)
    return [str(one) for one in found]


def screens_are_fine(browser: Browser, base: str, paths: list[str]) -> None:
    """Look at screens at two widths, light and dark: no barrier, nothing beyond the edge, nothing from elsewhere, no complaint."""
    for path in paths:
        for width, scheme in ((1280, "light"), (390, "dark")):
            browser("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.look(f"{base}{path}", width=width, unfold=False)
            assert all(url.startswith(base) for url in browser.requests), browser.requests
            assert browser.complaints == []
            assert browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (path, width)
            assert barriers(browser) == [], (path, width, scheme)
    browser("Emulation.setEmulatedMedia", features=[])


def test_the_journey_by_mouse(browser: Browser, visitor: Visitor, table: Path) -> None:
    base = f"http://{visitor.host}"
    browser.look(f"{base}/enter?token={visitor.keys.token}", unfold=False)
    assert path_of(browser) == "/open"
    assert "token" not in browser.ask("location.href")
    click(browser, ".files button")  # people.csv
    browser.settled()
    end = time.monotonic() + 120
    while not browser.ask("document.querySelector('table.columns') !== null"):  # the screen loads itself when the look is done
        assert time.monotonic() < end
        time.sleep(0.3)
    for i, role in ((1, "key"), (2, "key"), (3, "sensitive")):
        browser.ask(f"document.querySelector('[name=role-{i}]').value = '{role}'")
    browser.ask("document.querySelector('[name=output-0]').value = 'drop'")
    click(browser, "form.main-form button[name=next]")
    browser.settled()
    assert path_of(browser) == "/attackers"
    click(browser, "main form button")
    browser.settled()
    assert path_of(browser) == "/promise"
    click(browser, "main form button")
    browser.settled()
    assert path_of(browser) == "/runs"
    click(browser, "main form button")
    browser.settled()
    assert "Run 1" in browser.ask("document.body.innerText")
    browser.look(f"{base}/runs", unfold=False)  # a reload in the middle
    end = time.monotonic() + 300
    while "See the result" not in browser.ask("document.body.innerText"):  # by itself: the list asks for itself again
        assert time.monotonic() < end, browser.ask("document.body.innerText")
        time.sleep(0.5)
    click(browser, "#runs .go")
    browser.settled()
    assert path_of(browser) == "/result/1"
    words = browser.ask("document.body.innerText")
    assert "What does it give away?" in words
    assert "Links of the network" in words
    screens_are_fine(browser, base, ["/open", "/columns", "/attackers", "/promise", "/runs", "/result/1", "/compare", "/decide"])
    browser.look(f"{base}/decide", unfold=False)
    click(browser, "#word-approved")
    browser.ask("document.querySelector('#reason').value = 'no excess'; document.querySelector('#name').value = 'Ann Lee'")
    click(browser, "main form button")
    browser.settled()
    assert "run 1 approved" in browser.ask("document.body.innerText")
    assert sorted(path.name for path in visitor.project.path("decisions", "0001").iterdir()) == ["decision.json", "page.html", "synthetic.csv"]


def test_the_journey_by_keyboard_alone(browser: Browser, opened: Visitor, table: Path) -> None:
    base = f"http://{opened.host}"
    browser.look(f"{base}/enter?token={opened.keys.token}", unfold=False)
    assert path_of(browser) == "/columns"
    tab_to(browser, "[name=role-4]")
    write(browser, "l")  # label
    tab_to(browser, "form.main-form button[name=next]")
    enter(browser)
    assert path_of(browser) == "/attackers"
    assert '[columns.area]\nkind = "categorical"' in opened.project.schema_text()
    assert 'role = "label"' in opened.project.schema_text()
    tab_to(browser, "#max_excess")
    write(browser, "0.2")
    enter(browser)
    assert path_of(browser) == "/promise"
    assert opened.project.choices().max_excess == 0.2
    tab_to(browser, "main form button")
    enter(browser)
    assert path_of(browser) == "/runs"
    tab_to(browser, "main form button")
    enter(browser)
    opened.until("/runs", "Run 1: runs")
    browser.look(f"{base}/runs", unfold=False)
    tab_to(browser, "#runs button")
    enter(browser)
    opened.until("/runs", "Run 1: stopped")
