"""An ACRO directory as outputs with their published numbers, and what of it could not be read, with the reason."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ...._base.checks import check_name
from ...._base.errors import InputError, join_names
from ...._base.masking import THRESHOLD
from ...document import Outputs
from ...domain import OutputColumn, OutputDomain
from ...formula import column_words
from ...kinds import KINDS
from ...records import TableCoder, fields_of_table
from ...rules.policy import Policy, policy_of_acro
from ...source import (
    ByRecipe,
    CheckAbout,
    DataColumns,
    NotChecked,
    OutputSource,
    PlacedOutputs,
)
from ..coefficient_names import coefficient_columns
from ..placing import Placement
from .commands import Call, read_call, read_comparison, referred_column, where_of
from .read import AcroDirectory, AcroResult, UnclearError, check_clear
from .regressions import KINDS as REGRESSIONS
from .regressions import formula_words, regression_outputs
from .tables import number_of, plain_number, table_outputs
from .write import result_comments, write_back

if TYPE_CHECKING:
    from pathlib import Path

    from ....table import Table
    from ...check.result import CheckResult
    from ...document import Outputs

MANY_ROWS = 1_000_000
ENDPOINTS = {"quantiles": "Endpoints"}
"""The class of outputs in ACRO's ontology that is not that of their kind: quantiles of ACRO's are the smallest and the largest value."""
UNTOLD = "its command does not say which columns are time and event: give a recipe"
UNLISTED = "It lies in the folder and belongs to no result of ACRO, so nobody has looked at it. Take it out of the folder, or check it by itself."


@dataclass(frozen=True)
class AcroOutput:
    """An output that was read, or that a recipe stands for, as a file of outputs has it; notes say what cannot be checked of it.

    `by_recipe`: what is said of it is said of a recipe that was given for the result, not of the result's files. `replaced`: the recipe
    stands in the place of a result that can be read. `uncertain`: why only the rules can be asked of it, without its numbers.
    """

    uid: str
    status: str
    statbarn: str | None
    entry: Mapping[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()
    by_recipe: bool = False
    replaced: bool = False
    uncertain: str = ""

    @property
    def name(self) -> str:
        """What the output is called: the uid, with more where a result has several."""
        return str(self.entry["name"])


@dataclass(frozen=True)
class SkippedResult:
    """A result that was not read, and why."""

    uid: str
    status: str
    type: str
    reason: str


@dataclass(frozen=True)
class AcroOutputs:
    """The outputs of an ACRO directory, the columns that they are of, and the results that were not read."""

    fields: OutputDomain = field(repr=False)
    outputs: tuple[AcroOutput, ...]
    skipped: tuple[SkippedResult, ...]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The outputs as a file of outputs has them, numbers included."""
        return [dict(output.entry) for output in self.outputs]

    def recipes(self) -> Outputs:
        """Return the outputs as recipes, to be computed on other records."""
        from ...document import recipes_of

        return recipes_of(self.entries, self.fields)

    def outputs_of(self, uid: str) -> tuple[AcroOutput, ...]:
        """Return the outputs of one result."""
        return tuple(output for output in self.outputs if output.uid == uid)


@dataclass(frozen=True)
class AcroSource(OutputSource):
    """An ACRO folder, with recipes by the names of results; whether these may stand for results that can be read."""

    directory: AcroDirectory
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replace_readable: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.directory.uids, *self.directory.unlisted)

    @property
    def path(self) -> Path:
        return self.directory.folder

    @property
    def policy(self) -> Policy:
        return policy_of_acro(self.directory.config)

    def only(self, names: Collection[str]) -> AcroSource:
        results = tuple(result for result in self.directory.results if result.uid in names)
        unlisted = tuple(name for name in self.directory.unlisted if name in names)
        excluded = set(self.names).difference(names)
        return replace(
            self,
            directory=replace(self.directory, results=results, unlisted=unlisted),
            recipes={uid: entry for uid, entry in self.recipes.items() if uid not in excluded},
        )

    def place_on(self, columns: DataColumns) -> PlacedOutputs:
        acro = recipes_of_acro(
            self.directory,
            columns.coder,
            declared=columns.declared,
            given=self.recipes,
            replace_readable=self.replace_readable,
            threshold=columns.threshold,
        )
        if not acro.outputs:
            why = "; ".join(f"{result.uid}: {result.reason}" for result in acro.skipped[:5])
            raise InputError(
                f"No result of '{self.path}' can be checked: {why}. Give recipes with --recipes."
            )
        skipped = [NotChecked(result.uid, result.reason, result.type) for result in acro.skipped]
        unlisted = [NotChecked(name, UNLISTED) for name in self.directory.unlisted]
        by_recipe = [
            ByRecipe(output.uid, output.replaced) for output in acro.outputs if output.by_recipe
        ]
        about = CheckAbout(
            acro=self.directory.version,
            skipped=(*skipped, *unlisted),
            by_recipe=tuple(by_recipe),
        )
        uids = dict.fromkeys(output.uid for output in acro.outputs)
        return PlacedOutputs(
            acro.recipes(),
            about,
            uncertain={
                output.name: output.uncertain for output in acro.outputs if output.uncertain
            },
            of_results={uid: tuple(output.name for output in acro.outputs_of(uid)) for uid in uids},
        )

    def check_write_back(self) -> None:
        if fault := next((result.fault for result in self.directory.results if result.fault), ""):
            raise InputError(
                f"--acro-write-back cannot copy a folder that is not as ACRO wrote it: {fault}"
            )

    def write_back(
        self,
        folder: Path,
        placed: PlacedOutputs,
        result: CheckResult,
        *,
        report: Sequence[Path],
        summary: str,
    ) -> None:
        in_place = folder.resolve() == self.path.resolve()
        write_back(
            self.path,
            None if in_place else folder,
            report=report,
            assessed=result_comments(result, self.directory.uids, placed.of_results),
            summary=summary,
            failed=result.failed,
            in_place=in_place,
        )


def columns_of_acro(directory: AcroDirectory, known: Sequence[str]) -> list[str]:
    """Return which of some columns the results of a directory are about, in the order of `known`."""
    names: set[str] = set()
    for result in directory.results:
        rows = [row for file in result.tables for row in file.rows or () if len(row) > 1]
        names |= {*coefficient_columns(result.independent), str(result.dependent or "")}
        names |= {row[1] for row in rows if row[0] == "Dep. Variable:"}
        if call := _call(result):
            formula = call.constant("formula")
            names |= set(formula_words(formula)) if isinstance(formula, str) else set()
            names |= _mentioned_names(call)
    return [name for name in known if name in names]


def recipes_of_acro(
    directory: AcroDirectory,
    data: OutputDomain | Table | TableCoder,
    *,
    declared: Sequence[OutputColumn] = (),
    given: Mapping[str, Mapping[str, Any]] | None = None,
    replace_readable: bool = False,
    rows: int | None = None,
    threshold: int = THRESHOLD,
) -> AcroOutputs:
    """Return the outputs of an ACRO directory with their published numbers, and what was skipped and why.

    The data are columns; or the table behind the outputs, whose columns they are about are taken, with levels of its own unless they are
    `declared`. With a table an output must be of as many records as the table has complete ones, if its command shows no filter: it is
    skipped otherwise. `given` are entries by uid for results that cannot be read, such as images; with `replace_readable` they may also stand
    in the place of results that can, which are then not judged themselves.

    Results of type custom, images, and whatever cannot be told with certainty are skipped. A result with several functions gives several
    outputs. No part of a command is run.
    """
    given = given or {}
    for uid in given:
        check_name("ACRO result", uid, directory.uids)
    table: Table | None = None
    if not isinstance(data, OutputDomain):
        from ...document import named_columns

        coder = TableCoder.from_table(data)
        table = coder.table
        used = {
            *columns_of_acro(directory, table.columns),
            *named_columns(list(given.values()), table.columns),
        }
        named = [name for name in table.columns if name in used]
        if not named:
            raise InputError(
                f"The data have none of the columns that the results of '{directory.folder}' are about. Name the data they were made from."
            )
        fields = fields_of_table(coder, named, declared=declared, threshold=threshold)
        rows = table.n_rows if rows is None else rows
    else:
        fields = data
    size = rows or _largest_n(directory) or MANY_ROWS
    outputs: list[AcroOutput] = []
    skipped: list[SkippedResult] = []
    for result in directory.results:
        reason = ""
        try:
            outputs_of_result = [
                AcroOutput(
                    result.uid,
                    result.status,
                    ENDPOINTS.get(output.entry["kind"], KINDS[output.entry["kind"]].statbarn),
                    output.entry,
                    output.notes + _check_count(output, result, table, rows),
                    uncertain=output.uncertain,
                )
                for output in _outputs(result, directory, fields, size)
            ]
        except InputError as error:
            advice = "" if isinstance(error, UnclearError) else " Give a recipe."
            outputs_of_result, reason = [], f"{error}{advice}"
        if result.uid in given:
            entry = {**given[result.uid], "name": result.uid}
            readable = any(not output.uncertain for output in outputs_of_result)
            outputs.append(
                AcroOutput(
                    result.uid,
                    result.status,
                    result.statbarn,
                    entry,
                    by_recipe=True,
                    replaced=readable,
                )
            )
        elif outputs_of_result:
            outputs += outputs_of_result
        else:
            skipped.append(SkippedResult(result.uid, result.status, result.type, reason))
    replaced = [f"'{output.uid}'" for output in outputs if output.replaced]
    if replaced and not replace_readable:
        results, them = ("Result", "it") if len(replaced) == 1 else ("Results", "them")
        raise InputError(
            f"{results} {join_names(replaced)} can be read, and recipes are given for {them}: these would be judged, and the results themselves "
            f"not. Leave the recipes for {them} out; or say that they may stand for results that can be read: replace_readable=True, on the "
            "command line --replace-readable."
        )
    return AcroOutputs(fields, tuple(outputs), tuple(skipped))


def _outputs(
    result: AcroResult, directory: AcroDirectory, fields: OutputDomain, rows: int
) -> list[Placement]:
    if result.fault:
        raise UnclearError(result.fault)
    call = _call(result)

    def check(entry: Mapping[str, Any]) -> None:
        _check(entry, fields, rows)

    if result.type == "regression" and result.method in REGRESSIONS:
        return regression_outputs(result, fields, call, check)
    if result.type == "table" and result.method in ("crosstab", "pivot_table"):
        outputs = table_outputs(result, directory, fields, call)
    elif result.type == "table" and result.method in ("surv func", "surv_func"):
        outputs = survival_outputs(result, fields, call)
    elif result.type == "custom":
        raise UnclearError("a custom file, which ACRO knows nothing about: give a recipe")
    elif not result.tables:
        raise UnclearError("an image, without the numbers behind it: give a recipe")
    else:
        raise UnclearError(
            f"results of type '{result.type}' by '{result.method}' are not supported: give a recipe"
        )
    for output in outputs:
        check(output.entry)
    return outputs


def survival_outputs(
    result: AcroResult, fields: OutputDomain, call: Call | None
) -> list[Placement]:
    """Return the output in a table of a survival function; UnclearError where time and event cannot be told.

    Numbers at risk and of events tell the survival and its errors, which are left out. In tables with suppression ACRO adds a coarser
    survival but leaves the numbers as they are.
    """
    known = {"time", "status", "output", "title", "filename", "bw_factor"}
    check_clear(
        (
            call is None,
            "its command is cut off, and only that says which columns are time and event: give a recipe",
        ),
        (
            call is not None and set(call.arguments) - known,
            "survival with entry times, weights or covariates is not supported: give a recipe",
        ),
    )
    time, status = (None if call is None else call.argument(key) for key in ("time", "status"))
    if call is None or time is None or status is None:
        raise UnclearError(UNTOLD)
    comparison = read_comparison(status, call)
    time_column, time_filters = referred_column(time, call)
    event_column, event_filters = (
        referred_column(status, call)
        if comparison is None
        else (comparison.column, list(comparison.filters))
    )
    if not {time_column, event_column} <= set(fields.names):
        raise UnclearError(UNTOLD)
    event = fields[str(event_column)]
    lines = result.tables[0].rows or () if result.tables else ()
    head = list(lines[0]) if lines else []
    if not {"Time", "num at risk", "num events"} <= set(head):
        raise UnclearError(
            "its table does not have times, numbers at risk and events: give a recipe"
        )
    times, at_risk, events = (
        [plain_number(number_of(line[head.index(word)])) for line in lines[1:]]
        for word in ("Time", "num at risk", "num events")
    )
    entry: dict[str, Any] = {
        "name": result.uid,
        "kind": "kaplan-meier",
        "time": time_column,
        "event": event_column,
        "level": event.levels[_event(event)] if comparison is None else comparison.level(event),
        "times": [float(time) for time in times],
        "at_risk": at_risk,
        "events": events,
        **where_of([*time_filters, *event_filters]),
    }
    return [Placement(entry)]


def _event(field: OutputColumn) -> int:
    """The level that is 1."""
    for level in (1, True):
        try:
            return field.code(level)
        except InputError:
            continue
    raise UnclearError(f"column '{field.name}' has no level 1, which is the event: give a recipe")


def _check(entry: Mapping[str, Any], fields: OutputDomain, rows: int) -> None:
    """Raise InputError for an entry that does not fit the columns."""
    try:
        output = KINDS[str(entry["kind"])].spec.model_validate(dict(entry))
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        raise UnclearError(
            f"'{fault['loc'][0] if fault['loc'] else 'it'}' is not as it should be"
        ) from None
    Outputs(fields, (output,), rows).compiled()


def _call(result: AcroResult) -> Call | None:
    return read_call(result.command, {"surv func": "surv_func"}.get(result.method, result.method))


def _check_count(
    placement: Placement, result: AcroResult, table: Table | None, rows: int | None
) -> tuple[str, ...]:
    """Check the number of records against the data; return what cannot be checked."""
    if "where" in placement.entry:
        return ()
    cut = (
        ()
        if _call(result) is not None
        else ("its command is cut off, so that a filter would not show",)
    )
    if placement.n is None:
        return cut
    if table is not None:
        names = {
            *placement.entry.get("by", ()),
            *column_words(str(placement.entry.get("formula", ""))),
        }
        if placement.n == _complete(table, [name for name in table.columns if name in names]):
            return ()
        raise UnclearError(
            "it was not made of all complete records of the data: of other data, or with a filter that its command does not show. "
            "Give a recipe."
        )
    if rows is None or placement.n == rows:
        return cut if rows is None else ()
    return (
        *cut,
        "it was not made of all records: some have missing values, or a filter does not show in its command",
    )


def _complete(table: Table, names: Sequence[str]) -> int:
    """How many records have no missing value in some columns."""
    import pyarrow.compute as pc

    valid = [pc.is_valid(table.data.column(name)) for name in names]
    return int(pc.sum(reduce(pc.and_, valid)).as_py() or 0) if valid else table.n_rows


def _largest_n(directory: AcroDirectory) -> int | None:
    """The largest number of records that a regression says it was made of."""
    numbers = (
        int(float(after))
        for result in directory.results
        for file in result.tables
        for row in file.rows or ()
        for cell, after in pairwise(row)
        if cell == "No. Observations:" and after.replace(".", "", 1).isdigit()
    )
    return max(numbers, default=None)


def _mentioned_names(call: Call) -> set[str]:
    """Attributes and words in quotes that stand in a call's arguments: columns are among them."""
    arguments = (*call.arguments.values(), *call.names.values())
    nodes = [node for argument in arguments for node in ast.walk(argument)]
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    names = {word for text in texts for word in formula_words(text)}
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}.union(texts, names)
