"""Survey weights in tables."""

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.table.weights import effective_rows, with_constant_weight, with_weight, without_weight


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
    assert codec.whole
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
