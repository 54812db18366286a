"""What an audit found: a bound on what is claimed for each pair of tables and each way to look, beside the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from markupsafe import Markup

from ..._base.results import check_format, from_plain, to_plain
from ..._base.svg import Dot, dots
from ..._base.text import number
from ...privacy.ledger import shown
from ..shown import ShownResult, Words
from .pairs import Skipped

FORMAT, VERSION = "chaffinch-audit", 2
HEAD = (
    "pair",
    "box",
    "at least",
    "claimed",
    "verdict",
    "would have been found",
    "runs",
    "attacker",
)
HARDLY = "hardly any violation"
"""In place of a factor, where even noise a hundred times too small would not have been found four times out of five."""


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
        The pair of neighbouring tables; "mechanism" looks at the noisy answers of a fit, "white" into the model, "black" at the released
        table.
    measure, bound, claim
        What is bounded ("epsilon", "mu" or "rho"), its lower bound from the test runs, at the level of the whole audit divided by its
        tests, and what is claimed.
    runs, test_runs
        All runs, and those that the bound is from.
    guesses, right
        In how many test runs the attacker guessed which table it was, and how often that was right: counts of runs, not of people.
    factor
        How many times the claimed epsilon the true one would have to be for such runs to refute the claim with a probability of 80 %. None
        where that is beyond what a hundredth of the noise gives, and where the claim is refuted.
    attacker
        Who was chosen on other runs.
    """

    pair: str
    box: str
    measure: str
    bound: float
    claim: float
    runs: int
    test_runs: int
    guesses: int
    right: int
    factor: float | None
    attacker: str

    @property
    def verdict(self) -> ClaimVerdict:
        """Broken only where the bound exceeds the claim."""
        return ClaimVerdict.BROKEN if self.bound > self.claim else ClaimVerdict.NOT_REFUTED

    @property
    def share(self) -> float:
        """The bound as a share of the claim: above 1 the claim is broken."""
        return self.bound / self.claim

    @property
    def power(self) -> str:
        """Which violation would have been found with a probability of 80 %, in a word."""
        if self.verdict is ClaimVerdict.BROKEN:
            return "found"
        return HARDLY if self.factor is None else f"{self.factor:.2g} times epsilon"

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        sentence = f"Pair '{self.pair}', {self.box} box: {self.measure} is at least {self.bound:.3g}, claimed {self.claim:.3g}"
        if self.verdict is ClaimVerdict.BROKEN:
            return f"{sentence}: claim broken."
        if self.factor is None:
            return f"{sentence}: not refuted, and these {self.runs:,} runs would have found hardly any violation."
        return (
            f"{sentence}: not refuted; a true epsilon of {self.factor:.2g} times the claim would have been found with a probability of 80 % "
            f"in {self.runs:,} runs."
        )

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
        """The finding with the largest bound beside what is claimed."""
        return max(self.findings, key=lambda finding: finding.share)

    @property
    def sharpest(self) -> AuditFinding | None:
        """The finding that would have shown the smallest violation, if any would have."""
        able = [finding for finding in self.findings if finding.factor is not None]
        return min(able, key=lambda finding: finding.factor or 0.0) if able else None

    @property
    def verdict(self) -> ClaimVerdict:
        """Broken if any finding breaks the claim."""
        return (
            ClaimVerdict.BROKEN
            if any(f.verdict is ClaimVerdict.BROKEN for f in self.findings)
            else ClaimVerdict.NOT_REFUTED
        )

    @property
    def claim(self) -> str:
        """The claim in words."""
        delta = f", delta {self.delta:g}" if self.delta else ""
        return f"epsilon {shown(self.epsilon)}{delta} ({self.neighbours})"

    @property
    def lead(self) -> str:
        """The verdict in a sentence or two."""
        worst = self.worst
        if self.verdict is ClaimVerdict.BROKEN:
            means = (
                ""
                if worst.measure == "epsilon"
                else f", which is {worst.measure} {worst.claim:.3g} as it is accounted for"
            )
            return f"Claim broken: {self.claim} is claimed{means}, and {worst.measure} is at least {worst.bound:.3g}."
        sharpest = self.sharpest
        able = (
            "These runs would have found hardly any violation."
            if sharpest is None
            else f"A true epsilon of {sharpest.factor:.2g} times the claim would have been found with a probability of 80 % ({sharpest.box} box, "
            f"pair '{sharpest.pair}')."
        )
        return f"Not refuted: {self.claim} is claimed. {able} That is no proof: other tables or better attackers may show more."

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in sentences, the verdict first."""
        tests = len(self.findings)
        how = f"All bounds together hold with a confidence of {self.level:.4g}; each of the {tests} tests has {self.level_each:.6g}."
        first = self.lead
        skipped = [
            f"Pair '{s.pair}'{f', {s.box} box' if s.box else ''} was not tried: {s.reason}."
            for s in self.skipped
        ]
        return (first, how, *(finding.sentence for finding in self.findings), *skipped)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data: `chaffinch-audit`, version 2."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **({"about": dict(self.about)} if self.about else {}),
            "synthesiser": self.synthesiser,
            "verdict": str(self.verdict),
            "lead": self.lead,
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
            [
                f.pair,
                f.box,
                f"{f.measure} {f.bound:.3g}",
                f"{f.claim:.3g}",
                str(f.verdict),
                f.power,
                f"{f.runs:,}",
                f.attacker,
            ]
            for f in self.findings
        ]
        return HEAD, rows

    def said(self, *, page: bool = False) -> Sequence[str]:
        """Return the verdict and its confidence; where they are printed also what was not tried."""
        return (
            self.sentences[:2]
            if page
            else (*self.sentences[:2], *self.sentences[2 + len(self.findings) :])
        )

    def plot(self) -> Markup:
        """Return what each test proved beside the claim."""
        return bounds_plot("audit-bounds", self)

    def __repr__(self) -> str:
        return f"AuditResult({self.verdict}: claimed {self.claim}, {self.worst.measure} at least {self.worst.bound:.3g} in {len(self.findings)} tests)"


def bounds_plot(key: str, audit: AuditResult) -> Markup:
    """Return what each test proved as a share of what is claimed."""
    rows = [
        (f"{finding.pair}, {finding.box} box", (Dot("Proved", finding.share),))
        for finding in audit.findings
    ]
    worst = audit.worst
    return dots(
        key,
        "Bounds beside the claim",
        f"{len(rows)} tests; the largest bound is {number(worst.share)} of what is claimed.",
        rows,
        ("Proved",),
        label="bound over claim; the upright line is the claim",
        low=0.0,
        line=1.0,
        lanes=(0,),
        marks=(1,),
    )
