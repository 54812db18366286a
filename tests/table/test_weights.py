"""Survey weights in tables."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table import weights as module
from chaffinch.table.weights import (
    effective_rows,
    weight_sums,
    with_constant_weight,
    with_weight,
    without_weight,
)


def survey(n: int = 400, seed: int = 0) -> pa.Table:
    """Half of the records are men, who stand for a quarter of the people."""
    rng = np.random.default_rng(seed)
    sex = np.array(["f", "m"])[np.arange(n) % 2]
    ill = np.where(rng.random(n) < np.where(sex == "f", 0.6, 0.2), "yes", "no")
    return pa.table({"sex": sex, "ill": ill, "w": np.where(sex == "f", 30.0, 10.0)})


def test_one_code_that_stands_for_the_mean():
    table = with_constant_weight(with_weight(chaffinch.read(survey()), "w"))
    assert table.schema["w"].codec.atoms.tolist() == [20.0]
    assert set(table.code("w")) == {0}
    assert (table.weights("w") == survey()["w"].to_numpy()).all()


def test_whole_weights_stay_whole():
    values = survey().set_column(2, "w", pa.array(np.where(np.arange(400) % 3 == 0, 3, 1)))
    codec = with_constant_weight(with_weight(chaffinch.read(values), "w")).schema["w"].codec
    assert codec.integral
    assert codec.atoms.tolist() == [2]


@pytest.mark.parametrize("weights", [[-1.0], [np.nan], [np.inf]])
def test_what_is_no_weight_is_refused(weights):
    values = survey().set_column(2, "w", pa.array(weights * 400))
    schema = chaffinch.read(survey()).schema
    from dataclasses import replace

    loose = replace(schema, columns=tuple(replace(c, codec=None, nullable=True) for c in schema))
    with pytest.raises(chaffinch.errors.ChaffinchError, match=r"infinite|cannot be a weight"):
        with_weight(chaffinch.read(values, loose), "w")


def test_weights_of_nothing_are_refused():
    table = with_weight(chaffinch.read(survey().set_column(2, "w", pa.array([0.0] * 400))), "w")
    with pytest.raises(chaffinch.errors.InputError, match="add up to 0"):
        with_constant_weight(table)


def test_effective_rows_are_scale_free():
    weights = np.random.default_rng(1).random(50)
    assert effective_rows(weights) == pytest.approx(effective_rows(7 * weights))
    assert 1 <= effective_rows(weights) <= 50


def test_left_out():
    table = without_weight(with_weight(chaffinch.read(survey()), "w"))
    assert table.schema.names == ("sex", "ill")
    assert without_weight(table) is table


@settings(max_examples=60, deadline=None)
@given(
    weights=st.lists(st.floats(0, 1e9), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=5),
    block=st.integers(1, 9),
)
def test_sums_are_the_same_to_the_last_bit_however_weights_are_cut(weights, cuts, block):
    """And right: to what exact fractions say."""
    from fractions import Fraction

    every = np.array(weights, dtype=np.float64)
    ends = [0, *sorted(min(cut, len(every)) for cut in cuts), len(every)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SUMMED", block)
        whole = weight_sums([every])
        assert weight_sums(every[a:b] for a, b in itertools.pairwise(ends)) == whole
    assert whole.n_rows == len(weights)
    assert whole.total == pytest.approx(float(sum(map(Fraction, weights))), rel=1e-14)
    assert whole.squares == pytest.approx(float(sum(Fraction(w) ** 2 for w in weights)), rel=1e-14)
    if whole.squares > 0:
        assert whole.total * whole.scale == pytest.approx(whole.effective_rows, rel=1e-14)


def test_weights_of_nothing_are_no_weights():
    with pytest.raises(InputError, match="Column 'w' cannot be a weight: its values add up to 0"):
        weight_sums([np.zeros(5)]).mean_of("w")
