"""Audit a promise of privacy: run a synthesiser on neighbouring tables, attack it, and set what that proves beside the claim."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import ChaffinchError, InputError
from ..._base.options import takes
from ..._base.runtime import Progress, silent
from ..._base.seeds import Seed, child, seed_sequence
from ...privacy.accounting import check_delta, check_epsilon
from ...privacy.relation import Neighbours, PrivacyUnit
from ...synth.bayesnet.network import Network
from ...table.rows import open_table
from ...table.table import Table
from ..finding import Finding, Trials
from ..shadows.generator import code_array
from ..shadows.run import OutOfTime, Working, within
from .attacker import attack
from .canaries import CANARIES, Canaries, CanaryRuns, attack_canaries, made_canaries, run_canaries
from .claims import Claim, Guessed, bonferroni_level, claim_of
from .mechanism import MechanismRuns, attack_mechanism, run_mechanism
from .pairs import Pair, Skipped, average_pair, made_pair
from .power import (
    Powers,
    Scores,
    exact_power,
    guessed_power,
    normal_scores,
    recorded_scores,
    times_too_small,
)
from .result import AuditResult
from .runs import MOST_RECORDS, OUTSIDE, Look, PairRuns, Watched, readable, run_pair, table_features
from .settings import BOXES, MADE, PAIRS, AuditSettings

if TYPE_CHECKING:
    from ...keywords import AuditOptions

ROWS = 500
"""Rows that are drawn of each model: the more, the more a table shows of its model. A promise holds for any number."""


@takes(AuditSettings)
def audit(
    synthesiser: Any,
    table: Any = None,
    *,
    settings: AuditSettings | None = None,
    seed: Seed = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
    **options: Unpack[AuditOptions],
) -> AuditResult:
    """Return lower bounds on the epsilon of a synthesiser from attacks on neighbouring tables, beside the epsilon that it claims.

    Each run is on D or D', two tables of a pair, by the toss of a coin, with a seed of its own. A quarter of the runs trains attackers, a
    quarter chooses one and its rule, and on the other half it has to guess the coin. What right guesses prove holds with the confidence
    `level` for all pairs and boxes together (Clopper-Pearson bounds, the level divided among them): see `measures`. Pairs are those of
    Annamalai, Ganev and De Cristofaro (2024).

    Private synthesisers of this package are looked at from inside too: the attacker sees every noisy answer of a fit and has the exact
    ratio of its probabilities on D and D' (`transcript`). A claim of (epsilon, delta) is then tested as the method accounts for it: as
    epsilon; as mu, where all noise is Gaussian; else as rho.

    What is not promised: "not refuted" is no proof. Runs are on small tables made for the worst case, and on `table` if it is given.

    Parameters
    ----------
    synthesiser
        Settings with `fit(table, seed=...)`, or a function `(table, seed) -> table`: that is looked at from its tables alone.
    table
        A user's table, path or frame for the pair "average": a random subset of up to `average_rows` without and with its most
        vulnerable record.
    settings, options
        The claim, and how hard it is tried: an `AuditSettings`, or its options by name.
    threads, executor
        Processes for the runs, or an executor to use instead. They change no result, but that in an executor of threads warnings are not seen.
    """
    settings = AuditSettings.chosen(settings, options)
    working = Working(threads, executor, None, settings.time_limit, progress)
    table = None if table is None else open_table(table)
    claim = _claim(synthesiser, settings.epsilon, settings.delta)
    unit = _unit(synthesiser, settings.neighbours, own_claim=settings.epsilon is not None)
    boxes = _boxes(settings.box, synthesiser)
    root = seed_sequence(seed)
    asked = (
        (*MADE, *(("average",) if table is not None else ()))
        if settings.pairs is None
        else tuple(settings.pairs)
    )
    skipped: list[Skipped] = []
    tests: list[_Test] = []
    synthesiser_label = ""
    for number, requested in enumerate(asked):
        stream = child(root, PAIRS.index(requested) if requested in PAIRS else len(PAIRS) + number)
        pair = _pair(requested, unit, table, settings, threads, stream)
        if isinstance(pair, Canaries) and claim[1]:
            pair = Skipped(
                CANARIES,
                "with a delta one answer may give all coins of its run away at once: nothing follows from right guesses",
            )

        name = requested if isinstance(requested, str) else requested.name

        def stage_of(stage: str, share: float, number: int = number, name: str = name) -> None:
            progress(f"pair '{name}': {stage}", (number + max(share, 0.0)) / len(asked))

        ready = pair if isinstance(pair, Skipped) else _ready(synthesiser, pair, settings, stream)
        if isinstance(ready, Skipped):
            skipped.append(ready)
            continue
        assert isinstance(pair, Pair | Canaries)
        synthesiser_label = ready.generator.description
        new, why = _runs(
            synthesiser, pair, ready, boxes, settings, stream, replace(working, progress=stage_of)
        )
        tests += new
        skipped += why
    if not hasattr(synthesiser, "fit"):
        why_not = "a function gives tables and no model to look into"
        skipped += [
            Skipped("all", why_not, box) for box in ("mechanism", "white") if box in settings.box
        ]
    if not tests:
        raise InputError(
            f"Nothing could be audited. {' '.join(f'{s.pair}: {s.reason}.' for s in skipped)}"
        )
    each = bonferroni_level(settings.level, len(tests))
    findings: list[Finding] = []
    for test in tests:
        progress(f"pair '{test.seen.pair.name}': attacking, {test.box} box", -1)
        findings.append(
            _finding(
                test, claim, _budget(synthesiser), each, child(root, 1000 + len(findings)), threads
            )
        )
    return AuditResult(
        findings=tuple(findings),
        synthesiser=synthesiser_label,
        epsilon=claim[0],
        delta=claim[1],
        neighbours=unit.description,
        level=settings.level,
        level_each=each,
        skipped=tuple(skipped),
    )


@dataclass(frozen=True, eq=False)
class _Test:
    """Runs on a pair, and how they are looked at."""

    box: str
    seen: PairRuns | MechanismRuns | CanaryRuns


def _runs(
    synthesiser: Any,
    pair: Pair | Canaries,
    ready: _Ready,
    boxes: Sequence[str],
    settings: AuditSettings,
    stream: np.random.SeedSequence,
    working: Working,
) -> tuple[list[_Test], list[Skipped]]:
    """The runs on a pair for each box, and what was not tried."""
    tests: list[_Test] = []
    skipped: list[Skipped] = []
    if isinstance(pair, Canaries):
        skipped = [
            Skipped(CANARIES, "several coins at once are guessed from tables alone", box)
            for box in boxes
            if box != "black"
        ]
        if "black" in boxes:
            look, stream = Look(pair.base, code_array(pair.base)[:0], None), child(stream, 1)
            many = run_canaries(
                ready.generator,
                pair,
                look,
                runs=settings.runs,
                rows=ready.rows,
                seed=stream,
                working=working,
            )
            tests = [_Test("black", many)]
        return tests, skipped
    if "mechanism" in boxes:
        inside = run_mechanism(
            synthesiser, pair, runs=settings.runs, seed=child(stream, 2), working=working
        )
        if isinstance(inside, str):
            skipped.append(Skipped(pair.name, inside, "mechanism"))
        else:
            tests.append(_Test("mechanism", inside))
    if "white" in boxes and ready.no_model:
        skipped.append(Skipped(pair.name, ready.no_model, "white"))
    outside = [
        box
        for box in ("white", "black")
        if box in boxes and not (box == "white" and ready.no_model)
    ]
    if outside:
        seen = run_pair(
            ready.generator,
            pair,
            _look(ready, pair),
            runs=settings.runs,
            rows=ready.rows,
            seed=child(stream, 1),
            working=working,
        )
        tests += [_Test(box, seen) for box in outside]
    return tests, skipped


def _claim(synthesiser: Any, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    """The claimed epsilon and delta: what was said, or else what the synthesiser has as its budget."""
    budget = _budget(synthesiser)
    if epsilon is None:
        if budget is None:
            raise InputError(
                "There is no claim to audit: the synthesiser states no epsilon. Pass the epsilon that is claimed."
            )
        epsilon = float(budget.epsilon)
    if delta is None and budget is not None:
        delta = budget.delta
    return check_epsilon(epsilon), 0.0 if delta is None or delta == 0 else check_delta(delta)


def _budget(synthesiser: Any) -> Any:
    """What a synthesiser may spend, if it says."""
    try:
        return getattr(synthesiser, "budget", None)
    except InputError:  # settings without a promise
        return None


def _unit(synthesiser: Any, neighbours: Neighbours | None, *, own_claim: bool) -> PrivacyUnit:
    """The relation of the claim; another than the synthesiser's own only for an epsilon that was said for it."""
    synthesiser_unit = getattr(synthesiser, "unit", None)
    if neighbours is None and synthesiser_unit is None:
        raise InputError(
            "Under which relation is epsilon claimed? Pass neighbours='add-remove' or 'replace-one': equal numbers under different "
            "relations are different claims."
        )
    if synthesiser_unit is None:
        assert neighbours is not None
        return PrivacyUnit(neighbours)
    if neighbours not in (None, synthesiser_unit.neighbours) and not own_claim:
        raise InputError(
            f"The synthesiser claims its epsilon for '{synthesiser_unit.description}', and another relation is asked for. Pass the epsilon that is claimed "
            "for that too."
        )
    return PrivacyUnit(
        synthesiser_unit.neighbours if neighbours is None else neighbours,
        synthesiser_unit.rows_per_person,
    )


def _boxes(box: Sequence[str], synthesiser: Any) -> tuple[str, ...]:
    names = tuple(
        name for name in BOXES if name in box and (name == "black" or hasattr(synthesiser, "fit"))
    )
    if not names:
        raise InputError("A function gives tables and no model to look into: use box='black'.")
    return names


def _pair(
    asked: str | Pair,
    unit: PrivacyUnit,
    table: Table | None,
    settings: AuditSettings,
    threads: int | None,
    seed: np.random.SeedSequence,
) -> Pair | Canaries | Skipped:
    if isinstance(asked, Pair):
        if asked.unit.neighbours != unit.neighbours:
            raise InputError(
                f"Pair '{asked.name}' is made for another relation than the claim: '{unit.description}'."
            )
        return asked
    if asked == "average":
        if table is None:
            raise InputError(
                "The pair 'average' is made from a table: pass table=..., or leave it out."
            )
        rng = np.random.default_rng(child(seed, 1 << 31))
        return average_pair(
            table,
            unit,
            rows=settings.average_rows,
            threads=threads,
            threshold=settings.threshold,
            rng=rng,
        )
    return made_canaries(unit) if asked == CANARIES else made_pair(asked, unit)


@dataclass(frozen=True, eq=False)
class _Ready:
    """A generator that was tried once on each table: how many rows to look at, and what network it learnt, if any."""

    generator: Watched
    rows: int
    network: Network | None
    no_model: str


def _ready(
    synthesiser: Any,
    pair: Pair | Canaries,
    settings: AuditSettings,
    seed: np.random.SeedSequence,
) -> _Ready | Skipped:
    """Try both tables once. A synthesiser that refuses both cannot be audited; one that refuses one of them can."""
    generator = Watched(synthesiser, pair.base)
    wanted = max(ROWS, len(pair.rows_with)) if settings.rows is None else settings.rows
    tried = []
    for i, taken in enumerate(pair.draws):
        try:
            with within(settings.time_limit):
                release = generator.release(
                    pair.base.take(taken), tables=1, rows=wanted, seed=child(seed, (1 << 30) + i)
                )
        except OutOfTime:
            raise InputError(
                f"A first run on pair '{pair.name}' took longer than the limit of {settings.time_limit:g} s. Raise it."
            ) from None
        tried.append(release.model)
    if pair.name == "empty" and tried[0].error and not tried[1].error:
        return Skipped(
            "empty",
            "the synthesiser refuses a table without rows; under add-remove that too is an answer that one record changes",
        )
    if all(answer.error for answer in tried):
        _raise_refusal(synthesiser, pair, wanted)
    model = next((answer.model for answer in tried if readable(answer.model, pair.base)), None)
    no_model = (
        ""
        if model is not None
        else "the model is of a kind, or has codes, that cannot be looked into"
    )
    if not generator.models:
        # What a function returns is looked at as a whole, with room for more than was seen once.
        wanted = max(2 * max(answer.n_rows for answer in tried), 16)
    return _Ready(generator, wanted, None if model is None else model.network, no_model)


def _raise_refusal(synthesiser: Any, pair: Pair | Canaries, rows: int) -> None:
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
    raise InputError(
        f"The synthesiser failed on both tables of pair '{pair.name}'. Try it on such a table first."
    )


def _look(ready: _Ready, pair: Pair) -> Look:
    """All records of a small domain are looked at, the target first; in a user's table the target alone."""
    others = [i for i in range(pair.base.n_rows) if i != pair.target_row]
    chosen = [pair.target_row, *(others if pair.base.n_rows <= MOST_RECORDS else ())]
    return Look(pair.base, code_array(pair.base)[chosen], ready.network)


def _finding(
    test: _Test,
    claimed: tuple[float, float],
    budget: Any,
    level: float,
    seed: np.random.SeedSequence,
    threads: int | None,
) -> Finding:
    """What the runs of a test prove, and which violation they would have shown."""
    seen = test.seen
    claim = Claim("epsilon", claimed[0], *claimed)
    scores: Scores
    power_of: Powers
    if isinstance(seen, MechanismRuns):
        claim = claim_of(*claimed, accounting=getattr(budget, "kind", "pure"), sigma=seen.sigma)
        name, guessed = attack_mechanism(seen, claim, level=level)
        scores, power_of = (
            recorded_scores(seen.examples, child(seed, 0)),
            exact_power(claim, guessed.runs, level=level),
        )
    elif isinstance(seen, CanaryRuns):
        name, guessed, apart = attack_canaries(seen, claim, level=level, seed=seed, threads=threads)
        scores = normal_scores(apart, child(seed, 1 << 30))
        power_of = guessed_power(claim, guessed.runs * seen.member.shape[1], level=level)
    else:
        features = seen.cells if test.box == "white" else _outside(seen, threads)
        verdicts = attack(features, seen.member, claim, level=level, seed=seed)
        name, guessed, scores = (
            verdicts.attacker,
            verdicts.guessed,
            normal_scores(verdicts.apart, child(seed, 1 << 30)),
        )
        power_of = guessed_power(claim, guessed.runs, level=level)
    factor = _factor(claim, guessed, scores, power_of, budget)
    return Finding(
        attacker=name,
        scope=(seen.pair.name, test.box),
        quantity=claim.measure,
        value=guessed.bound,
        claim=claim.amount,
        lower_bound=guessed.bound - claim.amount,
        detectable=None if factor is None else factor * claim.amount,
        n_people=None,
        trials=Trials(
            runs=len(seen.member), judged=guessed.runs, guesses=guessed.guesses, right=guessed.right
        ),
    )


def _factor(
    claim: Claim, guessed: Guessed, scores: Scores, power_of: Powers, budget: Any
) -> float | None:
    """How many times the claimed epsilon the true one must be to be found with a probability of 80 %; None where even far more is not.

    None too where the claim is refuted: then a violation has been found.
    """
    if guessed.bound > claim.amount:
        return None
    times = times_too_small(scores, power_of)
    if times is None:
        return None
    # Noise is compared with what it is, which need not be what the claim needs.
    accountant = (
        claim
        if budget is None
        else replace(claim, epsilon=float(budget.epsilon), delta=float(budget.delta or 0.0))
    )
    return max(accountant.epsilon_at(times) / claim.epsilon, 1.0)


def _outside(seen: PairRuns, threads: int | None) -> NDArray[np.float32]:
    """What is seen of runs by an outsider: what they did, and counts of their tables."""
    target = code_array(seen.pair.base)[seen.pair.target_row]
    around = table_features(seen.tables, target, seen.pair.base.schema.sizes, threads=threads)
    return np.concatenate([seen.cells[:, : len(OUTSIDE)], around], axis=1)
