"""Outputs from files over the columns of data: those that fit go the whole way, the others say why they do not."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...._base.errors import InputError
from ...._base.masking import THRESHOLD
from ...document import Outputs, named_columns, recipes_of
from ...domain import Field
from ...records import TableCoder, fields_of_table
from ...rules import Policy
from ...rules.findings import Finding
from .found import FoundOutput, UnclearOutput
from .microdata import RecordLookup, without_records
from .read import OutputFiles


@dataclass(frozen=True)
class FileRecipes:
    """Outputs of files as recipes over columns of data; `files` has those that do not fit among what is unclear."""

    files: OutputFiles
    recipes: Outputs


def recipes_of_files(
    files: OutputFiles,
    coder: TableCoder,
    names: Sequence[str] = (),
    *,
    declared: Sequence[Field] = (),
    threshold: int = THRESHOLD,
    policy: Policy | None = None,
) -> FileRecipes:
    """Return the outputs of files over the columns of a table that they, or some `names`, are about; no output stops another.

    Rows that are records of the table fail. Those that do not fit are judged by their printed numbers alone, by the rules of a `policy`: they may fail, and are not assessed otherwise.
    """
    policy = policy or Policy()
    if files.printed:
        files = without_records(
            files,
            RecordLookup(
                coder.table.to_arrow(), threshold=policy.threshold, n_persons=coder.table.n_persons
            ),
        )
    words = {*names, *(word for one in files.found for word in one.facts.variables)}
    for one in files.found:
        with contextlib.suppress(
            InputError
        ):  # a filter that cannot be read is a fault of its own output
            words |= set(
                named_columns(
                    [{"kind": one.facts.kind, "where": getattr(one.facts, "where", None)}],
                    coder.table.columns,
                )
            )
    wanted = [name for name in coder.table.columns if name in words]
    fields = fields_of_table(
        coder, wanted or coder.table.columns[:1], declared=declared, threshold=threshold
    )
    entries: list[dict[str, Any]] = []
    found, unclear = [], list(files.unclear)
    for one in files.found:
        try:
            own = one.facts.entries(one.name, fields)
            recipes_of(own, fields)
        except InputError as error:
            reason = f"It cannot be put over the columns of the data: {str(error).rstrip('.')}."
            findings = _as_printed(one, policy)
            bad = list(dict.fromkeys(each.rule for each in findings if each.status == "fail"))
            more = f" Its printed numbers fail by themselves: {', '.join(bad)}." if bad else ""
            unclear.append(
                UnclearOutput(
                    one.name,
                    one.place,
                    f"Understood: {one.understood}",
                    f"{reason}{more}",
                    kind=one.facts.kind,
                    verdict="fail" if bad else "not assessed",
                    findings=findings,
                )
            )
            continue
        found.append(one)
        entries += own
    recipes = recipes_of(entries, fields) if entries else Outputs(fields, ())
    return FileRecipes(replace(files, found=tuple(found), unclear=tuple(unclear)), recipes)


def _as_printed(one: FoundOutput, policy: Policy) -> tuple[Finding, ...]:
    """What the rules say of an output as it is printed."""
    try:
        return tuple(one.facts.findings(one.name, policy.of(one.facts.kind)))
    except InputError:
        return ()
