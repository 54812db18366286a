"""Where a table comes from: files and objects, all as streams of Arrow batches that can be read
again; and whether all rows of a file are held in memory or read batch by batch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import pyarrow as pa

from .._base.checks import check_name
from .._base.errors import FileError, InputError, join_names
from .._base.text import size_words
from .formats import FORMATS, FileOptions, Format, ReadOptions, Source
from .formats.delimited import CSV
from .formats.format import identities, readable
from .formats.objects import open_object
from .formats.packing import archive_names, packing_of, unpacked_head
from .formats.parquet import FOLDER, is_pattern

HEAD = 4096
"""First bytes of a file by which its format is told."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^/].*", re.DOTALL)
Engine = Literal["auto", "memory", "stream"]
ENGINES: tuple[Engine, ...] = ("auto", "memory", "stream")
"""How files are worked on: "memory": all rows are held; "stream": batches of them; "auto": the
first where rows are few and fit.
"""

MANY_ROWS = 1_000_000
"""Rows of a table from which on "auto" reads batch by batch. Of 4,000,000 rows of 15 columns memory
took 2.8 GiB and a stream 0.55, with no more time of the processor.
"""

HELD = 42
"""Bytes that a cell takes while a table is read and coded: 5.9 GiB for 10,000,000 rows of 15
columns.
"""

UNPACKED = 10
"""Bytes in memory for each byte of a file whose rows cannot be told without reading it."""

SHARE = 0.5
"""The share of free memory that tables may take before they are read batch by batch: measuring
needs room beside them.
"""

_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
"""Files in which Linux says what a container may use, and what it uses."""


def open_source(
    source: Any,
    *,
    tolerant: bool = False,
    columns: int | None = None,
    line_breaks: bool = False,
    **options: Unpack[FileOptions],
) -> Source:
    """Return a source for a path, for a pandas, polars, pyarrow or any other Arrow-speaking object,
    or a dataset.

    `tolerant` gives one that no record can stop, for private fits, where `columns` and
    `line_breaks` are declared: see `ReadOptions`.
    """
    if isinstance(source, Source):
        return source  # opened before, with options of its own
    asked = ReadOptions.from_options(
        options, tolerant=tolerant, columns=columns, line_breaks=line_breaks
    )
    if isinstance(source, str | os.PathLike):
        path, table = split_location(source)
        if table is not None and asked.table not in (None, table):
            raise InputError(
                f"'{source}' names the table '{table}', and '{asked.table}' was asked for. Name one."
            )
        opened = _open_file(path, replace(asked, table=asked.table or table))
    else:
        opened = open_object(source, tolerant=tolerant)
    with readable(opened.name):
        names = opened.schema.names
    if unnamed := [i for i, name in enumerate(names, start=1) if not str(name).strip()]:
        raise InputError(
            f"'{opened.name}' has a column without a name (column {unnamed[0]}). Name it."
        )
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"'{opened.name}' has columns of one name: {join_names(double)}. Rename them."
        )
    return replace(opened, decimal=asked.decimal) if opened.text else opened


def split_location(source: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Return the path of a file, and the table in it where it was named with that: FILE::TABLE.

    Examples
    --------
    >>> split_location("visits.xlsx::May")
    (PosixPath('visits.xlsx'), 'May')
    >>> split_location("visits.csv")
    (PosixPath('visits.csv'), None)
    """
    path, text = Path(source), os.fspath(source)
    if path.exists():
        return path, None
    if _ADDRESS.fullmatch(text):
        raise FileError(
            f"'{text.partition(':')[0]}:' starts an address. Chaffinch opens no network connection: export the table to Parquet or CSV, or copy it into "
            "a DuckDB or SQLite file, and name that."
        )
    file, colons, table = text.rpartition("::")
    return (Path(file), table) if colons and file and table else (path, None)


def recognise(source: str | os.PathLike[str], *, by_name: bool = False) -> Format:
    """Return the format of a file by its first bytes, unpacked, or for text by its name: CSV where
    no format claims it.

    `by_name` asks for a text file by its name alone, whatever its bytes: those are of a record
    where no line has the names of columns.
    """
    path, _ = split_location(source)
    if path.is_dir() or is_pattern(path):
        return FOLDER
    if not path.exists():
        raise FileError(f"No such file: '{path}'.")
    if (
        by_name
        and (
            claimed := next((form for form in FORMATS if form.claims(path.name.lower())), CSV)
        ).by_name
    ):
        return claimed
    with readable(str(path)):
        packing = packing_of(path)
        head = unpacked_head(path, HEAD) + archive_names(path)
    if not head:
        raise FileError(f"'{path}' is empty. A table needs column names and rows.")
    name = path.name.lower()
    for form in FORMATS:
        if form.starts(head, name):
            if packing is not None and not form.packed and form.open is not None:
                raise FileError(
                    f"'{path}' is {form.a_file} packed by {packing.name}. Unpack it, and name the unpacked file."
                )
            return form
    for form in FORMATS:
        if form.claims(name):
            if form.by_name:
                return form
            raise FileError(
                f"'{path}' is named as {form.name} but does not start as such a file does. It may be damaged or misnamed: if it is text, "
                "give it a name that ends in .csv."
            )
    return CSV


def expected_shape(path: Path, **options: Unpack[FileOptions]) -> tuple[int, int] | None:
    """Return the approximate number of rows and columns of a file, without reading it; None if
    unknown.
    """
    try:
        form, (file, table) = recognise(path), split_location(path)
        asked = ReadOptions.from_options(options)
        return (
            None
            if form.shape is None
            else form.shape(file, replace(asked, table=asked.table or table))
        )
    except (FileError, InputError, pa.ArrowException, OSError):
        return None  # reading it says what is wrong


def _open_file(path: Path, options: ReadOptions) -> Source:
    form = recognise(path, by_name=options.undescribed)
    if form.open is None:
        raise FileError(f"'{path}' is {form.a_file}, which is not read. {form.advice}")
    if options.table is not None and not form.tables:
        raise InputError(
            f"'{path}' is {form.a_file}: it has one table, and none that is called '{options.table}'. Leave the name of the table out."
        )
    files = identities([path] if path.is_file() else [])
    with readable(str(path)):
        opened = form.open(path, options)
    opened = replace(opened, files=opened.files or files)
    return (
        opened
        if opened.layout.format
        else replace(opened, layout=replace(opened.layout, format=form.name))
    )


@dataclass(frozen=True)
class EngineChoice:
    """The engine that works on files, whether it was chosen for them, and what decided.

    `needed` and `free`: the bytes of their tables in memory, and free ones. `n_rows`: about how
    many rows the longest has, where that is known. `in_memory`: what of the work needs all rows at
    once, in a sentence.
    """

    engine: Literal["memory", "stream"]
    chosen: bool = False
    needed: int = 0
    free: int | None = None
    n_rows: int = 0
    in_memory: str = ""

    @property
    def stream(self) -> bool:
        """Whether rows are read batch by batch."""
        return self.engine == "stream"

    @property
    def sentence(self) -> str:
        """What to say of the choice; empty where it was made by whoever asked, or where a table is
        held as most are.
        """
        if not self.chosen:
            return ""
        if self.in_memory:
            return f"All rows are read into memory (--engine memory), about {size_words(self.needed)}: {self.in_memory}."
        if not self.stream:
            return ""
        why = f"in memory they would take about {size_words(self.needed)}"
        if self.n_rows >= MANY_ROWS:
            n_rows = round(self.n_rows, 3 - len(str(self.n_rows)))
            why = f"there are about {n_rows:,}, and {why}"
        elif self.free is not None:
            why += f", and {size_words(self.free)} are free"
        return f"Rows are read batch by batch (--engine stream): {why}."


def choose_engine(
    engine: str,
    paths: Sequence[str | os.PathLike[str]],
    *,
    in_memory: str = "",
    free: int | None = None,
    **options: Unpack[FileOptions],
) -> EngineChoice:
    """Return the engine for files: the one that was asked for, or for "auto" memory where tables
    are short, and fit in half of what is free.

    `in_memory` says what of the work needs all rows at once, if anything does: then "auto" is
    memory, and says why where it would have been another.

    Examples
    --------
    >>> choose_engine("stream", []).engine, choose_engine("auto", []).engine
    ('stream', 'memory')
    """
    check_name("engine", engine, ENGINES)
    if engine != "auto":
        return EngineChoice("stream" if engine == "stream" else "memory")
    room = free_bytes() if free is None else free
    shapes = [(path, expected_shape(Path(path), **options)) for path in paths]
    n_rows = max((shape[0] for _, shape in shapes if shape is not None), default=0)
    needed = sum(
        UNPACKED * _file_bytes(path) if shape is None else HELD * shape[0] * shape[1]
        for path, shape in shapes
    )
    if n_rows < MANY_ROWS and (room is None or needed <= SHARE * room):
        return EngineChoice("memory", True, needed, room, n_rows)
    return EngineChoice("memory" if in_memory else "stream", True, needed, room, n_rows, in_memory)


def _file_bytes(path: str | os.PathLike[str]) -> int:
    try:
        return split_location(path)[0].stat().st_size
    except OSError:
        return 0  # reading it says what is wrong


def free_bytes() -> int | None:
    """Return how many bytes this process may still take: of the machine, or of its container where
    that has fewer; None if unknown.
    """
    known = [
        n_bytes
        for n_bytes in (_free_of_machine(), *(_remaining_bytes(*files) for files in _LIMITS))
        if n_bytes is not None
    ]
    return min(known) if known else None


def _free_of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None  # Windows


def _remaining_bytes(limit: Path, used: Path) -> int | None:
    """Return the bytes that a limit leaves; None where there is no limit."""
    try:
        return max(int(limit.read_text("ascii")) - int(used.read_text("ascii")), 0)
    except (OSError, ValueError):
        return None
