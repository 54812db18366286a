"""From a specification to datasets that reproduce its outputs, many at once if asked: one interface for all engines, what it refuses, and its result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.errors import InputError
from .._base.results import RunFacts, finite, from_plain, to_plain
from .._base.runtime import Progress, silent, thread_count
from .._base.seeds import Seed, seed_sequence
from .contradictions import check_contradictions
from .document import Outputs
from .domain import Codes, OutputDomain
from .equations import Problem, SumSystem
from .kinds import KINDS
from .margins import KnownMargins, known_margins, published_margins, with_margins, without_margins
from .numbers import Compared, Number, compare_numbers
from .solve.engine import SEARCHED, Checkpoint, Solved, cost_of, proposals_of
from .solve.process import EngineJob, Engines, run
from .solve.settings import MAX_ERROR, EvolveSettings, plain_options
from .solve.state import OutputError

if TYPE_CHECKING:
    from ..table import Table

SECONDS = 60.0
"""What a copy may take unless something else is asked for."""
MOST_BYTES = 8 << 30
"""The most memory that one search may need, and that all datasets may take when they are made: 8 GiB each."""
CODE = 4
"""Bytes of a cell of a dataset."""
FORMAT = "chaffinch-evolved"
VERSION = 2
FEW = 20
"""How many numbers of a table or summary a result shows: those that are farthest from what was published."""


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
    check_size(
        spec.n_rows(settings.rows),
        len(spec.fields),
        copies=settings.copies,
        cell_bytes=cost_of(settings.search).cell_bytes,
    )
    spec, margins = _with_start_margins(spec, settings)
    job = _job(spec, settings)
    max_error = job.search.max_error or 0.0
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
            (k, _copy(spec, solved, max_error)) for k, solved in zip(numbers, copies, strict=True)
        ]

    progress("evolving", 0.0)
    batches = [list(range(k, settings.copies, n_workers)) for k in range(n_workers)]
    if n_workers == 1:
        numbered = batch(batches[0])
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            numbered = [
                numbered_copy
                for batch_copies in pool.map(batch, batches)
                for numbered_copy in batch_copies
            ]
    copies = tuple(copy for _, copy in sorted(numbered, key=lambda entry: entry[0]))
    about = EvolveAbout(
        seed=seed if isinstance(seed, int) else None,
        settings=replace(settings, rows=job.rows, start=job.start, search=job.search),
        margins=margins.names,
        refitted_by=_refitted_by()
        if all(output.refitted for copy in copies for output in copy.outputs)
        else None,
        rules_only=rules_only,
    )
    return EvolveResult(about, copies, time.perf_counter() - began)


def _with_start_margins(spec: Outputs, settings: EvolveSettings) -> tuple[Outputs, KnownMargins]:
    """The outputs over columns with the margins that a start uses, and how these are known."""
    if settings.start == "uniform":
        return without_margins(spec), KnownMargins()
    spec = replace(spec, rows=spec.n_rows(settings.rows))
    margins = known_margins(spec)
    spec = with_margins(spec, published_margins(spec))
    if settings.start is not None:
        check_start(settings.start, spec.fields)
    return spec, margins


def _job(spec: Outputs, settings: EvolveSettings) -> EngineJob:
    """What engines are asked for, without seeds; InputError for what cannot be."""
    n_rows, search = spec.n_rows(settings.rows), settings.search
    problem = spec.problem(n_rows)  # says here and at once what is wrong with the specification
    known = any(column.weights is not None for column in spec.fields)
    check_max_error(search.max_error, problem)
    proposals, cost = proposals_of(search, problem, n_rows, default=SECONDS), cost_of(search)
    check_contradictions(spec, n_rows)
    max_error = MAX_ERROR if search.max_error is None else search.max_error
    return EngineJob(
        spec.to_dict(),
        (),
        search=replace(search, seconds=None, proposals=proposals, max_error=max_error),
        start="margins" if known else "uniform",
        rows=n_rows,
        expected=min(proposals, cost.max_proposals) * cost.seconds(problem, n_rows),
    )


def _copy(spec: Outputs, solved: Solved, tolerance: float) -> EvolvedCopy:
    codes = spec.fields.check(solved.codes.astype(np.int32))
    again = compare_numbers(spec, codes, tolerance=max(tolerance, 1e-9))
    lacking = missed_outputs(spec, again, solved.errors, len(codes))
    source = {error.name: spec.source(error.name, len(codes)).name for error in solved.errors}
    errors = by_output(solved.errors, source)
    return EvolvedCopy(
        solved.reached and not lacking,
        lacking,
        solved.proposals,
        tuple(
            OutputReport.from_compared(output, errors[output.name], tolerance) for output in again
        ),
        tuple(TracePoint.from_checkpoint(point, source) for point in solved.trace),
        solved.seconds,
        tuple(point.seconds for point in solved.trace),
        EvolvedData(spec, codes, again),
    )


def missed_outputs(
    spec: Outputs, outputs: Sequence[Compared], errors: Sequence[OutputError], rows: int
) -> tuple[str, ...]:
    """Return the names of outputs that a dataset of `rows` records does not have: by the refit, and where there is none by the engine."""
    by_engine = {spec.source(error.name, rows).name for error in errors if error.outside}
    return tuple(
        output.name
        for output in outputs
        if (output.outside if output.refitted else output.name in by_engine)
    )


def _refitted_by() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"statsmodels {version('statsmodels')}"
    except PackageNotFoundError:
        return None


def check_size(rows: int, columns: int, *, copies: int = 1, cell_bytes: int = SEARCHED) -> None:
    """Raise InputError where a search, or all its datasets, would need over `MOST_BYTES`, with the most rows that are possible.

    A search needs `cell_bytes` for each cell.

    Examples
    --------
    >>> check_size(1_000_000, 20)
    >>> check_size(10**12, 2)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: A search with 1,000,000,000,000 rows is too large: rows x columns x 24 bytes must be at most 8 GiB. With 2 columns there can be at most 178,956,970 rows.
    """
    rules = [
        (f"A search with {rows:,} rows is", f"rows x columns x {cell_bytes} bytes", cell_bytes),
        (
            f"{copies:,} datasets of {rows:,} rows are",
            f"copies x rows x columns x {CODE} bytes",
            CODE * copies,
        ),
    ]
    for what, rule, each in rules:
        if rows * columns * each > MOST_BYTES:
            max_rows = MOST_BYTES // (columns * each)
            raise InputError(
                f"{what} too large: {rule} must be at most {MOST_BYTES >> 30} GiB. "
                f"With {columns} columns there can be at most {max_rows:,} rows."
            )


def check_start(start: str, columns: OutputDomain) -> None:
    """Raise InputError where a start from known margins is asked for, and no column has any."""
    if start != "uniform" and all(column.weights is None for column in columns):
        raise InputError(
            f"A start from {start} needs the margin of a column, and none is known: no output counts all records by one, and no column has weights. "
            "Add weights = [...] to the columns whose margins are known, or start uniform."
        )


def needs_max_error(problem: Problem) -> bool:
    """Return whether some number is known in full, so that an allowed error says when it has arrived."""
    return any(
        isinstance(output, SumSystem) and bool((output.lo == output.hi).any())
        for output in problem.outputs
    )


def check_max_error(max_error: float | None, *problems: Problem) -> None:
    """Raise InputError where an error is allowed although every number of every problem is a count or has a printed precision."""
    if max_error is not None and not any(needs_max_error(problem) for problem in problems):
        raise InputError(
            "max_error is for numbers without a printed precision, and here are none: each is a count, or has decimals of its own. Leave it out."
        )


@dataclass(frozen=True)
class ShownNumber:
    """A number as published (None where an interval is all that is known of it), and as the records give it (None without a fit)."""

    name: str
    published: float | None
    low: float | None
    high: float | None
    synthetic: float | None
    within: bool

    @classmethod
    def from_number(cls, number: Number, tolerance: float) -> ShownNumber:
        """Return a number that was computed again."""
        published = (
            round(0.5 * (number.lo + number.hi), 12)
            if number.unit or number.lo == number.hi
            else None
        )
        return cls(
            number.name,
            published,
            finite(number.lo),
            finite(number.hi),
            finite(number.value),
            number.within(tolerance),
        )


@dataclass(frozen=True)
class OutputReport:
    """One output: how many numbers it has, how many of them are not within their precision, and how far they are off.

    `refitted`: it was computed again by other code than the engine's, whose word is taken otherwise (without statsmodels). An error in precision
    is within up to 1. `shown` has all numbers of a regression, and those of other outputs that are farthest from what was published.
    """

    name: str
    kind: str
    regression: bool
    numbers: int
    outside: int
    refitted: bool
    largest_error: float | None
    largest_error_in_precision: float | None
    mean_error: float | None
    shown: tuple[ShownNumber, ...]

    @classmethod
    def from_compared(
        cls, output: Compared, errors: Sequence[OutputError], tolerance: float
    ) -> OutputReport:
        """Return an output that was computed again, or what the engine says of it."""
        size, outside = output.size, output.outside
        if not output.refitted:
            size, outside = (
                sum(error.size for error in errors),
                sum(error.outside for error in errors),
            )
        regression = KINDS[output.kind].regression
        shown = (
            output.numbers
            if regression
            else sorted(output.numbers, key=lambda each: -each.error)[:FEW]
        )
        return cls(
            output.name,
            output.kind,
            regression,
            size,
            outside,
            output.refitted,
            finite(output.worst),
            finite(output.worst_in_precision),
            finite(output.mean),
            tuple(ShownNumber.from_number(each, tolerance) for each in shown),
        )


@dataclass(frozen=True)
class TracePoint:
    """A moment of the search: after so many proposals (`ea`: generations), what was still off, and by how much."""

    proposals: int
    objective: float | None
    outside: int
    mean_error: Mapping[str, float | None]

    @classmethod
    def from_checkpoint(cls, point: Checkpoint, source: Mapping[str, str]) -> TracePoint:
        """Return a checkpoint; `source` has the output behind each set of equations."""
        means = {
            name: _mean(name, output_errors)
            for name, output_errors in by_output(point.errors, source).items()
        }
        return cls(
            point.proposals,
            finite(point.objective),
            sum(error.outside for error in point.errors),
            means,
        )


def by_output(
    errors: Sequence[OutputError], source: Mapping[str, str]
) -> dict[str, list[OutputError]]:
    """Return the errors of equation sets by the outputs that they came from."""
    out: dict[str, list[OutputError]] = {}
    for error in errors:
        out.setdefault(source[error.name], []).append(error)
    return out


def _mean(name: str, errors: Sequence[OutputError]) -> float | None:
    """An output's mean error on the way; of a regression that of its coefficients, since its other numbers have other units."""
    output_errors = [error for error in errors if error.name == name] or errors
    return finite(
        sum(error.mean * error.size for error in output_errors)
        / max(sum(error.size for error in output_errors), 1)
    )


@dataclass(frozen=True, eq=False, repr=False)
class EvolvedData:
    """A dataset: its codes, the specification it was evolved from, and each output computed again with all its numbers."""

    spec: Outputs
    codes: Codes
    compared: tuple[Compared, ...]

    @cached_property
    def table(self) -> Table:
        """The dataset as a table, with the words and numbers of the specification's columns."""
        from .records import table_of_codes

        return table_of_codes(self.spec.fields, self.codes)


@dataclass(frozen=True)
class _CopyReport:
    """What a file has of an evolved dataset."""

    reached: bool
    missed: tuple[str, ...]
    proposals: int
    outputs: tuple[OutputReport, ...] = field(repr=False)
    trace: tuple[TracePoint, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: how it went, and no record."""
        return {entry.name: to_plain(getattr(self, entry.name)) for entry in fields(_CopyReport)}


@dataclass(frozen=True, eq=False)
class EvolvedCopy(_CopyReport):
    """One evolved dataset.

    Parameters
    ----------
    reached
        Whether every published number is reproduced within its precision: the engine says so, and no refit denies it (`missed`).
    missed
        The outputs that the dataset does not have: the refit has the last word; where nobody refitted, the engine has.
    proposals
        How many it took.
    outputs
        Each output computed again by other code, beside what was published.
    trace
        Errors on the way.
    seconds, seconds_of_trace
        How long that took here.
    data
        The dataset; None in a result that was read from a file.
    """

    seconds: float = 0.0
    seconds_of_trace: tuple[float, ...] = field(default=(), repr=False)
    data: EvolvedData | None = field(default=None, repr=False)

    def _present_data(self) -> EvolvedData:
        if self.data is None:
            raise InputError(
                "A result that was read from a file has no datasets. Evolve them again with its seed and proposals."
            )
        return self.data

    @property
    def codes(self) -> Codes:
        """The dataset, one column of codes for each of the specification's columns."""
        return self._present_data().codes

    @property
    def table(self) -> Table:
        """The dataset as a table, with the words and numbers of the specification's columns."""
        return self._present_data().table

    @property
    def compared(self) -> tuple[Compared, ...]:
        """Each output computed again, with all its numbers."""
        return self._present_data().compared


@dataclass(frozen=True)
class RulesOnly:
    """An output that datasets cannot be evolved from, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class EvolveAbout:
    """What was asked for, and who refitted.

    Parameters
    ----------
    spec
        The name of the file.
    settings
        What was asked for, with records, start and proposals as they came out. With the seed it repeats the copies.
    margins
        The columns whose margins were known.
    refitted_by
        The program that fitted regressions again; None where none was there.
    rules_only
        The outputs that had no part in it, and why.
    """

    spec: str | None = None
    seed: int | None = None
    settings: EvolveSettings = field(default_factory=EvolveSettings)
    margins: tuple[str, ...] = ()
    refitted_by: str | None = None
    rules_only: tuple[RulesOnly, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, options among them."""
        plain = to_plain(replace(self, settings=EvolveSettings()))
        del plain["settings"]
        return {**plain, **plain_options(self.settings)}

    @classmethod
    def from_dict(cls, data: Any) -> EvolveAbout:
        """Return the facts; what is none of them was an option."""
        known = {entry.name for entry in fields(cls)}
        plain = {"about": data} if not isinstance(data, Mapping) else data
        options = {name: value for name, value in plain.items() if name not in known}
        facts = {name: value for name, value in plain.items() if name in known - {"settings"}}
        return from_plain(
            cls, {**facts, "settings": EvolveSettings.from_options(**options)}, what="'about'"
        )


@dataclass(frozen=True, eq=False)
class EvolveResult:
    """Datasets evolved from one specification, each from a random stream of its own.

    Parameters
    ----------
    about
        What was asked for.
    copies
        The datasets.
    seconds
        In all, starting the processes and refitting included.
    """

    about: EvolveAbout
    copies: tuple[EvolvedCopy, ...]
    seconds: float = 0.0
    run: RunFacts = field(default_factory=RunFacts, repr=False)

    @property
    def reached(self) -> bool:
        """Whether every copy reproduces every output."""
        return all(copy.reached for copy in self.copies)

    @property
    def rows(self) -> int:
        """The records of each dataset."""
        return self.about.settings.rows or 0

    @property
    def proposals(self) -> int:
        """How many each copy might take at most."""
        return self.about.settings.search.proposals or 0

    @property
    def tables(self) -> tuple[Table, ...]:
        """The copies as tables."""
        return tuple(copy.table for copy in self.copies)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold (`chaffinch-evolved`, version 2): what was asked for, and how each copy went."""
        seconds = {"all": self.seconds, "copies": [copy.seconds for copy in self.copies]}
        trace = [list(copy.seconds_of_trace) for copy in self.copies]
        facts = {name: value for name, value in self.run.to_dict().items() if name != "seconds"}
        return {
            "format": FORMAT,
            "version": VERSION,
            "about": self.about.to_dict(),
            "reached": self.reached,
            "copies": [copy.to_dict() for copy in self.copies],
            "run": {"seconds": seconds, "seconds_of_trace": trace, **facts},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EvolveResult:
        """Return the result that plain data hold, without the datasets themselves.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        if not isinstance(data, Mapping) or (data.get("format"), data.get("version")) != (
            FORMAT,
            VERSION,
        ):
            raise InputError(
                f"The data must be of format '{FORMAT}', version {VERSION}. Give the JSON of chaffinch evolve."
            )
        plain = from_plain(_PlainResult, data, what="the datasets")
        facts = RunFacts(
            versions=plain.run.versions, date=plain.run.date, command=plain.run.command
        )
        seconds = (*plain.run.seconds.copies, *repeat(0.0, len(plain.copies)))
        of_trace = (*plain.run.seconds_of_trace, *repeat((), len(plain.copies)))
        copies = tuple(
            EvolvedCopy(**vars(copy), seconds=seconds[k], seconds_of_trace=of_trace[k])
            for k, copy in enumerate(plain.copies)
        )
        return cls(EvolveAbout.from_dict(data.get("about")), copies, plain.run.seconds.all, facts)


# The plain data of a result, as a file has them.


@dataclass(frozen=True)
class _PlainSeconds:
    all: float = 0.0
    copies: tuple[float, ...] = ()


@dataclass(frozen=True)
class _PlainRun:
    seconds: _PlainSeconds = _PlainSeconds()
    seconds_of_trace: tuple[tuple[float, ...], ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    command: str | tuple[str, ...] = ""


@dataclass(frozen=True)
class _PlainResult:
    copies: tuple[_CopyReport, ...]
    run: _PlainRun = _PlainRun()
