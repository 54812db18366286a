"""One candidate measured on a part of the people: fitted on those a table is made of, attacked on them and on others, and asked what it is worth.

People are parted by person: those the search looks at, and those it never does. What a table is worth for a purpose is a number for each fold, and over
all folds a value with an interval.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..._base.arrays import Floats
from ..._base.errors import ChaffinchError, InputError, PersonalDataWarning
from ..._base.seeds import child
from ..._base.text import detectable_words
from ...report.frontier_result import (
    BINS,
    RARE,
    CandidateSettings,
    Evaluation,
    RiskFigure,
    WorthFigure,
)
from ...risk.crossfit import AttackedFold, attack_folds
from ...stats.intervals import jackknife, mean_interval
from ...stats.rates import Group, Statistic
from ...synth.protocol import TableGenerator
from ...table import Table, read
from ...table.align import align
from ...table.rules.keep import with_found_rules
from ...utility.phi_k import phi_k
from ...utility.pmse import pmse
from ...utility.regression import regression
from ...utility.trials import person_scores
from ...utility.tvd import marginal_distance
from ..engines import synthesiser_for
from .search import Space
from .settings import FrontierSettings

LEAST = 50
"""People whom each table of a search must be made of at least, and be held against."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class PeopleFold:
    """Rows of the people a table is made of, and of people it is not made of: of the same table, or of the holdout."""

    members: Rows
    others: Rows


@dataclass(frozen=True)
class PeoplePart:
    """A part of the people, its folds, and how many people there are in it."""

    name: str
    folds: tuple[PeopleFold, ...]
    people: int


def split_people(
    table: Table, rows: Rows, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return the rows of two groups of the people in some rows: a share of them, and the rest; all rows of a person are in one."""
    if table.person_of is None:
        mixed = rng.permutation(rows)
        cut = round(share * len(mixed))
        return np.sort(mixed[:cut]), np.sort(mixed[cut:])
    persons = table.person_of[rows]
    names = rng.permutation(np.unique(persons))
    first = np.isin(persons, names[: round(share * len(names))])
    return rows[first], rows[~first]


def divide_people(
    table: Table, holdout: Table | None, share: float, rng: np.random.Generator
) -> tuple[PeoplePart, PeoplePart]:
    """Return the part of the search and the part that confirms, which has a share of the people.

    Without a holdout each part has two folds: each half of its people once a table is made of, once not. With one, its people are parted too.

    Raises
    ------
    InputError
        If there are too few people.
    """
    all_rows = np.arange(table.n_rows, dtype=np.int64)
    confirm, search = split_people(table, all_rows, share, rng)
    parts = []
    if holdout is None:
        for name, rows in (("search", search), ("confirmation", confirm)):
            first, second = split_people(table, rows, 0.5, rng)
            parts.append(
                PeoplePart(
                    name,
                    (PeopleFold(first, second), PeopleFold(second, first)),
                    _persons(table, rows),
                )
            )
        smallest = min(
            min(_persons(table, fold.members) for fold in people.folds) for people in parts
        )
        if smallest < LEAST:
            raise InputError(
                f"Too few people to part: a search and a confirmation with two halves each need {LEAST} people in every half, at least {4 * LEAST} in all. "
                "Give a holdout (people who are not in the data), or more people."
            )
        return parts[0], parts[1]
    others = np.arange(holdout.n_rows, dtype=np.int64)
    for_confirm, for_search = split_people(holdout, others, share, rng)
    for name, rows, fresh in (
        ("search", search, for_search),
        ("confirmation", confirm, for_confirm),
    ):
        if _persons(table, rows) < LEAST or _persons(holdout, fresh) < LEAST:
            raise InputError(
                f"Too few people to part: a search and a confirmation need {LEAST} people each, of the data and of the holdout."
            )
        parts.append(PeoplePart(name, (PeopleFold(rows, fresh),), _persons(table, rows)))
    return parts[0], parts[1]


def rows_of(parts: Sequence[PeoplePart]) -> list[set[int]]:
    """Return the rows of the data that each part looks at: no row is in two."""
    return [
        set(np.concatenate([fold.members for fold in people.folds]).tolist()) for people in parts
    ]


def cost_of_parting(
    people: PeoplePart, n_people: int, detectable: tuple[float, float] | None, *, holdout: bool
) -> tuple[str, ...]:
    """Return sentences on what parting people costs: in what can be seen, and in what the figures are of."""
    made_of = people.people if holdout else people.people // 2
    out = [
        f"Figures of the search are of tables made of {made_of:,} people, where the release is made of {n_people:,}. A smaller table is worth less; it may give more "
        "away about each of its people, or less, since a larger one has more rare combinations. So the release is attacked again itself, before it is written."
    ]
    if detectable is not None:
        low, high = detectable
        gain = sqrt(people.people / n_people)
        out.append(
            f"Parting costs precision: on the people of the search the attacks see an excess of {detectable_words(low)} to {detectable_words(high)}, the most and the least precise; on "
            f"all people that would be {detectable_words(low * gain)} to {detectable_words(high * gain)}. An excess below that may be there unseen."
        )
    return tuple(out)


def _persons(table: Table, rows: Rows) -> int:
    return len(rows) if table.person_of is None else len(np.unique(table.person_of[rows]))


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
            sensitive=tuple(asked.sensitive),
            droppable=droppable,
            epsilons=asked.epsilons,
            recode=not asked.private,
            trees=self.table.schema.only("person") is None,
        )

    def coded(
        self, candidate: CandidateSettings, people: PeoplePart | None = None, fold: int = 0
    ) -> Table:
        """Return the people that a table is made of, those of a fold or everybody, as a candidate codes them: each coding is made once.

        Levels, bins and rules are found in these people alone, as they would be if nobody else were there: what a release learns from its schema is in it.
        """
        rare, bins = (candidate.rare, candidate.bins) if self.space.recode else (RARE, BINS)
        key = ("" if people is None else people.name, fold, rare, bins)
        with self._lock:
            known = self._codings.get(key)
        if known is None:
            known = self.table if people is None else self.table.take(people.folds[fold].members)
            if self.space.recode and (people is not None or (rare, bins) != (RARE, BINS)):
                known = recode(known, rare, bins, self.settings.threshold)
            with self._lock:
                self._codings[key] = known
        return without_columns(known, candidate.dropped)

    def evaluate(
        self, candidate: CandidateSettings, people: PeoplePart | None = None
    ) -> MeasuredCandidate:
        """Return what a candidate gives away and is worth, on the people of the search unless another part is named. One that cannot be fitted says why."""
        asked = self.search if people is None else people

        def make(_rows: NDArray[np.int64], fold: int) -> Any:
            synthesiser = synthesiser_for(
                candidate.synthesiser(self.settings.label), self.table.schema
            )
            number = int(
                child(
                    self.root, _stream_number(asked), _FIT, fold, stream_of(candidate.key)
                ).generate_state(1)[0]
                % (1 << 31)
            )
            return TableGenerator(synthesiser).synthesis(
                self.coded(candidate, asked, fold), number, number + 1
            )

        try:
            return self._measured(
                Evaluation(candidate=candidate, split=asked.name, people=asked.people),
                make,
                asked,
                candidate.dropped,
            )
        except ChaffinchError as error:
            return MeasuredCandidate(
                Evaluation(
                    candidate=candidate, split=asked.name, people=asked.people, failure=str(error)
                )
            )

    def references(self) -> tuple[MeasuredCandidate, ...]:
        """Return the tables that candidates are held against: the original itself, and other people of the search."""
        people = self.search
        original = Evaluation(reference=ORIGINAL, split=people.name, people=people.people)
        out = [self._measured(original, lambda rows, fold: self.table.take(rows), people, ())]
        cut = [
            np.random.default_rng(child(self.root, 0, _FRESH, f)).permutation(len(fold.others))
            for f, fold in enumerate(people.folds)
        ]
        half = [
            (fold.others[np.sort(c[: len(c) // 2])], fold.others[np.sort(c[len(c) // 2 :])])
            for fold, c in zip(people.folds, cut, strict=True)
        ]
        rest = PeoplePart(
            people.name,
            tuple(
                replace(fold, others=others)
                for fold, (_, others) in zip(people.folds, half, strict=True)
            ),
            people.people,
        )
        fresh = Evaluation(reference=FRESH, split=people.name, people=people.people)
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
        group: PeoplePart,
        dropped: Sequence[str],
    ) -> MeasuredCandidate:
        models = [make(fold.members, number) for number, fold in enumerate(group.folds)]
        people = [
            (self.table.take(fold.members), self._others.take(fold.others)) for fold in group.folds
        ]
        folds = [
            AttackedFold(
                without_columns(members, dropped), [table], without_columns(others, dropped)
            )
            for (members, others), table in zip(people, models, strict=True)
        ]
        attack = self.settings.attack_without(dropped)
        root = child(self.root, _stream_number(group), _ATTACK)
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
            not_shown=f"{largest.unbounded} attacks have no upper bound."
            if largest.unbounded
            else "",
            reason=largest.reason,
        )
        tables = [
            MadeTable(members, fill_missing_columns(table, members), others)
            for (members, others), table in zip(people, models, strict=True)
        ]
        worth, scores = worth_figures(
            tables, self.settings, child(self.root, _stream_number(group), _WORTH)
        )
        attacks: dict[str, tuple[Group, Group, Statistic]] = {
            tried.name: (members.group, others.group, members.statistic)
            for tried in run.tried
            for members, others in [tried.tables[0]]
        }
        return MeasuredCandidate(replace(blank, risk=risk, worth=worth), attacks, scores)

    def with_auc(self, evaluation: Evaluation, people: PeoplePart | None = None) -> Evaluation:
        """Return an evaluation with how well members of small tables are told from others: the membership attack with few shadows, of the part's people."""
        from ...risk.membership import membership

        asked = self.search if people is None else people
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
        seed = child(
            self.root, _stream_number(asked), _MEMBERSHIP, stream_of(evaluation.candidate.key)
        )
        result = membership(
            members,
            synthesiser,
            population,
            shadows=self.settings.shadows,
            test_shadows=max(20, self.settings.shadows // 2),
            tables_per_shadow=2,
            grid="population",
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


def recode(table: Table, rare: int, bins: int, threshold: int) -> Table:
    """Return a table whose levels, bins and rules are found anew in its own records: where nobody declared them, with other bins and another threshold for rare levels."""
    columns = tuple(
        replace(c, codec=None, bins=bins if c.bins == BINS else c.bins) if c.modelled else c
        for c in table.schema
    )
    searched = table.schema.searched
    declared = tuple(rule for rule in table.schema.rules if rule not in table.schema.found_rules)
    schema = replace(
        table.schema,
        columns=columns,
        rare_below=rare,
        rules=declared,
        found_rules=(),
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


def _stream_number(people: PeoplePart) -> int:
    return 0 if people.name == "search" else 1


TITLES = {
    "accuracy": "accuracy of learnt models",
    "r2": "R2 of learnt models",
    "regression": "overlap of the regression's intervals",
    "tables": "distance of the named tables",
    "tvd_2": "distance of tables of two columns",
    "tvd_3": "distance of tables of three columns",
    "phi_k": "distance of relations (phi_k)",
    "pmse": "ease of telling rows apart (pMSE ratio)",
}
"""What each worth is, in words."""

GROUPS = 10
"""Groups of records that are left out in turn for the interval of a regression's overlap."""

Interval = tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class MadeTable:
    """A table, whom it was made of, and people it was not made of, all with all columns."""

    members: Table
    table: Any
    others: Table


def fill_missing_columns(synthetic: Any, members: Table) -> Any:
    """Return a table with the columns that were left out of it, each with the commonest value for everybody: what somebody without them would guess."""
    missing = [name for name in members.schema.names if name not in synthetic.schema.names]
    if not missing:
        return synthetic
    data = synthetic.data
    for name in missing:
        counts = pc.value_counts(members.data.column(name).combine_chunks())
        common = counts.field("values")[int(np.argmax(counts.field("counts")))]
        data = data.append_column(
            members.data.schema.field(name), pa.repeat(common, synthetic.n_rows)
        )
    return data.select([name for name in members.schema.names if name in data.column_names])


def worth_figures(
    folds: Sequence[MadeTable], settings: FrontierSettings, seed: np.random.SeedSequence
) -> tuple[tuple[WorthFigure, ...], Floats]:
    """Return the worth of tables for each purpose, and for a label how well each person's was predicted: for paired differences."""
    out, scores = [], np.empty(0)
    for name in settings.worths:
        if name == "accuracy":
            figure, scores = _accuracy_figure(folds, settings, seed)
        else:
            figure = _distance_figure(name, folds, settings, seed)
        out.append(figure)
    return tuple(out), scores


def _accuracy_figure(
    folds: Sequence[MadeTable], settings: FrontierSettings, seed: np.random.SeedSequence
) -> tuple[WorthFigure, Floats]:
    """Models learn from the table and predict people it was not made of."""
    assert settings.label is not None
    parts = [
        person_scores(fold.members, fold.table, fold.others, label=settings.label, seed=seed)
        for fold in folds
    ]
    title = TITLES["r2" if parts[0].task == "regression" else "accuracy"]
    if reason := next((figure.reason for figure in parts if figure.reason), ""):
        return WorthFigure(name="accuracy", title=title, reason=reason), np.empty(0)
    scores = np.concatenate([figure.scores for figure in parts])
    return WorthFigure(
        name="accuracy",
        title=title,
        value=float(scores.mean()),
        interval=mean_interval(scores),  # type: ignore[arg-type]
    ), scores


def _distance_figure(
    name: str, folds: Sequence[MadeTable], settings: FrontierSettings, seed: np.random.SeedSequence
) -> WorthFigure:
    """A measure of how near the table is to whom it was made of, its mean over folds, whose people have nobody in common."""
    measure: dict[str, Callable[[MadeTable], tuple[float | None, Interval, str]]] = {
        "tables": lambda fold: _plain(
            marginal_distance(fold.members, fold.table, cliques=settings.tables)
        ),
        "tvd_2": lambda fold: _plain(
            marginal_distance(fold.members, fold.table, width=2, seed=seed)
        ),
        "tvd_3": lambda fold: _plain(
            marginal_distance(fold.members, fold.table, width=3, seed=seed)
        ),
        "phi_k": lambda fold: _plain(phi_k(fold.members, fold.table)),
        "pmse": lambda fold: _plain(pmse(fold.members, fold.table, seed=seed)),
        "regression": lambda fold: _overlap(fold, settings),
    }
    same: dict[str, Any] = {"name": name, "title": TITLES[name], "higher": name == "regression"}
    parts = [measure[name](fold) for fold in folds]
    values = [value for value, _, _ in parts if value is not None]
    if len(values) < len(parts):
        return WorthFigure(reason=next(reason for _, _, reason in parts if reason), **same)
    value = float(np.mean(values))
    halves = [(ends[1] - ends[0]) / 2 for _, ends, _ in parts if ends is not None]
    half = (
        sqrt(sum(half_width**2 for half_width in halves)) / len(parts)
        if len(halves) == len(parts)
        else None
    )
    return WorthFigure(
        value=value, interval=None if half is None else (value - half, value + half), **same
    )


def _plain(result: Any) -> tuple[float | None, Interval, str]:
    return result.value, result.interval, result.reason or "there is no value"


def _overlap(fold: MadeTable, settings: FrontierSettings) -> tuple[float | None, Interval, str]:
    """The overlap of a regression's intervals; its own interval from leaving out groups of records of both tables in turn."""
    members, table = align(fold.members, fold.table)

    def overlap(first: Table, second: Table) -> tuple[float | None, str]:
        result = regression(first, second, settings.formula or "", threshold=settings.threshold)
        return result.value, result.reason or "there is no value"

    value, reason = overlap(members, table)
    if value is None:
        return None, None, reason
    without = []
    for group in range(GROUPS):
        parts = [
            table.take(np.flatnonzero(np.arange(table.n_rows) % GROUPS != group))
            for table in (members, table)
        ]
        try:
            estimate, _ = overlap(parts[0], parts[1])
        except ChaffinchError:
            estimate = None
        without += [] if estimate is None else [estimate]
    return value, jackknife(value, without, high=1.0) if len(without) == GROUPS else None, ""
