"""Learn an attacker for each target from shadows, and look at releases with all of them. One target's features at a time in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..._base.seeds import child
from ...synth.protocol import promises_privacy
from ..attacker import ATTACKERS
from ..shadows.generator import Generator
from ..shadows.run import Shadows, Working, run_shadows
from ..shadows.world import AttackPopulation, Draws, neighbour_draws, shared_draws
from .attacker import Learner, TargetAttacker
from .combined import combined_of
from .features import BlackBox, black_box, closest_matches
from .layout import TABLE, FeatureLayout, learner_for
from .settings import ShadowSettings
from .values import ValueFeatures
from .whitebox import WhiteBox

MEMORY = 1 << 30
"""Bytes that the features of one target may take; beyond, only those that vary most are learnt from."""


SEARCHED = 8
"""Targets for which everything that can be chosen is tried; the others choose among what these chose."""


@dataclass(frozen=True, eq=False)
class ShadowScores:
    """What attackers think of some shadows: log-odds at even odds, and how close the nearest row comes, both (shadows, targets).

    `parts`: the log-odds of each part of a combined attacker alone, (shadows, targets), by its name.
    """

    draws: Draws
    log_odds: NDArray[np.float64]
    closest: NDArray[np.float64]
    parts: dict[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ShadowStudy:
    """A population, a generator and a plan, with the streams of randomness that each step has."""

    world: AttackPopulation
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
            self.world.n_population,
            self.world.targets,
            shadows=2 * pairs,
            share=self.plan.target_share,
            **size,  # type: ignore[arg-type]
        )

    def fitted(
        self, draws: Draws, name: str, step: int, *, tables: int, white: WhiteBox | None
    ) -> Shadows:
        """Return the shadows of draws, kept in a folder of this name where they are kept."""

        def progress(message: str, share: float) -> None:
            self.working.progress(f"{name}: {message}", share)

        folder = self.working.shadow_folder
        working = replace(
            self.working,
            shadow_folder=folder and folder / name,
            progress=progress,
        )
        looking = {
            "white": white,
            "sight": self.sight,
            "seed": self.stream(step),
            "working": working,
        }
        return run_shadows(self.generator, draws.rows, tables=tables, **looking)  # type: ignore[arg-type]

    @cached_property
    def sight(self) -> ValueFeatures | None:
        """What looks at released values; None where shadows have the population's grid: codes are all there is."""
        return (
            ValueFeatures.from_population(self.world.table, self.world.targets)
            if self.plan.grid == "release"
            else None
        )

    def learnt(self) -> TrainedAttackers:
        """Return an attacker for each target."""
        white = self._white() if self.plan.access == "whitebox" else None
        draws = self.drawn(self.plan.shadows, 0)
        shadows = self.fitted(
            draws,
            "learn",
            1,
            tables=1 if white is not None else self.plan.tables_per_shadow,
            white=white,
        )
        looking = self._looking(white)
        learning: Learner | None = None
        attackers, chosen = [], []
        seen = _unseen(draws, len(self.world.targets))
        for k in range(len(self.world.targets)):
            mine = draws.shadows_of(k)
            features, used = looking.features(shadows, k, mine)
            if learning is None:
                learning = learner_for(self.plan.learner, looking.layout(features.shape[-1]))
            attacker = learning.fit(
                features,
                draws.member[mine, k],
                seed=child(self.seed, 2, k),
                threads=self.working.workers,
            )
            _note(seen, k, mine, attacker.checked[:, 0], _parts_of(attacker, None))
            seen.closest[mine, k] = _closest(shadows, self.world, k, mine)
            attackers.append(attacker)
            chosen.append(used)
            if len(attackers) == SEARCHED:
                learning = learning.narrowed(attackers)
            self.working.progress("learning", (k + 1) / len(self.world.targets))
        seconds = None if promises_privacy(self.generator.maker) else shadows.seconds
        return TrainedAttackers(self, seen, seconds, looking, tuple(attackers), tuple(chosen))

    def _looking(self, white: WhiteBox | None) -> FeatureExtractor:
        table = self.world.table
        rng = np.random.default_rng(self.stream(2))
        box = black_box(
            self.plan.features, table.schema.sizes, columns=table.schema.names, seed=rng
        )
        sees_table = TABLE in ATTACKERS[self.plan.learner].sees
        return FeatureExtractor(self.world, box if sees_table else None, white, self.sight)

    def _white(self) -> WhiteBox:
        """What looks into models: the tables it lines up are those of a network learnt from the population, which is public."""
        if not self.generator.fits:
            raise InputError(
                "A function gives tables and no model to look into: use the black box."
            )
        model = self.generator.maker.fit(self.world.table, seed=self.stream(99))
        if not hasattr(model, "network"):
            raise InputError(
                "The white box needs a model with a network and tables. Use the black box for this synthesiser."
            )
        return WhiteBox.from_schema(
            self.world.table.schema, self.world.target_codes, reference=model.network
        )


@dataclass(frozen=True, eq=False)
class TrainedAttackers:
    """Attackers, one for each target, and all that is needed to look at a release as they do.

    `checked` is what they think of the first table of the shadows they learnt from, each out of fold: for thresholds.
    """

    campaign: ShadowStudy
    checked: ShadowScores
    seconds: float | None
    looking: FeatureExtractor
    attackers: tuple[TargetAttacker, ...]
    used: tuple[NDArray[np.int64] | None, ...]

    @property
    def aucs(self) -> NDArray[np.float64]:
        """The AUC of each attacker on shadows that it did not learn from, out of fold."""
        return np.array([attacker.auc for attacker in self.attackers])

    def look(self, draws: Draws, name: str, step: int) -> ShadowScores:
        """Return what the attackers think of new fits, one released table each."""
        campaign, world = self.campaign, self.campaign.world
        shadows = campaign.fitted(draws, name, step, tables=1, white=self.looking.white)
        seen = _unseen(draws, len(world.targets))
        for k, attacker in enumerate(self.attackers):
            mine = draws.shadows_of(k)
            features, _ = self.looking.features(shadows, k, mine, self.used[k])
            parts = _parts_of(attacker, features[:, 0])
            together = combined_of(attacker)
            odds = (
                attacker.log_odds(features[:, 0])
                if together is None
                else together.together(np.stack(list(parts.values())))
            )
            _note(seen, k, mine, odds, parts)
            seen.closest[mine, k] = _closest(shadows, world, k, mine)
            campaign.working.progress(f"{name}: attacking", (k + 1) / len(self.attackers))
        return seen


def _unseen(draws: Draws, targets: int) -> ShadowScores:
    return ShadowScores(
        draws, np.full((len(draws), targets), np.nan), np.full((len(draws), targets), np.nan)
    )


def _note(
    seen: ShadowScores,
    k: int,
    mine: NDArray[np.int64],
    odds: NDArray[np.float64],
    parts: dict[str, NDArray[np.float64]],
) -> None:
    """Write down what is thought of a target in its shadows."""
    seen.log_odds[mine, k] = odds
    for name, part_odds in parts.items():
        seen.parts.setdefault(name, np.full(seen.log_odds.shape, np.nan))[mine, k] = part_odds


def _parts_of(
    attacker: TargetAttacker, features: NDArray[np.float32] | None
) -> dict[str, NDArray[np.float64]]:
    """The log-odds of each part of an attacker who has parts, out of fold if there are no features."""
    together = combined_of(attacker)
    if together is None:
        return {}
    odds = (
        [inner.checked[:, 0] for inner in together.parts.values()]
        if features is None
        else together.part_odds(features)
    )
    return dict(zip(together.parts, odds, strict=True))


def _closest(
    shadows: Shadows, world: AttackPopulation, k: int, only: NDArray[np.int64]
) -> NDArray[np.float64]:
    """On how many columns the nearest row of each shadow's first table matches a target."""
    target = world.target_codes[k]
    return np.asarray(
        shadows.gather(lambda tables: closest_matches(tables, target), only=only, tables=1)[:, 0],
        dtype=np.float64,
    )


@dataclass(frozen=True, eq=False)
class FeatureExtractor:
    """What is looked at: coded tables (None where no attacker looks at them), the model, and released values."""

    world: AttackPopulation
    box: BlackBox | None
    white: WhiteBox | None
    sight: ValueFeatures | None

    def layout(self, width: int) -> FeatureLayout:
        """Return which of `width` features are of which group."""
        groups = (
            {}
            if self.sight is None
            else {name: columns.stop - columns.start for name, columns in self.sight.groups.items()}
        )
        table = width - sum(groups.values())
        counts = (
            self.white is None
            and self.box is not None
            and self.box.name in ("queries", "histogram")
        )
        return FeatureLayout(
            {**({TABLE: table} if table else {}), **groups}, "counts" if counts else "real"
        )

    def features(
        self,
        shadows: Shadows,
        k: int,
        only: NDArray[np.int64],
        used: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
        """Return the features of a target in some shadows, (shadows, tables, features), and which of those of tables these have."""
        parts: list[NDArray[np.float32]] = []
        if self.white is not None:
            nodes, cells = shadows.nodes[only, k], shadows.cells[np.ix_(only, self.white.places(k))]
            parts.append(np.concatenate([nodes, cells], axis=1)[:, None, :])
        elif self.box is not None:
            box, target = self.box, self.world.target_codes[k]
            if used is None:
                used = _affordable(shadows, box, target, only)
            places = slice(None) if used is None else used
            parts.append(
                shadows.gather(lambda tables: box.features(tables, target)[:, places], only=only)
            )
        if self.sight is not None:
            parts.append(shadows.values[only, :, k])
        if not parts:
            raise InputError(
                'This attacker looks at released values alone, and here only codes are seen. Use grid="release", or the learner linear.'
            )
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2), used


def _affordable(
    shadows: Shadows, box: BlackBox, target: NDArray[Any], only: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Which features to learn from where all of them would not fit in memory: those that vary most in a few shadows. None for all."""
    width = len(box.names)
    room = MEMORY // (4 * len(only) * shadows.tables)
    if width <= room:
        return None
    sample = shadows.gather(
        lambda tables: box.features(tables, target), only=only[:: max(1, len(only) // 50)]
    )
    spread = np.sqrt(sample.reshape(-1, width)).std(axis=0)
    return np.sort(np.argsort(-spread, kind="stable")[: max(room, 1)])
