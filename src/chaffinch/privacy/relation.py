"""Whose data a promise protects, and what one of them can change: stated once, used by every mechanism.

Two tables are neighbours if they differ in one record: one more or one less ("add-remove"), or one exchanged for another
("replace-one"; the number of records is then public). With several rows for each person, in all of one person's rows.

Where a column says whose a row is, at most m rows of each person are kept, and the promise is for the person, also with m = 1. It is then none
for a record: without the first record of a person the next one of that person is kept in its place, so a record more or less is a row
exchanged for another, which may cost twice as much.

A promise of epsilon under add-remove implies one of 2 epsilon under replace-one (take the one out, put the other in), not
the other way round: equal numbers under different relations are different promises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Literal, get_args

from .._base.checks import check_name, check_whole
from .._base.errors import InputError

Neighbours = Literal["add-remove", "replace-one"]
NEIGHBOURS: tuple[str, ...] = get_args(Neighbours)


@dataclass(frozen=True)
class PrivacyUnit:
    """The unit of privacy: the neighbour relation, the most rows that one person has, and whether a column says whose a row is (`by_person`).

    Examples
    --------
    >>> PrivacyUnit("replace-one").l1, PrivacyUnit("add-remove", 3).l2_squared
    (2, 9)
    >>> PrivacyUnit("add-remove").description, PrivacyUnit("add-remove").for_persons(1).description
    ('add or remove one record', 'add or remove one person (at most 1 row each)')
    """

    neighbours: Neighbours
    rows_per_person: int = 1
    by_person: bool = False

    def __post_init__(self) -> None:
        check_name("neighbour relation", self.neighbours, NEIGHBOURS)
        check_whole("rows_per_person", self.rows_per_person, 1)
        if not isinstance(self.by_person, bool):
            raise InputError(f"by_person must be true or false. Got {self.by_person!r}.")

    def for_persons(self, persons: int) -> PrivacyUnit:
        """Return the unit of a table of which `persons` rows of each person are kept; 0 where no column says whose a row is."""
        return replace(self, by_person=persons > 0)

    @property
    def whose(self) -> str:
        """Whom the promise is for: "person" or "record"."""
        return "person" if self.by_person or self.rows_per_person > 1 else "record"

    @property
    def bounded(self) -> bool:
        """Whether the relation exchanges a record, so that the number of records is public."""
        return self.neighbours == "replace-one"

    @property
    def rows_public(self) -> bool:
        """Whether the number of rows is: one is exchanged for one, and no person has more."""
        return self.bounded and self.rows_per_person == 1

    @property
    def l1(self) -> int:
        """The L1 distance of the counts of two neighbours, over all cells of one table of counts.

        Each of m rows adds 1 to one cell, or takes 1 from one cell and adds 1 to another: m, or 2m.
        """
        return self.rows_per_person * (2 if self.bounded else 1)

    @property
    def l2_squared(self) -> int:
        """The squared L2 distance of the counts of two neighbours.

        Largest if all m rows lie in one cell: m^2; with replacement, m out of one cell and m into another: 2 m^2.
        """
        return self.rows_per_person**2 * (2 if self.bounded else 1)

    @property
    def l2_up(self) -> float:
        """The L2 distance, rounded up."""
        root = isqrt(self.l2_squared)
        return float(root) if root * root == self.l2_squared else self.l2_squared**0.5 * (1 + 1e-12)

    @property
    def description(self) -> str:
        """The relation in words, as it is printed with every result."""
        max_rows = self.rows_per_person
        whose = (
            self.whose
            if self.whose == "record"
            else f"person (at most {max_rows} row{'s' * (max_rows > 1)} each)"
        )
        return f"replace one {whose}" if self.bounded else f"add or remove one {whose}"
