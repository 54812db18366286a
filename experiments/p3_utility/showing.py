"""What the means show: figures 8 to 11 and the tables of the README, ours beside what was read from the paper's graphics, in its units.

The paper's code takes Jensen-Shannon distances with natural logarithms. The square root of a divergence in nats is sqrt(ln 2) = 0.8326 times that in bits, and so is a mean of them.
"""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import numpy as np

from benchmarks.common import read_rows
from chaffinch._base.svg import Dot, dots
from experiments.p3_reading import read_values, replace_between

HERE = Path(__file__).resolve().parent
NATURAL = sqrt(log(2))
"""What a Jensen-Shannon distance in base 2 is multiplied with to have it in natural units."""
FIGURES = {
    8: ("adult", "distance"),
    9: ("cardio", "distance"),
    10: ("adult", "AUC as P3"),
    11: ("cardio", "AUC as P3"),
}
EPSILONS = ("0.1", "1", "10", "100", "1000")
OURS = {
    "dpart": ("dpart", "subset"),
    "sdg": ("sdg", "subset"),
    "published": ("published", "declared"),
    "bayesnet": ("bayesnet", "declared"),
}
"""The lines of a figure: the packages on levels read from the subset, as they read them, and two methods on declared levels."""


def means(dataset: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the rows of DATASET_means.csv by synthesiser, levels and epsilon."""
    return {
        (
            row["synthesiser"],
            row["levels"],
            f"{float(row['epsilon']):g}" if row["epsilon"] else "",
        ): row
        for row in read_rows(HERE / f"{dataset}_means.csv")
    }


def draw() -> None:
    """Write figures 8 to 11: a row of dots for each epsilon, bars of two standard errors, and what was read from the paper's."""
    read = read_values(HERE)
    for figure, (dataset, measure) in FIGURES.items():
        held, unit = means(dataset), NATURAL if measure == "distance" else 1.0
        rows = []
        for epsilon in EPSILONS:
            line = []
            for name, key in OURS.items():
                row = held[(*key, epsilon)]
                mean, error = unit * float(row[measure]), 2 * unit * float(row[f"{measure}, s.e."])
                line.append(Dot(name, mean, mean - error, mean + error))
                if (figure, name, epsilon) in read:
                    line.append(Dot(f"{name}, as read", read[figure, name, epsilon]))
            rows.append((f"epsilon {epsilon}", line))
        original = measure != "distance"
        reference = unit * float(held["original" if original else "other records", "", ""][measure])
        said = "trained on the original" if original else "other records of the population"
        words = (
            "AUC as the paper takes it" if original else "Jensen-Shannon distance, natural units"
        )
        drawn = dots(
            f"p3_{figure}",
            f"{words}, {dataset}",
            f"Upright line: {said}, {reference:.3f}.",
            rows,
            ["dpart", "dpart, as read", "sdg", "sdg, as read", "published", "bayesnet"],
            label=f"{words} (upright line: {said})",
            level=reference,
            marks=[0, 2, 1, 5, 3, 4],
        )
        # A figure that stands alone in a file has no page that says what its letters look like.
        alone = str(drawn).replace("<svg ", '<svg font-family="sans-serif" font-size="12" ', 1)
        (HERE / f"figure{figure:02d}.svg").write_text(alone, encoding="utf-8")


def tabulate() -> None:
    """Write the tables of the README that hold ours beside the values read from the figures."""
    read = read_values(HERE)
    head = [
        "| figure | synthesiser | levels | | "
        + " | ".join(f"epsilon {e}" for e in EPSILONS)
        + " | mean distance from what was read |",
        "|" + "---|" * 10,
    ]
    distances, areas = list(head), list(head)
    for figure, (dataset, measure) in FIGURES.items():
        held = means(dataset)
        lines = distances if measure == "distance" else areas
        for name in ("dpart", "sdg"):
            values = [read.get((figure, name, e)) for e in EPSILONS]
            place = f"| {figure}: {dataset} | {name} |"
            lines.append(
                f"{place} | **read from the figure** | "
                + " | ".join("" if v is None else f"**{v:.3f}**" for v in values)
                + " | |"
            )
            for levels in ("subset", "declared"):
                ours = np.array([float(held[name, levels, e][measure]) for e in EPSILONS])
                units = (
                    {"ours, base 2": 1.0, "ours, natural units": NATURAL}
                    if measure == "distance"
                    else {"ours": 1.0}
                )
                for words, unit in units.items():
                    apart = np.mean(
                        [
                            abs(unit * one - v)
                            for one, v in zip(ours, values, strict=True)
                            if v is not None
                        ]
                    )
                    lines.append(
                        f"{place} {levels} | {words} | "
                        + " | ".join(f"{unit * one:.3f}" for one in ours)
                        + f" | {apart:.3f} |"
                    )
    replace_between(HERE / "README.md", "distances", distances)
    replace_between(HERE / "README.md", "areas", areas)
