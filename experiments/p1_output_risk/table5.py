"""P1's table 5 on open census files: TCAP of each fold and of each fold of fold 1, its spread, the prior and appendix A's baseline, for three targets.

    python -m experiments.p1_output_risk.table5 [run] [summarise]

`run` appends each finished synthesis to `table5_runs.csv` and leaves out what is there, so it can be stopped and started again. `summarise` writes
`table5.csv` from that file. TCAP is taken for every set of 3 to 6 of the other six columns and averaged, as in P1's table 5.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import read_rows, run_parts
from chaffinch.outputs.check.attribution import CONVENTIONS, attack_of, ensemble_tcap
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Codes, Floats
from chaffinch.outputs.solve.engines.incremental import solve
from experiments.cells import append_rows
from experiments.p1_output_risk.people import DATASETS, People, people
from experiments.p1_output_risk.run import logit, read, save

HERE = Path(__file__).resolve().parent

SYNTHESES = 10
FOLDS = {"1": "fold", "2": "fold", "1.1": "fold_fold", "1.2": "fold_fold"}
TARGETS = {
    "texas": ("rent", "marital", "ill"),
    "england": ("ill", "marital", "student"),
    "scotland": ("ill", "marital", "student"),
}
"""The label of the logit first, as in P1's experiments; appendix A speaks of three targets and names none."""
RESULTS = HERE / "table5_runs.csv"
KEYS = ("data", "fold", "synthesis")
HEAD = [
    *KEYS,
    "target",
    "convention",
    "original",
    "holdout",
    "prior",
    "baseline",
    "reached",
    "CPU s",
]


def folds(n: int) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return for each fold the people behind its output and those held out: halves, and the halves of the first half."""
    order = np.random.default_rng(1).permutation(n)
    one, two = order[: n // 2], order[n // 2 :]
    first, second = one[: len(one) // 2], one[len(one) // 2 :]
    return {"1": (one, two), "2": (two, one), "1.1": (first, second), "1.2": (second, first)}


def synthesis(who: People, data: str, fold: str, number: int) -> Iterator[list[Any]]:
    """Yield a row for each target and convention of one synthesis from the logit of a fold, and of a dataset that knows no output."""
    began = time.process_time()
    behind, held_out = folds(len(who.codes))[fold]
    spec = recipes_of([logit(who)], who.fields).computed(who.codes[behind])
    problem = spec.problem(len(behind))
    first, search, other = np.random.SeedSequence([number, list(FOLDS).index(fold)]).spawn(3)
    solved = solve(problem, problem.domain.start(len(behind), seed=first), seed=search)
    ignorant = problem.domain.start(len(behind), seed=other)
    group = np.full(len(who.codes), -1, dtype=np.int8)
    group[behind], group[held_out] = 0, 1
    for target in TARGETS[data]:
        tcap, prior = (_tcap(dataset, who, group, target) for dataset in (solved.codes, ignorant))
        shares = np.bincount(who.codes[behind, who.fields.position(target)]) / len(behind)
        seconds = time.process_time() - began
        for c, convention in enumerate(CONVENTIONS):
            values = (tcap[0, c], tcap[1, c], prior[0, c], float((shares**2).sum()))
            yield [
                data,
                fold,
                number,
                target,
                convention,
                *(f"{value:.5f}" for value in values),
                solved.reached,
                f"{seconds:.1f}",
            ]


def _tcap(dataset: Codes, who: People, group: NDArray[np.int8], target: str) -> Floats:
    """TCAP against both groups by both conventions, averaged over key sets."""
    attack = attack_of(who.fields, who.fields.names, target, sizes=(3, 6))
    return ensemble_tcap([dataset], who.codes, group, attack, threads=1).means[0]


def run() -> None:
    """Make the syntheses that are not done, the first of every fold before the second."""
    done = {tuple(row[name] for name in KEYS) for row in read_rows(RESULTS)}
    files = {data: who for data in DATASETS if (who := people(data)) is not None}
    for number in range(1, 1 + SYNTHESES):
        for data, who in files.items():
            for fold in FOLDS:
                if (data, fold, str(number)) in done:
                    continue
                rows = list(synthesis(who, data, fold, number))
                append_rows(RESULTS, HEAD, rows)
                print(data, fold, number, rows[0], flush=True)


def summarise() -> None:
    """Write P1's table 5 and ours: each fold with its spread over syntheses, then mean and spread of two folds as P1 has them (population formula)."""
    rows: list[list[Any]] = [
        [
            "paper",
            "tenure",
            "matched_rows",
            row["experiment"],
            row["fold"],
            "" if row["fold"] in ("mean", "sd") else 1,
            *(f"{float(row[name]):.4f}" for name in ("tcap_original", "tcap_holdout")),
            f"{float(row['difference']):{'' if row['fold'] == 'sd' else '+'}.4f}",
            "",
            "",
            "",
        ]
        for row in read("table05_tcap")
    ]
    found = read_rows(RESULTS)
    for data in dict.fromkeys(row["data"] for row in found):
        for target in TARGETS[data]:
            for convention in CONVENTIONS:
                mine = [
                    row
                    for row in found
                    if (row["data"], row["target"], row["convention"]) == (data, target, convention)
                ]
                for experiment in dict.fromkeys(FOLDS.values()):
                    rows += _level(data, target, convention, experiment, mine)
    head = [
        "data",
        "target",
        "convention",
        "experiment",
        "fold",
        "syntheses",
        "original",
        "holdout",
        "original - holdout",
        "sd of one synthesis",
        "prior",
        "baseline",
    ]
    save("table5", head, rows)


def _level(
    data: str, target: str, convention: str, experiment: str, found: list[dict[str, str]]
) -> list[list[Any]]:
    """The rows of both folds of a level, their mean and their spread; of syntheses that speak of both groups."""
    rows, means = [], []
    for fold in (name for name, level in FOLDS.items() if level == experiment):
        mine = [row for row in found if row["fold"] == fold]
        values = np.array(
            [
                [float(row[name]) for name in ("original", "holdout", "prior", "baseline")]
                for row in mine
            ]
        )
        prior = values[np.isfinite(values[:, 2]), 2]
        baseline, values = values[0, 3], values[np.isfinite(values[:, :2]).all(axis=1), :2]
        apart = values[:, 0] - values[:, 1]
        means.append((*values.mean(axis=0), apart.mean()))
        spread = f"{apart.std(ddof=1):.4f}" if len(apart) > 1 else ""
        before = f"{prior.mean():.4f}" if len(prior) else ""
        rows.append(
            [
                data,
                target,
                convention,
                experiment,
                fold,
                len(apart),
                *_shown(means[-1]),
                spread,
                before,
                f"{baseline:.4f}",
            ]
        )
    rows.append(
        [
            data,
            target,
            convention,
            experiment,
            "mean",
            "",
            *_shown(np.mean(means, axis=0)),
            "",
            "",
            "",
        ]
    )
    spreads = (f"{number:.4f}" for number in np.std(means, axis=0))
    rows.append([data, target, convention, experiment, "sd", "", *spreads, "", "", ""])
    return rows


def _shown(numbers: Sequence[float] | Floats) -> list[str]:
    original, holdout, apart = numbers
    return [f"{original:.4f}", f"{holdout:.4f}", f"{apart:+.4f}"]


PARTS = {"run": run, "summarise": summarise}

if __name__ == "__main__":
    run_parts(PARTS)
