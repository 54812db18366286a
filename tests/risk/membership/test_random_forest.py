"""A random forest: sees what no line does, and nothing in noise."""

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.risk.membership.forests import RandomForest


def test_an_interaction_is_found():
    rng = np.random.default_rng(1)
    member = np.arange(400) % 2 == 0
    x = rng.poisson(5.0, (400, 1, 3)).astype(np.float32)
    x[:, 0, 1] = np.where((x[:, 0, 0] > 5) == member, 9, 2)  # neither of the two tells alone
    attacker = RandomForest(trees=30).fit(x, member, seed=1, threads=1)
    assert attacker.auc > 0.95
    again = RandomForest(trees=30).fit(x, member, seed=1, threads=2)
    np.testing.assert_array_equal(attacker.checked, again.checked)


def test_noise_is_noise():
    """Out-of-fold AUC of 300 shadows: standard error 0.033; five of them are 0.17 apart once in 2 million."""
    rng = np.random.default_rng(2)
    attacker = RandomForest(trees=20).fit(
        rng.poisson(3.0, (300, 1, 5)), rng.permutation(300) < 150, seed=1, threads=1
    )
    assert abs(attacker.auc - 0.5) < 0.17


@pytest.mark.parametrize("option", ["trees", "rows"])
def test_bad_settings_are_refused(option):
    with pytest.raises(InputError, match=f"{option} must be at least 1"):
        RandomForest(**{option: 0})
