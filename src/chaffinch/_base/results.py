"""What results have in common: plain data and back (frozen dataclasses written to JSON, JSON of ours checked into the same dataclasses),
how a run made them, what it left out to be quick, and the plain HTML that notebooks show. Pictures live in `report/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from html import escape
from math import isfinite, nan
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

from .errors import InputError, MissingExtraError
from .files import write_text
from .text import display_name

T = TypeVar("T")


class _NanForNone:
    """Has `from_plain` read None as a number that is not there; pydantic asks for it when it first meets the type."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(
            lambda v: nan if v is None else v, handler(source)
        )


Number = Annotated[float, _NanForNone]
"""A number that may be nan in a result, which plain data have as None."""


def finite(value: float) -> float | None:
    """Return a number as JSON can hold it: None where there is none.

    Examples
    --------
    >>> finite(0.5), finite(float("nan"))
    (0.5, None)
    """
    return float(value) if isfinite(value) else None


def to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it: dataclasses and mappings become dicts, sequences lists, numpy numbers Python's own.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Pair:
    ...     columns: tuple[str, str]
    ...     value: float | None
    >>> to_plain({"worst": (Pair(("a", "b"), 0.5),)})
    {'worst': [{'columns': ['a', 'b'], 'value': 0.5}]}
    """
    if isinstance(value, PlainData):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {
            entry.metadata.get("key") or entry.name: to_plain(getattr(value, entry.name))
            for entry in fields(value)
        }
    if isinstance(value, Mapping):
        return {key: to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(entry) for entry in value]
    return value.tolist() if hasattr(value, "tolist") else value


def shown_parts(value: Any) -> Any:
    """Return a result as JSON can hold it: its parts by their own `to_dict` where they have one, and None for numbers that are not there.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Line:
    ...     slope: float
    ...     points: tuple[tuple[float, float], ...]
    >>> shown_parts(Line(nan, ((0.5, 1.0),)))
    {'slope': None, 'points': [[0.5, 1.0]]}
    """

    def shown(entry: Any) -> Any:
        return entry.to_dict() if hasattr(entry, "to_dict") else shown_parts(entry)

    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: shown(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [shown(entry) for entry in value]
    return finite(value) if isinstance(value, float) else to_plain(value)


def from_plain(kind: type[T], data: Any, *, what: str) -> T:
    """Return plain data as a dataclass, every part checked against its type; InputError with the place where one does not fit.

    Fields may be dataclasses, tuples, mappings and numbers again. `what` is what the data are, for messages.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Pair:
    ...     columns: tuple[str, str]
    ...     value: float | None
    >>> from_plain(Pair, {"columns": ["a", "b"], "value": 1}, what="the report")
    Pair(columns=('a', 'b'), value=1.0)
    >>> from_plain(Pair, {"columns": ["a", "b"]}, what="the report")
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: The data of the report are not as they should be at 'value': field required.
    """
    from pydantic import ValidationError

    try:
        parsed: T = _adapter(cast(Hashable, kind)).validate_python(data)
        return parsed
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
        location = ".".join(str(key) for key in fault["loc"]) or "the top"
        message = fault["msg"].rstrip(".").lower()
        raise InputError(
            f"The data of {what} are not as they should be at '{location}': {message}."
        ) from None


def without_none(data: Any) -> dict[str, Any]:
    """Return a mapping without what is not known; nothing for anything else.

    Examples
    --------
    >>> without_none({"a": 1, "b": None}), without_none(None)
    ({'a': 1}, {})
    """
    return (
        {key: value for key, value in data.items() if value is not None}
        if isinstance(data, Mapping)
        else {}
    )


def check_format(data: Any, wanted: str, version: int, next_step: str) -> None:
    """Raise unless data say that they are of a format, in the version that this Chaffinch reads."""
    got = data.get("format") if isinstance(data, Mapping) else type(data).__name__
    if got != wanted:
        raise InputError(
            f"The data must be of format '{wanted}'. Got {display_name(got)!r}. {next_step}"
        )
    if data.get("version") != version:
        raise InputError(
            f"This Chaffinch reads version {version} of '{wanted}'. Got {display_name(data.get('version'))!r}. Measure again, or update Chaffinch."
        )


@cache
def _adapter(kind: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))


def plain_form(
    *,
    key: str = "",
    omit: Callable[[Any, Any], bool] | None = None,
    write: Callable[[Any, Any], Any] | None = None,
    spread: bool = False,
) -> dict[str, Any]:
    """Return the `metadata` of a field of `PlainData` that is not written as it is.

    Parameters
    ----------
    key
        The key of plain data; by default the field's name.
    omit
        Whether the key is left out, a function of the result and the value.
    write
        What is written, a function of the result and the value.
    spread
        What is written is a mapping whose entries stand in the place of the field.
    """
    return {"key": key, "omit": omit, "write": write, "spread": spread}


NOT_WRITTEN = plain_form(omit=lambda result, value: True)
"""Metadata of a field that plain data never hold."""

UNLESS_NONE = plain_form(omit=lambda result, value: value is None)
"""Metadata of a field that plain data hold where it is not None."""

UNLESS_EMPTY = plain_form(omit=lambda result, value: not value)
"""Metadata of a field that plain data hold where it is not empty."""


@dataclass(frozen=True, eq=False, repr=False)
class PlainData:
    """Base of frozen dataclasses that are plain data: fields are written in their order and read back with their types checked.

    A field that is not written as it is has `metadata=plain_form(...)`; a class whose plain data differ from its fields overrides `_parsed`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Distance(PlainData):
    ...     FORMAT: ClassVar[str] = "distance"
    ...     value: float
    ...     note: str | None = field(default=None, metadata=UNLESS_NONE)
    >>> Distance(0.5).to_dict()
    {'format': 'distance', 'version': 1, 'value': 0.5}
    >>> Distance.from_dict(Distance(0.5).to_dict()) == Distance(0.5)
    True
    """

    FORMAT: ClassVar[str] = ""
    """The name of the file format; empty where the result is part of a file."""
    VERSION: ClassVar[int] = 1
    """The version of the file format."""
    SUBJECT: ClassVar[str] = "a result"
    """What the data are, for messages."""
    NEXT_STEP: ClassVar[str] = ""
    """What to give instead of data of another format, for messages."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the format and its version where there is one, then the fields."""
        plain: dict[str, Any] = (
            {"format": self.FORMAT, "version": self.VERSION} if self.FORMAT else {}
        )
        for entry in fields(self):
            value, how = getattr(self, entry.name), {**plain_form(), **entry.metadata}
            if how["omit"] is None or not how["omit"](self, value):
                value = to_plain(value if how["write"] is None else how["write"](self, value))
                plain |= value if how["spread"] else {how["key"] or entry.name: value}
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return what plain data hold; InputError where they are of another format, or are not as they should be."""
        if cls.FORMAT:
            check_format(data, cls.FORMAT, cls.VERSION, cls.NEXT_STEP)
        return cls._parsed(data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        schema = handler(source)
        keys = {
            entry.name: entry.metadata["key"] for entry in fields(cls) if entry.metadata.get("key")
        }
        for entry in schema["schema"]["fields"] if keys else ():
            if entry["name"] in keys:
                entry["validation_alias"] = keys[entry["name"]]
        return schema

    @classmethod
    def _parsed(cls, data: Mapping[str, Any]) -> Self:
        return from_plain(cls, data, what=cls.SUBJECT)


@dataclass(frozen=True, eq=False, repr=False)
class TabularResult(PlainData):
    """Plain data with a table: a row of the fields, unless a result has rows of its own."""

    HEAD: ClassVar[tuple[str, ...] | None] = None
    """The names of columns, where rows are not mappings."""

    def rows(self) -> Sequence[Mapping[str, Any] | Sequence[Any]]:
        """Return the table of the result, row by row."""
        return [self.to_dict()]

    def to_pandas(self) -> Any:
        """Return the table of the result as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("A result as a DataFrame", "pandas") from None
        return pd.DataFrame(self.rows(), columns=self.HEAD)


@dataclass(frozen=True)
class RunFacts(PlainData):
    """Seconds of each step, versions of packages, the date and the command; the last three where a command was run.

    Plain data have those that are known, seconds to the millisecond; a private result has none of them.
    """

    seconds: Mapping[str, float] = field(
        default_factory=dict,
        metadata=plain_form(
            omit=lambda run, seconds: not seconds,
            write=lambda run, seconds: {step: round(time, 3) for step, time in seconds.items()},
        ),
    )
    versions: Mapping[str, str] = field(default_factory=dict, metadata=UNLESS_EMPTY)
    date: str = field(default="", metadata=UNLESS_EMPTY)
    command: str | tuple[str, ...] = field(default="", metadata=UNLESS_EMPTY)


THOROUGH = "--thorough"
"""The option that measures everything; in Python `thorough=True`."""


@dataclass(frozen=True)
class LeftOut(PlainData):
    """Something that was not measured, in words, the option or command that would measure it, and why it was not, where that is said.

    `unmet`: whether it needs something that was not there, and was not left out by choice.
    """

    what: str
    flag: str = THOROUGH
    reason: str = field(default="", metadata=UNLESS_EMPTY)
    unmet: bool = field(default=False, metadata=UNLESS_EMPTY)


def not_measured(parts: Iterable[LeftOut]) -> str:
    """Return what was left out in one sentence, each option once; nothing where nothing was.

    Examples
    --------
    >>> not_measured([LeftOut("delta"), LeftOut("a regression", "--formula"), LeftOut("the attacker rf")])
    'Not measured: delta, the attacker rf (--thorough); a regression (--formula).'
    """
    by_flag: dict[str, list[str]] = {}
    for omitted in parts:
        by_flag.setdefault(omitted.flag, []).append(omitted.what)
    text = "; ".join(f"{', '.join(dict.fromkeys(what))} ({flag})" for flag, what in by_flag.items())
    return f"Not measured: {text}." if text else ""


KEEP_INSIDE = "Keep inside."
"""The first words of a page that is as confidential as the data."""

MAY_LEAVE = "May leave."
"""The first words of a page that holds only what may leave."""


@dataclass(frozen=True)
class Leaving:
    """Whether a page may leave, and why: its first line."""

    may: bool = False
    why: str = "Its figures are taken from the data, exactly and without noise; a person reviews what of it is published."

    @property
    def word(self) -> str:
        """The first words."""
        return MAY_LEAVE if self.may else KEEP_INSIDE


INSIDE = Leaving()
"""The first line of a page on data, unless it says more."""


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str = "") -> str:
    """Return an HTML table with every cell escaped.

    Examples
    --------
    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def html_page(title: str, body: str) -> str:
    """Return a whole HTML page around a body that is already HTML: no script, nothing from elsewhere, to be kept inside."""
    style = (
        "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}"
        "table{border-collapse:collapse}th,td{padding:.25rem .6rem;border-bottom:1px solid #ccc;text-align:left;"
        "vertical-align:top}caption{text-align:left;font-weight:600;padding:.5rem 0}"
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style></head>'
        f"<body><p><strong>{KEEP_INSIDE}</strong> {escape(INSIDE.why)}</p><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def write_page(
    path: str | os.PathLike[str], html: str, *, public: bool = False, overwrite: bool = False
) -> None:
    """Write a page to a file, wholly or not at all, over one that is there only if it may be overwritten: readable by its owner alone, unless it is `public`, made to leave."""
    write_text(path, html, mode=0o644 if public else 0o600, overwrite=overwrite)
