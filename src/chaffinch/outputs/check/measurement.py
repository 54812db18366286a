"""What outputs give away: the people in folds, datasets evolved from the outputs of each, and who they are right about.

An output that some fold cannot give is left out, with the reason, and the others are measured.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ..._base.checks import check_name
from ..._base.errors import InputError, join_names
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..document import Outputs, named_columns
from ..domain import Codes, OutputDomain
from ..evolve import check_max_error, check_start
from ..margins import KnownMargins, known_margins
from ..records import TableCoder, codes_of_table
from ..rules import Policy
from ..solve.engine import proposals_of
from ..solve.process import Engines
from ..solve.settings import SearchSettings
from .agreement import Agreement, Exposed, agreement_of, exposed_classes
from .assessment import Assessment, CheckRun, CumulativeStage, EnsembleMaker, Evolver, Stage, folds
from .attribution import EnsembleTcap, attack_of
from .settings import CheckSettings

if TYPE_CHECKING:
    from ...table import Table

SECONDS = 20.0
"""What a search may take unless something else is asked for."""
MOST_STEPS = 8
"""Steps in which new outputs are added to each other: each is an assessment of its own."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was measured, as in `CheckResult`; nothing of it where no output could be measured, or nothing was asked for."""

    all: Stage | None = None
    """What all outputs that could be measured give away together; None without any."""
    cumulative: tuple[CumulativeStage, ...] = ()
    without: tuple[Stage, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    exposed: tuple[Exposed, ...] = ()
    tcaps: Mapping[str, tuple[EnsembleTcap, ...]] = field(default_factory=dict)
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    """By output, why it was not measured."""
    key_sets: int = 0
    """How many sets of keys there were."""
    key_sizes: tuple[int, int] | None = None
    """The least and the largest number of keys of a set."""
    search: SearchSettings | None = None
    """How datasets were searched for."""
    margins: KnownMargins | None = None
    """How the margins were known that datasets started from."""


@dataclass(frozen=True, eq=False, repr=False)
class CheckInputs:
    """What a check is made of.

    Parameters
    ----------
    recipes, data
        Outputs that can be computed from any records, and the records, or codes of the recipes' columns.
    settings
        What is measured.
    released, policy
        Outputs that are out already, and the rules.
    uncertain
        By the name of an output, why nothing but the rules can be said of it.
    seed, workers, progress
        For all that is random; how many processes and threads work at once, on which results do not depend; what is told how far the check is.
    maker
        What makes ensembles in place of `evolve`.
    """

    recipes: Outputs
    data: Table | TableCoder | Codes
    settings: CheckSettings
    released: Outputs | None = None
    policy: Policy = field(default_factory=Policy)
    uncertain: Mapping[str, str] = field(default_factory=dict)
    seed: Seed = None
    workers: int | None = None
    maker: EnsembleMaker | None = None
    progress: Progress = silent

    @property
    def threshold(self) -> int:
        """The smallest count that is told."""
        return self.settings.display_threshold(self.policy)

    @property
    def output_set(self) -> OutputSet:
        """The outputs and those released already, over the columns that some output is about."""
        data = self.data
        known = () if isinstance(data, np.ndarray) else TableCoder.from_table(data).table.columns
        return OutputSet.over_columns(
            self.recipes, self.released, self.settings, self.threshold, known=known
        )

    def encode(self) -> tuple[OutputSet, Codes]:
        """Return all outputs over the same columns, whose levels are counted, and the records in codes of these."""
        outputs = self.output_set
        codes = codes_of_records(outputs.recipes.fields, self.data, self.recipes.fields)
        fields = outputs.recipes.fields.counted(codes)
        return replace(outputs, recipes=replace(outputs.recipes, fields=fields)), codes


def codes_of_records(
    fields: OutputDomain, data: Table | TableCoder | Codes, own_columns: OutputDomain
) -> Codes:
    """Return the records as codes of some columns, `MISSING` where they have no value; `own_columns` are the columns of codes."""
    if not isinstance(data, np.ndarray):
        return codes_of_table(data, fields).codes
    codes = own_columns.check(data, may_miss=True)
    positions = [own_columns.position(name) for name in fields.names]
    return fields.check(codes[:, positions], may_miss=True)


def measure(
    inputs: CheckInputs, outputs: OutputSet, codes: Codes, settings: CheckSettings
) -> Measurement:
    """Return what outputs give away about the people they come from, and of which outputs that could not be measured.

    1. Divide the people into folds, and say who attacks them.
    2. Compute the outputs of each fold, and say how long a search may be.
    3. Assess the outputs as they are added, all together, and without each.
    """
    # 1. Folds and attacks.
    run = run_of(outputs.recipes, codes, settings, seed=inputs.seed, workers=inputs.workers)
    key_sets = run.attacks[0].key_sets
    key_sizes = len(key_sets[0]), len(key_sets[-1])

    # 2. Outputs of folds, and searches.
    unmeasured = dict(run.uncomputable)
    if not outputs.searched(outputs.names, but=unmeasured):
        return Measurement(unmeasured=unmeasured, key_sets=len(key_sets), key_sizes=key_sizes)
    evolver = evolver_of(run, settings, inputs.workers)

    # 3. The outputs as they are added, all together, and without each.
    steps = _steps(outputs, settings, unmeasured)
    parts = _Parts(inputs.progress, len(steps))
    with Engines() as engines:
        run = replace(run, maker=inputs.maker or replace(evolver, engines=engines))
        stages = [
            run.assess(title, names, with_claims=names == steps[-1][1], progress=parts.next())
            for title, names in steps
        ]
        without = _without(run, outputs, stages, settings, parts, unmeasured)
    together = stages[-1]
    return Measurement(
        all=together.stage,
        cumulative=tuple(
            assessment.step(before, level=run.level)
            for before, assessment in zip((None, *stages), stages, strict=False)
        ),
        without=without,
        agreement=tuple(
            agreement_of(
                attack,
                together.tcaps[attack.sensitive],
                level=run.level,
                threshold=inputs.threshold,
            )
            for attack in run.attacks
        ),
        exposed=tuple(
            exposed
            for attack in run.attacks
            for exposed in exposed_classes(
                run.recipes.fields, codes, attack, together.tcaps[attack.sensitive]
            )
        ),
        tcaps=together.tcaps,
        unmeasured=unmeasured,
        search=evolver.search,
        margins=KnownMargins()
        if run.start == "uniform"
        else known_margins(run.specs[0], assumed=run.start != "published"),
        key_sets=len(key_sets),
        key_sizes=key_sizes,
    )


class _Parts:
    """Tells how far the check is, part by part."""

    def __init__(self, progress: Progress, ahead: int) -> None:
        self.progress, self.ahead, self.done = progress, ahead, -1

    def next(self) -> Self:
        """Begin the next part."""
        self.done += 1
        return self

    def __call__(self, what: str, share: float) -> None:
        self.progress(what, min(0.999, (self.done + share) / self.ahead))


def run_of(
    recipes: Outputs,
    codes: Codes,
    settings: CheckSettings,
    *,
    seed: Seed = None,
    workers: int | None = None,
) -> CheckRun:
    """Return the people in their folds and the attacks on them; `evolver_of` makes its ensembles."""
    attacks = tuple(
        attack_of(
            recipes.fields, settings.keys, sensitive, sizes=settings.key_sizes, tau=settings.tau
        )
        for sensitive in settings.sensitive
    )
    entropy = int(seed_sequence(seed).generate_state(1, np.uint64)[0])
    splits = folds(
        len(codes),
        holdout_share=settings.holdout_share,
        repeats=settings.repeat_splits,
        seed=entropy,
    )
    return CheckRun(
        codes,
        recipes,
        attacks,
        splits,
        Evolver(),
        settings.start,
        settings.syntheses,
        entropy,
        settings.level,
        workers,
    )


def evolver_of(run: CheckRun, settings: CheckSettings, workers: int | None = None) -> Evolver:
    """Return what makes ensembles, with as many proposals for each search as were asked for, or as the seconds stand for."""
    if settings.start == "published":
        for fold, spec in zip(run.folds, run.specs, strict=True):
            check_start(
                "published margins", run.with_known_margins(spec, run.codes[fold.original]).fields
            )
    problems = [spec.searched.problem() for spec in run.specs]
    search = settings.search
    check_max_error(search.max_error, *problems)
    proposals = proposals_of(search, problems[0], len(run.codes), default=SECONDS)
    return Evolver(
        replace(search, seconds=None, proposals=proposals),
        "uniform" if settings.start == "uniform" else None,
        workers,
    )


def _steps(
    outputs: OutputSet, settings: CheckSettings, unmeasured: Mapping[str, str]
) -> list[tuple[str, tuple[str, ...]]]:
    """Stages of a cumulative assessment: what was released already, then the new outputs one by one, or a few at a time."""
    old, new = (
        outputs.searched(outputs.old, but=unmeasured),
        outputs.searched(outputs.new, but=unmeasured),
    )
    if not settings.cumulative:
        return [("all outputs", (*old, *new))]
    steps = [("released already", old)] if old else []
    at_once = max(1, -(-len(new) // MOST_STEPS))
    for first in range(0, len(new), at_once):
        added = new[first : first + at_once]
        steps.append((", ".join(added), (*old, *new[: first + len(added)])))
    return steps


def _without(
    run: CheckRun,
    outputs: OutputSet,
    stages: Sequence[Assessment],
    settings: CheckSettings,
    parts: _Parts,
    unmeasured: Mapping[str, str],
) -> tuple[Stage, ...]:
    """The set without each of its new outputs, where that was asked for; a stage that there is already is not assessed again."""
    wanted = settings.leave_one_out == "always" or (
        settings.leave_one_out == "excess" and stages[-1].stage.excess
    )
    searched, new = (
        outputs.searched(names, but=unmeasured) for names in (outputs.names, outputs.new)
    )
    if len(searched) < 2 or not wanted:
        return ()
    parts.ahead += len(new)
    without = []
    for name in new:
        rest = [other for other in searched if other != name]
        same = next(
            (
                assessment.stage
                for assessment in stages
                if set(assessment.stage.outputs) == set(rest)
            ),
            None,
        )
        title = f"without {name}"
        progress = parts.next()
        without.append(
            replace(same, name=title) if same else run.assess(title, rest, progress=progress).stage
        )
    return tuple(without)


@dataclass(frozen=True)
class OutputSet:
    """All outputs over the columns that they are about, those released already first; by name, the columns of each."""

    recipes: Outputs
    columns: Mapping[str, tuple[str, ...]]
    old: tuple[str, ...]

    @classmethod
    def over_columns(
        cls,
        recipes: Outputs,
        released: Outputs | None,
        settings: CheckSettings,
        threshold: int,
        *,
        known: Collection[str] = (),
    ) -> OutputSet:
        """Return both sets of outputs over those columns that some output is about.

        InputError where an attack asks for what is no column of them, nor `known`: of the data.
        """
        together = recipes if released is None else released.including(recipes)
        columns = {
            recipe.name: named_columns([recipe.to_dict()], together.fields.names)
            for recipe in together.outputs
        }
        if not settings.rules_only:
            column_names = list(dict.fromkeys([*together.fields.names, *known]))
            for name in (*settings.keys, *settings.sensitive):
                check_name("column", name, column_names)
            if settings.leave_one_out == "always" and len(together) < 2:
                raise InputError(
                    "There is nothing to leave one out of: there is one output. Leave it out, or check more of them together."
                )
        seen = {name for names in columns.values() for name in names} or {together.fields.names[0]}
        fields = OutputDomain(
            tuple(column for column in together.fields if column.name in seen)
        ).with_threshold(threshold)
        return cls(
            replace(together, fields=fields), columns, () if released is None else released.names
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all."""
        return self.recipes.names

    @property
    def released(self) -> Outputs | None:
        """Those that are out already; None for none."""
        return self.recipes.only(self.old) if self.old else None

    @property
    def new(self) -> tuple[str, ...]:
        """The names of those that want to leave."""
        return tuple(name for name in self.names if name not in self.old)

    def but(self, names: Collection[str]) -> OutputSet:
        """Return the same without outputs of these names."""
        remaining = [name for name in self.names if name not in names]
        return (
            self
            if len(remaining) == len(self.names)
            else replace(self, recipes=self.recipes.only(remaining))
        )

    def attackable(self, settings: CheckSettings) -> tuple[CheckSettings, tuple[str, ...]]:
        """Return settings with those keys and sensitive attributes that some output is about, and a sentence on each that none is.

        Rules alone are left where no key or no sensitive attribute is.
        """
        if settings.rules_only:
            return settings, ()
        seen = {name for names in self.columns.values() for name in names}
        notes = [
            f"The {what} '{name}' is in no output, so no output can tell anything with it: it was left out of the attack."
            for what, names in (("key", settings.keys), ("sensitive attribute", settings.sensitive))
            for name in names
            if name not in seen
        ]
        keys, sensitive = (
            [name for name in names if name in seen]
            for names in (settings.keys, settings.sensitive)
        )
        if not keys or not sensitive:
            none = join_names(
                [
                    what
                    for what, columns in (("key", keys), ("sensitive attribute", sensitive))
                    if not columns
                ],
                max_names=2,
            )
            more = f"No {none} is in any output, so there was no attack to measure. Outputs are about {join_names(sorted(seen))}."
            return replace(settings, keys=(), sensitive=(), rules_only=True, key_sizes=None), (
                *notes,
                more,
            )
        sizes = settings.key_sizes
        if sizes is not None and len(keys) < len(settings.keys):
            sizes = min(sizes[0], len(keys)), min(sizes[1], len(keys))
        return replace(settings, keys=keys, sensitive=sensitive, key_sizes=sizes), tuple(notes)

    def searched(self, names: Sequence[str], *, but: Collection[str] = ()) -> tuple[str, ...]:
        """Return those of some outputs, `but` for these, that datasets are evolved from: of the others only the rules are checked."""
        return tuple(
            name for name in names if name not in but and name not in self.recipes.rules_only
        )
