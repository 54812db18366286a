"""How long a person waits for `chaffinch synth`, `fit` and `sample`, step by step.

    python -m benchmarks.synth_journey                                # 10^5, 10^6 and 10^7 rows
    python -m benchmarks.synth_journey 100000 1000000                 # these numbers of rows instead

Adult's rows drawn with replacement, from CSV to CSV and from Parquet to Parquet. Each command is run once in a process of its own, with
compiled kernels cached. On busy cores look at CPU seconds: free, a command takes between half of them (all in two threads) and all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from benchmarks.common import SCRATCH, save
from benchmarks.data import adult

SIZES = (100_000, 1_000_000, 10_000_000)
COMMAND = [sys.executable, "-m", "chaffinch"]
NAMES = {
    "read": "reading",
    "fit": "learning",
    "sample": "drawing",
    "compare": "comparing",
    "write": "writing",
}
"""Steps as the commands' JSON names them, and as the results do."""

Rows = list[list[object]]


def table_of(n_rows: int, ending: str) -> Path:
    """Return a file of so many of Adult's rows, drawn with replacement."""
    path = SCRATCH / f"adult_{n_rows}.{ending}"
    if not path.exists():
        SCRATCH.mkdir(exist_ok=True)
        whole = adult("train", "test")
        rng = np.random.default_rng(1)
        drawn = [whole.take(pa.array(rng.integers(0, whole.num_rows, n))) for n in _parts(n_rows)]
        if ending == "parquet":
            pq.write_table(pa.concat_tables(drawn), path)
        else:
            pc.write_csv(pa.concat_tables(drawn), path)
    return path


def _parts(n_rows: int, most: int = 1_000_000) -> list[int]:
    return [min(most, n_rows - at) for at in range(0, n_rows, most)]


def run(*arguments: object) -> tuple[float, float, float]:
    """Return the seconds and the CPU seconds that a command took, and its peak of memory in GiB."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--overwrite"], stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"chaffinch {arguments[0]} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def steps_of(told: Path) -> dict[str, float]:
    """Return the seconds of each step that a command wrote."""
    return {
        NAMES[name]: seconds
        for name, seconds in json.loads(told.read_text())["run"]["seconds"].items()
    }


def measured(n_rows: int, ending: str) -> Rows:
    """Return a row for each step of synth, fit and sample on a table of so many rows."""
    source = table_of(n_rows, ending)
    output, model, told = (
        SCRATCH / name for name in (f"journey.{ending}", "journey.chaffinch", "journey.json")
    )
    d = adult("train").num_columns
    out: Rows = []

    def add(command: str, taken: tuple[float, float, float], steps: dict[str, float]) -> None:
        seconds, cpu, peak = taken
        for name, step in {"whole command": seconds, **steps}.items():
            is_whole = name == "whole command"
            out.append(
                [
                    command,
                    f"{n_rows:,} x {d}",
                    ending,
                    name,
                    f"{step:.2f}",
                    f"{1e9 * step / (n_rows * d):.1f}",
                    f"{cpu:.2f}" if is_whole else "",
                    f"{peak:.2f}" if is_whole else "",
                ]
            )

    taken = run("synth", source, "-o", output, "--model", model, "--seed", 1, "--json", told)
    add("synth", taken, steps_of(told))
    taken = run("fit", source, "-o", model, "--seed", 1)
    add("fit", taken, {})
    taken = run("sample", model, "-o", output, "--rows", n_rows, "--seed", 1, "--json", told)
    add("sample", taken, steps_of(told))
    output.unlink()
    return out


def main() -> None:
    """Measure every size and format."""
    rows: Rows = []
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    run("synth", table_of(min(sizes), "csv"), "-o", SCRATCH / "journey.csv")  # compiles
    for n_rows in sizes:
        for ending in ("csv", "parquet"):
            rows += measured(n_rows, ending)
    head = [
        "command",
        "table",
        "format",
        "step",
        "s",
        "ns per cell",
        "CPU, s",
        "peak GiB",
    ]
    save("synth_journey", head, rows)


if __name__ == "__main__":
    main()
