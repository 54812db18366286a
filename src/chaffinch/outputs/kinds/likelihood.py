"""Models whose likelihood is a sum over records, as equations: one step of Newton's from the published parameters.

With s, J and l the score, the observed information and the log-likelihood of all records at published parameters b, records have the estimate
b + J^-1 s to first order, standard errors sqrt(diag J^-1) and the log-likelihood l + s' J^-1 s / 2. All three are sums over records, each a
look-up on the joint levels of the columns that the model reads; so a model needs no kernel of its own, and few enough joint levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..columns import Floats
from ..crossing import Frame
from ..equations import Lookup, Terms
from ..fields import Fields
from ..formula import Formula
from .model import design_of

MOST_NUMBERS = 4_000_000
"""The most numbers that the look-up of a model may have."""


def joint_columns(formula: Formula, *more: int) -> tuple[int, ...]:
    """Return the columns that a model reads, in order: those of its formula's right-hand side, and more."""
    looks: list[Lookup | Terms] = [*formula.terms, *formula.offsets]
    return tuple(sorted({*more, *(column for look in looks for column in look.columns)}))


@dataclass(frozen=True, eq=False)
class JointLevels:
    """Every combination of levels of some columns, with the design and the offset of each."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    codes: NDArray[np.int32]
    x: Floats
    offset: Floats

    @classmethod
    def of(cls, formula: Formula, frame: Frame, columns: tuple[int, ...]) -> JointLevels:
        """Return the combinations of the levels of columns, as `joint_columns` gives them."""
        fields = frame.fields
        sizes, grid = fields.sizes(columns), fields.grid(columns)
        codes = np.zeros((int(np.prod(sizes, dtype=np.int64)), len(fields)), dtype=np.int32)
        for column in columns:
            codes[:, column] = grid[column]
        return cls(columns, sizes, codes, *design_of(formula, codes))

    @staticmethod
    def too_many(fields: Fields, columns: tuple[int, ...], numbers: int) -> str:
        """Return that the columns of a model have too many combinations of levels, each with so many numbers; nothing where they do not."""
        if int(np.prod([float(size) for size in fields.sizes(columns)])) * numbers <= MOST_NUMBERS:
            return ""
        return "its columns together have too many combinations of levels; use coarser grids"

    def terms(self, numbers: Floats) -> Terms:
        """Return numbers of each combination, one column for each sum, as terms."""
        return Terms.dense(self.columns, self.sizes, numbers)


def upper(matrices: Floats) -> Floats:
    """Return the upper triangles, row by row, of symmetric matrices (n, p, p) as (n, p (p + 1) / 2)."""
    rows, columns = np.triu_indices(matrices.shape[1])
    return matrices[:, rows, columns]


def symmetric(sums: Floats, size: int) -> Floats:
    """Return a symmetric matrix of its upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = sums
    return matrix + np.triu(matrix, 1).T


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of an information; of a near-singular one with a small ridge."""
    root = np.sqrt(
        np.maximum(np.diag(matrix), 1e-12 * max(float(np.diag(matrix).max(initial=0.0)), 1e-300))
    )
    unit = matrix / np.outer(root, root)
    if not np.linalg.cond(unit) < 1e13:
        unit = unit + 1e-9 * np.eye(len(unit))
    result: Floats = np.linalg.inv(unit) / np.outer(root, root)
    return 0.5 * (result + result.T)


class OneStep:
    """Parameters, standard errors of some and the log-likelihood, out of sums of the score, the information's upper triangle and the log-likelihood.

    `at` are the published parameters, `keys` those whose standard errors are published, `loglik` whether the log-likelihood is.
    """

    def __init__(self, at: Floats, keys: list[int], *, loglik: bool) -> None:
        self.at, self.keys, self.loglik = at, keys, loglik

    @property
    def size(self) -> int:
        """The number of sums."""
        p = len(self.at)
        return p + p * (p + 1) // 2 + 1

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return whether the information is singular, so that there is no estimate: of all numbers or none."""
        p = len(self.at)
        information = symmetric(sums[p:-1], p)
        root = np.sqrt(np.maximum(np.diag(information), 1e-300))
        sizes = np.linalg.eigvalsh(information / np.outer(root, root))
        return np.full(p + len(self.keys) + self.loglik, bool(sizes[0] < 1e-8))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by the sums."""
        p = len(self.at)
        score, inner = sums[:p], inverse(symmetric(sums[p:-1], p))
        step = inner @ score
        rows, columns = np.triu_indices(p)
        twice = np.where(rows == columns, 0.5, 1.0)
        values, slopes = (
            [*(self.at + step)],
            np.zeros((p + len(self.keys) + self.loglik, len(sums))),
        )
        slopes[:p, :p] = inner
        slopes[:p, p:-1] = -twice * (
            inner[:, rows] * step[columns] + inner[:, columns] * step[rows]
        )
        for place, key in enumerate(self.keys, p):
            error = float(np.sqrt(max(inner[key, key], 1e-300)))
            values.append(error)
            slopes[place, p:-1] = -twice * inner[key, rows] * inner[key, columns] / error
        if self.loglik:
            values.append(float(sums[-1] + 0.5 * score @ step))
            slopes[-1, :p], slopes[-1, p:-1], slopes[-1, -1] = (
                step,
                -twice * step[rows] * step[columns],
                1.0,
            )
        return np.array(values), slopes
