"""The incremental engine: what it keeps up to date equals what is counted afresh, and what it finds is refitted by others."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chaffinch._base.errors import InputError
from chaffinch.outputs.columns import CodeColumn, Codes, Columns
from chaffinch.outputs.equations import CountTable, Lookup, Problem, RegressionModel, SumSystem, Terms, regression
from chaffinch.outputs.families import FAMILIES, PARTS, FamilyName, Part
from chaffinch.outputs.solve.combine import _candidates as candidates_of
from chaffinch.outputs.solve.combine import few_that_cancel
from chaffinch.outputs.solve.incremental import solve
from chaffinch.outputs.solve.kernels import gram, search
from chaffinch.outputs.solve.linear import nearest
from chaffinch.outputs.solve.moves import KINDS, Kind, Moves
from chaffinch.outputs.solve.state import State

SIZES = (3, 6, 2, 4)
COLUMNS = Columns(
    (
        CodeColumn("a", 3, weights=np.array([1.0, 2.0, 1.0])),
        CodeColumn("x", 6, values=np.linspace(-1.0, 1.5, 6)),
        CodeColumn("b", 2),
        CodeColumn("y", 4),
    )
)
POSITIVE = ("gamma_log", "gamma_inverse", "inverse_gaussian_log", "inverse_gaussian")
ZERO_ONE = ("logit", "probit", "cloglog")
MODELS = [(f, p) for f in FAMILIES for p in PARTS if f != "multinomial" or p in ("score", "loglik")]
EVERY_KIND = ["change", "step", "swap", "near_swap", "copy", "copy_two", "repair"]


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


def random_system(rng: np.random.Generator, name: str, family: FamilyName | None, part: Part) -> SumSystem:
    n_equations = int(rng.integers(1, 5))
    terms = random_terms(rng, n_equations)
    keep = (Lookup((2, 3), (2, 4), (rng.random((8, 1)) < 0.8).astype(float)),) if rng.random() < 0.5 else ()
    n_predictors = 3 if family == "multinomial" else 1
    coefficients = rng.normal(0.0, 0.3, (n_equations, n_predictors))
    # Means that are one over the predictor need it to be positive, and most of these are.
    offset = Lookup((), (), np.full((1, n_predictors), 3.0 if family in ("gamma_inverse", "inverse_gaussian") else 0.0))
    model = None
    if family:
        eta = (*(t.times(coefficients) for t in terms), offset)
        model = RegressionModel(family, eta, labels(family), part=part, parameter=0.7)
    size = n_equations * (model.width if model else 1)
    middle, half = rng.normal(0.0, 1.0, size), rng.choice([0.0, 0.3], size)
    if family and part == "score":
        at = coefficients.T.ravel()
        return SumSystem(name, size, terms, at - half, at + half, model, keep, reported="coefficients", at=at)
    return SumSystem(name, size, terms, middle - half, middle + half, model, keep, diagonal=bool(rng.random() < 0.5))


def random_table(rng: np.random.Generator, name: str) -> CountTable:
    columns = rng.permutation(4)[: rng.integers(1, 4)]
    groups = []
    for column in columns:
        group = rng.integers(-1, 3, SIZES[column])
        group[0] = 0
        groups.append((int(column), np.unique(group, return_inverse=True)[1] - int(group.min() < 0)))
    shape = [int(group.max()) + 1 for _, group in groups]
    lo = rng.integers(0, 6, int(np.prod(shape)))
    return CountTable(name, tuple(groups), lo, lo + rng.integers(0, 3, lo.size))


def random_problem(seed: int, models: list[tuple[FamilyName, Part]]) -> Problem:
    rng = np.random.default_rng(seed)
    systems = [random_system(rng, f"{k} {family} {part}", family, part) for k, (family, part) in enumerate(models)]
    plain = random_system(rng, "plain", None, "score")
    return Problem(COLUMNS, (random_table(rng, "one"), *systems, plain, random_table(rng, "two")))


def proposed(state: State, moves: Moves, n_proposals: int, temperature: float = np.inf) -> int:
    state.table_error, state.system_error, accepted = search(
        state.program, state.kernel, state.table_error, state.system_error,
        moves.kernel, moves.chances(), moves.wrong(state), n_proposals, temperature,
    )  # fmt: skip
    return int(accepted)


def sums_of(state: State) -> NDArray[np.float64]:
    return np.concatenate([s.contributions(state.codes).sum(axis=0) for s in state.systems])


def table_error_of(state: State) -> float:
    outside = [
        np.maximum(np.maximum(t.lo - t.counts(state.codes), t.counts(state.codes) - t.hi), 0) for t in state.tables
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


@pytest.mark.parametrize("kind", EVERY_KIND)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), models=st.lists(st.sampled_from(MODELS), max_size=2), n_rows=st.integers(1, 25))
def test_what_a_move_changes_is_what_is_counted_afresh(
    kind: Kind, seed: int, models: list[tuple[FamilyName, Part]], n_rows: int
) -> None:
    problem = random_problem(seed, models)
    state = State(problem, COLUMNS.start(n_rows, seed=seed))
    before, error, gradient, matrix = state.codes.copy(), state.system_error, state.gradient.copy(), matrix_of(state)
    sums = sums_of(state)
    moves = Moves(state, np.random.default_rng(seed), kinds=[kind])
    moves.sort(state.codes)
    kept = proposed(state, moves, 30)
    assert kept > 0 or (before == state.codes).all()
    assert np.concatenate([t.counts(state.codes) for t in state.tables]).tolist() == state.counts.tolist()
    assert state.table_error == pytest.approx(table_error_of(state), rel=1e-9, abs=1e-9)
    size = 1.0 + np.concatenate([np.abs(s.contributions(state.codes)).sum(axis=0) for s in state.systems])
    np.testing.assert_allclose(state.sums / size, sums_of(state) / size, atol=1e-9)
    # By the definition of the quadratic, from the numpy sums before and after.
    change = sums_of(state) - sums
    size = 1.0 + error + np.abs(gradient).max() + np.abs(matrix).max() * (1.0 + np.abs(change).max()) ** 2
    assert state.system_error == pytest.approx(error + change @ gradient + change @ matrix @ change, abs=1e-9 * size)
    np.testing.assert_allclose(state.gradient, gradient + 2.0 * matrix @ change, atol=1e-9 * size)


@pytest.mark.parametrize("kind", ["change", "step", "copy", "near_swap"])
def test_every_kind_of_move_is_made(kind: Kind) -> None:
    state = State(random_problem(1, [("logit", "score")]), COLUMNS.start(30, seed=1))
    before = state.codes.copy()
    moves = Moves(state, np.random.default_rng(1), kinds=[kind])
    assert proposed(state, moves, 200) > 20
    changed = (state.codes != before).any(axis=0)
    assert changed.tolist() == [kind != "step", True, kind != "step", kind != "step"]
    if kind == "near_swap":
        np.testing.assert_array_equal(np.sort(state.codes, axis=0), np.sort(before, axis=0))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), models=st.lists(st.sampled_from(MODELS), max_size=1))
def test_a_greedy_search_never_gets_worse(seed: int, models: list[tuple[FamilyName, Part]]) -> None:
    state = State(random_problem(seed, models), COLUMNS.start(25, seed=seed))
    before, error, gradient, matrix, sums = (
        state.error, state.system_error, state.gradient.copy(), matrix_of(state), sums_of(state),
    )  # fmt: skip
    proposed(state, Moves(state, np.random.default_rng(seed)), 300, 0.0)
    change = sums_of(state) - sums
    after = table_error_of(state) + error + change @ gradient + change @ matrix @ change
    size = 1.0 + before + np.abs(matrix).max() * (1.0 + np.abs(change).max()) ** 2
    assert after <= before + 1e-9 * size


@pytest.mark.parametrize("family", ["logit", "probit", "poisson", "gamma_log", "negative_binomial"])
def test_information_is_the_hessian_of_statsmodels(family: FamilyName) -> None:
    rng = np.random.default_rng(5)
    terms = random_terms(rng, 3)
    system = regression(
        "r", family=family, terms=terms, label=labels(family), coefficients=np.full(3, 0.2), parameter=0.7
    )
    codes = COLUMNS.start(60, seed=2)
    state = State(Problem(COLUMNS, (system,)), codes)
    x = np.sum([t.of(codes, 3) for t in terms], axis=0)
    y = labels(family).of(codes)[:, 0]
    families = {
        "logit": sm.families.Binomial(),
        "probit": sm.families.Binomial(sm.families.links.Probit()),
        "poisson": sm.families.Poisson(),
        "gamma_log": sm.families.Gamma(sm.families.links.Log()),
        "negative_binomial": sm.families.NegativeBinomial(alpha=0.7),
    }
    glm = sm.GLM(y, x, family=families[family])
    for kind, observed in ((1, False), (2, True)):
        out = np.zeros((3, 3))
        gram(state.program, 0, state.codes, state.multipliers, kind, 1, out)
        np.testing.assert_allclose(
            out, -glm.hessian(np.full(3, 0.2), scale=1.0, observed=observed), rtol=1e-6, atol=1e-7
        )


def test_the_first_order_error_is_what_a_refit_finds() -> None:
    rng = np.random.default_rng(6)
    terms = random_terms(rng, 3)
    codes = COLUMNS.start(2_000, seed=3)
    x, y = np.sum([t.of(codes, 3) for t in terms], axis=0), labels("probit").of(codes)[:, 0]
    estimate = sm.Probit(y, x).fit(disp=0).params
    near = estimate + np.array([1e-3, -2e-3, 1e-3])
    state = State(
        Problem(COLUMNS, (regression("r", family="probit", terms=terms, label=labels("probit"), coefficients=near),)),
        codes,
    )
    # Second order: about the square of the step.
    np.testing.assert_allclose(state.linear[0].values, estimate, atol=2e-5)
    assert state.errors()[0].worst == pytest.approx(2e-3, abs=2e-5)


N = 1_500


def simulated(seed: int) -> tuple[Codes, tuple[Terms, ...]]:
    """Records with a dependence between the label and the rest."""
    rng = np.random.default_rng(seed)
    codes = COLUMNS.start(N, seed=seed)
    eta = 0.6 * (codes[:, 0] == 1) - 0.8 * codes[:, 2] + 0.5 * np.linspace(-1.0, 1.5, 6)[codes[:, 1]]
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
    x, y = np.sum([t.of(codes, 5) for t in terms], axis=0), labels(family).of(codes)[:, 0]
    models = {
        "gaussian": lambda: sm.OLS(y, x).fit(),
        "logit": lambda: sm.Logit(y, x).fit(disp=0, tol=1e-12),
        "probit": lambda: sm.Probit(y, x).fit(disp=0, tol=1e-12),
        "poisson": lambda: sm.Poisson(y, x).fit(disp=0, tol=1e-12),
        "gamma_log": lambda: sm.GLM(y, x, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12),
        "multinomial": lambda: sm.MNLogit(y, x).fit(disp=0, tol=1e-12),
    }
    return np.asarray(models[family]().params)


# Fifteen numbers of 1,500 records: two decimals are what the search meets within seconds.
@pytest.mark.parametrize(
    ("family", "digits"),
    [("gaussian", 3), ("logit", 3), ("probit", 3), ("poisson", 4), ("gamma_log", 4), ("multinomial", 2)],
)
def test_printed_coefficients_come_back_when_statsmodels_refits(family: FamilyName, digits: int) -> None:
    original, terms = simulated(7)
    printed = np.round(estimated(family, original, terms), digits)
    half = 0.5 * 10.0**-digits
    system = regression("r", family=family, terms=terms, label=labels(family), coefficients=printed, half_widths=half)
    solved = solve(Problem(COLUMNS, (system,)), COLUMNS.start(N, seed=1), seed=2)
    assert solved.reached
    np.testing.assert_array_equal(np.round(estimated(family, solved.codes, terms), digits), printed)


def test_numbers_known_in_full_are_met_to_the_tolerance() -> None:
    original, terms = simulated(8)
    full = estimated("logit", original, terms)
    problem = Problem(
        COLUMNS, (regression("r", family="logit", terms=terms, label=labels("logit"), coefficients=full),)
    )
    solved = solve(problem, COLUMNS.start(N, seed=3), tolerance=0.01, seed=4)
    assert solved.reached
    # The smallest standard error is above 0.03; 0.01 of the largest, 0.15, is 0.0015.
    assert np.abs(estimated("logit", solved.codes, terms) - full).max() < 0.0015


def table_of(codes: Codes, columns: tuple[int, ...], name: str, *, below: int = 0, base: int = 1) -> CountTable:
    """Counts of columns, those under `below` suppressed, the rest rounded to a multiple of `base`."""
    groups = tuple((c, np.arange(SIZES[c])) for c in columns)
    cells = int(np.prod([SIZES[c] for c in columns]))
    counts = CountTable(name, groups, np.zeros(cells, int), np.zeros(cells, int)).counts(codes)
    rounded = np.round(counts / base).astype(int) * base
    small = (counts > 0) & (counts < below)
    lo = np.where(small, 1, np.maximum(rounded - (base - 1) // 2, 0))
    return CountTable(name, groups, lo, np.where(small, below - 1, rounded + (base - 1) // 2))


def test_tables_and_a_regression_come_back_together() -> None:
    original, terms = simulated(9)
    printed = np.round(estimated("logit", original, terms), 3)
    outputs = (
        table_of(original, (0, 1, 3), "a x y"),
        regression("r", family="logit", terms=terms, label=labels("logit"), coefficients=printed, half_widths=5e-4),
        table_of(original, (1, 2, 3), "x b y", below=10, base=5),
    )
    solved = solve(Problem(COLUMNS, outputs), COLUMNS.start(N, seed=1), seed=2)
    assert solved.reached
    assert [error.name for error in solved.errors] == ["a x y", "r", "x b y"]
    assert outputs[0].counts(solved.codes).tolist() == outputs[0].counts(original).tolist()
    counts = outputs[2].counts(solved.codes)
    assert ((outputs[2].lo <= counts) & (counts <= outputs[2].hi)).all()
    np.testing.assert_array_equal(np.round(estimated("logit", solved.codes, terms), 3), printed)
    rows = [sorted(map(tuple, codes.tolist())) for codes in (solved.codes, original)]
    assert rows[0] != rows[1]  # other records, the same numbers


def test_numbers_that_are_read_off_sums_come_back() -> None:
    """Mean, sd and correlation of x and y among b = 1, from the sums of 1, x, y, x^2, y^2 and xy."""
    x, y = np.linspace(-1.0, 1.5, 6), np.arange(4.0)
    matrix = np.zeros((24, 6))
    for k, (u, v) in enumerate(np.array(np.meshgrid(x, y, indexing="ij")).reshape(2, -1).T):
        matrix[k] = 1.0, u, v, u * u, v * v, u * v

    def read(s: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        def values(t: NDArray[np.float64]) -> NDArray[np.float64]:
            n, mx, my = t[0], t[1] / t[0], t[2] / t[0]
            sx, sy = np.sqrt((t[3] - n * mx**2) / (n - 1)), np.sqrt((t[4] - n * my**2) / (n - 1))
            return np.array([mx, sx, (t[5] - n * mx * my) / (n - 1) / sx / sy])

        steps = 1e-4 * np.eye(6)
        slope = np.array([(values(s + step) - values(s - step)) / 2e-4 for step in steps]).T
        return values(s), slope

    published = np.array([0.4, 0.7, -0.35])
    keep = Lookup((2,), (2,), np.array([[0.0], [1.0]]))
    system = SumSystem(
        "summary",
        6,
        (Terms.dense((1, 3), (6, 4), matrix),),
        published - 5e-4,
        published + 5e-4,
        keep=(keep,),
        reported=read,
    )
    solved = solve(Problem(COLUMNS, (system,)), COLUMNS.start(600, seed=1), seed=2)
    assert solved.reached
    mine = solved.codes[solved.codes[:, 2] == 1]
    found = [x[mine[:, 1]].mean(), x[mine[:, 1]].std(ddof=1), np.corrcoef(x[mine[:, 1]], mine[:, 3])[0, 1]]
    np.testing.assert_allclose(found, published, atol=5e-4)


def test_small_datasets_meet_many_digits_by_several_moves_at_once() -> None:
    """400 records and four decimals of three numbers: no single move is that small."""
    original = simulated(11)[0][:400]
    terms = (
        Terms.dense((), (), np.eye(1, 3)),
        Terms.dense((1,), (6,), np.outer(np.linspace(-1.0, 1.5, 6), np.eye(3)[1])),
        Terms.dense((2,), (2,), np.outer([0.0, 1.0], np.eye(3)[2])),
    )
    full = np.asarray(
        sm.Logit(labels("logit").of(original)[:, 0], np.sum([t.of(original, 3) for t in terms], axis=0))
        .fit(disp=0)
        .params
    )
    system = regression(
        "r", family="logit", terms=terms, label=labels("logit"), coefficients=np.round(full, 4), half_widths=5e-5
    )
    solved = solve(Problem(COLUMNS, (system,)), COLUMNS.start(400, seed=1), seed=2)
    assert solved.reached
    x, y = np.sum([t.of(solved.codes, 3) for t in terms], axis=0), labels("logit").of(solved.codes)[:, 0]
    np.testing.assert_array_equal(np.round(sm.Logit(y, x).fit(disp=0, tol=1e-12).params, 4), np.round(full, 4))


def test_moves_that_are_combined_change_the_sums_as_foretold() -> None:
    problem = random_problem(4, [("logit", "score")])
    state = State(problem, COLUMNS.start(60, seed=4))
    moves = Moves(state, np.random.default_rng(4))
    moves.sort(state.codes)
    moved, changes = candidates_of(state, moves)
    assert len(moved) > 100
    sums, counts = state.sums.copy(), state.counts.copy()
    within = (state.cell_lo <= counts) & (counts <= state.cell_hi)
    for (record, other, column, level), change in zip(moved[:100], changes[:100], strict=True):
        codes = state.codes.copy()
        if other >= 0:
            codes[other, column] = codes[record, column]
        codes[record, column] = level
        expected = np.concatenate([s.contributions(codes).sum(axis=0) for s in state.systems])
        np.testing.assert_allclose(sums + change, expected, atol=1e-9)
        now = np.concatenate([t.counts(codes) for t in state.tables])
        assert ((state.cell_lo <= now) & (now <= state.cell_hi))[within].all()
    assert state.counts.tolist() == counts.tolist()


def test_the_few_that_cancel_are_nearly_the_best_there_are() -> None:
    rng = np.random.default_rng(1)
    changes, rest = rng.normal(size=(300, 3)), np.array([0.3, -0.2, 0.1])
    found = few_that_cancel(changes, rest, rng=rng, levels=1, size=300)
    pairs = changes[:, None, :] + changes[None, :, :] + rest
    mine = ((changes[found[0]].sum(axis=0) + rest) ** 2).sum()
    assert mine == pytest.approx((pairs**2).sum(axis=2).min())
    four = few_that_cancel(changes, rest, rng=rng, levels=2, size=3_000)[0]
    assert len(four) == 4
    # Of 3,000 lists of four that were paired to cancel, the best beats the best of 45,000 pairs.
    assert ((changes[four].sum(axis=0) + rest) ** 2).sum() < mine


def test_a_level_that_no_record_has_is_taken_up() -> None:
    original, terms = simulated(12)
    printed = np.round(estimated("logit", original, terms), 2)
    system = regression("r", family="logit", terms=terms, label=labels("logit"), coefficients=printed, half_widths=5e-3)
    start = COLUMNS.start(N, seed=1)
    start[:, 0] = 0
    solved = solve(Problem(COLUMNS, (system,)), start, seed=2)
    assert solved.reached
    np.testing.assert_array_equal(np.round(estimated("logit", solved.codes, terms), 2), printed)


def test_the_same_seed_gives_the_same_dataset() -> None:
    problem = random_problem(3, [("logit", "score")])
    start = COLUMNS.start(50, seed=1)
    one, other, third = (solve(problem, start, proposals=30_000, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.codes, other.codes)
    assert one.errors == other.errors
    assert [c.objective for c in one.trace] == [c.objective for c in other.trace]
    assert (one.codes != third.codes).any()
    assert (start == COLUMNS.start(50, seed=1)).all()


def test_what_cannot_be_reached_is_brought_close_and_said() -> None:
    """Two tables that contradict each other: 30 and 20 of 100 records are ones."""
    columns = Columns((CodeColumn("x", 2), CodeColumn("z", 3)))
    one, other = (CountTable(str(n), ((0, np.array([-1, 0])),), np.array([n]), np.array([n])) for n in (30, 20))
    seen = []
    solved = solve(
        Problem(columns, (one, other)), columns.start(100, seed=1), proposals=400_000, seed=1, watch=seen.append
    )
    assert not solved.reached
    assert 20 <= (solved.codes[:, 0] == 1).sum() <= 30
    assert solved.proposals == 400_000
    assert tuple(seen) == solved.trace
    assert sum(e.chi_square for e in solved.errors) <= min(c.objective for c in solved.trace[-5:]) + 1e-9


def test_fixed_columns_stay() -> None:
    columns = Columns((CodeColumn("x", 2, fixed=True), CodeColumn("z", 3)))
    start = columns.start(90, seed=1)
    n_ones = int(start[:, 0].sum())
    lo = np.array([0, 0, 90 - n_ones, n_ones, 0, 0])
    table = CountTable("t", ((0, np.array([0, 1])), (1, np.array([0, 1, 2]))), lo, lo)
    solved = solve(Problem(columns, (table,)), start, seed=1)
    assert solved.reached
    np.testing.assert_array_equal(solved.codes[:, 0], start[:, 0])
    nothing = Columns((CodeColumn("x", 2, fixed=True),))
    stuck = CountTable("t", ((0, np.array([0, 1])),), np.array([5, 5]), np.array([5, 5]))
    assert not solve(Problem(nothing, (stuck,)), np.zeros((10, 1), dtype=int), seed=1).reached


def test_a_start_that_is_right_is_left_alone() -> None:
    original, _ = simulated(9)
    solved = solve(Problem(COLUMNS, (table_of(original, (0, 1, 3), "t"),)), original, seed=1)
    assert solved.reached
    assert solved.proposals == 0
    np.testing.assert_array_equal(solved.codes, original)


@pytest.mark.parametrize("focus", [1.0, 5.0])
def test_the_quadratic_is_what_it_is_said_to_be(focus: float) -> None:
    """Q = (z - t)' W (z - t) with z = z0 + H (S - S0), for coefficients in another form, with and without focus."""
    rng = np.random.default_rng(2)
    system = random_system(rng, "r", "probit", "score")
    state = State(Problem(COLUMNS, (system,)), COLUMNS.start(300, seed=2))
    linear, sums = state.linear[0], state.sums + rng.normal(size=state.sums.size)
    off = linear.at(sums) - state.aims[0]
    weight = linear.weight + np.diag(np.full(len(off), focus - 1.0) * np.diag(linear.weight))
    error, pull, matrix = linear.quadratic(sums, state.aims[0], np.full(len(off), focus))
    assert error == pytest.approx(off @ weight @ off, rel=1e-6)
    np.testing.assert_allclose(pull, linear.slope.T @ weight @ off, rtol=1e-6)
    np.testing.assert_allclose(matrix, linear.slope.T @ weight @ linear.slope, rtol=1e-6, atol=1e-12)


def test_the_nearest_point_of_a_box_is_the_nearest() -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    weight, point = root @ root.T + np.eye(3), np.array([2.0, -0.3, 0.8])
    found = nearest(point, weight, -np.ones(3), np.ones(3), np.zeros(3))
    grid = np.array(np.meshgrid(*[np.linspace(-1, 1, 41)] * 3)).reshape(3, -1).T - point
    best = np.einsum("ij,jk,ik->i", grid, weight, grid).min()
    assert (found - point) @ weight @ (found - point) <= best + 1e-9


def test_bad_options_are_named() -> None:
    problem = random_problem(3, [])
    with pytest.raises(InputError, match="tolerance must be at least 0"):
        solve(problem, COLUMNS.start(5, seed=1), tolerance=-1.0)
    with pytest.raises(InputError, match="proposals must be at least 1"):
        solve(problem, COLUMNS.start(5, seed=1), proposals=0)
    with pytest.raises(InputError, match="outside its levels"):
        solve(problem, np.full((5, 4), 3))


def test_the_engine_loads_no_file_reader() -> None:
    script = "import sys, chaffinch.outputs.solve.incremental, chaffinch.outputs.solve.kernels; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "chaffinch.outputs.solve.incremental" in loaded
    assert [name for name in loaded if name in ("pandas", "polars", "chaffinch.table.read", "pyarrow.csv")] == []
    assert set(EVERY_KIND) == set(KINDS)
