"""A file larger than memory: all pairs of 15 columns, counted in a bounded 2 GB, at 10^6, 10^7 and 10^8 rows.

    python -m benchmarks.streaming [ROWS ...]

Adult's rows, drawn with replacement, are written to benchmarks/scratch (about 0.9 GB for 10^8 rows), scanned and counted in a
process of its own, whose peak memory is read when it ends.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import HERE, SCRATCH, machine, save

WORK = """
import itertools, json, resource, sys, time
import chaffinch, numba
path = sys.argv[1]
schema = chaffinch.read(sys.argv[2]).schema
small = chaffinch.scan(sys.argv[2], schema)
chaffinch.StreamCounter(small).marginals([("age", "sex")])
start = time.perf_counter()
scanned = chaffinch.scan(path, schema)
pairs = list(itertools.combinations(schema.names, 2))
marginals = chaffinch.StreamCounter(scanned).marginals(pairs)
counted = time.perf_counter() - start
assert len(pairs) == 105 and all(m.total == scanned.n_rows for m in marginals)
start = time.perf_counter()
chaffinch.scan(path)
fitted = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"rows": scanned.n_rows, "count": counted, "fit": fitted, "peak": peak}))
"""


def write_rows(n_rows: int) -> str:
    """Write `n_rows` rows of Adult, drawn with replacement, and return the path."""
    SCRATCH.mkdir(exist_ok=True)
    path = SCRATCH / f"adult_{n_rows}.parquet"
    if path.exists() and pq.read_metadata(path).num_rows == n_rows:
        return str(path)
    adult = pq.read_table(HERE.parent / "examples" / "data" / "adult_train.parquet")
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, adult.schema, compression="snappy") as writer:
        for start in range(0, n_rows, 1_000_000):
            rows = rng.integers(0, adult.num_rows, min(1_000_000, n_rows - start))
            writer.write_table(adult.take(pa.array(rows)))
    return str(path)


if __name__ == "__main__":
    print(machine())
    out = []
    for n_rows in [int(float(word)) for word in sys.argv[1:]] or [10**6, 10**7, 10**8]:
        adult = str(HERE.parent / "examples" / "data" / "adult_train.parquet")
        done = subprocess.run(
            [sys.executable, "-c", WORK, write_rows(n_rows), adult],
            capture_output=True,
            text=True,
            check=True,
        )
        got = json.loads(done.stdout)
        out.append(
            [
                f"{got['rows']:,} x 15",
                f"{got['count']:.2f}",
                f"{got['count'] / n_rows * 1e9:.0f}",
                f"{got['fit']:.2f}",
                f"{got['fit'] / n_rows * 1e9:.0f}",
                f"{got['peak']:.2f}",
            ]
        )
    save(
        "streaming",
        ["file", "count all pairs, s", "ns per row", "fit schema, s", "ns per row", "peak GiB"],
        out,
    )
