"""Where numbers stood: each number of the outputs that people brought is at its position in its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from chaffinch.outputs.readers.files.grids import csv_grid
from chaffinch.outputs.readers.files.numbers import number_text, position_of
from chaffinch.outputs.readers.files.parsed import ParsedFit, ParsedTable
from chaffinch.outputs.readers.files.read import read_files

BROUGHT = Path(__file__).parents[4] / "examples" / "outputs" / "brought"


def numbers_in(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers_in(inner)
    elif not isinstance(value, bool | float | None):
        yield value


def printed_numbers(parsed: Any) -> list[Any]:
    """The numbers of a form that stand in its file as such."""
    if isinstance(parsed, ParsedTable):
        forms: list[Any] = [parsed.cells]
    elif isinstance(parsed, ParsedFit):
        forms = [parsed.coefficients, parsed.standard_errors, parsed.loglik]
    else:
        forms = [parsed.numbers]
    words = ("less", "greater")
    return [number for number in numbers_in(forms) if number not in words]


FILES = sorted(path for path in BROUGHT.iterdir() if path.suffix in (".txt", ".log", ".csv"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_number_is_where_it_says(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    grid = csv_grid(path.read_text(encoding="utf-8")) if path.suffix == ".csv" else None
    outputs = [one for one in read_files([BROUGHT]).outputs if one.location.file == path.name]
    assert outputs
    for output in outputs:
        for number in printed_numbers(output.parsed):
            position = position_of(number)
            assert position is not None, (output.name, number)
            if grid is not None:
                row = grid.rows[grid.lines.index(position.line)]
                words = str(row[position.column - 1])
            else:
                words = lines[position.line - 1][position.column - 1 :]
            readings = [number_text(words.split()[0], sign) for sign in (".", ",")]
            values = [float(reading) for reading in readings if reading is not None]
            is_equal = words.replace(" ", "").startswith(str(number))
            # Shares are read as percentages, counts that were written as 12.0 as 12.
            assert is_equal or float(number) in [*values, *(100 * value for value in values)]


def test_counts_of_people_have_positions_where_they_are_printed() -> None:
    sizes = {one.name: one.parsed.people for one in read_files([BROUGHT]).outputs}
    assert position_of(sizes["stata_regress.log"]) is not None
    assert position_of(sizes["r_coxph.txt"]) is not None
    assert position_of(sizes["r_lm.txt"]) is None  # it follows from the degrees of freedom
