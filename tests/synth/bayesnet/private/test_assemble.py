"""From estimated tables to a network whose tables have the estimated sums."""

from __future__ import annotations

import numpy as np

from chaffinch.synth.bayesnet.private.assemble import MOST_CELLS, assemble, limited, spread_evenly
from chaffinch.synth.bayesnet.rules import Constraints, make_rules


def test_the_strongest_parents_that_keep_the_table_small():
    sizes = (2, 3, 4, MOST_CELLS)
    assert limited({1: 1.0, 2: 3.0, 3: 9.0}, 0, sizes, 2) == (2, 1)
    assert limited({1: 1.0, 2: 3.0}, 0, sizes, 1) == (2,)
    assert limited({}, 0, sizes, 2) == ()


def test_tables_have_the_estimated_conditional_distributions():
    rules = make_rules("ab", Constraints(1))
    pair = np.array([[300.0, 100.0], [60.0, 540.0]])
    margins = [pair.sum(axis=1), pair.sum(axis=0)]
    network = assemble(
        rules, (0, 1), {0: (), 1: (0,)}, margins, {(0, 1): pair}, np.random.default_rng(1)
    )
    assert network.order == (0, 1)
    assert network.parents == ((), (0,))
    counts = network.tables[1].counts
    np.testing.assert_allclose(
        counts / counts.sum(axis=1, keepdims=True),
        pair / pair.sum(axis=1, keepdims=True),
        atol=1e-9,
    )
    # 20,000 rows: shares of 0.4, and of 0.75 and 0.1 within, as exactly as whole numbers allow.
    assert network.sample.n_rows == 20_000
    np.testing.assert_allclose(network.sample.counts((0, 1)), 20 * pair, atol=2)


def test_numbers_are_spread_evenly_within_groups_in_random_order():
    rng = np.random.default_rng(2)
    key = rng.integers(0, 3, 1000)
    uniform = spread_evenly(key, rng)
    for group in range(3):
        own = np.sort(uniform[key == group])
        np.testing.assert_allclose(np.diff(own), 1 / len(own))
        assert 0 <= own[0] < 1 / len(own)
    # Independent of where the row stands: a rank correlation of 1,000 within 5 standard deviations.
    assert abs(np.corrcoef(uniform, np.arange(1000))[0, 1]) < 5 / 1000**0.5
    assert abs(np.corrcoef(uniform, spread_evenly(key, rng))[0, 1]) < 5 / 1000**0.5
    wide = rng.integers(0, 1 << 40, 50)  # keys too long for the short sort
    assert ((spread_evenly(wide, rng) >= 0) & (spread_evenly(wide, rng) < 1)).all()


def test_children_of_the_same_parent_stay_independent_and_unlinked_parents_are_counted():
    """b and c are drawn given a; d has both as parents, and their joint table is that of the model: a sum over a."""
    rules = make_rules("abcd", Constraints(2))
    of_a = np.array([400.0, 600.0])
    given = np.array([[0.7, 0.3], [0.2, 0.8]])
    pair = of_a[:, None] * given
    margin = pair.sum(axis=0)
    to_d = np.array([[0.5, 0.5], [0.1, 0.9]])
    tables = {
        (0, 1): pair,
        (0, 2): pair,
        (1, 3): margin[:, None] * to_d,
        (2, 3): margin[:, None] * to_d,
    }
    margins = [of_a, margin, margin, (margin[:, None] * to_d).sum(axis=0)]
    parents = {0: (), 1: (0,), 2: (0,), 3: (1, 2)}
    network = assemble(rules, (0, 1, 2, 3), parents, margins, tables, np.random.default_rng(3))
    expected = np.einsum("a,ab,ac->bc", of_a, given, given)
    # 20,000 rows; a cell of the joint table has a standard deviation of at most half a record in a thousand: 5 of them.
    np.testing.assert_allclose(
        network.tables[3].counts.sum(axis=2), expected, atol=5 * 1000 * (0.25 / 20_000) ** 0.5
    )
    own = network.tables[3].counts
    for axis in (0, 1):
        sums = own.sum(axis=1 - axis)
        np.testing.assert_allclose(sums / sums.sum(axis=1, keepdims=True), to_d, atol=0.01)


def test_links_that_contradict_each_other_do_not_move_the_column():
    """Two columns that exclude each other, but are not linked, as parents of one that tells which of them holds.

    As independent parents both hold at once in a ninth of the rows, which no table of the child allows for but for a little noise.
    """
    rules = make_rules("abc", Constraints(2))
    third = np.array([600.0, 300.0])  # not a, a
    own = np.array([300.0, 300.0, 300.0])  # a, b, neither
    to_a = np.array([[20.0, 290.0, 290.0], [280.0, 10.0, 10.0]])
    to_b = np.array([[290.0, 20.0, 290.0], [10.0, 280.0, 10.0]])
    network = assemble(
        rules,
        (0, 1, 2),
        {0: (), 1: (), 2: (0, 1)},
        [third, third, own],
        {(0, 2): to_a, (1, 2): to_b},
        np.random.default_rng(4),
    )
    # 18,000 rows, spread evenly within four groups. Unless it is settled, the last level has 380 records.
    np.testing.assert_allclose(network.sample.counts((2,)) / 20, own, atol=1)
