"""Rules on counts of people: small cells, zeros, points that are records, steps of survival tables.

Who is counted may differ: households whose members count as one, and weighted counts, from which people cannot be read off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.arrays import Ints, Mask
from ..._base.errors import InputError
from ..cells import CrossClassification
from .cell_counts import CellCounter, CellCounts
from .evidence import (
    RULES,
    Counts,
    CurveBands,
    EmptyCells,
    People,
    Points,
    PrintedOutput,
    RecordsBehind,
    Rule,
    RuleOutcome,
    SurvivalTable,
    TableCells,
)
from .findings import count_phrase
from .policy import Policy

if TYPE_CHECKING:
    from ..kinds.base import NumberBlock


def names_of_cells(parts: Sequence[tuple[CellCounts, Mask]]) -> list[str]:
    """Return the names of cells, with the part's for those that are not the output's cells proper."""
    names: list[str] = []
    for table, cells in parts:
        plain = table.part_name == "cells" or not table.shape
        names += [
            name if plain or name == table.part_name else f"{table.part_name}: {name}"
            for name in table.named(cells)
        ]
    return names


@RULES.register(
    Rule(
        "threshold", "Are fewer people than the threshold, but some, behind a number that is shown?"
    )
).looks_at(Counts, TableCells)
def _small_cells(piece: Counts, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether a number that is shown has 1 to threshold - 1 people behind it: in cells, margins, totals and n; nothing without tallies.

    Counts that are rounded to a base below the threshold are for a person to look at; with a base of the threshold or more a small count
    cannot be told from one that is not.
    """
    shown, threshold = [table for table in piece.cells if not table.implied], policy.threshold
    small = [
        (table, (table.counts < threshold) & (table.counts > 0) & ~table.withheld)
        for table in shown
    ]
    n_shown = sum(int(table.is_shown.sum()) for table in shown)
    exact = names_of_cells([pair for pair in small if pair[0].base == 1])
    rounded = names_of_cells([pair for pair in small if 1 < pair[0].base < threshold])
    clear_sentence = (
        f"No {piece.noun} that is shown has between 1 and {threshold - 1} people behind it."
    )
    phrase = "Fewer than {} people are behind {} (totals and n counted too).{}".format
    if shown:
        yield RuleOutcome(
            exact,
            n_shown,
            clear_sentence=clear_sentence,
            sentence=phrase(threshold, count_phrase(len(exact), n_shown, piece.noun), ""),
        )
    if rounded:
        which, rest = (
            count_phrase(len(rounded), n_shown, piece.noun),
            " Their counts are rounded, to a base below that.",
        )
        yield RuleOutcome(
            rounded,
            n_shown,
            clear_sentence=clear_sentence,
            sentence=phrase(threshold, which, rest),
            status="review",
        )


@_small_cells.looks_at(CurveBands)
def _small_bands(piece: CurveBands, policy: Policy) -> Iterator[RuleOutcome]:
    threshold, total = policy.threshold, len(piece.names)
    where = [name for name, n in zip(piece.names, piece.counts, strict=True) if n < threshold]
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"Between two points of the curve there are {threshold} people or more.",
        sentence=f"Fewer than {threshold} people lie between {count_phrase(len(where), total, 'pair')} of points: what they have together follows.",
    )


@_small_cells.looks_at(People)
def _few_people(piece: People, policy: Policy) -> Iterator[RuleOutcome]:
    yield RuleOutcome(
        ["n"] if 0 < piece.n < policy.threshold else [],
        1,
        clear_sentence=f"It is of {policy.threshold} people or more.",
        sentence=f"It is of fewer than {policy.threshold} people.",
    )


@RULES.register(
    Rule(
        "zeros",
        "Does a cell show that nobody is in it, though somebody could be?",
        ("zeros_are_disclosive",),
    )
).looks_at(TableCells, EmptyCells)
def _zeros(piece: Counts, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether a cell that could have people is shown to have none.

    Cells to which the filter or the groups leave no level are no such cells. A zero that is rounded, or withheld, is not shown.
    """
    shown = [table for table in piece.cells if not table.implied and table.base == 1]
    if policy.zeros_are_disclosive and shown:
        where = names_of_cells([(table, (table.counts == 0) & table.is_shown) for table in shown])
        n_shown = sum(int(table.is_shown.sum()) for table in shown)
        phrase = f"{count_phrase(len(where), n_shown)} could have people and {'shows' if len(where) == 1 else 'show'} none: that says something of everyone."
        yield RuleOutcome(
            where,
            n_shown,
            clear_sentence="No cell that could have people shows none.",
            sentence=phrase[0].upper() + phrase[1:],
        )


@RULES.register(
    Rule("records shown", "Is a point of a plot the record of few people, as it is?")
).looks_at(Points)
def _points(piece: Points, policy: Policy) -> Iterator[RuleOutcome]:
    threshold, total = policy.threshold, len(piece.names)
    where = [name for name, n in zip(piece.names, piece.counts, strict=True) if n < threshold]
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"Every point is {threshold} records or more.",
        sentence=f"{count_phrase(len(where), total, 'point').capitalize()} of the plot: records of fewer than {threshold} people, as they are. Draw counts of bins instead.",
    )


@RULES.register(
    Rule(
        "survival steps",
        "Do few people leave between two times, have the event at one, or stay at risk at the end?",
        ("survival_threshold",),
    )
).looks_at(SurvivalTable)
def _survival_steps(piece: SurvivalTable, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether few people leave between two times that are shown, have the event at one, or are at risk at the end.

    Those who leave are the differences of the numbers at risk, events and censored together, as ACRO counts them; those before the first time
    count too. A difference of none is not small. Numbers at risk below the output's own threshold do not count as shown.
    """
    threshold = policy.survival_threshold
    times = next(table for table in piece.tallies if table.part_name == "times")
    axis = next(k for k, (position, _) in enumerate(times.steps) if position == piece.time)
    names = times.names[axis]
    leaving = np.moveaxis(times.counts.reshape(times.shape), axis, -1).reshape(-1, len(names))
    at_risk = leaving[:, ::-1].cumsum(axis=1)[:, ::-1]
    groups = _group_sizes(times, axis, piece.counter)
    where, total = list[str](), 0
    for group, risk in enumerate(at_risk):
        counts = [
            (name, int(count))
            for name, count in zip(names, risk, strict=True)
            if count == 0 or count >= piece.withheld
        ]
        shown = [(f"before {names[0].removeprefix('from ')}", int(groups[group])), *counts]
        steps = [(name, more - fewer) for (name, more), (_, fewer) in pairwise(shown)]
        steps.append((f"at risk {shown[-1][0]}", shown[-1][1]))
        total += len(steps)
        head = f"group {group + 1}, " if len(at_risk) > 1 else ""
        where += [f"{head}{name}" for name, count in steps if 0 < count < threshold]
    for table in piece.tallies:
        if table.part_name == "events" and table.base == 1:
            few = (table.counts > 0) & (table.counts < threshold) & ~table.withheld
            where += [f"events {name}" for name in table.named(few)]
            total += int(table.is_shown.sum())
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"Between 1 and {threshold - 1} people leave at no step, and are at risk at no end.",
        sentence=f"Fewer than {threshold} people leave, have the event or are left at {count_phrase(len(where), total, 'step')}.",
        status="fail" if piece.base == 1 else "review",
    )


def _group_sizes(times: CellCounts, axis: int, counter: CellCounter) -> Ints:
    """The number of people of each group of a survival table, those before its first time too, as far as the filter lets them in."""
    others = [k for k in range(len(times.steps)) if k != axis]
    time = times.steps[axis][0]
    inside = np.where(counter.filter.levels(time), 0, -1).astype(np.int64)
    groups = CrossClassification(
        (*(times.steps[k] for k in others), (time, inside)),
        (*(times.names[k] for k in others), ("",)),
    )
    joint = tuple((columns, mask) for columns, mask in counter.filter.masks if len(columns) > 1)
    return counter.counted(groups, joint)[1]


@RULES.register(
    Rule(
        "threshold of households",
        "Are fewer households than the threshold behind a cell, however many people?",
        ("threshold", "household"),
    )
).looks_at(RecordsBehind)
def _households(piece: RecordsBehind, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether a cell that is shown has 1 to threshold - 1 households behind it, where the policy names their column; else nothing.

    Members of a household know each other: a cell of twelve people from two of them is a cell of two.
    """
    if policy.household is None:
        return
    if policy.household not in piece.domain.names:
        sentence = (
            f"The policy counts households by column '{policy.household}', which is none of the columns of these outputs: describe it with them, "
            "so that households are counted."
        )
        yield RuleOutcome([piece.output.name], 1, sentence=sentence, status="not assessed")
        return
    unit = piece.codes[:, piece.domain.position(policy.household)].astype(np.int64)
    # People whose household is missing may be of one.
    unit = np.where(unit < 0, int(unit.max(initial=0)) + 1, unit)
    width, threshold, where, total = int(unit.max(initial=0)) + 1, policy.threshold, list[str](), 0
    for table in piece.tallies:
        if table.implied:
            continue
        inside = table.labels >= 0
        pairs = np.unique(table.labels[inside] * width + unit[inside])
        units = np.bincount(pairs // width, minlength=table.size)
        few = (units > 0) & (units < threshold) & table.is_shown
        where += [f"{table.part_name}: {name}" for name in table.named(few)]
        total += int(table.is_shown.sum())
    sentence = f"Fewer than {threshold} households are behind {count_phrase(len(where), total)} (totals and n counted too)."
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"No cell that is shown has between 1 and {threshold - 1} households behind it.",
        sentence=sentence,
    )


@RULES.register(
    Rule(
        "weighted counts",
        "Are published counts weighted, so that they do not say how many people are behind them?",
        ("weight",),
    )
).looks_at(PrintedOutput)
def _weights(piece: PrintedOutput, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether published counts are weighted, as far as can be seen; nothing where they are not.

    They are where a count is not whole, where the cells of a table add up to more than there are records, or where what is summed up is the column that
    the policy names as the weight. The rules look at the records behind an output, one by one; of weighted numbers a checker needs the unweighted ones too.
    """
    output, why = piece.output, ""
    # An output that says how it is weighted: rules were run on the records behind it.
    if getattr(output, "weight", None) is not None:
        return
    if policy.weight is not None and policy.weight in output.columns:
        why = f"It sums up column '{policy.weight}', which the policy names as the weight"
    parts: list[NumberBlock] = []
    # Numbers that do not fit the records are a finding of their own.
    with contextlib.suppress(InputError):
        parts = list(output.printed_numbers(piece.domain)) if output.has_numbers else []
    numbers = [number for block in parts if block.counted for number in _numbers(block.numbers)]
    if any(number != round(number) for number in numbers):
        why = "Its counts are not all whole numbers"
    elif any(number > piece.domain.n_rows for number in numbers):
        why = "It counts more people than there are records"
    if why:
        yield RuleOutcome(
            [output.name],
            1,
            sentence=f"{why}: they are weighted. Rules are run on records, each counted once; add the unweighted counts as an output of their own, so that they can be judged.",
            status="not assessed",
        )


def _numbers(cells: Iterable[Any]) -> list[float]:
    """Those that are numbers, as printed or in quotes."""
    numbers: list[float] = []
    for cell in cells:
        if isinstance(cell, str | int | float) and not isinstance(cell, bool):
            with contextlib.suppress(ValueError):
                numbers.append(float(cell.replace(",", "") if isinstance(cell, str) else cell))
    return [number for number in numbers if np.isfinite(number)]
