"""Rules that the records of a table keep: candidates from a sample of rows, each with the odds that
it holds by chance, verified on all rows.

What holds in every record, and not by chance, becomes a rule; what holds in nearly all is
suggested. Nothing here runs under a promise of privacy: that a rule holds in every record is a fact
about records.

A sample loses no candidate that holds in all rows, and only makes work where it errs. What is
compared: every two columns of numbers (k * b + c, and orders), every three (a = b + c), all of them
together for longer sums, dates with columns that may be their year, month or day, and columns with
few values with all others. At most `MOST_COLUMNS` columns of numbers are looked at, the first ones,
so the cost is bounded whatever the width.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._base.compiled import jit
from ..._base.masking import THRESHOLD
from ..schema import Column, Schema
from ..types import is_numeric, is_words, parse_type, value_type, whole_array
from .relations import (
    EXACT,
    Equality,
    Function,
    MissingTogether,
    Order,
    Relation,
    Values,
    parse_rule,
    part_of,
    quote_name,
    relation_of,
    rows_breaking,
    unit_of,
)

SAMPLE_ROWS = 4096
"""Rows from which candidates come; of smaller tables all."""

NEARLY_ALL = 0.99
"""The share of records that keep what is suggested."""

MOST_SUGGESTED = 20
MOST_COLUMNS = 64
"""Columns of numbers that are compared with each other."""

FEWEST = 20
"""Records in which all columns of a relation must be present before it is said to hold."""

SCREENED = 256
"""Rows of the sample on which sums of two columns are tried first."""

ALMOST = 0.97
"""The share of a sample's rows that keep a candidate."""

CHANCE = 1e-9
"""The chance, over all that is tried, that columns which have nothing to do with each other pass
for related.
"""

SHUFFLED = 0.95
"""The largest share of rows that may keep an order when one of its columns is shuffled: above, the
ranges alone explain it.
"""

MOST_TERMS = 12
MOST_LEVELS = 1000
FIRST = 1_000
"""Rows of a sample that show, for most pairs of columns, that neither is a function of the
other.
"""

SMALL = 10_000
"""Cells of a table of two columns up to which these rows are looked at alone first."""


@dataclass(frozen=True, eq=False)
class RowBatch:
    """The values and codes of some rows, all modelled columns; and their numbers as they are
    stored.
    """

    values: Mapping[str, Values]
    codes: Mapping[str, NDArray[Any]]
    stored: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.codes.values())))


@dataclass(frozen=True, eq=False)
class RuleSample:
    """Values of some rows under a fitted schema, all columns that are modelled, and the codes of
    these rows.
    """

    schema: Schema
    values: Mapping[str, Values]
    codes: Mapping[str, NDArray[Any]]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.codes.values()))) if self.codes else 0

    def numeric(self) -> list[Column]:
        """Return the columns of numbers and dates, the first `MOST_COLUMNS`, that have two values
        or more in the sample.
        """
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


@dataclass(frozen=True)
class FoundRules:
    """Rules that hold in every record, and suggested ones, each with the evidence against it."""

    rules: tuple[str, ...] = ()
    suggested: tuple[tuple[str, str], ...] = ()


def find_rules(
    schema: Schema,
    n_rows: int,
    batches: Callable[[Collection[str] | None], Iterable[RowBatch]],
    *,
    threshold: int = THRESHOLD,
    sample: RowBatch | None = None,
) -> FoundRules:
    """Return the rules that all rows keep under a fitted schema. `batches` gives all rows, of all
    columns or of those named: once to verify, and once before for the rows of `sampled_rows`, where
    these are not given as `sample`.
    """
    if n_rows < FEWEST or len(schema.names) < 2:
        return FoundRules()
    rows = (
        _sample(schema, n_rows, batches)
        if sample is None
        else RuleSample(schema, sample.values, sample.codes)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        candidates = list(_candidates(rows, schema, n_rows))
    if not candidates:
        return FoundRules()
    for batch in batches({name for candidate in candidates for name in candidate.relation.columns}):
        for candidate in candidates:
            candidate.add(batch)
    return _choose_rules(candidates, schema, threshold)


@dataclass
class _Candidate:
    """A relation, and in how many records it could hold and does not."""

    relation: Relation
    records: int = 0
    breaking: int = 0
    image: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def text(self) -> str:
        return self.relation.text

    @property
    def holds(self) -> bool:
        return self.records >= FEWEST and not self.breaking

    def add(self, batch: RowBatch) -> None:
        names = self.relation.columns
        if isinstance(self.relation, MissingTogether):
            self.records += batch.n_rows
            self.breaking += int(rows_breaking(self.relation, batch.values).sum())
            return
        present = np.logical_and.reduce([batch.values[name].present for name in names])
        if isinstance(self.relation, Function):
            present &= ~batch.values[names[0]].pooled
        self.records += int(present.sum())
        if isinstance(self.relation, Function):
            codes, numbers = batch.codes[names[0]][present], batch.values[names[1]].numbers[present]
            new = np.isnan(self.image[codes])
            self.image[codes[new]] = numbers[new]  # a left value that the sample did not have
            self.breaking += int((self.image[codes] != numbers).sum())
        else:
            self.breaking += int(rows_breaking(self.relation, batch.values).sum())


def sampled_rows(n_rows: int) -> NDArray[np.int64]:
    """Return the indices of rows that a fixed random stream chooses, whatever the order or period
    of rows.
    """
    if n_rows <= SAMPLE_ROWS:
        return np.arange(n_rows)
    return np.unique(np.random.default_rng(0).integers(0, n_rows, SAMPLE_ROWS))


def _sample(
    schema: Schema, n_rows: int, batches: Callable[[Collection[str] | None], Iterable[RowBatch]]
) -> RuleSample:
    chosen = sampled_rows(n_rows)
    parts: list[RowBatch] = []
    first = 0
    for batch in batches(None):
        rows = chosen[(chosen >= first) & (chosen < first + batch.n_rows)] - first
        first += batch.n_rows
        taken = slice(None) if len(rows) == batch.n_rows else rows
        values = {name: values.take(taken) for name, values in batch.values.items()}
        parts.append(RowBatch(values, {name: codes[taken] for name, codes in batch.codes.items()}))
    if len(parts) == 1:
        return RuleSample(schema, parts[0].values, parts[0].codes)
    values = {
        name: Values(
            *(
                np.concatenate([getattr(batch_sample.values[name], key) for batch_sample in parts])
                for key in ("numbers", "present", "filled", "pooled")
            )
        )
        for name in schema.names
    }
    return RuleSample(
        schema,
        values,
        {
            name: np.concatenate([batch_sample.codes[name] for batch_sample in parts])
            for name in schema.names
        },
    )


def _candidates(sample: RuleSample, schema: Schema, n_rows: int) -> Iterator[_Candidate]:
    def relations(text: str) -> tuple[Relation, ...]:
        return relation_of(text, parse_rule(text), schema, "A rule")

    tied: set[frozenset[str]] = set()
    same: dict[str, str] = {}
    determined: set[str] = set()
    equalities: list[Relation] = []
    for relation in chain.from_iterable(
        map(relations, chain(affine_pairs(sample, n_rows), date_parts(sample)))
    ):
        result, source = relation.columns
        if result in determined:
            continue
        same[result] = same.get(source, source)
        tied |= {
            frozenset(pair)
            for pair in combinations([n for n in schema.names if same.get(n, n) == same[result]], 2)
        }
        determined.add(result)
        equalities.append(relation)
    seen: set[frozenset[str]] = set()
    for relation in chain.from_iterable(map(relations, sums_of_two(sample, n_rows, tied))):
        if (columns := frozenset(same.get(name, name) for name in relation.columns)) not in seen:
            seen.add(columns)
            equalities.append(relation)
    determined |= {relation.columns[0] for relation in equalities}
    equalities += chain.from_iterable(map(relations, long_sums(sample, determined)))
    yield from (_Candidate(relation) for relation in equalities)
    functions = list(function_pairs(sample, tied))
    for result, source in functions:
        candidate = _Candidate(
            Function(f"{quote_name(result)} determines {quote_name(source)}", result, source)
        )
        candidate.image = _image(sample, result, source)
        yield candidate
    summed = {
        frozenset((relation.columns[0], name))
        for relation in equalities
        for name in relation.columns[1:]
    }
    for low, high in order_pairs(sample, tied | summed | {frozenset(pair) for pair in functions}):
        for sign in ("<", "<="):
            (relation,) = relations(f"{quote_name(low)} {sign} {quote_name(high)}")
            yield _Candidate(relation)
    for names in missing_groups(sample):
        yield from map(
            _Candidate, relations(" == ".join(f"missing({quote_name(name)})" for name in names))
        )


def _image(sample: RuleSample, determinant: str, dependent: str) -> NDArray[np.float64]:
    """The number of the right column that most sampled rows of each left code have."""
    present = (
        sample.values[determinant].present
        & sample.values[dependent].present
        & ~sample.values[determinant].pooled
    )
    ours = sample.codes[determinant][present].astype(np.int64)
    distinct, theirs = np.unique(sample.values[dependent].numbers[present], return_inverse=True)
    size = sample.schema[determinant].size
    counts = np.bincount(ours * len(distinct) + theirs, minlength=size * len(distinct)).reshape(
        size, len(distinct)
    )
    return np.where(counts.any(axis=1), distinct[counts.argmax(axis=1)], np.nan)


def _choose_rules(candidates: Sequence[_Candidate], schema: Schema, threshold: int) -> FoundRules:
    equalities = _independent(
        [c for c in candidates if isinstance(c.relation, Equality) and c.holds], schema
    )
    functions = _functions(
        [c for c in candidates if isinstance(c.relation, Function) and c.holds], schema
    )
    orders = _orders([c for c in candidates if isinstance(c.relation, Order) and c.holds])
    together = [c for c in candidates if isinstance(c.relation, MissingTogether) and c.holds]
    rules = [c.text for c in (*equalities, *functions, *orders, *together)]
    suggested = []
    covered = {frozenset(c.relation.columns) for c in (*equalities, *functions, *orders)}
    for candidate in candidates:
        columns = frozenset(candidate.relation.columns)
        if (
            candidate.records < FEWEST
            or columns in covered
            or isinstance(candidate.relation, MissingTogether)
        ):
            continue
        share = 1 - candidate.breaking / candidate.records
        if not candidate.breaking:
            continue  # another rule says it already
        if share >= NEARLY_ALL:
            few = f"holds in all but fewer than {threshold} records"
            suggested.append(
                (
                    candidate.text,
                    few
                    if candidate.breaking < threshold
                    else f"holds in {np.floor(share * 1000) / 10:g} % of records",
                )
            )
        else:
            continue
        covered.add(columns)
    return FoundRules(tuple(rules), tuple(suggested[:MOST_SUGGESTED]))


def _independent(candidates: list[_Candidate], schema: Schema) -> list[_Candidate]:
    """Return equalities of which none follows from those before it."""
    rows: list[NDArray[np.float64]] = []
    out = []
    for candidate in candidates:
        assert isinstance(candidate.relation, Equality)
        row = np.zeros(len(schema.names) + 1)
        row[schema.names.index(candidate.relation.result)] = -1.0
        for addend in candidate.relation.terms.parts:
            row[schema.names.index(addend.column)] = addend.factor
        row[-1] = candidate.relation.terms.constant
        plain = not any(addend.function for addend in candidate.relation.terms.parts)
        if plain and rows and np.linalg.matrix_rank(np.stack([*rows, row])) == len(rows):
            continue
        if plain:
            rows.append(row)
        out.append(candidate)
    return out


def _functions(candidates: list[_Candidate], schema: Schema) -> list[_Candidate]:
    """Return functions of which none follows from others; of two columns that tell each other, the
    one with words comes first.
    """
    pairs = {candidate.relation.columns: candidate for candidate in candidates}
    for determinant, dependent in list(pairs):
        if (determinant, dependent) in pairs and (dependent, determinant) in pairs:
            worded = is_words(parse_type(schema[dependent].type)) and not is_words(
                parse_type(schema[determinant].type)
            )
            del pairs[(determinant, dependent) if worded else (dependent, determinant)]
    return _without_implied(pairs)


def _orders(candidates: list[_Candidate]) -> list[_Candidate]:
    """Return orders of which none follows from others, the strict one where both hold."""
    pairs: dict[tuple[str, ...], _Candidate] = {}
    for candidate in candidates:
        assert isinstance(candidate.relation, Order)
        parts = candidate.relation.difference.parts
        key = tuple(
            sorted(
                (addend.column for addend in parts),
                key=lambda name: next(p.factor for p in parts if p.column == name),
            )
        )
        pairs.setdefault(key, candidate)  # the strict one comes first
    return _without_implied(pairs)


def _without_implied(pairs: Mapping[tuple[str, ...], _Candidate]) -> list[_Candidate]:
    """Return pairs without those that two others make: a to c, where there are a to b and b to
    c.
    """
    middles = {second for _, second in pairs} & {first for first, _ in pairs}
    return [
        c
        for (a, b), c in pairs.items()
        if not any((a, m) in pairs and (m, b) in pairs for m in middles - {a, b})
    ]


def constant_columns(
    schema: Schema, data: pa.Table, codes: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    """Return `person determines sex` for identifiers whose values repeat and columns that are the
    same in all rows of each.
    """
    for identifier in schema:
        if identifier.kind != "identifier":
            continue
        encoded = whole_array(data.column(identifier.name)).dictionary_encode()
        n_persons = len(encoded.dictionary)
        persons = (
            encoded.indices.fill_null(n_persons).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        known = persons < n_persons
        if not 2 * FEWEST <= 2 * n_persons <= known.sum():
            continue
        for name in schema.names:
            column_codes = codes[name][known]
            first = np.zeros(n_persons, dtype=np.int64)
            first[persons[known]] = column_codes
            size = schema[name].size
            if not (first[persons[known]] == column_codes).all() or size < 2:
                continue
            rows = np.bincount(persons[known], minlength=n_persons)
            table = np.zeros((n_persons, size), dtype=np.int64)
            table[np.arange(n_persons), first] = rows
            if log_odds_of_function(table) < log(CHANCE / len(schema.names)):
                yield f"{quote_name(identifier.name)} determines {quote_name(name)}"


def family(column: Column) -> str:
    """Return the family of a column, within which columns are compared: dates, moments, times of
    day, or plain numbers.
    """
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
    """Return by how much a computed number may miss numbers of a column: half a unit, or what
    floats lose.
    """
    return np.asarray(unit_of(column) / 2 * (1 + 1e-6) + EXACT * np.abs(numbers))


def by_chance(agreeing: float, n_rows: int, tried: int) -> bool:
    """Return whether something that holds in all of `n_rows` with a chance of `agreeing` each may
    do so by accident, `tried` being tried.
    """
    return agreeing >= 1 or n_rows * log(max(agreeing, 1e-300)) > log(CHANCE / max(tried, 1))


def _shuffled_share(
    values: NDArray[np.float64], expected: NDArray[np.float64], slack: NDArray[np.float64]
) -> float:
    """The share of rows in which two columns agree when one of them is shifted against the other,
    over eight shifts.
    """
    n = len(values)
    shifts = [n * i // 9 for i in range(1, 9)]
    return float(
        np.mean([np.mean(np.abs(values - np.roll(expected, shift)) <= slack) for shift in shifts])
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
    """The simplest line, of either column given the other, that all points keep: up to rounding of
    the left side, else of both.
    """
    lines = []
    for result, a, source, b in ways:
        db = b - b.mean()
        slope = float((a - a.mean()) @ db / (db @ db))
        if family(result) in ("date", "moment") and abs(slope - 1) > 1e-9:
            continue
        lines += [
            (price, result, a, source, b, *line)
            for line, price in _simple_lines(a, b, slope).items()
        ]
    for loose in (False, True):
        for _, result, a, source, b, factor, word, constant in sorted(
            lines, key=lambda line: line[0]
        ):
            k = factor if word == "*" else 1 / factor
            slack = room(result, a) + (
                abs(k) * unit_of(source) / 2 if loose and not float(k).is_integer() else 0.0
            )
            if (np.abs(a - k * b - constant) <= slack).all():
                share = _shuffled_share(a, k * b + constant, slack)
                return (
                    ""
                    if by_chance(share, min(n_rows, len(a)), tried)
                    else _affine_text(result, source, factor, word, constant)
                )
    return ""


def _simple_lines(
    a: NDArray[np.float64], b: NDArray[np.float64], slope: float
) -> dict[tuple[float, str, float], int]:
    """Lines through the points, through 0 with the ratio and with the slope, and how many digits
    each takes.
    """
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


def _affine_text(result: Column, source: Column, factor: float, word: str, constant: float) -> str:
    name = quote_name(source.name)
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
    return f"{quote_name(result.name)} = {scaled}{tail}"


def sums_of_two(sample: RuleSample, n_rows: int, tied: set[frozenset[str]]) -> Iterator[str]:
    """Return `a = b + c` for columns of which one is the sum of two others; not where two of the
    three are tied already.
    """
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
        comparable = ~np.isnan(column) & ~np.isnan(sums) & (moving + (column != 0) >= 2)
        count = comparable.sum(axis=0)
        hits = (
            (count >= 8)
            & ((close & comparable).sum(axis=0) >= 0.9 * count)
            & (first != t)
            & (second != t)
        )
        for index in np.flatnonzero(hits).tolist():
            addend, other_addend = columns[first[index]], columns[second[index]]
            names = (target.name, addend.name, other_addend.name)
            if _addable(addend, other_addend) != family(target) or any(
                frozenset(pair) in tied for pair in combinations(names, 2)
            ):
                continue
            complete = ~np.isnan(matrix[:, [t, first[index], second[index]]]).any(axis=1)
            a, total = (
                matrix[complete, t],
                matrix[complete, first[index]] + matrix[complete, second[index]],
            )
            slack = room(target, a)
            if complete.sum() < FEWEST or np.mean(np.abs(a - total) <= slack) < ALMOST:
                continue
            if not by_chance(_shuffled_share(a, total, slack), int(complete.sum()), tried):
                yield f"{quote_name(names[0])} = {quote_name(names[1])} + {quote_name(names[2])}"


def _addable(first: Column, second: Column) -> str | None:
    """The family of the sum of two columns: a number, or a date where one of them is a date and the
    other a number of days.
    """
    kinds = [family(first), family(second)]
    if "number" not in kinds:
        return None
    kinds.remove("number")
    return kinds[0] if kinds[0] in ("number", "date", "moment") else None


def long_sums(sample: RuleSample, determined: set[str]) -> Iterator[str]:
    """Return sums and differences of two to twelve columns and a constant that give a column:
    columns that depend linearly on those before them.
    """
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
    for index in usable.tolist():
        residual = scaled[:, index].copy()
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            for vector in basis:
                residual -= (residual @ vector) * vector
        size = float(np.sqrt(residual @ residual / len(residual)))
        if size > 0.6 * unit_of(columns[index]) / spread[index] + 1e-7:
            basis.append(residual / np.sqrt(residual @ residual))
            pivots.append(index)
        elif text := _long_sum(matrix, columns, index, pivots):
            yield text


def _long_sum(
    matrix: NDArray[np.float64], columns: Sequence[Column], index: int, pivots: Sequence[int]
) -> str:
    design = np.column_stack([np.ones(len(matrix)), matrix[:, list(pivots)]])
    factors = np.linalg.lstsq(design, matrix[:, index], rcond=None)[0]
    sizes = np.abs(factors) * np.concatenate([[1.0], matrix[:, list(pivots)].std(axis=0)])
    used = [
        (p, round(float(f), 6))
        for p, f, s in zip(pivots, factors[1:], sizes[1:], strict=True)
        if s > 1e-6 * matrix[:, index].std() and abs(f) > 1e-5
    ]
    if not 2 <= len(used) <= MOST_TERMS or any(abs(f) != 1 for _, f in used):
        return ""
    total = matrix[:, [p for p, _ in used]] @ np.array([f for _, f in used])
    constant = round(float(np.median(matrix[:, index] - total)), 6)
    slack = room(columns[index], matrix[:, index])
    if np.mean(np.abs(matrix[:, index] - total - constant) <= slack) < ALMOST:
        return ""
    if by_chance(
        _shuffled_share(matrix[:, index], total + constant, slack), len(matrix), len(columns) ** 3
    ):
        return ""
    terms = [(index, -1.0), *used]
    widest = max(terms, key=lambda term: matrix[:, term[0]].std())
    others = [(p, -f * widest[1]) for p, f in terms if p != widest[0]]
    shift = constant * -widest[1]
    sum_text = "".join(
        f"{' - ' if f < 0 else ' + '}{quote_name(columns[p].name)}"
        for p, f in sorted(others, key=lambda term: (-term[1], term[0]))
    )
    tail = "" if not shift else f" {'+' if shift > 0 else '-'} {abs(shift):.12g}"
    return f"{quote_name(columns[widest[0]].name)} = {sum_text.removeprefix(' + ').lstrip()}{tail}"


def order_pairs(sample: RuleSample, tied: set[frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Return pairs of columns of which the first is hardly ever above the second, where neither
    ranges (`SHUFFLED`) nor chance (`CHANCE`) explain it.

    Two dates that all rows have in order are returned whatever explains it.
    """
    columns = sample.numeric()
    matrix = sample.matrix(columns)
    tried = len(columns) ** 2
    for i, low in enumerate(columns):
        with np.errstate(invalid="ignore"):
            comparable = ~np.isnan(matrix) & ~np.isnan(matrix[:, [i]])
            fine = (matrix[:, [i]] <= matrix).sum(axis=0)
        for j, high in enumerate(columns):
            if i == j or family(low) != family(high) or frozenset((low.name, high.name)) in tied:
                continue
            n = int(comparable[:, j].sum())
            if n < FEWEST or fine[j] < 0.99 * n:
                continue
            a, b = matrix[comparable[:, j], i], matrix[comparable[:, j], j]
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
                moments, numbers_column = sample.values[date.name], sample.values[column.name]
                both = moments.present & numbers_column.present
                if both.sum() < FEWEST:
                    continue
                word = f"{function} of seconds" if family(date) == "moment" else function
                parts = part_of(moments.numbers[both], word)
                if (
                    np.mean(parts == numbers_column.numbers[both]) >= ALMOST
                    and len(np.unique(parts)) > 1
                ):
                    yield f"{quote_name(column.name)} = {function}({quote_name(date.name)})"


def missing_groups(sample: RuleSample) -> list[list[str]]:
    """Return columns that are missing in the same rows of the sample, at least ten of them, and
    present in ten.
    """
    groups: dict[bytes, list[str]] = {}
    for name, values in sample.values.items():
        empty = int((~values.filled).sum())
        if 10 <= empty <= sample.n_rows - 10:
            groups.setdefault(values.filled.tobytes(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def listable(column: Column) -> bool:
    """Return whether every code of a column is one value, so that a function of it is a list."""
    codec = column.fitted_codec
    return 2 <= codec.n_values <= MOST_LEVELS and not len(codec.bin_codes)


def function_pairs(sample: RuleSample, tied: set[frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Return pairs of columns of which the first determines the second: it has few values, each
    with several rows, and no fewer than the second.
    """
    ids: dict[str, tuple[NDArray[np.int64], int]] = {}
    for column in sample.schema.modelled:
        values = sample.values[column.name]
        distinct, which = np.unique(values.numbers[values.present], return_inverse=True)
        full = np.full(sample.n_rows, -1, dtype=np.int64)
        full[values.present] = which
        ids[column.name] = (full, len(distinct))
    determinants = [c.name for c in sample.schema.modelled if listable(c)]
    tried = len(determinants) * len(ids)
    first, names = np.stack([full[:FIRST] for full, _ in ids.values()]), list(ids)
    distinct_of = np.array([n for _, n in ids.values()], dtype=np.int64)
    for determinant in determinants:
        ours, n_left = ids[determinant]
        ours = np.where(sample.values[determinant].pooled, -1, ours)
        possible = (distinct_of >= 2) & (distinct_of <= 2 * n_left)
        _rule_out(
            ours[:FIRST], first, n_left, distinct_of, SMALL, 0.01 * sample.n_rows, possible
        )  # more rows can only miss more
        for dependent in (names[index] for index in np.flatnonzero(possible)):
            theirs, n_right = ids[dependent]
            if determinant == dependent or frozenset((determinant, dependent)) in tied:
                continue
            both = (ours >= 0) & (theirs >= 0)
            a, b = ours[both], theirs[both]
            if len(a) < max(FEWEST, 5 * n_left):
                continue
            table = np.bincount(a * n_right + b, minlength=n_left * n_right).reshape(
                n_left, n_right
            )
            fewer = 2 <= table.any(axis=0).sum() <= table.any(axis=1).sum()
            if (
                fewer
                and table.max(axis=1).sum() >= 0.99 * len(a)
                and log_odds_of_function(table) < log(CHANCE / tried)
            ):
                yield determinant, dependent


@jit
def _rule_out(
    determinant: Any,
    dependents: Any,
    n_left: int,
    n_dependents: Any,
    max_cells: int,
    max_misses: float,
    possible: Any,
) -> None:
    """Mark dependent columns as impossible where more than `max_misses` rows differ from the
    commonest value of their determinant.

    Rows without a value (-1) are left out, and columns whose tables have more cells than
    `max_cells` not looked at. Most columns are ruled out by their first rows.
    """
    table, common = np.zeros(max_cells, dtype=np.int64), np.zeros(n_left, dtype=np.int64)
    for j in range(dependents.shape[0]):
        n_right = n_dependents[j]
        if not possible[j] or n_left * n_right > max_cells:
            continue
        dependent, misses = dependents[j], 0
        table[: n_left * n_right] = 0
        common[:] = 0
        for k in range(determinant.size):
            if determinant[k] >= 0 and dependent[k] >= 0:
                cell = determinant[k] * n_right + dependent[k]
                table[cell] += 1
                if table[cell] > common[determinant[k]]:
                    common[determinant[k]] += 1
                else:
                    misses += 1
                    if misses > max_misses:
                        possible[j] = False
                        break


def log_odds_of_function(table: NDArray[np.int64]) -> float:
    """Return the logarithm of the chance that every row of a table of counts has one filled column
    only, if the two had nothing to do with each other.
    """
    shares = table.sum(axis=0) / max(table.sum(), 1)
    rows = table.sum(axis=1)
    sizes, many = np.unique(rows[rows > 1], return_counts=True)
    max_share = float(shares.max(initial=0.0)) or 1.0
    rest = shares[shares > 0] / max_share  # so that no power of a small share is 0
    logs = [size * log(max_share) + log(float(np.sum(rest**size))) for size in sizes.tolist()]
    return float(np.dot(many, logs)) if logs else 0.0
