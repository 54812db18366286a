"""A run of attacks: each question asked from every source, then people resampled for what the answers are worth."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.runtime import Progress
from ..._base.seeds import child
from ...stats.excess import NO_HOLDOUT, Excess, combine, excess, interval, value_of
from ...stats.familywise import Family, LargestExcess, family, largest_excess
from ...stats.rates import Ratio
from ..attacker import ATTACKERS
from ..finding import Finding, mean_of
from ..memorisation.battery import Trial, findings, trials, with_family
from .attack_data import AttackData
from .attacker import Attempt, Outcome, Question, outcomes
from .settings import RiskSettings


class Run:
    """Attacks one after the other, and what their people's scores say together."""

    def __init__(
        self,
        data: AttackData,
        root: np.random.SeedSequence,
        resamples: int,
        threads: int | None,
        progress: Progress,
    ) -> None:
        self.data, self.root, self.resamples, self.threads = data, root, resamples, threads
        self.people = ["original", *(["holdout"] if "holdout" in data.sides else [])]
        self.attacks: list[Finding] = []
        self.outcomes: list[list[list[Outcome]]] = []
        self.trials: list[list[Trial]] = []
        self.findings: tuple[Finding, ...] = ()
        self.progress = progress
        self.seconds: dict[str, float] = {}

    def attack(self, question: Question, label: str | None) -> None:
        """Run every attack of a question from every source."""
        start = time.perf_counter()
        by_source = {name: self._from(name, self.people, question) for name in self.data.synthetics}
        self._took("synthetic", start)
        start = time.perf_counter()
        sides = {"original": "original", "marginals_only": "marginals", "label_only": "label_only"}
        references = {
            side: self._from(source, ["original"], question)
            for side, source in sides.items()
            if source in self.data.sides and (source != "label_only" or question.sensitive != label)
        }
        self._took("references", start)
        for name in next(iter(by_source.values())):
            every = [by_source[source][name] for source in self.data.synthetics]
            self.outcomes.append(every)
            self.attacks.append(
                Finding(
                    attacker=name,
                    convention=question.convention if ATTACKERS[name].conventions else "",
                    keys=question.keys,
                    sensitive=question.sensitive,
                    value=mean_of([one[0].value for one in every]),
                    guess=mean_of([one[0].guess.by(ATTACKERS[name].guess_by) for one in every]),
                    guess_by=ATTACKERS[name].guess_by,
                    holdout=mean_of([one[1].value for one in every])
                    if len(self.people) > 1
                    else None,
                    n_people=self._n_people(name),
                    n_matched=every[0][0].n_matched,
                    coarse=self.data.coarse([*question.keys, question.sensitive]),
                    reason=next((one[0].reason for one in every if one[0].reason), None),
                    records=None
                    if self.data.whole is None
                    else "all"
                    if ATTACKERS[name].counted
                    else "sample",
                    n_compared=None
                    if self.data.whole is None
                    else int(np.count_nonzero(_counts(every[0][0]))),
                    **{side: outcome[name][0].value for side, outcome in references.items()},  # type: ignore[arg-type]
                )
            )

    def test(self, settings: RiskSettings) -> None:
        """Score everybody by the memorisation tests, from each synthetic table."""
        start = time.perf_counter()
        self.progress("memorisation tests", 0.0)
        by_table = [
            trials(
                self.data.coded,
                [name],
                settings.memorisation_tests,
                keys=settings.keys,
                parts=settings.parts,
                seed=child(self.root, 4, number),
                threads=self.threads,
            )
            for number, name in enumerate(self.data.synthetics)
        ]
        self.trials = [list(every) for every in zip(*by_table, strict=True)]
        self._took("memorisation tests", start)

    def tested(self, family: Family, threshold: int) -> tuple[Finding, ...]:
        """Return what memorisation tests found, as it may leave; the family has them after the attacks."""
        return with_family(self.findings, family, len(self.attacks), self.trials, threshold)

    def finished(self) -> tuple[tuple[Finding, ...], Family]:
        """Return the attacks with their intervals and excesses, and what they say together."""
        start = time.perf_counter()
        out = []
        streams = self._streams()
        for number, (attack, every, stream) in enumerate(
            zip(self.attacks, self.outcomes, streams, strict=True)
        ):
            self.progress("resampling people", number / len(self.attacks))
            more: dict[str, Any] = {"interval": self._interval(every, stream)}
            if len(self.people) == 1:
                more["reason"] = attack.reason or NO_HOLDOUT
            elif attack.value is not None:
                excesses = [self._excess(one, child(stream, s)) for s, one in enumerate(every)]
                both, first = combine(excesses), excesses[0]
                more |= {
                    "excess": first.value if len(excesses) == 1 else both.value,
                    "excess_interval": both.interval,
                }
                more |= {"p_value": first.p_value, "detectable": first.detectable}
                more["reason"] = attack.reason or first.reason or None
            out.append(replace(attack, **more))
        self.findings = findings(
            self.trials, child(self.root, 5), resamples=self.resamples, threads=self.threads
        )
        together = self._together() if len(self.people) > 1 else Family(reason=NO_HOLDOUT)
        if together.adjusted:
            out = [
                replace(
                    attack,
                    p_family=together.adjusted[i],
                    lower_bound=together.lower[i],
                    upper_bound=together.upper[i],
                )
                for i, attack in enumerate(out)
            ]
        self._took("resampling", start)
        return tuple(out), together

    def _streams(self) -> list[np.random.SeedSequence]:
        """The random stream of each attack: by its question and its place among all attackers, so that who else attacks moves nothing."""
        shared = [attacker.name for attacker in ATTACKERS if not attacker.own_stream]
        questions = {
            question: number
            for number, question in enumerate(
                dict.fromkeys((a.keys, a.sensitive) for a in self.attacks)
            )
        }
        out = []
        for attack in self.attacks:
            attacker, number = ATTACKERS[attack.attacker], questions[attack.keys, attack.sensitive]
            key = (
                (3, attacker.stream, number)
                if attacker.own_stream
                else (1, number * len(shared) + shared.index(attacker.name))
            )
            out.append(child(self.root, *key))
        return out

    def _from(
        self, source: str, people: Sequence[str], question: Question
    ) -> dict[str, list[Outcome]]:
        number = list(self.data.sides).index(source)
        seed = int(child(self.root, 0, number).generate_state(1)[0] % (1 << 31))
        return outcomes(
            Attempt(self.data, source, people, question, seed=seed, threads=self.threads)
        )

    def _interval(
        self, every: Sequence[list[Outcome]], stream: np.random.SeedSequence
    ) -> tuple[float, float] | None:
        first = every[0][0]
        if len(every) > 1 or first.value is None:
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

    def _n_people(self, name: str) -> int:
        """Return how many people an attacker is about: all of them, where the data are samples of files and counts are all it needs."""
        whole = self.data.whole
        return (
            whole.n_rows["original"]
            if whole is not None and ATTACKERS[name].counted
            else self.data.sides["original"].n_rows
        )

    def _excess(self, sides: Sequence[Outcome], stream: np.random.SeedSequence) -> Excess:
        members, others = sides
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
        """Return the largest excess of the attacks and tests of the first synthetic table with bounds, and the name of the strongest of them in words."""
        firsts, tests = [every[0] for every in self.outcomes], [every[0] for every in self.trials]
        largest = largest_excess(
            **self._pairs(),
            resamples=self.resamples,
            seed=child(self.root, 2),
            threads=self.threads,
        )
        place = largest.strongest
        if place is None:
            return largest, ""
        if place < len(firsts):
            attack = self.attacks[place]
            return largest, f"{attack.title} on {attack.sensitive}"
        return largest, tests[place - len(firsts)].test.title

    def _together(self) -> Family:
        """Return what the attacks from the first synthetic table, and the tests of it, say together; where there are several tables, p-values and bounds are of all of them."""
        shares = [
            *(None for _ in self.outcomes),
            *(every[0].test.level_share for every in self.trials),
        ]
        first = family(
            **self._pairs(),
            level_shares=shares,
            resamples=self.resamples,
            seed=child(self.root, 2),
            threads=self.threads,
        )
        tables, findings = (
            min([*map(len, self.outcomes), *map(len, self.trials)], default=1),
            len(first.lower),
        )
        if tables < 2 or not findings:
            return first
        every = [self._pairs(table) for table in range(tables)]
        options: dict[str, Any] = {
            name: [one for pairs in every for one in pairs[name]]
            for name in ("members", "others", "statistics")
        }
        options["about_nobody"] = [
            table * findings + place
            for table, pairs in enumerate(every)
            for place in pairs["about_nobody"]
        ]
        options["level_shares"] = [
            None if share is None else share / tables for share in shares
        ] * tables
        of_all = family(
            **options, resamples=self.resamples, seed=child(self.root, 6), threads=self.threads
        )
        lower = [
            [bound for bound in of_all.lower[place::findings] if bound is not None]
            for place in range(findings)
        ]
        upper = [of_all.upper[place::findings] for place in range(findings)]
        adjusted = [
            [p for p in of_all.adjusted[place::findings] if p is not None]
            for place in range(findings)
        ]
        return replace(
            first,
            p_value=of_all.p_value,
            strongest=None if of_all.strongest is None else of_all.strongest % findings,
            adjusted=tuple(min(some, default=None) for some in adjusted),
            lower=tuple(max(bounds, default=None) for bounds in lower),
            upper=tuple(
                None if None in bounds else max(bound for bound in bounds if bound is not None)
                for bounds in upper
            ),
        )

    def _pairs(self, table: int = 0) -> dict[str, Any]:
        """Members and others of the attacks from a synthetic table, and after them of the tests, what their numbers are, and which are about nobody."""
        firsts, tests = (
            [every[table] for every in self.outcomes],
            [every[table] for every in self.trials],
        )
        return {
            "members": [*(one[0].group for one in firsts), *(one.members for one in tests)],
            "others": [
                *(one[1].group for one in firsts),
                *(one.others for one in tests if one.others is not None),
            ],
            "statistics": [*(one[0].statistic for one in firsts), *(Ratio() for _ in tests)],
            "about_nobody": [
                place for place, one in enumerate(tests, start=len(firsts)) if one.about_nobody
            ],
        }

    def _took(self, step: str, start: float) -> None:
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


def _counts(outcome: Outcome) -> NDArray[np.bool_]:
    """Return who of the people that were scored counts: with a weight, or in a class."""
    counted: NDArray[np.bool_] = (
        outcome.group[1] > 0 if isinstance(outcome.statistic, Ratio) else outcome.group[0] >= 0
    )
    return counted
