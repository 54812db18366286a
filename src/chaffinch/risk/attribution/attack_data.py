"""The data of an attack: all tables as whole numbers on one grid, and made-up tables to hold the attack against.

Its sides are the original, the synthetic tables, the holdout, and sources that are drawn from the original's codes: one of
independent columns, and one in which the sensitive columns know the label alone. How values become codes is said in `table/compare/values.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._base.errors import InputError, unknown_name
from ..._base.seeds import Seed, generator
from ...table.align import align
from ...table.compare.values import (
    CodedColumn,
    CodedTables,
    CodeGrid,
    ColumnCoder,
    Ints,
    Numeric,
    Rare,
    column_coder,
)
from ...table.schema import NUMERIC_KINDS
from ...table.table import Table
from .matching import WholeCounts

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
    added. `grids`: how each column became codes. `settings`: what was chosen, as plain data. `coded`: the tables that the sides came from, with all columns, on one schema.
    `whole`: the counts of all records, where sides and tables are samples of files.
    """

    sides: Mapping[str, AttackSide]
    grids: Mapping[str, CodeGrid]
    settings: Mapping[str, Any] = field(default_factory=dict)
    coded: CodedTables = field(default_factory=lambda: CodedTables({}))
    whole: WholeCounts | None = None

    @classmethod
    def of(
        cls,
        original: Table,
        synthetics: Sequence[Any],
        holdout: Any = None,
        *,
        columns: Sequence[str],
        model: Any = None,
        numeric: Numeric = "values",
        rare: Rare = "keep",
        tolerance: Mapping[str, float] | None = None,
        coders: Mapping[str, ColumnCoder] | None = None,
    ) -> AttackData:
        """Return the data of tables that hold the columns.

        `columns`: keys, sensitive columns and the label. `model`: a table drawn from a released model. `numeric`: "values": numbers are equal if they are, whatever the schema says.
        "bins": if they share a bin of the original's schema. `rare`: "keep": levels are equal if they are, whatever the schema pooled.
        "pool": those with few records in original and holdout together are one. `tolerance`: widths by column: numbers are rounded to
        multiples of the width first, and then equal or not. A missing value is a value like others. `coders`: how columns become codes, where the tables are samples and that was learnt from all records.
        """
        widths = dict(tolerance or {})
        _check(original, columns, {"numeric": numeric, "rare": rare}, widths)
        names = side_names(len(synthetics), holdout is not None, model is not None)
        further = [table for table in (model, holdout) if table is not None]
        shown = [name.replace("-", " ") for name in names[1:]]
        tables = align(original, *synthetics, *further, names=shown)
        by_value = numeric == "values" and rare == "keep"
        known = dict(coders or {})
        coded = CodedTables(
            dict(zip(names, tables, strict=True)), widths, known if by_value else {}
        )
        people = [i for i, name in enumerate(names) if name in ("original", "holdout")]

        def coded_as_chosen(name: str) -> CodedColumn:
            if by_value:
                return coded.column(name)
            coder = known.get(name) or column_coder(
                tables, name, people=people, numeric=numeric, rare=rare, width=widths.get(name)
            )
            return coder.coded(coded.tables)

        attacked = {name: coded_as_chosen(name) for name in dict.fromkeys(columns)}
        sides = {
            side: AttackSide(
                {name: column.codes[side].astype(np.int64) for name, column in attacked.items()},
                t.n_rows,
            )
            for side, t in coded.tables.items()
        }
        grids = {name: column.grid for name, column in attacked.items()}
        return cls(sides, grids, {"numeric": numeric, "rare": rare, "tolerance": widths}, coded)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables that the sides came from."""
        return self.coded.tables

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

    def _with(self, name: str, codes: Mapping[str, Ints], n_rows: int) -> AttackData:
        return replace(self, sides={**self.sides, name: AttackSide(codes, n_rows)})

    def __repr__(self) -> str:
        return f"AttackData({', '.join(f'{name} {side.n_rows:,}' for name, side in self.sides.items())})"


def side_names(synthetics: int, holdout: bool, model: bool = False) -> list[str]:
    """Return the names of the sides that tables are, in their order."""
    many = [f"synthetic-{i}" for i in range(1, synthetics + 1)] if synthetics > 1 else ["synthetic"]
    return ["original", *many, *["model"] * model, *["holdout"] * holdout]


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
