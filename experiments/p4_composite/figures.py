"""Draw P4's figures 1 to 4 from the committed CSVs: mu, delta and G over epsilon. Means of three syntheses, bars of one standard error.

python -m experiments.p4_composite.figures

Also writes `adult_all_means.csv`: delta on all records of Adult from `adult_all.csv`, for each epsilon whose labels are all there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import read_rows
from chaffinch._base.svg import Axis
from chaffinch.report.charts import Curve, Point, curves, frame
from experiments.training import save

HERE = Path(__file__).resolve().parent

PRIVBAYES = {
    "privbayes": "PrivBayes as published",
    "datasynthesizer": "DataSynthesizer, correct noise",
    "datasynthesizer_2020": "DataSynthesizer to 0.1.4",
}
GROUPS = {
    "privbayes": "PrivBayes as published",
    "fieldgroups": "field groups, learnt",
    "fieldgroups_translated": "field groups, published, translated",
    "fieldgroups_as_run": "field groups as the program applies them",
}
LABELS = 9


def means(dataset: str, measure: str, names: dict[str, str]) -> list[Curve]:
    """Return a line for each synthesiser, from the means of three syntheses."""
    rows = [
        row
        for part in ("private", "groups")
        if (path := HERE / f"{dataset}_{part}_means.csv").exists()
        for row in read_rows(path)
    ]
    lines = []
    for name, words in names.items():
        own = sorted(
            (row for row in rows if row["synthesiser"] == name and row[measure]),
            key=lambda row: float(row["epsilon"]),
        )
        points = [
            Point(
                float(r["epsilon"]),
                value := float(r[measure]),
                value - error(r, measure),
                value + error(r, measure),
            )
            for r in own
        ]
        lines += [Curve(words, tuple(points))] if points else []
    return lines


def error(row: dict[str, str], measure: str) -> float:
    """Return the standard error of a mean; 0 where one synthesis is left."""
    return float(row[f"{measure}, s.e."] or 0)


def all_records() -> Curve:
    """Return delta on all records, and write its means; only epsilons with every label count."""
    rows = read_rows(HERE / "adult_all.csv")
    original = {
        (row["repeat"], row["label"]): float(row["error"])
        for row in rows
        if row["synthesiser"] == "original"
    }
    found: list[list[Any]] = []
    points = []
    for epsilon in sorted({row["epsilon"] for row in rows if row["epsilon"]}, key=float):
        own = [
            row
            for row in rows
            if row["epsilon"] == epsilon and (row["repeat"], row["label"]) in original
        ]
        repeats = [
            r
            for r in sorted({row["repeat"] for row in own}, key=int)
            if sum(row["repeat"] == r for row in own) == LABELS
        ]
        if not repeats:
            continue
        values = []
        for column in ("error", "error on original"):
            gaps = {
                (row["label"], row["repeat"]): float(row[column])
                - original[row["repeat"], row["label"]]
                for row in own
            }
            labels = sorted({label for label, _ in gaps})
            values.append(
                float(
                    np.mean([abs(np.mean([gaps[label, r] for r in repeats])) for label in labels])
                )
            )
        seconds = sum(float(row["cpu seconds"]) for row in own)
        found.append(
            [
                "privbayes",
                epsilon,
                len(repeats),
                own[0]["records"],
                *(f"{value:.4f}" for value in values),
                f"{seconds:.0f}",
            ]
        )
        points.append(Point(float(epsilon), values[0]))
    save(
        HERE,
        "adult_all_means",
        ["synthesiser", "epsilon", "repeats", "records", "delta", "delta TSTR", "cpu seconds"],
        found,
    )
    return Curve("PrivBayes as published, all records", tuple(points), joined=len(points) > 1)


def draw(name: str, title: str, measure: str, lines: Sequence[Curve]) -> None:
    """Write lines over epsilon, on a scale of tens, to NAME.svg."""
    (left, right), (bottom, top) = frame()
    high = max(point.high or point.y for line in lines for point in line.points)
    drawn = curves(
        name,
        title,
        "Means of three syntheses, bars of one standard error.",
        lines,
        across=Axis(0.01, 2.0, left, right, log=True),
        up=Axis(0.0, high, bottom, top),
        labels=("epsilon", measure),
    )
    (HERE / f"{name}.svg").write_text(str(drawn), encoding="utf-8")


def main() -> None:
    """Draw all four figures."""
    for dataset in ("adult", "diabetes"):
        draw(f"figure1_{dataset}", f"mu, {dataset}", "mu", means(dataset, "mu", PRIVBAYES))
        more = [all_records()] if dataset == "adult" else []
        draw(
            f"figure2_{dataset}",
            f"delta, {dataset}",
            "delta",
            [*means(dataset, "delta", PRIVBAYES), *(line for line in more if line.points)],
        )
    draw("figure3_adult", "G, Adult", "G", means("adult", "G", GROUPS))
    draw("figure4_diabetes", "G, Diabetes", "G", means("diabetes", "G", PRIVBAYES))


if __name__ == "__main__":
    main()
