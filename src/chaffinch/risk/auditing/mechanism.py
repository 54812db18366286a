"""Runs of a private fit seen from inside its mechanism: the exact log-likelihood ratio of its noisy answers on a pair of tables.

A run is a fit on D or D' whose noisy answers are recorded; the same fit on the other table is then given the very same answers.
What an attacker sees is every answer and the model made of them. An answer, an error or a model that the other table cannot give tells all.

A fit asks for noise and gets answers; what it asks next depends on them. An attacker who sees the answers, and knows both tables, can work
out what either table would have been asked on the way and how likely it was to answer so. `Recorder` writes down what was asked and answered.
`Replay` gives another fit the very same answers and writes down what that was asked. The logarithm of the ratio of the two probabilities
(`log_ratio`) is then exact, also where questions depend on answers, and by Neyman and Pearson's lemma no other number tells more.

True counts are in here: nothing of this is part of a result, and it exists only while an audit runs.
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.seeds import child
from ...privacy.mechanisms import (
    Noise,
    exponential_log_law,
    gaussian_log_law,
    laplace_log_law,
    observing,
    permute_and_flip_log_law,
)
from ...table.table import Table
from ..shadows.generator import Generator, Released
from ..shadows.run import ShadowJob, Working, within
from ..shadows.settings import Grid
from .claims import Claim, Guessed, choose_rule, guess
from .pairs import Pair
from .ratios import choose_ratio_test
from .runs import coins, finished_parts

Kind = Literal["laplace", "gaussian", "exponential", "permute_and_flip"]


KINDS: tuple[Kind, ...] = ("laplace", "gaussian", "exponential", "permute_and_flip")


_LAWS: dict[str, Callable[[ArrayLike, float], NDArray[np.float64]]] = {
    "laplace": laplace_log_law,
    "gaussian": gaussian_log_law,
    "exponential": exponential_log_law,
    "permute_and_flip": permute_and_flip_log_law,
}


CERTAIN = 1e6
"""The log-likelihood ratio of what only one of the tables can give."""


FIRST = 20
"""One in so many runs is played on both tables before the rest: a run that is asked the same as one of these need not be."""


FEWEST_FIRST = 20


PARTS, SMALLEST = 20, 50
"""About how many parts runs are worked in, and the fewest runs of a part."""


class DivergedError(Exception):
    """A fit asks for what the recorded answers cannot be answers to: on this table they are impossible."""


@dataclass(frozen=True, eq=False)
class Query:
    """What a fit asked of its noise, and the answer: an array as large as the values, or the position of a candidate."""

    kind: Kind
    values: NDArray[np.int64] = field(repr=False)
    scale: float
    answer: NDArray[np.int64] | int = field(repr=False)

    @property
    def chooses(self) -> bool:
        """Whether the answer is a candidate."""
        return isinstance(self.answer, int)

    @property
    def question(self) -> bytes:
        """All but the answer, to compare."""
        return repr((self.kind, self.values.shape, self.scale)).encode() + self.values.tobytes()


class Recorder:
    """A source of noise that writes down what is asked of another one, and what it answers."""

    test_only: ClassVar[bool] = True

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        self.queries: list[Query] = []

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.array(self._answer("laplace", values, scale))

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        return np.array(self._answer("gaussian", values, sigma))

    def exponential(self, scores: NDArray[np.int64], scale: float) -> int:
        return int(self._answer("exponential", scores, scale))

    def permute_and_flip(self, scores: NDArray[np.int64], scale: float) -> int:
        return int(self._answer("permute_and_flip", scores, scale))

    def _answer(self, kind: Kind, values: NDArray[np.int64], scale: float) -> Any:
        drawn = getattr(self.noise, kind)(values, scale)
        answer = self._given(kind, np.shape(values), drawn)
        self.queries.append(Query(kind, np.array(values, dtype=np.int64), float(scale), answer))
        return answer

    def _given(self, kind: Kind, shape: tuple[int, ...], drawn: Any) -> Any:
        return drawn


class Replay(Recorder):
    """A source of noise that gives recorded answers, and writes down what is asked.

    It draws all the same and throws that away: where a fit shares its generator with its noise, what else it draws stays as it was.
    """

    def __init__(self, noise: Noise, tape: Sequence[Query]) -> None:
        super().__init__(noise)
        self.tape = tape

    def _given(self, kind: Kind, shape: tuple[int, ...], drawn: Any) -> Any:
        position = len(self.queries)
        if position >= len(self.tape):
            raise DivergedError
        answer = self.tape[position].answer
        fits = 0 <= answer < shape[0] if isinstance(answer, int) else np.shape(answer) == shape
        if isinstance(drawn, int) is not isinstance(answer, int) or not fits:
            raise DivergedError
        return answer


def log_law(kind: Kind, scale: float) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Return the logarithm of a law: of noise, or of which of some scores is chosen."""
    return lambda values: _LAWS[kind](values, scale)


def log_probability(query: Query) -> float:
    """Return the logarithm of the probability of a query's answer."""
    if isinstance(query.answer, int):
        return float(_LAWS[query.kind](query.values, query.scale)[query.answer])
    # Differences as floats: true counts and noise are far below 2^53.
    return float(
        _LAWS[query.kind](query.answer.astype(np.float64) - query.values, query.scale).sum()
    )


def log_ratio(with_: Sequence[Query], without: Sequence[Query]) -> float:
    """Return log P(answers | D') - log P(answers | D) for the same answers as given by both tables.

    Examples
    --------
    One count, 1 on D' and 0 on D, answered by 3 with Laplace noise of scale 2: (3 - 2) / 2.

    >>> asked = [Query("laplace", np.array([count]), 2.0, np.array([3])) for count in (1, 0)]
    >>> log_ratio(asked[:1], asked[1:])
    0.5
    """
    return sum(
        log_probability(a) - log_probability(b)
        for a, b in zip(with_, without, strict=True)
        if a.question != b.question
    )


Known = dict[tuple[bool, int], tuple[Query, ...]]
"""For each way that a run took, what the other table is asked on it."""


@dataclass(frozen=True, eq=False)
class Coupled:
    """A run and what the other table would have been asked on the same way: first D, then D'. `possible`: whether it could go that way."""

    queries: tuple[tuple[Query, ...], tuple[Query, ...]] = field(repr=False)
    possible: bool
    member: bool

    @property
    def log_ratio(self) -> float:
        """log P(what is seen | D') - log P(what is seen | D)."""
        if not self.possible:
            return CERTAIN if self.member else -CERTAIN
        return float(np.clip(log_ratio(self.queries[1], self.queries[0]), -CERTAIN, CERTAIN))

    @property
    def questions(self) -> tuple[bytes, ...]:
        """What both tables were asked."""
        return tuple(query.question for side in self.queries for query in side)

    @property
    def answers(self) -> int:
        """A number of the answers: runs with the same answers have the same."""
        queries = self.queries[int(self.member)]
        return zlib.crc32(
            b"\0".join(np.asarray(query.answer, dtype=np.int64).tobytes() for query in queries)
        )


def couple(
    maker: Any,
    tables: tuple[Table, Table],
    *,
    member: bool,
    seed: np.random.SeedSequence,
    known: Known | None = None,
) -> Coupled:
    """Return a run on D' (`member`) or D, of `tables` (D, D'), with the same answers given to the fit on the other one.

    `known`: what the other table is asked where a run was asked the same; then it is not fitted again, and the fit on the first one ends
    with its last answer: what comes of the answers has been compared before.
    """
    table, other = (tables[1], tables[0]) if member else tables
    longest = max(map(len, known.values()), default=0) if known else 0
    recorded, outcome = _fit(
        maker,
        table,
        seed,
        lambda noise: _Ending(noise, known, member, longest) if known else Recorder(noise),
    )
    same = known.get(way(recorded, member)) if known else None
    if same is not None:
        replayed: Sequence[Query] = [
            replace(query, answer=r.answer) for query, r in zip(same, recorded, strict=True)
        ]
        possible = True
    else:
        replayed, again = _fit(maker, other, seed, lambda noise: Replay(noise, recorded))
        possible = len(replayed) == len(recorded) and _text(outcome) == _text(again)
    both_queries = (
        (tuple(replayed), tuple(recorded)) if member else (tuple(recorded), tuple(replayed))
    )
    return Coupled(both_queries, possible, member)


def way(queries: Sequence[Query], member: bool) -> tuple[bool, int]:
    """Return what distinguishes the ways that runs took: the table, what it was asked, and which candidates were chosen."""
    chosen = repr([query.answer for query in queries if query.chooses]).encode()
    return member, zlib.crc32(b"\0".join(query.question for query in queries), zlib.crc32(chosen))


def known_ways(runs: Iterable[Coupled]) -> Known | None:
    """Return what the other table was asked for each way that runs took; None if that is not the same for one way, or was impossible."""
    ways: Known = {}
    for run in runs:
        queries, other = run.queries[int(run.member)], run.queries[1 - int(run.member)]
        before = ways.setdefault(way(queries, run.member), other)
        if not run.possible or any(
            a.question != b.question for a, b in zip(before, other, strict=True)
        ):
            return None
    return ways


class _AnsweredError(BaseException):
    """All has been answered. Not an Exception: a fit that catches those does not catch this."""


class _Ending(Recorder):
    """A recorder that ends a fit with its last answer, on a way that is known and longer than which none is."""

    def __init__(self, noise: Noise, known: Known, member: bool, longest: int) -> None:
        super().__init__(noise)
        self.known, self.member, self.longest = known, member, longest

    def _answer(self, kind: Kind, values: NDArray[np.int64], scale: float) -> Any:
        answer = super()._answer(kind, values, scale)
        if len(self.queries) == self.longest and way(self.queries, self.member) in self.known:
            raise _AnsweredError
        return answer


def _fit(
    maker: Any, table: Table, seed: np.random.SeedSequence, observer: Callable[[Noise], Recorder]
) -> tuple[list[Query], Any]:
    """What a fit asked and was answered, and what came of it: a model, or an error."""
    recorders: list[Recorder] = []

    def observed(noise: Noise) -> Recorder:
        # A fit that opens its noise twice goes on where the first one stopped.
        recorders.append(observer(noise))
        recorders[-1].queries = recorders[0].queries
        return recorders[-1]

    with observing(observed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outcome = maker.fit(table, seed=seed)
        except Exception as error:
            outcome = error
        except _AnsweredError:
            outcome = None
    return (recorders[0].queries if recorders else []), outcome


def _text(outcome: Any) -> str:
    """A model as text, where it says what it is, and of an error its kind: its message may quote a record."""
    if isinstance(outcome, Exception):
        return type(outcome).__name__
    return (
        json.dumps(outcome.to_dict(), sort_keys=True, default=repr)
        if hasattr(outcome, "to_dict")
        else ""
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ObservedFits(Generator):
    """A synthesiser whose fits are observed, on one of the two tables of a pair, which share the grid of their base."""

    grid: Grid = "population"
    tables: tuple[Table, Table] = field(repr=False)
    member: bool
    known: Known | None = field(default=None, repr=False)

    @property
    def fits(self) -> bool:
        """True: there is always something to look into."""
        return True

    def subset(self, rows: NDArray[np.int64]) -> Table:
        """Return the table that runs are on: it is the same in all."""
        return self.tables[int(self.member)]

    def release(
        self,
        table: Table,
        *,
        tables: int,
        rows: int,
        seed: np.random.SeedSequence,
        sight: Any = None,
    ) -> Released:
        """Return a run, in place of the model; no table is drawn."""
        run = couple(self.maker, self.tables, member=self.member, seed=seed, known=self.known)
        return Released(np.empty((1, 0, 0), dtype=np.uint8), run)


class _Numbers:
    """What a worker sends back of each run: its log-likelihood ratio, and a number of its answers."""

    def nodes(self, _run: Coupled) -> NDArray[np.float64]:
        return np.empty((1, 0))

    def cells(self, run: Coupled) -> NDArray[np.float64]:
        return np.array([run.log_ratio, run.answers], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class MechanismRuns:
    """What was seen of runs: for each its log-likelihood ratio, a number of its answers, and whether it was on D'.

    `examples`: some runs as they were played on both tables.
    """

    pair: Pair
    log_ratio: NDArray[np.float64]
    answers: NDArray[np.int64]
    member: NDArray[np.bool_]
    examples: tuple[Coupled, ...] = field(repr=False)

    @property
    def sigma(self) -> float | None:
        """The least scale of noise in the examples, if all of it was Gaussian."""
        queries = [query for run in self.examples for query in run.queries[int(run.member)]]
        return (
            min(query.scale for query in queries)
            if all(query.kind == "gaussian" for query in queries)
            else None
        )


def run_mechanism(
    maker: Any, pair: Pair, *, runs: int, seed: np.random.SeedSequence, working: Working
) -> MechanismRuns | str:
    """Return what is seen of runs on a pair, each on D or D' by a coin of its own; or why there is nothing to see."""
    without, with_ = (pair.base.take(rows) for rows in pair.draws)
    tables = (without, with_)
    member = coins(runs, seed)
    first = min(runs, max(FEWEST_FIRST, runs // FIRST))
    examples: list[Coupled] = []
    for i in range(first):
        with within(working.time_limit):
            examples.append(couple(maker, tables, member=bool(member[i]), seed=child(seed, i)))
        if not any(len(side) for side in examples[0].queries):
            return "no noise of this package is drawn in a fit, so there are no noisy answers to look at"
    rest = np.arange(first, runs)
    jobs = list(
        _jobs(
            ObservedFits(maker, pair.base, tables=tables, member=False, known=known_ways(examples)),
            pair,
            member,
            rest,
            seed,
            working.time_limit,
        )
    )
    played = _play_jobs(jobs, pair, len(rest), working)
    all_runs = np.concatenate(
        [np.array([[run.log_ratio, run.answers] for run in examples]), played]
    )
    return MechanismRuns(
        pair, all_runs[:, 0], all_runs[:, 1].astype(np.int64), member, tuple(examples)
    )


def _play_jobs(
    jobs: list[ShadowJob], pair: Pair, total: int, working: Working
) -> NDArray[np.float64]:
    """The numbers of the runs of jobs, in their order."""
    if not jobs:
        return np.empty((0, 2))
    parts = finished_parts(
        jobs, total, working, "fit", lambda run: f"Fit {run} on pair '{pair.name}'"
    )
    order = np.argsort(np.concatenate([shadow_part.ids for shadow_part in parts]))
    return np.concatenate(
        [np.asarray(shadow_part.cells, dtype=np.float64) for shadow_part in parts]
    )[order]


def _jobs(
    generator: ObservedFits,
    pair: Pair,
    member: NDArray[np.bool_],
    ids: NDArray[np.int64],
    seed: np.random.SeedSequence,
    time_limit: float | None,
) -> Iterator[ShadowJob]:
    size = max(SMALLEST, -(-len(ids) // PARTS))
    for inside in (False, True):
        side_ids = ids[member[ids] == inside]
        for chunk in np.array_split(side_ids, -(-len(side_ids) // size)) if len(side_ids) else ():
            rows = (pair.draws[int(inside)],) * len(chunk)
            yield ShadowJob(
                replace(generator, member=inside), chunk, rows, 1, 1, seed, _Numbers(), time_limit
            )


def attack_mechanism(seen: MechanismRuns, claim: Claim, *, level: float) -> tuple[str, Guessed]:
    """Return who guessed, and what that proves about a claim; who, and how, is settled on the first runs, which are not counted.

    The exact ratio tells most where noise is drawn as it should be (`ratios`). Answers that come back, of a seed that stays, are looked for
    apart.
    """
    runs = len(seen.member)
    first = settling_runs(runs)
    before, rest = slice(None, first), slice(first, None)
    test = choose_ratio_test(seen.log_ratio[before], claim, runs - first, level=level)
    repeats = _repeats(seen, first)
    rule = choose_rule(repeats[before], seen.member[before], claim, level=level)
    if (
        rule.bound
        > test.proves(seen.log_ratio[before], seen.member[before], claim, level=level).bound
    ):
        return "repeated answers", guess(rule, repeats[rest], seen.member[rest], claim, level=level)
    return "likelihood ratio", test.proves(
        seen.log_ratio[rest], seen.member[rest], claim, level=level
    )


def settling_runs(runs: int) -> int:
    """Return how many runs settle the attack: one in twenty; of few runs up to fifty, and at most a quarter.

    Examples
    --------
    >>> [settling_runs(runs) for runs in (80, 200, 400, 2000)]
    [20, 50, 50, 100]
    """
    return max(runs // 20, min(runs // 4, 50))


def _repeats(seen: MechanismRuns, first: int) -> NDArray[np.float64]:
    """For each run, how many others of the first ones gave the same answers on D', less those on D."""
    side = np.where(seen.member, 1.0, -1.0)
    sums: dict[int, float] = {}
    for number, label in zip(seen.answers[:first].tolist(), side[:first].tolist(), strict=True):
        sums[number] = sums.get(number, 0.0) + label
    out = np.array([sums.get(number, 0.0) for number in seen.answers.tolist()])
    out[:first] -= side[:first]
    return out
