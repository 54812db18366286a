"""Bases of a number in formulas: B-splines, natural splines and polynomials, each several columns of a design.

Formulas write bs(x, df=4), ns(x, knots=c(2, 5), Boundary.knots=c(0, 9)) or poly(x, 2, raw=True) (`basis_call`). The numbers of a basis are of the data:
knots at quantiles and bounds at the ends of what was fitted (`bs`, `ns`), means and norms that make
polynomials orthogonal (`poly`). A basis is either `complete`, with all its numbers given in the formula, or `learnt` from the values of
records, as the program that fitted the formula learnt it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from .._base.arrays import Floats
from .._base.checks import check_name
from .._base.errors import InputError
from .._base.tokens import Reader

MOST_WIDTH = 50
"""The most columns that a basis may have."""
Argument = float | bool | None | tuple[float, ...]
BASES: Mapping[str, tuple[str, ...]] = {
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "ns": ("df", "knots", "include_intercept", "lower_bound", "upper_bound"),
    "poly": ("degree", "raw"),
}
"""The bases of formulas, with what may stand behind their number, in order, as patsy, formulaic and R have it."""
_SAME = {"intercept": "include_intercept"}
_WORDS: dict[str, bool | None] = {
    "True": True,
    "TRUE": True,
    "T": True,
    "False": False,
    "FALSE": False,
    "F": False,
    "None": None,
    "NULL": None,
}


class Basis(Protocol):
    """Some functions of a number."""

    @property
    def width(self) -> int:
        """The number of columns."""

    @property
    def complete(self) -> bool:
        """Whether nothing has to be learnt from data."""

    def learnt(self, values: Floats) -> Self:
        """Return the basis with the numbers that it lacks learnt from values of records; InputError where they do not allow it."""

    def evaluate(self, x: Floats) -> Floats:
        """Return the columns for some numbers, (n, width); nan where the basis is not defined. It must be complete."""


@dataclass(frozen=True)
class Spline:
    """B-splines of a degree without the first of them, as `bs` of R, patsy and formulaic has them.

    Knots that are not given are quantiles of the data, as many as `df` needs; bounds that are not given are its ends.

    Examples
    --------
    Straight lines with a knot at 1:

    >>> Spline(knots=(1.0,), degree=1, lower=0.0, upper=3.0).evaluate(np.array([0.0, 1.0, 2.0, 3.0]))
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    df: int | None = None
    knots: tuple[float, ...] | None = None
    degree: int = 3
    lower: float | None = None
    upper: float | None = None
    clipped: bool = False
    """Whether bounds are the data's: no record is beyond them, and what levels beyond them have
    does not matter.
    """

    def __post_init__(self) -> None:
        lower, upper, knots = self.lower, self.upper, self.knots or ()
        outside = (lower is not None and any(knot < lower for knot in knots)) or (
            upper is not None and any(knot > upper for knot in knots)
        )
        for is_wrong, rule in (
            (
                self.df is not None and self.knots is not None,
                "a spline may have df or knots, not both",
            ),
            (not 0 <= self.degree <= 10, "the degree of a spline must be between 0 and 10"),
            (
                self.n_knots < 0,
                f"the df of this spline must be at least {self.df_without_knots}",
            ),
            (
                not 1 <= self.width <= MOST_WIDTH,
                f"a spline must have between 1 and {MOST_WIDTH} columns",
            ),
            (
                lower is not None and upper is not None and not lower < upper,
                "the lower bound of a spline must be below the upper one",
            ),
            (list(knots) != sorted(knots), "the knots of a spline must rise"),
            (outside, "the knots of a spline must lie between its bounds"),
        ):
            if is_wrong:
                raise InputError(rule)

    @property
    def df_without_knots(self) -> int:
        """The number of columns where there are no inner knots."""
        return self.degree

    @property
    def n_knots(self) -> int:
        """The number of inner knots."""
        if self.knots is not None:
            return len(self.knots)
        return 0 if self.df is None else self.df - self.df_without_knots

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.n_knots + self.df_without_knots

    @property
    def complete(self) -> bool:
        """Whether knots and bounds are given."""
        return (
            self.lower is not None
            and self.upper is not None
            and (self.knots is not None or self.n_knots == 0)
        )

    def learnt(self, values: Floats) -> Self:
        """Return the spline with knots at quantiles of values, and bounds at their ends, where these are not given."""
        if self.complete:
            return self
        _check_values(values)
        lower = float(values.min()) if self.lower is None else self.lower
        upper = float(values.max()) if self.upper is None else self.upper
        within = values[(values >= lower) & (values <= upper)]
        _check_values(within)
        quantiles = np.quantile(within, np.linspace(0.0, 1.0, self.n_knots + 2)[1:-1])
        knots = tuple(float(knot) for knot in quantiles) if self.knots is None else self.knots
        clipped = self.lower is None or self.upper is None
        return replace(self, df=None, knots=knots, lower=lower, upper=upper, clipped=clipped)

    def evaluate(self, x: Floats) -> Floats:
        """Return the columns; nan beyond the bounds."""
        lower, upper = self._bounds
        if self.clipped:
            x = np.clip(x, lower, upper)
        columns = _b_splines(x, self._inner, lower, upper, self.degree)[:, 1:]
        columns[(x < lower) | (x > upper)] = np.nan
        return columns

    @property
    def _inner(self) -> tuple[float, ...]:
        return self.knots or ()

    @property
    def _bounds(self) -> tuple[float, float]:
        assert self.lower is not None
        assert self.upper is not None
        return self.lower, self.upper


@dataclass(frozen=True)
class NaturalSpline(Spline):
    """Cubic splines that are straight beyond their bounds, without a constant, as `ns` of R has them.

    B-splines are taken to the space in which second derivatives at both bounds are 0 by the rotation that R uses (Householder's).
    """

    @property
    def df_without_knots(self) -> int:
        """The number of columns where there are no inner knots."""
        return 1

    def evaluate(self, x: Floats) -> Floats:
        """Return the columns; beyond the bounds straight lines."""
        lower, upper = self._bounds
        ends = np.array([lower, upper])
        bent = _second_derivatives(ends, self._inner, lower, upper)[:, 1:]
        rotation = np.linalg.qr(bent.T, mode="complete")[0][:, 2:]
        inside = np.clip(x, lower, upper)
        columns = _b_splines(inside, self._inner, lower, upper, 3)[:, 1:]
        slopes = _derivatives(ends, self._inner, lower, upper, 3)[:, 1:]
        columns += np.where(x < lower, x - lower, 0.0)[:, None] * slopes[0]
        columns += np.where(x > upper, x - upper, 0.0)[:, None] * slopes[1]
        return np.asarray(columns @ rotation)


@dataclass(frozen=True)
class Polynomial:
    """Powers of a number from 1 to a degree; unless `raw` made orthogonal to a constant and to each other on the data, as `poly` of R and formulaic.

    The recursion is P_{k+1} = (x - centre_k) P_k - norm_k / norm_{k-1} P_{k-1} (Kennedy and Gentle 1980, section 8.4), each divided by the root of its norm.

    Examples
    --------
    >>> Polynomial(2, raw=True).evaluate(np.array([1.0, 3.0]))
    array([[1., 1.],
           [3., 9.]])
    >>> Polynomial(1).learnt(np.array([1.0, 3.0])).evaluate(np.array([1.0, 3.0])).round(4)
    array([[-0.7071],
           [ 0.7071]])
    """

    degree: int
    raw: bool = False
    centres: tuple[float, ...] | None = None
    norms: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.degree <= 20:
            raise InputError("the degree of a polynomial must be between 1 and 20")

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.degree

    @property
    def complete(self) -> bool:
        """Whether nothing has to be learnt."""
        return self.raw or self.norms is not None

    def learnt(self, values: Floats) -> Self:
        """Return the polynomials that are orthogonal on values."""
        if self.complete:
            return self
        _check_values(values)
        if len(np.unique(values)) <= self.degree:
            raise InputError(
                f"a polynomial of degree {self.degree} needs more than {self.degree} different values, which these records do not have"
            )
        centres, norms = list[float](), [float(len(values))]
        before, last = np.zeros_like(values), np.ones_like(values)
        for k in range(self.degree):
            centres.append(float(values @ last**2) / norms[-1])
            ratio = norms[-1] / norms[-2] if k else 0.0
            before, last = last, (values - centres[-1]) * last - ratio * before
            norms.append(float(last @ last))
        return replace(self, centres=tuple(centres), norms=tuple(norms))

    def evaluate(self, x: Floats) -> Floats:
        """Return the columns."""
        if self.raw:
            return x[:, None] ** np.arange(1, self.degree + 1)
        assert self.centres is not None
        assert self.norms is not None
        before, last, columns = np.zeros_like(x), np.ones_like(x), []
        for k, centre in enumerate(self.centres):
            ratio = self.norms[k] / self.norms[k - 1] if k else 0.0
            before, last = last, (x - centre) * last - ratio * before
            columns.append(last / np.sqrt(self.norms[k + 1]))
        return np.stack(columns, axis=1)


def _check_values(values: Floats) -> None:
    if not len(values) or not np.isfinite(values).all() or values.min() == values.max():
        raise InputError(
            "a basis cannot be learnt from these records: they have no two different finite values"
        )


def _b_splines(
    x: Floats, knots: tuple[float, ...], lower: float, upper: float, degree: int
) -> Floats:
    """All B-splines of a degree at some numbers within the bounds, (n, knots + degree + 1), by the recursion of Cox and de Boor."""
    t = np.array([lower] * (degree + 1) + list(knots) + [upper] * (degree + 1))
    last = len(t) - degree - 2  # the last interval, which has its right end too
    columns = np.stack(
        [
            (x >= t[i]) & ((x <= t[i + 1]) if i == last else (x < t[i + 1]))
            for i in range(len(t) - 1)
        ],
        axis=1,
    ).astype(float)
    for d in range(1, degree + 1):
        width = len(t) - d - 1
        gaps = np.where(t[d:] > t[:-d], t[d:] - t[:-d], np.inf)
        rise = (x[:, None] - t[:-d]) / gaps
        fall = np.where(np.isinf(gaps), 0.0, 1.0 - rise)
        columns = (
            rise[:, :width] * columns[:, :width]
            + fall[:, 1 : width + 1] * columns[:, 1 : width + 1]
        )
    return columns


def _derivatives(
    x: Floats, knots: tuple[float, ...], lower: float, upper: float, degree: int
) -> Floats:
    """The first derivatives of all B-splines of a degree."""
    t = np.array([lower] * (degree + 1) + list(knots) + [upper] * (degree + 1))
    below = _lower_degree(_b_splines(x, knots, lower, upper, degree - 1))
    return _differences(below, t, degree)


def _second_derivatives(x: Floats, knots: tuple[float, ...], lower: float, upper: float) -> Floats:
    """The second derivatives of all cubic B-splines."""
    first = _differences(
        _lower_degree(_b_splines(x, knots, lower, upper, 1)),
        np.array([lower] * 3 + list(knots) + [upper] * 3),
        2,
    )
    return _differences(_lower_degree(first), np.array([lower] * 4 + list(knots) + [upper] * 4), 3)


def _lower_degree(columns: Floats) -> Floats:
    """B-splines with one of no width at either end: those of a degree less over the same knots."""
    none = np.zeros((len(columns), 1))
    return np.hstack([none, columns, none])


def _differences(below: Floats, t: Floats, degree: int) -> Floats:
    """Derivatives of B-splines out of those of a degree less: degree (B_i / (t_{i+d} - t_i) - B_{i+1} / (t_{i+d+1} - t_{i+1}))."""
    gaps = t[degree:] - t[:-degree]
    scaled = degree * below / np.where(gaps > 0.0, gaps, np.inf)
    return scaled[:, :-1] - scaled[:, 1:]


def basis_call(name: str, reader: Reader) -> Basis:
    """Return the basis whose arguments follow its number, and go past its bracket; InputError for what it cannot be.

    Examples
    --------
    >>> basis_call("ns", Reader(", knots=c(2, 5), Boundary.knots=c(0, 9))", what="A formula"))
    NaturalSpline(df=None, knots=(2.0, 5.0), degree=3, lower=0.0, upper=9.0, clipped=False)
    """
    given = _arguments(name, reader)
    if given.get("include_intercept"):
        raise InputError(
            "with an intercept of its own it is not supported, since programs differ in which column they then leave out"
        )
    if name == "poly":
        return Polynomial(
            _whole_number(given.get("degree", 1.0), "degree"), raw=given.get("raw") is True
        )
    df, knots = given.get("df"), given.get("knots")
    if isinstance(knots, float):
        knots = (knots,)
    if knots is not None and not isinstance(knots, tuple):
        raise InputError("knots must be a list of numbers")
    lower, upper = (_number(given.get(key), key) for key in ("lower_bound", "upper_bound"))
    n_columns = None if df is None else _whole_number(df, "df")
    if name == "ns":
        return NaturalSpline(n_columns, knots, lower=lower, upper=upper)
    return Spline(n_columns, knots, _whole_number(given.get("degree", 3.0), "degree"), lower, upper)


def _arguments(name: str, reader: Reader) -> dict[str, Argument]:
    keys, given, n_positional = BASES[name], dict[str, Argument](), 0
    while reader.accept(","):
        key = _key(reader)
        if key == "Boundary.knots" and name != "poly":
            bounds = _argument(reader)
            if not isinstance(bounds, tuple) or len(bounds) != 2:
                raise InputError("Boundary.knots must be two numbers")
            given["lower_bound"], given["upper_bound"] = bounds
            continue
        key = _SAME.get(key, key)
        if not key:
            if n_positional >= len(keys):
                raise InputError("it has too many arguments")
            key, n_positional = keys[n_positional], n_positional + 1
        check_name("argument", key, keys)
        if key in given:
            raise InputError(f"it has {key} twice")
        given[key] = _argument(reader)
    reader.expect(")")
    return {key: value for key, value in given.items() if value is not None}


def _key(reader: Reader) -> str:
    """The name of an argument, and go past its sign; empty for one without a name."""
    start = reader.place
    if reader.next.kind != "name" or reader.next.quoted:
        return ""
    key = reader.take().value
    while reader.accept("."):
        key += f".{reader.take().value}"
    if reader.accept("="):
        return key
    reader.place = start
    return ""


def _argument(reader: Reader) -> Argument:
    """A number, a truth value or a list of numbers."""
    if reader.next.kind == "name" and reader.next.value in _WORDS:
        return _WORDS[reader.take().value]
    if reader.accept("c"):
        reader.expect("(")
        return _list(reader, ")")
    if reader.accept("["):
        return _list(reader, "]")
    if reader.accept("("):
        return _list(reader, ")")
    return _read_number(reader)


def _list(reader: Reader, end: str) -> tuple[float, ...]:
    numbers = list[float]()
    while not reader.accept(end):
        numbers.append(_read_number(reader))
        if not reader.ahead(end):
            reader.expect(",")
    return tuple(numbers)


def _read_number(reader: Reader) -> float:
    sign = -1.0 if reader.accept("-") else 1.0
    token = reader.take()
    if token.kind != "number":
        raise InputError("its arguments must be numbers, lists of numbers, True or False")
    return sign * float(token.value)


def _whole_number(value: Argument, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, float) or not value.is_integer():
        raise InputError(f"{key} must be a whole number")
    return int(value)


def _number(value: Argument, key: str) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, float)):
        raise InputError(f"{key} must be a number")
    return value
