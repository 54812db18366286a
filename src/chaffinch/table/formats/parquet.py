"""Parquet files, and folders of them and patterns of their names: one table in many files, also
with values in the names of folders (sex=f/).
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..._base.errors import FileError, InputError, join_names
from ..types import is_words
from .format import BATCH_ROWS, FORMATS, Format, ReadOptions, Source, appending, identities

if TYPE_CHECKING:
    from ..table import Table


BATCH_CELLS = 1 << 22
"""Cells of a batch, about, of a file with many columns."""

LEAST_ROWS = 1 << 12
"""Rows of a batch, however many columns there are."""

GATHERED_FROM, GROUP_ROWS, GROUP_BYTES = 64, 1 << 16, 1 << 26
"""Columns above which tables are gathered before they are written, and the rows and bytes at which
a row group is full.
"""

BUFFER_BYTES = 1 << 16
"""Bytes of a column that are read at a time."""


def _open(path: Path, options: ReadOptions) -> Source:
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    text_columns = [
        f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
    ]
    # Dictionaries of words that are asked for as such come as they are; others are checked, and bytes that are no text stop it.
    coded = [
        f.name
        for f in schema
        if options.tolerant and pa.types.is_dictionary(f.type) and is_words(f.type)
    ]
    if coded:
        schema = _file(path, coded).schema_arrow

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        wanted = set(schema.names if columns is None else columns)
        dictionaries = [
            *coded,
            *(name for name in text_columns if name in wanted and columns is not None),
        ]
        batch_rows = min(BATCH_ROWS, max(BATCH_CELLS // max(len(wanted), 1), LEAST_ROWS))
        yield from _file(path, dictionaries).iter_batches(
            batch_rows, columns=None if columns is None else list(columns)
        )

    def head(n_rows: int) -> Iterator[pa.RecordBatch]:
        yield from _file(path, [*coded, *text_columns]).iter_batches(n_rows, use_threads=False)

    return Source(
        str(path), schema, read, native="arrow", n_rows=pq.read_metadata(path).num_rows, head=head
    )


def _file(path: Path, dictionaries: Sequence[str]) -> Any:
    """Open a file that is read batch by batch. Arrow's own buffers would hold all of its bytes, or
    of a row group's, until the last batch is read.
    """
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        path, read_dictionary=list(dictionaries), pre_buffer=False, buffer_size=BUFFER_BYTES
    )


def _shape(path: Path, options: ReadOptions) -> tuple[int, int]:
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    return metadata.num_rows, metadata.num_columns


def _writer(path: Path, target: Path) -> AbstractContextManager[Callable[[Table], None]]:
    import pyarrow.parquet as pq

    return appending(lambda schema: _RowGroups(pq.ParquetWriter(path, schema, compression="zstd")))


class _RowGroups:
    """Writes tables as row groups. Small tables of many columns are gathered: a file notes some 800
    bytes of each column of each group, and holds them until its end.
    """

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.waiting: list[pa.Table] = []

    def write_table(self, table: pa.Table) -> None:
        """Write a table, or keep it until a group is full."""
        self.waiting.append(table)
        rows, size = (
            sum(batch.num_rows for batch in self.waiting),
            sum(batch.nbytes for batch in self.waiting),
        )
        if table.num_columns <= GATHERED_FROM or rows >= GROUP_ROWS or size >= GROUP_BYTES:
            self._write()

    def close(self) -> None:
        """Write what is kept, and end the file."""
        try:
            if self.waiting:
                self._write()
        finally:
            self.writer.close()

    def _write(self) -> None:
        tables, self.waiting = self.waiting, []
        self.writer.write_table(tables[0] if len(tables) == 1 else pa.concat_tables(tables))


FORMATS.register(
    Format(
        "parquet",
        "Parquet",
        (".parquet",),
        (b"PAR1",),
        open=_open,
        writer=_writer,
        shape=_shape,
        private=True,
    )
)


def is_pattern(path: Path) -> bool:
    """Return whether a path that is none of a file has a sign that stands for others: * ? [."""
    return glob.has_magic(str(path)) and not path.exists()


def _files(path: Path) -> list[str]:
    """Return the files of a folder or pattern, in the order of their names; hidden ones and those
    that start with _ are left out.
    """
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.is_file())
        names = [
            str(f)
            for f in inside
            if not any(segment.startswith((".", "_")) for segment in f.relative_to(path).parts)
        ]
    else:
        names = [name for name in glob.glob(str(path), recursive=True) if Path(name).is_file()]
    if not names:
        what = "a folder without files" if path.is_dir() else "a pattern that no file fits"
        raise FileError(
            f"'{path}' is {what}. Name a file, or a folder or pattern of Parquet files."
        )
    for name in names:
        with open(name, "rb") as handle:
            if handle.read(4) != b"PAR1":
                raise FileError(
                    f"'{path}' has files that are no Parquet, as '{Path(name).name}'. Only Parquet files are read together: name one file, "
                    "or a pattern such as '*.parquet'."
                )
    return sorted(names)


def _dataset(path: Path, files: list[str]) -> Any:
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    first = pq.read_schema(files[0])
    for file in files[1:]:
        schema = pq.read_schema(file)
        if schema.remove_metadata() != first.remove_metadata():
            differing = sorted(set(first.names) ^ set(schema.names)) or [
                f.name for f in first if schema.field(f.name).type != f.type
            ]
            why = f"in columns {join_names(differing)}" if differing else "in the order of columns"
            raise InputError(
                f"The files of '{path}' are not of one table: '{Path(file).name}' differs from '{Path(files[0]).name}' {why}. Write them alike, "
                "or name one of them."
            )
    base = str(path) if path.is_dir() else None
    return ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=base)


def _open_folder(path: Path, options: ReadOptions) -> Source:
    files = _files(path)
    known = identities(files)
    dataset = _dataset(path, files)

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(
            columns=None if columns is None else list(columns), batch_size=BATCH_ROWS
        )

    return Source(str(path), dataset.schema, read, n_rows=dataset.count_rows(), files=known)


def _shape_of_folder(path: Path, options: ReadOptions) -> tuple[int, int]:
    dataset = _dataset(path, _files(path))
    return dataset.count_rows(), len(dataset.schema)


FOLDER = FORMATS.register(
    Format(
        "folder",
        "a folder or 'pattern*' of Parquet files",
        open=_open_folder,
        shape=_shape_of_folder,
        recognise=lambda head, name: False,
        files="a folder or pattern of Parquet files",
        written_as=".parquet",
    )
)
