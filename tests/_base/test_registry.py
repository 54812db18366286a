"""Registries: entries by name, in order, with clear errors."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module

import pytest

from chaffinch._base.registry import Registry
from chaffinch.errors import InputError, UnknownNameError


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


def test_the_modules_of_a_package_fill_it_in_their_order(tmp_path, monkeypatch):
    package = tmp_path / "filled_package"
    (package / "others").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from chaffinch._base.registry import Registry\n"
        "REGISTRY = Registry('metric', __name__, 'first', 'others.*')\n"
    )
    (package / "others" / "__init__.py").write_text("")
    for module in ("first", "others/a", "others/b"):
        (package / f"{module}.py").write_text(
            "from types import SimpleNamespace\nfrom filled_package import REGISTRY\n"
            f"REGISTRY.register(SimpleNamespace(name='{module}'))\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    registry = import_module("filled_package").REGISTRY
    import_module("filled_package.others.b")
    assert "filled_package.first" not in sys.modules
    registry.register(Entry("mine"))
    assert registry.names == ("first", "others/a", "others/b", "mine")
