"""A project with a small table, its page behind a real server on this computer, and a browser of the owner without a screen."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from chaffinch.web.app import make_server, page_of
from chaffinch.web.guard import Keys
from chaffinch.web.look import main
from chaffinch.web.project import FOUND, Places, ProjectFolder
from chaffinch.web.serving import hosts_of

SURNAMES = ("Adler", "Berg", "Cohen", "Diaz", "Ito", "Khan", "Lopez", "Meyer", "Novak", "Silva")


class Visitor:
    """The owner's browser: it holds the cookie, sends forms as the page's own forms do, and follows where they lead."""

    def __init__(self, port: int, keys: Keys, project: ProjectFolder) -> None:
        self.port, self.keys, self.project, self.cookie = port, keys, project, ""
        status, headers, _ = self.ask("GET", f"/enter?token={keys.token}")
        assert status == 200
        self.cookie = headers["set-cookie"].partition(";")[0]

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: str = "", **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Return the status, the headers and the text of one answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {
                "host": self.host,
                "cookie": self.cookie,
                **{name.replace("_", "-"): value for name, value in headers.items()},
            }
            connection.request(method, path, body=body or None, headers=given)
            answer = connection.getresponse()
            return (
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read().decode("utf-8"),
            )
        finally:
            connection.close()

    def get(self, path: str) -> str:
        """Return a screen, wherever its path leads."""
        return self._led(*self.ask("GET", path))

    def post(self, where: str, /, **fields: str) -> str:
        """Send a form, follow where it leads, and return the screen."""
        stamps = {"choices": self.project.stamp(), "decisions": self.project.decisions_stamp()}
        body = urlencode({"form_key": self.keys.form, **stamps, **fields})
        answer = self.ask(
            "POST",
            where,
            body,
            origin=f"http://{self.host}",
            content_type="application/x-www-form-urlencoded",
        )
        return self._led(*answer)

    def _led(self, status: int, headers: dict[str, str], text: str) -> str:
        if status == 303:
            return self._led(*self.ask("GET", headers["location"]))
        assert status in (200, 400), text
        return text

    def until(self, path: str, words: str, seconds: float = 120.0) -> str:
        """Load a screen until it says some words."""
        end = time.monotonic() + seconds
        while words not in (text := self.get(path)):
            assert time.monotonic() < end, f"{path} does not say '{words}':\n{text}"
            time.sleep(0.1)
        return text

    def wait_for_columns(self) -> str:
        """Wait until the file has been looked at."""
        return self.until("/columns", "The same as text")


def people_with_surnames() -> str:
    """A table of 300 made-up people, one column of which says who they are."""
    rng = np.random.default_rng(1)
    sexes = rng.integers(2, size=300)
    areas = sexes + rng.integers(2, size=300)  # men live further on, where more fall ill
    ills = [("no", "yes")[int(rng.random() < 0.1 + 0.4 * area)] for area in areas]
    rows = [
        f"{SURNAMES[rng.integers(10)]},{rng.integers(18, 90)},{'fm'[sex]},{ill},{area}"
        for sex, ill, area in zip(sexes, ills, areas, strict=True)
    ]
    return "\n".join(["surname,age,sex,ill,area", *rows]) + "\n"


@pytest.fixture
def people_file(tmp_path: Path) -> Path:
    """Return the path of a table of 300 made-up people, one column of which says who they are."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "people.csv"
    path.write_text(people_with_surnames(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what a look at that table writes."""
    folder = tmp_path_factory.mktemp("looked")
    (folder / "people.csv").write_text(people_with_surnames(), encoding="utf-8")
    assert main([str(folder / "people.csv"), str(folder)]) == 0
    return folder


@pytest.fixture
def visitor(people_file: Path, tmp_path: Path) -> Iterator[Visitor]:
    """Return the owner's browser at the page of a new project; the folder of the table is opened."""
    project, keys = ProjectFolder.open(tmp_path / "project"), Keys()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        answers = threading.Event()
        server = make_server(
            page_of(
                project, Places((people_file.parent,)), keys=keys, hosts=hosts_of("127.0.0.1", port)
            ),
            answers.set,
        )
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        assert answers.wait(30)
        try:
            yield Visitor(port, keys, project)
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture
def known(visitor: Visitor, people_file: Path, looked: Path) -> Visitor:
    """Return a visitor whose table has been looked at, and nothing was chosen."""
    project = visitor.project
    project.change(source=str(people_file))
    project.path("look").mkdir()
    found = json.loads((looked / FOUND).read_text("utf-8"))
    project.path(FOUND).write_text(
        json.dumps({**found, "source": str(people_file)}), encoding="utf-8"
    )
    assert "The same as text" in visitor.get("/columns")
    return visitor


@pytest.fixture
def opened(known: Visitor) -> Visitor:
    """Return a visitor whose table has been looked at, with roles, and with the column that says who somebody is left out."""
    fields = {"output-0": "drop", "role-1": "key", "role-2": "key", "role-3": "sensitive"}
    assert "Who might attack" in known.post("/columns", next="yes", **fields)
    return known
