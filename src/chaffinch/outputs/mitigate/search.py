"""Look for the least change to outputs after which the rules pass, and the measured risk is no excess, of all of them together.

1. Each output that breaks a rule by itself: the least loss that mends it, beside what is out already.
2. Rules between outputs: as long as some are broken, the change to one of the outputs they name that mends most at the least loss.
3. The whole anew: every rule on all outputs, by `check_recipes`, and where a risk was measured and was an excess, again on the mitigated ones; if it still is,
   the output that adds most to it is changed by more, a few times at most, as each measurement takes as long as the check did, and then dropped.

It is a search that takes the best next step, not one that proves that no smaller change would do; of a single table's cells that is tried (`suppressing`). How often
the rules may be asked is limited, and whether the limit was reached is said. Dropping an output is always the last way.

What is lost when an output is published with less in it: in words and as one number, from what is published alone.

The number is 0 where nothing is lost and 1 where nothing is left: of the numbers that the output had, the share that is withheld or no longer there, each
number that is printed more coarsely counted by how far it may be off, relative to itself. No count that is not published goes into it, so it can be shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..._base.errors import ChaffinchError
from ..cells import TOTAL
from ..check.assess import check_recipes
from ..check.measurement import CheckInputs
from ..check.mitigation import AssessedPlan, Loss, MitigationOption, MitigationPlan, MitigationStep
from ..check.result import CheckResult
from ..document import Outputs
from ..kinds.base import OutputSpec
from ..numbers import is_withheld
from ..rules import RuleReport
from ..rules.findings import Status
from .base import (
    MITIGATIONS,
    MitigatedForm,
    Mitigation,
    RuleTrial,
    Series,
    bad_findings,
    plain_cells,
)

MOST_ASKED = 600
"""How often the rules are asked at most."""

MOST_ASSESSED = 3
"""How often the marginal risk of mitigated outputs is measured at most."""

LEAST_LOSS = (0.1, 0.4)
"""The least loss of the output that adds most to the risk, at each attempt: measurements are too dear for small steps. After these it is dropped."""

TOGETHER = "all outputs together"
"""What is not mended where no single output is to blame."""

HELD = ("fail", "not assessed")
"""Verdicts with which an output does not leave."""

DROP = "drop"
"""What not publishing an output is called."""

ROUNDS = 12
"""Changes that are made for rules between outputs at most."""


COVERED_STEP = 0.05
"""Shares of records are rounded down to multiples of this, or of the threshold over the records, if that is more: no small count follows."""


@dataclass(frozen=True)
class _Candidate:
    """A form of an output that is worth having: what is lost with it, and what the rules say of it."""

    mitigation: str
    form: MitigatedForm | None
    """What is left of the output; None where it is dropped."""
    loss: Loss
    status: Status
    output: str
    n_broken: int = 0
    """Rules that fail or are not assessed with it."""
    reviews: int = 0
    """Rules that a person has to look at with it, and had not before."""
    why: str = ""
    """Why it is held back, where nothing was tried."""

    @property
    def order(self) -> tuple[int, bool, float, int]:
        """What is better comes first: fewer broken rules, nothing new for a person to look at, less lost."""
        return self.n_broken, self.reviews > 0, self.loss.share, self.loss.withheld

    @property
    def description(self) -> str:
        return (
            self.form.description
            if self.form is not None
            else f"held back: {self.why}"
            if self.why
            else "not published"
        )


@dataclass(eq=False)
class _State:
    """The outputs as they stand, what was done to each, and what was tried."""

    trial: RuleTrial
    original: Mapping[str, OutputSpec]
    current: dict[str, OutputSpec]
    taken: dict[str, list[_Candidate]] = field(default_factory=dict)
    tried: dict[tuple[str, str], _Candidate] = field(default_factory=dict)
    reviewed: Mapping[str, set[str]] = field(default_factory=dict)
    """By output, the rules that a person had to look at before."""
    not_mended: Mapping[str, str] = field(default_factory=dict)
    """By output of which nothing is tried, why."""

    @classmethod
    def begin(cls, inputs: CheckInputs, result: CheckResult, max_asked: int) -> _State:
        """Return the outputs as they came to a check."""
        outputs, codes = inputs.encode()
        new = outputs.recipes.only(outputs.new)
        trial = RuleTrial(new, codes, inputs.policy, outputs.released, max_asked)
        recipes = {recipe.name: recipe for recipe in new.outputs}
        reviewed = {
            name: {
                finding.rule for finding in result.rules.about(name) if finding.status == "review"
            }
            for name in recipes
        }
        return cls(
            trial,
            recipes,
            dict(recipes),
            reviewed=reviewed,
            not_mended=_not_mended(result, inputs.uncertain),
        )

    @property
    def changes(self) -> str:
        """What was done to each output, in words."""
        return "; ".join(
            f"'{name}': {', then '.join(candidate.description for candidate in candidates)}"
            for name, candidates in self.taken.items()
        )

    def take(self, candidate: _Candidate, *, anew: bool = False) -> None:
        """Put a candidate in the place of its output; `anew`: it was made of the output as it came, so what was done before is undone."""
        undone = MITIGATIONS[candidate.mitigation].undoes if candidate.form is not None else ()
        before = (
            []
            if anew or candidate.form is None
            else [
                earlier
                for earlier in self.taken.get(candidate.output, [])
                if earlier.mitigation not in undone
            ]
        )
        self.taken[candidate.output] = [*before, candidate]
        self.tried.setdefault((candidate.output, candidate.description), candidate)
        if candidate.form is None:
            del self.current[candidate.output]
        else:
            self.current[candidate.output] = candidate.form.recipe
        self.trial.outputs = Outputs(self.trial.outputs.fields, tuple(self.current.values()))

    def remember(self, candidate: _Candidate) -> None:
        """Keep a candidate that may leave among those that are told as options."""
        if candidate.status not in HELD:
            self.tried.setdefault((candidate.output, candidate.description), candidate)

    def report(self) -> RuleReport | None:
        return self.trial.report(list(self.current.values())) if self.current else None


def find_mitigations(
    inputs: CheckInputs,
    result: CheckResult,
    *,
    max_asked: int = MOST_ASKED,
    max_assessed: int = MOST_ASSESSED,
) -> tuple[MitigationPlan, CheckResult | None]:
    """Return what to change of outputs that a check held back, so that they pass, and the check of the changed ones.

    `result` is the first check, of the same inputs. The second is None where nothing was changed, or nothing is left.
    """
    inputs.progress("mitigations", 0.0)
    state = _State.begin(inputs, result, max_asked)
    for row in result.summary:
        if row.output in state.not_mended and row.verdict in HELD:
            _hold_back(state, row.output, state.not_mended[row.output])
    _mend_alone(state)
    _mend_together(state)
    if not state.taken and _excess(result):
        _mend_risk(state, result, 0)
    after = _check_again(state, inputs)
    assessed = [] if inputs.settings.rules_only else [_assess_plan("as they came", result)]
    while after is not None and not inputs.settings.rules_only:
        assessed.append(_assess_plan(state.changes, after))
        if (
            after.passed
            or len(assessed) > max_assessed
            or not _change_more(state, after, len(assessed) - 1)
        ):
            break
        after = _check_again(state, inputs)
    inputs.progress("done", 1.0)
    return _plan(state, result, after, tuple(assessed)), after


def _check_again(state: _State, inputs: CheckInputs) -> CheckResult | None:
    """The check of the outputs as they are now, by everything that the first was made of; None where none are left or none changed."""
    if not state.current or not state.taken:
        return None
    uncertain = {name: why for name, why in inputs.uncertain.items() if name in state.current}
    inputs = replace(inputs, recipes=state.trial.outputs, uncertain=uncertain)
    settings, _ = inputs.output_set.attackable(inputs.settings)
    return check_recipes(replace(inputs, settings=settings))


def _change_more(state: _State, after: CheckResult, attempt: int) -> bool:
    """Change outputs that do not pass by more; whether there was a way."""
    if _excess(after) and _mend_risk(state, after, attempt):
        return True
    rows = [row for row in after.summary if row.output in state.current and row.verdict in HELD]
    for row in rows:  # what could not be measured, or reached: no pass is said of it
        _hold_back(state, row.output, "; ".join(row.why) or row.verdict)
    return bool(rows)


def _not_mended(result: CheckResult, uncertain: Mapping[str, str]) -> dict[str, str]:
    """Outputs of which nothing is tried, and why."""
    reasons = {
        output.name: "its published numbers are not those of the data"
        for output in result.outputs
        if output.consistent is False and not output.released
    }
    reasons |= {
        name: f"nothing but the rules can be said of it: {why}" for name, why in uncertain.items()
    }
    return reasons | {
        skipped.name: f"it could not be read: {skipped.reason}" for skipped in result.about.skipped
    }


def _hold_back(state: _State, name: str, why: str) -> None:
    """Drop an output that cannot be mended, so that the others may leave."""
    if name in state.current:
        state.take(replace(_drop(state, name), why=why), anew=True)


def _mend_alone(state: _State) -> None:
    for name, output in list(state.current.items()):
        state.trial.together = False
        if name not in state.not_mended and bad_findings(state.trial.judge(output), name):
            state.take(min(_options(state, output), key=lambda candidate: candidate.order))


def _options(state: _State, output: OutputSpec) -> list[_Candidate]:
    """Forms of an output that break no rule by themselves, beside what is out already: of each series the first that leaves nothing more for a person to look
    at, and the first that does; dropping it among them."""
    state.trial.together = False
    candidates = []
    for series in _try_series(state, output):
        reviewed = False
        for candidate in series:
            state.remember(candidate)
            if candidate.n_broken or (candidate.reviews and reviewed):
                continue
            candidates.append(candidate)
            reviewed = True
            if not candidate.reviews:
                break
    return [*candidates, _drop(state, output.name)]


def _try_series(state: _State, output: OutputSpec) -> Iterator[Iterator[_Candidate]]:
    """Each series of candidates of an output, with what the rules say of each candidate; those that cannot be computed are left out."""
    for mitigation in MITIGATIONS:
        for series in mitigation.series(output, state.trial):
            yield _try_forms(state, mitigation, series)


def _try_forms(state: _State, mitigation: Mitigation, series: Series) -> Iterator[_Candidate]:
    for form in series:
        if state.trial.exhausted:
            return
        name, report = form.recipe.name, state.trial.judge(form.recipe)
        loss = loss_of(state.original[name], form.recipe, state.trial)
        if loss is not None:
            reviews = {finding.rule for finding in report.about(name) if finding.status == "review"}
            yield _Candidate(
                mitigation.name,
                form,
                loss,
                report.status(name),
                name,
                len(bad_findings(report)),
                len(reviews - state.reviewed.get(name, set())),
            )


def _drop(state: _State, name: str) -> _Candidate:
    return _Candidate(DROP, None, loss_of_all(state.original[name], state.trial), "pass", name)


def _mend_together(state: _State) -> None:
    state.trial.together = True
    for _ in range(ROUNDS):
        report = state.report()
        broken = [] if report is None else bad_findings(report)
        names = [
            name
            for name in dict.fromkeys(name for finding in broken for name in finding.names)
            if name in state.current and name not in state.not_mended
        ]
        ways = [way for name in names for way in _together(state, state.current[name], len(broken))]
        if not ways:
            return
        state.take(min(ways, key=lambda candidate: candidate.order))


def _together(state: _State, output: OutputSpec, before: int) -> list[_Candidate]:
    """Forms of an output after which fewer rules are broken by all outputs: of each series up to the first that breaks none; dropping it among them."""
    out = []
    for series in _try_series(state, output):
        for candidate in series:
            if candidate.n_broken < before:
                out.append(candidate)
                state.remember(candidate)
                if not candidate.n_broken and not candidate.reviews:
                    break
    others = [recipe for recipe in state.current.values() if recipe.name != output.name]
    n_broken = len(bad_findings(state.trial.report(others))) if others else 0
    return (
        [*out, replace(_drop(state, output.name), n_broken=n_broken)] if n_broken < before else out
    )


def _excess(result: CheckResult) -> bool:
    return result.verdict.word == "excess found"


def _assess_plan(description: str, plan: CheckResult) -> AssessedPlan:
    measures = () if plan.all is None else plan.all.measures
    known = [measure.marginal for measure in measures if math.isfinite(measure.marginal.value)]
    worst = max(known, key=lambda estimate: estimate.value, default=None)
    if worst is None:
        return AssessedPlan(description, plan.verdict.text, math.nan, math.nan, math.nan)
    return AssessedPlan(description, plan.verdict.text, worst.value, worst.low, worst.high)


def _mend_risk(state: _State, result: CheckResult, attempt: int) -> bool:
    """Change the output that adds most to the risk, by more with each attempt, and drop it at the last; whether there was a way."""
    rows = [
        row
        for row in result.summary
        if row.output in state.current and row.output not in state.not_mended
    ]
    if not rows:
        return False
    # Where no output was measured by itself, the one of most numbers is taken to give most away.
    known = {
        row.output: row.marginal.value
        for row in rows
        if row.marginal is not None and math.isfinite(row.marginal.value)
    }
    sizes = {
        row.output: loss_of_all(state.original[row.output], state.trial).numbers_before
        for row in rows
    }
    name = max(sizes, key=lambda output: (known.get(output, -1.0), sizes[output]))
    ways, state.trial.together = list[_Candidate](), False
    if attempt < len(LEAST_LOSS):
        ways = [
            candidate
            for series in _try_series(state, state.original[name])
            for candidate in series
            if candidate.loss.share >= LEAST_LOSS[attempt] and not candidate.n_broken
        ]
    state.take(min([*ways, _drop(state, name)], key=lambda candidate: candidate.order), anew=True)
    _mend_together(state)
    return True


def _plan(
    state: _State,
    result: CheckResult,
    after: CheckResult | None,
    assessed: tuple[AssessedPlan, ...],
) -> MitigationPlan:
    steps = []
    for name, candidates in state.taken.items():
        last, report = candidates[-1], None if after is None else after.rules
        is_dropped = name not in state.current
        status = None if is_dropped or report is None else report.status(name)
        steps.append(
            MitigationStep(
                name,
                tuple(candidate.description for candidate in candidates),
                result.rules.status(name),
                status,
                last.loss,
                is_dropped,
            )
        )
    steps.sort(key=lambda step: step.loss.share)
    chosen = {
        (candidate.output, candidate.description)
        for candidates in state.taken.values()
        for candidate in candidates
    }
    options = [
        MitigationOption(
            candidate.output,
            candidate.mitigation,
            candidate.description,
            candidate.status,
            candidate.loss,
            key in chosen,
        )
        for key, candidate in state.tried.items()
    ]
    names = list(state.original)
    options.sort(
        key=lambda option: (names.index(option.output), option.loss.share, option.description)
    )
    not_mended = dict(state.not_mended)
    final_rules = after.rules if after is not None else None if state.taken else result.rules
    broken = [] if final_rules is None else bad_findings(final_rules)
    for finding in broken:
        for name in finding.names:
            not_mended.setdefault(name, f"{finding.rule}: nothing that was tried mends it")
    if not state.taken and not result.passed and not not_mended:
        not_mended[TOGETHER] = f"{result.verdict.text}: nothing that was tried mends it"
    worst, text, passed = (
        (None, None, False) if after is None else (after.rules.worst, after.text, after.passed)
    )
    return MitigationPlan(
        tuple(steps),
        tuple(options),
        not_mended,
        result.rules.worst,
        worst,
        passed,
        text,
        state.trial.asked,
        not state.trial.exhausted,
        assessed,
    )


def loss_of_all(before: OutputSpec, trial: RuleTrial) -> Loss:
    """Return the loss of an output that is dropped."""
    return Loss(1.0, max(len(_numbers(before, trial) or []), 1), 0)


def loss_of(before: OutputSpec, after: OutputSpec, trial: RuleTrial) -> Loss | None:
    """Return what is lost when one recipe is published in the place of another; None where the other cannot be computed."""
    had, has = _numbers(before, trial), _numbers(after, trial)
    if has is None:
        return None
    had = has if had is None else had
    first = len([number for number in had if not is_withheld(number)]) or 1
    shown = [number for number in has if not is_withheld(number)]
    coarser = _half_width(after) > _half_width(before)
    errors = [_error(number, _half_width(after)) if coarser else 0.0 for number in shown]
    remaining = sum(1.0 - error for error in errors)
    withheld = (
        max(len(has) - len(shown) - (len(had) - first), 0)
        if len(has) == len(had)
        else len(has) - len(shown)
    )
    return Loss(
        share=min(1.0, max(0.0, 1.0 - remaining / first)),
        numbers_before=len(had),
        numbers_after=len(has),
        withheld=withheld,
        records_covered=_records_covered(after, trial),
        largest_error=max(errors, default=0.0),
        decimals=after.decimals if after.decimals != before.decimals else None,
    )


def _numbers(recipe: OutputSpec, trial: RuleTrial) -> list[Any] | None:
    """All numbers that an output prints on the records."""
    try:
        output = recipe.computed(trial.outputs.fields, trial.codes)
        parts = [
            number for printed in output.printed_numbers(trial.domain) for number in printed.numbers
        ]
    except ChaffinchError:
        return None
    return [*parts, *([output.n] if isinstance(output.n, int) else [])]


def _half_width(recipe: OutputSpec) -> float:
    """How far a printed number may be off: half a base, or half of the last decimal."""
    base = int(getattr(recipe, "base", 1)) if recipe.definition.statbarn == "Frequencies" else 1
    if base > 1:
        return base / 2
    return 0.0 if recipe.decimals is None else 0.5 * 10.0**-recipe.decimals


def _error(number: Any, half: float) -> float:
    """How far a printed number may be off, relative to itself; 1 at most."""
    try:
        size = abs(float(number))
    except (TypeError, ValueError):
        return 0.0
    return (
        min(1.0, half / size)
        if size > 0 and math.isfinite(size)
        else min(1.0, half)
        if half < 1
        else 1.0
    )


def _records_covered(recipe: OutputSpec, trial: RuleTrial) -> float | None:
    cells = plain_cells(recipe, trial)
    if cells is None or not cells.counts.sum():
        return None
    hidden = set(recipe.withheld or ())
    inner = [k for k, name in enumerate(cells.names) if TOTAL not in name.split("|")]
    n_records = sum(int(cells.counts[k]) for k in inner)
    shown = sum(int(cells.counts[k]) for k in inner if cells.names[k] not in hidden)
    step = max(COVERED_STEP, trial.policy.threshold / max(n_records, 1))
    return round(min(1.0, math.floor(shown / max(n_records, 1) / step + 1e-9) * step), 4)
