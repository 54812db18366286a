"""The label of a learning task: which column, classes or numbers, and which records have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, unknown_name
from .._base.masking import THRESHOLD
from ..stats.features import numbers_of
from ..stats.learners import Task
from ..table.encode import level_labels
from ..table.schema import Column
from ..table.table import Table

FEWEST = 10
"""Records with a label that a table needs before anything is learnt from it; more where the threshold is higher."""
MOST_CLASSES = 10
"""Numeric labels with more distinct values than this are numbers to predict, not classes."""
RARE_LEVEL = "(rare level)"
_NUMERIC = ("integer", "float", "date", "datetime")


@dataclass(frozen=True)
class LearningLabel:
    """A column to predict, as classes (its codes) or as numbers."""

    column: Column
    task: Task

    @classmethod
    def of(cls, table: Table, name: str | None, task: str | None = None) -> LearningLabel:
        """Return the label of a table: the named column, or the one with the role; the task is found unless it is named.

        Numbers, dates and times with more than ten distinct values are regression; all else is classification.
        """
        column = label_column(table, name)
        numeric = column.kind in _NUMERIC
        if task not in (None, "classification", "regression"):
            raise unknown_name("task", task, ("classification", "regression"))
        if task == "regression" and not numeric:
            raise InputError(
                f"Label '{column.name}' is {column.kind}: regression needs numbers. Leave task out."
            )
        if task is None:
            numbers = numbers_of(table, column.name) if numeric else np.empty(0)
            task = (
                "regression"
                if len(np.unique(numbers[~np.isnan(numbers)])) > MOST_CLASSES
                else "classification"
            )
        return cls(column, "regression" if task == "regression" else "classification")

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def n_classes(self) -> int:
        """The number of codes that are classes: levels and `(other)`, not missing."""
        assert self.column.codec is not None
        return self.column.codec.n_values

    def values(self, table: Table) -> NDArray[Any]:
        """Return the codes of a table's labels, or its numbers; codes from `n_classes` on and NaN are missing."""
        if self.task == "regression":
            return numbers_of(table, self.name)
        return table.code(self.name).astype(np.int64)

    def present(self, table: Table) -> NDArray[np.bool_]:
        """Return which records have a label."""
        values = self.values(table)
        return ~np.isnan(values) if self.task == "regression" else values < self.n_classes

    def labelled(self, table: Table) -> Table:
        """Return the records of a table that have a label."""
        present = self.present(table)
        return table if present.all() else table.take(np.flatnonzero(present))

    def reason(self, table: Table, which: str, threshold: int = THRESHOLD) -> str:
        """Return why nothing can be learnt from a table that `which` names, or nothing."""
        values, fewest = self.values(table)[self.present(table)], max(FEWEST, threshold)
        if len(values) < fewest:
            return f"the {which} table has fewer than {fewest} records with a label '{self.name}'"
        if len(np.unique(values)) > 1:
            return ""
        only = "class" if self.task == "classification" else "value"
        return f"label '{self.name}' has one {only} in the {which} table"


def label_column(table: Table, name: str | None) -> Column:
    """Return the column of a label that is named, or of the schema's label."""
    if name is None:
        if not (named := table.schema.with_role("label")):
            raise InputError(
                "Name the column that learners predict: label = ... No column has the role label."
            )
        name = named[0]
    column = table.schema[name]
    if not column.modelled:
        raise InputError(
            f"Column '{name}' cannot be the label: it is {column.kind}. Name a column with levels or numbers."
        )
    return column


def shown_levels(
    label: LearningLabel, original: Table, codes: Sequence[int], threshold: int = THRESHOLD
) -> tuple[str, ...]:
    """Return the names of classes for showing; those that fewer original records have than the threshold share a name."""
    counts = np.bincount(original.code(label.name), minlength=label.column.size)
    names = level_labels(label.column)
    return tuple(names[code] if counts[code] >= threshold else RARE_LEVEL for code in codes)


def check_repeats(repeats: int, test_share: float, option: str, most: int | None) -> None:
    """Raise unless tasks can be repeated so often, with such a share for tests and so many records at most."""
    if repeats < 1:
        raise InputError(f"repeats must be at least 1. Got {repeats}.")
    if not 0 < test_share < 1:
        raise InputError(f"test_share must lie between 0 and 1. Got {test_share}.")
    if most is not None and most < 10:
        raise InputError(f"{option} must be at least 10, or None for all. Got {most}.")
