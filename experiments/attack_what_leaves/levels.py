"""What rare levels of a category give away: is the record in the data whose level few others have?

    python -m experiments.attack_what_leaves.levels FOLDER [--releases N]

Levels with fewer than `rare_below` records are pooled into (other); by default those with fewer than three. Targets have a level that 5 to 20
records of the population (up to 2,000 rows) share. A release is fitted to 400 rows: read, BayesNet(parents=2), sample. The attacker counts the
level in the release. Two attackers: one knows the population (`population`: 400 rows drawn, the target among them in half of the
releases), and one knows all other records (`all others`: the same 399 rows each time, in which just enough records have the level
that the target's is the one by which it is released). The area is the mean over three targets.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import chaffinch
from benchmarks.common import run_study, write_rows
from experiments.attack_what_leaves.tails import area, read_population

COLUMNS = {"nyc_flights": "dest", "vega_airports": "state", "nyc_planes": "model"}
TARGETS, ROWS = 3, 400


def pooled(rows: pa.Table, rare_below: int) -> chaffinch.Table:
    """Return a table that was read with a threshold of its own for rare levels."""
    inferred = chaffinch.read(rows).schema
    columns = tuple(replace(column, codec=None) for column in inferred)
    return chaffinch.read(rows, replace(inferred, columns=columns, rare_below=rare_below))


def studied(population: pa.Table, column: str, rare_below: int, releases: int) -> dict[str, float]:
    """Return the mean area over targets for each attacker."""
    rng = np.random.default_rng(3)
    words = np.array([str(word) for word in population[column].to_pylist()])
    levels, counts = np.unique(words, return_counts=True)
    rare = rng.permutation(
        levels[(counts >= max(5, rare_below)) & (counts <= 20) & (levels != "None")]
    )[:TARGETS]
    areas: dict[str, list[float]] = {"population": [], "all others": []}
    for level in rare:
        same = rng.permutation(np.flatnonzero(words == level))
        target, others = same[0], np.flatnonzero(words != level)
        companions = same[1:rare_below]
        known = np.concatenate(
            [companions, rng.choice(others, ROWS - 1 - len(companions), replace=False)]
        )
        for attacker, scores in areas.items():
            seen: tuple[list[float], list[float]] = ([], [])
            for i in range(releases):
                member = i % 2
                anybody = rng.choice(
                    np.setdiff1d(np.arange(len(words)), [target]), ROWS - 1, replace=False
                )
                base = anybody if attacker == "population" else known
                somebody = rng.choice(
                    np.setdiff1d(
                        np.arange(len(words)) if base is anybody else others, [*base, target]
                    )
                )
                rows = np.sort(np.append(base, target if member else somebody))
                table = pooled(population.take(rows), rare_below)
                released = (
                    chaffinch.BayesNet(parents=2)
                    .fit(table, seed=i)
                    .sample(seed=i)
                    .to_arrow()[column]
                )
                seen[member].append(float(sum(str(word) == level for word in released.to_pylist())))
            scores.append(area(np.array(seen[1]), np.array(seen[0])))
    return {attacker: float(np.mean(scores)) for attacker, scores in areas.items() if scores}


def main(folder: Path, *, releases: int = 40) -> None:
    warnings.filterwarnings("ignore")
    rows = [["table", "column", "rare_below", "attacker", "area"]]
    for name, column in COLUMNS.items():
        population = read_population(folder / f"{name}.parquet", (column,)).select(range(4))
        population = population.set_column(
            0, column, pa.array([str(x) for x in population[column].to_pylist()])
        )
        for rare_below in (3, 10):
            for attacker, mean in studied(population, column, rare_below, releases).items():
                rows.append([name, column, str(rare_below), attacker, f"{mean:.3f}"])
                print(*rows[-1], flush=True)
        write_rows(Path(__file__).with_name("levels.csv"), rows[1:], rows[0])


if __name__ == "__main__":
    run_study(main)
