"""What results of attacks have in common: they print themselves, show themselves in a notebook, and write themselves as a page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from markupsafe import Markup

from .._base.masking import THRESHOLD
from .._base.results import check_format, from_plain, html_page, html_table, write_page
from .._base.text import text_table
from ..stats.intervals import Interval

Words = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The head of a table, and its rows."""


class ShownResult:
    """A result that shows itself; a subclass says what is in its table, what is said below it, and draws the picture."""

    title: ClassVar[str]

    def table(self, *, page: bool = False) -> Words:
        """Return the table in words, as it is printed or as a page has it."""
        raise NotImplementedError

    def said(self, *, page: bool = False) -> Sequence[str]:
        """Return the sentences below a table that is printed, or above one on a page."""
        raise NotImplementedError

    def plot(self) -> Markup:
        """Return the picture."""
        raise NotImplementedError

    def show(self) -> None:
        """Print the table, and the result in words."""
        print(text_table(*self.table()))
        for sentence in self.said():
            print(sentence)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the table and the picture as one HTML file, and write it to a path if one is given."""
        page = html_page(self.title, self._repr_html_())
        if path is not None:
            write_page(path, page, overwrite=overwrite)
        return page

    def _repr_html_(self) -> str:
        return f"{html_table(*self.table(page=True), caption=' '.join(self.said(page=True)))}{self.plot()}"


@dataclass(frozen=True, kw_only=True)
class ShadowFigures:
    """What plain data hold of any attack by shadow modelling.

    Parameters
    ----------
    targets, rows, population, duplicates
        How many people were attacked, the size of subsets, and of the population and of what was left out of it, small numbers masked.
    ranked
        How many targets came from which ranking of the population; empty where they were named.
    settings, about, policy, run
        How attackers learnt; what a command adds: names of files, what was allowed, how it ran.
    threshold
        Records below which a number is masked.
    """

    targets: int
    rows: int
    population: int | str
    duplicates: int | str
    ranked: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    threshold: int = THRESHOLD


class ShadowResult(ShadowFigures, ShownResult):
    """An attack by shadow modelling: a value with its interval, beside what a guess reaches."""

    format: ClassVar[str]
    what: ClassVar[str]
    command: ClassVar[str]
    value_name: ClassVar[str]
    plain: ClassVar[type[ShadowFigures]]

    @property
    def baseline(self) -> float:
        """What a guess reaches."""
        raise NotImplementedError

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the value."""
        raise NotImplementedError

    @property
    def above_baseline(self) -> bool:
        """Whether the attack does better than a guess: the whole interval is above it."""
        return self.interval[0] > self.baseline

    @property
    def sentence(self) -> str:
        """The result in words."""
        raise NotImplementedError

    def said(self, *, page: bool = False) -> Sequence[str]:
        """Return the result in words."""
        return (self.sentence,)

    def figures(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return plain data that stand before the sizes of an attack, and after them."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data that may leave: version 1 of its format."""
        before, after = self.figures()
        return {
            "format": self.format,
            "version": 1,
            **({"about": dict(self.about)} if self.about else {}),
            self.value_name: getattr(self, self.value_name),
            "interval": list(self.interval),
            "direction": "lower is safer",
            "baseline": self.baseline,
            "above_baseline": self.above_baseline,
            **before,
            "targets": self.targets,
            **({"ranked": dict(self.ranked)} if self.ranked else {}),
            "rows": self.rows,
            "population": self.population,
            "duplicates_left_out": self.duplicates,
            **({} if self.threshold == THRESHOLD else {"threshold": self.threshold}),
            **after,
            "settings": dict(self.settings),
            **({} if self.policy is None else {"policy": dict(self.policy)}),
            "run": dict(self.run),
        }

    @classmethod
    def parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what plain data hold under other names than those of fields."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the result that plain data hold."""
        check_format(data, cls.format, 1, f"Give the JSON of chaffinch attack {cls.command}.")
        duplicates = data.get("duplicates_left_out", 0)
        return cls(
            **vars(
                from_plain(
                    cls.plain, {**data, "duplicates": duplicates, **cls.parts(data)}, what=cls.what
                )
            )
        )
