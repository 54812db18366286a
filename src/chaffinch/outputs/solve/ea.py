"""The evolutionary algorithm of the paper (Elliot, Little and Allmendinger, table 1): a population of whole datasets.

Settings are as printed: 32 candidates, 2,000 generations, uniform starts, crossover with chance 0.8 and 0.1 for each record, mutation
0.005 for each cell, divided by 3 every 250 generations. How parents and survivors are chosen is not printed, so it is an option with
a name; nor does the paper say what a crossed record is, here a record of each of two parents in the same place. Whether the settings as
printed reach the accuracy that the paper reports depends on that rule and on the number of records; the error of each generation is
kept, and a run that did not arrive says so. `incremental` is the engine to use: this one is for comparison, and for statistics that are
no sums over records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.seeds import Seed, generator
from ..columns import Codes, Columns, Floats
from ..equations import Problem
from .budget import check_proposals
from .fitness import Fitness, FitnessName, fitness_of
from .incremental import Checkpoint, Solved
from .state import OutputError, State

__all__ = ["BlackBox", "EvolutionSettings", "Selection", "evolve_statistic", "solve"]

Selection = Literal["tournament", "roulette", "truncation"]
Survival = Literal["plus", "comma"]
SELECTIONS: tuple[str, ...] = get_args(Selection)
SURVIVALS: tuple[str, ...] = get_args(Survival)

BlackBox = Callable[[dict[str, NDArray[np.generic]]], Floats]
"""A user's statistic: from columns (numbers, or codes of words) by name to the published numbers."""


@dataclass(frozen=True)
class EvolutionSettings:
    """Settings of the algorithm; the paper's table 1 where it has them.

    Parameters
    ----------
    population, generations
        32 candidates, 2,000 generations.
    crossover, crossover_per_record
        The chance that two parents are crossed, and then that a record is exchanged.
    mutation, mutation_divisor, mutation_every
        The chance that a cell is drawn anew, and by what and how often it is divided.
    selection
        How parents are chosen, not given in the paper: `tournament` (the better of two), `roulette` (chance by rank, falling in a
        straight line), `truncation` (the better half).
    survival
        Who lives on, not given either: `plus` (the best of parents and children), `comma` (children, and the best parent).
    fitness
        `score`: mean squared error of the published numbers, coefficients to first order (the paper's error without refits);
        `fisher`: the same errors in chi-square units; `refit`: statsmodels fits every candidate, as the paper does.
    """

    population: int = 32
    generations: int = 2_000
    crossover: float = 0.8
    crossover_per_record: float = 0.1
    mutation: float = 0.005
    mutation_divisor: float = 3.0
    mutation_every: int = 250
    selection: Selection = "tournament"
    survival: Survival = "plus"
    fitness: FitnessName = "score"

    def __post_init__(self) -> None:
        if self.selection not in SELECTIONS:
            raise unknown_name("selection", self.selection, SELECTIONS)
        if self.survival not in SURVIVALS:
            raise unknown_name("survival", self.survival, SURVIVALS)
        if self.fitness not in get_args(FitnessName):
            raise unknown_name("fitness", self.fitness, get_args(FitnessName))
        if self.population < 2 or self.generations < 1 or self.mutation_every < 1:
            raise InputError("population must be at least 2, generations and mutation_every at least 1.")
        for name in ("crossover", "crossover_per_record", "mutation"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} must lie between 0 and 1. Got {getattr(self, name)}.")
        if not self.mutation_divisor >= 1.0:
            raise InputError(f"mutation_divisor must be at least 1. Got {self.mutation_divisor}.")

    def mutation_at(self, generation: int) -> float:
        """Return the chance that a cell mutates in a generation, counted from 0.

        Examples
        --------
        >>> [round(EvolutionSettings().mutation_at(g), 6) for g in (0, 249, 250, 500)]
        [0.005, 0.005, 0.001667, 0.000556]
        """
        return float(self.mutation / self.mutation_divisor ** (generation // self.mutation_every))


def solve(
    problem: Problem,
    codes: NDArray[np.integer],
    *,
    proposals: int | None = None,
    tolerance: float = 1e-3,
    seed: Seed = None,
    settings: EvolutionSettings | None = None,
    watch: Callable[[Checkpoint], None] | None = None,
) -> Solved:
    """Return the best dataset of the last generation; `proposals` in its trace are generations, `objective` the best fitness.

    Parameters
    ----------
    problem
        The columns and what was published.
    codes
        One candidate of the first generation; the others are drawn anew, but for columns that are fixed.
    proposals, tolerance, seed
        Children that may be scored at most (no generation is begun that would have more; all of the settings' if absent), when numbers known
        in full have arrived, and the random numbers.
    settings
        The algorithm's.
    watch
        Called with each checkpoint of the trace: ten in each step of the mutation, and the last.
    """
    settings = settings or EvolutionSettings()
    last = _last_generation(settings, proposals)
    started = time.perf_counter()
    fitness = fitness_of(settings.fitness, problem)
    trace: list[Checkpoint] = []
    state: list[State] = []

    def look(generation: int, best: Codes, error: float) -> bool:
        if generation % max(1, settings.mutation_every // 10) == 0 or generation >= last:
            state[:] = [State(problem, best, tolerance=tolerance)]
            trace.append(Checkpoint(generation, time.perf_counter() - started, error, state[0].errors()))
            if watch:
                watch(trace[-1])
            if not any(found.outside for found in trace[-1].errors):
                return True
        return generation >= last

    best, made = _evolve(problem.columns, codes, fitness, settings, generator(seed), look)
    state[:] = [State(problem, best, tolerance=tolerance)]
    errors = state[0].errors()
    reached = not any(error.outside for error in errors)
    return Solved(best, reached, errors, made * settings.population, 0, time.perf_counter() - started, tuple(trace))


def evolve_statistic(
    columns: Columns,
    codes: NDArray[np.integer],
    statistic: BlackBox,
    targets: Floats,
    *,
    tolerance: float = 0.0,
    proposals: int | None = None,
    seed: Seed = None,
    settings: EvolutionSettings | None = None,
) -> Solved:
    """Return a dataset for which a user's own statistic comes near its published values: any function of the columns.

    The statistic runs in this process, on evolved data alone. Its error is the mean squared difference to the targets.

    Parameters
    ----------
    columns, codes
        What a dataset is, and where to start.
    statistic
        From a mapping of column names to arrays (numbers where the column has values, codes elsewhere) to numbers.
    targets
        What it was published as.
    tolerance
        The largest difference at which a number has arrived.
    proposals, seed, settings
        As in `solve`.

    Examples
    --------
    A trimmed mean is no sum over records:

    >>> from chaffinch.outputs.columns import CodeColumn
    >>> columns = Columns((CodeColumn("x", 9, np.arange(9.0)),))
    >>> def trimmed(data):
    ...     return np.array([np.sort(data["x"])[2:-2].mean()])
    >>> few = EvolutionSettings(population=8, generations=200, mutation=0.1)
    >>> solved = evolve_statistic(columns, columns.start(20, seed=1), trimmed, np.array([6.0]), seed=2, settings=few)
    >>> solved.reached, float(trimmed({"x": solved.codes[:, 0]})[0])
    (True, 6.0)
    """
    settings = settings or EvolutionSettings()
    wanted, last = np.atleast_1d(np.asarray(targets, dtype=float)), _last_generation(settings, proposals)
    started = time.perf_counter()
    trace: list[Checkpoint] = []

    def numbers(candidate: Codes) -> Floats:
        data: dict[str, NDArray[np.generic]] = {
            column.name: candidate[:, c] if column.values is None else column.values[candidate[:, c]]
            for c, column in enumerate(columns)
        }
        found = np.atleast_1d(np.asarray(statistic(data), dtype=float))
        if found.shape != wanted.shape:
            raise InputError(
                f"The statistic must return {wanted.size} numbers, as many as targets. Got shape {found.shape}."
            )
        return found

    def one(candidate: Codes) -> float:
        found = float(((numbers(candidate) - wanted) ** 2).mean())
        return found if np.isfinite(found) else np.inf

    def error_of(candidate: Codes) -> OutputError:
        apart = np.abs(numbers(candidate) - wanted)
        return OutputError(
            "statistic", apart.size, int((apart > tolerance).sum()), float(apart.max()), float(apart.mean()), np.nan
        )

    def look(generation: int, best: Codes, error: float) -> bool:
        over = generation >= last
        if generation % max(1, settings.mutation_every // 10) == 0 or over or error <= tolerance**2 / wanted.size:
            trace.append(Checkpoint(generation, time.perf_counter() - started, error, (error_of(best),)))
            return over or trace[-1].errors[0].outside == 0
        return False

    best, made = _evolve(columns, codes, Fitness(one), settings, generator(seed), look)
    found = error_of(best)
    elapsed = time.perf_counter() - started
    return Solved(best, found.outside == 0, (found,), made * settings.population, 0, elapsed, tuple(trace))


Look = Callable[[int, Codes, float], bool]


def _last_generation(settings: EvolutionSettings, proposals: int | None) -> int:
    """The generation after which a run ends: that of the settings, or the last whose children are all within the proposals."""
    if proposals is None:
        return settings.generations
    check_proposals(proposals)
    return min(settings.generations, proposals // settings.population)


def _evolve(
    columns: Columns,
    codes: NDArray[np.integer],
    fitness: Fitness,
    settings: EvolutionSettings,
    rng: np.random.Generator,
    look: Look,
) -> tuple[Codes, int]:
    """Return the best candidate and the generations made; stops early when `look` says so."""
    first = columns.check(codes)
    population = np.stack([first, *(columns.start(len(first), seed=rng) for _ in range(settings.population - 1))])
    fixed = [c for c, column in enumerate(columns) if column.fixed]
    population[:, :, fixed] = first[:, fixed]
    fitness.renew(population[0])
    errors = np.array([fitness.of(candidate) for candidate in population])
    for generation in range(settings.generations + 1):
        if generation % RENEW == 0 and fitness.renew(population[int(errors.argmin())]):
            errors = np.array([fitness.of(candidate) for candidate in population])
        best = int(errors.argmin())
        if look(generation, population[best], float(errors[best])) or generation == settings.generations:
            break
        children = _crossed(population[_parents(errors, settings, rng)], settings, rng)
        _mutate(children, columns, settings.mutation_at(generation), rng)
        found = np.array([fitness.of(candidate) for candidate in children])
        if settings.survival == "plus":
            pool, scores = np.concatenate([population, children]), np.concatenate([errors, found])
            keep = np.argsort(scores, kind="stable")[: settings.population]
        else:
            pool, scores = np.concatenate([population[best : best + 1], children]), np.append(errors[best], found)
            keep = np.concatenate([[0], 1 + np.argsort(found, kind="stable")[: settings.population - 1]])
        population, errors = pool[keep], scores[keep]
    return population[int(errors.argmin())].copy(), generation


RENEW = 25
"""Generations after which the metric and the first-order estimates are made anew around the best candidate."""


def _parents(errors: Floats, settings: EvolutionSettings, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose as many parents as there are candidates; neighbours in the list mate."""
    n = len(errors)
    if settings.selection == "tournament":
        pairs = rng.integers(0, n, (n, 2))
        return np.where(errors[pairs[:, 0]] <= errors[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
    ranked = np.argsort(errors, kind="stable")
    if settings.selection == "roulette":
        weights = np.arange(n, 0, -1.0)
        return ranked[rng.choice(n, n, p=weights / weights.sum())]
    return ranked[rng.integers(0, max(1, n // 2), n)]


def _crossed(parents: NDArray[np.int32], settings: EvolutionSettings, rng: np.random.Generator) -> NDArray[np.int32]:
    """Exchange records between neighbours, in place."""
    for k in range(0, len(parents) - 1, 2):
        if rng.random() < settings.crossover:
            rows = np.flatnonzero(rng.random(parents.shape[1]) < settings.crossover_per_record)
            parents[k, rows], parents[k + 1, rows] = parents[k + 1, rows], parents[k, rows].copy()
    return parents


def _mutate(children: NDArray[np.int32], columns: Columns, rate: float, rng: np.random.Generator) -> None:
    """Draw cells anew, in place: each with the same chance, from its column's chances."""
    free = [c for c, column in enumerate(columns) if not column.fixed]
    n_cells = children.shape[0] * children.shape[1]
    for c in free:
        column = columns.every[c]
        # As many cells as a binomial draw says, anywhere: what a draw for each cell gives, without the draws.
        at = rng.choice(n_cells, rng.binomial(n_cells, rate), replace=False, shuffle=False)
        new = (
            rng.integers(0, column.size, len(at))
            if column.weights is None
            else rng.choice(column.size, len(at), p=column.chances)
        )
        children.reshape(n_cells, -1)[at, c] = new


def settings_from(options: Mapping[str, object]) -> EvolutionSettings:
    """Return settings from plain data, as the spawned process gets them."""
    known = EvolutionSettings.__dataclass_fields__
    for name in options:
        if name not in known:
            raise unknown_name("setting", name, known)
    return EvolutionSettings(**options)  # type: ignore[arg-type]
