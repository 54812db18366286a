"""What a synthetic table gives away about sensitive columns: every attack beside its references: `chaffinch.risk`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._base.errors import InputError, join_names
from .._base.masking import masked_count
from .._base.options import takes
from .._base.results import RunFacts
from .._base.runtime import Progress, giving_back, silent
from .._base.seeds import Seed, child, generator, seed_sequence
from ..stats.excess import ONE_SYNTHESIS
from ..stats.sampled import SampledRecords
from ..synth import load_model
from ..table.holdout import (
    check_aligned,
    check_holdout_file,
    check_holdout_share,
    check_set_aside,
    set_aside,
    set_aside_note,
)
from ..table.persons import one_row_each
from ..table.rows import Rows, as_rows, open_rows
from ..table.sources import open_source
from ..table.table import Table
from ..table.weights import without_weight
from .attribution.attack_data import AttackData, align_sides, data_of_rows
from .attribution.attempt import AttackSpec
from .attribution.exposure import equal_rows, exposed_records, funnel, match_people, spread
from .attribution.matching import Match, match_counts
from .finding import Finding, coarse_sentence, column_findings, record_findings
from .policy import RiskPolicy
from .result import AttackedTable, RiskAbout, RiskResult
from .run import RiskStudy
from .settings import RiskSettings
from .together import MODEL_TIMES, MultiReleaseResult, pool_of, together

if TYPE_CHECKING:
    from ..keywords import RiskOptions

WHOLE_RECORDS = (
    "Someone knows the whole record of a person and wants to know whether it is in the data."
)
"""The scenario of memorisation tests."""


THIN = "It holds fewer synthetic rows near a person than the whole table: what looks for near rows finds less in it."
LUMPY = "Rows are alike so often that no slice of rows is a fair share of them: tests of whole rows look at a part of the synthetic table, and may miss copies."
"""What is said of samples: that they are thin, and where copies of people in them may be left out."""

ONE_ROW_EACH = "People have several rows: of each person one row, drawn at random, was attacked."
"""What is said where rows of one person are not independent."""


@takes(RiskSettings)
def risk(
    original: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    settings: RiskSettings | None = None,
    model: Any = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Unpack[RiskOptions],
) -> RiskResult:
    """Return what a synthetic table gives away about sensitive columns to someone who knows the keys.

    The adversary knows the key columns of a person exactly, and that the person is in the population; whether being in the
    original data makes a difference is what the excess over the holdout says. Beside these attacks, memorisation tests compare whole
    rows, rare values and distances of the original's people and of the holdout's with the released table: without keys and sensitive
    columns they are run alone.

    Parameters
    ----------
    original, synthetic, holdout
        Tables, paths or frames; `synthetic` may be a list of them, or a mapping of names to them: several releases of the same people,
        such as copies or successive versions. Figures are means over them, and `together` says what all of them add. A holdout holds people of the same
        population who are not in the original. Without it there is no excess: the other figures say how much the table tells about
        anybody, not whether it tells more about its own people. Where the original is a scan (`chaffinch.scan`) all are read part by part, in
        bounded memory: CAP, DCAP, DiSCO and TCAP are of all records, other attacks and tests of a sample, and the result says which are which.
    model
        A model of the same people that is released too, or its file: tables are drawn from it and attacked together with the others.
    settings
        What is attacked, and how; or its options one by one, see `RiskSettings`. `holdout_share` is the share of people of the original who were set aside
        before the synthetic table was made of the others: by `release` with the same share and seed (no seed is seed 0). They are the holdout, the others
        the original. With `max_excess` or `policy` `result.limit` says what all attacks together say of the limit.

    Raises
    ------
    InputError
        If columns do not exist or differ, a setting breaks a rule, or the holdout has people of the original.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = pa.table({"age": [1, 2, 3, 4] * 25, "sex": ["f", "m"] * 50, "ill": ["no", "yes", "no", "no"] * 25})
    >>> result = chaffinch.risk(table, table, keys=["age", "sex"], sensitive=["ill"], attackers=["dcap", "gcap"], seed=1)
    >>> result.findings[0].value, result.findings[0].guess, result.findings[0].excess is None
    (1.0, 0.625, True)
    """
    settings = RiskSettings.chosen(settings, options)
    share = settings.holdout_share
    check_holdout_share(share, holdout)
    policy = RiskPolicy.read(settings.limits, holdout=holdout is not None or share is not None)
    result = measure_risk(
        original,
        synthetic,
        holdout,
        settings,
        holdout_share=share,
        model=model,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    return policy.classify(result, {})


def measure_risk(
    original: Any,
    synthetic: Any,
    holdout: Any,
    settings: RiskSettings,
    *,
    holdout_share: float | None = None,
    holdout_checked: bool = False,
    model: Any = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> RiskResult:
    """Return what a synthetic table gives away under some settings.

    `holdout_share`: the share of people to set aside as a holdout, or who were, where a holdout is given too. `holdout_checked`: that it is one was checked before.

    0. Check that the holdout is one.
    1. Bring the tables onto one grid, and draw the sources that attacks are held against.
    2. Ask every question from every source.
    3. Resample people for intervals and p-values.
    4. Attack several releases together.
    5. Say who is exposed.
    """
    names, several = _releases(synthetic)
    if not several:
        raise InputError("Name at least one synthetic table.")
    check_holdout_file(original, holdout)
    shared = holdout_share is not None
    if holdout_share is not None and holdout is None:
        original, holdout = _set_aside(original, holdout_share, seed)
    root = seed_sequence(seed)
    source = open_rows(original, rare=settings.rare)
    settings.check(source.schema)
    if source.in_memory:
        source = without_weight(source.table())
    else:
        _check_engine(source, several, model)
        progress = giving_back(progress)
    drawn = None if model is None else _draw_large_table(model, source.n_persons, child(root, 7))
    progress("reading tables", -1)
    rows = align_sides(source, several, holdout, model=drawn)
    remarks = () if holdout_share is None else (set_aside_note(holdout_share),)
    if holdout is not None:
        if not holdout_checked:
            progress("comparing the holdout with the input", -1)
            checked = rows["original"], rows["holdout"], source, holdout
            remarks = (*remarks, *check_aligned(*checked, set_aside=shared))
        for name in rows if shared else ():
            if name.startswith("synthetic"):
                check_set_aside(rows[name], rows["holdout"], name.replace("-", " "))
    rows |= people_of(rows, child(root, 10))
    questions = settings.questions(child(root, 0), has_holdout=holdout is not None)
    data, sample = data_of_rows(rows, settings, root, progress=progress)
    run = _run_attacks(data, questions, settings, root, threads, progress)
    findings, family = run.finished(settings.threshold)
    n_releases = len(several) + (drawn is not None)
    joint = (
        _together(data, questions, settings, root, run, threads, progress)
        if n_releases > 1
        else None
    )
    if sample is not None:
        findings = tuple(
            replace(finding, records=finding.records or "sample") for finding in findings
        )
        sample = _saying(sample, findings, joint)
    sizes = [side_rows.n_rows for side_rows in rows.values()]
    about = about_risk(
        settings,
        questions,
        seed,
        original=sizes[0],
        synthetic=sizes[1 : 1 + len(several)],
        holdout=None if holdout is None else sizes[-1],
        n_releases=n_releases,
        data=data,
        notes=(
            *(() if sample is None else sample.sentences),
            *remarks,
            *[ONE_SYNTHESIS] * (len(several) == 1),
            *[ONE_ROW_EACH] * (source.person_of is not None),
        ),
    )
    result = RiskResult(
        about=replace(about, sample=sample),
        findings=findings,
        family=family,
        together=joint,
        run=RunFacts(seconds=run.seconds),
        **_exposure(data, questions, settings, sample),
    )
    return result.named(original=None, synthetic=names) if names else result


def _set_aside(original: Any, share: float, seed: Seed) -> tuple[Any, Any]:
    """Return what is left of an original, and the people who are set aside."""
    rows = as_rows(original)
    if rows is not None and not rows.local:
        raise InputError(
            "People are set aside where files are read here: name a holdout, or pass --engine stream."
        )
    return set_aside(
        rows or open_source(original), share, seed=seed if isinstance(seed, int) else None
    )


def _check_engine(source: Rows, several: Sequence[Any], model: Any) -> None:
    """Raise where an attack takes all rows in memory, or on this machine."""
    if model is not None:
        raise InputError(
            "A model beside a release is attacked in memory: pass --engine memory, or attack the synthetic files alone."
        )
    if len(several) > 1 and not source.local:
        raise InputError(
            "Several releases are attacked together where their rows are read here: name one synthetic table, or copy the tables and pass --engine stream."
        )


def _run_attacks(
    data: AttackData,
    questions: Sequence[AttackSpec],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    threads: int | None,
    progress: Progress,
) -> RiskStudy:
    """Return a run that asked every question and ran every test."""
    run = RiskStudy(data, child(root, 3), settings.resamples, threads, progress)
    for number, question in enumerate(questions):
        progress("attacking", number / len(questions))
        run.attack(question, settings.label)
    run.test(settings)
    return run


def _together(
    data: AttackData,
    questions: Sequence[AttackSpec],
    settings: RiskSettings,
    root: np.random.SeedSequence,
    run: RiskStudy,
    threads: int | None,
    progress: Progress,
) -> MultiReleaseResult:
    """Return what several releases tell together."""
    progress("attacking releases together", 0.0)
    pool = pool_of(data, questions, settings, child(root, 8), alone=run.tried, threads=threads)
    return together(
        pool,
        child(root, 9),
        resamples=settings.resamples,
        threshold=settings.threshold,
        threads=threads,
    )


def _saying(
    sample: SampledRecords, findings: Sequence[Finding], joint: MultiReleaseResult | None
) -> SampledRecords:
    """Return a sample with sentences that say which figures are of all records, which of it, and what it may miss."""
    attacks, tests = column_findings(findings), record_findings(findings)
    from_all, sampled = (
        list(dict.fromkeys(attack.title for attack in attacks if attack.records == records))
        for records in ("all", "sample")
    )
    sampled += ["memorisation tests, equal rows"] if tests else []
    sampled += ["intervals, excesses and p-values"] if attacks else []
    sampled += ["what the releases tell together"] if joint is not None else []
    lumpy = LUMPY if sample.chosen_by == "place" and tests else ""
    return sample.with_notes(from_all, sampled, THIN, lumpy)


def people_of(rows: Mapping[str, Rows], seed: np.random.SeedSequence) -> dict[str, Rows]:
    """Return whom an attack is about, where people have several rows: one row of each person of original and holdout; nothing where they have one."""
    if rows["original"].person_of is None:
        return {}
    rng = generator(seed)
    present = [side for side in ("holdout", "original") if side in rows]
    return {side: one_row_each(rows[side].table(), rng) for side in present}


def _releases(synthetic: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Return the names of releases, none where they have none, and the releases."""
    if isinstance(synthetic, Mapping):
        return tuple(str(name) for name in synthetic), list(synthetic.values())
    return (), list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]


def _draw_large_table(model: Any, n_rows: int, seed: np.random.SeedSequence) -> Table:
    """Return a large table drawn from a model: what somebody has who was given the model."""
    fitted = load_model(model) if isinstance(model, str | os.PathLike) else model
    if not hasattr(fitted, "sample"):
        raise InputError(
            f"model must be a fitted model, or the path of its file. Got {type(model).__name__}."
        )
    table: Table = fitted.sample(MODEL_TIMES * n_rows, seed=seed)
    return table


def attacked_data(
    original: Table,
    synthetics: Sequence[Any],
    holdout: Any,
    settings: RiskSettings,
    root: np.random.SeedSequence,
    people: np.random.SeedSequence,
) -> AttackData:
    """Return the data of a study of tables in memory; `people`: the stream that draws one row of each person, where people have several."""
    rows = align_sides(without_weight(original), synthetics, holdout)
    return data_of_rows(rows | people_of(rows, people), settings, root)[0]


def about_risk(
    settings: RiskSettings,
    questions: Sequence[AttackSpec],
    seed: Seed,
    *,
    original: int,
    synthetic: Sequence[int],
    holdout: int | None,
    n_releases: int = 1,
    data: AttackData,
    notes: Sequence[str],
) -> RiskAbout:
    """Return what a study was about; `original`, `synthetic` and `holdout` are numbers of rows."""

    def table(n_rows: int) -> AttackedTable:
        return AttackedTable(masked_count(n_rows, settings.threshold))

    plan = settings.plan(
        n_key_sets=len(questions), n_releases=n_releases, has_holdout=holdout is not None
    )
    return RiskAbout(
        keys=tuple(settings.keys),
        sensitive=tuple(settings.sensitive),
        key_sizes=settings.key_sizes,
        key_sets=len({question.keys for question in questions}),
        label=settings.label,
        scenario=f"Someone knows {join_names(settings.keys)} of a person and wants {join_names(settings.sensitive)}."
        if settings.keys
        else WHOLE_RECORDS,
        comparison=tuple(_comparison(data, settings)),
        seed=seed if isinstance(seed, int) else None,
        settings=settings.to_dict(),
        original=table(original),
        synthetic=tuple(table(n_rows) for n_rows in synthetic),
        holdout=None if holdout is None else table(holdout),
        notes=tuple(notes),
        left_out=plan.left_out,
    )


def _comparison(data: AttackData, settings: RiskSettings) -> Iterator[str]:
    """Yield what to know about how values were compared."""
    attacked = [*settings.keys, *settings.sensitive]
    if coarse := data.coarse(attacked):
        yield coarse_sentence(coarse)
    if exact := data.rarely_released(attacked):
        yield (
            f"Numbers of {join_names(exact)} count as equal where they are equal to the last digit, and most people's are not among the "
            "released ones, where others may be near. Attack with a tolerance, or with bins, as well."
        )


def _exposure(
    data: AttackData,
    questions: Sequence[AttackSpec],
    settings: RiskSettings,
    sample: SampledRecords | None,
) -> dict[str, Any]:
    """Return who is exposed by the largest key set of each sensitive column: what may leave, and what may not."""
    threshold = settings.threshold
    widest = {
        q.sensitive: max((p.keys for p in questions if p.sensitive == q.sensitive), key=len)
        for q in questions
    }
    matches = {s: match_people(data, data.synthetics[0], keys, s) for s, keys in widest.items()}
    parts = [spread(matches[s], s, threshold) for s in widest]
    secrets: dict[str, Any] = {
        "attacks": [
            exposed_records(data, _in_memory(data, matches[s], keys, s), keys, s)
            for s, keys in widest.items()
        ]
    }
    if sample is not None:
        secrets = {"records": "a sample: rows are numbered within it", **secrets}
    # Copies are not in a sample by place where the people are.
    equal = sample is None or sample.all_records or sample.chosen_by == "values"
    return {
        "funnel": tuple(funnel(matches[s], keys, s, threshold) for s, keys in widest.items()),
        "records": tuple(records for records, _ in parts),
        "classes": tuple(classes for _, classes in parts),
        "memorisation": equal_rows(
            data.coded, data.synthetics[0], slices=sample is not None and not sample.all_records
        )
        if equal
        else None,
        "secrets": secrets,
    }


def _in_memory(data: AttackData, match_of_all: Match, keys: Sequence[str], sensitive: str) -> Match:
    """Return the match of the people in memory: the same, or those of the sample with all rows of the source, where the data are of files."""
    if data.all_counts is None:
        return match_of_all
    people, rows = (
        data.all_counts.counts_of([side], keys, sensitive)
        for side in ("original", data.synthetics[0])
    )
    return match_counts(
        people, rows, data.keys("original", keys), data.values("original", sensitive)
    )[1]
