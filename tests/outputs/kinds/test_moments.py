"""Means, sums, spreads and correlations against pandas and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch._base.errors import InputError

AGGREGATES = {"mean": "mean", "sum": "sum", "sd": "std", "variance": "var"}
WHERE = "wife_age >= 25 and media_exposure == 'good'"


@pytest.mark.parametrize("kind", AGGREGATES)
@pytest.mark.parametrize("where", [None, WHERE, "wife_age >= 40 or num_children < 2"])
def test_moments(cmc: Any, check: Any, slopes_hold: Any, kind: str, where: str | None) -> None:
    kept = cmc.frame.query(where) if where else cmc.frame
    value = float(kept["num_children"].agg(AGGREGATES[kind]))
    filtered = {} if where is None else {"where": where, "n": len(kept)}
    spec = cmc.spec({"kind": kind, "of": "num_children", "value": value, **filtered})
    assert check(spec, cmc.codes()) == []
    more = cmc.frame.copy()
    more["num_children"] = np.minimum(more["num_children"] + (np.arange(len(more)) % 40 == 0), 16)
    assert "o0" in check(spec, cmc.codes(more))
    system = spec.problem().outputs[0]
    slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


@pytest.mark.parametrize("kind", AGGREGATES)
def test_moments_by_groups(cmc: Any, check: Any, slopes_hold: Any, kind: str) -> None:
    by = ["wife_education", "num_children"]
    bands = pd.cut(cmc.frame["num_children"], [-1, 2, 16])
    table = (
        cmc.frame.groupby(["wife_education", bands], observed=False)["wife_age"]
        .agg(AGGREGATES[kind])
        .to_numpy()
        .reshape(4, 2)
    )
    shown = [[f"{x:.2f}" for x in row] for row in table]
    shown[1][1] = "x"
    output = {
        "kind": kind,
        "of": "wife_age",
        "by": by,
        "groups": {"num_children": [[0, 2], [3, 16]]},
        "values": shown,
    }
    spec = cmc.spec(output)
    assert check(spec, cmc.codes()) == []
    assert check(spec, cmc.shuffled("wife_age")) == ["o0"]
    (system,) = spec.problem().outputs
    np.testing.assert_allclose(system.hi - system.lo, 0.01)
    assert len(system.lo) == 7
    slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


def test_a_band_of_the_column_itself(cmc: Any, check: Any) -> None:
    bands = pd.cut(cmc.frame["wife_age"], [15, 30, 49])
    means = cmc.frame.groupby(bands, observed=False)["wife_age"].mean().tolist()
    spec = cmc.spec(
        {
            "kind": "mean",
            "of": "wife_age",
            "by": ["wife_age"],
            "groups": {"wife_age": [[16, 30], [31, 49]]},
            "values": means,
        }
    )
    assert check(spec, cmc.codes()) == []


def test_sd_of_the_population(cmc: Any, check: Any) -> None:
    spec = cmc.spec(
        {"kind": "sd", "of": "wife_age", "value": float(np.std(cmc.frame["wife_age"])), "ddof": 0}
    )
    assert check(spec, cmc.codes()) == []


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            {"kind": "mean", "of": "wife_education", "value": 1},
            "has words as levels, where numbers are needed",
        ),
        ({"kind": "mean", "of": "wife_age"}, "must have a value, or values"),
        (
            {"kind": "mean", "of": "wife_age", "by": ["wife_education"], "value": 1},
            "values for the groups",
        ),
        ({"kind": "mean", "of": "wife_agee", "value": 1}, "Did you mean 'wife_age'"),
        ({"kind": "mean", "of": "wife_age", "value": "much"}, "must be a number"),
        (
            {"kind": "correlation", "of": ["wife_age", "num_children"], "value": 1.2},
            "between -1 and 1",
        ),
        (
            {
                "kind": "correlation",
                "of": ["wife_age", "num_children"],
                "values": [[1, 0.2], [0.3, 1]],
            },
            "symmetric",
        ),
    ],
)
def test_bad_summaries(cmc: Any, output: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cmc.spec(output).problem()


def test_correlations(cmc: Any, check: Any, slopes_hold: Any) -> None:
    columns = ["wife_age", "num_children", "standard_of_living"]
    matrix = cmc.frame[columns].corr()
    pair = cmc.spec({"kind": "correlation", "of": columns[:2], "value": float(matrix.iloc[0, 1])})
    assert check(pair, cmc.codes()) == []
    assert check(pair, cmc.shuffled("wife_age")) == ["o0"]
    kept = cmc.frame.query(WHERE)
    whole = cmc.spec(
        {
            "kind": "correlation",
            "of": columns,
            "values": kept[columns].corr().round(3).to_numpy().tolist(),
            "decimals": 3,
            "where": WHERE,
        }
    )
    assert check(whole, cmc.codes()) == []
    assert check(whole, cmc.shuffled("standard_of_living")) == ["o0"]
    (system,) = whole.problem().outputs
    slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))
