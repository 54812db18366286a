"""The server says when it answers, names no software, and bears many and slow clients."""

from __future__ import annotations

import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chaffinch.errors import InputError
from chaffinch.web import app
from chaffinch.web.serving import address_of, entry_file, hosts_of

from .conftest import Visitor


def test_an_answer_names_no_software(visitor: Visitor) -> None:
    status, headers, _ = visitor.ask("GET", "/open")
    assert status == 200
    assert "server" not in headers


def test_fifty_tabs_are_answered(visitor: Visitor) -> None:
    with ThreadPoolExecutor(50) as tabs:
        assert all(
            "Open a table" in text for text in tabs.map(lambda _: visitor.get("/open"), range(50))
        )


def test_slow_clients_hold_nobody_up(visitor: Visitor) -> None:
    slow = [socket.create_connection(("127.0.0.1", visitor.port)) for _ in range(30)]
    try:
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: ")  # and never the rest
        start = time.monotonic()
        assert "Open a table" in visitor.get("/open")
        assert time.monotonic() - start < 30  # they would hold it for good
    finally:
        for one in slow:
            one.close()


def test_a_head_that_never_ends_is_cut_off(visitor: Visitor) -> None:
    with socket.create_connection(("127.0.0.1", visitor.port), timeout=20) as one:
        one.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * (1 << 20))
        assert one.recv(100).startswith(b"HTTP/1.1 400") or not one.recv(100)


def closed(one: socket.socket, seconds: float = 20.0) -> bool:
    """Whether the other side closes a connection in time; what it says before is left aside."""
    one.settimeout(seconds)
    try:
        while one.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_a_client_that_keeps_the_page_waiting_is_let_go(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "CLIENT_TIMEOUT", 0.4)
    head = f"Host: {visitor.host}\r\n"
    half = (
        "",
        "GET / HT",
        f"GET / HTTP/1.1\r\n{head}X: ",
        f"GET /open HTTP/1.1\r\n{head}\r\nGET /op",
        f"POST /open HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\nab",
    )
    slow = [socket.create_connection(("127.0.0.1", visitor.port)) for _ in half]
    try:
        for one, words in zip(slow, half, strict=True):
            one.sendall(words.encode())
        assert [closed(one) for one in slow] == [True] * len(half)
    finally:
        for one in slow:
            one.close()


def test_many_slow_clients_do_not_take_the_page_from_its_owner_for_good(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "CLIENT_TIMEOUT", 1.0)
    slow = [
        socket.create_connection(("127.0.0.1", visitor.port)) for _ in range(420)
    ]  # more than are answered at once
    try:
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert closed(slow[0])
        assert closed(slow[-1])
        assert "Open a table" in visitor.get("/open")
    finally:
        for one in slow:
            one.close()


def test_a_client_that_does_not_take_its_answer_is_let_go(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "CLIENT_TIMEOUT", 0.4)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.connect(("127.0.0.1", visitor.port))
        ask = f"GET /static/htmx.min.js HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\n\r\n"
        one.sendall(ask.encode() * 200)  # ten megabytes of answers, and none is read
        time.sleep(3)
        assert closed(one)  # after what was under way already


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("::1", "::1"),
        ("127.0.0.2", "127.0.0.2"),
    ],
)
def test_this_computer_is_listened_at(host: str, address: str) -> None:
    assert address_of(host, others=False) == address


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "8.8.8.8"])
def test_other_computers_need_a_flag(host: str) -> None:
    with pytest.raises(InputError, match="--let-other-computers-connect"):
        address_of(host, others=False)
    assert address_of(host, others=True) == host


def test_a_name_is_no_address() -> None:
    with pytest.raises(InputError, match="takes an address"):
        address_of("example.org", others=True)


def test_a_browser_may_call_it_by_its_own_names() -> None:
    assert hosts_of("127.0.0.1", 80) == {"127.0.0.1:80", "localhost:80"}
    assert hosts_of("::1", 80) == {"[::1]:80", "localhost:80"}
    assert hosts_of("10.0.0.1", 80) == {"10.0.0.1:80"}


def test_the_file_that_leads_a_browser_in_is_its_owners_alone(tmp_path: Path) -> None:
    path = entry_file(tmp_path / "enter.html", "http://127.0.0.1:1/enter?token=a&b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert 'content="0;url=http://127.0.0.1:1/enter?token=a&amp;b"' in path.read_text()
