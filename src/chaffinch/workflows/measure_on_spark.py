"""What a synthetic table on Spark is worth and what it gives away: what `utility` and `risk` do with `--engine spark`.

The results are those of files: figures that need counts alone are of all records, and the others of a sample, which comes to the driver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .._base.errors import InputError
from ..risk import RiskResult, RiskSettings, measure_risk
from ..spark.places import read_frame
from ..spark.sampling import MOST_SAMPLED
from ..spark.scanning import SparkScan
from ..spark.session import started_session
from ..table.align import check_long_schema
from ..table.schema import Note
from ..utility import UtilityResult, UtilitySettings, measure_utility
from .on_spark import cache_place, scanned_on_spark
from .running import RunOptions
from .synthesise import ReadSettings


def utility_on_spark(
    original: str,
    synthetic: str,
    holdout: str | None,
    settings: UtilitySettings,
    reading: ReadSettings,
    run: RunOptions,
    *,
    cache: str | None = None,
    session: Any = None,
) -> tuple[UtilityResult, tuple[Note, ...]]:
    """Return what a synthetic table is worth, tables being addresses or paths, and the notes of the original.

    `cache`: where codes of all tables are held meanwhile (`SparkScan.coded`). About `settings.sample_rows` records of the largest table come to the driver.
    """
    check_sample(settings.sample_rows)
    with _tables(original, synthetic, holdout, reading, cache=cache, session=session) as (
        scanned,
        other,
        fresh,
    ):
        return measure_utility(
            scanned,
            other,
            fresh,
            settings,
            seed=run.seed,
            threads=run.threads,
            progress=run.progress,
        ), scanned.notes


def risk_on_spark(
    original: str,
    synthetic: str,
    holdout: str | None,
    settings: RiskSettings,
    reading: ReadSettings,
    run: RunOptions,
    *,
    cache: str | None = None,
    session: Any = None,
) -> tuple[RiskResult, tuple[Note, ...]]:
    """Return what a synthetic table gives away, tables being addresses or paths, and the notes of the original.

    Combinations of keys and sensitive values come to the driver with how many records have each, and about `settings.sample_rows` records of the largest table.
    """
    check_sample(settings.sample_rows)
    with _tables(original, synthetic, holdout, reading, cache=cache, session=session) as (
        scanned,
        other,
        fresh,
    ):
        return measure_risk(
            scanned,
            other,
            fresh,
            settings,
            seed=run.seed,
            threads=run.threads,
            progress=run.progress,
        ), scanned.notes


def check_sample(rows: int) -> None:
    """Raise where a sample has more records than may come to the driver."""
    if rows > MOST_SAMPLED:
        raise InputError(
            f"--sample-rows is at most {MOST_SAMPLED:,} on Spark: that many records come to the driver. Got {rows:,}."
        )


@contextlib.contextmanager
def _tables(
    original: str,
    synthetic: str,
    holdout: str | None,
    reading: ReadSettings,
    *,
    cache: str | None = None,
    session: Any = None,
) -> Iterator[tuple[SparkScan, Any, Any]]:
    """Give a scan of the original, and the DataFrames of the others; a session that was started for it ends with the block."""
    with contextlib.nullcontext(session) if session is not None else started_session() as spark:
        other, fresh = (
            read_frame(spark, synthetic),
            None if holdout is None else read_frame(spark, holdout),
        )
        scanned = scanned_on_spark(spark, original, reading)
        check_long_schema(scanned.schema)
        with cache_place(spark, cache) as place:
            yield replace(scanned, cache=place), other, fresh
