"""What an audit found: a bound on epsilon for each pair of tables and each way to look, beside the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from markupsafe import Markup

from ..._base.plain import check_format, from_plain, to_plain
from ..._base.svg import Dot, dots
from ..._base.words import number
from ...privacy.budget import shown
from ..shown import ShownResult, Words
from .pairs import Skipped

__all__ = ["AuditFinding", "AuditResult", "ClaimVerdict", "bounds_plot"]

FORMAT, VERSION = "chaffinch-audit", 1
HEAD = ("pair", "box", "epsilon at least", "claimed", "verdict", "could have shown", "runs", "attacker")


class ClaimVerdict(StrEnum):
    """Whether a claim stands. It is never proved by runs: a claim that is not refuted may be wrong."""

    BROKEN = "claim broken"
    NOT_REFUTED = "not refuted"


@dataclass(frozen=True)
class AuditFinding:
    """What runs on one pair of tables prove, looking in one way.

    Parameters
    ----------
    pair, box
        The pair of neighbouring tables; "black" looks at the released table, "white" into the model.
    bound
        Lower bound on epsilon from the test runs, at the level of the whole audit divided by its tests.
    epsilon, delta
        The claim.
    runs, test_runs
        All runs, and those on each table that the bound is from.
    detectable
        The largest bound that a perfect attacker could have shown with them.
    attacker
        Who was chosen on the validation runs.
    true_positives, false_positives
        Test runs on D' and on D, in which it said D': counts of runs, not of people.
    """

    pair: str
    box: str
    bound: float
    epsilon: float
    delta: float
    runs: int
    test_runs: int
    detectable: float
    attacker: str
    true_positives: int
    false_positives: int

    @property
    def verdict(self) -> ClaimVerdict:
        """Broken only where the bound exceeds the claim."""
        return ClaimVerdict.BROKEN if self.bound > self.epsilon else ClaimVerdict.NOT_REFUTED

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        words = f"Pair '{self.pair}', {self.box} box: epsilon is at least {self.bound:.3g}, claimed {shown(self.epsilon)}"
        if self.verdict is ClaimVerdict.BROKEN:
            return f"{words}: claim broken."
        if self.detectable <= self.epsilon:
            return f"{words}: not refuted, and {self.runs:,} runs could not have refuted it: they show {self.detectable:.3g} at most."
        return f"{words}: not refuted; {self.runs:,} runs could have shown up to {self.detectable:.3g}."

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {"pair": self.pair, "box": self.box, "verdict": str(self.verdict), **to_plain(self)}


@dataclass(frozen=True)
class AuditResult(ShownResult):
    """What an audit found. Numbers of runs and names of pairs only: it may leave, except that it says how a user's table fared.

    Parameters
    ----------
    synthesiser
        What was audited, in a line of settings.
    epsilon, delta, neighbours
        The claim, and the relation in words.
    level
        The confidence of all bounds together; each has `level_each` (Bonferroni).
    findings, skipped
        What was tried, and what was not and why.
    about, run
        What a command adds: its arguments, and how it ran.
    """

    title: ClassVar[str] = "Is the promise kept?"

    synthesiser: str
    epsilon: float
    delta: float
    neighbours: str
    level: float
    level_each: float
    findings: tuple[AuditFinding, ...]
    skipped: tuple[Skipped, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)
    run: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def worst(self) -> AuditFinding:
        """The finding with the largest bound."""
        return max(self.findings, key=lambda finding: finding.bound)

    @property
    def bound(self) -> float:
        """The largest bound: epsilon is at least this, with the confidence of the audit."""
        return self.worst.bound

    @property
    def verdict(self) -> ClaimVerdict:
        """Broken if any finding breaks the claim."""
        return ClaimVerdict.BROKEN if any(f.verdict is ClaimVerdict.BROKEN for f in self.findings) else ClaimVerdict.NOT_REFUTED

    @property
    def claim(self) -> str:
        """The claim in words."""
        delta = f", delta {self.delta:g}" if self.delta else ""
        return f"epsilon {shown(self.epsilon)}{delta} ({self.neighbours})"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in sentences, the verdict first."""
        tests = len(self.findings)
        how = f"All bounds together hold with a confidence of {self.level:.4g}; each of the {tests} tests has {self.level_each:.6g}."
        if self.verdict is ClaimVerdict.BROKEN:
            first = f"Claim broken: {self.claim} is claimed, and epsilon is at least {self.bound:.3g}."
        else:
            first = (
                f"Not refuted: {self.claim} is claimed, and the attacks show {self.bound:.3g}. That is no proof: other tables or "
                "better attackers may show more."
            )
        skipped = [f"Pair '{s.pair}'{f', {s.box} box' if s.box else ''} was not tried: {s.reason}." for s in self.skipped]
        return (first, how, *(finding.sentence for finding in self.findings), *skipped)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data: `chaffinch-audit`, version 1."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **({"about": dict(self.about)} if self.about else {}),
            "synthesiser": self.synthesiser,
            "verdict": str(self.verdict),
            "bound": self.bound,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "level": self.level,
            "level_each": self.level_each,
            "findings": [finding.to_dict() for finding in self.findings],
            "skipped": [{"pair": s.pair, "box": s.box, "reason": s.reason} for s in self.skipped],
            **({"run": dict(self.run)} if self.run else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditResult:
        """Return the audit that plain data hold."""
        check_format(data, FORMAT, VERSION, "Give the JSON of chaffinch audit.")
        return from_plain(cls, data, what="the audit")

    def table(self, *, page: bool = False) -> Words:
        """Return a row for each test."""
        rows = [
            [f.pair, f.box, f"{f.bound:.3g}", shown(f.epsilon), str(f.verdict), f"{f.detectable:.3g}", f"{f.runs:,}", f.attacker]
            for f in self.findings
        ]  # fmt: skip
        return HEAD, rows

    def said(self, *, page: bool = False) -> Sequence[str]:
        """Return the verdict and its confidence; where they are printed also what was not tried."""
        return self.sentences[:2] if page else (*self.sentences[:2], *self.sentences[2 + len(self.findings) :])

    def plot(self) -> Markup:
        """Return what each test proved beside the claim."""
        return bounds_plot("audit-bounds", self)

    def __repr__(self) -> str:
        return f"AuditResult({self.verdict}: claimed {self.claim}, epsilon at least {self.bound:.3g} in {len(self.findings)} tests)"


def bounds_plot(key: str, audit: AuditResult) -> Markup:
    """Return what each test proved and what it could have shown, beside the claim."""
    claim = number(audit.epsilon)
    rows = [
        (f"{finding.pair}, {finding.box} box", (Dot("Proved", finding.bound), Dot("Could have shown", finding.detectable)))
        for finding in audit.findings
    ]  # fmt: skip
    return dots(
        key, "Bounds on epsilon beside the claim", f"{len(rows)} tests; the largest bound is {number(audit.bound)}, claimed {claim}.",
        rows, ("Proved", "Could have shown"), label=f"epsilon; the upright line is the claim, {claim}", low=0.0,
        line=audit.epsilon, lanes=(0, 0), marks=(1, 2),
    )  # fmt: skip
