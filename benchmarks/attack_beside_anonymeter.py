"""Planted leaks, looked for by `chaffinch.risk` and by Anonymeter: how often each is found, and what that costs.

    python benchmarks/attack_beside_anonymeter.py [--repeats 10] [--only diabetes] [--dry]

Two bundled tables are split in half at random: members and people who are not. What is released has as many rows as there are members, its columns drawn independently of each other
from the members, so that nothing is given away but the plant: copies of members, or copies with two values drawn anew. Found means: for Anonymeter, any of its four risks (singling out by one and by
three columns, linkability, inference of one column) has a 95 % interval above zero; for `chaffinch.risk`, the p-value of all attacks and tests together is at most 0.05. Same keys, same tables, defaults otherwise.
Writes results/attack_beside_anonymeter.csv; with --dry, prints only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from common import SCRATCH, save, show
from peers import anonymeter

import chaffinch

DATA = Path(__file__).resolve().parents[1] / "examples" / "data"
TABLES = {
    "cmc": (["wife_age", "wife_education", "num_children", "wife_religion"], "contraceptive_method"),
    "diabetes": (["age", "pregnancies", "bmi"], "outcome"),
}
Frame = pd.DataFrame
HEAD = ["table", "planted", "releases", "Anonymeter finds", "chaffinch finds", "Anonymeter CPU s", "chaffinch CPU s"]


def independent(members: Frame, rng: np.random.Generator) -> Frame:
    """Rows whose columns are drawn from the members, each by itself."""
    return pd.DataFrame({name: rng.permutation(members[name].to_numpy()) for name in members})


def copied(share: float, redrawn: int = 0) -> Callable[[Frame, np.random.Generator], Frame]:
    """Independent columns, and a share of rows that are members' with some values drawn anew."""

    def release(members: Frame, rng: np.random.Generator) -> Frame:
        released = independent(members, rng)
        rows = rng.choice(len(members), round(share * len(members)), replace=False)
        fresh = independent(members, rng)
        for row in rows:
            kept = rng.permutation(list(members))[redrawn:]
            released.loc[row] = fresh.loc[row]
            released.loc[row, kept] = members.iloc[row][kept].to_numpy()
        return released.astype(members.dtypes.to_dict())

    return release


PLANTS = {
    "nothing": independent,
    "1 % copied": copied(0.01),
    "3 % copied": copied(0.03),
    "20 % copied, two values drawn anew": copied(0.2, redrawn=2),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", choices=list(TABLES))
    parser.add_argument("--dry", action="store_true")
    asked = parser.parse_args()
    rows: list[list[object]] = []
    for name, (keys, secret) in TABLES.items():
        if asked.only not in (None, name):
            continue
        frame = pd.read_csv(DATA / f"{name}.csv")
        for plant, release in PLANTS.items():
            folders, ours, seconds = [], 0, 0.0
            for repeat in range(asked.repeats):
                rng = np.random.default_rng([repeat, len(frame)])
                order = rng.permutation(len(frame))
                half = len(frame) // 2
                members, control = (frame.iloc[order[part]].reset_index(drop=True) for part in (slice(half), slice(half, 2 * half)))
                released = release(members, rng)
                folder = SCRATCH / f"anonymeter-{name}-{list(PLANTS).index(plant)}-{repeat}"
                folder.mkdir(parents=True, exist_ok=True)
                for file, part in (("original", members), ("released", released), ("control", control)):
                    part.to_csv(folder / f"{file}.csv", index=False)
                folders.append(folder)
                began = time.process_time()
                result = chaffinch.risk(members, released, control, keys=keys, sensitive=[secret], seed=repeat, threads=1)
                seconds += time.process_time() - began
                ours += result.family.p_value <= 0.05
            peer = anonymeter.risks(folders, keys=keys, secret=secret)
            theirs = sum(any(bound is not None and bound > 0 for bound in one["bounds"].values()) for one in peer["found"])
            rows.append([name, plant, asked.repeats, theirs, int(ours),
                         f"{np.mean([one['seconds'] for one in peer['found']]):.1f}", f"{seconds / asked.repeats:.1f}"])  # fmt: skip
            print(*rows[-1], flush=True)
    show(HEAD, rows)
    if not asked.dry:
        save("attack_beside_anonymeter", HEAD, rows)


if __name__ == "__main__":
    main()
