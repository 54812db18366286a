"""A wide table: 1,000 columns of 100,000 rows with default settings, and how time and memory grow with columns. Writes results/wide.csv.

    python benchmarks/wide.py [--rows 100000] [COLUMNS ...]

Columns are Adult's 15, over and over, each time with the values of one row in three drawn anew from the column itself, so that they hang together and
differ; every third copy of a number has noise on it, and so as many levels as its bins allow. `chaffinch synth` runs in a process of its own, whose
processor time and peak memory are read when it ends.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import HERE, SCRATCH, machine, save


def write_columns(n_rows: int, n_columns: int) -> Path:
    """Write a table of so many rows and columns, and return the path."""
    SCRATCH.mkdir(exist_ok=True)
    path = SCRATCH / f"wide_{n_rows}_{n_columns}.parquet"
    if path.exists():
        return path
    adult = pq.read_table(HERE.parent / "examples" / "data" / "adult_train.parquet")
    rng = np.random.default_rng(0)
    people = adult.take(pa.array(rng.integers(0, adult.num_rows, n_rows)))
    columns = {}
    for j in range(n_columns):
        name, copy = adult.column_names[j % adult.num_columns], j // adult.num_columns
        values = people.column(name).combine_chunks()
        anew = rng.random(n_rows) < 1 / 3
        places = np.where(anew, rng.integers(0, n_rows, n_rows), np.arange(n_rows))
        values = values.take(pa.array(places))
        if copy % 3 == 2 and pa.types.is_integer(values.type):
            values = pa.array(values.to_numpy() + rng.normal(0, 3, n_rows).round(2))
        columns[f"{name}_{copy}"] = values
    pq.write_table(pa.table(columns), path)
    return path


def measured(arguments: list[str]) -> tuple[float, float, float]:
    """Return processor seconds, seconds and the peak in GiB of a command of chaffinch."""
    code = "import resource, subprocess, sys; c = subprocess.run(sys.argv[1:]); u = resource.getrusage(resource.RUSAGE_CHILDREN); print(c.returncode, u.ru_utime + u.ru_stime, u.ru_maxrss / 2**20)"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, sys.executable, "-m", "chaffinch", *arguments], stdout=subprocess.PIPE, text=True, check=True)
    status, cpu, peak = map(float, done.stdout.split()[-3:])
    assert status == 0
    return cpu, time.perf_counter() - start, peak


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("columns", nargs="*", type=int, default=[30, 100, 300, 1000])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    print(machine())
    out = []
    for n_columns in options.columns:
        path, account = write_columns(options.rows, n_columns), SCRATCH / "wide.json"
        cpu, wall, peak = measured(["synth", str(path), "-o", str(SCRATCH / "wide_out.parquet"), "--seed", "1", "--json", str(account), "--quiet", "--engine", options.engine])
        seconds = json.loads(account.read_text())["run"]["seconds"]
        out.append([options.rows, n_columns, f"{cpu:.1f}", f"{wall:.1f}", *(f"{seconds[step]:.1f}" for step in ("read", "fit", "sample", "compare", "write")), f"{peak:.2f}"])
        print(out[-1], flush=True)
    save("wide", ["rows", "columns", "cpu, s", "wall, s", "read, s", "fit, s", "sample, s", "compare, s", "write, s", "peak, GiB"], out)
