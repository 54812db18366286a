"""Private synthesisers on coarse Adult, Cardio and CMC: distance of marginals against epsilon, beside dpmm, mbi and DataSynthesizer.

    python benchmarks/private_utility.py [--only ours|others|peers] [--resume] [--rows N] [--runs N]

See benchmarks/private/. With --rows or --runs this is a trial: nothing is saved.
"""

from __future__ import annotations

import argparse

from private.compare import RUNS, compare
from private.plot import redraw


def main() -> None:
    """Run what is asked, then draw the picture."""
    parser = argparse.ArgumentParser(description="Private synthesisers beside each other.")
    parser.add_argument("--only", choices=["ours", "others", "peers"])
    parser.add_argument("--resume", action="store_true", help="keep the runs that a stopped benchmark has done")
    parser.add_argument("--rows", type=int, help="only the first rows; nothing is saved")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each fit; nothing is saved unless it is 5")
    asked = parser.parse_args()
    compare(only=asked.only, resume=asked.resume, rows=asked.rows, repeats=asked.runs)
    if asked.rows is None and asked.runs == RUNS:
        redraw()


if __name__ == "__main__":
    main()
