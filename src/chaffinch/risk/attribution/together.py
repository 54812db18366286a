"""What several releases of the same people tell together: attacks and tests from all of them at once, beside each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..._base.masking import THRESHOLD, masked_count
from ..._base.results import from_plain, to_plain
from ..._base.seeds import child
from ..._base.text import between, number, shown, signed
from ...stats.excess import NO_HOLDOUT, excess
from ...stats.familywise import Contrast, ScoreComparison, contrasts
from ...stats.rates import ClassStatistic, Group, Ratio, Statistic
from ..attacker import ATTACKERS, attacker_of
from ..finding import keys_words
from ..memorisation.battery import Trial, trials
from .attack_data import AttackData
from .attacker import Attempt, Outcome, Question, outcomes
from .settings import RiskSettings

ALPHA = 0.05


MODEL_TIMES = 10
"""Rows that are drawn from a released model, in tables of the original's size: more change no attack by much."""


FEW = "It is about fewer than {threshold} people, so its numbers do not leave; whether it is more than chance does."


JOINT_HEAD = (
    "attack or test",
    "on",
    "keys",
    "together",
    "holdout",
    "excess, together",
    "excess, each alone",
    "added",
    "95 % interval",
    "p, all together",
)


@dataclass(frozen=True, kw_only=True)
class JointFinding:
    """One attack or memorisation test by somebody who holds all releases, beside the same from each of them alone.

    Parameters
    ----------
    value, holdout
        Of the original's people and of the holdout's, from all releases at once: their rows are one table.
    excess, excess_interval, p_value
        How much more is told about members, see `stats.excess`.
    alone
        The excess from each release by itself, in their order; a model's last.
    added, added_interval, added_p, added_p_family
        The excess from all less the mean of those from each table by itself, its interval, and p-values of "nothing is added", the last
        adjusted for all attacks and tests.
    reason
        Why a number is absent.
    """

    kind: Literal["attack", "test"] = "attack"
    attacker: str = ""
    convention: str | None = None
    keys: tuple[str, ...] = ()
    sensitive: str = ""
    value: float | None = None
    holdout: float | None = None
    excess: float | None = None
    excess_interval: tuple[float, float] | None = None
    p_value: float | None = None
    alone: tuple[float | None, ...] = ()
    added: float | None = None
    added_interval: tuple[float, float] | None = None
    added_p: float | None = None
    added_p_family: float | None = None
    reason: str | None = None

    @property
    def title(self) -> str:
        """What a page calls the attack or test."""
        return attacker_of(self.attacker).title + (
            f" ({self.convention})" if self.convention else ""
        )

    @property
    def words(self) -> str:
        """The attack or test with what it is on."""
        return (
            f"{self.title} on {shown(self.sensitive, 40)} knowing {keys_words(self.keys)}"
            if self.sensitive
            else self.title
        )

    @property
    def adds(self) -> bool:
        """Whether more is told together than alone, beyond chance over all attacks and tests."""
        return self.added_p_family is not None and self.added_p_family <= ALPHA

    def row(self) -> list[str]:
        """Return a row of words, as `JOINT_HEAD` names them."""

        def one(value: float | None) -> str:
            return "" if value is None else number(value)

        return [
            self.title,
            shown(self.sensitive, 40),
            keys_words(self.keys) if self.keys else "",
            one(self.value),
            one(self.holdout),
            "" if self.excess is None else signed(self.excess),
            ", ".join("masked" if e is None else signed(e) for e in self.alone[:6]),
            "" if self.added is None else signed(self.added),
            "" if self.added_interval is None else between(self.added_interval),
            one(self.added_p_family),
        ]


@dataclass(frozen=True, kw_only=True)
class Together:
    """What somebody finds who holds several releases of the same people.

    `tables`: how many tables were released. `names`: what they are called, where they have names. `model_rows`: rows that were drawn from a model that was released too, masked as numbers
    of rows are, None without one.
    `findings`: every attack that does not learn, and every memorisation test. `reason`: why nothing can be said of what is added.
    """

    tables: int = 0
    names: tuple[str, ...] = ()
    model_rows: int | str | None = None
    findings: tuple[JointFinding, ...] = ()
    reason: str = ""

    @property
    def releases(self) -> str:
        """What was released, in words."""
        tables = f"{self.tables:,} tables" if self.tables != 1 else "the table"
        return tables if self.model_rows is None else f"{tables} and the model"

    @property
    def strongest(self) -> JointFinding | None:
        """The finding to which further releases add most beyond chance."""
        known = [one for one in self.findings if one.added_p_family is not None]
        return min(
            known, key=lambda one: (one.added_p_family or 0.0, -(one.added or 0.0)), default=None
        )

    @property
    def sentence(self) -> str:
        """What further releases add, in words.

        Examples
        --------
        >>> finding = JointFinding(kind="test", attacker="exact_row", excess=0.08, alone=(0.02, 0.02), added=0.06,
        ...                        added_interval=(0.04, 0.08), added_p_family=0.001)
        >>> print(Together(tables=2, findings=(finding,)).sentence)  # doctest: +NORMALIZE_WHITESPACE
        Whoever holds 2 tables finds more than from one of them: by Exact row the excess is +0.080 from all together, and what is added to one is
        +0.060 (95 % interval 0.04 to 0.08).
        """
        strongest = self.strongest
        if strongest is None:
            return f"Attacked together: {self.reason or 'no difference could be stated.'}"
        if not strongest.adds:
            return (
                f"Whoever holds {self.releases} was not seen to find more than from one of them: over {len(self.findings):,} attacks and tests the chance "
                f"of a largest difference like this one, were nothing added, is {number(strongest.added_p_family)}."
            )
        head = (
            f"Whoever holds {self.releases} finds more than from one of them: by {strongest.words} "
        )
        if strongest.added is None or strongest.added_interval is None or strongest.excess is None:
            return f"{head}something is added, beyond chance; how much is about too few people to be said."
        return (
            f"{head}the excess is {signed(strongest.excess)} from all together, and what is added to one is {signed(strongest.added)} "
            f"(95 % interval {between(strongest.added_interval)})."
        )

    @property
    def ranked(self) -> tuple[JointFinding, ...]:
        """The findings, those to which further releases add most beyond chance first."""

        def rank(one: JointFinding) -> tuple[float, float]:
            return (2.0 if one.added_p_family is None else one.added_p_family, -(one.added or 0.0))

        return tuple(sorted(self.findings, key=rank))

    def rows(self) -> list[list[str]]:
        """Return a row of words for each finding, as `JOINT_HEAD` names them: what adds most first."""
        return [one.row() for one in self.ranked]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = to_plain(self)
        return {**plain, "sentence": self.sentence}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Together:
        """Return what plain data hold."""
        return from_plain(
            cls,
            {name: value for name, value in data.items() if name != "sentence"},
            what="'together'",
        )


@dataclass(frozen=True, eq=False, repr=False)
class PooledAttack:
    """An attack or a test from all releases (first) and from each by itself: groups of members and of others, and what they are.

    `question`: of an attack, None of a test. `counted`: how many of the members each group is about, for masking; None for all.
    """

    name: str
    question: Question | None
    members: tuple[Group, ...]
    others: tuple[Group, ...] | None
    statistics: tuple[Statistic, ...]
    counted: tuple[int | None, ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """Every attack and test from all releases and from each by itself."""

    attacks: tuple[PooledAttack, ...]
    tables: int
    model_rows: int | None = None

    def stacked(self, other: Pool) -> Pool:
        """Return the pools of two halves of the people as one: all their members, and all their others."""
        return replace(
            self,
            attacks=tuple(_stacked(a, b) for a, b in zip(self.attacks, other.attacks, strict=True)),
        )


def pool_of(
    data: AttackData,
    questions: Sequence[Question],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    *,
    alone: Sequence[Sequence[Trial]] | None = None,
    threads: int | None = None,
) -> Pool:
    """Return what attacks that do not learn, and memorisation tests, score people by, from all releases and from each by itself.

    The data have several synthetic sides, or one and a model's. `alone`: trials of each test on each table, where they were made before.
    """
    tables = data.synthetics
    sides = [*tables, *(["model"] if "model" in data.sides else [])]
    data = data.with_union(sides, name="together")
    people = ["original", *(["holdout"] if "holdout" in data.sides else [])]
    out: list[PooledAttack] = []
    for place, question in enumerate(questions):
        matching = replace(
            question,
            attackers=tuple(name for name in question.attackers if not ATTACKERS[name].learns),
        )
        seed = int(child(root, 0, place).generate_state(1)[0] % (1 << 31))
        every = [
            outcomes(Attempt(data, side, people, matching, seed=seed, threads=threads))
            for side in ("together", *sides)
        ]
        out += [_attack(name, matching, [one[name] for one in every]) for name in every[0]]

    def scored(released: Sequence[str], names: Sequence[str]) -> list[Trial]:
        return trials(
            data.coded,
            released,
            names,
            keys=settings.keys,
            parts=settings.parts,
            seed=child(root, 1),
            threads=threads,
        )

    names = settings.memorisation_tests
    every_trial = scored(sides, (*names, *settings.joint_tests))
    all_rows, joint = every_trial[: len(names)], every_trial[len(names) :]
    by_side = [scored([side], names) for side in sides if alone is None or side == "model"]
    by_test = zip(*by_side, strict=True) if by_side else [()] * len(all_rows)
    before = alone if alone is not None else [()] * len(all_rows)
    out += [
        _test([first, *known, *more])
        for first, known, more in zip(all_rows, before, by_test, strict=True)
    ]
    out += [_test([one, *[_nothing(one)] * len(sides)]) for one in joint]
    rows = data.sides["model"].n_rows if "model" in data.sides else None
    return Pool(tuple(out), len(tables), rows)


def together(
    pool: Pool,
    root: np.random.SeedSequence,
    *,
    resamples: int,
    threshold: int = THRESHOLD,
    threads: int | None = None,
) -> Together:
    """Return what the releases of a pool tell together, and what that adds to one of its tables by itself; as it may leave."""
    added: list[Contrast] = [Contrast() for _ in pool.attacks]
    comparable = {
        j: ScoreComparison(
            one.members[: pool.tables + 1],
            one.others[: pool.tables + 1],
            one.statistics[: pool.tables + 1],
        )
        for j, one in enumerate(pool.attacks)
        if one.others is not None and not one.reason
    }
    for j, contrast in zip(
        comparable,
        contrasts(
            list(comparable.values()), resamples=resamples, seed=child(root, 0), threads=threads
        ),
        strict=True,
    ):
        added[j] = contrast
    findings = tuple(
        _finding(one, contrast, child(root, 1, j), resamples, threshold, threads)
        for j, (one, contrast) in enumerate(zip(pool.attacks, added, strict=True))
    )
    alone = all(one.others is None for one in pool.attacks)
    return Together(
        tables=pool.tables,
        model_rows=_model_rows(pool, threshold),
        findings=findings,
        reason=NO_HOLDOUT if alone else "",
    )


def _model_rows(pool: Pool, threshold: int) -> int | str | None:
    """Return the rows drawn from a model, from the masked number of the original's: ten times that number would tell it."""
    if pool.model_rows is None:
        return None
    rows = masked_count(pool.model_rows // MODEL_TIMES, threshold)
    return rows if isinstance(rows, str) else MODEL_TIMES * rows


def _attack(name: str, question: Question, every: Sequence[Sequence[Outcome]]) -> PooledAttack:
    members, *others = zip(*every, strict=True)
    reason = next((one.reason for sides in every for one in sides if one.value is None), "")
    matched = ATTACKERS[name].people == "matched"
    return PooledAttack(
        name,
        question,
        tuple(one.group for one in members),
        tuple(one.group for one in others[0]) if others else None,
        tuple(one.statistic for one in members),
        tuple(one.n_matched if matched else None for one in members),
        reason,
    )


def _test(every: Sequence[Trial]) -> PooledAttack:
    others = tuple(one.others for one in every if one.others is not None)
    reason = next((one.reason for one in every if one.reason), "")
    return PooledAttack(
        every[0].test.name,
        None,
        tuple(one.members for one in every),
        others or None,
        (Ratio(),) * len(every),
        (None,) * len(every),
        reason,
    )


def _nothing(trial: Trial) -> Trial:
    """Return the trial of one release by a test that needs several: nobody is found by it."""
    groups = [
        None if group is None else (np.zeros_like(group[0]), group[1])
        for group in (trial.members, trial.others)
    ]
    assert groups[0] is not None
    return replace(trial, members=groups[0], others=groups[1])


def _finding(
    one: PooledAttack,
    contrast: Contrast,
    root: np.random.SeedSequence,
    resamples: int,
    threshold: int,
    threads: int | None,
) -> JointFinding:
    question = one.question
    out = JointFinding(kind="test", attacker=one.name, reason=one.reason or contrast.reason or None)
    if question is not None:
        convention = question.convention if ATTACKERS[one.name].conventions else None
        out = replace(
            out,
            kind="attack",
            convention=convention,
            keys=question.keys,
            sensitive=question.sensitive,
        )
    if one.reason:
        return out
    if one.others is None:
        value = None if _few(one, 0, threshold) else _value(one.statistics[0], one.members[0])
        value = 1.0 - value if value is not None and _safer_high(one) else value
        return replace(out, value=value, reason=out.reason or NO_HOLDOUT)
    found = [
        excess(
            m,
            o,
            statistic=rule,
            resamples=resamples if j == 0 else 2,
            seed=child(root, j),
            threads=threads,
        )
        for j, (m, o, rule) in enumerate(zip(one.members, one.others, one.statistics, strict=True))
    ]
    few = [_few(one, j, threshold) for j in range(len(found))]
    first = found[0]
    out = replace(
        out,
        p_value=first.p_value,
        alone=tuple(
            None if hide else each.value for each, hide in zip(found[1:], few[1:], strict=True)
        ),
        added_p=contrast.p_value,
        added_p_family=contrast.p_family,
    )
    if not few[0]:
        sides = [
            side if side is None or not _safer_high(one) else 1.0 - side
            for side in (first.members, first.others)
        ]
        out = replace(
            out,
            value=sides[0],
            holdout=sides[1],
            excess=first.value,
            excess_interval=first.interval,
        )
    if not any(few):
        return replace(out, added=contrast.value, added_interval=contrast.interval)
    return replace(out, reason=out.reason or FEW.format(threshold=threshold))


def _safer_high(one: PooledAttack) -> bool:
    """Return whether a test's value is the other way round than its scores, which are towards risk."""
    return one.question is None and attacker_of(one.name).direction == "higher is safer"


def _value(statistic: Statistic, group: Group) -> float | None:
    n = len(group[0])
    above, below = statistic.totals(group)(np.ones((1, n)), n, n)
    return float(above[0] / below[0]) if below[0] > 0 else None


def _few(one: PooledAttack, j: int, threshold: int) -> bool:
    """Return whether numbers are about few people: those who are matched, or those in whom the score of a group lies."""
    counted = one.counted[j]
    if counted is not None:
        return 0 < counted < threshold
    if not isinstance(one.statistics[j], Ratio):
        return False
    groups = [one.members[j], *([] if one.others is None else [one.others[j]])]
    return any(0 < np.count_nonzero(group[0]) < threshold for group in groups)


def _stacked(first: PooledAttack, second: PooledAttack) -> PooledAttack:
    assert first.others is not None
    assert second.others is not None
    members, others, statistics = [], [], []
    for j, (rule, other_rule) in enumerate(zip(first.statistics, second.statistics, strict=True)):
        shift = 0
        if isinstance(rule, ClassStatistic) and isinstance(other_rule, ClassStatistic):
            shift = len(rule.weights)
            rule = ClassStatistic(np.concatenate([rule.weights, other_rule.weights]), rule.empty)
        members.append(_joined(first.members[j], second.members[j], shift))
        others.append(_joined(first.others[j], second.others[j], shift))
        statistics.append(rule)
    counted = tuple(
        None if a is None or b is None else a + b
        for a, b in zip(first.counted, second.counted, strict=True)
    )
    return PooledAttack(
        first.name,
        first.question,
        tuple(members),
        tuple(others),
        tuple(statistics),
        counted,
        first.reason or second.reason,
    )


def _joined(first: Group, second: Group, shift: int) -> Group:
    """Return two groups as one; classes of the second are numbered after those of the first."""
    moved = np.where(second[0] >= 0, second[0] + shift, -1) if shift else second[0]
    return np.concatenate([first[0], moved]), np.concatenate([first[1], second[1]])
