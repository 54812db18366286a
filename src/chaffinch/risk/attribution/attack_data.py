"""The data of an attack: all tables as whole numbers on one grid, and made-up tables to hold the attack against.

Its sides are the original, the synthetic tables, the holdout, and sources that are drawn from the original's codes: one of
independent columns, and one in which the sensitive columns know the label alone. How values become codes is said in `table/compare/values.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.arrays import Ints
from ..._base.errors import InputError, unknown_name
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, child, seed_sequence
from ...counts.counter import counter_of
from ...counts.marginal import Marginal
from ...stats.references import (
    DrawIndependentCodes,
    RedrawByLabel,
    codes_by_label,
    resample,
    stream_of,
)
from ...stats.sampled import SampledRecords, hash_key
from ...table.align import align
from ...table.codes import Codes
from ...table.compare.values import CodedTables, CodeGrid, ColumnCoder, column_coder
from ...table.groups import code_column
from ...table.rows import Names, Rows, Step
from ...table.sample import choose_slice
from ...table.schema import NUMERIC_KINDS, Schema
from ...table.settings import Numeric, Rare
from ...table.table import Table
from .matching import KeyCounts, WholeCounts, counts_of_marginal

if TYPE_CHECKING:
    from ..settings import RiskSettings

RARELY = 0.5
"""Exact numbers are said to match rarely where those of fewer people than this share are among the released ones."""


@dataclass(frozen=True, eq=False, repr=False)
class AttackSide:
    """The codes of one table, by column."""

    codes: Mapping[str, Ints]
    n_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class AttackData:
    """Tables on one grid, for attacks that know some columns and want another.

    `by_side`: by name: `original`, `synthetic` (or `synthetic-1`, `synthetic-2` ...), `holdout` where there is one, and sources that were
    added. `grids`: how each column became codes. `settings`: what was chosen, as plain data. `coded`: the tables that the sides came from, with all columns, on one schema.
    `all_counts`: the counts of all records, where sides and tables are samples of files.
    """

    by_side: Mapping[str, AttackSide]
    grids: Mapping[str, CodeGrid]
    settings: Mapping[str, Any] = field(default_factory=dict)
    coded: CodedTables = field(default_factory=lambda: CodedTables({}))
    all_counts: WholeCounts | None = None

    @classmethod
    def from_tables(
        cls,
        original: Rows,
        synthetics: Sequence[Any],
        holdout: Any = None,
        *,
        columns: Sequence[str],
        numeric: Numeric = "values",
        rare: Rare = "keep",
        tolerance: Mapping[str, float] | None = None,
    ) -> AttackData:
        """Return the data of tables in memory that hold the columns.

        `columns`: keys, sensitive columns and the label. `numeric`: "values": numbers are equal if they are, whatever the schema says.
        "bins": if they share a bin of the original's schema. `rare`: "keep": levels are equal if they are, whatever the schema pooled.
        "pool": those with few records in original and holdout together are one. `tolerance`: widths by column: numbers are rounded to
        multiples of the width first, and then equal or not. A missing value is a value like others.
        """
        widths = dict(tolerance or {})
        _check(original, columns, widths)
        rows = align_sides(original, synthetics, holdout)
        coders = column_coders(rows, columns, numeric=numeric, rare=rare, tolerance=widths)
        chosen = {"numeric": numeric, "rare": rare, "tolerance": widths}
        return cls.from_coders(
            {side: side_rows.table() for side, side_rows in rows.items()}, coders, chosen
        )

    @classmethod
    def from_coders(
        cls,
        tables: Mapping[str, Table],
        coders: Mapping[str, ColumnCoder],
        settings: Mapping[str, Any],
    ) -> AttackData:
        """Return the data of tables on one grid, given how columns become codes."""
        by_value = settings["numeric"] == "values" and settings["rare"] == "keep"
        coded = CodedTables(tables, settings["tolerance"], coders if by_value else {})
        attacked = {
            name: coded.column(name) if by_value else coder.coded(tables)
            for name, coder in coders.items()
        }
        coded_sides = {
            side: AttackSide(
                {name: column.codes[side].astype(np.int64) for name, column in attacked.items()},
                table.n_rows,
            )
            for side, table in tables.items()
        }
        grids = {name: column.grid for name, column in attacked.items()}
        return cls(coded_sides, grids, settings, coded)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables that the sides came from."""
        return self.coded.tables

    @property
    def synthetics(self) -> tuple[str, ...]:
        """The names of the synthetic sides."""
        return tuple(name for name in self.by_side if name.startswith("synthetic"))

    def keys(self, side: str, columns: Sequence[str]) -> list[Ints]:
        """Return the codes of key columns."""
        return [self.by_side[side].codes[name] for name in columns]

    def values(self, side: str, column: str) -> Ints:
        """Return the codes of a sensitive column."""
        return self.by_side[side].codes[column]

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
        if self.all_counts is None:
            codes = self.values(side, name)
            return codes, np.ones(len(codes), dtype=np.int64)
        marginal = self.all_counts.column(side, name)
        return marginal.codes[0], marginal.counts

    def with_marginals(
        self, n_rows: int, seed: Seed = None, *, name: str = "marginals"
    ) -> AttackData:
        """Return the data with a source whose columns are drawn from the original's, each by itself."""
        original = self._key_table()
        counts = {
            column: np.unique(original.code(column), return_counts=True) for column in self.grids
        }
        draw = independent_columns(counts, list(self.grids), original.schema, n_rows, seed)
        return self._with(name, original.draw_rows(draw, original.schema, n_rows), n_rows)

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
        original = self._key_table(label)
        hidden = [column for column in sensitive if column != label]
        pairs = counter_of(original).marginals([(LABEL, column) for column in hidden])
        redrawn = label_only_rows(original, dict(zip(hidden, pairs, strict=True)), n_rows, seed)
        return self._with(name, redrawn.table(), n_rows)

    def _key_table(self, label: str | None = None) -> Table:
        """The codes of the original as a table; with those that the schema has for the label, if one is named."""
        sizes = {name: grid.size for name, grid in self.grids.items()}
        codes: list[NDArray[Any]] = list(self.by_side["original"].codes.values())
        if label is not None:
            # Labels are alike as the schema has them: a number that nobody shares would give each record its own values back.
            sizes[LABEL] = self.tables["original"].schema[label].size
            codes.append(self.tables["original"].code(label))
        schema = key_schema(sizes)
        return Table(schema, pa.table({}), Codes.from_columns(codes, schema.sizes))

    def with_union(self, names: Sequence[str], *, name: str) -> AttackData:
        """Return the data with a source that has the rows of several sides."""
        codes = {
            column: np.concatenate([self.by_side[side].codes[column] for side in names])
            for column in self.grids
        }
        n_rows = sum(self.by_side[side].n_rows for side in names)
        data = replace(self, by_side={**self.by_side, name: AttackSide(codes, n_rows)})
        return (
            data
            if self.all_counts is None
            else replace(data, all_counts=self.all_counts.with_union(names, name=name))
        )

    def _with(self, name: str, table: Table, n_rows: int) -> AttackData:
        codes = {column: table.code(column).astype(np.int64) for column in self.grids}
        return replace(self, by_side={**self.by_side, name: AttackSide(codes, n_rows)})


def side_names(synthetics: int, holdout: bool, model: bool = False) -> list[str]:
    """Return the names of the sides that tables are, in their order."""
    many = [f"synthetic-{i}" for i in range(1, synthetics + 1)] if synthetics > 1 else ["synthetic"]
    return ["original", *many, *["model"] * model, *["holdout"] * holdout]


def align_sides(
    original: Rows, synthetics: Sequence[Any], holdout: Any = None, *, model: Any = None
) -> dict[str, Rows]:
    """Return the sides of an attack on one grid, by their names; `model`: a table drawn from a released model."""
    names = side_names(len(synthetics), holdout is not None, model is not None)
    others = [*synthetics, *(table for table in (model, holdout) if table is not None)]
    aligned = align(original, *others, names=[name.replace("-", " ") for name in names[1:]])
    return dict(zip(names, aligned, strict=True))


def column_coders(
    rows: Mapping[str, Rows],
    columns: Sequence[str],
    *,
    numeric: Numeric,
    rare: Rare,
    tolerance: Mapping[str, float],
) -> dict[str, ColumnCoder]:
    """Return how columns of the sides become codes: original and holdout are the people who are attacked."""
    people = [i for i, side in enumerate(rows) if side in ("original", "holdout")]
    return {
        name: column_coder(
            list(rows.values()),
            name,
            people=people,
            numeric=numeric,
            rare=rare,
            width=tolerance.get(name),
        )
        for name in dict.fromkeys(columns)
    }


# Keys and sensitive values as rows of codes, in any engine, and the reference sources of attacks.

LABEL = "\x00label"
"""The name of the label's codes of the schema beside those by value: none that a file has."""


def key_schema(sizes: Mapping[str, int]) -> Schema:
    """Return the schema of codes of which only the numbers matter."""
    return Schema(tuple(code_column(name, size) for name, size in sizes.items()))


@dataclass(frozen=True, eq=False)
class CodeByValue(Step):
    """Makes a chunk of codes by value, and of the codes that the schema has for a label."""

    coders: Mapping[str, ColumnCoder]
    schema: Schema
    label: str | None = None

    values = True

    def needs(self, columns: Names) -> Names:
        """Return the columns that are coded; the label for its codes."""
        wanted = set(self.schema.names if columns is None else columns)
        label = [self.label] if self.label is not None and LABEL in wanted else []
        return {*(name for name in self.coders if name in wanted), *label}

    def __call__(self, chunk: Table) -> Table:
        nothing = np.zeros(chunk.n_rows, dtype=np.uint8)
        known = set(chunk.data.column_names)
        codes: list[NDArray[Any]] = [
            coder.code(chunk) if name in known else nothing for name, coder in self.coders.items()
        ]
        if self.label is not None:
            codes.append(chunk.code(self.label) if self.label in known else nothing)
        coded = Codes.from_columns(codes, self.schema.sizes)
        return Table(self.schema, pa.table({}), coded, first_row=chunk.first_row)


def independent_columns(
    counts: Mapping[str, tuple[Ints, Ints]],
    order: Sequence[str],
    schema: Schema,
    n_rows: int,
    seed: Seed,
) -> DrawIndependentCodes:
    """Return what draws rows of independent columns, given codes and their counts; a column's draws hang on its place in an order."""
    columns = {name: (codes, np.cumsum(number)) for name, (codes, number) in counts.items()}
    streams = {name: number for number, name in enumerate(order)}
    stream = stream_of(seed_sequence(seed))
    return DrawIndependentCodes(columns, streams, schema, n_rows, stream)


def label_only_rows(original: Rows, pairs: Mapping[str, Marginal], n_rows: int, seed: Seed) -> Rows:
    """Return records of an original's codes drawn with replacement, with sensitive ones drawn anew by label; `pairs`: how many records have each label and code."""
    root = seed_sequence(seed)
    n_labels = original.schema[LABEL].size
    columns = {}
    for name, marginal in pairs.items():
        cells, counts = marginal.nonzero()
        columns[name] = codes_by_label(cells.astype(np.int64), counts.astype(np.int64), n_labels)
    streams = {name: 1 + number for number, name in enumerate(original.schema.names)}
    step = RedrawByLabel(LABEL, columns, streams, stream_of(root))
    return resample(original, n_rows, root).map(step, original.schema, n_rows=n_rows)


def whole_counts(
    rows: Mapping[str, Rows],
    coders: Mapping[str, ColumnCoder],
    settings: RiskSettings,
    root: np.random.SeedSequence,
) -> WholeCounts:
    """Return the counts of all records by keys and sensitive value, and of the sources that attacks are held against."""
    cliques = [
        (*(k for k in settings.keys if k != wanted), wanted) for wanted in settings.sensitive
    ]
    columns = [name for name in coders if any(name in clique for clique in cliques)]
    sizes = {name: coders[name].grid.size for name in coders}
    schema = key_schema(sizes)
    coded = {
        side: side_rows.map(CodeByValue(coders, schema), schema) for side, side_rows in rows.items()
    }
    n_rows = {side: side_rows.n_rows for side, side_rows in rows.items()}
    n_drawn = next(n for side, n in n_rows.items() if side.startswith("synthetic"))
    cells: dict[tuple[str, str], KeyCounts] = {}

    def count(side: str, rows: Rows) -> None:
        marginals = counter_of(rows).marginals(cliques)
        for clique, marginal in zip(cliques, marginals, strict=True):
            cells[side, clique[-1]] = counts_of_marginal(marginal, clique)

    for side, side_rows in coded.items():
        count(side, side_rows)
    counts_of_all = WholeCounts(cells, {**n_rows, "marginals": n_drawn, "label_only": n_drawn})
    singles = {name: counts_of_all.column("original", name) for name in columns}
    counts = {name: (side_rows.codes[0], side_rows.counts) for name, side_rows in singles.items()}
    bare = key_schema({name: sizes[name] for name in columns})
    draw = independent_columns(counts, list(coders), bare, n_drawn, child(root, 1))
    count("marginals", rows["original"].draw_rows(draw, bare, n_drawn))
    if settings.label is not None:
        schema = key_schema(sizes | {LABEL: rows["original"].schema[settings.label].size})
        labelled = rows["original"].map(CodeByValue(coders, schema, settings.label), schema)
        hidden = [name for name in settings.sensitive if name != settings.label]
        pairs = counter_of(labelled).marginals([(LABEL, name) for name in hidden])
        by_column = dict(zip(hidden, pairs, strict=True))
        count("label_only", label_only_rows(labelled, by_column, n_drawn, child(root, 2)))
    return counts_of_all


def data_of_rows(
    rows: Mapping[str, Rows],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    *,
    progress: Progress = silent,
) -> tuple[AttackData, SampledRecords | None]:
    """Return the data of a study of sides on one grid, and what the sample in them is, where they are not in memory: counts are of all records then.

    The sample is one slice of the space of rows (`table.sample`): all rows of all tables whose values hash into it. A copy of a person's row is then
    in the sample exactly where the person is, so tests of whole rows see of those people what they would see of all.
    """
    ways = {"numeric": settings.numeric, "rare": settings.rare}
    _check(rows["original"], settings.columns, settings.tolerance)
    progress("choosing a sample", -1)
    tables, chosen_by = choose_slice(rows, settings.sample_rows, key=hash_key(child(root, _SAMPLE)))
    if not all(table.n_rows for table in tables.values()):
        raise InputError(
            f"A sample of {settings.sample_rows:,} records of the largest table has none of another. Raise --sample-rows, or pass --engine memory."
        )
    coders = column_coders(
        rows,
        settings.columns,
        numeric=settings.numeric,
        rare=settings.rare,
        tolerance=settings.tolerance,
    )
    data = AttackData.from_coders(tables, coders, {**ways, "tolerance": dict(settings.tolerance)})
    if rows["original"].in_memory:
        return with_references(data, settings, root), None
    if settings.keys:
        progress("counting keys and values", -1)
        data = replace(data, all_counts=whole_counts(rows, coders, settings, root))
    sample = SampledRecords.from_tables(tables, rows, chosen_by, settings.threshold)
    return with_references(data, settings, root), sample


def with_references(
    data: AttackData, settings: RiskSettings, root: np.random.SeedSequence
) -> AttackData:
    """Return the data with the sources that attacks are held against: independent columns, and the label alone where there is one."""
    if not data.grids:
        return data
    n_rows = data.by_side[data.synthetics[0]].n_rows
    data = data.with_marginals(n_rows, child(root, 1))
    if settings.label is None:
        return data
    hidden = [name for name in settings.sensitive if name != settings.label]
    return data.with_label_only(n_rows, hidden, settings.label, child(root, 2))


_SAMPLE = 11
"""The random stream that the sample is chosen by; attacks have their own."""


def _check(original: Rows, columns: Sequence[str], widths: Mapping[str, float]) -> None:
    for name in (*columns, *widths):
        if name not in original.schema.names:
            raise unknown_name("column", name, original.schema.names)
    for name, width in widths.items():
        if not width > 0 or not np.isfinite(width):
            raise InputError(f"The tolerance of '{name}' must be a number above 0. Got {width}.")
        if original.schema[name].kind not in NUMERIC_KINDS:
            raise InputError(
                f"A tolerance is for numbers. '{name}' is {original.schema[name].kind}."
            )
