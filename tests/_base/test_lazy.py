"""Packages that look names up when they are first used, and that answer a call."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import chaffinch

INIT = """
from typing import TYPE_CHECKING
from chaffinch._base.lazy import offer_names
if TYPE_CHECKING:
    from . import whole as whole
    from .double import double as double
    from .study import twice as double_again
offer_names(__name__, answer="study.twice")
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "lazy_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "whole.py").write_text("")
    (folder / "double.py").write_text("def double(a): return 2 * a")
    (folder / "study.py").write_text("def twice(a, *, b=2): return a + b")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("lazy_package")
    for name in [name for name in sys.modules if name.split(".")[0] == "lazy_package"]:
        del sys.modules[name]


def test_names_are_found_when_they_are_first_used(package):
    assert package.__all__ == ["whole", "double", "double_again"]
    assert dir(package) == sorted(package.__all__)
    assert "lazy_package.whole" not in sys.modules
    assert package.whole is sys.modules["lazy_package.whole"]
    assert package.double_again(1) == 3
    with pytest.raises(AttributeError, match="module 'lazy_package' has no attribute 'treble'"):
        package.treble  # noqa: B018


def test_a_name_goes_before_the_module_of_that_name(package):
    module = import_module("lazy_package.double")
    assert package.double is module.double


def test_a_package_answers_calls(package):
    assert package(1, b=4) == 5
    assert str(inspect.signature(package)) == "(a, *, b=2)"
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        package(1, c=4)


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
