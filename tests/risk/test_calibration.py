"""Does the excess say what it claims? Real attacks on synthetic tables that know nothing of the members, and on copies.

A small population of categorical records: three keys and a sensitive value that depends on them. Under the null the synthetic
table is one more sample of the population, so members and others are alike given it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest

from chaffinch.stats.excess import Excess, excess
from chaffinch.stats.familywise import FamilywiseTest, family
from chaffinch.stats.rates import ClassStatistic, Ratio, Statistic

LEVELS = 4  # of the sensitive value
DRAWS = 2000
# A coverage of exactly 95 % leaves 93 to 97 % in 2,000 draws (standard error 0.49 %) once in 20,000 runs of other seeds.
LOW, HIGH = 0.93, 0.97

Table = tuple[np.ndarray, np.ndarray]
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Population:
    """Keys are a class number of a product of three skewed columns; the sensitive value follows the class."""

    chances: np.ndarray
    answer: np.ndarray

    @classmethod
    def of(cls, sizes: tuple[int, int, int], rng: np.random.Generator) -> Population:
        parts = [rng.dirichlet(np.full(size, 2.0)) for size in sizes]
        chances = np.einsum("i,j,k->ijk", *parts).ravel()
        return cls(chances, rng.dirichlet(np.full(LEVELS, 0.7), size=len(chances)).cumsum(axis=1))

    def draw(self, n: int, rng: np.random.Generator) -> Table:
        keys = rng.choice(len(self.chances), size=n, p=self.chances)
        secret = (rng.random(n)[:, None] > self.answer[keys]).sum(axis=1)
        return keys, np.minimum(secret, LEVELS - 1)


def counted(source: Table, classes: int) -> np.ndarray:
    table = np.zeros((classes, LEVELS))
    np.add.at(table, source, 1)
    return table


def cap(table: np.ndarray, people: Table) -> Pair:
    """The share of table rows with the person's keys that have the person's value; no match: zero."""
    rows = table[people[0]]
    matched = rows.sum(axis=1)
    return rows[np.arange(len(rows)), people[1]] / np.maximum(matched, 1), np.ones(len(rows))


def vote(table: np.ndarray, people: Table) -> Pair:
    rows = table[people[0]]
    return (rows.argmax(axis=1) == people[1]).astype(float), np.ones(len(rows))


def tcap(table: np.ndarray, people: Table) -> Pair:
    """Of people whose keys the table answers for certain, the share it is right about."""
    rows = table[people[0]]
    certain = ((rows > 0).sum(axis=1) == 1).astype(float)
    return certain * (rows.argmax(axis=1) == people[1]), certain


def p1(table: np.ndarray, people: Table) -> Pair:
    certain = (table > 0).sum(axis=1) == 1
    classes = np.where(certain[people[0]], people[0], -1)
    return classes, ((classes >= 0) & (table[people[0]].argmax(axis=1) == people[1])).astype(float)


def p1_rule(table: np.ndarray, empty: str) -> Statistic:
    certain = (table > 0).sum(axis=1) == 1
    return ClassStatistic(table.sum(axis=1) * certain, empty)  # type: ignore[arg-type]


def null_excess(measure: str, number: int, *, people: tuple[int, int], resamples: int) -> Excess:
    rng = np.random.default_rng((7, number))
    population = Population.of((6, 5, 4), rng)
    synthetic, original, holdout = (population.draw(n, rng) for n in (people[0], *people))
    table = counted(synthetic, len(population.chances))
    score = {"cap": cap, "vote": vote, "tcap": tcap}.get(measure, p1)
    statistic = p1_rule(table, measure.split()[-1]) if score is p1 else Ratio()
    return excess(
        score(table, original),
        score(table, holdout),
        statistic=statistic,
        resamples=resamples,
        seed=number,
    )


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["cap", "vote", "tcap", "p1 dropped", "p1 zero"])
def test_interval_covers_zero_and_p_values_are_uniform_when_nothing_leaks(measure: str) -> None:
    from scipy.stats import kstest

    resamples = 399
    rng = np.random.default_rng(1)
    found = [
        null_excess(measure, number, people=(600, 400), resamples=resamples)
        for number in range(DRAWS)
    ]
    found = [
        one for one in found if one.value is not None
    ]  # p1: a table may answer no key for certain
    assert len(found) > 0.99 * DRAWS
    covered = np.mean([one.interval[0] <= 0 <= one.interval[1] for one in found])  # type: ignore[index]
    assert LOW <= covered <= HIGH, covered
    p = np.array([one.p_value for one in found])
    # Valid at every level: a share below the level plus 5 standard errors, once in two million.
    for level in (0.01, 0.05, 0.1, 0.5):
        assert np.mean(p <= level) < level + 5 * sqrt(level * (1 - level) / len(p))
    if (
        measure == "cap"
    ):  # hardly any ties: exactly uniform once the step of 1/400 is smoothed; fails once in a million
        assert kstest(p - rng.random(len(p)) / (resamples + 1), "uniform").pvalue > 1e-6


def attacks(population: Population, table: np.ndarray, people: Table) -> list[Pair]:
    return [score(table, people) for score in (cap, vote, tcap, p1)]


def null_family(number: int) -> FamilywiseTest:
    rng = np.random.default_rng((11, number))
    population = Population.of((6, 5, 4), rng)
    synthetic, original, holdout = (population.draw(n, rng) for n in (600, 600, 400))
    table = counted(synthetic, len(population.chances))
    statistics: list[Statistic] = [Ratio(), Ratio(), Ratio(), p1_rule(table, "dropped")]
    ours, theirs = (attacks(population, table, people) for people in (original, holdout))
    return family(ours, theirs, statistics=statistics, resamples=399, seed=number, threads=1)


@pytest.mark.slow
def test_bounds_hold_together_and_one_p_value_serves_all_attacks() -> None:
    found = [null_family(number) for number in range(1000)]
    held = np.mean([one.lower_bound <= 0 for one in found])  # type: ignore[operator]
    # 95 % is meant; 1,000 draws have a standard error of 0.7 %: below 93 % once in 500 runs of other seeds if exactly so.
    assert held >= 0.93, held
    p = np.array([one.p_value for one in found])
    for level in (0.05, 0.1, 0.5):
        # Below the level plus 5 standard errors; not far below either, for the attacks are not all the same.
        slack = 5 * sqrt(level * (1 - level) / len(p))
        assert level - slack < np.mean(p <= level) < level + slack


@pytest.mark.slow
def test_an_excess_of_the_detectable_size_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(3)
    n, m, rate = 2000, 1000, 0.4
    size = excess(
        ((np.arange(n) < rate * n).astype(float), np.ones(n)),
        ((np.arange(m) < rate * m).astype(float), np.ones(m)),
        seed=1,
    ).detectable
    assert size is not None
    found = [
        excess(
            ((rng.random(n) < rate + size).astype(float), np.ones(n)),
            ((rng.random(m) < rate).astype(float), np.ones(m)),
            resamples=499,
            seed=number,
        ).p_value
        for number in range(DRAWS)
    ]
    # 80 % with a standard error of 0.9 %: outside 75 to 85 % never in the life of this test.
    assert 0.75 <= np.mean(np.array(found) <= 0.05) <= 0.85  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("copied", [1.0, 0.05], ids=["copy", "5 % copied"])
def test_copies_are_flagged(copied: float) -> None:
    rng = np.random.default_rng(5)
    population = Population.of((40, 30, 20), rng)
    synthetic, original, holdout = (population.draw(n, rng) for n in (20_000, 20_000, 10_000))
    taken = int(copied * len(original[0]))
    leaked = tuple(
        np.concatenate([own[:taken], fresh[taken:]])
        for own, fresh in zip(original, synthetic, strict=True)
    )
    for source, flagged in ((synthetic, False), (leaked, True)):
        table = counted(source, len(population.chances))  # type: ignore[arg-type]
        statistics: list[Statistic] = [Ratio(), Ratio(), Ratio(), p1_rule(table, "dropped")]
        ours, theirs = (attacks(population, table, people) for people in (original, holdout))
        found = family(ours, theirs, statistics=statistics, seed=1)
        assert found.lower_bound is not None
        assert (found.lower_bound > 0) == flagged
        # Of 5 % copied about two permutations in a thousand are as far out: one to three of 1,001 under six seeds.
        assert (found.p_value <= 0.01) == flagged  # type: ignore[operator]
