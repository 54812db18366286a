"""What several releases of the same people tell together: attacks and tests from all of them at once, beside each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._base.masking import THRESHOLD, masked_count
from .._base.results import TabularResult
from .._base.seeds import child
from .._base.text import between, format_signed, number
from ..stats.excess import NO_HOLDOUT, excess
from ..stats.familywise import Contrast, ScoreComparison, contrasts
from ..stats.rates import Ratio
from .attacker import ATTACKERS
from .attribution.attack_data import AttackData
from .attribution.attempt import AttackContext, AttackScores, AttackSpec, run_attackers
from .finding import RELEASES_HEAD, Finding, ReleasesGain, releases_rows
from .memorisation.battery import memorisation_scores
from .run import Tried
from .settings import RiskSettings

MODEL_TIMES = 10
"""Rows that are drawn from a released model, in tables of the original's size: more change no attack by much."""

FEW = "It is about fewer than {threshold} people, so its numbers do not leave; whether it is more than chance does."


@dataclass(frozen=True, kw_only=True)
class MultiReleaseResult(TabularResult):
    """What somebody finds who holds several releases of the same people.

    `tables`: how many tables were released. `names`: what they are called, where they have names. `model_rows`: rows that were drawn from a model that was released too, masked as numbers
    of rows are, None without one.
    `findings`: every attack that does not learn, and every memorisation test, from all releases at once, their rows as one table. `reason`: why nothing can be
    said of what is added.
    """

    SUBJECT: ClassVar[str] = "'together'"
    HEAD: ClassVar[tuple[str, ...]] = RELEASES_HEAD

    tables: int = 0
    names: tuple[str, ...] = ()
    model_rows: int | str | None = None
    findings: tuple[Finding, ...] = ()
    reason: str = ""

    @property
    def releases(self) -> str:
        """What was released, in words."""
        tables = f"{self.tables:,} tables" if self.tables != 1 else "the table"
        return tables if self.model_rows is None else f"{tables} and the model"

    @property
    def strongest(self) -> Finding | None:
        """The finding to which further releases add most beyond chance."""
        return next(
            (finding for finding in self.ranked if _gain(finding).p_family is not None), None
        )

    @property
    def sentence(self) -> str:
        """What further releases add, in words.

        Examples
        --------
        >>> gain = ReleasesGain(alone=(0.02, 0.02), added=0.06, interval=(0.04, 0.08), p_family=0.001)
        >>> finding = Finding(attacker="exact_row", excess=0.08, releases=gain)
        >>> print(MultiReleaseResult(tables=2, findings=(finding,)).sentence)  # doctest: +NORMALIZE_WHITESPACE
        Whoever holds 2 tables finds more than from one of them: by Exact row the excess is +0.080 from all together, and what is added to one is
        +0.060 (95 % interval 0.04 to 0.08).
        """
        strongest = self.strongest
        if strongest is None:
            return f"Attacked together: {self.reason or 'no difference could be stated.'}"
        gain = _gain(strongest)
        if not gain.adds:
            return (
                f"Whoever holds {self.releases} was not seen to find more than from one of them: over {len(self.findings):,} attacks and tests the chance "
                f"of a largest difference like this one, were nothing added, is {number(gain.p_family)}."
            )
        head = f"Whoever holds {self.releases} finds more than from one of them: by {strongest.description} "
        if gain.added is None or gain.interval is None or strongest.excess is None:
            return f"{head}something is added, beyond chance; how much is about too few people to be said."
        return (
            f"{head}the excess is {format_signed(strongest.excess)} from all together, and what is added to one is {format_signed(gain.added)} "
            f"(95 % interval {between(gain.interval)})."
        )

    @property
    def ranked(self) -> tuple[Finding, ...]:
        """The findings, those to which further releases add most beyond chance first."""

        def position(finding: Finding) -> tuple[float, float]:
            gain = _gain(finding)
            return (2.0 if gain.p_family is None else gain.p_family, -(gain.added or 0.0))

        return tuple(sorted(self.findings, key=position))

    def rows(self) -> list[list[str]]:
        """Return a row of words for each finding, as `RELEASES_HEAD` names them: what adds most first."""
        return releases_rows(self.ranked)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, with the sentence."""
        return {**super().to_dict(), "sentence": self.sentence}


def _gain(finding: Finding) -> ReleasesGain:
    return finding.releases or ReleasesGain()


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """Every attack and test from all releases (its first table) and from each by itself."""

    tried: tuple[Tried, ...]
    tables: int
    model_rows: int | None = None

    def stacked(self, other: Pool) -> Pool:
        """Return the pools of two halves of the people as one: all their members, and all their others."""
        pairs = zip(self.tried, other.tried, strict=True)
        return replace(self, tried=tuple(first.stacked(second) for first, second in pairs))


def pool_of(
    data: AttackData,
    questions: Sequence[AttackSpec],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    *,
    alone: Sequence[Tried] | None = None,
    threads: int | None = None,
) -> Pool:
    """Return what attacks that do not learn, and memorisation tests, score people by, from all releases and from each by itself.

    The data have several synthetic sides, or one and a model's. `alone`: what was tried on each table, where that was done before.
    """
    tables = data.synthetics
    names = [*tables, *(["model"] if "model" in data.by_side else [])]
    data = data.with_union(names, name="together")
    people = ["original", *(["holdout"] if "holdout" in data.by_side else [])]
    tried: list[Tried] = []
    for index, question in enumerate(questions):
        matching = replace(
            question,
            attackers=tuple(name for name in question.attackers if not ATTACKERS[name].learns),
        )
        seed = int(child(root, 0, index).generate_state(1)[0] % (1 << 31))
        by_side = [
            run_attackers(AttackContext(data, side, people, matching, seed=seed, threads=threads))
            for side in ("together", *names)
        ]
        for name in by_side[0]:
            convention = question.convention if ATTACKERS[name].conventions else ""
            finding = Finding(
                attacker=name,
                convention=convention,
                keys=question.keys,
                sensitive=question.sensitive,
            )
            tried.append(Tried(finding, tuple(table[name] for table in by_side)))

    def scored(released: Sequence[str], names: Sequence[str]) -> dict[str, list[AttackScores]]:
        return memorisation_scores(
            data.coded,
            released,
            names,
            keys=settings.keys,
            parts=settings.parts,
            seed=child(root, 1),
            threads=threads,
        )

    has_holdout = len(people) > 1
    single = settings.memorisation_tests(has_holdout=has_holdout)
    before = {tried.finding.attacker: tried.tables for tried in alone or ()}
    from_all = scored(
        names, settings.memorisation_tests(n_releases=len(names), has_holdout=has_holdout)
    )
    from_each = [scored([side], single) for side in names if alone is None or side == "model"]
    for name, scores in from_all.items():
        # A test that needs several releases finds nobody in one.
        each = (
            [table[name] for table in from_each]
            if name in single
            else [_nobody(scores)] * len(names)
        )
        finding = Finding(attacker=name, direction=ATTACKERS[name].direction)
        tried.append(Tried(finding, (scores, *before.get(name, ()), *each)))
    rows = data.by_side["model"].n_rows if "model" in data.by_side else None
    return Pool(tuple(tried), len(tables), rows)


def together(
    pool: Pool,
    root: np.random.SeedSequence,
    *,
    resamples: int,
    threshold: int = THRESHOLD,
    threads: int | None = None,
) -> MultiReleaseResult:
    """Return what the releases of a pool tell together, and what that adds to one of its tables by itself; as it may leave."""
    added: list[Contrast] = [Contrast() for _ in pool.tried]
    has_holdout = any(len(by_people) > 1 for tried in pool.tried for by_people in tried.tables)
    comparable = {
        index: _comparison(tried.tables[: pool.tables + 1])
        for index, tried in enumerate(pool.tried)
        if has_holdout and not _reason(tried)
    }
    contrasts_found = contrasts(
        list(comparable.values()), resamples=resamples, seed=child(root, 0), threads=threads
    )
    for index, contrast in zip(comparable, contrasts_found, strict=True):
        added[index] = contrast
    findings = tuple(
        _finding(tried, contrast, child(root, 1, index), resamples, threshold, threads)
        for index, (tried, contrast) in enumerate(zip(pool.tried, added, strict=True))
    )
    return MultiReleaseResult(
        tables=pool.tables,
        model_rows=_model_rows(pool, threshold),
        findings=findings,
        reason="" if has_holdout else NO_HOLDOUT,
    )


def _comparison(tables: Sequence[Sequence[AttackScores]]) -> ScoreComparison:
    members, others = (tuple(by_people[side].group for by_people in tables) for side in (0, 1))
    return ScoreComparison(members, others, tuple(by_people[0].statistic for by_people in tables))


def _model_rows(pool: Pool, threshold: int) -> int | str | None:
    """Return the rows drawn from a model, from the masked number of the original's: ten times that number would tell it."""
    if pool.model_rows is None:
        return None
    rows = masked_count(pool.model_rows // MODEL_TIMES, threshold)
    return rows if isinstance(rows, str) else MODEL_TIMES * rows


def _reason(tried: Tried) -> str:
    """Return why what was tried has no value from some table; empty where it has one from each."""
    scores_of_all = [scores for by_people in tried.tables for scores in by_people]
    if not tried.finding.on_column:
        return next((scores.reason for scores in scores_of_all if scores.reason), "")
    return next((scores.reason for scores in scores_of_all if scores.value is None), "")


def _nobody(by_people: Sequence[AttackScores]) -> list[AttackScores]:
    """Return the scores on one release of a test that needs several: nobody is found by it."""
    return [
        replace(scores, group=(np.zeros_like(scores.group[0]), scores.group[1]))
        for scores in by_people
    ]


def _finding(
    tried: Tried,
    contrast: Contrast,
    root: np.random.SeedSequence,
    resamples: int,
    threshold: int,
    threads: int | None,
) -> Finding:
    reason = _reason(tried)
    finding = replace(
        tried.finding,
        reason=reason or contrast.reason or None,
        n_people=None,
        releases=ReleasesGain(),
    )
    if reason:
        return finding
    members = tried.first
    few = [_is_about_few(tried, by_people, threshold) for by_people in tried.tables]
    if len(tried.tables[0]) == 1:
        value = None if few[0] else members.towards_value(_value(members))
        return replace(finding, value=value, reason=finding.reason or NO_HOLDOUT)
    excesses = [
        excess(
            by_people[0].group,
            by_people[1].group,
            statistic=by_people[0].statistic,
            resamples=resamples if number == 0 else 2,
            seed=child(root, number),
            threads=threads,
        )
        for number, by_people in enumerate(tried.tables)
    ]
    first = excesses[0]
    gain = ReleasesGain(
        alone=tuple(
            None if is_few else each.value
            for each, is_few in zip(excesses[1:], few[1:], strict=True)
        ),
        p_value=contrast.p_value,
        p_family=contrast.p_family,
    )
    if not any(few):
        gain = replace(gain, added=contrast.value, interval=contrast.interval)
    finding = replace(finding, p_value=first.p_value, releases=gain)
    if not few[0]:
        finding = replace(
            finding,
            value=members.towards_value(first.members),
            holdout=members.towards_value(first.others),
            excess=first.value,
            excess_interval=first.interval,
        )
    if any(few):
        return replace(finding, reason=finding.reason or FEW.format(threshold=threshold))
    return finding


def _value(scores: AttackScores) -> float | None:
    n = len(scores.group[0])
    above, below = scores.statistic.totals(scores.group)(np.ones((1, n)), n, n)
    return float(above[0] / below[0]) if below[0] > 0 else None


def _is_about_few(tried: Tried, by_people: Sequence[AttackScores], threshold: int) -> bool:
    """Return whether numbers are about few people: those who are matched, or those in whom the score of a group lies."""
    counted = by_people[0].n_matched
    if tried.finding.about.people == "matched" and counted is not None:
        return 0 < counted < threshold
    if not isinstance(by_people[0].statistic, Ratio):
        return False
    return any(0 < np.count_nonzero(scores.group[0]) < threshold for scores in by_people)
