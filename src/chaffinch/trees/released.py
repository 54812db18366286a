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

from .attack import TreeAudit, audit_trees
from .formats.files import open_model
from .prune import Pruned
from .records import Records
from .tree import Ensemble, Tree

__all__ = ["Certificate", "certify", "untold"]

TAKEN_OUT = "The numbers of records were taken out of the model."


@dataclass(frozen=True, eq=False)
class Certificate:
    """What an attack on a released file found.

    Parameters
    ----------
    as_pruned
        Whether the file, read again, has the nodes of the pruned model and no others.
    silent
        Whether the file tells no numbers of records, no impurities, and nothing of single records.
    audit
        The attack on its nodes with the counts that were taken out, and by trying where data were given.
    """

    as_pruned: bool
    silent: bool
    audit: TreeAudit

    @property
    def tried(self) -> bool | None:
        """Whether trying on data found someone; None without data."""
        if self.audit.tries is None:
            return None
        return any(one.tries is not None for one in self.audit.tries)

    @property
    def holds(self) -> bool:
        """Whether nothing was found, by counts or by trying, and there were counts to attack with."""
        return self.as_pruned and self.silent and self.audit.predicates is not None and not self.audit.exposed

    @property
    def limits(self) -> str:
        """What was not looked at, in a sentence; empty where all was."""
        if self.tried is not None:
            return ""
        if self.audit.model.note:
            return "Draws were attacked: records that a tree did not draw may stand alone in it. With --data and --label that is looked at."
        if self.audit.model.kind == "regression":
            return "An outlier may stand alone above what a leaf says. With --data and --label that is looked at."
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that may leave."""
        return {
            "holds": self.holds,
            "at_least": self.audit.at_least,
            "as_pruned": self.as_pruned,
            "silent": self.silent,
            "found_by_counts": bool(self.audit.predicates) or bool(self.audit.open_leaves),
            "found_by_trying": self.tried,
            "limits": self.limits,
        }


def untold(model: Ensemble) -> Ensemble:
    """Return the model without its numbers of records."""
    trees = (
        replace(tree, counts=None, samples=None, fewest=None, varies=None, why_not=TAKEN_OUT) for tree in model.trees
    )
    return replace(model, trees=tuple(trees))


def certify(
    path: str | os.PathLike[str],
    pruned: Pruned,
    *,
    label: str | Sequence[str] = "label",
    records: Records | None = None,
) -> Certificate:
    """Return what an attack on the file of a pruned model finds; the file is read as anybody would."""
    opened = open_model(path)
    found, meant = opened.ensemble, pruned.after
    as_pruned = (
        found.features == meant.features
        and found.classes == meant.classes
        and len(found.trees) == len(meant.trees)
        and all(_same(one, other) for one, other in zip(found.trees, meant.trees, strict=True))
    )
    known = replace(found, trees=tuple(map(_counted, found.trees, meant.trees))) if as_pruned else found
    columns, labels = (None, None) if records is None else (records.columns, records.labels)
    audit = audit_trees(known, at_least=pruned.at_least, label=label, columns=columns, labels=labels)
    return Certificate(as_pruned, _silent(found, opened.model), audit)


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


def _counted(tree: Tree, held: Tree) -> Tree:
    """A tree of the file with the counts that were taken out; splits hold what their leaves do."""
    return replace(
        tree,
        counts=None if held.counts is None else tree.summed(held.counts),
        samples=None if held.samples is None else tree.summed(held.samples),
        varies=held.varies,
        why_not="",
    )


def _silent(found: Ensemble, model: Any) -> bool:
    """Whether a file tells nothing but splits and leaves."""
    if any(tree.counts is not None or tree.samples is not None for tree in found.trees):
        return False
    if model is None:
        return True
    if any(name.startswith("oob_") and name != "oob_score" for name in vars(model)):  # predictions for single records
        return False
    for part in [model] if hasattr(model, "tree_") else model.estimators_:
        held = part.tree_
        # A weight that is the same everywhere tells nothing; without any, scikit-learn's importances would divide by zero.
        if held.n_node_samples.any() or held.impurity.any() or len(set(held.weighted_n_node_samples)) > 1:
            return False
    return True
