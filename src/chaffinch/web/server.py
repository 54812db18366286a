"""The server behind the page: quiet, with limits, and it says when it answers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import uvicorn

__all__ = ["configured"]


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
        app, log_config=None, access_log=False, server_header=False, date_header=False, lifespan="on", timeout_keep_alive=10, limit_concurrency=400,
        h11_max_incomplete_event_size=32 << 10, http="h11", ws="none", timeout_graceful_shutdown=3,
    )  # fmt: skip
    return _Server(config, started)
