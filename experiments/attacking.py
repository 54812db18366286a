"""What the disclosure experiments share: attackers on several syntheses, ours beside the printed cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import chaffinch
from chaffinch.stats.learners import (
    Encoder,
    chosen_models,
    fit,
    is_svm,
    standardise,
    subsample,
    work,
)
from chaffinch.table import Table
from experiments.cells import Cells
from experiments.training import again

ATTACKERS = ("gcap", "nb", "svc", "knn", "rf", "lr")
LEARNERS = {"nb": "gaussian_nb", "svc": "svm", "knn": "knn", "rf": "rf", "lr": "lr"}
OURS = {"gcap_vote": "gcap", "svm": "svc", "gaussian_nb": "nb"}
SVM_ROWS = 5_000
ZERO_RULE = "zero_rule"
KEYS = ["arm", "learnt_from", "synthesis"]
VALUES = ["sensitive", "side", "attacker", "accuracy"]

Accuracies = dict[tuple[str, str, str], list[float]]
"""Accuracies in per cent by sensitive column, what the attacker learnt from, and attacker: one for each synthesis and key set."""


def attacked(
    table: Table,
    makers: Mapping[str, Any],
    cells: Cells,
    *,
    arm: str,
    syntheses: int,
    keys: Sequence[str],
    sensitive: Sequence[str],
    label: str,
    key_sizes: tuple[int, int] | None = None,
) -> Accuracies:
    """Return what attackers find from the original, from each kind of synthesis, from the label alone, and by the zero rule.

    Numbers are equal as they are, not by bins, and a missing key is a level. The original, the label alone and the zero rule come with the first synthesis of the
    first kind; of all others the synthesis alone is attacked. Support vectors learn from 5,000 records.
    """
    plan = {
        "keys": keys,
        "sensitive": sensitive,
        "key_sizes": key_sizes,
        "label": label,
        "numeric": "values",
        "resamples": 2,
    }
    sets = (
        [list(chosen) for chosen in combinations(keys, key_sizes[0])] if key_sizes else [list(keys)]
    )
    found: Accuracies = {}
    for seed in range(syntheses):
        for name, maker in makers.items():
            first = seed == 0 and name == next(iter(makers))

            def one(
                name: str = name, maker: Any = maker, seed: int = seed, first: bool = first
            ) -> list[list[Any]]:
                synthetic = again(
                    maker.fit(table, seed=seed).sample(table.n_rows, seed=100 + seed), table
                )
                attackers = ("gcap_vote", *LEARNERS.values()) if first else ("gcap_vote",)
                rows: list[list[Any]] = []
                for a in chaffinch.risk(
                    table, synthetic, seed=seed, attackers=attackers, **plan
                ).findings:
                    sides = {name: a.value} | (
                        {"original": a.original, "label_only": a.label_only} if first else {}
                    )
                    model = OURS.get(a.attacker, a.attacker)
                    rows += [
                        [a.sensitive, side, model, f"{100 * v:.4f}"]
                        for side, v in sides.items()
                        if v is not None
                    ]
                    if model == "gcap" and first:
                        rows.append([a.sensitive, ZERO_RULE, "", f"{100 * a.guess:.4f}"])
                if not first:
                    for column in sensitive:
                        for chosen in sets:
                            accuracies = learners_find(synthetic, table, chosen, column, seed=seed)
                            rows += [
                                [column, name, model, f"{value:.4f}"]
                                for model, value in accuracies.items()
                            ]
                return rows

            for column, side, model, accuracy in cells.get((arm, name, seed), one):
                found.setdefault((column, side, model), []).append(float(accuracy))
    return found


def learners_find(
    source: Table, original: Table, keys: Sequence[str], sensitive: str, *, seed: int
) -> dict[str, float]:
    """Return how often learners that know one table name the sensitive value of the original's records from their keys, in per cent.

    As `chaffinch.risk` asks them, but of each combination of keys once, and without asking the original and the label too.
    """
    encoder = Encoder.from_tables([source, original], keys)
    matrix, asked = standardise(
        encoder.matrix(source), encoder.matrix(original), scaled=encoder.scaled
    )
    combinations_asked, inverse = np.unique(asked, axis=0, return_inverse=True)
    values = [table.data.column(sensitive) for table in (original, source)]
    every = pc.unique(pa.chunked_array([chunk for column in values for chunk in column.chunks]))
    truth, classes = (pc.index_in(column, every).to_numpy() for column in values)
    few = subsample(classes, len(classes), SVM_ROWS, np.random.default_rng(seed))
    models, _ = chosen_models(None, task="classification")

    def right(name: str) -> float:
        chosen = few if is_svm(models[name]) else slice(None)
        answers = (
            fit(models[name], matrix[chosen], classes[chosen], [combinations_asked], seed=seed)
            .answers[0]
            .predicted
        )
        return 100 * float((answers[inverse.ravel()] == truth).mean())

    return dict(zip(models, work(right, list(models)), strict=True))


def rows_of(
    dataset: str,
    arm: str,
    found: Accuracies,
    paper: Mapping[tuple[str, str, str], str],
    syntheses: int,
) -> list[list[Any]]:
    """Return a row for each sensitive column, source and attacker, with the mean over attackers, ours beside the paper's."""
    out: list[list[Any]] = []
    for sensitive, side in dict.fromkeys((s, side) for s, side, _ in found if side != ZERO_RULE):
        means = []
        for model in ATTACKERS:
            values = np.array(found[sensitive, side, model])
            means.append(values.mean())
            printed = paper.get((sensitive, side, model), "")
            out.append(
                [
                    dataset,
                    arm,
                    sensitive,
                    side,
                    model,
                    "all",
                    syntheses,
                    f"{values.mean():.2f}",
                    f"{values.std():.2f}",
                    printed,
                ]
            )
        mean, printed = f"{np.mean(means):.2f}", paper.get((sensitive, side, "avg"), "")
        out.append([dataset, arm, sensitive, side, "avg", "all", syntheses, mean, "", printed])
    out += [
        [dataset, arm, sensitive, side, "", "all", "", f"{np.mean(shares):.2f}", "", ""]
        for (sensitive, side, _), shares in found.items()
        if side == ZERO_RULE
    ]
    return out


HEAD = [
    "dataset",
    "arm",
    "sensitive",
    "learnt_from",
    "attacker",
    "records",
    "syntheses",
    "accuracy",
    "sd",
    "accuracy printed",
]
