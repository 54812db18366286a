"""What a codebook is: a file that says of columns what they are, written by people and not made
from records.

Value labels, constraints and lists of allowed values are declarations. Categories that a data frame
or an Arrow dictionary lists are values that occur, and are never taken over. Whether a given file
was written by hand or from the data nothing can tell: schemas made of codebooks are not public
before a person says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..._base.documents import parse_document
from ..._base.errors import FileError, SchemaError, join_names
from ..._base.files import read_small
from ..._base.registry import Registry
from ..schema import UNKNOWN, Column, Kind, Schema
from ..schema_file import usual_type

MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Codebook:
    """A kind of codebook. A new one is a file in this folder, or one that a user registers in
    `CODEBOOKS`.

    Parameters
    ----------
    name, title
        In messages, and in `--help`: "sdv", "SDV metadata".
    describes
        Whether the content of a JSON file is such a codebook; None where files of this kind are no
        JSON.
    from_json
        The schema that the content says, given the name of the file.
    magic
        First bytes of files that are no JSON.
    from_file
        The schema that such a file says. No record may be read.
    """

    name: str
    title: str
    describes: Callable[[Any], bool] | None = None
    from_json: Callable[[Any, str], Schema] | None = None
    magic: tuple[bytes, ...] = ()
    from_file: Callable[[Path], Schema] | None = None


CODEBOOKS: Registry[Codebook] = Registry(
    "kind of codebook",
    __package__,
    "sdv",
    "table_schema",
    "stat_files",
)
"""Every kind of codebook there is. Those of the package are in `table/codebooks/`."""


def read_codebook(path: str | os.PathLike[str]) -> Schema:
    """Return the schema of a codebook, with open kinds where it has none; it is not public."""
    file = Path(path)
    try:
        with open(file, "rb") as handle:
            head = handle.read(64)
    except OSError as error:
        raise FileError(f"Cannot read '{file}': {error.strerror}.") from None
    for kind in CODEBOOKS:
        if kind.from_file is not None and head.startswith(kind.magic):
            return kind.from_file(file)
    text = read_small(file, what="codebook", max_bytes=MOST_BYTES, next_step="Name a codebook.")
    if not text.lstrip().startswith("{"):
        raise SchemaError(
            f"'{file}' is no codebook that is known. Codebooks: {join_names(kind.title for kind in CODEBOOKS)}."
        )
    return schema_from_json(text, str(file))


def schema_from_json(text: str, name: str) -> Schema:
    """Return the schema of a JSON codebook of any registered kind; raise, with the known kinds, for
    any other.
    """
    data = parse_document(text, name, syntax="JSON", error=SchemaError)
    for kind in CODEBOOKS:
        if kind.describes is not None and kind.from_json is not None and kind.describes(data):
            return kind.from_json(data, name)
    kinds = join_names(kind.title for kind in CODEBOOKS if kind.describes is not None)
    raise SchemaError(
        f"'{name}' is JSON, but none of {kinds}. Schemas are TOML: `chaffinch schema` writes one."
    )


def declared_column(
    name: str,
    kind: Kind | None,
    *,
    source: str,
    title: str = "",
    levels: Iterable[Any] | None = None,
    labels: tuple[tuple[Any, str], ...] = (),
    decimal: Literal[".", ","] = ".",
    **settings: Any,
) -> Column:
    """Return a column as a codebook declares it; the kind stays open where it has none."""
    reason = f"from {source}"
    if kind in ("identifier", "text"):
        role: Literal["identifier", "other"] = "identifier" if kind == "identifier" else "other"
        return Column(name, kind, role, title=title, reason=reason)
    listed = None if levels is None else tuple(levels)
    if listed is not None and any(
        isinstance(level, bool) or not isinstance(level, str | int | float) for level in listed
    ):
        raise SchemaError(f"Column '{name}': its allowed values must be words or numbers.")
    if kind == "boolean":
        listed = (False, True)
    form = kind or UNKNOWN
    return Column(
        name,
        form,
        type=usual_type(form, listed),
        title=title,
        levels=listed,
        labels=labels,
        decimal=decimal,
        reason=reason,
        **settings,
    )
