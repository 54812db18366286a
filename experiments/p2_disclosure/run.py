"""Rerun the disclosure tables of P2, IV to VII: attackers on original, synthetic and protected records, p = 3, both methods.

python experiments/p2_disclosure/run.py [caesarian] [cmc] [adult]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from attacking import HEAD, attacked, rows_of  # noqa: E402
from training import printed, save, whole  # noqa: E402

from chaffinch import BayesNet  # noqa: E402

sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

from data import bundled  # noqa: E402

TABLES = {"caesarian": "04", "cmc": "05", "adult": "06"}
SYNTHESES = {"caesarian": 15, "cmc": 5, "adult": 1}


def roles(dataset: str) -> tuple[list[str], list[str], str]:
    """Return the keys, the sensitive columns and the label of table II."""
    rows = [row for row in printed(HERE / "p2_table02_roles.csv") if row["dataset"] == dataset]
    of = {role: [row["column"] for row in rows if row["role"] == role] for role in ("key", "sensitive", "label")}
    return of["key"], of["sensitive"], of["label"][0]


def makers(sensitive: list[str], label: str) -> dict[str, BayesNet]:
    """Return the synthesisers of the paper: without protection, and with both methods."""
    guarded = {"parents": 3, "search": "genetic", "label": label, "sensitive": tuple(sensitive)}
    return {
        "synthetic": BayesNet(parents=3, search="genetic"),
        "method_1": BayesNet(protect="separate", **guarded),  # type: ignore[arg-type]
        "method_2": BayesNet(protect="together", **guarded),  # type: ignore[arg-type]
    }


def disclosure(dataset: str) -> None:
    """Tables IV to VI; and VII on Contraceptive Method Choice, where a sensitive column stands among the keys."""
    keys, sensitive, label = roles(dataset)
    table = whole(bundled(dataset))
    file = next(HERE.glob(f"p2_table{TABLES[dataset]}*.csv"))
    paper = {(row["sensitive"], row["trained_on"], row["model"]): row["accuracy"] for row in printed(file)}
    made = makers(sensitive, label)
    few = 5_000 if dataset == "adult" else None
    found = attacked(
        table, made, keys=keys, sensitive=sensitive, label=label, syntheses=SYNTHESES[dataset], learn_rows=few
    )
    save(HERE, dataset, HEAD, rows_of(dataset, *found, paper))
    if dataset == "cmc":
        others = [name for name in sensitive if name != "wife_age"]
        wider = attacked(table, made, keys=[*keys, "wife_age"], sensitive=others, label=label)
        save(
            HERE,
            "cmc_sensitive_in_key",
            ["sensitive", "learnt_from", "setting", "accuracy", "accuracy P2"],
            _seven(found[0], wider[0]),
        )


def _seven(first: dict, second: dict) -> list[list[object]]:
    theirs = {
        (row["sensitive"], row["trained_on"], row["setting"]): row["accuracy"]
        for row in printed(HERE / "p2_table07_sensitive_in_key.csv")
    }
    rows: list[list[object]] = []
    for sensitive, side in dict.fromkeys((s, side) for s, side, _ in second):
        for setting, cells in (("1", first), ("2", second)):
            mean = np.mean([np.mean(values) for (s, n, _), values in cells.items() if (s, n) == (sensitive, side)])
            rows.append([sensitive, side, setting, f"{mean:.2f}", theirs.get((sensitive, side, setting), "")])
    return rows


if __name__ == "__main__":
    for part in sys.argv[1:] or TABLES:
        print(part, end=" ", flush=True)
        disclosure(part)
        print("done")
