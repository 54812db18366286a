"""What results of attacks on a synthesiser have in common: findings, plain data, and that they print themselves, show themselves in a notebook, and write a page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from markupsafe import Markup

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.results import (
    NOT_WRITTEN,
    UNLESS_EMPTY,
    UNLESS_NONE,
    TabularResult,
    html_page,
    html_table,
    plain_form,
    write_page,
)
from .._base.text import count_noun, text_table
from ..stats.intervals import Interval
from .finding import HEAD, Finding, finding_rows

Words = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The head of a table, and its rows."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShownResult(TabularResult):
    """A result that shows itself; a subclass says what is in its table and below it, and draws the picture.

    Parameters
    ----------
    findings
        What was found, what it is all about first.
    about, run
        What a command adds: its arguments and names of files, and how it ran.
    """

    HEAD: ClassVar[tuple[str, ...] | None] = HEAD
    TITLE: ClassVar[str]
    NEEDED: ClassVar[tuple[str, ...]] = ()
    """What every finding must have."""

    findings: tuple[Finding, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict, compare=False, metadata=UNLESS_EMPTY)
    run: Mapping[str, Any] = field(default_factory=dict, compare=False, metadata=UNLESS_EMPTY)

    def __post_init__(self) -> None:
        if not self.findings:
            raise InputError(f"The data of {self.SUBJECT} have no findings. {self.NEXT_STEP}")
        for name in self.NEEDED:
            if any(getattr(finding, name) in (None, ()) for finding in self.findings):
                raise InputError(f"A finding of {self.SUBJECT} must have '{name}'.")

    def rows(self) -> list[list[str]]:
        """Return a row of words for each finding, as `HEAD` names them."""
        return finding_rows(self.findings)

    def table(self, *, page: bool = False) -> Words:
        """Return the table in words, as it is printed or as a page has it."""
        return self.HEAD or (), self.rows()

    def lines(self, *, page: bool = False) -> Sequence[str]:
        """Return the sentences below a table that is printed, or above one on a page."""
        raise NotImplementedError

    def plot(self) -> Markup:
        """Return the picture."""
        raise NotImplementedError

    def show(self) -> None:
        """Print the table, and the result in words."""
        print(text_table(*self.table()), *self.lines(), sep="\n")

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the table and the picture as one HTML file, and write it to a path if one is given."""
        page = html_page(self.TITLE, self._repr_html_())
        if path is not None:
            write_page(path, page, overwrite=overwrite)
        return page

    def _repr_html_(self) -> str:
        return f"{html_table(*self.table(page=True), caption=' '.join(self.lines(page=True)))}{self.plot()}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShadowResult(ShownResult):
    """What attackers found that learn from shadows.

    Parameters
    ----------
    targets, subset_rows, population, duplicates
        How many people were attacked, the size of subsets, and of the population and of what was left out of it, small numbers masked.
    ranked
        How many targets came from which ranking of the population; empty where they were named.
    settings, policy
        How attackers learnt; what a command allowed, and whether that is kept.
    threshold
        Records below which a number is masked.
    world
        The population, for `confidential()`; absent where plain data were read.

    Notes
    -----
    The first of `findings` is that of all attackers together, the second that of the closest row alone. The others are those of `ShownResult`.
    """

    NEEDED: ClassVar[tuple[str, ...]] = ("value", "interval", "guess", "excess", "lower_bound")

    targets: int
    ranked: Mapping[str, int] = field(default_factory=dict, metadata=UNLESS_EMPTY)
    subset_rows: int
    population: int | str
    duplicates: int | str
    threshold: int = field(
        default=THRESHOLD, metadata=plain_form(omit=lambda result, count: count == THRESHOLD)
    )
    settings: Mapping[str, Any]
    policy: Mapping[str, Any] | None = field(default=None, metadata=UNLESS_NONE)
    world: Any = field(default=None, metadata=NOT_WRITTEN)

    @property
    def interval(self) -> Interval:
        """The 95 % interval of what all attackers reach together."""
        interval = self.findings[0].interval
        assert interval is not None
        return interval

    @property
    def sentence(self) -> str:
        """The result in words."""
        raise NotImplementedError

    def lines(self, *, page: bool = False) -> Sequence[str]:
        """Return the result in words; where it is printed whom it is about first."""
        left_out = (
            "."
            if not self.duplicates
            else f"; {self.duplicates} left out, as others have the same values."
        )
        sizes = f"{count_noun(self.targets, 'target')}; subsets of {self.subset_rows:,} out of {count_noun(self.population, 'record')}{left_out}"
        return (self.sentence,) if page else (sizes, self.sentence)
