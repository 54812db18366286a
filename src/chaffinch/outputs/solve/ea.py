"""The evolutionary algorithm of the paper (Elliot, Little and Allmendinger, table 1): a population of whole datasets.

Settings are as printed: 32 candidates, 2,000 generations, uniform starts, crossover with chance 0.8 and 0.1 for each record, mutation
0.005 for each cell, divided by 3 every 250 generations. How parents and survivors are chosen is not printed, so it is an option with
a name; nor does the paper say what a crossed record is, here a record of each of two parents in the same place. Whether the settings as
printed reach the accuracy that the paper reports depends on that rule and on the number of records (`experiments/p1_output_risk`); the
error of each generation is kept, and a run that did not arrive says so. `incremental` is the engine to use: this one is for comparison, and
for statistics that are no sums over records.
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
from ..domain import Codes, Columns, Floats
from ..equations import Problem
from .budget import check_proposals
from .fitness import Fitness, FitnessName, FromRecords, fitness_of, mean_square
from .incremental import Checkpoint, Solved
from .population import BreedingRates, Population
from .selection import Selection, choose_parents
from .state import OutputError

Survival = Literal["plus", "comma"]

BlackBox = Callable[[dict[str, NDArray[np.generic]]], Floats]
"""A user's statistic: from columns (numbers, or codes of words) by name to the published numbers."""


@dataclass(frozen=True)
class EvolutionSettings:
    """Settings of the algorithm; the paper's table 1 where it has them.

    - `crossover`, `crossover_per_record`: the chance that two parents are crossed, and then that a record is exchanged.
    - `mutation`, `mutation_divisor`, `mutation_every`: the chance that a cell is drawn anew, and by what and how often it is divided.
    - `selection`, how parents are chosen, not given in the paper: `tournament` (the best of `tournament_size`), `best` (one of the `best` best),
      `roulette` (chance by rank, falling in a straight line), `truncation` (one of the better half).
    - `survival`, who lives on, not given either: `plus` (the best of parents and children), `comma` (children, and the best parent).
    - `fitness`: `score` (mean squared error of the published numbers, coefficients to first order around a fit of the best candidate: the paper's
      error without its refits), `fisher` (the same errors in chi-square units), `refit` (statsmodels fits every candidate, as the paper does).
    """

    population: int = 32
    generations: int = 2_000
    crossover: float = 0.8
    crossover_per_record: float = 0.1
    mutation: float = 0.005
    mutation_divisor: float = 3.0
    mutation_every: int = 250
    selection: Selection = "tournament"
    tournament_size: int = 2
    best: int = 2
    survival: Survival = "plus"
    fitness: FitnessName = "score"

    def __post_init__(self) -> None:
        for name, kind in (
            ("selection", Selection),
            ("survival", Survival),
            ("fitness", FitnessName),
        ):
            if getattr(self, name) not in get_args(kind):
                raise unknown_name(name, getattr(self, name), get_args(kind))
        if self.population < 2 or self.generations < 1 or self.mutation_every < 1:
            raise InputError(
                "population must be at least 2, generations and mutation_every at least 1."
            )
        for name, least in (("tournament_size", 2), ("best", 1)):
            if not least <= getattr(self, name) <= max(2, self.population):
                raise InputError(
                    f"{name} must be at least {least}, and at most the population, {self.population}. Got {getattr(self, name)}."
                )
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

    def rates(self, generation: int) -> BreedingRates:
        """Return the chances by which the children of a generation are made."""
        return BreedingRates(
            self.crossover, self.crossover_per_record, self.mutation_at(generation)
        )

    def parents(self, errors: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the places of the parents of the next generation; neighbours mate."""
        return choose_parents(
            errors, self.selection, rng, tournament_size=self.tournament_size, best=self.best
        )

    def survivors(self, errors: Floats, scores: Floats) -> NDArray[np.intp]:
        """Return who lives on, by place: candidates, whose errors come first, and then children.

        Examples
        --------
        >>> plus, comma = (EvolutionSettings(population=2, survival=name) for name in ("plus", "comma"))
        >>> errors, scores = np.array([0.1, 0.2]), np.array([0.4, 0.3])
        >>> plus.survivors(errors, scores), comma.survivors(errors, scores)
        (array([0, 1]), array([0, 3]))
        """
        if self.survival == "plus":
            return np.argsort(np.concatenate([errors, scores]), kind="stable")[: self.population]
        children = self.population + np.argsort(scores, kind="stable")[: self.population - 1]
        return np.append(errors.argmin(), children)


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
    fitness = fitness_of(settings.fitness, problem, tolerance=tolerance)
    search = _Search(
        problem.columns, settings, fitness, _last_generation(settings, proposals), watch
    )
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

    >>> from chaffinch.outputs.domain import CodeColumn
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
            column.name: candidate[:, c]
            if column.values is None
            else column.values[candidate[:, c]]
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
        return (
            OutputError(
                "statistic", off.size, outside, float(off.max()), float(off.mean()), np.nan
            ),
        )

    fitness = FromRecords(lambda candidate: mean_square(apart(candidate)), errors_of)
    last = _last_generation(settings, proposals)
    search = _Search(columns, settings, fitness, last, near=tolerance**2 / wanted.size)
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
    last: int
    watch: Callable[[Checkpoint], None] | None = None
    near: float = -np.inf

    def run(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Solved:
        """Return the best candidate, and how it went."""
        settings, fitness = self.settings, self.fitness
        started = time.perf_counter()
        trace: list[Checkpoint] = []
        population = Population(self.columns, self.columns.check(codes), settings.population, rng)
        errors, best = np.full(len(population), np.inf), 0
        for generation in range(self.last + 1):
            if fitness.renew(population, best) or generation == 0:
                errors = fitness.of(population, children=False)
            best = int(errors.argmin())
            over = generation >= self.last
            if (
                generation % max(1, settings.mutation_every // 10) == 0
                or over
                or errors[best] <= self.near
            ):
                seconds = time.perf_counter() - started
                off = fitness.errors(population.dataset(best))
                trace.append(Checkpoint(generation, seconds, float(errors[best]), off))
                if self.watch:
                    self.watch(trace[-1])
                if over or not any(one.outside for one in off):
                    break
            population.breed(settings.parents(errors, rng), settings.rates(generation))
            scores = fitness.of(population, children=True)
            kept = settings.survivors(errors, scores)
            population.survive(kept)
            errors = np.concatenate([errors, scores])[kept]
            best = int(errors.argmin())
        final = trace[-1].errors
        reached, n_scored = not any(one.outside for one in final), generation * settings.population
        return Solved(
            population.dataset(best),
            reached,
            final,
            n_scored,
            0,
            time.perf_counter() - started,
            tuple(trace),
        )


def settings_from(options: Mapping[str, object]) -> EvolutionSettings:
    """Return settings from plain data, as the spawned process gets them."""
    known = EvolutionSettings.__dataclass_fields__
    for name in options:
        if name not in known:
            raise unknown_name("setting", name, known)
    rule = options.get("selection", EvolutionSettings.selection)
    for name, belongs_to in (("tournament_size", "tournament"), ("best", "best")):
        if name in options and rule != belongs_to:
            raise InputError(
                f"{name} is for the selection '{belongs_to}', and parents are chosen by '{rule}'. Leave it out, or choose that selection."
            )
    return EvolutionSettings(**options)  # type: ignore[arg-type]
