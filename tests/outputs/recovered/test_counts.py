"""Tables, histograms, survival and trees: counts on real records, recovered from what was printed of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

Outputs = list[dict[str, Any]]


def crossed(frame: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Counts of the cross of two columns, levels that no record has included."""
    return pd.crosstab(frame[by[0]], frame[by[1]], dropna=False)


def plain(frame: pd.DataFrame, p: Any) -> Outputs:
    table = crossed(frame, "EDUCATION", "METHOD")
    return [{"kind": "table", "by": ["EDUCATION", "METHOD"], "counts": p.count(table)}]


def three_ways(frame: pd.DataFrame, p: Any) -> Outputs:
    counts = (
        frame.groupby(["EDUCATION", "METHOD", "LIVING"], observed=False)
        .size()
        .to_numpy()
        .reshape(4, 3, 4)
    )
    return [{"kind": "table", "by": ["EDUCATION", "METHOD", "LIVING"], "counts": p.count(counts)}]


def signs(frame: pd.DataFrame, p: Any) -> Outputs:
    table = crossed(frame, "EDUCATION", "METHOD")
    return [{"kind": "table", "by": ["EDUCATION", "METHOD"], "counts": p.below(table, 10, "<10")}]


def withheld(frame: pd.DataFrame, p: Any) -> Outputs:
    counts = (
        frame.groupby(["EDUCATION", "METHOD", "MEDIA"], observed=False)
        .size()
        .to_numpy()
        .reshape(4, 3, 2)
    )
    by = ["EDUCATION", "METHOD", "MEDIA"]
    return [{"kind": "table", "by": by, "threshold": 10, "counts": p.below(counts, 10, None)}]


def bands(frame: pd.DataFrame, p: Any) -> Outputs:
    bands = {"young": [16, 24], "middle": [25, 34], "older": [35, 49]}
    band = pd.cut(frame["AGE"], [15, 24, 34, 49], labels=list(bands))
    table = pd.crosstab(band, frame["MEDIA"], dropna=False)
    cells = {f"{a}|{m}": table.loc[a, m] for a in bands for m in ("good", "poor")}
    return [
        {"kind": "table", "by": ["AGE", "MEDIA"], "groups": {"AGE": bands}, "cells": p.count(cells)}
    ]


def bands_of_words(frame: pd.DataFrame, p: Any) -> Outputs:
    any_method = frame["METHOD"].isin(["long", "short"])
    counts = [[(any_method & (frame["LIVING"] == k)).sum() for k in (1, 2, 3, 4)]]
    groups = {"METHOD": [["long", "short"]]}
    return [
        {"kind": "table", "by": ["METHOD", "LIVING"], "groups": groups, "counts": p.count(counts)}
    ]


def rounded(frame: pd.DataFrame, p: Any) -> Outputs:
    older = frame[frame["AGE"] >= 30]
    counts = p.to_base(crossed(older, "EDUCATION", "METHOD"), 5)
    by = ["EDUCATION", "METHOD"]
    return [
        {
            "kind": "table",
            "by": by,
            "where": "AGE >= 30",
            "n": p.count(len(older)),
            "base": 5,
            "counts": counts,
        }
    ]


def either(frame: pd.DataFrame, p: Any) -> Outputs:
    some = frame[(frame["AGE"] < 25) | (frame["MEDIA"] == "poor")]
    where = "AGE < 25 or MEDIA == 'poor'"
    table = crossed(some, "EDUCATION", "METHOD")
    return [
        {"kind": "table", "by": ["EDUCATION", "METHOD"], "where": where, "counts": p.count(table)}
    ]


def margins(frame: pd.DataFrame, p: Any) -> Outputs:
    table = pd.crosstab(frame["MEDIA"], frame["METHOD"], margins=True, dropna=False)
    return [{"kind": "table", "by": ["MEDIA", "METHOD"], "margins": True, "counts": p.count(table)}]


def percentages(
    frame: pd.DataFrame, p: Any, of: str, *, totals: bool, decimals: int = 1
) -> Outputs:
    table = crossed(frame, "EDUCATION", "METHOD")
    whole = {
        "rows": table.sum(axis=1).to_numpy()[:, None],
        "columns": table.sum().to_numpy()[None, :],
        "all": len(frame),
    }
    values = p.plain(pd.DataFrame(100 * table.to_numpy() / whole[of]), decimals)
    output = {
        "kind": "table",
        "by": ["EDUCATION", "METHOD"],
        "percentages": of,
        "decimals": decimals,
        "values": values,
    }
    return [output | ({"totals": p.count(np.ravel(whole[of]))} if totals else {})]


def rows_with_totals(frame: pd.DataFrame, p: Any) -> Outputs:
    return percentages(frame, p, "rows", totals=True)


def columns_with_totals(frame: pd.DataFrame, p: Any) -> Outputs:
    return percentages(frame, p, "columns", totals=True)


def rows_alone(frame: pd.DataFrame, p: Any) -> Outputs:
    return percentages(frame, p, "rows", totals=False, decimals=0)


def columns_alone(frame: pd.DataFrame, p: Any) -> Outputs:
    return percentages(frame, p, "columns", totals=False, decimals=0)


def tenths_of_rows_alone(frame: pd.DataFrame, p: Any) -> Outputs:
    """Few totals of a small row leave counts that print as these, and the search must find four that add up to n."""
    return percentages(frame, p, "rows", totals=False)


def tenths_of_columns_alone(frame: pd.DataFrame, p: Any) -> Outputs:
    return percentages(frame, p, "columns", totals=False)


def shares_of_all(frame: pd.DataFrame, p: Any) -> Outputs:
    return percentages(frame, p, "all", totals=False)


def histogram(frame: pd.DataFrame, p: Any) -> Outputs:
    edges = [16, 20, 30, 40, 49]
    counts, _ = np.histogram(frame["AGE"], edges)
    return [{"kind": "histogram", "of": "AGE", "edges": edges, "counts": p.count(counts)}]


def survival(frame: pd.DataFrame) -> pd.DataFrame:
    """At risk, events and the product limit at each age, by hand: AGE until MEDIA is poor."""
    ages = np.arange(16, 50)
    risk = np.array([(frame["AGE"] >= age).sum() for age in ages])
    events = np.array([((frame["AGE"] == age) & (frame["MEDIA"] == "poor")).sum() for age in ages])
    left = np.cumprod(1 - events / np.maximum(risk, 1))
    return pd.DataFrame({"at_risk": risk, "events": events, "survival": left}, index=ages)


KAPLAN_MEIER = {"kind": "kaplan-meier", "time": "AGE", "event": "MEDIA", "level": "poor"}


def kaplan_meier(frame: pd.DataFrame, p: Any) -> Outputs:
    times = [20, 30, 40]
    table = survival(frame).loc[times]
    counts = {key: p.count(table[key].tolist()) for key in ("at_risk", "events")}
    left = p.quoted(table["survival"].tolist(), 4)
    return [{**KAPLAN_MEIER, "times": times, "complete": False, **counts, "survival": left}]


def kaplan_meier_complete(frame: pd.DataFrame, p: Any) -> Outputs:
    table = survival(frame)  # a row for each age, so there can be no event elsewhere
    counts = {key: p.count(table[key].tolist()) for key in ("at_risk", "events")}
    return [{**KAPLAN_MEIER, "times": table.index.tolist(), **counts}]


def kaplan_meier_by(frame: pd.DataFrame, p: Any) -> Outputs:
    times, levels = [20, 25, 30, 35, 40, 45], ["none", "some", "more", "most"]
    each = [survival(frame[frame["EDUCATION"] == level]).loc[times] for level in levels]
    lists = {"at_risk": [p.count(one["at_risk"].tolist()) for one in each]}
    lists["survival"] = [p.quoted(one["survival"].tolist(), 4) for one in each]
    return [{**KAPLAN_MEIER, "by": ["EDUCATION"], "times": times, "complete": False, **lists}]


def kaplan_meier_by_two(frame: pd.DataFrame, p: Any) -> Outputs:
    times = [25, 35, 45]
    each = [
        survival(frame[frame["METHOD"].isin(levels)]).loc[times]
        for levels in (["none"], ["long", "short"])
    ]
    lists = {key: [p.count(one[key].tolist()) for one in each] for key in ("at_risk", "events")}
    lists["survival"] = [p.quoted(one["survival"].tolist(), 3) for one in each]
    groups = {"METHOD": [["none"], ["long", "short"]]}
    return [
        {
            **KAPLAN_MEIER,
            "by": ["METHOD"],
            "groups": groups,
            "times": times,
            "complete": False,
            **lists,
        }
    ]


def tree(frame: pd.DataFrame, p: Any) -> Outputs:
    children, age = frame["CHILDREN"], frame["AGE"]
    leaves = [
        ("CHILDREN <= 0", children <= 0),
        ("CHILDREN > 0 and AGE <= 33", (children > 0) & (age <= 33)),
        (
            "CHILDREN > 0 and AGE > 33 and EDUCATION == 'most'",
            (children > 0) & (age > 33) & (frame["EDUCATION"] == "most"),
        ),
    ]
    counted = [
        {
            "where": text,
            "counts": p.below(frame.loc[mask, "METHOD"].value_counts().sort_index(), 10, "<10"),
        }
        for text, mask in leaves
    ]
    rest = (children > 0) & (age > 33) & (frame["EDUCATION"] != "most")
    last = {"where": "CHILDREN > 0 and AGE > 33 and EDUCATION != 'most'", "n": p.count(rest.sum())}
    return [{"kind": "tree", "label": "METHOD", "leaves": [*counted, last]}]


CASES = [
    plain,
    three_ways,
    signs,
    withheld,
    bands,
    bands_of_words,
    rounded,
    either,
    margins,
    rows_with_totals,
    columns_with_totals,
    rows_alone,
    columns_alone,
    shares_of_all,
    histogram,
    kaplan_meier,
    kaplan_meier_complete,
    kaplan_meier_by_two,
    tree,
]
SLOW = [tenths_of_rows_alone, tenths_of_columns_alone, kaplan_meier_by]


@pytest.mark.parametrize(
    "case",
    [*CASES, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)],
    ids=lambda case: case.__name__,
)
def test_counts_are_recovered(recovered, case):
    assert recovered(case) == []
