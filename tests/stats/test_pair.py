"""Two tables and their counts, and what every result says of itself."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.stats.pair import GROUPS, Pair, pair_up
from chaffinch.stats.result import Result


@pytest.fixture
def pair(coded) -> Pair:
    rng = np.random.default_rng(5)
    sizes = (3, 4, 2)
    return Pair(*(coded([rng.integers(0, s, n) for s in sizes], sizes) for n in (137, 60)))


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
        assert np.array_equal(two.sum(axis=2), one)  # the same records in a group, whatever is counted


def test_groups_are_dealt_always_the_same_and_not_by_position(pair, coded):
    assert all(map(np.array_equal, pair.grouped([("c0",)])[0], Pair(*pair.tables).grouped([("c0",)])[0]))
    # A sorted table: were groups runs of rows, each would hold one level.
    table = coded([np.repeat(np.arange(4), 250)], [4])
    (counts,), _ = Pair(table, table).grouped([("c0",)])
    assert (counts > 0).all()


def test_a_copy_has_the_groups_of_the_original(pair):
    same = Pair(pair.original, pair.original)
    first, second = same.grouped([("c0", "c1")])
    assert np.array_equal(first[0], second[0])


def test_groups_of_fewer_records_than_groups(coded):
    table = coded([[0, 1]], [2])
    (counts,), _ = Pair(table, table).grouped([("c0",)])
    assert counts.sum() == 2
    assert counts.shape == (GROUPS, 2)


def test_pairing_up_takes_frames_and_leaves_out_identifiers():
    rows = pa.table({"id": [f"p{i:04d}" for i in range(60)], "a": ["x", "y", "z"] * 20, "b": [1, 2] * 30})
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
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_record_is_in_one_group(coded, codes):
    table = coded([codes], [4])
    (counts,), _ = Pair(table, table).grouped([("c0",)])
    assert counts.sum() == len(codes)
    assert np.array_equal(counts.sum(axis=0), np.bincount(codes, minlength=4))


# Results


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Height(Result):
    name = "height"
    direction = "higher is better"
    identical = 1.0

    steps: int = 0

    def details(self):
        return {"steps": self.steps}


def test_a_result_has_a_value_or_a_reason():
    with pytest.raises(ValueError, match="height needs either a value or the reason why there is none"):
        Height(value=None)
    with pytest.raises(ValueError, match="either a value or the reason"):
        Height(value=1.0, why_not="there are no steps")


def test_a_result_as_plain_data():
    plain = Height(value=0.5, interval=(0.25, 0.75), steps=3, settings={"seed": 1}).to_dict()
    assert plain == {
        "value": 0.5,
        "interval": [0.25, 0.75],
        "direction": "higher is better",
        "identical": 1.0,
        "steps": 3,
        "settings": {"seed": 1},
    }
    assert json.loads(json.dumps(plain)) == plain
    assert Height(value=0.5).to_dict()["interval"] is None


def test_a_result_that_does_not_apply_as_plain_data():
    plain = Height(value=None, why_not="there are no steps").to_dict()
    assert (plain["value"], plain["not_applicable"]) == (None, "there are no steps")
    assert not {"interval", "steps"} & plain.keys()


def test_a_result_in_words():
    assert repr(Height(value=0.5, interval=(0.25, 0.75))) == (
        "Height(height = 0.5 [0.25, 0.75], higher is better, identical tables 1)"
    )
    assert repr(Height(value=None, why_not="there are no steps")) == "Height(not applicable because there are no steps)"
    assert "<td>0.25 to 0.75</td>" in Height(value=0.5, interval=(0.25, 0.75))._repr_html_()
    assert "&lt;b&gt;" in Height(value=None, why_not="<b>")._repr_html_()


def test_a_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Height(value=0.5).value = 1.0
