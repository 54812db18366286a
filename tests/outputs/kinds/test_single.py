"""Single numbers of outputs: derivatives by hand, p-values as normal statistics, and numbers of other kinds as parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.formulas import (
    Derived,
    Formulas,
    GroupFormulas,
    at_least,
    scale_interval,
    scale_number,
)
from chaffinch.outputs.kinds.single import once
from chaffinch.outputs.numbers import Interval
from chaffinch.outputs.rules import Policy, check_entries
from chaffinch.outputs.rules.findings import finding


class Ratio(Formulas):
    """a / b, and its square, which follows."""

    def formulas(self, sums: Any) -> Mapping[str, Any]:
        return {"ratio": sums[..., 0] / at_least(sums[..., 1], 1.0)}

    def derive(self, numbers: Mapping[str, float]) -> Mapping[str, Derived]:
        return {"square": Derived(numbers["ratio"] ** 2, {"ratio": 2.0 * numbers["ratio"]})}


class Differences(GroupFormulas):
    """The square of the first of two sums of each group, less the second."""

    def formula(self, sums: Any) -> Any:
        return sums[..., 0] ** 2 - sums[..., 1]

    def is_undefined(self, sums: Any) -> Any:
        return sums[:, 1] < 0.0


def test_numbers_of_groups_change_with_their_own_sums_alone() -> None:
    reading, sums = Differences([0, 2], 2), np.array([3.0, 1.0, 5.0, 5.0, 2.0, -4.0])
    values, slope = reading(sums)
    assert values.tolist() == [8.0, 8.0]
    assert slope.tolist() == [[6.0, -1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 4.0, -1.0]]
    assert reading.undetermined(sums).tolist() == [False, True]


def test_a_derived_number_changes_as_its_function_does() -> None:
    made = Derived.from_function(lambda z, dof: float(norm.sf(z)) * dof, z=1.5, dof=2.0)
    assert made.value == pytest.approx(2.0 * norm.sf(1.5))
    assert made.slopes["z"] == pytest.approx(-2.0 * norm.pdf(1.5), rel=1e-6)
    assert made.slopes["dof"] == pytest.approx(norm.sf(1.5), rel=1e-6)


def test_derivatives_by_hand() -> None:
    values, slope = Ratio(("square", "ratio"), {})(np.array([6.0, 3.0]))
    assert values.tolist() == [4.0, 2.0]
    assert slope == pytest.approx(
        np.array([[4.0 / 3.0, -8.0 / 3.0], [1.0 / 3.0, -2.0 / 3.0]]), abs=1e-14
    )
    assert not Ratio(("ratio",), {}).undetermined(np.zeros(2)).any()


@given(st.floats(1e-12, 1.0))
def test_a_p_value_becomes_the_size_of_a_normal_statistic(p: float) -> None:
    z, slope = scale_number("p_value", p)
    assert 2.0 * norm.sf(z) == pytest.approx(p, rel=1e-9)
    h = 1e-6 * p
    assert slope == pytest.approx(
        (scale_number("p_value", p + min(h, 1 - p))[0] - scale_number("p_value", p - h)[0])
        / (h + min(h, 1 - p)),
        rel=2e-3,
    )


def test_intervals_keep_their_order() -> None:
    low, high = scale_interval("p_value", Interval(0.0, 0.001))
    assert high > 37.0
    assert low == pytest.approx(3.2905, abs=1e-4)
    assert scale_interval("odds_ratio", Interval(0.5, 2.0)) == pytest.approx(
        (-np.log(2), np.log(2))
    )
    assert scale_interval("statistic", Interval(1.0, 2.0)) == (1.0, 2.0)


FIELDS = OutputDomain((OutputColumn("g", ("a", "b", "c")), OutputColumn("x", tuple(range(6)))))
CODES = np.array(
    [[0, k % 6] for k in range(24)]
    + [[1, k % 5] for k in range(30)]
    + [[2, k % 3] for k in range(4)],
    dtype=np.int32,
)
ENTRY: dict[str, Any] = {"name": "a", "kind": "anova", "of": "x", "by": ["g"]}


def test_a_recipe_publishes_what_it_says_and_else_the_usual() -> None:
    frame = FIELDS.with_rows(58)
    (usual, means) = recipes_of([ENTRY, {**ENTRY, "name": "b", "means": True}], FIELDS).outputs
    assert set(usual.announcements(frame)) == {"statistic", "dof_between", "dof_within", "p_value"}
    assert set(means.announcements(frame)) == {"means"}
    assert [key for key in ("statistic", "means") if means.publishes(key)] == ["means"]
    assert list(means.computed(FIELDS, CODES).to_dict()) == [
        "name",
        "kind",
        "of",
        "by",
        "means",
    ]


def test_parts_are_printed_and_withheld_as_they_were() -> None:
    entry = {**ENTRY, "counts": [24, 30, "x"], "threshold": 10, "means": ["2.50", "2.00", "x"]}
    recipe = recipes_of([entry], FIELDS).outputs[0]
    assert recipe.computed(FIELDS, CODES).to_dict() == entry
    bare = recipe.without_numbers(FIELDS.with_rows(58))
    assert bare.to_dict()["digits"] == {"means": "0.00"}
    assert bare.computed(FIELDS, CODES).to_dict() == entry
    by_name = {**ENTRY, "means": ["2.5", "x", "0.8"]}
    assert recipes_of([by_name], FIELDS).outputs[0].computed(FIELDS, CODES).to_dict()["means"] == [
        "2.5",
        "x",
        "0.8",
    ]


def test_the_same_cells_are_tallied_once_with_all_that_is_published_of_them() -> None:
    entry = {**ENTRY, "counts": True, "means": True, "sds": True}
    report = check_entries([entry], FIELDS, CODES, Policy())
    assert [one.rule for one in report].count("threshold") == 1
    (small,) = [one for one in report if one.rule == "threshold"]
    assert (small.status, small.where) == ("fail", ("c",))
    # A mean of the same column elsewhere is compared with those of the part.
    other = {"name": "m", "kind": "mean", "of": "x", "where": "g == 'a' and x < 5"}
    between = [
        one for one in check_entries([entry, other], FIELDS, CODES, Policy()) if one.other == "m"
    ]
    assert [(one.rule, one.status) for one in between] == [("differencing", "fail")]


def test_what_is_said_twice_is_said_once() -> None:
    one = finding("a", "anova", "threshold", ["c"], total=3, sentence="few")
    passes = finding("a", "anova", "threshold", [], total=3, clear_sentence="good", sentence="")
    other = finding("a", "anova", "zeros", [], total=3, clear_sentence="good", sentence="")
    assert once([passes, one, one, other]) == [one, other]


def test_equations_of_parts_have_names_of_their_own() -> None:
    computed = recipes_of(
        [{**ENTRY, "counts": True, "means": True, "statistic": True}], FIELDS
    ).computed(CODES)
    names = [one.name for one in computed.problem(len(CODES)).outputs]
    assert names == ["a: statistic", "a: counts", "a: means"]
    assert computed.source("a: means", len(CODES)).name == "a"
    assert pytest.approx(computed.outputs[0].to_dict()["means"]) == [2.5, 2.0, 0.75]
