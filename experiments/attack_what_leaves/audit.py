"""How sharp audits are: mutants and sound methods under audit, and the power of each form of a claim at 99 % and 99.9 %.

    python -m experiments.attack_what_leaves.audit power      # audit_power.csv
    python -m experiments.attack_what_leaves.audit mutants    # audit_mutants.csv
    python -m experiments.attack_what_leaves.audit sound      # audit_sound.csv

Everything is seeded. `power` draws noise along recorded runs; the other two fit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from benchmarks.common import Option, run_study, show_each, write_rows
from chaffinch import BayesNet, Network, PrivBayes
from chaffinch._base.errors import InputError
from chaffinch._base.seeds import child
from chaffinch.privacy.accounting import epsilon_to_rho, rho_to_epsilon
from chaffinch.privacy.prepare import prepare
from chaffinch.risk.auditing import (
    Claim,
    attack_mechanism,
    choose_rule,
    claim_of,
    couple,
    made_pair,
    power,
    run_mechanism,
)
from chaffinch.risk.auditing.mechanism import settling_runs
from chaffinch.risk.auditing.power import recorded_scores
from chaffinch.risk.auditing.ratios import choose_ratio_test, ratio_power
from chaffinch.risk.shadows import Working
from chaffinch.table.schema import Column, Schema

HERE = Path(__file__).parent
NETWORK = Network.from_edges(["c0", "c1", "c2"], [("c0", "c1"), ("c1", "c2")])
ALONE = Working(workers=1)
LEVEL = 0.999


def write(name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows to a file beside this one as they come."""
    write_rows(HERE / name, show_each(rows), head)


# Power: fixed network, worst-case pair.

AUDITS = 100
"""Audits of drawn answers that a figure is checked by."""


def power_rows() -> Iterable[Sequence[Any]]:
    """The probability of refuting a claim of epsilon 1 by truth, measure, level and runs: worked out, in drawn audits for some, and by right guesses alone."""
    truths = (
        ("epsilon 2", 2.0, Mutant),
        ("all answers given twice", 1.0, ChargeForgotten),
        ("sound", 1.0, Mutant),
    )
    for truth, epsilon, fault in truths:
        for measure in ("epsilon", "mu", "rho"):
            delta = None if measure == "epsilon" else 1e-6
            examples = _examples(fault(BayesNet(network=NETWORK, epsilon=epsilon, delta=delta)), 40)
            sigma = (
                min(query.scale for query in examples[0].queries[0]) if measure == "mu" else None
            )
            claim = claim_of(1.0, delta or 0.0, zcdp=delta is not None, sigma=sigma)
            draws = [
                recorded_scores(examples, np.random.SeedSequence([9, i]))(1.0) for i in range(6)
            ]
            ratios, member = (np.concatenate(part) for part in zip(*draws, strict=True))
            rng = np.random.default_rng(3)
            for runs in (1000, 2000, 5000, 10_000):
                counted = runs - settling_runs(runs)
                for level in (0.99, 0.999):
                    expected = ratio_power(ratios, claim, counted, level=level)
                    guesses = _guesses(ratios, member, claim, runs, level)
                    refuted = ""
                    if (runs, level) == (2000, 0.999):
                        picks = (rng.choice(len(ratios), runs) for _ in range(AUDITS))
                        refuted = f"{np.mean([_bound(ratios[pick], member[pick], claim, level) > claim.amount for pick in picks]):.2f}"
                    figures = f"{expected:.3f}", refuted, f"{guesses:.3f}"
                    yield truth, claim.measure, f"{claim.amount:.4f}", level, runs, *figures


def _examples(maker: Any, many: int) -> list[Any]:
    pair = made_pair("narrow", maker.unit)
    tables = (pair.base.take(pair.rows_without), pair.base.take(pair.rows_with))
    return [
        couple(maker, tables, member=bool(i % 2), seed=np.random.SeedSequence([5, i]))
        for i in range(many)
    ]


def _bound(ratios: Any, member: Any, claim: Claim, level: float) -> float:
    first = settling_runs(len(ratios))
    test = choose_ratio_test(ratios[:first], claim, len(ratios) - first, level=level)
    return test.proves(ratios[first:], member[first:], claim, level=level).bound


def _guesses(ratios: Any, member: Any, claim: Claim, runs: int, level: float) -> float:
    """The power of right guesses of one weight, by rules chosen on a quarter of the runs: the mean of ten such rules."""
    powers, rng = [], np.random.default_rng(4)
    for _ in range(10):
        pick = rng.choice(len(ratios), runs // 4)
        with_, without = choose_rule(ratios[pick], member[pick], claim, level=level).guesses(ratios)
        share = float((with_ | without).mean())
        right = float(((with_ & member) | (without & ~member)).mean()) / share if share else 0.5
        powers.append(power(claim, runs - runs // 4, guesses=share, right=right, level=level))
    return float(np.mean(powers))


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
        return replace(self.inner, epsilon=self.inner.epsilon * max(table.n_rows, 1)).fit(
            table, seed=seed
        )


class ChargeForgotten(Mutant):
    """The whole budget for the model, and all of it once more for what it is built on: the first fit's answers are used and not paid."""

    def fit(self, table: Any, *, seed: Any = None) -> Any:
        """Fit twice, and let the first model go: its answers were given."""
        self.inner.fit(table, seed=child(seed, 1))
        return self.inner.fit(table, seed=child(seed, 2))


class HalfClaimed(Mutant):
    """A sound method whose claim is half of the rho that it spends."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        rho = epsilon_to_rho(inner.budget.epsilon, inner.budget.delta)
        self.budget = replace(inner.budget, epsilon=rho_to_epsilon(rho / 2, inner.budget.delta))


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
        columns = tuple(
            Column(name, "categorical", levels=tuple(sorted(set(some)) or ("a",)))
            for name, some in words.items()
        )
        found = prepare(pa.table(words), Schema(columns, public=True, rows=table.schema.rows))
        return self.inner.fit(found, seed=seed)


MUTANTS = (
    ("none", Mutant, "narrow"),
    ("noise halved", HalfNoise, "narrow"),
    ("noise over rows", NoiseOverRows, "crowded"),
    ("charge forgotten", ChargeForgotten, "narrow"),
    ("seed fixed", FixedSeed, "narrow"),
    ("levels from data", LevelsFromData, "lone level"),
)
METHODS = (
    ("bayesnet pure, fixed network", BayesNet(network=NETWORK, epsilon=1.0)),
    ("bayesnet zcdp, fixed network", BayesNet(network=NETWORK, epsilon=1.0, delta=1e-6)),
    ("privbayes pure", PrivBayes(1.0)),
    ("bayesnet zcdp, network chosen", BayesNet(epsilon=1.0, delta=1e-6)),
)
LARGER = ("bayesnet zcdp, network chosen, epsilon 4", BayesNet(epsilon=4.0, delta=1e-6))
SIZES = (500, 2000, 5000, 10_000)


def mutant_rows(chosen: str | None) -> Iterable[Sequence[Any]]:
    """The verdict on each mutant of each method at the fewest of some numbers of runs that break the claim.

    Numbers with a power below 0.3 are passed over, but for the last.
    """
    halved = (
        ("half its rho claimed", HalfClaimed, "narrow"),
        ("charge forgotten", ChargeForgotten, "narrow"),
    )
    for (method, settings), faults in [
        *((method, MUTANTS) for method in METHODS[:3]),
        (LARGER, halved),
        (METHODS[3], MUTANTS),
    ]:
        if chosen not in (None, method):
            continue
        for fault, mutant, pair_name in faults:
            maker = mutant(settings)
            budget, began = maker.budget, time.process_time()
            sizes, likely = SIZES[1:2] if fault == "none" else SIZES, True
            for place, runs in enumerate(sizes):
                if not likely and runs < sizes[-1]:
                    continue
                seen = _runs(maker, pair_name, runs, 11)
                claim = claim_of(
                    budget.epsilon, budget.delta or 0.0, accounting=budget.kind, sigma=seen.sigma
                )
                name, guessed = attack_mechanism(seen, claim, level=LEVEL)
                if guessed.bound > claim.amount:
                    break
                following = sizes[min(place + 1, len(sizes) - 1)]
                likely = ratio_power(seen.log_ratio, claim, following, level=LEVEL) >= 0.3
            most = SIZES[-1]
            expected = ratio_power(seen.log_ratio, claim, most - settling_runs(most), level=LEVEL)
            verdict = "claim broken" if guessed.bound > claim.amount else "not refuted"
            figures = (
                f"{claim.amount:.4f}",
                runs,
                f"{guessed.bound:.4f}",
                name,
                verdict,
                f"{expected:.2f}",
                f"{time.process_time() - began:.0f}",
            )
            yield method, fault, pair_name, claim.measure, *figures


def _runs(maker: Any, pair_name: str, runs: int, seed: int) -> Any:
    seen = run_mechanism(
        maker,
        made_pair(pair_name, maker.unit),
        runs=runs,
        seed=np.random.SeedSequence(seed),
        working=ALONE,
    )
    if isinstance(seen, str):
        raise InputError(seen)
    return seen


def sound_rows(runs: int) -> Iterable[Sequence[Any]]:
    """The verdicts on 200 audits of sound methods, one test each."""
    for number in range(200):
        method, settings = METHODS[number % len(METHODS)]
        budget, pair_name = (
            settings.budget,
            ("narrow", "repeated", "lone level", "crowded")[number // len(METHODS) % 4],
        )
        seen = _runs(settings, pair_name, runs, 1000 + number)
        claim = claim_of(
            budget.epsilon, budget.delta or 0.0, accounting=budget.kind, sigma=seen.sigma
        )
        bound = attack_mechanism(seen, claim, level=LEVEL)[1].bound
        verdict = "claim broken" if bound > claim.amount else "not refuted"
        yield (
            number,
            method,
            pair_name,
            claim.measure,
            f"{claim.amount:.4f}",
            runs,
            f"{bound:.4f}",
            verdict,
        )


def main(
    study: Literal["power", "mutants", "sound"],
    *,
    method: Annotated[
        str | None, Option("mutants of one method only; its table gets the name of --out")
    ] = None,
    runs: Annotated[int, Option("runs of each sound audit")] = 300,
    out: Annotated[str | None, Option("another name of the table")] = None,
) -> None:
    """Run a study and write its table."""
    out = out or f"audit_{study}.csv"
    if study == "power":
        write(
            out,
            (
                "truth",
                "measure",
                "claim",
                "level",
                "runs",
                "power",
                "drawn audits",
                "right guesses only",
            ),
            power_rows(),
        )
    elif study == "mutants":
        head = (
            "method",
            "fault",
            "pair",
            "measure",
            "claim",
            "runs",
            "bound",
            "attacker",
            "verdict",
            "power at 10,000",
            "cpu seconds",
        )
        write(out, head, mutant_rows(method))
    else:
        write(
            out,
            ("audit", "method", "pair", "measure", "claim", "runs", "bound", "verdict"),
            sound_rows(runs),
        )


if __name__ == "__main__":
    run_study(main)
