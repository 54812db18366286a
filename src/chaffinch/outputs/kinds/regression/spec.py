"""Regressions: coefficients as estimating equations at the published values; standard errors and log-likelihoods beside them.

Standard errors are read off the information sum of w x x' at the published coefficients (`information = "expected"`, as statsmodels' GLM
and every family with its own link print them); with the dispersion of linear regression worked out from the same sums, RSS / (n - p).
Gamma and inverse Gaussian standard errors need the published `dispersion` (statsmodels: Scale, the Pearson estimate), which becomes an
output of its own. The log-likelihood of linear regression is -n/2 (log(2 pi RSS / n) + 1). All are taken at the coefficients as
printed: what the digits that were cut off change in them is of second order for log-likelihoods, of first for standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field as Key

from ...._base.checks import check_name
from ...._base.errors import InputError
from ...._base.masking import unknown_level, without_levels
from ...cells import scalar_code
from ...domain import Codes, OutputDomain, Scalar
from ...equations import Lookup, Output, SumSystem, regression
from ...families import (
    DISTRIBUTIONS,
    FAMILIES,
    DistributionName,
    FamilyName,
    LinkName,
    RegressionFamily,
)
from ...formula import Formula
from ...numbers import Interval
from ..base import NumberBlock, OptionalColumn, Sample, Statistic, nest
from ..model import ModelFit, ModelLabels, ModelSpec
from .information import beside_coefficients, check_covariance, without_equations

_NAMES = {(family.distribution, family.link): name for name, family in FAMILIES.items()}


@dataclass(frozen=True)
class ClassBlock(NumberBlock):
    """The coefficients of a multinomial regression, by class and then by name."""

    inner: Sequence[str] = ()
    labels: Sequence[str] = ()

    def entry(self, numbers: Sequence[Any]) -> dict[str, Any]:
        """Return the coefficients as the output's entry has them."""
        rows = nest(numbers, (len(self.labels), len(self.inner)))
        classes = zip(self.labels, rows, strict=True)
        return {
            self.key: {label: dict(zip(self.inner, row, strict=True)) for label, row in classes}
        }


class RegressionSpec(ModelSpec):
    """A regression.

    Parameters
    ----------
    formula
        See `formula.py`.
    coefficients
        By the names that patsy prints. `multinomial`: by class, then by name, for every class but the base.
    success
        The level of the label that counts as 1 in binary regressions; not needed where the label is 0 and 1.
    base
        The base class of `multinomial`; the first level otherwise.
    family, link
        For `glm` the family; for `glm`, `gamma` and `inverse-gaussian` the link, the family's own if absent.
    alpha
        Of the negative binomial; a coefficient named alpha does as well.
    standard_errors, loglik, dispersion
        What else was published.
    information
        Which information standard errors come from. Linear, logit, Poisson and other regressions with their family's own link have one;
        `smf.probit` and `smf.negativebinomial` use the observed one, which is not supported, GLMs the expected one.
    offset
        A numeric column that is added to the linear predictor as it is.
    weights
        A numeric column: what records count in the estimating equations (weighted least squares, survey weights).
    covariance, cluster
        Which standard errors are published, if they are not the usual ones: HC0 to HC3, or cluster with the column of clusters (`information.py`).
    """

    also_optional: ClassVar[tuple[str, ...]] = ("alpha", "n")
    ALSO: ClassVar[tuple[str, ...]] = ("alpha",)

    kind: str
    success: Scalar | None = None
    base: Scalar | None = None
    family: DistributionName | None = None
    link: LinkName | None = None
    alpha: Annotated[float, Key(gt=0)] | None = None
    dispersion: Annotated[Any, Statistic("the dispersion")] = None
    information: Literal["expected", "observed"] | None = None
    offset: OptionalColumn = None
    weights: OptionalColumn = None
    covariance: Literal["HC0", "HC1", "HC2", "HC3", "cluster"] | None = None
    cluster: OptionalColumn = None

    @property
    def needs_alpha(self) -> bool:
        """Whether it is a negative binomial regression."""
        return "negative-binomial" in (self.kind, self.family)

    def announcements(self, domain: OutputDomain) -> dict[str, Any]:
        """Return which standard errors there are, and whether alpha is estimated."""
        keys = super().announcements(domain)
        if self.needs_alpha and (
            keys.get("alpha") or "alpha" in self.coefficients or self.alpha is None
        ):
            if self.kind != "negative-binomial":
                raise self.fault(" is a GLM of the negative binomial, so it needs alpha = ...")
            keys["alpha"] = True
        return keys

    def with_placeholder_values(self, domain: OutputDomain) -> Self:
        """Return a recipe with some numbers or other."""
        recipe = super().with_placeholder_values(domain)
        return recipe.changed(alpha=1.0) if "alpha" in self._announced else recipe

    def check_numbers(self, domain: OutputDomain) -> Formula:
        """Return the formula; InputError for coefficients that are none of it."""
        formula = self.compiled(domain)
        self.intervals(domain, formula)
        return formula

    def coefficient_block(self, domain: OutputDomain, formula: Formula) -> NumberBlock:
        """Return the coefficients, of every class but the base one after the other."""
        if self.family_name != "multinomial":
            return super().coefficient_block(domain, formula)
        names, numbers, labels = list[str](), list[Any](), self.class_labels(domain, formula)
        for label in labels:
            names += [f"{label}: {name}" for name in formula.names]
            if self.coefficients:
                numbers += self._in_order(self.coefficients[label], formula, formula.names)
        return ClassBlock("coefficients", names, numbers, inner=formula.names, labels=labels)

    def printed_numbers(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give coefficients, and what was published beside them; alpha where it stands among them."""
        yield from super().printed_numbers(domain)
        if "alpha" in self.coefficients:
            yield NumberBlock("alpha", ["alpha"], [self.coefficients["alpha"]])

    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return the fit by statsmodels: from the published coefficients, or anew."""
        from .computing import first_fit, refit

        return (refit if self.coefficients else first_fit)(self, sample, formula)

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return coefficients and what is published beside them; alpha first, which they depend on."""
        from .computing import printed_alpha

        if not self.publishes("alpha") or self.alpha is not None or not len(sample.inside):
            return super().computed_numbers(sample)
        try:
            alpha = printed_alpha(self, sample)
        except InputError as error:
            raise self.no_estimate(sample, str(error)) from None
        return {"alpha": alpha, **self.changed(alpha=alpha).computed_numbers(sample)}

    def labels_of(self, domain: OutputDomain, formula: Formula, records: Codes) -> ModelLabels:
        """Return the label as a number: 1 for the level that counts as a success, where one does."""
        column = formula.label.columns[0]
        label = super().labels_of(domain, formula, records).label
        binary = self.own_family.is_binary
        if binary and (self.success is not None or formula.label.categorical):
            field = domain.columns[column]
            success = scalar_code(field, self.success, output=self.name, key="success")
            label = (records[:, column] == success).astype(np.int64)
        outcomes = max(len(np.unique(label)) - 1, 1) if self.kind == "multinomial" else 1
        is_class = binary or self.kind == "multinomial"
        return ModelLabels(label, is_class, None, formula.size * outcomes)

    @property
    def family_name(self) -> FamilyName:
        """The family by its name in `families.py`."""
        families = {family.kind: name for name, family in FAMILIES.items() if family.kind}
        if self.kind in families:
            if self.family is not None or self.link is not None:
                raise self.fault(' has a family or link, which belong to kind = "glm".')
            return families[self.kind]
        family = self.family if self.kind == "glm" else self.kind
        if family is None:
            raise self.fault(
                f" is a glm, so it needs a family: {', '.join(sorted(DISTRIBUTIONS))}."
            )
        links = [link for name, link in _NAMES if name == family]
        link = self.link or DISTRIBUTIONS[family].canonical or links[0]
        check_name(f"link of family {family}", link, links, prefix=f"Output '{self.name}': ")
        return _NAMES[family, link]

    @property
    def own_family(self) -> RegressionFamily:
        """What is known of its family."""
        return FAMILIES[self.family_name]

    def rules_only(self, domain: OutputDomain) -> str:
        """Return whether its standard errors have no equations, or its formula has bases whose numbers only the data tell."""
        return super().rules_only(domain) or without_equations(self)

    def _weights(self, domain: OutputDomain) -> tuple[Lookup, ...]:
        """What records count, where they have weights."""
        if self.weights is None:
            return ()
        position = domain.position(self.weights)
        field = domain.columns[position]
        if not field.numeric or (field.values < 0).any():
            raise self.fault(
                f": its weights must be numbers of at least 0. Column '{self.weights}' has others."
            )
        return (Lookup((position,), (len(field.levels),), field.values[:, None]),)

    def classes(self, domain: OutputDomain, formula: Formula) -> list[int]:
        """Return the codes of a multinomial label's classes, the base first; levels that the filter leaves out are none."""
        position = formula.label.columns[0]
        field, codes = (
            domain.columns[position],
            np.flatnonzero(self.filter(domain).levels(position)).tolist(),
        )
        base = (
            codes[0]
            if self.base is None
            else scalar_code(field, self.base, output=self.name, key="base")
        )
        return [base, *(code for code in codes if code != base)]

    def class_labels(self, domain: OutputDomain, formula: Formula) -> list[str]:
        """Return the classes of a multinomial label that have coefficients: all but the base."""
        labels = domain.columns[formula.label.columns[0]].labels
        return [labels[code] for code in self.classes(domain, formula)[1:]]

    def label(self, domain: OutputDomain, formula: Formula) -> Lookup:
        """Return the label's number for each of its levels: 0 or 1, a class, a count or the number itself."""
        columns = formula.label.columns
        known = self.own_family
        if self.family_name == "multinomial":
            if len(columns) != 1:
                raise self.fault(": the label of a multinomial regression must be a column.")
            numbers = np.zeros(domain.sizes[columns[0]])
            classes = self.classes(domain, formula)
            numbers[classes] = np.arange(len(classes))
            return Lookup(columns, domain.shape(columns), numbers[:, None])
        grid = domain.grid(columns)
        inside = np.broadcast_to(self.filter(domain).level_mask(grid), prod(domain.shape(columns)))
        if known.is_binary and (formula.label.categorical or self.success is not None):
            field = domain.columns[columns[0]]
            if self.success is None and not all(isinstance(level, bool) for level in field.levels):
                raise self.fault(
                    ": the label has words: say which of them counts as 1, with success = ..."
                )
            numbers = (
                np.arange(len(field.levels))
                == scalar_code(field, self.success, output=self.name, key="success")
            ).astype(float)
        elif formula.label.categorical:
            raise self.fault(
                f": the label must be a number for kind = \"{self.kind}\". Column '{domain.names[columns[0]]}' has words."
            )
        else:
            numbers = formula.label.numbers(domain, grid).copy()
            if not np.isfinite(numbers[inside]).all():
                raise self.fault(
                    ": the label is no finite number for some levels. Leave them out by a filter."
                )
            numbers[~inside] = 1.0
        low, high = numbers[inside].min(), numbers[inside].max()
        self.refuse(
            (
                known.is_binary and (low < 0 or high > 1),
                ": the label must be 0 or 1; its column has other numbers. Say which counts as 1, with success = ...",
            ),
            (
                known.is_count and low < 0,
                f': the label must be at least 0 for kind = "{self.kind}"; its column has smaller numbers.',
            ),
            (
                known.law.labels == "positive" and low <= 0,
                f': the label must be above 0 for kind = "{self.kind}". Leave other levels out by a filter: where = "... > 0".',
            ),
        )
        return Lookup(columns, domain.shape(columns), numbers[:, None])

    def intervals(self, domain: OutputDomain, formula: Formula) -> list[list[Interval]]:
        """Return the intervals of the coefficients, in the design's order; one list for each class of `multinomial` but the base."""
        if "alpha" in self.coefficients and not self.needs_alpha:
            raise self.fault(f": {formula.unknown('coefficient', 'alpha')}")
        if self.family_name != "multinomial":
            return [self.named(self.coefficients, formula, "coefficient")]
        field = domain.columns[formula.label.columns[0]]
        rest = self.class_labels(domain, formula)
        common = [label for label in rest if label in field.common]
        for key, inner in self.coefficients.items():
            if key not in rest:
                name = without_levels(key, field.rare)
                raise self.fault(
                    f": {unknown_level('class', name, common, threshold=field.threshold)} The base has no coefficients."
                )
            if not isinstance(inner, Mapping):
                raise self.fault(" must give the coefficients of each class by name.")
        if missing := [label for label in rest if label not in self.coefficients]:
            coefficient_names = (
                f"class '{missing[0]}'"
                if missing[0] in common
                else f"a class of column '{field.name}'"
            )
            raise self.fault(
                f" has no coefficients for {coefficient_names}. It needs those of every class but the base."
            )
        return [self.named(self.coefficients[label], formula, "coefficient") for label in rest]

    def parameter(self) -> float:
        """Return alpha of the negative binomial, 1 otherwise."""
        if self.family_name != "negative_binomial":
            return 1.0
        alpha = self.alpha if self.alpha is not None else self.coefficients.get("alpha")
        if alpha is None:
            raise self.fault(" is a negative binomial regression, so it needs alpha = ...")
        middle = self.printed(alpha, "alpha").middle
        if middle <= 0:
            raise self.fault(": alpha must be above 0.")
        return middle

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the estimating equations, and systems for standard errors, log-likelihood and dispersion."""
        formula = self.compiled(domain)
        check_covariance(self)
        if formula.unlearnt or without_equations(self):
            self.intervals(domain, formula)
            self.system(domain, formula)
            return self.n_equations(domain)
        main = self.system(domain, formula)
        assert main.model is not None
        assert main.coefficients is not None
        standard_errors = beside_coefficients(self, domain, formula, main.model, main.coefficients)
        return (main, *standard_errors, *self.n_equations(domain))

    def system(
        self, domain: OutputDomain, formula: Formula, *, published: bool = True
    ) -> SumSystem:
        """Return the estimating equations: at the published coefficients, or at 0."""
        width = len(self.classes(domain, formula)) - 1 if self.family_name == "multinomial" else 1
        middle, half = np.zeros((formula.size, width)), np.zeros((formula.size, width))
        label = self.label(domain, formula)
        if published:
            intervals = self.intervals(domain, formula)
            middle = np.array([[each.middle for each in row] for row in intervals]).T
            half = np.array([[each.half for each in row] for row in intervals]).T
        offset = formula.offsets
        if self.offset is not None:
            position = domain.position(self.offset)
            column = domain.columns[position].values[:, None]
            offset = (*offset, Lookup((position,), domain.shape([position]), column))
        if offset and width > 1:
            raise self.fault(": an offset of a multinomial regression is not supported.")
        return regression(
            self.name,
            family=self.family_name,
            terms=formula.terms,
            label=label,
            coefficients=middle,
            half_widths=half,
            keep=(*self.filter(domain).keep(), *self._weights(domain)),
            offset=offset,
            parameter=self.parameter(),
        )
