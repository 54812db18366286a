"""What was tried for the original row of P0 table X (GCAP 60.1): codings of age, records, keys, and the mean of equation 1.

python -m experiments.p0_disclosure.tried
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import run_study
from benchmarks.data import adult
from experiments.training import save

HERE = Path(__file__).resolve().parent

WORDS = ["workclass", "occupation", "race", "sex"]
SENSITIVE = "relationship"
Ages = Callable[["pd.Series[int]"], "pd.Series[float] | np.ndarray"]
PRINTED = (60.1, 45.4, 59.3)
"""GCAP, naive Bayes and logistic regression, original."""


def codings() -> dict[str, Ages]:
    """Return ways to code age."""
    out: dict[str, Ages] = {"as it is": lambda age: age, "left out": lambda age: age * 0}
    for bins in (2, 3, 4, 5, 6, 7, 8, 10, 20):
        out[f"{bins} bins of equal width"] = lambda age, bins=bins: pd.cut(age, bins, labels=False)  # type: ignore[misc]
    for bins in (2, 3, 4, 5, 6, 8, 10, 20):
        out[f"{bins} quantiles"] = lambda age, bins=bins: pd.qcut(
            age, bins, labels=False, duplicates="drop"
        )  # type: ignore[misc]
    out["decades"] = lambda age: age // 10
    out["rounded to tens"] = lambda age: np.rint(age / 10)
    for cuts in ([26, 46, 66], [25, 50, 75], [30, 60], [30, 45, 60], [35, 50]):
        out["cut at " + ", ".join(map(str, cuts))] = lambda age, cuts=cuts: np.digitize(age, cuts)  # type: ignore[misc]
    return out


def vote_and_mean(frame: pd.DataFrame, keys: Sequence[str]) -> tuple[float, float]:
    """Return how often the majority of a record's equivalence class is right, and the mean of equation 1, in per cent."""
    counts = frame.groupby([*keys, SENSITIVE], observed=True).size()
    classes = counts.groupby(level=list(range(len(keys))))
    return 100 * float(classes.max().sum()) / len(frame), 100 * float(
        (counts**2 / classes.transform("sum")).sum()
    ) / len(frame)


def learnt(frame: pd.DataFrame, keys: Sequence[str]) -> list[float]:
    """Return the accuracies of naive Bayes and logistic regression on their own records, in per cent: integer codes, standard scaling."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.preprocessing import StandardScaler

    codes = frame[list(keys)].apply(
        lambda column: column if column.name == "age" else column.astype("category").cat.codes
    )
    matrix = StandardScaler().fit_transform(codes.astype(float))
    classes = frame[SENSITIVE].astype("category").cat.codes.to_numpy()
    return [
        100 * float((model.fit(matrix, classes).predict(matrix) == classes).mean())
        for model in (GaussianNB(), LogisticRegression())
    ]


def main() -> None:
    """Write table10_tried.csv."""
    train, test = (adult(part).to_pandas() for part in ("train", "test"))
    both = pd.concat([train, test], ignore_index=True)
    rows = []
    for records, frame in {
        "training": train,
        "all": both,
        "training, complete": train.dropna(),
        "all, complete": both.dropna(),
    }.items():
        table = frame[["age", *WORDS, SENSITIVE]].copy()
        table[WORDS] = table[WORDS].astype(object).where(table[WORDS].notna(), "?")
        for name, code in codings().items():
            coded = table.assign(age=code(table["age"]))
            for left_out in (
                (None, *WORDS)
                if (records, name) in (("training", "as it is"), ("training", "rounded to tens"))
                else (None,)
            ):
                keys = [key for key in ("age", *WORDS) if key != left_out]
                figures = [
                    *vote_and_mean(coded, keys),
                    *(learnt(coded, keys) if records == "training" else ()),
                ]
                cells = [f"{value:.2f}" for value in figures]
                rows.append(
                    [records, name, left_out or "", *cells, *[""] * (4 - len(cells)), *PRINTED]
                )
    head = [
        "records",
        "age",
        "key left out",
        "gcap vote",
        "mean of equation 1",
        "nb",
        "lr",
        "gcap P0",
        "nb P0",
        "lr P0",
    ]
    save(HERE, "table10_tried", head, rows)


if __name__ == "__main__":
    run_study(main)
