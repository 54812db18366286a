"""One table in memory, in a file, in several files and on Spark has one set of figures: every estimate, reference, interval and p-value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
import chaffinch.spark as cs
from chaffinch.risk import RiskSettings, measure_risk
from chaffinch.utility import UtilitySettings, measure_utility

from ..conftest import figures

UTILITY = UtilitySettings(label="ill", formula="income ~ age + sex")
RISK = RiskSettings(
    keys=("age", "sex", "education"), sensitive=("ill", "income"), label="ill", resamples=40
)

Tables = tuple[Any, Any, Any]


def people(n_rows: int, seed: int) -> pa.Table:
    """Return numbers, words, a date, and missing values, of one population."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 60, n_rows)
    income = (age * 100 + rng.normal(0, 500, n_rows)).round(-1)
    days = (age * 50 + rng.integers(0, 40, n_rows)).astype("datetime64[D]")
    return pa.table(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n_rows),
            "income": pa.array(income, mask=rng.random(n_rows) < 0.05),
            "education": rng.choice(list("abcde"), n_rows, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "since": days,
            "ill": np.where(rng.random(n_rows) < age / 80, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def tables() -> tuple[pa.Table, pa.Table, pa.Table]:
    """An original, a synthetic table with some of its rows, and a holdout."""
    original = people(900, 1)
    synthetic = pa.concat_tables([people(500, 2), original.slice(0, 100)])
    return original, synthetic, people(400, 3)


def in_pieces(table: pa.Table, n_pieces: int) -> list[pa.Table]:
    """Return the rows in pieces of different lengths, in their order."""
    ends = (np.linspace(0, 1, n_pieces + 1) ** 2 * table.num_rows).astype(int).tolist()
    return [table.slice(a, b - a).combine_chunks() for a, b in pairwise(ends)]


def in_files(tables: Tables, folder: Path, n_files: int) -> Tables:
    """Return a scan of the original in files of a folder, and the folders of the others."""
    places = []
    for name, table in zip(("original", "synthetic", "holdout"), tables, strict=True):
        (folder / name).mkdir()
        for number, piece in enumerate(in_pieces(table, n_files)):
            pq.write_table(piece, folder / name / f"part-{number}.parquet", row_group_size=70)
        places.append(folder / name if n_files > 1 else folder / name / "part-0.parquet")
    return chaffinch.scan(places[0], chaffinch.read(tables[0]).schema), *places[1:]


def on_spark(session: Any, tables: Tables, n_parts: int) -> Tables:
    """Return a scan of a DataFrame of the original, and DataFrames of the others, in partitions that keep the order of rows."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def frame(table: pa.Table) -> Any:
        pieces = in_pieces(table, n_parts)

        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from pieces[number].to_batches(max_chunksize=100)

        numbers = session.range(0, n_parts, 1, n_parts)
        return numbers.mapInArrow(rows, from_arrow_schema(table.schema))

    first, *others = map(frame, tables)
    return cs.scan(first, chaffinch.read(tables[0]).schema), *others


def measured(tables: Tables) -> dict[str, float]:
    """Return every number of utility and of risk."""
    utility = measure_utility(*tables, UTILITY, seed=3)
    risk = measure_risk(*tables, RISK, seed=3)
    numbers = (("utility", figures(utility)), ("risk", figures(risk)))
    return {f"{kind}{name}": value for kind, own in numbers for name, value in own.items()}


@pytest.fixture(scope="module")
def in_memory(tables: Tables) -> dict[str, float]:
    return measured((chaffinch.read(tables[0]), *tables[1:]))


def check_same(ours: dict[str, float], want: dict[str, float]) -> None:
    assert len(want) > 200
    assert ours == pytest.approx(want, rel=0, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("n_files", [1, 3])
def test_files_have_the_figures_of_memory(tables, in_memory, tmp_path, n_files):
    check_same(measured(in_files(tables, tmp_path, n_files)), in_memory)


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_spark_has_the_figures_of_memory_in_any_partitions(spark, tables, in_memory, n_parts):
    check_same(measured(on_spark(spark, tables, n_parts)), in_memory)
