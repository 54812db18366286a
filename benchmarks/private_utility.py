"""Private synthesisers: distance of marginals against epsilon, beside dpmm, mbi and DataSynthesizer.

    python -m benchmarks.private_utility [--only ours|others|peers] [--resume] [--rows N] [--runs N]
    python -m benchmarks.private_utility --folder DIR [--tables judging] [--only ours|trees|peers] [--methods "BayesNet;PrivBayes"]
                                         [--epsilons 0.1,1,10] [--runs N] [--resume]

The first is on coarse Adult, Cardio and CMC; with --rows or --runs it is a trial: nothing is saved. The second is on tables of a folder
of Parquet files, by their names or by the sets of private/folder.py; without --resume it is a trial. See benchmarks/private/.
"""

from __future__ import annotations

from typing import Annotated, Literal

from benchmarks.common import Option, run_study
from benchmarks.private.compare import RUNS, compare
from benchmarks.private.judge import Question, judge
from benchmarks.private.plot import redraw


def main(
    *,
    only: Literal["ours", "others", "peers", "trees"] | None = None,
    resume: Annotated[bool, Option("keep the runs that a stopped benchmark has done")] = False,
    rows: Annotated[int | None, Option("only the first rows; nothing is saved")] = None,
    runs: Annotated[int, Option("runs of each fit; nothing is saved unless it is 5")] = RUNS,
    folder: Annotated[str | None, Option("a folder of Parquet files: these tables instead")] = None,
    tables: Annotated[str, Option("names of tables, or sets of them")] = "tuning,judging",
    methods: Annotated[
        str | None, Option("names of our methods, with semicolons between them")
    ] = None,
    epsilons: Annotated[str | None, Option("numbers with commas between them")] = None,
) -> None:
    """Run what is asked, then draw the picture."""
    if folder is not None:
        question = Question.of(folder, tables, methods, epsilons, runs)
        judge(question, only=only, resume=resume)
        return
    compare(only=only, resume=resume, rows=rows, repeats=runs)
    if rows is None and runs == RUNS:
        redraw()


if __name__ == "__main__":
    run_study(main)
