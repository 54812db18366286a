"""Rows to hold a synthetic table against."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

import chaffinch
from chaffinch.risk.attribution.attack_data import LABEL, key_schema
from chaffinch.stats.references import DrawIndependentCodes, RedrawByLabel, codes_by_label
from chaffinch.table.codes import Codes


def test_independent_columns_have_the_shares_of_the_counts(monkeypatch):
    """Codes 3, 5 and 9 with counts 1, 2 and 7: each share within 5 standard errors, less than once in a million if right."""
    columns = {
        "a": (np.array([3, 5, 9]), np.cumsum([1, 2, 7])),
        "b": (np.array([0]), np.cumsum([4])),
    }
    n = 40_000
    draw = DrawIndependentCodes(
        columns, {"a": 0, "b": 1}, key_schema({"a": 10, "b": 1}), n, ((1,), (2,))
    )
    rows = draw(0)
    for code, share in ((3, 0.1), (5, 0.2), (9, 0.7)):
        assert abs((rows.code("a") == code).mean() - share) < 5 * np.sqrt(share * (1 - share) / n)
    assert not rows.code("b").any()
    alone = replace(draw, schema=key_schema({"a": 10}))  # a column's draws are its own
    np.testing.assert_array_equal(alone(0).code("a"), rows.code("a"))


def test_sensitive_values_are_drawn_from_records_with_the_same_label():
    """With label 0 everybody has 0; with 1 three of four have 1: 5 standard errors of 4,000 rows."""
    schema = key_schema({"key": 4, "ill": 2, LABEL: 2})
    labels, keys = np.tile([0, 1], 4000), np.tile([0, 1, 2, 3], 2000)
    chunk = chaffinch.Table(
        schema, pa.table({}), Codes.from_columns([keys, labels, labels], schema.sizes)
    )
    cells = np.array([[0, 0], [1, 0], [1, 1]])
    by_label = codes_by_label(cells, np.array([40, 10, 30]), 2)
    redrawn = RedrawByLabel(LABEL, {"ill": by_label}, {"ill": 5}, ((17,), ()))(chunk)
    assert not redrawn.code("ill")[labels == 0].any()
    assert abs(redrawn.code("ill")[labels == 1].mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 4000)
    assert (redrawn.code("key") == keys).all()
