"""What a run left out to be quick, and the option that brings it back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

THOROUGH = "--thorough"
"""The option that measures everything; in Python `thorough=True`."""


@dataclass(frozen=True)
class LeftOut:
    """Something that was not measured, in words, and the option that would measure it."""

    what: str
    flag: str = THOROUGH


def not_measured(parts: Iterable[LeftOut]) -> str:
    """Return what was left out in one sentence, each option once; nothing where nothing was.

    Examples
    --------
    >>> not_measured([LeftOut("delta"), LeftOut("a regression", "--formula"), LeftOut("the attacker rf")])
    'Not measured: delta, the attacker rf (--thorough); a regression (--formula).'
    """
    by_flag: dict[str, list[str]] = {}
    for part in parts:
        by_flag.setdefault(part.flag, []).append(part.what)
    words = "; ".join(
        f"{', '.join(dict.fromkeys(what))} ({flag})" for flag, what in by_flag.items()
    )
    return f"Not measured: {words}." if words else ""
