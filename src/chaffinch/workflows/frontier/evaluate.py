"""One candidate measured on a part of the people: fitted on those a table is made of, attacked on them and on others, and asked what it is worth."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import ChaffinchError, PersonalDataWarning
from ...report.candidate import BINS, RARE, CandidateSettings
from ...report.frontier_result import Evaluation, RiskFigure
from ...risk.attribution.folds import AttackedFold, attack_folds
from ...stats.rates import Group, Ratio, Statistic
from ...stats.splits import child
from ...synth.generator import TableGenerator
from ...table import Table, read
from ...table.align import align
from ...table.rules.keep import with_found_rules
from ..synthesise import synthesiser_for
from .parts import PeoplePart, cost_of_parting
from .settings import FrontierSettings
from .space import Space
from .worth import MadeTable, filled, worth_figures

ORIGINAL, FRESH = "the original itself", "a fresh sample"
"""Tables that candidates are held against: the people themselves, and other people of the same part."""

AUC_ROWS, AUC_TARGETS = 1000, 40
"""People that tables of the membership attack are made of, at most, and people it is on."""

_ATTACK, _FIT, _WORTH, _FRESH, _MEMBERSHIP = range(5)
"""The random streams of a part."""


@dataclass(frozen=True, eq=False)
class MeasuredCandidate:
    """An evaluation, and the scores of people behind it: by attack those of members and others, and how well each one's label was predicted."""

    evaluation: Evaluation
    attacks: Mapping[str, tuple[Group, Group, Statistic]] = field(default_factory=dict)
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, kw_only=True, eq=False)
class FrontierStudy:
    """The data of a search: the table, the holdout where there is one, its parts, and what is asked.

    The same people are in the same folds for all candidates, and attacks draw the same streams: candidates differ by their tables alone.
    """

    table: Table
    holdout: Table | None
    search: PeoplePart
    confirmation: PeoplePart
    settings: FrontierSettings
    root: np.random.SeedSequence
    threads: int | None = None
    _codings: dict[tuple[str, int, int, int], Table] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def space(self) -> Space:
        """The settings that can be tried."""
        asked = self.settings
        needed = {name for table in asked.tables for name in table} | {asked.label}
        formula = (
            set()
            if asked.formula is None
            else {name for name in self.table.schema.names if name in asked.formula}
        )
        droppable = tuple(
            name
            for name in asked.keys
            if name not in needed | formula and name not in asked.sensitive and len(asked.keys) > 1
        )
        return Space(
            sensitive=asked.sensitive,
            droppable=droppable,
            epsilons=asked.epsilons,
            recode=not asked.private,
            trees=self.table.schema.only("person") is None,
        )

    def coded(
        self, candidate: CandidateSettings, part: PeoplePart | None = None, fold: int = 0
    ) -> Table:
        """Return the people that a table is made of, those of a fold or everybody, as a candidate codes them: each coding is made once.

        Levels, bins and rules are found in these people alone, as they would be if nobody else were there: what a release learns from its schema is in it.
        """
        rare, bins = (candidate.rare, candidate.bins) if self.space.recode else (RARE, BINS)
        key = ("" if part is None else part.name, fold, rare, bins)
        with self._lock:
            known = self._codings.get(key)
        if known is None:
            known = self.table if part is None else self.table.take(part.folds[fold].members)
            if self.space.recode and (part is not None or (rare, bins) != (RARE, BINS)):
                known = recoded(known, rare, bins, self.settings.threshold)
            with self._lock:
                self._codings[key] = known
        return without_columns(known, candidate.dropped)

    def evaluate(
        self, candidate: CandidateSettings, part: PeoplePart | None = None
    ) -> MeasuredCandidate:
        """Return what a candidate gives away and is worth, on the people of the search unless another part is named. One that cannot be fitted says why."""
        asked = self.search if part is None else part

        def make(_rows: NDArray[np.int64], fold: int) -> Any:
            synthesiser = synthesiser_for(
                candidate.synthesiser(self.settings.label), self.table.schema
            )
            number = int(
                child(self.root, _part(asked), _FIT, fold, stream_of(candidate.key)).generate_state(
                    1
                )[0]
                % (1 << 31)
            )
            return TableGenerator(synthesiser).synthesis(
                self.coded(candidate, asked, fold), number, number + 1
            )

        try:
            return self._measured(
                Evaluation(candidate=candidate, part=asked.name, people=asked.people),
                make,
                asked,
                candidate.dropped,
            )
        except ChaffinchError as error:
            return MeasuredCandidate(
                Evaluation(
                    candidate=candidate, part=asked.name, people=asked.people, failure=str(error)
                )
            )

    def references(self) -> tuple[MeasuredCandidate, ...]:
        """Return the tables that candidates are held against: the original itself, and other people of the search."""
        part = self.search
        original = Evaluation(reference=ORIGINAL, part=part.name, people=part.people)
        out = [self._measured(original, lambda rows, fold: self.table.take(rows), part, ())]
        cut = [
            np.random.default_rng(child(self.root, 0, _FRESH, f)).permutation(len(fold.others))
            for f, fold in enumerate(part.folds)
        ]
        half = [
            (fold.others[np.sort(c[: len(c) // 2])], fold.others[np.sort(c[len(c) // 2 :])])
            for fold, c in zip(part.folds, cut, strict=True)
        ]
        rest = PeoplePart(
            part.name,
            tuple(
                replace(fold, others=kept) for fold, (_, kept) in zip(part.folds, half, strict=True)
            ),
            part.people,
        )
        fresh = Evaluation(reference=FRESH, part=part.name, people=part.people)
        out.append(
            self._measured(fresh, lambda rows, fold: self._others.take(half[fold][0]), rest, ())
        )
        return tuple(out)

    @property
    def _others(self) -> Table:
        return self.table if self.holdout is None else self.holdout

    def _measured(
        self,
        blank: Evaluation,
        make: Callable[[NDArray[np.int64], int], Any],
        part: PeoplePart,
        dropped: Sequence[str],
    ) -> MeasuredCandidate:
        made = [make(fold.members, number) for number, fold in enumerate(part.folds)]
        people = [
            (self.table.take(fold.members), self._others.take(fold.others)) for fold in part.folds
        ]
        folds = [
            AttackedFold(
                without_columns(members, dropped), [table], without_columns(others, dropped)
            )
            for (members, others), table in zip(people, made, strict=True)
        ]
        attack = self.settings.attack_without(dropped)
        root = child(self.root, _part(part), _ATTACK)
        questions = attack.questions(child(root, 0))
        run = attack_folds(folds, questions, attack, root, threads=self.threads)
        largest, strongest = run.largest()
        risk = RiskFigure(
            estimate=largest.estimate,
            lower=largest.lower,
            upper=largest.upper,
            strongest=strongest,
            attacks=largest.attacks,
            detectable=largest.detectable,
            not_shown=f"{largest.unbounded} attacks or tests have no upper bound."
            if largest.unbounded
            else "",
            reason=largest.reason,
        )
        tables = [
            MadeTable(members, filled(table, members), others)
            for (members, others), table in zip(people, made, strict=True)
        ]
        worth, scores = worth_figures(tables, self.settings, child(self.root, _part(part), _WORTH))
        attacks: dict[str, tuple[Group, Group, Statistic]] = {
            f"{one.title} on {one.sensitive}": (
                sides[0][0].group,
                sides[0][1].group,
                sides[0][0].statistic,
            )
            for one, sides in zip(run.attacks, run.outcomes, strict=True)
        }
        attacks |= {
            every[0].test.title: (every[0].members, every[0].others, Ratio())
            for every in run.trials
            if every[0].others is not None
        }
        return MeasuredCandidate(replace(blank, risk=risk, worth=worth), attacks, scores)

    def with_auc(self, evaluation: Evaluation, part: PeoplePart | None = None) -> Evaluation:
        """Return an evaluation with how well members of small tables are told from others: the membership attack with few shadows, of the part's people."""
        from ...risk.membership import ShadowSettings, membership

        asked = self.search if part is None else part
        members = self.coded(evaluation.candidate, asked, 0)
        others = self._others.take(asked.folds[0].others)
        members, population = align(
            members,
            without_columns(
                others, [name for name in others.schema.names if name not in members.schema.names]
            ),
            names=("other",),
        )
        synthesiser = synthesiser_for(
            evaluation.candidate.synthesiser(self.settings.label), self.table.schema
        )
        seed = child(self.root, _part(asked), _MEMBERSHIP, stream_of(evaluation.candidate.key))
        shadows = ShadowSettings(
            shadows=self.settings.shadows,
            tests=max(20, self.settings.shadows // 2),
            tables=2,
            grid="population",
        )
        result = membership(
            members,
            synthesiser,
            population,
            settings=shadows,
            targets=min(AUC_TARGETS, members.n_rows // 2),
            rows=min(AUC_ROWS, members.n_rows // 2),
            seed=int(seed.generate_state(1)[0] % (1 << 31)),
            workers=1,
        )
        low, high = result.pooled.auc_interval
        return replace(
            evaluation, risk=replace(evaluation.risk, auc=result.auc, auc_interval=(low, high))
        )

    def notes(self, detectable: tuple[float, float] | None) -> tuple[str, ...]:
        """Return what to know of the figures."""
        out = list(
            cost_of_parting(
                self.search, self.table.n_persons, detectable, holdout=self.holdout is not None
            )
        )
        if self.settings.limits.max_auc is not None:
            out.append(
                f"The membership AUC is of tables made of at most {AUC_ROWS:,} people, which give more away about each than a larger one."
            )
        return tuple(out)


def recoded(table: Table, rare: int, bins: int, threshold: int) -> Table:
    """Return a table whose levels, bins and rules are found anew in its own records: where nobody declared them, with other bins and another threshold for rare levels."""
    columns = tuple(
        replace(c, codec=None, bins=bins if c.bins == BINS else c.bins) if c.modelled else c
        for c in table.schema
    )
    searched = table.schema.searched
    declared = tuple(rule for rule in table.schema.rules if rule not in table.schema.found)
    schema = replace(
        table.schema,
        columns=columns,
        rare_below=rare,
        rules=declared,
        found=(),
        functions=(),
        suggested=(),
        searched=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PersonalDataWarning)
        again = read(table.data, schema)
    again = replace(again, person_of=table.person_of, origin=table.origin)
    return with_found_rules(again, threshold) if searched else again


def without_columns(table: Table, dropped: Sequence[str]) -> Table:
    """Return a table without some columns, and without the rules that speak of them."""
    from ...synth.protected import part_of

    if not any(name in table.schema.names for name in dropped):
        return table
    return part_of(table, [name for name in table.schema.names if name not in dropped])


def stream_of(key: str) -> int:
    """Return a number for a text, always the same: the random stream of what it names."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def _part(part: PeoplePart) -> int:
    return 0 if part.name == "search" else 1
