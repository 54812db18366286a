"""Jensen-Shannon distance: how far each column's distribution in a synthetic table lies from the original's.

A distance between shares, so tables may differ in size. It is not corrected for chance: two samples of one population do not
score 0. A holdout measured in place of the synthetic table says how far apart they lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Floats
from ..stats.intervals import jackknife
from ..stats.pair import pair_up
from ..table.groups import GROUPS
from ..table.rows import Rows
from .marginals import shares_of_groups, too_few_records
from .metric import METRICS, Distance, Metric


@dataclass(frozen=True, kw_only=True, repr=False)
class JensenShannon(Distance):
    """Jensen-Shannon distance in base 2 of each column, and their mean: 0 the same shares, 1 no level in common."""

    name: ClassVar[str] = "jensen_shannon"

    per_column: Mapping[str, float] = field(default_factory=dict)

    def details(self) -> dict[str, Any]:
        """Return the mean and the distance of each column."""
        return {"mean": self.value, **super().details()}


def jensen_shannon(original: Rows, synthetic: Any) -> JensenShannon:
    """Return the mean over columns of the Jensen-Shannon distance of their shares: 0 the same, 1 no level in common.

    The distance is the square root of the divergence in base 2. Levels and bins are the original's; missing values are
    levels; values that only the synthetic table has share one. Numbers are compared by bin.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> second = pa.table({"a": ["x"] * 9 + ["y"], "b": ["p", "q"] * 5})
    >>> result = jensen_shannon(first, second)
    >>> {name: round(value, 8) for name, value in result.per_column.items()}
    {'a': 0.38313588, 'b': 0.0}
    """
    pair = pair_up(original, synthetic)
    dealt = [
        shares_of_groups(*both)
        for both in zip(*pair.grouped([(name,) for name in pair.names]), strict=True)
    ]
    per_column = {
        name: float(distance_of_shares(shares[0], shares[1]))
        for name, (shares, _) in zip(pair.names, dealt, strict=True)
    }
    value = float(np.mean(list(per_column.values())))
    interval, covers = None, too_few_records(pair)
    if not covers:
        interval = jackknife(
            value,
            np.mean([distance_of_shares(*without) for _, without in dealt], axis=0),
            low=0.0,
            high=1.0,
        )
        covers = f"jackknife over {GROUPS} groups of records of both tables; of the mean, not corrected for chance"
    settings = {"distance": "square root of the divergence, base 2", "interval": covers}
    return JensenShannon(value=value, interval=interval, per_column=per_column, settings=settings)


def distance_of_shares(p: Floats, q: Floats) -> Floats:
    """Return the Jensen-Shannon distance along the last axis, base 2."""
    from scipy.special import rel_entr

    middle = (p + q) / 2
    # Relative entropies to the middle, not a difference of entropies: exactly 0 where the shares are the same.
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2 * np.log(2.0))
    distance: Floats = np.sqrt(np.clip(divergence, 0.0, 1.0))
    return distance


METRICS.register(
    Metric(
        name="jensen_shannon",
        kind=JensenShannon,
        measure=lambda run, side: jensen_shannon(run.original, run.tables[side]),
        counted=True,
        doing="comparing columns",
        group="columns",
        title="Distance of columns (Jensen-Shannon)",
        question="Is each column distributed as before?",
        definition="Square root of the Jensen-Shannon divergence in bits between the two distributions of a column, averaged over columns.",
        source="Lin 1991, IEEE Transactions on Information Theory 37(1)",
        phrases=(
            "Each column by itself looks almost as in the original",
            "Each column by itself looks roughly as in the original",
            "Columns by themselves look clearly different from the original",
            "Columns by themselves look little like the original",
        ),
        detail="the distance is {value} on average, where 0 is the same and 1 nothing in common",
        limits=(0.05, 0.1, 0.2),
        scaled=False,
    )
)
