"""The server says when it answers, names no software, and bears many and slow clients."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

from .conftest import Visitor


def test_an_answer_names_no_software(visitor: Visitor) -> None:
    status, headers, _ = visitor.ask("GET", "/open")
    assert status == 200
    assert "server" not in headers


def test_fifty_tabs_are_answered(visitor: Visitor) -> None:
    with ThreadPoolExecutor(50) as tabs:
        assert all("Open a table" in text for text in tabs.map(lambda _: visitor.get("/open"), range(50)))


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
