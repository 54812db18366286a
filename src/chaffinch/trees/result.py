"""What an attacker finds in a model, and what pruning leaves of it: typed results, with what of them may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from .._base.masking import THRESHOLD, masked_count
from .._base.results import (
    NOT_WRITTEN,
    UNLESS_NONE,
    PlainData,
    TabularResult,
    html_table,
    plain_form,
    to_plain,
)
from .._base.text import text_table
from .settings import Splits

if TYPE_CHECKING:
    from .attack import Intersections, Midpoints, Predicate
    from .tree import Ensemble

Row = tuple[str, str]


def few(count: int | None, threshold: int) -> int | str | None:
    """Return a number of nodes, each of which stands for a record or a few: small ones as a word."""
    return f"<{threshold}" if count is not None and 0 < count < threshold else count


ScoredOn = Literal["data", "training", "holdout"]
SCORED_ON: dict[ScoredOn, str] = {
    "data": "the data given",
    "training": "the training records",
    "holdout": "holdout records",
}
"""The records that a score is of, in words."""


@dataclass(frozen=True)
class DepthRange(PlainData):
    """The fewest and the most splits above nodes that isolate."""

    min_splits: int = field(metadata=plain_form(key="least"))
    max_splits: int = field(metadata=plain_form(key="most"))


@dataclass(frozen=True)
class TriesSummary:
    """The attack without counts: the mean of 1/tries over trees (0 good, 1 worst), and the mean number of tries where one succeeded."""

    score: float
    mean_tries: float | None
    trees_with_a_valid_predicate: int


@dataclass(frozen=True)
class CheckSummary:
    """How many predicates were tried on data, and whether all isolated as few records there as they claim."""

    predicates: int | str
    as_claimed: bool


@dataclass(frozen=True)
class MidpointSummary:
    """Shares of splits that lie midway between two values of the training data."""

    splits: int
    midway_share: float
    neighbours_share: float
    lone_share: float


@dataclass(frozen=True)
class IntersectionSummary:
    """How many pairs of trees isolate someone that neither tree isolates alone."""

    pairs_tried: int
    pairs: int
    isolating_pairs: int
    exposed_share: float | str


_WITH_DATA = plain_form(omit=lambda audit, value: not audit.with_data)


@dataclass(frozen=True)
class AuditSummary(TabularResult):
    """What may leave of an audit. `accuracy` (of a classification) or `r2` (of a regression) is None without data; `scored_on` says of which records.

    `midpoints` and `intersections` were looked at where `with_data`.
    """

    SUBJECT: ClassVar[str] = "an audit of trees"
    HEAD: ClassVar[tuple[str, ...]] = ("name", "value")

    model: str
    kind: str
    trees: int
    nodes: int
    leaves: int
    columns: int
    at_least: int
    note: str
    counts_known: bool
    reason: str
    vulnerable_nodes: int | str | None
    vulnerable_trees: int | None
    depths: DepthRange | None
    exposed_records: int | str | None
    exposed_share: float | None
    open_leaves: int | str | None
    value_leaves: int | str | None
    tries: TriesSummary | None
    checked: CheckSummary | None
    exposed: bool
    counted_trees: int = 0
    score: float | None = field(
        default=None,
        metadata=plain_form(write=lambda audit, score: audit._plain_score(), spread=True),
    )
    scored_on: ScoredOn = field(default="data", metadata=NOT_WRITTEN)
    with_data: bool = field(default=False, metadata=NOT_WRITTEN)
    midpoints: MidpointSummary | None = field(default=None, metadata=_WITH_DATA)
    intersections: IntersectionSummary | None = field(default=None, metadata=_WITH_DATA)

    def _plain_score(self) -> dict[str, Any]:
        """The score under the name that it has for this kind of model, and the records that it is of; these come first where there is none."""
        if self.score is None:
            return {"scored_on": None, score_name(self.kind): None}
        return {score_name(self.kind): round(self.score, 4), "scored_on": self.scored_on}

    @classmethod
    def _parsed(cls, data: Mapping[str, Any]) -> Self:
        known = {
            **data,
            "score": data.get("accuracy", data.get("r2")),
            "scored_on": "data" if data.get("scored_on") is None else data["scored_on"],
            "with_data": "midpoints" in data,
        }
        return super()._parsed(known)

    def rows(self) -> list[Row]:
        """Return names and numbers, in the order in which they are shown."""
        rows = [
            ("model", f"{self.model}, {self.kind}"),
            ("trees, leaves, columns", f"{self.trees}, {self.leaves}, {self.columns}"),
            (
                "nodes that single out",
                str(self.vulnerable_nodes) if self.counts_known else "not known",
            ),
            (
                "trees with such a node",
                str(self.vulnerable_trees) if self.counts_known else "not known",
            ),
        ]
        if 0 < self.counted_trees < self.trees:
            rows.append(("trees whose counts are known", f"{self.counted_trees} of {self.trees}"))
        if self.open_leaves:
            rows.append(("leaves whose mean singles out", str(self.open_leaves)))
        if self.value_leaves:
            rows.append(("leaves whose value does on the data", str(self.value_leaves)))
        if self.depths:
            rows.append(
                ("splits above them", f"{self.depths.min_splits} to {self.depths.max_splits}")
            )
        if self.counts_known:
            share = (
                ""
                if not self.exposed_records or self.exposed_share is None
                else f" ({self.exposed_share:.1%})"
            )
            rows.append(("records exposed", f"{self.exposed_records}{share}"))
        if self.tries is not None:
            mean = self.tries.mean_tries
            rows.append(("score without counts", f"{self.tries.score:.3f} (mean of 1/tries)"))
            rows.append(("mean tries", "none succeeded" if mean is None else f"{mean:.1f}"))
        if self.midpoints and self.midpoints.splits:
            rows.append(("cuts midway between two values", f"{self.midpoints.midway_share:.0%}"))
        if pairs := self.intersections:
            rows.append(
                (
                    "pairs of trees that single out",
                    f"{pairs.isolating_pairs} of {pairs.pairs_tried} tried",
                )
            )
        if self.checked:
            rows.append(
                ("predicates true as claimed", "all" if self.checked.as_claimed else "not all")
            )
        if self.score is not None:
            rows.append((score_words(self.kind, self.scored_on), f"{self.score:.3f}"))
        return rows


@dataclass(frozen=True)
class PrunedSize:
    """What is left of a model."""

    nodes: int
    leaves: int
    hidden_classes: int


@dataclass(frozen=True)
class CertificateSummary:
    """What an attack on the released file found; it `holds` where nothing was."""

    holds: bool
    at_least: int
    as_pruned: bool
    silent: bool
    found_by_counts: bool
    found_by_trying: bool | None
    limits: str
    promise: str = ""

    def sentence(self) -> str:
        """Return the certificate in a sentence."""
        if self.holds:
            how = "with the counts that were taken out" + (
                "" if self.found_by_trying is None else " and on the data"
            )
            return f"Certificate: the file as written was attacked {how}; {self.promise} {self.limits}".rstrip()
        if not self.as_pruned or not self.silent:
            return "No certificate, and no file: as written it would tell more than splits and leaves, as out-of-bag predictions do."
        return "No certificate, and no file: the attack on it still finds someone. Raise --at-least, or fit with larger leaves."


@dataclass(frozen=True, kw_only=True)
class PruneSummary(TabularResult):
    """What may leave of a pruning: the audit before, what is left, what both are worth, and the certificate of a released file."""

    SUBJECT: ClassVar[str] = "a pruning of trees"
    HEAD: ClassVar[tuple[str, ...]] = ("name", "value")

    at_least: int
    splits: str = "safe"
    before: AuditSummary
    after: PrunedSize = field(
        metadata=plain_form(
            write=lambda pruning, after: {
                **to_plain(after),
                score_name(pruning.before.kind): None
                if pruning.after_score is None
                else round(pruning.after_score, 4),
            }
        )
    )
    after_score: float | None = field(default=None, metadata=NOT_WRITTEN)
    certificate: CertificateSummary | None = field(default=None, metadata=UNLESS_NONE)

    @classmethod
    def _parsed(cls, data: Mapping[str, Any]) -> Self:
        before = AuditSummary.from_dict(data.get("before") or {})
        after = data.get("after") or {}
        score = after.get("accuracy", after.get("r2"))
        return super()._parsed({**data, "before": before, "after": after, "after_score": score})

    def rows(self) -> list[Row]:
        """Return names and numbers, in the order in which they are shown."""
        before, after = self.before, self.after
        rows = [
            ("model", f"{before.model}, {before.kind}"),
            ("leaves", f"{before.leaves} before, {after.leaves} after"),
            ("nodes that single out", f"{before.vulnerable_nodes} before"),
        ]
        if after.hidden_classes:
            rows.append(
                ("classes never predicted", f"{after.hidden_classes}, too rare in all the data")
            )
        if before.score is not None and self.after_score is not None:
            rows.append(
                (
                    score_words(before.kind, before.scored_on),
                    f"{before.score:.3f} before, {self.after_score:.3f} after",
                )
            )
        return rows


def score_name(kind: str) -> str:
    """Return the key of a score: accuracy of a classification, r2 of a regression."""
    return "accuracy" if kind == "classification" else "r2"


def score_words(kind: str, scored_on: ScoredOn) -> str:
    """Return the name of a score with the records that it is of; the data given, where nobody said whether the model was trained on them."""
    return f"{'accuracy' if kind == 'classification' else 'R²'} on {SCORED_ON[scored_on]}"


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
        numbers = [tree_tries.tries for tree_tries in tries if tree_tries.tries is not None]
        score = float(np.mean([tree_tries.score for tree_tries in tries]))
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
        predicates = dict.fromkeys([*(self.predicates or ()), *tried])
        plain: dict[str, Any] = {
            "confidential": True,
            "predicates": [p.to_dict() for p in predicates],
        }
        if self.intersections is not None:
            plain["intersections"] = [
                [first.to_dict(), second.to_dict()] for first, second in self.intersections.examples
            ]
        return plain

    @property
    def verdict(self) -> str:
        """The audit in a sentence."""
        who = "one record" if self.at_least == 2 else f"fewer than {self.at_least} records"
        tried = any(tree_tries.tries is not None for tree_tries in self.tries or ())
        note = f" {self.model.note}" if self.model.note else ""
        known = self.predicates is not None
        reason = f" {self.reason}" if self.reason else ""
        if not known and not self.model.counted:
            reason = f" How many records stand behind a node is not known.{reason}"
        if self.predicates:
            sentence = f"Exposed: the way to a node, with its label, is true of {who}. `chaffinch tree prune` takes such nodes out."
            if self.model.boosted:
                sentence = f"Exposed: the way to a node is true of {who}. Trees of boosting cannot be pruned: fit with larger leaves."
        elif self.open_leaves or self.value_leaves:
            sentence = f"Exposed: the way to a leaf, with a label above or below what the leaf says, is true of {who}."
        elif tried:
            sentence = f"Exposed: a leaf with a label is true of {who}, found by trying."
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
            sentence = f"Nobody found: no way to a node, with a label, is true of {who}{on}."
        return f"{sentence}{reason}{note}"

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
    confidential. `audit` is the attack on the model before. With a table of data, `after_score` is the accuracy (or R²) after. `splits` is
    as given; `side_rule` says how both sides of regression leaves are known to hold enough records, None for classification.
    """

    model: Any
    before: Ensemble
    after: Ensemble
    at_least: int
    hidden_classes: int
    audit: TreeAudit | None = None
    after_score: float | None = None
    splits: Splits = "safe"
    side_rule: SideRule | None = None

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
        return PruneSummary(
            at_least=self.at_least,
            splits=self.splits,
            before=audit.summary,
            after=size,
            after_score=self.after_score,
        )

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
