"""How `chaffinch synth` grows with rows and with columns: processor time and peak memory of the whole command. Writes results/journey_growth.csv and .svg.

    python -m benchmarks.journey_growth rows 1e6 1e7 1e8         # Adult resampled, 15 columns, --engine stream
    python -m benchmarks.journey_growth columns 30 100 300 1000  # 100,000 rows, default settings

Rows are written by `streaming.write_rows`. Columns are Adult's 15, over and over, each time with the values of one row in three drawn anew from the
column itself, so that they hang together and differ; every third copy of a number has noise on it, and so as many levels as its bins allow. The
command runs in a process of its own, whose processor time and peak memory are read when it ends. Lines of other runs stay in the CSV.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import HERE, RESULTS, SCRATCH, machine, read_rows, run_study, save
from benchmarks.growth_plot import draw_journey
from benchmarks.streaming import write_rows

ROWS = 100_000
"""Rows of wide tables."""

RESULT = RESULTS / "journey_growth.csv"
HEAD = [
    "grows",
    "engine",
    "rows",
    "columns",
    "cpu, s",
    "cpu a row, ns",
    "wall, s",
    "read, s",
    "fit, s",
    "sample, s",
    "compare, s",
    "write, s",
    "peak, GiB",
]


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
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "chaffinch", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    status, cpu, peak = map(float, done.stdout.split()[-3:])
    assert status == 0
    return cpu, time.perf_counter() - start, peak


def journey(grows: str, size: int, engine: str) -> list[str]:
    """Return a line of the results."""
    path = Path(write_rows(size)) if grows == "rows" else write_columns(ROWS, size)
    shape = (size, 15) if grows == "rows" else (ROWS, size)
    account, output = SCRATCH / "journey.json", SCRATCH / "journey_out.parquet"
    arguments = [
        "synth",
        str(path),
        "-o",
        str(output),
        "--seed",
        "1",
        "--json",
        str(account),
        "--quiet",
        "--overwrite",
        "--engine",
        engine,
    ]
    cpu, wall, peak = measured(arguments)
    seconds = json.loads(account.read_text())["run"]["seconds"]
    output.unlink()
    steps = [f"{seconds[step]:.1f}" for step in ("read", "fit", "sample", "compare", "write")]
    return [
        grows,
        engine,
        str(shape[0]),
        str(shape[1]),
        f"{cpu:.1f}",
        f"{cpu / shape[0] * 1e9:.0f}",
        f"{wall:.1f}",
        *steps,
        f"{peak:.2f}",
    ]


def main(
    grows: Literal["rows", "columns"], sizes: tuple[float, ...], *, engine: str | None = None
) -> None:
    """Run the journeys asked for, and draw all that were run."""
    print(machine())
    old = [list(row.values()) for row in read_rows(RESULT)]
    for number in sizes:
        line = journey(grows, int(number), engine or ("stream" if grows == "rows" else "auto"))
        old = [other for other in old if other[:4] != line[:4]] + [line]
        old.sort(key=lambda row: (row[0], row[1], int(row[2]), int(row[3])))
        save("journey_growth", HEAD, old)
        RESULT.with_suffix(".svg").write_text(draw_journey(old))


if __name__ == "__main__":
    run_study(main)
