"""The command that does the same: what a screen shows, and what a run runs. One place turns choices into words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    words = ["release", choices.source, "-o", str(output), *_reading(choices)]
    if choices.epsilon is not None:
        words += _domain(choices)
    else:
        words += ["--schema", str(schema)]  # what the page shows is what runs, rules included
    for option, value in (
        ("--label", roles.label),
        ("--weight", roles.weight),
        ("--person-id", roles.person),
        ("--order-by", roles.order),
    ):
        words += [option, value] if value else []
    words += ["--keys", ",".join(roles.keys)] if roles.keys else []
    words += ["--sensitive", ",".join(roles.sensitive)] if roles.sensitive else []
    words += [
        word for name, decision in roles.decisions for word in ("--personal", f"{name}={decision}")
    ]
    words += ["--holdout", choices.holdout] if choices.holdout else []
    words += (
        ["--max-excess", f"{choices.max_excess:g}"]
        if choices.max_excess is not None and roles.keys and roles.sensitive
        else []
    )
    words += _promise(choices)
    words += ["--ledger", choices.ledger] if choices.ledger and choices.epsilon is not None else []
    words += [word for edge in choices.require for word in ("--require", edge)]
    words += [word for edge in choices.forbid for word in ("--forbid", edge)]
    words += ["--thorough"] if choices.thorough else []
    words += (
        ["--seed", str(choices.seed)]
        if choices.seed is not None and choices.epsilon is None
        else []
    )
    return words


def plan_words(choices: ProjectChoices, rows: int) -> list[str]:
    """Return the words that say what to expect of a budget."""
    return ["plan", choices.source, *_domain(choices), *_promise(choices), "--rows", str(rows)]


def check_words(choices: ProjectChoices, roles: Roles, outputs: Path, written: Path) -> list[str]:
    """Return the words that judge outputs: by rules alone where no data, keys and sensitive columns are named."""
    words = [
        "check",
        str(outputs),
        "--json",
        str(written / "check.json"),
        "--html",
        str(written / "check.html"),
    ]
    if not (choices.source and roles.keys and roles.sensitive):
        return [*words, "--rules-only", *(["--data", choices.source] if choices.source else [])]
    return [
        *words,
        "--data",
        choices.source,
        "--keys",
        ",".join(roles.keys),
        "--sensitive",
        ",".join(roles.sensitive),
    ]


def shown_command(words: Sequence[str]) -> str:
    """Return a command as one types it."""
    return shlex.join(["chaffinch", *words])


def _reading(choices: ProjectChoices) -> list[str]:
    given = (
        ("--encoding", choices.encoding),
        ("--delimiter", choices.delimiter),
        ("--decimal", choices.decimal),
    )
    return [word for option, value in given if value for word in (option, value)]


def _domain(choices: ProjectChoices) -> list[str]:
    return ["--schema", choices.domain] if choices.domain else ["--discover", "all"]


def _promise(choices: ProjectChoices) -> list[str]:
    if choices.epsilon is None:
        return []
    return [
        "--epsilon",
        f"{choices.epsilon:g}",
        *(["--delta", f"{choices.delta:g}"] if choices.delta is not None else []),
    ]
