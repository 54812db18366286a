"""Ordered regressions: a label of classes in order, with P(label <= class k) = F(threshold_k - x'b), F logistic or normal.

The signs are those of statsmodels' OrderedModel, R's polr and Stata's ologit. With t_k the thresholds and f the density of F, a record of class k
adds (f(t_k - eta), f(t_{k-1} - eta)) / (F(t_k - eta) - F(t_{k-1} - eta)), with signs, to the score (McCullagh 1980, section 2.4). Coefficients
without their thresholds determine no records: such an output is for rules only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from ..._base.arrays import Floats
from ..._base.errors import InputError
from ..._base.masking import HIDDEN
from ..domain import Codes, OutputDomain, Scalar
from ..equations import Output
from ..formula import Formula
from ..statistics import statsmodels_fit
from .base import KINDS, Estimates, Kind, NumberBlock, Sample, Statistic
from .model import (
    JointLevels,
    ModelFit,
    ModelLabels,
    ModelSpec,
    OneStep,
    design_of,
    joint_columns,
    upper,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


LEAST = 1e-12
"""The least chance of a class: records beyond have huge scores, which drive them back."""


class OrderedSpec(ModelSpec):
    """An ordered logit or probit regression.

    Parameters
    ----------
    formula
        Without an intercept of its own: thresholds stand in its place. The label is a column.
    order
        The label's classes from the least to the largest; must be there for words. Numbers are in their own order.
    thresholds
        One for each class but the last, in order, or by names such as "low|middle".
    """

    INTERCEPT: ClassVar[bool] = False

    kind: Literal["ordered-logit", "ordered-probit"]
    order: list[Scalar] | None = None
    thresholds: Annotated[list[Any] | dict[str, Any] | None, Statistic()] = None

    def classes(self, domain: OutputDomain, formula: Formula) -> list[int]:
        """Return the codes of the label's classes in order; those that the filter leaves out are none."""
        columns = formula.label.columns
        if not formula.label.is_column:
            raise self.fault(": the label of an ordered regression must be a column.")
        field = domain.columns[columns[0]]
        codes = np.flatnonzero(self.filter(domain).levels(columns[0])).tolist()
        if self.order is not None:
            chosen = [field.code(level) for level in self.order]
            if sorted(chosen) != codes:
                raise self.fault(
                    f": order must have every level of column '{field.name}' that its filter lets in, once."
                )
            codes = chosen
        elif not field.numeric and not all(isinstance(level, bool) for level in field.levels):
            raise self.fault(
                f": the label has words. Say their order, from the least to the largest, with order = [...] of column '{field.name}'."
            )
        if len(codes) < 2:
            raise self.fault(" must have a label of two classes or more.")
        return codes

    def threshold_names(self, domain: OutputDomain, formula: Formula) -> list[str]:
        """Return what the thresholds are called: "low|middle"."""
        labels = domain.columns[formula.label.columns[0]].labels
        codes = self.classes(domain, formula)
        return [f"{labels[low]}|{labels[high]}" for low, high in pairwise(codes)]

    def threshold_block(self, domain: OutputDomain, formula: Formula) -> NumberBlock:
        """Return the thresholds, which must rise."""
        names, numbers = self.threshold_names(domain, formula), self.thresholds
        if isinstance(numbers, Mapping):
            plain = {
                "".join(name.split()).replace("/", "|"): number for name, number in numbers.items()
            }
            wanted = ["".join(name.split()) for name in names]
            if sorted(plain) != sorted(wanted):
                raise self.fault(
                    f' must have a threshold for each of {len(names)} pairs of neighbouring classes, named like "low|middle".'
                )
            numbers = [plain[name] for name in wanted]
        if numbers is not None and len(numbers) != len(names):
            raise self.fault(
                f" must have {len(names)} thresholds, one for each class but the last."
            )
        intervals = [self.printed(number, "a threshold") for number in numbers or []]
        if any(high.middle <= low.middle for low, high in pairwise(intervals)):
            raise self.fault(": its thresholds must rise.")
        return NumberBlock(
            "thresholds",
            names,
            numbers or (),
            shape=(len(names),),
            label="a threshold",
            titles=[f"threshold {name}" for name in names],
            placeholder=list(range(len(names))),
        )

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give coefficients, thresholds and what is published beside them."""
        yield from super().layout(domain)
        if self.publishes("thresholds"):
            yield self.threshold_block(domain, self.compiled(domain))

    def check_numbers(self, domain: OutputDomain) -> Formula:
        """Return the formula; InputError for numbers that are none of it."""
        formula = super().check_numbers(domain)
        if self.thresholds is not None:
            self.threshold_block(domain, formula)
        return formula

    def rules_only(self, domain: OutputDomain) -> str:
        """Return whether there are no thresholds, too many joint levels, or a basis that only the data tell."""
        if reason := super().rules_only(domain):
            return reason
        if not self.publishes("thresholds"):
            return "without its thresholds it has no equations"
        formula = self.compiled(domain)
        columns = joint_columns(formula, *formula.label.columns)
        return JointLevels.too_many(domain, columns, self._n_sums(domain, formula))

    def _n_sums(self, domain: OutputDomain, formula: Formula) -> int:
        p = formula.size - 1 + len(self.classes(domain, formula)) - 1
        return p + p * (p + 1) // 2 + 1

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return coefficients, thresholds and what was published beside them as one step of Newton's."""
        formula = self.check_numbers(domain)
        self.classes(domain, formula)
        if self.rules_only(domain):
            return self.n_equations(domain)
        block, p = self.threshold_block(domain, formula), formula.size - 1
        thresholds = [self.printed(number, block.label) for number in block.numbers]
        intervals, coefficients, keys = self.one_step(formula, thresholds)
        joint = JointLevels.from_formula(
            formula, domain, joint_columns(formula, *formula.label.columns)
        )
        level_index = self._places(domain, formula)[joint.codes[:, formula.label.columns[0]]]
        inside = level_index >= 0
        score, information, loglik = ordered_parts(
            self.kind,
            joint.x[:, 1:],
            np.where(inside, level_index, 0),
            joint.offset,
            coefficients[:p],
            coefficients[p:],
        )
        numbers = np.hstack([score, upper(information), loglik[:, None]]) * inside[:, None]
        reading = OneStep(coefficients, keys, loglik=self.loglik is not None)
        terms = joint.terms(numbers)
        system = self.sum_system(domain, reading.size, [terms], intervals, reading)
        return (system, *self.n_equations(domain))

    def _places(self, domain: OutputDomain, formula: Formula) -> NDArray[np.int64]:
        """For each level of the label its class from 0, -1 for levels that the filter leaves out."""
        level_index = np.full(len(domain.columns[formula.label.columns[0]].levels), -1)
        for number, code in enumerate(self.classes(domain, formula)):
            level_index[code] = number
        return level_index

    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return the fit by statsmodels."""
        level_index = self._places(sample.domain, formula)[
            sample.inside[:, formula.label.columns[0]]
        ]
        field = sample.domain.columns[formula.label.columns[0]]
        for number, code in enumerate(self.classes(sample.domain, formula)):
            if not (level_index == number).any():
                label = field.safe_label(code)
                raise InputError(
                    f"{'a class' if label == HIDDEN else f'class {label!r}'} of column '{field.name}' has no records"
                )
        x, offset = design_of(formula, sample.inside)
        x = x[:, 1:]
        params, errors, thresholds, loglik = _by_statsmodels(
            self.kind.removeprefix("ordered-"), level_index, x, offset
        )
        coefficients = np.concatenate([params, thresholds])
        with np.errstate(all="ignore"):
            score = ordered_parts(self.kind, x, level_index, offset, params, thresholds)[0]
        sums, spread = score.sum(axis=0), np.sqrt((score**2).sum(axis=0))
        if (
            not np.isfinite(coefficients).all()
            or not (np.abs(sums) <= 1e-3 * spread + 1e-6).all()
            or np.abs(x @ params).max(initial=0.0) > 200.0
        ):
            raise InputError(
                "there is no finite estimate: too few records, or labels that a combination of its columns tells apart"
            )
        return ModelFit(params, errors, {"loglik": loglik}, thresholds)

    def other_estimates(self, fit: ModelFit, n: int) -> dict[str, Estimates]:
        """Return the thresholds."""
        return {"thresholds": Estimates(fit.others, 2.0 / math.sqrt(n))}

    def labels_of(self, domain: OutputDomain, formula: Formula, records: Codes) -> ModelLabels:
        """Return the class of each record; thresholds are parameters too."""
        n_parameters = formula.size - 1 + len(self.classes(domain, formula)) - 1
        label = records[:, formula.label.columns[0]].astype(np.int64)
        return ModelLabels(label, True, None, n_parameters)


def ordered_parts(
    kind: str,
    x: Floats,
    level_index: NDArray[np.int64],
    offset: Floats,
    coefficients: Floats,
    thresholds: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return score (n, p), observed information (n, p, p) and log-likelihood (n,) of records of classes 0 to K - 1; p counts the thresholds too.

    Examples
    --------
    Two classes are a logistic regression with minus the threshold as its intercept:

    >>> score, information, loglik = ordered_parts("ordered-logit", np.ones((1, 1)), np.array([1]), np.zeros(1), np.zeros(1), np.zeros(1))
    >>> score.tolist(), information[0].tolist(), loglik.round(4).tolist()
    ([[0.5, -0.5]], [[0.25, -0.25], [-0.25, 0.25]], [-0.6931])
    """
    eta, p, q = x @ coefficients + offset, x.shape[1], len(thresholds)
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    (low, low_slope, low_bend), (high, high_slope, high_bend) = (
        _curve(kind, ends[level_index + k] - eta) for k in (0, 1)
    )
    chance = np.maximum(high - low, LEAST)
    # Derivatives of the two arguments by all parameters: -x, and 1 for the threshold itself.
    above, below = (
        np.hstack([-x, (level_index[:, None] + k == np.arange(1, q + 1)).astype(float)])
        for k in (1, 0)
    )
    slope = high_slope[:, None] * above - low_slope[:, None] * below
    score = slope / chance[:, None]
    bend = high_bend[:, None, None] * _outer(above) - low_bend[:, None, None] * _outer(below)
    information = _outer(score) - bend / chance[:, None, None]
    assert score.shape[1] == p + q
    return score, information, np.log(chance)


def _outer(rows: Floats) -> Floats:
    return rows[:, :, None] * rows[:, None, :]


def _curve(kind: str, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Distribution function, density and its derivative; 0 or 1, 0 and 0 at infinity."""
    from scipy import special

    finite = np.where(np.isfinite(z), z, 0.0)
    if kind == "ordered-logit":
        value = special.expit(finite)
        slope = value * (1.0 - value)
        bend = slope * (1.0 - 2.0 * value)
    else:
        value, slope = special.ndtr(finite), np.exp(-0.5 * finite**2) / math.sqrt(2.0 * math.pi)
        bend = -finite * slope
    is_finite = np.isfinite(z)
    return (
        np.where(is_finite, value, (z > 0).astype(float)),
        np.where(is_finite, slope, 0.0),
        np.where(is_finite, bend, 0.0),
    )


def _by_statsmodels(
    link: str, level_index: NDArray[np.int64], x: Floats, offset: Floats
) -> tuple[Floats, Floats, Floats, float]:
    """Coefficients, their standard errors, thresholds and log-likelihood."""
    with statsmodels_fit("Fitting an ordered regression"):
        from statsmodels.miscmodels.ordinal_model import (  # type: ignore[import-untyped]
            OrderedModel,
        )

        # Columns of one length: the search is then about as quick in each direction.
        scale = np.maximum(np.abs(x).max(axis=0, initial=0.0), 1e-300)
        shift = offset if offset.any() else None
        model = OrderedModel(level_index, x / scale, distr=link, offset=shift)
        result = model.fit(method="bfgs", disp=0, maxiter=1000, gtol=1e-8)
        params, errors = np.asarray([result.params, result.bse], dtype=float)
        thresholds = np.asarray(model.transform_threshold_params(params), dtype=float)[1:-1]
    p = x.shape[1]
    return params[:p] / scale, errors[:p] / scale, thresholds, float(result.llf)


for _name, _sentence in (
    ("ordered-logit", "an ordered logistic regression"),
    ("ordered-probit", "an ordered probit regression"),
):
    KINDS.register(Kind(_name, OrderedSpec, "CorrelationCoefficients", _sentence, regression=True))
