"""Rerun P1: its coefficients from its printed numbers (tables 2 to 4), and its risk assessment on open microdata (table 5, figure 3).

    python -m experiments.p1_output_risk.run [coefficients] [risk] [cumulative]

P1's own algorithm by generation (figures 1 and 2) is in `evolution.py`, table 5 fold by fold in `table5.py`.
P1's own records are not open. `coefficients` needs only what the paper prints; `risk` and `cumulative` use open census files.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import machine, read_rows, run_parts, write_rows
from chaffinch import check, evolve
from chaffinch._base.svg import Axis
from chaffinch.outputs.check import CheckResult, CheckSettings
from chaffinch.outputs.check.attribution import CONVENTIONS
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.report.charts import Curve, Point, curves, frame
from experiments.p1_output_risk.paper_figures import (
    by_size,
    error_lines,
    error_picture,
    prepared,
    whole_data,
)
from experiments.p1_output_risk.people import DATASETS, People, people

HERE = Path(__file__).resolve().parent

TABLES = {
    "table02_coefficients": 50_357,
    "table03_coefficients_fold": 25_178,
    "table04_coefficients_fold_fold": 12_589,
}
RUNS = {
    "table02_coefficients": 10,
    "table03_coefficients_fold": 2,
    "table04_coefficients_fold_fold": 2,
}
LEVELS = {
    "age": list(range(96)),
    "areap": [str(c) for c in range(57, 64)],
    "ethgroup": [str(c) for c in range(1, 11)],
    "ltill": ["1", "2"],
    "mstatus": [str(c) for c in range(1, 6)],
    "sex": ["1", "2"],
    "tenure": [0, 1],
}
SYNTHESES = 50
FEWER = 8
"""Syntheses of each set of outputs where tables are added one by one."""


def read(name: str) -> list[dict[str, str]]:
    """Return a table of the paper."""
    return read_rows(HERE / "paper" / f"p1_{name}.csv")


def save(name: str, head: list[str], rows: list[list[Any]]) -> None:
    """Write a result as CSV, and print it."""
    write_rows(HERE / f"{name}.csv", rows, head)
    print(f"\n{name}", *([head, *rows]), sep="\n", flush=True)


def feature(row: dict[str, str]) -> str:
    """Return a coefficient's name in a formula for its name in the paper."""
    if row["variable"] == "constant":
        return "Intercept"
    return "age" if row["variable"] == "age" else f"{row['variable']}[T.{row['level']}]"


def spec_of(name: str, rows: int) -> Outputs:
    """Return the specification of one of the paper's regressions: appendix B's columns and the printed coefficients."""
    columns = [{"name": column, "levels": levels} for column, levels in LEVELS.items()]
    coefficients = {feature(row): float(row["original"]) for row in read(name)}
    formula = "tenure ~ age + areap + ethgroup + ltill + mstatus + sex"
    logit = {
        "name": "tenure",
        "kind": "logit",
        "formula": formula,
        "decimals": 4,
        "coefficients": coefficients,
    }
    head = {"format": "chaffinch-outputs", "version": 1, "rows": rows}
    return Outputs.from_dict({**head, "columns": columns, "outputs": [logit]})


def coefficients() -> None:
    """Tables 2 to 4 by the incremental engine, and its error by proposals; `evolution.py` has P1's own algorithm, and generations."""
    rows: list[list[Any]] = []
    lines: list[list[Any]] = []
    for name, n in TABLES.items():
        spec, printed = spec_of(name, n), read(name)
        evolved = evolve(spec, copies=RUNS[name], seed=1, workers=1)
        found = {number.name: [] for number in evolved.copies[0].compared[0].numbers}
        for copy in evolved.copies:
            for number in copy.compared[0].numbers:
                found[number.name].append(number.value)
        for row in printed:
            values = np.array(found[feature(row)])
            original = float(row["original"])
            worst = np.abs(values - original).max()
            rows.append(
                [
                    row["experiment"],
                    row["feature"],
                    row["original"],
                    row["synthetic"],
                    row["absolute_difference"],
                    f"{values.mean():.4f}",
                    f"{worst:.6f}",
                ]
            )
        for number, copy in enumerate(evolved.copies, 1):
            one = copy.compared[0]
            lines.append(
                [
                    printed[0]["experiment"],
                    number,
                    copy.reached,
                    f"{one.mean:.6f}",
                    f"{one.worst:.6f}",
                    copy.proposals,
                    f"{copy.seconds:.2f}",
                ]
            )
        if name == "table02_coefficients":
            figure(evolved.copies, "incremental_whole")
        if name == "table03_coefficients_fold":
            figure(evolved.copies, "incremental_fold")
    head = [
        "experiment",
        "feature",
        "original (paper)",
        "synthetic (paper)",
        "difference (paper)",
        "synthetic (ours, mean)",
        "largest difference (ours)",
    ]
    save("coefficients", head, rows)
    save(
        "runs",
        ["experiment", "run", "reached", "MAE", "largest error", "proposals", "seconds"],
        lines,
    )


def figure(copies: Any, name: str) -> None:
    """Draw the mean error of the coefficients against proposals, one line for each run, both on scales of tens."""
    lines = []
    for number, copy in enumerate(copies, 1):
        means = [
            (max(p.proposals, 100), next(iter(p.mean_error.values()), None)) for p in copy.trace
        ]
        points = [(x, y) for x, y in means if y]
        lines.append(
            Curve(
                f"run {number}",
                tuple(Point(float(np.log10(x)), float(np.log10(y))) for x, y in points),
                marks=False,
            )
        )
    (left, right), (bottom, top) = frame()
    xs, ys = ([getattr(p, axis) for line in lines for p in line.points] for axis in "xy")
    across, up = Axis(min(xs), max(xs), left, right), Axis(min(ys), max(ys), bottom, top)
    drawn = curves(
        name,
        "Error of the coefficients",
        "It falls to the printed precision.",
        lines,
        across=across,
        up=up,
        labels=("proposals (power of ten)", "mean absolute error (power of ten)"),
    )
    (HERE / f"{name}.svg").write_text(str(drawn))


def logit(who: People) -> dict[str, Any]:
    """Return P1's output for a dataset: a logit with main effects, four decimals."""
    return {"name": "logit", "kind": "logit", "formula": who.formula, "decimals": 4}


def measured(who: People, entries: list[dict[str, Any]], **options: Any) -> CheckResult:
    """Return the check of outputs with all keys."""
    began = time.perf_counter()
    found = check(
        recipes_of(entries, who.fields),
        who.codes,
        keys=who.keys,
        sensitive=[who.label],
        key_sizes=(3, 6),
        seed=1,
        **{"syntheses": SYNTHESES, **options},
    )
    print(f"{time.perf_counter() - began:.0f} s, {found}", flush=True)
    return found


def risk() -> None:
    """Table 5, experiment 1 and figure 3."""
    table: list[list[Any]] = []
    single: list[list[Any]] = []
    whole: list[list[Any]] = []
    lines: list[list[Any]] = []
    for row in read("table05_tcap"):
        table.append(
            [
                "paper",
                row["experiment"],
                row["fold"],
                "p1",
                row["tcap_original"],
                row["tcap_holdout"],
                "",
                f"{float(row['difference']):+.4f}",
                "",
                "",
                "",
            ]
        )
    text = {row["quantity"]: row["value"] for row in read("text_values")}
    whole.append(
        ["paper", "p1", 10, text["tcap_mean_3_to_6_keys"], "", text["tcap_mean_6_keys"], ""]
    )
    lines.append(
        [
            "paper",
            "p1_zero",
            text["tcap_on_mae_intercept"],
            "",
            "",
            text["tcap_on_mae_slope"],
            "",
            "",
            f"{float(text['tcap_mae_correlation']) ** 2:.3f}",
        ]
    )
    for dataset in DATASETS:
        if (who := people(dataset)) is None:
            print(f"{dataset} is left out: its file is not in the shared folder.")
            continue
        found = measured(who, [logit(who)])
        recipes = recipes_of([logit(who)], who.fields)
        settings = CheckSettings(
            keys=who.keys, sensitive=[who.label], key_sizes=(3, 6), syntheses=SYNTHESES
        )
        run = prepared(recipes, who.codes, settings, seed=1)
        for measure in found.all.measures:
            parts = (measure.original, measure.holdout, measure.prior)
            low, high = measure.marginal.low, measure.marginal.high
            table.append(
                [
                    dataset,
                    "fold",
                    "mean of both",
                    measure.convention,
                    *(f"{part.value:.4f}" for part in parts),
                    f"{measure.marginal.value:+.4f}",
                    f"{low:+.4f}",
                    f"{high:+.4f}",
                    f"{measure.detectable:.4f}",
                ]
            )
        for size in by_size(run, found.all):
            for name, part in (
                ("fold_fold", size.folds_of_folds),
                ("whole, extrapolated", size.whole),
            ):
                table.append(
                    [
                        dataset,
                        name,
                        "mean",
                        size.convention,
                        "",
                        "",
                        "",
                        f"{part.value:+.4f}",
                        f"{part.low:+.4f}",
                        f"{part.high:+.4f}",
                        "",
                    ]
                )
        for number, fold in enumerate(found.tcaps[who.label], 1):
            for c, convention in enumerate(CONVENTIONS):
                apart = fold.means[:, 0, c] - fold.means[:, 1, c]
                single.append(
                    [
                        dataset,
                        number,
                        convention,
                        f"{apart.mean():+.4f}",
                        f"{apart.std(ddof=1):.4f}",
                        f"{apart.min():+.4f}",
                        f"{apart.max():+.4f}",
                        f"{(apart > 0).mean():.2f}",
                    ]
                )
        for one in whole_data(run):
            whole.append(
                [
                    dataset,
                    one.convention,
                    one.runs,
                    f"{one.mean:.4f}",
                    f"{one.sd:.4f}",
                    f"{one.full_mean:.4f}",
                    f"{one.full_sd:.4f}",
                ]
            )
        six = prepared(recipes, who.codes, replace(settings, key_sizes=(6, 6)), seed=1)
        through = error_lines(six, six.maker)
        for line in through:
            ends = (
                line.intercept.value,
                line.intercept.low,
                line.intercept.high,
                line.slope.value,
                line.slope.low,
                line.slope.high,
            )
            lines.append(
                [dataset, line.convention, *(f"{end:.4f}" for end in ends), f"{line.r_squared:.3f}"]
            )
            if line.convention == "all_rows":
                drawn = error_picture(line, "errors-0")
                (HERE / f"figure3_{dataset}.svg").write_text(str(drawn))
    save(
        "risk",
        [
            "data",
            "experiment",
            "fold",
            "convention",
            "original",
            "holdout",
            "prior",
            "original - holdout",
            "low",
            "high",
            "detectable",
        ],
        table,
    )
    save(
        "single",
        [
            "data",
            "fold",
            "convention",
            "mean difference",
            "sd over syntheses",
            "least",
            "largest",
            "share above 0",
        ],
        single,
    )
    save(
        "whole",
        ["data", "convention", "runs", "TCAP, 3 to 6 keys", "sd", "TCAP, six keys", "sd"],
        whole,
    )
    save(
        "error_line",
        ["data", "convention", "intercept", "low", "high", "slope", "low", "high", "R squared"],
        lines,
    )


def cumulative() -> None:
    """What tables add to the logit, on the data that have tenure."""
    who = people("texas")
    if who is None:
        print("texas is left out: its file is not in the shared folder.")
        return
    pairs = {"name": "marital by label", "kind": "table", "by": ["marital", who.label]}
    bands = {"age": [[0, 15], [16, 29], [30, 44], [45, 64], [65, 99]]}
    three = {"name": "age, area, label", "kind": "table", "by": ["age", "area", who.label]}
    more = {"name": "age, marital, label", "kind": "table", "by": ["age", "marital", who.label]}
    rows: list[list[Any]] = []
    for mitigation, change in {
        "as they are": {},
        "cells below 10 withheld": {"threshold": 10, "suppressed_zeros": True},
        "ages in bands": {"groups": bands},
    }.items():
        entries = [logit(who), pairs, *({**one, **change} for one in (three, more))]
        found = measured(who, entries, syntheses=FEWER, seconds=5.0)
        for stage in found.cumulative:
            for measure in stage.measures:
                rows.append(
                    [
                        mitigation,
                        stage.name,
                        measure.convention,
                        f"{stage.reached:.2f}",
                        f"{measure.original.value:.4f}",
                        f"{measure.holdout.value:.4f}",
                        f"{measure.marginal.value:+.4f}",
                        f"{measure.marginal.low:+.4f}",
                        f"{measure.marginal.high:+.4f}",
                    ]
                )
        rows.append(
            [
                mitigation,
                "verdict",
                found.verdict.text,
                "",
                "",
                "",
                "rules: " + found.rules.worst,
                "",
                "",
            ]
        )
    save(
        "cumulative",
        [
            "tables",
            "after adding",
            "convention",
            "reached",
            "original",
            "holdout",
            "original - holdout",
            "low",
            "high",
        ],
        rows,
    )


PARTS = {"coefficients": coefficients, "risk": risk, "cumulative": cumulative}

if __name__ == "__main__":
    run_parts(PARTS)
    (HERE / "machine.txt").write_text(machine("statsmodels") + "\n")
