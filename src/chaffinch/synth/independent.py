"""Each column alone: the baseline that keeps one-way distributions and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.progress import Progress, silent
from .._base.seeds import Seed
from ..counts.counter import Counter
from ..counts.memory import MemoryCounter
from ..table.table import Table
from .bayesnet.model import BayesNetModel, Fitted
from .bayesnet.network import Network
from .bayesnet.tables import table_from_marginal

__all__ = ["Independent"]


@dataclass(frozen=True)
class Independent:
    """A synthesiser that draws each column from its own distribution: a network without edges.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> table = chaffinch.read(pa.table({"a": ["x", "y"] * 30, "b": ["p", "q"] * 30}))
    >>> Independent().fit(table).network.edges
    ()
    """

    def fit(self, data: Table | Counter, *, seed: Seed = None, progress: Progress = silent) -> BayesNetModel:
        """Return a model of a table, or of whatever a counter counts. Nothing is drawn: the seed has no effect."""
        counter: Counter = MemoryCounter(data) if isinstance(data, Table) else data
        names = counter.schema.names
        progress("counting the columns", -1)
        tables = tuple(table_from_marginal(m, smoothing=0.0) for m in counter.marginals([(name,) for name in names]))
        fitted = Fitted("independent", "none", "none", 0.0, (), None, (), (), None, counter.n_rows, 0)
        return BayesNetModel(counter.schema, Network(names, ((),) * len(names)), tables, fitted)
