"""The attack of P3 as it is printed: pairs of shadows for each target, extra trees with a random search, and the target with the highest raw score.

The black box counts rows that match the target on every subset of columns. The white box is the one of the published code: the adjacency matrix and then all conditional
tables, flattened one after the other (`dpart`: in the order of columns; `sdg`: in the order of each network), filled with 0 to one length. Parents and levels differ from fit
to fit, so a place means another number in every model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chaffinch._base.seeds import child
from chaffinch.risk.membership.features import black_box
from chaffinch.risk.membership.forests import (
    chances_out_of_fold,
    in_columns,
    search_settings,
    train_forest,
)
from chaffinch.risk.shadows import AttackPopulation, fresh_draws, neighbour_draws
from chaffinch.stats.learners import auc
from experiments.p3_singling_out.compiled import CompiledGenerator, CompiledModel, PackagePrivBayes

DRAWS, FOLDS = 50, 5
PLACES = 30_000
"""Numbers kept of the tables of a model for the white box: few models have more."""


@dataclass(frozen=True)
class PaperPlan:
    """Evidence: pairs of shadows for each target, tables of each, attacked releases, and for how many targets settings are searched."""

    pairs: int = 1000
    tables: int = 10
    releases: int = 1000
    searches: int = 50


@dataclass(frozen=True)
class PaperResult:
    """How many releases were singled out from, the AUC of each classifier out of fold (of those that were searched), and the settings that were used."""

    right: int
    aucs: tuple[float, ...]
    settings: tuple[dict[str, Any], ...]


SettingsOfTrees = list[dict[str, Any]]
Box = Literal["blackbox", "whitebox"]


def flattened(model: CompiledModel, *, by_column: bool) -> NDArray[np.float32]:
    """Return the adjacency of a model and its tables, in the order of columns or of its network; as many places for every model."""
    d = len(model.order)
    places = np.argsort(model.order) if by_column else range(d)
    adjacency = np.zeros((d, d), dtype=np.float32)
    for place, column in enumerate(model.order):
        adjacency[column] = model.parents[place] >> np.arange(d) & 1
    tables = np.concatenate([model.chances(int(place)).ravel() for place in places])[:PLACES]
    out = np.zeros(d * d + PLACES, dtype=np.float32)
    out[: d * d], out[d * d : d * d + len(tables)] = adjacency.ravel(), tables
    return out


def paper_attack(
    world: AttackPopulation,
    maker: PackagePrivBayes,
    plan: PaperPlan,
    *,
    box: Box = "blackbox",
    seed: int = 0,
    known: SettingsOfTrees | None = None,
) -> PaperResult:
    """Return how often the attack names somebody who is in the data.

    Settings are searched for the first `plan.searches` targets, 50 draws and five folds each; each of the others has those of one of these, drawn at random. `known`:
    settings that were found before, in place of searches.
    """
    generator = CompiledGenerator(maker, world.table, "population")
    sight = black_box("queries", world.table.schema.sizes)
    root = np.random.SeedSequence(seed)
    rng = np.random.default_rng(child(root, 0))
    kind = "counts" if box == "blackbox" else "real"

    def released(rows: NDArray[np.int64], number: int, tables: int) -> Any:
        fit = generator.release(
            generator.subset(rows), tables=tables, rows=world.rows, seed=child(root, 1, number)
        )
        return (
            fit.codes
            if box == "blackbox"
            else flattened(fit.model, by_column=maker.variant == "dpart")[None]
        )

    fresh = fresh_draws(
        world.n_population, world.targets, rows=world.rows, shadows=plan.releases, rng=rng
    )
    attacked = np.stack([released(rows, number, 1)[0] for number, rows in enumerate(fresh.rows)])
    scores = np.empty((plan.releases, len(world.targets)))
    chosen: SettingsOfTrees = list(known or [])
    aucs = []
    for k, target in enumerate(world.target_codes):
        draws = neighbour_draws(
            world.n_population, world.targets[[k]], rows=world.rows, pairs=plan.pairs, rng=rng
        )
        numbers = plan.releases + 2 * plan.pairs * k + np.arange(2 * plan.pairs)
        seen = np.concatenate(
            [
                released(rows, int(n), plan.tables)
                for rows, n in zip(draws.rows, numbers, strict=True)
            ]
        )
        features = sight.features(seen, target) if box == "blackbox" else seen
        mine = sight.features(attacked, target) if box == "blackbox" else attacked
        columns, member = in_columns(features, kind), np.repeat(draws.member[:, 0], plan.tables)
        # Both subsets of a pair are in one fold, as in the published code: a classifier that saw one of two neighbours takes the other for its like.
        fold = np.repeat(rng.permutation(plan.pairs) % FOLDS, 2 * plan.tables)
        if known is None and len(chosen) < plan.searches:
            settings, unseen = search_settings(columns, member, fold, DRAWS, rng)
            chosen.append(settings)
        else:
            settings = chosen[rng.integers(len(chosen))]
            unseen = (
                chances_out_of_fold(columns, member, fold, settings, seed=int(rng.integers(2**62)))
                if k < 5
                else None
            )
        if unseen is not None:
            aucs.append(auc(unseen, member) or 0.5)
        forest = train_forest(
            columns, member, np.arange(len(member)), settings, seed=int(rng.integers(2**62))
        )
        scores[:, k] = forest.chances(in_columns(mine, kind))
    order = rng.permutation(len(world.targets))  # of equal scores one is drawn
    named = order[scores[:, order].argmax(axis=1)]
    right = fresh.member[np.arange(plan.releases), named]
    return PaperResult(int(right.sum()), tuple(aucs), tuple(chosen))
