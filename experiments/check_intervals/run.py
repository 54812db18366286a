"""How often the interval of a marginal risk covers it, and how wide it is beside what the estimate varies by.

    python -m experiments.check_intervals.run [populations] [splits] [cases ...]

People are drawn from a population, divided into folds as `check` does, and attacked by ensembles that are made without a search, so that the truth is known: each
dataset is drawn from the population, and a share of its records is copied from the fold's own people. With a share of 0 the marginal risk is 0. Otherwise it is that of
these people: the mean over their splits. Two populations: one of five columns by formula, and the records of Texas (see `p1_output_risk`), drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import read_rows, run_study, write_rows
from chaffinch.outputs.check.assessment import folds
from chaffinch.outputs.check.attribution import (
    KeyAttack,
    RiskMeasure,
    attack_of,
    ensemble_tcap,
    measures_of,
)
from chaffinch.outputs.domain import (
    Codes,
    OutputColumn,
    OutputDomain,
)
from experiments.p1_output_risk.people import people

HERE = Path(__file__).resolve().parent

Draw = Callable[[np.random.Generator, int], Codes]
SIZES = (6, 4, 3, 2, 3)
CASES = [
    ("formula", 300, 2, 0.0),
    ("formula", 300, 12, 0.0),
    ("formula", 300, 50, 0.0),
    ("formula", 1000, 10, 0.0),
    ("formula", 1000, 50, 0.0),
    ("formula", 300, 50, 0.3),
    ("formula", 1000, 50, 0.1),
    ("formula", 1000, 50, 0.3),
    ("texas", 1000, 50, 0.0),
    ("texas", 1000, 50, 0.1),
]
"""Population, people, syntheses for each fold, and the share of copied records."""
HEAD = [
    "population",
    "people",
    "syntheses",
    "copied",
    "assessments",
    "marginal risk",
    "error / sd, matched_rows",
    "error / sd, all_rows",
    "covered, matched_rows",
    "covered, all_rows",
    "covered together",
]


def of_formula() -> tuple[Draw, KeyAttack]:
    """Return a population whose last column follows the first two half of the time, and the attack on it."""

    def draw(rng: np.random.Generator, n: int) -> Codes:
        x = np.stack([rng.integers(0, size, n) for size in SIZES[:-1]], axis=1)
        y = np.where(rng.random(n) < 0.5, (x[:, 0] + x[:, 1]) % 3, rng.integers(0, 3, n))
        return np.c_[x, y].astype(np.int32)

    fields = OutputDomain(
        tuple(OutputColumn("abcdy"[k], tuple(range(size))) for k, size in enumerate(SIZES))
    )
    return draw, attack_of(fields, "abcd", "y", sizes=(2, 4))


def of_texas() -> tuple[Draw, KeyAttack] | None:
    """Return the records of Texas as a population; None where they are absent."""
    who = people("texas")
    if who is None:
        return None
    return lambda rng, n: who.codes[rng.integers(0, len(who.codes), n)], attack_of(
        who.fields, who.keys, who.label
    )


def assessed(
    draw: Draw,
    attack: KeyAttack,
    codes: Codes,
    rng: np.random.Generator,
    syntheses: int,
    copied: float,
) -> tuple[RiskMeasure, ...]:
    """Return the measures of one split of some people, by ensembles of known truth."""
    found = []
    for fold in folds(len(codes), seed=rng):
        group = np.full(len(codes), -1)
        group[fold.compared], group[fold.holdout] = 0, 1
        n_copied = int(copied * len(fold.original))
        datasets = []
        for _ in range(syntheses):
            one = draw(rng, len(fold.original))
            one[:n_copied] = codes[rng.choice(fold.original, n_copied, replace=False)]
            datasets.append(one)
        found.append(ensemble_tcap(datasets, codes, group, attack, threads=1))
    return measures_of({attack.sensitive: found}, {attack.sensitive: found})


def row_of(
    case: tuple[str, int, int, float],
    draw: Draw,
    attack: KeyAttack,
    n_populations: int,
    n_splits: int,
) -> list[Any]:
    """Return a line of the result."""
    name, n, syntheses, copied = case
    values, errors, ends = (
        np.zeros((n_populations, n_splits, 2, *more)) for more in ((), (), (2,))
    )
    for p in range(n_populations):
        codes = draw(np.random.default_rng((1, p)), n)
        for s in range(n_splits):
            measures = assessed(
                draw, attack, codes, np.random.default_rng((2, p, s)), syntheses, copied
            )
            values[p, s] = [one.marginal.value for one in measures]
            errors[p, s] = [one.marginal.error for one in measures]
            ends[p, s] = [(one.marginal.low, one.marginal.high) for one in measures]
    truth = values.mean(axis=1, keepdims=True) if copied else np.zeros((1, 1, 2))
    spread = np.sqrt(
        ((values - truth) ** 2).sum(axis=(0, 1))
        / (n_populations * (n_splits - (1 if copied else 0)))
    )
    covered = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    return [
        name,
        n,
        syntheses,
        copied,
        n_populations * n_splits,
        f"{values.mean():.4f}",
        *(f"{one:.3f}" for one in np.sqrt((errors**2).mean(axis=(0, 1))) / spread),
        *(f"{one:.3f}" for one in covered.mean(axis=(0, 1))),
        f"{covered.all(axis=2).mean():.3f}",
    ]


def main(n_populations: int = 10, n_splits: int = 20, numbers: tuple[int, ...] = ()) -> None:
    """Print and write the coverage of each case, or of some by number, from 0: lines of the others stay as they are."""
    path = HERE / "coverage.csv"
    cases = [CASES[number] for number in numbers] or CASES
    rows = [list(row.values()) for row in read_rows(path)]
    known: dict[tuple[str, ...], list[Any]] = {tuple(row[:4]): row for row in rows}
    made = {"formula": of_formula(), "texas": of_texas()}
    for case in cases:
        population = made[case[0]]
        if population is None:
            print(f"{case[0]} is left out: its file is not in the shared folder.")
            continue
        known[tuple(map(str, case))] = row_of(case, *population, n_populations, n_splits)
        print(*known[tuple(map(str, case))], flush=True)
    rows = [known[tuple(map(str, case))] for case in CASES if tuple(map(str, case)) in known]
    write_rows(path, rows, HEAD)


if __name__ == "__main__":
    run_study(main)
