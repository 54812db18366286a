"""What a fit may be given: whatever `chaffinch.read` takes, a counter, or data prepared for a private fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError, PrivacyError
from .._base.masking import THRESHOLD
from ..counts.counter import Counter, MemoryCounter, RowCounter, StreamCounter
from ..privacy.session import DataWithoutDomain
from ..table.personal.detect import check_decided, check_declared_decided
from ..table.read import is_model, read
from ..table.rows import as_rows, open_table
from ..table.table import Origin, Table
from ..table.weights import effective_rows, with_constant_weight


def counter_of(data: Any) -> tuple[Counter, Origin | None]:
    """Return a counter of the data, and what the tables drawn from a model of them should look like, if that is known."""
    if isinstance(data, DataWithoutDomain):
        raise InputError(
            "Discovery is part of a private fit: give epsilon, or read the table with chaffinch.read."
        )
    if hasattr(data, "marginals"):
        counter: Counter = data
        return counter, getattr(data, "look", None)
    table = open_table(data)
    check_decided(table.schema)
    if table is not data:
        enough_to_learn(table.n_rows, table.person_of)
    return table_counter(table), table.look


FEWEST_ROWS = 2 * (THRESHOLD - 1) + THRESHOLD
"""Rows from which somebody's table is synthesised without a promise: nine records at each end of a column are counted and not looked at (`table.tails`), and ten are left
between them, so that no number is drawn from means of fewer."""


def enough_to_learn(n_rows: int, person_of: NDArray[np.int64] | None = None) -> None:
    """Raise InputError if a table has too few rows, or rows of too few persons, to be synthesised without a promise. With one, how many there are is nobody's to say."""
    n_units, units = (
        (n_rows, "rows") if person_of is None else (len(np.unique(person_of)), "persons")
    )
    if n_units < FEWEST_ROWS:
        raise InputError(
            f"A table of fewer than {FEWEST_ROWS} {units} is not synthesised: what is drawn would be means of fewer than {THRESHOLD} records. Add {units}, or "
            "declare a domain and draw with a privacy guarantee (--epsilon)."
        )


def table_counter(table: Table, *, threads: int | None = None) -> MemoryCounter:
    """Return a counter of a table for a fit without a promise: of the people that its records stand for, where the schema has a weight.

    Weights are scaled to as many records as they tell of, so that what is worth a record to a network is worth one here.
    """
    name = table.schema.only("weight")
    if name is None or not table.schema[name].modelled:
        return MemoryCounter(table, threads=threads)
    total = effective_rows(table.weights(name))
    return MemoryCounter(with_constant_weight(table), weight=name, total=total, threads=threads)


def fine_counter(counter: Counter) -> RowCounter:
    """Return a counter of the same rows with numbers cut finer, as trees have them; one that hands out no rows is refused."""
    if hasattr(counter, "rebin_finely"):
        fine: RowCounter = counter.rebin_finely()
        return fine
    if isinstance(counter, RowCounter):
        return counter
    raise InputError(
        'Trees are learnt from rows, which this counter does not hand out. Use BayesNet(conditionals="tables").'
    )


def private_data(data: Any) -> tuple[Table | Counter | DataWithoutDomain, Origin | None]:
    """Return data that a private fit may open, and their look; what has no declared domain is refused before it is read."""
    if isinstance(data, DataWithoutDomain) or as_rows(data) is not None:
        check_declared_decided(data.schema)
        return data, getattr(data, "look", None)
    if isinstance(data, StreamCounter) and data.schema.sealed:
        check_declared_decided(data.schema)
    if hasattr(data, "marginals"):  # asks a counter for nothing that would be charged
        return data, getattr(data, "look", None)
    if is_model(data):
        read(data)
    raise PrivacyError(
        "A private fit needs a declared domain: levels, bounds and bins that were not read from the data. Fit to what "
        "chaffinch.prepare(data, 'schema.toml') returns; `chaffinch schema DATA --blank -o schema.toml` writes a schema to fill in."
    )
