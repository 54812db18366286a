"""One interface for all engines: from a specification to datasets that reproduce its outputs, many at once if asked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._base.progress import Progress, silent
from .._base.seeds import Seed, seed_sequence
from .._base.threads import thread_count
from .columns import Codes
from .contradictions import check_contradictions
from .document import Spec
from .limits import check_copies, check_size, check_start, check_tolerance
from .refit import Compared, compared
from .solve.budget import proposals_of, seconds_each
from .solve.ea import settings_from
from .solve.incremental import Checkpoint
from .solve.process import Job, Made, run
from .solve.state import OutputError

if TYPE_CHECKING:
    from ..table import Table

__all__ = ["EngineName", "Evolved", "EvolvedCopy", "StartName", "evolve"]

EngineName = Literal["incremental", "maxent", "ea"]
StartName = Literal["uniform", "margins"]

TOLERANCE = 1e-3
SECONDS = 60.0
"""What a copy may take unless something else is asked for."""


@dataclass(frozen=True, eq=False)
class EvolvedCopy:
    """One evolved dataset.

    Parameters
    ----------
    spec
        What it was evolved from.
    codes
        The dataset, one column of codes for each of the specification's columns.
    reached
        Whether every published number is reproduced within its precision: the engine says so, and no refit denies it (`missed`).
    outputs
        Each output computed again by other code, beside what was published.
    errors
        Each equation set's error as the engine counts it.
    trace
        Errors on the way: by proposals and seconds (`ea`: by generations).
    proposals
        How many it took.
    seconds
        How long that took here.
    moved
        The share of records, 0 to 1, that null moves changed after the outputs were reached.
    """

    spec: Spec = field(repr=False)
    codes: Codes = field(repr=False)
    reached: bool
    outputs: tuple[Compared, ...] = field(repr=False)
    errors: tuple[OutputError, ...] = field(repr=False)
    trace: tuple[Checkpoint, ...] = field(repr=False)
    proposals: int
    seconds: float
    moved: float = 0.0

    @cached_property
    def missed(self) -> tuple[str, ...]:
        """The outputs that the dataset does not have: the refit has the last word; where nobody refitted, the engine has."""
        return missed(self.spec, self.outputs, self.errors, len(self.codes))

    @cached_property
    def table(self) -> Table:
        """The dataset as a table, with the words and numbers of the specification's columns."""
        from .tables import table_of_codes

        return table_of_codes(self.spec.fields, self.codes)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: how it went, and no record."""
        return {
            "reached": self.reached,
            "proposals": self.proposals,
            "moved": self.moved,
            "outputs": [_plain(output) for output in self.outputs],
            "trace": [
                {"proposals": p.proposals, "objective": _number(p.objective),
                 "outside": sum(e.outside for e in p.errors), "mean": {e.name: _number(e.mean) for e in p.errors}}
                for p in self.trace
            ],
            "run": {"seconds": self.seconds, "seconds_of_trace": [p.seconds for p in self.trace]},
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Evolved:
    """Datasets evolved from one specification.

    Parameters
    ----------
    copies
        The datasets, each from a random stream of its own.
    engine, start, rows, tolerance, spread
        What was asked for.
    proposals
        How many each copy might take at most: as asked for, or what the seconds stood for. With the seed it repeats the copies.
    elapsed
        Seconds in all, starting the processes and refitting included.
    """

    spec: Spec = field(repr=False)
    copies: tuple[EvolvedCopy, ...]
    engine: str
    start: str
    rows: int
    proposals: int
    tolerance: float
    spread: int
    elapsed: float

    @property
    def reached(self) -> bool:
        """Whether every copy reproduces every output."""
        return all(copy.reached for copy in self.copies)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The copies as tables."""
        return tuple(copy.table for copy in self.copies)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: settings, and how each copy went."""
        asked = {name: getattr(self, name) for name in ("engine", "start", "rows", "proposals", "tolerance", "spread")}
        return {
            **asked,
            "reached": self.reached,
            "copies": [copy.to_dict() for copy in self.copies],
            "run": {"elapsed": self.elapsed},
        }


def evolve(
    spec: Spec,
    *,
    rows: int | None = None,
    engine: EngineName = "incremental",
    copies: int = 1,
    start: StartName = "uniform",
    seconds: float | None = None,
    proposals: int | None = None,
    tolerance: float | None = None,
    seed: Seed = None,
    workers: int | None = None,
    spread: int = 0,
    options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Evolved:
    """Return datasets that reproduce the published outputs, made from the specification alone.

    Engines run in processes of their own, which get the specification and no file. A copy that did not get there is returned too, with
    `reached` False. Copies depend on the seed, their number and the number of proposals; not on `workers`, nor on how quick or busy the
    machine is.

    Parameters
    ----------
    spec
        Columns, and what was published about them.
    rows
        The number of records; the specification's own if absent. Rows x columns x 24 bytes may be at most 8 GiB (`limits.py`).
    engine
        `incremental`, `maxent` (drawn from what the outputs imply, then polished) or `ea` (the paper's algorithm).
    copies
        How many datasets.
    start
        `uniform` over levels, or from the published `margins`: the weights of the columns, at least one of which must have some.
    seconds
        When an engine gives up, for each copy, in about so many seconds: turned into a number of proposals before the search begins, by a rule that
        does not look at the machine (`engines/budget.py`). 60 if neither is given.
    proposals
        The same as a number of proposals: instead of seconds.
    tolerance
        How close numbers that are known in full must come, in their standard errors: 0.001 if absent. Refused where there are none.
    seed
        For all that is random.
    workers
        How many processes work at once; as many as there are cores if absent.
    spread
        Rounds of null moves, which change records and keep every output as it is, after the outputs are reached.
    options
        Settings of `ea`: those of `engines.ea.Evolution`. The other engines have none.
    progress
        Called with what is being done and the share done.

    Examples
    --------
    >>> spec = Spec.from_dict({
    ...     "format": "chaffinch-outputs", "version": 1, "rows": 30,
    ...     "columns": [{"name": "sex", "levels": ["f", "m"]}],
    ...     "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [10, 20]}],
    ... })
    >>> evolved = evolve(spec, seed=1)
    >>> evolved.reached, evolved.copies[0].table.columns, np.bincount(evolved.copies[0].codes[:, 0]).tolist()
    (True, ('sex',), [10, 20])
    """
    began = time.perf_counter()
    asked_tolerance, tolerance = tolerance, TOLERANCE if tolerance is None else tolerance
    check_copies(copies)
    n_rows = spec.n_rows(rows)
    settings = settings_from(options or {}) if engine == "ea" else None
    population = None if settings is None else settings.population
    check_size(n_rows, len(spec.columns), copies=copies, population=population)
    problem = spec.problem(n_rows)  # says here and at once what is wrong with the specification
    check_start(start, spec.columns)
    check_tolerance(asked_tolerance, problem)
    fitness = "score" if settings is None else settings.fitness
    each_takes = seconds_each(problem, rows=n_rows, engine=engine, fitness=fitness)
    proposals = proposals_of(seconds, proposals, each=each_takes, default=SECONDS)
    made_at_most = proposals if settings is None else min(proposals, settings.generations * settings.population)
    check_contradictions(spec, n_rows)
    streams = seed_sequence(seed).spawn(copies)
    seeds = [(stream.entropy, stream.spawn_key) for stream in streams]
    plain = spec.to_dict()
    n_workers = min(thread_count(workers), copies)
    arrived = [0]

    def batch(numbers: list[int]) -> list[tuple[int, EvolvedCopy]]:
        job = Job(
            plain,
            [seeds[k] for k in numbers],  # type: ignore[misc]
            engine=engine,
            start=start,
            rows=n_rows,
            proposals=proposals,
            tolerance=tolerance,
            spread=spread,
            options=dict(options or {}),
            expected=made_at_most * each_takes,
        )

        def each(_number: int, _made: Made) -> None:
            arrived[0] += 1
            progress("evolving", arrived[0] / copies)

        return [(k, _copy(spec, made, tolerance)) for k, made in zip(numbers, run(job, each=each), strict=True)]

    progress("evolving", 0.0)
    batches = [list(range(k, copies, n_workers)) for k in range(n_workers)]
    if n_workers == 1:
        found = batch(batches[0])
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            found = [one for some in pool.map(batch, batches) for one in some]
    ordered = tuple(copy for _, copy in sorted(found, key=lambda one: one[0]))
    elapsed = time.perf_counter() - began
    return Evolved(spec, ordered, engine, start, n_rows, proposals, tolerance, spread, elapsed)


def _copy(spec: Spec, made: Made, tolerance: float) -> EvolvedCopy:
    solved = made.solved
    codes = spec.columns.check(solved.codes.astype(np.int32))
    outputs = compared(spec, codes, tolerance=max(tolerance, 1e-9))
    reached = solved.reached and not missed(spec, outputs, solved.errors, len(codes))
    return EvolvedCopy(
        spec, codes, reached, outputs, solved.errors, solved.trace, solved.proposals, solved.seconds, made.moved
    )


def missed(spec: Spec, outputs: Sequence[Compared], errors: Sequence[OutputError], rows: int) -> tuple[str, ...]:
    """Return the names of outputs that a dataset of `rows` records does not have: by the refit, and where there is none by the engine."""
    by_engine = {spec.source(error.name, rows).name for error in errors if error.outside}
    return tuple(one.name for one in outputs if (one.outside if one.refitted else one.name in by_engine))


def _number(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _plain(output: Compared) -> dict[str, Any]:
    """An output computed again, as JSON can hold it; small counts are published ones and the records are of no one."""
    return {
        "name": output.name,
        "kind": output.kind,
        "numbers": output.size,
        "outside": output.outside,
        "within": output.within,
        "worst": _number(output.worst),
        "worst_in_precision": _number(output.worst_in_precision),
        "mean": _number(output.mean),
        "refitted": output.refitted,
    }
