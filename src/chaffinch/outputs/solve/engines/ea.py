"""The evolutionary algorithm of the paper (Elliot, Little and Allmendinger, table 1): a population of whole datasets.

Settings are as printed: 32 candidates, 2,000 generations, uniform starts, crossover with chance 0.8 and 0.1 for each record, mutation
0.005 for each cell, divided by 3 every 250 generations. How parents and survivors are chosen is not printed, so it is an option with
a name; nor does the paper say what a crossed record is, here a record of each of two parents in the same place. Whether the settings as
printed reach the accuracy that the paper reports depends on that rule and on the number of records (`experiments/p1_output_risk`); the
error of each generation is kept, and a run that did not arrive says so. `incremental` is the engine to use: this one is for comparison.

The paper fits its regression to every candidate. Candidates of one generation are nearly alike, so that one of them is fitted and the others follow
from it: with b the coefficients of the best, S the score of another's records at b and I the information, these have the coefficients b + I^-1 S but
for what is of second order in their distance from b. The best is fitted again every `RENEW` generations, and sooner where its predictors have moved
so far that the second order may matter; where the estimate then is off by more than `ASTRAY` of the error, all candidates are measured from the new
fit. In tables of a few dozen records candidates differ so much that first order ranks them but roughly: `refit` is for these.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...._base.arrays import Floats
from ...._base.errors import MissingExtraError
from ...._base.seeds import Seed, generator
from ...domain import Codes, OutputDomain
from ...equations import CountTable, Problem, SumSystem
from ...statistics import numbers_of
from ..engine import Checkpoint, SearchCost, SearchEngine, Solved, check_proposals, seconds_of_move
from ..population import BreedingRates, Population
from ..settings import SEARCH_ENGINES, EvolutionSettings, FitnessName, SearchSettings, Selection
from ..state import OutputError, State, outside_by

RENEW = 25
"""Generations after which the best candidate is fitted at the latest, and the measure renewed around it if it went astray."""
LOOKED_AT = 256
"""Records by which it is seen how far predictors have moved."""
ASTRAY = 0.02
"""Share of the error by which an estimate may be off before the measure is renewed; also when steps towards a fit end."""
EXACT = 1e-6
"""Standard errors below which a step towards a fit is none."""
STEPS = 8
"""Steps towards a fit before it is given up."""
CANDIDATE = 20e-6
PER_RECORD_OF_CANDIDATE = 0.015
REFIT = 5e-3
REFIT_PER_RECORD = 3e-6
CANDIDATE_BYTES = 12
"""Bytes of a cell for each candidate, at most: itself, its child, and which of its records changed."""


def solve(
    problem: Problem,
    codes: NDArray[np.integer],
    *,
    proposals: int | None = None,
    tolerance: float = 1e-3,
    seed: Seed = None,
    settings: EvolutionSettings | None = None,
) -> Solved:
    """Return the best dataset of the last generation; `proposals` in its trace are generations, `objective` the best fitness.

    `codes` is one candidate of the first generation; the others are drawn anew, but for columns that are fixed. At most `proposals` children are
    scored: no generation is begun that would have more. The trace has ten checkpoints in each step of the mutation, and the last.
    """
    settings = settings or EvolutionSettings()
    fitness = fitness_of(settings.fitness, problem, tolerance=tolerance)
    last = settings.generations
    if proposals is not None:
        check_proposals(proposals)
        last = min(last, proposals // settings.population_size)
    return _Search(problem.domain, settings, fitness, last).run(codes, generator(seed))


@dataclass(frozen=True)
class _Search:
    """A population under way: until generation `last`, or until a candidate that is looked at has no number outside."""

    columns: OutputDomain
    settings: EvolutionSettings
    fitness: Fitness
    last: int

    def run(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Solved:
        """Return the best candidate, and how it went."""
        settings, fitness = self.settings, self.fitness
        started = time.perf_counter()
        trace: list[Checkpoint] = []
        population = Population(
            self.columns, self.columns.check(codes), settings.population_size, rng
        )
        errors, best = np.full(len(population), np.inf), 0
        for generation in range(self.last + 1):
            if fitness.renew(population, best) or generation == 0:
                errors = fitness.candidate_errors(population, children=False)
            best = int(errors.argmin())
            over = generation >= self.last
            if generation % max(1, settings.mutation_every // 10) == 0 or over:
                seconds = time.perf_counter() - started
                off = fitness.errors(population.dataset(best))
                trace.append(Checkpoint(generation, seconds, float(errors[best]), off))
                if over or not any(error.outside for error in off):
                    break
            rates = BreedingRates(
                settings.crossover, settings.crossover_per_record, settings.mutation_at(generation)
            )
            parents = choose_parents(
                errors,
                settings.selection,
                rng,
                tournament_size=settings.tournament_size or 2,
                best=settings.best or 2,
            )
            population.breed(parents, rates)
            scores = fitness.candidate_errors(population, children=True)
            survivors = choose_survivors(errors, scores, settings)
            population.survive(survivors)
            errors = np.concatenate([errors, scores])[survivors]
            best = int(errors.argmin())
        final = trace[-1].errors
        reached, n_scored = (
            not any(error.outside for error in final),
            generation * settings.population_size,
        )
        return Solved(
            population.dataset(best),
            reached,
            final,
            n_scored,
            0,
            time.perf_counter() - started,
            tuple(trace),
        )


def choose_parents(
    errors: Floats,
    rule: Selection,
    rng: np.random.Generator,
    *,
    tournament_size: int = 2,
    best: int = 2,
) -> NDArray[np.intp]:
    """Return the positions of as many parents as there are candidates; the smaller an error, the fitter. Neighbours in the list mate.

    - `tournament`: each parent is the fittest of `tournament_size` candidates drawn with replacement, the first drawn of equal ones;
    - `best`: each is one of the `best` fittest, all alike; with 1 all children are those of the fittest;
    - `roulette`: chances by rank, falling in a straight line;
    - `truncation`: one of the fitter half, all alike.

    Examples
    --------
    >>> errors = np.array([0.3, 0.1, 0.4, 0.2])
    >>> choose_parents(errors, "best", np.random.default_rng(1), best=1)
    array([1, 1, 1, 1])
    """
    n = len(errors)
    if rule == "tournament":
        drawn = rng.integers(0, n, (n, tournament_size))
        return drawn[np.arange(n), errors[drawn].argmin(axis=1)]
    ranked = np.argsort(errors, kind="stable")
    if rule == "roulette":
        weights = np.arange(n, 0, -1.0)
        return ranked[rng.choice(n, n, p=weights / weights.sum())]
    return ranked[rng.integers(0, best if rule == "best" else max(1, n // 2), n)]


def choose_survivors(
    errors: Floats, scores: Floats, settings: EvolutionSettings
) -> NDArray[np.intp]:
    """Return who lives on, by position: candidates, whose errors come first, and then children.

    Examples
    --------
    >>> plus, comma = (EvolutionSettings(population_size=2, survival=name) for name in ("plus", "comma"))
    >>> errors, scores = np.array([0.1, 0.2]), np.array([0.4, 0.3])
    >>> choose_survivors(errors, scores, plus), choose_survivors(errors, scores, comma)
    (array([0, 1]), array([0, 3]))
    """
    size = settings.population_size
    if settings.survival == "plus":
        return np.argsort(np.concatenate([errors, scores]), kind="stable")[:size]
    children = size + np.argsort(scores, kind="stable")[: size - 1]
    return np.append(errors.argmin(), children)


class Fitness(Protocol):
    """An error by which candidates are ranked, 0 for none."""

    def candidate_errors(self, population: Population, *, children: bool) -> Floats:
        """Return the error of each candidate, or of each child."""

    def renew(self, population: Population, best: int) -> bool:
        """Make the measure anew around the best candidate of a generation, where there is need; return whether errors changed with it."""

    def errors(self, codes: Codes) -> tuple[OutputError, ...]:
        """Return how far each output of a dataset is from what was published."""


def fitness_of(name: FitnessName, problem: Problem, *, tolerance: float = 1e-3) -> Fitness:
    """Return the fitness of a name; `refit`, which needs statsmodels, fits each regression of every candidate, as the paper does."""
    if name != "refit":
        return FromSums(problem, fisher=name == "fisher", tolerance=tolerance)
    try:
        import statsmodels.api  # type: ignore[import-untyped]  # noqa: F401 - a clear error if it is absent
    except ImportError:
        raise MissingExtraError("The fitness 'refit'", "statsmodels") from None
    return Refitted(problem, tolerance)


class FromSums:
    """Errors from the counts and sums of candidates; coefficients to first order around a fit of the one that was best.

    Mean squared error of all published numbers; if `fisher` the sum of squares in chi-square units.
    """

    def __init__(self, problem: Problem, *, fisher: bool = False, tolerance: float = 1e-3) -> None:
        self._problem, self._fisher, self._tolerance = problem, fisher, tolerance
        self._state: State | None = None
        self._latest: tuple[Codes, State] | None = None
        self._values_then = np.zeros(0)
        self._designs: list[tuple[slice, int, Floats]] = []
        self._since, self._harmless = 0, 0.0

    def candidate_errors(self, population: Population, *, children: bool) -> Floats:
        assert self._state is not None
        half = slice(len(population), None) if children else slice(len(population))
        return self._measure(self._state, population.counts[half], population.sums[half])

    def renew(self, population: Population, best: int) -> bool:
        self._since += 1
        if self._state is not None:
            estimates = self._values(self._state, population.sums[best : best + 1])
            bend = self._bend(estimates)
            if self._since < RENEW and bend <= max(
                ASTRAY * _rms(self._apart(estimates)), self._harmless
            ):
                return False
        self._since = 0
        codes = population.dataset(best)
        fit = self._fit(codes)
        values = self._values(fit, fit.sums[None])
        if self._state is not None:
            before = self._measure(
                self._state, population.counts[best : best + 1], population.sums[best : best + 1]
            )
            now = self._measure(fit, fit.counts[None], fit.sums[None])
            near = _rms(values - estimates) <= ASTRAY * _rms(self._apart(values))
            if near and abs(now - before) <= 2.0 * ASTRAY * before:
                self._harmless = 2.0 * bend
                return False
        self._state, self._values_then, self._designs, self._harmless = (
            fit,
            values,
            _designs(fit),
            0.0,
        )
        population.add_up(fit.program, best)
        return True

    def _bend(self, values: Floats) -> float:
        """About how far first order may be off: the change of coefficients times that of predictors, since the last fit."""
        moved = values - self._values_then
        bends = (
            _rms(moved[span]) * float(np.abs(x @ moved[span].reshape(n_predictors, -1).T).mean())
            for span, n_predictors, x in self._designs
        )
        return max(bends, default=0.0)

    def errors(self, best: Codes) -> tuple[OutputError, ...]:
        return self._fit(best).errors()

    def _fit(self, codes: Codes) -> State:
        """Where a dataset stands, models at the coefficients that it has; at the published ones where it has none, as records that are separated."""
        if self._latest is None or not np.array_equal(self._latest[0], codes):
            last = self._problem if self._state is None else self._state.problem
            state = self._stepped(last, codes) or self._stepped(self._flat(), codes)
            self._latest = codes, state or State(self._problem, codes, tolerance=self._tolerance)
        return self._latest[1]

    def _stepped(self, problem: Problem, codes: Codes) -> State | None:
        """The end of Newton's steps from the coefficients of a problem; None where they do not end."""
        try:
            state = State(problem, codes, tolerance=self._tolerance)
            for _ in range(STEPS):
                fitted = {
                    k: linear.values
                    for k, linear in enumerate(state.linear)
                    if state.systems[k].reported == "coefficients"
                }
                steps = np.concatenate(
                    [
                        np.zeros(0),
                        *(values - _model_coefficients(state, k) for k, values in fitted.items()),
                    ]
                )
                errors = np.concatenate([np.zeros(0), *(state.linear[k].scale for k in fitted)])
                apart = self._apart(self._values(state, state.sums[None]))
                if not (np.isfinite(steps).all() and np.isfinite(apart).all()):
                    return None
                if (np.abs(steps) <= EXACT * errors).all() or _rms(steps) <= ASTRAY * _rms(apart):
                    return state
                state = State(state.with_coefficients(fitted)[0], codes, tolerance=self._tolerance)
        except (ZeroDivisionError, np.linalg.LinAlgError):  # weights that vanish: too long a step
            return None
        return None

    def _flat(self) -> Problem:
        """The problem with all models at coefficients of 0, from where steps are safe, if many."""
        state = State(self._problem, np.zeros((1, len(self._problem.domain)), dtype=np.int32))
        zeros = {
            k: np.zeros(s.size) for k, s in enumerate(state.systems) if s.reported == "coefficients"
        }
        return state.with_coefficients(zeros)[0]

    def _measure(self, state: State, counts: np.ndarray, sums: Floats) -> Floats:
        """The error of datasets with such counts and sums, (datasets, cells) and (datasets, sums)."""
        off = outside_by(counts, state.cell_lo, state.cell_hi)
        total: Floats = (off**2 * (state.cell_weights if self._fisher else 1.0)).sum(axis=1)
        numbers = off.shape[1]
        for k, (system, linear) in enumerate(zip(state.systems, state.linear, strict=True)):
            apart = linear.values_at(sums[:, state.sums_of[k]]) - 0.5 * (system.lo + system.hi)
            numbers += apart.shape[1]
            if not self._fisher:
                total += (apart**2).sum(axis=1)
            else:
                total += (
                    apart * (apart * linear.weight if system.diagonal else apart @ linear.weight)
                ).sum(axis=1)
        total = total if self._fisher else total / numbers
        return np.where(np.isfinite(total), total, np.inf)

    def _values(self, state: State, sums: Floats) -> Floats:
        """The published numbers of all systems at some sums."""
        return np.concatenate(
            [
                np.zeros(0),
                *(
                    linear.values_at(sums[:, span])[0]
                    for linear, span in zip(state.linear, state.sums_of, strict=True)
                ),
            ]
        )

    def _apart(self, values: Floats) -> Floats:
        """How far these are from the middles of their intervals."""
        systems = (output for output in self._problem.outputs if isinstance(output, SumSystem))
        return values - np.concatenate(
            [np.zeros(0), *(0.5 * (system.lo + system.hi) for system in systems)]
        )


@dataclass(frozen=True)
class Refitted:
    """Errors of candidates each of which is fitted by statsmodels: slow, and no measure that could be renewed."""

    problem: Problem
    tolerance: float

    def candidate_errors(self, population: Population, *, children: bool) -> Floats:
        first = len(population) if children else 0
        return np.array(
            [self._error(population.dataset(first + k)) for k in range(len(population))]
        )

    def renew(self, population: Population, best: int) -> bool:
        return False

    def errors(self, codes: Codes) -> tuple[OutputError, ...]:
        return State(self.problem, codes, tolerance=self.tolerance).errors()

    def _error(self, codes: Codes) -> float:
        """The mean square by which all published numbers are off; infinite where one of them is none."""
        apart = [
            outside_by(output.counts(codes), output.lo, output.hi)
            if isinstance(output, CountTable)
            else numbers_of(output, codes) - 0.5 * (output.lo + output.hi)
            for output in self.problem.outputs
        ]
        error = float((np.concatenate(apart) ** 2).mean())
        return error if np.isfinite(error) else np.inf


def _designs(state: State) -> list[tuple[slice, int, Floats]]:
    """For each system of coefficients: where they stand among all numbers, how many predictors it has, and the design of some records."""
    designs, first = [], 0
    for system in state.systems:
        if system.reported == "coefficients" and system.model is not None:
            n_predictors = system.model.n_predictors
            sample = state.codes[:: max(1, len(state.codes) // LOOKED_AT)]
            x = np.sum(
                [terms.evaluate(sample, system.size // n_predictors) for terms in system.terms],
                axis=0,
            )
            designs.append((slice(first, first + system.size), n_predictors, x))
        first += len(system.lo)
    return designs


def _model_coefficients(state: State, k: int) -> Floats:
    """The coefficients at which the model of a system stands."""
    coefficients = state.systems[k].coefficients
    assert coefficients is not None
    return coefficients


def _rms(numbers: Floats) -> float:
    return float(np.sqrt((numbers**2).mean())) if numbers.size else 0.0


def _cost(search: SearchSettings) -> SearchCost:
    """What a search takes: a candidate 20 microseconds and 1.5 hundredths of a move for each record (most of which it shares with its parent), and if it is
    refitted 5 milliseconds and 3 microseconds for each record more, for each system.

    Examples
    --------
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> table = CountTable("t", ((0, np.arange(2)),), np.array([4, 6]), np.array([4, 6]))
    >>> cost = _cost(SearchSettings(search_engine="ea"))
    >>> round(1e6 * cost.seconds(Problem(OutputDomain((OutputColumn("sex", ("f", "m")),)), (table,)), 300), 6), cost.max_proposals
    (20.765, 64000)
    """
    evolution = search.evolution

    def seconds(problem: Problem, rows: int) -> float:
        candidate = CANDIDATE + PER_RECORD_OF_CANDIDATE * rows * seconds_of_move(problem, rows)
        if evolution.fitness != "refit":
            return candidate
        systems = sum(isinstance(output, SumSystem) for output in problem.outputs)
        return candidate + systems * (REFIT + REFIT_PER_RECORD * rows)

    return SearchCost(
        seconds,
        cell_bytes=CANDIDATE_BYTES * evolution.population_size,
        max_proposals=evolution.generations * evolution.population_size,
    )


SEARCH_ENGINES.register(
    SearchEngine(
        "ea",
        "evolutionary algorithm as published",
        solve,
        warm_up=lambda problem, codes, search: solve(
            problem, codes, seed=0, settings=replace(search.evolution, generations=1)
        ),
        cost=_cost,
        steps="generations",
        log_steps=False,
    )
)
