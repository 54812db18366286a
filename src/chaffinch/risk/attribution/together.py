"""What several releases of the same people tell together: attacks and tests from all of them at once, beside each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..._base.results import from_plain, to_plain
from ..._base.text import between, number, shown, signed
from ..memorisation.protocol import memorisation_test_of
from .attacker import attacker_of
from .verdict import keys_words

ALPHA = 0.05

JOINT_HEAD = (
    "attack or test",
    "on",
    "keys",
    "together",
    "holdout",
    "excess, together",
    "excess, each alone",
    "added",
    "95 % interval",
    "p, all together",
)


@dataclass(frozen=True, kw_only=True)
class JointFinding:
    """One attack or memorisation test by somebody who holds all releases, beside the same from each of them alone.

    Parameters
    ----------
    value, holdout
        Of the original's people and of the holdout's, from all releases at once: their rows are one table.
    excess, excess_interval, p_value
        How much more is told about members, see `stats.excess`.
    alone
        The excess from each release by itself, in their order; a model's last.
    added, added_interval, added_p, added_p_family
        The excess from all less the mean of those from each table by itself, its interval, and p-values of "nothing is added", the last
        adjusted for all attacks and tests.
    reason
        Why a number is absent.
    """

    kind: Literal["attack", "test"] = "attack"
    measure: str = ""
    convention: str | None = None
    keys: tuple[str, ...] = ()
    sensitive: str = ""
    value: float | None = None
    holdout: float | None = None
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_value: float | None = None
    alone: tuple[float | None, ...] = ()
    added: float | None = None
    added_interval: tuple[float, float] | None = None
    added_p: float | None = None
    added_p_family: float | None = None
    reason: str | None = None

    @property
    def title(self) -> str:
        """What a page calls the attack or test."""
        if self.kind == "test":
            return memorisation_test_of(self.measure).title
        return attacker_of(self.measure).title + (
            f" ({self.convention})" if self.convention else ""
        )

    @property
    def words(self) -> str:
        """The attack or test with what it is on."""
        return (
            f"{self.title} on {shown(self.sensitive, 40)} knowing {keys_words(self.keys)}"
            if self.sensitive
            else self.title
        )

    @property
    def adds(self) -> bool:
        """Whether more is told together than alone, beyond chance over all attacks and tests."""
        return self.added_p_family is not None and self.added_p_family <= ALPHA

    def row(self) -> list[str]:
        """Return a row of words, as `JOINT_HEAD` names them."""

        def one(value: float | None) -> str:
            return "" if value is None else number(value)

        return [
            self.title,
            shown(self.sensitive, 40),
            keys_words(self.keys) if self.keys else "",
            one(self.value),
            one(self.holdout),
            "" if self.excess is None else signed(self.excess),
            ", ".join("masked" if e is None else signed(e) for e in self.alone[:6]),
            "" if self.added is None else signed(self.added),
            "" if self.added_interval is None else between(self.added_interval),
            one(self.added_p_family),
        ]


@dataclass(frozen=True, kw_only=True)
class Together:
    """What somebody finds who holds several releases of the same people.

    `tables`: how many tables were released. `names`: what they are called, where they have names. `model_rows`: rows that were drawn from a model that was released too, masked as numbers
    of rows are, None without one.
    `findings`: every attack that does not learn, and every memorisation test. `reason`: why nothing can be said of what is added.
    """

    tables: int = 0
    names: tuple[str, ...] = ()
    model_rows: int | str | None = None
    findings: tuple[JointFinding, ...] = ()
    reason: str = ""

    @property
    def releases(self) -> str:
        """What was released, in words."""
        tables = f"{self.tables:,} tables" if self.tables != 1 else "the table"
        return tables if self.model_rows is None else f"{tables} and the model"

    @property
    def strongest(self) -> JointFinding | None:
        """The finding to which further releases add most beyond chance."""
        known = [one for one in self.findings if one.added_p_family is not None]
        return min(
            known, key=lambda one: (one.added_p_family or 0.0, -(one.added or 0.0)), default=None
        )

    @property
    def sentence(self) -> str:
        """What further releases add, in words.

        Examples
        --------
        >>> finding = JointFinding(kind="test", measure="exact_row", excess=0.08, alone=(0.02, 0.02), added=0.06,
        ...                        added_interval=(0.04, 0.08), added_p_family=0.001)
        >>> print(Together(tables=2, findings=(finding,)).sentence)  # doctest: +NORMALIZE_WHITESPACE
        Whoever holds 2 tables finds more than from one of them: by Exact row the excess is +0.080 from all together, and what is added to one is
        +0.060 (95 % interval 0.04 to 0.08).
        """
        strongest = self.strongest
        if strongest is None:
            return f"Attacked together: {self.reason or 'no difference could be stated.'}"
        if not strongest.adds:
            return (
                f"Whoever holds {self.releases} was not seen to find more than from one of them: over {len(self.findings):,} attacks and tests the chance "
                f"of a largest difference like this one, were nothing added, is {number(strongest.added_p_family)}."
            )
        head = (
            f"Whoever holds {self.releases} finds more than from one of them: by {strongest.words} "
        )
        if strongest.added is None or strongest.added_interval is None or strongest.excess is None:
            return f"{head}something is added, beyond chance; how much is about too few people to be said."
        return (
            f"{head}the excess is {signed(strongest.excess)} from all together, and what is added to one is {signed(strongest.added)} "
            f"(95 % interval {between(strongest.added_interval)})."
        )

    @property
    def ranked(self) -> tuple[JointFinding, ...]:
        """The findings, those to which further releases add most beyond chance first."""

        def rank(one: JointFinding) -> tuple[float, float]:
            return (2.0 if one.added_p_family is None else one.added_p_family, -(one.added or 0.0))

        return tuple(sorted(self.findings, key=rank))

    def rows(self) -> list[list[str]]:
        """Return a row of words for each finding, as `JOINT_HEAD` names them: what adds most first."""
        return [one.row() for one in self.ranked]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = to_plain(self)
        return {**plain, "sentence": self.sentence}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Together:
        """Return what plain data hold."""
        return from_plain(
            cls,
            {name: value for name, value in data.items() if name != "sentence"},
            what="'together'",
        )
