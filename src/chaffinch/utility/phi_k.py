"""phi_k: how strongly pairs of columns hang together in two tables, of whatever kind the columns are.

The coefficient is the correlation of two normal variables that would give a table its chi-square:
Baak, Koopman, Snoek and Klous, "A new correlation coefficient between categorical, ordinal and interval variables with
Pearson characteristics" (2020). A table of r x c cells is set beside the bivariate normal distribution on [-5, 5]^2, cut
into r x c cells of equal size. With correlation rho its cells have chi-square f(rho) = sum (p_rho - p_0)^2 / p_0 a record
against independence; phi_k is the rho at which f(rho) / f(1) is the observed share of the largest chi-square,
n (min(r, c) - 1). The noise pedestal, what chi-square comes to by chance alone, is taken off both first.

f depends on the shape alone, so it is tabulated once for each. In rho = sin(u) the derivative of a cell's probability is a
plain exponential of its four corners (Plackett 1954), so f at all rho comes from one array of exponentials that is integrated
panel by panel with Chebyshev polynomials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import erfc, pi, prod, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.checks import check_name
from .._base.errors import InputError
from ..counts.counter import counter_of
from ..counts.marginal import Marginal
from ..stats.pair import TablePair, pair_up, with_groups
from ..table import Schema, Table
from ..table.codes import Codes, narrowest
from ..table.domain import Categories
from ..table.groups import GROUP, GROUPS
from ..table.rows import Names, Rows, Step
from ..table.schema import NUMERIC_KINDS, Column
from ..table.types import to_numbers
from .association import Association, association_result, too_few
from .marginals import in_runs
from .metric import METRICS, Metric

Missing = Literal["level", "drop"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PhiK(Association):
    """phi_k matrices of two tables on one grid; the value is the mean absolute difference over pairs, 0 to 1."""

    name: ClassVar[str] = "phi_k"
    max_value: ClassVar[float] = 1.0


def phi_k(
    original: Rows,
    synthetic: Any,
    *,
    bins: int | Literal["schema"] = 10,
    missing: Missing = "level",
    noise_correction: bool = True,
    interval: bool = True,
) -> PhiK:
    """Return the phi_k matrices of two tables on one grid, and their mean absolute difference: 0 if identical, at most 1.

    Parameters
    ----------
    bins
        Bins of equal width over the original's range for numbers and dates; values of the synthetic table beyond it fall
        in the end bins. "schema" takes the bins of the original's schema instead.
    missing
        "level": missing values, and each declared missing code, are levels of their own. "drop": a pair is measured
        on the records that have both values.
    noise_correction
        Whether to take off what chi-square comes to by chance alone.
    interval
        Whether to work out an interval, of mu too: about half of the time.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 40, "b": ["p", "q"] * 40, "c": ["k", "k", "l", "l"] * 20}))
    >>> shuffled = pa.table({"a": ["x", "y"] * 40, "b": ["p", "p", "q", "q"] * 20, "c": ["k", "k", "l", "l"] * 20})
    >>> phi_k(table, table)
    PhiK(phi_k = 0 [0, 0], lower is better, identical tables 0)
    >>> phi_k(table, shuffled).synthetic.round(2)
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """
    _check(bins, missing)
    pair = pair_up(original, synthetic)
    groups = GROUPS if interval and min(table.n_rows for table in pair.tables) >= GROUPS else 1
    grid = grid_of(pair, bins, groups, drop=missing == "drop")
    settings = {
        "bins": bins,
        "missing": missing,
        "noise_correction": noise_correction,
        "columns": len(grid.usable),
        "left_out": [name for name in pair.names if name not in grid.usable],
    }
    if len(grid.usable) < 2:
        return PhiK(
            value=None,
            reason=too_few(grid.usable, "two levels or more on the shared grid"),
            settings=settings,
        )
    values = np.concatenate(
        [phi_k_of_pairs(grid, batch, noise_correction) for batch in batches(grid)], axis=2
    )
    matrices = [_matrix(side[0], pair.names, grid.usable) for side in values]
    return association_result(PhiK, pair, matrices, values[1] - values[0], settings)


def _matrix(values: Floats, names: Sequence[str], usable: Sequence[str]) -> Floats:
    """Return the symmetric matrix of the values of all pairs of usable columns: 1 on the diagonal, NaN for other columns."""
    out = np.full((len(names), len(names)), np.nan)
    positions = np.array([names.index(name) for name in usable])
    i, j = (positions[index] for index in np.triu_indices(len(positions), 1))
    out[i, j] = out[j, i] = values
    out[positions, positions] = 1.0
    return out


def _check(bins: object, missing: object) -> None:
    is_integer = isinstance(bins, int) and not isinstance(bins, bool)
    if bins != "schema" and not (is_integer and 2 <= bins <= 10_000):  # type: ignore[operator]
        raise InputError(
            f"bins must be a whole number from 2 to 10,000, or 'schema'. Got {bins!r}."
        )
    check_name("way with missing values", missing, ("level", "drop"))


METRICS.register(
    Metric(
        name="phi_k",
        kind=PhiK,
        measure=lambda run, side: phi_k(run.original, run.tables[side]),
        counted=True,
        doing="comparing pairs of columns",
        group="relations",
        title="Relations of pairs (phi_k)",
        question="Are pairs of columns related as strongly as before?",
        definition="Mean absolute difference of the correlation coefficient phi_k over all pairs of columns, on bins shared by both tables.",
        source="Baak, Koopman, Snoek and Klous 2020, Computational Statistics and Data Analysis 152",
        phrases=(
            "Pairs of columns are related almost as in the original",
            "Pairs of columns are related roughly as in the original",
            "Much of how pairs of columns are related is lost",
            "How pairs of columns are related is lost",
        ),
        detail="on average phi_k differs by {value}",
        limits=(0.02, 0.05, 0.1),
    )
)


SHAPES_HELD = 4096
"""Shapes whose curve is kept: 16 KB each."""

BLOCK = 1 << 18
"""Exponentials that are held at once (2 MB): shapes of more than about 5,000 cells are worked in blocks of rows."""

MOST_LEVELS = 400
"""Shapes of more than this times this many cells are tabulated on a coarser one."""

NODES = 12
"""Chebyshev nodes of a panel."""

_PANELS = pi / 2 - np.array([pi / 2, 1.1, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02, 0.008, 0.0])
"""Ends of the panels of u = arcsin(rho): finer towards rho = 1, where neighbouring cells part."""

_FINE = 2048
_NEARLY_ONE = 1 - 1e-12
"""Shares of the largest chi-square from here on are 1 but for rounding."""


@dataclass(frozen=True, eq=False)
class ContingencyCells:
    """The filled cells of many two-way tables in one list: to which table, row and column each belongs.

    Rows are numbered through all tables (`row`), and so are columns; `table_of_row` and `table_of_column` say whose they are.
    """

    table: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    table_of_row: NDArray[np.int64]
    table_of_column: NDArray[np.int64]
    n_tables: int

    def used(self, counts: Floats) -> NDArray[np.int64]:
        """Return for each table how many rows and how many columns hold any record."""
        return _used_levels(self, self._margins(counts))

    def phi_k(
        self, counts: Floats, shapes: NDArray[np.int64], *, noise_correction: bool = True
    ) -> Floats:
        """Return phi_k of every table, a row for each row of counts of the cells; NaN for a table without records.

        `shapes` are the rows and columns that count for each table: a level without records may be one of them.
        """
        chi, totals, pedestal = (np.zeros((len(counts), self.n_tables)) for _ in range(3))
        for k, cells in enumerate(counts):
            margins = rows, columns, totals[k] = self._margins(cells)
            with np.errstate(divide="ignore", invalid="ignore"):
                parts = cells * cells / (rows[self.row] * columns[self.column])
                parts[cells == 0] = 0.0
            chi[k] = np.maximum(totals[k] * (self._tally(self.table, parts) - 1.0), 0.0)
            used = _used_levels(self, margins)
            four = (used == 2).all(axis=1)
            if four.any():
                chi[k] = np.where(four, self._with_yates(chi[k], *margins, four), chi[k])
            if noise_correction:
                # (r - 1)(c - 1) less the cells of expectation 0, written with the rows and columns in use.
                pedestal[k] = np.maximum((used - 1).prod(axis=1) - (shapes - used).sum(axis=1), 0)
        return _look_up(chi, totals, shapes, pedestal)

    def _with_yates(
        self, chi: Floats, rows: Floats, columns: Floats, totals: Floats, four: NDArray[np.bool_]
    ) -> Floats:
        """Return the chi-squares of fourfold tables with Yates' correction, which the phik library applies there.

        In a fourfold table every cell is off its expectation by the same d, with d^2 = chi r1 r2 c1 c2 / n^3.
        """
        product = np.ones(self.n_tables)
        for table_of, margin in ((self.table_of_row, rows), (self.table_of_column, columns)):
            mine = four[table_of] & (margin > 0)
            np.multiply.at(product, table_of[mine], margin[mine] / totals[table_of[mine]])
        off = np.sqrt(chi * product * totals)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(off > 0.5, chi * (1 - 0.5 / off) ** 2, 0.0)

    def _margins(self, counts: Floats) -> tuple[Floats, Floats, Floats]:
        rows = np.bincount(self.row, counts, len(self.table_of_row)).astype(np.float64)
        columns = np.bincount(self.column, counts, len(self.table_of_column)).astype(np.float64)
        return rows, columns, self._tally(self.table, counts)

    def _tally(self, table: NDArray[np.int64], values: NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(table, values, self.n_tables), dtype=np.float64)


def _used_levels(
    cells: ContingencyCells, margins: tuple[Floats, Floats, Floats]
) -> NDArray[np.int64]:
    """Return the number of rows and of columns with records, one table a row."""
    each = zip((cells.table_of_row, cells.table_of_column), margins[:2], strict=True)
    return np.stack(
        [np.bincount(table[margin > 0], minlength=cells.n_tables) for table, margin in each], axis=1
    )


def _look_up(chi: Floats, n: Floats, shapes: NDArray[np.int64], pedestal: Floats) -> Floats:
    """Return phi_k for chi-squares, one table a column: NaN for one without records or with only one row or column."""
    ordered = np.sort(shapes, axis=1)
    max_chi_square = n * (ordered[:, 0] - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(chi > pedestal, (chi - pedestal) / (max_chi_square - pedestal), 0.0)
    # A pedestal above the largest chi-square leaves nothing to measure: whatever exceeds both is 1.
    share[(chi > pedestal) & (chi >= max_chi_square)] = 1.0
    out = np.full(chi.shape, np.nan)
    fine = _panels()[3]
    distinct, which = np.unique(ordered, axis=0, return_inverse=True)
    for i, (r, c) in enumerate(distinct.tolist()):
        if r >= 2:
            mine = which.ravel() == i
            out[:, mine] = np.sin(np.interp(np.sqrt(share[:, mine]), _curve(r, c), fine))
    out[share >= _NEARLY_ONE] = 1.0
    out[:, ordered[:, 0] < 2] = np.nan
    out[n <= 0] = np.nan
    return out


@lru_cache(maxsize=SHAPES_HELD)
def _curve(r: int, c: int) -> Floats:
    """Return sqrt(f(rho) / f(1)) at the fine points of arcsin(rho), rising from 0 to 1, for a shape with r <= c.

    Beyond `MOST_LEVELS` x `MOST_LEVELS` cells f is that of fewer, coarser cells: they differ only where
    sqrt(1 - rho^2) is of the order of a cell's width, which moves phi_k by less than 1e-4. f(1) is always the shape's own.
    """
    rows = min(r, MOST_LEVELS)
    columns = min(c, MOST_LEVELS**2 // rows)
    root = _panels()[2] @ np.sqrt(_f(rows, columns) / _f_of_one(r, c))
    root[0], root[-1] = 0.0, 1.0
    out: Floats = np.minimum(np.maximum.accumulate(root), 1.0)
    out.flags.writeable = False
    return out


def _f(r: int, c: int) -> Floats:
    """Return f(rho) at the nodes of arcsin(rho).

    Cells (i, j) and (r - 1 - i, c - 1 - j) have the same probability: half of the rows, counted twice, do.
    """
    u, integrate, _, _ = _panels()
    sine, cosine = np.sin(u)[:, None, None], np.cos(u)[:, None, None]
    p_rows, p_columns = (_shares(np.arange(size + 1) / size) for size in (r, c))
    most_rows = max(1, BLOCK // (u.size * (c + 1)))
    f = np.zeros(u.size)
    for start in range(0, (r + 1) // 2, most_rows):
        stop = min(start + most_rows, (r + 1) // 2)
        i, j = np.arange(start, stop + 1)[:, None], np.arange(c + 1)
        # Whole numbers first, so that edges that fall together differ by exactly 0; 10 (i c - j r) / (r c) = x - y.
        apart = 10.0 / (r * c) * (i * c - j * r)
        product = (10.0 * i / r - 5.0) * (10.0 * j / c - 5.0)
        slopes = np.exp(-0.5 * (apart / cosine) ** 2 - product / (1.0 + sine))
        slopes = np.diff(np.diff(slopes, axis=1), axis=2).reshape(len(_PANELS) - 1, NODES, -1)
        change = integrate @ slopes
        change[1:] += np.cumsum(change[:-1, -1:], axis=0)
        weight = np.where(2 * np.arange(start, stop) == r - 1, 1.0, 2.0)[:, None]
        weighted = weight / (p_rows[start:stop, None] * p_columns)
        f += (change * change).reshape(u.size, -1) @ weighted.ravel()
    return f


def _f_of_one(r: int, c: int) -> float:
    """Return f(1): all probability lies on the line x = y, cut by the edges of rows and columns into pieces q.

    The sum of (q - p)^2 / p over all cells is that of q^2 / p over the pieces, less twice the sum of q, plus the sum of p.
    """
    edges = np.union1d(np.arange(r + 1) * c, np.arange(c + 1) * r)
    pieces = _shares(edges / (r * c))
    p_rows, p_columns = (_shares(np.arange(size + 1) / size) for size in (r, c))
    p = p_rows[edges[:-1] // c] * p_columns[edges[:-1] // r]
    return float((pieces**2 / p).sum() - 2 * pieces.sum() + p_rows.sum() * p_columns.sum())


@lru_cache(maxsize=1)
def _panels() -> tuple[Floats, Floats, Floats, Floats]:
    """Return the nodes u, a matrix for each panel that integrates from its start, one from nodes to fine points, and these."""
    unit = -np.cos(pi * np.arange(NODES) / (NODES - 1))
    to_series = np.linalg.inv(chebyshev.chebvander(unit, NODES - 1))
    integral = chebyshev.chebvander(unit, NODES) @ chebyshev.chebint(to_series, lbnd=-1)
    low, half = _PANELS[:-1], np.diff(_PANELS) / 2
    u = (low[:, None] + half[:, None] * (unit + 1)).ravel()
    fine = np.sort(np.concatenate([np.linspace(0, pi / 2, _FINE), _PANELS[1:-1]]))
    panel = np.clip(np.searchsorted(_PANELS, fine, side="right") - 1, 0, len(half) - 1)
    refine = np.zeros((len(fine), u.size))
    for p in range(len(half)):
        mine = np.flatnonzero(panel == p)
        inside = chebyshev.chebvander((fine[mine] - low[p]) / half[p] - 1, NODES - 1) @ to_series
        refine[mine[:, None], np.arange(p * NODES, (p + 1) * NODES)] = inside
    return u, integral * half[:, None, None] / (2 * pi), refine, fine


def _shares(edges: Floats) -> Floats:
    """Return the normal probabilities between edges, given as shares of [-5, 5] that lie the same from either end.

    The upper half is the lower one mirrored: there, differences of numbers near 1 would lose digits.
    """
    middle = (len(edges) + 2) // 2
    lower = np.diff(
        [0.5 * erfc((5.0 - 10.0 * edge) / sqrt(2.0)) for edge in edges[:middle].tolist()]
    )
    return np.concatenate([lower, lower[: len(edges) - middle][::-1]])


MOST_CELLS = 1 << 22
"""Cells (all groups of records) that are counted at once: 32 MB a table; more pairs are taken in turn."""


@dataclass(frozen=True, eq=False)
class PhiKGrid:
    """Two tables of small codes with a column of groups, and which columns and how many of their levels count."""

    tables: tuple[Rows, Rows]
    groups: int
    usable: tuple[str, ...]
    levels: Mapping[str, int]

    def size(self, name: str) -> int:
        """Return the number of codes of a column."""
        return self.tables[0].schema[name].size


def grid_of(pair: TablePair, bins: int | Literal["schema"], groups: int, *, drop: bool) -> PhiKGrid:
    """Return both tables on the grid; usable are the columns of which either table, or both together, use two levels."""
    columns, levels, cut = [], {}, {}
    edges = _ranges(pair.original, bins) if isinstance(bins, int) else {}
    for column in pair.schema:
        assert column.codec is not None
        size, n_values = column.codec.size, column.codec.n_values
        if column.name in edges:
            size, n_values = (
                size - n_values + len(edges[column.name]) + 1,
                len(edges[column.name]) + 1,
            )
            cut[column.name] = edges[column.name]
        levels[column.name] = n_values if drop else size
        columns.append(Column(column.name, "categorical", codec=Categories(tuple(range(size)))))
    schema = replace(pair.schema, columns=tuple(columns))

    step = GridCodes(tuple(pair.schema), cut, schema)
    first, second = (_on_grid(rows, step, groups) for rows in pair.tables)
    counts = [
        counter_of(table).marginals([(column.name,) for column in columns])
        for table in (first, second)
    ]
    usable = tuple(
        column.name
        for column, ours, theirs in zip(columns, *counts, strict=True)
        if np.count_nonzero((ours.dense() + theirs.dense())[: levels[column.name]]) >= 2
    )
    return PhiKGrid((first, second), groups, usable, levels)


@dataclass(frozen=True, eq=False)
class GridCodes(Step):
    """Makes codes of the grid of a chunk: numbers by the inner edges of their bins, all else as the schema has it."""

    columns: tuple[Column, ...]
    cut: Mapping[str, Floats]
    schema: Schema

    @property
    def values(self) -> bool:  # type: ignore[override]
        """Whether numbers are cut."""
        return bool(self.cut)

    def needs(self, columns: Names) -> Names:
        """Return all columns: a cache of these codes has all of them."""
        return None

    def __call__(self, chunk: Table) -> Table:
        codes = [
            _bin_numbers(chunk, column, self.cut[column.name])
            if column.name in self.cut
            else chunk.code(column.name)
            for column in self.columns
        ]
        return replace(
            chunk, schema=self.schema, codes=Codes.from_columns(codes, self.schema.sizes)
        )


def _on_grid(rows: Rows, step: GridCodes, groups: int) -> Rows:
    """Return rows under the codes of the grid, with a column of groups before the others."""
    coded = rows.once(
        f"phi_k {step.schema.sizes}",
        lambda stack: stack.enter_context(rows.map(step, step.schema).cached()),
    )
    return with_groups(coded, groups)


def _ranges(original: Rows, bins: int) -> dict[str, Floats]:
    """Return the inner edges of bins of equal width over the original's range of each column of numbers."""
    columns = tuple(column for column in original.schema if column.kind in NUMERIC_KINDS)
    if not columns:
        return {}
    ranges = original.once("ranges", lambda stack: original.reduce(RangesOfNumbers(columns)))
    return {name: _edges(*ends, bins) for name, ends in ranges.items()}


@dataclass(frozen=True, eq=False)
class RangesOfNumbers:
    """Finds the lowest and the highest number of columns; 0 and 0 where a column has none."""

    numeric: tuple[Column, ...]

    values = True

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.numeric]

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return both ends of each column: infinite the wrong way round where there is no number."""
        low, high = np.full(len(self.numeric), np.inf), np.full(len(self.numeric), -np.inf)
        for chunk in chunks:
            for j, column in enumerate(self.numeric):
                numbers = to_numbers(chunk.data.column(column.name))[0].astype(np.float64)
                numbers = numbers[
                    (chunk.code(column.name) < column.fitted_codec.n_values) & np.isfinite(numbers)
                ]
                low[j], high[j] = numbers.min(initial=low[j]), numbers.max(initial=high[j])
        return pa.table({"low": low, "high": high})

    def result(self, summaries: Iterator[pa.Table]) -> dict[str, tuple[float, float]]:
        """Return both ends of each column, by its name."""
        both = [
            (summary.column("low").to_numpy(), summary.column("high").to_numpy())
            for summary in summaries
        ]
        low = np.min([low for low, _ in both], axis=0)
        high = np.max([high for _, high in both], axis=0)
        return {
            name: (float(low[j]), float(high[j])) if low[j] <= high[j] else (0.0, 0.0)
            for j, name in enumerate(self.columns)
        }


def _bin_numbers(chunk: Table, column: Column, edges: Floats) -> NDArray[Any]:
    """Return the bin of each number, right-closed; then missing levels."""
    n_values, bins = column.fitted_codec.n_values, len(edges) + 1
    code = chunk.code(column.name)
    absent = code >= n_values
    numbers = to_numbers(chunk.data.column(column.name))[0].astype(np.float64)
    binned = np.searchsorted(edges, numbers, side="left").astype(
        narrowest(column.fitted_codec.size - n_values + bins)
    )
    binned[absent] = (code[absent] - n_values + bins).astype(binned.dtype)
    return binned


def _edges(low: float, high: float, bins: int) -> Floats:
    """Return the inner edges of the bins: from just below the lowest number, as the phik library has them; one place for all if constant."""
    if low == high:
        return np.full(bins - 1, np.inf)
    return np.linspace(low - max(1e-14 * abs(low), np.finfo(np.float64).tiny), high, bins + 1)[1:-1]


def batches(grid: PhiKGrid) -> Iterator[list[tuple[str, str]]]:
    """Yield the pairs of usable columns, in order, in runs whose counts fit in memory together."""
    return in_runs(
        combinations(grid.usable, 2),
        lambda pair: grid.groups * prod(map(grid.size, pair)),
        MOST_CELLS,
    )


def phi_k_of_pairs(grid: PhiKGrid, pairs: list[tuple[str, str]], noise_correction: bool) -> Floats:
    """Return phi_k of pairs of columns: original and synthetic; of all records, then without each group; by pair."""
    cliques = [(GROUP, *pair) for pair in pairs]
    firsts, seconds = (counter_of(table).marginals(cliques) for table in grid.tables)
    listed = [_list_cells(a, b) for a, b in zip(firsts, seconds, strict=True)]
    which = np.repeat(np.arange(len(pairs)), [len(keys) for keys, _, _ in listed])
    sizes = np.array([a.sizes[1:] for a in firsts])
    levels = np.array([[grid.levels[name] for name in pair] for pair in pairs])
    row, column = np.divmod(np.concatenate([keys for keys, _, _ in listed]), sizes[which, 1])
    counts = [np.concatenate([entry[t] for entry in listed], axis=1) for t in (1, 2)]
    filled = counts[0].any(axis=0) | counts[1].any(axis=0)
    keep = np.flatnonzero(filled & (row < levels[which, 0]) & (column < levels[which, 1]))
    which, row, column = which[keep], row[keep], column[keep]
    starts = np.cumsum(sizes, axis=0) - sizes
    of_row, of_column = (np.repeat(np.arange(len(pairs)), sizes[:, axis]) for axis in (0, 1))
    cells = ContingencyCells(
        which, row + starts[which, 0], column + starts[which, 1], of_row, of_column, len(pairs)
    )
    sets = [with_and_without(side[:, keep].astype(np.float64)) for side in counts]
    shapes = cells.used(sets[0][0] + sets[1][0])
    return np.stack([cells.phi_k(side, shapes, noise_correction=noise_correction) for side in sets])


def with_and_without(by_group: Floats) -> Floats:
    """Return the sum over groups, then the sums without each group; the sum alone where there is one group."""
    total = by_group.sum(axis=0)
    return np.concatenate([total[None], total - by_group]) if len(by_group) > 1 else total[None]


def _list_cells(
    first: Marginal, second: Marginal
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Return the cells of two columns, as row times columns plus column, and both tables' counts by group.

    All cells of dense marginals; of sparse ones those that either table fills.
    """
    groups, rows, columns = first.sizes
    if first.cells is None and second.cells is None:
        return (
            np.arange(rows * columns),
            first.counts.reshape(groups, -1),
            second.counts.reshape(groups, -1),
        )
    filled = [m.nonzero() for m in (first, second)]
    each = [cells[:, 1].astype(np.int64) * columns + cells[:, 2] for cells, _ in filled]
    keys = np.unique(np.concatenate(each))
    counts = [np.zeros((groups, len(keys)), dtype=np.int64) for _ in filled]
    for tally, key, (cells, values) in zip(counts, each, filled, strict=True):
        tally[cells[:, 0], np.searchsorted(keys, key)] = values
    return keys, counts[0], counts[1]
