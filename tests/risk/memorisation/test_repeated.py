from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.risk.finding import record_findings
from chaffinch.risk.memorisation.protocol import NotApplicableError
from chaffinch.risk.memorisation.repeated import repeated_rows, repeated_values

from .conftest import case_of, distinct_people, with_copies


def test_rows_of_ones_own_are_counted_over_releases(rng: np.random.Generator) -> None:
    members, others, *releases = (
        distinct_people(80, rng, 5).select(["c0", "c1", "c2"]) for _ in range(5)
    )
    case = case_of(releases, members, others)
    rows = [tuple(row.values()) for table in (members, others) for row in table.to_pylist()]
    there = [{tuple(row.values()) for row in release.to_pylist()} for release in releases]
    counts = Counter(rows)
    plain = [
        max(sum(row in one for one in there) - 1, 0) / 2 if counts[row] == 1 else 0.0
        for row in rows
    ]
    assert repeated_rows(case).numerator.tolist() == plain
    assert sum(plain) > 0


def test_rare_values_are_counted_over_releases() -> None:
    members, others = (
        pa.table({"town": ["a"] * 38 + names, "x": [1, 2] * 20})
        for names in (["b", "c"], ["d", "a"])
    )
    releases = [
        pa.table({"town": ["a"] * 38 + names, "x": [1, 2] * 20})
        for names in (["b", "c"], ["b", "a"], ["b", "d"])
    ]
    scores = repeated_values(case_of(releases, members, others))
    assert (
        scores.numerator.sum() == scores.numerator[38] == 1.0
    )  # b is in all three, c and d are in one
    assert scores.weight.sum() == 3


@pytest.mark.parametrize("score", [repeated_rows, repeated_values])
def test_one_release_repeats_nothing(score, rng: np.random.Generator) -> None:
    case = case_of(*(distinct_people(30, rng) for _ in range(3)))
    for one in (case, replace(case, release_of=np.zeros(30, dtype=np.int64))):
        with pytest.raises(NotApplicableError, match="several releases"):
            score(one)


def test_people_who_are_copied_into_every_release_are_found(rng: np.random.Generator) -> None:
    members, others, *fresh = (distinct_people(400, rng) for _ in range(5))
    same = [with_copies(table, members, 0.04) for table in fresh]
    result = chaffinch.risk(
        members,
        same,
        others,
        attackers=["exact_row", "repeated_row", "repeated_value"],
        resamples=200,
        seed=1,
    )
    assert [test.attacker for test in record_findings(result.findings)] == ["exact_row"]
    exact, row, value = result.together.findings
    assert (row.attacker, row.value, row.holdout) == ("repeated_row", 0.04, 0.0)
    assert row.releases.alone == (0.0, 0.0, 0.0)
    assert row.releases.adds
    assert value.releases.adds
    assert exact.releases.added == pytest.approx(
        0.0, abs=1e-9
    )  # the same people in each: a row is found from all as from one
    none = chaffinch.risk(
        members,
        fresh,
        others,
        attackers=["exact_row", "repeated_row", "repeated_value"],
        resamples=200,
        seed=1,
    )
    assert not none.together.strongest.releases.adds
