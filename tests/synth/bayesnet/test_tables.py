"""Conditional tables against the back-off formula in fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.counts import Marginal, MemoryCounter
from chaffinch.synth import BayesNet, FieldGroups, Independent, Network, PrivBayes, synthesiser_of
from chaffinch.synth import model as model_module
from chaffinch.synth.bayesnet import tables as tables_module
from chaffinch.synth.bayesnet.tables import (
    ConditionalTable,
    Level,
    rows_by_group,
    shuffle_rows,
    sorted_by,
    step_of,
    systematic_codes,
    systematic_uniforms,
    table_from_marginal,
)
from chaffinch.synth.model import BATCH_ROWS
from chaffinch.synth.model_file import file_parts, with_checksum


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
        chaffinch._base.errors.TooLargeError,
        match="'c4' given its 4 parents has too many combinations",
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
    with pytest.raises(chaffinch._base.errors.InputError, match="does not fit together"):
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
        with pytest.raises(chaffinch._base.errors.InputError, match=message):
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


NAMES = ["c0", "c1", "c2", "c3"]
SHAPES = {
    "chain": [("c0", "c1"), ("c1", "c2"), ("c2", "c3")],
    "three parents": [("c0", "c3"), ("c1", "c3"), ("c2", "c3")],
    "diamond": [("c0", "c1"), ("c0", "c2"), ("c1", "c3"), ("c2", "c3")],
    "no edges": [],
    "full": [("c3", "c2"), ("c3", "c1"), ("c3", "c0"), ("c2", "c1"), ("c2", "c0"), ("c1", "c0")],
}


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 7.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_have_the_distribution_of_the_network(
    shape, smoothing, linked, joint_of, count_cells, assert_drawn_from
):
    table = linked(
        6, [2, 3, 2, 4], 25
    )  # few records, so that many combinations are unseen and back off
    model = BayesNet(
        conditionals="tables", network=Network.from_edges(NAMES, SHAPES[shape]), smoothing=smoothing
    ).fit(table)
    drawn = model.sample(100_000, seed=3)
    assert_drawn_from(count_cells(drawn), joint_of(model, table, smoothing))


def test_large_domains_are_searched_with_the_same_result(linked, monkeypatch):
    table = linked(6, [2, 3, 2, 4], 25)
    settings = BayesNet(conditionals="tables", network=Network.from_edges(NAMES, SHAPES["full"]))
    listed = settings.fit(table).sample(5000, seed=3)
    monkeypatch.setattr(tables_module, "LOOKUP_CELLS", 0)
    assert settings.fit(table).sample(5000, seed=3).data.equals(listed.data)


def test_a_wrong_distribution_would_be_noticed(linked, joint_of, count_cells, assert_drawn_from):
    """The other end of the tests above: one unit of smoothing more is seen at once."""
    table = linked(6, [2, 3, 2, 4], 25)
    model = BayesNet(
        conditionals="tables", network=Network.from_edges(NAMES, SHAPES["full"]), smoothing=2.0
    ).fit(table)
    with pytest.raises(AssertionError):
        assert_drawn_from(count_cells(model.sample(100_000, seed=3)), joint_of(model, table, 1.0))


@pytest.fixture
def mixed():
    """A table of several types: words, whole numbers, floats, dates, missing values, a made-up identifier."""
    rng = np.random.default_rng(2)
    n = 500
    frame = pa.table(
        {
            "word": rng.choice(["x", "y", "z"], n).tolist(),
            "whole": rng.integers(0, 1000, n),
            "part": np.round(rng.normal(size=n), 2),
            "day": pa.array((rng.integers(0, 3000, n)).astype("datetime64[D]")),
            "flag": rng.random(n) < 0.3,
            "holes": pa.array([None if x < 0.2 else float(x) for x in rng.random(n)]),
        }
    )
    return chaffinch.read(frame)


def test_the_same_seed_gives_the_same_rows_whatever_the_threads(mixed):
    model = BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1)
    n = 2 * BATCH_ROWS + 5
    one = model.sample(n, seed=9, threads=1)
    assert one.n_rows == n
    for threads in (2, 5):
        assert model.sample(n, seed=9, threads=threads).data.equals(one.data)
    assert not model.sample(n, seed=10).data.equals(one.data)


def test_batches_together_are_the_sample(mixed, monkeypatch):
    monkeypatch.setattr(model_module, "BATCH_ROWS", 100)
    model = BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1)
    for n in (0, 1, 100, 101, 550):
        parts = list(model.batches(n, seed=4, threads=2))
        assert sum(part.n_rows for part in parts) == n
        assert all(part.n_rows <= 100 for part in parts)
        whole = model.sample(n, seed=4)
        assert pa.concat_tables([part.data for part in parts]).equals(whole.data)
        for name in whole.schema.names:
            assert np.array_equal(
                np.concatenate([part.code(name) for part in parts]), whole.code(name)
            )


def test_more_rows_begin_with_the_same_batches(mixed, monkeypatch):
    monkeypatch.setattr(model_module, "BATCH_ROWS", 100)
    model = BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1)
    assert model.sample(900, seed=4).data.slice(0, 300).equals(model.sample(300, seed=4).data)


def test_batches_differ_from_each_other(linked, monkeypatch):
    monkeypatch.setattr(model_module, "BATCH_ROWS", 200)
    parts = list(
        BayesNet(conditionals="tables", parents=1).fit(linked(0, [5, 5], 100)).batches(400, seed=0)
    )
    assert not parts[0].data.equals(parts[1].data)


def test_batches_are_drawn_when_asked_for(linked, monkeypatch):
    """A hundred million rows can be begun and left: nothing holds them all."""
    monkeypatch.setattr(model_module, "BATCH_ROWS", 1000)
    model = BayesNet(conditionals="tables", parents=1).fit(linked(0, [5, 5], 100))
    drawn, draw = [], type(model).draw_codes
    monkeypatch.setattr(type(model), "draw_codes", lambda *given: drawn.append(1) or draw(*given))
    rows = model.batches(100_000_000, seed=0, threads=2)
    next(rows)
    assert len(drawn) <= 4


def test_drawn_numbers_encode_to_their_own_code(mixed):
    drawn = BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1).sample(2000, seed=5)
    again = chaffinch.read(drawn.data, schema=mixed.schema)
    for name in drawn.schema.names:
        column = mixed.schema[name]
        assert drawn.schema[name].type == column.type
        assert again.n_rows == drawn.n_rows


def test_seeds_of_all_kinds(linked):
    model = BayesNet(conditionals="tables", parents=1).fit(linked(0, [4, 4, 4], 200), seed=0)

    def rows(seed):
        return model.sample(50, seed=seed).data

    assert rows(7).equals(rows(7))
    assert rows(np.int64(7)).equals(rows(7))
    assert rows(np.random.SeedSequence(7)).equals(rows(7))
    assert rows(np.random.default_rng(7)).equals(rows(np.random.default_rng(7)))
    rng = np.random.default_rng(7)
    assert not rows(rng).equals(rows(rng))  # a generator moves on
    children = np.random.SeedSequence(7).spawn(2)
    assert not rows(children[0]).equals(rows(children[1]))
    assert not rows(None).equals(rows(None))
    for bad in (-1, True, 1.5, "seven"):
        with pytest.raises(chaffinch._base.errors.InputError, match="seed must be a whole number"):
            rows(bad)


def test_no_rows_and_bad_numbers_of_rows(mixed):
    model = BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1)
    empty = model.sample(0, seed=1)
    assert empty.n_rows == 0
    assert empty.data.schema.equals(model.sample(3, seed=1).data.schema)
    assert model.sample(np.int32(4), seed=1).n_rows == 4
    for bad in (-1, 2.5, "3", True):
        with pytest.raises(
            chaffinch._base.errors.InputError, match="rows must be a whole number of at least 0"
        ):
            model.sample(bad)
    with pytest.raises(chaffinch._base.errors.InputError, match="threads must be at least 1"):
        model.sample(5, threads=0)


def test_an_empty_table_can_be_fitted_and_drawn_from(coded, how):
    table = coded([[], [], []], [2, 3, 1])
    model = BayesNet(conditionals="tables", parents=2, **how).fit(table, seed=0)
    assert model.sample(10, seed=0).n_rows == 10
    assert Independent().fit(table).sample(10, seed=0).n_rows == 10


FULL = [("c0", "c1"), ("c0", "c2"), ("c1", "c2"), ("c1", "c3"), ("c2", "c3")]
SIZES = [2, 3, 2, 4]


def fitted_chain(linked, *, smoothing=0.0, draw="systematic", rows=25):
    table = linked(6, SIZES, rows)
    return BayesNet(
        conditionals="tables",
        network=Network.from_edges(NAMES, FULL),
        smoothing=smoothing,
        draw=draw,
    ).fit(table), table


@pytest.mark.parametrize("n", [*range(1, 40), 100, 720, 65_536])
def test_steps_have_no_common_divisor_with_the_number_of_points(n):
    step = step_of(n)
    assert 1 <= step <= max(n, 1)
    assert gcd(step, n) == 1
    assert n < 7 or abs(step / n - 0.618) < 0.2


@pytest.mark.parametrize("weights", [[1], [1, 1], [3, 1], [1, 2, 4], [5, 1, 1, 6]])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12])
def test_each_evenly_spaced_point_is_exact_over_all_offsets(n, weights):
    """No chance in it: points and bounds are multiples of 1 / (n T), so that the middles of as many even offsets weigh every case alike."""
    total, cumulated = sum(weights), np.cumsum(weights).astype(float)
    order, starts = np.arange(n, dtype=np.int32), np.array([0, n])
    seen = np.zeros((n, len(weights)))
    for i in range(n * total):
        offsets = np.array([(i + 0.5) / (n * total)])
        points = systematic_uniforms(order, starts, offsets)
        assert np.allclose(
            np.sort(points), (np.arange(n) + (offsets[0] * n) % 1) / n
        )  # evenly spaced
        codes = np.searchsorted(cumulated, points * total, side="right")
        assert (
            np.abs(np.bincount(codes, minlength=len(weights)) - n * np.array(weights) / total) < 1
        ).all()
        seen[np.arange(n), codes] += 1
    assert np.array_equal(seen, np.tile(n * np.array(weights, dtype=float), (n, 1)))


DISTRIBUTIONS = {
    "one code": [[3]],
    "two codes": [[1, 2], [3, 1], [2, 0], [0, 4]],
    "three codes": [[1, 2, 1], [0, 1, 3], [4, 0, 2]],
    "four codes": [[1, 1, 2, 2], [3, 0, 0, 1], [0, 2, 0, 0]],
}


@pytest.mark.parametrize("rows", [(1, 1), (2, 3), (5, 1)])
@pytest.mark.parametrize("case", DISTRIBUTIONS)
def test_each_row_has_exactly_its_distribution_over_all_starts_of_the_splits(case, rows):
    """All middles of steps of 1/12 as the starts of every split: shares have divisors of 12 below them, so that each case weighs alike."""
    table = np.array(DISTRIBUTIONS[case])
    size = table.shape[1]
    codes = np.nonzero(table)[1]
    entries = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))])
    cumulated = np.concatenate([np.cumsum(row[row > 0]) for row in table]).astype(float)
    each = [rows[g % 2] for g in range(len(table))]
    starts, n = np.concatenate([[0], np.cumsum(each)]), sum(each)
    of = np.repeat(np.arange(len(table)), each)
    order = np.random.default_rng(1).permutation(n).astype(np.int32)
    seen = np.zeros((n, size))
    cases = list(product([(i + 0.5) / 12 for i in range(12)], repeat=size - 1))
    for uniforms in cases:
        drawn = systematic_codes(
            order,
            starts,
            np.arange(len(table)),
            np.array(uniforms),
            (entries, codes.astype(np.uint32), cumulated),
        )
        seen[np.arange(n), drawn] += 1
    expected = np.empty((n, size))
    expected[order] = (table / table.sum(axis=1, keepdims=True))[of]
    assert np.allclose(seen / len(cases), expected, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_one_row_of_many_small_batches_has_the_distribution_of_the_network(
    linked, joint_of, assert_drawn_from, smoothing
):
    model, table = fitted_chain(linked, smoothing=smoothing)
    rng = np.random.default_rng(5)
    for row in (0, 3):  # rows of a batch hang together: one of each
        cells = np.zeros(SIZES, dtype=np.int64)
        for _ in range(4000):
            codes = model.draw_codes(4, rng)
            cells[tuple(codes[name][row] for name in NAMES)] += 1
        assert_drawn_from(cells, joint_of(model, table, smoothing))


@pytest.mark.parametrize("rows", [1, 2, 10, 100, 1000])
def test_counts_are_near_what_is_expected_given_the_parents(linked, rows):
    """Less than one away for each of the splits that lead to a code: one for two codes, two for three and four."""
    model, _ = fitted_chain(linked)
    for seed in range(20):
        codes = model.draw_codes(rows, np.random.default_rng(seed))
        for table in model.tables:
            key = np.zeros(rows, dtype=np.int64)
            for parent, size in zip(table.parents, table.levels[-1].sizes, strict=True):
                key = key * size + codes[parent]
            for value in np.unique(key):
                same = np.flatnonzero(key == value)
                if table.levels[-1].rows(np.array([value]))[0] < 0:
                    continue  # never seen: these rows share a distribution with others
                for code in range(table.size):
                    parents = [codes[p][same] for p in table.parents]
                    chance = table.probabilities(np.full(len(same), code), parents)[0]
                    away = abs((codes[table.child][same] == code).sum() - len(same) * chance)
                    assert away < max((table.size - 1).bit_length(), 1)


def test_single_columns_have_their_counts_whatever_the_parents(linked):
    """A column of two codes: its count is less than one from what its parents' values let expect, however many combinations they have."""
    model, _ = fitted_chain(linked, rows=60)
    at = model.network.order.index("c2")
    table = model.tables[at]
    for seed in range(20):
        codes = model.draw_codes(500, np.random.default_rng(seed))
        chances = table.probabilities(
            np.ones(500, dtype=np.int64), [codes[p] for p in table.parents]
        )
        assert abs(int((codes["c2"] == 1).sum()) - chances.sum()) < 1


def test_groups_are_listed_alone_where_there_are_many_more_than_rows():
    groups = np.array([5, 90_000, 5, 0, 90_000])
    order, starts, numbers = rows_by_group(groups, 100_000, [], np.random.default_rng(1))
    assert numbers.tolist() == [0, 5, 90_000]
    assert starts.tolist() == [0, 1, 3, 5]
    assert groups[order].tolist() == [0, 5, 5, 90_000, 90_000]
    _, starts, numbers = rows_by_group(np.array([2, 0, 2]), 3, [], np.random.default_rng(1))
    assert starts.tolist() == [0, 1, 1, 3]
    assert numbers.tolist() == [0, 1, 2]


def test_sorting_is_stable_and_shuffling_is_even():
    order, starts = sorted_by(
        np.array([3, 1, 0, 2], dtype=np.int32), np.array([1, 0, 1, 1], dtype=np.uint32), 2
    )
    assert order.tolist() == [1, 3, 0, 2]
    assert starts.tolist() == [0, 1, 4]
    seen = np.zeros((4, 4))
    for seed in range(4000):
        seen[np.arange(4), shuffle_rows(4, np.uint64(seed))] += 1
    assert (
        np.abs(seen - 1000) < 5.2 * np.sqrt(1000 * 0.75)
    ).all()  # 16 cells: fails about 3 times in a million


def test_tables_lie_nearer_to_the_model_than_those_drawn_one_by_one(linked):
    """Pairs of all columns, linked or not: on 2,000 rows the distance of systematic tables is less in every one of ten draws."""
    model, _ = fitted_chain(linked, rows=400)
    exact = model.draw_codes(400_000, np.random.default_rng(0))

    def distance(codes):
        total = 0.0
        for a, b in [(a, b) for a in NAMES for b in NAMES if a < b]:
            shape = [SIZES[NAMES.index(a)], SIZES[NAMES.index(b)]]
            one, two = (
                np.bincount(np.ravel_multi_index([c[a], c[b]], shape), minlength=np.prod(shape))
                / len(c[a])
                for c in (exact, codes)
            )
            total += np.abs(one - two).sum() / 2
        return total

    for seed in range(10):
        ours, theirs = (
            distance(model.draw_codes(2000, np.random.default_rng(seed), draw=draw))
            for draw in ("systematic", "independent")
        )
        assert ours < 0.8 * theirs


def test_threads_and_batches_change_nothing(linked, monkeypatch):
    monkeypatch.setattr(model_module, "BATCH_ROWS", 100)
    model, _ = fitted_chain(linked)
    whole = model.sample(950, seed=4, threads=1)
    assert model.sample(950, seed=4, threads=3).data.equals(whole.data)
    assert model.sample(1200, seed=4).data.slice(0, 900).equals(whole.data.slice(0, 900))
    assert not model.sample(950, seed=5).data.equals(whole.data)


@pytest.mark.parametrize(
    ("given", "rejects"), [({"c0": 1}, False), ({"c3": 2}, True), ({"c1": 1, "c3": 0}, True)]
)
def test_given_values_leave_the_distribution_exact(
    linked, joint_of, assert_drawn_from, given, rejects, monkeypatch
):
    """Where rows are rejected they are drawn one by one.

    Of two rows that must differ, x or y with chance 1/2 each, where x is accepted always and y half of the time, the first accepted one
    would be x with chance 3/4; it must be 2/3.
    """
    model, table = fitted_chain(linked)
    ways, draw_codes = set(), type(model).draw_codes

    def noted(self, *arguments, draw=None):
        ways.add(draw or self.fitted.draw)
        return draw_codes(self, *arguments, draw=draw)

    monkeypatch.setattr(type(model), "draw_codes", noted)
    given = {name: table.schema[name].codec.levels[code] for name, code in given.items()}
    joint = joint_of(model, table, 0.0)
    codes = {name: table.schema[name].codec.levels.index(value) for name, value in given.items()}
    at = tuple(codes.get(name, slice(None)) for name in NAMES)
    evidence = model.conditioned(given)
    cells = np.zeros(SIZES, dtype=np.int64)
    rng = np.random.default_rng(2)
    for _ in range(1500):
        drawn = evidence.draw(2, rng)
        cells[tuple(drawn[name][0] for name in NAMES)] += 1
    assert ways == {"independent" if rejects else "systematic"}
    assert cells[at].sum() == 1500
    assert_drawn_from(cells[at], joint[at] / joint[at].sum())


def test_promises_draw_systematically_unless_told_otherwise(linked):
    table = linked(1, SIZES, 200)
    declared = chaffinch.prepare(
        table.data,
        chaffinch.Schema(
            tuple(
                chaffinch.Column(n, "categorical", levels=tuple(table.schema[n].codec.levels))
                for n in NAMES
            ),
            public=True,
            rows=200,
        ),
    )
    for settings in (
        BayesNet(conditionals="tables", epsilon=1.0),
        PrivBayes(epsilon=1.0),
        FieldGroups(epsilon=1.0),
    ):
        assert settings.fit(declared, seed=1).fitted.draw == "systematic"
        assert (
            settings.set_params(draw="independent").fit(declared, seed=1).fitted.draw
            == "independent"
        )
    for plain in (BayesNet(conditionals="tables"), Independent()):
        assert plain.fit(table, seed=1).fitted.draw == "independent"
        assert plain.set_params(draw="systematic").fit(table, seed=1).fitted.draw == "systematic"
    assert synthesiser_of("bayesnet:draw=systematic").draw == "systematic"


@pytest.mark.parametrize(
    "settings", [BayesNet, Independent, lambda draw: PrivBayes(epsilon=1.0, draw=draw)]
)
def test_unknown_ways_to_draw_are_refused(settings):
    with pytest.raises(InputError, match=r"Unknown draw 'sytematic'\. Did you mean 'systematic'\?"):
        settings(draw="sytematic")


def test_files_keep_how_rows_are_drawn_and_old_ones_draw_one_by_one(linked, tmp_path):
    model, _ = fitted_chain(linked)
    path = tmp_path / "m.chaffinch"
    model.save(path)
    again = chaffinch.load(path)
    assert again.fitted.draw == "systematic"
    assert again.to_dict()["draw"] == "systematic"
    assert again.sample(300, seed=1).data.equals(model.sample(300, seed=1).data)
    header, arrays = file_parts(model)
    for word, expected in ((None, "independent"), ("sideways", None)):
        fitted_part = {k: v for k, v in header["fitted"].items() if k != "draw"} | (
            {} if word is None else {"draw": word}
        )
        text = json.dumps(header | {"fitted": fitted_part})
        save_file(arrays, path, {"chaffinch": with_checksum(text, arrays)})
        if expected is None:
            with pytest.raises(chaffinch._base.errors.FileError, match="damaged"):
                chaffinch.load(path)
        else:
            assert chaffinch.load(path).fitted.draw == expected
