"""Starts the page on this computer: an address with a token, a browser, and nothing that others can reach."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from html import escape
from pathlib import Path

from .._base.errors import InputError, MissingExtraError
from .guard import ENTRY, Keys
from .project import Places, ProjectFolder, write_private

ENTRY_FILE = "enter.html"
"""A file of the project that leads a browser to the page: unlike the words that start a browser, other users of the computer cannot see it."""


def entry_file(path: Path, address: str) -> Path:
    """Write a page for its owner alone that leads to an address, and return its path."""
    write_private(
        path,
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Chaffinch</title><meta http-equiv="refresh" content="0;url={escape(address)}"></html>\n',
    )
    return path


def address_of(host: str, *, others: bool) -> str:
    """Return the address to listen at; raise for one that other computers reach, unless that was asked for by name."""
    word = "127.0.0.1" if host == "localhost" else host
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        raise InputError(f"--host takes an address, as 127.0.0.1. Got '{host}'.") from None
    if not address.is_loopback and not others:
        raise InputError(
            f"'{host}' is reached from other computers, and what they send and get would travel without encryption. Leave out --host, or add "
            "--let-other-computers-connect if that is what you want."
        )
    return str(address)


def hosts_of(address: str, port: int) -> frozenset[str]:
    """Return what a browser may call this page: the address, and localhost where it is that."""
    host = f"[{address}]" if ":" in address else address
    names = {host, *(("localhost",) if ipaddress.ip_address(address).is_loopback else ())}
    return frozenset(f"{name}:{port}" for name in names)


def serve(
    project: ProjectFolder,
    places: Places,
    *,
    address: str,
    port: int = 0,
    started: Callable[[str], None],
    keys: Keys | None = None,
    first: Path | None = None,
) -> None:
    """Serve the page until somebody stops it; `started` is called with its address once it answers.

    Parameters
    ----------
    port
        Any free one where 0.
    first
        A file to open at once.
    """
    try:
        from .app import make_server, page_of
    except ImportError as error:
        raise MissingExtraError("The page", "web") from error
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"Cannot listen at {address}, port {port}: {error.strerror or 'the system refused'}. Leave out --port for a free one."
        ) from None
    number = listening.getsockname()[1]
    keys = keys or Keys()
    hosts = hosts_of(address, number)
    app = page_of(project, places, keys=keys, hosts=hosts, first=first)
    host = f"[{address}]" if ":" in address else address
    server = make_server(app, lambda: started(f"http://{host}:{number}{ENTRY}?token={keys.token}"))
    with project.lock(), listening:
        server.run(sockets=[listening])
