"""Learn an attacker for each target from shadows, and look at releases with all of them. One target's features at a time in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ...stats.splits import child
from ...synth.protocol import promises_privacy
from ..shadows.draws import Draws, neighbour_draws, shared_draws
from ..shadows.generator import Generator
from ..shadows.run import Shadows, run_shadows
from ..shadows.work import Working
from ..shadows.world import World
from .attacker import TargetAttacker
from .classifiers import learner
from .features import BlackBox, black_box
from .matches import closest_matches
from .settings import ShadowSettings
from .values import ValueSight
from .whitebox import WhiteBox

__all__ = ["Campaign", "Learnt", "Seen"]

MEMORY = 1 << 30
"""Bytes that the features of one target may take; beyond, only those that vary most are learnt from."""


SEARCHED = 8
"""Targets for which everything that can be chosen is tried; the others choose among what these chose."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What attackers think of some shadows: log-odds at even odds, and how close the nearest row comes, both (shadows, targets)."""

    draws: Draws
    log_odds: NDArray[np.float64]
    closest: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Campaign:
    """A population, a generator and a plan, with the streams of randomness that each step has."""

    world: World
    generator: Generator
    plan: ShadowSettings
    seed: np.random.SeedSequence
    working: Working

    def stream(self, step: int) -> np.random.SeedSequence:
        """Return the randomness of a step: 0 draws, 1 shadows, 2 learning, 3 and more what is attacked."""
        return child(self.seed, step)

    def drawn(self, pairs: int, step: int) -> Draws:
        """Return subsets by the plan's design: so many pairs, shared by all targets or for each."""
        rng = np.random.default_rng(self.stream(step))
        size = {"rows": self.world.rows, "rng": rng}
        if self.plan.design == "neighbours":
            return neighbour_draws(self.world.n_population, self.world.targets, pairs=pairs, **size)  # type: ignore[arg-type]
        return shared_draws(
            self.world.n_population, self.world.targets, shadows=2 * pairs, share=self.plan.share, **size  # type: ignore[arg-type]
        )  # fmt: skip

    def fitted(self, draws: Draws, name: str, step: int, *, tables: int, white: WhiteBox | None) -> Shadows:
        """Return the shadows of draws, kept in a folder of this name where they are kept."""

        def progress(words: str, share: float) -> None:
            self.working.progress(f"{name}: {words}", share)

        working = replace(self.working, keep=None if self.working.keep is None else self.working.keep / name, progress=progress)
        looking = {"white": white, "sight": self.sight, "seed": self.stream(step), "working": working}
        return run_shadows(self.generator, draws.rows, tables=tables, **looking)  # type: ignore[arg-type]

    @cached_property
    def sight(self) -> ValueSight | None:
        """What looks at released values; None where shadows have the population's grid: codes are all there is."""
        return ValueSight.of(self.world.table, self.world.targets) if self.plan.grid == "release" else None

    def learnt(self) -> Learnt:
        """Return an attacker for each target."""
        white = self._white() if self.plan.box == "whitebox" else None
        draws = self.drawn(self.plan.shadows, 0)
        shadows = self.fitted(draws, "learn", 1, tables=1 if white is not None else self.plan.tables, white=white)
        table = self.world.table
        rng = np.random.default_rng(self.stream(2))
        sight = black_box(self.plan.features, table.schema.sizes, columns=table.schema.names, seed=rng)
        counts = white is None and self.plan.features in ("queries", "histogram")
        learning = learner(self.plan.learner, kind="counts" if counts else "real")
        attackers, chosen = [], []
        shape = (len(draws), len(self.world.targets))
        odds, closest = np.full(shape, np.nan), np.full(shape, np.nan)
        for k in range(len(self.world.targets)):
            mine = draws.of(k)
            features, used = _features(shadows, self.world, sight, white, k, mine)
            attacker = learning.fit(features, draws.member[mine, k], seed=child(self.seed, 2, k), threads=self.working.workers)
            odds[mine, k] = attacker.checked[:, 0]
            closest[mine, k] = _closest(shadows, self.world, k, mine)
            attackers.append(attacker)
            chosen.append(used)
            if len(attackers) == SEARCHED:
                learning = learning.narrowed(attackers)
            self.working.progress("learning", (k + 1) / len(self.world.targets))
        seconds = None if promises_privacy(self.generator.maker) else shadows.seconds
        return Learnt(self, Seen(draws, odds, closest), seconds, sight, white, tuple(attackers), tuple(chosen))

    def _white(self) -> WhiteBox:
        """What looks into models: the tables it lines up are those of a network learnt from the population, which is public."""
        if not self.generator.fits:
            raise InputError("A function gives tables and no model to look into: use the black box.")
        model = self.generator.maker.fit(self.world.table, seed=self.stream(99))
        if not hasattr(model, "network"):
            raise InputError("The white box needs a model with a network and tables. Use the black box for this synthesiser.")
        return WhiteBox.of(self.world.table.schema, self.world.target_codes, reference=model.network)


@dataclass(frozen=True, eq=False)
class Learnt:
    """Attackers, one for each target, and all that is needed to look at a release as they do.

    `checked` is what they think of the first table of the shadows they learnt from, each out of fold: for thresholds.
    """

    campaign: Campaign
    checked: Seen
    seconds: float | None
    sight: BlackBox
    white: WhiteBox | None
    attackers: tuple[TargetAttacker, ...]
    used: tuple[NDArray[np.int64] | None, ...]

    @property
    def aucs(self) -> NDArray[np.float64]:
        """The AUC of each attacker on shadows that it did not learn from, out of fold."""
        return np.array([attacker.auc for attacker in self.attackers])

    def look(self, draws: Draws, name: str, step: int) -> Seen:
        """Return what the attackers think of new fits, one released table each."""
        campaign, world = self.campaign, self.campaign.world
        shadows = campaign.fitted(draws, name, step, tables=1, white=self.white)
        shape = (len(draws), len(world.targets))
        odds, closest = np.full(shape, np.nan), np.full(shape, np.nan)
        for k, attacker in enumerate(self.attackers):
            mine = draws.of(k)
            features, _ = _features(shadows, world, self.sight, self.white, k, mine, self.used[k])
            odds[mine, k] = attacker.log_odds(features[:, 0])
            closest[mine, k] = _closest(shadows, world, k, mine)
            campaign.working.progress(f"{name}: attacking", (k + 1) / len(self.attackers))
        return Seen(draws, odds, closest)


def _closest(shadows: Shadows, world: World, k: int, only: NDArray[np.int64]) -> NDArray[np.float64]:
    """On how many columns the nearest row of each shadow's first table matches a target."""
    target = world.target_codes[k]
    return np.asarray(
        shadows.gather(lambda tables: closest_matches(tables, target), only=only, tables=1)[:, 0], dtype=np.float64
    )


def _features(
    shadows: Shadows, world: World, sight: BlackBox, white: WhiteBox | None, k: int, only: NDArray[np.int64],
    used: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:  # fmt: skip
    """The features of a target in some shadows, (shadows, tables, features), and which of all features these are."""
    if white is not None:
        nodes, cells = shadows.nodes[only, k], shadows.cells[np.ix_(only, white.places(k))]
        return np.concatenate([nodes, cells], axis=1)[:, None, :], None
    target = world.target_codes[k]
    if used is None:
        used = _affordable(shadows, sight, target, only)
    if used is None:
        return shadows.gather(lambda tables: sight.of(tables, target), only=only), None
    return shadows.gather(lambda tables: sight.of(tables, target)[:, used], only=only), used


def _affordable(shadows: Shadows, sight: BlackBox, target: NDArray[Any], only: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Which features to learn from where all of them would not fit in memory: those that vary most in a few shadows. None for all."""
    width = len(sight.names)
    room = MEMORY // (4 * len(only) * shadows.tables)
    if width <= room:
        return None
    some = shadows.gather(lambda tables: sight.of(tables, target), only=only[:: max(1, len(only) // 50)])
    spread = np.sqrt(some.reshape(-1, width)).std(axis=0)
    return np.sort(np.argsort(-spread, kind="stable")[: max(room, 1)])
