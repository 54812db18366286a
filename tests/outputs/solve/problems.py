"""Problems that are drawn at random, records with a known dependence, and what numpy and statsmodels make of them."""

from __future__ import annotations

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

from chaffinch.outputs.domain import Codes, OutputColumn, OutputDomain
from chaffinch.outputs.equations import (
    CountTable,
    Lookup,
    Problem,
    RegressionModel,
    SumSystem,
    Terms,
)
from chaffinch.outputs.families import FamilyName, Part
from chaffinch.outputs.solve.moves import Moves, search
from chaffinch.outputs.solve.state import State

SIZES = (3, 6, 2, 4)
COLUMNS = OutputDomain(
    (
        OutputColumn("a", tuple("012"), weights=(1.0, 2.0, 1.0)),
        OutputColumn("x", tuple(np.linspace(-1.0, 1.5, 6).tolist())),
        OutputColumn("b", tuple("01")),
        OutputColumn("y", tuple("0123")),
    )
)
POSITIVE = ("gamma_log", "gamma_inverse", "inverse_gaussian_log", "inverse_gaussian")
ZERO_ONE = ("logit", "probit", "cloglog")


def labels(family: FamilyName | None) -> Lookup:
    values = (
        [0.5, 1.0, 2.0, 3.0]
        if family in POSITIVE
        else [0.0, 1.0, 0.0, 1.0]
        if family in ZERO_ONE
        else [0.0, 1.0, 2.0, 3.0]
    )
    return Lookup((3,), (4,), np.array(values)[:, None])


def random_terms(rng: np.random.Generator, n_equations: int) -> tuple[Terms, ...]:
    """A constant, terms of single columns, and terms of a pair; about half of the entries are zero."""
    terms = [Terms.dense((), (), np.eye(1, n_equations))]
    for columns in ((0,), (1,), (2, 1)):
        sizes = tuple(SIZES[c] for c in columns)
        matrix = rng.normal(0.0, 0.5, (int(np.prod(sizes)), n_equations)) * (
            rng.random((int(np.prod(sizes)), n_equations)) < 0.5
        )
        terms.append(Terms.dense(columns, sizes, matrix))
    return tuple(terms)


def random_system(
    rng: np.random.Generator, name: str, family: FamilyName | None, part: Part
) -> SumSystem:
    n_equations = int(rng.integers(1, 5))
    terms = random_terms(rng, n_equations)
    keep = (
        (Lookup((2, 3), (2, 4), (rng.random((8, 1)) < 0.8).astype(float)),)
        if rng.random() < 0.5
        else ()
    )
    n_predictors = 3 if family == "multinomial" else 1
    coefficients = rng.normal(0.0, 0.3, (n_equations, n_predictors))
    # Means that are one over the predictor need it to be positive, and most of these are.
    offset = Lookup(
        (),
        (),
        np.full((1, n_predictors), 3.0 if family in ("gamma_inverse", "inverse_gaussian") else 0.0),
    )
    model = None
    if family:
        eta = (*(t.times(coefficients) for t in terms), offset)
        model = RegressionModel(family, eta, labels(family), quantity=part, parameter=0.7)
    size = n_equations * (model.width if model else 1)
    middle, half = rng.normal(0.0, 1.0, size), rng.choice([0.0, 0.3], size)
    if family and part == "score":
        at = coefficients.T.ravel()
        return SumSystem(
            name,
            size,
            terms,
            at - half,
            at + half,
            model,
            keep,
            reported="coefficients",
            coefficients=at,
        )
    return SumSystem(
        name,
        size,
        terms,
        middle - half,
        middle + half,
        model,
        keep,
        diagonal=bool(rng.random() < 0.5),
    )


def random_table(rng: np.random.Generator, name: str) -> CountTable:
    columns = rng.permutation(4)[: rng.integers(1, 4)]
    groups = []
    for column in columns:
        group = rng.integers(-1, 3, SIZES[column])
        group[0] = 0
        groups.append(
            (int(column), np.unique(group, return_inverse=True)[1] - int(group.min() < 0))
        )
    shape = [int(group.max()) + 1 for _, group in groups]
    lo = rng.integers(0, 6, int(np.prod(shape)))
    return CountTable(name, tuple(groups), lo, lo + rng.integers(0, 3, lo.size))


def random_problem(seed: int, models: list[tuple[FamilyName, Part]]) -> Problem:
    rng = np.random.default_rng(seed)
    systems = [
        random_system(rng, f"{k} {family} {part}", family, part)
        for k, (family, part) in enumerate(models)
    ]
    plain = random_system(rng, "plain", None, "score")
    return Problem(COLUMNS, (random_table(rng, "one"), *systems, plain, random_table(rng, "two")))


N = 1_500


def simulated(seed: int) -> tuple[Codes, tuple[Terms, ...]]:
    """Records with a dependence between the label and the rest."""
    rng = np.random.default_rng(seed)
    codes = COLUMNS.start(N, seed=seed)
    eta = (
        0.6 * (codes[:, 0] == 1) - 0.8 * codes[:, 2] + 0.5 * np.linspace(-1.0, 1.5, 6)[codes[:, 1]]
    )
    codes[:, 3] = rng.binomial(3, 1.0 / (1.0 + np.exp(-eta)))
    dummies = np.eye(3)[:, 1:]
    terms = (
        Terms.dense((), (), np.eye(1, 5)),
        Terms.dense((0,), (3,), np.pad(dummies, ((0, 0), (1, 2)))),
        Terms.dense((1,), (6,), np.outer(np.linspace(-1.0, 1.5, 6), np.eye(5)[3])),
        Terms.dense((2,), (2,), np.outer([0.0, 1.0], np.eye(5)[4])),
    )
    return codes, terms


def estimated(family: FamilyName, codes: Codes, terms: tuple[Terms, ...]) -> NDArray[np.float64]:
    x, y = (
        np.sum([t.evaluate(codes, 5) for t in terms], axis=0),
        labels(family).evaluate(codes)[:, 0],
    )
    models = {
        "gaussian": lambda: sm.OLS(y, x).fit(),
        "logit": lambda: sm.Logit(y, x).fit(disp=0, tol=1e-12),
        "probit": lambda: sm.Probit(y, x).fit(disp=0, tol=1e-12),
        "poisson": lambda: sm.Poisson(y, x).fit(disp=0, tol=1e-12),
        "gamma_log": lambda: sm.GLM(y, x, family=sm.families.Gamma(sm.families.links.Log())).fit(
            tol=1e-12
        ),
        "multinomial": lambda: sm.MNLogit(y, x).fit(disp=0, tol=1e-12),
    }
    return np.asarray(models[family]().params)


def table_of(
    codes: Codes, columns: tuple[int, ...], name: str, *, below: int = 0, base: int = 1
) -> CountTable:
    """Counts of columns, those under `below` suppressed, the rest rounded to a multiple of `base`."""
    groups = tuple((c, np.arange(SIZES[c])) for c in columns)
    cells = int(np.prod([SIZES[c] for c in columns]))
    counts = CountTable(name, groups, np.zeros(cells, int), np.zeros(cells, int)).counts(codes)
    rounded = np.round(counts / base).astype(int) * base
    small = (counts > 0) & (counts < below)
    lo = np.where(small, 1, np.maximum(rounded - (base - 1) // 2, 0))
    return CountTable(name, groups, lo, np.where(small, below - 1, rounded + (base - 1) // 2))


def proposed(state: State, moves: Moves, n_proposals: int, temperature: float = np.inf) -> int:
    state.table_error, state.system_error, accepted = search(
        state.program,
        state.kernel,
        state.table_error,
        state.system_error,
        moves.kernel,
        moves.chances(),
        moves.wrong(state),
        n_proposals,
        temperature,
    )
    return int(accepted)


def sums_of(state: State) -> NDArray[np.float64]:
    return np.concatenate([s.contributions(state.codes).sum(axis=0) for s in state.systems])


def table_error_of(state: State) -> float:
    outside = [
        np.maximum(np.maximum(t.lo - t.counts(state.codes), t.counts(state.codes) - t.hi), 0)
        for t in state.tables
    ]
    return sum(float((o**2 * t.weights).sum()) for o, t in zip(outside, state.tables, strict=True))


def matrix_of(state: State) -> NDArray[np.float64]:
    """The weights A of all systems, as blocks of one matrix."""
    blocks, first = np.zeros((len(state.sums), len(state.sums))), 0
    for s, at in zip(state.systems, state.sums_of, strict=True):
        size = s.size if s.diagonal else s.size**2
        part = state.weights[first : first + size]
        blocks[at, at] = np.diag(part) if s.diagonal else part.reshape(s.size, s.size)
        first += size
    return blocks
