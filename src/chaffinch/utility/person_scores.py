"""How well each person's label is predicted by models that learnt from a table: the scores behind an accuracy, for intervals and paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.runtime import silent
from .._base.seeds import Seed, seed_sequence
from ..stats.features import standardised
from ..stats.learners import QUICK, Models, chosen_models, fit, work
from ..stats.splits import child
from ..table.align import align
from ..table.table import Table
from .labels import FEWEST, LearningLabel, label_column
from .trials import LearningSettings, LearningTrials


@dataclass(frozen=True, eq=False)
class PersonScores:
    """For each person with a label the mean over models of being right (1 or 0), or for numbers of 1 - squared error / variance; their mean is accuracy or R2.

    Empty, with `reason`, where nothing can be learnt.
    """

    scores: NDArray[np.float64]
    task: str
    reason: str = ""


def person_scores(
    original: Table,
    learnt: Any,
    people: Any,
    *,
    label: str,
    models: Models = None,
    seed: Seed = None,
    threads: int | None = None,
) -> PersonScores:
    """Return how well models that learnt from a table predict the labels of people.

    Parameters
    ----------
    original
        The table that the columns, the grid and the kind of label are those of.
    learnt, people
        The table that models learn from, and the people whose labels they predict.
    models
        As in `learning`; the quick ones unless named.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> float(person_scores(table, table, table, label="b").scores.mean())
    1.0
    """
    whole = align(original, learnt, people, names=("learnt", "people"))
    name = label_column(original, label).name
    target = LearningLabel.of(whole[0], name, None)
    estimators, _ = chosen_models(QUICK if models is None else models, task=target.task)
    tables = [target.labelled(table) for table in whole]
    root = seed_sequence(seed)
    if (
        not estimators
        or len(tables[0].schema.names) < 2
        or min(table.n_rows for table in tables[1:]) < FEWEST
    ):
        return PersonScores(
            np.empty(0),
            target.task,
            f"too few records have a label '{name}', or there is nothing to learn from",
        )
    trials = LearningTrials(
        label=target,
        tables=tables,
        models=estimators,
        settings=LearningSettings(label=name, repeats=1, marginals=False),
        root=root,
        threads=threads,
        progress=silent,
    )
    train, asked = standardised(
        trials.encoder.matrix(tables[1]),
        trials.encoder.matrix(tables[2]),
        scaled=trials.encoder.scaled,
    )
    labels, truth = target.values(tables[1]), target.values(tables[2])
    state = int(child(root, 1).generate_state(1)[0])

    def one(model: Any) -> NDArray[np.float64]:
        answer = (
            fit(model, train, labels, [asked], task=target.task, seed=state).answers[0].predicted
        )
        if target.task == "classification":
            return np.asarray(answer == truth, dtype=np.float64)
        spread = float(np.var(truth)) or 1.0
        return np.asarray(1 - (truth - answer) ** 2 / spread, dtype=np.float64)

    every = work(one, list(estimators.values()), threads=threads)
    return PersonScores(np.mean(every, axis=0), target.task)
