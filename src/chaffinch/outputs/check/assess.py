"""May these outputs leave? One assessment: what datasets evolved from them give away, and what the rules of thumb say.

For each of two folds the outputs are computed from its records alone, many datasets are evolved from the numbers alone, and these datasets
attack the fold's people and people held out. Elliot, Little and Allmendinger (P1) do this with one dataset; an ensemble gives an interval.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..._base.errors import InputError, listed, unknown_name
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..columns import Codes
from ..contradictions import check_contradictions
from ..evolve import EngineName, StartName
from ..fields import Fields
from ..limits import check_start, check_tolerance
from ..recipes import Recipes, named_columns
from ..refit import compared
from ..rules import Policy, RuleReport, check_rules
from ..rules.findings import STATBARNS
from ..solve.budget import proposals_of, seconds_each
from .agreement import agreement_of, exposed_classes
from .assessment import Scene
from .attribution import attack_of
from .ensembles import Evolver, Maker
from .error_lines import error_lines
from .folds import folds
from .marginal import LEVEL
from .result import Checked, CheckedOutput
from .sizes import by_size
from .verdict import verdict_of
from .whole import Whole, whole_data

if TYPE_CHECKING:
    from ...table import Table

__all__ = ["Checked", "check"]

SECONDS = 20.0
"""What a search may take unless something else is asked for."""
MOST_STEPS = 8
"""Steps in which new outputs are added to each other: each is an assessment of its own."""


def check(
    recipes: Recipes,
    data: Table | Codes,
    *,
    keys: Sequence[str],
    sensitive: Sequence[str],
    key_sizes: tuple[int, int] | None = None,
    released: Recipes | None = None,
    policy: Policy | None = None,
    syntheses: int = 50,
    holdout_share: float = 0.5,
    repeat_splits: int = 1,
    engine: EngineName = "incremental",
    start: StartName = "uniform",
    seconds: float | None = None,
    proposals: int | None = None,
    tolerance: float | None = None,
    tau: float = 1.0,
    level: float = LEVEL,
    cumulative: bool = True,
    leave_one_out: Literal["excess", "always", "never"] = "excess",
    whole_runs: int = 10,
    fold_of_fold: bool = False,
    error_line: bool = False,
    seed: Seed = None,
    workers: int | None = None,
    maker: Maker | None = None,
    progress: Progress = silent,
) -> Checked:
    """Return what outputs give away about the people they come from.

    Parameters
    ----------
    recipes
        The outputs, as formulas and tables that can be computed from any records (`read_recipes`).
    data
        The records; or codes of the recipes' columns.
    keys
        Columns that an attacker may know. Each must be in some output.
    sensitive
        Columns that an attacker wants to know.
    key_sizes
        The least and largest number of keys in a set; 3 to all of them if absent.
    released
        Outputs that were released already.
    policy
        The rules; the usual ones if absent.
    syntheses
        Datasets in the ensemble of each fold.
    holdout_share, repeat_splits
        Who is held out, and how many random splits.
    engine, start, tolerance
        As in `evolve`, for each dataset.
    seconds, proposals
        When a search gives up, for each dataset, as in `evolve`; 20 seconds if neither is given. Seconds stand for the proposals that all
        outputs together allow in that time; every search of the check may take as many.
    tau
        The share of a key's rows that must have one value before the attacker takes it.
    level
        Of intervals; those of marginal risks hold for all attributes and conventions together.
    cumulative
        Whether to assess outputs one by one, too (in at most eight steps, so a few at a time where there are many).
    leave_one_out
        Whether to assess the set without each of its outputs: where an `excess` was found, `always` or `never`.
    whole_runs
        Datasets made from the outputs of all the data (P1's experiment 1); 0 for none.
    fold_of_fold
        Whether to assess folds of folds, too, and to extrapolate to all the data.
    error_line
        Whether to relate attribution to the error of the outputs (P1's figure 3).
    seed
        For all that is random.
    workers
        How many processes and threads work at once; results do not depend on it.
    maker
        Makes ensembles in place of `evolve`.
    progress
        Called with what is being done and the share done.
    """
    began = time.perf_counter()
    policy = policy or Policy()
    together = recipes if released is None else released.including(recipes)
    used = {recipe.name: named_columns([recipe.entry], together.fields.names) for recipe in together.every}
    _check_attack(together, used, keys, sensitive)
    if syntheses < 2:
        raise InputError(f"An ensemble needs at least 2 syntheses, and 50 for a fair interval. Got {syntheses}.")
    if leave_one_out == "always" and len(together.every) < 2:
        raise InputError("There is nothing to leave one out of: there is one output. Leave it out, or check more of them together.")
    fields = _narrowed(together.fields, used, keys, sensitive)
    check_start(start, fields.columns)
    codes, left_out = _codes(fields, data, recipes.fields)
    fields = fields.counted(codes)
    together = replace(together, fields=fields)
    attacks = tuple(attack_of(fields, keys, one, sizes=key_sizes, tau=tau) for one in sensitive)
    entropy = int(seed_sequence(seed).generate_state(1, np.uint64)[0])
    splits = folds(len(codes), holdout_share=holdout_share, repeats=repeat_splits, seed=entropy)
    evolver = Evolver(engine, start, None, tolerance, workers)
    scene = Scene(codes, together, attacks, splits, maker or evolver, start, syntheses, entropy, level, workers)
    inconsistent = _inconsistent(together, codes)
    names = [recipe.name for recipe in together.every]
    old = [] if released is None else [recipe.name for recipe in released.every]
    new = [name for name in names if name not in old]
    rules = check_rules(together.only(new), codes, policy, released=together.only(old) if old else None)
    _check_folds(scene, rules)
    problems = [spec.problem() for spec in scene.specs]
    check_tolerance(tolerance, *problems)
    each = seconds_each(problems[0], rows=len(codes), engine=engine)
    proposals = proposals_of(seconds, proposals, each=each, default=SECONDS)
    evolver = replace(evolver, proposals=proposals)
    scene = replace(scene, maker=maker or evolver)

    steps = _steps(old, new) if cumulative else [("all outputs", names)]
    ahead = len(steps) + (1 if whole_runs else 0) + (2 if fold_of_fold else 0) + (1 if error_line else 0)
    done = 0

    def part(what: str, share: float) -> None:
        progress(what, min(0.999, (done + share) / ahead))

    stages = []
    for number, (title, some) in enumerate(steps):
        stages.append(scene.assess(title, some, keep=number == len(steps) - 1, progress=part))
        done += 1
    whole = stages[-1]
    excess = any(measure.excess for measure in whole.measures)
    without = []
    if len(names) > 1 and (leave_one_out == "always" or (leave_one_out == "excess" and excess)):
        ahead += len(new)
        for name in new:
            rest = [other for other in names if other != name]
            same = next((stage for stage in stages if set(stage.outputs) == set(rest)), None)
            without.append(
                replace(same, name=f"without {name}")
                if same is not None
                else scene.assess(f"without {name}", rest, progress=part)
            )
            done += 1
    runs: tuple[Whole, ...] = ()
    if whole_runs:
        seeds = seed_sequence(entropy).spawn(5)[4]
        runs = whole_data(
            together, codes, attacks, scene.maker, runs=whole_runs, seed=seeds, threads=workers, progress=part
        )
        done += 1
    sizes = by_size(scene, whole, names, progress=part) if fold_of_fold else ()
    done += 2 if fold_of_fold else 0
    lines = error_lines(scene, names, evolver, progress=part) if error_line else ()
    agreement = tuple(agreement_of(attack, whole.found[attack.sensitive], level=level) for attack in attacks)
    exposed = [
        one for attack in attacks for one in exposed_classes(fields, codes, attack, whole.found[attack.sensitive])
    ]
    fits = {fit.name: fit for fit in whole.fits}
    outputs = tuple(
        CheckedOutput(
            recipe.name,
            recipe.kind,
            STATBARNS.get(recipe.kind, "CorrelationCoefficients"),
            used[recipe.name],
            recipe.name in old,
            None if recipe.published is None else recipe.name not in inconsistent,
            fits.get(recipe.name),
        )
        for recipe in together.every
    )
    settings = {
        "keys": list(keys),
        "sensitive": list(sensitive),
        "key_sizes": [len(attacks[0].key_sets[0]), len(attacks[0].key_sets[-1])],
        "key_sets": len(attacks[0].key_sets),
        "syntheses": syntheses,
        "holdout_share": holdout_share,
        "repeat_splits": repeat_splits,
        "engine": engine,
        "start": start,
        "proposals": proposals,
        "tau": tau,
        "level": level,
        "seed": seed if isinstance(seed, int) else None,
        "policy": policy.name,
        "policy_hash": policy.hash,
    }
    progress("done", 1.0)
    return Checked(
        settings,
        len(codes),
        left_out,
        outputs,
        whole,
        tuple(stages),
        tuple(later.less(earlier, level=level) for earlier, later in pairwise(stages)),
        tuple(without),
        agreement,
        runs,
        sizes,
        lines,
        rules,
        verdict_of(
            whole.measures,
            reached=whole.reached,
            inconsistent=inconsistent,
            not_assessed=[(one.rule, one.output) for one in rules if one.status == "not assessed"],
        ),
        time.perf_counter() - began,
        exposed,
        together,
    )


def _check_attack(
    recipes: Recipes, used: Mapping[str, Sequence[str]], keys: Sequence[str], sensitive: Sequence[str]
) -> None:
    """Raise InputError where keys or sensitive attributes are not as they should be."""
    names = recipes.fields.names
    for what, some in (("keys", keys), ("sensitive attributes", sensitive)):
        if not some:
            raise InputError(f"A check needs {what}. Got none.")
        if len(set(some)) < len(some):
            raise InputError(f"The {what} must differ from each other. Got one twice.")
        for name in some:
            if name not in names:
                raise unknown_name("column", name, names)
    seen = {name for columns in used.values() for name in columns}
    for name in (*keys, *sensitive):
        if name not in seen:
            what = "key" if name in keys else "sensitive attribute"
            raise InputError(
                f"The {what} '{name}' is in no output, so no output can tell anything with it. Leave it out, or add the output that has it. "
                f"Outputs are about {listed(sorted(seen))}."
            )


def _narrowed(
    fields: Fields, used: Mapping[str, Sequence[str]], keys: Sequence[str], sensitive: Sequence[str]
) -> Fields:
    """Only those columns that an output is about."""
    seen = {*keys, *sensitive, *(name for columns in used.values() for name in columns)}
    return Fields(tuple(one for one in fields if one.name in seen))


def _codes(fields: Fields, data: Table | Codes, given: Fields) -> tuple[Codes, float]:
    """The records as codes of some columns, and the share of records that was left out; `given` are the columns of codes."""
    if isinstance(data, np.ndarray):
        every = given.columns.check(data)
        return fields.columns.check(every[:, [given.position(name) for name in fields.names]]), 0.0
    from ..records import codes_of_table

    records = codes_of_table(data, fields)
    return records.codes, 1.0 - records.share_kept


def _check_folds(scene: Scene, rules: RuleReport) -> None:
    """Raise InputError, before any search begins, where an output cannot be computed on a fold; with the rules that it breaks."""
    try:
        scene.specs  # noqa: B018  computed here, and kept for every stage
    except InputError as error:
        name = _failing(scene)
        broken = sorted({one.rule for one in rules.findings if one.status == "fail" and one.output == name})
        more = f" On all the data it breaks these rules: {', '.join(broken)}." if broken else ""
        raise InputError(f"{error}{more}") from None


def _failing(scene: Scene) -> str:
    """The first output that some fold cannot give."""
    for fold in scene.folds:
        for name in scene.recipes.names:
            try:
                scene.recipes.spec(scene.codes[fold.original], only=[name])
            except InputError:
                return name
    return ""


def _inconsistent(recipes: Recipes, codes: Codes) -> list[str]:
    """The names of outputs whose published numbers the data do not give."""
    published = [recipe for recipe in recipes.every if recipe.published is not None]
    if not published:
        return []
    spec = recipes.only([recipe.name for recipe in published]).published(rows=len(codes))
    found = [one.name for one in compared(spec, codes) if one.within is False]
    if not found:
        check_contradictions(spec, len(codes))
    return found


def _steps(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Stages of a cumulative assessment: what was released already, then the new outputs one by one, or a few at a time."""
    steps = [("released already", list(old))] if old else []
    at_once = -(-len(new) // MOST_STEPS)
    for first in range(0, len(new), at_once):
        some = new[first : first + at_once]
        steps.append((", ".join(some), [*old, *new[: first + len(some)]]))
    return steps
