"""TCAP of ensembles: against the measures module, by deletion, and over threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaffinch.errors import InputError
from chaffinch.outputs.check.assessment import folds
from chaffinch.outputs.check.attribution import (
    CONVENTIONS,
    add_claims,
    attack_of,
    ensemble_tcap,
    measures_of,
    tcap_of_dataset,
)
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.risk.attribution import tcap as measures
from chaffinch.risk.attribution.tcap import tcap
from chaffinch.stats.intervals import CrossedPart, crossed_difference, crossed_mean

SIZES = (5, 3, 2, 4, 3)
FIELDS = OutputDomain(
    tuple(OutputColumn("abcdy"[k], tuple(range(size))) for k, size in enumerate(SIZES))
)


def drawn(rng, n):
    return np.stack([rng.integers(0, size, n) for size in SIZES], axis=1).astype(np.int32)


@given(
    st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 60), st.sampled_from([0.6, 0.75, 1.0])
)
def test_agrees_with_the_measure_for_people_in_a_table(seed, n_people, n_rows, tau):
    rng = np.random.default_rng(seed)
    people, group = drawn(rng, n_people), rng.integers(-1, 2, n_people)
    rows = drawn(rng, n_rows)
    attack = attack_of(FIELDS, "abcd", "y", sizes=(1, 4), tau=tau)
    found = ensemble_tcap([rows], people, group, attack, threads=1)
    assert found.values.shape == (1, 2, 2, 15)
    for k, keys in enumerate(attack.key_sets):
        at = [FIELDS.position(key) for key in keys]
        for side in (0, 1):
            here = people[group == side]
            for c, convention in enumerate(measures.CONVENTIONS[: len(CONVENTIONS)]):
                value = tcap(
                    here[:, at], here[:, 4], rows[:, at], rows[:, 4], convention=convention, tau=tau
                ).value
                mine = found.values[0, side, c, k]
                if len(here):
                    assert (
                        np.isnan(mine) if value is None else mine == pytest.approx(value, abs=1e-12)
                    )


def test_influence_is_what_deleting_a_person_changes():
    """Key set by key set and dataset by dataset; times sqrt((c - 1) / c) for one of c people who have the key, which makes squares unbiased."""
    rng = np.random.default_rng(1)
    people, group = drawn(rng, 150), np.arange(150) % 2
    datasets = [drawn(rng, 60) for _ in range(3)]
    attack = attack_of(FIELDS, "abcd", "y", sizes=(3, 4))
    found = ensemble_tcap(datasets, people, group, attack)
    shared = 0
    for person in range(0, 150, 7):
        side, expected = group[person], np.zeros((len(datasets), 2, len(attack.key_sets)))
        rest = group.copy()
        rest[person] = -1
        for d, one in enumerate(datasets):
            whole, less = (
                ensemble_tcap([one], people, some, attack).values[0, side] for some in (group, rest)
            )
            counted = np.isfinite(whole).sum(axis=1)
            for k, keys in enumerate(attack.key_sets):
                at = [FIELDS.position(key) for key in keys]
                count = int(
                    ((people[:, at] == people[person, at]).all(axis=1) & (group == side)).sum()
                )
                shared += count > 1
                factor = np.sqrt((count - 1) / count) if count > 1 else 1.0
                expected[d, :, k] = (
                    np.nan_to_num(whole[:, k] - less[:, k]) * factor / np.maximum(counted, 1)
                )
        assert found.influence[:, person] == pytest.approx(
            expected.sum(axis=2).mean(axis=0), abs=1e-12
        )
    assert shared > 20
    squares = np.array(
        [(ensemble_tcap([one], people, group, attack).influence ** 2) for one in datasets]
    )
    assert found.squares[:, 0] == pytest.approx(squares[:, :, group == 0].sum(axis=2))


def test_squares_of_people_who_share_a_key_are_the_variance_of_their_mean():
    """Four people have the one key, three of them the value that is said: the mean is 0.75, and its variance 0.25 / 4."""
    people = np.array([[0, 0, 0, 0, y] for y in (1, 1, 1, 0)], dtype=np.int32)
    found = ensemble_tcap(
        [people[:2]], people, np.zeros(4), attack_of(FIELDS, "abcd", "y", sizes=(4, 4))
    )
    assert found.means[0, 0] == pytest.approx([0.75, 0.75])
    assert found.squares[0, 0] == pytest.approx([0.25 / 4] * 2)


def test_what_is_said_is_what_unanimous_rows_say():
    people = np.array([[0, 0, 0, 0, 1], [1, 0, 0, 0, 1], [2, 0, 0, 0, 2]], dtype=np.int32)
    one = np.array(
        [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [1, 0, 0, 0, 1]], dtype=np.int32
    )
    two = np.array([[0, 0, 0, 0, 1], [1, 0, 0, 0, 2], [2, 0, 0, 0, 1]], dtype=np.int32)
    found = ensemble_tcap(
        [one, two], people, np.zeros(3), attack_of(FIELDS, "abcd", "y", sizes=(4, 4))
    )
    assert found.claims.spoken.tolist() == [[2, 1, 1]]
    assert found.claims.first.tolist() == [[1, 2, 1]]
    assert found.claims.correct.tolist() == [[2, 0, 0]]
    assert found.claims.pinned(0.5).tolist() == [[True, True, True]]
    assert found.claims.pinned(1.0).tolist() == [[True, False, False]]


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    people, group = drawn(rng, 300), np.arange(300) % 3 - 1
    datasets = [drawn(rng, 200) for _ in range(11)]
    attack = attack_of(FIELDS, "abcd", "y")
    first, second = (
        ensemble_tcap(datasets, people, group, attack, threads=threads) for threads in (1, 2)
    )
    assert np.array_equal(first.values, second.values, equal_nan=True)
    assert np.array_equal(first.influence, second.influence)
    assert np.array_equal(first.claims.correct, second.claims.correct)


def test_attacks_that_cannot_be():
    with pytest.raises(InputError, match="at least one other column"):
        attack_of(FIELDS, ["y"], "y")
    wide = OutputDomain(
        (
            *(OutputColumn(name, tuple(range(40_000))) for name in "abcdefg"),
            OutputColumn("y", (0, 1)),
        )
    )
    with pytest.raises(InputError, match="combinations"):
        attack_of(wide, "abcdefg", "y")


@pytest.mark.parametrize("tau", [0.6, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_hashed_keys_are_dense_keys(seed, tau):
    rng = np.random.default_rng(seed)
    sizes = np.array([3, 2, 4, 3])
    rows, people = (rng.integers(0, sizes, (n, 4)).astype(np.int32) for n in (40, 30))
    group = rng.integers(-1, 2, 30).astype(np.int8)
    columns, starts = np.array([0, 1, 0, 2, 0, 1, 2]), np.array([0, 2, 4, 7])

    def attack(radix):
        claims, influence = np.empty((3, 30), dtype=np.int32), np.zeros((2, 30))
        label, values = rows[:, 3].copy(), people[:, 3].copy()
        tcap = tcap_of_dataset(
            rows, label, columns, starts, radix, people, values, group, tau, claims, influence
        )
        return tcap, claims, influence

    for dense, hashed in zip(attack(sizes), attack(sizes * 1_000_003), strict=True):
        np.testing.assert_allclose(dense, hashed, equal_nan=True)


def test_claims_are_added_up():
    """Three datasets on four people, whose values are 0, 0, 1, 1; -1 says nothing."""
    first, spoken, correct = (np.zeros((1, 4), dtype=np.int32) for _ in range(3))
    agreed = np.ones((1, 4), dtype=np.bool_)
    for claims in ([0, 1, -1, 1], [0, 0, -1, -1], [0, 1, -1, 1]):
        add_claims(
            np.array([claims], dtype=np.int32),
            np.array([0, 0, 1, 1]),
            first,
            spoken,
            agreed,
            correct,
        )
    assert spoken.tolist() == [[3, 3, 0, 2]]
    assert first.tolist() == [[0, 1, 0, 1]]
    assert agreed.tolist() == [[True, False, True, True]]
    assert correct.tolist() == [[3, 1, 0, 2]]


POPULATION_SIZES = (6, 4, 3, 2, 3)
POPULATION_FIELDS = OutputDomain(
    tuple(OutputColumn("abcdy"[k], tuple(range(size))) for k, size in enumerate(POPULATION_SIZES))
)


def population(rng, n):
    x = np.stack([rng.integers(0, size, n) for size in POPULATION_SIZES[:-1]], axis=1)
    y = np.where(rng.random(n) < 0.5, (x[:, 0] + x[:, 1]) % 3, rng.integers(0, 3, n))
    return np.c_[x, y].astype(np.int32)


def assessed(seed, *, n=300, syntheses=12, copied=0):
    """The marginal risk of ensembles drawn from the population; `copied` of the fold's own records go into each dataset."""
    rng = np.random.default_rng(seed)
    people = population(rng, n)
    attack = attack_of(POPULATION_FIELDS, "abcd", "y", sizes=(2, 4))
    found = []
    for fold in folds(n, seed=rng):
        group = np.full(n, -1)
        group[fold.compared], group[fold.holdout] = 0, 1
        datasets = [population(rng, n // 2) for _ in range(syntheses)]
        for one in datasets:
            one[:copied] = people[rng.choice(fold.original, copied, replace=False)]
        found.append(ensemble_tcap(datasets, people, group, attack, threads=1))
    return measures_of({"y": found}, {"y": found})


def test_two_folds_by_hand():
    # Datasets give 1, 3 in one fold and 2, 2 in the other; four people, of whom two move each fold in opposite directions.
    first = CrossedPart(
        np.array([1.0, 3.0]), np.array([0.2, -0.2, 0.0, 0.0]), np.array([0.08, 0.08])
    )
    second = CrossedPart(
        np.array([2.0, 2.0]), np.array([-0.2, 0.2, 0.0, 0.0]), np.array([0.08, 0.08])
    )
    estimate = crossed_mean([first, second], level=0.9)
    assert estimate.value == 2.0
    assert estimate.error == pytest.approx(
        np.sqrt(2.0 / 2 / 4)
    )  # influences cancel: only the first fold's datasets differ
    half = stats.t.ppf(0.95, 1) * estimate.error
    assert (estimate.low, estimate.high) == pytest.approx((2 - half, 2 + half))


def test_what_is_special_about_pairs_counts_once():
    # Two datasets, two people; each person matters to one dataset alone, by 1: over people 0.5, over datasets 1 (var 2 / 2), pairs 0.5.
    part = CrossedPart(np.array([1.0, -1.0]), np.array([0.5, -0.5]), np.array([1.0, 1.0]))
    assert crossed_mean([part]).error == pytest.approx(np.sqrt(0.5 + 1.0 - 0.5))


def test_apart_subtracts_the_same_people():
    part = CrossedPart(np.array([1.0, 3.0]), np.array([0.3, -0.3]), np.array([0.2, 0.2]))
    assert crossed_difference([part], [part]).value == 0.0
    # The datasets' variance twice, less what is special about pairs, (0.4 - 2 * 0.18) / 2 each; people cancel.
    assert crossed_difference([part], [part]).error == pytest.approx(np.sqrt(2.0 - 2 * 0.02))


def test_nothing_measured_is_nan():
    nothing = CrossedPart(np.full(3, np.nan), np.zeros(2), np.zeros(3))
    assert np.isnan(crossed_mean([nothing]).value)


def test_zero_is_covered_as_often_as_is_said():
    """Simultaneous 95 % intervals over 120 draws: 104 to 119 cover zero under both conventions, unless a chance of 0.3 % comes true.

    So they are not too narrow, and hardly much too wide. `experiments/check_intervals` has the coverage at other sizes.
    """
    covered = 0
    for seed in range(120):
        covered += all(
            measure.marginal.low <= 0.0 <= measure.marginal.high for measure in assessed(seed)
        )
    assert 104 <= covered <= 119


def test_intervals_stay_inside_what_a_rate_can_be():
    """Two datasets for each fold tell hardly anything: intervals end at what is possible, and nothing is called detectable that is not."""
    measures = [measure for seed in range(8) for measure in assessed(seed, n=60, syntheses=2)]
    for measure in measures:
        for one in (measure.original, measure.holdout, measure.prior):
            assert 0.0 <= one.low <= one.value <= one.high <= 1.0
        for one in (measure.marginal, measure.beyond_prior):
            assert -1.0 <= one.low <= one.value <= one.high <= 1.0
        assert 0.0 <= measure.detectable <= 1.0 or measure.detectable == np.inf
    assert any(measure.detectable == np.inf for measure in measures)
    assert any(measure.detectable <= 1.0 for measure in measures)


def test_copied_records_are_found():
    assert all(measure.finding.excess_found for measure in assessed(1, copied=75))
