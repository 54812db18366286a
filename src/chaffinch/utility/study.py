"""All metrics of a synthetic table's worth in one go, each beside its references: `chaffinch.utility`.

Of tables in files larger than memory all records are taken where counts are enough, a sample where a measure learns. The references are those of tables in
memory, drawn part by part: with a sample of all records every figure is the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._base.checks import check_name
from .._base.masking import masked_count
from .._base.options import takes
from .._base.results import RunFacts
from .._base.runtime import Progress, giving_back, silent
from .._base.seeds import Seed, child, seed_sequence
from ..counts.counter import counter_of
from ..stats.intervals import Result
from ..stats.references import DrawFromModel, resample, stream_of
from ..stats.sampled import SampledRecords, hash_key
from ..synth.independent import Independent
from ..table import Schema, Table
from ..table.align import SelectColumns, align
from ..table.holdout import check_aligned, check_holdout_file
from ..table.rows import Rows, open_rows
from ..table.sample import choose_rows
from .metric import METRICS, UtilityRun, asked_metrics, left_out
from .result import ColumnSummary, TableSummary, UtilityAbout, UtilityResult, saying_of
from .settings import UtilitySettings
from .shapes import shapes_of

if TYPE_CHECKING:
    from ..keywords import UtilityOptions


@takes(UtilitySettings)
def utility(
    original: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    settings: UtilitySettings | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Unpack[UtilityOptions],
) -> UtilityResult:
    """Return what a synthetic table is worth: every metric that applies, or those that are named.

    Parameters
    ----------
    original, synthetic, holdout
        Tables, paths or frames. Where the original is a scan (`chaffinch.scan`) all are read part by part, in bounded memory: measures that need
        counts alone are of all records, others of a sample, and the result says which are which. A holdout holds people of the same population who are not in the original: what a fresh
        sample would score, and a clean test set for learners.
    settings
        What is measured, and how; or its options one by one, see `UtilitySettings`: `label` (the schema's unless named; without any, `learning` does not
        apply), `formula`, `measures`, `thorough` and more. `result.about.left_out` says what was left out.

    Raises
    ------
    InputError
        If columns differ, or a name or number breaks a rule.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = pa.table({"a": ["x", "y"] * 40, "b": ["p", "q"] * 40})
    >>> chaffinch.utility(table, table, measures=["jensen_shannon"], seed=1)
    UtilityResult(jensen_shannon 0)
    """
    settings = UtilitySettings.chosen(settings, options)
    return measure_utility(
        original, synthetic, holdout, settings, seed=seed, threads=threads, progress=progress
    )


def measure_utility(
    original: Any,
    synthetic: Any,
    holdout: Any,
    settings: UtilitySettings,
    *,
    holdout_checked: bool = False,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> UtilityResult:
    """Return what a synthetic table is worth under some settings. That the holdout is one is checked, unless it was before (`holdout_checked`).

    1. Bring the tables onto the grid of the original.
    2. Draw the references: independent columns, and the original's own records again.
    3. Measure every metric that was asked for on the synthetic table and its references.
    """
    check_holdout_file(original, holdout)
    source = open_rows(original)
    settings = replace(settings, label=_label(source.schema, settings.label))
    tables = {"synthetic": synthetic} | ({} if holdout is None else {"holdout": holdout})
    with _run(
        source,
        tables,
        settings,
        seed_sequence(seed),
        holdout_checked=holdout_checked,
        threads=threads,
        progress=progress if source.in_memory else giving_back(progress),
    ) as run:
        return _measure(source, run, seed)


@contextmanager
def _run(
    source: Rows,
    tables: Mapping[str, Any],
    settings: UtilitySettings,
    root: np.random.SeedSequence,
    *,
    holdout_checked: bool,
    threads: int | None,
    progress: Progress,
) -> Iterator[UtilityRun]:
    """Give the run of a study: tables on one grid, their references, and samples of what is not in memory. Codes that are cached meanwhile are removed at the end."""
    with ExitStack() as stack:
        progress("reading tables", -1)
        aligned = align(source, *tables.values(), names=list(tables))
        progress("coding rows", -1)
        rows = {
            side: stack.enter_context(side_rows.cached())
            for side, side_rows in zip(("original", *tables), aligned, strict=True)
        }
        original, n_rows = rows["original"], rows["synthetic"].n_rows
        notes: tuple[str, ...] = ()
        if "holdout" in rows and not holdout_checked:
            notes = check_aligned(original, rows["holdout"], source, tables["holdout"])
        rows["marginals"] = stack.enter_context(
            _independent(original, n_rows, child(root, MARGINALS)).cached()
        )
        for number in range(max(1, min(MAX_RESAMPLES, RESAMPLED_ROWS // max(n_rows, 1)))):
            side = f"resample-{number + 1}" if number else "resample"
            stream = child(root, RESAMPLE, number) if number else child(root, RESAMPLE)
            rows[side] = stack.enter_context(resample(original, n_rows, stream).cached())
        progress("choosing a sample", -1)
        key = hash_key(child(root, _SAMPLE))
        sample = choose_rows(rows, settings.sample_rows, key=key, by="place")
        first = sample.pop("original")
        yield UtilityRun(
            original=replace(
                first, schema=replace(first.schema, rules=source.schema.rules)
            ),  # a shared grid has none of its own
            tables=sample,
            rows=rows,
            settings=settings,
            root=root,
            threads=threads,
            progress=progress,
            holdout_notes=notes,
        )


def _measure(source: Rows, run: UtilityRun, seed: Seed) -> UtilityResult:
    """Return the metrics of a run that were asked for."""
    settings = run.settings
    asked = asked_metrics(settings.measures, thorough=settings.thorough)
    seconds: dict[str, float] = {}
    for metric in METRICS:
        if not metric.applies(run, asked):
            continue
        if metric.doing:
            run.progress(metric.doing, -1)
        start = time.perf_counter()
        if results := metric.run(run):
            run.results[metric.name] = results
        if not metric.derived_from:
            seconds[metric.name] = time.perf_counter() - start
    results = {
        name: by_table["synthetic"]
        for name, by_table in run.results.items()
        if "synthetic" in by_table
    }
    first, second = align(run.original, run.tables["synthetic"])
    return UtilityResult(
        about=_about(source, run, seed, results),
        results=results,
        references={name: METRICS[name].references(run.results[name]) for name in results},
        shapes=shapes_of(first, second, results, threshold=settings.threshold),
        run=RunFacts(seconds=seconds),
    )


def _label(schema: Schema, label: str | None) -> str | None:
    """Return the label that was named, or the schema's."""
    name = label if label is not None else next(iter(schema.with_role("label")), None)
    check_name("label", name, schema.names, optional=True)
    return name


def _about(
    source: Rows, run: UtilityRun, seed: Seed, results: Mapping[str, Result]
) -> UtilityAbout:
    def rows(table: Table) -> int | str:
        return masked_count(table.n_rows, run.settings.threshold)

    all_records = run.over_all_records()
    holdout, label = all_records.tables.get("holdout"), run.settings.label
    compared = (
        all_records.original,
        all_records.tables["synthetic"],
        *([] if holdout is None else [holdout]),
    )
    notes = tuple(dict.fromkeys(str(note) for table in compared for note in table.notes))
    sample = None
    if run.sampled:
        sample = SampledRecords.from_tables(
            {"original": run.original, **run.tables}, run.rows, "place", run.settings.threshold
        )
        sample = saying_of(sample, results)
        notes = (*sample.sentences, *notes)
    return UtilityAbout(
        original=TableSummary(rows(all_records.original), len(all_records.original.schema.names)),
        synthetic=TableSummary(rows(all_records.tables["synthetic"])),
        holdout=None if holdout is None else TableSummary(rows(holdout)),
        columns=tuple(
            ColumnSummary(c.name, c.kind, c.size, "label" if c.name == label else c.role)
            for c in all_records.original.schema
        ),
        not_measured=tuple(column.name for column in source.schema if not column.modelled),
        label=label,
        seed=seed if isinstance(seed, int) else None,
        notes=(*run.holdout_notes, *notes),
        left_out=left_out(run.settings),
        sample=sample,
    )


MARGINALS, RESAMPLE, _SAMPLE = 0, 1, 1 << 20
"""Random streams of the references and of the sample; metrics have their own."""


MAX_RESAMPLES, RESAMPLED_ROWS = 8, 100_000
"""Draws of the original's own records, whose mean is the reference: at most, and records that they have together, about. What one draw scores moves little in large tables."""


def _independent(original: Rows, n_rows: int, seed: np.random.SeedSequence) -> Rows:
    """Return rows of independent columns with the shares of the original's."""
    # Rules would tie columns that are to be independent.
    schema = replace(original.schema, rules=())
    free = original.map(SelectColumns(schema), schema) if original.schema.rules else original
    model = Independent().fit(free if free.in_memory else counter_of(free))
    return original.draw_rows(DrawFromModel(model, schema, n_rows, stream_of(seed)), schema, n_rows)
