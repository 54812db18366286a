"""Are records with a value that nobody else has told from a release that permutes each column? Released are real values, all links are broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import run_study
from chaffinch import Table
from chaffinch.risk.shadows.generator import value_reader
from experiments.attack_what_leaves.value_attack import areas, finished, opened, ours, written

TUNED = (("islp_wage", "number"), ("lm_wage_panel", "number"), ("lm_birthweight", "category"))
OTHERS = (("nyc_weather", "number"), ("nyc_planes", "category"), ("nyc_flights", "category"))
MOST_TARGETS = 5


def permute(table: Table, seed: int) -> Any:
    """Return the table with each column in an order of its own."""
    rng = np.random.default_rng(seed)
    data = table.data
    for j, name in enumerate(data.column_names):
        data = data.set_column(
            j, data.schema.field(name), data.column(name).take(rng.permutation(table.n_rows))
        )
    return data


def unique(table: Table, what: str) -> np.ndarray:
    """Return the first records with a unique number, or with a unique category and no unique number."""
    values = value_reader(table).read(table)
    sides = []
    for columns in (values.numbers, values.level_codes):
        alone = np.zeros(table.n_rows, dtype=bool)
        for column in columns:
            _, of, counts = np.unique(column, return_inverse=True, return_counts=True)
            alone |= counts[of.reshape(-1)] == 1
        sides.append(alone)
    chosen = (
        sides[0]
        if what == "number"
        else sides[1] & ~sides[0]
        if (sides[1] & ~sides[0]).any()
        else sides[1]
    )
    return np.flatnonzero(chosen)[:MOST_TARGETS]


def main(folder: Path) -> None:
    """Run the tables of a folder of Parquet files that are not yet in, and write exact_values.csv."""
    rows: list[dict[str, Any]] = finished("exact_values")
    for name, what in (*TUNED, *OTHERS):
        if name in {row["table"] for row in rows}:
            continue
        table = opened(folder, name)
        table = table[list(table.schema.names)]
        targets = unique(table, what)
        found = areas(table, permute, targets, column=None)
        found["ours"] = ours(table, permute, targets)
        rows.append(
            {
                "table": name,
                "unique": what,
                "targets": len(targets),
                "tuned on": (name, what) in TUNED,
                **{k: f"{v:.3f}" for k, v in found.items()},
            }
        )
        print(rows[-1], flush=True)
        written("exact_values", rows)


if __name__ == "__main__":
    run_study(main)
