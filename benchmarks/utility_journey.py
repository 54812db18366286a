"""How long a person waits: `chaffinch utility` on Adult without support vectors and delta, and the page made of it.

python -m benchmarks.utility_journey
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pyarrow.parquet as pq

from benchmarks.common import SCRATCH, durations, save
from benchmarks.data import adult
from chaffinch.report.release import render
from chaffinch.report.result import report_of


def main() -> None:
    """Time the command once, as a person runs it, and the rendering several times."""
    SCRATCH.mkdir(exist_ok=True)
    original, synthetic, told = (
        SCRATCH / name
        for name in ("adult.parquet", "adult_synthetic.parquet", "adult_utility.json")
    )
    pq.write_table(adult("train", "test"), original)
    command = [sys.executable, "-m", "chaffinch"]
    subprocess.run(
        [*command, "synth", original, "-o", synthetic, "--seed", "1", "--quiet", "--overwrite"],
        check=True,
    )
    options = [
        "--label",
        "income",
        "--repeats",
        "1",
        "--models",
        "nb,knn,rf,lr",
        "--measures=-delta",
        "--seed",
        "1",
        "--quiet",
    ]
    start = time.perf_counter()
    subprocess.run(
        [*command, "utility", original, synthetic, *options, "--json", told, "--overwrite"],
        check=True,
    )
    whole = time.perf_counter() - start
    study = json.loads(told.read_text())
    rows: list[list[object]] = [["utility, whole command", f"{whole:.1f}"]]
    rows += [
        [f"of it: {step}", f"{seconds:.2f}"] for step, seconds in study["run"]["seconds"].items()
    ]
    report = report_of(study, title="Adult")
    rows.append(
        ["page from plain data", f"{min(durations(lambda: render(report), repeats=3)):.2f}"]
    )
    save("utility_journey", ["what", "seconds"], rows, "scikit-learn")


if __name__ == "__main__":
    main()
