"""What a published output says about the records: cells that are counted, and sums that must lie in an interval.

Two nouns carry every kind of output. A `CountTable` says how many records fall into each cell of a cross of grouped columns.
A `SumSystem` says what a vector of sums over records must be, or what numbers worked out of such sums must be:

    S = sum over records of  keep(record) * multiplier(record) * terms(record)

where every part is a look-up on codes, made once, so that no design matrix exists. Plain sums have multiplier 1. A regression
published with coefficients b has the score's multiplier at b (`families.py`); a dataset has b as its estimate exactly if S = 0, and
misses it by I^-1 S to first order, I being the information of the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._base.arrays import Floats, Ints
from .._base.checks import check_name
from .._base.errors import InputError
from .domain import Codes, OutputDomain
from .families import FAMILIES, PARTS, FamilyName, Part, multipliers

Reading = Callable[[Floats], tuple[Floats, Floats]]
"""From sums (p,) to the published numbers (q,) and their derivatives by the sums (q, p): a mean, an sd, a correlation."""


def _keys(columns: Sequence[int], sizes: Sequence[int], codes: Codes) -> Ints:
    """The number of each record's combination of levels, last column fastest (C order)."""
    key = np.zeros(len(codes), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        key = key * size + codes[:, column]
    return key


@dataclass(frozen=True, eq=False)
class Lookup:
    """A number, or a few, for each combination of levels of some columns.

    Examples
    --------
    >>> Lookup((1,), (3,), np.array([[0.0], [0.5], [2.0]])).evaluate(np.array([[0, 2], [1, 1]], dtype=np.int32))
    array([[2. ],
           [0.5]])
    """

    columns: tuple[int, ...]
    """Positions of the columns; none for a constant."""
    sizes: tuple[int, ...]
    """The numbers of levels of the columns."""
    values: Floats
    """Shape (combinations, width), combinations in C order."""

    def __post_init__(self) -> None:
        _check_shape("A look-up", self.columns, self.sizes, len(self.values))
        if self.values.ndim != 2 or not np.isfinite(self.values).all():
            raise InputError("The values of a look-up must be a matrix of finite numbers.")

    def evaluate(self, codes: Codes) -> Floats:
        """Return the numbers of each record, (n, width)."""
        return self.values[_keys(self.columns, self.sizes, codes)]


@dataclass(frozen=True, eq=False)
class Terms:
    """The (equation, value) pairs that each combination of levels of some columns adds, in compressed rows.

    Examples
    --------
    A dummy for the second of two levels, as equation 1 of 2:

    >>> terms = Terms.dense((0,), (2,), np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> terms.starts.tolist(), terms.equations.tolist(), terms.values.tolist()
    ([0, 0, 1], [1], [1.0])
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: Ints
    equations: Ints
    values: Floats

    def __post_init__(self) -> None:
        _check_shape("Terms", self.columns, self.sizes, len(self.starts) - 1)
        if not np.isfinite(self.values).all():
            raise InputError("The values of terms must be finite.")

    @classmethod
    def dense(cls, columns: Sequence[int], sizes: Sequence[int], matrix: Floats) -> Terms:
        """Return the terms of a matrix (combinations, equations), zeros left out."""
        rows, equations = np.nonzero(matrix)
        return cls.sparse(
            columns, sizes, rows, equations, np.asarray(matrix[rows, equations], dtype=float)
        )

    @classmethod
    def sparse(
        cls,
        columns: Sequence[int],
        sizes: Sequence[int],
        rows: NDArray[np.integer],
        equations: NDArray[np.integer],
        values: Floats,
    ) -> Terms:
        """Return the terms of entries: the number of a combination, an equation and a value each."""
        order = np.lexsort((equations, rows))
        counts = np.bincount(rows, minlength=int(np.prod(sizes, dtype=np.int64)))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(
            tuple(columns), tuple(sizes), starts, equations[order].astype(np.int64), values[order]
        )

    def keys(self, codes: Codes) -> Ints:
        """Return the number of each record's combination of levels."""
        return _keys(self.columns, self.sizes, codes)

    def times(self, vectors: Floats) -> Lookup:
        """Return terms times vectors (equations, width): with coefficients, this part of the linear predictor."""
        out = np.zeros((len(self.starts) - 1, vectors.shape[1]))
        rows = np.repeat(np.arange(len(out)), np.diff(self.starts))
        np.add.at(out, rows, self.values[:, None] * vectors[self.equations])
        return Lookup(self.columns, self.sizes, out)

    def evaluate(self, codes: Codes, size: int) -> Floats:
        """Return the terms of each record as a dense matrix (n, size); for tests and small tables."""
        return self.times(np.eye(size)).evaluate(codes)


def _check_shape(
    what: str, columns: tuple[int, ...], sizes: tuple[int, ...], combinations: int
) -> None:
    if len(set(columns)) < len(columns) or len(columns) != len(sizes):
        raise InputError(f"{what} must name different columns, and the number of levels of each.")
    if int(np.prod(sizes, dtype=np.int64)) != combinations:
        raise InputError(
            f"{what} must have a row for each of {int(np.prod(sizes))} combinations. Got {combinations}."
        )


@dataclass(frozen=True, eq=False)
class CountTable:
    """A table of counts: how many records fall into each cell of a cross of grouped columns.

    Examples
    --------
    >>> table = CountTable("sex by child", ((0, np.array([0, 1])), (1, np.array([0, 1, 1]))), np.ones(4, int), np.ones(4, int))
    >>> table.counts(np.array([[0, 0], [1, 2], [1, 1]], dtype=np.int32)).tolist()
    [1, 0, 0, 2]
    """

    name: str
    groups: tuple[tuple[int, Ints], ...]
    """For each column its position and, for every level, the group it falls into; -1 where such
    records are filtered out.
    """
    lo: Ints
    """The least count that each cell may have, in C order of the groups: the same as `hi` for an exact count, 1 for a suppressed one, below it for a rounded one."""
    hi: Ints
    """The largest count that each cell may have: threshold - 1 for a suppressed one, above it for a rounded one."""

    def __post_init__(self) -> None:
        columns = [column for column, _ in self.groups]
        if len(set(columns)) < len(columns):
            raise InputError(f"Table '{self.name}' must name each column once.")
        if any((group < -1).any() or group.max(initial=-1) < 0 for _, group in self.groups):
            raise InputError(
                f"Table '{self.name}': the groups of a column are numbered from 0, -1 for levels left out."
            )
        cells = int(np.prod(self.shape, dtype=np.int64))
        if self.lo.shape != (cells,) or self.hi.shape != (cells,):
            raise InputError(f"Table '{self.name}' must have bounds for its {cells} cells.")
        if (self.lo > self.hi).any() or (self.hi < 0).any():
            raise InputError(
                f"Table '{self.name}': the largest count of a cell must be at least 0 and at least the smallest."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each column."""
        return tuple(int(group.max()) + 1 for _, group in self.groups)

    @property
    def columns(self) -> tuple[int, ...]:
        """The positions of the columns it reads."""
        return tuple(column for column, _ in self.groups)

    @property
    def weights(self) -> Floats:
        """One over (published count + 1): errors of a cell, squared, then add up like chi-square."""
        return 1.0 / (
            0.5 * (np.maximum(self.lo, 0) + np.minimum(self.hi, 2 * np.maximum(self.lo, 0) + 100))
            + 1.0
        )

    def cells(self, codes: Codes) -> Ints:
        """Return the cell of each record; -1 for none."""
        key = np.zeros(len(codes), dtype=np.int64)
        inside = np.ones(len(codes), dtype=bool)
        for (column, group), size in zip(self.groups, self.shape, strict=True):
            group_index = group[codes[:, column]]
            inside &= group_index >= 0
            key = key * size + group_index
        return np.where(inside, key, -1)

    def counts(self, codes: Codes) -> Ints:
        """Return the count of each cell."""
        cells = self.cells(codes)
        return np.bincount(cells[cells >= 0], minlength=len(self.lo))


@dataclass(frozen=True, eq=False)
class RegressionModel:
    """The regression part of a system of sums: a family at given coefficients."""

    family: FamilyName
    """The regression family (`families`)."""
    eta: tuple[Lookup, ...]
    """Look-ups that add up to the linear predictor (multinomial: K - 1 of them)."""
    label: Lookup
    """The label's number (multinomial: the class, from 0)."""
    quantity: Part = "score"
    """What is added up (`families`): `score` for the estimating equations."""
    parameter: float = 1.0
    """Alpha of the negative binomial; the dispersion in log-likelihoods."""

    def __post_init__(self) -> None:
        check_name("family", self.family, FAMILIES)
        if self.quantity not in PARTS or (
            self.family == "multinomial" and self.quantity not in ("score", "loglik")
        ):
            raise InputError(f"Family '{self.family}' has no sums of part '{self.quantity}'.")
        widths = {look.values.shape[1] for look in self.eta}
        if (
            len(widths) != 1
            or (widths != {1} and self.family != "multinomial")
            or self.label.values.shape[1] != 1
        ):
            raise InputError(
                f"Family '{self.family}' needs one linear predictor (multinomial: one for each class but the first)."
            )

    @property
    def n_predictors(self) -> int:
        """The number of linear predictors: 1, multinomial K - 1."""
        return self.eta[0].values.shape[1]

    @property
    def width(self) -> int:
        """The number of multipliers of a record: each has its own block of equations."""
        return self.n_predictors if self.quantity == "score" else 1

    def multipliers(self, codes: Codes) -> Floats:
        """Return the multipliers of each record, (n, width)."""
        eta = np.sum([look.evaluate(codes) for look in self.eta], axis=0)
        return multipliers(
            self.family,
            self.quantity,
            eta,
            self.label.evaluate(codes)[:, 0],
            parameter=self.parameter,
        )


@dataclass(frozen=True, eq=False)
class SumSystem:
    """Sums over records, and the intervals that the published numbers made of them must lie in."""

    name: str
    size: int
    """The number of sums p; multinomial scores: K - 1 blocks, where equation j of class k is
    `(k - 1) * p / (K - 1) + j`.
    """
    terms: tuple[Terms, ...]
    """What a record adds, equations 0 to p - 1 (multinomial: 0 to p / (K - 1) - 1, used for every
    class).
    """
    lo: Floats
    """The lower end of the interval of each published number, which belongs to it."""
    hi: Floats
    """The upper end, the same for a number known in full, which is then met to the engine's tolerance. A whole number is best given as itself -+ 0.5."""
    model: RegressionModel | None = None
    """The regression behind the multiplier; None for 1."""
    keep: tuple[Lookup, ...] = ()
    """Filters, 0 or 1 (or weights); a record counts with their product."""
    reported: Literal["sums", "coefficients"] | Reading = "sums"
    """What is published: the `sums`, the `coefficients` of the score's model, or numbers that a
    function reads off the sums. If it has a method `undetermined`, that says which of them are of
    no records at such sums, and so not met whatever the function returns.
    """
    coefficients: Floats | None = None
    """The coefficients at which the model stands, where coefficients are reported."""
    diagonal: bool = False
    """Whether errors are weighed one by one instead of by their covariance: for many sums that
    hardly overlap.
    """

    def __post_init__(self) -> None:
        width = self.model.width if self.model else 1
        if self.size < 1 or self.size % width:
            raise InputError(
                f"Output '{self.name}' must have a whole number of sums for each of {width} linear predictors."
            )
        if any(
            t.equations.size
            and not 0 <= t.equations.min() <= t.equations.max() < self.size // width
            for t in self.terms
        ):
            raise InputError(
                f"Output '{self.name}' has terms for equations outside 0 to {self.size // width - 1}."
            )
        if any(look.values.shape[1] != 1 or (look.values < 0).any() for look in self.keep):
            raise InputError(
                f"The filters of output '{self.name}' must be single numbers of at least 0."
            )
        if self.lo.shape != self.hi.shape or self.lo.ndim != 1 or not (self.lo <= self.hi).all():
            raise InputError(
                f"Output '{self.name}' needs one interval for each number, the lower end first."
            )
        if not callable(self.reported) and self.lo.shape != (self.size,):
            raise InputError(
                f"Output '{self.name}' has {self.size} numbers, but {self.lo.size} intervals."
            )
        if self.reported == "coefficients" and (
            self.model is None
            or self.model.quantity != "score"
            or self.coefficients is None
            or self.coefficients.shape != (self.size,)
        ):
            raise InputError(
                f"Output '{self.name}' reports coefficients: it needs a model's score, and the coefficients."
            )
        if self.diagonal and self.reported != "sums":
            raise InputError(f"Output '{self.name}': only sums can be weighed one by one.")

    @property
    def lookups(self) -> tuple[Lookup | Terms, ...]:
        """Everything that reads codes."""
        model = (*self.model.eta, self.model.label) if self.model else ()
        return (*self.terms, *self.keep, *model)

    @property
    def columns(self) -> tuple[int, ...]:
        """The positions of the columns it reads."""
        return tuple(sorted({column for look in self.lookups for column in look.columns}))

    def contributions(self, codes: Codes) -> Floats:
        """Return what each record adds to the sums, (n, size); dense, so for small tables and as a second opinion."""
        width = self.model.width if self.model else 1
        multiplier = self.model.multipliers(codes) if self.model else np.ones((len(codes), 1))
        for look in self.keep:
            multiplier = multiplier * look.evaluate(codes)
        x = np.zeros((len(codes), self.size // width))
        for terms in self.terms:
            x += terms.evaluate(codes, self.size // width)
        return (multiplier[:, :, None] * x[:, None, :]).reshape(len(codes), self.size)


Output = CountTable | SumSystem


def regression(
    name: str,
    *,
    family: FamilyName,
    terms: Sequence[Terms],
    label: Lookup,
    coefficients: Floats,
    half_widths: Floats | float = 0.0,
    keep: Sequence[Lookup] = (),
    offset: Sequence[Lookup] = (),
    parameter: float = 1.0,
) -> SumSystem:
    """Return a regression as estimating equations at its published coefficients.

    Coefficients are in the order of the design's columns, `terms`; those of a multinomial model (columns, K - 1), as statsmodels prints them,
    its label's class 0 being the base. `half_widths` are half of the last printed digit: 0.00005 for four decimals, 0 for full precision.
    `offset` are fixed parts of the linear predictor, `parameter` alpha of the negative binomial.
    """
    matrix = np.asarray(coefficients, dtype=float)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    flat = matrix.T.ravel()
    half = np.broadcast_to(np.asarray(half_widths, dtype=float), coefficients.shape)
    half = half.T.ravel() if half.ndim == 2 else half
    model = RegressionModel(
        family, (*(t.times(matrix) for t in terms), *offset), label, parameter=parameter
    )
    return SumSystem(
        name,
        flat.size,
        tuple(terms),
        flat - half,
        flat + half,
        model,
        tuple(keep),
        reported="coefficients",
        coefficients=flat,
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """The columns of a dataset and everything that was published about it."""

    domain: OutputDomain
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        names = [output.name for output in self.outputs]
        if not names or len(set(names)) < len(names):
            raise InputError("A problem needs at least one output, all with different names.")
        sizes = self.domain.sizes
        for output in self.outputs:
            if any(not 0 <= column < len(sizes) for column in output.columns):
                raise InputError(
                    f"Output '{output.name}' reads a column beyond the {len(sizes)} of the dataset."
                )
            shapes = (
                [((column,), (len(group),)) for column, group in output.groups]
                if isinstance(output, CountTable)
                else [(look.columns, look.sizes) for look in output.lookups]
            )
            if any(tuple(sizes[c] for c in columns) != levels for columns, levels in shapes):
                raise InputError(
                    f"Output '{output.name}' does not have the columns' numbers of levels."
                )
