"""Spark beside the same work without it: CPU time a row of the driver, the JVM and the workers together, on local[2].

    python -m benchmarks.spark_speed [ROWS]

Needs an environment with pyspark and Java (`make test-spark` makes one: .venv-spark/bin/python -m benchmarks.spark_speed). Adult's rows are drawn with
replacement: ROWS (10^6) of them are scanned, coded and fitted, four times as many drawn, and ten and a hundred times as many codes counted from files, as workers
write them. CPU time and not the clock is told, from /proc: neighbours on the machine slow the clock.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import chaffinch
import chaffinch.spark as cs
from benchmarks.common import HERE, SCRATCH, save
from chaffinch.counts.tally import CliqueTally
from chaffinch.spark.blocks import _BLOCK, FileBlocks, block_of, codes_of
from chaffinch.spark.counter import RowsSeen, SparkCounter
from chaffinch.spark.holding import _tasks
from chaffinch.spark.session import parallelism
from chaffinch.table.codes import Codes

TICKS = os.sysconf("SC_CLK_TCK")
FILES = 8


def tree_cpu() -> float:
    """Return the CPU seconds of this process and of all below it, ended ones too."""
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            stats[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, (parent, _) in stats.items() if parent in ours} - ours
        ours, grown = ours | more, bool(more)
    return sum(stats[pid][1] for pid in ours if pid in stats) / TICKS


def measured(
    what: str, how: str, n_rows: int, work, *, warm: int = 1, times: int = 1
) -> tuple[object, list[object]]:
    """Run some work, `warm` times before it is counted, and return what the last run gave and its row: means over runs."""
    for _ in range(warm):
        work()
    before, start = tree_cpu(), time.perf_counter()
    for _ in range(times):
        result = work()
    cpu, clock = (tree_cpu() - before) / times, (time.perf_counter() - start) / times
    row = [what, how, f"{n_rows:.0e}", round(cpu * 1e9 / n_rows), round(cpu, 2), round(clock, 1)]
    print(*row, flush=True)
    return result, row


def code_files(table: chaffinch.Table, n_rows: int, folder: Path) -> FileBlocks:
    """Return files of codes of rows drawn with replacement, as workers write them."""
    rng, sizes = np.random.default_rng(1), table.schema.sizes
    units = []
    for number in range(FILES):
        path, left = folder / f"{number}.arrow", n_rows // FILES
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _BLOCK) as writer:
            blocks = 0
            while left:
                rows = rng.integers(0, table.n_rows, min(left, 1 << 16))
                writer.write_batch(
                    block_of(
                        Codes.from_columns(
                            [table.codes[j][rows] for j in range(len(sizes))], sizes
                        ),
                        0,
                    )
                )
                left, blocks = left - len(rows), blocks + 1
        units.append((str(path), 0, blocks))
    return FileBlocks(tuple(units))


def pairs_beside(
    session, table: chaffinch.Table, blocks: FileBlocks, n_rows: int
) -> list[list[object]]:
    """Return the rows of counting all pairs from files of codes, on Spark and in a loop."""
    pairs = list(combinations(table.schema.names, 2))
    tasks = _tasks(FILES, n_rows >> 16, parallelism(session))
    on_spark = SparkCounter(
        session.range(0, FILES, 1, tasks),
        blocks,
        table.schema,
        RowsSeen(n_rows // FILES * FILES, 0),
        n_tasks=tasks,
    )

    def alone() -> list[chaffinch.counts.Marginal]:
        tally = CliqueTally(table.schema, pairs, threads=1, n_rows=n_rows)
        for codes, _ in codes_of(
            blocks.read(iter([pa.record_batch({"id": list(range(FILES))})])), table.schema.sizes
        ):
            tally.add(codes)
        return tally.marginals()

    times = max(2, 10**8 // n_rows)
    some = SparkCounter(
        session.range(0, 1, 1, 1),
        FileBlocks(blocks.units[:1]),
        table.schema,
        RowsSeen(n_rows // FILES, 0),
        n_tasks=1,
    )
    for _ in range(
        8
    ):  # Spark takes its workers in turn, and each loads kernels when it is first asked to count
        some.marginals(pairs)
    theirs, first = measured("105 pairs from code files", "one machine", n_rows, alone, times=times)
    ours, second = measured(
        "105 pairs from code files", "Spark", n_rows, lambda: on_spark.marginals(pairs), times=times
    )
    assert all(a.same(b) for a, b in zip(ours, theirs, strict=True))
    return [first, second]


def main() -> None:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        print(
            "Left out: pyspark is not installed here. make test-spark makes an environment with it."
        )
        return
    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    SCRATCH.mkdir(exist_ok=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    small = chaffinch.read(HERE.parent / "examples" / "data" / "adult_train.parquet")
    rows: list[list[object]] = []
    with TemporaryDirectory(dir=SCRATCH) as name:
        folder = Path(name)
        path = folder / "people.parquet"
        drawn = small.data.take(
            pa.array(np.random.default_rng(0).integers(0, small.n_rows, n_rows))
        )
        pq.write_table(drawn, path, row_group_size=max(1, n_rows // 8))
        tiny = session.createDataFrame(small.data.slice(0, 2000).to_pandas()).repartition(
            4
        )  # starts workers and compiles, not counted
        with cs.scan(tiny).coded(folder) as counter:
            chaffinch.BayesNet(parents=1).fit(counter, seed=1)

        frame = session.read.parquet(str(path))
        scanned, row = measured("schema", "Spark", n_rows, lambda: cs.scan(frame))
        rows.append(row)
        rows.append(
            measured(
                "schema", "one machine", n_rows, lambda: chaffinch.scan(path, {"age": "integer"})
            )[1]
        )
        counter, row = measured(
            "rows to code files", "Spark", n_rows, lambda: scanned.coded(folder), warm=0
        )
        rows.append(row)
        with counter:
            model, row = measured(
                "fit from code files, 2 parents",
                "Spark",
                n_rows,
                lambda: chaffinch.BayesNet(parents=2).fit(counter, seed=7),
            )
            rows.append(row)
        many = 4 * n_rows
        rows.append(
            measured(
                "draw and write",
                "Spark, workers write",
                many,
                lambda: cs.write(model, folder / "drawn", many, seed=8, overwrite=True),
            )[1]
        )

        def write_alone() -> None:
            writer = None
            for batch in model.batches(many, seed=8, threads=1):
                writer = writer or pq.ParquetWriter(folder / "alone.parquet", batch.data.schema)
                writer.write_table(batch.data)
            writer.close()

        rows.append(measured("draw and write", "one machine", many, write_alone)[1])
        spark_writes = cs.draw(model, n_rows, seed=8).write.mode("overwrite")
        rows.append(
            measured(
                "draw and write",
                "Spark's writer",
                n_rows,
                lambda: spark_writes.parquet(str(folder / "spark")),
                warm=0,
            )[1]
        )

        empty = session.range(0, 2, 1, 2)
        rows.append(
            measured(
                "a job of two tasks that do nothing",
                "Spark",
                1,
                lambda: empty.mapInArrow(lambda batches: batches, "id long").collect(),
                times=20,
            )[1]
        )
        for many in (10 * n_rows, 100 * n_rows):
            rows += pairs_beside(session, small, code_files(small, many, folder), many)
    save(
        "spark_speed", ["what", "how", "rows", "CPU ns a row", "CPU s", "clock s"], rows, "pyspark"
    )


if __name__ == "__main__":
    main()
