"""Small counts do not leave: how counts are shown in what may leave a trusted environment."""

from __future__ import annotations

__all__ = ["SHOWN_FROM", "about"]

SHOWN_FROM = 10
"""Records that must share a value or a cell before it may show."""


def about(count: int | float, *, at_least: int = SHOWN_FROM) -> int | str:
    """Return a count for showing: 0 as it is, small ones as the word "<10", others rounded to tens.

    Rounding keeps a hidden count from being found by subtracting the shown ones from their total.

    Examples
    --------
    >>> about(0), about(3), about(1234)
    (0, '<10', 1230)
    """
    if count <= 0:
        return 0
    if count < at_least:
        return f"<{at_least}"
    return int(round(count / 10.0) * 10)
