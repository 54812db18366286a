"""Rules on counts of people: small cells, zeros, groups all of whose people are in one cell, steps of survival tables, degrees of freedom.

Who is counted may differ: households whose members count as one, and weighted counts, from which people cannot be read off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.errors import InputError
from ..cells import Crossing, Frame
from ..domain import Codes, Ints, Mask
from .cell_counts import CellCounter, CellCounts
from .findings import RuleFinding, Status, finding, not_assessed, some
from .policy import Policy

if TYPE_CHECKING:
    from ..kinds.base import OutputSpec

HOUSEHOLDS = "threshold of households"
WEIGHTED = "weighted counts"


def _named(parts: Sequence[tuple[CellCounts, Mask]]) -> list[str]:
    """The names of cells, with the part's for those that are not the output's cells proper."""
    named: list[str] = []
    for one, bad in parts:
        plain = one.part == "cells" or not one.shape
        named += [
            name if plain or name == one.part else f"{one.part}: {name}" for name in one.named(bad)
        ]
    return named


def threshold(tallies: Sequence[CellCounts], policy: Policy) -> list[RuleFinding]:
    """Return whether a number that is shown has 1 to threshold - 1 people behind it: in cells, margins, totals and n; nothing without tallies.

    Counts that are rounded to a base below the threshold are for a person to look at; with a base of the threshold or more a small count
    cannot be told from one that is not.
    """
    from ..kinds import KINDS

    shown, least = [one for one in tallies if not one.implied], policy.threshold
    if not shown:
        return []
    small = [(one, (one.counts > 0) & (one.counts < least) & ~one.withheld) for one in shown]
    of, noun = sum(int(one.is_shown.sum()) for one in shown), KINDS[shown[0].kind].spec.NOUN
    exact = _named([pair for pair in small if pair[0].base == 1])
    rounded = _named([pair for pair in small if 1 < pair[0].base < least])
    good = f"No {noun} that is shown has between 1 and {least - 1} people behind it."
    words = "Fewer than {} people are behind {} (totals and n counted too).{}".format
    bad = words(least, some(len(exact), of, noun), "")
    findings = [shown[0].finding("threshold", exact, of=of, good=good, bad=bad)]
    if rounded:
        bad = words(
            least, some(len(rounded), of, noun), " Their counts are rounded, to a base below that."
        )
        findings.append(
            shown[0].finding("threshold", rounded, of=of, good=good, bad=bad, status="review")
        )
    return findings


def zeros(tallies: Sequence[CellCounts], policy: Policy) -> list[RuleFinding]:
    """Return whether a cell that could have people is shown to have none.

    Cells to which the filter or the groups leave no level are no such cells. A zero that is rounded, or withheld, is not shown.
    """
    shown = [one for one in tallies if not one.implied and one.base == 1]
    if not policy.zeros_are_disclosive or not shown:
        return []
    where = _named([(one, (one.counts == 0) & one.is_shown) for one in shown])
    of = sum(int(one.is_shown.sum()) for one in shown)
    bad = f"{some(len(where), of)} could have people and {'shows' if len(where) == 1 else 'show'} none: that says something of everyone."
    good = "No cell that could have people shows none."
    return [shown[0].finding("zeros", where, of=of, good=good, bad=bad[0].upper() + bad[1:])]


def class_disclosure(tallies: Sequence[CellCounts], policy: Policy) -> list[RuleFinding]:
    """Return whether one cell of a row or column (a line of any direction) holds all its people: who is in the line is in the cell."""
    shown = [
        one
        for one in tallies
        if not one.implied and one.base == 1 and max(one.shape, default=1) > 1
    ]
    if not shown:
        return []
    full: list[tuple[CellCounts, Mask]] = []
    of = 0
    for one in shown:
        holds = np.zeros(one.size, dtype=bool)
        for line in one.lines():
            several = one.possible[line].sum(axis=1) > 1
            alone = (
                ((one.counts[line] > 0).sum(axis=1) == 1)
                & several
                & ~one.withheld[line].any(axis=1)
            )
            holds[line[alone, one.counts[line[alone]].argmax(axis=1)]] = True
            of += int((several & (one.counts[line].sum(axis=1) > 0)).sum())
        full.append((one, holds))
    where, good = _named(full), "In no row or column are all people in one cell."
    bad = f"{len(where)} cell{'' if len(where) == 1 else 's'} of the table: everyone in the row or column is in that one cell."
    return [shown[0].finding("class disclosure", where, of=of, good=good, bad=bad, status="review")]


def table_rules(tallies: Sequence[CellCounts], policy: Policy) -> list[RuleFinding]:
    """Return what the rules on tables of counts say."""
    return [
        *threshold(tallies, policy),
        *zeros(tallies, policy),
        *class_disclosure(tallies, policy),
    ]


def degrees_of_freedom(name: str, kind: str, dof: int, policy: Policy) -> RuleFinding:
    """Return whether a fit has enough residual degrees of freedom."""
    where, least = ["n less parameters"] if dof < policy.residual_dof else [], policy.residual_dof
    good = f"There are at least {least} residual degrees of freedom."
    bad = f"There are fewer than {least} residual degrees of freedom."
    return finding(name, kind, "residual degrees of freedom", where, of=1, good=good, bad=bad)


def survival_steps(
    tallies: Sequence[CellCounts],
    time: int,
    withheld: int,
    base: int,
    counter: CellCounter,
    policy: Policy,
) -> RuleFinding:
    """Return whether few people leave between two times that are shown, have the event at one, or are at risk at the end.

    Those who leave are the differences of the numbers at risk, events and censored together, as ACRO counts them; those before the first time
    count too. A difference of none is not small. Numbers at risk below `withheld`, the output's own threshold, do not count as shown.
    """
    least = policy.survival_threshold
    times = next(one for one in tallies if one.part == "times")
    axis = next(k for k, (position, _) in enumerate(times.steps) if position == time)
    names = times.names[axis]
    left = np.moveaxis(times.counts.reshape(times.shape), axis, -1).reshape(-1, len(names))
    at_risk = left[:, ::-1].cumsum(axis=1)[:, ::-1]
    groups = _group_sizes(times, axis, counter)
    where, of = list[str](), 0
    for group, risk in enumerate(at_risk):
        counts = [
            (name, int(count))
            for name, count in zip(names, risk, strict=True)
            if count == 0 or count >= withheld
        ]
        shown = [(f"before {names[0].removeprefix('from ')}", int(groups[group])), *counts]
        steps = [(name, more - fewer) for (name, more), (_, fewer) in pairwise(shown)]
        steps.append((f"at risk {shown[-1][0]}", shown[-1][1]))
        of += len(steps)
        head = f"group {group + 1}, " if len(at_risk) > 1 else ""
        where += [f"{head}{name}" for name, count in steps if 0 < count < least]
    for one in tallies:
        if one.part == "events" and one.base == 1:
            where += [
                f"events {name}"
                for name in one.named((one.counts > 0) & (one.counts < least) & ~one.withheld)
            ]
            of += int(one.is_shown.sum())
    good = f"Between 1 and {least - 1} people leave at no step, and are at risk at no end."
    bad = f"Fewer than {least} people leave, have the event or are left at {some(len(where), of, 'step')}."
    status: Status = "fail" if base == 1 else "review"
    return times.finding("survival steps", where, of=of, good=good, bad=bad, status=status)


def _group_sizes(times: CellCounts, axis: int, counter: CellCounter) -> Ints:
    """The number of people of each group of a survival table, those before its first time too, as far as the filter lets them in."""
    others = [k for k in range(len(times.steps)) if k != axis]
    time = times.steps[axis][0]
    kept = np.where(counter.filter.levels(time), 0, -1).astype(np.int64)
    groups = Crossing(
        (*(times.steps[k] for k in others), (time, kept)),
        (*(times.names[k] for k in others), ("",)),
    )
    return counter.counted(
        groups, tuple((columns, mask) for columns, mask in counter.filter.masks if len(columns) > 1)
    )[1]


def households(
    output: OutputSpec, tallies: Sequence[CellCounts], frame: Frame, codes: Codes, policy: Policy
) -> list[RuleFinding]:
    """Return whether a cell that is shown has 1 to threshold - 1 households behind it, where the policy names their column; else nothing.

    Members of a household know each other: a cell of twelve people from two of them is a cell of two.
    """
    if policy.household is None:
        return []
    if policy.household not in frame.fields.names:
        bad = (
            f"The policy counts households by column '{policy.household}', which is none of the columns of these outputs: describe it with them, "
            "so that households are counted."
        )
        return [not_assessed(output.name, output.kind, HOUSEHOLDS, bad)]
    unit = codes[:, frame.fields.position(policy.household)].astype(np.int64)
    unit = np.where(
        unit < 0, int(unit.max(initial=0)) + 1, unit
    )  # people whose household is missing may be of one
    width, least, where, of = int(unit.max(initial=0)) + 1, policy.threshold, list[str](), 0
    for tally in tallies:
        if tally.implied:
            continue
        inside = tally.labels >= 0
        pairs = np.unique(tally.labels[inside] * width + unit[inside])
        units = np.bincount(pairs // width, minlength=tally.size)
        where += [
            f"{tally.part}: {name}"
            for name in tally.named((units > 0) & (units < least) & tally.is_shown)
        ]
        of += int(tally.is_shown.sum())
    good = f"No cell that is shown has between 1 and {least - 1} households behind it."
    bad = f"Fewer than {least} households are behind {some(len(where), of)} (totals and n counted too)."
    return [finding(output.name, output.kind, HOUSEHOLDS, where, of=of, good=good, bad=bad)]


def weighted_counts(output: OutputSpec, frame: Frame, policy: Policy) -> list[RuleFinding]:
    """Return whether published counts are weighted, as far as can be seen; nothing where they are not.

    They are where a count is not whole, where the cells of a table add up to more than there are records, or where what is summed up is the column that
    the policy names as the weight. The rules look at the records behind an output, one by one; of weighted numbers a checker needs the unweighted ones too.
    """
    why = ""
    if (
        getattr(output, "weight", None) is not None
    ):  # it says how it is weighted: rules were run on the records behind it
        return []
    if policy.weight is not None and policy.weight in output.columns:
        why = f"It sums up column '{policy.weight}', which the policy names as the weight"
    parts: list[Any] = []
    if output.has_numbers:
        with contextlib.suppress(
            InputError
        ):  # numbers that do not fit the records are a finding of their own
            parts = [part for part in output.printed_numbers(frame) if part.counted]
    numbers = [number for part in parts for number in _numbers(part.numbers)]
    if any(number != round(number) for number in numbers):
        why = "Its counts are not all whole numbers"
    elif any(number > frame.rows for number in numbers):
        why = "It counts more people than there are records"
    if not why:
        return []
    bad = f"{why}: they are weighted. Rules are run on records, each counted once; add the unweighted counts as an output of their own, so that they can be judged."
    return [not_assessed(output.name, output.kind, WEIGHTED, bad)]


def _numbers(printed: Iterable[Any]) -> list[float]:
    """Those that are numbers, as printed or in quotes."""
    numbers: list[float] = []
    for cell in printed:
        if isinstance(cell, str):
            try:
                numbers.append(float(cell.replace(",", "")))
            except ValueError:
                continue
        elif isinstance(cell, int | float) and not isinstance(cell, bool):
            numbers.append(float(cell))
    return [number for number in numbers if np.isfinite(number)]
