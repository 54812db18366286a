"""Rerun P1's tables 2 to 4 and figures 1 and 2 with P1's own algorithm: error by generation, three sizes, two starts, rules of selection.

    python -m experiments.p1_output_risk.evolution [run] [summarise] [shrink]

`run` appends each finished run to `evolution.csv` and leaves out what is there, so it can be stopped and started again at any time. It goes round by
round (the first run of every case, then the second), so that what there is when it is stopped is balanced. `summarise` makes
the tables and figures from that file.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import read_rows, run_parts
from benchmarks.evolving_cases import census
from chaffinch._base.svg import Axis
from chaffinch.outputs.domain import Codes, OutputDomain
from chaffinch.outputs.equations import Problem
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.solve.engines import incremental
from chaffinch.outputs.solve.engines.ea import solve
from chaffinch.outputs.solve.population import BreedingRates, Population
from chaffinch.outputs.solve.settings import EvolutionSettings
from chaffinch.report.charts import Curve, Point, curves, frame
from experiments.cells import append_rows
from experiments.p1_output_risk.run import TABLES, feature, read, save, spec_of

HERE = Path(__file__).resolve().parent

RULES: dict[str, dict[str, Any]] = {
    "tournament of 2": {},
    "best 2": {"selection": "best", "best": 2},
    "best 1": {"selection": "best", "best": 1},
}
STARTS = ("uniform", "univariate")
RUNS = {50_357: 10, 25_178: 5, 12_589: 5}
"""P1 has ten, two and two; more where they are cheap."""
GENERATIONS = 2_000
EVERY = 50
"""Generations between the errors that are kept."""
CHILDREN = 16
"""Children that are fitted to see what mutation does."""
EXPERIMENTS = {50_357: "whole", 25_178: "fold", 12_589: "fold_fold"}
PAPER_MAE = {50_357: 0.0004, 25_178: 0.0007, 12_589: 0.0002}
KEYS = ("rows", "start", "selection", "run")
RESULTS = HERE / "evolution.csv"


@dataclass(frozen=True)
class Case:
    """One run: how many records, where it starts, how parents are chosen, and its number."""

    rows: int
    start: str
    selection: str
    run: int

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others, as the file has it."""
        return tuple(str(getattr(self, name)) for name in KEYS)


def cases() -> list[Case]:
    """Return all runs, round by round, small tables first."""
    return [
        Case(rows, start, rule, number)
        for number in range(1, 1 + max(RUNS.values()))
        for rows in sorted(RUNS)
        if number <= RUNS[rows]
        for start in STARTS
        for rule in RULES
    ]


def problem_of(rows: int, start: str) -> Problem:
    """Return one of P1's regressions; for a univariate start with the margins of a simulated census of its schema, since P1 prints none."""
    problem = spec_of(table_of(rows), rows).problem(rows)
    if start == "uniform":
        return problem
    people = census(rows, seed=1)
    # Half a record more for each level, so that none is impossible.
    columns = tuple(
        type(column)(
            column.name,
            column.size,
            column.values,
            0.5 + np.bincount(people[:, c], minlength=column.size),
        )
        for c, column in enumerate(problem.domain)
    )
    return Problem(OutputDomain(columns), problem.outputs)


def ran(case: Case) -> dict[str, Any]:
    """Return a run: error of what statsmodels fits in the end, and the algorithm's own by generation."""
    problem = problem_of(case.rows, case.start)
    settings = EvolutionSettings(**RULES[case.selection])
    first, search = np.random.SeedSequence(case.run).spawn(2)
    began = time.process_time()
    solved = solve(
        problem,
        problem.domain.start(case.rows, seed=first),
        seed=search,
        settings=settings,
    )
    seconds = time.process_time() - began
    fitted = refitted(case.rows, solved.codes)
    generations = solved.proposals // settings.population_size
    row: dict[str, Any] = {name: getattr(case, name) for name in KEYS}
    row |= {"generations": generations, "reached": solved.reached, "CPU s": f"{seconds:.1f}"}
    row |= mistakes(fitted, case.rows)
    row |= {name: f"{value:.6f}" for name, value in fitted.items()}
    # A run that has arrived ends: its last error stands for the generations that it did not need.
    errors = {point.proposals: point.objective for point in solved.trace}
    last = errors[max(errors)]
    row |= {f"MSE {g}": f"{errors.get(g, last):.3g}" for g in range(0, GENERATIONS + 1, EVERY)}
    return row


def refitted(rows: int, codes: Codes) -> dict[str, float]:
    """Return the coefficients that statsmodels fits to a dataset, by P1's names."""
    printed = {feature(row): row["feature"] for row in read(table_of(rows))}
    (logit,) = compare_numbers(spec_of(table_of(rows), rows), codes)
    return {printed[number.name]: number.value for number in logit.numbers}


def table_of(rows: int) -> str:
    """Return the name of P1's table for a number of records."""
    return next(table for table, size in TABLES.items() if size == rows)


def originals(rows: int) -> dict[str, float]:
    """Return P1's printed coefficients by their names."""
    return {row["feature"]: float(row["original"]) for row in read(table_of(rows))}


def mistakes(fitted: dict[str, float], rows: int) -> dict[str, str]:
    """Return the mean and the largest absolute error, and how many coefficients have all printed digits."""
    off = np.array([abs(fitted[name] - value) for name, value in originals(rows).items()])
    return {
        "MAE": f"{off.mean():.6f}",
        "largest error": f"{off.max():.6f}",
        "of 23 to four decimals": str(int((off <= 5e-5).sum())),
    }


def run() -> None:
    """Make the runs that are not done."""
    done = {tuple(row[name] for name in KEYS) for row in read_rows(RESULTS)}
    warm = problem_of(12_589, "univariate")
    solve(
        warm, warm.domain.start(200, seed=0), seed=0, settings=EvolutionSettings(generations=1)
    )  # compiles
    for case in cases():
        if case.key in done:
            continue
        row = ran(case)
        append_rows(RESULTS, list(row), [list(row.values())])
        print(*case.key, row["MAE"], row["CPU s"], flush=True)


def summarise() -> None:
    """Make tables and figures of the runs that are done."""
    runs = read_rows(RESULTS)
    by_case = {
        (rows, start, rule): mine
        for rows in RUNS
        for start in STARTS
        for rule in RULES
        if (
            mine := [
                r
                for r in runs
                if (r["rows"], r["start"], r["selection"]) == (str(rows), start, rule)
            ]
        )
    }
    summary: list[list[Any]] = []
    for (rows, start, rule), mine in by_case.items():
        errors = np.array([float(r["MAE"]) for r in mine])
        seconds = np.array([float(r["CPU s"]) for r in mine])
        # P1's MAE of the whole data is that of the mean of ten runs.
        together = np.mean(
            [
                [abs(float(r[name]) - value) for name, value in originals(rows).items()]
                for r in mine
            ],
            axis=0,
        )
        of_mean = np.abs(
            np.mean(
                [[float(r[name]) - value for name, value in originals(rows).items()] for r in mine],
                axis=0,
            )
        )
        summary.append(
            [
                EXPERIMENTS[rows],
                rows,
                start,
                rule,
                len(mine),
                f"{errors.mean():.6f}",
                f"{errors.min():.6f}",
                f"{errors.max():.6f}",
                f"{of_mean.mean():.6f}",
                f"{together.max():.6f}",
                PAPER_MAE[rows],
                f"{seconds.mean():.1f}",
                f"{1_000 * seconds.mean() / GENERATIONS:.1f}",
            ]
        )
    head = [
        "experiment",
        "rows",
        "start",
        "selection",
        "runs",
        "MAE",
        "least",
        "largest",
        "MAE of the mean",
        "largest of a coefficient",
        "MAE (paper)",
        "CPU s a run",
        "CPU ms a generation",
    ]
    save("evolution_summary", head, summary)
    minutes = sum(float(r["CPU s"]) for r in runs) / 60.0
    write_block("evolution", _shown(by_case))
    write_block("evolution time", f"{len(runs)} runs took {minutes:.0f} CPU minutes.")
    save("evolution_tables", *_tables(by_case))
    for name, rows in (("figure1", 50_357), ("figure2", 25_178), ("figure2_fold_fold", 12_589)):
        figure(name, rows, {case[1:]: mine for case, mine in by_case.items() if case[0] == rows})


def _shown(by_case: dict[tuple[int, str, str], list[dict[str, str]]]) -> str:
    """The mean error of each case and how many runs it is of, as a table of the README."""
    arms = [(start, rule) for start in STARTS for rule in RULES]
    lines = [
        f"| records | P1 | {' | '.join(', '.join(arm) for arm in arms)} |",
        "|---:|---:|" + "---:|" * len(arms),
    ]
    for rows in sorted(RUNS):
        cells = []
        for arm in arms:
            errors = [float(r["MAE"]) for r in by_case.get((rows, *arm), [])]
            mean = float(np.mean(errors)) if errors else np.nan
            cells.append(f"{mean:.{4 if mean < 0.01 else 3}f} ({len(errors)})" if errors else "")
        lines.append(f"| {rows:,} | {PAPER_MAE[rows]} | {' | '.join(cells)} |")
    return "\n" + "\n".join(lines) + "\n"


def write_block(name: str, text: str) -> None:
    """Put text between the marks of a name in the README."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(f"<!-- {name} -->")
    _, mark, after = rest.partition(f"<!-- /{name} -->")
    if not mark:
        raise RuntimeError(f"The README has no marks for '{name}'.")
    readme.write_text(f"{before}<!-- {name} -->{text}{mark}{after}")


def _tables(
    by_case: dict[tuple[int, str, str], list[dict[str, str]]],
) -> tuple[list[str], list[list[Any]]]:
    """P1's tables 2 to 4 with our coefficients beside, the mean of the runs of each case."""
    arms = [(start, rule) for start in STARTS for rule in RULES]
    table: list[list[Any]] = []
    for rows in RUNS:
        for row in read(table_of(rows)):
            ours = [
                f"{np.mean([float(r[row['feature']]) for r in mine]):.4f}"
                if (mine := by_case.get((rows, *arm)))
                else ""
                for arm in arms
            ]
            table.append(
                [row["experiment"], row["feature"], row["original"], row["synthetic"], *ours]
            )
    head = [
        "experiment",
        "feature",
        "original (paper)",
        "synthetic (paper)",
        *(f"{start}, {rule}" for start, rule in arms),
    ]
    return head, table


def figure(name: str, rows: int, arms: dict[tuple[str, str], list[dict[str, str]]]) -> None:
    """Draw the error by generation on a scale of tens, a line for each run, runs of one case alike."""
    size = (640.0, 420.0)
    (left, right), (bottom, top) = frame(size)
    lines = []
    for look, (start, rule) in enumerate((start, rule) for start in STARTS for rule in RULES):
        for run_ in arms.get((start, rule), []):
            errors = [
                (g, max(float(run_[f"MSE {g}"]), 1e-10)) for g in range(0, GENERATIONS + 1, EVERY)
            ]
            lines.append(
                Curve(
                    f"{start}, {rule}",
                    tuple(Point(float(g), e) for g, e in errors),
                    marks=False,
                    look=look,
                )
            )
    ends = [point.y for line in lines for point in line.points]
    low, high = 10.0 ** np.floor(np.log10(min(ends))), 10.0 ** np.ceil(np.log10(max(ends)))
    across, up = (
        Axis(0.0, float(GENERATIONS), left, right),
        Axis(float(low), float(high), bottom, top, log=True),
    )
    most = max((len(runs) for runs in arms.values()), default=0)
    drawn = curves(
        name,
        f"Error by generation, {rows:,} records",
        f"Mean squared error of 23 coefficients over 2,000 generations, up to {most} runs for each of {len(arms)} cases.",
        lines,
        across=across,
        up=up,
        labels=("generation", "mean squared error"),
        size=size,
    )
    (HERE / f"{name}.svg").write_text(str(drawn))


def shrink() -> None:
    """Why size matters: what one round of mutation does to a dataset that has P1's coefficients, and how far its children lie apart."""
    rows_: list[list[Any]] = []
    for rows in RUNS:
        problem = problem_of(rows, "uniform")
        target = np.array(list(originals(rows).values()))
        arrived = incremental.solve(problem, problem.domain.start(rows, seed=1), seed=2)
        settings = EvolutionSettings()
        population = Population(
            problem.domain, arrived.codes, settings.population_size, np.random.default_rng(3)
        )
        for generation in (0, 250, 500, 750, 1_000):
            rate = settings.mutation_at(generation)
            population.breed(
                np.zeros(len(population), dtype=np.intp), BreedingRates(0.0, 0.0, rate)
            )
            fits = [
                refitted(rows, population.dataset(len(population) + k)) for k in range(CHILDREN)
            ]
            kept = np.array(
                [
                    [fit[name] for name in originals(rows)] @ target / (target @ target)
                    for fit in fits
                ]
            )
            rows_.append(
                [
                    rows,
                    generation,
                    f"{rate:.6f}",
                    CHILDREN,
                    f"{100 * (1 - kept.mean()):.3f}",
                    f"{100 * kept.std(ddof=1):.3f}",
                ]
            )
    save(
        "evolution_shrink",
        [
            "rows",
            "from generation",
            "mutation",
            "children",
            "coefficients shrink by %",
            "spread between children %",
        ],
        rows_,
    )


PARTS = {"run": run, "summarise": summarise, "shrink": shrink}

if __name__ == "__main__":
    run_parts(PARTS)
