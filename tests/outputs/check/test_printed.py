"""Checks of output files without records."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.outputs.check.printed import TOGETHER, check_printed, printed_rules
from chaffinch.outputs.check.result import CheckResult
from chaffinch.outputs.check.settings import CheckSettings
from chaffinch.outputs.readers.files.parsed import ParsedFit, ParsedTable
from chaffinch.outputs.readers.files.protocol import Location, ReadOutput
from chaffinch.outputs.rules import Policy


def counts_found(name: str, *counts: int | str, **options: object) -> ReadOutput:
    labels = tuple(f"l{k}" for k in range(len(counts)))
    cells = {(label,): count for label, count in zip(labels, counts, strict=True)}
    return ReadOutput(
        name, Location(name, line=1), "table", ParsedTable(("a",), (labels,), cells, **options)
    )  # type: ignore[arg-type]


def test_one_output_may_pass_and_several_are_not_assessed_together() -> None:
    alone = check_printed([counts_found("t", 30, 40)], CheckSettings(rules_only=True))
    assert alone.passed
    both = check_printed(
        [counts_found("t", 30, 40), counts_found("u", 50, 60)], CheckSettings(rules_only=True)
    )
    assert [row.verdict for row in both.summary] == ["pass", "pass"]
    assert not both.passed
    assert not both.failed
    assert [(one.output, one.status) for one in both.rules if one.status != "pass"] == [
        (TOGETHER, "not assessed")
    ]


def test_two_outputs_of_nearly_as_many_people_are_for_a_person_to_look_at() -> None:
    rules = printed_rules(
        [counts_found("t", 30, 40), counts_found("u", 30, 41), counts_found("v", 300, 40)], Policy()
    )
    assert [(one.output, one.other) for one in rules if one.status == "review"] == [("t", "u")]
    assert not [
        one
        for one in printed_rules(
            [counts_found("t", 30, 40), counts_found("u", 30, 41)], Policy(differencing=False)
        )
        if one.status == "review"
    ]


def test_an_output_that_cannot_be_looked_at_stops_no_other() -> None:
    impossible = ReadOutput(
        "x",
        Location("x", line=1),
        "table",
        ParsedTable(("a",), (("p", "q"),), {("p",): "<10", ("q",): 5, ("All",): 90}, margins=True),
    )
    result = check_printed(
        [
            impossible,
            counts_found("t", 3, 40),
            ReadOutput("m", Location("m"), "R", ParsedFit("ols", dof=80)),
        ],
        CheckSettings(rules_only=True),
    )
    assert {row.output: row.verdict for row in result.summary} == {
        "t": "fail",
        "x": "not assessed",
        "m": "not assessed",
    }


def test_the_result_is_written_and_read_back_without_small_counts() -> None:
    result = check_printed([counts_found("t", 3, 40)], CheckSettings(rules_only=True))
    data = result.to_dict()
    assert data["records"] == "not given"
    assert CheckResult.from_dict(data).to_dict() == data
    assert "l0" not in str(data)  # names of cells are for the inside


def test_without_records_only_the_rules_of_output_files_can_be_asked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex,n\nf,40\nm,60\n")
    assert chaffinch.check(tmp_path / "t.csv", rules_only=True).passed
    with pytest.raises(InputError, match="add --rules-only, or name the records"):
        chaffinch.check(tmp_path, keys=["sex"], sensitive=["sex"])
    with pytest.raises(InputError, match="The records behind the outputs are missing"):
        chaffinch.check(
            {"format": "chaffinch-outputs", "version": 1, "outputs": []}, rules_only=True
        )
    with pytest.raises(InputError, match="--record needs the records"):
        chaffinch.check(tmp_path, rules_only=True, released=tmp_path / "r.json", record=True)


def test_rows_of_visits_by_patient_do_not_pass(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(
        "patient,n\n" + "".join(f"P{k:03d},{10 + k % 7}\n" for k in range(60))
    )
    result = chaffinch.check(tmp_path, rules_only=True)
    assert [(row.output, row.verdict) for row in result.summary] == [("visits.csv", "not assessed")]
    assert not result.passed
    (tmp_path / "outputs.toml").write_text('"visits.csv" = { kind = "table" }\n')
    assert chaffinch.check(tmp_path, rules_only=True).passed


def test_released_outputs_that_cannot_be_compared_are_not_passed_over(tmp_path: Path) -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 50, "age": [20, 30] * 50})
    (tmp_path / "t.csv").write_text("sex,n\nf,50\nm,50\n")
    released = tmp_path / "released.json"
    document = {
        "format": "chaffinch-outputs",
        "version": 1,
        "outputs": [{"name": "old", "kind": "table", "by": ["sex"]}],
    }
    assert chaffinch.check(document, people, rules_only=True, released=released, record=True).passed
    assert chaffinch.check(tmp_path / "t.csv", people, rules_only=True, released=released).passed
    for data in (None, people.rename(columns={"sex": "other"})):
        result = chaffinch.check(tmp_path / "t.csv", data, rules_only=True, released=released)
        assert not result.passed
        (said,) = [one.sentence for one in result.rules if one.output == TOGETHER]
        assert said.startswith(
            "The outputs that are out already (--released) were not compared with these"
        )
        assert any(
            sentence.startswith("No records were given") for sentence in result.verdict.sentences
        ) == (data is None)
