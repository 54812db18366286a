"""Predicate singling out: from a released table, name somebody in the data, and say how often that is right.

The attacker knows the population D and the synthesiser, learns one classifier for each of k targets, and for each release takes the target
whose classifier is surest. The predicate "every attribute equals the target's" isolates if the target is in X. Success is counted over fresh
X's, beside what a blind guess reaches: |X| / |D|.

Beyond the paper: the weight of the predicate and the chance of a blind attacker at that weight, as Cohen and Nissim define singling out; and
predicates of fewer attributes, of which the lightest of each size is taken.

A predicate isolates if it is true of exactly one record of the data (Cohen and Nissim). Its weight is the chance that it is true of a
record drawn from the population. Isolation by a light predicate is a finding; with weight 1/n it succeeds in 37 of 100 cases blindly.

The records of the population that match a target on every set of attributes are counted at once (`match_counts`). Of all sets of
a size the lightest is taken: it is true of the fewest records of the population.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from math import ceil, exp, floor, lgamma, log, log1p
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from .._base.arrays import Floats, Ints, Mask
from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.options import takes
from .._base.results import NOT_WRITTEN
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from .._base.svg import Dot, dots
from .._base.text import count_noun, percent
from ..stats.intervals import Interval, clopper_pearson
from .attacker import ATTACKERS, Attacker
from .finding import Finding, Trials
from .membership.features import match_counts
from .membership.learning import ShadowScores, TrainedAttackers
from .membership.settings import SinglingOutSettings
from .membership.study import campaign_against, sizes_of
from .shadows.run import Working
from .shadows.world import AttackPopulation, fresh_draws
from .shown import ShadowResult, Words

if TYPE_CHECKING:
    from ..keywords import SinglingOutOptions

ATTACKERS.register(
    Attacker(
        name="singling_out",
        needs=("shadows",),
        title="Predicate singling out",
        definition=(
            "Share of releases from which the target that seems surest to be in the data is isolated: all its values are true of exactly one record. "
            "Beside it is the share of the population that the data are."
        ),
        sentence="Somebody is singled out from {value} of the releases",
        blindness="Targets that are not the most vulnerable, and people whom the attacker does not know.",
        reference="Cohen and Nissim 2020; Sedlmeyr 2024",
        singles_out=True,
    )
)


ALL_SUBSETS = 16
"""Columns up to which every set of attributes is tried; above, one is added at a time."""


@takes(SinglingOutSettings)
def singling_out(
    original: Any,
    synthesiser: Any,
    population: Any = None,
    *,
    settings: SinglingOutSettings | None = None,
    seed: Seed = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
    **options: Unpack[SinglingOutOptions],
) -> SinglingOutResult:
    """Attack a synthesiser by predicate singling out, and return how often it names somebody who is in the data.

    Parameters
    ----------
    settings, options
        Whom to attack, how attackers learn and choose, and how many releases are attacked: a `SinglingOutSettings`, or its options by name.

    Notes
    -----
    The others are those of `chaffinch.membership`.
    """
    settings = SinglingOutSettings.chosen(settings, options)
    campaign = campaign_against(
        original,
        synthesiser,
        population,
        settings,
        seed,
        Working.for_run(settings.run, workers=workers, executor=executor, progress=progress),
    )
    world = campaign.world
    learnt = campaign.learnt()
    rng = np.random.default_rng(campaign.stream(5))
    draws = fresh_draws(
        world.n_population, world.targets, rows=world.rows, shadows=settings.releases, rng=rng
    )
    return judge_shadows(learnt, learnt.look(draws, "attack", 6), rng, settings.whom.threshold)


def judge_shadows(
    learnt: TrainedAttackers,
    seen: ShadowScores,
    rng: np.random.Generator,
    threshold: int = THRESHOLD,
) -> SinglingOutResult:
    """Return the result of naming one target for each release."""
    world, plan = learnt.campaign.world, learnt.campaign.plan
    assert isinstance(plan, SinglingOutSettings)
    named = _choice(seen.log_odds, learnt.aucs, plan.combine, rng)
    nearest = _choice(seen.closest, learnt.aucs, "argmax", rng)
    known = [lightest(world.records, world.records[target]) for target in world.targets]
    isolations = _isolations(world, seen, named, known)
    closest = _isolations(world, seen, nearest, known)[-1]
    aucs = tuple(float(auc) for auc in learnt.aucs)
    guess, releases = baseline(world.rows, world.n_population), len(seen.draws)
    return SinglingOutResult(
        findings=tuple(
            success_finding(convention, isolation, guess, targets=len(known), releases=releases)
            for convention, isolation in ((plan.learner, isolations[-1]), ("closest", closest))
        ),
        isolations=isolations,
        closest=closest,
        nobody=nobody_in(world.rows, world.n_population, len(known)),
        releases=releases,
        attributes_that_suffice=float(
            np.mean([min(isolation_set.shortest, len(isolations)) for isolation_set in known])
        ),
        skill=AttackerSkill(float(np.mean(aucs)), min(aucs), max(aucs)),
        aucs=aucs,
        named=named,
        right=seen.draws.member[np.arange(len(named)), named],
        **sizes_of(learnt, threshold),
    )


def success_finding(
    convention: str, isolation: Isolation, guess: float, *, targets: int, releases: int
) -> Finding:
    """Return how often somebody is singled out beside what a blind guess reaches.

    The guess is told to three digits: one more would tell the size of the population. The bounds are by the guess as it is, told to three digits away
    from 0, so that their signs stay.
    """
    told_guess = round(guess, 3)
    low, high = isolation.interval
    bounds = (
        (ceil if gap > 0 else floor)(1000 * gap) / 1000 for gap in (low - guess, high - guess)
    )
    lower_bound, upper_bound = bounds
    return Finding(
        attacker="singling_out",
        convention=convention,
        value=isolation.success,
        interval=isolation.interval,
        guess=told_guess,
        excess=isolation.success - told_guess,
        excess_interval=(low - told_guess, high - told_guess),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        n_people=targets,
        trials=Trials(
            runs=releases,
            judged=releases,
            guesses=releases,
            right=round(isolation.success * releases),
        ),
    )


def _choice(
    scores: NDArray[np.float64], aucs: NDArray[np.float64], combine: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The target named for each release. Of equal scores one is drawn: the first would favour the most vulnerable."""
    order = rng.permutation(scores.shape[1])
    weights = weights_by_auc(aucs)[order] if combine == "weighted" else None
    keep = exclude_weak(aucs, 0.5)[order] if combine == "strong" else None
    return np.asarray(order[choose_targets(scores[:, order], weights=weights, keep=keep)])


def _isolations(
    world: AttackPopulation, seen: ShadowScores, named: NDArray[np.int64], known: Sequence[Lightest]
) -> tuple[Isolation, ...]:
    """How often the lightest predicates of each size about the named targets isolated."""
    records, targets = world.records, world.records[world.targets]
    hits = np.stack(
        [
            isolates(records[rows], targets[k], known[k].columns)
            for rows, k in zip(seen.draws.rows, named, strict=True)
        ]
    )
    matches = np.stack([known[k].matches for k in named])
    out = []
    for a in range(hits.shape[1]):
        weights = matches[:, a] / world.n_population
        each = {
            int(m): drawn_chance(int(m), world.rows, world.n_population)
            for m in np.unique(matches[:, a])
        }
        out.append(
            Isolation(
                attributes=a + 1,
                success=float(hits[:, a].mean()),
                interval=clopper_pearson(int(hits[:, a].sum()), len(hits)),
                weight=float(weights.mean()),
                blind_attacker=float(
                    np.mean([blind_chance_at_most(float(w), world.rows) for w in weights])
                ),
                without_release=float(np.mean([each[int(m)] for m in matches[:, a]])),
            )
        )
    return tuple(out)


def weights_by_auc(aucs: ArrayLike) -> Floats:
    """Return a weight from 0 (no better than a guess) to 1 for each classifier, 2 AUC - 1: tried and dropped in Sedlmeyr (2024).

    Examples
    --------
    >>> weights_by_auc([0.4, 0.5, 0.75, 1.0]).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    return np.clip(2 * np.asarray(aucs, dtype=np.float64) - 1, 0.0, 1.0)


def exclude_weak(aucs: ArrayLike, share: float) -> Mask:
    """Return which classifiers stay when the share with the lowest AUC goes (rounded down; one stays): tried and dropped in Sedlmeyr (2024).

    Examples
    --------
    >>> exclude_weak([0.6, 0.5, 0.9, 0.7], 0.5).tolist()
    [False, False, True, True]
    """
    if not 0 <= share <= 1:
        raise InputError(
            f"The share of weak classifiers to exclude must lie between 0 and 1. Got {share}."
        )
    values = np.asarray(aucs, dtype=np.float64)
    keep = np.ones(len(values), dtype=bool)
    keep[np.argsort(values, kind="stable")[: min(int(share * len(values)), len(values) - 1)]] = (
        False
    )
    return keep


def choose_targets(
    log_odds: ArrayLike, *, weights: ArrayLike | None = None, keep: ArrayLike | None = None
) -> Ints:
    """Return for each release (row) the target (column) whose chance, times its weight, is highest; the first of equals.

    Without options that is the largest log-odds. Weights multiply chances: log-odds have two signs, and a weak classifier's
    "no" would become less of a no.

    Examples
    --------
    >>> choose_targets([[0.1, 2.0, 1.9]]).tolist(), choose_targets([[0.1, 2.0, 1.9]], weights=[1, 0.5, 1]).tolist()
    ([1], [2])
    """
    values = np.asarray(log_odds, dtype=np.float64)
    score = values
    if weights is not None:
        with np.errstate(divide="ignore"):
            score = np.log(np.asarray(weights, dtype=np.float64)) - np.logaddexp(0.0, -values)
    if keep is not None:
        score = np.where(np.asarray(keep, dtype=bool), score, -np.inf)
    return np.asarray(score.argmax(axis=-1), dtype=np.int64)


@dataclass(frozen=True)
class Isolation:
    """How often a predicate of so many attributes isolated, and what a blind attacker reaches.

    `success`, `interval`: share of releases in which exactly one record of X matched; exact 95 % interval. `weight`: mean weight of the
    predicates: the share of the population that they are true of. `blind_attacker`: what a blind attacker reaches with predicates no
    heavier (Cohen and Nissim), records drawn independently. `without_release`: what the same predicates reach when X is drawn without
    replacement and nothing is released.
    """

    attributes: int
    success: float
    interval: Interval
    weight: float
    blind_attacker: float
    without_release: float

    def cells(self, more: str = "") -> list[str]:
        """Return the row of a table."""
        low, high = self.interval
        return [
            f"{self.attributes}{more}",
            f"{self.success:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{self.weight:.2g}",
            f"{self.blind_attacker:.3f}",
            f"{self.without_release:.3f}",
        ]


@dataclass(frozen=True)
class AttackerSkill:
    """The AUCs of attackers on fits that they did not learn from."""

    mean: float
    lowest: float
    highest: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SinglingOutResult(ShadowResult):
    """The result of an attack by predicate singling out. Holds no record that leaves; `confidential()` does, for the steward alone.

    Parameters
    ----------
    isolations, closest
        By number of attributes, all of them last; and by the closest row alone.
    nobody
        The chance that none of the targets is in the data.
    releases
        How many releases were attacked.
    attributes_that_suffice
        How many attributes tell a target from everybody, in the mean.
    skill
        How well attackers tell members.
    aucs, named, right
        Of each target its attacker's AUC; for each release the target that was named and whether that was right. Absent where plain data were read.

    Notes
    -----
    The others are those of `ShadowResult`.
    """

    TITLE: ClassVar[str] = "Can somebody be singled out?"
    FORMAT: ClassVar[str] = "chaffinch-singling-out"
    VERSION: ClassVar[int] = 2
    SUBJECT: ClassVar[str] = "the attack by singling out"
    NEXT_STEP: ClassVar[str] = "Give the JSON of chaffinch attack singling-out."

    isolations: tuple[Isolation, ...]
    closest: Isolation
    nobody: float
    releases: int
    attributes_that_suffice: float
    skill: AttackerSkill
    aucs: tuple[float, ...] = field(default=(), metadata=NOT_WRITTEN)
    named: Any = field(default=None, metadata=NOT_WRITTEN)
    right: Any = field(default=None, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.isolations:
            raise InputError("The attack by singling out must have 'isolations'.")

    @property
    def success(self) -> float:
        """The share of releases from which somebody was singled out by all attributes: 0 to 1, lower is safer."""
        return self.isolations[-1].success

    @property
    def guess(self) -> float:
        """What a blind guess reaches, |X| / |D|, to three digits."""
        return self.findings[0].guess or 0.0

    @property
    def sentence(self) -> str:
        """The result in words."""
        low, high = map(percent, self.interval)
        verdict = (
            "the releases tell who is in the data"
            if self.findings[0].excess_found
            else "no more was found than guessing gives"
        )
        sentence = (
            f"Somebody was singled out from {percent(self.success)} of {count_noun(self.releases, 'release')} (95 % interval {low} to {high}); a guess "
            f"without any release is right in {percent(self.guess)}: {verdict}."
        )
        return sentence.replace("\xa0", " ")

    def confidential(self) -> dict[str, Any]:
        """Return the predicates with their constants, and how often each was right."""
        predicates: list[dict[str, Any]] = []
        if self.world is None or self.named is None or self.right is None:
            return {"confidential": True, "predicates": predicates}
        table = self.world.table
        names = table.schema.names
        for k, row in enumerate(self.world.targets):
            record = table.data.select(list(names)).slice(int(row), 1).to_pylist()[0]
            mine = self.named == k
            predicates.append(
                {
                    "conditions": [[name, "==", _plain(record[name])] for name in names],
                    "releases_that_named_it": int(mine.sum()),
                    "of_these_right": int((mine & self.right).sum()),
                    "auc": self.aucs[k],
                }
            )
        return {"confidential": True, "predicates": predicates}

    def table(self, *, page: bool = False) -> Words:
        """Return the success by number of attributes, the closest row alone last."""
        head = (
            "attributes",
            "success",
            "95 % interval",
            "weight",
            "blind attacker",
            "without release",
        )
        return head, [
            *(isolation.cells() for isolation in self.isolations),
            self.closest.cells(", closest row"),
        ]

    def __repr__(self) -> str:
        low, high = self.interval
        return f"SinglingOutResult(success {self.success:.4g} [{low:.4g}, {high:.4g}], guess {self.guess:.4g}, {self.releases:,} releases)"

    def plot(self) -> Markup:
        """Return the success by number of attributes, beside a guess."""
        lines = [
            (
                f"{isolation.attributes} attributes",
                [
                    Dot("attack", isolation.success, *isolation.interval),
                    Dot("blind attacker", isolation.blind_attacker),
                ],
            )
            for isolation in self.isolations
        ]
        description = "; ".join(f"{name}: {marks[0].value:.3f}" for name, marks in lines)
        return dots(
            "singling-out",
            "How often somebody is singled out",
            description,
            lines,
            ("attack", "blind attacker"),
            level=self.guess,
            low=0.0,
            high=1.0,
            label="share of releases; the upright line is a guess; bars: 95 % interval",
        )


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def baseline(n_rows: int, n_population: int) -> float:
    """Return the chance that one record of the population is in the data: |X| / |D| (Sedlmeyr 2024, equation 1).

    Examples
    --------
    >>> baseline(1000, 5000)
    0.2
    """
    _check(n_rows, n_population)
    return n_rows / n_population


def nobody_in(n_rows: int, n_population: int, targets: int) -> float:
    """Return the chance that none of several records of the population is in the data (Sedlmeyr 2024, equation 2, figure 5).

    The product of (|D| - |X| - i) / (|D| - i) for i below the number of targets.

    Examples
    --------
    >>> round(nobody_in(1000, 5000, 30), 4)
    0.0012
    """
    _check(n_rows, n_population)
    if not 0 <= targets <= n_population:
        raise InputError(f"There must be 0 to {n_population:,} targets. Got {targets:,}.")
    if targets > n_population - n_rows:
        return 0.0
    return exp(_log_choose(n_population - targets, n_rows) - _log_choose(n_population, n_rows))


def blind_chance(weight: float, n_rows: int) -> float:
    """Return the chance that a predicate of this weight isolates in n independent records: n w (1 - w)^(n - 1).

    Examples
    --------
    >>> round(blind_chance(1 / 1000, 1000), 3)
    0.368
    """
    if not 0 <= weight <= 1:
        raise InputError(f"A weight is a chance, 0 to 1. Got {weight:g}.")
    if weight in (0.0, 1.0):
        return float(weight == 1.0 and n_rows == 1)
    return exp(log(n_rows) + log(weight) + (n_rows - 1) * log1p(-weight))


def blind_chance_at_most(weight: float, n_rows: int) -> float:
    """Return the best chance of a blind attacker whose predicate may weigh at most this: that of `weight`, or of 1/n if that is less."""
    return blind_chance(min(weight, 1 / n_rows), n_rows)


def drawn_chance(matches: int, n_rows: int, n_population: int) -> float:
    """Return the chance that exactly one of `matches` records of the population is in a subset drawn without replacement.

    Examples
    --------
    >>> round(drawn_chance(1, 1000, 5000), 6)
    0.2
    """
    _check(n_rows, n_population)
    if not 0 <= matches <= n_population:
        raise InputError(f"There are 0 to {n_population:,} records to match. Got {matches:,}.")
    if matches == 0 or n_rows - 1 > n_population - matches:
        return 0.0
    return exp(
        log(matches)
        + _log_choose(n_population - matches, n_rows - 1)
        - _log_choose(n_population, n_rows)
    )


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _check(n_rows: int, n_population: int) -> None:
    if not 1 <= n_rows <= n_population:
        raise InputError(
            f"The data must have 1 to {n_population:,} records of the population. Got {n_rows:,}."
        )


@dataclass(frozen=True, eq=False)
class Lightest:
    """For each number of attributes, the set of them that is true of the fewest records of the population.

    `columns`: (sizes, columns): row a - 1 marks the attributes of the set of size a. `matches`: records of the population that match
    the target on them, the target included.
    """

    columns: NDArray[np.bool_]
    matches: NDArray[np.int64]

    @property
    def shortest(self) -> int:
        """The fewest attributes that are true of the target alone; all of them if none are."""
        alone = np.flatnonzero(self.matches == 1)
        return int(alone[0]) + 1 if len(alone) else len(self.matches)


def lightest(population: NDArray[Any], target: NDArray[Any]) -> Lightest:
    """Return the lightest predicate of every number of attributes about a target.

    Up to 16 columns of all sets; above, attributes are added one at a time, each the one that leaves the fewest records.

    Examples
    --------
    >>> found = lightest(np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8))
    >>> found.columns.tolist(), found.matches.tolist(), found.shortest
    ([[True, False], [True, True]], [2, 1], 2)
    """
    n_columns = population.shape[1]
    if n_columns > ALL_SUBSETS:
        return _one_by_one(population, target)
    same = (population == target).astype(
        np.uint8
    )  # whether it is the target's value: records may have more values than codes have room for
    counts = match_counts(same[None], np.ones(n_columns, dtype=np.uint8))[0]
    masks = np.arange(1 << n_columns)
    size = np.array([int(mask).bit_count() for mask in masks])
    best = [masks[size == a][np.argmin(counts[size == a])] for a in range(1, n_columns + 1)]
    columns = (np.array(best)[:, None] >> np.arange(n_columns)) & 1 == 1
    return Lightest(columns, counts[best].astype(np.int64))


def _one_by_one(population: NDArray[Any], target: NDArray[Any]) -> Lightest:
    n_columns = population.shape[1]
    same = population == target
    still_matching = np.ones(len(population), dtype=bool)
    chosen: list[int] = []
    columns = np.zeros((n_columns, n_columns), dtype=bool)
    matches = np.empty(n_columns, dtype=np.int64)
    for a in range(n_columns):
        after = (same & still_matching[:, None]).sum(axis=0)
        after[chosen] = len(population) + 1
        chosen.append(int(np.argmin(after)))
        still_matching &= same[:, chosen[-1]]
        columns[a, chosen] = True
        matches[a] = still_matching.sum()
    return Lightest(columns, matches)


def isolates(
    data: NDArray[Any], target: NDArray[Any], columns: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for each set of attributes whether exactly one record of the data matches the target on it.

    `columns` is (sets, columns).
    """
    missed = (data != target).astype(np.int32) @ columns.T.astype(
        np.int32
    )  # attributes on which a record differs
    alone: NDArray[np.bool_] = (missed == 0).sum(axis=0) == 1
    return alone
