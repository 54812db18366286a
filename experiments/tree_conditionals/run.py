"""Tables, trees and a sequence of CART trees beside each other, on halves of tables: how well synthetic rows can be told from others, and what they give away.

    python -m experiments.tree_conditionals.run [FOLDER] [--splits 10] [--only NAME ...] [--leaves]

FOLDER has CSV files (ISLP, lifelines and vega_datasets ship those of `results.csv`); the bundled Adult is looked at too. One half is fitted, and compared with the other: C2ST is the AUC of gradient boosting that tells synthetic rows from
those of the other half (3 folds; 0.5: it cannot); 2-way and 3-way total variation, numbers cut at twentieths (100 triples at random); copies are rows equal to a row of the first half; DCR the share of rows that are nearer to the first half
than to the other; TSTR how well gradient boosting that learns the last column from the synthetic rows does on the other half (share right, or R2 of a number). What is in `results.csv` is not run again; `--leaves` adds trees with leaves of 5 to 100 records. The CART sequence follows synthpop's rules (columns in order, leaves of 5, values drawn from the leaf's records) on scikit-learn's trees: it is not synthpop itself.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import chaffinch
from benchmarks.common import Option, read_rows, run_study, write_rows
from benchmarks.data import bundled
from chaffinch import BayesNet
from chaffinch.errors import ChaffinchError

HERE = Path(__file__).resolve().parent

MOST_ROWS = 12_000
ALREADY_CODES = 40
"""Levels of columns of words beyond which they are left out: names and the like."""
HEAD = [
    "table",
    "split",
    "rows",
    "columns",
    "synthesiser",
    "C2ST",
    "2-way",
    "3-way",
    "copies",
    "DCR share",
    "TSTR",
    "CPU s",
]
Frame = pd.DataFrame


def cart(train: Frame, rng: np.random.Generator) -> Frame:
    """Return as many rows from a sequence of CART trees."""
    numbers = {name: _as_numbers(train[name]) for name in train}
    drawn: dict[str, np.ndarray] = {}
    rows: dict[str, np.ndarray] = {}
    for name in train:
        if not drawn:
            rows[name] = rng.integers(0, len(train), len(train))
        else:
            x, new = (np.stack([of[other] for other in drawn], axis=1) for of in (numbers, drawn))
            number = _is_number(train[name])
            tree = (DecisionTreeRegressor if number else DecisionTreeClassifier)(
                min_samples_leaf=5, random_state=0
            )
            tree.fit(x, numbers[name] if number else numbers[name].astype(int))
            leaves = tree.apply(x)
            order = np.argsort(leaves, kind="stable")
            wanted = tree.apply(new)
            low, high = (
                np.searchsorted(leaves[order], wanted, side=side) for side in ("left", "right")
            )
            rows[name] = order[low + (rng.random(len(train)) * (high - low)).astype(int)]
        drawn[name] = numbers[name][rows[name]]
    return Frame({name: train[name].to_numpy()[rows[name]] for name in train})


def network(**settings: object) -> Callable[[chaffinch.Table, Frame], Frame]:
    def made(table: chaffinch.Table, train: Frame) -> Frame:
        drawn = BayesNet(**settings).fit(table, seed=1).sample(len(train), seed=2)  # type: ignore[arg-type]
        return drawn.data.to_pandas()[list(train)]

    return made


SYNTHESISERS: dict[str, Callable[[chaffinch.Table, Frame], Frame]] = {
    "tables": network(conditionals="tables"),
    "trees": network(conditionals="trees"),
    "CART sequence": lambda _table, train: cart(train, np.random.default_rng(1)),
}

LEAVES = {
    f"trees, leaf {leaf}": network(conditionals="trees", leaf=leaf) for leaf in (5, 20, 40, 100)
}


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and column.dtype != bool and column.nunique() > 10


def _as_numbers(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column) and column.dtype != bool:
        return column.astype(float).fillna(-1e6).to_numpy()
    return pd.factorize(column.astype(str))[0].astype(float)


def told_apart(real: Frame, synthetic: Frame) -> float:
    both = pd.concat([real, synthetic], ignore_index=True)
    x = np.stack([_as_numbers(both[name]) for name in both], axis=1)
    y = np.r_[np.ones(len(real)), np.zeros(len(synthetic))]
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    model = HistGradientBoostingClassifier(max_iter=100, random_state=0)
    return float(
        roc_auc_score(y, cross_val_predict(model, x, y, cv=folds, method="predict_proba")[:, 1])
    )


def learnt(other: Frame, synthetic: Frame) -> float:
    """How well the last column of the other half is told by what was learnt from synthetic rows."""
    target = other.columns[-1]
    both = pd.concat([other, synthetic], ignore_index=True).dropna(subset=[target])
    real = np.arange(len(both)) < other[target].notna().sum()
    x = np.stack([_as_numbers(both[name]) for name in both if name != target], axis=1)
    y = _as_numbers(both[target])
    kind = (
        HistGradientBoostingRegressor
        if _is_number(other[target])
        else HistGradientBoostingClassifier
    )
    return float(kind(max_iter=100, random_state=0).fit(x[~real], y[~real]).score(x[real], y[real]))


def distance(real: Frame, synthetic: Frame, width: int) -> float:
    """The mean total variation of sets of columns, numbers cut at twentieths of the real ones."""
    codes, n = [], len(real)
    for name in real:
        both = pd.concat([real[name], synthetic[name]], ignore_index=True)
        if _is_number(real[name]):
            cuts = np.unique(np.nanquantile(real[name].astype(float), np.arange(1, 20) / 20))
            codes.append(
                np.where(both.isna(), 30, np.searchsorted(cuts, both.astype(float), side="right"))
            )
        else:
            codes.append(pd.factorize(both.astype(str))[0])
    sets = list(combinations(range(len(codes)), width))
    chosen = np.random.default_rng(0).permutation(len(sets))[: 100 if width > 2 else len(sets)]
    out = []
    for k in chosen:
        key = np.zeros(len(codes[0]), dtype=np.int64)
        for j in sets[k]:
            key = key * (int(codes[j].max()) + 1) + codes[j]
        _, of = np.unique(key, return_inverse=True)
        shares = [
            np.bincount(part, minlength=of.max() + 1) / len(part) for part in (of[:n], of[n:])
        ]
        out.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(out))


def nearer(train: Frame, other: Frame, synthetic: Frame) -> float:
    """The share of synthetic rows that are nearer to the half that was fitted."""
    whole = pd.concat([train, other, synthetic.iloc[:2_000]], ignore_index=True)
    parts = [
        whole[name].rank(pct=True).fillna(-1).to_numpy()[:, None]
        if _is_number(whole[name])
        else 0.7 * pd.get_dummies(whole[name].astype(str)).to_numpy()
        for name in whole
    ]
    places = np.hstack(parts).astype(np.float32)
    asked = places[len(train) + len(other) :]
    mine, theirs = (
        NearestNeighbors(n_neighbors=1).fit(some).kneighbors(asked)[0][:, 0]
        for some in (places[: len(train)], places[len(train) : len(train) + len(other)])
    )
    return float((mine < theirs).mean() + 0.5 * (mine == theirs).mean())


def copies(train: Frame, rows: Frame) -> float:
    known = set(map(tuple, train.astype(str).to_numpy()))
    return float(np.mean([tuple(row) in known for row in rows.astype(str).to_numpy()]))


def halves(frame: Frame, split: int) -> tuple[Frame, Frame, chaffinch.Table]:
    """The rows to fit, as many others, and the first as a table, in the columns that a model of them has."""
    frame = frame.sample(frac=1, random_state=split).iloc[:MOST_ROWS].reset_index(drop=True)
    half = len(frame) // 2
    train, other = frame.iloc[:half], frame.iloc[half : 2 * half]
    whole = chaffinch.read(pa.Table.from_pandas(frame, preserve_index=False), rare="keep")
    names = [column.name for column in whole.schema.modelled if column.evidence is None]
    table = chaffinch.read(pa.Table.from_pandas(train[names], preserve_index=False))
    names = list(table.schema.names)
    return train[names], other[names], table


def of_table(
    name: str,
    frame: Frame,
    split: int,
    synthesisers: dict[str, Callable[[chaffinch.Table, Frame], Frame]],
) -> list[list[object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train, other, table = halves(frame, split)
        made = {"the half itself": (train, 0.0)}
        for label, make in synthesisers.items():
            began = time.process_time()
            made[label] = make(table, train), time.process_time() - began
        rows = []
        for label, (synthetic, seconds) in made.items():
            figures = [
                told_apart(other, synthetic),
                distance(other, synthetic, 2),
                distance(other, synthetic, 3),
                copies(train, other if label == "the half itself" else synthetic),
                nearer(train, other, synthetic) if seconds else 0.5,
                learnt(other, synthetic),
            ]
            rows.append(
                [
                    name,
                    split,
                    len(train),
                    train.shape[1],
                    label,
                    *(f"{x:.4f}" for x in figures),
                    f"{seconds:.2f}",
                ]
            )
            print(*rows[-1], flush=True)
    return rows


def tables(folder: Path | None, only: list[str]) -> dict[str, Frame]:
    out = {"Adult": bundled("adult").to_pandas()} if not only or "Adult" in only else {}
    for path in sorted(folder.glob("*.csv")) if folder else ():
        if only and path.stem not in only:
            continue
        frame = pd.read_csv(path)
        words = [
            name
            for name in frame
            if frame[name].dtype == object and frame[name].nunique() > ALREADY_CODES
        ]
        out[path.stem] = frame.drop(
            columns=[*words, *(name for name in frame if name.startswith("Unnamed"))]
        )
    return out


def summary(rows: list[list[object]]) -> str:
    """Means over splits, a line for each table and synthesiser, as Markdown; then trees less the CART sequence, with standard errors."""
    measures = ["C2ST", "2-way", "3-way", "copies", "DCR share", "TSTR"]
    lines = [
        "| table | rows x columns | splits | synthesiser | " + " | ".join(measures) + " |",
        "|---" * (len(measures) + 4) + "|",
    ]
    frame = Frame(rows, columns=HEAD).astype(dict.fromkeys((*measures, "CPU s"), float))
    for (name, size, width, label), some in frame.groupby(
        ["table", "rows", "columns", "synthesiser"], sort=False
    ):
        lines.append(
            f"| {name} | {size} x {width} | {len(some)} | {label} | "
            + " | ".join(f"{x:.3f}" for x in some[measures].mean())
            + " |"
        )
    wide = frame.pivot_table(
        index=["table", "split"], columns="synthesiser", values=[*measures, "CPU s"]
    )
    lines += [
        "",
        "Trees less the CART sequence, mean and standard error over splits (C2ST, distances: lower is better; TSTR: higher):",
        "",
    ]
    lines += ["| table | " + " | ".join(measures) + " |", "|---" * (len(measures) + 1) + "|"]
    less = Frame({name: wide[name]["trees"] - wide[name]["CART sequence"] for name in measures})
    for name, some in less.groupby(level="table", sort=False):
        error = some.std() / len(some) ** 0.5
        lines.append(
            f"| {name} | "
            + " | ".join(f"{some[m].mean():+.3f} ({error[m]:.3f})" for m in measures)
            + " |"
        )
    means = less.groupby(level="table").mean()
    lines.append("| all tables | " + " | ".join(f"{means[m].mean():+.3f}" for m in measures) + " |")
    return "\n".join(lines) + "\n"


def main(
    folder: Annotated[
        Path | None,
        Option(
            "where CSV files are; without one the bundled Adult alone is looked at, and printed"
        ),
    ] = None,
    *,
    splits: int = 10,
    only: tuple[str, ...] = (),
    leaves: bool = False,
) -> None:
    results = HERE / "results.csv"
    before = [] if folder is None else read_rows(results)
    rows: list[list[object]] = [list(row.values()) for row in before]
    synthesisers = {**SYNTHESISERS, **(LEAVES if leaves else {})}
    for split in range(splits):
        for name, frame in tables(folder, only).items():
            known = {row[4] for row in rows if (row[0], str(row[1])) == (name, str(split))}
            wanted = {label: make for label, make in synthesisers.items() if label not in known}
            if not wanted:
                continue
            try:
                new = of_table(name, frame, split, wanted)
            except ChaffinchError as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            rows += [row for row in new if row[4] not in known]
            if folder is not None:
                write_rows(results, rows, HEAD)
                (HERE / "SUMMARY.md").write_text(summary(rows))


if __name__ == "__main__":
    run_study(main)
