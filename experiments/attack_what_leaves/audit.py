"""How sharp audits are: mutants and sound methods under audit, and the power of each form of a claim at 99 % and 99.9 %.

    python experiments/attack_what_leaves/audit.py power      # audit_power.csv
    python experiments/attack_what_leaves/audit.py mutants    # audit_mutants.csv
    python experiments/attack_what_leaves/audit.py sound      # audit_sound.csv

Everything is seeded. `power` has a closed form for Gaussian noise, and draws Laplace noise along recorded runs; the other two fit.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from chaffinch import BayesNet, Network, PrivBayes
from chaffinch._base.errors import InputError
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.auditing import (
    Claim,
    attack_mechanism,
    choose_rule,
    choose_threshold,
    claim_of,
    couple,
    epsilon_lower,
    guess,
    made_pair,
    power,
    run_mechanism,
)
from chaffinch.risk.auditing.power import recorded_scores
from chaffinch.risk.shadows import Working
from chaffinch.stats.splits import child
from chaffinch.table.schema import Column, Schema

HERE = Path(__file__).parent
NETWORK = Network.of(["c0", "c1", "c2"], [("c0", "c1"), ("c1", "c2")])
ALONE = Working(workers=1)
LEVEL = 0.999


def write(name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows to a file beside this one as they come."""
    with open(HERE / name, "w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle, lineterminator="\n")
        out.writerow(head)
        for row in rows:
            out.writerow(row)
            handle.flush()
            print(*row)


# Power: true epsilon 2, claimed 1, fixed network.


def power_rows() -> Iterable[Sequence[Any]]:
    """The probability of refuting a true epsilon of 2 claimed as 1, and a sound claim, by measure, level and runs."""
    for truth, epsilon in (("epsilon 2 claimed as 1", 2.0), ("sound", 1.0)):
        settings = BayesNet(network=NETWORK, epsilon=epsilon, delta=1e-6)
        sides = _examples(settings, 1)[0].sides
        # The ratio of Gaussian answers is normal, as far apart as the counts are in units of the noise.
        mu = sum((((b.values - a.values) / a.scale) ** 2).sum() for a, b in zip(*sides, strict=True)) ** 0.5
        sigma = min(query.scale for query in sides[0])
        for claim in (claim_of(1.0, 1e-6, zcdp=True, sigma=sigma), claim_of(1.0, 1e-6, zcdp=True, sigma=None)):
            for runs in (1000, 2000, 5000, 10_000):
                for level in (0.99, 0.999):
                    refuted = power(claim, runs - runs // 4, guesses=1.0, right=float(norm.cdf(mu / 2)), level=level)
                    yield truth, claim.measure, f"{claim.amount:.4f}", level, runs, f"{refuted:.3f}", "right guesses, closed form"
    times = 60
    examples = _examples(BayesNet(network=NETWORK, epsilon=2.0), 40)
    claim = Claim("epsilon", 1.0, 1.0)
    for smaller, truth in ((1.0, "epsilon 2 claimed as 1"), (0.5, "sound")):  # noise twice as large is that of half the epsilon
        draws = [recorded_scores(examples, np.random.SeedSequence([9, i]))(smaller) for i in range(6)]
        scores, member = (np.concatenate(part) for part in zip(*draws, strict=True))
        rng = np.random.default_rng(3)
        for runs in (1000, 2000, 5000, 10_000):
            picks = [rng.choice(len(scores), runs, replace=True) for _ in range(times)]
            for level in (0.99, 0.999):
                refuted = float(np.mean([_bound(scores[i], member[i], claim, level) > 1 for i in picks]))
                yield truth, "epsilon", "1.0000", level, runs, f"{refuted:.3f}", f"right guesses, {times} drawn audits"
            refuted = float(np.mean([_two_rates(scores[i], member[i], 0.99) > 1 for i in picks]))
            yield truth, "epsilon", "1.0000", 0.99, runs, f"{refuted:.3f}", f"two rates, {times} drawn audits"


def _examples(settings: Any, many: int) -> list[Any]:
    pair = made_pair("narrow", settings.unit)
    tables = (pair.base.take(pair.rows_without), pair.base.take(pair.rows_with))
    return [couple(settings, tables, member=bool(i % 2), seed=np.random.SeedSequence([5, i])) for i in range(many)]


def _bound(scores: Any, member: Any, claim: Claim, level: float) -> float:
    quarter = len(scores) // 4
    rule = choose_rule(scores[:quarter], member[:quarter], claim, level=level)
    return guess(rule, scores[quarter:], member[quarter:], claim, level=level).bound


def _two_rates(scores: Any, member: Any, level: float) -> float:
    """Clopper and Pearson's bounds on both rates at a threshold from the first quarter."""
    quarter = len(scores) // 4
    line = choose_threshold(scores[:quarter], member[:quarter], level=level)
    calls, own = line.says_with(scores[quarter:]), member[quarter:]
    return epsilon_lower(int(calls[own].sum()), int(own.sum()), int(calls[~own].sum()), int((~own).sum()), level=level)


# Mutants: each a fault of published packages, put around a sound method.


class Mutant:
    """A method with a fault; it claims what the sound one does."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.budget, self.unit = inner, inner.budget, inner.unit

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit."""
        return self.inner.fit(table, seed=seed)


class HalfNoise(Mutant):
    """Noise of half the scale that is paid for."""

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit with twice the epsilon."""
        return replace(self.inner, epsilon=2 * self.inner.epsilon).fit(table, seed=seed)


class NoiseOverRows(Mutant):
    """Noise divided by the number of rows: a scale for shares, on counts."""

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit with the epsilon times the rows."""
        return replace(self.inner, epsilon=self.inner.epsilon * max(table.n_rows, 1)).fit(table, seed=seed)


class ChargeForgotten(Mutant):
    """The whole budget for the model, and all of it once more for what it is built on: the first fit's answers are used and not paid."""

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit twice, and let the first model go: its answers were given."""
        self.inner.fit(table, seed=child(seed, 1))
        return self.inner.fit(table, seed=child(seed, 2))


class FixedSeed(Mutant):
    """The same noise in every fit."""

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit with a seed that stays."""
        return self.inner.fit(table, seed=7)


class LevelsFromData(Mutant):
    """Levels are those that occur."""

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit under a schema read from the table."""
        words = table.data.to_pydict()
        columns = tuple(Column(name, "categorical", levels=tuple(sorted(set(some)) or ("a",))) for name, some in words.items())
        found = prepare(pa.table(words), Schema(columns, public=True, rows=table.schema.rows))
        return self.inner.fit(found, seed=seed)


MUTANTS = (
    ("none", Mutant, "narrow"), ("noise halved", HalfNoise, "narrow"), ("noise over rows", NoiseOverRows, "crowded"),
    ("charge forgotten", ChargeForgotten, "narrow"), ("seed fixed", FixedSeed, "narrow"), ("levels from data", LevelsFromData, "lone level"),
)  # fmt: skip
METHODS = (
    ("bayesnet pure, fixed network", BayesNet(network=NETWORK, epsilon=1.0)),
    ("bayesnet zcdp, fixed network", BayesNet(network=NETWORK, epsilon=1.0, delta=1e-6)),
    ("bayesnet zcdp, network chosen", BayesNet(epsilon=1.0, delta=1e-6)),
    ("privbayes pure", PrivBayes(1.0)),
)


def mutant_rows(chosen: str | None) -> Iterable[Sequence[Any]]:
    """The verdict on each mutant of each method at the fewest runs of 500, 2,000, 5,000 and 10,000 that break the claim."""
    for method, settings in METHODS:
        if chosen not in (None, method):
            continue
        for fault, mutant, pair_name in MUTANTS:
            maker, budget = mutant(settings), settings.budget
            began = time.process_time()
            for runs in (500, 2000, 5000, 10_000)[: 2 if fault == "none" else 4]:
                seen = _runs(maker, pair_name, runs, 11)
                claim = claim_of(budget.epsilon, budget.delta or 0.0, zcdp=budget.kind == "zcdp", sigma=seen.sigma)
                name, guessed = attack_mechanism(seen, claim, level=LEVEL)
                if guessed.bound > claim.amount:
                    break
            verdict = "claim broken" if guessed.bound > claim.amount else "not refuted"
            seconds = f"{time.process_time() - began:.0f}"
            yield method, fault, pair_name, claim.measure, f"{claim.amount:.4f}", runs, f"{guessed.bound:.4f}", name, verdict, seconds


def _runs(maker: Any, pair_name: str, runs: int, seed: int) -> Any:
    seen = run_mechanism(maker, made_pair(pair_name, maker.unit), runs=runs, seed=np.random.SeedSequence(seed), working=ALONE)
    if isinstance(seen, str):
        raise InputError(seen)
    return seen


def sound_rows(runs: int) -> Iterable[Sequence[Any]]:
    """The verdicts on 200 audits of sound methods, one test each."""
    for number in range(200):
        method, settings = METHODS[number % len(METHODS)]
        budget, pair_name = settings.budget, ("narrow", "repeated", "lone level", "crowded")[number // len(METHODS) % 4]
        seen = _runs(settings, pair_name, runs, 1000 + number)
        claim = claim_of(budget.epsilon, budget.delta or 0.0, zcdp=budget.kind == "zcdp", sigma=seen.sigma)
        bound = attack_mechanism(seen, claim, level=LEVEL)[1].bound
        verdict = "claim broken" if bound > claim.amount else "not refuted"
        yield number, method, pair_name, claim.measure, f"{claim.amount:.4f}", runs, f"{bound:.4f}", verdict


def main() -> None:
    """Run a study and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("power", "mutants", "sound"))
    parser.add_argument("--method", help="mutants of one method only; its table gets the name of --out")
    parser.add_argument("--runs", type=int, default=1000, help="runs of each sound audit")
    parser.add_argument("--out", help="another name of the table")
    asked = parser.parse_args()
    out = asked.out or f"audit_{asked.study}.csv"
    if asked.study == "power":
        write(out, ("truth", "measure", "claim", "level", "runs", "refuted", "bound by"), power_rows())
    elif asked.study == "mutants":
        head = ("method", "fault", "pair", "measure", "claim", "runs", "bound", "attacker", "verdict", "cpu seconds")
        write(out, head, mutant_rows(asked.method))
    else:
        write(out, ("audit", "method", "pair", "measure", "claim", "runs", "bound", "verdict"), sound_rows(asked.runs))


if __name__ == "__main__":
    main()
