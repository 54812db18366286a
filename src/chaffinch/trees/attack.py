"""The attack: which nodes isolate someone, in which words, how many tries it takes without their numbers, and what paths of two trees and thresholds add.

Sedlmeyr, section 3.2, with counts where its code has shares, and the way to a node found from the tree alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_at_least
from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .result import IntersectionSummary, MidpointSummary, TreeAudit, Tries
from .tree import Ensemble, Kind, Tree, checked_data, comparison_values, label_codes, recount

Comparison = Literal["=", "<=", ">"]


@dataclass(frozen=True)
class Condition:
    """A range of one column: above `low`, at most `high`; missing values belong to it if `missing`.

    With `single` numbers are rounded to 32-bit floats before they are compared, as scikit-learn does. No bound at all leaves every
    value that is present; an infinite `low` leaves none, only missing ones.
    """

    column: str
    index: int
    low: float
    high: float
    missing: bool
    single: bool = True

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values lie in the range."""
        numbers = comparison_values(values, single=self.single)
        with np.errstate(invalid="ignore"):
            # Minus infinity is no bound here: the smallest value of all lies in a range without one.
            inside = ((numbers > self.low) | (self.low == -np.inf)) & (numbers <= self.high)
        return np.where(np.isnan(numbers), self.missing, inside)

    @property
    def present(self) -> bool:
        """Whether any value that is present lies in the range."""
        return bool(self.low < self.high)

    def parts(self) -> list[tuple[str, str, float]]:
        """Return the range as (column, comparison, number): one or two, none for a range without bounds."""
        out: list[tuple[str, str, float]] = []
        if np.isfinite(self.low):
            out.append((self.column, ">", self.low))
        if np.isfinite(self.high):
            out.append((self.column, "<=", self.high))
        return out

    def text(self) -> str:
        """Return the range as one reads it."""
        if not self.present:
            return f"{self.column} is missing" if self.missing else "never"
        text = " and ".join(f"{name} {sign} {number:.9g}" for name, sign, number in self.parts())
        text = text or f"{self.column} is present"
        return f"({text} or {self.column} is missing)" if self.missing else text

    def code(self, compare: str, *, present: str, missing: str, join: tuple[str, str, str]) -> str:
        """Return the range in some language: `compare` is the number of the column, `join` its and, or, and false."""
        both, either, never = join
        if not self.present:
            return f"({missing})" if self.missing else f"({never})"
        parts = [f"({compare} {sign} {_double(cut)})" for _, sign, cut in self.parts()]
        text = both.join([*parts, f"({present})"])
        return f"(({text}){either}({missing}))" if self.missing else f"({text})"


@dataclass(frozen=True)
class Label:
    """What the predicate says of the label: its output's number, a comparison and a class or a number."""

    column: str
    output: int
    comparison: Comparison
    value: Any

    @property
    def operator(self) -> str:
        """The comparison as Python writes it."""
        return "==" if self.comparison == "=" else self.comparison

    def text(self) -> str:
        """Return the label as one reads it."""
        return f"{self.column} {self.comparison} {_plain(self.value)}"

    def holds(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for which labels it is true."""
        if self.comparison == "=":
            return np.asarray(labels == self.value)
        numbers = np.asarray(labels, dtype=np.float64)
        return numbers > self.value if self.comparison == ">" else numbers <= self.value


@dataclass(frozen=True)
class Predicate:
    """A conjunction of ranges, and perhaps of a label. Its constants come from the training data: they are confidential."""

    tree: int
    node: int
    conditions: tuple[Condition, ...]
    label: Label | None

    def holds(
        self, columns: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]]
    ) -> NDArray[np.bool_]:
        """Return for which records it is true: one array for each feature, and one for each output."""
        out = np.ones(len(columns[0]), dtype=bool)
        for condition in self.conditions:
            out &= condition.holds(columns[condition.index])
        return out if self.label is None else out & self.label.holds(labels[self.label.output])

    def text(self) -> str:
        """Return the predicate as one reads it."""
        return self._joined(Condition.text, Label.text, " AND ") or "any record"

    def sql(self) -> str:
        """Return the predicate for the WHERE of a query, in words that DuckDB and PostgreSQL share.

        Both hold NaN to be above every number: where it may stand for a missing value it is looked for as such.
        """
        top = "CAST('Infinity' AS DOUBLE PRECISION)"

        def of_condition(c: Condition) -> str:
            name = _quote_name(c.column)
            value = f"CAST({f'CAST({name} AS REAL)' if c.single else name} AS DOUBLE PRECISION)"
            missing = f"{name} IS NULL OR {value} > {top}"
            return c.code(
                value, present=f"{value} <= {top}", missing=missing, join=(" AND ", " OR ", "FALSE")
            )

        def of_label(label: Label) -> str:
            return f"({_quote_name(label.column)} {label.comparison} {_sql_value(label.value)})"

        return self._joined(of_condition, of_label, " AND ") or "TRUE"

    def pandas(self, frame: str = "df") -> str:
        """Return the predicate as a pandas mask."""

        def of_condition(c: Condition) -> str:
            series = f"{frame}[{c.column!r}]"
            value = f"{series}.astype('float64')" + (
                ".astype('float32').astype('float64')" if c.single else ""
            )
            join = (" & ", " | ", f"{series}.isna() & False")
            return c.code(value, present=f"{series}.notna()", missing=f"{series}.isna()", join=join)

        def of_label(label: Label) -> str:
            return f"({frame}[{label.column!r}] {label.operator} {_plain(label.value)!r})"

        return self._joined(of_condition, of_label, " & ") or f"({frame}.iloc[:, 0].isna() | True)"

    def polars(self) -> str:
        """Return the predicate as a polars expression; NaN counts as missing."""

        def of_condition(c: Condition) -> str:
            series = f"pl.col({c.column!r}).cast(pl.Float64).fill_nan(None)"
            value = f"{series}.cast(pl.Float32).cast(pl.Float64)" if c.single else series
            join = (" & ", " | ", "pl.lit(False)")
            text = c.code(
                value, present=f"{series}.is_not_null()", missing=f"{series}.is_null()", join=join
            )
            return f"{text}.fill_null(False)"

        def of_label(label: Label) -> str:
            return f"(pl.col({label.column!r}) {label.operator} {_plain(label.value)!r}).fill_null(False)"

        return self._joined(of_condition, of_label, " & ") or "pl.lit(True)"

    def _joined(
        self, of_condition: Callable[[Condition], str], of_label: Callable[[Label], str], join: str
    ) -> str:
        return join.join(
            [
                *map(of_condition, self.conditions),
                *([] if self.label is None else [of_label(self.label)]),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, constants and all: confidential."""
        label = (
            None
            if self.label is None
            else [self.label.column, self.label.comparison, _plain(self.label.value)]
        )
        return {
            "tree": self.tree,
            "node": self.node,
            "label": label,
            "conditions": [
                list(bound) for c in self.conditions if c.present for bound in c.parts()
            ],
            # Columns in which a missing value fits too, may only be missing, or may only be present.
            "missing": [c.column for c in self.conditions if c.missing and c.present],
            "only_missing": [c.column for c in self.conditions if c.missing and not c.present],
            "only_present": [c.column for c in self.conditions if not c.missing and not c.parts()],
            "words": self.text(),
            "sql": self.sql(),
            "pandas": self.pandas(),
            "polars": self.polars(),
        }


def predicate_of(model: Ensemble, number: int, node: int, label: Label | None) -> Predicate:
    """Return the predicate of a node: the splits above it, one range for each column."""
    tree: Tree = model.trees[number]
    ranges: dict[int, tuple[float, float, bool]] = {}
    for split, goes_left in tree.path(node):
        column, cut = int(tree.feature[split]), float(tree.threshold[split])
        low, high, missing = ranges.get(column, (-np.inf, np.inf, True))
        low, high = (low, min(high, cut)) if goes_left else (max(low, cut), high)
        ranges[column] = (low, high, missing and bool(tree.missing_left[split]) == goes_left)
    conditions = (Condition(model.features[c], c, *ranges[c], tree.single) for c in sorted(ranges))
    telling = tuple(c for c in conditions if c.parts() or not c.missing or not c.present)
    return Predicate(number, node, telling, label)


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _sql_value(value: Any) -> str:
    value = _plain(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        return _double(value)
    return "'" + str(value).replace("'", "''") + "'"


def _double(value: float) -> str:
    """A number with an exponent: SQL reads one without as a decimal, whose digits and rounding are up to the database."""
    text = repr(float(value))
    return text if "e" in text or "n" in text else f"{text}e0"


def label_name(names: Sequence[str], output: int) -> str:
    """Return the name of an output: those given, and numbers beyond them."""
    return names[output] if output < len(names) else f"{names[0]}{output}"


def label_of(model: Ensemble, output: int, k: int, names: Sequence[str]) -> Label | None:
    """Return the label of class `k` of an output; None for the output -1, which stands for none."""
    return (
        None
        if output < 0
        else Label(label_name(names, output), output, "=", model.classes[output][k])
    )


def attack_trees(
    model: Ensemble,
    *,
    at_least: int = 2,
    label: str | Sequence[str] = "label",
    columns: Sequence[NDArray[Any]] | None = None,
    labels: Sequence[NDArray[Any]] | None = None,
    max_tries: int = 100_000,
    threshold: int = THRESHOLD,
) -> TreeAudit:
    """Return what a model gives away about single records.

    With the counts that models keep no data are needed: every node in which a class has at least one and fewer than `at_least` records
    gives a predicate. With data (one array for each feature, one for each output) each is tried on them, and the attack without
    counts is run: leaves deepest first, every label, until a predicate is true of at least one and fewer than `at_least` records.
    """
    if (columns is None) != (labels is None):
        raise InputError("Data are columns and labels: give both, or neither.")
    names = [label] if isinstance(label, str) else list(label)
    audit = TreeAudit(
        model, at_least, None, None, None, None, reason=model.no_counts, threshold=threshold
    )
    real: Ensemble | None = None
    if columns is not None and labels is not None:
        data = checked_data(model, columns, labels)
        real = recount(model, *data)
        audit = replace(
            audit,
            tries=tuple(
                tries(model, i, *data, names, at_least=at_least, max_tries=max_tries)
                for i in range(len(model.trees))
            ),
            value_leaves=_value_leaves(model, data, at_least),
        )
    if not model.counted:
        return audit
    predicates: list[Predicate] = []
    vulnerable, confirmed = 0, 0
    counted = [(i, tree) for i, tree in enumerate(model.trees) if tree.tells(model.kind)]
    for number, tree in counted:
        # A node of a regression tree isolates if it has too few records: output and class are -1 then. With a bootstrap counts
        # are draws: fewer draws than `at_least` are fewer records for certain; as many may be fewer all the same, and are not counted.
        rare_cells = np.argwhere(tree.exposed_records(model.kind, at_least) > 0).tolist()
        cells = [(node, *(rest or (-1, -1))) for node, *rest in rare_cells]
        predicates += [
            predicate_of(model, number, node, label_of(model, output, k, names))
            for node, output, k in cells
        ]
        vulnerable += bool(cells)
        if real is not None and cells:
            records = real.trees[number].records(model.kind)
            now = records[tuple(np.array(cells).T[: records.ndim])]
            confirmed += int(((now > 0) & (now < at_least)).sum())
    reason = "" if model.counts_known else _partly(model)
    if reason and not predicates:  # nothing in a part of the trees is no all-clear
        return replace(audit, reason=reason)
    if real is not None:
        exposed, among = _exposed_rows(real, data, at_least)
    else:
        exposed, among = max(
            (_exposure(tree, model.kind, at_least) for _, tree in counted),
            key=lambda pair: pair[0] / max(pair[1], 1),
        )
    return replace(
        audit,
        predicates=tuple(predicates),
        n_exposed=exposed,
        share=exposed / max(among, 1),
        vulnerable_trees=vulnerable,
        checked=None if real is None else (len(predicates), confirmed),
        reason=reason,
        open_leaves=_open_leaves(model, at_least),
    )


def _value_leaves(model: Ensemble, data: tuple[Any, Any], at_least: int) -> int | None:
    """The leaves of a regression in which a label above, or below, what the leaf says isolates records of the data."""
    if model.kind != "regression" or model.boosted:
        return None
    return sum(
        int((~safe_values(tree, *data, at_least)[tree.leaves]).sum()) for tree in model.trees
    )


def _open_leaves(model: Ensemble, at_least: int) -> int | None:
    """The same leaves by counts alone; None where no tree tells."""
    if model.kind != "regression":
        return None
    known = [n for tree in model.trees if (n := open_to_value(tree, at_least)) is not None]
    return sum(known) if known else None


def open_to_value(tree: Tree, at_least: int) -> int | None:
    """Return how many leaves of a regression tree must isolate fewer than m = `at_least` records by path AND label against the leaf value.

    A leaf says the mean of its n labels. If they differ, at least one lies above the mean and at least one does not: two sides that
    share n records, so the smaller has between 1 and n/2. With n < 2m that is fewer than m: certain, without any data. (m = 2: two
    records, of which each side holds one; three, of which one side holds one.) With n >= 2m it depends on the labels: of 0, 0, 0, 10
    only one lies above the mean, and so it can be in a leaf of any size. No size of leaves rules it out; `safe_values` looks at data.
    Leaves with fewer than m records isolate by their path alone and are not counted here.
    """
    if tree.samples is None or tree.varies is None:
        return None
    n = tree.samples[tree.leaves]
    return int(((n >= at_least) & (n < 2 * at_least) & tree.varies[tree.leaves]).sum())


def safe_values(
    tree: Tree, columns: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]], at_least: int
) -> NDArray[np.bool_]:
    """Return for each node whether its value, if it were a leaf, would isolate nobody: each side none or `at_least` records of the data."""
    out = np.ones(tree.n_nodes, dtype=bool)
    numbers = [np.asarray(numbers_of, dtype=np.float64) for numbers_of in labels]
    for node, rows in enumerate(tree.rows(columns)):
        for output, numbers_of in enumerate(numbers):
            above = int((numbers_of[rows] > tree.value[node, output, 0]).sum())
            out[node] &= all(side == 0 or side >= at_least for side in (above, len(rows) - above))
    return out


def _exposed_rows(
    real: Ensemble, data: tuple[list[NDArray[Any]], list[NDArray[Any]]], at_least: int
) -> tuple[int, int]:
    """How many distinct records of the data some tree and output expose, and how many there are."""
    columns, labels = data
    mask = np.zeros(len(columns[0]), dtype=bool)
    for tree in real.trees:
        records = tree.records(real.kind)[tree.apply(columns)]
        if real.kind == "regression":
            mask |= records < at_least
        for output, classes in enumerate(real.classes):
            codes = label_codes(labels[output], classes)
            mask |= (codes >= 0) & (records[np.arange(len(mask)), output, codes] < at_least)
    return int(mask.sum()), len(mask)


def _exposure(tree: Tree, kind: Kind, at_least: int) -> tuple[int, int]:
    """How many records (or draws) stand in leaves where their class (or the leaf) has too few, and how many there are."""
    few = tree.exposed_records(kind, at_least)[tree.leaves]
    if kind == "classification":
        return int(few.sum(axis=(0, 2)).max(initial=0)), int(tree.records(kind)[0, 0].sum())
    return int(few.sum()), int(
        tree.bounds[0, 1]
        if tree.samples is None and tree.bounds is not None
        else tree.records(kind)[0]
    )


def _partly(model: Ensemble) -> str:
    """Which trees tell numbers of records, in a sentence."""
    exact = sum(
        (t.counts if model.kind == "classification" else t.samples) is not None for t in model.trees
    )
    parts = [
        f"exactly in {exact:,}",
        *([f"within bounds in {model.counted - exact:,}"] if model.counted > exact else []),
    ]
    unknown = len(model.trees) - model.counted
    rest = (
        f" In the other {unknown:,} they are not known: {model.no_counts[0].lower()}{model.no_counts[1:]}"
        if unknown
        else ""
    )
    return f"Of {len(model.trees):,} trees the numbers of records are known {' and '.join(parts)}.{rest}"


def tries(
    model: Ensemble,
    number: int,
    columns: Sequence[NDArray[Any]],
    labels: Sequence[NDArray[Any]],
    names: Sequence[str],
    *,
    at_least: int = 2,
    max_tries: int = 100_000,
) -> Tries:
    """Return how many predicates have to be tried on a tree, without its counts, until one isolates a record (Sedlmeyr, section 3.2).

    Leaves deepest first (of equal depth in their order); for each leaf every class of every output, or for numbers "above what the leaf
    says" and "not above". Leaves of boosted trees say neither: there the path alone is tried, then with each class.
    """
    tree = model.trees[number]
    rows_of = tree.rows(columns)
    arrays = [np.asarray(y) for y in labels]
    tried = 0
    for leaf in sorted(tree.leaves.tolist(), key=lambda i: (-int(tree.depth[i]), i)):
        rows = rows_of[leaf]
        for label in _guesses(model, tree, leaf, names):
            tried += 1
            hits = (
                len(rows) if label is None else int(label.holds(arrays[label.output][rows]).sum())
            )
            if 0 < hits < at_least:
                return Tries(number, tried, tried, predicate_of(model, number, leaf, label))
            if tried >= max_tries:
                return Tries(number, None, tried, None)
    return Tries(number, None, tried, None)


def _guesses(model: Ensemble, tree: Tree, leaf: int, names: Sequence[str]) -> list[Label | None]:
    if model.boosted:
        return [None, *(Label(label_name(names, 0), 0, "=", k) for k in model.targets)]
    if model.kind == "classification":
        return [
            Label(label_name(names, o), o, "=", k)
            for o, classes in enumerate(model.classes)
            for k in classes
        ]
    outputs = range(tree.value.shape[1])
    signs: tuple[Comparison, Comparison] = (">", "<=")
    return [
        Label(label_name(names, o), o, sign, float(tree.value[leaf, o, 0]))
        for o in outputs
        for sign in signs
    ]


@dataclass(frozen=True, eq=False)
class Intersections:
    """What pairs of trees isolate beyond what each does alone. Pairs of predicates hold constants: they are confidential."""

    tried: int
    """Pairs of trees that were looked at."""
    pairs: int
    isolating_pairs: int
    """That isolate someone whom neither tree of the pair isolates."""
    cells: int
    """Pairs of leaves (with a class, for classification) that do, over all pairs of trees."""
    n_exposed: int
    """Distinct records."""
    share: float
    examples: tuple[tuple[Predicate, Predicate], ...] = field(repr=False)
    """Some of the conjunctions."""
    threshold: int = THRESHOLD

    @property
    def summary(self) -> IntersectionSummary:
        """What may leave: no constant and no record."""
        small = 0 < self.n_exposed < self.threshold
        share = f"under {self.threshold} records" if small else self.share
        return IntersectionSummary(self.tried, self.pairs, self.isolating_pairs, share)


def intersections(
    model: Ensemble,
    columns: Sequence[NDArray[Any]],
    labels: Sequence[NDArray[Any]],
    *,
    at_least: int = 2,
    label: str | Sequence[str] = "label",
    most_pairs: int = 200,
    most_examples: int = 20,
    threshold: int = THRESHOLD,
    seed: int = 0,
) -> Intersections:
    """Return what conjunctions of a leaf path of one tree and one of another isolate although neither does alone.

    With classes a conjunction also says the class (of the first output). All pairs of trees are tried if there are at most `most_pairs`,
    otherwise so many drawn at random.
    """
    check_at_least("at_least", at_least, 2)
    check_at_least("most_pairs", most_pairs, 1)
    x, y = checked_data(model, columns, labels)
    names = [label] if isinstance(label, str) else list(label)
    classes = model.classes[0] if model.classes else model.targets
    codes = label_codes(y[0], classes) if classes else np.zeros(len(x[0]), dtype=np.int64)
    used = np.flatnonzero(
        codes >= 0
    )  # a label that the model does not know is no part of any predicate of it
    k = max(len(classes), 1)
    cell = [(tree.apply(x) * k + codes)[used] for tree in model.trees]
    alone = [_sizes(leaf_cells) for leaf_cells in cell]
    chosen, n_pairs = _pairs(len(cell), most_pairs, seed)
    exposed = np.zeros(len(used), dtype=bool)
    isolating, n_cells = 0, 0
    examples: list[tuple[Predicate, Predicate]] = []
    for i, j in chosen:
        both = _sizes(cell[i] * (int(cell[j].max(initial=0)) + 1) + cell[j])
        hit = (both < at_least) & (alone[i] >= at_least) & (alone[j] >= at_least)
        isolating += bool(hit.any())
        exposed |= hit
        rows = np.flatnonzero(hit)
        _, first = np.unique(np.stack([cell[i][rows], cell[j][rows]]), axis=1, return_index=True)
        n_cells += len(first)
        for row in rows[np.sort(first)][: max(most_examples - len(examples), 0)]:
            named: Label | None = None
            if classes:
                code = int(codes[used[row]])
                named = (
                    label_of(model, 0, code, names)
                    if model.classes
                    else Label(names[0], 0, "=", classes[code])
                )
            pair = [predicate_of(model, t, int(cell[t][row]) // k, named) for t in (i, j)]
            examples.append((pair[0], pair[1]))
    n = int(exposed.sum())
    return Intersections(
        len(chosen),
        n_pairs,
        isolating,
        n_cells,
        n,
        n / max(len(codes), 1),
        tuple(examples),
        threshold,
    )


def _sizes(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each record how many share its cell."""
    _, inverse, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


def _pairs(n: int, max_pairs: int, seed: int) -> tuple[list[tuple[int, int]], int]:
    total = n * (n - 1) // 2
    if total <= max_pairs:
        return list(combinations(range(n), 2)), total
    rng = np.random.default_rng(seed)
    chosen: set[tuple[int, int]] = set()
    while len(chosen) < max_pairs:
        i, j = sorted(rng.choice(n, size=2, replace=False).tolist())
        chosen.add((i, j))
    return sorted(chosen), total


@dataclass(frozen=True)
class Midpoints:
    """How many splits with a finite threshold and records on both sides lie exactly midway between values of training records.

    `midway` lie between the largest value of the node's records that goes left and the smallest that goes right. Of these, `neighbours` have
    no other value of the whole column between the two, which are then known to lie around the threshold at the same distance; and of
    these, `lone` have a value on either side that a single record of the data has.
    """

    splits: int
    midway: int
    neighbours: int
    lone: int

    @property
    def share(self) -> float:
        """The share of splits midway between two neighbouring values of the column: 0 good, 1 all."""
        return self.neighbours / self.splits if self.splits else 0.0

    @property
    def summary(self) -> MidpointSummary:
        """What may leave: shares of splits, no threshold."""
        total = max(self.splits, 1)
        return MidpointSummary(self.splits, self.midway / total, self.share, self.lone / total)


def midpoints(model: Ensemble, columns: Sequence[NDArray[Any]]) -> Midpoints:
    """Return how many thresholds of a model are midpoints of two actual values of the training column.

    scikit-learn cuts midway between two values of the records in a node; extra trees draw
    thresholds at random, XGBoost cuts at a value itself.
    """
    x = [np.asarray(c) for c in columns]
    if len(x) != len(model.features):
        raise InputError(
            f"The model has {len(model.features)} columns, but the data have {len(x)}."
        )
    if len({len(c) for c in x}) != 1 or len(x[0]) == 0:
        raise InputError("Columns must be of one length, and have records.")
    splits = midway = neighbours = lone = 0
    seen: dict[
        tuple[int, bool], tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]
    ] = {}
    for tree in model.trees:
        rows = tree.rows(x)
        for node in np.flatnonzero(tree.left_child >= 0):
            key = int(tree.feature[node]), tree.single
            if key not in seen:
                numbers = comparison_values(x[key[0]], single=tree.single)
                seen[key] = numbers, *np.unique(numbers[~np.isnan(numbers)], return_counts=True)
            numbers, values, counts = seen[key]
            here = numbers[rows[node]]
            here, cut = here[~np.isnan(here)], float(tree.threshold[node])
            below, above = here[here <= cut], here[here > cut]
            if not np.isfinite(cut) or not len(below) or not len(above):
                continue
            splits += 1
            a, b = float(below.max()), float(above.min())
            # Half of each, as the library adds them: exact up to the last bits of a double.
            if not np.isclose(a / 2 + b / 2, cut, rtol=1e-12, atol=1e-12 * (b - a)):
                continue
            midway += 1
            i, j = np.searchsorted(values, [a, b])
            if j == i + 1:
                neighbours += 1
                lone += bool(counts[i] == 1 or counts[j] == 1)
    return Midpoints(splits, midway, neighbours, lone)
