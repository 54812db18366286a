"""Ensembles: those of `evolve` reproduce the outputs, those of the start know nothing of them; errors are over regressions if there are any."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from chaffinch.outputs.check.assessment import Evolver, _error, prior_datasets
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Fields


def test_evolved_datasets_reproduce_the_outputs(fields, people):
    entries = [
        {"name": "t", "kind": "table", "by": ["a", "y"]},
        {"name": "u", "kind": "table", "by": ["b"]},
    ]
    spec = recipes_of(entries, fields).computed(people(60, 1))
    ensemble = Evolver(proposals=50_000, workers=1)(spec, copies=2, seed=1)
    assert ensemble.reached == (True, True)
    assert [(fit.name, fit.numbers, fit.reached, fit.worst) for fit in ensemble.fits] == [
        ("t", 15, 1.0, 0.0),
        ("u", 4, 1.0, 0.0),
    ]
    assert ensemble.errors == (0.0, 0.0)
    for codes in ensemble.datasets:
        assert np.bincount(codes[:, 1], minlength=4).tolist() == spec["u"].counts
    assert not np.array_equal(*ensemble.datasets)


def test_errors_are_over_regressions_if_there_are_any():
    table, logit = (
        SimpleNamespace(kind="table", size=4, mean=1.0),
        SimpleNamespace(kind="logit", size=2, mean=0.5),
    )
    poisson = SimpleNamespace(kind="poisson", size=6, mean=0.1)
    assert _error([table]) == 1.0
    assert _error([table, logit]) == 0.5
    assert _error([table, logit, poisson]) == pytest.approx((2 * 0.5 + 6 * 0.1) / 8)
    assert np.isnan(_error([SimpleNamespace(kind="table", size=0, mean=np.nan)]))


def test_the_start_is_that_of_the_columns_weights(fields):
    """Of 3,000 draws a third are of each of three levels, by 0.06 at most but for a chance of 1e-10; margins leave one level alone."""
    weighted = Fields(
        tuple(replace(one, weights=(1.0, 0.0, 0.0)) if one.name == "y" else one for one in fields)
    )
    uniform, margins = (
        prior_datasets(some, 3_000, copies=2, seed=1) for some in (fields, weighted)
    )
    assert np.bincount(uniform[0][:, 4]) / 3_000 == pytest.approx(np.full(3, 1 / 3), abs=0.06)
    assert set(margins[0][:, 4]) == {0}
    assert not np.array_equal(*uniform)
