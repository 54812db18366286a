"""A population, and subsets of it."""

import numpy as np
import pytest

from chaffinch import read

from ...factories import levels


@pytest.fixture(scope="module")
def base():
    return read(levels(60, (3, 2, 3), names=("a", "b", "c")), rare="keep")


@pytest.fixture
def draws():
    rng = np.random.default_rng(5)
    return np.stack([np.sort(rng.choice(60, 20, replace=False)) for _ in range(12)])
