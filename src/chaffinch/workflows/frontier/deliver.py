"""A frontier in a folder: the chosen release, made of everybody and reported as `release` does, and the frontier that it was chosen from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..._base.files import filling
from ..._base.text import number
from ...report.frontier_result import (
    CandidateSettings,
    FrontierChoice,
    FrontierResult,
    RiskFigure,
    verdict_of,
)
from ...risk.settings import LimitSettings
from ...stats.intervals import LimitState
from ...synth.bayesnet.model import BayesNetModel
from ...synth.selected import SelectedSettings
from ...utility import UtilitySettings
from ..release import ReleaseResult, run_release
from ..run import CONFIDENTIAL, REFUSED, TO_RELEASE, Observer, ResultFolder, RunOptions
from ..settings import ReleaseAttack, ReleaseSettings
from .choice import Confirmer, choice_sentence, private_candidates
from .evaluate import FrontierStudy
from .run import STOPPED, FrontierRun, synthesis_settings

RESAMPLES = 1000
OF_A_RELEASE = (
    TO_RELEASE,
    *(
        f"{CONFIDENTIAL}/{name}"
        for name in ("report.json", "shapes.json", "report.html", "model.chaffinch", "refused")
    ),
)
"""What is of the release, and goes when the search is run again: another choice may release nothing."""


@dataclass(frozen=True, eq=False)
class Delivery:
    """What was written: the frontier, the release where there is one, and the names of the files."""

    result: FrontierResult
    release: ReleaseResult | None
    names: tuple[str, ...]


def deliver(
    searched: FrontierRun,
    folder: Path,
    *,
    ending: str,
    title: str | None,
    run: RunOptions,
    ledger: Path | None = None,
) -> Delivery:
    """Write a frontier into a folder, and with it the release that was chosen, where it was confirmed; all of it, or none.

    A release whose own figures exceed a limit is reported, and its table is not written; under a promise it is, since whether a table is there must not hang on
    figures: then it is among what was refused.
    """
    result, release = searched.result, None
    stopped = result.about.stopped.startswith(STOPPED)
    with filling(folder, resume=True, renewed=() if stopped else OF_A_RELEASE) as path:
        target, choice = ResultFolder(path), result.choice
        if choice is not None and (choice.allowed or not by_figures(choice)):
            output = target.leaving / f"synthetic{ending}"
            release, choice = release_chosen(
                searched, output, title=title, run=run, ledger=ledger, entry=folder.name
            )
            choice = with_release(choice, release)
            release.write_beside(target)
            table = path / (REFUSED if release.refused else TO_RELEASE) / output.name
            if by_figures(choice) and not choice.allowed:
                table.unlink()
            name = table.relative_to(path).as_posix() if table.exists() else ""
            result = replace(result, choice=replace(choice, table=name))
        target.write_report("frontier", result.to_dict(), result.to_html())
        names = target.finish()
    return Delivery(result, release, tuple(names))


def release_chosen(
    searched: FrontierRun,
    output: Path,
    *,
    title: str | None,
    run: RunOptions,
    ledger: Path | None = None,
    entry: str = "frontier",
) -> tuple[ReleaseResult, FrontierChoice]:
    """Return the release of the settings that were chosen, made of everybody, its table written to `output`; and the choice, which a private selection makes here.

    Without a promise the seed is that of the search. With one, noise is the operating system's, unless a seed was asked for: a test.
    """
    study, choice = searched.study, searched.result.choice
    assert choice is not None
    asked = study.settings
    private = selection_of(study) if choice.rule == "private" else None
    candidate = choice.candidate if private is None else CandidateSettings(epsilon=private.epsilon)
    assert candidate is not None
    synthesiser = candidate.synthesiser(asked.label) if private is None else private
    keys = tuple(name for name in asked.keys if name not in candidate.dropped)
    attack = ReleaseAttack(
        keys=keys,
        sensitive=asked.sensitive,
        label=asked.label,
        attackers=asked.attackers,
        resamples=RESAMPLES,
        limits=LimitSettings(max_excess=choice.limits.max_excess),
        threshold=asked.threshold,
    )
    settings = ReleaseSettings(
        synthesis=replace(
            synthesis_settings(asked, synthesiser, replace(asked.reading, schema=None)),
            ledger=ledger,
            entry=entry,
        ),
        utility=UtilitySettings(
            label=asked.label, formula=asked.formula, threshold=asked.threshold
        ),
        attack=attack,
        title=title,
    )
    seed = run.seed if asked.private else searched.seed
    holdout = study.holdout
    if holdout is not None and candidate.dropped:
        holdout = holdout[[name for name in holdout.schema.names if name not in candidate.dropped]]
    release = run_release(
        study.coded(candidate),
        settings,
        holdout=holdout,
        holdout_checked=True,
        # Notes on the table were shown when the search read it.
        run=replace(run, seed=seed, observer=Observer()),
        outputs=[output],
    )
    if private is None:
        return release, choice
    assert isinstance(release.model, BayesNetModel)
    return release, after_selection(study, choice, private, private.position_of(release.model))


def selection_of(study: FrontierStudy) -> SelectedSettings:
    """Return the private selection of a study: a few candidates, tables that the purpose needs to compare them by, and the largest epsilon for all of it."""
    asked = study.settings
    candidates = private_candidates(asked.epsilons, asked.sensitive, asked.label)
    pairs = (
        tuple((name, asked.label) for name in study.table.schema.names if name != asked.label)
        if asked.label is not None
        else ()
    )
    return SelectedSettings(
        epsilon=max(e for e in asked.epsilons if e is not None),
        candidates=tuple(candidate.synthesiser(asked.label) for candidate in candidates),
        workload=asked.tables or pairs,
    )


def after_selection(
    study: FrontierStudy, choice: FrontierChoice, private: SelectedSettings, position: int
) -> FrontierChoice:
    """Return the choice that the fit of the release made, with figures of it on both parts: they come after it, and had no part in it."""
    asked = study.settings
    candidates = private_candidates(asked.epsilons, asked.sensitive, asked.label)
    chosen = replace(candidates[position], epsilon=private.selection.fit.epsilon)
    confirmation = Confirmer(study).confirm(chosen, choice.limits)
    confirmed = replace(
        choice, evaluation=study.evaluate(chosen).evaluation, confirmations=(confirmation,)
    )
    how = f"Chosen privately out of {len(candidates)}, by tables that carry a promise and not by the figures here. {private.selection.sentence}"
    return replace(confirmed, sentence=f"{choice_sentence(confirmed)} {how}")


def by_figures(choice: FrontierChoice) -> bool:
    """Return whether figures of the original decide what leaves: not where there is a promise."""
    return choice.rule not in ("public", "private")


def with_release(choice: FrontierChoice, release: ReleaseResult) -> FrontierChoice:
    """Return a choice with what the release itself gives away, and in its sentence whose figure that is."""
    risk = release.risk
    if risk is None:
        return choice
    limit = risk.limit
    detectable, not_shown = (
        (None, "") if limit is None else (limit.detectable, " ".join(limit.reasons))
    )
    family = (risk if risk.cross_fit is None else risk.cross_fit).family
    figure = RiskFigure(
        lower=risk.lower_bound,
        upper=family.upper_bound,
        attacks=len(risk.findings),
        detectable=detectable,
        not_shown=not_shown,
    )
    whom = (
        "people who are not in the data"
        if risk.cross_fit is None
        else "the other half, models made of one half of them"
    )
    fate = (
        "the table was not written"
        if by_figures(choice)
        else f"the table, which was paid for, is in {REFUSED}/"
    )
    word = (
        f" That exceeds the limit: {fate}."
        if verdict_of(figure, choice.limits) is LimitState.EXCEEDS
        else ""
    )
    ends = (
        ""
        if figure.lower is None or figure.upper is None
        else f"the largest excess lies between {number(figure.lower)} and {number(figure.upper)} (simultaneous 95 % bounds)"
    )
    sentence = (
        f" Of the release itself, made of everybody, those included whom the choice was made on, and compared with {whom}: {ends}.{word}"
        if ends
        else ""
    )
    return replace(choice, released=figure, sentence=choice.sentence + sentence)
