"""Tables with a column of every type, tables made anew from their own codes, and files that cannot be read."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import ChaffinchError
from chaffinch.table import Table


def again(table: Table, seed: int = 1) -> Table:
    """Return the table made anew from its own codes."""
    return Table.from_codes(
        table.schema, [table.codes[j] for j in range(len(table.codes))], seed=seed, like=table
    )


def rich_frame(n: int = 240) -> dict[str, object]:
    rng = np.random.default_rng(11)
    start = np.datetime64("2001-03-04")
    return {
        "whole": rng.integers(0, 90, n),
        "small": rng.integers(0, 90, n).astype(np.int8),
        "big": rng.integers(0, 90, n).astype(np.uint64),
        "real": rng.normal(size=n),
        "money": np.round(rng.gamma(2, 100, n), 2),
        "single": rng.normal(size=n).astype(np.float32),
        "flag": rng.random(n) < 0.3,
        "word": rng.choice(["red", "green", "blue"], n),
        "code": rng.integers(1, 5, n),
        "day": start + rng.integers(0, 4000, n).astype("timedelta64[D]"),
    }


def holes(values, share=0.1, seed=4):
    rng = np.random.default_rng(seed)
    return [
        None if gone else value
        for value, gone in zip(values, rng.random(len(values)) < share, strict=True)
    ]


def arrow_table(n: int = 240) -> pa.Table:
    frame = rich_frame(n)
    stamps = [
        datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=int(m))
        for m in np.arange(n) * 37
    ]
    return pa.table(
        {
            **{name: pa.array(values) for name, values in frame.items() if name != "day"},
            "day": pa.array(frame["day"]).cast(pa.date32()),
            "day64": pa.array(frame["day"]).cast(pa.date64()),
            "stamp": pa.array(stamps, type=pa.timestamp("us")),
            "zoned": pa.array(stamps, type=pa.timestamp("ms", tz="Europe/Vienna")),
            "clock": pa.array([s.time() for s in stamps], type=pa.time64("us")),
            "length": pa.array(np.arange(n) * 60 // 7, type=pa.duration("s")),
            "price": pa.array([round(float(x), 2) for x in frame["money"]]).cast(
                pa.decimal128(12, 2)
            ),
            "half": pa.array(np.round(np.asarray(frame["real"]), 1).astype(np.float16)),
            "kind": pa.array(frame["word"]).dictionary_encode(),
            "ranked": pa.DictionaryArray.from_arrays(
                pa.array(np.arange(n) % 3, type=pa.int8()),
                pa.array(["low", "mid", "high"]),
                ordered=True,
            ),
            "large": pa.array(frame["word"], type=pa.large_string()),
            "view": pa.array(frame["word"]).cast(pa.string_view()),
            "gaps": pa.array(holes(frame["whole"]), type=pa.int64()),
            "word_gaps": pa.array(holes(frame["word"])),
            "flag_gaps": pa.array(holes(frame["flag"].tolist())),
            "day_gaps": pa.array(holes(frame["day"].tolist()), type=pa.date32()),
        }
    )


def fails(source: object, says: str, kind: type[Exception] = ChaffinchError, **options) -> None:
    """Read what cannot be read, and look at what is said."""
    with pytest.raises(kind) as caught:
        chaffinch.read(source, **options)
    assert says in str(caught.value), str(caught.value)


def damaged_copies(content: bytes, n_copies: int, seed: int) -> Iterator[bytes]:
    """Yield copies with one to eight bytes changed, runs of them lost or others put between."""
    rng = random.Random(seed)
    for _ in range(n_copies):
        data = bytearray(content)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(data))
            action = rng.random()
            if action < 0.5:
                data[at] = rng.randrange(256)
            elif action < 0.75:
                del data[at : at + rng.randint(1, 64)]
            else:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
            if not data:
                break
        yield bytes(data)


def n_refused(path: Path, content: bytes, n_copies: int, seed: int, **options) -> int:
    """Return how many damaged copies of a file are refused; the others are read, and no other error than our own is raised."""
    refused = 0
    for damaged in damaged_copies(content, n_copies, seed):
        path.write_bytes(damaged)
        try:
            chaffinch.read(path, **options)
        except ChaffinchError:
            refused += 1
    return refused
