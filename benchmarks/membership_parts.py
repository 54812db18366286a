"""Membership attacks part by part on the same shadows: what each part reaches alone, what they reach together, and what the literature's attack does.

python -m benchmarks.membership_parts [TABLE ...] [--pairs 150] [--tests 100] [--targets 6] [--only NAME ...] [--out membership_parts]

A TABLE is a file; without any, the tables of examples/data. Up to 2,000 of its records are the population and subsets have a fifth of
them. Half of the targets are the most vulnerable records by Hamming distance, the others have the largest numbers and the rarest values. All attackers
look at the same shadows, but `codes alone`: ridge logistic regression on counts of matching rows where every shadow has the population's bins, as
attacks were before released values were seen.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import run_study, save
from chaffinch import BayesNet, Independent, PrivBayes, Table, read
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.membership import ShadowSettings
from chaffinch.risk.membership.combined import PARTS
from chaffinch.risk.membership.study import campaign_against, mean_target_auc, part_finding
from chaffinch.risk.shadows import Working
from chaffinch.risk.shadows.vulnerability import most_vulnerable, vulnerability

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "data"
RECORDS = 2_000
HEAD = [
    "table",
    "generator",
    "targets",
    "learnt from",
    "tested on",
    "attacker",
    "AUC",
    "standard error",
    "mean AUC of targets",
    "behind the best part",
    "within 0.01 or two standard errors",
    "seconds of learning",
]


def permuted(given: Table, seed: Any) -> Any:
    """Each column in an order of its own: every margin as it is, no record."""
    rng = np.random.default_rng(seed)
    frame = given.to_pandas()
    return frame.apply(lambda column: column.to_numpy()[rng.permutation(len(frame))])


def copied(share: float) -> Any:
    """The columns permuted, and a share of rows as they are."""

    def copy(given: Table, seed: Any) -> Any:
        rng = np.random.default_rng(seed)
        frame, mixed = given.to_pandas(), permuted(given, rng)
        rows = rng.random(len(frame)) < share
        mixed.loc[rows] = frame.loc[rows].to_numpy()
        return mixed.astype(frame.dtypes)

    return copy


def noisy(given: Table, seed: Any) -> Any:
    """All rows, numbers with noise of a fifth of their standard deviation, and one word in five of another row."""
    rng = np.random.default_rng(seed)
    frame = given.to_pandas()
    for name in frame:
        column = frame[name]
        if column.dtype.kind in "if":
            moved = column + rng.normal(0, 0.2 * column.std(), len(frame))
            frame[name] = moved.round().astype(column.dtype) if column.dtype.kind == "i" else moved
        else:
            frame[name] = np.where(
                rng.random(len(frame)) < 0.2, column.to_numpy()[rng.permutation(len(frame))], column
            )
    return frame


GENERATORS: dict[str, tuple[Any, str]] = {
    "network of two parents": (BayesNet(parents=2), "release"),
    "network, population's bins": (BayesNet(parents=2), "population"),
    "independent columns": (Independent(), "release"),
    "private network, epsilon 10": (PrivBayes(10.0), "release"),
    "columns permuted": (permuted, "release"),
    "a tenth of rows copied": (copied(0.1), "release"),
    "noisy copy": (noisy, "release"),
}


def targets_of(table: Table, count: int) -> np.ndarray:
    """Half by Hamming vulnerability, half by one value: the largest of each number, and levels that nobody else has."""
    frame = table.to_pandas()
    numbers = [
        int(frame[name].argmax())
        for name in frame
        if frame[name].dtype.kind in "if" and frame[name].nunique() > 20
    ]
    words = [
        int(np.flatnonzero(frame[name] == frame[name].value_counts().index[-1])[0])
        for name in frame
        if frame[name].dtype.kind not in "if"
    ]
    single = [
        row
        for pair in zip(numbers + words[::-1], words + numbers[::-1], strict=False)
        for row in pair
    ] or numbers + words
    order = most_vulnerable(vulnerability(table, distance="hamming"), count)
    chosen = list(dict.fromkeys(single))[: count // 2]
    return np.array(list(dict.fromkeys([*chosen, *order.tolist()]))[:count])


def declared(frame: Any, rows: int) -> Any:
    """A schema that is declared, not learnt, for a generator with a promise."""
    from chaffinch import Column, Schema

    columns = []
    for name in frame:
        column = frame[name]
        if column.dtype.kind in "if":
            edges = np.linspace(np.floor(column.min()), np.ceil(column.max()) + 1, 11)
            columns.append(
                Column(
                    name,
                    "integer" if column.dtype.kind == "i" else "float",
                    binning="edges",
                    edges=tuple(np.unique(np.rint(edges)).tolist()),
                )
            )
        else:
            columns.append(
                Column(
                    name, "categorical", levels=tuple(sorted(column.dropna().astype(str).unique()))
                )
            )
    return Schema(tuple(columns), public=True, rows=rows)


def compared(
    name: str, table: Table, label: str, plan: ShadowSettings, targets: np.ndarray
) -> list[list[object]]:
    """The rows of one table and generator."""
    maker, grid = GENERATORS[label]
    size = table.n_rows // 5
    out: dict[str, tuple[float, float, float, float]] = {}
    setting = {"targets": targets, "rows": size, "duplicates": "keep"}
    # What is attacked with, and with whose bins; all but the last look at the same shadows.
    attacks = [
        ("combined", "combined", "release"),
        ("random-forest", "random-forest", "release"),
        ("codes alone", "linear", "population"),
    ]
    with TemporaryDirectory() as folder:
        for kind, learner, bins in attacks:
            chosen = plan.with_options(grid=bins, learner=learner, **setting)
            working = Working(workers=1, shadow_folder=Path(folder) / bins)
            campaign = campaign_against(table, maker, None, chosen, 1, working)
            if (
                grid == "population"
            ):  # values are seen all the same, drawn inside the population's bins
                campaign = replace(
                    campaign, generator=replace(campaign.generator, grid="population")
                )
            began = time.perf_counter()
            learnt = campaign.learnt()
            seconds = time.perf_counter() - began
            seen = learnt.look(campaign.drawn(plan.tests, 3), "test", 4)
            for part, odds in {kind: seen.log_odds, **seen.parts}.items():
                name_of_part = "linear" if part == "codes alone" else part
                finding = part_finding(name_of_part, seen, odds)
                # A 95 % interval is about four standard errors.
                error = (finding.interval[1] - finding.interval[0]) / 4
                took = (
                    seconds - (learnt.seconds or 0.0)
                    if part == kind and learnt.seconds is not None
                    else float("nan")
                )
                out[part] = finding.value, error, mean_target_auc(seen, odds), took
    best = max(out[part][0] for part in (*PARTS, "random-forest") if part in out)
    rows = []
    for part, (area, error, mean, seconds) in out.items():
        behind = best - area
        fine = "" if part != "combined" else "yes" if behind <= max(0.01, 2 * error) else "no"
        rows.append(
            [
                name,
                label,
                len(targets),
                2 * plan.shadows,
                2 * plan.tests,
                part,
                f"{area:.3f}",
                f"{error:.3f}",
                f"{mean:.3f}",
                f"{behind:.3f}",
                fine,
                "" if np.isnan(seconds) else f"{seconds:.1f}",
            ]
        )
    return rows


def main(
    tables: tuple[Path, ...] = (),
    *,
    pairs: int = 150,
    tests: int = 100,
    targets: int = 6,
    only: tuple[str, ...] = (),
    out: str = "membership_parts",
) -> None:
    """Print and write the table."""
    plan = ShadowSettings(shadows=pairs, test_shadows=tests, tables_per_shadow=2)
    rows: list[list[object]] = []
    for path in tables or [EXAMPLES / "adult_train.parquet", EXAMPLES / "diabetes.csv"]:
        frame = read(path, rare="keep").to_pandas()
        frame = frame.iloc[
            np.sort(np.random.default_rng(1).permutation(len(frame))[:RECORDS])
        ].reset_index(drop=True)
        frame = frame.iloc[:, :12]
        table = read(frame, rare="keep")
        target_records = targets_of(table, targets)
        for label in GENERATORS:
            if only and not any(word in label for word in only):
                continue
            base = prepare(frame, declared(frame, len(frame) // 5)) if "private" in label else table
            rows += compared(path.stem, base, label, plan, target_records)
            for row in rows[-len(PARTS) - 3 :]:
                print(*row, sep="\t", flush=True)
            save(out, HEAD, rows, "scikit-learn")


if __name__ == "__main__":
    run_study(main)
