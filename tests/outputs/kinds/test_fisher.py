"""Fisher's exact test: R's numbers, all tables of the same margins added up, scipy on any table; what a search sees of it; rules."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.fisher import FisherExact
from chaffinch.outputs.kinds.formulas import scale_number
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain((OutputColumn("A", ("a", "b")), OutputColumn("B", ("x", "y"))))
TEST: dict[str, Any] = {"name": "f", "kind": "fisher", "by": ["A", "B"]}
HEAD = {
    "format": "chaffinch-outputs",
    "version": 1,
    "rows": 90,
    "columns": [{"name": "A", "levels": ["a", "b"]}, {"name": "B", "levels": ["x", "y"]}],
}


def records(table: Any) -> Any:
    return np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], np.ravel(table), axis=0).astype(np.int32)


# R finds its odds ratio to four digits only (`uniroot` with its own tolerance): 2.32237, where the equation's root is 2.32233.
# R 4.2.2: fisher.test(table(d$wife_religion, d$media_exposure)); the same with alternative="greater"
@pytest.mark.parametrize(
    ("alternative", "p_value"), [("two-sided", 0.017532446417), ("greater", 0.0104238937478)]
)
def test_numbers_are_those_of_r(cmc: Any, agrees: Any, alternative: str, p_value: float) -> None:
    entry = {
        "kind": "fisher",
        "by": ["wife_religion", "media_exposure"],
        "conditional": True,
        "alternative": alternative,
    }
    agrees(
        cmc,
        entry,
        {"p_value": p_value, "odds_ratio": 2.3223747704529, "counts": [[212, 8], [1152, 101]]},
        rel=3e-5,
    )


@given(
    st.lists(st.integers(0, 12), min_size=4, max_size=4),
    st.sampled_from(["two-sided", "less", "greater"]),
)
@settings(deadline=None, max_examples=60)
def test_all_tables_with_the_same_margins(counts: list[int], alternative: Any) -> None:
    a, b, c, d = counts
    row, column, n = a + b, a + c, sum(counts)
    if 0 in (row, column, n - row, n - column):
        return
    chances = {
        k: comb(row, k) * comb(n - row, column - k) / comb(n, column)
        for k in range(max(0, row + column - n), min(row, column) + 1)
    }
    near = [
        chance
        for k, chance in chances.items()
        if {
            "two-sided": chance <= chances[a] * (1 + 1e-9),
            "less": k <= a,
            "greater": k >= a,
        }[alternative]
    ]
    test = FisherExact(("p_value",), {}, alternative, conditional=False)
    assert test.p_value(np.array([[a, b], [c, d]], dtype=float)) == pytest.approx(
        sum(near), abs=1e-9
    )
    assert fisher_exact([[a, b], [c, d]], alternative=alternative).pvalue == pytest.approx(
        sum(near), abs=1e-9
    )
    computed = recipes_of([{**TEST, "alternative": alternative}], FIELDS).computed(records(counts))
    (system,) = computed.problem(max(n, 1)).outputs
    value = system.reported(system.contributions(records(counts)).sum(axis=0))[0]  # type: ignore[union-attr,operator]
    assert value == pytest.approx([scale_number("p_value", sum(near))[0]], abs=1e-5)


def test_what_a_search_sees_points_the_right_way() -> None:
    exact = FisherExact(
        ("p_value", "odds_ratio"), {"odds_ratio": 3.0}, "two-sided", conditional=False
    )
    value, slope = exact(np.array([30.0, 10.0, 12.0, 25.0]))
    assert value[1] == pytest.approx(np.log(30 * 25 / 120))
    assert (np.sign(slope) == [[1, -1, -1, 1]] * 2).all()
    assert slope[1] == pytest.approx([1 / 30, -1 / 10, -1 / 12, 1 / 25], rel=0.02)
    # On the other side of 1 the p-value's quantile is below 0, and still rises towards the right side.
    value, slope = exact(np.array([10.0, 30.0, 25.0, 12.0]))
    assert value[0] < 0
    assert (np.sign(slope[0]) == [1, -1, -1, 1]).all()
    assert exact.undetermined(np.array([3.0, 0.0, 5.0, 0.0])).tolist() == [True, True]
    assert exact.undetermined(np.array([3.0, 0.0, 5.0, 6.0])).tolist() == [False, True]


def test_a_dataset_evolves_from_a_test_and_margins(evolved: Any) -> None:
    exact = FisherExact((), {}, "two-sided", conditional=True)
    published = np.array([[24.0, 16.0], [15.0, 35.0]])
    p_value, odds_ratio = exact.p_value(published), exact.odds_ratio(published)
    outputs = [
        {
            **TEST,
            "p_value": f"{p_value:.4f}",
            "odds_ratio": f"{odds_ratio:.2f}",
            "conditional": True,
        },
        {"name": "a", "kind": "table", "by": ["A"], "counts": [40, 50]},
    ]
    copy = evolved(Outputs.from_dict({**HEAD, "outputs": outputs}), proposals=200_000)
    table = np.zeros((2, 2), dtype=int)
    np.add.at(table, (copy.codes[:, 0], copy.codes[:, 1]), 1)
    assert fisher_exact(table).pvalue == pytest.approx(p_value, abs=1.1e-4)


def test_rules_on_the_cells_behind_it() -> None:
    report = check_entries([TEST], FIELDS, records([20, 30, 3, 40]), Policy())
    assert {one.rule: (one.status, one.where) for one in report}["threshold"] == ("fail", ("b|x",))
    report = check_entries([{**TEST, "counts": True}], FIELDS, records([20, 30, 0, 40]), Policy())
    assert {one.rule: one.status for one in report}["zeros"] == "fail"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"odds_ratio": 2.0}, "must say which odds ratio it has"),
        ({"by": ["A", "C"], "p_value": 0.1}, "must be of a table of two by two"),
    ],
)
def test_what_is_not_said_is_asked_for(entry: dict[str, Any], message: str) -> None:
    fields = OutputDomain((*FIELDS.columns, OutputColumn("C", ("p", "q", "r"))))
    with pytest.raises(InputError, match=message):
        recipes_of([{**TEST, **entry}], fields)


def test_what_no_table_has_is_a_contradiction() -> None:
    spec = Outputs.from_dict({**HEAD, "outputs": [{**TEST, "p_value": 1.5}]})
    assert "does not lie between 0 and 1" in str(contradictions(spec)[0])
    with pytest.raises(InputError, match="a row, a column or a cell of its table"):
        recipes_of([TEST], FIELDS).computed(records([5, 0, 6, 0]))
