"""Tables of coefficients that are drawn in text between double lines: `screenreg` (texreg) and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..coefficient_grid import coefficient_matches, is_coefficients
from ..grids import text_grid
from ..numbers import is_remark, line_where
from ..protocol import READERS, LineError, Match, TextReader, unreadable_match

_DOUBLE = re.compile(r"\s*={8,}\s*")


def read_drawn(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each model of each drawn table of coefficients."""
    bars = [k for k, line in enumerate(lines) if _DOUBLE.fullmatch(line)]
    while bars:
        start = bars.pop(0)
        end = bars[0] if bars else len(lines)
        body = lines[start + 1 : end]
        block = text_grid(body, start + 2)
        # A summary of statsmodels has a reader of its own.
        is_other = any(re.match(r"\s*coef\s+std err\b", line) for line in body)
        if is_other or not block.rows or not is_coefficients(block):
            continue
        if not bars:
            fault = LineError(end, "the table has no double line at its end: the file is cut.")
            yield unreadable_match(range(start + 1, end + 1), "text", fault)
            return
        bars.pop(0)
        after = line_where(lines, end + 1, _ends_notes)
        notes = tuple(line.strip() for line in lines[end + 1 : after])
        for match in coefficient_matches(replace(block, titles=notes), "text"):
            yield replace(match, lines=range(start + 1, after + 1))


def _ends_notes(line: str) -> bool:
    return not line.strip() or is_remark(line)


READERS.register(
    TextReader("drawn tables", "tables of screenreg (texreg) and the like", read_drawn)
)
