"""The domain of a private fit: codecs that come from declarations alone, and a place in them for any value.

Under a promise of privacy no record may have a say in levels, bins, types or errors. So levels and bounds are declared, or
found with noise (`discover`), and every value, however odd, has a code: each code is a function of its own cell and of
public declarations, so neighbouring tables stay neighbours when they are coded, under both relations (`relation`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._base.errors import PrivacyError
from ..table.bins import fit_intervals
from ..table.codes import narrowest
from ..table.domain import OTHER, Categories, ColumnDomain, Intervals
from ..table.rules.constraints import check_rules, cut_schema
from ..table.schema import NUMERIC_KINDS, Column, Schema
from ..table.schema_file import PUBLIC, usual_type
from ..table.spell import words_of
from ..table.types import is_numeric, is_whole, is_words, parse_type, to_numbers, value_type

ROWS_NEEDED = (
    "rows = N at its top (under replace-one the number of rows is public, and must be declared: write rows = N at the top of the schema, "
    "or choose neighbours = 'add-remove', where it is measured with noise)"
)

SILENT = np.errstate(all="ignore")
"""Around arithmetic with values of records: numpy would warn of one that is odd, as a NaN that signals is."""

MOST_WHOLE = 2.0**62
"""Bounds of whole numbers lie within this, so that neither bins nor sums of two of them overflow."""


def lacks(column: Column) -> str:
    """Return what a column's declaration lacks before it can have codes: "kind", "levels", "bounds", or nothing.

    Examples
    --------
    >>> lacks(Column("age", "integer")), lacks(Column("age", "integer", bounds=(0, 110)))
    ('bounds', '')
    """
    return column.lacks


def missing_declarations(
    schema: Schema, *, delta: float | None = None, rows_public: bool = False
) -> list[str]:
    """Return a phrase for each thing that is lacking: `public`, the number of rows, then column by column.

    `delta` is what the budget allows: words can only be discovered with some. None: that is not settled yet. `rows_public` says
    whether the relation takes the number of rows as known.
    """
    out = [] if schema.public else [f"public = true at its top ({PUBLIC})"]
    if rows_public and schema.rows is None:
        out.append(ROWS_NEEDED)
    return out + [phrase for column in schema if (phrase := _missing(column, delta))]


def _missing(column: Column, delta: float | None) -> str:
    what = column.lacks
    if not what:
        return ""
    shown = "a kind" if what == "kind" else what
    if not column.discover:
        return f"{column.name}: {shown} (or discover = true)"
    if what != "bounds" and delta is not None and not delta > 0:
        return f"{column.name}: {shown} (to discover {'it' if what == 'kind' else 'them'} takes a delta above 0)"
    return ""


def check_declared(
    schema: Schema, *, delta: float | None = None, rows_public: bool = False, source: str = "DATA"
) -> None:
    """Raise unless a schema is public and says of each column what a private fit may not read from the data.

    All that is lacking is named at once.

    Examples
    --------
    >>> check_declared(Schema((Column("age", "integer"), Column("job", "categorical")), public=True), source="a.csv")
    Traceback (most recent call last):
    ...
    chaffinch._base.errors.PrivacyError: A private fit needs a declared domain, and the schema lacks: age: bounds (or discover = true); \
job: levels (or discover = true). Nothing was read from the data. `chaffinch schema a.csv --blank -o a.toml` writes a schema to fill in; \
discover = "all" at its top has all found that is left open, at a price that --dry-run shows.
    """
    stem = source.rsplit("/", 1)[-1].split(".")[0] or "schema"
    command = f"`chaffinch schema {source} --blank -o {stem}.toml` writes a schema to fill in"
    if phrases := missing_declarations(schema, delta=delta, rows_public=rows_public):
        discover_hint = '; discover = "all" at its top has all found that is left open, at a price that --dry-run shows'
        open_ones = any(column.lacks and not column.discover for column in schema)
        raise PrivacyError(
            f"A private fit needs a declared domain, and the schema lacks: {'; '.join(phrases)}. Nothing was read from the data. "
            f"{command}{discover_hint if open_ones else ''}."
        )
    if not schema.modelled:
        raise PrivacyError(
            "A private fit needs a column to model; the schema has only identifiers and free text."
        )


def undeclared_error(source: str = "DATA") -> PrivacyError:
    """Return the error for a private fit without any schema."""
    return PrivacyError(
        "A private fit needs a declared domain: levels, bounds and bins that were not read from the data. "
        f"`chaffinch schema {source} --blank -o schema.toml` writes a schema to fill in; pass it as the schema. Or have all of it "
        "discovered, at a price that --dry-run shows: --discover all, with a --delta."
    )


def declared_schema(schema: Schema) -> Schema:
    """Return the schema with every codec made from its declaration alone: sealed."""
    check_declared(schema)
    if waiting := [f"{column.name}: {what}" for column in schema if (what := lacks(column))]:
        raise PrivacyError(
            f"The domain of columns with discover = true is not yet known. {'; '.join(waiting)}. Discover them first, at the cost "
            "of some budget, or declare them."
        )
    # What was found in records or fitted to them has no place here: rules are what was declared.
    rules = tuple(text for text in schema.rules if text not in schema.found_rules)
    declared = replace(
        check_rules(schema),
        columns=declared_columns(schema),
        sealed=True,
        rules=rules,
        searched=False,
        found_rules=(),
        suggested=(),
        functions=(),
    )
    return cut_schema(declared)


def declared_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns with the codecs of their declarations; raise one error that names all declarations that give none."""
    out, faults = [], []
    for column in columns:
        try:
            out.append(declared_column(column))
        except PrivacyError as error:
            faults.append(str(error))
    if faults:
        raise PrivacyError(" ".join(faults))
    return tuple(out)


def declared_column(column: Column) -> Column:
    """Return a column with the codec that its declaration alone gives; no value is looked at.

    Numbers without `edges` have bins of equal width between their bounds, also where binning is "quantile": quantiles
    are facts about records. Inside a bin values are drawn evenly. Whole numbers have bins of at least one `step`.

    Examples
    --------
    >>> declared_column(Column("age", "integer", bounds=(0, 99), bins=4)).codec.names()
    ['0 to 24', '25 to 49', '50 to 74', '75 to 99']
    >>> declared_column(Column("ill", "boolean", nullable=True)).codec.names()
    ['False', 'True', '(missing)']
    """
    column = with_usual_type(replace(column, reason="declared", codec=None))
    if not column.modelled:
        return column
    kind = parse_type(column.type)
    if column.kind in NUMERIC_KINDS:
        if not is_numeric(kind):
            raise _wrong_type(column)
        return _with_bins(column, kind)
    if column.kind == "boolean" and not pa.types.is_boolean(value_type(kind)):
        raise _wrong_type(column)
    if pa.types.is_boolean(value_type(kind)):
        column = replace(column, levels=column.levels or (False, True))
    if not column.levels:
        raise PrivacyError(
            f"Column '{column.name}' has no declared levels. Add levels, or discover them first."
        )
    return replace(
        column, codec=Categories(column.levels, column.other, column.nullable, column.missing)
    )


def with_usual_type(column: Column) -> Column:
    """Return the column with the usual type of its kind where it says no more than "string", as columns made in Python do."""
    if column.type != "string" or not column.modelled:
        return column
    return replace(column, type=usual_type(column.kind, column.levels))


def _wrong_type(column: Column) -> PrivacyError:
    return PrivacyError(
        f"Column '{column.name}' is declared {column.kind} and of type {column.type}. Correct one of them."
    )


def _with_bins(column: Column, kind: pa.DataType) -> Column:
    integral = is_whole(kind) or column.kind == "integer"
    column = replace(column, out_of_range="clip")
    if column.edges is None:
        if column.bounds is None:
            raise PrivacyError(
                f"Column '{column.name}' has no declared bounds. Add bounds, or discover them first."
            )
        low, high = column.bounds
        if integral:
            low, high = float(math.ceil(low)), float(math.floor(high))
            if not low < high:
                raise PrivacyError(
                    f"Column '{column.name}': its bounds hold fewer than two whole numbers. Widen them."
                )
        column = replace(column, binning="width", bounds=(low, high))
    ends = column.edges or column.bounds or (0.0, 0.0)
    limit = 2.0**31 - 1 if kind == pa.date32() else MOST_WHOLE if integral else 1e300
    if not all(abs(end) <= limit for end in (*ends, *(column.atoms or ()))):
        raise PrivacyError(
            f"Column '{column.name}': its bounds, edges or atoms are beyond what its type can hold."
        )
    nothing = np.empty(0, dtype=np.int64 if integral else np.float64)
    single = kind in (pa.float32(), pa.float16())
    return replace(
        column, codec=fit_intervals(column, nothing, np.empty(0), integral=integral, single=single)
    )


@SILENT
def declared_codes(
    column: Column, values: pa.Array, tokens: NDArray[np.int16] | None = None
) -> NDArray[np.unsignedinteger[Any]]:
    """Return a code for every value, whatever it is; nothing is counted, said or raised.

    Numbers beyond the bounds or edges are clipped; fractions of whole numbers are rounded. Words that are no level go to
    `(other)` if there is one, else to null, else to the first level; null and NaN go to null if there is one, else to
    `(other)`, else to the first level or the lowest bin. `tokens` tells which missing code stood beside a null (-1: none).

    Stability: the code of a row depends on the row alone, so tables that differ in k rows have codes that differ in k rows.
    """
    codec = column.codec
    assert codec is not None
    if codec.numeric:
        out = _place_numbers(column, codec, values)
    elif is_words(values.type) or pa.types.is_boolean(value_type(values.type)):
        out = _place_words(codec, values)
    else:
        out = _place_levels(codec, values)
    if tokens is not None:
        spelled = tokens >= 0
        out[spelled] = codec.missing_start + tokens[spelled]
    return out.astype(narrowest(codec.size))


def _outside(codec: ColumnDomain) -> int:
    """The code of values that are no level."""
    return codec.n_values - 1 if codec.other else codec.n_values if codec.null else 0


def _absent(codec: ColumnDomain) -> int:
    """The code of nulls."""
    return codec.n_values if codec.null else codec.n_values - 1 if codec.other else 0


def _place_numbers(column: Column, codec: Intervals, values: pa.Array) -> NDArray[np.int64]:
    numbers, present = numbers_of(values)
    ends = codec.limits(column)
    assert ends is not None
    if codec.integral and numbers.dtype == np.float64:
        numbers, plain = (
            np.rint(np.clip(np.where(present, numbers, 0.0), *ends)).astype(np.int64),
            numbers,
        )
    else:
        plain = numbers
        low, high = (int(end) for end in ends) if codec.integral else ends
        numbers = np.clip(np.where(present, numbers, 0), low, high)
    out = codec.encode(numbers).copy()
    out[~present] = _absent(codec)
    _place_codes(codec, plain, present, out)
    return out


def _place_codes(
    codec: ColumnDomain, numbers: NDArray[Any], present: NDArray[np.bool_], out: NDArray[np.int64]
) -> None:
    """Give numbers that are declared missing codes their own levels."""
    for code, number in codec.missing_numbers:
        out[present & (numbers == number)] = code


def _place_levels(codec: Categories, values: pa.Array) -> NDArray[np.int64]:
    """Codes of numbers that are levels."""
    numbers, present = numbers_of(values)
    codes, known = codec.codes_of_numbers(numbers.astype(np.float64))
    out = np.where(known, codes, _outside(codec))
    out[~present] = _absent(codec)
    _place_codes(codec, numbers, present, out)
    return out


def _place_words(codec: Categories, values: pa.Array) -> NDArray[np.int64]:
    """Codes of words and of truth values."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    spellings = (
        words_of(values.dictionary) if is_words(values.type) else values.dictionary.to_pylist()
    )
    codes: dict[Any, int] = {
        level: i for i, level in enumerate(codec.levels) if isinstance(level, str | bool)
    }
    if codec.other:
        codes.setdefault(OTHER, codec.n_values - 1)
    codes |= {
        code: codec.missing_start + i
        for i, code in enumerate(codec.missing)
        if isinstance(code, str)
    }

    truth = {
        level.lower(): i
        for level, i in codes.items()
        if isinstance(level, str) and level.lower() in ("true", "false")
    }

    def code(word: Any) -> int:
        if word is None:
            return _absent(codec)
        if word in codes or not isinstance(word, str):
            return codes.get(word, _outside(codec))
        bare = (
            word.strip()
        )  # and truth is spelled in three ways: a column of it may come as words or as what it is
        return codes.get(bare, truth.get(bare.lower(), _outside(codec)))

    table = np.array([*map(code, spellings), _absent(codec)], dtype=np.int64)
    indices = (
        values.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
    )
    return np.asarray(table[indices])


@SILENT
def numbers_of(values: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the numbers of an Arrow array and which are neither null nor NaN; no value stops it."""
    if values.type == pa.uint64():  # the upper half is beyond int64: out of any bounds
        values = pc.min_element_wise(values, pa.scalar(2**63 - 1, pa.uint64()), skip_nulls=False)
    numbers, present = to_numbers(values)
    if numbers.dtype != np.float64:
        return numbers, present
    return numbers + 0.0, present & ~np.isnan(
        numbers
    )  # -0 is 0: which of the two comes first must not show
