"""Outputs that are a few single numbers, each under a key of its own, such as a test's statistic and p-value, with or without numbers of other kinds beside them.

Most are formulas of sums over records (`formulas.py`). The n, means and spreads of the groups of a test, or the quartiles of a summary, are parts: each an output of
the kind that has these numbers anyway. Its layout, its equations and its rules are that kind's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field as Key

from ..cells import CrossClassification, table_of_counts
from ..domain import OutputDomain
from ..equations import Output
from ..numbers import Interval, Printer
from ..rules.cell_counts import CellCounter, CellCounts, sum_out
from ..rules.evidence import Counts, DegreesOfFreedom
from ..rules.findings import RuleFinding
from ..rules.policy import Policy
from .base import KINDS, Estimates, NumberBlock, OutputSpec, Sample, Statistic, as_list
from .formulas import scale_interval

CountsPart = Annotated[list[Any] | None, Statistic(is_part=True)]
"""The counts of cells or groups, as a part."""


class Single(NamedTuple):
    """A number of records, and its standard error; nan where they have none."""

    value: float
    unit: float = 0.0


class KindPart(NamedTuple):
    """An output of another kind whose numbers stand under a key of this one."""

    kind: str
    key: str
    """The key under which that kind has them."""
    entry: dict[str, Any]
    """What else its entry says, name and filter apart."""


class PartedNumbers(OutputSpec):
    """An output with single numbers, and with parts. A kind with `p_value` and `p_below` may print small p-values as "<0.001"."""

    PRINTING: ClassVar[tuple[str, ...]] = ("digits", "bands", "withheld")

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return all single numbers that these records give, by key."""
        return {}

    def kind_part(self, key: str) -> KindPart:
        """Return what stands under the key of a part, a table or a summary of its groups; an error where it can have none."""
        groups = {"by": getattr(self, "by", []), "groups": getattr(self, "groups", {})}
        if key == "counts":
            return KindPart("table", "counts", groups)
        kind = {"means": "mean", "sds": "sd", "medians": "median"}.get(key, key)
        summary = {"of": getattr(self, "variable", ""), **groups}
        return KindPart(kind, "values" if groups["by"] else "value", summary)

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return the equation of a single number."""
        raise AssertionError(key)

    @property
    def default_statistics(self) -> tuple[str, ...]:
        """What a recipe publishes that announces nothing."""
        return tuple(key for key, statistic in self.statistics.items() if statistic.default)

    @property
    def parts(self) -> dict[str, OutputSpec]:
        """The parts that are published, with or without their numbers."""
        keys = (key for key, statistic in self.statistics.items() if statistic.is_part)
        return {key: self._part_spec(key) for key in keys if self.publishes(key)}

    def _part_spec(self, key: str) -> OutputSpec:
        kind, own_key, entry = self.kind_part(key)
        names = ("where", "decimals", "threshold", "bands", "suppressed_zeros")
        withheld = [
            name.removeprefix(f"{key} ")
            for name in self.withheld or []
            if name.startswith(f"{key} ")
        ]
        shared = {name: getattr(self, name) for name in names} | {"withheld": withheld}
        shared = {name: value for name, value in shared.items() if value}
        numbers = {} if getattr(self, key) is None else {own_key: getattr(self, key)}
        spec: OutputSpec = KINDS[kind].spec.model_validate(
            {"name": f"{self.name}: {key}", "kind": kind, **shared, **entry, **numbers}
        )
        return spec

    # With or without numbers.

    def publishes(self, key: str) -> bool:
        """Return whether numbers under a key are published: they are there, or announced, or usual where nothing is said."""
        if super().publishes(key):
            return True
        return key in self.default_statistics and not any(
            super(PartedNumbers, self).publishes(name) for name in self.statistics
        )

    def announcements(self, domain: OutputDomain) -> dict[str, Any]:
        """Return what is published; the usual numbers where nothing is said."""
        keys = super().announcements(domain)
        if any(key in keys for key in self.statistics):
            return keys
        return {**keys, **dict.fromkeys(self.default_statistics, True)}

    def without_numbers(self, domain: OutputDomain) -> Self:
        """Return the recipe, with how small p-values are printed."""
        recipe, bound = super().without_numbers(domain), self._p_bound()
        return recipe if bound is None else recipe.changed(p_below=bound)

    def _p_bound(self) -> float | None:
        """What a p-value such as "<0.001" is below."""
        printed = getattr(self, "p_value", None)
        if not isinstance(printed, str) or not printed.strip().startswith("<"):
            return None
        return self.printed(printed.strip()[1:], self.statistics["p_value"].label).middle

    def with_placeholder_values(self, domain: OutputDomain) -> Self:
        """Return a recipe with some number or other under each single key that it has; its parts are looked at by themselves."""
        keys = [block.key for block in self.single_blocks() if block.style == "number"]
        return self.changed(drop=self.parts, announced={}, **dict.fromkeys(keys, 0.5))

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for what no records could satisfy, in the parts too."""
        recipe = self.with_placeholder_values(domain)
        if recipe.intervals():
            recipe.equations(domain)
        for output in self.parts.values():
            output.check_recipe(domain)

    def single_blocks(self) -> Iterator[NumberBlock]:
        """Give the single numbers that are published, whole ones last."""
        singles = [
            (key, statistic) for key, statistic in self.statistics.items() if not statistic.is_part
        ]
        for key, statistic in sorted(singles, key=lambda single: single[1].is_whole):
            if self.publishes(key) or statistic.presence == "required":
                numbers, style = as_list(getattr(self, key)), statistic.style
                yield NumberBlock(key, [key], numbers, style, label=statistic.label)

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give each single number, and the lists of the parts."""
        yield from self.single_blocks()
        for key, output in self.parts.items():
            for block in output.layout(domain):
                titles = [f"{key} {name or output.kind}" for name in block.titles or block.names]
                names = [f"{key} {name}" for name in block.names]
                yield replace(block, key=key, field=key, names=names, titles=titles)

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the single numbers, and those of the parts."""
        singles = self.singles(sample) if any(self.single_blocks()) else {}
        estimates = {
            key: Estimates([np.nan_to_num(value) if self.statistics[key].is_whole else value], unit)
            for key, (value, unit) in singles.items()
        }
        for key, output in self.parts.items():
            (estimates[key],) = output.estimates(sample).values()
        return estimates

    def shown(
        self, block: NumberBlock, estimates: Estimates, sample: Sample, printer: Printer
    ) -> list[Any]:
        """Return numbers as printed, those of a part by the rules of its kind."""
        if block.key in self.parts:
            return self.parts[block.key].shown(block, estimates, sample, printer)
        numbers, below = super().shown(block, estimates, sample, printer), None
        if block.key == "p_value":
            below = getattr(self, "p_below", None)
        return numbers if below is None or estimates.values[0] >= below else [f"<{below:g}"]

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return the numbers that are published, and n where they need it."""
        numbers = super().computed_numbers(sample)
        for key, output in self.parts.items():
            n = output.needed_n(sample, numbers[key])
            if n is not None:
                numbers["counts" if isinstance(n, list) else "n"] = n
        return numbers

    def block_intervals(self, block: NumberBlock, rows: int) -> list[Interval | None]:
        """Return the interval of each number of a block; a p-value such as "<0.001" is from 0 to its bound."""
        if block.key in self.parts:
            return self.parts[block.key].block_intervals(block, rows)
        bound = self._p_bound() if block.key == "p_value" else None
        if bound is not None:
            return [Interval(0.0, bound)]
        if block.style == "whole":
            return super().block_intervals(block, rows)
        return [self.printed(number, block.label) for number in block.numbers]

    def intervals(self) -> dict[str, Interval]:
        """Return the intervals of the single numbers that are published."""
        blocks = [block for block in self.single_blocks() if block.numbers]
        intervals = ((block.key, self.block_intervals(block, 0)[0]) for block in blocks)
        return {key: interval for key, interval in intervals if interval is not None}

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return those of the single numbers, and those of the parts."""
        intervals, parts = self.intervals(), self.parts
        if not intervals and not parts:
            raise self.fault(f" has no numbers. It may have {', '.join(self.statistics)}.")
        if self.rules_only(domain):
            return ()
        # Degrees of freedom that are whole say how many records there are, or nothing that the columns do not say.
        singles = {
            key: scale_interval(key, interval)
            for key, interval in intervals.items()
            if not self.statistics[key].is_whole
        }
        systems = self.systems(domain, singles) if singles else []
        of_parts = [equation for output in parts.values() for equation in output.equations(domain)]
        return (*systems, *of_parts, *self.n_equations(domain), *self._implied_n(domain))

    def implied_n(self, domain: OutputDomain) -> tuple[int, CrossClassification] | None:
        """Return the number of records that degrees of freedom imply, and in which cells these are; None where they imply none."""
        return None

    def _implied_n(self, domain: OutputDomain) -> tuple[Output, ...]:
        """The number of records that degrees of freedom imply, as a table of one cell; none where that is all records."""
        implied, within = self.implied_n(domain), self.filter(domain)
        if implied is None:
            return ()
        n, cells = implied
        steps, bound = sum_out(cells, (True,) * len(cells.steps)).steps, np.array([n])
        if self.n is not None or (not steps and not within.masks):
            return ()
        return (
            table_of_counts(
                f"{self.name}: degrees of freedom", domain, steps, within, bound, bound
            ),
        )

    def systems(self, domain: OutputDomain, intervals: dict[str, Interval]) -> list[Output]:
        """Return the equations of single numbers, on the scales that equations have them on (`scale_number`).

        One set for each: most of them follow from each other, and together would leave directions in which nothing is asked.
        """
        systems = ((key, self.system(domain, key, interval)) for key, interval in intervals.items())
        return [replace(system, name=f"{self.name}: {key}") for key, system in systems]

    @property
    def toward(self) -> dict[str, float]:
        """The single numbers that are published, by key."""
        return {key: interval.middle for key, interval in self.intervals().items()}

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return why no records have the numbers of a part."""
        reasons = ((key, output.contradiction(domain)) for key, output in self.parts.items())
        return next((f"of its {key}, {reason}" for key, reason in reasons if reason), None)

    # Rules.

    def part_tallies(self, counter: CellCounter, *first: CellCounts) -> list[CellCounts]:
        """Return cells of people, and those behind the parts, the same ones once with all that is published of them."""
        tallies = list(first)
        for output in self.parts.values():
            counts = output.definition.statbarn == "Frequencies"
            for tally in output.tallies(counter.of_part(output)):
                tallies.append(replace(tally, output=self.name, kind=self.kind, protected=counts))
        merged: dict[tuple[str, bytes], CellCounts] = {}
        for tally in tallies:
            other = merged.get((tally.part_name, tally.key))
            merged[tally.part_name, tally.key] = tally if other is None else _both(other, tally)
        return list(merged.values())

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give what is behind the parts."""
        for output in self.parts.values():
            part_counter = counter.of_part(output)
            yield from output.evidence(output.tallies(part_counter), part_counter)

    def findings(
        self, tallies: list[CellCounts], counter: CellCounter, policy: Policy
    ) -> list[RuleFinding]:
        """Return what the rules say, what they say alike of two parts once."""
        return once(super().findings(tallies, counter, policy))


class PartsAlone(PartedNumbers):
    """An output all of whose numbers are those of parts."""

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the cells behind the parts, and n."""
        return [*self.part_tallies(counter), *counter.n()]


class GroupTest(PartedNumbers):
    """A test: single numbers of some cells of records, with the numbers of the cells as parts."""

    p_below: Annotated[float, Key(gt=0, le=1)] | None = None

    def cells(self, domain: OutputDomain) -> CrossClassification:
        """Return the cells or groups that it compares; an error where it cannot."""
        return self.crossing(domain)

    @property
    def fit_name(self) -> str:
        """What the test is of: two tests that are called the same are of the same numbers."""
        return f"{self.kind} {' by '.join(self.columns)}"

    @property
    def implies_n(self) -> bool:
        """Whether its degrees of freedom imply the number of records."""
        return False

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the cells, what is published of them, the records as one cell, and n, which degrees of freedom may imply."""
        cells = self.cells(counter.domain)
        implied = self.implies_n and not self.publishes("n")
        return [
            *self.part_tallies(counter, counter.tally("cells", cells)),
            *counter.fit(self.fit_name, cells),
            *([counter.count_all(cells)] if implied else []),
        ]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the cells, records less cells, and what is behind the parts."""
        yield Counts(tallies, self.unit_noun)
        yield DegreesOfFreedom(int(tallies[0].counts.sum()) - int((tallies[0].counts > 0).sum()))
        yield from super().evidence(tallies, counter)


def once(findings: Sequence[RuleFinding]) -> list[RuleFinding]:
    """Return findings without those that say the same of the same cells, and passes without those that another of the rule denies."""
    worse = {finding.rule for finding in findings if finding.status != "pass"}
    by_rule: dict[tuple[str, str, tuple[str, ...]], RuleFinding] = {}
    for finding in findings:
        if finding.status != "pass" or finding.rule not in worse:
            by_rule.setdefault((finding.rule, finding.status, finding.where), finding)
    return list(by_rule.values())


def _both(tally: CellCounts, other: CellCounts) -> CellCounts:
    """Two tallies of the same cells as one: what is published of either, and what is shown of the counts if any are."""
    shown = other if "count" in other.quantities else tally
    return replace(
        shown,
        quantities=tally.quantities | other.quantities,
        implied=tally.implied and other.implied,
        protected=tally.protected or other.protected,
    )
