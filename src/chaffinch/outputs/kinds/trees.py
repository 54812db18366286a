"""Decision trees with the counts of their leaves: tables in disguise."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Key

from ..._base.errors import InputError
from ..equations import Output
from ..where import read_filter
from .base import Cells, Frame, Whole, crossed, shaped, table_of_counts
from .tables import Counted

__all__ = ["LeafSpec", "TreeSpec"]


class LeafSpec(BaseModel):
    """A leaf: which records fall into it, and how many of each level of the label; or only how many."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    where: str
    counts: dict[str, Any] | list[Any] | None = None
    n: Whole | str | None = None


class TreeSpec(Counted):
    """A decision tree with the counts of its leaves.

    Parameters
    ----------
    label
        The column that the tree predicts.
    leaves
        The leaves: `where`, and `counts` by level of the label (levels that are not named have none), or `n`.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("tree",)

    kind: Literal["tree"] = "tree"
    label: str | None = None
    leaves: Annotated[list[LeafSpec], Key(min_length=1)]

    @property
    def columns(self) -> tuple[str, ...]:
        """The label."""
        return () if self.label is None else (self.label,)

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return a table for each leaf."""
        made: list[Output] = []
        for number, leaf in enumerate(self.leaves, 1):
            name = f"{self.name}: leaf {number}"
            parts = [f"({text})" for text in (self.where, leaf.where) if text]
            kept = read_filter(" and ".join(parts), frame.fields, output=name)
            if (leaf.counts is None) == (leaf.n is None):
                raise InputError(f"Output '{self.name}': leaf {number} must have counts, or n.")
            if leaf.counts is None:
                cells, given = Cells((), ()), np.array([leaf.n], dtype=object)
            else:
                if self.label is None:
                    raise InputError(
                        f"Output '{self.name}' has counts by level: it must name the label's column, with label = ..."
                    )
                cells = crossed([self.label], {}, frame.fields, output=self.name)
                given = shaped(leaf.counts, cells, what=f"Output '{self.name}', leaf {number}", absent=0)
            lo, hi = self.bounds(given, frame.rows)
            made.append(table_of_counts(name, frame, cells.steps, kept, lo, hi))
        return (*made, *self.n_equations(frame))
