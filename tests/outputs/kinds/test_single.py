"""Outputs of a few single numbers: a toy one, with a p-value and a whole number."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.cells import Frame
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.kinds.base import ROWS, Sample
from chaffinch.outputs.kinds.single import Single, SingleNumbers
from chaffinch.outputs.rules.findings import Finding
from chaffinch.outputs.rules.policy import Policy
from chaffinch.outputs.rules.tallies import OutputTally, Tallier

FIELDS = Fields((Field("sex", ("f", "m")),))


class Toy(SingleNumbers):
    """The share of women; a p-value that is a hundredth of it; the number of women."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("share", "p_value", "women")
    BESIDE: ClassVar[tuple[str, ...]] = ("p_value", "women", "n")
    REQUIRED: ClassVar[tuple[str, ...]] = ("share",)
    WORDS: ClassVar[dict[str, str]] = {"share": "the share", "p_value": "the p-value"}
    LACK: ClassVar[str] = "there is nobody"

    kind: Literal["toy"] = "toy"
    share: Any = None
    p_value: Any = None
    women: int | None = None
    p_below: float | None = None

    def singles(self, sample: Sample) -> dict[str, Single]:
        women = int((sample.inside[:, 0] == 0).sum())
        share = women / len(sample.inside) if len(sample.inside) else math.nan
        return {"share": Single(share, 0.1), "p_value": Single(share / 100), "women": Single(women)}

    def tallies(self, tallier: Tallier) -> list[OutputTally]:
        return tallier.n()

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        return []


def records(women: int, men: int) -> Any:
    return np.repeat([[0], [1]], [women, men], axis=0).astype(np.int32)


def test_numbers_that_are_published_are_computed() -> None:
    assert Toy(name="t").computed(FIELDS, records(3, 1)).to_dict() == {
        "name": "t",
        "kind": "toy",
        "share": 0.75,
    }
    full = Toy.model_validate({"name": "t", "p_value": True, "women": True, "decimals": 2})
    assert full.computed(FIELDS, records(3, 1)).to_dict() == {
        "name": "t",
        "kind": "toy",
        "decimals": 2,
        "share": 0.75,
        "p_value": 0.01,
        "women": 3,
    }
    with pytest.raises(InputError, match="'t' cannot be computed on the data: there is nobody"):
        full.computed(FIELDS, records(0, 0))


def test_a_small_p_value_stays_a_bound() -> None:
    toy = Toy(name="t", share="0.75", p_value="<0.005", women=3)
    assert toy.intervals()["p_value"] == pytest.approx((0.0, 0.005))
    recipe = toy.without_numbers(Frame(FIELDS, ROWS))
    assert recipe.p_below == pytest.approx(0.005)
    assert (recipe.has_numbers, recipe.filled(Frame(FIELDS, 4)).share) == (False, 1.0)
    assert recipe.computed(FIELDS, records(1, 3)).to_dict()["p_value"] == "<0.005"
    assert recipe.computed(FIELDS, records(3, 1)).to_dict()["p_value"] == 0.0075


def test_published_numbers_beside_those_of_records() -> None:
    toy = Toy(name="t", share="0.75", women=3)
    numbers = list(toy.recomputed(toy.sample(FIELDS, records(2, 2))))
    assert [(one.name, one.value, one.unit, one.within()) for one in numbers] == [
        ("share", 0.5, 0.1, False),
        ("women", 2.0, 0.0, False),
    ]
    assert all(one.within() for one in toy.recomputed(toy.sample(FIELDS, records(3, 1))))
    assert [part.key for part in toy.printed_numbers(Frame(FIELDS, 4))] == ["share"]
