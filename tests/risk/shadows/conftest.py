"""A population, and subsets of it."""

import numpy as np
import pandas as pd
import pytest

from chaffinch import read


@pytest.fixture(scope="module")
def base():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "a": rng.choice(list("xyz"), 60),
            "b": rng.choice(list("pq"), 60),
            "c": rng.choice(list("uvw"), 60),
        }
    )
    return read(frame, rare="keep")


@pytest.fixture
def draws():
    rng = np.random.default_rng(5)
    return np.stack([np.sort(rng.choice(60, 20, replace=False)) for _ in range(12)])
