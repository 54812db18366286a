"""Several rows for one person: at most m of them are kept, so that one person changes at most m rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._base.errors import InputError
from ..table.persons import person_numbers
from .domain import SILENT


@SILENT
def keep_rows(
    ids: pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any], most: int
) -> NDArray[np.int64]:
    """Return which rows to keep, in order: the first `most` of each person, as the file has them.

    Every row without an id (null or NaN) is a person of its own: nothing else is known of it. Ids are compared as they are
    stored; words without the blanks around them.

    Proof that one person changes at most m kept rows, under both relations: whether a row is kept depends on how many rows
    *of its own person* stand before it, and on nothing else. Take all rows of one person out of a table: the rows of everybody
    else have as many of their own before them as they had, so the same ones are kept. The two results differ in the kept rows of
    that person alone, at most m (add-remove); exchange the person for another, and m go and m come (replace-one). The
    argument holds for any order of rows that does not itself depend on other persons' rows.

    What is not promised: that the number of kept rows is public. Under "replace-one" the number of persons is, but one
    person may keep fewer rows than another.

    Examples
    --------
    >>> keep_rows(["ann", "bob", "ann", "ann", None, None], 2).tolist()
    [0, 1, 2, 4, 5]
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"rows_per_person must be a whole number of at least 1. Got {most!r}.")
    persons = person_numbers(ids)
    order = np.argsort(persons, kind="stable")
    sorted_persons = persons[order]
    starts = (
        np.flatnonzero(np.concatenate([[True], sorted_persons[1:] != sorted_persons[:-1]]))
        if len(sorted_persons)
        else np.empty(0, dtype=np.int64)
    )
    rank = np.arange(len(sorted_persons)) - np.repeat(
        starts, np.diff(np.append(starts, len(sorted_persons)))
    )
    keep = np.empty(len(sorted_persons), dtype=bool)
    keep[order] = rank < most
    return np.flatnonzero(keep).astype(np.int64)
