"""Missing keys that match anything."""

import numpy as np

from chaffinch.risk.attribution.matching import match


def test_wildcard_frequencies_of_sdcmicro() -> None:
    """freqCalc of sdcMicro on its example, C of rows 3 and 7 missing: fk 3 1 4 2 2 2 1 3."""
    keys = np.array(
        [[2, 3, 2, 2, 3, 3, 1, 2], [3, 3, 3, 3, 3, 3, 4, 3], [1, 3, 1, 2, 1, 1, 1, 1]]
    ).T
    values = np.zeros(8, dtype=int)
    assert match(keys, values, keys, values).people_key.tolist() == [3, 1, 3, 1, 2, 2, 1, 3]
    missing = np.zeros((8, 3), dtype=bool)
    missing[[2, 6], 2] = True
    found = match(keys, values, keys, values, people_missing=missing, source_missing=missing)
    assert found.people_key.tolist() == found.n_key.tolist() == [3, 1, 4, 2, 2, 2, 1, 3]


def test_a_row_without_any_key_matches_all() -> None:
    keys = np.array([[0, 0], [1, 1]])
    values = np.array([0, 1])
    missing = np.array([[True, True], [False, False]])
    found = match(keys, values, keys, values, people_missing=missing)
    assert found.n_key.tolist() == [2, 1]
    assert found.disclosive_at(1.0).tolist() == [False, True]
