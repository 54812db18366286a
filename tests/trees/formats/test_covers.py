"""Covers give numbers of records back: exactly before the first step, within bounds that hold every solution after it, never for weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chaffinch.trees.formats.covers import CoverLaw, counted_trees, law_of
from chaffinch.trees.tree import Tree


def ladder(cuts, values, column=0, missing=False):
    """A tree of one column with a leaf below each cut, and one above all."""
    n = len(cuts)
    left = [*range(n, 2 * n), *[-1] * (n + 1)]
    right = [*range(1, n), 2 * n, *[-1] * (n + 1)]
    feature, threshold = [column] * n + [-1] * (n + 1), [*cuts, *[np.nan] * (n + 1)]
    value = np.zeros((2 * n + 1, 1, 1))
    value[n:, 0, 0] = values
    return Tree.from_nodes(left, right, feature, threshold, [missing] * (2 * n + 1), value)


def covers_of(trees, law, columns, weights=None):
    """What a booster would write: 32-bit sums of second derivatives at the margins so far."""
    n = len(columns[0])
    weights = np.ones(n) if weights is None else weights
    margins = np.tile(np.array(law.base), (n, 1))
    out = []
    for number, tree in enumerate(trees):
        where = tree.apply(columns)
        h = law.derivatives(margins, law.outputs[number]) * weights
        out.append(
            tree.summed(np.bincount(where, h, tree.n_nodes)).astype(np.float32).astype(np.float64)
        )
        margins[:, law.outputs[number]] += tree.value[where, 0, 0]
    return out


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(5)
    return [rng.integers(0, 8, 60).astype(float), rng.integers(0, 8, 60).astype(float)]


TREES = [
    ladder([2.5, 5.5], [0.4, -0.3, 0.7]),
    ladder([1.5, 3.5, 6.5], [0.2, 0.1, -0.4, 0.3], column=1),
]


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson", "binary:logitraw"])
def test_the_first_tree_is_counted_exactly_and_the_second_within_bounds(columns, objective):
    law = law_of(objective, 0.37, (0, 0), (0, 1))
    answer = counted_trees(TREES, covers_of(TREES, law, columns), law)
    sizes = [np.bincount(tree.apply(columns), minlength=tree.n_nodes) for tree in TREES]
    assert (answer[0].samples[TREES[0].leaves] == sizes[0][TREES[0].leaves]).all()
    if answer[1].samples is None:
        low, high = answer[1].bounds[TREES[1].leaves].T
        assert ((low <= sizes[1][TREES[1].leaves]) & (sizes[1][TREES[1].leaves] <= high)).all()


def test_bounds_hold_every_solution_and_no_less_where_leaves_are_counted_out():
    # Second opinion: all 3 x 3 tables of whole numbers with the sums of the first tree, by brute force.
    rng = np.random.default_rng(0)
    second = ladder([2.5, 5.5], [0.1, -0.2, 0.3], column=1)
    first = TREES[0]
    law = law_of("binary:logistic", 0.3, (0, 0), (0, 1))
    steps = first.value[first.leaves, 0, 0]
    h = law.derivatives(law.base[0] + steps[:, None], 0)
    for _ in range(8):
        data = [rng.integers(0, 8, 9).astype(float), rng.integers(0, 8, 9).astype(float)]
        covers = covers_of([first, second], law, data)
        answer = counted_trees([first, second], covers, law)[1]
        rows = np.bincount(first.apply(data), minlength=first.n_nodes)[first.leaves]
        cover = covers[1][second.leaves]
        totals = []
        for parts in product(
            *([p for p in product(range(n + 1), repeat=3) if sum(p) == n] for n in rows)
        ):
            table = np.array(parts)
            if np.allclose(h @ table, cover, rtol=1e-6, atol=1e-9):
                totals.append(table.sum(axis=0))
        assert totals
        known = answer.bounds if answer.samples is None else np.column_stack([answer.samples] * 2)
        low, high = known[second.leaves].T
        assert (low <= np.min(totals, axis=0)).all()
        assert (high >= np.max(totals, axis=0)).all()
        if answer.samples is not None:
            assert (np.min(totals, axis=0) == np.max(totals, axis=0)).all()


def test_softmax_uses_the_margins_of_all_classes(columns):
    trees = [*TREES, ladder([3.5], [0.5, -0.5]), *TREES]
    law = law_of("multi:softprob", [0.1, 0.5, -0.3], (0, 1, 2, 0, 1), (0, 0, 0, 1, 1))
    n = len(columns[0])
    margins, covers = np.tile(np.array(law.base), (n, 1)), []
    step = np.zeros_like(margins)
    for number, tree in enumerate(trees):
        if number == 3:
            margins = margins + step
        where = tree.apply(columns)
        p = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
        h = 2 * p[:, law.outputs[number]] * (1 - p[:, law.outputs[number]])
        covers.append(
            tree.summed(np.bincount(where, h, tree.n_nodes)).astype(np.float32).astype(np.float64)
        )
        step[:, law.outputs[number]] += tree.value[where, 0, 0]
    for tree, answer in zip(trees, counted_trees(trees, covers, law), strict=True):
        sizes = tree.summed(np.bincount(tree.apply(columns), minlength=tree.n_nodes))
        known = answer.bounds if answer.samples is None else np.column_stack([answer.samples] * 2)
        assert ((known[:, 0] <= sizes) & (sizes <= known[:, 1])).all()


def test_weights_are_no_records(columns):
    law = law_of("binary:logistic", 0.37, (0, 0), (0, 1))
    weights = np.random.default_rng(1).random(60) + 0.5
    answer = counted_trees(TREES, covers_of(TREES, law, columns, weights), law)
    assert [(t.samples, t.bounds) for t in answer] == [(None, None)] * 2
    assert all("cannot be told" in t.reason for t in answer)


def test_another_part_of_the_records_for_the_second_tree_is_seen(columns):
    law = law_of("binary:logistic", 0.37, (0, 0), (0, 1))
    covers = covers_of(TREES, law, columns)
    other = covers_of(TREES, law, [c[:41] for c in columns])
    answer = counted_trees(TREES, [covers[0], other[1]], law)
    assert answer[0].samples is not None
    assert (answer[1].samples, answer[1].bounds) == (None, None)
    assert "part of them" in answer[1].reason


def test_dropped_trees_leave_the_first_round_alone(columns):
    law = law_of("binary:logistic", 0.37, (0, 0), (0, 1), sums=False)
    answer = counted_trees(TREES, covers_of(TREES, law, columns), law)
    assert answer[0].samples is not None
    assert "dropped" in answer[1].reason


def test_missing_values_are_in_no_range_and_still_somewhere():
    # The record with a missing value is below 2.5 and above 5.5 at once: a cell that ranges alone would call empty.
    trees = [ladder([2.5], [0.4, -0.3], missing=True), ladder([5.5], [0.2, 0.1])]
    law = law_of("binary:logistic", 0.37, (0, 0), (0, 1))
    column = [np.array([1.0, 2.0, 4.0, 7.0, np.nan])]
    answer = counted_trees(trees, covers_of(trees, law, column), law)
    assert [t.samples.tolist() for t in answer] == [[5, 3, 2], [5, 3, 2]]


@pytest.mark.parametrize(
    ("objective", "base"),
    [
        ("rank:pairwise", 0.5),
        ("binary:logistic", 1.2),
        ("count:poisson", 0.0),
        ("multi:softprob", [1.0, 2.0]),
    ],
)
def test_a_law_that_makes_no_sense_is_none(objective, base):
    assert law_of(objective, base, (0, 1, 2), (0, 0, 0)) is None


def test_a_base_score_is_turned_into_a_margin():
    assert law_of("binary:logistic", [0.5], (0,), (0,)) == CoverLaw(
        "binary:logistic", (0.0,), (0,), (0,)
    )
    assert law_of("binary:logitraw", 0.5, (0,), (0,)).base == (0.5,)
    assert law_of("count:poisson", 1.0, (0,), (0,)).base == (0.0,)
    assert law_of("multi:softmax", 0.5, (0, 1), (0, 0)).base == (0.5, 0.5)


def test_without_room_for_ranges_the_first_round_is_still_counted(columns, monkeypatch):
    law = law_of("binary:logistic", 0.37, (0, 0), (0, 1))
    covers, sizes = (
        covers_of(TREES, law, columns),
        [np.bincount(t.apply(columns), minlength=t.n_nodes) for t in TREES],
    )
    monkeypatch.setattr("chaffinch.trees.formats.covers._MOST_RANGES", 4)
    answer = counted_trees(TREES, covers, law)
    assert (answer[0].samples[TREES[0].leaves] == sizes[0][TREES[0].leaves]).all()
    assert "too many ways" in answer[1].reason


def test_trees_of_a_round_are_counted_by_the_margins_it_started_with(columns, monkeypatch):
    trees = [*TREES, ladder([3.5], [0.5, -0.5])]
    law = law_of("multi:softmax", 0.5, (0, 1, 2), (0, 0, 0))
    covers = []
    for tree in trees:
        n = np.bincount(tree.apply(columns), minlength=tree.n_nodes)
        covers.append(tree.summed(n) * 2 * (1 / 3) * (2 / 3))
    monkeypatch.setattr("chaffinch.trees.formats.covers._MOST_PAIRS", 6)
    answer = counted_trees(trees, covers, law)
    assert all(t.samples is not None for t in answer)
    assert [t.samples[0] for t in answer] == [60, 60, 60]
