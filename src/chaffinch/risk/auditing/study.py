"""Audit a promise of privacy: run a synthesiser on neighbouring tables, attack it, and set what that proves beside the claim."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.errors import ChaffinchError, InputError
from ..._base.masking import THRESHOLD
from ..._base.progress import Progress, silent
from ..._base.seeds import Seed, seed_sequence
from ...privacy.accounting import check_delta, check_epsilon
from ...privacy.relation import Neighbours, Unit
from ...stats.splits import child
from ...synth.bayesnet.network import Network
from ...table.read import read
from ...table.table import Table
from ..shadows.generator import coded
from ..shadows.work import OutOfTime, Working, within
from .attacker import attack
from .bounds import detectable, divided
from .features import table_features
from .pairs import MADE, PAIRS, Pair, Skipped, average_pair, made_pair
from .result import AuditFinding, AuditResult
from .runs import PairRuns, run_pair
from .settings import BOXES, AuditSettings
from .watch import MOST_RECORDS, OUTSIDE, Look, Watched, readable

__all__ = ["audit", "measure_audit"]

ROWS = 500
"""Rows that are drawn of each model: the more, the more a table shows of its model. A promise holds for any number."""


def audit(
    synthesiser: Any,
    table: Any = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: Neighbours | None = None,
    pairs: Sequence[str | Pair] | None = None,
    runs: int = 2000,
    box: Sequence[str] = BOXES,
    rows: int | None = None,
    average_rows: int = 1000,
    level: float = 0.99,
    threshold: int = THRESHOLD,
    seed: Seed = None,
    threads: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
) -> AuditResult:
    """Return lower bounds on the epsilon of a synthesiser from attacks on neighbouring tables, beside the epsilon that it claims.

    For each pair of tables D and D' half of the runs are on each, with independent seeds. A quarter of them trains attackers, a quarter
    chooses one and its threshold, and on the other half it has to tell D from D'. What that proves holds with the confidence `level`
    for all pairs and boxes together (Clopper-Pearson bounds, the level divided among them). Annamalai, Ganev and De Cristofaro (2024).

    What is not promised: "not refuted" is no proof. Runs are on small tables made for the worst case, and on `table` if it is given.

    Parameters
    ----------
    synthesiser
        Settings with `fit(table, seed=...)`, or a function `(table, seed) -> table`: that is looked at from its tables alone.
    table
        A user's table, path or frame for the pair "average": a random subset of up to `average_rows` without and with its most
        vulnerable record.
    epsilon, delta, neighbours, pairs, runs, box, rows, average_rows, level, threshold
        See `AuditSettings`.
    threads, executor, time_limit
        Processes for the runs, or an executor to use instead; and the seconds that a run may take. They change no result, but that
        in an executor of threads warnings are not seen.
    """
    settings = AuditSettings(
        epsilon=epsilon, delta=delta, neighbours=neighbours, pairs=pairs, runs=runs, box=box, rows=rows, average_rows=average_rows, level=level,
        threshold=threshold,
    )  # fmt: skip
    return measure_audit(
        synthesiser, table, settings, seed=seed, threads=threads, executor=executor, time_limit=time_limit, progress=progress
    )


def measure_audit(
    synthesiser: Any, table: Any, settings: AuditSettings, *, seed: Seed = None, threads: int | None = None,
    executor: Executor | None = None, time_limit: float | None = None, progress: Progress = silent,
) -> AuditResult:  # fmt: skip
    """Return what an audit under some settings proves."""
    working = Working(threads, executor, None, time_limit, progress)
    working.check("run")
    table = table if table is None or isinstance(table, Table) else read(table)
    claim = _claim(synthesiser, settings.epsilon, settings.delta)
    unit = _unit(synthesiser, settings.neighbours, own_claim=settings.epsilon is not None)
    boxes = _boxes(settings.box, synthesiser)
    root = seed_sequence(seed)
    asked = (*MADE, *(("average",) if table is not None else ())) if settings.pairs is None else tuple(settings.pairs)
    skipped: list[Skipped] = []
    seen: list[tuple[PairRuns, str]] = []
    for number, one in enumerate(asked):
        stream = child(root, PAIRS.index(one) if one in PAIRS else len(PAIRS) + number)
        pair = _pair(one, unit, table, settings, threads, stream)

        def told(stage: str, share: float, number: int = number, name: str = pair_name(one)) -> None:
            progress(f"pair '{name}': {stage}", (number + max(share, 0.0)) / len(asked))

        ready = pair if isinstance(pair, Skipped) else _ready(synthesiser, pair, settings.rows, stream, time_limit)
        if isinstance(ready, Skipped):
            skipped.append(ready)
            continue
        assert isinstance(pair, Pair)
        runs_seen = run_pair(
            ready.generator, pair, _look(ready, pair), times=settings.runs // 2, rows=ready.rows, seed=child(stream, 1),
            working=replace(working, progress=told),
        )  # fmt: skip
        seen.append((runs_seen, ready.no_model))
    tests = [(one, b) for one, no_model in seen for b in boxes if not (b == "white" and no_model)]
    if "white" in boxes:
        skipped += [Skipped(one.pair.name, no_model, "white") for one, no_model in seen if no_model]
    if "white" in settings.box and "white" not in boxes:
        skipped.append(Skipped("all", "a function gives tables and no model to look into", "white"))
    if not tests:
        raise InputError(f"Nothing could be audited. {' '.join(f'{s.pair}: {s.reason}.' for s in skipped)}")
    each = divided(settings.level, len(tests))
    findings: list[AuditFinding] = []
    for seen_runs, b in tests:
        progress(f"pair '{seen_runs.pair.name}': attacking, {b} box", -1)
        findings.append(_finding(seen_runs, b, claim, each, child(root, 1000 + len(findings)), threads))
    words = Watched(synthesiser, seen[0][0].pair.base).words
    return AuditResult(words, *claim, unit.words, settings.level, each, tuple(findings), tuple(skipped))


def pair_name(pair: str | Pair) -> str:
    """Return the name of a pair."""
    return pair if isinstance(pair, str) else pair.name


def _claim(synthesiser: Any, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    """The claimed epsilon and delta: what was said, or else what the synthesiser has as its budget."""
    try:
        budget = getattr(synthesiser, "budget", None)
    except InputError:  # settings without a promise
        budget = None
    if epsilon is None:
        if budget is None:
            raise InputError("There is no claim to audit: the synthesiser states no epsilon. Pass the epsilon that is claimed.")
        epsilon = float(budget.epsilon)
    if delta is None and budget is not None:
        delta = budget.delta
    return check_epsilon(epsilon), 0.0 if delta is None or delta == 0 else check_delta(delta)


def _unit(synthesiser: Any, neighbours: Neighbours | None, *, own_claim: bool) -> Unit:
    """The relation of the claim; another than the synthesiser's own only for an epsilon that was said for it."""
    own = getattr(synthesiser, "unit", None)
    if neighbours is None and own is None:
        raise InputError(
            "Under which relation is epsilon claimed? Pass neighbours='add-remove' or 'replace-one': equal numbers under different "
            "relations are different claims."
        )
    if own is None:
        assert neighbours is not None
        return Unit(neighbours)
    if neighbours not in (None, own.neighbours) and not own_claim:
        raise InputError(
            f"The synthesiser claims its epsilon for '{own.words}', and another relation is asked for. Pass the epsilon that is claimed "
            "for that too."
        )
    return Unit(own.neighbours if neighbours is None else neighbours, own.rows_per_person)


def _boxes(box: Sequence[str], synthesiser: Any) -> tuple[str, ...]:
    names = tuple(name for name in BOXES if name in box and (name == "black" or hasattr(synthesiser, "fit")))
    if not names:
        raise InputError("A function gives tables and no model to look into: use box='black'.")
    return names


def _pair(
    asked: str | Pair, unit: Unit, table: Table | None, settings: AuditSettings, threads: int | None, seed: np.random.SeedSequence
) -> Pair | Skipped:
    if isinstance(asked, Pair):
        if asked.unit.neighbours != unit.neighbours:
            raise InputError(f"Pair '{asked.name}' is made for another relation than the claim: '{unit.words}'.")
        return asked
    if asked == "average":
        if table is None:
            raise InputError("The pair 'average' is made from a table: pass table=..., or leave it out.")
        rng = np.random.default_rng(child(seed, 1 << 31))
        return average_pair(table, unit, rows=settings.average_rows, threads=threads, threshold=settings.threshold, rng=rng)
    return made_pair(asked, unit)


@dataclass(frozen=True, eq=False)
class _Ready:
    """A generator that was tried once on each table: how many rows to look at, and what network it learnt, if any."""

    generator: Watched
    rows: int
    network: Network | None
    no_model: str


def _ready(
    synthesiser: Any, pair: Pair, rows: int | None, seed: np.random.SeedSequence, time_limit: float | None
) -> _Ready | Skipped:
    """Try both tables once. A synthesiser that refuses both cannot be audited; one that refuses one of them can."""
    generator = Watched(synthesiser, pair.base)
    wanted = max(ROWS, len(pair.rows_with)) if rows is None else rows
    if wanted < 1:
        raise InputError(f"rows must be at least 1. Got {rows}.")
    tried = []
    for i, taken in enumerate(pair.draws):
        try:
            with within(time_limit):
                release = generator.release(pair.base.take(taken), tables=1, rows=wanted, seed=child(seed, (1 << 30) + i))
        except OutOfTime:
            raise InputError(
                f"A first run on pair '{pair.name}' took longer than the limit of {time_limit:g} s. Raise it."
            ) from None
        tried.append(release.model)
    if pair.name == "empty" and tried[0].error and not tried[1].error:
        return Skipped(
            "empty",
            "the synthesiser refuses a table without rows; under add-remove that too is an answer that one record changes",
        )
    if all(answer.error for answer in tried):
        _refused(synthesiser, pair, wanted)
    model = next((answer.model for answer in tried if readable(answer.model, pair.base)), None)
    no_model = "" if model is not None else "the model is of a kind, or has codes, that cannot be looked into"
    if not generator.models:
        # What a function returns is looked at as a whole, with room for more than was seen once.
        wanted = max(2 * max(answer.n_rows for answer in tried), 16)
    return _Ready(generator, wanted, None if model is None else model.network, no_model)


def _refused(synthesiser: Any, pair: Pair, rows: int) -> None:
    """Raise what both tables of a pair raise; a stranger's message may quote a record and is not passed on."""
    try:
        table = pair.base.take(pair.rows_with)
        if hasattr(synthesiser, "fit"):
            synthesiser.fit(table, seed=0).sample(rows, seed=0)
        else:
            Watched(synthesiser, pair.base).codes_of(synthesiser(table, 0))
    except ChaffinchError:
        raise
    except Exception as error:
        raise InputError(
            f"The synthesiser raised {type(error).__name__} on both tables of pair '{pair.name}'. Try it on such a table first."
        ) from None
    raise InputError(f"The synthesiser failed on both tables of pair '{pair.name}'. Try it on such a table first.")


def _look(ready: _Ready, pair: Pair) -> Look:
    """All records of a small domain are looked at, the target first; in a user's table the target alone."""
    others = [i for i in range(pair.base.n_rows) if i != pair.target_row]
    chosen = [pair.target_row, *(others if pair.base.n_rows <= MOST_RECORDS else ())]
    return Look(pair.base, coded(pair.base)[chosen], ready.network)


def _finding(
    seen: PairRuns, box: str, claim: tuple[float, float], level: float, seed: np.random.SeedSequence, threads: int | None
) -> AuditFinding:
    outside = seen.cells[:, : len(OUTSIDE)]
    if box == "white":
        features = seen.cells
    else:
        target = coded(seen.pair.base)[seen.pair.target_row]
        around = table_features(seen.tables, target, seen.pair.base.schema.sizes, threads=threads)
        features = np.concatenate([outside, around], axis=1)
    epsilon, delta = claim
    verdicts = attack(features, seen.member, delta=delta, level=level, seed=seed)
    each = min(verdicts.positives, verdicts.negatives)
    return AuditFinding(
        pair=seen.pair.name, box=box, bound=verdicts.bound, epsilon=epsilon, delta=delta, runs=len(seen.member), test_runs=each,
        detectable=detectable(each, delta=delta, level=level), attacker=verdicts.attacker, true_positives=verdicts.true_positives,
        false_positives=verdicts.false_positives,
    )  # fmt: skip
