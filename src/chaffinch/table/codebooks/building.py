"""What readers of codebooks share: names, ranges and codes as a schema has them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ..._base.errors import SchemaError
from ..codec import Scalar
from ..schema import NUMERIC_KINDS, UNKNOWN, Column, Kind
from ..schema_file import usual_type
from .codebook import Header

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def first_name(names: Sequence[Any], header: Header, number: int) -> str:
    """Return the name that the header of the data has too; else the first; `number` is that of the column, for messages."""
    words = [name for name in names if isinstance(name, str) and name.strip()]
    if not words:
        raise SchemaError(f"Column {number} of the codebook has no name.")
    return next((word for word in words if header is not None and word in header), words[0])


def words_in(value: Any) -> list[str]:
    """Return the words of a list, or a word alone; nothing of what is neither.

    Examples
    --------
    >>> words_in("a"), words_in(["a", 3]), words_in(3)
    (['a'], ['a'], [])
    """
    return (
        [value]
        if isinstance(value, str)
        else [word for word in value if isinstance(word, str)]
        if isinstance(value, list)
        else []
    )


def codes_of(
    values: Any, kind: Kind | None, levels: Sequence[Scalar] | None = None
) -> tuple[Scalar, ...]:
    """Return missing codes as values of a column: numbers where it has numbers. Empty cells are null, and no code.

    Examples
    --------
    >>> codes_of(["", "NA", "-99"], "integer"), codes_of(["-99"], "categorical", ("a", "b"))
    (('NA', -99), ('-99',))
    """
    numeric = kind in NUMERIC_KINDS or any(isinstance(level, int | float) for level in levels or ())
    codes = [
        _number(value) if numeric else value
        for value in (values if isinstance(values, list) else [])
    ]
    return tuple(
        dict.fromkeys(
            code
            for code in codes
            if code != "" and isinstance(code, str | int | float) and code not in (levels or ())
        )
    )


def _number(value: Any) -> Any:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    return int(number) if number.is_integer() else number if math.isfinite(number) else value


def bounds_of(low: Any, high: Any, kind: Kind | None, name: str) -> tuple[float, float] | None:
    """Return a range that is said at both ends, in the units of the kind: days for dates, seconds for moments. None otherwise.

    Examples
    --------
    >>> bounds_of("0", 110, "integer", "age"), bounds_of(0, None, "float", "pay"), bounds_of("1970-01-02", "1970-01-11", "date", "d")
    ((0.0, 110.0), None, (1.0, 10.0))
    """
    if low is None or high is None or kind not in NUMERIC_KINDS:
        return None
    try:
        ends = tuple(
            _moment(end, kind) if kind in ("date", "datetime") else float(end)
            for end in (low, high)
        )
    except (TypeError, ValueError, OverflowError):
        raise SchemaError(f"Column '{name}': its minimum or maximum is no {kind}.") from None
    return (ends[0], ends[1]) if all(map(math.isfinite, ends)) and ends[0] < ends[1] else None


def _moment(value: Any, kind: Kind) -> float:
    moment = datetime.datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    seconds = (moment - EPOCH).total_seconds()
    return float(seconds // 86_400) if kind == "date" else seconds


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
    """Return a column as a codebook says it is; the kind stays open where it says none."""
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
