"""Outputs of real records never contradict each other; planted faults are found, with the right names."""

from __future__ import annotations

import re
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import check_contradictions, contradictions
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.kinds.base import SLACK

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


def counted(name: str, by: list[str], counts: Any, **keys: Any) -> dict[str, Any]:
    return {"name": name, "kind": "table", "by": by, "counts": counts, **keys}


ALONE = "no dataset of 100 rows has all its numbers"
SEX = counted("sexes", ["sex"], [40, 60])
AGE = counted("ages", ["age"], [10] * 10)


@pytest.mark.parametrize(
    ("outputs", "names", "reason"),
    [
        ([counted("t", ["sex"], [40, 59])], [("t",)], ALONE),
        ([counted("t", ["sex"], [40, 61])], [("t",)], ALONE),
        (
            [counted("t", ["sex"], [40, 30], where="age > 3", n=71)],
            [("t",)],
            ALONE,
        ),
        ([counted("t", ["sex"], ["<10", 30])], [("t",)], ALONE),
        ([counted("t", ["sex"], [40, 60], n=90)], [("t",)], "it has no filter"),
        (
            [counted("t", ["sex"], [40, 30], where="age > 3", n=710)],
            [("t",)],
            "its n is 710, more than the 100 rows",
        ),
        (
            [
                counted(
                    "t",
                    ["sex", "job"],
                    [[10, 10, 20, 40], [20, 20, 20, 60], [31, 30, 40, 100]],
                    margins=True,
                )
            ],
            [("t",)],
            ALONE,
        ),
        (
            [SEX, counted("u", ["sex", "job"], [[10, 20, 11], [20, 20, 19]])],
            [("sexes", "u")],
            "in common is sex",
        ),
        (
            [counted("t", ["age"], [30, 70], groups={"age": [[0, 4], [5, 9]]}), AGE],
            [("t", "ages")],
            "in common is age",
        ),
        (
            [SEX, counted("u", ["job"], [10, 20, 30], where="sex == 'f'")],
            [("sexes", "u")],
            "in common is sex",
        ),
        (
            [{"name": "m", "kind": "mean", "of": "age", "value": 9.5}],
            [("m",)],
            ALONE,
        ),
        (
            [{"name": "m", "kind": "mean", "of": "age", "value": 3, "where": "age >= 4"}],
            [("m",)],
            ALONE,
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
            ALONE,
        ),
        (
            [
                counted("t", ["age"], [100, 0], groups={"age": [[0, 3], [4, 9]]}),
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
            ALONE,
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
            ALONE,
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
@example(1, 9)
def test_what_records_have_never_contradicts(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    sex, age, job = rng.integers(0, 2, n), rng.integers(0, 10, n), rng.integers(0, 3, n)
    count = np.zeros((2, 3), dtype=int)
    np.add.at(count, (sex, job), 1)
    old = age >= 4
    outputs = [
        counted("t", ["sex", "job"], count.tolist()),
        counted("r", ["sex", "job"], (np.round(count / 5) * 5).astype(int).tolist(), base=5),
        counted(
            "s", ["sex", "job"], [["<4" if 0 < c < 4 else int(c) for c in row] for row in count]
        ),
        counted(
            "a", ["age"], np.bincount(age[sex == 0], minlength=10).tolist(), where="sex == 'f'"
        ),
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
        ({**one}, "no dataset of {15} rows has all its numbers"),
    ):
        spec = Outputs.from_dict({**bare, "outputs": [entry]}, threshold=threshold)
        reason = re.sub(
            r"{(\d+)}",
            lambda n: n[1] if int(n[1]) >= threshold else f"fewer than {threshold}",
            words,
        )
        assert [each.reason for each in contradictions(spec)] == [reason]


VALUES = (0, 2, 3, 7)


def spec_of_x(
    *outputs: dict[str, Any], rows: int = 100, values: tuple[int, ...] = VALUES
) -> Outputs:
    columns = [{"name": "x", "levels": list(values)}, {"name": "g", "levels": ["a", "b"]}]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": rows, "columns": columns}
    return Outputs.from_dict(
        {**head, "outputs": [{"name": f"o{k}", **one} for k, one in enumerate(outputs)]}
    )


def every(n: int) -> np.ndarray:
    return np.array(list(combinations_with_replacement(VALUES, n)), dtype=float)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("ddof", [0, 1])
def test_spreads_contradict_only_if_no_dataset_has_them(n: int, ddof: int) -> None:
    """Beyond are a spread half of which lies at each end of the range, and one of a single step, a little further."""
    variances = every(n).var(axis=1, ddof=ddof)
    smallest, half = variances[variances > 1e-12].min(), 7.0**2 / 4 * n / (n - ddof)
    for variance, possible in (
        (smallest, True),
        (variances.max(), True),
        (0.99 * smallest, False),
        (1.01 * half, False),
    ):
        one = {"kind": "variance", "of": "x", "ddof": ddof, "value": float(variance)}
        assert (contradictions(spec_of_x(one, rows=n)) == []) == possible


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("centre", ["mean", "sum"])
def test_a_mean_and_a_spread_contradict_only_if_no_dataset_has_both(n: int, centre: str) -> None:
    """With mean m the variance is at most m (7 - m) n / (n - 1), all numbers at an end of the range."""
    data = every(n)
    for mean in np.unique(data.mean(axis=1)):
        at_most = data[np.isclose(data.mean(axis=1), mean)].std(axis=1, ddof=1).max()
        ends = np.sqrt(mean * (7 - mean) * n / (n - 1))
        for sd, possible in ((at_most, True), (ends + 0.1, False)):
            spec = spec_of_x(
                {"kind": centre, "of": "x", "value": float(mean * (1 if centre == "mean" else n))},
                {"kind": "sd", "of": "x", "value": float(sd)},
                rows=n,
            )
            assert (contradictions(spec) == []) == possible


@settings(max_examples=10, deadline=None)
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
    assert contradictions(spec_of_x(*outputs, rows=n)) == []


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (
            [{"kind": "sd", "of": "x", "value": 15}],
            ALONE,
        ),
        ([{"kind": "sd", "of": "x", "value": 10.06, "ddof": 1}], ALONE),
        ([{"kind": "sd", "of": "x", "value": 10.01, "ddof": 0}], ALONE),
        ([{"kind": "variance", "of": "x", "value": "102"}], ALONE),
        ([{"kind": "sd", "of": "x", "by": ["g"], "values": [3, 14.2]}], ALONE),
        ([{"kind": "sd", "of": "x", "value": 5.1, "ddof": 0, "where": "x >= 10"}], ALONE),
        ([{"kind": "sd", "of": "x", "value": 0.05}], "above 0 and below 0.1, the smallest"),
        ([{"kind": "sum", "of": "x", "value": 2001}], ALONE),
        ([{"kind": "sum", "of": "x", "value": -1, "where": "x >= 10"}], ALONE),
        (
            [{"kind": "mean", "of": "x", "value": 1}, {"kind": "sd", "of": "x", "value": 5}],
            "no dataset has both",
        ),
        (
            [
                {"kind": "variance", "of": "x", "value": 30},
                {"kind": "sum", "of": "x", "value": 100},
            ],
            "no dataset has both",
        ),
    ],
)
def test_spreads_beyond_the_range(outputs: list[dict[str, Any]], reason: str) -> None:
    found = contradictions(spec_of_x(*outputs, values=tuple(range(21))))
    assert [each.outputs for each in found] == [tuple(f"o{k}" for k in range(len(outputs)))]
    assert reason in str(found[0])


def test_a_mean_of_other_records_says_nothing_of_a_spread() -> None:
    some = [
        {"kind": "mean", "of": "x", "value": 1, "where": "g == 'a'"},
        {"kind": "sd", "of": "x", "value": 5},
    ]
    assert contradictions(spec_of_x(*some, values=tuple(range(21)))) == []


def test_a_bound_from_which_a_small_n_follows_is_not_shown() -> None:
    (found,) = contradictions(spec_of_x({"kind": "sd", "of": "x", "value": 0.3}, rows=4))
    assert "above 0 and below the smallest" in str(found)
    assert not any(letter.isdigit() for letter in found.reason.replace("above 0", ""))


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
    reason = spec.outputs[0].contradiction(spec.fields.with_rows(50))
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
