"""One target for each release out of many attackers' log-odds: the argmax, and what Sedlmeyr (2024) tried and dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..._base.errors import InputError
from .attacker import Bools, Floats, Ints


def weights_by_auc(aucs: ArrayLike) -> Floats:
    """Return a weight from 0 (no better than a guess) to 1 for each classifier, 2 AUC - 1: tried and dropped in Sedlmeyr (2024).

    Examples
    --------
    >>> weights_by_auc([0.4, 0.5, 0.75, 1.0]).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    return np.clip(2 * np.asarray(aucs, dtype=np.float64) - 1, 0.0, 1.0)


def exclude_weak(aucs: ArrayLike, share: float) -> Bools:
    """Return which classifiers stay when the share with the lowest AUC goes (rounded down; one stays): tried and dropped in Sedlmeyr (2024).

    Examples
    --------
    >>> exclude_weak([0.6, 0.5, 0.9, 0.7], 0.5).tolist()
    [False, False, True, True]
    """
    if not 0 <= share <= 1:
        raise InputError(
            f"The share of weak classifiers to exclude must lie between 0 and 1. Got {share}."
        )
    values = np.asarray(aucs, dtype=np.float64)
    keep = np.ones(len(values), dtype=bool)
    keep[np.argsort(values, kind="stable")[: min(int(share * len(values)), len(values) - 1)]] = (
        False
    )
    return keep


def chosen(
    log_odds: ArrayLike, *, weights: ArrayLike | None = None, keep: ArrayLike | None = None
) -> Ints:
    """Return for each release (row) the target (column) whose chance, times its weight, is highest; the first of equals.

    Without options that is the largest log-odds. Weights multiply chances: log-odds have two signs, and a weak classifier's
    "no" would become less of a no.

    Examples
    --------
    >>> chosen([[0.1, 2.0, 1.9]]).tolist(), chosen([[0.1, 2.0, 1.9]], weights=[1, 0.5, 1]).tolist()
    ([1], [2])
    """
    values = np.asarray(log_odds, dtype=np.float64)
    score = values
    if weights is not None:
        with np.errstate(divide="ignore"):
            score = np.log(np.asarray(weights, dtype=np.float64)) - np.logaddexp(0.0, -values)
    if keep is not None:
        score = np.where(np.asarray(keep, dtype=bool), score, -np.inf)
    return np.asarray(score.argmax(axis=-1), dtype=np.int64)
