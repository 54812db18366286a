"""From released tables to a model. Reads nothing else: whatever is computed here is post-processing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..counts.marginal import Marginal
from ..counts.scores import mutual_information
from ..privacy.account import Account
from ..table.schema import Schema
from .bayesnet.model import BayesNetModel, Fitted
from .bayesnet.network import Network
from .bayesnet.protection import Protection
from .bayesnet.tables import ConditionalTable, table_from_marginal

__all__ = ["private_model"]


def private_model(
    schema: Schema,
    order: Sequence[int],
    parents: Sequence[Sequence[int]],
    tables: Sequence[Marginal],
    *,
    account: Account,
    method: str,
    search: str,
    score: str,
    uniform: bool = False,
    label: str | None = None,
    sensitive: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
    protection: Protection | None = None,
    most: int | None = None,
) -> BayesNetModel:
    """Return the model of a structure and of tables that hold its families, with the account of what was spent.

    Each column's table is summed from the smallest given table that has it and its parents, strongest parent first. A combination of
    parents without weight has the distribution of fewer parents; `uniform` makes it even instead.
    """
    names = schema.names
    made: list[ConditionalTable] = []
    strengths: list[float] = []
    fitness = 0.0
    for child, chosen in zip(order, parents, strict=True):
        wanted = {names[child], *(names[p] for p in chosen)}
        source = min((m for m in tables if wanted <= set(m.columns)), key=lambda m: m.n_cells)
        told = {p: mutual_information(source.project((names[p], names[child]))) for p in chosen}
        strongest = sorted(chosen, key=lambda p: (-told[p], p))
        joint = source.project((*(names[p] for p in strongest), names[child]))
        fitness += mutual_information(joint) if chosen else 0.0
        strengths += [told[p] for p in strongest]
        made.append(table_from_marginal(_filled(joint) if uniform else joint, smoothing=0.0))
    network = Network(tuple(names[i] for i in order), tuple(table.parents for table in made))
    fitted = Fitted(
        method=method,
        search=search,
        score=score,
        fitness=fitness,
        strengths=tuple(strengths),
        label=label,
        sensitive=sensitive,
        kept=kept,
        protection=protection,
        n_rows=account.rows,
        parents=network.most_parents if most is None else most,
        privacy=account,
    )
    return BayesNetModel(schema, network, tuple(made), fitted)


def _filled(joint: Marginal) -> Marginal:
    """The table with a trace of weight, the same everywhere, in the rows that have none."""
    counts = np.asarray(joint.dense(), dtype=np.float64).copy()
    empty = counts.sum(axis=-1) <= 0
    counts[empty] = 1e-9
    return Marginal(joint.columns, joint.sizes, counts)
