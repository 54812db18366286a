"""No message names a level that fewer than ten records have, wherever a level can stand; common ones are named, to help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs, read_outputs
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.filters import read_filter
from chaffinch.outputs.formula import read_formula
from chaffinch.outputs.readers.acro.read import AcroDirectory, AcroFile, AcroResult
from chaffinch.outputs.readers.acro.recipes import recipes_of_acro
from chaffinch.outputs.records import codes_of_table, fields_of_table
from chaffinch.outputs.rules import Policy, check_rules
from chaffinch.report.check import check_page

RARE = "Sark"
"""The level of one record; the age of that person, of whom there is one, too."""
RARE_AGE = 97


@pytest.fixture(scope="module")
def one_from_sark() -> Any:
    """120 records: north and south, and one from Sark."""
    n = 120
    frame = pd.DataFrame(
        {
            "area": ["north", "south"] * (n // 2),
            "sex": ["f", "f", "m", "m"] * (n // 4),
            "age": [20, 30, 40, 50] * (n // 4),
            "ill": (["no"] * 5 + ["yes"] * 3) * (n // 8),
        }
    )
    frame.loc[7, ["area", "age"]] = [RARE, RARE_AGE]
    return chaffinch.read(frame, rare="keep")


@pytest.fixture(scope="module")
def fields(one_from_sark: Any) -> OutputDomain:
    return fields_of_table(one_from_sark, one_from_sark.columns)


def document(*outputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    named = [{"name": f"t{number}", **one} for number, one in enumerate(outputs)]
    return {"format": "chaffinch-outputs", "version": 1, "outputs": named, **more}


def entry(**keys: Any) -> Callable[[OutputDomain], Any]:
    return lambda fields: read_outputs(document(keys), fields=fields)


AREA = {"kind": "table", "by": ["area"]}
LOGIT = {"kind": "logit", "formula": "ill ~ area", "success": "yes"}
ONE = dict.fromkeys(("Intercept", "area[T.north]", "area[T.south]"), 0.5)

TYPOS: dict[str, Callable[[OutputDomain], Any]] = {
    "a filter": lambda fields: read_filter("area == 'Srak'", fields),
    "a list in a filter": lambda fields: read_filter("area in ['north', 'Srak']", fields),
    "a number in a filter": lambda fields: read_filter("age == 98", fields),
    "a filter of a recipe": entry(**AREA, where="area != 'Srak'"),
    "a group": entry(**AREA, groups={"area": [["north", "Srak"]]}),
    "a reference": lambda fields: read_formula("ill ~ C(area, Treatment('Srak'))", fields),
    "a reference of numbers": lambda fields: read_formula("ill ~ C(age, Treatment(98))", fields),
    "success": entry(**{**LOGIT, "formula": "area ~ age", "success": "Srak"}),
    "the base of a multinomial": entry(kind="multinomial", formula="area ~ age", base="Srak"),
    "a class of a multinomial": entry(
        kind="multinomial", formula="area ~ age", base="north", coefficients={"Srak": {}}
    ),
    "a class that is missing": entry(
        kind="multinomial", formula="area ~ age", base="north", coefficients={"south": {}}
    ),
    "the event of a survival table": entry(
        kind="kaplan-meier", time="age", event="area", times=[30], level="Srak", at_risk=True
    ),
    "a cell": entry(**AREA, cells={"north": 60, "Srak": 1}),
    "a cell of two columns": entry(kind="table", by=["sex", "area"], cells={"f|Srak": 1}),
    "a rare cell, and a typo": entry(kind="table", by=["sex", "area"], cells={"ff|Sark": 1}),
    "a group of a mean": entry(
        kind="mean", of="age", by=["area"], values={"north": 30, "Srak": 97}
    ),
    "a group of quantiles": entry(
        kind="median", of="age", by=["area"], values={"north": 30, "Srak": 97}
    ),
    "a percentage": entry(
        kind="table", by=["area"], percentages="all", values={"north": 50, "Srak": 1}
    ),
    "a leaf": entry(
        kind="tree", label="area", leaves=[{"where": "age <= 30", "counts": {"Srak": 1}}]
    ),
    "the filter of a leaf": entry(
        kind="tree", label="ill", leaves=[{"where": "area == 'Srak'", "n": 1}]
    ),
    "a coefficient": entry(**LOGIT, coefficients={**ONE, "area[T.Srak]": 1}),
    "a coefficient that is missing": entry(**LOGIT, coefficients={"Intercept": 1}),
    "a coefficient of a rare level": entry(
        **LOGIT, coefficients={"Intercept": 1, "C(area)[T.Sark]": 1}
    ),
    "a coefficient that is no number": entry(
        **{**LOGIT, "formula": "ill ~ C(area, Treatment('south'))"},
        coefficients={
            "Intercept": 1,
            "C(area, Treatment('south'))[T.Sark]": "big",
            "C(area, Treatment('south'))[T.north]": 1,
        },
    ),
    "a coefficient beside a rare reference": entry(
        **{**LOGIT, "formula": "ill ~ C(area, Treatment('Sark'))"}, coefficients={"Intercept": 1}
    ),
    "a standard error": entry(**LOGIT, standard_errors=["area[T.Srak]"]),
    "a standard error of a rare level": entry(**LOGIT, standard_errors=["C(area)[T.Sark]"]),
    "a word without quotes": lambda fields: read_filter("area == Sark", fields),
    "a word too many": lambda fields: read_filter("area == 'north' 'Sark'", fields),
    "a name too many": lambda fields: read_filter("area == 'north' Sark", fields),
    "a level for a column": lambda fields: read_formula("ill ~ Sark", fields),
    "a word in a formula": lambda fields: read_formula("ill ~ 'Sark'", fields),
    "arithmetic with a word": lambda fields: read_formula("ill ~ I(age + 'Sark')", fields),
    "a word after a formula": lambda fields: read_formula("ill ~ age 'Sark'", fields),
    "a label alone": lambda fields: read_formula("ill 'Sark'", fields),
}


@pytest.mark.parametrize("where", TYPOS)
def test_a_rare_level_is_in_no_message(fields: OutputDomain, where: str) -> None:
    with pytest.raises(InputError) as caught:
        TYPOS[where](fields)
    assert RARE not in str(caught.value)
    assert not re.search(rf"\b{RARE_AGE}\b", str(caught.value))
    assert "not as it should be" not in str(
        caught.value
    )  # the file's form is right: it is the level that is wrong


@pytest.mark.parametrize("where", TYPOS)
def test_no_level_is_listed_where_records_were_not_counted(
    fields: OutputDomain, where: str
) -> None:
    uncounted = OutputDomain(tuple(OutputColumn(one.name, one.levels) for one in fields))
    with pytest.raises(InputError) as caught:
        TYPOS[where](uncounted)
    words = str(caught.value)
    assert RARE not in words
    assert not re.search(r"\b(south|20|30)\b", words)
    assert "Did you mean 'north'" not in words


@pytest.mark.parametrize(
    ("typo", "message"),
    [
        (
            lambda fields: read_filter("area == 'nroth'", fields),
            "Unknown level 'nroth' of column 'area'. Did you mean 'north'? Levels that 10 or more records have: north, south.",
        ),
        (
            lambda fields: read_formula("ill ~ C(area, Treatment('nroth'))", fields),
            "Did you mean 'north'?",
        ),
        (entry(**AREA, groups={"area": [["nroth"]]}), "Did you mean 'north'?"),
        (
            entry(kind="table", by=["sex", "area"], cells={"f|nroth": 1}),
            "Did you mean 'f|north'? Cells whose levels 10 or more records have: f|north, f|south, m|north, m|south.",
        ),
        (entry(**LOGIT, standard_errors=["area[T.nroth]"]), "Did you mean 'area[T.north]'?"),
        (entry(**{**LOGIT, "formula": "area ~ age", "success": "nroth"}), "Did you mean 'north'?"),
        (
            entry(
                kind="multinomial", formula="area ~ age", base="Sark", coefficients={"south": {}}
            ),
            "no coefficients for class 'north'",
        ),
    ],
)
def test_a_common_level_is_named(
    fields: OutputDomain, typo: Callable[[OutputDomain], Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        typo(fields)
    assert message in str(caught.value)
    assert RARE not in str(caught.value)


def test_levels_are_counted_in_the_table_also_where_they_are_declared(one_from_sark: Any) -> None:
    declared = [OutputColumn("area", ("Sark", "south", "north", "Herm"))]
    assert fields_of_table(one_from_sark, ["area", "age"], declared=declared)["area"].common == {
        "north",
        "south",
    }
    assert fields_of_table(one_from_sark, ["age"])["age"].common == {"20", "30", "40", "50"}


FOLDS = [
    {"kind": "mean", "of": "age", "by": ["area"]},
    {"kind": "sd", "of": "age", "by": ["area"]},
    {"kind": "median", "of": "age", "by": ["sex", "area"]},
    {
        "kind": "mean",
        "of": "age",
        "by": ["area"],
        "groups": {"area": {"Sark": ["Sark"], "rest": ["north", "south"]}},
    },
    {
        "kind": "mean",
        "of": "age",
        "by": ["area"],
        "groups": {"area": [["Sark"], ["north", "south"]]},
    },
    {
        "kind": "kaplan-meier",
        "time": "age",
        "event": "ill",
        "times": [30],
        "by": ["area"],
        "survival": True,
    },
    {"kind": "logit", "formula": "ill ~ C(area, Treatment('north'))", "success": "yes"},
    {"kind": "logit", "formula": "ill ~ C(area, Treatment('Sark'))", "success": "yes"},
    {"kind": "ols", "formula": "age ~ C(area, Treatment('Sark')) + sex"},
    {"kind": "logit", "formula": "ill ~ C(area, Treatment('Sark')) + sex:area", "success": "yes"},
    {"kind": "multinomial", "formula": "area ~ sex", "base": "north"},
]


@pytest.mark.parametrize(
    "output", FOLDS, ids=lambda one: f"{one['kind']} {one.get('formula', one.get('by'))}"
)
def test_what_a_fold_lacks_is_not_named_if_it_is_rare(
    one_from_sark: Any, fields: OutputDomain, output: dict[str, Any]
) -> None:
    """With one record of a level, one of the two folds has none of it: the result says why, and not of whom.

    Columns that a file declares are no exception: what the file says is one thing, what a message may say another.
    """
    columns = [{"name": one.name, "levels": list(one.levels)} for one in fields]
    for outputs in (
        read_outputs(document(output), fields=fields),
        read_outputs(document(output, columns=columns)),
    ):
        result = chaffinch.check(
            outputs,
            one_from_sark,
            keys=named(output)[:1],
            sensitive=named(output)[1:2],
            syntheses=2,
            seed=1,
        )
        (summary,) = result.summary
        assert summary.marginal is None
        assert summary.verdict != "pass"
        assert any("cannot be computed on" in why for why in summary.why)
        assert RARE not in json.dumps(result.to_dict())
        assert RARE not in check_page(result).html


def named(output: dict[str, Any]) -> list[str]:
    words = [
        word
        for key in ("by", "of", "formula", "event")
        for word in re.findall(r"\w+", str(output.get(key, "")))
    ]
    return [name for name in ("area", "sex", "age", "ill") if name in words]


def test_words_of_rules_have_no_rare_reference(one_from_sark: Any, fields: OutputDomain) -> None:
    recipes = read_outputs(
        document({**LOGIT, "formula": "ill ~ C(area, Treatment('Sark'))*age"}), fields=fields
    )
    report = check_rules(recipes, codes_of_table(one_from_sark, fields).codes, Policy())
    failed = [one for one in report if one.rule == "small group behind a coefficient"]
    assert failed[0].status == "fail"
    assert RARE not in str(report.to_dict())
    assert RARE in str(report.confidential())


def test_contradictions_name_no_level(fields: OutputDomain) -> None:
    outputs = [
        {
            "name": "a",
            "kind": "table",
            "by": ["area"],
            "cells": {"Sark": 1, "north": 60, "south": 59},
        },
        {
            "name": "b",
            "kind": "table",
            "by": ["area"],
            "cells": {"Sark": 2, "north": 59, "south": 59},
        },
    ]
    from chaffinch.outputs.contradictions import contradictions

    columns = [{"name": one.name, "levels": list(one.levels)} for one in fields]
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": 120,
            "columns": columns,
            "outputs": outputs,
        }
    )
    (words,) = map(str, contradictions(spec))
    assert RARE not in words


def acro(
    tmp_path: Any, table: Any, result: dict[str, Any], rows: tuple[tuple[str, ...], ...]
) -> str:
    made = AcroResult(
        **{"uid": "t", "status": "pass", "files": (AcroFile("t.csv", "", rows),), **result}
    )
    (skipped,) = recipes_of_acro(AcroDirectory(tmp_path, "1.0.2", {}, (made,)), table).skipped
    return skipped.reason


def test_reasons_for_skipping_name_no_rare_level(tmp_path: Any, one_from_sark: Any) -> None:
    crosstab = {
        "type": "table",
        "method": "crosstab",
        "dependent": None,
        "independent": ("area", "sex"),
        "summary": "FrequencyTable : \n",
    }
    rows = (("area", "f", "m"), ("north", "30", "30"))
    for command in (
        "s.crosstab(df[df.area == 'Srak'].area, df.sex)",
        "s.crosstab(df[df.area.isin(['Srak'])].area, df.sex)",
    ):
        reason = acro(tmp_path, one_from_sark, {**crosstab, "command": command}, rows)
        assert "Unknown level 'Srak'" in reason
        assert "north, south" in reason
        assert RARE not in reason
    head = (("Dep. Variable:", "ill", "No. Observations:", "50"), ("", "coef", "std err"))
    logit = {"type": "regression", "method": "logitr", "independent": ("area[T.north]",)}
    for command in ("s.logitr('ill ~ area', df)", "s.logitr("):
        rows = (*head, ("Intercept", "0.1", "0.2"), ("C(area)[T.Sark]", "0.1", "0.2"))
        assert RARE not in acro(tmp_path, one_from_sark, {**logit, "command": command}, rows)


def test_codes_and_uncounted_columns(fields: OutputDomain) -> None:
    """What the library is given as codes it can count itself."""
    codes = np.zeros((30, len(fields)), dtype=np.int32)
    assert OutputDomain(tuple(OutputColumn(one.name, one.levels) for one in fields)).counted(codes)[
        "area"
    ].common == {"Sark"}


def test_sentences_say_the_threshold_by_which_levels_were_counted() -> None:
    """North has 30 records and is named; the east has 15, and is not where twenty are needed."""
    codes = np.array([[0]] * 30 + [[1]] * 15 + [[2]], dtype=np.int32)
    counted = (
        OutputDomain((OutputColumn("area", ("north", "east", "Sark")),))
        .with_threshold(20)
        .counted(codes)
    )
    for again in (counted, counted.counted(codes)):
        assert again["area"].common == {"north"}
        with pytest.raises(InputError, match=r"Levels that 20 or more records have: north."):
            again["area"].code("nort")
