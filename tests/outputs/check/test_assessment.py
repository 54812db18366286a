"""One assessment: who stands on which side, priors that are mirrored in place of computed, and fits over folds."""

from dataclasses import replace

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.check.assessment import (
    CheckRun,
    DatasetEnsemble,
    Evolver,
    OutputFit,
    _fits,
    folds,
    prior_datasets,
)
from chaffinch.outputs.check.attribution import attack_of
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputDomain
from chaffinch.outputs.solve.settings import SearchSettings

TABLES = [
    {"name": "t", "kind": "table", "by": ["a", "y"]},
    {"name": "u", "kind": "table", "by": ["b"]},
]


def started(spec, *, copies, seed, progress=None):
    datasets = prior_datasets(spec.fields, spec.n_rows(), copies=copies, seed=seed)
    return DatasetEnsemble(
        datasets,
        (True, False),
        tuple(OutputFit(one.name, one.kind, 1, 0.5, 0.1, 0.2) for one in spec.outputs),
    )


@pytest.fixture
def run(fields, people_whose_y_follows):
    codes = people_whose_y_follows(120, 1)
    attack = attack_of(fields, ["a", "b"], "y", sizes=(1, 2))
    return CheckRun(
        codes,
        recipes_of(TABLES, fields),
        (attack,),
        folds(len(codes), seed=1),
        started,
        syntheses=2,
    )


def test_sides(run):
    first, second = (run.group(fold) for fold in run.folds)
    assert sorted(np.flatnonzero(first == 0)) == sorted(run.folds[0].original)
    assert np.array_equal(first, 1 - second)
    assert [spec.rows for spec in run.specs] == [60, 60]


def test_a_mirrored_prior_is_what_would_be_computed(run):
    run = replace(run, start="uniform")
    first, second = run.prior["y"]
    seed = np.random.SeedSequence(0).spawn(2)[1].spawn(2)[0]
    datasets = prior_datasets(run.recipes.fields, 60, copies=2, seed=seed)
    for mine, fold in ((first, run.folds[0]), (second, run.folds[1])):
        anew = run.tcap(datasets, fold, run.attacks[0])
        assert np.array_equal(mine.values, anew.values, equal_nan=True)
        assert np.array_equal(mine.influence, anew.influence)
        assert np.array_equal(mine.squares, anew.squares)
        assert np.array_equal(mine.group, anew.group)


def test_a_prior_from_margins_of_folds_is_of_each_fold(run):
    """Each fold's own margins are drawn from, so nothing is mirrored, and its people are told something by that alone."""
    run = replace(run, start="fold")
    seeds = np.random.SeedSequence(0).spawn(2)[1].spawn(2)
    for mine, fold, spec, seed in zip(run.prior["y"], run.folds, run.specs, seeds, strict=True):
        codes = run.codes[fold.original]
        begun = run.with_known_margins(spec, codes)
        for field in begun.fields:
            position = begun.fields.position(field.name)
            assert field.weights == tuple(
                np.bincount(codes[:, position], minlength=len(field.levels))
            )
        datasets = prior_datasets(begun.fields, 60, copies=2, seed=seed)
        assert np.array_equal(
            mine.values, run.tcap(datasets, fold, run.attacks[0]).values, equal_nan=True
        )


def test_a_stage_is_of_the_outputs_that_are_named(run):
    told = []
    assessment = run.assess(
        "u alone", ["u"], progress=lambda what, share: told.append((what, share))
    )
    assert (assessment.stage.name, assessment.stage.outputs, assessment.stage.reached) == (
        "u alone",
        ("u",),
        0.5,
    )
    assert [fit.name for fit in assessment.stage.fits] == ["u"]
    assert [one.claims for one in assessment.tcaps["y"]] == [None, None]
    assert told[-1] == ("u alone", 1.0)
    assert assessment.stage.marginal("y", "all_rows") == assessment.stage.measures[1].marginal
    assert assessment.stage.marginal("y", "none") is None
    step = run.assess("both", ["t", "u"], with_claims=True).step(assessment)
    assert [(one.sensitive, one.convention) for one in step.added] == [
        ("y", "matched_rows"),
        ("y", "all_rows"),
    ]
    assert assessment.step(None).added == ()


def test_fits_over_folds_are_means_and_the_worst():
    first, second = (
        DatasetEnsemble((), (), (OutputFit("t", "table", 3, *numbers),))
        for numbers in ((1.0, 0.2, 0.4), (0.5, 0.4, 0.9))
    )
    assert _fits([first, second]) == (OutputFit("t", "table", 3, 0.75, pytest.approx(0.3), 0.9),)


def test_folds_swap_sides():
    first, second = folds(101, seed=1)
    assert sorted(first.holdout) == sorted(set(range(101)) - set(first.original))
    assert not set(first.holdout) & set(second.holdout)
    assert len(first.compared) == len(first.holdout) == 50
    assert set(first.compared) <= set(first.original)


def test_smaller_holdouts():
    few = folds(200, holdout_share=0.2, repeats=2, seed=1)
    assert [len(fold.holdout) for fold in few] == [40] * 4
    assert [len(fold.compared) for fold in few] == [40] * 4
    with pytest.raises(InputError, match="at least 20"):
        folds(30)


def test_evolved_datasets_reproduce_the_outputs(fields, people_whose_y_follows):
    entries = [
        {"name": "t", "kind": "table", "by": ["a", "y"]},
        {"name": "u", "kind": "table", "by": ["b"]},
    ]
    spec = recipes_of(entries, fields).computed(people_whose_y_follows(60, 1))
    ensemble = Evolver(SearchSettings(proposals=50_000), workers=1)(spec, copies=2, seed=1)
    assert ensemble.reached == (True, True)
    assert [(fit.name, fit.numbers, fit.reached, fit.worst) for fit in ensemble.fits] == [
        ("t", 15, 1.0, 0.0),
        ("u", 4, 1.0, 0.0),
    ]
    for codes in ensemble.datasets:
        assert np.bincount(codes[:, 1], minlength=4).tolist() == spec["u"].counts
    assert not np.array_equal(*ensemble.datasets)


def test_the_start_is_that_of_the_columns_weights(fields):
    """Of 3,000 draws a third are of each of three levels, by 0.06 at most but for a chance of 1e-10; margins leave one level alone."""
    weighted = OutputDomain(
        tuple(replace(one, weights=(1.0, 0.0, 0.0)) if one.name == "y" else one for one in fields)
    )
    uniform, margins = (
        prior_datasets(some, 3_000, copies=2, seed=1) for some in (fields, weighted)
    )
    assert np.bincount(uniform[0][:, 4]) / 3_000 == pytest.approx(np.full(3, 1 / 3), abs=0.06)
    assert set(margins[0][:, 4]) == {0}
    assert not np.array_equal(*uniform)
