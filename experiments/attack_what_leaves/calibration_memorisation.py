"""Are the memorisation tests calibrated, and what do they find? Null draws and draws with copied rows, from Adult and from a made-up population.

    python -m experiments.attack_what_leaves.calibration_memorisation null      # 2,000 draws of each population
    python -m experiments.attack_what_leaves.calibration_memorisation power     # 200 draws of each share of copies at 2,000 rows, 40 at 10,000

Members, others and released rows are disjoint draws of one population; `copied` of the released rows are copies of members. "chances known" is the copied row
with the chance of each row from the counts of the whole population, by itself: what a test could do that estimates nothing. Results are CSV files beside this one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import run_study
from chaffinch.risk.attacker import attackers_of_kind
from chaffinch.risk.memorisation.battery import case_scores
from chaffinch.risk.memorisation.protocol import ColumnValues, ReleaseCase
from chaffinch.stats.excess import excess
from chaffinch.stats.familywise import family
from chaffinch.table.compare.classes import class_ids
from chaffinch.table.compare.values import CodedTables
from chaffinch.table.read import read

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "examples" / "data"
COLUMNS = 12
KEYS = ("age", "sex", "race", "education")
RESAMPLES = 199
KNOWN = "copied_row, chances known"
TESTS = tuple(
    test for test in attackers_of_kind("memorisation") if "releases" not in (test.needs or ())
)


def adult(weights: bool = False) -> tuple[ColumnValues, ...]:
    """Return all records of Adult, twelve columns of them, as people; with the sampling weight as one more, whose values hardly two people share."""
    first = pq.read_table(DATA / "adult_train.parquet")
    whole = pa.concat_tables([first, pq.read_table(DATA / "adult_test.parquet").cast(first.schema)])
    kept = [
        name
        for name in whole.column_names
        if name not in ("fnlwgt", "education_num", "education-num")
    ]
    return _columns(whole.select([*kept[:COLUMNS], *(["fnlwgt"] * weights)]))


def made_up(n: int = 60_000, seed: int = 5) -> tuple[ColumnValues, ...]:
    """Return people of a made-up population: a skew number, ages, and categories that go together, some levels rare."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, n)
    table = {
        "age": rng.integers(18, 90, n),
        "income": np.round(np.exp(rng.normal(9.5 + kind / 5, 0.9)), -1),
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        "race": np.array(list("abcdefg"))[np.minimum(rng.zipf(2.0, n), 7) - 1],
        "education": np.array(list("abcdefghijkl"))[(kind + rng.integers(0, 4, n)) % 12],
        "town": np.array([f"t{i}" for i in range(4000)])[np.minimum(rng.zipf(1.3, n), 4000) - 1],
    }
    return _columns(pa.table(table))


def _columns(table: pa.Table) -> tuple[ColumnValues, ...]:
    whole = read(table, rare="keep")
    return ReleaseCase.from_tables(CodedTables({"all": whole}), ["all"], ["all"]).columns


def case_of(
    columns: tuple[ColumnValues, ...], released: np.ndarray, people: np.ndarray, seed: int
) -> ReleaseCase:
    """Return the case of some records as released rows and some as people."""
    parts = tuple(
        ColumnValues(c.name, c.people[released], c.people[people], c.size, c.n_values, c.numbers)
        for c in columns
    )
    keys = tuple(name for name in KEYS if name in {c.name for c in columns})
    return ReleaseCase(parts, len(released), len(people), keys, np.random.SeedSequence(seed), 1)


def draw(
    columns: tuple[ColumnValues, ...], n: int, copied: float, seed: int
) -> tuple[dict[str, dict], float]:
    """Return what each test says of one draw, and the p-value of all together."""
    rng = np.random.default_rng([n, seed])
    rows = rng.choice(len(columns[0].people), 3 * n, replace=False)
    members, others, released = rows[:n], rows[n : 2 * n], rows[2 * n :].copy()
    copies = round(copied * n)
    released[:copies] = members[:copies]
    case = case_of(columns, released, np.concatenate([members, others]), seed)
    order = rng.permutation(2 * n)
    known = chances_known(columns, released, np.concatenate([members, others]), copied)
    shuffled, position = case.take(order), np.argsort(order)
    outcomes = [case_scores(test, shuffled, position, np.array([n])) for test in TESTS]
    found = [
        excess(
            members.group,
            others.group,
            resamples=RESAMPLES,
            seed=np.random.SeedSequence([seed, 1, number]),
            threads=1,
        )
        for number, (members, others) in enumerate(outcomes)
    ]
    together = family(
        [members.group for members, _ in outcomes],
        [others.group for _, others in outcomes],
        level_shares=[test.level_share for test in TESTS],
        resamples=RESAMPLES,
        seed=seed,
        threads=1,
    )
    result = {
        test.name: {
            "p": one.p_value,
            "p_family": together.adjusted[j],
            "interval": one.interval,
        }
        for j, (test, one) in enumerate(zip(TESTS, found, strict=True))
    }
    if known is not None:
        sides = ((known[:n], np.ones(n)), (known[n:], np.ones(n)))
        result[KNOWN] = {
            "p": excess(*sides, resamples=RESAMPLES, seed=seed, threads=1).p_value,
            "p_family": None,
        }
    return result, float(together.p_value) if together.p_value is not None else 1.0


def chances_known(
    columns: tuple[ColumnValues, ...], released: np.ndarray, people: np.ndarray, copied: float
) -> np.ndarray | None:
    """Return the log likelihood ratio of "a copy" for each match, each row's chance being its share of the population; None without copies."""
    if not copied:
        return None
    (rows,) = class_ids([c.people for c in columns])
    share = np.bincount(rows)[rows[people]] / len(rows)
    return (
        np.isin(rows[people], rows[released]) * np.log1p(copied / (len(people) / 2 * share)) / 10.0
    )


def null_rows(
    population: str, n: int, results: list[tuple[dict[str, dict], float]]
) -> Iterator[list[object]]:
    """Yield a row for each test: how often p is at most 0.05, and how often the interval holds 0."""
    below = np.mean([p <= 0.05 for _, p in results])
    yield [population, n, "all together", len(results), f"{below:.4f}", ""]
    for name in (test.name for test in TESTS):
        ones = [
            one[name] for one, _ in results if name in one and one[name]["interval"] is not None
        ]
        if ones:
            level = np.mean([one["p"] <= 0.05 for one in ones])
            cover = np.mean([one["interval"][0] <= 0 <= one["interval"][1] for one in ones])
            yield [population, n, name, len(ones), f"{level:.4f}", f"{cover:.4f}"]


def power_rows(
    population: str, n: int, copied: float, results: list[tuple[dict[str, dict], float]]
) -> Iterator[list[object]]:
    """Yield a row for each test: how often it is found, by itself and among all."""
    together = np.mean([p <= 0.05 for _, p in results])
    yield [
        population,
        n,
        copied,
        "all together",
        len(results),
        f"{together:.3f}",
        f"{together:.3f}",
    ]
    for name in (*(test.name for test in TESTS), KNOWN):
        ones = [one[name] for one, _ in results if name in one]
        if ones:
            alone = np.mean([(one["p"] or 1.0) <= 0.05 for one in ones])
            among = np.mean([(one["p_family"] or 1.0) <= 0.05 for one in ones])
            yield [
                population,
                n,
                copied,
                name,
                len(ones),
                f"{alone:.3f}",
                "" if name == KNOWN else f"{among:.3f}",
            ]


def tables(what: str) -> Iterator[list[object]]:
    """Yield the head, then the rows, of the table of null draws or that of power."""
    people = {"made-up": (made_up, 300), "Adult, 12 columns": (adult, 500)}
    if what == "null":
        yield [
            "population",
            "rows",
            "test",
            "draws",
            "share of p <= 0.05",
            "share of 95 % intervals that hold 0",
        ]
        for population, (columns, n) in people.items():
            records = columns()
            yield from null_rows(
                population, n, [draw(records, n, 0.0, seed) for seed in range(2000)]
            )
        return
    yield ["population", "rows", "copied", "test", "draws", "found by itself", "found among all"]
    coarse, fine = adult(), adult(weights=True)
    for population, records, n, copied, draws in (
        ("Adult, 12 columns", coarse, 2000, 0.01, 200),
        ("Adult, 12 columns", coarse, 2000, 0.02, 200),
        ("made-up", made_up(), 2000, 0.01, 100),
        ("Adult, 12 columns and fnlwgt", fine, 2000, 0.01, 100),
        ("Adult, 12 columns", coarse, 10_000, 0.01, 40),
        ("Adult, 12 columns and fnlwgt", fine, 10_000, 0.01, 20),
    ):
        yield from power_rows(
            population, n, copied, [draw(records, n, copied, seed) for seed in range(draws)]
        )


def main(what: Literal["null", "power"] = "null") -> None:
    """Write the table of null draws, or that of power, as CSV."""
    with open(
        HERE / f"calibration_memorisation_{what}.csv", "w", encoding="utf-8", newline=""
    ) as file:
        for row in tables(what):
            csv.writer(file).writerow(row)
            file.flush()
            print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    run_study(main)
