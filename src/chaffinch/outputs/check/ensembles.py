"""Many datasets that reproduce a set of outputs, and as many that know nothing of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..._base.results import Number
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..document import Outputs
from ..domain import Codes, Fields
from ..evolve import EngineName, EvolveSettings, StartName, evolve_spec, needs_tolerance
from ..kinds import KINDS
from ..numbers import Compared
from ..solve.process import Engines


@dataclass(frozen=True)
class OutputFit:
    """How well an ensemble reproduces one output, as refitted by other code than the engine's."""

    name: str
    kind: str
    numbers: int  # How many numbers it has
    reached: float  # The share of datasets, 0 to 1, in which every number is within its precision
    # mean, worst: The mean and the largest absolute error over numbers and datasets
    mean: Number
    worst: Number
    # off, allowed: How far from what was published the number is, over all datasets, that is farthest outside its precision (nan where some
    # dataset gives none), and how far it might be; 0 and 0 where all are within
    off: Number = 0.0
    allowed: Number = 0.0

    @classmethod
    def of(cls, every: Sequence[Compared], reached: Sequence[bool], tolerance: float) -> OutputFit:
        """Return how well datasets reproduce an output, from what each gives and whether each has it."""
        farthest = [
            (one.in_precision(tolerance), one)
            for each in every
            for one in each.numbers
            if not one.within(tolerance)
        ]
        off, allowed = 0.0, 0.0
        if farthest:
            worst = max(farthest, key=lambda pair: pair[0])[1]
            off, allowed = (
                worst.error if math.isfinite(worst.error) else math.nan,
                worst.allowed(tolerance),
            )
        first = every[0]
        return cls(
            first.name,
            first.kind,
            first.size,
            float(np.mean(reached)),
            float(np.mean([one.mean for one in every])),
            float(np.max([one.worst for one in every])),
            off,
            allowed,
        )

    @classmethod
    def over(cls, folds: Sequence[OutputFit]) -> OutputFit:
        """Return how well the ensembles of several folds reproduce an output."""
        worst = max(
            folds,
            key=lambda one: (
                math.inf if math.isnan(one.off) else one.off / one.allowed if one.allowed else 0.0
            ),
        )
        return replace(
            worst,
            reached=float(np.mean([one.reached for one in folds])),
            mean=float(np.mean([one.mean for one in folds])),
            worst=float(np.max([one.worst for one in folds])),
        )

    @property
    def how_far(self) -> str:
        """How far datasets came, in a sentence."""
        have = f"'{self.name}': {100 * self.reached:.0f} % of the datasets have all its numbers"
        if math.isnan(self.off):
            return f"{have}; in some a number cannot be computed at all."
        if not self.allowed:
            return f"{have}, by the engine's own word."
        return f"{have}; the farthest is {self.off:.3g} from what was published, where {self.allowed:.3g} would do."


@dataclass(frozen=True, eq=False, repr=False)
class DatasetEnsemble:
    """Datasets made from the same outputs with different seeds."""

    datasets: tuple[Codes, ...]  # Codes of each
    reached: tuple[bool, ...]  # Whether each reproduces every output
    fits: tuple[OutputFit, ...] = ()  # For each output how well it is reproduced
    # For each dataset the mean absolute error over all regressions' coefficients (over all numbers where there is no regression)
    errors: tuple[float, ...] = ()


class EnsembleMaker(Protocol):
    """Anything that makes an ensemble from a specification."""

    def __call__(
        self, spec: Outputs, *, copies: int, seed: Seed, progress: Progress = silent
    ) -> DatasetEnsemble:
        """Return so many datasets."""
        ...


@dataclass(frozen=True)
class Evolver:
    """Makes ensembles with `evolve`, in processes that see the specification alone; settings are those of `evolve`."""

    engine: EngineName = "incremental"
    start: StartName | None = None
    proposals: int | None = None
    tolerance: float | None = None
    workers: int | None = None
    spread: int = 0
    engines: Engines | None = None  # Processes that all ensembles share

    def __call__(
        self, spec: Outputs, *, copies: int, seed: Seed, progress: Progress = silent
    ) -> DatasetEnsemble:
        """Return so many datasets that reproduce the outputs of a specification."""
        # Some outputs of a set may have no number that is known in full.
        tolerance = self.tolerance if needs_tolerance(spec.problem()) else None
        settings = EvolveSettings(
            copies=copies,
            engine=self.engine,
            start=self.start,
            proposals=self.proposals,
            tolerance=tolerance,
            spread=self.spread,
        )
        evolved = evolve_spec(
            spec, settings, seed=seed, workers=self.workers, engines=self.engines, progress=progress
        )
        fits = tuple(
            OutputFit.of(
                [copy.compared[number] for copy in evolved.copies],
                [output.name not in copy.missed for copy in evolved.copies],
                evolved.about.tolerance,
            )
            for number, output in enumerate(spec.searched.outputs)
        )
        errors = tuple(_error(copy.compared) for copy in evolved.copies)
        datasets = tuple(copy.codes for copy in evolved.copies)
        return DatasetEnsemble(
            datasets, tuple(copy.reached for copy in evolved.copies), fits, errors
        )


def _error(outputs: Sequence[Any]) -> float:
    """The mean absolute error over regressions if there are any, else over all outputs."""
    chosen = [one for one in outputs if KINDS[one.kind].regression] or list(outputs)
    sizes = [one.size for one in chosen]
    if not sum(sizes):
        return float("nan")
    return float(sum(one.mean * one.size for one in chosen) / sum(sizes))


def prior_datasets(
    fields: Fields, rows: int, *, copies: int, seed: Seed = None
) -> tuple[Codes, ...]:
    """Return datasets as a search starts with them: drawn column by column from its weights, knowing nothing of any output."""
    return tuple(fields.columns.start(rows, seed=one) for one in seed_sequence(seed).spawn(copies))
