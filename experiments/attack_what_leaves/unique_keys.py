"""How many people their keys tell apart, by values and by the bins of the schema, in a copy and in a synthetic table.

python -m experiments.attack_what_leaves.unique_keys SD2011.parquet

SD2011 is the survey that the R package synthpop brings along (5,000 people); keys and sensitive column are those of its disclosure examples.
"""

from __future__ import annotations

from pathlib import Path

import chaffinch
from benchmarks.common import run_study, write_rows
from chaffinch import BayesNet

HERE = Path(__file__).resolve().parent
KEYS, SENSITIVE = ["sex", "age", "region", "placesize"], "depress"
STEPS = ("UiO", "UiOiS", "repU", "Dorig", "iS", "DiSCO")


def main(path: str) -> None:
    """Write the table."""
    original = chaffinch.read(path)
    rows = []
    sources = {
        "a copy": original,
        "BayesNet(parents=2)": BayesNet(parents=2)
        .fit(original, seed=1)
        .sample(original.n_rows, seed=2),
    }
    for source, synthetic in sources.items():
        for numeric in ("values", "bins"):
            result = chaffinch.risk(
                original,
                synthetic,
                keys=KEYS,
                sensitive=[SENSITIVE],
                numeric=numeric,
                attackers=["matching", "memorisation"],
                resamples=20,
                seed=1,
            )
            vote = next(attack for attack in result.findings if attack.attacker == "gcap_vote")
            steps = [getattr(result.funnel[0], step) for step in STEPS]
            rows.append(
                [
                    source,
                    numeric,
                    *(f"{share:.4f}" for share in steps),
                    f"{vote.value:.4f}",
                    f"{vote.guess:.4f}",
                ]
            )
    write_rows(
        HERE / "unique_keys.csv", rows, ["attacked", "numbers", *STEPS, "gcap_vote", "guess"]
    )


if __name__ == "__main__":
    run_study(main)
