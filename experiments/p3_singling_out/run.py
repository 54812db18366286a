"""Rerun P3 figures 12 to 15: predicate singling out from private synthetic tables over epsilon, with independent noise in every fit.

python experiments/p3_singling_out/run.py [--only TEXT ...] [--pairs 250] [--releases 500] [--tables 3] [--all]

Each setting is written to results.csv when it is done; a run that was stopped goes on. --only keeps settings whose name has one of the texts.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from p3_population import declared, population  # noqa: E402
from training import machine  # noqa: E402

from chaffinch import BayesNet, PrivBayes, Table  # noqa: E402
from chaffinch.privacy.prepare import prepare  # noqa: E402
from chaffinch.report.curves import success_figure  # noqa: E402
from chaffinch.risk.membership.settings import ShadowSettings  # noqa: E402
from chaffinch.risk.singling_out.study import singling_out  # noqa: E402

FIGURES = {
    12: ("adult", 1_000, 5_000),
    13: ("cardio", 100, 500),
    14: ("cardio", 1_000, 5_000),
    15: ("cardio", 6_000, 30_000),
}
EPSILONS = (0.1, 1.0, 10.0, 100.0, 1000.0)
LESS = 0.6
"""Evidence for figures 14 and 15, of that for 12 and 13: their fits cost more."""
HEAD = [
    "figure", "dataset", "rows", "population", "synthesiser", "epsilon", "box", "noise", "success", "low", "high", "baseline",
    "closest row", "AUC of attackers", "pairs", "tables", "releases", "seconds",
]  # fmt: skip


@dataclass(frozen=True)
class SameNoise:
    """A synthesiser whose every fit has the same noise, as the published code seeds it before each."""

    settings: Any

    def fit(self, data: Any, *, seed: Any = None) -> Any:
        """Fit with the one seed, whatever was asked."""
        return self.settings.fit(data, seed=42)


@dataclass(frozen=True)
class OwnLevels:
    """A synthesiser that reads the levels from the records it is given, as the published code does: no promise holds then."""

    settings: Any
    same_noise: bool = False

    def fit(self, data: Any, *, seed: Any = None) -> Any:
        """Fit on the levels that occur."""
        frame = data.to_pandas()
        return self.settings.fit(prepare(frame, declared(frame, len(frame))), seed=42 if self.same_noise else seed)


def synthesiser(name: str, epsilon: float | None) -> Any:
    """Return a synthesiser by the name that the figures use."""
    if epsilon is None:
        return BayesNet()
    if name == "bayesnet":
        return BayesNet(epsilon=epsilon, delta=1e-6)
    return PrivBayes(epsilon, variant=name)  # type: ignore[arg-type]


def settings(every: bool) -> list[tuple[int, str, float | None, str, str]]:
    """Return settings: figure, synthesiser, epsilon, box and what is wrong with the noise; all of them, or those of results.csv."""
    out: list[tuple[int, str, float | None, str, str]] = []
    for figure in (13, 12, 14, 15):
        out.append((figure, "bayesnet", None, "blackbox", "independent"))
        large = figure in (14, 15) and not every
        for epsilon in EPSILONS[::2] if large else EPSILONS:
            names = ("dpart", "sdg") if large and epsilon != 10 else ("dpart", "sdg", "bayesnet")
            out += [(figure, name, epsilon, "blackbox", "independent") for name in names]
    out += [(13, "dpart", e, "blackbox", fault) for e in EPSILONS[:2] for fault in ("same", "own levels", "both")]
    out += [(13, name, e, "whitebox", "independent") for e in EPSILONS for name in ("dpart", "sdg")]
    return out


def world(figure: int) -> Table:
    """Return the population of a figure: drawn once, the same for all its settings."""
    dataset, rows, size = FIGURES[figure]
    frame = population(dataset)
    drawn = frame.iloc[np.random.default_rng(figure).permutation(len(frame))[:size]]
    return prepare(drawn, declared(frame, rows))


def main() -> None:
    """Run what is not yet in results.csv."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=250)
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--all", action="store_true", help="the whole grid: hours on two cores")
    asked = parser.parse_args()
    path = HERE / "results.csv"
    done = set()
    if path.exists():
        with open(path, newline="") as handle:
            done = {(r["figure"], r["synthesiser"], r["epsilon"], r["box"], r["noise"]) for r in csv.DictReader(handle)}
    else:
        path.write_text(",".join(HEAD) + "\n")
    (HERE / "machine.txt").write_text(machine("scikit-learn") + "\n")
    tables: dict[int, Table] = {}
    for figure, name, epsilon, box, noise in settings(asked.all):
        told = "" if epsilon is None else f"{epsilon:g}"
        words = f"figure{figure} {name} {told or 'none'} {box} {noise}"
        if (str(figure), name, told, box, noise) in done or (asked.only and not any(t in words for t in asked.only)):
            continue
        dataset, rows, size = FIGURES[figure]
        less = LESS if figure in (14, 15) else 1.0
        pairs, releases, n_tables = (round(less * n) for n in (asked.pairs, asked.releases, asked.tables))
        table = tables.setdefault(figure, world(figure))
        chosen = synthesiser(name, epsilon)
        began = time.monotonic()
        found = singling_out(
            table,
            {
                "independent": chosen,
                "same": SameNoise(chosen),
                "own levels": OwnLevels(chosen),
                "both": OwnLevels(chosen, same_noise=True),
            }[noise],
            settings=ShadowSettings(shadows=pairs, tables=n_tables, box=box, grid="population"),  # type: ignore[arg-type]
            ranking="hamming",
            rows=rows,
            releases=releases,
            seed=figure,
            workers=asked.workers,
        )
        row = [
            figure, dataset, rows, size, name, told, box, noise, f"{found.success:.4f}", *(f"{end:.4f}" for end in found.interval), f"{found.guess:.4f}",
            f"{found.closest.success:.4f}", f"{np.mean(found.aucs):.4f}", pairs, n_tables, releases, f"{time.monotonic() - began:.0f}",
        ]  # fmt: skip
        with open(path, "a", newline="") as handle:
            csv.writer(handle).writerow(row)
        print(*row, flush=True)


def draw() -> None:
    """Write figures 12 to 15 from results.csv: success against epsilon, black box, independent noise."""
    with open(HERE / "results.csv", newline="") as handle:
        held = [r for r in csv.DictReader(handle) if r["box"] == "blackbox" and r["noise"] == "independent"]
    for figure, (dataset, rows, size) in FIGURES.items():
        points = [
            {
                "synthesiser": r["synthesiser"],
                "epsilon": float(r["epsilon"]) if r["epsilon"] else None,
                "success": float(r["success"]),
                "interval": (float(r["low"]), float(r["high"])),
                "baseline": float(r["baseline"]),
            }
            for r in held
            if int(r["figure"]) == figure
        ]
        if points:
            points.sort(key=lambda p: (p["synthesiser"], p["epsilon"] or 1e9))
            drawn = success_figure(points, key=f"p3_{figure}", title=f"{dataset}, {rows:,} of {size:,} records")
            (HERE / f"figure{figure}.svg").write_text(str(drawn), encoding="utf-8")


def tabulate() -> None:
    """Write the table of the README from results.csv: success with its interval, a row for each figure and synthesiser."""
    with open(HERE / "results.csv", newline="") as handle:
        held = list(csv.DictReader(handle))
    cells = {
        (
            int(r["figure"]),
            r["synthesiser"],
            r["box"],
            r["noise"],
            r["epsilon"],
        ): f"{float(r['success']):.2f} ({float(r['low']):.2f} to {float(r['high']):.2f})"
        for r in held
    }
    columns = [f"{e:g}" for e in EPSILONS] + [""]
    lines = [
        "| figure | synthesiser | epsilon 0.1 | 1 | 10 | 100 | 1000 | no promise |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for figure, name, box, noise in sorted(
        {key[:4] for key in cells}, key=lambda k: (k[2], k[3] != "independent", k[0], k[1])
    ):
        dataset, rows, size = FIGURES[figure]
        told = name + ("" if box == "blackbox" else ", white box") + ("" if noise == "independent" else f", {noise}")
        found = [cells.get((figure, name, box, noise, e), "") for e in columns]
        lines.append(f"| {figure}: {dataset}, {rows:,} of {size:,} | {told} | " + " | ".join(found) + " |")
    path = HERE / "README.md"
    head, _, rest = path.read_text(encoding="utf-8").partition("<!-- table -->\n")
    _, _, tail = rest.partition("<!-- /table -->\n")
    path.write_text(head + "<!-- table -->\n" + "\n".join(lines) + "\n<!-- /table -->\n" + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
    draw()
    tabulate()
