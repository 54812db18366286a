"""Linkability against another library's counts, brute force over ties, and both ends of leaking."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.risk.finding import Finding, record_findings
from chaffinch.risk.memorisation.battery import memorisation_scores
from chaffinch.risk.memorisation.linkability import (
    COUNTS,
    chance_of_link,
    link_by_chance,
    linkability,
    shared_neighbours,
)
from chaffinch.risk.memorisation.protocol import NotApplicableError
from chaffinch.risk.settings import RiskSettings
from chaffinch.stats.excess import excess

from .conftest import case_of, coded_tables, distinct_people, reference_tables, with_copies


@pytest.mark.parametrize(
    ("parts", "k", "linked"),
    [
        # Anonymeter 1.1.0, all 120 people of each side: _find_nn(syn[part], ori[part], n_neighbors=k) for both parts, and
        # LinkabilityIndexes(...).count_links(k); LinkabilityEvaluator(n_attacks=120) says the same. No two distances are equal here.
        ((["a", "b"], ["c", "d", "e"]), 1, (31, 0)),
        ((["a", "b"], ["c", "d", "e"]), 5, (76, 78)),
        ((["a"], ["c", "d"]), 1, (30, 16)),
        ((["a"], ["c", "d"]), 5, (45, 67)),
    ],
)
def test_links_are_those_of_another_library_where_no_rows_are_tied(
    parts, k: int, linked: tuple[int, int]
) -> None:
    original, synthetic, holdout = reference_tables()
    scores = linkability(case_of(synthetic, original, holdout), k, parts)
    assert np.isin(scores.numerator, (0.0, 1.0)).all()
    assert (scores.numerator[:120].sum(), scores.numerator[120:].sum()) == linked


def enumerated(first: list[float], second: list[float], k: int) -> float:
    """Return the share of choices of k nearest rows, of both parts, that have a row in common."""

    def choices(distances: list[float]) -> list[set[int]]:
        reach = sorted(distances)[k - 1]
        near = {i for i, d in enumerate(distances) if d < reach}
        tied = [i for i, d in enumerate(distances) if d == reach]
        return [near | set(chosen) for chosen in combinations(tied, k - len(near))]

    pairs = [(a, b) for a in choices(first) for b in choices(second)]
    return sum(bool(a & b) for a, b in pairs) / len(pairs)


def counted(first: np.ndarray, second: np.ndarray, k: int) -> list[int]:
    """Return how many rows are nearer than the k-th nearest, or tied with it, by two lists of distances."""
    (near_a, tied_a), (near_b, tied_b) = (
        (distances < reach, distances == reach)
        for distances, reach in ((side, np.sort(side)[k - 1]) for side in (first, second))
    )
    pairs = ((near_a, near_b), (tied_a, near_b), (near_a, tied_b), (tied_a, tied_b))
    each = (near_a, tied_a, near_b, tied_b, *(a & b for a, b in pairs))
    return [int(rows.sum()) for rows in each]


def test_tied_rows_are_drawn_for_each_part_by_itself() -> None:
    rng = np.random.default_rng(1)
    for k in (1, 2, 3):
        for _ in range(40):
            first, second = rng.integers(0, 3, (2, 7))
            chance = chance_of_link(np.array([counted(first, second, k)]), k)[0]
            assert chance == pytest.approx(enumerated(first.tolist(), second.tolist(), k))


def test_distances_are_by_range_and_by_level_and_missing_is_a_value() -> None:
    # Ranges: x 0 to 10, y 0 to 1. Person 0 is row 0 in both parts, the missing value too; person 1 has row 1 nearest in x, row 2 in y.
    released = pa.table(
        {
            "x": [None, 4.0, 10.0, 0.0],
            "g": ["p", "q", "q", "p"],
            "y": [0.0, 0.4, 0.5, 1.0],
            "z": ["u", "u", "u", "v"],
        }
    )
    person = pa.table({"x": [None, 4.5], "g": ["p", "q"], "y": [0.05, 0.55], "z": ["u", "u"]})
    scores = linkability(case_of(released, person, person), 1, (["x", "g"], ["y", "z"]))
    assert scores.numerator.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_columns_that_tell_nothing_link_nobody_but_by_chance() -> None:
    # A fixed order of tied rows links all 50; Anonymeter 1.1.0 counts 50 of 50, beside a baseline of 0 of 50.
    table = pa.table({"u": ["x"] * 50, "v": ["y"] * 50, "w": [1.0] * 50})
    scores = linkability(case_of(table, table, table), 1, (["u"], ["v", "w"]))
    assert scores.numerator == pytest.approx(np.full(100, 1 / 50))
    assert link_by_chance(50, 1) == pytest.approx(1 / 50)


def test_members_are_linked_by_copies_and_nobody_by_fresh_rows(rng: np.random.Generator) -> None:
    members, others, fresh = (distinct_people(600, rng, 8) for _ in range(3))
    for share, significant in ((0.1, True), (0.0, False)):
        scores = linkability(
            case_of(with_copies(fresh, members, share), members, others, keys=["age", "c0", "c1"])
        )
        groups = [
            (scores.numerator[part], scores.weight[part]) for part in (slice(600), slice(600, None))
        ]
        result = excess(*groups, seed=1)
        assert ((result.p_value or 1.0) < 0.01) == significant
        assert result.members is not None
        assert (result.members > 0.05) == significant


def test_parts_that_cannot_be_linked_are_refused(rng: np.random.Generator) -> None:
    table = distinct_people(40, rng)
    case = case_of(table, table, table, keys=["age"])
    with pytest.raises(InputError, match="Some column is in both"):
        linkability(case, 1, (["age"], ["age", "c0"]))
    with pytest.raises(NotApplicableError, match="One of them is empty"):
        linkability(case, 1, (["age"], []))
    with pytest.raises(InputError, match=r"at least 1\. Got 0"):
        linkability(case, 0)
    with pytest.raises(InputError, match="Unknown column 'agge'"):
        linkability(case, 1, (["agge"], ["c0"]))
    with pytest.raises(NotApplicableError, match="too few rows"):
        linkability(case, 30)


def test_a_finding_has_the_chance_of_a_link_beside_it(rng: np.random.Generator) -> None:
    coded = coded_tables(*(distinct_people(n, rng) for n in (60, 50, 60)))
    root = np.random.SeedSequence(1)
    tests = ["linkability", "linkability_5"]
    outcomes = memorisation_scores(coded, ["synthetic"], tests, keys=["age", "c0"], seed=root)
    guesses = {name: members.guess.by("value") for name, (members, _) in outcomes.items()}
    assert guesses["linkability"] == pytest.approx(1 / 50)
    assert guesses["linkability_5"] == pytest.approx(link_by_chance(50, 5))
    finding = Finding(attacker="linkability", value=0.5, guess=guesses["linkability"])
    assert "without a look at the table 2\xa0% would be" in finding.sentence


def test_parts_are_an_option_of_a_study(rng: np.random.Generator) -> None:
    members, others, fresh = (distinct_people(200, rng, 8) for _ in range(3))
    released = with_copies(fresh, members, 0.3)
    parts = (["age", "c0"], ["income", "c1"])
    result = chaffinch.risk(
        members, released, others, attackers=["linkability"], parts=parts, seed=1
    )
    (one,) = record_findings(result.findings)
    scores = linkability(case_of(released, members, others), 1, parts)
    assert one.value == pytest.approx(scores.numerator[:200].mean())
    assert result.to_dict()["about"]["settings"]["parts"] == [list(part) for part in parts]
    with pytest.raises(InputError, match="'linkability' needs columns that an outsider knows"):
        chaffinch.risk(members, released, others, attackers=["linkability"], seed=1)
    without = RiskSettings().memorisation_tests()
    assert "linkability" not in without
    assert {*RiskSettings(parts=(("age",), ("c1",))).memorisation_tests()} - {*without} == {
        "linkability",
        "linkability_5",
    }
    with pytest.raises(InputError, match="Unknown column of a part 'agge'"):
        chaffinch.risk(
            members, released, others, attackers=["linkability"], parts=(["agge"], ["c1"]), seed=1
        )


def test_counts_are_those_of_all_distances() -> None:
    rng = np.random.default_rng(1)
    rows, people = rng.integers(0, 3, (2, 4, 30)), rng.integers(0, 3, (2, 4, 12))
    distances = (rows[:, :, None, :] != people[:, :, :, None]).sum(axis=1)
    first, second = (
        (np.zeros((0, 30)), rows[part], np.zeros((0, 12)), people[part]) for part in (0, 1)
    )
    ks = np.array([1, 3])
    both = np.zeros((2, 12, COUNTS), dtype=np.int64)
    shared_neighbours(first, second, ks, 0, 12, both)
    for k, out in zip(ks, both, strict=True):
        assert out.tolist() == [counted(*distances[:, i], k) for i in range(12)]
