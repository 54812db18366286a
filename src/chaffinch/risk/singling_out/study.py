"""Predicate singling out: from a released table, name somebody in the data, and say how often that is right.

The attacker knows the population D and the synthesiser, learns one classifier for each of k targets, and for each release takes the target
whose classifier is surest. The predicate "every attribute equals the target's" isolates if the target is in X. Success is counted over fresh
X's, beside what a blind guess reaches: |X| / |D|.

Beyond the paper: the weight of the predicate and the chance of a blind attacker at that weight, as Cohen and Nissim define singling out; and
predicates of fewer attributes, of which the lightest of each size is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.masking import THRESHOLD
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed
from ...stats.intervals import clopper_pearson
from ..membership.choosing import chosen, exclude_weak, weights_by_auc
from ..membership.learning import Learnt, Seen
from ..membership.ranking import Ranking
from ..membership.settings import ShadowSettings
from ..membership.study import campaign_against, sizes_of
from ..shadows.draws import fresh_draws
from ..shadows.work import Working
from ..shadows.world import Duplicates, World
from .chances import baseline, blind_chance_at_most, drawn_chance, nobody_in
from .predicates import Lightest, isolates, lightest
from .result import AttackerSkill, Isolation, SinglingOutResult


def singling_out(
    original: Any,
    synthesiser: Any,
    population: Any = None,
    *,
    settings: ShadowSettings | None = None,
    targets: int | Sequence[int] = 50,
    rows: int | None = None,
    releases: int = 1000,
    duplicates: Duplicates = "drop",
    ranking: Ranking = "union",
    threshold: int = THRESHOLD,
    seed: Seed = None,
    workers: int | None = None,
    executor: Executor | None = None,
    keep: Path | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
    **options: Any,
) -> SinglingOutResult:
    """Attack a synthesiser by predicate singling out, and return how often it names somebody who is in the data.

    Parameters
    ----------
    releases
        Fresh subsets X to attack, one synthetic table of each.

    Notes
    -----
    The others are those of `chaffinch.membership`.
    """
    if releases < 1:
        raise InputError(f"There must be at least 1 release to attack. Got {releases}.")
    campaign = campaign_against(
        original,
        synthesiser,
        population,
        settings or ShadowSettings(**options),
        seed,
        Working(workers, executor, keep, time_limit, progress),
        targets=targets,
        rows=rows,
        duplicates=duplicates,
        ranking=ranking,
    )
    world = campaign.world
    learnt = campaign.learnt()
    rng = np.random.default_rng(campaign.stream(5))
    draws = fresh_draws(
        world.n_population, world.targets, rows=world.rows, shadows=releases, rng=rng
    )
    return judged(learnt, learnt.look(draws, "attack", 6), rng, threshold)


def judged(
    learnt: Learnt, seen: Seen, rng: np.random.Generator, threshold: int = THRESHOLD
) -> SinglingOutResult:
    """Return the result of naming one target for each release."""
    world, plan, sizes = learnt.campaign.world, learnt.campaign.plan, sizes_of(learnt, threshold)
    named = _choice(seen.log_odds, learnt.aucs, plan.combine, rng)
    nearest = _choice(seen.closest, learnt.aucs, "argmax", rng)
    known = [lightest(world.records, world.records[target]) for target in world.targets]
    isolations = _isolations(world, seen, named, known)
    aucs = tuple(float(auc) for auc in learnt.aucs)
    return SinglingOutResult(
        isolations=isolations,
        closest=_isolations(world, seen, nearest, known)[-1],
        guess=baseline(world.rows, world.n_population),
        nobody=nobody_in(world.rows, world.n_population, len(world.targets)),
        releases=len(seen.draws),
        attributes_that_suffice=float(
            np.mean([min(one.shortest, len(isolations)) for one in known])
        ),
        skill=AttackerSkill(float(np.mean(aucs)), min(aucs), max(aucs)),
        aucs=aucs,
        named=named,
        right=seen.draws.member[np.arange(len(named)), named],
        **{**sizes, "settings": {**sizes["settings"], "releases": len(seen.draws)}},
    )


def _choice(
    scores: NDArray[np.float64], aucs: NDArray[np.float64], combine: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The target named for each release. Of equal scores one is drawn: the first would favour the most vulnerable."""
    order = rng.permutation(scores.shape[1])
    weights = weights_by_auc(aucs)[order] if combine == "weighted" else None
    keep = exclude_weak(aucs, 0.5)[order] if combine == "strong" else None
    return np.asarray(order[chosen(scores[:, order], weights=weights, keep=keep)])


def _isolations(
    world: World, seen: Seen, named: NDArray[np.int64], known: Sequence[Lightest]
) -> tuple[Isolation, ...]:
    """How often the lightest predicates of each size about the named targets isolated."""
    records, targets = world.records, world.records[world.targets]
    hits = np.stack(
        [
            isolates(records[rows], targets[k], known[k].columns)
            for rows, k in zip(seen.draws.rows, named, strict=True)
        ]
    )
    matches = np.stack([known[k].matches for k in named])
    out = []
    for a in range(hits.shape[1]):
        weights = matches[:, a] / world.n_population
        each = {
            int(m): drawn_chance(int(m), world.rows, world.n_population)
            for m in np.unique(matches[:, a])
        }
        out.append(
            Isolation(
                attributes=a + 1,
                success=float(hits[:, a].mean()),
                interval=clopper_pearson(int(hits[:, a].sum()), len(hits)),
                weight=float(weights.mean()),
                blind_attacker=float(
                    np.mean([blind_chance_at_most(float(w), world.rows) for w in weights])
                ),
                without_release=float(np.mean([each[int(m)] for m in matches[:, a]])),
            )
        )
    return tuple(out)
