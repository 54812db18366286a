"""Folders and files of outputs: names, places, help, what is not understood; forty outputs of real programs against a key made by hand."""

from __future__ import annotations

import csv
import shutil
import zipfile
from pathlib import Path
from random import Random

import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import FileError, InputError
from chaffinch.outputs.check.printed import check_printed
from chaffinch.outputs.check.settings import CheckSettings
from chaffinch.outputs.readers.files.read import OutputFiles, read_files
from chaffinch.outputs.rules.findings import ORDER
from chaffinch.table.formats.workbook import unread_contents

EXAMPLES = Path(__file__).parents[4] / "examples" / "outputs"
BROUGHT = EXAMPLES / "brought"
TABLE = "sex,n,s,Total\nf,12,30,42\nm,40,50,90\nTotal,52,80,132\n"


def key() -> dict[str, dict[str, str]]:
    with open(EXAMPLES / "make_brought" / "key.csv", encoding="utf-8", newline="") as file:
        return {row["output"]: row for row in csv.DictReader(file)}


def verdicts(files: OutputFiles) -> dict[str, str]:
    result = check_printed(files.outputs, CheckSettings(rules_only=True))
    return {row.output: row.verdict for row in result.summary}


def test_forty_outputs_are_read_and_judged_as_the_key_says() -> None:
    files = read_files([BROUGHT])
    assert files.unread == ()
    assert verdicts(files) == {name: row["verdict"] for name, row in key().items()}
    assert len(files.outputs) >= 40
    assert all(one.location.line is not None and one.understood for one in files.outputs)


def test_most_need_no_help_and_the_others_ask_for_one_line(tmp_path: Path) -> None:
    shutil.copytree(BROUGHT, tmp_path / "b", ignore=shutil.ignore_patterns("outputs.toml"))
    files = read_files([tmp_path / "b"])
    assert {one.name for one in files.unread} == {
        name for name, row in key().items() if row["help"] == "line"
    }
    assert all(
        one.line.startswith(f'"{one.name}" = {{') and one.line in one.reason for one in files.unread
    )
    assert len(files.outputs) >= 30
    assert verdicts(files) == {
        name: row["verdict"] for name, row in key().items() if row["help"] != "line"
    }


def folder(tmp_path: Path, **texts: str) -> Path:
    for name, text in texts.items():
        stem, _, ending = name.rpartition("_")
        (tmp_path / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return tmp_path


def test_outputs_are_named_by_file_and_number(tmp_path: Path) -> None:
    files = read_files([folder(tmp_path, a_csv=TABLE, b_csv=f"{TABLE}\n{TABLE}")])
    assert files.names == ("a.csv", "b.csv #1", "b.csv #2")
    assert [str(one.location) for one in files.outputs] == [
        "a.csv, line 1",
        "b.csv, line 1",
        "b.csv, line 6",
    ]
    assert files.only(["b.csv #2"]).names == ("b.csv #2",)


def test_no_file_stops_another(tmp_path: Path) -> None:
    place = folder(
        tmp_path,
        a_csv=TABLE,
        broken_csv='x,"y\n1,2\n',
        what_docx="?",
        notes_txt="We saw 12 people.",
        README_md="about 40 outputs",
    )
    (place / "latin.txt").write_bytes(b"\xe9\x81\xfe 12")
    (place / "more").mkdir()
    files = read_files([place])
    assert [one.name for one in files.outputs] == ["a.csv"]
    assert files.ignored == ()
    places = {
        "README.md": 1,
        "broken.csv": 1,
        "latin.txt": None,
        "more": None,
        "notes.txt": 1,
        "what.docx": None,
    }
    assert {one.name: one.location.line for one in files.unread} == places
    reasons = {one.name: one.reason for one in files.unread}
    assert "Quotes are not closed" in reasons["broken.csv"]
    assert "'.docx' are not read" in reasons["what.docx"]
    assert not any(
        "ignore" in reason for reason in reasons.values()
    )  # never proposed: it would let records leave


def test_lines_that_nobody_understands_are_said(tmp_path: Path) -> None:
    text = "   gear\ncyl  3  4\n  4 11 18\n  6 22 14\n\nIn 3 of the 4 rows there are 7 people from Skye.\n"
    files = read_files([folder(tmp_path, log_txt=text)])
    assert [one.name for one in files.outputs] == ["log.txt"]
    (rest,) = files.unread
    assert (rest.name, rest.location.line) == ("log.txt #rest", 6)
    assert rest.line == ""
    (tmp_path / "outputs.toml").write_text('"log.txt #rest" = { ignore = true }')
    files = read_files([tmp_path])
    assert (files.unread, files.ignored) == ((), ("log.txt #rest",))
    assert files.names == ("log.txt", "log.txt #rest")
    assert files.only(["log.txt"]).ignored == ()


@pytest.mark.parametrize(
    "name",
    [
        ".hidden",
        ".DS_Store",
        "~$book.xlsx",
        "~lock",
        "notes.md",
        "a.csv~",
        "README",
        ".records.csv",
    ],
)
def test_every_file_of_a_folder_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / name).write_text("Ann 34 ill\nBob 51 well\n")
    files = read_files([tmp_path])
    assert [one.name for one in files.outputs] == ["a.csv"]
    assert [one.name for one in files.unread] == [name]


PAGE = "<table><tr><td>sex</td><td>n</td></tr><tr><td>f</td><td>42</td></tr><tr><td>m</td><td>90</td></tr></table>"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("<script>var people = [34, 51];</script>", "values in a script"),
        ('<script src="data.js"></script>', "a script, a picture or a document within the page"),
        ("<!-- Ann is 34 -->", "values in a comment"),
        ('<p data-income="987654">x</p>', "values in attributes"),
        ('<p id="p-19870412">x</p>', "values in attributes"),
        ('<p title="Ann, 34">x</p>', "values in attributes"),
        ('<svg><circle cx="34.2"/></svg>', "values in attributes"),
        ('<img src="plot.png">', "a script, a picture or a document within the page"),
        ('<style>p::after { content: "34" }</style>', "values in a style sheet"),
        ("<style>p { --income: 987654 }</style>", "values in a style sheet"),
        ('<meta name="description" content="Ann 34">', "values in attributes"),
        ("<![CDATA[ Ann 34 ]]>", "values in a comment"),
    ],
)
def test_what_a_page_holds_beside_its_tables_is_not_assessed(
    tmp_path: Path, more: str, said: str
) -> None:
    (tmp_path / "p.html").write_text(f"<html>{more}{PAGE}</html>")
    files = read_files([tmp_path])
    assert [one.name for one in files.outputs] == ["p.html"]
    assert [one.name for one in files.unread] == ["p.html #unread"]
    assert said in files.unread[0].reason
    assert "34" not in files.unread[0].reason


def test_the_layout_of_a_page_holds_no_values(tmp_path: Path) -> None:
    head = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="pandoc 2.19.2">'
        '<meta name="viewport" content="width=device-width, initial-scale=1.0"><style>td { width: 12.5px; color: #1a2b3c } h1 { color: rgb(1, 2, 3) }</style>'
        '</head><body style="margin: 0 10%"><!-- a table -->'
    )
    (tmp_path / "p.html").write_text(
        head + PAGE.replace("<table>", '<table border="1" class="dataframe t2" style="width:100%">')
    )
    assert read_files([tmp_path]).unread == ()


def book_with(path: Path, parts: dict[str, str] | None = None) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    for row in TABLE.splitlines():
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row.split(",")])
    book.save(path)
    with zipfile.ZipFile(path, "a") as archive:
        for name, text in (parts or {}).items():
            archive.writestr(name, text)
    return book


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("xl/pivotCache/pivotCacheRecords1.xml", "a pivot table or its cache"),
        ("xl/embeddings/oleObject1.bin", "an embedded object"),
        ("xl/media/image1.png", "a drawing, a chart or a picture"),
        ("xl/charts/chart1.xml", "a drawing, a chart or a picture"),
        ("xl/externalLinks/externalLink1.xml", "stored values of another workbook"),
        ("xl/model/item.data", "a data model"),
        ("xl/vbaProject.bin", "a macro"),
        ("customXml/item1.xml", "document properties"),
        ("xl/worksheets/sheet9.xml", "a sheet that the workbook does not list"),
        ("people.csv", "a part of another kind"),
    ],
)
def test_what_a_workbook_holds_beside_its_cells_is_not_assessed(
    tmp_path: Path, part: str, said: str
) -> None:
    book_with(tmp_path / "b.xlsx", {part: "<x>Ann 34</x>"})
    files = read_files([tmp_path])
    assert [one.name for one in files.outputs] == ["b.xlsx"]
    assert [(one.name, said in one.reason) for one in files.unread] == [("b.xlsx #unread", True)]


def test_text_that_no_cell_of_a_workbook_shows_is_not_assessed(tmp_path: Path) -> None:
    shutil.copy(
        Path(__file__).parents[3] / "data" / "files" / "visits.xlsx", tmp_path / "whole.xlsx"
    )
    with (
        zipfile.ZipFile(tmp_path / "whole.xlsx") as whole,
        zipfile.ZipFile(tmp_path / "left.xlsx", "w") as left,
    ):
        for name in whole.namelist():
            text = whole.read(name)
            left.writestr(name, text.replace(b"</sst>", b"<si><t>Ann is 34</t></si></sst>"))
    assert unread_contents(tmp_path / "whole.xlsx") == []
    assert unread_contents(tmp_path / "left.xlsx") == ["text that no cell shows"]


def test_comments_footers_and_names_of_a_workbook_are_not_assessed(tmp_path: Path) -> None:
    from openpyxl.comments import Comment
    from openpyxl.workbook.defined_name import DefinedName
    from openpyxl.worksheet.datavalidation import DataValidation

    for name in ("comment", "footer", "name", "list", "title"):
        book = book_with(tmp_path / f"{name}.xlsx")
        if name == "comment":
            book.active["B2"].comment = Comment("Ann is 34", "me")
        elif name == "footer":
            book.active.oddFooter.center.text = "Ann is 34"
        elif name == "name":
            book.defined_names["ann"] = DefinedName("ann", attr_text="987654")
        elif name == "list":
            book.active.add_data_validation(
                DataValidation(type="list", formula1='"Ann 34,Bob 51"', sqref="B2")
            )
        else:
            book.properties.title = "Ann is 34"
        book.save(tmp_path / f"{name}.xlsx")
    reasons = {one.name: one.reason for one in read_files([tmp_path]).unread}
    assert set(reasons) == {
        f"{name}.xlsx #unread" for name in ("comment", "footer", "name", "list", "title")
    }
    for name, said in {
        "comment": "cell comments",
        "footer": "a header or a footer",
        "name": "a named value",
        "list": "a list of allowed entries",
        "title": "properties",
    }.items():
        assert said in reasons[f"{name}.xlsx #unread"]


@pytest.mark.parametrize("name", ["v.xls", "v.xlsb", "v.xlsx", "v.ods"])
def test_an_old_workbook_may_hold_more_than_its_cells_whatever_it_is_called(
    tmp_path: Path, name: str
) -> None:
    shutil.copy(Path(__file__).parents[3] / "data" / "files" / "visits.xls", tmp_path / name)
    (one,) = read_files([tmp_path]).unread
    assert (one.name, "Save it as .xlsx" in one.reason) == (name, True)


def test_help_is_used_and_help_for_nothing_is_an_error(tmp_path: Path) -> None:
    place = folder(
        tmp_path,
        a_csv="sex,n,s\nf,12,30\nm,40,50\n",
        outputs_toml='"a.csv" = { kind = "table", by = ["sex", "area"] }',
    )
    assert read_files([place]).outputs[0].parsed.variables == ["sex", "area"]
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
    assert "it is a link" in files.unread[0].reason


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_text_of_windows_is_read_where_its_bytes_leave_no_doubt(
    tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "t.csv").write_text(
        "Geschlecht für Männer\nsex,n\nmännlich,40\nweiblich für später,60\n", encoding=encoding
    )
    (one,) = read_files([tmp_path]).outputs
    assert one.parsed.people == 100


def test_what_stands_beside_tables_is_said(tmp_path: Path) -> None:
    place = folder(
        tmp_path,
        a_csv=f"Work in 2019\n{TABLE}Source: own survey\n",
        b_csv=f"{TABLE}\n3 people of Skye are left out.,,,\n",
    )
    (place / "c.html").write_text(
        "<p>Of the 7 who died</p><table><tr><td>sex</td><td>n</td></tr><tr><td>f</td><td>42</td></tr><tr><td>m</td><td>90</td></tr></table>"
    )
    files = read_files([place])
    assert [one.name for one in files.outputs] == ["a.csv", "b.csv", "c.html"]
    assert [(one.name, one.location.line) for one in files.unread] == [
        ("b.csv #rest", 6),
        ("c.html #rest", 1),
    ]


def test_hidden_sheets_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in TABLE.splitlines():
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row.split(",")])
    book.create_sheet("raw").append(["name", "age"])
    book["raw"].sheet_state = "hidden"
    book.save(tmp_path / "b.xlsx")
    files = read_files([tmp_path])
    assert [one.name for one in files.outputs] == ["b.xlsx"]
    assert [(one.name, "is hidden" in one.reason) for one in files.unread] == [
        ("b.xlsx::raw", True)
    ]


TEXTS = sorted(
    file.name for file in BROUGHT.iterdir() if file.suffix in (".txt", ".log", ".csv", ".html")
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_a_file_that_is_damaged_anywhere_stops_nothing(
    tmp_path: Path, name: str, random: Random
) -> None:
    text = (BROUGHT / name).read_text(encoding="utf-8")
    for _ in range(random.randint(1, 4)):
        at, size = random.randrange(len(text)), random.randint(0, 12)
        text = (
            text[:at]
            + random.choice(
                ["", "|", "\n", ",", '"', "  ", "9", "NA", "<", "Total", "-", ".", "\t", "é"]
            )
            + text[at + size :]
        )
    (tmp_path / name).write_text(text or "x", encoding="utf-8")
    files = read_files([tmp_path / name])
    assert files.names
    check_printed(files.outputs, CheckSettings(rules_only=True))


@pytest.mark.parametrize(
    "name",
    [
        "r_lm_factors.txt",
        "stata_regress.log",
        "stata_tabulate.log",
        "r_glm_binomial.txt",
        "texreg_screen.txt",
    ],
)
def test_an_output_that_is_cut_anywhere_is_never_passed_and_never_another(
    name: str, tmp_path: Path
) -> None:
    """Whatever the line at which a file ends: the whole output, one that says that it is cut, or nothing understood; no other numbers."""
    lines = (BROUGHT / name).read_text(encoding="utf-8").splitlines()
    whole = {one.name: one.parsed for one in read_files([BROUGHT / name]).outputs}
    for last in range(1, len(lines)):
        (tmp_path / name).write_text("\n".join(lines[:last]) + "\n", encoding="utf-8")
        for one in read_files([tmp_path / name]).outputs:
            cut, full = one.parsed, whole.get(one.name, next(iter(whole.values())))
            for numbers in ("coefficients", "cells"):
                assert getattr(cut, numbers, None) == getattr(full, numbers, None), (
                    f"{name} cut after line {last}"
                )


def test_commands_that_hold_data_are_no_decoration(tmp_path: Path) -> None:
    table = "   gear\ncyl  3  4\n  4 11 18\n  6 22 14\n\n"
    (tmp_path / "a.txt").write_text(table + "> table(cut(age, c(0, 18, 65)))\n")
    (tmp_path / "b.txt").write_text(
        table + "> income <- c(1234, 1500, 987, 1100, 2400, 800, 1200, 3100, 450, 987654)\n"
    )
    (tmp_path / "c.txt").write_text(table + "> 34 f 98765\n")
    assert [one.name for one in read_files([tmp_path]).unread] == ["b.txt #rest", "c.txt #rest"]


def test_comments_of_the_checkers_own_file_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "outputs.toml").write_text(
        '# what the analyst said\n"a.csv" = { kind = "table" }\n'
    )
    assert read_files([tmp_path]).unread == ()
    (tmp_path / "outputs.toml").write_text('"a.csv" = { kind = "table" }\n# Ann, 34, 987654\n')
    (one,) = read_files([tmp_path]).unread
    assert (str(one.location), one.verdict) == ("outputs.toml, line 2", "not assessed")
    assert read_files([tmp_path / "a.csv"]).unread == ()


def test_every_output_that_fits_the_data_has_its_numbers_and_the_key_s_verdict() -> None:
    result = chaffinch.check(BROUGHT, EXAMPLES.parent / "data" / "cmc.csv", rules_only=True)
    compared = [one for one in result.outputs if one.consistent is not None]
    assert [one.name for one in compared if not one.consistent] == []
    assert len(compared) >= 30
    with open(EXAMPLES / "make_brought" / "key.csv", encoding="utf-8", newline="") as file:
        key = {row["output"]: row["with_records"] for row in csv.DictReader(file)}
    worst: dict[str, str] = {}
    for row in result.summary:
        name = next(
            one
            for one in sorted(key, key=len, reverse=True)
            if row.output == one or row.output.startswith(f"{one}: ")
        )
        worst[name] = max(
            worst.get(name, "pass"), row.verdict, key=lambda status: ORDER.index(status)
        )  # type: ignore[arg-type]
    assert worst == key


def test_numbers_that_are_not_the_data_s_are_found(tmp_path: Path) -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 50, "area": ["n"] * 40 + ["s"] * 60})
    (tmp_path / "t.csv").write_text(
        "sex by area\n,n,s,Total\nf,20,30,50\nm,20,30,50\nTotal,40,60,100\n"
    )
    result = chaffinch.check(tmp_path, people, rules_only=True)
    assert [row.verdict for row in result.summary] == ["pass"]
    (tmp_path / "t.csv").write_text(
        "sex by area\n,n,s,Total\nf,21,29,50\nm,19,31,50\nTotal,40,60,100\n"
    )
    result = chaffinch.check(tmp_path, people, rules_only=True)
    assert [(row.verdict, row.why) for row in result.summary] == [
        ("fail", ("numbers are not the data's",))
    ]


def test_what_does_not_fit_is_not_assessed_or_fails_by_itself(tmp_path: Path) -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 50, "area": ["n"] * 40 + ["s"] * 60})
    (tmp_path / "large.csv").write_text("town,n\na,40\nb,60\n")
    (tmp_path / "small.csv").write_text("town,n\na,3\nb,97\n")
    result = chaffinch.check(tmp_path, people, rules_only=True)
    assert {row.output: row.verdict for row in result.summary} == {
        "small.csv": "fail",
        "large.csv": "not assessed",
    }
    assert "'town', which is no column of the data" in result.about.skipped[0].reason
    assert not result.passed
    assert result.failed


def test_an_output_that_cannot_be_placed_keeps_what_the_rules_say_of_it(tmp_path: Path) -> None:
    """With and without another output that fits: the findings are those that it has without records."""
    people = pd.DataFrame({"sex": ["f", "m"] * 50, "area": ["n"] * 40 + ["s"] * 60})
    (tmp_path / "town.csv").write_text(
        "sex by town\n,a,b,Total\nf,40,0,40\nm,30,60,90\nTotal,70,60,130\n"
    )
    alone = [
        (one.rule, one.status, one.sentence)
        for one in chaffinch.check(tmp_path, rules_only=True).rules.about("town.csv")
    ]
    assert {status for _, status, _ in alone} > {"pass"}
    for more in ("", "area,n\nn,40\ns,60\n"):
        if more:
            (tmp_path / "area.csv").write_text(more)
        result = chaffinch.check(tmp_path, people, rules_only=True)
        assert [
            (one.rule, one.status, one.sentence) for one in result.rules.about("town.csv")
        ] == alone
        row = next(row for row in result.summary if row.output == "town.csv")
        assert row.rules == result.rules.status("town.csv")
        assert row.verdict in ("fail", "not assessed")
