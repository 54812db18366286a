"""Utility of tables that stay where they are: what counters alone tell, of a cluster, a database or a file. No record is asked for.

The references are drawn from the original's own counts: cells of as many independent records, and of as many records drawn with replacement, have
multinomial counts, so nothing but the shares of their cells is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from .._base.seeds import Seed, generator
from ..counts.counter import Counter
from ..counts.marginal import Marginal
from ..counts.tally import DENSE_CELLS
from .jensen_shannon import distance_of_shares
from .marginals import Clique, in_runs
from .mu import mu_from
from .phi_k import PhiK, phi_k_of_counts
from .tvd import MOST, chosen_cliques, distance_of

BATCH_CELLS = 1 << 24
"""Cells that one question to a counter has, about."""

SIDES = ("synthetic", "marginals", "resample", "holdout")

Values = dict[str, list[float]]


@dataclass(frozen=True)
class CountedFigure:
    """One measure of all records, 0 where tables are identical: of the synthetic table, of independent columns (`marginals`), of records drawn with replacement
    (`resample`), and of a holdout; None where there is none. `worst_columns`: those of the synthetic table that lie furthest apart; `tables`: how many were compared."""

    name: str
    synthetic: float
    marginals: float
    resample: float
    holdout: float | None
    worst_columns: Clique
    tables: int


@dataclass(frozen=True)
class CountedUtility:
    """What counts tell of a synthetic table's utility. Lower is better everywhere. Holds no record and no count."""

    figures: tuple[CountedFigure, ...]
    left_out: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> CountedFigure:
        """Return the figure of a measure by its name."""
        return next(figure for figure in self.figures if figure.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the version of its form."""
        figures = [
            {**vars(figure), "worst_columns": list(figure.worst_columns)} for figure in self.figures
        ]
        return {
            "format": "chaffinch-counted-utility",
            "version": 1,
            "figures": figures,
            "left_out": self.left_out,
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        lines = [f"{'measure':16}{'synthetic':>10}{'resample':>10}{'holdout':>10}{'marginals':>10}"]
        for figure in self.figures:
            held = "" if figure.holdout is None else f"{figure.holdout:.4f}"
            lines.append(
                f"{figure.name:16}{figure.synthetic:10.4f}{figure.resample:10.4f}{held:>10}{figure.marginals:10.4f}"
            )
        return "\n".join(lines)


def counted_utility(
    original: Counter,
    synthetic: Counter,
    holdout: Counter | None = None,
    *,
    widths: Sequence[int] = (1, 2, 3),
    most: int = MOST,
    seed: Seed = None,
) -> CountedUtility:
    """Return the measures of utility that need counts alone, each between its references: tvd, Jensen-Shannon, phi_k, mu and impossible pairs.

    Counters are of tables under one fitted schema: scan the synthetic table with that of the original (`cs.scan(rows, scanned.schema)`). Numbers are compared
    by bins of the schema. Tables of more than 2^22 cells are left out, and `left_out` says how many. There are no intervals: groups of records are not counted.
    `impossible` is the mean over pairs of columns of the share of records with two values that no original record has together.

    Examples
    --------
    >>> import pyarrow as pa, chaffinch
    >>> first = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50}))
    >>> second = chaffinch.read(pa.table({"a": ["x", "y"] * 50, "b": ["p"] * 50 + ["q"] * 50}), first.schema)
    >>> result = counted_utility(chaffinch.MemoryCounter(first), chaffinch.MemoryCounter(second), widths=(1, 2), seed=1)
    >>> result["tvd.1"].synthetic, result["tvd.2"].synthetic, result["impossible"].synthetic
    (0.0, 0.5, 0.5)
    """
    counters = {
        "original": original,
        "synthetic": synthetic,
        **({} if holdout is None else {"holdout": holdout}),
    }
    _check_alike(counters)
    rng, sizes = (
        generator(seed),
        dict(zip(original.schema.names, original.schema.sizes, strict=True)),
    )
    names = list(sizes)
    ones = {
        name: marginal.dense() / max(original.n_rows, 1)
        for name, marginal in zip(
            names, original.marginals([(name,) for name in names]), strict=True
        )
    }
    figures: list[CountedFigure] = []
    left_out = 0
    for width in widths:
        if width > len(names):
            continue
        cliques = chosen_cliques(names, width, most, rng)
        dense = [
            clique for clique in cliques if prod(sizes[name] for name in clique) <= DENSE_CELLS
        ]
        left_out += len(cliques) - len(dense)
        measured = _Measured(width)
        for batch in (
            in_runs(dense, lambda clique: prod(sizes[name] for name in clique), BATCH_CELLS)
            if dense
            else ()
        ):
            tables = {side: counter.marginals(batch) for side, counter in counters.items()}
            for at, clique in enumerate(batch):
                mine = tables["original"][at]
                measured.add(
                    clique,
                    mine,
                    {
                        **_references(mine, ones, synthetic.n_rows, rng),
                        **{side: every[at] for side, every in tables.items() if side != "original"},
                    },
                )
        figures += measured.figures(names)
    return CountedUtility(
        tuple(figures),
        left_out,
        {
            "widths": list(widths),
            "most": most,
            "bins": "schema",
            "interval": "none: groups of records are not counted",
        },
    )


def _check_alike(counters: Mapping[str, Counter]) -> None:
    shapes = {
        (tuple(counter.schema.names), tuple(counter.schema.sizes)) for counter in counters.values()
    }
    if len(shapes) > 1:
        raise InputError(
            "The tables were coded under different schemas. Scan the synthetic table, and the holdout, under the schema of the original."
        )
    for side, counter in counters.items():
        if not counter.n_rows:
            raise InputError(f"The {side} table has no rows: there is nothing to compare.")


def _references(
    mine: Marginal, ones: Mapping[str, NDArray[np.float64]], n_rows: int, rng: np.random.Generator
) -> dict[str, Marginal]:
    """Counts of as many records with independent columns, and of as many drawn with replacement."""
    counts = mine.dense()
    product = np.ones(())
    for name in mine.columns:
        product = np.multiply.outer(product, ones[name])
    drawn = {}
    for side, shares in (("marginals", product), ("resample", counts / counts.sum())):
        flat = shares.reshape(-1)
        drawn[side] = Marginal(
            mine.columns, mine.sizes, rng.multinomial(n_rows, flat / flat.sum()).reshape(mine.sizes)
        )
    return drawn


class _Measured:
    """Distances of one width, table by table."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.cliques: list[Clique] = []
        self.values: dict[str, Values] = {}
        self.phi: dict[str, list[float]] = {}

    def add(self, clique: Clique, mine: Marginal, others: Mapping[str, Marginal]) -> None:
        self.cliques.append(clique)
        ours = mine.dense()
        for side, marginal in others.items():
            theirs = marginal.dense()
            self._put(
                f"tvd.{self.width}",
                side,
                distance_of(mine, marginal, float(ours.sum()), float(theirs.sum())),
            )
            if self.width == 1:
                self._put(
                    "jensen_shannon",
                    side,
                    float(distance_of_shares(ours / ours.sum(), theirs / theirs.sum())),
                )
            if self.width == 2:
                self._put("impossible", side, float(theirs[ours == 0].sum() / theirs.sum()))
                for name, value in zip(
                    (f"original of {side}", side), _phi_k(ours, theirs), strict=True
                ):
                    self.phi.setdefault(name, []).append(value)

    def _put(self, name: str, side: str, value: float) -> None:
        self.values.setdefault(name, {}).setdefault(side, []).append(value)

    def figures(self, names: Sequence[str]) -> list[CountedFigure]:
        """The means over tables; of pairs also those of their coefficients."""
        every = [
            _figure(
                name,
                {side: float(np.mean(values)) for side, values in sides.items()},
                sides["synthetic"],
                self.cliques,
            )
            for name, sides in self.values.items()
        ]
        if not self.phi:
            return every
        phi, mu, apart = dict[str, float](), dict[str, float](), list[float]()
        for side in self.values["impossible"]:
            differences = np.array(self.phi[side]) - np.array(self.phi[f"original of {side}"])
            defined = differences[np.isfinite(differences)]
            phi[side] = float(np.abs(defined).mean()) if len(defined) else 0.0
            mu[side] = (
                _mu(names, self.cliques, self.phi[f"original of {side}"], self.phi[side])
                if len(defined)
                else 0.0
            )
            if side == "synthetic":
                apart = np.abs(np.where(np.isfinite(differences), differences, 0.0)).tolist()
        return [
            *every,
            _figure("phi_k", phi, apart, self.cliques),
            _figure("mu", mu, apart, self.cliques),
        ]


def _figure(
    name: str, means: Mapping[str, float], apart: Sequence[float], cliques: Sequence[Clique]
) -> CountedFigure:
    worst = cliques[int(np.argmax(apart))] if len(apart) else ()
    return CountedFigure(
        name,
        means["synthetic"],
        means["marginals"],
        means["resample"],
        means.get("holdout"),
        worst,
        len(cliques),
    )


def _phi_k(ours: NDArray[Any], theirs: NDArray[Any]) -> tuple[float, float]:
    """phi_k of both tables on the levels that either has; NaN where fewer than two."""
    both = ours + theirs
    rows, columns = both.sum(axis=1) > 0, both.sum(axis=0) > 0
    if min(rows.sum(), columns.sum()) < 2:
        return float("nan"), float("nan")
    first, second = (phi_k_of_counts(table[rows][:, columns]) for table in (ours, theirs))
    return first, second


def _mu(
    names: Sequence[str], cliques: Sequence[Clique], first: Sequence[float], second: Sequence[float]
) -> float:
    matrices = []
    for values in (first, second):
        matrix = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(matrix, 1.0)
        for (a, b), value in zip(cliques, values, strict=True):
            i, j = names.index(a), names.index(b)
            matrix[i, j] = matrix[j, i] = value
        matrices.append(matrix)
    apart = (matrices[1] - matrices[0])[np.triu_indices(len(names), 1)]
    phi = PhiK(
        value=0.0,
        settings={},
        names=tuple(names),
        original=matrices[0],
        synthetic=matrices[1],
        differences=apart[np.isfinite(apart)],
        without=np.empty((0, 0)),
        worst=(),
    )
    norm = mu_from(phi).value
    assert norm is not None
    return norm
