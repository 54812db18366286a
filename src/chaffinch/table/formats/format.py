"""What a file format is: one entry of `FORMATS`, with how its files are known, opened as a stream
of Arrow batches, and written; and how a file is to be read, as far as somebody says so.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime
import hashlib
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow as pa

from ..._base.checks import check_name
from ..._base.errors import FileError, InputError, join_names
from ..._base.registry import Registry
from ..domain import Scalar
from ..schema import Note
from ..text import DecimalSign, check_sign
from .layout import FileLayout
from .packing import ENDINGS

if TYPE_CHECKING:
    from ..table import Table


HEADERS = ("yes", "no", "units")
"""What may be said of the header of a text file or sheet, besides the number of the line that it
stands in.
"""

TAIL = 1 << 14
"""Last bytes of a file that are compared."""

BATCH_ROWS = 1 << 18
Writer = Callable[[Path, Path], AbstractContextManager[Callable[["Table"], None]]]
"""Opens a file under its temporary name, given the name that it is to have, for tables that are
appended until the block ends.
"""

FORMATS: Registry[Format] = Registry(
    "format",
    __package__,
    "delimited",
    "parquet",
    "arrow",
    "spss_stata",
    "sas",
    "rds",
    "workbook",
    "json_lines",
    "databases",
    "refused",
    "zipped",
)
"""Every file format there is. Those of the package are in `table/formats/`; `FORMATS.register` adds
another.
"""


class FileOptions(TypedDict, total=False):
    """Options of a file, in `chaffinch.read` and wherever else one is named.

    encoding
        Of a text file: utf-8 unless given, or what its bytes leave no doubt about.
    delimiter
        What divides the cells of a text file: found from its first lines unless given.
    decimal
        The decimal sign of a text file, "." or ",": found from all of its numbers unless given.
    header
        "yes": the first line has the names of columns; "no": no line has, and they are called
        column_1, column_2 ...; "units": the line after the
        names has units; a number: the line with the names. True and False say yes and no. Found
        unless given.
    comment
        The sign that lines start with that are no records. Unless given, lines with # above the
        names are left out.
    table
        The sheet of a workbook, the table of a database, the file in a zip archive; the only one
        unless given.
    """

    encoding: str | None
    delimiter: str | None
    decimal: str | None
    header: str | int | bool | None
    comment: str | None
    table: str | None


@dataclass(frozen=True)
class ReadOptions:
    """How a file or object is read: `FileOptions`, checked, and whether records may stop it.

    `tolerant` asks for a source that no record can stop or shape, for private fits: nothing is
    found from a file, so that what is not given is plain (UTF-8, names in the first line, no
    comments). A line of a text file is a record, unless `line_breaks` declares that cells in quotes
    hold line breaks; without a line of names the delimiter and the number of `columns` are to be
    given. Rows of a text file with too many or too few cells become rows without values, after the
    others; bytes that are no text become U+FFFD; one column is enough; pandas columns of Python
    objects become words; the bytes of words in Arrow files come as they are.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: DecimalSign | None = None
    header: str | int | None = None
    comment: str | None = None
    table: str | None = None
    tolerant: bool = False
    columns: int | None = None
    line_breaks: bool = False

    @property
    def undescribed(self) -> bool:
        """Whether nothing but records stands in a text file, and none of them may be asked what it
        is.
        """
        return self.tolerant and self.header == "no"

    @classmethod
    def from_options(
        cls,
        options: FileOptions,
        *,
        tolerant: bool = False,
        columns: int | None = None,
        line_breaks: bool = False,
    ) -> ReadOptions:
        """Return checked options, or raise an InputError that names the valid ones."""
        encoding, delimiter, comment = (
            options.get("encoding"),
            options.get("delimiter"),
            options.get("comment"),
        )
        if encoding is not None:
            _check_encoding(encoding)
        for name, sign in (("delimiter", delimiter), ("comment", comment)):
            if sign is not None and (len(sign) != 1 or sign in '"\r\n'):
                raise InputError(
                    f"{name} must be one character, and no quote or line break. Got {sign!r}."
                )
        header = _checked_header(options.get("header"))
        return cls(
            encoding,
            delimiter,
            check_sign(options.get("decimal")),
            header,
            comment,
            options.get("table"),
            tolerant,
            columns,
            line_breaks,
        )


def _check_encoding(encoding: str) -> None:
    try:
        known = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise InputError(
            f"Unknown encoding '{encoding}'. Examples: utf-8, cp1252, latin-1, utf-16."
        )


def _checked_header(header: str | int | bool | None) -> str | int | None:
    if header is None:
        return None
    if isinstance(header, bool):
        return "yes" if header else "no"
    if isinstance(header, str) and header.isdecimal():
        header = int(header)
    if header in HEADERS or (isinstance(header, int) and 1 <= header <= 1000):
        return header
    raise InputError(
        f"header must be one of {', '.join(HEADERS)}, or the number of the line with the names, up to 1000. Got {header!r}."
    )


@dataclass(frozen=True)
class FileIdentity:
    """A file as it was at one moment: `number` on its device, `size` in bytes, nanoseconds of its
    last writing and change, and a digest of its end.

    It tells that a file is the one that was opened: files are read several times, and figures of
    two versions must not be mixed. Compared before and after every pass: the file's number on its
    disk, its size, when it was written and when the system last recorded a change of it, and a
    digest of its last bytes, where Parquet has its footer. That is two looks at the system and 16
    KiB a file and pass, whatever the rows. The time of the recorded change is the system's own:
    whoever writes a file and sets its time of writing back changes it all the same. So does a
    change of rights or of links, which is refused too.

    What it cannot see: a file of the same size and end that is written to within the tick of the
    file system's clock (some milliseconds; two seconds on FAT), or through a system that reports
    times late or not at all, as network file systems may; and on Windows, where no time of change
    is told, one whose time of writing is set back. Rows are counted besides.
    """

    path: Path
    number: tuple[int, int]
    size: int
    written: int
    changed: int
    end: bytes

    @classmethod
    def from_path(cls, path: Path) -> FileIdentity | None:
        """Return the identity of a file; None where it is no regular file, such as a pipe."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with path.open("rb") as handle:
            handle.seek(max(status.st_size - TAIL, 0))
            end = hashlib.blake2b(handle.read(TAIL), digest_size=16).digest()
        changed = (
            status.st_ctime_ns if os.name == "posix" else 0
        )  # elsewhere it is when the file was made
        return cls(
            path, (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns, changed, end
        )


def identities(paths: Iterable[str | os.PathLike[str]]) -> tuple[FileIdentity, ...]:
    """Return the identities of files; those that cannot be opened are left out, since reading them
    raises the error.
    """
    out = []
    for path in paths:
        try:
            out.append(FileIdentity.from_path(Path(path)))
        except OSError:
            continue
    return tuple(identity for identity in out if identity is not None)


def check_unchanged(name: str, files: Sequence[FileIdentity]) -> None:
    """Raise if a file is not what it was; `name` is what messages call the table."""
    for file in files:
        try:
            same = FileIdentity.from_path(file.path) == file
        except OSError:
            same = False
        if not same:
            raise InputError(
                f"'{name}' was changed or replaced while it was read, so figures of two versions would be mixed: '{file.path.name}' is not the file that was opened. "
                "Work on a file that nobody writes to, such as a copy."
            )


@dataclass(frozen=True)
class Labels:
    """Metadata of a column in SPSS and Stata files: its label, value labels, missing codes."""

    title: str = ""
    values: Mapping[Scalar, str] = field(default_factory=dict)
    missing: tuple[Scalar, ...] = ()
    display: str = ""
    measure: str = ""


class Tagged(pa.ExtensionType):  # type: ignore[misc]
    """The type of values with words beside them that say why one is missing, as Stata's .a to .z
    do.
    """

    def __init__(self, values: pa.DataType) -> None:
        self.values = values
        super().__init__(pa.struct([("value", values), ("word", pa.string())]), "chaffinch.tagged")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Tagged:
        return cls(storage.field("value").type)


@dataclass(frozen=True)
class Source:
    """A table that can be read batch by batch, more than once.

    `text` says that every column is words of a text file, still to be understood; `decimal` is the
    decimal sign that was given for it. `layout` says how the table lies in its file, `notes` what
    should be said of that. `native` is the kind of object to give back, `dtypes` the types it had
    there where Arrow alone would not restore them, `index` the columns that were its index.
    `n_rows` is how many rows it has, where that is known before they are read. `head` reads the
    first rows alone, where that is quicker than to begin to read all. `files` are those that are
    read, as they were when it was opened.
    """

    name: str
    schema: pa.Schema
    read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]
    text: bool = False
    native: str = "arrow"
    layout: FileLayout = field(default_factory=FileLayout)
    decimal: DecimalSign | None = None
    notes: tuple[Note, ...] = ()
    labels: Mapping[str, Labels] = field(default_factory=dict)
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    index: tuple[str, ...] = ()
    n_rows: int | None = None
    head: Callable[[int], Iterator[pa.RecordBatch]] | None = None
    files: tuple[FileIdentity, ...] = ()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Return batches of rows, of all columns or of those named; InputError where the files are
        not those that were opened.
        """
        check_unchanged(self.name, self.files)
        with readable(self.name):
            yield from self.read(columns)
        check_unchanged(self.name, self.files)

    def first_rows(self, n_rows: int) -> Source:
        """Return a source of the first rows alone, which are kept in memory."""
        rows: list[pa.RecordBatch] = []
        with readable(self.name):
            batches = self.read(self.schema.names) if self.head is None else self.head(n_rows)
            while n_rows > 0 and (batch := next(batches, None)) is not None:
                rows.append(batch.slice(0, n_rows))
                n_rows -= batch.num_rows

        def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
            yield from rows if columns is None else (batch.select(list(columns)) for batch in rows)

        return replace(
            self, read=read, head=None, files=(), n_rows=sum(batch.num_rows for batch in rows)
        )

    def table(self) -> pa.Table:
        """Return all rows."""
        with readable(self.name):
            return pa.Table.from_batches(self.read(None), schema=self.schema)


@dataclass(frozen=True)
class Format:
    """A kind of file. A new one is a file in this folder, or one that a user registers in
    `FORMATS`.

    Parameters
    ----------
    name
        In messages and results: "parquet".
    title
        In `--help`: "Parquet"; empty where it is not to be listed.
    endings
        Of file names: one that ends so is written in this format. Longer ones win: ".csv.gz" over
        ".gz".
    magic
        First bytes, by which a file is known whatever its name. Without any, and without
        `recognise`, its name says what it is.
    recognise
        Whether first bytes and a name in small letters are of this format, where `magic` is not
        enough.
    open
        Reads the header and returns the source; None where such files are known but not read.
    writer
        Opens a file for writing; None where none is written.
    shape
        About how many rows and columns a file has, without reading it; None where that cannot be
        told.
    private
        Whether `open` with `tolerant` cannot be stopped by a record, so that a private fit may read
        it. Only claim what is so.
    extra
        The package that it needs beyond the core, if any.
    files
        What its files are called in messages: "SPSS and Stata files".
    read_endings
        Further endings of files that are read, but not written.
    packed
        Whether `open` takes files that are packed as a whole (`packing`).
    tables
        Whether a file may hold several tables, so that one is named: `FILE::TABLE`.
    written_as
        The ending of a file that is written like one of this format.
    advice
        What to do with a file that is known but not read.
    """

    name: str
    title: str = ""
    endings: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()
    recognise: Callable[[bytes, str], bool] | None = None
    open: Callable[[Path, ReadOptions], Source] | None = None
    writer: Writer | None = None
    shape: Callable[[Path, ReadOptions], tuple[int, int] | None] | None = None
    private: bool = False
    extra: str = ""
    files: str = ""
    read_endings: tuple[str, ...] = ()
    packed: bool = False
    tables: bool = False
    written_as: str = ".csv"
    advice: str = "Save it as Parquet or CSV."

    @property
    def a_file(self) -> str:
        """What a file of this format is called in a sentence: "a parquet file"."""
        if self.files:
            return self.files
        return f"a{'n' * (self.name[0] in 'aeio')} {self.name} file"

    @property
    def by_name(self) -> bool:
        """Whether a file is known by its name alone, as text is."""
        return not self.magic and self.recognise is None

    def starts(self, head: bytes, name: str) -> bool:
        """Return whether a file that starts so, and is called so, is of this format by what is in
        it.
        """
        return head.startswith(self.magic) or (
            self.recognise is not None and self.recognise(head, name)
        )

    def claims(self, name: str) -> bool:
        """Return whether a file name in small letters ends as this format's do, packed or not."""
        endings = (*self.endings, *self.read_endings)
        return bool(endings) and name.endswith(
            (*endings, *(ending + packed for ending in endings for packed in ENDINGS))
        )


@contextlib.contextmanager
def appending(open_writer: Callable[[pa.Schema], Any]) -> Iterator[Callable[[Table], None]]:
    """Give a function that appends tables to what is opened with the Arrow schema of the first, and
    is closed when the block ends.
    """
    with contextlib.ExitStack() as stack:
        opened: list[Any] = []

        def write(table: Table) -> None:
            if not opened:
                opened.append(open_writer(table.data.schema))
                stack.callback(opened[0].close)
            opened[0].write_table(table.data)

        yield write


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn what Arrow says of a bad file into our own words: Arrow's may quote cells."""
    try:
        yield
    except (FileError, InputError):
        raise
    except (
        pa.ArrowException,
        csv.Error,
        EOFError,
        lzma.LZMAError,
        UnicodeDecodeError,
        OSError,
        zlib.error,
        zipfile.BadZipFile,
        NotImplementedError,
    ) as error:
        if isinstance(error, OSError) and error.errno is not None and error.strerror:
            raise FileError(f"Cannot read '{name}': {error.strerror}.") from None
        raise damaged_file(name) from None


def damaged_file(name: str | Path) -> FileError:
    """Return the error for a file that does not hold what its kind holds; it quotes nothing of the
    file.
    """
    return FileError(
        f"Cannot read '{name}': it is damaged, truncated or not of the format it claims."
    )


def table_reader(
    table: pa.Table, most_rows: int | None = None
) -> Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]:
    """Return a reader of a table in memory, batch by batch, of all columns or of those named."""

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        chosen = table if columns is None else table.select(list(columns))
        yield from chosen.to_batches(max_chunksize=most_rows)

    return read


def spelled_source(
    name: str,
    columns: dict[str, pa.Array],
    layout: FileLayout,
    notes: Sequence[Note] = (),
    labels: dict[str, Labels] | None = None,
) -> Source:
    """Return columns of words as a source."""
    table = pa.table(columns)
    read = table_reader(table, BATCH_ROWS)
    return Source(
        name, table.schema, read, text=True, layout=layout, notes=tuple(notes), labels=labels or {}
    )


def spelled_column(cells: Sequence[Any]) -> pa.Array:
    """Return the cells of a column as words, empty where there is none.

    Dates stand beside times as times at midnight.

    Examples
    --------
    >>> spelled_column([1.0, 2.5, "007", None, True, datetime.date(2020, 1, 2)]).to_pylist()
    ['1', '2.5', '007', '', 'TRUE', '2020-01-02']
    """
    timed = any(
        isinstance(cell, datetime.datetime) and cell.time() != datetime.time() for cell in cells
    )
    return pa.array([_spell_cell(cell, timed) for cell in cells], pa.string())


def _spell_cell(cell: Any, timed: bool) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2.0**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        second = _whole_second(cell)
        return second.strftime("%Y-%m-%d %H:%M:%S") if timed else second.date().isoformat()
    if isinstance(cell, datetime.date):
        return f"{cell.isoformat()} 00:00:00" if timed else cell.isoformat()
    if isinstance(cell, datetime.time):
        return cell.replace(microsecond=0).isoformat()
    return str(cell)


def _whole_second(moment: datetime.datetime) -> datetime.datetime:
    """Return the nearest second: workbooks hold times as fractions of a day, which are not
    exact.
    """
    try:
        return (moment + datetime.timedelta(microseconds=500_000)).replace(microsecond=0)
    except OverflowError:
        return moment.replace(microsecond=0)


def chosen_table(path: Any, asked: str | None, names: Sequence[str], what: str) -> str:
    """Return the table that is asked for, or the only one; raise with the names of all where that
    is not one.
    """
    if asked is not None:
        check_name(what, asked, names)
        return asked
    if not names:
        raise FileError(f"'{path}' has no {what} with anything in it.")
    if len(names) > 1:
        raise InputError(
            f"'{path}' has several {what}s: {join_names(list(names))}. Name one, as '{path}::{names[0]}' or --table '{names[0]}' (table=... in Python)."
        )
    return names[0]
