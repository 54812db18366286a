"""TCAP under its conventions, beside hand-worked tables and plain loops over rows."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.risk.attribution.cap import dis, disco, disdio, in_source
from chaffinch.risk.attribution.matching import match
from chaffinch.risk.attribution.tcap import (
    CONVENTIONS,
    TcapCells,
    all_conventions,
    tcap,
    tcap_of,
    weap,
)

from .test_cap import Row, coded, hand, two_tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "A:1 A:2 B:1 B:1 C:1 | A:1 A:2 B:1 C:1",
            {"matched_rows": 1, "certain": 0.6, "matched": 0.6, "conditional": 1},
        ),
        (
            "A:1 A:1 A:2 B:2 D:3 D:4 | A:1 B:2 D:3 D:4",
            {"matched_rows": 5 / 6, "certain": 1 / 6, "matched": 1 / 2, "conditional": 3 / 4},
        ),
        # Selected: A, B and E; nobody has E, and D is ambiguous. A: 1/2 right, B: 1, E dropped or 0. Z is in no source row.
        (
            "A:1 A:2 B:2 D:3 Z:1 | A:1 A:1 B:2 D:3 D:4 E:1",
            {
                "matched_rows": (2 * 0.5 + 1) / 3,
                "all_rows": (2 * 0.5 + 1) / 4,
                "certain": 1 / 4,
                "matched": 2 / 4,
                "conditional": 2 / 3,
            },
        ),
    ],
)
def test_hand_worked_tables(text: str, expected: dict[str, float]) -> None:
    found = all_conventions(match(*hand(text)))
    assert {name: found[name].value for name in expected} == pytest.approx(expected, abs=1e-15)


def test_counts_of_a_result() -> None:
    found = all_conventions(match(*hand("A:1 A:2 B:2 D:3 Z:1 | A:1 A:1 B:2 D:3 D:4 E:1")))
    assert {one.n_source_selected for one in found.values()} == {4}
    assert {name: one.n_matched for name, one in found.items()} == {
        "matched_rows": 3,
        "all_rows": 3,
        "certain": 4,
        "matched": 4,
        "conditional": 3,
    }


def test_half_certain_by_hand() -> None:
    """tau = 0.6: of A 1 1 2 the two ones are selected (2/3), of B 1 2 none. People A: 1 of 2 right, B: never.

    Among people A is split in halves, so that nobody is certain.
    """
    found = all_conventions(match(*hand("A:1 A:2 B:1 | A:1 A:1 A:2 B:1 B:2")), tau=0.6)
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        {"matched_rows": 0.5, "all_rows": 0.5, "certain": 0.0, "matched": 1 / 3, "conditional": 0.5}
    )


def test_no_shared_key() -> None:
    found = all_conventions(match(*hand("A:1 B:2 | C:1 D:2")))
    assert {name: one.value for name, one in found.items()} == {
        "matched_rows": None,
        "all_rows": 0.0,
        "certain": None,
        "matched": None,
        "conditional": None,
    }
    assert {one.n_matched for one in found.values()} == {0}
    assert (
        found["matched_rows"].reason
        == "no person has the keys of a source row with a WEAP of at least 1"
    )
    assert found["matched"].reason == "no person's keys are in the source"


def test_all_keys_ambiguous() -> None:
    found = all_conventions(match(*hand("A:1 A:2 | A:1 A:2")))
    assert {name: one.value for name, one in found.items()} == {
        "matched_rows": None,
        "all_rows": None,
        "certain": 0.0,
        "matched": 0.0,
        "conditional": None,
    }
    assert found["all_rows"].reason == "no source row has a WEAP of at least 1"
    assert "have a value with a share of at least 1" in found["conditional"].reason


def test_nobody_and_no_source() -> None:
    one, none = hand("A:1 | ")[:2], hand("A:1 | ")[2:]
    for found in (match(*none, *one), match(*one, *none)):
        results = all_conventions(found)
        assert {r.value for r in results.values()} == {None}
        assert all(r.reason for r in results.values())
    assert tcap(*none, *one).reason == "there are no people"


def test_one_row_each() -> None:
    assert {one.value for one in all_conventions(match(*hand("A:1 | A:1"))).values()} == {1.0}
    assert {one.value for one in all_conventions(match(*hand("A:1 | A:2"))).values()} == {0.0}


# Plain loops, from the definitions.


def values_of(row: Row, others: Sequence[Row]) -> list[int]:
    return [other[1] for other in others if row[0] == other[0]]


def slow_tcap(people: Sequence[Row], source: Sequence[Row], tau: float) -> dict[str, float | None]:
    def mean(numbers: list[float]) -> float | None:
        return sum(numbers) / len(numbers) if numbers else None

    dropped, zero = [], []
    for row in source:
        own = values_of(row, source)
        if own.count(row[1]) / len(own) >= tau:
            theirs = values_of(row, people)
            if theirs:
                dropped.append(theirs.count(row[1]) / len(theirs))
            zero.append(theirs.count(row[1]) / len(theirs) if theirs else 0.0)
    certain, matched, conditional = [], [], []
    for row in people:
        own, theirs = values_of(row, people), values_of(row, source)
        if theirs:
            right = theirs.count(row[1]) / len(theirs) >= tau
            matched.append(float(right))
            certain.append(float(right and own.count(row[1]) / len(own) >= tau))
            if any(theirs.count(v) / len(theirs) >= tau for v in theirs):
                conditional.append(float(right))
    found = {
        "matched_rows": dropped,
        "all_rows": zero if people else [],
        "certain": certain,
        "matched": matched,
    }
    return {name: mean(scores) for name, scores in {**found, "conditional": conditional}.items()}


def close(expected: dict[str, float | None]) -> dict[str, object]:
    return {k: None if v is None else pytest.approx(v, abs=1e-12) for k, v in expected.items()}


TAU = st.sampled_from([1.0, 0.75, 2 / 3, 0.5, 0.4, 0.25, 0.01])


@settings(deadline=None)
@given(two_tables(), TAU)
def test_loops_agree(tables: tuple[list[Row], list[Row]], tau: float) -> None:
    given_arrays = coded(tables)
    expected = close(slow_tcap(*tables, tau))
    assert {c: tcap(*given_arrays, convention=c, tau=tau).value for c in CONVENTIONS} == expected
    assert {
        c: one.value for c, one in all_conventions(match(*given_arrays), tau=tau).items()
    } == expected
    source, shares = tables[1], weap(*given_arrays[2:])
    assert shares.tolist() == [
        values_of(r, source).count(r[1]) / len(values_of(r, source)) for r in source
    ]


@settings(deadline=None)
@given(two_tables(), TAU)
def test_identities(tables: tuple[list[Row], list[Row]], tau: float) -> None:
    found = match(*coded(tables))
    results = all_conventions(found, tau=tau)
    value = {c: one.value if one.value is not None else 0.0 for c, one in results.items()}
    if not found.n_people:
        return
    assert disco(found, tau=tau).value == pytest.approx(in_source(found).value * value["matched"])  # type: ignore[operator]
    assert disco(found, tau=tau).value == pytest.approx(
        dis(found, tau=tau).value * value["conditional"]
    )  # type: ignore[operator]
    assert disdio(found, tau=tau).value == pytest.approx(in_source(found).value * value["certain"])  # type: ignore[operator]
    assert (
        value["certain"] <= value["matched"] <= value["conditional"]
        or results["conditional"].value is None
    )
    assert value["all_rows"] <= value["matched_rows"] + 1e-12
    for one in results.values():
        assert (one.value is None) == bool(one.reason)
        assert one.scores is None or one.scores.value == one.value
        assert one.n_matched <= (one.n_source_selected if one.scores is None else found.n_people)


def test_a_copy_is_right_wherever_it_is_certain() -> None:
    rng = np.random.default_rng(3)
    keys, values = rng.integers(0, 5, (300, 3)), rng.integers(0, 3, 300)
    found = all_conventions(match(keys, values, keys, values))
    assert (
        found["matched_rows"].value == found["all_rows"].value == found["conditional"].value == 1.0
    )
    assert found["certain"].value == found["matched"].value


# Drawing people anew.


def drawn(cells: TcapCells, weights: np.ndarray) -> np.ndarray:
    """TCAP where each person counts so often, one number a row; NaN where nobody counts."""
    group = cells.statistic.check((cells.person_class, cells.person_right))
    most = int(weights.sum(axis=1).max(initial=0))
    above, below = cells.statistic.totals(group)(weights.astype(float), most, most)
    there = (below > 0) & weights.any(axis=1)
    return np.divide(above, below, out=np.full(len(weights), np.nan), where=there)


@settings(deadline=None)
@given(two_tables(), TAU, st.booleans(), st.data())
def test_drawn_people_as_if_repeated(
    tables: tuple[list[Row], list[Row]], tau: float, zero: bool, data: st.DataObject
) -> None:
    """The value for weights is that of a table in which each person stands so often."""
    people, source = tables
    convention = "all_rows" if zero else "matched_rows"
    given_arrays = coded(tables)
    cells = tcap(*given_arrays, convention=convention, tau=tau).cells
    assert cells is not None
    n_draws = data.draw(st.integers(0, 3))
    weights = np.array(
        [
            data.draw(st.lists(st.integers(0, 3), min_size=len(people), max_size=len(people)))
            for _ in range(n_draws)
        ],
        dtype=np.int64,
    ).reshape(n_draws, len(people))
    repeated = [
        [p for p, w in zip(people, row, strict=True) for _ in range(w)] for row in weights.tolist()
    ]
    expected = [slow_tcap(rows, source, tau)[convention] for rows in repeated]
    expected_array = np.array([np.nan if v is None else v for v in expected], dtype=float)
    np.testing.assert_allclose(drawn(cells, weights), expected_array, atol=1e-12)


@settings(deadline=None)
@given(two_tables(), TAU)
def test_people_of_each_class(tables: tuple[list[Row], list[Row]], tau: float) -> None:
    """The value is also that of the classes' numbers alone."""
    given_arrays = coded(tables)
    found = tcap(*given_arrays, tau=tau)
    cells = found.cells
    assert cells is not None
    assert cells.weight.sum() == found.n_source_selected
    some = cells.n_people > 0
    assert cells.weight[some].sum() == found.n_matched
    if found.n_matched:
        here = cells.person_class >= 0
        n_right = np.bincount(cells.person_class[here], cells.person_right[here], len(cells.weight))
        shares = n_right[some] / cells.n_people[some]
        assert np.average(shares, weights=cells.weight[some]) == pytest.approx(found.value)


def test_the_value_is_the_mean_over_selected_classes() -> None:
    """100 people with one of eight keys, of which the source is certain of four."""
    rng = np.random.default_rng(6)
    keys, values = rng.integers(0, 8, (100, 1)), rng.integers(0, 2, 100)
    cells = tcap(keys, values, np.arange(4)[:, None], np.zeros(4, dtype=int)).cells
    assert cells is not None
    expected = np.mean([(values[keys[:, 0] == k] == 0).mean() for k in range(4)])
    assert drawn(cells, np.ones((1, 100))) == pytest.approx(expected)


def test_two_groups_of_one_pool() -> None:
    """Members and others joined, with weights 1 and 0, score as each by itself."""
    rng = np.random.default_rng(7)
    pool, source = rng.integers(0, 4, (60, 3)), rng.integers(0, 4, (50, 3))
    member = rng.random(60) < 0.5
    cells = tcap(pool[:, :2], pool[:, 2], source[:, :2], source[:, 2], tau=0.5).cells
    assert cells is not None
    both = drawn(cells, np.stack([member, ~member]))
    alone = [
        tcap(pool[m, :2], pool[m, 2], source[:, :2], source[:, 2], tau=0.5).value
        for m in (member, ~member)
    ]
    assert both.tolist() == pytest.approx(alone)


# Edges.


def test_a_hundred_thousand_levels() -> None:
    """Each source row is alone with its key; every second value is wrong."""
    n = 100_000
    keys, values = np.arange(n)[:, None], np.arange(n)
    found = all_conventions(match(keys, values, keys, values + values % 2))
    assert {one.value for one in found.values()} == {0.5}


def test_errors() -> None:
    found = match(*hand("A:1 | A:1"))
    with pytest.raises(
        UnknownNameError, match=r"Unknown convention 'matchd'\. Did you mean 'matched'\?"
    ):
        tcap_of(found, convention="matchd")  # type: ignore[arg-type]
    for convention in CONVENTIONS:
        with pytest.raises(InputError, match="tau must be above 0"):
            tcap_of(found, convention=convention, tau=0.0)
