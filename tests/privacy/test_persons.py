"""Rows per person: one person changes at most m kept rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.privacy.persons import keep_rows
from chaffinch.privacy.prepare import prepare
from chaffinch.table import Column, Schema


def plain_loop(ids, most):
    """A second opinion: count as one goes."""
    seen, kept = {}, []
    for row, person in enumerate(ids):
        seen[person] = seen.get(person, 0) + 1
        if person is None or seen[person] <= most:
            kept.append(row)
    return kept


@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_small_table_and_each_of_its_neighbours(most):
    """All sequences of up to five rows of two persons and null: as the loop says, and m-stable when a person leaves."""
    for n in range(6):
        for ids in product(["a", "b", None], repeat=n):
            kept = keep_rows(pa.array(ids, pa.string()), most).tolist()
            assert kept == plain_loop(ids, most)
            for person in ("a", "b"):
                others = [row for row, each in enumerate(ids) if each != person]
                without = [others[row] for row in keep_rows(pa.array([ids[row] for row in others], pa.string()), most)]
                gone = set(kept) - set(without)
                assert set(without) <= set(kept)
                assert len(gone) <= most
                assert all(ids[row] == person for row in gone)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([7, 8, 7, 7, None, None]),
        pa.array([7.0, 8.0, 7.0, 7.0, float("nan"), None]),
        pa.array(["7", "8", " 7", "7 ", "", None]),
        pa.array(["7", "8", "7", "7", None, None]).dictionary_encode(),
        pa.chunked_array([["7", "8"], ["7", "7", None, None]]),
        pa.array([b"\xff", b"8", b"\xff", b"\xff", None, None]).cast(pa.binary()),
        pa.array([7, 8, 7, 7, None, None], pa.timestamp("s")),
        [7, 8, 7, 7, None, None],
        np.array([7.0, 8.0, 7.0, 7.0, np.nan, np.nan]),
    ],
)
def test_ids_of_any_type(ids):
    assert keep_rows(ids, 2).tolist() == [0, 1, 2, 4, 5]
    assert keep_rows(ids, 1).tolist() == [0, 1, 4, 5]


def test_nobody_and_bad_settings():
    assert keep_rows(pa.array([], pa.string()), 1).tolist() == []
    for most in (0, -1, True, 1.5):
        with pytest.raises(chaffinch.errors.InputError, match="rows_per_person must be a whole number"):
            keep_rows(["a"], most)


SCHEMA = Schema((Column("who", "categorical"), Column("ill", "boolean", nullable=True)), public=True)


def test_prepare_keeps_m_rows_and_drops_the_id(tmp_path):
    text = "who,ill\nann,true\nbob,false\nann,false\nann,true\n,true\n,false\nbob\nann,true,true\n"
    (tmp_path / "d.csv").write_text(text)
    for most, codes in ((1, [1, 0, 1, 0]), (2, [1, 0, 0, 1, 0])):
        table = prepare(tmp_path / "d.csv", SCHEMA, person="who", rows_per_person=most)
        # Rows of the wrong length have no known person and are left out; rows without an id are persons of their own.
        assert table.code("ill").tolist() == codes
        assert table.schema.names == ("ill",)
        assert table.schema["who"].kind == "identifier"
    frame = pd.DataFrame({"who": [1, 2, 1, 1], "ill": [True, False, False, True]})
    table = prepare(frame, SCHEMA, person="who", rows_per_person=2)
    assert table.code("ill").tolist() == [1, 0, 0]
    fewer = prepare(table, person="who", rows_per_person=1)  # a sealed table is bounded too
    assert fewer.code("ill").tolist() == [1, 0]
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown column 'whom'"):
        prepare(frame, SCHEMA, person="whom")
