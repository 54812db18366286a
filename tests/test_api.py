"""The public names: about thirty, each found, and the same whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

import chaffinch
from chaffinch.errors import InputError

TABLE = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})
MODEL = chaffinch.Independent().fit(TABLE)
DOORS = {
    "read": chaffinch.read,
    "describe": chaffinch.describe,
    "fit": chaffinch.BayesNet().fit,
    "utility": lambda data: chaffinch.utility(data, TABLE, measures=["tvd"]),
    "release": lambda data: chaffinch.release(data, measures=["tvd"]),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([1, 2], "Cannot read a list. Give a path, a pandas"),
        (MODEL, "This is a model, and data are needed"),
        (3, "Cannot read a int"),
    ],
    ids=["list", "model", "number"],
)
def test_what_is_no_table_is_named_at_every_door(door, data, words):
    with pytest.raises(InputError, match=words):
        DOORS[door](data)


def test_describe_takes_what_read_takes():
    assert (
        chaffinch.describe(TABLE).to_dict()
        == chaffinch.describe(chaffinch.MemoryCounter(chaffinch.read(TABLE))).to_dict()
    )


def test_about_thirty_names_and_each_is_there():
    assert 25 <= len(chaffinch.__all__) <= 38
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
