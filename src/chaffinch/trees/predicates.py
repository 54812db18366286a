"""Predicates: what the way to a node says of a record, in words, as data, and as code that runs on tables and databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .tree import Ensemble, Tree, compared

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
        numbers = compared(values, single=self.single)
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

    def words(self) -> str:
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

    def words(self) -> str:
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

    def words(self) -> str:
        """Return the predicate as one reads it."""
        return self._joined(Condition.words, Label.words, " AND ") or "any record"

    def sql(self) -> str:
        """Return the predicate for the WHERE of a query, in words that DuckDB and PostgreSQL share.

        Both hold NaN to be above every number: where it may stand for a missing value it is looked for as such.
        """
        top = "CAST('Infinity' AS DOUBLE PRECISION)"

        def part(c: Condition) -> str:
            name = _quoted(c.column)
            value = f"CAST({f'CAST({name} AS REAL)' if c.single else name} AS DOUBLE PRECISION)"
            missing = f"{name} IS NULL OR {value} > {top}"
            return c.code(
                value, present=f"{value} <= {top}", missing=missing, join=(" AND ", " OR ", "FALSE")
            )

        def of_label(label: Label) -> str:
            return f"({_quoted(label.column)} {label.comparison} {_sql_value(label.value)})"

        return self._joined(part, of_label, " AND ") or "TRUE"

    def pandas(self, frame: str = "df") -> str:
        """Return the predicate as a pandas mask."""

        def part(c: Condition) -> str:
            series = f"{frame}[{c.column!r}]"
            value = f"{series}.astype('float64')" + (
                ".astype('float32').astype('float64')" if c.single else ""
            )
            join = (" & ", " | ", f"{series}.isna() & False")
            return c.code(value, present=f"{series}.notna()", missing=f"{series}.isna()", join=join)

        def of_label(label: Label) -> str:
            return f"({frame}[{label.column!r}] {label.operator} {_plain(label.value)!r})"

        return self._joined(part, of_label, " & ") or f"({frame}.iloc[:, 0].isna() | True)"

    def polars(self) -> str:
        """Return the predicate as a polars expression; NaN counts as missing."""

        def part(c: Condition) -> str:
            series = f"pl.col({c.column!r}).cast(pl.Float64).fill_nan(None)"
            value = f"{series}.cast(pl.Float32).cast(pl.Float64)" if c.single else series
            join = (" & ", " | ", "pl.lit(False)")
            text = c.code(
                value, present=f"{series}.is_not_null()", missing=f"{series}.is_null()", join=join
            )
            return f"{text}.fill_null(False)"

        def of_label(label: Label) -> str:
            return f"(pl.col({label.column!r}) {label.operator} {_plain(label.value)!r}).fill_null(False)"

        return self._joined(part, of_label, " & ") or "pl.lit(True)"

    def _joined(
        self, part: Callable[[Condition], str], of_label: Callable[[Label], str], join: str
    ) -> str:
        return join.join(
            [*map(part, self.conditions), *([] if self.label is None else [of_label(self.label)])]
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
            "conditions": [list(part) for c in self.conditions if c.present for part in c.parts()],
            # Columns in which a missing value fits too, may only be missing, or may only be present.
            "missing": [c.column for c in self.conditions if c.missing and c.present],
            "only_missing": [c.column for c in self.conditions if c.missing and not c.present],
            "only_present": [c.column for c in self.conditions if not c.missing and not c.parts()],
            "words": self.words(),
            "sql": self.sql(),
            "pandas": self.pandas(),
            "polars": self.polars(),
        }


def predicate_of(model: Ensemble, number: int, node: int, label: Label | None) -> Predicate:
    """Return the predicate of a node: the splits above it, one range for each column."""
    tree: Tree = model.trees[number]
    ranges: dict[int, tuple[float, float, bool]] = {}
    for split, left in tree.path(node):
        column, cut = int(tree.feature[split]), float(tree.threshold[split])
        low, high, missing = ranges.get(column, (-np.inf, np.inf, True))
        low, high = (low, min(high, cut)) if left else (max(low, cut), high)
        ranges[column] = (low, high, missing and bool(tree.missing_left[split]) == left)
    conditions = (Condition(model.features[c], c, *ranges[c], tree.single) for c in sorted(ranges))
    telling = tuple(c for c in conditions if c.parts() or not c.missing or not c.present)
    return Predicate(number, node, telling, label)


def _quoted(name: str) -> str:
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
