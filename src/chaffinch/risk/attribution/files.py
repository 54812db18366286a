"""The data of an attack on files larger than memory: counts of all records by keys and sensitive value, and a sample for the rest.

The sample is one slice of the space of rows (`table.sample`): all rows of all tables whose values hash into it. A copy of a person's row is then
in the sample exactly where the person is, so tests of whole rows see of those people what they would see of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.runtime import Progress, silent
from ..._base.seeds import generator
from ...stats.resampling import times_drawn
from ...stats.sampled import SampledRecords, hash_key
from ...stats.splits import child
from ...table.align import align_files
from ...table.holdout import check_long_holdout, check_set_aside
from ...table.long import LongOrigin, LongTable
from ...table.sample import choose_slice
from ...table.scan import Scan
from .attack_data import AttackData, side_names
from .grids import ColumnCoder, Ints, column_coder
from .key_counts import WholeCounts, count_keys
from .remote_counts import counted_there
from .settings import RiskSettings

Batches = Iterator[Mapping[str, NDArray[Any]]]

DRAWN = 1 << 18
"""Rows drawn at once for a source of independent columns."""

_SAMPLE = 11
"""The random stream that the sample is chosen by; attacks have their own."""


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

    Where a missing key matches anything there are no such counts, and all attacks are of the sample. That the holdout is one is checked unless it was before;
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
        missing=settings.missing,
        coders=coders,
    )
    sampled, n_rows = (
        SampledRecords.of(sample, files, chosen_by, settings.threshold),
        {side: table.n_rows for side, table in files.items()},
    )
    if settings.missing == "wildcard" or not settings.keys:
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
