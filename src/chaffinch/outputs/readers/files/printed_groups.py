"""Summaries of a number, by groups or not, and results of tests, as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...._base.errors import InputError
from ...._base.results import without_none
from ...cells import SEPARATOR
from ...domain import Fields
from ...rules.findings import Finding
from ...rules.policy import Policy
from .printed_fit import n_rule
from .printed_table import UNNAMED, PrintedTable, unlooked

STATISTICS = {
    "mean": "mean",
    "average": "mean",
    "avg": "mean",
    "moyenne": "mean",
    "mittelwert": "mean",
    "sum": "sum",
    "std": "sd",
    "sd": "sd",
    "std dev": "sd",
    "std. dev.": "sd",
    "std. deviation": "sd",
    "standard deviation": "sd",
    "stdev": "sd",
    "var": "variance",
    "variance": "variance",
    "median": "median",
    "p50": "median",
    "50%": "median",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "25%": "q25",
    "p25": "q25",
    "q1": "q25",
    "75%": "q75",
    "p75": "q75",
    "q3": "q75",
    "count": "n",
    "n": "n",
    "obs": "n",
    "freq": "n",
    "nobs": "n",
    "size": "n",
}
"""What columns of summaries are called, in small letters, and what they are."""
_POINTS = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}
_MOMENTS = ("mean", "sum", "sd", "variance")


@dataclass(frozen=True)
class PrintedGroups:
    """Summaries of one number: by statistic, then by group, as printed; groups are labels of the columns `by`, () where there are none."""

    of: str | None
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = field(repr=False)
    numbers: Mapping[str, Mapping[tuple[str, ...], str]] = field(repr=False)
    where: str | None = None

    @property
    def kind(self) -> str:
        """The kind that its first statistic is of."""
        first = next((one for one in self.numbers if one != "n"), "table")
        return first if first in _MOMENTS else "quantiles" if first in _POINTS else "table"

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        words = ", ".join(one for one in self.numbers if one != "n")
        of = f"'{self.of}'" if self.of else "a number that is not named"
        by = (
            f" by {' and '.join(repr(one) for one in self.by)}, {len(self.groups)} groups"
            if self.by
            else ""
        )
        return (
            f"a summary of {of}{by}: {words}{', with n' if 'n' in self.numbers else ', without n'}."
        )

    @property
    def variables(self) -> list[str]:
        """The columns that it is about."""
        return [*self.by, *([self.of] if self.of else [])]

    @property
    def people(self) -> int | None:
        """The people of all groups."""
        counts = self._counts
        return None if counts is None else sum(counts.values())

    def beside(self, name: str, policy: Policy) -> list[Finding]:
        """Return nothing: every statistic has its entry."""
        return []

    def findings(self, name: str, policy: Policy) -> list[Finding]:
        """Return what the numbers of people say; that dominance and extremes need the records."""
        counts = self._counts
        if counts is None:
            first = [
                unlooked(
                    name,
                    self.kind,
                    "threshold",
                    "The file does not say how many people are in each group. Name the records: --data.",
                )
            ]
        elif self.by:
            labels = tuple(
                tuple(dict.fromkeys(group[k] for group in self.groups)) for k in range(len(self.by))
            )
            first = PrintedTable(self.by, labels, counts).findings(name, policy)
        else:
            first = [n_rule(name, self.kind, counts[()], policy)]
        words = "Whether one person's value shows (dominance, the least and the largest value) can be looked at with the records alone. Name them: --data."
        return [*first, unlooked(name, self.kind, "n-k dominance", words)]

    @property
    def _counts(self) -> dict[tuple[str, ...], int] | None:
        if "n" not in self.numbers:
            return None
        return {group: int(float(self.numbers["n"][group])) for group in self.groups}

    def entries(self, name: str, fields: Fields) -> list[dict[str, Any]]:
        """Return an entry for each statistic, and a table for the numbers of people in groups."""
        if self.of is None or self.of in UNNAMED:
            raise InputError('it does not say which column it summarises: write of = "COLUMN"')
        for one in (self.of, *self.by):
            if one not in fields.names:
                raise InputError(
                    f"it is about '{one}', which is no column of the data: write of = ... and by = [...]"
                )
        entries = [self._entry(f"{name}: {one}", one) for one in self.numbers if one in _MOMENTS]
        points = [one for one in _POINTS if one in self.numbers]
        if points:
            lists = {group: [self.numbers[one][group] for one in points] for group in self.groups}
            values: Any = (
                {SEPARATOR.join(group): numbers for group, numbers in lists.items()}
                if self.by
                else lists[()]
            )
            kind: dict[str, Any] = {"kind": "quantiles", "at": [_POINTS[one] for one in points]}
            entries.append(
                {
                    "name": f"{name}: quantiles",
                    **kind,
                    **self._about,
                    "values": values,
                    **self._n(by_group=True),
                }
            )
        if self._counts is not None and self.by:
            labels = tuple(
                tuple(dict.fromkeys(group[k] for group in self.groups)) for k in range(len(self.by))
            )
            entries.append(
                PrintedTable(self.by, labels, self._counts, where=self.where).entry(f"{name}: n")
            )
        return entries

    @property
    def _about(self) -> dict[str, Any]:
        return without_none({"of": self.of, "by": list(self.by) or None, "where": self.where})

    def _n(self, *, by_group: bool = False) -> dict[str, Any]:
        counts = self._counts
        if counts is None or (self.by and not by_group):
            return {}
        return {
            "n": {SEPARATOR.join(group): n for group, n in counts.items()}
            if self.by
            else counts[()]
        }

    def _entry(self, name: str, statistic: str) -> dict[str, Any]:
        numbers = self.numbers[statistic]
        values = (
            {"values": {SEPARATOR.join(group): numbers[group] for group in self.groups}}
            if self.by
            else {"value": numbers[()]}
        )
        return {"name": name, "kind": statistic, **self._about, **values, **self._n()}


@dataclass(frozen=True)
class PrintedTest:
    """The result of a test: its numbers by the keys of its kind; `unsaid` says why it cannot be put over the columns of data, if so."""

    kind: str
    title: str
    numbers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    by: tuple[str, ...] = ()
    of: str | None = None
    n: int | None = None
    where: str | None = None
    unsaid: str = ""

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        about = [
            *([f"of '{self.of}'"] if self.of else []),
            *([f"by {' and '.join(repr(one) for one in self.by)}"] if self.by else []),
        ]
        return f"{self.title} {' '.join(about) or 'whose columns are not named'}."

    @property
    def variables(self) -> list[str]:
        """The columns that it is about."""
        return [*self.by, *([self.of] if self.of else [])]

    @property
    def people(self) -> int | None:
        """Its n."""
        return self.n

    def beside(self, name: str, policy: Policy) -> list[Finding]:
        """Return nothing."""
        return []

    def findings(self, name: str, policy: Policy) -> list[Finding]:
        """Return what n says, and that groups need the records."""
        known = [] if self.n is None else [n_rule(name, self.kind, self.n, policy)]
        return [
            *known,
            unlooked(
                name,
                self.kind,
                "small groups behind the test",
                "The file does not say how many people are in each group. Name the records: --data.",
            ),
        ]

    def entries(self, name: str, fields: Fields) -> list[dict[str, Any]]:
        """Return the test's entry."""
        if self.unsaid:
            raise InputError(self.unsaid)
        for one in (*self.by, *([self.of] if self.of else [])):
            if one not in fields.names:
                raise InputError(
                    f"it is about '{one}', which is no column of the data: write by = [...]"
                )
        if not self.by:
            raise InputError(
                "the file does not say which columns it is a test of: write by = [...]"
            )
        about = without_none({"by": list(self.by), "of": self.of, "where": self.where, "n": self.n})
        return [{"name": name, "kind": self.kind, **about, **self.numbers}]
