"""A survey and two halves of it, people in the data and people who are not; generators at both ends of a membership attack, and a table that they are fitted to."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch

from ..factories import levels


@pytest.fixture(scope="session")
def cmc(data):
    return chaffinch.read(data / "cmc.csv")


@pytest.fixture(scope="session")
def halves(cmc):
    order = np.random.default_rng(5).permutation(cmc.n_rows)
    return cmc.take(order[:737]), cmc.take(order[737:])


@pytest.fixture(scope="session")
def five_letters() -> chaffinch.Table:
    """Independent columns of five levels: most of the 150 rows are unlike all others."""
    return chaffinch.read(levels(150, (5, 5, 5, 5), seed=7), rare="keep")


def copy(given, seed):
    return given


def ignoring(population):
    """Tables that have nothing to do with the data."""

    def make(given, seed):
        return population.take(
            np.random.default_rng(seed).integers(0, population.n_rows, given.n_rows)
        )

    return make
