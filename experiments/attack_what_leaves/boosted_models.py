"""Models of XGBoost for `trees.py covers`, and the fixture of the tests: run by an environment that has XGBoost and LightGBM, which Chaffinch does not need.

python -m experiments.attack_what_leaves.boosted_models tables TABLES MODELS     # folders of Parquet files, and for the models
python -m experiments.attack_what_leaves.boosted_models fixture FILE
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost

# Table, label, objective, and columns that give the label away.
CASES = (
    ("islp_wage", "wage", "binary:logistic", ("logwage",)),
    ("islp_college", "Outstate", "binary:logistic", ()),
    ("sk_breast_cancer", "target", "binary:logistic", ()),
    ("lm_card", "wage", "binary:logistic", ("lwage",)),
    ("sm_randhie", "mdvis", "count:poisson", ()),
    ("islp_bikeshare", "bikers", "count:poisson", ("casual", "registered")),
    ("sk_digits", "target", "multi:softprob", ()),
    ("sk_wine", "target", "multi:softprob", ()),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "small leaves": {"min_child_weight": 0},
    "depth 3": {"max_depth": 3, "min_child_weight": 0},
    "subsample": {"subsample": 0.7},
    "weights": {},
}


def tables(folder: Path, out: Path) -> None:
    """Write a model for each table and setting: five rounds, defaults otherwise."""
    out.mkdir(parents=True, exist_ok=True)
    for name, label, objective, others in CASES:
        frame = pd.read_parquet(folder / f"{name}.parquet").drop(
            columns=list(others), errors="ignore"
        )
        frame = frame.select_dtypes("number").dropna()
        frame = frame.sample(min(len(frame), 4000), random_state=0)
        x, y = frame.drop(columns=label).to_numpy(float), frame[label].to_numpy(float)
        if objective == "binary:logistic" and len(np.unique(y)) > 2:
            y = (y > np.median(y)).astype(float)
        extra = {"num_class": int(y.max()) + 1} if objective.startswith("multi") else {}
        weights = np.random.default_rng(0).random(len(y)) + 0.5
        for setting, changes in SETTINGS.items():
            data = xgboost.DMatrix(x, y, weight=weights if setting == "weights" else None)
            model = xgboost.train(
                {"objective": objective, "nthread": 1, "seed": 0, **extra, **changes}, data, 5
            )
            saved = json.loads(model.save_raw("json").decode())
            text = json.dumps(
                {
                    "table": name,
                    "objective": objective,
                    "setting": setting,
                    "x": x.tolist(),
                    "y": y.tolist(),
                    "model": saved,
                }
            )
            (out / f"{name}-{setting.replace(' ', '_')}.json").write_text(text)


def fixture(file: Path) -> None:
    """Write tests/trees/formats/boosted_covers.json."""
    rng = np.random.default_rng(20)
    n = 60
    x = rng.integers(0, 12, size=(n, 3)).astype(float)
    x[rng.random(x.shape) < 0.04] = np.nan
    s = np.nan_to_num(x[:, 0], nan=5.0) + rng.normal(scale=3, size=n)
    labels = {
        "binary": (s > 6).astype(int),
        "classes": np.digitize(s, [4, 8]),
        "counts": rng.poisson(np.exp(s / 8)),
    }
    weights = rng.random(n) + 0.5
    cases: dict[str, tuple[str, str, int, dict[str, Any]]] = {
        "logistic": ("binary:logistic", "binary", 3, {}),
        "logistic_half": ("binary:logistic", "binary", 2, {"base_score": 0.5}),
        "logitraw": ("binary:logitraw", "binary", 2, {}),
        "softmax": ("multi:softprob", "classes", 2, {"num_class": 3}),
        "poisson": ("count:poisson", "counts", 2, {}),
        "absolute": ("reg:absoluteerror", "counts", 2, {}),
        "weighted": ("binary:logistic", "binary", 2, {}),
        "scaled": ("binary:logistic", "binary", 2, {"scale_pos_weight": 2}),
        "subsample": ("binary:logistic", "binary", 2, {"subsample": 0.6}),
        "dart": ("binary:logistic", "binary", 2, {"booster": "dart"}),
        "parallel": (
            "binary:logistic",
            "binary",
            2,
            {"num_parallel_tree": 2, "colsample_bynode": 0.7},
        ),
    }
    about = (
        f"{n} records, three columns. XGBoost {xgboost.__version__} (depth 3, min_child_weight 0, seed 3, one thread) and LightGBM {lightgbm.__version__} "
        "(8 leaves, 1 record a leaf); arrays that no reader needs are left out of XGBoost's models. `ubjson` is the whole logistic model in base64. "
        "Made by experiments/attack_what_leaves/boosted_models.py."
    )
    out: dict[str, Any] = {
        "about": about,
        "X": [[None if np.isnan(v) else v for v in row] for row in x.tolist()],
        "labels": {k: v.tolist() for k, v in labels.items()},
        "models": {},
        "lightgbm": {},
    }
    for name, (objective, label, rounds, extra) in cases.items():
        data = xgboost.DMatrix(x, labels[label], weight=weights if name == "weighted" else None)
        settings = {
            "objective": objective,
            "max_depth": 3,
            "min_child_weight": 0,
            "seed": 3,
            "nthread": 1,
            **extra,
        }
        model = xgboost.train(settings, data, rounds)
        out["models"][name] = {
            "label": label,
            "model": _lean(json.loads(model.save_raw("json").decode())),
        }
        if name == "logistic":
            out["ubjson"] = base64.b64encode(bytes(model.save_raw("ubj"))).decode()
            out["dump"] = [
                json.loads(tree) for tree in model.get_dump(dump_format="json", with_stats=True)
            ]
    settings = {
        "objective": "binary",
        "num_leaves": 8,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0,
        "verbose": -1,
        "num_threads": 1,
    }
    for name, weight in (("logistic", None), ("weighted", weights)):
        model = lightgbm.train(settings, lightgbm.Dataset(x, labels["binary"], weight=weight), 2)
        out["lightgbm"][name] = model.model_to_string().partition("\nparameters:")[0]
    file.write_text(json.dumps(out, separators=(",", ":")))


def _lean(model: dict[str, Any]) -> dict[str, Any]:
    booster = model["learner"]["gradient_booster"]
    for tree in booster.get("gbtree", booster)["model"]["trees"]:
        for part in (
            "base_weights",
            "loss_changes",
            "parents",
            "categories",
            "categories_nodes",
            "categories_segments",
            "categories_sizes",
        ):
            tree.pop(part, None)
    return model


if __name__ == "__main__":
    task, *paths = sys.argv[1:]
    {"tables": tables, "fixture": fixture}[task](*map(Path, paths))
