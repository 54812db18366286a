"""What a rule found: a status with its evidence, in two versions, one that may leave and one for the inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["pass", "review", "not assessed", "fail"]
ORDER: tuple[Status, ...] = ("pass", "review", "not assessed", "fail")
"""From good to bad: what was not looked at may be worse than what a person should look at."""


def statbarn_of(kind: str) -> str:
    """Return the class that ACRO files a kind of output under.

    Examples
    --------
    >>> statbarn_of("table"), statbarn_of("logit")
    ('Frequencies', 'CorrelationCoefficients')
    """
    from ..kinds import KINDS

    return KINDS[kind].statbarn


@dataclass(frozen=True)
class RuleFinding:
    """What one rule said of one output, or between it and an `other`, or of several together (`others`).

    A status is `pass`, `review` (a person should look), `not assessed` (a limit was reached before everything was looked at, and what was
    looked at did not fail) or `fail`. `cells` and `of` are how many of the output's cells, groups or coefficients it is about, out of how many
    that the rule looked at: numbers of cells, not of people. `where` are the names of those cells, for the inside only; `words` one plain
    sentence, without small counts.
    """

    output: str
    other: str | None
    rule: str
    status: Status
    statbarn: str
    cells: int
    of: int
    where: tuple[str, ...]
    words: str
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All outputs that it is about."""
        return (self.output, *([] if self.other is None else [self.other]), *self.others)

    def __repr__(self) -> str:
        return f"RuleFinding({self.output!r}, {self.rule!r}, {self.status!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave."""
        return {
            **{key: value for key, value in asdict(self).items() if key != "where"},
            "others": list(self.others),
        }

    def confidential(self) -> dict[str, Any]:
        """Return everything, names of cells included."""
        return {**self.to_dict(), "where": list(self.where)}


@dataclass(frozen=True)
class RuleReport:
    """What all rules said of all outputs, and by which policy.

    Examples
    --------
    >>> report = RuleReport((finding("t", "table", "threshold", [], of=4, good="No cell is small.", bad=""),), "default", "0" * 64)
    >>> report.worst, report.to_dict()["findings"][0]["words"]
    ('pass', 'No cell is small.')
    """

    findings: tuple[RuleFinding, ...]
    policy: str
    policy_hash: str

    def __iter__(self) -> Iterator[RuleFinding]:
        return iter(self.findings)

    def __repr__(self) -> str:
        return f"RuleReport({len(self.findings)} findings, worst={self.worst!r})"

    @property
    def worst(self) -> Status:
        """The worst status of all."""
        return _worst(self.findings)

    def of(self, output: str) -> tuple[RuleFinding, ...]:
        """Return the findings about an output, those that name it as the other one included."""
        return tuple(one for one in self.findings if output in one.names)

    def status(self, output: str) -> Status:
        """Return the worst status of an output."""
        return _worst(self.of(output))

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave."""
        return {**self._head(), "findings": [one.to_dict() for one in self.findings]}

    def confidential(self) -> dict[str, Any]:
        """Return everything."""
        return {**self._head(), "findings": [one.confidential() for one in self.findings]}

    def _head(self) -> dict[str, Any]:
        return {"policy": self.policy, "policy_hash": self.policy_hash, "worst": self.worst}


def _worst(findings: Iterable[RuleFinding]) -> Status:
    return max((one.status for one in findings), key=ORDER.index, default="pass")


def finding(
    output: str,
    kind: str,
    rule: str,
    where: Sequence[str],
    *,
    of: int,
    good: str,
    bad: str,
    status: Status = "fail",
    other: str | None = None,
    others: Sequence[str] = (),
) -> RuleFinding:
    """Return a finding: `pass` in the words of `good` where nothing is named, `status` in those of `bad` otherwise.

    `other` is the one other output that it is about, `others` are several.
    """
    verdict: Status = status if where else "pass"
    words = bad if where else good
    return RuleFinding(
        output,
        other,
        rule,
        verdict,
        statbarn_of(kind),
        len(where),
        of,
        tuple(where),
        words,
        tuple(others),
    )


def not_assessed(output: str, kind: str, rule: str, why: str) -> RuleFinding:
    """Return that a rule could not look at an output, so that it does not vouch for it."""
    return finding(output, kind, rule, [output], of=1, good="", bad=why, status="not assessed")


def cells_in_words(count: int, threshold: int) -> str:
    """Return a number of cells for a sentence; not a small one.

    Examples
    --------
    >>> cells_in_words(4909, 10), cells_in_words(0, 10), cells_in_words(3, 10)
    ('4,909', 'none', 'fewer than 10')
    """
    if count == 0:
        return "none"
    return f"{count:,}" if count >= threshold else f"fewer than {threshold}"


def count_phrase(count: int, of: int, noun: str = "cell") -> str:
    """Return "1 of 4 cells" with its verb's number left to the caller.

    Examples
    --------
    >>> count_phrase(1, 4), count_phrase(1, 1, "group")
    ('1 of 4 cells', 'the only group')
    """
    if of == 1:
        return f"the only {noun}"
    return f"{count} of {of} {noun}s"
