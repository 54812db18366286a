"""What readers of files give back: an output with its place, or a question with the line of TOML that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...._base.errors import InputError
from ...domain import Fields
from ...rules.findings import Finding, Status
from ...rules.policy import Policy


@dataclass(frozen=True)
class Place:
    """Where an output stands: the file, the sheet of a workbook, the line (or row) at which it begins."""

    file: str
    sheet: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        sheet = "" if self.sheet is None else f", sheet '{self.sheet}'"
        return f"{self.file}{sheet}{'' if self.line is None else f', line {self.line}'}"


class LineError(InputError):
    """Something in a file that cannot be read, with its line."""

    def __init__(self, line: int, words: str) -> None:
        super().__init__(f"line {line}: {words}")
        self.line = line


class Facts(Protocol):
    """What an output says, whatever program printed it."""

    @property
    def kind(self) -> str:
        """The kind of output, as registered."""

    @property
    def understood(self) -> str:
        """What was understood, in a sentence; without numbers of people."""

    @property
    def variables(self) -> list[str]:
        """Words among which are the columns that it is about."""

    @property
    def people(self) -> int | None:
        """How many people it is of, where the file says so."""

    def entries(self, name: str, fields: Fields) -> list[dict[str, Any]]:
        """Return the entries of a file of outputs that say the same of columns of data; InputError where columns do not fit."""

    def findings(self, name: str, policy: Policy) -> list[Finding]:
        """Return what the rules say of the printed numbers alone; what needs the records is not assessed."""

    def beside(self, name: str, policy: Policy) -> list[Finding]:
        """Return what is to be said of numbers that no entry holds."""


@dataclass(frozen=True)
class FoundOutput:
    """An output that was read from a file."""

    name: str
    place: Place
    program: str
    facts: Facts = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def understood(self) -> str:
        """What was understood, and what was not used."""
        return " ".join([f"{self.program}: {self.facts.understood}", *self.notes])


@dataclass(frozen=True)
class UnclearOutput:
    """Something in a file that cannot be told without help: what was understood, what is not clear, and the line of TOML that says it.

    `verdict` is `fail` where what was understood fails all the same; `findings` are what the rules say of what was understood.
    """

    name: str
    place: Place
    understood: str
    question: str
    line: str = ""
    kind: str = ""
    verdict: Status = "not assessed"
    findings: tuple[Finding, ...] = field(default=(), repr=False)

    @property
    def reason(self) -> str:
        """The question in full."""
        ask = f" Write in outputs.toml beside it: {self.line}" if self.line else ""
        return " ".join(
            part for part in (f"{self.place}:", self.understood, f"{self.question}{ask}") if part
        )


def toml_line(name: str, keys: Mapping[str, Any]) -> str:
    """Return one line of TOML for an output.

    Examples
    --------
    >>> toml_line("t.csv", {"kind": "table", "by": ["sex", "work"]})
    '"t.csv" = { kind = "table", by = ["sex", "work"] }'
    """
    return f"{_toml(name)} = {{ {', '.join(f'{key} = {_toml(value)}' for key, value in keys.items())} }}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)
