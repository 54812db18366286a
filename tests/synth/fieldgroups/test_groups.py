"""Which columns share a table: thresholds and costs by hand, joins that pay, and groups that cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from chaffinch._base.errors import InputError, TooLargeError, UnknownNameError
from chaffinch.privacy.samplers import draw_laplace
from chaffinch.synth.fieldgroups import FieldGroups
from chaffinch.synth.fieldgroups.groups import _Costs, merged_groups, threshold_of, usable_pairs

ODDS = 1e-6


def test_thresholds_worked_by_hand():
    # 4 groups at epsilon 0.8 have scale 4 / 0.8 = 5; 100 cells: 1.9 * 5 * log10(100) = 19.
    assert threshold_of(100, 5.0, 1.9) == pytest.approx(19.0)
    assert threshold_of(1, 5.0, 1.9) == 0.0
    # Of 10,000 empty cells, Laplace noise of a large scale passes it in 10^(4 * 0.17486) / 2 = 2.5 on average.
    noise = draw_laplace(np.random.default_rng(1), 200.0, (100, 10_000))
    above = (noise >= threshold_of(10_000, 200.0, 1.9)).sum()
    assert stats.poisson.cdf(above, 250.1) > ODDS / 2
    assert stats.poisson.sf(above - 1, 250.1) > ODDS / 2


def test_what_a_table_costs_worked_by_hand():
    # Two columns, (60, 40) and (90, 10) of 100: cells 54, 6, 36, 4. One group at epsilon 1: scale 1, threshold 1.9 log10(4) = 1.14:
    # all stay, 4 halves. Ten groups: scale 10, threshold 11.4: 6 and 4 are lost, two cells wrong by 5 each.
    costs = _Costs([np.array([60.0, 40.0]), np.array([90.0, 10.0])], 100.0, 1.0, 1, 1.9)
    assert costs.of([0, 1], 1) == pytest.approx(2.0)
    assert costs.of([0, 1], 10) == pytest.approx(6 + 4 + 2 * 5)


def test_groups_join_from_the_closest_while_it_pays():
    margins = [np.full(2, 500.0)] * 4
    pairs = [(0, 1), (0, 2), (2, 3)]
    options = {"epsilon": 1.0, "l1": 1, "factor": 1.9}
    assert merged_groups(pairs, np.array([400.0, 300, 200]), 10.0, margins, **options) == [
        [0, 1, 2, 3]
    ]
    assert merged_groups(pairs, np.array([400.0, 5, 200]), 10.0, margins, **options) == [
        [0, 1],
        [2, 3],
    ]
    assert merged_groups(pairs, np.array([400.0, 300, 200]), 500.0, margins, **options) == [
        [0],
        [1],
        [2],
        [3],
    ]
    # Of little use: the joint table would lose more than the distance.
    assert merged_groups(
        pairs, np.array([400.0, 300, 200]), 1.0, margins, epsilon=0.001, l1=1, factor=1.9
    ) == [[0], [1], [2], [3]]


def test_usable_pairs_come_from_public_numbers():
    # 4 columns: as if 2 groups, scale 2 / 0.5 = 4; 100 rows: tables of up to 25 cells.
    assert usable_pairs((5, 5, 6, 2), 100, 0.5, 1) == [(0, 1), (0, 3), (1, 3), (2, 3)]
    assert usable_pairs((5, 5), 0, 0.5, 1) == []


def test_groups_that_cannot_be(private):
    table = private([[0], [1], [0]], (2, 2, 2))
    with pytest.raises(InputError, match="'a' is in groups twice"):
        FieldGroups(1.0, [["a", "b"], ["c", "a"]])
    with pytest.raises(InputError, match="Got text"):
        FieldGroups(1.0, "ab")
    with pytest.raises(InputError, match="Got text"):
        FieldGroups(1.0, ["a", "b"])
    with pytest.raises(InputError, match="at least one column"):
        FieldGroups(1.0, [[]])
    with pytest.raises(UnknownNameError, match="Unknown column 'c9'"):
        FieldGroups(1.0, [["c9"]]).fit(table, seed=1)
    for bad in (
        {"threshold": -1},
        {"learning": 1.0},
        {"empty": "none"},
        {"epsilon": 0},
        {"rows_per_person": 0},
    ):
        with pytest.raises(InputError):
            FieldGroups(**{"epsilon": 1.0, **bad})


def test_a_group_beyond_memory_is_named_before_anything_is_spent(declared, private):
    sizes = (1000,) * 8  # 10^24 cells: beyond 64 bits
    settings = FieldGroups(1.0, [[f"c{j}" for j in range(8)]])
    for call in (
        lambda: settings.plan(declared(sizes, 10)),
        lambda: settings.fit(private([[0]] * 8, sizes), seed=1),
    ):
        with pytest.raises(TooLargeError, match=r"group c0, c1, .* cells, over the limit"):
            call()
