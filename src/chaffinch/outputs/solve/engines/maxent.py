"""The maxent engine: records drawn from what the outputs imply and from nothing else, then polished by the incremental engine.

- OutputDomain that tables link are drawn from the joint distribution of largest entropy that has the published cells, by iterative
  proportional fitting (Deming and Stephan 1940) from the columns' own chances; where the joint is too large, table by table, each
  given what is drawn already.
- The label of a regression is then drawn given the covariates: of all distributions over its levels with the mean that the published
  coefficients imply, the one of largest entropy, p(y) ~ chance(y) exp(theta y). For a label of 0 and 1 this is Bernoulli(p). Every
  score is then 0 on average, whatever the family.

Draws miss the outputs only by chance, about one standard error each, so the polish has little left to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...._base.arrays import Floats
from ...._base.seeds import Seed, generator
from ...domain import Codes, OutputDomain
from ...equations import CountTable, Problem, RegressionModel, SumSystem
from ...families import moments
from ..engine import PROPOSALS, SearchEngine, Solved
from ..settings import SEARCH_ENGINES
from .incremental import solve as polish

MOST_CELLS = 2**20
"""The largest joint distribution that is fitted whole."""
SWEEPS = 200
CLOSE = 1e-6
TILTS = 4_001
"""Points at which the mean of a tilted label is worked out; between them it is interpolated."""
STEEPEST = 60.0
BLOCK = 4_000_000


def solve(
    problem: Problem,
    codes: NDArray[np.integer],
    *,
    proposals: int = PROPOSALS,
    tolerance: float = 1e-3,
    seed: Seed = None,
) -> Solved:
    """Return a dataset that reproduces the outputs: drawn from what they imply, then polished; see `incremental.solve`.

    Drawing counts as no proposals: it takes a fixed number of sweeps. Of `codes` only the number of records, the columns that are fixed and those that no output speaks of are kept.
    """
    started = time.perf_counter()
    rng = generator(seed)
    drawn = draw(problem, codes, seed=rng)
    spent = time.perf_counter() - started
    solved = polish(problem, drawn, proposals=proposals, tolerance=tolerance, seed=rng)
    trace = tuple(replace(point, seconds=point.seconds + spent) for point in solved.trace)
    return replace(solved, seconds=time.perf_counter() - started, trace=trace)


def draw(problem: Problem, codes: NDArray[np.integer], *, seed: Seed = None) -> Codes:
    """Return records drawn from what the outputs imply, as many as `codes` has.

    Examples
    --------
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> table = CountTable("t", ((0, np.arange(2)), (1, np.arange(2))), np.array([3, 1, 2, 4]), np.array([3, 1, 2, 4]))
    >>> problem = Problem(OutputDomain((OutputColumn("a", ("no", "yes")), OutputColumn("b", ("no", "yes")))), (table,))
    >>> table.counts(draw(problem, np.zeros((10, 2), dtype=np.int32), seed=1)).tolist()
    [3, 1, 2, 4]
    """
    rng = generator(seed)
    columns = problem.domain
    out = columns.check(codes).copy()
    drawn = {c for c, column in enumerate(columns) if column.fixed}
    tables = [output for output in problem.outputs if isinstance(output, CountTable)]
    tabled: list[frozenset[int]] = []
    for cluster in _clusters(columns, tables):
        within = tuple(sorted({c for table in cluster for c in table.columns}))
        joint = _fit_joint(columns, within, cluster, len(out))
        _draw_columns(out, within, joint, drawn, rng)
        drawn |= set(within)
        tabled += [frozenset(table.columns) for table in cluster]
    for system in (output for output in problem.outputs if isinstance(output, SumSystem)):
        if (label := _label(system)) is None or columns.columns[label].fixed:
            continue
        covariates = set(system.columns) - {label}
        # A table of the label with a covariate says more than the regression: leave it as it was drawn.
        if any(label in linked and linked & covariates for linked in tabled):
            continue
        _draw_label(out, columns, system, label, rng)
        tabled.append(frozenset(system.columns))
    return out


def _clusters(columns: OutputDomain, tables: Sequence[CountTable]) -> list[list[CountTable]]:
    """Gather tables that share columns, as long as their joint is small; tables too large on their own are left to the polish."""
    clusters: list[tuple[set[int], list[CountTable]]] = []
    for table in sorted(tables, key=lambda t: -math.prod(columns.shape(t.columns))):
        if math.prod(columns.shape(table.columns)) > MOST_CELLS:
            continue
        within, members = set(table.columns), [table]
        for other in [c for c in clusters if c[0] & within]:
            if math.prod(columns.shape(tuple(within | other[0]))) <= MOST_CELLS:
                within |= other[0]
                members = [*other[1], *members]
                clusters.remove(other)
        clusters.append((within, members))
    return [members for _, members in clusters]


def _fit_joint(
    columns: OutputDomain, within: tuple[int, ...], tables: Sequence[CountTable], n_rows: int
) -> Floats:
    """Return expected counts of the joint over some columns: fitted to the tables' intervals in turn, from the columns' chances."""
    shape = tuple(columns.sizes[c] for c in within)
    joint = np.full(shape, float(n_rows))
    for axis, c in enumerate(within):
        joint *= columns.columns[c].chances.reshape(
            [-1 if k == axis else 1 for k in range(len(shape))]
        )
    flat = joint.ravel()
    cells = np.indices(shape).reshape(len(shape), -1)
    parts = []
    for table in tables:
        key, inside = np.zeros(flat.size, dtype=np.int64), np.ones(flat.size, dtype=bool)
        for (c, group), size in zip(table.groups, table.shape, strict=True):
            category = group[cells[within.index(c)]]
            inside &= category >= 0
            key = key * size + category
        # Records that the table filters out are one more cell, with what is left of n.
        key[~inside] = len(table.lo)
        lo = np.append(table.lo, max(0, n_rows - int(table.hi.sum()))).astype(float)
        hi = np.append(table.hi, max(0, n_rows - int(table.lo.sum()))).astype(float)
        parts.append((key, np.maximum(lo, 0.0), hi))
    for _ in range(SWEEPS):
        worst = 0.0
        for key, lo, hi in parts:
            now = np.bincount(key, weights=flat, minlength=len(lo))
            aim = _inside(now.astype(float), lo, hi, float(n_rows))
            worst = max(worst, float(np.abs(aim - now).max()))
            flat *= np.divide(aim, now, out=np.ones_like(now), where=now > 0.0)[key]
        if worst < CLOSE * n_rows:
            break
    return flat.reshape(shape)


def _inside(counts: Floats, lo: Floats, hi: Floats, total: float) -> Floats:
    """Return the counts of a box with a given total that are nearest in relative entropy: all times one factor, then cut off."""
    if (lo == hi).all() or not lo.sum() <= total <= hi.sum():
        return np.clip(counts, lo, hi)
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high)
            if np.clip(np.exp(middle) * counts, lo, hi).sum() < total
            else (low, middle)
        )
    return np.clip(np.exp(high) * counts, lo, hi)


def _draw_columns(
    out: Codes, within: tuple[int, ...], joint: Floats, drawn: set[int], rng: np.random.Generator
) -> None:
    """Draw columns from their joint, given those that are drawn already; in place."""
    known = [k for k, c in enumerate(within) if c in drawn]
    new = [k for k, c in enumerate(within) if c not in drawn]
    if not new:
        return
    sizes = [joint.shape[k] for k in new]
    rows = joint.transpose(*known, *new).reshape(-1, int(np.prod(sizes)))
    empty = rows.sum(axis=1) <= 0.0
    rows[empty] = rows.sum(axis=0) + 1e-300
    key = np.zeros(len(out), dtype=np.int64)
    for k in known:
        key = key * joint.shape[k] + out[:, within[k]]
    order = np.lexsort((rng.random(len(out)), key))
    for members in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        cells = _systematic(rows[key[members[0]]], len(members), rng)
        for k, codes in zip(new, np.unravel_index(cells, sizes), strict=True):
            out[members, within[k]] = codes


def _systematic(weights: Floats, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw n cells so that each comes up as often as it should, to within one (systematic sampling)."""
    ends = np.cumsum(weights)
    # Rounding in the sums must not move a point over a whole number: the start is kept away from the ends.
    points = (np.arange(n) + 0.001 + 0.998 * rng.random()) * (ends[-1] / n)
    return np.minimum(np.searchsorted(ends, points, side="right"), len(weights) - 1)


def _label(system: SumSystem) -> int | None:
    """The column to draw a regression's label in: read by nothing else in it."""
    if (
        system.reported != "coefficients"
        or system.model is None
        or len(system.model.label.columns) != 1
    ):
        return None
    label = system.model.label.columns[0]
    looks = (*system.keep, *system.model.eta)
    read = any(label in look.columns for look in looks) or any(
        label in terms.columns for terms in system.terms
    )
    return None if read else label


def _draw_label(
    out: Codes, columns: OutputDomain, system: SumSystem, label: int, rng: np.random.Generator
) -> None:
    """Draw the label of the records that the regression counts; in place."""
    assert system.model is not None
    model = system.model
    counted = np.ones(len(out), dtype=bool)
    for look in system.keep:
        counted &= look.evaluate(out)[:, 0] > 0.0
    eta = np.sum([look.evaluate(out) for look in model.eta], axis=0)
    values = model.label.values[:, 0]
    chances = columns.columns[label].chances
    rows = np.flatnonzero(counted)
    for chunk in np.array_split(rows, max(1, len(rows) * len(values) // BLOCK)):
        shares = _shares(model, eta[chunk], values, chances)
        ends = np.cumsum(shares, axis=1)
        points = rng.random((len(chunk), 1)) * ends[:, -1:]
        out[chunk, label] = np.minimum((ends <= points).sum(axis=1), len(values) - 1)


def _shares(model: RegressionModel, eta: Floats, values: Floats, chances: Floats) -> Floats:
    """Return the chance of each level for each record, up to a factor: (n, levels)."""
    from scipy.special import gammaln, softmax

    if model.family == "multinomial":
        eta_all = np.hstack([np.zeros((len(eta), 1)), eta])
        share = np.exp(eta_all - eta_all.max(axis=1, keepdims=True))
        classes = values.astype(np.int64)
        inside = chances / np.maximum(
            np.bincount(classes, weights=chances, minlength=eta_all.shape[1])[classes], 1e-300
        )
        return share[:, classes] * inside
    mean = moments(model.family, eta[:, 0], model.parameter)[0]
    low, high = float(values.min()), float(values.max())
    if high == low:
        return np.broadcast_to(chances, (len(eta), len(values)))
    unit = (values - low) / (high - low)
    thetas = np.sinh(
        np.linspace(-1.0, 1.0, TILTS) * np.arcsinh(STEEPEST * max(1, len(np.unique(values)) - 1))
    )
    log_chances = np.log(np.maximum(chances, 1e-300))
    if model.family in ("poisson", "negative_binomial"):
        # So that tilting gives a Poisson label, cut off.
        log_chances = log_chances - gammaln(np.maximum(values, 0.0) + 1.0)
    tilted: Floats = softmax(log_chances + thetas[:, None] * unit, axis=1)
    theta = np.interp((np.clip(mean, low, high) - low) / (high - low), tilted @ unit, thetas)
    shares: Floats = softmax(log_chances + theta[:, None] * unit, axis=1)
    return shares


SEARCH_ENGINES.register(
    SearchEngine(
        "maxent",
        "draws what outputs imply first",
        solve,
        warm_up=lambda problem, codes, search: polish(problem, codes, proposals=1, seed=0),
    )
)
