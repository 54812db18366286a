"""Broken rules: synthetic rows that break what the schema says of every record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._base.masking import THRESHOLD
from ..stats.intervals import wilson
from ..table import Table
from ..table.align import align
from ..table.rules.keep import rules_broken_by
from .metric import METRICS, Distance, Metric


@dataclass(frozen=True)
class BrokenRule:
    """A rule, and the share of synthetic and of original rows that break it; None where it is of fewer rows than the threshold, and not 0."""

    rule: str
    share: float | None
    original: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class BrokenRules(Distance):
    """The share of synthetic rows that break at least one rule of the schema: 0 none, 1 every row. `rules` has each, the worst first."""

    name: ClassVar[str] = "rules"

    rules: tuple[BrokenRule, ...] = ()


def broken_rules(
    original: Table, synthetic: Any, *, threshold: int = THRESHOLD
) -> BrokenRules | None:
    """Return the share of synthetic rows that break a rule of the original's schema; None where it has no rules.

    Values are compared as they stand in the table, not bins. That a column determines another is broken by rows with another value
    on the right than most rows of the same table with the same on the left.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"a": list(range(60)) * 9, "b": [5 + i % 7 * i for i in range(60)] * 9}))
    >>> both = replace(first, schema=replace(first.schema, rules=("a <= b",)))
    >>> broken_rules(both, pa.table({"a": [1, 2, 3, 4], "b": [5, 5, 5, 0]})).value
    0.25
    """
    rules = original.schema.rules
    first, second = align(original, synthetic)
    if not rules or not second.n_rows:
        return None
    ours, theirs = (
        rules_broken_by(replace(table, schema=replace(table.schema, rules=rules)))
        for table in (first, second)
    )
    settings = {
        "values": "as they stand in the tables",
        "interval": "Wilson, of synthetic rows as independent draws",
    }
    if not theirs:
        return None
    any_broken = np.logical_or.reduce(list(theirs.values()))

    def share(rows: Any) -> float | None:
        n = int(rows.sum())
        return float(rows.mean()) if n >= threshold or not n else None

    each = [(text, theirs[text], ours[text]) for text in theirs]
    each.sort(key=lambda entry: -int(entry[1].sum()))
    return BrokenRules(
        value=float(any_broken.mean()),
        interval=wilson(int(any_broken.sum()), second.n_rows),
        rules=tuple(BrokenRule(text, share(mine), share(theirs_)) for text, mine, theirs_ in each),
        settings=settings,
    )


METRICS.register(
    Metric(
        name="rules",
        kind=BrokenRules,
        measure=lambda run, side: broken_rules(
            run.original, run.tables[side], threshold=run.settings.threshold
        ),
        doing="checking rules",
        group="relations",
        title="Broken rules",
        question="Do synthetic rows keep what holds of every record?",
        definition="Share of synthetic rows that break at least one rule of the schema, such as start <= end. Rules are declared, or found to hold in all records.",
        source="Checked on the values of each row",
        phrases=(
            "Synthetic rows keep the rules of the schema",
            "Some synthetic rows break rules of the schema",
            "Many synthetic rows break rules of the schema",
            "The rules of the schema are lost",
        ),
        detail="{percent} of them break one or more",
        limits=(0.0, 0.02, 0.2),
    )
)
