"""Pearson correlations of the codes of two tables: what is often printed of how columns rise and fall together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..stats.pair import dealer, pair_up
from ..table import Table
from ..table.codes import Codes
from ..table.groups import GROUPS
from ..table.long import LongTable, codes_of
from .association import Association, associated, too_few
from .metric import METRICS, Metric
from .phi_k import with_and_without

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pearson(Association):
    """Pearson correlations of the codes of two tables; the value is the mean absolute difference over pairs, 0 to 2."""

    name: ClassVar[str] = "pearson"
    most: ClassVar[float] = 2.0


def pearson(original: Table | LongTable, synthetic: Any) -> Pearson:
    """Return the Pearson correlations of two tables' codes, and their mean absolute difference: 0 if identical, at most 2.

    Codes are the shared integer codes of the schema: levels in their order, bins in order of value, missing values as
    the codes after them. For levels without an order such a correlation says little of itself; it is what is often
    printed. A column that is constant in a table has none there (NaN); where only one table holds it constant, it
    counts as 0 there in the value, so that losing a column's variety is not free.
    """
    pair = pair_up(original, synthetic)
    groups = GROUPS if min(table.n_rows for table in pair.tables) >= GROUPS else 1
    firsts, seconds = (_correlations(table, groups) for table in pair.tables)
    varies = [np.isfinite(np.diag(side[0])) for side in (firsts, seconds)]
    either = varies[0] | varies[1]
    names = [name for name, usable in zip(pair.names, either, strict=True) if usable]
    one = [name for name, a, b in zip(pair.names, *varies, strict=True) if a != b]
    settings = {
        "codes": "shared codes of the schema; missing values are the codes after the levels",
        "columns": len(names),
        "left_out": [name for name in pair.names if name not in names],
        "constant_in_one_table": one,
    }
    if len(names) < 2:
        return Pearson(value=None, reason=too_few(names, "more than one code"), settings=settings)
    upper = np.triu_indices(len(pair.names), 1)
    both = either[upper[0]] & either[upper[1]]
    pairs = (slice(None), upper[0][both], upper[1][both])
    apart = np.nan_to_num(seconds[pairs]) - np.nan_to_num(firsts[pairs])
    return associated(Pearson, pair, [firsts[0], seconds[0]], apart, settings)


def _correlations(table: Table | LongTable, groups: int) -> Floats:
    """Return Pearson matrices of the codes: of all records, then without each group; NaN with a constant column.

    Products of codes add, as counts do: they are summed for each group once, and a group is left out by a subtraction.
    """
    size = len(table.schema.sizes)
    if isinstance(table, LongTable) and table.remote is not None:
        shift = sum(
            (
                own.column("sums").to_numpy()
                for own in table.remote.code_summaries(_CodeSums(groups, np.zeros(size)), GROUPS)
            ),
            np.zeros(groups * size),
        )
        shift = shift.reshape(groups, size).sum(axis=0) / max(table.n_rows, 1)
        n, sums, products = (np.zeros((groups, *[size] * axes)) for axes in (0, 1, 2))
        for own in table.remote.code_summaries(_CodeSums(groups, shift), GROUPS):
            n, sums = (
                n + own.column("n").to_numpy()[::size],
                sums + own.column("sums").to_numpy().reshape(sums.shape),
            )
            products += np.array(own.column("products").to_pylist()).reshape(products.shape)
    else:
        shift = np.zeros(size)
        for codes in codes_of(table):
            shift += [int(codes[j].sum(dtype=np.int64)) for j in range(size)]
        shift /= max(table.n_rows, 1)
        n, sums, products = _sums_of(_with_groups(table, groups), groups, shift)
    n, sums, products = (with_and_without(part) for part in (n, sums, products))
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = products - sums[:, :, None] * sums[:, None, :] / n[:, None, None]
        spread = np.einsum("gii->gi", scatter).copy()
        spread[~(spread > 0.25)] = np.nan  # whole numbers that differ at all have at least 1 - 1/n
        out: Floats = np.clip(scatter / np.sqrt(spread[:, :, None] * spread[:, None, :]), -1.0, 1.0)
    i = np.arange(size)
    out[:, i, i] = np.where(np.isnan(out[:, i, i]), np.nan, 1.0)
    return out


def _with_groups(
    table: Table | LongTable, groups: int
) -> Iterator[tuple[NDArray[Any], list[NDArray[Any]]]]:
    """Yield the groups and codes of the parts of a table."""
    dealt, start = dealer(table.n_rows, table.person_of), 0
    for codes in codes_of(table):
        yield dealt(start, start + codes.n_rows) % groups, [codes[j] for j in range(len(codes))]
        start += codes.n_rows


def _sums_of(
    parts: Iterator[tuple[NDArray[Any], list[NDArray[Any]]]], groups: int, shift: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return how many rows each group has, and the sums and products of their codes less a shift."""
    n, sums, products = (np.zeros((groups, *[len(shift)] * axes)) for axes in (0, 1, 2))
    for own, codes in parts:
        for g in range(groups):
            mine = np.flatnonzero(own == g)
            centred = np.stack([column[mine] - shift[j] for j, column in enumerate(codes)])
            n[g] += len(mine)
            sums[g] += centred.sum(axis=1)
            products[g] += centred @ centred.T
    return n, sums, products


@dataclass(frozen=True, eq=False)
class _CodeSums:
    """What sums codes whose first column is the group, which may be more finely dealt than asked for. It may travel."""

    groups: int
    shift: Floats

    def __call__(self, every: Iterator[Codes]) -> pa.Table:
        parts = (
            (codes[0] % self.groups, [codes[j] for j in range(1, len(codes))]) for codes in every
        )
        n, sums, products = _sums_of(parts, self.groups, self.shift)
        size = len(self.shift)
        return pa.table(
            {
                "n": np.repeat(n, size),
                "sums": sums.ravel(),
                "products": list(products.reshape(-1, size)),
            }
        )


METRICS.register(
    Metric(
        name="pearson",
        kind=Pearson,
        measure=lambda run, side: pearson(run.original, run.tables[side]),
        counted=True,
        doing="correlating codes",
        group="relations",
        title="Straight-line relations (Pearson)",
        question="Do columns rise and fall together as before?",
        definition="Mean absolute difference of Pearson's correlation of the columns' codes over all pairs. Codes of unordered levels have no "
        "order of their own: read phi_k for those.",
        source="Hittmeir, Mayer and Ekelhart 2022, figure 1; Niederhametner and Mayer 2023, figures 4 and 5",
        phrases=(
            "Columns rise and fall together almost as in the original",
            "Columns rise and fall together roughly as in the original",
            "Much of how columns rise and fall together is lost",
            "How columns rise and fall together is lost",
        ),
        detail="on average the correlation of codes differs by {value}",
        limits=(0.02, 0.05, 0.1),
    )
)
