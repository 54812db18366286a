"""Small counts do not leave, nor do values that few records share: how both are shown in what may leave a trusted environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from .errors import UnknownNameError, join_names, plural, suggestion

THRESHOLD = 10
"""Records that must share a value or a cell before it may show, unless a setting says otherwise."""

HIDDEN = "…"
"""What stands in a message for a value that fewer than `THRESHOLD` records share, or that is not known to be shared by so many."""


def masked_count(
    count: int | float, threshold: int = THRESHOLD, *, times: int = 1, total: int | None = None
) -> int | str:
    """Return a count for showing: 0 as it is, small ones as the word "<10", others rounded to multiples of the threshold.

    Rounding keeps a hidden count from being found by subtracting the shown ones from their total. Where one record may be
    counted several `times`, so many times the threshold is small. Where the `total` is shown as it is, no rounded count is above it, and a count that is all of it is
    that total.

    Examples
    --------
    >>> masked_count(0), masked_count(3), masked_count(1234), masked_count(27, 20), masked_count(27, times=3)
    (0, '<10', 1230, 20, '<30')
    >>> masked_count(1629, total=1629), masked_count(1627, total=1629), masked_count(1627)
    (1629, 1620, 1630)
    """
    if count <= 0:
        return 0
    if count < threshold * times:
        return f"<{threshold * times}"
    if total is not None and count >= total:
        return total
    rounded = int(round(count / threshold) * threshold)
    return rounded if total is None else min(rounded, total // threshold * threshold)


def is_small(count: int | float, threshold: int = THRESHOLD, *, times: int = 1) -> bool:
    """Return whether a count does not leave: above 0 and below the threshold, also where it is an expected number of people.

    Examples
    --------
    >>> is_small(0), is_small(0.4), is_small(9), is_small(10), is_small(27, times=3)
    (False, True, True, False, True)
    """
    return 1e-9 < count < threshold * times - 1e-9


def masked_share(share: float, total: int | float, threshold: int = THRESHOLD) -> float | str:
    """Return a share for showing: as it is, or as a bound in words where the count that it is made of is small, for their product is that count.

    Examples
    --------
    >>> masked_share(0.0, 800), masked_share(0.00125, 800), masked_share(0.25, 800)
    (0.0, '<0.0125', 0.25)
    """
    return f"<{min(threshold / total, 1.0):.4g}" if is_small(share * total, threshold) else share


def unknown_level(
    thing: str,
    name: object,
    common: Iterable[object],
    *,
    where: str = "",
    threshold: int = THRESHOLD,
) -> UnknownNameError:
    """Return the error for a name that is no level, or is made of none: the nearest and the list are of common names alone.

    `thing` is what is named: level, cell, coefficient, class. `common` are the names that may show: so many records as the threshold
    or more are known to have each level in them.

    Examples
    --------
    >>> print(unknown_level("level", "nort", ["north", "south"], where=" of column 'area'"))
    Unknown level 'nort' of column 'area'. Did you mean 'north'? Levels that 10 or more records have: north, south.
    >>> print(unknown_level("cell", "nort|rented", []))
    Unknown cell 'nort|rented'. Cells are listed only where 10 or more records are known to have their levels: look at the column itself.
    """
    levels = [str(level) for level in common]
    if not levels:
        rest = f"{plural(thing).capitalize()} are listed only where {threshold} or more records are known to have "
        rest += f"{'them' if thing == 'level' else 'their levels'}: look at the column itself."
        return UnknownNameError(f"Unknown {thing} '{name}'{where}. {rest}")
    which = "that" if thing == "level" else "whose levels"
    return UnknownNameError(
        f"Unknown {thing} '{name}'{where}.{suggestion(name, levels)} "
        f"{plural(thing).capitalize()} {which} {threshold} or more records have: {join_names(levels)}."
    )


def without_levels(name: object, rare: Collection[str]) -> str:
    """Return a name that came with the input (a cell, a coefficient, a class) with a sign in place of each level that may not show.

    Examples
    --------
    >>> without_levels("C(area, Treatment('Sark'))[T.north]:sex[m]", {"Sark", "m"})
    "C(area, Treatment('…'))[T.north]:sex[…]"
    >>> without_levels("Sark|rented", {"Sark"}), without_levels("Sark", {"Sark"})
    ('…|rented', '…')
    """
    parts = re.split(r"""(\[T\.|[\[\]|'"])""", str(name))
    return "".join(HIDDEN if section.strip() in rare else section for section in parts)
