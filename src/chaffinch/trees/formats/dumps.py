"""Dumps of XGBoost and LightGBM as plain trees: JSON, UBJSON or text as their own functions write it, read without either library.

XGBoost compares 32-bit floats by "less than", LightGBM 64-bit floats by "at most". LightGBM tells how many records fell into a node. XGBoost tells
the summed second derivative ("cover"): a number of records for squared error, and a sum that can be taken apart for others (`covers`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..tree import Ensemble, Tree
from .covers import PLAIN_COVERS, CoverLaw, counted_trees, law_of
from .format import (
    SETS,
    STAGES,
    TREE_FORMATS,
    ModelFile,
    OpenedModel,
    TreeFormat,
    is_ubjson,
    naming,
    read_ubjson,
    sound,
)

_SUBSAMPLE = (
    "With bagging or subsampling, records outside a tree's part may satisfy a predicate too."
)
_COVER = (
    "With whole weights for the records, covers would be sums of weights that look like counts."
)
_NO_COUNT = (
    "XGBoost's cover is a number of records for squared error without weights, and tells it for logistic, softmax and Poisson objectives with "
    "their base score: this model does not say that it is one of them."
)
_SCALED = "Records of one class had a weight (scale_pos_weight): how many stand behind a cover cannot be told."
_MOST_COLUMNS = 1_000_000
_MOST_CLASSES = 10_000

Node = tuple[
    int, int, int, float, bool, float, float
]  # left, right, feature, threshold, missing left, value, records


def read_xgboost(
    dump: str | Sequence[str | Mapping[str, Any]] | Mapping[str, Any],
    *,
    features: Sequence[str] | None = None,
    objective: str | None = None,
    base_score: float | Sequence[float] | None = None,
) -> Ensemble:
    """Return the trees of XGBoost: of `Booster.save_model("m.json")`, or of `Booster.get_dump(dump_format="json", with_stats=True)`.

    A saved model names its objective, base score and columns. A dump does not: `objective="reg:squarederror"` says that covers are counts,
    `"binary:logistic"` and others that with the `base_score` (for softmax one for each class) they tell them, and `features` gives the columns
    in their order (not needed if they are called f0, f1 ...).
    """
    data = _parse_dump(dump)
    with sound(
        InputError("This is no sound dump of XGBoost: write it by save_model or get_dump, as JSON.")
    ):
        if isinstance(data, Mapping) and "learner" in data:
            return _xgboost_saved(data["learner"], features)
        trees = [_parse_dump(tree) for tree in (data if isinstance(data, Sequence) else [data])]
        names = list(features) if features is not None else _numbered_names(trees)
        column_index = {name: i for i, name in enumerate(names)}
        nodes = [_xgboost_nodes(tree, column_index) for tree in trees]
        law = None
        if objective is not None and base_score is not None:
            n = len(base_score) if isinstance(base_score, Sequence) else 1
            law = law_of(
                objective,
                base_score,
                [i % n for i in range(len(nodes))],
                [i // n for i in range(len(nodes))],
            )
        return _boosted_ensemble(
            "XGBoost", nodes, names, single=True, note=_COVER, cover_of=law or objective or ""
        )


def read_lightgbm(dump: str | Mapping[str, Any]) -> Ensemble:
    """Return the trees of LightGBM: of `Booster.dump_model()`, as a dict or JSON, or of the text that `Booster.save_model` writes."""
    with sound(
        InputError("This is no sound dump of LightGBM: write it by dump_model or save_model.")
    ):
        if isinstance(dump, str) and dump.lstrip().startswith("tree"):
            return _lightgbm_text(dump)
        return _lightgbm_dict(_parse_dump(dump))


def _parse_dump(dump: Any) -> Any:
    if not isinstance(dump, str):
        return dump
    try:
        return json.loads(dump)
    except (ValueError, RecursionError):
        raise InputError(
            "The dump is not sound JSON: it is damaged, truncated or of another format."
        ) from None


def _boosted_ensemble(
    model: str,
    trees: Sequence[Sequence[Node]],
    names: Sequence[str],
    *,
    single: bool,
    note: str,
    cover_of: CoverLaw | str | None,
    reason_of: str = _NO_COUNT,
) -> Ensemble:
    """The ensemble of lists of nodes; `cover_of` is the law or objective where records are covers, None where they are counts."""
    if not trees:
        raise InputError("The dump has no trees.")
    known = cover_of is None or cover_of in PLAIN_COVERS
    out, covers = [], []
    for nodes in trees:
        left_child, right_child, feature, threshold, missing, value, records = (
            np.array(column) for column in zip(*nodes, strict=True)
        )
        covers.append(records.astype(np.float64))
        samples, reason = (
            _record_counts(covers[-1])
            if known or not np.isfinite(covers[-1]).all()
            else (None, reason_of)
        )
        value = np.where(left_child < 0, value, 0.0).reshape(-1, 1, 1)
        known_of = {"samples": samples, "reason": reason, "single": single}
        out.append(
            Tree.from_nodes(left_child, right_child, feature, threshold, missing, value, **known_of)
        )
    if isinstance(cover_of, CoverLaw) and all(np.isfinite(cover).all() for cover in covers):
        out = list(counted_trees(out, covers, cover_of))
    notes = f"{STAGES} {_SUBSAMPLE} {note}".rstrip()
    return Ensemble(
        model, "regression", tuple(map(str, names)), (), tuple(out), notes, boosted=True
    )


def _record_counts(records: NDArray[np.float64]) -> tuple[NDArray[np.int64] | None, str]:
    if not np.isfinite(records).all():
        return None, "The dump has no numbers of records: write it with statistics."
    if not np.array_equal(records, np.rint(records)):
        return (
            None,
            "The covers are not whole: the records had weights, and how many stand behind a weight cannot be told.",
        )
    return records.astype(np.int64), ""


def _below(cut: float) -> float:
    """The largest 32-bit float below a cut: "less than" as "at most"."""
    return float(np.nextafter(np.float32(cut), np.float32(-np.inf)))


def _numbered_names(trees: Sequence[Any]) -> list[str]:
    """Names f0, f1 ... up to the largest that a dump splits on."""
    max_index, stack = -1, list(trees)
    while stack:
        node = stack.pop()
        if "children" in node:
            match = re.fullmatch(r"f(\d{1,7})", str(node["split"]))
            if match is None or int(match[1]) >= _MOST_COLUMNS:
                raise InputError(
                    "The dump names its columns: give their names in order as features."
                )
            max_index = max(max_index, int(match[1]))
            stack += node["children"]
    return [f"f{i}" for i in range(max(max_index + 1, 1))]


def _xgboost_nodes(root: Any, column_index: Mapping[str, int]) -> list[Node]:
    order, number = [root], {id(root): 0}
    for node in order:  # grows while it is walked
        for child in node.get("children", ()):
            if id(child) in number:
                raise InputError(
                    "The nodes do not form a tree: each but the root must be the child of exactly one other."
                )
            number[id(child)] = len(order)
            order.append(child)
    out: list[Node] = []
    for node in order:
        cover = float(node.get("cover", np.nan))
        if "leaf" in node:
            out.append((-1, -1, -1, np.nan, False, float(node["leaf"]), cover))
            continue
        cut = node.get("split_condition")
        if isinstance(cut, bool) or not isinstance(cut, int | float):
            raise InputError(SETS)
        child = {int(branch["nodeid"]): number[id(branch)] for branch in node["children"]}
        if str(node["split"]) not in column_index:
            raise InputError("The dump splits on a column that is not among the given features.")
        yes, no = child[int(node["yes"])], child[int(node["no"])]
        left_missing = node.get("missing", node["no"]) == node["yes"]
        out.append(
            (yes, no, column_index[str(node["split"])], _below(cut), left_missing, 0.0, cover)
        )
    return out


def _xgboost_saved(learner: Mapping[str, Any], features: Sequence[str] | None) -> Ensemble:
    booster = learner["gradient_booster"]
    booster = booster.get("gbtree", booster)  # dart keeps its trees one level down
    trees = []
    for tree in booster["model"]["trees"]:
        if any(tree.get("split_type", ())):
            raise InputError(SETS)
        if int(tree.get("tree_param", {}).get("size_leaf_vector", 1)) > 1:
            raise InputError(
                "Leaves with several values are not supported. Fit with one output per tree."
            )
        keys = (
            "left_children",
            "right_children",
            "split_indices",
            "split_conditions",
            "default_left",
            "sum_hessian",
        )
        nodes: list[Node] = []
        for left_child, right_child, index, cut, default, cover in zip(
            *(tree[key] for key in keys), strict=True
        ):
            leaf = int(left_child) < 0
            value, bound = (float(cut), np.nan) if leaf else (0.0, _below(float(cut)))
            nodes.append(
                (
                    int(left_child),
                    int(right_child),
                    int(index),
                    bound,
                    bool(default),
                    value,
                    float(cover),
                )
            )
        trees.append(nodes)
    d = int(learner["learner_model_param"]["num_feature"])
    if not 0 < d <= _MOST_COLUMNS:
        raise InputError("The number of columns is out of bounds.")
    names = list(features or learner.get("feature_names") or (f"f{i}" for i in range(d)))
    if len(names) != d:
        raise InputError(f"The model has {d} columns, but {len(names)} names were given.")
    law = _law(learner, len(trees))
    reason = _SCALED if _is_scaled(learner["objective"]) else _NO_COUNT
    return _boosted_ensemble(
        "XGBoost", trees, names, single=True, note=_COVER, cover_of=law, reason_of=reason
    )


def _law(learner: Mapping[str, Any], n: int) -> CoverLaw | str:
    """How the covers of a saved model came about; its objective alone where nothing but that is known."""
    about, booster = learner["objective"], learner["gradient_booster"]
    objective = str(about["name"])
    model = booster.get("gbtree", booster)["model"]
    outputs = [int(k) for k in model.get("tree_info", ())] or [0] * n
    ends = [int(end) for end in model.get("iteration_indptr", ())]
    if not ends:
        each = (max(outputs) + 1) * int(
            model.get("gbtree_model_param", {}).get("num_parallel_tree", 1) or 1
        )
        ends = list(range(0, n + 1, each))
    rounds = (np.searchsorted(np.array(ends), np.arange(n), side="right") - 1).tolist()
    if len(outputs) != n or min(outputs) < 0 or max(outputs) >= _MOST_CLASSES or _is_scaled(about):
        return "" if _is_scaled(about) else objective
    base = json.loads(str(learner["learner_model_param"]["base_score"]))
    step = float(about.get("poisson_regression_param", {}).get("max_delta_step", 0.7))
    law = law_of(
        objective, base, outputs, rounds, max_delta_step=step, sums="gbtree" not in booster
    )
    return objective if law is None else law


def _is_scaled(objective: Mapping[str, Any]) -> bool:
    return float(objective.get("reg_loss_param", {}).get("scale_pos_weight", 1)) != 1.0


def _lightgbm_missing(kind: int | str, default_left: bool, cut: float) -> bool:
    """Whether a missing value goes left. Without a way of their own missing values are zeros."""
    if kind in (1, "Zero"):
        raise InputError(
            "A split takes zeros for missing (zero_as_missing), which is not supported."
        )
    return default_left if kind in (2, "NaN") else cut >= 0.0


def _lightgbm_dict(data: Mapping[str, Any]) -> Ensemble:
    trees = []
    for info in data["tree_info"]:
        order = [info["tree_structure"]]
        nodes: list[Node] = []
        for node in order:  # grows while it is walked
            if "split_feature" not in node:
                records = float(node.get("leaf_count", np.nan))
                nodes.append((-1, -1, -1, np.nan, False, float(node["leaf_value"]), records))
                continue
            if node["decision_type"] != "<=":
                raise InputError(SETS)
            cut = float(node["threshold"])
            left_missing = _lightgbm_missing(node["missing_type"], bool(node["default_left"]), cut)
            first_child = len(order)
            order += [node["left_child"], node["right_child"]]
            records = float(node.get("internal_count", np.nan))
            nodes.append(
                (
                    first_child,
                    first_child + 1,
                    int(node["split_feature"]),
                    cut,
                    left_missing,
                    0.0,
                    records,
                )
            )
        trees.append(nodes)
    return _boosted_ensemble(
        "LightGBM", _alone(trees), list(data["feature_names"]), single=False, note="", cover_of=None
    )


def _lightgbm_text(text: str) -> Ensemble:
    head, *blocks = re.split(
        r"^Tree=\d+\s*$", text.partition("\nend of trees")[0], flags=re.MULTILINE
    )
    names = _entries(head)["feature_names"].split()
    trees = []
    for block in blocks:
        entries = _entries(block)
        if int(entries.get("num_cat", 0)):
            raise InputError(SETS)
        values = [float(v) for v in entries["leaf_value"].split()]
        leaves = [float(v) for v in entries.get("leaf_count", "").split()] or [np.nan] * len(values)
        inner = len(values) - 1
        rows = [
            entries.get(key, "").split()
            for key in ("left_child", "right_child", "split_feature", "threshold", "decision_type")
        ]
        counts = entries.get("internal_count", "").split() or ["nan"] * inner
        nodes: list[Node] = []
        for left_child, right_child, feature, cut, how, count in zip(*rows, counts, strict=True):
            kind = int(how)
            # Bit 0: a set of categories; bit 1: missing values go left; bits 2 and 3: what counts as missing.
            missing = _lightgbm_missing((kind >> 2) & 3, bool(kind & 2), float(cut))
            places = [int(c) if int(c) >= 0 else inner + ~int(c) for c in (left_child, right_child)]
            nodes.append(
                (places[0], places[1], int(feature), float(cut), missing, 0.0, float(count))
            )
        if len(nodes) != inner:
            raise InputError(
                "The nodes do not form a tree: it needs one leaf more than it has splits."
            )
        nodes += [(-1, -1, -1, np.nan, False, v, n) for v, n in zip(values, leaves, strict=True)]
        trees.append(nodes)
    return _boosted_ensemble("LightGBM", _alone(trees), names, single=False, note="", cover_of=None)


def _alone(trees: list[list[Node]]) -> list[list[Node]]:
    """Trees of one leaf as if they held all records: LightGBM writes 0, or nothing, where nothing was split."""
    root = max((nodes[0][6] for nodes in trees if len(nodes) > 1), default=np.nan)
    return [[(*nodes[0][:6], root)] if len(nodes) == 1 else nodes for nodes in trees]


def _entries(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _is_xgboost(file: ModelFile) -> bool:
    if is_ubjson(file.data):
        return True
    first = file.json[0] if isinstance(file.json, list) and file.json else file.json
    return isinstance(first, dict) and ("learner" in first or "nodeid" in first)


def _is_lightgbm(file: ModelFile) -> bool:
    is_text = file.data.lstrip()[:5] in (b"tree\n", b"tree\r")
    return is_text or (isinstance(file.json, dict) and "tree_info" in file.json)


def _read_lightgbm(file: ModelFile) -> OpenedModel:
    with naming(f"'{file.name}' cannot be read as trees.", "It is nested without end."):
        return OpenedModel("lightgbm", read_lightgbm(file.json or file.text))


def _read_xgboost(file: ModelFile) -> OpenedModel:
    with naming(f"'{file.name}' cannot be read as trees.", "It is nested without end."):
        data = read_ubjson(file.data, name=file.name) if is_ubjson(file.data) else file.json
        return OpenedModel("xgboost", read_xgboost(data))


LIGHTGBM = TREE_FORMATS.register(
    TreeFormat("lightgbm", "a dump of LightGBM", recognise=_is_lightgbm, read=_read_lightgbm)
)
XGBOOST = TREE_FORMATS.register(
    TreeFormat("xgboost", "a dump of XGBoost", recognise=_is_xgboost, read=_read_xgboost)
)
