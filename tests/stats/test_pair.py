"""Two tables and their counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.stats import pair as module
from chaffinch.stats.pair import TablePair, pair_up, with_groups
from chaffinch.table.groups import GROUPS

from ..factories import people


@pytest.fixture
def pair(coded) -> TablePair:
    rng = np.random.default_rng(5)
    sizes = (3, 4, 2)
    return TablePair(*(coded([rng.integers(0, s, n) for s in sizes], sizes) for n in (137, 60)))


def plain_counts(table, clique) -> Counter:
    return Counter(zip(*(table.code(name).tolist() for name in clique), strict=True))


def test_marginals_of_both_tables(pair):
    cliques = [("c0",), ("c2", "c0"), ("c0", "c1", "c2")]
    for table, found in zip(pair.tables, pair.marginals(cliques), strict=True):
        for clique, marginal in zip(cliques, found, strict=True):
            assert marginal.columns == clique
            assert dict(np.ndenumerate(marginal.dense())) == {
                cell: plain_counts(table, clique)[cell] for cell in np.ndindex(marginal.sizes)
            }


def test_groups_sum_to_the_marginals(pair):
    cliques = [("c0",), ("c1", "c2")]
    for whole, grouped in zip(pair.marginals(cliques), pair.grouped(cliques), strict=True):
        for marginal, counts in zip(whole, grouped, strict=True):
            assert counts.shape == (GROUPS, *marginal.sizes)
            assert np.array_equal(counts.sum(axis=0), marginal.counts)


def test_groups_are_nearly_equal_and_the_same_for_every_clique(pair):
    for table, found in zip(pair.tables, pair.grouped([("c0",), ("c0", "c1")]), strict=True):
        one, two = found
        sizes = one.sum(axis=1)
        assert sizes.sum() == table.n_rows
        assert sizes.max() - sizes.min() <= 1
        assert np.array_equal(
            two.sum(axis=2), one
        )  # the same records in a group, whatever is counted


def test_groups_are_dealt_always_the_same_and_not_by_position(pair, coded):
    assert all(
        map(
            np.array_equal,
            pair.grouped([("c0",)])[0],
            TablePair(*pair.tables).grouped([("c0",)])[0],
        )
    )
    # A sorted table: were groups runs of rows, each would hold one level.
    table = coded([np.repeat(np.arange(4), 250)], [4])
    (counts,), _ = TablePair(table, table).grouped([("c0",)])
    assert (counts > 0).all()


def test_a_copy_has_the_groups_of_the_original(pair):
    same = TablePair(pair.original, pair.original)
    first, second = same.grouped([("c0", "c1")])
    assert np.array_equal(first[0], second[0])


def test_groups_of_fewer_records_than_groups(coded):
    table = coded([[0, 1]], [2])
    (counts,), _ = TablePair(table, table).grouped([("c0",)])
    assert counts.sum() == 2
    assert counts.shape == (GROUPS, 2)


def test_pairing_up_takes_frames_and_leaves_out_identifiers():
    rows = pa.table(
        {"id": [f"p{i:04d}" for i in range(60)], "a": ["x", "y", "z"] * 20, "b": [1, 2] * 30}
    )
    original = chaffinch.read(rows)
    pair = pair_up(original, rows.drop_columns("id").slice(0, 30))
    assert pair.names == ("a", "b")
    assert pair.schema is pair.synthetic.schema
    assert pair.marginals([("a",)])[1][0].counts.tolist() == [10, 10, 10]
    assert pair_up(*pair.tables).tables == pair.tables


def test_a_column_may_have_any_name():
    # The group is a column of its own inside; a table's column of nearly that name must not be in its way.
    rows = pa.table({"group": ["x", "y", "z"] * 20, "b": ["p", "q"] * 30})
    pair = pair_up(chaffinch.read(rows), rows)
    (counts,), _ = pair.grouped([("group",)])
    assert counts.sum(axis=0).tolist() == [20, 20, 20]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80))
@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_record_is_in_one_group(coded, codes):
    table = coded([codes], [4])
    (counts,), _ = TablePair(table, table).grouped([("c0",)])
    assert counts.sum() == len(codes)
    assert np.array_equal(counts.sum(axis=0), np.bincount(codes, minlength=4))


def test_weights_are_counted_not_compared():
    """Against sums by hand: each row adds its weight to its cell, in the marginals and in the groups."""
    from dataclasses import replace

    rng = np.random.default_rng(2)
    values = pa.table(
        {
            "a": rng.choice(["x", "y"], 200),
            "b": rng.choice(["p", "q"], 200),
            "w": rng.integers(1, 9, 200) / 2,
        }
    )
    table = chaffinch.read(values)
    table = replace(table, schema=table.schema.with_roles(weight="w"))
    both = pair_up(table, table.take(np.arange(60)))
    assert both.names == ("a", "b")
    frame = values.to_pandas()
    for n, total, (marginal,), (grouped,) in zip(
        (200, 60),
        both.totals,
        both.marginals([("a", "b")]),
        both.grouped([("a", "b")]),
        strict=True,
    ):
        expected = frame[:n].groupby(["a", "b"])["w"].sum().to_numpy().reshape(2, 2)
        assert np.allclose(marginal.dense(), expected)
        assert np.allclose(grouped.sum(axis=0), expected)
        assert total == pytest.approx(expected.sum())


def test_rows_of_one_person_are_dealt_together():
    persons = np.repeat(np.arange(50), 4)
    table = replace(chaffinch.read(people(200)), person_of=persons)
    groups = with_groups(table).codes[0]
    assert all(len(set(groups[persons == p])) == 1 for p in range(50))
    assert len(set(groups)) == GROUPS
    assert (with_groups(chaffinch.read(people(50))).codes[0] == groups[::4]).all()


def test_records_are_dealt_block_by_block_as_all_at_once(monkeypatch):
    """The first block is dealt as ever; later ones are shuffled otherwise, and sizes differ by one at most."""
    whole = (np.arange(300) % GROUPS).astype(np.uint8)
    np.random.default_rng(0).shuffle(whole)
    assert (module._groups_between(300, 0, 300) == whole).all()
    monkeypatch.setattr(module, "DEALT", 100)
    module._block_of_groups.cache_clear()
    groups = module._groups_between(257, 0, 257)
    assert np.ptp(np.bincount(groups)) <= 1
    assert not (groups[:100] == groups[100:200]).all()
    for start, stop in ((0, 257), (0, 100), (90, 210), (255, 257), (257, 257)):
        assert (module._groups_between(257, start, stop) == groups[start:stop]).all()
    module._block_of_groups.cache_clear()
