"""Singling out: a copy is caught, a generator that ignores its input is not, and a record never leaves."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import e

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from chaffinch._base.errors import InputError
from chaffinch._base.text import percent
from chaffinch.report.attacks import singling_out_page
from chaffinch.risk.membership import SinglingOutSettings
from chaffinch.risk.singling_out import (
    AttackerSkill,
    Isolation,
    SinglingOutResult,
    baseline,
    blind_chance,
    blind_chance_at_most,
    choose_targets,
    drawn_chance,
    exclude_weak,
    isolates,
    lightest,
    nobody_in,
    singling_out,
    success_finding,
    weights_by_auc,
)
from chaffinch.stats.intervals import clopper_pearson

from .conftest import copy, ignoring

SMALL = {"shadows": 15, "tables_per_shadow": 2, "workers": 1}


def test_a_copy_is_singled_out(five_letters):
    found = singling_out(five_letters, copy, **SMALL, targets=20, rows=30, releases=60, seed=1)
    assert found.success == 1.0
    assert found.findings[0].excess_found
    assert [(one.attacker, one.convention) for one in found.findings] == [
        ("singling_out", "combined"),
        ("singling_out", "closest"),
    ]
    assert found.findings[0].trials.right == found.findings[0].trials.runs == 60
    assert found.closest.success == found.findings[1].value == 1.0
    assert found.guess == round(30 / found.world.n_population, 3)
    assert [one.attributes for one in found.isolations] == [1, 2, 3, 4]
    assert found.isolations[-1].weight == pytest.approx(1 / found.world.n_population)
    assert found.isolations[-1].without_release == pytest.approx(30 / found.world.n_population)
    assert all(one.success <= 1 and one.weight > 0 for one in found.isolations)


@pytest.fixture(scope="module")
def found(five_letters):
    return singling_out(five_letters, copy, **SMALL, targets=3, rows=30, releases=20, seed=1)


def test_the_guess_is_told_as_one_number(found):
    """0.0125 has three digits as 0.013, and in per cent it would have been 1.2."""
    for guess in (0.0125, 30 / found.world.n_population):
        findings = tuple(
            success_finding(one.convention, isolation, guess, targets=3, releases=20)
            for one, isolation in zip(
                found.findings, (found.isolations[-1], found.closest), strict=True
            )
        )
        told = replace(found, findings=findings)
        assert told.to_dict()["findings"][0]["guess"] == told.guess == round(guess, 3)
        words = percent(told.guess).replace("\xa0", " ")
        assert f"right in {words}:" in told.sentence
        page = singling_out_page(SinglingOutResult.from_dict(told.to_dict()))
        assert f"right in {words}:" in page


@given(st.floats(1e-6, 1), st.integers(1, 200), st.data())
def test_bounds_are_by_the_guess_as_it_is(guess, releases, data):
    """They are told to three digits, and say the same: a guess of 0.0004 is told as 0, and is not beaten by one hit in a thousand."""
    hits = data.draw(st.integers(0, releases))
    low, high = clopper_pearson(hits, releases)
    isolation = Isolation(3, hits / releases, (low, high), 0.1, 0.1, 0.1)
    finding = success_finding("combined", isolation, guess, targets=3, releases=releases)
    assert finding.excess_found == (low > guess)
    assert (finding.upper_bound > 0) == (high > guess)
    assert abs(finding.lower_bound - (low - guess)) <= 1e-3 + 1e-12
    assert finding.trials.right == hits


@pytest.mark.slow
def test_a_generator_that_ignores_its_input_is_at_the_baseline_at_the_stated_rate(five_letters):
    """Exact 95 % intervals of 30 studies: 10 or more miss with chance 2e-6."""
    missed = 0
    for seed in range(30):
        found = singling_out(
            five_letters,
            ignoring(five_letters),
            shadows=10,
            tables_per_shadow=1,
            targets=4,
            rows=30,
            releases=40,
            seed=seed,
            workers=1,
        )
        low, high = found.interval
        missed += not low <= 30 / found.world.n_population <= high
    assert missed < 10


def test_no_record_leaves_and_the_rest_is_confidential(found, five_letters):
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
        [name, "==", record[name]] for name in five_letters.schema.names
    ]
    assert sum(one["releases_that_named_it"] for one in told["predicates"]) == 20


@pytest.mark.parametrize("combine", ["weighted", "strong"])
def test_the_dropped_ideas_still_catch_a_copy(five_letters, combine):
    plan = SinglingOutSettings.from_options(
        shadows=15, tables_per_shadow=1, combine=combine, targets=20, rows=30, releases=30
    )
    found = singling_out(five_letters, copy, settings=plan, seed=1, workers=1)
    assert found.success > 0.8


def test_the_same_seed_gives_the_same(five_letters):
    first, second = (
        singling_out(
            five_letters,
            ignoring(five_letters),
            **SMALL,
            targets=4,
            rows=30,
            releases=20,
            seed=3,
        )
        for _ in range(2)
    )
    one, other = first.to_dict(), second.to_dict()
    one.pop("run")
    other.pop("run")
    assert one == other


def test_another_threshold_masks_by_it(five_letters):
    """150 records of 625 combinations: the population is told under ten, and not under 1,000."""
    options = {
        "shadows": 10,
        "tables_per_shadow": 1,
        "targets": 2,
        "rows": 30,
        "releases": 10,
        "seed": 1,
        "workers": 1,
    }
    shown, hidden = (singling_out(five_letters, copy, threshold=at, **options) for at in (10, 1000))
    assert isinstance(shown.population, int)
    assert hidden.population == "<1000"
    plain = json.dumps(hidden.to_dict())
    assert '"<10"' not in plain
    assert json.loads(plain)["threshold"] == 1000
    assert f'"population": {hidden.world.n_population}' not in plain


def result(success=0.6, **more):
    one = Isolation(3, success, (success - 0.1, success + 0.1), 0.001, 0.1, 0.2)
    options = {
        "targets": 5,
        "subset_rows": 20,
        "population": 100,
        "duplicates": "<10",
        "settings": {},
        **more,
    }
    return SinglingOutResult(
        findings=tuple(
            success_finding(convention, one, 0.2, targets=5, releases=50)
            for convention in ("combined", "closest")
        ),
        isolations=(one,),
        closest=one,
        nobody=0.1,
        releases=50,
        attributes_that_suffice=2.5,
        skill=AttackerSkill(0.7, 0.6, 0.8),
        **options,
    )


def test_words_follow_the_interval():
    assert result().findings[0].word == "excess found"
    assert result().findings[0].sentence.replace("\xa0", " ") == (
        "Somebody is singled out from 60 % of the releases; without a look at the table 20 % would be: more than chance gives."
    )
    assert result().sentence.endswith("the releases tell who is in the data.")
    assert result(0.25).findings[0].word == "no excess found"
    assert result(0.25).sentence.endswith("no more was found than guessing gives.")


@pytest.mark.parametrize("threshold", [10, 40])
def test_plain_data_there_and_back(threshold):
    plain = json.loads(json.dumps(result(threshold=threshold).to_dict()))
    assert plain.get("threshold", 10) == threshold
    assert ("threshold" in plain) == (threshold != 10)
    again = SinglingOutResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.findings == result().findings
    assert list(plain)[:4] == ["format", "version", "findings", "targets"]
    with pytest.raises(InputError, match=r"reads version 2 of 'chaffinch-singling-out'\. Got '1'"):
        SinglingOutResult.from_dict({**plain, "version": 1})
    assert again.confidential() == {"confidential": True, "predicates": []}


def test_a_study_without_attributes_is_refused():
    with pytest.raises(InputError, match="must have 'isolations'"):
        SinglingOutResult.from_dict({**result().to_dict(), "isolations": []})


def test_it_shows_itself(capsys):
    result().show()
    printed = capsys.readouterr().out
    assert "3, closest row" in printed
    assert result().sentence in printed


def test_equation_2_is_its_product_and_the_papers_figure():
    for k in (0, 1, 5, 30, 50):
        product = Fraction(1)
        for i in range(k):
            product *= Fraction(5000 - 1000 - i, 5000 - i)
        assert nobody_in(1000, 5000, k) == pytest.approx(float(product), rel=1e-9)
    assert (
        round(nobody_in(1000, 5000, 30), 4) == 0.0012
    )  # the paper: negligible from 30 classifiers on
    assert nobody_in(1000, 5000, 1) == pytest.approx(1 - baseline(1000, 5000))


def test_drawn_chances_by_counting_all_subsets():
    subsets = list(combinations(range(7), 3))
    for matches in range(8):
        exact = sum(sum(i < matches for i in s) == 1 for s in subsets) / len(subsets)
        assert drawn_chance(matches, 3, 7) == pytest.approx(exact, abs=1e-12)
        nobody = sum(all(i >= matches for i in s) for s in subsets) / len(subsets)
        assert nobody_in(3, 7, matches) == pytest.approx(nobody, abs=1e-12)


def test_chances_are_scipys():
    assert drawn_chance(12, 1000, 5000) == pytest.approx(hypergeom(5000, 12, 1000).pmf(1))
    assert blind_chance(0.003, 400) == pytest.approx(binom(400, 0.003).pmf(1))


def test_a_weight_of_one_in_n_isolates_in_37_of_100_cases_and_no_weight_does_better():
    assert blind_chance(1e-4, 10_000) == pytest.approx(1 / e, abs=1e-4)
    assert (
        max(blind_chance(w / 1e5, 1000) for w in range(1, 1000)) <= blind_chance(1e-3, 1000) + 1e-15
    )
    assert blind_chance_at_most(0.5, 1000) == blind_chance(1e-3, 1000)
    assert blind_chance_at_most(1e-5, 1000) == blind_chance(1e-5, 1000)
    assert blind_chance(0.0, 5) == 0.0
    assert blind_chance(1.0, 1) == 1.0
    assert blind_chance(1.0, 2) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: baseline(0, 5),
        lambda: baseline(6, 5),
        lambda: nobody_in(2, 5, 6),
        lambda: drawn_chance(6, 2, 5),
        lambda: blind_chance(1.2, 5),
    ],
)
def test_impossible_numbers_are_refused(call):
    with pytest.raises(InputError, match="Got"):
        call()


def matches(codes, target, columns):
    return int((codes[:, columns] == target[columns]).all(axis=1).sum())


@pytest.mark.parametrize("seed", range(4))
def test_the_lightest_of_each_size_is_the_least_of_all_sets(seed):
    codes = np.random.default_rng(seed).integers(0, 3, size=(40, 5)).astype(np.uint8)
    found = lightest(codes, codes[7])
    for a in range(1, 6):
        least = min(matches(codes, codes[7], list(s)) for s in combinations(range(5), a))
        assert found.matches[a - 1] == least
        assert found.columns[a - 1].sum() == a
        assert matches(codes, codes[7], np.flatnonzero(found.columns[a - 1])) == least
    assert found.shortest == (
        np.flatnonzero(found.matches == 1)[0] + 1 if 1 in found.matches else 5
    )


def test_many_columns_are_added_one_at_a_time():
    codes = np.random.default_rng(3).integers(0, 2, size=(200, 20)).astype(np.uint8)
    found = lightest(codes, codes[0])
    assert (np.diff(found.matches) <= 0).all()
    assert found.matches[-1] == matches(codes, codes[0], list(range(20)))
    for a, row in enumerate(found.columns):
        assert matches(codes, codes[0], np.flatnonzero(row)) == found.matches[a]


def test_isolation_is_exactly_one_record():
    data = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=np.uint8)
    sets = np.array([[True, False, False], [True, True, False], [False, False, True]])
    assert isolates(data, np.array([0, 1, 1], dtype=np.uint8), sets).tolist() == [
        False,
        True,
        False,
    ]
    assert isolates(data, np.array([2, 1, 1], dtype=np.uint8), sets).tolist() == [
        False,
        False,
        False,
    ]


def test_weights_and_exclusion_before_the_choice():
    odds = np.array([[2.0, 1.0, -1.0], [-3.0, -2.0, -2.5], [0.0, 0.0, 0.0]])
    assert choose_targets(odds).tolist() == [0, 1, 0]
    assert choose_targets(odds, keep=exclude_weak([0.5, 0.7, 0.9], 0.34)).tolist() == [1, 1, 1]
    # Chances 0.047, 0.119, 0.076 times 0, 0.4, 0.8: the last; by weighted log-odds the useless first would win.
    assert choose_targets(odds, weights=weights_by_auc([0.5, 0.7, 0.9])).tolist() == [1, 2, 2]
    assert exclude_weak([0.5, 0.6], 1.0).tolist() == [False, True]
    assert exclude_weak([0.5, 0.6, 0.7], 0.0).all()
    with pytest.raises(InputError, match="between 0 and 1"):
        exclude_weak([0.5], 1.5)
