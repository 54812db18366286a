"""Outputs as printed, whatever program printed them: tables of counts or percentages, summaries by groups, results of tests, fitted models.

Each says what it is of columns of data (`entries`), and what the rules say of its printed numbers alone (`findings`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...._base.errors import InputError, listed
from ...._base.results import without_none
from ....table.personal.names import FEW, name_sign
from ...cells import SEPARATOR, TOTAL
from ...domain import Field, Fields
from ...filters import read_filter
from ...kinds import KINDS
from ...numbers import count_interval
from ...rules.check import check_entries
from ...rules.evidence import DegreesOfFreedom, People, judge
from ...rules.findings import RuleFinding, finding
from ...rules.policy import Policy
from ..acro.regressions import coefficient_columns, rebuilt_formula

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
MANY_SERIAL = 20
"""Levels from which serial numbers (P001, P002; or 1, 2, 3 ...) are taken for those of persons."""

Cell = tuple[str, ...]


INTERCEPT = "Intercept"
NEEDS_RECORDS = (
    "Who is behind each coefficient does not show in the file: small groups, covariate patterns and perfect prediction can be looked at with "
    "the records alone. Name them: --data."
)
_FACTOR = re.compile(r"\b(?:as\.)?(?:factor|ordered)\(\s*`?([\w.]+)`?\s*\)")
_CONSTANTS = ("(Intercept)", "_cons", "const", "Constant", "(Constant)", INTERCEPT)


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
class ParsedTable:
    """Counts by the labels of each axis; with totals (`margins`, called as files of outputs call them) where they are printed.

    `percentages` says of what numbers are shares, in place of counts. Withheld cells hold their mark; `threshold` is the count below which
    they are withheld, `base` what counts were rounded to. `said`: whether the file, or somebody, says that these are counts; otherwise it is their form
    that does, which sums have, too. `by_hand`: whether somebody says it, who knows what a row is.
    """

    by: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...] = field(repr=False)
    cells: Mapping[Cell, Any] = field(repr=False)
    margins: bool = False
    percentages: Literal["all", "rows", "columns"] | None = None
    threshold: int | None = None
    base: int = 1
    where: str | None = None
    said: bool = True
    by_hand: bool = False

    kind = "table"

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        what = f"percentages (of {self.percentages})" if self.percentages else "counts"
        named = [
            f"'{name}'" if name not in UNNAMED else f"{name[1:-1]} whose column is not named"
            for name in self.by
        ]
        size = " x ".join(str(len(some)) for some in self.labels)
        total = " with totals" if self.margins else ""
        by_form = "" if self.said or self.percentages else " (by their form)"
        withheld = (
            ", some withheld"
            if any(isinstance(cell, str) for cell in self.cells.values()) and not self.percentages
            else ""
        )
        return f"a table of {what}{by_form} of {' by '.join(named)}, {size} cells{total}{withheld}."

    @property
    def variables(self) -> list[str]:
        """The columns that are crossed."""
        return list(self.by)

    @property
    def people(self) -> int | None:
        """The total, where all cells are shown as they are."""
        cells = [cell for key, cell in self.cells.items() if TOTAL not in key]
        return (
            sum(cells)
            if not self.percentages
            and self.base == 1
            and all(isinstance(cell, int) for cell in cells)
            else None
        )

    def entry(self, name: str) -> dict[str, Any]:
        """Return the table's entry in a file of outputs, over columns of these names."""
        entry: dict[str, Any] = {"name": name, "kind": "table", "by": list(self.by)}
        numbers = {SEPARATOR.join(key): cell for key, cell in self.cells.items()}
        entry |= (
            {"percentages": self.percentages, "values": numbers}
            if self.percentages
            else {"cells": numbers}
        )
        entry |= {"margins": True} if self.margins else {}
        entry |= {} if self.threshold is None else {"threshold": self.threshold}
        entry |= {"base": self.base} if self.base > 1 else {}
        return entry | ({} if self.where is None else {"where": self.where})

    def entries(self, name: str, fields: Fields) -> list[dict[str, Any]]:
        """Return the entry, if the axes are columns of the data."""
        if strange := [one for one in self.by if one in UNNAMED]:
            raise InputError(
                f"the file does not say which columns stand in its {listed(one[1:-1] for one in strange)}: write by = [...]"
            )
        for one in self.by:
            if one not in fields.names:
                raise InputError(
                    f"it is about '{one}', which is no column of the data: write by = [...]"
                )
        return [self.entry(name)]

    def beside(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return nothing: all of a table is in its entry."""
        return []

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what the rules say of the counts: small cells, zeros, full lines, withheld cells that follow."""
        if self.percentages:
            words = "Percentages without counts do not say how many people are behind them. Name the records: --data."
            return [open_finding(name, "table", "threshold", words)]
        fields = Fields(
            tuple(
                Field(column, labels) for column, labels in zip(self.by, self.labels, strict=True)
            )
        )
        counts = self.completed(policy.threshold)
        codes = np.argwhere(counts > 0).astype(np.int32)
        entry = {key: value for key, value in self.entry(name).items() if key != "where"}
        return self._by_form(name) + list(
            check_entries(
                [entry],
                fields,
                codes,
                policy.model_copy(update={"household": None, "weight": None}),
                weights=counts[counts > 0],
            )
        )

    def _by_form(self, name: str) -> list[RuleFinding]:
        """That numbers are taken for counts by their form alone, where nothing says so; and that rows may be persons, and numbers what each has."""
        persons = (
            None
            if self.by_hand
            else next(
                (
                    axis
                    for axis, labels in zip(self.by, self.labels, strict=True)
                    if are_persons(axis, labels)
                ),
                None,
            )
        )
        if persons is not None:
            axis = f"'{persons}'" if persons not in UNNAMED else persons[1:-1]
            words = f'{axis} may have one level for each person: its numbers then are what a person has (visits, say), no counts of people. If they are counts, write kind = "table".'
            return [open_finding(name, "table", "taken for counts", words[:1].upper() + words[1:])]
        if self.said:
            return []
        words = 'Nothing in the file says that its numbers are counts of people: sums and largest values look the same. If they are, write kind = "table"; or name the records: --data.'
        return [
            finding(
                name,
                "table",
                "taken for counts",
                ["all"],
                of=1,
                good="",
                bad=words,
                status="review",
            )
        ]

    def interval(self, cell: Any, threshold: int, most: int) -> tuple[int, int]:
        """Return the least and largest count that a cell may be."""
        return count_interval(
            cell, most=most, threshold=self.threshold or threshold, suppressed_zeros=False
        )

    def completed(self, threshold: int) -> NDArray[np.int64]:
        """Return counts for all cells that fit what is printed: as they are, and for withheld ones some that fit the totals.

        Which of those that fit is of no matter to the rules, which ask what a reader can work out. InputError where none fits.
        """
        keys, shape = list(product(*self.labels)), tuple(len(some) for some in self.labels)
        cells = [self.cells.get(key, 0) for key in keys]
        if not any(isinstance(cell, str) for cell in cells):
            return np.array(cells, dtype=np.int64).reshape(shape)
        known = [number for number in self.cells.values() if isinstance(number, int)]
        most = max([threshold, *known])
        bounds = np.array(
            [
                self.interval(cell, threshold, most) if isinstance(cell, str) else (cell, cell)
                for cell in cells
            ]
        )
        if not self.margins:
            return np.asarray(bounds[:, 0].reshape(shape), dtype=np.int64)
        return self._fitted(keys, bounds, most).reshape(shape)

    def _fitted(self, keys: list[Cell], bounds: NDArray[Any], most: int) -> NDArray[np.int64]:
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows, low, high = [], [], []
        for key, cell in self.cells.items():
            if TOTAL in key:
                rows.append(
                    [
                        float(all(mine in (its, TOTAL) for mine, its in zip(key, one, strict=True)))
                        for one in keys
                    ]
                )
                lo, hi = (
                    (0, 10 * most)
                    if cell == "?"
                    else self.interval(cell, most, 10 * most)
                    if isinstance(cell, str)
                    else (cell, cell)
                )
                low.append(lo)
                high.append(hi)
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


@dataclass(frozen=True)
class ParsedSummary:
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

    def beside(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return nothing: every statistic has its entry."""
        return []

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what the numbers of people say; that dominance and extremes need the records."""
        counts = self._counts
        if counts is None:
            first = [
                open_finding(
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
            first = ParsedTable(self.by, labels, counts).findings(name, policy)
        else:
            first = judge(name, self.kind, [People(counts[()])], policy)
        words = "Whether one person's value shows (dominance, the least and the largest value) can be looked at with the records alone. Name them: --data."
        return [*first, open_finding(name, self.kind, "n-k dominance", words)]

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
                ParsedTable(self.by, labels, self._counts, where=self.where).entry(f"{name}: n")
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
class ParsedTest:
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

    def beside(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return nothing."""
        return []

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what n says, and that groups need the records."""
        known = [] if self.n is None else judge(name, self.kind, [People(self.n)], policy)
        return [
            *known,
            open_finding(
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


@dataclass(frozen=True)
class ParsedFit:
    """A model: its coefficients and standard errors by the names that the program gave them, as printed.

    `formula` is that of the program, None where it is not printed; `label` the dependent variable. `n` and `dof` (residual) are None where the file
    does not tell. `extremes`: whether the least and largest residual are shown. `robust`: whether standard errors are not the usual ones.
    `exponentiated`: whether coefficients are odds ratios and the like. `columns` renames: from what is printed to what the data have. `unsaid`: why the
    records behind it cannot be told, if so. `extra` are keys that its kind alone has. `left_out`: how many records were left
    out, where the file says so.
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
    unsaid: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    left_out: int | None = None

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        what = KINDS[self.kind].sentence if self.kind in KINDS else self.kind
        of = f" of '{self.label}'" if self.label else ""
        terms = (
            f", {len(self.coefficients)} coefficients"
            if self.coefficients
            else ", without coefficients"
        )
        ratios = " as ratios (exponentiated)" if self.exponentiated else ""
        n = (
            ", with n"
            if self.n is not None
            else ", with residual degrees of freedom"
            if self.dof is not None
            else ", without n"
        )
        errors = (
            ", without standard errors"
            if self.coefficients and (self.robust or not self.standard_errors)
            else ""
        )
        formula = "" if self.formula else "; its formula is not printed"
        return f"{self.kind}: {what}{of}{terms}{ratios}{errors}{n}{formula}."

    def beside(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return that the least and the largest residual are those of single people, and that few were left out, where these are shown."""
        few = []
        if self.left_out is not None and 0 < self.left_out < policy.threshold:
            words = f"It says how many records were left out for missing values: fewer than {policy.threshold}."
            few = [
                finding(
                    name,
                    self.kind,
                    "records left out",
                    ["left out"],
                    of=1,
                    good="",
                    bad=words,
                    status="review",
                )
            ]
        if not self.extremes:
            return few
        words = "The least and the largest residual are shown: each is that of one person."
        return [
            *few,
            finding(
                name,
                self.kind,
                "extremes of residuals",
                ["least", "largest"],
                of=2,
                good="",
                bad=words,
                status="review",
            ),
        ]

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what n and degrees of freedom say; that the rest needs the records."""
        findings = [] if self.n is None else judge(name, self.kind, [People(self.n)], policy)
        dof = (
            self.dof
            if self.dof is not None or self.n is None or not self.coefficients
            else self.n - len(self.coefficients)
        )
        rule = "residual degrees of freedom"
        if dof is None:
            findings.append(
                open_finding(
                    name,
                    self.kind,
                    rule,
                    "The file does not say how many people the model was fitted to. Write n = ...",
                )
            )
        else:
            findings += judge(name, self.kind, [DegreesOfFreedom(dof)], policy)
        return [
            *findings,
            open_finding(name, self.kind, "small group behind a coefficient", NEEDS_RECORDS),
            *self.beside(name, policy),
        ]

    def entries(self, name: str, fields: Fields) -> list[dict[str, Any]]:
        """Return the model's entry; its formula is put together from the names of coefficients where the printed one is absent or has others."""
        from ...document import recipes_of

        if self.unsaid:
            raise InputError(self.unsaid)
        words = {one.name: one.labels for one in fields if not one.numeric}
        names = {
            mine: patsy_name(self.columns.get(mine, mine), words) for mine in self.coefficients
        }
        label, success = _label(self.columns.get(self.label or "", self.label), self.success)
        entry: dict[str, Any] = {
            "name": name,
            "kind": self.kind,
            **without_none({"where": self.where, "n": self.n, "success": success}),
        }
        entry |= dict(self.extra)
        entry |= (
            without_none({"family": self.family, "link": self.link}) if self.kind == "glm" else {}
        )
        if not self.coefficients:
            if self.formula is None:
                raise InputError(
                    'it has no coefficients, and no formula: write formula = "LABEL ~ ..."'
                )
            return [
                {
                    **entry,
                    "formula": _with_label(patsy_formula(self.formula), label),
                    **({"n": True} if self.n is not None else {}),
                }
            ]
        numbers: dict[str, Any] = {
            "coefficients": {names[mine]: text for mine, text in self.coefficients.items()}
        }
        if self.standard_errors and not self.robust:
            numbers["standard_errors"] = {
                names[mine]: text for mine, text in self.standard_errors.items() if mine in names
            }
        if self.loglik is not None:
            numbers["loglik"] = self.loglik
        if (
            self.exponentiated
        ):  # ratios are not what an entry holds: what lies behind them is looked at all the same
            numbers = {}
        faults: list[InputError] = []
        if self.formula is not None:
            written = {
                **entry,
                **numbers,
                "formula": _with_label(patsy_formula(self.formula), label),
            }
            try:
                recipes_of([_recipe(written)], fields)
                return [_recipe(written)]
            except InputError as error:
                if self.extra:
                    raise
                faults.append(error)
        if label is None:
            raise InputError('it does not say what it is a model of: write formula = "LABEL ~ ..."')
        try:
            formula, renamed = rebuilt_formula(
                label, list(names.values()), fields, read_filter(self.where, fields, output=name)
            )
        except InputError as error:
            raise (faults or [error])[0] from None
        for key in ("coefficients", "standard_errors"):
            if key in numbers:
                numbers[key] = {
                    renamed.get(mine, mine): text for mine, text in numbers[key].items()
                }
        return [_recipe({**entry, **numbers, "formula": formula})]

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
            else " ".join(coefficient_columns([patsy_name(one, {}) for one in self.coefficients]))
        )
        return [
            *re.findall(
                r"[^\W\d][\w.]*",
                f"{text} {self.label or ''} {self.where or ''} {self.extra.get('event', '')}",
            ),
            *self.columns.values(),
        ]


def open_finding(name: str, kind: str, rule: str, why: str) -> RuleFinding:
    """Return that a rule could not be asked without the records."""
    return finding(name, kind, rule, [rule], of=1, good="", bad=why, status="not assessed")


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
    if sign is not None and len(labels) > sign.max_distinct:
        return True
    numbered = len(labels) > 2 and all(re.search(r"\d", label) for label in labels)
    called = axis.strip().lower().rstrip("s")
    if (called in PERSONS and (numbered or len(labels) > FEW)) or (
        re.search(r"[_ .]id$", called) and len(labels) > FEW
    ):
        return True
    parts = [re.fullmatch(r"(\D*)(\d+)", label.strip()) for label in labels]
    if len(labels) < MANY_SERIAL or not all(parts) or len({part[1] for part in parts if part}) > 1:
        return False
    numbers = [int(part[2]) for part in parts if part]
    return bool(parts[0] and parts[0][1]) or min(numbers) == 1


def patsy_formula(formula: str) -> str:
    """Return a formula of R as files of outputs have it.

    Examples
    --------
    >>> patsy_formula("y ~ factor(area) + I(age^2) + `a b`")
    "y ~ C(area) + I(age**2) + Q('a b')"
    """
    text = re.sub(r"\s+", " ", _FACTOR.sub(lambda match: f"C({match[1]})", formula)).strip()
    return re.sub(r"`([^`']+)`", r"Q('\1')", text).replace("^", "**")


def patsy_name(name: str, columns: Mapping[str, tuple[str, ...]]) -> str:
    """Return a coefficient's name as patsy prints it; `columns` are the levels of columns of words, by name.

    Examples
    --------
    >>> words = {"area": ("north", "south")}
    >>> [patsy_name(name, words) for name in ("(Intercept)", "factor(sex)2:age", "areasouth", "2.sex", "_cons")]
    ['Intercept', 'C(sex)[T.2]:age', 'area[T.south]', 'C(sex)[T.2]', 'Intercept']
    """
    if name in _CONSTANTS:
        return INTERCEPT
    return ":".join(
        _patsy_part(part.strip(), columns) for part in re.split(r":|(?<=\w)#(?=[\w.])| × ", name)
    )


def _patsy_part(part: str, columns: Mapping[str, tuple[str, ...]]) -> str:
    if match := re.fullmatch(rf"{_FACTOR.pattern}\s*(\S.*)", part):
        return f"C({match[1]})[T.{match[2].strip()}]"
    if match := re.fullmatch(r"(\d+)b?\.(\w+)", part):
        return f"C({match[2]})[T.{match[1]}]"
    if match := re.fullmatch(r"c\.(\w+)", part):
        return match[1]
    for column, levels in columns.items():
        if part.startswith(column) and part[len(column) :].strip(" =") in levels:
            return f"{column}[T.{part[len(column) :].strip(' =')}]"
    return part.replace("^", "**")


def _recipe(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry that may be without numbers: n is then announced."""
    return entry if "coefficients" in entry or "n" not in entry else {**entry, "n": True}


def _label(label: str | None, success: Any) -> tuple[str | None, Any]:
    """The label's column, and the level that counts as 1 where it is written as a comparison (y == 1)."""
    if label is None:
        return None, success
    match = re.fullmatch(r"I?\(?\s*([\w.]+)\s*==\s*(['\"]?)([^'\"()]+)\2\s*\)?", label.strip())
    if match is None:
        return label.strip(), success
    level: Any = match[3].strip()
    return match[1], int(level) if not match[2] and level.isdigit() else level


def _with_label(formula: str, label: str | None) -> str:
    return (
        formula
        if label is None or "~" not in formula
        else f"{label} ~ {formula.split('~', 1)[1].strip()}"
    )
