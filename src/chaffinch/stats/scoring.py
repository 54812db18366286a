"""How well predictions met the truth: scores of confusion matrices, of rankings and of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def confusion(truth: NDArray[Any], predicted: NDArray[Any], size: int) -> Counts:
    """Return the counts of records by true class (rows) and predicted class (columns), classes 0 to size - 1.

    Examples
    --------
    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    cells = truth.astype(np.int64) * size + predicted.astype(np.int64)
    return np.bincount(cells, minlength=size * size).reshape(size, size)


def accuracy(counts: Counts) -> float:
    """Return the share of records that were predicted right: 0 to 1, higher is better."""
    return float(np.trace(counts) / counts.sum())


def precision_recall_f2(counts: Counts, positive: int | None = None) -> tuple[float, float, float]:
    """Return precision, recall and F2 of a class, or their means over the classes that occur: 0 to 1, higher is better.

    Precision is the share of records predicted to be in the class that are; recall the share of records in the class that
    were predicted to be; F2 = 5 TP / (5 TP + 4 FN + FP) weighs recall higher. What has nothing to divide by is 0.

    Examples
    --------
    >>> precision_recall_f2(np.array([[90, 5], [2, 3]]), positive=1)  # 3 of 8, 3 of 5, 15 / (15 + 8 + 5)
    (0.375, 0.6, 0.5357142857142857)
    """
    hits, true, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    precision = hits / np.maximum(predicted, 1)
    recall = hits / np.maximum(true, 1)
    f2 = 5 * hits / np.maximum(4 * true + predicted, 1)
    which = true > 0 if positive is None else np.arange(len(hits)) == positive
    return float(precision[which].mean()), float(recall[which].mean()), float(f2[which].mean())


def auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float | None:
    """Return the chance that a record of the class scores above one outside it, ties half; None where one kind is absent.

    1 tells them apart, 0.5 is a guess.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    from scipy.stats import rankdata

    inside = int(positive.sum())
    outside = len(positive) - inside
    if not inside or not outside:
        return None
    above = rankdata(scores)[positive].sum() - inside * (inside + 1) / 2
    return float(above / (inside * outside))


def r2_rmse(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> tuple[float, float]:
    """Return the share of variance explained (1 perfect, 0 as good as the mean, no lower end) and the root mean square error.

    Where the truth does not vary the first is 1 for perfect predictions and 0 for others, as scikit-learn has it.
    """
    missed = float(((truth - predicted) ** 2).sum())
    spread = float(((truth - truth.mean()) ** 2).sum())
    r2 = 1 - missed / spread if spread > 0 else float(missed == 0)
    return r2, float(np.sqrt(missed / len(truth)))
