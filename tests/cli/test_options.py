"""What commands share: groups of options, how words are read, and what is said of columns that look personal."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer

from chaffinch.cli.options import command_line, expanded, ledger_allows, reading_of, show_table
from chaffinch.errors import BudgetError, InputError, LedgerError

SAYS = "Warning: These columns look like names or personal numbers, and are modelled like any other: surname (by its name), v3 (by its numbers)."
PUBLIC = """format = "chaffinch-schema"
version = 1
public = true
rows = 300
[columns.surname]
kind = "categorical"
levels = ["Huber", "Maier", "Wagner"]
[columns.v3]
kind = "integer"
bounds = [0, 5000]
bins = 4
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
"""


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "surname": rng.choice(["Huber", "Maier", "Wagner"], 300),
            "v3": rng.permutation(np.cumsum(rng.integers(1, 9, 300))),
            "sex": ["f", "m"] * 150,
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "public.toml").write_text(PUBLIC)
    return tmp_path


@pytest.mark.parametrize("quiet", [[], ["--quiet"]], ids=["", "quiet"])
@pytest.mark.parametrize(
    "command",
    [["synth", "-o", "out.csv"], ["fit", "-o", "m.chaffinch"], ["schema", "-o", "s.toml"], ["describe"], ["release", "-o", "out", "--measures", "tvd"]],
    ids=lambda command: command[0],
)  # fmt: skip
def test_commands_that_make_something_say_so_on_standard_error(people, run_here, command, quiet, monkeypatch):
    monkeypatch.chdir(people)
    name, *options = command
    done = run_here(name, "people.csv", *options, *quiet)
    assert done.code == 0, done.err
    assert done.err.count("Warning:") == 1
    assert SAYS in done.err
    assert 'declare kind = "identifier"' in done.err
    assert "PersonalDataWarning" not in done.err
    assert "Huber" not in done.err
    assert "Warning" not in done.out


def test_measuring_says_it_unless_quiet(people, run_here):
    people_csv = people / "people.csv"
    for option, times in (([], 1), (["--quiet"], 0)):
        done = run_here("utility", people_csv, people_csv, "--measures", "tvd", "--seed", 1, *option)
        assert done.err.count("Warning:") == times


def test_a_promise_looks_at_names_alone(people, run_here):
    """The same words for any records, and the declared kind silences them."""
    options = ["--epsilon", 5, "--seed", 1, "--parents", 1, "--json", people / "a.json"]
    said = []
    frame = pd.read_csv(people / "people.csv")
    for n in (300, 40):
        frame.head(n).to_csv(people / "some.csv", index=False)
        done = run_here("synth", people / "some.csv", "-o", people / "p.csv", "--schema", people / "public.toml", *options)
        assert done.code == 0, done.err
        said.append(done.err)
    assert said[0] == said[1]
    assert "surname (by its name). If" in said[0]
    assert "v3" not in said[0]
    assert [note["what"] for note in json.loads((people / "a.json").read_text())["notes"]] == ["personal"]
    declared = PUBLIC.replace('kind = "categorical"\nlevels = ["Huber", "Maier", "Wagner"]', 'kind = "identifier"')
    (people / "public.toml").write_text(declared)
    done = run_here("synth", people / "some.csv", "-o", people / "p.csv", "--schema", people / "public.toml", *options)
    assert done.code == 0, done.err
    assert "Warning" not in done.err


# Options and words.


def test_a_group_of_options_stands_where_its_parameter_was():
    def pair(a: Annotated[int, typer.Option()] = 1, b: str = "x") -> Pair:  # noqa: F821  never looked up
        return (a, b)

    seen = []

    @expanded(both=pair)
    def command(*, first: int, both: Pair, last: bool = False) -> None:  # noqa: F821
        """Say."""
        seen.append((first, both, last))

    assert list(inspect.signature(command).parameters) == ["first", "a", "b", "last"]
    assert command.__doc__ == "Say."
    command(first=0, a=2, b="y", last=True)
    assert seen == [(0, (2, "y"), True)]


def test_how_a_file_is_read():
    reading = reading_of(delimiter="tab", rare="keep")
    assert (reading.file, reading.rare) == ({"delimiter": "\t"}, "keep")
    reading = reading_of(encoding="cp1252", header="no", table="May")
    assert reading.file == {"encoding": "cp1252", "header": "no", "table": "May"}
    assert reading.beside == {"encoding": "cp1252", "header": "no"}  # another file may have other tables
    with pytest.raises(InputError, match="Did you mean 'pool'"):
        reading_of(rare="polo")


def test_a_command_names_files_and_not_where_they_lie(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["chaffinch", "release", "/data/secret/a b.csv", "--json=/x/u.json"])
    assert command_line() == "chaffinch release 'a b.csv' --json=u.json"


def test_a_ledger_that_says_no_ends_with_1(capsys):
    with pytest.raises(typer.Exit) as ended, ledger_allows():
        raise LedgerError("too much")
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "The project ledger says no: too much\n"
    with pytest.raises(BudgetError, match="another"), ledger_allows():
        raise BudgetError("another")


def test_brackets_in_a_table_are_text(capsys):
    show_table(("term", "value"), [("sex[bold]", ":smile:")])
    assert capsys.readouterr().out.split() == ["term", "value", "sex[bold]", ":smile:"]
    show_table((), [("a", "b")])
    assert capsys.readouterr().out.split() == ["a", "b"]
