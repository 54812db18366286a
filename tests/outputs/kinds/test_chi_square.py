"""Chi-square tests: scipy's, on any records; derivatives; datasets evolved from a statistic; the rules on the cells behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.chi_square import ChiSquare
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain(
    (
        OutputColumn("A", ("a", "b", "c")),
        OutputColumn("B", ("x", "y")),
        OutputColumn("AGE", tuple(range(5))),
    )
)
TEST: dict[str, Any] = {
    "name": "t",
    "kind": "chi-square",
    "by": ["A", "B"],
    "dof": True,
    "p_value": True,
    "cramers_v": True,
}
HEAD = {"format": "chaffinch-outputs", "version": 1}
COLUMNS = [
    {"name": "A", "levels": ["a", "b", "c"]},
    {"name": "B", "levels": ["x", "y"]},
    {"name": "AGE", "from": 0, "to": 4},
]


def records(table: Any) -> Any:
    cells = np.indices(np.shape(table)).reshape(2, -1).T
    codes = np.repeat(cells, np.ravel(table), axis=0)
    return np.column_stack([codes, np.arange(len(codes)) % 5]).astype(np.int32)


@given(st.lists(st.integers(0, 30), min_size=6, max_size=6))
@settings(deadline=None)
def test_numbers_are_those_of_scipy(counts: list[int]) -> None:
    table = np.array(counts).reshape(3, 2)
    codes = records(table)
    full = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    recipe = recipes_of([TEST], FIELDS)
    if min(full.shape) < 2:
        with pytest.raises(InputError, match="all its records are in one row or column"):
            recipe.computed(codes)
        return
    statistic, p_value, dof, _ = chi2_contingency(full, correction=False)
    computed = recipe.computed(codes)
    numbers = computed.outputs[0].to_dict()
    assert numbers["statistic"] == pytest.approx(statistic, abs=1e-9)
    assert numbers["p_value"] == pytest.approx(p_value, abs=1e-12)
    assert numbers["dof"] == dof
    assert numbers["cramers_v"] == pytest.approx(
        np.sqrt(statistic / (table.sum() * (min(full.shape) - 1))), abs=1e-9
    )
    assert all(one.within for one in compare_numbers(computed, codes))
    systems = {one.name: one for one in computed.problem().outputs}
    assert list(systems) == ["t: statistic", "t: p_value", "t: cramers_v"]
    for system in systems.values():
        value = system.reported(system.contributions(codes).sum(axis=0))[0]  # type: ignore[union-attr,operator]
        assert value == pytest.approx(0.5 * (system.lo + system.hi), abs=1e-6)
    assert systems["t: statistic"].lo == pytest.approx([statistic], abs=1e-6)
    assert contradictions(computed) == []


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
@settings(deadline=None, max_examples=60)
def test_yates_correction_is_that_of_scipy(counts: list[int]) -> None:
    table = np.array(counts).reshape(2, 2)
    if 0 in (*table.sum(axis=0), *table.sum(axis=1)):
        return
    fields = OutputDomain(
        (
            OutputColumn("A", ("a", "b")),
            OutputColumn("B", ("x", "y")),
            OutputColumn("AGE", tuple(range(5))),
        )
    )
    computed = recipes_of([{**TEST, "correction": True, "counts": True}], fields).computed(
        records(table)
    )
    statistic, p_value, _, _ = chi2_contingency(table, correction=True)
    numbers = computed.outputs[0].to_dict()
    assert (numbers["statistic"], numbers["p_value"]) == pytest.approx(
        (statistic, p_value), abs=1e-9
    )
    assert numbers["counts"] == table.tolist()
    value = ChiSquare((2, 2), correction=True)(table.ravel().astype(float))[0]
    assert value == pytest.approx([statistic], abs=1e-6)
    assert all(one.within for one in compare_numbers(computed, records(table)))


def test_the_correction_is_for_tables_of_two_by_two() -> None:
    with pytest.raises(InputError, match="for tables of two by two"):
        recipes_of([{**TEST, "correction": True}], FIELDS)


def test_derivatives(slopes_hold: Any) -> None:
    counts, every = (
        np.array([12.0, 3.0, 40.0, 9.0, 7.0, 21.0]),
        ("statistic", "p_value", "cramers_v"),
    )
    slopes_hold(ChiSquare((3, 2), every), counts)
    slopes_hold(ChiSquare((2, 2), every, correction=True), counts[:4])
    assert ChiSquare((2, 2)).undetermined(np.array([3.0, 0.0, 5.0, 0.0])).tolist() == [True]


def test_a_dataset_evolves_from_a_statistic_and_margins(evolved: Any) -> None:
    statistic = chi2_contingency([[35, 5], [10, 20], [15, 15]], correction=False)[0]
    outputs = [
        {
            "name": "t",
            "kind": "chi-square",
            "by": ["A", "B"],
            "statistic": f"{statistic:.0f}",
            "p_value": "<0.001",
            "dof": 2,
        },
        {"name": "a", "kind": "table", "by": ["A"], "counts": [40, 30, 30]},
        {"name": "b", "kind": "table", "by": ["B"], "counts": [60, 40]},
    ]
    spec = Outputs.from_dict({**HEAD, "rows": 100, "columns": COLUMNS, "outputs": outputs})
    copy = evolved(spec, proposals=200_000)
    table = np.zeros((3, 2), dtype=int)
    np.add.at(table, (copy.codes[:, 0], copy.codes[:, 1]), 1)
    assert chi2_contingency(table, correction=False)[0] == pytest.approx(statistic, abs=1.0)


def test_rules_on_the_cells_behind_it() -> None:
    def rules(table: Any, **policy: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
        report = check_entries([TEST], FIELDS, records(table), Policy(**policy))
        assert {one.statbarn for one in report} == {"StatisticalHypothesisTests"}
        return {one.rule: (one.status, one.where) for one in report}

    small = rules([[20, 30], [3, 40], [15, 15]])
    assert small["threshold"] == ("fail", ("b|x",))
    assert small["residual degrees of freedom"][0] == "pass"
    assert rules([[20, 30], [3, 40], [15, 15]], threshold=3)["threshold"][0] == "pass"
    assert rules([[3, 2], [3, 2], [1, 1]])["residual degrees of freedom"][0] == "fail"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"statistic": -1}, "its statistic is below 0"),
        ({"statistic": 101}, "above the largest that a table"),
    ],
)
def test_what_no_table_has_is_a_contradiction(more: dict[str, Any], message: str) -> None:
    output = {"name": "t", "kind": "chi-square", "by": ["A", "B"], **more}
    spec = Outputs.from_dict({**HEAD, "rows": 100, "columns": COLUMNS, "outputs": [output]})
    assert message in str(contradictions(spec)[0])


def test_small_p_values_are_printed_as_they_were() -> None:
    entry = {**TEST, "statistic": 30.0, "p_value": "<0.001", "dof": 2, "cramers_v": 0.5}
    recipe = recipes_of([entry], FIELDS)
    assert (
        recipe.computed(records([[35, 5], [10, 20], [15, 15]])).outputs[0].to_dict()["p_value"]
        == "<0.001"
    )
    assert (
        recipe.computed(records([[20, 20], [15, 15], [15, 16]])).outputs[0].to_dict()["p_value"]
        > 0.9
    )


def test_the_statistic_is_needed() -> None:
    entry = {"name": "t", "kind": "chi-square", "by": ["A", "B"], "p_value": 0.1}
    with pytest.raises(InputError, match="'statistic' is missing"):
        Outputs.from_dict({**HEAD, "columns": COLUMNS, "outputs": [entry]})
    with pytest.raises(InputError, match="'by' is not as it should be"):
        recipes_of([{**entry, "by": ["A"]}], FIELDS)
