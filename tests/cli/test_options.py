"""What commands share: groups of options, how words are read, what is said of columns that look personal, lines that fit, how Arrow starts, and methods."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from chaffinch._base.options import settings_of
from chaffinch.cli.observer import ConsoleObserver
from chaffinch.cli.options import (
    columns_that_fit,
    command_line,
    ledger_allows,
    show_lines,
    show_table,
)
from chaffinch.errors import BudgetError, InputError, LedgerError
from chaffinch.table import Note, sources
from chaffinch.table.settings import Reading
from chaffinch.workflows.engines import engine_of
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.settings import SynthesisSettings

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
def people_with_surnames(tmp_path):
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
    people_with_surnames, run_here, command, quiet, monkeypatch
):
    monkeypatch.chdir(people_with_surnames)
    name, *options = command
    before = sorted(people_with_surnames.iterdir())
    done = run_here(name, "people.csv", *options, *quiet)
    assert done.code == 2
    assert sorted(people_with_surnames.iterdir()) == before
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
def test_commands_that_describe_point_them_out(
    people_with_surnames, run_here, command, monkeypatch
):
    monkeypatch.chdir(people_with_surnames)
    done = run_here(command[0], "people.csv", *command[1:], "--quiet")
    assert done.code == 0, done.err
    assert done.err.count("Warning:") == 1
    assert "surname (surnames, by its name)" in done.err
    assert "PersonalDataWarning" not in done.err
    assert "Huber" not in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["surname"], "personal must be COLUMN=VALUE"),
        (["surname=dorp"], "Did you mean 'drop'"),
        (["surname=drop", "surname=keep"], "says two things"),
        (["surnam=drop"], "Did you mean 'surname'"),
    ],
)
def test_decisions_that_are_none(people_with_surnames, run_here, words, says):
    done = run_here(
        "synth",
        people_with_surnames / "people.csv",
        "-o",
        people_with_surnames / "o.csv",
        *(part for word in words for part in ("--personal", word)),
    )
    assert done.code == 2
    assert says in done.err
    assert not (people_with_surnames / "o.csv").exists()


def test_measuring_says_it_unless_quiet(people_with_surnames, run_here):
    people_csv = people_with_surnames / "people.csv"
    for option, times in (([], 1), (["--quiet"], 0)):
        done = run_here(
            "utility", people_csv, people_csv, "--measures", "tvd", "--seed", 1, *option
        )
        assert done.err.count("Warning:") == times


def test_a_promise_looks_at_names_alone(people_with_surnames, run_here):
    """The same words for any records, nothing charged, and a decision is all that is needed."""
    options = [
        "--schema",
        people_with_surnames / "public.toml",
        "--epsilon",
        5,
        "--seed",
        1,
        "--parents",
        1,
    ]
    said = []
    frame = pd.read_csv(people_with_surnames / "people.csv")
    for n in (300, 0):
        frame.head(n).to_csv(people_with_surnames / "some.csv", index=False)
        done = run_here(
            "synth",
            people_with_surnames / "some.csv",
            "-o",
            people_with_surnames / "p.csv",
            *options,
        )
        assert done.code == 2
        said.append(done.err)
    assert said[0] == said[1]
    assert "surname  surnames, by its name\n" in said[0]
    assert "v3" not in said[0]
    assert not (people_with_surnames / "p.csv").exists()
    for decision in ("drop", "keep", "fake"):
        (people_with_surnames / "p.csv").unlink(
            missing_ok=True
        )  # what a budget was spent on is not overwritten
        done = run_here(
            "synth",
            people_with_surnames / "people.csv",
            "-o",
            people_with_surnames / "p.csv",
            *options,
            "--personal",
            f"surname={decision}",
        )
        assert done.code == 0, done.err
        drawn = pd.read_csv(people_with_surnames / "p.csv")
        assert list(drawn) == (["v3", "sex"] if decision == "drop" else ["surname", "v3", "sex"])
        if decision == "fake":
            assert not set(drawn["surname"]) & set(frame["surname"])


# Options and words.


def test_how_a_file_is_read():
    assert settings_of(Reading)["delimiter"].read("tab") == "\t"
    reading = Reading(delimiter="\t", rare="keep")
    assert (reading.file, reading.rare) == ({"delimiter": "\t"}, "keep")
    reading = Reading(encoding="cp1252", header="no", table="May")
    assert reading.file == {"encoding": "cp1252", "header": "no", "table": "May"}
    assert reading.other_file == {
        "encoding": "cp1252",
        "header": "no",
    }  # another file may have other tables
    with pytest.raises(InputError, match="Did you mean 'pool'"):
        Reading(rare="polo")


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
    people_with_surnames, capsys, monkeypatch
):
    monkeypatch.setattr(sources, "free_bytes", lambda: 1 << 10)
    for quiet, words in (
        (False, "Note: Rows are read batch by batch (--engine stream)"),
        (True, ""),
    ):
        run = RunOptions(observer=ConsoleObserver(quiet=quiet))
        path = people_with_surnames / "people.csv"
        assert not engine_of("auto").open(path, Reading(), run, [path]).in_memory
        assert capsys.readouterr().err.startswith(words)
    assert engine_of("memory").open(path, Reading(), run, [path]).in_memory


CELLS = st.lists(
    st.lists(st.text("ab1.[]", max_size=30), min_size=5, max_size=5), min_size=1, max_size=4
)


@given(CELLS, st.integers(20, 200))
def test_every_column_is_in_one_part_and_the_first_in_all(rows, width):
    parts = columns_that_fit(["a", "b c", "d", "e", "f"], rows, width)
    assert all(part[0] == 0 for part in parts)
    assert [0, *(j for part in parts for j in part[1:])] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_lines_are_as_wide_as_the_terminal_and_no_number_is_cut(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    head = ["what was measured", *(f"figure {k}" for k in range(9))]
    show_table(head, [["a long name [of] a measure", *(f"0.12345{k}" for k in range(9))]])
    show_lines("A sentence that goes on and on, [with] brackets, " * 4, "")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= int(columns)
    assert all(f"0.12345{k}" in shown for k in range(9))
    assert "[with]" in shown


pytest.importorskip("pandas")

START = """
import sys
import pyarrow as pa
from chaffinch.cli.options import start_arrow
start_arrow(2)
assert pa.cpu_count() == 2
"""


def ends_well(code: str) -> None:
    """Run code after Arrow was started; its assertions must hold."""
    ended = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 18, reason="an old Arrow looks for pandas at every array"
)
def test_arrays_import_no_pandas() -> None:
    ends_well("pa.array([1, None]); pa.table({'a': [1.5]}); assert 'pandas' not in sys.modules")


def test_arrow_knows_frames_once_pandas_is_there() -> None:
    """A number that is none is missing in a pandas column, and a number elsewhere: Arrow tells them apart only where it knows pandas."""
    ends_well(
        "pa.array([0])\nimport pandas as pd\n"
        "column = pd.Series([1.0, float('nan')])\n"
        "assert pa.array(column).null_count == 1\n"
        "assert pa.Table.from_pandas(pd.DataFrame({'a': column}))['a'].null_count == 1\n"
        "assert type(pd.__spec__.loader).__name__ == 'SourceFileLoader', pd.__spec__\n"
        "assert not any(type(f).__name__ == '_PandasFinder' for f in sys.meta_path)\n"
    )


def test_arrow_finds_pandas_itself_when_it_makes_a_frame() -> None:
    ends_well(
        "frame = pa.table({'a': [1, 2]}).to_pandas(); assert type(frame).__module__.startswith('pandas'), type(frame)"
    )


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 18, reason="an old Arrow looks for pandas at every array"
)
def test_starting_twice_is_starting_once() -> None:
    ends_well(
        "start_arrow(1); assert pa.cpu_count() == 1; assert sum(type(f).__name__ == '_PandasFinder' for f in sys.meta_path) == 1"
    )


def test_pandas_that_was_there_before_is_known() -> None:
    code = (
        "import pandas as pd\n"
        + START
        + "assert pa.array(pd.Series([1.0, float('nan')])).null_count == 1"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_without_pandas_all_is_as_before() -> None:
    ends_well(
        "sys.modules['pandas'] = None\n"
        "try:\n    import pandas\nexcept ImportError:\n    pass\nelse:\n    raise AssertionError\n"
        "assert pa.array([1]).to_pylist() == [1]"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--parents", "0"], "parents must be a whole number of at least 1. Got 0."),
        (["--rows", "-1"], "rows must be a whole number of at least 0"),
        (["--copies", "0"], "copies must be a whole number of at least 1"),
        (["--sensitive", "agee"], "Did you mean 'age'"),
        (["--sensitive", "age", "--label", "age"], "cannot be the label and sensitive"),
        (["--require", "age"], "require must be a pair PARENT:CHILD"),
        (
            ["--require", "age:caesarian", "--require", "caesarian:age"],
            "cycle: age -> caesarian -> age",
        ),
        (
            ["--require", "age:caesarian", "--forbid", "age:caesarian"],
            "required and forbidden at once",
        ),
        (["--search", "greddy"], "Did you mean 'greedy'"),
        (["--score", "pairwise", "--search", "greedy"], "score for greedy search"),
        (["--method", "ctgan"], "Unknown method 'ctgan'"),
        (["--keep", "age", "--rows", "5"], "rows cannot be given"),
        (["--smoothing", "-1"], "smoothing must be a number of at least 0"),
        (["--protect", "both", "--sensitive", "age"], "Unknown protect 'both'"),
    ],
)
def test_bad_settings_exit_with_2_and_write_nothing(data, tmp_path, run_here, arguments, says):
    done = run_here("synth", data / "caesarian.csv", "-o", tmp_path / "s.csv", *arguments)
    assert done.code == 2, done.err
    assert says in done.err
    assert os.listdir(tmp_path) == []


def test_options_that_contradict_each_other():
    with pytest.raises(InputError, match="rows cannot be given"):
        SynthesisSettings.from_options(keep=("a",), rows=3)
    with pytest.raises(InputError, match="A ledger adds up"):
        SynthesisSettings.from_options(ledger="l.json")


def test_a_variant_is_named_after_its_method_once(run_here, data, tmp_path):
    schema = data / "cmc_declared.toml"
    words = [
        "synth",
        data / "cmc.csv",
        "-o",
        tmp_path / "o.csv",
        "--epsilon",
        1,
        "--schema",
        schema,
    ]
    done = run_here(*words, "--method", "privbayes:sdg:variant=dpart")
    assert (done.code, "Setting 'variant' is there twice" in done.err) == (2, True)
    done = run_here(*words, "--method", "privbayes:theta=2", "--parents", 1, "--score", "Z")
    assert (done.code, "Unknown score 'Z'" in done.err) == (2, True)
    done = run_here(*words, "--method", "bayesnet:parents=2", "--parents", 1)
    assert (done.code, "Setting 'parents' is there twice" in done.err) == (2, True)
    assert run_here(*words, "--method", "privbayes:dpart").code == 0


def test_what_is_personal_is_said_also_where_all_else_is_quiet(capsys):
    observer = ConsoleObserver(quiet=True)
    observer.opened([Note("a", "personal", "looks like a name"), Note("b", "pooled", "rare")])
    assert "Warning: " in capsys.readouterr().err
