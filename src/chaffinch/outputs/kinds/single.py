"""Outputs that are a few single numbers, each under a key of its own, such as a test's statistic and p-value, with or without numbers of other kinds beside them.

Most are formulas of sums over records (`SmoothNumbers`), with derivatives that need no formulas of their own. A formula that is written for complex numbers gives
its derivative by any sum to the last digit: the imaginary part at S + i h, divided by h
(Squire and Trapp 1998, SIAM Review 40: "Using complex variables to estimate derivatives of real functions"). Numbers that no such formula
has, p-values and the ends of intervals, follow from others, and say how they change with these.

Searches make numbers linear in the sums. A p-value is far from that, and so is an odds ratio: equations have the normal quantile that half of a p-value lies
beyond, which is nearly the size of the statistic, and the logarithm of an odds ratio. A two-sided p-value does not say on which side the statistic
lies; where another number does, the quantile is below 0 on the other side, so that a search does not stay there.

The n, means and spreads of the groups of a test, or the quartiles of a summary, are parts (`PartedNumbers`): each an output of the kind that has these numbers
anyway. Its equations, its printing and its rules are that kind's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..cells import Crossing, Frame, table_of_counts
from ..domain import Floats
from ..equations import Output
from ..numbers import Interval, Number, Printer, count_number
from ..rules.cell_counts import CellCounter, CellCounts, summed
from ..rules.evidence import Counts, DegreesOfFreedom
from ..rules.findings import RuleFinding
from ..rules.policy import Policy
from .base import KINDS, OutputSpec, PrintedNumbers, Sample, no_estimate

STEP = 1e-30
"""The imaginary step. Nothing is subtracted, so that it may be as small as it likes."""
LEAST_P = 1e-300
"""P-values below this are not told apart."""
LEAST_ODDS = 1e-9
"""Odds ratios below this are not told apart."""


class Single(NamedTuple):
    """A number of records, and its standard error; nan where they have none."""

    value: float
    unit: float = 0.0


class SingleNumbers(OutputSpec):
    """An output with a few single numbers. A kind with `p_value` and `p_below` may print small p-values as "<0.001"."""

    WORDS: ClassVar[dict[str, str]] = {}
    """What messages call the number under each key; those of whole numbers are not here."""
    LACK: ClassVar[str] = ""
    """Why records have none of them."""

    @abstractmethod
    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return all numbers that these records give, by key."""

    def filled(self, frame: Frame) -> Self:
        some: dict[str, Any] = dict.fromkeys(self.REQUIRED, 1.0)
        return self.changed(**some)

    def without_numbers(self, frame: Frame) -> Self:
        """Return the recipe, with how small p-values are printed."""
        recipe, bound = super().without_numbers(frame), self._p_bound()
        return recipe if bound is None else recipe.changed(p_below=bound)

    def _p_bound(self) -> float | None:
        """What a p-value such as "<0.001" is below."""
        printed = getattr(self, "p_value", None)
        if not isinstance(printed, str) or not printed.strip().startswith("<"):
            return None
        return self.printed(printed.strip()[1:], self.WORDS["p_value"]).middle

    def intervals(self) -> dict[str, Interval]:
        """Return the intervals of the numbers that are published, whole ones apart."""
        intervals, bound = dict[str, Interval](), self._p_bound()
        for key, what in self.WORDS.items():
            if key == "p_value" and bound is not None:
                intervals[key] = Interval(0.0, bound)
            elif getattr(self, key) is not None:
                intervals[key] = self.printed(getattr(self, key), what)
        return intervals

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give each number that is published, whole ones apart."""
        for key in self.WORDS:
            if getattr(self, key) is not None:
                yield PrintedNumbers(key, [key], [getattr(self, key)], False)

    def computed_numbers(self, sample: Sample, printer: Printer, part: str) -> dict[str, Any]:
        """Return the required numbers, and those that are published beside them."""
        every, below = self.singles(sample), getattr(self, "p_below", None)
        singles = {
            key: one for key, one in every.items() if key in self.REQUIRED or self.publishes(key)
        }
        if not all(math.isfinite(one.value) for one in singles.values()):
            raise no_estimate(self.name, part, self.LACK)
        numbers: dict[str, Any] = {
            key: printer.number(one.value, key, key) if key in self.WORDS else int(one.value)
            for key, one in singles.items()
        }
        if below is not None and "p_value" in numbers and singles["p_value"].value < below:
            numbers["p_value"] = f"<{below:g}"
        return numbers

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the numbers beside those of the records."""
        singles = self.singles(sample)
        for key, interval in self.intervals().items():
            yield Number(key, *interval, *singles[key])
        for key in self.NUMBERS:
            if key not in self.WORDS and getattr(self, key) is not None:
                yield count_number(key, getattr(self, key), getattr(self, key), singles[key].value)


def scaled(key: str, value: float) -> tuple[float, float]:
    """Return a number as equations have it, and how that changes with the number: p-values and odds ratios on a scale of their own.

    Examples
    --------
    >>> scaled("p_value", 1.0), scaled("statistic", 2.5)
    ((0.0, -1.2533141373155001), (2.5, 1.0))
    """
    if key == "p_value":
        from scipy.special import ndtri

        z = -float(ndtri(0.5 * min(max(value, LEAST_P), 1.0))) + 0.0
        return z, -0.5 * math.sqrt(2.0 * math.pi) * math.exp(0.5 * z * z)
    if key == "odds_ratio":
        return math.log(max(value, LEAST_ODDS)), 1.0 / max(value, LEAST_ODDS)
    return value, 1.0


def scaled_interval(key: str, interval: Interval) -> Interval:
    """Return the interval of a number as equations have it."""
    ends = scaled(key, interval.lo)[0], scaled(key, interval.hi)[0]
    return Interval(min(ends), max(ends))


def at_least(numbers: NDArray[Any], least: float) -> NDArray[Any]:
    """Return numbers, complex or not, with those below a bound raised to it."""
    return np.where(numbers.real < least, least, numbers)


class Followed(NamedTuple):
    """A number that follows from others, with its derivatives by these."""

    value: float
    slopes: Mapping[str, float]


class SmoothNumbers(ABC):
    """Some of the numbers that are formulas of sums: a reading as a `SumSystem` takes it. `toward` are all that are published."""

    def __init__(self, keys: Sequence[str], toward: Mapping[str, float]) -> None:
        self.keys, self.toward = tuple(keys), dict(toward)

    @abstractmethod
    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return numbers by key out of sums (..., p), real or complex."""

    def follow(self, numbers: Mapping[str, float]) -> Mapping[str, Followed]:
        """Return numbers that follow from those of the formulas; none unless said."""
        return {}

    def opposite(self, numbers: Mapping[str, float]) -> bool:
        """Return whether the statistic lies on another side than the published one; False where that is not known."""
        return False

    def lacking(self, sums: Floats) -> bool:
        """Return whether records with such sums have no numbers of this kind."""
        return False

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return which numbers the records do not have: all or none."""
        return np.full(len(self.keys), self.lacking(sums))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by all sums."""
        moved = np.vstack([sums, sums + 1j * STEP * np.eye(len(sums))])
        formulas = self.formulas(moved)
        numbers = {key: float(some[0].real) for key, some in formulas.items()}
        slopes = {key: some[1:].imag / STEP for key, some in formulas.items()}
        for key, one in self.follow(numbers).items():
            numbers[key] = one.value
            slopes[key] = sum(
                (slope * slopes[other] for other, slope in one.slopes.items()), np.zeros(len(sums))
            )
        scales = [scaled(key, numbers[key]) for key in self.keys]
        if "p_value" in self.keys and self.opposite(numbers):
            scales = [
                (-z, -by) if key == "p_value" else (z, by)
                for key, (z, by) in zip(self.keys, scales, strict=True)
            ]
        slope = np.stack([slopes[key] * by for key, (_, by) in zip(self.keys, scales, strict=True)])
        return np.array([value for value, _ in scales]), slope


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
        """Return the equations of single numbers, on the scales that equations have them on (`scaled`).

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

    def part_tallies(self, counter: CellCounter, *first: CellCounts) -> list[CellCounts]:
        """Return cells of people, and those behind the parts, the same ones once with all that is published of them."""
        tallies = list(first)
        for part in self.parts.values():
            counts = part.definition.statbarn == "Frequencies"
            for one in part.tallies(counter.of_part(part)):
                tallies.append(replace(one, output=self.name, kind=self.kind, protected=counts))
        merged: dict[tuple[str, bytes], CellCounts] = {}
        for one in tallies:
            other = merged.get((one.part, one.key))
            merged[one.part, one.key] = one if other is None else _both(other, one)
        return list(merged.values())

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give what is behind the parts."""
        for part in self.parts.values():
            beside = counter.of_part(part)
            yield from part.evidence(part.tallies(beside), beside)

    def findings(
        self, tallies: list[CellCounts], counter: CellCounter, policy: Policy
    ) -> list[RuleFinding]:
        """Return what the rules say, what they say alike of two parts once."""
        return once(super().findings(tallies, counter, policy))


class GroupTest(PartedNumbers):
    """The numbers of a test of groups, or cells, of people."""

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the groups, records less groups, and what is behind the parts."""
        yield Counts(tallies, self.NOUN)
        yield DegreesOfFreedom(int(tallies[0].counts.sum()) - int((tallies[0].counts > 0).sum()))
        yield from super().evidence(tallies, counter)


class PartsAlone(PartedNumbers):
    """An output all of whose numbers are those of parts."""

    def system(self, frame: Frame, key: str, interval: Interval) -> Output:
        """It has no single numbers."""
        raise AssertionError(key)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return none: all its numbers are those of parts."""
        return {}

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the cells behind the parts, and n."""
        return [*self.part_tallies(counter), *counter.n()]


def once(findings: Sequence[RuleFinding]) -> list[RuleFinding]:
    """Return findings without those that say the same of the same cells, and passes without those that another of the rule denies."""
    worse = {one.rule for one in findings if one.status != "pass"}
    kept: dict[tuple[str, str, tuple[str, ...]], RuleFinding] = {}
    for one in findings:
        if one.status != "pass" or one.rule not in worse:
            kept.setdefault((one.rule, one.status, one.where), one)
    return list(kept.values())


def _both(one: CellCounts, other: CellCounts) -> CellCounts:
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
