"""Who may ask the page for something: this computer's browser, with the token that the terminal printed, and nobody else.

A page on 127.0.0.1 can be called by every web site that is open in the same browser, and by every program on the computer. So a request
must name this host (another name that leads here is refused: DNS rebinding), carry a cookie that only the printed address gives, and, where
it changes something, come from this page itself and carry a word that only this page knows.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTRY = "/enter"
"""Where the printed address leads: the token is turned into a cookie there, and leaves the address."""

MOST_BYTES = 4 << 20
"""Bytes that a form may have."""

MOST_FIELDS = 20_000
"""Fields that a form may have: a few for each of thousands of columns."""

PATIENCE = 20.0
"""Seconds that a form may take to come in."""

POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
"""Of a screen: no script at all."""

LIVE_POLICY = f"{POLICY}; script-src 'self'; connect-src 'self'"
"""Of a screen of which a part loads itself again and again: the one script that is shipped."""

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Of a report, which is one file with its style in it and no script."""

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (
        b"referrer-policy",
        b"same-origin",
    ),  # "no-referrer" would take the origin off the page's own forms
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


@dataclass(frozen=True)
class Keys:
    """The token of the printed address, and the words that are made from it: what the cookie and what forms carry."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def session(self) -> str:
        """What the cookie holds."""
        return self._derive("session")

    @property
    def form(self) -> str:
        """What every form of the page carries."""
        return self._derive("form")

    def _derive(self, what: str) -> str:
        return hmac.new(self.token.encode(), what.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class _Refusal:
    status: int
    why: str


@dataclass(frozen=True)
class Guard:
    """Stands before the page: answers what is not allowed by itself, and adds the headers that keep a browser strict.

    Parameters
    ----------
    app
        The page.
    keys
        The token, and what is made from it.
    hosts
        What requests may call this computer: names with the port.
    """

    app: App
    keys: Keys
    hosts: frozenset[str]

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies of one computer are shared by all ports, so the token distinguishes pages."""
        return f"chaffinch-{hashlib.sha256(self.keys.token.encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the page answer it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        if (refused := self._refused(scope, headers)) is not None:
            await _answer(send, refused.status, refused.why)
            return
        if scope["path"] == ENTRY:
            await self._enter(scope, send)
            return
        if not self._known(headers):
            why = "This page belongs to whoever started it. Open the address that `chaffinch open` printed in the terminal."
            await _answer(send, 403, why)
            return
        if scope["method"] == "POST":
            form = await _form(headers, receive)
            if isinstance(form, _Refusal):
                await _answer(send, form.status, form.why)
                return
            given = [value for name, value in form if name == "form_key"]
            if len(given) != 1 or not _same(given[0], self.keys.form):
                await _answer(
                    send,
                    403,
                    "This form was not made by this page, or by one that was started before. Load the page again.",
                )
                return
            scope.setdefault("state", {})["form"] = form
        await self.app(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope, headers: dict[bytes, list[str]]) -> _Refusal | None:
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return _Refusal(421, "This page answers to this computer's own name only.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _Refusal(405, "Only GET and POST are answered.")
        site = headers.get(b"sec-fetch-site", ["same-origin"])[0]
        if scope["method"] == "POST":
            origin = headers.get(b"origin", [])
            if len(origin) != 1 or origin[0] != f"http://{host[0]}" or site != "same-origin":
                return _Refusal(403, "A change must come from this page itself.")
        elif site == "cross-site" and scope["path"] != ENTRY:
            return _Refusal(
                403,
                "Another web site led here. Open the address that `chaffinch open` printed in the terminal.",
            )
        return None

    def _known(self, headers: dict[bytes, list[str]]) -> bool:
        for line in headers.get(b"cookie", []):
            try:
                morsel = SimpleCookie(line).get(self.cookie)
            except CookieError:
                continue
            if morsel is not None and _same(morsel.value, self.keys.session):
                return True
        return False

    async def _enter(self, scope: Scope, send: Send) -> None:
        given = [
            value
            for name, value in parse_qsl(scope["query_string"].decode("latin-1"))
            if name == "token"
        ]
        if scope["method"] != "GET" or len(given) != 1 or not _same(given[0], self.keys.token):
            await _answer(
                send,
                403,
                "The token is not that of this page. Open the address that `chaffinch open` printed in the terminal.",
            )
            return
        cookie = f"{self.cookie}={self.keys.session}; HttpOnly; SameSite=Strict; Path=/"
        # A page that leads on, not a redirect: a strict cookie is not sent along one that began in another place, as in a file or a terminal's page.
        body = b'<!doctype html><html lang="en"><meta charset="utf-8"><title>Chaffinch</title><meta http-equiv="refresh" content="0;url=/"><p><a href="/">Go on</a></p></html>'
        head = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"set-cookie", cookie.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        await _with_headers(send)(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [*head, (b"referrer-policy", b"no-referrer")],
            }
        )
        await send({"type": "http.response.body", "body": body})


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


async def _form(
    headers: dict[bytes, list[str]], receive: Receive
) -> list[tuple[str, str]] | _Refusal:
    """Return the fields of a form, read whole within its limits; or why it is not taken."""
    kind = headers.get(b"content-type", [""])[0].partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return _Refusal(415, "Only plain forms are taken: nothing is uploaded.")
    length = headers.get(b"content-length", [""])[0]
    if not length.isascii() or not length.isdigit():
        return _Refusal(411, "A form must say how long it is.")
    if len(length) > 9 or int(length) > MOST_BYTES:
        return _Refusal(413, f"A form has at most {MOST_BYTES >> 20} MiB.")
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _Refusal(400, "The form did not arrive.")
                body += message.get("body", b"")
                if len(body) > MOST_BYTES:
                    return _Refusal(413, f"A form has at most {MOST_BYTES >> 20} MiB.")
                if not message.get("more_body"):
                    break
    except TimeoutError:
        return _Refusal(408, f"The form took longer than {PATIENCE:.0f} seconds to arrive.")
    try:
        return parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except (UnicodeDecodeError, ValueError):
        return _Refusal(400, f"The form is not UTF-8, or has more than {MOST_FIELDS:,} fields.")


async def _answer(send: Send, status: int, why: str) -> None:
    body = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Not allowed</title><p>{escape(why)}</p></html>'.encode()
    head = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    """Return `send` with the headers that every answer has; a policy of its own is kept."""

    async def strict(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            has = {name.lower() for name, _ in headers}
            policy = (
                []
                if b"content-security-policy" in has
                else [(b"content-security-policy", POLICY.encode())]
            )
            message = {
                **message,
                "headers": [
                    *headers,
                    *policy,
                    *((name, value) for name, value in HEADERS if name not in has),
                ],
            }
        await send(message)

    return strict
