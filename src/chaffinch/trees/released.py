"""What is released: a pruned model without its counts, and the certificate that the file as written singles out nobody.

The file tells no counts, so whoever has it alone can only try. The certificate is stricter: it attacks the nodes of the file with the counts
that the keeper of the model still has, and, where there are data, by trying on them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .attack import attack_trees
from .coarse import groups_are_safe, guesses
from .formats.files import open_model
from .records import ModelRecords
from .result import PruneResult, SideRule, TreeAudit
from .summary import CertificateSummary
from .tree import Ensemble, Tree


@dataclass(frozen=True, eq=False)
class Certificate:
    """What an attack on a released file found."""

    as_pruned: bool  # the file, read again, has the nodes of the pruned model and no others
    silent: bool  # it tells no numbers of records, no impurities, and nothing of single records
    audit: TreeAudit  # of its nodes with the counts that were taken out, and by trying where data were given
    sides: SideRule | None = (
        None  # how both sides of a regression leaf are known to hold enough records
    )
    groups: bool | None = (
        None  # leaves that tell some classes together: whether all groups hold enough; None where each class is told
    )
    guesses: tuple[int, int] = (
        0,
        0,
    )  # classes that leaves do not name, and how many of them isolate

    @property
    def tried(self) -> bool | None:
        """Whether trying on data found someone; None without data."""
        if self.audit.tries is None:
            return None
        return any(one.tries is not None for one in self.audit.tries)

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
        if self.sides == "data":
            return f"{who}, and no leaf does by a label above what it says, or by one that is not."
        if self.sides == "moments":
            return (
                f"{who}, and at least {m} records lie above what each leaf says and {m} do not: sizes, means and variances of the leaves that "
                "were below it leave no other way, unless its labels are equal to some millionths."
            )
        return f"{who}{' by its conditions alone' if self.sides else ''}."

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
        if self.sides == "moments":
            out.append("With --data and --label sides are counted, and more leaves may stay.")
        if self.sides == "size":
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
        and all(_same(one, other) for one, other in zip(ensemble.trees, meant.trees, strict=True))
    )
    known = (
        replace(ensemble, trees=tuple(map(_counted, ensemble.trees, meant.trees)))
        if as_pruned
        else ensemble
    )
    columns, labels = (None, None) if records is None else (records.columns, records.labels)
    audit = attack_trees(
        known, at_least=pruned.at_least, label=label, columns=columns, labels=labels
    )
    groups, pairs = None, (0, 0)
    if pruned.keep == "most" and meant.kind == "classification":
        groups, pairs = (
            as_pruned and groups_are_safe(ensemble, meant, pruned.at_least),
            guesses(meant, pruned.at_least),
        )
    return Certificate(
        as_pruned, _silent(ensemble, opened.model), audit, pruned.sides, groups, pairs
    )


def _same(one: Tree, other: Tree) -> bool:
    """Whether two trees have the same splits and leaves, and their splits say nothing of their own."""
    leaf = one.left < 0
    return (
        all(
            np.array_equal(getattr(one, part), getattr(other, part), equal_nan=part == "threshold")
            for part in ("left", "right", "feature", "threshold", "missing_left")
        )
        and np.array_equal(one.value[leaf], other.value[leaf])
        and len(np.unique(one.value[~leaf], axis=0)) <= 1
    )


def _counted(tree: Tree, counted: Tree) -> Tree:
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
    if any(getattr(tree, part) is not None for tree in ensemble.trees for part in statistics):
        return False
    if model is None:
        return True
    if any(
        name.startswith("oob_") and name != "oob_score" for name in vars(model)
    ):  # predictions for single records
        return False
    for part in [model] if hasattr(model, "tree_") else model.estimators_:
        compiled = part.tree_
        # A weight that is the same everywhere tells nothing; without any, scikit-learn's importances would divide by zero.
        if (
            compiled.n_node_samples.any()
            or compiled.impurity.any()
            or len(set(compiled.weighted_n_node_samples)) > 1
        ):
            return False
    return True
