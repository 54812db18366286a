"""How often error bars of private models hold the counts of the data: python -m experiments.error_bars.bars_hold TABLE.parquet ... -o bars_hold.csv

Domains are taken from the tables themselves, which a study may do and a release may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import chaffinch
from benchmarks.common import Option, run_study, show_each, write_rows
from chaffinch.synth.error_bars import ErrorBars, measured_tables
from chaffinch.table import Schema, Table

METHODS = {
    "bayesnet, delta": lambda epsilon: chaffinch.BayesNet(epsilon=epsilon, delta=1e-6),
    "privbayes": lambda epsilon: chaffinch.PrivBayes(epsilon=epsilon),
}
MOST_COLUMNS = 8
SEEDS = (1, 2)
PAIRS = 6
HEAD = ["table", "rows", "columns", "method", "epsilon", "set", "basis", "cells", "held", "width"]


def declared(table: Table) -> Schema:
    """The domain of a table as if it had been declared: its levels, and its range in eight bins."""
    columns = []
    for column in table.schema.modelled[:MOST_COLUMNS]:
        codec: Any = column.codec
        plain = replace(
            column, codec=None, discover=False, atoms=None, edges=None, binning="width", bins=8
        )
        if hasattr(codec, "levels"):
            columns.append(
                replace(plain, levels=codec.levels, other=codec.other, binning="quantile")
            )
        else:
            low, high = codec.ranges()
            columns.append(
                replace(plain, bounds=(float(low.min()), float(max(high.max(), low.min() + 1))))
            )
    return Schema(tuple(columns), public=True, rows=table.n_rows)


def sets(model: Any, rng: np.random.Generator) -> Iterator[tuple[str, tuple[str, ...]]]:
    names = model.schema.names
    tables = measured_tables(model.privacy, dict.fromkeys(names))
    yield from (("column", (name,)) for name in names)
    pairs = [pair for pair in combinations(names, 2) if any(set(pair) <= table for table in tables)]
    others = [pair for pair in combinations(names, 2) if pair not in set(pairs)]
    for what, some in (("measured pair", pairs), ("other pair", others)):
        for at in rng.permutation(len(some))[:PAIRS]:
            yield what, some[at]


def held(bars: ErrorBars, table: Table) -> tuple[int, int, float]:
    """Cells, cells whose count lies within its bar, and the mean width of the bars as a share of the rows."""
    sizes = bars.estimate.shape
    cells = np.ravel_multi_index(
        [table.code(name).astype(np.int64) for name in bars.columns], sizes
    )
    counts = np.bincount(cells, minlength=bars.estimate.size).reshape(sizes)
    inside = (counts >= bars.low - 0.5) & (counts <= bars.high + 0.5)
    return (
        counts.size,
        int(inside.sum()),
        float((bars.high - bars.low).mean() / max(table.n_rows, 1)),
    )


def study(path: Path, epsilons: list[float]) -> Iterator[list[Any]]:
    import pyarrow.parquet as pq

    stored = chaffinch.read(path)
    names = [column.name for column in stored.schema.modelled[:MOST_COLUMNS]]
    table = chaffinch.prepare(pq.read_table(path).select(names), declared(stored))
    for method, make in METHODS.items():
        for epsilon in epsilons:
            sums: dict[tuple[str, str], list[float]] = {}
            for seed in SEEDS:
                model: Any = make(epsilon).fit(table, seed=seed)
                for what, columns in sets(model, np.random.default_rng(seed)):
                    bars = model.error_bars(columns)
                    one = sums.setdefault((what, bars.basis), [0, 0, 0, 0])
                    cells, inside, width = held(bars, table)
                    one[0], one[1], one[2], one[3] = (
                        one[0] + cells,
                        one[1] + inside,
                        one[2] + width,
                        one[3] + 1,
                    )
            for (what, basis), (cells, inside, width, many) in sums.items():
                share = f"{inside / cells:.3f}"
                yield [
                    path.stem,
                    table.n_rows,
                    len(names),
                    method,
                    epsilon,
                    what,
                    basis,
                    int(cells),
                    share,
                    f"{width / many:.4f}",
                ]


def main(
    paths: tuple[Path, ...],
    *,
    output: Annotated[Path, Option("", short="o")],
    epsilon: tuple[float, ...] = (0.1, 1.0, 10.0),
) -> None:
    rows = (row for path in paths for row in study(path, epsilon))
    write_rows(output, show_each(rows), HEAD)


if __name__ == "__main__":
    run_study(main)
