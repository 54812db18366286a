"""What is drawn record by record: scatter plots, and summaries of residuals. Of both only the rules are checked.

A point of a scatter plot is a record, unless many share it: such a plot is the two columns themselves, and nothing is left to be searched for. Residuals are
numbers of people's own, as far as the model does not explain them; without the data they do not follow from anything that is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import ALL_RECORDS
from ..domain import Codes, OutputDomain
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, DegreesOfFreedom, Points, Quantiles
from ..statistics import observe
from .base import (
    KINDS,
    Column,
    Estimates,
    Kind,
    NumberBlock,
    OutputSpec,
    Sample,
    Statistic,
    Whole,
    as_list,
)


class ScatterSpec(OutputSpec):
    """A scatter plot of the columns `x` and `y`, one point for each record; `points` is how many there are, records that coincide counted once."""

    unit_noun: ClassVar[str] = "point"

    kind: Literal["scatter"] = "scatter"
    x: Column
    y: Column
    points: Annotated[Whole | None, Statistic(presence="main", is_whole=True)] = None

    def _points(self, domain: OutputDomain, codes: Codes) -> tuple[Codes, Any]:
        """The different points, and how many records each has."""
        columns = codes[:, [domain.position(self.x), domain.position(self.y)]]
        points, counts = np.unique(columns, axis=0, return_counts=True)
        return points, counts

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for columns that are not there."""
        self.filter(domain)
        for name in self.columns:
            domain.position(name)

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the number of points, which is no number of people."""
        yield NumberBlock("points", ["points"], as_list(self.points), "whole")

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return how many points there are."""
        return {"points": Estimates([len(self._points(sample.domain, sample.inside)[0])])}

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return [counter.tally("cells", ALL_RECORDS), *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, and the points, each of which is the records that have it."""
        points, counts = self._points(counter.domain, counter.inside)
        x, y = counter.domain[self.x].labels, counter.domain[self.y].labels
        yield Counts(tallies, self.unit_noun)
        yield Points([f"{x[a]}|{y[b]}" for a, b in points], counts)


class ResidualSpec(OutputSpec):
    """Quantiles of the residuals of a linear regression, as R's `summary()` and statsmodels print them: 0 and 1 are the smallest and the largest."""

    unit_noun: ClassVar[str] = "group"

    kind: Literal["residuals"] = "residuals"
    formula: str
    probabilities: Annotated[list[Annotated[float, Key(ge=0, le=1)]], Key(min_length=1)] = Key(
        default_factory=lambda: [0, 0.25, 0.5, 0.75, 1], alias="at"
    )
    values: Annotated[list[Any] | None, Statistic(presence="main")] = None

    @property
    def _model(self) -> Any:
        """The regression without its numbers."""
        entry = {"name": self.name, "kind": "ols", "formula": self.formula, "where": self.where}
        return KINDS["ols"].spec.model_validate(entry)

    def _residuals(self, sample: Sample) -> tuple[Floats, int]:
        """The residuals of records, and the number of parameters."""
        domain, codes, spec = sample.domain, sample.inside, self._model
        if not len(codes):
            raise self.no_estimate(sample, "no record passes its filter")
        formula = spec.compiled(domain, codes)
        data = observe(spec.system(domain, formula, published=False), codes)
        estimate, _, rank, _ = np.linalg.lstsq(data.x, data.y - data.offset[:, 0], rcond=None)
        return data.y - data.offset[:, 0] - data.x @ estimate, int(rank)

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for a formula that cannot be read."""
        self._model.check_recipe(domain)

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the quantiles."""
        if self.values is not None and len(self.values) != len(self.probabilities):
            raise self.fault(f" must have {len(self.probabilities)} values, in the order of `at`.")
        names, shape = [f"{q:g}" for q in self.probabilities], (len(self.probabilities),)
        yield NumberBlock("values", names, self.values or (), shape=shape, label="a quantile")

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the quantiles."""
        residuals, _ = self._residuals(sample)
        unit = float(residuals.std()) / len(residuals) ** 0.5
        return {"values": Estimates(np.quantile(residuals, self.probabilities), unit)}

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return [counter.tally("cells", ALL_RECORDS), *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, records less parameters, and the residuals that are shown: the ends are one person's, unless many share them."""
        inside = tallies[0].labels >= 0
        residuals, parameters = self._residuals(
            Sample(counter.domain, counter.codes, counter.codes[inside])
        )
        values = np.zeros(len(counter.codes))
        values[inside] = residuals
        yield Counts(tallies, self.unit_noun)
        yield DegreesOfFreedom(int(inside.sum()) - parameters)
        yield Quantiles(tallies[0], values, self.probabilities, self.decimals)


KINDS.register(
    Kind("scatter", ScatterSpec, "Frequencies", "a scatter plot of two columns", searched=False)
)
KINDS.register(
    Kind(
        "residuals",
        ResidualSpec,
        "Position",
        "quantiles of the residuals of a linear regression",
        searched=False,
    )
)
