"""Checks of settings and arguments: each raises in the same words wherever it is made."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any

from .errors import InputError, UnknownNameError, unknown_name


def check_at_least(
    name: str, value: float | None, minimum: float, *, finite: bool = False, optional: bool = False
) -> None:
    """Raise unless a number is at least `minimum`, and below infinity where it must be finite; None keeps the rule where it is `optional`.

    Examples
    --------
    >>> check_at_least("parents", 0, 1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: parents must be at least 1. Got 0.
    """
    allowed = optional if value is None else value >= minimum and not (finite and value == inf)
    if not allowed:
        raise InputError(f"{name} must be at least {minimum}. Got {value}.")


def check_between(
    name: str, value: float | None, low: float, high: float, *, optional: bool = False
) -> None:
    """Raise unless a number lies between two, or is one of them; None keeps the rule where it is `optional`.

    Examples
    --------
    >>> check_between("share", 0.95, 0.1, 0.9)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: share must lie between 0.1 and 0.9. Got 0.95.
    """
    if not (optional if value is None else low <= value <= high):
        raise InputError(f"{name} must lie between {low:,} and {high:,}. Got {value}.")


def check_whole(
    name: str, value: Any, minimum: int, *, type_: type[Any] = int, optional: bool = False
) -> None:
    """Raise unless a value is a whole number, no truth value, of at least `minimum`; None keeps the rule where it is `optional`.

    `type_`: `numbers.Integral` takes NumPy's whole numbers too.

    Examples
    --------
    >>> check_whole("rows_per_person", 2.0, 1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: rows_per_person must be a whole number of at least 1. Got 2.0.
    """
    is_whole = isinstance(value, type_) and not isinstance(value, bool) and value >= minimum
    if not is_whole and not (optional and value is None):
        raise InputError(f"{name} must be a whole number of at least {minimum}. Got {value!r}.")


def check_share(name: str, value: float | None, *, optional: bool = False) -> None:
    """Raise unless a number lies between 0 and 1 and is neither; None keeps the rule where it is `optional`.

    Examples
    --------
    >>> check_share("level", 1.0)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: level must lie between 0 and 1. Got 1.0.
    """
    if not (optional if value is None else 0 < value < 1):
        raise InputError(f"{name} must lie between 0 and 1. Got {value}.")


def check_name(
    thing: str,
    name: object,
    known: Collection[object],
    *,
    prefix: str = "",
    optional: bool = False,
) -> None:
    """Raise unless a name is among those that are known: columns, options, kinds; None keeps the rule where it is `optional`.

    `prefix`: what the message says first, with the blank after it.

    Examples
    --------
    >>> check_name("column", "incme", ["age", "income", "sex"])
    Traceback (most recent call last):
    chaffinch._base.errors.UnknownNameError: Unknown column 'incme'. Did you mean 'income'? Columns: age, income, sex.
    >>> check_name("kind", "tabel", ["table"], prefix="Output 't': ")
    Traceback (most recent call last):
    chaffinch._base.errors.UnknownNameError: Output 't': Unknown kind 'tabel'. Did you mean 'table'? Kinds: table.
    """
    if name not in known and not (optional and name is None):
        raise UnknownNameError(f"{prefix}{unknown_name(thing, name, known)}")
