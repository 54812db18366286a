"""From a table to its frontier: read, part, search, choose, confirm, explain: `chaffinch.frontier`.

What was evaluated is in a plain file: a search that was stopped goes on from it, and a folder of another search is refused. The file also holds how often the people who were set aside were looked at: another limit, or a longer search, does not make them unseen again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
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
from ..run import CONFIDENTIAL, FOLDERS, TO_RELEASE, RunOptions, Stopwatch, start_run
from ..settings import SynthesisSettings
from ..synthesise import Synthesis
from .choice import Confirmer, changes_of, choice_sentence, public_candidate
from .evaluate import FrontierStudy, divide_people
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
    clock = Stopwatch()
    run.progress("reading", -1)
    study, stored = _open_study(data, settings, holdout, run, folder)
    run.progress("measuring references", -1)
    references = tuple(measured.evaluation for measured in study.references())
    stopped = _search(study, stored, run, clock)
    confirmer = Confirmer(study, run.progress, stored.looks, stored.write)
    choice: FrontierChoice | None = None
    changes: tuple[SettingChange, ...] = ()
    if not stopped.startswith(STOPPED):
        choice = _choose(study, confirmer, stored)
        if choice is not None and settings.explain:
            changes = changes_of(study, stored.evaluations, choice, run.progress)
    seconds = {} if settings.private else {"all": clock.elapsed}
    result = FrontierResult(
        about=_about(study, stored, stopped),
        evaluations=tuple(stored.evaluations),
        references=references,
        worths=settings.worths,
        limits=settings.limits,
        choice=choice,
        changes=changes,
        run=replace(RunFacts(seconds=seconds), **run.facts),
        confirm=None if settings.private else confirmer,
    )
    assert stored.seed is not None
    return FrontierRun(result, study, stored.seed, stored.resumed)


def _open_study(
    data: Any, settings: FrontierSettings, holdout: Any, run: RunOptions, folder: Path | None
) -> tuple[FrontierStudy, EvaluationFile]:
    """Read the people and divide them; return what measures candidates on them, and the file of evaluations so far."""
    table, others = read_people(data, holdout, settings, run)
    path = None if folder is None else folder / CONFIDENTIAL / EVALUATIONS
    stored = EvaluationFile(path, inputs_of(table, others, settings), run.seed)
    stored.seed = secrets.randbits(31) if stored.seed is None else stored.seed
    root = np.random.SeedSequence(stored.seed)
    rng = np.random.default_rng(child(root, 9))
    search, confirmation = divide_people(table, others, settings.confirm_share, rng)
    study = FrontierStudy(
        table=table,
        holdout=others,
        search=search,
        confirmation=confirmation,
        settings=settings,
        root=root,
        threads=run.threads,
    )
    return study, stored


def _about(study: FrontierStudy, stored: EvaluationFile, stopped: str) -> FrontierAbout:
    """Return what was searched, of whom, and why the search ended."""
    settings = study.settings
    risks = [evaluation.risk for evaluation in stored.evaluations]
    detectable = next((risk.detectable for risk in risks if risk.detectable is not None), None)
    return FrontierAbout(
        keys=tuple(settings.keys),
        sensitive=tuple(settings.sensitive),
        label=settings.label,
        formula=settings.formula,
        tables=settings.tables,
        epsilons=settings.epsilons,
        people={
            "all": study.table.n_persons,
            "search": study.search.people,
            "confirmation": study.confirmation.people,
        },
        holdout=study.holdout is not None,
        seed=stored.seed,
        attackers=tuple(settings.attackers or ()),
        resamples=settings.resamples,
        notes=study.notes(detectable),
        stopped=stopped,
    )


def _search(study: FrontierStudy, stored: EvaluationFile, run: RunOptions, clock: Stopwatch) -> str:
    """Try settings until the search is over, and return why it is."""
    settings, budget = study.settings, study.settings.budget
    is_limited = settings.evaluations is not None or budget is not None
    max_evaluations = settings.evaluations if is_limited else QUICK_SEARCH
    try:
        while True:
            n_done, share = len(stored.evaluations), 0.0
            if max_evaluations is not None and n_done >= max_evaluations:
                return f"{max_evaluations:,} settings were asked for."
            if budget is not None and clock.elapsed >= budget and n_done:
                return f"The budget of {budget:,.0f} s was used up."
            if max_evaluations is not None:
                share, size = n_done / max_evaluations, min(BATCH, max_evaluations - n_done)
            else:
                share, size = min(1.0, clock.elapsed / (budget or 1.0)), BATCH
            batch = next_candidates(
                study.space, stored.evaluations, settings.limits, settings.worths[0], size
            )
            if not batch:
                return "Everything that is one step from settings that matter was tried."
            run.progress(f"trying settings ({n_done} done)", share)
            _evaluate(study, stored, batch, run.threads)
    except KeyboardInterrupt:
        stored.write()
        return f"{STOPPED}: {len(stored.evaluations):,} settings are kept. Run the same command again to go on."


def _evaluate(
    study: FrontierStudy,
    stored: EvaluationFile,
    batch: Sequence[CandidateSettings],
    threads: int | None,
) -> None:
    """Evaluate some candidates and keep them, those that are done also where a hand stops the others; in the order of the batch."""
    done: dict[int, Evaluation] = {}
    before, lock = list(stored.evaluations), threading.Lock()

    def evaluate(number: int) -> None:
        evaluation = study.evaluate(batch[number]).evaluation
        with lock:
            done[number] = evaluation
            stored.evaluations = [*before, *(done[index] for index in sorted(done))]

    with one_blas_thread():
        thread_map(evaluate, range(len(batch)), threads=threads)
    stored.write()


def _choose(
    study: FrontierStudy, confirmer: Confirmer, stored: EvaluationFile
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
            next((tried for tried in stored.evaluations if tried.candidate == chosen), None)
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
        stored.replace(confirmer.with_aucs(stored.evaluations, settings.limits, worth))
    return confirmer(stored.evaluations, settings.limits, worth)


EVALUATIONS = "evaluations.json"
"""The name of the file, in the folder that stays inside."""

FORMAT, VERSION = "chaffinch-frontier-evaluations", 1
MOST_BYTES = 256 << 20


def check_search_folder(folder: Path, *, paid: bool) -> None:
    """Raise unless a search may be written into a folder: a new or empty one, or its own, which it goes on in.

    A table that it released there is refused unless it may be overwritten, and always where a privacy budget is spent.
    """
    if not (folder / CONFIDENTIAL / EVALUATIONS).is_file():
        check_folder(folder, names=FOLDERS, mark=f"{CONFIDENTIAL}/{EVALUATIONS}")
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
    digest = hashlib.sha256()
    sink = pa.BufferOutputStream()
    data = table.data.combine_chunks().replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data, max_chunksize=1 << 16)
    digest.update(sink.getvalue())
    return digest.hexdigest()


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
