"""The excess over several synthetic tables of the same original: the randomness of the synthesis added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, sqrt

import numpy as np

from .._base.errors import InputError
from .excess import Excess
from .intervals import student_quantile

ONE_SYNTHESIS = "One synthetic table: the variance between syntheses is absent, and the interval holds for this table alone."
"""What is said of a single synthesis."""


@dataclass(frozen=True, kw_only=True)
class Combined:
    """The mean excess over m synthetic tables, with the variance within and between them.

    `value`: mean of the excesses; None, with `reason`, where none has a value. `within`, `between`: mean variance given a synthetic
    table; variance of the excess from table to table, None for one table. `degrees`: Student's degrees of freedom of the interval, None
    where it is normal.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    standard_error: float | None = None
    within: float | None = None
    between: float | None = None
    degrees: float | None = None
    syntheses: int
    level: float = 0.95
    note: str = ""
    reason: str = ""


def combine(excesses: Sequence[Excess], *, level: float = 0.95) -> Combined:
    """Return the excess over m synthetic tables made alike from one original, with its interval.

    Total variance T = W + (1 + 1/m) B, with W the mean variance within and B the variance between, and Student's t with
    (m - 1)(1 + W / ((1 + 1/m) B))^2 degrees: Rubin's rule for multiple imputation (1987, eq. 3.1.5 to 3.1.6). It is the careful
    choice. Rules for means of synthetic data divide B by m (Reiter, 2003, partially synthetic) or subtract W (Raghunathan and
    others, 2003, fully synthetic; may be negative); both say how the mean over syntheses varies. A table that is released is one
    draw, so B itself belongs to it; and the same people are attacked from all tables, so W does not shrink with m.

    Examples
    --------
    >>> one, two = (Excess(value=v, standard_error=0.01, n_members=100, n_others=100) for v in (0.02, 0.04))
    >>> found = combine([one, two])
    >>> round(found.standard_error, 4), round(found.degrees, 2)  # sqrt(.0001 + 1.5 * .0002), (1 + 1/3)^2
    (0.02, 1.78)
    >>> combine([one]).note == ONE_SYNTHESIS
    True
    """
    if not excesses:
        raise InputError("combine needs the excess of at least one synthetic table. Got none.")
    with_value = [
        one for one in excesses if one.value is not None and one.standard_error is not None
    ]
    if len(with_value) < len(excesses):
        reason = next(one.reason for one in excesses if one not in with_value)
        reason = f"{len(excesses) - len(with_value)} of {len(excesses)} synthetic tables have no excess. {reason}"
        return Combined(value=None, syntheses=len(excesses), level=level, reason=reason)
    values = np.array([one.value for one in with_value], dtype=np.float64)
    within = float(np.mean([(one.standard_error or 0.0) ** 2 for one in with_value]))
    m = len(values)
    if m == 1:
        only = with_value[0]
        return Combined(
            value=only.value,
            interval=only.interval,
            standard_error=only.standard_error,
            within=within,
            syntheses=1,
            level=only.level,
            note=ONE_SYNTHESIS,
        )
    between = float(values.var(ddof=1))
    extra = (1 + 1 / m) * between
    degrees = (m - 1) * (1 + within / extra) ** 2 if extra > 1e-12 * within and extra > 0 else inf
    error = sqrt(within + extra)
    middle, half = float(values.mean()), student_quantile(0.5 + level / 2, degrees) * error
    return Combined(
        value=middle,
        interval=(max(-1.0, middle - half), min(1.0, middle + half)),
        standard_error=error,
        within=within,
        between=between,
        degrees=None if isinf(degrees) else degrees,
        syntheses=m,
        level=level,
        note=f"Mean of {m} synthetic tables; variance within them plus (1 + 1/m) times the variance between.",
    )
