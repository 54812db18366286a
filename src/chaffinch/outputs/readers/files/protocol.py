"""What readers of files work with: the pieces that they claim, what outputs.toml says of these, and what is given back.

A reader of text claims pieces of a file (`Match`), each with a way to what it says (`ParsedOutput`). An output comes back with its place (`ReadOutput`), or as
a question with the line of TOML that answers it (`UnreadOutput`). Such lines stand in `outputs.toml`, a small file beside the output files:

    "t3.csv" = { kind = "table", by = ["sex", "work"] }
    "book.xlsx::Sheet2" = { decimal = "," }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import Field as Key

from ...._base.checks import check_name
from ...._base.documents import parse_document, toml_value, validate_document
from ...._base.errors import InputError, unknown_name
from ...._base.files import read_small
from ...._base.registry import Registry
from ...._base.results import without_none
from ...rules.findings import RuleFinding, Status
from ..understood import check_reasons

if TYPE_CHECKING:
    from .parsed import ParsedOutput

SIDECAR = "outputs.toml"
MOST_BYTES = 1 << 20


READERS: Registry[TextReader] = Registry("reader", __package__, "programs.*")
"""All readers of text, in the order in which they are asked: that of the names of their modules."""


@dataclass(frozen=True)
class Location:
    """Where an output stands: the file, the sheet of a workbook, the line (or row) at which it begins."""

    file: str
    sheet: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        sheet = "" if self.sheet is None else f", sheet '{self.sheet}'"
        return f"{self.file}{sheet}{'' if self.line is None else f', line {self.line}'}"


class LineError(InputError):
    """Something in a file that cannot be read, with its line."""

    def __init__(self, line: int, fault: str) -> None:
        super().__init__(f"line {line}: {fault}")
        self.line, self.fault = line, fault[:1].upper() + fault[1:]


def check_lines(*faults: tuple[object, int, str]) -> None:
    """Raise LineError for the first of some faults that there is: each is whether it is, its line and what it says."""
    for is_there, line, fault in faults:
        if is_there:
            raise LineError(line, fault)


class OpenQuestionError(Exception):
    """That something cannot be told: what was understood, what is asked, and the keys of the line that says it, if one can."""

    def __init__(self, understood: str, question: str, keys: dict[str, Any] | None = None) -> None:
        super().__init__(question)
        self.understood, self.question, self.keys = understood, question, keys or {}


@dataclass(frozen=True)
class ReadOutput:
    """An output that was read from a file."""

    name: str
    location: Location
    program: str
    parsed: ParsedOutput = field(repr=False)

    @property
    def understood(self) -> str:
        """What was understood."""
        return f"{self.program}: {self.parsed.understood}"


@dataclass(frozen=True)
class UnreadOutput:
    """Something in a file that cannot be told without help: what was understood, what is not clear, and the line of TOML that says it.

    `verdict` is `fail` where what was understood fails all the same; `findings` are what the rules say of what was understood.
    """

    name: str
    location: Location
    understood: str
    question: str
    line: str = ""
    kind: str = ""
    verdict: Status = "not assessed"
    findings: tuple[RuleFinding, ...] = field(default=(), repr=False)

    @property
    def reason(self) -> str:
        """The question in full."""
        ask = f" Write in outputs.toml beside it: {self.line}" if self.line else ""
        return " ".join(
            sentence
            for sentence in (f"{self.location}:", self.understood, f"{self.question}{ask}")
            if sentence
        )


@dataclass(frozen=True)
class Match:
    """Lines of a file, numbered from 1, that one output stands in; `parse` reads them with what outputs.toml says of it."""

    lines: range
    program: str
    parse: Callable[[Annotation], ParsedOutput] = field(repr=False)

    @property
    def line(self) -> int:
        """The first line."""
        return self.lines[0]


def unreadable_match(lines: range, program: str, error: LineError) -> Match:
    """Return lines that cannot be read: whoever asks for what they say is told why."""

    def fail(annotation: Annotation) -> ParsedOutput:
        raise error

    return Match(lines, program, fail)


@dataclass(frozen=True)
class TextReader:
    """A reader of text: finds the outputs that it knows. Lines that no reader claims, and that hold numbers, are said to be not understood."""

    name: str
    sentence: str
    matches: Callable[[Sequence[str]], Iterable[Match]]


class Annotation(BaseModel):
    """What a line says of one output.

    `kind`, `by`, `of`, `formula`, `where`, `n`, `success`, `percentages`, `threshold` and `base` are as in a file of outputs; `columns` renames:
    from what is printed to the column of the data. `decimal` is the decimal sign, `totals = false` says that a last row called so is a level.
    `exponentiated`: whether coefficients are odds ratios and the like. `ignore` leaves the output out: it is listed as ignored, and does not
    pass unless that is accepted.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    kind: Annotated[str, Key(min_length=1)] | None = None
    by: list[str] | None = None
    variable: str | None = Key(default=None, alias="of")
    formula: str | None = None
    where: str | None = None
    n: Annotated[int, Key(ge=0)] | None = None
    success: bool | int | float | str | None = None
    percentages: Literal["all", "rows", "columns"] | None = None
    threshold: Annotated[int, Key(ge=1)] | None = None
    base: Annotated[int, Key(ge=1)] = 1
    columns: dict[str, str] = Key(default_factory=dict)
    decimal: Literal[".", ","] | None = None
    totals: bool | None = None
    exponentiated: bool | None = None
    ignore: bool = False

    @model_validator(mode="after")
    def _kind_is_known(self) -> Annotation:
        from ...kinds import KINDS

        if self.kind is not None:
            check_name("kind", self.kind, KINDS.names)
        return self


def homes_of(name: str) -> tuple[str, str, str]:
    """Return the name of an output, of its sheet and of its file.

    Examples
    --------
    >>> homes_of("b.xlsx::two #1"), homes_of("t.csv")
    (('b.xlsx::two #1', 'b.xlsx::two', 'b.xlsx'), ('t.csv', 't.csv', 't.csv'))
    """
    sheet = name.split(" #")[0]
    return name, sheet, sheet.split("::")[0]


@dataclass(frozen=True)
class Sidecar:
    """The lines of such a file, by the names of outputs; a line for a whole file holds for each output in it."""

    path: Path
    lines: Mapping[str, Annotation] = field(default_factory=dict)
    remark: int | None = None
    """The first line that is a comment with numbers in it."""

    @classmethod
    def read(cls, path: Path) -> Sidecar:
        """Return what a file says; nothing where there is none. InputError for a line that breaks a rule."""
        if not path.exists():
            return cls(path)
        text = read_small(
            path, what="file of help", max_bytes=MOST_BYTES, next_step=f"Write {SIDECAR} as TOML."
        )
        data = parse_document(text, str(path))
        bare = next((name for name, keys in data.items() if not isinstance(keys, dict)), None)
        check_reasons(
            (
                "format" in data,
                f"'{path}' is a file of outputs, and stands where help for the other files is looked for. Check it by itself, or move it.",
            ),
            (
                bare is not None,
                f'\'{path}\': "{bare}" must have keys in braces, such as {{ kind = "table" }}.',
            ),
        )
        lines = {
            name: validate_document(Annotation, keys, f"'{path}', \"{name}\"")
            for name, keys in data.items()
        }
        numbered = enumerate(text.splitlines(), 1)
        remark = next((number for number, line in numbered if re.match(r"\s*+#.*\d", line)), None)
        return cls(path, lines, remark)

    def annotation(self, name: str) -> Annotation:
        """Return the help for an output: its own line, that of its sheet or file otherwise."""
        return next(
            (self.lines[home] for home in homes_of(name) if home in self.lines), Annotation()
        )

    def check(self, names: Sequence[str]) -> None:
        """Raise InputError for a line that is about none of some outputs, and about no other file that stands beside."""
        known = {home for name in names for home in homes_of(name)}
        for name in self.lines:
            file = homes_of(name)[-1]
            is_beside = file not in known and (self.path.parent / file).is_file()
            if name not in known and not is_beside:
                raise InputError(f"'{self.path}': {unknown_name('output', name, sorted(known))}")


def toml_line(name: str, keys: Mapping[str, Any]) -> str:
    """Return one line of TOML for an output.

    Examples
    --------
    >>> toml_line("t.csv", {"kind": "table", "by": ["sex", "work"]})
    '"t.csv" = { kind = "table", by = ["sex", "work"] }'
    """
    entries = ", ".join(f"{key} = {toml_value(value)}" for key, value in keys.items())
    return f"{toml_value(name)} = {{ {entries} }}"


def fit_keys(annotation: Annotation) -> dict[str, Any]:
    """Return what a line of help says of a model, by the names of its facts."""
    names = ("kind", "formula", "n", "where", "success", "exponentiated")
    label, sign, _ = (annotation.formula or "").partition("~")
    keys = {name: getattr(annotation, name) for name in names}
    keys |= {"label": label.strip() if sign else None, "columns": annotation.columns or None}
    return without_none(keys)
