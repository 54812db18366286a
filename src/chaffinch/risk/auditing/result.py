"""What an audit found: a bound on what is claimed for each pair of tables and each way to look, beside the claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from markupsafe import Markup

from ..._base.svg import Dot, dots
from ..._base.text import number
from ...privacy.ledger import six_digits
from ..finding import HARDLY, Finding, claim_factor
from ..shown import ShownResult, Words
from .pairs import Skipped


class ClaimVerdict(StrEnum):
    """Whether a claim stands. It is never proved by runs: a claim that is not refuted may be wrong."""

    BROKEN = "claim broken"
    NOT_REFUTED = "not refuted"


def claim_verdict(*findings: Finding) -> ClaimVerdict:
    """Return the verdict of findings together: broken only where a bound exceeds its claim."""
    is_broken = any(finding.excess_found for finding in findings)
    return ClaimVerdict.BROKEN if is_broken else ClaimVerdict.NOT_REFUTED


def claim_share(finding: Finding) -> float:
    """Return the bound as a share of the claim: above 1 the claim is broken."""
    assert finding.claim is not None
    return (finding.value or 0.0) / finding.claim


def power_words(finding: Finding) -> str:
    """Return which violation would have been found with a probability of 80 %, in a word."""
    if finding.excess_found:
        return "found"
    factor = claim_factor(finding)
    return HARDLY if factor is None else f"{factor:.2g} times epsilon"


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditResult(ShownResult):
    """What an audit found. Numbers of runs and names of pairs only: it may leave, except that it says how a user's table fared.

    Parameters
    ----------
    findings
        What runs on a pair of tables prove, looking in one way. `scope` has the pair of neighbouring tables, and the box: "mechanism" looks at the noisy
        answers of a fit, "white" into the model, "black" at the released table. `value` is a lower bound of the `quantity` ("epsilon", "mu" or "rho")
        from the test runs, at the level of the whole audit divided by its tests.
    synthesiser
        What was audited, in a line of settings.
    epsilon, delta, neighbours
        The claim, and the relation in words.
    level
        The confidence of all bounds together; each has `level_each` (Bonferroni).
    skipped
        What was not tried and why.

    Notes
    -----
    The others are those of `ShownResult`.
    """

    TITLE: ClassVar[str] = "Is the promise kept?"
    FORMAT: ClassVar[str] = "chaffinch-audit"
    VERSION: ClassVar[int] = 3
    SUBJECT: ClassVar[str] = "the audit"
    NEXT_STEP: ClassVar[str] = "Give the JSON of chaffinch audit."
    NEEDED: ClassVar[tuple[str, ...]] = ("scope", "value", "claim", "lower_bound", "trials")
    HEAD: ClassVar[tuple[str, ...] | None] = (
        "pair",
        "box",
        "runs",
        "at least",
        "claimed",
        "80 % power at",
        "verdict",
        "attacker",
    )

    synthesiser: str
    epsilon: float
    delta: float
    neighbours: str
    level: float
    level_each: float
    skipped: tuple[Skipped, ...] = ()

    @property
    def worst(self) -> Finding:
        """The finding with the largest bound beside what is claimed."""
        return max(self.findings, key=claim_share)

    @property
    def sharpest(self) -> Finding | None:
        """The finding that would have shown the smallest violation, if any would have."""
        able = [finding for finding in self.findings if claim_factor(finding) is not None]
        return min(able, key=lambda finding: claim_factor(finding) or 0.0, default=None)

    @property
    def verdict(self) -> ClaimVerdict:
        """Broken if any finding breaks the claim."""
        return claim_verdict(*self.findings)

    @property
    def claim(self) -> str:
        """The claim in words."""
        delta = f", delta {self.delta:g}" if self.delta else ""
        return f"epsilon {six_digits(self.epsilon)}{delta} ({self.neighbours})"

    @property
    def lead(self) -> str:
        """The verdict in a sentence or two."""
        worst = self.worst
        if self.verdict is ClaimVerdict.BROKEN:
            means = (
                ""
                if worst.quantity == "epsilon"
                else f", which is {worst.quantity} {worst.claim:.3g} as it is accounted for"
            )
            return f"Claim broken: {self.claim} is claimed{means}, and {worst.quantity} is at least {worst.value:.3g}."
        sharpest = self.sharpest
        able = "These runs would have found hardly any violation."
        if sharpest is not None:
            pair, box = sharpest.scope
            able = (
                f"A true epsilon of {claim_factor(sharpest):.2g} times the claim would have been found with a probability of 80 % ({box} box, "
                f"pair '{pair}')."
            )
        return f"Not refuted: {self.claim} is claimed. {able} That is no proof: other tables or better attackers may show more."

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, with its verdict, in a word and in words."""
        return {**super().to_dict(), "verdict": str(self.verdict), "lead": self.lead}

    def lines(self, *, page: bool = False) -> Sequence[str]:
        """Return the verdict and its confidence; where they are printed also what was not tried."""
        how = f"All bounds together hold with a confidence of {self.level:.4g}; each of the {len(self.findings)} tests has {self.level_each:.6g}."
        skipped = [
            f"Pair '{test.pair}'{f', {test.box} box' if test.box else ''} was not tried: {test.reason}."
            for test in self.skipped
        ]
        return (self.lead, how, *([] if page else skipped))

    def rows(self) -> list[list[str]]:
        """Return a row of words for each test, as `HEAD` names them."""
        return [
            [
                *finding.scope,
                f"{finding.trials.runs:,}" if finding.trials else "",
                f"{finding.quantity} {finding.value:.3g}",
                f"{finding.claim:.3g}",
                power_words(finding),
                str(claim_verdict(finding)),
                finding.attacker,
            ]
            for finding in self.findings
        ]

    def table(self, *, page: bool = False) -> Words:
        """Return a row for each test; who attacked where there is room for it."""
        columns = slice(None if page else -1)
        return (self.HEAD or ())[columns], [row[columns] for row in self.rows()]

    def plot(self) -> Markup:
        """Return what each test proved beside the claim."""
        return bounds_plot("audit-bounds", self)

    def __repr__(self) -> str:
        return f"AuditResult({self.verdict}: claimed {self.claim}, {self.worst.quantity} at least {self.worst.value:.3g} in {len(self.findings)} tests)"


def bounds_plot(key: str, audit: AuditResult) -> Markup:
    """Return what each test proved as a share of what is claimed."""
    rows = [
        (f"{finding.scope[0]}, {finding.scope[1]} box", (Dot("Proved", claim_share(finding)),))
        for finding in audit.findings
    ]
    return dots(
        key,
        "Bounds beside the claim",
        f"{len(rows)} tests; the largest bound is {number(claim_share(audit.worst))} of what is claimed.",
        rows,
        ("Proved",),
        label="bound over claim; the upright line is the claim",
        low=0.0,
        level=1.0,
        lanes=(0,),
        marks=(1,),
    )
