"""Impossible pairs: combinations of two columns' values that the synthetic table has and no original record has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.masking import THRESHOLD, masked_count
from .._base.results import plain_form
from ..counts.marginal import Marginal
from ..stats.intervals import wilson
from ..stats.pair import pair_up
from ..table import Table
from ..table.codes import Codes
from ..table.rows import Rows
from .marginals import Clique, in_batches
from .metric import METRICS, Distance, Metric

SHOWN = 20
"""Column pairs that a result lists, the most rows first."""

MARKED_CELLS = 1 << 23
"""Cells up to which rows are looked up in an array that marks cells, 8 MiB; above, in the sorted list of cells."""


@dataclass(frozen=True)
class ImpossiblePair:
    """Two columns, and the share of synthetic rows with values of them that no original record has together."""

    columns: Clique
    share: float


@dataclass(frozen=True, kw_only=True, repr=False)
class ImpossiblePairs(Distance):
    """The share of synthetic rows with a pair of values that no original record has: 0 none, 1 every row.

    `pairs` of `total_pairs` column pairs have such cells, `cells` is how many there are, small numbers and units hidden;
    `worst` are the column pairs with the largest shares of rows, those of fewer rows than the threshold left out.
    """

    name: ClassVar[str] = "impossible"

    pairs: int = 0
    total_pairs: int = field(default=0, metadata=plain_form(key="of"))
    cells: int | str = 0
    worst: tuple[ImpossiblePair, ...] = ()


def impossible_pairs(
    original: Rows, synthetic: Any, *, threshold: int = THRESHOLD
) -> ImpossiblePairs:
    """Return the share of synthetic rows that hold two values which no original record holds together: 0 for a copy.

    Bins of numeric columns count as values, and so do `(other)` and the missing levels; a value that the original never
    has makes every pair with it impossible. Not every such pair is wrong: people who are not in the original have such
    pairs too. Measure a holdout in place of the synthetic table to see how many.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"sex": ["f", "m"] * 50, "pregnant": ["yes", "no", "no", "no"] * 25}))
    >>> impossible_pairs(first, pa.table({"sex": ["m", "m", "f", "f"], "pregnant": ["yes", "no", "no", "no"]})).value
    0.25
    """
    pair = pair_up(original, synthetic)
    settings = {
        "values": "levels, and bins of numeric columns",
        "interval": "Wilson, of synthetic rows as independent draws; the original is taken as it is",
    }
    column_pairs = list(combinations(pair.names, 2))
    if not column_pairs:
        return ImpossiblePairs(
            value=None, reason="a pair needs two columns and there is one", settings=settings
        )
    n_rows = pair.synthetic.n_rows
    hits: NDArray[np.uint8] | None = None
    rows: dict[Clique, int] = {}
    cells = 0
    for batch in in_batches(pair, column_pairs):
        marked: list[_MarkedCells] = []
        for names, ours, theirs in zip(batch, *pair.marginals(batch), strict=True):
            new, counts = _only_in_second(ours, theirs)
            if not len(new):
                continue
            cells += len(new)
            rows[names] = int(counts.sum())
            places = [pair.schema.names.index(name) for name in names]
            marked.append(_MarkedCells.from_cells(places, ours.sizes, new))
        if marked:
            batch_hits = pair.synthetic.reduce(RowsHit(tuple(marked)))
            hits = batch_hits if hits is None else hits | batch_hits
    n_hit = 0 if hits is None else int(np.bitwise_count(hits).sum())
    worst = sorted(
        ((names, n) for names, n in rows.items() if n >= threshold), key=lambda item: -item[1]
    )
    return ImpossiblePairs(
        value=n_hit / max(n_rows, 1),
        interval=wilson(n_hit, n_rows),
        pairs=len(rows),
        total_pairs=len(column_pairs),
        cells=masked_count(cells, threshold),
        worst=tuple(ImpossiblePair(names, n / n_rows) for names, n in worst[:SHOWN]),
        settings=settings,
    )


def _only_in_second(ours: Marginal, theirs: Marginal) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the numbers of the cells that the second marginal fills and the first does not, sorted, and their counts."""
    if ours.cells is None and theirs.cells is None:
        only = np.flatnonzero((theirs.counts > 0) & (ours.counts == 0))
        return only, theirs.counts.ravel()[only]
    first, second = (
        cells[:, 0].astype(np.int64) * ours.sizes[1] + cells[:, 1]
        for cells in (ours.nonzero()[0], theirs.nonzero()[0])
    )
    new = ~np.isin(second, first, assume_unique=True)
    return second[new], theirs.nonzero()[1][new]


@dataclass(frozen=True, eq=False)
class _MarkedCells:
    """Cells of two columns, by position; as an array that marks them where that is small."""

    columns: tuple[int, int]
    width: int
    cells: NDArray[Any]

    @classmethod
    def from_cells(
        cls, columns: Sequence[int], sizes: tuple[int, ...], cells: NDArray[np.int64]
    ) -> _MarkedCells:
        first, second = columns
        if sizes[0] * sizes[1] > MARKED_CELLS:
            return cls((first, second), sizes[1], cells)
        marks = np.zeros(sizes[0] * sizes[1], dtype=bool)
        marks[cells] = True
        return cls((first, second), sizes[1], marks)

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Return which rows lie in one of the cells."""
        key = codes[self.columns[0]].astype(np.int64) * self.width + codes[self.columns[1]]
        return self.cells[key] if self.cells.dtype == bool else np.asarray(np.isin(key, self.cells))


@dataclass(frozen=True, eq=False)
class RowsHit:
    """Marks the rows that lie in one of some cells: a bit for each, chunk after chunk."""

    marked: tuple[_MarkedCells, ...]

    columns = None
    values = False

    def summary(self, chunks: Iterator[Table]) -> pa.Table:
        """Return the bits of chunks."""
        bits = []
        for chunk in chunks:
            hit = np.zeros(chunk.codes.n_rows, dtype=bool)
            for cells in self.marked:
                hit |= cells.holds(chunk.codes)
            bits.append(np.packbits(hit).tobytes())
        return pa.table({"bits": pa.array(bits, pa.binary())})

    def result(self, summaries: Iterator[pa.Table]) -> NDArray[np.uint8]:
        """Return the bits of all chunks."""
        chunks = (bits for summary in summaries for bits in summary.column("bits").to_pylist())
        return np.frombuffer(b"".join(chunks), dtype=np.uint8)


METRICS.register(
    Metric(
        name="impossible",
        kind=ImpossiblePairs,
        measure=lambda run, side: impossible_pairs(
            run.original, run.tables[side], threshold=run.settings.threshold
        ),
        counted=True,
        doing="looking for impossible pairs",
        group="relations",
        title="Impossible pairs",
        question="Do synthetic rows combine values that never occur together?",
        definition="Share of synthetic rows with at least one pair of values that no original record has. Some such pairs are merely rare.",
        source="Counted on the pairs of columns of both tables",
        phrases=(
            "Synthetic rows seldom combine what never occurs together",
            "Some synthetic rows combine what never occurs together",
            "Many synthetic rows combine what never occurs together",
            "Synthetic rows combine freely what never occurs together",
        ),
        detail="{percent} of them hold a pair of values that no original record has",
        limits=(0.02, 0.1, 0.3),
    )
)
