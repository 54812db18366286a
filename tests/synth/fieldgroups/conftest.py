"""Tables with a declared domain, from codes: what the tests of field groups share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.privacy.prepare import prepare
from chaffinch.table import Column, Schema


@pytest.fixture(scope="session", name="declared")
def declared_fixture():
    return declared


def declared(sizes, rows=None):
    columns = (
        Column(f"c{j}", "categorical", levels=tuple(f"v{i}" for i in range(s)))
        for j, s in enumerate(sizes)
    )
    return Schema(tuple(columns), public=True, rows=rows)


@pytest.fixture(scope="session", name="private")
def private_fixture():
    return private


def private(codes, sizes, *, rows="true"):
    """Return a prepared table of columns c0, c1, ... with the given codes."""
    n = len(codes[0])
    data = pa.table(
        {f"c{j}": pa.array([f"v{i}" for i in codes[j]], pa.string()) for j in range(len(sizes))}
    )
    return prepare(data, declared(sizes, n if rows == "true" else rows))


@pytest.fixture(scope="session", name="random_codes")
def random_codes_fixture():
    return random_codes


def random_codes(seed, sizes, n):
    rng = np.random.default_rng(seed)
    return [(rng.random(n) ** 2 * size).astype(int) for size in sizes]
