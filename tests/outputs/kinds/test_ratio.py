"""Ratios, weighted means and shares: pandas' and numpy's numbers; derivatives; contradictions; dominance above and below the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.ratio import Ratios
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain(
    (
        OutputColumn("g", ("a", "b")),
        OutputColumn("x", tuple(range(101))),
        OutputColumn("y", tuple(range(11))),
        OutputColumn("w", (0.5, 1.0, 2.5)),
    )
)
RATIO: dict[str, Any] = {"name": "r", "kind": "ratio", "of": "x", "over": "y"}


def agrees(study: Any, check: Any, entry: dict[str, Any], wanted: Any) -> Outputs:
    codes, fields = study.codes(), study.spec().fields
    computed = recipes_of([{"name": "o0", **entry}], fields).computed(codes)
    numbers = computed.outputs[0].to_dict()
    assert np.ravel(numbers.get("values", numbers.get("value"))) == pytest.approx(
        np.ravel(wanted), rel=1e-9
    )
    published = Outputs(fields, computed.outputs, len(codes))
    assert check(published, codes) == []
    assert check(published, study.shuffled(entry["of"])) == ["o0"]
    assert all(one.within for one in compare_numbers(published, codes))
    assert contradictions(published) == []
    return published


def test_ratios_of_two_totals(cmc: Any, check: Any, slopes_hold: Any) -> None:
    sums = cmc.frame.groupby("media_exposure", observed=True)[
        ["num_children", "wife_age", "standard_of_living"]
    ].sum()
    by = {"of": "num_children", "over": "wife_age", "by": ["media_exposure"]}
    published = agrees(
        cmc, check, {"kind": "ratio", **by}, (sums["num_children"] / sums["wife_age"]).tolist()
    )
    (system,) = published.problem().outputs
    slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))
    weighted = (
        cmc.frame.assign(
            a=cmc.frame["num_children"] * cmc.frame["standard_of_living"],
            b=cmc.frame["wife_age"] * cmc.frame["standard_of_living"],
        )
        .groupby("media_exposure", observed=True)[["a", "b"]]
        .sum()
    )
    agrees(
        cmc,
        check,
        {"kind": "ratio", **by, "weight": "standard_of_living"},
        (weighted["a"] / weighted["b"]).tolist(),
    )


def test_weighted_means_are_numpys(cmc: Any, check: Any) -> None:
    wanted = np.average(cmc.frame["wife_age"], weights=cmc.frame["standard_of_living"])
    agrees(
        cmc,
        check,
        {"kind": "weighted-mean", "of": "wife_age", "weight": "standard_of_living"},
        [wanted],
    )


@pytest.mark.parametrize("percentages", ["all", "rows", "columns"])
def test_shares_are_those_of_pandas(cmc: Any, check: Any, percentages: str) -> None:
    sums = cmc.frame.pivot_table(
        index="media_exposure",
        columns="contraceptive_method",
        values="num_children",
        aggfunc="sum",
        observed=True,
    )
    total = {
        "all": sums.to_numpy().sum(),
        "rows": sums.sum(axis=1).to_numpy()[:, None],
        "columns": sums.sum(axis=0).to_numpy()[None, :],
    }
    entry = {
        "kind": "shares",
        "of": "num_children",
        "by": ["media_exposure", "contraceptive_method"],
        "percentages": percentages,
    }
    agrees(cmc, check, entry, (100 * sums.to_numpy() / total[percentages]).tolist())


def test_nothing_to_divide_by() -> None:
    assert Ratios([0, 1]).undetermined(np.array([3.0, 0.0, 1.0, 2.0])).tolist() == [True, False]
    codes = np.array([[0, 3, 0, 0]] * 12, dtype=np.int32)
    with pytest.raises(InputError, match="the output has nothing to divide by"):
        recipes_of([RATIO], FIELDS).computed(codes)


def test_a_dataset_evolves_from_a_ratio(evolved: Any) -> None:
    output = {**RATIO, "by": ["g"], "values": ["6.25", "12.50"]}
    columns = Outputs(FIELDS, ()).to_dict()["columns"]
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": 80,
            "columns": columns,
            "outputs": [output],
        }
    )
    copy = evolved(spec, proposals=200_000)
    for k, ratio in enumerate((6.25, 12.5)):
        rows = copy.codes[copy.codes[:, 0] == k]
        assert rows[:, 1].sum() / rows[:, 2].sum() == pytest.approx(ratio, abs=0.0051)


def test_rules_above_and_below_the_line() -> None:
    even = [[0, 50, 5, 1]] * 30 + [[1, 40, 5, 1]] * 30
    assert (
        check_entries(
            [RATIO],
            FIELDS,
            np.array([[k % 2, 40 + k % 9, 3 + k % 5, 1] for k in range(60)], dtype=np.int32),
            Policy(),
        ).worst
        == "pass"
    )
    # One person makes up the sum below the line.
    codes = np.array([[0, 50, 0, 1]] * 30 + [[0, 50, 10, 1]], dtype=np.int32)
    found = {one.rule: one.status for one in check_entries([RATIO], FIELDS, codes, Policy())}
    assert (found["n-k dominance"], found["p-ratio"]) == ("fail", "fail")
    small = np.array([*even, *[[1, 1, 1, 1]] * 0][:33], dtype=np.int32)
    by = {**RATIO, "by": ["g"]}
    assert {
        one.rule: (one.status, one.where) for one in check_entries([by], FIELDS, small, Policy())
    }["threshold"] == ("fail", ("b",))
    # Weights that one person has are seen, too.
    weights = np.array([[0, 1, 5, 0]] * 12 + [[0, 100, 5, 2]] * 2, dtype=np.int32)
    entry = {"name": "m", "kind": "weighted-mean", "of": "x", "weight": "w"}
    assert {one.rule: one.status for one in check_entries([entry], FIELDS, weights, Policy())}[
        "n-k dominance"
    ] == "fail"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"over": None}, "must name the column below the line"),
        ({"kind": "weighted-mean", "over": None}, "must name the column of weights"),
        ({"over": "x"}, "must name different columns"),
        ({"over": "g"}, "has words as levels"),
    ],
)
def test_what_is_not_said_is_asked_for(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes_of(
            [{key: value for key, value in {**RATIO, **entry}.items() if value is not None}], FIELDS
        )


def test_too_many_combinations_are_for_rules_only() -> None:
    wide = OutputDomain(
        (OutputColumn("x", tuple(range(2100))), OutputColumn("w", tuple(range(2100))))
    )
    entry = {"name": "m", "kind": "weighted-mean", "of": "x", "weight": "w"}
    assert "over 4000000 combinations" in recipes_of([entry], wide).rules_only["m"]


def test_a_mean_outside_its_column_is_a_contradiction() -> None:
    columns = Outputs(FIELDS, ()).to_dict()["columns"]
    output = {"name": "m", "kind": "weighted-mean", "of": "x", "weight": "w", "value": 101.5}
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": 9,
            "columns": columns,
            "outputs": [output],
        }
    )
    assert "a mean lies outside the values of column 'x'" in str(contradictions(spec)[0])


BY = ["media_exposure", "contraceptive_method"]
SURVEY_FIELDS = OutputDomain((OutputColumn("g", ("a", "b")), OutputColumn("w", (0.5, 1.0, 40.0))))
ENTRY: dict[str, Any] = {"name": "t", "kind": "weighted-table", "by": ["g"], "weight": "w"}


def test_sums_of_weights_are_those_of_pandas(cmc: Any, agrees: Any, check: Any) -> None:
    frame, weight = cmc.frame, cmc.frame["standard_of_living"]
    weighted = pd.crosstab(frame[BY[0]], frame[BY[1]], values=weight, aggfunc="sum")
    counts = pd.crosstab(frame[BY[0]], frame[BY[1]])
    wanted = {"values": weighted.to_numpy().tolist(), "counts": counts.to_numpy().tolist()}
    computed = agrees(
        cmc, {"kind": "weighted-table", "by": BY, "weight": "standard_of_living"}, wanted
    )
    assert set(check(computed, cmc.shuffled("standard_of_living"))) == {"o0: values"}
    shares = 100 * weighted.div(weighted.sum(axis=1), axis=0)
    entry = {
        "kind": "weighted-table",
        "by": BY,
        "weight": "standard_of_living",
        "percentages": "rows",
    }
    agrees(cmc, entry, {"values": shares.to_numpy().tolist()})


@pytest.mark.parametrize("more", [{}, {"percentages": "all"}, {"counts": True, "values": True}])
def test_a_large_weight_hides_no_small_cell(more: dict[str, Any]) -> None:
    """Three records of weight 40 stand for 120 people: the cell is one of three."""
    codes = np.array([[0, 1]] * 90 + [[1, 2]] * 3, dtype=np.int32)
    report = check_entries([{**ENTRY, **more}], SURVEY_FIELDS, codes, Policy(weight="w"))
    found = {one.rule: (one.status, one.where) for one in report}
    assert found["threshold"] == ("fail", ("b",))
    assert "weighted counts" not in found
    # One weight that makes up a cell of many: who has it is known to within the others.
    codes = np.array([[0, 1]] * 90 + [[1, 0]] * 12 + [[1, 2]] * 2, dtype=np.int32)
    assert {
        one.rule: one.where
        for one in check_entries([{**ENTRY, **more}], SURVEY_FIELDS, codes, Policy())
    }["n-k dominance"] == ("b",)


def test_a_plain_table_of_weighted_counts_is_still_noticed() -> None:
    codes = np.array([[0, 1]] * 90 + [[1, 2]] * 30, dtype=np.int32)
    table = {"name": "t", "kind": "table", "by": ["g"], "counts": [90, 1200]}
    assert {one.rule: one.status for one in check_entries([table], SURVEY_FIELDS, codes, Policy())}[
        "weighted counts"
    ] == "not assessed"
