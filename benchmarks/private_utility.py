"""Private synthesisers: distance of marginals against epsilon, beside dpmm, mbi and DataSynthesizer.

    python -m benchmarks.private_utility [--only ours|others|peers] [--resume] [--rows N] [--runs N]
    python -m benchmarks.private_utility --folder DIR [--tables judging] [--only ours|trees|peers] [--methods "BayesNet;PrivBayes"]
                                         [--epsilons 0.1,1,10] [--runs N] [--resume]

The first is on coarse Adult, Cardio and CMC; with --rows or --runs it is a trial: nothing is saved. The second is on tables of a folder
of Parquet files, by their names or by the sets of private/folder.py; without --resume it is a trial. See benchmarks/private/.
"""

from __future__ import annotations

import argparse

from benchmarks.private.compare import RUNS, compare
from benchmarks.private.judge import Question, judge
from benchmarks.private.plot import redraw


def main() -> None:
    """Run what is asked, then draw the picture."""
    parser = argparse.ArgumentParser(description="Private synthesisers beside each other.")
    parser.add_argument("--only", choices=["ours", "others", "peers", "trees"])
    parser.add_argument(
        "--resume", action="store_true", help="keep the runs that a stopped benchmark has done"
    )
    parser.add_argument("--rows", type=int, help="only the first rows; nothing is saved")
    parser.add_argument(
        "--runs", type=int, default=RUNS, help="runs of each fit; nothing is saved unless it is 5"
    )
    parser.add_argument("--folder", help="a folder of Parquet files: these tables instead")
    parser.add_argument(
        "--tables", default="tuning,judging", help="names of tables, or sets of them"
    )
    parser.add_argument("--methods", help="names of our methods, with semicolons between them")
    parser.add_argument("--epsilons", help="numbers with commas between them")
    asked = parser.parse_args()
    if asked.folder is not None:
        question = Question.of(
            asked.folder, asked.tables, asked.methods, asked.epsilons, asked.runs
        )
        judge(question, only=asked.only, resume=asked.resume)
        return
    compare(only=asked.only, resume=asked.resume, rows=asked.rows, repeats=asked.runs)
    if asked.rows is None and asked.runs == RUNS:
        redraw()


if __name__ == "__main__":
    main()
