"""What rows are drawn from: the tables above the threshold, and single columns where nothing is."""

from __future__ import annotations

from itertools import product

import numpy as np

from chaffinch.privacy.counter import NoisyTable
from chaffinch.synth.fieldgroups import FieldGroups
from chaffinch.synth.fieldgroups.measuring import tables_of
from chaffinch.table import Table


def whole_domain(model):
    """Return the model's probability of every cell of its domain, in C order."""
    sizes = model.schema.sizes
    grid = np.array(list(product(*map(range, sizes))), dtype=np.uint32)
    table = Table.from_codes(model.schema, [grid[:, j] for j in range(len(sizes))], seed=0)
    return np.exp(model.log_likelihood(table)).reshape(sizes)


def test_a_group_with_nothing_above_the_threshold(private):
    codes = [[1] * 60, [2] * 60]
    table = private(codes, (4, 30))
    options = {"groups": [["c0", "c1"]], "threshold": 1e6}
    first = FieldGroups(50.0, empty="first", **options).fit(table, seed=1)
    assert first.network.edges == ()
    assert whole_domain(first)[0, 0] == 1.0  # as published: the first level of each column
    ours = whole_domain(FieldGroups(50.0, **options).fit(table, seed=1))
    assert ours[1, 2] > 0.9  # the single columns that the noisy table adds up to


def test_a_learnt_group_that_is_empty_has_its_measured_columns(private):
    a = np.arange(4000) % 4
    table = private([a, a], (4, 4))
    model = FieldGroups(20.0, threshold=0.0).fit(table, seed=1)
    assert model.network.parents == ((), ("c0",))
    empty = FieldGroups(20.0, threshold=1e6).fit(table, seed=1)
    assert empty.network.edges == ()
    np.testing.assert_allclose(whole_domain(empty).sum(axis=0), 0.25, atol=0.01)


def test_an_empty_table_has_the_columns_that_were_released_or_its_own_sums():
    noisy = NoisyTable(("a", "b"), (2, 2), np.array([[3, -1], [1, 1]]), 5.0)
    tables, whole = tables_of(
        [noisy], 5.0, factor=1.9, empty="columns", columns={"a": np.array([7.0, 9.0])}
    )
    assert whole == [False]
    assert [(t.columns, t.counts.tolist()) for t in tables] == [
        (("a",), [7.0, 9.0]),
        (("b",), [4.0, 0.0]),
    ]
