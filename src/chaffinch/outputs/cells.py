"""Columns crossed into cells: their groups and names, numbers laid out in their shape, and counts of records in them, as equations or counted.

Kinds of outputs (`kinds/`) and rules (`rules/`) are made of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats, Ints
from .._base.checks import check_name
from .._base.errors import InputError
from .._base.masking import HIDDEN, THRESHOLD, unknown_level, without_levels
from .domain import Codes, OutputColumn, OutputDomain, Scalar, same_column_checked
from .equations import CountTable, SumSystem, Terms
from .filters import Filter

Step = tuple[int, Ints]
"""A column's position, and the group that each of its levels falls into; -1 for none."""

SEPARATOR = "|"
TOTAL = "All"
"""What the margins of a table are called, as pandas does."""


@dataclass(frozen=True)
class CrossClassification:
    """Columns crossed into cells: for each column its groups, and what the groups are called.

    `safe_names` are the same as messages may have them; without them messages name no cell.
    """

    steps: tuple[Step, ...]
    names: tuple[tuple[str, ...], ...]
    safe_names: tuple[tuple[str, ...], ...] = ()
    threshold: int = THRESHOLD

    @property
    def rare(self) -> frozenset[str]:
        """The names of groups that messages may not have."""
        safe = {name for names in self.safe_names for name in names}
        return frozenset(name for names in self.names for name in names) - safe

    def safe_cell(self, cell: int) -> str:
        """Return the name of a cell as a message may have it, such as "m|…"."""
        if not self.safe_names:
            return HIDDEN if self.names else ""
        groups = np.unravel_index(cell, self.shape)
        return SEPARATOR.join(names[k] for names, k in zip(self.safe_names, groups, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each column."""
        return tuple(len(names) for names in self.names)

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the columns."""
        return tuple(position for position, _ in self.steps)

    def cell_index(self, grid: Mapping[int, NDArray[np.intp]], size: int) -> Ints:
        """Return the cell of each combination of levels in a grid of some size; -1 where it is in none."""
        cell, inside = np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
        for (position, group), width in zip(self.steps, self.shape, strict=True):
            group_index = group[grid[position]]
            inside &= group_index >= 0
            cell = cell * width + group_index
        return np.where(inside, cell, -1)


ALL_RECORDS = CrossClassification((), ())
"""All records as one cell."""


def cross_classify(
    by: Sequence[str], groups: Mapping[str, Any], fields: OutputDomain, *, output: str
) -> CrossClassification:
    """Return columns crossed into cells: each level a group of its own, or the groups that are given.

    `groups` has for some of the columns a list of groups, or a mapping from names to groups: of `[from, to]` (ends included) for numbers, of
    lists of levels for words. Levels in no group are not counted.

    Examples
    --------
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")), OutputColumn("age", (0, 1, 2, 3))))
    >>> cross_classify(["age"], {"age": [[0, 1], [2, 3]]}, fields, output="t").steps[0][1].tolist()
    [0, 0, 1, 1]
    """
    same_column_checked(by, output=output)
    for name in groups:
        unused = f"Output '{output}' has groups for a column that it does not use. "
        check_name("column", name, by, prefix=unused)
    steps, names, safe_names = [], [], []
    for name in by:
        check_name("column", name, fields.names, prefix=f"Output '{output}': ")
        field = fields[name]
        if name in groups:
            group, called, safe = _group_levels(field, groups[name], output)
        else:
            group, called = np.arange(len(field.levels)), field.labels
            safe = tuple(field.safe_label(code) for code in range(len(field.levels)))
        steps.append((fields.position(name), group.astype(np.int64)))
        names.append(called)
        safe_names.append(safe)
    return CrossClassification(tuple(steps), tuple(names), tuple(safe_names), fields.threshold)


def _group_levels(
    field: OutputColumn, groups: Any, output: str
) -> tuple[Ints, tuple[str, ...], tuple[str, ...]]:
    """The group of each level, what the groups are called, and what messages may call them."""
    what = f"Output '{output}': the groups of column '{field.name}'"
    if isinstance(groups, Mapping):
        named = [(str(name), members) for name, members in groups.items()]
    elif isinstance(groups, list):
        named = [("", members) for members in groups]
    else:
        raise InputError(f"{what} must be a list of groups, or groups by name.")
    group, called, safe = np.full(len(field.levels), -1, dtype=np.int64), list[str](), list[str]()
    common = np.array([label in field.common for label in field.labels])
    for number, (name, members) in enumerate(named):
        if (
            not isinstance(members, list)
            or not members
            or not all(isinstance(m, bool | int | float | str) for m in members)
        ):
            raise InputError(
                f"{what} must each be [from, to] for numbers, or a list of levels for words."
            )
        if field.numeric:
            if len(members) > 2 or any(isinstance(m, str | bool) for m in members):
                raise InputError(f"{what} must each be [from, to], two numbers, both included.")
            mask = (field.values >= members[0]) & (field.values <= members[-1])
            usual = f"{members[0]}-{members[-1]}"
        else:
            mask = np.isin(np.arange(len(field.levels)), [field.code(m) for m in members])
            usual = "+".join(str(m) for m in members)
        if (group[mask] >= 0).any():
            raise InputError(f"{what} overlap: a level stands in two.")
        if not mask.any():
            raise InputError(f"{what}: group {number + 1} has no level of the column.")
        group[mask] = number
        called.append(name or usual)
        # A group of its own name, or of numbers from one end to the other, is as common as any of its levels; other names have all levels.
        enough = common[mask].any() if name or field.numeric else common[mask].all()
        safe.append(called[-1] if enough else HIDDEN)
    return group, tuple(called), tuple(safe)


def cell_array(
    numbers: Any,
    cells: CrossClassification,
    *,
    what: str,
    absent: Any = None,
    total: str | None = None,
    lists: bool = False,
) -> NDArray[np.object_]:
    """Return numbers given as nested lists, or by names such as "m|rented", as an array with one axis for each column.

    `absent` stands for cells that a mapping does not name; where it is None they must all be named. `total` is what one more entry along
    each axis is called. With `lists` an entry may be a list.
    """
    last = () if total is None else (total,)
    names = tuple((*labels, *last) for labels in cells.names)
    shape = tuple(len(labels) for labels in names)
    out = np.full(shape, absent, dtype=object)
    if isinstance(numbers, Mapping):
        known = {
            SEPARATOR.join(labels): index
            for labels, index in zip(product(*names), np.ndindex(shape), strict=True)
        }
        plain = {_plain(word): index for word, index in known.items()}
        for key, number in numbers.items():
            if _plain(str(key)) not in plain:
                came = without_levels(key, cells.rare)
                unknown = unknown_level(
                    "cell", came, _safe_cells(cells, last), threshold=cells.threshold
                )
                raise InputError(f"{what}: {unknown}")
            out[plain[_plain(str(key))]] = number
        if absent is None and len(numbers) < len(known):
            given = {_plain(str(key)) for key in numbers}
            missing = next(
                (word for word in _safe_cells(cells, last) if _plain(word) not in given), None
            )
            raise InputError(
                f"{what} must give a number for each of its {len(known)} cells. "
                + (f"Got {len(numbers)}." if missing is None else f"'{missing}' is missing.")
            )
        return out
    _fill(out, numbers, (), what, lists=lists)
    return out


def _safe_cells(cells: CrossClassification, last: tuple[str, ...]) -> list[str]:
    """The names of cells that messages may have in full; `last` is the name of totals."""
    common = [[name for name in (*labels, *last) if name != HIDDEN] for labels in cells.safe_names]
    return [SEPARATOR.join(labels) for labels in product(*common)] if cells.safe_names else []


def _plain(key: str) -> str:
    return SEPARATOR.join(label.strip() for label in key.split(SEPARATOR))


def _fill(
    out: NDArray[np.object_],
    numbers: Any,
    index: tuple[int, ...],
    what: str,
    *,
    lists: bool,
) -> None:
    depth, shape = len(index), out.shape
    if depth == len(shape):
        if isinstance(numbers, list | Mapping) and not lists:
            raise InputError(
                f"{what} must be nested {len(shape)} deep, one list for each column. Got deeper lists."
            )
        out[index] = numbers
        return
    if not isinstance(numbers, list) or len(numbers) != shape[depth]:
        got = f"a list of {len(numbers)}" if isinstance(numbers, list) else "no list"
        raise InputError(
            f"{what} must have {' x '.join(map(str, shape))} entries, one list for each column. Got {got} at depth {depth + 1}."
        )
    for number, entry in enumerate(numbers):
        _fill(out, entry, (*index, number), what, lists=lists)


def table_of_counts(
    name: str,
    domain: OutputDomain,
    steps: Sequence[Step],
    where: Filter,
    lo: NDArray[Any],
    hi: NDArray[Any],
) -> CountTable | SumSystem:
    """Return counts of cells, in C order of the steps' groups, within a filter.

    A `CountTable`, the filter folded into its columns; where the filter ties columns together (`A == 1 or B == 2`) sums of indicators
    instead. Cells that the filter empties must allow 0.
    """
    shape = tuple(int(group.max(initial=-1)) + 1 for _, group in steps)
    lo, hi = (np.asarray(bound, dtype=np.int64).reshape(shape) for bound in (lo, hi))
    folded = []
    for axis, (position, group) in enumerate(steps):
        group = np.where(where.levels(position), group, -1)
        present = np.unique(group[group >= 0])
        absent = np.setdiff1d(np.arange(shape[axis]), present)
        if absent.size:
            if (np.take(lo, absent, axis) > 0).any():
                raise InputError(
                    f"Output '{name}' counts records in cells that its filter leaves out."
                )
            lo, hi = np.take(lo, present, axis), np.take(hi, present, axis)
        if not present.size:
            raise InputError(f"Output '{name}': its filter leaves no cell of the table.")
        number = np.full(shape[axis] + 1, -1, dtype=np.int64)
        number[present] = np.arange(present.size)
        folded.append((position, number[group]))
    lo, hi = lo.ravel(), hi.ravel()
    if where.simple:
        used = {position for position, _ in folded}
        others = [
            (c[0], np.where(mask, 0, -1).astype(np.int64))
            for c, mask in where.masks
            if c[0] not in used
        ]
        groups = (*folded, *others)
        if not groups:  # all records: any column will do
            groups = ((0, np.zeros(domain.sizes[0], dtype=np.int64)),)
        return CountTable(name, tuple(groups), lo, hi)
    cells = CrossClassification(
        tuple(folded), tuple(tuple(map(str, range(int(g.max()) + 1))) for _, g in folded)
    )
    terms = sums_by_cell(domain, cells, ())
    return SumSystem(
        name,
        len(lo),
        (terms,),
        lo.astype(float),
        hi.astype(float),
        keep=where.keep(),
        diagonal=True,
    )


def sums_by_cell(
    domain: OutputDomain,
    cells: CrossClassification,
    numbers: Sequence[tuple[tuple[int, ...], Any]],
    *,
    count: bool = True,
) -> Terms:
    """Return the terms of sums in each cell: equation `cell * m + j` for the j-th of m sums.

    `numbers` has for each sum the columns it reads and a function from a grid of codes to numbers; with `count` the first sum of each cell is
    the number of records.
    """
    positions = tuple(sorted({*cells.positions, *(p for columns, _ in numbers for p in columns)}))
    grid = domain.grid(positions)
    sizes = domain.shape(positions)
    size = int(np.prod(sizes, dtype=np.int64))
    cell = cells.cell_index(grid, size)
    parts = [np.ones(size)] if count else []
    parts += [
        np.broadcast_to(np.asarray(function(grid), dtype=float), (size,)) for _, function in numbers
    ]
    matrix = np.stack(parts, axis=1)
    m = matrix.shape[1]
    inside = np.flatnonzero(cell >= 0)
    per_row = np.zeros(size, dtype=np.int64)
    per_row[inside] = m
    starts = np.concatenate([[0], np.cumsum(per_row)])
    equations = (cell[inside, None] * m + np.arange(m)).ravel()
    return Terms(positions, sizes, starts, equations, matrix[inside].ravel().astype(float))


def scalar_code(field: OutputColumn, level: Scalar | None, *, output: str, key: str) -> int:
    """Return the code of a level that an output names; where none is named the last of two."""
    if level is None:
        if len(field.levels) != 2:
            raise InputError(
                f"Output '{output}' must say which level of column '{field.name}' is meant, with {key} = ..."
            )
        return 1
    try:
        return field.code(level)
    except InputError as error:
        raise InputError(f"Output '{output}': {error}") from None


# Counted on records, by other code than the engines'.


def cell_names(cells: CrossClassification, *, margins: bool = False) -> list[str]:
    """Return what the cells of a cross are called, in C order: "m|rented"; with margins also "m|All"."""
    names = [(*labels, TOTAL) for labels in cells.names] if margins else cells.names
    return [SEPARATOR.join(labels) for labels in product(*names)]


def crosstab(cells: CrossClassification, codes: Codes) -> Ints:
    """Return counts of records in a cross of groups, one axis for each column.

    Examples
    --------
    >>> cells = CrossClassification(((0, np.array([0, 1])), (1, np.array([0, 1, -1]))), (("f", "m"), ("low", "high")))
    >>> crosstab(cells, np.array([[0, 0], [1, 1], [1, 1], [1, 2]], dtype=np.int32)).tolist()
    [[1, 0], [0, 2]]
    """
    from ..counts.tally import (
        count_cells,
    )  # here, since engines read this module and must not load counts

    return count_cells(
        [group[codes[:, p]] for p, group in cells.steps], cells.shape, n_rows=len(codes)
    )


def with_margins(counts: Ints) -> Ints:
    """Return counts with one more entry along each axis: the total."""
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def record_groups(cells: CrossClassification, codes: Codes) -> Iterator[NDArray[np.intp]]:
    """Give, for each group in C order, the rows of its records."""
    cell = cells.cell_index(dict(enumerate(codes.T)), len(codes))
    order = np.argsort(cell, kind="stable")
    ends = np.searchsorted(cell[order], np.arange(cells.size + 1))
    for k in range(cells.size):
        yield order[ends[k] : ends[k + 1]]


def column_numbers(name: str, fields: OutputDomain, codes: Codes) -> Floats:
    """Return the numbers of a column, record by record."""
    return fields[name].values[codes[:, fields.position(name)]]


def unite_groups(step: Step) -> Step:
    """Return a column's groups united into one: the levels that are in any group."""
    return step[0], np.where(step[1] < 0, -1, 0).astype(np.int64)
