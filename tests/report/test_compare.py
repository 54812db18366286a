"""Two reports side by side: hand-worked differences, directions, overlaps, and what must not be compared."""

from __future__ import annotations

import copy
import json

import pytest

import chaffinch
from chaffinch.privacy.account import Account
from chaffinch.privacy.budget import Budget, Charge
from chaffinch.privacy.relation import Unit
from chaffinch.report.compare import compare
from chaffinch.report.result import report_of

LOWER, HIGHER = "lower is better", "higher is better"


def study(*, about=None, **measures):
    columns = [
        {"name": name, "kind": "categorical", "levels": 3, "role": "other"}
        for name in ("a", "b", "c")
    ]
    return {
        "format": "chaffinch-utility",
        "version": 1,
        "about": {"columns": columns, **(about or {})},
        **measures,
    }


def value(number, interval=None, direction=LOWER, **more):
    return {
        "value": number,
        "interval": interval,
        "direction": direction,
        "identical": 0.0,
        "settings": {},
        **more,
    }


def better(first, second, name="phi_k"):
    return next(
        row
        for row in compare(study(**{name: first}), study(**{name: second})).measures
        if row.id == name
    )


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (value(0.1), value(0.2), "A"),
        (value(0.2), value(0.1), "B"),
        (value(0.1, direction=HIGHER), value(0.2, direction=HIGHER), "B"),
        (value(0.1), value(0.1), "equal"),
        (value(0.1, [0.05, 0.15]), value(0.2, [0.14, 0.26]), "cannot be told apart"),
        (value(0.1, [0.05, 0.15]), value(0.2, [0.15, 0.25]), "cannot be told apart"),
        (value(0.1, [0.05, 0.14]), value(0.2, [0.15, 0.25]), "A"),
        (value(0.1, [0.05, 0.25]), value(0.2), "cannot be told apart"),
        (value(0.1), value(0.2, [0.12, 0.3]), "A"),
        (value(-0.1), value(0.05), "A"),
    ],
)
def test_which_is_nearer(first, second, wanted):
    name = "regression" if first["direction"] == HIGHER else "phi_k"
    row = better(first, second, name)
    assert row.better == wanted
    assert row.difference == pytest.approx(second["value"] - first["value"])
    swapped = better(second, first, name).better
    assert swapped == {"A": "B", "B": "A"}.get(wanted, wanted)


def test_a_report_against_itself_differs_in_nothing(study_of):
    whole = study_of(15)
    found = compare(whole, report_of(copy.deepcopy(whole), title="again"))
    assert {row.better for row in found.measures} == {"equal"}
    assert found.columns == found.pairs == found.settings == found.notes == ()


def test_a_better_table_is_found_better(study_of):
    found = compare(study_of(15, noise=3.0), study_of(15, noise=1.0))
    by = {row.id: row.better for row in found.measures}
    assert by["phi_k"] == by["regression"] == by["tvd_3"] == by["tstr"] == "B"
    assert len(by) == 14


@pytest.mark.parametrize(
    ("key", "one", "two"),
    [("norm", "frobenius", "spectral"), ("bins", 10, 20), ("missing", "level", "drop")],
)
def test_other_settings_make_numbers_incomparable(key, one, two):
    found = compare(
        study(mu=value(0.1, settings={key: one})), study(mu=value(0.2, settings={key: two}))
    )
    row = found.measures[0]
    assert (row.better, row.why) == (None, "other settings")
    assert found.to_dict()["settings"] == [
        {
            "id": "mu",
            "measure": "Relations of pairs (mu)",
            "setting": key,
            "A": one,
            "B": two,
            "matters": True,
        },
    ]
    assert "not comparable" in found.to_text()


def test_settings_that_leave_the_number_what_it_is_are_listed_only():
    first, second = (
        study(mu=value(number, settings={"seed": number, "found": {"pairs": number}}))
        for number in (1, 2)
    )
    found = compare(first, second)
    assert found.measures[0].better == "A"
    assert [(row.setting, row.matters) for row in found.settings] == [
        ("seed", False),
        ("found.pairs", False),
    ]


def test_other_levels_make_everything_incomparable():
    other = study(mu=value(0.2))
    other["about"]["columns"][1]["levels"] = 4
    found = compare(study(mu=value(0.1)), other)
    assert (found.measures[0].better, found.measures[0].why) == (None, "other levels")
    assert found.notes[0].startswith("b: compared on other kinds or numbers of levels")


def test_other_originals_are_pointed_out():
    first = study(about={"original": {"name": "x.csv", "rows": 100}}, mu=value(0.1))
    second = study(
        about={
            "original": {"name": "y.csv", "rows": 100},
            "holdout": {"name": "h.csv", "rows": 50},
        },
        mu=value(0.1),
    )
    assert compare(first, second).notes == (
        "The originals differ: x.csv with about 100 rows in A, y.csv with about 100 rows in B.",
        "The holdouts differ: none in A, h.csv with about 50 rows in B.",
    )


def test_what_one_lacks_is_said(no_value):
    found = compare(
        study(mu=value(0.1), phi_k=no_value("one column")), study(phi_k=value(0.1), G=value(1.0))
    )
    why = {row.id: (row.better, row.difference, row.why) for row in found.measures}
    assert why == {
        "mu": (None, None, "not measured in B"),
        "phi_k": (None, None, "not applicable in A: one column"),
        "G": (None, None, "not measured in A"),
    }


def test_columns_and_pairs_that_changed_most():
    first = study(
        jensen_shannon=value(0.1, per_column={"a": 0.1, "b": 0.2}),
        phi_k=value(
            0.1,
            columns=["a", "b", "c"],
            original=[[1, 0.5, 0.2], [0.5, 1, None], [0.2, None, 1]],
            synthetic=[[1, 0.4, 0.2], [0.4, 1, 0], [0.2, 0, 1]],
        ),
    )
    second = study(
        jensen_shannon=value(0.1, per_column={"b": 0.05, "a": 0.12, "c": 0.3}),
        # The same original with its columns in another order: c, b, a.
        phi_k=value(
            0.1,
            columns=["c", "b", "a"],
            original=[[1, None, 0.2], [None, 1, 0.5], [0.2, 0.5, 1]],
            synthetic=[[1, 0, 0.5], [0, 1, 0.55], [0.5, 0.55, 1]],
        ),
    )
    found = compare(first, second)
    assert [row.column for row in found.columns] == ["b", "a"]
    assert found.columns[0].change == pytest.approx(-0.15)
    # |0.2 - 0.2| = 0 becomes |0.5 - 0.2| = 0.3; |0.4 - 0.5| = 0.1 becomes |0.55 - 0.5| = 0.05.
    assert [(row.columns, round(row.change, 9)) for row in found.pairs] == [
        (("a", "c"), 0.3),
        (("a", "b"), -0.05),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "A must be a report as JSON. Got a list."),
        ({}, "Got data without a format. Give the JSON of chaffinch utility"),
        ({"format": "chaffinch-synthesis", "version": 1}, "Got format 'chaffinch-synthesis'"),
        (
            {"format": "chaffinch-utility", "version": 2},
            "A is of version 2; this Chaffinch reads version 1",
        ),
    ],
)
def test_something_else_is_refused(data, message):
    with pytest.raises(chaffinch.errors.InputError) as caught:
        compare(data, study())
    assert message in str(caught.value)


def test_other_columns_are_refused_by_name():
    other = study()
    other["about"]["columns"][0] = {"name": "z", "kind": "categorical", "levels": 3}
    with pytest.raises(
        chaffinch.errors.InputError, match=r"same columns\. Got only in A: a; only in B: z\."
    ):
        compare(study(), other)


# Promises.


def promised(
    epsilon=1.0,
    delta=None,
    neighbours="add-remove",
    rows_per_person=1,
    *,
    test_only=False,
    **network,
):
    cost = {"epsilon": 0.01} if delta is None else {"rho": 1e-4}
    charge = Charge("table of a", "tables", **cost, mechanism="noise", noise="")
    unit = Unit(neighbours, rows_per_person)
    told = Account(
        Budget(epsilon, delta), unit, (charge,), test_only=test_only, rows=9, rows_how="declared"
    )
    made = {"network": {"method": "m", "privacy": told.to_dict(), **network}}
    return report_of(study(mu=value(0.1)), title="t", synthesis=json.loads(json.dumps(made)))


UNPROMISED = report_of(study(mu=value(0.1)), title="t", synthesis={"network": {"method": "m"}})
LESS = "A table that promises less can come nearer to the original for that reason alone."
TWICE = "An epsilon under add-remove implies twice that epsilon under replace-one, not the other way round: "


@pytest.mark.parametrize(
    ("one", "other", "notes"),
    [
        (promised(), promised(), ()),
        (
            promised(1.0),
            promised(2.0),
            (f"The promises differ in epsilon: 1 in A, 2 in B; smaller is stronger. {LESS}",),
        ),
        (
            promised(),
            promised(neighbours="replace-one"),
            (
                f"Both say epsilon 1, but these are different promises: add or remove one record in A, replace one record in B. {LESS}",
                f"{TWICE}A promises epsilon 2 if one is replaced.",
            ),
        ),
        # (e^1 + 1) * 1e-6 = 3.72e-6, by the two steps of group privacy.
        (
            promised(2.0, 1e-6, "replace-one"),
            promised(1.0, 1e-6),
            (
                f"These are different promises: epsilon 2 in A, 1 in B; replace one record in A, add or remove one record in B. {LESS}",
                f"{TWICE}B promises epsilon 2 at delta 3.72e-06 if one is replaced.",
            ),
        ),
        (
            promised(),
            promised(rows_per_person=3),
            (
                "Both say epsilon 1, but these are different promises: add or remove one record in A, add or remove one person (at most 3 "
                f"rows each) in B. {LESS}",
            ),
        ),
        (
            promised(),
            promised(delta=1e-6),
            (
                f"Both say epsilon 1, but these are different promises: delta none in A, 1e-06 in B, and smaller is stronger. {LESS}",
            ),
        ),
        (
            promised(800.0, 1e-6),
            promised(800.0, 1e-6, "replace-one"),
            (
                f"Both say epsilon 800, but these are different promises: add or remove one record in A, replace one record in B. {LESS}",
                f"{TWICE}A promises epsilon 1600, with a delta that means nothing if one is replaced.",
            ),
        ),
        (UNPROMISED, promised(), (f"B carries a promise of privacy, A no promise. {LESS}",)),
        (
            promised(),
            study(mu=value(0.1)),
            (f"A carries a promise of privacy, B none that is known. {LESS}",),
        ),
    ],
)
def test_different_promises_are_called_so(one, other, notes):
    found = compare(one, other)
    assert found.promise_notes == notes
    assert [row.what for row in found.promises] == [
        "promise",
        "epsilon",
        "delta",
        "neighbours",
        "rows per person",
        "noise",
    ]
    assert all(row.same == (row.a == row.b) for row in found.promises)
    for told in (found.to_text(), found.to_html().replace("&#39;", "'")):
        assert all(note in told for note in notes)
    assert json.loads(json.dumps(found.to_dict()))["promises"][0]["A"] == found.promises[0].a
    assert 'class="alarm"' not in found.to_html()


def test_test_only_is_flagged_before_all_else():
    found = compare(promised(test_only=True), promised())
    assert found.promise_notes[0].startswith("A: TEST ONLY: the noise was drawn from a seed")
    html = found.to_html()
    assert html.index("TEST ONLY: A. Seeded noise carries no promise") < html.index("<h1>")
    assert "TEST ONLY, no privacy" in found.to_text()
    both = compare(promised(test_only=True), promised(test_only=True)).to_html()
    assert "TEST ONLY: A and B." in both


def test_kept_columns_and_damaged_accounts_are_no_promise():
    broken = promised().to_dict()
    broken["synthesis"]["network"]["privacy"]["epsilon"] = 0.001
    for other, told in (
        (promised(kept=["a"]), "B: NO PROMISE FOR THIS TABLE: a"),
        (broken, "B: No formal promise"),
    ):
        notes = compare(promised(), other).promise_notes
        assert notes[0].startswith(told)
        assert notes[1] == f"A carries a promise of privacy, B no promise. {LESS}"


def test_reports_without_promises_say_nothing_of_them():
    found = compare(UNPROMISED, study(mu=value(0.1)))
    assert found.promises == found.promise_notes == ()
    assert "promise" not in found.to_text()
