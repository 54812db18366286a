"""How formulas write a basis: bs(x, df=4), ns(x, knots=c(2, 5), Boundary.knots=c(0, 9)), poly(x, 2, raw=True)."""

from __future__ import annotations

from collections.abc import Mapping

from .._base.errors import InputError, unknown_name
from .._base.tokens import Reader
from .basis import Basis, NaturalSpline, Polynomial, Spline

Argument = float | bool | None | tuple[float, ...]

BASES: Mapping[str, tuple[str, ...]] = {
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "ns": ("df", "knots", "include_intercept", "lower_bound", "upper_bound"),
    "poly": ("degree", "raw"),
}
"""The bases of formulas, with what may stand behind their number, in order, as patsy, formulaic and R have it."""

_SAME = {"intercept": "include_intercept"}
_WORDS: dict[str, bool | None] = {
    "True": True,
    "TRUE": True,
    "T": True,
    "False": False,
    "FALSE": False,
    "F": False,
    "None": None,
    "NULL": None,
}


def basis_call(name: str, reader: Reader) -> Basis:
    """Return the basis whose arguments follow its number, and go past its bracket; InputError for what it cannot be.

    Examples
    --------
    >>> basis_call("ns", Reader(", knots=c(2, 5), Boundary.knots=c(0, 9))", what="A formula"))
    NaturalSpline(df=None, knots=(2.0, 5.0), degree=3, lower=0.0, upper=9.0, clipped=False)
    """
    given = _arguments(name, reader)
    if given.get("include_intercept"):
        raise InputError(
            "with an intercept of its own it is not supported, since programs differ in which column they then leave out"
        )
    if name == "poly":
        return Polynomial(_whole(given.get("degree", 1.0), "degree"), raw=given.get("raw") is True)
    df, knots = given.get("df"), given.get("knots")
    if isinstance(knots, float):
        knots = (knots,)
    if knots is not None and not isinstance(knots, tuple):
        raise InputError("knots must be a list of numbers")
    lower, upper = (_number(given.get(key), key) for key in ("lower_bound", "upper_bound"))
    n_columns = None if df is None else _whole(df, "df")
    if name == "ns":
        return NaturalSpline(n_columns, knots, lower=lower, upper=upper)
    return Spline(n_columns, knots, _whole(given.get("degree", 3.0), "degree"), lower, upper)


def _arguments(name: str, reader: Reader) -> dict[str, Argument]:
    keys, given, place = BASES[name], dict[str, Argument](), 0
    while reader.accept(","):
        key = _key(reader)
        if key == "Boundary.knots" and name != "poly":
            bounds = _argument(reader)
            if not isinstance(bounds, tuple) or len(bounds) != 2:
                raise InputError("Boundary.knots must be two numbers")
            given["lower_bound"], given["upper_bound"] = bounds
            continue
        key = _SAME.get(key, key)
        if not key:
            if place >= len(keys):
                raise InputError("it has too many arguments")
            key, place = keys[place], place + 1
        if key not in keys:
            raise unknown_name("argument", key, keys)
        if key in given:
            raise InputError(f"it has {key} twice")
        given[key] = _argument(reader)
    reader.expect(")")
    return {key: value for key, value in given.items() if value is not None}


def _key(reader: Reader) -> str:
    """The name of an argument, and go past its sign; empty for one without a name."""
    place = reader.place
    if reader.next.kind != "name" or reader.next.quoted:
        return ""
    key = reader.take().value
    while reader.accept("."):
        key += f".{reader.take().value}"
    if reader.accept("="):
        return key
    reader.place = place
    return ""


def _argument(reader: Reader) -> Argument:
    """A number, a truth value or a list of numbers."""
    if reader.next.kind == "name" and reader.next.value in _WORDS:
        return _WORDS[reader.take().value]
    if reader.accept("c"):
        reader.expect("(")
        return _list(reader, ")")
    if reader.accept("["):
        return _list(reader, "]")
    if reader.accept("("):
        return _list(reader, ")")
    return _signed(reader)


def _list(reader: Reader, end: str) -> tuple[float, ...]:
    numbers = list[float]()
    while not reader.accept(end):
        numbers.append(_signed(reader))
        if not reader.ahead(end):
            reader.expect(",")
    return tuple(numbers)


def _signed(reader: Reader) -> float:
    sign = -1.0 if reader.accept("-") else 1.0
    token = reader.take()
    if token.kind != "number":
        raise InputError("its arguments must be numbers, lists of numbers, True or False")
    return sign * float(token.value)


def _whole(value: Argument, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, float) or not value.is_integer():
        raise InputError(f"{key} must be a whole number")
    return int(value)


def _number(value: Argument, key: str) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, float)):
        raise InputError(f"{key} must be a number")
    return value
