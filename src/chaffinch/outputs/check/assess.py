"""May these outputs leave? One assessment: what datasets evolved from them give away, and what the rules of thumb say.

For each of two folds the outputs are computed from its records alone, many datasets are evolved from the numbers alone, and these datasets
attack the fold's people and people held out. Elliot, Little and Allmendinger do this with one dataset; an ensemble gives an interval.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ..._base.errors import InputError, listed, unknown_name
from ..._base.masking import masked_count
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..columns import Codes
from ..contradictions import check_contradictions
from ..document import Outputs, named_columns
from ..fields import Fields
from ..limits import check_start, check_tolerance
from ..refit import compared
from ..rules import Policy, RuleReport, check_rules
from ..rules.findings import statbarn_of
from ..solve.budget import proposals_of, seconds_each
from .agreement import agreement_of, exposed_classes
from .assessment import Assessment, CheckRun, Stage
from .attribution import attack_of
from .ensembles import EnsembleMaker, Evolver
from .error_lines import error_lines
from .folds import folds
from .result import CheckedOutput, CheckResult
from .settings import CheckSettings, ResolvedSettings
from .sizes import by_size
from .verdict import verdict_of
from .whole import whole_data

if TYPE_CHECKING:
    from ...table import Table
    from ..records import TableCoder

__all__ = ["check_recipes"]

SECONDS = 20.0
"""What a search may take unless something else is asked for."""
MOST_STEPS = 8
"""Steps in which new outputs are added to each other: each is an assessment of its own."""


def check_recipes(
    recipes: Outputs, data: Table | TableCoder | Codes, settings: CheckSettings, *, released: Outputs | None = None, policy: Policy | None = None,
    seed: Seed = None, workers: int | None = None, maker: EnsembleMaker | None = None, progress: Progress = silent,
) -> CheckResult:  # fmt: skip
    """Return what outputs give away about the people they come from.

    1. Put the outputs and those released already over the same columns, and the records into their codes.
    2. Divide the people into folds, and say who attacks them.
    3. Compare published numbers with the data, and ask the rules.
    4. Compute the outputs of each fold, and say how long a search may be.
    5. Assess the outputs as they are added, all together, and without each.
    6. Assess what else was asked for: all the data, sizes, errors.
    7. Conclude.

    `recipes` are outputs that can be computed from any records (`read_outputs`), `data` the records or codes of the recipes' columns. Results
    do not depend on `workers`, how many processes and threads work at once; a `maker` makes ensembles in place of `evolve`.
    """
    began, policy = time.perf_counter(), policy or Policy()
    threshold = settings.least_shown(policy)

    # 1. Outputs, columns and records.
    outputs = _output_set(recipes, released, settings, threshold)
    codes, left_out = _codes(outputs.recipes.fields, data, recipes.fields)
    outputs = replace(outputs, recipes=replace(outputs.recipes, fields=outputs.recipes.fields.counted(codes)))

    # 2. Folds and attacks.
    run = _run(outputs.recipes, codes, settings, seed=seed, workers=workers)

    # 3. Published numbers and rules.
    inconsistent = _inconsistent(outputs.recipes, codes)
    rules = _rules(outputs, codes, policy)

    # 4. Outputs of folds, and searches.
    _check_folds(run, rules)
    evolver = _evolver(run, settings, workers)
    run = replace(run, maker=maker or evolver)

    # 5. The outputs as they are added, all together, and without each.
    steps = _steps(outputs, settings)
    parts = _Parts(progress, len(steps) + (settings.whole_runs > 0) + 2 * settings.fold_of_fold + settings.error_line)
    stages = [run.assess(title, some, with_claims=some == steps[-1][1], progress=parts.next()) for title, some in steps]
    together = stages[-1]
    without = _without(run, outputs, stages, settings, parts)

    # 6. What else was asked for.
    whole = whole_data(run, runs=settings.whole_runs, progress=parts.next()) if settings.whole_runs else ()
    sizes = by_size(run, together.stage, outputs.names, progress=parts.next(2)) if settings.fold_of_fold else ()
    lines = error_lines(run, outputs.names, evolver, progress=parts.next()) if settings.error_line else ()

    # 7. The conclusion.
    exposed = tuple(
        one for a in run.attacks for one in exposed_classes(run.recipes.fields, codes, a, together.tcaps[a.sensitive])
    )
    verdict = verdict_of(
        together.stage.measures,
        reached=together.stage.reached,
        inconsistent=inconsistent,
        not_assessed=[(one.rule, one.output) for one in rules if one.status == "not assessed"],
    )
    progress("done", 1.0)
    return CheckResult(
        verdict=verdict,
        settings=_resolved(run, settings, evolver, policy, seed),
        records=masked_count(len(codes), threshold),
        left_out=round(left_out, 2),
        outputs=_checked(outputs, together.stage, inconsistent),
        all=together.stage,
        cumulative=tuple(
            one.step(before, level=run.level) for before, one in zip((None, *stages), stages, strict=False)
        ),
        without=without,
        agreement=tuple(
            agreement_of(a, together.tcaps[a.sensitive], level=run.level, threshold=threshold) for a in run.attacks
        ),
        whole=whole,
        sizes=sizes,
        error_lines=lines,
        rules=rules,
        exposed_classes=masked_count(len(exposed), threshold),
        seconds=round(time.perf_counter() - began, 1),
        exposed=exposed,
        recipes=outputs.recipes,
        tcaps=together.tcaps,
    )


@dataclass(frozen=True)
class _OutputSet:
    """All outputs over the columns that they are about, those released already first; by name, the columns of each."""

    recipes: Outputs
    columns: Mapping[str, tuple[str, ...]]
    old: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.recipes.names

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.old)

    def searched(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of some outputs that datasets are evolved from: of the others only the rules are checked."""
        return tuple(name for name in names if self.recipes[name].definition.searched)


class _Parts:
    """Tells how far the check is, part by part."""

    def __init__(self, progress: Progress, ahead: int) -> None:
        self.progress, self.ahead, self.done, self.current = progress, ahead, 0, 0

    def next(self, size: int = 1) -> Self:
        """Begin the next part, of so many parts' size."""
        self.done, self.current = self.done + self.current, size
        return self

    def __call__(self, what: str, share: float) -> None:
        self.progress(what, min(0.999, (self.done + share) / self.ahead))


# 1. Outputs, columns and records.


def _output_set(recipes: Outputs, released: Outputs | None, settings: CheckSettings, threshold: int) -> _OutputSet:
    """Both sets of outputs over those columns that some output is about; InputError where an attack asks for others."""
    together = recipes if released is None else released.including(recipes)
    columns = {recipe.name: named_columns([recipe.to_dict()], together.fields.names) for recipe in together.outputs}
    _check_attack(together.fields.names, columns, settings)
    if settings.leave_one_out == "always" and len(together) < 2:
        raise InputError(
            "There is nothing to leave one out of: there is one output. Leave it out, or check more of them together."
        )
    seen = {*settings.keys, *settings.sensitive, *(name for some in columns.values() for name in some)}
    fields = Fields(tuple(one for one in together.fields if one.name in seen)).with_threshold(threshold)
    check_start(settings.start, fields.columns)
    return _OutputSet(replace(together, fields=fields), columns, () if released is None else released.names)


def _check_attack(names: Sequence[str], columns: Mapping[str, Sequence[str]], settings: CheckSettings) -> None:
    """Raise InputError where keys or sensitive attributes are no columns, or in no output."""
    attack = (*settings.keys, *settings.sensitive)
    for name in attack:
        if name not in names:
            raise unknown_name("column", name, names)
    seen = {name for some in columns.values() for name in some}
    for name in attack:
        if name not in seen:
            what = "key" if name in settings.keys else "sensitive attribute"
            raise InputError(
                f"The {what} '{name}' is in no output, so no output can tell anything with it. Leave it out, or add the output that has it. "
                f"Outputs are about {listed(sorted(seen))}."
            )


def _codes(fields: Fields, data: Table | TableCoder | Codes, own: Fields) -> tuple[Codes, float]:
    """The records as codes of some columns, and the share of records that was left out; `own` are the columns of codes."""
    if isinstance(data, np.ndarray):
        every = own.columns.check(data)
        return fields.columns.check(every[:, [own.position(name) for name in fields.names]]), 0.0
    from ..records import codes_of_table

    records = codes_of_table(data, fields)
    return records.codes, 1.0 - records.share_complete


# 2. to 4. Folds, rules and searches.


def _run(recipes: Outputs, codes: Codes, settings: CheckSettings, *, seed: Seed, workers: int | None) -> CheckRun:
    attacks = tuple(
        attack_of(recipes.fields, settings.keys, one, sizes=settings.key_sizes, tau=settings.tau)
        for one in settings.sensitive
    )
    entropy = int(seed_sequence(seed).generate_state(1, np.uint64)[0])
    splits = folds(len(codes), holdout_share=settings.holdout_share, repeats=settings.repeat_splits, seed=entropy)
    return CheckRun(
        codes, recipes, attacks, splits, Evolver(), settings.start, settings.syntheses, entropy, settings.level, workers
    )


def _inconsistent(recipes: Outputs, codes: Codes) -> list[str]:
    """The names of outputs whose published numbers the data do not give."""
    published = [recipe.name for recipe in recipes.outputs if recipe.published is not None]
    if not published:
        return []
    spec = recipes.only(published).published(rows=len(codes))
    wrong = [one.name for one in compared(spec, codes) if one.within is False]
    if not wrong:
        check_contradictions(spec, len(codes))
    return wrong


def _rules(outputs: _OutputSet, codes: Codes, policy: Policy) -> RuleReport:
    released = outputs.recipes.only(outputs.old) if outputs.old else None
    return check_rules(outputs.recipes.only(outputs.new), codes, policy, released=released)


def _check_folds(run: CheckRun, rules: RuleReport) -> None:
    """Raise InputError, before any search begins, where an output cannot be computed on a fold; with the rules that it breaks."""
    try:
        run.specs  # noqa: B018  computed here, for every stage
    except InputError as error:
        name = _failing(run)
        broken = sorted({one.rule for one in rules.findings if one.status == "fail" and one.output == name})
        more = f" On all the data it breaks these rules: {', '.join(broken)}." if broken else ""
        raise InputError(f"{error}{more}") from None


def _failing(run: CheckRun) -> str:
    """The first output that some fold cannot give."""
    for fold in run.folds:
        for name in run.recipes.names:
            try:
                run.recipes.computed(run.codes[fold.original], only=[name])
            except InputError:
                return name
    return ""


def _evolver(run: CheckRun, settings: CheckSettings, workers: int | None) -> Evolver:
    """What makes ensembles, with as many proposals for each search as were asked for, or as the seconds stand for."""
    problems = [spec.searched.problem() for spec in run.specs]
    check_tolerance(settings.tolerance, *problems)
    each = seconds_each(problems[0], rows=len(run.codes), engine=settings.engine)
    proposals = proposals_of(settings.seconds, settings.proposals, each=each, default=SECONDS)
    return Evolver(settings.engine, settings.start, proposals, settings.tolerance, workers)


# 5. Stages.


def _steps(outputs: _OutputSet, settings: CheckSettings) -> list[tuple[str, tuple[str, ...]]]:
    """Stages of a cumulative assessment: what was released already, then the new outputs one by one, or a few at a time."""
    old, new = outputs.searched(outputs.old), outputs.searched(outputs.new)
    if not settings.cumulative or not (old or new):
        return [("all outputs", outputs.names)]
    steps = [("released already", old)] if old else []
    at_once = max(1, -(-len(new) // MOST_STEPS))
    for first in range(0, len(new), at_once):
        some = new[first : first + at_once]
        steps.append((", ".join(some), (*old, *new[: first + len(some)])))
    return steps


def _without(
    run: CheckRun, outputs: _OutputSet, stages: Sequence[Assessment], settings: CheckSettings, parts: _Parts
) -> tuple[Stage, ...]:
    """The set without each of its new outputs, where that was asked for; a stage that there is already is not assessed again."""
    excess = any(measure.excess for measure in stages[-1].stage.measures)
    wanted = settings.leave_one_out == "always" or (settings.leave_one_out == "excess" and excess)
    every, new = outputs.searched(outputs.names), outputs.searched(outputs.new)
    if len(every) < 2 or not wanted:
        return ()
    parts.ahead += len(new)
    without = []
    for name in new:
        rest = [other for other in every if other != name]
        same = next((one.stage for one in stages if set(one.stage.outputs) == set(rest)), None)
        title = f"without {name}"
        progress = parts.next()
        without.append(replace(same, name=title) if same else run.assess(title, rest, progress=progress).stage)
    return tuple(without)


# 7. What is told.


def _checked(outputs: _OutputSet, stage: Stage, inconsistent: Sequence[str]) -> tuple[CheckedOutput, ...]:
    fits = {fit.name: fit for fit in stage.fits}
    return tuple(
        CheckedOutput(
            recipe.name,
            recipe.kind,
            statbarn_of(recipe.kind),
            recipe.name in outputs.old,
            None if recipe.published is None else recipe.name not in inconsistent,
            outputs.columns[recipe.name],
            fits.get(recipe.name),
        )
        for recipe in outputs.recipes.outputs
    )


def _resolved(run: CheckRun, settings: CheckSettings, evolver: Evolver, policy: Policy, seed: Seed) -> ResolvedSettings:
    key_sets = run.attacks[0].key_sets
    return ResolvedSettings.of(
        settings,
        key_sizes=(len(key_sets[0]), len(key_sets[-1])),
        key_sets=len(key_sets),
        proposals=evolver.proposals,
        seed=seed if isinstance(seed, int) else None,
        policy=policy.name,
        policy_hash=policy.hash,
    )
