"""One interface for all engines: from a specification to datasets that reproduce its outputs, many at once if asked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._base.errors import InputError, unknown_name
from .._base.runtime import Progress, silent, thread_count
from .._base.seeds import Seed, seed_sequence
from .contradictions import check_contradictions
from .document import Outputs
from .evolve_result import (
    EvolveAbout,
    EvolvedCopy,
    EvolvedData,
    EvolveResult,
    OutputReport,
    RulesOnly,
    TracePoint,
    by_output,
)
from .limits import check_copies, check_size, check_start, check_tolerance
from .margins import KnownMargins, known_margins, published_margins, with_margins, without_margins
from .refit import Compared, compared
from .solve.budget import proposals_of, seconds_each
from .solve.ea import settings_from
from .solve.incremental import Solved
from .solve.process import STARTS, EngineJob, Engines, run
from .solve.state import OutputError

EngineName = Literal["incremental", "maxent", "ea"]
StartName = Literal["uniform", "margins"]

TOLERANCE = 1e-3
SECONDS = 60.0
"""What a copy may take unless something else is asked for."""


@dataclass(frozen=True, kw_only=True)
class EvolveSettings:
    """How datasets are evolved.

    Parameters
    ----------
    rows
        The number of records; the specification's own if absent. Rows x columns x 24 bytes may be at most 8 GiB (`limits.py`).
    engine
        `incremental`, `maxent` (drawn from what the outputs imply, then polished) or `ea` (the paper's algorithm).
    copies
        How many datasets.
    start
        From known `margins` (the weights of columns, or what outputs tell of them, at least one of which there must be) or `uniform` over levels. From
        margins where some are known if absent, else uniform.
    seconds
        When an engine gives up, for each copy, in about so many seconds: turned into a number of proposals before the search begins, by a rule that
        does not look at the machine (`solve/budget.py`). 60 if neither is given.
    proposals
        The same as a number of proposals: instead of seconds.
    tolerance
        How close numbers that are known in full must come, in their standard errors: 0.001 if absent. Refused where there are none.
    spread
        Rounds of null moves, which change records and keep every output as it is, after the outputs are reached.
    options
        Settings of `ea`: those of `solve.ea.EvolutionSettings`. The other engines have none.
    """

    rows: int | None = None
    engine: EngineName = "incremental"
    copies: int = 1
    start: StartName | None = None
    seconds: float | None = None
    proposals: int | None = None
    tolerance: float | None = None
    spread: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_copies(self.copies)
        if self.start is not None and self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        if self.options and self.engine != "ea":
            raise InputError(f"--{next(iter(self.options)).replace('_', '-')} is for --engine ea.")


def evolve_spec(
    spec: Outputs,
    settings: EvolveSettings,
    *,
    seed: Seed = None,
    workers: int | None = None,
    engines: Engines | None = None,
    progress: Progress = silent,
) -> EvolveResult:
    """Return datasets that reproduce the published outputs, made from the specification alone.

    1. Refuse what cannot be: sizes, contradictions, settings that would change nothing.
    2. Say how many proposals a search may make.
    3. Have engines make the copies, in processes of their own, which get the specification and no file.
    4. Compute every output again, by other code.

    A copy that did not get there is returned too, with `reached` False. Copies depend on the seed, their number and the number of
    proposals; not on `workers`, nor on how quick or busy the machine is. `engines` are processes that several calls share.
    """
    began = time.perf_counter()
    rules_only = tuple(RulesOnly(name, reason) for name, reason in spec.rules_only.items())
    spec = spec.searched
    _check_size(spec, settings)
    spec, margins = _begun(spec, settings)
    job = _job(spec, settings)
    streams = seed_sequence(seed).spawn(settings.copies)
    seeds = [(stream.entropy, stream.spawn_key) for stream in streams]
    n_workers = min(thread_count(workers), settings.copies)
    arrived = [0]

    def batch(numbers: list[int]) -> list[tuple[int, EvolvedCopy]]:
        def each(_number: int, _solved: Solved) -> None:
            arrived[0] += 1
            progress("evolving", arrived[0] / settings.copies)

        copies = run(replace(job, seeds=[seeds[k] for k in numbers]), each=each, engines=engines)  # type: ignore[misc]
        return [
            (k, _copy(spec, solved, job.tolerance))
            for k, solved in zip(numbers, copies, strict=True)
        ]

    progress("evolving", 0.0)
    batches = [list(range(k, settings.copies, n_workers)) for k in range(n_workers)]
    if n_workers == 1:
        numbered = batch(batches[0])
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            numbered = [one for some in pool.map(batch, batches) for one in some]
    copies = tuple(copy for _, copy in sorted(numbered, key=lambda one: one[0]))
    about = EvolveAbout(
        seed=seed if isinstance(seed, int) else None,
        options=settings.options,
        engine=settings.engine,
        start=job.start,
        margins=margins.every,
        rows=job.rows or 0,
        tolerance=job.tolerance,
        spread=settings.spread,
        proposals_at_most=job.proposals,
        refitted_by=_refitted_by()
        if all(one.refitted for copy in copies for one in copy.outputs)
        else None,
        rules_only=rules_only,
    )
    return EvolveResult(about, copies, time.perf_counter() - began)


def _check_size(spec: Outputs, settings: EvolveSettings) -> None:
    """Raise InputError for datasets that no memory holds."""
    population = settings_from(settings.options).population if settings.engine == "ea" else None
    check_size(
        spec.n_rows(settings.rows), len(spec.columns), copies=settings.copies, population=population
    )


def _begun(spec: Outputs, settings: EvolveSettings) -> tuple[Outputs, KnownMargins]:
    """The outputs over columns with the margins that a start uses, and how these are known."""
    if settings.start == "uniform":
        return without_margins(spec), KnownMargins()
    spec = replace(spec, rows=spec.n_rows(settings.rows))
    margins = known_margins(spec)
    spec = with_margins(spec, published_margins(spec))
    if settings.start is not None:
        check_start(settings.start, spec.columns)
    return spec, margins


def _job(spec: Outputs, settings: EvolveSettings) -> EngineJob:
    """What engines are asked for, without seeds; InputError for what cannot be."""
    n_rows = spec.n_rows(settings.rows)
    evolution = settings_from(settings.options) if settings.engine == "ea" else None
    problem = spec.problem(n_rows)  # says here and at once what is wrong with the specification
    known = any(column.weights is not None for column in spec.columns)
    check_tolerance(settings.tolerance, problem)
    fitness = "score" if evolution is None else evolution.fitness
    each_takes = seconds_each(problem, rows=n_rows, engine=settings.engine, fitness=fitness)
    proposals = proposals_of(settings.seconds, settings.proposals, each=each_takes, default=SECONDS)
    most = (
        proposals
        if evolution is None
        else min(proposals, evolution.generations * evolution.population)
    )
    check_contradictions(spec, n_rows)
    return EngineJob(
        spec.to_dict(),
        (),
        engine=settings.engine,
        start="margins" if known else "uniform",
        rows=n_rows,
        proposals=proposals,
        tolerance=TOLERANCE if settings.tolerance is None else settings.tolerance,
        spread=settings.spread,
        options=dict(settings.options),
        expected=most * each_takes,
    )


def _copy(spec: Outputs, solved: Solved, tolerance: float) -> EvolvedCopy:
    codes = spec.columns.check(solved.codes.astype(np.int32))
    again = compared(spec, codes, tolerance=max(tolerance, 1e-9))
    lacking = missed(spec, again, solved.errors, len(codes))
    source = {error.name: spec.source(error.name, len(codes)).name for error in solved.errors}
    errors = by_output(solved.errors, source)
    return EvolvedCopy(
        solved.reached and not lacking,
        lacking,
        solved.proposals,
        solved.moved,
        tuple(OutputReport.of(one, errors[one.name], tolerance) for one in again),
        tuple(TracePoint.of(point, source) for point in solved.trace),
        solved.seconds,
        tuple(point.seconds for point in solved.trace),
        EvolvedData(spec, codes, again),
    )


def missed(
    spec: Outputs, outputs: Sequence[Compared], errors: Sequence[OutputError], rows: int
) -> tuple[str, ...]:
    """Return the names of outputs that a dataset of `rows` records does not have: by the refit, and where there is none by the engine."""
    by_engine = {spec.source(error.name, rows).name for error in errors if error.outside}
    return tuple(
        one.name for one in outputs if (one.outside if one.refitted else one.name in by_engine)
    )


def _refitted_by() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"statsmodels {version('statsmodels')}"
    except PackageNotFoundError:
        return None
