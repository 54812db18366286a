"""Verdicts on one folder of fifteen mixed results beside ACRO's own statuses.

    python benchmarks/check_beside_acro.py          # of examples/outputs/acro_cmc, by the rules
    python benchmarks/check_beside_acro.py make     # the folder anew, by ACRO 1.0.2 in an environment of its own; only the times in it change

`examples/outputs/README.md` says where they differ, and why.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

from common import SCRATCH, save
from peers.acro import folder_of_results

import chaffinch

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FOLDER, DATA = EXAMPLES / "outputs" / "acro_cmc", EXAMPLES / "data" / "cmc.csv"


def make() -> None:
    """Make the folder anew."""
    SCRATCH.mkdir(exist_ok=True)
    place = SCRATCH / "acro_cmc"
    shutil.rmtree(place, ignore_errors=True)
    folder_of_results(DATA, place)
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(place, FOLDER)


def beside() -> list[list[object]]:
    """A row for each output: ACRO's status, what our rules say and our verdict, with the reason."""
    theirs = {uid: one["status"] for uid, one in json.loads((FOLDER / "results.json").read_text())["results"].items()}
    began = time.process_time()
    checked = chaffinch.check(FOLDER, DATA, rules_only=True)
    print(f"{time.process_time() - began:.1f} CPU s, kernels' compilation or loading and statsmodels' import included")
    rows: list[list[object]] = []
    for uid, status in theirs.items():
        if "DONT_RELEASE" not in uid:
            own = [row for row in checked.summary if row.output == uid or row.output.startswith(f"{uid}: ")]
            rows += [[row.output, row.kind, status, row.rules or "", row.verdict, "; ".join(row.why)] for row in own]
    return rows


if __name__ == "__main__":
    if "make" in sys.argv[1:]:
        make()
    save("check_beside_acro", ["output", "kind", "ACRO 1.0.2", "rules", "verdict", "why"], beside(), "statsmodels")
