"""A table of counts or percentages as printed: what it says of columns, and what the rules say of its counts alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...._base.errors import InputError, listed
from ....table.personal.names import FEW, name_sign
from ...cells import SEPARATOR, TOTAL
from ...domain import Field, Fields
from ...numbers import count_interval
from ...rules.check import check_entries
from ...rules.findings import Finding, finding
from ...rules.policy import Policy

UNNAMED = ("(rows)", "(columns)", "(layers)")
"""What axes are called of which the file does not say the column."""
MOST_PEOPLE = 10_000
"""Counts above it are cut to it where tables are very large: no rule on the table by itself tells such counts apart."""
MANY_PEOPLE = 2_000_000

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


def unlooked(name: str, kind: str, rule: str, why: str) -> Finding:
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
    if sign is not None and len(labels) > sign.most:
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


@dataclass(frozen=True)
class PrintedTable:
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

    def beside(self, name: str, policy: Policy) -> list[Finding]:
        """Return nothing: all of a table is in its entry."""
        return []

    def findings(self, name: str, policy: Policy) -> list[Finding]:
        """Return what the rules say of the counts: small cells, zeros, full lines, withheld cells that follow."""
        if self.percentages:
            words = "Percentages without counts do not say how many people are behind them. Name the records: --data."
            return [unlooked(name, "table", "threshold", words)]
        fields = Fields(
            tuple(
                Field(column, labels) for column, labels in zip(self.by, self.labels, strict=True)
            )
        )
        counts = self.completed(policy.threshold)
        if counts.sum() > MANY_PEOPLE:
            counts = np.minimum(counts, MOST_PEOPLE)
        places = np.stack([place.ravel() for place in np.indices(counts.shape)], axis=1)
        codes = np.repeat(places, counts.ravel(), axis=0).astype(np.int32)
        entry = {key: value for key, value in self.entry(name).items() if key != "where"}
        return self._by_form(name) + list(
            check_entries(
                [entry],
                fields,
                codes,
                policy.model_copy(update={"household": None, "weight": None}),
            )
        )

    def _by_form(self, name: str) -> list[Finding]:
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
            return [unlooked(name, "table", "taken for counts", words[:1].upper() + words[1:])]
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
