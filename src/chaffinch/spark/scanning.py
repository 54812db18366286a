"""A Spark DataFrame under a fitted schema, and its codes, cached where the data are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

import pyarrow as pa

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from ..table.fit_schema import (
    check_columns,
    check_declared,
    enough_rows,
    fit_profiles,
    typed_profile,
)
from ..table.formats import Source
from ..table.personal.detect import check_decided, check_declared_decided, warn_of
from ..table.schema import Note, Schema
from ..table.schema_file import SchemaLike, as_schema
from .blocks import in_utc_type
from .counter import SparkCounter
from .holding import held_codes
from .jobs import in_our_words
from .profiles import profile_frame
from .rows import (
    EncodeBlocks,
    EncodeCells,
    FrameChunks,
    RawFrame,
    SparkRows,
    SteppedChunks,
    check_names,
    raw_rows,
)
from .session import ready, session_of

RARE_BELOW = Schema.rare_below
"""Records below which a level is pooled, unless a schema says otherwise."""


class SparkScan(SparkRows):
    """A Spark DataFrame with a fitted schema, whose first step encodes cells. Make one with
    `chaffinch.spark.scan`, or with `prepare` for a private fit.

    `cache`: where codes are held while the table is measured, as for `coded`.
    """

    row_source: RawFrame

    @property
    def frame(self) -> Any:
        """The DataFrame."""
        return self.row_source.frame

    def raw(self) -> SparkRows:
        """Return the raw rows."""
        return raw_rows(self.row_source, self.cache)

    def coded(self, cache: str | os.PathLike[str] | None = None) -> SparkCounter:
        """Return a counter of the codes of all rows, for a `with` block, at whose end the codes are
        removed.

        `cache`: a folder that the driver and all workers see under the same path: workers write
        codes there and map them into memory, which is the quickest. An address with a scheme
        (hdfs://, s3://, abfss://): Spark writes and reads them there. None: Spark holds them, in
        memory and on local disks. Codes take about a byte for each cell of the table, and are as
        confidential as the data.
        """
        if self.schema.sealed:
            check_declared_decided(self.schema)  # what records hold decides nothing under a promise
        else:
            check_decided(self.schema)
        if self.schema.only("weight") is not None:
            raise InputError(
                "Records are not counted by weight on Spark: give the column another role, or fit on one machine."
            )
        names = self.schema.names
        # Counts hang on no order of rows, so that partitions may be others than in the first pass.
        encode = EncodeBlocks(SteppedChunks(FrameChunks(names), self.steps))
        return held_codes(
            self.row_source.select(names),
            encode,
            self.schema,
            self.row_source.seen,
            self.row_source.session,
            cache,
        )


def scan(
    frame: Any,
    schema: SchemaLike | None = None,
    *,
    rare: Literal["pool", "keep"] = "pool",
    threshold: int = THRESHOLD,
) -> SparkScan:
    """Return a scan of a Spark DataFrame, classic or Connect: arguments as for `chaffinch.scan`,
    and the same codecs, whatever the partitions.

    One job profiles all columns on workers (with a fitted schema Spark counts rows alone). Profiles
    come to the driver: values that columns have, each column apart, with how many records have
    them. No row does. Moments are read in UTC. Rules between columns are not searched for: that
    takes rows. Columns of more than a million distinct numbers are grouped as partitions fall,
    right to about one in a thousand ranks.
    """
    session = session_of(frame)
    ready(session)
    names = frame.columns
    check_names(names)
    declared = as_schema(schema)
    if declared is not None and declared.fitted:
        check_columns("the DataFrame", names, declared)
        columns = tuple(replace(declared[name], spelled=False) for name in names)
        row_source = RawFrame(frame)
        n_rows = row_source.seen.n_rows
        enough_rows("The DataFrame", n_rows)
        fitted_schema = replace(declared, columns=columns, sealed=False)
        return SparkScan(row_source, fitted_schema, n_rows, (EncodeCells(fitted_schema),))
    if declared is not None and declared.rules:
        raise InputError(
            "Rules of a schema are fitted to rows, which stay on Spark: fit the schema to some rows on one machine (chaffinch.read), and give the schema of "
            "that, or leave the rules out."
        )
    if len(names) < 2:
        raise InputError("The DataFrame has one column. A table needs two or more.")
    if declared is not None:
        check_declared(names, declared)
    source = _source(frame)
    profiles, partitions = profile_frame(frame, typed_profile(source, declared))
    rare_below = RARE_BELOW if declared is None else declared.rare_below
    fitted = fit_profiles(
        source, profiles, declared, rare=rare, rare_below=rare_below, threshold=threshold
    )
    warn_of(fitted.notes)
    unsearched = (
        [Note("", "rules", _NO_RULES)] if declared is None or declared.leaves_rules_open else []
    )
    return SparkScan(
        RawFrame(frame, partitions),
        fitted.schema,
        fitted.n_rows,
        (EncodeCells(fitted.schema),),
        (*fitted.notes, *unsearched),
    )


_NO_RULES = "Rules between columns (one that determines another, sums, orders) were not searched for on Spark: a schema that was fitted on one machine brings its own."


def _source(frame: Any) -> Source:
    """Return the columns of a frame as a source without rows."""
    from pyspark.sql.pandas.types import to_arrow_schema

    def refuse(_columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        raise InputError("Rows of a Spark DataFrame stay on Spark.")

    with in_our_words():
        asked = (
            {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
        )  # from Spark 4.1 on
        kinds = to_arrow_schema(frame.schema, **asked)
    kinds = pa.schema([field.with_type(in_utc_type(field.type)) for field in kinds])
    return Source("Spark DataFrame", kinds, refuse, native="spark")
