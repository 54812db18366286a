"""Folders of Parquet files, and patterns of their names: one table in many files, also with values in the names of folders (sex=f/)."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..._base.errors import FileError, InputError, listed
from .format import BATCH_ROWS, FORMATS, Format, Source
from .identity import identities
from .options import ReadOptions


def is_pattern(path: Path) -> bool:
    """Return whether a path that is none of a file has a sign that stands for others: * ? [."""
    return glob.has_magic(str(path)) and not path.exists()


def _files(path: Path) -> list[str]:
    """Return the files of a folder or pattern, in the order of their names; hidden ones and those that start with _ are left out."""
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.is_file())
        names = [
            str(f)
            for f in inside
            if not any(part.startswith((".", "_")) for part in f.relative_to(path).parts)
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
            why = f"in columns {listed(differing)}" if differing else "in the order of columns"
            raise InputError(
                f"The files of '{path}' are not of one table: '{Path(file).name}' differs from '{Path(files[0]).name}' {why}. Write them alike, "
                "or name one of them."
            )
    base = str(path) if path.is_dir() else None
    return ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=base)


def _open(path: Path, options: ReadOptions) -> Source:
    files = _files(path)
    known = identities(files)
    dataset = _dataset(path, files)

    def read(columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(
            columns=None if columns is None else list(columns), batch_size=BATCH_ROWS
        )

    return Source(str(path), dataset.schema, read, n_rows=dataset.count_rows(), files=known)


def _shape(path: Path, options: ReadOptions) -> tuple[int, int]:
    dataset = _dataset(path, _files(path))
    return dataset.count_rows(), len(dataset.schema)


FOLDER = FORMATS.register(
    Format(
        "folder",
        "a folder or 'pattern*' of Parquet files",
        open=_open,
        shape=_shape,
        recognise=lambda head, name: False,
        files="a folder or pattern of Parquet files",
        written_as=".parquet",
    )
)
