"""Linear models of scikit-learn as published coefficients: what their records satisfy, and what is no estimate of the data alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor

from chaffinch.errors import InputError
from chaffinch.outputs.readers.sklearn import coefficients_of

FREE = {"C": np.inf, "tol": 1e-12, "max_iter": 10_000}


def test_models_without_a_penalty_are_what_their_records_satisfy(frame, satisfied):
    x = frame[["age", "children"]]
    models = {
        "ols": (
            LinearRegression().fit(frame[["age", "religion"]], frame["children"]),
            "children",
            6,
        ),
        "logit": (
            LogisticRegression(**FREE, solver="newton-cholesky").fit(x, frame["religion"]),
            "religion",
            4,
        ),
        "poisson": (
            PoissonRegressor(alpha=0.0, tol=1e-12, max_iter=10_000).fit(
                frame[["age", "religion"]], frame["children"]
            ),
            "children",
            4,
        ),
        "multinomial": (
            LogisticRegression(**FREE, solver="newton-cholesky").fit(x, frame["method"]),
            "method",
            3,
        ),
    }
    for kind, (model, label, decimals) in models.items():
        entry = coefficients_of(model, name="m", label=label, decimals=decimals)
        assert entry["kind"] == kind
        assert entry["comment"].startswith(
            f"Fitted without a formula. Understood as {label} ~ age + "
        )
        assert satisfied(frame, entry).within, kind
        assert not satisfied(frame.assign(age=frame["age"].to_numpy()[::-1]), entry).within, kind


def test_features_that_are_no_columns_are_asked_for(frame, satisfied):
    dummies = pd.get_dummies(frame["school"], prefix="school", drop_first=True, dtype=float)
    model = LinearRegression().fit(dummies, frame["children"])
    with pytest.raises(InputError, match="Unknown column 'school_e2'"):
        satisfied(frame, coefficients_of(model, name="m", label="children"))
    names = {f"school_e{k}": f"school[T.e{k}]" for k in (2, 3, 4)}
    entry = coefficients_of(
        model, name="m", label="children", formula="children ~ school", names=names, decimals=6
    )
    assert "comment" not in entry
    assert satisfied(frame, entry).within
    with pytest.raises(InputError, match="on columns without names"):
        coefficients_of(
            LinearRegression().fit(frame[["age"]].to_numpy(), frame["children"]),
            name="m",
            label="children",
        )


def test_words_count_as_scikit_learn_counts_them_and_an_intercept_may_be_absent(frame, satisfied):
    model = LogisticRegression(**FREE, fit_intercept=False).fit(frame[["age"]], frame["works"])
    entry = coefficients_of(model, name="m", label="works", decimals=3, where="age > 0")
    assert (entry["success"], entry["formula"], entry["where"]) == (
        "yes",
        "works ~ 0 + age",
        "age > 0",
    )
    assert satisfied(frame, entry).within


@pytest.mark.filterwarnings("ignore")
def test_penalties_are_no_estimates_of_the_data_alone(frame):
    x, y = frame[["age"]], frame["religion"]
    for model, message in (
        (LogisticRegression().fit(x, y), "was fitted with a penalty or weights of classes"),
        (
            LogisticRegression(C=np.inf, class_weight="balanced").fit(x, y),
            "penalty or weights of classes",
        ),
        (PoissonRegressor().fit(x, y), "Fit it with alpha=0"),
        (LinearRegression(positive=True).fit(x, y), "coefficients of at least 0"),
        (
            Lasso().fit(x, y),
            "must be a fitted LinearRegression, LogisticRegression, PoissonRegressor of scikit-learn. Got Lasso",
        ),
        (LinearRegression(), "was not fitted"),
        (LinearRegression().fit(x, frame[["religion", "children"]]), "several labels at once"),
    ):
        with pytest.raises(InputError, match=message):
            coefficients_of(model, name="m", label="religion")
