"""`chaffinch.check`: may these outputs leave? From files, frames or tables to a result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.errors import InputError
from .._base.results import RunFacts
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..outputs.check import CheckResult, CheckSettings, check_recipes
from ..outputs.check.marginal import LEVEL
from ..outputs.check.printed import check_printed
from ..outputs.check.settings import CheckStart, LeaveOneOut
from ..outputs.document import Outputs
from ..outputs.evolve import EngineName
from ..outputs.mitigate import find_mitigations
from ..outputs.records import TableCoder
from ..outputs.rules import Policy
from ..table import FileOptions, Schema, Table, read
from .check_delivery import CheckDelivery
from .check_request import AnyPath, CheckRequest

if TYPE_CHECKING:
    from ..outputs.domain import Codes


@dataclass(frozen=True)
class DataSource:
    """The records: a path, frame or `Table`, with what `chaffinch.read` takes beside it."""

    data: Any
    schema: Schema | AnyPath | None = None
    file: FileOptions = field(default_factory=FileOptions)

    @property
    def path(self) -> Path | None:
        """Where the records are, if they came as a file."""
        return Path(self.data) if isinstance(self.data, str | os.PathLike) else None

    def table(self, progress: Progress = silent, *, threshold: int) -> Table:
        """Return the records with all their levels."""
        if isinstance(self.data, Table):
            return self.data
        return read(
            self.data, self.schema, rare="keep", threshold=threshold, progress=progress, **self.file
        )


def check(
    outputs: AnyPath | Sequence[AnyPath] | Mapping[str, Any] | Outputs,
    data: Any = None,
    *,
    keys: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    rules_only: bool = False,
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    accept_ignored: bool = False,
    key_sizes: tuple[int, int] | None = None,
    released: AnyPath | Outputs | None = None,
    record: bool = False,
    policy: AnyPath | Policy | None = None,
    recipes: AnyPath | None = None,
    replace_readable: bool = False,
    syntheses: int = 50,
    holdout_share: float = 0.5,
    repeat_splits: int = 1,
    engine: EngineName = "incremental",
    start: CheckStart = "margins",
    seconds: float | None = None,
    proposals: int | None = None,
    tolerance: float | None = None,
    tau: float = 1.0,
    level: float = LEVEL,
    cumulative: bool = True,
    leave_one_out: LeaveOneOut = "excess",
    whole_runs: int = 10,
    fold_of_fold: bool = False,
    error_line: bool = False,
    threshold: int | None = None,
    acro_write_back: AnyPath | None = None,
    mitigate: bool = False,
    write: AnyPath | None = None,
    schema: Schema | AnyPath | None = None,
    seed: Seed = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> CheckResult:
    """Return what outputs give away about the people they come from, and what the rules of thumb say of them.

    Parameters
    ----------
    outputs
        A file of outputs, with or without numbers (TOML, or JSON with the same keys); the same as a mapping; a folder that ACRO made; output
        files of R, Stata, SPSS and spreadsheets, or a folder of them; or `Outputs`.
    data
        The records behind them: whatever `chaffinch.read` takes, or a `Table`; with `Outputs` also codes of their columns. Of output files the
        rules can be asked without.
    rules_only
        Whether to ask the rules alone, which takes no keys, no folds and a second or two.
    only, exclude
        Names of outputs (results, in an ACRO folder) to check; or not to check. The others take no part, and nothing is said of them.
    accept_ignored
        Whether outputs that outputs.toml ignores may leave without having been assessed. Default: they do not pass.
    released, record
        The file of outputs that the project has released already (or recipes of them), and whether to add these to it, if they pass.
    policy
        The rules, or a file of them; those of the ACRO folder, or the usual ones, if absent.
    recipes, replace_readable
        With an ACRO folder: a file of outputs, named as the results that cannot be read are; and whether they may also stand for results
        that can be read.
    acro_write_back
        A folder for a copy of the ACRO folder, with the result as one more output and comments.
    mitigate, write
        Whether to look for the least change to outputs that do not pass after which they do (`result.mitigation`; the check of the changed outputs
        is `result.mitigated`); and a new folder for the changed outputs, a document and CSV tables, which is written only if they pass.
    schema
        Of the data, as in `chaffinch.read`.
    keys, sensitive, key_sizes, syntheses, holdout_share, repeat_splits, engine, start, seconds, proposals, tolerance, tau, level
        See `CheckSettings`.
    cumulative, leave_one_out, whole_runs, fold_of_fold, error_line, threshold
        See `CheckSettings`.
    seed
        For all that is random.
    workers
        How many processes and threads work at once; results do not depend on it.
    progress
        Called with what is being done and the share done.

    Raises
    ------
    InputError
        If the outputs, the data or a setting break a rule.

    Examples
    --------
    >>> import chaffinch, pandas as pd
    >>> people = pd.DataFrame({"area": ["north", "south"] * 60, "ill": ["no", "no", "yes"] * 40})
    >>> table = {"name": "illness", "kind": "table", "by": ["area", "ill"]}
    >>> document = {"format": "chaffinch-outputs", "version": 1, "outputs": [table]}
    >>> [(one.output, one.kind, one.verdict) for one in chaffinch.check(document, people, rules_only=True).summary]
    [('illness', 'table', 'pass')]
    >>> chaffinch.check(document, people, keys=["area"], sensitive=["ill"], syntheses=2, whole_runs=0, seed=1, workers=1).rules.worst
    'pass'
    """
    settings = CheckSettings(
        keys=keys,
        sensitive=sensitive,
        rules_only=rules_only,
        key_sizes=key_sizes,
        syntheses=syntheses,
        holdout_share=holdout_share,
        repeat_splits=repeat_splits,
        engine=engine,
        start=start,
        seconds=seconds,
        proposals=proposals,
        tolerance=tolerance,
        tau=tau,
        level=level,
        cumulative=cumulative,
        leave_one_out=leave_one_out,
        whole_runs=whole_runs,
        fold_of_fold=fold_of_fold,
        error_line=error_line,
        threshold=threshold,
    )
    source = DataSource(data, schema)
    delivery = CheckDelivery(
        record=record,
        acro_write_back=None if acro_write_back is None else Path(acro_write_back),
        mitigate=mitigate,
        write=None if write is None else Path(write),
    )
    one = (
        outputs[0]
        if isinstance(outputs, Sequence) and not isinstance(outputs, str) and len(outputs) == 1
        else outputs
    )
    places = [
        Path(one) if isinstance(one, str | os.PathLike) else None
        for one in (one, released, data, policy, recipes)
    ]
    delivery.check(*places)
    request = CheckRequest.read(
        outputs,
        released=released,
        policy=policy,
        recipes=recipes,
        replace_readable=replace_readable,
        only=only,
        exclude=exclude,
        accept_ignored=accept_ignored,
        new=record,
    )
    return check_request(
        request, source, settings, delivery=delivery, seed=seed, workers=workers, progress=progress
    )[0]


def check_request(
    request: CheckRequest,
    source: DataSource,
    settings: CheckSettings,
    *,
    delivery: CheckDelivery | None = None,
    run: RunFacts | None = None,
    seed: Seed = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> tuple[CheckResult, tuple[str, ...]]:
    """Return the result of a check, and a line for each file that was written.

    1. Read the records.
    2. Complete the request with what they say.
    3. Check the outputs.
    4. Look for mitigations, if asked for.
    5. Write what was asked for.
    """
    delivery = delivery or CheckDelivery()
    if source.data is None:
        return _without_records(request, source, settings, delivery, run)
    data = _records(request, source, settings.least_shown(request.policy), progress)
    if isinstance(data, TableCoder):
        request = request.of_data(data, threshold=settings.least_shown(request.policy))
    delivery.check_request(request)
    if request.files is not None and not len(request.ready):
        return _without_records(request, source, replace(settings, rules_only=True), delivery, run)
    result = check_recipes(
        request.ready,
        data,
        settings,
        released=request.released_recipes,
        policy=request.policy,
        uncertain=request.uncertain,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    about = request.about(source.path.name if source.path is not None else None)
    rules = (
        result.rules
        if request.files is None
        else request.files.with_beside(result.rules, request.policy or Policy())
    )
    result = replace(result, about=about, rules=rules, run=run or RunFacts())
    if delivery.mitigate:
        plan, mitigated = find_mitigations(
            request.ready,
            data,
            settings,
            result,
            released=request.released_recipes,
            policy=request.policy,
            uncertain=request.uncertain,
            seed=seed,
            workers=workers,
            progress=progress,
        )
        result = replace(result, mitigation=plan, mitigated=mitigated)
    return delivery.deliver(result, request, data)


def _without_records(
    request: CheckRequest,
    source: DataSource,
    settings: CheckSettings,
    delivery: CheckDelivery,
    run: RunFacts | None,
) -> tuple[CheckResult, tuple[str, ...]]:
    """The result of a check of output files by their printed numbers alone."""
    if request.files is None:
        raise InputError(
            "The records behind the outputs are missing: --data FILE. Only output files of other programs can be looked at without."
        )
    if not settings.rules_only:
        raise InputError(
            "Without the records behind the outputs only the rules can be asked: add --rules-only, or name the records: --data FILE."
        )
    if delivery.mitigate:
        raise InputError(
            "--mitigate needs the records behind the outputs: --data FILE. Mitigated outputs are computed from them, and checked anew."
        )
    if delivery.record:
        raise InputError(
            "--record needs the records behind the outputs: --data FILE. What was not compared with them is not recorded as released."
        )
    delivery.check_request(request)
    released = request.released_recipes is not None or bool(
        request.released is not None and request.released.outputs
    )
    result = check_printed(
        request.files.found,
        settings,
        unclear=request.files.unclear,
        policy=request.policy,
        released=released,
        with_records=source.data is not None,
    )
    result = replace(
        result,
        about=request.about(None if source.path is None else source.path.name),
        run=run or RunFacts(),
    )
    return delivery.deliver(result, request, None)


def _records(
    request: CheckRequest, source: DataSource, threshold: int, progress: Progress
) -> TableCoder | Codes:
    """The records, as a table whose columns are coded once; or as codes, which only recipes can be computed from."""
    if not isinstance(source.data, np.ndarray):
        return TableCoder(source.table(progress, threshold=threshold))
    if request.recipes is None or request.released is not None:
        raise InputError(
            "Codes as data need recipes as outputs, which say what their columns are. Pass a table."
        )
    return source.data
