"""How a kind of output counts the people behind it: its cells within its filter, with what a reader is shown of each count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..columns import Codes
from ..crossing import Crossing, Frame, whole_of
from ..fields import Fields
from ..precision import SUPPRESSED, UNKNOWN, UNSAID, count_interval
from ..where import Filter
from .tallies import COUNT, Ints, Mask, Tally, tally

if TYPE_CHECKING:
    from ..kinds.base import OutputSpec

__all__ = ["Shown", "Tallier", "is_unsaid", "summed", "tallies_of"]

Shown = Callable[[Ints], tuple[Ints, Ints, Mask]]
"""From counts to what a reader is shown of each: the least and largest it may be, and whether it is withheld."""


def is_unsaid(cell: object) -> bool:
    """Return whether a number that is no count is marked as withheld."""
    return cell is None or (isinstance(cell, str) and cell.strip() in [sign for sign in UNSAID if sign is not None])


def summed(cells: Crossing, out: tuple[bool, ...]) -> Crossing:
    """Return cells with some columns summed out, over the levels that are in a group."""
    columns = list(zip(cells.steps, cells.names, out, strict=True))
    left = [(step, names) for step, names, gone in columns if not gone]
    left += [(whole_of(step), ("",)) for step, _, gone in columns if gone and (step[1] < 0).any()]
    return Crossing(tuple(step for step, _ in left), tuple(names for _, names in left))


class Tallier:
    """An output with the columns and records that it is counted on."""

    def __init__(self, output: OutputSpec, fields: Fields, codes: Codes) -> None:
        self.output, self.fields, self.codes = output, fields, codes
        self.frame = Frame(fields, len(codes))
        self.filter = output.filter(self.frame)

    @property
    def inside(self) -> Codes:
        """The records that pass the filter."""
        return self.codes[self.filter.of(self.codes)]

    def tally(self, part: str, cells: Crossing, *, within: Filter | None = None, **options: Any) -> Tally:
        """Return a tally of the output."""
        kept, name, kind = self.filter if within is None else within, self.output.name, self.output.kind
        return tally(name, kind, part, cells, kept, self.fields, self.codes, **options)

    def n(self) -> list[Tally]:
        """Return the number of records after the filter, if it is published."""
        if not self.output.publishes("n") or isinstance(self.output.n, list | Mapping):
            return []
        return [self.tally("n", Crossing((), ()), quantities=[COUNT])]

    def fit(self, what: str) -> list[Tally]:
        """Return the tally of an output that is one fit on all its records, which two populations may differ in, and n."""
        text = "".join(what.split())
        return [self.tally("records", Crossing((), ()), quantities=[f"fit:{text}"], implied=True), *self.n()]

    @property
    def base(self) -> int:
        """What counts are rounded to."""
        return int(getattr(self.output, "base", 1))

    @property
    def rounded(self) -> dict[str, Any]:
        """What counts are rounded to, and how much that leaves open."""
        base, rounding = self.base, str(getattr(self.output, "rounding", "nearest"))
        width = {"nearest": 2 * (base // 2), "down": base - 1, "up": base - 1}.get(rounding, 2 * (base - 1))
        return {"base": base, "width": width}

    def marked(self, names: tuple[tuple[str, ...], ...]) -> NDArray[np.object_] | None:
        """Return the cells that an output without numbers withholds by name; nothing (...) is said of the others."""
        if not self.output.withheld:
            return None
        cells = ["x" if "|".join(words) in self.output.withheld else ... for words in product(*names)]
        return np.array([*cells, None], dtype=object)[:-1].reshape([len(some) for some in names])

    def counts_shown(self, given: NDArray[np.object_] | None) -> Shown:
        """Return what is shown of counts: by the cells as printed where there are any, and by the output's rules."""
        rounding = str(getattr(self.output, "rounding", "nearest"))
        return lambda counts: _shown(self.output, given, counts, len(self.codes), self.base, rounding)

    def numbers_shown(self, hidden: Mask | None) -> Shown:
        """Return what is shown of the counts behind numbers that are not counts: nothing of those withheld."""

        def shown(counts: Ints) -> tuple[Ints, Ints, Mask]:
            lo, hi, withheld = _shown(self.output, None, counts, 0, 1, "nearest")
            if hidden is not None:
                withheld = withheld | hidden if self.output.withheld else hidden
            return lo, hi, withheld

        return shown


def tallies_of(output: OutputSpec, fields: Fields, codes: Codes) -> list[Tally]:
    """Return the tallies behind an output, that of its cells first.

    Examples
    --------
    >>> from chaffinch.outputs.fields import Field
    >>> from chaffinch.outputs.kinds.table import TableSpec
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> output = TableSpec(name="by sex", by=["sex"])
    >>> [(t.part, t.counts.tolist()) for t in tallies_of(output, fields, np.array([[0], [0], [1]], dtype=np.int32))]
    [('cells', [2, 1]), ('total', [3])]
    """
    return output.tallies(Tallier(output, fields, codes))


def _shown(
    output: OutputSpec, given: NDArray[np.object_] | None, counts: Ints, most: int, base: int, rounding: str
) -> tuple[Ints, Ints, Mask]:
    threshold, zeros = output.threshold, bool(output.suppressed_zeros)
    printed = (counts + base // 2) // base * base if rounding == "nearest" else counts // base * base
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
        lo, hi, withheld = np.where(banded, least, lo), np.where(banded, most_in, hi), withheld | banded
    if given is not None:
        # A cell as printed says whether it is withheld; its number is that of these records.
        for place, cell in enumerate(given.ravel()):
            if cell is ...:
                continue
            hidden = cell is None or (isinstance(cell, str) and not cell.strip().replace(",", "").isdigit())
            if hidden:
                unsaid = cell is None or cell.strip().lower() in SUPPRESSED
                sign = UNKNOWN if unsaid and threshold is None else cell
                lo[place], hi[place] = count_interval(sign, most=most, threshold=threshold, suppressed_zeros=zeros)
            elif withheld[place]:
                lo[place] = hi[place] = counts[place]
            withheld[place] = hidden
    # Numbers as printed may be of other records than these; what is known must at least allow what is there.
    return np.minimum(lo, counts), np.maximum(hi, counts), withheld
