"""What a check found: each output, each stage, the rules and the verdict; what may leave, and what must stay inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._base.masking import about
from ..recipes import Recipes
from ..rules import RuleReport
from .agreement import Agreement, Exposed
from .assessment import Stage
from .ensembles import Fit
from .error_lines import ErrorLine
from .marginal import Estimate
from .sizes import BySize
from .verdict import Verdict
from .whole import Whole

__all__ = ["Checked", "CheckedOutput"]


@dataclass(frozen=True)
class CheckedOutput:
    """One output of a check.

    Parameters
    ----------
    name, kind, statbarn
        What it is, and the class a checker files it under.
    columns
        The columns it is about.
    released
        Whether it was released already.
    consistent
        Whether its published numbers are those of the data; None where it came as a recipe, without numbers.
    fit
        How well the ensembles reproduce it.
    """

    name: str
    kind: str
    statbarn: str
    columns: tuple[str, ...]
    released: bool
    consistent: bool | None
    fit: Fit | None

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        shown = {name: getattr(self, name) for name in ("name", "kind", "statbarn", "released", "consistent")}
        return {**shown, "columns": list(self.columns), "fit": self.fit.to_dict() if self.fit else None}


@dataclass(frozen=True, eq=False, repr=False)
class Checked:
    """What a check found.

    Parameters
    ----------
    settings
        What was asked for: keys, sensitive attributes, syntheses, engine, seed and so on.
    records, left_out
        How many records took part, and the share of the data, 0 to 1, that was left out for missing values.
    outputs
        Each output.
    all
        What all outputs give away together.
    cumulative
        The same as outputs are added one by one to those released already; `all` comes last.
    added
        For each step of `cumulative` after the first, by sensitive attribute and convention, what it adds to the marginal risk.
    without
        What the outputs give away when one is left out.
    agreement
        How often the datasets agree on people.
    whole, sizes, lines
        P1's experiment with all the data; marginal risk by size; attribution by error. Empty where not asked for.
    rules
        What the rules of thumb say.
    verdict
        The outcome in words.
    seconds
        How long it took.
    """

    settings: Mapping[str, Any]
    records: int
    left_out: float
    outputs: tuple[CheckedOutput, ...]
    all: Stage
    cumulative: tuple[Stage, ...]
    added: tuple[tuple[tuple[str, str, Estimate], ...], ...]
    without: tuple[Stage, ...]
    agreement: tuple[Agreement, ...]
    whole: tuple[Whole, ...]
    sizes: tuple[BySize, ...]
    lines: tuple[ErrorLine, ...]
    rules: RuleReport
    verdict: Verdict
    seconds: float
    exposed: Sequence[Exposed] = field(default=())
    recipes: Recipes | None = None

    @property
    def passed(self) -> bool:
        """Whether no excess was found, every output was reached and consistent, no rule failed and each was assessed to the end.

        Also where nothing could be attributed: outputs so coarse that no dataset is certain about anyone are not held back for that.
        """
        return not self.failed and self.rules.worst != "not assessed"

    @property
    def failed(self) -> bool:
        """Whether something speaks against the outputs: an excess, numbers that are not the data's or were not reached, a failed rule.

        Neither passed nor failed is what was not assessed to the end.
        """
        return self.verdict.word != "no excess found" or self.rules.worst == "fail"

    def __repr__(self) -> str:
        return f"Checked({self.verdict.text}; rules: {self.rules.worst}; {len(self.outputs)} outputs)"

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave: no record, no value of the data, no small count."""
        return {
            "verdict": self.verdict.to_dict(),
            "passed": self.passed,
            "settings": dict(self.settings),
            "records": about(self.records),
            "left_out": round(self.left_out, 2),
            "outputs": [output.to_dict() for output in self.outputs],
            "all": self.all.to_dict(),
            "cumulative": [
                {**stage.to_dict(), "added": [_added(one) for one in added]}
                for stage, added in zip(self.cumulative, ((), *self.added), strict=True)
            ],
            "without": [stage.to_dict() for stage in self.without],
            "agreement": [one.to_dict() for one in self.agreement],
            "whole": [one.to_dict() for one in self.whole],
            "sizes": [one.to_dict() for one in self.sizes],
            "error_lines": [one.to_dict() for one in self.lines],
            "rules": self.rules.to_dict(),
            "exposed_classes": about(len(self.exposed)),
            "run": {"seconds": round(self.seconds, 1)},
        }

    def inside(self) -> dict[str, Any]:
        """Return what must stay inside: the exposed classes with their values and counts, and the cells behind each rule."""
        return {"exposed": [one.to_dict() for one in self.exposed], "rules": self.rules.inside()}


def _added(one: tuple[str, str, Estimate]) -> dict[str, Any]:
    sensitive, convention, estimate = one
    return {"sensitive": sensitive, "convention": convention, **estimate.to_dict()}
