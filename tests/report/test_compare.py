"""Two reports side by side: hand-worked differences, directions, overlaps, and what must not be compared."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest

import chaffinch
from chaffinch import BayesNet, Evolution
from chaffinch._base.text import letter
from chaffinch.privacy.ledger import Account, Budget, Charge
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.report.compare import best_of, compare, shared_attack
from chaffinch.report.result import report_of
from chaffinch.report.runs import ReportDifference, differences, names_of_reports
from chaffinch.report.tradeoff import TradePoint, headline_step, tradeoff_figure, tradeoff_section
from tests.report.test_accessible import outline

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
        (value(0.1, [0.05, 0.15]), value(0.2, [0.14, 0.26]), "intervals overlap"),
        (value(0.1, [0.05, 0.15]), value(0.2, [0.15, 0.25]), "intervals overlap"),
        (value(0.1, [0.05, 0.14]), value(0.2, [0.15, 0.25]), "A"),
        (value(0.1, [0.05, 0.25]), value(0.2), "intervals overlap"),
        (value(0.1), value(0.2, [0.12, 0.3]), "A"),
        (value(-0.1), value(0.05), "A"),
    ],
)
def test_which_is_nearer(first, second, wanted):
    name = "regression" if first["direction"] == HIGHER else "phi_k"
    row = better(first, second, name)
    assert row.verdict.removesuffix(" (no interval)") == wanted
    assert row.difference == pytest.approx(second["value"] - first["value"])
    swapped = better(second, first, name).verdict.removesuffix(" (no interval)")
    assert swapped == {"A": "B", "B": "A"}.get(wanted, wanted)


def test_a_report_against_itself_differs_in_nothing(study_of):
    whole = study_of(15)
    found = compare(whole, report_of(copy.deepcopy(whole), title="again"))
    assert {row.verdict for row in found.measures} == {"equal"}
    assert found.columns == found.pairs == found.settings == found.notes == ()


def test_a_better_table_is_found_better(study_of):
    found = compare(study_of(15, noise=3.0), study_of(15, noise=1.0))
    by = {row.id: row.best for row in found.measures}
    assert by["phi_k"] == by["regression"] == by["tvd_3"] == by["tstr"] == ("B",)
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
    assert (row.best, row.why) == ((), "other settings")
    assert found.to_dict()["settings"] == [
        {
            "id": "mu",
            "measure": "Relations of pairs (mu)",
            "setting": key,
            "values": [one, two],
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
    assert found.measures[0].best == ("A",)
    assert [(row.setting, row.matters) for row in found.settings] == [
        ("seed", False),
        ("found.pairs", False),
    ]


def test_other_levels_make_everything_incomparable():
    other = study(mu=value(0.2))
    other["about"]["columns"][1]["levels"] = 4
    found = compare(study(mu=value(0.1)), other)
    assert (found.measures[0].best, found.measures[0].why) == ((), "other levels")
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
    why = {row.id: (row.best, row.difference, row.why) for row in found.measures}
    assert why == {
        "mu": ((), None, "not measured in B"),
        "phi_k": ((), None, "not applicable in A: one column"),
        "G": ((), None, "not measured in A"),
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
    assert [row.columns for row in found.columns] == [("b",), ("a",)]
    assert found.columns[0].values == (0.2, 0.05)
    # |0.2 - 0.2| = 0 becomes |0.5 - 0.2| = 0.3; |0.4 - 0.5| = 0.1 becomes |0.55 - 0.5| = 0.05.
    assert [(row.columns, tuple(np.round(row.values, 9))) for row in found.pairs] == [
        (("a", "c"), (0.0, 0.3)),
        (("a", "b"), (0.1, 0.05)),
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
    unit = PrivacyUnit(neighbours, rows_per_person)
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
    for told in (found.to_text(), found.to_html().replace("&#39;", "'")):
        assert all(note in told for note in notes)
    assert json.loads(json.dumps(found.to_dict()))["promises"][0]["values"] == list(
        found.promises[0].values
    )
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


def test_plain_data_text_and_page(study_of):
    hostile = "<script>alert(1)</script>"
    names = [hostile, "b", "c", "d"]
    found = compare(study_of(names, noise=2.0), report_of(study_of(names, seed=2), title=hostile))
    told = found.to_dict()
    assert (told["format"], told["version"]) == ("chaffinch-comparison", 5)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    text = found.to_text()
    lines = text.splitlines()
    assert lines[0] == "A: synthetic.parquet"
    assert lines[1] == f"B: {hostile}"  # the titles differ
    assert len(found.rows()) == len(found.measures) == 14
    for row in found.rows():
        assert any(line.startswith(row[0]) and line.endswith(row[-1]) for line in lines)
    html = found.to_html()
    assert "<script" not in html
    assert html.count("<table>") == 4
    assert "&lt;script&gt;" in html
    assert found._repr_html_().count("<tr>") == 15


def test_results_and_their_json_give_the_same_plain_data(risk_of):
    """A comparison of results and one of their JSON are the same."""
    from chaffinch.risk import RiskResult

    plain = risk_of(("a", "b"), ("s",), measures=("cap",), extras=False)
    row = compare(plain, plain).to_dict()["findings"][0]
    assert {"values", "intervals", "excesses", "words", "best", "why"} <= set(row)
    assert {"attacker", "keys", "sensitive", "target"} <= set(row)
    assert row["target"] == "s, knowing a, b"
    result = RiskResult.from_dict(plain)
    assert (
        compare(result, result).to_dict()["findings"] == compare(plain, plain).to_dict()["findings"]
    )


def test_studies_of_attacks_alone_have_no_empty_table_of_measures(study_of, risk_of):
    plain = risk_of(("a", "b"), ("s",), measures=("cap",), extras=False)
    assert "nearest to the original" not in compare(plain, plain).to_text()
    assert "nearest to the original" in compare(study_of(3), study_of(3)).to_text()


@pytest.mark.parametrize(
    ("holdout", "leader", "words"),
    [
        (True, "Random forest", "with the largest excess"),
        (False, "CAP", "furthest above a guess"),
    ],
)
def test_the_attack_that_all_share_is_named_by_what_it_leads_in(risk_of, holdout, leader, words):
    """CAP is right more often, and the forest about people in the data more than about others."""
    asked = {"measures": ("cap", "rf"), "extras": False, "holdout": holdout}
    plain = risk_of(("a", "b"), ("s",), **asked)
    plain["findings"][0]["value"] = 0.9
    if holdout:
        plain["findings"][1]["excess"] = 0.1
    (note,) = [n for n in compare(plain, plain).answers[0].notes if " in any of them" in n]
    assert note == (
        f"{leader} on s knowing a, b, the attack on a column {words} in any of them: the 95 % intervals overlap."
    )


def with_test_of(risk_of, *, p_family, excess=0.154, **more):
    """A study whose memorisation test has an excess that is found, or not."""
    risk = risk_of(("a", "b"), ("s",), measures=("cap",), extras=False)
    finding = {
        "attacker": "rare_combination",
        "value": 0.7,
        "holdout": 0.7 - excess,
        "excess": excess,
        "excess_interval": [excess - 0.01, excess + 0.01],
    }
    risk["findings"].append(
        {
            **finding,
            "p_value": p_family,
            "p_family": p_family,
            "lower_bound": excess - 0.1,
            "n_people": 300,
            **more,
        }
    )
    return risk


def on_records(found):
    """The rows of a comparison that are about whole records."""
    return [row for row in found.findings if row.target == "whole records"]


def test_an_excess_that_one_table_has_is_said_first(risk_of):
    found = compare(
        with_test_of(risk_of, p_family=0.007), with_test_of(risk_of, p_family=0.9, excess=0.0)
    )
    (row,) = on_records(found)
    assert (row.verdict_words, row.best, row.keys) == (
        ("excess found", "no excess found"),
        ("B",),
        (),
    )
    assert found.findings[0] is row
    assert found.answers[0].sentence == "A: excess found. B: no excess found."
    assert "an excess of +0.154" in found.answers[0].notes[0]
    lines = found.to_text().splitlines()
    assert any(
        line.startswith("Rare combination") and "+0.154, excess found" in line for line in lines
    )
    assert "What does it give away? A: excess found. B: no excess found." in lines
    plain = found.to_dict()["findings"][0]
    assert (plain["words"], plain["excesses"][0]) == (
        ["excess found", "no excess found"],
        0.154,
    )
    page = found.to_html()
    assert "+0.154, excess found" in page
    assert "of 2 attacks and tests in all reports, excess found by 1, no excess found by 1" in page


def test_a_test_that_one_report_has_alone_is_said(risk_of):
    with_test = with_test_of(risk_of, p_family=0.007)
    without = {**with_test, "findings": with_test["findings"][:1]}
    found = compare(with_test, without)
    assert on_records(found) == []
    assert "1 attack is in A only, 1 of them with an excess found." in found.notes


def test_a_test_without_an_excess_is_not_ranked(risk_of):
    hidden = with_test_of(risk_of, p_family=0.3, excess=0.1)
    hidden["findings"][1] |= {
        "excess": None,
        "excess_interval": None,
        "holdout": None,
        "value": None,
        "reason": "It is about fewer than 10 people.",
    }
    (row,) = on_records(compare(with_test_of(risk_of, p_family=0.5), hidden))
    assert (row.best, row.why) == ((), "no excess in B: It is about fewer than 10 people")
    assert (row.verdict_words[1], row.values[1]) == ("no excess found", None)


def test_settings_of_attacks_that_differ_are_listed(risk_of):
    one, other = (risk_of(("a", "b"), ("s",), measures=("cap",), extras=False) for _ in "AB")
    other["about"]["settings"] |= {"numeric": "values", "resamples": 50}
    found = compare(one, other)
    assert {(row.setting, row.matters) for row in found.settings} == {
        ("numeric", True),
        ("resamples", False),
    }
    assert found.findings[0].best == ()


def reports(study_of, risk_of):
    return [
        report_of(
            study_of(6, noise=noise),
            title=f"noise {noise}",
            risk=risk_of(excess=seed / 100),
            synthesis={"network": {"method": "bayesnet", "parents": k}},
        )
        for noise, seed, k in ((1.0, 1, 1), (2.0, 2, 2), (4.0, 3, 3))
    ]


@pytest.mark.parametrize(
    ("values", "intervals", "higher", "wanted"),
    [
        ((0.1, 0.2, 0.3), (None,) * 3, False, ("A",)),
        ((0.1, 0.2, 0.3), (None,) * 3, True, ("C",)),
        ((0.1, 0.2, 0.3), ((0.05, 0.15), (0.14, 0.26), (0.29, 0.31)), False, ("A", "B")),
        ((0.1, None, 0.3), (None,) * 3, False, ()),
        ((0.1, 0.1, 0.1), (None,) * 3, False, ("A", "B", "C")),
    ],
)
def test_the_best_and_those_that_cannot_be_told_from_it(values, intervals, higher, wanted):
    assert best_of(values, intervals, higher=higher) == wanted


def test_three_reports_in_one(study_of, risk_of):
    found = compare(*reports(study_of, risk_of))
    assert found.names == ("noise 1.0: parents 1", "noise 2.0: parents 2", "noise 4.0: parents 3")
    two = next(row for row in found.measures if row.id == "tvd_2")
    assert two.values == (0.034, 0.068, 0.136)
    assert two.best == ("A",)  # intervals are ten per cent either way
    assert [row[0] for row in found.picture.table.rows] == ["A", "B", "C"]
    assert "B: noise 2.0: parents 2" in found.picture.note
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["reports"] == {"A": found.names[0], "B": found.names[1], "C": found.names[2]}
    page = found.to_html()
    outline(page)
    assert "3 reports compared" in page
    assert page.count('class="answer"') == 3
    assert "<strong>May leave.</strong>" in page
    assert found.to_text().startswith("A: noise 1.0: parents 1")


def test_other_settings_keep_numbers_apart(study_of):
    one, two, three = study_of(6), study_of(6), study_of(6)
    three["phi_k"]["settings"]["bins"] = 99
    found = compare(one, two, three)
    assert next(row for row in found.measures if row.id == "phi_k").best == ()
    assert [(row.setting, row.values[2], row.matters) for row in found.settings] == [
        ("bins", 99, True)
    ]


def test_reports_without_attacks_say_so(study_of):
    found = compare(study_of(6), study_of(6, noise=2.0), study_of(6, noise=3.0))
    assert found.picture is None
    assert found.answers[0].sentence.startswith("Not compared: ")


def test_one_report_or_other_columns_are_refused(study_of):
    with pytest.raises(chaffinch.errors.InputError, match="two reports or more"):
        compare(study_of(3))
    with pytest.raises(chaffinch.errors.InputError, match="only in C"):
        compare(study_of(3), study_of(3), study_of(4))


def test_tests_of_whole_records_are_compared_too(study_of, risk_of):
    """The excess of one test is found in B alone: it comes first, and no sentence says that the tables are alike."""
    told = [
        report_of(
            study_of(6), title="", risk=with_test_of(risk_of, p_family=p_family, excess=excess)
        )
        for excess, p_family in ((0.01, 0.8), (0.154, 0.007), (0.02, 0.6))
    ]
    found = compare(*told, labels=["run 3", "run 5", "run 9"])
    assert [name.split(":")[0] for name in found.names] == ["run 3", "run 5", "run 9"]
    (test,) = on_records(found)
    assert test.verdict_words == ("no excess found", "excess found", "no excess found")
    assert found.answers[0].sentence == "A, C: no excess found. B: excess found."
    text = found.to_text()
    first = next(line for line in text.splitlines() if line.startswith("Rare combination"))
    assert "+0.154, excess found" in first
    page = found.to_html()
    for words in ("excess found", "run 5", "Rare combination"):
        assert words in page
    assert "told apart" not in found.answers[0].sentence + " ".join(found.answers[0].notes)
    assert found.to_dict()["findings"][0]["words"] == list(test.verdict_words)


def test_attacks_that_count_otherwise_are_not_ranked_beside_each_other(risk_of):
    """TCAP of the third report counts by another convention: it is not ranked in the table and not in the picture."""
    risks = [risk_of(("a", "b"), ("s",), measures=("tcap", "rf"), extras=False) for _ in "ABC"]
    for risk in risks:
        risk["findings"][0]["value"] = 0.9
    assert compare(*risks).picture is None
    assert [row.attacker for row in compare(*risks).findings] == ["tcap", "rf"]
    assert [finding.attacker for finding in shared_attack(list(map(attacked, risks)))] == [
        "tcap"
    ] * 3
    risks[2]["findings"][0]["convention"] = "matched"
    assert [(row.attacker, row.why) for row in compare(*risks).findings] == [
        ("tcap", "other convention"),
        ("rf", ""),
    ]
    assert [finding.attacker for finding in shared_attack(list(map(attacked, risks)))] == ["rf"] * 3
    risks[2]["findings"].pop()
    assert [row.best for row in compare(*risks).findings] == [()]
    assert shared_attack(list(map(attacked, risks))) is None


def attacked(risk):
    return report_of(title="", risk=risk)


def made(study, title="", **network):
    return report_of(
        study,
        title=title,
        synthesis={"seed": 1, "network": {"method": "bayesnet", "parents": 3, **network}},
    )


def test_settings_come_before_files_and_dates(study_of):
    study = study_of(3)
    reports = [made(study), made(study, parents=5), made(study, sensitive=["age"])]
    assert [one.what for one in differences(reports)] == ["parents", "protected"]
    assert names_of_reports(reports) == (
        "parents 3, protected none",
        "parents 5, protected none",
        "parents 3, protected age",
    )


def test_files_where_settings_are_the_same(study_of):
    one, other = study_of(3), study_of(3)
    other["about"]["synthetic"]["name"] = "other.parquet"
    assert names_of_reports([made(one), made(other)]) == ("synthetic.parquet", "other.parquet")


def test_reports_that_are_the_same_are_not_made_to_differ(study_of):
    assert differences([made(study_of(3)), made(study_of(3))]) == ()
    assert names_of_reports([made(study_of(3))] * 2) == ("synthetic.parquet",) * 2


def test_a_date_alone_is_a_difference_and_never_beside_others(study_of):
    one, other = study_of(3), study_of(3)
    other["run"]["date"] = "2025-11-16 09:00 UTC"
    assert names_of_reports([made(one), made(other)]) == (
        "2025-11-15 09:00 UTC",
        "2025-11-16 09:00 UTC",
    )
    assert [fact.what for fact in differences([made(one), made(other, parents=5)])] == ["parents"]


def test_letters_do_not_end():
    assert [letter(i) for i in (0, 1, 25, 26, 27, 52)] == ["A", "B", "Z", "AA", "AB", "BA"]


CHANGED = {
    "parents": 2,
    "search": "greedy",
    "score": "pairwise",
    "protect": "together",
    "keep": ("age",),
    "require": (("age", "sex"),),
    "forbid": (("age", "sex"),),
    "order": ("age", "sex"),
    "root": "age",
    "conditionals": "tables",
    "leaf": 30,
    "smoothing": 50.0,
    "penalty": 2.0,
    "evolution": Evolution(generations=7),
    "draw": "systematic",
    "rows_per_person": 2,
    "neighbours": "replace-one",
}
ELSEWHERE = {"label", "sensitive", "network", "epsilon", "delta"}


def test_every_setting_of_a_network_is_among_what_may_differ(study_of):
    """Each setting changed alone is a difference, by its name; others are told by what was learnt and promised."""
    assert set(CHANGED) | ELSEWHERE == set(BayesNet.setting_names())
    study = study_of(3)
    usual = report_of(
        study,
        title="",
        synthesis={"network": {"method": "bayesnet"}, "settings": BayesNet().plain_params()},
    )
    for name, value in CHANGED.items():
        changed = BayesNet().set_params(**{name: value})
        other = report_of(
            study,
            title="",
            synthesis={"network": {"method": "bayesnet"}, "settings": changed.plain_params()},
        )
        assert [one.what.split(".")[0] for one in differences([usual, other])][:1] == [name], name


def test_a_setting_that_was_left_alone_is_the_default(study_of):
    made_with = [BayesNet().plain_params(), BayesNet(root="age").plain_params()]
    reports = [
        report_of(study_of(3), title="", synthesis={"network": {}, "settings": settings})
        for settings in made_with
    ]
    assert differences(reports) == (ReportDifference("root", ("default", "age")),)
    assert [made_with[0]["smoothing"], BayesNet(smoothing=50).plain_params()["smoothing"]] == [
        3.0,
        50.0,
    ]


def test_runs_and_titles_come_first(study_of):
    study = study_of(3)
    reports = [made(study, title="First"), made(study, title="Second", parents=5)]
    assert names_of_reports(reports) == ("First: parents 3", "Second: parents 5")
    assert names_of_reports(reports, ["run 2", "run 7"]) == ("run 2: parents 3", "run 7: parents 5")
    assert names_of_reports([made(study), made(study)], ["run 2", "run 7"]) == ("run 2", "run 7")


def test_a_table_stands_between_independent_columns_and_the_original(study_of, risk_of):
    section = tradeoff_section(report_of(study_of(6), title="t", risk=risk_of()))
    figure = section.blocks[1]
    names = [row[0] for row in figure.table.rows]
    assert names[0] == "this table"
    assert "the original itself" in names


def test_without_an_attack_or_a_measure_there_is_no_picture(study_of, risk_of):
    assert tradeoff_section(report_of(study_of(6), title="t")) is None
    assert tradeoff_section(report_of(title="t", risk=risk_of())) is None


def test_points_stand_where_their_numbers_are(study_of):
    row, kept, interval = headline_step(report_of(study_of(6), title="t").rows)
    assert row.id == "tvd_2"
    points = [
        TradePoint("a", 0.0, 0.0),
        TradePoint("b", 1.0, 0.5, (0.9, 1.0), (0.4, 0.5)),
        TradePoint("c", kept, 0.25, interval),
    ]
    drawn = tradeoff_figure("f", points, worth=row, attack="an attack").pictures[0]
    first = re.search(r"<title>a:.*?cx=\"([\d.]+)\" cy=\"([\d.]+)\"", drawn)
    second = re.search(r"<title>b:.*?M([\d.]+) ([\d.]+)h9", drawn)
    x, y = float(second[1]) + 4.5, float(second[2]) + 4.5
    third = re.search(r"<title>c:.*?M([\d.]+) ([\d.]+)l6", drawn)
    assert abs(float(third[1]) - (float(first[1]) + kept * (x - float(first[1])))) < 0.2
    assert abs(float(third[2]) + 6 - (float(first[2]) + y) / 2) < 0.2
