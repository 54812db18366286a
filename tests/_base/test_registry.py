"""Registries: entries by name, in order, with clear errors."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch._base.registry import Registry


@dataclass(frozen=True)
class Entry:
    name: str


def test_entries_are_found_in_the_order_they_came() -> None:
    registry = Registry[Entry]("metric")
    for name in ("mu", "delta", "G"):
        registry.register(Entry(name))
    assert registry.names == ("mu", "delta", "G")
    assert [entry.name for entry in registry] == ["mu", "delta", "G"]
    assert len(registry) == 3
    assert registry["delta"] == Entry("delta")
    assert "mu" in registry
    assert "nu" not in registry


def test_a_name_is_taken_once_and_free_again_when_removed() -> None:
    registry = Registry[Entry]("metric")
    registry.register(Entry("mu"))
    with pytest.raises(InputError, match=r"There is a metric 'mu' already\. Choose another name\."):
        registry.register(Entry("mu"))
    registry.remove("mu")
    assert registry.names == ()
    registry.register(Entry("mu"))


def test_an_unknown_name_gets_a_suggestion() -> None:
    registry = Registry[Entry]("metric")
    registry.register(Entry("delta"))
    with pytest.raises(
        UnknownNameError, match=r"Unknown metric 'delt'\. Did you mean 'delta'\? Metrics: delta\."
    ):
        registry["delt"]
    with pytest.raises(UnknownNameError, match="Unknown metric"):
        registry.remove("delt")
