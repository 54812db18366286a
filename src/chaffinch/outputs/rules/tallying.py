"""How a kind of output counts the people behind it: its cells within its filter, with what a reader is shown of each count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Codes
from ..crossing import Crossing, Frame, Step, whole_of
from ..fields import MOST_CELLS, Fields
from ..precision import SUPPRESSED, UNKNOWN, UNSAID, count_interval
from ..where import Filter
from .tallies import COUNT, Ints, Joint, Mask, OutputTally

if TYPE_CHECKING:
    from ..kinds.base import OutputSpec


Shown = Callable[[Ints], tuple[Ints, Ints, Mask]]
"""From counts to what a reader is shown of each: the least and largest it may be, and whether it is withheld."""


def is_unsaid(cell: object) -> bool:
    """Return whether a number that is no count is marked as withheld."""
    return cell is None or (
        isinstance(cell, str) and cell.strip() in [sign for sign in UNSAID if sign is not None]
    )


def summed(cells: Crossing, out: tuple[bool, ...]) -> Crossing:
    """Return cells with some columns summed out, over the levels that are in a group."""
    columns = list(zip(cells.steps, cells.names, out, strict=True))
    left = [(step, names) for step, names, gone in columns if not gone]
    left += [(whole_of(step), ("",)) for step, _, gone in columns if gone and (step[1] < 0).any()]
    return Crossing(tuple(step for step, _ in left), tuple(names for _, names in left))


def _united(cells: Crossing | None) -> Crossing:
    """All records of some cells as one; all there are without cells."""
    return Crossing((), ()) if cells is None else summed(cells, (True,) * len(cells.steps))


class MissingLevels:
    """Missing values as one more level of each column that has some: a level that no output has in a group.

    An output that leaves out records with a missing value is so by its definition, as by a filter on each of its columns: what two outputs
    leave out, and what lies between them, is looked at by the same rules as any other filter.

    Examples
    --------
    >>> MissingLevels((2, 3), np.array([[0, 2], [1, -1]], dtype=np.int32)).sizes
    (2, 4)
    """

    def __init__(self, sizes: Sequence[int], codes: Codes) -> None:
        self._plain = tuple(sizes)
        self.columns = tuple(int(column) for column in np.flatnonzero((codes < 0).any(axis=0)))
        self.sizes = tuple(size + (column in self.columns) for column, size in enumerate(sizes))

    def coded(self, codes: Codes) -> Codes:
        """Return codes with the last level in place of missing values."""
        return (
            np.where(codes < 0, np.array(self._plain, dtype=np.int32), codes)
            if self.columns
            else codes
        )

    def step(self, step: Step) -> Step:
        """Return a column's groups with one more level, in none, if it has missing values."""
        return (step[0], np.append(step[1], -1)) if step[0] in self.columns else step

    def mask(self, columns: tuple[int, ...], mask: Mask) -> Mask:
        """Return for each combination of levels, missing ones too, whether it is kept: none with a missing value is."""
        whole = mask.reshape([self._plain[column] for column in columns])
        return np.pad(whole, [(0, int(column in self.columns)) for column in columns]).ravel()


class Tallier:
    """An output with the columns and records that it is counted on: those with a value in each of its columns (`own`).

    `records` are all records, those with missing values (below 0) among them; `codes` has the first level in their place.
    """

    def __init__(
        self,
        output: OutputSpec,
        fields: Fields,
        codes: Codes,
        *,
        own: tuple[int, ...] | None = None,
    ) -> None:
        self.output, self.fields, self.records = output, fields, codes
        self.missing = MissingLevels(fields.columns.sizes, codes)
        self.codes = np.maximum(codes, 0) if self.missing.columns else codes
        if own is None:
            own = (
                tuple(c for c in output.own_columns(fields) if c in self.missing.columns)
                if self.missing.columns
                else ()
            )
        self.own = own
        self.complete = np.asarray((codes[:, list(own)] >= 0).all(axis=1))
        self.frame = Frame(fields, int(self.complete.sum()))
        if len(codes) and not self.frame.rows:
            raise output.fault(
                ": no record of the data has a value in each of its columns. Leave out a column that is mostly missing."
            )
        self.filter = output.filter(self.frame)

    @property
    def inside(self) -> Codes:
        """The records that have a value in each of its columns, and pass the filter."""
        return self.codes[self.filter.of(self.codes) & self.complete]

    def of_part(self, part: OutputSpec) -> Tallier:
        """Return the same for a part of the output, which is of the same records."""
        return Tallier(part, self.fields, self.records, own=self.own)

    def tally(
        self,
        part: str,
        cells: Crossing,
        *,
        within: Filter | None = None,
        shown: Shown | None = None,
        quantities: Iterable[str] = (),
        **options: Any,
    ) -> OutputTally:
        """Return cells within a filter (the output's, if absent) as a tally; their counts are exact without `shown`."""
        within, used = self.filter if within is None else within, set(cells.positions)
        steps = [
            (p, np.where(within.levels(p), group, -1).astype(np.int64)) for p, group in cells.steps
        ]
        single = [(c[0], mask) for c, mask in within.masks if len(c) == 1 and c[0] not in used]
        steps += [(p, np.where(mask, 0, -1).astype(np.int64)) for p, mask in single]
        joint = tuple((columns, mask) for columns, mask in within.masks if len(columns) > 1)
        whole = Crossing(tuple(steps), (*cells.names, *(("",) for _ in single)))
        labels, counts = self.counted(whole, joint)
        lo, hi, withheld = (
            (counts, counts, np.zeros(whole.size, dtype=bool)) if shown is None else shown(counts)
        )
        told = {*whole.positions, *(c for columns, _ in joint for c in columns)}
        present = [
            (p, np.zeros(self.fields.columns.sizes[p], dtype=np.int64))
            for p in self.own
            if p not in told
        ]
        return OutputTally(
            self.output.name,
            self.output.kind,
            part,
            tuple(self.missing.step(step) for step in (*whole.steps, *present)),
            (*whole.names, *(("",) for _ in present)),
            tuple((columns, self.missing.mask(columns, mask)) for columns, mask in joint),
            labels,
            counts,
            self._possible(whole, joint),
            lo,
            hi,
            withheld,
            quantities=frozenset(quantities),
            sizes=self.missing.sizes,
            with_missing=self.missing.columns,
            **options,
        )

    def counts(
        self, part: str, cells: Crossing, printed: NDArray[np.object_] | None, **options: Any
    ) -> OutputTally:
        """Return a tally of counts that are published: as printed, where they are there, and by the output's rules."""
        base, rounding = (
            int(getattr(self.output, "base", 1)),
            str(getattr(self.output, "rounding", "nearest")),
        )
        width = {"nearest": 2 * (base // 2), "down": base - 1, "up": base - 1}.get(
            rounding, 2 * (base - 1)
        )
        shown = partial(_shown, self.output, printed, len(self.codes), base, rounding)
        return self.tally(
            part, cells, shown=shown, base=base, width=width, quantities=[COUNT], **options
        )

    def counted(self, cells: Crossing, joint: Joint) -> tuple[Ints, Ints]:
        """Return the cell of each record, -1 for none, and the number of records of each cell."""
        labels = self._labels(
            cells, joint, {p: self.codes[:, p] for p in range(len(self.fields))}, len(self.codes)
        )
        labels[~self.complete] = -1
        return labels, np.bincount(labels[labels >= 0], minlength=cells.size).astype(np.int64)

    def _labels(
        self, cells: Crossing, joint: Joint, grid: Mapping[int, NDArray[Any]], size: int
    ) -> Ints:
        labels = cells.of(grid, size)
        for columns, mask in joint:
            key = np.ravel_multi_index(
                tuple(grid[column] for column in columns), self.fields.sizes(columns)
            )
            labels[~mask[key]] = -1
        return labels

    def _possible(self, cells: Crossing, joint: Joint) -> Mask:
        possible = np.ones(cells.shape, dtype=bool)
        for axis, ((_, group), width) in enumerate(zip(cells.steps, cells.shape, strict=True)):
            present = np.isin(np.arange(width), group)
            possible &= present.reshape([-1 if k == axis else 1 for k in range(len(cells.shape))])
        columns = sorted({*cells.positions, *(c for some, _ in joint for c in some)})
        size = int(np.prod(self.fields.sizes(columns), dtype=object)) if joint else MOST_CELLS + 1
        if (
            size <= MOST_CELLS
        ):  # else too many to look at: a cell may then count as possible that is not
            labels = self._labels(cells, joint, self.fields.grid(columns), size)
            possible &= (
                np.bincount(labels[labels >= 0], minlength=cells.size).reshape(cells.shape) > 0
            )
        return possible.ravel()

    def n(self) -> list[OutputTally]:
        """Return the number of records after the filter, if it is published."""
        if not self.output.publishes("n") or isinstance(self.output.n, list | Mapping):
            return []
        return [self.whole()]

    def whole(self, cells: Crossing | None = None) -> OutputTally:
        """Return the number of records after the filter (and in some cells), which is told."""
        return self.tally("n", _united(cells), quantities=[COUNT])

    def fit(self, what: str, cells: Crossing | None = None) -> list[OutputTally]:
        """Return the tally of an output that is one fit on all its records (in some cells), which two populations may differ in, and n."""
        text = "".join(what.split())
        return [
            self.tally("records", _united(cells), quantities=[f"fit:{text}"], implied=True),
            *self.n(),
        ]

    def marked(self, names: tuple[tuple[str, ...], ...]) -> NDArray[np.object_] | None:
        """Return the cells that an output without numbers withholds by name; nothing (...) is said of the others."""
        if not self.output.withheld:
            return None
        cells = [
            "x" if "|".join(words) in self.output.withheld else ... for words in product(*names)
        ]
        return np.array([*cells, None], dtype=object)[:-1].reshape([len(some) for some in names])

    def numbers_shown(self, printed: NDArray[np.object_] | None) -> Shown:
        """Return what is shown of the counts behind numbers that are not counts: nothing of those withheld."""
        hidden = (
            None
            if printed is None
            else np.array([is_unsaid(cell) for cell in printed.ravel()], dtype=bool)
        )

        def shown(counts: Ints) -> tuple[Ints, Ints, Mask]:
            lo, hi, withheld = _shown(self.output, None, 0, 1, "nearest", counts)
            if hidden is not None:
                withheld = withheld | hidden if self.output.withheld else hidden
            return lo, hi, withheld

        return shown


def tallies_of(output: OutputSpec, fields: Fields, codes: Codes) -> list[OutputTally]:
    """Return the tallies behind an output, that of its cells first.

    Examples
    --------
    >>> from chaffinch.outputs.document import recipes_of
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> (output,) = recipes_of([{"name": "by sex", "kind": "table", "by": ["sex"]}], fields).outputs
    >>> [(t.part, t.counts.tolist()) for t in tallies_of(output, fields, np.array([[0], [0], [1]], dtype=np.int32))]
    [('cells', [2, 1]), ('total', [3])]
    """
    return output.tallies(Tallier(output, fields, codes))


def _shown(
    output: OutputSpec,
    cells: NDArray[np.object_] | None,
    most: int,
    base: int,
    rounding: str,
    counts: Ints,
) -> tuple[Ints, Ints, Mask]:
    threshold, zeros = output.threshold, bool(output.suppressed_zeros)
    printed = (
        (counts + base // 2) // base * base if rounding == "nearest" else counts // base * base
    )
    if rounding == "up":
        printed = -(-counts // base) * base
    below = {"nearest": base // 2, "down": 0}.get(rounding, base - 1)
    above = {"nearest": base // 2, "up": 0}.get(rounding, base - 1)
    lo, hi = np.maximum(printed - below, 0), printed + above
    withheld = np.zeros(len(counts), dtype=bool)
    if threshold is not None:
        withheld = (counts < threshold) & ((counts > 0) | zeros)
        lo, hi = np.where(withheld, 0 if zeros else 1, lo), np.where(withheld, threshold - 1, hi)
    for band in output.bands or ():
        least, most_in = count_interval(band, most=most, suppressed_zeros=zeros)
        banded = (counts >= least) & (counts <= most_in)
        lo, hi, withheld = (
            np.where(banded, least, lo),
            np.where(banded, most_in, hi),
            withheld | banded,
        )
    if cells is not None:
        # A cell as printed says whether it is withheld; its number is that of these records.
        for place, cell in enumerate(cells.ravel()):
            if cell is ...:
                continue
            hidden = cell is None or (
                isinstance(cell, str) and not cell.strip().replace(",", "").isdigit()
            )
            if hidden:
                unsaid = cell is None or cell.strip().lower() in SUPPRESSED
                sign = UNKNOWN if unsaid and threshold is None else cell
                lo[place], hi[place] = count_interval(
                    sign, most=most, threshold=threshold, suppressed_zeros=zeros
                )
            elif withheld[place]:
                lo[place] = hi[place] = counts[place]
            withheld[place] = hidden
    # Numbers as printed may be of other records than these; what is known must at least allow what is there.
    return np.minimum(lo, counts), np.maximum(hi, counts), withheld
