"""One assessment of a set of outputs: an ensemble for each fold, and the attack of each on the people of its fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.progress import Progress, silent
from ..._base.seeds import seed_sequence
from ..columns import Codes
from ..evolve import StartName
from ..recipes import Recipes
from ..spec import Spec
from .attribution import CONVENTIONS, Attack, Attributed, attributed
from .ensembles import Ensemble, Fit, Maker, prior_datasets
from .folds import Fold
from .marginal import LEVEL, Estimate, Measure, apart, excess_of, measures_of

__all__ = ["Scene", "Stage"]

Sides = NDArray[np.int8]


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """What a set of outputs gives away.

    Parameters
    ----------
    name
        What was added (or left out) to get this set.
    outputs
        The names of the outputs in it.
    measures
        For each sensitive attribute and convention.
    fits
        How well each output is reproduced, over all folds.
    reached
        The share of datasets that reproduce every output, 0 to 1.
    found
        By sensitive attribute, what the ensemble of each fold gives away.
    """

    name: str
    outputs: tuple[str, ...]
    measures: tuple[Measure, ...]
    fits: tuple[Fit, ...]
    reached: float
    found: Mapping[str, tuple[Attributed, ...]] = field(default_factory=dict)

    def less(self, other: Stage, *, level: float = LEVEL) -> tuple[tuple[str, str, Estimate], ...]:
        """Return by sensitive attribute and convention the marginal risk here less that of another stage."""
        return tuple(
            (
                sensitive,
                convention,
                apart(
                    [excess_of(one, c) for one in mine],
                    [excess_of(one, c) for one in other.found[sensitive]],
                    level=level,
                ),
            )
            for sensitive, mine in self.found.items()
            for c, convention in enumerate(CONVENTIONS)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "name": self.name,
            "outputs": list(self.outputs),
            "reached": self.reached,
            "fits": [fit.to_dict() for fit in self.fits],
            "measures": [measure.to_dict() for measure in self.measures],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """The people, the attacks on them, and how ensembles are made.

    Parameters
    ----------
    codes
        The data: records without missing values, as codes.
    recipes
        All outputs, with their columns.
    attacks
        For each sensitive attribute.
    folds
        Who is behind the outputs, and who is held out.
    maker
        Makes ensembles.
    start
        What datasets without outputs are drawn from.
    syntheses
        Datasets in each fold's ensemble.
    entropy
        What all seeds come from.
    level
        Of intervals.
    threads
        How many work at once.
    """

    codes: Codes
    recipes: Recipes
    attacks: tuple[Attack, ...]
    folds: tuple[Fold, ...]
    maker: Maker
    start: StartName = "uniform"
    syntheses: int = 50
    entropy: int = 0
    level: float = LEVEL
    threads: int | None = None

    @property
    def n_tests(self) -> int:
        """How many marginal risks an assessment holds."""
        return len(self.attacks) * len(CONVENTIONS)

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """All outputs computed from the records of each fold; InputError where a fold cannot give one."""
        return tuple(self.recipes.spec(self.codes[fold.original], part=f"the {fold.name}") for fold in self.folds)

    @cached_property
    def prior(self) -> dict[str, tuple[Attributed, ...]]:
        """What datasets from the start alone give away, by sensitive attribute and fold."""
        fields, seed = self.recipes.fields, seed_sequence(self.entropy).spawn(2)[1]
        found: dict[str, list[Attributed]] = {attack.sensitive: [] for attack in self.attacks}
        made: dict[int, tuple[Codes, ...]] = {}
        for fold in self.folds:
            rows = len(fold.original)
            if rows not in made:
                made[rows] = prior_datasets(fields, rows, copies=self.syntheses, start=self.start, seed=seed)
            for attack in self.attacks:
                some = found[attack.sensitive]
                group = self.group(fold)
                mirror = next((one for one in some if np.array_equal(one.group, _other_side(group))), None)
                # The same datasets and people, who have changed sides: nothing to compute anew.
                some.append(_mirrored(mirror) if mirror is not None else self.attributed(made[rows], fold, attack))
        return {name: tuple(some) for name, some in found.items()}

    def assess(self, name: str, names: Sequence[str], *, keep: bool = False, progress: Progress = silent) -> Stage:
        """Return what the outputs of these names give away together.

        Parameters
        ----------
        name
            What to call the stage.
        names
            The outputs.
        keep
            Whether to keep what is said of each person.
        progress
            Called with what is being done and the share done.
        """
        found: dict[str, list[Attributed]] = {attack.sensitive: [] for attack in self.attacks}
        ensembles = []
        seeds = seed_sequence(self.entropy).spawn(2)[0].spawn(len(self.folds))
        for number, (fold, spec, seed) in enumerate(zip(self.folds, self.specs, seeds, strict=True)):

            def part(_what: str, share: float, number: int = number) -> None:
                progress(name, (number + 0.8 * share) / len(self.folds))

            wanted = replace(spec, outputs=tuple(output for output in spec.outputs if output.name in names))
            ensemble = self.maker(wanted, copies=self.syntheses, seed=seed, progress=part)
            ensembles.append(replace(ensemble, datasets=()))
            for attack in self.attacks:
                found[attack.sensitive].append(self.attributed(ensemble.datasets, fold, attack, keep=keep))
            progress(name, (number + 1) / len(self.folds))
        kept = {sensitive: tuple(some) for sensitive, some in found.items()}
        measures = tuple(
            measure
            for sensitive, some in kept.items()
            for measure in measures_of(sensitive, some, self.prior[sensitive], level=self.level, n_tests=self.n_tests)
        )
        reached = float(np.mean([one for ensemble in ensembles for one in ensemble.reached]))
        return Stage(name, tuple(names), measures, _fits(ensembles), reached, kept)

    def attributed(self, datasets: Sequence[Codes], fold: Fold, attack: Attack, *, keep: bool = False) -> Attributed:
        """Return what datasets give away about the people of a fold."""
        found = attributed(datasets, self.codes, self.group(fold), attack, threads=self.threads)
        return found if keep else replace(found, said=None)

    def group(self, fold: Fold) -> Sides:
        """Return for each person 0 (behind the outputs of a fold), 1 (held out) or -1 (neither)."""
        group = np.full(len(self.codes), -1, dtype=np.int8)
        group[fold.compared], group[fold.holdout] = 0, 1
        return group


def _other_side(group: Sides) -> Sides:
    return np.where(group < 0, group, 1 - group).astype(np.int8)


def _mirrored(one: Attributed) -> Attributed:
    """What the same datasets give away when the two groups have changed places."""
    return Attributed(one.values[:, ::-1], one.influence, one.squares[:, ::-1], _other_side(one.group), None)


def _fits(ensembles: Sequence[Ensemble]) -> tuple[Fit, ...]:
    """How well outputs are reproduced over all folds."""
    every = zip(*(ensemble.fits for ensemble in ensembles), strict=True)
    return tuple(
        replace(
            some[0],
            reached=float(np.mean([fit.reached for fit in some])),
            mean=float(np.mean([fit.mean for fit in some])),
            worst=float(np.max([fit.worst for fit in some])),
        )
        for some in every
    )
