"""How commands that learn and draw speak, and how a ledger that says no ends them."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

import chaffinch as cf
from chaffinch.cli.estimates import Work
from chaffinch.cli.settings import Choice
from chaffinch.cli.synthesising import (
    Speaker,
    check_counts,
    ledger_allows,
    reading_of,
    say_synthesis,
    synthesis_settings,
)
from chaffinch.errors import BudgetError, InputError, LedgerError
from chaffinch.table import Note

CHOICE = Choice(cf.Independent(), None, ())


def test_a_ledger_that_says_no_ends_with_1(capsys):
    with pytest.raises(typer.Exit) as ended, ledger_allows():
        raise LedgerError("too much")
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "The project ledger says no: too much\n"
    with pytest.raises(BudgetError, match="another"), ledger_allows():
        raise BudgetError("another")


def test_what_is_personal_is_said_also_where_all_else_is_quiet(capsys):
    reading = reading_of(None, "utf-8", "tab", None, "keep", private=False)
    assert (reading.delimiter, reading.rare) == ("\t", "keep")
    speaker = Speaker(True, reading, Work(cf.Independent(), Path("a.csv")))
    speaker.opened([Note("a", "personal", "looks like a name"), Note("b", "pooled", "rare")])
    assert "Warning: " in capsys.readouterr().err


def test_options_that_contradict_each_other():
    with pytest.raises(InputError, match="--rows cannot be given"):
        check_counts(3, 1, Choice(cf.Independent(), None, ("a",)))
    reading = reading_of(None, "utf-8", None, None, "pool", private=False)
    with pytest.raises(InputError, match="--ledger adds up"):
        synthesis_settings(CHOICE, reading, Path("o.csv"), ledger=Path("l.json"))


def test_files_and_shares_are_told(capsys):
    say_synthesis([Path("o.csv")], Path("m"), rows=1200, shares=[0.25], private=False)
    said = capsys.readouterr().err
    assert "Wrote o.csv: 1,200 rows; 25.0% equal an original row, codes compared." in said
    assert "Wrote m: it holds counts of records, confidential." in said
