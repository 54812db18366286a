from __future__ import annotations

import numpy as np
import pytest

from chaffinch.risk.memorisation.battery import findings, stacked, trials, with_family
from chaffinch.risk.memorisation.protocol import MEMORISATION_TESTS, MemorisationTest
from chaffinch.stats.family import family
from chaffinch.stats.scores import Scores
from chaffinch.table.align import align
from chaffinch.table.read import read

from .conftest import people, with_copies


def tables_of(rng: np.random.Generator, share: float, n: int = 400):
    members, others, fresh = (people(n, rng) for _ in range(3))
    return align(read(members), with_copies(fresh, members, share), others)


@pytest.fixture
def number_of_age():
    """A test whose score is a number of the person's own, and for which higher is safer."""

    def score(case):
        (age,) = case.named(["age"])
        return Scores(age.numbers[age.people] / 100.0, np.ones(case.n_people))

    yield MEMORISATION_TESTS.register(
        MemorisationTest(
            name="number_of_age", score=score, title="Age", definition="Age.", sentence="{value}, {holdout}", blindness="All.",
            direction="higher is safer", share=False,
        )
    )  # fmt: skip
    MEMORISATION_TESTS.remove("number_of_age")


def test_scores_come_back_in_the_order_of_people(rng: np.random.Generator, number_of_age: MemorisationTest) -> None:
    original, synthetic, holdout = tables_of(rng, 0.1)
    (trial,) = trials(synthetic, original, holdout, ["number_of_age"], seed=np.random.SeedSequence(5))
    for group, table in ((trial.members, original), (trial.others, holdout)):
        assert np.allclose(1.0 - group[0], table.data["age"].to_numpy() / 100.0)  # towards risk: lower ages
        assert trial.value(group) == pytest.approx(np.mean(table.data["age"].to_numpy()) / 100.0)


def test_copies_are_found_and_fresh_rows_are_not(rng: np.random.Generator) -> None:
    for share, significant in ((0.1, True), (0.0, False)):
        original, synthetic, holdout = tables_of(rng, share)
        every = [
            [trial] for trial in trials(synthetic, original, holdout, ["exact_row"], seed=np.random.SeedSequence(5))
        ]
        one = findings(every, np.random.SeedSequence(6), resamples=200)
        together = family([t[0].members for t in every], [t[0].others for t in every], resamples=200, seed=7)
        (finding,) = with_family(one, together, 0, every, 10)
        assert finding.n_people == 800
        assert (finding.value == 0.1) == significant
        assert ((finding.p_family or 1.0) <= 0.05) == significant


def test_without_others_there_is_a_value_and_no_excess(rng: np.random.Generator) -> None:
    original, synthetic, _ = tables_of(rng, 0.1)
    every = [trials(synthetic, original, None, ["exact_row"], seed=np.random.SeedSequence(5))]
    (finding,) = findings(every, np.random.SeedSequence(6), resamples=50)
    assert finding.value == 0.1
    assert finding.excess is None
    assert "No holdout" in (finding.reason or "")


def test_two_trials_become_one_of_all_people(rng: np.random.Generator) -> None:
    original, synthetic, holdout = tables_of(rng, 0.1)
    (one,) = trials(synthetic, original, holdout, ["exact_row"], seed=np.random.SeedSequence(5))
    (two,) = trials(synthetic, holdout, original, ["exact_row"], seed=np.random.SeedSequence(5))
    both = stacked(one, two)
    assert both.n_people == 1600
    assert both.value(both.members) == both.value(both.others) == 0.05
