"""Means, spreads, correlations and quantiles of real records, recovered from what was printed of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

Outputs = list[dict[str, Any]]

QUARTILES = [0.25, 0.5, 0.75]


def means(frame: pd.DataFrame, p: Any) -> Outputs:
    values = frame.groupby("EDUCATION", observed=False)["AGE"].mean()
    return [
        {
            "kind": "mean",
            "of": "AGE",
            "by": ["EDUCATION"],
            "decimals": 2,
            "values": p.plain(values, 2),
        }
    ]


def mean_of_some(frame: pd.DataFrame, p: Any) -> Outputs:
    some = frame[frame["METHOD"] != "none"]
    output = {
        "kind": "mean",
        "of": "CHILDREN",
        "where": "METHOD != 'none'",
        "n": p.count(len(some)),
    }
    return [{**output, "value": p.quoted(some["CHILDREN"].mean(), 4)}]


def total(frame: pd.DataFrame, p: Any) -> Outputs:
    return [{"kind": "sum", "of": "CHILDREN", "value": p.count(frame["CHILDREN"].sum())}]


def spreads(frame: pd.DataFrame, p: Any) -> Outputs:
    values = frame.groupby("METHOD", observed=False)["CHILDREN"].std()
    return [{"kind": "sd", "of": "CHILDREN", "by": ["METHOD"], "values": p.quoted(values, 3)}]


def variance(frame: pd.DataFrame, p: Any) -> Outputs:
    return [{"kind": "variance", "of": "CHILDREN", "value": p.quoted(frame["CHILDREN"].var(), 4)}]


def variances(frame: pd.DataFrame, p: Any) -> Outputs:
    values = frame.groupby("EDUCATION", observed=False)["AGE"].var(ddof=0)
    return [
        {
            "kind": "variance",
            "of": "AGE",
            "by": ["EDUCATION"],
            "ddof": 0,
            "values": p.quoted(values, 3),
        }
    ]


def correlation(frame: pd.DataFrame, p: Any) -> Outputs:
    value = frame["AGE"].corr(frame["CHILDREN"])
    return [
        {
            "kind": "correlation",
            "of": ["AGE", "CHILDREN"],
            "decimals": 5,
            "value": p.plain(value, 5),
        }
    ]


def correlations(frame: pd.DataFrame, p: Any) -> Outputs:
    of = ["AGE", "CHILDREN", "LIVING"]
    return [
        {"kind": "correlation", "of": of, "decimals": 4, "values": p.plain(frame[of].corr(), 4)}
    ]


def quartiles(frame: pd.DataFrame, p: Any) -> Outputs:
    values = frame["AGE"].quantile(QUARTILES).tolist()
    return [{"kind": "quantiles", "of": "AGE", "at": QUARTILES, "values": p.count(values)}]


def medians(frame: pd.DataFrame, p: Any) -> Outputs:
    of = frame.groupby("METHOD", observed=False)["AGE"]
    n = p.count(of.size())
    return [
        {
            "kind": "median",
            "of": "AGE",
            "by": ["METHOD"],
            "values": p.plain(of.median(), 1),
            "n": n,
            "decimals": 1,
        }
    ]


def medians_without_n(frame: pd.DataFrame, p: Any) -> Outputs:
    of = frame.groupby("METHOD", observed=False)["AGE"]
    return [{"kind": "median", "of": "AGE", "by": ["METHOD"], "values": p.count(of.median())}]


def quartiles_of_some(frame: pd.DataFrame, p: Any) -> Outputs:
    some = frame[(frame["EDUCATION"] == "most") | (frame["LIVING"] == 4)]
    values = some["CHILDREN"].quantile(QUARTILES).tolist()
    where = "EDUCATION == 'most' or LIVING == 4"
    return [
        {
            "kind": "quantiles",
            "of": "CHILDREN",
            "where": where,
            "at": QUARTILES,
            "values": p.count(values),
        }
    ]


CASES = [
    means,
    mean_of_some,
    total,
    spreads,
    variance,
    variances,
    correlation,
    correlations,
    quartiles,
    medians,
    medians_without_n,
    quartiles_of_some,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_numbers_are_recovered(recovered, case):
    assert recovered(case) == []


def fine_numbers(frame: pd.DataFrame, p: Any) -> Outputs:
    """Columns in tenths and thousandths: means, spreads, a correlation, and quantiles between two values of the grid."""
    by = frame.groupby("outcome")
    return [
        {"kind": "mean", "of": "bmi", "by": ["outcome"], "values": p.quoted(by["bmi"].mean(), 3)},
        {
            "kind": "sd",
            "of": "pedigree",
            "by": ["outcome"],
            "values": p.quoted(by["pedigree"].std(), 4),
        },
        {
            "kind": "correlation",
            "of": ["bmi", "pedigree"],
            "value": p.quoted(frame["bmi"].corr(frame["pedigree"]), 4),
        },
        {
            "kind": "quantiles",
            "of": "bmi",
            "at": QUARTILES,
            "values": p.quoted(frame["bmi"].quantile(QUARTILES).tolist(), 3),
        },
        {
            "kind": "quantiles",
            "of": "pedigree",
            "at": [0.1, 0.9],
            "values": p.quoted(frame["pedigree"].quantile([0.1, 0.9]).tolist(), 4),
        },
    ]


def test_fine_numbers_are_recovered(recovered):
    assert recovered(fine_numbers, data="diabetes") == []
