"""Sources that are drawn where the tables are: independent columns, and sensitive values that know the label alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import chaffinch
from chaffinch.risk.attribution.attack_data import column_coder
from chaffinch.risk.attribution.files import _CodedColumns, _IndependentColumns, _LabelDraws


def test_independent_columns_have_the_shares_of_the_counts():
    """Codes 3, 5 and 9 with counts 1, 2 and 7: each share within 5 standard errors, less than once in a million if right."""
    draw = _IndependentColumns(
        {"a": (np.array([3, 5, 9]), np.cumsum([1, 2, 7])), "b": (np.array([0]), np.cumsum([4]))},
        (1, 2),
    )
    n = 40_000
    rows = draw(0, n)
    for code, share in ((3, 0.1), (5, 0.2), (9, 0.7)):
        assert abs((rows["a"] == code).mean() - share) < 5 * np.sqrt(share * (1 - share) / n)
    assert not rows["b"].any()
    assert (draw(0, 50)["a"] == draw(0, 50)["a"]).all()
    assert (draw(0, 50)["a"] != draw(1, 50)["a"]).any()


def test_sensitive_values_are_drawn_from_records_with_the_same_label():
    """With label x everybody has 0; with y three of four have 1: 5 standard errors of 4,000 rows."""
    table = chaffinch.read(
        pa.table(
            {
                "label": ["x", "y"] * 4000,
                "key": ["k", "l", "m", "n"] * 2000,
                "ill": ["no", "yes"] * 4000,
            }
        ),
        rare="keep",
    )
    coders = {
        name: column_coder([table], name, people=[0], numeric="values", rare="keep", width=None)
        for name in ("key", "ill")
    }
    values, counts = np.array([0, 0, 1]), np.array([40, 10, 30])  # (x, 0), (y, 0), (y, 1)
    by_label = {"ill": (values, np.cumsum(counts), np.array([0, 40]), np.array([40, 40]))}
    codes = _LabelDraws("label", _CodedColumns(coders), by_label, (5,))(table, 17)
    label = table.code("label")
    assert not codes["ill"][label == 0].any()
    assert abs(codes["ill"][label == 1].mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 4000)
    assert (codes["key"] == coders["key"].code(table)).all()
