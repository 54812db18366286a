"""Values of tables as whole numbers to compare: equal values have equal codes, in all tables that are coded together.

A column becomes codes by its values, as an outsider sees them, or coarser where asked. A schema may pool rare levels and cut numbers into bins, since a
synthesiser learns better so. Whoever holds the released file is not bound by that: they see each word and each number. So unless something else is chosen
two cells are equal if their values are.

Where rare levels are pooled after all, original and holdout are counted together: levels that are rare *in the original* are by choice fewer
there than in the holdout, and an attack that calls them alike would be right more often about people who are not in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..domain import OTHER, Categories, level_labels
from ..rows import Rows
from ..schema import NUMERIC_KINDS, Column
from ..settings import Numeric, Rare
from ..table import Table
from ..types import to_numbers, whole_array

UNSEEN = -1
"""The code of a value that no table has that a coder was learnt from: it equals no other."""


def numbers_of(table: Table, name: str) -> Floats:
    """Return the numbers of a numeric column, NaN where they are missing, infinite or a declared missing code."""
    column = table.schema[name]
    assert column.codec is not None
    numbers, present = to_numbers(table.data.column(name))
    known = present & (table.code(name) < column.codec.n_values) & np.isfinite(numbers)
    return np.where(known, numbers.astype(np.float64), np.nan)


def missing_tokens(table: Table, column: Column) -> NDArray[np.int16] | None:
    """Return which of the column's missing codes a table's codes stand for (-1: none), where its values no longer say."""
    if column.name not in table.schema.names:
        return None
    codec = table.schema[column.name].fitted_codec
    if not codec.missing:
        return None
    index = [column.missing.index(code) if code in column.missing else -1 for code in codec.missing]
    tokens: NDArray[np.int16] = np.array([*index, -1], dtype=np.int16)[
        codec.missing_index(table.code(column.name))
    ]
    return tokens


@dataclass(frozen=True, eq=False)
class CodeGrid:
    """How one column became whole numbers.

    `size`, `n_values`: values have the codes 0 to `n_values` - 1, missing ones those above. `numbers`: the number that each code stands for;
    of levels their code. `labels`: what each code is called, where it is no number. `coarse`: how values were put together, in words; empty
    where they are compared as they are.
    """

    size: int
    n_values: int
    numbers: NDArray[np.float64]
    labels: tuple[str, ...] | None = field(default=None, repr=False)
    coarse: str = ""


@dataclass(frozen=True, eq=False)
class ColumnCoder:
    """How one column of tables, or of parts of them, becomes codes: `code` gives those of a table under the shared schema."""

    grid: CodeGrid
    code: Callable[[Table], Ints]

    def coded(self, tables: Mapping[str, Table]) -> CodedColumn:
        """Return the column of several tables as codes."""
        codes = {side: self.code(table).astype(np.int32) for side, table in tables.items()}
        return CodedColumn(self.grid, codes)


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A column of several tables as codes, by the name of the table: it holds records, and stays inside."""

    grid: CodeGrid
    codes: Mapping[str, NDArray[np.int32]]


@dataclass(frozen=True, eq=False, repr=False)
class CodedTables:
    """Tables under one schema with the codes of their values: each column is coded once, when it is first asked for.

    `tables`: by name. `widths`: by column: numbers are rounded to multiples of the width. `coders`: how columns become codes, where that was learnt
    from more records than the tables have. It holds records, and stays inside.

    Examples
    --------
    >>> from chaffinch.table.align import align
    >>> from chaffinch.table.read import read
    >>> original, synthetic = align(read(pa.table({"a": ["x", "y"] * 20, "b": [1, 2] * 20})), pa.table({"a": ["y", "z"], "b": [1, 2]}))
    >>> column = CodedTables({"original": original, "synthetic": synthetic}).column("a")
    >>> column.codes["original"][:2].tolist(), column.codes["synthetic"].tolist(), column.grid.labels
    ([0, 1], [1, 2], ('x', 'y', 'z'))
    """

    tables: Mapping[str, Table]
    widths: Mapping[str, float] = field(default_factory=dict)
    coders: Mapping[str, ColumnCoder] = field(default_factory=dict)
    _columns: dict[str, CodedColumn] = field(default_factory=dict)

    def column(self, name: str) -> CodedColumn:
        """Return a column of all tables; equal values have equal codes."""
        if name not in self._columns:
            coder = self.coders.get(name) or column_coder(
                list(self.tables.values()), name, width=self.widths.get(name)
            )
            self._columns[name] = coder.coded(self.tables)
        return self._columns[name]


def column_coder(
    tables: Sequence[Rows],
    name: str,
    *,
    people: Sequence[int] = (),
    numeric: Numeric = "values",
    rare: Rare = "keep",
    width: float | None = None,
    unseen: bool = False,
) -> ColumnCoder:
    """Return how a column of tables becomes codes.

    `tables` share a schema, the original's; they are in memory, or read part by part. `people`: the positions of the tables whose people are
    attacked, by whose counts together levels are rare. `width`: numbers are rounded to multiples of it. `unseen`: other tables will be coded too: levels that these lack are then `UNSEEN`.
    """
    column = tables[0].schema[name]
    if column.kind in NUMERIC_KINDS and (numeric == "values" or width is not None):
        return _numbers(tables, name, width)
    if not column.is_numeric:
        return _levels(tables, name, people, rare, unseen)
    return _bins(tables, name)


class ColumnTask:
    """A task that looks at the values of one column, and answers with its summaries."""

    name: str
    values = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of the column."""
        return (self.name,)

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the summary of some chunks."""
        raise NotImplementedError

    def result(self, summaries: Iterator[pa.Table]) -> list[pa.Table]:
        """Return the summaries."""
        return list(summaries)


def _summaries(tables: Sequence[Rows], task: ColumnTask) -> Iterator[pa.Table]:
    for rows in tables:
        yield from rows.reduce(task)


def _numbers(tables: Sequence[Rows], name: str, width: float | None) -> ColumnCoder:
    codec = tables[0].schema[name].fitted_codec

    numbers = _RoundedNumbers(name, width)
    distinct = np.zeros(0)
    for summary in _summaries(tables, _DistinctNumbers(name, numbers, codec.size)):
        distinct = np.union1d(distinct, _first(summary))

    def code(chunk: Table) -> Ints:
        values = numbers(chunk)
        present = ~np.isnan(values)
        # Infinite numbers have no code of their own: they stand with the missing ones.
        gaps = len(distinct) + np.maximum(chunk.code(name).astype(np.int64) - codec.n_values, 0)
        return np.where(
            present, np.searchsorted(distinct, np.where(present, values, 0.0)), gaps
        ).astype(np.int64)

    n_gaps = max(codec.size - codec.n_values, 1)
    middle = float(distinct.mean()) if len(distinct) else 0.0
    coarse = "" if width is None else f"to multiples of {width:g}"
    return ColumnCoder(
        CodeGrid(
            len(distinct) + n_gaps,
            len(distinct),
            np.concatenate([distinct, np.full(n_gaps, middle)]),
            coarse=coarse,
        ),
        code,
    )


def _bins(tables: Sequence[Rows], name: str) -> ColumnCoder:
    column = tables[0].schema[name]
    codec = column.fitted_codec
    distinct, used = np.zeros(0), np.zeros(codec.size, dtype=bool)
    numbers_task = _DistinctNumbers(name, _RoundedNumbers(name, None), codec.size)
    for summary in _summaries(tables, numbers_task):
        distinct = np.union1d(distinct, _first(summary))
        used |= np.frombuffer(summary.column("used")[0].as_py(), dtype=bool)
    joined = len(distinct) > np.count_nonzero(used[: codec.n_values])
    numbers = np.arange(codec.size, dtype=np.float64)
    grid = CodeGrid(
        codec.size, codec.n_values, numbers, tuple(level_labels(column)), "in bins" * bool(joined)
    )
    return ColumnCoder(grid, lambda chunk: chunk.code(name).astype(np.int64))


@dataclass(frozen=True)
class _RoundedNumbers:
    """The numbers of a column of a part, NaN where missing; to multiples of a width, if there is one. It may be sent to workers."""

    name: str
    width: float | None

    def __call__(self, chunk: Table) -> NDArray[np.float64]:
        values = numbers_of(chunk, self.name)
        return values if self.width is None else np.round(values / self.width) * self.width


@dataclass(frozen=True)
class _DistinctNumbers(ColumnTask):
    """Finds the distinct numbers of a column, and which codes of the schema they use."""

    name: str
    numbers: _RoundedNumbers
    size: int

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        distinct, used = np.zeros(0), np.zeros(self.size, dtype=bool)
        for chunk in chunks:
            values = self.numbers(chunk)
            distinct = np.union1d(distinct, values[~np.isnan(values)])
            used[chunk.code(self.name)] = True
        return pa.table({"numbers": [distinct], "used": [used.tobytes()]})


def _first(summary: pa.Table) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = (
        summary.column("numbers")
        .combine_chunks()
        .flatten()
        .to_numpy(zero_copy_only=False)
        .astype(np.float64)
    )
    return numbers


def _levels(
    tables: Sequence[Rows],
    name: str,
    people: Sequence[int],
    rare: Rare,
    unseen: bool,
) -> ColumnCoder:
    column = tables[0].schema[name]
    codec = column.fitted_codec
    assert not codec.numeric
    behind = (
        {
            word
            for summary in _summaries(tables, _WordsBehindOther(name, codec))
            for word in summary.column("words").to_pylist()
        }
        if codec.other
        else set()
    )
    if unseen:  # any table may have both
        behind |= {None, OTHER}
    levels = _in_order(
        codec.levels,
        {word for word in behind if word is not None and word not in codec.levels},
        ordered=column.ordered,
    )
    n_levels = len(levels)
    null = codec.null or None in behind
    position = {level: code for code, level in enumerate(levels)}
    outside = UNSEEN if unseen else None
    moved = np.zeros(codec.size, dtype=np.int64)  # from codes of the schema
    moved[: len(codec.levels)] = [position[level] for level in codec.levels]
    moved[codec.n_values :] = (
        n_levels + (null - codec.null) + np.arange(codec.size - codec.n_values)
    )

    def code(chunk: Table) -> Ints:
        codes = chunk.code(name).astype(np.int64)
        out = moved[codes]
        if codec.other:
            values, which = _behind_other(chunk, name, codec)
            out[codes == len(codec.levels)] = np.array(
                [n_levels if word is None else position.get(word, outside) for word in values],
                dtype=np.int64,
            )[which]
        return out

    names = [*map(str, levels), *level_labels(column)[codec.n_values - (null and not codec.null) :]]
    if null and not codec.null:
        names[n_levels] = "(missing)"
    size = n_levels + null + len(codec.missing)
    if rare == "pool" and column.kind != "boolean":
        fixed = np.isin(
            np.arange(n_levels),
            [position[level] for level in column.levels or () if level in position],
        )
        counts = np.zeros(size, dtype=np.int64)
        for summary in _summaries([tables[i] for i in people], _CodeCounts(name, code, size)):
            counts += summary.column("counts").to_numpy()
        rarely = (counts[:n_levels] < tables[0].schema.rare_below) & ~fixed
        if rarely.any():
            return _pool_rare(code, rarely, names, size)
    return ColumnCoder(
        CodeGrid(size, n_levels, np.arange(size, dtype=np.float64), tuple(names[:size])), code
    )


@dataclass(frozen=True, eq=False)
class _WordsBehindOther(ColumnTask):
    """Finds the values that the schema's code (other) stands for."""

    name: str
    codec: Categories

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        values: dict[Any, None] = {}
        for chunk in chunks:
            values |= dict.fromkeys(_behind_other(chunk, self.name, self.codec)[0])
        return pa.table({"words": pa.array(list(values)) if values else pa.nulls(0)})


@dataclass(frozen=True, eq=False)
class _CodeCounts(ColumnTask):
    """Counts codes of a column."""

    name: str
    code: Callable[[Table], Ints]
    size: int

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        return pa.table(
            {
                "counts": sum(
                    (np.bincount(self.code(chunk), minlength=self.size) for chunk in chunks),
                    np.zeros(self.size, dtype=np.int64),
                )
            }
        )


def _behind_other(table: Table, name: str, codec: Categories) -> tuple[list[Any], Ints]:
    """Return the distinct values that the schema's code (other) stands for in a table, None for null, and which one each such row has."""
    if not codec.other:
        return [], np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(table.code(name) == len(codec.levels))
    cells = whole_array(table.data.column(name)).take(pa.array(rows))
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()  # without values that no row has
    coded = cells.dictionary_encode(null_encoding="encode")
    position: dict[Any, int] = {}
    which = [
        position.setdefault(None if value != value else value, len(position))  # NaN is missing too
        for value in coded.dictionary.to_pylist()
    ]
    return list(position), np.array(which, dtype=np.int64)[coded.indices.to_numpy()]


def _in_order(levels: Sequence[Any], more: set[Any], *, ordered: bool) -> list[Any]:
    """Return levels with further ones: all sorted where the levels are, else those of the schema first; (other) is last."""
    known = list(levels)
    extra = sorted(more - {OTHER}, key=str)
    with suppress(TypeError):  # words and numbers have no common order
        extra = sorted(extra)
        if not ordered and known == sorted(known):
            known, extra = sorted([*known, *extra]), []
    return [*known, *extra, *([OTHER] if OTHER in more else [])]


def _pool_rare(
    code: Callable[[Table], Ints], rarely: NDArray[np.bool_], names: Sequence[str], size: int
) -> ColumnCoder:
    """Return codes with rare levels as one, after the others."""
    common = [i for i, is_rare in enumerate(rarely) if not is_rare]
    n_values = len(common) + 1
    moved = np.empty(size, dtype=np.int64)
    moved[: len(rarely)] = len(common)
    moved[common] = np.arange(len(common))
    moved[len(rarely) :] = n_values + np.arange(size - len(rarely))
    labels = (*(names[i] for i in common), OTHER, *names[len(rarely) : size])
    size = n_values + size - len(rarely)
    coarse = "with rare levels pooled" if np.count_nonzero(rarely) > 1 else ""
    return ColumnCoder(
        CodeGrid(size, n_values, np.arange(size, dtype=np.float64), labels, coarse),
        lambda chunk: moved[code(chunk)],
    )
