"""Quantiles against numpy and pandas: the records satisfy them, and whatever satisfies them has them."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.equations import CountTable, SumSystem

WHERE = "wife_age >= 25 and media_exposure == 'good'"
POINTS = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]


@pytest.mark.parametrize("where", [None, WHERE, "wife_age >= 40 or num_children < 2"])
@pytest.mark.parametrize("known", [True, False])
def test_quantiles(cmc: Any, check: Any, where: str | None, known: bool) -> None:
    kept = cmc.frame.query(where) if where else cmc.frame
    values = np.quantile(kept["wife_age"], POINTS).tolist()
    output = {"kind": "quantiles", "of": "wife_age", "at": POINTS, "values": values}
    if where:
        output["where"] = where
        if known:
            output["n"] = len(kept)
    spec = cmc.spec(output)
    assert check(spec, cmc.codes()) == []
    older = cmc.frame.copy()
    older["wife_age"] = np.minimum(older["wife_age"] + 2, 49)
    assert check(spec, cmc.codes(older)) != []
    made = [o for o in spec.problem().outputs if "," in o.name]
    assert len(made) == 2 * len(POINTS)
    if where != "wife_age >= 40 or num_children < 2":
        assert {type(o) for o in made} == {CountTable if known or not where else SumSystem}


def test_medians_by_groups(cmc: Any, check: Any) -> None:
    groups = cmc.frame.groupby("wife_education", observed=False)["wife_age"]
    output = {
        "kind": "median",
        "of": "wife_age",
        "by": ["wife_education"],
        "values": groups.median().tolist(),
        "n": groups.size().tolist(),
    }
    spec = cmc.spec(output)
    assert check(spec, cmc.codes()) == []
    assert check(spec, cmc.shuffled("wife_age")) != []
    named = {
        **output,
        "values": {str(k): v for k, v in groups.median().items()},
        "n": {str(k): v for k, v in groups.size().items()},
    }
    assert check(cmc.spec(named), cmc.codes()) == []
    assert check(cmc.spec({k: v for k, v in output.items() if k != "n"}), cmc.codes()) == []
    quartiles = groups.quantile([0.25, 0.75]).unstack()
    rows = quartiles.to_numpy().tolist()
    spec = cmc.spec(
        {
            "kind": "quantiles",
            "of": "wife_age",
            "by": ["wife_education"],
            "at": [0.25, 0.75],
            "values": rows,
            "n": groups.size().tolist(),
        }
    )
    assert check(spec, cmc.codes()) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0]),
    st.integers(0, 2),
)
def test_what_satisfies_a_quantile_has_it(values: list[int], q: float, decimals: int) -> None:
    """Sufficient: any records that satisfy the equations of a value print as it; and some records of that n always do.

    Brute force: all multisets of n values from the grid are tried against the equations of one published quantile.
    """
    n, grid = len(values), [0, 1, 2, 3, 5, 6]
    values = [grid[v % len(grid)] for v in values]
    printed = f"{np.quantile(values, q):.{decimals}f}"
    half = 0.5 * 10.0**-decimals + 1e-6
    spec = Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": n,
            "columns": [{"name": "x", "levels": grid}],
            "outputs": [
                {"name": "q", "kind": "quantiles", "of": "x", "at": [q], "values": [printed]}
            ],
        }
    )
    tables = spec.problem().outputs
    some = False
    for codes in combinations_with_replacement(range(len(grid)), n):
        matrix = np.array(codes, dtype=np.int32)[:, None]
        if all(((t.counts(matrix) >= t.lo) & (t.counts(matrix) <= t.hi)).all() for t in tables):
            some = True
            assert abs(np.quantile([grid[c] for c in codes], q) - float(printed)) <= half
    assert some


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"kind": "quantiles", "of": "wife_age", "values": [1]}, "must say which quantiles"),
        (
            {"kind": "quantiles", "of": "wife_age", "at": [0.5], "values": [1, 2]},
            "must have 1 quantiles",
        ),
        ({"kind": "median", "of": "wife_age", "value": 60}, "outside the values of its column"),
        (
            {"kind": "median", "of": "wife_age", "value": 30.25},
            "lies between values of its column, where n = 1473 leaves none",
        ),
        (
            {"kind": "median", "of": "wife_age", "value": 30.5, "where": "num_children > 2"},
            "its n is needed",
        ),
        (
            {
                "kind": "median",
                "of": "wife_age",
                "value": 30.25,
                "where": "num_children > 2",
                "n": 700,
            },
            "no two values",
        ),
    ],
)
def test_bad_quantiles(cmc: Any, output: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cmc.spec(output).problem()
