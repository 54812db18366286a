"""`chaffinch utility` and `chaffinch risk` on files larger than memory: CPU seconds and peak memory of the command, by engine and rows.

    python -m benchmarks.measuring_files [utility|risk]:ENGINE:ROWS ...        # as utility:stream:1e7

Adult's training rows drawn with replacement are the original, as many rows drawn from a network of them the synthetic table, a tenth as many of Adult's
test rows the holdout. Each cell is a process of its own; it is added to results/measuring_files.csv when it ends, and not run again while it stands there.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import HERE, RESULTS, SCRATCH, machine, source

CELLS = [
    f"{command}:{engine}:{rows}"
    for rows in ("1e5", "1e6")
    for command in ("utility", "risk")
    for engine in ("memory", "stream")
]
OPTIONS = {
    "utility": ["--label", "income", "--measures=-rules"],
    "risk": ["--keys", "age,sex,race,marital_status,education", "--sensitive", "occupation"],
}
HEAD = (
    "command",
    "engine",
    "rows",
    "holdout rows",
    "CPU seconds",
    "microseconds a row",
    "peak GiB",
    "sample of original",
    "options",
    "machine",
    "source",
)


def files(n_rows: int) -> tuple[Path, Path, Path]:
    """Write the three tables, unless they are there, and return their paths."""
    import chaffinch

    SCRATCH.mkdir(exist_ok=True)
    paths = tuple(
        SCRATCH / f"measuring_{what}_{n_rows}.parquet"
        for what in ("original", "synthetic", "holdout")
    )
    train, test = (
        pq.read_table(HERE.parent / "examples" / "data" / f"adult_{half}.parquet")
        for half in ("train", "test")
    )
    for seed, (path, table, rows) in enumerate(
        ((paths[0], train, n_rows), (paths[2], test, n_rows // 10))
    ):
        if not path.exists():
            rng = np.random.default_rng(seed)
            with pq.ParquetWriter(path, table.schema) as writer:
                for start in range(0, rows, 1_000_000):
                    writer.write_table(
                        table.take(
                            pa.array(rng.integers(0, table.num_rows, min(1_000_000, rows - start)))
                        )
                    )
    if not paths[1].exists():
        model = chaffinch.BayesNet(parents=2).fit(train, seed=1)
        writer = None
        for part in model.batches(n_rows, seed=2):
            writer = writer or pq.ParquetWriter(paths[1], part.to_arrow().schema)
            writer.write_table(part.to_arrow())
        assert writer is not None
        writer.close()
    return paths  # type: ignore[return-value]


def measured(command: str, engine: str, n_rows: int) -> dict[str, object]:
    """Run a command in a process of its own and return what it took."""
    original, synthetic, holdout = files(n_rows)
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        words = [
            command,
            str(original),
            str(synthetic),
            "--holdout",
            str(holdout),
            *OPTIONS[command],
            "--engine",
            engine,
            "--seed",
            "1",
            "--threads",
            "1",
            "--quiet",
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "chaffinch", *words, "--json", str(told)],
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        about = json.loads(told.read_text())["about"]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "command": command,
        "engine": engine,
        "rows": n_rows,
        "holdout rows": n_rows // 10,
        "CPU seconds": round(seconds, 1),
        "microseconds a row": round(seconds / n_rows * 1e6, 1),
        "peak GiB": round(after.ru_maxrss / 2**20, 2),
        "sample of original": about.get("sample", {}).get("original", ""),
        "options": " ".join(OPTIONS[command]),
        "machine": machine(),
        "source": source(),
    }


if __name__ == "__main__":
    path = RESULTS / "measuring_files.csv"
    known = list(csv.DictReader(path.open())) if path.exists() else []
    done = {(row["command"], row["engine"], int(row["rows"])) for row in known}
    for word in sys.argv[1:] or CELLS:
        command, engine, rows = word.split(":")
        cell = (command, engine, int(float(rows)))
        if cell in done:
            continue
        if len(sys.argv) == 2:
            row = measured(*cell)
            with path.open("a", newline="") as handle:
                writer = csv.DictWriter(handle, HEAD)
                if not known:
                    writer.writeheader()
                writer.writerow(row)
            known.append(row)  # type: ignore[arg-type]
            print(row)
        else:  # a process for each cell: the peak of children is that of the largest so far
            subprocess.run([sys.executable, "-m", "benchmarks.measuring_files", word], check=True)
