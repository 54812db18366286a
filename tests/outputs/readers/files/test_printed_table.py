"""Rules on printed counts alone, against the same table as records."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.readers.files.printed import PrintedTable
from chaffinch.outputs.rules import Policy
from chaffinch.outputs.rules.check import check_entries

LABELS = (("f", "m"), ("n", "s"))


def table(
    *cells: int | str, margins: tuple[int | str, ...] = (), **options: object
) -> PrintedTable:
    keys = list(product(*LABELS))
    numbers = dict(zip(keys, cells, strict=True))
    if margins:
        numbers |= dict(
            zip(
                [("f", "All"), ("m", "All"), ("All", "n"), ("All", "s"), ("All", "All")],
                margins,
                strict=True,
            )
        )
    return PrintedTable(("sex", "area"), LABELS, numbers, margins=bool(margins), **options)  # type: ignore[arg-type]


def statuses(one: PrintedTable, policy: Policy | None = None) -> dict[str, str]:
    return {each.rule: each.status for each in one.findings("t", policy or Policy())}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any))
def test_the_rules_say_of_printed_counts_what_they_say_of_records(counts: list[int]) -> None:
    fields = Fields((Field("sex", LABELS[0]), Field("area", LABELS[1])))
    places = np.array(list(np.ndindex(2, 2)))
    codes = np.repeat(places, counts, axis=0).astype(np.int32)
    expected = check_entries(
        [{"name": "t", "kind": "table", "by": ["sex", "area"]}], fields, codes, Policy()
    )
    assert [
        (one.rule, one.status, one.cells) for one in table(*counts).findings("t", Policy())
    ] == [(one.rule, one.status, one.cells) for one in expected]


def test_small_cells_zeros_and_full_rows_are_found() -> None:
    assert set(statuses(table(12, 30, 40, 50)).values()) == {"pass"}
    assert statuses(table(9, 30, 40, 50))["threshold"] == "fail"
    assert statuses(table(0, 30, 40, 50)) | {"differencing": "-"} == {
        "threshold": "pass",
        "zeros": "fail",
        "class disclosure": "review",
        "differencing": "-",
    }
    assert statuses(table(9, 30, 40, 50), Policy(threshold=5))["threshold"] == "pass"


def test_a_withheld_cell_that_follows_from_totals_is_undone() -> None:
    # 42 - 35 = 7: the reader has it
    assert (
        statuses(table("<10", 35, 40, 50, margins=(42, 90, 47, 85, 132)))["suppression undone"]
        == "fail"
    )
    assert statuses(table("<10", "<10", 40, 50))["suppression undone"] == "pass"


def test_withheld_cells_get_some_counts_that_fit_the_totals() -> None:
    counts = table("<10", "<10", "<10", 50, margins=(12, 56, 11, 57, 68)).completed(10)
    assert counts.sum() == 68
    assert counts.sum(axis=1).tolist() == [12, 56]
    assert counts.sum(axis=0).tolist() == [11, 57]
    assert counts.ravel()[:3].max() < 10
    with pytest.raises(InputError, match="no counts fit"):
        table("<10", 35, 40, 50, margins=(60, 90, 65, 85, 150)).completed(10)


def test_percentages_alone_are_not_assessed() -> None:
    shares = PrintedTable(("sex",), (("f", "m"),), {("f",): "40", ("m",): "60"}, percentages="all")
    assert statuses(shares) == {"threshold": "not assessed"}


def test_very_large_counts_are_judged_without_as_many_records() -> None:
    assert statuses(table(10**9, 10**9, 3, 10**9))["threshold"] == "fail"


def test_axes_without_a_name_and_unknown_columns_are_said() -> None:
    fields = Fields((Field("sex", LABELS[0]),))
    with pytest.raises(InputError, match="which columns stand in its columns: write by"):
        PrintedTable(("sex", "(columns)"), LABELS, {}).entries("t", fields)
    with pytest.raises(InputError, match="'area', which is no column of the data"):
        table(1, 2, 3, 4).entries("t", fields)


def test_what_is_understood_names_columns_and_sizes() -> None:
    assert (
        table("<10", 35, 40, 50).understood
        == "a table of counts of 'sex' by 'area', 2 x 2 cells, some withheld."
    )
    assert table(1, 2, 3, 4).people == 10
    assert table("<10", 2, 3, 4).people is None


PATIENTS = [f"P{k:03d}" for k in range(40)]


@pytest.mark.parametrize(
    ("axis", "labels", "persons"),
    [
        ("patient", PATIENTS, True),
        ("patient", PATIENTS[:3], True),
        ("mother_id", [f"{7 * k}" for k in range(12)], True),
        ("code", PATIENTS, True),
        ("nr", [f"{k}" for k in range(1, 30)], True),
        ("surname", ["Abel", "Bohr", "Cohn"], True),
        ("patient", ["in", "out", "day"], False),
        ("age", [f"{k}" for k in range(20, 70)], False),
        ("children", [f"{k}" for k in range(12)], False),
        ("case", ["0", "1"], False),
        ("town", [f"town {'abcdefghijklmnopqrstuvwxyz'[k]}" for k in range(26)], False),
    ],
)
def test_numbers_by_person_are_not_counts_of_people(
    axis: str, labels: list[str], persons: bool
) -> None:
    """One row a patient with the number of visits has the form of a table of counts, and no small cell."""
    table = PrintedTable(
        (axis,), (tuple(labels),), {(label,): 12 + k for k, label in enumerate(labels)}
    )
    found = {one.rule: one.status for one in table.findings("t", Policy())}
    assert found.get("taken for counts") == ("not assessed" if persons else None)
    assert found["threshold"] == "pass"
    said = {one.rule for one in replace(table, by_hand=True).findings("t", Policy())}
    assert "taken for counts" not in said
