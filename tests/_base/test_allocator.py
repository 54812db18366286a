"""Memory that is not used goes back to the system, whenever something else is being done."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from chaffinch._base import runtime
from chaffinch._base.runtime import give_memory_back, giving_back


def test_it_is_given_back_once_for_each_thing_that_is_done(monkeypatch):
    said, given = [], []
    monkeypatch.setattr(runtime, "give_memory_back", lambda: given.append(len(said)))
    progress = giving_back(lambda doing, share: said.append((doing, share)))
    for doing, share in (("reading", 0.0), ("reading", 0.5), ("counting", -1), ("reading", 0.0)):
        progress(doing, share)
    assert said == [("reading", 0.0), ("reading", 0.5), ("counting", -1), ("reading", 0.0)]
    assert given == [0, 2, 3]


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(runtime._trim() is None, reason="the C library cannot give memory back")
def test_many_small_pieces_that_were_freed_go_back():
    """60 MB in pieces of 60 kB, of which C keeps nearly all when only the last is still held."""
    pieces = [np.ones(60_000, dtype=np.uint8) for _ in range(1000)]
    full = resident()
    last = pieces[-1]
    del pieces
    give_memory_back()
    assert full - resident() > 40_000_000
    assert last.all()


def test_it_does_nothing_without_such_a_library(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    runtime._trim.cache_clear()
    try:
        give_memory_back()
        assert runtime._trim() is None
    finally:
        runtime._trim.cache_clear()
