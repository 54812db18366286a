"""The tables of the private benchmarks as integer codes on domains fixed beforehand, and how far a synthetic table is from them.

Coarse Adult: all 48,842 rows without `education` (it repeats `education_num`); five numbers in 32 equal bins on fixed ranges, the other
columns as they are, missing as a level of its own. Every synthesiser, ours or a peer, gets these codes and the sizes of the columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.data import BUNDLED, bundled
from chaffinch.privacy.prepare import prepare
from chaffinch.table.schema import Column, Schema
from chaffinch.table.schema_file import as_schema
from chaffinch.table.table import Table

BINS = 32
ADULT_RANGES = {
    "age": (17, 91),
    "fnlwgt": (0, 1_500_000),
    "capital_gain": (0, 100_000),
    "capital_loss": (0, 4_400),
    "hours_per_week": (1, 100),
}
CARDIO_RANGES = {
    "height": (50, 260, 21),
    "weight": (0, 210, 21),
    "ap_hi": (0, 250, 25),
    "ap_lo": (0, 200, 20),
}
"""Ten units to a bin, after the table's own rounding. Values outside, which no body has, count as the nearest bin."""

TRIPLES = 100

Cells = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coarse:
    """A table of codes: column j has codes 0 to sizes[j] - 1, whether they occur or not."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: Cells

    @property
    def n_rows(self) -> int:
        """The number of rows, which the benchmarks declare."""
        return len(self.codes)

    def head(self, n_rows: int | None) -> Coarse:
        """Return the first rows only."""
        return Coarse(self.names, self.sizes, self.codes[:n_rows])

    def declared(self) -> Table:
        """Return the table as a private fit takes it: every code a level, nothing read from the records."""
        columns = tuple(
            Column(name, "categorical", levels=tuple(range(size)))
            for name, size in zip(self.names, self.sizes, strict=True)
        )
        arrow = pa.table({name: self.codes[:, j] for j, name in enumerate(self.names)})
        return prepare(arrow, Schema(columns, public=True, rows=self.n_rows))

    def write(self, folder: Path) -> None:
        """Write codes.npy and domain.json, which every synthesiser's process reads."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "codes.npy", self.codes, allow_pickle=False)
        (folder / "domain.json").write_text(
            json.dumps(dict(zip(self.names, self.sizes, strict=True)))
        )

    @classmethod
    def read(cls, folder: Path) -> Coarse:
        """Return what `write` wrote."""
        sizes = json.loads((folder / "domain.json").read_text())
        return cls(tuple(sizes), tuple(sizes.values()), np.load(folder / "codes.npy"))


def codes_of(table: Table) -> Cells:
    """Return the codes of a table that was drawn from a model of `Coarse.declared`.

    Its values are the codes: they are read as values, so that a fault in decoding would show as a distance.
    """
    arrow = table.to_arrow()
    return np.stack(
        [np.asarray(arrow.column(name), dtype=np.int64) for name in arrow.column_names], axis=1
    )


def adult() -> Coarse:
    """Return coarse Adult: 48,842 x 14."""
    return _coded(
        bundled("adult").drop_columns(["education"]),
        {k: (*v, BINS) for k, v in ADULT_RANGES.items()},
        "adult",
    )


def cardio() -> Coarse:
    """Return Cardio, binned: 70,000 x 12."""
    return _coded(bundled("cardio_binned"), CARDIO_RANGES, None)


def cmc() -> Coarse:
    """Return the contraceptive method table under its declared schema: 1,473 x 10."""
    table = prepare(BUNDLED / "cmc.csv", BUNDLED / "cmc_declared.toml")
    codes = np.stack([table.code(name).astype(np.int64) for name in table.columns], axis=1)
    return Coarse(table.columns, tuple(int(size) for size in table.schema.sizes), codes)


TABLES = {"adult": adult, "cardio": cardio, "cmc": cmc}


def _coded(
    table: pa.Table, ranges: Mapping[str, tuple[int, int, int]], declared: str | None
) -> Coarse:
    """Return numbers in equal bins, other columns by the levels of a declared schema (or the table's own), missing as a level."""
    schema = as_schema(BUNDLED / f"{declared}_declared.toml") if declared else None
    columns, sizes = [], []
    for name in table.column_names:
        values = table.column(name)
        if name in ranges:
            low, high, bins = ranges[name]
            edges = np.linspace(low, high, bins + 1)
            columns.append(
                np.clip(np.searchsorted(edges, values.to_numpy(), side="right") - 1, 0, bins - 1)
            )
            sizes.append(bins)
            continue
        levels = list(schema[name].levels or ()) if schema is not None else []
        if not levels:
            levels = sorted(values.drop_null().unique().to_pylist())
        nullable = schema is not None and schema[name].nullable
        found = pc.index_in(values, pa.array(levels))
        columns.append(pc.fill_null(found, len(levels)).to_numpy())
        sizes.append(len(levels) + nullable)
    codes = np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1)
    if (codes >= np.array(sizes)).any():
        raise SystemExit("A column has values outside its levels.")
    return Coarse(tuple(table.column_names), tuple(sizes), codes)


@dataclass(frozen=True)
class Distances:
    """Total variation of marginals, 0 the same and 1 disjoint: means over 1-, 2- and 3-way marginals, and the worst 2-way."""

    one: float
    two: float
    worst: float
    three: float


def distances(original: Coarse, synthetic: Cells) -> Distances:
    """Return how far a synthetic table is: all columns, all pairs, and 100 triples that are always the same."""
    if synthetic.shape != original.codes.shape:
        raise SystemExit(
            f"The synthetic table is {synthetic.shape}, the original {original.codes.shape}."
        )
    width = len(original.sizes)
    one, two = (_distances(original, synthetic, combinations(range(width), k)) for k in (1, 2))
    three = _distances(original, synthetic, triples(width))
    return Distances(float(np.mean(one)), float(np.mean(two)), max(two), float(np.mean(three)))


def triples(width: int) -> list[tuple[int, ...]]:
    """Return 100 triples of columns, or all where there are fewer: the same in every run.

    Examples
    --------
    >>> triples(3), len(triples(14))
    ([(0, 1, 2)], 100)
    """
    every: list[tuple[int, ...]] = list(combinations(range(width), 3))
    if len(every) <= TRIPLES:
        return every
    return [
        every[i]
        for i in sorted(np.random.default_rng(0).choice(len(every), TRIPLES, replace=False))
    ]


def _distances(
    original: Coarse, synthetic: Cells, cliques: Iterable[tuple[int, ...]]
) -> list[float]:
    found = []
    for clique in cliques:
        sizes = [original.sizes[j] for j in clique]
        cells = int(np.prod(sizes))
        a, b = (
            np.bincount(np.ravel_multi_index([codes[:, j] for j in clique], sizes), minlength=cells)
            / len(codes)
            for codes in (original.codes, synthetic)
        )
        found.append(float(np.abs(a - b).sum() / 2))
    return found
