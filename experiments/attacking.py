"""What the disclosure experiments share: attackers on several syntheses, ours beside the printed cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import chaffinch
from chaffinch.table import Table

ATTACKERS = ("gcap", "nb", "svc", "knn", "rf", "lr")
OURS = {"gcap_vote": "gcap", "svm": "svc"}
SYNTHESES = 5

Cells = dict[tuple[str, str, str], list[float]]
"""Accuracies in per cent by sensitive column, what the attacker learnt from, and attacker: one for each synthesis and key set."""


def attacked(
    table: Table,
    makers: Mapping[str, Any],
    *,
    keys: Sequence[str],
    sensitive: Sequence[str],
    label: str,
    key_sizes: tuple[int, int] | None = None,
    syntheses: int = SYNTHESES,
    learn_rows: int | None = None,
) -> tuple[Cells, dict[str, float]]:
    """Return what attackers find from the original, from each kind of synthesis, and from the label alone; and the zero rule.

    Numbers are equal as they are, not by bins, and a missing key is a level. With `learn_rows`, attackers that learn do so from so many
    records of each table, drawn at random, and are asked about as many of the original.
    """
    cells: Cells = {}
    guess: dict[str, float] = {}
    for name, maker in makers.items():
        for seed in range(syntheses):
            synthetic = maker.fit(table, seed=seed).sample(table.n_rows, seed=100 + seed)
            plan = {
                "keys": keys,
                "sensitive": sensitive,
                "key_sizes": key_sizes,
                "label": label,
                "numeric": "values",
                "resamples": 2,
            }
            learners = ("nb", "svm", "knn", "rf", "lr")
            runs = [(table, synthetic, ("gcap_vote",), ("gcap", *learners))]
            if learn_rows is not None:
                drawn = np.random.default_rng(seed).choice(table.n_rows, learn_rows, replace=False)
                runs = [
                    (table, synthetic, ("gcap_vote",), ("gcap",)),
                    (table.take(drawn), synthetic.take(drawn), (), learners),
                ]
            attacks = [
                attack
                for first, second, measures, attackers in runs
                for attack in chaffinch.risk(
                    first, second, measures=measures, attackers=attackers, seed=seed, **plan
                ).attacks
            ]
            for a in attacks:
                model = OURS.get(a.measure, a.measure)
                guess[a.sensitive] = 100 * a.guess
                sides = {name: a.value}
                if name == next(iter(makers)):
                    sides |= {"original": a.original, "label_only": a.label_only}
                for side, value in sides.items():
                    if value is not None:
                        cells.setdefault((a.sensitive, side, model), []).append(100 * value)
            print(".", end="", flush=True)
    return cells, guess


def rows_of(
    dataset: str, cells: Cells, guess: Mapping[str, float], paper: Mapping[tuple[str, str, str], str]
) -> list[list[Any]]:
    """Return a row for each sensitive column, source and attacker, with the mean over attackers, ours beside the paper's."""
    out: list[list[Any]] = []
    for sensitive, side in dict.fromkeys((s, side) for s, side, _ in cells):
        means = []
        for model in ATTACKERS:
            values = np.array(cells[sensitive, side, model])
            means.append(values.mean())
            printed = paper.get((sensitive, side, model), "")
            out.append([dataset, sensitive, side, model, f"{values.mean():.2f}", f"{values.std():.2f}", printed])
        out.append(
            [dataset, sensitive, side, "avg", f"{np.mean(means):.2f}", "", paper.get((sensitive, side, "avg"), "")]
        )
    out += [[dataset, sensitive, "zero_rule", "", f"{share:.2f}", "", ""] for sensitive, share in guess.items()]
    return out


HEAD = ["dataset", "sensitive", "learnt_from", "attacker", "accuracy", "sd", "accuracy printed"]
