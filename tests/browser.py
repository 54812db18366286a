"""A Chromium with one tab, driven through pipes, for tests that look at pages as a person does; without one they are skipped."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium found (chromium, chromium-browser, google-chrome): install one to look at pages",
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
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
        self.waiting, self.number = b"", 0
        self.session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.loaded = False
        self.new_tab()

    def new_tab(self) -> str | None:
        """Open another tab, and return the name of the one that was driven so far."""
        before, self.session = self.session, None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Log", "Runtime", "Page"):
            self(f"{domain}.enable")
        return before

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
        elif event == "Runtime.consoleAPICalled" and about["type"] in (
            "warning",
            "error",
            "assert",
        ):
            self.complaints.append(str(about["args"]))
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"]["text"])
        elif event == "Page.loadEventFired":
            self.loaded = True

    def look(
        self, place: Path | str, *, width: int = 1280, settle: float = 0.7, unfold: bool = True
    ) -> None:
        """Open a file or an address in a window of some width, wait until nothing more happens, and open all that is folded."""
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self("Page.navigate", url="about:blank")
        self.requests, self.complaints, self.loaded = [], [], False
        self("Page.navigate", url=place if isinstance(place, str) else place.as_uri())
        self.settled(settle)
        if unfold:
            self.ask("document.querySelectorAll('details').forEach(one => { one.open = true; })")

    def settled(self, seconds: float = 0.7) -> None:
        """Wait until a page has loaded, and nothing more has happened for some seconds."""
        until = time.monotonic() + PATIENCE
        while not self.loaded:
            assert self._hear(until - time.monotonic()) is not None, "the page never loaded"
        while self._hear(seconds) is not None:
            pass

    def ask(self, script: str, *, wait: bool = False) -> Any:
        """Return what a script finds in the page; with `wait`, what it promises."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=wait)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")
