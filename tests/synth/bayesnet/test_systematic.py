"""Systematic drawing: each row alone exactly as the network says, counts less than one from what is expected."""

from __future__ import annotations

import json
from itertools import product
from math import gcd

import numpy as np
import pytest
from safetensors.numpy import save_file

import chaffinch
from chaffinch.errors import InputError
from chaffinch.synth import BayesNet, FieldGroups, Independent, Network, PrivBayes
from chaffinch.synth import model as model_module
from chaffinch.synth.bayesnet.systematic import (
    rows_by_group,
    shuffled,
    sorted_by,
    step_of,
    systematic_codes,
    systematic_uniforms,
)
from chaffinch.synth.model_file import file_parts, with_checksum
from chaffinch.synth.spec import synthesiser_of

NAMES = ["c0", "c1", "c2", "c3"]
FULL = [("c0", "c1"), ("c0", "c2"), ("c1", "c2"), ("c1", "c3"), ("c2", "c3")]
SIZES = [2, 3, 2, 4]


def fitted(linked, *, smoothing=0.0, draw="systematic", rows=25):
    table = linked(6, SIZES, rows)
    return BayesNet(
        conditionals="tables", network=Network.of(NAMES, FULL), smoothing=smoothing, draw=draw
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
    model, table = fitted(linked, smoothing=smoothing)
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
    model, _ = fitted(linked)
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
    model, _ = fitted(linked, rows=60)
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
        seen[np.arange(4), shuffled(4, np.uint64(seed))] += 1
    assert (
        np.abs(seen - 1000) < 5.2 * np.sqrt(1000 * 0.75)
    ).all()  # 16 cells: fails about 3 times in a million


def test_tables_lie_nearer_to_the_model_than_those_drawn_one_by_one(linked):
    """Pairs of all columns, linked or not: on 2,000 rows the distance of systematic tables is less in every one of ten draws."""
    model, _ = fitted(linked, rows=400)
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
    model, _ = fitted(linked)
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
    model, table = fitted(linked)
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
    with pytest.raises(
        InputError, match=r"Unknown way to draw rows 'sytematic'\. Did you mean 'systematic'\?"
    ):
        settings(draw="sytematic")


def test_files_keep_how_rows_are_drawn_and_old_ones_draw_one_by_one(linked, tmp_path):
    model, _ = fitted(linked)
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
            with pytest.raises(chaffinch.errors.FileError, match="damaged"):
                chaffinch.load(path)
        else:
            assert chaffinch.load(path).fitted.draw == expected
