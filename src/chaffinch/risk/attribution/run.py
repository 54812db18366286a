"""A run of attacks: each question asked from every source, then people resampled for what the answers are worth."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._base.progress import Progress
from ...stats.combining import combine
from ...stats.excess import Excess, excess, interval
from ...stats.family import Family, family
from ...stats.splits import child
from .attack import Attack, mean_of
from .outcomes import Outcome, Question, outcomes
from .scene import Scene

__all__ = ["Run"]


class Run:
    """Attacks one after the other, and what their people's scores say together."""

    def __init__(
        self, scene: Scene, root: np.random.SeedSequence, resamples: int, threads: int | None, progress: Progress
    ) -> None:
        self.scene, self.root, self.resamples, self.threads = scene, root, resamples, threads
        self.people = ["original", *(["holdout"] if "holdout" in scene.sides else [])]
        self.attacks: list[Attack] = []
        self.held: list[list[list[Outcome]]] = []
        self.progress = progress
        self.seconds: dict[str, float] = {}

    def attack(self, question: Question, label: str | None) -> None:
        """Run every attack of a question from every source."""
        start = time.perf_counter()
        by_source = {name: self._from(name, self.people, question) for name in self.scene.synthetics}
        self._took("synthetic", start)
        start = time.perf_counter()
        sides = {"original": "original", "marginals_only": "marginals", "label_only": "label_only"}
        references = {
            side: self._from(source, ["original"], question)
            for side, source in sides.items()
            if source in self.scene.sides and (source != "label_only" or question.sensitive != label)
        }
        self._took("references", start)
        for name in next(iter(by_source.values())):
            found = [by_source[source][name] for source in self.scene.synthetics]
            self.held.append(found)
            self.attacks.append(
                Attack(
                    measure=name,
                    convention=question.convention if name == "tcap" else "",
                    keys=question.keys,
                    sensitive=question.sensitive,
                    value=mean_of([one[0].value for one in found]),
                    guess=mean_of([one[0].guess.value for one in found]),
                    guess_by=found[0][0].guess.by,
                    holdout=mean_of([one[1].value for one in found]) if len(self.people) > 1 else None,
                    n_records=self.scene.sides["original"].n_rows,
                    n_matched=found[0][0].n_matched,
                    why_not=next((one[0].why_not for one in found if one[0].why_not), ""),
                    **{side: held[name][0].value for side, held in references.items()},  # type: ignore[arg-type]
                )
            )

    def finished(self) -> tuple[tuple[Attack, ...], Family | None]:
        """Return the attacks with their intervals and excesses, and what they say together."""
        start = time.perf_counter()
        out = []
        for number, (attack, found) in enumerate(zip(self.attacks, self.held, strict=True)):
            self.progress("resampling people", number / len(self.attacks))
            stream = child(self.root, 1, number)
            told: dict[str, Any] = {"interval": self._interval(found, stream)}
            if len(self.people) > 1 and attack.value is not None:
                every = [self._excess(one, child(stream, s)) for s, one in enumerate(found)]
                both = combine(every)
                told["excess"] = every[0] if len(every) == 1 else replace(every[0], value=both.value)
                told["excess_interval"] = both.interval
            out.append(replace(attack, **told))
        together = self._together() if len(self.people) > 1 else None
        if together is not None:
            out = [
                replace(attack, p_family=together.adjusted[i], lower_bound=together.lower[i])
                for i, attack in enumerate(out)
            ]
        self._took("resampling", start)
        return tuple(out), together

    def _from(self, source: str, people: Sequence[str], question: Question) -> dict[str, list[Outcome]]:
        number = list(self.scene.sides).index(source)
        seed = int(child(self.root, 0, number).generate_state(1)[0] % (1 << 31))
        return outcomes(self.scene, source, people, question, seed=seed, threads=self.threads)

    def _interval(self, found: Sequence[list[Outcome]], stream: np.random.SeedSequence) -> tuple[float, float] | None:
        first = found[0][0]
        if len(found) > 1 or first.value is None:
            return None
        return interval(*first.group, statistic=first.statistic, resamples=self.resamples, seed=child(stream, 1 << 16))

    def _excess(self, sides: Sequence[Outcome], stream: np.random.SeedSequence) -> Excess:
        members, others = sides
        sizes = {"n_members": len(members.group[0]), "n_others": len(others.group[0])}
        if members.value is None or others.value is None or not members.statistic.counted(members.group) > 0:
            why = (
                members.why_not or others.why_not or "people cannot be drawn anew where a missing key matches anything"
            )
            return Excess(value=None, why_not=why, **sizes)  # type: ignore[arg-type]
        return excess(
            members.group, others.group, statistic=members.statistic, resamples=self.resamples, seed=stream,
            threads=self.threads,
        )  # fmt: skip

    def _together(self) -> Family:
        """Return what the attacks from the first synthetic table say together."""
        firsts = [found[0] for found in self.held]
        return family(
            [one[0].group for one in firsts], [one[1].group for one in firsts],
            statistics=[one[0].statistic for one in firsts], resamples=self.resamples, seed=child(self.root, 2),
            threads=self.threads,
        )  # fmt: skip

    def _took(self, step: str, start: float) -> None:
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start
