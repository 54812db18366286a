"""Rows per person: one person changes at most m kept rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import FileError
from chaffinch.privacy.ledger import account_from_dict
from chaffinch.privacy.prepare import keep_rows, prepare
from chaffinch.privacy.project import create_project, open_project
from chaffinch.privacy.relation import Unit
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
                without = [
                    others[row]
                    for row in keep_rows(pa.array([ids[row] for row in others], pa.string()), most)
                ]
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
        with pytest.raises(
            chaffinch.errors.InputError, match="rows_per_person must be a whole number"
        ):
            keep_rows(["a"], most)


SCHEMA = Schema(
    (Column("who", "categorical"), Column("ill", "boolean", nullable=True)), public=True
)


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


# Identifiers that are no text


FILES = {
    "utf-8": (b"\xff", b"\xfe"),
    "utf-8-sig": (b"p\xc3", b"p\xc4"),
    "cp1252": (b"\x81", b"\x8d"),
    "ascii": (b"caf\xe9", b"caf\xe8"),
    "shift_jis": (b"\x80", b"\xa0"),
    "utf-16-le": (b"\x00\xd8", b"\x01\xd8"),
    "utf-16-be": (b"\xd8\x00", b"\xd8\x01"),
}
OBJECTS = {
    "bytes": (b"\xff", b"\xfe"),
    "half characters": ("\ud800", "\ud801"),
    "one as it would be replaced": ("a\ud800", "a?"),
    "bytes and the mark of what is no text": (b"a\xff", "a\ufffd"),
}
PERSONS = Schema(
    (Column("who", "identifier"), Column("a", "categorical", levels=("x", "y"))), public=True
)


def changed_rows(tables):
    """Return how many rows two tables differ in."""
    one, other = (Counter(table.code("a").tolist()) for table in tables)
    return (one - other).total() + (other - one).total()


@pytest.mark.parametrize("encoding", FILES)
def test_persons_in_a_text_file_that_differ_in_bytes_that_are_no_text(encoding, tmp_path):
    """As one person they would share two rows; take one of them away, and two come and two go: twice what is promised."""
    first, second = FILES[encoding]
    plain = encoding.removesuffix("-sig")

    def table(*lines):
        text = b"".join(who + f",{a}\n".encode(plain) for who, a in lines)
        (tmp_path / "in.csv").write_bytes("who,a\n".encode(encoding) + text)
        return prepare(
            tmp_path / "in.csv", PERSONS, person="who", rows_per_person=2, encoding=encoding
        )

    others = [(second, "y")] * 3
    tables = [table(*[(first, "x")] * 3, *others), table(*others)]
    assert [t.n_rows for t in tables] == [4, 2]
    assert changed_rows(tables) == 2


@pytest.mark.parametrize("name", OBJECTS)
def test_persons_in_objects_that_differ_in_what_is_no_text(name):
    first, second = OBJECTS[name]

    def table(*rows):
        frame = {
            "who": pd.Series([who for who, _ in rows], dtype=object),
            "a": [a for _, a in rows],
        }
        return prepare(pd.DataFrame(frame), PERSONS, person="who", rows_per_person=2)

    others = [(second, "y")] * 3
    assert changed_rows([table(*[(first, "x")] * 3, *others), table(*others)]) == 2


def test_a_header_that_is_no_text_is_named_and_no_record_is_read(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"who,caf\xe9\n1,x\n")
    with pytest.raises(FileError, match=r"is not utf-8, .*Pass its encoding"):
        prepare(tmp_path / "in.csv", PERSONS)


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal32(5, 1),
        pa.decimal64(9, 1),
        pa.decimal128(9, 1),
        pa.decimal256(50, 1),
        pa.float16(),
    ],
    ids=str,
)
def test_numbers_of_any_width_tell_persons_apart(kind):
    values = (
        np.array([1, 1, 2, 1], dtype=np.float16)
        if kind == pa.float16()
        else [Decimal(n) for n in (1, 1, 2, 1)]
    )
    assert keep_rows(pa.array(values, kind), 2).tolist() == [0, 1, 2]


def test_characters_that_stand_for_bytes_inside_are_characters_all_the_same(tmp_path):
    """The last 257 characters of Unicode: each is itself, and none is the byte that it would stand for."""
    high = [chr(code) for code in range(0x10FEFF, 0x110000)]
    words = [
        *(c.encode() for c in high),
        *(bytes([b]) for b in range(0x80, 256)),
        *(h.encode() * 2 for h in high[:3]),
    ]
    (tmp_path / "in.csv").write_bytes(b"who,a\n" + b"".join(word + b",x\n" for word in words))
    table = prepare(tmp_path / "in.csv", PERSONS, person="who")
    assert table.n_rows == len(words)
    assert table.data.column("who").to_pylist() == [
        word.decode("utf-8", "replace") for word in words
    ]


def test_with_an_identifier_the_promise_is_for_a_person_and_for_no_record():
    """By brute force, over all tables of four rows of two persons: without a person at most one count changes; without a record two may."""
    by_person, by_record = 0, 0
    for cells in product(product("ab", "xyz"), repeat=4):
        kept = _kept_counts(cells)
        for who in "ab":
            by_person = max(
                by_person, _distance(kept, _kept_counts([cell for cell in cells if cell[0] != who]))
            )
        for i in range(4):
            by_record = max(by_record, _distance(kept, _kept_counts(cells[:i] + cells[i + 1 :])))
    unit = Unit("add-remove").for_persons(1)
    assert (by_person, by_record) == (unit.l1, 2)
    assert unit.words == "add or remove one person (at most 1 row each)"
    assert Unit("add-remove").for_persons(0) == Unit("add-remove")


def _kept_counts(cells):
    return (
        Counter(cells[row][1] for row in keep_rows([who for who, _ in cells], 1))
        if cells
        else Counter()
    )


def _distance(one, other):
    return sum(((one - other) + (other - one)).values())


def test_every_surface_says_the_unit_that_holds(tmp_path):
    """The account, its sentence, the plan and a project ledger, for a table with an identifier of which one row of each person is kept."""
    rows = pa.table({"who": [f"p{i // 2}" for i in range(60)], "sex": ["f", "m", "m"] * 20})
    schema = chaffinch.Schema(
        (
            chaffinch.Column("who", "identifier", role="person"),
            chaffinch.Column("sex", "categorical", levels=("f", "m")),
        ),
        public=True,
    )
    prepared = chaffinch.prepare(rows, schema)
    settings = chaffinch.BayesNet(epsilon=1.0)
    account = settings.fit(prepared, seed=1).privacy
    words = "add or remove one person (at most 1 row each)"
    for told in (
        account.unit.words,
        account.to_dict()["relation"],
        replace(account, test_only=False).sentence,
        settings.plan(prepared.schema).unit.words,
    ):
        assert words in told
    assert account_from_dict(account.to_dict()).unit == account.unit
    project = create_project(tmp_path / "ledger.json", epsilon=5.0, delta=None, data="d")
    after = project.spend(settings.plan(prepared.schema), "first")
    assert after.totals.unit.words == words
    assert open_project(tmp_path / "ledger.json").totals.unit.words == words
