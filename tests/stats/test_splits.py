"""Splits and subsamples: sizes by class, every row once, seeds told apart."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.seeds import child
from chaffinch.stats.learners import split, subsample

LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=80).map(np.array)


@settings(max_examples=80, deadline=None)
@given(LABELS, st.floats(0.05, 0.95), st.integers(0, 99))
def test_a_split_has_each_row_once_and_both_parts_have_each_class_with_two_records(
    labels, share, seed
) -> None:
    train, test = split(labels, len(labels), share, np.random.default_rng(seed))
    assert sorted([*train, *test]) == list(range(len(labels)))
    for level, size in zip(*np.unique(labels, return_counts=True), strict=True):
        tested = int((labels[test] == level).sum())
        wanted = min(max(round(size * share), 1), size - 1)  # a single record trains
        assert tested == wanted


@settings(max_examples=80, deadline=None)
@given(LABELS, st.integers(1, 90), st.integers(0, 99))
def test_a_subsample_has_the_asked_size_and_every_class_near_its_share(labels, most, seed) -> None:
    rows = subsample(labels, len(labels), most, np.random.default_rng(seed))
    assert len(rows) == min(most, len(labels)) == len(np.unique(rows))
    levels, sizes = np.unique(labels, return_counts=True)
    if most >= len(levels):
        kept = np.array([(labels[rows] == level).sum() for level in levels])
        exact = sizes * min(1.0, most / len(labels))
        assert (kept >= 1).all()
        # Largest remainders stay within one record; classes lifted to one take at most one each from the others.
        assert (np.abs(kept - exact) <= len(levels)).all()
        if (exact >= 1).all():
            assert (np.abs(kept - exact) < 1).all()


def test_subsamples_are_random_in_each_class() -> None:
    labels = np.repeat([0, 1], [900, 100])
    hits = np.zeros(1000)
    for seed in range(400):
        hits[subsample(labels, 1000, 100, np.random.default_rng(seed))] += 1
    # Each record is kept with chance 0.1: 40 of 400, sd 6. Five sd and 1000 records: fails about once in 1,700 seeds if right.
    assert np.abs(hits - 40).max() < 5.5 * 6


def test_children_of_a_seed_differ_and_leave_it_alone() -> None:
    root = np.random.SeedSequence(5)
    draws = {tuple(child(root, *key).generate_state(2)) for key in [(0,), (1,), (0, 0), (0, 1)]}
    assert len(draws) == 4
    assert root.n_children_spawned == 0
    assert np.array_equal(
        child(root, 2).generate_state(4), np.random.SeedSequence(5).spawn(3)[2].generate_state(4)
    )
