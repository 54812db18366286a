"""All metrics of a synthetic table's worth in one go, each beside its references: `chaffinch.utility`.

Of tables in files larger than memory all records are taken where counts are enough, a sample where a measure learns. The references are those of tables in
memory, drawn part by part: with a sample of all records every figure is the same.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.errors import unknown_name
from .._base.masking import THRESHOLD, masked_count
from .._base.results import RunFacts
from .._base.runtime import Progress, giving_back, silent
from .._base.seeds import Seed, child, generator, seed_sequence
from ..counts.counter import StreamCounter
from ..stats.intervals import Result
from ..stats.learners import Encoding, Models
from ..stats.pair import pair_up
from ..stats.panel import times_drawn
from ..stats.sampled import SAMPLE_ROWS, SampledRecords, hash_key
from ..synth.independent import Independent
from ..table import Scan, Schema, Table
from ..table.align import align, files_on_one_grid
from ..table.formats import Source
from ..table.holdout import check_aligned, check_holdout_file, check_long_holdout
from ..table.long import LongOrigin, LongTable
from ..table.read import open_table
from ..table.sample import choose_rows
from ..table.sources import open_source
from .metric import METRICS, UtilityRun, UtilitySettings, Weights, asked_metrics, left_out
from .mu import Norm
from .result import ColumnSummary, TableSummary, UtilityAbout, UtilityResult, saying_of
from .shapes import shapes_of


def utility(
    original: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    label: str | None = None,
    formula: str | None = None,
    measures: Sequence[str] | None = None,
    models: Models = None,
    repeats: int | None = None,
    norm: Norm = "frobenius",
    encoding: Encoding = "codes",
    pmse_model: str = "tree",
    alpha: float = 1.0,
    beta: float = 1.0,
    weights: Weights = "given",
    svm_rows: int | None = 5000,
    threshold: int = THRESHOLD,
    thorough: bool = False,
    sample_rows: int = SAMPLE_ROWS,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> UtilityResult:
    """Return what a synthetic table is worth: every metric that applies, or those that are named.

    Parameters
    ----------
    original, synthetic, holdout
        Tables, paths or frames. Where the original is a scan (`chaffinch.scan`) all are read part by part, in bounded memory: measures that need
        counts alone are of all records, others of a sample, and the result says which are which. A holdout holds people of the same population who are not in the original: what a fresh
        sample would score, and a clean test set for learners.
    label
        The column that learners predict; the schema's label unless named. Without any, `learning` does not apply.
    formula
        A regression to fit on both tables, as `income ~ age + sex`.
    measures
        Some of the metrics, by the words that ask for them; unless named all that are quick, or all to be thorough.
    models, repeats, encoding, svm_rows
        Of learners, see `learning` and `delta`.
    norm, alpha, beta, weights, pmse_model, threshold, sample_rows
        See `UtilitySettings`.
    thorough
        Measure delta too, with all learners and ten splits where these are not named. `result.about.left_out` says what was left out.

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
    settings = UtilitySettings(
        label=label,
        formula=formula,
        measures=None if measures is None else tuple(measures),
        models=models,
        repeats=repeats,
        norm=norm,
        encoding=encoding,
        pmse_model=pmse_model,
        alpha=alpha,
        beta=beta,
        weights=weights,
        svm_rows=svm_rows,
        threshold=threshold,
        thorough=thorough,
        sample_rows=sample_rows,
    )
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
    asked_metrics(settings.measures, thorough=settings.thorough)
    check_holdout_file(original, holdout)
    root = seed_sequence(seed)
    if isinstance(original, Scan | LongOrigin):
        settings = replace(settings, label=_label(original.schema, settings.label))
        run = run_of_files(
            original,
            synthetic,
            holdout,
            settings,
            root,
            holdout_checked=holdout_checked,
            threads=threads,
            progress=giving_back(progress),
        )
        with run as files_run:
            return _measured(original, files_run, seed)
    source = open_table(original)
    settings = replace(settings, label=_label(source.schema, settings.label))

    first, second, *rest = align(source, synthetic, *([] if holdout is None else [holdout]))
    notes = (
        check_aligned(
            first,
            rest[0],
            source,
            holdout if isinstance(holdout, Table | Source) else open_source(holdout),
        )
        if rest and not holdout_checked
        else ()
    )
    first = replace(
        first, schema=replace(first.schema, rules=source.schema.rules)
    )  # a shared grid has none of its own

    free = replace(
        first, schema=replace(first.schema, rules=())
    )  # rules would tie columns that are to be independent
    independent = Independent().fit(free).sample(second.n_rows, seed=child(root, MARGINALS))
    drawn = np.sort(generator(child(root, RESAMPLE)).integers(0, first.n_rows, second.n_rows))
    tables = {"synthetic": second, "marginals": independent, "resample": first.take(drawn)}
    tables |= dict(zip(("holdout",), rest, strict=False))

    whole = UtilityRun(
        original=first,
        tables=tables,
        settings=settings,
        root=root,
        threads=threads,
        progress=progress,
        holdout_notes=notes,
    )
    return _measured(source, whole, seed)


def _measured(source: Table | Scan | LongOrigin, run: UtilityRun, seed: Seed) -> UtilityResult:
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
        name: sides["synthetic"] for name, sides in run.results.items() if "synthetic" in sides
    }
    first, second = pair_up(run.original, run.tables["synthetic"]).in_memory
    return UtilityResult(
        about=_about(source, run, seed, results),
        results=results,
        references={name: METRICS[name].references(run.results[name]) for name in results},
        shapes=shapes_of(first, second, results, threshold=settings.threshold),
        run=RunFacts(seconds=seconds),
    )


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


def _label(schema: Schema, label: str | None) -> str | None:
    """Return the label that was named, or the schema's."""
    name = label if label is not None else next(iter(schema.with_role("label")), None)
    if name is not None and name not in schema.names:
        raise unknown_name("label", name, schema.names)
    return name


def _about(
    source: Table | Scan | LongOrigin, run: UtilityRun, seed: Seed, results: Mapping[str, Result]
) -> UtilityAbout:
    def rows(table: Table) -> int | str:
        return masked_count(table.n_rows, run.settings.threshold)

    whole = run.over_all_records()
    holdout, label = whole.tables.get("holdout"), run.settings.label
    compared = (whole.original, whole.tables["synthetic"], *([] if holdout is None else [holdout]))
    notes = tuple(dict.fromkeys(str(note) for table in compared for note in table.notes))
    sample = None
    if run.files is not None:
        sample = SampledRecords.of(
            {"original": run.original, **run.tables}, run.files, "place", run.settings.threshold
        )
        sample = saying_of(sample, results)
        notes = (*sample.sentences, *notes)
    return UtilityAbout(
        original=TableSummary(rows(whole.original), len(whole.original.schema.names)),
        synthetic=TableSummary(rows(whole.tables["synthetic"])),
        holdout=None if holdout is None else TableSummary(rows(holdout)),
        columns=tuple(
            ColumnSummary(c.name, c.kind, c.size, "label" if c.name == label else c.role)
            for c in whole.original.schema
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
