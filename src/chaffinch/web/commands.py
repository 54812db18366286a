"""The command that does the same as a screen: choices become words in one place, which screens show and runs run.

What columns are for stands in the text of a schema: it is read from there and written there, and the rest of the text stays as somebody wrote it.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._base.conditions import Determines
from .._base.documents import toml_key, toml_value
from .._base.errors import ChaffinchError, InputError, join_names
from ..table.rules.constraints import names_in_rule
from ..table.rules.relations import parse_rule
from ..table.schema import Column, Schema
from ..table.schema_file import schema_from_toml
from .fields import option_words
from .project import ProjectChoices


@dataclass(frozen=True)
class Roles:
    """What columns are for, by name, and what becomes of those that say who somebody is."""

    label: str = ""
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    weight: str = ""
    person: str = ""
    order: str = ""
    decisions: tuple[tuple[str, str], ...] = ()


def describe_words(choices: ProjectChoices) -> list[str]:
    """Return the words that say what a file holds."""
    return ["describe", choices.source, *_reading(choices)]


def release_words(choices: ProjectChoices, roles: Roles, schema: Path, output: Path) -> list[str]:
    """Return the words that make, measure and attack a table."""
    promised, attacked = choices.epsilon is not None, roles.keys and roles.sensitive
    limit = "" if choices.max_excess is None or not attacked else f"{choices.max_excess:g}"
    seed = "" if choices.seed is None or promised else str(choices.seed)
    return [
        *("release", choices.source, "-o", str(output), *_reading(choices)),
        # What the page shows is what runs, rules included.
        *(_domain(choices) if promised else ("--schema", str(schema))),
        *_option_arguments("--label", roles.label),
        *_option_arguments("--weight", roles.weight),
        *_option_arguments("--person-id", roles.person),
        *_option_arguments("--order-by", roles.order),
        *_option_arguments("--keys", ",".join(roles.keys)),
        *_option_arguments("--sensitive", ",".join(roles.sensitive)),
        *_option_arguments(
            "--personal", *(f"{name}={decision}" for name, decision in roles.decisions)
        ),
        *_option_arguments("--holdout", choices.holdout),
        *_option_arguments("--max-excess", limit),
        *_promise(choices),
        *_option_arguments("--ledger", choices.ledger if promised else ""),
        *_option_arguments("--require", *choices.require),
        *_option_arguments("--forbid", *choices.forbid),
        *_option_arguments("--attackers", ",".join(choices.attackers)),
        *(["--thorough"] if choices.thorough else []),
        *option_words("release", choices.options),
        *_option_arguments("--seed", seed),
    ]


def _option_arguments(option: str, *values: str) -> list[str]:
    """An option with each of its values; nothing for an empty one."""
    return [word for value in values if value for word in (option, value)]


def plan_words(choices: ProjectChoices, rows: int) -> list[str]:
    """Return the words that say what to expect of a budget."""
    return ["plan", choices.source, *_domain(choices), *_promise(choices), "--rows", str(rows)]


def check_words(choices: ProjectChoices, roles: Roles, outputs: Path, written: Path) -> list[str]:
    """Return the words that judge outputs: by rules alone where no data, keys and sensitive columns are named."""
    arguments = [
        "check",
        str(outputs),
        "--json",
        str(written / "check.json"),
        "--html",
        str(written / "check.html"),
        *option_words("check", choices.check_options),
    ]
    if not (choices.source and roles.keys and roles.sensitive):
        return [*arguments, "--rules-only", *(["--data", choices.source] if choices.source else [])]
    return [
        *arguments,
        "--data",
        choices.source,
        "--keys",
        ",".join(roles.keys),
        "--sensitive",
        ",".join(roles.sensitive),
    ]


def shown_command(arguments: Sequence[str]) -> str:
    """Return a command as one types it."""
    return shlex.join(["chaffinch", *arguments])


def _reading(choices: ProjectChoices) -> list[str]:
    return [
        *_option_arguments("--encoding", choices.encoding),
        *_option_arguments("--delimiter", choices.delimiter),
        *_option_arguments("--decimal", choices.decimal),
    ]


def _domain(choices: ProjectChoices) -> list[str]:
    return ["--schema", choices.domain] if choices.domain else ["--discover", "all"]


def _promise(choices: ProjectChoices) -> list[str]:
    if choices.epsilon is None:
        return []
    delta = "" if choices.delta is None else f"{choices.delta:g}"
    return ["--epsilon", f"{choices.epsilon:g}", *_option_arguments("--delta", delta)]


# What columns are for, in the text of a schema.

CHOSEN = ("other", "key", "sensitive", "label", "weight", "identifier", "person", "order")
"""Roles in the order in which one chooses among them."""

NOT_KEPT = "not kept: "
"""What begins the comment on a rule that a choice on this page rules out."""

_RULE_LINE = re.compile(
    r'(?P<indent>\s*)(?P<off># )?(?P<rule>"(?:[^"\\]|\\.)*"),?\s*(?:#\s*(?P<comment>.*))?'
)


def roles_of(text: str) -> Roles:
    """Return what a schema says of roles and of columns that say who somebody is; nothing of one that is not there yet."""
    if not text:
        return Roles()
    return _roles(schema_from_toml(text, name="schema.toml"))


def _roles(schema: Schema) -> Roles:
    decided = tuple((column.name, decision) for column in schema if (decision := _decision(column)))
    singles = {role: schema.only(role) or "" for role in ("label", "weight", "person", "order")}
    return Roles(
        keys=schema.with_role("key"),
        sensitive=schema.with_role("sensitive"),
        decisions=decided,
        **singles,
    )


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
    end = next(
        (i for i in range(start + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines)
    )
    known = re.compile(rf"{re.escape(key)}\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^#]*?)\s*(?=#|$)")
    for i in range(start + 1, end):
        if (match := known.match(lines[i].strip())) is not None:
            rest = lines[i].strip()[match.end() :]
            lines[i : i + 1] = (
                [f"{key} = {toml_value(value)}" + (f"  {rest}" if rest else "")] if value else []
            )
            return "\n".join(lines)
    if value:
        last = max(i for i in range(start, end) if lines[i].strip())
        lines.insert(last + 1, f"{key} = {toml_value(value)}")
    return "\n".join(lines)


def with_choices(text: str, chosen: str, before: str) -> str:
    """Return the text of a schema with the roles and decisions of another, as far as those differ from what they were before somebody chose."""
    schema, chosen_schema, old = (
        schema_from_toml(schema_text, name="schema.toml") for schema_text in (text, chosen, before)
    )
    known = set(schema.names)
    for column in chosen_schema:
        if column.name not in known or column.name not in old.names:
            continue
        for key in ("role", "output"):
            if getattr(column, key) != getattr(old[column.name], key):
                text = with_entry(text, column.name, key, getattr(column, key))
    return with_rules_in_step(text)


def with_rules_in_step(text: str) -> str:
    """Return the text of a schema in which rules that a run cannot keep are comments that say why, and those that it can keep again are rules again.

    A run keeps no rule about a column that is left out or made up, and in a panel none at all.

    Examples
    --------
    >>> text = 'format = "chaffinch-schema"\\nversion = 1\\nrules = [\\n    "a < b",\\n]\\n[columns]\\na = "drop"\\nb = "integer"'
    >>> print(with_rules_in_step(text).split("\\n")[3])
        # "a < b",  # not kept: column 'a' is left out
    """
    schema = schema_from_toml(text, name="schema.toml", with_rules=False)
    lines = text.split("\n")
    start = next(
        (i for i, line in enumerate(lines) if re.match(r"\s*rules\s*=\s*\[", line)), len(lines)
    )
    end = next(
        (i for i in range(start, len(lines)) if lines[i].lstrip().startswith("[")), len(lines)
    )
    for i in range(start + 1, end):
        line = _RULE_LINE.fullmatch(lines[i])
        comment = "" if line is None else line["comment"] or ""
        if line is None or (line["off"] and NOT_KEPT not in comment):
            continue  # a suggestion, or no rule
        reason = _not_kept(tomllib.loads(f"rule = {line['rule']}")["rule"], schema)
        remarks = [
            remark
            for remark in (
                comment.partition(NOT_KEPT)[0].rstrip("; "),
                f"{NOT_KEPT}{reason}" if reason else "",
            )
            if remark
        ]
        if reason or line["off"]:
            lines[i] = f"{line['indent']}{'# ' if reason else ''}{line['rule']}," + (
                f"  # {'; '.join(remarks)}" if remarks else ""
            )
    return "\n".join(lines)


def _not_kept(text: str, schema: Schema) -> str:
    """Why a run of the page cannot keep a rule; empty where it can, and where the rule is wrong in itself."""
    try:
        rule, names = parse_rule(text), names_in_rule(text, schema)
    except ChaffinchError:
        return ""
    roles = _roles(schema)
    decisions = dict(roles.decisions)
    is_left_out = {
        column.name: decisions.get(column.name, "drop" if column.role == "identifier" else "keep")
        != "keep"
        for column in schema
    }
    if left_out := sorted(name for name in names if is_left_out.get(name)):
        many = len(left_out) > 1
        named = join_names(f"'{name}'" for name in left_out)
        return f"column{'s' if many else ''} {named} {'are' if many else 'is'} left out"
    if roles.person and not (isinstance(rule, Determines) and rule.determinant == roles.person):
        return "rows that are drawn for persons keep no rules yet"
    return ""
