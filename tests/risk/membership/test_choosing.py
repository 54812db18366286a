"""One target for each release."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.risk.singling_out import chosen, exclude_weak, weights_by_auc


def test_weights_and_exclusion_before_the_choice():
    odds = np.array([[2.0, 1.0, -1.0], [-3.0, -2.0, -2.5], [0.0, 0.0, 0.0]])
    assert chosen(odds).tolist() == [0, 1, 0]
    assert chosen(odds, keep=exclude_weak([0.5, 0.7, 0.9], 0.34)).tolist() == [1, 1, 1]
    # Chances 0.047, 0.119, 0.076 times 0, 0.4, 0.8: the last; by weighted log-odds the useless first would win.
    assert chosen(odds, weights=weights_by_auc([0.5, 0.7, 0.9])).tolist() == [1, 2, 2]
    assert exclude_weak([0.5, 0.6], 1.0).tolist() == [False, True]
    assert exclude_weak([0.5, 0.6, 0.7], 0.0).all()
    with pytest.raises(InputError, match="between 0 and 1"):
        exclude_weak([0.5], 1.5)
