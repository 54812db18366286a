"""Private discovery: kinds, levels, bounds and edges found with noise, where they are not declared.

Each function takes the law of its noise (`NoiseLaw`: discrete Laplace if the budget is pure, else discrete Gaussian), and states what that
costs and under which relation; `discover` charges before each touch. What comes back is a declaration, made from noisy counts alone, and
as public as anything else that the budget paid for.

**Kinds**, where a schema leaves them open: what share of the cells reads as a number, a date, a truth value. Each cell belongs to one class by its own spelling, so a column's classes are a table of counts like any other, with noise in every
class, also empty ones. The kind is decided on noisy counts alone. Levels and bounds are discovered after it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError, PrivacyError
from ..table.domain import OTHER
from ..table.schema import LEVEL_KINDS, NUMERIC_KINDS, UNKNOWN, Column, Kind, Schema
from ..table.schema_file import usual_type
from ..table.spell import spell_values
from ..table.types import is_bytes, is_numeric, is_words, parse_type, value_type
from .domain import check_declared, lacks, with_usual_type
from .ledger import Budget, Charge
from .mechanisms import Noise
from .prepare import CellParts, StoredCells
from .relation import PrivacyUnit
from .tallies import CellTallies, LevelCounts, LevelTally, RangeTally, bound_grid

Word = TypeVar("Word", str, int, float)

CELLS = 256
"""Cells of the grid on which quantiles are found: ranks are sums of at most so many noisy counts."""

FALSE_ALARM = 0.01
"""The chance that noise alone makes bounds too wide: public, and no part of the privacy claim."""


def laplace_tail(t: int, scale: float) -> float:
    """Return P(Z >= t) for discrete Laplace noise, P(Z = z) proportional to a^|z| with a = exp(-1/scale).

    The sum of a geometric series: a^t / (1 + a) for t >= 1, and 1 - a^(1 - t) / (1 + a) for t <= 0, by symmetry.

    Examples
    --------
    >>> laplace_tail(0, 1.0) + laplace_tail(1, 1.0)
    1.0
    """
    a = math.exp(-1 / scale)
    return math.exp(-t / scale) / (1 + a) if t >= 1 else 1 - math.exp(-(1 - t) / scale) / (1 + a)


def gaussian_tail(t: int, sigma: float) -> float:
    """Return a bound on P(Z >= t) for discrete Gaussian noise: at most 1, and close where t is well above sigma.

    exp(-z^2 / 2 sigma^2) is convex from sigma on, so there each term is at most its integral from z - 1/2 to z + 1/2; and the sum of all terms is
    at least sqrt(2 pi) sigma (Poisson summation). Hence P(Z >= t) <= P(N(0, sigma^2) >= t - 1/2) if t - 1/2 >= sigma.

    Examples
    --------
    >>> gaussian_tail(6, 1.0) < 1e-7, gaussian_tail(1, 1.0)
    (True, 1.0)
    """
    from scipy.special import ndtr

    return float(ndtr(-(t - 0.5) / sigma)) * (1 + 1e-9) if t - 0.5 >= sigma else 1.0


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise that is put in counts, and its parameter."""

    kind: Literal["laplace", "gaussian"]
    scale: float

    def tail(self, t: int) -> float:
        """Return P(Z >= t), or a little more."""
        return (
            laplace_tail(t, self.scale) if self.kind == "laplace" else gaussian_tail(t, self.scale)
        )

    def noisy(self, counts: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return counts with noise from a source."""
        return (
            noise.laplace(counts, self.scale)
            if self.kind == "laplace"
            else noise.gaussian(counts, self.scale)
        )


def noise_law(budget: Budget, unit: PrivacyUnit, paid: Charge) -> NoiseLaw:
    """Return the noise in the counts of one table that a charge pays for: one person changes them by `unit.l1` in L1, `unit.l2_up` in L2.

    Examples
    --------
    >>> paid = Charge("levels of 'job'", "discover = true", epsilon=0.5, mechanism="", noise="")
    >>> noise_law(Budget(1.0), PrivacyUnit("replace-one"), paid)
    NoiseLaw(kind='laplace', scale=4.0)
    """
    amount = paid.epsilon if budget.kind == "pure" else paid.rho
    assert amount is not None  # a discovery is planned in the currency of its budget
    scale, _ = budget.noise(amount, l1=unit.l1, l2=unit.l2_up)
    return NoiseLaw("laplace" if budget.kind == "pure" else "gaussian", scale)


def threshold(unit: PrivacyUnit, law: NoiseLaw, *, delta: float) -> int:
    """Return the least noisy count at which a word is released by `stable_levels`: a function of public numbers.

    Examples
    --------
    >>> unit = PrivacyUnit("add-remove")
    >>> threshold(unit, NoiseLaw("laplace", 20.0), delta=1e-6), threshold(unit, NoiseLaw("gaussian", 20.0), delta=1e-6)
    (264, 97)
    """
    if not 0 < delta < 1:
        raise PrivacyError(
            f"delta must lie between 0 and 1 for words that are not declared. Got {delta}. Declare levels."
        )
    return _smallest(lambda candidate: _leak(candidate, unit, law) <= delta)


def _smallest(holds: Callable[[int], bool]) -> int:
    """Return the least whole number from 1 for which `holds`, as it does for all larger ones."""
    low, high = 1, 2
    while not holds(high):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _leak(cutoff: int, unit: PrivacyUnit, law: NoiseLaw) -> float:
    """The largest chance that a word of one person alone is released: over all ways to spread up to m rows over new words."""
    m = unit.rows_per_person
    hits = [law.tail(cutoff - k) for k in range(1, m + 1)]
    if hits[-1] >= 1:
        return 1.0
    hidden = np.log1p(-np.array(hits))  # log-chance that a new word of k rows stays hidden
    best = np.zeros(m + 1)
    for rows in range(1, m + 1):
        best[rows] = min(best[rows - 1], float(np.min(hidden[:rows] + best[rows - 1 :: -1][:rows])))
    return float(-np.expm1(best[m])) * (1 + 1e-9)  # rounded up: sums of logarithms are not exact


def stable_levels(
    counts: Mapping[Word, int] | LevelCounts,
    noise: Noise,
    unit: PrivacyUnit,
    law: NoiseLaw,
    *,
    delta: float,
) -> tuple[Word, ...]:
    """Return the words whose noisy count reaches a public threshold, sorted. Costs what noise of this law in counts does, and delta.

    Each word that occurs gets noise: discrete Laplace of scale l1/epsilon, l1 = m (add-remove) or 2m (replace-one) for m rows per
    person; or discrete Gaussian for an amount of rho, by the L2 distance. The stable histogram is that of Korolova and others (2009), with
    Gaussian noise of Gopi and others (2020); the threshold here holds for discrete noise.

    Proof, for both relations. Split the words into those in both neighbours (C), only in the first (A), only in the second (B).
    The noise of different words is independent, so the mechanism is a pair: what is released of C, and of A and B.
    On C the counts differ by at most l1 in all and l2 in length, so the first part costs what noise of this law in a table of counts does.
    On A and B: the first table releases something of A with a chance p, nothing of B; the second something of B with a chance q, nothing of
    A. Both lie within total variation max(p, q), since "nothing" has chances 1 - p and 1 - q; so the second part is (0, max(p, q)), which
    adds to what everything else costs (pure: basic composition; else the head of `ledger`). Words in A belong to one person alone, with rows k_1 +
    ... + k_j <= m, and p = 1 - prod(1 - P(Z >= T - k_i)); `threshold` takes the least T for which the largest such p is at most delta. The
    same for B. Over all columns the chance is at most the sum of their deltas, and `planned_discoveries` shares the reserved delta among them.

    Examples
    --------
    >>> from chaffinch.privacy.mechanisms import noise_of
    >>> law = NoiseLaw("gaussian", 20.0)
    >>> stable_levels({"b": 900, "a": 800, "rare": 1}, noise_of(1), PrivacyUnit("add-remove"), law, delta=1e-6)
    ('a', 'b')
    """
    cutoff = threshold(unit, law, delta=delta)
    word_counts = np.fromiter((n for _, n in _in_order(counts)), dtype=np.int64)
    if not len(word_counts):
        return ()
    noisy = law.noisy(word_counts, noise)
    return tuple(word for (word, _), n in zip(_in_order(counts), noisy, strict=True) if n >= cutoff)


def _in_order(counts: Mapping[Word, int] | LevelCounts) -> Iterable[tuple[Any, int]]:
    return counts.sorted_items() if isinstance(counts, LevelCounts) else sorted(counts.items())


def private_bounds(
    counts: NDArray[np.int64],
    noise: Noise,
    law: NoiseLaw,
    *,
    integral: bool,
    grid: NDArray[np.float64] | None,
) -> tuple[float, float]:
    """Return a low and a high bound from counts of numbers in the cells of a public grid, between which the bulk of them lies. Costs what noise of this law does.

    One noisy count for each cell of the grid (0 and 1, 2, 5 times powers of ten of both signs, unless another is given); bounds
    are the outer ends of the outermost cells that noise alone would reach once in a hundred tables. Without any: 0 to 1, or
    the whole of a given grid. After Wilson and others (2020), approximate bounds.

    Proof, for both relations: each row lies in one cell, so this is a table of counts, with noise on every cell, also empty ones. Grid
    and threshold are public; the rest is done to noisy counts alone.

    What is not promised: that no value lies outside. Those are clipped.
    """
    edges = bound_grid(integral) if grid is None else grid
    noisy = law.noisy(counts, noise)
    cutoff = _smallest(lambda t: len(counts) * law.tail(t) <= FALSE_ALARM)
    above = np.flatnonzero(noisy >= cutoff)
    if not len(above):
        return (0.0, 1.0) if grid is None else (float(edges[0]), float(edges[-1]))
    low = float(edges[max(int(above[0]) - 1, 0)])
    high = float(edges[min(int(above[-1]), len(edges) - 1)])
    if integral and high > low + 1:
        high -= 1  # cells run to just before the next edge
    return low, high if low < high else low + 1


def private_quantiles(
    numbers: NDArray[np.generic] | Iterable[NDArray[np.generic]],
    bounds: tuple[float, float],
    shares: Sequence[float],
    noise: Noise,
    law: NoiseLaw,
    *,
    integral: bool = False,
) -> tuple[float, ...]:
    """Return rising edges from the low to the high bound, cut near the given shares of records. Costs what noise of this law does.

    Counts of 256 cells of equal width (one for each whole number, if those are fewer) get noise; edges are cells' borders where their
    running sum, made to rise, passes a share of its end. For 20 bins one pass over noisy counts beats 19 exponential
    mechanisms, which would share epsilon among them: with Laplace noise ranks are off by some 23 l1/epsilon records at most in a standard
    deviation, against 19 x 2 x log(256) / epsilon.

    Proof, for both relations: each number, clipped into the bounds, lies in one cell of a public partition, so this is a table of
    counts; all else, also the total, comes from noisy counts. Numbers may come in parts: their counts add.
    """
    low, high = bounds
    if not low < high or any(not 0 < share < 1 for share in shares):
        raise InputError(
            "Quantiles need a low bound below the high one, and shares between 0 and 1."
        )
    edges = np.linspace(low, high, CELLS + 1)
    if integral:
        edges = np.unique(np.ceil(np.linspace(low, high + 1, CELLS + 1)))
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    for chunk in [numbers] if isinstance(numbers, np.ndarray) else numbers:
        cells = np.searchsorted(
            edges[1:-1], np.clip(chunk.astype(np.float64), low, high), side="right"
        )
        counts += np.bincount(cells, minlength=len(counts))
    sums = np.cumsum(law.noisy(counts, noise)).astype(np.float64)
    rising = (np.maximum.accumulate(sums) + np.minimum.accumulate(sums[::-1])[::-1]) / 2
    if not rising[-1] > 0:  # too few records to tell: equal width
        rising = np.arange(1, len(sums) + 1, dtype=np.float64)
    cuts = edges[1:][
        np.searchsorted(rising, np.array(sorted(shares)) * rising[-1]).clip(max=len(rising) - 1)
    ]
    inner = [float(cut) for cut in np.unique(cuts) if low < cut < high]
    return float(low), *inner, float(high)


@dataclass(frozen=True)
class Discovery:
    """What is to be found of a column with `discover = true`, and the charge of each touch that it takes; None for none."""

    column: Column
    levels: Charge | None = None
    bounds: Charge | None = None
    quantiles: Charge | None = None

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The charges, in the order in which they are made."""
        return tuple(
            charge for charge in (self.levels, self.bounds, self.quantiles) if charge is not None
        )


def planned_discoveries(schema: Schema, budget: Budget, amount: float) -> tuple[Discovery, ...]:
    """Return what is to be discovered of each column with `discover = true`, at a cost of an amount in all, and of the budget's own delta.

    The amount is shared evenly among these columns, delta among those of words. Numbers without bounds get them; with binning
    "quantile" (the usual one) half of the column's share finds edges. Settled by declarations alone, before data are touched.
    """
    check_declared(schema, delta=budget.delta_total)
    wanted = wanted_columns(schema)
    if not wanted:
        return ()
    n_words = sum(lacks(column) == "levels" for column in wanted)
    share, delta_share = amount / len(wanted), budget.delta_total / max(n_words, 1)
    return tuple(
        _of_words(column, budget, share, delta_share)
        if lacks(column) == "levels"
        else _of_numbers(column, budget, share)
        for column in wanted
    )


def _of_words(column: Column, budget: Budget, amount: float, delta: float) -> Discovery:
    declared = with_usual_type(column)
    if pa.types.is_temporal(value_type(parse_type(declared.type))):
        raise PrivacyError(
            f"Column '{column.name}' is categorical and of type {declared.type}: declare kind date or datetime."
        )
    return Discovery(
        column, levels=_charge("levels", column, budget, amount, "stable histogram", delta)
    )


def _of_numbers(column: Column, budget: Budget, amount: float) -> Discovery:
    cut = column.binning == "quantile" and column.bins > 1
    share = amount / 2 if cut and column.bounds is None else amount
    return Discovery(
        column,
        bounds=_charge("bounds", column, budget, share) if column.bounds is None else None,
        quantiles=_charge("quantiles", column, budget, share) if cut else None,
    )


def _charge(
    what: str,
    column: Column,
    budget: Budget,
    amount: float,
    how: str = "noisy histogram",
    delta: float = 0.0,
) -> Charge:
    law = "discrete Laplace" if budget.kind == "pure" else "discrete Gaussian"
    charge = budget.charge(
        f"{what} of '{column.name}'", "discover = true", amount, mechanism=f"{how}, {law}", noise=""
    )
    return replace(charge, delta=delta)


def discover(
    cells: CellParts,
    schema: Schema,
    discoveries: Sequence[Discovery],
    noise: Noise,
    budget: Budget,
    unit: PrivacyUnit,
    charge: Callable[[Charge], None],
) -> Schema:
    """Return the schema with what was missing of columns, found as `planned_discoveries` says and at the cost that it says.

    Words below the threshold go to `(other)`. Columns compose one by one; `charge` is called before each touch, and raises if that
    is too much. `cells` must hold at most `unit.rows_per_person` rows of each person: make them with `open_cells`, or, of a file that is read batch by
    batch, with `scanning.prepared_scan`.
    """

    def paid_law(paid: Charge) -> NoiseLaw:
        charge(paid)
        return noise_law(budget, unit, paid)

    tallies = CellTallies(
        cells,
        {
            each.column.name: _tally(each, number, cells.folder)
            for number, each in enumerate(discoveries)
        },
    )
    fitted = {}
    for discovery in discoveries:
        column = with_usual_type(discovery.column)
        if discovery.levels is not None:
            law = paid_law(discovery.levels)
            column = _with_levels(
                column, tallies.take(column.name), noise, unit, law, discovery.levels.delta
            )
        else:
            column = _with_bins(column, tallies, noise, discovery, paid_law)
        fitted[column.name] = replace(column, discover=False)
    return replace(schema, columns=tuple(fitted.get(column.name, column) for column in schema))


def wanted_columns(schema: Schema) -> list[Column]:
    """Return the columns of which something is to be discovered."""
    return [column for column in schema if _wants(column)]


def _wants(column: Column) -> bool:
    numeric = column.kind in NUMERIC_KINDS and column.edges is None
    return column.discover and (bool(lacks(column)) or (numeric and column.binning == "quantile"))


def _tally(discovery: Discovery, number: int, folder: Path | None) -> LevelTally | RangeTally:
    column, path = (
        with_usual_type(discovery.column),
        None if folder is None else folder / f"column-{number}",
    )
    return (
        LevelTally(column, path)
        if discovery.levels is not None
        else RangeTally(column, path, again=discovery.quantiles is not None)
    )


def _with_levels(
    column: Column,
    tally: LevelTally | RangeTally,
    noise: Noise,
    unit: PrivacyUnit,
    law: NoiseLaw,
    delta: float,
) -> Column:
    assert isinstance(tally, LevelTally)
    levels: tuple[Any, ...] = stable_levels(tally.levels, noise, unit, law, delta=delta)
    if is_numeric(value_type(parse_type(column.type))):
        # A column needs a level. Where none is found it is one that any number could have been; the rest are (other).
        return replace(column, levels=levels or (0,), other=True)
    return (
        replace(column, levels=levels, other=True)
        if levels
        else replace(column, levels=(OTHER,), other=False)
    )


def _with_bins(
    column: Column,
    tallies: CellTallies[LevelTally | RangeTally],
    noise: Noise,
    discovery: Discovery,
    paid_law: Callable[[Charge], NoiseLaw],
) -> Column:
    bounds, tally = column.bounds, None
    if discovery.bounds is not None:
        law = paid_law(discovery.bounds)
        tally = tallies.take(column.name)
        assert isinstance(tally, RangeTally)
        bounds = private_bounds(tally.counts, noise, law, integral=tally.integral, grid=tally.grid)
    if discovery.quantiles is None:
        return replace(column, bounds=bounds, binning="width")
    assert bounds is not None
    law = paid_law(discovery.quantiles)
    tally = tallies.take(column.name) if tally is None else tally
    assert isinstance(tally, RangeTally)
    assert tally.numbers is not None
    shares = [i / column.bins for i in range(1, column.bins)]
    edges = private_quantiles(
        tally.numbers.parts(), bounds, shares, noise, law, integral=tally.integral
    )
    tally.numbers.remove()
    return replace(column, bounds=None, edges=edges, binning="edges")


KINDS_SHARE = 0.04
"""The share of the budget for kinds that are to be discovered, shared evenly by their columns."""

CLASSES = ("empty", "whole", "fraction", "date", "moment", "truth", "word")
"""What a cell may be."""

FEW = 0.05
"""The share of cells that may be of another kind before a column is one of words: they are read as missing."""

MANY = 0.4
"""The share of fractions among numbers, or of times among dates, that is enough whatever the noise: a column of them has mostly such."""

SIGMAS = 3.0
"""How many standard deviations of the noise a small count must have before it says anything: public, and no part of the promise."""

_PATTERNS = (
    ("whole", re.compile(r"[+-]?[0-9]+(\.0*)?")),
    ("fraction", re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")),
    ("truth", re.compile(r"true|false", re.IGNORECASE)),
    ("date", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]00:00(:00(\.0+)?)?Z?)?")),
    (
        "moment",
        re.compile(
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
        ),
    ),
)


def as_words(schema: Schema) -> Schema:
    """Return the schema with columns of unknown kind as words to be discovered: what a plan reckons with, since it costs the most."""
    word_columns = {
        c.name: replace(c, kind="categorical", type="string", bounds=None)
        for c in schema
        if c.kind == UNKNOWN
    }
    return replace(
        schema, columns=tuple(word_columns.get(column.name, column) for column in schema)
    )


def planned_kinds(schema: Schema, budget: Budget, unit: PrivacyUnit) -> tuple[Charge, ...]:
    """Return the charge for the kind of each column whose kind is to be discovered: settled by declarations alone."""
    open_ones = [column.name for column in schema if column.kind == UNKNOWN]
    if not open_ones:
        return ()
    amount = KINDS_SHARE * budget.total / len(open_ones)
    _, std = budget.noise(amount, l1=unit.l1, l2=unit.l2_up)
    return tuple(
        budget.noise_charge(f"kind of '{name}'", "discover = true", amount, std)
        for name in open_ones
    )


def discover_kinds(
    cells: CellParts,
    schema: Schema,
    charges: Sequence[Charge],
    noise: Noise,
    budget: Budget,
    unit: PrivacyUnit,
    charge: Callable[[Charge], None],
) -> Schema:
    """Return the schema with the kinds that were open, found at the cost that `planned_kinds` says; each is charged before the touch.

    Proof, for both relations: the class of a cell depends on the cell and on the declared decimal sign alone, so a row lies in one
    class of a column, and the counts of neighbours differ by at most l1 in sum and l2 in length. Noise as for any table of
    counts (`PrivateCounter.tables`) goes on all seven classes; the rest is done to noisy counts.
    """
    open_ones = [column for column in schema if column.kind == UNKNOWN]
    kinds, tallies = (
        {},
        CellTallies(cells, {column.name: _KindTally(column) for column in open_ones}),
    )
    for column, paid in zip(open_ones, charges, strict=True):
        charge(paid)
        counts = tallies.take(column.name).counts
        scale, std = budget.noise(paid.cost(budget.kind), l1=unit.l1, l2=unit.l2_up)
        noisy = (
            noise.laplace(counts, scale) if budget.kind == "pure" else noise.gaussian(counts, scale)
        )
        kinds[column.name] = _of_kind(column, *kind_from_counts(noisy, std))
    return replace(schema, columns=tuple(kinds.get(column.name, column) for column in schema))


class _KindTally:
    """How many cells of a column are of each class."""

    def __init__(self, column: Column) -> None:
        self.column, self.counts = column, np.zeros(len(CLASSES), dtype=np.int64)

    def add(self, cells: StoredCells) -> None:
        self.counts += np.bincount(
            cell_classes(self.column, cells.columns[self.column.name]), minlength=len(CLASSES)
        )


def with_decimals(schema: Schema, names: Sequence[str]) -> Schema:
    """Return the schema with decimals for floats among some columns, a hundred steps to their narrowest bin: how many the data have is not known.

    Done to edges that were released.
    """
    columns = [
        _round_edges(c) if c.name in names and c.kind == "float" and c.decimals is None else c
        for c in schema
    ]
    return replace(schema, columns=tuple(columns))


def _round_edges(column: Column) -> Column:
    ends = column.edges or column.bounds
    if ends is None:
        return column
    width = float(np.diff(ends).min()) / (1 if column.edges else column.bins)
    decimals = min(max(2 - math.floor(math.log10(width)), 0), 15)
    edges = None if column.edges is None else tuple(round(edge, decimals) for edge in column.edges)
    return replace(column, decimals=decimals, edges=edges)


def cell_classes(column: Column, values: pa.Array) -> NDArray[np.int64]:
    """Return the class of each cell, as a position in `CLASSES`: a function of the cell and of the declaration."""
    coded = spell_values(values).dictionary_encode()
    missing = {str(code) for code in column.missing}
    comma = column.decimal == "," and (
        is_words(values.type) or is_bytes(values.type)
    )  # our own spelling has a point
    table = np.array(
        [*(_class(word, missing, comma) for word in coded.dictionary.to_pylist()), 0],
        dtype=np.int64,
    )
    indices = (
        coded.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
    )
    return np.asarray(table[indices])


def _class(word: str | None, missing: set[str], comma: bool) -> int:
    bare = "" if word is None else word.strip()
    if not bare or bare in missing:
        return CLASSES.index("empty")
    if comma:
        bare = bare.translate({ord(","): ".", ord("."): ","})
    return CLASSES.index(
        next((name for name, pattern in _PATTERNS if pattern.fullmatch(bare)), "word")
    )


def kind_from_counts(noisy: NDArray[np.integer], std: float) -> tuple[Kind, bool]:
    """Return the kind that noisy counts of classes speak for, and whether cells may be missing.

    The family that most cells are of: numbers, dates, truth or words; words, if more than one cell in twenty is of another family, and noise does
    not explain it. Fractions make numbers floats if they are more than one in a hundred beyond noise, or four in ten of the numbers.

    Examples
    --------
    >>> kind_from_counts(np.array([3, 900, 2, 0, -1, 4, 1]), 5.0)
    ('integer', False)
    >>> kind_from_counts(np.array([80, 500, 400, 0, -1, 4, 1]), 5.0)
    ('float', True)
    """
    by_class = dict(zip(CLASSES, noisy.tolist(), strict=True))
    families = {
        "number": ("whole", "fraction"),
        "moment": ("date", "moment"),
        "truth": ("truth",),
        "word": ("word",),
    }
    sums = {family: sum(by_class[name] for name in names) for family, names in families.items()}
    total = sum(sums.values())
    name = max(sums, key=lambda family: sums[family])
    others, n_others = total - sums[name], len(CLASSES) - 1 - len(families[name])
    if name == "word" or sums[name] <= 0 or others > max(FEW * total, _noise(std, n_others)):
        return "categorical", by_class["empty"] > _noise(std, 1)
    kinds: dict[str, tuple[Kind, Kind, str]] = {
        "number": ("integer", "float", "fraction"),
        "moment": ("date", "datetime", "moment"),
        "truth": ("boolean", "boolean", "truth"),
    }
    plain, fine, sign = kinds[name]
    fine_enough = by_class[sign] > min(max(FEW * total / 5, _noise(std, 1)), MANY * sums[name])
    kind = fine if fine_enough else plain
    return kind, by_class["empty"] + others > _noise(std, n_others + 1)


def _noise(std: float, many: int) -> float:
    """What the sum of so many noisy counts must pass to say anything."""
    return SIGMAS * std * many**0.5


def _of_kind(column: Column, kind: Kind, nullable: bool) -> Column:
    numeric = kind not in LEVEL_KINDS
    return replace(
        column,
        kind=kind,
        type=usual_type(kind),
        nullable=column.nullable or nullable,
        levels=(False, True) if kind == "boolean" else None,
        bounds=column.bounds if numeric else None,
        discover=kind != "boolean",
        reason="discovered",
    )
