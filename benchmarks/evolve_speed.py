"""Evolving datasets from published numbers: P1's case, a logit with more than 2,000 cells of tables, and P1's algorithm beside it.

    python -m benchmarks.evolve_speed                       # all parts
    python -m benchmarks.evolve_speed paper joint           # some of: paper joint ea command

Every error is that of statsmodels, which fits the finished datasets; cells are counted by numpy. One thread throughout, for statsmodels
too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import statsmodels.api as sm
import statsmodels.formula.api as smf
from threadpoolctl import threadpool_limits

from benchmarks.common import HERE, best, save
from benchmarks.evolving_cases import (
    FOUR_DECIMALS,
    JOINT_ROWS,
    PAPER_ROWS,
    joint_case,
    paper_case,
    refit,
)
from chaffinch.outputs.domain import Codes
from chaffinch.outputs.equations import CountTable, Problem
from chaffinch.outputs.solve.engines import ea, incremental, maxent
from chaffinch.outputs.solve.engines.incremental import Solved

PAPER_MAE = 4e-4
"""The mean absolute error that P1 reports, of coefficients averaged over ten runs; here each run alone has to reach it."""
PAPER_FITS = 32 * 2_000
"""Refits of one run of P1: a population of 32 over 2,000 generations."""
EA_HEAD = [
    "selection",
    "fitness",
    "generations",
    "CPU s",
    "CPU ms a generation",
    "MAE at the start",
    "MAE",
    "largest error",
    "reached MAE 0.0004",
]

Row = list[object]


def warm_up(problem: Problem) -> None:
    """Compile, or load what was compiled."""
    for engine in (incremental, maxent):
        engine.solve(problem, problem.domain.start(200, seed=0), proposals=1, seed=0)


def timed(work: Callable[[], Solved]) -> tuple[Solved, float, float]:
    """Return what a search found, its wall seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    solved = work()
    return solved, time.perf_counter() - wall, time.process_time() - cpu


def sooner(solved: Solved) -> tuple[float, int]:
    """Return the seconds and the proposals after which the mean error of the coefficients, to first order, was at most that of P1."""
    for _, here in pairwise(solved.trace):
        if here.errors[0].mean <= PAPER_MAE:
            return here.seconds, here.proposals
    return np.nan, 0


def paper(runs: int = 10) -> tuple[list[Row], list[Row]]:
    """P1's case from uniform starts; each run is reported. Then what one refit costs, in the same process."""
    problem = paper_case()
    warm_up(problem)
    target = problem.outputs[0].coefficients  # type: ignore[union-attr]
    rows: list[Row] = []
    reached: dict[str, list[float]] = {}
    soon: list[float] = []
    for engine, times in ((incremental, runs), (maxent, max(1, runs // 3))):
        name = engine.__name__.rsplit(".", 1)[1]
        for seed in range(times):
            start = problem.domain.start(PAPER_ROWS, seed=seed)
            solved, wall, cpu = timed(lambda: engine.solve(problem, start, seed=seed))  # noqa: B023
            off = np.abs(refit(problem, solved.codes) - target)
            seconds, proposals = sooner(solved)
            # The same search, stopped there: the first-order estimate is checked by a refit.
            then = np.nan
            if proposals:
                half = engine.solve(problem, start, seed=seed, proposals=proposals)
                then = np.abs(refit(problem, half.codes) - target).mean()
            four = bool(solved.reached and (off <= FOUR_DECIMALS).all())
            rows.append(
                [
                    name,
                    seed,
                    "yes" if four else "no",
                    f"{wall:.2f}",
                    f"{cpu:.2f}",
                    f"{off.max():.6f}",
                    f"{off.mean():.6f}",
                    f"{seconds:.2f}",
                    f"{then:.6f}",
                    f"{solved.proposals:,}",
                ]
            )
            print(*rows[-1], flush=True)
            reached.setdefault(name, []).append(wall)
            soon += [seconds] if name == "incremental" else []
            last = solved.codes
    return rows, ratio(problem, last, median(reached["incremental"]), float(np.median(soon)))


def ratio(problem: Problem, codes: Codes, whole: float, soon: float) -> list[Row]:
    """One statsmodels fit to an evolved dataset, 64,000 of them, and how many times quicker the search was."""
    import pandas as pd

    system = problem.outputs[0]
    x = np.sum([terms.evaluate(codes, system.size) for terms in system.terms], axis=0)  # type: ignore[union-attr]
    y = system.model.label.evaluate(codes)[:, 0]  # type: ignore[union-attr]
    frame = pd.DataFrame(codes, columns=list(problem.domain.names))
    formula = "tenure ~ age + C(areap) + C(ethgroup) + C(ltill) + C(mstatus) + C(sex)"
    bare = best(lambda: sm.Logit(y, x).fit(disp=0), repeats=5)
    fit = best(lambda: smf.logit(formula, frame).fit(disp=0), repeats=5)
    # A candidate is a new dataset, so its design has to be made: the formula is what P1's refits need, the bare fit the least they could.
    return [
        ["one fit by statsmodels' formula, 50,357 x 23; quickest of 5", f"{fit:.3f}", "", ""],
        ["one fit by statsmodels, design made already; quickest of 5", f"{bare:.3f}", "", ""],
        [
            f"{PAPER_FITS:,} fits by formula, as P1 needs, extrapolated",
            f"{PAPER_FITS * fit:.0f}",
            "1",
            "",
        ],
        [
            f"{PAPER_FITS:,} fits with designs made already, extrapolated",
            f"{PAPER_FITS * bare:.0f}",
            "",
            "1",
        ],
        [
            "search until the mean error is at most 0.0004, median",
            f"{soon:.3f}",
            *_times(soon, fit, bare),
        ],
        [
            "search until all coefficients have four decimals, median",
            f"{whole:.3f}",
            *_times(whole, fit, bare),
        ],
    ]


def _times(seconds: float, *fits: float) -> list[str]:
    return [f"{PAPER_FITS * fit / seconds:,.0f}" for fit in fits]


def wrong_cells(problem: Problem, codes: Codes) -> int:
    """Return how many cells of the problem's tables differ, counted by numpy."""
    wrong = 0
    for table in problem.outputs:
        if isinstance(table, CountTable):
            positions = [position for position, _ in table.groups]
            sizes = [problem.domain.sizes[position] for position in positions]
            cells = np.ravel_multi_index(codes[:, positions].T, sizes)
            wrong += int((np.bincount(cells, minlength=len(table.lo)) != table.lo).sum())
    return wrong


def joint(runs: int = 5) -> list[Row]:
    """A logit, seven margins and two tables of three columns at n = 25,178: each run."""
    problem, original = joint_case()
    if wrong_cells(problem, original):
        raise RuntimeError("The tables are not those of the dataset they come from.")
    warm_up(problem)
    target = problem.outputs[0].coefficients  # type: ignore[union-attr]
    n_cells = sum(len(table.lo) for table in problem.outputs if isinstance(table, CountTable))
    rows: list[Row] = []
    for seed in range(runs):
        start = problem.domain.start(JOINT_ROWS, seed=seed)
        solved, wall, cpu = timed(lambda: incremental.solve(problem, start, seed=seed))  # noqa: B023
        off = np.abs(refit(problem, solved.codes) - target)
        rows.append(
            [
                seed,
                "yes" if solved.reached else "no",
                f"{wall:.1f}",
                f"{cpu:.1f}",
                f"{n_cells:,}",
                wrong_cells(problem, solved.codes),
                f"{off.max():.6f}",
                f"{off.mean():.6f}",
                f"{solved.proposals:,}",
            ]
        )
        print(*rows[-1], flush=True)
    return rows


def literal() -> list[Row]:
    """P1's table 1 as printed, under each rule of selection that we name, and in the other metric."""
    problem = paper_case()
    ea.solve(
        problem,
        problem.domain.start(200, seed=0),
        seed=0,
        settings=ea.EvolutionSettings(generations=1),
    )  # compiles
    target = problem.outputs[0].coefficients  # type: ignore[union-attr]
    rows: list[Row] = []
    for selection, fitness in (
        ("tournament", "score"),
        ("best", "score"),
        ("tournament", "fisher"),
        ("roulette", "score"),
        ("truncation", "score"),
    ):
        settings = ea.EvolutionSettings(selection=selection, fitness=fitness)  # type: ignore[arg-type]
        start = problem.domain.start(PAPER_ROWS, seed=0)
        first = np.abs(refit(problem, start) - target)
        solved, _, cpu = timed(lambda: ea.solve(problem, start, seed=1, settings=settings))  # noqa: B023
        off, generations = (
            np.abs(refit(problem, solved.codes) - target),
            solved.proposals // settings.population_size,
        )
        rows.append(
            [
                selection,
                fitness,
                f"{generations:,}",
                f"{cpu:.1f}",
                f"{1_000 * cpu / generations:.1f}",
                f"{first.mean():.4f}",
                f"{off.mean():.4f}",
                f"{off.max():.4f}",
                "yes" if off.mean() <= PAPER_MAE else "no",
            ]
        )
        print(*rows[-1], flush=True)
        save("evolve_ea", EA_HEAD, rows, "statsmodels")  # each takes long: keep what there is
    return rows


def command(runs: int = 3) -> list[Row]:
    """`chaffinch evolve` as a person waits for it: a fresh process, the refit by statsmodels and the Parquet file included."""
    rows: list[Row] = []
    for name in ("cmc", "p1_table2"):
        times = []
        with tempfile.TemporaryDirectory() as folder:
            words = [
                str(HERE.parent / "examples" / "outputs" / f"{name}.toml"),
                "-o",
                str(Path(folder) / "out.parquet"),
            ]
            for _ in range(runs + 1):
                began = time.perf_counter()
                subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "chaffinch",
                        "evolve",
                        *words,
                        "--seed",
                        "1",
                        "--quiet",
                        "--overwrite",
                    ],
                    check=True,
                )
                times.append(time.perf_counter() - began)
        rows.append([f"examples/outputs/{name}.toml", f"{min(times[1:]):.1f}"])
        print(*rows[-1], flush=True)
    return rows


def main(asked: list[str]) -> None:
    """Measure what was asked for, and save it."""
    if "paper" in asked:
        runs, ratios = paper()
        head = [
            "engine",
            "seed",
            "all to four decimals",
            "s",
            "CPU s",
            "largest error",
            "MAE",
            "s to MAE 0.0004",
            "MAE refitted then",
            "proposals",
        ]
        save("evolve_paper", head, runs, "statsmodels")
        save(
            "evolve_ratio",
            ["what", "s", "times quicker than by formula", "than with designs"],
            ratios,
            "statsmodels",
        )
    if "joint" in asked:
        head = [
            "seed",
            "reached",
            "s",
            "CPU s",
            "cells",
            "cells wrong",
            "largest coefficient error",
            "MAE",
            "proposals",
        ]
        save("evolve_joint", head, joint(), "statsmodels")
    if "ea" in asked:
        literal()
    if "command" in asked:
        save("evolve_command", ["chaffinch evolve", "s"], command(), "statsmodels")


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main(sys.argv[1:] or ["paper", "joint", "ea", "command"])
