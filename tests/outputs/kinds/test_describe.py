"""Summaries as `describe()` prints them: pandas' numbers, all records and by groups; ends that are one person's value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, check_entries

FIELDS = OutputDomain((OutputColumn("g", ("a", "b")), OutputColumn("x", tuple(range(40)))))
ENTRY: dict[str, Any] = {"name": "d", "kind": "describe", "of": "x"}


def test_numbers_are_those_of_pandas(cmc: Any, agrees: Any, check: Any) -> None:
    told = cmc.frame["wife_age"].describe()
    wanted = {
        "n": int(told["count"]),
        "mean": told["mean"],
        "sd": told["std"],
        "quantiles": told[["min", "25%", "50%", "75%", "max"]].tolist(),
    }
    agrees(cmc, {"kind": "describe", "of": "wife_age"}, wanted)
    told = cmc.frame.groupby("contraceptive_method", observed=True)["wife_age"].describe(
        percentiles=[0.1, 0.9]
    )
    at = {"at": [0, 0.1, 0.9, 1.0], "by": ["contraceptive_method"]}
    wanted = {
        "counts": told["count"].tolist(),
        "mean": told["mean"].tolist(),
        "sd": told["std"].tolist(),
    }
    quantiles = {"quantiles": told[["min", "10%", "90%", "max"]].to_numpy().tolist()}
    computed = agrees(cmc, {"kind": "describe", "of": "wife_age", **at}, {**wanted, **quantiles})
    assert set(check(computed, cmc.shuffled("wife_age"))) > {"o0: mean", "o0: sd"}


def test_without_a_word_everything_is_published_that_pandas_prints() -> None:
    codes = np.array([[k % 2, k % 40] for k in range(80)], dtype=np.int32)
    one, two = (
        recipes_of([ENTRY, {**ENTRY, "name": "e", "by": ["g"]}], FIELDS).computed(codes).outputs
    )
    assert list(one.to_dict()) == ["name", "kind", "n", "of", "mean", "sd", "quantiles"]
    assert list(two.to_dict()) == ["name", "kind", "of", "by", "counts", "mean", "sd", "quantiles"]
    with pytest.raises(InputError, match="cannot have counts"):
        recipes_of([{**ENTRY, "counts": True}], FIELDS)


def test_a_quantile_between_two_values_brings_its_n() -> None:
    codes = np.array([[k % 2, 3 * (k % 2) + 2 * (k % 4 == 3)] for k in range(40)], dtype=np.int32)
    computed = recipes_of(
        [{**ENTRY, "at": [0.5], "quantiles": True, "where": "g == 'b'"}], FIELDS
    ).computed(codes)
    assert computed.outputs[0].to_dict()["quantiles"] == [4.0]
    assert computed.problem(40).outputs


def test_ends_are_one_persons_value() -> None:
    codes = np.array([[0, 5 + k % 20] for k in range(400)] + [[0, 39]], dtype=np.int32)
    found = {
        one.rule: one
        for one in check_entries([ENTRY], FIELDS, codes, Policy())
        if one.status == "fail"
    }
    assert found["ends"].where == ("cells at 1",)
    without = {**ENTRY, "at": [0.25, 0.5, 0.75]}
    assert {one.status for one in check_entries([without], FIELDS, codes, Policy())} == {"pass"}
    # Ends that many share are no one's.
    shared = np.array([[0, 5 + k % 20] for k in range(400)], dtype=np.int32)
    assert check_entries([ENTRY], FIELDS, shared, Policy()).worst == "pass"


def test_a_dataset_evolves_from_a_summary(evolved: Any) -> None:
    rng = np.random.default_rng(4)
    codes = np.column_stack(
        [rng.integers(0, 2, 120), np.clip(rng.normal(20, 6, 120).round(), 0, 39)]
    ).astype(np.int32)
    published = recipes_of([{**ENTRY, "digits": {"mean": 2, "sd": 2}}], FIELDS).computed(codes)
    evolved(published, proposals=200_000)
