"""What a rule found: a status with its evidence, in two versions, one that may leave and one for the inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field as Key

from ..._base.results import plain_form, to_plain

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
    looked at did not fail) or `fail`. `cells` and `total` are how many of the output's cells, groups or coefficients it is about, out of how many
    that the rule looked at: numbers of cells, not of people. `where` are the names of those cells, for the inside only; `sentence` is a plain
    one, without small counts.
    """

    output: str
    other: str | None
    rule: str
    status: Status
    statbarn: str
    cells: int
    total: Annotated[int, Key(validation_alias="of")] = field(metadata=plain_form(key="of"))
    where: tuple[str, ...]
    sentence: Annotated[str, Key(validation_alias="words")] = field(
        metadata=plain_form(key="words")
    )
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All outputs that it is about."""
        return (self.output, *([] if self.other is None else [self.other]), *self.others)

    def __repr__(self) -> str:
        return f"RuleFinding({self.output!r}, {self.rule!r}, {self.status!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave."""
        return {key: value for key, value in to_plain(self).items() if key != "where"}

    def confidential(self) -> dict[str, Any]:
        """Return everything, names of cells included."""
        return {**self.to_dict(), "where": list(self.where)}


@dataclass(frozen=True)
class RuleReport:
    """What all rules said of all outputs, and by which policy.

    Examples
    --------
    >>> report = RuleReport((finding("t", "table", "threshold", [], total=4, clear_sentence="No cell is small.", sentence=""),), "default", "0" * 64)
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

    def about(self, output: str) -> tuple[RuleFinding, ...]:
        """Return the findings about an output, those that name it as the other one included."""
        return tuple(finding for finding in self.findings if output in finding.names)

    def status(self, output: str) -> Status:
        """Return the worst status of an output."""
        return _worst(self.about(output))

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave."""
        return {
            "policy": self.policy,
            "policy_hash": self.policy_hash,
            "worst": self.worst,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def confidential(self) -> dict[str, Any]:
        """Return everything."""
        findings = [finding.confidential() for finding in self.findings]
        return {**self.to_dict(), "findings": findings}


def _worst(findings: Iterable[RuleFinding]) -> Status:
    return max((finding.status for finding in findings), key=ORDER.index, default="pass")


def finding(
    output: str,
    kind: str,
    rule: str,
    where: Sequence[str],
    *,
    total: int,
    sentence: str,
    clear_sentence: str = "",
    status: Status = "fail",
    other: str | None = None,
    others: Sequence[str] = (),
) -> RuleFinding:
    """Return a finding: `status` with its `sentence`, or `pass` with its own where no place is named.

    `other` is the one other output that it is about, `others` are several.
    """
    return RuleFinding(
        output,
        other,
        rule,
        status if where else "pass",
        statbarn_of(kind),
        len(where),
        total,
        tuple(where),
        sentence if where else clear_sentence,
        tuple(others),
    )


def not_assessed(output: str, kind: str, rule: str, why: str) -> RuleFinding:
    """Return that a rule could not look at an output, so that it does not vouch for it."""
    return finding(output, kind, rule, [output], total=1, sentence=why, status="not assessed")


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


def count_phrase(count: int, total: int, noun: str = "cell") -> str:
    """Return "1 of 4 cells" with its verb's number left to the caller.

    Examples
    --------
    >>> count_phrase(1, 4), count_phrase(1, 1, "group")
    ('1 of 4 cells', 'the only group')
    """
    if total == 1:
        return f"the only {noun}"
    return f"{count} of {total} {noun}s"
