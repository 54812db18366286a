"""The paper's algorithm: its settings as printed, its operators by hand-worked rates, and small problems that it does reach."""

from itertools import pairwise

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.columns import CodeColumn, Columns
from chaffinch.outputs.equations import CountTable, Lookup, Problem, Terms, regression
from chaffinch.outputs.solve import ea, maxent
from chaffinch.outputs.solve.ea import EvolutionSettings, evolve_statistic, fitness_of, solve
from chaffinch.outputs.solve.state import State
from chaffinch.outputs.statistics import numbers_of

COLUMNS = Columns((CodeColumn("y", 2), CodeColumn("a", 3), CodeColumn("x", 10, np.arange(10.0))))
QUICK = EvolutionSettings(population=16, generations=400, mutation=0.02, mutation_every=100)


def logit(half=0.02):
    matrix = np.stack([np.zeros(10), np.arange(10.0)], axis=1)
    terms = [Terms.dense((), (), np.eye(1, 2)), Terms.dense((2,), (10,), matrix)]
    label = Lookup((0,), (2,), np.array([[0.0], [1.0]]))
    return regression(
        "r", family="logit", terms=terms, label=label, coefficients=np.array([-0.5, 0.1]), half_widths=half
    )


def counts(lo, hi):
    return CountTable("a", ((1, np.arange(3)),), np.array(lo), np.array(hi))


def test_settings_are_the_papers_table_1():
    s = EvolutionSettings()
    assert (s.population, s.generations, s.crossover, s.crossover_per_record) == (32, 2_000, 0.8, 0.1)
    assert (s.mutation, s.mutation_divisor, s.mutation_every) == (0.005, 3.0, 250)
    assert (s.mutation_at(249), s.mutation_at(250)) == (0.005, 0.005 / 3)
    assert s.mutation_at(1_999) == pytest.approx(0.005 / 3**7)


def test_settings_are_checked():
    with pytest.raises(InputError, match=r"Unknown selection 'tournment'. Did you mean 'tournament'"):
        EvolutionSettings(selection="tournment")
    with pytest.raises(InputError, match="crossover must lie between 0 and 1"):
        EvolutionSettings(crossover=1.5)
    with pytest.raises(InputError, match="Unknown setting 'popluation'"):
        ea.settings_from({"popluation": 3})
    assert ea.settings_from({"population": 4}).population == 4


def test_mutation_and_crossover_have_their_rates():
    """20,000 cells at 0.1, of which 1 in 10 draws the old level again; 5 sd of the binomial either way: once in 1.7 million."""
    rng = np.random.default_rng(1)
    columns = Columns((CodeColumn("x", 10), CodeColumn("fixed", 5, fixed=True)))
    children = np.zeros((4, 5_000, 2), dtype=np.int32)
    ea._mutate(children, columns, 0.1, rng)
    changed = (children[:, :, 0] != 0).sum()
    assert abs(changed - 1_800) < 5 * np.sqrt(20_000 * 0.09 * 0.91)
    assert (children[:, :, 1] == 0).all()
    parents = np.stack([np.full((5_000, 2), k, dtype=np.int32) for k in range(4)])
    crossed = ea._crossed(parents.copy(), EvolutionSettings(crossover=1.0, crossover_per_record=0.1), rng)
    share = (crossed[0, :, 0] == 1).mean()
    assert abs(share - 0.1) < 5 * np.sqrt(0.09 / 5_000)
    np.testing.assert_array_equal(crossed[0, :, 0], crossed[0, :, 1])  # whole records
    np.testing.assert_array_equal(crossed[0] + crossed[1], np.ones((5_000, 2)))  # exchanged, none lost


@pytest.mark.parametrize("selection", ["tournament", "roulette", "truncation"])
def test_fitter_candidates_are_parents_more_often(selection):
    rng = np.random.default_rng(1)
    errors = np.arange(10.0)[::-1].copy()
    chosen = np.concatenate([ea._parents(errors, EvolutionSettings(selection=selection), rng) for _ in range(200)])
    times = np.bincount(chosen, minlength=10)
    assert times[5:].sum() > 1.5 * times[:5].sum()


@pytest.mark.parametrize("name", ["score", "fisher", "refit"])
def test_fitness_is_the_papers_error(name):
    """`refit` is the mean squared error of statsmodels' coefficients; `score` is that to first order, nearly equal near a solution."""
    problem = Problem(COLUMNS, (logit(0.0),))
    near = maxent.draw(problem, COLUMNS.start(3_000, seed=1), seed=2)
    fitness = fitness_of(name, problem)
    fitness.renew(near)
    apart = numbers_of(problem.outputs[0], near) - problem.outputs[0].at
    if name == "fisher":
        assert fitness.of(near) == pytest.approx(State(problem, near).error, rel=1e-9)
    else:
        assert fitness.of(near) == pytest.approx(float((apart**2).mean()), rel=1e-6 if name == "refit" else 0.15)


@pytest.mark.parametrize("survival", ["plus", "comma"])
@pytest.mark.parametrize("fitness", ["score", "fisher"])
def test_a_small_problem_is_reached_and_refitted(fitness, survival):
    problem = Problem(COLUMNS, (logit(), counts([50, 1, 60], [60, 9, 200])))
    settings = EvolutionSettings(
        population=16, generations=400, mutation=0.02, mutation_every=100, fitness=fitness, survival=survival
    )
    solved = solve(problem, COLUMNS.start(150, seed=1), seed=2, settings=settings)
    assert solved.reached
    assert np.abs(numbers_of(problem.outputs[0], solved.codes) - problem.outputs[0].at).max() <= 0.02
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
        COLUMNS, COLUMNS.start(50, seed=1), statistic, wanted, tolerance=0.001, seed=2, settings=QUICK
    )
    assert solved.reached
    assert np.sort(solved.codes[:, 2])[5:-5].mean() == 6.0
    assert (solved.codes[:, 1] == 2).sum() == 25
    with pytest.raises(InputError, match="must return 2 numbers"):
        evolve_statistic(COLUMNS, COLUMNS.start(5, seed=1), lambda d: np.zeros(3), np.zeros(2), settings=QUICK)


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
