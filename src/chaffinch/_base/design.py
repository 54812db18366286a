"""Designs: which columns the terms of a formula make, and what each record puts into them.

A categorical factor is coded against a reference level; where the formula lacks what it is marginal to, it gets all its levels (the rule of
R, patsy and formulaic; Smith 2011, "Redundancy and categorical factors" in the manual of patsy), which keeps the columns independent.
Records are codes: those of a table, or every combination of levels, once each, where a design is made into look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Hashable)


@dataclass(frozen=True)
class Part(Generic[F]):
    """Some columns of a design: each combination of levels of its categorical factors, times the numbers of the others.

    `levels` are the codes that have a column, None for numbers; `whole` says whether the reference is among them.
    """

    factors: tuple[F, ...]
    levels: tuple[tuple[int, ...] | None, ...]
    whole: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of columns."""
        return prod(1 if levels is None else len(levels) for levels in self.levels)

    def coefficients(self) -> Iterator[tuple[tuple[F, int | None], ...]]:
        """Give for each column its factors with their levels, None for numbers; the first factor runs fastest."""
        choices: list[Sequence[int | None]] = [
            (None,) if levels is None else levels for levels in self.levels
        ]
        return (
            tuple(zip(self.factors, chosen[::-1], strict=True))
            for chosen in product(*reversed(choices))
        )

    def entries(
        self,
        n_rows: int,
        codes: Callable[[F], NDArray[Any]],
        numbers: Callable[[F], NDArray[np.float64]],
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.float64]]:
        """Return for each record whether it has an entry, in which column (one at most), and its value.

        `codes` and `numbers` give what each record has of a categorical and of another factor.
        """
        inside, value = np.ones(n_rows, dtype=bool), np.ones(n_rows)
        column, stride = np.zeros(n_rows, dtype=np.intp), 1
        for factor, levels in zip(self.factors, self.levels, strict=True):
            if levels is None:
                value = value * numbers(factor)
                continue
            of = codes(factor)
            place = np.full(max(int(of.max(initial=0)), *levels, 0) + 1, -1)
            place[list(levels)] = np.arange(len(levels))
            at = place[of]
            inside &= at >= 0
            column += stride * np.maximum(at, 0)
            stride *= len(levels)
        return inside, column, value


def parts_of(
    terms: Iterable[tuple[F, ...]], coding: Callable[[F], tuple[Sequence[int], int] | None]
) -> Iterator[Part[F]]:
    """Give the parts of a design, term by term; `coding` says the levels of a factor and its reference, None for numbers.

    A categorical term spans the spaces of all its margins, a:b = 1 + a- + b- + a-:b-, where a- lacks the reference.
    Margins that earlier terms with the same numbers span are left out, and what remains is joined: 1 + a- is a.

    Examples
    --------
    Two levels each, the intercept first; the second term of a alone, then a:b with all levels of a:

    >>> levels = lambda name: None if name == "x" else ((0, 1), 0)
    >>> [(part.factors, part.levels) for part in parts_of([(), ("a", "b"), ("x",)], levels)]
    [((), ()), (('b',), ((1,),)), (('a', 'b'), ((1,), (0, 1))), (('x',), (None,))]
    """
    spanned: dict[frozenset[F], set[frozenset[tuple[F, bool]]]] = {}
    for term in terms:
        coded = {factor: coding(factor) for factor in term}
        levelled = [factor for factor in term if coded[factor] is not None]
        before = spanned.setdefault(frozenset(term).difference(levelled), set())
        margins = [
            frozenset((factor, False) for factor in chosen)
            for k in range(len(levelled) + 1)
            for chosen in combinations(levelled, k)
        ]
        new = [margin for margin in margins if margin not in before]
        before.update(new)
        for margin in _joined(new):
            whole = dict(margin)
            factors = tuple(factor for factor in term if coded[factor] is None or factor in whole)
            levels = tuple(
                _with_column(coded[factor], whole.get(factor, False)) for factor in factors
            )
            yield Part(factors, levels, tuple(whole.get(factor, False) for factor in factors))


def _with_column(coded: tuple[Sequence[int], int] | None, whole: bool) -> tuple[int, ...] | None:
    if coded is None:
        return None
    levels, reference = coded
    return tuple(level for level in levels if whole or level != reference)


def _joined(margins: list[frozenset[tuple[F, bool]]]) -> list[frozenset[tuple[F, bool]]]:
    """Return margins with pairs m and m:a- joined to m:a, greedily from the left, until no pair is left."""
    while True:
        pairs = combinations(range(len(margins)), 2)
        pair = next(
            (
                (i, j)
                for i, j in pairs
                if margins[i] < margins[j] and len(margins[j] - margins[i]) == 1
            ),
            None,
        )
        if pair is None:
            return margins
        i, j = pair
        ((factor, _),) = margins[j] - margins[i]
        margins[j] = margins[i] | {(factor, True)}
        del margins[i]
