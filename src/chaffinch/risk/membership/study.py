"""Was this person in the data? Membership inference by shadow modelling, against any synthesiser: `chaffinch.membership`.

Attackers learn from shadows: fits on subsets of a public population, with and without each target. What they reach is measured on other
fits, at thresholds chosen without them, beside an attacker who only looks for the closest row.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..._base.masking import THRESHOLD, masked_count
from ..._base.options import takes
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ...stats.intervals import clustered_auc
from ...stats.learners import auc
from ...table.rows import open_table
from ..finding import Finding
from ..shadows.generator import Generator
from ..shadows.run import Working, stored_seed
from ..shadows.world import Equal, world_of
from .learning import ShadowScores, ShadowStudy, TrainedAttackers
from .rates import LabelledScores, Rates, rates
from .result import MembershipResult, auc_finding
from .settings import ShadowSettings

if TYPE_CHECKING:
    from ...keywords import ShadowOptions


@takes(ShadowSettings)
def membership(
    original: Any,
    synthesiser: Any,
    population: Any = None,
    *,
    settings: ShadowSettings | None = None,
    seed: Seed = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
    **options: Unpack[ShadowOptions],
) -> MembershipResult:
    """Attack a synthesiser by membership inference, and return how well members are told from others.

    Parameters
    ----------
    original, population
        Tables, paths or frames: whose people are attacked, and more people of the same kind, known to the attacker.
    synthesiser
        Settings with `fit`, or a function `(table, seed) -> table`.
    settings, options
        Whom to attack and how attackers learn: a `ShadowSettings`, or its options by name.
    workers, executor
        See `shadows.Working`.
    """
    settings = ShadowSettings.chosen(settings, options)
    campaign = campaign_against(
        original,
        synthesiser,
        population,
        settings,
        seed,
        Working.for_run(settings.run, workers=workers, executor=executor, progress=progress),
    )
    learnt = campaign.learnt()
    seen = learnt.look(campaign.drawn(campaign.plan.test_shadows, 3), "test", 4)
    return judge_shadows(learnt, seen, settings.whom.threshold)


def campaign_against(
    original: Any,
    synthesiser: Any,
    population: Any,
    settings: ShadowSettings,
    seed: Seed,
    working: Working,
) -> ShadowStudy:
    """Return a campaign against a synthesiser."""
    table = open_table(original)
    others = None if population is None else open_table(population, table.schema)
    # Where shadows have the population's grid, codes are all that is seen: equal codes are then the same record.
    equal: Equal = "values" if settings.grid == "release" else "codes"
    drawn_from = world_of(table, others, settings=settings.whom, equal=equal)
    seed = stored_seed(working.shadow_folder, seed)
    return ShadowStudy(
        drawn_from,
        Generator(synthesiser, drawn_from.table, settings.grid),
        settings,
        seed_sequence(seed),
        working,
    )


def sizes_of(learnt: TrainedAttackers, threshold: int) -> dict[str, Any]:
    """Return what every result of shadow modelling holds: whom it is about, out of whom, and how attackers learnt."""
    world, campaign = learnt.campaign.world, learnt.campaign
    return {
        "targets": len(world.targets),
        "subset_rows": world.rows,
        "population": masked_count(world.n_population, threshold),
        "duplicates": masked_count(world.duplicates, threshold),
        "ranked": dict(world.ranked),
        "settings": {**campaign.plan.to_dict(), "synthesiser": campaign.generator.description},
        "run": {} if learnt.seconds is None else {"seconds_of_fits": learnt.seconds},
        "threshold": threshold,
        "world": world,
    }


def judge_shadows(
    learnt: TrainedAttackers, seen: ShadowScores, threshold: int = THRESHOLD
) -> MembershipResult:
    """Return how well attackers did on shadows that they did not learn from."""
    checked, targets = learnt.checked, len(learnt.campaign.world.targets)

    def compared(
        of_checked: NDArray[np.float64], of_seen: NDArray[np.float64], target: int | None = None
    ) -> Rates:
        return rates(_trials(checked, of_checked, target), _trials(seen, of_seen, target))

    each = tuple(compared(checked.log_odds, seen.log_odds, k) for k in range(targets))
    pooled = compared(checked.log_odds, seen.log_odds)
    closest = compared(checked.closest, seen.closest)
    parts = [part_finding(name, seen, odds) for name, odds in seen.parts.items()]
    return MembershipResult(
        findings=(
            auc_finding(
                learnt.campaign.plan.learner, pooled.auc, pooled.auc_interval, targets=targets
            ),
            auc_finding("closest", closest.auc, closest.auc_interval, targets=targets),
            *sorted(parts, key=lambda finding: finding.rank, reverse=True),
        ),
        pooled=pooled,
        closest=closest,
        worst=max(each, key=lambda target_rates: target_rates.auc),
        target_aucs=tuple(sorted((target_rates.auc for target_rates in each), reverse=True)),
        mean_aucs={name: mean_target_auc(seen, odds) for name, odds in seen.parts.items()},
        each=each,
        **sizes_of(learnt, threshold),
    )


def part_finding(name: str, seen: ShadowScores, odds: NDArray[np.float64]) -> Finding:
    """Return how well log-odds (shadows, targets) tell members from others, under the name of an attacker."""
    pooled = _trials(seen, odds, None)
    value, ends = clustered_auc(pooled.scores, pooled.member, pooled.shadow, stratum=pooled.target)
    return auc_finding(name, value, ends, targets=odds.shape[1])


def mean_target_auc(seen: ShadowScores, odds: NDArray[np.float64]) -> float:
    """Return the mean of the targets' AUCs by log-odds (shadows, targets)."""
    each = [_trials(seen, odds, k) for k in range(odds.shape[1])]
    return float(np.mean([auc(trials.scores, trials.member) for trials in each]))


def _trials(seen: ShadowScores, scores: NDArray[np.float64], target: int | None) -> LabelledScores:
    """The scores of one target, or of all, each with its cluster: the shadow, or the pair of neighbours that share their other records."""
    columns = slice(None) if target is None else slice(target, target + 1)
    shadow = np.arange(len(scores))
    if (seen.draws.owner >= 0).any():
        shadow = shadow // 2
    values, member = scores[:, columns], seen.draws.member[:, columns]
    is_finite = np.isfinite(values)
    clusters = np.broadcast_to(shadow[:, None], values.shape)
    targets = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return LabelledScores(
        values[is_finite], member[is_finite], clusters[is_finite], targets[is_finite]
    )
