"""From a table to its frontier: read, part, search, choose, confirm, explain: `chaffinch.frontier`.

What was evaluated is in a plain file: a search that was stopped goes on from it, and a folder of another search is refused. The file also holds how often the people who were set aside were looked at: another limit, or a longer search, does not make them unseen again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from ... import __version__
from ..._base.errors import InputError
from ..._base.files import check_folder, check_free, holding, read_small, write_json
from ..._base.options import takes
from ..._base.results import RunFacts, check_format, from_plain, to_plain
from ..._base.runtime import Progress, one_blas_thread, thread_map
from ..._base.seeds import child
from ...report.frontier_result import (
    CandidateSettings,
    Confirmation,
    Evaluation,
    FrontierAbout,
    FrontierChoice,
    FrontierResult,
    SettingChange,
)
from ...synth import BayesNet, Settings
from ...table import Table
from ...table.holdout import check_holdout, check_holdout_file
from ...table.settings import Reading
from ..release import CONFIDENTIAL, PARTS, TO_RELEASE
from ..run import RunOptions, start_run
from ..settings import SynthesisSettings
from ..synthesise import Synthesis
from .choice import Confirmer, changes_of, choice_sentence, public_candidate
from .evaluate import FrontierStudy, parted
from .search import BATCH, next_candidates
from .settings import FrontierSettings

if TYPE_CHECKING:
    from ...keywords import FrontierOptions

QUICK_SEARCH = 24
"""Settings that are tried where neither a budget nor a number is given."""

STOPPED = "Stopped by hand"


@takes(FrontierSettings)
def frontier(
    data: Any,
    *,
    holdout: Any = None,
    folder: str | os.PathLike[str] | None = None,
    settings: FrontierSettings | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[FrontierOptions],
) -> FrontierResult:
    """Return settings by what they give away and what they are worth; `best(max_excess=...)` of it chooses, and confirms on other people.

    Parameters
    ----------
    data, holdout
        Tables, paths or frames. People are parted: the search looks at one part, the choice is confirmed on the other. A holdout, people who are not in the
        data, is parted alike; without one each part is halved, and the people of one half stand for others to a table that is made of the other.
    folder
        Where evaluations are kept while it runs; a search that was stopped goes on there.
    settings
        All options at once, in place of those below.

    Raises
    ------
    InputError
        If a column does not exist, there are too few people, or a setting breaks a rule.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, chaffinch
    >>> rng = np.random.default_rng(1)
    >>> age, ill = rng.integers(20, 60, 400), rng.choice(["no", "yes"], 400)
    >>> people = pa.table({"age": age, "sex": rng.choice(["f", "m"], 400), "ill": ill})
    >>> found = chaffinch.frontier(people, keys=["age", "sex"], sensitive=["ill"], tables=[["age", "sex"]], evaluations=2, attackers=["gcap"], seed=1)
    >>> len(found.evaluations), found.front()[0].worth[0].name
    (2, 'tables')
    """
    settings = FrontierSettings.chosen(settings, options)
    with start_run(seed=seed, threads=threads, progress=progress) as run:
        if folder is None:
            return run_frontier(data, settings, holdout=holdout, run=run).result
        Path(folder).mkdir(parents=True, exist_ok=True)
        with holding(Path(folder)):
            return run_frontier(
                data, settings, holdout=holdout, run=run, folder=Path(folder)
            ).result


def read_people(
    data: Any, holdout: Any, settings: FrontierSettings, run: RunOptions
) -> tuple[Table, Table | None]:
    """Return the table, and the holdout on its grid, which must be one. Under a promise the schema must declare the domain."""
    check_holdout_file(data, holdout)
    budgets = [epsilon for epsilon in settings.epsilons if epsilon is not None]
    maker = BayesNet(epsilon=max(budgets)) if budgets else BayesNet()
    rows = Synthesis(synthesis_settings(settings, maker, settings.reading), run).read(
        data, settings.check
    )
    if rows is None:
        raise InputError(
            "A frontier needs a schema that declares the whole domain where epsilons are named: nothing is discovered for it."
        )
    table = rows.table()
    if holdout is None:
        return table, None
    others, _ = check_holdout(table, holdout)
    return table, others.table()


def synthesis_settings(
    settings: FrontierSettings, synthesiser: Settings, reading: Reading
) -> SynthesisSettings:
    """Return what is learnt and drawn of the people of a frontier."""
    return SynthesisSettings(method=synthesiser, reading=reading, roles=settings.roles)


@dataclass(frozen=True, eq=False)
class FrontierRun:
    """A result, and the study behind it, with which the choice can be released."""

    result: FrontierResult
    study: FrontierStudy
    seed: int
    resumed: int = 0


def run_frontier(
    data: Any,
    settings: FrontierSettings,
    *,
    holdout: Any = None,
    run: RunOptions,
    folder: Path | None = None,
) -> FrontierRun:
    """Return a frontier under some settings; with a folder, evaluations are kept there as they come.

    1. Read, and part the people.
    2. Measure the references.
    3. Try settings until the time or the number is used up, or a hand stops it.
    4. Choose, and confirm on people the search never saw.
    5. Say which setting moved what.
    """
    start = time.perf_counter()
    run.progress("reading", -1)
    table, others = read_people(data, holdout, settings, run)
    path = None if folder is None else folder / CONFIDENTIAL / EVALUATIONS
    kept = EvaluationFile(path, inputs_of(table, others, settings), run.seed)
    kept.seed = secrets.randbits(31) if kept.seed is None else kept.seed
    root = np.random.SeedSequence(kept.seed)
    search, confirmation = parted(
        table, others, settings.confirm_share, np.random.default_rng(child(root, 9))
    )
    study = FrontierStudy(
        table=table,
        holdout=others,
        search=search,
        confirmation=confirmation,
        settings=settings,
        root=root,
        threads=run.threads,
    )
    run.progress("measuring references", -1)
    references = tuple(one.evaluation for one in study.references())
    stopped = _searched(study, kept, run, start)
    confirmer = Confirmer(study, run.progress, kept.looks, kept.write)
    choice: FrontierChoice | None = None
    changes: tuple[SettingChange, ...] = ()
    if not stopped.startswith(STOPPED):
        choice = _choice(study, confirmer, kept)
        changes = (
            changes_of(study, kept.evaluations, choice, run.progress)
            if choice is not None and settings.explain
            else ()
        )
    detectable = next(
        (one.risk.detectable for one in kept.evaluations if one.risk.detectable is not None), None
    )
    about = FrontierAbout(
        keys=tuple(settings.keys),
        sensitive=tuple(settings.sensitive),
        label=settings.label,
        formula=settings.formula,
        tables=settings.tables,
        epsilons=settings.epsilons,
        people={
            "all": table.n_persons,
            "search": search.people,
            "confirmation": confirmation.people,
        },
        holdout=others is not None,
        seed=kept.seed,
        attackers=tuple(settings.attackers or ()),
        resamples=settings.resamples,
        notes=study.notes(detectable),
        stopped=stopped,
    )
    seconds = {} if settings.private else {"all": time.perf_counter() - start}
    result = FrontierResult(
        about=about,
        evaluations=tuple(kept.evaluations),
        references=references,
        worths=settings.worths,
        limits=settings.limits,
        choice=choice,
        changes=changes,
        run=replace(RunFacts(seconds=seconds), **run.facts),
        confirm=None if settings.private else confirmer,
    )
    return FrontierRun(result, study, kept.seed, kept.resumed)


def _searched(study: FrontierStudy, kept: EvaluationFile, run: RunOptions, start: float) -> str:
    """Try settings until the search is over, and return why it is."""
    settings, limits = study.settings, study.settings.limits
    most = (
        settings.evaluations
        if settings.evaluations is not None or settings.budget is not None
        else QUICK_SEARCH
    )
    end = None if settings.budget is None else start + settings.budget
    try:
        while True:
            if most is not None and len(kept.evaluations) >= most:
                return f"{most:,} settings were asked for."
            if end is not None and time.perf_counter() >= end and kept.evaluations:
                return f"The budget of {settings.budget:,.0f} s was used up."
            room = BATCH if most is None else min(BATCH, most - len(kept.evaluations))
            batch = next_candidates(study.space, kept.evaluations, limits, settings.worths[0], room)
            if not batch:
                return "Everything that is one step from settings that matter was tried."
            share = (
                len(kept.evaluations) / most
                if most is not None
                else min(1.0, (time.perf_counter() - start) / (settings.budget or 1.0))
            )
            run.progress(f"trying settings ({len(kept.evaluations)} done)", share)
            _evaluated(study, kept, batch, run.threads)
    except KeyboardInterrupt:
        kept.write()
        return f"{STOPPED}: {len(kept.evaluations):,} settings are kept. Run the same command again to go on."


def _evaluated(
    study: FrontierStudy,
    kept: EvaluationFile,
    batch: Sequence[CandidateSettings],
    threads: int | None,
) -> None:
    """Evaluate some candidates and keep them, those that are done also where a hand stops the others; in the order of the batch."""
    done: dict[int, Evaluation] = {}
    before, lock = list(kept.evaluations), threading.Lock()

    def one(number: int) -> None:
        evaluation = study.evaluate(batch[number]).evaluation
        with lock:
            done[number] = evaluation
            kept.evaluations = [*before, *(done[place] for place in sorted(done))]

    with one_blas_thread():
        thread_map(one, range(len(batch)), threads=threads)
    kept.write()


def _choice(
    study: FrontierStudy, confirmer: Confirmer, kept: EvaluationFile
) -> FrontierChoice | None:
    """Choose where a limit asks for it, by the rule that is allowed."""
    settings = study.settings
    worth = settings.worths[0]
    if settings.choose == "none" or not (settings.limits or settings.choose):
        return None
    if settings.choose == "private":
        return FrontierChoice(
            rule="private",
            limits=settings.limits,
            worth=worth,
            sentence="The choice is made, and charged, when the release is fitted.",
        )
    if settings.choose == "public":
        chosen = public_candidate(settings.epsilons)
        known = (
            next((one for one in kept.evaluations if one.candidate == chosen), None)
            or study.evaluate(chosen).evaluation
        )
        confirmation = confirmer.confirm(chosen, settings.limits)
        choice = FrontierChoice(
            rule="public",
            limits=settings.limits,
            worth=worth,
            evaluation=known,
            confirmations=(confirmation,),
        )
        return replace(choice, sentence=choice_sentence(choice))
    if settings.limits.max_auc is not None:
        kept.replace(confirmer.with_aucs(kept.evaluations, settings.limits, worth))
    return confirmer(kept.evaluations, settings.limits, worth)


EVALUATIONS = "evaluations.json"
"""The name of the file, in the folder that stays inside."""

FORMAT, VERSION = "chaffinch-frontier-evaluations", 1
MOST_BYTES = 256 << 20


def check_search_folder(folder: Path, *, paid: bool) -> None:
    """Raise unless a search may be written into a folder: a new or empty one, or its own, which it goes on in.

    A table that it released there is refused unless it may be overwritten, and always where a privacy budget is spent.
    """
    if not (folder / CONFIDENTIAL / EVALUATIONS).is_file():
        check_folder(folder, names=PARTS, mark=f"{CONFIDENTIAL}/{EVALUATIONS}")
    elif (released := folder / TO_RELEASE).is_dir() and any(released.iterdir()):
        check_free(released, paid=paid)


def inputs_of(table: Table, holdout: Table | None, settings: FrontierSettings) -> dict[str, Any]:
    """Return what figures depend on: digests of the tables, the settings, and the version."""
    return {
        "original": _digest(table),
        "holdout": None if holdout is None else _digest(holdout),
        "settings": settings.to_dict(),
        "chaffinch": __version__,
    }


def _digest(table: Table) -> str:
    """The digest of a table's values, its names and its types, however its rows lie in memory."""
    said = hashlib.sha256()
    sink = pa.BufferOutputStream()
    data = table.data.combine_chunks().replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data, max_chunksize=1 << 16)
    said.update(sink.getvalue())
    return said.hexdigest()


class EvaluationFile:
    """The file of evaluations of one search, or none where there is no folder: then nothing is written."""

    def __init__(self, path: Path | None, inputs: Mapping[str, Any], seed: int | None) -> None:
        self.path, self.inputs, self.seed = path, inputs, seed
        self.evaluations: list[Evaluation] = []
        self.looks: dict[str, Confirmation] = {}
        self.resumed = 0
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        text = read_small(
            path, what="list of evaluations", max_bytes=MOST_BYTES, next_step="Name another folder."
        )
        try:
            data = json.loads(text)
        except json.JSONDecodeError:
            raise InputError(
                f"'{path}' is no list of evaluations: it is not JSON. Name another folder."
            ) from None
        check_format(data, FORMAT, VERSION, "Name another folder.")
        stored = data.get("inputs")
        if stored != dict(self.inputs):
            parts = [
                name
                for name in self.inputs
                if not isinstance(stored, Mapping) or stored.get(name) != self.inputs[name]
            ]
            raise InputError(
                f"The folder '{path.parent.parent}' holds a search of another {' and '.join(parts)}. Name another folder, or the same data and options."
            )
        seed = data.get("seed")
        if self.seed is not None and seed != self.seed:
            raise InputError(
                f"The folder '{path.parent.parent}' holds a search with seed {seed}. Got seed {self.seed}: leave it out, or name another folder."
            )
        self.seed = seed
        self.evaluations = list(
            from_plain(
                tuple[Evaluation, ...],
                data.get("evaluations") or (),
                what="the list of evaluations",
            )
        )
        looks = from_plain(
            tuple[Confirmation, ...], data.get("looks") or (), what="the list of evaluations"
        )
        self.looks = {look.evaluation.candidate.key: look for look in looks}
        self.resumed = len(self.evaluations)

    def replace(self, evaluations: Sequence[Evaluation]) -> None:
        """Keep these evaluations in the place of all."""
        self.evaluations = list(evaluations)
        self.write()

    def write(self) -> None:
        """Write what is known, wholly or not at all."""
        if self.path is None:
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {
            "confidential": True,
            "format": FORMAT,
            "version": VERSION,
            "inputs": dict(self.inputs),
            "seed": self.seed,
            "evaluations": to_plain(self.evaluations),
            "looks": to_plain(list(self.looks.values())),
        }
        write_json(self.path, data, indent=1, mode=0o600, overwrite=True)
