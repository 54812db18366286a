"""Folders and files of outputs: names, places, help, what is not understood; forty outputs of real programs against a key made by hand."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from random import Random

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import FileError, InputError
from chaffinch.outputs.check.printed import check_printed
from chaffinch.outputs.check.settings import CheckSettings
from chaffinch.outputs.readers.files.read import OutputFiles, read_files

EXAMPLES = Path(__file__).parents[4] / "examples" / "outputs"
BROUGHT = EXAMPLES / "brought"
TABLE = "sex,n,s,Total\nf,12,30,42\nm,40,50,90\nTotal,52,80,132\n"


def key() -> dict[str, dict[str, str]]:
    with open(EXAMPLES / "make_brought" / "key.csv", encoding="utf-8", newline="") as file:
        return {row["output"]: row for row in csv.DictReader(file)}


def verdicts(files: OutputFiles) -> dict[str, str]:
    result = check_printed(files.found, CheckSettings(rules_only=True))
    return {row.output: row.verdict for row in result.summary}


def test_forty_outputs_are_read_and_judged_as_the_key_says() -> None:
    files = read_files([BROUGHT])
    assert files.unclear == ()
    assert verdicts(files) == {name: row["verdict"] for name, row in key().items()}
    assert len(files.found) >= 40
    assert all(one.place.line is not None and one.understood for one in files.found)


def test_most_need_no_help_and_the_others_ask_for_one_line(tmp_path: Path) -> None:
    shutil.copytree(BROUGHT, tmp_path / "b", ignore=shutil.ignore_patterns("outputs.toml"))
    files = read_files([tmp_path / "b"])
    assert {one.name for one in files.unclear} == {name for name, row in key().items() if row["help"] == "line"}
    assert all(one.line.startswith(f'"{one.name}" = {{') and one.line in one.reason for one in files.unclear)
    assert len(files.found) >= 30
    assert verdicts(files) == {name: row["verdict"] for name, row in key().items() if row["help"] != "line"}


def folder(tmp_path: Path, **texts: str) -> Path:
    for name, text in texts.items():
        stem, _, ending = name.rpartition("_")
        (tmp_path / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return tmp_path


def test_outputs_are_named_by_file_and_number(tmp_path: Path) -> None:
    files = read_files([folder(tmp_path, a_csv=TABLE, b_csv=f"{TABLE}\n{TABLE}")])
    assert files.names == ("a.csv", "b.csv #1", "b.csv #2")
    assert [str(one.place) for one in files.found] == ["a.csv, line 1", "b.csv, line 1", "b.csv, line 6"]
    assert files.only(["b.csv #2"]).names == ("b.csv #2",)


def test_no_file_stops_another(tmp_path: Path) -> None:
    place = folder(tmp_path, a_csv=TABLE, broken_csv='x,"y\n1,2\n', what_docx="?", notes_txt="We saw 12 people.", README_md="about 40 outputs")
    (place / "latin.txt").write_bytes(b"\xe9\x81\xfe 12")
    (place / "more").mkdir()
    files = read_files([place])
    assert [one.name for one in files.found] == ["a.csv"]
    assert files.ignored == ("README.md",)
    assert {one.name: one.place.line for one in files.unclear} == {"broken.csv": 1, "latin.txt": None, "more": None, "notes.txt": 1, "what.docx": None}
    reasons = {one.name: one.reason for one in files.unclear}
    assert "Quotes are not closed" in reasons["broken.csv"]
    assert "'.docx' are not read" in reasons["what.docx"]
    assert '"notes.txt" = { ignore = true }' in reasons["notes.txt"]


def test_lines_that_nobody_understands_are_said(tmp_path: Path) -> None:
    text = "   gear\ncyl  3  4\n  4 11 18\n  6 22 14\n\nIn 3 of the 4 rows there are 7 people from Skye.\n"
    files = read_files([folder(tmp_path, log_txt=text)])
    assert [one.name for one in files.found] == ["log.txt"]
    (rest,) = files.unclear
    assert (rest.name, rest.place.line) == ("log.txt #rest", 6)
    (tmp_path / "outputs.toml").write_text(rest.line)
    files = read_files([tmp_path])
    assert (files.unclear, files.ignored) == ((), ("log.txt #rest",))


def test_help_is_used_and_help_for_nothing_is_an_error(tmp_path: Path) -> None:
    place = folder(tmp_path, a_csv="sex,n,s\nf,12,30\nm,40,50\n", outputs_toml='"a.csv" = { kind = "table", by = ["sex", "area"] }')
    assert read_files([place]).found[0].facts.variables == ["sex", "area"]
    (place / "outputs.toml").write_text('"c.csv" = { kind = "table" }')
    with pytest.raises(InputError, match=r"Unknown output 'c\.csv'"):
        read_files([place])


def test_folders_and_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no output files"):
        read_files([tmp_path])
    with pytest.raises(FileError, match="No such file"):
        read_files([tmp_path / "a.csv", tmp_path / "b.csv"])
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    files = read_files([tmp_path])
    assert "it is a link" in files.unclear[0].reason


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_text_of_windows_is_read_where_its_bytes_leave_no_doubt(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_text("Geschlecht für Männer\nsex,n\nmännlich,40\nweiblich für später,60\n", encoding=encoding)
    (one,) = read_files([tmp_path]).found
    assert one.facts.people == 100


def test_what_stands_beside_tables_is_said(tmp_path: Path) -> None:
    place = folder(tmp_path, a_csv=f"Work in 2019\n{TABLE}Source: own survey\n", b_csv=f"{TABLE}\n3 people of Skye are left out.,,,\n")
    (place / "c.html").write_text("<p>Of the 7 who died</p><table><tr><td>sex</td><td>n</td></tr><tr><td>f</td><td>42</td></tr><tr><td>m</td><td>90</td></tr></table>")
    files = read_files([place])
    assert [one.name for one in files.found] == ["a.csv", "b.csv", "c.html"]
    assert [(one.name, one.place.line) for one in files.unclear] == [("b.csv #rest", 6), ("c.html #rest", 1)]


def test_hidden_sheets_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in TABLE.splitlines():
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row.split(",")])
    book.create_sheet("raw").append(["name", "age"])
    book["raw"].sheet_state = "hidden"
    book.save(tmp_path / "b.xlsx")
    files = read_files([tmp_path])
    assert [one.name for one in files.found] == ["b.xlsx"]
    assert [(one.name, "is hidden" in one.reason) for one in files.unclear] == [("b.xlsx::raw", True)]


TEXTS = sorted(file.name for file in BROUGHT.iterdir() if file.suffix in (".txt", ".log", ".csv", ".html"))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_a_file_that_is_damaged_anywhere_stops_nothing(tmp_path: Path, name: str, random: Random) -> None:
    text = (BROUGHT / name).read_text(encoding="utf-8")
    for _ in range(random.randint(1, 4)):
        at, size = random.randrange(len(text)), random.randint(0, 12)
        text = text[:at] + random.choice(["", "|", "\n", ",", '"', "  ", "9", "NA", "<", "Total", "-", ".", "\t", "é"]) + text[at + size :]
    (tmp_path / name).write_text(text or "x", encoding="utf-8")
    files = read_files([tmp_path / name])
    assert files.names
    check_printed(files.found, CheckSettings(rules_only=True))


@pytest.mark.parametrize("name", ["r_lm_factors.txt", "stata_regress.log", "stata_tabulate.log", "r_glm_binomial.txt", "texreg_screen.txt"])
def test_an_output_that_is_cut_anywhere_is_never_passed_and_never_another(name: str, tmp_path: Path) -> None:
    """Whatever the line at which a file ends: the whole output, one that says that it is cut, or nothing understood; no other numbers."""
    lines = (BROUGHT / name).read_text(encoding="utf-8").splitlines()
    whole = {one.name: one.facts for one in read_files([BROUGHT / name]).found}
    for last in range(1, len(lines)):
        (tmp_path / name).write_text("\n".join(lines[:last]) + "\n", encoding="utf-8")
        for one in read_files([tmp_path / name]).found:
            cut, full = one.facts, whole.get(one.name, next(iter(whole.values())))
            for numbers in ("coefficients", "cells"):
                assert getattr(cut, numbers, None) == getattr(full, numbers, None), f"{name} cut after line {last}"
