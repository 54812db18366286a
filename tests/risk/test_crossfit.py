"""Without a holdout: a generator fitted on each half."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import chaffinch
from chaffinch import Independent
from chaffinch._base.seeds import child
from chaffinch.risk import RiskSettings, cross_fit
from chaffinch.risk.crossfit import (
    _SAMPLE,
    AttackedFold,
    attack_folds,
    halves_of,
)
from chaffinch.risk.finding import column_findings
from chaffinch.stats.sampled import hash_key
from chaffinch.table.sample import hashes_of_places

from ..factories import people

KEYS = ["wife_age", "wife_education", "num_children", "wife_religion", "wife_now_working"]
SENSITIVE = "husband_education"


def test_a_copying_generator_is_flagged_without_a_holdout(cmc):
    copies = cross_fit(
        cmc,
        lambda half, seed: half,
        keys=KEYS,
        sensitive=[SENSITIVE],
        attackers=["matching", "memorisation"],
        numeric="values",
        seed=1,
    )
    assert copies.family.p_value < 0.01
    assert copies.lower_bound > 0.1
    honest = cross_fit(
        cmc,
        Independent(),
        keys=KEYS,
        sensitive=[SENSITIVE],
        attackers=["matching", "memorisation"],
        seed=1,
    )
    assert honest.family.p_value > 0.01  # once in a hundred; seeded
    assert "models of half the size" in honest.about.notes[0]
    for study in (copies, honest):
        for attack in column_findings(study.findings):
            assert attack.excess == pytest.approx(attack.value - attack.holdout, abs=0.02)


def test_another_threshold_masks_by_it(cmc):
    """1,473 people: their number is told in tens under a threshold of ten, and not at all under 5,000."""
    options = {
        "keys": KEYS[:2],
        "sensitive": [SENSITIVE],
        "attackers": ["cap", "disco", "memorisation"],
        "resamples": 2,
        "seed": 1,
    }
    shown, hidden = (
        cross_fit(cmc, lambda half, seed: half, threshold=at, **options) for at in (10, 5000)
    )
    assert shown.about.original.rows == 1470
    assert hidden.about.original.rows == "<5000"
    assert all(attack.value is None for attack in column_findings(hidden.findings))
    assert all(
        "fewer than 5000 people" in attack.reason for attack in column_findings(hidden.findings)
    )
    plain = json.dumps(hidden.to_dict())
    assert '"<10"' not in plain
    assert hidden.to_dict()["about"]["settings"]["threshold"] == 5000
    assert "threshold" not in shown.to_dict()["about"]["settings"]


SETTINGS = {
    "keys": ("wife_age", "wife_education", "num_children", "wife_religion"),
    "sensitive": ("husband_education",),
    "attackers": ("matching", "memorisation"),
}


def without_sample(result):
    return replace(result, about=replace(result.about, sample=None))


def test_all_records_give_what_memory_gives(cmc, data):
    scanned = chaffinch.scan(data / "cmc.csv")
    settings = RiskSettings(**SETTINGS, resamples=50)
    found = cross_fit(scanned, Independent(), settings, seed=1)
    sample = found.about.sample
    assert without_sample(found) == cross_fit(cmc, Independent(), settings, seed=1)
    assert sample.all_records
    assert sample.sentences == ()


def test_a_sample_is_a_table_of_its_own(cmc, data):
    """The rows whose places hash low, found by hand, attacked as one attacks a table that has no others."""
    scanned = chaffinch.scan(data / "cmc.csv")
    settings = RiskSettings(**SETTINGS, resamples=50, sample_rows=400)
    found = cross_fit(scanned, Independent(), settings, seed=1)
    sample = found.about.sample
    key = hash_key(child(np.random.SeedSequence(1), _SAMPLE))
    places = np.flatnonzero(hashes_of_places(0, 1473, key) < int(400 / 1473 * 2**64))
    assert 300 < len(places) < 500
    expected = cross_fit(cmc.take(places), Independent(), settings, seed=1)
    assert without_sample(found) == expected
    assert sample.original == round(len(places), -1)
    assert sample.of_original == 1470
    assert (
        f"The sample has {sample.original} of 1,470 original records, chosen by a keyed hash of their place in the file."
        in sample.sentences
    )


def test_copying_is_seen_in_a_sample_and_independent_columns_are_not(data):
    scanned = chaffinch.scan(data / "cmc.csv")
    settings = RiskSettings(**SETTINGS, sample_rows=700)
    copies = cross_fit(scanned, lambda half, seed: half, settings, seed=1)
    assert copies.family.p_value < 0.01
    assert copies.lower_bound > 0.1
    honest = cross_fit(scanned, Independent(), settings, seed=1)
    assert honest.family.p_value > 0.01  # once in a hundred; seeded


def test_folds_of_copies_are_known_and_of_others_are_not() -> None:
    """A copy answers for all its members; the largest excess is near one. Other people's table has none."""
    table = chaffinch.read(people(300))
    first, second = halves_of(table, np.random.default_rng(1))
    settings = RiskSettings(
        keys=["age", "sex"],
        sensitive=["job"],
        attackers=["matching", "exact_row"],
        resamples=100,
    )
    root = np.random.SeedSequence(1)
    questions = settings.questions(child(root, 0))
    copies = attack_folds(
        [AttackedFold(first, [first], second), AttackedFold(second, [second], first)],
        questions,
        settings,
        root,
    )
    apart = attack_folds(
        [AttackedFold(first, [second], second), AttackedFold(second, [first], first)],
        questions,
        settings,
        root,
    )
    assert len(copies.tried[0].first.group[0]) == table.n_rows
    assert copies.largest()[0].lower > 0.1
    assert apart.largest()[0].estimate < 0.05


def test_one_fold_is_a_study_with_a_holdout() -> None:
    table = chaffinch.read(people(300))
    first, second = halves_of(table, np.random.default_rng(1))
    settings = RiskSettings(
        keys=["age", "sex"],
        sensitive=["job"],
        attackers=["dcap"],
        resamples=100,
    )
    root = np.random.SeedSequence(1)
    run = attack_folds(
        [AttackedFold(first, [first], second)], settings.questions(child(root, 0)), settings, root
    )
    known = chaffinch.risk(
        first,
        first,
        second,
        keys=["age", "sex"],
        sensitive=["job"],
        attackers=["dcap"],
        resamples=100,
        seed=1,
    )
    assert [tried.finding.value for tried in run.tried] == [
        finding.value for finding in known.findings
    ]
    name = run.largest()[1]
    assert "on job" in name
