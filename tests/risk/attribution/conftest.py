"""Two halves of a survey: people in the data, and people who are not."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch


@pytest.fixture(scope="module")
def halves(data):
    table = chaffinch.read(data / "cmc.csv")
    order = np.random.default_rng(5).permutation(table.n_rows)
    return table.take(order[:737]), table.take(order[737:])
