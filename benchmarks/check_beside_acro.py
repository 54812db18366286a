"""Verdicts on one folder of fifteen mixed results beside ACRO's own statuses.

    python -m benchmarks.check_beside_acro          # of examples/outputs/acro_cmc, by the rules
    python -m benchmarks.check_beside_acro make     # the folder anew, by ACRO 1.0.2 in an environment of its own; only the times in it change
    python -m benchmarks.check_beside_acro fifty    # CPU seconds of `chaffinch check --rules-only` for fifty outputs, from start to end

`examples/outputs/README.md` says where they differ, and why.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import chaffinch
from benchmarks.common import SCRATCH, save
from benchmarks.peers.acro import folder_of_results

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
    theirs = {
        uid: one["status"]
        for uid, one in json.loads((FOLDER / "results.json").read_text())["results"].items()
    }
    began = time.process_time()
    checked = chaffinch.check(FOLDER, DATA, rules_only=True)
    print(
        f"{time.process_time() - began:.1f} CPU s, kernels' compilation or loading and statsmodels' import included"
    )
    rows: list[list[object]] = []
    for uid, status in theirs.items():
        if "DONT_RELEASE" not in uid:
            own = [
                row
                for row in checked.summary
                if row.output == uid or row.output.startswith(f"{uid}: ")
            ]
            rows += [
                [row.output, row.kind, status, row.rules or "", row.verdict, "; ".join(row.why)]
                for row in own
            ]
    return rows


COLUMNS = [
    "wife_education",
    "husband_education",
    "wife_religion",
    "wife_now_working",
    "husband_occupation",
    "standard_of_living",
    "media_exposure",
    "contraceptive_method",
]


def fifty_outputs() -> list[dict[str, object]]:
    """All 28 tables of two columns, small cells withheld; means and spreads by each; six regressions."""
    tables = [
        {"kind": "table", "by": list(pair), "threshold": 10} for pair in combinations(COLUMNS, 2)
    ]
    means = [
        {"kind": kind, "of": "num_children", "by": [one], "decimals": 2}
        for kind in ("mean", "sd")
        for one in COLUMNS
    ]
    formulas = [f"num_children ~ wife_age + C({one})" for one in COLUMNS[:6]]
    fits = [{"kind": "ols", "formula": formula, "decimals": 3} for formula in formulas]
    return [
        {"name": f"output {number}", **one} for number, one in enumerate((*tables, *means, *fits))
    ]


def rules_only() -> list[list[object]]:
    """CPU seconds of the command for one, ten and fifty outputs."""
    SCRATCH.mkdir(exist_ok=True)
    spec, rows, outputs = SCRATCH / "fifty.json", list[list[object]](), fifty_outputs()
    for count in (1, 10, 50):
        spec.write_text(
            json.dumps({"format": "chaffinch-outputs", "version": 1, "outputs": outputs[:count]})
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            sys.executable,
            "-m",
            "chaffinch",
            "check",
            str(spec),
            "--data",
            str(DATA),
            "--rules-only",
            "--quiet",
        ]
        code = subprocess.run(command, check=False).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        rows.append([count, f"{seconds:.1f}", code])
    return rows


if __name__ == "__main__":
    if "fifty" in sys.argv[1:]:
        save("check_rules_only", ["outputs", "CPU s", "exit code"], rules_only())
        raise SystemExit
    if "make" in sys.argv[1:]:
        make()
    save(
        "check_beside_acro",
        ["output", "kind", "ACRO 1.0.2", "rules", "verdict", "why"],
        beside(),
        "statsmodels",
    )
