"""The data of an attack: all tables as whole numbers on one grid, and made-up tables to hold the attack against.

Its sides are the original, the synthetic tables, the holdout, and sources that are drawn from the original's codes: one of
independent columns, and one in which the sensitive columns know the label alone.

A column becomes whole numbers to compare by its values, as an outsider sees them, or coarser where asked. A schema may pool rare levels and cut numbers into bins, since a synthesiser learns better so. Whoever holds the released file is not
bound by that: they see each word and each number. So unless something else is chosen two cells are equal if their values are.

Where rare levels are pooled after all, original and holdout are counted together: levels that are rare *in the original* are by choice fewer
there than in the holdout, and an attack that calls them alike would be right more often about people who are not in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.seeds import Seed, generator
from ...stats.learners import numbers_of
from ...table.align import align
from ...table.codec import OTHER, Categories
from ...table.encode import level_labels
from ...table.long import LongTable, Summary, summaries_of
from ...table.schema import NUMERIC_KINDS
from ...table.table import Table
from ...table.types import whole_array
from .matching import WholeCounts

Ints = NDArray[np.int64]


Numeric = Literal["values", "bins"]


Rare = Literal["keep", "pool"]


WAYS = {
    "numeric": ("way with numbers", ("values", "bins")),
    "rare": ("way with rare levels", ("keep", "pool")),
}
"""How values may be compared: what messages call each setting, and its words."""


RARELY = 0.5
"""Exact numbers are said to match rarely where those of fewer people than this share are among the released ones."""


@dataclass(frozen=True, eq=False, repr=False)
class AttackSide:
    """The codes of one table, by column."""

    codes: Mapping[str, Ints]
    n_rows: int

    def __repr__(self) -> str:
        return f"AttackSide({self.n_rows:,} rows x {len(self.codes)} columns)"


@dataclass(frozen=True, eq=False, repr=False)
class AttackData:
    """Tables on one grid, for attacks that know some columns and want another.

    `sides`: by name: `original`, `synthetic` (or `synthetic-1`, `synthetic-2` ...), `holdout` where there is one, and sources that were
    added. `grids`: how each column became codes. `settings`: what was chosen, as plain data. `tables`: the tables that the sides came from, with all columns, on one schema.
    `whole`: the counts of all records, where sides and tables are samples of files.
    """

    sides: Mapping[str, AttackSide]
    grids: Mapping[str, CodeGrid]
    settings: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    whole: WholeCounts | None = None

    @classmethod
    def of(
        cls,
        original: Table,
        synthetics: Sequence[Any],
        holdout: Any = None,
        *,
        columns: Sequence[str],
        numeric: Numeric = "values",
        rare: Rare = "keep",
        tolerance: Mapping[str, float] | None = None,
        coders: Mapping[str, ColumnCoder] | None = None,
    ) -> AttackData:
        """Return the data of tables that hold the columns.

        `columns`: keys, sensitive columns and the label. `numeric`: "values": numbers are equal if they are, whatever the schema says.
        "bins": if they share a bin of the original's schema. `rare`: "keep": levels are equal if they are, whatever the schema pooled.
        "pool": those with few records in original and holdout together are one. `tolerance`: widths by column: numbers are rounded to
        multiples of the width first, and then equal or not. A missing value is a value like others. `coders`: how columns become codes, where the tables are samples and that was learnt from all records.
        """
        widths = dict(tolerance or {})
        _check(original, columns, {"numeric": numeric, "rare": rare}, widths)
        names = side_names(len(synthetics), holdout is not None)
        extra = [] if holdout is None else [holdout]
        shown = [name.replace("-", " ") for name in names[1:]]
        tables = align(original, *synthetics, *extra, names=shown)
        people = [i for i, name in enumerate(names) if name in ("original", "holdout")]
        codes: list[dict[str, Ints]] = [{} for _ in tables]
        grids = {}
        for name in dict.fromkeys(columns):
            coder = (
                column_coder(
                    tables, name, people=people, numeric=numeric, rare=rare, width=widths.get(name)
                )
                if coders is None
                else coders[name]
            )
            grids[name] = coder.grid
            for own, table in zip(codes, tables, strict=True):
                own[name] = coder.code(table)
        sides = {
            name: AttackSide(own, t.n_rows)
            for name, own, t in zip(names, codes, tables, strict=True)
        }
        chosen = {"numeric": numeric, "rare": rare, "tolerance": widths}
        return cls(sides, grids, chosen, dict(zip(names, tables, strict=True)))

    @property
    def synthetics(self) -> tuple[str, ...]:
        """The names of the synthetic sides."""
        return tuple(name for name in self.sides if name.startswith("synthetic"))

    def keys(self, side: str, columns: Sequence[str]) -> list[Ints]:
        """Return the codes of key columns."""
        return [self.sides[side].codes[name] for name in columns]

    def values(self, side: str, column: str) -> Ints:
        """Return the codes of a sensitive column."""
        return self.sides[side].codes[column]

    def coarse(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return how columns are compared that are not compared by their values, in words: none where all are."""
        return tuple(
            f"{name} {self.grids[name].coarse}" for name in columns if self.grids[name].coarse
        )

    def rarely_released(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of numbers that are compared exactly, though few people's number is one that was released."""
        original, out = self.tables["original"], []
        for name in columns:
            if original.schema[name].kind not in NUMERIC_KINDS or self.grids[name].coarse:
                continue
            codes, people = self._counted("original", name)
            released = np.unique(
                np.concatenate([self._counted(side, name)[0] for side in self.synthetics])
            )
            people = np.where(codes < self.grids[name].n_values, people, 0)
            if people.sum() and people[np.isin(codes, released)].sum() / people.sum() < RARELY:
                out.append(name)
        return tuple(out)

    def _counted(self, side: str, name: str) -> tuple[Ints, Ints]:
        """Return codes of a column and how many rows each stands for: of all records, where the sides are samples."""
        if self.whole is None:
            codes = self.values(side, name)
            return codes, np.ones(len(codes), dtype=np.int64)
        found = self.whole.column(side, name)
        return found.codes[0], found.counts

    def with_marginals(
        self, n_rows: int, seed: Seed = None, *, name: str = "marginals"
    ) -> AttackData:
        """Return the data with a source whose columns are drawn from the original's, each by itself."""
        rng = generator(seed)
        original = self.sides["original"]
        codes = {
            column: array[rng.integers(0, original.n_rows, n_rows)]
            for column, array in original.codes.items()
        }
        return self._with(name, codes, n_rows)

    def with_label_only(
        self,
        n_rows: int,
        sensitive: Sequence[str],
        label: str,
        seed: Seed = None,
        *,
        name: str = "label_only",
    ) -> AttackData:
        """Return the data with a source that keeps everything but what links sensitive columns to others than the label.

        Records of the original are drawn as they are, less their sensitive values: each of these is drawn anew from the
        original's records with the same label. It is what must leak if the label is to keep its relation.
        """
        rng = generator(seed)
        original = self.sides["original"]
        rows = rng.integers(0, original.n_rows, n_rows)
        codes = {column: array[rows] for column, array in original.codes.items()}
        # Labels are alike as the schema has them: a number that nobody shares would give each record its own values back.
        labels = self.tables["original"].code(label).astype(np.int64)
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        starts = np.cumsum(sizes) - sizes
        drawn = labels[rows]
        for column in sensitive:
            if column != label:
                like = order[starts[drawn] + (rng.random(n_rows) * sizes[drawn]).astype(np.int64)]
                codes[column] = original.codes[column][like]
        return self._with(name, codes, n_rows)

    def with_union(self, sides: Sequence[str], *, name: str) -> AttackData:
        """Return the data with a source that has the rows of several sides."""
        codes = {
            column: np.concatenate([self.sides[side].codes[column] for side in sides])
            for column in self.grids
        }
        data = self._with(name, codes, sum(self.sides[side].n_rows for side in sides))
        return (
            data
            if self.whole is None
            else replace(data, whole=self.whole.with_union(sides, name=name))
        )

    def with_last_as(self, name: str) -> AttackData:
        """Return the data with the last of the synthetic sides under another name: a release of another kind."""
        *rest, last = self.synthetics
        named = {last: name, **({rest[0]: "synthetic"} if len(rest) == 1 else {})}
        return replace(
            self,
            sides={named.get(side, side): one for side, one in self.sides.items()},
            tables={named.get(side, side): one for side, one in self.tables.items()},
        )

    def _with(self, name: str, codes: Mapping[str, Ints], n_rows: int) -> AttackData:
        return replace(self, sides={**self.sides, name: AttackSide(codes, n_rows)})

    def __repr__(self) -> str:
        return f"AttackData({', '.join(f'{name} {side.n_rows:,}' for name, side in self.sides.items())})"


def side_names(synthetics: int, holdout: bool) -> list[str]:
    """Return the names of the sides that tables are, in their order."""
    many = [f"synthetic-{i}" for i in range(1, synthetics + 1)] if synthetics > 1 else ["synthetic"]
    return ["original", *many, *["holdout"] * holdout]


def _check(
    original: Table, columns: Sequence[str], ways: Mapping[str, object], widths: Mapping[str, float]
) -> None:
    for name in (*columns, *widths):
        if name not in original.schema.names:
            raise unknown_name("column", name, original.schema.names)
    for what, way in ways.items():
        words, known = WAYS[what]
        if way not in known:
            raise unknown_name(words, way, known)
    for name, width in widths.items():
        if not width > 0 or not np.isfinite(width):
            raise InputError(f"The tolerance of '{name}' must be a number above 0. Got {width}.")
        if original.schema[name].kind not in NUMERIC_KINDS:
            raise InputError(
                f"A tolerance is for numbers. '{name}' is {original.schema[name].kind}."
            )


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


def column_coder(
    tables: Sequence[Table | LongTable],
    name: str,
    *,
    people: Sequence[int],
    numeric: Numeric,
    rare: Rare,
    width: float | None,
) -> ColumnCoder:
    """Return how a column of tables becomes codes.

    `tables` share a schema, the original's; they are in memory, or read part by part. `people`: the positions of the tables whose people are
    attacked, by whose counts together levels are rare. `width`: numbers are rounded to multiples of it.
    """
    if isinstance(tables[0].schema[name].codec, Categories):
        return _levels(tables, name, people, rare)
    if tables[0].schema[name].kind in NUMERIC_KINDS and (numeric == "values" or width is not None):
        return _numbers(tables, name, width)
    return _bins(tables, name)


def _summaries(tables: Sequence[Table | LongTable], name: str, task: Summary) -> Iterator[pa.Table]:
    """Yield what a task makes of a column of tables, here or where they are."""
    for table in tables:
        yield from summaries_of(table, task, [name])


def _numbers(tables: Sequence[Table | LongTable], name: str, width: float | None) -> ColumnCoder:
    codec = tables[0].schema[name].fitted_codec

    numbers = _RoundedNumbers(name, width)
    every = np.zeros(0)
    for own in _summaries(tables, name, _DistinctNumbers(numbers, codec.size)):
        every = np.union1d(every, _first(own))

    def code(part: Table) -> Ints:
        values = numbers(part)
        there = ~np.isnan(values)
        # Infinite numbers have no code of their own: they stand with the missing ones.
        gaps = len(every) + np.maximum(part.code(name).astype(np.int64) - codec.n_values, 0)
        return np.where(there, np.searchsorted(every, np.where(there, values, 0.0)), gaps).astype(
            np.int64
        )

    n_gaps = max(codec.size - codec.n_values, 1)
    middle = float(every.mean()) if len(every) else 0.0
    coarse = "" if width is None else f"to multiples of {width:g}"
    return ColumnCoder(
        CodeGrid(
            len(every) + n_gaps,
            len(every),
            np.concatenate([every, np.full(n_gaps, middle)]),
            coarse=coarse,
        ),
        code,
    )


def _bins(tables: Sequence[Table | LongTable], name: str) -> ColumnCoder:
    column = tables[0].schema[name]
    codec = column.fitted_codec
    distinct, used = np.zeros(0), np.zeros(codec.size, dtype=bool)
    for own in _summaries(tables, name, _DistinctNumbers(_RoundedNumbers(name, None), codec.size)):
        distinct = np.union1d(distinct, _first(own))
        used |= np.frombuffer(own.column("used")[0].as_py(), dtype=bool)
    joined = len(distinct) > np.count_nonzero(used[: codec.n_values])
    numbers = np.arange(codec.size, dtype=np.float64)
    grid = CodeGrid(
        codec.size, codec.n_values, numbers, tuple(level_labels(column)), "in bins" * bool(joined)
    )
    return ColumnCoder(grid, lambda part: part.code(name).astype(np.int64))


@dataclass(frozen=True)
class _RoundedNumbers:
    """The numbers of a column of a part, NaN where missing; to multiples of a width, if there is one. It may travel."""

    name: str
    width: float | None

    def __call__(self, part: Table) -> NDArray[np.float64]:
        values = numbers_of(part, self.name)
        return values if self.width is None else np.round(values / self.width) * self.width


@dataclass(frozen=True)
class _DistinctNumbers:
    """What finds the distinct numbers of parts, and which codes of the schema they use. It may travel."""

    numbers: _RoundedNumbers
    size: int

    def __call__(self, parts: Iterator[Table]) -> pa.Table:
        every, used = np.zeros(0), np.zeros(self.size, dtype=bool)
        for part in parts:
            values = self.numbers(part)
            every = np.union1d(every, values[~np.isnan(values)])
            used[part.code(self.numbers.name)] = True
        return pa.table({"numbers": [every], "used": [used.tobytes()]})


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
    tables: Sequence[Table | LongTable], name: str, people: Sequence[int], rare: Rare
) -> ColumnCoder:
    column = tables[0].schema[name]
    codec = column.fitted_codec
    assert isinstance(codec, Categories)
    behind = (
        {
            word
            for own in _summaries(tables, name, _WordsBehindOther(name, codec))
            for word in own.column("words").to_pylist()
        }
        if codec.other
        else set()
    )
    levels = _in_order(
        codec.levels,
        {word for word in behind if word is not None and word not in codec.levels},
        ordered=column.ordered,
    )
    n_levels = len(levels)
    null = codec.null or None in behind
    place = {level: code for code, level in enumerate(levels)}
    moved = np.zeros(codec.size, dtype=np.int64)  # from codes of the schema
    moved[: len(codec.levels)] = [place[level] for level in codec.levels]
    moved[codec.n_values :] = (
        n_levels + (null - codec.null) + np.arange(codec.size - codec.n_values)
    )

    def code(part: Table) -> Ints:
        own = part.code(name).astype(np.int64)
        out = moved[own]
        if codec.other:
            words, which = _behind_other(part, name, codec)
            out[own == len(codec.levels)] = np.array(
                [n_levels if w is None else place[w] for w in words], dtype=np.int64
            )[which]
        return out

    names = [*map(str, levels), *level_labels(column)[codec.n_values - (null and not codec.null) :]]
    if null and not codec.null:
        names[n_levels] = "(missing)"
    size = n_levels + null + len(codec.missing)
    if rare == "pool" and column.kind != "boolean":
        fixed = np.isin(
            np.arange(n_levels), [place[level] for level in column.levels or () if level in place]
        )
        counts = np.zeros(size, dtype=np.int64)
        for own in _summaries([tables[i] for i in people], name, _CodeCounts(code, size)):
            counts += own.column("counts").to_numpy()
        rarely = (counts[:n_levels] < tables[0].schema.rare_below) & ~fixed
        if rarely.any():
            return _pooled(code, rarely, names, size)
    return ColumnCoder(
        CodeGrid(size, n_levels, np.arange(size, dtype=np.float64), tuple(names[:size])), code
    )


@dataclass(frozen=True, eq=False)
class _WordsBehindOther:
    """What finds the values that the schema's code (other) stands for in parts. It may travel."""

    name: str
    codec: Categories

    def __call__(self, parts: Iterator[Table]) -> pa.Table:
        words: dict[Any, None] = {}
        for part in parts:
            words |= dict.fromkeys(_behind_other(part, self.name, self.codec)[0])
        return pa.table({"words": pa.array(list(words)) if words else pa.nulls(0)})


@dataclass(frozen=True, eq=False)
class _CodeCounts:
    """What counts codes of parts. It may travel."""

    code: Callable[[Table], Ints]
    size: int

    def __call__(self, parts: Iterator[Table]) -> pa.Table:
        return pa.table(
            {
                "counts": sum(
                    (np.bincount(self.code(part), minlength=self.size) for part in parts),
                    np.zeros(self.size, dtype=np.int64),
                )
            }
        )


def _behind_other(table: Table, name: str, codec: Categories) -> tuple[list[Any], Ints]:
    """Return the distinct values that the schema's code (other) stands for in a table, None for null, and which one each such row has."""
    if not codec.other:
        return [], np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(table.code(name) == len(codec.levels))
    values = whole_array(table.data.column(name)).take(rows).to_pylist() if len(rows) else []
    place: dict[Any, int] = {}
    which = [
        place.setdefault(None if value != value else value, len(place)) for value in values
    ]  # NaN is missing too
    return list(place), np.array(which, dtype=np.int64)


def _in_order(levels: Sequence[Any], more: set[Any], *, ordered: bool) -> list[Any]:
    """Return levels with further ones: all sorted where the levels are, else those of the schema first; (other) is last."""
    own = list(levels)
    extra = sorted(more - {OTHER}, key=str)
    with suppress(TypeError):  # words and numbers have no common order
        extra = sorted(extra)
        if not ordered and own == sorted(own):
            own, extra = sorted([*own, *extra]), []
    return [*own, *extra, *([OTHER] if OTHER in more else [])]


def _pooled(
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
        lambda part: moved[code(part)],
    )
