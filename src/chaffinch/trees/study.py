"""The attack on a model and its pruning, for a model as it comes: a path, an object of a library, or plain trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.masking import THRESHOLD
from ..table import Table
from .attack import attack_trees
from .formats import TREE_FORMATS, OpenedModel, as_opened
from .intersections import intersections
from .midpoints import midpoints
from .prune import prune_trees
from .records import ModelRecords, read_records, worth
from .result import Keep, PruneResult, TreeAudit
from .tree import Ensemble

Arrays = Sequence[NDArray[Any]]


def audit(
    model: Any,
    data: Any = None,
    *,
    label: str | Sequence[str] | None = None,
    at_least: int = 2,
    features: Sequence[str] | None = None,
    columns: Arrays | None = None,
    labels: Arrays | None = None,
    decimal: str | None = None,
    threshold: int = THRESHOLD,
    holdout: Any = None,
    trained_on: bool = False,
) -> TreeAudit:
    """Return what a published model gives away about single records.

    Parameters
    ----------
    model
        A fitted model of scikit-learn, the path of a file in one of `TREE_FORMATS`, or plain trees (`Ensemble`).
    data
        The training data as numbers the model was fitted on: anything that `chaffinch.read` takes. Then predicates are tried on
        them, and pairs of trees and cuts between two values are looked at too.
    label
        The column of the data that the model predicts, or several.
    at_least
        Records of a class below which a node isolates.
    features
        Names of the columns where the model has none.
    columns, labels
        Data as arrays instead: one for each feature, one for each label.
    decimal
        The decimal sign of a text file.
    threshold
        Counts of nodes and records below it leave as a word.
    holdout
        Records that the model was not fitted to, as `data` are given: the accuracy (or R²) is then measured on them, and nothing else.
    trained_on
        Whether the model was trained on `data`. It says of which records the score is; unless said they are "the data given".
    """
    opened = as_opened(model, features=features)
    records = as_records(data, opened, label, decimal=decimal)
    if records is not None:
        columns, labels = records.columns, records.labels
    ensemble = opened.ensemble
    asked: dict[str, Any] = {"at_least": at_least, "label": _names(label), "threshold": threshold}
    result = attack_trees(ensemble, columns=columns, labels=labels, **asked)
    others = as_records(holdout, opened, label, decimal=decimal, what="holdout")
    scored = _scored(ensemble, records, others, trained_on)
    if records is None:
        return replace(result, **scored)
    pairs = (
        intersections(ensemble, records.columns, records.labels, **asked)
        if len(ensemble.trees) > 1
        else None
    )
    cuts = midpoints(ensemble, records.columns)
    return replace(result, **scored, midpoints=cuts, intersections=pairs)


def prune(
    model: Any,
    data: Any = None,
    *,
    label: str | Sequence[str] | None = None,
    at_least: int = 2,
    keep: Keep = "safe",
    columns: Arrays | None = None,
    labels: Arrays | None = None,
    decimal: str | None = None,
    threshold: int = THRESHOLD,
    holdout: Any = None,
    trained_on: bool = False,
) -> PruneResult:
    """Return a copy of a tree or forest in which no predicate isolates fewer than `at_least` records of a class.

    Values of surviving leaves stay. Inner nodes, numbers of records, impurities and what was cut are gone from the copy; scikit-learn works on
    it as on any other. With the training data records are counted there, which also serves models whose counts cannot be known.

    With `keep="safe"` a leaf is safe against every label. With `keep="most"` more splits stay: a leaf tells classes of fewer than `at_least`
    records together, so that the file does not tell which of them occur, and leaves of a regression without data are held to their size alone.
    `released.certify` says what each promises. All other parameters are those of `audit`.
    """
    opened = as_opened(model)
    records = as_records(data, opened, label, decimal=decimal)
    if records is not None:
        columns, labels = records.columns, records.labels
    ensemble = opened.ensemble
    result = prune_trees(ensemble, at_least=at_least, keep=keep, columns=columns, labels=labels)
    before = attack_trees(
        ensemble,
        at_least=at_least,
        label=_names(label),
        columns=columns,
        labels=labels,
        threshold=threshold,
    )
    others = as_records(holdout, opened, label, decimal=decimal, what="holdout")
    before = replace(before, **_scored(ensemble, records, others, trained_on))
    result = replace(
        result, after_score=_scored(result.after, records, others, trained_on).get("score")
    )
    return replace(result, audit=before, model=_rebuilt(opened, result))


def as_records(
    data: Any,
    opened: OpenedModel,
    label: str | Sequence[str] | None,
    *,
    decimal: str | None = None,
    what: str = "data",
) -> ModelRecords | None:
    """Return data as records for a model; None where none are given."""
    if data is None or isinstance(data, ModelRecords):
        return data
    if label is None:
        raise InputError(f"{what} needs label: the column of the data that the model predicts.")
    source = data.to_arrow() if isinstance(data, Table) else data
    return read_records(source, opened.ensemble, _names(label), decimal=decimal)


def _scored(
    model: Ensemble, records: ModelRecords | None, holdout: ModelRecords | None, trained_on: bool
) -> dict[str, Any]:
    """Return the score of a model with the records that it is of: the holdout where there is one; nothing without records."""
    if trained_on and records is None:
        raise InputError("trained_on says what the data are: give data too.")
    if holdout is not None:
        return {"score": worth(model, holdout), "scored_on": "holdout"}
    if records is None:
        return {}
    return {"score": worth(model, records), "scored_on": "training" if trained_on else "data"}


def _rebuilt(opened: OpenedModel, result: PruneResult) -> Any:
    """The released model: of the library that it came from, or plain trees."""
    for form in TREE_FORMATS:
        if (
            opened.model is not None
            and form.accepts
            and form.rebuild
            and form.accepts(opened.model)
        ):
            return form.rebuild(opened.model, result.after)
    return result.model


def _names(label: str | Sequence[str] | None) -> list[str]:
    return ["label"] if label is None else [label] if isinstance(label, str) else list(label)
