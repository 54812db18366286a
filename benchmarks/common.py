"""What the benchmarks share: best-of timing, the machine, and where results go."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SCRATCH = HERE / "scratch"


def source() -> str:
    """Return a short digest of the library's source, so that results of different states are told apart."""
    digest = hashlib.sha256()
    for path in sorted((HERE.parent / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


SOURCE = source()


def durations(work: Callable[[], object], *, repeats: int) -> list[float]:
    """Return the times in seconds of several runs, after one that is not counted (it compiles)."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def best(work: Callable[[], object], *, repeats: int = 7) -> float:
    """Return the shortest of several such times."""
    return min(durations(work, repeats=repeats))


def machine(*packages: str) -> str:
    """Return the machine's size and the versions of packages, in one line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "pyarrow", *packages)
    )
    return f"{cores} cores ({processor()}), {memory:.0f} GiB, Python {platform.python_version()}, {names}"


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def show(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a head, in columns."""
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        print(
            "  ".join(
                str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
        )
    print()


def save(name: str, head: Sequence[str], rows: Sequence[Sequence[object]], *packages: str) -> None:
    """Write rows to results/NAME.csv, note the machine and the versions in results/machines.json, and print the rows."""
    RESULTS.mkdir(exist_ok=True)
    with open(RESULTS / f"{name}.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(head)
        writer.writerows(rows)
    noted = RESULTS / "machines.json"
    machines = json.loads(noted.read_text()) if noted.exists() else {}
    machines[name] = {"machine": machine(*packages), "source": SOURCE}
    noted.write_text(json.dumps(dict(sorted(machines.items())), indent=2) + "\n")
    show(head, rows)
    if source() != SOURCE:
        print(f"The source changed while '{name}' was measured: measure again.")
