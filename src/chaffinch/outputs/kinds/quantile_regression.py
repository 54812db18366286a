"""Quantile regression: coefficients at which the sum of tilted absolute residuals is least (Koenker and Bassett 1978).

The minimum is a corner of a linear programme: it passes through as many records as there are coefficients, and there may be several with labels
of few values. So there are no equations over records (rules only), and published coefficients are those of the data where no others do better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..._base.errors import InputError
from ..domain import OutputDomain
from ..equations import Output
from ..formula import Formula
from ..numbers import Number
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import InterpolatingFit
from .base import KINDS, Kind, Sample
from .model import ModelFit, ModelSpec, check_rank, design_of, label_of


class QuantileRegressionSpec(ModelSpec):
    """A quantile regression of the quantile `at`, 0.5 for a median. Standard errors are not read: programs differ in them."""

    SUMS_LABEL: ClassVar[bool] = False
    """On which side of the fit a label lies is all that counts."""

    kind: Literal["quantile-regression"] = "quantile-regression"
    quantile: Annotated[float, Key(gt=0, lt=1, alias="at")] = 0.5

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return n alone; InputError for columns and numbers that cannot be."""
        formula = self.check_numbers(domain)
        differing = [
            (
                self.publishes(key),
                f" has {key}, in which programs differ for quantile regressions. Leave them out.",
            )
            for key in ("standard_errors", "loglik")
        ]
        self.refuse((formula.label.categorical, ": the label must be a number."), *differing)
        return self.n_equations(domain)

    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return a minimum by a linear programme; which one, where there are several, is left to it."""
        x, offset = design_of(formula, sample.inside)
        y = label_of(formula, sample.domain, sample.inside) - offset
        check_rank(x)
        coefficients = _minimise_loss(x, y, self.quantile)
        spread = (
            np.std(y) / np.sqrt(max(len(y), 1)) / np.maximum(np.sqrt((x**2).mean(axis=0)), 1e-300)
        )
        return ModelFit(coefficients, spread)

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the coefficients beside themselves where no others do better on these records, and beside better ones otherwise."""
        comparisons = list(super().recomputed(sample))
        formula = self.compiled(sample.domain, sample.inside if len(sample.inside) else None)
        intervals = self.named(self.coefficients, formula, "coefficient")
        best = np.array([number.value for number in comparisons[: len(intervals)]])
        if np.isfinite(best).all():
            x, offset = design_of(formula, sample.inside)
            y = label_of(formula, sample.domain, sample.inside) - offset
            middle, half = (
                np.array([getattr(interval, key) for interval in intervals])
                for key in ("middle", "half")
            )
            # What the digits that were cut off can change in the sum.
            slack = max(self.quantile, 1.0 - self.quantile) * float(np.abs(x).sum(axis=0) @ half)
            min_loss = tilted_loss(y - x @ best, self.quantile)
            if tilted_loss(y - x @ middle, self.quantile) <= min_loss + slack + 1e-9 * max(
                min_loss, 1.0
            ):
                best = middle
        for number, value in zip(comparisons, best, strict=False):
            yield Number(number.name, number.lo, number.hi, float(value), number.unit)
        yield from comparisons[len(intervals) :]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, records less parameters, the model, and that it passes through records, whose labels coefficients in full give."""
        yield from super().evidence(tallies, counter)
        digits = [
            self.printed(number, "a coefficient").half for number in self.coefficients.values()
        ]
        in_full = not digits and self.decimals is None and not self.digits
        yield InterpolatingFit(in_full or 0.0 in digits)


def tilted_loss(residuals: Floats, quantile: float) -> float:
    """Return the sum of residuals, those below 0 counted at - 1 times and those above `at` times.

    Examples
    --------
    >>> tilted_loss(np.array([1.0, -2.0]), 0.25)
    1.75
    """
    return float(np.sum(residuals * (quantile - (residuals < 0.0))))


def _minimise_loss(x: Floats, y: Floats, quantile: float) -> Floats:
    """Coefficients with the least tilted loss: the dual programme, whose multipliers they are."""
    from scipy.optimize import linprog

    # max y'd with x'd = (1 - at) x'1 and 0 <= d <= 1 (Koenker 2005, section 6.2).
    solved = linprog(
        -y, A_eq=x.T, b_eq=(1.0 - quantile) * x.sum(axis=0), bounds=(0.0, 1.0), method="highs"
    )
    if solved.status != 0:
        raise InputError("no minimum was found")
    return np.asarray(-solved.eqlin.marginals, dtype=float)


KINDS.register(
    Kind(
        "quantile-regression",
        QuantileRegressionSpec,
        "CorrelationCoefficients",
        "a quantile regression",
        searched=False,
        regression=True,
    )
)
