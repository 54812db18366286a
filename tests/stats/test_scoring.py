"""Scores against scikit-learn and against hand-worked figures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from chaffinch.stats.learners import accuracy, auc, confusion, precision_recall_f2, r2_rmse

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60).map(
    np.array
)


def test_the_credit_card_row_of_the_paper() -> None:
    # P0 table VII, random forest on the original: TN 56848, FP 2, FN 32, TP 80.
    precision, recall, f2 = precision_recall_f2(np.array([[56848, 2], [32, 80]]), positive=1)
    assert precision == pytest.approx(80 / 82)
    assert recall == pytest.approx(80 / 112)
    assert f2 == pytest.approx(5 * precision * recall / (4 * precision + recall))


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_confusion_and_its_scores_are_those_of_scikit_learn(pairs: np.ndarray) -> None:
    truth, predicted = pairs.T
    counts = confusion(truth, predicted, 4)
    assert np.array_equal(counts, metrics.confusion_matrix(truth, predicted, labels=range(4)))
    assert accuracy(counts) == pytest.approx(metrics.accuracy_score(truth, predicted))
    for positive, labels in [(None, np.unique(truth)), (2, [2])]:
        wanted = metrics.precision_recall_fscore_support(
            truth, predicted, beta=2, labels=labels, average="macro", zero_division=0
        )
        assert precision_recall_f2(counts, positive) == pytest.approx(wanted[:3])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40))
def test_auc_is_the_share_of_pairs_in_order(items: list[tuple[int, bool]]) -> None:
    inside = [score for score, positive in items if positive]
    outside = [score for score, positive in items if not positive]
    found = auc(np.array([s for s, _ in items], dtype=float), np.array([p for _, p in items]))
    if not inside or not outside:
        assert found is None
    else:
        pairs = [(a > b) + 0.5 * (a == b) for a in inside for b in outside]
        assert found == pytest.approx(sum(pairs) / len(pairs))


def test_r2_and_rmse_are_those_of_scikit_learn_also_where_the_truth_does_not_vary() -> None:
    rng = np.random.default_rng(1)
    truth, predicted = rng.normal(size=30), rng.normal(size=30)
    for wanted, found in [(truth, predicted), (np.ones(5), np.ones(5)), (np.ones(5), np.zeros(5))]:
        r2, rmse = r2_rmse(wanted, found)
        assert r2 == pytest.approx(metrics.r2_score(wanted, found))
        assert rmse == pytest.approx(metrics.root_mean_squared_error(wanted, found))
