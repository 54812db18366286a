"""Kaplan-Meier tables: numbers at risk and events at times, as counts; survival as a function of such counts."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.errors import InputError
from ..columns import Floats
from ..equations import Output, SumSystem
from ..fields import Scalar
from ..precision import Interval
from ..where import Filter
from .base import Cells, Frame, Step, crossed, scalar_code, sums_by_cell, table_of_counts
from .tables import Counted

__all__ = ["KaplanMeierSpec", "Survival"]

MOST_TIMES = 600


class KaplanMeierSpec(Counted):
    """A Kaplan-Meier table, for all records or for groups.

    Parameters
    ----------
    time
        The column of times: until the event, or until the record was last seen.
    event, level
        The column that says whether the event happened, and the level that says yes (the second of two if absent).
    times
        The times of the table.
    at_risk
        At each, how many records have that time or a later one.
    events
        At each, how many records have the event at that very time.
    survival
        At each, the product of 1 - events / at risk over all times up to it.
    complete
        Whether the table lists every time at which an event happened, so that there are none at others: True unless it is said.
    by, groups
        Columns that make groups; the lists are then nested: one list of numbers for each group.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("kaplan-meier",)

    kind: Literal["kaplan-meier"] = "kaplan-meier"
    time: str
    event: str
    level: Scalar | None = None
    times: Annotated[list[float], Key(min_length=1)]
    at_risk: list[Any] | None = None
    events: list[Any] | None = None
    survival: list[Any] | None = None
    complete: bool = True
    by: list[str] = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Time, event, and the columns that make groups."""
        return (self.time, self.event, *self.by)

    def lists(self, key: str, frame: Frame) -> list[list[Any]] | None:
        """Return one list of numbers for each group: `at_risk`, `events` or `survival`; None if not published."""
        given = getattr(self, key)
        if given is None:
            return None
        n_groups = crossed(self.by, self.groups, frame.fields, output=self.name).size
        rows = given
        for _ in range(len(self.by) - 1):
            rows = [inner for row in rows for inner in (row if isinstance(row, list) else [row])]
        rows = rows if self.by else [given]
        if len(rows) != n_groups or any(not isinstance(row, list) or len(row) != len(self.times) for row in rows):
            shape = f"{n_groups} lists of {len(self.times)}" if self.by else str(len(self.times))
            raise InputError(f"Output '{self.name}': {key} must have {shape} numbers, one for each time.")
        return rows

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return tables of counts at risk and of events, and a system for survival, for each group."""
        fields = frame.fields
        cells = crossed(self.by, self.groups, fields, output=self.name)
        crossed([self.time, self.event, *self.by], {}, fields, output=self.name)  # three different columns
        time, event = fields.position(self.time), fields.position(self.event)
        values = fields.every[time].values
        times = np.array(self.times, dtype=float)
        if (np.diff(times) <= 0).any():
            raise InputError(f"Output '{self.name}': its times must rise.")
        happened = scalar_code(fields.every[event], self.level, output=self.name, key="level")
        kept, made = self.filter(frame), list[Output]()
        at_risk, events, survival = (self.lists(key, frame) for key in ("at_risk", "events", "survival"))
        if at_risk is None and events is None and survival is None:
            raise InputError(f"Output '{self.name}' must have at_risk, events or survival.")
        for group in range(cells.size):
            place = np.unravel_index(group, cells.shape) if cells.shape else ()
            steps: list[Step] = [
                (position, np.where(of == int(k), 0, -1).astype(np.int64))
                for (position, of), k in zip(cells.steps, place, strict=True)
            ]
            name = f"{self.name}: group {group + 1}, " if self.by else f"{self.name}: "
            if at_risk is not None:
                made += self._risk(f"{name}at risk", frame, (time, values, times), at_risk[group], steps, kept)
            if events is not None:
                made.append(
                    self._events(
                        f"{name}events", frame, (time, values, times), event, happened, events[group], steps, kept
                    )
                )
            if survival is not None:
                made += self._survival(
                    f"{name}survival", frame, (time, values, times), event, happened, survival[group], steps, kept
                )
        return (*made, *self.n_equations(frame))

    def _risk(
        self, name: str, frame: Frame, at: tuple[int, Floats, Floats], given: list[Any], steps: list[Step], kept: Filter
    ) -> list[Output]:
        time, values, times = at
        lo, hi = self.bounds(np.array([*given, None], dtype=object)[:-1], frame.rows)
        # Exact numbers as one table of differences: n unknown before the first time, so any count there.
        if (lo == hi).all():
            if (np.diff(lo) > 0).any():
                raise InputError(f"Output '{self.name}': the numbers at risk must not rise with time.")
            group = np.searchsorted(times, values, side="right")
            between = [*(lo[:-1] - lo[1:]), lo[-1]]
            return [self._split(name, frame, (time, group), [0, *between], [frame.rows, *between], steps, kept)]
        return [
            self._split(
                f"{name} at {t:g}",
                frame,
                (time, (values >= t).astype(int)),
                [0, lo[k]],
                [frame.rows, hi[k]],
                steps,
                kept,
            )
            for k, t in enumerate(times)
        ]

    def _split(
        self,
        name: str,
        frame: Frame,
        step: tuple[int, Any],
        lo: list[Any],
        hi: list[Any],
        steps: list[Step],
        kept: Filter,
    ) -> Output:
        present = np.unique(step[1])
        if any(lo[k] > 0 for k in range(len(lo)) if k not in present):
            raise InputError(f"Output '{self.name}' counts records at times beyond the values of column '{self.time}'.")
        group = np.searchsorted(present, step[1]).astype(np.int64)
        low, high = (np.array([bound[k] for k in present]) for bound in (lo, hi))
        return table_of_counts(name, frame, [(step[0], group), *steps], kept, low, high)

    def _events(
        self, name: str, frame: Frame, at: tuple[int, Floats, Floats], event: int, happened: int, given: list[Any],
        steps: list[Step], kept: Filter,
    ) -> Output:  # fmt: skip
        time, values, times = at
        lo, hi = (bound.tolist() for bound in self.bounds(np.array([*given, None], dtype=object)[:-1], frame.rows))
        group = np.full(len(values), len(times), dtype=np.int64)
        for k, t in enumerate(times):
            group[values == t] = k
        other = 0 if self.complete else frame.rows
        yes = np.where(np.arange(frame.fields.columns.sizes[event]) == happened, 0, -1).astype(np.int64)
        return self._split(name, frame, (time, group), [*lo, 0], [*hi, other], [(event, yes), *steps], kept)

    def _survival(
        self, name: str, frame: Frame, at: tuple[int, Floats, Floats], event: int, happened: int, given: list[Any],
        steps: list[Step], kept: Filter,
    ) -> list[Output]:  # fmt: skip
        time, values, times = at
        found: dict[int, Interval] = {
            k: self.printed(number, "survival")
            for k, number in enumerate(given)
            if number not in (None, "", "x", "*", "?")
        }
        if not found:
            return []
        if any(interval.lo > 1 or interval.hi < 0 for interval in found.values()):
            raise InputError(f"Output '{self.name}': survival must lie between 0 and 1.")
        # Times after the last published one say nothing apart from being later: one group.
        group = np.minimum(np.arange(len(values)), int(np.searchsorted(values, times[max(found)], side="right")))
        size = int(group.max()) + 1
        if size > MOST_TIMES:
            raise InputError(
                f"Output '{self.name}': survival over more than {MOST_TIMES} times is not supported. Use a coarser grid."
            )
        cells = Cells(
            ((time, group.astype(np.int64)), *steps), (tuple(map(str, range(size))), *(("0",) for _ in steps))
        )
        yes = (np.arange(frame.fields.columns.sizes[event]) == happened).astype(float)
        terms = sums_by_cell(frame, cells, [((event,), partial(_taken, yes, event))])
        ends = [int(np.searchsorted(values, times[k], side="right")) for k in found]
        bounds = np.clip(np.array(list(found.values())), 0.0, 1.0)
        return [
            SumSystem(name, 2 * size, (terms,), bounds[:, 0], bounds[:, 1], keep=kept.keep(), reported=Survival(ends))
        ]


def _taken(numbers: Floats, position: int, grid: dict[int, NDArray[np.intp]]) -> Floats:
    return numbers[grid[position]]


class Survival:
    """Kaplan-Meier survival out of the counts of records and events at each time, with derivatives.

    Parameters
    ----------
    ends
        For each published number how many of the times, from the first, its product runs over.
    """

    def __init__(self, ends: list[int]) -> None:
        self.ends = ends

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return survival, and its derivatives by (records, events) of each time."""
        records, events = sums[0::2], sums[1::2]
        risk = np.maximum(np.cumsum(records[::-1])[::-1], 1.0)
        events = np.clip(events, 0.0, risk)
        left = np.maximum(1.0 - events / risk, 1e-9)
        steps = np.concatenate([[0.0], np.cumsum(np.log(left))])
        values, slope = np.zeros(len(self.ends)), np.zeros((len(self.ends), len(sums)))
        for row, end in enumerate(self.ends):
            values[row] = product = float(np.prod(1.0 - events[:end] / risk[:end]))
            product = max(product, float(np.exp(steps[end])))
            by_risk = np.zeros(len(risk))
            by_risk[:end] = product * events[:end] / (risk[:end] ** 2 * left[:end])
            slope[row, 0::2] = np.cumsum(by_risk)  # a record at a time is at risk at all times up to it
            slope[row, 1::2][:end] = -product / (risk[:end] * left[:end])
        return values, slope
