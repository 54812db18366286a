"""The choice, confirmed on people the search never saw; how it is made where there is a promise of privacy; and which setting moved what.

The chosen and its neighbours on the front are compared one setting at a time, each step measured on the same people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..._base.errors import InputError
from ..._base.runtime import Progress, silent
from ..._base.seeds import child
from ..._base.text import detectable_words, display_name, number, percent
from ...report.frontier_result import (
    ATTEMPTS,
    CandidateSettings,
    Confirmation,
    Evaluation,
    FrontierChoice,
    Limits,
    SettingChange,
    no_candidate,
    pareto,
    passes,
    rank_evaluations,
    verdict_of,
)
from ...stats.familywise import ScoreComparison, contrasts
from ...stats.intervals import mean_interval
from .evaluate import FrontierStudy, MeasuredCandidate

MOST_AUC = 6
"""Settings of the search whose membership AUC is measured, the most useful first: each takes many fits."""


@dataclass(eq=False)
class Confirmer:
    """Chooses and confirms; it counts how often the people who were set aside were looked at, and stops when they have been too often.

    `looks` are those of earlier runs on the same people, and grow; `keep` is called when one is added.
    """

    study: FrontierStudy
    progress: Progress = silent
    looks: dict[str, Confirmation] = field(default_factory=dict)
    keep: Callable[[], object] = lambda: None

    def __call__(
        self, evaluations: Sequence[Evaluation], limits: Limits, worth: str
    ) -> FrontierChoice:
        """Return the choice under limits: the first in the order of `rank_evaluations` that the people who were set aside do not speak against."""
        if limits.max_auc is not None:
            evaluations = self.with_aucs(evaluations, limits, worth)
        candidates = rank_evaluations(evaluations, limits, worth)
        if not candidates:
            raise no_candidate(evaluations, limits)
        tried: list[Confirmation] = []
        for evaluation in candidates[:ATTEMPTS]:
            tried.append(self.confirm(evaluation.candidate, limits))
            if tried[-1].passed:
                return _data_choice(evaluation, tuple(tried), limits, worth)
        return _data_choice(None, tuple(tried), limits, worth)

    def with_aucs(
        self, evaluations: Sequence[Evaluation], limits: Limits, worth: str
    ) -> list[Evaluation]:
        """Return evaluations of which the most useful that keep to the other limit have a membership AUC, up to one that keeps to both."""
        out = {evaluation.candidate.key: evaluation for evaluation in evaluations}
        for evaluation in rank_evaluations(evaluations, Limits(limits.max_excess), worth)[
            :MOST_AUC
        ]:
            if evaluation.risk.auc is None:
                self.progress("telling members from others", -1)
                out[evaluation.candidate.key] = self.study.with_auc(evaluation)
            if (out[evaluation.candidate.key].risk.auc or 1.0) <= (limits.max_auc or 1.0):
                break
        return list(out.values())

    def confirm(self, candidate: CandidateSettings, limits: Limits) -> Confirmation:
        """Return what a candidate gives away about people the search never saw; each candidate is looked at once, and three at most."""
        known = self.looks.get(candidate.key)
        if known is None:
            if len(self.looks) >= ATTEMPTS:
                raise InputError(
                    f"The people who were set aside have been looked at {ATTEMPTS} times: they are unseen no more. Run the frontier again with other people, or another seed."
                )
            self.progress("confirming on people the search never saw", -1)
            attempt = len(self.looks) + 1
            evaluation = self.study.evaluate(candidate, self.study.confirmation).evaluation
        else:
            evaluation, attempt = known.evaluation, known.attempt
        if limits.max_auc is not None and evaluation.risk.auc is None and not evaluation.failure:
            evaluation = self.study.with_auc(evaluation, self.study.confirmation)
        confirmation = Confirmation(
            evaluation=evaluation,
            word=verdict_of(evaluation.risk, limits),
            passed=not evaluation.failure and passes(evaluation.risk, limits, attempt),
            attempt=attempt,
        )
        self.looks[candidate.key] = confirmation
        if known is None:
            self.keep()
        return confirmation


def public_candidate(epsilons: Sequence[float | None]) -> CandidateSettings:
    """Return the settings that a public rule chooses: the method's own defaults under the largest epsilon that is allowed. No figure is looked at."""
    return CandidateSettings(epsilon=max(epsilon for epsilon in epsilons if epsilon is not None))


def private_candidates(
    epsilons: Sequence[float | None], sensitive: Sequence[str], label: str | None
) -> tuple[CandidateSettings, ...]:
    """Return the settings that a private selection chooses from: a few, settled without the data, since every further one costs.

    The sensitive columns are protected in one of them where a label is there for them to hang from.
    """
    epsilon = public_candidate(epsilons).epsilon
    candidates = [
        CandidateSettings(epsilon=epsilon),
        CandidateSettings(epsilon=epsilon, parents=2),
        CandidateSettings(method="fieldgroups", epsilon=epsilon),
    ]
    return tuple(
        [*candidates, CandidateSettings(epsilon=epsilon, protected=tuple(sensitive))]
        if label is not None
        else candidates
    )


def _data_choice(
    chosen: Evaluation | None, tried: tuple[Confirmation, ...], limits: Limits, worth: str
) -> FrontierChoice:
    choice = FrontierChoice(
        rule="data", limits=limits, worth=worth, evaluation=chosen, confirmations=tried
    )
    return replace(choice, sentence=choice_sentence(choice))


def choice_sentence(choice: FrontierChoice) -> str:
    """Return what was chosen, its figures on both parts, and how far that can be trusted."""
    last = choice.confirmation
    if choice.evaluation is None or last is None:
        tried = len(choice.confirmations)
        attempts = "; ".join(
            f"{confirmation.evaluation.description}: at least {number(confirmation.evaluation.risk.lower)}"
            for confirmation in choice.confirmations
        )
        return (
            f"None could be confirmed: {tried} of the settings whose estimates were within {choice.limits.description} on the people of the search failed on people it never saw ({attempts}). "
            "Nothing is released. Allow less in the search, so that what it finds has room, or give more people."
        )
    search, unseen = choice.evaluation, last.evaluation
    sentences = [f"Chosen: {search.description}."]
    for evaluation, whom in ((search, "of the search"), (unseen, "it never saw")):
        risk, figure = evaluation.risk, evaluation.worth_of(choice.worth)
        ends = (
            ""
            if risk.lower is None or risk.upper is None
            else f" (bounds {number(risk.lower)} to {number(risk.upper)})"
        )
        auc = "" if risk.auc is None else f", a membership AUC of {number(risk.auc)}"
        sentences.append(
            f"On the {evaluation.people:,} people {whom} the largest excess is {number(risk.estimate)}{ends}{auc}, and {figure.title} {_value(figure.value)}."
        )
    if choice.limits:
        seen = unseen.risk.detectable
        power = (
            ""
            if seen is None
            else f" Detectable there in four of five tries: an excess of {detectable_words(seen[0])} by the most precise attack, {detectable_words(seen[1])} by the least."
        )
        word = {
            "shown to keep": "is shown to be kept",
            "undecided": "is undecided",
            "exceeds": "is exceeded",
        }[last.word]
        sentences.append(f"The limit {word} on people the search never saw.{power}")
    return " ".join(sentences)


def _value(value: float | None) -> str:
    return percent(value) if value is not None and 0 <= value <= 1 else number(value)


_STREAM = 30
MOST_STEPS = 5
"""Steps to a neighbour that are measured, the first of them; settings that lie further apart are said to."""


def neighbours_on_front(
    evaluations: Sequence[Evaluation], chosen: CandidateSettings, worth: str
) -> list[tuple[str, Evaluation]]:
    """Return the settings next to the chosen on the front: the safer one, and the more useful one, those there are."""
    chosen_evaluation = next(
        (evaluation for evaluation in evaluations if evaluation.candidate == chosen), None
    )
    if chosen_evaluation is None or chosen_evaluation.risk.estimate is None:
        return []
    chosen_risk = chosen_evaluation.risk.estimate
    others = [
        evaluation
        for evaluation in pareto(evaluations, worth)
        if evaluation.candidate != chosen and evaluation.risk.estimate is not None
    ]
    safer = [evaluation for evaluation in others if (evaluation.risk.estimate or 0.0) < chosen_risk]
    further = [
        evaluation for evaluation in others if (evaluation.risk.estimate or 0.0) > chosen_risk
    ]
    return [
        *(("safer", evaluation) for evaluation in safer[-1:]),
        *(("more useful", evaluation) for evaluation in further[:1]),
    ]


def changes_of(
    study: FrontierStudy,
    evaluations: Sequence[Evaluation],
    choice: FrontierChoice,
    progress: Progress = silent,
) -> tuple[SettingChange, ...]:
    """Return what each setting moves between the chosen and its neighbours: settings in between are fitted and attacked too, so that every step is measured."""
    if choice.candidate is None:
        return ()
    measured: dict[CandidateSettings, MeasuredCandidate] = {}

    def measure(candidate: CandidateSettings) -> MeasuredCandidate:
        if candidate not in measured:
            progress("measuring what single settings move", -1)
            measured[candidate] = study.evaluate(candidate)
        return measured[candidate]

    out: dict[tuple[CandidateSettings, CandidateSettings], SettingChange] = {}
    for towards, neighbour in neighbours_on_front(evaluations, choice.candidate, choice.worth):
        steps = study.space.path(choice.candidate, neighbour.candidate)[: MOST_STEPS + 1]
        for before, after in pairwise(steps):
            first, second = measure(before), measure(after)
            if not (first.evaluation.failure or second.evaluation.failure):
                out[before, after] = _change(study, first, second, choice.worth, towards)
    return tuple(out.values())


def _change(
    study: FrontierStudy,
    first: MeasuredCandidate,
    second: MeasuredCandidate,
    worth: str,
    towards: str,
) -> SettingChange:
    before, after = first.evaluation.candidate, second.evaluation.candidate
    name = next(
        field.name
        for field in fields(CandidateSettings)
        if getattr(before, field.name) != getattr(after, field.name)
    )
    attack, risk, risk_ends = _moved_risk(study, first, second)
    value, ends = _worth_change(first, second, worth)
    change = SettingChange(
        setting=name,
        towards=towards,
        before=before,
        after=after,
        attack=attack,
        risk=risk,
        risk_interval=risk_ends,
        worth_name=worth,
        worth=value,
        worth_interval=ends,
    )
    title, higher = first.evaluation.worth_of(worth).title, first.evaluation.worth_of(worth).higher
    parts = " and ".join(
        phrase for phrase in (_risk_words(change), _worth_words(change, title, higher)) if phrase
    )
    sentence = (
        f"{move_words(before, after, name)} {parts or 'moves nothing that could be measured'}."
    )
    return replace(change, sentence=sentence[:1].upper() + sentence[1:])


def _moved_risk(
    study: FrontierStudy, first: MeasuredCandidate, second: MeasuredCandidate
) -> tuple[str, float | None, tuple[float, float] | None]:
    """The difference in excess, after less before, of the attack whose excess moved furthest in standard errors, on the same people.

    The furthest of many moves by chance alone: its interval is one of intervals that hold together for all attacks (Bonferroni).
    """
    from scipy.special import ndtri

    shared = [key for key in first.attacks if key in second.attacks]
    if not shared:
        return "", None, None
    pairs = []
    for key in shared:
        (ours, theirs, rule), (old_ours, old_theirs, old_rule) = (
            second.attacks[key],
            first.attacks[key],
        )
        pairs.append(ScoreComparison([ours, old_ours], [theirs, old_theirs], [rule, old_rule]))
    excesses = contrasts(
        pairs,
        resamples=study.settings.resamples,
        seed=child(study.root, _STREAM),
        threads=study.threads,
    )
    known = [
        (key, contrast)
        for key, contrast in zip(shared, excesses, strict=True)
        if contrast.value is not None and contrast.standard_error
    ]
    if not known:
        return "", None, None
    name, top = max(
        known, key=lambda pair: abs((pair[1].value or 0.0) / (pair[1].standard_error or 1.0))
    )
    value, half = (
        top.value or 0.0,
        float(ndtri(1 - 0.025 / len(known))) * (top.standard_error or 0.0),
    )
    return name, value, (value - half, value + half)


def _worth_change(
    first: MeasuredCandidate, second: MeasuredCandidate, worth: str
) -> tuple[float | None, tuple[float, float] | None]:
    """The difference in worth, after less before; of a label on the same people, else with the errors of both."""
    before, other = first.evaluation.worth_of(worth), second.evaluation.worth_of(worth)
    if before.value is None or other.value is None:
        return None, None
    difference = other.value - before.value
    if worth == "accuracy" and len(first.scores) == len(second.scores) > 1:
        return difference, mean_interval((second.scores - first.scores).tolist())
    if before.interval is None or other.interval is None:
        return difference, None
    half = 1.96 * float(np.hypot(before.error, other.error))
    return difference, (difference - half, difference + half)


def move_words(before: CandidateSettings, after: CandidateSettings, name: str) -> str:
    """Return a change of one setting as the subject of a sentence.

    Examples
    --------
    >>> move_words(CandidateSettings(), CandidateSettings(protected=("job",)), "protected"), move_words(CandidateSettings(leaf=30), CandidateSettings(leaf=100), "leaf")
    ('protecting job', 'leaves of 100 instead of 30')
    """
    old, new = getattr(before, name), getattr(after, name)
    if name in ("protected", "dropped"):
        verbs = (
            ("protecting", "no longer protecting")
            if name == "protected"
            else ("leaving out", "putting back")
        )
        added, removed = (
            [column for column in columns if column not in other]
            for columns, other in ((new, old), (old, new))
        )
        return " and ".join(
            f"{verb} {', '.join(display_name(column, 40) for column in columns)}"
            for verb, columns in zip(verbs, (added, removed), strict=True)
            if columns
        )
    if name == "protect":
        return (
            "protecting columns together" if new == "together" else "protecting columns separately"
        )
    lead = {
        "leaf": "leaves of ",
        "smoothing": "a smoothing of ",
        "rare": "pooling levels under ",
        "epsilon": "epsilon ",
    }.get(name, "")
    tail = {"rare": " records", "bins": " bins"}.get(name, "")
    return f"{lead}{_setting(name, new)}{tail} instead of {_setting(name, old)}"


def _risk_words(change: SettingChange) -> str:
    if change.risk is None:
        return ""
    ends = _ends(change.risk_interval)
    if change.risk_interval is not None and change.risk_interval[0] <= 0 <= change.risk_interval[1]:
        return f"moves no attack's excess by more than chance (furthest {change.attack}: {_points(change.risk, sign=True)}{ends})"
    verb = "takes {} off" if change.risk < 0 else "gives {} to"
    return f"{verb.format(_points(change.risk))} attackers' excess ({change.attack}{ends})"


def _worth_words(change: SettingChange, title: str, higher: bool) -> str:
    if change.worth is None:
        return ""
    ends = _ends(change.worth_interval)
    better = change.worth == 0 or (change.worth > 0) == higher
    if (
        change.worth_interval is not None
        and change.worth_interval[0] <= 0 <= change.worth_interval[1]
    ):
        return f"changes {title} by no more than chance ({_points(change.worth, sign=True)}{ends})"
    return (
        f"{'gains' if better else 'costs'} {_points(change.worth)} of {title} ({ends.removeprefix(', ')})"
        if ends
        else f"{'gains' if better else 'costs'} {_points(change.worth)} of {title}"
    )


def _points(value: float, *, sign: bool = False) -> str:
    return f"{number(100 * (value if sign else abs(value)))} points"


def _ends(interval: tuple[float, float] | None) -> str:
    return (
        ""
        if interval is None
        else f", 95 % interval {number(100 * interval[0])} to {number(100 * interval[1])}"
    )


def _setting(name: str, value: Any) -> str:
    if name == "parents":
        return (
            "the usual number of parents"
            if value is None
            else f"at most {value} parent{'s' * (value > 1)}"
        )
    if name == "method":
        return {"bayesnet": "a network", "independent": "independent columns"}.get(
            value, "groups of columns"
        )
    return (
        "none" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)
    )
