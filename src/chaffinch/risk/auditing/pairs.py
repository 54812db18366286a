"""Neighbouring tables to distinguish: tables made so that one record shows as much as it can, and tables as users have them.

Every pair is two lists of rows of one base table with a public schema. They are neighbours in the sense of the claim that is audited
(`privacy.relation`): a pair under another relation refutes nothing. That is checked when a pair is made, on the codes.

The tables made for the worst case follow Annamalai, Ganev and De Cristofaro (USENIX Security 2024): few columns, few rows, and rows that
disagree with the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.errors import InputError, unknown_name
from ..._base.masking import THRESHOLD
from ...privacy.prepare import prepare
from ...privacy.relation import PrivacyUnit
from ...table.compare.classes import class_ids
from ...table.schema import Column, Schema
from ...table.table import Table
from ..shadows.generator import code_array
from .settings import MADE, PAIRS

COLUMNS = 3
"""Columns of the tables made for the worst case."""
CROWD = 50
"""How often each other row is there in "crowded"."""

Record = tuple[int, ...]


@dataclass(frozen=True)
class Skipped:
    """A pair, or a way to look at it, that was not tried, and why."""

    pair: str
    reason: str
    box: str = ""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring tables as rows of one base table; nothing in it leaves.

    `name`: one of `PAIRS`, or a name of one's own. `base`: A table whose rows the two are made of; it may have more. `rows_without`,
    `rows_with`: the rows of D, without the target, and of D', with it. `target_row`: the row of the base table that is the target.
    `unit`: the relation under which they are neighbours.
    """

    name: str
    base: Table = field(repr=False)
    rows_without: NDArray[np.int64] = field(repr=False)
    rows_with: NDArray[np.int64] = field(repr=False)
    target_row: int = field(repr=False)
    unit: PrivacyUnit

    def __post_init__(self) -> None:
        for rows in (self.rows_without, self.rows_with):
            if len(rows) and not (rows.min() >= 0 and rows.max() < self.base.n_rows):
                raise InputError(
                    f"Pair '{self.name}' names rows that its base table does not have."
                )
        if not 0 <= self.target_row < self.base.n_rows:
            raise InputError(f"Pair '{self.name}': its target is no row of its base table.")
        out, new = self.moved
        max_rows = self.unit.rows_per_person
        # Under replace-one as many rows go as come: their number is public.
        near = out == (new if self.unit.bounded else 0) and 1 <= new <= max_rows
        if not near:
            raise InputError(
                f"The tables of pair '{self.name}' are no neighbours under the relation '{self.unit.description}': the one must be the "
                f"other with {'rows of one person exchanged' if self.unit.bounded else 'rows of one person added'}."
            )

    @property
    def moved(self) -> tuple[int, int]:
        """How many rows are in D only, and in D' only, as records: two rows with the same codes are the same."""
        (row_class,) = class_ids(code_array(self.base))
        n_classes = int(row_class.max(initial=-1)) + 1
        gap = np.bincount(row_class[self.rows_with], minlength=n_classes) - np.bincount(
            row_class[self.rows_without], minlength=n_classes
        )
        return int(-gap[gap < 0].sum()), int(gap[gap > 0].sum())

    @property
    def draws(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of D and of D'."""
        return self.rows_without, self.rows_with


Pairs = Sequence[str | Pair]
"""Pairs by their names, or as they are."""


def made_pair(name: str, unit: PrivacyUnit) -> Pair | Skipped:
    """Return a pair made for the worst case under a relation, or why there is none under it.

    The target has the first level in each of three columns. The others: a row that disagrees with it in every column, and two that
    disagree in alternate columns. Under replace-one a copy of the row that disagrees throughout stands in the target's place.

    - "narrow": these three rows, without and with the target;
    - "repeated": the target is there once already, so no cell of its own appears or goes;
    - "empty": no rows at all, against the target alone (add-remove only: replace-one keeps the number of rows);
    - "lone level": the target alone has a level of the first column. What takes levels from its data is found out;
    - "crowded": as "narrow", each of the others fifty times: noise that shrinks as rows are added is found out.

    With several rows for each person the target has as many.

    Examples
    --------
    >>> pair = made_pair("narrow", PrivacyUnit("add-remove"))
    >>> pair.base.take(pair.rows_with).data.to_pydict()
    {'c0': ['b', 'a', 'b', 'a'], 'c1': ['b', 'b', 'a', 'a'], 'c2': ['b', 'a', 'b', 'a']}
    >>> made_pair("empty", PrivacyUnit("replace-one")).reason
    'replace-one keeps the number of rows, so no table is a neighbour of one without rows'
    """
    if name not in MADE:
        raise unknown_name("pair", name, PAIRS)
    if name == "empty" and unit.bounded:
        return Skipped(
            name,
            "replace-one keeps the number of rows, so no table is a neighbour of one without rows",
        )
    far, target = (1,) * COLUMNS, (0,) * COLUMNS
    mixed = [tuple((j + shift) % 2 for j in range(COLUMNS)) for shift in (0, 1)]
    others: list[Record] = (
        [] if name == "empty" else [far, *mixed] * (CROWD if name == "crowded" else 1)
    )
    sizes = (2,) * COLUMNS
    if name == "repeated":
        others.append(target)
    if name == "lone level":
        # Others keep to the first two levels of the first column; the target is nobody's copy in any column.
        sizes, target = (3, *sizes[1:]), (2, *target[1:])
    copies = unit.rows_per_person
    stand_in = [far] * copies if unit.bounded else []
    declared = len(others) + copies if unit.bounded and copies == 1 else None
    base, row_of = small_domain(sizes, declared)
    without, with_ = (
        [row_of[r] for r in rows] for rows in ([*others, *stand_in], [*others, *[target] * copies])
    )
    return Pair(name, base, _index(without), _index(with_), row_of[target], unit)


def average_pair(
    table: Table,
    unit: PrivacyUnit,
    *,
    rows: int = 1000,
    threads: int | None = None,
    threshold: int = THRESHOLD,
    rng: np.random.Generator,
) -> Pair | Skipped:
    """Return a random subset of a user's table without and with its most vulnerable record, or why there is none.

    Vulnerable: the farthest from its five nearest, one-hot (`membership.vulnerability`). `rows` is the size of the larger table; under
    replace-one a random other record stands in the target's place. The subset is drawn once and stays.

    The pair says how a person of this table fares. It is no worst case: a claim that survives it may well be wrong.
    """
    from ..shadows.vulnerability import most_vulnerable, vulnerability

    if table.n_rows < 3:
        return Skipped(
            "average", f"the table has fewer than {threshold} records"
        )  # how many fewer does not leave
    if unit.rows_per_person > 1:
        return Skipped("average", "which rows belong to one person is not known here")
    schema = replace(table.schema, rows=table.n_rows if unit.bounded else None)
    base = replace(table, schema=schema)
    target = int(most_vulnerable(vulnerability(base, distance="hamming", threads=threads), 1)[0])
    codes = code_array(base)
    others = np.flatnonzero((codes != codes[target]).any(axis=1))
    size = min(rows - 1, len(others) - unit.bounded)
    if size < 1:
        return Skipped(
            "average", "the table has too few records that differ from the most vulnerable one"
        )
    drawn = rng.choice(others, size=size + unit.bounded, replace=False)
    rest = drawn[:size]
    return Pair(
        "average", base, _sort_rows(drawn), _sort_rows(np.append(rest, target)), target, unit
    )


def small_domain(sizes: Sequence[int], rows: int | None) -> tuple[Table, dict[Record, int]]:
    """Return every record of a small domain once, under a schema that declares it, and where each stands.

    All of them, so that whatever is released has its levels in the base table.
    """
    letters = "abcdefgh"
    records = list(product(*map(range, sizes)))
    columns = tuple(
        Column(f"c{j}", "categorical", levels=tuple(letters[:size])) for j, size in enumerate(sizes)
    )
    data = {
        f"c{j}": pa.array([letters[record[j]] for record in records], pa.string())
        for j in range(len(sizes))
    }
    table = prepare(pa.table(data), Schema(columns, public=True, rows=rows))
    return table, {record: i for i, record in enumerate(records)}


def _index(rows: Sequence[int]) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)


def _sort_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ascending: the place of a row tells nothing."""
    return np.sort(rows).astype(np.int64)
