"""Packages that are functions too."""

import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import chaffinch
from chaffinch._base.registry import make_callable


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
