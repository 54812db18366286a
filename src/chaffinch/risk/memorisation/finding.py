"""What a memorisation test found: members beside others, with interval and p-value, in words too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..._base.masking import is_small, masked_count
from ..._base.text import between, number, percent, shown, signed
from .protocol import Direction, MemorisationTest, memorisation_test_of

HEAD = ("test", "people in the data", "holdout", "excess", "95 % interval", "p", "p, all together")


@dataclass(frozen=True, kw_only=True)
class MemorisationFinding:
    """One test of one released table, or of several made alike (then means over them).

    Parameters
    ----------
    value, holdout
        The mean score of members, and of people who are not; `direction` says which way is safe.
    guess
        What somebody reaches who does not look at the released values, where the test knows that.
    excess, excess_interval, p_value, detectable
        How far members are from others towards risk, see `stats.excess`; None without a holdout.
    p_family, lower_bound, upper_bound
        The p-value adjusted for all attacks and tests together, and bounds of the excess that hold for all at once, on each side.
    n_people
        Members and others who were scored; words where they are few. Tests by distance draw some of very many.
    reason
        Why there is no value, or no excess.
    """

    test: str = ""
    value: float | None = None
    holdout: float | None = None
    direction: Direction = "lower is safer"
    guess: float | None = None
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_family: float | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    detectable: float | None = None
    n_people: int | str | None = 0
    reason: str | None = None

    @property
    def about(self) -> MemorisationTest:
        """The test: what it is called, what it is defined as, and what it does not see."""
        return memorisation_test_of(self.test)

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return finding_sentence(self)

    def masked(self, threshold: int, members: float, others: float) -> MemorisationFinding:
        """Return the finding as it may leave: `members` and `others` are numbers of people behind the two shares, small ones hide them."""
        out = replace(self, n_people=masked_count(int(self.n_people or 0), threshold))
        few_members, few_others = is_small(members, threshold), is_small(others, threshold)
        if not self.about.share or not (few_members or few_others):
            return out
        reason = f"It is about fewer than {threshold} people, so its value does not leave; whether it is more than chance does."
        return replace(
            out,
            value=None if few_members else self.value,
            holdout=None,
            excess=None,
            excess_interval=None,
            upper_bound=None,
            detectable=None,
            reason=reason,
        )


def finding_sentence(finding: MemorisationFinding) -> str:
    r"""Return what a test found, as one plain sentence, with what the comparison is worth behind it.

    Examples
    --------
    >>> finding = MemorisationFinding(test="exact_row", value=0.02, holdout=0.01, excess=0.01, p_family=0.4)
    >>> print(finding_sentence(finding).replace("\u00a0", " "))
    The whole row is in the released table for 2 % of the people in the data, and for 1 % of people who are not: no more than chance gives.
    """
    if finding.value is None:
        said = shown((finding.reason or "no value was given").rstrip("."), 300)
        return f"{finding.about.title}: {said}{_worth(finding)}."
    words = percent if finding.about.share else number
    text = finding.about.sentence
    if finding.holdout is None:
        text = (
            text[: max(text.rfind(mark, 0, text.index("{holdout}")) for mark in ",;")]
            if "{holdout}" in text
            else text
        )
    text = text.replace("{value}", words(finding.value))
    text = text.replace("{holdout}", "" if finding.holdout is None else words(finding.holdout))
    if finding.guess is not None:
        text += f"; without a look at the table {words(finding.guess)} would be"
    return f"{text}{_worth(finding)}."


def _worth(finding: MemorisationFinding) -> str:
    if finding.p_family is None:
        return ""
    if finding.p_family <= 0.05 or (finding.lower_bound or 0.0) > 0:
        return ": more than chance gives"
    return ": no more than chance gives"


def finding_rows(findings: Sequence[MemorisationFinding]) -> list[list[str]]:
    """Return a row of words for each test, as `HEAD` names them."""

    def words(value: float | None) -> str:
        return "" if value is None else number(value)

    return [
        [
            one.about.title,
            words(one.value),
            words(one.holdout),
            "" if one.excess is None else signed(one.excess),
            "" if one.excess_interval is None else between(one.excess_interval),
            words(one.p_value),
            words(one.p_family),
        ]
        for one in findings
    ]
