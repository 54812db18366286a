"""The account of a release: it never shows more than was promised, goes through JSON, and a forged one is refused."""

from __future__ import annotations

import json
import math

import pytest

from chaffinch._base.errors import BudgetError, InputError
from chaffinch.privacy.ledger import Account, Budget, Charge, account_from_dict
from chaffinch.privacy.relation import Unit


def charge(what="table of age, sex", **cost):
    return Charge(what, "measure", mechanism="discrete Laplace", noise="scale 2", **cost)


def account(budget=None, charges=(), **options):
    chosen = {"test_only": False, "rows": 100, "rows_how": "declared", **options}
    return Account(budget or Budget(1.0), Unit("add-remove"), tuple(charges), **chosen)


@pytest.mark.parametrize(
    "budget", [Budget(1.0), Budget(1.0, 1e-6), Budget(2.0, 1e-6, reserved_delta=1e-8)]
)
def test_an_account_goes_through_json(budget):
    one = account(budget, [charge(epsilon=0.05), charge("levels of job", epsilon=0.1)])
    assert account_from_dict(json.loads(json.dumps(one.to_dict()))) == one
    epsilon, _ = one.spent_promise
    assert 0 < epsilon < budget.epsilon
    assert one.spent + one.unspent == pytest.approx(budget.total)


@pytest.mark.parametrize(
    "change",
    [{"spent": 0.01}, {"epsilon": 0.5}, {"rows": -1}, {"charges": []}],
)
def test_a_forged_account_is_refused(change):
    plain = account(charges=[charge(epsilon=0.6)]).to_dict()
    with pytest.raises(InputError, match="The account of privacy is damaged"):
        account_from_dict({**plain, **change})
    with pytest.raises(InputError, match="damaged"):
        account_from_dict([plain])


def test_more_than_was_promised_cannot_be_accounted_for():
    with pytest.raises(BudgetError):
        account(charges=[charge(epsilon=0.6)] * 2)


def test_the_sentence_says_the_promise_rounded_up_and_a_seed_protects_nobody():
    words = account().sentence
    times = float(words.split("more than ")[1].split(" times")[0])
    assert math.e <= times <= math.e * 1.01
    assert "add or remove one record" in words
    assert account(test_only=True).sentence.startswith("TEST ONLY")


def test_charges_of_one_kind_share_a_row():
    one = account(
        charges=[
            charge(epsilon=0.1),
            charge("table of job", epsilon=0.2),
            charge("levels of job", epsilon=0.1),
        ]
    )
    assert len(one.rows_table()) == 2
    assert "table" in one._repr_html_()


def test_words_of_a_forged_account_are_not_believed():
    plain = {**account(charges=[charge(epsilon=0.6)]).to_dict(), "sentence": "Nothing can happen."}
    assert account_from_dict(plain).sentence == account().sentence


def test_a_choice_that_nothing_came_after_is_told_at_its_own_price():
    """It was cheap for what was left; what of that was not spent does not count, so what was spent amounts to more."""
    budget = Budget(1.0, 1e-6)
    noise = Charge(
        "table of a", "measure", rho=0.3 * budget.total, mechanism="discrete Gaussian", noise=""
    )
    choice = Charge(
        "choice of one", "structure", rho=0.2 * budget.total, mechanism="exponential", noise=""
    )
    for charges, spent in (
        ([noise], 0.3),
        ([noise, choice], 0.3 + 0.2 * math.pi / 2),
        ([choice] * 4, 1.0),
    ):
        assert account(budget, charges).spent_promise[0] == pytest.approx(
            budget.promise(spent * budget.total, 0.0)[0]
        )
    assert account(budget, [choice] * 5).spent_promise[0] <= 1.0
    assert account(Budget(1.0, 1e-6, "zcdp"), [noise, choice]).spent_promise[0] < 1.0
