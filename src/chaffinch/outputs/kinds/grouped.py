"""Models of records that belong together: mixed models with a random intercept, and generalised estimating equations (GEE).

What was published depends on all records of a group at once, so there are no equations over records: rules only.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..._base.arrays import Floats
from ..._base.errors import InputError
from ..cells import scalar_code
from ..domain import Codes, OutputDomain, Scalar
from ..equations import Output
from ..formula import Formula
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import ModelGroups
from ..statistics import statsmodels_fit
from .base import KINDS, Column, Kind, Sample, Statistic
from .model import ModelFit, ModelLabels, ModelSpec, check_rank, design_of, label_of


class _GroupedModel(ModelSpec):
    group: Column

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return n alone; InputError for columns and numbers that cannot be."""
        formula = self.check_numbers(domain)
        position = domain.position(self.group)
        if position in {
            *formula.label.columns,
            *(column for terms in formula.terms for column in terms.columns),
        }:
            raise self.fault(
                f": the column of groups, '{self.group}', must not stand in its formula."
            )
        self.check_label(domain, formula)
        return self.n_equations(domain)

    def check_label(self, domain: OutputDomain, formula: Formula) -> None:
        """Raise InputError for a label that the model cannot have."""
        if formula.label.categorical:
            raise self.fault(": the label must be a number.")

    def label(self, sample: Sample, formula: Formula) -> Floats:
        return label_of(formula, sample.domain, sample.inside)

    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return the fit; InputError for one group, or coefficients that records do not determine."""
        x, offset = design_of(formula, sample.inside)
        groups = sample.inside[:, sample.domain.position(self.group)]
        if len(np.unique(groups)) < 2:
            raise InputError("all its records are in one group")
        check_rank(x)
        return self.estimated(self.label(sample, formula), x, offset, groups)

    @abstractmethod
    def estimated(self, y: Floats, x: Floats, offset: Floats, groups: Codes) -> ModelFit:
        """Return the fit on records that have one."""

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, records less parameters, the model, and its groups."""
        yield from super().evidence(tallies, counter)
        position = counter.domain.position(self.group)
        yield ModelGroups(self.group, len(np.unique(counter.inside[:, position])))

    def labels_of(self, domain: OutputDomain, formula: Formula, records: Codes) -> ModelLabels:
        """Return the label, and the single numbers as parameters too."""
        n_parameters = formula.size + len(self.singles) - 1
        labels = super().labels_of(domain, formula, records)
        return labels._replace(is_class=self.binary, n_parameters=n_parameters)

    @property
    def binary(self) -> bool:
        """Whether the label is one of two classes."""
        return False


class MixedSpec(_GroupedModel):
    """A linear mixed model with a random intercept for each level of `group`.

    `reml`: fitted by restricted maximum likelihood, as R's lmer and statsmodels do unless told otherwise. `group_variance` is the variance of the
    intercepts, `residual_variance` that of the residuals.
    """

    ERRORS_DIFFER: ClassVar[float] = 2e-3
    """How far standard errors of programs differ: statsmodels has the observed information of all
    parameters, R that of coefficients alone.
    """

    kind: Literal["mixed"] = "mixed"
    reml: bool = True
    group_variance: Annotated[Any, Statistic("the variance of groups")] = None
    residual_variance: Annotated[Any, Statistic("the residual variance")] = None

    def estimated(self, y: Floats, x: Floats, offset: Floats, groups: Codes) -> ModelFit:
        """Return the fit: one ratio of variances is all that has to be searched for."""
        return random_intercept(x, y - offset, groups, reml=self.reml)


class GeeSpec(_GroupedModel):
    """Generalised estimating equations: a family with its own link, and what records of one `group` are taken to have in common.

    Standard errors are the robust ones. `success` is the level of a binary label that counts as 1.
    """

    kind: Literal["gee"] = "gee"
    family: Literal["gaussian", "binomial", "poisson"]
    correlation: Literal["independence", "exchangeable"]
    success: Scalar | None = None

    @property
    def binary(self) -> bool:
        """Whether the label is one of two classes."""
        return self.family == "binomial"

    def check_label(self, domain: OutputDomain, formula: Formula) -> None:
        """Raise InputError for a label that the family cannot have."""
        if self.publishes("loglik"):
            raise self.fault(" has a log-likelihood, which estimating equations do not have.")
        if self.binary and (formula.label.categorical or self.success is not None):
            field = domain.columns[formula.label.columns[0]]
            scalar_code(field, self.success, output=self.name, key="success")
            return
        super().check_label(domain, formula)
        if self.binary and not set(
            formula.label.numbers(domain, domain.grid(formula.label.columns)).tolist()
        ) <= {0.0, 1.0}:
            raise self.fault(
                ": the label must be 0 or 1; its column has other numbers. Say which counts as 1, with success = ..."
            )

    def label(self, sample: Sample, formula: Formula) -> Floats:
        """Return the label of each record: 1 for the level that counts as such."""
        if self.binary and (formula.label.categorical or self.success is not None):
            position = formula.label.columns[0]
            code = scalar_code(
                sample.domain.columns[position], self.success, output=self.name, key="success"
            )
            return (sample.inside[:, position] == code).astype(float)
        return super().label(sample, formula)

    def estimated(self, y: Floats, x: Floats, offset: Floats, groups: Codes) -> ModelFit:
        """Return the fit by statsmodels."""
        with statsmodels_fit("Fitting GEE"):
            import statsmodels.api as sm  # type: ignore[import-untyped]

            return self._by_statsmodels(sm, y, x, offset, groups)

    def _by_statsmodels(
        self, sm: Any, y: Floats, x: Floats, offset: Floats, groups: Codes
    ) -> ModelFit:
        family = {
            "gaussian": sm.families.Gaussian,
            "binomial": sm.families.Binomial,
            "poisson": sm.families.Poisson,
        }[self.family]()
        structure = (
            sm.cov_struct.Independence()
            if self.correlation == "independence"
            else sm.cov_struct.Exchangeable()
        )
        model = sm.GEE(
            y,
            x,
            groups=groups,
            family=family,
            cov_struct=structure,
            offset=offset if offset.any() else None,
        )
        result = model.fit(maxiter=200, ctol=1e-10)
        params, errors = np.asarray([result.params, result.bse], dtype=float)
        if self.family != "gaussian" and np.abs(x @ params + offset).max(initial=0.0) > 25.0:
            raise InputError(
                "there is no finite estimate: too few records, or labels that a combination of its columns tells apart"
            )
        return ModelFit(params, errors)


def random_intercept(x: Floats, y: Floats, groups: Codes, *, reml: bool) -> ModelFit:
    """Return a linear mixed model with a random intercept: the largest likelihood over the ratio r of both variances, the rest in closed form.

    With V = I + r J within a group of m records, V^-1 = I - r / (1 + r m) J and log det V = log(1 + r m), so that sums over groups are all that is
    needed (Laird and Ware 1982, section 3).
    """
    from scipy.optimize import minimize_scalar

    _, group_index = np.unique(groups, return_inverse=True)
    size = np.bincount(group_index).astype(float)
    both = np.column_stack([x, y])
    sums = np.zeros((len(size), both.shape[1]))
    np.add.at(sums, group_index, both)
    squares, (n, p) = both.T @ both, x.shape
    free = n - p if reml else n

    def fit_at(ratio: float) -> tuple[float, Floats, Floats, float]:
        """Log-likelihood, coefficients, the inverse of x'V^-1 x and the residual variance."""
        moments = squares - sums.T @ ((ratio / (1.0 + ratio * size))[:, None] * sums)
        inner = np.linalg.inv(moments[:p, :p])
        b = inner @ moments[:p, p]
        variance = max(float(moments[p, p] - b @ moments[:p, p]), 1e-300) / free
        bent = float(np.log1p(ratio * size).sum()) + (
            float(np.linalg.slogdet(moments[:p, :p])[1]) if reml else 0.0
        )
        loglik = -0.5 * (free * (math.log(2.0 * math.pi * variance) + 1.0) + bent)
        return loglik, b, np.asarray(inner, dtype=float), variance

    grid = np.linspace(-16.0, 16.0, 65)
    best = grid[int(np.argmax([fit_at(float(np.exp(log_ratio)))[0] for log_ratio in grid]))]
    minimum = minimize_scalar(
        lambda log_ratio: -fit_at(float(np.exp(log_ratio)))[0],
        bounds=(best - 0.5, best + 0.5),
        method="bounded",
        options={"xatol": 1e-10},
    )
    ratio = float(np.exp(minimum.x))
    ratio = 0.0 if fit_at(0.0)[0] >= fit_at(ratio)[0] - 1e-10 else ratio
    loglik, b, inner, variance = fit_at(ratio)
    singles = {
        "loglik": float(loglik),
        "group_variance": ratio * variance,
        "residual_variance": variance,
    }
    return ModelFit(b, np.sqrt(variance * np.diag(inner)), singles)


for _name, _spec, _sentence in (
    ("mixed", MixedSpec, "a linear mixed model with a random intercept"),
    ("gee", GeeSpec, "generalised estimating equations"),
):
    KINDS.register(
        Kind(_name, _spec, "CorrelationCoefficients", _sentence, searched=False, regression=True)
    )
