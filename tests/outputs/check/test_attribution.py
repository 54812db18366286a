"""TCAP of ensembles: against the measures module, by deletion, and over threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.outputs.check.attribution import CONVENTIONS, attack_of, ensemble_tcap
from chaffinch.outputs.domain import Field, Fields
from chaffinch.risk.attribution import tcap as measures
from chaffinch.risk.attribution.tcap import tcap

SIZES = (5, 3, 2, 4, 3)
FIELDS = Fields(tuple(Field("abcdy"[k], tuple(range(size))) for k, size in enumerate(SIZES)))


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
    with pytest.raises(InputError, match="tau must be above"):
        attack_of(FIELDS, "ab", "y", tau=0.5)
    wide = Fields((*(Field(name, tuple(range(40_000))) for name in "abcdefg"), Field("y", (0, 1))))
    with pytest.raises(InputError, match="combinations"):
        attack_of(wide, "abcdefg", "y")
