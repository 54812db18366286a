"""A complete check of an output: P1's logit on 50,000 simulated people, two folds, 50 syntheses each, 42 key sets.

    python benchmarks/check_speed.py            # the library, one process
    python benchmarks/check_speed.py attack     # TCAP of one synthesis alone, beside the measure for synthetic tables

What the paper needs for the same is extrapolated from its own settings: 64,000 refits for each of 100 syntheses.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import best, save
from evolving_cases import FIRST_CODE, LEVELS, census

from chaffinch import check
from chaffinch.outputs.check.attribution import attack_of, ensemble_tcap
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.fields import Field, Fields
from chaffinch.outputs.refit import refit
from chaffinch.risk.attribution.tcap import tcap

N = 50_000
KEYS = [name for name in LEVELS if name != "tenure"]
FIELDS = Fields(
    tuple(
        Field(
            name,
            tuple(range(size)) if name in ("age", "tenure") else tuple(str(FIRST_CODE[name] + k) for k in range(size)),
        )
        for name, size in LEVELS.items()
    )
)
LOGIT = {
    "name": "tenure",
    "kind": "logit",
    "formula": "tenure ~ age + areap + ethgroup + ltill + mstatus + sex",
    "decimals": 4,
}


def whole(runs: int = 1) -> list[list[object]]:
    """The check as a function call, the first after compilation; and one refit by statsmodels, times what P1 would need."""
    recipes, codes = recipes_of([LOGIT], FIELDS), census(N)
    check(recipes, census(20_000), keys=KEYS, sensitive=["tenure"], syntheses=2, whole_runs=0, seed=0)  # compiles
    rows = []
    for seed in range(runs):
        for whole_runs in (0, 10):
            began = time.perf_counter()
            found = check(
                recipes, codes, keys=KEYS, sensitive=["tenure"], key_sizes=(3, 6), whole_runs=whole_runs, seed=seed
            )
            seconds = time.perf_counter() - began
            what = "two folds" + (", and ten syntheses of all the data" if whole_runs else "")
            rows.append([what, seed, f"{seconds:.0f}", f"{found.all.reached:.2f}", found.verdict.text])
            print(*rows[-1], flush=True)
    output = recipes.computed(codes).outputs[0]
    fit = best(lambda: refit(output, FIELDS, codes), repeats=3)
    rows.append(["one refit by statsmodels", "", f"{fit:.2f}", "", ""])
    rows.append(
        [
            "as the paper does it: 100 syntheses of 64,000 refits at half the size, extrapolated",
            "",
            f"{100 * 64_000 * fit / 2:.0f}",
            "",
            "",
        ]
    )
    return rows


def alone() -> list[list[object]]:
    """TCAP of one synthesis of 25,000 rows against two groups of 25,000 people, 42 key sets, both conventions, on one core."""
    rng, people = np.random.default_rng(0), census(N)
    synthetic = np.stack([rng.permutation(column) for column in census(N // 2, seed=1).T], axis=1)
    group = np.arange(N) % 2
    attack = attack_of(FIELDS, KEYS, "tenure", sizes=(3, 6))
    ours = best(lambda: ensemble_tcap([synthetic], people, group, attack, threads=1), repeats=5)

    def measured() -> list[float | None]:
        label = FIELDS.position("tenure")
        found = []
        for keys in attack.key_sets:
            at = [FIELDS.position(key) for key in keys]
            for side in (0, 1):
                here = people[group == side]
                for convention in ("matched_rows", "all_rows"):
                    found.append(
                        tcap(
                            here[:, at], here[:, label], synthetic[:, at], synthetic[:, label], convention=convention
                        ).value
                    )
        return found

    peer = best(measured, repeats=2)
    return [
        ["with each person's influence and what is said of them", f"{ours:.3f}", f"{peer / ours:.1f}"],
        ["the measure for synthetic tables, the number alone", f"{peer:.3f}", "1"],
    ]


if __name__ == "__main__":
    asked = sys.argv[1:] or ["whole", "attack"]
    if "attack" in asked:
        save("check_attack", ["TCAP of one synthesis", "s", "times quicker"], alone(), "statsmodels")
    if "whole" in asked:
        save("check_whole", ["check", "seed", "s", "reached", "verdict"], whole(), "statsmodels")
