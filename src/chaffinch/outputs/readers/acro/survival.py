"""ACRO's survival tables as Kaplan-Meier outputs: numbers at risk and events at times."""

from __future__ import annotations

from typing import Any

from ...._base.errors import InputError
from ...domain import Field, Fields
from .commands import Call, referred_column, where_of
from .comparisons import ComparedColumn, read_comparison
from .read import AcroResult, UnclearError
from .tables import ReadOutput, number_of, plain_number


def survival_outputs(result: AcroResult, fields: Fields, call: Call | None) -> list[ReadOutput]:
    """Return the output in a table of a survival function; UnclearError where time and event cannot be told.

    Numbers at risk and of events tell the survival and its errors, which are left out. In tables with suppression ACRO adds a coarser
    survival but leaves the numbers as they are.
    """
    if call is None:
        raise UnclearError(
            "its command is cut off, and only that says which columns are time and event: give a recipe"
        )
    if set(call.arguments) - {"time", "status", "output", "title", "filename", "bw_factor"}:
        raise UnclearError(
            "survival with entry times, weights or covariates is not supported: give a recipe"
        )
    filters: list[str] = []
    names: list[str] = []
    comparison: ComparedColumn | None = None
    for place in ("time", "status"):
        node = call.argument(place)
        comparison = read_comparison(node, call) if node is not None and place == "status" else None
        column, some = (
            (None, []) if node is None or comparison is not None else referred_column(node, call)
        )
        if comparison is not None:
            column, some = comparison.column, list(comparison.filters)
        if column is None or column not in fields.names:
            raise UnclearError(
                "its command does not say which columns are time and event: give a recipe"
            )
        names.append(column)
        filters += some
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
        "time": names[0],
        "event": names[1],
        "level": fields[names[1]].levels[_event(fields[names[1]])]
        if comparison is None
        else comparison.level(fields[names[1]]),
        "times": [float(time) for time in times],
        "at_risk": at_risk,
        "events": events,
        **where_of(filters),
    }
    return [ReadOutput(entry)]


def _event(field: Field) -> int:
    """The level that is 1."""
    for level in (1, True):
        try:
            return field.code(level)
        except InputError:
            continue
    raise UnclearError(f"column '{field.name}' has no level 1, which is the event: give a recipe")
