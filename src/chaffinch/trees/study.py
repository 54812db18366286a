"""The attack on a model and its pruning, for a model as it comes: a path, an object of a library, or plain trees.

**What is released** (`certify`): a pruned model without its counts, and the certificate that the file as written singles out nobody. The file tells no counts, so whoever has it alone can only try. The certificate is stricter: it attacks the nodes of the file with the counts
that the keeper of the model still has, and, where there are data, by trying on them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.options import takes
from ..table.rows import as_rows
from .attack import attack_trees, intersections, midpoints
from .formats import TREE_FORMATS, OpenedModel, as_opened
from .formats.files import open_model
from .prune import groups_are_safe, guesses, prune_trees
from .records import ModelRecords, read_records, worth
from .result import CertificateSummary, PruneResult, SideRule, TreeAudit
from .settings import PruneSettings, TreeSettings
from .tree import Ensemble, Tree

if TYPE_CHECKING:
    from ..keywords import PruneOptions, TreeOptions

Arrays = Sequence[NDArray[Any]]


@takes(TreeSettings)
def audit(
    model: Any,
    data: Any = None,
    *,
    settings: TreeSettings | None = None,
    holdout: Any = None,
    features: Sequence[str] | None = None,
    columns: Arrays | None = None,
    labels: Arrays | None = None,
    **options: Unpack[TreeOptions],
) -> TreeAudit:
    """Return what a published model gives away about single records.

    Parameters
    ----------
    model
        A fitted model of scikit-learn, the path of a file in one of `TREE_FORMATS`, or plain trees (`Ensemble`).
    data
        The training data as numbers the model was fitted on: anything that `chaffinch.read` takes. Then predicates are tried on
        them, and pairs of trees and cuts between two values are looked at too.
    settings, options
        Which records are attacked with, and when a node singles out: a `TreeSettings`, or its options by name.
    holdout
        Records that the model was not fitted to, as `data` are given: the accuracy (or R²) is then measured on them, and nothing else.
    features
        Names of the columns where the model has none.
    columns, labels
        Data as arrays instead: one for each feature, one for each label.
    """
    settings = TreeSettings.chosen(settings, options)
    opened = as_opened(model, features=features)
    records = as_records(data, opened, settings)
    if records is not None:
        columns, labels = records.columns, records.labels
    ensemble = opened.ensemble
    asked: dict[str, Any] = {
        "at_least": settings.at_least,
        "label": settings.labels,
        "threshold": settings.threshold,
    }
    result = attack_trees(ensemble, columns=columns, labels=labels, **asked)
    others = as_records(holdout, opened, settings, what="holdout")
    scored = _scores(ensemble, records, others, settings.trained_on)
    if records is None:
        return replace(result, **scored)
    pairs = (
        intersections(ensemble, records.columns, records.labels, **asked)
        if len(ensemble.trees) > 1
        else None
    )
    cuts = midpoints(ensemble, records.columns)
    return replace(result, **scored, midpoints=cuts, intersections=pairs)


@takes(PruneSettings)
def prune(
    model: Any,
    data: Any = None,
    *,
    settings: PruneSettings | None = None,
    holdout: Any = None,
    columns: Arrays | None = None,
    labels: Arrays | None = None,
    **options: Unpack[PruneOptions],
) -> PruneResult:
    """Return a copy of a tree or forest in which no predicate isolates fewer than `at_least` records of a class.

    Values of surviving leaves stay. Inner nodes, numbers of records, impurities and what was cut are gone from the copy; scikit-learn works on
    it as on any other. With the training data records are counted there, which also serves models whose counts cannot be known.

    With `splits="safe"` a leaf is safe against every label. With `splits="most"` more splits stay: a leaf tells classes of fewer than `at_least`
    records together, so that the file does not tell which of them occur, and leaves of a regression without data are held to their size alone.
    `released.certify` says what each promises. `settings`, `options`: a `PruneSettings`, or its options by name. All other parameters are those of `audit`.
    """
    settings = PruneSettings.chosen(settings, options)
    opened = as_opened(model)
    records = as_records(data, opened, settings)
    if records is not None:
        columns, labels = records.columns, records.labels
    ensemble = opened.ensemble
    result = prune_trees(
        ensemble,
        at_least=settings.at_least,
        splits=settings.splits,
        columns=columns,
        labels=labels,
    )
    before = attack_trees(
        ensemble,
        at_least=settings.at_least,
        label=settings.labels,
        columns=columns,
        labels=labels,
        threshold=settings.threshold,
    )
    others = as_records(holdout, opened, settings, what="holdout")
    before = replace(before, **_scores(ensemble, records, others, settings.trained_on))
    result = replace(
        result, after_score=_scores(result.after, records, others, settings.trained_on).get("score")
    )
    return replace(result, audit=before, model=_rebuilt(opened, result))


def as_records(
    data: Any,
    opened: OpenedModel,
    settings: TreeSettings,
    *,
    what: str = "data",
) -> ModelRecords | None:
    """Return data as records for a model; None where none are given."""
    if data is None or isinstance(data, ModelRecords):
        return data
    if settings.label is None:
        raise InputError(f"{what} needs label: the column of the data that the model predicts.")
    rows = as_rows(data)
    source = data if rows is None else rows.table().to_arrow()
    return read_records(source, opened.ensemble, settings.labels, decimal=settings.decimal)


def _scores(
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


@dataclass(frozen=True, eq=False)
class Certificate:
    """What an attack on a released file found."""

    as_pruned: bool
    """The file, read again, has the nodes of the pruned model and no others."""
    silent: bool
    """It tells no numbers of records, no impurities, and nothing of single records."""
    audit: TreeAudit
    """Of its nodes with the counts that were taken out, and by trying where data were given."""
    side_rule: SideRule | None = None
    """How both sides of a regression leaf are known to hold enough records."""
    groups: bool | None = None
    """Leaves that tell some classes together: whether all groups hold enough; None where each class is told."""
    guesses: tuple[int, int] = (
        0,
        0,
    )
    """Classes that leaves do not name, and how many of them isolate."""

    @property
    def tried(self) -> bool | None:
        """Whether trying on data found someone; None without data."""
        if self.audit.tries is None:
            return None
        return any(tree_tries.tries is not None for tree_tries in self.audit.tries)

    @property
    def holds(self) -> bool:
        """Whether nothing was found, by counts or by trying, and there were counts to attack with."""
        if not (self.as_pruned and self.silent and self.audit.predicates is not None):
            return False
        return not self.audit.exposed if self.groups is None else self.groups

    @property
    def promise(self) -> str:
        """What holds of the file, in a sentence."""
        m = self.audit.at_least
        who = f"no node singles out fewer than {m} records"
        if self.groups is not None:
            return f"no leaf singles out fewer than {m} records by a class that it names, or by none of these."
        if self.side_rule == "data":
            return f"{who}, and no leaf does by a label above what it says, or by one that is not."
        if self.side_rule == "moments":
            return (
                f"{who}, and at least {m} records lie above what each leaf says and {m} do not: sizes, means and variances of the leaves that "
                "were below it leave no other way, unless its labels are equal to some millionths."
            )
        return f"{who}{' by its conditions alone' if self.side_rule else ''}."

    @property
    def limits(self) -> str:
        """What is not promised or was not looked at, in sentences; empty where nothing is left to say."""
        out = []
        if self.groups is not None:
            tried, right = self.guesses
            share = (
                f": {right / tried:.0%} of such guesses would be"
                if right >= self.audit.threshold
                else ""
            )
            out.append(
                "Classes with fewer records are told together. Who guesses one of them for a leaf may be right about a single record"
                f"{share}, and the file does not tell where."
            )
        if self.tried is None and self.audit.model.note:
            out.append(
                "Draws were attacked: records that a tree did not draw may stand alone in it. With --data and --label that is looked at."
            )
        if self.side_rule == "moments":
            out.append("With --data and --label sides are counted, and more leaves may stay.")
        if self.side_rule == "size":
            out.append(
                "Not promised: a label above or below what a leaf says may be that of one record, as an outlier's is. Leaves have at least "
                f"{2 * self.audit.at_least} records, which rules out what is certain in smaller ones and no more. With --data and --label that is looked at."
            )
        return " ".join(out)

    @property
    def summary(self) -> CertificateSummary:
        """What may leave."""
        by_counts = bool(self.audit.predicates) or bool(self.audit.open_leaves)
        if self.groups is not None:  # classes that are told together are no predicates of the file
            by_counts = not self.groups
        return CertificateSummary(
            self.holds,
            self.audit.at_least,
            self.as_pruned,
            self.silent,
            by_counts,
            self.tried,
            self.limits,
            self.promise,
        )


def certify(
    path: str | os.PathLike[str],
    pruned: PruneResult,
    *,
    label: str | Sequence[str] = "label",
    records: ModelRecords | None = None,
) -> Certificate:
    """Return what an attack on the file of a pruned model finds; the file is read as anybody would."""
    opened = open_model(path)
    ensemble, meant = opened.ensemble, pruned.after
    as_pruned = (
        ensemble.features == meant.features
        and ensemble.classes == meant.classes
        and len(ensemble.trees) == len(meant.trees)
        and all(
            _same(tree, expected)
            for tree, expected in zip(ensemble.trees, meant.trees, strict=True)
        )
    )
    known = (
        replace(ensemble, trees=tuple(map(_with_counts, ensemble.trees, meant.trees)))
        if as_pruned
        else ensemble
    )
    columns, labels = (None, None) if records is None else (records.columns, records.labels)
    audit = attack_trees(
        known, at_least=pruned.at_least, label=label, columns=columns, labels=labels
    )
    groups, pairs = None, (0, 0)
    if pruned.splits == "most" and meant.kind == "classification":
        groups, pairs = (
            as_pruned and groups_are_safe(ensemble, meant, pruned.at_least),
            guesses(meant, pruned.at_least),
        )
    return Certificate(
        as_pruned, _silent(ensemble, opened.model), audit, pruned.side_rule, groups, pairs
    )


def _same(tree: Tree, expected: Tree) -> bool:
    """Whether two trees have the same splits and leaves, and their splits say nothing of their own."""
    leaf = tree.left_child < 0
    return (
        all(
            np.array_equal(
                getattr(tree, name), getattr(expected, name), equal_nan=name == "threshold"
            )
            for name in ("left_child", "right_child", "feature", "threshold", "missing_left")
        )
        and np.array_equal(tree.value[leaf], expected.value[leaf])
        and len(np.unique(tree.value[~leaf], axis=0)) <= 1
    )


def _with_counts(tree: Tree, counted: Tree) -> Tree:
    """A tree of the file with the counts that were taken out; splits hold what their leaves do."""
    return replace(
        tree,
        counts=None if counted.counts is None else tree.summed(counted.counts),
        samples=None if counted.samples is None else tree.summed(counted.samples),
        varies=counted.varies,
        reason="",
    )


def _silent(ensemble: Ensemble, model: Any) -> bool:
    """Whether a file tells nothing but splits and leaves."""
    statistics = ("counts", "samples", "fewest", "varies", "bounds", "variance")
    if any(
        getattr(tree, statistic) is not None for tree in ensemble.trees for statistic in statistics
    ):
        return False
    if model is None:
        return True
    if any(
        name.startswith("oob_") and name != "oob_score" for name in vars(model)
    ):  # predictions for single records
        return False
    for estimator in [model] if hasattr(model, "tree_") else model.estimators_:
        compiled = estimator.tree_
        # A weight that is the same everywhere tells nothing; without any, scikit-learn's importances would divide by zero.
        if (
            compiled.n_node_samples.any()
            or compiled.impurity.any()
            or len(set(compiled.weighted_n_node_samples)) > 1
        ):
            return False
    return True
