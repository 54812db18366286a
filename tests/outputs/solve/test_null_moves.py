"""Null moves: other records, the same outputs. The second opinion is the outputs summed record by record."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.errors import InputError
from chaffinch.outputs.domain import CodeColumn, Columns
from chaffinch.outputs.equations import CountTable, Lookup, Problem, SumSystem, Terms, regression
from chaffinch.outputs.solve import null_moves
from chaffinch.outputs.solve.null_moves import reads_with, walk

COLUMNS = Columns(
    (
        CodeColumn("y", 2),
        CodeColumn("a", 2),
        CodeColumn("b", 3),
        CodeColumn("c", 4, np.arange(4.0)),
        CodeColumn("d", 5),
    )
)
LABEL = Lookup((0,), (2,), np.array([[0.0], [1.0]]))


def dummies(column: int, size: int, first: int, width: int) -> Terms:
    matrix = np.zeros((size, width))
    for level in range(1, size):
        matrix[level, first + level - 1] = 1.0
    return Terms.dense((column,), (size,), matrix)


def constant(width: int) -> Terms:
    return Terms.dense((), (), np.eye(1, width))


def logit(*, keep=(), family="logit") -> SumSystem:
    terms = [constant(4), dummies(1, 2, 1, 4), dummies(2, 3, 2, 4)]
    return regression(
        "r",
        family=family,
        terms=terms,
        label=LABEL,
        coefficients=np.array([0.1, 0.5, -0.4, 0.2]),
        keep=keep,
    )


def crossed(name: str, *columns: int) -> CountTable:
    cells = COLUMNS.cells(columns)
    groups = tuple((c, np.arange(COLUMNS.sizes[c])) for c in columns)
    return CountTable(name, groups, np.zeros(cells, dtype=int), np.full(cells, 10**6))


def all_numbers(problem: Problem, codes: np.ndarray) -> np.ndarray:
    """Counts and sums by the outputs' own numpy code: a second opinion on the kernels."""
    parts = [
        o.counts(codes) if isinstance(o, CountTable) else o.contributions(codes).sum(axis=0)
        for o in problem.outputs
    ]
    return np.concatenate(parts)


MEAN = SumSystem(
    "c",
    2,
    (constant(2), Terms.dense((3,), (4,), np.stack([np.zeros(4), np.arange(4.0)], axis=1))),
    np.zeros(2),
    np.ones(2),
)
EVERY = [
    crossed("t", 1, 3),
    crossed("u", 0, 4),
    crossed("v", 2),
    CountTable(
        "w",
        ((3, np.array([0, 0, 1, -1])), (4, np.array([0, 1, 1, 1, -1]))),
        np.zeros(4, int),
        np.full(4, 10**6),
    ),
    logit(),
    logit(keep=(Lookup((3,), (4,), np.array([[1.0], [1.0], [0.0], [1.0]])),)),
    logit(family="probit"),
    MEAN,
]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(range(len(EVERY))), min_size=1, max_size=4, unique=True),
    st.integers(0, 10**6),
    st.integers(1, 200),
)
def test_every_output_stays(which, seed, n_rows):
    outputs = [EVERY[k] for k in which]
    if sum(isinstance(o, SumSystem) and o.name == "r" for o in outputs) > 1:
        outputs = [o for o in outputs if o.name != "r"] + [
            next(o for o in outputs if o.name == "r")
        ]
    problem = Problem(COLUMNS, tuple(outputs))
    start = COLUMNS.start(n_rows, seed=seed)
    after = walk(problem, start, rounds=2, seed=seed + 1)
    np.testing.assert_allclose(
        all_numbers(problem, after.codes), all_numbers(problem, start), rtol=0, atol=1e-9 * n_rows
    )
    for column in range(len(COLUMNS)):  # a walk only shuffles columns
        np.testing.assert_array_equal(np.sort(after.codes[:, column]), np.sort(start[:, column]))


def test_flips_walk_among_exact_solutions_of_a_logit():
    """The background's claim: y changes, X does not, and the coefficients agree to 1e-12 although the data differ."""
    sm = pytest.importorskip("statsmodels.api")
    problem = Problem(Columns(COLUMNS.every[:3]), (logit(),))
    start = problem.columns.start(300, seed=1)
    after = walk(problem, start, rounds=1, seed=2)
    assert after.flips > 5
    assert after.changed > 0.0
    fits = [
        sm.Logit(c[:, 0], sum(t.of(c, 4) for t in logit().terms)).fit(disp=0, tol=1e-14).params
        for c in (start, after.codes)
    ]
    np.testing.assert_allclose(fits[0], fits[1], rtol=0, atol=1e-12)


def test_no_flip_where_the_two_columns_are_tabulated_with_the_label():
    problem = Problem(Columns(COLUMNS.every[:3]), (logit(), crossed("all three", 0, 1, 2)))
    start = problem.columns.start(300, seed=1)
    after = walk(problem, start, rounds=3, seed=2)
    assert after.flips == 0
    assert after.changed == 0.0


def test_what_a_canonical_regression_reads_with_its_label_and_with_a_covariate():
    assert [sorted(s) for s in reads_with(logit(), 0)] == [[0], [0, 1], [0, 2]]
    assert [sorted(s) for s in reads_with(logit(), 1)] == [[0, 1, 2]]
    assert [sorted(s) for s in reads_with(logit(family="probit"), 0)] == [[0, 1, 2]]
    assert reads_with(logit(), 3) == ()


def test_fixed_columns_stay_and_rounds_are_checked():
    columns = Columns((CodeColumn("y", 3, fixed=True), CodeColumn("z", 3)))
    problem = Problem(
        columns, (CountTable("z", ((1, np.arange(3)),), np.zeros(3, int), np.full(3, 99)),)
    )
    start = columns.start(50, seed=1)
    after = walk(problem, start, rounds=1, seed=2).codes
    np.testing.assert_array_equal(after[:, 0], start[:, 0])
    assert (after[:, 1] != start[:, 1]).any()
    assert (walk(problem, start, rounds=0, seed=2).codes == start).all()
    with pytest.raises(InputError, match="rounds must be at least 0"):
        walk(problem, start, rounds=-1)


def test_a_walk_that_changed_an_output_would_not_pass(monkeypatch):
    """The check at the end must see a wrong shuffle: here records are said to be alike that are not."""
    monkeypatch.setattr(
        null_moves, "equal_on", lambda _p, codes, _c, _o: np.zeros(len(codes), dtype=np.int64)
    )
    problem = Problem(COLUMNS, (crossed("t", 1, 3),))
    with pytest.raises(Exception, match="null move changed an output"):
        walk(problem, COLUMNS.start(100, seed=1), seed=2)


def test_the_same_seed_gives_the_same_walk():
    problem = Problem(COLUMNS, (crossed("v", 2),))
    start = COLUMNS.start(60, seed=1)
    np.testing.assert_array_equal(
        walk(problem, start, seed=5).codes, walk(problem, start, seed=5).codes
    )
    assert (walk(problem, start, seed=5).codes != walk(problem, start, seed=6).codes).any()
