"""Learning from tables: feature matrices, models by short name, fitting and prediction, scores, and
splits into training and test records.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base.checks import check_name
from .._base.errors import InputError, unknown_name
from .._base.runtime import Progress, R, T, silent, thread_map
from ..table.compare.values import numbers_of
from ..table.schema import Column
from ..table.table import Table

Encoding = str
ENCODINGS = ("codes", "onehot")
NUMBERS = ("integer", "float", "date", "datetime")

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Encoder:
    """The encoding of tables of one schema as matrices with the same features. Make one with
    `Encoder.from_tables`.

    Numbers, dates and times stand as their numbers, NaN where missing; a column that has missing
    numbers in any of the tables is followed by an indicator of them. Categories and booleans stand
    as their codes (the order of levels, then `(other)`, then missing: a code of its own) with
    `codes`, or as one indicator for each code with `onehot`.

    `columns`: the columns that become features. `encoding`: `codes` or `onehot`. `gaps`: the names
    of the numeric columns with missing numbers.
    """

    columns: tuple[Column, ...]
    encoding: Encoding = "codes"
    gaps: frozenset[str] = frozenset()

    @classmethod
    def from_tables(
        cls,
        tables: Sequence[Table],
        columns: Sequence[str] | None = None,
        *,
        encoding: Encoding = "codes",
    ) -> Encoder:
        """Return the encoder of tables that share a schema (see `align`), for the named columns.
        Default: all modelled columns.

        Examples
        --------
        >>> import pyarrow as pa, chaffinch
        >>> table = chaffinch.read(pa.table({"age": [30.5, 40.25, None] * 20, "sex": ["f", "m", "m"] * 20}))
        >>> encoder = Encoder.from_tables([table])
        >>> encoder.owners, encoder.matrix(table)[:3].tolist()
        (('age', 'age', 'sex'), [[30.5, 0.0, 0.0], [40.25, 0.0, 1.0], [nan, 1.0, 1.0]])
        """
        check_name("encoding", encoding, ENCODINGS)
        schema = tables[0].schema
        feature_names = schema.names if columns is None else tuple(columns)
        for name in feature_names:
            check_name("column", name, schema.names)
        if any(
            table.schema.sizes != schema.sizes or table.schema.names != schema.names
            for table in tables
        ):
            raise InputError(
                "Tables that become features together need one schema. Bring them together with align()."
            )
        features = tuple(schema[name] for name in feature_names)
        gaps = {
            c.name
            for c in features
            if c.kind in NUMBERS and any(np.isnan(numbers_of(t, c.name)).any() for t in tables)
        }
        return cls(features, encoding, frozenset(gaps))

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The column that each feature comes from."""
        return tuple(column.name for column in self.columns for _ in range(self._width(column)))

    @cached_property
    def scaled(self) -> NDArray[np.bool_]:
        """Whether each feature is to be standardised: all, or with `onehot` the numbers alone."""
        if self.encoding == "codes":
            return np.ones(len(self.owners), dtype=bool)
        first = np.array(
            [i == 0 or owner != self.owners[i - 1] for i, owner in enumerate(self.owners)],
            dtype=bool,
        )
        numbers = {column.name for column in self.columns if column.kind in NUMBERS}
        return first & np.array([owner in numbers for owner in self.owners], dtype=bool)

    def matrix(self, table: Table) -> Matrix:
        """Return the features of a table: one row for each record, one column for each of
        `owners`.
        """
        out = np.zeros((table.n_rows, len(self.owners)))
        offset = 0
        for column in self.columns:
            if column.kind in NUMBERS:
                numbers = numbers_of(table, column.name)
                out[:, offset] = numbers
                if column.name in self.gaps:
                    out[:, offset + 1] = np.isnan(numbers)
            elif self.encoding == "codes":
                out[:, offset] = table.code(column.name)
            else:
                out[np.arange(table.n_rows), offset + table.code(column.name).astype(np.int64)] = (
                    1.0
                )
            offset += self._width(column)
        return out

    def _width(self, column: Column) -> int:
        if column.kind in NUMBERS:
            return 1 + (column.name in self.gaps)
        return 1 if self.encoding == "codes" else column.size


def standardise(
    train: Matrix, *others: Matrix, scaled: NDArray[np.bool_] | None = None
) -> list[Matrix]:
    """Return matrices with missing numbers at the training mean, scaled to training mean 0 and
    variance 1.

    A feature without any number on the training side is 0 everywhere. `scaled` says which features
    to scale (all).

    Examples
    --------
    >>> [m.tolist() for m in standardise(np.array([[1.0], [3.0], [np.nan]]), np.array([[2.0]]))]
    [[[-1.224744871391589], [1.224744871391589], [0.0]], [[0.0]]]
    """
    from sklearn.preprocessing import StandardScaler

    absent = np.isnan(train)
    counts = np.maximum((~absent).sum(axis=0), 1)
    means = np.where(absent, 0.0, train).sum(axis=0) / counts
    filled = [np.where(np.isnan(matrix), means, matrix) for matrix in (train, *others)]
    empty = absent.all(axis=0)
    for matrix in filled:
        matrix[:, empty] = 0.0
    which = np.ones(train.shape[1], dtype=bool) if scaled is None else scaled
    if which.any():
        scaler = StandardScaler().fit(filled[0][:, which])
        for matrix in filled:
            if len(matrix):
                matrix[:, which] = scaler.transform(matrix[:, which])
    return filled


Task = Literal["classification", "regression"]
Models = Sequence[str] | Mapping[str, Any] | None

CLASSIFIERS = ("nb", "svc", "knn", "rf", "lr")
"""Naive Bayes, support vectors (RBF kernel), nearest neighbours, random forest, logistic
regression.
"""
REGRESSORS = ("lr", "knn", "rf", "svr")
"""Least squares, nearest neighbours, random forest, support vectors (RBF kernel, label
standardised).
"""
QUICK = ("nb", "knn", "lr")
"""The learners that a quick run takes: of 26,000 records each is fitted and asked in half a second
or less, where a forest takes 2.4 and support vectors more.
"""
_ELSEWHERE = {
    "nb": "it predicts classes, not numbers",
    "svc": "it predicts classes, not numbers; svr predicts numbers",
    "svr": "it predicts numbers, not classes; svc predicts classes",
}
MIN_VARIANCE = 0.1
"""The smallest variance of a number within a class in naive Bayes, as a share of its variance in
all training records.

Without a floor a class whose records agree in a number, or that has one record, has an unbounded
density there and is predicted wherever that number occurs. A share of 0.01 still lets point masses
(nothing earned, no loss) outweigh all other columns; of 0.01, 0.1 and 0.25 on Adult and SD2011, 0.1
loses nothing on smooth columns.
"""
_ONE_PASS = ("KNeighborsClassifier", "RandomForestClassifier", "SVC")
"""Classifiers whose prediction between two classes is the class with the higher chance, at half the
cost of asking for both.
"""


def chosen_models(models: Models, *, task: Task) -> tuple[dict[str, Any], dict[str, str]]:
    """Return unfitted scikit-learn estimators by name, and the reason for each named one that
    cannot do the task.

    Named ones have scikit-learn's defaults. `models` may also be estimators by name; None is all
    that do the task.

    Examples
    --------
    >>> chosen_models(["nb", "lr"], task="regression")
    ({'lr': LinearRegression()}, {'nb': 'it predicts classes, not numbers'})
    """
    known = CLASSIFIERS if task == "classification" else REGRESSORS
    if isinstance(models, str):
        models = [models]
    names = known if models is None else tuple(models)
    if not names:
        raise InputError(f"Name at least one model of {', '.join(known)}.")
    if isinstance(models, Mapping):
        return {
            name: _check_estimator(name, estimator, task) for name, estimator in models.items()
        }, {}
    for name in names:
        if name not in known and name not in _ELSEWHERE:
            raise unknown_name("model", name, known)
    left_out = {name: _ELSEWHERE[name] for name in names if name not in known}
    make = _classifier if task == "classification" else _regressor
    return {name: make(name) for name in names if name in known}, left_out


def _classifier(name: str) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    classes = {
        "nb": GaussianNB,
        "svc": SVC,
        "knn": KNeighborsClassifier,
        "rf": RandomForestClassifier,
    }
    return {**classes, "lr": LogisticRegression}[name]()


def _regressor(name: str) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    if (
        name == "svr"
    ):  # its margin of 0.1 is in units of the label, so the label is standardised too
        return TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    return {"lr": LinearRegression, "knn": KNeighborsRegressor, "rf": RandomForestRegressor}[name]()


def _check_estimator(name: str, estimator: Any, task: Task) -> Any:
    from sklearn.base import is_classifier, is_regressor

    if not all(hasattr(estimator, method) for method in ("fit", "predict", "get_params")):
        raise InputError(
            f"Model '{name}' must be a scikit-learn estimator. Got {type(estimator).__name__}."
        )
    if is_regressor(estimator) if task == "classification" else is_classifier(estimator):
        raise InputError(
            f"Model '{name}' does not do {task}, which the label asks for. Got {type(estimator).__name__}."
        )
    return estimator


def is_svm(estimator: Any) -> bool:
    """Return whether a model is a kernel machine, whose time is at least quadratic in the rows."""
    from sklearn.svm import SVC, SVR, NuSVC, NuSVR

    inner = [
        estimator,
        getattr(estimator, "regressor", None),
        *(step for _, step in getattr(estimator, "steps", ())),
    ]
    return any(isinstance(model, SVC | SVR | NuSVC | NuSVR) for model in inner)


def is_random(estimator: Any) -> bool:
    """Return whether two fits of a model to the same records may differ."""
    from sklearn.linear_model import LogisticRegression

    if is_svm(estimator) or (
        isinstance(estimator, LogisticRegression) and estimator.solver == "lbfgs"
    ):
        return bool(getattr(estimator, "probability", False) is True)
    return bool(_open_states(estimator))


def _open_states(estimator: Any) -> list[str]:
    settings = estimator.get_params()
    return [
        key for key in settings if key.split("__")[-1] == "random_state" and settings[key] is None
    ]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a fitted model for the records of a test set.

    `predicted` holds classes or numbers. `chances`, if asked for and if the model has them, has one
    column for each of the fit's classes: the higher, the likelier (probabilities, or distances from
    the border).
    """

    predicted: NDArray[Any]
    chances: Matrix | None = None


@dataclass(frozen=True, eq=False)
class LearnerFit:
    """The predictions of a fitted model for each test set, the classes it knows, and whether its
    iterations converged.
    """

    answers: tuple[Predictions, ...]
    classes: NDArray[Any]
    converged: bool = True

    def chance(self, test: int, wanted: Any) -> Matrix:
        """Return the probabilities of one class for the records of a test set: 0 for a class that
        was not trained.
        """
        chances = self.answers[test].chances
        where = np.flatnonzero(self.classes == wanted)
        if chances is None or not len(where):
            return np.zeros(len(self.answers[test].predicted))
        return chances[:, where[0]]


def fit(
    estimator: Any,
    train: Matrix,
    labels: NDArray[Any],
    tests: Sequence[Matrix],
    *,
    task: Task = "classification",
    seed: int = 0,
    chances: bool = False,
) -> LearnerFit:
    """Return the predictions for test sets of a fresh copy of a model, fitted to training records.

    `seed` fills every random state that the model leaves open. Where the training records have one
    class, every answer is that class, whatever the model.
    """
    from sklearn.base import clone

    model = clone(estimator)
    model.set_params(**dict.fromkeys(_open_states(model), seed), **_search(model, train))
    if task == "regression":
        model.fit(train, labels)
        return LearnerFit(
            tuple(Predictions(model.predict(test)) for test in tests),
            np.empty(0),
            _has_converged(model),
        )
    classes, wanted = np.unique(
        labels, return_inverse=True
    )  # 0 to k - 1: some learners take no others
    if len(classes) == 1:
        return LearnerFit(
            tuple(
                Predictions(np.repeat(classes, len(test)), np.zeros((len(test), 1)))
                for test in tests
            ),
            classes,
        )
    model.fit(train, wanted)
    answers = tuple(
        _ask(model, test, chances) if len(test) else (np.empty(0, dtype=np.int64), None)
        for test in tests
    )
    return LearnerFit(
        tuple(Predictions(classes[predicted], scores) for predicted, scores in answers),
        classes,
        _has_converged(model),
    )


def naive_bayes(
    train: Sequence[NDArray[Any]], labels: NDArray[Any], test: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    """Return the most probable class of each test record by naive Bayes, with a likelihood for each
    kind of feature.

    A feature of integers is a code: categorical, the share of each code in a class smoothed by one
    record's share of all training records, `(n_code,class + n_code / n) / (n_class + 1)`. A code
    that no training record has is ignored. A feature of floats is a number: Gaussian, its variance
    within a class smoothed by one record's share of the variance in all, and at least
    `MIN_VARIANCE` of it. NaN is ignored.

    Examples
    --------
    The code 1 occurs in class "b" alone:

    >>> naive_bayes([np.array([0, 0, 0, 1])], np.array(["a", "a", "a", "b"]), [np.array([0, 1])]).tolist()
    ['a', 'b']
    """
    classes, which = np.unique(labels, return_inverse=True)
    sizes = np.bincount(which)
    scores = np.tile(np.log(sizes / len(which)), (len(test[0]), 1))
    for train_column, test_column in zip(train, test, strict=True):
        likelihood = _gaussian if np.issubdtype(train_column.dtype, np.floating) else _categorical
        scores += likelihood(train_column, which, sizes, test_column)
    return np.asarray(classes[scores.argmax(axis=1)])


def _categorical(
    train_column: NDArray[Any],
    which: NDArray[np.int64],
    sizes: NDArray[np.int64],
    test_column: NDArray[Any],
) -> Matrix:
    n_codes = 1 + int(max(train_column.max(), test_column.max(initial=0)))
    counts = np.bincount(which * n_codes + train_column, minlength=len(sizes) * n_codes).reshape(
        len(sizes), n_codes
    )
    overall = counts.sum(axis=0)
    shares = (counts + overall / len(train_column)) / (sizes[:, None] + 1)
    logs = np.log(np.where(overall, shares, 1.0))
    return np.asarray(logs[:, test_column].T)


def _gaussian(
    train_column: Matrix, which: NDArray[np.int64], sizes: NDArray[np.int64], test_column: Matrix
) -> Matrix:
    present = ~np.isnan(train_column)
    numbers, groups = train_column[present], which[present]
    spread = float(numbers.var()) if len(numbers) else 0.0
    if not spread > 0:
        return np.zeros((len(test_column), len(sizes)))
    counts = np.bincount(groups, minlength=len(sizes))
    means = np.where(
        counts,
        np.bincount(groups, numbers, minlength=len(sizes)) / np.maximum(counts, 1),
        numbers.mean(),
    )
    squares = np.bincount(groups, (numbers - means[groups]) ** 2, minlength=len(sizes))
    variances = np.maximum((squares + spread) / (counts + 1), MIN_VARIANCE * spread)
    logs = -0.5 * (np.log(variances / spread) + (test_column[:, None] - means) ** 2 / variances)
    return np.where(np.isnan(test_column)[:, None], 0.0, logs)


def _search(model: Any, train: Matrix) -> dict[str, str]:
    """Return the neighbour search algorithm where it is left open.

    Among thousands of records in more than a few dimensions, trees look at nearly all of them:
    comparing all by matrix products finds the same neighbours six times faster (Adult). Ties alone
    may be broken in another order.
    """
    settings = model.get_params(deep=False)
    left_open = [settings.get(key) for key in ("algorithm", "metric", "p")] == [
        "auto",
        "minkowski",
        2,
    ]
    return (
        {"algorithm": "brute"} if left_open and train.shape[0] > 5000 and train.shape[1] > 5 else {}
    )


def _ask(model: Any, test: Matrix, chances: bool) -> tuple[NDArray[Any], Matrix | None]:
    if not chances:
        return np.asarray(model.predict(test)).astype(np.int64), None
    scores = _chances(model, test)
    if scores is not None and scores.shape[1] == 2 and type(model).__name__ in _ONE_PASS:
        return (scores[:, 1] > scores[:, 0]).astype(np.int64), scores
    return np.asarray(model.predict(test)).astype(np.int64), scores


def _chances(model: Any, test: Matrix) -> Matrix | None:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(test))
    if hasattr(model, "decision_function"):
        distances = np.asarray(model.decision_function(test))
        return np.column_stack([-distances, distances]) if distances.ndim == 1 else distances
    return None


def _has_converged(model: Any) -> bool:
    max_iter, used = getattr(model, "max_iter", None), getattr(model, "n_iter_", None)
    if max_iter is None or used is None or max_iter < 1:
        return True
    return bool(np.max(used) < max_iter)


def work(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    threads: int | None = None,
    progress: Progress = silent,
    doing: str = "learning",
    span: tuple[float, float] = (0.0, 1.0),
) -> list[R]:
    """Return `[function(item) for item in items]`, computed on threads that fit models.

    Libraries below take one thread each, so that neither the number of threads nor of cores changes
    a result (ties between neighbours are broken in the order in which they are met). Models that do
    not converge say so in their `LearnerFit` and not on the screen. Progress runs over `span`.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import ThreadpoolController

    libraries, lock = ThreadpoolController(), threading.Lock()
    done = 0

    def run_item(item: T) -> R:
        nonlocal done
        with libraries.limit(limits=1, user_api="openmp"):  # a setting of this thread alone
            result = function(item)
        with lock:
            done += 1
            progress(doing, span[0] + (span[1] - span[0]) * done / len(items))
        return result

    with warnings.catch_warnings(), libraries.limit(limits=1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return thread_map(run_item, items, threads=threads)


Counts = NDArray[np.int64]


def confusion(truth: NDArray[Any], predicted: NDArray[Any], size: int) -> Counts:
    """Return the counts of records by true class (rows) and predicted class (columns), classes 0 to
    size - 1.

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
    """Return precision, recall and F2 of a class, or their means over the classes that occur: 0 to
    1, higher is better.

    Precision is the share of records predicted to be in the class that are; recall the share of
    records in the class that were predicted to be; F2 = 5 TP / (5 TP + 4 FN + FP) weighs recall
    higher. What has nothing to divide by is 0.

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
    """Return the chance that a record of the class scores above one outside it, ties half; None
    where one kind is absent.

    1 distinguishes them, 0.5 is a guess.

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
    """Return the share of variance explained (1 perfect, 0 as good as the mean, no lower end) and
    the root mean square error.

    Where the truth does not vary the first is 1 for perfect predictions and 0 for others, as
    scikit-learn has it.
    """
    missed = float(((truth - predicted) ** 2).sum())
    spread = float(((truth - truth.mean()) ** 2).sum())
    r2 = 1 - missed / spread if spread > 0 else float(missed == 0)
    return r2, float(np.sqrt(missed / len(truth)))


Rows = NDArray[np.int64]
Labels = NDArray[Any]


def split(
    labels: Labels | None, n_rows: int, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return the training rows and the test rows, each ascending.

    Each class is split by itself: the share of it tests, rounded, but at least one record of it
    tests and one trains. A class with a single record trains. Without labels (None) the share is of
    all rows.

    Examples
    --------
    >>> train, test = split(np.array([0] * 8 + [1] * 2 + [2]), 11, 0.25, np.random.default_rng(0))
    >>> [np.bincount(np.array([0] * 8 + [1] * 2 + [2])[rows], minlength=3).tolist() for rows in (train, test)]
    [[6, 1, 1], [2, 1, 0]]
    """
    classes = (
        np.zeros(n_rows, dtype=np.int64)
        if labels is None
        else np.unique(labels, return_inverse=True)[1]
    )
    sizes = np.bincount(classes)
    tests = np.clip(
        np.rint(sizes * share).astype(np.int64), np.minimum(1, sizes - 1), np.maximum(sizes - 1, 0)
    )
    chosen = _first_of_each(classes, sizes, tests, rng)
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def subsample(
    labels: Labels | None, n_rows: int, max_rows: int | None, rng: np.random.Generator
) -> Rows:
    """Return at most `max_rows` rows (None: all), ascending, each class in proportion and with at
    least one record.

    With more classes than `max_rows`, or without labels (None), rows are drawn whatever their
    class.

    Examples
    --------
    >>> labels = np.array([0] * 90 + [1] * 9 + [2])
    >>> np.bincount(labels[subsample(labels, 100, 10, np.random.default_rng(0))]).tolist()
    [8, 1, 1]
    """
    if max_rows is None or n_rows <= max_rows:
        return np.arange(n_rows)
    classes = (
        np.zeros(n_rows, dtype=np.int64)
        if labels is None
        else np.unique(labels, return_inverse=True)[1]
    )
    sizes = np.bincount(classes)
    if len(sizes) > max_rows:
        return np.sort(rng.choice(n_rows, max_rows, replace=False))
    return np.flatnonzero(_first_of_each(classes, sizes, _quotas(sizes, max_rows), rng))


def _quotas(sizes: Rows, total: int) -> Rows:
    """Return the quota of each class: proportional to its size, by largest remainders, and at least
    one.
    """
    exact = sizes * (total / int(sizes.sum()))
    quotas = np.maximum(np.floor(exact).astype(np.int64), 1)
    remainder = total - int(quotas.sum())
    if remainder > 0:
        quotas[np.argsort(quotas - exact, kind="stable")[:remainder]] += 1
    for _ in range(
        -remainder
    ):  # classes that were lifted to one take from those that have most above their share
        quotas[np.argmax(np.where(quotas > 1, quotas - exact, -np.inf))] -= 1
    return quotas


def _first_of_each(
    classes: Rows, sizes: Rows, quotas: Rows, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which rows are within the quota of their class, in a random order."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    rank = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_first = np.zeros(len(classes), dtype=bool)
    is_first[order] = rank < np.repeat(quotas, sizes)
    return is_first
