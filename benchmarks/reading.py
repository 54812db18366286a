"""Reading a text file: CPU seconds and peak memory of `chaffinch.read` on Adult and on 10^6 rows of it.

    python -m benchmarks.reading [STATE]

Each read is a process of its own, after one small read that is not counted; the quickest of five for Adult, of three for 10^6 rows. Peak memory is that of
the process. STATE names the state of the source in the first column of the results: rows of other states stay.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

from benchmarks.common import HERE, RESULTS, SCRATCH, machine, save

WORK = """
import json, resource, sys
import chaffinch
chaffinch.read(sys.argv[2])
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
start = used()
table = chaffinch.read(sys.argv[1])
cpu = used() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
print(json.dumps({"rows": table.n_rows, "columns": len(table.columns), "cpu": cpu, "peak": peak}))
"""
HEAD = ("state", "file", "rows", "columns", "CPU seconds", "peak MiB")


def write_rows(name: str, n_rows: int | None, *, head: bool = False) -> str:
    """Write rows of Adult as CSV, drawn with replacement where a number is given, and return the path."""
    SCRATCH.mkdir(exist_ok=True)
    path = SCRATCH / name
    if not path.exists():
        adult = pq.read_table(HERE.parent / "examples" / "data" / "adult_train.parquet")
        if head:
            adult = adult.slice(0, n_rows)
        elif n_rows is not None:
            adult = adult.take(
                pa.array(np.random.default_rng(0).integers(0, adult.num_rows, n_rows))
            )
        pv.write_csv(adult, path, pv.WriteOptions(quoting_style="needed"))
    return str(path)


def measured(path: str, small: str, repeats: int) -> dict[str, float]:
    """Return the quickest of some reads, each in its own process."""
    runs = []
    for _ in range(repeats):
        ended = subprocess.run(
            [sys.executable, "-c", WORK, path, small], capture_output=True, text=True, check=True
        )
        runs.append(json.loads(ended.stdout))
    return min(runs, key=lambda run: run["cpu"])


if __name__ == "__main__":
    state = sys.argv[1] if len(sys.argv) > 1 else "now"
    print(machine())
    kept = []
    if (RESULTS / "reading.csv").exists():
        with open(RESULTS / "reading.csv", newline="") as handle:
            lines = [line for line in handle if not line.startswith("#")]
        kept = [row[: len(HEAD)] for row in csv.reader(lines) if row[0] not in (state, HEAD[0])]
    small = write_rows("reading_small.csv", 2_000, head=True)
    for name, n_rows, repeats in (("adult.csv", None, 5), ("adult_1e6.csv", 10**6, 3)):
        run = measured(write_rows(name, n_rows), small, repeats)
        kept.append(
            [
                state,
                name,
                str(run["rows"]),
                str(run["columns"]),
                f"{run['cpu']:.2f}",
                f"{run['peak']:.0f}",
            ]
        )
        print(kept[-1])
    save("reading", HEAD, kept)
