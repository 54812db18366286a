"""Distances of all marginals of Adult, beside numpy and polars, and the other measures that read marginals.

python -m benchmarks.utility_marginals
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import chaffinch
from benchmarks.common import HERE, best, machine, save
from chaffinch.stats.pair import TablePair
from chaffinch.synth import Independent
from chaffinch.utility import tvd
from chaffinch.utility.impossible import impossible_pairs
from chaffinch.utility.jensen_shannon import jensen_shannon
from chaffinch.utility.pmse import pmse
from chaffinch.utility.tvd import marginal_distance


def adult() -> TablePair:
    """Return Adult, both parts, and as many records with independent columns."""
    folder = HERE.parent / "examples" / "data"
    table = chaffinch.read(
        pa.concat_tables(
            [pq.read_table(folder / f"adult_{part}.parquet") for part in ("train", "test")]
        )
    )
    return TablePair(table, Independent().fit(table).sample(table.n_rows, seed=1))


def by_chaffinch(pair: TablePair, cliques: list[tuple[str, ...]]) -> float:
    """Return the mean distance without its interval."""
    found = [tvd._distances(pair, batch) for batch in tvd.in_batches(pair, cliques)]
    return float(np.concatenate(found).mean())


def by_numpy(pair: TablePair, cliques: list[tuple[str, ...]]) -> float:
    """Return the same from a 64-bit key and `bincount` for each clique."""
    total = 0.0
    for clique in cliques:
        shares = []
        for table in pair.tables:
            key, cells = np.zeros(table.n_rows, dtype=np.int64), 1
            for name in clique:
                size = table.schema[name].size
                key, cells = key * size + table.code(name), cells * size
            shares.append(np.bincount(key, minlength=cells) / table.n_rows)
        total += 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    return total / len(cliques)


def by_polars(frames: list[pl.DataFrame], cliques: list[tuple[str, ...]]) -> float:
    """Return the same from one grouped count of both tables' records, signed, for each clique."""
    signed = [
        f.with_columns(pl.lit(sign / f.height).alias("share"))
        for f, sign in zip(frames, (1, -1), strict=True)
    ]
    both = pl.concat(signed).lazy()
    found = pl.collect_all(
        [
            both.group_by(clique).agg(pl.col("share").sum().abs()).select(pl.col("share").sum())
            for clique in cliques
        ]
    )
    return 0.5 * sum(frame.item() for frame in found) / len(cliques)


def measure() -> list[list[object]]:
    pair = adult()
    first, second = pair.tables
    frames = [
        pl.DataFrame({name: table.code(name) for name in pair.names}) for table in pair.tables
    ]
    rows: list[list[object]] = []

    def add(what: str, how: str, seconds: float, ours: float | None = None) -> None:
        rows.append(
            [what, how, f"{seconds * 1e3:.1f}", "" if ours is None else f"{seconds / ours:.1f}"]
        )

    for width in (1, 2, 3):
        cliques = list(combinations(pair.names, width))
        what = f"total variation, {len(cliques)} {width}-way marginals"
        values = by_chaffinch(pair, cliques), by_numpy(pair, cliques), by_polars(frames, cliques)
        assert np.ptp(values) < 1e-9, values
        ours = best(lambda cliques=cliques: by_chaffinch(pair, cliques))
        add(what, "chaffinch, no interval", ours, ours)
        add(
            what,
            "chaffinch",
            best(lambda width=width: marginal_distance(first, second, width=width), repeats=5),
            ours,
        )
        add(
            what,
            "numpy int64 key + bincount",
            best(lambda cliques=cliques: by_numpy(pair, cliques), repeats=3),
            ours,
        )
        add(
            what,
            "polars group_by (collect_all)",
            best(lambda cliques=cliques: by_polars(frames, cliques), repeats=2),
            ours,
        )
    add("Jensen-Shannon, 15 columns", "chaffinch", best(lambda: jensen_shannon(first, second)))
    add(
        "impossible pairs, 105 column pairs",
        "chaffinch",
        best(lambda: impossible_pairs(first, second)),
    )
    for model in ("tree", "logistic"):
        how = "20 permutations" if model == "tree" else "null by formula"
        add(
            f"pMSE, {model}, {how}",
            "chaffinch",
            best(lambda model=model: pmse(first, second, model=model, seed=1), repeats=2),
        )
    return rows


if __name__ == "__main__":
    print(machine("polars", "scikit-learn"))
    save(
        "utility_marginals",
        ["what", "how", "ms", "times ours"],
        measure(),
        "polars",
        "scikit-learn",
    )
