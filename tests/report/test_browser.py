"""The page in a real browser: it asks for nothing, complains of nothing, cuts nothing off, and prints.

Chromium is driven over a pair of pipes (its own debugging protocol, JSON with a NUL after each message), without a network.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import select
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaffinch.report.compare import compare
from chaffinch.report.page import POLICY, render, report_of

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium found (chromium, chromium-browser, google-chrome): install one to look at pages",
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60.0


class Browser:
    """A Chromium with one tab, and what that tab asked for and complained of."""

    def __init__(self, profile: Path) -> None:
        commands, self.send_to = os.pipe()
        self.read_from, answers = os.pipe()
        # The browser reads from descriptor 3 and writes to 4, whatever numbers the pipes have here.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, answers)]
        actions = [(os.POSIX_SPAWN_DUP2, end, to) for to, end in enumerate(ends, start=3)]
        actions += [(os.POSIX_SPAWN_OPEN, quiet, os.devnull, os.O_WRONLY, 0) for quiet in (1, 2)]
        words = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
        for end in (commands, answers, *ends):
            os.close(end)
        self.waiting, self.number, self.session = b"", 0, None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.loaded = False
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Log", "Runtime", "Page"):
            self(f"{domain}.enable")

    def close(self) -> None:
        os.close(self.send_to)  # and the browser ends
        until = time.monotonic() + 10
        while os.waitpid(self.process, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(self.process, signal.SIGKILL)
                until += PATIENCE
            time.sleep(0.05)
        os.close(self.read_from)

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command; note what happens meanwhile."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.send_to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            heard = self._hear(until - time.monotonic())
            assert heard is not None, f"{method}: no answer in {PATIENCE:.0f} s"
            if heard.get("id") == self.number:
                assert "error" not in heard, heard
                return heard["result"]

    def _hear(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, None if there is none in time."""
        while b"\0" not in self.waiting:
            if not select.select([self.read_from], [], [], max(seconds, 0))[0]:
                return None
            more = os.read(self.read_from, 1 << 20)
            assert more, "the browser has gone"
            self.waiting += more
        first, _, self.waiting = self.waiting.partition(b"\0")
        message = json.loads(first)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("warning", "error"):
            self.complaints.append(about["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("warning", "error", "assert"):
            self.complaints.append(str(about["args"]))
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"]["text"])
        elif event == "Page.loadEventFired":
            self.loaded = True

    def look(self, path: Path, *, width: int = 1280, settle: float = 0.7, unfold: bool = True) -> None:
        """Open a file in a window of some width, wait until nothing more happens, and open all that is folded."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self("Page.navigate", url="about:blank")
        self.requests, self.complaints, self.loaded = [], [], False
        self("Page.navigate", url=path.as_uri())
        until = time.monotonic() + PATIENCE
        while not self.loaded:
            assert self._hear(until - time.monotonic()) is not None, "the page never loaded"
        while self._hear(settle) is not None:
            pass
        if unfold:
            self.ask("document.querySelectorAll('details').forEach(one => { one.open = true; })")

    def ask(self, script: str) -> Any:
        """Return what a script finds in the page."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


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
def test_the_page_asks_for_nothing_and_complains_of_nothing(browser, tmp_path, study_of, columns, width):
    study = study_of(columns)
    study["run"]["command"] = "chaffinch utility original.csv synthetic.csv " + "--option value " * 20
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
        {"keys": [f"key_{i}" for i in range(10)], "sensitive": ["<script>x</script>"], "sizes": (5, 5)},
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
    path = written(tmp_path, render(report_of(study_of(15), title="Synthetic Adult", risk=risk_of(sizes=(4, 5)))))
    for width in (1280, 400):
        browser.look(path, width=width)
        assert (browser.requests, browser.complaints) == ([path.as_uri()], [])
        assert browser.ask(BEYOND) <= 0
        assert browser.ask(CUT) == []


@pytest.mark.parametrize("given", [{}, {"holdout": False}, {"keys": ["a_long_name_of_a_key_" + str(i) for i in range(9)], "sizes": (9, 9)}])
def test_what_one_decides_by_fits_a_screen(browser, tmp_path, study_of, risk_of, given):
    study = study_of(15, holdout=given.get("holdout", True))
    path = written(tmp_path, render(report_of(study, title="Synthetic Adult", risk=risk_of(**given))))
    browser.look(path, unfold=False)
    assert browser.ask("document.querySelector('.box').getBoundingClientRect().bottom") <= 700
    assert browser.ask("document.querySelectorAll('.box .answer').length") == 3


def beyond_the_sheet(browser: Browser) -> list[str]:
    """Return tables and pictures wider than a sheet: what is cut off on paper cannot be scrolled to. 186 mm are 703 pixels."""
    browser("Emulation.setEmulatedMedia", media="print")
    browser("Emulation.setDeviceMetricsOverride", width=703, height=1000, deviceScaleFactor=1, mobile=False)
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
    "body", ["<script>1</script>", "<img src='http://example.org/x.png'>", "<link rel=stylesheet href='x.css'>"]
)
def test_the_policy_forbids_and_the_browser_says_so(browser, tmp_path, body):
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    browser.look(written(tmp_path, f"<!doctype html><title>x</title>{policy}{body}"))
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_planted_faults_of_layout_are_seen(browser, tmp_path):
    svg = "<svg id=s width=50 height=50><text x=40 y=20>a long text</text><text x=1 y=40>over</text><text x=2 y=40>over</text></svg>"
    browser.look(written(tmp_path, f"<!doctype html><title>x</title>{svg}<div style='width:3000px'>x</div>"))
    assert browser.ask(BEYOND) > 0
    assert browser.ask(CUT) == ["s: a long text"]
    assert browser.ask(OVER) == ["s: over / over"]
