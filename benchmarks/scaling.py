"""One machine near its limit: CPU time a row of each part of a fit from a Parquet file, passes over it, and peak memory of the command.

    python -m benchmarks.scaling STATE [ROWS]       # adds lines to results/scaling.csv under the name STATE

Adult's rows drawn with replacement (`streaming.py` writes them), one thread, CPU time (user and system) of one warm run each (the lines
before: the quickest of three); reading all columns, words as dictionaries, is the floor of all that starts at the file. The commands run in processes of their own. What is in the results already is not measured again.
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
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pyarrow as pa

import chaffinch
from benchmarks.common import HERE, RESULTS, machine, show
from benchmarks.streaming import write_rows
from chaffinch.counts.coded import coded_scan
from chaffinch.counts.entropies import every_entropy
from chaffinch.table.formats import Source
from chaffinch.table.scan import profile_source
from chaffinch.table.sources import open_source

TARGET = RESULTS / "scaling.csv"
CACHES = ExitStack()
HEAD = ["state", "rows", "what", "ns per row", "passes over the file", "peak GiB", "machine"]


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


def works(path: str) -> dict[str, Callable[[], object]]:
    """Return what is measured of a file, by name; the first to need a table or a cache waits for it before the clock starts."""
    scanned = chaffinch.scan(path)
    pairs = list(combinations(scanned.schema.names, 2))
    memory = chaffinch.MemoryCounter(chaffinch.read(path, scanned.schema), threads=1)
    stream, cached = (
        chaffinch.StreamCounter(one, threads=1)
        for one in (scanned, CACHES.enter_context(coded_scan(path)))
    )
    tables, trees = chaffinch.BayesNet(parents=3, conditionals="tables"), chaffinch.BayesNet()
    return {
        "reading all columns": lambda: sum(
            batch.num_rows for batch in scanned.source.batches(scanned.schema.names)
        ),
        "all 105 pairs from codes": lambda: memory.marginals(pairs),
        "all 105 pairs from the cache": lambda: cached.marginals(pairs),
        "all 105 pairs from Parquet": lambda: stream.marginals(pairs),
        "schema pass": lambda: profile_source(open_source(path), None),
        "schema pass, and rules verified": lambda: chaffinch.scan(path),
        "schema, rules and codes into a cache": lambda: encode(path),
        "search of 3 parents from memory": lambda: every_entropy(memory, 4),
        "search of 3 parents from the cache": lambda: every_entropy(cached, 4),
        "fit of tables, 3 parents, from memory": lambda: tables.fit(memory, seed=1),
        "fit of tables, 3 parents, from the cache": lambda: tables.fit(cached, seed=1),
        "fit of trees from memory": lambda: trees.fit(memory, seed=1),
        "fit of trees from the cache": lambda: trees.fit(cached, seed=1),
    }


def measured(work: Callable[[], object], n_rows: int) -> tuple[float, int]:
    """Return ns a row and the passes over the file of some work, done once."""
    start = time.process_time()
    with Passes() as passes:
        work()
    return (time.process_time() - start) / n_rows * 1e9, passes.n


def command(path: str, n_rows: int, *words: str) -> tuple[float, float]:
    """Return ns a row and peak GiB of a command that writes a synthetic file of as many rows."""
    with tempfile.TemporaryDirectory(dir=HERE / "scratch") as folder:
        args = [
            sys.executable,
            "-m",
            "chaffinch",
            "synth",
            path,
            "-o",
            str(Path(folder) / "out.parquet"),
            "--seed",
            "1",
            "--quiet",
            *words,
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        measured = subprocess.run(
            [
                sys.executable,
                "-c",
                "import resource,subprocess,sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                *args,
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / n_rows * 1e9, int(measured.stdout) / 2**20


def note(line: list[object]) -> None:
    """Add a line to the results at once."""
    fresh = not TARGET.exists()
    with open(TARGET, "a", newline="") as handle:
        csv.writer(handle).writerows([HEAD, line] if fresh else [line])
    show(HEAD[:-1], [line[:-1]])


def known(state: str, n_rows: int) -> set[str]:
    """Return what was measured before."""
    if not TARGET.exists():
        return set()
    with open(TARGET, newline="") as handle:
        return {
            line["what"]
            for line in csv.DictReader(handle)
            if (line["state"], line["rows"]) == (state, str(n_rows))
        }


if __name__ == "__main__":
    state, n_rows = sys.argv[1], int(float((sys.argv[2:] or ["1e6"])[0]))
    pa.set_cpu_count(1)
    path, there = write_rows(n_rows), known(state, n_rows)
    with CACHES:
        small = works(str(HERE.parent / "examples" / "data" / "adult_train.parquet"))
        large = works(path) if not there >= set(small) else {}
        for name, work in large.items():
            if name not in there:
                small[name]()  # loads compiled kernels
                ns, passes = measured(work, n_rows)
                note([state, n_rows, name, f"{ns:.0f}", passes, "", machine()])
    for words in sys.argv[3:] or ["--engine memory", "--engine stream"]:
        if (name := f"chaffinch synth {words}".strip()) not in there:
            ns, peak = command(path, n_rows, *words.split())
            note([state, n_rows, name, f"{ns:.0f}", "", f"{peak:.2f}", machine()])
