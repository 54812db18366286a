"""Predicate singling out (P3): from a released table, name somebody in the data, and say how often that is right.

The attacker knows the population D and the synthesiser, learns one classifier for each of k targets, and for each release takes the target
whose classifier is surest. The predicate "every attribute equals the target's" isolates if the target is in X. Success is counted over fresh
X's, beside what a blind guess reaches: |X| / |D| (P3, equation 1).

Beyond P3: the weight of the predicate and the chance of a blind attacker at that weight, as Cohen and Nissim define singling out; and
predicates of fewer attributes, of which the lightest of each size is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.html import html_table
from ..._base.masking import about
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed
from ...stats.intervals import Interval, clopper_pearson
from ...table.table import Table
from ..membership.choosing import chosen, exclude_weak, weights_by_auc
from ..membership.learning import Learnt, Seen, prepare_campaign
from ..membership.plan import ShadowPlan
from ..shadows.draws import fresh_draws
from ..shadows.world import Duplicates, World, world_of
from .chances import baseline, blind_chance_at_most, drawn_chance, nobody_in
from .predicates import Lightest, isolates, lightest

__all__ = ["Isolation", "SinglingOut", "study_singling_out"]


@dataclass(frozen=True)
class Isolation:
    """How often a predicate of so many attributes isolated, and what a blind attacker reaches.

    Parameters
    ----------
    success, interval
        Share of releases in which exactly one record of X matched; exact 95 % interval.
    weight
        Mean weight of the predicates: the share of the population that they are true of.
    blind
        What a blind attacker reaches with predicates no heavier (Cohen and Nissim), records drawn independently.
    drawn
        What the same predicates reach when X is drawn without replacement and nothing is released.
    """

    attributes: int
    success: float
    interval: Interval
    weight: float
    blind: float
    drawn: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "attributes": self.attributes, "success": self.success, "interval": list(self.interval), "weight": self.weight,
            "blind_attacker": self.blind, "without_release": self.drawn,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class SinglingOut:
    """The result of an attack by predicate singling out. Holds no record; `inside()` does, for the steward alone.

    `isolations` are by number of attributes, all of them last: P3's predicate.
    """

    isolations: tuple[Isolation, ...]
    closest: Isolation
    guess: float
    nobody: float
    releases: int
    aucs: tuple[float, ...]
    shortest: float
    world: World
    settings: dict[str, Any]
    seconds: float | None
    """How long the fits took; None where they promise privacy."""
    named: NDArray[np.int64]
    right: NDArray[np.bool_]

    @property
    def success(self) -> float:
        """The share of releases from which somebody was singled out by all attributes: 0 to 1, lower is safer."""
        return self.isolations[-1].success

    @property
    def interval(self) -> Interval:
        """The exact 95 % interval of `success`."""
        return self.isolations[-1].interval

    @property
    def baseline(self) -> float:
        """The guess as it is told everywhere, to three digits: one more would tell the size of the population."""
        return round(self.guess, 3)

    @property
    def found(self) -> bool:
        """Whether the attack does better than a blind guess: the whole interval is above it."""
        return self.interval[0] > self.guess

    @property
    def sentence(self) -> str:
        """Return the result in words."""
        low, high = self.interval
        head = f"Somebody was singled out from {self.success:.1%} of {self.releases:,} releases (95 % interval {low:.1%} to {high:.1%}); "
        if self.found:
            return (
                head
                + f"a guess without any release is right in {self.baseline:.1%}: the releases tell who is in the data."
            )
        return (
            head
            + f"a guess without any release is right in {self.baseline:.1%}: no more was found than guessing gives."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data that may leave."""
        return {
            "success": self.success,
            "interval": list(self.interval),
            "direction": "lower is safer",
            "baseline": self.baseline,
            "above_baseline": self.found,
            "nobody_of_targets_in_data": self.nobody,
            "releases": self.releases,
            "targets": len(self.world.targets),
            "rows": self.world.rows,
            "population": about(self.world.n_population),
            "duplicates_left_out": about(self.world.duplicates),
            "closest_distance": self.closest.to_dict(),
            "by_attributes": [one.to_dict() for one in self.isolations],
            "attributes_that_suffice": self.shortest,
            "auc_of_attackers": {
                "mean": float(np.mean(self.aucs)), "least": float(np.min(self.aucs)), "most": float(np.max(self.aucs))
            },
            "settings": self.settings,
            "run": {} if self.seconds is None else {"seconds_of_fits": self.seconds},
        }  # fmt: skip

    def inside(self) -> dict[str, Any]:
        """Return the predicates with their constants, and how often each was right: confidential."""
        table = self.world.table
        names = table.schema.names
        told = []
        for k, row in enumerate(self.world.targets):
            record = table.data.select(list(names)).slice(int(row), 1).to_pylist()[0]
            mine = self.named == k
            told.append(
                {
                    "conditions": [[name, "==", _plain(record[name])] for name in names],
                    "releases_that_named_it": int(mine.sum()),
                    "of_these_right": int((mine & self.right).sum()),
                    "auc": self.aucs[k],
                }
            )
        return {"confidential": True, "predicates": told}

    def __repr__(self) -> str:
        return f"SinglingOut(success {self.success:.4g} [{self.interval[0]:.4g}, {self.interval[1]:.4g}], baseline {self.baseline:.4g}, {self.releases:,} releases)"

    def _repr_html_(self) -> str:
        head = ["attributes", "success", "95 % interval", "weight", "blind attacker", "without release"]
        rows = [
            [i.attributes, f"{i.success:.3f}", f"{i.interval[0]:.3f} to {i.interval[1]:.3f}", f"{i.weight:.2g}", f"{i.blind:.3f}", f"{i.drawn:.3f}"]
            for i in self.isolations
        ]  # fmt: skip
        return html_table(head, rows, caption=self.sentence)


def study_singling_out(
    table: Table,
    synthesiser: Any,
    population: Table | None = None,
    *,
    plan: ShadowPlan | None = None,
    targets: int | Sequence[int] = 50,
    rows: int | None = None,
    releases: int = 1000,
    duplicates: Duplicates = "drop",
    distance: Literal["hamming", "cosine"] = "hamming",
    seed: Seed = None,
    workers: int | None = None,
    executor: Executor | None = None,
    keep: Path | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
) -> SinglingOut:
    """Attack a synthesiser by predicate singling out, and return how often it names somebody who is in the data.

    Parameters
    ----------
    table, population, targets, rows, duplicates, distance
        Whom to attack, and what is drawn from: see `shadows.world_of`.
    synthesiser
        Settings with `fit`, or a function `(table, seed) -> table`.
    releases
        Fresh subsets X to attack, one synthetic table of each.
    workers, executor, keep, time_limit
        See `shadows.run_shadows`.
    """
    plan = plan or ShadowPlan()
    if releases < 1:
        raise InputError(f"There must be at least 1 release to attack. Got {releases}.")
    chosen_targets = targets if isinstance(targets, int) else np.asarray(targets, dtype=np.int64)
    world = world_of(table, population, targets=chosen_targets, rows=rows, duplicates=duplicates, distance=distance)
    campaign = prepare_campaign(
        world, synthesiser, plan, seed=seed, workers=workers, executor=executor, keep=keep, time_limit=time_limit, progress=progress
    )  # fmt: skip
    learnt = campaign.learnt()
    rng = np.random.default_rng(campaign.stream(5))
    draws = fresh_draws(world.n_population, world.targets, rows=world.rows, shadows=releases, rng=rng)
    return judged(learnt, learnt.look(draws, "attack", 6), rng)


def judged(learnt: Learnt, seen: Seen, rng: np.random.Generator) -> SinglingOut:
    """Return the result of naming one target for each release."""
    world, plan = learnt.campaign.world, learnt.campaign.plan
    named = _choice(seen.log_odds, learnt.aucs, plan.combine, rng)
    nearest = _choice(seen.closest, learnt.aucs, "argmax", rng)
    known = [lightest(world.codes, target) for target in world.target_codes]
    isolations = _isolations(world, seen, named, known)
    n_columns = len(isolations)
    settings = {**plan.to_dict(), "synthesiser": learnt.campaign.generator.words, "releases": len(seen.draws)}
    return SinglingOut(
        isolations=isolations,
        closest=_isolations(world, seen, nearest, known)[-1],
        guess=baseline(world.rows, world.n_population),
        nobody=nobody_in(world.rows, world.n_population, len(world.targets)),
        releases=len(seen.draws),
        aucs=tuple(float(a) for a in learnt.aucs),
        shortest=float(np.mean([min(one.shortest, n_columns) for one in known])),
        world=world,
        settings=settings,
        seconds=learnt.seconds,
        named=named,
        right=seen.draws.member[np.arange(len(named)), named],
    )


def _choice(
    scores: NDArray[np.float64], aucs: NDArray[np.float64], combine: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The target named for each release. Of equal scores one is drawn: the first would favour the most vulnerable."""
    order = rng.permutation(scores.shape[1])
    weights = weights_by_auc(aucs)[order] if combine == "weighted" else None
    keep = exclude_weak(aucs, 0.5)[order] if combine == "strong" else None
    return np.asarray(order[chosen(scores[:, order], weights=weights, keep=keep)])


def _isolations(world: World, seen: Seen, named: NDArray[np.int64], known: Sequence[Lightest]) -> tuple[Isolation, ...]:
    """How often the lightest predicates of each size about the named targets isolated."""
    codes, targets = world.codes, world.target_codes
    hits = np.stack(
        [isolates(codes[rows], targets[k], known[k].columns) for rows, k in zip(seen.draws.rows, named, strict=True)]
    )
    matches = np.stack([known[k].matches for k in named])
    out = []
    for a in range(hits.shape[1]):
        weights = matches[:, a] / world.n_population
        each = {int(m): drawn_chance(int(m), world.rows, world.n_population) for m in np.unique(matches[:, a])}
        out.append(
            Isolation(
                attributes=a + 1,
                success=float(hits[:, a].mean()),
                interval=clopper_pearson(int(hits[:, a].sum()), len(hits)),
                weight=float(weights.mean()),
                blind=float(np.mean([blind_chance_at_most(float(w), world.rows) for w in weights])),
                drawn=float(np.mean([each[int(m)] for m in matches[:, a]])),
            )
        )
    return tuple(out)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
