"""What is published beside coefficients: standard errors, log-likelihood and dispersion, as systems of sums."""

from __future__ import annotations

import numpy as np

from ...._base.errors import InputError
from ...columns import Floats
from ...crossing import Frame
from ...equations import Lookup, Output, RegressionModel, SumSystem, Terms
from ...families import FAMILIES
from ...formula import Formula, plain_name
from .information import Information, LeastSquares, products, squares
from .spec import RegressionSpec

__all__ = ["beside_coefficients"]


def beside_coefficients(
    output: RegressionSpec, frame: Frame, formula: Formula, model: RegressionModel, at: Floats
) -> list[Output]:
    """Return a system for each number that is published beside the coefficients; `at` are these."""
    if output.family_name == "gaussian":
        return _leastsquares(output, frame, formula, model.label, at)
    return _others(output, frame, formula, model)


def _errors(output: RegressionSpec, formula: Formula) -> tuple[list[int], Floats]:
    """Return which standard errors are published, and their intervals."""
    assert output.standard_errors is not None
    keys = [
        k for k, name in enumerate(formula.names) if plain_name(name) in {plain_name(n) for n in output.standard_errors}
    ]
    given = {name: number for name, number in output.standard_errors.items() if name != "alpha"}
    bounds = np.array(output.named(given, formula, "standard error", keys)).reshape(-1, 2)
    if not keys or (bounds[:, 1] <= 0).any():
        raise InputError(f"Output '{output.name}': standard errors must be above 0.")
    return keys, np.maximum(bounds, 0.0)


def _leastsquares(output: RegressionSpec, frame: Frame, formula: Formula, label: Lookup, at: Floats) -> list[Output]:
    if output.standard_errors is None and output.loglik is None and output.dispersion is None:
        return []
    if output.offset is not None:
        raise InputError(
            f"Output '{output.name}': standard errors and log-likelihood with an offset are not supported."
        )
    keys, bounds = _errors(output, formula) if output.standard_errors is not None else ([], np.zeros((0, 2)))
    extra = [("loglik", output.loglik), ("dispersion", output.dispersion)]
    what = [name for name, number in extra if number is not None]
    bounds = np.vstack(
        [bounds, *(np.array([output.printed(number, name)]) for name, number in extra if number is not None)]
    )
    terms, size = squares(formula, label, frame.fields, what=output.name)
    reading = LeastSquares(formula.size, at, keys, what)
    name = f"{output.name}: {' and '.join([*(['standard errors'] if keys else []), *what])}"
    keep = output.filter(frame).keep()
    return [SumSystem(name, size, terms, bounds[:, 0], bounds[:, 1], keep=keep, reported=reading)]


def _others(output: RegressionSpec, frame: Frame, formula: Formula, model: RegressionModel) -> list[Output]:
    family, keep, systems = output.family_name, output.filter(frame).keep(), list[Output]()
    dispersed = FAMILIES[family].dispersed
    constant = Terms((), (), np.array([0, 1]), np.array([0]), np.array([1.0]))
    dispersion = None if output.dispersion is None else output.printed(output.dispersion, "the dispersion")
    if dispersion is not None:
        if not dispersed:
            raise InputError(f"Output '{output.name}' has a dispersion, which kind = \"{output.kind}\" does not have.")
        n = output.known_n(frame)
        if n is None or n <= formula.size:
            raise InputError(
                f"Output '{output.name}' has a dispersion: it needs n, above its {formula.size} coefficients."
            )
        bounds = np.array([dispersion]) * (n - formula.size)
        pearson = RegressionModel(family, model.eta, model.label, "pearson", model.parameter)
        systems.append(
            SumSystem(f"{output.name}: dispersion", 1, (constant,), bounds[:, 0], bounds[:, 1], pearson, keep)
        )
    if output.standard_errors is not None:
        if family == "multinomial":
            raise InputError(
                f"Output '{output.name}': standard errors of multinomial regressions are not supported. Leave them out."
            )
        if (
            output.kind in ("probit", "negative-binomial") and output.information is None
        ) or output.information == "observed":
            raise InputError(
                f"Output '{output.name}': standard errors from the observed information are not supported. Leave them out; or, if "
                'they come from a GLM, say information = "expected".'
            )
        if dispersed and dispersion is None:
            raise InputError(
                f"Output '{output.name}' has standard errors: kind = \"{output.kind}\" then needs the dispersion."
            )
        keys, errors = _errors(output, formula)
        weight = RegressionModel(family, model.eta, model.label, "weight", model.parameter)
        terms, size = products(formula, frame.fields, what=output.name)
        reading = Information(formula.size, keys, 1.0 if dispersion is None else dispersion.middle)
        name = f"{output.name}: standard errors"
        systems.append(SumSystem(name, size, terms, errors[:, 0], errors[:, 1], weight, keep, reported=reading))
    if output.loglik is not None:
        if dispersed and dispersion is None:
            raise InputError(
                f"Output '{output.name}' has a log-likelihood: kind = \"{output.kind}\" then needs the dispersion."
            )
        parameter = model.parameter if dispersion is None else dispersion.middle
        bounds = np.array([output.printed(output.loglik, "the log-likelihood")])
        loglik = RegressionModel(family, model.eta, model.label, "loglik", parameter)
        systems.append(SumSystem(f"{output.name}: loglik", 1, (constant,), bounds[:, 0], bounds[:, 1], loglik, keep))
    return systems
