"""Kaplan-Meier tables: numbers at risk and events at times, as counts; survival as a function of such counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import (
    CrossClassification,
    Step,
    cell_names,
    cross_classify,
    record_groups,
    scalar_code,
    sums_by_cell,
)
from ..domain import OutputDomain, Scalar
from ..equations import Output, SumSystem
from ..numbers import UNSAID, Interval
from ..rules.cell_counts import COUNT, CellCounter, CellCounts
from ..rules.evidence import Counts, SurvivalTable
from .base import (
    KINDS,
    Column,
    Columns,
    Estimates,
    GroupOfRecords,
    Kind,
    NumberBlock,
    Sample,
    Statistic,
    by_code,
    cell_label,
    groups_of,
    only,
)
from .table import Counted

MOST_TIMES = 600


class KaplanMeierSpec(Counted):
    """A Kaplan-Meier table, for all records or for groups (one list of numbers for each).

    At each time: how many records have that time or a later one, how many have the event at that very time, and the product of
    1 - events / at risk over all times up to it. `complete`: there are no events at other times. `events_counted = "since"`: events are those after
    the time before, up to and including this one, as R prints them where times are asked for (`summary(fit, times = ...)`); before the first, all.
    """

    MUST_ANNOUNCE: ClassVar[str] = "at_risk = true, events = true or survival = true"

    kind: Literal["kaplan-meier"] = "kaplan-meier"
    time: Column
    event: Column
    level: Scalar | None = None
    times: Annotated[list[float], Key(min_length=1)]
    at_risk: Annotated[list[Any] | None, Statistic()] = None
    events: Annotated[list[Any] | None, Statistic()] = None
    survival: Annotated[list[Any] | None, Statistic()] = None
    complete: bool = True
    events_counted: Literal["at", "since"] = "at"
    by: Columns = Key(default_factory=list)
    groups: dict[str, Any] = Key(default_factory=dict)

    def lists(self, key: str, domain: OutputDomain) -> list[list[Any]] | None:
        """Return one list of numbers for each group: `at_risk`, `events` or `survival`; None if not published."""
        printed = getattr(self, key)
        if printed is None:
            return None
        n_groups = self.crossing(domain).size
        rows = printed
        for _ in range(len(self.by) - 1):
            rows = [inner for row in rows for inner in (row if isinstance(row, list) else [row])]
        rows = rows if self.by else [printed]
        if len(rows) != n_groups or any(
            not isinstance(row, list) or len(row) != len(self.times) for row in rows
        ):
            shape = f"{n_groups} lists of {len(self.times)}" if self.by else str(len(self.times))
            raise self.fault(f": {key} must have {shape} numbers, one for each time.")
        return rows

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return tables of counts at risk and of events, and a system for survival, for each group."""
        cells = self.crossing(domain)
        cross_classify(
            [self.time, self.event, *self.by], {}, domain, output=self.name
        )  # three different columns
        times = self._times()
        at_risk, events, survival = (self.lists(key, domain) for key in self.statistics)
        if at_risk is None and events is None and survival is None:
            raise self.fault(" must have at_risk, events or survival.")
        yes, equations = self._happened(domain), list[Output]()
        names = [
            f"{self.name}: group {k + 1}, " if self.by else f"{self.name}: "
            for k in range(cells.size)
        ]
        groups = groups_of(names, domain, domain.position(self.time), cells, self.filter(domain))
        for number, group in enumerate(groups):
            if at_risk is not None:
                equations += self._risk(group, times, at_risk[number])
            if events is not None:
                equations.append(self._events(group, times, yes, events[number]))
            if survival is not None:
                equations += self._survival(group, times, yes, survival[number])
        return (*equations, *self.n_equations(domain))

    def _times(self) -> Floats:
        times = np.array(self.times, dtype=float)
        if (np.diff(times) <= 0).any():
            raise self.fault(": its times must rise.")
        return times

    def _happened(self, domain: OutputDomain) -> Step:
        """The column of events, with the level that says yes as its only group."""
        field, position = domain[self.event], domain.position(self.event)
        code = scalar_code(field, self.level, output=self.name, key="level")
        return position, only(np.arange(len(field.levels)), code)

    def _risk(self, group: GroupOfRecords, times: Floats, printed: list[Any]) -> list[Output]:
        n_rows, name, values = group.domain.n_rows, f"{group.name}at risk", group.values
        lo, hi = self.bounds(printed, n_rows)
        # Exact numbers as one table of differences: n unknown before the first time, so any count there.
        if (lo == hi).all():
            if (np.diff(lo) > 0).any():
                raise self.fault(": the numbers at risk must not rise with time.")
            between = [*(lo[:-1] - lo[1:]), lo[-1]]
            time_index = np.searchsorted(times, values, side="right")
            return [self._cut(group, name, time_index, [0, *between], [n_rows, *between])]
        return [
            self._cut(
                group, f"{name} at {t:g}", (values >= t).astype(int), [0, lo[k]], [n_rows, hi[k]]
            )
            for k, t in enumerate(times)
        ]

    def _cut(
        self,
        group: GroupOfRecords,
        name: str,
        part_codes: NDArray[Any],
        lo: list[Any],
        hi: list[Any],
        *more: Step,
    ) -> Output:
        fault = f"Output '{self.name}' counts records at times beyond the values of column '{self.time}'."
        return group.cut(name, part_codes, lo, hi, more=more, fault=fault)

    def _events(
        self, group: GroupOfRecords, times: Floats, yes: Step, printed: list[Any]
    ) -> Output:
        rows = group.domain.n_rows
        lo, hi = (bound.tolist() for bound in self.bounds(printed, rows))
        time_index = self._event_times(group.values, times)
        time_index = np.where(time_index < 0, len(times), time_index)
        other = 0 if self.complete and self.events_counted == "at" else rows
        return self._cut(group, f"{group.name}events", time_index, [*lo, 0], [*hi, other], yes)

    def _event_times(self, values: Floats, times: Floats) -> NDArray[np.int64]:
        """Of each value of the time, at which of the published times an event is counted; -1 for none."""
        time_index = np.searchsorted(times, values, side="left")
        counted = (
            time_index < len(times) if self.events_counted == "since" else np.isin(values, times)
        )
        return np.where(counted, time_index, -1).astype(np.int64)

    def _survival(
        self, group: GroupOfRecords, times: Floats, yes: Step, printed: list[Any]
    ) -> list[Output]:
        intervals: dict[int, Interval] = {
            k: self.printed(number, "survival")
            for k, number in enumerate(printed)
            if number not in UNSAID
        }
        if not intervals:
            return []
        if any(interval.lo > 1 or interval.hi < 0 for interval in intervals.values()):
            raise self.fault(": survival must lie between 0 and 1.")
        # Times after the last published one say nothing apart from being later: one group.
        values, steps = group.values, group.steps
        last = int(np.searchsorted(values, times[max(intervals)], side="right"))
        time_index = np.minimum(np.arange(len(values)), last)
        size = int(time_index.max()) + 1
        if size > MOST_TIMES:
            raise self.fault(
                f": survival over more than {MOST_TIMES} times is not supported. Use a coarser grid."
            )
        names = (tuple(map(str, range(size))), *(("0",) for _ in steps))
        cells = CrossClassification(((group.position, time_index.astype(np.int64)), *steps), names)
        terms = sums_by_cell(group.domain, cells, [by_code((yes[0], (yes[1] == 0).astype(float)))])
        reading = Survival(
            [int(np.searchsorted(values, times[k], side="right")) for k in intervals]
        )
        lo, hi = np.clip(np.array(list(intervals.values())), 0.0, 1.0).T
        name = f"{group.name}survival"
        return [
            SumSystem(name, 2 * size, (terms,), lo, hi, keep=group.within.keep(), reported=reading)
        ]

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the numbers of each list, group by group, called such as "m at risk at 20"."""
        cells = self.crossing(domain)
        shape, counts = (*cells.shape, len(self.times)), False
        for key in filter(self.publishes, self.statistics):
            rows, word = self.lists(key, domain), key.replace("_", " ")
            numbers = [number for row in rows or () for number in row]
            names = [
                f"{name} {word} at {t:g}".strip() for name in cell_names(cells) for t in self.times
            ]
            if key == "survival":
                yield NumberBlock(
                    key, names, numbers, "number", shape, key, placeholder=1.0, may_vanish=counts
                )
            else:
                counts = True
                yield NumberBlock(key, names, numbers, "count", shape)

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return, group by group, how many are at risk and have events, and the product of 1 - events / at risk."""
        domain, codes = sample.domain, sample.inside
        values, time = domain[self.time].values, codes[:, domain.position(self.time)]
        position, yes = self._happened(domain)
        event = yes[codes[:, position]] == 0
        times = np.array(self.times, dtype=float)
        from_time, after = (
            np.searchsorted(values, times, side="left"),
            np.searchsorted(values, times, side="right"),
        )
        sizes, numbers = list[int](), {key: list[Any]() for key in self.statistics}
        for rows in record_groups(self.crossing(sample.domain), codes):
            died = np.bincount(time[rows][event[rows]], minlength=len(values))
            seen = np.bincount(time[rows], minlength=len(values))
            risk = np.append(len(rows) - np.cumsum(seen) + seen, 0)
            surviving = np.append(1.0, np.cumprod(1.0 - died / np.maximum(risk[:-1], 1)))
            sizes.append(len(rows))
            numbers["at_risk"] += risk[from_time].tolist()
            before = (
                np.concatenate([[0], after[:-1]]) if self.events_counted == "since" else from_time
            )
            until = np.append(0, np.cumsum(died))
            numbers["events"] += (until[after] - until[before]).tolist()
            numbers["survival"] += surviving[after].tolist()
        n = np.repeat(sizes, len(times))
        survival = np.where(n > 0, numbers.pop("survival"), np.nan)
        return {
            **{key: Estimates(counts) for key, counts in numbers.items()},
            "survival": Estimates(survival, 0.5 / np.sqrt(np.maximum(n, 1)), n),
        }

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return which group has no records."""
        return (
            f"{cell_label(self.crossing(sample.domain), index // len(self.times))} has no records"
        )

    def other_reading(self, sample: Sample) -> str:
        """Return that events are those since the time before, where these records give them so and not at the very times."""
        other = self.changed(events_counted="since" if self.events_counted == "at" else "at")
        if self.events is None or not all(number.within() for number in other.recomputed(sample)):
            return ""
        meaning = (
            "since the time before, as R prints them"
            if self.events_counted == "at"
            else "at the very times"
        )
        return f'Its events are those {meaning}. Say so: events_counted = "{other.events_counted}".'

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether survival rises."""
        for curve in self.lists("survival", domain) or []:
            shown = [self.printed(chance, "survival") for chance in curve if chance not in UNSAID]
            if any(later.lo > earlier.hi for earlier, later in pairwise(shown)):
                return "its survival rises with time"
        return None

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the people who leave between times, those with an event at one, and n."""
        cells, domain, times = self.crossing(counter.domain), counter.domain, self._times()
        time = domain.position(self.time)
        values, names = domain.columns[time].values, tuple(f"from {t:g}" for t in times)
        group = np.searchsorted(times, values, side="right") - 1
        between = CrossClassification(
            (*cells.steps, (time, group.astype(np.int64))), (*cells.names, names)
        )
        tallies = [
            counter.tally("times", between, quantities=[COUNT] if self.publishes("at_risk") else [])
        ]
        if self.publishes("events"):
            called = (
                tuple(f"up to {t:g}" for t in times) if self.events_counted == "since" else names
            )
            time_index = self._event_times(values, times)
            events = CrossClassification(
                (*cells.steps, (time, time_index), self._happened(domain)),
                (*cells.names, called, ("",)),
            )
            tallies.append(counter.counts("events", events, None))
        return [*tallies, *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, and the numbers at risk and events."""
        time, n = (
            counter.domain.position(self.time),
            [tally for tally in tallies if tally.part_name == "n"],
        )
        yield Counts(n, self.unit_noun)
        yield SurvivalTable(tallies, time, self.threshold or 0, self.base, counter)


class Survival:
    """Kaplan-Meier survival out of the counts of records and events at each time, with derivatives: complex steps are 400 times slower at 300 times.

    `ends` are, for each published number, how many of the times, from the first, its product runs over.
    """

    def __init__(self, ends: list[int]) -> None:
        self.ends = ends

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return survival, and its derivatives by (records, events) of each time."""
        records, events = sums[0::2], sums[1::2]
        risk = np.maximum(np.cumsum(records[::-1])[::-1], 1.0)
        events = np.clip(events, 0.0, risk)
        factors = np.maximum(1.0 - events / risk, 1e-9)
        steps = np.concatenate([[0.0], np.cumsum(np.log(factors))])
        values, slope = np.zeros(len(self.ends)), np.zeros((len(self.ends), len(sums)))
        for row, end in enumerate(self.ends):
            values[row] = product = float(np.prod(1.0 - events[:end] / risk[:end]))
            product = max(product, float(np.exp(steps[end])))
            by_risk = np.zeros(len(risk))
            by_risk[:end] = product * events[:end] / (risk[:end] ** 2 * factors[:end])
            slope[row, 0::2] = np.cumsum(
                by_risk
            )  # a record at a time is at risk at all times up to it
            slope[row, 1::2][:end] = -product / (risk[:end] * factors[:end])
        return values, slope


KINDS.register(
    Kind(
        "kaplan-meier",
        KaplanMeierSpec,
        "HazardSurvivalTables",
        "a Kaplan-Meier table: at risk, events and survival",
    )
)
