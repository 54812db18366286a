"""Rerun P4's figures: mu, delta and G over the number of parents without privacy, and over epsilon with it.

python -m experiments.p4_composite.run [diabetes] [adult] [diabetes_private] [adult_private] [adult_groups]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import read_rows, run_parts
from benchmarks.data import BUNDLED, bundled
from chaffinch import BayesNet, FieldGroups, Independent, PrivBayes
from chaffinch.privacy.prepare import prepare
from chaffinch.report.uses import sweep_plot
from chaffinch.table import Table
from chaffinch.table.schema import Column, Kind, Schema
from chaffinch.table.schema_file import as_schema
from chaffinch.utility import sweep
from experiments.training import save, whole

HERE = Path(__file__).resolve().parent

SETTINGS = {0: Independent(), **{k: BayesNet(parents=k, search="genetic") for k in range(1, 5)}}
"""By the most parents of a column; 0 is independent columns."""
PRIVATE: dict[str, Callable[[float, int], Any]] = {
    "datasynthesizer": lambda epsilon, _: PrivBayes(epsilon, variant="datasynthesizer"),
    "datasynthesizer_2020": lambda epsilon, n_rows: PrivBayes(
        epsilon / 2 * (1 + n_rows), variant="datasynthesizer", beta=1 / (1 + n_rows)
    ),
    "privbayes": lambda epsilon, _: PrivBayes(epsilon),
    "bayesnet": lambda epsilon, _: BayesNet(epsilon=epsilon, delta=1e-6),
    "fieldgroups": lambda epsilon, _: FieldGroups(epsilon),
}
"""Synthesisers of an epsilon and a number of rows; another one is another line.

The paper ran a PrivBayes in Python, as DataSynthesizer is. Up to its version 0.1.4 that package divided the noise of counts by the number
of rows (its issue 34): half of epsilon for the structure, and n times the other half for the tables. `datasynthesizer_2020` is
this, with a budget that says so.
"""
GROUPS: dict[str, Callable[[float, int], Any]] = {
    "fieldgroups_translated": lambda epsilon, _: FieldGroups(
        epsilon, TRANSLATED, empty="first", draw="independent"
    ),
    "fieldgroups_as_run": lambda epsilon, _: FieldGroups(
        epsilon, [["age"]], empty="first", draw="independent"
    ),
}
"""DPFieldGroups with its published, hand-made groups.

They are for census extracts of 1940 with 98 fields. The program groups fields by their names and leaves all others alone: of Adult it groups nothing
(`fieldgroups_as_run`). `fieldgroups_translated` has the groups between columns of the same meaning: SEX with CLASSWKR, and EDUC with
HIGRADE; fields of the other columns (AGE, RACE, MARST, OCC, BPL, HRSWORK1, INCWAGE ...) share no group with each other.
"""
TRANSLATED = [["workclass", "sex"], ["education", "education_num"]]
MEASURED = 10_000
"""Private synthesisers learn from all records; at most so many of either table are measured."""
COPIES = 3
REPEATS = {
    "diabetes": 10,
    "adult": 2,
    "diabetes_private": 10,
    "adult_private": 1,
    "adult_groups": 1,
}
ROWS = {
    "diabetes": None,
    "adult": 2_000,
    "diabetes_private": None,
    "adult_private": 2_000,
    "adult_groups": 2_000,
}
"""How often each support vector machine is fitted, and the records it gets at most; all where None."""
MEASURES = ("mu", "delta", "delta_tstr", "G")
SHOWN = ("mu", "delta", "delta TSTR", "G")

DIABETES: tuple[tuple[str, Kind, tuple[float, float]], ...] = (
    ("pregnancies", "integer", (0, 20)),
    ("glucose", "integer", (0, 200)),
    ("blood_pressure", "integer", (0, 130)),
    ("skin_thickness", "integer", (0, 100)),
    ("insulin", "integer", (0, 900)),
    ("bmi", "float", (0, 70)),
    ("diabetes_pedigree", "float", (0, 2.5)),
    ("age", "integer", (21, 90)),
)
"""Round bounds that hold what such measurements can be; 20 bins each, DataSynthesizer's default."""


def public(dataset: str) -> None:
    """Write a row for each number of parents and synthesis."""
    table = whole(bundled(dataset))
    found = sweep(
        table, SETTINGS, copies=COPIES, seed=1, repeats=REPEATS[dataset], rows=ROWS[dataset]
    )
    rows = [
        [dataset, r["setting"], r["copy"], *(f"{r[name]:.5f}" for name in MEASURES)]
        for r in found.to_dict()["rows"]
    ]
    save(HERE, dataset, ["dataset", "parents", "copy", *SHOWN], rows)
    for name in ("mu", "delta", "G"):
        points = [(r["setting"], r[name]) for r in found.to_dict()["rows"]]
        (HERE / f"{dataset}_{name}.svg").write_text(
            str(sweep_plot(name, f"{name}, {dataset}", "parents", points)), encoding="utf-8"
        )


def declared(dataset: str) -> Table:
    """Return a dataset under a domain that was not read from it; its number of rows is public, as PrivBayes needs it."""
    values = bundled(dataset)
    if dataset == "adult":
        schema = as_schema(BUNDLED / "adult_declared.toml")
        assert schema is not None
        return prepare(values, replace(schema, rows=values.num_rows))
    numbers = (Column(name, kind, bounds=bounds, bins=20) for name, kind, bounds in DIABETES)
    label = Column("outcome", "categorical", levels=(0, 1))
    return prepare(values, Schema((*numbers, label), public=True, rows=values.num_rows))


def private(part: str) -> None:
    """Write a row for each private synthesiser, epsilon and synthesis, and their means; measured on the table as `main` reads it."""
    dataset, _, which = part.partition("_")
    table, known = whole(bundled(dataset)), declared(dataset)
    if table.n_rows > MEASURED:
        table = table.take(np.sort(np.random.default_rng(1).permutation(table.n_rows)[:MEASURED]))
    epsilons = [float(row["epsilon"]) for row in read_rows(HERE / "p4_epsilons.csv")]
    rows: list[list[Any]] = []
    means: list[list[Any]] = []
    for name, made in (GROUPS if which == "groups" else PRIVATE).items():
        settings = {epsilon: synthesis(made(epsilon, known.n_rows), known) for epsilon in epsilons}
        found = sweep(
            table,
            settings,
            setting="epsilon",
            copies=COPIES,
            seed=1,
            repeats=REPEATS[part],
            rows=ROWS[part],
        ).to_dict()["rows"]
        rows += [
            [dataset, name, r["setting"], r["copy"], 1, *(told(r[measure]) for measure in MEASURES)]
            for r in found
        ]
        for epsilon in epsilons:
            held = [r for r in found if r["setting"] == epsilon]
            means.append([dataset, name, epsilon, *mean_and_error(held)])
            print(*means[-1], flush=True)
        points = [(r["setting"], r["G"]) for r in found if r["G"] is not None]
        (HERE / f"{part}_G_{name}.svg").write_text(
            str(sweep_plot("G", f"G, {dataset}, {name}", "epsilon", points)), encoding="utf-8"
        )
    save(HERE, part, ["dataset", "synthesiser", "epsilon", "copy", "seed", *SHOWN], rows)
    head = [cell for measure in SHOWN for cell in (measure, f"{measure}, s.e.")]
    save(HERE, f"{part}_means", ["dataset", "synthesiser", "epsilon", "syntheses", *head], means)


def synthesis(synthesiser: Any, known: Table) -> Callable[[Table, int], Table]:
    """Return a function that makes a synthetic table with a seed, from records under their declared domain."""

    def make(table: Table, seed: int) -> Table:
        return synthesiser.fit(known, seed=seed).sample(table.n_rows, seed=seed + 1)

    return make


def told(value: float | None) -> str:
    """Return a value as text; nothing where there is none, since a synthetic label of one class cannot be learnt."""
    return "" if value is None else f"{value:.5f}"


def mean_and_error(rows: list[Mapping[str, Any]]) -> list[str]:
    """Return how many syntheses could be measured in full, and the mean and standard error of each measure, as text."""
    out = [str(sum(row["G"] is not None for row in rows))]
    for measure in MEASURES:
        values = [row[measure] for row in rows if row[measure] is not None]
        out.append(f"{np.mean(values):.4f}" if values else "")
        out.append(
            f"{np.std(values, ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
        )
    return out


if __name__ == "__main__":
    run_parts({name: partial(private if "_" in name else public, name) for name in REPEATS})
