"""Whether a synthesis may start from the one before, by null moves, instead of from scratch: marginal risk, its error and the spread between syntheses, both ways.

    python -m experiments.check_null_moves.run

Two tables (cmc, and 3,000 people of Adult), a logit and counts, 20 syntheses a fold, two seeds. A chain has its first synthesis from scratch, and each further one by so
many rounds of null moves from the one before: every output stays as it is. Searches run in this process.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.check_speed import ADULT_TABLES, CMC_KEYS, CMC_LOGIT, CMC_TABLES, document, logit
from benchmarks.common import run_study, write_rows
from benchmarks.data import bundled
from chaffinch._base.seeds import seed_sequence
from chaffinch.outputs.check import CheckInputs, CheckSettings, check_recipes
from chaffinch.outputs.check.assessment import DatasetEnsemble
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.records import TableCoder
from chaffinch.outputs.solve.engines import incremental
from chaffinch.outputs.source import DataColumns, open_outputs
from chaffinch.table import read
from experiments.check_null_moves.null_moves import walk

HERE = Path(__file__).resolve().parent

SYNTHESES = 20
ROUNDS = (None, 1, 5, 20)
SEEDS = (1, 2)
HEAD = [
    "data",
    "seed",
    "next synthesis",
    "reached",
    "records changed",
    "marginal risk",
    "error",
    "spread between syntheses",
    "CPU seconds",
]


class Chain:
    """Makes ensembles in this process: each dataset from scratch (`rounds` None), or all but the first by null moves."""

    def __init__(self, rounds: int | None) -> None:
        self.rounds = rounds
        self.changed: list[float] = []

    def __call__(
        self, spec: Outputs, *, copies: int, seed: Any, progress: Any = None
    ) -> DatasetEnsemble:
        """Return so many datasets that reproduce the outputs of a specification."""
        spec = spec.searched
        rows = spec.n_rows()
        problem = spec.problem(rows)
        datasets, reached = [], []
        for stream in seed_sequence(seed).spawn(copies):
            first, search, moves = stream.spawn(3)
            if self.rounds is None or not datasets:
                solved = incremental.solve(
                    problem, problem.domain.start(rows, seed=first), seed=search
                )
                datasets.append(solved.codes)
                reached.append(solved.reached)
            else:
                spread = walk(problem, datasets[-1], rounds=self.rounds, seed=moves)
                datasets.append(spread.codes)
                reached.append(reached[-1])
                self.changed.append(spread.changed)
        return DatasetEnsemble(tuple(datasets), tuple(reached))


def cases() -> dict[str, tuple[Any, dict[str, Any], dict[str, list[str]]]]:
    """By name: the data, the outputs, and who attacks what."""
    some = np.random.default_rng(0).permutation(48_842)[:3_000]
    adult = {"keys": ["age", "education_num", "sex"], "sensitive": ["income"]}
    tables = CMC_TABLES["living by education, method by education"]
    return {
        "cmc": (bundled("cmc"), document(CMC_LOGIT, *tables), CMC_KEYS),
        "3,000 of Adult": (
            bundled("adult").take(pa.array(some)),
            document(logit("income ~ age + education_num + C(sex)", ">50K", 4), ADULT_TABLES[0]),
            adult,
        ),
    }


def main() -> None:
    """Write `chains.csv`."""
    rows: list[list[object]] = []
    for name, (data, outputs, attack) in cases().items():
        coder = TableCoder(read(data, rare="keep"))
        columns = DataColumns(coder, (*attack["keys"], *attack["sensitive"]))
        recipes = open_outputs(outputs).place_on(columns).recipes
        settings = CheckSettings(
            **attack, syntheses=SYNTHESES, cumulative=False, leave_one_out="never"
        )
        for seed in SEEDS:
            for rounds in ROUNDS:
                maker, began = Chain(rounds), time.process_time()
                inputs = CheckInputs(recipes, coder, settings, seed=seed, workers=1, maker=maker)
                found = check_recipes(inputs)
                seconds = time.process_time() - began
                measure = next(one for one in found.all.measures if one.convention == "all_rows")
                (tcaps,) = found.tcaps.values()
                spread = np.mean([np.std(one.means[:, 0, 1], ddof=1) for one in tcaps])
                changed = f"{np.mean(maker.changed):.2f}" if maker.changed else ""
                how = (
                    "from scratch"
                    if rounds is None
                    else f"null moves, {rounds} round{'s' if rounds > 1 else ''}"
                )
                marginal = measure.marginal
                rows.append(
                    [
                        name,
                        seed,
                        how,
                        f"{found.all.reached:.2f}",
                        changed,
                        f"{marginal.value:.4f}",
                        f"{marginal.error:.4f}",
                        f"{spread:.4f}",
                        f"{seconds:.1f}",
                    ]
                )
                print(*rows[-1], sep="  ", flush=True)
    write_rows(HERE / "chains.csv", rows, HEAD)


if __name__ == "__main__":
    run_study(main)
