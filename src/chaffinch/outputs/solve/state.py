"""Where a search stands: codes, their counts and sums, and the quadratics by which the sums are weighed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain import Codes, Floats
from ..equations import CountTable, Problem, SumSystem
from .compiled import RecordSums, compile_problem
from .linear import REACHED, LinearForm, of_coefficients, of_sums

SAMPLE = 8_192
"""Records from which the information is estimated while a search gets on."""
BENT = 0.02
"""Width of an interval, in standard errors of the coefficient, from which on a first-order error is not taken at its word."""


@dataclass(frozen=True)
class OutputError:
    """How far an output is from what was published.

    Of its `size` numbers, `outside` lie outside their intervals or, where they are known in full, further off than the tolerance. `worst` is
    the largest distance from an interval and `mean` the mean absolute difference to the middle of the intervals (tables: the mean distance
    from them), in the output's own unit; `chi_square` is what it adds to the objective.
    """

    name: str
    size: int
    outside: int
    worst: float
    mean: float
    chi_square: float


def outside_by(values: NDArray[Any], lo: NDArray[Any], hi: NDArray[Any]) -> Floats:
    """Return how far numbers lie outside their intervals, 0 inside."""
    return np.maximum(np.maximum(lo - values, values - hi), 0.0).astype(float)


class State:
    """A dataset under way: codes, copied, and everything that the kernels keep up to date beside them.

    `tolerance` is how close a number that is known in full must come, in its standard errors. `roughly`: the first metric is estimated from some records.
    """

    def __init__(
        self,
        problem: Problem,
        codes: NDArray[np.integer],
        *,
        tolerance: float = 1e-3,
        roughly: bool = False,
    ) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.codes: Codes = problem.columns.check(codes).copy()
        self.program = p = compile_problem(problem)
        self.tables = [output for output in problem.outputs if isinstance(output, CountTable)]
        self.systems = [output for output in problem.outputs if isinstance(output, SumSystem)]
        self.cell_lo = np.concatenate([np.zeros(0, dtype=np.int64), *(t.lo for t in self.tables)])
        self.cell_hi = np.concatenate([np.zeros(0, dtype=np.int64), *(t.hi for t in self.tables)])
        self.cell_weights = np.concatenate([np.zeros(0), *(t.weights for t in self.tables)])
        self.counts = np.zeros(p.n_cells, dtype=np.int64)
        self.multipliers = np.zeros((len(self.codes), p.n_multipliers))
        self.sums = np.zeros(p.n_sums)
        self.gradient = np.zeros(p.n_sums)
        self.cells_of = _slices([len(t.lo) for t in self.tables])
        self.sums_of = _slices([s.size for s in self.systems])
        self._weights_of = _slices([s.size if s.diagonal else s.size**2 for s in self.systems])
        self.weights = np.zeros(self._weights_of[-1].stop if self.systems else 0)
        self.kernel = RecordSums(
            self.codes, self.counts, self.multipliers, self.sums, self.gradient, self.weights
        )
        self.linear: list[LinearForm] = []
        self.aims: list[Floats] = []
        self.focus = [np.ones(len(s.lo)) for s in self.systems]
        self.cell_focus = np.ones(p.n_cells)
        self.loose = False
        self.table_error = self.system_error = 0.0
        self.refresh(every=self.rough if roughly else 1, afresh=True)

    @property
    def rough(self) -> int:
        """Of how many records one is enough to estimate information while a search gets on."""
        return max(1, len(self.codes) // SAMPLE)

    @property
    def error(self) -> float:
        """The objective: what all outputs lack, in chi-square units."""
        return self.table_error + self.system_error

    def refresh(self, *, every: int = 1, afresh: bool = False) -> None:
        """Make the quadratics anew around the present records: from all of them, or information from one in `every`; summed `afresh` if asked, or from all."""
        from .kernels import sums_from_scratch

        if every == 1 or afresh:
            sums_from_scratch(self.program, self.codes, self.counts, self.multipliers, self.sums)
        self.linear = [self._linear(k, every) for k in range(len(self.systems))]
        before, self.aims, self.system_error = self.aims, [], 0.0
        for k, (s, linear) in enumerate(zip(self.systems, self.linear, strict=True)):
            aim = linear.aim(
                s, self.focus[k], loose=self.loose, before=before[k] if before else None
            )
            error, pull, matrix = linear.quadratic(linear.sums, aim, self.focus[k])
            self.aims.append(aim)
            self.system_error += error
            self.gradient[self.sums_of[k]] = 2.0 * pull
            self.weights[self._weights_of[k]] = matrix.ravel()
        weights = self.cell_weights * self.cell_focus
        self.program.floats[self.program.cell_weight :][: len(weights)] = weights
        self.table_error = float((self.off() ** 2 * weights).sum())

    def _linear(self, k: int, every: int) -> LinearForm:
        from .kernels import gram, square_sums

        system, sums = self.systems[k], self.sums[self.sums_of[k]].copy()

        def of_kind(kind: int) -> tuple[Floats, float, float]:
            out = np.zeros((system.size, system.size))
            squares, total = gram(
                self.program, k, self.codes, self.multipliers, kind, every if kind else 1, out
            )
            return out * (every if kind else 1), squares, total

        if system.reported == "coefficients":
            return of_coefficients(system, sums, -(-len(self.codes) // every), of_kind)
        if system.diagonal:
            squares = np.zeros(system.size)
            square_sums(self.program, k, self.codes, self.multipliers, squares)
        else:
            squares = of_kind(0)[0]
        return of_sums(system, sums, len(self.codes), squares)

    def stand(self) -> bool:
        """Let models stand at the coefficients that the records had at the last refresh, where that matters; return whether any.

        Standard errors, dispersions and log-likelihoods are those at the fitted coefficients. The printed ones, at which the search
        begins, may be half a digit off; with a column of large numbers that shows in the last digit of a standard error. And where
        few digits were printed the fitted coefficients may be so far from these that they are not linear in the sums any more.
        """
        moved = {
            k: np.clip(linear.values, s.lo, s.hi)
            for k, (s, linear) in enumerate(zip(self.systems, self.linear, strict=True))
            if k in self.beside
            or (s.reported == "coefficients" and (s.hi - s.lo > BENT * linear.scale).any())
        }
        if moved:
            self.problem, self.systems = self.standing(moved)
            self.program = compile_problem(self.problem)
            self.refresh()
        return bool(moved)

    @cached_property
    def beside(self) -> dict[int, list[int]]:
        """For each system of coefficients the systems of other numbers that are read off the same model, where there are any."""
        etas = [None if s.model is None else s.model.eta for s in self.systems]
        others_of = {
            k: [j for j, eta in enumerate(etas) if j != k and eta is not None and eta is etas[k]]
            for k, s in enumerate(self.systems)
            if s.reported == "coefficients"
        }
        return {k: others for k, others in others_of.items() if others}

    def standing(self, at: dict[int, Floats]) -> tuple[Problem, list[SumSystem]]:
        """Return the problem with some models, by the number of their system, at other coefficients; and its systems."""
        systems = list(self.systems)
        for k, coefficients in at.items():
            s = systems[k]
            assert s.model is not None
            matrix = coefficients.reshape(s.model.n_predictors, -1).T
            eta = (*(terms.times(matrix) for terms in s.terms), *s.model.eta[len(s.terms) :])
            systems[k] = replace(s, model=replace(s.model, eta=eta), at=coefficients)
            for j in self.beside.get(k, []):
                model = systems[j].model
                assert model is not None
                systems[j] = replace(systems[j], model=replace(model, eta=eta))
        new = {s.name: s for s in systems}
        outputs = tuple(new.get(output.name, output) for output in self.problem.outputs)
        return Problem(self.problem.columns, outputs), systems

    def drifts(self) -> dict[int, tuple[int, Floats]]:
        """Return, for each system that is read off a model with coefficients: which these are, and its numbers' derivatives by them."""
        from .kernels import sums_from_scratch

        derivatives: dict[int, tuple[int, Floats]] = {}
        counts, multipliers, sums = (
            self.counts.copy(),
            np.empty_like(self.multipliers),
            np.empty_like(self.sums),
        )
        for k, others in self.beside.items():
            at = self.systems[k].at
            assert at is not None
            for j in others:
                derivatives[j] = (k, np.zeros((len(self.systems[j].lo), len(at))))
            for c in range(len(at)):
                step = np.zeros(len(at))
                step[c] = 1e-3 * self.linear[k].scale[c]
                program = compile_problem(self.standing({k: at + step})[0])
                sums_from_scratch(program, self.codes, counts, multipliers, sums)
                for j in others:
                    change = self.linear[j].at(sums[self.sums_of[j]]) - self.linear[j].values
                    derivatives[j][1][:, c] = change / step[c]
        return derivatives

    def fill_levels(self, rng: np.random.Generator) -> bool:
        """Give levels that no record has to some, where a published coefficient is not determined without; return whether any."""
        columns = {
            c
            for s, linear in zip(self.systems, self.linear, strict=True)
            if linear.undetermined is not None and linear.undetermined.any()
            for c in s.columns
        }
        filled = False
        for c in sorted(columns):
            column = self.problem.columns.every[c]
            absent = np.flatnonzero(np.bincount(self.codes[:, c], minlength=column.size) == 0)
            if not column.fixed and absent.size:
                share = -(-len(self.codes) // column.size)
                some = rng.permutation(len(self.codes))[: share * absent.size]
                self.codes[some, c] = np.resize(absent, some.size)
                filled = True
        if filled:
            self.refresh()
        return filled

    def off(self) -> Floats:
        """How far each count lies outside its interval."""
        return outside_by(self.counts, self.cell_lo, self.cell_hi)

    def near(self, k: int) -> Floats:
        """Return how near to the middle of its interval each number of a system must come."""
        s, linear = self.systems[k], self.linear[k]
        half = 0.5 * (s.hi - s.lo)
        # What is read off plain sums is exact, and both ends belong to it. Rounding alone leaves about 1e-12 standard errors.
        inner = half + 1e-9 * linear.scale if s.model is None else linear.inner(half, REACHED)
        return np.where(half > 0.0, inner, max(self.tolerance, 1e-9) * linear.scale)

    def outside(self, k: int) -> NDArray[np.bool_]:
        """Return which numbers of a system have not arrived."""
        s, linear, sums = self.systems[k], self.linear[k], self.sums[self.sums_of[k]]
        off = np.abs(linear.at(sums) - 0.5 * (s.lo + s.hi)) > self.near(k)
        if (of_none := getattr(s.reported, "undetermined", None)) is not None:
            off = off | of_none(sums)
        return off if linear.undetermined is None else off | linear.undetermined

    def errors(self) -> tuple[OutputError, ...]:
        """Return the error of each output, in the problem's order; what is not linear in sums (coefficients) to first order."""
        errors: dict[str, OutputError] = {}
        every_off = self.off()
        for table, cells in zip(self.tables, self.cells_of, strict=True):
            off = every_off[cells]
            chi = float((off**2 * self.cell_weights[cells]).sum())
            errors[table.name] = OutputError(
                table.name, off.size, int((off > 0).sum()), float(off.max()), float(off.mean()), chi
            )
        for k, (s, linear, aim) in enumerate(
            zip(self.systems, self.linear, self.aims, strict=True)
        ):
            values = linear.at(self.sums[self.sums_of[k]])
            off = outside_by(values, s.lo, s.hi)
            apart = np.abs(values - 0.5 * (s.lo + s.hi))
            chi, _, _ = linear.quadratic(self.sums[self.sums_of[k]], aim, np.ones(len(aim)))
            errors[s.name] = OutputError(
                s.name,
                off.size,
                int(self.outside(k).sum()),
                float(off.max()),
                float(apart.mean()),
                chi,
            )
        return tuple(errors[output.name] for output in self.problem.outputs)


def _slices(sizes: list[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
