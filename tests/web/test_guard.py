"""The page answers its owner alone: what another program, another site or another name of the host sends is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.web import guard
from chaffinch.web.guard import MOST_BYTES, Guard, Keys

HOST = "127.0.0.1:8000"
KEYS = Keys("secret")


async def _inner(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


GUARD = Guard(_inner, KEYS, frozenset({HOST}))
COOKIE = f"{GUARD.cookie}={KEYS.session}"
OWN = {"host": HOST, "cookie": COOKIE}
FORM = {**OWN, "origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded"}


def asked(
    method: str = "GET",
    path: str = "/",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    query: str = "",
    wait: float = 0.0,
) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body that the guard answers with."""
    held: dict[str, Any] = {"body": b""}
    heads = {**(OWN if headers is None else headers)}
    if method == "POST":
        heads.setdefault("content-length", str(len(body)))

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(wait)
        return {"type": "http.request", "body": body, "more_body": wait > 0}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            held.update(
                status=message["status"],
                headers={name.decode(): value.decode() for name, value in message["headers"]},
            )
        else:
            held["body"] += message.get("body", b"")

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in heads.items()],
    }
    asyncio.run(GUARD(scope, receive, send))
    return held["status"], held["headers"], held["body"]


def test_the_owner_is_let_in() -> None:
    status, headers, body = asked()
    assert (status, body) == (200, b"inside")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_the_printed_address_gives_a_strict_cookie_and_leaves_no_token_in_the_address() -> None:
    status, headers, body = asked(path="/enter", headers={"host": HOST}, query="token=secret")
    assert (status, headers["referrer-policy"]) == (200, "no-referrer")
    assert b'content="0;url=/"' in body
    assert b"secret" not in body
    assert headers["set-cookie"] == f"{COOKIE}; HttpOnly; SameSite=Strict; Path=/"
    assert "secret" not in headers["set-cookie"]


@pytest.mark.parametrize(
    "query", ["", "token=", "token=wrong", "token=secret&token=secret", "token=secre", "x=secret"]
)
def test_a_wrong_token_gives_no_cookie(query: str) -> None:
    status, headers, body = asked(path="/enter", headers={"host": HOST}, query=query)
    assert status == 403
    assert "set-cookie" not in headers
    assert b"secret" not in body


@pytest.mark.parametrize(
    "headers",
    [
        {"host": HOST},
        {"host": HOST, "cookie": ""},
        {"host": HOST, "cookie": f"{GUARD.cookie}=0"},
        {"host": HOST, "cookie": f"other={KEYS.session}"},
        {"host": HOST, "cookie": "\x01=;;=,"},
    ],
)
def test_nobody_else_is_let_in(headers: dict[str, str]) -> None:
    status, _, body = asked(headers=headers)
    assert status == 403
    assert b"inside" not in body


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1",
        "127.0.0.1:9",
        "127.0.0.1:8000.evil.example",
        "",
    ],
)
def test_another_name_of_the_host_is_refused_even_with_the_cookie(host: str) -> None:
    assert asked(headers={**OWN, "host": host})[0] == 421
    assert asked(path="/enter", headers={"host": host}, query="token=secret")[0] == 421


def test_a_request_without_a_host_is_refused() -> None:
    assert asked(headers={"cookie": COOKIE})[0] == 421


def test_a_page_of_another_site_reads_nothing() -> None:
    assert asked(headers={**OWN, "sec-fetch-site": "cross-site"})[0] == 403
    assert asked(headers={**OWN, "sec-fetch-site": "same-origin"})[0] == 200


def test_a_form_of_the_page_is_taken() -> None:
    assert asked("POST", headers=FORM, body=f"form_key={KEYS.form}&a=1".encode())[0] == 200


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(change: dict[str, str]) -> None:
    assert (
        asked("POST", headers={**FORM, **change}, body=f"form_key={KEYS.form}".encode())[0] == 403
    )


def test_a_form_without_an_origin_is_refused() -> None:
    headers = {name: value for name, value in FORM.items() if name != "origin"}
    assert asked("POST", headers=headers, body=f"form_key={KEYS.form}".encode())[0] == 403


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"a=1",
        b"form_key=",
        b"form_key=0",
        b"form_key=%ff",
        f"form_key={KEYS.form}&form_key={KEYS.form}".encode(),
    ],
)
def test_a_form_without_its_key_is_refused(body: bytes) -> None:
    assert asked("POST", headers=FORM, body=body)[0] in (400, 403)


def test_a_form_that_is_too_long_says_so_or_is_cut_off() -> None:
    assert (
        asked("POST", headers={**FORM, "content-length": str(MOST_BYTES + 1)}, body=b"")[0] == 413
    )
    assert asked("POST", headers={**FORM, "content-length": "9" * 5000}, body=b"")[0] == 413
    assert (
        asked("POST", headers={**FORM, "content-length": "5"}, body=b"a" * (MOST_BYTES + 1))[0]
        == 413
    )
    assert asked("POST", headers={**FORM, "content-length": "-1"}, body=b"")[0] == 411
    many = b"&".join([f"form_key={KEYS.form}".encode(), *[b"a=1"] * (guard.MOST_FIELDS + 1)])
    assert asked("POST", headers=FORM, body=many)[0] == 400


def test_nothing_is_uploaded() -> None:
    assert (
        asked(
            "POST",
            headers={**FORM, "content-type": "multipart/form-data; boundary=x"},
            body=b"--x--",
        )[0]
        == 415
    )
    assert (
        asked(
            "POST",
            headers={**FORM, "content-type": "text/plain"},
            body=f"form_key={KEYS.form}".encode(),
        )[0]
        == 415
    )


def test_a_slow_form_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 0.05)
    assert asked("POST", headers=FORM, body=b"a", wait=0.02)[0] == 408


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_refused(method: str) -> None:
    assert asked(method)[0] == 405


def test_a_websocket_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(GUARD({"type": "websocket", "headers": [], "path": "/"}, None, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


@given(st.text(), st.text(), st.text())
def test_no_words_let_anybody_in_by_chance(token: str, cookie: str, host: str) -> None:
    plain = {
        name: value.encode("ascii", "ignore").decode()
        for name, value in (("cookie", cookie), ("host", host))
    }
    assert asked(headers={**plain})[0] in (403, 421)


def test_the_keys_differ_each_time_and_do_not_tell_each_other() -> None:
    one, other = Keys(), Keys()
    assert one.token != other.token
    assert len({one.token, one.session, one.form}) == 3
    assert "token" not in repr(one)
