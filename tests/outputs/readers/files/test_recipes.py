"""Outputs of files over the columns of data: the numbers of R, Stata's and SPSS's forms and pandas are those that our kinds compute."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

import chaffinch
from chaffinch.outputs.rules.findings import ORDER

EXAMPLES = Path(__file__).parents[4] / "examples"
BROUGHT = EXAMPLES / "outputs" / "brought"


def test_every_output_that_fits_the_data_has_its_numbers_and_the_key_s_verdict() -> None:
    result = chaffinch.check(BROUGHT, EXAMPLES / "data" / "cmc.csv", rules_only=True)
    compared = [one for one in result.outputs if one.consistent is not None]
    assert [one.name for one in compared if not one.consistent] == []
    assert len(compared) >= 30
    with open(
        EXAMPLES / "outputs" / "make_brought" / "key.csv", encoding="utf-8", newline=""
    ) as file:
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
        (one.rule, one.status, one.words)
        for one in chaffinch.check(tmp_path, rules_only=True).rules.of("town.csv")
    ]
    assert {status for _, status, _ in alone} > {"pass"}
    for more in ("", "area,n\nn,40\ns,60\n"):
        if more:
            (tmp_path / "area.csv").write_text(more)
        result = chaffinch.check(tmp_path, people, rules_only=True)
        assert [(one.rule, one.status, one.words) for one in result.rules.of("town.csv")] == alone
        row = next(row for row in result.summary if row.output == "town.csv")
        assert row.rules == result.rules.status("town.csv")
        assert row.verdict in ("fail", "not assessed")
