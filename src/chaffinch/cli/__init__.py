"""The command line: one file for each command, each a thin call into the public API."""

from .app import main

__all__ = ["main"]
