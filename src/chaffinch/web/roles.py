"""What columns are for, read from and written into the text of a schema: the rest of the text stays as somebody wrote it."""

from __future__ import annotations

import re
from dataclasses import replace

from .._base.errors import InputError
from ..table.schema import Column, Schema
from ..table.schema_file import schema_from_toml, toml_key, toml_value
from .commands import Roles

__all__ = ["CHOSEN", "differs", "roles_of", "with_choices", "with_entry"]

CHOSEN = ("other", "key", "sensitive", "label", "weight", "identifier", "person", "order")
"""Roles in the order in which one chooses among them."""


def roles_of(text: str) -> Roles:
    """Return what a schema says of roles and of columns that say who somebody is; nothing of one that is not there yet."""
    if not text:
        return Roles()
    schema = schema_from_toml(text, name="schema.toml")
    decided = tuple((column.name, decision) for column in schema if (decision := _decision(column)))
    one = {role: schema.only(role) or "" for role in ("label", "weight", "person", "order")}
    return Roles(keys=schema.with_role("key"), sensitive=schema.with_role("sensitive"), decisions=decided, **one)


def _decision(column: Column) -> str:
    """What becomes of a column that says who somebody is; one that has the role of an identifier and would be modelled is left out."""
    if column.output in ("drop", "fake", "keep"):
        return column.output
    return "drop" if column.role == "identifier" and column.modelled else ""


def with_entry(text: str, column: str, key: str, value: str) -> str:
    """Return the text of a schema in which a column's entry says `key = value`; without that line where the value is empty.

    Examples
    --------
    >>> print(with_entry('[columns.age]\\nkind = "integer"\\nrole = "other"  # perhaps', "age", "role", "key"))
    [columns.age]
    kind = "integer"
    role = "key"  # perhaps
    """
    lines = text.split("\n")
    head = f"[columns.{toml_key(column)}]"
    if head not in (line.strip() for line in lines):
        raise InputError(f"The schema has no entry for column '{column}'. Write {head} first.")
    start = next(i for i, line in enumerate(lines) if line.strip() == head)
    end = next((i for i in range(start + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
    known = re.compile(rf"{re.escape(key)}\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^#]*?)\s*(?=#|$)")
    for i in range(start + 1, end):
        if (found := known.match(lines[i].strip())) is not None:
            rest = lines[i].strip()[found.end() :]
            lines[i : i + 1] = [f"{key} = {toml_value(value)}" + (f"  {rest}" if rest else "")] if value else []
            return "\n".join(lines)
    if value:
        last = max(i for i in range(start, end) if lines[i].strip())
        lines.insert(last + 1, f"{key} = {toml_value(value)}")
    return "\n".join(lines)


def with_choices(text: str, chosen: str, before: str) -> str:
    """Return the text of a schema with the roles and decisions of another, as far as those differ from what they were before somebody chose."""
    found, made, old = (schema_from_toml(one, name="schema.toml") for one in (text, chosen, before))
    known = set(found.names)
    for column in made:
        if column.name not in known or column.name not in old.names:
            continue
        for key in ("role", "output"):
            if getattr(column, key) != getattr(old[column.name], key):
                text = with_entry(text, column.name, key, getattr(column, key))
    return text


def differs(text: str, looked: str) -> bool:
    """Whether a schema says more than the roles of what was found when the file was looked at: only then it is followed in all it says."""
    return _bare(text) != _bare(looked)


def _bare(text: str) -> Schema:
    schema = schema_from_toml(text, name="schema.toml")
    columns = tuple(replace(one, role="other", output="", form="", repeats=None, reason="") for one in schema)
    return replace(schema, columns=columns, rules=tuple(sorted(schema.rules)))
