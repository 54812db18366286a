"""The error by which candidates are ranked, 0 for none.

The paper fits its regression to every candidate. Candidates of one generation are nearly alike, so that one of them is fitted and the others follow
from it: with b the coefficients of the best, S the score of another's records at b and I the information, these have the coefficients b + I^-1 S but
for what is of second order in their distance from b. The best is fitted again every `RENEW` generations, and sooner where its predictors have moved
so far that the second order may matter; where the estimate then is off by more than `ASTRAY` of the error, all candidates are measured from the new
fit. In tables of a few dozen records candidates differ so much that first order ranks them but roughly: `refit` is for these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from ..._base.errors import MissingExtraError
from ..domain import Codes, Floats
from ..equations import CountTable, Problem, SumSystem
from ..statistics import numbers_of
from .blocks import blocks_of
from .population import Population
from .state import OutputError, State, outside_by

FitnessName = Literal["score", "fisher", "refit"]

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


class Fitness(Protocol):
    """An error by which candidates are ranked, 0 for none."""

    def of(self, population: Population, *, children: bool) -> Floats:
        """Return the error of each candidate, or of each child."""

    def renew(self, population: Population, best: int) -> bool:
        """Make the measure anew around the best candidate of a generation, where there is need; return whether errors changed with it."""

    def errors(self, codes: Codes) -> tuple[OutputError, ...]:
        """Return how far each output of a dataset is from what was published."""


class FromRecords:
    """Errors by a function of the records, which need no measure that could be renewed."""

    def __init__(
        self, error: Callable[[Codes], float], errors: Callable[[Codes], tuple[OutputError, ...]]
    ) -> None:
        self._error, self.errors = error, errors

    def of(self, population: Population, *, children: bool) -> Floats:
        first = len(population) if children else 0
        return np.array(
            [self._error(population.dataset(first + k)) for k in range(len(population))]
        )

    def renew(self, population: Population, best: int) -> bool:
        return False


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

    def of(self, population: Population, *, children: bool) -> Floats:
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
        population.add_up(blocks_of(fit.problem), best)
        return True

    def _bend(self, values: Floats) -> float:
        """About how far first order may be off: the change of coefficients times that of predictors, since the last fit."""
        moved = values - self._values_then
        bends = (
            _rms(moved[of]) * float(np.abs(x @ moved[of].reshape(n_predictors, -1).T).mean())
            for of, n_predictors, x in self._designs
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
                at = {
                    k: linear.values
                    for k, linear in enumerate(state.linear)
                    if state.systems[k].reported == "coefficients"
                }
                steps = np.concatenate(
                    [np.zeros(0), *(values - _standing_at(state, k) for k, values in at.items())]
                )
                errors = np.concatenate([np.zeros(0), *(state.linear[k].scale for k in at)])
                apart = self._apart(self._values(state, state.sums[None]))
                if not (np.isfinite(steps).all() and np.isfinite(apart).all()):
                    return None
                if (np.abs(steps) <= EXACT * errors).all() or _rms(steps) <= ASTRAY * _rms(apart):
                    return state
                state = State(state.standing(at)[0], codes, tolerance=self._tolerance)
        except (ZeroDivisionError, np.linalg.LinAlgError):  # weights that vanish: too long a step
            return None
        return None

    def _flat(self) -> Problem:
        """The problem with all models at coefficients of 0, from where steps are safe, if many."""
        state = State(self._problem, np.zeros((1, len(self._problem.columns)), dtype=np.int32))
        at = {
            k: np.zeros(s.size) for k, s in enumerate(state.systems) if s.reported == "coefficients"
        }
        return state.standing(at)[0]

    def _measure(self, state: State, counts: np.ndarray, sums: Floats) -> Floats:
        """The error of datasets with such counts and sums, (datasets, cells) and (datasets, sums)."""
        off = outside_by(counts, state.cell_lo, state.cell_hi)
        total: Floats = (off**2 * (state.cell_weights if self._fisher else 1.0)).sum(axis=1)
        numbers = off.shape[1]
        for k, (system, linear) in enumerate(zip(state.systems, state.linear, strict=True)):
            apart = linear.at(sums[:, state.sums_of[k]]) - 0.5 * (system.lo + system.hi)
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
                    linear.at(sums[:, of])[0]
                    for linear, of in zip(state.linear, state.sums_of, strict=True)
                ),
            ]
        )

    def _apart(self, values: Floats) -> Floats:
        """How far these are from the middles of their intervals."""
        systems = (output for output in self._problem.outputs if isinstance(output, SumSystem))
        return values - np.concatenate(
            [np.zeros(0), *(0.5 * (system.lo + system.hi) for system in systems)]
        )


def _designs(state: State) -> list[tuple[slice, int, Floats]]:
    """For each system of coefficients: where they stand among all numbers, how many predictors it has, and the design of some records."""
    designs, first = [], 0
    for system in state.systems:
        if system.reported == "coefficients" and system.model is not None:
            n_predictors = system.model.n_predictors
            some = state.codes[:: max(1, len(state.codes) // LOOKED_AT)]
            x = np.sum(
                [terms.of(some, system.size // n_predictors) for terms in system.terms], axis=0
            )
            designs.append((slice(first, first + system.size), n_predictors, x))
        first += len(system.lo)
    return designs


def _standing_at(state: State, k: int) -> Floats:
    """The coefficients at which the model of a system stands."""
    at = state.systems[k].at
    assert at is not None
    return at


def _rms(numbers: Floats) -> float:
    return float(np.sqrt((numbers**2).mean())) if numbers.size else 0.0


def mean_square(apart: Floats) -> float:
    """Return the mean square of numbers, infinite where one of them is none."""
    error = float((apart**2).mean())
    return error if np.isfinite(error) else np.inf


def fitness_of(name: FitnessName, problem: Problem, *, tolerance: float = 1e-3) -> Fitness:
    """Return the fitness of a name; `refit`, which needs statsmodels, fits each regression of every candidate, as the paper does."""
    if name != "refit":
        return FromSums(problem, fisher=name == "fisher", tolerance=tolerance)
    try:
        import statsmodels.api  # type: ignore[import-untyped]  # noqa: F401 - a clear error if it is absent
    except ImportError:
        raise MissingExtraError("The fitness 'refit'", "statsmodels") from None
    return FromRecords(
        lambda codes: mean_square(_apart_refitted(problem, codes)),
        lambda codes: State(problem, codes, tolerance=tolerance).errors(),
    )


def _apart_refitted(problem: Problem, codes: Codes) -> Floats:
    """How far all published numbers are off, each regression fitted by statsmodels: slow."""
    return np.concatenate(
        [
            outside_by(output.counts(codes), output.lo, output.hi)
            if isinstance(output, CountTable)
            else numbers_of(output, codes) - 0.5 * (output.lo + output.hi)
            for output in problem.outputs
        ]
    )
