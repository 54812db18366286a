"""What a private fit costs: a small table as attacks use it, a wide one, and noise for millions of cells. Writes results/private_speed.csv.

    python -m benchmarks.private_speed [--wide-columns 300] [--repeats 20]

The small table is coarse Adult's first 1,000 rows and 11 columns (`private/coarse.py`). The wide one is made up: 5,000 rows of columns with four
levels, each a copy of the column before it in half of the rows. Epsilon 1, delta 1e-6. Processor time of one thread, the shortest and the middle of some fits,
after one that is not counted. "from the system" is noise as in a release, "seeded" as in tests and attacks.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.common import run_study, save
from benchmarks.private.coarse import Coarse, adult
from chaffinch import BayesNet
from chaffinch.privacy.mechanisms import noise_of

CELLS = 12_600_000
HEAD = ["what", "noise", "times", "CPU ms, least", "CPU ms, median"]


def wide(columns: int, rows: int = 5_000) -> Coarse:
    """Return a made-up table of a chain of columns, four levels each."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (rows, columns))
    for j in range(1, columns):
        same = rng.random(rows) < 0.5
        codes[same, j] = codes[same, j - 1]
    return Coarse(tuple(f"c{j}" for j in range(columns)), (4,) * columns, codes)


def milliseconds(work: Callable[[], object], repeats: int) -> list[object]:
    """Return how often it was run, and the least and the median of the processor times."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(1000 * (time.process_time() - start))
    return [repeats, f"{min(times):.1f}", f"{statistics.median(times):.1f}"]


def main(*, wide_columns: int = 300, repeats: int = 20) -> None:
    """Print and write the table."""
    full = adult().head(1_000)
    small = Coarse(full.names[:11], full.sizes[:11], full.codes[:, :11])
    settings = BayesNet(epsilon=1.0, delta=1e-6)
    rows: list[list[object]] = []
    for coarse, n_runs in (
        (small, repeats),
        (wide(wide_columns), min(repeats, 3)),
    ):
        table, shape = coarse.declared(), f"{coarse.n_rows:,} x {len(coarse.sizes)}"
        for noise, seed in (("seeded", 1), ("from the system", None)):
            rows.append(
                [
                    f"fit {shape}",
                    noise,
                    *milliseconds(partial(settings.fit, table, seed=seed), n_runs),
                ]
            )
        model = settings.fit(table, seed=1)
        rows.append(
            [
                f"draw {shape}",
                "",
                *milliseconds(partial(model.sample, coarse.n_rows, seed=1), n_runs),
            ]
        )
    zeros = np.zeros(CELLS, dtype=np.int64)
    for law, scale in (("laplace", 0.05), ("laplace", 20.0), ("gaussian", 20.0)):
        work = partial(getattr(noise_of(), law), zeros, scale)
        rows.append(
            [
                f"{law} noise, scale {scale:g}, {CELLS:,} cells",
                "from the system",
                *milliseconds(work, 3),
            ]
        )
    save("private_speed", HEAD, rows, "opendp")


if __name__ == "__main__":
    run_study(main)
