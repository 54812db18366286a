"""How often the 95 % interval of a membership attack's AUC covers: 2,000 draws of each of many cases, with ties, targets and clusters.

python -m experiments.attack_what_leaves.calibration_membership
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.common import run_study, write_rows
from chaffinch.risk.membership.rates import LabelledScores
from chaffinch.stats.intervals import clustered_auc
from chaffinch.stats.learners import auc

DRAWS = 2_000
HERE = Path(__file__).parent

CASES = [
    # what scores are, its numbers, targets, shadows
    ("normal", (0.0,), 1, 40),
    ("normal", (0.0,), 1, 200),
    ("normal", (1.0,), 1, 120),
    ("normal", (2.5,), 1, 200),
    ("normal", (4.0,), 1, 1000),
    ("match", (0.3, 0.01), 1, 200),
    ("match", (0.98, 0.02), 1, 200),
    ("match", (0.05, 0.05), 1, 200),
    ("clustered", (0.0,), 10, 100),
    ("clustered", (1.5,), 10, 100),
    ("clustered", (3.0,), 10, 200),
    ("calibrated", (0.0,), 10, 100),
    ("calibrated", (0.0,), 50, 200),
    ("calibrated", (1.0,), 50, 200),
    ("calibrated", (4.0,), 10, 200),
]


def scores(
    kind: str, numbers: tuple[float, ...], member: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Scores (shadows, targets) of members and others.

    `normal`: independent, members shifted. `match`: 1 where a value was found, at one rate for members and one for others: ties. `clustered`:
    a third of the variance is the shadow's. `calibrated`: as `clustered`, then a slope and a level for each target, as learnt attackers
    have them; half of the targets have slope 0, one in three is told apart.
    """
    shape = member.shape
    if kind == "normal":
        return rng.normal(size=shape) + numbers[0] * member
    if kind == "match":
        return (rng.random(shape) < np.where(member, *numbers)).astype(float)
    noise = 0.6 * rng.normal(size=(shape[0], 1)) + 0.8 * rng.normal(size=shape)
    if kind == "clustered":
        return noise + numbers[0] * member
    fixed = np.random.default_rng(5)
    level, slope = (
        fixed.normal(size=shape[1]) / 2,
        fixed.gamma(1, 0.3, shape[1]) * (np.arange(shape[1]) % 2),
    )
    return slope * (noise + numbers[0] * (np.arange(shape[1]) % 3 == 0) * member) + level


def drawn(
    kind: str, numbers: tuple[float, ...], targets: int, shadows: int, rng: np.random.Generator
) -> LabelledScores:
    """One test of an attack by the shared design: each target in half of the shadows."""
    member = np.stack([rng.permutation(shadows) < shadows // 2 for _ in range(targets)], axis=1)
    return LabelledScores.from_arrays(scores(kind, numbers, member, rng)[..., None], member)


def truth(kind: str, numbers: tuple[float, ...], targets: int) -> float:
    """The AUC over very many shadows; a half where membership changes nothing."""
    if numbers[0] == (numbers[1] if kind == "match" else 0.0):
        return 0.5
    trials = drawn(kind, numbers, targets, 8_000_000 // targets, np.random.default_rng(0))
    area = auc(trials.scores, trials.member)
    assert area is not None
    return area


def coverage(
    kind: str,
    numbers: tuple[float, ...],
    targets: int,
    shadows: int,
    draws: int = DRAWS,
    seed: int = 1,
) -> dict[str, object]:
    """How often the interval lies below the AUC, above it and around it, and how wide it is."""
    area, rng = truth(kind, numbers, targets), np.random.default_rng(seed)
    below = above = 0
    width = 0.0
    for _ in range(draws):
        trials = drawn(kind, numbers, targets, shadows, rng)
        _, (low, high) = clustered_auc(
            trials.scores, trials.member, trials.shadow, stratum=trials.target
        )
        below, above, width = below + (high < area), above + (low > area), width + high - low
    return {
        "scores": kind,
        "numbers": " ".join(map(str, numbers)),
        "targets": targets,
        "shadows": shadows,
        "auc": round(area, 4),
        "coverage": round(1 - (below + above) / draws, 4),
        "interval_below": below / draws,
        "interval_above": above / draws,
        "mean_width": round(width / draws, 4),
        "draws": draws,
    }


def main() -> None:
    """Write the table."""
    rows = []
    for case in CASES:
        rows.append(coverage(*case))
        print(rows[-1], flush=True)
    write_rows(HERE / "calibration_membership.csv", rows)


if __name__ == "__main__":
    run_study(main)
