"""Tables of any maker as codes of the population."""

import numpy as np
import pandas as pd

from chaffinch import read
from chaffinch.risk.shadows import Generator
from chaffinch.risk.shadows.generator import coded, unknown_code


def copy(table, seed):
    return table


def test_foreign_tables_are_coded_on_the_populations_levels(base):
    frame = base.to_pandas().iloc[:30].copy()
    frame.loc[0, "a"] = "never seen"
    found = Generator(copy, base).codes_of(frame)
    expected = coded(base)[:30].copy()
    expected[0, 0] = unknown_code(expected.dtype)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.uint8


def test_numbers_are_coded_by_the_bins_of_the_population():
    rng = np.random.default_rng(2)
    base = read(pd.DataFrame({"n": rng.normal(size=500).round(3), "k": rng.choice(list("ab"), 500)}))
    found = Generator(copy, base).codes_of(base.to_pandas().iloc[:100])
    np.testing.assert_array_equal(found, coded(base)[:100])
