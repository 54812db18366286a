"""Marginals in memory: ours beside a hand-fused loop, numpy, polars and DuckDB, all in one run.

python -m benchmarks.counting
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import duckdb
import numba
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import chaffinch
from benchmarks.common import HERE, best, machine, save
from chaffinch.counts import MemoryCounter
from chaffinch.table import Categories, Column, Schema, Table


@numba.njit(nogil=True)
def fused(out, a, b, c, d, sb, sc, sd):
    """The loop one would write by hand for a 4-way table."""
    for i in range(a.size):
        out[((a[i] * sb + b[i]) * sc + c[i]) * sd + d[i]] += 1


def random_table(n_rows: int, n_columns: int, seed: int) -> Table:
    """Columns of 2 to 16 levels with falling shares."""
    rng = np.random.default_rng(seed)
    columns, codes = [], []
    for j in range(n_columns):
        size = int(rng.integers(2, 17))
        levels = tuple(f"v{i}" for i in range(size))
        columns.append(Column(f"c{j}", "categorical", levels=levels, codec=Categories(levels)))
        codes.append(np.minimum(rng.geometric(0.3, n_rows) - 1, size - 1).astype(np.uint8))
    return Table.from_codes(Schema(tuple(columns)), codes, seed=0)


def four_way(n_rows: int, n_columns: int, n_tables: int = 40) -> list[list[object]]:
    table = random_table(n_rows, n_columns, seed=1)
    names, sizes, codes = table.schema.names, table.schema.sizes, table.codes
    rng = np.random.default_rng(2)
    cliques = [tuple(rng.choice(n_columns, 4, replace=False).tolist()) for _ in range(n_tables)]
    named = [tuple(names[j] for j in clique) for clique in cliques]
    arrays = {name: codes[j] for j, name in enumerate(names)}
    frame = pl.DataFrame(arrays)
    arrow = pa.table(arrays)  # noqa: F841 - DuckDB finds it by name
    base = duckdb.connect()
    base.execute("create table t as select * from arrow")

    def by_hand():
        for a, b, c, d in cliques:
            out = np.zeros(sizes[a] * sizes[b] * sizes[c] * sizes[d], dtype=np.int64)
            fused(out, codes[a], codes[b], codes[c], codes[d], sizes[b], sizes[c], sizes[d])

    def numpy_bincount():
        for clique in cliques:
            key = codes[clique[0]].astype(np.int64)
            for j in clique[1:]:
                key = key * sizes[j] + codes[j]
            np.bincount(key, minlength=int(np.prod([sizes[j] for j in clique])))

    def polars_lazy():
        pl.collect_all([frame.lazy().group_by(clique).len() for clique in named])

    def duckdb_group_by():
        for clique in named:
            base.sql(f"select {', '.join(clique)}, count(*) from t group by all").to_arrow_table()

    one, two = MemoryCounter(table, threads=1), MemoryCounter(table)
    peers = {
        "chaffinch, 1 thread": lambda: one.marginals(named),
        "chaffinch": lambda: two.marginals(named),
        "hand-fused loop, 1 thread": by_hand,
        "numpy int64 key + bincount": numpy_bincount,
        "polars group_by (collect_all)": polars_lazy,
        "duckdb group by": duckdb_group_by,
    }
    seconds = {name: best(work, repeats=5) for name, work in peers.items()}
    ours = seconds["chaffinch"]
    return [
        [
            f"4-way, {n_rows:,} x {n_columns}",
            name,
            f"{s / n_tables * 1e3:.3f}",
            f"{s / n_tables / n_rows * 1e9:.2f}",
            f"{s / ours:.1f}",
        ]
        for name, s in seconds.items()
    ]


def adult_pairs() -> list[list[object]]:
    folder = HERE.parent / "examples" / "data"
    parts = [pq.read_table(Path(folder) / f"adult_{part}.parquet") for part in ("train", "test")]
    table = chaffinch.read(pa.concat_tables(parts))
    pairs = list(combinations(table.schema.names, 2))
    frame = pl.DataFrame({name: table.code(name) for name in table.schema.names})
    counter = MemoryCounter(table)
    ours = best(lambda: counter.marginals(pairs))
    theirs = best(
        lambda: pl.collect_all([frame.lazy().group_by(pair).len() for pair in pairs]), repeats=3
    )
    what, n = (
        f"all {len(pairs)} pairs of Adult, {table.n_rows:,} x {len(table.columns)}",
        table.n_rows * len(pairs),
    )
    return [
        [what, "chaffinch", f"{ours * 1e3:.3f}", f"{ours / n * 1e9:.2f}", "1.0"],
        [
            what,
            "polars group_by (collect_all)",
            f"{theirs * 1e3:.3f}",
            f"{theirs / n * 1e9:.2f}",
            f"{theirs / ours:.1f}",
        ],
    ]


if __name__ == "__main__":
    print(machine("polars", "duckdb"))
    rows = [*four_way(48_842, 15), *four_way(300_000, 31), *adult_pairs()]
    save("counting", ["what", "how", "ms", "ns per row", "times ours"], rows, "polars", "duckdb")
