"""From released tables to a model. Reads nothing else: whatever is computed here is post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..counts.marginal import Marginal, mutual_information
from ..table.schema import Schema
from ..table.table import Origin
from .bayesnet.model import BayesNetModel, FitSummary
from .bayesnet.network import Network
from .bayesnet.tables import ConditionalTable, table_from_marginal


def private_model(
    schema: Schema,
    order: Sequence[int],
    parents: Sequence[Sequence[int]],
    tables: Sequence[Marginal],
    summary: FitSummary,
    *,
    uniform: bool = False,
    origin: Origin | None = None,
) -> BayesNetModel:
    """Return the model of a structure and of tables that hold its families, with the account of what was spent.

    Each column's table is summed from the smallest given table that has it and its parents, strongest parent first. A combination of
    parents without weight has the distribution of fewer parents; `uniform` makes it even instead. `summary` holds the account and
    what the method says of itself; what can be read off the tables is filled in here.
    """
    assert summary.privacy is not None
    names = schema.names
    conditionals: list[ConditionalTable] = []
    strengths: list[float] = []
    fitness = 0.0
    for child, chosen in zip(order, parents, strict=True):
        wanted = {names[child], *(names[p] for p in chosen)}
        source = min((m for m in tables if wanted <= set(m.columns)), key=lambda m: m.n_cells)
        information = {
            p: mutual_information(source.project((names[p], names[child]))) for p in chosen
        }
        strongest = sorted(chosen, key=lambda p: (-information[p], p))
        joint = source.project((*(names[p] for p in strongest), names[child]))
        fitness += mutual_information(joint) if chosen else 0.0
        strengths += [information[p] for p in strongest]
        conditionals.append(
            table_from_marginal(_filled(joint) if uniform else joint, smoothing=0.0)
        )
    network = Network(
        tuple(names[i] for i in order), tuple(table.parents for table in conditionals)
    )
    fitted = replace(
        summary,
        fitness=fitness,
        strengths=tuple(strengths),
        n_rows=summary.privacy.rows,
        parents=summary.parents or network.most_parents,
    )
    return BayesNetModel(schema, network, tuple(conditionals), fitted, origin)


def _filled(joint: Marginal) -> Marginal:
    """The table with a trace of weight, the same everywhere, in the rows that have none."""
    counts = np.asarray(joint.dense(), dtype=np.float64).copy()
    empty = counts.sum(axis=-1) <= 0
    counts[empty] = 1e-9
    return Marginal(joint.columns, joint.sizes, counts)
