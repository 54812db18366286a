"""Tables with a column of every type, and tables made anew from their own codes."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

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
