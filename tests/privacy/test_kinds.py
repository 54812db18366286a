"""Kinds found with noise: each cell has one class by itself, and noisy counts alone decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.privacy.discover import (
    CLASSES,
    KINDS_SHARE,
    as_words,
    cell_classes,
    kind_from_counts,
    planned_kinds,
    with_decimals,
)
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.relation import Unit
from chaffinch.privacy.session import open_private, opening_of
from chaffinch.table import Column, Schema

OPEN = Column("a", "unknown", discover=True)
CELLS = {
    "empty": ["", "  ", None],
    "whole": ["1", "-3", "+7", "4.", "2.00", "9" * 400],
    "fraction": ["1.5", ".5", "1e3", "-2.5E-3"],
    "date": ["2020-01-02", "2020-01-02 00:00:00"],
    "moment": ["2020-01-02T10:00", "2020-01-02 10:00:01.5+01:00"],
    "truth": ["true", "FALSE"],
    "word": ["a", "1,5", "1.5.2", "nan", "2020-1-2", "1 2", "\ufffd"],
}


@pytest.mark.parametrize("name", CELLS)
def test_the_class_of_a_cell_is_its_own(name):
    cells = pa.array(CELLS[name], pa.large_string())
    together = cell_classes(
        OPEN, pa.concat_arrays([cells, pa.array(["x", "1", None], pa.large_string())])
    )
    assert [CLASSES[code] for code in together[: len(cells)]] == [name] * len(cells)
    for i in range(len(cells)):
        assert cell_classes(OPEN, cells[i : i + 1])[0] == together[i]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (pa.array([1, None, 2**62]), ["whole", "empty", "whole"]),
        (pa.array([1.0, float("nan"), 0.5]), ["whole", "empty", "fraction"]),
        (pa.array([True, None]), ["truth", "empty"]),
        (pa.array([0, 1], pa.date32()), ["date", "date"]),
        (pa.array([0, 3600], pa.timestamp("s")), ["date", "moment"]),
        (pa.array([b"\xff", b"12"]), ["word", "whole"]),
        (pa.nulls(2), ["empty", "empty"]),
    ],
)
def test_how_values_are_stored_does_not_matter(values, names):
    assert [CLASSES[code] for code in cell_classes(OPEN, values)] == names


def test_declared_missing_codes_and_decimal_commas():
    cells = pa.array(["1,5", "NA", "99", "1.5"])
    column = replace(OPEN, decimal=",", missing=("NA", 99))
    assert [CLASSES[code] for code in cell_classes(column, cells)] == [
        "fraction",
        "empty",
        "empty",
        "word",
    ]


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ([0, 100, 0, 0, 0, 0, 0], ("integer", False)),
        ([50, 100, 30, 0, 0, 0, 0], ("float", True)),
        ([0, 100, 0, 0, 0, 0, 5], ("integer", False)),  # a few words are read as missing ...
        ([0, 500, 0, 0, 0, 0, 20], ("integer", True)),
        ([0, 100, 0, 0, 0, 0, 20], ("categorical", False)),  # ... more make it a column of words
        ([0, 50, 0, 50, 0, 0, 0], ("categorical", False)),
        ([0, 0, 0, 90, 10, 0, 0], ("datetime", False)),
        ([0, 0, 0, 90, 0, 0, 0], ("date", False)),
        ([0, 0, 0, 0, 0, 90, 0], ("boolean", False)),
        ([0, 3, 0, 0, 0, 0, 1], ("integer", False)),  # little says little
        ([0, 3, 3, 0, 0, 0, 1], ("float", False)),
        ([-2, -1, -3, -1, -2, -3, -1], ("categorical", False)),  # and nothing says nothing
        ([0, 0, 0, 0, 0, 0, 0], ("categorical", False)),
    ],
)
def test_what_counts_speak_for(counts, kind):
    assert kind_from_counts(np.array(counts), 2.0) == kind


def table(n: int = 4000) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "n": [str(v) for v in rng.integers(0, 60, n)],
            "x": [f"{v:.2f}" for v in rng.normal(size=n)],
            "d": [f"20{y:02d}-03-04" for y in rng.integers(0, 20, n)],
            "t": rng.choice(["true", "false"], n),
            "w": rng.choice(["baker", "clerk", ""], n),
            "surname": [f"s{i}" for i in range(n)],
        }
    )


@pytest.mark.parametrize("unit", [Unit("add-remove"), Unit("replace-one")])
@pytest.mark.parametrize("pure", [False, True])
def test_a_fit_of_names_alone_finds_the_domain_within_its_budget(unit, pure):
    data = chaffinch.prepare(table(), discover="all")
    if unit.replaced:
        data = replace(data, schema=replace(data.schema, rows=4000))
    budget = Budget(8.0, 1e-6, accounting="pure" if pure else "zcdp")
    opening = opening_of(data.schema, budget, unit)
    with open_private(data, budget, unit, seed=3) as counter:
        kinds = {column.name: column.kind for column in counter.schema}
        assert kinds == {
            "n": "integer",
            "x": "float",
            "d": "date",
            "t": "boolean",
            "w": "categorical",
            "surname": "identifier",
        }
        assert counter.schema["w"].levels == ("baker", "clerk")
        assert [column.name for column in counter.schema if column.nullable] == ["w"]
        assert counter.schema.sealed
        assert counter.ledger.spent <= budget.total - opening.left + 1e-12
        assert sum(
            charge.delta for charge in counter.ledger.charges
        ) <= opening.budget.delta_total * (1 + 1e-9)


def test_the_plan_reckons_with_words_and_shares_evenly():
    schema = Schema(
        (OPEN, replace(OPEN, name="b"), Column("c", "categorical", levels=("x", "y"))), public=True
    )
    budget, unit = Budget(1.0, 1e-6), Unit("add-remove")
    charges = planned_kinds(schema, budget, unit)
    assert [charge.what for charge in charges] == ["kind of 'a'", "kind of 'b'"]
    assert budget.amounts(charges)[0] == pytest.approx(KINDS_SHARE * budget.total)
    assert [column.lacks for column in as_words(schema)] == ["levels", "levels", ""]
    opening = opening_of(schema, budget, unit)
    assert [charge.what for charge in opening.charges][2:4] == [
        "levels or bounds of 'a'",
        "levels or bounds of 'b'",
    ]
    assert opening.budget.delta_total > 0  # words may be found


def test_neighbours_differ_in_one_class_of_each_column():
    """What the proof rests on: a record more adds 1 to one class, whatever the record."""
    cells = [cell for every in CELLS.values() for cell in every]
    base = pa.array(["1", "x", ""], pa.large_string())
    before = np.bincount(cell_classes(OPEN, base), minlength=len(CLASSES))
    for cell in cells:
        more = pa.concat_arrays([base, pa.array([cell], pa.large_string())])
        change = np.bincount(cell_classes(OPEN, more), minlength=len(CLASSES)) - before
        assert sorted(change.tolist()) == [0] * (len(CLASSES) - 1) + [1]


def test_a_decimal_comma_is_that_of_kinds_that_are_open_too(tmp_path):
    rng = np.random.default_rng(3)
    (tmp_path / "d.csv").write_text(
        "pay;sex\n" + "".join(f"{v:.2f};f\n".replace(".", ",") for v in rng.normal(50, 9, 2000))
    )
    data = chaffinch.prepare(tmp_path / "d.csv", discover="all", decimal=",")
    with open_private(data, Budget(8.0, 1e-6), Unit("add-remove"), seed=3) as counter:
        assert (counter.schema["pay"].kind, counter.schema["pay"].decimal) == ("float", ",")
        assert counter.schema["pay"].size > 3
        assert counter.schema["pay"].decimals in (
            2,
            3,
        )  # bins of about 1: a hundredth of the narrowest


def test_decimals_follow_the_narrowest_bin():
    columns = (
        Column("a", "float", edges=(0.0, 0.31239, 10.0), binning="edges"),
        Column("b", "float", bounds=(0, 4000), bins=4),
        Column("c", "float", bounds=(0, 1)),
        Column("d", "integer", bounds=(0, 9)),
        Column("e", "float", bounds=(0, 1), decimals=5),
    )
    schema = with_decimals(Schema(columns), ("a", "b", "d", "e"))
    assert [column.decimals for column in schema] == [3, 0, None, None, 5]
    assert schema["a"].edges == (0.0, 0.312, 10.0)
