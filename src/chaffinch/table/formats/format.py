"""What a file format is: one entry of `FORMATS`, with how its files are known, opened as a stream of Arrow batches, and written."""

from __future__ import annotations

import contextlib
import csv
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._base.errors import FileError, InputError
from ..._base.registry import Registry
from ..codec import Scalar
from ..decimal_sign import DecimalSign
from ..note import Note
from .identity import FileIdentity, check_unchanged
from .layout import FileLayout
from .options import ReadOptions
from .packing import ENDINGS

if TYPE_CHECKING:
    from ..table import Table


BATCH_ROWS = 1 << 18

Writer = Callable[[Path, Path], AbstractContextManager[Callable[["Table"], None]]]
"""Opens a file under its temporary name, given the name that it is to have, for tables that are appended until the block ends."""


@dataclass(frozen=True)
class Labels:
    """What SPSS and Stata files say of a column besides its values."""

    title: str = ""
    values: Mapping[Scalar, str] = field(default_factory=dict)
    missing: tuple[Scalar, ...] = ()
    display: str = ""
    measure: str = ""


class Tagged(pa.ExtensionType):  # type: ignore[misc]
    """The type of values with words beside them that say why one is missing, as Stata's .a to .z do."""

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

    `text` says that every column is words of a text file, still to be understood; `decimal` is the decimal sign that was given for it.
    `layout` says how the table lies in its file, `notes` what should be said of that. `native` is the kind of object to give back,
    `dtypes` the types it had there where Arrow alone would not restore them, `index` the columns that were its index. `n_rows` is how many
    rows it has, where that is known before they are read. `head` reads the first rows alone, where that is quicker than to begin to read all. `files`
    are those that are read, as they were when it was opened.
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
        """Return batches of rows, of all columns or of those named; InputError where the files are not those that were opened."""
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
    """A kind of file. A new one is a file in this folder, or one that a user registers in `FORMATS`.

    Parameters
    ----------
    name
        In messages and results: "parquet".
    title
        In `--help`: "Parquet"; empty where it is not to be listed.
    endings
        Of file names: one that ends so is written in this format. Longer ones win: ".csv.gz" over ".gz".
    magic
        First bytes, by which a file is known whatever its name. Without any, and without `recognise`, its name says what it is.
    recognise
        Whether first bytes and a name in small letters are of this format, where `magic` is not enough.
    open
        Reads the header and returns the source; None where such files are known but not read.
    writer
        Opens a file for writing; None where none is written.
    shape
        About how many rows and columns a file has, without reading it; None where that cannot be told.
    private
        Whether `open` with `tolerant` cannot be stopped by a record, so that a private fit may read it. Only claim what is so.
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
        """Return whether a file that starts so, and is called so, is of this format by what is in it."""
        return head.startswith(self.magic) or (
            self.recognise is not None and self.recognise(head, name)
        )

    def claims(self, name: str) -> bool:
        """Return whether a file name in small letters ends as this format's do, packed or not."""
        endings = (*self.endings, *self.read_endings)
        return bool(endings) and name.endswith(
            (*endings, *(ending + packed for ending in endings for packed in ENDINGS))
        )


FORMATS: Registry[Format] = Registry("format")
"""Every file format there is. Those of the package are in `table/formats/`; `FORMATS.register` adds another."""


@contextlib.contextmanager
def appending(open_writer: Callable[[pa.Schema], Any]) -> Iterator[Callable[[Table], None]]:
    """Give a function that appends tables to what is opened with the Arrow schema of the first, and is closed when the block ends."""
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
        raise FileError(
            f"Cannot read '{name}': it is damaged, truncated or not of the format it claims."
        ) from None
