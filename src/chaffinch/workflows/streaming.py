"""Fits of tables larger than memory: what can be streamed, and the original as a cache of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._base.errors import InputError, unknown_name
from ..counts.coded import CodedScan, coded_scan
from ..synth import BayesNet, Independent
from ..table.engine import ENGINES
from ..table.fit_schema import TableProfile
from ..table.personal.decisions import check_decided
from ..table.profile import Profile
from ..table.scan import Scan
from ..table.schema import Schema
from ..table.screens import FEWEST

if TYPE_CHECKING:
    from .running import RunOptions
    from .synthesise import SynthesisSettings

__all__ = ["NotStreamedError", "check_engine", "not_streamed", "streamed", "why_not_streamed"]


class NotStreamedError(InputError):
    """What is asked for needs all rows at once."""


def why_not_streamed(settings: SynthesisSettings) -> str:
    """Return what of the settings needs all rows in memory, for a sentence; empty where nothing does."""
    if settings.private:
        return ""
    if settings.person or settings.order:
        return "A column that says whose row it is"
    if settings.weight:
        return "A column of weights"
    return "" if isinstance(settings.synthesiser, BayesNet | Independent) else f"The method {settings.synthesiser.name}"


def check_engine(settings: SynthesisSettings) -> None:
    """Raise unless the engine that settings name exists, and can do what they ask for."""
    if settings.engine not in ENGINES:
        raise unknown_name("engine", settings.engine, ENGINES)
    if settings.engine == "stream" and (why := why_not_streamed(settings)):
        raise not_streamed(why)


@contextmanager
def streamed(source: Any, settings: SynthesisSettings, run: RunOptions, check: Callable[[Schema], object]) -> Iterator[CodedScan]:
    """Give the original as a cache of codes, which is removed at the end; `check` is called with its schema before it is encoded.

    Raises
    ------
    NotStreamedError
        If the table, or what is asked of it, needs all rows in memory.
    """

    def check_scan(scan: Scan) -> None:
        for role, what in (("person", "A column that says whose row it is"), ("weight", "A column of weights")):
            if scan.schema.with_role(role):
                raise not_streamed(what)
        if repeated := _repeated_identifier(scan.schema, scan.profiles):
            raise not_streamed(f"Column '{repeated}', whose identifiers have several rows each,")
        check_decided(scan.schema)
        check(scan.schema)

    reading = settings.reading
    with coded_scan(
        source, reading.declared, **reading.file, rare=reading.rare, threshold=reading.threshold, progress=run.progress, check=check_scan
    ) as coded:
        yield coded


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
