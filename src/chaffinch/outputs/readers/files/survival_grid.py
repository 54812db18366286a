"""Kaplan-Meier tables, in a sheet or in text: numbers at risk, events and survival by time, of all records or by strata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...._base.errors import InputError
from ...._base.results import without_none
from ...domain import OutputColumn, OutputDomain
from ...rules.findings import RuleFinding
from ...rules.policy import Policy
from .numbers import number_text, parse_count
from .parsed import OPEN, Cell, ParsedSummary, check_counts, open_finding, phrases
from .printed_grid import PrintedGrid, decimal_sign
from .protocol import Annotation, LineError, check_lines

_COLUMNS = {
    "n.risk": "at_risk",
    "at_risk": "at_risk",
    "n.event": "events",
    "observed": "events",
    "estimate": "survival",
    "survival": "survival",
    "km_estimate": "survival",
}
"""What the columns of a Kaplan-Meier table are called, in small letters, and what they hold."""
_NUMBERS = ("at_risk", "events", "survival")
_TIMES = ("timeline", "event_at", "time")
_LABEL = re.compile(r"(?:survival::)?Surv\(\s*([\w.]+)\s*,\s*([\w.]+)(?:\s*==\s*([\w.\"']+))?\s*\)")
_SAY = 'write formula = "Surv(TIME, EVENT == 1) ~ 1"'
_STRATUM = re.compile(r"\s*([\w.]+)\s*=\s*(.*?)\s*")


class SurvivalLabel(NamedTuple):
    """The label of a model of times: its column, the column of events, and the level of that which says yes."""

    time: str
    event: str
    level: int | str | None

    @property
    def keys(self) -> dict[str, Any]:
        """The event and its level, as entries have them."""
        return without_none({"event": self.event, "level": self.level})


def survival_label(text: str | None) -> SurvivalLabel | None:
    """Return the label of a formula of R; None where it is written in another way.

    Examples
    --------
    >>> survival_label("Surv(months, status == 2)")
    SurvivalLabel(time='months', event='status', level=2)
    """
    match = _LABEL.fullmatch(text or "")
    if match is None:
        return None
    time, event, level = match.groups()
    is_number = level is not None and level.isdigit()
    return SurvivalLabel(time, event, int(level) if is_number else level and level.strip("\"'"))


@dataclass(frozen=True)
class ParsedSurvival(ParsedSummary):
    """A Kaplan-Meier table: a summary by strata and time. `variable` is the column of times, `event` that of events, `level` its level that says yes."""

    event: str | None = None
    level: int | str | None = None
    unresolved_reason: str = ""

    @property
    def kind(self) -> str:
        """The kind of output that it is."""
        return "kaplan-meier"

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        columns = ", ".join(key.replace("_", " ") for key in self.numbers)
        return phrases(
            (True, "a Kaplan-Meier table "),
            (self.event, f"of '{self.variable}' until '{self.event}'"),
            (not self.event, "whose columns are not named"),
            (self.by, f" by {' and '.join(map(repr, self.by))}"),
            (True, f", {len(self.groups)} times: {columns}."),
        )

    @property
    def variables(self) -> list[str]:
        """Words among which are the columns that it is about."""
        return [*super().variables, *([self.event] if self.event else [])]

    @property
    def people(self) -> int | None:
        """Those at risk at the first time; None by strata, or where this is not printed."""
        at_risk = self.numbers.get("at_risk")
        return None if self.by or at_risk is None else parse_count(at_risk[self.groups[0]])

    def findings(self, name: str, policy: Policy) -> list[RuleFinding]:
        """Return what the rules say of the steps between times, of each stratum by itself."""
        findings, hidden = list[RuleFinding](), "at_risk" not in self.numbers
        for cells in [] if hidden else self._strata().values():
            findings += self._findings_of_steps(name, cells, policy)
            hidden = hidden or "events" not in self.numbers or self._counts_since(cells)
        return [
            *findings,
            *([open_finding(name, self.kind, *OPEN["survival steps"])] if hidden else []),
        ]

    def _findings_of_steps(
        self, name: str, cells: Sequence[Cell], policy: Policy
    ) -> list[RuleFinding]:
        """What the rules say of those who leave between two times, and of those with the event at one where it shows."""
        numbers = self._numbers_of(cells)
        at_risk, events = numbers["at_risk"], numbers.get("events")
        if events is None or self._counts_since(cells):
            events = [0] * len(at_risk)
            numbers.pop("events", None)
        others = np.subtract(at_risk, [*at_risk[1:], 0]) - np.array(events, dtype=np.int64)
        if (others < 0).any():
            raise InputError("its numbers at risk and of events contradict each other")
        counts = np.column_stack([others, events])
        columns = [OutputColumn("time", tuple(numbers["times"])), OutputColumn("event", (0, 1))]
        label = {"name": name, "kind": self.kind, "time": "time", "event": "event", "level": 1}
        return check_counts({**label, **numbers}, columns, counts, policy)

    def entries(self, name: str, fields: OutputDomain) -> Iterator[list[dict[str, Any]]]:
        """Give an entry for each stratum."""
        if self.unresolved_reason:
            raise InputError(self.unresolved_reason)
        if self.variable is None or self.event is None:
            raise InputError(f"it does not say its columns of times and events: {_SAY}")
        self.check_columns(
            fields, (self.variable, self.event, *self.by), _SAY.removeprefix("write ")
        )
        label = {"kind": self.kind, "time": self.variable, "event": self.event, "level": self.level}
        entries = []
        for stratum, cells in self._strata().items():
            levels = dict(zip(self.by, stratum, strict=True))
            conditions = [f"({self.where})"] if self.where and levels else [self.where or ""]
            conditions += [
                f"{column} == {level if fields[column].numeric else repr(level)}"
                for column, level in levels.items()
            ]
            about = {**label, "where": " and ".join(filter(None, conditions)) or None}
            title = ", ".join(f"{column}={level}" for column, level in levels.items())
            head = {"name": f"{name}: {title}" if title else name, **without_none(about)}
            since = {"events_counted": "since"} if self._counts_since(cells) else {}
            entries.append({**head, **since, **self._numbers_of(cells)})
        yield entries

    def _strata(self) -> dict[Cell, list[Cell]]:
        """The cells of each stratum, by time."""
        strata: dict[Cell, list[Cell]] = {}
        for cell in self.groups:
            strata.setdefault(cell[:-1], []).append(cell)
        return strata

    def _numbers_of(self, cells: Sequence[Cell]) -> dict[str, list[Any]]:
        """Times and numbers of a stratum, as entries have them."""
        times = [float(cell[-1]) for cell in cells]
        numbers: dict[str, list[Any]] = {
            "times": [int(time) if time.is_integer() else time for time in times]
        }
        for key, texts in self.numbers.items():
            column = [texts[cell] for cell in cells]
            numbers[key] = column if key == "survival" else [parse_count(text) for text in column]
        return numbers

    def _counts_since(self, cells: Sequence[Cell]) -> bool:
        """Whether events are those since the time before: survival is no product of 1 - events / at risk over the times that are printed."""
        if set(self.numbers) != {"at_risk", "events", "survival"}:
            return False
        at_risk, events = (
            [parse_count(self.numbers[key][cell]) for cell in cells]
            for key in ("at_risk", "events")
        )
        survival = np.cumprod(1.0 - np.array(events) / np.maximum(at_risk, 1))
        texts = [self.numbers["survival"][cell] for cell in cells]
        steps = [10.0 ** -len(text.partition(".")[2]) for text in texts]
        return any(
            abs(share - float(text)) > 0.51 * step + 1e-12
            for share, text, step in zip(survival, texts, steps, strict=True)
        )


def is_survival_table(grid: PrintedGrid) -> bool:
    """Return whether a table has times in its rows, and numbers at risk or survival by the name that a program gives these."""
    names = {_COLUMNS.get(name.lower()) for name in grid.columns}
    row_name = (grid.row_names[0] or "").lower()
    is_counted = {"at_risk", "events"} <= names
    return row_name in _TIMES and (is_counted or (row_name == "timeline" and "survival" in names))


def parse_survival(
    grid: PrintedGrid, annotation: Annotation, formula: str | None = None, reason: str = ""
) -> ParsedSurvival:
    """Return a table with a row for each time, of each stratum where its last column, `strata`, names these; the formula is R's."""
    sign = decimal_sign(grid.all_cells, annotation, "a Kaplan-Meier table.", fallback=".")
    names = [_COLUMNS.get(name.lower(), name.lower()) for name in grid.columns]
    numbers: dict[str, dict[Cell, str]] = {}
    by: tuple[str, ...] = ()
    for time, row in zip(grid.rows, grid.cells, strict=True):
        cells = dict(zip(names, row, strict=True))
        line = row[0].position.line
        strata = [
            _STRATUM.fullmatch(stratum) for stratum in cells.get("strata", "").split(",") if stratum
        ]
        levels = {match[1]: match[2] for match in strata if match}
        if len(levels) < len(strata) or (numbers and tuple(levels) != by):
            raise LineError(line, "a stratum must be called by a column and its level.")
        by = tuple(levels)
        clock = number_text(time, sign)
        if clock is None:
            raise LineError(line, "a time is no number.")
        if float(clock) == 0.0 and cells.get("events", "0") in ("0", "0.0"):
            continue  # where all begin
        texts = {key: number_text(cells[key], sign) for key in _NUMBERS if key in cells}
        for key, number in texts.items():
            if number is None:
                raise LineError(line, "a cell of the Kaplan-Meier table is no number.")
            numbers.setdefault(key, {})[*levels.values(), clock] = number
    label, _, _ = (annotation.formula or formula or "").partition("~")
    surv = survival_label(label.strip())
    groups = tuple(next(iter(numbers.values()), {}))
    is_even = all(tuple(cells) == groups for cells in numbers.values())
    check_lines(
        (
            not numbers,
            grid.lines[0],
            "the Kaplan-Meier table has no times: the file is cut.",
        ),
        (
            not is_even or len(groups) < len(grid.rows) - 1,
            grid.lines[0],
            "two rows of the Kaplan-Meier table are of the same time.",
        ),
    )
    unread = "" if surv else f"its label is written in words that are not read: {_SAY}"
    return ParsedSurvival(
        surv.time if surv else None,
        tuple(annotation.columns.get(column, column) for column in by),
        groups,
        numbers,
        annotation.where,
        event=surv.event if surv else None,
        level=surv.level if surv else None,
        unresolved_reason=reason or (unread if label.strip() else ""),
    )
