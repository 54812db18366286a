"""Where a search stands: codes, their counts and sums, and the published numbers of each system as linear functions of its sums.

Each published number z = z(S) is made linear in the sums S around the present records, z = z0 + H (S - S0). With W the inverse of
the covariance of z and t a point that the published intervals allow, the system's error is

    Q(S) = (z - t)' W (z - t)

in chi-square units, so that errors of different outputs can be added; in the kernels' words A = H'WH and g = 2H'W(z - t). For
coefficients H is the inverse of the observed information and, at t = the coefficients, Q = S' I^-1 S: the score statistic. The plain
error of the coefficients would be badly conditioned, and a search by it stalls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats
from ..domain import Codes
from ..equations import CountTable, Problem, SumSystem
from ..families import FAMILIES
from .program import RecordSums, compile_problem, gram, square_sums, sums_from_scratch

SAMPLE = 8_192
"""Records from which the information is estimated while a search gets on."""
BENT = 0.02
"""Width of an interval, in standard errors of the coefficient, from which on a first-order error is not taken at its word."""


AIM = 0.8
"""Share of an interval's half-width that a loose search aims inside of."""
REACHED = 0.98
"""Share of an interval's half-width inside of which a loose search has arrived: a refit then prints the same digits although its error is not quite linear."""
WIDE = 0.25
"""Half-width, in standard errors, from which on an interval is aimed inside of at once, and not at its middle; and from which on the
ends that are kept away from do not grow with it: a number that is only known to be below another may lie just there."""

RIDGE = 1e-9
"""Added to covariances of unit diagonal: numbers that follow from each other have none of full rank."""

FLAT = 1e-8
"""Share of a variance, in covariances of unit diagonal, below which a direction has none."""

SWEEPS = 8

Gram = Callable[[int], tuple[Floats, float, float]]
"""`program.gram` of one system: from its kind to the matrix, the sum of squared multipliers and the sum of weights."""


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
        self.codes: Codes = problem.domain.check(codes).copy()
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
        self.refresh(step=self.rough if roughly else 1, afresh=True)

    @property
    def rough(self) -> int:
        """Of how many records one is enough to estimate information while a search gets on."""
        return max(1, len(self.codes) // SAMPLE)

    @property
    def error(self) -> float:
        """The objective: what all outputs lack, in chi-square units."""
        return self.table_error + self.system_error

    def refresh(self, *, step: int = 1, afresh: bool = False) -> None:
        """Make the quadratics anew around the present records: from all of them, or information from one in `every`; summed `afresh` if asked, or from all."""
        if step == 1 or afresh:
            sums_from_scratch(self.program, self.codes, self.counts, self.multipliers, self.sums)
        self.linear = [self._linear(k, step) for k in range(len(self.systems))]
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

    def _linear(self, k: int, step: int) -> LinearForm:
        system, sums = self.systems[k], self.sums[self.sums_of[k]].copy()

        def of_kind(kind: int) -> tuple[Floats, float, float]:
            out = np.zeros((system.size, system.size))
            squares, total = gram(
                self.program, k, self.codes, self.multipliers, kind, step if kind else 1, out
            )
            return out * (step if kind else 1), squares, total

        if system.reported == "coefficients":
            return of_coefficients(system, sums, -(-len(self.codes) // step), of_kind)
        if system.diagonal:
            squares = np.zeros(system.size)
            square_sums(self.program, k, self.codes, self.multipliers, squares)
        else:
            squares = of_kind(0)[0]
        return of_sums(system, sums, len(self.codes), squares)

    def recentre_models(self) -> bool:
        """Let models stand at the coefficients that the records had at the last refresh, where that matters; return whether any.

        Standard errors, dispersions and log-likelihoods are those at the fitted coefficients. The printed ones, at which the search
        begins, may be half a digit off; with a column of large numbers that shows in the last digit of a standard error. And where
        few digits were printed the fitted coefficients may be so far from these that they are not linear in the sums any more.
        """
        moved = {
            k: np.clip(linear.values, s.lo, s.hi)
            for k, (s, linear) in enumerate(zip(self.systems, self.linear, strict=True))
            if k in self.same_model
            or (s.reported == "coefficients" and (s.hi - s.lo > BENT * linear.scale).any())
        }
        if moved:
            self.problem, self.systems = self.with_coefficients(moved)
            self.program = compile_problem(self.problem)
            self.refresh()
        return bool(moved)

    @cached_property
    def same_model(self) -> dict[int, list[int]]:
        """For each system of coefficients the systems of other numbers that are read off the same model, where there are any."""
        etas = [None if s.model is None else s.model.eta for s in self.systems]
        others_of = {
            k: [j for j, eta in enumerate(etas) if j != k and eta is not None and eta is etas[k]]
            for k, s in enumerate(self.systems)
            if s.reported == "coefficients"
        }
        return {k: others for k, others in others_of.items() if others}

    def with_coefficients(
        self, coefficients_of: dict[int, Floats]
    ) -> tuple[Problem, list[SumSystem]]:
        """Return the problem with some models, by the number of their system, at other coefficients; and its systems."""
        systems = list(self.systems)
        for k, coefficients in coefficients_of.items():
            s = systems[k]
            assert s.model is not None
            matrix = coefficients.reshape(s.model.n_predictors, -1).T
            eta = (*(terms.times(matrix) for terms in s.terms), *s.model.eta[len(s.terms) :])
            systems[k] = replace(s, model=replace(s.model, eta=eta), coefficients=coefficients)
            for j in self.same_model.get(k, []):
                model = systems[j].model
                assert model is not None
                systems[j] = replace(systems[j], model=replace(model, eta=eta))
        new = {s.name: s for s in systems}
        outputs = tuple(new.get(output.name, output) for output in self.problem.outputs)
        return Problem(self.problem.domain, outputs), systems

    def drifts(self) -> dict[int, tuple[int, Floats]]:
        """Return, for each system that is read off a model with coefficients: which these are, and its numbers' derivatives by them."""
        derivatives: dict[int, tuple[int, Floats]] = {}
        counts, multipliers, sums = (
            self.counts.copy(),
            np.empty_like(self.multipliers),
            np.empty_like(self.sums),
        )
        for k, others in self.same_model.items():
            fitted = self.systems[k].coefficients
            assert fitted is not None
            for j in others:
                derivatives[j] = (k, np.zeros((len(self.systems[j].lo), len(fitted))))
            for c in range(len(fitted)):
                step = np.zeros(len(fitted))
                step[c] = 1e-3 * self.linear[k].scale[c]
                program = compile_problem(self.with_coefficients({k: fitted + step})[0])
                sums_from_scratch(program, self.codes, counts, multipliers, sums)
                for j in others:
                    change = self.linear[j].values_at(sums[self.sums_of[j]]) - self.linear[j].values
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
            column = self.problem.domain.columns[c]
            absent = np.flatnonzero(np.bincount(self.codes[:, c], minlength=column.size) == 0)
            if not column.fixed and absent.size:
                share = -(-len(self.codes) // column.size)
                rows = rng.permutation(len(self.codes))[: share * absent.size]
                self.codes[rows, c] = np.resize(absent, rows.size)
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
        off = np.abs(linear.values_at(sums) - 0.5 * (s.lo + s.hi)) > self.near(k)
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
            values = linear.values_at(self.sums[self.sums_of[k]])
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


@dataclass(frozen=True, eq=False)
class LinearForm:
    """Published numbers near the sums S0 of some records: S0, the numbers there, H (q, p), W (q, q) and the standard error of each number.

    For sums that are weighed one by one H is a vector of ones, and W a vector. For coefficients there are also H^-1 (the observed information)
    and the curvature A, since H is of no use for errors where records leave some coefficients all but undetermined, and S - H^-1 (t - z0)
    needs it not; and which of them the records do not determine: a level that no record has adds nothing to any sum, so that its coefficient
    would seem to be met.
    """

    sums: Floats
    values: Floats
    slope: Floats
    weight: Floats
    scale: Floats
    observed: Floats | None = None
    curvature: Floats | None = None
    undetermined: NDArray[np.bool_] | None = None

    def values_at(self, sums: Floats) -> Floats:
        """Return the published numbers at other sums, to first order; a row each at several, (k, p)."""
        change = sums - self.sums
        if self.slope.ndim == 1:
            return self.values + self.slope * change
        return self.values + (self.slope @ change if change.ndim == 1 else change @ self.slope.T)

    def quadratic(self, sums: Floats, aim: Floats, focus: Floats) -> tuple[float, Floats, Floats]:
        """Return Q at some sums, half of its gradient by the sums, and A; with some numbers weighed `focus` (1 or more) times."""
        off = self.values_at(sums) - aim
        if self.weight.ndim == 1:
            pull = self.weight * focus * off
            return float(off @ pull), pull, self.weight * focus
        if self.curvature is not None and self.observed is not None:
            apart = sums - self.sums + self.observed @ (self.values - aim)
            matrix, pull = self.curvature, self.curvature @ apart
            error = float(apart @ pull)
        else:
            matrix = self.slope.T @ self.weight @ self.slope
            pull = self.slope.T @ (self.weight @ off)
            error = float(off @ self.weight @ off)
        if (focus > 1.0).any():
            more = (focus - 1.0) * np.diag(self.weight)
            matrix = matrix + (self.slope.T * more) @ self.slope
            pull = pull + self.slope.T @ (more * off)
            error += float(off @ (more * off))
        return error, pull, matrix

    def focused(self, focus: Floats) -> Floats:
        """Return W with some numbers weighed `focus` times."""
        if self.weight.ndim == 1:
            return self.weight * focus
        return self.weight + np.diag((focus - 1.0) * np.diag(self.weight))

    def inner(self, half: Floats, share: float) -> Floats:
        """Return the half-widths of the inner parts of intervals: a share of narrow ones, all but a little of wide ones."""
        return half - (1.0 - share) * np.minimum(half, WIDE * self.scale)

    def aim(
        self, system: SumSystem, focus: Floats, *, loose: bool, before: Floats | None
    ) -> Floats:
        """Return where to aim: the middle of each interval; if `loose` or wide, its nearest point well inside."""
        middle, half = 0.5 * (system.lo + system.hi), 0.5 * (system.hi - system.lo)
        half = np.where(loose | (half > WIDE * self.scale), self.inner(half, AIM), 0.0)
        if self.weight.ndim == 1:
            return np.clip(self.values, middle - half, middle + half)
        weight = self.focused(focus)
        return nearest(
            self.values, weight, middle - half, middle + half, middle if before is None else before
        )


def of_coefficients(system: SumSystem, sums: Floats, n_rows: int, gram: Gram) -> LinearForm:
    """Return the coefficients of a model near the present records."""
    assert system.model is not None
    assert system.coefficients is not None
    family = FAMILIES[system.model.family]
    expected, squares, total = gram(1)
    observed = expected if family.canonical else gram(2)[0]
    dispersion = max(squares / max(total, 1e-300), 1e-12) if family.law.is_dispersed else 1.0
    # No column of the design may count for less than one record: a level that none has could never be taken up.
    min_information = _largest(system) ** 2 * (total / n_rows if total > 0.0 else 1.0)
    slope, inverse = _inverse(observed, min_information), _inverse(expected, min_information)
    weight = observed @ inverse @ observed / dispersion
    scale = np.sqrt(dispersion * np.maximum(np.diag(inverse), 0.0))
    undetermined = _find_undetermined(expected, min_information)
    return LinearForm(
        sums,
        system.coefficients + slope @ sums,
        slope,
        weight,
        scale,
        observed,
        inverse / dispersion,
        undetermined,
    )


def _find_undetermined(information: Floats, min_information: Floats) -> NDArray[np.bool_]:
    """Which coefficients no record tells anything about, or only together with others."""
    diagonal = np.diag(information)
    empty = diagonal < 1e-6 * min_information
    root = np.sqrt(np.where(empty, 1.0, diagonal))
    unit = np.where(empty[:, None] | empty, np.eye(len(root)), information / np.outer(root, root))
    sizes, vectors = np.linalg.eigh(unit)
    result: NDArray[np.bool_] = empty | (np.abs(vectors[:, sizes < 1e-8]) > 1e-3).any(axis=1)
    return result


def of_sums(system: SumSystem, sums: Floats, n_rows: int, squares: Floats) -> LinearForm:
    """Return sums, or what is read off them, near the present records.

    `squares` is the sum of the records' contributions times themselves, (p, p), or (p,) for sums weighed one by one.
    """
    raw = squares if system.diagonal else np.diag(squares)
    # A sum that all records add the same to has no variance, and one that none adds to neither; they count as one record does.
    spread = np.maximum(raw - sums**2 / n_rows, np.maximum(1e-6 * raw, _largest(system) ** 2))
    if system.diagonal:
        return LinearForm(sums, sums, np.ones(system.size), 1.0 / spread, np.sqrt(spread))
    covariance = squares - np.outer(sums, sums) / n_rows
    np.fill_diagonal(covariance, spread)
    values, slope = (
        system.reported(sums) if callable(system.reported) else (sums, np.eye(system.size))
    )
    covariance = slope @ covariance @ slope.T
    min_variance = 1e-12 * np.full(len(values), max(float(np.diag(covariance).max()), 1e-300))
    return LinearForm(
        sums,
        values,
        slope,
        _weight(covariance, min_variance),
        np.sqrt(np.maximum(np.diag(covariance), min_variance)),
    )


def _largest(system: SumSystem) -> Floats:
    """The largest size of the terms of each equation, the multiplier apart; 1 where an equation has none."""
    width = system.model.width if system.model else 1
    largest = np.zeros(system.size // width)
    for terms in system.terms:
        np.maximum.at(largest, terms.equations, np.abs(terms.values))
    return np.tile(np.where(largest > 0.0, largest, 1.0), width)


def _inverse(matrix: Floats, min_diagonal: Floats) -> Floats:
    """Return the inverse of a covariance or information whose diagonal is raised to `least`; of a near-singular one with a ridge."""
    matrix = matrix.copy()
    np.fill_diagonal(matrix, np.maximum(np.diag(matrix), min_diagonal))
    root = np.sqrt(np.diag(matrix))
    outer = np.outer(root, root)
    inverse: Floats = np.linalg.inv(matrix / outer + RIDGE * np.eye(len(root))) / outer
    return 0.5 * (inverse + inverse.T)


def _weight(covariance: Floats, min_variance: Floats) -> Floats:
    """Return the inverse of a covariance; of one that leaves directions out, such as shares that add up to 1, without these.

    No records can differ there, so that nothing can be gained; but printed numbers do not quite add up, and a ridge would make of that
    the largest part of the error.
    """
    root = np.sqrt(np.maximum(np.diag(covariance), min_variance))
    outer = np.outer(root, root)
    unit = covariance / outer
    np.fill_diagonal(unit, 1.0)
    try:
        pivots = np.diag(np.linalg.cholesky(unit))
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    if pivots.min() > np.sqrt(FLAT):
        return _inverse(covariance, min_variance)
    sizes, axes = np.linalg.eigh(unit)
    weight: Floats = (
        (axes * np.where(sizes > FLAT, 1.0 / np.maximum(sizes, FLAT), 0.0)) @ axes.T / outer
    )
    return 0.5 * (weight + weight.T)


def nearest(point: Floats, weight: Floats, lo: Floats, hi: Floats, start: Floats) -> Floats:
    """Return nearly the point of a box that is nearest to another in a metric: a few sweeps of coordinate descent.

    Examples
    --------
    >>> nearest(np.array([3.0, 0.5]), np.eye(2), np.zeros(2), np.ones(2), np.zeros(2))
    array([1. , 0.5])
    """
    nearest_point = np.clip(start, lo, hi)
    if (lo == hi).all():
        return nearest_point
    diagonal = np.diag(weight)
    pull = weight @ (nearest_point - point)
    for _ in range(SWEEPS):
        for j in np.flatnonzero(lo < hi):
            new = (
                min(max(nearest_point[j] - pull[j] / diagonal[j], lo[j]), hi[j])
                if diagonal[j] > 0.0
                else nearest_point[j]
            )
            if new != nearest_point[j]:
                pull += weight[:, j] * (new - nearest_point[j])
                nearest_point[j] = new
    return nearest_point
