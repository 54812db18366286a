"""The comparison that chose the default search: held-out likelihood and held-out 3-way marginals on every bundled table.

    python -m benchmarks.heldout [--splits N] [--first-split N] [--tables NAME ...] [--penalty NATS]

Each split halves the rows at random; all searches are fitted on one half with the same back-off smoothing, and measured on the
other: mean log-likelihood of its rows (nats, higher is better), and mean total variation between its 3-way marginals and those
of as many synthetic rows (lower is better), on codes. Differences are paired by split. The schema is that of the whole table, so
that all models speak of the same codes. Fewer than ten splits, fewer tables or another penalty: nothing is saved. A penalty that
was chosen on some splits is to be judged on others: the default was chosen on splits 0 to 9, 100 to 109 and
200 to 209, and is judged on 300 to 309.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from itertools import combinations
from math import prod, sqrt
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import chaffinch
from benchmarks.common import Option, machine, run_study, save, show
from benchmarks.data import bundled
from chaffinch import BayesNet, Table
from chaffinch.synth import BayesNetModel

TABLES = ("adult", "cmc", "caesarian", "diabetes", "cardio_binned")
PARENTS = (2, 3)
SMOOTHING = 1.0
FIRST_SPLIT = 300
FLOOR = 1e-12
MOST_CELLS = 4_000_000
MEASURES = ("log-likelihood", "log-likelihood, floored", "3-way distance")

SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"search": "greedy"},
    "genetic": {"search": "genetic"},
    "ordering, penalised": {"search": "ordering", "score": "penalised"},
    "ordering, pairwise": {"search": "ordering", "score": "pairwise"},
}


@dataclass(frozen=True)
class Measured:
    """One model on held-out rows; `impossible` is the share of rows that the model says cannot be."""

    likelihood: float
    floored: float
    distance: float
    impossible: float

    @property
    def values(self) -> tuple[float, float, float]:
        """The measures, in the order of MEASURES."""
        return self.likelihood, self.floored, self.distance


def take(table: Table, rows: NDArray[np.int64]) -> Table:
    """Return some rows of a table, under its schema."""
    return Table(
        table.schema,
        table.data.take(pa.array(rows)),
        table.codes.take(rows),
        table.notes,
        table.origin,
    )


def halves(table: Table, seed: int) -> tuple[Table, Table]:
    """Return two random halves."""
    order = np.random.default_rng(seed).permutation(table.n_rows)
    middle = table.n_rows // 2
    return take(table, order[:middle]), take(table, order[middle:])


def cliques(table: Table) -> tuple[list[tuple[int, ...]], int]:
    """Return the triples of columns that are measured, and how many are left out for their size."""
    sizes = table.schema.sizes
    every = list(combinations(range(len(sizes)), 3))
    kept = [clique for clique in every if prod(sizes[j] for j in clique) <= MOST_CELLS]
    return kept, len(every) - len(kept)


def shares(
    codes: list[NDArray[np.int64]], sizes: tuple[int, ...], clique: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the share of rows in each cell."""
    a, b, c = clique
    key = (codes[a] * sizes[b] + codes[b]) * sizes[c] + codes[c]
    return np.bincount(key, minlength=sizes[a] * sizes[b] * sizes[c]) / max(len(key), 1)


def codes_of(table: Table) -> list[NDArray[np.int64]]:
    """Return the codes of a table's columns as 64-bit numbers."""
    return [table.codes[j].astype(np.int64) for j in range(len(table.codes))]


def likelihoods(model: BayesNetModel, held: Table) -> tuple[float, float, float]:
    """Return the mean over possible rows, the mean with each probability at least FLOOR, and the impossible share."""
    rows = model.log_likelihood(held)
    possible = np.isfinite(rows)
    floored = np.zeros(held.n_rows)
    for name, table in zip(model.network.order, model.tables, strict=True):
        parents = [held.code(parent) for parent in table.parents]
        floored += np.log(np.maximum(table.probabilities(held.code(name), parents), FLOOR))
    return float(rows[possible].mean()), float(floored.mean()), float(1 - possible.mean())


def measure(
    model: BayesNetModel, held: Table, triples: list[tuple[int, ...]], seed: int
) -> Measured:
    """Return the measures of a model on held-out rows."""
    likelihood, floored, impossible = likelihoods(model, held)
    drawn = model.draw_codes(held.n_rows, np.random.default_rng(seed), {})
    made = [drawn[name].astype(np.int64) for name in held.schema.names]
    real, sizes = codes_of(held), held.schema.sizes
    found = [np.abs(shares(made, sizes, t) - shares(real, sizes, t)).sum() / 2 for t in triples]
    return Measured(likelihood, floored, statistics.fmean(found), impossible)


def compare(name: str, splits: range, penalty: float) -> dict[tuple[int, str], list[Measured]]:
    """Return what each search measures on each split of one table, for each k."""
    table = chaffinch.read(bundled(name))
    triples, left_out = cliques(table)
    print(
        f"{name}: {table.n_rows:,} rows, {len(triples)} 3-way marginals, {left_out} left out for their size",
        flush=True,
    )
    out: dict[tuple[int, str], list[Measured]] = {(k, how): [] for k in PARENTS for how in SETTINGS}
    for split in splits:
        fitted, held = halves(table, split)
        for (k, how), found in out.items():
            model = BayesNet(parents=k, smoothing=SMOOTHING, penalty=penalty, **SETTINGS[how]).fit(
                fitted, seed=split
            )
            found.append(measure(model, held, triples, 1000 + split))
    return out


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return a mean and its standard error."""
    return statistics.fmean(values), statistics.stdev(values) / sqrt(len(values)) if len(
        values
    ) > 1 else 0.0


def means(name: str, found: dict[tuple[int, str], list[Measured]]) -> list[list[object]]:
    """Return a row for each k and search: means and standard errors over splits."""
    rows: list[list[object]] = []
    for (k, how), measured in found.items():
        cells: list[object] = []
        for column in zip(*(m.values for m in measured), strict=True):
            mean, error = mean_and_error(list(column))
            cells += [f"{mean:.4f}", f"{error:.4f}"]
        impossible = statistics.fmean(m.impossible for m in measured)
        rows.append([name, k, how, *cells, f"{impossible:.4%}"])
    return rows


def differences(name: str, found: dict[tuple[int, str], list[Measured]]) -> list[list[object]]:
    """Return the paired differences of our searches to greedy and genetic; `worse` is beyond two standard errors."""
    rows: list[list[object]] = []
    for k in PARENTS:
        for ours in ("ordering, penalised", "ordering, pairwise"):
            for theirs in ("greedy", "genetic"):
                for at, measure_name in enumerate(MEASURES):
                    pairs = zip(found[k, ours], found[k, theirs], strict=True)
                    mean, error = mean_and_error([a.values[at] - b.values[at] for a, b in pairs])
                    z = mean / error if error > 0 else 0.0
                    worse = z > 2 if measure_name == "3-way distance" else z < -2
                    better = z < -2 if measure_name == "3-way distance" else z > 2
                    verdict = "worse" if worse else "better" if better else "same"
                    rows.append(
                        [
                            name,
                            k,
                            ours,
                            theirs,
                            measure_name,
                            f"{mean:+.5f}",
                            f"{error:.5f}",
                            f"{z:+.1f}",
                            verdict,
                        ]
                    )
    return rows


def main(
    *,
    splits: int = 10,
    first_split: Annotated[int, Option("seed of the first split")] = FIRST_SPLIT,
    penalty: Annotated[float, Option("of the penalised score")] = BayesNet().penalty,
    tables: Annotated[tuple[str, ...], Option("", known=lambda: tuple(TABLES))] = tuple(TABLES),
) -> None:
    """Compare the searches on every table asked for."""
    print(machine())
    levels: list[list[object]] = []
    paired: list[list[object]] = []
    for name in tables:
        found = compare(name, range(first_split, first_split + splits), penalty)
        levels += means(name, found)
        paired += differences(name, found)
    whole = splits >= 10 and set(tables) == set(TABLES) and penalty == BayesNet().penalty
    whole = whole and first_split == FIRST_SPLIT
    put = save if whole else (lambda _name, head, rows: show(head, rows))
    named = [word for measure_name in MEASURES for word in (measure_name, "s.e.")]
    put("heldout", ["table", "k", "search", *named, "impossible rows"], levels)
    put(
        "heldout_differences",
        ["table", "k", "ours", "theirs", "measure", "difference", "s.e.", "z", "verdict"],
        paired,
    )


if __name__ == "__main__":
    run_study(main)
