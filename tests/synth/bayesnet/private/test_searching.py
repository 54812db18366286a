"""Scores over pairs, and who stays a parent."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.synth.bayesnet.private.assemble import MOST_CELLS
from chaffinch.synth.bayesnet.private.searching import (
    FEW_PARENTS,
    NOISY,
    PairScores,
    _worthwhile,
    with_fewer_parents,
)
from chaffinch.synth.bayesnet.rules import Constraints, make_rules


def test_scores_of_many_sets_are_sums_over_their_pairs():
    matrix = np.random.default_rng(1).random((4, 4))
    masks = np.array([0b0000, 0b0010, 0b1010, 0b1110])
    plain = [sum(matrix[0, j] for j in range(4) if mask >> j & 1) for mask in masks]
    assert PairScores(matrix).masked("pairwise", 0, masks, most=3) == pytest.approx(plain)


def test_parents_that_tell_nothing_go_and_required_ones_stay():
    matrix = np.zeros((3, 3))
    matrix[2, 0] = 5.0
    free, bound = (
        make_rules("abc", Constraints(2)),
        make_rules("abc", Constraints(2, require=(("b", "c"),))),
    )
    assert _worthwhile(2, (0, 1), matrix, (2, 2, 2), free) == (0,)
    assert _worthwhile(2, (0, 1), matrix, (2, 2, 2), bound) == (1, 0)
    with pytest.raises(InputError, match="too large to be measured"):
        _worthwhile(2, (0, 1), matrix, (2, MOST_CELLS, 2), bound)


def test_noisy_columns_get_few_parents_but_those_that_must_be():
    names = "abcdef"
    free = make_rules(names, Constraints(5))
    bound = make_rules(names, Constraints(5, require=tuple((p, "f") for p in "abcd")))
    assert with_fewer_parents(free, NOISY).most == 5
    assert with_fewer_parents(free, 2 * NOISY).most == FEW_PARENTS
    assert with_fewer_parents(bound, 2 * NOISY).most == 4
    assert with_fewer_parents(make_rules(names, Constraints(1)), 2 * NOISY).most == 1
