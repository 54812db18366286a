"""All pairs counted in DuckDB beside the kernel: CPU time a row, from a table of codes and from the columns themselves.

    python -m benchmarks.sql_speed [ROWS]

Adult's rows are drawn with replacement, 10^6 unless told otherwise. DuckDB on one thread, as the kernel; CPU time of the process.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations

import numpy as np
import pyarrow as pa

import chaffinch
from benchmarks.common import HERE, save
from chaffinch.sql import SqlCounter, codes_sql


def measured(what: str, n_rows: int, work) -> tuple[object, list[object]]:
    """Run some work twice, and return what the second run gave and its row."""
    work()
    before = time.process_time()
    result = work()
    cpu = time.process_time() - before
    row = [what, f"{n_rows:.0e}", round(cpu * 1e9 / n_rows), round(cpu, 2)]
    print(*row, flush=True)
    return result, row


def main() -> None:
    import duckdb

    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    small = chaffinch.read(HERE.parent / "examples" / "data" / "adult_train.parquet")
    drawn = small.data.take(pa.array(np.random.default_rng(0).integers(0, small.n_rows, n_rows)))
    table = chaffinch.read(drawn, small.schema)
    pairs = list(combinations(table.schema.names, 2))
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("people", drawn)
    connection.execute(f"CREATE TABLE codes AS {codes_sql(table.schema, 'people')}")
    connection.execute("CREATE TABLE stored AS SELECT * FROM people")
    memory = chaffinch.MemoryCounter(table, threads=1)
    want, first = measured("105 pairs, kernel on codes", n_rows, lambda: memory.marginals(pairs))
    ours, second = measured(
        "105 pairs, DuckDB on codes",
        n_rows,
        lambda: SqlCounter(connection, "people", table.schema, coded="codes").marginals(pairs),
    )
    raw, third = measured(
        "105 pairs, DuckDB on columns",
        n_rows,
        lambda: SqlCounter(connection, "stored", table.schema).marginals(pairs),
    )
    assert all(a.same(b) and a.same(c) for a, b, c in zip(want, ours, raw, strict=True))
    save("sql_speed", ["what", "rows", "CPU ns a row", "CPU s"], [first, second, third], "duckdb")


if __name__ == "__main__":
    main()
