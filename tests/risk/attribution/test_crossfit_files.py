"""Without a holdout, of a file larger than memory: a generator fitted on each half of a sample."""

from __future__ import annotations

import numpy as np

import chaffinch
from chaffinch import Independent
from chaffinch._base.seeds import child
from chaffinch.risk import RiskSettings, cross_fit
from chaffinch.risk.attribution.crossfit import _SAMPLE, cross_fit_file
from chaffinch.stats.sampled import hash_key
from chaffinch.table.sample import hashes_of_places

SETTINGS = {
    "keys": ("wife_age", "wife_education", "num_children", "wife_religion"),
    "sensitive": ("husband_education",),
    "attackers": ("gcap",),
}


def test_all_records_give_what_memory_gives(data):
    table, scanned = chaffinch.read(data / "cmc.csv"), chaffinch.scan(data / "cmc.csv")
    settings = RiskSettings(**SETTINGS, resamples=50)
    found, sample = cross_fit_file(scanned, Independent(), settings, seed=1)
    assert found == cross_fit(table, Independent(), settings, seed=1)
    assert sample.whole
    assert sample.sentences == ()


def test_a_sample_is_a_table_of_its_own(data):
    """The rows whose places hash low, found by hand, attacked as one attacks a table that has no others."""
    table, scanned = chaffinch.read(data / "cmc.csv"), chaffinch.scan(data / "cmc.csv")
    settings = RiskSettings(**SETTINGS, resamples=50, sample_rows=400)
    found, sample = cross_fit_file(scanned, Independent(), settings, seed=1)
    key = hash_key(child(np.random.SeedSequence(1), _SAMPLE))
    places = np.flatnonzero(hashes_of_places(0, 1473, key) < int(400 / 1473 * 2**64))
    assert 300 < len(places) < 500
    assert found == cross_fit(table.take(places), Independent(), settings, seed=1)
    assert sample.original == round(len(places), -1)
    assert sample.of_original == 1470
    assert (
        f"The sample has {sample.original} of 1,470 original records, chosen by a keyed hash of their place in the file."
        in sample.sentences
    )


def test_copying_is_seen_in_a_sample_and_independent_columns_are_not(data):
    scanned = chaffinch.scan(data / "cmc.csv")
    settings = RiskSettings(**SETTINGS, sample_rows=700)
    copies, _ = cross_fit_file(scanned, lambda half, seed: half, settings, seed=1)
    assert copies.family.p_value < 0.01
    assert copies.lower_bound > 0.1
    honest, _ = cross_fit_file(scanned, Independent(), settings, seed=1)
    assert honest.family.p_value > 0.01  # once in a hundred; seeded
