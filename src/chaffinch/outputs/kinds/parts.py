"""Outputs that have the numbers of other kinds among their own: the n, means and spreads of the groups of a test, the quartiles of a summary.

Each such list is a part: an output of the kind that has these numbers anyway. Its equations, its printing and its rules are that kind's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..crossing import Crossing, Frame, table_of_counts
from ..equations import Output
from ..precision import Interval
from ..printing import Printer
from ..refit import Number, count_number
from ..rules.findings import Finding
from ..rules.policy import Policy
from ..rules.tallies import OutputTally
from ..rules.tallying import Tallier, summed
from .base import KINDS, OutputSpec, PrintedNumbers, Sample
from .single import Single, SingleNumbers
from .smooth import scaled_interval


class KindPart(NamedTuple):
    """An output of another kind whose numbers stand under a key of this one."""

    kind: str
    key: str  # where that kind has them
    entry: dict[str, Any]  # what else its entry says, name and filter apart


class PartedNumbers(SingleNumbers):
    """An output with single numbers, and with parts.

    A recipe that announces nothing publishes `USUAL`. Whole numbers among the single ones are named in `WHOLE`.
    """

    PRINTING: ClassVar[tuple[str, ...]] = ("digits", "bands", "withheld")
    PARTS: ClassVar[tuple[str, ...]] = ()
    """The keys of parts."""
    USUAL: ClassVar[tuple[str, ...]] = ()
    WHOLE: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def part(self, key: str) -> KindPart:
        """Return what stands under the key of a part; an error where it can have none."""

    @abstractmethod
    def system(self, frame: Frame, key: str, interval: Interval) -> Output:
        """Return the equation of a single number."""

    @property
    def usual(self) -> tuple[str, ...]:
        """What a recipe publishes that announces nothing."""
        return self.USUAL

    @property
    def parts(self) -> dict[str, OutputSpec]:
        """The parts that are published, with or without their numbers."""
        return {key: self._part(key) for key in self.PARTS if self.publishes(key)}

    def _part(self, key: str) -> OutputSpec:
        kind, own, entry = self.part(key)
        shared = {name: getattr(self, name) for name in ("where", "decimals", "threshold", "bands")}
        shared["suppressed_zeros"] = self.suppressed_zeros or None
        shared["digits"] = (
            None if key not in (self.digits or {}) else {_listed(own): self.digits[key]}
        )
        shared["withheld"] = [
            name.removeprefix(f"{key} ")
            for name in self.withheld or []
            if name.startswith(f"{key} ")
        ]
        shared = {name: value for name, value in shared.items() if value}
        numbers = {} if getattr(self, key) is None else {own: getattr(self, key)}
        spec: OutputSpec = KINDS[kind].spec.model_validate(
            {"name": f"{self.name}: {key}", "kind": kind, **shared, **entry, **numbers}
        )
        return spec

    # With or without numbers.

    def publishes(self, key: str) -> bool:
        """Return whether numbers under a key are published: they are there, or announced, or usual where nothing is said."""
        if super().publishes(key):
            return True
        return key in self.usual and not any(
            super(PartedNumbers, self).publishes(one) for one in self.NUMBERS
        )

    def announcements(self, frame: Frame) -> dict[str, Any]:
        """Return what is published; the usual numbers where nothing is said."""
        keys = super().announcements(frame)
        return (
            keys
            if any(key in keys for key in self.NUMBERS)
            else {**keys, **dict.fromkeys(self.usual, True)}
        )

    def filled(self, frame: Frame) -> Self:
        """Return a recipe with some number or other under each single key that it has; its parts are looked at by themselves."""
        keys = [key for key in self.WORDS if self.publishes(key) or key in self.REQUIRED]
        return self.changed(drop=self.PARTS, announced={}, **dict.fromkeys(keys, 0.5))

    def check_recipe(self, frame: Frame) -> None:
        """Raise for what no records could satisfy, in the parts too."""
        some = self.filled(frame)
        if some.intervals():
            some.equations(frame)
        for part in self.parts.values():
            part.check_recipe(frame)

    def intervals(self) -> dict[str, Interval]:
        """Return the intervals of the single numbers that are published; half a record around whole ones."""
        intervals = super().intervals()
        for key in self.WHOLE:
            if (number := getattr(self, key)) is not None:
                intervals[key] = Interval(number - 0.5, number + 0.5)
        return intervals

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return those of the single numbers, and those of the parts."""
        intervals, parts = self.intervals(), self.parts
        if not intervals and not parts:
            raise self.fault(f" has no numbers. It may have {', '.join((*self.NUMBERS,))}.")
        if self.rules_only(frame.fields):
            return ()
        # Degrees of freedom that are whole say how many records there are, or nothing that the columns do not say.
        singles = {
            key: scaled_interval(key, interval)
            for key, interval in intervals.items()
            if key not in self.WHOLE
        }
        own = self.systems(frame, singles) if singles else []
        beside = [one for part in parts.values() for one in part.equations(frame)]
        return (*own, *beside, *self.n_equations(frame), *self._told_n(frame))

    def told_n(self, frame: Frame) -> tuple[int, Crossing] | None:
        """Return the number of records that degrees of freedom tell, and in which cells these are; None where they tell none."""
        return None

    def _told_n(self, frame: Frame) -> tuple[Output, ...]:
        """The number of records that degrees of freedom tell, as a table of one cell; none where that is all records."""
        told = self.told_n(frame)
        if told is None:
            return ()
        n, cells = told
        steps, within, bound = (
            summed(cells, (True,) * len(cells.steps)).steps,
            self.filter(frame),
            np.array([n]),
        )
        if self.n is not None or (not steps and not within.masks):
            return ()
        return (
            table_of_counts(f"{self.name}: degrees of freedom", frame, steps, within, bound, bound),
        )

    def systems(self, frame: Frame, intervals: dict[str, Interval]) -> list[Output]:
        """Return the equations of single numbers, on the scales that equations have them on (`smooth.py`).

        One set for each: most of them follow from each other, and together would leave directions in which nothing is asked.
        """
        every = ((key, self.system(frame, key, interval)) for key, interval in intervals.items())
        return [replace(one, name=f"{self.name}: {key}") for key, one in every]

    @property
    def toward(self) -> dict[str, float]:
        """The single numbers that are published, by key."""
        return {key: interval.middle for key, interval in self.intervals().items()}

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give each single number, and the lists of the parts."""
        yield from super().printed_numbers(frame)
        for key, part in self.parts.items():
            for one in part.printed_numbers(frame):
                yield PrintedNumbers(
                    key, [f"{key} {name}" for name in one.names], one.numbers, one.counted
                )

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the numbers that are published."""
        singles = [
            key for key in (*self.WORDS, *self.WHOLE) if self.publishes(key) or key in self.REQUIRED
        ]
        numbers = super().computed_numbers(sample, printer, part) if singles else {}
        for key, one in self.parts.items():
            computed = one.computed_numbers(sample, one.printer, part)
            numbers[key] = computed.pop(self.part(key).key)
            if "n" in computed:  # without it a median between two values says nothing
                numbers["counts" if isinstance(computed["n"], list) else "n"] = computed["n"]
        return numbers

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the numbers beside those of the records."""
        intervals = self.intervals()
        singles = self.singles(sample) if intervals else {}
        for key, interval in intervals.items():
            if key in self.WHOLE:
                yield count_number(key, interval.middle, interval.middle, singles[key].value)
            else:
                yield Number(key, *interval, *singles[key])
        for key, part in self.parts.items():
            for one in part.recomputed(sample):
                yield replace(one, name=f"{key} {one.name}".strip())

    def contradiction(self, frame: Frame) -> str | None:
        """Return why no records have the numbers of a part."""
        reasons = ((key, part.contradiction(frame)) for key, part in self.parts.items())
        return next((f"of its {key}, {reason}" for key, reason in reasons if reason), None)

    # Rules.

    def part_tallies(self, tallier: Tallier, *first: OutputTally) -> list[OutputTally]:
        """Return cells of people, and those behind the parts, the same ones once with all that is published of them."""
        tallies = list(first)
        for part in self.parts.values():
            counts = part.definition.statbarn == "Frequencies"
            for one in part.tallies(tallier.of_part(part)):
                tallies.append(replace(one, output=self.name, kind=self.kind, protected=counts))
        merged: dict[tuple[str, bytes], OutputTally] = {}
        for one in tallies:
            other = merged.get((one.part, one.key))
            merged[one.part, one.key] = one if other is None else _both(other, one)
        return list(merged.values())

    def part_findings(
        self, tallier: Tallier, policy: Policy, first: Iterable[Finding]
    ) -> list[Finding]:
        """Return findings, and those of the parts; what two of them say alike once."""
        findings = list(first)
        for part in self.parts.values():
            beside = tallier.of_part(part)
            mine = part.findings(part.tallies(beside), beside, policy)
            findings += [
                replace(one, output=self.name, statbarn=self.definition.statbarn) for one in mine
            ]
        return once(findings)


class PartsAlone(PartedNumbers):
    """An output all of whose numbers are those of parts."""

    def system(self, frame: Frame, key: str, interval: Interval) -> Output:
        """It has no single numbers."""
        raise AssertionError(key)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return none: all its numbers are those of parts."""
        return {}

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        """Return the cells behind the parts, and n."""
        return [*self.part_tallies(tallier), *tallier.n()]

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        """Return what the rules say of the parts."""
        return self.part_findings(tallier, policy, [])


def once(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings without those that say the same of the same cells, and passes without those that another of the rule denies."""
    worse = {one.rule for one in findings if one.status != "pass"}
    kept: dict[tuple[str, str, tuple[str, ...]], Finding] = {}
    for one in findings:
        if one.status != "pass" or one.rule not in worse:
            kept.setdefault((one.rule, one.status, one.where), one)
    return list(kept.values())


def _both(one: OutputTally, other: OutputTally) -> OutputTally:
    """Two tallies of the same cells as one: what is published of either, and what is shown of the counts if any are."""
    shown = other if "count" in other.quantities else one
    return replace(
        shown,
        quantities=one.quantities | other.quantities,
        implied=one.implied and other.implied,
        protected=one.protected or other.protected,
    )


def _listed(key: str) -> str:
    """The key under which digits of a value or of values are said."""
    return "values" if key == "value" else key
