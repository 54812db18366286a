"""A small table and a tree that was fitted to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits


@pytest.fixture
def one_thread():
    """OpenMP threads that wait for one another cost more than they bring here."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 30, size=(150, 3)).astype(float)
    noisy = (x[:, 0] + rng.normal(size=150, scale=8) > 15).astype(int)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": noisy})


@pytest.fixture(scope="module")
def tree(frame):
    return DecisionTreeClassifier(random_state=0).fit(frame[["a", "b", "c"]], frame["y"])


def two_classes(seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(1)
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


def four_classes(seed, n=300, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(int) + 2 * (x[:, 1] > 1)
    x[rng.random(x.shape) < missing] = np.nan
    return x, y
