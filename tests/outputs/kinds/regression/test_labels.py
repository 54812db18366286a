"""Labels of regressions as numbers: which levels count as what, and what a family cannot have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.cells import Frame
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.kinds.regression.spec import RegressionSpec, label_numbers

FIELDS = Fields(
    (
        Field("word", ("a", "b", "c")),
        Field("truth", (False, True)),
        Field("count", (0, 1, 2)),
        Field("x", (0, 1)),
    )
)


def numbers(**keys: Any) -> list[float]:
    (output,) = recipes_of([{"name": "m", **keys}], FIELDS).outputs
    assert isinstance(output, RegressionSpec)
    frame = Frame(FIELDS, 100)
    return label_numbers(output, frame, output.compiled(frame)).values[:, 0].tolist()


def test_levels_by_family() -> None:
    assert numbers(kind="logit", formula="word ~ x", success="b") == [0.0, 1.0, 0.0]
    assert numbers(kind="probit", formula="truth ~ x") == [0.0, 1.0]
    assert numbers(kind="multinomial", formula="word ~ x", base="b") == [1.0, 0.0, 2.0]
    assert numbers(kind="multinomial", formula="word ~ x", where="word != 'a'") == [0.0, 0.0, 1.0]
    assert numbers(kind="poisson", formula="count ~ x") == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(
        numbers(kind="ols", formula="log(count + 1) ~ x"), np.log([1.0, 2.0, 3.0])
    )
    assert numbers(kind="gamma", formula="count ~ x", where="count > 0") == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kind": "logit", "formula": "word ~ x"}, "say which of them counts as 1"),
        ({"kind": "ols", "formula": "word ~ x"}, "must be a number"),
        ({"kind": "logit", "formula": "count ~ x"}, "must be 0 or 1"),
        ({"kind": "gamma", "formula": "count ~ x"}, "must be above 0"),
        ({"kind": "poisson", "formula": "I(count - 1) ~ x"}, "must be at least 0"),
        ({"kind": "ols", "formula": "log(count) ~ x"}, "no finite number"),
    ],
)
def test_labels_that_a_family_cannot_have(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        numbers(**keys)
