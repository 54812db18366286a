"""Regressions on records: coefficients by hand, and the names of those that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.fields import Field, Fields

FIELDS = Fields(
    (
        Field("y", ("no", "yes")),
        Field("the area", ("n", "s", "e"), common=frozenset("ns")),
        Field("age", (0, 1, 2, 3, 4)),
    )
)


def computed(entry: dict[str, Any], rows: list[tuple[str, str, int]]) -> dict[str, Any]:
    codes = FIELDS.codes({name: list(values) for name, values in zip(FIELDS.names, zip(*rows, strict=True), strict=True)})
    return recipes_of([{"name": "o", **entry}], FIELDS).entries(codes)[0]


def test_group_means_are_coefficients() -> None:
    """Ages 1, 3 in n and 4, 4 in s: 2, and 2 more."""
    pytest.importorskip("statsmodels")
    rows = [("no", "n", 1), ("yes", "n", 3), ("no", "s", 4), ("yes", "s", 4)]
    entry = {"kind": "ols", "formula": "age ~ Q('the area')", "where": "`the area` != 'e'"}
    numbers = computed(entry, rows)["coefficients"]
    assert list(numbers) == ["Intercept", "Q('the area')[T.s]"]
    np.testing.assert_allclose([float(number) for number in numbers.values()], [2.0, 2.0], atol=1e-6)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("age ~ `the area`", r"no record is behind coefficient '`the area`\[T.…\]' \(a level of column 'the area'\)"),
        ("age ~ `the area`*y", r"behind coefficient '`the area`\[T.…\]' \(a level of column 'the area'\)"),
        ("age ~ y:`the area` - 1", r"y\[…\]:`the area`\[…\]' \(a level of column 'y' with a level of column 'the area'\)"),
        ("age ~ C(`the area`, Treatment('e'))", "a level of column 'the area' has no records, so coefficient"),
    ],
)  # fmt: skip
def test_a_coefficient_without_records_is_named_by_its_levels(formula: str, message: str) -> None:
    pytest.importorskip("statsmodels")
    rows = [("no", "n", 1), ("yes", "n", 3), ("no", "s", 4), ("yes", "s", 2), ("yes", "s", 0)] * 4
    with pytest.raises(InputError, match=message):
        computed({"kind": "ols", "formula": formula}, rows)
