"""What every attack says about people, from one source and one set of keys: a score for each person, and how scores add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.progress import Progress, silent
from ...stats.rates import ClassStatistic, Ratio, Statistic
from ...stats.scores import Scores
from .attackers import LEARNERS, guesses
from .cap import Match, cap, dcap, disco, match
from .gcap import gcap
from .guess import By, Guess, guess
from .scene import Scene
from .tcap import Convention, Tcap, tcap_credit, tcap_of

__all__ = ["MEASURES", "Outcome", "Question", "outcomes"]

MEASURES = ("cap", "dcap", "tcap", "disco", "gcap_score", "gcap_vote")
"""Attacks that match or count; those that learn are in `attackers`."""

FEWEST = 10
"""Records that an attacker needs to learn from."""


@dataclass(frozen=True)
class Question:
    """What is attacked and with what: keys, the sensitive column, which attacks, and TCAP's convention and threshold."""

    keys: tuple[str, ...]
    sensitive: str
    measures: tuple[str, ...] = MEASURES
    attackers: tuple[str, ...] = ()
    convention: Convention = "p1"
    tau: float = 1.0
    svm_rows: int | None = 5000


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """One attack on one side of people: two numbers for each person and the rule that makes a value of them, and the guess beside it."""

    statistic: Statistic
    group: tuple[NDArray[Any], NDArray[Any]]
    value: float | None
    guess: Guess
    n_matched: int | None = None
    why_not: str = ""


def outcomes(
    scene: Scene,
    source: str,
    people: Sequence[str],
    question: Question,
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> dict[str, list[Outcome]]:
    """Return for each attack its outcome on each side of people, all attacked from one source.

    Sides are pooled where the attack's scores depend on the source alone, so that classes have one numbering.
    """
    out: dict[str, list[Outcome]] = {}
    known = [scene.values(side, question.sensitive) for side in people]
    ends = np.cumsum([len(values) for values in known])[:-1]
    asked = [name for name in question.measures if not name.startswith("gcap")]
    if asked:
        found = [_match(scene, [side], source, question) for side in people]
        rules: tuple[tuple[str, Callable[[Match], Scores], By], ...] = (
            ("cap", cap, "draw"), ("dcap", dcap, "draw"), ("disco", disco, "value"),
        )  # fmt: skip
        for name, rule, by in rules:
            if name in asked:
                out[name] = [_of_scores(rule(one), one, by) for one in found]
        if "tcap" in asked:
            out["tcap"] = _tcap(scene, source, people, question, found, ends)
    if any(name.startswith("gcap") for name in question.measures):
        out.update(_gcap(scene, source, people, question, ends, threads, progress))
    if question.attackers and scene.sides[source].n_rows < FEWEST:
        why_not = f"the source has fewer than {FEWEST} records to learn from"
        for name in question.attackers:
            out[name] = [_of_right(np.zeros(len(values)), values, "value", why_not) for values in known]
    elif question.attackers:
        learnt = tuple(name for name in question.attackers if name in LEARNERS)
        said = guesses(
            scene, source, people, question.keys, question.sensitive, attackers=learnt, svm_rows=question.svm_rows,
            seed=seed, threads=threads, progress=progress,
        )  # fmt: skip
        for name, by_side in said.items():
            out[name] = [
                _of_right(by_side[side].astype(np.float64), values, "value")
                for side, values in zip(people, known, strict=True)
            ]
    return out


def _match(scene: Scene, people: Sequence[str], source: str, question: Question) -> Match:
    people_rows, source_rows = _rows(scene, people, question), _rows(scene, [source], question)
    return match(
        *people_rows[:2], *source_rows[:2], people_missing=people_rows[2], source_missing=source_rows[2]
    )  # fmt: skip


def _rows(
    scene: Scene, sides: Sequence[str], question: Question
) -> tuple[list[NDArray[Any]], NDArray[Any], NDArray[np.bool_] | None]:
    """Return the keys, the sensitive values, and where keys are missing if that matches anything, of sides joined."""

    def joined(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]

    keys = joined([scene.keys(side, question.keys) for side in sides])
    values = np.concatenate([scene.values(side, question.sensitive) for side in sides])
    gaps = [found for side in sides if (found := scene.gaps(side, question.keys)) is not None]
    return keys, values, np.column_stack(joined(gaps)) if gaps else None


def _of_scores(scores: Scores, found: Match, by: By) -> Outcome:
    matched = int(found.matched.sum())
    why_not = "" if scores.value is not None else "no source row has the keys of any person"
    beside = guess(found.values, by=by, credit=scores.weight)
    return Outcome(Ratio(), (scores.numerator, scores.weight), scores.value, beside, matched, why_not)


def _of_right(right: NDArray[np.float64], values: NDArray[Any], by: By, why_not: str = "") -> Outcome:
    value = float(right.mean()) if len(right) and not why_not else None
    weight = np.zeros(len(right)) if why_not else np.ones(len(right))
    return Outcome(Ratio(), (right, weight), value, guess(values, by=by), None, why_not)


def _tcap(
    scene: Scene,
    source: str,
    people: Sequence[str],
    question: Question,
    found: Sequence[Match],
    ends: NDArray[np.int64],
) -> list[Outcome]:
    told = [tcap_of(one, convention=question.convention, tau=question.tau) for one in found]
    if told[0].scores is not None or scene.wildcard:
        return [_of_tcap(one, held) for one, held in zip(told, found, strict=True)]
    pooled = tcap_of(_match(scene, people, source, question), convention=question.convention, tau=question.tau)
    assert pooled.cells is not None
    statistic = ClassStatistic(pooled.cells.weight, "zero" if pooled.cells.zero else "dropped")
    groups = zip(np.split(pooled.cells.person_class, ends), np.split(pooled.cells.person_right, ends), strict=True)
    return [
        Outcome(statistic, group, one.value, _tcap_guess(one, held), one.n_matched, one.why_not)
        for one, held, group in zip(told, found, groups, strict=True)
    ]


def _of_tcap(told: Tcap, found: Match) -> Outcome:
    nobody = np.zeros(found.n_people)  # a person stands in several classes: people cannot be drawn anew
    group = (nobody, nobody) if told.scores is None else (told.scores.numerator, told.scores.weight)
    return Outcome(Ratio(), group, told.value, _tcap_guess(told, found), told.n_matched, told.why_not)


def _tcap_guess(told: Tcap, found: Match) -> Guess:
    return guess(found.values, by="value", credit=tcap_credit(found, told), counted=told.counted)


def _gcap(
    scene: Scene,
    source: str,
    people: Sequence[str],
    question: Question,
    ends: NDArray[np.int64],
    threads: int | None,
    progress: Progress,
) -> dict[str, list[Outcome]]:
    people_rows, source_rows = _rows(scene, people, question), _rows(scene, [source], question)
    found = gcap(
        *people_rows[:2], *source_rows[:2], n_levels=scene.grids[question.sensitive].size, people_missing=people_rows[2],
        source_missing=source_rows[2], threads=threads, progress=progress,
    )  # fmt: skip
    right: dict[str, tuple[NDArray[np.float64], By]] = {
        "gcap_score": (np.nan_to_num(found.score), "draw"),
        "gcap_vote": (found.correct.astype(np.float64), "value"),
    }
    values = np.split(people_rows[1], ends)
    return {
        name: [_of_right(*part, by, found.why_not) for part in zip(np.split(scores, ends), values, strict=True)]
        for name, (scores, by) in right.items()
        if name in question.measures
    }
