"""The cases of evolving a dataset that benchmarks time: the paper's logit, and a logit with more than 2,000 cells of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from chaffinch.outputs.domain import Codes, Floats, OutputColumn, OutputDomain
from chaffinch.outputs.equations import CountTable, Lookup, Problem, SumSystem, Terms, regression

PAPER_ROWS = 50_357
JOINT_ROWS = 25_178

LEVELS = {"age": 96, "areap": 7, "ethgroup": 10, "ltill": 2, "mstatus": 5, "sex": 2, "tenure": 2}
"""The schema of the paper's appendix B, with ages 0 to 95."""

FIRST_CODE = {"areap": 57, "ethgroup": 1, "ltill": 1, "mstatus": 1, "sex": 1}
"""The code of each variable's first level, which is the reference category of appendix C."""

ORIGINAL = {
    "constant": 0.2498,
    "age": 0.0012,
    "areap_58": -0.3754,
    "areap_59": -0.3389,
    "areap_60": 0.3404,
    "areap_61": -0.7305,
    "areap_62": 0.0805,
    "areap_63": 0.1464,
    "ethgroup_10": 0.7427,
    "ethgroup_2": 0.5044,
    "ethgroup_3": 1.0247,
    "ethgroup_4": 0.9189,
    "ethgroup_5": -1.6371,
    "ethgroup_6": -0.7816,
    "ethgroup_7": 0.0191,
    "ethgroup_8": 0.5156,
    "ethgroup_9": 0.3519,
    "ltill_2": -0.6933,
    "mstatus_2": -0.8421,
    "mstatus_3": -0.3890,
    "mstatus_4": 0.3676,
    "mstatus_5": -0.0176,
    "sex_2": 0.0709,
}
"""Table 2 of the paper, column "Original"."""

FOUR_DECIMALS = 5e-5


def schema(*, with_age: bool = True) -> OutputDomain:
    """Return the columns of the paper's dataset; without age every column is categorical, and no move is small."""
    return OutputDomain(
        tuple(
            OutputColumn(name, tuple(range(size) if name == "age" else map(str, range(size))))
            for name, size in LEVELS.items()
            if with_age or name != "age"
        )
    )


def design(columns: OutputDomain, features: Sequence[str]) -> list[Terms]:
    """Return the terms of features named as in the paper's table 2."""
    at = {feature: j for j, feature in enumerate(features)}
    constant = np.zeros((1, len(at)))
    constant[0, at["constant"]] = 1.0
    terms = [Terms.dense((), (), constant)]
    for position, column in enumerate(columns):
        if column.name == "tenure":
            continue
        matrix = np.zeros((column.size, len(at)))
        if column.name == "age":
            matrix[:, at["age"]] = np.arange(column.size)
        else:
            for level in range(1, column.size):
                matrix[level, at[f"{column.name}_{FIRST_CODE[column.name] + level}"]] = 1.0
        terms.append(Terms.dense((position,), (column.size,), matrix))
    return terms


def tenure_logit(
    columns: OutputDomain, coefficients: Floats, *, half_widths: float, with_age: bool = True
) -> SumSystem:
    """Return the logit of tenure on everything else."""
    features = [feature for feature in ORIGINAL if with_age or feature != "age"]
    tenure = columns.position("tenure")
    return regression(
        "logit",
        family="logit",
        terms=design(columns, features),
        label=Lookup((tenure,), (2,), np.array([[0.0], [1.0]])),
        coefficients=coefficients,
        half_widths=half_widths,
    )


def paper_case(*, with_age: bool = True, half_widths: float = FOUR_DECIMALS) -> Problem:
    """Return the paper's case: 23 coefficients as printed. Its dataset has `PAPER_ROWS` records."""
    columns = schema(with_age=with_age)
    coefficients = np.array(
        [value for feature, value in ORIGINAL.items() if with_age or feature != "age"]
    )
    return Problem(
        columns, (tenure_logit(columns, coefficients, half_widths=half_widths, with_age=with_age),)
    )


def refit(problem: Problem, codes: Codes, *, output: int = 0) -> Floats:
    """Return the coefficients that statsmodels fits to a dataset for a logit of the problem."""
    import statsmodels.api as sm

    system = problem.outputs[output]
    x = np.sum([terms.evaluate(codes, system.size) for terms in system.terms], axis=0)
    y = system.model.label.evaluate(codes)[:, 0]
    return np.asarray(sm.Logit(y, x).fit(disp=0, tol=1e-12, method="newton").params)


def census(n_rows: int, *, seed: int = 0) -> Codes:
    """Return a simulated census-like dataset of the paper's schema: skewed margins, and columns that hang together."""
    rng = np.random.default_rng(seed)

    def drawn(weights: Floats) -> np.ndarray:
        shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        return (rng.random(n_rows)[:, None] > shares).sum(axis=1)

    area = rng.choice(7, n_rows, p=[0.36, 0.11, 0.12, 0.11, 0.08, 0.10, 0.12])
    group = rng.choice(
        10, n_rows, p=[0.78, 0.05, 0.004, 0.01, 0.07, 0.06, 0.006, 0.004, 0.006, 0.01]
    )
    age = (
        np.where(group > 0, rng.gamma(2.2, 13.0, n_rows), rng.gamma(2.6, 15.0, n_rows))
        .clip(0, 95)
        .astype(int)
    )
    sex = (rng.random(n_rows) < 0.5 + 0.002 * (age - 40)).astype(int)
    states = [
        np.exp(-(age - 15) / 8.0),
        np.clip((age - 17) / 12.0, 1e-9, 3.0),
        0.08 * np.clip((age - 30) / 20.0, 1e-9, 1.5),
        0.15 * np.clip((age - 25) / 15.0, 1e-9, 1.0),
        np.clip(np.exp((age - 75) / 9.0) * (1 + sex), 1e-9, 9.0),
    ]
    weights = np.stack(states, axis=1)
    weights[age < 16] = [1.0, 0.0, 0.0, 0.0, 0.0]
    status = drawn(weights)
    well = (rng.random(n_rows) > 1.0 / (1.0 + np.exp(3.2 - 0.05 * age - 0.2 * (group > 0)))).astype(
        int
    )
    codes = np.stack(
        [age, area, group, well, status, sex, np.zeros(n_rows, dtype=int)], axis=1
    ).astype(np.int32)
    model = paper_case().outputs[0].model
    eta = np.sum([look.evaluate(codes) for look in model.eta], axis=0)[:, 0]
    rent = 1.0 / (1.0 + np.exp(-eta - 0.15 * ((age > 30) & (status == 1) & (area == 4))))
    codes[:, 6] = rng.random(n_rows) < rent
    return codes


def exact_table(columns: OutputDomain, codes: Codes, names: Sequence[str]) -> CountTable:
    """Return the table of counts of some columns of a dataset, every cell exact."""
    positions = [columns.position(name) for name in names]
    groups = tuple((p, np.arange(columns.sizes[p])) for p in positions)
    nothing = np.zeros(math.prod(columns.shape(positions)), dtype=np.int64)
    counts = CountTable("", groups, nothing, nothing).counts(codes)
    return CountTable(" x ".join(names), groups, counts, counts)


def joint_case(
    n_rows: int = JOINT_ROWS, *, seed: int = 0, half_widths: float = FOUR_DECIMALS
) -> tuple[Problem, Codes]:
    """Return a logit with seven margins and two tables of three columns (2,451 numbers), and the dataset they are from.

    Coefficients are rounded to the decimals that `half_widths` stands for; 0 for all of them.
    """
    codes, columns = census(n_rows, seed=seed), schema()
    coefficients = refit(paper_case(), codes)
    if half_widths:
        coefficients = np.round(coefficients / (2 * half_widths)) * 2 * half_widths
    tables = [[name] for name in columns.names] + [
        ["age", "areap", "tenure"],
        ["age", "mstatus", "tenure"],
    ]
    outputs = (
        tenure_logit(columns, coefficients, half_widths=half_widths),
        *(exact_table(columns, codes, t) for t in tables),
    )
    return Problem(columns, outputs), codes


def main(runs: int = 10) -> None:
    """Print, for each case and run: reached, CPU and wall seconds, proposals, and the largest and mean error as statsmodels refits."""
    import time

    from chaffinch.outputs.solve.engines.incremental import solve

    joint, _ = joint_case()
    cases = [
        ("paper", paper_case(), PAPER_ROWS, runs),
        ("paper without age", paper_case(with_age=False), PAPER_ROWS, max(1, runs // 3)),
        ("joint", joint, JOINT_ROWS, max(1, runs // 3)),
    ]
    solve(joint, joint.domain.start(100, seed=0), proposals=1, seed=0)  # compiles
    for name, problem, n_rows, times in cases:
        for seed in range(times):
            start = problem.domain.start(n_rows, seed=seed)
            cpu = time.process_time()
            solved = solve(problem, start, seed=seed)
            cpu = time.process_time() - cpu
            off = np.abs(refit(problem, solved.codes) - problem.outputs[0].coefficients)
            sooner = next(
                (here.seconds for _, here in pairwise(solved.trace) if here.errors[0].mean <= 4e-4),
                np.nan,
            )
            wrong = sum(error.outside for error in solved.errors[1:])
            print(
                f"{name:18} seed {seed} reached {solved.reached} cpu {cpu:.2f} s wall {solved.seconds:.2f} s "
                f"(MAE 4e-4 after {sooner:.2f} s) proposals {solved.proposals:,} max {off.max():.1e} MAE {off.mean():.1e} "
                f"cells wrong {wrong}",
                flush=True,
            )


if __name__ == "__main__":
    main()
