"""The numbers of an output computed again from records, kind by kind, by other code than the engines'.

Regressions are fitted by statsmodels; tables and summaries are counted with numpy from the values themselves; quantiles are numpy's;
survival is the product-limit formula written out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .columns import Codes, Floats
from .equations import SumSystem
from .formula import plain_name
from .kinds.base import Cells, Frame, OutputSpec, crossed, scalar_code, shaped
from .kinds.quantiles import QuantileSpec
from .kinds.regressions import RegressionSpec
from .kinds.summaries import CorrelationSpec, MomentSpec
from .kinds.survival import KaplanMeierSpec
from .kinds.tables import TOTAL, HistogramSpec, TableSpec
from .kinds.trees import TreeSpec
from .precision import share_interval
from .statistics import fitted, spread_at
from .where import read_filter

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
        values = fields[output.of].values[kept[:, fields.position(output.of)]]
        counts = np.histogram(values, bins=np.array(output.edges, dtype=float))[0]
        lo, hi = output.bounds(_objects(output.counts), frame.rows)
        names = [f"{a:g} to {b:g}" for a, b in zip(output.edges, output.edges[1:], strict=False)]
        yield from map(_count, names, lo, hi, counts)
    elif isinstance(output, MomentSpec):
        yield from _moments(output, frame, kept)
    elif isinstance(output, CorrelationSpec):
        with np.errstate(all="ignore"):
            matrix = np.asarray(
                np.corrcoef([fields[name].values[kept[:, fields.position(name)]] for name in output.of])
            )
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


def _members(cells: Cells, codes: Codes) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Each group by name, and which records are in it."""
    for place in product(*(range(size) for size in cells.shape)):
        inside = np.ones(len(codes), dtype=bool)
        for (position, group), k in zip(cells.steps, place, strict=True):
            inside &= group[codes[:, position]] == k
        yield "|".join(names[k] for names, k in zip(cells.names, place, strict=True)), inside


def _crosstab(cells: Cells, codes: Codes) -> Floats:
    """Counts of records in a cross of groups, one axis for each column."""
    groups = np.stack([group[codes[:, position]] for position, group in cells.steps], axis=1)
    found, counts = np.unique(groups[(groups >= 0).all(axis=1)], axis=0, return_counts=True)
    out = np.zeros(cells.shape)
    out[tuple(found.T)] = counts
    return out


def _table(output: TableSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = output.crossing(frame)
    counts, given = _crosstab(cells, codes), output.given(frame)
    names = list(cells.names)
    if output.percentages is not None:
        axes = {"all": None, "rows": 0, "columns": counts.ndim - 1}
        axis = axes[output.percentages]
        over = tuple(k for k in range(counts.ndim) if k != axis)
        whole = np.maximum(np.broadcast_to(counts.sum(axis=over, keepdims=True), counts.shape), 1.0)
        for place in np.ndindex(counts.shape):
            interval = share_interval(given[place], decimals=output.decimals)
            if interval is not None:
                share = float(counts[place] / whole[place])
                error = 100.0 * math.sqrt(max(share * (1 - share), 1e-12) / whole[place])
                name = "|".join(some[k] for some, k in zip(names, place, strict=True))
                yield Number(name, 100.0 * interval.lo, 100.0 * interval.hi, 100.0 * share, error)
        if output.totals is not None and axis is not None:
            lo, hi = output.bounds(_objects(output.totals), frame.rows)
            for k, total in enumerate(counts.sum(axis=over)):
                yield _count(f"total {names[axis][k]}", lo[k], hi[k], total)
        return
    if output.margins:
        for axis in range(counts.ndim):
            counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
        names = [(*some, TOTAL) for some in names]
    lo, hi = output.bounds(given, frame.rows)
    called = ("|".join(words) for words in product(*names))
    yield from map(_count, called, lo, hi, counts.ravel())


def _moments(output: MomentSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = output.crossing(frame)
    intervals = output.intervals(cells)
    numbers_of = frame.fields[output.of].values[codes[:, frame.fields.position(output.of)]]
    for k, (name, inside) in enumerate(_members(cells, codes)):
        if k not in intervals:
            continue
        x, n = numbers_of[inside], max(int(inside.sum()), 1)
        spread = float(x.std()) if len(x) else 0.0
        if output.kind == "sum":
            value, error = float(x.sum()), spread * math.sqrt(n)
        elif output.kind == "mean":
            value, error = float(x.mean()) if len(x) else math.nan, spread / math.sqrt(n)
        elif output.kind == "sd":
            value, error = float(x.std(ddof=output.ddof)) if len(x) > 1 else math.nan, spread / math.sqrt(2 * n)
        else:
            value, error = float(x.var(ddof=output.ddof)) if len(x) > 1 else math.nan, spread**2 * math.sqrt(2 / n)
        yield Number(name or output.kind, *intervals[k], value, error)


def _quantiles(output: QuantileSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    cells = output.crossing(frame)
    values = frame.fields[output.of].values[codes[:, frame.fields.position(output.of)]]
    for row, (name, inside) in zip(output.intervals(cells), _members(cells, codes), strict=True):
        for q, interval in zip(output.points, row, strict=True):
            if interval is not None:
                found = float(np.quantile(values[inside], q)) if inside.any() else math.nan
                yield Number(f"{name} at {q:g}" if name else f"{q:g}", *interval, found)


def _survival(output: KaplanMeierSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    fields = frame.fields
    cells = crossed(output.by, output.groups, fields, output=output.name)
    every_time = fields[output.time].values[codes[:, fields.position(output.time)]]
    yes = scalar_code(fields[output.event], output.level, output=output.name, key="level")
    event = codes[:, fields.position(output.event)] == yes
    at_risk, events, survival = (output.lists(key, frame) for key in ("at_risk", "events", "survival"))
    for group, (name, inside) in enumerate(_members(cells, codes)):
        time, died = every_time[inside], event[inside]
        before = f"{name} " if name else ""
        for k, t in enumerate(output.times):
            if at_risk is not None:
                lo, hi = output.bounds(_objects([at_risk[group][k]]), frame.rows)
                yield _count(f"{before}at risk at {t:g}", lo[0], hi[0], (time >= t).sum())
            if events is not None:
                lo, hi = output.bounds(_objects([events[group][k]]), frame.rows)
                yield _count(f"{before}events at {t:g}", lo[0], hi[0], ((time == t) & died).sum())
            if survival is not None and survival[group][k] not in (None, "", "x", "*", "?"):
                left = 1.0
                for u in np.unique(time[died & (time <= t)]):
                    left *= 1.0 - float(((time == u) & died).sum()) / float((time >= u).sum())
                low, high = output.printed(survival[group][k], "survival")
                yield Number(f"{before}survival at {t:g}", low, high, left, 0.5 / math.sqrt(max(len(time), 1)))


def _leaves(output: TreeSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    whole = output.filter(frame).of(codes)
    for number, leaf in enumerate(output.leaves, 1):
        inside = codes[whole & read_filter(leaf.where, frame.fields, output=output.name).of(codes)]
        if leaf.counts is None:
            lo, hi = output.bounds(_objects([leaf.n]), frame.rows)
            yield _count(f"leaf {number}", lo[0], hi[0], len(inside))
            continue
        assert output.label is not None
        cells = crossed([output.label], {}, frame.fields, output=output.name)
        lo, hi = output.bounds(shaped(leaf.counts, cells, what=f"Output '{output.name}'", absent=0), frame.rows)
        counts = np.bincount(inside[:, cells.positions[0]], minlength=cells.size)
        for k, word in enumerate(cells.names[0]):
            yield _count(f"leaf {number}: {word}", lo[k], hi[k], counts[k])


def _regression(output: RegressionSpec, frame: Frame, codes: Codes) -> Iterator[Number]:
    formula = output.compiled(frame)
    system = next(
        part for part in output.equations(frame) if isinstance(part, SumSystem) and part.reported == "coefficients"
    )
    names = list(formula.names)
    if output.kind == "multinomial":
        labels = frame.fields.every[formula.label.columns[0]].labels
        names = [f"{labels[code]}: {name}" for code in output.classes(frame, formula)[1:] for name in names]
    nothing = np.full(system.size, np.nan)
    try:
        result = fitted(system, codes)
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
