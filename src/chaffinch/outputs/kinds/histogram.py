"""Histograms: counts between edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field as Key

from ..crossing import Crossing, Frame, column_numbers, table_of_counts
from ..equations import Output
from ..fields import Fields
from ..printing import Printer
from ..refit import Number
from ..rules.findings import Finding, some
from ..rules.policy import Policy
from ..rules.tallies import COUNT, OutputTally
from ..rules.tallying import Tallier, summed
from .base import KINDS, Kind, PrintedNumbers, Sample
from .computing import boxed
from .counted import Counted


class HistogramSpec(Counted):
    """A histogram: counts between edges, each bin with its lower edge and without its upper one, the last with both (as numpy)."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("counts",)
    REQUIRED: ClassVar[tuple[str, ...]] = ("counts",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("of",)

    kind: Literal["histogram"] = "histogram"
    of: str
    edges: Annotated[list[float], Key(min_length=2)]
    counts: list[Any] | None = None

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return the bins as a table."""
        edges, counts = np.array(self.edges, dtype=float), self.counts or []
        if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise self.fault(": the edges of a histogram must rise.")
        if len(counts) != len(edges) - 1:
            raise self.fault(
                f" has {len(edges)} edges, so it needs {len(edges) - 1} counts. Got {len(counts)}."
            )
        ((position, group),) = self.bins(frame.fields).steps
        lo, hi = self.bounds(counts, frame.rows)
        last = int(group.max())
        if last < len(edges) - 2:  # bins beyond the column's values
            if (lo[last + 1 :] > 0).any():
                raise self.fault(f" counts records beyond the values of column '{self.of}'.")
            lo, hi = lo[: last + 1], hi[: last + 1]
        table = table_of_counts(self.name, frame, [(position, group)], self.filter(frame), lo, hi)
        return (table, *self.n_equations(frame))

    def bins(self, fields: Fields) -> Crossing:
        """Return the bins as cells, called "16 to 20"."""
        position, edges = fields.position(self.of), np.array(self.edges, dtype=float)
        values = fields.every[position].values
        group = np.searchsorted(edges, values, side="right") - 1
        group[values == edges[-1]] = len(edges) - 2
        group[(values < edges[0]) | (values > edges[-1])] = -1
        names = tuple(f"{a:g} to {b:g}" for a, b in pairwise(self.edges))
        return Crossing(((position, group.astype(np.int64)),), (names,))

    def filled(self, frame: Frame) -> Self:
        return self.changed(counts=[0] * (len(self.edges) - 1))

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give the counts."""
        if self.counts and len(self.counts) == len(self.edges) - 1:
            yield PrintedNumbers(
                "counts", list(self.bins(frame.fields).names[0]), self.counts, True
            )

    def _counts(self, sample: Sample) -> Any:
        numbers = column_numbers(self.of, sample.fields, sample.inside)
        return np.histogram(numbers, bins=np.array(self.edges, dtype=float))[0]

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the counts."""
        return {"counts": printer.counts(self._counts(sample), self.bins(sample.fields).names[0])}

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the counts beside those of the records."""
        names = self.bins(sample.fields).names[0]
        return self.count_numbers(names, self.counts or [], self._counts(sample), sample.frame.rows)

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return bins, the total that follows, and n."""
        cells = self.bins(tallier.fields)
        printed = tallier.marked(cells.names) if self.counts is None else boxed(self.counts)
        tallies = [tallier.counts("cells", cells, printed)]
        if tallies[0].is_exact:
            tallies.append(
                tallier.tally("total", summed(cells, (True,)), quantities=[COUNT], implied=True)
            )
        return [*tallies, *tallier.n()]

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        """Return the rules on tables, and whether an end is the smallest or largest value there is, which a few people have."""
        values, where = column_numbers(self.of, tallier.fields, tallier.inside), list[str]()
        if len(values):
            for end, extreme, side in (
                (self.edges[0], values.min(), "first"),
                (self.edges[-1], values.max(), "last"),
            ):
                if float(end) == float(extreme) and (values == extreme).sum() < policy.threshold:
                    where.append(f"the {side} edge")
        good = "No end of the histogram is an extreme value of a few people."
        bad = f"{some(len(where), 2, 'end')} of the histogram: the extreme value itself, which fewer than {policy.threshold} people have."
        ends = tallies[0].finding("ends", where, of=2, good=good, bad=bad, status="review")
        return [*super().findings(tallies, tallier, policy), ends]


KINDS.register(Kind("histogram", HistogramSpec, "Frequencies", "counts between edges"))
