"""A folder of output files, or some files, as outputs: each with its place and what was understood, or with the question that is open."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from ...._base.errors import ChaffinchError, FileError, InputError, listed
from ...._base.masking import THRESHOLD
from ....table.formats.encodings import encoding_of
from ....table.formats.workbook import unread_contents
from ...document import Outputs, named_columns, recipes_of
from ...domain import Field
from ...records import TableCoder, fields_of_table
from ...rules.findings import RuleFinding, RuleReport
from ...rules.policy import Policy
from .crossed import OpenQuestionError
from .grids import CellGrid, blocks_of, csv_grid, html_page, workbook_grids
from .microdata import (
    PrintedRows,
    RecordLookup,
    printed_rows,
    without_printed_records,
    without_records,
)
from .numbers import is_remark
from .protocol import (
    READERS,
    SIDECAR,
    LineError,
    Match,
    Place,
    ReadOutput,
    Sidecar,
    UnreadOutput,
    toml_line,
)
from .sheet_tables import grid_pieces, remarks_of

TABLES = (".csv", ".tsv")
WORKBOOKS = (".xlsx", ".xlsm", ".ods")
TEXTS = (".txt", ".log", ".out", ".lst", ".smcl", ".text", ".rout", ".md")
PAGES = (".html", ".htm")
OLD_WORKBOOKS = (".xls", ".xlsb")
"""Workbooks of which neither the size nor what lies beside the cells can be told before they are unpacked."""
MOST_BYTES = 16 << 20
MOST_LINES = 100_000
MOST_LINE = 20_000
"""Characters of a line of text: more are no output."""
MANY_NUMBERS = 10
"""Numbers of a command from which on it holds data."""
MOST_WORK = 2_000_000_000
"""Sum of the squared lengths of lines: what the rows of a table drawn in text may take to be told apart."""
MOST_OUTPUTS = 1_000
"""Outputs in one file."""
MOST_IN_ALL = 5_000
"""Outputs in all files: each is compared with each other."""
MOST_FILES = 2_000

_DECORATION = re.compile(
    r">.*|\+ .*|\. .*|[-=*_+|\s]++|Signif\. codes:.*|\[\d+\]|name: .*|log: .*|log type: .*|(opened|closed) on: .*"
)


@dataclass(frozen=True)
class OutputFiles:
    """What was found in files: outputs, questions, and what outputs.toml says to leave out."""

    outputs: tuple[ReadOutput, ...]
    unread: tuple[UnreadOutput, ...] = ()
    ignored: tuple[str, ...] = ()
    printed: tuple[PrintedRows, ...] = field(
        default=(), repr=False
    )  # Rows as they stand, to be compared with the records

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all outputs, read or not."""
        return (
            *(one.name for one in self.outputs),
            *(one.name for one in self.unread),
            *self.ignored,
        )

    def only(self, names: Sequence[str]) -> OutputFiles:
        """Return those of some names."""
        return OutputFiles(
            tuple(one for one in self.outputs if one.name in names),
            tuple(one for one in self.unread if one.name in names),
            tuple(name for name in self.ignored if name in names),
            tuple(
                one
                for one in self.printed
                if any(name.split(" #")[0].split("::")[0] == one.file for name in names)
            ),
        )

    def with_beside(self, rules: RuleReport, policy: Policy) -> RuleReport:
        """Return what rules say, and, by a policy, of numbers that stand in the files and in no entry; and what they say of outputs that have none."""
        beside = [
            more
            for one in self.outputs
            for more in one.parsed.beside(one.name, policy.of(one.parsed.kind))
        ]
        unclear = [more for one in self.unread for more in one.findings]
        return replace(rules, findings=(*rules.findings, *beside, *unclear))


def read_files(paths: Sequence[Path]) -> OutputFiles:
    """Return what stands in output files, or in those of one folder; no file stops another.

    Files outside a folder have their help beside the first. FileError for what is no file; InputError where outputs.toml breaks a rule, or names
    an output that there is not.
    """
    files, folder = _listed(paths)
    sidecar = Sidecar.read(folder / SIDECAR)
    found: list[ReadOutput] = []
    unclear: list[UnreadOutput] = []
    ignored: list[str] = []
    names: list[str] = []
    printed: list[PrintedRows] = []
    for file in files:
        parts, faults, rows = _parts(file)
        unclear += faults
        printed += rows
        names += [one.name for one in faults]
        for name, place, piece in parts:
            names.append(name)
            given = sidecar.of(name)
            if given.ignore:
                ignored.append(name)
                continue
            try:
                found.append(ReadOutput(name, place, piece.program, piece.parse(given)))
            except OpenQuestionError as question:
                line = toml_line(name, question.keys) if question.keys else ""
                unclear.append(
                    UnreadOutput(
                        name, place, f"Understood: {question.understood}", question.question, line
                    )
                )
            except LineError as error:
                unclear.append(
                    UnreadOutput(
                        name, Place(place.file, place.sheet, error.line), "", _without_line(error)
                    )
                )
            except Exception:  # a count that is none, a row that is too short: of this output alone, whatever it is
                unclear.append(
                    UnreadOutput(
                        name,
                        place,
                        "",
                        "A number of it cannot be read: it is none, or not of its kind.",
                    )
                )
    if len(names) > MOST_IN_ALL:
        raise InputError(f"There are over {MOST_IN_ALL:,} outputs. Check them in parts.")
    sidecar.check(names)
    if sidecar.remark is not None and paths[0].is_dir():
        words = "Its comments hold numbers, which nobody has looked at. Take them out of the file."
        unclear.append(UnreadOutput(SIDECAR, Place(SIDECAR, line=sidecar.remark), "", words))
    ignored += [
        one.name for one in unclear if sidecar.of(one.name).ignore and one.verdict != "fail"
    ]
    looked_at = tuple(one for one in unclear if one.name not in ignored)
    return without_printed_records(
        OutputFiles(tuple(found), looked_at, tuple(ignored), tuple(printed))
    )


def _without_line(error: LineError) -> str:
    words = str(error).split(": ", 1)[1]
    return words[0].upper() + words[1:]


def _listed(paths: Sequence[Path]) -> tuple[list[Path], Path]:
    """The files, and the folder in which help stands."""
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        files = sorted(one for one in folder.iterdir() if one.name != SIDECAR)
        if not files:
            raise InputError(
                f"'{folder}' has no output files. Name a folder that has, or a file of outputs."
            )
    else:
        files = list(paths)
        for one in files:
            if not one.is_file():
                raise FileError(f"No such file: '{one}'. Name output files, or one folder of them.")
        folder = files[0].parent
    if len(files) > MOST_FILES:
        raise InputError(f"There are {len(files)} files, over {MOST_FILES}. Check them in parts.")
    if twice := next(
        (name for name, times in Counter(one.name for one in files).items() if times > 1), None
    ):
        raise InputError(f"Two files are called '{twice}'. Check them apart.")
    return files, folder


Parts = list[tuple[str, Place, Match]]
Contents = tuple[Parts, list[UnreadOutput], list[PrintedRows]]


def _parts(file: Path) -> Contents:
    """The pieces of a file, with their names and places; what nobody can read of it; and its rows."""
    ending = file.suffix.lower()
    try:
        if file.is_symlink():
            raise InputError("it is a link. Put the file itself into the folder.")
        if file.is_dir():
            raise InputError("it is a folder within the folder. Check it by itself.")
        if ending in WORKBOOKS:
            parts, faults, rows = _of_grids(file.name, workbook_grids(file))
            return parts, faults + _unread(file.name, unread_contents(file)), rows
        if ending in OLD_WORKBOOKS:
            raise InputError(
                f"'{ending}' workbooks are not read: what lies in them beside their cells cannot be listed. Save it as .xlsx."
            )
        if ending not in (*TABLES, *TEXTS, *PAGES):
            raise InputError(
                f"files that end in '{ending}' are not read: {', '.join((*TABLES, *WORKBOOKS, *TEXTS, *PAGES))} are. Take it out of the folder."
            )
        text = _text(file)
        if ending in TABLES:
            return _of_grids(file.name, [csv_grid(text)])
        if ending in PAGES:
            page = html_page(text)
            parts, faults, rows = _of_grids(file.name, page.grids, page.text)
            hidden = list(dict.fromkeys(words for _, words in page.unshown))
            return (
                parts,
                faults + _unread(file.name, hidden, page.unshown[0][0] if hidden else None),
                rows,
            )
        return _of_text(file.name, text)
    except (ChaffinchError, OSError, UnicodeDecodeError) as error:
        line = error.line if isinstance(error, LineError) else None
        words = _without_line(error) if isinstance(error, LineError) else str(error)
        return (
            [],
            [UnreadOutput(file.name, Place(file.name, line=line), "Nothing was read.", words)],
            [],
        )
    except Exception as error:  # of this file alone: the others keep their verdicts
        words = f"It is damaged, or of a form that is not known here ({type(error).__name__}). Save it anew."
        return [], [UnreadOutput(file.name, Place(file.name), "Nothing was read.", words)], []


def _text(file: Path) -> str:
    """A file's text, in the encoding that its bytes leave no doubt of."""
    if file.stat().st_size > MOST_BYTES:
        raise FileError(f"'{file}' is over {MOST_BYTES >> 20} MiB, more than an output is.")
    raw = file.read_bytes()
    return raw.decode(encoding_of(lambda: BytesIO(raw), str(file))).lstrip("\ufeff")


def _of_grids(
    file: str, grids: Sequence[CellGrid], text: Sequence[tuple[int, str]] = ()
) -> Contents:
    """The tables of sheets, with their rows; and what stands beside them: text with numbers, hidden sheets."""
    shown = [grid for grid in grids if not grid.hidden]
    parts: Parts = []
    sheets: dict[str, list[Match]] = {}
    for grid in shown:
        sheets.setdefault(
            f"{file}::{grid.sheet}" if grid.sheet and len(shown) > 1 else file, []
        ).extend(grid_pieces(grid))
    for grid in shown:
        name = f"{file}::{grid.sheet}" if grid.sheet and len(shown) > 1 else file
        parts += _named(name, file, grid.sheet, sheets.pop(name, []))
    faults = [] if parts else [_nothing(file)]
    beside = [(grid.sheet, line) for grid in shown for line in remarks_of(grid)] + [
        (None, line) for line, words in text if is_remark(words)
    ]
    if parts and beside:
        sheet, line = beside[0]
        faults.append(_rest(file, Place(file, sheet, line), len(beside)))
    for grid in (grid for grid in grids if grid.hidden):
        name = f"{file}::{grid.sheet}"
        words = "The sheet is hidden, and leaves with the workbook. Show it, or delete it."
        faults.append(UnreadOutput(name, Place(file, grid.sheet), "", words))
    rows = [
        PrintedRows(file, block.sheet, block.lines, block.rows)
        for grid in grids
        for block in blocks_of(grid)
    ]
    return parts, faults, rows


def _rest(file: str, place: Place, count: int) -> UnreadOutput:
    """What is said of lines that hold numbers and belong to no output."""
    words = f"{count} of its lines hold{'s' if count == 1 else ''} numbers that are not understood, the first here. Take them out of the file."
    return UnreadOutput(f"{file} #rest", place, "The rest of the file was read.", words)


def _unread(file: str, contents: Sequence[str], line: int | None = None) -> list[UnreadOutput]:
    """What is said of contents that leave with a file and are not looked at."""
    if not contents:
        return []
    words = (
        f"The file also holds what is not looked at: {listed(contents)}. Take it out of the file."
    )
    return [UnreadOutput(f"{file} #unread", Place(file, line=line), "", words)]


def _nothing(name: str, line: int | None = None) -> UnreadOutput:
    return UnreadOutput(
        name,
        Place(name, line=line),
        "No output was understood.",
        "Describe it in a file of outputs, or take it out of the folder.",
    )


def _named(name: str, file: str, sheet: str | None, pieces: Sequence[Match]) -> Parts:
    """Match with the names of their outputs: that of the file or sheet, and a number where there are several."""
    if len(pieces) > MOST_OUTPUTS:
        raise InputError(f"it has over {MOST_OUTPUTS:,} outputs. Check it in parts.")
    several = len(pieces) > 1
    return [
        (f"{name} #{k}" if several else name, Place(file, sheet, piece.line), piece)
        for k, piece in enumerate(pieces, 1)
    ]


def _is_decoration(line: str) -> bool:
    """Whether a line is a rule, the head of a log or a command; a command that starts with a number, or holds many, holds data.

    Examples
    --------
    >>> [_is_decoration(line) for line in ("> table(cut(age, c(0, 18, 65)))", ". tab x if age > 17", "> 34 f 98765", "------", "> x <- c(1,2,3,4,5,6,7,8,9,10)")]
    [True, True, False, True, False]
    """
    if not _DECORATION.fullmatch(line):
        return False
    command = re.match(r"(>|\+ |\. )\s*+", line)
    rest = line[command.end() :] if command else ""
    return (
        not re.match(r"[>.]\s*+\d", line)
        and len(re.findall(r"(?<![\w.])\d[\d.]*+", rest)) < MANY_NUMBERS
    )


def _of_text(name: str, text: str) -> Contents:
    """The pieces of a text, each line claimed by the first reader that knows it; and the lines with numbers that none does."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        raise InputError(
            f"it has over {MOST_LINES:,} lines, more than outputs have. Check it in parts."
        )
    if long := next(
        (number for number, line in enumerate(lines, 1) if len(line) > MOST_LINE), None
    ):
        raise LineError(
            long, f"the line has over {MOST_LINE:,} characters, more than an output has."
        )
    if sum(len(line) ** 2 for line in lines) > MOST_WORK:
        raise InputError("its lines are longer than those of outputs. Check it in parts.")
    claimed: set[int] = set()
    pieces: list[Match] = []
    for reader in READERS:
        own = [piece for piece in reader.pieces(lines) if not claimed.intersection(piece.lines)]
        pieces += own
        claimed |= {line for piece in own for line in piece.lines}
    pieces.sort(key=lambda piece: piece.line)
    left = [
        k
        for k, line in enumerate(lines, 1)
        if k not in claimed and is_remark(line) and not _is_decoration(line.strip())
    ]
    rows, records = printed_rows(name, lines)
    pieces = [
        piece for piece in pieces if not any(one.place.line in piece.lines for one in records)
    ]
    if not pieces:
        return (
            [],
            [replace(one, name=name) for one in records]
            or [_nothing(name, left[0] if left else None)],
            rows,
        )
    faults = [_rest(name, Place(name, line=left[0]), len(left))] if left else []
    return _named(name, name, None, pieces), faults + records, rows


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
    words = {*names, *(word for one in files.outputs for word in one.parsed.variables)}
    for one in files.outputs:
        with contextlib.suppress(
            InputError
        ):  # a filter that cannot be read is a fault of its own output
            words |= set(
                named_columns(
                    [{"kind": one.parsed.kind, "where": getattr(one.parsed, "where", None)}],
                    coder.table.columns,
                )
            )
    wanted = [name for name in coder.table.columns if name in words]
    fields = fields_of_table(
        coder, wanted or coder.table.columns[:1], declared=declared, threshold=threshold
    )
    entries: list[dict[str, Any]] = []
    found, unclear = [], list(files.unread)
    for one in files.outputs:
        try:
            own = one.parsed.entries(one.name, fields)
            recipes_of(own, fields)
        except InputError as error:
            reason = f"It cannot be put over the columns of the data: {str(error).rstrip('.')}."
            findings = _as_printed(one, policy)
            bad = list(dict.fromkeys(each.rule for each in findings if each.status == "fail"))
            more = f" Its printed numbers fail by themselves: {', '.join(bad)}." if bad else ""
            unclear.append(
                UnreadOutput(
                    one.name,
                    one.place,
                    f"Understood: {one.understood}",
                    f"{reason}{more}",
                    kind=one.parsed.kind,
                    verdict="fail" if bad else "not assessed",
                    findings=findings,
                )
            )
            continue
        found.append(one)
        entries += own
    recipes = recipes_of(entries, fields) if entries else Outputs(fields, ())
    return FileRecipes(replace(files, outputs=tuple(found), unread=tuple(unclear)), recipes)


def _as_printed(one: ReadOutput, policy: Policy) -> tuple[RuleFinding, ...]:
    """What the rules say of an output as it is printed."""
    try:
        return tuple(one.parsed.findings(one.name, policy.of(one.parsed.kind)))
    except InputError:
        return ()
