"""Kaplan-Meier tables as R prints them: `summary()` of survfit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from ..numbers import PrintedText, words_in
from ..printed_grid import PrintedGrid
from ..protocol import READERS, Annotation, LineError, Match, OpenQuestionError, TextReader
from ..survival_grid import ParsedSurvival, parse_survival
from .r_models import call_of, unresolved_reason

_CALL = re.compile(r"Call: (\w+::)?survfit\(")
_STRATUM = re.compile(r"\s+(\S+=.*\S)\s*")
_HEAD = re.compile(r"\s*time\s+n\.risk\s+n\.event\s+(?:n\.censor\s+|censored\s+)?survival\b.*")
_MEDIANS = re.compile(r"\s*(records\s.*)?\bn\s.*events\s+median\b.*")


def read_r_survival(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each printed survfit in some lines: its call, and its table or those of its strata."""
    for start in (k for k, line in enumerate(lines) if _CALL.match(line)):
        ends = (k for k in range(start + 1, len(lines)) if _ends(lines, k))
        inside = range(start, next(ends, len(lines)))
        stop = max(k for k in inside if lines[k].strip()) + 1
        parse = partial(_parse, lines[start:stop], start + 1)
        yield Match(range(start + 1, stop + 1), "R", parse)


def _ends(lines: Sequence[str], k: int) -> bool:
    """Whether a line after a blank one begins another output."""
    line = lines[k]
    is_part = _HEAD.fullmatch(line) or _MEDIANS.fullmatch(line) or _STRATUM.fullmatch(line)
    is_apart = bool(line.strip()) and not lines[k - 1].strip()
    return bool(_CALL.match(line)) or (is_apart and not is_part)


def _parse(body: Sequence[str], first: int, annotation: Annotation) -> ParsedSurvival:
    if any(map(_MEDIANS.fullmatch, body)):
        raise OpenQuestionError(
            "R: n, events and medians of a Kaplan-Meier table.",
            "Medians of survival are no kind of output: print summary() of it.",
        )
    _, keys = call_of(["", body[0].removeprefix("Call: "), *body[1:]])
    formula = keys.get("formula", keys.get("0", ""))
    labels, rows = list[tuple[str, ...]](), list[tuple[PrintedText, ...]]()
    columns, stratum, width = tuple[str, ...](), "", 0
    for number, line in enumerate(body, first):
        cells = words_in(line, number)
        if _HEAD.fullmatch(line):
            width = line.split().index("survival") + 1
            columns = (*cells[1:width], "strata")
        elif match := _STRATUM.fullmatch(line) if number > first else None:
            stratum, width = match[1], 0
        elif width and cells and re.match(r"\d", cells[0]):
            labels.append((cells[0],))
            rows.append((*cells[1:width], PrintedText(stratum, number)))
        elif cells and width and not re.match(r"(lower|upper) \d+% CI|NA", line.strip()):
            raise LineError(number, "a row of a Kaplan-Meier table must begin with a time.")
    if not rows or any(len(row) != len(columns) for row in rows):
        raise LineError(first, "the table of survfit has no rows, or these are cut off.")
    grid = PrintedGrid(("time",), None, tuple(labels), tuple(columns), tuple(rows))
    reason = unresolved_reason(keys, annotation)
    return parse_survival(grid, annotation, formula, reason)


READERS.register(TextReader("r survival", "summary() of survfit in R", read_r_survival))
