"""Rules on printed counts alone, against the same table as records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.readers.files.parsed import (
    ParsedFit,
    ParsedOutput,
    ParsedSummary,
    ParsedTable,
    ParsedTest,
    patsy_formula,
    patsy_name,
)
from chaffinch.outputs.readers.placing import place_candidates
from chaffinch.outputs.rules import Policy
from chaffinch.outputs.rules.check import check_entries

LABELS = (("f", "m"), ("n", "s"))


def two_by_two(
    *cells: int | str, margins: tuple[int | str, ...] = (), **options: object
) -> ParsedTable:
    keys = list(product(*LABELS))
    numbers = dict(zip(keys, cells, strict=True))
    if margins:
        numbers |= dict(
            zip(
                [("f", "All"), ("m", "All"), ("All", "n"), ("All", "s"), ("All", "All")],
                margins,
                strict=True,
            )
        )
    return ParsedTable(("sex", "area"), LABELS, numbers, margins=bool(margins), **options)  # type: ignore[arg-type]


def entries_of(one: ParsedOutput, name: str, fields: OutputDomain) -> list[dict[str, Any]]:
    """Return the first way to say an output that the columns allow."""
    tried: list[list[dict[str, Any]]] = []

    def candidates() -> Iterator[list[dict[str, Any]]]:
        for entries in one.entries(name, fields):
            tried.append(entries)
            yield entries

    place_candidates(candidates(), lambda entries: recipes_of(entries, fields))
    return tried[-1]


def statuses(one: ParsedOutput, policy: Policy | None = None) -> dict[str, str]:
    return {each.rule: each.status for each in one.findings("t", policy or Policy())}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any))
def test_the_rules_say_of_printed_counts_what_they_say_of_records(counts: list[int]) -> None:
    fields = OutputDomain((OutputColumn("sex", LABELS[0]), OutputColumn("area", LABELS[1])))
    places = np.array(list(np.ndindex(2, 2)))
    codes = np.repeat(places, counts, axis=0).astype(np.int32)
    expected = check_entries(
        [{"name": "t", "kind": "table", "by": ["sex", "area"]}], fields, codes, Policy()
    )
    assert [
        (one.rule, one.status, one.cells) for one in two_by_two(*counts).findings("t", Policy())
    ] == [(one.rule, one.status, one.cells) for one in expected]


def test_small_cells_zeros_and_full_rows_are_found() -> None:
    assert set(statuses(two_by_two(12, 30, 40, 50)).values()) == {"pass"}
    assert statuses(two_by_two(9, 30, 40, 50))["threshold"] == "fail"
    assert statuses(two_by_two(0, 30, 40, 50)) | {"differencing": "-"} == {
        "threshold": "pass",
        "zeros": "fail",
        "class disclosure": "review",
        "differencing": "-",
    }
    assert statuses(two_by_two(9, 30, 40, 50), Policy(threshold=5))["threshold"] == "pass"


def test_a_withheld_cell_that_follows_from_totals_is_undone() -> None:
    # 42 - 35 = 7: the reader has it
    assert (
        statuses(two_by_two("<10", 35, 40, 50, margins=(42, 90, 47, 85, 132)))["suppression undone"]
        == "fail"
    )
    assert statuses(two_by_two("<10", "<10", 40, 50))["suppression undone"] == "pass"


def test_withheld_cells_get_some_counts_that_fit_the_totals() -> None:
    counts = two_by_two("<10", "<10", "<10", 50, margins=(12, 56, 11, 57, 68)).complete_counts(10)
    assert counts.sum() == 68
    assert counts.sum(axis=1).tolist() == [12, 56]
    assert counts.sum(axis=0).tolist() == [11, 57]
    assert counts.ravel()[:3].max() < 10
    with pytest.raises(InputError, match="no counts fit"):
        two_by_two("<10", 35, 40, 50, margins=(60, 90, 65, 85, 150)).complete_counts(10)


def test_percentages_alone_are_not_assessed() -> None:
    shares = ParsedTable(("sex",), (("f", "m"),), {("f",): "40", ("m",): "60"}, percentages="all")
    assert statuses(shares) == {"threshold": "not assessed"}


def test_very_large_counts_are_judged_without_as_many_records() -> None:
    assert statuses(two_by_two(10**9, 10**9, 3, 10**9))["threshold"] == "fail"


def test_axes_without_a_name_and_unknown_columns_are_said() -> None:
    fields = OutputDomain((OutputColumn("sex", LABELS[0]),))
    with pytest.raises(InputError, match="which columns stand in its columns: write by"):
        entries_of(ParsedTable(("sex", "(columns)"), LABELS, {}), "t", fields)
    with pytest.raises(InputError, match="'area', which is no column of the data"):
        entries_of(two_by_two(1, 2, 3, 4), "t", fields)


def test_what_is_understood_names_columns_and_sizes() -> None:
    assert (
        two_by_two("<10", 35, 40, 50).understood
        == "a table of counts of 'sex' by 'area', 2 x 2 cells, some withheld."
    )
    assert two_by_two(1, 2, 3, 4).people == 10
    assert two_by_two("<10", 2, 3, 4).people is None


PATIENTS = [f"P{k:03d}" for k in range(40)]


@pytest.mark.parametrize(
    ("axis", "labels", "persons"),
    [
        ("patient", PATIENTS, True),
        ("patient", PATIENTS[:3], True),
        ("mother_id", [f"{7 * k}" for k in range(12)], True),
        ("code", PATIENTS, True),
        ("nr", [f"{k}" for k in range(1, 30)], True),
        ("surname", ["Abel", "Bohr", "Cohn"], True),
        ("patient", ["in", "out", "day"], False),
        ("age", [f"{k}" for k in range(20, 70)], False),
        ("children", [f"{k}" for k in range(12)], False),
        ("case", ["0", "1"], False),
        ("town", [f"town {'abcdefghijklmnopqrstuvwxyz'[k]}" for k in range(26)], False),
    ],
)
def test_numbers_by_person_are_not_counts_of_people(
    axis: str, labels: list[str], persons: bool
) -> None:
    """One row a patient with the number of visits has the form of a table of counts, and no small cell."""
    table = ParsedTable(
        (axis,), (tuple(labels),), {(label,): 12 + k for k, label in enumerate(labels)}
    )
    found = {one.rule: one.status for one in table.findings("t", Policy())}
    assert found.get("taken for counts") == ("not assessed" if persons else None)
    assert found["threshold"] == "pass"
    said = {one.rule for one in replace(table, is_confirmed=True).findings("t", Policy())}
    assert "taken for counts" not in said


FIELDS = OutputDomain(
    (
        OutputColumn("y", (0, 1, 2, 3)),
        OutputColumn("age", (1, 2, 3)),
        OutputColumn("sex", ("f", "m", "x")),
        OutputColumn("area", (1, 2)),
    )
)


def test_n_and_degrees_of_freedom_are_judged_and_the_rest_is_not_assessed() -> None:
    good = statuses(ParsedFit("ols", coefficients={"a": "1", "b": "2"}, n=100))
    assert good == {
        "threshold": "pass",
        "residual degrees of freedom": "pass",
        "small group behind a coefficient": "not assessed",
    }
    assert (
        statuses(ParsedFit("ols", coefficients={"a": "1", "b": "2"}, n=11))[
            "residual degrees of freedom"
        ]
        == "fail"
    )
    assert statuses(ParsedFit("ols", coefficients={"a": "1"}, n=9))["threshold"] == "fail"
    assert statuses(ParsedFit("ols", dof=8))["residual degrees of freedom"] == "fail"
    assert (
        statuses(ParsedFit("ols", coefficients={"a": "1"}))["residual degrees of freedom"]
        == "not assessed"
    )
    assert statuses(ParsedFit("ols", dof=80, extremes=True))["extremes of residuals"] == "review"


@pytest.mark.parametrize(
    ("formula", "names", "written"),
    [
        (
            "y ~ age + sex",
            ["(Intercept)", "age", "sexm", "sexx"],
            ["Intercept", "age", "sex[T.m]", "sex[T.x]"],
        ),
        (
            "y ~ factor(area) * age",
            ["(Intercept)", "factor(area)2", "age", "factor(area)2:age"],
            ["Intercept", "C(area)[T.2]", "age", "C(area)[T.2]:age"],
        ),
        ("y ~ age + C(area)", ["_cons", "age", "2.area"], ["Intercept", "age", "C(area)[T.2]"]),
    ],
)
def test_a_formula_of_r_and_stata_becomes_ours(
    formula: str, names: list[str], written: list[str]
) -> None:
    fit = ParsedFit("ols", "y", formula, {name: f"{k}.5" for k, name in enumerate(names)}, n=50)
    (entry,) = entries_of(fit, "m", FIELDS)
    assert list(entry["coefficients"]) == written
    assert entry["n"] == 50


def test_another_reference_level_is_found_by_the_coefficient_that_is_not_there() -> None:
    fit = ParsedFit("ols", "y", "y ~ sex", {"(Intercept)": "1.0", "sexf": "2.0", "sexx": "3.0"})
    (entry,) = entries_of(fit, "m", FIELDS)
    assert "Treatment('m')" in entry["formula"]
    assert list(entry["coefficients"].values()) == ["1.0", "2.0", "3.0"]


def test_without_a_formula_it_is_put_together_from_names() -> None:
    (entry,) = entries_of(ParsedFit("ols", "y", None, {"_cons": "1.0", "age": "2.0"}), "m", FIELDS)
    assert entry["formula"] == "y ~ age"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"coefficients": {"_cons": "1"}}, "what it is a model of"),
        ({}, "no coefficients, and no formula"),
        ({"unresolved_reason": "it is weighted"}, "it is weighted"),
        (
            {"label": "y", "coefficients": {"_cons": "1", "income": "2"}},
            "'income' is no column of the data",
        ),
    ],
)
def test_what_does_not_fit_the_data_says_why(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        entries_of(ParsedFit("ols", **keys), "m", FIELDS)


def test_ratios_are_looked_at_without_their_numbers() -> None:
    fit = ParsedFit(
        "logit",
        "sex",
        "sex ~ age",
        {"(Intercept)": "1.5", "age": "2.5"},
        n=50,
        exponentiated=True,
        success="m",
    )
    (entry,) = entries_of(fit, "m", FIELDS)
    assert "coefficients" not in entry
    assert entry["n"] is True


def test_a_label_that_is_a_comparison_is_a_column_and_a_level() -> None:
    fit = ParsedFit("logit", "y == 2", "y == 2 ~ age", {"(Intercept)": "1.5", "age": "2.5"})
    (entry,) = entries_of(fit, "m", FIELDS)
    assert (entry["formula"], entry["success"]) == ("y ~ age", 2)


def test_words_of_r_are_translated() -> None:
    assert patsy_formula("y ~ as.factor(a) +\n    I(b^2)") == "y ~ C(a) + I(b**2)"
    assert patsy_name("factor(a)never married", {}) == "C(a)[T.never married]"
    assert patsy_name("1.foreign#c.weight", {}) == "C(foreign)[T.1]:weight"


PEOPLE_FIELDS = OutputDomain(
    (
        OutputColumn("age", tuple(range(10, 90))),
        OutputColumn("sex", ("f", "m")),
        OutputColumn("area", (1, 2)),
    )
)
GROUPS = (("f",), ("m",))


def groups(**numbers: tuple[str, str]) -> ParsedSummary:
    return ParsedSummary(
        "age",
        ("sex",),
        GROUPS,
        {key: dict(zip(GROUPS, some, strict=True)) for key, some in numbers.items()},
    )


def test_small_groups_fail_and_dominance_is_not_assessed() -> None:
    assert statuses(groups(mean=("41.5", "40.2"), n=("30", "9")))["threshold"] == "fail"
    large = statuses(groups(mean=("41.5", "40.2"), n=("30", "90")))
    assert large["threshold"] == "pass"
    assert large["n-k dominance"] == "not assessed"
    assert statuses(groups(mean=("41.5", "40.2")))["threshold"] == "not assessed"


def test_each_statistic_is_an_entry_that_the_kinds_read() -> None:
    summary = groups(
        mean=("41.5", "40.2"), sd=("3.1", "4.0"), min=("20", "21"), max=("70", "80"), n=("30", "90")
    )
    entries = entries_of(summary, "t", PEOPLE_FIELDS)
    assert [(entry["name"], entry["kind"]) for entry in entries] == [
        ("t: mean", "mean"),
        ("t: sd", "sd"),
        ("t: quantiles", "quantiles"),
        ("t: n", "table"),
    ]
    assert entries[2]["values"] == {"f": ["20", "70"], "m": ["21", "80"]}
    assert len(recipes_of(entries, PEOPLE_FIELDS)) == 4
    assert summary.people == 120


def test_without_groups_n_stands_in_the_entries() -> None:
    one = ParsedSummary("age", (), ((),), {"n": {(): "74"}, "mean": {(): "41.5"}})
    assert entries_of(one, "t", PEOPLE_FIELDS) == [
        {"name": "t: mean", "kind": "mean", "of": "age", "value": "41.5", "n": 74}
    ]
    assert (
        statuses(ParsedSummary("age", (), ((),), {"n": {(): "7"}, "mean": {(): "41.5"}}))[
            "threshold"
        ]
        == "fail"
    )


def test_a_summary_of_what_is_not_named_says_so() -> None:
    with pytest.raises(InputError, match="which column it summarises"):
        entries_of(
            ParsedSummary(None, ("sex",), GROUPS, {"mean": dict.fromkeys(GROUPS, "1.5")}),
            "t",
            PEOPLE_FIELDS,
        )
    with pytest.raises(InputError, match="'income', which is no column"):
        entries_of(
            ParsedSummary("income", ("sex",), GROUPS, {"mean": dict.fromkeys(GROUPS, "1.5")}),
            "t",
            PEOPLE_FIELDS,
        )


def test_a_test_is_judged_by_n_and_compared_where_it_can_be() -> None:
    chi = ParsedTest("chi-square", "a test", {"statistic": "3.84"}, ("sex", "area"), n=8)
    assert statuses(chi) == {
        "threshold": "fail",
        "small groups behind the test": "not assessed",
    }
    assert entries_of(chi, "t", PEOPLE_FIELDS) == [
        {"name": "t", "kind": "chi-square", "by": ["sex", "area"], "n": 8, "statistic": "3.84"}
    ]
    with pytest.raises(InputError, match="it is paired"):
        entries_of(
            ParsedTest("t-test", "a test", {}, ("sex",), "age", unresolved_reason="it is paired"),
            "t",
            PEOPLE_FIELDS,
        )
    with pytest.raises(InputError, match="which columns it is a test of"):
        entries_of(ParsedTest("chi-square", "a test"), "t", PEOPLE_FIELDS)
