"""How marginal risk depends on what the attacker knows beside the outputs: all univariate margins (of all people, or of the fold), published ones, or nothing.

    python -m experiments.check_start.run [tables ...]

Three census files and two other tables, up to 4,000 people of each without those of rare words (that fewer than 60 of them have, so that every fold has its estimates), six keys; P1's output (a logit with main effects, here with two decimals), alone and with three
tables of two columns. Searches run in this process, where starting one costs nothing. For each start the check of both folds; and the share of *certain* rows of datasets from the outputs of all people (rows of an equivalence class by all six
keys in which all have one value) whose keys somebody has: P1's figures give 0.2279 / 0.6317 = 36 %.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from benchmarks.common import Option, read_rows, run_study, write_rows
from benchmarks.data import bundled
from chaffinch.outputs.check import CheckInputs, CheckSettings, check_recipes
from chaffinch.outputs.check.assessment import DatasetEnsemble
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.solve.engines import incremental
from experiments.p1_output_risk.paper_figures import prepared, whole_data
from experiments.p1_output_risk.people import DATASETS, People, people

HERE = Path(__file__).resolve().parent

STARTS = ("uniform", "published", "margins", "fold")
MOST_PEOPLE = 4_000
FEWEST = 60
SYNTHESES = 12
PROPOSALS = 1_000_000
HEAD = [
    "data",
    "people",
    "outputs",
    "start",
    "reached",
    "convention",
    "original",
    "holdout",
    "marginal risk",
    "low",
    "high",
    "error",
    "without outputs",
    "marginal risk without outputs",
    "certain rows that match",
    "CPU seconds",
]
OTHERS = {
    "cmc": (
        (
            "wife_age",
            "wife_education",
            "husband_education",
            "num_children",
            "husband_occupation",
            "standard_of_living",
        ),
        "contraceptive_method",
        1,
    ),
    "adult": (
        ("age", "education", "marital_status", "occupation", "race", "sex"),
        "income",
        ">50K",
    ),
}


def made_here(spec: Outputs, *, copies: int, seed: Any, progress: Any = None) -> DatasetEnsemble:
    """Return datasets as `evolve` makes them, without processes and refits."""
    problem, solved = spec.problem(), []
    for stream in seed.spawn(copies):
        first, search = stream.spawn(2)
        start = problem.domain.start(spec.n_rows(), seed=first)
        solved.append(incremental.solve(problem, start, proposals=PROPOSALS, seed=search))
    return DatasetEnsemble(tuple(one.codes for one in solved), tuple(one.reached for one in solved))


def other(name: str) -> People:
    """Return the people of a bundled table: six keys, and whether the label is one value."""
    keys, label, success = OTHERS[name]
    frame = bundled(name).to_pandas()[[*keys, label]].dropna()
    columns = {key: frame[key].tolist() for key in keys}
    columns[label] = (frame[label] == success).astype(int).tolist()
    fields = OutputDomain(
        tuple(OutputColumn(key, tuple(sorted(set(some)))) for key, some in columns.items())
    )
    return People(fields, fields.codes(columns), label)


def outputs(who: People) -> dict[str, list[dict[str, Any]]]:
    """Return the sets of outputs: P1's logit, and tables of the label by one key each."""
    formula = f"{who.label} ~ {' + '.join(who.keys)}"
    tables = [
        {"name": f"{key} by label", "kind": "table", "by": [key, who.label]}
        for key in who.keys[-3:]
    ]
    logit = {"name": "logit", "kind": "logit", "formula": formula, "decimals": 2}
    return {"logit": [logit], "logit and tables": [logit, *tables]}


def rows_of(name: str, who: People) -> list[list[Any]]:
    """Return a line for each set of outputs, start and convention."""
    rng = np.random.default_rng(1)
    codes = who.codes[np.sort(rng.permutation(len(who.codes))[:MOST_PEOPLE])]
    for column, field in enumerate(who.fields):
        if not field.numeric:
            codes = codes[np.bincount(codes[:, column])[codes[:, column]] >= FEWEST]
    levels = [
        tuple(
            level
            for code, level in enumerate(field.levels)
            if field.numeric or (codes[:, k] == code).any()
        )
        for k, field in enumerate(who.fields)
    ]
    kept = OutputDomain(
        tuple(
            OutputColumn(field.name, some) for field, some in zip(who.fields, levels, strict=True)
        )
    )
    codes = kept.codes(
        {
            field.name: [field.levels[code] for code in codes[:, k]]
            for k, field in enumerate(who.fields)
        }
    )
    who = People(kept, codes, who.label)
    rows: list[list[Any]] = []
    for title, entries in outputs(who).items():
        for start in STARTS:
            if start == "published" and title == "logit":
                continue  # nothing is: the same as uniform
            began = time.process_time()
            settings = CheckSettings(
                keys=who.keys,
                sensitive=[who.label],
                start=start,
                syntheses=SYNTHESES,
                cumulative=False,
                leave_one_out="never",
            )
            recipes = recipes_of(entries, who.fields)
            inputs = CheckInputs(recipes, codes, settings, seed=1, workers=1, maker=made_here)
            found = check_recipes(inputs)
            run = prepared(recipes, codes, settings, seed=1, workers=1, maker=made_here)
            matched, every = (risk.full_mean for risk in whole_data(run, runs=2))
            for one in found.all.measures:
                numbers = (one.original.value, one.holdout.value)
                marginal = (one.marginal.value, one.marginal.low, one.marginal.high)
                rows.append(
                    [
                        name,
                        len(codes),
                        title,
                        start,
                        f"{found.all.reached:.2f}",
                        one.convention,
                        *(f"{value:.4f}" for value in numbers),
                        *(f"{value:+.4f}" for value in marginal),
                        f"{one.marginal.error:.4f}",
                        f"{one.prior.value:.4f}",
                        f"{one.prior_marginal.value:+.4f} ({one.prior_marginal.low:+.4f} to {one.prior_marginal.high:+.4f})",
                        f"{every / matched:.3f}",
                        f"{time.process_time() - began:.0f}",
                    ]
                )
                print(*rows[-1], flush=True)
    return rows


def main(
    names: Annotated[tuple[str, ...], Option("", known=lambda: (*DATASETS, *OTHERS))] = (
        *DATASETS,
        *OTHERS,
    ),
) -> None:
    """Print and write what each start finds; lines of tables that are not asked for stay as they are."""
    path = HERE / "starts.csv"
    before: list[list[Any]] = [list(row.values()) for row in read_rows(path)]
    rows = [row for row in before if row[0] not in names]
    for name in names:
        who = other(name) if name in OTHERS else people(name)
        if who is None:
            print(f"{name} is left out: its file is not in the shared folder.")
            continue
        rows += rows_of(name, who)
        write_rows(path, rows, HEAD)


if __name__ == "__main__":
    run_study(main)
