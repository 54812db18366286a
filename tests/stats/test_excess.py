"""The statistics of excess risk against enumeration, row-by-row draws and closed forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch._base.results import to_plain
from chaffinch.stats import excess as excess_module
from chaffinch.stats import panel as panel_module
from chaffinch.stats.excess import (
    NO_HOLDOUT,
    ONE_SYNTHESIS,
    Excess,
    combine,
    detectable_excess,
    excess,
    excess_error,
    interval,
    standard_error,
    stretch,
    value_of,
)
from chaffinch.stats.familywise import family
from chaffinch.stats.rates import ClassStatistic, Ratio, Statistic

Pair = tuple[np.ndarray, np.ndarray]
SIGMAS = 5.0  # a normal value is further out once in 1.7 million


# Oracles: plain loops over people, no units, no cells, no grid.


def plain_ratio(pair: Pair, chosen: np.ndarray | list[int], _common: int) -> float | None:
    a, w = (np.asarray(x, dtype=float)[chosen] for x in pair)
    return a.sum() / w.sum() if w.sum() > 0 else None


def plain_classes(
    weights: np.ndarray, empty: str
) -> Callable[[Pair, list[int], int], float | None]:
    def value(pair: Pair, chosen: list[int], common: int) -> float | None:
        above = below = 0.0
        for k, weight in enumerate(weights):
            right = [pair[1][i] for i in chosen if pair[0][i] == k]
            if right:
                n = len(chosen)
                met = 1 - comb(n - len(right), common) / comb(n, common)
                above += weight * met * sum(right) / len(right)
                below += weight * met
        if empty == "zero":
            below = float(sum(weights))
        return above / below if below > 0 else None

    return value


def enumerated(pair: Pair, n_members: int, value: Callable[..., float | None]) -> np.ndarray:
    """Return the excess of every choice of members; the people's own order is the first choice."""
    n = len(pair[0])
    common = min(n_members, n - n_members)
    found = []
    for members in combinations(range(n), n_members):
        others = [i for i in range(n) if i not in members]
        ours, theirs = value(pair, list(members), common), value(pair, others, common)
        found.append(0.0 if ours is None or theirs is None else ours - theirs)
    return np.array(found)


def cut(pair: Pair, n: int) -> tuple[Pair, Pair]:
    return (pair[0][:n], pair[1][:n]), (pair[0][n:], pair[1][n:])


ONES = np.ones(12)
VOTES = np.array([1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0], dtype=float)
THIRDS = np.array([3, 2, 1, 3, 0, 2, 1, 1, 0, 2, 0, 3]) / 3
SOME = np.array([1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0], dtype=float)
CLASSES = np.array([0, 0, 1, 2, -1, 2, 1, 0, 3, -1, 3, 2], dtype=float)
WEIGHTS = np.array([3.0, 1.0, 2.0, 5.0])

SMALL = {
    "votes": ((VOTES, ONES), None, plain_ratio),
    "fractions with ties": ((THIRDS, ONES), None, plain_ratio),
    "ratio": ((VOTES * SOME, SOME), None, plain_ratio),
    "weights": ((THIRDS * (1 + SOME), 1 + SOME), None, plain_ratio),
    "classes dropped": (
        (CLASSES, VOTES),
        ClassStatistic(WEIGHTS),
        plain_classes(WEIGHTS, "dropped"),
    ),
    "classes zero": (
        (CLASSES, VOTES),
        ClassStatistic(WEIGHTS, "zero"),
        plain_classes(WEIGHTS, "zero"),
    ),
    "classes of shares": (
        (CLASSES, THIRDS),
        ClassStatistic(WEIGHTS),
        plain_classes(WEIGHTS, "dropped"),
    ),
}


@pytest.mark.parametrize("n_members", [6, 8], ids=["6+6", "8+4"])
@pytest.mark.parametrize("case", SMALL)
def test_p_values_are_those_of_all_choices_of_members(case: str, n_members: int) -> None:
    pair, statistic, value = SMALL[case]
    every = enumerated(pair, n_members, value)
    members, others = cut(pair, n_members)
    draws = 8000
    found = excess(members, others, statistic=statistic, resamples=draws, seed=11)
    assert found.value == pytest.approx(every[0], abs=1e-12)
    greater, less = np.mean(every >= every[0] - 1e-9), np.mean(every <= every[0] + 1e-9)
    # The share among 8,000 random choices; 5 standard errors, once in 1.7 million for each of 28.
    slack = SIGMAS * sqrt(0.25 / draws)
    assert found.p_value == pytest.approx(greater, abs=slack)
    assert found.p_two_sided == pytest.approx(min(1.0, 2 * min(greater, less)), abs=2 * slack)


@pytest.mark.parametrize("case", ["votes", "fractions with ties"])
def test_null_error_is_the_spread_of_all_choices(case: str) -> None:
    pair, _, value = SMALL[case]
    every = enumerated(pair, 8, value)
    found = excess(*cut(pair, 8), resamples=50, seed=1)
    # For means the permutation variance is s^2 (1/n + 1/m) exactly.
    assert found.null_error == pytest.approx(every.std(), rel=1e-9)
    assert found.detectable == pytest.approx(2.486475 * every.std(), rel=1e-6)


def test_family_is_that_of_all_choices_of_members() -> None:
    rng = np.random.default_rng(
        17
    )  # scores without ties: an atom at a threshold would fall to either side
    pairs = [
        (rng.random(12), ONES),
        (rng.random(12) * SOME, SOME),
        (CLASSES, rng.random(12)),
        (rng.random(12), ONES),
    ]
    statistics: list[Statistic] = [Ratio(), Ratio(), ClassStatistic(WEIGHTS), Ratio()]
    plain = [plain_ratio, plain_ratio, plain_classes(WEIGHTS, "dropped"), plain_ratio]
    every = np.column_stack(
        [enumerated(pair, 6, value) for pair, value in zip(pairs, plain, strict=True)]
    )
    z = (every - every.mean(axis=0)) / every.std(axis=0)
    adjusted = (z.max(axis=1)[:, None] >= z[0] - 1e-9).mean(axis=0)
    sides = [cut(pair, 6) for pair in pairs]
    draws = 8000
    found = family(
        [m for m, _ in sides], [o for _, o in sides], statistics=statistics, resamples=draws, seed=5
    )
    # 5 standard errors of a share of 8,000, and half as much again: means and standard deviations are those of the draws,
    # which moves z by up to 0.03 and so a few choices across the threshold.
    np.testing.assert_allclose(found.adjusted, adjusted, atol=1.5 * SIGMAS * sqrt(0.25 / draws))
    assert found.strongest == int(z[0].argmax())
    assert found.p_value == min(p for p in found.adjusted if p is not None)
    np.testing.assert_allclose(found.excesses, every[0], atol=1e-12)


# Random people.


# Errors and intervals of one group.


def test_standard_error_of_a_mean_is_the_closed_form() -> None:
    scores = np.random.default_rng(1).random(50)
    group = Ratio().check((scores, np.ones(50)))
    assert standard_error(group, Ratio()) == pytest.approx(scores.std(ddof=1) / sqrt(50), rel=1e-12)


def brute_percentiles(
    value: Callable[[np.ndarray], float], n: int, draws: int
) -> tuple[np.ndarray, float]:
    rng = np.random.default_rng(99)
    found = np.array([value(rng.integers(n, size=n)) for _ in range(draws)])
    return np.quantile(found, [0.025, 0.975]), float(found.std())


@pytest.mark.parametrize("kind", ["mean", "ratio", "distinct"])
def test_interval_is_that_of_rows_drawn_one_by_one(kind: str) -> None:
    rng, n = np.random.default_rng(7), {"mean": 200, "ratio": 200, "distinct": 1200}[kind]
    weight = (rng.random(n) < 0.6).astype(float) if kind == "ratio" else np.ones(n)
    score = rng.random(n) ** 3 if kind == "distinct" else (rng.random(n) < 0.3).astype(float)
    numerator = score * weight
    ends, spread = brute_percentiles(
        lambda rows: numerator[rows].sum() / weight[rows].sum(), n, 8000
    )
    found = interval(numerator, weight, resamples=8000, seed=1)
    # The 2.5 % point of 8,000 normal draws has a standard error of 0.03 standard deviations; two of them, 5 standard
    # errors, is 0.21; known bias of the percentile (n - 1)/n, and the atoms of 1/n, are below 0.07.
    np.testing.assert_allclose(found, ends, atol=0.28 * spread)


def test_gathered_scores_give_the_p_value_of_shuffled_rows() -> None:
    rng = np.random.default_rng(6)
    weight = (rng.random(3000) < 0.7).astype(float)
    score = rng.random(3000) ** 2 * weight
    score[:2000] *= 0.98
    pair = (score, weight)
    found = excess(*cut(pair, 2000), resamples=4000, seed=1)
    shuffled = []
    for _ in range(4000):
        rows = rng.permutation(3000)
        shuffled.append(plain_ratio(pair, rows[:2000], 0) - plain_ratio(pair, rows[2000:], 0))  # type: ignore[operator]
    less = np.mean(np.array(shuffled) >= found.value)
    assert 0.05 < less < 0.95  # else the comparison says little
    assert found.p_value == pytest.approx(less, abs=SIGMAS * sqrt(0.5 / 4000))


def test_few_people_give_students_and_welchs_intervals() -> None:
    from scipy.stats import t, ttest_ind

    rng = np.random.default_rng(2)
    first, second = rng.random(9), rng.random(5) ** 3
    error, degrees = excess_error(Ratio(), (first, np.ones(9)), (second, np.ones(5)), None)
    welch = ttest_ind(first, second, equal_var=False)
    assert error == pytest.approx((first.mean() - second.mean()) / welch.statistic)
    assert degrees == pytest.approx(welch.df)
    # Scores on both sides of the middle alike: the shape is symmetric and nearly normal, so the ends are nearly Student's.
    score = np.concatenate([0.5 - first / 2, 0.5 + first / 2])
    low, high = interval(score, np.ones(18), resamples=20_000, seed=1) or (0.0, 0.0)
    half = t.ppf(0.975, 17) * score.std(ddof=1) / sqrt(18)
    # 20,000 draws place an end within 5 * 0.02 / 1.96 = 5 %; the normal interval would be 7 % narrower, kurtosis adds 1 %.
    assert high - low == pytest.approx(2 * half, rel=0.03)
    assert stretch(17, 0.975) == pytest.approx(t.ppf(0.975, 17) / 1.959964, rel=1e-6)


def test_ends_are_the_points_that_a_new_draw_passes_as_often_as_said() -> None:
    # Of 39 draws and a new one, each rank is as likely: below all 39 in 1 of 40, the 2.5 % of a 95 % interval.
    drawn = np.random.default_rng(1).normal(size=39)
    z = (drawn - drawn.mean()) / drawn.std(ddof=1)
    found = excess_module._between(0.0, 0.1, drawn, 0.95, low=-1.0)
    assert found == pytest.approx((0.1 * z.min(), 0.1 * z.max()))


def test_interval_of_people_who_all_score_alike_is_not_a_point() -> None:
    low, high = interval(np.ones(20), np.ones(20), seed=1) or (1.0, 1.0)
    assert low < 0.9
    assert high == 1.0
    found = excess((np.ones(20), np.ones(20)), (np.zeros(30), np.ones(30)), seed=1)
    assert found.value == 1.0
    assert found.interval is not None
    assert found.interval[0] < 0.9
    assert found.p_value == 1 / 1001


# Means over classes.


def test_groups_of_unequal_size_have_no_excess_when_alike() -> None:
    """Twice as many members meet more classes; compared at one size, the excess of random choices averages zero."""
    rng = np.random.default_rng(2)
    classes, right = rng.integers(-1, 400, 600), (rng.random(600) < 0.7).astype(float)
    statistic = ClassStatistic(np.ones(400), "zero")
    found = [
        excess(
            *cut((classes[rows], right[rows]), 400), statistic=statistic, resamples=2, seed=1
        ).value
        for rows in (rng.permutation(600) for _ in range(400))
    ]
    # 5 standard errors of a mean of 400; the plain difference of values is about 0.2.
    assert abs(np.mean(found)) < SIGMAS * np.std(found) / 20  # type: ignore[arg-type]


# Both ends.


def test_a_copy_has_the_smallest_p_value_there_is() -> None:
    rng = np.random.default_rng(4)
    keys, secret = rng.integers(300, size=900), rng.integers(4, size=900)
    told = {(k, s) for k, s in zip(keys[:600], secret[:600], strict=True)}
    score = np.array([float((k, s) in told) for k, s in zip(keys, secret, strict=True)])
    found = excess(*cut((score, np.ones(900)), 600), resamples=500, seed=1)
    assert found.members == 1.0
    assert found.p_value == 1 / 501
    both = family(
        [(score[:600], np.ones(600))], [(score[600:], np.ones(300))], resamples=500, seed=1
    )
    assert both.p_value == 1 / 501
    assert both.lower_bound > 0.1  # type: ignore[operator]


def test_p_values_are_uniform_when_members_and_others_are_alike() -> None:
    from scipy.stats import kstest

    rng = np.random.default_rng(10)
    draws, resamples = 400, 99
    found = []
    for number in range(draws):
        pair = (rng.random(60), np.ones(60))
        p = excess(*cut(pair, 40), resamples=resamples, seed=number).p_value
        found.append(p - rng.random() / (resamples + 1))  # type: ignore[operator]
    # Exactly uniform in theory; a Kolmogorov-Smirnov p-value below 1e-6 comes once in a million.
    assert kstest(found, "uniform").pvalue > 1e-6


def test_scores_on_the_grid_change_neither_value_nor_ties() -> None:
    third = np.array([1 / 3, 2 / 3, 1.0, 0.0])
    found = excess((third, np.ones(4)), (third[::-1].copy(), np.ones(4)), resamples=500, seed=1)
    assert found.value == pytest.approx(0.0, abs=1e-15)
    assert found.p_two_sided == 1.0


# Degenerate groups give a value or a reason.


@pytest.mark.parametrize(
    ("members", "others", "reason"),
    [
        (([0.0, 0.0], [0.0, 0.0]), ([1.0], [1.0]), "counts no person of the original"),
        (([1.0], [1.0]), ([0.0], [0.0]), "counts no person of the holdout"),
        (([], []), ([1.0], [1.0]), "the original has no people"),
        (([1.0], [1.0]), ([], []), "the holdout has no people"),
    ],
)
def test_a_group_without_a_value_gives_the_reason(members: Pair, others: Pair, reason: str) -> None:
    found = excess(members, others, seed=1)
    assert found.value is None
    assert reason in found.reason
    assert found.interval is None
    together = family([members], [others], seed=1)
    assert together.p_value is None
    assert reason in together.excluded[0]
    assert "none of the attacks" in together.reason


def test_one_person_each_gives_finite_numbers() -> None:
    found = excess(([1.0], [1.0]), ([0.0], [1.0]), seed=1)
    assert found.value == 1.0
    assert found.p_value == pytest.approx(0.5, abs=SIGMAS * sqrt(0.25 / 1000))
    json.dumps(to_plain(found), allow_nan=False)
    assert interval([], []) is None


def test_all_people_alike_is_said() -> None:
    found = excess((np.full(50, 0.3), np.ones(50)), (np.full(40, 0.3), np.ones(40)), seed=1)
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.p_value == 1.0
    assert found.detectable is None
    assert any("score the same" in note for note in found.notes)
    assert found.interval is not None
    assert found.interval[0] < 0 < found.interval[1]


def test_rare_weights_never_give_nan() -> None:
    weight = np.zeros(500)
    weight[[0, 1, 400]] = 1.0
    rng = np.random.default_rng(0)
    votes = (rng.random(500) < 0.5).astype(float)
    numerator = weight.copy()
    numerator[400] = 0.0
    rare, common = cut((numerator, weight), 300), cut((votes, np.ones(500)), 300)
    json.dumps(to_plain(excess(*rare, seed=1)), allow_nan=False)
    found = family([rare[0], common[0]], [rare[1], common[1]], seed=1)
    json.dumps(found.to_dict(), allow_nan=False)
    assert not found.excluded
    assert interval(*rare[1], seed=1) is not None


# Draws: seeds, blocks, threads.


def mixed_family() -> tuple[list[Pair], list[Pair], list[Statistic]]:
    rng = np.random.default_rng(12)
    n, n_members = 900, 500
    weight = (rng.random(n) < 0.6).astype(float)
    pairs = [
        ((rng.random(n) < 0.3).astype(float), np.ones(n)),
        (rng.random(n) * weight, weight),
        (rng.integers(-1, 90, n).astype(float), (rng.random(n) < 0.5).astype(float)),
    ]
    sides = [cut(pair, n_members) for pair in pairs]
    statistics: list[Statistic] = [Ratio(), Ratio(), ClassStatistic(rng.integers(1, 6, 90))]
    return [m for m, _ in sides], [o for _, o in sides], statistics


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel_module, "BLOCK_CELLS", 20_000)  # 22 draws a block
    members, others, statistics = mixed_family()
    one, four = (
        family(members, others, statistics=statistics, resamples=300, seed=1, threads=t)
        for t in (1, 4)
    )
    assert one == four
    assert len(panel_module.block_sizes(300, 900)) > 10
    single = [excess(members[1], others[1], resamples=300, seed=1, threads=t) for t in (1, 4)]
    assert single[0] == single[1]


def test_no_two_blocks_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel_module, "BLOCK_CELLS", 9000)  # 10 draws a block
    members, others, statistics = mixed_family()
    groups = [
        [s.check(g) for s, g in zip(statistics, side, strict=True)] for side in (members, others)
    ]
    panel = panel_module.AttackPanel.from_groups(*groups, statistics)
    for drawn in (
        panel.permuted(50, np.random.SeedSequence(1)),
        panel.resampled(50, np.random.SeedSequence(1)),
    ):
        assert len(np.unique(drawn[:, 1])) == 50


def test_the_seed_decides() -> None:
    members, others, statistics = mixed_family()
    runs = [
        family(members, others, statistics=statistics, resamples=200, seed=s) for s in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    sequence = np.random.SeedSequence(3)
    assert excess(members[0], others[0], seed=sequence) == excess(
        members[0], others[0], seed=sequence
    )


def test_order_of_people_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    pair = (np.round(rng.random(200), 1), np.ones(200))
    members, others = cut(pair, 120)
    turned = (members[0][::-1].copy(), members[1])
    assert excess(members, others, seed=1).p_value == excess(turned, others, seed=1).p_value


# What is reported.


def test_no_holdout_is_never_no_excess() -> None:
    assert "no excess can be stated" in NO_HOLDOUT
    assert "no holdout" in NO_HOLDOUT.lower()


def test_detectable_is_the_sum_of_two_normal_points() -> None:
    assert detectable_excess(1.0) == pytest.approx(1.6448536 + 0.8416212, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: excess(([2.0], [1.0]), ([1.0], [1.0])), "between 0 and the person's weight"),
        (lambda: excess(([np.nan], [1.0]), ([1.0], [1.0])), "between 0 and the person's weight"),
        (lambda: excess(([1.0, 0.0], [1.0]), ([1.0], [1.0])), "lists of one length"),
        (
            lambda: excess(([1.0], [1.0]), ([1.0], [1.0]), resamples=1),
            "resamples must be at least 2",
        ),
        (lambda: interval([1.0], [1.0], level=1.5), "level must lie between 0 and 1"),
        (lambda: family([([1.0], [1.0])], []), "same attacks"),
        (
            lambda: family([([1.0], [1.0])] * 2, [([1.0], [1.0]), ([1.0, 0.0], [1.0, 1.0])]),
            "same people",
        ),
        (lambda: ClassStatistic(np.array([1.0])).value(([1], [1])), "from -1 \\(none\\) to 0"),
        (
            lambda: ClassStatistic(np.array([1.0])).value(([0], [2])),
            "right must lie between 0 and 1",
        ),
        (lambda: ClassStatistic(np.array([-1.0])), "at least 0"),
        (
            lambda: ClassStatistic(np.array([1.0]), "skipped"),
            "Unknown rule for empty classes 'skipped'",
        ),  # type: ignore[arg-type]
        (lambda: combine([]), "at least one synthetic table"),
    ],
)
def test_errors_name_the_rule(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# Several syntheses.


def test_value_of_a_group_is_its_ratio() -> None:
    assert value_of(Ratio(), Ratio().check((VOTES, ONES)), 12) == pytest.approx(VOTES.mean())


def known(value: float | None, error: float | None) -> Excess:
    return Excess(
        value=value,
        standard_error=error,
        interval=None if value is None else (value - 0.1, value + 0.1),
        n_members=100,
        n_others=100,
        reason="" if value is not None else "There is no excess: no people.",
    )


def test_combining_is_rubins_rule() -> None:
    found = combine([known(0.1, 0.02), known(0.16, 0.04), known(0.13, 0.03)])
    # By hand: W = (4 + 16 + 9)e-4/3, B = 9e-4, T = W + 4/3 B = 21.6667e-4, degrees = 2 (1 + W / 12e-4)^2 = 6.5201.
    assert found.value == pytest.approx(0.13)
    assert found.within == pytest.approx(29e-4 / 3)
    assert found.between == pytest.approx(9e-4)
    assert found.standard_error == pytest.approx(sqrt(21.666667e-4), rel=1e-6)
    assert found.degrees == pytest.approx(6.5201, abs=1e-3)
    assert found.interval is not None
    # Student's 97.5 % points are 2.447 for 6 and 2.365 for 7 degrees.
    assert 2.365 < (found.interval[1] - 0.13) / found.standard_error < 2.447  # type: ignore[operator]


def test_syntheses_that_agree_leave_the_variance_within() -> None:
    found = combine([known(0.1, 0.02)] * 4)
    assert found.degrees is None
    assert found.interval == pytest.approx((0.1 - 1.959964 * 0.02, 0.1 + 1.959964 * 0.02), abs=1e-6)
    json.dumps(to_plain(found), allow_nan=False)


def test_one_synthesis_says_what_is_absent() -> None:
    found = combine([known(0.1, 0.02)])
    assert found.between is None
    assert found.note == ONE_SYNTHESIS
    assert found.interval == pytest.approx((0.0, 0.2))


def test_a_synthesis_without_an_excess_gives_the_reason() -> None:
    found = combine([known(0.1, 0.02), known(None, None)])
    assert found.value is None
    assert "1 of 2" in found.reason
