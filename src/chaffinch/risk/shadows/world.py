"""The population that subsets are drawn from, each combination of values once; whom to attack in it; and which records are in which shadow.

Designs are drawn once, before any fit:

`shared`: every shadow serves every target. Each target is in exactly half of the shadows (or in the share of the population that a
subset has), chosen independently of the other targets; the rest of a subset is drawn from the other records. A thousand pairs
for each of fifty targets are 100,000 fits; the same evidence is in 2,000 shared ones.

`neighbours`: for each target pairs of subsets that differ in one record: the target in one, another record in its place in the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.options import takes
from ...table.codes import Codes
from ...table.compare.classes import class_ids
from ...table.table import Table
from .generator import code_array, value_reader
from .settings import AttackTargets, TargetShare

if TYPE_CHECKING:
    from ...keywords import AttackTargetsOptions

Equal = Literal["values", "codes"]
Targets = int | Sequence[int]
"""How many records to attack, or the numbers of their rows."""


@dataclass(frozen=True, eq=False)
class AttackPopulation:
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
        return code_array(self.table)

    @cached_property
    def records(self) -> NDArray[Any]:
        """What distinguishes records, (records, columns): a number for each distinct value, or the codes."""
        return _records(self.table, self.equal)

    @property
    def target_codes(self) -> NDArray[Any]:
        """The codes of the people under attack, (targets, columns)."""
        return np.asarray(self.codes[self.targets])


@takes(AttackTargets)
def world_of(
    table: Table,
    population: Table | None = None,
    *,
    settings: AttackTargets | None = None,
    equal: Equal = "values",
    threads: int | None = None,
    **options: Unpack[AttackTargetsOptions],
) -> AttackPopulation:
    """Return the population of a table, and the most vulnerable records of the table as targets.

    Without a `population` the table itself is one, and subsets have a fifth of its rows, as in Sedlmeyr (2024). With one, both together are
    the population, subsets are as large as the table, and targets are among the table's own records.

    `settings`, `options`: an `AttackTargets`, or its options by name. `equal`: whether records are the same if their values are, or if
    their codes are.
    """
    settings = AttackTargets.chosen(settings, options)
    targets, rows = settings.targets, settings.rows
    both = table if population is None else _join_tables(table, population)
    size = (
        rows
        if rows is not None
        else table.n_rows
        if population is not None
        else max(1, table.n_rows // 5)
    )
    records = _records(both, equal)
    (record_class,) = class_ids(records)
    first = np.unique(record_class, return_index=True)[1]
    chosen: NDArray[np.int64] | None = None
    ranked: dict[str, int] = {}
    if not isinstance(targets, int):
        chosen = np.asarray(targets, dtype=np.int64)
        if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= table.n_rows:
            raise InputError(
                f"targets must be numbers of rows of the table, 0 to {table.n_rows - 1:,}."
            )
        if len(np.unique(record_class[chosen])) < len(chosen):
            raise InputError(
                "targets must be different records. Got some twice, or two with the same values."
            )
    if settings.duplicates == "drop":
        distinct_rows = np.sort(first)
    else:
        twins = np.isin(record_class, [] if chosen is None else record_class[chosen]) & (
            np.arange(len(record_class)) != first[record_class]
        )
        distinct_rows = np.flatnonzero(~twins)
    if chosen is None:
        from .vulnerability import targets_by

        assert isinstance(targets, int)
        check_sizes(len(distinct_rows), size, targets)
        is_candidate = (distinct_rows < table.n_rows) & (
            distinct_rows == first[record_class[distinct_rows]]
        )  # of copies the first, so that no two targets are alike
        chosen, ranked = targets_by(
            settings.ranking, both.take(distinct_rows), is_candidate, targets, threads=threads
        )
        if settings.duplicates == "keep":
            named = replace(settings, targets=distinct_rows[chosen].tolist())
            again = world_of(table, population, settings=named, equal=equal)
            return replace(again, ranked=ranked)
    else:
        chosen = np.searchsorted(distinct_rows, first[record_class[chosen]])
    check_sizes(len(distinct_rows), size, len(chosen))
    return AttackPopulation(
        both.take(distinct_rows), chosen, size, len(records) - len(distinct_rows), equal, ranked
    )


def _records(table: Table, equal: Equal) -> NDArray[Any]:
    """Numbers that are equal where two records are the same in a column."""
    if equal == "codes":
        return code_array(table)
    return value_reader(table).read(table).codes


def _join_tables(table: Table, population: Table) -> Table:
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
    return Table(schema, data, Codes.from_columns(codes, schema.sizes), table.notes, table.origin)


@dataclass(frozen=True, eq=False)
class Draws:
    """Subsets as row numbers of the population, and who is in them.

    `rows`: (shadows, rows of a subset), ascending in each subset: the place of a row tells nothing. `member`: (shadows, targets):
    whether the target is in the subset. `owner`: the target that a shadow was drawn for, in the design `neighbours`; -1 where it serves
    all.
    """

    rows: NDArray[np.int64]
    member: NDArray[np.bool_]
    owner: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def shadows_of(self, target: int) -> NDArray[np.int64]:
        """Return the shadows that serve a target."""
        return np.flatnonzero((self.owner == target) | (self.owner < 0))

    def together(self, other: Draws) -> Draws:
        """Return both sets of draws as one, the other's after ours."""
        parts = ((self.rows, other.rows), (self.member, other.member), (self.owner, other.owner))
        return Draws(*(np.concatenate(arrays) for arrays in parts))  # type: ignore[arg-type]


def check_sizes(n_population: int, n_rows: int, n_targets: int) -> None:
    """Raise unless a subset is smaller than the population and there are records enough for the targets."""
    if n_rows < 1:
        raise InputError(f"A subset must have at least one row. Got {n_rows}.")
    if n_rows >= n_population:
        raise InputError(
            f"A subset must be smaller than the population that it is drawn from. Got {n_rows:,} rows of {n_population:,}: "
            "ask for fewer rows, or give a larger population."
        )
    if not 1 <= n_targets <= n_population:
        raise InputError(
            f"There must be 1 to {n_population:,} targets, one record each. Got {n_targets:,}."
        )


def shared_draws(
    n_population: int,
    targets: NDArray[np.int64],
    *,
    rows: int,
    shadows: int,
    share: TargetShare = "half",
    rng: np.random.Generator,
) -> Draws:
    """Return subsets that serve all targets; each target is in exactly half of them, or in its natural share.

    With many targets for the size of a subset, half of the shadows would leave no room for others: then "half" falls back to the
    natural share, `rows` over the size of the population.

    Examples
    --------
    >>> draws = shared_draws(100, np.array([3, 7]), rows=20, shadows=40, rng=np.random.default_rng(1))
    >>> draws.member.sum(axis=0).tolist(), draws.rows.shape
    ([20, 20], (40, 20))
    """
    check_sizes(n_population, rows, len(targets))
    if shadows < 2:
        raise InputError(
            f"At least 2 shadows are needed: one with a target and one without. Got {shadows}."
        )
    others = np.setdiff1d(np.arange(n_population), targets)
    crowded = len(targets) > rows or rows > len(others)
    if share == "natural" or crowded:
        return fresh_draws(n_population, targets, rows=rows, shadows=shadows, rng=rng)
    member = np.zeros((shadows, len(targets)), dtype=bool)
    for k in range(len(targets)):
        member[rng.permutation(shadows)[: shadows // 2], k] = True
    taken = np.empty((shadows, rows), dtype=np.int64)
    for s in range(shadows):
        inside = targets[member[s]]
        filled = rng.choice(others, size=rows - len(inside), replace=False)
        taken[s] = np.sort(np.concatenate([inside, filled]))
    return Draws(taken, member, np.full(shadows, -1, dtype=np.int64))


def fresh_draws(
    n_population: int,
    targets: NDArray[np.int64],
    *,
    rows: int,
    shadows: int,
    rng: np.random.Generator,
) -> Draws:
    """Return subsets drawn without replacement, targets or not: what a publisher of Sedlmeyr (2024) draws (section 3.1)."""
    check_sizes(n_population, rows, len(targets))
    taken = np.empty((shadows, rows), dtype=np.int64)
    member = np.zeros((shadows, len(targets)), dtype=bool)
    for s in range(shadows):
        taken[s] = np.sort(rng.choice(n_population, size=rows, replace=False))
        member[s] = np.isin(targets, taken[s])
    return Draws(taken, member, np.full(shadows, -1, dtype=np.int64))


def neighbour_draws(
    n_population: int,
    targets: NDArray[np.int64],
    *,
    rows: int,
    pairs: int,
    rng: np.random.Generator,
) -> Draws:
    """Return pairs of subsets for each target that differ in one record: shadow 2i has it, 2i + 1 another in its place."""
    check_sizes(n_population, rows, len(targets))
    if pairs < 1:
        raise InputError(f"At least 1 pair of shadows is needed. Got {pairs}.")
    taken = np.empty((2 * pairs * len(targets), rows), dtype=np.int64)
    owner = np.repeat(np.arange(len(targets)), 2 * pairs)
    for k, target in enumerate(targets):
        others = np.delete(np.arange(n_population), target)
        for p in range(pairs):
            drawn = rng.choice(
                others, size=rows, replace=False
            )  # the last of them is who stands in for the target
            first_row = 2 * (k * pairs + p)
            taken[first_row] = np.sort(np.append(drawn[:-1], target))
            taken[first_row + 1] = np.sort(drawn)
    member = np.stack([np.isin(targets, row) for row in taken])
    return Draws(taken, member, owner)
