"""Reference tables drawn from the original: its records resampled, and independent columns.

Random numbers depend on a seed and on row numbers alone, so a reference is the same whatever the
chunks of the original, and in every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.arrays import Ints
from ..table.codes import Codes
from ..table.rows import Names, Rows, Step
from ..table.schema import Schema
from ..table.table import Table

DRAWN = 1 << 20
"""Row numbers drawn at once."""

WINDOW = 1 << 25
"""Rows of which it is known at a time how often they are drawn."""

BLOCK = 1 << 18
"""Rows whose random numbers come from one stream."""

Stream = tuple[tuple[int, ...], tuple[int, ...]]
"""A seed as plain values: its entropy and its spawn key."""


def stream_of(seed: np.random.SeedSequence) -> Stream:
    """Return a seed as plain values, which can be sent to workers.

    Examples
    --------
    >>> seed = np.random.SeedSequence([3, 4], spawn_key=(1,))
    >>> stream_of(seed), bool((seed_of(stream_of(seed)).pool == seed.pool).all())
    (((3, 4), (1,)), True)
    """
    several = isinstance(seed.entropy, Sequence | np.ndarray)
    entropy: Any = seed.entropy if several else [seed.entropy]
    return tuple(map(int, entropy)), tuple(seed.spawn_key)


def seed_of(stream: Stream, *key: int) -> np.random.SeedSequence:
    """Return the seed of plain values, or one of its child streams."""
    entropy: Any = stream[0][0] if len(stream[0]) == 1 else list(stream[0])
    return np.random.SeedSequence(entropy, spawn_key=(*stream[1], *key))


def row_uniforms(stream: Stream, first: int, n_rows: int) -> NDArray[np.float64]:
    """Return a uniform random number for each row, from the row number `first` on.

    Examples
    --------
    >>> bool((row_uniforms(((7,), ()), 3, 2) == row_uniforms(((7,), ()), 0, 5)[3:]).all())
    True
    """
    last = first + n_rows
    blocks = [
        _block(stream, number)[max(first - number * BLOCK, 0) : last - number * BLOCK]
        for number in range(first // BLOCK, -(-last // BLOCK))
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0)


@lru_cache(maxsize=16)
def _block(stream: Stream, number: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed_of(stream, number)).random(BLOCK)


def resample(rows: Rows, n_rows: int, seed: np.random.SeedSequence) -> Rows:
    """Return `n_rows` records of a table drawn with replacement, in their order."""
    step = Resample(rows.n_rows, n_rows, stream_of(seed))
    return rows.map(step, rows.schema, n_rows=n_rows)


@dataclass(frozen=True, eq=False)
class Resample(Step):
    """Repeats each row of a chunk as often as it is drawn in `n_rows` draws with replacement from
    `n_original` rows.
    """

    n_original: int
    n_rows: int
    stream: Stream

    def __call__(self, chunk: Table) -> Table:
        first, last = chunk.first_row, chunk.first_row + chunk.codes.n_rows
        times: list[NDArray[Any]] = []
        drawn_before = 0
        for number in range(first // WINDOW, -(-last // WINDOW)):
            before, window = _times_drawn(self.n_original, self.n_rows, self.stream, number)
            start = max(first - number * WINDOW, 0)
            if not times:
                drawn_before = before + int(window[:start].sum(dtype=np.int64))
            times.append(window[start : last - number * WINDOW])
        rows = np.repeat(np.arange(last - first), np.concatenate(times) if times else 0)
        return replace(chunk.take(rows), first_row=drawn_before)


@lru_cache(maxsize=2)
def _times_drawn(
    n_original: int, n_rows: int, stream: Stream, number: int
) -> tuple[int, NDArray[Any]]:
    """Return the number of draws of rows before a window, and how often each row of the window is
    drawn; all draws are repeated for each window.
    """
    mean = n_rows / max(n_original, 1)
    dtype = np.uint8 if mean < 20 else np.uint16 if mean < 20_000 else np.uint32
    rng, first, before = np.random.default_rng(seed_of(stream)), number * WINDOW, 0
    times: NDArray[Any] = np.zeros(max(0, min(WINDOW, n_original - first)), dtype=dtype)
    for start in range(0, n_rows, DRAWN):
        positions = rng.integers(0, n_original, min(DRAWN, n_rows - start))
        before += int(np.count_nonzero(positions < first))
        rows, counts = np.unique(
            positions[(positions >= first) & (positions < first + WINDOW)] - first,
            return_counts=True,
        )
        times[rows] += counts.astype(dtype)
    return before, times


@dataclass(frozen=True, eq=False)
class DrawFromModel:
    """Draws rows of a model, chunk by chunk number: the same rows as `model.sample` with the
    seed.
    """

    model: Any
    schema: Schema
    n_rows: int
    stream: Stream

    @property
    def chunk_rows(self) -> int:
        """The rows of a chunk."""
        return int(self.model.batch_rows)

    def __call__(self, number: int) -> Table:
        seed = seed_of(self.stream)
        (chunk,) = self.model.batches(self.n_rows, seed=seed, threads=1, numbers=[number])
        return replace(chunk, schema=self.schema, first_row=number * self.chunk_rows)


@dataclass(frozen=True, eq=False)
class DrawIndependentCodes:
    """Draws rows with independent columns, from the ascending codes of each column and their
    cumulative counts.

    `streams`: a number for each column, so that its draws do not hang on which others there are.
    """

    columns: Mapping[str, tuple[Ints, Ints]]
    streams: Mapping[str, int]
    schema: Schema
    n_rows: int
    stream: Stream

    chunk_rows = BLOCK

    def __call__(self, number: int) -> Table:
        first = number * BLOCK
        n_rows = min(BLOCK, self.n_rows - first)
        codes = []
        for name in self.schema.names:
            values, ends = self.columns[name]
            uniforms = row_uniforms(substream(self.stream, self.streams[name]), first, n_rows)
            codes.append(
                values[np.searchsorted(ends, _as_integers(uniforms * ends[-1]), side="right")]
            )
        coded = Codes.from_columns(codes, self.schema.sizes)
        return Table(self.schema, pa.table({}), coded, first_row=first)


@dataclass(frozen=True, eq=False)
class RedrawByLabel(Step):
    """Draws the codes of some columns anew, each from the rows with the same label.

    `columns`: for each, the codes by label and in order, how many rows have one or a lower one, and
    for each label how many rows have lower labels and how many have it.
    """

    label: str
    columns: Mapping[str, tuple[Ints, Ints, Ints, Ints]]
    streams: Mapping[str, int]
    stream: Stream

    def needs(self, columns: Names) -> Names:
        """Return the columns and the label."""
        return None if columns is None else {*columns, self.label}

    def __call__(self, chunk: Table) -> Table:
        labels, n_rows = chunk.code(self.label), chunk.codes.n_rows
        codes = [chunk.code(name) for name in chunk.schema.names]
        for name, (values, ends, starts, counts) in self.columns.items():
            uniforms = row_uniforms(
                substream(self.stream, self.streams[name]), chunk.first_row, n_rows
            )
            rows = starts[labels] + _as_integers(uniforms * counts[labels])
            codes[chunk.schema.places[name]] = values[np.searchsorted(ends, rows, side="right")]
        return replace(chunk, codes=Codes.from_columns(codes, chunk.schema.sizes))


def codes_by_label(cells: Ints, counts: Ints, n_labels: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the tables that `RedrawByLabel` draws a column from: `cells` are the sorted pairs of
    label and code that occur, one a row.
    """
    rows = np.bincount(cells[:, 0], counts, n_labels).astype(np.int64)
    return cells[:, 1], np.cumsum(counts), np.cumsum(rows) - rows, rows


def _as_integers(numbers: NDArray[np.float64]) -> Ints:
    return numbers.astype(np.int64)


def substream(stream: Stream, *key: int) -> Stream:
    """Return one of the streams of a seed."""
    return stream[0], (*stream[1], *key)
