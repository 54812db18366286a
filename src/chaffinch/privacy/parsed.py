"""Tables that a library has parsed before they come here: one record may have decided how all others were read.

Told "01" and "02", `pandas.read_csv` gives the numbers 1 and 2; told one "foo" besides, it gives the words "01" and "02". Whatever is promised
from there on, the other records have changed by then. Whether that can happen is told from the kind of object and from declarations: no
dtype is asked, since a record may have decided it.
"""

from __future__ import annotations

import warnings
from typing import Any

from .._base.errors import ParsedDataWarning, listed
from ..table.formats.objects import OBJECTS
from ..table.schema import Column, Schema
from ..table.spell import spell
from ..table.table import Table
from ..table.types import is_words, parse_type, value_type
from .domain import lacks, with_usual_type

PARSERS = ("pandas", "polars")
"""Kinds of objects whose libraries infer what a text file holds."""

NULLS = frozenset({"", "#n/a", "<na>", "n/a", "na", "nan", "none", "null"})
"""Words that these libraries take for missing values, in small letters."""


def reads_as_another(word: str) -> bool:
    """Return whether a word would be another after it was read as a number, or as missing.

    Examples
    --------
    >>> [reads_as_another(word) for word in ("red", "10", "01", "1.50", "1e3", "NA")]
    [False, False, True, True, True, True]
    """
    if word.strip().lower() in NULLS:
        return True
    try:
        return "_" not in word and spell(float(word)) != word
    except ValueError:
        return False


def changed_by_parsing(schema: Schema, person: str | None = None) -> list[str]:
    """Return the columns whose cells a parser of text may change: by their declarations, whatever the data hold."""
    return [column.name for column in schema if column.name == person or _may_change(column)]


def _may_change(column: Column) -> bool:
    declared = with_usual_type(column)
    if (
        declared.kind != "categorical"
        or not declared.modelled
        or not is_words(value_type(parse_type(declared.type)))
    ):
        return False
    return lacks(column) == "levels" or any(
        isinstance(word, str) and reads_as_another(word) for word in column.levels or ()
    )


def warn_if_parsed(source: Any, schema: Schema, person: str | None = None) -> None:
    """Warn of a table of pandas or polars where one record may have decided how cells of others were read."""
    if isinstance(source, Table):
        return
    kind = next((kind.name for kind in OBJECTS if kind.recognise(source)), "")
    if kind not in PARSERS or not (columns := changed_by_parsing(schema, person)):
        return
    warnings.warn(
        f"One record may decide how {kind} reads the others from a text file, as '01' or as 1, and no promise covers that: "
        f"{listed(columns)}. Pass the path of the file in place of the table; a table whose types were told to {kind}, or that comes from "
        "a database, is safe.",
        ParsedDataWarning,
        stacklevel=4,
    )
