"""A run of attackers: each asked from every source, then people resampled for what the answers say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.runtime import Progress
from .._base.seeds import child
from ..stats.excess import NO_HOLDOUT, Excess, combine, excess, interval, value_of
from ..stats.familywise import FamilywiseTest, LargestExcess, family, largest_excess
from ..stats.rates import Ratio
from .attacker import ATTACKERS
from .attribution.attack_data import AttackData
from .attribution.attempt import AttackContext, AttackScores, AttackSpec, run_attackers
from .finding import Finding, mean_of
from .memorisation.battery import memorisation_scores
from .settings import RiskSettings

SOURCES = {"original": "original", "marginals_only": "marginals", "label_only": "label_only"}
"""References of an attack on a column, and the sources that they are made from."""


@dataclass(frozen=True, eq=False, repr=False)
class Tried:
    """What one attacker was tried on: the finding so far, and from each synthetic table the scores on members, and on others where there are any.

    `n_others`: people who are not in the data.
    """

    finding: Finding
    tables: tuple[Sequence[AttackScores], ...]
    n_others: int = 0

    @property
    def first(self) -> AttackScores:
        """The scores on members, from the first table."""
        return self.tables[0][0]

    @property
    def name(self) -> str:
        """What was tried, in words."""
        column = f" on {self.finding.sensitive}" if self.finding.on_column else ""
        return f"{self.finding.title}{column}"

    def stacked(self, other: Tried) -> Tried:
        """Return what was tried on two halves of the people as one; references are means over both."""
        a, b = self.finding, other.finding
        tables = tuple(
            [mine.stacked(theirs) for mine, theirs in zip(*outcomes_of_halves, strict=True)]
            for outcomes_of_halves in zip(self.tables, other.tables, strict=True)
        )
        members, *others = tables[0]
        finding = replace(
            a,
            value=members.value,
            holdout=others[0].value if others else None,
            guess=members.guess.by(a.guess_by),
            n_people=int(a.n_people or 0) + int(b.n_people or 0),
            n_matched=members.n_matched,
            reason=a.reason or b.reason,
            **{side: mean_of([getattr(a, side), getattr(b, side)]) for side in SOURCES},  # type: ignore[arg-type]
        )
        return Tried(finding, tables, self.n_others + other.n_others)

    def people_behind(self) -> tuple[float, float]:
        """Return how many members, and how many others, the two shares are made of.

        The value of an attack on a column is a share of people, or their mean chance: times their number it is how many are found, or are to be expected. Of a
        test they are those who score, or as many as their scores add up to where that is less.
        """
        finding = self.finding
        if not finding.on_column:
            scoring = [[_scoring(side) for side in table] for table in self.tables]
            members, *others = (min(counts) for counts in zip(*scoring, strict=True))
            return members, others[0] if others else 0.0
        n_people = int(finding.n_people or 0)
        about_matched = finding.about.people == "matched" and finding.n_matched is not None
        n_matched = int(finding.n_matched or 0) if about_matched else n_people
        n_found = (finding.value or 0.0) * n_matched or (n_matched if about_matched else 0.0)
        share = n_matched / n_people if n_people else 1.0
        return n_found, (finding.holdout or 0.0) * self.n_others * share


class RiskStudy:
    """Attackers one after the other, and what their people's scores say together."""

    def __init__(
        self,
        data: AttackData,
        root: np.random.SeedSequence,
        resamples: int,
        threads: int | None,
        progress: Progress,
    ) -> None:
        self.data, self.root, self.resamples, self.threads = data, root, resamples, threads
        self.people = ["original", *(["holdout"] if "holdout" in data.by_side else [])]
        self.tried: list[Tried] = []
        self.progress = progress
        self.seconds: dict[str, float] = {}

    def attack(self, question: AttackSpec, label: str | None) -> None:
        """Run every attack of a question from every source."""
        start = time.perf_counter()
        by_source = {name: self._from(name, self.people, question) for name in self.data.synthetics}
        self._took("synthetic", start)
        start = time.perf_counter()
        references = {
            side: self._from(source, ["original"], question)
            for side, source in SOURCES.items()
            if source in self.data.by_side
            and (source != "label_only" or question.sensitive != label)
        }
        self._took("references", start)
        for name in next(iter(by_source.values())):
            tables = tuple(by_source[source][name] for source in self.data.synthetics)
            attacker, all_counts = ATTACKERS[name], self.data.all_counts
            finding = Finding(
                attacker=name,
                convention=question.convention if attacker.conventions else "",
                keys=question.keys,
                sensitive=question.sensitive,
                guess=mean_of([members.guess.by(attacker.guess_by) for members, *_ in tables]),
                guess_by=attacker.guess_by,
                n_people=self._n_people("original", counted=attacker.counted),
                n_matched=tables[0][0].n_matched,
                coarse=self.data.coarse([*question.keys, question.sensitive]),
                reason=next((members.reason for members, *_ in tables if members.reason), None),
                records=None if all_counts is None else "all" if attacker.counted else "sample",
                n_compared=None
                if all_counts is None
                else int(np.count_nonzero(_counting(tables[0][0]))),
                **{side: sources[name][0].value for side, sources in references.items()},  # type: ignore[arg-type]
            )
            self._add(finding, tables)

    def test(self, settings: RiskSettings) -> None:
        """Score everybody by the memorisation tests, from each synthetic table."""
        start = time.perf_counter()
        self.progress("memorisation tests", 0.0)
        names = settings.memorisation_tests(has_holdout=len(self.people) > 1)
        by_table = [
            memorisation_scores(
                self.data.coded,
                [source],
                names,
                keys=settings.keys,
                parts=settings.parts,
                seed=child(self.root, 4, number),
                threads=self.threads,
            )
            for number, source in enumerate(self.data.synthetics)
        ]
        for name in names:
            tables = tuple(table[name] for table in by_table)
            first = tables[0][0]
            finding = Finding(
                attacker=name,
                direction=ATTACKERS[name].direction,
                guess=first.guess.by("value"),
                n_people=sum(int(np.count_nonzero(side.group[1])) for side in tables[0]),
                reason=first.reason or None,
                records=None if self.data.all_counts is None else "sample",
            )
            self._add(finding, tables)
        self._took("memorisation tests", start)

    def _add(self, finding: Finding, tables: tuple[Sequence[AttackScores], ...]) -> None:
        """Add what was tried, with its value and the holdout's: means over the tables."""
        n_others = 0
        if len(self.people) > 1:
            n_others = self._n_people("holdout", counted=finding.about.counted)
        finding = replace(
            finding,
            value=mean_of([by_people[0].value for by_people in tables]),
            holdout=mean_of([by_people[1].value for by_people in tables]) if n_others else None,
        )
        self.tried.append(Tried(finding, tables, n_others))

    def finished(self, threshold: int) -> tuple[tuple[Finding, ...], FamilywiseTest]:
        """Return the findings with their intervals and excesses, and what they say together, as they may leave: no value about fewer than `threshold` people."""
        start = time.perf_counter()
        findings = []
        for number, (tried, stream) in enumerate(zip(self.tried, self._streams(), strict=True)):
            self.progress("resampling people", number / len(self.tried))
            findings.append(self._compared(tried, stream))
        together = self._together() if len(self.people) > 1 else FamilywiseTest(reason=NO_HOLDOUT)
        hidden: set[int] = set()
        masked = []
        for number, (finding, tried) in enumerate(zip(findings, self.tried, strict=True)):
            if together.adjusted:
                finding = replace(
                    finding,
                    p_family=together.adjusted[number],
                    lower_bound=together.lower[number],
                    upper_bound=together.upper[number],
                )
            shown = finding.masked(threshold, *tried.people_behind())
            if (finding.value, finding.excess) != (shown.value, shown.excess) or (
                shown.excess is None and not shown.on_column
            ):
                hidden.add(number)
            masked.append(shown)
        self._took("resampling", start)
        return tuple(masked), together.without(hidden, threshold)

    def _compared(self, tried: Tried, stream: np.random.SeedSequence) -> Finding:
        """Return a finding with its interval, and how far members are from others."""
        finding = tried.finding
        if finding.on_column:
            finding = replace(finding, interval=self._interval(tried, stream))
        if len(self.people) == 1:
            return replace(finding, reason=finding.reason or NO_HOLDOUT)
        if finding.value is None:
            return replace(finding, reason=finding.reason or "Nobody counts.")
        excesses = [
            self._excess(by_people, child(stream, table))
            for table, by_people in enumerate(tried.tables)
        ]
        both, first = combine(excesses), excesses[0]
        return replace(
            finding,
            excess=first.value if len(excesses) == 1 else both.value,
            excess_interval=both.interval,
            p_value=first.p_value,
            detectable=first.detectable,
            reason=finding.reason or first.reason or None,
        )

    def _streams(self) -> list[np.random.SeedSequence]:
        """The random stream of each attacker: by its question and its place among all attackers, so that who else attacks moves nothing."""
        shared = [attacker.name for attacker in ATTACKERS if not attacker.own_stream]
        findings = [tried.finding for tried in self.tried]
        targets = dict.fromkeys((f.keys, f.sensitive) for f in findings if f.on_column)
        questions = {target: number for number, target in enumerate(targets)}
        streams = []
        for finding in findings:
            attacker = finding.about
            if not finding.on_column:
                key: tuple[int, ...] = (5, attacker.stream)
            else:
                number = questions[finding.keys, finding.sensitive]
                key = (
                    (3, attacker.stream, number)
                    if attacker.own_stream
                    else (1, number * len(shared) + shared.index(attacker.name))
                )
            streams.append(child(self.root, *key))
        return streams

    def _from(
        self, source: str, people: Sequence[str], question: AttackSpec
    ) -> dict[str, list[AttackScores]]:
        number = list(self.data.by_side).index(source)
        seed = int(child(self.root, 0, number).generate_state(1)[0] % (1 << 31))
        return run_attackers(
            AttackContext(self.data, source, people, question, seed=seed, threads=self.threads)
        )

    def _interval(self, tried: Tried, stream: np.random.SeedSequence) -> tuple[float, float] | None:
        first = tried.first
        if len(tried.tables) > 1 or first.value is None:
            return None
        ends = interval(
            *first.group,
            statistic=first.statistic,
            resamples=self.resamples,
            seed=child(stream, 1 << 16),
        )
        if first.n_people is None or ends is None:
            return ends
        # Scores of a sample give the shape; the value is of all people, and its error that much smaller.
        group = first.statistic.check(first.group)
        middle, scale = (
            value_of(first.statistic, group, len(group[0])),
            sqrt(min(1.0, len(group[0]) / first.n_people)),
        )
        low, high = (first.value + (end - middle) * scale for end in ends)
        return max(0.0, low), min(1.0, high)

    def _n_people(self, side: str, *, counted: bool) -> int:
        """Return how many people of a side an attacker is about: all of them, where the data are samples of files and counts are all it needs."""
        all_counts = self.data.all_counts
        return (
            all_counts.n_rows[side]
            if all_counts is not None and counted
            else self.data.by_side[side].n_rows
        )

    def _excess(self, by_people: Sequence[AttackScores], stream: np.random.SeedSequence) -> Excess:
        members, others = by_people
        sizes = {"n_members": len(members.group[0]), "n_others": len(others.group[0])}
        if (
            members.value is None
            or others.value is None
            or not members.statistic.counted(members.group) > 0
        ):
            reason = members.reason or others.reason or "nobody is in a class that counts"
            return Excess(value=None, reason=reason, **sizes)  # type: ignore[arg-type]
        return excess(
            members.group,
            others.group,
            statistic=members.statistic,
            resamples=self.resamples,
            seed=stream,
            threads=self.threads,
        )

    def largest(self) -> tuple[LargestExcess, str]:
        """Return the largest excess of the attackers of the first synthetic table with bounds, and the name of the strongest of them in words."""
        largest = largest_excess(
            **self._pairs(),
            resamples=self.resamples,
            seed=child(self.root, 2),
            threads=self.threads,
        )
        index = largest.strongest
        return largest, "" if index is None else self.tried[index].name

    def _together(self) -> FamilywiseTest:
        """Return what the attackers of the first synthetic table say together; where there are several tables, p-values and bounds are of all of them."""
        shares = [tried.finding.about.level_share for tried in self.tried]
        first = family(
            **self._pairs(),
            level_shares=shares,
            resamples=self.resamples,
            seed=child(self.root, 2),
            threads=self.threads,
        )
        tables = min((len(tried.tables) for tried in self.tried), default=1)
        findings = len(first.lower)
        if tables < 2 or not findings:
            return first
        pairs_by_table = [self._pairs(table) for table in range(tables)]
        options: dict[str, Any] = {
            name: [value for pairs in pairs_by_table for value in pairs[name]]
            for name in ("members", "others", "statistics")
        }
        options["about_nobody"] = [
            table * findings + number
            for table, pairs in enumerate(pairs_by_table)
            for number in pairs["about_nobody"]
        ]
        options["level_shares"] = [
            None if share is None else share / tables for share in shares
        ] * tables
        over_all = family(
            **options, resamples=self.resamples, seed=child(self.root, 6), threads=self.threads
        )
        lower, upper, adjusted = (
            [values[number::findings] for number in range(findings)]
            for values in (over_all.lower, over_all.upper, over_all.adjusted)
        )
        return replace(
            first,
            p_value=over_all.p_value,
            strongest=None if over_all.strongest is None else over_all.strongest % findings,
            adjusted=tuple(min(_known_values(values), default=None) for values in adjusted),
            lower=tuple(max(_known_values(values), default=None) for values in lower),
            upper=tuple(None if None in values else max(_known_values(values)) for values in upper),
        )

    def _pairs(self, table: int = 0) -> dict[str, Any]:
        """Members and others of the attackers of a synthetic table, what their numbers are, and which are about nobody."""
        by_people = [tried.tables[table] for tried in self.tried]
        return {
            "members": [members.group for members, *_ in by_people],
            "others": [scores.group for _, *others in by_people for scores in others],
            "statistics": [members.statistic for members, *_ in by_people],
            "about_nobody": [
                number for number, (members, *_) in enumerate(by_people) if members.about_nobody
            ],
        }

    def _took(self, step: str, start: float) -> None:
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


def _known_values(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _scoring(scores: AttackScores) -> float:
    """Return the people who score, or as many as their scores add up to where that is less."""
    numerator = scores.group[0]
    return min(float(np.count_nonzero(numerator)), float(numerator.sum()))


def _counting(scores: AttackScores) -> NDArray[np.bool_]:
    """Return who of the people that were scored counts: with a weight, or in a class."""
    counting: NDArray[np.bool_] = (
        scores.group[1] > 0 if isinstance(scores.statistic, Ratio) else scores.group[0] >= 0
    )
    return counting
