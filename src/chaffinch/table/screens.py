"""Relations that may hold between columns, from a sample of rows: candidates, each with the odds that it holds by chance.

A candidate is verified on all rows afterwards (`find_rules`), so a sample loses none that holds in all and only makes work where it errs.
What is compared: every two columns of numbers (k * b + c, and orders), every three (a = b + c), all of them together for longer sums,
dates with columns that may be their year, month or day, and columns with few values with all others. At most `MOST_COLUMNS` columns of numbers
are looked at, the first ones, so the cost is bounded whatever the width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .relations import EXACT, Values, part_of, quoted, unit_of
from .schema import Column, Schema
from .types import is_numeric, parse_type, value_type

MOST_COLUMNS = 64
"""Columns of numbers that are compared with each other."""

FEWEST = 20
"""Records in which all columns of a relation must be present before it is said to hold."""

SCREENED = 256
"""Rows of the sample on which sums of two columns are tried first."""

ALMOST = 0.97
"""The share of a sample's rows that keep a candidate."""

CHANCE = 1e-9
"""The chance, over all that is tried, that columns which have nothing to do with each other pass for related."""

SHUFFLED = 0.95
"""The largest share of rows that may keep an order when one of its columns is shuffled: above, the ranges alone explain it."""

MOST_TERMS = 12


@dataclass(frozen=True, eq=False)
class RuleSample:
    """Values of some rows under a fitted schema, all columns that are modelled, and the codes of these rows."""

    schema: Schema
    values: Mapping[str, Values]
    codes: Mapping[str, NDArray[Any]]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.codes.values()))) if self.codes else 0

    def numeric(self) -> list[Column]:
        """Return the columns of numbers and dates, the first `MOST_COLUMNS`, that have two values or more in the sample."""
        out = []
        for column in self.schema.modelled:
            kind = parse_type(column.type)
            if is_numeric(value_type(kind)) and not pa.types.is_dictionary(kind):
                values = self.values[column.name]
                numbers = values.numbers[values.present]
                if len(numbers) >= FEWEST and numbers.min() < numbers.max():
                    out.append(column)
        return out[:MOST_COLUMNS]

    def matrix(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """Return numbers as a matrix, NaN where they are not there."""
        arrays = [
            np.where(self.values[c.name].present, self.values[c.name].numbers, np.nan)
            for c in columns
        ]
        return np.stack(arrays, axis=1) if arrays else np.empty((self.n_rows, 0))


def family(column: Column) -> str:
    """Return what a column may be compared with: dates, moments, times of day, or plain numbers."""
    kind = value_type(parse_type(column.type))
    for name, test in (
        ("date", pa.types.is_date),
        ("moment", pa.types.is_timestamp),
        ("time", pa.types.is_time),
        ("span", pa.types.is_duration),
    ):
        if test(kind):
            return name
    return "number"


def room(column: Column, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much a computed number may miss numbers of a column: half a unit, or what floats lose."""
    return np.asarray(unit_of(column) / 2 * (1 + 1e-6) + EXACT * np.abs(numbers))


def by_chance(agreeing: float, n_rows: int, tried: int) -> bool:
    """Return whether something that holds in all of `n_rows` with a chance of `agreeing` each may do so by accident, `tried` being tried."""
    return agreeing >= 1 or n_rows * log(max(agreeing, 1e-300)) > log(CHANCE / max(tried, 1))


def _shuffled_share(
    left: NDArray[np.float64], right: NDArray[np.float64], slack: NDArray[np.float64]
) -> float:
    """The share of rows in which two columns agree when one of them is shifted against the other, over eight shifts."""
    n = len(left)
    shifts = [n * i // 9 for i in range(1, 9)]
    return float(
        np.mean([np.mean(np.abs(left - np.roll(right, shift)) <= slack) for shift in shifts])
    )


def affine_pairs(sample: RuleSample, n_rows: int) -> Iterator[str]:
    """Return `a = k * b + c` for pairs of columns that correlate perfectly but for rounding."""
    columns = sample.numeric()
    matrix = sample.matrix(columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        for i, j in combinations(range(len(columns)), 2):
            kinds = (family(columns[i]), family(columns[j]))
            if kinds[0] != kinds[1] and {"date", "moment"} & set(kinds):
                continue
            both = ~np.isnan(matrix[:, i]) & ~np.isnan(matrix[:, j])
            if both.sum() < FEWEST:
                continue
            x, y = matrix[both, i], matrix[both, j]
            dx, dy = x - x.mean(), y - y.mean()
            r2 = (dx @ dy) ** 2 / ((dx @ dx) * (dy @ dy))
            if not r2 > 0.995:
                continue
            ways = [(columns[i], x, columns[j], y), (columns[j], y, columns[i], x)]
            if np.isnan(matrix[:, j]).sum() > np.isnan(matrix[:, i]).sum():
                ways.reverse()  # what is missing more often is computed from what is there
            if text := _affine(ways, n_rows, len(columns) ** 2):
                yield text


def _affine(
    ways: Sequence[tuple[Column, NDArray[np.float64], Column, NDArray[np.float64]]],
    n_rows: int,
    tried: int,
) -> str:
    """The simplest line, of either column given the other, that all points keep: up to rounding of the left side, else of both."""
    lines = []
    for left, a, right, b in ways:
        db = b - b.mean()
        slope = float((a - a.mean()) @ db / (db @ db))
        if family(left) in ("date", "moment") and abs(slope - 1) > 1e-9:
            continue
        lines += [
            (price, left, a, right, b, *line) for line, price in _simple_lines(a, b, slope).items()
        ]
    for loose in (False, True):
        for _, left, a, right, b, factor, word, constant in sorted(lines, key=lambda line: line[0]):
            k = factor if word == "*" else 1 / factor
            slack = room(left, a) + (
                abs(k) * unit_of(right) / 2 if loose and not float(k).is_integer() else 0.0
            )
            if (np.abs(a - k * b - constant) <= slack).all():
                share = _shuffled_share(a, k * b + constant, slack)
                return (
                    ""
                    if by_chance(share, min(n_rows, len(a)), tried)
                    else _affine_text(left, right, factor, word, constant)
                )
    return ""


def _simple_lines(
    a: NDArray[np.float64], b: NDArray[np.float64], slope: float
) -> dict[tuple[float, str, float], int]:
    """Lines through the points, through 0 with the ratio and with the slope, and how many digits each takes."""
    lines: dict[tuple[float, str, float], int] = {}
    ratio = float(a @ b / (b @ b)) if (b != 0).any() else 0.0
    for digits in range(1, 11):
        for size, free in ((ratio, False), (slope, True)):
            for turned, word in ((size, "*"), (1 / size if size else 0.0, "/")):
                if not turned:
                    continue
                factor = float(f"{turned:.{digits}g}")
                k = factor if word == "*" else 1 / factor
                exact = float(np.median(a - k * b)) if free else 0.0
                for decimals in range(min(digits + 2, 8)) if free else (0,):
                    line = (factor, word, round(exact, decimals) + 0.0)
                    lines.setdefault(
                        line,
                        _digits(factor) + (2 + _digits(line[2]) if line[2] else 0) + (word == "/"),
                    )
    return lines


def _digits(number: float) -> int:
    """How many digits a number takes, zeros at its ends left out."""
    return len(f"{number:.12g}".replace(".", "").replace("-", "").strip("0"))


def _affine_text(left: Column, right: Column, factor: float, word: str, constant: float) -> str:
    name = quoted(right.name)
    scaled = (
        name
        if factor == 1
        else f"-{name}"
        if factor == -1
        else f"{factor:.12g} * {name}"
        if word == "*"
        else f"{name} / {factor:.12g}"
    )
    tail = "" if not constant else f" {'+' if constant > 0 else '-'} {abs(constant):.12g}"
    return f"{quoted(left.name)} = {scaled}{tail}"


def sums_of_two(sample: RuleSample, n_rows: int, tied: set[frozenset[str]]) -> Iterator[str]:
    """Return `a = b + c` for columns of which one is the sum of two others; not where two of the three are tied already."""
    columns = sample.numeric()
    matrix = sample.matrix(columns)
    few = matrix[:: max(1, len(matrix) // SCREENED)][:SCREENED]
    pairs = [
        (i, j)
        for i, j in combinations(range(len(columns)), 2)
        if _addable(columns[i], columns[j]) is not None
    ]
    if not pairs:
        return
    first, second = np.array(pairs).T
    sums = few[:, first] + few[:, second]
    moving = (few[:, first] != 0).astype(np.int8) + (few[:, second] != 0)
    tried = len(pairs) * len(columns)
    for t, target in enumerate(columns):
        column = few[:, [t]]
        with np.errstate(invalid="ignore"):
            close = np.abs(column - sums) <= room(target, column)
        there = ~np.isnan(column) & ~np.isnan(sums) & (moving + (column != 0) >= 2)
        count = there.sum(axis=0)
        hits = (
            (count >= 8)
            & ((close & there).sum(axis=0) >= 0.9 * count)
            & (first != t)
            & (second != t)
        )
        for at in np.flatnonzero(hits).tolist():
            one, other = columns[first[at]], columns[second[at]]
            names = (target.name, one.name, other.name)
            if _addable(one, other) != family(target) or any(
                frozenset(pair) in tied for pair in combinations(names, 2)
            ):
                continue
            whole = ~np.isnan(matrix[:, [t, first[at], second[at]]]).any(axis=1)
            a, total = matrix[whole, t], matrix[whole, first[at]] + matrix[whole, second[at]]
            slack = room(target, a)
            if whole.sum() < FEWEST or np.mean(np.abs(a - total) <= slack) < ALMOST:
                continue
            if not by_chance(_shuffled_share(a, total, slack), int(whole.sum()), tried):
                yield f"{quoted(names[0])} = {quoted(names[1])} + {quoted(names[2])}"


def _addable(one: Column, other: Column) -> str | None:
    """What the sum of two columns is: a number, or a date where one of them is a date and the other a number of days."""
    kinds = [family(one), family(other)]
    if "number" not in kinds:
        return None
    kinds.remove("number")
    return kinds[0] if kinds[0] in ("number", "date", "moment") else None


def long_sums(sample: RuleSample, determined: set[str]) -> Iterator[str]:
    """Return sums and differences of two to twelve columns and a constant that give a column: columns that depend linearly on those before them."""
    columns = [c for c in sample.numeric() if family(c) == "number" and c.name not in determined]
    matrix = sample.matrix(columns)
    while len(columns) > 3 and (~np.isnan(matrix).any(axis=1)).sum() < max(64, 4 * len(columns)):
        worst = int(np.isnan(matrix).sum(axis=0).argmax())
        if not np.isnan(matrix[:, worst]).any():
            return
        columns, matrix = columns[:worst] + columns[worst + 1 :], np.delete(matrix, worst, axis=1)
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    spread = matrix.std(axis=0)
    usable = np.flatnonzero(
        (spread > 0) & np.isfinite(spread)
    )  # squares of the largest numbers are no numbers
    if len(matrix) < max(64, 4 * len(usable)) or len(usable) < 4:
        return
    scaled = (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    basis: list[NDArray[np.float64]] = []
    pivots: list[int] = []
    for at in usable.tolist():
        left = scaled[:, at].copy()
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            for vector in basis:
                left -= (left @ vector) * vector
        size = float(np.sqrt(left @ left / len(left)))
        if size > 0.6 * unit_of(columns[at]) / spread[at] + 1e-7:
            basis.append(left / np.sqrt(left @ left))
            pivots.append(at)
        elif text := _long_sum(matrix, columns, at, pivots):
            yield text


def _long_sum(
    matrix: NDArray[np.float64], columns: Sequence[Column], at: int, pivots: Sequence[int]
) -> str:
    design = np.column_stack([np.ones(len(matrix)), matrix[:, list(pivots)]])
    factors = np.linalg.lstsq(design, matrix[:, at], rcond=None)[0]
    sizes = np.abs(factors) * np.concatenate([[1.0], matrix[:, list(pivots)].std(axis=0)])
    used = [
        (p, round(float(f), 6))
        for p, f, s in zip(pivots, factors[1:], sizes[1:], strict=True)
        if s > 1e-6 * matrix[:, at].std() and abs(f) > 1e-5
    ]
    if not 2 <= len(used) <= MOST_TERMS or any(abs(f) != 1 for _, f in used):
        return ""
    total = matrix[:, [p for p, _ in used]] @ np.array([f for _, f in used])
    constant = round(float(np.median(matrix[:, at] - total)), 6)
    slack = room(columns[at], matrix[:, at])
    if np.mean(np.abs(matrix[:, at] - total - constant) <= slack) < ALMOST:
        return ""
    if by_chance(
        _shuffled_share(matrix[:, at], total + constant, slack), len(matrix), len(columns) ** 3
    ):
        return ""
    terms = [(at, -1.0), *used]
    widest = max(terms, key=lambda term: matrix[:, term[0]].std())
    others = [(p, -f * widest[1]) for p, f in terms if p != widest[0]]
    shift = constant * -widest[1]
    right = "".join(
        f"{' - ' if f < 0 else ' + '}{quoted(columns[p].name)}"
        for p, f in sorted(others, key=lambda term: (-term[1], term[0]))
    )
    tail = "" if not shift else f" {'+' if shift > 0 else '-'} {abs(shift):.12g}"
    return f"{quoted(columns[widest[0]].name)} = {right.removeprefix(' + ').lstrip()}{tail}"


def order_pairs(sample: RuleSample, tied: set[frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Return pairs of columns of which the first is hardly ever above the second, where neither ranges (`SHUFFLED`) nor chance (`CHANCE`) explain it.

    Two dates that all rows have in order are returned whatever explains it.
    """
    columns = sample.numeric()
    matrix = sample.matrix(columns)
    tried = len(columns) ** 2
    for i, low in enumerate(columns):
        with np.errstate(invalid="ignore"):
            there = ~np.isnan(matrix) & ~np.isnan(matrix[:, [i]])
            fine = (matrix[:, [i]] <= matrix).sum(axis=0)
        for j, high in enumerate(columns):
            if i == j or family(low) != family(high) or frozenset((low.name, high.name)) in tied:
                continue
            n = int(there[:, j].sum())
            if n < FEWEST or fine[j] < 0.99 * n:
                continue
            a, b = matrix[there[:, j], i], matrix[there[:, j], j]
            dates = family(low) in ("date", "moment") and fine[j] == n
            shuffled = float(np.mean(1 - np.searchsorted(np.sort(b), a, side="left") / n))
            if dates or (shuffled <= SHUFFLED and not by_chance(shuffled, n, tried)):
                yield low.name, high.name


def date_parts(sample: RuleSample) -> Iterator[str]:
    """Return columns that are the year, month or day of a date, by those words of the grammar."""
    columns = sample.numeric()
    dates = [c for c in columns if family(c) in ("date", "moment")]
    numbers = [c for c in columns if family(c) == "number" and unit_of(c) == 1]
    for date in dates:
        for function in ("year", "month", "day"):
            for column in numbers:
                one, other = sample.values[date.name], sample.values[column.name]
                both = one.present & other.present
                if both.sum() < FEWEST:
                    continue
                word = f"{function} of seconds" if family(date) == "moment" else function
                parts = part_of(one.numbers[both], word)
                if np.mean(parts == other.numbers[both]) >= ALMOST and len(np.unique(parts)) > 1:
                    yield f"{quoted(column.name)} = {function}({quoted(date.name)})"


def missing_groups(sample: RuleSample) -> list[list[str]]:
    """Return columns that are missing in the same rows of the sample, at least ten of them, and present in ten."""
    groups: dict[bytes, list[str]] = {}
    for name, values in sample.values.items():
        empty = int((~values.filled).sum())
        if 10 <= empty <= sample.n_rows - 10:
            groups.setdefault(values.filled.tobytes(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]
