"""What a page says of a promise: to whom, how much, what not, and never more than the account bears out."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from math import exp

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

from chaffinch.cli.app import app
from chaffinch.privacy.ledger import Account, Budget, Charge, Ledger
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.report.promise import DAMAGED, TEST_ONLY, best_guess, promise_of
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.synth import PrivBayes
from chaffinch.synth.account import SynthesisAccount
from chaffinch.table import Column, Schema

NAMES = ("age", "sex", "town", "job", "pay", "<script>x</script>")


def account(
    *,
    delta: float | None = 1e-6,
    unit: PrivacyUnit | None = None,
    test_only: bool = False,
    epsilon=1.0,
    part=1.0,
) -> Account:
    """Return an account with a table of each column and of three pairs, in amounts that differ a little."""
    ledger = Ledger(Budget(epsilon, delta), unit or PrivacyUnit("add-remove"))
    weights = [1 + i / 10 for i in range(len(NAMES) + 3)]
    whats = [*NAMES, "age, sex", "town, job", "age, pay"]
    for i, (what, share) in enumerate(zip(whats, ledger.shares(weights), strict=True)):
        cost = {"epsilon" if delta is None else "rho": share * part}
        law = "discrete Laplace" if delta is None else "discrete Gaussian"
        why = "single columns" if i < len(NAMES) else "links"
        ledger.charge(
            Charge(
                f"table of {what}", why, **cost, mechanism=law, noise=f"standard deviation {30 - i}"
            )
        )
    return ledger.account(test_only=test_only, rows=1000, rows_how="declared")


def synthesis(of: Account | None, **network) -> dict:
    privacy = {} if of is None else {"privacy": json.loads(json.dumps(of.to_dict()))}
    return {
        "network": {"method": "bayesnet", "nodes": list(NAMES), "edges": [], **privacy, **network}
    }


def words(html: str) -> str:
    """Return a page's text in one line."""
    from html.parser import HTMLParser

    found: list[str] = []
    parser = HTMLParser()
    parser.handle_data = found.append  # type: ignore[method-assign]
    parser.feed(html[html.index("<body>") :])
    return " ".join(" ".join(found).replace("\xa0", " ").split())


def page_of(study_of, made: dict | None) -> str:
    return render(report_of(study_of(3), title="t", synthesis=made))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.01, None), (1.0, None), (1.0, 1e-6), (0.3, 0.2), (5.0, 0.01)]
)
def test_the_best_guess_by_a_linear_programme_and_by_a_mechanism_that_reaches_it(epsilon, delta):
    d, e = delta or 0.0, exp(epsilon)
    found = linprog([0.5, 0.5], A_ub=[[-1, -e], [-e, -1]], b_ub=[d - 1, d - 1], bounds=[(0, 1)] * 2)
    assert best_guess(epsilon, delta) == pytest.approx(1 - found.fun, abs=1e-9)
    # Four outcomes: two that give the table away, with chance delta, and randomised response.
    law = np.array([d, (1 - d) * e / (1 + e), (1 - d) / (1 + e), 0.0])
    assert best_guess(epsilon, delta) == pytest.approx(np.maximum(law, law[::-1]).sum() / 2)


def test_a_promise_stands_before_the_figures_and_says_what_it_is_not(study_of):
    html = page_of(study_of, synthesis(account()))
    order = [html.index(f'<section id="{name}"') for name in ("promise", "verdict", "where")]
    assert order == sorted(order)
    said = words(html)
    for told in (
        "What is promised",
        "Promise epsilon 1, delta 1e-06, add or remove one record; this report is not covered",
        "Privacy: epsilon 1, delta 1e-06, add or remove one record; this report is not covered.",
        "no outcome is more than 2.72 times as likely",
        "one with one record, one without",
        "about 1 in 1,000,000",
        "right in at most 73.2 % of cases",  # e / (1 + e) = 0.73106, rounded up
        "It does not cover this report",
        "computed on the real data",
        "Keep this report inside",
        "not a promise about groups",
        "what holds for everybody",
        "budgets add up",
        "project ledger",
        "a person with several records is protected less",
        "declared as public",
        "6 tables of single columns: age, sex, town, job and 2 more",
        "3 tables: age × sex, town × job, age × pay",
        "standard deviation 25 to 30",
        "nothing is left",
        "Exact Gaussian accounting",
        "Balle and Wang",
        "operating-system entropy",
    ):
        assert told in said, told
    assert "TEST ONLY" not in html
    assert 'class="alarm"' not in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        (
            PrivacyUnit("replace-one"),
            ("differ in one record: exchanged for any other", "The number of records is public"),
        ),
        (
            PrivacyUnit("add-remove", 3),
            (
                "one with one person's rows, at most 3 of them",
                "Any 3 rows together",
                "no identifier of people",
                "three people",
            ),
        ),
        (
            PrivacyUnit("add-remove", 1, by_person=True),
            (
                "add or remove one person (at most 1 row each)",
                "one person's rows, of which one is kept",
                "whether a person was in the data",
                "Each person is protected, with all of their rows",
                "no promise for a single record",
                "three people",
            ),
        ),
        (
            PrivacyUnit("replace-one", 3, by_person=True),
            ("replace one person (at most 3 rows each)", "at most 3 rows of each person were used"),
        ),
        (
            PrivacyUnit("replace-one", 3),
            ("exchanged for those of another", "which of two people", "number of rows was"),
        ),
    ],
)
def test_each_relation_in_plain_words(study_of, unit, told):
    said = words(page_of(study_of, synthesis(account(unit=unit))))
    for part in told:
        assert part in said, part
    assert ("protected less" in said) == (unit == PrivacyUnit("replace-one"))
    assert ("remove one record" in said or "differ in one record" in said) == (
        not unit.by_person and unit.rows_per_person == 1
    )


def test_without_delta_and_with_a_rest(study_of):
    said = words(page_of(study_of, synthesis(account(delta=None, part=0.5))))
    assert "Delta is" not in said
    assert "delta grows" not in said
    assert "Spent: epsilon 0.5 of 1, which is epsilon 0.5; epsilon 0.5 was not spent." in said
    huge = words(page_of(study_of, synthesis(account(epsilon=1e6, delta=None))))
    assert "e^1e+06 times" in huge
    assert "at most 100 % of cases" in huge


def test_a_seeded_fit_is_loud_from_the_very_top(study_of):
    html = page_of(study_of, synthesis(account(test_only=True)))
    assert html.index(f'<p class="alarm" role="alert">{TEST_ONLY}') < html.index("<h1>")
    section = html[html.index('<section id="promise"') : html.index('<section id="verdict"')]
    assert TEST_ONLY in section
    said = words(html)
    assert "these settings would promise" in said
    assert "Promise TEST ONLY, no privacy" in said
    assert "Privacy: TEST ONLY, no privacy: seeded noise." in said


def test_kept_columns_void_the_promise_of_the_table(study_of):
    html = page_of(study_of, synthesis(account(), kept=["age", "<b>"]))
    assert html.index("NO PROMISE FOR THIS TABLE: age, &lt;b&gt; stand in it") < html.index("<h1>")
    assert not promise_of(SynthesisAccount.from_dict(synthesis(account(), kept=["age"]))).holds
    assert promise_of(SynthesisAccount.from_dict(synthesis(account()))).holds


def test_without_an_account_one_sentence_says_so(study_of):
    html = page_of(study_of, synthesis(None))
    assert "No formal promise: the table was made without epsilon." in words(html)
    assert '<section id="promise"' not in html
    bare = page_of(study_of, None)
    assert "ormal promise" not in bare
    for nothing in (None, {}, {"network": {}}, []):
        assert promise_of(SynthesisAccount.from_dict(nothing)) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.update(epsilon=0.1),
        lambda p: p.update(charges=[]),
        lambda p: p.update(test_only="no"),
        lambda p: p.update(more=1),
        lambda p: p.pop("sentence"),
        lambda p: p["charges"][0].update(rho=1e-9),
    ],
)
def test_an_account_that_does_not_add_up_is_no_promise(study_of, damage):
    made = copy.deepcopy(synthesis(account()))
    damage(made["network"]["privacy"])
    html = page_of(study_of, made)
    assert html.index(DAMAGED) < html.index("<h1>")
    assert "times as likely" not in html
    assert report_of(study_of(3), title="t", synthesis=made).promise.word == "no promise"


def test_words_are_worked_out_anew_and_never_taken_from_a_file(study_of):
    made = synthesis(account())
    made["network"]["privacy"] |= {
        "sentence": "Perfectly safe.",
        "relation": "nobody",
        "noise_source": "dice",
    }
    report = report_of(study_of(3), title="t", synthesis=made).to_dict()
    report["verdict"][-1]["sentence"] = "Perfectly safe."
    assert not {"Perfectly", "nobody", "dice"} & set(
        words(render(report)).replace(".", " ").split()
    )


def test_the_verdict_of_the_data_has_a_row_for_it(study_of):
    rows = {}
    for name, of in (
        ("promised", account()),
        ("test only", account(test_only=True)),
        ("no promise", None),
    ):
        rows[name] = report_of(study_of(3), title="t", synthesis=synthesis(of)).to_dict()[
            "verdict"
        ][-1]
        assert (rows[name]["section"], rows[name]["word"]) == ("promise", name)
    assert (rows["promised"]["value"], rows["promised"]["delta"]) == (1.0, 1e-6)
    assert rows["promised"]["relation"] == "add or remove one record"
    assert (
        rows["test only"]["value"] is rows["no promise"]["value"] is None
    )  # a number would look like a promise
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_inspect_names_the_promise_and_where_strengths_come_from(tmp_path):
    levels = {
        "a": ("x", "y"),
        "[/b]": ("u", "v"),
        "c": ("m", "n"),
    }  # the middle name is markup to a careless printer
    schema = Schema(
        tuple(Column(n, "categorical", levels=v) for n, v in levels.items()), public=True, rows=200
    )
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.choice(v, 200) for name, v in levels.items()})
    model = PrivBayes(epsilon=1.0).fit(prepare(data, schema), seed=1)
    file = tmp_path / "m.chaffinch"
    model.save(file)
    done = CliRunner().invoke(app, ["inspect", str(file)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "Promise: TEST ONLY, no privacy: seeded noise" in done.output
    assert "nats, from released tables" in done.output
    assert "[/b]" in done.output
    real = replace(
        model, fitted=replace(model.fitted, privacy=replace(model.fitted.privacy, test_only=False))
    )
    file.unlink()
    real.save(file)
    done = CliRunner().invoke(app, ["inspect", str(file)], env={"COLUMNS": "200"})
    assert "Promise: epsilon 1, replace one record" in done.output
    assert "TEST ONLY" not in done.output
