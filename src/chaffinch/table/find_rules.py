"""Rules that the records of a table keep: candidates from a sample of rows (`screens`), verified on all of them.

What holds in every record, and not by chance, becomes a rule; what holds in nearly all is suggested. Nothing here runs under a promise of
privacy: that a rule holds in every record is a fact about records.
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

from .._base.masking import THRESHOLD
from .function_screen import function_pairs, log_odds_of_function
from .relations import (
    Equality,
    Function,
    MissingTogether,
    Order,
    Relation,
    Values,
    broken,
    parsed,
    quoted,
    relation_of,
)
from .schema import Schema
from .screens import (
    CHANCE,
    FEWEST,
    RuleSample,
    affine_pairs,
    date_parts,
    long_sums,
    missing_groups,
    order_pairs,
    sums_of_two,
)
from .types import is_words, parse_type, whole_array

SAMPLE_ROWS = 4096
"""Rows from which candidates come; of smaller tables all."""

NEARLY_ALL = 0.99
"""The share of records that keep what is suggested."""

MOST_SUGGESTED = 20


@dataclass(frozen=True, eq=False)
class RowBatch:
    """The values and codes of some rows, all modelled columns; and their numbers as they are stored."""

    values: Mapping[str, Values]
    codes: Mapping[str, NDArray[Any]]
    stored: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.codes.values())))


@dataclass(frozen=True)
class FoundRules:
    """Rules that hold in every record, and others, each with what speaks against it."""

    rules: tuple[str, ...] = ()
    suggested: tuple[tuple[str, str], ...] = ()


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
        """Count a batch of rows."""
        names = self.relation.columns
        if isinstance(self.relation, MissingTogether):
            self.records += batch.n_rows
            self.breaking += int(broken(self.relation, batch.values).sum())
            return
        there = np.logical_and.reduce([batch.values[name].present for name in names])
        if isinstance(self.relation, Function):
            there &= ~batch.values[names[0]].pooled
        self.records += int(there.sum())
        if isinstance(self.relation, Function):
            left, right = batch.codes[names[0]][there], batch.values[names[1]].numbers[there]
            new = np.isnan(self.image[left])
            self.image[left[new]] = right[new]  # a left value that the sample did not have
            self.breaking += int((self.image[left] != right).sum())
        else:
            self.breaking += int(broken(self.relation, batch.values).sum())


def find_rules(
    schema: Schema,
    n_rows: int,
    batches: Callable[[Collection[str] | None], Iterable[RowBatch]],
    *,
    threshold: int = THRESHOLD,
    sample: RowBatch | None = None,
) -> FoundRules:
    """Return the rules that all rows keep under a fitted schema. `batches` gives all rows, of all columns or of those named: once to verify, and once
    before for the rows of `sampled_rows`, where these are not given as `sample`.
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
    return _chosen(candidates, schema, threshold)


def sampled_rows(n_rows: int) -> NDArray[np.int64]:
    """Return the numbers of rows that a fixed stream chooses: no order of rows, and no period in them, has a say."""
    if n_rows <= SAMPLE_ROWS:
        return np.arange(n_rows)
    return np.unique(np.random.default_rng(0).integers(0, n_rows, SAMPLE_ROWS))


def _sample(
    schema: Schema, n_rows: int, batches: Callable[[Collection[str] | None], Iterable[RowBatch]]
) -> RuleSample:
    """Return the sampled rows."""
    chosen = sampled_rows(n_rows)
    parts: list[RowBatch] = []
    first = 0
    for batch in batches(None):
        own = chosen[(chosen >= first) & (chosen < first + batch.n_rows)] - first
        first += batch.n_rows
        taken = slice(None) if len(own) == batch.n_rows else own
        values = {name: values.take(taken) for name, values in batch.values.items()}
        parts.append(RowBatch(values, {name: codes[taken] for name, codes in batch.codes.items()}))
    if len(parts) == 1:
        return RuleSample(schema, parts[0].values, parts[0].codes)
    values = {
        name: Values(
            *(
                np.concatenate([getattr(part.values[name], key) for part in parts])
                for key in ("numbers", "present", "filled", "pooled")
            )
        )
        for name in schema.names
    }
    return RuleSample(
        schema,
        values,
        {name: np.concatenate([part.codes[name] for part in parts]) for name in schema.names},
    )


def _candidates(sample: RuleSample, schema: Schema, n_rows: int) -> Iterator[_Candidate]:
    def relations(text: str) -> tuple[Relation, ...]:
        return relation_of(text, parsed(text), schema, "A rule")

    tied: set[frozenset[str]] = set()
    same: dict[str, str] = {}
    determined: set[str] = set()
    equalities: list[Relation] = []
    for relation in chain.from_iterable(
        map(relations, chain(affine_pairs(sample, n_rows), date_parts(sample)))
    ):
        left, right = relation.columns
        if left in determined:
            continue
        same[left] = same.get(right, right)
        tied |= {
            frozenset(pair)
            for pair in combinations([n for n in schema.names if same.get(n, n) == same[left]], 2)
        }
        determined.add(left)
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
    for left, right in functions:
        candidate = _Candidate(Function(f"{quoted(left)} determines {quoted(right)}", left, right))
        candidate.image = _image(sample, left, right)
        yield candidate
    summed = {
        frozenset((relation.columns[0], name))
        for relation in equalities
        for name in relation.columns[1:]
    }
    for low, high in order_pairs(sample, tied | summed | {frozenset(pair) for pair in functions}):
        for sign in ("<", "<="):
            (relation,) = relations(f"{quoted(low)} {sign} {quoted(high)}")
            yield _Candidate(relation)
    for names in missing_groups(sample):
        yield from map(
            _Candidate, relations(" == ".join(f"missing({quoted(name)})" for name in names))
        )


def _image(sample: RuleSample, left: str, right: str) -> NDArray[np.float64]:
    """The number of the right column that most sampled rows of each left code have."""
    there = sample.values[left].present & sample.values[right].present & ~sample.values[left].pooled
    ours = sample.codes[left][there].astype(np.int64)
    distinct, theirs = np.unique(sample.values[right].numbers[there], return_inverse=True)
    size = sample.schema[left].size
    counts = np.bincount(ours * len(distinct) + theirs, minlength=size * len(distinct)).reshape(
        size, len(distinct)
    )
    return np.where(counts.any(axis=1), distinct[counts.argmax(axis=1)], np.nan)


def _chosen(candidates: Sequence[_Candidate], schema: Schema, threshold: int) -> FoundRules:
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
        row[schema.names.index(candidate.relation.left)] = -1.0
        for part in candidate.relation.right.parts:
            row[schema.names.index(part.column)] = part.factor
        row[-1] = candidate.relation.right.constant
        plain = not any(part.function for part in candidate.relation.right.parts)
        if plain and rows and np.linalg.matrix_rank(np.stack([*rows, row])) == len(rows):
            continue
        if plain:
            rows.append(row)
        out.append(candidate)
    return out


def _functions(candidates: list[_Candidate], schema: Schema) -> list[_Candidate]:
    """Return functions of which none follows from others; of two columns that tell each other, the one with words comes first."""
    pairs = {candidate.relation.columns: candidate for candidate in candidates}
    for left, right in list(pairs):
        if (left, right) in pairs and (right, left) in pairs:
            worded = is_words(parse_type(schema[right].type)) and not is_words(
                parse_type(schema[left].type)
            )
            del pairs[(left, right) if worded else (right, left)]
    return _reduced(pairs)


def _orders(candidates: list[_Candidate]) -> list[_Candidate]:
    """Return orders of which none follows from others, the strict one where both hold."""
    pairs: dict[tuple[str, ...], _Candidate] = {}
    for candidate in candidates:
        assert isinstance(candidate.relation, Order)
        parts = candidate.relation.difference.parts
        key = tuple(
            sorted(
                (part.column for part in parts),
                key=lambda name: next(p.factor for p in parts if p.column == name),
            )
        )
        pairs.setdefault(key, candidate)  # the strict one comes first
    return _reduced(pairs)


def _reduced(pairs: Mapping[tuple[str, ...], _Candidate]) -> list[_Candidate]:
    """Return pairs without those that two others make: a to c, where there are a to b and b to c."""
    middles = {right for _, right in pairs} & {left for left, _ in pairs}
    return [
        c
        for (a, b), c in pairs.items()
        if not any((a, m) in pairs and (m, b) in pairs for m in middles - {a, b})
    ]


def constant_columns(
    schema: Schema, data: pa.Table, codes: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    """Return `person determines sex` for identifiers whose values repeat and columns that are the same in all rows of each."""
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
            own = codes[name][known]
            first = np.zeros(n_persons, dtype=np.int64)
            first[persons[known]] = own
            size = schema[name].size
            if not (first[persons[known]] == own).all() or size < 2:
                continue
            rows = np.bincount(persons[known], minlength=n_persons)
            table = np.zeros((n_persons, size), dtype=np.int64)
            table[np.arange(n_persons), first] = rows
            if log_odds_of_function(table) < log(CHANCE / len(schema.names)):
                yield f"{quoted(identifier.name)} determines {quoted(name)}"
