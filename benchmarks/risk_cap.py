"""TCAP in all conventions over the 42 subsets of 3 to 6 of 6 keys of Adult, its growth, and resampled people.

python -m benchmarks.risk_cap
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow.compute as pc

from benchmarks.common import best, machine, save
from benchmarks.data import bundled
from chaffinch.risk.attribution.cap import MEASURES
from chaffinch.risk.attribution.classes import key_subsets
from chaffinch.risk.attribution.matching import match, match_classes
from chaffinch.risk.attribution.tcap import all_conventions, tcap
from chaffinch.table.compare.classes import KeySpace

KEYS = ["age", "workclass", "education", "marital_status", "occupation", "sex"]
SENSITIVE = "relationship"
Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def adult(n_rows: int, *, seed: int = 0) -> Tables:
    """Return keys and sensitive values of people and of a source, each so many rows of Adult drawn with replacement."""
    table = bundled("adult")
    columns = [pc.fill_null(table[name].cast("string"), "?") for name in (*KEYS, SENSITIVE)]
    codes = np.stack(
        [c.combine_chunks().dictionary_encode().indices.to_numpy() for c in columns], axis=1
    ).astype(np.int64)
    rng = np.random.default_rng(seed)
    people, source = (codes[rng.integers(0, len(codes), n_rows)] for _ in range(2))
    return people[:, :-1], people[:, -1], source[:, :-1], source[:, -1]


def sweep(tables: Tables) -> list[float | None]:
    """Return TCAP in all conventions for all subsets, work on shared beginnings done once."""
    people, people_value, source, source_value = tables
    classes = KeySpace.from_tables(people, source).sweep(key_subsets(range(len(KEYS)), (3, 6)))
    found = (all_conventions(match_classes(ids, people_value, source_value)) for _, ids in classes)
    return [one.value for results in found for one in results.values()]


def one_by_one(tables: Tables) -> list[float | None]:
    """Return the same, each subset by itself."""
    people, people_value, source, source_value = tables
    found = (
        all_conventions(match(people[:, list(s)], people_value, source[:, list(s)], source_value))
        for s in sorted(key_subsets(range(len(KEYS)), (3, 6)))
    )
    return [one.value for results in found for one in results.values()]


def measures(tables: Tables) -> list[float | None]:
    """Return all measures of one match."""
    found = match(*tables)
    return [measure(found).value for measure in MEASURES.values()]


def by_polars(tables: Tables) -> list[float]:
    """Return TCAP as in P1 alone for all subsets, by grouped counts and joins."""
    frames = [
        pl.DataFrame({**{name: keys[:, j] for j, name in enumerate(KEYS)}, SENSITIVE: values})
        for keys, values in (tables[:2], tables[2:])
    ]
    out = []
    for subset in sorted(key_subsets(range(len(KEYS)), (3, 6))):
        keys = [KEYS[j] for j in subset]
        people, source = frames
        selected = source.group_by(keys).agg(
            pl.len().alias("rows"),
            pl.col(SENSITIVE).n_unique().alias("values"),
            pl.col(SENSITIVE).first().alias("said"),
        )
        selected = selected.filter(pl.col("values") == 1)
        joined = (
            people.join(selected, on=keys)
            .group_by(keys)
            .agg(
                (pl.col(SENSITIVE) == pl.col("said")).mean().alias("share"), pl.col("rows").first()
            )
        )
        out.append(float((joined["share"] * joined["rows"]).sum() / joined["rows"].sum()))
    return out


def measure() -> list[list[object]]:
    rows: list[list[object]] = []

    def add(what: str, how: str, seconds: float) -> None:
        rows.append([what, how, f"{seconds * 1e3:.1f}"])

    tables = adult(50_000)
    shared, apart, polars = sweep(tables), one_by_one(tables), by_polars(tables)
    assert shared == apart
    assert np.allclose(shared[::5], polars, rtol=0, atol=1e-12)
    what = "TCAP, 42 subsets of 3-6 of 6 keys, 50,000 + 50,000 rows"
    add(what, "5 conventions", best(lambda: sweep(tables)))
    add(what, "5 conventions, no shared beginnings", best(lambda: one_by_one(tables)))
    add(
        what,
        "polars group_by and join, P1's convention alone",
        best(lambda: by_polars(tables), repeats=2),
    )
    for n_rows in (10_000, 100_000, 1_000_000):
        grown = adult(n_rows)
        add(
            f"TCAP, 42 subsets of 3-6 of 6 keys, {n_rows:,} + {n_rows:,} rows",
            "5 conventions",
            best(lambda grown=grown: sweep(grown), repeats=3),
        )
    what = "6 keys, 50,000 + 50,000 rows"
    add(what, "match", best(lambda: match(*tables)))
    add(what, "match and its 13 measures", best(lambda: measures(tables)))
    add(what, "match and TCAP, P1's convention", best(lambda: tcap(*tables)))
    cells = tcap(*tables).cells
    assert cells is not None
    rng = np.random.default_rng(1)
    n_people = len(cells.person_class)
    drawn = rng.multinomial(n_people, np.full(n_people, 1 / n_people), size=1000).astype(np.float64)
    totals = cells.statistic.totals(cells.statistic.check((cells.person_class, cells.person_right)))
    what_drawn = "1,000 resamples of people, P1's convention, weights given"
    add(what, what_drawn, best(lambda: totals(drawn, n_people, n_people)))
    return rows


if __name__ == "__main__":
    print(machine("polars"))
    save("risk_cap", ["what", "how", "ms"], measure(), "polars")
