"""Tiny and huge budgets, no records, one column, many columns, many levels: a private fit ends, in bounded memory, with a sound account.

Memory is the peak that Python sees (`tracemalloc`, which numpy reports to) during a fit and a small sample; limits are stated with
each case, several times what was measured, and far below what a fault would take (a table of all pairs of 10,000 levels has 800 MB).
"""

from __future__ import annotations

import tracemalloc
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from chaffinch._base.errors import TooLargeError
from chaffinch.privacy import prepare as prepare_module
from chaffinch.synth.bayesnet import BayesNet
from chaffinch.synth.privbayes import PrivBayes
from chaffinch.table import Column, Schema

METHODS = {
    "published": lambda epsilon, **o: PrivBayes(epsilon=epsilon, most_candidates=300, **o),
    "add-remove": lambda epsilon, **o: PrivBayes(
        epsilon=epsilon, neighbours="add-remove", most_candidates=300, **o
    ),
    "dpart": lambda epsilon, **o: PrivBayes(
        epsilon=epsilon, variant="dpart", most_candidates=300, **o
    ),
    "sdg": lambda epsilon, **o: PrivBayes(epsilon=epsilon, variant="sdg", most_candidates=300, **o),
    "datasynthesizer": lambda epsilon, **o: PrivBayes(
        epsilon=epsilon, variant="datasynthesizer", most_candidates=300, **o
    ),
    "bayesnet, delta": lambda epsilon: BayesNet(epsilon=epsilon, delta=1e-6),
    "bayesnet, pure": lambda epsilon: BayesNet(epsilon=epsilon),
}
EPSILONS = [1e-3, 1e6]


@cache
def independent_columns(sizes, n, *, declared=True):
    """Return a table of independent columns."""
    rng = np.random.default_rng(len(sizes) + n)
    columns, values = [], {}
    for j, size in enumerate(sizes):
        levels = np.array([f"v{i}" for i in range(size)])
        columns.append(Column(f"c{j}", "categorical", levels=tuple(levels.tolist())))
        values[f"c{j}"] = pa.array(levels[rng.integers(0, size, n)].tolist(), pa.string())
    return prepare_module.prepare(
        pa.table(values), Schema(tuple(columns), public=True, rows=n if declared else None)
    )


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels are compiled before memory is traced: traced, a first run takes several times as long."""
    for make, epsilon in product(METHODS.values(), EPSILONS):
        for sizes, n in (((2, 3, 4), 1), ((2, 2, 2, 2), 200)):
            make(epsilon).fit(independent_columns(sizes, n), seed=1).sample(50, seed=2)


def fitted(settings, data, *, megabytes):
    """Return the model of a fit that stays within some memory, its account checked and rows drawn from it."""
    tracemalloc.start()
    try:
        model = settings.fit(data, seed=1)
        drawn = model.sample(50, seed=2)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    account = model.fitted.privacy
    assert drawn.n_rows == 50
    assert account.spent <= account.budget.total * (1 + 1e-9)
    assert all(
        np.isfinite(level.weights).all() and (level.weights >= 0).all()
        for t in model.tables
        for level in t.levels
    )
    assert peak < megabytes
    return model


SMALL = {
    "no record": ((2, 3, 4), 0),
    "one record": ((2, 3, 4), 1),
    "ten records": ((2, 3, 4), 10),
    "one column": ((4,), 30),
    "one column, one level": ((1,), 5),
    "columns of one level": ((1, 1, 3), 20),
    "two levels throughout": ((2, 2, 2, 2), 200),
}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("case", SMALL)
def test_small_tables(case, epsilon):
    sizes, n = SMALL[case]
    for name, make in METHODS.items():
        model = fitted(make(epsilon), independent_columns(sizes, n), megabytes=60)  # measured: 2
        assert model.fitted.n_rows == n, name


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rows_that_are_measured(epsilon):
    for make in (METHODS["add-remove"], METHODS["bayesnet, delta"], METHODS["bayesnet, pure"]):
        for n in (0, 10):
            model = fitted(
                make(epsilon), independent_columns((2, 3), n, declared=False), megabytes=60
            )
            assert model.fitted.privacy.rows_how == "measured"
            if epsilon > 1:
                assert model.fitted.n_rows == n  # noise far below one


@pytest.mark.parametrize(("name", "epsilon"), list(zip(METHODS, EPSILONS * 4, strict=False)))
def test_a_column_of_many_levels(name, epsilon):
    data = independent_columns((10_000, 3, 2), 500)
    fitted(METHODS[name](epsilon), data, megabytes=60)  # measured: 6


@pytest.mark.parametrize("name", METHODS)
def test_two_columns_of_many_levels_are_linked_by_none_or_refused(name):
    # A fixed number of parents asks for a table of 10^8 cells: refused before it is made. The others do without the link.
    data = independent_columns((10_000, 10_000, 2), 300)
    if name in ("dpart", "datasynthesizer"):
        tracemalloc.start()
        try:
            with pytest.raises(TooLargeError, match="too many cells"):
                METHODS[name](1.0).fit(data, seed=1)
            assert tracemalloc.get_traced_memory()[1] < 60e6  # measured: 20
        finally:
            tracemalloc.stop()
        return
    model = fitted(METHODS[name](1.0), data, megabytes=60)  # measured: 20
    assert "c1" not in model.network["c0"]
    assert "c0" not in model.network["c1"]


@pytest.mark.parametrize("name", ["published", "datasynthesizer", "bayesnet, delta"])
def test_twenty_columns(name):
    model = fitted(METHODS[name](1.0), independent_columns((2, 3) * 10, 100), megabytes=80)
    assert len(model.network.order) == 20


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), list(zip(METHODS, EPSILONS * 4, strict=False)))
def test_two_hundred_columns(name, epsilon):
    # Measured: 374 at most (sdg, 1e6).
    fitted(METHODS[name](epsilon), independent_columns((2,) * 200, 300), megabytes=800)


def test_a_huge_budget_gives_the_tables_as_they_are():
    # Noise of scale 10^-5 is 0 but once in exp(10^5): the single columns of the model are those of the data.
    data = independent_columns((2, 3, 4), 10)
    for name, make in METHODS.items():
        model = make(1e6).fit(data, seed=1)
        drawn = model.sample(4_000, seed=3)
        for column in data.schema.names:
            seen, could = set(drawn.code(column).tolist()), set(data.code(column).tolist())
            assert seen <= could, name
