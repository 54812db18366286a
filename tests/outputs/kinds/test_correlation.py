"""Correlations: pandas', one by one and as a matrix."""

from __future__ import annotations

from typing import Any

WHERE = "wife_age >= 25 and media_exposure == 'good'"


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
