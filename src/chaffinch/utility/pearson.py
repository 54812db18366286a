"""Pearson correlations of the codes of two tables: what is often printed of how columns rise and fall together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from .._base.arrays import Floats
from ..stats.pair import pair_up, with_groups
from ..table import Table
from ..table.groups import GROUPS
from ..table.rows import Rows
from .association import Association, association_result, too_few
from .metric import METRICS, Metric
from .phi_k import with_and_without


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pearson(Association):
    """Pearson correlations of the codes of two tables; the value is the mean absolute difference over pairs, 0 to 2."""

    name: ClassVar[str] = "pearson"
    max_value: ClassVar[float] = 2.0


def pearson(original: Rows, synthetic: Any) -> Pearson:
    """Return the Pearson correlations of two tables' codes, and their mean absolute difference: 0 if identical, at most 2.

    Codes are the shared integer codes of the schema: levels in their order, bins in order of value, missing values as
    the codes after them. For levels without an order such a correlation says little of itself; it is what is often
    printed. A column that is constant in a table has none there (NaN); where only one table holds it constant, it
    counts as 0 there in the value, so that losing a column's variety is not free.
    """
    pair = pair_up(original, synthetic)
    groups = GROUPS if min(table.n_rows for table in pair.tables) >= GROUPS else 1

    def correlations(rows: Rows) -> Floats:
        return rows.once(f"{groups} correlations", lambda stack: _correlations(rows, groups))

    firsts, seconds = map(correlations, pair.tables)
    varies = [np.isfinite(np.diag(side[0])) for side in (firsts, seconds)]
    either = varies[0] | varies[1]
    names = [name for name, usable in zip(pair.names, either, strict=True) if usable]
    constant_names = [name for name, a, b in zip(pair.names, *varies, strict=True) if a != b]
    settings = {
        "codes": "shared codes of the schema; missing values are the codes after the levels",
        "columns": len(names),
        "left_out": [name for name in pair.names if name not in names],
        "constant_in_one_table": constant_names,
    }
    if len(names) < 2:
        return Pearson(value=None, reason=too_few(names, "more than one code"), settings=settings)
    upper = np.triu_indices(len(pair.names), 1)
    both = either[upper[0]] & either[upper[1]]
    pairs = (slice(None), upper[0][both], upper[1][both])
    apart = np.nan_to_num(seconds[pairs]) - np.nan_to_num(firsts[pairs])
    return association_result(Pearson, pair, [firsts[0], seconds[0]], apart, settings)


def _correlations(rows: Rows, groups: int) -> Floats:
    """Return Pearson matrices of the codes: of all records, then without each group; NaN with a constant column.

    Products of codes add, as counts do: they are summed for each group once, and a group is left out by a subtraction.
    """
    size = len(rows.schema.sizes)
    dealt = with_groups(rows, groups)
    middle = dealt.reduce(CodeSums(groups, np.zeros(size), products=False))[1]
    shift = middle.sum(axis=0) / max(rows.n_rows, 1)
    n, sums, products = map(with_and_without, dealt.reduce(CodeSums(groups, shift)))
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = products - sums[:, :, None] * sums[:, None, :] / n[:, None, None]
        spread = np.einsum("gii->gi", scatter).copy()
        spread[~(spread > 0.25)] = np.nan  # whole numbers that differ at all have at least 1 - 1/n
        out: Floats = np.clip(scatter / np.sqrt(spread[:, :, None] * spread[:, None, :]), -1.0, 1.0)
    i = np.arange(size)
    out[:, i, i] = np.where(np.isnan(out[:, i, i]), np.nan, 1.0)
    return out


@dataclass(frozen=True, eq=False)
class CodeSums:
    """Sums how many rows each group has, their codes less a shift, and the products of these; the first column of codes is the group."""

    groups: int
    shift: Floats
    products: bool = True

    columns = None
    values = False

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the sums of chunks."""
        n, sums, products = self._empty()
        for chunk in chunks:
            groups = chunk.codes[0]
            columns = [chunk.codes[j + 1] for j in range(len(self.shift))]
            for g in range(self.groups):
                rows = np.flatnonzero(groups == g)
                centred = np.stack([codes[rows] - self.shift[j] for j, codes in enumerate(columns)])
                n[g] += len(rows)
                sums[g] += centred.sum(axis=1)
                if self.products:
                    products[g] += centred @ centred.T
        return pa.table({"sums": np.concatenate([n, sums.ravel(), products.ravel()])})

    def result(self, summaries: Iterator[pa.Table]) -> tuple[Floats, Floats, Floats]:
        """Return the sums of all chunks."""
        n, sums, products = self._empty()
        total = sum(summary.column("sums").to_numpy() for summary in summaries)
        ends = np.cumsum([n.size, sums.size])
        parts = np.split(np.asarray(total), ends)
        return parts[0], parts[1].reshape(sums.shape), parts[2].reshape(products.shape)

    def _empty(self) -> tuple[Floats, Floats, Floats]:
        size = len(self.shift)
        return (
            np.zeros(self.groups),
            np.zeros((self.groups, size)),
            np.zeros((self.groups, size, size)),
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
