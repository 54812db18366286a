"""Who is counted: households whose members count as one, and counts that are weighted, so that people cannot be read off them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.errors import InputError
from ..columns import Codes
from ..crossing import Frame
from .findings import Finding, finding, some
from .policy import Policy
from .tallies import OutputTally

if TYPE_CHECKING:
    from ..kinds.base import OutputSpec


HOUSEHOLDS = "threshold of households"
WEIGHTED = "weighted counts"


def households(
    output: OutputSpec, tallies: Sequence[OutputTally], frame: Frame, codes: Codes, policy: Policy
) -> list[Finding]:
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
        return [
            finding(
                output.name,
                output.kind,
                HOUSEHOLDS,
                [output.name],
                of=1,
                good="",
                bad=bad,
                status="not assessed",
            )
        ]
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


def weighted_counts(output: OutputSpec, frame: Frame, policy: Policy) -> list[Finding]:
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
    return [
        finding(
            output.name,
            output.kind,
            WEIGHTED,
            [output.name],
            of=1,
            good="",
            bad=bad,
            status="not assessed",
        )
    ]


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
