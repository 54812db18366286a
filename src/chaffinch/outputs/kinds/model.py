"""What models of a formula share: coefficients by name, standard errors of some or all of them, and single numbers beside them.

Regressions with estimating equations (`regression/`) and models that are fitted as a whole (Cox, ordered, mixed ...) are these.

A model whose likelihood is a sum over records has equations by one step of Newton's from the published parameters (`OneStep`).
With s, J and l the score, the observed information and the log-likelihood of all records at published parameters b, records have the estimate
b + J^-1 s to first order, standard errors sqrt(diag J^-1) and the log-likelihood l + s' J^-1 s / 2. All three are sums over records, each a
look-up on the joint levels of the columns that the model reads; so a model needs no kernel of its own, and few enough joint levels.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats, Ints
from ..._base.errors import InputError
from ..._base.runtime import one_blas_thread
from ..domain import Codes, OutputDomain
from ..equations import Lookup, Terms
from ..formula import Formula, plain_name, read_formula, unlearnt_words
from ..numbers import Interval, Number, Printer
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts, DegreesOfFreedom
from .base import Estimates, NumberBlock, OutputSpec, Sample, Statistic, as_list

MOST_NUMBERS = 4_000_000
"""The most numbers that the look-up of a model may have."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A model fitted on records: coefficients and their standard errors in the design's order, single numbers by key, and what else a kind has."""

    coefficients: Floats
    errors: Floats
    singles: Mapping[str, float] = field(default_factory=dict)
    others: Floats = field(default_factory=lambda: np.zeros(0))
    units: Floats | None = None
    """By what differences of coefficients are judged; their errors if absent."""
    records: int | None = None
    """How many records they are of; those that pass the filter if absent."""
    scoring: ModelFit | None = None
    """The same as programs that stop scoring early print it."""


class NoFitError(Exception):
    """Why records have no fit, without the output's name."""


class ModelLabels(NamedTuple):
    """The label of records as a number, whether it is one of a few classes, which records have an event, and how many parameters a model has."""

    label: Ints
    is_class: bool
    events: Ints | None
    n_parameters: int


class ModelSpec(OutputSpec):
    """A model: its formula, its coefficients by the names that patsy prints, and what else was published."""

    ALSO: ClassVar[tuple[str, ...]] = ()
    """Names that may stand among coefficients and standard errors though no column of the design has them."""
    INTERCEPT: ClassVar[bool] = True
    """Whether the intercept of the formula has a coefficient; False where the model has something else in its place."""
    SUMS_LABEL: ClassVar[bool] = True
    """Whether its coefficients stand for sums of the label, so that one large label shows in them."""
    ERRORS_DIFFER: ClassVar[float] = 0.0
    """By which share of a standard error programs differ, so that a difference says nothing of the data."""

    formula: str
    coefficients: Annotated[dict[str, Any], Statistic(presence="required")] = Key(
        default_factory=dict
    )
    standard_errors: Annotated[dict[str, Any] | None, Statistic()] = None
    loglik: Annotated[Any, Statistic("the log-likelihood")] = None

    @classmethod
    def placeholder(cls, key: str, value: Any) -> bool:
        """Return whether a key is announced: standard errors may be, by a list of coefficients."""
        return super().placeholder(key, value) or (
            key == "standard_errors" and isinstance(value, list)
        )

    @classmethod
    def check_entry(cls, entry: Mapping[str, Any], where: str) -> None:
        """Raise for coefficients without a formula."""
        if "coefficients" in entry and "formula" not in entry:
            raise InputError(
                f'{where} has coefficients without a formula. Add the formula they come from: formula = "LABEL ~ ...".'
            )

    @property
    def has_numbers(self) -> bool:
        """Whether coefficients and all that is announced are there."""
        return not self._announced and "coefficients" in self.model_fields_set

    def compiled(self, domain: OutputDomain, records: Codes | None = None) -> Formula:
        """Return the formula, compiled within the filter; what it learns from data is learnt from `records`, those that pass the filter."""
        formula = read_formula(
            self.formula, domain, within=self.filter(domain), output=self.name, records=records
        )
        self.refuse(
            (
                not self.INTERCEPT and formula.names[0] != "Intercept",
                ": its formula leaves the intercept out, which this kind of model has none of. Leave out the 0 or -1.",
            ),
            (
                not self.INTERCEPT and formula.size < 2,
                " must have a term besides the intercept in its formula.",
            ),
        )
        return formula

    def rules_only(self, domain: OutputDomain) -> str:
        """Return whether the kind has no equations, or its formula has bases whose numbers only the data tell."""
        return super().rules_only(domain) or unlearnt_words(self.compiled(domain))

    def coefficient_names(self, formula: Formula) -> tuple[str, ...]:
        """Return the names of its coefficients, in the design's order."""
        return formula.names if self.INTERCEPT else formula.names[1:]

    def known(self, formula: Formula) -> dict[str, str]:
        """Return the names of coefficients, by how they may be written."""
        inner = [value for value in self.coefficients.values() if isinstance(value, Mapping)]
        known = formula.known(
            {name for name in (inner[0] if inner else self.coefficients) if name not in self.ALSO}
        )
        return (
            known
            if self.INTERCEPT
            else {written: name for written, name in known.items() if name != "Intercept"}
        )

    def announcements(self, domain: OutputDomain) -> dict[str, Any]:
        """Return which standard errors there are."""
        keys = super().announcements(domain)
        errors = (
            self.standard_errors
            if self.standard_errors is not None
            else keys.get("standard_errors")
        )
        if isinstance(errors, list | Mapping):
            formula = self.compiled(domain)
            known = self.known(formula)
            unknown = [str(name) for name in errors if plain_name(str(name)) not in known]
            for name in unknown:
                if name not in self.ALSO:
                    raise self.fault(f": {formula.unknown('standard error', name)}")
            names = {known.get(plain_name(str(name))) for name in errors}
            coefficient_names = self.coefficient_names(formula)
            keys["standard_errors"] = (
                True
                if names - {None} == set(coefficient_names)
                else [name for name in coefficient_names if name in names]
            )
        return keys

    def error_names(self, formula: Formula) -> tuple[str, ...]:
        """Return the coefficients whose standard errors are published."""
        names = self._announced.get("standard_errors", ())
        if self.standard_errors is not None:
            return tuple(formula.names[k] for k in self.error_keys(formula)[0])
        return self.coefficient_names(formula) if names is True else tuple(names)

    def named(
        self,
        numbers: Mapping[str, Any],
        formula: Formula,
        thing: str,
        keys: Sequence[int] | None = None,
    ) -> list[Interval]:
        """Return the intervals of numbers by the names of the formula's columns, or of some of them."""
        first = 0 if self.INTERCEPT else 1
        columns = range(first, formula.size) if keys is None else keys
        names, safe_names = (
            [formula.names[k] for k in columns],
            [formula.safe_names[k] for k in columns],
        )
        written = self.known(formula)
        by = {written.get(plain_name(name), name): number for name, number in numbers.items()}
        for name in numbers:
            if written.get(plain_name(name), name) not in {*names, *self.ALSO}:
                raise self.fault(f": {formula.unknown(thing, name)}")
        missing = [safe for name, safe in zip(names, safe_names, strict=True) if name not in by]
        if missing:
            raise self.fault(
                f" has no {thing} for '{missing[0]}', which its formula makes. If that level never occurs, leave it "
                "out of the column's levels, or by the filter."
            )
        return [
            self.printed(by[name], f"{thing} '{safe}'")
            for name, safe in zip(names, safe_names, strict=True)
        ]

    def error_keys(self, formula: Formula) -> tuple[list[int], Floats]:
        """Return which standard errors are published, by column of the design, and their intervals."""
        assert self.standard_errors is not None
        known = self.known(formula)
        given = {known.get(plain_name(name)) for name in self.standard_errors}
        keys = [k for k, name in enumerate(formula.names) if name in given]
        errors = {
            name: number for name, number in self.standard_errors.items() if name not in self.ALSO
        }
        bounds = np.array(self.named(errors, formula, "standard error", keys)).reshape(-1, 2)
        if not keys or (bounds[:, 1] <= 0).any():
            raise self.fault(": standard errors must be above 0.")
        return keys, np.maximum(bounds, 0.0)

    def check_numbers(self, domain: OutputDomain) -> Formula:
        """Return the formula; InputError for numbers that are none of it."""
        formula = self.compiled(domain)
        self.named(self.coefficients, formula, "coefficient")
        if self.standard_errors is not None:
            self.error_keys(formula)
        for key in self.singles:
            if getattr(self, key) is not None:
                self.printed(getattr(self, key), self.statistics[key].label)
        return formula

    @property
    def singles(self) -> list[str]:
        """The keys of single numbers."""
        return [key for key, statistic in self.statistics.items() if statistic.label]

    def coefficient_block(self, domain: OutputDomain, formula: Formula) -> NumberBlock:
        """Return the coefficients."""
        names = self.coefficient_names(formula)
        numbers = self._in_order(self.coefficients, formula, names) if self.coefficients else []
        return NumberBlock("coefficients", names, numbers, shape=None, label="a coefficient")

    def _in_order(
        self, numbers: Mapping[str, Any], formula: Formula, names: Sequence[str]
    ) -> list[Any]:
        known = self.known(formula)
        by = {known.get(plain_name(name)): number for name, number in numbers.items()}
        return [by[name] for name in names]

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give coefficients, and what is published beside them."""
        formula = self.check_numbers(domain) if self.coefficients else self.compiled(domain)
        yield self.coefficient_block(domain, formula)
        if names := self.error_names(formula):
            errors = self.standard_errors
            yield NumberBlock(
                "standard_errors",
                names,
                () if errors is None else self._in_order(errors, formula, names),
                shape=None,
                label="a standard error",
                titles=[f"standard error of {name}" for name in names],
                placeholder=1.0,
            )
        for key in filter(self.publishes, self.singles):
            numbers = as_list(getattr(self, key))
            label = self.statistics[key].label
            yield NumberBlock(key, [key], numbers, label=label, placeholder=1.0)

    @abstractmethod
    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return the fit on records; InputError with the reason, without the output's name, where they have none."""

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the numbers of the fit."""
        formula = self.compiled(sample.domain, sample.inside if len(sample.inside) else None)
        try:
            with one_blas_thread():
                fit = self.fitted(sample, formula)
        except InputError as error:
            raise NoFitError(str(error).rstrip(".")) from None
        n, names = max(fit.records or len(sample.inside), 2), self.coefficient_names(formula)
        errors, other = fit.errors, fit.scoring
        keys = [names.index(name) for name in self.error_names(formula)]
        estimates = {
            "coefficients": Estimates(fit.coefficients, errors if fit.units is None else fit.units),
            "standard_errors": Estimates(
                errors[keys],
                errors[keys] / math.sqrt(2 * n),
                alternatives=None if other is None else other.errors[keys],
            ),
        }
        for key, value in fit.singles.items():
            unit = math.sqrt(n) if key == "loglik" else abs(value) * math.sqrt(2 / n)
            also = None if other is None or key not in other.singles else [other.singles[key]]
            estimates[key] = Estimates([value], unit, alternatives=also)
        return estimates | self.other_estimates(fit, n)

    def other_estimates(self, fit: ModelFit, n: int) -> dict[str, Estimates]:
        """Return further numbers of a fit of n records."""
        return {}

    def computed_numbers(self, sample: Sample) -> dict[str, Any]:
        """Return the numbers of the fit; InputError where these records have none."""
        if not len(sample.inside):
            raise self.no_estimate(sample, "no record passes its filter")
        try:
            return super().computed_numbers(sample)
        except NoFitError as error:
            raise self.no_estimate(sample, str(error)) from None

    def shown(
        self, block: NumberBlock, estimates: Estimates, sample: Sample, printer: Printer
    ) -> list[Any]:
        """Return numbers as printed."""
        if block.key == "standard_errors" and not (np.asarray(estimates.values) > 0.0).all():
            raise self.no_estimate(sample, self.undefined_reason(sample, block, 0))
        return super().shown(block, estimates, sample, printer)

    def undefined_reason(self, sample: Sample, block: NumberBlock, index: int) -> str:
        """Return which numbers of a fit are not finite."""
        few = "there are too few records for its coefficients"
        if block.key == "standard_errors":
            return f"a standard error is not finite, or 0: {few}"
        if block.key in self.singles:
            return f"its {block.key} is not finite: {few}"
        return "its coefficients have no finite estimate"

    def recomputed(self, sample: Sample) -> Iterator[Number]:
        """Give the published numbers beside those of a fit on the records; nan where they have none."""
        try:
            yield from super().recomputed(sample)
        except NoFitError:
            for block in self.layout(sample.domain):
                if block.numbers:
                    nothing = Estimates(np.full(len(block.names), np.nan), np.nan)
                    yield from self.comparison(block, nothing, sample.domain.n_rows)

    def block_intervals(self, block: NumberBlock, rows: int) -> list[Interval | None]:
        """Return the interval of each number of a block."""
        intervals = super().block_intervals(block, rows)
        if block.key != "standard_errors":
            return intervals
        differ = self.ERRORS_DIFFER
        return [
            interval and Interval(interval.lo * (1.0 - differ), interval.hi * (1.0 + differ))
            for interval in intervals
        ]

    def one_step(
        self, formula: Formula, others: Sequence[Interval] = ()
    ) -> tuple[list[Interval], Floats, list[int]]:
        """Return the intervals of all published numbers, the parameters at the first of them, and which standard errors are published.

        `others` are parameters behind the coefficients.
        """
        intervals = [*self.named(self.coefficients, formula, "coefficient"), *others]
        coefficients, keys = np.array([interval.middle for interval in intervals]), list[int]()
        if self.standard_errors is not None:
            columns, bounds = self.error_keys(formula)
            keys = [k - 1 for k in columns]
            intervals += [Interval(*map(float, bound)) for bound in bounds]
        if self.loglik is not None:
            intervals.append(self.printed(self.loglik, self.statistics["loglik"].label))
        return intervals, coefficients, keys

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the records as one cell, and n."""
        return counter.fit(self.formula)

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give n, records less parameters, and the model with its records."""
        from ..rules.models import FittedModel

        records = counter.inside
        formula = self.compiled(counter.domain, records if len(records) else None)
        labels = self.labels_of(counter.domain, formula, records)
        yield Counts([tally for tally in tallies if tally.part_name == "n"], self.unit_noun)
        yield DegreesOfFreedom(len(records) - labels.n_parameters)
        if len(records):
            yield FittedModel(self, formula, counter.domain, records, *labels[:3])

    def labels_of(self, domain: OutputDomain, formula: Formula, records: Codes) -> ModelLabels:
        """Return the label of records, and how many parameters are fitted to them."""
        from ...table.compare.classes import class_ids  # here, since engines must not load tables

        label = class_ids(records[:, list(formula.label.columns)])[0]
        return ModelLabels(label, False, None, formula.size)


def design_of(formula: Formula, codes: Codes) -> tuple[Floats, Floats]:
    """Return the design of records, (n, columns), and what their offsets add up to."""
    x = np.zeros((len(codes), formula.size))
    for terms in formula.terms:
        x += terms.evaluate(codes, formula.size)
    return x, np.sum(
        [np.zeros(len(codes)), *(look.evaluate(codes)[:, 0] for look in formula.offsets)], axis=0
    )


def check_rank(x: Floats) -> None:
    """Raise InputError where records do not determine a coefficient of a design."""
    if np.linalg.matrix_rank(x / np.maximum(np.abs(x).max(axis=0), 1e-300)) < x.shape[1]:
        raise InputError(
            "a coefficient cannot be told apart from others, or no record is behind it"
        )


def label_of(formula: Formula, domain: OutputDomain, codes: Codes) -> Floats:
    """Return the label of records, which is a number."""
    return formula.label.numbers(
        domain, {column: codes[:, column].astype(np.intp) for column in formula.label.columns}
    )


def joint_columns(formula: Formula, *more: int) -> tuple[int, ...]:
    """Return the columns that a model reads, in order: those of its formula's right-hand side, and more."""
    looks: list[Lookup | Terms] = [*formula.terms, *formula.offsets]
    return tuple(sorted({*more, *(column for look in looks for column in look.columns)}))


@dataclass(frozen=True, eq=False)
class JointLevels:
    """Every combination of levels of some columns, with the design and the offset of each."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    codes: NDArray[np.int32]
    x: Floats
    offset: Floats

    @classmethod
    def from_formula(
        cls, formula: Formula, domain: OutputDomain, columns: tuple[int, ...]
    ) -> JointLevels:
        """Return the combinations of the levels of columns, as `joint_columns` gives them."""
        sizes, grid = domain.shape(columns), domain.grid(columns)
        codes = np.zeros((int(np.prod(sizes, dtype=np.int64)), len(domain)), dtype=np.int32)
        for column in columns:
            codes[:, column] = grid[column]
        return cls(columns, sizes, codes, *design_of(formula, codes))

    @staticmethod
    def too_many(domain: OutputDomain, columns: tuple[int, ...], numbers: int) -> str:
        """Return that the columns of a model have too many combinations of levels, each with so many numbers; nothing where they do not."""
        if int(np.prod([float(size) for size in domain.shape(columns)])) * numbers <= MOST_NUMBERS:
            return ""
        return "its columns together have too many combinations of levels; use coarser grids"

    def terms(self, numbers: Floats) -> Terms:
        """Return numbers of each combination, one column for each sum, as terms."""
        return Terms.dense(self.columns, self.sizes, numbers)


def upper(matrices: Floats) -> Floats:
    """Return the upper triangles, row by row, of symmetric matrices (n, p, p) as (n, p (p + 1) / 2)."""
    rows, columns = np.triu_indices(matrices.shape[1])
    return matrices[:, rows, columns]


def symmetric(sums: Floats, size: int) -> Floats:
    """Return a symmetric matrix of its upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = sums
    return matrix + np.triu(matrix, 1).T


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of an information; of a near-singular one with a small ridge."""
    root = np.sqrt(
        np.maximum(np.diag(matrix), 1e-12 * max(float(np.diag(matrix).max(initial=0.0)), 1e-300))
    )
    unit = matrix / np.outer(root, root)
    if not np.linalg.cond(unit) < 1e13:
        unit = unit + 1e-9 * np.eye(len(unit))
    result: Floats = np.linalg.inv(unit) / np.outer(root, root)
    return 0.5 * (result + result.T)


class OneStep:
    """Parameters, standard errors of some and the log-likelihood, out of sums of the score, the information's upper triangle and the log-likelihood.

    `at` are the published parameters, `keys` those whose standard errors are published, `loglik` whether the log-likelihood is.
    """

    def __init__(self, coefficients: Floats, keys: list[int], *, loglik: bool) -> None:
        self.coefficients, self.keys, self.loglik = coefficients, keys, loglik

    @property
    def size(self) -> int:
        """The number of sums."""
        p = len(self.coefficients)
        return p + p * (p + 1) // 2 + 1

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return whether the information is singular, so that there is no estimate: of all numbers or none."""
        p = len(self.coefficients)
        information = symmetric(sums[p:-1], p)
        root = np.sqrt(np.maximum(np.diag(information), 1e-300))
        sizes = np.linalg.eigvalsh(information / np.outer(root, root))
        return np.full(p + len(self.keys) + self.loglik, bool(sizes[0] < 1e-8))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by the sums."""
        p = len(self.coefficients)
        score, inner = sums[:p], inverse(symmetric(sums[p:-1], p))
        step = inner @ score
        rows, columns = np.triu_indices(p)
        twice = np.where(rows == columns, 0.5, 1.0)
        values, slopes = (
            [*(self.coefficients + step)],
            np.zeros((p + len(self.keys) + self.loglik, len(sums))),
        )
        slopes[:p, :p] = inner
        slopes[:p, p:-1] = -twice * (
            inner[:, rows] * step[columns] + inner[:, columns] * step[rows]
        )
        for row, key in enumerate(self.keys, p):
            error = float(np.sqrt(max(inner[key, key], 1e-300)))
            values.append(error)
            slopes[row, p:-1] = -twice * inner[key, rows] * inner[key, columns] / error
        if self.loglik:
            values.append(float(sums[-1] + 0.5 * score @ step))
            slopes[-1, :p], slopes[-1, p:-1], slopes[-1, -1] = (
                step,
                -twice * step[rows] * step[columns],
                1.0,
            )
        return np.array(values), slopes
