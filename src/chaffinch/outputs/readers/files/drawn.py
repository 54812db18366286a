"""Tables that are drawn in text between double lines, as `texreg::screenreg` and `stargazer` do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .coefficient_grid import coefficient_pieces, is_coefficients
from .companion import Help
from .found import Facts, LineError
from .grids import text_grid
from .pieces import READERS, Piece, TextReader, is_remark

_DOUBLE = re.compile(r"\s*={8,}\s*")


def read_drawn(lines: Sequence[str]) -> list[Piece]:
    """Return a piece for each model of each drawn table of coefficients."""
    bars = [k for k, line in enumerate(lines) if _DOUBLE.fullmatch(line)]
    pieces: list[Piece] = []
    k = 0
    while k < len(bars):
        start = bars[k]
        if k + 1 == len(bars):
            body = lines[start + 1 :]
            if (
                any(re.search(r"\d", line) for line in body)
                and not _is_statsmodels(body)
                and is_coefficients(text_grid(body, start + 2))
            ):

                def cut(given: Help, line: int = len(lines)) -> Facts:
                    raise LineError(
                        line, "the table has no double line at its end: the file is cut."
                    )

                pieces.append(Piece(range(start + 1, len(lines) + 1), "text", cut))
            break
        end = bars[k + 1]
        block = text_grid(lines[start + 1 : end], start + 2)
        if block.rows and not _is_statsmodels(lines[start + 1 : end]) and is_coefficients(block):
            after = end + 1
            notes = []
            while after < len(lines) and lines[after].strip() and not is_remark(lines[after]):
                notes.append(lines[after].strip())
                after += 1
            block = replace(block, titles=tuple(notes))
            pieces += [
                replace(one, lines=range(start + 1, after + 1))
                for one in coefficient_pieces(block, "text")
            ]
            k += 1
        k += 1
    return pieces


def _is_statsmodels(lines: Sequence[str]) -> bool:
    """Whether lines are of a summary of statsmodels, which has a reader of its own."""
    return any(re.match(r"\s*coef\s+std err\b", line) for line in lines)


READERS.register(
    TextReader("drawn tables", "tables of screenreg (texreg) and the like", read_drawn)
)
