"""The numbers of an output in full, as records give them, kind by kind, by other code than the engines'.

Tables and summaries are counted with numpy from the values themselves; quantiles are numpy's; survival is the product-limit formula.
Regressions are described here and fitted in `statistics.py`. What was published plays no part: refits hold these numbers against it
(`recomputed.py`), recipes print them (`computing.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .columns import Codes, Floats
from .equations import Lookup, SumSystem, regression
from .formula import Formula
from .kinds.base import Cells, Frame, crossed, scalar_code
from .kinds.quantiles import QuantileSpec
from .kinds.regressions import RegressionSpec
from .kinds.summaries import CorrelationSpec, MomentSpec
from .kinds.survival import KaplanMeierSpec
from .kinds.tables import TOTAL, HistogramSpec, TableSpec
from .kinds.trees import TreeSpec
from .where import read_filter

__all__ = [
    "SurvivalOf",
    "bin_names",
    "cell_names",
    "correlations",
    "crosstab",
    "groups",
    "histogram",
    "leaves",
    "moment",
    "quantile_names",
    "quantiles",
    "shares",
    "survival",
    "survival_names",
    "system_of",
    "values_by_group",
    "whole_axis",
    "with_margins",
]

Ints = NDArray[np.int64]


def cell_names(cells: Cells, *, margins: bool = False) -> list[str]:
    """Return what the cells of a cross are called, in C order: "m|rented"; with margins also "m|All"."""
    names = [(*some, TOTAL) for some in cells.names] if margins else cells.names
    return ["|".join(words) for words in product(*names)]


def bin_names(output: HistogramSpec) -> list[str]:
    """Return what the bins of a histogram are called: "16 to 20"."""
    return [f"{a:g} to {b:g}" for a, b in zip(output.edges, output.edges[1:], strict=False)]


def quantile_names(output: QuantileSpec, cells: Cells) -> list[str]:
    """Return what quantiles are called, group by group: "m at 0.5"."""
    return [f"{name} at {q:g}" if name else f"{q:g}" for name in cell_names(cells) for q in output.points]


def survival_names(output: KaplanMeierSpec, key: str, frame: Frame) -> list[str]:
    """Return what the numbers of a Kaplan-Meier table are called, group by group: "m at risk at 20"."""
    cells = crossed(output.by, output.groups, frame.fields, output=output.name)
    word = key.replace("_", " ")
    return [f"{name} {word} at {t:g}".strip() for name in cell_names(cells) for t in output.times]


def _cells(cells: Cells, codes: Codes) -> Ints:
    """The number of each record's cell, in C order; -1 for records in none."""
    if not cells.steps:
        return np.zeros(len(codes), dtype=np.int64)
    of = [group[codes[:, position]] for position, group in cells.steps]
    inside = np.logical_and.reduce([group >= 0 for group in of])
    return np.where(inside, np.ravel_multi_index([np.maximum(group, 0) for group in of], cells.shape), -1)


def crosstab(cells: Cells, codes: Codes) -> Ints:
    """Return counts of records in a cross of groups, one axis for each column.

    Examples
    --------
    >>> cells = Cells(((0, np.array([0, 1])), (1, np.array([0, 1, -1]))), (("f", "m"), ("low", "high")))
    >>> crosstab(cells, np.array([[0, 0], [1, 1], [1, 1], [1, 2]], dtype=np.int32)).tolist()
    [[1, 0], [0, 2]]
    """
    of = _cells(cells, codes)
    return np.bincount(of[of >= 0], minlength=cells.size).reshape(cells.shape)


def with_margins(counts: Ints) -> Ints:
    """Return counts with one more entry along each axis: the total."""
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def groups(cells: Cells, codes: Codes) -> Iterator[NDArray[np.intp]]:
    """Give, for each group in C order, the rows of its records."""
    of = _cells(cells, codes)
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(cells.size + 1))
    for k in range(cells.size):
        yield order[ends[k] : ends[k + 1]]


def whole_axis(output: TableSpec) -> int | None:
    """Return the axis whose groups have percentages that add up to 100; None where the whole table has."""
    return {"all": None, "rows": 0, "columns": len(output.by) - 1}[output.percentages or "all"]


def shares(output: TableSpec, counts: Ints) -> tuple[Floats, Ints, Ints]:
    """Return percentages, the count that each is out of, and the totals by group of the axis (of the table: one).

    A row, or column, without records has percentages of 0.
    """
    axis = whole_axis(output)
    over = tuple(k for k in range(counts.ndim) if k != axis)
    whole = np.broadcast_to(counts.sum(axis=over, keepdims=True), counts.shape)
    return 100.0 * (counts / np.maximum(whole, 1)), whole, np.atleast_1d(counts.sum(axis=over))


def _numbers(name: str, frame: Frame, codes: Codes) -> Floats:
    """The numbers of a column, record by record."""
    return frame.fields[name].values[codes[:, frame.fields.position(name)]]


def histogram(output: HistogramSpec, frame: Frame, codes: Codes) -> Ints:
    """Return the counts of a histogram's bins."""
    return np.histogram(_numbers(output.of, frame, codes), bins=np.array(output.edges, dtype=float))[0]


def values_by_group(output: MomentSpec | QuantileSpec, frame: Frame, codes: Codes) -> Iterator[Floats]:
    """Give, for each group, the numbers of the column that is summarised."""
    numbers = _numbers(output.of, frame, codes)
    for rows in groups(output.crossing(frame), codes):
        yield numbers[rows]


def moment(output: MomentSpec, x: Floats) -> float:
    """Return the mean, sum, standard deviation or variance of numbers; nan where there is none."""
    if output.kind == "sum":
        return float(x.sum())
    if output.kind == "mean":
        return float(x.mean()) if len(x) else math.nan
    if len(x) <= output.ddof or not len(x):
        return math.nan
    return float(x.std(ddof=output.ddof) if output.kind == "sd" else x.var(ddof=output.ddof))


def correlations(output: CorrelationSpec, frame: Frame, codes: Codes) -> Floats:
    """Return the matrix of Pearson correlations; nan for a column with one value only."""
    if len(codes) < 2:
        return np.full((len(output.of), len(output.of)), np.nan)
    with np.errstate(all="ignore"):
        matrix = np.asarray(np.corrcoef([_numbers(name, frame, codes) for name in output.of]), dtype=float)
    return np.clip(matrix, -1.0, 1.0)


def quantiles(output: QuantileSpec, x: Floats) -> list[float]:
    """Return the quantiles of numbers; nan where there are none."""
    return [float(q) for q in np.quantile(x, output.points)] if len(x) else [math.nan] * len(output.points)


@dataclass(frozen=True, eq=False)
class SurvivalOf:
    """A group's Kaplan-Meier numbers at the times of a table, and how many records it has."""

    n: int
    at_risk: list[int]
    events: list[int]
    survival: list[float]


def survival(output: KaplanMeierSpec, frame: Frame, codes: Codes) -> Iterator[SurvivalOf]:
    """Give the Kaplan-Meier numbers of each group: at risk, events, and the product of 1 - events / at risk."""
    fields = frame.fields
    values, time = fields[output.time].values, codes[:, fields.position(output.time)]
    yes = scalar_code(fields[output.event], output.level, output=output.name, key="level")
    event = codes[:, fields.position(output.event)] == yes
    times = np.array(output.times, dtype=float)
    for rows in groups(crossed(output.by, output.groups, fields, output=output.name), codes):
        died = np.bincount(time[rows][event[rows]], minlength=len(values))
        seen = np.bincount(time[rows], minlength=len(values))
        risk = np.append(len(rows) - np.cumsum(seen) + seen, 0)
        left = np.append(1.0, np.cumprod(1.0 - died / np.maximum(risk[:-1], 1)))
        at, after = np.searchsorted(values, times, side="left"), np.searchsorted(values, times, side="right")
        events = np.where(after > at, np.append(died, 0)[at], 0)
        yield SurvivalOf(len(rows), risk[at].tolist(), events.tolist(), left[after].tolist())


def leaves(output: TreeSpec, frame: Frame, codes: Codes) -> Iterator[Codes]:
    """Give the records of each leaf, filtered."""
    whole = output.filter(frame).of(codes)
    for leaf in output.leaves:
        yield codes[whole & read_filter(leaf.where, frame.fields, output=output.name).of(codes)]


def system_of(output: RegressionSpec, frame: Frame, formula: Formula, *, published: bool) -> SumSystem:
    """Return a regression as equations: at its published coefficients, or at 0 where there are none."""
    width = 1
    if output.family_name == "multinomial":
        width = len(output.classes(frame, formula)) - 1
    middle, half = np.zeros((formula.size, width)), np.zeros((formula.size, width))
    if published:
        intervals = output.intervals(frame, formula)
        middle = np.array([[each.middle for each in one] for one in intervals]).T
        half = np.array([[each.half for each in one] for one in intervals]).T
    offset: tuple[Lookup, ...] = ()
    if output.offset is not None:
        position = frame.fields.position(output.offset)
        offset = (Lookup((position,), frame.fields.sizes([position]), frame.fields.every[position].values[:, None]),)
    return regression(
        output.name,
        family=output.family_name,
        terms=formula.terms,
        label=output.label(frame, formula),
        coefficients=middle,
        half_widths=half,
        keep=output.filter(frame).keep(),
        offset=offset,
        parameter=output.parameter(),
    )
