"""One machine near its limit: CPU time a row of each part of a fit from a Parquet file, passes over it, and peak memory of the command.

    python benchmarks/scaling.py STATE [ROWS]       # adds lines to results/scaling.csv under the name STATE

Adult's rows drawn with replacement (`streaming.py` writes them), one thread, CPU time (user and system) of warm runs, the quickest of
three; the commands run in processes of their own, once, with two threads.
"""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pyarrow as pa
from common import HERE, RESULTS, machine, show
from streaming import write_rows

import chaffinch
from chaffinch.counts.coded import coded_scan
from chaffinch.counts.entropies import every_entropy
from chaffinch.table.sources import Source

HEAD = ["state", "rows", "what", "ns per row", "passes over the file", "peak GiB", "machine"]


def cpu_of(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of some runs, after one that is not counted."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:])


class Passes:
    """Counts how often a source is read from its beginning."""

    def __init__(self) -> None:
        self.n = 0
        self.plain = Source.batches

    def __enter__(self) -> Passes:
        def counted(source: Source, columns: object = None) -> object:
            self.n += 1
            return self.plain(source, columns)

        Source.batches = counted
        return self

    def __exit__(self, *error: object) -> None:
        Source.batches = self.plain


def encode(path: str) -> int:
    """Read a file twice, into a cache that is removed again."""
    with coded_scan(path) as coded:
        return coded.n_rows


def parts(path: str, n_rows: int) -> list[tuple[str, float, int]]:
    """Return what was measured in this process: its name, ns a row and the passes over the file."""
    scanned = chaffinch.scan(path)
    names = scanned.schema.names
    pairs = list(combinations(names, 2))
    table = chaffinch.read(path, scanned.schema)
    memory, stream = chaffinch.MemoryCounter(table, threads=1), chaffinch.StreamCounter(scanned, threads=1)
    tables, trees = chaffinch.BayesNet(parents=3, conditionals="tables"), chaffinch.BayesNet()
    works: dict[str, Callable[[], object]] = {
        "all 105 pairs from codes": lambda: memory.marginals(pairs),
        "all 105 pairs from Parquet": lambda: stream.marginals(pairs),
        "schema": lambda: chaffinch.scan(path),
        "search of 3 parents from memory": lambda: every_entropy(memory, 4),
        "fit of tables, 3 parents, from memory": lambda: tables.fit(memory, seed=1),
        "fit of trees from memory": lambda: trees.fit(memory, seed=1),
        "schema, rules and codes into a cache": lambda: encode(path),
    }
    out = [measured(name, work, n_rows) for name, work in works.items()]
    with coded_scan(path) as coded:
        cached = chaffinch.StreamCounter(coded, threads=1)
        out.append(measured("all 105 pairs from the cache", lambda: cached.marginals(pairs), n_rows))
        out.append(measured("fit of tables, 3 parents, from the cache", lambda: tables.fit(cached, seed=1), n_rows))
        out.append(measured("fit of trees from the cache", lambda: trees.fit(cached, seed=1), n_rows))
    return out


def measured(name: str, work: Callable[[], object], n_rows: int) -> tuple[str, float, int]:
    """Return the name, ns a row and the passes over the file of some work."""
    spent = cpu_of(work, 2 if n_rows <= 10**6 else 1)
    with Passes() as passes:
        work()
    print(f"{name}: {spent / n_rows * 1e9:.0f} ns a row, {passes.n} passes", flush=True)
    return name, spent / n_rows * 1e9, passes.n


def command(path: str, n_rows: int, *words: str) -> tuple[float, float]:
    """Return ns a row and peak GiB of a command that writes a synthetic file of as many rows."""
    with tempfile.TemporaryDirectory(dir=HERE / "scratch") as folder:
        args = [sys.executable, "-m", "chaffinch", "synth", path, "-o", str(Path(folder) / "out.parquet"), "--seed", "1", "--quiet", *words]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        measured = subprocess.run(
            [sys.executable, "-c", "import resource,subprocess,sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", *args],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / n_rows * 1e9, int(measured.stdout) / 2**20


if __name__ == "__main__":
    state, n_rows = sys.argv[1], int(float((sys.argv[2:] or ["1e6"])[0]))
    pa.set_cpu_count(1)
    path = write_rows(n_rows)
    lines = [[state, n_rows, name, f"{ns:.0f}", passes, "", machine()] for name, ns, passes in parts(path, n_rows)]
    for words in sys.argv[3:] or ["--engine memory", "--engine stream"]:
        ns, peak = command(path, n_rows, *words.split())
        lines.append([state, n_rows, f"chaffinch synth {words}".strip(), f"{ns:.0f}", "", f"{peak:.2f}", machine()])
    target = RESULTS / "scaling.csv"
    fresh = not target.exists()
    with open(target, "a", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerows([HEAD, *lines] if fresh else lines)
    show(HEAD[:-1], [line[:-1] for line in lines])
