"""Was this person in the data? Membership inference by shadow modelling, against any synthesiser.

Attackers learn from shadows: fits on subsets of a public population, with and without each target. What they reach is measured on other
fits, at thresholds chosen without them, beside an attacker who only looks for the closest row.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.html import html_table
from ..._base.masking import about
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed
from ...table.table import Table
from ..shadows.world import Duplicates, World, world_of
from .learning import Learnt, Seen, prepare_campaign
from .plan import ShadowPlan
from .rates import Rates, Trials, rates

__all__ = ["MembershipStudy", "study_membership"]


@dataclass(frozen=True, eq=False)
class MembershipStudy:
    """How well membership can be told from what is released. Holds no record; `inside()` does, for the steward alone.

    Parameters
    ----------
    pooled, closest
        All targets together, by the attackers and by the closest row alone.
    each
        Every target by itself, in the order of their vulnerability.
    """

    pooled: Rates
    closest: Rates
    each: tuple[Rates, ...]
    world: World
    settings: dict[str, Any]
    seconds: float | None
    """How long the fits took; None where they promise privacy."""

    @property
    def auc(self) -> float:
        """The chance that a member scores above another, all targets together: 0.5 is a guess, lower is safer."""
        return self.pooled.auc

    @property
    def worst(self) -> Rates:
        """The target that is told best."""
        return max(self.each, key=lambda one: one.auc)

    @property
    def found(self) -> bool:
        """Whether membership can be told better than by a guess: the whole interval of the AUC is above one half."""
        return self.pooled.auc_interval[0] > 0.5

    @property
    def sentence(self) -> str:
        """Return the result in words."""
        low, high = self.pooled.auc_interval
        head = f"Members and others are told apart with AUC {self.auc:.3f} (95 % interval {low:.3f} to {high:.3f}); "
        near = f"by the closest row alone {self.closest.auc:.3f}. "
        if self.found:
            return head + near + "What is released tells who is in the data."
        return head + near + "A guess has 0.5: no more was found than guessing gives."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data that may leave."""
        return {
            "auc": self.auc,
            "interval": list(self.pooled.auc_interval),
            "direction": "lower is safer",
            "baseline": 0.5,
            "above_baseline": self.found,
            "pooled": self.pooled.to_dict(),
            "closest_distance": self.closest.to_dict(),
            "worst_target": {k: v for k, v in self.worst.to_dict().items() if k != "roc"},
            "auc_of_targets": sorted((one.auc for one in self.each), reverse=True),
            "targets": len(self.world.targets),
            "rows": self.world.rows,
            "population": about(self.world.n_population),
            "duplicates_left_out": about(self.world.duplicates),
            "settings": self.settings,
            "run": {} if self.seconds is None else {"seconds_of_fits": self.seconds},
        }

    def inside(self) -> dict[str, Any]:
        """Return the targets' records with how well each is told: confidential."""
        table = self.world.table.data
        records = table.take(self.world.targets).to_pylist()
        told = [
            {"record": {name: None if value is None else str(value) for name, value in record.items()}, "auc": one.auc}
            for record, one in zip(records, self.each, strict=True)
        ]
        return {"confidential": True, "targets": told}

    def __repr__(self) -> str:
        low, high = self.pooled.auc_interval
        return f"MembershipStudy(AUC {self.auc:.4g} [{low:.4g}, {high:.4g}], {len(self.each)} targets, closest row {self.closest.auc:.4g})"

    def _repr_html_(self) -> str:
        rows = []
        for name, one in (
            ("all targets", self.pooled),
            ("closest row alone", self.closest),
            ("target told best", self.worst),
        ):
            at = [
                "" if a.tpr is None or a.tpr_interval is None else f"{a.tpr:.3f} ({a.tpr_interval[0]:.3f} to {a.tpr_interval[1]:.3f})"
                for a in one.at
            ]  # fmt: skip
            ends = f"{one.auc_interval[0]:.3f} to {one.auc_interval[1]:.3f}"
            rows.append([name, f"{one.auc:.3f}", ends, f"{one.advantage:.3f}", *at])
        head = ["", "AUC", "95 % interval", "advantage", *(f"true positives at {a.level:.1%} false" for a in self.pooled.at)]  # fmt: skip
        return html_table(head, rows, caption=self.sentence)


def study_membership(
    table: Table,
    synthesiser: Any,
    population: Table | None = None,
    *,
    plan: ShadowPlan | None = None,
    targets: int | Sequence[int] = 50,
    rows: int | None = None,
    duplicates: Duplicates = "drop",
    distance: Literal["hamming", "cosine"] = "hamming",
    seed: Seed = None,
    workers: int | None = None,
    executor: Executor | None = None,
    keep: Path | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
) -> MembershipStudy:
    """Attack a synthesiser by membership inference, and return how well members are told from others.

    Parameters
    ----------
    table, population, targets, rows, duplicates, distance
        Whom to attack, and what is drawn from: see `shadows.world_of`.
    synthesiser
        Settings with `fit`, or a function `(table, seed) -> table`.
    workers, executor, keep, time_limit
        See `shadows.run_shadows`.
    """
    plan = plan or ShadowPlan()
    chosen = targets if isinstance(targets, int) else np.asarray(targets, dtype=np.int64)
    world = world_of(table, population, targets=chosen, rows=rows, duplicates=duplicates, distance=distance)
    campaign = prepare_campaign(
        world, synthesiser, plan, seed=seed, workers=workers, executor=executor, keep=keep, time_limit=time_limit, progress=progress
    )  # fmt: skip
    learnt = campaign.learnt()
    return judged(learnt, learnt.look(campaign.drawn(plan.tests, 3), "test", 4))


def judged(learnt: Learnt, seen: Seen) -> MembershipStudy:
    """Return how well attackers did on shadows that they did not learn from."""
    campaign = learnt.campaign
    checked = learnt.checked

    def compared(of_checked: NDArray[np.float64], of_seen: NDArray[np.float64], target: int | None = None) -> Rates:
        return rates(_trials(checked, of_checked, target), _trials(seen, of_seen, target))

    return MembershipStudy(
        pooled=compared(checked.log_odds, seen.log_odds),
        closest=compared(checked.closest, seen.closest),
        each=tuple(compared(checked.log_odds, seen.log_odds, k) for k in range(len(campaign.world.targets))),
        world=campaign.world,
        settings={**campaign.plan.to_dict(), "synthesiser": campaign.generator.words},
        seconds=learnt.seconds,
    )


def _trials(seen: Seen, scores: NDArray[np.float64], target: int | None) -> Trials:
    """The scores of one target, or of all, each with its cluster: the shadow, or the pair of neighbours that share their other records."""
    columns = slice(None) if target is None else slice(target, target + 1)
    shadow = np.arange(len(scores))
    if (seen.draws.owner >= 0).any():
        shadow = shadow // 2
    values, member = scores[:, columns], seen.draws.member[:, columns]
    there = np.isfinite(values)
    clusters = np.broadcast_to(shadow[:, None], values.shape)
    return Trials(values[there], member[there], clusters[there])
