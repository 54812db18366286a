"""Standard errors, log-likelihoods and dispersions: sums of products of a design's columns, and what is read off them, with derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from ...._base.errors import InputError
from ...columns import Floats
from ...crossing import Frame
from ...equations import Lookup, Output, RegressionModel, SumSystem, Terms
from ...families import FAMILIES
from ...fields import MOST_CELLS, Fields
from ...formula import Formula
from ..likelihood import inverse as inverse_of
from ..likelihood import symmetric
from .robust import sandwich_system
from .spec import RegressionSpec


def beside_coefficients(
    output: RegressionSpec, frame: Frame, formula: Formula, model: RegressionModel, at: Floats
) -> list[Output]:
    """Return a system for each number that is published beside the coefficients; `at` are these."""
    if (
        output.family_name == "gaussian"
        and output.covariance is not None
        and output.standard_errors is not None
    ):
        rest = output.changed(standard_errors=None)
        return [
            sandwich_system(output, frame, formula, at),
            *_leastsquares(rest, frame, formula, model.label, at),
        ]
    if output.family_name == "gaussian":
        return _leastsquares(output, frame, formula, model.label, at)
    return _others(output, frame, formula, model)


def _leastsquares(
    output: RegressionSpec, frame: Frame, formula: Formula, label: Lookup, at: Floats
) -> list[Output]:
    if output.standard_errors is None and output.loglik is None and output.dispersion is None:
        return []
    if output.offset is not None or formula.offsets:
        raise InputError(
            f"Output '{output.name}': standard errors and log-likelihood with an offset are not supported."
        )
    keys, bounds = (
        output.error_keys(formula) if output.standard_errors is not None else ([], np.zeros((0, 2)))
    )
    extra = [("loglik", output.loglik), ("dispersion", output.dispersion)]
    what = [name for name, number in extra if number is not None]
    bounds = np.vstack(
        [
            bounds,
            *(
                np.array([output.printed(number, name)])
                for name, number in extra
                if number is not None
            ),
        ]
    )
    terms, size = squares(formula, label, frame.fields, what=output.name)
    reading = LeastSquares(formula.size, at, keys, what)
    name = f"{output.name}: {' and '.join([*(['standard errors'] if keys else []), *what])}"
    keep = output.filter(frame).keep()
    return [SumSystem(name, size, terms, bounds[:, 0], bounds[:, 1], keep=keep, reported=reading)]


def _others(
    output: RegressionSpec, frame: Frame, formula: Formula, model: RegressionModel
) -> list[Output]:
    family, keep, systems = output.family_name, output.filter(frame).keep(), list[Output]()
    dispersed = FAMILIES[family].dispersed
    constant = Terms((), (), np.array([0, 1]), np.array([0]), np.array([1.0]))
    dispersion = (
        None if output.dispersion is None else output.printed(output.dispersion, "the dispersion")
    )
    if dispersion is not None:
        if not dispersed:
            raise InputError(
                f"Output '{output.name}' has a dispersion, which kind = \"{output.kind}\" does not have."
            )
        n = output.known_n(frame)
        if n is None or n <= formula.size:
            raise InputError(
                f"Output '{output.name}' has a dispersion: it needs n, above its {formula.size} coefficients."
            )
        bounds = np.array([dispersion]) * (n - formula.size)
        pearson = RegressionModel(family, model.eta, model.label, "pearson", model.parameter)
        systems.append(
            SumSystem(
                f"{output.name}: dispersion",
                1,
                (constant,),
                bounds[:, 0],
                bounds[:, 1],
                pearson,
                keep,
            )
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
        keys, errors = output.error_keys(formula)
        weight = RegressionModel(family, model.eta, model.label, "weight", model.parameter)
        terms, size = products(formula, frame.fields, what=output.name)
        reading = Information(formula.size, keys, 1.0 if dispersion is None else dispersion.middle)
        name = f"{output.name}: standard errors"
        systems.append(
            SumSystem(name, size, terms, errors[:, 0], errors[:, 1], weight, keep, reported=reading)
        )
    if output.loglik is not None:
        if dispersed and dispersion is None:
            raise InputError(
                f"Output '{output.name}' has a log-likelihood: kind = \"{output.kind}\" then needs the dispersion."
            )
        parameter = model.parameter if dispersion is None else dispersion.middle
        bounds = np.array([output.printed(output.loglik, "the log-likelihood")])
        loglik = RegressionModel(family, model.eta, model.label, "loglik", parameter)
        systems.append(
            SumSystem(
                f"{output.name}: loglik", 1, (constant,), bounds[:, 0], bounds[:, 1], loglik, keep
            )
        )
    return systems


# Sums, and what is read off them.


def _pairs(size: int) -> dict[tuple[int, int], int]:
    return {pair: k for k, pair in enumerate(combinations_with_replacement(range(size), 2))}


def _columns_of(terms: Terms) -> tuple[list[int], Floats]:
    """The design's columns that a look-up has, and its entries as a dense matrix (combinations, those columns)."""
    columns = np.unique(terms.equations)
    dense = np.zeros((len(terms.starts) - 1, len(columns)))
    rows = np.repeat(np.arange(len(dense)), np.diff(terms.starts))
    dense[rows, np.searchsorted(columns, terms.equations)] = terms.values
    return columns.tolist(), dense


def _crossed(
    left: Terms, right: Terms, fields: Fields, place: Callable[[int, int], int], what: str
) -> Terms:
    """Look-ups of the products of two look-ups' entries."""
    positions = tuple(sorted({*left.columns, *right.columns}))
    grid, sizes = fields.grid(positions), fields.sizes(positions)
    size = int(np.prod(sizes, dtype=np.int64))
    sides = []
    for terms in (left, right):
        columns, dense = _columns_of(terms)
        key = np.zeros(size, dtype=np.intp)
        for position, levels in zip(terms.columns, terms.sizes, strict=True):
            key = key * levels + grid[position]
        sides.append((columns, dense[key]))
    (a, x), (b, y) = sides
    if size * len(a) * len(b) > 10 * MOST_CELLS:
        raise InputError(
            f"Output '{what}': the terms of its formula have too many combinations for standard errors. Leave them out."
        )
    entries: dict[int, Floats] = {}
    for i, first in enumerate(a):
        for j, second in enumerate(b):
            if left is right and second < first:
                continue
            entry = x[:, i] * y[:, j]
            if entry.any():
                at = place(min(first, second), max(first, second))
                entries[at] = entries.get(at, 0.0) + entry
    rows, equations, values = [], [], []
    for at, entry in entries.items():
        nonzero = np.flatnonzero(entry)
        rows.append(nonzero)
        equations.append(np.full(len(nonzero), at))
        values.append(entry[nonzero])
    none = np.zeros(0, dtype=np.int64)
    row, equation = np.concatenate([none, *rows]), np.concatenate([none, *equations])
    return Terms.sparse(positions, sizes, row, equation, np.concatenate([np.zeros(0), *values]))


def products(formula: Formula, fields: Fields, *, what: str) -> tuple[tuple[Terms, ...], int]:
    """Terms of the sums of x_i x_j, i <= j, in that order."""
    pairs = _pairs(formula.size)
    place = lambda i, j: pairs[i, j]  # noqa: E731
    crossings = [
        _crossed(left, right, fields, place, what)
        for k, left in enumerate(formula.terms)
        for right in formula.terms[k:]
    ]
    return tuple(terms for terms in crossings if terms.equations.size), len(pairs)


def squares(
    formula: Formula, label: Lookup, fields: Fields, *, what: str
) -> tuple[tuple[Terms, ...], int]:
    """Terms of all products of the design's columns, y and 1: x_i x_j, then x_i y, then y y, then 1."""
    terms, size = products(formula, fields, what=what)
    y = Terms.dense(label.columns, label.sizes, label.values)
    p = formula.size
    crossed = [_crossed_with(terms_of, y, fields, size, what) for terms_of in formula.terms]
    squared = Terms.dense(
        label.columns,
        label.sizes,
        np.hstack([np.zeros((len(label.values), size + p)), label.values**2]),
    )
    constant = Terms((), (), np.array([0, 1]), np.array([size + p + 1]), np.array([1.0]))
    return (*terms, *(t for t in crossed if t.equations.size), squared, constant), size + p + 2


def _crossed_with(terms: Terms, y: Terms, fields: Fields, first: int, what: str) -> Terms:
    far = replace(y, equations=y.equations + 10**9)  # y behind every column of the design
    return _crossed(terms, far, fields, lambda i, _: first + i, what)


def _slopes(inverse: Floats, k: int) -> Floats:
    """Derivatives of the k-th diagonal entry of an inverse by the upper triangle of what is inverted."""
    outer = np.outer(inverse[k], inverse[k])
    upper = np.triu_indices(len(inverse))
    return -(outer * (2.0 - np.eye(len(inverse))))[upper]


class Information:
    """Standard errors out of the information's upper triangle, with derivatives."""

    def __init__(self, size: int, keys: list[int], dispersion: float) -> None:
        self.size, self.keys, self.dispersion = size, keys, dispersion

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published standard errors, and their derivatives by the sums."""
        inverse = inverse_of(symmetric(sums, self.size))
        errors = np.sqrt(self.dispersion * np.maximum(np.diag(inverse)[self.keys], 1e-300))
        slope = np.array([_slopes(inverse, k) for k in self.keys]).reshape(len(self.keys), -1)
        return errors, self.dispersion * slope / (2.0 * errors[:, None])


class LeastSquares:
    """Standard errors, log-likelihood and dispersion of linear regression, with derivatives.

    Sums: x_i x_j (i <= j), x_i y, y y, n. RSS = yy - 2 b'xy + b'xx b at the fitted b, so that b's own change adds nothing to the
    derivative; at the published b where the sums determine none.
    """

    def __init__(self, size: int, at: Floats, keys: list[int], what: list[str]) -> None:
        self.size, self.at, self.keys, self.what = size, at, keys, what

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by the sums."""
        p, b = self.size, self.at
        m = p * (p + 1) // 2
        xx, xy, yy, n = (
            symmetric(sums[:m], p),
            sums[m : m + p],
            float(sums[-2]),
            max(float(sums[-1]), p + 1.0),
        )
        if np.linalg.cond(xx) < 1e12:
            b = np.asarray(np.linalg.solve(xx, xy), dtype=np.float64)
        rss = max(float(yy - 2.0 * b @ xy + b @ xx @ b), 1e-12 * max(yy, 1e-12))
        by = np.zeros(len(sums))
        by[:m] = (np.outer(b, b) * (2.0 - np.eye(p)))[np.triu_indices(p)]
        by[m : m + p], by[-2] = -2.0 * b, 1.0
        count = np.zeros(len(sums))
        count[-1] = 1.0
        scale, scale_by = rss / (n - p), by / (n - p) - rss / (n - p) ** 2 * count
        values, slopes = [], []
        inverse = inverse_of(xx) if self.keys else xx
        for k in self.keys:
            error = math.sqrt(max(scale * inverse[k, k], 1e-300))
            inner = scale_by * inverse[k, k]
            inner[:m] += scale * _slopes(inverse, k)
            values.append(error)
            slopes.append(inner / (2.0 * error))
        if "loglik" in self.what:
            values.append(-0.5 * n * (math.log(2.0 * math.pi * rss / n) + 1.0))
            slopes.append(-0.5 * n / rss * by - 0.5 * math.log(2.0 * math.pi * rss / n) * count)
        if "dispersion" in self.what:
            values.append(scale)
            slopes.append(scale_by)
        return np.array(values), np.array(slopes)
