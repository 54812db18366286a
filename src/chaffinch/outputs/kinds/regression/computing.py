"""A regression on records: fitted by statsmodels, with words for every way in which there is no estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...._base.errors import InputError, listed
from ...._base.masking import HIDDEN
from ...._base.runtime import one_blas_thread
from ....counts.tally import count_cells
from ...columns import Codes, Floats
from ...crossing import Frame
from ...equations import SumSystem
from ...families import BINARY, COUNTS
from ...fields import Fields
from ...formula import Formula, plain_name
from ...printing import Printer
from ...refit import Number
from ...statistics import Observed, estimated_alpha, fitted, observed, scoring_fit, spread_at
from ..base import Sample
from ..computing import no_estimate
from .estimable import Fault, fault_after, fault_before
from .robust import robust_errors
from .spec import RegressionSpec

_BROKEN = (np.linalg.LinAlgError, ValueError, FloatingPointError, OverflowError)


def regression_numbers(
    output: RegressionSpec, sample: Sample, printer: Printer, part: str
) -> dict[str, Any]:
    """Return coefficients and what is published beside them, as printed; InputError where these records have no estimate.

    Raises MissingExtraError without statsmodels.
    """
    with one_blas_thread():  # many threads on matrices this narrow only wait for each other
        return _numbers(output, sample.frame, sample.inside, printer, part)


def _numbers(
    output: RegressionSpec, frame: Frame, codes: Codes, printer: Printer, part: str
) -> dict[str, Any]:
    estimated = output.publishes("alpha") and output.alpha is None
    output = output.changed(alpha=1.0) if estimated else output
    if not len(codes):
        raise no_estimate(output.name, part, "no record passes its filter")
    formula = output.compiled(frame, codes)
    system = output.system(frame, formula, published=False)
    data = observed(system, codes)
    family = output.family_name
    n_classes = system.size // formula.size
    if fault := fault_before(data, family, n_classes):
        raise no_estimate(output.name, part, _words(fault, output, formula, frame, codes))
    numbers: dict[str, Any] = {}
    if estimated:
        numbers["alpha"] = _alpha(output, data, printer, part)
        output = output.changed(alpha=float(numbers["alpha"]))
        system = output.system(frame, formula, published=False)
    try:
        # Where labels are separated steps would go on for ever; where there is an estimate a few of Newton's are enough.
        most = 35 if family in (*BINARY, *COUNTS, "multinomial") else 200
        result = fitted(
            system, data, from_published=False, expected=output.information == "expected", most=most
        )
        coefficients = np.asarray(result.params, dtype=float).reshape(formula.size, n_classes)
    except _BROKEN:
        result, coefficients = None, None
    if fault := fault_after(data, family, coefficients, parameter=output.parameter()):
        raise no_estimate(output.name, part, _words(fault, output, formula, frame, codes))
    assert result is not None
    assert coefficients is not None
    numbers["coefficients"] = _coefficients(output, formula, frame, coefficients, printer)
    if names := output.error_names(formula):
        try:
            errors = dict(
                zip(
                    formula.names,
                    _errors(output, system, data, result, frame.fields, codes),
                    strict=True,
                )
            )
        except InputError as error:
            raise no_estimate(output.name, part, str(error)) from None
        if not all(np.isfinite(errors[name]) and errors[name] > 0.0 for name in names):
            why = "a standard error is not finite, or 0: there are too few records for its coefficients"
            raise no_estimate(output.name, part, why)
        numbers["standard_errors"] = {
            name: printer.number(errors[name], "standard_errors", name) for name in names
        }
    for key, value in (("loglik", result.llf), ("dispersion", getattr(result, "scale", np.nan))):
        if output.publishes(key):
            if not np.isfinite(value):
                why = f"its {key} is not finite: there are too few records for its coefficients"
                raise no_estimate(output.name, part, why)
            numbers[key] = printer.number(float(value), key, key)
    return numbers


def refitted_numbers(output: RegressionSpec, sample: Sample) -> Iterator[Number]:
    """Give the published numbers of a regression beside those of statsmodels on the records."""
    frame, codes = sample.frame, sample.codes
    formula = output.compiled(frame, sample.inside if len(sample.inside) else None)
    system = output.system(frame, formula)
    names = list(formula.names)
    if output.kind == "multinomial":
        names = [
            f"{label}: {name}" for label in output.class_labels(frame, formula) for name in names
        ]
    nothing = np.full(system.size, np.nan)
    try:
        result = fitted(system, codes, expected=output.information == "expected")
        values = np.asarray(result.params, dtype=float).T.ravel()
        errors = _errors(output, system, observed(system, codes), result, frame.fields, codes)
        units = spread_at(result, system)
    except _BROKEN:
        result, values, errors, units = None, nothing, nothing, nothing
    if values.size != system.size:  # a class without records has no coefficients
        values = errors = units = nothing
    for k, name in enumerate(names):
        yield Number(
            name, float(system.lo[k]), float(system.hi[k]), float(values[k]), float(units[k])
        )
    n = max(len(codes), 2)
    # Programs that fit by scoring, R first of all, print standard errors of the step before the last.
    plain = (
        output.covariance is None and output.weights is None and output.family_name != "multinomial"
    )
    scoring = (
        scoring_fit(output.family_name, observed(system, codes), parameter=output.parameter())
        if plain and result is not None
        else None
    )
    if output.standard_errors is not None:
        known = output.known(formula)
        published = {
            known.get(plain_name(name)): number for name, number in output.standard_errors.items()
        }
        for k, name in enumerate(names):
            if (number := published.get(name)) is not None:
                interval, error = output.printed(number, "a standard error"), float(errors[k])
                one = Number(
                    f"standard error of {name}", *interval, error, error / math.sqrt(2 * n)
                )
                yield (
                    one
                    if scoring is None or one.within()
                    else _by_scoring(one, float(scoring.errors[k]))
                )
    if output.loglik is not None:
        value = math.nan if result is None else float(result.llf)
        yield Number(
            "loglik", *output.printed(output.loglik, "the log-likelihood"), value, math.sqrt(n)
        )
    if output.dispersion is not None:
        value = math.nan if result is None else float(result.scale)
        interval = output.printed(output.dispersion, "the dispersion")
        one = Number("dispersion", *interval, value, value * math.sqrt(2 / n))
        yield one if scoring is None or one.within() else _by_scoring(one, scoring.dispersion)


def _by_scoring(number: Number, value: float) -> Number:
    """A number as scoring leaves it, if that is what was published; else as it is at the estimate."""
    other = replace(number, value=value)
    return other if other.within() else number


def _errors(
    output: RegressionSpec,
    system: SumSystem,
    data: Observed,
    result: Any,
    fields: Fields,
    codes: Codes,
) -> Floats:
    """The standard errors of a fit as the output has them: statsmodels' own, robust ones, or those of weighted least squares."""
    if output.covariance is None and output.weights is None:
        return np.asarray(result.bse, dtype=float).T.ravel()
    kept = (
        np.prod([np.ones(len(codes)), *(look.of(codes)[:, 0] for look in system.keep)], axis=0)
        > 0.0
    )
    clusters = None if output.cluster is None else codes[kept, fields.position(output.cluster)]
    return robust_errors(output, data, np.asarray(result.params, dtype=float).ravel(), clusters)


def _coefficients(
    output: RegressionSpec, formula: Formula, frame: Frame, values: Floats, printer: Printer
) -> dict[str, Any]:
    def numbers(column: Floats, before: str = "") -> dict[str, Any]:
        names = zip(formula.names, column, strict=True)
        return {
            name: printer.number(value, "coefficients", f"{before}{name}") for name, value in names
        }

    if output.family_name != "multinomial":
        return numbers(values[:, 0])
    labels = output.class_labels(frame, formula)
    return {
        label: numbers(column, f"{label}: ") for label, column in zip(labels, values.T, strict=True)
    }


def _alpha(output: RegressionSpec, data: Observed, printer: Printer, part: str) -> float:
    """alpha as printed: coefficients are then those at the printed alpha, as whoever reads the output would fit them."""
    try:
        alpha = float(printer.number(estimated_alpha(data), "alpha", "alpha"))
    except _BROKEN:
        alpha = 0.0
    if not alpha > 0.0:
        raise no_estimate(
            output.name, part, "alpha has no estimate above 0: the records are not overdispersed"
        )
    return alpha


def _called(columns: Sequence[int], formula: Formula, fields: Fields) -> str:
    """A coefficient, with the cell that it stands for, as messages may have it."""
    k = next((k for k in columns if formula.names[k] != "Intercept"), columns[0])
    levels = [
        (fields.every[f.columns[0]], code)
        for f, code in formula.coefficients[k]
        if code is not None
    ]
    labels = [(field.safe_label(code), field.name) for field, code in levels]
    cell = " with ".join(
        f"{'a level' if label == HIDDEN else 'level ' + repr(label)} of column '{name}'"
        for label, name in labels
    )
    return f"coefficient '{formula.safe_names[k]}'" + (f" ({cell})" if cell else "")


def _words(
    fault: Fault, output: RegressionSpec, formula: Formula, frame: Frame, codes: Codes
) -> str:
    if fault.kind == "class":
        code = output.classes(frame, formula)[fault.columns[0]]
        field = frame.fields.every[formula.label.columns[0]]
        label = field.safe_label(code)
        return f"{'a class' if label == HIDDEN else f'class {label!r}'} of column '{field.name}' has no records"
    names = [formula.safe_names[k] for k in fault.columns]
    called = _called(fault.columns, formula, frame.fields) if names else ""
    # That all of a group answer alike would tell each of their answers: it is not said which it is.
    same = "are too few, or too much alike"
    if fault.kind == "empty":
        return f"no record is behind {called}"
    if fault.kind == "dependent":
        empty = _empty_level(output, formula, frame, codes)
        if empty is not None:
            return f"{empty} has no records, so {called} cannot be told apart from others"
        return f"{called} cannot be told apart from others, since its column of the design is a sum of other columns"
    if fault.kind == "alike":
        if "Intercept" in names:
            return (
                "all its labels are equal"
                if output.family_name in BINARY
                else "its labels do not vary"
            )
        return f"{called} has no finite estimate, since the records behind it {same}"
    if fault.kind == "separated":
        if level := _one_label(output, formula, frame, codes):
            return f"there is no finite estimate, since the records of {level} {same}"
        some = listed([name for name in names if name != "Intercept"] or names, most=4)
        return f"there is no finite estimate, since the labels are separated by a combination of its columns ({some})"
    return "statsmodels finds no estimate"


def _factors(formula: Formula) -> list[int]:
    """The positions of the columns whose levels have coefficients."""
    return list(
        dict.fromkeys(
            f.columns[0] for one in formula.coefficients for f, code in one if code is not None
        )
    )


def _empty_level(
    output: RegressionSpec, formula: Formula, frame: Frame, codes: Codes
) -> str | None:
    """A level of one of the formula's factors that no record has: often the reference."""
    passing = output.filter(frame)
    inside = codes[passing.of(codes)]
    for position in _factors(formula):
        field = frame.fields.every[position]
        counts = count_cells([inside[:, position]], [len(field.levels)])
        empty = np.flatnonzero((counts == 0) & passing.levels(position))
        if empty.size:
            return field.safe_name(int(empty[0]))
    return None


def _one_label(output: RegressionSpec, formula: Formula, frame: Frame, codes: Codes) -> str | None:
    """A level of one of the formula's factors whose records have all the same label (or lack a class): the reference, since others are found before."""
    inside = codes[output.filter(frame).of(codes)]
    label = output.label(frame, formula).of(inside)[:, 0]
    enough = len(np.unique(label)) if output.family_name == "multinomial" else 2
    for position in _factors(formula):
        field = frame.fields.every[position]
        for code in range(len(field.levels)):
            if 0 < len(np.unique(label[inside[:, position] == code])) < enough:
                return field.safe_name(code)
    return None
