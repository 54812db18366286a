"""What a study of attribute disclosure returns: attacks between their references, what they say together, and who is exposed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from markupsafe import Markup

from ..._base.results import (
    LeftOut,
    RunFacts,
    check_format,
    from_plain,
    html_page,
    html_table,
    to_plain,
    without_none,
    write_page,
)
from ..._base.svg import Dot, dots
from ..._base.text import between, number, shown, signed, text_table
from ...stats.familywise import Family
from ...stats.sampled import SampledRecords
from ..finding import AttackerSummary, Finding, KeySetSummary, by_attacker, by_measure, keys_words
from .exposure import ExposedPeople, Funnel, Memorisation, RiskSpread
from .together import Together
from .verdict import (
    LimitVerdict,
    RiskVerdictRow,
    excess_found,
    family_sentence,
    several,
    strongest_finding,
    verdict,
    worse,
)

FORMAT, VERSION = "chaffinch-risk", 2


HEAD = (
    "attack",
    "on",
    "keys",
    "value",
    "guess",
    "holdout",
    "original",
    "label only",
    "excess",
    "95 % interval",
    "p, all together",
)


TESTS_HEAD = (
    "test",
    "people in the data",
    "holdout",
    "excess",
    "95 % interval",
    "p",
    "p, all together",
)

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
class AttackedTable:
    """A table as a report names it: its rows, small numbers masked, and its name where it is told."""

    rows: int | str | None = None
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class RiskAbout:
    """What was attacked: columns, tables, the scenario in words, what to know about how values were compared, settings, and what was left out to be quick."""

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
    sample: SampledRecords | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data; what a table does not tell is left out, and the sample where there is none."""
        plain: dict[str, Any] = to_plain(self)
        plain = (
            plain
            if self.sample is not None
            else {name: part for name, part in plain.items() if name != "sample"}
        )
        plain["original"] = without_none(plain["original"])
        plain["synthetic"] = [without_none(table) for table in plain["synthetic"]]
        plain["holdout"] = None if self.holdout is None else without_none(plain["holdout"])
        return plain

    @classmethod
    def from_dict(cls, data: Any) -> RiskAbout:
        """Return the facts that plain data hold."""
        return from_plain(cls, without_none(data), what="'about'")

    @property
    def one_synthetic(self) -> AttackedTable:
        """The synthetic tables as one: the first, whose name says how many there are."""
        first = next(iter(self.synthetic), AttackedTable())
        if len(self.synthetic) < 2:
            return first
        return replace(
            first,
            name=f"{len(self.synthetic)} syntheses, the first {shown(first.name or 'unnamed')}",
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


@dataclass(frozen=True, kw_only=True)
class CrossFit:
    """What attacks found on models of half the people, where there is no holdout; `note` says what that means."""

    about: RiskAbout = RiskAbout()
    attacks: tuple[Finding, ...] = ()
    family: Family = field(default_factory=Family)
    memorisation_tests: tuple[Finding, ...] = ()
    together: Together | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "about": self.about.to_dict(),
            **_attacks(self.attacks, self.family),
            **_tests(self.memorisation_tests),
            **_together(self.together),
            "note": self.note,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CrossFit:
        """Return what plain data hold."""
        return cls(
            about=RiskAbout.from_dict(data.get("about")),
            attacks=_parsed(data),
            note=str(data.get("note") or ""),
            family=Family.from_dict(data.get("family")),
            memorisation_tests=_parsed_tests(data),
            together=_parsed_together(data),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class RiskResult:
    """What attacks on a synthetic table found; all of it may leave, but for `confidential()`.

    Parameters
    ----------
    attacks, family
        Each attack between its references, and one p-value and bounds for all of them.
    funnel, records, classes, memorisation
        What may leave of who is exposed.
    memorisation_tests
        What the released table shows about who was in the data; in the family they stand after the attacks.
    together
        What several releases of the same people tell together, where there are several.
    cross_fit
        Attacks on models of half the people, where these were made for want of a holdout.
    policy
        What was allowed, where something was, and what the findings say of it: see `limit`.
    secrets
        The risk of each record and the classes that carry it, for `confidential()`.
    """

    about: RiskAbout
    attacks: tuple[Finding, ...]
    family: Family
    funnel: tuple[Funnel, ...] | None = None
    records: tuple[RiskSpread, ...] | None = None
    classes: tuple[ExposedPeople, ...] | None = None
    memorisation: Memorisation | None = None
    memorisation_tests: tuple[Finding, ...] = ()
    together: Together | None = None
    cross_fit: CrossFit | None = None
    policy: Mapping[str, Any] | None = None
    secrets: Mapping[str, Any] = field(default_factory=dict, compare=False)
    run: RunFacts = field(default_factory=RunFacts, compare=False)

    @property
    def lower_bound(self) -> float | None:
        """The simultaneous lower bound of the largest excess, of the cross-fit where there is one; None without a holdout."""
        return (self.family if self.cross_fit is None else self.cross_fit.family).lower_bound

    @property
    def leading(self) -> RiskResult | CrossFit:
        """The study itself, or where it has no holdout its cross-fit, if there is one."""
        return self.cross_fit if self.cross_fit is not None and self.about.holdout is None else self

    @property
    def headline(self) -> Finding | None:
        """The strongest of all findings, attacks and memorisation tests alike: what a page and the terminal name first."""
        side = self.leading
        return strongest_finding(side.attacks, side.memorisation_tests, side.family)

    @property
    def limit(self) -> LimitVerdict | None:
        """What all findings together say of the limit on the excess; None where there was none."""
        return LimitVerdict.from_policy(self.policy)

    @property
    def by_measure(self) -> tuple[KeySetSummary, ...]:
        """Mean and maximum over sets of keys."""
        return by_measure(self.attacks)

    @property
    def by_attacker(self) -> tuple[AttackerSummary, ...]:
        """Mean and maximum over attackers that say a value."""
        return by_attacker(self.attacks)

    @property
    def verdict(self) -> tuple[RiskVerdictRow, ...]:
        """A row for each attacker on each sensitive column and one for all together, with a word and a sentence."""
        return verdict(self)

    # Plain data.

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data: `chaffinch-risk`, version 2."""
        exposure = {
            name: to_plain(getattr(self, name))
            for name in ("funnel", "records", "classes", "memorisation")
        }
        return {
            "format": FORMAT,
            "version": VERSION,
            "about": self.about.to_dict(),
            **_attacks(self.attacks, self.family),
            **without_none(exposure),
            **(
                {}
                if self.memorisation is None
                else without_none({"memorisation": self.memorisation.to_dict()})
            ),
            **_tests(self.memorisation_tests),
            **_together(self.together),
            **_headline(self),
            "run": self.run.to_dict(),
            **({} if self.cross_fit is None else {"cross_fit": self.cross_fit.to_dict()}),
            **({} if self.policy is None else {"policy": dict(self.policy)}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RiskResult:
        """Return the result that plain data hold.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        check_format(data, FORMAT, VERSION, "Give the JSON of chaffinch risk.")
        crossed = data.get("cross_fit")
        return cls(
            about=RiskAbout.from_dict(data.get("about")),
            attacks=_parsed(data),
            family=Family.from_dict(data.get("family")),
            funnel=from_plain(tuple[Funnel, ...] | None, data.get("funnel"), what="'funnel'"),  # type: ignore[arg-type]
            records=from_plain(
                tuple[RiskSpread, ...] | None,  # type: ignore[arg-type]
                data.get("records"),
                what="'records'",
            ),
            classes=from_plain(
                tuple[ExposedPeople, ...] | None,  # type: ignore[arg-type]
                data.get("classes"),
                what="'classes'",
            ),
            memorisation=from_plain(
                Memorisation | None,  # type: ignore[arg-type]
                data.get("memorisation"),
                what="'memorisation'",
            ),
            memorisation_tests=_parsed_tests(data),
            together=_parsed_together(data),
            cross_fit=CrossFit.from_dict(crossed) if crossed else None,
            policy=from_plain(dict[str, Any] | None, data.get("policy"), what="'policy'"),  # type: ignore[arg-type]
            run=from_plain(RunFacts, without_none(data.get("run")), what="'run'"),
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
        """Print each attack beside its references, the worst first, and what they say together."""
        rows = self.rows()
        print(self.about.scenario, *self.about.comparison, sep="\n")
        if rows:
            print(text_table(HEAD, rows[:MOST]))
        if len(rows) > MOST:
            print(f"The {MOST} worst of {len(rows)} attacks; the others are in the JSON.")
        if self.memorisation_tests:
            print(text_table(TESTS_HEAD, finding_rows(self.memorisation_tests)))
        print(family_sentence(self.family, self.attacks, self.memorisation_tests))
        if self.together is not None:
            print(self.together.sentence)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the table, the picture and the sentences as one HTML file, and write it to a path if one is given."""
        said = [
            *(row.sentence for row in self.verdict),
            *(test.sentence for test in self.memorisation_tests),
        ]
        said += [] if self.together is None else [self.together.sentence]
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in said)
        head = "".join(
            f"<p>{escape(words)}</p>" for words in (self.about.scenario, *self.about.comparison)
        )
        title = f"What {shown(self.about.one_synthetic.name or 'the synthetic table')} gives away"
        page = html_page(title, f"{head}{self._repr_html_()}<ul>{sentences}</ul>")
        if path is not None:
            write_page(path, page, overwrite=overwrite)
        return page

    def rows(self) -> list[list[str]]:
        """Return a row of words for each attack, the worst first, as `HEAD` names them."""
        return attack_rows(self.attacks)

    def __repr__(self) -> str:
        bound = (
            "no holdout"
            if self.lower_bound is None
            else f"some excess above {self.lower_bound:.3g}"
        )
        tests = f"{len(self.memorisation_tests)} tests, " if self.memorisation_tests else ""
        return f"RiskResult({len(self.attacks)} attacks, {tests}{bound})"

    def _repr_html_(self) -> str:
        sets = several(self.attacks)
        worst = sorted((a for a in self.attacks if a.value is not None), key=worse, reverse=True)[
            :20
        ]
        plot = (
            ladder_plot("risk-ladder", "Each attack between its references", worst, several=sets)
            if worst
            else ""
        )
        attacks = f"{html_table(HEAD, self.rows()[:MOST])}{plot}" if self.attacks else ""
        tests = (
            html_table(TESTS_HEAD, finding_rows(self.memorisation_tests))
            if self.memorisation_tests
            else ""
        )
        return f"{attacks}{tests}"


def attack_rows(attacks: Sequence[Finding]) -> list[list[str]]:
    """Return a row of words for each attack, the worst first."""

    def rank(attack: Finding) -> float:
        return -(attack.excess if attack.excess is not None else attack.value or 0.0)

    return [
        [
            f"{a.attacker} ({a.convention})" if a.convention else a.attacker,
            a.sensitive,
            keys_words(a.keys, most=20),
            *(
                "" if value is None else number(value)
                for value in (a.value, a.guess, a.holdout, a.original, a.label_only, a.excess)
            ),
            "" if a.excess_interval is None else between(a.excess_interval),
            "" if a.p_family is None else number(a.p_family),
        ]
        for a in sorted(attacks, key=rank)
    ]


def finding_rows(findings: Sequence[Finding]) -> list[list[str]]:
    """Return a row of words for each test, as `TESTS_HEAD` names them."""

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


def _attacks(attacks: Sequence[Finding], family: Family) -> dict[str, Any]:
    return {
        "attacks": [_without_absent(attack) for attack in attacks],
        "family": family.to_dict(),
        "by_measure": to_plain(by_measure(attacks)),
        "by_attacker": to_plain(by_attacker(attacks)),
    }


def _headline(result: RiskResult) -> dict[str, Any]:
    """Return the headline as plain data: which finding it is, in the list it stands in, and the numbers that it is named for."""
    leading, side = result.headline, result.leading
    if leading is None:
        return {}
    attack = bool(leading.sensitive)
    findings = side.attacks if attack else side.memorisation_tests
    names = (
        "value",
        "holdout",
        "excess",
        "excess_interval",
        "p_value",
        "p_family",
        "lower_bound",
        "upper_bound",
        "detectable",
    )
    return {
        "headline": {
            "in": "attacks" if attack else "memorisation_tests",
            "number": next(place for place, one in enumerate(findings) if one is leading),
            "cross_fit": side is not result,
            "title": leading.title,
            **({"sensitive": leading.sensitive, "keys": list(leading.keys)} if attack else {}),
            "excess_found": excess_found(leading),
            **{name: to_plain(getattr(leading, name)) for name in names},
        }
    }


def _without_absent(attack: Finding) -> dict[str, Any]:
    """Return an attack as plain data; what is said of files alone is left out where tables were in memory."""
    plain: dict[str, Any] = to_plain(attack)
    return {
        name: value
        for name, value in plain.items()
        if value is not None or name not in ("records", "n_compared")
    }


def _tests(tests: Sequence[Finding]) -> dict[str, Any]:
    return {"memorisation_tests": to_plain(tests)} if tests else {}


def _parsed_tests(data: Mapping[str, Any]) -> tuple[Finding, ...]:
    return from_plain(
        tuple[Finding, ...],
        data.get("memorisation_tests") or (),
        what="'memorisation_tests'",
    )


def _together(together: Together | None) -> dict[str, Any]:
    return {} if together is None else {"together": together.to_dict()}


def _parsed_together(data: Mapping[str, Any]) -> Together | None:
    return Together.from_dict(data["together"]) if data.get("together") else None


def _parsed(data: Mapping[str, Any]) -> tuple[Finding, ...]:
    return from_plain(tuple[Finding, ...], data.get("attacks") or (), what="'attacks'")


def sides_of(attacks: Sequence[Finding]) -> list[str]:
    """Return the sides that some attack has."""
    return [side for side in SIDES if any(getattr(attack, side) is not None for attack in attacks)]


def ladder_plot(key: str, caption: str, attacks: Sequence[Finding], *, several: bool) -> Markup:
    """Return the picture; `several` says whether there are several sets of keys, which are then named."""
    rows = [
        (
            f"{a.about.short if not a.convention else a.title}: {keys_words(a.keys, most=12)}"
            if several
            else a.title,
            _dots(a),
        )
        for a in attacks
    ]
    series = sides_of(attacks)
    words = "; ".join(
        f"{name}: " + ", ".join(f"{dot.series} {number(dot.value)}" for dot in line)
        for name, line in rows[:12]
    )
    used = sorted({LANES[side] for side in series})
    return dots(
        key,
        caption,
        words,
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
