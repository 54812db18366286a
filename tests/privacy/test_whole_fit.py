"""The privacy loss of whole fits on tiny domains: exact, by enumeration of what the noise can answer; then by experiment.

A fit meets data only where it asks the noise, so its law is the product of the laws of these answers. Structures are listed one by
one; of a measured table the worst answer is known (`audits.loss_of`).
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp, log
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from chaffinch.privacy.counter import PrivateCounter
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.synth import privbayes
from chaffinch.synth.bayesnet import BayesNet
from chaffinch.synth.privbayes import PrivBayes

from .conftest import laplace_pmf

ZERO, ONE = (0, 0, 0), (1, 1, 1)


def test_neighbour_pairs_are_those_of_a_hand_count(audits):
    # Four cells. Replace-one, one record: 6 pairs. Two records (a multiset of 10): the record that stays has 4 values, the others
    # make 6 pairs; {x, x} {x, y} and the like are all counted once: 24. Add-remove, up to two: 4 from none, 16 from one.
    assert len(audits.neighbour_pairs((2, 2), PrivacyUnit("replace-one"), 1)) == 6
    assert len(audits.neighbour_pairs((2, 2), PrivacyUnit("replace-one"), 2)) == 6 + 24
    assert len(audits.neighbour_pairs((2, 2), PrivacyUnit("add-remove"), 2)) == 4 + 16


SETTINGS = {
    "F, replace-one": (PrivBayes(epsilon=1.0, score="F", parents=1), 2),
    "R, replace-one, two parents": (
        PrivBayes(epsilon=0.3, score="R", parents=2, variant="dpart"),
        1,
    ),
    "I, replace-one": (PrivBayes(epsilon=2.0, score="I", parents=1), 2),
    "R, add-remove, rows measured": (
        PrivBayes(epsilon=1.0, score="R", parents=1, neighbours="add-remove"),
        2,
    ),
    "permute-and-flip": (
        PrivBayes(epsilon=1.0, score="R", parents=1, mechanism="permute-and-flip"),
        1,
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_privbayes_loses_epsilon_at_most_and_half_of_it_at_least(audits, name):
    settings, most = SETTINGS[name]
    pairs = audits.neighbour_pairs(audits.BINARY, settings.unit, most)
    if most > 1:  # all pairs of the smallest tables, some of the others, among them the worst
        extreme = tuple(sorted((ZERO, ONE)))
        ends = ((ZERO, ZERO), extreme) if settings.unit.bounded else ((ZERO,), extreme)
        pairs = [
            pair
            for i, pair in enumerate(pairs)
            if len(pair[1]) < most or i % 24 == 0 or pair == ends
        ]
        assert ends in pairs
    worst = audits.worst_loss(settings, audits.BINARY, pairs, audits.SCRIPTS)
    assert worst <= settings.epsilon * (1 + 1e-9)
    assert worst >= 0.5 * settings.epsilon


def test_three_records_against_three(audits):
    settings = PrivBayes(epsilon=1.0, score="F", parents=2)
    rng = np.random.default_rng(3)
    every = audits.neighbour_pairs(audits.BINARY, settings.unit, 3)
    pairs = [pair for pair in every if len(pair[0]) == 3]
    pairs = [pairs[i] for i in rng.choice(len(pairs), 12, replace=False)] + [
        ((ZERO, ZERO, ZERO), (ZERO, ZERO, ONE))
    ]
    worst = audits.worst_loss(settings, audits.BINARY, pairs, audits.SCRIPTS[::3])
    assert 0.5 <= worst <= 1 + 1e-9


def test_by_hand(audits):
    # One record, (0,0,0) against (1,1,1), R, one parent. A single record scores 0 in every family, so choices lose nothing. What
    # they were given, 0.3, is spent all the same; the rest, 0.7, is for the two tables (the first two columns share one).
    # Each has one cell less and one more: the loss is 2 x 2 / scale with scale = 2 x 2 / 0.7.
    loss = audits.worst_loss(SMALL, audits.BINARY, [((ZERO,), (ONE,))], audits.SCRIPTS)
    assert loss == pytest.approx(0.7, rel=1e-9)


SMALL = PrivBayes(epsilon=1.0, score="R", parents=1)


def structure_law(audits, settings, rows):
    """Return the chance of each structure, from the laws of the choices along each script; the first column is given by the seed."""
    table = audits.table_of(audits.BINARY, rows, len(rows))
    law: Counter = Counter()
    for picks in audits.SCRIPTS:
        with audits.scripted(audits.Scripted(picks)) as noise:
            model = settings.fit(table, seed=5)
        chance = sum(
            audits.log_law(call)[call.answer] for call in noise.calls if call.kind == "exponential"
        )
        law[model.network.order, tuple(map(frozenset, model.network.parents))] += exp(chance)
    return law


def test_the_law_of_structures_is_that_of_the_draws(audits):
    # The enumeration rests on the scores and scales that were asked. Here fits with seeded noise and a given first column must have
    # the structures that it says (chi-square, fails once in a million).
    rows = (ZERO,) * 12 + (ONE,) * 12 + ((0, 1, 0),) * 8
    settings = PrivBayes(epsilon=2.5, score="R", parents=1)
    law = structure_law(audits, settings, rows)
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    first = next(iter(law))[0][0]
    table = audits.table_of(audits.BINARY, rows, len(rows))
    found: Counter = Counter()
    with mock.patch.object(
        privbayes,
        "private_model",
        side_effect=lambda schema, order, parents, *a, **k: (order, parents),
    ):
        for seed in range(350):
            order, parents = settings.fit(table, seed=seed)
            if f"c{order[0]}" == first:
                named = tuple(frozenset(f"c{p}" for p in some) for some in parents)
                found[tuple(f"c{i}" for i in order), named] += 1
    total = sum(found.values())
    assert total > 70
    assert set(found) <= set(law)
    expected = np.array([total * law[key] for key in law])
    assert stats.chisquare([found[key] for key in law], expected).pvalue > 1e-6
    assert max(law.values()) > 2 * min(law.values())  # the choices do choose


def answers_with_links(columns, distances):
    """Return a script: margins of 10,000 records, then large distances, then tables, so that links are found and measured."""

    def answers(number, shape):
        return np.full(
            shape,
            5_000 if number < columns else 3_000 * 1024 if number < columns + distances else 2_000,
        )

    return answers


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_the_private_network_loses_its_budget_at_most(audits, neighbours, delta):
    # Under replace-one the number of rows is that of the table, one: a link that must be keeps the fit from single columns alone, and
    # triples are not asked for. With a delta single columns are measured in two looks.
    replaced = neighbours == "replace-one"
    settings = BayesNet(
        epsilon=1.0, delta=delta, neighbours=neighbours, parents=2, require=(("c0", "c1"),)
    )
    pairs = audits.neighbour_pairs(audits.BINARY, settings.unit, 1)
    pairs += [((ZERO, ONE), (ONE, ONE)) if settings.unit.bounded else ((ZERO,), (ZERO, ONE))]
    columns, distances, declared = (
        3 if delta is None else 6,
        1 if replaced else 2,
        1 if replaced else 10_000,
    )
    answers = answers_with_links(columns, distances)
    told = audits.transcript(
        settings, audits.table_of(audits.BINARY, (ZERO,), declared), (), answers
    )
    kinds = [charge.why for charge in told.charges]
    assert kinds.count("single columns") == columns
    assert kinds.count("what is worth measuring") == distances  # pairs, then triples
    assert kinds.count("links") >= 2
    worst = audits.worst_loss(
        settings, audits.BINARY, pairs, [()], declared=declared, answers=answers
    )
    total = settings.budget.total  # an epsilon, or a rho
    assert worst <= total * (1 + 1e-9)
    assert worst >= 0.5 * total


def test_measured_rows_are_part_of_the_loss(audits):
    # None against one record, rows not declared: under add-remove 2% of epsilon go to the number of rows, and one record moves it.
    settings = BayesNet(epsilon=1.0, parents=2)
    one, other = (
        audits.transcript(settings, audits.table_of(audits.BINARY, rows), ())
        for rows in ((), (ONE,))
    )
    assert one.charges[0].what == "number of rows"
    assert audits.loss_of(one.calls[0], other.calls[0])[0] == pytest.approx(0.02, rel=1e-6)
    assert one.public == other.public


def seen(audits, *, runs):
    """Return how often the most telling event is seen on each of two neighbours, tables of one column and one record.

    White box: the log likelihood ratio of the released table. The event, settled beforehand: it is at its largest, epsilon.
    """
    settings, truth, counts = PrivBayes(epsilon=1.0), (np.array([1, 0]), np.array([0, 1])), []
    inside = mock.patch.multiple(
        privbayes,
        private_model=lambda schema, order, parents, tables, *rest, **options: tables,
        agree=lambda tables: tables,
    )
    with inside:
        for side in (0, 1):
            table = audits.table_of((2,), ((side,),), 1)
            noisy = [settings.fit(table, seed=10_000 * side + run)[0].counts for run in range(runs)]
            ratios = [(np.abs(x - truth[1]) - np.abs(x - truth[0])).sum() / 2 for x in noisy]
            counts.append(sum(ratio >= 1 - 1e-9 for ratio in ratios))
    return counts


def test_an_attack_on_the_tables_never_shows_more_than_epsilon(audits):
    # A sound build is flagged once in a million. By hand: the ratio is at its largest if the first count is at least 1 and the second
    # at most 0. With q = exp(-1/2) each has the chance 1 / (1 + q) on the one table and q / (1 + q) on the other.
    runs, q = 500, exp(-1 / 2)
    assert laplace_pmf(np.arange(200), 2.0).sum() == pytest.approx(1 / (1 + q), abs=1e-9)
    hits = seen(audits, runs=runs)
    for count, chance in zip(hits, ((1 / (1 + q)) ** 2, (q / (1 + q)) ** 2), strict=True):
        assert stats.binomtest(count, runs, chance).pvalue > 1e-6
    assert 0 < audits.distinguished(*hits, runs, confidence=1 - 1e-6) <= 1.0


def test_the_attack_shows_noise_that_is_too_small(audits):
    original = PrivateCounter._noisy
    with mock.patch.object(
        PrivateCounter, "_noisy", lambda self, values, scale: original(self, values, scale / 4)
    ):
        hits = seen(audits, runs=200)
    assert audits.distinguished(*hits, 200, confidence=1 - 1e-6) > 1.0


def test_the_lower_bound_is_clopper_and_pearson(audits):
    # Their definition: 900 of 1000 or more have the chance half of 1 - confidence at the lower bound of P, and so on for Q.
    bound = audits.distinguished(900, 100, 1_000, confidence=0.95)
    grid = np.linspace(0, 1, 200_001)
    low = grid[np.searchsorted(stats.binom.sf(899, 1_000, grid), 0.025)]
    high = grid[len(grid) - np.searchsorted(stats.binom.cdf(100, 1_000, grid)[::-1], 0.025) - 1]
    assert bound == pytest.approx(log(low / high), abs=1e-3)
    assert audits.distinguished(0, 0, 1_000, confidence=0.95) == 0
    for p, q in product((0, 1_000), repeat=2):
        assert audits.distinguished(p, q, 1_000, confidence=0.95) >= 0
