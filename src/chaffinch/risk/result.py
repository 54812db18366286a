"""What a study of attribute disclosure returns: attacks between their references, what they say together, and who is exposed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, ClassVar

from markupsafe import Markup

from .._base.results import (
    NOT_WRITTEN,
    UNLESS_EMPTY,
    UNLESS_NONE,
    LeftOut,
    PlainData,
    RunFacts,
    TabularResult,
    from_plain,
    html_page,
    html_table,
    to_plain,
    write_page,
)
from .._base.svg import Dot, dots
from .._base.text import count_noun, display_name, number, text_table
from ..stats.familywise import FamilywiseTest
from ..stats.sampled import SampledRecords
from .attribution.exposure import ExposedPeople, Funnel, Memorisation, RiskSpread
from .finding import (
    HEAD,
    Finding,
    column_findings,
    finding_rows,
    has_several_key_sets,
    keys_words,
    over_attackers,
    over_key_sets,
    worst_of_key_sets,
)
from .together import MultiReleaseResult
from .verdict import LimitVerdict, family_sentence, strongest_finding

MOST = 30


SIDES = {
    "original": "original",
    "value": "synthetic",
    "marginals_only": "marginals only",
    "holdout": "holdout",
    "label_only": "label only",
    "guess": "guess",
}
"""What stands on a ladder, by the fields of an attack."""


LANES = {"original": 0, "marginals_only": 0, "guess": 0, "label_only": 1, "holdout": 1, "value": 2}


@dataclass(frozen=True)
class AttackedTable(PlainData):
    """A table as a report names it: its rows, small numbers masked, and its name where it is told."""

    rows: int | str | None = field(default=None, metadata=UNLESS_NONE)
    name: str | None = field(default=None, metadata=UNLESS_NONE)


@dataclass(frozen=True, kw_only=True)
class RiskAbout(PlainData):
    """What was attacked: columns, tables, the scenario in words, what to know about how values were compared, settings, and what was left out to be quick."""

    SUBJECT: ClassVar[str] = "'about'"

    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    key_sizes: tuple[int, int] | None = None
    key_sets: int | None = None
    label: str | None = None
    scenario: str = ""
    comparison: tuple[str, ...] = ()
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    original: AttackedTable = AttackedTable()
    synthetic: tuple[AttackedTable, ...] = ()
    holdout: AttackedTable | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    sample: SampledRecords | None = field(default=None, metadata=UNLESS_NONE)

    @property
    def one_synthetic(self) -> AttackedTable:
        """The synthetic tables as one: the first, whose name says how many there are."""
        first = next(iter(self.synthetic), AttackedTable())
        if len(self.synthetic) < 2:
            return first
        return replace(
            first,
            name=f"{len(self.synthetic)} syntheses, the first {display_name(first.name or 'unnamed')}",
        )

    def named(
        self, original: str | None, synthetic: Sequence[str], holdout: str | None
    ) -> RiskAbout:
        """Return the facts with the names of tables."""
        return replace(
            self,
            original=replace(self.original, name=original),
            synthetic=tuple(
                replace(table, name=name)
                for table, name in zip(self.synthetic, synthetic, strict=True)
            ),
            holdout=None if self.holdout is None else replace(self.holdout, name=holdout),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class RiskResult(TabularResult):
    """What attacks on a synthetic table found; all of it may leave, but for `confidential()`.

    Parameters
    ----------
    findings, family
        What each attacker found, attacks on columns first, and one p-value and bounds for all of them.
    funnel, records, classes, memorisation
        What may leave of who is exposed.
    together
        What several releases of the same people tell together, where there are several.
    cross_fit
        The study of models of half the people, where there is no holdout; its `note` says what that means.
    policy
        What was allowed, where something was, and what the findings say of it: see `limit`.
    secrets
        The risk of each record and the classes that carry it, for `confidential()`.
    """

    FORMAT: ClassVar[str] = "chaffinch-risk"
    VERSION: ClassVar[int] = 3
    SUBJECT: ClassVar[str] = "the study of risk"
    NEXT_STEP: ClassVar[str] = "Give the JSON of chaffinch risk."
    HEAD: ClassVar[tuple[str, ...]] = HEAD

    about: RiskAbout = RiskAbout()
    findings: tuple[Finding, ...] = ()
    family: FamilywiseTest = field(default_factory=FamilywiseTest)
    funnel: tuple[Funnel, ...] | None = field(default=None, metadata=UNLESS_NONE)
    records: tuple[RiskSpread, ...] | None = field(default=None, metadata=UNLESS_NONE)
    classes: tuple[ExposedPeople, ...] | None = field(default=None, metadata=UNLESS_NONE)
    memorisation: Memorisation | None = field(default=None, metadata=UNLESS_NONE)
    together: MultiReleaseResult | None = field(default=None, metadata=UNLESS_NONE)
    note: str = field(default="", metadata=UNLESS_EMPTY)
    run: RunFacts = field(default_factory=RunFacts, compare=False)
    cross_fit: RiskResult | None = field(default=None, metadata=UNLESS_NONE)
    policy: Mapping[str, Any] | None = field(default=None, metadata=UNLESS_NONE)
    secrets: Mapping[str, Any] = field(default_factory=dict, compare=False, metadata=NOT_WRITTEN)

    @property
    def lower_bound(self) -> float | None:
        """The simultaneous lower bound of the largest excess, of the cross-fit where there is one; None without a holdout."""
        return (self.cross_fit or self).family.lower_bound

    @property
    def leading(self) -> RiskResult:
        """The study itself, or where it has no holdout its cross-fit, if there is one."""
        return self.cross_fit if self.cross_fit is not None and self.about.holdout is None else self

    @property
    def headline(self) -> Finding | None:
        """The strongest of all findings: what a page and the terminal name first."""
        return strongest_finding(self.leading.findings, self.leading.family)

    @property
    def limit(self) -> LimitVerdict | None:
        """What all findings together say of the limit on the excess; None where there was none."""
        return LimitVerdict.from_policy(self.policy)

    @property
    def sentence(self) -> str:
        """What all findings say together."""
        return family_sentence(self.findings, self.family)

    # Plain data.

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data: `chaffinch-risk`, version 3; with means over sets of keys and over attackers, and the headline."""
        return {
            **super().to_dict(),
            "over_key_sets": to_plain(over_key_sets(self.findings)),
            "over_attackers": to_plain(over_attackers(self.findings)),
            **_headline(self),
        }

    @classmethod
    def _parsed(cls, data: Mapping[str, Any]) -> RiskResult:
        crossed = data.get("cross_fit")
        return from_plain(
            cls,
            {**data, "cross_fit": None if crossed is None else cls.from_dict(crossed)},
            what=cls.SUBJECT,
        )

    def confidential(self) -> dict[str, Any]:
        """Return what is for the steward's eyes alone."""
        return {
            "confidential": True,
            "format": "chaffinch-confidential",
            "version": 1,
            **self.secrets,
        }

    def named(
        self, *, original: str | None, synthetic: Sequence[str], holdout: str | None = None
    ) -> RiskResult:
        """Return the result with the names of its tables."""
        joint = None if self.together is None else replace(self.together, names=tuple(synthetic))
        return replace(self, about=self.about.named(original, synthetic, holdout), together=joint)

    # What is shown.

    def show(self) -> None:
        """Print each finding beside its references, the worst first, and what they say together."""
        rows = self.rows()
        print(self.about.scenario, *self.about.comparison, sep="\n")
        if rows:
            print(text_table(HEAD, rows[:MOST]))
        if len(rows) > MOST:
            print(f"The {MOST} worst of {len(rows)} attacks; the others are in the JSON.")
        print(self.sentence)
        if self.together is not None:
            print(self.together.sentence)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the table, the picture and the sentences as one HTML file, and write it to a path if one is given."""
        sentences = [
            *(finding.sentence for finding in worst_of_key_sets(self.findings)),
            self.sentence,
        ]
        sentences += [] if self.together is None else [self.together.sentence]
        listed = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        head = "".join(
            f"<p>{escape(line)}</p>" for line in (self.about.scenario, *self.about.comparison)
        )
        title = f"What {display_name(self.about.one_synthetic.name or 'the synthetic table')} gives away"
        page = html_page(title, f"{head}{self._repr_html_()}<ul>{listed}</ul>")
        if path is not None:
            write_page(path, page, overwrite=overwrite)
        return page

    def rows(self) -> list[list[str]]:
        """Return a row of words for each finding, the worst first, as `HEAD` of `risk.finding` names them."""
        return finding_rows(self.findings)

    def __repr__(self) -> str:
        bound = (
            "no holdout"
            if self.lower_bound is None
            else f"some excess above {self.lower_bound:.3g}"
        )
        return f"RiskResult({count_noun(len(self.findings), 'finding')}, {bound})"

    def _repr_html_(self) -> str:
        if not self.findings:
            return ""
        attacks = [
            finding for finding in column_findings(self.findings) if finding.value is not None
        ]
        worst = sorted(attacks, key=lambda finding: finding.rank, reverse=True)[:20]
        plot = (
            ladder_plot(
                "risk-ladder",
                "Each attack between its references",
                worst,
                several=has_several_key_sets(attacks),
            )
            if worst
            else ""
        )
        return f"{html_table(HEAD, self.rows()[:MOST])}{plot}"


def _headline(result: RiskResult) -> dict[str, Any]:
    """Return the headline as plain data: the finding, its number, and whether it is of the cross-fit."""
    finding, side = result.headline, result.leading
    if finding is None:
        return {}
    number = next(index for index, other in enumerate(side.findings) if other is finding)
    about = {"number": number, "cross_fit": side is not result, "title": finding.title}
    return {"headline": {**about, **finding.to_dict()}}


def sides_of(attacks: Sequence[Finding]) -> list[str]:
    """Return the sides that some attack has."""
    return [side for side in SIDES if any(getattr(attack, side) is not None for attack in attacks)]


def ladder_plot(key: str, caption: str, attacks: Sequence[Finding], *, several: bool) -> Markup:
    """Return the picture; `several` says whether there are several sets of keys, which are then named."""
    rows = [
        (
            f"{a.short_title}: {keys_words(a.keys, limit=12)}" if several else a.title,
            _dots(a),
        )
        for a in attacks
    ]
    series = sides_of(attacks)
    description = "; ".join(
        f"{name}: " + ", ".join(f"{dot.series} {number(dot.value)}" for dot in line)
        for name, line in rows[:12]
    )
    used = sorted({LANES[side] for side in series})
    return dots(
        key,
        caption,
        description,
        rows,
        [SIDES[side] for side in series],
        label="share of people for whom the attack is right; bars: 95 % interval",
        low=0.0,
        high=1.0,
        lanes=[used.index(LANES[side]) for side in series],
        marks=[list(SIDES).index(side) for side in series],
    )


def _dots(attack: Finding) -> list[Dot]:
    ends = attack.interval or (None, None)
    return [
        Dot(name, value, *(ends if side == "value" else (None, None)))
        for side, name in SIDES.items()
        if (value := getattr(attack, side)) is not None
    ]
