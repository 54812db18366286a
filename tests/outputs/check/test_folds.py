"""Folds: who stands behind the outputs and who is held out."""

import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.check.assessment import folds


def test_folds_swap_sides():
    first, second = folds(101, seed=1)
    assert sorted(first.holdout) == sorted(set(range(101)) - set(first.original))
    assert not set(first.holdout) & set(second.holdout)
    assert len(first.compared) == len(first.holdout) == 50
    assert set(first.compared) <= set(first.original)


def test_smaller_holdouts_and_folds_of_folds():
    few = folds(200, holdout_share=0.2, repeats=2, seed=1)
    assert [len(fold.holdout) for fold in few] == [40] * 4
    assert [len(fold.compared) for fold in few] == [40] * 4
    inner = folds(200, seed=1, within=few[0])
    assert all(set(fold.original) | set(fold.holdout) == set(few[0].original) for fold in inner)
    with pytest.raises(InputError, match=r"at most 0\.5"):
        folds(100, holdout_share=0.7)
    with pytest.raises(InputError, match="at least 20"):
        folds(30)
