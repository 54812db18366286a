"""The population that subsets are drawn from, each combination of values once, and whom to attack in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ...table.codes import Codes
from ...table.table import Table
from .draws import check_sizes
from .generator import coded, value_reader

if TYPE_CHECKING:
    from ..membership.ranking import Ranking


Duplicates = Literal["drop", "keep"]
Equal = Literal["values", "codes"]


@dataclass(frozen=True, eq=False)
class World:
    """A population D, the rows of it to attack, and the size of the subsets X that a publisher draws.

    `table`: the population. It is taken to be public. `targets`: row numbers of the people under attack. `rows`: the size of a subset.
    `duplicates`: records left out because another has the same values. `equal`: what makes two records the same: their values, or their codes.
    `ranked`: how many targets came from which ranking; empty where they were named.
    """

    table: Table
    targets: NDArray[np.int64]
    rows: int
    duplicates: int
    equal: Equal = "values"
    ranked: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_population(self) -> int:
        """The size of the population."""
        return self.table.n_rows

    @property
    def share(self) -> float:
        """The share of the population that is in a subset: |X| / |D|, Sedlmeyr's (2024) baseline, equation 1."""
        return self.rows / self.table.n_rows

    @cached_property
    def codes(self) -> NDArray[Any]:
        """The population's codes, (records, columns)."""
        return coded(self.table)

    @cached_property
    def records(self) -> NDArray[Any]:
        """What tells records apart, (records, columns): a number for each distinct value, or the codes."""
        return _records(self.table, self.equal)

    @property
    def target_codes(self) -> NDArray[Any]:
        """The codes of the people under attack, (targets, columns)."""
        return np.asarray(self.codes[self.targets])


def world_of(
    table: Table,
    population: Table | None = None,
    *,
    targets: int | NDArray[np.int64] = 50,
    rows: int | None = None,
    duplicates: Duplicates = "drop",
    ranking: Ranking = "union",
    equal: Equal = "values",
    threads: int | None = None,
) -> World:
    """Return the population of a table, and the most vulnerable records of the table as targets.

    Without a `population` the table itself is one, and subsets have a fifth of its rows, as in Sedlmeyr (2024). With one, both together are
    the population, subsets are as large as the table, and targets are among the table's own records.

    `targets`: how many of the most vulnerable records to attack, or the numbers of the table's rows to attack. `rows`: the size of
    subsets. `duplicates`: "drop": each combination of values once, as Sedlmeyr (2024) assumes. "keep": only the other copies of targets
    are left out. `ranking`: who is most vulnerable: by the distance of codes to the nearest others ("hamming"), by that of mixed types
    ("cosine"), by the most extreme number ("extremes"), by the rarity of single values ("rarity"), or by all in turn ("union").
    `equal`: whether records are the same if their values are, or if their codes are.
    """
    if duplicates not in ("drop", "keep"):
        raise unknown_name("way with duplicates", duplicates, ("drop", "keep"))
    both = table if population is None else _joined(table, population)
    size = (
        rows
        if rows is not None
        else table.n_rows
        if population is not None
        else max(1, table.n_rows // 5)
    )
    records = _records(both, equal)
    _, first, place = np.unique(records, axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    chosen: NDArray[np.int64] | None = None
    ranked: dict[str, int] = {}
    if not isinstance(targets, int | np.integer):
        chosen = np.asarray(targets, dtype=np.int64)
        if chosen.ndim != 1 or len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= table.n_rows:
            raise InputError(
                f"targets must be numbers of rows of the table, 0 to {table.n_rows - 1:,}."
            )
        if len(np.unique(place[chosen])) < len(chosen):
            raise InputError(
                "targets must be different records. Got some twice, or two with the same values."
            )
    if duplicates == "drop":
        distinct_rows = np.sort(first)
    else:
        twins = np.isin(place, [] if chosen is None else place[chosen]) & (
            np.arange(len(place)) != first[place]
        )
        distinct_rows = np.flatnonzero(~twins)
    if chosen is None:
        from ..membership.ranking import targets_by

        check_sizes(len(distinct_rows), size, int(targets))
        own = (distinct_rows < table.n_rows) & (
            distinct_rows == first[place[distinct_rows]]
        )  # of copies the first, so that no two targets are alike
        chosen, ranked = targets_by(
            ranking, both.take(distinct_rows), own, int(targets), threads=threads
        )
        if duplicates == "keep":
            again = world_of(
                table,
                population,
                targets=distinct_rows[chosen],
                rows=rows,
                duplicates="keep",
                equal=equal,
            )
            return replace(again, ranked=ranked)
    else:
        chosen = np.searchsorted(distinct_rows, first[place[chosen]])
    check_sizes(len(distinct_rows), size, len(chosen))
    return World(
        both.take(distinct_rows), chosen, size, len(records) - len(distinct_rows), equal, ranked
    )


def _records(table: Table, equal: Equal) -> NDArray[Any]:
    """Numbers that are equal where two records are the same in a column."""
    if equal == "codes":
        return coded(table)
    return value_reader(table).read(table).codes


def _joined(table: Table, population: Table) -> Table:
    """Both tables as one, on the grid of the first."""
    names = table.schema.names
    for name in names:
        if (
            name not in population.schema.names
            or population.schema[name].codec != table.schema[name].codec
        ):
            raise InputError(
                f"Column '{name}' of the population has other levels or bins than that of the table. Read it with the table's "
                "schema: chaffinch.read(population, schema=table.schema)."
            )
    fields = pa.schema([table.data.schema.field(name) for name in names])
    data = pa.concat_tables([table.data.select(names), population.data.select(names).cast(fields)])
    codes = [np.concatenate([table.code(name), population.code(name)]) for name in names]
    columns = tuple(table.schema[name] for name in names)
    schema = replace(
        table.schema, columns=columns, rows=None if table.schema.rows is None else data.num_rows
    )
    return Table(schema, data, Codes.of(codes, schema.sizes), table.notes, table.origin)
