"""Attackers that learn: models trained on a source's keys to say the sensitive value, asked about people.

As Hittmeir, Mayer and Ekelhart (2022) and Niederhametner and Mayer (2023) have them: integer codes (numbers as they are), standard
scaling fitted on the source, scikit-learn's defaults. Naive Bayes alone is another: theirs is Gaussian on codes, and a class whose records agree in a
key, as a rare one does, is then predicted wherever that key occurs. It is `gaussian_nb` here and runs where it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...stats.learners import chosen_models, fit, is_svm, naive_bayes, standardise, subsample, work
from ...table.compare.classes import class_ids
from ..attacker import ATTACKERS, Attacker
from .attempt import AttackScores, answer_scores
from .gcap import PAPERS

if TYPE_CHECKING:
    from .attempt import AttackContext


FEWEST = 10
"""Records that an attacker needs to learn from."""
MOST_VALUES = 50
"""Sensitive values that models tell apart, the most frequent of the source: with more, as of a number compared exactly, they take longer and are right less often."""

LEARNERS = {
    "nb": ("", "Naive Bayes", "Bayes", "a naive Bayes model"),
    "svm": ("svc", "Support vector machine", "SVM", "a support vector machine"),
    "knn": ("knn", "Nearest neighbours", "Neighbours", "a nearest-neighbours model"),
    "rf": ("rf", "Random forest", "Forest", "a random forest"),
    "lr": ("lr", "Logistic regression", "Logistic", "a logistic regression"),
    "gaussian_nb": (
        "nb",
        "Gaussian naive Bayes",
        "Gaussian Bayes",
        "a Gaussian naive Bayes model of codes",
    ),
}
"""Attackers that learn: the scikit-learn model each is (none: naive Bayes with a likelihood for each kind of key), its titles, and the model in words."""
AS_PRINTED = ("gaussian_nb",)
"""Learners that repeat printed figures and fail for a known reason: they run where they are named alone."""
QUICK = ("nb", "knn")
"""Learners of a quick run: of 33,000 records each learns and answers in a twentieth of a second, where the others take one or more."""


def _attack(name: str) -> Callable[[AttackContext], list[AttackScores]]:
    def attack(attempt: AttackContext) -> list[AttackScores]:
        if attempt.data.by_side[attempt.source].n_rows < FEWEST:
            reason = f"the source has fewer than {FEWEST} records to learn from"
            return [
                answer_scores(np.zeros(len(values)), values, reason) for values in attempt.values
            ]
        right = attempt.once("learners", lambda: _right_answers(attempt))[name]
        return [
            answer_scores(answers, values)
            for answers, values in zip(right, attempt.values, strict=True)
        ]

    return attack


def _right_answers(attempt: AttackContext) -> dict[str, list[NDArray[np.bool_]]]:
    """Return whether each learner of the question says each person's sensitive value: by learner, then by side of people.

    Models answer once for each distinct key, with one of the source's `MOST_VALUES` most frequent values. The support vector machine learns
    from at most `svm_rows` records of the source, a stratified subsample. Where the source has one sensitive value, every attacker says it.

    Rows of the source come in an order that is drawn by the seed from their values: of equally near ones each is as likely to be among the nearest as any
    other, and no answer depends on the order in which they were released.
    """
    data, question = attempt.data, attempt.question
    matrices = [
        np.column_stack(
            [data.grids[name].numbers[data.by_side[side].codes[name]] for name in question.keys]
        )
        for side in (attempt.source, *attempt.people)
    ]
    ids = class_ids(*(data.keys(side, question.keys) for side in attempt.people))
    _, first, position = np.unique(np.concatenate(ids), return_index=True, return_inverse=True)
    labels = data.values(attempt.source, question.sensitive)
    (rows,) = class_ids([*data.keys(attempt.source, question.keys), labels])
    rng = np.random.default_rng(attempt.seed)
    order = np.argsort(rows, kind="stable")[rng.permutation(len(rows))]
    train, tested = standardise(matrices[0][order], np.concatenate(matrices[1:])[first])
    often = np.argsort(-np.bincount(labels), kind="stable")[:MOST_VALUES]
    is_learnt = np.isin(labels[order], often)
    learnt = order[is_learnt]
    train, labels = train[is_learnt], labels[learnt]
    few = subsample(labels, len(labels), question.svm_rows, rng)
    names = [name for name in LEARNERS if name in question.attackers]
    known = [model for model, *_ in map(LEARNERS.__getitem__, names) if model]
    models = chosen_models(known, task="classification")[0] if known else {}

    def predicted(name: str) -> NDArray[np.int64]:
        model = models.get(LEARNERS[name][0])
        if model is None:
            asked = [feature[first] for feature in _features(attempt, attempt.people)]
            return naive_bayes(
                [feature[learnt] for feature in _features(attempt, [attempt.source])], labels, asked
            )
        rows = few if is_svm(model) else slice(None)
        return (
            fit(model, train[rows], labels[rows], [tested], seed=attempt.seed).answers[0].predicted
        )

    doing = f"attacking {question.sensitive}"
    answers = work(
        predicted, names, threads=attempt.threads, progress=attempt.progress, doing=doing
    )
    return {
        name: [
            guesses == values
            for guesses, values in zip(
                np.split(answer[position.ravel()], attempt.ends), attempt.values, strict=True
            )
        ]
        for name, answer in zip(names, answers, strict=True)
    }


def _features(attempt: AttackContext, names: Sequence[str]) -> Iterator[NDArray[Any]]:
    """Yield the keys of sides, joined, as naive Bayes takes them: levels and bins as codes, numbers as they are.

    Which numbers are missing, and why, is a code of its own beside the number.
    """
    for name in attempt.question.keys:
        grid = attempt.data.grids[name]
        codes = np.concatenate([attempt.data.by_side[side].codes[name] for side in names])
        if grid.labels is not None:
            yield codes
        else:
            yield np.maximum(codes - grid.n_values + 1, 0)
            yield np.where(codes < grid.n_values, grid.numbers[codes], np.nan)


for _name, (_, _title, _short, _model) in LEARNERS.items():
    ATTACKERS.register(
        Attacker(
            name=_name,
            attack=_attack(_name),
            title=_title,
            short=_short,
            answers=True,
            learns=True,
            thorough=_name not in QUICK,
            named_only=_name in AS_PRINTED,
            own_stream=_name in AS_PRINTED,
            says=f"someone who trains {_model} on the synthetic table guesses {{sensitive}}",
            definition=f"Share of people whose value is said by {_model} that learnt it from the keys in the synthetic table.",
            reference=PAPERS,
        )
    )
