"""What evolving returns: datasets with how close each comes to what was published, and how the search went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

from .._base.errors import InputError
from .._base.results import RunFacts, finite, from_plain, to_plain
from .columns import Codes
from .kinds import KINDS
from .refit import Compared
from .refit import Number as Compare

if TYPE_CHECKING:
    from ..table import Table
    from .document import Outputs
    from .solve.incremental import Checkpoint
    from .solve.state import OutputError


FORMAT = "chaffinch-evolved"
VERSION = 1
FEW = 20
"""How many numbers of a table or summary a result shows: those that are farthest from what was published."""


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
    def of(cls, one: Compare, tolerance: float) -> ShownNumber:
        """Return a number that was computed again."""
        published = round(0.5 * (one.lo + one.hi), 12) if one.unit or one.lo == one.hi else None
        return cls(
            one.name,
            published,
            finite(one.lo),
            finite(one.hi),
            finite(one.value),
            one.within(tolerance),
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
    def of(cls, one: Compared, errors: Sequence[OutputError], tolerance: float) -> OutputReport:
        """Return an output that was computed again, or what the engine says of it."""
        size, outside = one.size, one.outside
        if not one.refitted:
            size, outside = (
                sum(error.size for error in errors),
                sum(error.outside for error in errors),
            )
        regression = KINDS[one.kind].regression
        some = (
            one.numbers if regression else sorted(one.numbers, key=lambda each: -each.error)[:FEW]
        )
        return cls(
            one.name,
            one.kind,
            regression,
            size,
            outside,
            one.refitted,
            finite(one.worst),
            finite(one.worst_in_precision),
            finite(one.mean),
            tuple(ShownNumber.of(each, tolerance) for each in some),
        )


@dataclass(frozen=True)
class TracePoint:
    """A moment of the search: after so many proposals (`ea`: generations), what was still off, and by how much."""

    proposals: int
    objective: float | None
    outside: int
    mean_error: Mapping[str, float | None]

    @classmethod
    def of(cls, point: Checkpoint, source: Mapping[str, str]) -> TracePoint:
        """Return a checkpoint; `source` has the output behind each set of equations."""
        means = {name: _mean(name, some) for name, some in by_output(point.errors, source).items()}
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
    some = [error for error in errors if error.name == name] or errors
    return finite(
        sum(error.mean * error.size for error in some) / max(sum(error.size for error in some), 1)
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
        from .tables import table_of_codes

        return table_of_codes(self.spec.fields, self.codes)


@dataclass(frozen=True)
class _CopyReport:
    """What a file has of an evolved dataset."""

    reached: bool
    missed: tuple[str, ...]
    proposals: int
    moved: float
    outputs: tuple[OutputReport, ...] = field(repr=False)
    trace: tuple[TracePoint, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: how it went, and no record."""
        return {one.name: to_plain(getattr(self, one.name)) for one in fields(_CopyReport)}


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
    moved
        The share of records, 0 to 1, that null moves changed after the outputs were reached.
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

    def _there(self) -> EvolvedData:
        if self.data is None:
            raise InputError(
                "A result that was read from a file has no datasets. Evolve them again with its seed and proposals."
            )
        return self.data

    @property
    def codes(self) -> Codes:
        """The dataset, one column of codes for each of the specification's columns."""
        return self._there().codes

    @property
    def table(self) -> Table:
        """The dataset as a table, with the words and numbers of the specification's columns."""
        return self._there().table

    @property
    def compared(self) -> tuple[Compared, ...]:
        """Each output computed again, with all its numbers."""
        return self._there().compared


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
    options
        Settings of `ea`.
    start, margins
        `margins` or `uniform`; and the columns whose margins were known.
    proposals_at_most
        How many each copy might take: as asked for, or what the seconds stood for. With the seed it repeats the copies.
    refitted_by
        The program that fitted regressions again; None where none was there.
    rules_only
        The outputs that had no part in it, and why.
    """

    spec: str | None = None
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    engine: str = "incremental"
    start: str = "uniform"
    margins: tuple[str, ...] = ()
    rows: int = 0
    tolerance: float = 0.0
    spread: int = 0
    proposals_at_most: int = 0
    refitted_by: str | None = None
    rules_only: tuple[RulesOnly, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, options among them."""
        plain = to_plain(self)
        options = plain.pop("options")
        return {"spec": plain.pop("spec"), "seed": plain.pop("seed"), **options, **plain}

    @classmethod
    def from_dict(cls, data: Any) -> EvolveAbout:
        """Return the facts; what is none of them was an option."""
        known = {one.name for one in fields(cls)}
        plain = {"about": data} if not isinstance(data, Mapping) else data
        options = {name: value for name, value in plain.items() if name not in known}
        return from_plain(
            cls,
            {**{n: v for n, v in plain.items() if n in known}, "options": options},
            what="'about'",
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
        return self.about.rows

    @property
    def proposals(self) -> int:
        """How many each copy might take at most."""
        return self.about.proposals_at_most

    @property
    def tables(self) -> tuple[Table, ...]:
        """The copies as tables."""
        return tuple(copy.table for copy in self.copies)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold (`chaffinch-evolved`, version 1): what was asked for, and how each copy went."""
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
