"""The tables of the benchmarks and of the experiment on run times."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "examples" / "data"
CREDITCARD_ROWS = 284_807


def shared_folder() -> Path:
    """Return where the larger public tables are looked for: SHARED_DATA, else ../shared/data."""
    return Path(os.environ.get("SHARED_DATA") or ROOT.parent / "shared" / "data")


def adult(*parts: str) -> pa.Table:
    """Return Adult: "train" (32,561 rows), "test" (16,281), or both after each other."""
    return pa.concat_tables([pq.read_table(BUNDLED / f"adult_{part}.parquet") for part in parts])


def bundled(name: str) -> pa.Table:
    """Return a bundled table: adult (all 48,842 rows), cmc, caesarian, diabetes or cardio_binned."""
    if name == "adult":
        return adult("train", "test")
    path = BUNDLED / f"{name}.parquet"
    return pq.read_table(path) if path.exists() else pc.read_csv(BUNDLED / f"{name}.csv")


def creditcard(n_rows: int = CREDITCARD_ROWS, *, seed: int = 0) -> pa.Table | None:
    """Return the sample of Credit Card Fraud blown up to the size of the whole table, or None where it is absent.

    Rows are drawn with replacement; each float is moved by a normal number of 1 % of its column's standard deviation.
    """
    path = shared_folder() / "creditcard" / "creditcard_sample.parquet"
    if not path.exists():
        return None
    rng = np.random.default_rng(seed)
    table = pq.read_table(path)
    table = table.take(pa.array(rng.integers(0, table.num_rows, n_rows)))
    for j, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            values = table.column(j).to_numpy()
            moved = values + rng.normal(0.0, 0.01 * values.std(), n_rows)
            table = table.set_column(j, field, pa.array(moved, type=field.type))
    return table


def creditcard_absent() -> str:
    """Return the sentence to print where Credit Card Fraud is not there."""
    return (
        "Credit Card Fraud is left out: creditcard/creditcard_sample.parquet is not in ../shared/data. "
        "Set SHARED_DATA to the folder that holds it."
    )


def chain(n_rows: int, n_columns: int, *, seed: int = 0) -> pa.Table:
    """Return a categorical table in which each column follows the one before it 7 times in 10, else is drawn at random."""
    rng = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    before = np.zeros(n_rows, dtype=np.int64)
    for j in range(n_columns):
        size = int(rng.integers(2, 9))
        mapped = rng.integers(0, size, 16)[before]
        before = np.where(rng.random(n_rows) < 0.7, mapped, rng.integers(0, size, n_rows))
        levels = pa.array([f"v{i}" for i in range(size)])
        columns[f"c{j:03d}"] = levels.take(pa.array(before))
    return pa.table(columns)
