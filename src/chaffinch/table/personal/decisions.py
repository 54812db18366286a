"""What becomes of columns that look as if they said who somebody is: nothing is synthesised before somebody has said it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..._base.errors import PersonalDataError, unknown_name
from ..schema import UNKNOWN, Column, Schema
from ..schema_file import FORMAT, VERSION, toml_key, toml_value
from .detect import undecided, with_evidence
from .evidence import IdentifierEvidence

DECISIONS = ("drop", "fake", "keep")
"""What may become of such a column: it is left out, made up, or synthesised like any other."""


def check_decided(columns: Iterable[Column]) -> None:
    """Raise PersonalDataError, with all that is to be written, if columns look as if they said who somebody is and nobody decided on them."""
    if reasons := undecided(columns):
        raise PersonalDataError(_message(reasons))


def check_declared_decided(schema: Schema) -> None:
    """The same under a promise of privacy: by names and declarations alone, whatever was found in records."""
    check_decided(with_evidence(schema))


def _message(reasons: Mapping[str, IdentifierEvidence]) -> str:
    width = max(map(len, reasons))
    found = [f"  {name:{width}}  {evidence}" for name, evidence in reasons.items()]
    block = [
        f'format = "{FORMAT}"',
        f"version = {VERSION}",
        "",
        "[columns]",
        *(f'{toml_key(name)} = "drop"' for name in reasons),
    ]
    options = " ".join(f"--personal {_shell(f'{name}=drop')}" for name in reasons)
    words = ", ".join(f'{toml_value(name)}: "drop"' for name in reasons)
    return "\n".join(
        [
            "These columns look as if they said who somebody is, and would be synthesised like any other:",
            *found,
            'Say what becomes of each: "drop" leaves it out, "fake" makes values up, "keep" synthesises it all the same. A schema may say no more than this:',
            "",
            *block,
            "",
            f"On the command line: {options}",
            f"In Python: schema={{{words}}}, for chaffinch.release or chaffinch.read",
        ]
    )


def _shell(word: str) -> str:
    import shlex

    return shlex.quote(word)


def with_decisions(schema: Schema | None, decisions: Mapping[str, str]) -> Schema | None:
    """Return a schema with what was decided of columns; without one, a schema that says nothing else."""
    if not decisions:
        return schema
    for decision in decisions.values():
        if decision not in DECISIONS:
            raise unknown_name("decision", decision, DECISIONS)
    known = () if schema is None else schema.columns
    changed = tuple(
        _decided(column, decisions[column.name]) if column.name in decisions else column
        for column in known
    )
    named = {column.name for column in known}
    new = tuple(
        _decided(Column(name, UNKNOWN), decision)
        for name, decision in decisions.items()
        if name not in named
    )
    return Schema((*changed, *new)) if schema is None else replace(schema, columns=(*changed, *new))


def _decided(column: Column, decision: str) -> Column:
    if decision != "keep":
        same = column.output == "fake" == decision
        return Column(
            column.name,
            "identifier",
            "person" if column.role == "person" else "identifier",
            column.type,
            column.title,
            output=decision,  # type: ignore[arg-type]
            form=column.form if same else "",
            repeats=column.repeats if same else None,
            reason="as was decided",
        )
    if column.modelled:
        return replace(column, output="keep")
    return Column(column.name, UNKNOWN, missing=column.missing, title=column.title, output="keep")
