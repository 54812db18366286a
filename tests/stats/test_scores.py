"""A numerator and a weight for each person."""

import numpy as np
import pytest

from chaffinch.stats.rates import Scores


def test_value_is_the_ratio_of_sums() -> None:
    assert Scores([0.2, 0.4, 9.0], [1, 1, 2]).value == pytest.approx(2.4)


@pytest.mark.parametrize("n", [0, 3])
def test_no_weight_is_no_value(n: int) -> None:
    empty = Scores(np.zeros(n), np.zeros(n))
    assert empty.value is None
    assert empty.n_people == n
    assert "undefined" in repr(empty)


def test_scores_are_frozen_copies() -> None:
    given = np.ones(2)
    scores = Scores(given, given)
    given[0] = 5.0
    assert scores.value == 1.0
    with pytest.raises(ValueError, match="read-only"):
        scores.numerator[0] = 2.0


def test_repr_holds_no_small_count() -> None:
    assert repr(Scores([1.0] * 7, [1] * 7)) == "Scores(1, people: <10)"


def test_errors() -> None:
    with pytest.raises(ValueError, match="same people"):
        Scores([1.0], [1, 1])
    with pytest.raises(ValueError, match="one number for each person"):
        Scores([[1.0]], [1])
