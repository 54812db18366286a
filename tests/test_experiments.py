"""The page of all tables and figures of the papers: every line has its files, every figure of it is read from a result, and none is stale."""

from __future__ import annotations

import re

import pytest

from experiments import index as INDEX

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
