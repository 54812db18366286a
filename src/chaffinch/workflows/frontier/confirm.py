"""The choice, confirmed on people the search never saw; and how it is made where there is a promise of privacy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..._base.errors import InputError
from ..._base.runtime import Progress, silent
from ..._base.text import detectable_words, number, percent
from ...report.candidate import CandidateSettings
from ...report.frontier_result import Confirmation, Evaluation, FrontierChoice
from ...report.frontier_rules import ATTEMPTS, Limits, no_candidate, passes, ranked, verdict_of
from .evaluate import FrontierStudy

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
        """Return the choice under limits: the first in the order of `ranked` that the people who were set aside do not speak against."""
        if limits.max_auc is not None:
            evaluations = self.with_aucs(evaluations, limits, worth)
        some = ranked(evaluations, limits, worth)
        if not some:
            raise no_candidate(evaluations, limits)
        tried: list[Confirmation] = []
        for one in some[:ATTEMPTS]:
            tried.append(self.confirm(one.candidate, limits))
            if tried[-1].passed:
                return _chosen(one, tuple(tried), limits, worth)
        return _chosen(None, tuple(tried), limits, worth)

    def with_aucs(
        self, evaluations: Sequence[Evaluation], limits: Limits, worth: str
    ) -> list[Evaluation]:
        """Return evaluations of which the most useful that keep to the other limit have a membership AUC, up to one that keeps to both."""
        out = {one.candidate.key: one for one in evaluations}
        for one in ranked(evaluations, Limits(limits.max_excess), worth)[:MOST_AUC]:
            if one.risk.auc is None:
                self.progress("telling members from others", -1)
                out[one.candidate.key] = self.study.with_auc(one)
            if (out[one.candidate.key].risk.auc or 1.0) <= (limits.max_auc or 1.0):
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
    some = [
        CandidateSettings(epsilon=epsilon),
        CandidateSettings(epsilon=epsilon, parents=2),
        CandidateSettings(method="fieldgroups", epsilon=epsilon),
    ]
    return tuple(
        [*some, CandidateSettings(epsilon=epsilon, protected=tuple(sensitive))]
        if label is not None
        else some
    )


def _chosen(
    one: Evaluation | None, tried: tuple[Confirmation, ...], limits: Limits, worth: str
) -> FrontierChoice:
    choice = FrontierChoice(
        rule="data", limits=limits, worth=worth, evaluation=one, confirmations=tried
    )
    return replace(choice, sentence=choice_sentence(choice))


def choice_sentence(choice: FrontierChoice) -> str:
    """Return what was chosen, its figures on both parts, and how far that can be trusted."""
    last = choice.confirmation
    if choice.evaluation is None or last is None:
        tried = len(choice.confirmations)
        words = "; ".join(
            f"{one.evaluation.words}: at least {number(one.evaluation.risk.lower)}"
            for one in choice.confirmations
        )
        return (
            f"None could be confirmed: {tried} of the settings whose estimates were within {choice.limits.words} on the people of the search failed on people it never saw ({words}). "
            "Nothing is released. Allow less in the search, so that what it finds has room, or give more people."
        )
    search, unseen = choice.evaluation, last.evaluation
    said = [f"Chosen: {search.words}."]
    for one, whom in ((search, "of the search"), (unseen, "it never saw")):
        risk, figure = one.risk, one.worth_of(choice.worth)
        ends = (
            ""
            if risk.lower is None or risk.upper is None
            else f" (bounds {number(risk.lower)} to {number(risk.upper)})"
        )
        auc = "" if risk.auc is None else f", a membership AUC of {number(risk.auc)}"
        said.append(
            f"On the {one.people:,} people {whom} the largest excess is {number(risk.estimate)}{ends}{auc}, and {figure.title} {_value(figure.value)}."
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
        said.append(f"The limit {word} on people the search never saw.{power}")
    return " ".join(said)


def _value(value: float | None) -> str:
    return percent(value) if value is not None and 0 <= value <= 1 else number(value)
