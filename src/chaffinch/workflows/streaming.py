"""Fits of tables larger than memory: what can be streamed, and the original as a cache of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._base.errors import InputError, unknown_name
from ..counts.coded import CodedScan, coded_scan
from ..synth import BayesNet, Independent
from ..table.fit_schema import TableProfile
from ..table.personal.detect import check_decided
from ..table.profile import Profile
from ..table.rules.find import FEWEST
from ..table.scan import Scan
from ..table.schema import Schema
from ..table.sources import ENGINES
from ..table.weights import weight_note

if TYPE_CHECKING:
    from .running import RunOptions
    from .synthesise import SynthesisSettings


WEIGHTED = "Measuring records by their weights"
"""What a release of a table with weights needs all rows for."""


class NotStreamedError(InputError):
    """What is asked for needs all rows at once."""


def why_not_streamed(settings: SynthesisSettings, *, measured: bool = False) -> str:
    """Return what of the settings needs all rows in memory, for a sentence; empty where nothing does. `measured`: what is drawn is measured too."""
    if settings.private:
        return ""
    if settings.person or settings.order:
        return "A column that says whose row it is"
    if settings.weight and measured:
        return WEIGHTED
    return (
        ""
        if isinstance(settings.synthesiser, BayesNet | Independent)
        else f"The method {settings.synthesiser.name}"
    )


def check_engine(settings: SynthesisSettings) -> None:
    """Raise unless the engine that settings name exists, and can do what they ask for."""
    if settings.engine not in ENGINES:
        raise unknown_name("engine", settings.engine, ENGINES)
    if settings.engine == "stream" and (why := why_not_streamed(settings)):
        raise not_streamed(why)


@contextmanager
def streamed(
    source: Any,
    settings: SynthesisSettings,
    run: RunOptions,
    check: Callable[[Schema], object],
    *,
    measured: bool = False,
) -> Iterator[CodedScan]:
    """Give the original as a cache of codes, which is removed at the end; `check` is called with its schema before it is encoded.

    Raises
    ------
    NotStreamedError
        If the table, or what is asked of it, needs all rows in memory.
    """

    def check_scan(scan: Scan) -> None:
        if scan.schema.with_role("person"):
            raise not_streamed("A column that says whose row it is")
        if measured and scan.schema.with_role("weight"):
            raise not_streamed(WEIGHTED)
        if repeated := _repeated_identifier(scan.schema, scan.profiles):
            raise not_streamed(f"Column '{repeated}', whose identifiers have several rows each,")
        check_decided(scan.schema)
        check(scan.schema)

    reading = settings.reading
    with coded_scan(
        source,
        reading.declared,
        **reading.file,
        rare=reading.rare,
        threshold=reading.threshold,
        weight=settings.weight,
        progress=run.progress,
        check=check_scan,
    ) as coded:
        weight = coded.scan.schema.only("weight")
        yield (
            coded
            if weight is None
            else replace(
                coded, scan=replace(coded.scan, notes=(*coded.scan.notes, weight_note(weight)))
            )
        )


def not_streamed(what: str) -> NotStreamedError:
    """Return the error that something needs all rows in memory."""
    return NotStreamedError(f"{what} needs all rows in memory: use --engine memory.")


def _repeated_identifier(schema: Schema, profiles: TableProfile | None) -> str | None:
    """Return an identifier that is the same in two rows or more on average, as far as its distinct values were counted: rules are found on such."""
    known = {} if profiles is None else profiles.columns
    for column in schema:
        if column.kind == "identifier" and column.name in known:
            profile = known[column.name]
            distinct = _distinct(profile)
            if distinct is not None and 2 * FEWEST <= 2 * distinct <= profile.n_present:
                return column.name
    return None


def _distinct(profile: Profile) -> int | None:
    """The distinct values of a column; None where they are too many to be counted."""
    if profile.too_many_words or not profile.numbers.exact:
        return None
    return len(profile.words) or len(profile.numbers.result()[0])
