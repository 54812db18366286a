"""What is drawn record by record: scatter plots, and summaries of residuals. Of both only the rules are checked.

A point of a scatter plot is a record, unless many share it: such a plot is the two columns themselves, and nothing is left to be searched for. Residuals are
numbers of people's own, as far as the model does not explain them; without the data they do not follow from anything that is published.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Key

from ..cells import Crossing, Frame
from ..domain import Codes, Floats
from ..numbers import Number, count_number
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, DegreesOfFreedom, Points, Quantiles
from ..statistics import observed
from .base import KINDS, Kind, OutputSpec, PrintedNumbers, Sample, Whole, no_estimate

WHOLE = Crossing((), ())


class ScatterSpec(OutputSpec):
    """A scatter plot of the columns `x` and `y`, one point for each record; `points` is how many there are, records that coincide counted once."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("points",)
    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("x", "y")
    NOUN: ClassVar[str] = "point"

    kind: Literal["scatter"] = "scatter"
    x: str
    y: str
    points: Whole | None = None

    def _points(self, frame: Frame, codes: Codes) -> tuple[Codes, Any]:
        """The different points, and how many records each has."""
        columns = codes[:, [frame.fields.position(self.x), frame.fields.position(self.y)]]
        points, counts = np.unique(columns, axis=0, return_counts=True)
        return points, counts

    def check_recipe(self, frame: Frame) -> None:
        """Raise for columns that are not there."""
        self.filter(frame)
        for name in self.columns:
            frame.fields.position(name)

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give none: a number of points is no number of people."""
        return iter(())

    def computed_numbers(self, sample: Sample, printer: Any, part: str) -> dict[str, Any]:
        """Return how many points there are."""
        return {"points": len(self._points(sample.frame, sample.inside)[0])}

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the number of points beside that of the records."""
        yield count_number(
            "points", self.points, self.points, len(self._points(sample.frame, sample.inside)[0])
        )

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return [counter.tally("cells", WHOLE), *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, and the points, each of which is the records that have it."""
        points, counts = self._points(counter.frame, counter.inside)
        x, y = counter.fields[self.x].labels, counter.fields[self.y].labels
        yield Counts(tallies, self.NOUN)
        yield Points([f"{x[a]}|{y[b]}" for a, b in points], counts)


class ResidualSpec(OutputSpec):
    """Quantiles of the residuals of a linear regression, as R's `summary()` and statsmodels print them: 0 and 1 are the smallest and the largest."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("values",)
    NOUN: ClassVar[str] = "group"

    kind: Literal["residuals"] = "residuals"
    formula: str
    at: Annotated[list[Annotated[float, Key(ge=0, le=1)]], Key(min_length=1)] = Key(
        default_factory=lambda: [0, 0.25, 0.5, 0.75, 1]
    )
    values: list[Any] | None = None

    def _residuals(self, frame: Frame, codes: Codes, part: str) -> tuple[Floats, int]:
        """The residuals of records, and the number of parameters."""
        spec: Any = KINDS["ols"].spec.model_validate(
            {"name": self.name, "kind": "ols", "formula": self.formula, "where": self.where}
        )
        if not len(codes):
            raise no_estimate(self.name, part, "no record passes its filter")
        formula = spec.compiled(frame, codes)
        data = observed(spec.system(frame, formula, published=False), codes)
        estimate, _, rank, _ = np.linalg.lstsq(data.x, data.y - data.offset[:, 0], rcond=None)
        return data.y - data.offset[:, 0] - data.x @ estimate, int(rank)

    def check_recipe(self, frame: Frame) -> None:
        """Raise for a formula that cannot be read."""
        KINDS["ols"].spec.model_validate(
            {"name": self.name, "kind": "ols", "formula": self.formula, "where": self.where}
        ).check_recipe(frame)

    @property
    def _names(self) -> list[str]:
        return [f"{q:g}" for q in self.at]

    def printed_numbers(self, frame: Frame) -> Iterator[PrintedNumbers]:
        """Give the quantiles."""
        if self.values is not None:
            if len(self.values) != len(self.at):
                raise self.fault(f" must have {len(self.at)} values, in the order of `at`.")
            yield PrintedNumbers("values", self._names, self.values, False)

    def computed_numbers(self, sample: Sample, printer: Any, part: str) -> dict[str, Any]:
        """Return the quantiles."""
        quantiles = np.quantile(self._residuals(sample.frame, sample.inside, part)[0], self.at)
        return {
            "values": [
                printer.number(float(q), "values", name)
                for q, name in zip(quantiles, self._names, strict=True)
            ]
        }

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the quantiles beside those of the records."""
        residuals, _ = self._residuals(sample.frame, sample.inside, "the data")
        unit = float(residuals.std()) / max(len(residuals), 1) ** 0.5
        for name, number, q in zip(
            self._names, self.values or [], np.quantile(residuals, self.at), strict=True
        ):
            yield Number(name, *self.printed(number, "a quantile"), float(q), unit)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return [counter.tally("cells", WHOLE), *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, records less parameters, and the residuals that are shown: the ends are one person's, unless many share them."""
        inside = tallies[0].labels >= 0
        residuals, parameters = self._residuals(counter.frame, counter.codes[inside], "the data")
        values = np.zeros(len(counter.codes))
        values[inside] = residuals
        yield Counts(tallies, self.NOUN)
        yield DegreesOfFreedom(int(inside.sum()) - parameters)
        yield Quantiles(tallies[0], values, self.at, self.decimals)


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
