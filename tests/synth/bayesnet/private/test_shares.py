"""The shares of a budget: they add up, and no other parts make the errors smaller."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.privacy.relation import Unit
from chaffinch.synth.bayesnet.private.shares import (
    ONLY_COLUMNS,
    ONLY_COLUMNS_PURE,
    Wants,
    column_error,
    parts_of,
    shares_of,
    std_of,
)

ADD = Unit("add-remove")


@pytest.mark.parametrize("pure", [True, False])
def test_parts_make_the_errors_smallest(pure):
    cells = [2, 5, 40]
    best = parts_of(cells, pure=pure)
    assert best.sum() == pytest.approx(1.0)

    def error(parts):
        return sum(c * std_of(float(p), ADD, pure=pure) for c, p in zip(cells, parts, strict=True))

    rng = np.random.default_rng(1)
    for _ in range(200):
        other = best * np.exp(rng.normal(scale=0.1, size=3))
        assert error(best) <= error(other / other.sum()) * (1 + 1e-12)


LOOK = Wants(links=False, distances=True, triples=True)
MUST = Wants(links=True, distances=True, triples=True)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("rows", [0, 10, 10_000])
def test_shares_add_up(pure, rows):
    shares = shares_of(2.0, (3, 4, 5), rows, ADD, pure=pure, wants=MUST)
    assert shares.margins + shares.distances + shares.triples + shares.tables == pytest.approx(2.0)
    assert min(shares.margins, shares.distances, shares.triples, shares.tables) > 0
    alone = shares_of(2.0, (3,), rows, ADD, pure=pure, wants=MUST)
    assert (alone.margins, alone.tables) == (2.0, 0.0)


def test_fewer_rows_put_more_into_single_columns():
    few, many = (shares_of(1.0, (5, 5), n, ADD, pure=True, wants=MUST) for n in (50, 50_000))
    assert few.margins > many.margins


@pytest.mark.parametrize(("pure", "limit"), [(True, ONLY_COLUMNS_PURE), (False, ONLY_COLUMNS)])
def test_links_are_not_looked_for_where_single_columns_would_be_noise(pure, limit):
    """The mean error of columns of 4 levels that share an amount of 1 evenly: 0.4 x 4 x sigma / n."""
    sigma = 2**0.5 * 2 if pure else 1.0  # at epsilon 1/2, and at rho 1/2
    rows = 0.4 * 4 * sigma / limit
    assert column_error(1.0, (4, 4), int(rows), ADD, pure=pure) == pytest.approx(limit, rel=0.2)
    lost, enough = (
        shares_of(1.0, (4, 4), int(rows * more), ADD, pure=pure, wants=LOOK) for more in (0.5, 2.0)
    )
    assert (lost.margins, lost.distances, lost.tables) == (1.0, 0.0, 0.0)
    assert enough.distances > 0
    assert shares_of(1.0, (4, 4), int(rows * 0.5), ADD, pure=pure, wants=MUST).tables > 0
