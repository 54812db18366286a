"""Codes of all rows in a folder of Arrow files, that later passes map into memory: a byte a cell, instead of reading and encoding the source again.

A file holds blocks of up to 2^20 rows, fewer of wide tables. A block is a record batch of one row: `rows`, and the codes of the columns of 8, 16 and 32 bits as three
matrices in little-endian bytes, one row of a matrix for each column (`codes8`, `codes16`, `codes32`), so that kernels work on the mapped bytes as
they are. `head.json` says the version, the digest of the codecs, and the files with their rows. The folder holds records: only its owner can
read it, and it is removed when the block that made it ends, however it ends.

    with temporary_folder() as folder:
        with CodeWriter(folder, layout) as writer:
            writer.write(codes)
        cache = CodeCache.open(folder, layout)
        for codes in cache.batches(): ...
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import FileError
from .._base.files import mark_in_use, remove_left_behind
from .._base.runtime import raising_on_sigterm
from .._base.text import size_words
from .codes import WIDTHS, Codes, narrowest
from .domain import same_codes
from .schema import Column, Schema

VERSION = 1

BLOCK_ROWS, BLOCK_BYTES, FEWEST_ROWS = 1 << 20, 1 << 25, 1 << 12
"""Rows of a block at most, which is what is counted at a time; its bytes, which wide tables reach with fewer; and the rows below which these do not matter."""

PREFIX = "chaffinch-codes-"
"""How the names of temporary folders of codes begin."""

FILE_ROWS, FILE_BYTES = 1 << 22, 1 << 26
"""Rows of a file, and its bytes, which wide tables reach with fewer: it is mapped as a whole, and let go when the next one is."""

_FIELDS = pa.schema(
    [
        ("rows", pa.int64()),
        *((f"codes{8 * np.dtype(width).itemsize}", pa.large_binary()) for width in WIDTHS),
    ]
)


@dataclass(frozen=True, eq=False)
class CodeLayout:
    """Which columns are stored, for one schema or for several of the same rows: a column that has the same codes in two is stored once.

    `columns`: those stored. `views`: for each schema, where its modelled columns stand among them.
    """

    columns: tuple[Column, ...]
    views: tuple[tuple[int, ...], ...]

    @classmethod
    def from_schemas(cls, *schemas: Schema) -> CodeLayout:
        """Return the layout for schemas of one source."""
        columns: list[Column] = []
        by_name: dict[str, list[int]] = {}
        views = []
        for schema in schemas:
            view = []
            for column in schema.modelled:
                stored = by_name.setdefault(column.name, [])
                index = next(
                    (i for i in stored if same_codes(columns[i].codec, column.codec)), len(columns)
                )
                if index == len(columns):
                    columns.append(column)
                    stored.append(index)
                view.append(index)
            views.append(tuple(view))
        return cls(tuple(columns), tuple(views))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each stored column."""
        return tuple(column.size for column in self.columns)

    @property
    def row_bytes(self) -> int:
        """What a row takes."""
        return sum(np.dtype(narrowest(size)).itemsize for size in self.sizes)

    @property
    def block_rows(self) -> int:
        """The rows of a block."""
        return min(BLOCK_ROWS, max(FEWEST_ROWS, BLOCK_BYTES // max(self.row_bytes, 1)))

    @property
    def file_rows(self) -> int:
        """The rows from which on a file is full."""
        return min(FILE_ROWS, max(self.block_rows, FILE_BYTES // max(self.row_bytes, 1)))

    @cached_property
    def digest(self) -> str:
        """What distinguishes codes of other schemas: a digest of the codecs."""
        digest = hashlib.sha256()
        for column in self.columns:
            _digest(digest, (column.name, column.fitted_codec.form, column.fitted_codec))
        _digest(digest, self.views)
        return digest.hexdigest()

    def view(self, codes: Codes, number: int = 0) -> Codes:
        """Return the codes of one schema, without a copy, from those of the stored columns."""
        return codes.columns(self.views[number])


def _digest(digest: Any, value: Any) -> None:
    """Add a codec, or a part of one, to a digest: arrays as their bytes, of which there are many, and all else as JSON."""
    if isinstance(value, np.ndarray):
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{little.dtype.str}{little.shape}".encode())
        digest.update(np.ascontiguousarray(little))
    elif isinstance(value, tuple):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _digest(digest, item)
    elif is_dataclass(value):
        _digest(digest, tuple((field.name, getattr(value, field.name)) for field in fields(value)))
    else:
        text = json.dumps(value).encode()
        digest.update(f"{len(text)}:".encode() + text)


def block_of(codes: Codes) -> pa.RecordBatch:
    """Return the codes of some rows as a block."""
    arrays = [pa.array([codes.n_rows], type=pa.int64())]
    for matrix in codes.matrices:
        little = np.ascontiguousarray(matrix.astype(matrix.dtype.newbyteorder("<"), copy=False))
        ends = np.array([0, little.nbytes], dtype=np.int64)
        arrays.append(
            pa.Array.from_buffers(
                pa.large_binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(little)]
            )
        )  # not copied
    return pa.RecordBatch.from_arrays(arrays, schema=_FIELDS)


def codes_of_block(block: pa.RecordBatch, sizes: Sequence[int], row: int = 0) -> Codes:
    """Return the codes of a block, without a copy, given the number of codes of each stored column; `row`: its row, where a batch has several blocks."""
    n_rows = block.column("rows")[row].as_py()

    def matrix(group: int, n_columns: int) -> NDArray[Any]:
        little = np.dtype(WIDTHS[group]).newbyteorder("<")
        cells = np.frombuffer(block.column(group + 1)[row].as_buffer(), dtype=little)
        if len(cells) != n_columns * n_rows:
            raise FileError(
                "A block of codes does not have the columns of its schema. The cache is damaged: run the command again."
            )
        return cells.reshape(n_columns, n_rows)

    return Codes.laid_out(sizes, n_rows, matrix)


class CodeWriter:
    """Writes codes, in any batches, into a folder, made if it is not there, as blocks of equal numbers of rows; a context manager, whose end writes the head."""

    def __init__(self, folder: Path, layout: CodeLayout) -> None:
        self.folder, self.layout = folder, layout
        self.n_rows = self.n_rows_given = 0
        self._files: list[dict[str, Any]] = []
        self._open: Any = None
        self._waiting: list[Codes] = []

    def __enter__(self) -> Self:
        with writing_to(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
        return self

    def write(self, codes: Codes) -> None:
        """Add the codes of the stored columns of some rows."""
        if codes.sizes != self.layout.sizes:
            raise FileError("The codes to be stored are not those of the layout.")
        self.n_rows_given += codes.n_rows
        start = 0
        while start < codes.n_rows:
            room = self.layout.block_rows - sum(batch.n_rows for batch in self._waiting)
            batch = (
                codes if start == 0 and codes.n_rows <= room else codes.between(start, start + room)
            )
            self._waiting.append(batch)
            start += batch.n_rows
            if batch.n_rows == room:
                self._write_block()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None and self._waiting:
            self._write_block()
        self._close()
        if kind is None:
            head = {
                "format": "chaffinch-codes",
                "version": VERSION,
                "confidential": True,
                "digest": self.layout.digest,
                "rows": self.n_rows,
                "files": self._files,
            }
            with writing_to(self.folder):
                (self.folder / "head.json").write_text(json.dumps(head), encoding="utf-8")

    def _write_block(self) -> None:
        parts, self._waiting = self._waiting, []
        codes = parts[0] if len(parts) == 1 else Codes.joined(parts)
        with writing_to(self.folder):
            if self._open is None:
                name = f"part-{len(self._files):05d}.arrow"
                self._files.append({"name": name, "rows": 0})
                self._open = pa.ipc.new_file(str(self.folder / name), _FIELDS)
            self._open.write_batch(block_of(codes))
            self._files[-1]["rows"] += codes.n_rows
            self.n_rows += codes.n_rows
            if self._files[-1]["rows"] >= self.layout.file_rows:
                self._close()

    def _close(self) -> None:
        if self._open is not None:
            opened, self._open = self._open, None
            with writing_to(self.folder):
                opened.close()


@dataclass(frozen=True, eq=False)
class CodeCache:
    """Codes in a folder, read as often as asked. Open one with `CodeCache.open`."""

    folder: Path
    layout: CodeLayout
    n_rows: int
    files: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path, layout: CodeLayout) -> CodeCache:
        """Return the codes of a folder; FileError where they are of another version or of other codecs."""
        try:
            head = json.loads((folder / "head.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise FileError(
                f"'{folder}' holds no codes, or not all of them: what wrote them did not end well. Run it again."
            ) from None
        if head.get("format") != "chaffinch-codes" or head.get("version") != VERSION:
            raise FileError(f"'{folder}' holds codes of another version. Write them with this one.")
        if head["digest"] != layout.digest:
            raise FileError(f"'{folder}' holds codes of another schema. Write them with this one.")
        return cls(
            folder, layout, int(head["rows"]), tuple(str(file["name"]) for file in head["files"])
        )

    def batches(self, view: int = 0) -> Iterator[Codes]:
        """Return blocks of the codes of one of the schemas, mapped into memory, in the order of rows."""
        seen = 0
        for name in self.files:
            with pa.memory_map(str(self.folder / name)) as mapped:
                blocks = pa.ipc.open_file(mapped)
                for i in range(blocks.num_record_batches):
                    codes = codes_of_block(blocks.get_batch(i), self.layout.sizes)
                    seen += codes.n_rows
                    yield self.layout.view(codes, view)
        if seen != self.n_rows:
            raise FileError(
                f"'{self.folder}' has lost rows since it was written. Run the command again."
            )


@contextlib.contextmanager
def temporary_folder(
    folder: str | os.PathLike[str] | None = None, *, n_bytes: int = 0
) -> Iterator[Path]:
    """Give a new folder that only its owner can read, and remove it with all it holds when the block ends, also by an error, Ctrl-C or SIGTERM.

    It lies in `folder`, else in that of the system for temporary files (`TMPDIR`). FileError where there is no room for `n_bytes`. What a
    process that was killed left there is removed before.
    """
    parent = Path(tempfile.gettempdir() if folder is None else folder)
    try:
        free = shutil.disk_usage(parent).free
        remove_left_behind(parent, PREFIX)
        cache_folder = Path(
            tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        )  # readable by its owner alone
    except OSError as error:
        raise FileError(
            f"Cannot make a code cache in '{parent}': {error.strerror or 'the system refused'}. Set TMPDIR to another folder."
        ) from None
    try:
        if n_bytes > free:
            raise FileError(
                f"The code cache needs {size_words(n_bytes)}, and '{parent}' has {size_words(free)} left. Set TMPDIR to a folder with more room, "
                "or use --engine memory."
            )
        with raising_on_sigterm(), mark_in_use(cache_folder):
            yield cache_folder
    finally:
        shutil.rmtree(cache_folder, ignore_errors=True)


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Say in our words that there is no room, or that the system refused."""
    try:
        yield
    except OSError as error:
        why = (
            "there is no room left"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else error.strerror or "the system refused"
        )
        raise FileError(
            f"Cannot write the code cache in '{folder.parent}': {why}. Set TMPDIR to a folder with more room, or use --engine memory."
        ) from None
