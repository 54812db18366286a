"""The published numbers of an output beside what records give, computed by other code than the engines' (`unrounded.py`).

Regressions are fitted by statsmodels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .columns import Codes
from .formula import plain_name
from .kinds.base import Frame, OutputSpec, crossed, shaped
from .kinds.quantiles import QuantileSpec
from .kinds.regressions import RegressionSpec
from .kinds.summaries import CorrelationSpec, MomentSpec
from .kinds.survival import KaplanMeierSpec
from .kinds.tables import HistogramSpec, TableSpec
from .kinds.trees import TreeSpec
from .precision import share_interval
from .statistics import fitted, spread_at
from .unrounded import (
    bin_names,
    cell_names,
    correlations,
    crosstab,
    histogram,
    leaves,
    moment,
    quantile_names,
    quantiles,
    shares,
    survival,
    system_of,
    values_by_group,
    whole_axis,
    with_margins,
)

if TYPE_CHECKING:
    from .fields import Fields

__all__ = ["TOLERANCE", "Number", "numbers"]

TOLERANCE = 1e-3
"""Standard errors by which a number that is known in full may be missed, as in the engines."""
ROUNDING = 1e-7
"""What fits and sums may be off by themselves, as a share of the number (at least 1)."""


@dataclass(frozen=True)
class Number:
    """A published number and what the records give.

    Parameters
    ----------
    name
        Which of the output's numbers: a coefficient's name, a cell ("m|rented").
    lo, hi
        The interval that was published, ends included; equal for a number known in full.
    value
        What the records give; nan where nothing could be computed.
    unit
        The standard error, for numbers known in full; 0 for counts.
    """

    name: str
    lo: float
    hi: float
    value: float
    unit: float = 0.0

    @property
    def error(self) -> float:
        """The absolute difference to the published number (the middle of its interval); 0 inside the interval of a count."""
        if not math.isfinite(self.value):
            return math.inf
        if self.unit == 0.0 and self.lo <= self.value <= self.hi:
            return 0.0
        return abs(self.value - 0.5 * (self.lo + self.hi))

    def within(self, tolerance: float = TOLERANCE) -> bool:
        """Whether the records give what was published, within its precision."""
        if not math.isfinite(self.value):
            return False
        slack = ROUNDING * max(1.0, abs(self.value))
        if self.lo == self.hi:
            slack = max(slack, tolerance * self.unit)
        return self.lo - slack <= self.value <= self.hi + slack

    def in_precision(self, tolerance: float = TOLERANCE) -> float:
        """Return the error in units of the precision: up to 1 is within."""
        if self.within(tolerance) and self.unit == 0.0:
            return 0.0
        half = 0.5 * (self.hi - self.lo) if self.hi > self.lo else max(tolerance * self.unit, 1e-12)
        return self.error / half


def numbers(output: OutputSpec, fields: Fields, codes: Codes) -> Iterator[Number]:
    """Give the published numbers of an output with what these records make of them."""
    frame = Frame(fields, len(codes))
    kept = codes if isinstance(output, TreeSpec) else codes[output.filter(frame).of(codes)]
    if isinstance(output, TableSpec):
        yield from _table(output, frame, kept)
    elif isinstance(output, HistogramSpec):
        lo, hi = output.bounds(_objects(output.counts), frame.rows)
        yield from map(_count, bin_names(output), lo, hi, histogram(output, frame, kept))
    elif isinstance(output, MomentSpec):
        yield from _moments(output, frame, kept)
    elif isinstance(output, CorrelationSpec):
        matrix = correlations(output, frame, kept)
        for (a, b), (low, high) in output.intervals().items():
            r = float(matrix[a, b])
            yield Number(f"{output.of[a]}|{output.of[b]}", low, high, r, (1 - r * r) / math.sqrt(max(len(kept), 1)))
    elif isinstance(output, QuantileSpec):
        yield from _quantiles(output, frame, kept)
    elif isinstance(output, KaplanMeierSpec):
        yield from _survival(output, frame, kept)
    elif isinstance(output, TreeSpec):
        yield from _leaves(output, frame, codes)
    elif isinstance(output, RegressionSpec):
        yield from _regression(output, frame, codes)
    else:
        raise InputError(f"Output '{output.name}': kind '{output.kind}' cannot be computed again.")
    if isinstance(output.n, int):
        yield _count("n", output.n, output.n, output.filter(frame).of(codes).sum())


def _count(name: str, lo: Any, hi: Any, count: Any) -> Number:
    return Number(name, float(lo), float(hi), float(count))


def _objects(cells: Any) -> NDArray[np.object_]:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def _table(output: TableSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = output.crossing(frame)
    counts, given = crosstab(cells, codes), output.given(frame).ravel()
    if output.percentages is None:
        lo, hi = output.bounds(given, frame.rows)
        counts = with_margins(counts) if output.margins else counts
        yield from map(_count, cell_names(cells, margins=output.margins), lo, hi, counts.ravel())
        return
    percentages, whole, totals = shares(output, counts)
    for name, cell, percentage, out_of in zip(
        cell_names(cells), given, percentages.ravel(), whole.ravel(), strict=True
    ):
        interval = share_interval(cell, decimals=output.decimals)
        if interval is not None:
            share = percentage / 100.0
            error = 100.0 * math.sqrt(max(share * (1 - share), 1e-12) / max(int(out_of), 1))
            yield Number(name, 100.0 * interval.lo, 100.0 * interval.hi, float(percentage), error)
    axis = whole_axis(output)
    if output.totals is not None and axis is not None:
        lo, hi = output.bounds(_objects(output.totals), frame.rows)
        yield from map(_count, [f"total {name}" for name in cells.names[axis]], lo, hi, totals)


def _moments(output: MomentSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = output.crossing(frame)
    intervals, names = output.intervals(cells), cell_names(cells)
    for k, x in enumerate(values_by_group(output, frame, codes)):
        if k in intervals:
            n, spread = max(len(x), 1), float(x.std()) if len(x) else 0.0
            error = {
                "sum": spread * math.sqrt(n),
                "mean": spread / math.sqrt(n),
                "sd": spread / math.sqrt(2 * n),
                "variance": spread**2 * math.sqrt(2 / n),
            }[output.kind]
            yield Number(names[k] or output.kind, *intervals[k], moment(output, x), error)


def _quantiles(output: QuantileSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = output.crossing(frame)
    found = [q for x in values_by_group(output, frame, codes) for q in quantiles(output, x)]
    intervals = [interval for row in output.intervals(cells) for interval in row]
    for name, interval, value in zip(quantile_names(output, cells), intervals, found, strict=True):
        if interval is not None:
            yield Number(name, *interval, value)


def _survival(output: KaplanMeierSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = crossed(output.by, output.groups, frame.fields, output=output.name)
    at_risk, events, chances = (output.lists(key, frame) for key in ("at_risk", "events", "survival"))
    names = [f"{name} " if name else "" for name in cell_names(cells)]
    for group, (before, found) in enumerate(zip(names, survival(output, frame, codes), strict=True)):
        for k, t in enumerate(output.times):
            if at_risk is not None:
                lo, hi = output.bounds(_objects([at_risk[group][k]]), frame.rows)
                yield _count(f"{before}at risk at {t:g}", lo[0], hi[0], found.at_risk[k])
            if events is not None:
                lo, hi = output.bounds(_objects([events[group][k]]), frame.rows)
                yield _count(f"{before}events at {t:g}", lo[0], hi[0], found.events[k])
            if chances is not None and chances[group][k] not in (None, "", "x", "*", "?"):
                interval = output.printed(chances[group][k], "survival")
                unit = 0.5 / math.sqrt(max(found.n, 1))
                yield Number(f"{before}survival at {t:g}", *interval, found.survival[k], unit)


def _leaves(output: TreeSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    for number, (leaf, inside) in enumerate(zip(output.leaves, leaves(output, frame, codes), strict=True), 1):
        if leaf.counts is None:
            lo, hi = output.bounds(_objects([leaf.n]), frame.rows)
            yield _count(f"leaf {number}", lo[0], hi[0], len(inside))
            continue
        assert output.label is not None
        cells = crossed([output.label], {}, frame.fields, output=output.name)
        lo, hi = output.bounds(shaped(leaf.counts, cells, what=f"Output '{output.name}'", absent=0), frame.rows)
        names = [f"leaf {number}: {word}" for word in cells.names[0]]
        yield from map(_count, names, lo, hi, crosstab(cells, inside))


def _regression(output: RegressionSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    formula = output.compiled(frame)
    system = system_of(output, frame, formula, published=True)
    names = list(formula.names)
    if output.kind == "multinomial":
        labels = frame.fields.every[formula.label.columns[0]].labels
        names = [f"{labels[code]}: {name}" for code in output.classes(frame, formula)[1:] for name in names]
    nothing = np.full(system.size, np.nan)
    try:
        result = fitted(system, codes, expected=output.information == "expected")
        values, errors = (np.asarray(part, dtype=float).T.ravel() for part in (result.params, result.bse))
        units = spread_at(result, system)
    except (np.linalg.LinAlgError, ValueError, FloatingPointError, OverflowError):
        result, values, errors, units = None, nothing, nothing, nothing
    if values.size != system.size:  # a class without records has no coefficients
        values = errors = units = nothing
    for k, name in enumerate(names):
        yield Number(name, float(system.lo[k]), float(system.hi[k]), float(values[k]), float(units[k]))
    n = max(len(codes), 2)
    if output.standard_errors is not None:
        given = {plain_name(name): number for name, number in output.standard_errors.items()}
        given.setdefault("Intercept", given.get("const"))
        for k, name in enumerate(names):
            if (number := given.get(plain_name(name))) is not None:
                low, high = output.printed(number, "a standard error")
                yield Number(
                    f"standard error of {name}", low, high, float(errors[k]), float(errors[k]) / math.sqrt(2 * n)
                )
    if output.loglik is not None:
        found = math.nan if result is None else float(result.llf)
        yield Number("loglik", *output.printed(output.loglik, "the log-likelihood"), found, math.sqrt(n))
    if output.dispersion is not None:
        found = math.nan if result is None else float(result.scale)
        yield Number(
            "dispersion", *output.printed(output.dispersion, "the dispersion"), found, found * math.sqrt(2 / n)
        )
