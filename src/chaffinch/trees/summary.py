"""What may leave of an audit and of a pruning, as typed plain data: counts of nodes and trees, depths and shares; no constant and no record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from .._base.results import from_plain, to_plain

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
class DepthRange:
    """The fewest and the most splits above nodes that isolate."""

    least: int
    most: int


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


@dataclass(frozen=True)
class AuditSummary:
    """What may leave of an audit. `accuracy` (of a classification) or `r2` (of a regression) is None without data; `scored_on` says of which records.

    `midpoints` and `intersections` were looked at where `with_data`.
    """

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
    score: float | None = None
    scored_on: ScoredOn = "data"
    with_data: bool = False
    midpoints: MidpointSummary | None = None
    intersections: IntersectionSummary | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the score under the name that it has for this kind of model."""
        plain = to_plain(self)
        apart = {
            name: plain.pop(name) for name in ("score", "with_data", "midpoints", "intersections")
        }
        plain[score_name(self.kind)] = None if self.score is None else round(self.score, 4)
        plain["scored_on"] = plain.pop("scored_on") if self.score is not None else None
        if self.with_data:
            plain |= {name: apart[name] for name in ("midpoints", "intersections")}
        return dict(plain)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditSummary:
        """Return the summary that plain data hold; InputError where they are not as they should be. Other keys are left out."""
        names = {field.name for field in fields(cls)}
        known = {
            key: value
            for key, value in data.items()
            if key in names and (key, value) != ("scored_on", None)
        }
        known |= {"score": data.get("accuracy", data.get("r2")), "with_data": "midpoints" in data}
        return from_plain(cls, known, what="an audit of trees")

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
            rows.append(("splits above them", f"{self.depths.least} to {self.depths.most}"))
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


@dataclass(frozen=True)
class PruneSummary:
    """What may leave of a pruning: the audit before, what is left, what both are worth, and the certificate of a released file."""

    at_least: int
    before: AuditSummary
    after: PrunedSize
    after_score: float | None = None
    certificate: CertificateSummary | None = None
    keep: str = "safe"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        score = None if self.after_score is None else round(self.after_score, 4)
        plain = {
            "at_least": self.at_least,
            "keep": self.keep,
            "before": self.before.to_dict(),
            "after": {**to_plain(self.after), score_name(self.before.kind): score},
        }
        return (
            plain
            if self.certificate is None
            else {**plain, "certificate": to_plain(self.certificate)}
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PruneSummary:
        """Return the summary that plain data hold; InputError where they are not as they should be."""
        after = dict(data.get("after") or {})
        score = after.pop("accuracy", after.pop("r2", None))
        return cls(
            from_plain(int, data.get("at_least"), what="a pruning of trees"),
            AuditSummary.from_dict(data.get("before") or {}),
            from_plain(PrunedSize, after, what="a pruning of trees"),
            from_plain(float, score, what="a pruning of trees") if score is not None else None,
            from_plain(CertificateSummary, data["certificate"], what="a certificate")
            if "certificate" in data
            else None,
            from_plain(str, data.get("keep", "safe"), what="a pruning of trees"),
        )

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
