"""Checks of settings and arguments: each raises in the same words wherever it is made."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any

from .errors import InputError, unknown_name


def check_at_least(name: str, value: float, minimum: float, *, finite: bool = False) -> None:
    """Raise unless a number is at least `minimum`, and below infinity where it must be finite.

    Examples
    --------
    >>> check_at_least("parents", 0, 1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: parents must be at least 1. Got 0.
    """
    if not value >= minimum or (finite and value == inf):
        raise InputError(f"{name} must be at least {minimum}. Got {value}.")


def check_whole(name: str, value: Any, minimum: int, *, type_: type[Any] = int) -> None:
    """Raise unless a value is a whole number, no truth value, of at least `minimum`.

    `type_`: `numbers.Integral` takes NumPy's whole numbers too.

    Examples
    --------
    >>> check_whole("rows_per_person", 2.0, 1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: rows_per_person must be a whole number of at least 1. Got 2.0.
    """
    if isinstance(value, bool) or not isinstance(value, type_) or value < minimum:
        raise InputError(f"{name} must be a whole number of at least {minimum}. Got {value!r}.")


def check_share(name: str, value: float, *, ends: bool = False) -> None:
    """Raise unless a number lies between 0 and 1, which are themselves allowed with `ends`.

    Examples
    --------
    >>> check_share("level", 1.0)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: level must lie between 0 and 1. Got 1.0.
    """
    if not (0 <= value <= 1 if ends else 0 < value < 1):
        raise InputError(f"{name} must lie between 0 and 1. Got {value}.")


def check_name(thing: str, name: object, known: Collection[object]) -> None:
    """Raise unless a name is among those that are known: columns, options, kinds.

    Examples
    --------
    >>> check_name("column", "incme", ["age", "income", "sex"])
    Traceback (most recent call last):
    chaffinch._base.errors.UnknownNameError: Unknown column 'incme'. Did you mean 'income'? Columns: age, income, sex.
    """
    if name not in known:
        raise unknown_name(thing, name, known)
