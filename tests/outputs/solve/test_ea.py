"""The paper's algorithm: its settings as printed, its operators by hand-worked rates, and small problems that it does reach."""

import re
from itertools import pairwise

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.domain import CodeColumn, Columns
from chaffinch.outputs.equations import CountTable, Lookup, Problem, Terms, regression
from chaffinch.outputs.solve import ea
from chaffinch.outputs.solve.ea import EvolutionSettings, evolve_statistic, solve
from chaffinch.outputs.statistics import numbers_of

COLUMNS = Columns((CodeColumn("y", 2), CodeColumn("a", 3), CodeColumn("x", 10, np.arange(10.0))))
QUICK = EvolutionSettings(population=16, generations=400, mutation=0.02, mutation_every=100)


def logit(half=0.02, at=(-0.5, 0.1)):
    matrix = np.stack([np.zeros(10), np.arange(10.0)], axis=1)
    terms = [Terms.dense((), (), np.eye(1, 2)), Terms.dense((2,), (10,), matrix)]
    label = Lookup((0,), (2,), np.array([[0.0], [1.0]]))
    return regression(
        "r", family="logit", terms=terms, label=label, coefficients=np.array(at), half_widths=half
    )


def counts(lo, hi):
    return CountTable("a", ((1, np.arange(3)),), np.array(lo), np.array(hi))


def test_settings_are_the_papers_table_1():
    s = EvolutionSettings()
    assert (s.population, s.generations, s.crossover, s.crossover_per_record) == (
        32,
        2_000,
        0.8,
        0.1,
    )
    assert (s.mutation, s.mutation_divisor, s.mutation_every) == (0.005, 3.0, 250)
    assert (s.mutation_at(249), s.mutation_at(250)) == (0.005, 0.005 / 3)
    assert s.mutation_at(1_999) == pytest.approx(0.005 / 3**7)


def test_settings_are_checked():
    with pytest.raises(
        InputError, match=r"Unknown selection 'tournment'. Did you mean 'tournament'"
    ):
        EvolutionSettings(selection="tournment")
    with pytest.raises(InputError, match="crossover must lie between 0 and 1"):
        EvolutionSettings(crossover=1.5)
    with pytest.raises(InputError, match="Unknown setting 'popluation'"):
        ea.settings_from({"popluation": 3})
    assert ea.settings_from({"population": 4}).population == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"tournament_size": 1},
            "tournament_size must be at least 2, and at most the population, 32. Got 1.",
        ),
        (
            {"tournament_size": 33},
            "tournament_size must be at least 2, and at most the population, 32. Got 33.",
        ),
        (
            {"selection": "best", "best": 0},
            "best must be at least 1, and at most the population, 32. Got 0.",
        ),
        (
            {"selection": "best", "best": 5, "population": 4},
            "best must be at least 1, and at most the population, 4. Got 5.",
        ),
        ({"best": 2}, "best is for the selection 'best', and parents are chosen by 'tournament'."),
        (
            {"selection": "best", "tournament_size": 3},
            "tournament_size is for the selection 'tournament', and parents are chosen by 'best'.",
        ),
    ],
)
def test_numbers_of_a_selection_are_checked(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        ea.settings_from(options)


def test_settings_choose_parents_by_their_rule():
    errors, rng = np.arange(10.0)[::-1], np.random.default_rng(1)
    best = ea.settings_from({"population": 10, "selection": "best", "best": 3})
    assert set(np.concatenate([best.parents(errors, rng) for _ in range(40)])) == {7, 8, 9}
    # The best of ten of ten: the worst three are never chosen but for once in 10^5 draws each.
    most = ea.settings_from({"population": 10, "tournament_size": 10})
    assert np.concatenate([most.parents(errors, rng) for _ in range(40)]).min() > 2


def brute_force(seed, *, rows, population, generations, best):
    """P1's algorithm as one would write it down: a list of matrices, a refit of each, numpy's draws. The error of the best one by generation."""
    rng = np.random.default_rng(seed)
    problem = Problem(COLUMNS, (logit(0.0, at=(2.5, -0.6)),))
    x = np.stack([np.ones(10), np.arange(10.0)], axis=1)

    def error(codes):
        b, design = np.zeros(2), x[codes[:, 2]]
        for _ in range(12):
            p = 1.0 / (1.0 + np.exp(-design @ b))
            b = b + np.linalg.solve(
                (design * (p * (1 - p))[:, None]).T @ design, design.T @ (codes[:, 0] - p)
            )
        return ((b - problem.outputs[0].at) ** 2).mean()

    living = [COLUMNS.start(rows, seed=rng) for _ in range(population)]
    errors = [error(codes) for codes in living]
    for _ in range(generations):
        ranked = np.argsort(errors)
        children = [living[ranked[rng.integers(best)]].copy() for _ in range(population)]
        for k in range(0, population - 1, 2):
            if rng.random() < 0.8:
                for i in range(rows):
                    if rng.random() < 0.1:
                        children[k][i], children[k + 1][i] = (
                            children[k + 1][i].copy(),
                            children[k][i].copy(),
                        )
        for child in children:
            for c, column in enumerate(COLUMNS):
                hit = rng.random(rows) < 0.02
                child[hit, c] = rng.integers(0, column.size, hit.sum())
        living, errors = living + children, errors + [error(codes) for codes in children]
        kept = np.argsort(errors)[:population]
        living, errors = [living[k] for k in kept], [errors[k] for k in kept]
    return errors[0]


def test_it_gets_as_far_as_the_algorithm_by_brute_force():
    """Mean log error of the best after 25 generations, 24 runs of each, 5 standard errors: a right engine fails once in 300,000 times (t, 46 df)."""
    rows, n, runs = 60, 25, 24
    problem = Problem(COLUMNS, (logit(0.0, at=(2.5, -0.6)),))
    settings = EvolutionSettings(
        population=6, generations=n, mutation=0.02, selection="best", best=2
    )
    ours, theirs = [], []
    for seed in range(runs):
        solved = solve(
            problem, COLUMNS.start(rows, seed=1_000 + seed), seed=seed, settings=settings
        )
        apart = numbers_of(problem.outputs[0], solved.codes) - problem.outputs[0].at
        ours.append(np.log((apart**2).mean()))
        theirs.append(np.log(brute_force(seed, rows=rows, population=6, generations=n, best=2)))
    error = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / runs)
    assert abs(np.mean(ours) - np.mean(theirs)) < 5 * error
    start = np.log(brute_force(0, rows=rows, population=6, generations=0, best=2))
    assert max(np.mean(ours), np.mean(theirs)) < start - 5 * error  # both got on


@pytest.mark.parametrize("survival", ["plus", "comma"])
@pytest.mark.parametrize("fitness", ["score", "fisher"])
def test_a_small_problem_is_reached_and_refitted(fitness, survival):
    problem = Problem(COLUMNS, (logit(), counts([50, 1, 60], [60, 9, 200])))
    settings = EvolutionSettings(
        population=16,
        generations=400,
        mutation=0.02,
        mutation_every=100,
        fitness=fitness,
        survival=survival,
    )
    solved = solve(problem, COLUMNS.start(150, seed=1), seed=2, settings=settings)
    assert solved.reached
    assert (
        np.abs(numbers_of(problem.outputs[0], solved.codes) - problem.outputs[0].at).max() <= 0.02
    )
    assert 1 <= problem.outputs[1].counts(solved.codes)[1] <= 9
    assert solved.trace[-1].objective < solved.trace[0].objective


def test_errors_never_rise_where_the_best_live_on_under_a_fixed_measure():
    problem = Problem(COLUMNS, (counts([100, 0, 0], [100, 0, 0]),))
    solved = solve(
        problem,
        COLUMNS.start(100, seed=1),
        seed=2,
        settings=EvolutionSettings(population=8, generations=60, mutation=0.001),
    )
    found = [point.objective for point in solved.trace]
    assert all(after <= before for before, after in pairwise(found))
    assert not solved.reached  # and it says so
    assert solved.errors[0].outside > 0


def test_refit_fitness_reaches_a_tiny_problem():
    problem = Problem(COLUMNS, (logit(0.1),))
    settings = EvolutionSettings(population=6, generations=40, mutation=0.05, fitness="refit")
    assert solve(problem, COLUMNS.start(60, seed=1), seed=2, settings=settings).reached


def test_a_users_statistic():
    """A trimmed mean is no sum over records; the function sees numbers, and codes for words."""

    def statistic(data):
        assert set(data) == {"y", "a", "x"}
        return np.array([np.sort(data["x"])[5:-5].mean(), (data["a"] == 2).mean()])

    wanted = np.array([6.0, 0.5])
    solved = evolve_statistic(
        COLUMNS,
        COLUMNS.start(50, seed=1),
        statistic,
        wanted,
        tolerance=0.001,
        seed=2,
        settings=QUICK,
    )
    assert solved.reached
    assert np.sort(solved.codes[:, 2])[5:-5].mean() == 6.0
    assert (solved.codes[:, 1] == 2).sum() == 25
    with pytest.raises(InputError, match="must return 2 numbers"):
        evolve_statistic(
            COLUMNS, COLUMNS.start(5, seed=1), lambda d: np.zeros(3), np.zeros(2), settings=QUICK
        )


def test_seeds_and_fixed_columns_and_proposals():
    columns = Columns((*COLUMNS.every[:2], CodeColumn("x", 10, np.arange(10.0), fixed=True)))
    problem = Problem(columns, (logit(1e-6),))
    start = columns.start(80, seed=1)
    few = EvolutionSettings(population=4, generations=20)
    first, again, other = (solve(problem, start, seed=s, settings=few) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.codes, again.codes)
    assert (first.codes != other.codes).any()
    np.testing.assert_array_equal(first.codes[:, 2], start[:, 2])
    late = solve(problem, start, proposals=3, seed=1, settings=EvolutionSettings(population=4))
    assert late.proposals == 0  # a generation has four children
    assert solve(problem, start, proposals=11, seed=1, settings=few).proposals == 8
    assert not late.reached
