"""What a mitigation is: one place that says how an output may be published with less in it, registered by its name.

A mitigation takes an output as a recipe and gives series of recipes, each series from the least change to the most; the search (`search.py`) takes of each
the first that the rules pass, and orders what it has by what is lost. Nothing here says that a recipe is safe: the rules do, of all outputs together.
Whether a mitigation fits an output is seen by the keys of its kind: a kind that has `base` can be rounded, one that has `groups` can be banded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.registry import Registry
from ..document import Outputs
from ..domain import MAX_ROWS, Codes, OutputDomain
from ..kinds.base import OutputSpec
from ..rules import Policy, RuleReport, check_rules
from ..rules.cell_counts import CellCounter
from ..rules.findings import RuleFinding, not_assessed


class MitigatedForm(NamedTuple):
    """An output with less in it: the recipe, and what was done, in words that may leave (no level, no cell, no count under the threshold)."""

    recipe: OutputSpec
    description: str


Series = Iterator[MitigatedForm]
"""Forms of one output from the least change to the most."""


@dataclass(frozen=True)
class Mitigation:
    """A way to publish less: its name, what it does in a few words, and its series of forms for an output; none where it does not fit.

    `undoes`: names of mitigations of which nothing is left once this one is done after them.
    """

    name: str
    sentence: str
    series: Callable[[OutputSpec, RuleTrial], Iterator[Series]]
    undoes: tuple[str, ...] = ()


MITIGATIONS: Registry[Mitigation] = Registry(
    "mitigation",
    __package__,
    "coarsening",
    "suppressing",
)
"""All mitigations but dropping an output, which fits every kind and is the last resort."""


@dataclass(eq=False)
class RuleTrial:
    """Outputs, the records behind them and the rules, to try recipes on; it counts how often the rules were asked.

    `outputs` are those that want to leave, as recipes; `released` are out already. `max_asked` is how often the rules may be asked. `together`: whether
    a recipe is judged beside the other outputs, or beside what is out alone.
    """

    outputs: Outputs
    codes: Codes
    policy: Policy
    released: Outputs | None = None
    max_asked: int = 400
    together: bool = True
    asked: int = field(default=0, init=False)

    @property
    def domain(self) -> OutputDomain:
        """The columns and the number of records."""
        return self.outputs.fields.with_rows(len(self.codes))

    @property
    def exhausted(self) -> bool:
        """Whether the rules have been asked as often as they may."""
        return self.asked >= self.max_asked

    def report(self, outputs: Sequence[OutputSpec]) -> RuleReport:
        """Return what the rules say of some outputs together, beside those that are out."""
        self.asked += 1
        try:
            return check_rules(
                Outputs(self.outputs.fields, tuple(outputs)),
                self.codes,
                self.policy,
                released=self.released,
            )
        except InputError as error:  # a recipe that cannot be computed is none
            finding = not_assessed(outputs[0].name, outputs[0].kind, "all rules", str(error))
            return RuleReport((finding,), self.policy.name, self.policy.hash)

    def judge(self, recipe: OutputSpec) -> RuleReport:
        """Return what the rules say with a recipe in the place of the output of its name."""
        outputs = self.outputs.outputs if self.together else (recipe,)
        return self.report([recipe if output.name == recipe.name else output for output in outputs])

    def recipe_of(self, output: OutputSpec) -> OutputSpec:
        """Return an output without its numbers, with how they are printed."""
        return output.without_numbers(self.outputs.fields.with_rows(MAX_ROWS))


def bad_findings(report: RuleReport, output: str | None = None) -> list[RuleFinding]:
    """Return the findings that fail or were not assessed to the end; those about an output, if one is named."""
    findings = report if output is None else report.about(output)
    return [finding for finding in findings if finding.status in ("fail", "not assessed")]


def has_key(output: OutputSpec, *keys: str) -> bool:
    """Return whether a kind has some keys."""
    return all(key in type(output).model_fields for key in keys)


class CellCount(NamedTuple):
    """The numbers of an output that are printed one for each cell or group: what they are called, and how many records are behind each."""

    names: list[str]
    counts: NDArray[np.int64]
    counted: bool


def plain_cells(output: OutputSpec, trial: RuleTrial) -> CellCount | None:
    """Return the cells or groups of an output, margins included, as they are before anything is withheld; None for a kind that has none.

    Only of outputs whose main numbers are one for each cell: tables, histograms, and summaries by groups.
    """
    if not has_key(output, "by") and output.definition.statbarn != "Frequencies":
        return None
    bare: dict[str, Any] = {
        "threshold": None,
        "withheld": None,
        "bands": None,
        "suppressed_zeros": False,
    }
    if has_key(output, "base"):
        bare["base"] = 1
    plain = trial.recipe_of(output).changed(**bare)
    fields = trial.outputs.fields
    try:
        tallies = plain.tallies(CellCounter(plain, fields, trial.codes))
        if (
            getattr(plain, "percentages", None) is None
            and plain.definition.statbarn == "Frequencies"
        ):
            parts = list(plain.computed(fields, trial.codes).printed_numbers(trial.domain))
            if len(parts) != 1 or not parts[0].counted:
                return None
            return CellCount(list(parts[0].names), np.array(parts[0].numbers, dtype=np.int64), True)
    except InputError:
        return None
    if not tallies or not tallies[0].shape or tallies[0].part_name != "cells":
        return None
    if tallies[0].size != plain.crossing(trial.domain).size:
        return None
    return CellCount(tallies[0].called(np.arange(tallies[0].size)), tallies[0].counts, False)
