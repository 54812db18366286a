"""Correct attribution on a cluster: CAP, DCAP, DiSCO and TCAP of all records, from sums that tasks make. Keys of people stay on workers.

Both tables are counted by keys and sensitive value, all counts of a key meet in one task, and what comes to the driver are sums over keys. Values are compared
by their codes: bins of numbers, and rare levels pooled, count as equal, which whoever holds the released file need not do. So a figure here is one of the codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from ..counts.marginal import SparseCounts
from ..counts.tally import resolve
from .blocks import BlockSource, CodeColumns, codes_of, summed
from .counter import RowsSeen, SparkCounter
from .counting import gathered
from .jobs import collected, mapped

PEOPLE, SOURCE, ROWS = 0, 1, -1

KEY_SHAPE = "key binary, value int, side int, n long, checksum long"
_KEY = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.int32()),
        ("side", pa.int32()),
        ("n", pa.int64()),
        ("checksum", pa.int64()),
    ]
)
SUM_SHAPE = "side int, n long, checksum long, people long, matched long, cap double, disclosive long, right long, selected long, selected_matched long, tcap double"
_SUMS = ("people", "matched", "cap", "disclosive", "right", "selected", "selected_matched", "tcap")
KEYS_AT_ONCE = 1 << 16
"""Rows of counts that travel in one batch, at most."""


@dataclass(frozen=True)
class SparkAttribution:
    """What the rows of a source say of people's sensitive value by their keys: rates in [0, 1], higher is riskier; None where fewer people than the threshold decide it.

    `cap`, `dcap`, `disco`: as in `chaffinch.risk`; `in_source`: the share of people whose keys a source row has; `tcap`, `tcap_all_rows`: TCAP over selected source rows whose keys some
    person has, and over all selected ones; `guess`: how often a guess that knows no key is right, the first thing to compare with.
    """

    keys: tuple[str, ...]
    sensitive: str
    tau: float
    in_source: float | None
    cap: float | None
    dcap: float | None
    disco: float | None
    tcap: float | None
    tcap_all_rows: float | None
    guess: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "keys": list(self.keys),
            "compared_by": "codes of the schema",
        }


def attribution(
    people: SparkCounter,
    source: SparkCounter,
    *,
    keys: Sequence[str],
    sensitive: str,
    tau: float = 1.0,
) -> SparkAttribution:
    """Return how well the rows of a source, such as a synthetic table, tell people's sensitive value by their keys: one job, and sums alone come to the driver.

    Measure a holdout as `people` too: what the source tells of people who are not in the original is no leak of the original. Both counters are of one schema.
    """
    names = tuple(keys)
    if not names or sensitive in names or len(set(names)) < len(names):
        raise InputError(
            "keys must be one or more different columns, and the sensitive column none of them."
        )
    if not 0 < tau <= 1:
        raise InputError(f"tau must lie in (0, 1]. Got {tau}.")
    resolve(people.schema, (*names, sensitive))
    if (
        tuple(people.schema.sizes) != tuple(source.schema.sizes)
        or people.schema.names != source.schema.names
    ):
        raise InputError(
            "The tables were coded under different schemas. Scan both under the schema of the original."
        )
    frames = [
        mapped(
            counter.frame,
            CountKeys(counter.source, CodeColumns.of(counter.schema), names, sensitive, side),
            KEY_SHAPE,
        )
        for side, counter in ((PEOPLE, people), (SOURCE, source))
    ]
    (ones,) = people.marginals([(sensitive,)])
    answer = collected(
        mapped(frames[0].unionAll(frames[1]).repartition("key"), SumKeys(tau), SUM_SHAPE)
    ).to_pylist()
    for side, counter in ((PEOPLE, people), (SOURCE, source)):
        own = [row for row in answer if row["side"] == side]
        counter.rows.check(
            RowsSeen(
                sum(row["n"] for row in own),
                summed(np.array([row["checksum"] for row in own], dtype=np.int64)),
            )
        )
    total = {name: sum(row[name] for row in answer if row["side"] == ROWS) for name in _SUMS}
    guess = float(np.sum((ones.dense() / max(ones.total, 1)) ** 2))
    n, matched, enough = total["people"], total["matched"], total["people"] >= THRESHOLD

    def share(part: float, of: float, deciding: float) -> float | None:
        return part / of if of and deciding >= THRESHOLD else None

    return SparkAttribution(
        names,
        sensitive,
        tau,
        share(matched, n, n) if enough else None,
        share(total["cap"], matched, matched),
        share(total["cap"], n, n),
        share(total["right"], n, n),
        share(total["tcap"], total["selected_matched"], total["disclosive"]),
        share(total["tcap"], total["selected"], total["disclosive"]),
        guess,
    )


@dataclass(frozen=True)
class CountKeys:
    """The task that counts keys and values of its partition: a row for each combination, and one for the rows themselves."""

    source: BlockSource
    columns: CodeColumns
    keys: tuple[str, ...]
    sensitive: str
    side: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self.columns.schema
        places = [schema.names.index(name) for name in (*self.keys, self.sensitive)]
        tally = SparseCounts([schema.sizes[j] for j in places])
        n_rows, check = 0, 0
        for codes, own in codes_of(self.source.read(batches), schema.sizes):
            tally.add([codes[j] for j in places])
            n_rows, check = n_rows + codes.n_rows, summed(np.array([check, own], dtype=np.int64))
        yield _rows([b""], [ROWS], self.side, [n_rows], [check])
        if not n_rows:
            return
        cells, counts = tally.marginal((*self.keys, self.sensitive)).nonzero()
        packed = np.ascontiguousarray(cells[:, :-1].astype(">u4"))
        words = np.frombuffer(packed.tobytes(), dtype=f"V{4 * len(self.keys)}")
        for start in range(0, len(words), KEYS_AT_ONCE):
            part = slice(start, start + KEYS_AT_ONCE)
            yield _rows(
                words[part].tolist(),
                cells[part, -1],
                self.side,
                counts[part],
                [0] * len(words[part]),
            )


def _rows(
    keys: Sequence[bytes], values: Any, side: int, counts: Any, checks: Any
) -> pa.RecordBatch:
    arrays = [
        pa.array(keys, pa.binary()),
        pa.array(np.asarray(values), pa.int32()),
        pa.array([side] * len(keys), pa.int32()),
        pa.array(np.asarray(counts), pa.int64()),
        pa.array(np.asarray(checks, dtype=np.int64)),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_KEY)


@dataclass(frozen=True)
class SumKeys:
    """The task that sums over keys, all counts of a key being in one partition by then."""

    tau: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from gathered(self.sums(batches))

    def sums(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return a row for each side that was counted, and one for the keys of this partition."""
        every = [batch for batch in batches if batch.num_rows]
        if not every:
            return
        table = pa.Table.from_batches(every)
        value, side, n = (table.column(name).to_numpy() for name in ("value", "side", "n"))
        check = table.column("checksum").to_numpy()
        own = value == ROWS
        for which in (PEOPLE, SOURCE):
            mine = own & (side == which)
            if mine.any():
                yield _sums(which, int(n[mine].sum()), summed(check[mine]))
        cells = table.filter(pa.array(~own))
        if cells.num_rows:
            keys = cells.column("key").combine_chunks().dictionary_encode()
            codes = (
                keys.indices.to_numpy()
                if isinstance(keys, pa.DictionaryArray)
                else keys.chunk(0).indices.to_numpy()
            )
            yield _sums(
                ROWS,
                0,
                0,
                **_of_keys(
                    codes.astype(np.int64),
                    value[~own].astype(np.int64),
                    side[~own],
                    n[~own],
                    self.tau,
                ),
            )


def _of_keys(
    keys: NDArray[np.int64],
    value: NDArray[np.int64],
    side: NDArray[Any],
    n: NDArray[np.int64],
    tau: float,
) -> dict[str, float]:
    """Sums over keys of what people and source rows have in each cell of key and value."""
    cell, place = np.unique(keys * (int(value.max()) + 1) + value, return_inverse=True)
    key = cell // (int(value.max()) + 1)
    people, source = (
        np.bincount(place, np.where(side == which, n, 0), len(cell)) for which in (PEOPLE, SOURCE)
    )
    n_keys = int(key.max()) + 1
    people_of, source_of = (np.bincount(key, counts, n_keys)[key] for counts in (people, source))
    matched, share = source_of > 0, source / np.maximum(source_of, 1)
    certain = (source > 0) & (share >= tau)
    disclosive = np.bincount(key, certain, n_keys)[key] > 0
    known = certain & (people_of > 0)
    return {
        "people": int(people.sum()),
        "matched": int(people[matched].sum()),
        "cap": float((people * share).sum()),
        "disclosive": int(people[disclosive].sum()),
        "right": int(people[certain].sum()),
        "selected": int(source[certain].sum()),
        "selected_matched": int(source[known].sum()),
        "tcap": float((source * people / np.maximum(people_of, 1))[known].sum()),
    }


def _sums(side: int, n: int, check: int, **sums: float) -> pa.RecordBatch:
    kinds = {
        "side": pa.int32(),
        "n": pa.int64(),
        "checksum": pa.int64(),
        **{name: pa.float64() if name in ("cap", "tcap") else pa.int64() for name in _SUMS},
    }
    values = {"side": side, "n": n, "checksum": check, **dict.fromkeys(_SUMS, 0), **sums}
    return pa.RecordBatch.from_arrays(
        [pa.array([values[name]], kind) for name, kind in kinds.items()], list(kinds)
    )
