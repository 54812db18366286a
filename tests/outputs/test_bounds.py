"""Bounds of moments and correlations against every dataset of a few values: none lies beyond them, and some reach them."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.bounds import SLACK, least_variance, most_variance
from chaffinch.outputs.cells import Frame
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs

VALUES = (0, 2, 3, 7)


def spec_of(*outputs: dict[str, Any], rows: int = 100, values: tuple[int, ...] = VALUES) -> Outputs:
    columns = [{"name": "x", "levels": list(values)}, {"name": "g", "levels": ["a", "b"]}]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": rows, "columns": columns}
    return Outputs.from_dict(
        {**head, "outputs": [{"name": f"o{k}", **one} for k, one in enumerate(outputs)]}
    )


def every(n: int) -> np.ndarray:
    return np.array(list(combinations_with_replacement(VALUES, n)), dtype=float)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_largest_and_the_least_spread_are_those_of_all_datasets(n: int, ddof: int) -> None:
    variances = every(n).var(axis=1, ddof=ddof)
    assert np.isclose(variances.max(), most_variance(7.0, n, ddof=ddof, most=n))
    assert np.isclose(variances[variances > 1e-12].min(), least_variance(1.0, n, ddof=ddof))
    up_to = [every(k).var(axis=1, ddof=ddof).max() for k in range(ddof + 1, n + 1)]
    assert np.isclose(max(up_to), most_variance(7.0, None, ddof=ddof, most=n))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("centre", ["mean", "sum"])
def test_a_mean_and_a_spread_contradict_only_if_no_dataset_has_both(n: int, centre: str) -> None:
    data = every(n)
    middles = data.mean(axis=1) if centre == "mean" else data.sum(axis=1)
    for middle in np.unique(middles):
        at_most = data[np.isclose(middles, middle)].std(axis=1, ddof=1).max()
        ends = np.sqrt(
            (middle / (1 if centre == "mean" else n))
            * (7 - middle / (1 if centre == "mean" else n))
            * n
            / (n - 1)
        )
        for sd, possible in ((at_most, True), (ends + 0.01, False)):
            spec = spec_of(
                {"kind": centre, "of": "x", "value": float(middle)},
                {"kind": "sd", "of": "x", "value": float(sd)},
                rows=n,
            )
            reason = spec.outputs[0].pair_contradiction(spec.outputs[1], Frame(spec.fields, n))
            assert (reason is None) == possible
            if possible:
                assert contradictions(spec) == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 30))
def test_what_records_have_is_within_all_bounds(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, g = rng.choice(VALUES, n), rng.integers(0, 2, n)
    g[:4] = (0, 0, 1, 1)
    old = x >= 2
    outputs = [
        {"kind": kind, "of": "x", "ddof": ddof, "value": float(x.std(ddof=ddof) ** power)}
        for kind, power in (("sd", 1), ("variance", 2))
        for ddof in (0, 1)
    ]
    outputs += [
        {"kind": "mean", "of": "x", "value": float(x.mean())},
        {"kind": "sum", "of": "x", "value": int(x.sum())},
    ]
    outputs += [
        {
            "kind": "mean",
            "of": "x",
            "by": ["g"],
            "values": [float(x[g == k].mean()) for k in (0, 1)],
        },
        {
            "kind": "sd",
            "of": "x",
            "by": ["g"],
            "values": [float(x[g == k].std(ddof=1)) for k in (0, 1)],
        },
    ]
    if old.sum() > 1:
        some = {"of": "x", "where": "x >= 2"}
        outputs += [
            {"kind": "sd", **some, "value": float(x[old].std(ddof=1))},
            {"kind": "mean", **some, "value": float(x[old].mean())},
        ]
        outputs += [{"kind": "sum", **some, "value": int(x[old].sum())}]
    assert contradictions(spec_of(*outputs, rows=n)) == []


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (
            [{"kind": "sd", "of": "x", "value": 15}],
            "a standard deviation is above 10.0504, the largest that values on the range of column 'x'",
        ),
        ([{"kind": "sd", "of": "x", "value": 10.06, "ddof": 1}], "above 10.0504"),
        ([{"kind": "sd", "of": "x", "value": 10.01, "ddof": 0}], "above 10,"),
        ([{"kind": "variance", "of": "x", "value": "102"}], "a variance is above 101.01"),
        ([{"kind": "sd", "of": "x", "by": ["g"], "values": [3, 14.2]}], "above 14.1421"),
        ([{"kind": "sd", "of": "x", "value": 5.1, "ddof": 0, "where": "x >= 10"}], "above 5,"),
        ([{"kind": "sd", "of": "x", "value": 0.05}], "above 0 and below 0.1, the smallest"),
        ([{"kind": "sum", "of": "x", "value": 2001}], "a sum lies outside"),
        ([{"kind": "sum", "of": "x", "value": -1, "where": "x >= 10"}], "a sum lies outside"),
        (
            [{"kind": "mean", "of": "x", "value": 1}, {"kind": "sd", "of": "x", "value": 5}],
            "with that mean, the standard deviation is above 4.38086",
        ),
        (
            [
                {"kind": "variance", "of": "x", "value": 30},
                {"kind": "sum", "of": "x", "value": 100},
            ],
            "with that sum, the variance is above 19.1919",
        ),
    ],
)
def test_spreads_beyond_the_range(outputs: list[dict[str, Any]], reason: str) -> None:
    found = contradictions(spec_of(*outputs, values=tuple(range(21))))
    assert [each.outputs for each in found] == [tuple(f"o{k}" for k in range(len(outputs)))]
    assert reason in str(found[0])


def test_a_mean_of_other_records_says_nothing_of_a_spread() -> None:
    some = [
        {"kind": "mean", "of": "x", "value": 1, "where": "g == 'a'"},
        {"kind": "sd", "of": "x", "value": 5},
    ]
    assert contradictions(spec_of(*some, values=tuple(range(21)))) == []


def test_a_bound_from_which_a_small_n_follows_is_not_shown() -> None:
    (found,) = contradictions(spec_of({"kind": "sd", "of": "x", "value": 15}, rows=4))
    assert "above the largest" in str(found)
    assert not any(letter.isdigit() for letter in str(found).replace("'o0'", ""))


@settings(max_examples=200, deadline=None)
@given(st.tuples(*[st.floats(-0.99, 0.99)] * 3))
def test_three_correlations_hold_together_if_their_matrix_has_no_negative_eigenvalue(
    r: tuple[float, float, float],
) -> None:
    a, b, c = r
    matrix = [[1.0, a, b], [a, 1.0, c], [b, c, 1.0]]
    columns = [{"name": name, "from": 0, "to": 9} for name in "xyz"]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": 50, "columns": columns}
    spec = Outputs.from_dict(
        {
            **head,
            "outputs": [
                {"name": "r", "kind": "correlation", "of": ["x", "y", "z"], "values": matrix}
            ],
        }
    )
    least = np.linalg.eigvalsh(np.array(matrix)).min()
    reason = spec.outputs[0].contradiction(Frame(spec.fields, 50))
    if least > 10 * SLACK:
        assert reason is None
    elif least < -10 * SLACK:
        assert reason is not None


def test_a_column_with_one_value_has_no_correlation() -> None:
    columns = [{"name": "x", "from": 0, "to": 9}, {"name": "y", "from": 0, "to": 9}]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": 50, "columns": columns}
    one = {"name": "r", "kind": "correlation", "of": ["x", "y"], "value": 0.5, "where": "y == 3"}
    assert "column 'y' has one value only" in str(
        contradictions(Outputs.from_dict({**head, "outputs": [one]}))[0]
    )
