"""SQL that codes the rows of a table and counts combinations of codes: text alone, nothing is run here.

A code is a CASE over the values of its column, as `encode_column` has them; -1 stands for a value that the schema does not know.
Many cliques are counted by one statement, GROUPING SETS, in which GROUPING tells the sets apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from .._base.errors import InputError, unknown_name
from ..table.codec import OTHER, Categories, Intervals, Scalar
from ..table.schema import Column, Schema
from ..table.types import is_words, parse_type, value_type

__all__ = ["MOST_LEVELS", "UNKNOWN_CODE", "CountStatement", "Dialect", "codes_sql", "counts_sql", "quoted_name"]

Dialect = Literal["duckdb", "postgresql", "standard"]

MOST_LEVELS = 2000
"""Levels of a column that SQL codes, at most: a CASE has a line for each."""

MOST_COLUMNS, MOST_SETS = 30, 64
"""Columns that GROUPING takes everywhere, and sets of a statement."""

UNKNOWN_CODE = -1

_NAN = {"duckdb": "isnan({x})", "postgresql": "{x} = 'NaN'", "standard": "{x} <> {x}"}
_DAYS = {"duckdb": "({x} - DATE '1970-01-01')", "postgresql": "({x} - DATE '1970-01-01')", "standard": "CAST(({x} - DATE '1970-01-01') DAY AS BIGINT)"}


@dataclass(frozen=True)
class CountStatement:
    """A statement that counts some sets of columns: `columns` are those of its result, before the set's number and the count."""

    sql: str
    columns: tuple[str, ...]
    sets: tuple[frozenset[str], ...]

    def number(self, columns: frozenset[str]) -> int:
        """Return what GROUPING gives for a set: a bit for each column that is not in it, the first column's the highest."""
        return sum(1 << (len(self.columns) - 1 - j) for j, name in enumerate(self.columns) if name not in columns)


def quoted_name(name: str | Sequence[str]) -> str:
    """Return a name as SQL reads it, whatever it holds; of several parts those of a table in a schema.

    Examples
    --------
    >>> quoted_name(("public", 'odd"name'))
    '"public"."odd""name"'
    """
    parts = [name] if isinstance(name, str) else list(name)
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def codes_sql(schema: Schema, table: str | Sequence[str], *, dialect: Dialect = "duckdb") -> str:
    """Return the SELECT of the codes of all modelled columns, under the names of the columns."""
    if dialect not in get_args(Dialect):
        raise unknown_name("dialect", dialect, get_args(Dialect))
    lines = [f"  {_code(column, dialect)} AS {quoted_name(column.name)}" for column in schema.modelled]
    return "SELECT\n" + ",\n".join(lines) + f"\nFROM {quoted_name(table)}"


def counts_sql(cliques: Sequence[Sequence[str]], coded: str) -> Iterator[CountStatement]:
    """Return statements that count the cliques, each set of columns once; `coded` is the table of codes, or a SELECT in brackets."""
    names: dict[str, None] = {}
    sets: dict[frozenset[str], None] = {}
    for clique in cliques:
        wanted = frozenset(clique)
        more = {**names, **dict.fromkeys(clique)}
        if sets and wanted not in sets and (len(more) > MOST_COLUMNS or len(sets) == MOST_SETS):
            yield _statement(tuple(names), tuple(sets), coded)
            sets, more = {}, dict.fromkeys(clique)
        if len(more) > MOST_COLUMNS:
            raise InputError(f"A marginal has at most {MOST_COLUMNS} columns in SQL. Got {len(more)}.")
        names, sets = more, {**sets, wanted: None}
    if sets:
        yield _statement(tuple(names), tuple(sets), coded)


def _statement(names: tuple[str, ...], sets: tuple[frozenset[str], ...], coded: str) -> CountStatement:
    columns = [quoted_name(name) for name in names]
    grouped = ", ".join("(" + ", ".join(quoted_name(name) for name in names if name in columns_of) + ")" for columns_of in sets)
    which = f"GROUPING({', '.join(columns)})" if columns else "0"
    selected = ", ".join([*columns, f"{which} AS chaffinch_set", "COUNT(*) AS chaffinch_count"])
    return CountStatement(f"SELECT {selected}\nFROM {coded} AS coded\nGROUP BY GROUPING SETS ({grouped})", names, sets)


def _code(column: Column, dialect: Dialect) -> str:
    codec, kind = column.fitted_codec, value_type(parse_type(column.type))
    if column.spelled and codec.missing:
        raise InputError(f"Column '{column.name}' has missing codes that a file spelled beside its values: a database has no such cells.")
    x = _number(column, kind, dialect)
    cases: list[tuple[str, int]] = []
    absent = [f"{x} IS NULL"]
    if pa.types.is_floating(kind):
        absent.append(_NAN[dialect].format(x=x))
    outside = isinstance(codec, Categories) and codec.other and not is_words(kind)
    nothing = codec.n_values if codec.null else codec.n_values - 1 if outside else UNKNOWN_CODE
    cases += [(condition, nothing) for condition in absent]
    cases += [(f"{x} = {literal(code)}", codec.n_values + codec.null + i) for i, code in enumerate(codec.missing) if _comparable(code, kind)]
    last = UNKNOWN_CODE
    if isinstance(codec, Intervals):
        own, last = _interval_cases(column, codec, x)
        cases += own
    elif not codec.n_values and codec.null and not is_words(kind):
        last = codec.n_values  # too few numbers to keep: made missing
    else:
        if len(codec.levels) > MOST_LEVELS:
            raise InputError(f"Column '{column.name}' has {len(codec.levels):,} levels, and SQL codes at most {MOST_LEVELS:,}. Pool rare ones, or declare fewer.")
        cases += [(f"{x} = {literal(level)}", code) for code, level in enumerate(codec.levels) if _comparable(level, kind)]
        if codec.other:
            last = len(codec.levels)
            cases += [(f"{x} = {literal(OTHER)}", last)] if is_words(kind) else []
    return f"CASE {' '.join(f'WHEN {condition} THEN {code}' for condition, code in cases)} ELSE {last} END"


def _number(column: Column, kind: pa.DataType, dialect: Dialect) -> str:
    """The expression of a column's values; dates as days."""
    name = quoted_name(column.name)
    if pa.types.is_date32(kind):
        return _DAYS[dialect].format(x=name)
    if pa.types.is_temporal(kind):
        raise InputError(f"Column '{column.name}' has moments or times ({column.type}), which are not coded in SQL. Make a date or a number of it in a view.")
    return f"CAST({name} AS DOUBLE PRECISION)" if pa.types.is_decimal(kind) else name


def _interval_cases(column: Column, codec: Intervals, x: str) -> tuple[list[tuple[str, int]], int]:
    """The cases of atoms and bins, and the code of what is beyond them all."""
    cases: list[tuple[str, int]] = []
    bounds = codec.bounds or ((column.edges[0], column.edges[-1]) if column.edges else None)
    if bounds is not None:
        low, high = (int(bound) if codec.whole else float(bound) for bound in bounds)
        if column.out_of_range == "error":
            cases.append((f"{x} < {literal(low)} OR {x} > {literal(high)}", UNKNOWN_CODE))
        else:
            ends = codec.encode(np.array([low, high], dtype=np.int64 if codec.whole else np.float64)).tolist()
            cases += [(f"{x} < {literal(low)}", ends[0]), (f"{x} > {literal(high)}", ends[1])]
    if not len(codec.starts):
        if not len(codec.atoms):
            return cases, 0
        middles = ((codec.atoms[:-1].astype(np.float64) + codec.atoms[1:]) / 2).tolist()
        cases += [(f"{x} < {literal(middle)}", int(code)) for middle, code in zip(middles, codec.atom_codes[:-1], strict=True)]
        return cases, int(codec.atom_codes[-1])
    cases += [(f"{x} = {literal(atom)}", int(code)) for atom, code in zip(codec.atoms.tolist(), codec.atom_codes, strict=True)]
    cases += [(f"{x} < {literal(start)}", int(code)) for start, code in zip(codec.starts[1:].tolist(), codec.bin_codes[:-1], strict=True)]
    return cases, int(codec.bin_codes[-1])


def _comparable(value: Scalar, kind: pa.DataType) -> bool:
    """Whether a level or a missing code can stand in a column of this type."""
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    return isinstance(value, str) if is_words(kind) else not isinstance(value, str | bool)


def literal(value: Scalar) -> str:
    """Return a value as SQL reads it: words in quotes, and fractions in the form that is no decimal.

    Examples
    --------
    >>> literal("it's"), literal(0.1), literal(3), literal(True)
    ("'it''s'", '0.1e0', '3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        if "\x00" in value:
            raise InputError("A level holds a character that no SQL text can (a zero byte). Leave the column out, or clean it in a view.")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    return str(int(value))
