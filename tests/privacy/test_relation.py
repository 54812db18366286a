"""The unit of privacy against brute force: what one person can change in a table of counts."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from chaffinch._base.errors import ChaffinchError
from chaffinch.privacy.relation import Unit


def counts(rows):
    return np.bincount(np.array(rows, dtype=np.int64), minlength=3)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_distances_are_the_largest_that_one_person_can_make(m):
    persons = [p for n in range(m + 1) for p in combinations_with_replacement(range(3), n)]
    added = [counts(p) for p in persons]
    replaced = [counts(p) - counts(q) for p in persons for q in persons]
    for neighbours, changes in (("add-remove", added), ("replace-one", replaced)):
        unit = Unit(neighbours, m)
        assert unit.l1 == max(int(abs(change).sum()) for change in changes)
        assert unit.l2_squared == max(int((change**2).sum()) for change in changes)
        assert unit.l2_up**2 >= unit.l2_squared
        assert unit.l2_up == pytest.approx(unit.l2_squared**0.5, rel=1e-11)


@pytest.mark.parametrize(
    ("neighbours", "m"), [("swap", 1), ("add-remove", 0), ("add-remove", True), ("add-remove", 1.5)]
)
def test_other_units_are_refused(neighbours, m):
    with pytest.raises(ChaffinchError):
        Unit(neighbours, m)
