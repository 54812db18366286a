"""Conditional tables against the back-off formula in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import chaffinch
from chaffinch.counts import Marginal, MemoryCounter
from chaffinch.synth.bayesnet import tables as tables_module
from chaffinch.synth.bayesnet.tables import ConditionalTable, Level, table_from_marginal


def every_cell(sizes):
    cells = np.array(list(product(*map(range, sizes))), dtype=np.int64).reshape(-1, len(sizes))
    return [cells[:, i] for i in range(len(sizes))]


def fitted(table, parents, child, smoothing, **options):
    (marginal,) = MemoryCounter(table, **options).marginals([(*parents, child)])
    return table_from_marginal(marginal, smoothing=smoothing)


def test_a_table_worked_by_hand(coded):
    # a b x: 0 0 0, 0 0 1, 0 1 1, 1 0 0, 1 0 0; the combination a = 1, b = 1 never occurs.
    table = coded([[0, 0, 0, 1, 1], [0, 0, 1, 0, 0], [0, 1, 1, 0, 0]], [2, 2, 2])
    cpt = fitted(table, ["c0", "c1"], "c2", 1.0)
    # No parents: P(0) = 3/5. a = 0: (1 + 3/5) / (3 + 1) = 2/5. a = 1: (2 + 3/5) / (2 + 1) = 13/15.
    # a = 0, b = 0: (1 + 2/5) / (2 + 1) = 7/15. a = 0, b = 1: (0 + 2/5) / (1 + 1) = 1/5.
    # a = 1, b = 0: (2 + 13/15) / (2 + 1) = 43/45. a = 1, b = 1: as a = 1 alone, 13/15.
    zero = np.zeros(4, dtype=np.int64)
    got = cpt.probabilities(zero, [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])])
    assert got == pytest.approx([7 / 15, 1 / 5, 43 / 45, 13 / 15], abs=1e-15)


@pytest.mark.parametrize("smoothing", [0, Fraction(1, 4), 1, 3])
@pytest.mark.parametrize("form", ["dense", "sparse", "searched"])
def test_probabilities_equal_the_formula(smoothing, form, linked, back_off, monkeypatch):
    if form == "searched":
        monkeypatch.setattr(tables_module, "LOOKUP_CELLS", 0)
    options = {"dense_cells": 0} if form == "sparse" else {}
    for seed in range(3):
        sizes = [3, 2, 4, 3]
        table = linked(seed, sizes, 12)
        rows = np.stack([table.code(n) for n in table.schema.names], axis=1).tolist()
        for order in ([], [0], [2, 0], [1, 2, 0]):
            cpt = fitted(table, [f"c{p}" for p in order], "c3", float(smoothing), **options)
            cells = every_cell(sizes)
            got = cpt.probabilities(cells[3], [cells[p] for p in order])
            want = [
                float(back_off(rows, 3, order, Fraction(smoothing), row))
                for row in zip(*cells, strict=True)
            ]
            assert got == pytest.approx(want, abs=1e-14)
            sums = np.zeros([sizes[p] for p in order] or [1])
            np.add.at(sums, tuple(cells[p] for p in order) or (np.zeros(len(got), dtype=int),), got)
            share = np.prod(sizes) / (np.prod(sums.shape) * sizes[3])
            assert sums / share == pytest.approx(
                np.ones(sums.shape)
            )  # one for every combination, seen or not


def test_without_smoothing_a_seen_combination_has_its_own_shares_and_an_unseen_one_backs_off(
    linked,
):
    table = linked(4, [4, 4, 5], 15)
    a, b, x = (table.code(name).astype(int) for name in table.schema.names)
    cpt = fitted(table, ["c0", "c1"], "c2", 0.0)
    cells = every_cell([4, 4, 5])
    got = cpt.probabilities(cells[2], cells[:2])
    unseen = 0
    for (i, j, code), p in zip(zip(*cells, strict=True), got, strict=True):
        fits = (a == i) & (b == j)
        if not fits.any():
            unseen += 1
            fits = a == i if (a == i).any() else np.ones(len(a), dtype=bool)
        assert p == pytest.approx((x[fits] == code).mean())
    assert unseen
    assert len(np.unique(np.round(got, 9))) > 2


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_what_is_unknown_is_never_uniform(coded, smoothing):
    """A level that never occurs has probability 0 whatever the parents; an unseen parent gives the marginal."""
    table = coded([[0, 0, 1, 1], [0, 0, 0, 2]], [3, 4])
    cpt = fitted(table, ["c0"], "c1", smoothing)
    codes, parents = np.tile(np.arange(4), 3), np.repeat(np.arange(3), 4)
    got = cpt.probabilities(codes, [parents]).reshape(3, 4)
    assert (got[:, [1, 3]] == 0).all()
    assert got[2].tolist() == [0.75, 0, 0.25, 0]


def test_a_table_without_records_is_the_one_exception(coded):
    cpt = fitted(coded([[], []], [2, 4]), ["c0"], "c1", 1.0)
    assert cpt.probabilities(np.arange(4), [np.zeros(4, dtype=int)]) == pytest.approx([0.25] * 4)


def test_weights_need_not_be_whole():
    marginal = Marginal(("a", "x"), (2, 2), np.array([[0.5, 1.5], [0.0, 2.0]]))
    cpt = table_from_marginal(marginal, smoothing=0.5)
    # P(x = 0) = 1/8; a = 0: (0.5 + 0.5 / 8) / (2 + 0.5) = 9/40; a = 1: (0 + 0.5 / 8) / 2.5 = 1/40.
    assert cpt.probabilities(np.array([0, 0]), [np.array([0, 1])]) == pytest.approx(
        [9 / 40, 1 / 40]
    )


def test_memory_follows_the_records_not_the_domain(coded):
    rng = np.random.default_rng(0)
    sizes = [40_000, 40_000, 40_000, 10]
    codes = [rng.integers(0, size, 50) for size in sizes]
    cpt = fitted(coded(codes, sizes), ["c0", "c1", "c2"], "c3", 0.0)
    assert sum(len(level.weights) for level in cpt.levels) <= 200
    assert cpt.probabilities(codes[3], codes[:3]) == pytest.approx(np.ones(50))


@pytest.mark.parametrize("sizes", [[40_000] * 4 + [40], [50_000] * 4 + [50]])
def test_more_combinations_than_a_number_holds(coded, sizes):
    """40,000^4 x 40 and 50,000^4 are past 2^62: refused in words, never wrong."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(size - 3, size, 50) for size in sizes]
    with pytest.raises(
        chaffinch.errors.TooLargeError, match="'c4' given its 4 parents has too many combinations"
    ):
        fitted(coded(codes, sizes), ["c0", "c1", "c2", "c3"], "c4", 0.0)
    cpt = fitted(coded(codes, sizes), ["c0", "c1"], "c4", 0.0)
    rows = np.stack(codes, axis=1)
    for row, p in zip(rows, cpt.probabilities(codes[4], codes[:2]), strict=True):
        fits = (rows[:, :2] == row[:2]).all(axis=1)
        assert p == pytest.approx((rows[fits, 4] == row[4]).mean())


def level(**changes):
    parts = {
        "sizes": (3,),
        "keys": np.array([0, 2]),
        "starts": np.array([0, 2, 3]),
        "codes": np.array([0, 1, 1], dtype=np.uint32),
        "weights": np.ones(3),
    }
    return Level(**{**parts, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": np.array([0, 3])},
        {"keys": np.array([-1, 2])},
        {"keys": np.array([2, 0])},
        {"keys": np.array([0, 0])},
        {"keys": np.array([0])},
        {"starts": np.array([0, 2])},
        {"starts": np.array([1, 2, 3])},
        {"starts": np.array([0, 2, 4])},
        {"starts": np.array([0, 0, 3])},
        {"starts": np.array([0, 5, 3])},
        {"weights": np.array([1, 1, 0.0])},
        {"weights": np.array([1, 1, -1.0])},
        {"weights": np.array([1, 1, np.nan])},
        {"weights": np.array([1, 1, np.inf])},
        {"weights": np.ones(2)},
        {"sizes": (1 << 31, 1 << 31)},
        {"keys": np.empty(0, dtype=np.int64), "starts": np.array([0])},
    ],
)
def test_levels_that_do_not_fit_together_are_refused(changes):
    level().check()  # the unchanged one is sound
    with pytest.raises(chaffinch.errors.InputError, match="does not fit together"):
        level(**changes).check()


def test_tables_check_their_levels():
    root = Level((), np.array([0]), np.array([0, 2]), np.array([0, 1], dtype=np.uint32), np.ones(2))
    ConditionalTable("x", 2, ("a",), (root, level()), 1.0).check()
    for arguments, message in [
        (("x", 2, (), (root, level()), 1.0), "a level for each number of parents"),
        (("x", 2, ("a",), (level(), level()), 1.0), "a level for each number of parents"),
        (("x", 1, ("a",), (root, level()), 1.0), "a code outside the column"),
        (("x", 2, ("a",), (root, level()), -1.0), "smoothing must be at least 0"),
    ]:
        with pytest.raises(chaffinch.errors.InputError, match=message):
            ConditionalTable(*arguments).check()


def test_small_weights_of_one_combination_are_not_lost_among_large_ones_of_another():
    level = Level(
        (2,),
        np.array([0, 1]),
        np.array([0, 2, 5]),
        np.array([0, 1, 0, 1, 2], dtype=np.uint32),
        np.array([3e8, 1e8, 1e-9, 2e-9, 1e-9]),
    )
    assert level.cumulated.tolist() == [3e8, 4e8, 1e-9, 1e-9 + 2e-9, 1e-9 + 2e-9 + 1e-9]
