"""Checks of settings and arguments: each raises in the same words wherever it is made."""

from __future__ import annotations

from typing import Any

from .errors import InputError


def check_at_least(name: str, value: float, minimum: float) -> None:
    """Raise unless a number is at least `minimum`.

    Examples
    --------
    >>> check_at_least("parents", 0, 1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: parents must be at least 1. Got 0.
    """
    if not value >= minimum:
        raise InputError(f"{name} must be at least {minimum}. Got {value}.")


def check_whole(name: str, value: Any, minimum: int) -> None:
    """Raise unless a value is a whole number, no truth value, of at least `minimum`.

    Examples
    --------
    >>> check_whole("rows_per_person", 2.0, 1)
    Traceback (most recent call last):
    chaffinch._base.errors.InputError: rows_per_person must be a whole number of at least 1. Got 2.0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InputError(f"{name} must be a whole number of at least {minimum}. Got {value!r}.")
