"""Features of made-up shadows."""

from __future__ import annotations

import numpy as np
import pytest


def made_up(seed, count=200, tables=3, width=30, *, effect=0.0, share=0.5, shared=0.3):
    """Poisson counts whose means a shadow's tables share; membership adds `effect` to the mean of the first five."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(count) < share * count
    mean = rng.uniform(0.1, 6, width) * np.exp(shared * rng.normal(size=(count, 1, width)))
    mean = np.repeat(mean, tables, axis=1)
    mean[..., :5] += effect * member[:, None, None]
    return rng.poisson(mean).astype(np.float32), member


@pytest.fixture(scope="session")
def shadows():
    """Features of shadows, and who was a member."""
    return made_up
