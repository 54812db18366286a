"""What is published of a classifier: confusion matrices with their rates, ROC points, calibration points.

A confusion matrix is a table of what is true by what was predicted, and its rates are ratios of counts. A ROC point is the share of those with the label, and of those
without, whose score is at least a threshold; the area under the curve is the share of pairs that the score puts in order, Mann and Whitney's U. Calibration points
are means of score and label by groups of the score. Between two points lie people: they are cells of score by label.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..cells import (
    CrossClassification,
    column_numbers,
    cross_classify,
    crosstab,
    scalar_code,
    sums_by_cell,
)
from ..domain import OutputDomain, Scalar
from ..equations import Output
from ..numbers import Interval
from ..rules.cell_counts import CellCounter, CellCounts
from ..rules.evidence import Counts
from .base import (
    KINDS,
    Column,
    Estimates,
    Kind,
    NumberBlock,
    OutputSpec,
    Sample,
    Statistic,
    as_list,
)
from .formulas import Formulas, at_least
from .rank_tests import MOST_COUNTS, too_many_values
from .single import CountsPart, KindPart, PartedNumbers, PartsAlone, Single

Means = Annotated[list[Any] | dict[str, Any] | None, Statistic(is_part=True, default=True)]


def _rates(
    table: NDArray[Any], agree: Sequence[tuple[int, int]], positive: tuple[int, int]
) -> dict[str, NDArray[Any]]:
    """Rates (..., truth, predicted) of a table: `agree` are the cells where both say the same, `positive` the level of either that counts."""
    n, row, column = (
        table.sum(axis=(-2, -1)),
        table[..., positive[0], :].sum(axis=-1),
        table[..., positive[1]].sum(axis=-1),
    )
    hits = table[..., positive[0], positive[1]]
    neither = n - row - column + hits
    return {
        "accuracy": sum((table[..., a, b] for a, b in agree), np.zeros(table.shape[:-2]))
        / at_least(n, 1e-9),
        "sensitivity": hits / at_least(row, 1e-9),
        "specificity": neither / at_least(n - row, 1e-9),
        "precision": hits / at_least(column, 1e-9),
        "npv": neither / at_least(n - column, 1e-9),
        "f1": 2.0 * hits / at_least(row + column, 1e-9),
    }


class ConfusionRates(Formulas):
    """Rates out of the counts of a confusion matrix."""

    def __init__(
        self,
        key: str,
        shape: tuple[int, ...],
        agree: Sequence[tuple[int, int]],
        positive: tuple[int, int],
    ) -> None:
        super().__init__([key])
        self.shape, self.agree, self.positive = shape, list(agree), positive

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return all rates."""
        return _rates(sums.reshape(*sums.shape[:-1], *self.shape), self.agree, self.positive)


class ConfusionSpec(PartedNumbers):
    """A confusion matrix of the columns `truth` and `predicted`, and rates of it; `level` is the one that the rates are about."""

    NO_NUMBERS: ClassVar[str] = "nobody is, or is predicted to be, in one of its classes"

    kind: Literal["confusion"] = "confusion"
    truth: Column
    predicted: Column
    groups: dict[str, Any] = Key(default_factory=dict)
    level: Scalar | None = None
    counts: Annotated[list[Any] | None, Statistic(is_part=True, default=True)] = None
    accuracy: Annotated[Any, Statistic("the accuracy")] = None
    sensitivity: Annotated[Any, Statistic("the sensitivity")] = None
    specificity: Annotated[Any, Statistic("the specificity")] = None
    precision: Annotated[Any, Statistic("the precision")] = None
    npv: Annotated[Any, Statistic("the negative predictive value")] = None
    f1: Annotated[Any, Statistic("the F1 score")] = None

    def kind_part(self, key: str) -> KindPart:
        """Return the table, what is true in its rows."""
        return KindPart(
            "table", "counts", {"by": [self.truth, self.predicted], "groups": self.groups}
        )

    def _cells(
        self, domain: OutputDomain
    ) -> tuple[CrossClassification, list[tuple[int, int]], tuple[int, int]]:
        """The table, its cells where both say the same, and the level that rates are about in either column."""
        cells = cross_classify([self.truth, self.predicted], self.groups, domain, output=self.name)
        truth, predicted = cells.names
        if sorted(truth) != sorted(predicted):
            raise self.fault(
                f": columns '{self.truth}' and '{self.predicted}' must have the same levels, or groups of the same names."
            )
        agree = [(k, predicted.index(name)) for k, name in enumerate(truth)]
        rates = any(
            self.publishes(key) for key in self.statistics if key not in ("accuracy", "counts")
        )
        if (rates and self.level is None and len(truth) != 2) or (
            self.level is not None and str(self.level) not in truth
        ):
            raise self.fault(
                f" must say which level of column '{self.truth}' its rates are about, with level = ..."
            )
        return cells, agree, agree[-1 if self.level is None else truth.index(str(self.level))]

    def system(self, domain: OutputDomain, key: str, interval: Interval) -> Output:
        """Return a rate as a formula of the counts."""
        cells, agree, positive = self._cells(domain)
        reading = ConfusionRates(key, cells.shape, agree, positive)
        return self.sum_system(
            domain, cells.size, [sums_by_cell(domain, cells, ())], [interval], reading
        )

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for columns that do not have the same levels, and where the level is not said."""
        self._cells(domain)
        super().check_recipe(domain)

    def singles(self, sample: Sample) -> dict[str, Single]:
        """Return the rates of records, each with the error of a share; nan where nobody is behind one."""
        cells, agree, positive = self._cells(sample.domain)
        table = crosstab(cells, sample.inside).astype(float)
        n, row, column = table.sum(), table[positive[0]].sum(), table[:, positive[1]].sum()
        behind = {
            "accuracy": n,
            "sensitivity": row,
            "specificity": n - row,
            "precision": column,
            "npv": n - column,
            "f1": row + column,
        }
        rates = {key: float(rate) for key, rate in _rates(table, agree, positive).items()}
        return {
            key: Single(rates[key], math.sqrt(max(rates[key] * (1 - rates[key]), 1e-9) / many))
            if many > 0
            else Single(math.nan)
            for key, many in behind.items()
        }

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether a rate lies outside 0 to 1."""
        for key, interval in self.intervals().items():
            if interval.hi < 0 or interval.lo > 1:
                return f"{self.statistics[key].label} does not lie between 0 and 1"
        return super().contradiction(domain)

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the cells behind the matrix and its rates, and n."""
        cells = counter.tally("cells", self._cells(counter.domain)[0])
        return [*self.part_tallies(counter, cells), *counter.n()]

    def evidence(self, tallies: list[CellCounts], counter: CellCounter) -> Iterator[Any]:
        """Give the cells, and what is behind its rates."""
        yield Counts(tallies, self.unit_noun)
        yield from super().evidence(tallies, counter)


class CalibrationSpec(PartsAlone):
    """Calibration points: by groups of the column `score`, how many records, their mean score, and the mean of the numeric column `label`."""

    unit_noun: ClassVar[str] = "group"

    kind: Literal["calibration"] = "calibration"
    score: Column
    label: Column
    groups: list[Any] | dict[str, Any]
    counts: CountsPart = None
    predicted: Means = None
    observed: Means = None

    def kind_part(self, key: str) -> KindPart:
        """Return counts as a table, and means of score and label by groups of the score."""
        groups: dict[str, Any] = {"by": [self.score], "groups": {self.score: self.groups}}
        if key == "counts":
            return KindPart("table", "counts", groups)
        return KindPart(
            "mean", "values", {"of": self.score if key == "predicted" else self.label, **groups}
        )


class RocPoints(Formulas):
    """Rates at thresholds and the area, out of how many records with and without the label have each score."""

    def __init__(self, keys: Sequence[str], ends: Mapping[str, int]) -> None:
        super().__init__(keys)
        self.ends = dict(ends)

    def formulas(self, sums: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the true and false positive rate at each threshold, and the area."""
        without, having = np.split(sums, 2, axis=-1)
        n0, n1 = (at_least(counts.sum(axis=-1), 1.0) for counts in (without, having))
        pairs = (having * (np.cumsum(without, axis=-1) - 0.5 * without)).sum(axis=-1)
        rates = {"auc": pairs / (n0 * n1)}
        for name, end in self.ends.items():
            rates[f"tpr {name}"] = having[..., end:].sum(axis=-1) / n1
            rates[f"fpr {name}"] = without[..., end:].sum(axis=-1) / n0
        return rates

    def is_undefined(self, sums: Floats) -> bool:
        """Return whether all records have the label, or none."""
        without, having = np.split(sums, 2)
        return bool(min(without.sum(), having.sum()) < 0.5)


class RocSpec(OutputSpec):
    """Points of a ROC curve of the column `score` for the `level` of the column `label`, and the area under it."""

    unit_noun: ClassVar[str] = "step"
    NO_NUMBERS: ClassVar[str] = "all its records have the label there, or none has"
    MUST_ANNOUNCE: ClassVar[str] = "auc = true, tpr = true or fpr = true"

    kind: Literal["roc"] = "roc"
    score: Column
    label: Column
    level: Scalar | None = None
    thresholds: Annotated[list[float], Key(min_length=1)] | None = None
    auc: Annotated[Any, Statistic()] = None
    tpr: Annotated[list[Any] | None, Statistic()] = None
    fpr: Annotated[list[Any] | None, Statistic()] = None

    def _points(self, key: str) -> list[str]:
        """What the rates under a key are called."""
        return [f"{key} at {t:g}" for t in self.thresholds or []]

    def layout(self, domain: OutputDomain) -> Iterator[NumberBlock]:
        """Give the area, and the rates of each point."""
        if self.publishes("auc"):
            yield NumberBlock("auc", ["auc"], as_list(self.auc), label="auc")
        for key in filter(self.publishes, ("tpr", "fpr")):
            rates, names = getattr(self, key), self._points(key)
            if rates and len(rates) != len(names):
                raise self.fault(f" must have a {key} for each of its thresholds.")
            yield NumberBlock(key, names, rates or (), shape=(len(names),), label=key)

    def _intervals(self, domain: OutputDomain) -> dict[str, Interval]:
        """The intervals of all published numbers by name."""
        return {
            name: self.printed(number, name)
            for block in self.layout(domain)
            for name, number in zip(block.names, block.numbers, strict=False)
        }

    def _cells(self, domain: OutputDomain) -> CrossClassification:
        """Each score, of those without the label and of those with it."""
        field, score = domain[self.label], domain[self.score]
        self.refuse(
            (
                self.score == self.label,
                " must have a score and a label that are different columns.",
            ),
            (
                (self.publishes("tpr") or self.publishes("fpr")) and not self.thresholds,
                " must say at which scores its points are, with thresholds = [...].",
            ),
            (
                sorted(set(self.thresholds or [])) != list(self.thresholds or []),
                ": its thresholds must rise.",
            ),
        )
        code = scalar_code(field, self.level, output=self.name, key="level")
        having = (np.arange(len(field.levels)) == code).astype(np.int64)
        steps = (
            (domain.position(self.label), having),
            (domain.position(self.score), np.arange(len(score.values))),
        )
        return CrossClassification(steps, (("without", "with"), score.labels))

    def rules_only(self, domain: OutputDomain) -> str:
        """Return that there are too many scores for a search, where there are."""
        return too_many_values(self.score, len(domain[self.score].levels), MOST_COUNTS // 2)

    def check_recipe(self, domain: OutputDomain) -> None:
        """Raise for columns and levels that are not there."""
        self.filter(domain)
        self.announcements(domain)
        self._cells(domain)

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return the rates, and the area, as formulas of how many records with and without the label have each score."""
        cells, intervals = self._cells(domain), self._intervals(domain)
        if not intervals:
            raise self.fault(" must have auc, tpr or fpr.")
        if self.rules_only(domain):
            return ()
        values, terms = domain[self.score].values, sums_by_cell(domain, cells, ())
        ends = {f"at {t:g}": int(np.searchsorted(values, t)) for t in self.thresholds or []}
        # A rate that the column's values fix, such as that at its smallest one, tells nothing.
        known = {
            name: interval
            for name, interval in intervals.items()
            if name == "auc" or 0 < ends[name.split(" ", 1)[1]] < len(values)
        }
        system = (
            [
                self.sum_system(
                    domain, cells.size, [terms], known.values(), RocPoints([*known], ends)
                )
            ]
            if known
            else []
        )
        return (*system, *self.n_equations(domain))

    def estimates(self, sample: Sample) -> Mapping[str, Estimates]:
        """Return the area and the rates of records, with their errors; nan where all have the label, or none."""
        from scipy.stats import rankdata

        x = column_numbers(self.score, sample.domain, sample.inside)
        (position, having), _ = self._cells(sample.domain).steps
        yes = having[sample.inside[:, position]] == 1
        n1, n0 = int(yes.sum()), int((~yes).sum())
        points = np.array(self.thresholds or [])
        if not n1 or not n0:
            nothing = Estimates(np.full(len(points), np.nan))
            return {"auc": Estimates([math.nan]), "tpr": nothing, "fpr": nothing}
        area = float(rankdata(x)[yes].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)
        estimates = {"auc": Estimates([area], math.sqrt((n1 + n0 + 1) / (12.0 * n1 * n0)))}
        for key, who, n in (("tpr", yes, n1), ("fpr", ~yes, n0)):
            rates = (x[who] >= points[:, None]).mean(axis=1)
            estimates[key] = Estimates(rates, np.sqrt(np.maximum(rates * (1 - rates), 1e-9) / n))
        return estimates

    def contradiction(self, domain: OutputDomain) -> str | None:
        """Return whether rates rise with the threshold, or a number lies outside 0 to 1."""
        intervals = self._intervals(domain)
        if any(interval.hi < 0 or interval.lo > 1 for interval in intervals.values()):
            return "a number does not lie between 0 and 1"
        for key in ("tpr", "fpr"):
            curve = [interval for name, interval in intervals.items() if name.startswith(key)]
            if any(later.lo > earlier.hi for earlier, later in pairwise(curve)):
                return f"its {key} rises with the threshold"
        return None

    def tallies(self, counter: CellCounter) -> list[CellCounts]:
        """Return the people between two points, with and without the label; those with and without; and n."""
        (label, scores), names = (cells := self._cells(counter.domain)).steps, cells.names[:1]
        by_label = counter.tally("cells", CrossClassification((label,), names))
        if not self.thresholds or not (self.publishes("tpr") or self.publishes("fpr")):
            return [by_label, *counter.fit(f"roc {self.score} {self.label}")]
        values = counter.domain[self.score].values
        bands = np.searchsorted(np.array(self.thresholds), values, side="right")
        between = (f"below {self.thresholds[0]:g}", *(f"from {t:g}" for t in self.thresholds))
        steps = counter.tally(
            "steps",
            CrossClassification((label, (scores[0], bands.astype(np.int64))), (*names, between)),
        )
        return [by_label, steps, *counter.fit(f"roc {self.score} {self.label}")]


KINDS.register(
    Kind("confusion", ConfusionSpec, "Frequencies", "a confusion matrix, and rates of it")
)
KINDS.register(Kind("roc", RocSpec, "Frequencies", "points of a ROC curve, and the area under it"))
KINDS.register(
    Kind(
        "calibration",
        CalibrationSpec,
        "LinearAggregations",
        "mean scores and labels by groups of a score",
    )
)
