"""Planted leaks, looked for by `chaffinch.risk` and by Anonymeter: how often each is found, and what that costs.

    python -m benchmarks.attack_beside_anonymeter [--repeats 10] [--only diabetes] [--dry]

Two bundled tables (of Adult 3,000 records) are split at random into three: members, people who are not (the control), and others. What is released has as many rows as there are members, its columns drawn
independently of each other from the others, so that nothing is given away but the plant: copies of members, or copies with some values drawn anew. Found means: for Anonymeter, any of its four risks (singling out by one and by
three columns, linkability, inference of one column) has a 95 % interval above zero; for `chaffinch.risk`, the p-value of all attacks and tests together is at most 0.05. Same keys, same tables, defaults otherwise.
Writes results/attack_beside_anonymeter.csv; with --dry, prints only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd

import chaffinch
from benchmarks.common import SCRATCH, Option, run_study, save, show
from benchmarks.peers import anonymeter

DATA = Path(__file__).resolve().parents[1] / "examples" / "data"
TABLES = {
    "diabetes": (["age", "pregnancies", "bmi"], "outcome"),
    "adult": (["age", "workclass", "occupation", "race", "sex"], "relationship"),
}
Frame = pd.DataFrame
HEAD = [
    "table",
    "planted",
    "releases",
    "Anonymeter finds",
    "chaffinch finds",
    "Anonymeter CPU s",
    "chaffinch CPU s",
]


def independent(_members: Frame, others: Frame, rng: np.random.Generator) -> Frame:
    """Rows whose columns are drawn from the others, each by itself."""
    return pd.DataFrame({name: rng.permutation(others[name].to_numpy()) for name in others})


def copied(share: float, redrawn: int = 0) -> Callable[[Frame, Frame, np.random.Generator], Frame]:
    """Independent columns, and a share of rows that are members' with some values drawn anew."""

    def release(members: Frame, others: Frame, rng: np.random.Generator) -> Frame:
        released = independent(members, others, rng)
        for row in rng.choice(len(members), round(share * len(members)), replace=False):
            for name in rng.permutation(list(members))[redrawn:]:
                released.loc[row, name] = members.loc[row, name]
        return released

    return release


PLANTS = {
    "nothing": independent,
    "1 % copied": copied(0.01),
    "3 % copied": copied(0.03),
    "10 % copied, two values drawn anew": copied(0.1, redrawn=2),
}


def main(
    *,
    repeats: int = 10,
    only: Annotated[str | None, Option("", known=lambda: tuple(TABLES))] = None,
    dry: bool = False,
) -> None:
    rows: list[list[object]] = []
    for name, (keys, secret) in TABLES.items():
        if only not in (None, name):
            continue
        frame = (
            pd.read_csv(DATA / "diabetes.csv")
            if name == "diabetes"
            else pd.read_parquet(DATA / "adult_train.parquet").sample(3000, random_state=1)
        )
        for plant, release in PLANTS.items():
            folders, ours, seconds = [], 0, 0.0
            for repeat in range(repeats):
                rng = np.random.default_rng([repeat, len(frame)])
                order = rng.permutation(len(frame))
                third = len(frame) // 3
                members, control, others = (
                    frame.iloc[order[k * third : (k + 1) * third]].reset_index(drop=True)
                    for k in range(3)
                )
                released = release(members, others, rng)
                folder = SCRATCH / f"anonymeter-{name}-{list(PLANTS).index(plant)}-{repeat}"
                folder.mkdir(parents=True, exist_ok=True)
                for file, part in (
                    ("original", members),
                    ("released", released),
                    ("control", control),
                ):
                    part.to_csv(folder / f"{file}.csv", index=False)
                folders.append(folder)
                began = time.process_time()
                result = chaffinch.risk(
                    members,
                    released,
                    control,
                    keys=keys,
                    sensitive=[secret],
                    seed=repeat,
                    threads=1,
                )
                seconds += time.process_time() - began
                ours += result.family.p_value <= 0.05
            peer = anonymeter.risks(folders, keys=keys, secret=secret)
            theirs = sum(
                any(bound is not None and bound > 0 for bound in one["bounds"].values())
                for one in peer["found"]
            )
            rows.append(
                [
                    name,
                    plant,
                    repeats,
                    theirs,
                    int(ours),
                    f"{np.mean([one['seconds'] for one in peer['found']]):.1f}",
                    f"{seconds / repeats:.1f}",
                ]
            )
            print(*rows[-1], flush=True)
    show(HEAD, rows)
    if not dry:
        save("attack_beside_anonymeter", HEAD, rows)


if __name__ == "__main__":
    run_study(main)
