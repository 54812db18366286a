"""Can a model tell synthetic records from original ones? The propensity score's mean squared error and its null.

The two tables are stacked and a model predicts which records are synthetic. If it cannot, every prediction is the
synthetic share c, and pMSE = mean of (prediction - c)^2 is small; but a fitted model always finds something, so the
pMSE is divided by what it would be for two samples of one population.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats
from .._base.checks import check_at_least, check_name
from .._base.runtime import Progress, silent, thread_map
from .._base.seeds import Seed, child, seed_sequence
from ..stats.pair import TablePair, pair_up
from ..table import Table
from .metric import METRICS, Distance, Metric, UtilityRun

MODELS = ("tree", "logistic")

ROWS = 50_000
LEAF = 20
DEPTH = 6
MOST_PARAMETERS = 2_000
RECORDS_PER_PARAMETER = 5
WEAK_PENALTY = 1e6
"""The C of scikit-learn's logistic regression: a penalty so weak that it decides only what the data leave open (levels that one table lacks)."""

PERMUTATIONS, REFERENCE_PERMUTATIONS = 20, 5
"""Permutations of the null in a study, and of references, which are far from it or need not be known as closely."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PropensityScore(Distance):
    """pMSE over its expectation for two samples of one population: 1 as good as a fresh sample, 0 a copy, more is worse.

    `z` is how many standard deviations of the null the pMSE lies above its expectation. `fixed_ratio` is the ratio to
    the expectation with the original held fixed, of Snoke et al.: 1 for draws from a right model that was fitted to it.
    """

    name: ClassVar[str] = "pmse_ratio"

    pmse: float = 0.0
    null_mean: float = 0.0
    null_sd: float = 0.0
    z: float | None = None
    fixed_ratio: float = 0.0


def pmse(
    original: Table,
    synthetic: Any,
    *,
    model: str = "tree",
    permutations: int = PERMUTATIONS,
    rows: int = ROWS,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> PropensityScore:
    """Return the pMSE of a model that tells synthetic from original records, over its expectation under the null.

    The null is a synthetic table that is a fresh sample of the population the original came from: it scores 1. A copy
    of the original scores 0, since each record stands in both tables and no model can do better than c. So 0 is
    not a better synthesis than 1 but a closer one; a table drawn from a model fitted to the original lies between where
    the model is right, and above 1 where it misses something. The larger, the easier to tell apart; the largest
    possible value is c (1 - c) over the null expectation.

    Parameters
    ----------
    model
        "tree": a classification tree on the codes (at least 20 records a leaf, depth 6), which sees relations between
        columns. Its null expectation is the mean over `permutations` of the labels original and synthetic, refitted.
        "logistic": main effects of all levels, which sees one-way differences alone. Its null expectation is
        (k - 1) c (1 - c) / N, its standard deviation sqrt(2 (k - 1)) c (1 - c) / N, for k parameters that the N records
        can tell apart, intercept included.
    permutations
        Of the tree's null, at least 2. The ratio's own error from it is about null_sd / (null_mean sqrt(permutations)).
    rows
        Larger tables are cut to so many records, drawn at random: the same ones of both tables if they are of one size,
        so that a copy in the same order still scores 0.

    Notes
    -----
    Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for synthetic data, JRSS A
    181(3), give (k - 1) (1 - c)^2 c / N for the expectation: 1 - c times the above. Their null holds the original fixed
    and draws from a right model with the original's own estimates, so that only the synthetic records vary. A fresh
    sample scores 1 / (1 - c) by it (2 for tables of one size): it is `fixed_ratio`, ours over 1 - c.

    There is no interval: the spread under the null says how far from 1 chance alone may take the ratio (see z), not how
    uncertain the ratio of a table that differs is.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 100, "b": ["p", "p", "q", "q"] * 50}))
    >>> pmse(table, table.data, seed=1).value
    0.0
    """
    check_name("model", model, MODELS)
    for what, number, minimum in (("permutations", permutations, 2), ("rows", rows, 2)):
        check_at_least(what, number, minimum)
    pair = pair_up(original, synthetic)
    root = seed_sequence(seed)
    codes, n_synthetic = _stack_codes(pair, rows, np.random.default_rng(child(root, 0)))
    share = n_synthetic / len(codes)
    settings: dict[str, Any] = {
        "model": model,
        "rows": int(rows),
        "null": "two samples of one population",
        "interval": "none: the null's spread is not that of the ratio of a table that differs; see z",
    }
    if model == "tree":
        settings |= {
            "permutations": int(permutations),
            "min_samples_leaf": LEAF,
            "max_depth": DEPTH,
        }
        return _by_tree(codes, share, permutations, root, settings, threads, progress)
    settings |= {"C": WEAK_PENALTY}
    return _by_logistic(codes, pair.schema.sizes, share, settings)


def _stack_codes(
    pair: TablePair, rows: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint32], int]:
    """Return the codes of both tables, a row for each record, the original's first; and how many are synthetic."""
    chosen: dict[int, Any] = {}
    tables = [table.table() for table in pair.tables]
    for table in tables:
        n = table.n_rows
        if n not in chosen:
            chosen[n] = np.sort(rng.choice(n, rows, replace=False)) if n > rows else slice(None)
    parts = [
        np.stack([table.code(name)[chosen[table.n_rows]] for name in pair.names], axis=1).astype(
            np.uint32
        )
        for table in tables
    ]
    return np.concatenate(parts), len(parts[1])


def _by_tree(
    codes: NDArray[np.uint32],
    share: float,
    permutations: int,
    root: np.random.SeedSequence,
    settings: dict[str, Any],
    threads: int | None,
    progress: Progress,
) -> PropensityScore:
    from sklearn.tree import DecisionTreeClassifier

    features = np.asfortranarray(codes, dtype=np.float32)
    labels = np.arange(len(codes)) >= round(len(codes) * (1 - share))
    done: list[int] = []

    def error(number: int) -> float:
        rng = np.random.default_rng(child(root, number + 1))
        asked = (
            rng.permutation(labels) if number else labels
        )  # number 0 is the measure, the others are its null
        tree = DecisionTreeClassifier(
            min_samples_leaf=LEAF, max_depth=DEPTH, random_state=int(rng.integers(1 << 31))
        ).fit(features, asked)
        done.append(number)
        progress("telling original from synthetic", len(done) / (permutations + 1))
        return _error(tree.predict_proba(features)[:, 1], share)

    measured, *null = thread_map(error, range(permutations + 1), threads=threads)
    if not any(null):
        why = f"no column can be split so that {LEAF} records are on either side"
        return PropensityScore(value=None, reason=why, settings=settings)
    return _result(measured, float(np.mean(null)), float(np.std(null, ddof=1)), share, settings)


def _by_logistic(
    codes: NDArray[np.uint32], sizes: Sequence[int], share: float, settings: dict[str, Any]
) -> PropensityScore:
    from sklearn.linear_model import LogisticRegression

    features = _one_hot(codes, sizes)
    n_rows, columns = features.shape
    why = ""
    if not columns:
        why = "every column has one level"
    elif columns > MOST_PARAMETERS:
        why = f"the model would have {columns:,} parameters, more than {MOST_PARAMETERS:,}; use the tree"
    elif columns * RECORDS_PER_PARAMETER > n_rows:
        why = f"there are fewer than {RECORDS_PER_PARAMETER} records for each of {columns:,} parameters; use the tree"
    if why:
        return PropensityScore(value=None, reason=why, settings=settings)
    labels = np.arange(n_rows) >= round(n_rows * (1 - share))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a singular matrix; then another solver takes over
        fitted = LogisticRegression(
            C=WEAK_PENALTY, solver="newton-cholesky", tol=1e-9, max_iter=100
        ).fit(features, labels)
    free = _rank(features)
    scale = share * (1 - share) / n_rows
    error = _error(fitted.predict_proba(features)[:, 1], share)
    return _result(
        error, free * scale, sqrt(2 * free) * scale, share, settings | {"parameters": free + 1}
    )


def _one_hot(codes: NDArray[np.uint32], sizes: Sequence[int]) -> Any:
    """Return a sparse column of zeros and ones for each level that occurs, the commonest of each column left out."""
    from scipy.sparse import csr_array

    n_rows = len(codes)
    rows, features = [], []
    width = 0
    for j, size in enumerate(sizes):
        counts = np.bincount(codes[:, j], minlength=size)
        used = counts > 0
        used[counts.argmax()] = False
        feature = np.where(used, np.cumsum(used) - 1 + width, -1)[codes[:, j]]
        rows.append(np.flatnonzero(feature >= 0))
        features.append(feature[feature >= 0])
        width += int(used.sum())
    index = (np.concatenate(rows), np.concatenate(features))
    return csr_array((np.ones(len(index[0])), index), shape=(n_rows, width))


def _rank(features: Any) -> int:
    """Return how many effects the records can distinguish: columns that say the same count once (education, its number)."""
    gram = (features.T @ features).toarray()
    sums = features.sum(axis=0)
    centred = gram - np.outer(sums, sums) / features.shape[0]
    scale = np.sqrt(np.maximum(np.diag(centred), 1e-300))
    return int(np.linalg.matrix_rank(centred / np.outer(scale, scale), tol=1e-8, hermitian=True))


def _error(predicted: Floats, share: float) -> float:
    error = float(np.mean((predicted - share) ** 2))
    return error if error > 1e-20 else 0.0  # rounding


def _result(
    error: float, mean: float, sd: float, share: float, settings: dict[str, Any]
) -> PropensityScore:
    ratio = error / mean
    return PropensityScore(
        value=ratio,
        pmse=error,
        null_mean=mean,
        null_sd=sd,
        z=(error - mean) / sd if sd > 0 else None,
        fixed_ratio=ratio / (1 - share),
        settings=settings,
    )


def _measure(run: UtilityRun, side: str) -> PropensityScore:
    return pmse(
        run.original,
        run.tables[side],
        model=run.settings.pmse_model,
        seed=run.seed,
        threads=run.threads,
        progress=run.progress,
        permutations=PERMUTATIONS if side == "synthetic" else REFERENCE_PERMUTATIONS,
    )


METRICS.register(
    Metric(
        name="pmse_ratio",
        kind=PropensityScore,
        measure=_measure,
        doing="telling original from synthetic",
        choice="pmse",
        number=7,
        group="whole",
        title="Telling the tables apart (pMSE ratio)",
        question="Can a model tell synthetic rows from original ones?",
        definition="Propensity mean squared error of a model that tells the tables apart, divided by what it is when both are drawn alike.",
        source="Snoke, Raab, Nowok, Dibben and Slavković 2018, Journal of the Royal Statistical Society A 181(3)",
        phrases=(
            "A model can hardly tell the tables apart",
            "A model can tell the tables apart somewhat",
            "A model tells the tables apart well",
            "A model tells the tables apart easily",
        ),
        detail="it does {value} times as well as on two samples drawn alike, which score 1",
        limits=(3.0, 10.0, 30.0),
        scaled=False,
    )
)
