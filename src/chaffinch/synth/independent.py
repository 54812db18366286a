"""Each column alone: the baseline that keeps one-way distributions and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .._base.runtime import Progress, silent
from .._base.seeds import Seed
from ..table.schema import Schema
from .bayesnet.model import BayesNetModel, FitSummary
from .bayesnet.network import Network
from .bayesnet.tables import table_from_marginal
from .data import counter_of
from .options import DrawnRows
from .settings import SYNTHESISERS, Settings


@SYNTHESISERS.register
@dataclass(frozen=True, repr=False)
class Independent(Settings):
    """A synthesiser that draws each column from its own distribution: a network without edges.

    `draw`: "independent" (None, the default): rows one by one; or "systematic".

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["p", "q"] * 30}))
    >>> Independent().fit(table).network.edges
    ()
    """

    name: ClassVar[str] = "independent"
    sentence: ClassVar[str] = "each column alone, the baseline"
    model: ClassVar[type[BayesNetModel]] = BayesNetModel
    refused: ClassVar[tuple[str, ...]] = ("sensitive", "keep", "require", "forbid", "root")
    refusal: ClassVar[str] = "has no edges"

    draw: DrawnRows = None

    def fit(self, data: Any, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return a model of a table, or of whatever a counter counts. Nothing is drawn: the seed has no effect."""
        counter, origin = counter_of(data)
        names = counter.schema.names
        progress("counting the columns", -1)
        tables = tuple(
            table_from_marginal(m, smoothing=0.0)
            for m in counter.marginals([(name,) for name in names])
        )
        fitted = FitSummary("independent", "none", "none", n_rows=counter.n_rows, draw=self.drawing)
        return BayesNetModel(
            _without_found_rules(counter.schema),
            Network(names, ((),) * len(names)),
            tables,
            fitted,
            origin,
        )


def _without_found_rules(schema: Schema) -> Schema:
    """Return a schema without the rules that were found: they tie columns, and this is the baseline that does not. Declared ones stay."""
    if not schema.found_rules:
        return schema
    rules = tuple(text for text in schema.rules if text not in schema.found_rules)
    return replace(schema, rules=rules, found_rules=(), functions=schema.functions if rules else ())
