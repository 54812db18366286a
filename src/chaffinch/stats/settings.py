"""Options that measures and attacks share: how thorough they are, and how many records they learn from. Nothing heavy is imported here."""

from __future__ import annotations

from typing import Annotated

from .._base.options import MEASURE, Option

SAMPLE_ROWS = 100_000
"""Records of the largest table that a sample has, about, unless another number is asked for."""

FEWEST = 100
"""The smallest sample that may be asked for."""


def row_limit(text: str) -> int | str | None:
    """Return a limit on rows, None for the 0 that stands for all; other words as they are, for the rule to refuse.

    Examples
    --------
    >>> row_limit("5000"), row_limit("0"), row_limit("many")
    (5000, None, 'many')
    """
    return (int(text) or None) if text.isdecimal() else text


Thorough = Annotated[
    bool,
    Option(
        "Measure everything, in minutes: delta, support vector machines and forests, ten splits, all attackers.",
        basic=True,
        panel=MEASURE,
    ),
]
SampleRows = Annotated[
    int,
    Option(
        "Where rows are read batch by batch: records, about, for measures that learn or compare rows.",
        unit="records",
        ge=FEWEST,
    ),
]
SvmRows = Annotated[
    int | None,
    Option(
        "The most records a support vector machine learns from; 0 for all.",
        unit="records",
        ge=10,
        read=row_limit,
        write=lambda rows: str(rows or 0),
    ),
]
