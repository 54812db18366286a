"""A regression on records: fitted by statsmodels, with words for every way in which there is no estimate, and which coefficient has none.

A design may have columns without records, or columns that others add up to. A binary regression has no finite estimate where some
combination of columns separates the labels (Albert and Anderson 1984, Biometrika 71: 1-10), a multinomial one likewise, a
regression of counts where a combination singles out records that are all 0 (Santos Silva and Tenreyro 2010). The usual cause, a level
whose records all have the same label, is found by counting. Any other is looked for only where the linear predictor of a fit has run
far. Whether an estimate exists depends on design and labels alone, not on the link: a linear programme decides it (Konis 2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...._base.arrays import Floats
from ...._base.errors import InputError, join_names
from ...._base.masking import HIDDEN
from ...._base.runtime import one_blas_thread
from ....counts.tally import count_cells
from ...domain import Codes, OutputDomain
from ...equations import SumSystem
from ...families import FAMILIES, LINKS, FamilyName, multipliers
from ...formula import Formula
from ...statistics import Observed, estimated_alpha, fit_system, observe, scoring_fit, spread_at
from ..base import Sample
from ..model import ModelFit
from .information import robust_errors
from .spec import RegressionSpec

_BROKEN = (np.linalg.LinAlgError, ValueError, FloatingPointError, OverflowError)
FAR = 12.0
"""Chances below exp(-12) = 6e-6, of the label or of the other, are looked into."""
_TINY = 1e-9


def first_fit(output: RegressionSpec, sample: Sample, formula: Formula) -> ModelFit:
    """Return the fit of a recipe; InputError with the reason where these records have no estimate."""
    system, data = _observe_sample(output, sample, formula)
    family, result, coefficients = output.family_name, None, None
    try:
        # Where labels are separated steps would go on for ever; where there is an estimate a few of Newton's are enough.
        max_iterations = 35 if _may_separate(family) else 200
        expected = output.information == "expected"
        result = fit_system(
            system, data, from_published=False, expected=expected, max_iterations=max_iterations
        )
        coefficients = np.asarray(result.params, dtype=float).reshape(formula.size, -1)
    except _BROKEN:
        pass
    if fault := fault_after(data, family, coefficients, parameter=output.parameter()):
        raise InputError(_fault_message(fault, output, formula, sample))
    assert coefficients is not None
    errors = np.full(system.size, np.nan)
    if output.publishes("standard_errors"):
        errors = _errors(output, system, data, result, sample.domain, sample.inside)
    return ModelFit(coefficients.T.ravel(), errors, _singles(result))


def _singles(result: Any) -> dict[str, float]:
    return {"loglik": float(result.llf), "dispersion": float(getattr(result, "scale", np.nan))}


def _observe_sample(
    output: RegressionSpec, sample: Sample, formula: Formula
) -> tuple[SumSystem, Observed]:
    """The regression at 0 and what it sees of records; InputError for what counting shows."""
    system = output.system(sample.domain, formula, published=False)
    data = observe(system, sample.inside)
    if fault := fault_before(data, output.family_name, system.size // formula.size):
        raise InputError(_fault_message(fault, output, formula, sample))
    return system, data


def refit(output: RegressionSpec, sample: Sample, formula: Formula) -> ModelFit:
    """Return the fit from the published coefficients; nan where there is none."""
    domain, codes = sample.domain, sample.codes
    system = output.system(domain, formula)
    data, nothing = observe(system, codes), np.full(system.size, np.nan)
    try:
        result = fit_system(system, codes, expected=output.information == "expected")
        values = np.asarray(result.params, dtype=float).T.ravel()
        errors = _errors(output, system, data, result, domain, codes)
        units, singles = spread_at(result, system), _singles(result)
    except _BROKEN:
        values = nothing[:0]
    if values.size != system.size:  # a class without records has no coefficients
        singles = {"loglik": math.nan, "dispersion": math.nan}
        return ModelFit(nothing, nothing, singles, records=len(codes))
    scoring = None
    # Programs that fit by scoring, R first of all, print standard errors of the step before the last.
    if output.covariance is None and output.weights is None and system.size == formula.size:
        fit = scoring_fit(output.family_name, data, parameter=output.parameter())
        scoring = ModelFit(values, fit.errors, {"dispersion": fit.dispersion})
    return ModelFit(values, errors, singles, units=units, records=len(codes), scoring=scoring)


def _errors(
    output: RegressionSpec,
    system: SumSystem,
    data: Observed,
    result: Any,
    domain: OutputDomain,
    codes: Codes,
) -> Floats:
    """The standard errors of a fit as the output has them: statsmodels' own, robust ones, or those of weighted least squares."""
    if output.covariance is None and output.weights is None:
        return np.asarray(result.bse, dtype=float).T.ravel()
    weights = (
        np.prod(
            [np.ones(len(codes)), *(look.evaluate(codes)[:, 0] for look in system.keep)], axis=0
        )
        > 0.0
    )
    clusters = None if output.cluster is None else codes[weights, domain.position(output.cluster)]
    return robust_errors(output, data, np.asarray(result.params, dtype=float).ravel(), clusters)


def printed_alpha(output: RegressionSpec, sample: Sample) -> float:
    """Return alpha as printed: coefficients are then those at the printed alpha, as whoever reads the output would fit them."""
    formula = output.compiled(sample.domain, sample.inside)
    with one_blas_thread():
        _, data = _observe_sample(output.changed(alpha=1.0), sample, formula)
        try:
            alpha = float(output.printer.number(estimated_alpha(data), "alpha", "alpha"))
        except _BROKEN:
            alpha = 0.0
    if not alpha > 0.0:
        raise InputError("alpha has no estimate above 0: the records are not overdispersed")
    return alpha


def _coefficient_label(columns: Sequence[int], formula: Formula, domain: OutputDomain) -> str:
    """A coefficient, with the cell that it stands for, as messages may have it."""
    k = next((k for k in columns if formula.names[k] != "Intercept"), columns[0])
    levels = [
        (domain.columns[f.columns[0]], code)
        for f, code in formula.coefficients[k]
        if code is not None
    ]
    labels = [(field.safe_label(code), field.name) for field, code in levels]
    cell = " with ".join(
        f"{'a level' if label == HIDDEN else 'level ' + repr(label)} of column '{name}'"
        for label, name in labels
    )
    return f"coefficient '{formula.safe_names[k]}'" + (f" ({cell})" if cell else "")


def _fault_message(fault: Fault, output: RegressionSpec, formula: Formula, sample: Sample) -> str:
    domain, codes = sample.domain, sample.inside
    if fault.kind == "class":
        code = output.classes(domain, formula)[fault.columns[0]]
        field = domain.columns[formula.label.columns[0]]
        label = field.safe_label(code)
        return f"{'a class' if label == HIDDEN else f'class {label!r}'} of column '{field.name}' has no records"
    names = [formula.safe_names[k] for k in fault.columns]
    called = _coefficient_label(fault.columns, formula, domain) if names else ""
    # That all of a group answer alike would tell each of their answers: it is not said which it is.
    same = "are too few, or too much alike"
    if fault.kind == "empty":
        return f"no record is behind {called}"
    if fault.kind == "dependent":
        empty = _empty_level(output, formula, domain, codes)
        if empty is not None:
            return f"{empty} has no records, so {called} cannot be told apart from others"
        return f"{called} cannot be told apart from others, since its column of the design is a sum of other columns"
    if fault.kind == "alike":
        if "Intercept" in names:
            return (
                "all its labels are equal"
                if output.own_family.is_binary
                else "its labels do not vary"
            )
        return f"{called} has no finite estimate, since the records behind it {same}"
    if fault.kind == "separated":
        if level := _one_label(output, formula, domain, codes):
            return f"there is no finite estimate, since the records of {level} {same}"
        columns = join_names([name for name in names if name != "Intercept"] or names, max_names=4)
        return f"there is no finite estimate, since the labels are separated by a combination of its columns ({columns})"
    return "statsmodels finds no estimate"


def _factors(formula: Formula) -> list[int]:
    """The positions of the columns whose levels have coefficients."""
    return list(
        dict.fromkeys(
            f.columns[0]
            for coefficient in formula.coefficients
            for f, code in coefficient
            if code is not None
        )
    )


def _empty_level(
    output: RegressionSpec, formula: Formula, domain: OutputDomain, codes: Codes
) -> str | None:
    """A level of one of the formula's factors that no record has: often the reference."""
    passing = output.filter(domain)
    inside = codes[passing.record_mask(codes)]
    for position in _factors(formula):
        field = domain.columns[position]
        counts = count_cells([inside[:, position]], [len(field.levels)])
        empty = np.flatnonzero((counts == 0) & passing.levels(position))
        if empty.size:
            return field.safe_name(int(empty[0]))
    return None


def _one_label(
    output: RegressionSpec, formula: Formula, domain: OutputDomain, codes: Codes
) -> str | None:
    """A level of one of the formula's factors whose records have all the same label (or lack a class): the reference, since others are found before."""
    inside = codes[output.filter(domain).record_mask(codes)]
    label = output.label(domain, formula).evaluate(inside)[:, 0]
    enough = len(np.unique(label)) if output.family_name == "multinomial" else 2
    for position in _factors(formula):
        field = domain.columns[position]
        for code in range(len(field.levels)):
            if 0 < len(np.unique(label[inside[:, position] == code])) < enough:
                return field.safe_name(code)
    return None


@dataclass(frozen=True)
class Fault:
    """Why there is no estimate, and by which columns of the design, by number.

    `empty`: no record has anything in a column. `dependent`: a column is a sum of those before it. `class`: a class has no record (its
    number in `columns`). `alike`: the records of a column have all the same label, or count 0. `separated`: some combination of
    columns separates labels. `unfinished`: no maximum was found.
    """

    kind: Literal["empty", "dependent", "class", "alike", "separated", "unfinished"]
    columns: tuple[int, ...]


def fault_before(data: Observed, family: FamilyName, n_classes: int) -> Fault | None:
    """Return what counting shows, before any fit.

    Examples
    --------
    A constant and a level; all records of the level have label 1:

    >>> x, y = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0, 1.0, 1.0])
    >>> fault_before(Observed(x, y, np.zeros((4, 1)), np.ones(4)), "logit", 1)
    Fault(kind='alike', columns=(1,))
    """
    x, y = data.x, data.y
    length = np.sqrt(np.einsum("ij,ij->j", x, x))
    if not length.all():
        return Fault("empty", tuple(np.flatnonzero(length == 0.0).tolist()))
    if family == "multinomial":
        counts = np.bincount(y.astype(np.int64), minlength=n_classes + 1)
        if not counts.all():
            return Fault("class", (int(np.argmin(counts)),))
    if dependent := _dependent(x / length):
        return Fault("dependent", dependent)
    alike = _alike(x, y, family, n_classes)
    return Fault("alike", tuple(alike)) if alike else None


def _dependent(unit: Floats) -> tuple[int, ...]:
    """The columns that are sums of those before them."""
    # The matrix of products is cheap, and where its smallest eigenvalue is well above 0 there is nothing to find.
    if len(unit) >= unit.shape[1] and float(np.linalg.eigvalsh(unit.T @ unit)[0]) > 1e-8:
        return ()
    diagonal = np.abs(np.diag(np.linalg.qr(unit, mode="r")))
    return (*np.flatnonzero(diagonal < _TINY).tolist(), *range(len(diagonal), unit.shape[1]))


def _alike(x: Floats, y: Floats, family: FamilyName, n_classes: int) -> list[int]:
    """Columns of one sign whose records have all the same label; in a regression of counts, all 0; multinomial: not every class."""
    one_sign = (x.min(axis=0, initial=0.0) >= 0.0) | (x.max(axis=0, initial=0.0) <= 0.0)
    if FAMILIES[family].is_binary:
        lacking = [y == 0.0, y == 1.0]
    elif FAMILIES[family].is_count:
        lacking = [y > 0.0]
    elif family == "multinomial":
        lacking = [y == k for k in range(n_classes + 1)]
    else:
        return []
    nonzero = (x != 0.0).astype(np.float64)
    separating = np.zeros(x.shape[1], dtype=bool)
    for label in lacking:
        separating |= label.astype(np.float64) @ nonzero == 0.0
    return np.flatnonzero(separating & one_sign).tolist()


def fault_after(
    data: Observed, family: FamilyName, coefficients: Floats | None, *, parameter: float = 1.0
) -> Fault | None:
    """Return what a fit shows: coefficients, (columns, predictors), that run off, or no maximum; they are None where it broke down.

    `parameter` is alpha of the negative binomial.
    """
    if family == "gaussian":
        return (
            None
            if coefficients is not None and np.isfinite(coefficients).all()
            else Fault("unfinished", ())
        )
    done = coefficients is not None and bool(np.isfinite(coefficients).all())
    eta = data.offset if coefficients is None else data.x @ coefficients + data.offset
    count = FAMILIES[family].is_count  # the mean of a count runs to 0 alone
    reaches = -eta if count else LINKS[FAMILIES[family].link].reach(eta)
    reach = float(reaches.max(initial=0.0)) if done else np.inf
    if reach > FAR and (columns := _separating(data, family)):
        return Fault("separated", columns)
    if not done or not _stationary(data, family, eta, parameter):
        return Fault("unfinished", ())
    return None


def _may_separate(family: FamilyName) -> bool:
    """Whether labels of a family may be separated, so that there is no finite estimate."""
    return FAMILIES[family].law.labels in ("share", "count")


def _stationary(data: Observed, family: FamilyName, eta: Floats, parameter: float) -> bool:
    """Whether every sum of scores is 0, up to a ten-thousandth of its spread."""
    with np.errstate(all="ignore"):
        score = data.weight[:, None] * multipliers(
            family, "score", eta, data.y, parameter=parameter
        )
        sums, spread = data.x.T @ score, np.sqrt((data.x**2).T @ score**2)
    return bool(np.isfinite(sums).all() and (np.abs(sums) <= 1e-4 * spread + 1e-6).all())


def _separating(data: Observed, family: FamilyName) -> tuple[int, ...]:
    """The columns with a part in a combination that separates; none if there is none.

    A linear programme decides (Konis 2007): some combination b has rows @ b >= 0, with at least one above 0.
    """
    from scipy.optimize import linprog

    if not _may_separate(family):
        return ()
    scale = np.abs(data.x).max(axis=0)
    x = data.x / np.where(scale > 0.0, scale, 1.0)
    rows, basis = _directions(x, data.y, family)
    if basis.shape[1] == 0 or not len(rows):
        return ()
    rows = np.unique(rows, axis=0)
    solved = linprog(
        -rows.mean(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0), method="highs"
    )
    if solved.x is None:
        return ()
    gained = rows @ solved.x
    if gained.max() < 1e-4 or gained.min() < -1e-6:
        return ()
    parts = np.abs(basis @ solved.x).reshape(-1, x.shape[1]).max(axis=0)
    return tuple(np.flatnonzero(parts > 1e-4 * parts.max()).tolist())


def _directions(x: Floats, y: Floats, family: FamilyName) -> tuple[Floats, Floats]:
    """Rows that a separating combination may not make negative, and the space of combinations in which they stand."""
    p = x.shape[1]
    if FAMILIES[family].is_binary:
        return np.where(y > 0.5, 1.0, -1.0)[:, None] * x, np.eye(p)
    if FAMILIES[family].is_count:  # records above 0 must not be touched at all
        size, vectors = np.linalg.eigh(x[y > 0.0].T @ x[y > 0.0])
        basis = vectors[:, size <= 1e-12 * max(float(size.max(initial=0.0)), 1.0)]
        return -(x[y == 0.0] @ basis), basis
    n_classes = int(y.max(initial=0.0))
    blocks = np.zeros((len(y), n_classes + 1, n_classes + 1, p))
    for other in range(n_classes + 1):
        blocks[np.arange(len(y)), other, y.astype(np.int64)] += x
        blocks[np.arange(len(y)), other, other] -= x
    rows = blocks[:, :, 1:].reshape(-1, n_classes * p)
    return rows[np.abs(rows).max(axis=1) > 0.0], np.eye(n_classes * p)
