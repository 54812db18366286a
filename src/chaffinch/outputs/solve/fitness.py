"""How good a whole dataset is: the error by which the evolutionary algorithm ranks its candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ..._base.errors import MissingExtraError
from ..columns import Codes, Floats
from ..equations import CountTable, Problem, SumSystem
from .state import State

__all__ = ["Fitness", "FitnessName", "fitness_of"]

FitnessName = Literal["score", "fisher", "refit"]


class Fitness:
    """An error of candidates, 0 for none: by a function, which knows no metric to be renewed."""

    def __init__(self, error: Callable[[Codes], float] | None = None) -> None:
        self._error = error

    def of(self, codes: Codes) -> float:
        """Return the error of a candidate: 0 is best."""
        assert self._error is not None
        return self._error(codes)

    def renew(self, codes: Codes) -> bool:
        """Make the metric anew around a candidate; return whether errors changed with it."""
        return False


class _FromSums(Fitness):
    """Errors from the sums of a candidate; coefficients to first order around the candidate that was last best."""

    def __init__(self, problem: Problem, *, fisher: bool) -> None:
        super().__init__()
        self._problem, self._fisher = problem, fisher
        self._state: State | None = None

    def renew(self, codes: Codes) -> bool:
        self._state = State(self._problem, codes)
        return True

    def of(self, codes: Codes) -> float:
        from .kernels import sums_from_scratch

        assert self._state is not None
        state = self._state
        counts, sums = np.empty_like(state.counts), np.empty_like(state.sums)
        sums_from_scratch(state.program, codes, counts, state.multipliers, sums)
        off = np.maximum(np.maximum(state.cell_lo - counts, counts - state.cell_hi), 0).astype(float)
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


class _Refitted(Fitness):
    """Mean squared error of the published numbers, each regression fitted by statsmodels: slow, as in the paper."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self._problem = problem

    def of(self, codes: Codes) -> float:
        apart = [self._apart(output, codes) for output in self._problem.outputs]
        total = float((np.concatenate(apart) ** 2).mean())
        return total if np.isfinite(total) else np.inf

    @staticmethod
    def _apart(output: CountTable | SumSystem, codes: Codes) -> Floats:
        if isinstance(output, CountTable):
            counts = output.counts(codes)
            return np.maximum(np.maximum(output.lo - counts, counts - output.hi), 0).astype(float)
        from ..statistics import numbers_of

        return numbers_of(output, codes) - 0.5 * (output.lo + output.hi)


def fitness_of(name: FitnessName, problem: Problem) -> Fitness:
    """Return the fitness of a name; `refit` needs statsmodels."""
    if name == "refit":
        try:
            import statsmodels.api  # type: ignore[import-untyped]  # noqa: F401 - a clear error if it is absent
        except ImportError:
            raise MissingExtraError("The fitness 'refit'", "statsmodels") from None
        return _Refitted(problem)
    return _FromSums(problem, fisher=name == "fisher")
