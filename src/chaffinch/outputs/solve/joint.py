"""Which columns an output reads together: what two records must agree on, for a swap between them to leave it as it is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..columns import Codes
from ..equations import CountTable, Output, Problem, SumSystem
from ..families import FAMILIES

__all__ = ["Reads", "all_reads", "equal_on", "only_trades", "reads_with"]

Reads = tuple[frozenset[int], ...]
"""Sets of columns, each with the column asked about: an output follows from the joint distributions over each of the sets."""

Ints = NDArray[np.int64]


def reads_with(output: Output, column: int) -> Reads:
    """Return the sets of columns that an output reads together with a column, itself among them; none if it does not read it.

    With every other column left as it is, an output depends on the column only through its joint distribution over each set. A table
    has one set. A plain sum has one for each of its terms. The score of a regression mixes all its columns in the linear predictor;
    but of the label, under a canonical link, it reads only X'y: one set for each term of the design.

    Examples
    --------
    >>> table = CountTable("t", ((0, np.array([0, 1])), (2, np.array([0, 1]))), np.zeros(4, int), np.ones(4, int))
    >>> [sorted(some) for some in reads_with(table, 2)], reads_with(table, 1)
    ([[0, 2]], ())
    """
    if column not in output.columns:
        return ()
    if isinstance(output, CountTable):
        return (frozenset(output.columns),)
    kept = frozenset(c for look in output.keep for c in look.columns)
    if output.model is None:
        sets = {frozenset(terms.columns) | kept for terms in output.terms}
        return tuple(some for some in sorted(sets, key=sorted) if column in some)
    label = frozenset(output.model.label.columns)
    beside = (
        {c for terms in output.terms for c in terms.columns}
        | {c for look in output.model.eta for c in look.columns}
        | kept
    )
    linear = output.model.part == "score" and FAMILIES[output.model.family].canonical
    if linear and column in label and not label & beside:
        return tuple(sorted({frozenset(terms.columns) | kept | label for terms in output.terms}, key=sorted))
    return (frozenset(output.columns),)


def all_reads(problem: Problem, column: int) -> Reads:
    """Return the sets of all outputs of a problem, each once."""
    return tuple(sorted({some for output in problem.outputs for some in reads_with(output, column)}, key=sorted))


def _maps(problem: Problem, column: int, others: Iterable[int]) -> list[tuple[int, Ints | None]]:
    """How finely records must agree on other columns: on groups where only tables read them beside the column, else on codes."""
    found: list[tuple[int, Ints | None]] = []
    for other in sorted(others):
        groups: list[Ints] = []
        whole = False
        for output in problem.outputs:
            if any(other in some for some in reads_with(output, column)):
                if isinstance(output, SumSystem):
                    whole = True
                else:
                    groups.append(dict(output.groups)[other])
        if whole or not groups:
            found.append((other, None))
        else:
            found += [(other, group) for group in groups]
    return found


def equal_on(problem: Problem, codes: Codes, column: int, others: Iterable[int]) -> Ints:
    """Return the class of each record: records of one class agree on the other columns, as finely as outputs with the column read them."""
    classes = np.zeros(len(codes), dtype=np.int64)
    for other, group in _maps(problem, column, others):
        level = codes[:, other].astype(np.int64) if group is None else group[codes[:, other]].astype(np.int64) + 1
        # Numbered anew after each column: a product of all sizes would overflow.
        classes = np.unique(classes * (int(level.max()) + 1) + level, return_inverse=True)[1].reshape(-1)
    return classes


def only_trades(problem: Problem, column: int, others: Iterable[int]) -> bool:
    """Return whether records that agree on the other columns agree on all but the column: they would only trade places."""
    exact = {other for other, group in _maps(problem, column, others) if group is None}
    return exact | {column} >= set(range(len(problem.columns)))
