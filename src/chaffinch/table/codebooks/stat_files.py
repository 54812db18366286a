"""The codebook inside SPSS and Stata files: titles, value labels, missing codes, formats. Records
are not read.

A variable is categorical if SPSS calls it nominal or ordinal, or, where that is not said, if labels
begin at 0 or 1: those of a measure name its special codes, as 97 and 98. Values without a label may
occur, and go to `(other)`.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pyarrow as pa

from ..domain import Scalar
from ..formats.format import FORMATS, Labels
from ..formats.spss_stata.read import PROGRAMS, Program, read_labels
from ..schema import Column, Kind, Schema
from ..types import is_words
from .codebook import CODEBOOKS, Codebook, declared_column

_WHOLE = re.compile(r"[FN][0-9]+(\.0)?|%-?[0-9]+\.0[fg]c?")


def column_from_labels(name: str, kind: pa.DataType, labels: Labels, source: str) -> Column:
    """Return the column that its labels declare."""
    missing = tuple(_plain(code) for code in labels.missing)
    values = {
        _plain(value): label
        for value, label in labels.values.items()
        if is_words(kind) or not isinstance(value, str)
    }
    levels = tuple(value for value in values if value not in missing)
    named = tuple((value, label) for value, label in values.items())
    if _categorical(labels.measure, levels, kind):
        return declared_column(
            name,
            "categorical",
            source=source,
            title=labels.title,
            levels=levels,
            labels=named,
            missing=missing,
            other=True,
            nullable=True,
            ordered=labels.measure == "ordinal",
        )
    return declared_column(
        name,
        _kind(kind, labels.display),
        source=source,
        title=labels.title,
        missing=missing,
        nullable=True,
    )


def _plain(value: Scalar) -> Scalar:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _categorical(measure: str, levels: tuple[Scalar, ...], kind: pa.DataType) -> bool:
    if not levels or measure == "scale" or pa.types.is_temporal(kind):
        return False
    if measure in ("nominal", "ordinal") or is_words(kind):
        return True
    return (
        len(levels) > 1
        and min((v for v in levels if not isinstance(v, str) and v >= 0), default=2) <= 1
    )


def _kind(kind: pa.DataType, display: str) -> Kind | None:
    if is_words(kind):
        return None
    if pa.types.is_temporal(kind):
        return "date" if pa.types.is_date(kind) else "datetime"
    return "integer" if pa.types.is_integer(kind) or _WHOLE.fullmatch(display) else "float"


def _read(program: Program, path: Path) -> Schema:
    title = FORMATS[program].title
    return Schema(
        tuple(
            column_from_labels(name, kind, labels, title)
            for name, (kind, labels) in read_labels(path, program).items()
        )
    )


for program in PROGRAMS:
    form = FORMATS[program]
    CODEBOOKS.register(
        Codebook(program, form.title, magic=form.magic, from_file=partial(_read, program))
    )
