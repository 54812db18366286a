"""Released values as an outsider reads them, and their codes on the population's grid."""

import numpy as np
import pandas as pd
import pytest

from chaffinch import read
from chaffinch.risk.shadows import Generator
from chaffinch.risk.shadows.generator import code_array, unknown_code, value_reader


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=300).round(2),
            "k": rng.choice(list("abc"), 300),
            "whole": rng.choice([1, 2, 5], 300),
            "yes": rng.choice([True, False], 300),
        }
    )
    frame.loc[7, "k"] = "unique"
    frame.loc[8, "n"] = np.nan
    return frame


def test_values_are_equal_where_the_cells_are(frame):
    table = read(frame)
    values = value_reader(table).read(table)
    expected = frame.astype(str).to_numpy()
    for a in range(0, 300, 13):
        ours = (values.codes == values.codes[a]).sum(axis=1)
        np.testing.assert_array_equal(ours, (expected == expected[a]).sum(axis=1))
    assert np.isnan(values.numbers[0, 8])
    assert (
        values.level_codes[0] == values.level_codes[0, 7]
    ).sum() == 1  # though the grid pooled it


def test_grid_codes_of_the_population_are_its_own(frame):
    table = read(frame)
    reader = value_reader(table)
    np.testing.assert_array_equal(
        reader.grid_codes(reader.read(table), np.uint8), code_array(table)
    )


def test_a_table_on_a_grid_of_its_own_is_coded_as_the_alignment_does(frame):
    """Second opinion: `align`, which brings tables of any maker together."""
    base = read(frame.iloc[:200].reset_index(drop=True))
    other = frame.iloc[150:].reset_index(drop=True)
    other.loc[0, "k"] = "never seen"
    table = read(other, rare="keep")
    generator = Generator(lambda table, seed: table, base)
    assert generator._reader.reads(table)
    ours = generator.codes_of(table)
    np.testing.assert_array_equal(
        ours[1:], generator.codes_of(other.copy())[1:]
    )  # a frame goes by way of align
    assert ours[0, 1] == unknown_code(ours.dtype)


def test_a_missing_number_that_the_population_lacks_is_unknown(frame):
    base = read(frame.drop(index=8))
    reader = value_reader(base)
    codes = reader.grid_codes(reader.read(read(frame)), np.uint8)
    assert codes[8, 0] == unknown_code(np.uint8)
    np.testing.assert_array_equal(np.delete(codes, 8, axis=0)[:, 0], base.code("n"))


def test_a_column_that_a_release_left_out_matches_nobody(frame):
    base = read(frame)
    table = read(frame[["n", "k", "yes"]])
    reader = value_reader(base)
    assert reader.reads(table)
    values = reader.read(table)
    assert (reader.grid_codes(values, np.uint8)[:, 2] == unknown_code(np.uint8)).all()
    assert (values.level_codes[1] == -1).all()
