"""What an attacker finds in a model, and what pruning leaves of it: typed results, with what of them may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import numpy as np

from .._base.masking import THRESHOLD, masked_count
from .._base.results import html_table
from .._base.text import text_table
from .intersections import Intersections
from .midpoints import Midpoints
from .predicates import Predicate
from .summary import (
    AuditSummary,
    CheckSummary,
    DepthRange,
    PrunedSize,
    PruneSummary,
    ScoredOn,
    TriesSummary,
    few,
)
from .tree import Ensemble

Keep = Literal["safe", "most"]
"""What pruning keeps: what is safe against every label, or most splits, with leaves that tell less."""
SideRule = Literal["data", "moments", "size"]
"""How a regression leaf is known to have enough records on both sides of its value: counted, by moments of the leaves below it, or not for certain."""


@dataclass(frozen=True)
class Tries:
    """How many predicates were tried until one isolated a record; `tries` is None if none did."""

    tree: int
    tries: int | None
    tried: int
    predicate: Predicate | None = field(repr=False)

    @property
    def score(self) -> float:
        """One over the number of tries; 0 if none isolates anyone."""
        return 0.0 if self.tries is None else 1.0 / self.tries


@dataclass(frozen=True, eq=False)
class TreeAudit:
    """What an attacker finds. Predicates hold constants of the data: `confidential` returns them, everything else may leave.

    Parameters
    ----------
    model
        The model.
    at_least
        The number of records below which a class (or a node, for regression) isolates.
    predicates
        A predicate for each node that does; None where counts are not known.
    n_exposed, share
        How many distinct records stand in classes (or leaves) of fewer than `at_least`, and their share. With data over all trees and
        outputs together; without, of the one tree and output with the largest share, which the whole model exposes at least.
    vulnerable_trees
        How many trees have such a node.
    tries
        The attack without counts, where data were given.
    checked
        How many predicates were tried on data, and how many isolated fewer than `at_least` records there.
    reason
        Why counts are not known, or of which trees they are.
    open_leaves
        Regression: leaves of at least `at_least` but fewer than twice as many records whose labels differ; see `open_to_value`.
        None where the leaves do not say means, or the model does not tell whether labels differ.
    value_leaves
        Regression with data: leaves in which the label above, or not above, what the leaf says isolates fewer than `at_least` records.
    threshold
        Counts of nodes and records below it leave as a word.
    score, midpoints, intersections
        With a table of data: the accuracy (or R²) there, cuts midway between two values, and what pairs of trees isolate.
    scored_on
        The records that the score is of: a "holdout", the "training" records, or "data", where nobody said which they are.
    """

    model: Ensemble
    at_least: int
    predicates: tuple[Predicate, ...] | None
    n_exposed: int | None
    share: float | None
    vulnerable_trees: int | None
    tries: tuple[Tries, ...] | None = None
    checked: tuple[int, int] | None = None
    reason: str = ""
    open_leaves: int | None = None
    value_leaves: int | None = None
    threshold: int = THRESHOLD
    score: float | None = None
    scored_on: ScoredOn = "data"
    midpoints: Midpoints | None = None
    intersections: Intersections | None = None

    @property
    def exposed(self) -> bool:
        """Whether anything isolates someone: by counts, by a leaf value that must, or by a try that did on the data.

        False without counts and without data means "nothing was found", not "nothing is there": look at `predicates is None`.
        """
        by_trying = any(t.tries is not None for t in self.tries or ())
        return (
            bool(self.predicates) or bool(self.open_leaves) or bool(self.value_leaves) or by_trying
        )

    @property
    def summary(self) -> AuditSummary:
        """What may leave: counts of nodes and trees, depths and shares; no constant and no record."""
        model, threshold = self.model, self.threshold
        depths = [int(model.trees[p.tree].depth[p.node]) for p in self.predicates or ()]
        return AuditSummary(
            model=model.model,
            kind=model.kind,
            trees=len(model.trees),
            nodes=sum(t.n_nodes for t in model.trees),
            leaves=sum(len(t.leaves) for t in model.trees),
            columns=len(model.features),
            at_least=self.at_least,
            note=model.note,
            counts_known=self.predicates is not None,
            counted_trees=model.counted,
            reason=self.reason,
            vulnerable_nodes=None
            if self.predicates is None
            else few(len(self.predicates), threshold),
            vulnerable_trees=self.vulnerable_trees,
            depths=DepthRange(min(depths), max(depths)) if depths else None,
            exposed_records=None
            if self.n_exposed is None
            else masked_count(self.n_exposed, threshold),
            exposed_share=self._masked_share(),
            open_leaves=few(self.open_leaves, threshold),
            value_leaves=few(self.value_leaves, threshold),
            tries=None if self.tries is None else self._tries_summary(self.tries),
            checked=self.checked
            and CheckSummary(
                few(self.checked[0], threshold) or 0, self.checked[0] == self.checked[1]
            ),
            exposed=self.exposed,
            score=self.score,
            scored_on=self.scored_on,
            with_data=self.midpoints is not None,
            midpoints=None if self.midpoints is None else self.midpoints.summary,
            intersections=None if self.intersections is None else self.intersections.summary,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave as plain data; `AuditSummary.from_dict` reads it back."""
        return self.summary.to_dict()

    def _tries_summary(self, tries: tuple[Tries, ...]) -> TriesSummary:
        numbers = [one.tries for one in tries if one.tries is not None]
        score = float(np.mean([one.score for one in tries]))
        return TriesSummary(score, float(np.mean(numbers)) if numbers else None, len(numbers))

    def _masked_share(self) -> float | None:
        """The share of the number of records as it is shown, or the number could be worked out from it."""
        if not self.n_exposed or self.share is None:
            return self.share
        count = masked_count(self.n_exposed, self.threshold)
        return None if isinstance(count, str) else round(self.share * count / self.n_exposed, 4)

    def confidential(self) -> dict[str, Any]:
        """Return the predicates with their constants, those found by counts and those found by trying: they must not leave."""
        tried = [t.predicate for t in self.tries or () if t.predicate is not None]
        every = dict.fromkeys([*(self.predicates or ()), *tried])
        plain: dict[str, Any] = {"confidential": True, "predicates": [p.to_dict() for p in every]}
        if self.intersections is not None:
            plain["intersections"] = [
                [one.to_dict(), other.to_dict()] for one, other in self.intersections.examples
            ]
        return plain

    @property
    def verdict(self) -> str:
        """The audit in a sentence."""
        who = "one record" if self.at_least == 2 else f"fewer than {self.at_least} records"
        tried = any(one.tries is not None for one in self.tries or ())
        note = f" {self.model.note}" if self.model.note else ""
        known = self.predicates is not None
        reason = f" {self.reason}" if self.reason else ""
        if not known and not self.model.counted:
            reason = f" How many records stand behind a node is not known.{reason}"
        if self.predicates:
            words = f"Exposed: the way to a node, with its label, is true of {who}. `chaffinch tree prune` takes such nodes out."
            if self.model.boosted:
                words = f"Exposed: the way to a node is true of {who}. Trees of boosting cannot be pruned: fit with larger leaves."
        elif self.open_leaves or self.value_leaves:
            words = f"Exposed: the way to a leaf, with a label above or below what the leaf says, is true of {who}."
        elif tried:
            words = f"Exposed: a leaf with a label is true of {who}, found by trying."
        elif not known and self.tries is None:
            return f"Not known whether anybody is exposed.{reason} With --data and --label the attack can be tried on the data.{note}"
        else:
            on = (
                ""
                if self.tries is None
                else ", by counts and on the data"
                if known
                else " of the data"
            )
            words = f"Nobody found: no way to a node, with a label, is true of {who}{on}."
        return f"{words}{reason}{note}"

    def show(self) -> None:
        """Print what may leave, and the verdict."""
        print(f"{text_table(('', ''), self.summary.rows())}\n{self.verdict}")

    def __repr__(self) -> str:
        return f"TreeAudit({self.model.model}, exposed={self.exposed})"

    def _repr_html_(self) -> str:
        return f"{html_table(('', ''), self.summary.rows())}<p>{escape(self.verdict)}</p>"


@dataclass(frozen=True, eq=False)
class PruneResult:
    """A model that isolates nobody, and what that took.

    `model` is the released one; `before` and `after` are plain trees, and `after` still has the counts of its leaves: it is
    confidential. `audit` is the attack on the model before. With a table of data, `after_score` is the accuracy (or R²) after. `keep` is
    as given; `sides` says how both sides of regression leaves are known to hold enough records, None for classification.
    """

    model: Any
    before: Ensemble
    after: Ensemble
    at_least: int
    hidden_classes: int
    audit: TreeAudit | None = None
    after_score: float | None = None
    keep: Keep = "safe"
    sides: SideRule | None = None

    @property
    def leaves(self) -> tuple[int, int]:
        """The number of leaves before and after."""
        return sum(len(t.leaves) for t in self.before), sum(len(t.leaves) for t in self.after)

    @property
    def summary(self) -> PruneSummary:
        """What may leave."""
        audit = self.audit or TreeAudit(self.before, self.at_least, None, None, None, None)
        nodes = sum(t.n_nodes for t in self.after.trees)
        size = PrunedSize(nodes, self.leaves[1], self.hidden_classes)
        return PruneSummary(self.at_least, audit.summary, size, self.after_score, keep=self.keep)

    def to_dict(self) -> dict[str, Any]:
        """Return what may leave as plain data; `PruneSummary.from_dict` reads it back."""
        return self.summary.to_dict()

    def show(self) -> None:
        """Print what may leave."""
        print(text_table(("", ""), self.summary.rows()))

    def __repr__(self) -> str:
        return f"PruneResult({self.before.model}, {self.leaves[0]} leaves before, {self.leaves[1]} after)"

    def _repr_html_(self) -> str:
        return html_table(("", ""), self.summary.rows())
