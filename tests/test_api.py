"""The public names: about thirty, each found, and the same whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import chaffinch


def test_about_thirty_names_and_each_is_there():
    assert 25 <= len(chaffinch.__all__) <= 35
    for name in chaffinch.__all__:
        assert getattr(chaffinch, name) is not None
    assert dir(chaffinch) == sorted(chaffinch.__all__)


def test_errors_live_in_errors():
    assert issubclass(chaffinch.errors.InputError, chaffinch.errors.ChaffinchError)
    assert issubclass(chaffinch.errors.LedgerError, chaffinch.errors.BudgetError)
    assert not [name for name in chaffinch.__all__ if name.endswith(("Error", "Warning"))]


def test_names_are_what_they_are_whatever_was_imported_first():
    code = (
        "import chaffinch.workflows.plan, chaffinch.workflows.release, chaffinch.utility.mu, chaffinch as cf;"
        "assert cf.release.__name__ == 'release' and cf.plan.__name__ == 'plan' and callable(cf.utility)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
