"""A small population to draw members, others and releases from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pytest

from chaffinch.risk.attribution.attack_data import side_names
from chaffinch.risk.memorisation.protocol import ReleaseCase
from chaffinch.table.align import align
from chaffinch.table.compare.values import CodedTables
from chaffinch.table.read import read


def distinct_people(n: int, rng: np.random.Generator, columns: int = 6) -> pa.Table:
    """Return people who are hardly ever alike: two numbers and some categories that go together."""
    kind = rng.integers(0, 4, n)
    out = {
        "age": rng.integers(18, 90, n),
        "income": np.round(np.exp(rng.normal(10 + kind / 4, 0.6)), 0),
    }
    for j in range(columns - 2):
        out[f"c{j}"] = np.array(list("abcdefgh"))[(kind + rng.integers(0, 5, n)) % (j + 4)]
    return pa.table(out)


def with_copies(fresh: pa.Table, members: pa.Table, share: float) -> pa.Table:
    """Return a table of others whose first rows are copies of the first members."""
    copies = round(share * members.num_rows)
    return pa.concat_tables([members.slice(0, copies), fresh.slice(copies)])


def case_of(
    released: pa.Table | Sequence[pa.Table], members: pa.Table, others: pa.Table, **options
) -> ReleaseCase:
    """Return the case of one or more releases, members first."""
    coded = coded_tables(members, released, others, options.pop("tolerance", {}))
    releases = [side for side in coded.tables if side.startswith("synthetic")]
    return ReleaseCase.from_tables(coded, releases, ["original", "holdout"], **options)


def coded_tables(
    members: pa.Table,
    released: pa.Table | Sequence[pa.Table],
    others: pa.Table,
    tolerance: Mapping[str, float] = MappingProxyType({}),
) -> CodedTables:
    """Return the tables of a case on one grid, by their names."""
    several = [released] if isinstance(released, pa.Table) else released
    names = side_names(len(several), True)
    tables = align(read(members), *several, others, names=names[1:])
    return CodedTables(dict(zip(names, tables, strict=True)), tolerance)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def reference_tables() -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return 120 people, a table of 100 rows of which 30 are copies, and 120 others: what other libraries were run on.

    Multiples of irrational numbers, so that any language makes the same tables; numbers of the released table span all ranges.
    """

    def spread_columns(n: int, shift: float) -> dict[str, np.ndarray]:
        i = np.arange(1, n + 1)

        def spread(j: int, size: float) -> np.ndarray:
            return np.floor(size * ((i * (2, 3, 5, 7, 11)[j] ** 0.5 + shift * (j + 1)) % 1.0))

        return {
            "a": spread(0, 1e6) / 1e6,
            "b": np.array(list("xyz"))[spread(1, 3).astype(int)],
            "c": spread(2, 999983) / 999983,
            "d": np.array(list("pq"))[spread(3, 2).astype(int)],
            "e": spread(4, 40),
        }

    original, holdout, synthetic = (
        spread_columns(n, shift) for n, shift in ((120, 0.11), (120, 0.61), (100, 0.37))
    )
    for name, values in synthetic.items():
        values[:30] = original[name][:30]
        if name in "ace":
            values[30], values[31] = 0.0, 40.0 if name == "e" else 1.0
    return pa.table(original), pa.table(synthetic), pa.table(holdout)
