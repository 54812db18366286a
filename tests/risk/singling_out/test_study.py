"""Singling out: a copy is caught, a generator that ignores its input is not, and a record never leaves."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from chaffinch import read
from chaffinch._base.text import percent
from chaffinch.errors import InputError
from chaffinch.report.attacks import singling_out_page
from chaffinch.risk.membership import ShadowSettings
from chaffinch.risk.singling_out import SinglingOutResult, singling_out

SMALL = ShadowSettings(shadows=15, tables=2)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {name: rng.choice(list("abcde"), 150) for name in ("one", "two", "three", "four")}
    )
    return read(frame, rare="keep")


def copy(given, seed):
    return given


def ignoring(population):
    """Tables that have nothing to do with the data."""

    def make(given, seed):
        return population.take(
            np.random.default_rng(seed).integers(0, population.n_rows, given.n_rows)
        )

    return make


def test_a_copy_is_singled_out(table):
    found = singling_out(
        table, copy, settings=SMALL, targets=20, rows=30, releases=60, seed=1, workers=1
    )
    assert found.success == 1.0
    assert found.above_baseline
    assert found.closest.success == 1.0
    assert found.guess == pytest.approx(30 / found.world.n_population)
    assert [one.attributes for one in found.isolations] == [1, 2, 3, 4]
    assert found.isolations[-1].weight == pytest.approx(1 / found.world.n_population)
    assert found.isolations[-1].without_release == pytest.approx(found.guess)
    assert all(one.success <= 1 and one.weight > 0 for one in found.isolations)


def test_the_guess_is_told_as_one_number(table):
    """0.0125 has three digits as 0.013, and in per cent it would have been 1.2."""
    found = singling_out(
        table, copy, settings=SMALL, targets=3, rows=30, releases=20, seed=1, workers=1
    )
    for guess in (0.0125, found.guess):
        told = replace(found, guess=guess)
        assert told.to_dict()["baseline"] == told.baseline
        assert f"right in {told.baseline:.1%}:" in told.sentence
        page = singling_out_page(SinglingOutResult.from_dict(told.to_dict())).replace("\xa0%", "%")
        assert f"right in {percent(told.baseline)}:".replace("\xa0%", "%") in page
        assert percent(told.baseline).replace("\xa0", "") == f"{told.baseline:.1%}".replace(
            ".0%", "%"
        )


@pytest.mark.slow
def test_a_generator_that_ignores_its_input_is_at_the_baseline_at_the_stated_rate(table):
    """Exact 95 % intervals of 30 studies: 10 or more miss with chance 2e-6."""
    missed = 0
    for seed in range(30):
        found = singling_out(
            table,
            ignoring(table),
            settings=ShadowSettings(shadows=10, tables=1),
            targets=4,
            rows=30,
            releases=40,
            seed=seed,
            workers=1,
        )
        missed += not found.interval[0] <= found.guess <= found.interval[1]
    assert missed < 10


def test_no_record_leaves_and_the_rest_is_confidential(table):
    found = singling_out(
        table, copy, settings=SMALL, targets=3, rows=30, releases=20, seed=1, workers=1
    )
    leaving = json.dumps(found.to_dict()) + repr(found) + found._repr_html_() + found.sentence
    assert '"conditions"' not in leaving
    plain = json.loads(json.dumps(found.to_dict()))
    assert SinglingOutResult.from_dict(plain).to_dict() == plain
    html = found._repr_html_()
    assert (html.count("<table>"), html.count("<svg")) == (1, 1)
    told = found.confidential()
    assert told["confidential"] is True
    record = found.world.table.to_pandas().iloc[found.world.targets[0]]
    assert told["predicates"][0]["conditions"] == [
        [name, "==", record[name]] for name in table.schema.names
    ]
    assert sum(one["releases_that_named_it"] for one in told["predicates"]) == 20


@pytest.mark.parametrize("combine", ["weighted", "strong"])
def test_the_dropped_ideas_still_catch_a_copy(table, combine):
    plan = ShadowSettings(shadows=15, tables=1, combine=combine)
    found = singling_out(
        table, copy, settings=plan, targets=20, rows=30, releases=30, seed=1, workers=1
    )
    assert found.success > 0.8


def test_the_same_seed_gives_the_same(table):
    first, second = (
        singling_out(
            table,
            ignoring(table),
            settings=SMALL,
            targets=4,
            rows=30,
            releases=20,
            seed=3,
            workers=w,
        )
        for w in (1, 1)
    )
    one, other = first.to_dict(), second.to_dict()
    one.pop("run")
    other.pop("run")
    assert one == other


def test_bad_settings_are_refused(table):
    with pytest.raises(InputError, match="at least 1 release"):
        singling_out(table, copy, releases=0)
    with pytest.raises(InputError, match="Unknown combine 'sum'"):
        ShadowSettings(combine="sum")
    with pytest.raises(InputError, match="shadows must be at least 10"):
        ShadowSettings(shadows=3)


def test_another_threshold_masks_by_it(table):
    """150 records of 625 combinations: the population is told under ten, and not under 1,000."""
    options = {
        "settings": ShadowSettings(shadows=10, tables=1),
        "targets": 2,
        "rows": 30,
        "releases": 10,
        "seed": 1,
        "workers": 1,
    }
    shown, hidden = (singling_out(table, copy, threshold=at, **options) for at in (10, 1000))
    assert isinstance(shown.population, int)
    assert hidden.population == "<1000"
    plain = json.dumps(hidden.to_dict())
    assert '"<10"' not in plain
    assert json.loads(plain)["threshold"] == 1000
    assert f'"population": {hidden.world.n_population}' not in plain
