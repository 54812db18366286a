"""What the ends of a numeric column give away, before and after expected values stand in for the nine most extreme records.

    python -m experiments.attack_what_leaves.tails FOLDER [--table NAME ...] [--releases N]

FOLDER holds the tables of `TARGETS` as Parquet files. Of each, up to 2,000 rows are the population. Targets are the records with the
largest and the smallest value of a column. A release is fitted to 400 rows of the population, the targets among them in half of the
releases (balanced, each target by itself): read, BayesNet(parents=2), sample. The attacker sees the released column and works out the
numbers of `statistics`. The strongest of them is chosen, with its direction, on one half of the releases and judged
on the other, and the halves change places. Beside it are the largest value alone, a logistic regression on all of them (cross-fitted
in the same way), and the ceiling: the most that any attacker on this column can have who knows the population (`ceiling`).

Utility is measured on the same releases: Kolmogorov distance, total variation over 20 even bins, and error of the mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import chaffinch
from benchmarks.common import run_study, write_rows
from chaffinch.table import bins
from chaffinch.table.tails import TrimmedTails

RESULTS = Path(__file__).with_name("tails.csv")
TARGETS = {
    "islp_wage": ("wage", "logwage"),
    "islp_college": ("Apps", "Books", "Expend"),
    "sm_fair": ("affairs",),
    "lm_wage_panel": ("hours", "lwage"),
    "lm_fringe": ("annearn", "hrearn"),
    "lm_meps": ("ldrugexp", "drugexp", "income"),
    "nyc_planes": ("seats", "year"),
    "sm_randhie": ("mdvis",),
    "lm_card": ("wage",),
    "islp_bikeshare": ("casual", "registered"),
    "lm_birthweight": ("bwght", "faminc"),
    "nyc_flights": ("dep_delay", "distance"),
    "vega_seattle_weather": ("precipitation", "wind"),
    "vega_airports": ("longitude", "latitude"),
    "lifelines_dd": ("duration",),
}
TUNED_ON = ("islp_wage", "islp_college", "sm_fair", "lm_wage_panel", "lm_fringe")
POPULATION, ROWS, COLUMNS, UNSEEN = 2000, 400, 8, 9
FIELDS = (
    "table",
    "column",
    "end",
    "role",
    "population",
    "distance_sd",
    "tail",
    "releases",
    "largest_value",
    "strongest",
    "strongest_is",
    "regression",
    "ceiling",
    "kolmogorov",
    "total_variation",
    "mean_bias_sd",
    "mean_rms_sd",
    "range_beyond_sd",
)

Numbers = NDArray[np.float64]


def _as_they_are(values: Numbers, counts: Numbers, **_: object) -> TrimmedTails:
    """Nothing stands in for the extreme records; the ends are the means of the ten outermost."""
    records = np.repeat(values, counts.astype(np.int64))
    return TrimmedTails(
        values,
        counts,
        0,
        (float(records[:10].mean()), float(records[-10:].mean())) if len(records) else (0.0, 0.0),
    )


@contextmanager
def means_of_ten() -> Iterator[None]:
    """Work out the ends of columns as they were before: from the extreme records themselves."""
    present = bins.with_modelled_tails
    bins.with_modelled_tails = _as_they_are  # type: ignore[assignment]
    try:
        yield
    finally:
        bins.with_modelled_tails = present


def area(members: Numbers, others: Numbers) -> float:
    """Return the area under the ROC curve of a score: the odds that a member's is larger, ties by half."""
    return float((members[:, None] > others).mean() + (members[:, None] == others).mean() / 2)


def statistics(numbers: Numbers, lines: Numbers) -> dict[str, float]:
    """Return what an attacker works out of a released column, with the target at its upper end."""
    ranked = np.sort(numbers)
    return {
        "largest": ranked[-1],
        "second": ranked[-2],
        "fifth": ranked[-5],
        "tenth": ranked[-10],
        "top ten": ranked[-10:].mean(),
        "mean": ranked.mean(),
        "variance": ranked.var(),
        "99 %": np.quantile(ranked, 0.99),
        "95 %": np.quantile(ranked, 0.95),
        **{f"beyond line {i}": float((ranked > line).sum()) for i, line in enumerate(lines)},
    }


def ceiling(population: int, rows: int, rank: int) -> float:
    """Return the largest area of any attacker on a release that depends on the column from a rank inwards only.

    The place in the population of the record of that rank is negative hypergeometric, with and without the one record above all others.
    """
    others = population - 1
    place = np.arange(1, others + 1)

    def choose(n: Numbers, k: Numbers) -> Numbers:
        inside = (k >= 0) & (k <= n)
        return np.where(
            inside,
            gammaln(n + 1)
            - gammaln(np.where(inside, k, 0) + 1)
            - gammaln(np.where(inside, n - k, 0) + 1),
            -np.inf,
        )

    def odds(r: int, n: int) -> Numbers:
        here = np.ones(others)
        return np.exp(
            choose(place - 1.0, (r - 1) * here)
            + choose(others - place + 0.0, (n - r) * here)
            - choose(others * here, n * here)
        )

    members, without = odds(rank - 1, rows - 1), odds(rank, rows)
    order = np.argsort(-(members / np.maximum(without, 1e-300)), kind="stable")
    return float(
        np.trapezoid(
            np.append(0, np.cumsum(members[order])), np.append(0, np.cumsum(without[order]))
        )
    )


def strongest(features: Numbers, member: NDArray[np.bool_], names: list[str]) -> tuple[float, str]:
    """Return the area of the best single statistic, chosen on one half and judged on the other, and its name."""
    halves = np.arange(len(member)) // 2 % 2 == 0
    areas, chosen = [], []
    for choosing in (halves, ~halves):
        scores = np.array(
            [area(column[choosing & member], column[choosing & ~member]) for column in features.T]
        )
        best = int(np.argmax(np.abs(scores - 0.5)))
        judged = area(features[~choosing & member, best], features[~choosing & ~member, best])
        areas.append(judged if scores[best] > 0.5 else 1 - judged)
        chosen.append(names[best])
    return float(np.mean(areas)), " / ".join(dict.fromkeys(chosen))


def regression(features: Numbers, member: NDArray[np.bool_]) -> float:
    """Return the cross-fitted area of a logistic regression on all statistics."""
    halves = np.arange(len(member)) // 2 % 2 == 0
    areas = []
    for choosing in (halves, ~halves):
        learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
        learner.fit(features[choosing], member[choosing])
        scores = learner.decision_function(features[~choosing])
        areas.append(area(scores[member[~choosing]], scores[~member[~choosing]]))
    return float(np.mean(areas))


def study(name: str, population: pa.Table, releases: int, tail: str) -> list[dict[str, object]]:
    """Return a row for each column and end of a table."""
    columns = {column: population[column].to_numpy().astype(np.float64) for column in TARGETS[name]}
    targets = [
        (column, sign, int(np.nanargmax(sign * columns[column])))
        for column in columns
        for sign in (1, -1)
    ]
    rng = np.random.default_rng(20)
    member = np.stack([rng.permutation(np.arange(releases) % 2 == 0) for _ in targets])
    of_row = {
        row: min(i for i, target in enumerate(targets) if target[2] == row) for *_, row in targets
    }
    member = np.stack(
        [member[of_row[row]] for *_, row in targets]
    )  # one record may be the target of two columns
    free = np.setdiff1d(np.arange(len(population)), list(of_row))
    seen: list[list[dict[str, float]]] = [[] for _ in targets]
    worth: dict[str, list[tuple[float, ...]]] = {column: [] for column in columns}
    for i in range(releases):
        inside = [row for row, at in of_row.items() if member[at, i]]
        rows = np.concatenate([rng.choice(free, ROWS - len(inside), replace=False), inside]).astype(
            np.int64
        )
        original = population.take(np.sort(rows))
        synthetic = chaffinch.BayesNet(parents=2).fit(original, seed=i).sample(seed=i).to_arrow()
        released = {column: synthetic[column].to_numpy().astype(np.float64) for column in columns}
        for at, (column, sign, _) in enumerate(targets):
            lines = np.nanquantile(sign * columns[column], [0.95, 0.98, 0.99, 0.995])
            seen[at].append(
                statistics(sign * released[column][np.isfinite(released[column])], lines)
            )
        for column, numbers in released.items():
            worth[column].append(compare(original[column].to_numpy().astype(np.float64), numbers))
    out = []
    for at, (column, sign, row) in enumerate(targets):
        names = list(seen[at][0])
        features = np.array([list(one.values()) for one in seen[at]])
        best, which = strongest(features, member[at], names)
        spread = float(np.nanstd(columns[column]))
        utility = np.array(worth[column])
        values = (
            name,
            column,
            "high" if sign > 0 else "low",
            "tuned on" if name in TUNED_ON else "judged on",
            len(population),
            sign * (columns[column][row] - np.nanmedian(columns[column])) / spread,
            tail,
            releases,
            area(features[member[at], 0], features[~member[at], 0]),
            best,
            which,
            regression(features, member[at]),
            1.0 if tail == "means of ten" else ceiling(len(population), ROWS, UNSEEN + 1),
            *utility[:, :2].mean(axis=0),
            utility[:, 2].mean() / spread,
            np.sqrt((utility[:, 2] ** 2).mean()) / spread,
            utility[:, 3 if sign > 0 else 4].mean() / spread,
        )
        out.append(
            {
                field: f"{x:.4f}" if isinstance(x, float) else x
                for field, x in zip(FIELDS, values, strict=True)
            }
        )
    return out


def compare(original: Numbers, synthetic: Numbers) -> tuple[float, ...]:
    """Return Kolmogorov distance, total variation over even bins, difference of means, and how far each end goes beyond the original's."""
    original, synthetic = original[np.isfinite(original)], synthetic[np.isfinite(synthetic)]
    edges = np.linspace(original.min(), original.max(), 21)
    shares = [
        np.histogram(np.clip(x, edges[0], edges[-1]), edges)[0] / len(x)
        for x in (original, synthetic)
    ]
    return (
        float(ks_2samp(original, synthetic).statistic),
        float(np.abs(shares[0] - shares[1]).sum() / 2),
        float(synthetic.mean() - original.mean()),
        float(synthetic.max() - original.max()),
        float(original.min() - synthetic.min()),
    )


def read_population(path: Path, targets: tuple[str, ...]) -> pa.Table:
    """Return up to 2,000 rows and eight columns of a table: the targets', and the first of the others."""
    table = pq.read_table(path)
    rows = np.sort(np.random.default_rng(0).permutation(len(table))[:POPULATION])
    others = [
        name for name in table.column_names if name not in targets and not name.startswith("__")
    ]
    return table.select([*targets, *others][:COLUMNS]).take(rows)


def main(
    folder: Path,
    *,
    table: tuple[str, ...] = tuple(TARGETS),
    releases: int = 400,
    output: Path = RESULTS,
) -> None:
    warnings.filterwarnings("ignore")
    rows: list[dict[str, object]] = []
    for name in table:
        population = read_population(folder / f"{name}.parquet", TARGETS[name])
        with means_of_ten():
            rows += study(name, population, releases, "means of ten")
        rows += study(name, population, releases, "expected values")
        write_rows(output, rows, FIELDS)
        for row in rows[-4 * len(TARGETS[name]) :]:
            print(*row.values(), flush=True)


if __name__ == "__main__":
    run_study(main)
