"""The data of an attack on files larger than memory: counts of all records by keys and sensitive value, and a sample for the rest.

The sample is one slice of the space of rows (`table.sample`): all rows of all tables whose values hash into it. A copy of a person's row is then
in the sample exactly where the person is, so tests of whole rows see of those people what they would see of all.

Tables that stay where they are (on a cluster) are counted there. What comes back is each combination that occurs, with how many records have it. The sources that attacks are held against are drawn there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.runtime import Progress, silent
from ..._base.seeds import child, generator
from ...stats.panel import times_drawn
from ...stats.sampled import SampledRecords, hash_key
from ...table.align import align_files
from ...table.compare.values import ColumnCoder, Ints, column_coder
from ...table.holdout import check_long_holdout, check_set_aside
from ...table.long import LongOrigin, LongTable, RemoteParts
from ...table.sample import choose_slice
from ...table.scan import Scan
from ...table.table import Table
from .attack_data import AttackData, side_names
from .matching import KeyCounts, WholeCounts, count_keys, counts_of_marginal
from .settings import RiskSettings

Batches = Iterator[Mapping[str, NDArray[Any]]]


Clique = tuple[str, ...]


DRAWN = 1 << 18
"""Rows drawn at once for a source of independent columns."""


_SAMPLE = 11
"""The random stream that the sample is chosen by; attacks have their own."""


_LABEL = "\x00label"
"""The name of the label's codes of the schema beside those by value: none that a file has."""


class FilesAttacked(NamedTuple):
    """The data of a study of files, what the sample in them is, the records of each side, and what is to be said of the holdout."""

    data: AttackData
    sample: SampledRecords
    n_rows: Mapping[str, int]
    holdout_notes: tuple[str, ...] = ()


def data_of_files(
    original: Scan | LongOrigin,
    synthetics: Sequence[Any],
    holdout: Any,
    settings: RiskSettings,
    root: np.random.SeedSequence,
    *,
    set_aside: bool = False,
    holdout_checked: bool = False,
    progress: Progress = silent,
) -> FilesAttacked:
    """Return the data of a study of files, with the counts of all records, what the sample is of, and how many records each side has.

    That the holdout is one is checked unless it was before;
    `set_aside`: it is of people of the input, of whom no synthetic table may be.
    """
    names = side_names(len(synthetics), holdout is not None)
    others = (*synthetics, *([] if holdout is None else [holdout]))
    with (
        original.beside(*others, progress=progress)
        if isinstance(original, LongOrigin)
        else nullcontext(
            align_files(
                original,
                *others,
                names=[name.replace("-", " ") for name in names[1:]],
                progress=progress,
            )
        ) as aligned
    ):
        files = dict(zip(names, aligned, strict=True))
        notes: tuple[str, ...] = ()
        if holdout is not None and not holdout_checked:
            progress("comparing the holdout with the input", -1)
            notes = check_long_holdout(
                files["original"], files["holdout"], original, holdout, set_aside=set_aside
            )
        for name in names if set_aside else ():
            if name.startswith("synthetic"):
                check_set_aside(files[name], files["holdout"], name.replace("-", " "))
        return _data_of(files, settings, root, progress)._replace(holdout_notes=notes)


def _data_of(
    files: Mapping[str, LongTable],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    progress: Progress,
) -> FilesAttacked:
    progress("choosing a sample", -1)
    sample, chosen_by = choose_slice(
        files, settings.sample_rows, key=hash_key(child(root, _SAMPLE))
    )
    if not all(table.n_rows for table in sample.values()):
        raise InputError(
            f"A sample of {settings.sample_rows:,} records of the largest table has none of another. Raise --sample-rows, or pass --engine memory."
        )
    people = [i for i, side in enumerate(files) if side in ("original", "holdout")]
    coders = {}
    for name in settings.columns:
        progress(f"reading {name}", -1)
        coders[name] = column_coder(
            list(files.values()),
            name,
            people=people,
            numeric=settings.numeric,
            rare=settings.rare,
            width=settings.tolerance.get(name),
        )
    data = AttackData.of(
        sample["original"],
        [table for side, table in sample.items() if side.startswith("synthetic")],
        sample.get("holdout"),
        columns=settings.columns,
        numeric=settings.numeric,
        rare=settings.rare,
        tolerance=settings.tolerance,
        coders=coders,
    )
    sampled, n_rows = (
        SampledRecords.of(sample, files, chosen_by, settings.threshold),
        {side: table.n_rows for side, table in files.items()},
    )
    if not settings.keys:
        return FilesAttacked(data, sampled, n_rows)
    progress("counting keys and values", -1)
    return FilesAttacked(
        replace(data, whole=_counted(files, coders, settings, root)), sampled, n_rows
    )


def _counted(
    files: Mapping[str, LongTable],
    coders: Mapping[str, ColumnCoder],
    settings: RiskSettings,
    root: np.random.SeedSequence,
) -> WholeCounts:
    """Return the counts of all files, and of the sources that attacks are held against."""
    cliques = [
        (*(key for key in settings.keys if key != wanted), wanted) for wanted in settings.sensitive
    ]
    sizes = {name: coder.grid.size for name, coder in coders.items()}
    n_rows = {side: table.n_rows for side, table in files.items()}
    columns = sorted({name for clique in cliques for name in clique})
    if files["original"].remote is not None:
        return counted_there(files, coders, settings, root, cliques, sizes)
    cells = {}

    def count(side: str, batches: Batches) -> None:
        for clique, found in zip(cliques, count_keys(batches, cliques, sizes), strict=True):
            cells[side, clique[-1]] = found

    for side, table in files.items():
        count(
            side,
            ({name: coders[name].code(part) for name in columns} for part in table.parts(columns)),
        )
    whole = WholeCounts(cells, n_rows)
    drawn = next(table.n_rows for side, table in files.items() if side.startswith("synthetic"))
    singles = {name: whole.column("original", name) for name in columns}
    count(
        "marginals",
        _independent(
            {name: (one.codes[0], one.counts) for name, one in singles.items()},
            drawn,
            generator(child(root, 1)),
        ),
    )
    if settings.label is not None:
        count(
            "label_only",
            _label_only(
                files["original"], coders, columns, settings, drawn, generator(child(root, 2))
            ),
        )
    return WholeCounts(cells, {**n_rows, "marginals": drawn, "label_only": drawn})


def _independent(
    columns: Mapping[str, tuple[Ints, Ints]], n_rows: int, rng: np.random.Generator
) -> Batches:
    """Yield rows whose columns are drawn from codes by their counts, each by itself."""
    ends = {name: np.cumsum(counts) for name, (_, counts) in columns.items()}
    for start in range(0, n_rows, DRAWN):
        n = min(DRAWN, n_rows - start)
        yield {
            name: codes[
                np.searchsorted(ends[name], rng.integers(0, ends[name][-1], n), side="right")
            ]
            for name, (codes, _) in columns.items()
        }


def _label_only(
    original: LongTable,
    coders: Mapping[str, ColumnCoder],
    columns: Sequence[str],
    settings: RiskSettings,
    n_rows: int,
    rng: np.random.Generator,
) -> Batches:
    """Yield the original's records, drawn with replacement, with sensitive values that are drawn anew from records with the same label."""
    label = settings.label
    assert label is not None
    times = times_drawn(original.n_rows, n_rows, rng)
    hidden = [name for name in settings.sensitive if name != label]
    # Labels are alike as the schema has them, as in memory (`AttackData.with_label_only`).
    sizes = {label: original.schema[label].size} | {name: coders[name].grid.size for name in hidden}
    found = count_keys(
        (
            {label: part.code(label)} | {name: coders[name].code(part) for name in hidden}
            for part in original.parts([label, *hidden])
        ),
        [(label, name) for name in hidden],
        sizes,
    )
    by_label = {
        name: (one.codes[1], np.cumsum(one.counts), _starts(one.codes[0], one.counts, sizes[label]))
        for name, one in zip(hidden, found, strict=True)
    }
    at = 0
    for part in original.parts([*columns, label]):
        rows = np.repeat(np.arange(part.n_rows), times(at, at + part.n_rows))
        at += part.n_rows
        drawn = part.take(rows)
        codes = {name: coders[name].code(drawn) for name in columns}
        labels = drawn.code(label)
        for name, (values, ends, (starts, counts)) in by_label.items():
            codes[name] = values[
                np.searchsorted(
                    ends,
                    starts[labels] + (rng.random(len(rows)) * counts[labels]).astype(np.int64),
                    side="right",
                )
            ]
        yield codes


def _starts(labels: Ints, counts: Ints, size: int) -> tuple[Ints, Ints]:
    """Return for each label how many records have lower ones, and how many have it; labels ascend."""
    each = np.bincount(labels, counts, size).astype(np.int64)
    return np.cumsum(each) - each, each


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
        put(side, _counts(_remote(table), coder, columns, cliques, sizes))
    drawn = files["synthetic"].n_rows
    whole = WholeCounts(cells, n_rows)
    singles = {name: whole.column("original", name) for name in columns}
    draw = _IndependentColumns(
        {name: (one.codes[0], np.cumsum(one.counts)) for name, one in singles.items()},
        _entropy(child(root, 1)),
    )
    found = _remote(files["original"]).drawn_key_counts(draw, drawn, cliques, sizes)
    put(
        "marginals",
        [counts_of_marginal(one, clique) for one, clique in zip(found, cliques, strict=True)],
    )
    n_rows["marginals"] = drawn
    if settings.label is not None:
        put(
            "label_only",
            _label_only_there(
                files["original"], coder, columns, cliques, sizes, settings, drawn, child(root, 2)
            ),
        )
        n_rows["label_only"] = int(cells["label_only", cliques[0][-1]].counts.sum())
    return WholeCounts(cells, n_rows)


def _remote(table: LongTable) -> RemoteParts:
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


def _label_only_there(
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
    parts = _remote(original)
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
        _LabelDraws(label, coder, by_label, _entropy(child(seed, 1))),
        [*columns, label],
        cliques,
        sizes,
    )


def _entropy(seed: np.random.SeedSequence) -> tuple[int, ...]:
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
