"""What protection cut, as released numbers tell it."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.synth import BayesNet
from chaffinch.synth.bayesnet.private.assemble import Assembled, NetworkSample
from chaffinch.synth.bayesnet.private.links import Gaps
from chaffinch.synth.bayesnet.private.protecting import noisy_protection


def test_the_information_of_a_cut_pair_is_pinskers_bound():
    settings = BayesNet(epsilon=1.0, sensitive=("s",))
    rules = settings.rules(("s", "o"))
    gaps = Gaps([(0, 1)], np.array([30.0]), 1.0, [], np.array([30.0]), 0.0)
    assembled = Assembled((0, 1), ((), ()), (), NetworkSample(4, np.random.default_rng(1)))
    protection = noisy_protection(settings, rules, gaps, assembled, 100.0)
    assert [(c.sensitive, c.other, c.through_label) for c in protection.cuts] == [("s", "o", 0.0)]
    assert protection.information == pytest.approx(2 * 0.3**2)
    assert noisy_protection(BayesNet(epsilon=1.0), rules, gaps, assembled, 100.0) is None
