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

from ..._base.errors import InputError, MissingExtraError, unknown_name
from ..._base.seeds import Seed, generator
from ..columns import Codes, Columns, Floats
from ..equations import CountTable, Problem
from .budget import check_proposals
from .incremental import Checkpoint, Solved
from .state import OutputError, State, outside_by

__all__ = ["EvolutionSettings", "Fitness", "evolve_statistic", "fitness_of", "solve"]

FitnessName = Literal["score", "fisher", "refit"]
Selection = Literal["tournament", "roulette", "truncation"]
Survival = Literal["plus", "comma"]

BlackBox = Callable[[dict[str, NDArray[np.generic]]], Floats]
"""A user's statistic: from columns (numbers, or codes of words) by name to the published numbers."""


@dataclass(frozen=True)
class EvolutionSettings:
    """Settings of the algorithm; the paper's table 1 where it has them.

    - `crossover`, `crossover_per_record`: the chance that two parents are crossed, and then that a record is exchanged.
    - `mutation`, `mutation_divisor`, `mutation_every`: the chance that a cell is drawn anew, and by what and how often it is divided.
    - `selection`, how parents are chosen, not given in the paper: `tournament` (the better of two), `roulette` (chance by rank, falling in a
      straight line), `truncation` (the better half).
    - `survival`, who lives on, not given either: `plus` (the best of parents and children), `comma` (children, and the best parent).
    - `fitness`: `score` (mean squared error of the published numbers, coefficients to first order: the paper's error without refits), `fisher`
      (the same errors in chi-square units), `refit` (statsmodels fits every candidate, as the paper does).
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
        for name, kind in (("selection", Selection), ("survival", Survival), ("fitness", FitnessName)):
            if getattr(self, name) not in get_args(kind):
                raise unknown_name(name, getattr(self, name), get_args(kind))
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

    `codes` is one candidate of the first generation; the others are drawn anew, but for columns that are fixed. At most `proposals` children are
    scored: no generation is begun that would have more. `watch` is called with each checkpoint of the trace: ten in each step of the mutation,
    and the last.
    """
    settings = settings or EvolutionSettings()
    fitness = fitness_of(settings.fitness, problem)

    def errors_of(best: Codes) -> tuple[OutputError, ...]:
        return State(problem, best, tolerance=tolerance).errors()

    search = _Search(problem.columns, settings, fitness, errors_of, _last_generation(settings, proposals), watch)
    return search.run(codes, generator(seed))


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

    The statistic runs in this process, on evolved data alone: from a mapping of column names to arrays (numbers where the column has values,
    codes elsewhere) to as many numbers as there are targets. Its error is the mean squared difference to these; `tolerance` is the largest
    difference at which a number has arrived.

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
    wanted = np.atleast_1d(np.asarray(targets, dtype=float))

    def apart(candidate: Codes) -> Floats:
        data: dict[str, NDArray[np.generic]] = {
            column.name: candidate[:, c] if column.values is None else column.values[candidate[:, c]]
            for c, column in enumerate(columns)
        }
        numbers = np.atleast_1d(np.asarray(statistic(data), dtype=float))
        if numbers.shape != wanted.shape:
            raise InputError(
                f"The statistic must return {wanted.size} numbers, as many as targets. Got shape {numbers.shape}."
            )
        return numbers - wanted

    def errors_of(candidate: Codes) -> tuple[OutputError, ...]:
        off = np.abs(apart(candidate))
        outside = int((off > tolerance).sum())
        return (OutputError("statistic", off.size, outside, float(off.max()), float(off.mean()), np.nan),)

    fitness, last = Fitness(lambda candidate: _mean_square(apart(candidate))), _last_generation(settings, proposals)
    search = _Search(columns, settings, fitness, errors_of, last, near=tolerance**2 / wanted.size)
    return search.run(codes, generator(seed))


def _last_generation(settings: EvolutionSettings, proposals: int | None) -> int:
    """The generation after which a run ends: that of the settings, or the last whose children are all within the proposals."""
    if proposals is None:
        return settings.generations
    check_proposals(proposals)
    return min(settings.generations, proposals // settings.population)


@dataclass(frozen=True)
class _Search:
    """A population under way: until generation `last`, or until a candidate that is looked at has no number outside.

    Besides now and then a candidate is looked at when its error is at most `near`.
    """

    columns: Columns
    settings: EvolutionSettings
    fitness: Fitness
    errors_of: Callable[[Codes], tuple[OutputError, ...]]
    last: int
    watch: Callable[[Checkpoint], None] | None = None
    near: float = -np.inf

    def run(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Solved:
        """Return the best candidate, and how it went."""
        settings, fitness, columns = self.settings, self.fitness, self.columns
        started = time.perf_counter()
        trace: list[Checkpoint] = []
        first = columns.check(codes)
        population = np.stack([first, *(columns.start(len(first), seed=rng) for _ in range(settings.population - 1))])
        fixed = [c for c, column in enumerate(columns) if column.fixed]
        population[:, :, fixed] = first[:, fixed]
        fitness.renew(population[0])
        errors = np.array([fitness.of(candidate) for candidate in population])
        for generation in range(self.last + 1):
            if generation % RENEW == 0 and fitness.renew(population[int(errors.argmin())]):
                errors = np.array([fitness.of(candidate) for candidate in population])
            best = int(errors.argmin())
            over = generation >= self.last
            if generation % max(1, settings.mutation_every // 10) == 0 or over or errors[best] <= self.near:
                seconds = time.perf_counter() - started
                trace.append(Checkpoint(generation, seconds, float(errors[best]), self.errors_of(population[best])))
                if self.watch:
                    self.watch(trace[-1])
                if over or not any(one.outside for one in trace[-1].errors):
                    break
            children = _crossed(population[_parents(errors, settings, rng)], settings, rng)
            _mutate(children, columns, settings.mutation_at(generation), rng)
            scores = np.array([fitness.of(candidate) for candidate in children])
            if settings.survival == "plus":
                pool, pooled = np.concatenate([population, children]), np.concatenate([errors, scores])
                keep = np.argsort(pooled, kind="stable")[: settings.population]
            else:
                pool, pooled = np.concatenate([population[best : best + 1], children]), np.append(errors[best], scores)
                keep = np.concatenate([[0], 1 + np.argsort(scores, kind="stable")[: settings.population - 1]])
            population, errors = pool[keep], pooled[keep]
        final = trace[-1].errors
        reached, n_scored = not any(one.outside for one in final), generation * settings.population
        return Solved(population[best].copy(), reached, final, n_scored, 0, time.perf_counter() - started, tuple(trace))


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


class Fitness:
    """An error by which candidates are ranked, 0 for none: by a function, which knows no metric to be renewed."""

    def __init__(self, error: Callable[[Codes], float]) -> None:
        self.of = error

    def renew(self, codes: Codes) -> bool:
        """Make the metric anew around a candidate; return whether errors changed with it."""
        return False


class _FromSums(Fitness):
    """Errors from the sums of a candidate; coefficients to first order around the candidate that was last best."""

    def __init__(self, problem: Problem, *, fisher: bool) -> None:
        super().__init__(self._error)
        self._problem, self._fisher = problem, fisher
        self._state: State | None = None

    def renew(self, codes: Codes) -> bool:
        self._state = State(self._problem, codes)
        return True

    def _error(self, codes: Codes) -> float:
        from .kernels import sums_from_scratch

        assert self._state is not None
        state = self._state
        counts, sums = np.empty_like(state.counts), np.empty_like(state.sums)
        sums_from_scratch(state.program, codes, counts, state.multipliers, sums)
        off = outside_by(counts, state.cell_lo, state.cell_hi)
        total = float((off**2 * (state.cell_weights if self._fisher else 1.0)).sum())
        numbers = off.size
        for k, (system, linear) in enumerate(zip(state.systems, state.linear, strict=True)):
            values = linear.at(sums[state.sums_of[k]])
            apart = values - 0.5 * (system.lo + system.hi)
            numbers += apart.size
            if not self._fisher:
                total += float(apart @ apart)
            else:
                total += float(apart @ (linear.weight * apart if system.diagonal else linear.weight @ apart))
        return total if self._fisher else total / numbers


def _mean_square(apart: Floats) -> float:
    error = float((apart**2).mean())
    return error if np.isfinite(error) else np.inf


def _refitted(problem: Problem, codes: Codes) -> float:
    """Mean squared error of the published numbers, each regression fitted by statsmodels: slow, as in the paper."""
    from ..statistics import numbers_of

    return _mean_square(
        np.concatenate(
            [
                outside_by(output.counts(codes), output.lo, output.hi)
                if isinstance(output, CountTable)
                else numbers_of(output, codes) - 0.5 * (output.lo + output.hi)
                for output in problem.outputs
            ]
        )
    )


def fitness_of(name: FitnessName, problem: Problem) -> Fitness:
    """Return the fitness of a name; `refit` needs statsmodels."""
    if name == "refit":
        try:
            import statsmodels.api  # type: ignore[import-untyped]  # noqa: F401 - a clear error if it is absent
        except ImportError:
            raise MissingExtraError("The fitness 'refit'", "statsmodels") from None
        return Fitness(lambda codes: _refitted(problem, codes))
    return _FromSums(problem, fisher=name == "fisher")


def settings_from(options: Mapping[str, object]) -> EvolutionSettings:
    """Return settings from plain data, as the spawned process gets them."""
    known = EvolutionSettings.__dataclass_fields__
    for name in options:
        if name not in known:
            raise unknown_name("setting", name, known)
    return EvolutionSettings(**options)  # type: ignore[arg-type]
