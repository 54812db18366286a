"""What the words of the command line say about measuring."""

from __future__ import annotations

import sys

import pytest

from chaffinch.cli.measuring import asked_measures, command_line, utility_settings
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.utility import choices


def test_measures_to_take_or_to_leave_out():
    assert asked_measures(None) is None
    assert asked_measures("tvd,phi_k") == ("tvd", "phi_k")
    assert asked_measures("-delta") == tuple(name for name in choices() if name != "delta")
    with pytest.raises(InputError, match="not both"):
        asked_measures("tvd,-delta")
    with pytest.raises(UnknownNameError, match="'mean'"):
        asked_measures("mean")


def test_settings_of_the_command_line():
    words = {"label": None, "formula": None, "repeats": 2, "measures": None, "models": "nb,rf"}
    assert utility_settings(**words, svm_rows=0).svm_rows is None
    assert utility_settings(**words, svm_rows=20).models == ("nb", "rf")
    with pytest.raises(InputError, match="--svm-rows must be at least 10"):
        utility_settings(**words, svm_rows=3)


def test_a_command_names_files_and_not_where_they_lie(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["chaffinch", "release", "/data/secret/a b.csv", "--json=/x/u.json"])
    assert command_line() == "chaffinch release 'a b.csv' --json=u.json"
