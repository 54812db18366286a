"""Without a holdout, but with the generator at hand: fit it on half of the people and attack both halves, then the reverse.

Each person is once a member, attacked from the table of their own half, and once not, attacked from the other half's. What is
found is the excess of models of half the size, which see each person more closely than a model of all: a careful figure.

A file larger than memory is cross-fitted on a sample of its people, chosen by a keyed hash, who are the whole table of that study. Models of half of a sample are fitted to far fewer people than the released one. A record weighs the more in a model the fewer others there are,
so what these models give away about their own people is, as a rule, more than what the released one does: the excess is a careful figure. Its
interval is that of the sample's people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._base.errors import InputError
from .._base.masking import masked_count
from .._base.options import takes
from .._base.results import RunFacts
from .._base.runtime import Progress, giving_back, silent
from .._base.seeds import Seed, child, generator, seed_sequence
from ..stats.sampled import SampledRecords, hash_key
from ..synth.protocol import TableGenerator, promises_privacy
from ..table.rows import Rows
from ..table.sample import choose_people
from ..table.table import Table
from .attribution.attack_data import AttackData
from .attribution.attempt import AttackSpec
from .result import RiskResult
from .run import RiskStudy
from .settings import RiskSettings
from .study import ONE_ROW_EACH, about_risk, attacked_data
from .together import pool_of, together

if TYPE_CHECKING:
    from ..keywords import RiskOptions

HALF_SIZE = (
    "No holdout was given: the generator was fitted on each half of the people in turn, and the other half stood for people who are "
    "not in the data. The figures are for models of half the size."
)
"""What is said of figures that were found so."""


LEAST_ROWS = 4
"""Records that a cross-fit needs: two for each half."""


_SAMPLE = 12
"""The random stream that the sample is chosen by; attacks and halves have their own."""


CAREFUL = "A model of so few people keeps more of each of them, as a rule, than one of all: the excess is a careful figure, as wide as the sample makes it."


@takes(RiskSettings)
def cross_fit(
    original: Rows,
    generate: Any,
    settings: RiskSettings | None = None,
    *,
    person: str | None = None,
    copies: int = 1,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Unpack[RiskOptions],
) -> RiskResult:
    """Return what a generator gives away about the people it learns from, beyond what it tells about others.

    Parameters
    ----------
    generate
        A synthesiser (`fit(table, seed=...)` gives a model with `sample(n_rows, seed=...)`), or a function `(table, seed) -> table`.
    settings, options
        A `RiskSettings`, or its options by name.
    person
        The column that says whose row it is, where some have several and rows are not in memory: all rows of a person are then in the sample, or none.
    copies
        Tables that are released of one model: where there are several, `together` says what all of them add.
    """
    chosen = RiskSettings.chosen(settings, options)
    chosen.check(original.schema)
    maker = TableGenerator(generate)
    root = seed_sequence(seed)
    original, sample = _people(original, chosen, root, person, progress)
    if original.n_persons < LEAST_ROWS:
        raise InputError("Cross-fitting needs at least four records: two for each half.")
    questions = chosen.questions(child(root, 0))
    halves = halves_of(original, generator(child(root, 4)))
    folds = []
    for h, (half, other) in enumerate((halves, halves[::-1])):
        progress("fitting half of the people", h / 2)
        number = int(child(root, 5, h).generate_state(1)[0] % (1 << 31))
        folds.append(AttackedFold(half, maker.syntheses(half, number, number + 1, copies), other))
    joint = attack_folds(folds, questions, chosen, root, threads=threads, progress=progress)
    pools = []
    for h, fold in enumerate(folds) if copies > 1 else ():
        data = fold_data(fold, fold.tables, chosen, root, h)
        pools.append(pool_of(data, questions, chosen, child(root, 8, h), threads=threads))
    findings, family = joint.finished(chosen.threshold)
    n_rows = original.n_persons
    about = about_risk(
        chosen,
        questions,
        seed,
        original=n_rows,
        synthetic=[half.n_rows for half in halves],
        holdout=n_rows,
        n_releases=copies,
        data=joint.data,
        notes=[HALF_SIZE, *[ONE_ROW_EACH] * (original.person_of is not None)],
    )
    seconds = {} if promises_privacy(generate) else joint.seconds
    joint_findings = None
    if pools:
        both = pools[0].stacked(pools[1])
        joint_findings = together(
            both,
            child(root, 9),
            resamples=chosen.resamples,
            threshold=chosen.threshold,
            threads=threads,
        )
    return RiskResult(
        about=replace(about, sample=sample),
        findings=findings,
        family=family,
        together=joint_findings,
        run=RunFacts(seconds=seconds),
    )


def halves_of(original: Table, rng: np.random.Generator) -> list[Table]:
    """Return the rows of each half of the people."""
    parts = np.array_split(rng.permutation(original.n_persons), 2)
    if original.person_of is None:
        return [original.take(np.sort(chosen)) for chosen in parts]
    persons = np.unique(original.person_of, return_inverse=True)[1]
    return [original.take(np.flatnonzero(np.isin(persons, chosen))) for chosen in parts]


@dataclass(frozen=True, eq=False)
class AttackedFold:
    """Tables that were made of some people, these, and people they were not made of."""

    members: Table
    tables: Sequence[Any]
    others: Any


def fold_data(
    fold: AttackedFold,
    tables: Sequence[Any],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    number: int,
) -> AttackData:
    """Return the data of the attacks on tables of a fold: about one row of each person where people have several."""
    streams = child(root, 6, number), child(root, 10, number)
    return attacked_data(fold.members, tables, fold.others, settings, *streams)


def attack_folds(
    folds: Sequence[AttackedFold],
    questions: Sequence[AttackSpec],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> RiskStudy:
    """Return one run of the attacks and tests on the first table of each fold, the people of all folds together; two folds at most."""
    runs = []
    for number, fold in enumerate(folds):
        data = fold_data(fold, fold.tables[:1], settings, root, number)
        run = RiskStudy(data, child(root, 3), settings.resamples, threads, progress)
        for question in questions:
            run.attack(question, settings.label)
        run.test(settings)
        runs.append(run)
    joint, *more = runs
    for other in more:
        pairs = zip(joint.tried, other.tried, strict=True)
        joint.tried = [first.stacked(second) for first, second in pairs]
    return joint


def _people(
    original: Rows,
    settings: RiskSettings,
    root: np.random.SeedSequence,
    person: str | None,
    progress: Progress,
) -> tuple[Table, SampledRecords | None]:
    """Return the people of a cross-fit: all of a table in memory, else a sample of about `settings.sample_rows` records, and what that is."""
    if original.in_memory:
        return original.table(), None
    giving_back(progress)("choosing a sample", -1)
    key = hash_key(child(root, _SAMPLE))
    people = choose_people(original, settings.sample_rows, key=key, person=person)
    chosen, total = (masked_count(n, settings.threshold) for n in (people.n_rows, original.n_rows))
    is_whole = people.n_rows == original.n_rows
    sample = SampledRecords(
        "place" if person is None else "person", is_whole, chosen, of_original=total
    )
    if not is_whole:
        sample = sample.with_notes((), ("models of halves of the people",), CAREFUL)
    return people, sample
