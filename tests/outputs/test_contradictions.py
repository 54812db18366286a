"""Outputs of real records never contradict each other; planted faults are found, with the right names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import check_contradictions, contradictions
from chaffinch.outputs.document import Outputs

COLUMNS = [
    {"name": "sex", "levels": ["f", "m"]},
    {"name": "age", "from": 0, "to": 9},
    {"name": "job", "levels": ["no", "part", "full"]},
]


def spec_of(*outputs: dict[str, Any], rows: int = 100) -> Outputs:
    return Outputs.from_dict(
        {
            "format": "chaffinch-outputs",
            "version": 1,
            "rows": rows,
            "columns": COLUMNS,
            "outputs": list(outputs),
        }
    )


def table(name: str, by: list[str], counts: Any, **keys: Any) -> dict[str, Any]:
    return {"name": name, "kind": "table", "by": by, "counts": counts, **keys}


SEX = table("sexes", ["sex"], [40, 60])
AGE = table("ages", ["age"], [10] * 10)


@pytest.mark.parametrize(
    ("outputs", "names", "reason"),
    [
        ([table("t", ["sex"], [40, 59])], [("t",)], "add up to 99, and there are 100 rows"),
        ([table("t", ["sex"], [40, 61])], [("t",)], "add up to 101, and there are 100 rows"),
        (
            [table("t", ["sex"], [40, 30], where="age > 3", n=71)],
            [("t",)],
            "add up to 70, and its n is 71",
        ),
        ([table("t", ["sex"], ["<10", 30])], [("t",)], "add up to at most 39"),
        ([table("t", ["sex"], [40, 60], n=90)], [("t",)], "it has no filter"),
        (
            [table("t", ["sex"], [40, 30], where="age > 3", n=710)],
            [("t",)],
            "its n is 710, more than the 100 rows",
        ),
        (
            [
                table(
                    "t",
                    ["sex", "job"],
                    [[10, 10, 20, 40], [20, 20, 20, 60], [31, 30, 40, 100]],
                    margins=True,
                )
            ],
            [("t",)],
            "no 100 records",
        ),
        (
            [SEX, table("u", ["sex", "job"], [[10, 20, 11], [20, 20, 19]])],
            [("sexes", "u")],
            "in common is sex",
        ),
        (
            [table("t", ["age"], [30, 70], groups={"age": [[0, 4], [5, 9]]}), AGE],
            [("t", "ages")],
            "in common is age",
        ),
        (
            [SEX, table("u", ["job"], [10, 20, 30], where="sex == 'f'")],
            [("sexes", "u")],
            "in common is sex",
        ),
        (
            [{"name": "m", "kind": "mean", "of": "age", "value": 9.5}],
            [("m",)],
            "outside the values of column 'age'",
        ),
        (
            [{"name": "m", "kind": "mean", "of": "age", "value": 3, "where": "age >= 4"}],
            [("m",)],
            "outside the values",
        ),
        (
            [AGE, {"name": "m", "kind": "mean", "of": "age", "value": 4.4, "decimals": 1}],
            [("ages", "m")],
            "in common is age",
        ),
        (
            [
                {
                    "name": "h",
                    "kind": "histogram",
                    "of": "age",
                    "edges": [0, 5, 9],
                    "counts": [50, 50],
                },
                {"name": "m", "kind": "sum", "of": "age", "value": 660},
            ],
            [("h", "m")],
            "in common is age",
        ),
        (
            [SEX, {"name": "s", "kind": "sd", "of": "age", "by": ["sex"], "values": [2, 6]}],
            [("sexes", "s")],
            "in common is sex",
        ),
        (
            [SEX, {"name": "s", "kind": "sd", "of": "age", "value": 6, "where": "sex == 'm'"}],
            [("sexes", "s")],
            "in common is sex",
        ),
        (
            [{"name": "s", "kind": "variance", "of": "age", "by": ["sex"], "values": [4, 41]}],
            [("s",)],
            "a variance is above 40.5",
        ),
        (
            [
                table("t", ["age"], [100, 0], groups={"age": [[0, 3], [4, 9]]}),
                {"name": "s", "kind": "sd", "of": "age", "value": 3},
            ],
            [("t", "s")],
            "age",
        ),
        (
            [AGE, {"name": "q", "kind": "median", "of": "age", "value": 6}],
            [("ages", "q")],
            "in common is age",
        ),
        (
            [
                {"name": "m", "kind": "mean", "of": "age", "value": 8.9},
                {"name": "q", "kind": "median", "of": "age", "value": 6},
            ],
            [("m", "q")],
            "age",
        ),
        (
            [{"name": "q", "kind": "quantiles", "of": "age", "at": [0.25, 0.75], "values": [6, 4]}],
            [("q",)],
            "out of order",
        ),
        (
            [
                {
                    "name": "k",
                    "kind": "kaplan-meier",
                    "time": "age",
                    "event": "sex",
                    "times": [2, 4],
                    "survival": [0.5, 0.6],
                }
            ],
            [("k",)],
            "rises",
        ),
        (
            [
                {
                    "name": "k",
                    "kind": "kaplan-meier",
                    "time": "age",
                    "event": "sex",
                    "times": [2, 4],
                    "at_risk": [20, 10],
                    "events": [11, 11],
                }
            ],
            [("k",)],
            "no 100 records",
        ),
        (
            [
                SEX,
                {
                    "name": "t",
                    "kind": "tree",
                    "label": "sex",
                    "leaves": [{"where": "age < 5", "counts": {"f": 41}}],
                },
            ],
            [("sexes", "t")],
            "sex",
        ),
    ],
)
def test_planted_faults(
    outputs: list[dict[str, Any]], names: list[tuple[str, ...]], reason: str
) -> None:
    found = contradictions(spec_of(*outputs))
    assert [each.outputs for each in found] == names
    assert reason in str(found[0])
    with pytest.raises(InputError, match=f"'{names[0][0]}'.* hold"):
        check_contradictions(spec_of(*outputs))


def test_two_that_hold_alone() -> None:
    assert contradictions(spec_of(SEX, AGE)) == []
    check_contradictions(spec_of(SEX, AGE))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(5, 40))
def test_what_records_have_never_contradicts(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    sex, age, job = rng.integers(0, 2, n), rng.integers(0, 10, n), rng.integers(0, 3, n)
    count = np.zeros((2, 3), dtype=int)
    np.add.at(count, (sex, job), 1)
    old = age >= 4
    outputs = [
        table("t", ["sex", "job"], count.tolist()),
        table("r", ["sex", "job"], (np.round(count / 5) * 5).astype(int).tolist(), base=5),
        table("s", ["sex", "job"], [["<4" if 0 < c < 4 else int(c) for c in row] for row in count]),
        table("a", ["age"], np.bincount(age[sex == 0], minlength=10).tolist(), where="sex == 'f'"),
        {
            "name": "h",
            "kind": "histogram",
            "of": "age",
            "edges": [0, 3, 9],
            "counts": np.histogram(age, [0, 3, 9])[0].tolist(),
        },
        {"name": "m", "kind": "mean", "of": "age", "value": f"{age.mean():.2f}"},
        {"name": "d", "kind": "sd", "of": "age", "value": f"{age.std(ddof=1):.2f}"},
        {
            "name": "q",
            "kind": "quantiles",
            "of": "age",
            "at": [0, 1],
            "values": [int(age.min()), int(age.max())],
        },
        {
            "name": "w",
            "kind": "sum",
            "of": "age",
            "value": int(age[old].sum()),
            "where": "age >= 4",
            "n": int(old.sum()),
        },
    ]
    assert contradictions(spec_of(*outputs, rows=n)) == []


@pytest.mark.parametrize("threshold", [7, 10, 25])
def test_numbers_of_records_are_told_from_the_threshold_on(threshold: int) -> None:
    bare = {"format": "chaffinch-outputs", "version": 1, "rows": 15, "columns": COLUMNS}
    one = {"name": "t", "kind": "table", "by": ["sex"], "counts": [20, 20]}
    for entry, words in (
        (
            {**one, "n": 12},
            "it has no filter, so its n must be the number of rows: {12} is not {15}",
        ),
        ({**one, "n": 16}, "its n is {16}, more than the {15} rows"),
        ({**one}, "its counts add up to {40}, and there are {15} rows"),
    ):
        spec = Outputs.from_dict({**bare, "outputs": [entry]}, threshold=threshold)
        reason = re.sub(
            r"{(\d+)}",
            lambda n: n[1] if int(n[1]) >= threshold else f"fewer than {threshold}",
            words,
        )
        assert [each.reason for each in contradictions(spec)] == [reason]
