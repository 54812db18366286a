"""What an interval and an excess cost beside the attack itself: 1,000 draws of people on Adult, train attacked, test as holdout.

python -m benchmarks.risk_resampling
"""

from __future__ import annotations

import chaffinch
from benchmarks.common import best, save
from benchmarks.data import BUNDLED
from chaffinch.risk import ATTACKERS
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attempt import AttackContext, AttackSpec, run_attackers
from chaffinch.stats.excess import excess, interval

KEYS = ("age", "workclass", "occupation", "race", "sex")


def main() -> None:
    """Time each measure, then what is drawn for it."""
    table = chaffinch.read(BUNDLED / "adult_train.parquet")
    synthetic = chaffinch.BayesNet(parents=3).fit(table, seed=1).sample(table.n_rows, seed=2)
    data = AttackData.from_tables(
        table,
        [synthetic],
        BUNDLED / "adult_test.parquet",
        columns=[*KEYS, "relationship"],
        numeric="bins",
    )
    rows = []
    for name in (attacker.name for attacker in ATTACKERS if not attacker.learns):
        question = AttackSpec(KEYS, "relationship", (name,))
        sides = ["original", "holdout"]
        measure = best(
            lambda q=question, s=sides: run_attackers(AttackContext(data, "synthetic", s, q)),
            repeats=5,
        )
        members, others = run_attackers(AttackContext(data, "synthetic", sides, question))[name]
        first = best(lambda m=members: interval(*m.group, statistic=m.statistic, seed=1), repeats=3)
        second = best(
            lambda m=members, o=others: excess(m.group, o.group, statistic=m.statistic, seed=1),
            repeats=3,
        )
        costs = [
            f"{first * 1e3:.1f}",
            f"{first / measure:.1f}",
            f"{second * 1e3:.1f}",
            f"{second / measure:.1f}",
        ]
        rows.append([name, f"{measure * 1e3:.1f}", *costs])
    head = [
        "measure",
        "attack, ms",
        "interval, ms",
        "times the attack",
        "excess, p and interval, ms",
        "times the attack ",
    ]
    save("risk_resampling", head, rows)


if __name__ == "__main__":
    main()
