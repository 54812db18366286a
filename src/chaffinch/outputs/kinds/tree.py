"""Decision trees with the counts of their leaves: tables in disguise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key
from pydantic import ValidationInfo, field_validator

from ..._base.documents import validate_document
from ..cells import (
    ALL_RECORDS,
    CrossClassification,
    cell_array,
    cross_classify,
    crosstab,
    table_of_counts,
)
from ..domain import OutputDomain
from ..equations import Output
from ..filters import Filter, read_filter
from ..numbers import Number
from ..rules.cell_counts import COUNT, CellCounter, CellCounts
from .base import (
    KINDS,
    Estimates,
    Kind,
    NumberBlock,
    OptionalColumn,
    PartialSpec,
    Sample,
    Statistic,
    Whole,
    as_list,
    object_array,
)
from .table import Counted


class LeafSpec(PartialSpec):
    """A leaf: which records fall into it, and how many of each level of the label; or only how many."""

    where: str
    counts: Annotated[dict[str, Any] | list[Any] | None, Statistic()] = None
    n: Annotated[Whole | str | None, Statistic()] = None

    def to_dict(self) -> dict[str, Any]:
        """Return the leaf's entry in a file of outputs."""
        return {**self.model_dump(exclude_none=True), **self._announced}


class TreeSpec(Counted):
    """A decision tree with the counts of its leaves, by level of the label (levels that are not named have none), or their n."""

    kind: Literal["tree"] = "tree"
    label: OptionalColumn = None
    leaves: Annotated[list[LeafSpec], Key(min_length=1)]

    @field_validator("leaves", mode="before")
    @classmethod
    def _each_leaf(cls, leaves: Any, info: ValidationInfo) -> Any:
        return [
            leaf
            if isinstance(leaf, LeafSpec)
            else validate_document(LeafSpec, leaf, f"leaf {number}", context=info.context)
            for number, leaf in enumerate(leaves if isinstance(leaves, list) else (), 1)
        ]

    @classmethod
    def mentioned(cls, entry: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Return the label, and the filters of the tree and of its leaves."""
        names, texts = super().mentioned(entry)
        leaves = entry.get("leaves")
        filters = (
            [leaf.get("where") for leaf in leaves if isinstance(leaf, Mapping)]
            if isinstance(leaves, list)
            else []
        )
        return names, [*texts, *(text for text in filters if isinstance(text, str))]

    @property
    def has_numbers(self) -> bool:
        """Whether every leaf has counts or n."""
        return not self._announced and all(
            leaf.counts is not None or leaf.n is not None for leaf in self.leaves
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the output's entry in a file of outputs."""
        return {**super().to_dict(), "leaves": [leaf.to_dict() for leaf in self.leaves]}

    def without_numbers(self, domain: OutputDomain) -> Self:
        """Return the recipe: each leaf says whether it has counts or n."""
        leaves = [self._announcing(leaf, number) for number, leaf in enumerate(self.leaves, 1)]
        return super().without_numbers(domain).changed(leaves=leaves)

    def _announcing(self, leaf: LeafSpec, number: int) -> LeafSpec:
        keys = [key for key in ("counts", "n") if leaf.publishes(key)] or [
            "n" if self.label is None else "counts"
        ]
        if len(keys) > 1 or (keys == ["counts"] and self.label is None):
            raise self.fault(
                f": leaf {number} must have counts, for which label = ... names the column, or n."
            )
        return leaf.changed(drop=("counts", "n"), announced={keys[0]: True})

    def with_placeholder_values(self, domain: OutputDomain) -> Self:
        return self.changed(
            leaves=[
                leaf.changed(n=0) if leaf.publishes("n") else leaf.changed(counts={})
                for leaf in self.leaves
            ]
        )

    def _filters(self, domain: OutputDomain) -> Iterator[Filter]:
        for number, leaf in enumerate(self.leaves, 1):
            parts = [f"({text})" for text in (self.where, leaf.where) if text]
            yield read_filter(" and ".join(parts), domain, output=f"{self.name}: leaf {number}")

    def _labels(self, domain: OutputDomain) -> CrossClassification:
        assert self.label is not None
        return cross_classify([self.label], {}, domain, output=self.name)

    def _cells(
        self, leaf: LeafSpec, number: int, domain: OutputDomain
    ) -> tuple[CrossClassification, list[str], NDArray[np.object_]]:
        """The cells of a leaf with numbers, what they are called, and their numbers as printed."""
        if leaf.counts is None:
            return ALL_RECORDS, [f"leaf {number}"], object_array([leaf.n])
        cells = self._labels(domain)
        printed = cell_array(
            leaf.counts, cells, what=f"Output '{self.name}', leaf {number}", absent=0
        )
        return cells, [f"leaf {number}: {word}" for word in cells.names[0]], printed

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return a table for each leaf."""
        tables: list[Output] = []
        for number, (leaf, within) in enumerate(
            zip(self.leaves, self._filters(domain), strict=True), 1
        ):
            self.refuse(
                (
                    (leaf.counts is None) == (leaf.n is None),
                    f": leaf {number} must have counts, or n.",
                ),
                (
                    leaf.counts is not None and self.label is None,
                    " has counts by level: it must name the label's column, with label = ...",
                ),
            )
            cells, _, printed = self._cells(leaf, number, domain)
            lo, hi = self.bounds(printed, domain.n_rows)
            tables.append(
                table_of_counts(f"{self.name}: leaf {number}", domain, cells.steps, within, lo, hi)
            )
        return (*tables, *self.n_equations(domain))

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the counts of each leaf, or its n; `field` says which."""
        for number, leaf in enumerate(self.leaves, 1):
            if leaf.counts is not None and self.label is not None:
                _, names, printed = self._cells(leaf, number, domain)
                yield NumberBlock("leaves", names, printed.tolist(), "count", None, field="counts")
            elif leaf.publishes("n") or self.label is None:
                name = f"leaf {number}"
                yield NumberBlock("leaves", [name], as_list(leaf.n), "count", field="n")
            else:
                names = [f"leaf {number}: {word}" for word in self._labels(domain).names[0]]
                yield NumberBlock("leaves", names, (), "count", None, field="counts")

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the counts of each leaf, by its number."""
        estimates = {}
        for number, (leaf, block) in enumerate(
            zip(self.leaves, self.layout(sample.domain), strict=True), 1
        ):
            passing = read_filter(leaf.where, sample.domain, output=self.name).record_mask(
                sample.inside
            )
            cells = self._labels(sample.domain) if block.field == "counts" else ALL_RECORDS
            estimates[str(number)] = Estimates(crosstab(cells, sample.inside[passing]).ravel())
        return estimates

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return the leaves with their numbers."""
        leaf_blocks = zip(
            self.leaves, self.layout(sample.domain), self.estimates(sample).values(), strict=True
        )
        leaves = []
        for leaf, block, estimates in leaf_blocks:
            numbers = self.shown(block, estimates, sample, self.printer)
            if block.field == "counts":
                labels = self._labels(sample.domain).names[0]
                entry: dict[str, Any] = {"counts": dict(zip(labels, numbers, strict=True))}
            else:
                entry = {"n": numbers[0]}
            leaves.append(leaf.changed(announced={}, **entry))
        return {"leaves": leaves}

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the counts of each leaf beside those of the records."""
        leaf_blocks = zip(self.layout(sample.domain), self.estimates(sample).values(), strict=True)
        for block, estimates in leaf_blocks:
            yield from self.comparison(block, estimates, sample.domain.n_rows)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return each leaf, the total of its counts that follows, and n."""
        tallies = []
        for number, (leaf, within) in enumerate(
            zip(self.leaves, self._filters(counter.domain), strict=True), 1
        ):
            only_n = self.label is None or (not leaf.publishes("counts") and leaf.publishes("n"))
            cells, name, printed = (
                ALL_RECORDS if only_n else self._labels(counter.domain),
                f"leaf {number}",
                None,
            )
            if only_n:
                printed = None if leaf.n is None else object_array([leaf.n])
            elif leaf.counts is not None:
                printed = self._cells(leaf, number, counter.domain)[2]
            tallies.append(counter.counts(name, cells, printed, within=within))
            if cells.steps and tallies[-1].is_exact:
                tallies.append(
                    counter.tally(
                        f"{name}: total",
                        ALL_RECORDS,
                        within=within,
                        quantities=[COUNT],
                        implied=True,
                    )
                )
        return [*tallies, *counter.n()]


KINDS.register(
    Kind("tree", TreeSpec, "Frequencies", "a decision tree with the counts of its leaves")
)
