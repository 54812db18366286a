"""The page of all tables and figures of the papers: every line has its files, every figure of it is read from a result, and none is stale."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import pytest

from benchmarks.common import Option, read_rows, run_study, write_rows
from experiments import index as INDEX
from experiments.__main__ import studies as all_studies

from .test_house import ROOT

FOLDER = ROOT / "experiments"


LINES = INDEX.lines()

PRINTED = {
    "P0": (["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"], 2),
    "P1": (["1", "2", "3", "4", "5"], 3),
    "P2": (["I", "II", "III", "IV", "V", "VI", "VII"], 8),
    "P3": (["1"], 15),
    "P4": ([], 4),
}
"""The tables of each paper, and how many figures it has."""


def test_every_table_and_figure_of_the_papers_has_a_line() -> None:
    for paper, (tables, figures) in PRINTED.items():
        wanted = {f"table {name}" for name in tables} | {
            f"figure {number}" for number in range(1, figures + 1)
        }
        assert {line["item"].split(",")[0] for line in LINES if line["paper"] == paper} == wanted


@pytest.mark.parametrize("line", LINES, ids=[f"{line['paper']} {line['item']}" for line in LINES])
def test_a_line_has_its_files_a_verdict_and_a_reason(line: dict[str, str]) -> None:
    assert line["verdict"] in INDEX.VERDICTS
    assert line["extent"] in INDEX.EXTENTS
    assert line["why"]
    files = line["evidence"].split()
    assert files
    for file in files:
        assert (FOLDER / file).is_file(), file
    if line["folder"]:
        assert (FOLDER / line["folder"] / "README.md").is_file()
    if line["extent"] == "shortened":
        assert line["how"], "what is shortened is said"
    for text in (line["why"], line["how"]):
        filled = INDEX.filled(text)
        assert "{" not in filled
        assert "nan" not in filled


def test_the_page_is_what_the_script_prints() -> None:
    assert INDEX.PAGE.read_text(encoding="utf-8") == INDEX.page(), "run python -m experiments.index"


def test_links_of_the_page_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", INDEX.table()):
        assert (FOLDER / target).exists(), target


def test_a_figure_is_a_mean_a_word_or_a_count_and_what_is_not_there_is_refused() -> None:
    file = "p4_composite/p4_epsilons.csv"
    assert INDEX.figure(file, "position=1", "epsilon", "") == "2.0"
    assert (
        INDEX.figure(file, "position=1.0", "epsilon", ".3f") == "2.000"
    )  # numbers are equal as numbers
    assert (
        INDEX.figure(file, "position=99/2", "epsilon", "") == "1.5"
    )  # the first value that has any
    assert INDEX.figure(file, "", "number of rows", "") == "14"
    assert (
        INDEX.figure(file, "", "epsilon", ".4f")
        == f"{(2 + 1.5 + 1 + 0.9 + 0.8 + 0.7 + 0.6 + 0.5 + 0.4 + 0.3 + 0.2 + 0.1 + 0.05 + 0.01) / 14:.4f}"
    )
    for chosen, column in (
        ("position=99", "epsilon"),
        ("place=1", "epsilon"),
        ("position=1", "nothing"),
    ):
        with pytest.raises(LookupError, match=re.escape(file)):
            INDEX.figure(file, chosen, column, "")


def test_every_study_is_run_or_says_why_not() -> None:
    """The reasons are those of the signatures: what has a default asks for nothing."""
    studies = all_studies()
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert {name.split(".")[0] for name in studies} == folders
    assert studies["p0_learning.run"] == ""
    assert studies["rules.keep"] == "asks for FILES, OUTPUT"
    assert studies["attack_what_leaves.audit"] == "asks for STUDY"
    assert "hours" in studies["p4_composite.all_records"]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["a.csv"], ((Path("a.csv"),), "cmc", (0.1, 1.0), None, False)),
        (
            ["a", "b", "--table", "adult", "--epsilon", "2", "--n-rows", "5", "--dry"],
            ((Path("a"), Path("b")), "adult", (2.0,), 5, True),
        ),
        (["a", "-e", "1", "3"], ((Path("a"),), "cmc", (1.0, 3.0), None, False)),
    ],
)
def test_the_signature_of_a_study_is_its_options(words, given) -> None:
    found = []

    def study(
        paths: tuple[Path, ...],
        *,
        table: Literal["cmc", "adult"] = "cmc",
        epsilon: Annotated[tuple[float, ...], Option("Budgets.", short="e")] = (0.1, 1.0),
        n_rows: int | None = None,
        dry: bool = False,
    ) -> None:
        found.append((paths, table, epsilon, n_rows, dry))

    run_study(study, words)
    assert found == [given]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required: paths"),
        (["a", "--table", "x"], "argument --table: must be one of cmc, adult. Got 'x'."),
        (["a", "--n-rows", "x"], "argument --n-rows: invalid int value: 'x'"),
    ],
)
def test_a_study_says_what_it_cannot_read(words, message, capsys) -> None:
    def study(
        paths: tuple[Path, ...], *, table: Literal["cmc", "adult"] = "cmc", n_rows: int = 1
    ) -> None:
        raise AssertionError

    with pytest.raises(SystemExit):
        run_study(study, words)
    assert message in capsys.readouterr().err


def test_rows_are_read_as_they_were_written(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    assert read_rows(path) == []
    write_rows(path, [{"a": 1, "b": "x,y"}, {"a": 2}])
    assert read_rows(path) == [{"a": "1", "b": "x,y"}, {"a": "2", "b": ""}]
    write_rows(path, iter([[3, 4]]), ["a", "b"])
    assert path.read_bytes() == b"a,b\r\n3,4\r\n"
