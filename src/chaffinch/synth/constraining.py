"""Codes of drawn rows that keep the rules of the schema: what breaks one is drawn again, from where it went wrong.

A model that often breaks them is first brought onto them (`projecting`). For the rest, and where values are given or kept: columns are
drawn in the order of the model. The first one after which no allowed combination can be reached is drawn again given those before
it, with all that follow: that is drawing from the model's conditional distributions with zeros where the constraints have them, so the columns
before keep their distribution. Where a model puts next to nothing on what is allowed, the nearest allowed combination stands in.
Constraints are public, and the rest is done to drawn rows: nothing is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InputError
from ..table.rules.constraints import AllowedCodes
from ..table.rules.keep import function_of_counts
from ..table.rules.relations import Function, relations_of
from ..table.schema import FunctionMap, Schema
from .projecting import PILOT_ROWS, Draw, projected_rows

if TYPE_CHECKING:
    from .model import FittedModel


TRIES = 50
"""How often a row is drawn again before the nearest allowed combination stands in."""

Codes = dict[str, NDArray[np.uint32]]
Redraw = Callable[[int, np.random.Generator, Codes], Mapping[str, NDArray[np.uint32]]]


def keep_constraints(
    model: FittedModel,
    codes: Mapping[str, NDArray[np.uint32]],
    rng: np.random.Generator,
    *,
    evidence: Any = None,
    fixed: Sequence[str] = (),
) -> Mapping[str, NDArray[np.uint32]]:
    """Return codes of drawn rows that keep the constraints of the model's schema; as they are where there are none.

    `evidence` draws rows that have given values: rows are drawn again whole. `fixed` columns stay as they are, also where they
    break a constraint by themselves.
    """
    groups = (*model.allowed, *model.related)
    if not groups:
        return codes
    functions, schema = model.functions, model.schema
    if evidence is not None:
        given = tuple(evidence.codes)
        codes = mapped(codes, functions, schema, given)
        return keeping(
            codes,
            groups,
            rng,
            lambda n, rng, _: mapped(evidence.draw(n, rng), functions, schema, given),
            fixed=given,
        )
    order = model.drawing_order
    projected = model.allowed or model.privacy is not None
    if not fixed and projected and model.projection is not None:
        codes = projected_rows(
            model.projection, codes, len(next(iter(codes.values()))), rng, model.draw_codes
        )

    def redraw(n: int, rng: np.random.Generator, before: Codes) -> Mapping[str, NDArray[np.uint32]]:
        drawn = model.draw_codes(n, rng, before) if order else model.draw_codes(n, rng)  # type: ignore[call-arg]
        return mapped(drawn, functions, schema, tuple(before))

    return keeping(
        mapped(codes, functions, schema, fixed), groups, rng, redraw, order=order, fixed=fixed
    )


def mapped(
    codes: Mapping[str, NDArray[np.uint32]],
    functions: Sequence[FunctionMap],
    schema: Schema,
    fixed: Sequence[str] = (),
) -> Mapping[str, NDArray[np.uint32]]:
    """Return codes in which columns that others determine have the code that goes with theirs, where both are present and the column is not fixed."""
    out = dict(codes)
    for _ in functions:  # one may determine the left side of another
        moved = False
        for function in functions:
            if function.right in fixed or not function.codes:
                continue
            left, right = out[function.left], out[function.right]
            images = np.array(function.codes, dtype=np.int64)[
                np.minimum(left, len(function.codes) - 1)
            ]
            change = (
                (left < len(function.codes))
                & (right < schema[function.right].fitted_codec.n_values)
                & (images != right)
            )
            if change.any():
                out[function.right] = np.where(change, images, right).astype(right.dtype)
                moved = True
        if not moved:
            break
    return out


def functions_of(schema: Schema, draw: Draw) -> tuple[FunctionMap, ...]:
    """Return what the functions among a schema's rules map to; what was not fitted comes from rows that the model draws: nothing is charged."""
    fitted = {(function.left, function.right): function for function in schema.functions}
    wanted = [relation for relation in relations_of(schema) if isinstance(relation, Function)]
    open_ones = [relation for relation in wanted if relation.columns not in fitted]
    if open_ones:
        codes = draw(PILOT_ROWS, np.random.default_rng(0))
        for relation in open_ones:
            sizes = schema[relation.left].size, schema[relation.right].size
            cells = codes[relation.left].astype(np.int64) * sizes[1] + codes[relation.right]
            counts = np.bincount(cells, minlength=sizes[0] * sizes[1]).reshape(sizes)
            fitted[relation.left, relation.right] = function_of_counts(
                relation, schema, counts, lambda _left, _right: None
            )
    return tuple(fitted[relation.left, relation.right] for relation in wanted)


def keeping(
    codes: Mapping[str, NDArray[np.uint32]],
    groups: Sequence[AllowedCodes],
    rng: np.random.Generator,
    redraw: Redraw,
    *,
    order: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> Codes:
    """Return codes that keep the groups' constraints. `redraw(n, rng, before)` draws rows given codes of the columns before some place of the order.

    Without an order whole rows are drawn again, which is drawing from the model given that the constraints hold.
    """
    out = {name: np.array(column) for name, column in codes.items()}
    orders = [_Group(group, order, fixed) for group in groups]
    names = list(order) or list(out)
    for _ in range(TRIES):
        first = np.full(len(next(iter(out.values()))), len(names), dtype=np.int64)
        for group in orders:
            np.minimum(first, group.first_wrong(out), out=first)
        if (first == len(names)).all():
            return out
        for place in np.unique(first[first < len(names)]).tolist():
            rows = np.flatnonzero(first == place)
            before = (
                {name: out[name][rows] for name in out if name in fixed or name in names[:place]}
                if order
                else {}
            )
            again = redraw(len(rows), rng, before)
            for name in set(out) - set(before) - set(fixed):
                out[name][rows] = again[name]
    for group in orders:
        group.repair(out)
    return out


class _Group:
    """Columns that constraints tie together in the order in which they are drawn, fixed ones first."""

    def __init__(self, group: AllowedCodes, order: Sequence[str], fixed: Sequence[str]) -> None:
        places = {name: place for place, name in enumerate(order)}
        self.columns = sorted(
            group.columns, key=lambda name: (name not in fixed, places.get(name, 0))
        )
        self.free = [name not in fixed for name in self.columns]
        self.places = [places.get(name, 0) for name in self.columns]
        self.allowed = group.allowed.transpose([group.columns.index(name) for name in self.columns])
        n = len(self.columns)
        self.reachable = [
            np.asarray(self.allowed.any(axis=tuple(range(k + 1, n)))) for k in range(n)
        ]
        self.last = len(order) or len(group.columns)
        self.whole_rows = not order

    def first_wrong(self, codes: Codes) -> NDArray[np.int64]:
        """The place of the column to draw again, for each row; behind the last one where the row is right, or cannot be helped."""
        index = tuple(codes[name] for name in self.columns)
        none = len(codes) if self.whole_rows else self.last
        out = np.full(len(index[0]), none, dtype=np.int64)
        for k in reversed(range(len(self.columns))):
            wrong = ~self.reachable[k][index[: k + 1]]
            out[wrong] = (0 if self.whole_rows else self.places[k]) if self.free[k] else none
        return out

    def repair(self, codes: Codes) -> None:
        """Put the nearest allowed combination in the place of what is still wrong: as few columns as can be, the last ones first."""
        index = np.stack([codes[name].astype(np.int64) for name in self.columns])
        wrong = np.flatnonzero(~self.allowed[tuple(index)])
        if not len(wrong):
            return
        cells = np.argwhere(self.allowed)
        n = len(self.columns)
        weights = np.array(
            [1.0 + (n - k) / (2 * n * n) for k in range(n)]
        )  # fewest columns first; of as many, later ones
        distances = np.array([1e-3 / (n * max(size, 1)) for size in self.allowed.shape])
        combinations, which = np.unique(index[:, wrong], axis=1, return_inverse=True)
        for i, row in enumerate(combinations.T):
            apart = cells != row
            price = apart @ weights + np.abs(cells - row) @ distances
            price[(apart & ~np.array(self.free)).any(axis=1)] = np.inf
            best = int(price.argmin())
            if np.isfinite(price[best]):
                for k, name in enumerate(self.columns):
                    codes[name][wrong[which == i]] = cells[best, k]


def check_given(groups: Sequence[AllowedCodes], given: Mapping[str, int]) -> None:
    """Raise if no row with given codes keeps the constraints."""
    for group in groups:
        index = tuple(given.get(name, slice(None)) for name in group.columns)
        if not np.any(group.allowed[index]):
            named = " and ".join(f"'{text}'" for text in group.texts[:3])
            raise InputError(
                f"The given values break what the schema says of all records: {named}. Give others."
            )
