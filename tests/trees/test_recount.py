"""Counts from data: those that scikit-learn kept of the fit, and data that do not fit the model are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from chaffinch._base.errors import InputError
from chaffinch.trees import read_model, recounted
from chaffinch.trees.tree import checked_data


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 3))
    y = np.where(x[:, 0] + rng.normal(size=90) > 0, "yes", "no")
    return read_model(DecisionTreeClassifier(random_state=0).fit(x, y)), x, y


def test_counts_from_data_are_those_of_the_fit(fitted):
    model, x, y = fitted
    again = recounted(model, x.T, [y])
    for one, other in zip(model.trees, again.trees, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.samples, other.samples)


def test_data_that_do_not_fit_the_model(fitted):
    model, x, y = fitted
    for columns, labels, words in (
        (x.T[:2], [y], "3 columns, but the data have 2"),
        (x.T, [y, y], "1 label.s., but 2 came"),
        (x.T, [y[1:]], "of one length"),
        (x.T[:, :0], [y[:0]], "no records"),
        (x.T, [np.zeros(90)], "No label of the data is a class"),
    ):
        with pytest.raises(InputError, match=words):
            checked_data(model, list(columns), labels)
