"""Attackers on one pair of tables: several learn on training runs, validation runs choose one and its rule, test runs judge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.seeds import child
from ..attacker import ATTACKERS, Attacker, attackers_of_kind
from .claims import Claim, Guessed, Rule, choose_rule, choose_threshold, guess
from .power import separation

Scores = Callable[[NDArray[np.float64]], NDArray[np.float64]]

TREES = 100
WIDE = 300
"""Features beyond which the regression is the one of membership attacks, made for thousands of counts."""
SHORTLIST = 20
"""Single features that are tried one by one: those whose means differ most."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Numbers of the runs to learn on, to choose on, and to test on: a quarter, a quarter and a half."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def parts_of(runs: int) -> Parts:
    """Return the parts of runs. These have independent seeds and coins, so it does not matter which they are.

    Examples
    --------
    >>> [len(part) for part in vars(parts_of(200)).values()]
    [50, 50, 100]
    """
    runs_in_order, quarter = np.arange(runs), runs // 2 // 4 * 2
    return Parts(
        runs_in_order[:quarter], runs_in_order[quarter : 2 * quarter], runs_in_order[2 * quarter :]
    )


@dataclass(frozen=True)
class Verdicts:
    """What the chosen attacker guessed in test runs. `apart`: how far apart its scores on D and D' were (`power.separation`)."""

    attacker: str
    guessed: Guessed
    apart: float


def attack(
    features: NDArray[np.floating[Any]],
    member: NDArray[np.bool_],
    claim: Claim,
    *,
    level: float,
    seed: np.random.SeedSequence,
) -> Verdicts:
    """Return what the best of several attackers proves about a claim on its test runs.

    `features`: (runs, features), NaN for what was not seen. `member`: for each run whether it was on D', the table with the target.
    """
    parts = parts_of(len(member))
    seen = _usable(np.asarray(features, dtype=np.float64), parts.train)
    train, train_member = seen[parts.train], member[parts.train]
    tests = member[parts.test]
    one_sided = train_member.all() or not train_member.any()
    if not seen.shape[1] or one_sided:
        return Verdicts(
            "none: all training runs look the same", Guessed(len(tests), 0, 0, 0.0), 0.0
        )
    best: tuple[float, float] | None = None
    chosen: tuple[str, Scores, Rule] | None = None
    for attacker in attackers_of_kind("audit"):  # one is chosen before the test runs are looked at
        if attacker.separate is None:
            continue
        scores = attacker.separate(train, train_member, child(seed, attacker.stream))
        values = scores(seen[parts.validation])
        rule = choose_rule(values, member[parts.validation], claim, level=level)
        apart = separation(rule.sign * values, member[parts.validation])
        if best is None or (rule.bound, apart) > best:
            best, chosen = (rule.bound, apart), (attacker.name, scores, rule)
    assert chosen is not None
    name, scores, rule = chosen
    values = scores(seen[parts.test])
    return Verdicts(
        name, guess(rule, values, tests, claim, level=level), separation(rule.sign * values, tests)
    )


def _usable(features: NDArray[np.float64], train: NDArray[np.int64]) -> NDArray[np.float64]:
    """Features without gaps: the mean of the training runs where there is none, and a column that says so. Constant ones are dropped.

    Judged on training runs alone, so that a run's features do not depend on other runs that are judged.
    """
    gaps = ~np.isfinite(features)
    partial_gaps = gaps[train].any(axis=0) & ~gaps[train].all(axis=0)
    filled = np.where(gaps, 0.0, features)
    means = filled[train].sum(axis=0) / np.maximum((~gaps[train]).sum(axis=0), 1)
    filled = np.where(gaps, means, filled)
    all_features = np.concatenate([filled, gaps[:, partial_gaps].astype(np.float64)], axis=1)
    return all_features[:, np.ptp(all_features[train], axis=0) > 0]


def _logistic(
    train: NDArray[np.float64], member: NDArray[np.bool_], seed: np.random.SeedSequence
) -> Scores:
    """Logistic regression on standardised features; partial least squares where there are many."""
    from sklearn.linear_model import LogisticRegression

    if train.shape[1] > WIDE:
        from ..membership.attacker import learner

        counts = bool((train >= 0).all() and (train == np.rint(train)).all())
        attacker = learner("linear", kind="counts" if counts else "real").fit(
            train[:, None, :].astype(np.float32),
            member,
            seed=np.random.default_rng(seed),
            threads=1,
        )
        return lambda features: np.asarray(
            attacker.log_odds(features.astype(np.float32)), dtype=np.float64
        )

    mean, spread = train.mean(axis=0), train.std(axis=0)

    def scaled(features: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip((features - mean) / spread, -10, 10)

    model = LogisticRegression(C=0.1, max_iter=500).fit(scaled(train), member)
    return lambda features: np.asarray(model.decision_function(scaled(features)))


def _forest(
    train: NDArray[np.float64], member: NDArray[np.bool_], seed: np.random.SeedSequence
) -> Scores:
    """Extremely randomised trees: for answers that tell by being equal to something, and not by being larger."""
    from sklearn.ensemble import ExtraTreesClassifier

    wide = train.shape[1] > 100
    model = ExtraTreesClassifier(
        TREES,
        min_samples_leaf=5,
        max_features="sqrt" if wide else 0.5,
        random_state=int(seed.generate_state(1)[0]),
        n_jobs=1,
    ).fit(train, member)
    return lambda features: np.asarray(model.predict_proba(features)[:, 1])


def _single(
    train: NDArray[np.float64], member: NDArray[np.bool_], seed: np.random.SeedSequence
) -> Scores:
    """The one feature that tells most: for tables that differ in a single count."""
    inside, outside = train[member], train[~member]
    error = np.sqrt(inside.var(axis=0) / len(inside) + outside.var(axis=0) / len(outside)) + 1e-12
    order = np.argsort(-np.abs(inside.mean(axis=0) - outside.mean(axis=0)) / error, kind="stable")[
        :SHORTLIST
    ]
    lines = [choose_threshold(train[:, j], member) for j in order]
    best = max(range(len(order)), key=lambda i: (lines[i].bound, -i))
    sign, feature = (1.0 if lines[best].above else -1.0), int(order[best])
    return lambda features: sign * features[:, feature]


for _number, (_name, _title, _definition, _blindness, _separate) in enumerate(
    (
        (
            "logistic",
            "Logistic regression",
            "Logistic regression on standardised features; partial least squares where there are many.",
            "Answers that tell by being equal to something, and features that tell only together.",
            _logistic,
        ),
        (
            "extra trees",
            "Extremely randomised trees",
            "Extremely randomised trees: for answers that tell by being equal to something.",
            "Many small differences that tell only when they are added up.",
            _forest,
        ),
        (
            "single feature",
            "The most telling feature",
            "The one feature that tells most: for tables that differ in a single count.",
            "Whatever two features tell together.",
            _single,
        ),
        (
            "likelihood ratio",
            "Exact likelihood ratio",
            "The exact ratio of the probabilities of a fit's noisy answers on the two tables.",
            "Noise that is drawn otherwise than by its stated law.",
            None,
        ),
        (
            "repeated answers",
            "Repeated answers",
            "How many other runs on each of the tables gave the same noisy answers.",
            "Answers that differ in every run.",
            None,
        ),
    )
):
    ATTACKERS.register(
        Attacker(
            name=_name,
            title=_title,
            definition=_definition,
            blindness=_blindness,
            separate=_separate,
            stream_number=_number,
            needs=("method",),
            share=False,
        )
    )
