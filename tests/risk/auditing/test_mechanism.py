"""Audits at the mechanism: exact ratios on coupled runs, sound methods that stand, and mutants that fall."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from chaffinch._base.seeds import child
from chaffinch.privacy.accounting import epsilon_to_rho, rho_to_epsilon
from chaffinch.privacy.mechanisms import SeededNoise
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.auditing.claims import Guessed, claim_of
from chaffinch.risk.auditing.mechanism import (
    CERTAIN,
    KINDS,
    DivergedError,
    Query,
    Recorder,
    Replay,
    attack_mechanism,
    couple,
    known_ways,
    log_probability,
    log_ratio,
    run_mechanism,
)
from chaffinch.risk.auditing.pairs import made_pair
from chaffinch.risk.shadows import Working
from chaffinch.synth.bayesnet import BayesNet, Network
from chaffinch.synth.fieldgroups import FieldGroups
from chaffinch.synth.privbayes import PrivBayes
from chaffinch.table.schema import Column, Schema

NETWORK = Network.from_edges(["c0", "c1", "c2"], [("c0", "c1"), ("c1", "c2")])
SOUND = {
    "pure, fixed network": BayesNet(network=NETWORK, epsilon=1.0),
    "zcdp, fixed network": BayesNet(network=NETWORK, epsilon=1.0, delta=1e-6),
    "zcdp, network chosen": BayesNet(epsilon=1.0, delta=1e-6),
    "privbayes": PrivBayes(1.0),
    "privbayes, permute and flip": PrivBayes(
        1.0, mechanism="permute-and-flip", score="R", neighbours="add-remove", parents=1
    ),
    "fieldgroups": FieldGroups(epsilon=1.0),
}
ALONE = Working(workers=1)


class Mutant:
    """A method with a fault; it claims what the sound one does."""

    def __init__(self, inner):
        self.inner, self.budget, self.unit = inner, inner.budget, inner.unit


class HalfNoise(Mutant):
    def fit(self, table, *, seed):
        return replace(self.inner, epsilon=2 * self.inner.epsilon).fit(table, seed=seed)


class NoiseOverRows(Mutant):
    def fit(self, table, *, seed):
        return replace(self.inner, epsilon=self.inner.epsilon * max(table.n_rows, 1)).fit(
            table, seed=seed
        )


class ChargeForgotten(Mutant):
    """All answers are given twice and paid once."""

    def fit(self, table, *, seed):
        self.inner.fit(table, seed=child(seed, 1))
        return self.inner.fit(table, seed=child(seed, 2))


class HalfClaimed(Mutant):
    """A sound method whose claim is half of the rho that it spends."""

    def __init__(self, inner):
        super().__init__(inner)
        rho = epsilon_to_rho(inner.budget.epsilon, inner.budget.delta)
        self.budget = replace(inner.budget, epsilon=rho_to_epsilon(rho / 2, inner.budget.delta))

    def fit(self, table, *, seed):
        return self.inner.fit(table, seed=seed)


class FixedSeed(Mutant):
    def fit(self, table, *, seed):
        return self.inner.fit(table, seed=7)


class LevelsFromData(Mutant):
    def fit(self, table, *, seed):
        words = table.data.to_pydict()
        columns = tuple(
            Column(n, "categorical", levels=tuple(sorted(set(some)))) for n, some in words.items()
        )
        return self.inner.fit(
            prepare(pa.table(words), Schema(columns, public=True, rows=table.schema.rows)),
            seed=seed,
        )


class Tells(Mutant):
    """What is released holds the exact number of rows beside noisy answers."""

    def fit(self, table, *, seed):
        self.inner.fit(table, seed=seed)
        rows = table.n_rows
        return type("Model", (), {"to_dict": lambda self: {"rows": rows}})()


def tables_of(settings, name="narrow"):
    pair = made_pair(name, settings.unit)
    return pair, tuple(pair.base.take(rows) for rows in pair.draws)


def audited(maker, name="narrow", runs=1000, level=0.999, seed=5) -> tuple[str, Guessed, float]:
    budget = maker.budget
    seen = run_mechanism(
        maker,
        made_pair(name, maker.unit),
        runs=runs,
        seed=np.random.SeedSequence(seed),
        working=ALONE,
    )
    assert not isinstance(seen, str), seen
    claim = claim_of(budget.epsilon, budget.delta or 0.0, accounting=budget.kind, sigma=seen.sigma)
    return claim.measure, attack_mechanism(seen, claim, level=level)[1], claim.amount


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("pair", ["narrow", "lone level"])
def test_both_tables_can_give_what_a_sound_fit_gives_and_lose_what_is_paid_at_most(name, pair):
    settings = SOUND[name]
    _, tables = tables_of(settings, pair)
    for i in range(4):
        run = couple(settings, tables, member=bool(i % 2), seed=np.random.SeedSequence([1, i]))
        assert run.possible
        if settings.budget.kind == "pure":
            assert abs(run.log_ratio) <= settings.budget.epsilon + 1e-9
        other = couple(
            settings, tables[::-1], member=not i % 2, seed=np.random.SeedSequence([1, i])
        )
        assert other.log_ratio == pytest.approx(
            -run.log_ratio
        )  # the names of the tables are all that changed


def test_what_is_known_of_a_way_is_what_a_replay_gives():
    settings = SOUND["pure, fixed network"]
    _, tables = tables_of(settings)
    first = [
        couple(settings, tables, member=bool(i % 2), seed=np.random.SeedSequence([1, i]))
        for i in range(30)
    ]
    known = known_ways(first)
    again = [
        couple(settings, tables, member=r.member, seed=np.random.SeedSequence([1, i]), known=known)
        for i, r in enumerate(first)
    ]
    assert [run.log_ratio for run in again] == [run.log_ratio for run in first]
    assert (
        known_ways(
            [
                couple(
                    LevelsFromData(settings),
                    tables_of(settings, "lone level")[1],
                    member=True,
                    seed=np.random.SeedSequence(1),
                )
            ]
        )
        is None
    )


@pytest.mark.parametrize("fault", [LevelsFromData, Tells])
def test_what_only_one_table_can_give_is_certain(fault):
    maker = fault(SOUND["pure, fixed network"])
    _, tables = tables_of(maker, "lone level")
    for member in (False, True):
        run = couple(maker, tables, member=member, seed=np.random.SeedSequence(3))
        assert not run.possible
        assert run.log_ratio == (CERTAIN if member else -CERTAIN)


@pytest.mark.parametrize("name", ["pure, fixed network", "privbayes", "zcdp, network chosen"])
def test_sound_methods_are_not_refuted(name):
    _, guessed, claim = audited(SOUND[name], runs=300)
    assert guessed.bound <= claim


# Odds of missing a mutant at these runs: see experiments/attack_what_leaves; seeds are fixed.
@pytest.mark.parametrize(
    ("fault", "name", "pair", "runs"),
    [
        (NoiseOverRows, "privbayes", "crowded", 200),
        (FixedSeed, "pure, fixed network", "narrow", 200),
        (FixedSeed, "zcdp, fixed network", "narrow", 200),
        (LevelsFromData, "privbayes", "lone level", 200),
        (LevelsFromData, "zcdp, network chosen", "lone level", 200),
    ],
)
def test_gross_mutants_fall_in_a_second(fault, name, pair, runs):
    _, guessed, claim = audited(fault(SOUND[name]), pair, runs=runs)
    assert guessed.bound > claim


# Powers at these runs, by `ratio_power`: 0.997, 0.96, 0.997 and 0.92; seeds are fixed. A charge forgotten as epsilon needs 10,000 runs: see experiments.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "settings", "measure", "runs"),
    [
        (HalfNoise, SOUND["pure, fixed network"], "epsilon", 2000),
        (HalfNoise, SOUND["zcdp, fixed network"], "mu", 3500),
        (ChargeForgotten, BayesNet(network=NETWORK, epsilon=8.0, delta=1e-6), "mu", 1000),
        (HalfClaimed, BayesNet(epsilon=8.0, delta=1e-6), "rho", 1000),
    ],
    ids=[
        "noise halved, epsilon",
        "noise halved, mu",
        "charge forgotten, mu",
        "half its rho claimed, network chosen",
    ],
)
def test_a_factor_of_two_falls_in_the_form_of_its_claim(fault, settings, measure, runs):
    maker = fault(settings)
    form, guessed, claim = audited(maker, runs=runs)
    assert form == measure or (form, measure) == (
        "mu",
        "rho",
    )  # all noise of an adaptive fit may be Gaussian
    assert guessed.bound > claim


def test_a_fit_on_a_known_way_ends_with_its_last_answer():
    assembled = []

    class Watched(Mutant):
        def fit(self, table, *, seed):
            model = self.inner.fit(table, seed=seed)
            assembled.append(model)
            return model

    maker = Watched(SOUND["zcdp, fixed network"])
    _, tables = tables_of(maker)
    first = [
        couple(maker, tables, member=bool(i % 2), seed=np.random.SeedSequence([1, i]))
        for i in range(6)
    ]
    fits = len(assembled)
    again = [
        couple(
            maker,
            tables,
            member=r.member,
            seed=np.random.SeedSequence([1, i]),
            known=known_ways(first),
        )
        for i, r in enumerate(first)
    ]
    assert fits == 12
    assert len(assembled) == fits
    assert [run.log_ratio for run in again] == [run.log_ratio for run in first]
    assert [run.answers for run in again] == [run.answers for run in first]


def test_who_works_changes_nothing():
    settings = SOUND["privbayes"]
    pair = made_pair("narrow", settings.unit)
    options = {"runs": 120, "seed": np.random.SeedSequence(2)}
    alone = run_mechanism(settings, pair, working=ALONE, **options)
    with ThreadPoolExecutor(2) as pool:
        shared = run_mechanism(settings, pair, working=Working(executor=pool), **options)
    np.testing.assert_array_equal(alone.log_ratio, shared.log_ratio)
    np.testing.assert_array_equal(alone.answers, shared.answers)


def test_what_draws_no_noise_of_ours_is_said():
    pair = made_pair("narrow", PrivBayes(1.0).unit)
    assert "no noise of this package" in run_mechanism(
        BayesNet(), pair, runs=80, seed=np.random.SeedSequence(1), working=ALONE
    )


def ask(noise):
    """Two counts, and one of two candidates."""
    return (
        noise.laplace(np.array([3, 5]), 2.0),
        noise.gaussian(np.array([[1]]), 1.5),
        noise.exponential(np.array([0, 4]), 3.0),
    )


def test_what_is_recorded_is_what_was_answered():
    plain, recorder = (
        SeededNoise(np.random.default_rng(1)),
        Recorder(SeededNoise(np.random.default_rng(1))),
    )
    for one, other in zip(ask(plain), ask(recorder), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [query.kind for query in recorder.queries] == ["laplace", "gaussian", "exponential"]
    assert "5" not in repr(recorder.queries[0]).replace("scale=2.0", "")  # true counts do not print


def test_a_replay_gives_the_recorded_answers_and_leaves_the_generator_where_it_was():
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    recorder = Recorder(SeededNoise(first))
    answers = ask(recorder)
    replay = Replay(SeededNoise(second), recorder.queries)
    assert replay.laplace(np.array([30, 50]), 2.0).tolist() == answers[0].tolist()
    replay.gaussian(np.array([[9]]), 1.5)
    assert replay.exponential(np.array([7, 1]), 3.0) == answers[2]
    assert first.integers(1 << 40) == second.integers(1 << 40)
    with pytest.raises(DivergedError):  # one question more than there are answers
        replay.laplace(np.array([1]), 1.0)


@pytest.mark.parametrize(
    "question",
    [lambda r: r.laplace(np.array([1]), 2.0), lambda r: r.exponential(np.array([1, 2]), 2.0)],
)
def test_a_question_that_the_answers_do_not_fit_is_impossible(question):
    recorder = Recorder(SeededNoise(np.random.default_rng(1)))
    ask(recorder)
    with pytest.raises(DivergedError):
        question(Replay(recorder.noise, recorder.queries))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_add_up_to_one(kind):
    if kind in ("laplace", "gaussian"):
        every = [Query(kind, np.array([2]), 1.7, np.array([z])) for z in range(-80, 81)]
    else:
        every = [Query(kind, np.array([3, 0, 5, 5]), 2.0, i) for i in range(4)]
    assert sum(np.exp(log_probability(query)) for query in every) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_ratio_is_the_relative_entropy_and_likelihoods_average_to_one(kind):
    # Under D the mean of P'/P is 1, whatever the laws: an identity that a wrong ratio breaks.
    if kind in ("laplace", "gaussian"):
        answers, values = [np.array([z]) for z in range(-60, 61)], (np.array([0]), np.array([1]))
    else:
        answers, values = [0, 1, 2], (np.array([3, 0, 5]), np.array([2, 1, 5]))
    scales = (1.3, 1.3) if kind == "gaussian" else (1.3, 1.1)  # also where noise itself differs
    pairs = [
        tuple(Query(kind, v, s, a) for v, s in zip(values, scales, strict=True)) for a in answers
    ]
    chance = np.array([np.exp(log_probability(without)) for without, _ in pairs])
    ratio = np.array([log_ratio([with_], [without]) for without, with_ in pairs])
    assert (chance * np.exp(ratio)).sum() == pytest.approx(1.0, abs=1e-9)
    assert (chance * ratio).sum() < 0
