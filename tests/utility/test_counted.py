"""Utility from counters alone is that of the tables."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.utility import counted as module
from chaffinch.utility.counted import counted_utility
from chaffinch.utility.jensen_shannon import jensen_shannon
from chaffinch.utility.mu import mu
from chaffinch.utility.phi_k import phi_k
from chaffinch.utility.tvd import marginal_distance


@pytest.fixture(scope="module")
def tables(data):
    original = chaffinch.read(data / "cmc.csv")
    drawn = chaffinch.BayesNet(parents=1).fit(original, seed=1).sample(4000, seed=2)
    synthetic = chaffinch.read(drawn.data, original.schema)
    return original, synthetic


def counter(table):
    return chaffinch.MemoryCounter(table)


def test_figures_are_those_of_tables(tables):
    original, synthetic = tables
    ours = counted_utility(counter(original), counter(synthetic), seed=1)
    for width in (1, 2, 3):
        want = marginal_distance(original, synthetic, width=width)
        assert ours[f"tvd.{width}"].synthetic == pytest.approx(want.value, abs=1e-12)
        assert ours[f"tvd.{width}"].worst_columns == want.worst_columns
    assert ours["jensen_shannon"].synthetic == pytest.approx(
        jensen_shannon(original, synthetic).value, abs=1e-12
    )
    assert ours["phi_k"].synthetic == pytest.approx(
        phi_k(original, synthetic, bins="schema", interval=False).value, abs=1e-9
    )
    assert ours["mu"].synthetic == pytest.approx(
        mu(original, synthetic, bins="schema", interval=False).value, abs=1e-9
    )
    assert json.loads(json.dumps(ours.to_dict()))["left_out"] == 0
    assert "tvd.2" in str(ours)


def test_a_table_beside_itself_scores_0_and_its_references_do_not(tables):
    original, _ = tables
    ours = counted_utility(counter(original), counter(original), counter(original), seed=1)
    for figure in ours.figures:
        assert figure.synthetic == figure.holdout == 0
    for name in ("tvd.2", "tvd.3", "phi_k", "mu"):
        assert 0 < ours[name].resample < ours[name].marginals  # cmc's columns hang together
    assert ours["impossible"].resample == 0


def test_resampled_counts_lie_as_far_off_as_they_should():
    """Two levels of 10,000 records each, 20,000 drawn: the distance is |z| times 0.5 / sqrt(20,000), of mean 0.00282 and of standard deviation 0.00213.

    The mean of 200 draws (two columns, 100 times) lies within 5 standard errors, 0.00075, but for one chance in a million."""
    table = chaffinch.read(pa.table({"a": ["x", "y"] * 10_000, "b": ["p", "q"] * 10_000}))
    rng = np.random.default_rng(3)
    draws = [
        counted_utility(counter(table), counter(table), widths=(1,), seed=rng)["tvd.1"].resample
        for _ in range(100)
    ]
    assert abs(np.mean(draws) - 0.5 / np.sqrt(20_000) * np.sqrt(2 / np.pi)) < 0.00075


def test_impossible_pairs_by_hand():
    first = chaffinch.read(
        pa.table({"sex": ["f", "m"] * 50, "pregnant": ["yes", "no", "no", "no"] * 25})
    )
    second = chaffinch.read(
        pa.table({"sex": ["m", "m", "f", "f"], "pregnant": ["yes", "no", "no", "no"]}), first.schema
    )
    assert counted_utility(counter(first), counter(second), seed=1)["impossible"].synthetic == 0.25


def test_other_schemas_and_empty_tables_are_refused_and_large_tables_left_out(tables, monkeypatch):
    original, synthetic = tables
    other = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    with pytest.raises(InputError, match="different schemas"):
        counted_utility(counter(original), counter(other))
    with pytest.raises(InputError, match="synthetic table has no rows"):
        counted_utility(counter(original), counter(synthetic[:0]))
    monkeypatch.setattr(module, "DENSE_CELLS", 50)
    assert (
        counted_utility(counter(original), counter(synthetic), widths=(1, 2), seed=1).left_out > 0
    )
