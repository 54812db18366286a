"""What keeping rules costs and gives: `python keep.py FILE [FILE ...] -o kept.csv`, CSV or Parquet.

For each table a network is fitted once, and rows are drawn with its rules and without them: total variation distance from the original of single columns and of pairs of columns (mean), the share of
rows that break a rule, the distance of the distributions of `end - start` for orders, and CPU seconds of drawing.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd

import chaffinch
from benchmarks.common import Option, run_study, write_rows
from chaffinch.counts import MemoryCounter
from chaffinch.table.rules.keep import rules_broken_by
from chaffinch.table.rules.relations import Order, relations_of, row_sums, table_values
from chaffinch.utility.tvd import total_variation


def mean_distance(first, second, width: int) -> float:
    """The mean total variation distance over all sets of so many columns, on the codes of the schema."""
    cliques = list(combinations(first.schema.names, width))
    one, other = (MemoryCounter(table).marginals(cliques) for table in (first, second))
    return float(
        np.mean(
            [
                total_variation(a.dense() / a.dense().sum(), b.dense() / b.dense().sum())
                for a, b in zip(one, other, strict=True)
            ]
        )
    )


def gap_distance(first, second) -> float | None:
    """The mean distance of the gaps of orders, in ten bins of equal counts of the original."""
    out = []
    for relation in relations_of(first.schema):
        if isinstance(relation, Order):
            gaps = []
            for table in (first, second):
                values = table_values(table, relation.columns)
                there = np.logical_and.reduce([v.present for v in values.values()])
                gaps.append(
                    row_sums(relation.difference, {n: v.numbers[there] for n, v in values.items()})[
                        0
                    ]
                )
            edges = np.unique(np.quantile(gaps[0], np.linspace(0, 1, 11)))
            shares = [
                np.bincount(np.searchsorted(edges, gap, side="right"), minlength=len(edges) + 1)
                / len(gap)
                for gap in gaps
            ]
            out.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    return float(np.mean(out)) if out else None


def main(files: tuple[Path, ...], *, output: Annotated[Path, Option("", short="o")]) -> None:
    warnings.simplefilter("ignore")
    lines = []
    for file in files:
        table = chaffinch.read(file if file.suffix == ".parquet" else pd.read_csv(file))
        model = chaffinch.BayesNet().fit(table, seed=1)
        loose = replace(model, schema=replace(model.schema, rules=(), functions=()))
        for name, each in (("without", loose), ("with", model)):
            each.sample(1000, seed=1)
            start = time.process_time()
            drawn = each.sample(max(table.n_rows, 20_000), seed=2)
            seconds = time.process_time() - start
            drawn = replace(drawn, schema=replace(drawn.schema, rules=table.schema.rules))
            broken = rules_broken_by(
                replace(drawn, schema=replace(drawn.schema, rules=model.schema.rules))
            )
            share = float(np.logical_or.reduce(list(broken.values())).mean()) if broken else 0.0
            gap = gap_distance(table, drawn)
            lines.append(
                [
                    file.stem,
                    table.n_rows,
                    len(table.columns),
                    len(table.schema.rules),
                    name,
                    drawn.n_rows,
                    f"{share:.4f}",
                    f"{mean_distance(table, drawn, 1):.4f}",
                    f"{mean_distance(table, drawn, 2):.4f}",
                    "" if gap is None else f"{gap:.4f}",
                    f"{seconds:.2f}",
                ]
            )
            print(*lines[-1])
    write_rows(
        output,
        lines,
        [
            "table",
            "rows",
            "columns",
            "rules",
            "drawn",
            "drawn_rows",
            "rows_that_break_one",
            "tv_1way",
            "tv_2way",
            "tv_of_gaps",
            "cpu_seconds",
        ],
    )


if __name__ == "__main__":
    run_study(main)
