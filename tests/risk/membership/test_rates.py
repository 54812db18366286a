"""Rates of a membership attack: by hand, against scikit-learn and scipy, and how often intervals cover."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score, roc_curve

from chaffinch._base.errors import InputError
from chaffinch._base.results import from_plain, to_plain
from chaffinch.risk.membership.rates import LabelledScores, Rates, rates, roc
from chaffinch.stats.intervals import clopper_pearson, clustered_auc
from chaffinch.stats.intervals import clustered_rate as rate_interval

ODDS = 1e-6
REPEATS = 400


def auc_interval(trials):
    return clustered_auc(trials.scores, trials.member, trials.shadow)


def most_misses(rate):
    """Misses of 400 intervals that happen less than once in a million where each misses at this rate."""
    return int(stats.binom.isf(ODDS, REPEATS, rate))


def scored(rng, shadows, tables, *, shift, shared):
    """Normal scores of shadows, members shifted; the share `shared` of their variance is the shadow's."""
    member = np.arange(shadows) % 2 == 0
    noise = np.sqrt(shared) * rng.normal(size=(shadows, 1)) + np.sqrt(1 - shared) * rng.normal(
        size=(shadows, tables)
    )
    return LabelledScores.from_arrays(noise + shift * member[:, None], member)


def alone(trials):
    """The same trials as if each were a shadow of its own."""
    return LabelledScores(trials.scores, trials.member, np.arange(len(trials.scores)))


def test_a_case_worked_by_hand():
    """Ten others 0..9 and four members on validation; level 20 % allows 2 of 10, so the threshold is the third highest, 7."""
    validation = LabelledScores.from_arrays([*range(10), 3.5, 7.5, 8.5, 20], np.arange(14) >= 10)
    test = LabelledScores.from_arrays([1, 7, 7.2, 8, 2, 7, 9, 10, 11.0], np.arange(9) >= 4)
    found = rates(validation, test, levels=(0.2, 0.01))
    first, second = found.at_fpr
    assert first.threshold == 7
    assert (first.tpr, first.fpr) == (3 / 5, 2 / 4)
    assert first.tpr_interval == pytest.approx(clopper_pearson(3, 5))
    assert first.fpr_interval == pytest.approx(clopper_pearson(2, 4))
    assert second.tpr is None
    assert "at least 100 validation trials" in second.reason
    # On validation: above 7 three of four members and two of ten others (0.55); above 9 1/4; above 3 all and 6/10 (0.4).
    assert found.advantage == pytest.approx(3 / 5 - 2 / 4)
    assert (found.shadows, found.members, found.others) == (9, 5, 4)


def test_the_threshold_is_that_of_validation():
    rng = np.random.default_rng(1)
    validation, test = (scored(rng, 400, 1, shift=s, shared=0) for s in (1.0, 3.0))
    one = rates(validation, test).at_fpr[0]
    outside = validation.scores[~validation.member]
    assert (outside > one.threshold).mean() == 0.01
    assert one.tpr == (test.scores[test.member] > one.threshold).mean()
    assert rates(test, test).at_fpr[0].threshold != one.threshold


def test_ties_at_the_threshold_are_not_called_members():
    validation = LabelledScores.from_arrays(np.zeros(400), np.arange(400) < 200)
    found = rates(validation, validation)
    assert (found.at_fpr[0].fpr, found.at_fpr[0].tpr) == (0, 0)
    assert (found.auc, found.advantage) == (0.5, 0)


@pytest.mark.parametrize(("level", "needed"), [(0.01, 100), (0.001, 1000)])
def test_too_few_others_for_a_level(level, needed):
    for others in (needed - 1, needed):
        member = np.arange(others + 5) < 5
        trials = LabelledScores.from_arrays(np.arange(others + 5.0), member)
        one = rates(trials, trials, levels=(level,)).at_fpr[0]
        assert (one.tpr is None) == (others < needed)
        assert (one.reason == "") == (others >= needed)


@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=40))
def test_auc_and_curve_are_those_of_sklearn(drawn):
    scores, member = (np.array(part) for part in zip(*drawn, strict=True))
    if member.all() or not member.any():
        member[0] = not member[0]
    trials = LabelledScores.from_arrays(scores, member)
    value, (low, high) = auc_interval(trials)
    assert value == pytest.approx(roc_auc_score(member, scores))
    assert 0 <= low <= value <= high <= 1
    assert low < high
    fpr, tpr = roc(trials)
    theirs = roc_curve(member, scores, drop_intermediate=False)
    assert np.trapezoid(tpr, fpr) == pytest.approx(value)
    assert set(zip(fpr, tpr, strict=True)) <= set(zip(theirs[0], theirs[1], strict=True))
    best = rates(trials, trials)
    assert best.advantage == pytest.approx((theirs[1] - theirs[0]).max())
    assert -1 <= best.advantage_interval[0] <= best.advantage <= best.advantage_interval[1] <= 1


def test_a_long_curve_is_thinned_to_its_own_points():
    trials = scored(np.random.default_rng(2), 20_000, 1, shift=1, shared=0)
    fpr, tpr = roc(trials)
    assert 100 < len(fpr) <= 200
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(fpr) >= 0).all()
    assert (np.diff(tpr) >= 0).all()
    theirs = roc_curve(trials.member, trials.scores, drop_intermediate=False)
    assert set(zip(fpr, tpr, strict=True)) <= set(zip(theirs[0], theirs[1], strict=True))
    assert (
        fpr < 0.001
    ).sum() > 4  # evenly by the logarithm: an even choice of points would have one
    assert np.trapezoid(tpr, fpr) == pytest.approx(
        roc_auc_score(trials.member, trials.scores), abs=0.01
    )


def test_copies_of_a_trial_change_no_interval():
    """Each trial five times in its shadow is no more evidence: the design effect is 5 (but for the C/(C - 1) of few shadows)."""
    rng = np.random.default_rng(3)
    hits = rng.random(200) < 0.3
    once = clopper_pearson(int(hits.sum()), 200)
    five = rate_interval(np.repeat(hits, 5), np.repeat(np.arange(200), 5))
    assert five == pytest.approx(once, abs=2e-3)
    trials = scored(rng, 200, 1, shift=1, shared=0)
    copied = LabelledScores.from_arrays(np.repeat(trials.scores[:, None], 5, axis=1), trials.member)
    (a, ends), (b, same) = auc_interval(trials), auc_interval(copied)
    assert a == pytest.approx(b)
    # Newcombe's model is not divided by copies where it is the larger one: alike, not equal.
    assert np.diff(same)[0] == pytest.approx(np.diff(ends)[0], rel=0.1)


@pytest.mark.parametrize("hit", [True, False])
def test_where_all_agree_shadows_are_counted(hit):
    found = rate_interval(np.full(100, hit), np.repeat(np.arange(20), 5))
    assert found == pytest.approx(clopper_pearson(20 * hit, 20))


def test_perfect_scores_have_an_interval_that_narrows():
    widths = []
    for n in (20, 200, 2000):
        member = np.arange(n) < n // 2
        value, (low, high) = auc_interval(LabelledScores.from_arrays(member * 1.0, member))
        assert (value, high) == (1, 1)
        widths.append(1 - low)
    assert 0.25 > widths[0] > 5 * widths[1] > 25 * widths[2] > 0
    member = np.arange(20) < 10
    assert auc_interval(LabelledScores.from_arrays(-1.0 * member, member))[0] == 0
    assert auc_interval(LabelledScores.from_arrays(-1.0 * member, member))[1] == pytest.approx(
        (0, widths[0])
    )


def test_independent_trials_are_covered():
    """Rates are exact: at most 5 % miss. AUC and advantage are close: at most 7 %. Fails once in a million."""
    rng = np.random.default_rng(4)
    missed = np.zeros(4, dtype=int)
    for _ in range(REPEATS):
        trials = scored(rng, 120, 1, shift=1.0, shared=0)
        truth = stats.norm.cdf(1 / np.sqrt(2))
        low, high = auc_interval(trials)[1]
        missed[0] += not low <= truth <= high
        validation = LabelledScores.from_arrays(
            [0.0, 0.5, 1.0], np.array([False, False, True])
        )  # its best threshold is 0.5
        found = rates(validation, trials, levels=(0.5,))
        assert found.at_fpr[0].threshold == 0.0
        low, high = found.at_fpr[0].tpr_interval
        missed[1] += not low <= stats.norm.cdf(1) <= high
        low, high = found.at_fpr[0].fpr_interval
        missed[2] += not low <= 0.5 <= high
        low, high = found.advantage_interval
        missed[3] += not low <= stats.norm.sf(0.5 - 1) - stats.norm.sf(0.5) <= high
    assert missed[[1, 2]].max() <= most_misses(0.05)
    assert missed[[0, 3]].max() <= most_misses(0.07)


def test_clustered_trials_are_covered_and_would_not_be_as_independent_ones():
    """Tables of a shadow share 60 % of the variance of scores. Fails once in a million if 7 % miss; the naive ones miss far more."""
    rng = np.random.default_rng(5)
    missed, naive = np.zeros(3, dtype=int), np.zeros(2, dtype=int)
    area, rate, gain = (
        stats.norm.cdf(1 / np.sqrt(2)),
        stats.norm.cdf(1),
        2 * stats.norm.cdf(0.5) - 1,
    )
    validation = LabelledScores.from_arrays([0.0, 0.5, 1.0], np.array([False, False, True]))
    for _ in range(REPEATS):
        trials = scored(rng, 80, 8, shift=1.0, shared=0.6)
        found = rates(validation, trials, levels=(0.5,))
        for i, (truth, (low, high)) in enumerate(
            [
                (area, found.auc_interval),
                (rate, found.at_fpr[0].tpr_interval),
                (gain, found.advantage_interval),
            ]
        ):
            missed[i] += not low <= truth <= high
        free = alone(trials)
        for i, (truth, (low, high)) in enumerate(
            [(area, auc_interval(free)[1]), (rate, rate_interval(*free.side(True, 0.0)))]
        ):
            naive[i] += not low <= truth <= high
    assert missed.max() <= most_misses(0.07)
    assert naive.min() > most_misses(0.07)


def test_pooled_targets_share_their_shadow():
    """Scores (shadows, targets, tables): trials of all targets of a shadow belong to it."""
    rng = np.random.default_rng(6)
    member = rng.random((30, 4)) < 0.5
    scores = rng.normal(size=(30, 4, 3))
    trials = LabelledScores.from_arrays(scores, member)
    assert trials.shadows == 30
    assert len(trials.scores) == 360
    np.testing.assert_array_equal(trials.shadow, np.repeat(np.arange(30), 12))
    np.testing.assert_array_equal(
        trials.member.reshape(30, 4, 3), np.repeat(member[..., None], 3, axis=2)
    )
    low, high = auc_interval(trials)[1]
    assert low < 0.5 < high


def test_one_trial_a_cluster_has_the_variance_of_delong():
    """By hand: members 1, 3, 5 and others 0, 2, 4 have shares below 1/3, 2/3, 1 and above 1, 2/3, 1/3: variance 2 x (1/9)/3 = 2/27."""
    member = np.array([False, True, False, True, False, True])
    value, (low, high) = clustered_auc(np.arange(6.0), member, np.arange(6))
    assert value == pytest.approx(2 / 3)

    def model(a):  # Newcombe (2006), method 5
        return a * (1 - a) * (1 + 2 * ((1 - a) / (2 - a) + a / (1 + a))) / 9

    # Sums are 1/9 x sqrt(3/2) four times and 0 twice: kurtosis 6 x 4 / 16 = 1.5, so min(5, 12 / 0.5) = 5 degrees.
    for end in (low, high):
        assert (value - end) ** 2 == pytest.approx(
            stats.t.ppf(0.975, 5) ** 2 * (2 / 27) / model(2 / 3) * model(end)
        )


def test_ties_and_targets_do_not_widen_an_interval():
    """1,000 tests, half of 4 targets without a slope, levels that differ: 95 % covers 93 to 97 %, within 4 standard errors of the count."""
    rng = np.random.default_rng(11)
    covered, widths = 0, []
    for _ in range(1000):
        member = np.stack([rng.permutation(60) < 30 for _ in range(4)], axis=1)
        noise = rng.normal(size=(60, 1)) + rng.normal(size=(60, 4))
        trials = LabelledScores.from_arrays(
            (np.array([0.0, 0.1, 0.0, 0.5]) * noise + np.arange(4))[..., None], member
        )
        low, high = rates(trials, trials).auc_interval
        covered += low <= 0.5 <= high
        widths.append(high - low)
    assert 922 <= covered <= 977
    assert (
        np.mean(widths) < 0.04
    )  # one of six pairs of targets, and a target's own trials, are all that can be told apart


def test_shadows_may_have_any_numbers_and_any_order():
    trials = scored(np.random.default_rng(8), 60, 3, shift=1, shared=0.5)
    order = np.random.default_rng(9).permutation(180)
    other = LabelledScores(
        trials.scores[order], trials.member[order], (1000 - 7 * trials.shadow)[order]
    )
    a, b = rates(trials, trials), rates(other, other)
    assert a.shadows == b.shadows == 60
    assert a.auc_interval == pytest.approx(b.auc_interval)
    assert a.advantage_interval == pytest.approx(b.advantage_interval)
    with pytest.raises(InputError, match="one length"):
        LabelledScores(trials.scores, trials.member[1:], trials.shadow)
    with pytest.raises(InputError, match="one target for each score"):
        LabelledScores(trials.scores, trials.member, trials.shadow, trials.shadow[1:])


def test_a_result_is_plain_data():
    trials = scored(np.random.default_rng(7), 300, 4, shift=2, shared=0.3)
    found = rates(trials, trials)
    told = json.loads(json.dumps(to_plain(found)))
    assert told["at_fpr"][0]["level"] == 0.01
    assert [told[name] for name in ("shadows", "members", "others")] == [300, 600, 600]
    assert from_plain(Rates, told, what="rates") == found


@pytest.mark.parametrize(
    ("scores", "member", "said"),
    [
        (np.zeros(3), np.array([True, True, True]), "one kind is absent"),
        (np.zeros((3, 2)), np.array([True, False]), "Got shape (2,)"),
        (np.zeros(2), np.array([1, 0]), "yes or no"),
        (np.array([np.nan, 1]), np.array([True, False]), "finite"),
    ],
)
def test_bad_trials_are_refused(scores, member, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(").replace(")", r"\)")):
        LabelledScores.from_arrays(scores, member)


def test_a_bad_level_is_refused():
    trials = LabelledScores.from_arrays(np.arange(4.0), np.arange(4) > 1)
    with pytest.raises(InputError, match="between 0 and 1"):
        rates(trials, trials, levels=(1.0,))
