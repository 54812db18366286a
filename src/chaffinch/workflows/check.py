"""`chaffinch.check`: may these outputs leave? From files, frames or tables to a result, and where it goes.

Results go to JSON, a page, a confidential file, the file of released outputs and a copy of the ACRO folder. Mitigated outputs become a document with
their numbers and a table for each; nothing else, never over files that exist.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from .._base.errors import FileError, InputError, join_names
from .._base.files import check_outputs, check_writable, filling, write_json, write_text
from .._base.options import takes
from .._base.results import RunFacts
from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..outputs.cells import TOTAL
from ..outputs.check import CheckInputs, CheckResult, check_recipes
from ..outputs.check.printed import check_printed
from ..outputs.check.released import ReleasedOutputs, write_released
from ..outputs.check.settings import CheckJob
from ..outputs.document import FORMAT, VERSION
from ..outputs.mitigate import find_mitigations
from ..outputs.numbers import is_withheld
from ..outputs.records import TableCoder, codes_of_table
from ..outputs.rules import Policy
from ..outputs.rules.policy import read_policy
from ..outputs.source import (
    CODES_NEED_RECIPES,
    DataColumns,
    OutputsAddress,
    OutputSource,
    PlacedOutputs,
    open_outputs,
    paths_of,
    select_outputs,
)
from ..report.check import check_page, rules_sentence
from ..table.rows import open_rows
from .run import Destinations, RunOptions, name_of, path_of

if TYPE_CHECKING:
    from ..keywords import CheckJobOptions
    from ..outputs.domain import Codes, OutputDomain
    from ..outputs.kinds import OutputSpec

    Records = TableCoder | Codes


@takes(CheckJob)
def check(
    outputs: OutputsAddress,
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
    # A check takes any seed that studies take, though a command has whole numbers alone.
    run = RunOptions(seed=cast("int | None", seed), threads=workers, progress=progress)
    return run_check(outputs, data, job, run)[0]


def run_check(
    outputs: OutputsAddress,
    data: Any,
    job: CheckJob,
    run: RunOptions,
    files: Destinations | None = None,
) -> tuple[CheckResult, tuple[str, ...]]:
    """Return the result of a check, and a line for each file that was written.

    1. Open the outputs and what was released before.
    2. Select the outputs that are asked for.
    3. Read the records, put the outputs over their columns, and check them.
    4. Write what was asked for.
    """
    job.settings.check_attack()
    files = replace(files or Destinations(), confidential=job.delivery.confidential)
    check_destinations(outputs, data, job, files)
    opened = OpenedCheck.open(outputs, job, run)
    placed, records = opened.place_on(data)
    opened.check_placed(placed)
    result = opened.judge(placed, records, name_of(data))
    return opened.deliver(result, placed, records, files)


def check_destinations(
    outputs: OutputsAddress, data: Any, job: CheckJob, files: Destinations
) -> None:
    """Raise unless results can be written where they are asked to, and nothing that is read is there."""
    delivery, sources, paths = job.delivery, job.sources, paths_of(outputs)
    if delivery.write is not None:
        check_new_folder(delivery.write)
    released = path_of(sources.released)
    inputs = [*paths, path_of(data), path_of(sources.rules), path_of(sources.recipes)]
    check_outputs(
        None,
        *files.paths,
        inputs=[*inputs, None if sources.record else released],
        updated=[released if sources.record else None],
    )
    back = delivery.acro_write_back
    if back is None:
        return
    if len(paths) != 1 or not paths[0].is_dir():
        raise InputError(
            "--acro-write-back is for an ACRO folder, and SPEC is a file. Use --json and --html."
        )
    if back.resolve() == paths[0].resolve():
        return
    if back.exists():
        raise FileError(f"Cannot write '{back}': it exists. Name a new folder.")
    if paths[0].resolve() in back.resolve().parents:
        raise FileError(
            f"Cannot write '{back}': it lies in the ACRO folder. Name a folder outside it."
        )
    check_writable(back)


@dataclass(frozen=True)
class OpenedCheck:
    """Outputs that were opened and selected, what they are judged by, and how the check runs."""

    job: CheckJob
    source: OutputSource
    not_asked: tuple[str, ...]
    released: ReleasedOutputs
    policy: Policy
    run: RunOptions

    @classmethod
    def open(cls, outputs: OutputsAddress, job: CheckJob, run: RunOptions) -> OpenedCheck:
        """Return the outputs that are asked for, and what was released before."""
        asked = job.sources
        policy = asked.rules
        if isinstance(policy, str | os.PathLike):
            policy = read_policy(policy)
        source = open_outputs(
            outputs, recipes=asked.recipes, replace_readable=asked.replace_readable
        )
        source, not_asked = select_outputs(source, asked.only, asked.exclude)
        released = ReleasedOutputs.open(asked.released, may_be_new=asked.record)
        return cls(job, source, not_asked, released, policy or source.policy, run)

    @property
    def threshold(self) -> int:
        """The smallest count that is told."""
        return self.job.settings.display_threshold(self.policy)

    def place_on(self, data: Any) -> tuple[PlacedOutputs, Records | None]:
        """Return the outputs over the columns of the records, and the records: a table whose columns are coded once, or codes; None where there are none."""
        if data is None:
            return self.source.place_printed(), None
        if isinstance(data, np.ndarray):
            if self.released.path is not None:
                raise InputError(CODES_NEED_RECIPES)
            return self.source.place_codes(), data
        reading = self.job.reading.with_options(threshold=self.threshold)
        rows = open_rows(data, settings=reading, progress=self.run.progress)
        columns = DataColumns(
            TableCoder(rows.table()),
            declared=self.released.fields,
            threshold=self.threshold,
            policy=self.policy,
        )
        return self.source.place_on(columns), columns.coder

    def check_placed(self, placed: PlacedOutputs) -> None:
        """Raise where what would be recorded is not what is judged, or the folder to be copied was changed after ACRO wrote it."""
        if self.job.delivery.acro_write_back is not None:
            self.source.check_write_back()
        replaced = [f"'{recipe.name}'" for recipe in placed.about.by_recipe if recipe.readable]
        if self.job.sources.record and replaced:
            raise InputError(
                f"--record cannot record {join_names(replaced)}: what would leave is the result, and what was judged a recipe in its place. "
                "Leave out --record, or the recipe."
            )

    def judge(
        self, placed: PlacedOutputs, records: Records | None, data: str | None
    ) -> CheckResult:
        """Return what is said of the outputs, and how they could be mended if that is asked for; `data` is the name of the file of records."""
        about = replace(
            placed.about,
            outputs=name_of(self.source.path),
            data=data,
            released=name_of(self.released.path),
            released_head=self.released.head if self.released.path else None,
            not_asked=self.not_asked,
            ignored_accepted=self.job.sources.accept_ignored,
        )
        run = RunFacts(**self.run.facts)
        if records is None or placed.recipes is None:
            result = self._judge_printed(placed, with_records=records is not None)
            return replace(result, about=about, run=run)
        inputs = CheckInputs(
            placed.recipes,
            records,
            self.job.settings,
            self.released.as_recipes(self.threshold),
            self.policy,
            placed.uncertain,
            seed=self.run.seed,
            workers=self.run.threads,
            progress=self.run.progress,
        )
        result = check_recipes(inputs)
        rules = replace(result.rules, findings=(*result.rules.findings, *placed.findings))
        result = replace(result, about=about, rules=rules, run=run)
        if not self.job.delivery.mitigate:
            return result
        plan, mitigated = find_mitigations(inputs, result)
        return replace(result, mitigation=plan, mitigated=mitigated)

    def _judge_printed(self, placed: PlacedOutputs, *, with_records: bool) -> CheckResult:
        """What is said of outputs by their printed numbers alone."""
        if not with_records and not self.job.settings.rules_only:
            raise InputError(
                "Without the records behind the outputs only the rules can be asked: add --rules-only, or name the records: --data FILE."
            )
        if self.job.delivery.mitigate:
            raise InputError(
                "--mitigate needs the records behind the outputs: --data FILE. Mitigated outputs are computed from them, and checked anew."
            )
        if self.job.sources.record:
            raise InputError(
                "--record needs the records behind the outputs: --data FILE. What was not compared with them is not recorded as released."
            )
        return check_printed(
            placed.printed,
            replace(self.job.settings, rules_only=True),
            findings=placed.findings,
            policy=self.policy,
            released=bool(self.released),
            with_records=with_records,
        )

    def deliver(
        self,
        result: CheckResult,
        placed: PlacedOutputs,
        records: Records | None,
        files: Destinations,
    ) -> tuple[CheckResult, tuple[str, ...]]:
        """Write everything; return the result with what became of it, and a line for each file."""
        delivery, record = self.job.delivery, self.job.sources.record
        result = replace(result, about=replace(result.about, recorded=record and result.passed))
        released = (
            self._including(placed, result, records) if result.about.recorded else self.released
        )  # before anything is written
        lines = []
        if delivery.acro_write_back is not None:
            self._write_back(delivery.acro_write_back, placed, result)
            lines.append(f"Wrote {delivery.acro_write_back}: the ACRO folder with this result.")
        if result.about.recorded:
            assert released.path is not None  # settings see to it
            write_released(released.path, released)
            lines.append(f"Wrote {released.path}: these outputs are recorded as released.")
        elif record:
            lines.append(f"{released.path} is as it was: outputs are recorded only if they pass.")
        if delivery.write is not None:
            lines.append(write_mitigated(delivery.write, result, records))
        return result, (*lines, *files.write(result, lambda: check_page(result).html))

    def _including(
        self, placed: PlacedOutputs, result: CheckResult, records: Records | None
    ) -> ReleasedOutputs:
        """What was released with these outputs: as published, or as the data give them where they came without numbers."""
        assert placed.recipes is not None
        assert result.recipes is not None
        assert isinstance(records, TableCoder)  # otherwise nothing is recorded
        fields, recipes = result.recipes.fields, result.recipes.only(placed.recipes.names)
        codes = codes_of_table(records, fields).codes
        entries = [
            computed if recipe.published is None else recipe.published
            for recipe, computed in zip(recipes.outputs, recipes.entries(codes), strict=True)
        ]
        columns = {output.name: output.columns for output in result.outputs}
        return self.released.including(entries, fields, used=columns)

    def _write_back(self, folder: Path, placed: PlacedOutputs, result: CheckResult) -> None:
        """Copy the ACRO folder with the result as one more output, page and JSON, and a comment on each result that was checked."""
        summary = f"Chaffinch: {result.text} {rules_sentence(result.rules)}"
        if placed.about.by_recipe:
            names = join_names([f"'{recipe.name}'" for recipe in placed.about.by_recipe])
            summary += f" Of {names} recipes were judged, which somebody gave, not the files."
        with tempfile.TemporaryDirectory() as scratch:
            page, data = Path(scratch) / "check.html", Path(scratch) / "check.json"
            Destinations(json=data, html=page).write(result, lambda: check_page(result).html)
            self.source.write_back(folder, placed, result, report=[page, data], summary=summary)


DOCUMENT = "mitigated.json"
"""The file of outputs. Columns are not described in it: their levels may be rarer than anything that is published."""

SIGN = "x"
"""What stands for a withheld number."""


def check_new_folder(folder: Path) -> None:
    """Raise unless a folder can be made."""
    if folder.exists() or folder.is_symlink():
        raise FileError(f"Cannot write '{folder}': it exists. Name a new folder.")
    check_writable(folder)


def write_mitigated(folder: Path, result: CheckResult, data: Records | None) -> str:
    """Write the mitigated outputs of a check into a new folder, if they pass; return what was done, in a line."""
    after = result.mitigated
    if after is None or after.recipes is None or data is None:
        return f"Nothing was written to {folder}: no output was changed that can be published."
    if not after.passed:
        return f"Nothing was written to {folder}: the mitigated outputs do not pass."
    check_new_folder(folder)
    new = [output.name for output in after.outputs if not output.released]
    recipes = after.recipes.only(new)
    codes = codes_of_table(data, recipes.fields).codes if not isinstance(data, np.ndarray) else data
    computed = recipes.computed(codes)
    with filling(folder) as new_folder:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "outputs": [
                output.to_dict() if output.published is None else output.published
                for output in computed.outputs
            ],
        }
        write_json(new_folder / DOCUMENT, document, indent=1)
        for number, output in enumerate(computed.outputs, 1):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(
                table_of_output(output, recipes.fields.with_rows(len(codes)))
            )
            write_text(new_folder / f"{number:02d}-{_slug(output.name)}.csv", text.getvalue())
    return f"Wrote {folder}: {len(new)} mitigated output{'' if len(new) == 1 else 's'}, {DOCUMENT} and a table for each."


def table_of_output(output: OutputSpec, frame: OutputDomain) -> Iterator[list[Any]]:
    """Give the rows of an output as a table, head first: a column for each column that it crosses, then its number; else names and numbers."""
    parts = list(output.printed_numbers(frame))
    by: list[str] = list(getattr(output, "by", ()))
    names = output.crossing(frame).names if by else ()
    if getattr(output, "margins", False):
        names = tuple((*labels, TOTAL) for labels in names)
    size = int(np.prod([len(labels) for labels in names], dtype=np.int64)) if names else 0
    if size and len(parts) == 1 and len(parts[0].numbers) == size:
        yield [*by, parts[0].key]
        for labels, number in zip(product(*names), parts[0].numbers, strict=True):
            yield [*map(_word, labels), SIGN if is_withheld(number) else number]
    else:
        yield ["what", "name", "number"]
        for numbers in parts:
            for name, number in zip(numbers.names, numbers.numbers, strict=True):
                yield [numbers.key, _word(name), SIGN if is_withheld(number) else number]
    if isinstance(output.n, int):
        yield ["n", *[""] * (len(by) - 1 if size and len(parts) == 1 else 1), output.n]


def _word(word: str) -> str:
    """A word as a spreadsheet takes it for a word: one that begins like a formula gets a quote before it."""
    is_number = re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", word) is not None
    formula = word[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number
    return f"'{word}" if formula else word


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "output"
