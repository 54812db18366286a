"""The incremental engine: what it keeps up to date equals what is counted afresh, and what it finds is refitted by others."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray

from chaffinch._base.errors import InputError
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.equations import CountTable, Lookup, Problem, SumSystem, Terms, regression
from chaffinch.outputs.families import FamilyName
from chaffinch.outputs.solve.engines.incremental import solve
from chaffinch.outputs.solve.moves import KINDS

EVERY_KIND = ["change", "step", "swap", "near_swap", "copy", "copy_two", "repair"]


# Fifteen numbers of 1,500 records: two decimals are what the search meets within seconds.
@pytest.mark.parametrize(
    ("family", "digits"),
    [
        ("gaussian", 3),
        ("logit", 3),
        ("probit", 3),
        ("poisson", 4),
        ("gamma_log", 4),
        ("multinomial", 2),
    ],
)
def test_printed_coefficients_come_back_when_statsmodels_refits(
    problems: ModuleType, family: FamilyName, digits: int
) -> None:
    original, terms = problems.simulated(7)
    printed = np.round(problems.estimated(family, original, terms), digits)
    half = 0.5 * 10.0**-digits
    system = regression(
        "r",
        family=family,
        terms=terms,
        label=problems.labels(family),
        coefficients=printed,
        half_widths=half,
    )
    solved = solve(
        Problem(problems.COLUMNS, (system,)), problems.COLUMNS.start(problems.N, seed=1), seed=2
    )
    assert solved.reached
    np.testing.assert_array_equal(
        np.round(problems.estimated(family, solved.codes, terms), digits), printed
    )


def test_numbers_known_in_full_are_met_to_the_tolerance(problems: ModuleType) -> None:
    original, terms = problems.simulated(8)
    full = problems.estimated("logit", original, terms)
    problem = Problem(
        problems.COLUMNS,
        (
            regression(
                "r", family="logit", terms=terms, label=problems.labels("logit"), coefficients=full
            ),
        ),
    )
    solved = solve(problem, problems.COLUMNS.start(problems.N, seed=3), tolerance=0.01, seed=4)
    assert solved.reached
    # The smallest standard error is above 0.03; 0.01 of the largest, 0.15, is 0.0015.
    assert np.abs(problems.estimated("logit", solved.codes, terms) - full).max() < 0.0015


def test_tables_and_a_regression_come_back_together(problems: ModuleType) -> None:
    original, terms = problems.simulated(9)
    printed = np.round(problems.estimated("logit", original, terms), 3)
    outputs = (
        problems.table_of(original, (0, 1, 3), "a x y"),
        regression(
            "r",
            family="logit",
            terms=terms,
            label=problems.labels("logit"),
            coefficients=printed,
            half_widths=5e-4,
        ),
        problems.table_of(original, (1, 2, 3), "x b y", below=10, base=5),
    )
    solved = solve(
        Problem(problems.COLUMNS, outputs), problems.COLUMNS.start(problems.N, seed=1), seed=2
    )
    assert solved.reached
    assert [error.name for error in solved.errors] == ["a x y", "r", "x b y"]
    assert outputs[0].counts(solved.codes).tolist() == outputs[0].counts(original).tolist()
    counts = outputs[2].counts(solved.codes)
    assert ((outputs[2].lo <= counts) & (counts <= outputs[2].hi)).all()
    np.testing.assert_array_equal(
        np.round(problems.estimated("logit", solved.codes, terms), 3), printed
    )
    rows = [sorted(map(tuple, codes.tolist())) for codes in (solved.codes, original)]
    assert rows[0] != rows[1]  # other records, the same numbers


def test_numbers_that_are_read_off_sums_come_back(problems: ModuleType) -> None:
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
    solved = solve(
        Problem(problems.COLUMNS, (system,)), problems.COLUMNS.start(600, seed=1), seed=2
    )
    assert solved.reached
    mine = solved.codes[solved.codes[:, 2] == 1]
    found = [
        x[mine[:, 1]].mean(),
        x[mine[:, 1]].std(ddof=1),
        np.corrcoef(x[mine[:, 1]], mine[:, 3])[0, 1],
    ]
    np.testing.assert_allclose(found, published, atol=5e-4)


def test_small_datasets_meet_many_digits_by_several_moves_at_once(problems: ModuleType) -> None:
    """400 records and four decimals of three numbers: no single move is that small."""
    original = problems.simulated(11)[0][:400]
    terms = (
        Terms.dense((), (), np.eye(1, 3)),
        Terms.dense((1,), (6,), np.outer(np.linspace(-1.0, 1.5, 6), np.eye(3)[1])),
        Terms.dense((2,), (2,), np.outer([0.0, 1.0], np.eye(3)[2])),
    )
    full = np.asarray(
        sm.Logit(
            problems.labels("logit").evaluate(original)[:, 0],
            np.sum([t.evaluate(original, 3) for t in terms], axis=0),
        )
        .fit(disp=0)
        .params
    )
    system = regression(
        "r",
        family="logit",
        terms=terms,
        label=problems.labels("logit"),
        coefficients=np.round(full, 4),
        half_widths=5e-5,
    )
    solved = solve(
        Problem(problems.COLUMNS, (system,)), problems.COLUMNS.start(400, seed=1), seed=2
    )
    assert solved.reached
    x, y = (
        np.sum([t.evaluate(solved.codes, 3) for t in terms], axis=0),
        problems.labels("logit").evaluate(solved.codes)[:, 0],
    )
    np.testing.assert_array_equal(
        np.round(sm.Logit(y, x).fit(disp=0, tol=1e-12).params, 4), np.round(full, 4)
    )


def test_a_level_that_no_record_has_is_taken_up(problems: ModuleType) -> None:
    original, terms = problems.simulated(12)
    printed = np.round(problems.estimated("logit", original, terms), 2)
    system = regression(
        "r",
        family="logit",
        terms=terms,
        label=problems.labels("logit"),
        coefficients=printed,
        half_widths=5e-3,
    )
    start = problems.COLUMNS.start(problems.N, seed=1)
    start[:, 0] = 0
    solved = solve(Problem(problems.COLUMNS, (system,)), start, seed=2)
    assert solved.reached
    np.testing.assert_array_equal(
        np.round(problems.estimated("logit", solved.codes, terms), 2), printed
    )


def test_the_same_seed_gives_the_same_dataset(problems: ModuleType) -> None:
    problem = problems.random_problem(3, [("logit", "score")])
    start = problems.COLUMNS.start(50, seed=1)
    one, other, third = (solve(problem, start, proposals=30_000, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.codes, other.codes)
    assert one.errors == other.errors
    assert [c.objective for c in one.trace] == [c.objective for c in other.trace]
    assert (one.codes != third.codes).any()
    assert (start == problems.COLUMNS.start(50, seed=1)).all()


def test_what_cannot_be_reached_is_brought_close_and_said() -> None:
    """Two tables that contradict each other: 30 and 20 of 100 records are ones."""
    columns = OutputDomain((OutputColumn("x", tuple("01")), OutputColumn("z", tuple("012"))))
    one, other = (
        CountTable(str(n), ((0, np.array([-1, 0])),), np.array([n]), np.array([n]))
        for n in (30, 20)
    )
    solved = solve(
        Problem(columns, (one, other)),
        columns.start(100, seed=1),
        proposals=400_000,
        seed=1,
    )
    assert not solved.reached
    assert 20 <= (solved.codes[:, 0] == 1).sum() <= 30
    assert solved.proposals == 400_000
    assert (
        sum(e.chi_square for e in solved.errors)
        <= min(c.objective for c in solved.trace[-5:]) + 1e-9
    )


def test_fixed_columns_stay() -> None:
    columns = OutputDomain(
        (OutputColumn("x", tuple("01"), fixed=True), OutputColumn("z", tuple("012")))
    )
    start = columns.start(90, seed=1)
    n_ones = int(start[:, 0].sum())
    lo = np.array([0, 0, 90 - n_ones, n_ones, 0, 0])
    table = CountTable("t", ((0, np.array([0, 1])), (1, np.array([0, 1, 2]))), lo, lo)
    solved = solve(Problem(columns, (table,)), start, seed=1)
    assert solved.reached
    np.testing.assert_array_equal(solved.codes[:, 0], start[:, 0])
    nothing = OutputDomain((OutputColumn("x", tuple("01"), fixed=True),))
    stuck = CountTable("t", ((0, np.array([0, 1])),), np.array([5, 5]), np.array([5, 5]))
    assert not solve(Problem(nothing, (stuck,)), np.zeros((10, 1), dtype=int), seed=1).reached


def test_a_start_that_is_right_is_left_alone(problems: ModuleType) -> None:
    original, _ = problems.simulated(9)
    solved = solve(
        Problem(problems.COLUMNS, (problems.table_of(original, (0, 1, 3), "t"),)), original, seed=1
    )
    assert solved.reached
    assert solved.proposals == 0
    np.testing.assert_array_equal(solved.codes, original)


def test_bad_options_are_named(problems: ModuleType) -> None:
    problem = problems.random_problem(3, [])
    with pytest.raises(InputError, match="tolerance must be at least 0"):
        solve(problem, problems.COLUMNS.start(5, seed=1), tolerance=-1.0)
    with pytest.raises(InputError, match="proposals must lie between 1 and"):
        solve(problem, problems.COLUMNS.start(5, seed=1), proposals=0)
    with pytest.raises(InputError, match="outside its levels"):
        solve(problem, np.full((5, 4), 3))


def test_the_engine_loads_no_file_reader() -> None:
    script = "import sys, chaffinch.outputs.solve.engines.incremental; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "chaffinch.outputs.solve.engines.incremental" in loaded
    assert [
        name
        for name in loaded
        if name in ("pandas", "polars", "chaffinch.table.read", "pyarrow.csv")
    ] == []
    assert set(EVERY_KIND) == set(KINDS)
