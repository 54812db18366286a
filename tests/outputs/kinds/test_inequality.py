"""Gini coefficients and Lorenz curves: R's numbers, all pairs one by one, the records added up; derivatives; people between points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain((OutputColumn("g", ("a", "b")), OutputColumn("x", tuple(range(30)))))
GINI: dict[str, Any] = {"name": "i", "kind": "gini", "of": "x"}
LORENZ: dict[str, Any] = {"name": "l", "kind": "lorenz", "of": "x", "at": [0.2, 0.5, 0.9]}


# R 4.2.2: z <- sort(x); n <- length(z); sum((2 * seq_len(n) - n - 1) * z) / (n * sum(z)), of all and of x[m == 1]
def test_numbers_are_those_of_r(cmc: Any, check: Any, slopes_hold: Any) -> None:
    for more, wanted in (
        ({}, 0.389102936962),
        ({"where": "media_exposure == 'poor'"}, 0.345469582444),
    ):
        entry = {"name": "o0", "kind": "gini", "of": "num_children", **more}
        computed = recipes_of([entry], cmc.spec().fields).computed(cmc.codes())
        assert computed.outputs[0].to_dict()["value"] == pytest.approx(wanted, abs=1e-11)
        published = Outputs(computed.fields, computed.outputs, 1473)
        assert check(published, cmc.codes()) == []
        (system,) = published.problem().outputs
        slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))
    curve = recipes_of([{**LORENZ, "of": "num_children"}], cmc.spec().fields).computed(cmc.codes())
    (system,) = curve.problem(1473).outputs
    # One record more of each value: fewer than none of a value is where the curve has no derivative.
    slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0) + 1.0)
    assert check(Outputs(curve.fields, curve.outputs, 1473), cmc.codes()) == []


@given(st.lists(st.integers(0, 29), min_size=1, max_size=25), st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=60)
def test_pairs_and_shares_one_by_one(numbers: list[int], p: float) -> None:
    codes = np.array([[0, x] for x in numbers], dtype=np.int32)
    recipes = recipes_of([GINI, {**LORENZ, "at": [p]}], FIELDS)
    if not sum(numbers):
        with pytest.raises(InputError, match="nothing to share"):
            recipes.computed(codes)
        return
    x, n = np.sort(np.array(numbers, dtype=float)), len(numbers)
    computed = recipes.computed(codes)
    gini, curve = (one.to_dict() for one in computed.outputs)
    assert gini["value"] == pytest.approx(
        np.abs(x[:, None] - x).sum() / (2 * n * n * x.mean()), abs=1e-9
    )
    whole = int(p * n)
    held = x[:whole].sum() + (p * n - whole) * (x[whole] if whole < n else 0.0)
    assert curve["values"] == pytest.approx([held / x.sum()], abs=1e-9)
    assert all(one.within for one in compare_numbers(computed, codes))
    for system in computed.problem(n).outputs:
        value = system.reported(system.contributions(codes).sum(axis=0))[0]  # type: ignore[union-attr,operator]
        assert value == pytest.approx(0.5 * (system.lo + system.hi), abs=1e-9)


def test_a_dataset_evolves_from_a_coefficient_and_a_curve(evolved: Any) -> None:
    rng = np.random.default_rng(5)
    codes = np.column_stack(
        [rng.integers(0, 2, 100), np.clip(rng.exponential(6, 100), 0, 29)]
    ).astype(np.int32)
    entries = [
        {**GINI, "by": ["g"], "digits": {"values": 3}},
        {**LORENZ, "digits": {"values": 3}},
        {"name": "t", "kind": "table", "by": ["g"]},
    ]
    published = recipes_of(entries, FIELDS).computed(codes)
    evolved(published, proposals=400_000)


def test_rules_on_groups_and_between_points() -> None:
    codes = np.array([[0, 1 + k % 20] for k in range(60)] + [[1, 3]] * 4, dtype=np.int32)
    found = {
        one.rule: (one.status, one.where)
        for one in check_entries([{**GINI, "by": ["g"]}], FIELDS, codes, Policy())
    }
    assert found["threshold"] == ("fail", ("b",))
    report = check_entries([LORENZ], FIELDS, codes, Policy())
    assert {one.rule: (one.status, one.where) for one in report}["threshold"] == (
        "fail",
        ("0.9 to 1",),
    )
    assert {one.statbarn for one in report} == {"GiniCoefficient"}
    assert (
        check_entries([{**LORENZ, "at": [0.2, 0.5, 0.8]}], FIELDS, codes[:60], Policy()).worst
        == "pass"
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**LORENZ, "values": [0.3, 0.4, 0.8]}, "above the diagonal"),
        ({**LORENZ, "values": [0.1, 0.05, 0.8]}, "its curve falls"),
        ({**GINI, "value": 1.2}, "does not lie between 0 and 1"),
    ],
)
def test_what_no_records_have_is_a_contradiction(entry: dict[str, Any], message: str) -> None:
    columns = Outputs(FIELDS, ()).to_dict()["columns"]
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": 50,
            "columns": columns,
            "outputs": [entry],
        }
    )
    assert message in str(contradictions(spec)[0])


def test_points_must_rise_and_values_be_few() -> None:
    with pytest.raises(InputError, match="must rise"):
        recipes_of([{**LORENZ, "at": [0.5, 0.2]}], FIELDS)
    with pytest.raises(InputError, match="must have 3 values"):
        recipes_of([{**LORENZ, "values": [0.1]}], FIELDS).problem(10)
    wide = OutputDomain((OutputColumn("x", tuple(range(2000))),))
    assert "more values than the 1,200" in recipes_of([GINI, LORENZ], wide).rules_only["i"]
