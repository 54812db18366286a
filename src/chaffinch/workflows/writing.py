"""Where syntheses go, and how they are written: batch by batch, the same bytes whether they are drawn or held."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..synth.model import batch_rows
from ..table import Table, table_writer
from ..table.codec import Categories
from ..table.codes import Codes
from ..table.types import is_words, parse_type
from ..table.write import file_format


def copy_paths(output: Path, copies: int) -> list[Path]:
    """Return where each of several syntheses goes: OUT itself for one, OUT-1, OUT-2 ... for more."""
    file_format(output)
    if copies == 1:
        return [output]
    stem, dot, ending = output.name.partition(".")
    return [output.with_name(f"{stem}-{i}{dot}{ending}") for i in range(1, copies + 1)]


def as_written(table: Table) -> Table:
    """Return a drawn table with the codes that its values have once they are written and read again.

    Pooled levels have no value of their own where a column holds no words: they are written as missing, and read so.
    """
    codes = [table.codes[j] for j in range(len(table.codes))]
    for j, column in enumerate(table.schema.modelled):
        codec = column.codec
        if (
            isinstance(codec, Categories)
            and codec.other
            and codec.null
            and not is_words(parse_type(column.type))
        ):
            empty = np.asarray(table.data.column(column.name).combine_chunks().is_null())
            pooled = empty & (codes[j] == len(codec.levels))
            if pooled.any():
                codes[j] = np.where(pooled, codec.n_values, codes[j]).astype(codes[j].dtype)
    return replace(table, codes=Codes.of(codes, table.schema.sizes))


def write_batches(table: Table, path: Path) -> None:
    """Write a table as it would have been written while it was drawn: the same bytes."""
    with table_writer(path) as write:
        rows = batch_rows(len(table.schema.names))
        for start in range(0, max(table.n_rows, 1), rows):
            write(table[start : start + rows])


def writer_of(
    path: Path | None, *, paid: bool = False
) -> AbstractContextManager[Callable[[Table], object]]:
    """Give what appends tables to a file, or, without a path, does nothing."""
    return nullcontext(lambda table: None) if path is None else table_writer(path, paid=paid)
