"""`chaffinch.check`: may these outputs leave? From files, frames or tables to a result, and where it goes.

Results go to JSON, a page, a confidential file, the file of released outputs and a copy of the ACRO folder. Mitigated outputs become a document with
their numbers and a table for each; nothing else, never over files that exist.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from .._base.errors import FileError, InputError, join_names
from .._base.files import check_outputs, check_writable, filling, write_text
from .._base.options import takes
from .._base.results import RunFacts, write_page
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..outputs.cells import TOTAL, Frame
from ..outputs.check import CheckResult, CheckSettings, check_recipes
from ..outputs.check.printed import check_printed
from ..outputs.check.released import ReleasedOutputs, recorded, write_released
from ..outputs.check.settings import CheckJob, DeliverySettings
from ..outputs.document import FORMAT, VERSION, Outputs
from ..outputs.mitigate import find_mitigations
from ..outputs.numbers import is_withheld
from ..outputs.readers.acro.write import write_back as write_acro
from ..outputs.records import TableCoder, codes_of_table
from ..outputs.rules import Policy
from ..outputs.rules.findings import ORDER
from ..report.check import check_page, rules_sentence
from ..table.rows import open_rows
from ..table.settings import Reading
from .check_request import AnyPath, CheckRequest

if TYPE_CHECKING:
    from ..keywords import CheckJobOptions
    from ..outputs.domain import Codes
    from ..outputs.kinds import OutputSpec
    from ..outputs.rules.findings import RuleFinding


@takes(CheckJob)
def check(
    outputs: AnyPath | Sequence[Any] | Mapping[str, Any] | Outputs,
    data: Any = None,
    *,
    settings: CheckJob | None = None,
    seed: Seed = None,
    workers: int | None = None,
    progress: Progress = silent,
    **options: Unpack[CheckJobOptions],
) -> CheckResult:
    """Return what outputs give away about the people they come from, and what the rules of thumb say of them.

    Parameters
    ----------
    outputs
        A file of outputs, with or without numbers (TOML, or JSON with the same keys); the same as a mapping; a folder that ACRO made; output
        files of R, Stata, SPSS and spreadsheets, or a folder of them; `Outputs`; or a list of objects that hold outputs: fitted models, tables of
        pandas or polars, results of tests, or what the functions of `chaffinch.outputs.readers` make of them.
    data
        The records behind them: whatever `chaffinch.read` takes, or a `Table`; with `Outputs` also codes of their columns. Of output files the
        rules can be asked without.
    settings
        All options at once, in place of those below.
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
    >>> chaffinch.check(document, people, keys=["area"], sensitive=["ill"], syntheses=2, seed=1, workers=1).rules.worst
    'pass'
    """
    job = CheckJob.chosen(settings, options)
    return run_check(outputs, data, job, seed=seed, workers=workers, progress=progress)[0]


def run_check(
    outputs: AnyPath | Sequence[Any] | Mapping[str, Any] | Outputs,
    data: Any,
    job: CheckJob,
    *,
    json: Path | None = None,
    html: Path | None = None,
    run: RunFacts | None = None,
    seed: Seed = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> tuple[CheckResult, tuple[str, ...]]:
    """Return the result of a check, and a line for each file that was written: `json` and `html` among them."""
    job.settings.check_attack()
    delivery = CheckDelivery(settings=job.delivery, record=job.sources.record, json=json, html=html)
    sources = job.sources
    inputs = [path_of(place) for place in (sources.released, data, sources.rules, sources.recipes)]
    is_list = isinstance(outputs, Sequence) and not isinstance(outputs, str)
    for source in cast("Sequence[Any]", outputs) if is_list else [outputs]:
        delivery.check(path_of(source), *inputs)
    return check_request(
        CheckRequest.read(outputs, job.sources),
        data,
        job,
        delivery=delivery,
        run=run,
        seed=seed,
        workers=workers,
        progress=progress,
    )


def check_request(
    request: CheckRequest,
    data: Any,
    job: CheckJob,
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
    settings, name = job.settings, data_name(data)
    if data is None:
        return _without_records(request, None, settings, delivery, run)
    threshold = settings.least_shown(request.policy)
    records = _records(request, data, job.reading.with_options(threshold=threshold), progress)
    if isinstance(records, TableCoder):
        request = request.of_data(records, threshold=threshold)
    delivery.check_request(request)
    if request.files is not None and not len(request.ready):
        return _without_records(request, data, replace(settings, rules_only=True), delivery, run)
    result = check_recipes(
        request.ready,
        records,
        settings,
        released=request.released_recipes,
        policy=request.policy,
        uncertain=request.uncertain,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    rules = (
        result.rules
        if request.files is None
        else request.files.with_beside(result.rules, request.policy or Policy())
    )
    result = replace(result, about=request.about(name), rules=rules, run=run or RunFacts())
    if job.delivery.mitigate:
        plan, mitigated = find_mitigations(
            request.ready,
            records,
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
    return delivery.deliver(result, request, records)


def _without_records(
    request: CheckRequest,
    data: Any,
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
    if delivery.settings.mitigate:
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
        request.files.outputs,
        settings,
        unclear=request.files.unread,
        policy=request.policy,
        released=released,
        with_records=data is not None,
    )
    result = replace(result, about=request.about(data_name(data)), run=run or RunFacts())
    return delivery.deliver(result, request, None)


def path_of(place: Any) -> Path | None:
    """Return the path of what came as a file; None for what came as such."""
    return Path(place) if isinstance(place, str | os.PathLike) else None


def data_name(data: Any) -> str | None:
    """Return the name of the file that the records came as."""
    return None if (path := path_of(data)) is None else path.name


def _records(
    request: CheckRequest, data: Any, reading: Reading, progress: Progress
) -> TableCoder | Codes:
    """The records, as a table whose columns are coded once; or as codes, which only recipes can be computed from."""
    if not isinstance(data, np.ndarray):
        return TableCoder(open_rows(data, settings=reading, progress=progress).table())
    if request.recipes is None or request.released is not None:
        raise InputError(
            "Codes as data need recipes as outputs, which say what their columns are. Pass a table."
        )
    return data


MOST_WORDS = 2000


@dataclass(frozen=True, kw_only=True)
class CheckDelivery:
    """Where results go; None for nowhere."""

    settings: DeliverySettings = field(default_factory=DeliverySettings)
    record: bool = False  # Whether to add the outputs to the file of released ones, if they pass
    # json, html: Files for what may leave, and for a page of it
    json: Path | None = None
    html: Path | None = None

    def check(self, source: Path | None, released: Path | None, *inputs: Path | None) -> None:
        """Raise unless results can be written where they are asked to, and no input (`source`, the outputs, among them) is there."""
        if self.settings.write is not None:
            check_new_folder(self.settings.write)
        wanted = (self.json, self.html, self.settings.confidential)
        check_outputs(
            source,
            *wanted,
            inputs=[*inputs, None if self.record else released],
            updated=[released if self.record else None],
        )
        back = self.settings.acro_write_back
        if back is None:
            return
        if source is None or not source.is_dir():
            raise InputError(
                "--acro-write-back is for an ACRO folder, and SPEC is a file. Use --json and --html."
            )
        if back.resolve() == source.resolve():
            return
        if back.exists():
            raise FileError(f"Cannot write '{back}': it exists. Name a new folder.")
        if source.resolve() in back.resolve().parents:
            raise FileError(
                f"Cannot write '{back}': it lies in the ACRO folder. Name a folder outside it."
            )
        check_writable(back)

    def check_request(self, request: CheckRequest) -> None:
        """Raise where what would be recorded is not what is judged, or the folder to be copied was changed after ACRO wrote it."""
        fault = (
            ""
            if request.acro is None
            else next((one.fault for one in request.acro.results if one.fault), "")
        )
        if self.settings.acro_write_back is not None and request.acro is None:
            raise InputError(
                "--acro-write-back is for an ACRO folder, and there is no results.json in this one. Use --json and --html."
            )
        if self.settings.acro_write_back is not None and fault:
            raise InputError(
                f"--acro-write-back cannot copy a folder that is not as ACRO wrote it: {fault}"
            )
        replaced = [f"'{one.uid}'" for one in request.by_recipe if one.replaced]
        if self.record and replaced:
            raise InputError(
                f"--record cannot record {join_names(replaced)}: what would leave is the result, and what was judged a recipe in its place. "
                "Leave out --record, or the recipe."
            )

    def deliver(
        self, result: CheckResult, request: CheckRequest, data: TableCoder | Codes | None
    ) -> tuple[CheckResult, tuple[str, ...]]:
        """Write everything; return the result with what became of it, and a line for each file."""
        result = replace(
            result, about=replace(result.about, recorded=self.record and result.passed)
        )
        released = (
            _released(request, result, data) if result.about.recorded else None
        )  # before anything is written
        lines = []
        if self.settings.acro_write_back is not None:
            _write_back(self.settings.acro_write_back, request, result)
            lines.append(
                f"Wrote {self.settings.acro_write_back}: the ACRO folder with this result."
            )
        if released is not None:
            assert request.released_path is not None
            write_released(request.released_path, released)
            lines.append(f"Wrote {request.released_path}: these outputs are recorded as released.")
        elif self.record:
            lines.append(
                f"{request.released_path} is as it was: outputs are recorded only if they pass."
            )
        if self.settings.write is not None:
            lines.append(write_mitigated(self.settings.write, result, data))
        if self.json is not None:
            write_text(self.json, _text(result.to_dict(), indent=2))
            lines.append(f"Wrote {self.json}.")
        if self.html is not None:
            write_page(self.html, check_page(result))
            lines.append(f"Wrote {self.html}.")
        if self.settings.confidential is not None:
            head = {"format": "chaffinch-check-confidential", "version": 1, "confidential": True}
            write_text(
                self.settings.confidential,
                _text({**head, **result.confidential()}, indent=1),
                mode=0o600,
            )
            lines.append(
                f"Wrote {self.settings.confidential}: exposed classes and cells, confidential."
            )
        return result, tuple(lines)


def _text(data: Mapping[str, Any], *, indent: int) -> str:
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def _released(
    request: CheckRequest, result: CheckResult, data: TableCoder | Codes | None
) -> ReleasedOutputs:
    """What was released with these outputs: as published, or as the data give them where they came without numbers."""
    assert result.recipes is not None
    assert data is not None  # without records nothing is recorded
    assert not isinstance(data, np.ndarray)  # codes have no file of released outputs
    fields = result.recipes.fields
    new = result.recipes.only(request.ready.names)
    codes = codes_of_table(data, fields).codes
    entries = [
        one if recipe.published is None else recipe.published
        for recipe, one in zip(new.outputs, new.entries(codes), strict=True)
    ]
    columns = {one.name: one.columns for one in result.outputs}
    return recorded(request.released or ReleasedOutputs(), entries, fields, used=columns)


def _write_back(folder: Path, request: CheckRequest, result: CheckResult) -> None:
    """Copy the ACRO folder with the result as one more output, page and JSON, and a comment on each result that was checked."""
    assert request.source is not None
    same = folder.resolve() == request.source.resolve()
    summary = f"Chaffinch: {result.text} {rules_sentence(result.rules)}"
    if request.by_recipe:
        names = join_names([f"'{one.uid}'" for one in request.by_recipe])
        summary += f" Of {names} recipes were judged, which somebody gave, not the files."
    with tempfile.TemporaryDirectory() as place:
        page, data = Path(place) / "check.html", Path(place) / "check.json"
        page.write_text(check_page(result), encoding="utf-8")
        data.write_text(_text(result.to_dict(), indent=2), encoding="utf-8")
        write_acro(
            request.source,
            None if same else folder,
            report=[page, data],
            assessed=_comments(request, result),
            summary=summary,
            failed=result.failed,
            in_place=same,
        )


def _comments(request: CheckRequest, result: CheckResult) -> dict[str, str]:
    """For each result that was asked about: its verdict, what the rules say of it and the verdict on all together.

    Where a recipe was judged in the place of a result, that is said, and nothing of the result's own files.
    """
    assert request.acro_outputs is not None
    assert request.acro is not None
    every = f"All outputs together: {result.verdict.text}."
    skipped = [one for one in result.about.skipped if one.name in request.acro.uids]
    comments = {
        one.name: f"Chaffinch: not assessed. {one.reason.rstrip('.')}. {every}" for one in skipped
    }
    by_recipe = {one.uid: one.replaced for one in request.by_recipe}
    for uid in dict.fromkeys(one.uid for one in request.acro_outputs.outputs):
        names = {one.name for one in request.acro_outputs.of(uid)}
        findings = [one for one in result.rules if one.status != "pass" and names & set(one.names)]
        words = [f"{one.status} ({one.rule}{_beside(one, names)}): {one.words}" for one in findings]
        if by_recipe.get(uid):
            comments[uid] = (
                f"Chaffinch: not assessed. Not this result was judged, though it can be read, but a recipe that was given for it. {every}"
            )
            continue
        if uid in by_recipe:
            head = "Chaffinch: review. Not this result was judged, since it cannot be read, but a recipe that was given for it. Of the recipe:"
            words = words or ["it breaks no rule. That says nothing of the files of this result."]
        else:
            rows = [row for row in result.summary if row.output in names]
            worst = max((row.verdict for row in rows), key=ORDER.index, default="not assessed")
            others = [
                one
                for row in rows
                for one in row.why
                if not any(one.startswith(each.rule) for each in findings)
            ]
            head = " ".join(
                [f"Chaffinch: {worst}.", *(f"{one.rstrip('.')}." for one in dict.fromkeys(others))]
            )
            words = words or (
                ["No rule failed for this output."] if worst in ("pass", "review") else []
            )
        comments[uid] = " ".join([head, *words, every])
    return {
        uid: text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1] + "…"
        for uid, text in comments.items()
    }


def _beside(one: RuleFinding, names: Collection[str]) -> str:
    """The other outputs of a finding between several, if there are any."""
    others = [f"'{name}'" for name in one.names if name not in names]
    return f", with {' and '.join(others)}" if others else ""


DOCUMENT = "mitigated.json"
"""The file of outputs. Columns are not described in it: their levels may be rarer than anything that is published."""

SIGN = "x"
"""What stands for a withheld number."""


def check_new_folder(folder: Path) -> None:
    """Raise unless a folder can be made."""
    if folder.exists() or folder.is_symlink():
        raise FileError(f"Cannot write '{folder}': it exists. Name a new folder.")
    check_writable(folder)


def write_mitigated(folder: Path, result: CheckResult, data: TableCoder | Codes | None) -> str:
    """Write the mitigated outputs of a check into a new folder, if they pass; return what was done, in a line."""
    after = result.mitigated
    if after is None or after.recipes is None or data is None:
        return f"Nothing was written to {folder}: no output was changed that can be published."
    if not after.passed:
        return f"Nothing was written to {folder}: the mitigated outputs do not pass."
    check_new_folder(folder)
    new = [one.name for one in after.outputs if not one.released]
    recipes = after.recipes.only(new)
    codes = codes_of_table(data, recipes.fields).codes if not isinstance(data, np.ndarray) else data
    computed = recipes.computed(codes)
    with filling(folder) as part:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "outputs": [
                one.to_dict() if one.published is None else one.published
                for one in computed.outputs
            ],
        }
        write_text(
            part / DOCUMENT,
            json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        )
        for number, output in enumerate(computed.outputs, 1):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(
                table_of_output(output, Frame(recipes.fields, len(codes)))
            )
            write_text(part / f"{number:02d}-{_slug(output.name)}.csv", text.getvalue())
    return f"Wrote {folder}: {len(new)} mitigated output{'' if len(new) == 1 else 's'}, {DOCUMENT} and a table for each."


def table_of_output(output: OutputSpec, frame: Frame) -> Iterator[list[Any]]:
    """Give the rows of an output as a table, head first: a column for each column that it crosses, then its number; else names and numbers."""
    parts = list(output.printed_numbers(frame))
    by: list[str] = list(getattr(output, "by", ()))
    names = output.crossing(frame).names if by else ()
    if getattr(output, "margins", False):
        names = tuple((*some, TOTAL) for some in names)
    size = int(np.prod([len(some) for some in names], dtype=np.int64)) if names else 0
    if size and len(parts) == 1 and len(parts[0].numbers) == size:
        yield [*by, parts[0].key]
        for words, number in zip(product(*names), parts[0].numbers, strict=True):
            yield [*map(_word, words), SIGN if is_withheld(number) else number]
    else:
        yield ["what", "name", "number"]
        for part in parts:
            for name, number in zip(part.names, part.numbers, strict=True):
                yield [part.key, _word(name), SIGN if is_withheld(number) else number]
    if isinstance(output.n, int):
        yield ["n", *[""] * (len(by) - 1 if size and len(parts) == 1 else 1), output.n]


def _word(word: str) -> str:
    """A word as a spreadsheet takes it for a word: one that begins like a formula gets a quote before it."""
    is_number = re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", word) is not None
    formula = word[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number
    return f"'{word}" if formula else word


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "output"
