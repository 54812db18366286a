"""The eight screens in a real browser, by mouse and by keyboard alone: nothing is asked of elsewhere, and a program that looks for barriers finds none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaffinch.web.commands import roles_of
from chaffinch.web.jobs import Job

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
        if browser.ask(
            f"document.activeElement === document.querySelector({json.dumps(selector)})"
        ):
            return
    raise AssertionError(f"{selector} cannot be reached by keyboard")


def write(browser: Browser, words: str) -> None:
    """Type words into what has the focus."""
    for letter in words:
        press(
            browser, letter, 190 if letter == "." else ord(letter.upper()), letter
        )  # 46 would be the key that deletes


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
    found = browser.ask(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.length + ' ' + v.nodes[0].html.slice(0, 120)))",
        wait=True,
    )
    return [str(one) for one in found]


def screens_are_fine(browser: Browser, base: str, paths: list[str]) -> None:
    """Look at screens at two widths, light and dark: no barrier, nothing beyond the edge, nothing from elsewhere, no complaint."""
    for path in paths:
        for width, scheme in ((1280, "light"), (390, "dark")):
            browser(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
            browser.look(f"{base}{path}", width=width, unfold=False)
            assert all(url.startswith(base) for url in browser.requests), browser.requests
            assert browser.complaints == []
            assert (
                browser.ask(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                <= 0
            ), (path, width)
            assert barriers(browser) == [], (path, width, scheme)
    browser("Emulation.setEmulatedMedia", features=[])


def test_the_journey_by_mouse(browser: Browser, visitor: Visitor, people_file: Path) -> None:
    base = f"http://{visitor.host}"
    browser.look(f"{base}/enter?token={visitor.keys.token}", unfold=False)
    assert path_of(browser) == "/open"
    assert "token" not in browser.ask("location.href")
    click(browser, ".files button")  # people.csv
    browser.settled()
    end = time.monotonic() + 120
    while not browser.ask(
        "document.querySelector('table.columns') !== null"
    ):  # the screen loads itself when the look is done
        assert time.monotonic() < end
        time.sleep(0.3)
    for i, role in ((1, "key"), (2, "key"), (3, "sensitive")):
        browser.ask(f"document.querySelector('[name=role-{i}]').value = '{role}'")
    browser.ask("document.querySelector('[name=output-0]').value = 'drop'")
    click(browser, ".steps button[value=promise]")  # a click on the bar keeps what was chosen
    browser.settled()
    assert path_of(browser) == "/promise"
    assert _roles(visitor) == (("age", "sex"), ("ill",), "", (("surname", "drop"),))
    browser.ask("document.querySelector('#epsilon').value = '1'")  # and Nothing is ticked
    click(browser, ".steps button[value=runs]")
    browser.settled()
    assert path_of(browser) == "/promise"
    assert "Nothing is promised, and epsilon was filled in." in browser.ask(
        "document.body.innerText"
    )
    assert browser.ask("document.querySelector('#epsilon').value") == "1"
    browser.look(
        browser.ask("document.querySelector('[role=alert] a').href"), unfold=False
    )  # what is saved
    assert browser.ask("document.querySelector('#epsilon').value") == ""
    click(browser, ".steps button[value=columns]")
    browser.settled()
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
    while "See the result" not in browser.ask(
        "document.body.innerText"
    ):  # by itself: the list asks for itself again
        assert time.monotonic() < end, browser.ask("document.body.innerText")
        time.sleep(0.5)
    click(browser, "#runs .go")
    browser.settled()
    assert path_of(browser) == "/result/1"
    words = browser.ask("document.body.innerText")
    assert "What does it give away?" in words
    assert "Links of the network" in words
    screens_are_fine(
        browser,
        base,
        [
            "/open",
            "/columns",
            "/attackers",
            "/promise",
            "/runs",
            "/result/1",
            "/compare",
            "/decide",
        ],
    )
    browser.look(f"{base}/decide", unfold=False)
    click(browser, "#word-approved")
    browser.ask(
        "document.querySelector('#reason').value = 'no excess'; document.querySelector('#name').value = 'Ann Lee'"
    )
    click(browser, "main form button")
    browser.settled()
    assert "run 1 approved" in browser.ask("document.body.innerText")
    assert sorted(path.name for path in visitor.project.path("decisions", "0001").iterdir()) == [
        "decision.json",
        "page.html",
        "synthetic.csv",
    ]


def until_words(browser: Browser, words: str, seconds: float = 300.0) -> None:
    """Wait until the screen says some words, by itself."""
    end = time.monotonic() + seconds
    while words not in browser.ask("document.body ? document.body.innerText : ''"):
        assert time.monotonic() < end, browser.ask("document.body.innerText")
        time.sleep(0.2)


def type_words(browser: Browser, words: str) -> None:
    """Put words into what has the focus, as a keyboard with those letters does."""
    browser("Input.insertText", text=words)


def test_the_eight_screens_by_keyboard_alone(
    browser: Browser, visitor: Visitor, people_file: Path
) -> None:
    base = f"http://{visitor.host}"
    browser.look(f"{base}/enter?token={visitor.keys.token}", unfold=False)
    assert path_of(browser) == "/open"
    tab_to(browser, ".files button")
    enter(browser)
    until_words(browser, "The same as text")
    for field, letter in (
        ("output-0", "l"),
        ("role-1", "k"),
        ("role-2", "k"),
        ("role-3", "s"),
        ("role-4", "l"),
    ):
        tab_to(browser, f"[name={field}]")
        write(browser, letter)  # leave it out, key, key, sensitive, label
    tab_to(browser, "form.main-form button[name=next]")
    enter(browser)
    assert path_of(browser) == "/attackers"
    assert _roles(visitor) == (("age", "sex"), ("ill",), "area", (("surname", "drop"),))
    tab_to(browser, "#max_excess")
    write(browser, "0.9")
    tab_to(browser, "#second")
    press(browser, " ", 32, " ")
    enter(browser)
    assert path_of(browser) == "/promise"
    assert (visitor.project.choices().max_excess, visitor.project.choices().second) == (0.9, True)
    tab_to(browser, "main form button")
    enter(browser)
    assert path_of(browser) == "/runs"
    tab_to(browser, "main form button")
    enter(browser)
    until_words(browser, "See the result")
    tab_to(browser, "#runs a.go")
    enter(browser)
    assert path_of(browser) == "/result/1"
    tab_to(browser, ".report svg a", most=400)  # a node in the picture of the network
    enter(browser)
    assert path_of(browser) == "/result/1"
    assert browser.ask("location.search").startswith("?column=")
    tab_to(browser, "#links td button", most=400)
    enter(browser)
    assert path_of(browser) == "/runs"
    assert len(visitor.project.choices().forbid) == 1
    tab_to(browser, "main form button")
    enter(browser)
    until_words(browser, "Stop run 2")
    browser.look(f"{base}/runs", unfold=False)  # a reload in the middle
    tab_to(browser, "#runs button")
    enter(browser)
    until_words(browser, "Run 2: stopped")
    tab_to(browser, ".steps button[value='compare']")  # what is set in the form is saved on the way
    enter(browser)
    assert path_of(browser) == "/compare"
    tab_to(browser, "summary")
    press(browser, " ", 32, " ")
    tab_to(browser, "details button")
    enter(browser)
    assert path_of(browser) == "/columns"
    assert visitor.project.choices().forbid == ()
    tab_to(browser, ".steps button[value='decide']")  # the form of this screen is saved on the way
    enter(browser)
    assert browser.ask("document.querySelectorAll('input:checked').length") == 0
    tab_to(browser, "#word-approved")
    press(browser, " ", 32, " ")
    tab_to(browser, "#reason")
    type_words(browser, "no excess")
    tab_to(browser, "#name")
    type_words(browser, "Ann Lee")
    enter(browser)
    assert "waits for a second name" in browser.ask("document.body.innerText")
    tab_to(browser, "#second-1-approved")
    press(browser, " ", 32, " ")
    tab_to(browser, "#second-1-name")
    type_words(browser, "Bo Kim")
    enter(browser)
    assert "run 1 approved" in browser.ask("document.body.innerText")
    assert sorted(path.name for path in visitor.project.path("decisions", "0001").iterdir()) == [
        "decision.json",
        "page.html",
        "synthetic.csv",
    ]
    assert browser.complaints == []


def _roles(visitor: Visitor) -> tuple[object, ...]:
    roles = roles_of(visitor.project.schema_text())
    return roles.keys, roles.sensitive, roles.label, roles.decisions


def test_two_tabs_are_in_step(browser: Browser, opened: Visitor) -> None:
    base = f"http://{opened.host}"
    browser.look(f"{base}/enter?token={opened.keys.token}", unfold=False)
    assert path_of(browser) == "/columns"
    first = browser.new_tab()
    second = browser.session
    browser.look(f"{base}/columns", unfold=False)
    browser.session = first
    browser.ask("document.querySelector('[name=role-4]').value = 'label'")
    click(browser, "form.main-form p button:not([name])")
    browser.settled()
    assert roles_of(opened.project.schema_text()).label == "area"
    browser.session = second
    browser.ask("document.querySelector('[name=role-3]').value = 'other'")
    click(browser, "form.main-form p button:not([name])")
    browser.settled()
    assert "has been changed since this form was loaded" in browser.ask(
        "document.querySelector('[role=alert]').innerText"
    )
    assert roles_of(opened.project.schema_text()).sensitive == ("ill",)
    assert (
        browser.ask("document.querySelector('[name=role-4]').value") == "label"
    )  # what the other tab chose
    browser.ask("document.querySelector('[name=role-3]').value = 'other'")
    click(browser, "form.main-form p button:not([name])")
    browser.settled()
    roles = roles_of(opened.project.schema_text())
    assert (roles.label, roles.sensitive) == ("area", ())
    browser.look(f"{base}/runs", unfold=False)
    browser.session = first
    browser.look(f"{base}/runs", unfold=False)
    click(browser, "main form button")
    browser.settled()
    until_words(browser, "Stop run 1")
    browser.session = second
    until_words(browser, "Stop run 1", seconds=30)  # without a reload
    click(browser, "#runs button")
    until_words(browser, "Run 1: stopped")
    browser.session = first
    until_words(browser, "Run 1: stopped", seconds=30)


def served(place: Path, *words: str) -> tuple[subprocess.Popen[str], str]:
    """Start the page as a person does, and return its process and address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "chaffinch", "open", str(place), "--no-browser", *words],
        cwd=place.parent,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    return process, process.stderr.readline().split()[-1]


def killed(process: subprocess.Popen[str]) -> None:
    """Kill the page, and nothing else."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stderr is not None
    process.stderr.close()


def test_a_run_outlives_a_kill_of_the_page_with_scripts_off(
    browser: Browser, opened: Visitor, people_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "another"
    shutil.copytree(opened.project.folder, folder)
    run = folder / "runs" / "0001"
    browser("Emulation.setScriptExecutionDisabled", value=True)
    page, address = served(people_file, "--project", str(folder))
    try:
        browser.look(address, unfold=False)
        assert path_of(browser) == "/columns"
        browser.look(address.partition("/enter")[0] + "/runs", unfold=False)
        click(browser, "main form button")
        until_words(browser, "Stop run 1")
        os.kill(page.pid, signal.SIGSTOP)  # so that it cannot see the end of the run
        assert Job(run).state == "running"
        killed(page)
        page, address = served(people_file, "--project", str(folder))
        browser.look(address, unfold=False)
        assert path_of(browser) == "/columns"
        browser.look(address.partition("/enter")[0] + "/runs", unfold=False)
        assert any(
            words in browser.ask("document.body.innerText")
            for words in ("Stop run 1", "See the result")
        )  # it is found again
        until_words(browser, "See the result")
        click(browser, "main form button")
        until_words(browser, "Stop run 2")
        killed(page)
        begun = json.loads((folder / "runs" / "0002" / "begun.json").read_text())
        os.killpg(begun["pid"], signal.SIGKILL)  # as when the computer is switched off
        page, address = served(people_file, "--project", str(folder))
        browser.look(address, unfold=False)
        browser.look(address.partition("/enter")[0] + "/runs", unfold=False)
        until_words(browser, "Run 2: ended without a word")
        assert not (folder / "runs" / "0002" / "out").exists()
        browser.look(address.partition("/enter")[0] + "/result/1", unfold=False)
        assert "What does it give away?" in browser.ask("document.body.innerText")
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)
        killed(page)
