"""Outputs as printed, whatever program printed them: tables of counts or percentages, summaries by groups, results of tests, fitted models.

Each says what it is of columns of data (`entries`), and what the rules say of its printed numbers alone (`findings`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...._base.errors import InputError, join_names
from ...._base.results import without_none
from ....table.personal.names import FEW, name_sign
from ...cells import SEPARATOR, TOTAL
from ...domain import OutputColumn, OutputDomain
from ...filters import read_filter
from ...kinds import KINDS
from ...numbers import count_interval
from ...rules.check import check_entries
from ...rules.evidence import DegreesOfFreedom, People, judge
from ...rules.findings import RuleFinding, finding
from ...rules.policy import Policy
from ..coefficient_names import (
    coefficient_columns,
    label_column,
    labelled_formula,
    patsy_formula,
    patsy_name,
    rebuilt_formula,
)
from ..understood import check_reasons
from .numbers import parse_count

UNNAMED = ("(rows)", "(columns)", "(layers)")
"""What axes are called of which the file does not say the column."""
PERSONS = (
    "id",
    "patient",
    "person",
    "subject",
    "participant",
    "respondent",
    "client",
    "customer",
    "member",
    "employee",
    "student",
    "pupil",
    "infant",
    "baby",
    "case",
)
"""What a column is called, in small letters and one of them, whose levels are persons where there are many."""
COMPARISONS = ("t-test", "anova", "kruskal-wallis", "mann-whitney")
"""Tests that compare a column between groups."""
MANY_SERIAL = 20
"""Levels from which serial numbers (P001, P002; or 1, 2, 3 ...) are taken for those of persons."""

Cell = tuple[str, ...]


UNCONVERGED = "its fit did not converge: its coefficients are not those of the data"
NEEDS_RECORDS = (
    "Who is behind each coefficient does not show in the file: small groups, covariate patterns and perfect prediction can be looked at with "
    "the records alone. Name them: --data."
)


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


OPEN = {
    "sums of weights": (
        "threshold",
        "Sums of weights without counts do not say how many people are behind them. Name the records: --data.",
    ),
    "percentages": (
        "threshold",
        "Percentages without counts do not say how many people are behind them. Name the records: --data.",
    ),
    "edges": (
        "ends",
        "Whether its first or last edge is the smallest or largest value shows with the records alone. Name them: --data.",
    ),
    "sizes of groups": (
        "threshold",
        "The file does not say how many people are in each group. Name the records: --data.",
    ),
    "values": (
        "n-k dominance",
        "Whether one person's value shows (dominance, the least and the largest value) can be looked at with the records alone. Name them: --data.",
    ),
    "groups of a test": (
        "small groups behind the test",
        "The file does not say how many people are in each group. Name the records: --data.",
    ),
    "n of a correlation": (
        "threshold",
        "The file does not say how many people are behind it. Write n = ..., or name the records: --data.",
    ),
    "pairs of columns": (
        "threshold",
        "Each pair may have fewer people, those who have both values. Name the records: --data.",
    ),
    "perfect correlation": (
        "perfect correlation",
        "A correlation of 1 says that each value follows from the other. Name the records: --data.",
    ),
    "n of a model": (
        "residual degrees of freedom",
        "The file does not say how many people the model was fitted to. Write n = ...",
    ),
    "coefficients": ("small group behind a coefficient", NEEDS_RECORDS),
    "survival steps": (
        "survival steps",
        "How many people leave and have the event at each time does not show in the file. Name the records: --data.",
    ),
}
"""What does not show in a file: the rule that cannot be asked without the records, and what is said of it."""


class _Form:
    """What the four forms share."""

    by: tuple[str, ...]
    variable: str | None

    @property
    def variables(self) -> list[str]:
        """Words among which are the columns that it is about."""
        return [*self.by, *([self.variable] if self.variable else [])]

    def further_findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what is to be said of numbers that no entry holds."""
        return []

    def check_columns(self, fields: OutputDomain, columns: Sequence[str], keys: str) -> None:
        """Raise InputError, with the keys to write, where one of some columns is none of the data."""
        if absent := next((name for name in columns if name not in fields.names), None):
            raise InputError(
                f"it is about '{absent}', which is no column of the data: write {keys}"
            )


@dataclass(frozen=True)
class ParsedTable(_Form):
    """Counts by the labels of each axis; with totals (`margins`, called as files of outputs call them) where they are printed.

    `percentages` says of what numbers are shares, in place of counts. Withheld cells hold their mark; `threshold` is the count below which
    they are withheld, `base` what counts were rounded to. `is_stated`: whether the file, or somebody, says that these are counts; otherwise it is their form
    that does, which sums have, too. `is_confirmed`: whether somebody says it, who knows what a row is.
    """

    by: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...] = field(repr=False)
    cells: Mapping[Cell, Any] = field(repr=False)
    margins: bool = False
    percentages: Literal["all", "rows", "columns"] | None = None
    threshold: int | None = None
    base: int = 1
    where: str | None = None
    is_stated: bool = True
    is_confirmed: bool = False
    variable: str | None = None

    @property
    def kind(self) -> str:
        """The kind of output that it is: its labels may be intervals, and its numbers sums of weights."""
        is_histogram = self.edges is not None and not self.percentages
        return "weighted-table" if self.variable else "histogram" if is_histogram else "table"

    @cached_property
    def edges(self) -> tuple[float, ...] | None:
        """The edges of the intervals that its only axis has, as a histogram has them; None for other labels."""
        return interval_edges(self.labels[0]) if len(self.labels) == 1 else None

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        what = f"percentages (of {self.percentages})" if self.percentages else "counts"
        what = f"sums of '{self.variable}'" if self.variable else what
        names = [
            f"'{name}'" if name not in UNNAMED else f"{name[1:-1]} whose column is not named"
            for name in self.by
        ]
        size = " x ".join(str(len(labels)) for labels in self.labels)
        is_by_form = not self.is_stated and not self.percentages
        has_marks = any(isinstance(cell, str) for cell in self.cells.values())
        return phrases(
            (True, f"a table of {what}"),
            (is_by_form, " (by their form)"),
            (True, f" of {' by '.join(names)}, {size} cells"),
            (self.margins, " with totals"),
            (has_marks and not self.percentages, ", some withheld"),
            (True, "."),
        )

    @property
    def people(self) -> int | None:
        """The total, where all cells are shown as they are."""
        cells = [cell for key, cell in self.cells.items() if TOTAL not in key]
        exact = not self.percentages and self.base == 1 and not self.variable
        return sum(cells) if exact and all(isinstance(cell, int) for cell in cells) else None

    def entry(self, name: str) -> dict[str, Any]:
        """Return the table's entry in a file of outputs, over columns of these names."""
        numbers = {SEPARATOR.join(key): cell for key, cell in self.cells.items()}
        keys = {
            "percentages": self.percentages,
            "values" if self.percentages else "cells": numbers,
            "margins": self.margins or None,
            "threshold": self.threshold,
            "base": self.base if self.base > 1 else None,
            "where": self.where,
        }
        return {"name": name, "kind": "table", "by": list(self.by), **without_none(keys)}

    def entries(self, name: str, fields: OutputDomain) -> Iterator[list[dict[str, Any]]]:
        """Give the entry, if the axes are columns of the data."""
        if unnamed := [axis for axis in self.by if axis in UNNAMED]:
            raise InputError(
                f"the file does not say which columns stand in its {join_names(axis[1:-1] for axis in unnamed)}: write by = [...]"
            )
        self.check_columns(fields, self.variables, "by = [...]")
        if self.variable:
            yield [self._weighted_entry(name)]
        elif self.kind == "histogram" and fields[self.by[0]].numeric:
            yield [self._histogram_entry(name)]
        else:
            yield [self.entry(name)]

    def _weighted_entry(self, name: str) -> dict[str, Any]:
        values = {SEPARATOR.join(key): cell for key, cell in self.cells.items() if TOTAL not in key}
        keys = without_none({"percentages": self.percentages, "where": self.where})
        about = {"kind": "weighted-table", "by": list(self.by), "weight": self.variable}
        return {"name": name, **about, "values": values, **keys}

    def _histogram_entry(self, name: str) -> dict[str, Any]:
        """The intervals in rising order; their total follows."""
        labels = sorted(self.labels[0], key=lambda label: label_interval(label) or ())
        keys = {"threshold": self.threshold, "base": self.base if self.base > 1 else None}
        about = without_none({**keys, "where": self.where})
        counts = [self.cells[label,] for label in labels]
        head = {"name": name, "kind": "histogram", "of": self.by[0]}
        return {**head, "edges": list(self.edges or ()), "counts": counts, **about}

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what the rules say of the counts: small cells, zeros, full lines, withheld cells that follow."""
        if self.percentages or self.variable:
            return [
                open_finding(
                    name, self.kind, *OPEN["sums of weights" if self.variable else "percentages"]
                )
            ]
        columns = [
            OutputColumn(column, labels)
            for column, labels in zip(self.by, self.labels, strict=True)
        ]
        entry = {key: value for key, value in self.entry(name).items() if key != "where"}
        ends = [] if self.edges is None else [open_finding(name, self.kind, *OPEN["edges"])]
        counts = self.complete_counts(policy.threshold)
        return [*self._by_form(name), *ends, *check_counts(entry, columns, counts, policy)]

    def _by_form(self, name: str) -> list[RuleFinding]:
        """That numbers are taken for counts by their form alone, where nothing says so; and that rows may be persons, and numbers what each has."""
        axes = () if self.is_confirmed else zip(self.by, self.labels, strict=True)
        persons = next((axis for axis, labels in axes if are_persons(axis, labels)), None)
        rule = "taken for counts"
        if persons is not None:
            axis = f"'{persons}'" if persons not in UNNAMED else persons[1:-1].capitalize()
            sentence = f'{axis} may have one level for each person: its numbers then are what a person has (visits, say), no counts of people. If they are counts, write kind = "table".'
            return [open_finding(name, "table", rule, sentence)]
        sentence = 'Nothing in the file says that its numbers are counts of people: sums and largest values look the same. If they are, write kind = "table"; or name the records: --data.'
        return [] if self.is_stated else [review(name, "table", rule, sentence, "all")]

    def interval(self, cell: Any, threshold: int, max_count: int) -> tuple[int, int]:
        """Return the least and largest count that a cell may be."""
        if not isinstance(cell, str):
            return cell, cell
        return count_interval(
            cell, max_count=max_count, threshold=self.threshold or threshold, suppressed_zeros=False
        )

    def complete_counts(self, threshold: int) -> NDArray[np.int64]:
        """Return counts for all cells that fit what is printed: as they are, and for withheld ones some that fit the totals.

        Which of those that fit is of no matter to the rules, which ask what a reader can work out. InputError where none fits.
        """
        keys, shape = (
            list(product(*self.labels)),
            tuple(len(axis_labels) for axis_labels in self.labels),
        )
        cells = [self.cells.get(key, 0) for key in keys]
        if not any(isinstance(cell, str) for cell in cells):
            return np.array(cells, dtype=np.int64).reshape(shape)
        known = [number for number in self.cells.values() if isinstance(number, int)]
        max_count = max([threshold, *known])
        bounds = np.array([self.interval(cell, threshold, max_count) for cell in cells])
        if not self.margins:
            return np.asarray(bounds[:, 0].reshape(shape), dtype=np.int64)
        return self._fit_counts(keys, bounds, max_count).reshape(shape)

    def _fit_counts(
        self, keys: list[Cell], bounds: NDArray[Any], max_count: int
    ) -> NDArray[np.int64]:
        from scipy.optimize import Bounds, LinearConstraint, milp

        totals = {key: cell for key, cell in self.cells.items() if TOTAL in key}
        rows = [[float(_is_part(cell_key, key)) for cell_key in keys] for key in totals]
        limits = [
            (0, 10 * max_count) if cell == "?" else self.interval(cell, max_count, 10 * max_count)
            for cell in totals.values()
        ]
        low, high = zip(*limits, strict=True)
        done = milp(
            np.zeros(len(keys)),
            integrality=np.ones(len(keys)),
            bounds=Bounds(bounds[:, 0], bounds[:, 1]),
            constraints=LinearConstraint(np.array(rows), low, high),
        )
        if done.x is None:
            raise InputError(
                "no counts fit both its withheld cells and its totals: check the threshold, or the totals"
            )
        return np.asarray(np.round(done.x), dtype=np.int64)


def _is_part(cell: Cell, total: Cell) -> bool:
    """Whether a cell is one of those that a total sums up."""
    return all(word in (label, TOTAL) for word, label in zip(total, cell, strict=True))


@dataclass(frozen=True)
class ParsedSummary(_Form):
    """Summaries of one number: by statistic, then by group, as printed; groups are labels of the columns `by`, () where there are none."""

    variable: str | None
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = field(repr=False)
    numbers: Mapping[str, Mapping[tuple[str, ...], str]] = field(repr=False)
    where: str | None = None

    @property
    def kind(self) -> str:
        """The kind that its first statistic is of."""
        first = next((statistic for statistic in self.numbers if statistic != "n"), "table")
        return first if first in _MOMENTS else "quantiles" if first in _POINTS else "table"

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        statistics = ", ".join(statistic for statistic in self.numbers if statistic != "n")
        subject = f"'{self.variable}'" if self.variable else "a number that is not named"
        by = f" by {' and '.join(map(repr, self.by))}, {len(self.groups)} groups" if self.by else ""
        n = ", with n" if "n" in self.numbers else ", without n"
        return f"a summary of {subject}{by}: {statistics}{n}."

    @property
    def people(self) -> int | None:
        """The people of all groups."""
        counts = self._counts
        return None if counts is None else sum(counts.values())

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what the numbers of people say; that dominance and extremes need the records."""
        counts = self._counts
        if counts is None:
            first = [open_finding(name, self.kind, *OPEN["sizes of groups"])]
        elif self.by:
            first = self._table_of_n(counts).findings(name, policy)
        else:
            first = judge(name, self.kind, [People(counts[()])], policy)
        return [*first, open_finding(name, self.kind, *OPEN["values"])]

    @property
    def _counts(self) -> dict[Cell, int] | None:
        if "n" not in self.numbers:
            return None
        return {group: parse_count(self.numbers["n"][group]) for group in self.groups}

    def _table_of_n(self, counts: Mapping[Cell, int]) -> ParsedTable:
        labels = (tuple(dict.fromkeys(levels)) for levels in zip(*self.groups, strict=True))
        return ParsedTable(self.by, tuple(labels), counts, where=self.where)

    def entries(self, name: str, fields: OutputDomain) -> Iterator[list[dict[str, Any]]]:
        """Give an entry for each statistic, and a table for the numbers of people in groups."""
        if self.variable is None or self.variable in UNNAMED:
            raise InputError('it does not say which column it summarises: write of = "COLUMN"')
        self.check_columns(fields, (self.variable, *self.by), "of = ... and by = [...]")
        counts = self._counts
        about = without_none(
            {"of": self.variable, "by": list(self.by) or None, "where": self.where}
        )
        n: dict[str, Any] = {} if counts is None else {"n": self._by_group(counts)}
        entries = []
        for kind in (statistic for statistic in self.numbers if statistic in _MOMENTS):
            values = self._by_group(self.numbers[kind])
            numbers = {"values": values} if self.by else {"value": values, **n}
            entries.append({"name": f"{name}: {kind}", "kind": kind, **about, **numbers})
        points = [statistic for statistic in _POINTS if statistic in self.numbers]
        if points:
            lists = {
                group: [self.numbers[point][group] for point in points] for group in self.groups
            }
            head = {"name": f"{name}: quantiles", "kind": "quantiles"}
            probabilities = [_POINTS[point] for point in points]
            entries.append(
                {**head, "at": probabilities, **about, "values": self._by_group(lists), **n}
            )
        if counts is not None and self.by:
            entries.append(self._table_of_n(counts).entry(f"{name}: n"))
        yield entries

    def _by_group(self, numbers: Mapping[Cell, Any]) -> Any:
        """Numbers by group as entries have them; one alone where there are no groups."""
        if not self.by:
            return numbers[()]
        return {SEPARATOR.join(group): numbers[group] for group in self.groups}


@dataclass(frozen=True)
class ParsedTest(_Form):
    """The result of a test: its numbers by the keys of its kind; `unresolved_reason` says why it cannot be put over the columns of data, if so."""

    kind: str
    title: str
    numbers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    by: tuple[str, ...] = ()
    variable: str | None = None
    n: int | None = None
    where: str | None = None
    unresolved_reason: str = ""

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        subject = f"of '{self.variable}'" if self.variable else ""
        by = f"by {' and '.join(map(repr, self.by))}" if self.by else ""
        return f"{self.title} {f'{subject} {by}'.strip() or 'whose columns are not named'}."

    @property
    def people(self) -> int | None:
        """Its n."""
        return self.n

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what n says, and that groups need the records."""
        if self.kind == "correlation":
            return self._findings_of_correlation(name, policy)
        known = [] if self.n is None else judge(name, self.kind, [People(self.n)], policy)
        return [*known, open_finding(name, self.kind, *OPEN["groups of a test"])]

    def _findings_of_correlation(self, name: str, policy: Policy) -> list[RuleFinding]:
        """What n says of one correlation; a matrix may be of other people in each pair, and one of 1 is a column that follows from the other."""
        if self.n is None:
            return [open_finding(name, self.kind, *OPEN["n of a correlation"])]
        pieces = [People(self.n), DegreesOfFreedom(max(self.n - 2, 0))]
        findings = judge(name, self.kind, pieces, policy)
        if "values" in self.numbers:
            findings.append(open_finding(name, self.kind, *OPEN["pairs of columns"]))
        elif abs(float(self.numbers["value"])) >= 1.0:
            findings.append(open_finding(name, self.kind, *OPEN["perfect correlation"]))
        return findings

    def entries(self, name: str, fields: OutputDomain) -> Iterator[list[dict[str, Any]]]:
        """Give the test's entry."""
        if self.unresolved_reason:
            raise InputError(self.unresolved_reason)
        self.check_columns(fields, self.variables, "by = [...]")
        check_reasons(
            (not self.by, "the file does not say which columns it is a test of: write by = [...]"),
            (
                self.variable is None and self.kind in COMPARISONS,
                "the file does not say which column it compares: write of = ...",
            ),
        )
        is_correlation = self.kind == "correlation"
        columns = (
            {"of": list(self.by)} if is_correlation else {"by": list(self.by), "of": self.variable}
        )
        about = without_none({**columns, "where": self.where, "n": self.n})
        yield [{"name": name, "kind": self.kind, **about, **self.numbers}]


@dataclass(frozen=True)
class ParsedFit(_Form):
    """A model: its coefficients and standard errors by the names that the program gave them, as printed.

    `formula` is that of the program, None where it is not printed; `label` the dependent variable. `n` and `dof` (residual) are None where the file
    does not tell. `extremes`: whether the least and largest residual are shown. `robust`: whether standard errors are not the usual ones.
    `exponentiated`: whether coefficients are odds ratios and the like. `columns` renames: from what is printed to what the data have. `unresolved_reason`: why the
    records behind it cannot be told, if so. `extra` are keys that its kind alone has. `left_out`: how many records were left
    out, `smallest_group` how many the smallest group of a mixed model has, where the file says so.
    """

    kind: str
    label: str | None = None
    formula: str | None = None
    coefficients: Mapping[str, str] = field(default_factory=dict, repr=False)
    standard_errors: Mapping[str, str] = field(default_factory=dict, repr=False)
    n: int | None = None
    dof: int | None = None
    loglik: str | None = None
    success: Any = None
    family: str | None = None
    link: str | None = None
    where: str | None = None
    extremes: bool = False
    robust: bool = False
    exponentiated: bool = False
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)
    unresolved_reason: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    left_out: int | None = None
    smallest_group: int | None = None

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        what = KINDS[self.kind].sentence if self.kind in KINDS else self.kind
        size, is_sized = len(self.coefficients), self.n is not None
        has_errors = self.standard_errors and not self.robust
        return phrases(
            (True, f"{self.kind}: {what}"),
            (self.label, f" of '{self.label}'"),
            (size, f", {size} coefficients"),
            (not size, ", without coefficients"),
            (self.exponentiated, " as ratios (exponentiated)"),
            (size and not has_errors, ", without standard errors"),
            (is_sized, ", with n"),
            (not is_sized and self.dof is None, ", without n"),
            (not is_sized and self.dof is not None, ", with residual degrees of freedom"),
            (not self.formula, "; its formula is not printed"),
            (True, "."),
        )

    @property
    def people(self) -> int | None:
        """Its n."""
        return self.n

    @property
    def variables(self) -> list[str]:
        """The names that stand in its formula or its coefficients."""
        text = (
            patsy_formula(self.formula)
            if self.formula
            else " ".join(coefficient_columns([patsy_name(name, {}) for name in self.coefficients]))
        )
        text = f"{text} {self.label or ''} {self.where or ''} {self.extra.get('event', '')} {self.extra.get('group', '')}"
        return [*re.findall(r"[^\W\d][\w.]*", text), *self.columns.values()]

    def further_findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return that the least and the largest residual are those of single people, and that few were left out, where these are shown."""
        threshold, smallest = policy.threshold, self.smallest_group
        few_left = (
            f"It says how many records were left out for missing values: fewer than {threshold}."
        )
        few = f"It says how many people its smallest group has: fewer than {threshold}."
        shown = "The least and the largest residual are shown: each is that of one person."
        groups = ["smallest group"]
        remarks = (
            (
                0 < (self.left_out or 0) < threshold,
                review(name, self.kind, "records left out", few_left, "left out"),
            ),
            (
                smallest is not None and smallest < threshold,
                finding(name, self.kind, "threshold", groups, total=1, sentence=few),
            ),
            (
                self.extremes,
                review(name, self.kind, "extremes of residuals", shown, "least", "largest"),
            ),
        )
        return [remark for holds, remark in remarks if holds]

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what n and degrees of freedom say; that the rest needs the records."""
        findings = [] if self.n is None else judge(name, self.kind, [People(self.n)], policy)
        dof = self.dof
        if dof is None and self.n is not None and self.coefficients:
            dof = self.n - len(self.coefficients)
        if dof is None:
            findings.append(open_finding(name, self.kind, *OPEN["n of a model"]))
        else:
            findings += judge(name, self.kind, [DegreesOfFreedom(dof)], policy)
        known = [*findings, open_finding(name, self.kind, *OPEN["coefficients"])]
        return [*known, *self.further_findings(name, policy)]

    def entries(self, name: str, fields: OutputDomain) -> Iterator[list[dict[str, Any]]]:
        """Give the model's entry with its printed formula, then with one that is put together from the names of its coefficients."""
        if self.unresolved_reason:
            raise InputError(self.unresolved_reason)
        labels = {column.name: column.labels for column in fields if not column.numeric}
        names = {
            mine: patsy_name(self.columns.get(mine, mine), labels) for mine in self.coefficients
        }
        label, success = label_column(self.columns.get(self.label or "", self.label), self.success)
        is_glm = self.kind == "glm"
        keys = {
            "where": self.where,
            "n": self.n,
            "success": success,
            **self.extra,
            "family": self.family if is_glm else None,
            "link": self.link if is_glm else None,
        }
        entry: dict[str, Any] = {"name": name, "kind": self.kind, **without_none(keys)}
        if self.exponentiated or not self.coefficients:
            # Ratios are not what an entry holds: what lies behind them is looked at all the same.
            entry |= {} if self.n is None else {"n": True}
        else:
            errors = {} if self.robust else self.standard_errors
            entry |= fit_numbers(self.coefficients, errors, names)
            entry |= without_none({"loglik": self.loglik})
        if self.formula is not None:
            written = labelled_formula(self.formula, label if label != self.label else None)
            yield [{**entry, "formula": written}]
            if self.extra or not self.coefficients:
                return
        elif not self.coefficients:
            raise InputError(
                'it has no coefficients, and no formula: write formula = "LABEL ~ ..."'
            )
        if label is None:
            raise InputError('it does not say what it is a model of: write formula = "LABEL ~ ..."')
        subset = read_filter(self.where, fields, output=name)
        formula, renamed = rebuilt_formula(label, list(names.values()), fields, subset)
        coefficients, errors = entry.get("coefficients", {}), entry.get("standard_errors", {})
        numbers = fit_numbers(coefficients, errors, renamed)
        yield [{**entry, **numbers, "formula": formula}]


ParsedOutput = ParsedTable | ParsedSummary | ParsedTest | ParsedFit
"""What an output says, whatever program printed it: one of four forms."""


def fit_numbers(
    coefficients: Mapping[str, str], errors: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return coefficients, and standard errors where there are some, as entries have them: by other names."""
    numbers = {"coefficients": coefficients, "standard_errors": errors}
    return {
        key: {names.get(name, name): text for name, text in texts.items()}
        for key, texts in numbers.items()
        if texts
    }


def check_counts(
    entry: Mapping[str, Any], columns: Sequence[OutputColumn], counts: NDArray[Any], policy: Policy
) -> list[RuleFinding]:
    """Return what the rules say of an entry, of which these are all people, by the levels of its columns."""
    codes = np.argwhere(counts > 0).astype(np.int32)
    rules = policy.model_copy(update={"household": None, "weight": None})
    fields = OutputDomain(tuple(columns))
    return list(check_entries([entry], fields, codes, rules, weights=counts[counts > 0]))


def phrases(*pieces: tuple[object, str]) -> str:
    """Return those of some pieces of a sentence that hold: each is whether it does, and what it says."""
    return "".join(text for holds, text in pieces if holds)


def review(name: str, kind: str, rule: str, sentence: str, *where: str) -> RuleFinding:
    """Return what a person should look at."""
    return finding(name, kind, rule, where, total=len(where), sentence=sentence, status="review")


def open_finding(name: str, kind: str, rule: str, sentence: str) -> RuleFinding:
    """Return that a rule could not be asked without the records."""
    return finding(name, kind, rule, [rule], total=1, sentence=sentence, status="not assessed")


class Interval(NamedTuple):
    """An interval of numbers as a program names it, with whether its ends belong to it."""

    low: float
    high: float
    has_low: bool
    has_high: bool

    def holds(self, value: float) -> bool:
        """Return whether a number lies in it."""
        is_above = value > self.low or (value == self.low and self.has_low)
        return is_above and (value < self.high or (value == self.high and self.has_high))


_INTERVAL = re.compile(r"([\[(])\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*([\])])")
LOWERED = 1e-3
"""The share of its range by which pandas lowers the first edge, so that the smallest value is inside."""


def label_interval(label: str) -> Interval | None:
    """Return the interval that a label names; None where it names none.

    Examples
    --------
    >>> label_interval("(15, 20.5]"), label_interval("15-20")
    (Interval(low=15.0, high=20.5, has_low=False, has_high=True), None)
    """
    match = _INTERVAL.fullmatch(label.strip())
    try:
        low, high = (float(match[2]), float(match[3])) if match else (0.0, 0.0)
    except ValueError:
        return None
    is_interval = match is not None and math.isfinite(low) and low < high
    return Interval(low, high, match[1] == "[", match[4] == "]") if match and is_interval else None


def interval_edges(labels: Sequence[str]) -> tuple[float, ...] | None:
    """Return the edges of intervals that meet, in any order, for bins that have their lower edge and not their upper one, the last with both.

    An edge that belongs to the bin below it becomes the next number above it. The first edge of pandas is its smallest value, lowered a little: it is that value.

    Examples
    --------
    >>> interval_edges(["[10,20)", "[20,30]"]), interval_edges(["(15.985, 20.5]", "(20.5, 25.0]", "(25.0, 29.5]", "(29.5, 34.0]"])[0]
    ((10.0, 20.0, 30.0), 16.0)
    """
    intervals = sorted(interval for interval in map(label_interval, labels) if interval)
    if len(intervals) < max(len(labels), 2) or any(
        lower.high != upper.low or lower.has_high == upper.has_low
        for lower, upper in pairwise(intervals)
    ):
        return None
    first, last = intervals[0], intervals[-1]
    edges = [
        bin_.low if bin_.has_low else float(np.nextafter(bin_.low, np.inf)) for bin_ in intervals
    ]
    widths = [upper.low - lower.low for lower, upper in pairwise(intervals[1:])]
    width = last.high - last.low
    smallest = round(first.high - width, 9)
    is_even = all(abs(other - width) < LOWERED * width for other in widths)
    if not first.has_low and is_even and smallest > first.low:
        lowered = LOWERED * (last.high - smallest)
        is_lowered = abs(smallest - first.low - lowered) <= 0.5 * lowered + 1e-9
        edges[0] = smallest if is_lowered else edges[0]
    return (*edges, last.high if last.has_high else float(np.nextafter(last.high, -np.inf)))


def are_persons(axis: str, labels: Sequence[str]) -> bool:
    """Return whether the levels of an axis look like persons, one each: by its name, or since they are serial numbers.

    Examples
    --------
    >>> are_persons("patient", [f"P{k:03d}" for k in range(60)]), are_persons("ward", [f"{k}" for k in range(1, 41)])
    (True, True)
    >>> are_persons("age", [f"{k}" for k in range(20, 80)]), are_persons("patient", ["in", "out"]), are_persons("id", ["7", "9", "12"])
    (False, False, True)
    """
    sign = name_sign(axis)
    called = axis.strip().lower().rstrip("s")
    is_numbered = len(labels) > 2 and all(re.search(r"\d", label) for label in labels)
    is_many, is_person = len(labels) > FEW, called in PERSONS
    serial = [re.fullmatch(r"(\D*)(\d+)", label.strip()) for label in labels]
    numbers = [int(match[2]) for match in serial if match]
    prefixes = {match[1] for match in serial if match}
    is_serial = len(labels) >= MANY_SERIAL and len(numbers) == len(labels) and len(prefixes) == 1
    return (
        (sign is not None and len(labels) > sign.max_distinct)
        or (is_person and (is_numbered or is_many))
        or (is_many and re.search(r"[_ .]id$", called) is not None)
        or (is_serial and (prefixes != {""} or min(numbers) == 1))
    )
