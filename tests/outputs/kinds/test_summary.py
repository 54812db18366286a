"""Summaries of a column: the numbers of each group's records, in either form of the file."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.cells import Frame
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.kinds.moments import MomentSpec
from chaffinch.outputs.kinds.quantiles import QuantileSpec

FIELDS = Fields((Field("sex", ("f", "m")), Field("age", (10, 20, 30))))
CODES = np.array([[0, 0], [1, 2], [0, 1], [1, 1], [0, 2]], dtype=np.int32)


@pytest.mark.parametrize(
    "spec",
    [
        MomentSpec(name="s", kind="mean", of="age", by=["sex"]),
        QuantileSpec(name="s", kind="median", of="age", by=["sex"]),
    ],
)
def test_numbers_of_each_group(spec: MomentSpec | QuantileSpec) -> None:
    groups = [x.tolist() for x in spec.by_group(spec.sample(FIELDS, CODES))]
    assert groups == [[10.0, 20.0, 30.0], [30.0, 20.0]]
    within = spec.changed(where="age > 10")
    assert [len(x) for x in within.by_group(within.sample(FIELDS, CODES))] == [2, 2]
    assert (
        spec.numbers,
        spec.changed(value=1.0).numbers,
        spec.changed(values=[1.0, 2.0]).numbers,
    ) == (None, 1.0, [1.0, 2.0])


def test_words_have_no_summary() -> None:
    with pytest.raises(InputError, match="sex"):
        MomentSpec(name="s", kind="mean", of="sex").check_recipe(Frame(FIELDS, 5))
