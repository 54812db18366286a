"""What to decide a release by: what it gives away, what it is good for, what is promised, and what was not tested. No score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ..risk.attribution.verdict import RiskVerdictRow
from ..utility import VerdictRow

__all__ = ["Decision"]

NO_ATTACK = "What the table gives away was not tested: name keys and sensitive columns, and it is attacked."
NO_KEYS = "Whether someone who knows some columns of a person finds out others was not tested: name keys and sensitive columns."
NO_HOLDOUT = "There was no holdout: whether the table tells more about its own people than about others is judged by models of half of them."
OTHER_ATTACKS = "Membership and singling out were not tested: see chaffinch.membership and chaffinch.singling_out."


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The findings that a person decides by. They are not weighed against each other: that is the decision.

    Parameters
    ----------
    gives_away
        A sentence for each attack, and one for all of them together.
    good_for
        For each measure of utility its number, its references, a word and a sentence.
    promise
        What is promised, in a sentence; also where that is nothing.
    not_tested
        What this release says nothing about.
    allowed
        Whether the excess keeps to what was allowed; None where nothing was said.
    """

    gives_away: tuple[str, ...]
    good_for: tuple[VerdictRow, ...]
    promise: str
    not_tested: tuple[str, ...]
    allowed: bool | None = None

    @classmethod
    def of(
        cls, utility: Sequence[VerdictRow], risk: Sequence[RiskVerdictRow], promise: str, *, holdout: bool, keys: bool, allowed: bool | None
    ) -> Decision:  # fmt: skip
        """Return the decision that the rows of verdicts ask for; `keys`: whether somebody was tried who knows some columns."""
        missing = [row.sentence for row in utility if row.value is None]
        untested = [*([NO_KEYS] if risk and not keys else [] if risk else [NO_ATTACK]), *([] if holdout or not risk else [NO_HOLDOUT]), OTHER_ATTACKS, *missing]
        return cls(
            gives_away=tuple(row.sentence for row in risk), promise=promise, not_tested=tuple(untested), allowed=allowed,
            good_for=tuple(row for row in utility if row.value is not None),
        )  # fmt: skip

    def parts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each heading with its sentences."""
        yield "What it gives away", self.gives_away or (NO_ATTACK,)
        if self.allowed is not None:
            yield "Policy", ("The excess keeps to what is allowed." if self.allowed else "The excess is above what is allowed.",)
        yield "What it is good for", tuple(f"{row.measure}: {row.word}. {row.sentence}" for row in self.good_for)
        yield "What is promised", (self.promise,)
        yield "What was not tested", self.not_tested

    def __str__(self) -> str:
        return "\n\n".join("\n".join((name, *(f"- {line}" for line in lines))) for name, lines in self.parts())

    def _repr_html_(self) -> str:
        return "".join(
            f"<h4>{name}</h4><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" for name, lines in self.parts()
        )
