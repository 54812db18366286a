"""A study of tables in files larger than memory: all records where counts are enough, a sample where a measure learns.

The references are those of tables in memory, drawn part by part: with a sample of all records every figure is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.runtime import Progress, silent
from .._base.seeds import generator
from ..counts.counter import StreamCounter
from ..stats.resampling import times_drawn
from ..stats.sampled import hash_key
from ..stats.splits import child
from ..synth.independent import Independent
from ..table.align import files_on_one_grid
from ..table.holdout import check_long_holdout
from ..table.long import LongOrigin, LongTable
from ..table.sample import choose_rows
from ..table.scan import Scan
from ..table.table import Table
from .metric import UtilityRun
from .settings import UtilitySettings

MARGINALS, RESAMPLE, _SAMPLE = 0, 1, 1 << 20
"""Random streams of the references and of the sample; metrics have their own."""


@contextmanager
def run_of_files(
    original: Scan | LongOrigin,
    synthetic: Any,
    holdout: Any,
    settings: UtilitySettings,
    root: np.random.SeedSequence,
    *,
    holdout_checked: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
) -> Iterator[UtilityRun]:
    """Yield the run of a study of files: they, their references, and samples of all. Codes that are kept meanwhile are removed at the end."""
    others = (synthetic, *([] if holdout is None else [holdout]))
    with (
        original.beside(*others, progress=progress)
        if isinstance(original, LongOrigin)
        else files_on_one_grid(original, *others, progress=progress) as aligned
    ):
        first, second, *rest = aligned
        notes = (
            check_long_holdout(first, rest[0], original, holdout)
            if rest and not holdout_checked
            else ()
        )
        files = {
            "original": first,
            "synthetic": second,
            "marginals": _independent(first, second.n_rows, child(root, MARGINALS), threads),
        }
        files["resample"] = _resampled(first, second.n_rows, child(root, RESAMPLE))
        files |= dict(zip(("holdout",), rest, strict=False))
        progress("choosing a sample", -1)
        sample = choose_rows(
            files, settings.sample_rows, key=hash_key(child(root, _SAMPLE)), by="place"
        )
        mine = sample.pop("original")
        mine = replace(
            mine, schema=replace(mine.schema, rules=original.schema.rules)
        )  # a shared grid has none of its own
        yield UtilityRun(
            original=mine,
            tables=sample,
            settings=settings,
            root=root,
            threads=threads,
            progress=progress,
            files=files,
            holdout_notes=notes,
        )


def _independent(
    first: LongTable, n_rows: int, seed: np.random.SeedSequence, threads: int | None
) -> LongTable:
    """Return a table of independent columns, drawn anew each time it is read."""
    if first.remote is not None:
        return replace(
            first,
            n_rows=n_rows,
            remote=first.remote.independent(n_rows, seed),
            notes=(),
            _shared={},
        )
    model = Independent().fit(StreamCounter(first))

    def parts(_: Collection[str] | None) -> Iterator[Table]:
        for part in model.batches(n_rows, seed=seed, threads=threads):
            yield replace(part, schema=first.schema)

    return replace(first, n_rows=n_rows, read=parts, coded=parts, notes=(), _shared={}).cached()


def _resampled(first: LongTable, n_rows: int, seed: np.random.SeedSequence) -> LongTable:
    """Return the records of a table drawn with replacement, in their order."""
    if first.remote is not None:
        remote = first.remote.resampled(n_rows, seed)
        return replace(first, n_rows=remote.count_rows(), remote=remote, notes=(), _shared={})
    times = times_drawn(first.n_rows, n_rows, generator(seed))

    def parts(columns: Collection[str] | None) -> Iterator[Table]:
        at = 0
        for part in first.parts(columns):
            yield part.take(np.repeat(np.arange(part.n_rows), times(at, at + part.n_rows)))
            at += part.n_rows

    return replace(first, n_rows=n_rows, read=parts, coded=parts, notes=(), _shared={}).cached()
