"""The interactive pass over a schema: a question for each column, a suggestion where there is one, and nothing assumed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from .._base.errors import InputError, SchemaError
from ..table.infer import suggested_role
from ..table.personal.detect import DECISIONS, undecided_columns, with_decisions
from ..table.persons import schema_with_persons
from ..table.schema import ROLES, Schema
from .command import echo

WAYS = f"{', '.join(ROLES)}; drop, fake or keep; ? for what they mean; q to leave the rest as it is"
MEANINGS = (
    "  key        others may know it of a person: a quasi-identifier\n"
    "  sensitive  what an attacker would like to learn\n"
    "  label      what a learner is to predict; one column\n"
    "  weight     how many people a record stands for; one column\n"
    "  person     whose row it is, where people have several;  order  what orders a person's rows\n"
    "  identifier says who somebody is: left out\n"
    "  drop       left out;  fake  made-up values;  keep  synthesised although it looks like an identifier\n"
    "  Enter      as it is"
)
STOP = "q"


def typed_answer(question: str) -> str | None:
    """Ask on standard error, and return the next line of standard input; None where it has ended."""
    echo(question, err=True, nl=False)
    line = sys.stdin.readline()
    return line.strip() if line else None


def edited_schema(schema: Schema, ask: Callable[[str], str | None] = typed_answer) -> Schema:
    """Return a schema with what was answered of each column. An empty answer leaves a column as it is; the end of the answers all others."""
    echo(f"For each column a role or a decision: {WAYS}.", err=True)
    for number, column in enumerate(schema.columns, start=1):
        suggestion = suggested_role(column)
        perhaps = (
            f" Perhaps {suggestion.role}: {suggestion.reason}."
            if suggestion is not None and column.role == "other"
            else ""
        )
        open_question = (
            " It stops synth, fit and release until you say drop, fake or keep."
            if undecided_columns([column])
            else ""
        )
        echo(
            f"{number}/{len(schema.columns)} {column.name}: {column.kind}, {column.reason}.{perhaps}{open_question}",
            err=True,
        )
        while True:
            answer = ask(f"  [{column.role}] ")
            if answer is None or answer == STOP:
                return schema
            if answer == "?":
                echo(MEANINGS, err=True)
                continue
            try:
                schema = _ask_answer(schema, column.name, answer)
            except InputError as error:
                echo(f"  {error}", err=True)
                continue
            break
    return schema


def _ask_answer(schema: Schema, name: str, answer: str) -> Schema:
    """Return the schema with one answer; SchemaError for a word that says nothing."""
    if not answer:
        return schema
    matches = [word for word in (*ROLES, *DECISIONS) if word.startswith(answer.lower())]
    word = (
        answer.lower()
        if answer.lower() in (*ROLES, *DECISIONS)
        else matches[0]
        if len(matches) == 1
        else ""
    )
    if not word:
        raise SchemaError(f"'{answer}' is none of them: {WAYS}.")
    if word in DECISIONS or word == "identifier":
        decided = with_decisions(schema, {name: "drop" if word == "identifier" else word})
        assert decided is not None
        return decided
    if word in ("person", "order"):
        return schema_with_persons(
            schema, name if word == "person" else None, name if word == "order" else None
        )
    return replace(
        schema,
        columns=tuple(replace(c, role=word) if c.name == name else c for c in schema.columns),  # type: ignore[arg-type]
    )
