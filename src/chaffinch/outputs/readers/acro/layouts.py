"""Tables as pandas writes them to CSV: which cells are of which levels, whatever the number of header lines.

    SEX,1,2                   rows by one variable, columns by one whose name is not written
    57,12,15

    ,mean,mean,std,std        several functions: a line for them, one for each column variable, and then the names of the row variables
    SEX,1,2,1,2
    AREA,,,,
    57,3.1,2.9,1.1,1.2

The names of the variables, rows first, come from what ACRO noted about the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .read import UnclearError

TOTAL = "All"
"""What pandas calls totals, unless it is told otherwise."""

MOST_HEADERS = 12
OTHER_VARIABLES = "the header of its table does not have the variables that ACRO noted"

Key = tuple[str | None, ...]


@dataclass(frozen=True)
class Layout:
    """The cells of a table, and the variables of its rows and of its columns.

    `parts` has for each function (an empty word where the table has one alone, unnamed) its cells: texts by the levels of the row
    variables and then the column variables, None for each variable that a total is over.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    parts: dict[str, dict[Key, str]]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables."""
        return self.rows + self.columns

    @property
    def totals(self) -> bool:
        """Whether it has totals."""
        return any(None in key for cells in self.parts.values() for key in cells)


def read_layout(
    lines: Sequence[Sequence[str]],
    variables: Sequence[str],
    *,
    functions: Sequence[str],
    values: str | None,
    total: str = TOTAL,
    levels: Sequence[str] = (),
) -> Layout:
    """Return the cells in the lines of a CSV, with the variables of rows first.

    The header may have `functions` as pandas calls them (mean, std, ...) and the variable `values` that they are of. `levels` are no
    totals, whatever they are called.

    Examples
    --------
    >>> layout = read_layout([["sex", "no", "yes"], ["f", "1", "2"]], ["sex", "rich"], functions=["count"], values=None)
    >>> layout.parts
    {'': {('f', 'no'): '1', ('f', 'yes'): '2'}}
    """
    head, width = _head(lines, variables)
    rows, rest = tuple(variables[:width]), tuple(variables[width:])
    across = max(len(line) for line in lines)
    if any(len(line) != across for line in lines):
        raise UnclearError("the lines of its table are not equally long")
    if head == 0:
        named, others = ([lines[0]], []) if len(rest) == 1 else ([], [lines[0]])
    else:
        named = [line for line in lines[:head] if line[0] in rest]
        others = [line for line in lines[:head] if line[0] not in rest]
    if len(named) != len(rest) or (
        head and ([line[0] for line in named] != list(rest) or any(line[0] for line in others))
    ):
        raise UnclearError(OTHER_VARIABLES)
    parts: dict[str, dict[Key, str]] = {}
    for place in range(width, across):
        function = _function([line[place] for line in others], functions, values)
        columns = _levels([line[place] for line in named], total, levels)
        cells = parts.setdefault(function, {})
        for line in lines[head + 1 :]:
            key = (*_levels(line[:width], total, levels), *columns)
            if key in cells:
                raise UnclearError("its table has two cells for the same levels")
            cells[key] = line[place].strip()
    if not parts or not all(parts.values()):
        raise UnclearError("its table has no cells")
    return Layout(rows, rest, parts)


def _head(lines: Sequence[Sequence[str]], variables: Sequence[str]) -> tuple[int, int]:
    """The line that has the names of the row variables, and how many they are."""
    for head, line in enumerate(lines[:MOST_HEADERS]):
        for width in range(len(variables), 0, -1):
            blank = all(cell == "" for cell in line[width:])
            if (
                list(line[:width]) == list(variables[:width])
                and (head == 0 or blank)
                and len(line) > width
            ):
                return head, width
    raise UnclearError(OTHER_VARIABLES)


def _function(header: Sequence[str], functions: Sequence[str], values: str | None) -> str:
    function = ""
    for word in header:
        if word in functions and not function:
            function = word
        elif word != values:
            raise UnclearError(
                "the header of its table has words that are neither functions nor variables"
            )
    return function


def _levels(words: Sequence[str], total: str, levels: Sequence[str]) -> Key:
    """Levels, or None for each where the line or column is a total: (All), (All, '')."""
    if (
        words
        and words[0] == total
        and total not in levels
        and all(word in ("", total) for word in words[1:])
    ):
        return (None,) * len(words)
    return tuple(words)
