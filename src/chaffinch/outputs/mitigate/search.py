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
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    pass


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
class _Found:
    """A form of an output that is worth having."""

    mitigation: str
    form: MitigatedForm | None  # None: dropped
    loss: Loss
    status: Status
    output: str
    bad: int = 0  # Rules that fail or are not assessed with it
    reviews: int = 0  # Rules that a person has to look at with it, and had not before
    why: str = ""  # Why it is held back, where nothing was tried

    @property
    def order(self) -> tuple[int, bool, float, int]:
        """What is better comes first: fewer broken rules, nothing new for a person to look at, less lost."""
        return self.bad, self.reviews > 0, self.loss.share, self.loss.withheld

    @property
    def words(self) -> str:
        return (
            self.form.words
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
    taken: dict[str, list[_Found]] = field(default_factory=dict)
    tried: dict[tuple[str, str], _Found] = field(default_factory=dict)
    reviewed: Mapping[str, set[str]] = field(
        default_factory=dict
    )  # By output, the rules that a person had to look at before
    not_mended: Mapping[str, str] = field(
        default_factory=dict
    )  # By output of which nothing is tried, why

    @classmethod
    def begin(cls, inputs: CheckInputs, result: CheckResult, max_asked: int) -> _State:
        """Return the outputs as they came to a check."""
        outputs, codes = inputs.encode()
        new = outputs.recipes.only(outputs.new)
        trial = RuleTrial(new, codes, inputs.policy, outputs.released, max_asked)
        recipes = {recipe.name: recipe for recipe in new.outputs}
        reviewed = {
            name: {finding.rule for finding in result.rules.of(name) if finding.status == "review"}
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
            f"'{name}': {', then '.join(form.words for form in forms)}"
            for name, forms in self.taken.items()
        )

    def take(self, found: _Found, *, anew: bool = False) -> None:
        """Put a form in the place of its output; `anew`: it was made of the output as it came, so what was done before is undone."""
        undone = MITIGATIONS[found.mitigation].undoes if found.form is not None else ()
        before = (
            []
            if anew or found.form is None
            else [one for one in self.taken.get(found.output, []) if one.mitigation not in undone]
        )
        self.taken[found.output] = [*before, found]
        self.tried.setdefault((found.output, found.words), found)
        if found.form is None:
            del self.current[found.output]
        else:
            self.current[found.output] = found.form.recipe
        self.trial.outputs = Outputs(self.trial.outputs.fields, tuple(self.current.values()))

    def remember(self, found: _Found) -> None:
        """Keep a form that may leave among those that are told as options."""
        if found.status not in HELD:
            self.tried.setdefault((found.output, found.words), found)

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
    assessed = [] if inputs.settings.rules_only else [_assessed("as they came", result)]
    while after is not None and not inputs.settings.rules_only:
        assessed.append(_assessed(state.changes, after))
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
        one.name: "its published numbers are not those of the data"
        for one in result.outputs
        if one.consistent is False and not one.released
    }
    reasons |= {
        name: f"nothing but the rules can be said of it: {why}" for name, why in uncertain.items()
    }
    return reasons | {
        one.name: f"it could not be read: {one.reason}" for one in result.about.skipped
    }


def _hold_back(state: _State, name: str, why: str) -> None:
    """Drop an output that cannot be mended, so that the others may leave."""
    if name in state.current:
        state.take(replace(_dropped(state, name), why=why), anew=True)


def _mend_alone(state: _State) -> None:
    for name, output in list(state.current.items()):
        state.trial.together = False
        if name not in state.not_mended and bad_findings(state.trial.judge(output), name):
            state.take(min(_options(state, output), key=lambda one: one.order))


def _options(state: _State, output: OutputSpec) -> list[_Found]:
    """Forms of an output that break no rule by themselves, beside what is out already: of each series the first that leaves nothing more for a person to look
    at, and the first that does; dropping it among them."""
    state.trial.together = False
    good = []
    for series in _judged_series(state, output):
        reviewed = False
        for found in series:
            state.remember(found)
            if found.bad or (found.reviews and reviewed):
                continue
            good.append(found)
            reviewed = True
            if not found.reviews:
                break
    return [*good, _dropped(state, output.name)]


def _judged_series(state: _State, output: OutputSpec) -> Iterator[Iterator[_Found]]:
    """Each series of forms of an output, with what the rules say of each form; those that cannot be computed are left out."""
    for mitigation in MITIGATIONS:
        for series in mitigation.series(output, state.trial):
            yield _judged(state, mitigation, series)


def _judged(state: _State, mitigation: Mitigation, series: Series) -> Iterator[_Found]:
    for form in series:
        if state.trial.exhausted:
            return
        name, report = form.recipe.name, state.trial.judge(form.recipe)
        loss = loss_of(state.original[name], form.recipe, state.trial)
        if loss is not None:
            reviews = {one.rule for one in report.of(name) if one.status == "review"}
            yield _Found(
                mitigation.name,
                form,
                loss,
                report.status(name),
                name,
                len(bad_findings(report)),
                len(reviews - state.reviewed.get(name, set())),
            )


def _dropped(state: _State, name: str) -> _Found:
    return _Found(DROP, None, everything(state.original[name], state.trial), "pass", name)


def _mend_together(state: _State) -> None:
    state.trial.together = True
    for _ in range(ROUNDS):
        report = state.report()
        bad = [] if report is None else bad_findings(report)
        names = [
            name
            for name in dict.fromkeys(name for one in bad for name in one.names)
            if name in state.current and name not in state.not_mended
        ]
        ways = [way for name in names for way in _together(state, state.current[name], len(bad))]
        if not ways:
            return
        state.take(min(ways, key=lambda one: one.order))


def _together(state: _State, output: OutputSpec, before: int) -> list[_Found]:
    """Forms of an output after which fewer rules are broken by all outputs: of each series up to the first that breaks none; dropping it among them."""
    out = []
    for series in _judged_series(state, output):
        for found in series:
            if found.bad < before:
                out.append(found)
                state.remember(found)
                if not found.bad and not found.reviews:
                    break
    others = [one for one in state.current.values() if one.name != output.name]
    left = len(bad_findings(state.trial.report(others))) if others else 0
    return [*out, replace(_dropped(state, output.name), bad=left)] if left < before else out


def _excess(result: CheckResult) -> bool:
    return result.verdict.word == "excess found"


def _assessed(words: str, plan: CheckResult) -> AssessedPlan:
    measures = () if plan.all is None else plan.all.measures
    known = [one.marginal for one in measures if math.isfinite(one.marginal.value)]
    worst = max(known, key=lambda one: one.value, default=None)
    if worst is None:
        return AssessedPlan(words, plan.verdict.text, math.nan, math.nan, math.nan)
    return AssessedPlan(words, plan.verdict.text, worst.value, worst.low, worst.high)


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
        row.output: everything(state.original[row.output], state.trial).numbers_before
        for row in rows
    }
    name = max(sizes, key=lambda one: (known.get(one, -1.0), sizes[one]))
    ways = []
    if attempt < len(LEAST_LOSS):
        ways = [
            one
            for one in _every_way(state, state.original[name])
            if one.loss.share >= LEAST_LOSS[attempt] and not one.bad
        ]
    state.take(min([*ways, _dropped(state, name)], key=lambda one: one.order), anew=True)
    _mend_together(state)
    return True


def _every_way(state: _State, output: OutputSpec) -> Iterator[_Found]:
    """All forms of an output, with what the rules say of each by itself."""
    state.trial.together = False
    for series in _judged_series(state, output):
        yield from series
        if state.trial.exhausted:
            return


def _plan(
    state: _State,
    result: CheckResult,
    after: CheckResult | None,
    assessed: tuple[AssessedPlan, ...],
) -> MitigationPlan:
    steps = []
    for name, every in state.taken.items():
        last, report = every[-1], None if after is None else after.rules
        gone = name not in state.current
        status = None if gone or report is None else report.status(name)
        steps.append(
            MitigationStep(
                name,
                tuple(one.words for one in every),
                result.rules.status(name),
                status,
                last.loss,
                gone,
            )
        )
    steps.sort(key=lambda step: step.loss.share)
    chosen = {(one.output, one.words) for every in state.taken.values() for one in every}
    options = [
        MitigationOption(one.output, one.mitigation, one.words, one.status, one.loss, key in chosen)
        for key, one in state.tried.items()
    ]
    names = list(state.original)
    options.sort(key=lambda one: (names.index(one.output), one.loss.share, one.words))
    left = dict(state.not_mended)
    final_rules = after.rules if after is not None else None if state.taken else result.rules
    bad = [] if final_rules is None else bad_findings(final_rules)
    for one in bad:
        for name in one.names:
            left.setdefault(name, f"{one.rule}: nothing that was tried mends it")
    if not state.taken and not result.passed and not left:
        left[TOGETHER] = f"{result.verdict.text}: nothing that was tried mends it"
    worst, text, passed = (
        (None, None, False) if after is None else (after.rules.worst, after.text, after.passed)
    )
    return MitigationPlan(
        tuple(steps),
        tuple(options),
        left,
        result.rules.worst,
        worst,
        passed,
        text,
        state.trial.asked,
        not state.trial.exhausted,
        assessed,
    )


def everything(before: OutputSpec, trial: RuleTrial) -> Loss:
    """Return the loss of an output that is dropped."""
    return Loss(1.0, max(len(_numbers(before, trial) or []), 1), 0)


def loss_of(before: OutputSpec, after: OutputSpec, trial: RuleTrial) -> Loss | None:
    """Return what is lost when one recipe is published in the place of another; None where the other cannot be computed."""
    had, has = _numbers(before, trial), _numbers(after, trial)
    if has is None:
        return None
    had = has if had is None else had
    first = len([one for one in had if not is_withheld(one)]) or 1
    shown = [one for one in has if not is_withheld(one)]
    coarser = _half_width(after) > _half_width(before)
    errors = [_error(one, _half_width(after)) if coarser else 0.0 for one in shown]
    left = sum(1.0 - error for error in errors)
    withheld = (
        max(len(has) - len(shown) - (len(had) - first), 0)
        if len(has) == len(had)
        else len(has) - len(shown)
    )
    return Loss(
        share=min(1.0, max(0.0, 1.0 - left / first)),
        numbers_before=len(had),
        numbers_after=len(has),
        withheld=withheld,
        records_covered=_covered(after, trial),
        largest_error=max(errors, default=0.0),
        decimals=after.decimals if after.decimals != before.decimals else None,
    )


def _numbers(recipe: OutputSpec, trial: RuleTrial) -> list[Any] | None:
    """All numbers that an output prints on the records."""
    try:
        output = recipe.computed(trial.outputs.fields, trial.codes)
        parts = [number for part in output.printed_numbers(trial.domain) for number in part.numbers]
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


def _covered(recipe: OutputSpec, trial: RuleTrial) -> float | None:
    cells = plain_cells(recipe, trial)
    if cells is None or not cells.counts.sum():
        return None
    hidden = set(recipe.withheld or ())
    inner = [k for k, name in enumerate(cells.names) if TOTAL not in name.split("|")]
    every = sum(int(cells.counts[k]) for k in inner)
    shown = sum(int(cells.counts[k]) for k in inner if cells.names[k] not in hidden)
    step = max(COVERED_STEP, trial.policy.threshold / max(every, 1))
    return round(min(1.0, math.floor(shown / max(every, 1) / step + 1e-9) * step), 4)
