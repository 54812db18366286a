"""Boosted covers as counts, regression leaves without data, and what pruning keeps of trees with many classes.

python -m experiments.attack_what_leaves.trees covers MODELS        # a folder that boosted_models.py wrote
python -m experiments.attack_what_leaves.trees regression TABLES    # a folder of Parquet files
python -m experiments.attack_what_leaves.trees classes TABLES
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.common import run_study
from chaffinch import trees
from chaffinch.trees.attack import safe_values
from chaffinch.trees.prune import guesses, prune_trees
from chaffinch.trees.tree import recount

HERE = Path(__file__).parent
SMALL = 10

REGRESSIONS = {  # table: label, and columns that give it away
    "islp_wage": ("wage", ["logwage"]),
    "islp_college": ("Outstate", []),
    "lm_wage_panel": ("lwage", []),
    "lm_fringe": ("annearn", []),
    "islp_bikeshare": ("bikers", ["casual", "registered"]),
    "lm_card": ("wage", ["lwage"]),
    "sk_diabetes": ("target", []),
    "islp_boston": ("medv", []),
    "sm_randhie": ("mdvis", []),
    "islp_hitters": ("Salary", []),
}
CLASSES = {  # table: label, and how a number becomes classes
    "sk_digits": ("target", 0),
    "nyc_planes": ("manufacturer", 0),
    "sm_anes96": ("PID", 0),
    "islp_wage": ("age", 9),
    "sm_randhie": ("mdvis", 0),
    "islp_bikeshare": ("hr", 0),
    "nyc_flights": ("carrier", 0),
}


def covers(folder: Path) -> pd.DataFrame:
    """For each model: trees whose counts are known, leaves of few records with a certain count, and whether all that is claimed is true."""
    rows = []
    for file in sorted(folder.glob("*.json")):
        case = json.loads(file.read_text())
        x, y = np.array(case["x"]), np.array(case["y"])
        start = perf_counter()
        model = trees.read_xgboost(case["model"])
        seconds = perf_counter() - start
        real = recount(model, x.T, [y])
        row: dict[str, Any] = {
            "table": case["table"],
            "objective": case["objective"],
            "setting": case["setting"],
            "records": len(y),
            "trees": len(model.trees),
        }
        row |= {
            "exact_trees": sum(t.samples is not None for t in model.trees),
            "bounded_trees": sum(t.bounds is not None for t in model.trees),
        }
        small = certain = wrong = 0
        for tree, truth in zip(model.trees, real.trees, strict=True):
            sizes = truth.samples[truth.leaves]
            small += int((sizes < SMALL).sum())
            if not tree.tells("regression"):
                continue
            known = np.column_stack([tree.samples] * 2) if tree.samples is not None else tree.bounds
            low, high = known[tree.leaves].T
            certain += int(((low == high) & (sizes < SMALL)).sum())
            wrong += int(((low > sizes) | (sizes > high)).sum())
        audit = trees.audit(model, at_least=2)
        singles = sum(int((t.samples[t.leaves] == 1).sum()) for t in real.trees)
        leaves = {
            (p.tree, p.node) for p in audit.predicates or () if model.trees[p.tree].left[p.node] < 0
        }
        row |= {
            "small_leaves": small,
            "certain": certain,
            "wrong": wrong,
            "leaves_of_one": singles,
            "found": len(leaves),
            "seconds": round(seconds, 2),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def regression(folder: Path) -> pd.DataFrame:
    """Leaf sides that isolate one record, leaves and R² on other records, before and after each way to prune."""
    rows = []
    for name, (label, others) in REGRESSIONS.items():
        frame = _numbers(folder, name, label, others)
        x, y = frame.drop(columns=label).to_numpy(float), frame[label].to_numpy(float)
        fit, other, y_fit, y_other = train_test_split(x, y, test_size=0.3, random_state=0)
        for leaf in (1, 5, 10):
            model = trees.read_model(
                DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(fit, y_fit)
            )
            data = {"columns": list(fit.T), "labels": [y_fit]}
            ways = {
                "before": model,
                "size": prune_trees(model, splits="most").after,
                "moments": prune_trees(model).after,
                "data": prune_trees(model, **data).after,
            }
            for way, pruned in ways.items():
                tree = pruned.trees[0]
                alone = sum(_lone_sides(tree, fit, y_fit))
                error = float(((y_other - tree.value[tree.apply(list(other.T)), 0, 0]) ** 2).sum())
                r2 = 1 - error / float(((y_other - y_other.mean()) ** 2).sum())
                bad = int((~safe_values(tree, list(fit.T), [y_fit], 2)[tree.leaves]).sum())
                rows.append(
                    {
                        "table": name,
                        "records": len(fit),
                        "min_samples_leaf": leaf,
                        "way": way,
                        "leaves": len(tree.leaves),
                        "leaves_with_a_lone_record": bad,
                        "lone_sides": alone,
                        "r2": round(r2, 3),
                    }
                )
    return pd.DataFrame(rows)


def _lone_sides(tree: trees.Tree, x: np.ndarray, y: np.ndarray) -> list[int]:
    rows = tree.rows(list(x.T))
    above = [int((y[rows[leaf]] > tree.value[leaf, 0, 0]).sum()) for leaf in tree.leaves]
    return [
        (a == 1) + (len(rows[leaf]) - a == 1) for a, leaf in zip(above, tree.leaves, strict=True)
    ]


def classes(folder: Path) -> pd.DataFrame:
    """Leaves and accuracy on other records of trees with many classes, before and after pruning in both ways."""
    rows = []
    for name, (label, bins) in CLASSES.items():
        raw = pd.read_parquet(folder / f"{name}.parquet").dropna(subset=[label])
        y = (
            raw[label].astype(str)
            if not bins
            else pd.qcut(raw[label], bins, duplicates="drop").cat.codes
        )
        y = y.where(y.map(y.value_counts()) >= 20).dropna()
        if len(y) > 8000:
            y = y.sample(8000, random_state=0)
        features = raw.loc[y.index].drop(columns=label)
        x = pd.DataFrame(
            {
                c: v if pd.api.types.is_numeric_dtype(v) else v.astype("category").cat.codes
                for c, v in features.items()
            }
        ).fillna(-1)
        fit, other, y_fit, y_other = train_test_split(
            x.to_numpy(float), y.to_numpy(), test_size=0.3, random_state=0
        )
        for leaf in (1, 5, 20):
            fitted = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0).fit(fit, y_fit)
            for m in (2, 5):
                row: dict[str, Any] = {
                    "table": name,
                    "label": label,
                    "classes": len(fitted.classes_),
                    "records": len(fit),
                    "min_samples_leaf": leaf,
                    "at_least": m,
                }
                row |= {
                    "leaves_before": fitted.get_n_leaves(),
                    "accuracy_before": round(fitted.score(other, y_other), 3),
                }
                for keep in ("safe", "most"):
                    done = trees.prune(fitted, at_least=m, splits=keep)
                    row |= {
                        f"leaves_{keep}": done.leaves[1],
                        f"accuracy_{keep}": round(done.model.score(other, y_other), 3),
                    }
                    loss = -np.log(np.maximum(_shares(done.model, other, y_other), 1e-3)).mean()
                    row |= {f"log_loss_{keep}": round(float(loss), 3)}
                tried, right = guesses(done.after, m)
                row |= {
                    "unnamed": tried,
                    "right_guesses": round(right / tried, 3) if tried else 0.0,
                }
                rows.append(row)
    return pd.DataFrame(rows)


def _shares(model: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share that the model gives the true class of each record."""
    shares = model.predict_proba(x)
    return np.asarray(shares[np.arange(len(y)), np.searchsorted(model.classes_, y)])


def _numbers(folder: Path, name: str, label: str, others: list[str]) -> pd.DataFrame:
    frame = pd.read_parquet(folder / f"{name}.parquet").drop(columns=others, errors="ignore")
    frame = frame.select_dtypes("number").dropna()
    return frame.sample(min(len(frame), 6000), random_state=0)


def main(task: Literal["covers", "regression", "classes"], folder: Path) -> None:
    """Run one study and write its table."""
    table = {"covers": covers, "regression": regression, "classes": classes}[task](folder)
    table.to_csv(HERE / f"trees_{task}.csv", index=False)
    print(table.to_string())


if __name__ == "__main__":
    run_study(main)
