"""The server behind the page: quiet, with limits, and it says when it answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

TURN = 15.0
"""Seconds that a client may take to say what it wants, or to take what it asked for, before its connection is closed."""


class _Connection(H11Protocol):
    """A connection that is closed where the client keeps it waiting: a head that never ends, a body nobody wants, an answer not taken."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begin_turn()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._begin_turn()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_turn()
        super().connection_lost(exc)

    def _end_turn(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _begin_turn(self) -> None:
        self._end_turn()
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(TURN, self._look_at_turn)

    def _look_at_turn(self) -> None:
        working = self.cycle is not None and not self.cycle.response_complete
        if (
            working and not self.flow.write_paused
        ):  # it is for the page to answer, or the guard waits for a form
            self._begin_turn()
        else:
            self.transport.abort()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._say = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._say()


def configured(app: Any, started: Callable[[], None]) -> uvicorn.Server:
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
