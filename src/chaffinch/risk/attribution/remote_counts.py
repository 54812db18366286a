"""Counts of keys and sensitive values of tables that stay where they are: those of `files`, worked out there.

What comes back is each combination that occurs, with how many records have it. The sources that attacks are held against are drawn there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...stats.splits import child
from ...table.long import LongTable, RemoteParts
from ...table.table import Table
from .grids import ColumnCoder, Ints
from .key_counts import KeyCounts, WholeCounts, counts_of_marginal
from .settings import RiskSettings

Clique = tuple[str, ...]


def counted_there(
    files: Mapping[str, LongTable],
    coders: Mapping[str, ColumnCoder],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    cliques: Sequence[Clique],
    sizes: Mapping[str, int],
) -> WholeCounts:
    """Return the counts of all tables, and of the sources that attacks are held against: independent columns, and the label alone where there is one."""
    columns = tuple(sorted({name for clique in cliques for name in clique}))
    cells: dict[tuple[str, str], KeyCounts] = {}
    n_rows = {side: table.n_rows for side, table in files.items()}
    coder = _CodedColumns({name: coders[name] for name in columns})

    def put(side: str, found: Sequence[KeyCounts]) -> None:
        cells.update({(side, clique[-1]): one for clique, one in zip(cliques, found, strict=True)})

    for side, table in files.items():
        put(side, _counts(_parts(table), coder, columns, cliques, sizes))
    drawn = files["synthetic"].n_rows
    whole = WholeCounts(cells, n_rows)
    singles = {name: whole.column("original", name) for name in columns}
    draw = _IndependentColumns(
        {name: (one.codes[0], np.cumsum(one.counts)) for name, one in singles.items()},
        _words(child(root, 1)),
    )
    found = _parts(files["original"]).drawn_key_counts(draw, drawn, cliques, sizes)
    put(
        "marginals",
        [counts_of_marginal(one, clique) for one, clique in zip(found, cliques, strict=True)],
    )
    n_rows["marginals"] = drawn
    if settings.label is not None:
        put(
            "label_only",
            _label_only(
                files["original"], coder, columns, cliques, sizes, settings, drawn, child(root, 2)
            ),
        )
        n_rows["label_only"] = int(cells["label_only", cliques[0][-1]].counts.sum())
    return WholeCounts(cells, n_rows)


def _parts(table: LongTable) -> RemoteParts:
    assert table.remote is not None
    return table.remote


def _counts(
    parts: RemoteParts,
    code: _CodedColumns | _LabelCodes | _LabelDraws,
    columns: Sequence[str],
    cliques: Sequence[Clique],
    sizes: Mapping[str, int],
) -> list[KeyCounts]:
    return [
        counts_of_marginal(one, clique)
        for one, clique in zip(
            parts.key_counts(code, columns, cliques, sizes), cliques, strict=True
        )
    ]


def _label_only(
    original: LongTable,
    coder: _CodedColumns,
    columns: Sequence[str],
    cliques: Sequence[Clique],
    sizes: Mapping[str, int],
    settings: RiskSettings,
    n_rows: int,
    seed: np.random.SeedSequence,
) -> list[KeyCounts]:
    """The counts of the original's records, drawn with replacement, with sensitive values that are drawn anew from records with the same label."""
    label = settings.label
    assert label is not None
    hidden = tuple(name for name in settings.sensitive if name != label)
    # Labels are alike as the schema has them, as in memory (`AttackData.with_label_only`).
    of_label = original.schema[label].size
    parts = _parts(original)
    by_label: dict[str, tuple[Ints, Ints, Ints, Ints]] = {}
    if hidden:
        pairs = [(_LABEL, name) for name in hidden]
        found = _counts(
            parts,
            _LabelCodes(label, {name: coder.coders[name] for name in hidden}),
            [label, *hidden],
            pairs,
            {_LABEL: of_label, **sizes},
        )
        for name, one in zip(hidden, found, strict=True):
            each = np.bincount(one.codes[0], one.counts, of_label).astype(np.int64)
            by_label[name] = (one.codes[1], np.cumsum(one.counts), np.cumsum(each) - each, each)
    again = parts.resampled(n_rows, child(seed, 0))
    return _counts(
        again,
        _LabelDraws(label, coder, by_label, _words(child(seed, 1))),
        [*columns, label],
        cliques,
        sizes,
    )


_LABEL = "\x00label"
"""The name of the label's codes of the schema beside those by value: none that a file has."""


def _words(seed: np.random.SeedSequence) -> tuple[int, ...]:
    return tuple(int(word) for word in seed.generate_state(4))


@dataclass(frozen=True, eq=False)
class _CodedColumns:
    """Codes of columns of a part. It travels."""

    coders: Mapping[str, ColumnCoder]

    def __call__(self, part: Table, place: int) -> dict[str, Ints]:
        return {name: coder.code(part) for name, coder in self.coders.items()}


@dataclass(frozen=True, eq=False)
class _LabelCodes:
    """Codes of the schema of a label, and codes by value of sensitive columns. It travels."""

    label: str
    coders: Mapping[str, ColumnCoder]

    def __call__(self, part: Table, place: int) -> dict[str, Ints]:
        return {_LABEL: part.code(self.label).astype(np.int64)} | {
            name: coder.code(part) for name, coder in self.coders.items()
        }


@dataclass(frozen=True, eq=False)
class _LabelDraws:
    """Codes of a part, of which the sensitive ones are drawn anew by label, from a stream of the part's place. It travels."""

    label: str
    columns: _CodedColumns
    by_label: Mapping[str, tuple[Ints, Ints, Ints, Ints]]
    entropy: tuple[int, ...]

    def __call__(self, part: Table, place: int) -> dict[str, Ints]:
        rng, codes, labels = (
            np.random.default_rng([*self.entropy, place]),
            self.columns(part, place),
            part.code(self.label),
        )
        for name, (values, ends, starts, counts) in self.by_label.items():
            codes[name] = values[
                np.searchsorted(
                    ends,
                    starts[labels] + (rng.random(len(labels)) * counts[labels]).astype(np.int64),
                    side="right",
                )
            ]
        return codes


@dataclass(frozen=True, eq=False)
class _IndependentColumns:
    """Rows whose columns are drawn from codes by their counts, each by itself. It travels."""

    columns: Mapping[str, tuple[Ints, Ints]]
    entropy: tuple[int, ...]

    def __call__(self, number: int, n_rows: int) -> dict[str, Ints]:
        rng = np.random.default_rng([*self.entropy, number])
        return {
            name: codes[np.searchsorted(ends, rng.integers(0, ends[-1], n_rows), side="right")]
            for name, (codes, ends) in self.columns.items()
        }
