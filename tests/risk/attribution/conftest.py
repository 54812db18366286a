"""A survey, and two halves of it: people in the data, and people who are not."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch


@pytest.fixture(scope="session")
def cmc(data):
    return chaffinch.read(data / "cmc.csv")


@pytest.fixture(scope="session")
def halves(cmc):
    order = np.random.default_rng(5).permutation(cmc.n_rows)
    return cmc.take(order[:737]), cmc.take(order[737:])
