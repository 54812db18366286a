"""A folder of output files, or some files, as outputs: each with its place and what was understood, or with the question that is open."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...._base.errors import ChaffinchError, FileError, InputError, join_names
from ....table.formats.encodings import encoding_of
from ....table.formats.workbook import unread_contents
from ...document import Outputs, recipes_of
from ...formula import column_words
from ...rules.findings import RuleFinding
from ...rules.policy import Policy
from ...source import (
    CheckAbout,
    DataColumns,
    NotChecked,
    OutputSource,
    PlacedOutputs,
    ReadFrom,
)
from ..placing import place_candidates
from ..understood import check_reasons
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
    Annotation,
    LineError,
    Location,
    Match,
    OpenQuestionError,
    ReadOutput,
    Sidecar,
    UnreadOutput,
    homes_of,
    toml_line,
)
from .sheet_tables import grid_matches, remarks_of

if TYPE_CHECKING:
    from ...kinds.base import OutputSpec

TABLES = (".csv", ".tsv")
WORKBOOKS = (".xlsx", ".xlsm", ".ods")
TEXTS = (".txt", ".log", ".out", ".lst", ".smcl", ".text", ".rout", ".md")
PAGES = (".html", ".htm")
ENDINGS = (*TABLES, *WORKBOOKS, *TEXTS, *PAGES)
OLD_WORKBOOKS = (".xls", ".xlsb")
"""Workbooks of which neither the size nor what lies beside the cells can be told before they are unpacked."""
MOST_BYTES = 16 << 20
MOST_LINES = 100_000
MOST_LINE = 20_000
"""Characters of a line of text: more are no output."""
MANY_NUMBERS = 10
"""Numbers of a command from which on it holds data."""
MOST_WORK = 2_000_000_000
"""Sum of the squared lengths of lines: what the rows of a table drawn in text may take to be distinguished."""
MOST_OUTPUTS = 1_000
"""Outputs in one file."""
MOST_IN_ALL = 5_000
"""Outputs in all files: each is compared with each other."""
MOST_FILES = 2_000

_DECORATION = re.compile(
    r">.*|\+ .*|\. .*|[-=*_+|\s]++|Signif\. codes:.*|\[\d+\]|name: .*|log: .*|log type: .*|(opened|closed) on: .*"
)


@dataclass(frozen=True)
class OutputFiles(OutputSource):
    """What was found in files: outputs, questions, and what outputs.toml says to leave out."""

    outputs: tuple[ReadOutput, ...]
    unread: tuple[UnreadOutput, ...] = ()
    ignored: tuple[str, ...] = ()
    printed: tuple[PrintedRows, ...] = field(default=(), repr=False)
    """Rows as they stand, to be compared with the records."""
    path: Path | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all outputs, read or not."""
        outputs: list[ReadOutput | UnreadOutput] = [*self.outputs, *self.unread]
        return (*(output.name for output in outputs), *self.ignored)

    @property
    def about(self) -> CheckAbout:
        """Return what was read and what was not, as a result says it."""
        return CheckAbout(
            skipped=tuple(
                NotChecked(output.name, output.reason, output.kind, output.verdict)
                for output in self.unread
            ),
            ignored=self.ignored,
            read=tuple(
                ReadFrom(output.name, str(output.location), output.understood)
                for output in self.outputs
            ),
        )

    def only(self, names: Collection[str]) -> OutputFiles:
        files = {homes_of(name)[-1] for name in names}
        return replace(
            self,
            outputs=tuple(output for output in self.outputs if output.name in names),
            unread=tuple(output for output in self.unread if output.name in names),
            ignored=tuple(name for name in self.ignored if name in names),
            printed=tuple(printed for printed in self.printed if printed.file in files),
        )

    def place_printed(self) -> PlacedOutputs:
        return PlacedOutputs(None, self.about, printed=self.outputs)

    def place_on(self, columns: DataColumns) -> PlacedOutputs:
        """Return the outputs over the columns that they are about; no output stops another.

        Rows that are records of the table fail. Outputs that do not fit are judged by their printed numbers alone: they may fail, and are not assessed otherwise.
        """
        table, policy = columns.coder.table, columns.policy
        files = self
        if self.printed:
            records = RecordLookup(
                table.to_arrow(), threshold=policy.threshold, n_persons=table.n_persons
            )
            files = without_records(self, records)
        names = set(columns.names)
        for output in files.outputs:
            names.update(output.parsed.variables)
            with contextlib.suppress(
                InputError
            ):  # a filter that cannot be read is a fault of its own output
                names |= column_words(output.parsed.where or "")
        fields = columns.fields(names.intersection(table.columns) or table.columns[:1])
        recipes: list[OutputSpec] = []
        outputs, unread = list[ReadOutput](), list(files.unread)
        for output in files.outputs:
            try:
                candidates = output.parsed.entries(output.name, fields)
                placed = place_candidates(candidates, lambda entries: recipes_of(entries, fields))
            except InputError as error:
                unread.append(_unplaced_output(output, policy, error))
                continue
            outputs.append(output)
            recipes += placed.outputs
        files = replace(files, outputs=tuple(outputs), unread=tuple(unread))
        remarks = [
            finding
            for output in outputs
            for finding in output.parsed.further_findings(
                output.name, policy.for_kind(output.parsed.kind)
            )
        ]
        return PlacedOutputs(
            Outputs(fields, tuple(recipes)) if recipes else None,
            files.about,
            findings=(*remarks, *(finding for output in unread for finding in output.findings)),
        )


def read_files(paths: Sequence[Path]) -> OutputFiles:
    """Return what stands in output files, or in those of one folder; no file stops another.

    Files outside a folder have their help beside the first. FileError for what is no file; InputError where outputs.toml breaks a rule, or names
    an output that there is not.
    """
    paths_of_files, folder = _list_files(paths)
    sidecar = Sidecar.read(folder / SIDECAR)
    results = list[ReadOutput | UnreadOutput]()
    ignored, printed = list[str](), list[PrintedRows]()
    for contents in map(_contents, paths_of_files):
        annotated = [(match, sidecar.annotation(match[0])) for match in contents.matches]
        ignored += [name for (name, *_), annotation in annotated if annotation.ignore]
        results += contents.unread
        results += [
            _output(*match, annotation) for match, annotation in annotated if not annotation.ignore
        ]
        printed += contents.printed
    outputs = [output for output in results if isinstance(output, ReadOutput)]
    unread = [output for output in results if isinstance(output, UnreadOutput)]
    names = OutputFiles(tuple(outputs), tuple(unread), tuple(ignored)).names
    if len(names) > MOST_IN_ALL:
        raise InputError(f"There are over {MOST_IN_ALL:,} outputs. Check them in parts.")
    sidecar.check(names)
    if sidecar.remark is not None and paths[0].is_dir():
        sentence = (
            "Its comments hold numbers, which nobody has looked at. Take them out of the file."
        )
        unread.append(UnreadOutput(SIDECAR, Location(SIDECAR, line=sidecar.remark), "", sentence))
    ignored += [
        output.name
        for output in unread
        if sidecar.annotation(output.name).ignore and output.verdict != "fail"
    ]
    looked_at = tuple(output for output in unread if output.name not in ignored)
    return without_printed_records(
        OutputFiles(tuple(outputs), looked_at, tuple(ignored), tuple(printed))
    )


def _output(
    name: str, location: Location, match: Match, annotation: Annotation
) -> ReadOutput | UnreadOutput:
    """What an output says, or why that cannot be told."""
    try:
        return ReadOutput(name, location, match.program, match.parse(annotation))
    except OpenQuestionError as error:
        line = toml_line(name, error.keys) if error.keys else ""
        return UnreadOutput(name, location, f"Understood: {error.understood}", error.question, line)
    except LineError as error:
        return UnreadOutput(name, replace(location, line=error.line), "", error.fault)
    except (
        Exception
    ):  # a count that is none, a row that is too short: of this output alone, whatever it is
        sentence = "A number of it cannot be read: it is none, or not of its kind."
        return UnreadOutput(name, location, "", sentence)


def _list_files(paths: Sequence[Path]) -> tuple[list[Path], Path]:
    """The files, and the folder in which help stands."""
    files, folder = list(paths), paths[0].parent
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        files = sorted(path for path in folder.iterdir() if path.name != SIDECAR)
        if not files:
            raise InputError(
                f"'{folder}' has no output files. Name a folder that has, or a file of outputs."
            )
    elif absent := next((path for path in files if not path.is_file()), None):
        raise FileError(f"No such file: '{absent}'. Name output files, or one folder of them.")
    if len(files) > MOST_FILES:
        raise InputError(f"There are {len(files)} files, over {MOST_FILES}. Check them in parts.")
    names = [path.name for path in files]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"Two files are called '{twice}'. Check them apart.")
    return files, folder


class _Contents(NamedTuple):
    """What a file holds: matches with their names and places, what nobody can read of it, and its rows."""

    matches: Sequence[tuple[str, Location, Match]] = ()
    unread: Sequence[UnreadOutput] = ()
    printed: Sequence[PrintedRows] = ()


def _contents(file: Path) -> _Contents:
    ending = file.suffix.lower()
    location = Location(file.name)
    try:
        check_reasons(
            (file.is_symlink(), "it is a link. Put the file itself into the folder."),
            (file.is_dir(), "it is a folder within the folder. Check it by itself."),
            (
                ending in OLD_WORKBOOKS,
                f"'{ending}' workbooks are not read: what lies in them beside their cells cannot be listed. Save it as .xlsx.",
            ),
            (
                ending not in ENDINGS,
                f"files that end in '{ending}' are not read: {', '.join(ENDINGS)} are. Take it out of the folder.",
            ),
        )
        if ending in WORKBOOKS:
            return _of_grids(file.name, workbook_grids(file), hidden=unread_contents(file))
        text = _text(file)
        if ending in TABLES:
            return _of_grids(file.name, [csv_grid(text)])
        if ending in PAGES:
            page = html_page(text)
            hidden = list(dict.fromkeys(description for _, description in page.unshown))
            line = page.unshown[0][0] if hidden else None
            return _of_grids(file.name, page.grids, page.text, hidden=hidden, line=line)
        return _of_text(file.name, text)
    except LineError as error:
        location, fault = Location(file.name, line=error.line), error.fault
    except (ChaffinchError, OSError, UnicodeDecodeError) as error:
        fault = str(error)
    except Exception as error:  # of this file alone: the others keep their verdicts
        fault = f"It is damaged, or of a form that is not known here ({type(error).__name__}). Save it anew."
    return _Contents(unread=[UnreadOutput(file.name, location, "Nothing was read.", fault)])


def _text(file: Path) -> str:
    """A file's text, in the encoding that its bytes leave no doubt of."""
    if file.stat().st_size > MOST_BYTES:
        raise FileError(f"'{file}' is over {MOST_BYTES >> 20} MiB, more than an output is.")
    raw = file.read_bytes()
    return raw.decode(encoding_of(lambda: BytesIO(raw), str(file))).lstrip("\ufeff")


def _of_grids(
    file: str,
    grids: Sequence[CellGrid],
    text: Sequence[tuple[int, str]] = (),
    *,
    hidden: Sequence[str] = (),
    line: int | None = None,
) -> _Contents:
    """The tables of sheets, with their rows; and what stands beside them: text with numbers, hidden sheets, what the file holds and does not show."""
    shown = [grid for grid in grids if not grid.hidden]
    sheets: dict[str, tuple[str | None, list[Match]]] = {}
    for grid in shown:
        name = f"{file}::{grid.sheet}" if grid.sheet and len(shown) > 1 else file
        sheets.setdefault(name, (grid.sheet, []))[1].extend(grid_matches(grid))
    matches = [
        named
        for name, (sheet, sheet_matches) in sheets.items()
        for named in _name_matches(name, Location(file, sheet), sheet_matches)
    ]
    unread = [] if matches else [_nothing(Location(file))]
    remarks = [Location(file, grid.sheet, line) for grid in shown for line in remarks_of(grid)]
    remarks += [Location(file, line=number) for number, line_text in text if is_remark(line_text)]
    if matches and remarks:
        unread.append(_rest(remarks[0], len(remarks)))
    sentence = "The sheet is hidden, and leaves with the workbook. Show it, or delete it."
    unread += [
        UnreadOutput(f"{file}::{grid.sheet}", Location(file, grid.sheet), "", sentence)
        for grid in grids
        if grid.hidden
    ]
    if hidden:
        sentence = f"The file also holds what is not looked at: {join_names(hidden)}. Take it out of the file."
        unread.append(UnreadOutput(f"{file} #unread", Location(file, line=line), "", sentence))
    printed = [
        PrintedRows(file, block.sheet, block.lines, block.rows)
        for grid in grids
        for block in blocks_of(grid)
    ]
    return _Contents(matches, unread, printed)


def _rest(location: Location, count: int) -> UnreadOutput:
    """What is said of lines that hold numbers and belong to no output."""
    sentence = f"{count} of its lines hold{'s' if count == 1 else ''} numbers that are not understood, the first here. Take them out of the file."
    return UnreadOutput(
        f"{location.file} #rest", location, "The rest of the file was read.", sentence
    )


def _nothing(location: Location) -> UnreadOutput:
    sentence = "Describe it in a file of outputs, or take it out of the folder."
    return UnreadOutput(location.file, location, "No output was understood.", sentence)


def _name_matches(
    name: str, location: Location, matches: Sequence[Match]
) -> list[tuple[str, Location, Match]]:
    """Matches with the names of their outputs: that of the file or sheet, and a number where there are several."""
    if len(matches) > MOST_OUTPUTS:
        raise InputError(f"it has over {MOST_OUTPUTS:,} outputs. Check it in parts.")
    return [
        (f"{name} #{k}" if len(matches) > 1 else name, replace(location, line=match.line), match)
        for k, match in enumerate(matches, 1)
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


def _of_text(file: str, text: str) -> _Contents:
    """The outputs of a text, each line claimed by the first reader that knows it; and the lines with numbers that none does."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        raise InputError(
            f"it has over {MOST_LINES:,} lines, more than outputs have. Check it in parts."
        )
    too_long = (number for number, line in enumerate(lines, 1) if len(line) > MOST_LINE)
    if number := next(too_long, None):
        raise LineError(
            number, f"the line has over {MOST_LINE:,} characters, more than an output has."
        )
    if sum(len(line) ** 2 for line in lines) > MOST_WORK:
        raise InputError("its lines are longer than those of outputs. Check it in parts.")
    claimed: set[int] = set()
    matches: list[Match] = []
    for reader in READERS:
        reader_matches = [
            match for match in reader.matches(lines) if not claimed.intersection(match.lines)
        ]
        matches += reader_matches
        claimed.update(*(match.lines for match in reader_matches))
    unclaimed = [
        Location(file, line=number)
        for number, line in enumerate(lines, 1)
        if number not in claimed and is_remark(line) and not _is_decoration(line.strip())
    ]
    printed, records = printed_rows(file, lines)
    matches = [
        match
        for match in matches
        if not any(record.location.line in match.lines for record in records)
    ]
    if not matches:
        unread = [replace(record, name=file) for record in records] or [
            _nothing(unclaimed[0] if unclaimed else Location(file))
        ]
        return _Contents(unread=unread, printed=printed)
    unread = [_rest(unclaimed[0], len(unclaimed)), *records] if unclaimed else records
    matches.sort(key=lambda match: match.line)
    return _Contents(_name_matches(file, Location(file), matches), unread, printed)


def _unplaced_output(output: ReadOutput, policy: Policy, error: InputError) -> UnreadOutput:
    """An output that cannot be put over the columns of the data, with what the rules say of it as it is printed."""
    findings: tuple[RuleFinding, ...] = ()
    kind = output.parsed.kind
    with contextlib.suppress(InputError):
        findings = tuple(output.parsed.findings(output.name, policy.for_kind(kind)))
    failed_rules = list(
        dict.fromkeys(finding.rule for finding in findings if finding.status == "fail")
    )
    more = (
        f" Its printed numbers fail by themselves: {', '.join(failed_rules)}."
        if failed_rules
        else ""
    )
    reason = f"It cannot be put over the columns of the data: {str(error).rstrip('.')}.{more}"
    return UnreadOutput(
        output.name,
        output.location,
        f"Understood: {output.understood}",
        reason,
        kind=kind,
        verdict="fail" if failed_rules else "not assessed",
        findings=findings,
    )
