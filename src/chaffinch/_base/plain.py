"""Results as plain data and back: frozen dataclasses written to JSON, and JSON of ours checked into the same dataclasses."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite, nan
from typing import Annotated, Any, TypeVar, cast

from .errors import InputError
from .words import shown

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
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(part) for part in value]
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

    def shown(part: Any) -> Any:
        return part.to_dict() if hasattr(part, "to_dict") else shown_parts(part)

    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: shown(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
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
        place = ".".join(str(part) for part in fault["loc"]) or "the top"
        words = fault["msg"].rstrip(".").lower()
        raise InputError(
            f"The data of {what} are not as they should be at '{place}': {words}."
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
        raise InputError(f"The data must be of format '{wanted}'. Got {shown(got)!r}. {next_step}")
    if data.get("version") != version:
        raise InputError(
            f"This Chaffinch reads version {version} of '{wanted}'. Got {shown(data.get('version'))!r}. Measure again, or update Chaffinch."
        )


@cache
def _adapter(kind: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))
