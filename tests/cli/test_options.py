"""What commands share: groups of options, how words are read, and what is said of columns that look personal."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer

from chaffinch.cli.options import (
    chosen_engine,
    command_line,
    expanded,
    ledger_allows,
    reading_of,
    show_table,
)
from chaffinch.errors import BudgetError, InputError, LedgerError
from chaffinch.table import sources
from chaffinch.workflows.synthesise import ReadSettings

SAYS = "  surname  surnames, by its name\n  v3       numbers that were given out once, by its numbers\n"
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
    [
        ["synth", "-o", "out.csv", "--json", "a.json"],
        ["fit", "-o", "m.chaffinch"],
        ["release", "-o", "out", "--measures", "tvd"],
    ],
    ids=lambda command: command[0],
)
def test_commands_that_make_something_stop_until_it_is_said_what_becomes_of_identifiers(
    people, run_here, command, quiet, monkeypatch
):
    monkeypatch.chdir(people)
    name, *options = command
    before = sorted(people.iterdir())
    done = run_here(name, "people.csv", *options, *quiet)
    assert done.code == 2
    assert sorted(people.iterdir()) == before
    assert SAYS in done.err
    assert "Huber" not in done.err + done.out
    words = re.search(r"On the command line: (.*)\n", done.err)[1]
    again = run_here(name, "people.csv", *options, *quiet, *shlex.split(words))
    assert again.code == 0, again.err
    assert "Warning" not in again.err
    block = done.err.partition("\n\n")[2].partition("\n\nOn the")[0]
    Path("s.toml").write_text(block.replace("drop", "fake"))
    third = run_here(
        name,
        "people.csv",
        *options[:1],
        f"again_{options[1]}",
        *options[2:],
        "--schema",
        "s.toml",
        "--seed",
        1,
        "--overwrite",
    )
    assert third.code == 0, third.err
    if name == "synth":
        drawn, original = pd.read_csv("again_out.csv"), pd.read_csv("people.csv")
        assert list(drawn) == list(original)
        assert not set(drawn["surname"]) & set(original["surname"])
        assert not set(drawn["v3"]) & set(original["v3"])
        assert drawn["v3"].is_unique


@pytest.mark.parametrize(
    "command", [["schema", "-o", "s.toml"], ["describe"]], ids=lambda command: command[0]
)
def test_commands_that_describe_point_them_out(people, run_here, command, monkeypatch):
    monkeypatch.chdir(people)
    done = run_here(command[0], "people.csv", *command[1:], "--quiet")
    assert done.code == 0, done.err
    assert done.err.count("Warning:") == 1
    assert "surname (surnames, by its name)" in done.err
    assert "PersonalDataWarning" not in done.err
    assert "Huber" not in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["surname"], "takes COLUMN=WORD"),
        (["surname=dorp"], "Did you mean 'drop'"),
        (["surname=drop", "surname=keep"], "says two things"),
        (["surnam=drop"], "Did you mean 'surname'"),
    ],
)
def test_decisions_that_are_none(people, run_here, words, says):
    done = run_here(
        "synth",
        people / "people.csv",
        "-o",
        people / "o.csv",
        *(part for word in words for part in ("--personal", word)),
    )
    assert done.code == 2
    assert says in done.err
    assert not (people / "o.csv").exists()


def test_measuring_says_it_unless_quiet(people, run_here):
    people_csv = people / "people.csv"
    for option, times in (([], 1), (["--quiet"], 0)):
        done = run_here(
            "utility", people_csv, people_csv, "--measures", "tvd", "--seed", 1, *option
        )
        assert done.err.count("Warning:") == times


def test_a_promise_looks_at_names_alone(people, run_here):
    """The same words for any records, nothing charged, and a decision is all that is needed."""
    options = ["--schema", people / "public.toml", "--epsilon", 5, "--seed", 1, "--parents", 1]
    said = []
    frame = pd.read_csv(people / "people.csv")
    for n in (300, 0):
        frame.head(n).to_csv(people / "some.csv", index=False)
        done = run_here("synth", people / "some.csv", "-o", people / "p.csv", *options)
        assert done.code == 2
        said.append(done.err)
    assert said[0] == said[1]
    assert "surname  surnames, by its name\n" in said[0]
    assert "v3" not in said[0]
    assert not (people / "p.csv").exists()
    for decision in ("drop", "keep", "fake"):
        (people / "p.csv").unlink(missing_ok=True)  # what a budget was spent on is not overwritten
        done = run_here(
            "synth",
            people / "people.csv",
            "-o",
            people / "p.csv",
            *options,
            "--personal",
            f"surname={decision}",
        )
        assert done.code == 0, done.err
        drawn = pd.read_csv(people / "p.csv")
        assert list(drawn) == (["v3", "sex"] if decision == "drop" else ["surname", "v3", "sex"])
        if decision == "fake":
            assert not set(drawn["surname"]) & set(frame["surname"])


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
    assert reading.beside == {
        "encoding": "cp1252",
        "header": "no",
    }  # another file may have other tables
    with pytest.raises(InputError, match="Did you mean 'pool'"):
        reading_of(rare="polo")


def test_a_command_names_files_and_not_where_they_lie(monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["chaffinch", "release", "/data/secret/a b.csv", "--json=/x/u.json"]
    )
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


def test_the_engine_that_was_chosen_for_large_files_is_said_unless_quiet(
    people, capsys, monkeypatch
):
    monkeypatch.setattr(sources, "free_bytes", lambda: 1 << 10)
    for quiet, words in (
        (False, "Note: Rows are read batch by batch (--engine stream)"),
        (True, ""),
    ):
        assert chosen_engine("auto", [people / "people.csv"], ReadSettings(), quiet=quiet).stream
        assert capsys.readouterr().err.startswith(words)
    assert not chosen_engine("memory", [people / "people.csv"], ReadSettings(), quiet=False).stream
    assert capsys.readouterr().err == ""
