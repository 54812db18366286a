"""One assessment of a set of outputs: folds of the people, an ensemble of datasets evolved from the outputs of each, and its attack on the people of the fold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Ints
from ..._base.errors import InputError
from ..._base.masking import masked_count
from ..._base.results import Number, to_plain
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, generator, seed_sequence
from ...stats.intervals import Estimate, crossed_difference
from ..document import Outputs
from ..domain import Codes, OutputDomain
from ..evolve import EvolveResult, evolve_spec, needs_max_error
from ..kinds import OutputSpec
from ..margins import counted_margins, published_margins, with_margins, without_margins
from ..numbers import Compared
from ..solve.process import Engines
from ..solve.settings import EvolveSettings, SearchSettings, StartName
from .attribution import (
    CONVENTIONS,
    EnsembleTcap,
    KeyAttack,
    RiskMeasure,
    ensemble_tcap,
    excess_of,
    measures_of,
)
from .settings import LEVEL, CheckStart

FEWEST = 20
"""The fewest people on either side of a fold."""


Sides = NDArray[np.int8]


@dataclass(frozen=True)
class Stage:
    """What a set of outputs gives away."""

    name: str
    """What was added (or left out) to get this set."""
    outputs: tuple[str, ...]
    """The names of the outputs in it."""
    reached: float
    """The share of datasets that reproduce every output, 0 to 1."""
    fits: tuple[OutputFit, ...]
    """How well each output is reproduced, over all folds."""
    measures: tuple[RiskMeasure, ...]
    """For each sensitive attribute and convention."""

    @property
    def excess(self) -> bool:
        """Whether some marginal risk lies above 0 with all of its interval."""
        return any(measure.finding.excess_found for measure in self.measures)

    def marginal(self, sensitive: str, convention: str) -> Estimate | None:
        """Return the marginal risk of an attribute under a convention; None where it was not measured."""
        return next(
            (
                m.marginal
                for m in self.measures
                if (m.sensitive, m.convention) == (sensitive, convention)
            ),
            None,
        )


@dataclass(frozen=True)
class AddedRisk(Estimate):
    """What a step adds to the marginal risk of an attribute under a convention."""

    sensitive: str = ""
    convention: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {"sensitive": self.sensitive, "convention": self.convention, **super().to_dict()}


@dataclass(frozen=True)
class CumulativeStage(Stage):
    """A stage on the way from what was released already to all outputs, with what it adds to the one before."""

    added: tuple[AddedRisk, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Assessment:
    """A stage with what it was worked out from: by sensitive attribute, what the ensemble of each fold gives away."""

    stage: Stage
    tcaps: Mapping[str, tuple[EnsembleTcap, ...]]

    def step(self, before: Assessment | None, *, level: float = LEVEL) -> CumulativeStage:
        """Return the stage with what it adds to the one before."""
        added = () if before is None else tuple(self._added(before, level))
        parts = {
            name: getattr(self.stage, name)
            for name in ("name", "outputs", "reached", "fits", "measures")
        }
        return CumulativeStage(**parts, added=added)

    def _added(self, before: Assessment, level: float) -> list[AddedRisk]:
        return [
            AddedRisk(
                **to_plain(
                    crossed_difference(
                        *([excess_of(tcap, c) for tcap in tcaps] for tcaps in (mine, theirs)),
                        level=level,
                    ).within(-2.0, 2.0)
                ),
                sensitive=sensitive,
                convention=convention,
            )
            for sensitive, mine in self.tcaps.items()
            for theirs in (before.tcaps[sensitive],)
            for c, convention in enumerate(CONVENTIONS)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class CheckRun:
    """The people, the attacks on them, and how ensembles are made."""

    codes: Codes
    """The data: records without missing values, as codes."""
    recipes: Outputs
    """All outputs, with their columns."""
    attacks: tuple[KeyAttack, ...]
    """For each sensitive attribute."""
    folds: tuple[Fold, ...]
    """Who is behind the outputs, and who is held out."""
    maker: EnsembleMaker
    """What makes ensembles of datasets."""
    start: CheckStart = "margins"
    """What datasets begin with."""
    syntheses: int = 50
    """Datasets in each fold's ensemble."""
    entropy: int = 0
    """The number that all seeds come from."""
    level: float = LEVEL
    """The confidence level of intervals."""
    threads: int | None = None
    """How many threads work at once."""

    @cached_property
    def _computed(self) -> tuple[tuple[Outputs, ...], dict[str, str]]:
        """The outputs that every fold gives, computed on each; and by name why some fold does not give an output."""
        reasons: dict[str, str] = {}
        specs: list[Outputs] = []
        names = [name for name in self.recipes.names if name not in self.recipes.rules_only]
        for fold in self.folds:
            codes, fold_name = self.codes[fold.original], f"the {fold.name}"
            numbered: list[OutputSpec] = []
            for name in (name for name in names if name not in reasons):
                try:
                    computed = self.recipes.computed(codes, source=fold_name, only=[name])
                    computed.compiled()
                    numbered += computed.outputs
                except InputError as error:
                    reasons[name] = str(error)
            specs.append(Outputs(self.recipes.fields, tuple(numbered), len(codes)))
        computable = [name for name in names if name not in reasons]
        return tuple(spec.only(computable) for spec in specs), reasons

    @property
    def specs(self) -> tuple[Outputs, ...]:
        """The outputs that every fold gives, computed from the records of each."""
        return self._computed[0]

    @property
    def uncomputable(self) -> Mapping[str, str]:
        """By the name of an output that some fold cannot give, why: no datasets can be evolved from it."""
        return self._computed[1]

    @cached_property
    def prior(self) -> dict[str, tuple[EnsembleTcap, ...]]:
        """What datasets from the start alone give away, by sensitive attribute and fold."""
        seeds = seed_sequence(self.entropy).spawn(2)[1].spawn(len(self.folds))
        tcaps: dict[str, list[EnsembleTcap]] = {attack.sensitive: [] for attack in self.attacks}
        bare = [replace(spec, outputs=()) for spec in self.specs]
        fields = [
            self.with_known_margins(spec, self.codes[fold.original]).fields
            for fold, spec in zip(self.folds, bare, strict=True)
        ]
        for number, fold in enumerate(self.folds):
            rows, group = len(fold.original), self.group(fold)
            # The same start, and people who have changed sides: nothing to compute anew.
            mirrored = next(
                (
                    k
                    for k, other in enumerate(self.folds[:number])
                    if len(other.original) == rows
                    and fields[k] == fields[number]
                    and np.array_equal(self.group(other), _other_side(group))
                ),
                None,
            )
            datasets = (
                ()
                if mirrored is not None
                else prior_datasets(fields[number], rows, copies=self.syntheses, seed=seeds[number])
            )
            for attack in self.attacks:
                of_folds = tcaps[attack.sensitive]
                of_folds.append(
                    self.tcap(datasets, fold, attack)
                    if mirrored is None
                    else _swap_groups(of_folds[mirrored])
                )
        return {name: tuple(of_folds) for name, of_folds in tcaps.items()}

    def with_known_margins(self, spec: Outputs, codes: Codes) -> Outputs:
        """Return outputs of some records over columns with the margins that an attacker knows: numbers, and no record.

        Margins that are assumed to be known are of all people: those of a fold tell something of its own people by themselves, which is no
        fault of an output.
        """
        if self.start == "uniform":
            return without_margins(spec)
        published = published_margins(spec)
        if self.start == "published":
            return with_margins(spec, published)
        complete = {name: margin for name, margin in published.items() if margin.complete}
        return with_margins(
            spec,
            {**counted_margins(spec, codes if self.start == "fold" else self.codes), **complete},
        )

    def assess(
        self,
        name: str,
        names: Sequence[str],
        *,
        with_claims: bool = False,
        progress: Progress = silent,
    ) -> Assessment:
        """Return what the outputs of these names give away together; with what is claimed of each person, which is large, if asked."""
        tcaps: dict[str, list[EnsembleTcap]] = {attack.sensitive: [] for attack in self.attacks}
        ensembles = []
        seeds = seed_sequence(self.entropy).spawn(2)[0].spawn(len(self.folds))
        for number, (fold, spec, seed) in enumerate(
            zip(self.folds, self.specs, seeds, strict=True)
        ):

            def show(_what: str, share: float, number: int = number) -> None:
                progress(name, (number + 0.8 * share) / len(self.folds))

            wanted = replace(
                spec, outputs=tuple(output for output in spec.outputs if output.name in names)
            )
            wanted = self.with_known_margins(wanted, self.codes[fold.original])
            ensemble = self.maker(wanted, copies=self.syntheses, seed=seed, progress=show)
            ensembles.append(replace(ensemble, datasets=()))
            for attack in self.attacks:
                tcaps[attack.sensitive].append(
                    self.tcap(ensemble.datasets, fold, attack, with_claims=with_claims)
                )
            progress(name, (number + 1) / len(self.folds))
        measures = measures_of(tcaps, self.prior, level=self.level)
        reached = float(
            np.mean([is_reached for ensemble in ensembles for is_reached in ensemble.reached])
        )
        stage = Stage(name, tuple(names), reached, _fits(ensembles), measures)
        return Assessment(
            stage, {sensitive: tuple(of_folds) for sensitive, of_folds in tcaps.items()}
        )

    def tcap(
        self, datasets: Sequence[Codes], fold: Fold, attack: KeyAttack, *, with_claims: bool = False
    ) -> EnsembleTcap:
        """Return what datasets give away about the people of a fold."""
        tcap = ensemble_tcap(datasets, self.codes, self.group(fold), attack, threads=self.threads)
        return tcap if with_claims else replace(tcap, claims=None)

    def group(self, fold: Fold) -> Sides:
        """Return for each person 0 (behind the outputs of a fold), 1 (held out) or -1 (neither)."""
        group = np.full(len(self.codes), -1, dtype=np.int8)
        group[fold.compared], group[fold.holdout] = 0, 1
        return group


def _other_side(group: Sides) -> Sides:
    return np.where(group < 0, group, 1 - group).astype(np.int8)


def _swap_groups(tcap: EnsembleTcap) -> EnsembleTcap:
    """What the same datasets give away when the two groups have changed places."""
    return EnsembleTcap(
        tcap.values[:, ::-1], tcap.influence, tcap.squares[:, ::-1], _other_side(tcap.group), None
    )


def _fits(ensembles: Sequence[DatasetEnsemble]) -> tuple[OutputFit, ...]:
    """How well outputs are reproduced over all folds."""
    by_output = zip(*(ensemble.fits for ensemble in ensembles), strict=True)
    return tuple(OutputFit.over(fits) for fits in by_output)


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """One split of the data."""

    name: str
    """The name in results: "first fold" or "second fold", with several splits their number too."""
    original: Ints
    """The rows that outputs are computed from."""
    holdout: Ints
    """Rows that had no part in them."""
    compared: Ints
    """As many of the original rows as there are held out ones: attribution depends on how many
    people there are to match.
    """

    def __repr__(self) -> str:
        return f"Fold({self.name}, original: {masked_count(len(self.original))}, holdout: {masked_count(len(self.holdout))})"


def folds(
    n_rows: int,
    *,
    holdout_share: float = 0.5,
    repeats: int = 1,
    seed: Seed = None,
) -> tuple[Fold, ...]:
    """Return two folds for each random split: their held-out people are different ones, so each half plays both parts.

    Examples
    --------
    >>> first, second = folds(100, seed=1)
    >>> sorted(first.original) == sorted(second.holdout), len(first.compared)
    (True, 50)
    """
    n_holdout = int(n_rows * holdout_share)
    if n_holdout < FEWEST:
        raise InputError(
            f"A holdout needs at least {FEWEST} records, and a share of {holdout_share:g} of this data is fewer. "
            "Use a larger share, or more data."
        )
    rng = generator(seed)
    splits = []
    for number in range(repeats):
        order = rng.permutation(n_rows)
        after = f" of split {number + 1}" if repeats > 1 else ""
        for name, holdout in (
            ("first", order[:n_holdout]),
            ("second", order[n_holdout : 2 * n_holdout]),
        ):
            inside = np.ones(n_rows, dtype=bool)
            inside[holdout] = False
            original = np.flatnonzero(inside)
            compared = (
                original
                if len(original) == n_holdout
                else np.sort(rng.choice(original, n_holdout, replace=False))
            )
            splits.append(Fold(f"{name} fold{after}", original, np.sort(holdout), compared))
    return tuple(splits)


@dataclass(frozen=True)
class OutputFit:
    """How well an ensemble reproduces one output, as refitted by other code than the engine's."""

    name: str
    kind: str
    numbers: int
    """How many numbers it has."""
    reached: float
    """The share of datasets, 0 to 1, in which every number is within its precision."""
    mean: Number
    """The mean absolute error over numbers and datasets."""
    worst: Number
    """The largest absolute error over numbers and datasets."""
    off: Number = 0.0
    """How far from what was published the number is, over all datasets, that is farthest outside its precision: nan where some dataset gives none, 0 where all are within."""
    allowed: Number = 0.0
    """How far from what was published that number might be; 0 where all are within."""

    @classmethod
    def from_comparisons(
        cls, comparisons: Sequence[Compared], reached: Sequence[bool], tolerance: float
    ) -> OutputFit:
        """Return how well datasets reproduce an output, from what each gives and whether each has it."""
        farthest = [
            (number.in_precision(tolerance), number)
            for each in comparisons
            for number in each.numbers
            if not number.within(tolerance)
        ]
        off, allowed = 0.0, 0.0
        if farthest:
            worst = max(farthest, key=lambda pair: pair[0])[1]
            off, allowed = (
                worst.error if math.isfinite(worst.error) else math.nan,
                worst.allowed(tolerance),
            )
        first = comparisons[0]
        return cls(
            first.name,
            first.kind,
            first.size,
            float(np.mean(reached)),
            float(np.mean([comparison.mean for comparison in comparisons])),
            float(np.max([comparison.worst for comparison in comparisons])),
            off,
            allowed,
        )

    @classmethod
    def over(cls, folds: Sequence[OutputFit]) -> OutputFit:
        """Return how well the ensembles of several folds reproduce an output."""
        worst = max(
            folds,
            key=lambda fit: (
                math.inf if math.isnan(fit.off) else fit.off / fit.allowed if fit.allowed else 0.0
            ),
        )
        return replace(
            worst,
            reached=float(np.mean([fit.reached for fit in folds])),
            mean=float(np.mean([fit.mean for fit in folds])),
            worst=float(np.max([fit.worst for fit in folds])),
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

    datasets: tuple[Codes, ...]
    """The codes of each dataset."""
    reached: tuple[bool, ...]
    """Whether each dataset reproduces every output."""
    fits: tuple[OutputFit, ...] = ()
    """For each output how well it is reproduced."""


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

    search: SearchSettings = field(default_factory=SearchSettings)
    start: StartName | None = None
    workers: int | None = None
    engines: Engines | None = None
    """Processes that all ensembles share."""

    def evolve(
        self, spec: Outputs, *, copies: int, seed: Seed, progress: Progress = silent
    ) -> EvolveResult:
        """Return so many datasets that reproduce the outputs of a specification, with how close they come."""
        # Some outputs of a set may have no number that is known in full.
        max_error = self.search.max_error if needs_max_error(spec.problem()) else None
        search = replace(self.search, max_error=max_error)
        settings = EvolveSettings(copies=copies, start=self.start, search=search)
        return evolve_spec(
            spec, settings, seed=seed, workers=self.workers, engines=self.engines, progress=progress
        )

    def __call__(
        self, spec: Outputs, *, copies: int, seed: Seed, progress: Progress = silent
    ) -> DatasetEnsemble:
        """Return the datasets as an ensemble."""
        evolved = self.evolve(spec, copies=copies, seed=seed, progress=progress)
        fits = tuple(
            OutputFit.from_comparisons(
                [copy.compared[number] for copy in evolved.copies],
                [output.name not in copy.missed for copy in evolved.copies],
                evolved.about.settings.search.max_error or 0.0,
            )
            for number, output in enumerate(spec.searched.outputs)
        )
        datasets = tuple(copy.codes for copy in evolved.copies)
        return DatasetEnsemble(datasets, tuple(copy.reached for copy in evolved.copies), fits)


def prior_datasets(
    fields: OutputDomain, rows: int, *, copies: int, seed: Seed = None
) -> tuple[Codes, ...]:
    """Return datasets as a search starts with them: drawn column by column from its weights, knowing nothing of any output."""
    return tuple(fields.start(rows, seed=stream) for stream in seed_sequence(seed).spawn(copies))
