"""Growth of fit time and memory with rows, columns and the number of parents k.

    python -m benchmarks.synth_growth [--most-rows N] [--most-columns N] [--dry]

Each fit has a process of its own, whose peak memory is read when it ends; a first fit of a small table there, which loads the
compiled kernels, is not counted. As many rows as were fitted are drawn in batches and let go. Writes results/growth.csv and
results/growth.svg; with --dry, prints only.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Annotated, Any

from benchmarks.common import HERE, RESULTS, SCRATCH, Option, machine, run_study, save, show
from benchmarks.growth_plot import draw

ROWS = (10**4, 10**5, 10**6, 10**7)
COLUMNS = (10, 20, 50, 100, 200)
PARENTS = (1, 2, 3, 4)
HEAD = [
    "grows",
    "search",
    "rows",
    "columns",
    "k",
    "fit, s",
    "sample, s",
    "peak before fit, GiB",
    "peak, GiB",
]


def jobs(most_rows: int, most_columns: int) -> list[dict[str, Any]]:
    """Return what to fit: each job is one process."""
    out: list[dict[str, Any]] = []
    for search in ("greedy", "genetic", "ordering"):
        out += [job("rows", search, n, 15, 2) for n in ROWS if n <= most_rows]
    out += [job("rows", "ordering, from a file", n, 15, 2) for n in ROWS if n <= most_rows]
    for search in ("genetic", "ordering"):
        out += [job("columns", search, 10_000, d, 2) for d in COLUMNS if d <= most_columns]
    for search in ("greedy", "genetic", "ordering"):
        out += [job("k", search, 32_561, 15, k) for k in PARENTS]
    return out


def job(grows: str, search: str, n_rows: int, n_columns: int, parents: int) -> dict[str, Any]:
    """Return one job as plain data."""
    return {
        "grows": grows,
        "search": search,
        "rows": n_rows,
        "columns": n_columns,
        "parents": parents,
    }


def peak() -> float:
    """Return the largest memory that this process has had, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def source(asked: dict[str, Any]) -> Any:
    """Return the table of a job, or the counter of a file for one that is fitted from a file."""
    import pyarrow.parquet as pq

    import chaffinch
    from benchmarks.data import adult, chain

    if asked["grows"] == "columns":
        return chaffinch.read(chain(asked["rows"], asked["columns"]))
    if asked["grows"] == "k":
        return chaffinch.read(adult("train"))
    path = SCRATCH / f"adult_{asked['rows']}.parquet"
    if asked["search"].endswith("from a file"):
        return chaffinch.StreamCounter(chaffinch.scan(path, chaffinch.read(adult("train")).schema))
    return chaffinch.read(pq.read_table(path))


def work(asked: dict[str, Any]) -> dict[str, float]:
    """Fit and sample once, after a small fit that is not counted, and return seconds and memory."""
    import chaffinch
    from benchmarks.data import adult
    from chaffinch import BayesNet

    settings = BayesNet(parents=asked["parents"], search=asked["search"].split(",")[0])
    settings.fit(chaffinch.read(adult("train").slice(0, 2000)), seed=1).sample(100, seed=1)
    data = source(asked)
    before = peak()
    start = time.perf_counter()
    model = settings.fit(data, seed=1)
    fitted = time.perf_counter()
    for _ in model.batches(asked["rows"], seed=2):
        pass
    return {
        "fit": fitted - start,
        "sample": time.perf_counter() - fitted,
        "before": before,
        "peak": peak(),
    }


def write_rows(n_rows: int) -> None:
    """Write Adult's rows, drawn with replacement, to scratch; in a process of its own, so that this one stays small."""
    code = f"from benchmarks.streaming import write_rows; write_rows({n_rows})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=HERE.parent)


def measured(asked: dict[str, Any]) -> list[object]:
    """Return the row of one job, worked in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.synth_growth", "--job", json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{asked} failed:\n{done.stderr[-2000:]}")
    got = json.loads(done.stdout)
    row = [
        *asked.values(),
        f"{got['fit']:.4f}",
        f"{got['sample']:.4f}",
        f"{got['before']:.3f}",
        f"{got['peak']:.3f}",
    ]
    print(*row, flush=True)
    return row


def main(
    *,
    most_rows: int = ROWS[-1],
    most_columns: int = COLUMNS[-1],
    dry: Annotated[bool, Option("print, do not save")] = False,
    job: Annotated[str | None, Option("one job, as JSON")] = None,
) -> None:
    """Run all jobs, or the one that a parent process asks for."""
    if job:
        print(json.dumps(work(json.loads(job))))
        return
    print(machine())
    for n_rows in ROWS:
        if n_rows <= most_rows:
            write_rows(n_rows)
    rows = [measured(one) for one in jobs(most_rows, most_columns)]
    if dry:
        show(HEAD, rows)
        return
    save("growth", HEAD, rows)
    (RESULTS / "growth.svg").write_text(draw(rows))


if __name__ == "__main__":
    run_study(main)
