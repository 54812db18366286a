"""Many datasets that reproduce a set of outputs, and as many that know nothing of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..._base.plain import Number
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ..columns import Codes, Columns
from ..document import Outputs
from ..evolve import EngineName, EvolveSettings, StartName, evolve_spec
from ..fields import Fields
from ..kinds import KINDS
from ..limits import needs_tolerance

__all__ = ["DatasetEnsemble", "EnsembleMaker", "Evolver", "OutputFit", "prior_datasets"]


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

    def __call__(self, spec: Outputs, *, copies: int, seed: Seed, progress: Progress = silent) -> DatasetEnsemble:
        """Return so many datasets."""
        ...


@dataclass(frozen=True)
class Evolver:
    """Makes ensembles with `evolve`, in processes that see the specification alone; settings are those of `evolve`."""

    engine: EngineName = "incremental"
    start: StartName = "uniform"
    proposals: int | None = None
    tolerance: float | None = None
    workers: int | None = None
    spread: int = 0

    def __call__(self, spec: Outputs, *, copies: int, seed: Seed, progress: Progress = silent) -> DatasetEnsemble:
        """Return so many datasets that reproduce the outputs of a specification."""
        # Some outputs of a set may have no number that is known in full.
        tolerance = self.tolerance if needs_tolerance(spec.problem()) else None
        settings = EvolveSettings(
            copies=copies, engine=self.engine, start=self.start, proposals=self.proposals, tolerance=tolerance, spread=self.spread
        )  # fmt: skip
        evolved = evolve_spec(spec, settings, seed=seed, workers=self.workers, progress=progress)
        fits = []
        for number, output in enumerate(spec.searched.outputs):
            seen = [copy.compared[number] for copy in evolved.copies]
            fits.append(
                OutputFit(
                    output.name,
                    output.kind,
                    seen[0].size,
                    float(np.mean([output.name not in copy.missed for copy in evolved.copies])),
                    float(np.mean([one.mean for one in seen])),
                    float(np.max([one.worst for one in seen])),
                )
            )
        errors = tuple(_error(copy.compared) for copy in evolved.copies)
        datasets = tuple(copy.codes for copy in evolved.copies)
        return DatasetEnsemble(datasets, tuple(copy.reached for copy in evolved.copies), tuple(fits), errors)


def _error(outputs: Sequence[Any]) -> float:
    """The mean absolute error over regressions if there are any, else over all outputs."""
    chosen = [one for one in outputs if KINDS[one.kind].regression] or list(outputs)
    sizes = [one.size for one in chosen]
    if not sum(sizes):
        return float("nan")
    return float(sum(one.mean * one.size for one in chosen) / sum(sizes))


def prior_datasets(
    fields: Fields, rows: int, *, copies: int, start: StartName = "uniform", seed: Seed = None
) -> tuple[Codes, ...]:
    """Return datasets as a search starts with them: drawn column by column, knowing nothing of any output."""
    columns = fields.columns
    if start == "uniform":
        columns = Columns(tuple(replace(column, weights=None) for column in columns))
    return tuple(columns.start(rows, seed=one) for one in seed_sequence(seed).spawn(copies))
