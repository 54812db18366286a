"""Registries: entries by name, in order, with clear errors. And packages that answer a call."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

import chaffinch
from chaffinch._base.registry import Registry, make_callable
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


def test_a_package_answers_calls(monkeypatch):
    package = ModuleType("some_package")
    package.other = 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_package", package)
    make_callable("some_package", lambda a, *, b=2: a + b)
    assert package(1, b=4) == 5  # type: ignore[operator]
    assert package.other == 3
    assert str(inspect.signature(package)) == "(a, *, b=2)"  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        package(1, c=4)  # type: ignore[operator]


def test_utility_is_a_function_and_a_package_however_it_is_imported():
    from chaffinch import utility
    from chaffinch.utility.mu import mu

    assert utility is chaffinch.utility
    assert callable(utility)
    assert "label" in inspect.signature(utility).parameters
    assert utility.mu is mu


def test_it_is_one_before_anything_of_it_was_imported():
    code = "import chaffinch, sys; assert 'chaffinch.utility' not in sys.modules; assert callable(chaffinch.utility)"
    subprocess.run([sys.executable, "-c", code], check=True)
