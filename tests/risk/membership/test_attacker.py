"""A way to tell members is one place: a toy one, registered, is learnt from, named in results, on the page and in `--help`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import chaffinch
from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.cli.app import app
from chaffinch.report.attacks import membership_page
from chaffinch.risk import ATTACKERS, Attacker
from chaffinch.risk.attacker import attackers_of_kind
from chaffinch.risk.membership import MembershipResult
from chaffinch.risk.membership import forests as extra_trees
from chaffinch.risk.membership.attacker import calibrate, folds, learner, learners
from chaffinch.risk.membership.linear import Linear

TOY = Attacker(
    name="short",
    title="One step",
    definition="A linear one that takes a single step.",
    sentence="By a single step members are distinguished from others with AUC {value}",
    blindness="Whatever takes two steps.",
    reference="Nobody 2020",
    share=False,
    learner=lambda kind, **options: Linear(kind, steps=1),
)


@pytest.fixture
def toy():
    ATTACKERS.register(TOY)
    yield
    ATTACKERS.remove("short")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    return pd.DataFrame({name: rng.choice(list("abc"), 120) for name in ("one", "two", "three")})


OPTIONS = {
    "targets": 2,
    "rows": 20,
    "shadows": 10,
    "test_shadows": 10,
    "tables_per_shadow": 1,
    "seed": 1,
    "workers": 1,
}


def test_a_toy_attacker_is_found_everywhere(toy, frame):
    assert TOY in attackers_of_kind("membership")
    result = chaffinch.membership(frame, chaffinch.Independent(), learner="short", **OPTIONS)
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["settings"]["learner"] == "short"
    assert plain["findings"][0]["attacker"] == "short"
    assert result.findings[0].sentence.startswith("By a single step members")
    assert "short" in membership_page(MembershipResult.from_dict(plain))
    said = " ".join(
        CliRunner()
        .invoke(app, ["attack", "membership", "--help-all"], terminal_width=200)
        .output.replace("│", " ")
        .split()
    )
    assert ", ".join(learners()) in said
    assert "short" in learners()


def test_what_learns_is_of_the_kind_and_says_what_it_is():
    kind = attackers_of_kind("membership")
    assert set(learners()) < {attacker.name for attacker in kind}
    assert {attacker.name for attacker in kind} - set(learners()) == {"closest", "singling_out"}
    for attacker in kind:
        assert attacker.needs == ("shadows",)
        assert "{value}" in attacker.sentence
        assert attacker.title
        assert attacker.definition
        assert attacker.blindness


def test_an_unknown_one_is_named(frame):
    with pytest.raises(InputError, match="Unknown learner 'short'"):
        chaffinch.membership(frame, chaffinch.Independent(), learner="short", **OPTIONS)


def test_another_threshold_masks_by_it(frame):
    result = chaffinch.membership(frame, chaffinch.Independent(), threshold=100, **OPTIONS)
    assert result.population == "<100"  # 27 combinations of values at most
    assert '"<10"' not in json.dumps(result.to_dict())
    membership_page(result)
    result.show()


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_pairs_of_shadows_stay_in_one_fold(pairs, seed):
    fold = folds(np.tile([True, False], pairs), np.random.default_rng(seed))
    assert (fold[::2] == fold[1::2]).all()
    sizes = np.bincount(fold)
    assert len(sizes) == min(5, pairs)
    assert sizes.max() - sizes.min() <= 2  # one pair more or less


@given(st.lists(st.booleans(), min_size=6, max_size=60), st.integers(0, 2**32 - 1))
def test_every_fold_has_its_share_of_members_and_others(member, seed):
    member = np.array([True, True, False, False, *member])
    fold = folds(member, np.random.default_rng(seed))
    for side in (True, False):
        sizes = np.bincount(fold[member == side], minlength=int(fold.max()) + 1)
        assert sizes.max() - sizes.min() <= 1


def test_learners_of_pairs_are_not_wrong_out_of_fold():
    # The two shadows of a pair are alike but for a little that tells the member: 0.5 standard deviations of one number, an AUC of 0.64 at best. A learner that has seen the
    # one of a pair takes the other for it: dealt out apart, extra trees had 0.5, since scores that fall with membership are taken to say nothing.
    rng = np.random.default_rng(1)
    pairs = rng.normal(size=(60, 1, 1, 12)).repeat(2, axis=1)
    pairs[:, 0, :, 0] += 0.5
    member = np.tile([True, False], 60)
    learnt = (
        ATTACKERS["extra-trees"].learner(kind="real").fit(pairs.reshape(120, 1, 12), member, seed=1)
    )
    assert learnt.auc > 0.57


ODDS = 1e-6
LEARNERS = [("linear", {}), ("extra-trees", {"draws": 1})]


@pytest.fixture
def few_trees(monkeypatch):
    """Forests of ten trees: what is tested is what goes in and out of them."""
    monkeypatch.setitem(extra_trees.SEARCH, "n_estimators", [10])


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_a_sign_of_membership_is_found(name, options, shadows):
    x, member = shadows(2, effect=4)
    y, truth = shadows(
        2, effect=4
    )  # the same shadows: features must at least be told apart where they were learnt
    attacker = learner(name, **options).fit(x, member, seed=1)
    assert attacker.auc > 0.9
    assert roc_auc_score(np.repeat(truth, 3), attacker.log_odds(y).ravel()) > 0.9
    fresh, inside = shadows(3, effect=0)
    fresh[inside, :, :5] += 8
    assert attacker.chance(fresh)[inside].mean() > attacker.chance(fresh)[~inside].mean() + 0.3


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_shapes_and_odds_agree(name, options, shadows):
    x, member = shadows(4, 40, 3, 8, effect=3)
    attacker = learner(name, **options).fit(x, member, seed=1)
    assert attacker.checked.shape == (40, 3)
    assert attacker.log_odds(x).shape == (40, 3)
    assert attacker.log_odds(x[0, 0]).shape == ()
    assert attacker.log_odds(x[:0]).shape == (0, 3)
    np.testing.assert_allclose(attacker.chance(x), 1 / (1 + np.exp(-attacker.log_odds(x))))
    assert attacker.auc == pytest.approx(
        roc_auc_score(np.repeat(member, 3), attacker.checked.ravel())
    )
    with pytest.raises(InputError, match="8 numbers each"):
        attacker.chance(x[..., :7])


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_nothing_is_found_where_there_is_nothing(name, options, shadows):
    """Out-of-fold AUC of noise is a half on average, though tables of a shadow are alike and outnumber it.

    Each repeat has a standard deviation of at most that of 100 independent shadows, 0.058 (there are more trials), so the
    mean of 16 lies within 4.9 times 0.058/4 = 0.071 of a half but once in a million. Folds of tables find 0.66 here.
    """
    found = []
    for seed in range(16):
        x, member = shadows(seed, 100, 4, 40, shared=1.0)
        found.append(learner(name, **options).fit(x, member, seed=seed).auc)
    assert abs(np.mean(found) - 0.5) < stats.norm.isf(ODDS / 2) * 0.058 / np.sqrt(len(found))


def test_folds_are_of_shadows_and_hold_both_kinds():
    member = np.arange(53) < 12
    fold = folds(member, np.random.default_rng(1))
    counts = np.array([np.bincount(fold[side], minlength=5) for side in (member, ~member)])
    assert np.ptp(counts, axis=1).max() <= 1
    assert np.ptp(counts.sum(axis=0)) <= 1
    assert set(folds(np.arange(9) < 2, np.random.default_rng(1))) == {0, 1}


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_chances_are_for_even_odds_whatever_the_share_of_members(share):
    """Of fresh shadows, half of them members, as many are members as the chances say, in thirds. Fails once in a million.

    The mean of 2,000 fresh outcomes has a standard error below 0.5/sqrt(600) = 0.021 in a third; learning from 1,500 shadows
    adds an error of its own, for which as much again is allowed.
    """
    rng = np.random.default_rng(5)

    def draw(count, part):
        member = rng.permutation(count) < part * count
        return (rng.normal(size=(count, 1, 4)) + 0.8 * member[:, None, None] * [1, 1, 0, 0]).astype(
            np.float32
        ), member

    attacker = learner(kind="real").fit(*draw(1500, share), seed=1)
    x, member = draw(2000, 0.5)
    chance = attacker.chance(x)[:, 0]
    for rows in np.array_split(np.argsort(chance), 3):
        assert abs(member[rows].mean() - chance[rows].mean()) < 2 * stats.norm.isf(ODDS / 2) * 0.021


@given(st.integers(0, 2**32 - 1), st.floats(-3, 3))
@settings(max_examples=30, deadline=None)
def test_calibration_is_a_balanced_logistic_regression(seed, shift):
    """Against scikit-learn with soft labels as weighted rows of both kinds, and next to no penalty."""
    rng = np.random.default_rng(seed)
    member = np.arange(40) < 13
    score = rng.normal(size=(40, 2)) + shift * member[:, None]
    found = calibrate(score, member)
    label = np.repeat(np.where(member, 14 / 15, 1 / 29), 2)
    weight = np.repeat(np.where(member, 1 / 13, 1 / 27), 2)
    rows = np.concatenate([score.ravel(), score.ravel()])[:, None]
    theirs = LogisticRegression(C=1e8, tol=1e-10, max_iter=10_000).fit(
        rows,
        np.repeat([1, 0], 80),
        sample_weight=1e3 * np.concatenate([weight * label, weight * (1 - label)]),
    )
    slope, constant = theirs.coef_[0, 0], theirs.intercept_[0]
    if slope <= 1e-3:
        assert found.slope < 2e-3
    else:
        assert found.slope == pytest.approx(slope, rel=1e-2, abs=1e-3)
        assert found.log_odds(np.zeros(1))[0] == pytest.approx(constant, rel=1e-2, abs=1e-2)


@pytest.mark.usefixtures("few_trees")
def test_scores_that_say_nothing_or_the_contrary_give_even_odds():
    member = np.arange(20) < 10
    assert calibrate(np.full((20, 3), 0.4), member).slope == 0
    assert calibrate(-1.0 * member[:, None], member).slope == 0
    x = np.ones((20, 2, 5), dtype=np.float32)
    for name, options in LEARNERS:
        attacker = learner(name, **options).fit(x, member, seed=1)
        assert (attacker.chance(x) == 0.5).all()
        assert attacker.auc == 0.5


@pytest.mark.usefixtures("few_trees")
def test_perfect_separation_is_finite():
    member = np.arange(40) < 20
    found = calibrate(1e6 * member[:, None], member)
    odds = found.log_odds(np.array([0.0, 1e6]))
    assert odds == pytest.approx([-np.log(21), np.log(21)], rel=1e-6)  # Platt's labels: 21 to 1
    for name, options in LEARNERS:
        attacker = learner(name, **options).fit(1000.0 * member[:, None, None], member, seed=1)
        assert attacker.auc == 1
        assert np.isfinite(attacker.log_odds([[0.0], [1000.0], [1e9]])).all()


def test_more_features_than_tables_and_large_counts_stay_finite():
    rng = np.random.default_rng(6)
    x = rng.poisson(rng.choice([0.01, 1, 1e5], 500), size=(20, 2, 500)).astype(np.float32)
    attacker = learner().fit(x, np.arange(20) < 10, seed=1)
    assert np.isfinite(attacker.checked).all()
    assert np.isfinite(attacker.log_odds(x)).all()


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_real_features_may_be_infinite_or_missing(name, options):
    rng = np.random.default_rng(7)
    member = np.arange(60) < 30
    x = rng.normal(size=(60, 2, 3)).astype(np.float32) - 20
    x[~member, :, 0] = np.where(rng.random((30, 2)) < 0.7, -np.inf, x[~member, :, 0])
    x[5, 0, 1], x[6, 0, 1] = np.nan, np.inf
    x[..., 2] = np.nan
    attacker = learner(name, kind="real", **options).fit(x, member, seed=1)
    assert np.isfinite(attacker.checked).all()
    assert attacker.auc > 0.7
    low, high = attacker.log_odds([[-np.inf, np.nan, 1.0], [-20, np.inf, np.nan]])
    assert low < 0 < high


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_neither_threads_nor_repeats_change_a_result(name, options, shadows):
    x, member = shadows(8, 700, 2, 20, effect=0.5)  # several blocks
    one, two, again = (
        learner(name, **options).fit(x, member, seed=3, threads=t) for t in (1, 2, 1)
    )
    for other in (two, again):
        np.testing.assert_array_equal(one.checked, other.checked)
        np.testing.assert_array_equal(one.log_odds(x), other.log_odds(x))
    assert (learner(name, **options).fit(x, member, seed=4, threads=1).checked != one.checked).any()


def test_bad_input_is_refused():
    x, member = np.zeros((6, 2, 3)), np.arange(6) < 3
    with pytest.raises(UnknownNameError, match="Did you mean 'linear'"):
        learner("lineer")
    with pytest.raises(UnknownNameError, match="kind"):
        learner(kind="whole")
    with pytest.raises(InputError, match="steps"):
        learner(steps=0)
    with pytest.raises(InputError, match="draws"):
        learner("extra-trees", draws=0)
    for wrong, inside, said in [
        (x[0], member, "three axes"),
        (x, member[:5], "6 shadows"),
        (x, member.astype(int), "yes or no"),
        (x, np.arange(6) < 1, "at least 2 training shadows"),
        (x - 1, member, "at least 0"),
        (x * np.nan, member, "finite"),
    ]:
        with pytest.raises(InputError, match=said):
            learner().fit(wrong, inside, seed=1)
