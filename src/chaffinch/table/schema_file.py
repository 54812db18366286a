"""Schemas as files that people read and edit: TOML with a comment for each column; and blank ones
to fill in, from names and stored types alone, so that no record has a say in them.
"""

from __future__ import annotations

import datetime
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, model_validator

from .._base.documents import check_head, parse_document, toml_key, toml_value, validate_document
from .._base.errors import InputError, SchemaError
from .._base.files import read_small, write_text
from .domain import Scalar
from .personal.names import name_sign
from .schema import KINDS, NUMERIC_KINDS, ROLES, UNKNOWN, Column, Kind, Output, Role, Schema
from .text import DecimalSign
from .types import clock_shift, parse_type, type_name

FORMAT = "chaffinch-schema"
VERSION = 1
MOST_BYTES = 64 << 20
OUTPUTS = get_args(Output)[1:]
PUBLIC = "nothing in this file was read from the confidential data, or it may be known"
Moment = (
    datetime.datetime | datetime.date | datetime.time | Annotated[float, Field(allow_inf_nan=False)]
)

Code = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True)]
    | Annotated[float, Field(allow_inf_nan=False)]
    | str
)

SchemaLike = Schema | str | os.PathLike[str] | Mapping[str, Any]
"""A schema as such, the path of its file, or what it says of single columns, as {"sex": "key",
"name": "drop", "age": {"bounds": [0, 110]}}.
"""

CASES = (
    (
        '{ kind = "integer", bounds = [0, 110] }',
        "numbers (integer, float): their range, cut into bins = 20 of equal width",
    ),
    ('{ kind = "float", edges = [0, 18.5, 25, 60] }', "numbers in bins of your own"),
    ('{ kind = "date", bounds = [2000-01-01, 2029-12-31] }', "dates; with times of day: datetime"),
    (
        '{ levels = ["a", "b"], other = true }',
        "categories: every value that may occur; all else goes to (other)",
    ),
    (
        '{ kind = "boolean", nullable = true }',
        "yes and no; nullable wherever values may be missing",
    ),
    (
        '"drop"',
        'says who somebody is, or is free text: left out; "fake" makes values up, "keep" has it modelled',
    ),
    (
        '{ kind = "categorical", discover = true }',
        "a private fit spends budget to find its levels, or bounds",
    ),
)
"""The common cases of a column, and what each is for."""

EPOCH = datetime.datetime(1970, 1, 1)
_KEYS = (
    "title",
    "nullable",
    "missing",
    "levels",
    "other",
    "ordered",
    "edges",
    "bounds",
    "decimals",
    "decimal",
    "format",
)

_ROW_NUMBERS = re.compile(
    r"id|uuid|guid|index|(row|record|case)[_ ]?(id|no|nr|number|index)", re.IGNORECASE
)


class _ColumnEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Kind | None = None
    role: Role = "other"
    type: str = ""
    title: str = ""
    nullable: bool = False
    missing: list[Code] = []
    levels: list[Code] | None = None
    labels: dict[str, str] = {}
    ordered: bool = False
    other: bool = False
    rare: Literal["pool", "keep"] = "pool"
    binning: Literal["quantile", "width", "edges"] | None = None
    bins: int = 20
    edges: list[Moment] | None = None
    atoms: list[Moment] | None = None
    bounds: Annotated[list[Moment], Field(min_length=2, max_length=2)] | None = None
    out_of_range: Literal["error", "clip"] = "error"
    decimals: int | None = None
    decimal: Literal[".", ","] = "."
    thousands: str = ""
    step: int = 1
    format: str = ""
    output: Output = ""
    form: str = ""
    repeats: int | None = None
    discover: bool = False

    @model_validator(mode="before")
    @classmethod
    def _one_word(cls, entry: Any) -> Any:
        return {_key_of(entry): entry} if isinstance(entry, str) else entry


def _key_of(word: str) -> str:
    """The key that one word in place of an entry sets: output, kind or role.

    Examples
    --------
    >>> _key_of("drop"), _key_of("date"), _key_of("key")
    ('output', 'kind', 'role')
    """
    if word in OUTPUTS:
        return "output"
    return "role" if word in ROLES and word not in KINDS else "kind"


class _SchemaEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["chaffinch-schema"]
    version: int
    rare_below: int = 3
    public: bool = False
    rows: int | None = None
    line_breaks: bool = False
    discover: Literal["all"] | None = None
    rules: list[str] | None = None
    broken_rules: Literal["enforce", "refuse"] = "enforce"
    columns: dict[str, Any]


def as_schema(schema: SchemaLike | None) -> Schema | None:
    """Return a schema from a schema, the path of a file, or a mapping of columns.

    Examples
    --------
    >>> as_schema({"sex": "key", "name": "drop"}).with_role("key")
    ('sex',)
    """
    if schema is None or isinstance(schema, Schema):
        return schema
    if not isinstance(schema, Mapping):
        return read_schema(schema)
    plain = {name: _lists(entry) for name, entry in schema.items()}
    return _schema_of({"format": FORMAT, "version": VERSION, "columns": plain}, "schema")


def _lists(entry: Any) -> Any:
    """An entry with lists where Python has tuples."""
    return (
        {key: list(value) if isinstance(value, tuple) else value for key, value in entry.items()}
        if isinstance(entry, Mapping)
        else entry
    )


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Return the schema in a file: TOML, or a codebook in JSON (SDV metadata, Table Schema)."""
    file = Path(path)
    text = read_small(
        file,
        what="schema",
        max_bytes=MOST_BYTES,
        next_step=f"`chaffinch schema DATA -o {file.name}` writes one.",
    )
    if text.lstrip().startswith("{"):
        from .codebooks import schema_from_json

        return schema_from_json(text, str(file))
    return schema_from_toml(text, name=str(file))


def schema_from_toml(text: str, *, name: str = "schema", with_rules: bool = True) -> Schema:
    """Return the schema that TOML text describes, or all of it but its rules; raise with the place
    and the rule where it does not.
    """
    data = parse_document(text, name, error=SchemaError)
    check_head(data, f"'{name}'", what="schema", format_=FORMAT, version=VERSION, error=SchemaError)
    if not with_rules:
        data.pop("rules", None)
    return _schema_of(data, name)


def _schema_of(data: Mapping[str, Any], name: str) -> Schema:
    model = validate_document(_SchemaEntry, data, f"'{name}'", error=SchemaError)
    names = {"kind": KINDS, "role": ROLES, "output": OUTPUTS}
    columns = []
    for key, stated in model.columns.items():
        where = f"'{name}', column '{key}'"
        entry = validate_document(_ColumnEntry, stated, where, names=names, error=SchemaError)
        columns.append(_column(key, entry))
    schema = Schema(
        tuple(columns),
        model.rare_below,
        model.public,
        model.rows,
        rules=tuple(model.rules or ()),
        rules_stated=model.rules is not None,
        broken_rules=model.broken_rules,
        line_breaks=model.line_breaks,
    )
    if schema.rules:
        from .rules.constraints import check_rules

        check_rules(schema)
    return schema if model.discover is None else schema.discovering()


def _column(name: str, entry: _ColumnEntry) -> Column:
    left_out = entry.output in ("drop", "fake", "regenerate") or entry.role == "person"
    column_kind: Kind = entry.kind or (
        "identifier" if left_out else "categorical" if entry.levels is not None else UNKNOWN
    )
    kind = entry.type or usual_type(column_kind, entry.levels)
    parse_type(kind)

    def numbers(values: list[Moment] | None) -> tuple[float, ...] | None:
        return None if values is None else tuple(number_of(value, kind, name) for value in values)

    typed = {str(code): code for code in [*(entry.levels or []), *entry.missing]}
    levels = (False, True) if column_kind == "boolean" and entry.levels is None else entry.levels
    changed = {
        "kind": column_kind,
        "role": "identifier"
        if column_kind == "identifier" and entry.role == "other"
        else entry.role,
        "output": "regenerate" if entry.role == "person" else entry.output,
        "type": kind,
        "missing": tuple(entry.missing),
        "levels": None if levels is None else tuple(levels),
        "labels": tuple(
            (typed.get(code, _code(code)), label) for code, label in entry.labels.items()
        ),
        "binning": entry.binning or ("edges" if entry.edges is not None else "quantile"),
        **{key: numbers(getattr(entry, key)) for key in ("edges", "atoms", "bounds")},
    }
    return Column(name, **{**dict(entry), **changed}, reason="as the schema says")


def usual_type(kind: str, levels: Sequence[Scalar] | None = None) -> str:
    """Return the type of a kind whose type the schema leaves open: text files need one.

    Examples
    --------
    >>> usual_type("date"), usual_type("categorical", [1, 2])
    ('date32', 'int64')
    """
    if kind == "categorical":
        names = {bool: "bool", int: "int64", float: "double"}
        return names.get(type(levels[0]), "string") if levels else "string"
    types = {
        "integer": "int64",
        "float": "double",
        "boolean": "bool",
        "date": "date32",
        "datetime": "timestamp[s]",
    }
    return types.get(kind, "string")


def _code(word: str) -> Scalar:
    try:
        return int(word)
    except ValueError:
        try:
            return float(word)
        except ValueError:
            return word


def number_of(value: Moment, kind: str, name: str) -> float:
    """Return a bound or edge as a number of the column's units: dates and times may be written as
    such.
    """
    if isinstance(value, datetime.time):
        return _time_of_day(value, kind, name)
    if not isinstance(value, datetime.date):
        return float(value)
    ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    units = {
        "date32": 1 / 86_400,
        "date64": 1000.0,
        **{f"timestamp[{unit}": each for unit, each in ticks.items()},
    }
    unit = units.get(kind.split("]")[0].split(",")[0])
    if unit is None:
        raise SchemaError(
            f"Column '{name}': a date stands where a number belongs: its type is {kind}."
        )
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:  # a time on the clock of the column
        return value.replace(tzinfo=datetime.UTC).timestamp() * unit
    return value.timestamp() * unit + clock_shift(parse_type(kind))


def _time_of_day(value: datetime.time, kind: str, name: str) -> float:
    units = {"time32[s]": 1.0, "time32[ms]": 1e3, "time64[us]": 1e6, "time64[ns]": 1e9}
    if kind not in units:
        raise SchemaError(
            f"Column '{name}': a time of day stands where another value belongs: its type is {kind}."
        )
    return (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) * units[
        kind
    ]


def write_schema(
    schema: Schema, path: str | os.PathLike[str], *, source: str = "", overwrite: bool = False
) -> None:
    """Write a schema as TOML, readable by its owner only: it lists levels of the data."""
    write_text(path, schema_text(schema, source=source), mode=0o600, overwrite=overwrite)


def schema_text(schema: Schema, *, source: str = "") -> str:
    """Return a schema as TOML, each column with a comment that says why it is as it is."""
    of_source = f" of {source}" if source else ""
    nature = "Public" if schema.public else "Confidential: it lists levels that occur in the data"
    lines = [
        f"# Schema{of_source}. {nature}. Edit it, then pass it with --schema.",
        f"# kind: {', '.join(KINDS)}.",
        f"# role: {', '.join(ROLES)}.",
        "",
        f'format = "{FORMAT}"',
        f"version = {VERSION}",
        f"rare_below = {schema.rare_below}  # levels with fewer records are pooled into (other), unless listed in levels",
    ]
    if schema.public:
        lines.append(f"public = true  # {PUBLIC}")
    if schema.rows is not None:
        lines.append(f"rows = {schema.rows}")
    if schema.line_breaks:
        lines.append(
            "line_breaks = true  # cells in quotes may hold line breaks, and every quote is closed"
        )
    lines += _rule_lines(schema)
    for column in schema:
        lines += ["", f"[columns.{toml_key(column.name)}]", *_column_lines(column)]
    return "\n".join(lines) + "\n"


def _rule_lines(schema: Schema) -> list[str]:
    """The rules, those that were found with a word on it, and those that are suggested as
    comments.
    """
    if not schema.rules and not schema.suggested:
        none = (
            "none was found; delete this line to look again"
            if schema.searched
            else "none, and none is looked for"
        )
        return [f"rules = []  # {none}"] if schema.searched or schema.rules_stated else []
    comment = "  # found: holds in all records"
    lines = [
        f"    {toml_value(text)},{comment if text in schema.found_rules else ''}"
        for text in schema.rules
    ]
    lines += [
        f"    # {toml_value(text)},  # {' '.join(why.split())}" for text, why in schema.suggested
    ]
    strict = (
        []
        if schema.broken_rules == "enforce"
        else [f"broken_rules = {toml_value(schema.broken_rules)}"]
    )
    return [
        *strict,
        "rules = [  # drawn rows keep them; delete what holds by chance, add what you know",
        *lines,
        "]",
    ]


def _column_lines(column: Column) -> list[str]:
    reason = " ".join(f"{column.reason}{_question(column)}".split())
    lines = [f"kind = {toml_value(column.kind)}" + (f"  # {reason}" if reason else "")] * (
        column.kind != UNKNOWN
    )
    plain = Column(column.name, column.kind)
    numbers = [*(column.edges or ()), *(column.atoms or ()), *(column.bounds or ())]
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"Column '{column.name}': a schema cannot hold infinite numbers.")
    levels: tuple[Scalar, ...] | None = column.levels
    other = column.other
    if column.codec is not None and column.kind == "categorical" and column.codec.levels:
        levels, other = column.codec.levels, column.codec.other
    for key in (
        "role",
        "type",
        "title",
        "nullable",
        "missing",
        "levels",
        "other",
        "ordered",
        "rare",
        "binning",
        "bins",
        "edges",
        "atoms",
        "bounds",
        "out_of_range",
        "decimals",
        "decimal",
        "thousands",
        "step",
        "format",
        "output",
        "form",
        "repeats",
        "discover",
    ):
        value = {"levels": levels, "other": other}.get(key, getattr(column, key))
        shown = key in ("role", "type") or (
            key == "bins" and column.kind in NUMERIC_KINDS and column.edges is None
        )
        hidden = value is None or (key == "levels" and column.kind == "boolean")
        if (shown or value != getattr(plain, key)) and not hidden:
            lines.append(
                f"{key} = {toml_value(value)}" + (_perhaps(column) if key == "role" else "")
            )
    if not column.modelled and "output" not in "".join(lines):
        lines.append('# left out; output = "fake" makes values up, "regenerate" numbers the rows')
    if column.labels:
        inner = ", ".join(
            f"{toml_value(str(code))} = {toml_value(label)}" for code, label in column.labels
        )
        lines.append(f"labels = {{ {inner} }}")
    return lines


def _perhaps(column: Column) -> str:
    """A comment with the role that a column may have, where it has none."""
    from .infer import suggested_role

    suggestion = suggested_role(column) if column.role == "other" and column.modelled else None
    return (
        ""
        if suggestion is None or suggestion.role == "identifier"
        else f'  # perhaps "{suggestion.role}": {suggestion.reason}'
    )


def _question(column: Column) -> str:
    """The decision that a column which looks personal needs."""
    if column.evidence is None or not column.modelled or column.output:
        return ""
    return f'; {column.evidence}: write output = "drop", "fake" or "keep"'


def blank_text(
    types: Mapping[str, pa.DataType | None],
    *,
    source: str = "",
    decimal: DecimalSign | None = None,
    codebook: Schema | None = None,
) -> str:
    """Return a schema to fill in, from the names of columns and their stored types (None: words of
    a text file).

    `decimal` is the decimal sign of a text file where it was given, `codebook` what is declared of
    columns elsewhere. A kind is proposed where the stored type settles it, or where the name says
    that the column tells who somebody is. `public = true` stands in a comment: it is the word of
    whoever fills it in.

    Examples
    --------
    >>> print(blank_text({"age": pa.int64(), "job": None, "surname": None}).partition("[columns]")[2])
    <BLANKLINE>
    age = { kind = "integer" }  # needs bounds; its type is int64
    job = {}  # needs a kind, or levels
    surname = { kind = "identifier" }  # by its name
    <BLANKLINE>
    """
    of_source = f" of {source}" if source else ""
    declared = {} if codebook is None else {column.name: column for column in codebook}
    known = "names and types" if codebook is None else "names, types and a codebook"
    width = max(len(case) for case, _ in CASES)
    lines = [
        f"# Schema{of_source}, to fill in from what is known of the field, not from the data. Nothing was read but {known}.",
        "# A line for each column. The common cases:",
        *(f"#   {case:{width}}  {meaning}" for case, meaning in CASES),
        "",
        f'format = "{FORMAT}"',
        f"version = {VERSION}",
        f"# public = true  # take the first # away if {PUBLIC}",
        "# rows = 1000  # the number of records, if that may be known",
        '# discover = "all"  # a private fit spends budget to find all that is left open here; --dry-run shows the price',
        "",
        "[columns]",
    ]
    for name, stored in types.items():
        line = (
            _entry_with_gaps(declared[name]) if name in declared else _line(name, stored, decimal)
        )
        lines.append(f"{toml_key(name)} = {line}")
    return "\n".join(lines) + "\n"


def _line(name: str, stored: pa.DataType | None, decimal: DecimalSign | None) -> str:
    """The entry of a column, and in a comment what it needs and why it is as it is."""
    kind = None if stored is None else kind_of(stored)
    by_name = kind_by_name(name)
    keys: dict[str, Any] = {}
    if by_name or kind:
        keys["kind"] = by_name or kind
    if stored is None and decimal is not None and not by_name:
        keys["decimal"] = str(decimal)
    inner = ", ".join(f"{key} = {toml_value(value)}" for key, value in keys.items())
    return (
        f"{{ {inner} }}  # {_comment(by_name, kind, stored)}"
        if inner
        else f"{{}}  # {_comment(by_name, kind, stored)}"
    )


def _entry_with_gaps(column: Column) -> str:
    """The entry of a column that a codebook declares, and in a comment what it still needs."""
    plain = Column(column.name, column.kind, column.role, column.type)
    keys = {key: value for key in _KEYS if (value := getattr(column, key)) != getattr(plain, key)}
    if column.kind == "boolean":
        keys.pop("levels", None)
    if column.kind != UNKNOWN and (column.kind != "categorical" or not column.levels):
        keys = {"kind": column.kind, **keys}
    if column.bounds is not None and column.kind in ("date", "datetime"):
        keys["bounds"] = _Moments(tuple(_moment(end, column.kind) for end in column.bounds))
    inner = [
        f"{key} = {value if isinstance(value, _Moments) else toml_value(value)}"
        for key, value in keys.items()
    ]
    if column.labels:
        pairs = ", ".join(
            f"{toml_value(str(code))} = {toml_value(label)}" for code, label in column.labels
        )
        inner.append(f"labels = {{ {pairs} }}")
    needs = {
        "kind": "needs a kind, or levels",
        "levels": "needs levels",
        "bounds": "needs bounds",
    }.get(column.lacks)
    comment = "; ".join(phrase for phrase in (needs, column.reason) if phrase)
    return f"{{ {', '.join(inner)} }}  # {comment}" if inner else f"{{}}  # {comment}"


class _Moments(tuple[str, ...]):
    """Dates and times, which TOML has without quotes."""

    def __str__(self) -> str:
        return f"[{', '.join(self)}]"


def _moment(end: float, kind: Kind) -> str:
    day = EPOCH + (
        datetime.timedelta(days=end) if kind == "date" else datetime.timedelta(seconds=end)
    )
    return day.strftime("%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M:%S")


def _comment(by_name: Kind | None, kind: Kind | None, stored: pa.DataType | None) -> str:
    if by_name:
        return "by its name"
    if kind is None or stored is None:
        return "needs a kind, or levels"
    word, usual = type_name(stored), usual_type(kind)
    needs = "needs bounds; " if kind in NUMERIC_KINDS else ""
    return f"{needs}its type is {word}" + (
        "" if word == usual else f"; type = {toml_value(word)} keeps it, else {usual}"
    )


def kind_by_name(name: str) -> Kind | None:
    """Return "identifier" for a name that says who somebody is, or that numbers rows; None for all
    others.

    Examples
    --------
    >>> [kind_by_name(name) for name in ("surname", "record_id", "ID", "age", "paid")]
    ['identifier', 'identifier', 'identifier', None, None]
    """
    sign = name_sign(name)
    personal = sign is not None and sign.form not in (
        "latitude",
        "longitude",
    )  # these are numbers, and may be coarse
    return "identifier" if personal or _ROW_NUMBERS.fullmatch(name.strip()) else None


def kind_of(kind: pa.DataType) -> Kind | None:
    """Return the kind that a stored type settles; None for words and for what cannot be
    modelled.
    """
    kinds_by_test: list[tuple[Any, Kind]] = [
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "float"),
        (pa.types.is_decimal, "float"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "datetime"),
    ]
    return next((name for test, name in kinds_by_test if test(kind)), None)
