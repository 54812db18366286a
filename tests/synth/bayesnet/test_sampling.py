"""Drawing rows: the right distribution, and the same rows for a seed whatever the threads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.synth import BayesNet, Independent, Network
from chaffinch.synth import model as model_module
from chaffinch.synth.bayesnet import tables as tables_module
from chaffinch.synth.model import BATCH_ROWS

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
        conditionals="tables", network=Network.of(NAMES, SHAPES[shape]), smoothing=smoothing
    ).fit(table)
    drawn = model.sample(100_000, seed=3)
    assert_drawn_from(count_cells(drawn), joint_of(model, table, smoothing))


def test_large_domains_are_searched_with_the_same_result(linked, monkeypatch):
    table = linked(6, [2, 3, 2, 4], 25)
    settings = BayesNet(conditionals="tables", network=Network.of(NAMES, SHAPES["full"]))
    listed = settings.fit(table).sample(5000, seed=3)
    monkeypatch.setattr(tables_module, "LOOKUP_CELLS", 0)
    assert settings.fit(table).sample(5000, seed=3).data.equals(listed.data)


def test_a_wrong_distribution_would_be_noticed(linked, joint_of, count_cells, assert_drawn_from):
    """The other end of the tests above: one unit of smoothing more is seen at once."""
    table = linked(6, [2, 3, 2, 4], 25)
    model = BayesNet(
        conditionals="tables", network=Network.of(NAMES, SHAPES["full"]), smoothing=2.0
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
        with pytest.raises(chaffinch.errors.InputError, match="seed must be a whole number"):
            rows(bad)


def test_no_rows_and_bad_numbers_of_rows(mixed):
    model = BayesNet(conditionals="tables", parents=2).fit(mixed, seed=1)
    empty = model.sample(0, seed=1)
    assert empty.n_rows == 0
    assert empty.data.schema.equals(model.sample(3, seed=1).data.schema)
    assert model.sample(np.int32(4), seed=1).n_rows == 4
    for bad in (-1, 2.5, "3", True):
        with pytest.raises(
            chaffinch.errors.InputError, match="rows must be a whole number of at least 0"
        ):
            model.sample(bad)
    with pytest.raises(chaffinch.errors.InputError, match="threads must be at least 1"):
        model.sample(5, threads=0)


def test_an_empty_table_can_be_fitted_and_drawn_from(coded, how):
    table = coded([[], [], []], [2, 3, 1])
    model = BayesNet(conditionals="tables", parents=2, **how).fit(table, seed=0)
    assert model.sample(10, seed=0).n_rows == 10
    assert Independent().fit(table).sample(10, seed=0).n_rows == 10
