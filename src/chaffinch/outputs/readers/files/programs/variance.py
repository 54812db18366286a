"""Analyses of variance as R (`anova()`, `summary()` of aov) and statsmodels (`anova_lm()`) print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from ..numbers import PrintedText, line_where, named_cells
from ..parsed import ParsedTest
from ..printed_grid import PrintedGrid
from ..protocol import READERS, Annotation, LineError, Match, OpenQuestionError, TextReader
from ..variance_grid import is_variance_table, parse_variance

_NAMES = r"Df|Sum Sq|Mean Sq|F value|Pr\(>F\)|df|sum_sq|mean_sq|F|PR\(>F\)"
_TITLE = re.compile(r"\s*$|Analysis of Variance Table|Anova Table|Response:|Error:")
_END = re.compile(r"\s*$|---")
_HEAD = re.compile(rf"\s+(?:(?:{_NAMES})\s+){{3,4}}P[Rr]\(>F\)\s*")


def read_variance_tables(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each table of variance of R or statsmodels in some lines, with its title where it has one."""
    for head in (k for k, line in enumerate(lines) if _HEAD.fullmatch(line)):
        above = range(head - 1, max(head - 5, -1), -1)
        titles = takewhile(lambda k: _TITLE.match(lines[k]), above)
        start = min((k for k in titles if lines[k].strip()), default=head)
        stop = line_where(lines, head + 1, _END.match)
        program = "statsmodels" if "PR" in lines[head] else "R"
        parse = partial(_parse_lines, lines[start:stop], head - start, start + 1)
        yield Match(range(start + 1, stop + 1), program, parse)


def _parse_lines(body: Sequence[str], head: int, first: int, annotation: Annotation) -> ParsedTest:
    if any(line.startswith("Error:") for line in body[:head]):
        raise OpenQuestionError(
            "an analysis of variance of several strata.",
            "Those of one factor are read: describe it in a file of outputs.",
        )
    names = re.findall(_NAMES, body[head])
    labels, rows = list[tuple[str, ...]](), list[tuple[PrintedText, ...]]()
    for number, line in enumerate(body[head + 1 :], first + head + 1):
        label, cells = named_cells(line, number, len(names))
        if not cells or not label:
            raise LineError(
                number, "a row of an analysis of variance must have a name and numbers."
            )
        labels.append((label,))
        blanks = [PrintedText("", number)] * (len(names) - len(cells))
        rows.append((*cells, *blanks))
    if not rows:
        raise LineError(first + head, "the analysis of variance has no rows: the file is cut.")
    grid = PrintedGrid((None,), None, tuple(labels), tuple(names), tuple(rows))
    if not is_variance_table(grid):
        raise LineError(
            first + head + len(rows),
            "the analysis of variance ends before its residuals: the file is cut.",
        )
    responses = (re.match(r"Response: (\S+)", line) for line in body[:head])
    return parse_variance(grid, annotation, variable=next((m[1] for m in responses if m), None))


READERS.register(
    TextReader(
        "analyses of variance",
        "anova() and summary() of aov in R, anova_lm() of statsmodels",
        read_variance_tables,
    )
)
