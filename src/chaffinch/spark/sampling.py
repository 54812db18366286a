"""A sample of records on the driver, for measures that learn from rows or compare them: the one thing here that brings records there, and only by number."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .._base.errors import InputError
from .blocks import in_utc, unhashable
from .jobs import in_our_words
from .scanning import SparkScan
from .session import spark_functions

MOST_SAMPLED = 1_000_000
"""Records of a table that a sample may have, at most."""

_SPAN = 1 << 30


def sample_rows(scans: Sequence[SparkScan], rows: int, *, key: str | None = None) -> list[pa.Table]:
    """Return about so many records of the largest table, and the same share of the others, as tables on the driver: for `chaffinch.utility` and `chaffinch.risk`.

    Records are chosen by a keyed hash of their values, so that equal rows of all tables are chosen together: a copied row is in the sample wherever its person is.
    It does not depend on partitions; `key` is secret and drawn anew unless given. `rows` has no default: 0 brings none, and is refused. Records leave the
    cluster for the driver by this alone, so call it only where the driver may hold records.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_SAMPLED:
        raise InputError(
            f"rows must be a whole number from 1 to {MOST_SAMPLED:,}: that many records come to the driver. Got {rows!r}."
        )
    if not scans:
        raise InputError("sample_rows needs a scan or more.")
    share = min(1.0, rows / max(scan.n_rows for scan in scans))
    word = key or secrets.token_hex(16)
    return [_chosen(scan, share, word, 2 * rows) for scan in scans]


def _chosen(scan: SparkScan, share: float, key: str, most: int) -> pa.Table:
    functions, names = spark_functions(), scan.frame.columns
    places = [f"c{j}" for j in range(len(names))]
    plain = scan.frame.toDF(*places)
    hashes = [
        place
        for place, field in zip(places, scan.frame.schema, strict=True)
        if not unhashable(field.dataType)
    ]
    with in_our_words():
        at = functions.pmod(functions.xxhash64(functions.lit(key), *hashes), functions.lit(_SPAN))
        frame = (
            plain.where(at < int(share * _SPAN)).limit(most + 1)
            if share < 1
            else plain.limit(most + 1)
        )
        table = _on_driver(frame)
    if table.num_rows > most:
        raise InputError(
            "Rows are alike so often that the sample by their values has more than twice what was asked for. Ask for more rows, or draw a sample by another rule."
        )
    batches = [in_utc(batch) for batch in table.rename_columns(names).combine_chunks().to_batches()]
    return pa.Table.from_batches(batches) if batches else table.rename_columns(names)


def _on_driver(frame: Any) -> pa.Table:
    if hasattr(frame, "toArrow"):  # Spark 4
        return frame.toArrow()
    batches = frame._collect_as_arrow() if hasattr(frame, "_collect_as_arrow") else []
    return (
        pa.Table.from_batches(batches)
        if batches
        else pa.Table.from_pandas(frame.toPandas(), preserve_index=False)
    )
