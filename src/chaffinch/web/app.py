"""The page as one application, its screens, its files, its guard; and the server behind it: quiet, with limits, and it says when it answers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from .._base.errors import ChaffinchError
from .guard import Guard, Keys
from .jobs import Queue
from .page import Page, go
from .project import Places, ProjectFolder
from .screens import (
    attackers,
    columns,
    comparing,
    deciding,
    opening,
    outputs,
    promise,
    result,
    running,
)

STATIC = {
    "report.css": ("chaffinch.report", "templates/page.css", "text/css"),
    "web.css": ("chaffinch.web", "static/web.css", "text/css"),
    "icon.svg": ("chaffinch.web", "static/icon.svg", "image/svg+xml"),
    "htmx.min.js": ("chaffinch.web", "static/htmx.min.js", "text/javascript"),
}
"""The files that the page loads, by name: nothing else is served from a folder."""

Screen = Callable[[Page, Request], Response]
ROUTES: tuple[tuple[str, str, Screen], ...] = (
    ("GET", "/open", opening.show),
    ("POST", "/open", opening.choose),
    ("GET", "/columns", columns.show),
    ("GET", "/columns/live", columns.live),
    ("POST", "/columns", columns.save),
    ("POST", "/columns/text", columns.save_text),
    ("GET", "/attackers", attackers.show),
    ("POST", "/attackers", attackers.save),
    ("GET", "/promise", promise.show),
    ("POST", "/promise", promise.save),
    ("GET", "/runs", running.show),
    ("GET", "/runs/live", running.live),
    ("POST", "/runs", running.start),
    ("POST", "/runs/{number:int}/stop", running.stop),
    ("POST", "/runs/{number:int}/start", running.again),
    ("GET", "/result", result.last),
    ("GET", "/result/{number:int}", result.show),
    ("GET", "/result/{number:int}/report", result.report),
    ("POST", "/result/{number:int}/edge", result.edge),
    ("GET", "/compare", comparing.show),
    ("POST", "/compare/{number:int}/back", comparing.back),
    ("GET", "/decide", deciding.show),
    ("POST", "/decide/{number:int}", deciding.decide),
    ("POST", "/decide/{number:int}/second", deciding.second),
    ("POST", "/outputs", outputs.start),
    ("GET", "/outputs/{number:int}", outputs.show),
    ("POST", "/outputs/{number:int}", outputs.decide),
)


def page_of(
    project: ProjectFolder,
    places: Places,
    *,
    keys: Keys,
    hosts: frozenset[str],
    first: Path | None = None,
) -> Guard:
    """Return the page of a project behind its guard; with a file, that is opened at once."""
    page = Page(project, places, Queue(project.path("runs")), keys)

    @contextlib.asynccontextmanager
    async def alive(_app: Starlette) -> AsyncIterator[None]:
        page.queue.open()
        if first is not None:
            await run_in_threadpool(opening.open_file, page, first)
        yield
        page.queue.close()

    routes = [
        Route(path, _endpoint(page, screen), methods=[method]) for method, path, screen in ROUTES
    ]
    routes += [
        Route("/", lambda _request: go("/columns" if page.choices.source else "/open")),
        Route("/static/{name}", _file),
    ]
    return Guard(Starlette(routes=routes, lifespan=alive), keys, hosts)


def _endpoint(page: Page, screen: Screen) -> Callable[[Request], Any]:
    """Return what answers a request with a screen: in a thread of its own, and with a fault said in our words."""

    def changing(page: Page, request: Request) -> Response:
        with page.lock:  # to stop a run takes a while, and changes no choice
            return screen(page, request)

    @functools.wraps(screen)
    async def answer(request: Request) -> Response:
        try:
            return await run_in_threadpool(
                changing if request.method == "POST" and screen is not running.stop else screen,
                page,
                request,
            )
        except ChaffinchError as error:
            return page.show(
                "fault.html.j2",
                step="",
                alert=str(error),
                status=400,
                context={"back": request.url.path},
            )
        except Exception as error:  # a traceback may hold values
            message = f"Internal fault: {type(error).__name__}. This is a defect in Chaffinch; what was chosen is kept."
            return page.show(
                "fault.html.j2", step="", alert=message, status=500, context={"back": "/"}
            )

    return answer


def _file(request: Request) -> Response:
    entry = STATIC.get(request.path_params["name"])
    if entry is None:
        return PlainTextResponse("There is no such file.", status_code=404)
    package, path, kind = entry
    return Response(files(package).joinpath(path).read_bytes(), media_type=kind)


CLIENT_TIMEOUT = 15.0
"""Seconds that a client may take to say what it wants, or to take what it asked for, before its connection is closed."""


class _Connection(H11Protocol):
    """A connection that is closed where the client keeps it waiting: a head that never ends, a body nobody wants, an answer not taken."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _start_timer(self) -> None:
        self._cancel_timer()
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(CLIENT_TIMEOUT, self._check_client)

    def _check_client(self) -> None:
        working = self.cycle is not None and not self.cycle.response_complete
        if (
            working and not self.flow.write_paused
        ):  # it is for the page to answer, or the guard waits for a form
            self._start_timer()
        else:
            self.transport.abort()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._say = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._say()


def make_server(app: Any, started: Callable[[], None]) -> uvicorn.Server:
    """Return a server that writes no log, holds slow and many clients off, and calls `started` once it answers."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_keep_alive=10,
        limit_concurrency=400,
        h11_max_incomplete_event_size=32 << 10,
        http=_Connection,
        ws="none",
        timeout_graceful_shutdown=3,
    )
    return _Server(config, started)
